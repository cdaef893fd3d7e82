"""Robustness: what a detector still finds when the same essays are perturbed, and what it takes for PII that is none.

    python -m scripts.robustness --pipeline en_pii_edu --out metrics/robustness.json

Recall is measured in three ways on the same people before and after: `recall`, the share of the characters that are hidden by any
protected label (white space and signs that show nothing aside); `whole`, spans hidden to the last of these; `strict`, spans with the very
offsets and label. Where a perturbation rewrites spans, only those that it did rewrite count. Clean essays under the same perturbation
give the false alarms. Intervals are bootstraps over essays. Exit code 1: a class of perturbations is below --floor.
"""

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy
import typer
from rich.console import Console

from pii_components.cli.common import DONE, DONE_WITH_SKIPS, guard
from pii_components.corpus import perturb
from pii_components.corpus.build import RECIPES, from_essays, rng_for, split_of
from pii_components.corpus.perturb import LENGTH, Perturbation, Spans
from pii_components.corpus.templates import Template, read_fragments, read_templates
from pii_components.errors import Errors, PiiError
from pii_components.evaluate.gold import Entity, GoldDocument
from pii_components.evaluate.match import in_clear
from pii_components.evaluate.metrics import N_RESAMPLES, SEED, Estimate, difference, resample, score
from pii_components.evaluate.report import plain
from pii_components.evaluate.systems import System, crapii_label, make_system
from pii_components.evaluate.tables import console, progress_bar, split_list
from pii_components.files.formats.base import LabelledText
from pii_components.files.labelled import read_corpus
from pii_components.labels import INDIRECT_LABELS, LABELS
from pii_components.names.normalize import is_invisible
from pii_components.names.table import name_table
from pii_components.profiles import Profile
from scripts import common
from scripts.common import Protects

LONG_ESSAYS = 12  # that are lengthened to `LONG` characters, since these take ten times as long
LEAST_SUPPORT = 10
WEAKEST = 10
_WAYS = ("recall", "whole", "strict")


def main(
    gold: Annotated[Path | None, typer.Argument(help="Labelled corpus in any form [the authored test essays].")] = None,
    *,
    form: Annotated[str, typer.Option(help="Form of GOLD [guessed]; see pii-edu corpus convert.")] = "",
    pipeline: common.PipelineOpt = "en_pii_edu",
    only: Annotated[str, typer.Option(help="Classes or perturbations, with commas between them [all].")] = "",
    show_list: Annotated[bool, typer.Option("--list", help="List the perturbations and stop.")] = False,
    profile: common.ProfileOpt = "crapii",
    assets: common.AssetsOpt = Path("assets"),
    limit: Annotated[int, typer.Option(min=0, help="Essays, drawn by lot; 0 for all.")] = 0,
    long: Annotated[int, typer.Option(min=1, help="Essays that are lengthened to 20,000 characters.")] = LONG_ESSAYS,
    floor: Annotated[float, typer.Option(min=0, max=1, help="Recall that every class must reach.")] = 0.0,
    show_all: Annotated[bool, typer.Option("--all", help="Show every perturbation, not the weakest ten only.")] = False,
    out: common.OutOpt = None,
    seed: common.SeedOpt = 46,
    resamples: common.ResamplesOpt = N_RESAMPLES,
    quiet: common.QuietOpt = False,
    debug: common.DebugOpt = False,
) -> None:
    """Recall on perturbed essays per perturbation and class, beside the same essays as they were; false alarms on clean ones."""
    with guard(debug):
        common.early(out)
        if show_list:
            known = {name: {"class": p.kind, "example": p.about} for name, p in perturb.perturbations().items()}
            known |= {name: {"class": LENGTH, "example": about} for name, about in perturb.EDGES.items()}
            common.show(console(), "", known, "class example")
            raise typer.Exit(DONE)
        protects = Profile.load(profile).protects
        prose = perturb.clean_paragraphs(prose_of(assets)) or list(perturb.PARAGRAPHS)
        # A name that nobody knows is told before anything is loaded; edges of windows need the pipeline.
        perturb.choose(perturb.perturbations(prose), split_list(only))
        essays = list(read_corpus(gold, form)) if gold else authored_essays(assets, seed=seed)
        sample = take(essays, limit, seed=seed, protects=protects)
        system = make_system(pipeline, protects=protects)
        windows = perturb.windows_of(system.nlp) if hasattr(system, "nlp") else None
        chosen = perturb.choose(perturb.perturbations(prose, windows), split_list(only))
        if not chosen:
            raise PiiError(Errors.E762, what="The pipeline", needed="windows over long texts")
        with progress_bar("robustness", len(chosen)) as advance:
            found = measure(
                system, sample, chosen, protects=protects, seed=seed, n_resamples=resamples, long_essays=long, progress=advance
            )
        data = {
            "file": gold.name if gold else f"authored test essays, seed {seed}",
            "documents": len(sample),
            "of": len(essays),
            "words": sum(len(essay.text.split()) for essay in sample),
        }
        skipped = {} if windows else dict.fromkeys(perturb.EDGES, "the system does not read in windows")
        report = {"data": data, "profile": Path(profile).name, "skipped": skipped, **found}
        show = None if quiet else lambda made, to: print_robustness(made, to, everything=show_all)
        common.publish("robustness", report, out, show)
        below = [kind for kind, entry in report["classes"].items() if entry.get("recall", 1.0) < floor]
        raise typer.Exit(DONE_WITH_SKIPS if below else DONE)


