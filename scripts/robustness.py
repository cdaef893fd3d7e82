"""Robustness: what a detector still finds when the same essays are perturbed, and what it takes for PII that is none.

    python -m scripts.robustness --pipeline en_pii_edu --out metrics/robustness.json

Recall is measured in three ways on the same people before and after: `recall`, the share of the characters that are hidden by any
protected label (white space and signs that show nothing aside); `whole`, spans hidden to the last of these; `strict`, spans with the very
offsets and label. Where a perturbation rewrites spans, only those that it did rewrite count. Clean essays under the same perturbation
give the false alarms. Intervals are bootstraps over essays.
"""

import random
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy
import typer
from rich.console import Console

from pii_components.cli.common import guard
from pii_components.corpus.build import RECIPES, from_essays, of_split, rng_for
from pii_components.corpus.templates import Filled, Template, read_fragments, read_templates
from pii_components.errors import Errors, PiiError
from pii_components.evaluate import metrics
from pii_components.evaluate.gold import Entity, GoldDocument
from pii_components.evaluate.metrics import N_RESAMPLES, SEED, gap_of, rate, resample
from pii_components.evaluate.report import plain
from pii_components.evaluate.systems import System, crapii_label, make_system, split_list
from pii_components.files.formats.base import LabelledText
from pii_components.labels import INDIRECT_LABELS, LABELS
from pii_components.names.normalize import is_invisible
from pii_components.names.table import name_table
from pii_components.profiles import Profile
from scripts import common
from scripts import perturbations as written
from scripts.common import Protects
from scripts.perturbations import CLASSES, LENGTH, Change, Perturbation, chosen_by

LONG = 20_000  # characters of a long essay
FAR = 10_000  # characters between a name and its next mention
LONG_ESSAYS = 12  # that are lengthened to `LONG` characters, since these take ten times as long
DRAWN = 46  # seed of the essays, the sample and the perturbations
STRICT = metrics.TOUCHED  # `count` has them in this column of `expose`
RECALLS = {
    "recall": (metrics.HIDDEN, metrics.CHARACTERS),
    "whole": (metrics.COVERED, metrics.ENTITIES),
    "strict": (STRICT, metrics.ENTITIES),
}
COLUMNS = "documents support recall unperturbed_recall drop whole strict false_alarms_per_10k_words clean_touched"


def main(
    *,
    pipeline: common.PipelineOpt = "en_pii_edu",
    only: Annotated[
        str, typer.Option(help="Classes or perturbations, with commas between them [all].")
    ] = "",
    assets: common.AssetsOpt = Path("assets"),
    limit: Annotated[int, typer.Option(min=0, help="Essays, drawn by lot; 0 for all.")] = 0,
    long: Annotated[
        int, typer.Option(min=1, help="Essays that are lengthened to 20,000 characters.")
    ] = LONG_ESSAYS,
    out: common.OutOpt = None,
    debug: common.DebugOpt = False,
) -> None:
    """Recall on perturbed essays per perturbation and class, beside the same essays as they were; false alarms on clean ones."""
    with guard(debug):
        common.early(out)
        protects = Profile.load("crapii").protects
        essays = authored_essays(assets)
        sample = take(essays, limit, protects)
        system = make_system(pipeline, protects=protects)
        chosen = choose(perturbations(prose_of(assets)), split_list(only))
        words = sum(len(essay.text.split()) for essay in sample)
        data = {"file": f"authored test essays, seed {DRAWN}", "documents": len(sample)}
        data |= {"of": len(essays), "words": words}
        report = {"data": data, "profile": "crapii"}
        report |= measure(system, sample, chosen, protects, long)
        common.publish("robustness", report, out, print_robustness)


def print_robustness(report: Mapping[str, Any], to: Console) -> None:
    """Print the tables, the weakest perturbations first."""
    weakest = sorted(report["perturbations"].items(), key=lambda item: item[1].get("recall", 2.0))
    data, base = report["data"], {"as they are": report["unperturbed"]}
    common.show(to, "{file}, {documents} of {of}".format(**data), base, COLUMNS)
    title = "By class of perturbation; recall is of characters, by any protected label"
    common.show(to, title, report["classes"], COLUMNS)
    common.show(to, "By perturbation, the weakest first", dict(weakest), COLUMNS)


