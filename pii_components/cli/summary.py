"""What `pii-edu deidentify` tells on standard error: how a run begins, what it did, what somebody should look at."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.text import Text

from ..files.record import Source, safe_name
from ..release.columns import NO_THREAD
from ..release.report import Report, page_path
from ..release.run import Run, RunState, SweepResult
from ..release.sweep import RISKS
from . import common
from .common import tell


def tell_start(source: Source, key: common.Key, old: RunState | None) -> None:
    """What is read as text, and which key is used."""
    if source.text_field:
        unchanged = ", ".join(source.others) or "nothing else"
        tell(f"text: {', '.join(source.text_fields)}; unchanged: {unchanged}")
    common.tell_hidden(source)
    if not key.kept:
        tell(key.note, "dim")
    if old is not None:
        tell(f"going on after record {old.items}")


def tell_end(run: Run, report_path: Path, swept: SweepResult | None) -> None:
    """Counts, what is to be reviewed, and where it was written."""
    if common.global_option("quiet"):
        return
    report = run.report
    _show_counts(report)
    if report.renamed:
        what = "ID" if run.source.has_columns else "file name"
        tell(
            f"{report.renamed} documents have a pseudonym for their {what}; --config ids=keep leaves it as it is"
        )
    if report.headers:
        tell(f"{report.headers} headers were removed, in {report.with_headers} documents")
    if run.headers is not None:
        _to_review(f"'{run.headers.out}' holds the headers as they were; it is not to be released")
    tell_unread(report.unread)
    tell_without_thread(report.notes[NO_THREAD])
    if report.n_left_over:
        _to_review(
            f"in {report.n_left_over} documents a value that was replaced stands once more in clear; the report lists them"
        )
    if swept is not None and swept.n_found:
        _tell_swept(swept)
    _tell_fields(run)
    tell(
        f"wrote '{run.writer.out}', '{report_path}' and '{page_path(report_path)}' for your files, not to be released"
    )


def _to_review(line: str) -> None:
    tell(f"to review: {line}")


def _show_counts(report: Report) -> None:
    if report.spans:
        rows = ([*key.split("|"), count] for key, count in sorted(report.spans.items()))
        common.console(stderr=True).print(
            common.table_of(rows, "label", "role", "action", "spans", right=["spans"])
        )
    speed = f", {report.words / report.seconds:.0f} words per second" if report.seconds else ""
    tell(f"{report.documents} documents, {report.n_skipped} skipped, {report.words} words{speed}")


def _tell_swept(swept: SweepResult) -> None:
    risks = ", ".join(f"{risk}: {swept.by_risk[risk]}" for risk in RISKS)
    _to_review(
        f"what was hidden somewhere stands in clear in {swept.n_found} places ({swept.n_documents} documents), risk {risks}; "
        "the report lists them. --config show_leaks=true shows them, --config sweep=hide hides surnames too"
    )


def _tell_fields(run: Run) -> None:
    """Fields that pass through unchanged and hold a value that was replaced in a text."""
    for i, name in enumerate(run.source.others, 1):
        n = run.report.in_fields[name]
        if not n:
            continue
        place = "the name of the file"
        if name != "(file name)":
            place = f"'{safe_name(name, i)}', which stays unchanged"
        _to_review(f"in {n} records a value that was replaced stands in {place} too")


def tell_without_thread(n: int) -> None:
    """How many documents have no thread."""
    if n:
        _to_review(f"{n} documents tell no thread; each is a scope of its own")


def tell_unread(unread: Mapping[str, int]) -> None:
    """What documents hold and nobody reads."""
    if unread:
        kinds = ", ".join(f"{kind} ({n})" for kind, n in sorted(unread.items()))
        _to_review(f"not read in documents: {kinds}; all of it is left out. The report lists them")


def show_leaks(swept: SweepResult) -> None:
    """What a sweep found, with what stands around it: on the steward's terminal and nowhere else."""
    screen = common.console()
    if not screen.is_terminal:
        common.say("leaks are not shown: standard output is no terminal")
        return
    rows = []
    for place in swept.found:
        before, found, after = map(_in_a_line, swept.shown[place])
        where = Text.assemble(before, (found, "reverse"), after)
        rows.append((place.risk, place.record, place.start, place.end, where))
    numbers = ("record", "start", "end")
    screen.print(common.table_of(rows, "risk", *numbers, "where", right=numbers))


def _in_a_line(text: str) -> str:
    return "".join(ch if ch.isprintable() else " " for ch in text)


def tell_sent(report: Mapping[str, Any]) -> None:
    """What language models were sent, and what it costs."""
    for row in report["models"]:
        where = f"sent to {row['host']}" if row["left_this_machine"] else "on this machine"
        tokens = f"{row['tokens_in']} tokens in, {row['tokens_out']} out"
        tell(f"{row['model']}: {row['calls']} calls, {tokens}, {where}")
    if report["usd"] is not None:
        tell(
            f"cost of the models: {report['usd']:.4f} US dollars at the prices of {report['prices']}"
        )
    if notes := report["documents_with_notes"]:
        counts = ", ".join(f"{code} in {n} documents" for code, n in sorted(notes.items()))
        _to_review(f"answers that did not count: {counts}")