def print_robustness(report: Mapping[str, Any], to: Console, *, everything: bool = False) -> None:
    """Print the tables, the weakest perturbations first."""
    entries, data = report["perturbations"], report["data"]
    names = sorted(entries, key=lambda name: entries[name].get("recall", 2.0))[: None if everything else WEAKEST]
    keys = (
        "documents support recall unperturbed_recall drop whole strict false_alarms_per_10k_words clean_touched clean_documents"
    )
    common.show(to, f"{data['file']}, {data['documents']} of {data['of']} essays", {"as they are": report["unperturbed"]}, keys)
    common.show(to, "By class of perturbation; recall is of characters, by any protected label", report["classes"], keys)
    common.show(to, "By perturbation, the weakest first", {name: entries[name] for name in names}, keys)
    for name, reason in report["skipped"].items():
        to.print(f"{name} was left out: {reason}")


# --- the essays: authored ones that training has not seen, or the user's own


def authored_parts(assets: Path) -> tuple[list[Template], dict[str, list[Any]]]:
    """Templates and fragments of the test split. RAISES (PiiError): E603, if there are no templates."""
    templates = [template for template in read_templates(assets) if split_of(template.id) == "test"]
    if not templates:
        raise PiiError(Errors.E603, path=assets.name)
    blocks = {
        kind: [block for n, block in enumerate(found) if split_of(f"{kind}|{n}") == "test"]
        for kind, found in read_fragments(assets).items()
    }
    return templates, blocks


def authored_essays(assets: Path, *, seed: int = 46, fillings: int = 2) -> list[LabelledText]:
    """The essays of the test split filled with invented people: once as they are, else with a head, a sign-off and other sentences."""
    templates, blocks = authored_parts(assets)
    filled = from_essays(templates, blocks, replace(RECIPES["test"], fillings=fillings), name_table(), seed)
    names = [f"{template.id}#{n}" for template in templates for n in range(fillings)]
    return [LabelledText(name, one.text, one.spans, one.unlabelled) for name, one in zip(names, filled, strict=True)]


def prose_of(assets: Path) -> list[str]:
    """The stretches of the authored test essays between slots, to pad with; empty without assets."""
    texts = []
    for template in read_templates(assets):
        if split_of(template.id) == "test":
            # A slot spoils its paragraph: what stands beside it may point to the person.
            body = "".join(part if isinstance(part, str) else "\x00" for part in template.parts)
            texts += [block for block in body.split("\n\n") if "\x00" not in block]
    return texts


def take(
    essays: Sequence[LabelledText], limit: int, *, seed: int, protects: Protects = lambda label: True
) -> list[LabelledText]:
    """So many essays by lot (0 for all), clean ones in their share; any beginning of the result is a fair sample."""
    parts: tuple[list[LabelledText], list[LabelledText]] = ([], [])
    for essay in essays:
        parts[any(must_hide(label, protects) for *_, label in essay.spans)].append(essay)
    placed = []
    for which, part in enumerate(parts):
        rng_for(seed, "sample", which).shuffle(part)
        placed += [((i + 0.5) / len(part), which, essay) for i, essay in enumerate(part)]
    order = [essay for *_, essay in sorted(placed, key=lambda item: item[:2])]
    return order[:limit] if limit else order


def must_hide(label: str, protects: Protects) -> bool:
    """Whether a gold label must be hidden: a direct identifier that the profile protects."""
    return label in LABELS and label not in INDIRECT_LABELS and protects(label)


# --- counting


@dataclass(frozen=True, slots=True)
class Counts:
    """Counts of some essays.

    found (numpy.ndarray): For characters, whole spans and strict spans, found and missed, shape `(n_essays, 3, 3)`: true positives,
    nothing, false negatives. alarms (numpy.ndarray): On clean essays: false alarms, words, shape `(n_essays, 2)`; zeros on others.
    """

    found: numpy.ndarray
    alarms: numpy.ndarray

    @classmethod
    def empty(cls, number: int) -> "Counts":
        return cls(numpy.zeros((number, 3, 3), dtype="i8"), numpy.zeros((number, 2), dtype="i8"))

    def rows(self, chosen: Sequence[int]) -> "Counts":
        return Counts(self.found[list(chosen)], self.alarms[list(chosen)])


