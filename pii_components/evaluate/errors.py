"""What kind of errors a pipeline makes, as counts: `python -m pii_components.evaluate.errors`.

    python -m pii_components.evaluate.errors --gold essays.jsonl --pipeline en_pii_edu --out metrics/errors.json

Every gold entity is right, missed, or found with a wrong edge, role or label; every prediction that touches no gold entity
is spurious. Each is counted by where it stands, how it is written and how it is set in its line. Counts only, so that it
can be run on private data.
"""

import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from ..labels import is_name
from ..profiles import Profile
from .command import progress_bar, run_command, shown_command, split_list
from .gold import choose_splits, file_sha256, read_gold
from .records import CRAPII_LABELS, Entity, GoldDocument
from .report import describe_data, versions, write_report
from .stored import read_run
from .systems import PipelineSystem, Run, run_system
from .tables import console, counts_table

RIGHT = "right"
MISSED = "missed"
TOO_LONG, TOO_SHORT, SHIFTED = "too_long", "too_short", "shifted"
WRONG_ROLE, WRONG_LABEL = "wrong_role", "wrong_label"
SPURIOUS = "spurious"
KINDS = (RIGHT, MISSED, TOO_LONG, TOO_SHORT, SHIFTED, WRONG_ROLE, WRONG_LABEL, SPURIOUS)
FACETS = ("position", "case", "words", "layout")
_EDGE = 200  # characters; 59 % of CRAPII's names start within the first 200 (PEERS.md, section B4)


@dataclass(frozen=True, slots=True)
class Finding:
    """One gold entity, or one spurious prediction, without its text.

    label (str): Of the gold entity; of the prediction if it is spurious. kind (str): One of `KINDS`.
    position (str): header, body, sign-off. case (str): lower, UPPER, Title, mixed, none. words (str): 1, 2, 3+.
    layout (str): own line, glued (to a letter, a digit or "_"), in line.
    """

    label: str
    kind: str
    position: str
    case: str
    words: str
    layout: str


def judge(document: GoldDocument, predicted: Sequence[Entity], labels: Iterable[str] = CRAPII_LABELS) -> list[Finding]:
    """Findings of one document.

    document (GoldDocument): Text and gold. predicted (Sequence[Entity]): All predictions in it, also of other labels (roles).
    labels (Iterable[str]): Labels that count.
    RETURNS (list[Finding]): Gold entities in their order, then spurious predictions in theirs.
    """
    counted = frozenset(labels)
    gold = [entity for entity in document.entities if entity.label in counted]
    findings = [describe(document, entity, kind_of(entity, predicted)) for entity in gold]
    spurious = [p for p in predicted if p.label in counted and not any(overlap(p, entity) for entity in document.entities)]
    return findings + [describe(document, entity, SPURIOUS) for entity in spurious]


def kind_of(gold: Entity, predicted: Sequence[Entity]) -> str:
    """How a gold entity was found: judged by the prediction of its label that shares most characters, else of any label.

    gold (Entity): Annotated. predicted (Sequence[Entity]): In the same document.
    RETURNS (str): One of `KINDS`, without SPURIOUS.
    """
    touching = [entity for entity in predicted if overlap(gold, entity)]
    if not touching:
        return MISSED
    best = max(touching, key=lambda p: (p.label == gold.label, overlap(gold, p), -(p.end - p.start), -p.start))
    if best.label != gold.label:
        return WRONG_ROLE if is_name(best.label) and is_name(gold.label) else WRONG_LABEL
    if (best.start, best.end) == (gold.start, gold.end):
        return RIGHT
    if best.start <= gold.start and best.end >= gold.end:
        return TOO_LONG
    if best.start >= gold.start and best.end <= gold.end:
        return TOO_SHORT
    return SHIFTED


def overlap(first: Entity, second: Entity) -> int:
    """RETURNS (int): Number of characters that two entities of one document share."""
    return max(0, min(first.end, second.end) - max(first.start, second.start))


def describe(document: GoldDocument, entity: Entity, kind: str) -> Finding:
    """RETURNS (Finding): Where and how an entity stands."""
    text = document.text[entity.start : entity.end]
    return Finding(
        label=entity.label,
        kind=kind,
        position=position_of(entity.start, len(document.text)),
        case=case_of(text),
        words={0: "1", 1: "1", 2: "2"}.get(len(text.split()), "3+"),
        layout=layout_of(document.text, entity.start, entity.end),
    )


def position_of(start: int, length: int) -> str:
    """RETURNS (str): header for the first 200 characters, sign-off for the last 200, else body; a short text is all header."""
    if start < _EDGE:
        return "header"
    return "sign-off" if start >= length - _EDGE else "body"