# --- the essays: authored ones that training has not seen


def authored_parts(assets: Path) -> tuple[list[Template], dict[str, list[Any]]]:
    """Templates and fragments of the test split. RAISES (PiiError): E552, if there are no templates."""
    templates, blocks = of_split("test", read_templates(assets), read_fragments(assets))
    if not templates:
        raise PiiError(Errors.E552, what=f"'{assets.name}'", reason="no essays/*.txt")
    return templates, blocks


def authored_essays(assets: Path) -> list[LabelledText]:
    """The essays of the test split filled with invented people: once as they are, else with a head, a sign-off and other sentences."""
    templates, blocks = authored_parts(assets)
    recipe = replace(RECIPES["test"], fillings=2)
    filled = from_essays(templates, blocks, recipe, name_table(), DRAWN)
    names = [f"{template.id}#{n}" for template in templates for n in range(2)]
    pairs = zip(names, filled, strict=True)
    return [LabelledText(name, one.text, one.spans, one.unlabelled) for name, one in pairs]


def prose_of(assets: Path) -> list[str]:
    """Paragraphs of the authored test essays to pad with: 200 characters or more, without a slot, since
    what stands beside one may point to the person."""
    found: dict[str, None] = {}
    for template in authored_parts(assets)[0]:
        body = "".join(part if isinstance(part, str) else "\x00" for part in template.parts)
        for block in re.split(r"\n\s*\n", body):
            paragraph = " ".join(block.split())
            if "\x00" not in block and len(paragraph) >= 200:
                found[paragraph] = None
    return list(found)


def take(essays: Sequence[LabelledText], limit: int, protects: Protects) -> list[LabelledText]:
    """So many essays by lot (0 for all), clean ones in their share; any beginning of the result is a fair sample."""
    placed: list[tuple[float, int, LabelledText]] = []
    for named in (0, 1):
        part = []
        for essay in essays:
            if any(must_hide(label, protects) for *_, label in essay.spans) == named:
                part.append(essay)
        rng_for(DRAWN, "sample", named).shuffle(part)
        placed += [((i + 0.5) / len(part), named, essay) for i, essay in enumerate(part)]
    return [essay for *_, essay in sorted(placed, key=lambda item: item[:2])][: limit or None]


def must_hide(label: str, protects: Protects) -> bool:
    """Whether a gold label must be hidden: a direct identifier that the profile protects."""
    return label in LABELS and label not in INDIRECT_LABELS and protects(label)


# --- the perturbations: those of perturbations.py, and padded essays


def prose(paragraphs: Sequence[str], length: int, rng: random.Random) -> Filled:
    """Clean prose of at least that many characters; empty for 0 and less."""
    order: list[str] = []
    left: list[str] = []
    while sum(len(paragraph) + 2 for paragraph in order) < length:
        left = left or rng.sample(paragraphs, len(paragraphs))
        order.append(left.pop(0))
    return Filled("\n\n".join(order))


def _padded(paragraphs: Sequence[str], share: float) -> Change:
    """Lengthens a text to `LONG` characters; of what is added, this share comes before it."""

    def change(filled: Filled, rng: random.Random) -> Filled:
        missing = max(0, LONG - len(filled.text))
        after = prose(paragraphs, int(missing * (1 - share)), rng)
        before = prose(paragraphs, int(missing * share), rng)
        filled = filled + Filled("\n\n") + after if after.text else filled
        return before + Filled("\n\n") + filled if before.text else filled

    return change


def _far_below(paragraphs: Sequence[str]) -> Change:
    """`FAR` characters set in after the sentence with the main name: it comes again far below."""

    def change(filled: Filled, rng: random.Random) -> Filled:
        main = written.main_span(filled)
        after = [at for at in filled.stops() if main is None or at >= main[1]]
        text = Filled("\n\n") + prose(paragraphs, FAR, rng) + Filled("\n\n")
        return filled.put(text, after[0] if after else len(filled.text))

    return change


