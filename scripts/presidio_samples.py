"""What Presidio finds alone and what it finds with us, by its own names of entities, on our sample essays with gold.

    python -m scripts.presidio_samples --out metrics/presidio_samples.json
    python -m scripts.presidio_samples --alone metrics/presidio_samples.json --out metrics/presidio_samples.json

The second takes what Presidio finds alone from a report on the same essays, where its model is not installed. All are
AnalyzerEngines that are asked for everything they know. A result is right if it overlaps gold of its entity; gold is missed
if some of it lies in no result at all, whatever its entity: an anonymizer would leave that in clear. Authors and characters are no
PERSON: calling them so is what an analyzer without roles cannot help.
"""

import csv
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from pii_components.cli.common import guard
from pii_components.errors import Errors, PiiError
from pii_components.evaluate.gold import PRESIDIO_WIDE, Entity, GoldDocument, file_sha256
from pii_components.evaluate.metrics import in_clear, touches
from pii_components.evaluate.report import describe_data, lines_of, versions
from pii_components.evaluate.systems import (
    describe_pipeline,
    find_model,
    load_pipeline,
    package_version,
    parse_spec,
    presidio_analyzer,
)
from pii_components.labels import CHARACTER, CITED, ID_NUM, PRESIDIO_ENTITIES, role_of
from scripts import common

PERSON = "PERSON"
# Presidio's entities for numbers that somebody is known by are one kind of thing in an essay: ID.
_NUMBERS = frozenset(entity for entity, label in PRESIDIO_WIDE.items() if label == ID_NUM)


def main(
    *,
    samples: Annotated[Path, typer.Option(help="Folder with essays.csv and gold.jsonl.")] = Path(
        "assets/samples"
    ),
    pipeline: Annotated[str, typer.Option(help="Ours: a package or a folder.")] = "en_pii_edu",
    alone: Annotated[
        str, typer.Option(help="Presidio by itself: presidio-sm, -md, -lg, -trf, or a report.")
    ] = "presidio-md",
    out: common.OutOpt = None,
    debug: common.DebugOpt = False,
) -> None:
    """Run Presidio with its own recognizers, and Presidio with ours, over the same essays; count by Presidio's entities."""
    with guard(debug):
        common.early(out)
        documents = read_samples(samples)
        analyzers, about = _analyzers(alone, pipeline)
        kept = json.loads(Path(alone).read_text("utf8")) if alone.endswith(".json") else {}
        texts, gold = samples / "essays.csv", samples / "gold.jsonl"
        data = describe_data(documents, file=texts.name, sha256=file_sha256(texts)) | {
            "gold_sha256": file_sha256(gold)
        }
        report: dict[str, Any] = {
            "kind": "presidio",
            "data": data,
            "versions": versions(),
            "about": about,
        }
        labels = [entity.label for doc in documents for entity in doc.entities]
        private = Counter(PRESIDIO_ENTITIES[label] for label in labels if not _public(label))
        report |= {
            "gold": dict(sorted(private.items())),
            "gold_cited": len(labels) - private.total(),
            "systems": {},
        }
        if kept:
            if kept["data"]["sha256"] != data["sha256"] or kept["gold"] != report["gold"]:
                what = "report on these essays"
                raise PiiError(Errors.E900, file=Path(alone).name, kind=what, reason="other data")
            report["systems"]["alone"] = kept["systems"]["alone"]
            about["alone"] = kept["about"]["alone"] | {"measured_with": kept["versions"]}
        for name, analyzer in analyzers.items():
            found = [
                analyzer.analyze(doc.text, analyzer.supported_languages[0])
                for doc in common.track(name, documents)
            ]
            report["systems"][name] = count(found, documents)
        common.publish(
            "presidio_samples", report, out, lambda made, to: to.print(table(made), markup=False)
        )


