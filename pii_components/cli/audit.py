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
from .deidentify import review_file


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
    spans: str = Option(
        "", metavar="MISSED/THERE", help="Personal spans in them: left in clear, of all."
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
    with common.guard():
        place = Path(run)
        path, report = find_report(place)
        seed = secrets.randbelow(10**6) if seed is None else seed
        drawn = _draw(report, sample, seed)
        if drawn and not (review or reviewed):
            _print_drawn(drawn, id_map)
            common.say(
                f"{sample} of {report['documents']} records, drawn with --seed {seed}; nothing was stored: note the seed, or the numbers"
            )
            return
        missed, there = _parse_spans(spans)
        if review:
            reviewed, missed_in, missed, there = _counts(review_file(Path(review)), drawn)
        if reviewed or missed_in:
            report["leak_estimate"] = proof.leak_estimate(
                reviewed=reviewed,
                missed_in=missed_in,
                documents=report["documents"],
                spans_missed=missed,
                spans_there=there,
            )
            if drawn:
                report["leak_estimate"]["documents"] |= {"sample": sample, "seed": seed}
        if bound:
            replaced = sum(row["count"] for row in report["spans"] if row["action"] != KEEP)
            report["review_plan"] = proof.review_plan(
                bound, documents=report["documents"], spans=replaced
            )
        _check_output(place, path, report)
        write_report(path, report)
        _show(report)
        common.say(f"wrote '{path}' and '{page_path(path)}'")


def _draw(report: dict[str, Any], sample: int, seed: int) -> list[int]:
    if not sample:
        return []
    skipped = report["skipped"]
    return proof.sample_records(
        sample,
        documents=report["documents"],
        skipped=[row["record"] for row in skipped["records"]],
        n_skipped=skipped["count"],
        seed=seed,
    )


def _print_drawn(drawn: list[int], id_map: str) -> None:
    names = [out for _, out in read_map(Path(id_map))] if id_map else []
    for n in drawn:
        print(f"{n}\t{names[n - 1]}" if n <= len(names) else n)


def _parse_spans(spans: str) -> tuple[int | None, int | None]:
    if not spans:
        return None, None
    missed, _, there = spans.partition("/")
    if not (missed.isdecimal() and there.isdecimal()):
        raise PiiError(Errors.E519, value=spans, what="--spans", allowed="MISSED/THERE, as 3/410")
    return int(missed), int(there)


def _counts(review: Path, drawn: list[int]) -> tuple[int, int, int, int]:
    """RETURNS (tuple): Documents reviewed, those with a miss, spans missed, spans there. RAISES (PiiError): E587; what the files raise."""
    from ..release.review import reviewed

    rows = {n: (missed, there) for n, missed, there in reviewed(review)}
    missing = [n for n in drawn if n not in rows]
    if missing:
        raise PiiError(Errors.E587, n=len(drawn), missing=len(missing), number=missing[0])
    used = [rows[n] for n in drawn or rows]
    with_a_miss = sum(missed > 0 for missed, _ in used)
    return len(used), with_a_miss, sum(row[0] for row in used), sum(row[1] for row in used)


def _check_output(place: Path, path: Path, report: dict[str, Any]) -> None:
    """Note in the report if OUTPUT is another one by now."""
    now = digest(place) if place != path else report["output"]
    report["output_now"] = None
    if now != report["output"]:
        report["output_now"] = now
        common.say(
            "to review: OUTPUT is not the one that this report was written for; its digest is in the report too"
        )


def _show(report: dict[str, Any]) -> None:
    for per, found in (report["leak_estimate"] or {}).items():
        seen = found.get("reviewed", found.get("there"))
        leaks = found.get("with_a_miss", found.get("missed"))
        low, high = found["interval_95"]
        common.say(
            f"{per}: {leaks} of {seen} leak, {found['rate']:.4f} ({low:.4f} to {high:.4f}, 95 %); at most {found['upper_95']:.4f} at 95 %"
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
