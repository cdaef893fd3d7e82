"""Size of the package, room by room, and its limits: `python -m scripts.sizes`.

Fails if the package has more statements than the last row of docs/ledger.md allows: one in, one out.
With `--strict` it also fails where a limit is not kept.

- line: any line of a .py file, blank lines and comments too, as `ruff format` leaves it (100 columns)
- statement: a node `ast.stmt`, at any depth
- decision: `if`, `for`, `while`, `except`, `and`, `or`, conditional expression, each `for` and `if` of
  a comprehension; each counts one
"""

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "pii_components"
LEDGER = ROOT / "docs" / "ledger.md"
# Rooms whose functions the issues on the detector rewrite.
DETECTION = ("ner", "ruler", "context", "names", "training")
MOST_DECISIONS = 20
LIMITS = {
    "lines of pii_components": 32_000,
    "statements": 17_500,
    "decisions": 7_200,
    f"functions over {MOST_DECISIONS} decisions outside detection": 0,
    "modules": 118,
    "commands": 16,
    "options": 80,
    "error codes": 150,
    "extras": 9,
    "lines of resources without name tables": 10_562,
    "lines of tests": 19_000,
    "lines of scripts": 4_600,
    "lines of README.md": 130,
}
_DECISIONS = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.ExceptHandler, ast.IfExp)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True, slots=True)
class Size:
    """Lines, statements and decisions of some modules."""

    modules: int
    lines: int
    statements: int
    decisions: int


def decisions_of(tree: ast.AST) -> int:
    """RETURNS (int): Decisions in a syntax tree, those of functions inside it too."""
    found = 0
    for node in ast.walk(tree):
        if isinstance(node, _DECISIONS):
            found += 1
        elif isinstance(node, ast.BoolOp):
            found += len(node.values) - 1
        elif isinstance(node, ast.comprehension):
            found += 1 + len(node.ifs)
    return found


def size_of(paths: list[Path]) -> Size:
    """RETURNS (Size): Of some modules together."""
    texts = [path.read_text("utf8") for path in paths]
    trees = [ast.parse(text) for text in texts]
    return Size(
        modules=len(paths),
        lines=sum(len(text.splitlines()) for text in texts),
        statements=sum(isinstance(node, ast.stmt) for tree in trees for node in ast.walk(tree)),
        decisions=sum(map(decisions_of, trees)),
    )


def functions_over(paths: list[Path]) -> Iterator[tuple[Path, str, int]]:
    """YIELDS (tuple[Path, str, int]): Module, name and decisions of each function with too many."""
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text("utf8"))):
            if isinstance(node, _FUNCTIONS) and decisions_of(node) > MOST_DECISIONS:
                yield path, node.name, decisions_of(node)


def rooms() -> dict[str, list[Path]]:
    """RETURNS (dict[str, list[Path]]): The modules of each room, those at the root first."""
    found: dict[str, list[Path]] = {"(root)": sorted(PACKAGE.glob("*.py"))}
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.parent != PACKAGE:
            found.setdefault(path.relative_to(PACKAGE).parts[0], []).append(path)
    return found


def commands_and_options() -> tuple[int, int]:
    """RETURNS (tuple[int, int]): Top-level commands of `pii-edu`, and options of all commands, hidden ones left out."""
    import typer.main

    from pii_components.cli.app import app

    def options(command: Any) -> int:
        if hasattr(command, "commands"):
            return sum(options(inner) for inner in command.commands.values() if not inner.hidden)
        mine = [param for param in command.params if param.param_type_name == "option"]
        return sum(not param.hidden and param.name != "help" for param in mine)

    group: Any = typer.main.get_command(app)
    shown = [command for command in group.commands.values() if not command.hidden]
    return len(shown), sum(map(options, shown))


def lines_in(*paths: Path) -> int:
    """RETURNS (int): Lines of text files."""
    return sum(len(path.read_text("utf8", "replace").splitlines()) for path in paths)


def measure() -> dict[str, int]:
    """RETURNS (dict[str, int]): Each of `LIMITS`, as it is."""
    modules = sorted(PACKAGE.rglob("*.py"))
    others = [path for path in modules if path.relative_to(PACKAGE).parts[0] not in DETECTION]
    package = size_of(modules)
    resources = (PACKAGE / "resources").rglob("*")
    tables = [p for p in resources if p.is_file() and p.parent.name != "names"]
    extras = re.search(
        r"^\[options\.extras_require\]\n(.*?)^\[", _setup(), re.DOTALL | re.MULTILINE
    )
    commands, options = commands_and_options()
    return {
        "lines of pii_components": package.lines,
        "statements": package.statements,
        "decisions": package.decisions,
        f"functions over {MOST_DECISIONS} decisions outside detection": len(
            [*functions_over(others)]
        ),
        "modules": package.modules,
        "commands": commands,
        "options": options,
        "error codes": len(
            re.findall(r"^    [EW]\d{3}\b", (PACKAGE / "errors.py").read_text("utf8"), re.M)
        ),
        "extras": len(re.findall(r"^\w+ =$", extras[1] if extras else "", re.MULTILINE)),
        "lines of resources without name tables": lines_in(*tables),
        "lines of tests": lines_in(*(ROOT / "tests").rglob("*.py")),
        "lines of scripts": lines_in(*(ROOT / "scripts").rglob("*.py")),
        "lines of README.md": lines_in(ROOT / "README.md"),
    }


def _setup() -> str:
    return (ROOT / "setup.cfg").read_text("utf8")


def allowed_statements() -> int:
    """RETURNS (int): The last cell of the last row of docs/ledger.md."""
    rows = [line for line in LEDGER.read_text("utf8").splitlines() if line.startswith("| ")]
    return int(rows[-1].rstrip(" |").rpartition("|")[2].replace(",", ""))


def main() -> int:
    """RETURNS (int): 1 if the package grew without a row in the ledger, or a limit is not kept with --strict."""
    print(f"{'room':12} {'modules':>7} {'lines':>7} {'statements':>10} {'decisions':>9}")
    for room, paths in rooms().items():
        size = size_of(paths)
        print(f"{room:12} {size.modules:7} {size.lines:7} {size.statements:10} {size.decisions:9}")
    found = measure()
    over = [name for name, limit in LIMITS.items() if found[name] > limit]
    print()
    for name, limit in LIMITS.items():
        print(f"{name:45} {found[name]:6} of {limit:6}{'  TOO MUCH' if name in over else ''}")
    if "--functions" in sys.argv:
        for path, name, count in functions_over(sorted(PACKAGE.rglob("*.py"))):
            print(f"{path.relative_to(ROOT)} {name} {count}")
    allowed = allowed_statements()
    grown = found["statements"] > allowed
    if grown:
        print(
            f"\n{found['statements']} statements, docs/ledger.md allows {allowed}: add a row to it."
        )
    return 1 if grown or (over and "--strict" in sys.argv) else 0


if __name__ == "__main__":
    sys.exit(main())
