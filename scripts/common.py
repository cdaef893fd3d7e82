"""What the studies share: options, the head of a metrics file, how they end. `typer.run(main)` runs each of them."""

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from textwrap import wrap
from typing import Annotated, Any, TypeVar

import typer
from rich import progress
from rich.console import Console

from pii_components.cli.common import console
from pii_components.evaluate.gold import Protects  # noqa: F401
from pii_components.evaluate.report import (  # noqa: F401
    FORMAT,
    check_place,
    machine,
    show,
    versions,
    write_report,
)
from pii_components.evaluate.systems import System

Item = TypeVar("Item")

AssetsOpt = Annotated[Path, typer.Option(help="Folder with essays/, fragments/ and chats/.")]
DebugOpt = Annotated[
    bool,
    typer.Option(
        "--debug", help="Raise unexpected errors with their traceback, which may show text."
    ),
]
OutOpt = Annotated[Path | None, typer.Option("--out", "-o", help="Metrics file (JSON).")]
PipelineOpt = Annotated[
    str, typer.Option(help="Our pipeline, or another system, such as presidio-md.")
]
ResamplesOpt = Annotated[int, typer.Option(min=1, help="Bootstrap resamples of the documents.")]
SeedOpt = Annotated[int, typer.Option(help="Of everything that is drawn.")]


def early(out: Path | None) -> None:
    """Refuse a metrics file that cannot be written before anything is measured: E512."""
    if out is not None:
        check_place(out)


def track(title: str, items: Sequence[Item]) -> Iterable[Item]:
    """The items, with a bar on the terminal; nothing where there is none."""
    return progress.track(items, title, console=Console(stderr=True), transient=True)


def head(system: System | None = None) -> dict[str, Any]:
    """Format, versions, machine and system, for a metrics file."""
    about = {} if system is None else {"system": {"name": system.name, **system.about}}
    return {"format": FORMAT, "versions": versions(), "machine": machine(), **about}


def shown_command(module: str, arguments: Sequence[str]) -> str:
    """The command for a metrics file, without folders, since they tell about a machine and its user."""
    shown = []
    for argument in arguments:
        name, equals, value = argument.rpartition("=")
        shown.append(name + equals + (Path(value).name or value))
    return " ".join(["python -m", module, *shown])


def publish(
    name: str,
    report: Mapping[str, Any],
    out: Path | None,
    print_it: Callable[[dict[str, Any], Console], None] | None,
) -> dict[str, Any]:
    """Write a metrics file that names its command (without folders), and show its tables."""
    made = {"command": shown_command(f"scripts.{name}", sys.argv[1:]), **report}
    if out is not None:
        write_report(made, out)
    if print_it is not None:
        print_it(made, console())
    return made


def lines_of(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """RETURNS (list[str]): A table of Markdown, line by line."""
    return [f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows)]


def cell(scores: Mapping[str, Any], name: str, *, interval: bool = False) -> str:
    """RETURNS (str): A number with three digits, with its interval if asked; "-" where there is none."""
    if scores.get(name) is None:
        return "-"
    shown = f"{scores[name]:.3f}"
    return shown + " ({:.3f} to {:.3f})".format(*scores[f"{name}_95"]) if interval else shown


def make_pdf(*pages: str, locked: bool = False) -> bytes:
    """The bytes of a PDF. pages (str): Texts of Western letters. locked (bool): Whether it asks for a password, which nobody has."""
    objects = [
        "<</Type/Catalog/Pages 2 0 R>>",
        "",
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>",
    ]
    for text in pages:
        signs = str.maketrans({"\\": r"\\", "(": r"\(", ")": r"\)"})
        lines = [
            line
            for part in text.splitlines()
            for line in wrap(part, 100, break_long_words=False) or [""]
        ]
        shown = "".join(f"({line.translate(signs)}) Tj T*\n" for line in lines)
        stream = f"BT /F 9 Tf 10 TL 50 780 Td\n{shown}ET"
        page = "<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Resources<</Font<</F 3 0 R>>>>"
        objects += [
            f"<</Length {len(stream)}>>stream\n{stream}\nendstream",
            f"{page}/Contents {len(objects) + 1} 0 R>>",
        ]
    kids = " ".join(f"{n} 0 R" for n in range(5, len(objects) + 1, 2))
    objects[1] = f"<</Type/Pages/Kids[{kids}]/Count {len(pages)}>>"
    out, places = "%PDF-1.4\n", []
    for n, content in enumerate(objects, 1):
        places.append(len(out))
        out += f"{n} 0 obj\n{content}\nendobj\n"
    lock = (
        f"/Encrypt<</Filter/Standard/V 1/R 2/P -4/O<{'41' * 32}>/U<{'42' * 32}>>>/ID[<41><41>]"
        if locked
        else ""
    )
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    size = len(objects) + 1
    end = f"trailer<</Root 1 0 R/Size {size}{lock}>>\nstartxref\n{len(out)}\n%%EOF"
    return f"{out}xref\n0 {size}\n0000000000 65535 f \n{table}{end}".encode("cp1252", "replace")


def those_there(paths: Sequence[Path] | None) -> list[Path]:
    """RETURNS (list[Path]): Files of texts that are there; of others it is told that annotations of their texts are left out."""
    for path in paths or ():
        if not path.is_file():
            print(f"{path}: not there, annotations of its texts are left out", file=sys.stderr)
    return [path for path in paths or () if path.is_file()]
