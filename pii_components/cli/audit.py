"""`pii-edu audit`: what a review says of a release, put into its report; documents drawn at random for one."""

import secrets
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from ..errors import Errors, PiiError
from ..release import audit as proof
from ..release.engine import KEEP
from ..release.report import digest, find_report, number, page_path, write_report
from ..release.run import read_map
from . import common

RUN_HELP = "OUTPUT of `pii-edu deidentify`, or its report.json."


def audit(
    *,
    run: Annotated[str, Argument(metavar="RUN", help=RUN_HELP)],
    review: str = Option(
        "",
        metavar="FILE",
        help="What `deidentify --review-out` wrote: take what was reviewed from there.",
    ),
    decisions: str = Option("", help="Decisions of that review [<FILE>.decisions.jsonl]."),
    reviewed: int = Option(0, min=0, help="Documents that were read, drawn at random."),
    missed_in: int = Option(
        0, min=0, help="Of them, those in which something personal was left in clear."
    ),
    spans_missed: int = Option(-1, help="In those read: personal spans that were left in clear."),
    spans_there: int = Option(-1, help="In those read: all personal spans, replaced or left."),
    bound: list[float] = Option(
        [], help="Say how many to review to show that at most this share leaks; may be repeated."
    ),
    sample: int = Option(
        0,
        min=0,
        help="Draw so many records at random, and print their numbers; with --review, estimate from those.",
    ),
    seed: int = Option(
        -1, help="Of --sample: the same seed draws the same records [drawn, and told]."
    ),
    map_file: str = Option(
        "",
        "--map",
        help="Table that `deidentify --map` wrote: print names in OUTPUT beside the numbers.",
    ),
    debug: common.DebugOpt = False,
) -> None:
    """Estimate what a release leaks from documents that somebody has read, and write it into report.json and report.html.

    Estimates hold for documents drawn at random (--sample), not for those that a review begins with since they look risky.
    """
    with common.guard(debug):
        place = Path(run)
        path, report = find_report(place)
        documents, left_out = (
            report["documents"],
            [row["record"] for row in report["skipped"]["records"]],
        )
        seed = seed if seed >= 0 else secrets.randbelow(10**6)
        drawn: list[int] = []
        if sample:
            drawn = proof.sample_records(
                sample,
                documents=documents,
                skipped=left_out,
                n_skipped=report["skipped"]["count"],
                seed=seed,
            )
        if drawn and not (review or reviewed):
            names = [after for _, after in read_map(Path(map_file))] if map_file else []
            for n in drawn:
                print(f"{n}\t{names[n - 1]}" if names else n)
            common.say(
                f"{sample} of {documents} records, drawn with --seed {seed}; nothing was stored: note the seed, or the numbers"
            )
            return
        given = [spans_missed, spans_there] if max(spans_missed, spans_there) >= 0 else [None, None]
        if review:
            reviewed, missed_in, *given = _counts(
                Path(review), Path(decisions) if decisions else None, drawn
            )
        if reviewed or missed_in:
            report["leak_estimate"] = proof.leak_estimate(
                reviewed=reviewed,
                missed_in=missed_in,
                documents=documents,
                spans_missed=given[0],
                spans_there=given[1],
            )
            report["leak_estimate"]["documents"] |= (
                {"sample": sample, "seed": seed} if drawn else {}
            )
        if bound:
            spans = sum(row["count"] for row in report["spans"] if row["action"] != KEEP)
            report["review_plan"] = proof.review_plan(bound, documents=documents, spans=spans)
        now = digest(place) if place != path else report["output"]
        report["output_now"] = now if now != report["output"] else None
        write_report(path, report)
        if report["output_now"]:
            common.say(
                "to review: OUTPUT is not the one that this report was written for; its digest is in the report too"
            )
        _show(report)
        common.say(f"wrote '{path}' and '{page_path(path)}'")


def _counts(review: Path, decisions: Path | None, drawn: list[int]) -> tuple[int, int, int, int]:
    """RETURNS (tuple): Documents reviewed, those with a miss, spans missed, spans there. RAISES (PiiError): E587; what the files raise."""
    from ..release.review import reviewed

    rows = {n: (missed, there) for n, missed, there in reviewed(review, decisions)}
    if missing := [n for n in drawn if n not in rows]:
        raise PiiError(Errors.E587, n=len(drawn), missing=len(missing), number=missing[0])
    used = [rows[n] for n in drawn] if drawn else list(rows.values())
    return (
        len(used),
        sum(missed > 0 for missed, _ in used),
        sum(missed for missed, _ in used),
        sum(there for _, there in used),
    )


def _show(report: dict[str, Any]) -> None:
    for per, e in (report["leak_estimate"] or {}).items():
        seen, leaks, (low, high) = (
            e.get("reviewed", e.get("there")),
            e.get("with_a_miss", e.get("missed")),
            e["interval_95"],
        )
        common.say(
            f"{per}: {leaks} of {seen} leak, {e['rate']:.4f} ({low:.4f} to {high:.4f}, 95 %); at most {e['upper_95']:.4f} at 95 %"
        )
    names = (
        "leak at most",
        "documents, none leaks",
        "documents, one leaks",
        "or spans, none missed",
        "documents of so many",
    )
    plan = (list(map(number, row.values())) for row in report["review_plan"])
    title = "How many to review at random, to show this at 95 %"
    common.console().print(common.table_of(plan, *names, right=names, title=title))