def spans_of(essay: LabelledText) -> Spans:
    """Gold, and masked stretches as spans that nobody knows."""
    return tuple(sorted((*essay.spans, *((start, end, perturb.UNTOLD) for start, end in essay.masked))))


def shown(text: str) -> str:
    """The text, of the same length, with a space for what tells nothing: invisible characters, signs like emoji."""
    return "".join(" " if is_invisible(char) or unicodedata.category(char) == "So" else char for char in text)


def count_found(text: str, gold: Spans, predicted: Sequence[Entity], protects: Protects) -> numpy.ndarray:
    """Found and missed, shape `(3, 3)`: characters, whole spans, strict spans by true positives, nothing, false negatives.

    Names that the profile hides are one label.
    """
    hidden = {at for entity in predicted for at in range(entity.start, entity.end)}
    exact = {(entity.start, entity.end, entity.label) for entity in predicted}
    counts = numpy.zeros((3, 3), dtype="i8")
    for start, end, label in gold:
        visible = shown(text[start:end])
        total = sum(not char.isspace() for char in visible)
        missed = in_clear(Entity("", start, end, label, visible), hidden)
        counts[0] += (total - missed, 0, missed)
        counts[1, 2 if missed else 0] += 1
        counts[2, 0 if (start, end, crapii_label(label, protects)) in exact else 2] += 1
    return counts


def false_alarms(spans: Spans, predicted: Sequence[Entity]) -> int:
    """Predictions that touch no indirect identifier."""
    known = [(start, end) for start, end, label in spans if label in INDIRECT_LABELS]
    return sum(not any(entity.start < end and entity.end > start for start, end in known) for entity in predicted)


class _Essays:
    """Gold essays, and what a system finds in them as they are."""

    def __init__(self, system: System, essays: Sequence[LabelledText], protects: Protects) -> None:
        self.system, self.protects = system, protects
        self.given = [(essay, spans_of(essay)) for essay in essays]
        if not any(must_hide(label, protects) for _, spans in self.given for *_, label in spans):
            raise PiiError(Errors.E762, what="The gold corpus", needed="label that must be hidden")
        self.found = self.find([(essay.id, essay.text) for essay in essays])
        self.counts = Counts.empty(len(essays))
        for row, (_, spans) in enumerate(self.given):
            self.count_plain(self.counts, row, range(len(spans)))

    def find(self, texts: Sequence[tuple[str, str]]) -> list[list[Entity]]:
        documents = [GoldDocument(ident, text) for ident, text in texts]
        return [[e for e in found if self.system.protects(e.label)] for found in self.system.find(documents)]

    def count_plain(self, counts: Counts, row: int, places: Sequence[int]) -> None:
        essay, spans = self.given[row]
        self.count(counts, row, essay.text, spans, places, self.found[row])

    def count(self, counts: Counts, row: int, text: str, spans: Spans, places: Sequence[int], found: Sequence[Entity]) -> None:
        if any(must_hide(label, self.protects) for *_, label in spans):
            gold = tuple(spans[i] for i in places if must_hide(spans[i][2], self.protects))
            counts.found[row] += count_found(text, gold, found, self.protects)
        elif not any(label not in LABELS for *_, label in spans):
            counts.alarms[row] += (false_alarms(spans, found), len(text.split()))

    def under(self, name: str, perturbation: Perturbation, seed: int, long_essays: int) -> tuple[Counts, Counts, list[int]]:
        """Counts before and after on the essays that it changes, and which these are."""
        perturbed: list[tuple[int, str, Spans]] = []
        for row, (essay, spans) in enumerate(self.given):
            text, new = perturbation(essay.text, spans, rng_for(seed, name, essay.id))
            too_long = perturbation.kind == LENGTH and len(text) >= perturb.LONG // 2 and len(perturbed) >= long_essays
            if text != essay.text and not too_long:
                perturbed.append((row, text, new))
        before, after = Counts.empty(len(self.given)), Counts.empty(len(self.given))
        found = self.find([(self.given[row][0].id, text) for row, text, _ in perturbed])
        for (row, text, new), predicted in zip(perturbed, found, strict=True):
            essay, spans = self.given[row]
            old_places, new_places = perturbation.measured(essay.text, spans, text, new)
            self.count_plain(before, row, old_places)
            self.count(after, row, text, new, new_places, predicted)
        before.alarms[after.alarms[:, 1] == 0] = 0  # no longer clean: someone private was added
        return before, after, [row for row, *_ in perturbed]


