"""Compare systems on labelled essays: `python -m pii_components.evaluate.compare`.

    python -m pii_components.evaluate.compare --gold essays.jsonl --pipeline en_pii_edu --presidio-model
    en_core_web_md \\ --out metrics/crapii.json

Prints a table and writes a metrics file. Neither holds a text or a name.
"""

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from ..profiles import Profile
from .command import progress_bar, run_command, shown_command, split_list, split_name
from .gold import choose_splits, file_sha256, read_gold
from .metrics import N_RESAMPLES, SEED
from .records import GoldDocument
from .report import build_report, describe_data, label_views, write_report
from .stored import read_run, write_run
from .systems import PRESIDIO_ENTITY_SETS, PipelineSystem, PresidioSystem, Run, SpacyNerSystem, System, run_system
from .tables import print_report

BOTH = "both"


def compare(
    *,
    gold: Annotated[Path, typer.Option(help="Labelled essays: .json or .jsonl with tokens, trailing_whitespace, labels.")],
    pipeline: Annotated[
        list[str] | None, typer.Option(help="Pipeline with pii_ner: a package or NAME=PATH; may be repeated.")
    ] = None,
    presidio_model: Annotated[str, typer.Option(help="spaCy pipeline for Presidio: path or name of a package.")] = "",
    presidio_entities: Annotated[str, typer.Option(help="four (as in the JEDM paper), wide (IDs too), or both.")] = "both",
    spacy_ner: Annotated[str, typer.Option(help="spaCy pipeline whose PERSON entities are a baseline of their own.")] = "",
    stored: Annotated[list[str] | None, typer.Option(help="NAME=FILE that --save-predictions wrote; may be repeated.")] = None,
    profile: Annotated[str, typer.Option(help="Says which labels of our pipeline are hidden.")] = "crapii",
    exclude_labels: Annotated[str, typer.Option(help="Labels that do not count, with commas between them.")] = "",
    splits: Annotated[str, typer.Option(help="Only these parts of the data (seed_split), with commas between them.")] = "",
    out: Annotated[Path | None, typer.Option(help="Metrics file (JSON).")] = None,
    save_predictions: Annotated[Path | None, typer.Option(help="Folder for offsets and labels of each system.")] = None,
    resamples: Annotated[int, typer.Option(min=1, help="Bootstrap resamples of the documents.")] = N_RESAMPLES,
    seed: Annotated[int, typer.Option(help="Of the bootstrap.")] = SEED,
) -> None:
    """Precision, recall, F1, F5 with intervals, coverage and speed of PII detection on labelled essays."""
    excluded = split_list(exclude_labels)
    views = label_views(excluded)
    if presidio_entities not in (*PRESIDIO_ENTITY_SETS, BOTH):
        raise typer.BadParameter(f"use one of: {', '.join((*PRESIDIO_ENTITY_SETS, BOTH))}", param_hint="--presidio-entities")
    protects = Profile.load(profile).protects
    sha256 = file_sha256(gold)
    documents = choose_splits(read_gold(gold, exclude_labels=excluded), split_list(splits))
    runs: list[Run] = []

    def run(system: System) -> None:
        with progress_bar(system.name, len(documents)) as advance:
            runs.append(without_labels(run_system(system, documents, progress=advance), excluded))

    # One after the other, and each freed before the next is loaded: memory is what runs out first.
    for text in pipeline or ():
        name, model = split_name(text, default="pii_edu")
        run(PipelineSystem.load(model, protects=protects, name=name))
    if presidio_model:
        asked = "wide" if presidio_entities == BOTH else presidio_entities
        run(PresidioSystem.load(presidio_model, entities=asked, name=f"presidio_{asked}"))
        if presidio_entities == BOTH:
            # Recognizers know nothing of one another: the four entities are the same with and without the others.
            others = set(PRESIDIO_ENTITY_SETS["wide"].values()) - set(PRESIDIO_ENTITY_SETS["four"].values())
            runs.append(replace(without_labels(runs[-1], tuple(others)), name="presidio_four"))
    if spacy_ner:
        run(SpacyNerSystem.load(spacy_ner))
    for text in stored or ():
        name, file = split_name(text)
        runs.append(without_labels(read_run(Path(file), documents, data_sha256=sha256, name=name), excluded))
    if not runs:
        raise typer.BadParameter("name at least one system: --pipeline, --presidio-model, --spacy-ner or --stored")
    if save_predictions is not None:
        for done in runs:
            write_run(done, save_predictions / f"{done.name}.jsonl", data_sha256=sha256)
    report = finish_report(
        runs, documents, gold=gold, sha256=sha256, views=views, resamples=resamples, seed=seed, profile=profile
    )
    print_report(report)
    if out is not None:
        write_report(report, out)


def finish_report(
    runs: Sequence[Run],
    documents: Sequence[GoldDocument],
    *,
    gold: Path,
    sha256: str,
    views: dict[str, tuple[str, ...]],
    resamples: int,
    seed: int,
    profile: str,
) -> dict[str, Any]:
    """RETURNS (dict[str, Any]): The report with the command and the data that it belongs to."""
    return {
        "command": shown_command("pii_components.evaluate.compare", sys.argv[1:]),
        "data": describe_data(documents, file=gold.name, sha256=sha256),
        "profile": Path(profile).name,
    } | build_report(runs, documents, views=views, n_resamples=resamples, seed=seed)


def without_labels(run: Run, labels: Sequence[str]) -> Run:
    """RETURNS (Run): The same without predictions of these labels."""
    kept = tuple(entity for entity in run.entities if entity.label not in labels)
    return replace(run, entities=kept, protected=run.protected - set(labels))


if __name__ == "__main__":
    run_command(compare)