def _analyzers(alone: str, pipeline: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """AnalyzerEngines by name, and what they run."""
    from pii_components.presidio import build_analyzer

    ours: Any = build_analyzer(pipeline=pipeline)
    nlp = ours.nlp_engine.get_nlp(ours.supported_languages[0])
    analyzers = {"with us": ours, "cited: person": build_analyzer(pipeline=nlp, cited="person")}
    about = {"with us": describe_pipeline(nlp)}
    if alone.endswith(".json"):
        return analyzers, about
    spec = parse_spec(alone)
    baseline = load_pipeline(spec.argument or find_model(spec.kind, spec.size))
    about["alone"] = describe_pipeline(baseline) | {
        "presidio": package_version("presidio-analyzer")
    }
    return {"alone": presidio_analyzer(baseline)} | analyzers, about


def read_samples(folder: Path) -> list[GoldDocument]:
    """Essays (CSV) whose gold lies beside them (JSONL), in the order of the gold."""
    with (folder / "essays.csv").open(encoding="utf8", newline="") as file:
        texts = {row["id"]: row["text"] for row in csv.DictReader(file)}
    documents = []
    for record in map(json.loads, (folder / "gold.jsonl").read_text("utf8").splitlines()):
        ident, text = record["id"], texts[record["id"]]
        spans = sorted(record["spans"])
        documents.append(
            GoldDocument(
                ident, text, tuple(Entity(ident, s, e, label, text[s:e]) for s, e, label in spans)
            )
        )
    return documents


def count(found: Sequence[Sequence[Any]], documents: Sequence[GoldDocument]) -> dict[str, Any]:
    """Count the RecognizerResults of one analyzer, a list for each document.

    RETURNS (dict[str, Any]): `entities`: for each, `results` and how many are `right`; `missed`: gold of each that is left in clear;
        `cited_as_person`: authors and characters, of `gold_cited`, that a PERSON overlaps.
    """
    results, right, missed, called = Counter[str](), Counter[str](), Counter[str](), 0
    for doc, given in zip(documents, found, strict=True):
        for entity, start, end in {(shown(r.entity_type), r.start, r.end) for r in given}:
            over = [e.label for e in doc.entities if touches(e, [(start, end)])]
            results[entity] += 1
            right[entity] += any(
                PRESIDIO_ENTITIES[label] == entity and not _public(label) for label in over
            )
        people = [(r.start, r.end) for r in given if r.entity_type == PERSON]
        called += sum(_public(gold.label) and touches(gold, people) for gold in doc.entities)
        hidden = {i for r in given for i in range(r.start, r.end)}
        missed.update(
            PRESIDIO_ENTITIES[e.label]
            for e in doc.entities
            if not _public(e.label) and in_clear(e, hidden)
        )
    entities = {
        entity: {"results": results[entity], "right": right[entity]} for entity in sorted(results)
    }
    return {"entities": entities, "missed": dict(sorted(missed.items())), "cited_as_person": called}


def table(report: Mapping[str, Any]) -> str:
    """RETURNS (str): Markdown: for each analyzer results, how many are right, and gold that is left
    in clear; a dash for what the gold does not label."""
    systems, gold = report["systems"], report["gold"]
    head = ["Presidio's entity", "in the essays"]
    found = sorted({entity for system in systems.values() for entity in system["entities"]})
    rows = [[entity, str(gold.get(entity, 0))] for entity in dict.fromkeys((*gold, *found))]
    cited = ["authors and characters", str(report["gold_cited"])]
    for name, system in systems.items():
        head += [f"{name}: {what}" for what in ("results", "right", "left in clear")]
        cited += [f"{system['cited_as_person']} called PERSON", "", ""]
        for row in rows:
            counts = system["entities"].get(row[0], {"results": 0, "right": 0})
            row.append(str(counts["results"]))
            judged = (counts["right"], system["missed"].get(row[0], 0))
            row += map(str, judged) if row[0] in gold else ["–", "–"]
    return "\n".join(lines_of(head, [*rows, cited]))


def shown(entity: str) -> str:
    """The row of an entity."""
    return PRESIDIO_ENTITIES[ID_NUM] if entity in _NUMBERS else entity


def _public(label: str) -> bool:
    return role_of(label) in (CITED, CHARACTER)


if __name__ == "__main__":
    typer.run(main)
