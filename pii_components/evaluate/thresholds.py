"""Choose settings by cross-validation: `python -m pii_components.evaluate.thresholds`.

    python -m pii_components.evaluate.thresholds --gold essays.jsonl --pipeline en_pii_edu \\
        --splits base_train,verifier_train,unknown \\
        --set pii_ner.thresholds.NAME=0.2,0.3,0.5 --set pii_context.settings.min_score=0.4,0.5

A split without clean documents makes every threshold look too good in precision: name the part that holds them too.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy
import typer
from rich.table import Table
from spacy.language import Language

from ..errors import Errors, PiiError
from ..profiles import Profile
from .command import progress_bar, run_command, shown_command, split_list, split_name
from .gold import choose_splits, file_sha256, read_gold
from .matching import cover, match_bag
from .metrics import SEED, measures, resample, score
from .records import GoldDocument
from .report import describe_data, label_views, plain, versions, write_report
from .sweep import Setting, choose, component, cross_validate, find_with, folds, grid, predict_once
from .systems import describe_pipeline, load_pipeline
from .tables import console, interval, number

DEFAULT_PLACES: dict[str, list[float]] = {
    "pii_ner.thresholds.NAME": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9],
    "pii_context.settings.min_score": [0.3, 0.4, 0.5, 0.6, 0.7],
}


def read_places(texts: Sequence[str]) -> dict[str, list[float]]:
    """Values to try.

    texts (Sequence[str]): Each `component.key=value,value`. RETURNS (dict[str, list[float]]): Values by place.
    RAISES (PiiError): E708, if one is not of this form.
    """
    places = {}
    for text in texts:
        place, values = split_name(text)
        try:
            places[place] = [float(value) for value in split_list(values)]
        except ValueError as err:
            raise PiiError(Errors.E708, got=text) from err
    return places


def default_places(nlp: Language) -> dict[str, list[float]]:
    """RETURNS (dict[str, list[float]]): Those of `DEFAULT_PLACES` whose component the pipeline has."""
    return {place: values for place, values in DEFAULT_PLACES.items() if place.split(".")[0] in nlp.pipe_names}


def thresholds(
    *,
    gold: Annotated[Path, typer.Option(help="Labelled essays: .json or .jsonl with tokens, trailing_whitespace, labels.")],
    pipeline: Annotated[str, typer.Option(help="Pipeline: name of a package or path.")] = "en_pii_edu",
    splits: Annotated[str, typer.Option(help="Parts of the data (seed_split), with commas between them; all if empty.")] = "",
    places: Annotated[list[str] | None, typer.Option("--set", help="component.key=value,value; may be repeated.")] = None,
    n_folds: Annotated[int, typer.Option("--folds", min=2, help="Number of folds.")] = 5,
    criterion: Annotated[str, typer.Option(help="f5 or f1: what is best.")] = "f5",
    min_precision: Annotated[float, typer.Option(min=0, max=1, help="Take nothing below it, if something reaches it.")] = 0.0,
    exclude_labels: Annotated[str, typer.Option(help="Labels that do not count, with commas between them.")] = "",
    profile: Annotated[str, typer.Option(help="Says which labels are hidden.")] = "crapii",
    out: Annotated[Path | None, typer.Option(help="File for the numbers (JSON).")] = None,
    seed: Annotated[int, typer.Option(help="Of folds and bootstrap.")] = SEED,
) -> None:
    """Precision, recall and F5 for combinations of settings, and what cross-validation gives for choosing among them."""
    if criterion not in ("f5", "f1"):
        raise typer.BadParameter("use f5 or f1", param_hint="--criterion")
    excluded = split_list(exclude_labels)
    labels = label_views(excluded)["all"]
    protects = Profile.load(profile).protects
    sha256 = file_sha256(gold)
    documents = choose_splits(read_gold(gold, exclude_labels=excluded), split_list(splits))
    nlp = load_pipeline(pipeline, exclude=("hips_surrogate",))
    component(nlp, "pii_ner")
    settings = grid(read_places(places) if places else default_places(nlp))
    fold = folds(documents, n_folds, seed=seed)
    with progress_bar("probabilities", len(documents)) as advance:
        cached = predict_once(nlp, documents, progress=advance)
    ids, entities = [doc.id for doc in documents], [entity for doc in documents for entity in doc.entities]
    counts, covered = [], []
    with progress_bar("settings", len(settings)) as advance:
        for setting in settings:
            found = [entity for entity in find_with(nlp, cached, setting, protects=protects) if entity.label not in excluded]
            counts.append(match_bag(entities, found, documents=ids, labels=labels).per_document)
            covered.append(cover(entities, [entity for entity in found if protects(entity.label)], documents=ids))
            advance()
    stacked = numpy.stack(counts)
    held_out, chosen = cross_validate(stacked, fold, criterion=criterion, min_precision=min_precision)
    clean = numpy.asarray([not doc.entities for doc in documents])
    report = {
        "command": shown_command("pii_components.evaluate.thresholds", sys.argv[1:]),
        "data": describe_data(documents, file=gold.name, sha256=sha256),
        "versions": versions(),
        "system": describe_pipeline(nlp),
        "criterion": criterion,
        "min_precision": min_precision,
        "settings": [
            setting_row(setting, stacked[i])
            | {
                "incompletely_covered": int((covered[i].exposed > 0).sum()),
                "clean_touched": int((clean & (covered[i].predicted > 0)).sum()),
            }
            for i, setting in enumerate(settings)
        ],
        "best": settings[choose(stacked.sum(axis=1), criterion=criterion, min_precision=min_precision)],
        "cross_validation": {
            "folds": n_folds,
            "seed": seed,
            "chosen": [settings[i] for i in chosen],
            "held_out": plain(score(held_out, resample(len(documents), seed=seed))),
        },
    }
    print_sweep(report, documents)
    if out is not None:
        write_report(report, out)


def setting_row(setting: Setting, per_document: numpy.ndarray) -> dict[str, Any]:
    """RETURNS (dict[str, Any]): A setting with its counts and scores on all documents."""
    total = per_document.sum(axis=0)
    values = {name: None if numpy.isnan(value) else round(float(value), 4) for name, value in measures(total).items()}
    return {"setting": dict(setting), "tp": int(total[0]), "fp": int(total[1]), "fn": int(total[2])} | values


def print_sweep(report: dict[str, Any], documents: Sequence[GoldDocument]) -> None:
    """Print a table of settings, and the result of cross-validation."""
    to = console()
    places = list(report["settings"][0]["setting"])
    table = Table(title=f"{len(documents)} documents, exact match by text, all labels", title_justify="left")
    for name in (*places, "P", "R", "F1", "F5", "incompletely covered", "clean touched"):
        table.add_column(name, justify="right")
    for row in report["settings"]:
        scores = (number(row[name]) for name in ("precision", "recall", "f1", "f5"))
        values = (f"{row['setting'][place]:g}" for place in places)
        style = "bold" if row["setting"] == report["best"] else None
        table.add_row(*values, *scores, str(row["incompletely_covered"]), str(row["clean_touched"]), style=style)
    to.print(table)
    held_out = report["cross_validation"]["held_out"]
    for n, setting in enumerate(report["cross_validation"]["chosen"], 1):
        to.print(f"fold {n}: " + ", ".join(f"{place} = {value:g}" for place, value in setting.items()))
    shown = ", ".join(
        f"{title} {interval(held_out, name)}" for title, name in (("P", "precision"), ("R", "recall"), ("F5", "f5"))
    )
    to.print(f"held out: {shown}")


if __name__ == "__main__":
    run_command(thresholds)
