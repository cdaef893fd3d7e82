"""Size of the package, room by room, and its limits: `python -m scripts.sizes`.

Fails if the package has more statements than the last row of docs/ledger.md allows: one in, one out.
With `--strict` it also fails where a limit is not kept. With `--install` it builds the wheel, installs it into
a fresh environment (pip fetches what it needs), and prints what takes how many megabytes there.

- line: any line of a .py file, blank lines and comments too, as `ruff format` leaves it (100 columns)
- statement: a node `ast.stmt`, at any depth
- decision: `if`, `for`, `while`, `except`, `and`, `or`, conditional expression, each `for` and `if` of
  a comprehension; each counts one
"""

import ast
import re
import subprocess
import sys
import venv
from collections.abc import Iterator
from importlib.metadata import distributions
from pathlib import Path
from shutil import copy, copytree, ignore_patterns
from tempfile import TemporaryDirectory
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


def size_of(paths: list[Path]) -> tuple[int, int, int, int]:
    """RETURNS (tuple[int, int, int, int]): Modules, lines, statements and decisions of some modules together."""
    trees = [ast.parse(path.read_text("utf8")) for path in paths]
    statements = sum(isinstance(node, ast.stmt) for tree in trees for node in ast.walk(tree))
    return len(paths), lines_in(*paths), statements, sum(map(decisions_of, trees))


def functions_over(paths: list[Path]) -> Iterator[tuple[Path, str, int]]:
    """YIELDS (tuple[Path, str, int]): Module, name and decisions of each function with too many."""
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text("utf8"))):
            is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            if is_function and decisions_of(node) > MOST_DECISIONS:
                yield path, node.name, decisions_of(node)


def room_of(path: Path) -> str:
    """RETURNS (str): The folder of a module, "(root)" for those beside the folders."""
    return "(root)" if path.parent == PACKAGE else path.relative_to(PACKAGE).parts[0]


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
    paths = sorted(PACKAGE.rglob("*.py"))
    modules, lines, statements, decisions = size_of(paths)
    others = [path for path in paths if room_of(path) not in DETECTION]
    resources = (PACKAGE / "resources").rglob("*")
    setup = (ROOT / "setup.cfg").read_text("utf8")
    extras = setup.partition("[options.extras_require]")[2].partition("\n[")[0]
    errors = (PACKAGE / "errors.py").read_text("utf8")
    found = [lines, statements, decisions, len([*functions_over(others)]), modules]
    found += commands_and_options()
    found += [
        len(re.findall(r"^    [EW]\d{3}\b", errors, re.M)),
        len(re.findall(r"^\w+ =$", extras, re.M)),
        lines_in(*(p for p in resources if p.is_file() and p.parent.name != "names")),
        lines_in(*(ROOT / "tests").rglob("*.py")),
        lines_in(*(ROOT / "scripts").rglob("*.py")),
        lines_in(ROOT / "README.md"),
    ]
    return dict(zip(LIMITS, found, strict=True))


def allowed_statements() -> int:
    """RETURNS (int): The last cell of the last row of docs/ledger.md."""
    rows = [line for line in LEDGER.read_text("utf8").splitlines() if line.startswith("| ")]
    return int(rows[-1].rstrip(" |").rpartition("|")[2].replace(",", ""))


def bytes_in(*paths: Path) -> int:
    """RETURNS (int): Bytes of files, and of all files below folders."""
    files = [file for path in paths for file in (path, *path.rglob("*"))]
    return sum(file.stat().st_size for file in files if file.is_file() and not file.is_symlink())


def packages_in(site: Path) -> dict[str, int]:
    """RETURNS (dict[str, int]): Bytes of each package of an environment, compiled files too; the largest first."""
    found = {}
    for package in distributions(path=[str(site)]):
        found[package.name] = bytes_in(*{Path(str(f.locate())) for f in package.files or ()})
    return dict(sorted(found.items(), key=lambda one: -one[1]))


def install() -> dict[str, int]:
    """RETURNS (dict[str, int]): Bytes of the wheel, of a fresh environment with it, and of the packages there."""
    with TemporaryDirectory() as folder:
        source, fresh = Path(folder, "source"), Path(folder, "environment")
        for name in ("pii_components", "en_pii_edu"):
            copytree(ROOT / name, source / name, ignore=ignore_patterns("__pycache__"))
        for name in ("setup.cfg", "pyproject.toml", "README.md", "LICENSE"):
            copy(ROOT / name, source)
        venv.create(fresh, with_pip=True)
        pip = [str(fresh / "bin" / "python"), "-I", "-m", "pip", "-q"]
        subprocess.run([*pip, "wheel", "--no-deps", "-w", folder, source], check=True)
        (wheel,) = Path(folder).glob("*.whl")
        subprocess.run([*pip, "install", "-c", ROOT / "constraints.txt", wheel], check=True)
        (site,) = fresh.glob("lib/python*/site-packages")
        return {"wheel": bytes_in(wheel), "environment": bytes_in(fresh)} | packages_in(site)


def main() -> int:
    """RETURNS (int): 1 if the package grew without a row in the ledger, or a limit is not kept with --strict."""
    if "--install" in sys.argv:
        for name, size in install().items():
            print(f"{name:30} {size / 1e6:7.1f} MB")
        return 0
    paths = sorted(PACKAGE.rglob("*.py"))
    print(f"{'room':12} {'modules':>7} {'lines':>7} {'statements':>10} {'decisions':>9}")
    for room in sorted({room_of(path) for path in paths}):
        mine = size_of([path for path in paths if room_of(path) == room])
        print("{:12} {:7} {:7} {:10} {:9}".format(room, *mine))
    found = measure()
    over = [name for name, limit in LIMITS.items() if found[name] > limit]
    print()
    for name, limit in LIMITS.items():
        print(f"{name:45} {found[name]:6} of {limit:6}{'  TOO MUCH' if name in over else ''}")
    for path, name, count in functions_over(paths) if "--functions" in sys.argv else ():
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
