"""What a person says of a run: `pii-edu review`, a page on this machine; `pii-edu audit`, what it means for the release.

    pii-edu deidentify essays.csv --out clean.csv --review-dir review
    pii-edu review review                                  # opens the page; Ctrl+C ends it
    pii-edu deidentify essays.csv --out final.csv --decisions review
    pii-edu review review --export gold.jsonl              # reviewed documents, to train on
    pii-edu audit clean.csv --reviewed 60 --missed-in 0    # puts an estimate of what is missed into the report

FastAPI and uvicorn are imported when the page is asked for, and not before.
"""

import secrets
import socket
import webbrowser
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from ..errors import Errors, PiiError, reason_of
from ..files.formats.base import ReadStats
from ..files.labelled import check_places, open_corpus_writer, write_corpus
from ..files.writers import replace_file
from ..options import need
from ..profiles import KEEP
from ..release import report as proof
from ..release.report import (
    AT_RANDOM,
    BY_RISK,
    digest,
    find_report,
    number,
    page_path,
    write_report,
)
from ..release.review import Review, decisions_path
from ..release.review import reviewed as marked
from ..release.run import read_map
from .common import OverwriteOpt, check_apart, console, guard, locked, say, table_of
from .deidentify import review_file

_PLAN = (
    *("leak at most", "documents, none leaks", "documents, one leaks"),
    *("or spans, none missed", "documents of so many"),
)
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
        path = review_file(run)
        kept = decisions_path(path)
        if export:
            _export(path, kept, Path(export), overwrite=overwrite)
            return
        _serve(path, kept, port, browser=browser)


def _serve(path: Path, kept: Path, port: int, *, browser: bool) -> None:
    try:
        from ..release.review_page import create_app
    except ImportError as err:
        raise PiiError(
            Errors.E005, package=err.name, what="pii-edu review", extra="presidio"
        ) from err
    with locked(kept), listen(port) as sock:
        say("reading INPUT and OUTPUT once")
        with closing(Review.open(path, kept)) as opened:
            if opened.decisions.torn:
                say("the last decision was cut off when the page was killed; make it again")
            if not opened.report:
                say(
                    "the report of this run is gone, or is another run's by now: what its sweep found is not shown"
                )
            say(
                f"{len(opened.entries)} documents; decisions go to '{kept}'. The page shows students' texts; Ctrl+C ends it:"
            )
            page = path.with_name(path.name + ".open.html")
            show_page(partial(create_app, opened), sock, page, browser=browser)


def show_page(
    make: Callable[[str, str], Any], sock: socket.socket, page: Path, *, browser: bool = True
) -> None:
    """Print the address of an application, open it, and answer until a signal comes.

    make (Callable): The application, for a token that its address begins with, and for host and port.
    page (Path): A file that leads there while it answers: the address has a secret in it, and the arguments of a browser's process are
        for all to see.
    """
    from ..release.review_page import answer

    host, token = f"127.0.0.1:{sock.getsockname()[1]}", secrets.token_urlsafe(32)
    app, address = make(token, host), f"http://{host}/{token}/"
    try:
        print(address, flush=True)
        if browser:
            replace_file(page, f'<meta http-equiv="refresh" content="0;url={address}">')
        answer(
            app,
            sock,
            ready=lambda: webbrowser.open(page.resolve().as_uri()) if browser else None,
        )
    finally:
        page.unlink(missing_ok=True)


def listen(port: int) -> socket.socket:
    try:
        return socket.create_server(("127.0.0.1", port))
    except OSError as err:
        what, allowed = f"free port ({reason_of(err)})", "another --port"
        raise PiiError(Errors.E519, value=port, what=what, allowed=allowed) from None


def _export(path: Path, kept: Path, out: Path, *, overwrite: bool) -> None:
    open_corpus_writer(out)
    check_places(path, out, kept, overwrite=overwrite)
    tally = ReadStats()
    with closing(Review.open(path, kept)) as opened:
        read = {name: opened.file.place(name) for name in ("input", "output")}
        check_apart("export", out, **read)
        n = write_corpus(opened.gold(), out, tally=tally)
    inside = f"; {len(tally.masked)} spans end inside of a token and are masked"
    say(
        f"wrote {n} reviewed documents to '{out}'{inside if tally.masked else ''}. It holds the ORIGINAL texts of students: keep it as safe as INPUT"
    )


