"""What `pii-edu deidentify` tells on standard error: how a run begins, what it did, what somebody should look at."""

from collections.abc import Iterator, Mapping
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
    if not key.kept:
        tell(key.note, "dim")
    if old is not None:
        tell(f"going on after record {old.items}")


def tell_end(run: Run, report_path: Path, swept: SweepResult | None) -> None:
    """Counts, what is to be reviewed, and where it was written."""
    if common.global_option("quiet"):
        return
    report = run.report
    if report.spans:
        rows = ([*key.split("|"), count] for key, count in sorted(report.spans.items()))
        table = common.table_of(rows, "label", "role", "action", "spans", right=["spans"])
        common.console(stderr=True).print(table)
    tell(f"{report.documents} documents, {report.n_skipped} skipped, {report.words} words")
    for line in _to_review(run, report, swept):
        tell(f"to review: {line}")
    tell(f"wrote '{run.writer.out}'")
    tell(f"for your files, not to be released: '{report_path}', '{page_path(report_path)}'")


def _to_review(run: Run, report: Report, swept: SweepResult | None) -> Iterator[str]:
    """YIELDS (str): What somebody should look at. The report has the places."""
    if report.renamed:
        yield f"{report.renamed} documents have a pseudonym for their name; --config ids=keep leaves it as it is"
    if run.headers is not None:
        yield f"'{run.headers.out}' holds the headers as they were; it is not to be released"
    if report.unread:
        yield unread(report.unread)
    if n := report.notes[NO_THREAD]:
        yield without_thread(n)
    if report.n_left_over:
        yield f"in {report.n_left_over} documents a value that was replaced stands once more in clear"
    if swept is not None and swept.n_found:
        risks = ", ".join(f"{risk}: {swept.by_risk[risk]}" for risk in RISKS)
        yield (
            f"what was hidden somewhere stands in clear in {swept.n_found} places ({swept.n_documents} documents), risk {risks}. "
            "--config show_leaks=true shows them, --config sweep=hide hides surnames too"
        )
    for i, name in enumerate(run.source.others, 1):
        if n := report.in_fields[name]:
            yield f"in {n} records a value that was replaced stands in '{safe_name(name, i)}' too, which stays unchanged"


def without_thread(n: int) -> str:
    """How many documents have no thread."""
    return f"{n} documents tell no thread; each is a scope of its own"


def unread(kinds: Mapping[str, int]) -> str:
    """What documents hold and nobody reads."""
    listed = ", ".join(f"{kind} ({n})" for kind, n in sorted(kinds.items()))
    return f"not read in documents, and left out: {listed}"


def show_leaks(swept: SweepResult) -> None:
    """What a sweep found, with what stands around it: on the steward's terminal and nowhere else."""
    screen = common.console()
    if not screen.is_terminal:
        common.say("leaks are not shown: standard output is no terminal")
        return
    rows = []
    for place in swept.found:
        before, found, after = (common.in_a_line(text) for text in swept.shown[place])
        where = Text.assemble(before, (found, "reverse"), after)
        rows.append((place.risk, place.record, place.start, place.end, where))
    numbers = ("record", "start", "end")
    screen.print(common.table_of(rows, "risk", *numbers, "where", right=numbers))


def tell_sent(report: Mapping[str, Any]) -> None:
    """What language models were sent, and what it costs."""
    for row in report["models"]:
        where = f"sent to {row['host']}" if row["left_this_machine"] else "on this machine"
        tell(f"{row['model']}: {row['calls']} calls, {where}")
    if report["usd"] is not None:
        tell(f"cost of the models: {report['usd']:.4f} US dollars")
