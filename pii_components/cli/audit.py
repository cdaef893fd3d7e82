"""`pii-edu audit`: what a review says of a release, put into its report; documents drawn at random for one. `pii-edu utility`: what a release
costs research."""

import secrets
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from ..errors import Errors, PiiError
from ..files.sources import open_source
from ..files.writers import replace_file
from ..release import audit as proof
from ..release.engine import KEEP
from ..release.utility import Measured, compare, measures, read_map
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
        path, report = proof.find_report(place)
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
        now = proof.digest(place) if place != path else report["output"]
        report["output_now"] = now if now != report["output"] else None
        proof.write_report(path, report)
        if report["output_now"]:
            common.say(
                "to review: OUTPUT is not the one that this report was written for; its digest is in the report too"
            )
        _show(report)
        common.say(f"wrote '{path}' and '{proof.page_path(path)}'")


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
    plan = (list(map(proof.number, row.values())) for row in report["review_plan"])
    title = "How many to review at random, to show this at 95 %"
    common.console().print(common.table_of(plan, *names, right=names, title=title))


def utility(
    *,
    before: Annotated[
        str,
        Argument(
            metavar="BEFORE", help="The texts as they were: a file or folder, as for deidentify."
        ),
    ],
    after: Annotated[
        list[str],
        Argument(metavar="AFTER...", help="What was made of them; several, one a profile, say."),
    ],
    out: str = Option("", "--out", "-o", help="Write everything as JSON to this file."),
    text_fields: common.TextsOpt = None,
    id_field: common.IdOpt = "",
    map_files: list[str] = Option(
        [],
        "--map",
        help="Table that `deidentify --map` wrote, where names or IDs changed; one for each AFTER.",
    ),
    score: str = Option(
        "",
        metavar="MODULE:FUNCTION",
        help="A score of your own: a function from a text to a number.",
    ),
    encoding: common.EncodingOpt = "utf-8",
    spreadsheet_safe: common.SpreadsheetOpt = True,
    overwrite: common.OverwriteOpt = False,
    debug: common.DebugOpt = False,
) -> None:
    """Measure what a release costs research: length, sentences, readability, vocabulary, your score; before and after, in pairs.

    Documents are matched by file name, or by --id-column, else by their order. p: sign-flip test, not corrected for many measures.
    """
    with common.guard(debug):
        if map_files and len(map_files) != len(after):
            raise PiiError(Errors.E473, option="--map", needed="one --map for each AFTER")
        target = Path(out) if out else None
        if target is not None:
            common.check_apart(
                "output",
                target,
                before=Path(before),
                **{f"after {i}": Path(a) for i, a in enumerate(after, 1)},
            )
            if target.exists() and not overwrite:
                raise PiiError(Errors.E541, path=out)
        options: dict[str, Any] = {
            **common.texts(text_fields),
            "id_field": id_field,
            "encoding": encoding,
        }
        options["spreadsheet_safe"] = spreadsheet_safe
        old = Measured(measures(score))
        old.read(open_source(Path(before), **options))
        found: dict[str, Any] = {}
        for i, place in enumerate(after, 1):
            names = (
                {new: was for was, new in read_map(Path(map_files[i - 1])) if new}
                if map_files
                else None
            )
            found[_name(place, i, found)] = compare(
                old, open_source(Path(place), **options), names=names, about=f"AFTER {i}"
            )
        rows: list[tuple[str, ...]] = [
            (
                measure,
                mode,
                proof.number(m["before"]),
                proof.number(m["after"]),
                f"{m['difference']:+.4g}",
                "{:+.4g} to {:+.4g}".format(*m["interval_95"]),
                "–" if m["effect"] is None else f"{m['effect']:+.2f}",
                "–" if m["p"] is None else f"{m['p']:.4f}",
                f"{m['differ']:.0%}",
            )
            for measure in old.measures
            for mode, report in found.items()
            for m in (report["measures"][measure],)
        ]
        rows += [
            ("types_kept", mode, "1", proof.number(r["types_kept"]), *["–"] * 5)
            for mode, r in found.items()
        ]
        head = (
            "measure",
            "release",
            "before",
            "after",
            "difference",
            "95 % interval",
            "effect d",
            "p",
            "differ",
        )
        common.console().print(common.table_of(rows, *head, right=head[2:]))
        for mode, report in found.items():
            alone = "; ".join(
                f"{report[side]['count']} {side.replace('_', ' ')} (records {', '.join(map(str, report[side]['records'][:20]))})"
                for side in ("only_before", "only_after")
                if report[side]["count"]
            )
            common.say(
                f"{mode}: {report['documents']} documents in pairs{'; ' if alone else ''}{alone}"
            )
        if target is not None:
            replace_file(target, proof.report_text({"score": score, "releases": found}))
            common.say(f"wrote '{target}'")


def _name(after: str, i: int, taken: dict[str, Any]) -> str:
    """What a release is called: its profile, where its report is found; names of files may hold names of people."""
    try:
        name = str(proof.find_report(Path(after))[1]["profile"])
    except PiiError:
        name = f"release {i}"
    return name if name not in taken else f"{name} ({i})"