def case_of(text: str) -> str:
    """RETURNS (str): How the letters are written: lower, UPPER, Title, mixed; none without letters."""
    if not any(char.isalpha() for char in text):
        return "none"
    for name, test in (("lower", str.islower), ("UPPER", str.isupper), ("Title", str.istitle)):
        if test(text):
            return name
    return "mixed"


def layout_of(text: str, start: int, end: int) -> str:
    """RETURNS (str): own line if it stands alone on it; glued if a letter, digit or "_" touches it; else in line."""
    before, after = text[start - 1 : start] if start else "", text[end : end + 1]
    if any(char.isalnum() or char == "_" for char in before + after):
        return "glued"
    line_start, line_end = text.rfind("\n", 0, start) + 1, text.find("\n", end)
    rest = text[line_start:start] + text[end : len(text) if line_end < 0 else line_end]
    return "in line" if rest.strip() else "own line"


def summarize(findings: Iterable[Finding]) -> dict[str, Any]:
    """Counts of kinds per label, and per label and facet.

    findings (Iterable[Finding]): Of all documents.
    RETURNS (dict[str, Any]): `kinds[label][kind]` and `facets[facet][label][value][kind]`.
    """
    findings = list(findings)
    kinds: dict[str, Counter[str]] = {}
    facets: dict[str, dict[str, dict[str, Counter[str]]]] = {facet: {} for facet in FACETS}
    for finding in findings:
        kinds.setdefault(finding.label, Counter())[finding.kind] += 1
        for facet in FACETS:
            values = facets[facet].setdefault(finding.label, {})
            values.setdefault(getattr(finding, facet), Counter())[finding.kind] += 1
    return {
        "kinds": {label: in_order(counts) for label, counts in sorted(kinds.items())},
        "facets": {
            facet: {
                label: {value: in_order(counts) for value, counts in sorted(values.items())}
                for label, values in sorted(labels.items())
            }
            for facet, labels in facets.items()
        },
    }


def in_order(counts: Counter[str]) -> dict[str, int]:
    """RETURNS (dict[str, int]): Counts in the order of `KINDS`, without zeros."""
    return {kind: counts[kind] for kind in KINDS if counts[kind]}


def judge_all(run: Run, documents: Sequence[GoldDocument]) -> list[Finding]:
    """RETURNS (list[Finding]): Findings of all documents."""
    by_document: dict[str, list[Entity]] = {}
    for entity in run.entities:
        by_document.setdefault(entity.document, []).append(entity)
    return [finding for doc in documents for finding in judge(doc, by_document.get(doc.id, []))]


def errors(
    *,
    gold: Annotated[Path, typer.Option(help="Labelled essays: .json or .jsonl with tokens, trailing_whitespace, labels.")],
    pipeline: Annotated[str, typer.Option(help="Pipeline: name of a package or path.")] = "en_pii_edu",
    stored: Annotated[Path | None, typer.Option(help="Stored predictions instead of a pipeline.")] = None,
    splits: Annotated[str, typer.Option(help="Only these parts of the data (seed_split), with commas between them.")] = "",
    out: Annotated[Path | None, typer.Option(help="File for the counts (JSON).")] = None,
) -> None:
    """Count kinds of errors per label: no text is shown or written."""
    sha256 = file_sha256(gold)
    documents = choose_splits(read_gold(gold), split_list(splits))
    if stored is not None:
        run = read_run(stored, documents, data_sha256=sha256)
    else:
        system = PipelineSystem.load(pipeline, protects=Profile.load("crapii").protects)
        with progress_bar(system.name, len(documents)) as advance:
            run = run_system(system, documents, progress=advance)
    counts = summarize(judge_all(run, documents))
    report = {
        "command": shown_command("pii_components.evaluate.errors", sys.argv[1:]),
        "data": describe_data(documents, file=gold.name, sha256=sha256),
        "versions": versions(),
        "system": {"name": run.name, "about": dict(run.about)},
    } | counts
    to = console()
    to.print(counts_table("Kinds of findings by label", counts["kinds"], first="label", columns=KINDS))
    for facet in FACETS:
        by_label = counts["facets"][facet]
        rows = {f"{label}: {value}": c for label, values in by_label.items() for value, c in values.items()}
        to.print(counts_table(f"By {facet}", rows, first=f"label: {facet}", columns=KINDS))
    if out is not None:
        write_report(report, out)


if __name__ == "__main__":
    run_command(errors)