def audit(
    *,
    run: Annotated[
        str,
        Argument(metavar="RUN", help="OUTPUT of `pii-edu deidentify`, or its report.json."),
    ],
    review: str = Option(
        "", metavar="DIR", help="Folder of --review-dir: take what was reviewed from there."
    ),
    reviewed: int = Option(0, min=0, help="Documents that were read, drawn at random."),
    missed_in: int = Option(
        0, min=0, help="Of them, those in which something personal was left in clear."
    ),
    spans: tuple[int, int] | None = Option(
        None, metavar="MISSED THERE", help="Personal spans in them: left in clear, and all."
    ),
    bound: list[float] = Option(
        [], help="Say how many to review to show that at most this share leaks; may be repeated."
    ),
    sample: int = Option(
        0, min=0, help="Draw so many records, and print their numbers; with --review, use those."
    ),
    seed: int | None = Option(
        None, min=0, help="Of --sample: the same seed draws the same records [drawn, and told]."
    ),
    id_map: str = Option(
        "", help="What `deidentify --id-map` wrote: print names in OUTPUT beside the numbers."
    ),
) -> None:
    """Estimate what a release leaks from documents that somebody has read, and write it into report.json and report.html.

    Estimates hold for documents drawn at random (--sample), not for those that a review begins with since they look risky.
    """
    with guard():
        place = Path(run)
        path, report = find_report(place)
        _check_given(missed_in, spans, seed, sample, reviewed, review)
        seed = secrets.randbelow(10**6) if seed is None else seed
        drawn = _draw(report, sample, seed, id_map)
        if drawn and not (review or reviewed):
            for n, name in drawn.items():
                print(f"{n}\t{name}" if name else n)
            say(
                f"{len(drawn)} of {report['documents']} records, drawn with --seed {seed}; nothing was stored: note the seed, or the numbers"
            )
            return
        missed, there = spans or (None, None)
        if review:
            reviewed, missed_in, missed, there = _counts(review, [*drawn])
        if reviewed:
            found = proof.leak_estimate(
                reviewed=reviewed,
                missed_in=missed_in,
                documents=report["documents"],
                spans_missed=missed,
                spans_there=there,
            )
            by_risk = review and not drawn and reviewed < report["documents"]
            found["documents"]["drawn"] = BY_RISK if by_risk else AT_RANDOM
            if drawn:
                found["documents"] |= {"sample": len(drawn), "seed": seed}
            _put_estimate(report, found)
        if bound:
            replaced = sum(row["count"] for row in report["spans"] if row["action"] != KEEP)
            report["review_plan"] = proof.review_plan(
                bound, documents=report["documents"], spans=replaced
            )
        now = digest(place) if place != path else report["output"]
        report["output_now"] = None if now == report["output"] else now
        if report["output_now"]:
            say(
                "to review: OUTPUT is not the one that this report was written for; its digest is in the report too"
            )
        write_report(path, report)
        _show(report)
        say(f"wrote '{path}' and '{page_path(path)}'")


def _check_given(
    missed_in: int, spans: Any, seed: int | None, sample: int, reviewed: int, review: str
) -> None:
    """RAISES (PiiError): E473 for an option without another one, beside which alone it has an effect."""
    for given, name, other, needed in (
        (missed_in, "--missed-in", reviewed, "--reviewed"),
        (spans, "--spans", reviewed, "--reviewed"),
        (seed is not None, "--seed", sample, "--sample"),
        # Another seed than that which drew what was read would be no proof.
        (sample and reviewed, "--sample beside --reviewed", seed is not None, "--seed"),
        (review and reviewed, "--reviewed", not review, "no --review, which counts itself"),
    ):
        need(given, name, other, needed)


def _draw(report: dict[str, Any], sample: int, seed: int, id_map: str) -> dict[int, str]:
    """The records of a sample, with their names in OUTPUT. RAISES (PiiError): E576, if the map is of another run; E650."""
    skipped, documents = report["skipped"], report["documents"]
    left_out, n_skipped = [row["record"] for row in skipped["records"]], skipped["count"]
    names: list[str] = []
    if id_map:
        names = [out for _, out in read_map(Path(id_map))]
        if len(names) != documents + n_skipped:
            raise PiiError(Errors.E576, path=id_map, option="--id-map of this run")
        blank = [n for n, name in enumerate(names, 1) if not name]
        left_out = blank if len(blank) == n_skipped else left_out
        say(f"{len(names)} by the map: {documents} released, {n_skipped} left out")
    if not sample:
        return {}
    drawn = proof.sample_records(
        sample, documents=documents, skipped=left_out, n_skipped=n_skipped, seed=seed
    )
    if sample > documents:
        say(f"the release has {documents} documents, fewer than {sample}: all are drawn")
    return {n: names[n - 1] if names else "" for n in drawn}


def _put_estimate(report: dict[str, Any], found: dict[str, Any]) -> None:
    """An estimate from documents that were shown for their risk takes the place of none that were drawn at random."""
    both = filter(None, (found, report["leak_estimate"]))
    if [one["documents"].get("drawn", AT_RANDOM) for one in both] == [BY_RISK, AT_RANDOM]:
        say(
            "the documents that are marked as reviewed were shown by risk: they are no random sample, and the estimate from one stays"
        )
    else:
        report["leak_estimate"] = found


def _counts(review: str, drawn: list[int]) -> tuple[int, int, int, int]:
    """RETURNS (tuple): Documents reviewed, those with a miss, spans missed, spans there. RAISES (PiiError): E650; what the files raise."""
    rows = {n: (missed, there) for n, missed, there in marked(review_file(review))}
    unmarked = [n for n in drawn if n not in rows]
    if unmarked:
        raise PiiError(
            Errors.E650,
            name="--sample",
            value=f"{len(drawn)} documents, and {len(unmarked)} of them are not marked as reviewed (record {unmarked[0]})",
            allowed="documents that are, or mark these",
        )
    if not rows:
        raise PiiError(Errors.E581)
    used = [rows[n] for n in drawn or rows]
    missed, there = (sum(column) for column in zip(*used, strict=True))
    return len(used), sum(row[0] > 0 for row in used), missed, there


def _show(report: dict[str, Any]) -> None:
    if found := report["leak_estimate"]:
        about = found["documents"]
        say(f"in the report: {about['reviewed']} documents, {about.get('drawn', AT_RANDOM)}")
    for per, found in (report["leak_estimate"] or {}).items():
        seen = found.get("reviewed", found.get("there"))
        leaks = found.get("with_a_miss", found.get("missed"))
        low, high = found["interval_95"]
        say(
            f"{per}: {leaks} of {seen} leak, {found['rate']:.4f} ({low:.4f} to {high:.4f}, 95 %); at most {found['upper_95']:.4f} at 95 %"
        )
    plan = [[*map(number, row.values())] for row in report["review_plan"]]
    console().print(
        table_of(
            plan, *_PLAN, right=_PLAN, title="How many to review at random, to show this at 95 %"
        )
    )
