"""What Presidio finds alone and what it finds with us, by its own names of entities, on essays with gold.

    documents = read_samples(Path("assets/samples/essays.csv"), Path("assets/samples/gold.jsonl"))
    compare_presidio({"presidio-md": alone, "with en_pii_edu": ours}, documents)

Both are AnalyzerEngines that are asked for everything they know. A result is right if it overlaps gold of its entity; gold is missed
if some of it lies in no result at all, whatever its entity: an anonymizer would leave that in clear. Authors and characters are no
PERSON: calling them so is what an analyzer without roles cannot help.
"""

import csv
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pii_components.cli.common import DONE, guard
from pii_components.errors import Errors, PiiError
from pii_components.evaluate.gold import Entity, GoldDocument
from pii_components.evaluate.systems import PRESIDIO_WIDE
from pii_components.labels import CHARACTER, CITED, ID_NUM, LABELS, PRESIDIO_ENTITIES, role_of
from scripts.jedm_tables import DebugOpt, QuietOpt

if TYPE_CHECKING:
    from presidio_analyzer import AnalyzerEngine, RecognizerResult

# `pii-edu evaluate presidio`: what Presidio finds alone and with us, on essays with gold.

EPILOG = "Exit codes: 0 done; 2 refused, nothing was written; 3 an unexpected error; 130 interrupted."

TextsOpt = Annotated[Path, typer.Option("--texts", help="CSV with the columns id and text.")]
GoldOpt = Annotated[Path, typer.Option("--gold", help="JSONL with id and spans of [start, end, label].")]
PipelineOpt = Annotated[str, typer.Option("--pipeline", help="Ours: a package or a folder.")]
AloneOpt = Annotated[str, typer.Option("--alone", help="Presidio by itself: presidio-sm, -md, -lg, -trf, or presidio:PATH.")]
OutOpt = Annotated[Path | None, typer.Option("--out", "-o", help="Metrics file (JSON).")]


def presidio(
    *,
    texts: TextsOpt = Path("assets/samples/essays.csv"),
    gold: GoldOpt = Path("assets/samples/gold.jsonl"),
    pipeline: PipelineOpt = "en_pii_edu",
    alone: AloneOpt = "presidio-md",
    out: OutOpt = None,
    quiet: QuietOpt = False,
    debug: DebugOpt = False,
) -> None:
    """Run Presidio with its own recognizers, and Presidio with ours, over the same essays; count by Presidio's entities."""
    with guard(debug):
        from pii_components.cli.common import console
        from pii_components.evaluate.gold import file_sha256
        from pii_components.evaluate.report import check_place, describe_data, versions, write_report
        from pii_components.evaluate.tables import progress_bar

        if out is not None:
            check_place(out)
        documents = read_samples(texts, gold)
        analyzers, about = _analyzers(alone, pipeline)
        with progress_bar("presidio", len(documents) * len(analyzers)) as advance:
            found = compare_presidio(analyzers, documents, progress=advance)
        report: dict[str, Any] = {
            "command": f"pii-edu evaluate presidio --texts {texts.name} --gold {gold.name} --alone {alone.partition(':')[0]}",
            "kind": "presidio",
            "data": describe_data(documents, file=texts.name, sha256=file_sha256(texts)) | {"gold_sha256": file_sha256(gold)},
            "versions": versions(),
            "about": about,
        } | found
        if out is not None:
            write_report(report, out)
        if not quiet:
            console().print(_table(report))
    raise typer.Exit(DONE)


def _analyzers(alone: str, pipeline: str) -> "tuple[dict[str, AnalyzerEngine], dict[str, Any]]":
    """RETURNS (tuple): Analyzers by name, and what they run. Presidio's must be one of the baselines that are Presidio."""
    from pii_components.evaluate.systems import PresidioSystem, describe_pipeline, make_system
    from pii_components.presidio import build_analyzer

    system = make_system(alone)
    if not isinstance(system, PresidioSystem):
        raise PiiError(Errors.E740, got=alone, known="presidio-sm, presidio-md, presidio-lg, presidio-trf, presidio:PATH")
    ours = build_analyzer(pipeline=pipeline)
    name = "with us"
    engine: Any = ours.nlp_engine
    nlp = engine.get_nlp(ours.supported_languages[0])
    # All entities are asked for, whatever the baseline asks for elsewhere.
    about = {key: value for key, value in system.about.items() if key != "entities"}
    return {"alone": system.analyzer, name: ours}, {"alone": about, name: describe_pipeline(nlp)}


def _table(report: dict[str, Any]) -> Any:
    from rich.table import Table

    head, rows = presidio_rows(report)
    table = Table()
    for i, name in enumerate(head):
        table.add_column(name, justify="right" if i else "left")
    for row in rows:
        table.add_row(*row)
    return table


PERSON = "PERSON"
# Entities of Presidio's for numbers that somebody is known by, which are one kind of thing in an essay.
_NUMBERS = frozenset(entity for entity, label in PRESIDIO_WIDE.items() if label == ID_NUM)
HEAD = ("Presidio's entity", "in the essays")


