"""What Presidio finds alone and what it finds with us, by its own names of entities, on essays with gold.

    python -m scripts.presidio_samples --alone presidio-md --out metrics/presidio_samples.json

Both are AnalyzerEngines that are asked for everything they know. A result is right if it overlaps gold of its entity; gold is missed
if some of it lies in no result at all, whatever its entity: an anonymizer would leave that in clear. Authors and characters are no
PERSON: calling them so is what an analyzer without roles cannot help.
"""

import csv
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from pii_components.cli.common import guard
from pii_components.errors import Errors, PiiError
from pii_components.evaluate.gold import Entity, GoldDocument, file_sha256
from pii_components.evaluate.report import describe_data, versions
from pii_components.evaluate.systems import PRESIDIO_WIDE, PresidioSystem, describe_pipeline, make_system
from pii_components.evaluate.tables import progress_bar
from pii_components.labels import CHARACTER, CITED, ID_NUM, LABELS, PRESIDIO_ENTITIES, role_of
from scripts import common

PERSON = "PERSON"
# Presidio's entities for numbers that somebody is known by are one kind of thing in an essay: ID.
_NUMBERS = frozenset(entity for entity, label in PRESIDIO_WIDE.items() if label == ID_NUM)


def main(
    *,
    texts: Annotated[Path, typer.Option(help="CSV with the columns id and text.")] = Path("assets/samples/essays.csv"),
    gold: Annotated[Path, typer.Option(help="JSONL with id and spans of [start, end, label].")] = Path(
        "assets/samples/gold.jsonl"
    ),
    pipeline: Annotated[str, typer.Option(help="Ours: a package or a folder.")] = "en_pii_edu",
    alone: Annotated[
        str, typer.Option(help="Presidio by itself: presidio-sm, -md, -lg, -trf, or presidio:PATH.")
    ] = "presidio-md",
    out: common.OutOpt = None,
    quiet: common.QuietOpt = False,
    debug: common.DebugOpt = False,
) -> None:
    """Run Presidio with its own recognizers, and Presidio with ours, over the same essays; count by Presidio's entities."""
    with guard(debug):
        common.early(out)
        documents = read_samples(texts, gold)
        analyzers, about = _analyzers(alone, pipeline)
        with progress_bar("presidio", len(documents) * len(analyzers)) as advance:
            found = compare_presidio(analyzers, documents, progress=advance)
        data = describe_data(documents, file=texts.name, sha256=file_sha256(texts)) | {"gold_sha256": file_sha256(gold)}
        report = {"kind": "presidio", "data": data, "versions": versions(), "about": about, **found}
        common.publish("presidio_samples", report, out, None if quiet else print_presidio)


def _analyzers(alone: str, pipeline: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """AnalyzerEngines by name, and what they run. Presidio's must be one of the baselines that are Presidio."""
    from pii_components.presidio import build_analyzer

    system = make_system(alone)
    if not isinstance(system, PresidioSystem):
        raise PiiError(Errors.E740, got=alone, known="presidio-sm, presidio-md, presidio-lg, presidio-trf, presidio:PATH")
    ours: Any = build_analyzer(pipeline=pipeline)
    nlp = ours.nlp_engine.get_nlp(ours.supported_languages[0])
    # All entities are asked for, whatever the baseline asks for elsewhere.
    about = {key: value for key, value in system.about.items() if key != "entities"}
    return {"alone": system.analyzer, "with us": ours}, {"alone": about, "with us": describe_pipeline(nlp)}


def read_samples(texts: Path, gold: Path) -> list[GoldDocument]:
    """Read essays (CSV) whose gold lies beside them (JSONL), in the order of the gold.

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
        text = known.get(ident, "")
        for start, end, label in found:
            if label not in LABELS:
                raise PiiError(Errors.E002, label=label, allowed=", ".join(LABELS))
            if not 0 <= start < end <= len(text):
                raise PiiError(Errors.E813, document=ident, start=start, end=end, file=texts.name)
        entities = tuple(Entity(ident, s, e, label, text[s:e]) for s, e, label in sorted(found))
        documents.append(GoldDocument(ident, text, entities))
    if not documents:
        raise PiiError(Errors.E703, file=gold.name)
    return documents


def compare_presidio(
    analyzers: Mapping[str, Any], documents: Sequence[GoldDocument], *, progress: Callable[[], None] = lambda: None
) -> dict[str, Any]:
    """Count what AnalyzerEngines find: `gold` by entity and `systems`, each with its `count`."""
    systems = {}
    for name, analyzer in analyzers.items():
        found = []
        for doc in documents:
            found.append(analyzer.analyze(doc.text, analyzer.supported_languages[0]))
            progress()
        systems[name] = count(found, documents)
    entities = [entity for doc in documents for entity in doc.entities]
    gold = Counter(PRESIDIO_ENTITIES[entity.label] for entity in entities if not _public(entity.label))
    return {"gold": dict(sorted(gold.items())), "gold_cited": len(entities) - gold.total(), "systems": systems}


def count(found: Sequence[Sequence[Any]], documents: Sequence[GoldDocument]) -> dict[str, Any]:
    """Count the RecognizerResults of one analyzer, a list for each document.

    RETURNS (dict[str, Any]): `entities`: for each, `results` and how many are `right`; `missed`: gold of each that is left in clear;
        `cited_as_person`: authors and characters, of `gold_cited`, that a PERSON overlaps.
    """
    results, right, missed, called = Counter[str](), Counter[str](), Counter[str](), 0
    for doc, given in zip(documents, found, strict=True):
        hidden = {i for r in given for i in range(r.start, r.end)}
        for entity, start, end in {(shown(r.entity_type), r.start, r.end) for r in given}:
            over = [e.label for e in doc.entities if e.start < end and start < e.end]
            results[entity] += 1
            right[entity] += any(PRESIDIO_ENTITIES[label] == entity and not _public(label) for label in over)
        people = [r for r in given if r.entity_type == PERSON]
        for gold in doc.entities:
            if _public(gold.label):
                called += any(r.start < gold.end and gold.start < r.end for r in people)
            else:
                clear = any(i not in hidden and not doc.text[i].isspace() for i in range(gold.start, gold.end))
                missed[PRESIDIO_ENTITIES[gold.label]] += clear
    entities = {entity: {"results": results[entity], "right": right[entity]} for entity in sorted(results)}
    return {"entities": entities, "missed": {entity: n for entity, n in sorted(missed.items()) if n}, "cited_as_person": called}


def shown(entity: str) -> str:
    """The row of an entity."""
    return PRESIDIO_ENTITIES[ID_NUM] if entity in _NUMBERS else entity


def _public(label: str) -> bool:
    return role_of(label) in (CITED, CHARACTER)


def print_presidio(report: Mapping[str, Any], to: Console) -> None:
    """Print for each analyzer and entity: results, how many are right, and gold that is left in clear."""
    gold = report["gold"]
    for name, system in report["systems"].items():
        found = system["entities"]
        rows = {e: {"gold": gold.get(e), **found.get(e, {}), "missed": system["missed"].get(e, 0)} for e in {**gold, **found}}
        common.show(
            to,
            f"{name}; {system['cited_as_person']} of {report['gold_cited']} cited are a PERSON",
            rows,
            "gold results right missed",
        )


if __name__ == "__main__":
    typer.run(main)
