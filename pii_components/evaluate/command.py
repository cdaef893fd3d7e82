"""What the commands of this folder share: errors on one line, options that are lists, a progress bar, the command as shown.

if __name__ == "__main__":
    run_command(compare)
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..errors import Errors, PiiError


def run_command(function: Callable[..., Any]) -> None:
    """Run a function as a command of its own; its arguments are options (typer). A coded error is one line, and code 1.

    function (Callable[..., Any]): With annotations that typer reads.
    """
    import typer
    from rich.console import Console

    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command()(function)
    try:
        app()
    except PiiError as err:
        Console(stderr=True, soft_wrap=True, highlight=False, markup=False).print(str(err))
        sys.exit(1)


def shown_command(module: str, arguments: Sequence[str]) -> str:
    """The command for a metrics file: folders are left out, since they tell about a machine and its user.

    module (str): Name of the module. arguments (Sequence[str]): As given.
    RETURNS (str): For example `python -m pii_components.evaluate.compare --gold essays.jsonl`.
    """
    shown = []
    for argument in arguments:
        name, equals, value = argument.rpartition("=")
        shown.append(name + equals + (Path(value).name or value))
    return " ".join(["python -m", module, *shown])


def split_list(text: str) -> tuple[str, ...]:
    """RETURNS (tuple[str, ...]): Parts between commas, without white space around them."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def split_name(text: str, default: str = "") -> tuple[str, str]:
    """`NAME=VALUE`, or a value whose name is the default.

    text (str): As given. default (str): Name where there is none; empty if there must be one.
    RETURNS (tuple[str, str]): Name and value. RAISES (PiiError): E708, if one is missing.
    """
    name, equals, value = text.partition("=")
    if not equals:
        name, value = default, text
    if not name or not value:
        raise PiiError(Errors.E708, got=Path(text).name)
    return name, value


@contextmanager
def progress_bar(title: str, total: int) -> Iterator[Callable[[], None]]:
    """A bar on the terminal; nothing where there is none.

    title (str): What is being done. total (int): Number of steps.
    YIELDS (Callable[[], None]): To be called after each step.
    """
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=total)
        yield lambda: bar.advance(task)
