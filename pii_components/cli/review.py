"""`pii-edu review`: a page on this machine on which a person looks at what a run did, and decides.

    pii-edu deidentify essays.csv --out clean.csv --review-dir review
    pii-edu review review                                  # opens the page; Ctrl+C ends it
    pii-edu deidentify essays.csv --out final.csv --decisions review
    pii-edu review review --export gold.jsonl              # reviewed documents, to train on

FastAPI and uvicorn are imported when the page is asked for, and not before.
"""

import secrets
import socket
import webbrowser
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from ..errors import Errors, PiiError, reason_of
from ..files.formats.base import ReadStats
from ..files.labelled import check_places, open_corpus_writer, write_corpus
from ..release.review import Review, decisions_path
from .common import OverwriteOpt, check_apart, guard, locked, say
from .deidentify import review_file

EPILOG = "Exit codes: 0 ended by a signal, or exported; 2 refused; 3 stopped by an error."


def review(
    *,
    run: Annotated[
        str, Argument(metavar="DIR", help="What `pii-edu deidentify --review-dir` wrote.")
    ],
    export: str = Option(
        "",
        metavar="FILE",
        help="Write the reviewed documents, original texts with labels, and end; form by suffix.",
    ),
    port: int = Option(
        0, min=0, max=65535, help="Port of the page on 127.0.0.1 [any that is free]."
    ),
    browser: bool = Option(True, "--browser/--no-browser", help="Whether to open a browser."),
    overwrite: OverwriteOpt = False,
) -> None:
    """Open a page to review a run: this machine only, under an address with a secret in it, until Ctrl+C.

    Decisions are kept in DIR.
    """
    with guard():
        path = review_file(Path(run))
        kept = decisions_path(path)
        if export:
            _export(path, kept, Path(export), overwrite=overwrite)
            return
        _serve(path, kept, port, browser=browser)


def _serve(path: Path, kept: Path, port: int, *, browser: bool) -> None:
    try:
        from ..release.review_page import answer, create_app
    except ImportError as err:
        raise PiiError(
            Errors.E005, package=err.name, what="pii-edu review", extra="presidio"
        ) from err
    with locked(kept), _listen(port) as sock:
        say("reading INPUT and OUTPUT once")
        opened, token = Review.open(path, kept), secrets.token_urlsafe(32)
        try:
            if opened.decisions.torn:
                say("the last decision was cut off when the page was killed; make it again")
            if opened.lacks_report:
                say(
                    "the report of this run is gone, or is another run's by now: what its sweep found is not shown"
                )
            host = f"127.0.0.1:{sock.getsockname()[1]}"
            address = f"http://{host}/{token}/"
            say(
                f"{len(opened.entries)} documents; decisions go to '{kept}'. The page shows students' texts; Ctrl+C ends it:"
            )
            print(address, flush=True)
            answer(
                create_app(opened, token, host),
                sock,
                ready=lambda: webbrowser.open(address) if browser else None,
            )
        finally:
            opened.close()


def _listen(port: int) -> socket.socket:
    try:
        return socket.create_server(("127.0.0.1", port))
    except OSError as err:
        raise PiiError(Errors.E859, host="127.0.0.1", port=port, reason=reason_of(err)) from None


def _export(path: Path, kept: Path, out: Path, *, overwrite: bool) -> None:
    open_corpus_writer(out)
    check_places(path, out, kept, overwrite=overwrite)
    opened, tally = Review.open(path, kept), ReadStats()
    try:
        check_apart(
            "export", out, input=opened.file.place("input"), output=opened.file.place("output")
        )
        n = write_corpus(opened.gold(), out, tally=tally)
    finally:
        opened.close()
    masked = ""
    if tally.masked:
        masked = f"; {len(tally.masked)} spans end inside of a token and are masked"
    say(
        f"wrote {n} reviewed documents to '{out}'{masked}. It holds the ORIGINAL texts of students: keep it as safe as INPUT"
    )
