"""`pii-edu release`: the whole way from the texts of a class to a release, on a page of this machine or in the terminal.

pii-edu release                          # opens the page; what is private goes to ./private
pii-edu release private --no-browser     # asks here; private/release.toml answers what it has
"""

import subprocess
import sys
from contextlib import closing
from dataclasses import asdict, fields
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from ..errors import Errors, PiiError
from ..profiles import shipped_profiles
from ..release.day import AGAIN, DONE, ESTIMATE, REHEARSE, REVIEW, STOPPED, Choices, Day
from . import common
from .review import listen, show_page

EPILOG = "Exit codes: 0 ended by a signal, or all done; 1 done, but records were skipped; 2 refused; 3 stopped by an error."
_ASKED = {
    "input": "Texts: a folder, a .zip, a table or a document",
    "roster": "Class list, a table with names (Enter for none)",
    "profile": "Profile: {}".format(", ".join(shipped_profiles())),
}


def release(
    *,
    folder: Annotated[
        str, Argument(metavar="PRIVATE", help="Folder for what only you keep.")
    ] = "private",
    browser: bool = Option(
        True, "--browser/--no-browser", help="A page in the browser, or questions here."
    ),
) -> None:
    """Go the whole way to a release: choose, rehearse, de-identify, review, release as decided, estimate.

    Each step can be left and taken up: enter the same command again. PRIVATE/release.toml holds the choices, PRIVATE the key, the way
    back, the review and the report. Give away what lies in the release, and nothing of PRIVATE.
    """
    with common.guard():
        day = Day(Path(folder))
        with common.locked(day.folder / "day"):
            if browser:
                _serve(day)
            else:
                _ask(day)


def _serve(day: Day) -> None:
    try:
        from ..release.day_page import Desk, create_app
    except ImportError as err:
        raise PiiError(
            Errors.E005, package=err.name, what="pii-edu release", extra="presidio"
        ) from err
    with listen(0) as sock, closing(Desk(day, common.locked, _make_key)) as desk:
        common.say("The page shows students' texts; Ctrl+C ends it:")
        show_page(partial(create_app, desk), sock, day.folder / "open.html")


def _make_key(day: Day) -> None:
    if not day.place("key").exists():
        common.write_key(day.place("key"))


def _ask(day: Day) -> None:
    """The same steps in the terminal, until one needs a person."""
    given = asdict(day.choices)
    for name, words in _ASKED.items():
        default = next(field.default for field in fields(Choices) if field.name == name)
        if not (day.folder / "release.toml").exists() and common.can_ask():
            given[name] = typer.prompt(words, default=given[name] or default, err=True)
    day.choose(given)
    _make_key(day)
    while step := day.following():
        if step == REVIEW:
            common.say(
                f"now review: pii-edu review {day.place('review')}; then enter this command again"
            )
            return
        if step == AGAIN or day.state(step) == STOPPED:
            common.say(f"{step}: as decided, or from where it stopped")
        if step == ESTIMATE and day.advice:
            common.say(day.advice)
        code = subprocess.run(
            [sys.executable, "-m", "pii_components.cli", *day.begin(step)], check=False
        ).returncode
        day.ended(step, code, [])
        if day.state(step) != DONE:
            raise typer.Exit(code)
        if step == REHEARSE and common.can_ask():
            typer.confirm("Go on?", default=True, abort=True, err=True)
        if step == ESTIMATE:
            break
    common.say(f"done. To give away: '{day.out}'; for you alone: '{day.folder}'")