def read_samples(texts: Path, gold: Path) -> list[GoldDocument]:
    """Read essays whose gold lies beside them.

    texts (Path): CSV with `id` and `text`. gold (Path): JSONL with `id` and `spans` of [start, end, label].
    RETURNS (list[GoldDocument]): In the order of the gold.
    RAISES (PiiError): E501 for a file that cannot be read, E813 for gold that does not fit, E002 for a label that is not ours.
    """
    try:
        with texts.open(encoding="utf8", newline="") as file:
            known = {row["id"]: row["text"] for row in csv.DictReader(file)}
        records = [json.loads(line) for line in gold.read_text("utf8").splitlines() if line.strip()]
        spans = {record["id"]: [(int(s), int(e), str(label)) for s, e, label in record["spans"]] for record in records}
    except (OSError, ValueError, KeyError, TypeError) as err:
        raise PiiError(Errors.E501, what=f"{texts.name} and {gold.name}", reason=type(err).__name__) from None
    documents = []
    for ident, found in spans.items():
        for start, end, label in found:
            if label not in LABELS:
                raise PiiError(Errors.E002, label=label, allowed=", ".join(LABELS))
            if not 0 <= start < end <= len(known.get(ident, "")):
                raise PiiError(Errors.E813, document=ident, start=start, end=end, file=texts.name)
        text = known.get(ident, "")
        documents.append(
            GoldDocument(ident, text, tuple(Entity(ident, s, e, label, text[s:e]) for s, e, label in sorted(found)))
        )
    if not documents:
        raise PiiError(Errors.E703, file=gold.name)
    return documents


def compare_presidio(
    analyzers: "Mapping[str, AnalyzerEngine]",
    documents: Sequence[GoldDocument],
    *,
    progress: Callable[[], None] = lambda: None,
) -> dict[str, Any]:
    """Count what analyzers find.

    analyzers (Mapping[str, AnalyzerEngine]): By the name in the table. documents (Sequence[GoldDocument]): With gold.
    progress (Callable[[], None]): Called after each text of each analyzer.
    RETURNS (dict[str, Any]): `gold` by entity and `systems`, each with counts by entity: see `count`.
    """
    systems = {}
    for name, analyzer in analyzers.items():
        found = []
        for doc in documents:
            found.append(analyzer.analyze(doc.text, analyzer.supported_languages[0]))
            progress()
        systems[name] = count(found, documents)
    gold = Counter(_entity(e.label) for doc in documents for e in doc.entities if not _public(e.label))
    cited = sum(_public(e.label) for doc in documents for e in doc.entities)
    return {"gold": dict(sorted(gold.items())), "gold_cited": cited, "systems": systems}


def count(found: "Sequence[Sequence[RecognizerResult]]", documents: Sequence[GoldDocument]) -> dict[str, Any]:
    """Count the results of one analyzer.

    found (Sequence[Sequence[RecognizerResult]]): For each document. documents (Sequence[GoldDocument]): The same ones.
    RETURNS (dict[str, Any]): `entities`: for each, `results` and how many are `right`; `missed`: gold of each that is left in clear;
        `cited_as_person`: authors and characters, of `gold_cited`, that a PERSON overlaps.
    """
    results: Counter[str] = Counter()
    right: Counter[str] = Counter()
    missed: Counter[str] = Counter()
    called = 0
    for doc, given in zip(documents, found, strict=True):
        hidden = {i for r in given for i in range(r.start, r.end)}
        for entity, start, end in sorted({(shown(r.entity_type), r.start, r.end) for r in given}):
            results[entity] += 1
            right[entity] += any(
                _entity(e.label) == entity and not _public(e.label) and e.start < end and start < e.end for e in doc.entities
            )
        people = [(r.start, r.end) for r in given if r.entity_type == PERSON]
        for gold in doc.entities:
            if _public(gold.label):
                called += any(start < gold.end and gold.start < end for start, end in people)
            else:
                clear = any(i not in hidden and not doc.text[i].isspace() for i in range(gold.start, gold.end))
                missed[_entity(gold.label)] += clear
    entities = {entity: {"results": results[entity], "right": right[entity]} for entity in sorted(results)}
    return {"entities": entities, "missed": {entity: n for entity, n in sorted(missed.items()) if n}, "cited_as_person": called}


def shown(entity: str) -> str:
    """RETURNS (str): The row of an entity: all kinds of numbers that somebody is known by are ID."""
    return PRESIDIO_ENTITIES[ID_NUM] if entity in _NUMBERS else entity


def _entity(label: str) -> str:
    return PRESIDIO_ENTITIES[label]


def _public(label: str) -> bool:
    return role_of(label) in (CITED, CHARACTER)


def presidio_rows(report: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    """The table of a report.

    report (Mapping[str, Any]): What `pii-edu evaluate presidio` wrote.
    RETURNS (tuple[list[str], list[list[str]]]): Headings and cells. For each analyzer: results, how many are right, and gold that is
        left in clear.
    """
    systems = report["systems"]
    head = [*HEAD, *(f"{name}: {what}" for name in systems for what in ("results", "right", "left in clear"))]
    entities = dict.fromkeys((*report["gold"], *sorted({e for s in systems.values() for e in s["entities"]})))
    rows = []
    for entity in entities:
        cells = [entity, str(report["gold"].get(entity, 0))]
        for system in systems.values():
            counts = system["entities"].get(entity, {"results": 0, "right": 0})
            # What the gold does not label cannot be judged.
            judged = entity in report["gold"]
            missed = str(system["missed"].get(entity, 0)) if judged else "–"
            cells += [str(counts["results"]), str(counts["right"]) if judged else "–", missed]
        rows.append(cells)
    cited = ["authors and characters", str(report["gold_cited"])]
    for system in systems.values():
        cited += [f"{system['cited_as_person']} called PERSON", "", ""]
    return head, [*rows, cited]
