"""Lines and modules of every room against its budget: `python -m scripts.sizes`. With --strict it fails where a limit is not kept.

A line is a line of a .py file, blank ones and comments too. Budgets of rooms steer; the sums are the limits.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "pii_components"
# Room -> lines that it may have.
BUDGETS = {
    "(root)": 950,
    "names": 2150,
    "ner": 1100,
    "ruler": 1950,
    "context": 2700,
    "surrogates": 3050,
    "vault": 850,
    "files": 2200,
    "release": 950,
    "llm": 1600,
    "presidio": 1950,
    "cli": 2300,
    "corpus": 3500,
    "training": 1150,
    "evaluate": 2500,
}
# What is counted -> the most that there may be.
LIMITS = {
    "lines of pii_components": 27_000,
    "modules of pii_components": 140,
    "modules at its root": 9,  # scale is what users import
    "folders at its root": 15,
    "lines of scripts": 3_000,
    "lines of tests": 14_000,
    "files in metrics": 15,
    "lines of README.md": 220,
    "lines of MODEL_CARD.md": 150,
    "lines of docs/experiments.md": 120,
}


def lines_of(*paths: Path) -> int:
    """RETURNS (int): Lines of text files."""
    return sum(len(path.read_text("utf8").splitlines()) for path in paths)


def measure() -> dict[str, int]:
    """RETURNS (dict[str, int]): What `LIMITS` names, as it is."""
    modules = list(PACKAGE.rglob("*.py"))
    folders = [path for path in PACKAGE.iterdir() if path.is_dir() and path.name != "__pycache__"]
    return {
        "lines of pii_components": lines_of(*modules),
        "modules of pii_components": len(modules),
        "modules at its root": len(list(PACKAGE.glob("*.py"))),
        "folders at its root": len(folders),
        "lines of scripts": lines_of(*(ROOT / "scripts").rglob("*.py")),
        "lines of tests": lines_of(*(ROOT / "tests").rglob("*.py")),
        "files in metrics": sum(path.is_file() for path in (ROOT / "metrics").rglob("*")),
        **{
            f"lines of {name}": lines_of(ROOT / name)
            for name in ("README.md", "MODEL_CARD.md", "docs/experiments.md")
        },
    }


def main() -> int:
    """RETURNS (int): 1 with --strict, if something is over its limit."""
    print(f"{'room':12} {'modules':>7} {'lines':>6} {'budget':>6}")
    for room, budget in BUDGETS.items():
        modules = list(PACKAGE.glob("*.py") if room == "(root)" else (PACKAGE / room).rglob("*.py"))
        lines = lines_of(*modules)
        print(
            f"{room:12} {len(modules):7} {lines:6} {budget:6}{'  over' if lines > budget else ''}"
        )
    found = measure()
    over = {name for name, limit in LIMITS.items() if found[name] > limit}
    print()
    for name, limit in LIMITS.items():
        print(f"{name:28} {found[name]:6} of {limit:6}{'  TOO MUCH' if name in over else ''}")
    return 1 if over and "--strict" in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())