def perturbations(paragraphs: Sequence[str]) -> list[Perturbation]:
    """All, class by class. paragraphs (Sequence[str]): What long essays are padded with."""
    found = written.perturbations()
    for place, about, share in (
        ("early", "first", 0),
        ("middle", "amid", 0.5),
        ("late", "last", 1),
    ):
        about, change = f"20,000 characters, the text {about}", _padded(paragraphs, share)
        found.append(Perturbation(f"long_people_{place}", LENGTH, about, change))
    about = "10,000 characters after the first name"
    found.append(Perturbation("name_again_far_below", LENGTH, about, _far_below(paragraphs)))
    return sorted(found, key=lambda perturbation: CLASSES.index(perturbation.kind))


def choose(found: Sequence[Perturbation], names: Sequence[str]) -> list[Perturbation]:
    """Those with one of the names, of their own or of their class; all for none. RAISES (PiiError): E519."""
    allowed = [*CLASSES, *(one.name for one in found)]
    for name in names:
        if name not in allowed:
            allowed_names = ", ".join(allowed)
            raise PiiError(Errors.E519, value=name, what="perturbation", allowed=allowed_names)
    return [one for one in found if not names or one.name in names or one.kind in names]


def measured(
    perturbation: Perturbation, before: Filled, after: Filled
) -> tuple[list[int], list[int]]:
    """Places in both `spans` of what is measured: the same people; where spans are rewritten, those that did change."""
    chosen = chosen_by(perturbation.counts)
    old, new = (
        [i for i, (*_, label) in enumerate(one.spans) if chosen(label)] for one in (before, after)
    )
    if not perturbation.rewrites:
        return old, new
    values = [[one.text[start:end] for start, end, _ in one.spans] for one in (before, after)]
    changed = [i for i in old if values[0][i] != values[1][i]]
    return changed, changed


# --- counting


def shown(text: str) -> str:
    """The text, of the same length, with a space for what tells nothing: invisible characters, signs like emoji."""
    hidden = (is_invisible(char) or unicodedata.category(char) == "So" for char in text)
    return "".join(" " if nothing else char for nothing, char in zip(hidden, text, strict=True))


def count(
    essays: Sequence[LabelledText],
    places: Iterable[Sequence[int]],
    found: Sequence[Sequence[Entity]],
    protects: Protects,
) -> numpy.ndarray:
    """As `expose`, but for STRICT, and for alarms and words, which are those of clean texts. Names that
    the profile hides are one label; an alarm touches no indirect identifier.

    places (Iterable[Sequence[int]]): Per essay, which of its spans are measured.
    """
    gold, known, clean = [], [], []
    for essay, measured in zip(essays, places, strict=True):
        entities = [
            Entity(essay.id, start, end, label, shown(essay.text[start:end]))
            for start, end, label in essay.spans
        ]
        gold += [entities[i] for i in measured if must_hide(entities[i].label, protects)]
        known += [e for e in entities if e.label in INDIRECT_LABELS]
        private = any(must_hide(entity.label, protects) for entity in entities)
        clean.append(not private and not essay.masked)
    flat = [entity for entities in found for entity in entities]
    ids, words = [essay.id for essay in essays], [len(essay.text.split()) for essay in essays]
    counts = metrics.expose(gold, flat, documents=ids, words=words, known=known)
    alike = [replace(entity, label=crapii_label(entity.label, protects)) for entity in gold]
    exact = metrics.match_position(alike, flat, documents=ids, labels=LABELS)
    counts[:, STRICT] = exact.per_document[:, metrics.TP]
    counts[~numpy.asarray(clean, dtype=bool), metrics.ALARMS :] = 0
    return counts


def perturbed(
    essays: Sequence[LabelledText], perturbation: Perturbation, long_essays: int
) -> tuple[dict[int, LabelledText], list[tuple[list[int], list[int]]]]:
    """RETURNS (tuple): Essays that did change, by their place, and what is measured before and after."""
    new: dict[int, LabelledText] = {}
    places = []
    for row, essay in enumerate(essays):
        before = Filled(essay.text, essay.spans, essay.masked)
        after = perturbation.change(before, rng_for(DRAWN, perturbation.name, essay.id))
        long = perturbation.kind == LENGTH and len(after.text) >= LONG // 2
        if after.text != essay.text and not (long and len(new) >= long_essays):
            new[row] = LabelledText(essay.id, after.text, after.spans, after.unlabelled)
            places.append(measured(perturbation, before, after))
    return new, places