def measure(
    system: System, essays: Sequence[LabelledText], chosen: Mapping[str, Perturbation], *, protects: Protects | None = None,
    seed: int = 46, n_resamples: int = N_RESAMPLES, long_essays: int = LONG_ESSAYS, progress: Callable[[], None] = lambda: None,
) -> dict[str, Any]:  # fmt: skip
    """Run a system on essays as they are and under each perturbation. RAISES (PiiError): E762, if there is nothing to hide."""
    gold = _Essays(system, essays, protects or system.protects)

    def summary(after: Counts, before: Counts | None, rows: Sequence[int]) -> dict[str, Any]:
        return summarise(after.rows(rows), before.rows(rows) if before else None, n_resamples=n_resamples)

    report: dict[str, Any] = {}
    sums = {kind: (Counts.empty(len(essays)), Counts.empty(len(essays))) for kind in perturb.CLASSES}
    touched: dict[str, set[int]] = {kind: set() for kind in perturb.CLASSES}
    for name, perturbation in chosen.items():
        before, after, rows = gold.under(name, perturbation, seed, long_essays)
        report[name] = {"class": perturbation.kind, "about": perturbation.about} | summary(after, before, rows)
        touched[perturbation.kind].update(rows)
        for total, one in zip(sums[perturbation.kind], (before, after), strict=True):
            total.found[:] += one.found
            total.alarms[:] += one.alarms
        progress()
    classes = {kind: summary(after, before, sorted(touched[kind])) for kind, (before, after) in sums.items() if touched[kind]}
    return common.head(system) | {
        "bootstrap": {"unit": "document", "resamples": n_resamples, "seed": SEED, "level": 0.95},
        "seed": seed,
        "long_essays": long_essays,
        "unperturbed": summary(gold.counts, None, range(len(essays))),
        "classes": classes,
        "worst_class": worst(classes),
        "worst": worst(report),
        "perturbations": report,
    }


def worst(entries: Mapping[str, Mapping[str, Any]], *, least: int = LEAST_SUPPORT) -> dict[str, Any]:
    """The entry with the lowest recall among those with enough spans behind them; empty if none has that many."""
    fit = {name: entry for name, entry in entries.items() if entry["support"] >= least and "recall" in entry}
    if not fit:
        return {}
    name = min(fit, key=lambda n: (fit[n]["recall"], n))
    keys = ("recall", "recall_95", "drop", "drop_95", "support")
    return {"name": name, **{key: fit[name][key] for key in keys if key in fit[name]}, "least_support": least}


def summarise(after: Counts, before: Counts | None, *, n_resamples: int) -> dict[str, Any]:
    """Essays, support, recall in three ways, false alarms; with `before` the same unperturbed, and the drop."""
    size = len(after.found)
    out: dict[str, Any] = {"documents": size, "support": int(after.found[:, 1].sum())}
    if not size:
        return out | {"clean_documents": 0}
    weights = resample(size, n_resamples=n_resamples, seed=SEED)
    for i, way in enumerate(_WAYS):
        recall = score(after.found[:, i], weights).recall
        out |= plain({way: recall})
        if before is not None and recall is not None:
            lost = difference(before.found[:, i], after.found[:, i], weights)["recall"]
            drop = "drop" if way == "recall" else f"drop_{way}"
            out |= plain({f"unperturbed_{way}": score(before.found[:, i], weights).recall, drop: lost})
    out["clean_documents"] = int((after.alarms[:, 1] > 0).sum())
    for prefix, counts in (("", after), ("unperturbed_", before)):
        if counts is not None and counts.alarms[:, 1].any():
            out |= _alarm_rates(prefix, counts.alarms, weights)
    return out


def _alarm_rates(prefix: str, alarms: numpy.ndarray, weights: numpy.ndarray) -> dict[str, Any]:
    clean, hit = (alarms[:, 1] > 0).astype("i8"), (alarms[:, 0] > 0).astype("i8")
    nothing = numpy.zeros_like(clean)
    rate = score(numpy.stack([alarms[:, 0], nothing, alarms[:, 1] - alarms[:, 0]], axis=1), weights).recall
    share = score(numpy.stack([hit, nothing, clean - hit], axis=1), weights).recall
    per_words = Estimate(rate.value * 1e4, rate.low * 1e4, rate.high * 1e4) if rate else None
    named = {f"{prefix}false_alarms": int(alarms[:, 0].sum())}
    return named | plain({f"{prefix}false_alarms_per_10k_words": per_words, f"{prefix}clean_touched": share})


if __name__ == "__main__":
    typer.run(main)