def measure(
    system: System,
    essays: Sequence[LabelledText],
    chosen: Sequence[Perturbation],
    protects: Protects,
    long_essays: int = LONG_ESSAYS,
) -> dict[str, Any]:
    """Run a system on essays as they are and under each perturbation. RAISES (PiiError): E552, if there is nothing to hide."""

    def find(texts: Sequence[LabelledText]) -> list[list[Entity]]:
        documents = [GoldDocument(essay.id, essay.text) for essay in texts]
        out = []
        for entities in system.entities(documents):
            hidden = [e for e in entities if system.protects(e.label)]
            out.append([replace(e, label=crapii_label(e.label, system.protects)) for e in hidden])
        return out

    found = find(essays)
    unperturbed = count(essays, [range(len(essay.spans)) for essay in essays], found, protects)
    if not unperturbed[:, metrics.ENTITIES].any():
        reason = "no label that must be hidden"
        raise PiiError(Errors.E552, what="The gold corpus", reason=reason)
    report: dict[str, Any] = {}
    classes: dict[str, numpy.ndarray] = defaultdict(
        lambda: numpy.zeros((2, *unperturbed.shape), dtype="i8")
    )
    touched: dict[str, set[int]] = defaultdict(set)
    for perturbation in common.track("robustness", chosen):
        new, places = perturbed(essays, perturbation, long_essays)
        rows, changed = list(new), list(new.values())
        (old, after), mine = (
            zip(*places, strict=True) if places else ((), ()),
            [found[i] for i in new],
        )
        before = count([essays[row] for row in rows], old, mine, protects)
        counts = numpy.stack([before, count(changed, after, find(changed), protects)])
        # No longer clean: someone private was added.
        counts[0, counts[1, :, metrics.WORDS] == 0, metrics.ALARMS :] = 0
        about = {"class": perturbation.kind, "about": perturbation.about}
        report[perturbation.name] = about | summarise(counts[1], counts[0])
        classes[perturbation.kind][:, rows] += counts
        touched[perturbation.kind].update(rows)
    summed = {kind: classes[kind][:, sorted(rows)] for kind, rows in touched.items() if rows}
    return common.head(system) | {
        "bootstrap": {"unit": "document", "resamples": N_RESAMPLES, "seed": SEED, "level": 0.95},
        "seed": DRAWN,
        "long_essays": long_essays,
        "unperturbed": summarise(unperturbed),
        "classes": {kind: summarise(counts[1], counts[0]) for kind, counts in summed.items()},
        "perturbations": report,
    }


def summarise(after: numpy.ndarray, before: numpy.ndarray | None = None) -> dict[str, Any]:
    """Essays, support, recall in three ways, false alarms; with `before` the same unperturbed, and the drop."""
    clean = int((after[:, metrics.WORDS] > 0).sum())
    found: dict[str, Any] = {"documents": len(after)}
    found |= {"support": int(after[:, metrics.ENTITIES].sum()), "clean_documents": clean}
    if not len(after):
        return found
    weights = resample(len(after))
    sides = {"": after} if before is None else {"": after, "unperturbed_": before}
    for prefix, counts in sides.items():
        for name, (part, whole) in RECALLS.items():
            found[prefix + name] = rate(counts[:, part], counts[:, whole], weights)
        if clean:
            alarms, words = counts[:, metrics.ALARMS], counts[:, metrics.WORDS]
            found[f"{prefix}false_alarms"] = int(alarms.sum())
            found[f"{prefix}false_alarms_per_10k_words"] = rate(alarms * 10_000, words, weights)
            found[f"{prefix}clean_touched"] = rate(alarms > 0, words > 0, weights)
    if before is not None:
        for name, columns in RECALLS.items():
            sides = [counts[:, column] for counts in (before, after) for column in columns]
            found["drop" if name == "recall" else f"drop_{name}"] = gap_of(sides, weights)
    return plain(found)


if __name__ == "__main__":
    typer.run(main)
