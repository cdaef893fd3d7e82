"""Robustness: what a detector still finds when the same essays are perturbed, and what it takes for PII that is none.

    report = measure(system, essays, perturbations(), seed=46)
    report["worst"]["perturbation"], report["classes"]["case"]["recall"]

Recall is measured in three ways on the same people before and after: `recall`, the share of the characters that are hidden by any
protected label (white space and signs that show nothing aside); `whole`, spans hidden to the last of these; `strict`, spans with the very
offsets and label. Where a perturbation rewrites spans, only those that it did rewrite count. Clean essays under the same perturbation
give the false alarms. Intervals are bootstraps over essays.
"""

import sys
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy
import typer
from rich.console import Console
from rich.table import Table

from pii_components.cli.common import DONE, DONE_WITH_SKIPS, guard
from pii_components.corpus.build import RECIPES, from_essays, rng_for, split_of
from pii_components.corpus.perturb import (
    CLASSES,
    EDGES,
    LENGTH,
    LONG,
    PARAGRAPHS,
    UNTOLD,
    Perturbation,
    Spans,
    choose,
    clean_paragraphs,
    perturbations,
    windows_of,
)
from pii_components.corpus.templates import read_fragments, read_templates
from pii_components.errors import Errors, PiiError
from pii_components.evaluate.gold import Entity, GoldDocument
from pii_components.evaluate.match import in_clear
from pii_components.evaluate.metrics import N_RESAMPLES, SEED, Estimate, difference, resample, score
from pii_components.evaluate.report import FORMAT, machine, plain, versions
from pii_components.evaluate.systems import System, crapii_label
from pii_components.evaluate.tables import console, interval, number, progress_bar, shown_command, split_list
from pii_components.files.formats.base import LabelledText
from pii_components.files.labelled import read_corpus
from pii_components.labels import INDIRECT_LABELS, LABELS
from pii_components.names.normalize import is_invisible
from pii_components.names.table import name_table
from pii_components.profiles import Profile

# Defaults that the command line shows in its help, kept where importing them loads neither spaCy nor torch.

# `evaluate robustness`: essays that are lengthened to 20,000 characters.
LONG_ESSAYS = 12
# `evaluate speed`: characters of an essay, essays of a corpus, repeats of each measurement.
LENGTHS = (500, 1000, 2000, 5000, 10_000, 20_000)
SIZES = (10, 40, 160)
REPEATS = 3


# `pii-edu evaluate robustness`: what is still found in perturbed essays, the worst case first.

EPILOG = "Exit codes: 0 done; 1 a class of perturbations is below --floor; 2 refused; 130 interrupted."
WEAKEST = 10

GoldArg = Annotated[
    Path | None, typer.Argument(metavar="[GOLD]", help="Labelled corpus in any form [the authored test essays].")
]
FormOpt = Annotated[str, typer.Option("--form", help="Form of GOLD [guessed]; see pii-edu corpus convert.")]
PipelineOpt = Annotated[str, typer.Option("--pipeline", help="Our pipeline, or another system, such as presidio-md.")]
OnlyOpt = Annotated[str, typer.Option("--only", help="Classes or perturbations, with commas between them [all].")]
ListOpt = Annotated[bool, typer.Option("--list", help="List the perturbations and stop.")]
ProfileOpt = Annotated[str, typer.Option("--profile", help="Says which labels must be hidden.")]
AssetsOpt = Annotated[
    Path, typer.Option("--assets", help="Folder with the authored essays: gold by default, and prose to pad with.")
]
LimitOpt = Annotated[int, typer.Option("--limit", min=0, help="Essays, drawn by lot; 0 for all.")]
LongOpt = Annotated[int, typer.Option("--long", min=1, help="Essays that are lengthened to 20,000 characters.")]
FloorOpt = Annotated[float, typer.Option("--floor", min=0, max=1, help="Recall that every class must reach.")]
AllOpt = Annotated[bool, typer.Option("--all", help="Show every perturbation, not the weakest ten only.")]
OutOpt = Annotated[Path | None, typer.Option("--out", "-o", help="Metrics file (JSON).")]
SeedOpt = Annotated[int, typer.Option("--seed", help="Of the fillings and of the perturbations.")]
ResamplesOpt = Annotated[int, typer.Option("--resamples", min=1, help="Bootstrap resamples of the essays.")]
QuietOpt = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]
DebugOpt = Annotated[bool, typer.Option("--debug", help="Raise unexpected errors with their traceback, which may show text.")]


def robustness(
    *,
    gold: GoldArg = None,
    form: FormOpt = "",
    pipeline: PipelineOpt = "en_pii_edu",
    only: OnlyOpt = "",
    show_list: ListOpt = False,
    profile: ProfileOpt = "crapii",
    assets: AssetsOpt = Path("assets"),
    limit: LimitOpt = 0,
    long: LongOpt = LONG_ESSAYS,
    floor: FloorOpt = 0.0,
    show_all: AllOpt = False,
    out: OutOpt = None,
    seed: SeedOpt = 46,
    resamples: ResamplesOpt = N_RESAMPLES,
    quiet: QuietOpt = False,
    debug: DebugOpt = False,
) -> None:
    """Recall on perturbed essays per perturbation and class, beside the same essays as they were; false alarms on clean ones.

    Recall is the share of characters hidden by any protected label. Nothing of a text is shown or written.
    """
    from pii_components.evaluate.report import check_place, write_report
    from pii_components.evaluate.systems import make_system

    report: dict[str, Any] = {}
    with guard(debug):
        if out is not None:
            check_place(out)
        if show_list:
            console().print(list_table())
            raise typer.Exit(DONE)
        protects = Profile.load(profile).protects
        wanted = split_list(only)
        prose = clean_paragraphs(prose_of(assets)) or list(PARAGRAPHS)
        # A name that nobody knows is told before anything is loaded; edges of windows need the pipeline.
        choose(perturbations(prose), wanted)
        essays = read_essays(gold, form=form) if gold else authored_essays(assets, seed=seed)
        sample = take(essays, limit, seed=seed, protects=protects)
        system = make_system(pipeline, protects=protects)
        windows = windows_of(system.nlp) if hasattr(system, "nlp") else None
        chosen = choose(perturbations(prose, windows), wanted)
        if not chosen:
            raise PiiError(Errors.E762, what="The pipeline", needed="windows over long texts")
        with progress_bar("robustness", len(chosen)) as advance:
            found = measure(
                system, sample, chosen, protects=protects, seed=seed, n_resamples=resamples, long_essays=long,
                progress=lambda name: advance(),
            )  # fmt: skip
        report = {
            "command": shown_command("pii_components.cli evaluate robustness", sys.argv[3:]),
            "data": {
                "file": gold.name if gold else f"authored test essays, seed {seed}",
                "documents": len(sample),
                "of": len(essays),
                "words": sum(len(essay.text.split()) for essay in sample),
            },
            "profile": Path(profile).name,
            "skipped": {} if windows else dict.fromkeys(EDGES, "the system does not read in windows"),
        } | found
        if out is not None:
            write_report(report, out)
        if not quiet:
            print_robustness(report, console(), everything=show_all)
    below = [kind for kind, entry in report.get("classes", {}).items() if entry.get("recall", 1.0) < floor]
    raise typer.Exit(DONE_WITH_SKIPS if below else DONE)


_COLUMNS = (
    "essays", "spans", "recall", "before", "drop", "whole", "strict", "false alarms / 10,000 words", "before", "clean touched",
)  # fmt: skip


def print_robustness(report: Mapping[str, Any], to: Console, *, everything: bool = False) -> None:
    """Print the tables.

    report (Mapping[str, Any]): From the command or its metrics file. to (Console): Where to. everything (bool): All perturbations.
    """
    data, base = report["data"], report["unperturbed"]
    to.print(
        f"{data['file']}: {data['documents']} of {data['of']} essays, {base['support']} spans that must be hidden; as they are: recall "
        f"{interval(base, 'recall')}, whole {interval(base, 'whole')}, strict {interval(base, 'strict')}"
    )
    to.print(
        _table("By class of perturbation (95 % intervals; recall is of characters, by any protected label)", report["classes"])
    )
    entries = report["perturbations"]
    measured = sorted((name for name in entries if "recall" in entries[name]), key=lambda name: entries[name]["recall"])
    rest = [name for name in entries if "recall" not in entries[name]]
    title = "All perturbations, the weakest first" if everything else f"The {WEAKEST} weakest perturbations"
    names = [*measured, *rest] if everything else measured[:WEAKEST]
    to.print(_table(title, {name: entries[name] for name in names}))
    if worst := report["worst"]:
        to.print(
            f"Worst of those with {worst['least_support']} spans or more: {worst['name']}, recall {interval(worst, 'recall')}"
        )
    for name, reason in report.get("skipped", {}).items():
        to.print(f"{name} was left out: {reason}")


def _table(title: str, entries: Mapping[str, Mapping[str, Any]]) -> Table:
    table = Table(title=title, title_justify="left")
    table.add_column("")
    for column in _COLUMNS:
        table.add_column(column, justify="right")
    for name, entry in entries.items():
        clean = f"{number(entry.get('clean_touched'))} of {entry['clean_documents']}" if entry["clean_documents"] else ""
        table.add_row(
            name,
            str(entry["documents"]),
            str(entry["support"]),
            interval(entry, "recall"),
            number(entry.get("unperturbed_recall")),
            interval(entry, "drop", signed=True),
            number(entry.get("whole")),
            number(entry.get("strict")),
            *(_rate(entry.get(f"{prefix}false_alarms_per_10k_words")) for prefix in ("", "unperturbed_")),
            clean,
        )
    return table


def _rate(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"


def list_table() -> Table:
    """RETURNS (Table): Name, class and example of every perturbation, those at the edges of windows too."""
    table = Table("perturbation", "class", "example")
    for name, perturbation in perturbations().items():
        table.add_row(name, perturbation.kind, perturbation.about)
    for name, about in EDGES.items():
        table.add_row(name, LENGTH, about)
    return table


# The essays that robustness and speed are measured on: authored ones that training has not seen, or the user's own.

Protects = Callable[[str], bool]


def authored_essays(assets: Path, *, seed: int = 46, fillings: int = 2) -> list[LabelledText]:
    """The essays of the test split, filled with invented people.

    assets (Path): Folder with essays/ and fragments/. seed (int): Of every choice. fillings (int): Times that each is filled: once as it
    is, else with a head, a sign-off and sentences of other kinds.
    RETURNS (list[LabelledText]): With and without private people; the same for the same seed.
    RAISES (PiiError): E603, if there are no essays.
    """
    templates = [template for template in read_templates(assets) if split_of(template.id) == "test"]
    if not templates:
        raise PiiError(Errors.E603, path=assets.name)
    blocks = {
        kind: [block for n, block in enumerate(found) if split_of(f"{kind}|{n}") == "test"]
        for kind, found in read_fragments(assets).items()
    }
    recipe = replace(RECIPES["test"], fillings=fillings)
    filled = from_essays(templates, blocks, recipe, name_table(), seed)
    names = [f"{template.id}#{n}" for template in templates for n in range(fillings)]
    return [LabelledText(name, one.text, one.spans, one.unlabelled) for name, one in zip(names, filled, strict=True)]


def prose_of(assets: Path) -> list[str]:
    """RETURNS (list[str]): The stretches of the authored test essays between slots, to pad with; empty without assets."""
    texts = []
    for template in read_templates(assets):
        if split_of(template.id) == "test":
            # A slot spoils its paragraph: what stands beside it may point to the person.
            body = "".join(part if isinstance(part, str) else "\x00" for part in template.parts)
            texts += [block for block in body.split("\n\n") if "\x00" not in block]
    return texts


def read_essays(path: Path, *, form: str = "") -> list[LabelledText]:
    """RETURNS (list[LabelledText]): A labelled corpus in any form. path (Path): The file. form (str): See `corpus.labelled`."""
    return list(read_corpus(path, form))


def take(
    essays: Sequence[LabelledText], limit: int, *, seed: int, protects: Protects = lambda label: True
) -> list[LabelledText]:
    """Essays by lot, clean ones in their share.

    essays (Sequence[LabelledText]): All. limit (int): How many; 0 for all. seed (int): Of the lot.
    protects (Callable[[str], bool]): Which labels must be hidden; an essay without any is clean.
    RETURNS (list[LabelledText]): In an order of its own, of which any beginning is a fair sample.
    """
    parts: tuple[list[LabelledText], list[LabelledText]] = ([], [])
    for essay in essays:
        parts[any(must_hide(label, protects) for *_, label in essay.spans)].append(essay)
    placed = []
    for number, part in enumerate(parts):
        rng_for(seed, "sample", number).shuffle(part)
        placed += [((i + 0.5) / len(part), number, essay) for i, essay in enumerate(part)]
    order = [essay for *_, essay in sorted(placed, key=lambda item: item[:2])]
    return order[:limit] if limit else order


def must_hide(label: str, protects: Protects) -> bool:
    """RETURNS (bool): Whether a gold label must be hidden: a direct identifier that the profile protects."""
    return label in LABELS and label not in INDIRECT_LABELS and protects(label)


LEAST_SUPPORT = 10
_WAYS = ("recall", "whole", "strict")


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
        """RETURNS (Counts): Zeros for `number` essays."""
        return cls(numpy.zeros((number, 3, 3), dtype="i8"), numpy.zeros((number, 2), dtype="i8"))

    def rows(self, chosen: Sequence[int]) -> "Counts":
        """RETURNS (Counts): Of the essays in these places."""
        return Counts(self.found[list(chosen)], self.alarms[list(chosen)])


def spans_of(essay: LabelledText) -> Spans:
    """RETURNS (Spans): Gold, and masked stretches as spans that nobody knows."""
    return tuple(sorted((*essay.spans, *((start, end, UNTOLD) for start, end in essay.masked))))


def shown(text: str) -> str:
    """RETURNS (str): The text, of the same length, with a space for what tells nothing: invisible characters, signs like emoji."""
    return "".join(" " if is_invisible(char) or unicodedata.category(char) == "So" else char for char in text)


def count_found(text: str, gold: Spans, predicted: Sequence[Entity], protects: Protects) -> numpy.ndarray:
    """Found and missed in three ways.

    text (str): The essay. gold (Spans): What must be hidden. predicted (Sequence[Entity]): What would be. protects (Callable[[str], bool]):
    From a profile; names that it hides are one label.
    RETURNS (numpy.ndarray): Shape `(3, 3)`: characters, whole spans, strict spans by true positives, nothing, false negatives.
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
    """RETURNS (int): Predictions that touch no indirect identifier."""
    known = [(start, end) for start, end, label in spans if label in INDIRECT_LABELS]
    return sum(not any(entity.start < end and entity.end > start for start, end in known) for entity in predicted)


def measure(
    system: System,
    essays: Sequence[LabelledText],
    chosen: Mapping[str, Perturbation],
    *,
    protects: Protects | None = None,
    seed: int = 46,
    n_resamples: int = N_RESAMPLES,
    bootstrap_seed: int = SEED,
    long_essays: int = LONG_ESSAYS,
    progress: Callable[[str], None] = lambda name: None,
) -> dict[str, Any]:
    """Run a system on essays as they are and under each perturbation.

    system (System): A loaded system. essays (Sequence[LabelledText]): Gold, some of them clean.
    chosen (Mapping[str, Perturbation]): By name. protects (Callable[[str], bool] | None): Whether a gold label must be hidden; the
    system's own view if None. seed (int): Of the perturbations. n_resamples, bootstrap_seed (int): Of the intervals.
    long_essays (int): Essays at most that are lengthened to `LONG` characters, since these take ten times as long.
    progress (Callable[[str], None]): Called with each name when it is done.
    RETURNS (dict[str, Any]): Plain data without `command`, `data` and `profile`, which the caller knows.
    RAISES (PiiError): E762, if no essay holds anything that must be hidden.
    """
    rule = protects or system.protects
    given = [(essay, spans_of(essay)) for essay in essays]

    def is_gold(label: str) -> bool:
        return must_hide(label, rule)

    if not any(is_gold(label) for _, spans in given for *_, label in spans):
        raise PiiError(Errors.E762, what="The gold corpus", needed="label that must be hidden")

    def find(texts: Sequence[tuple[str, str]]) -> list[list[Entity]]:
        documents = [GoldDocument(ident, text) for ident, text in texts]
        return [[e for e in found if system.protects(e.label)] for found in system.find(documents)]

    def count(counts: Counts, row: int, text: str, spans: Spans, places: Sequence[int], predicted: Sequence[Entity]) -> None:
        if any(is_gold(label) for *_, label in spans):
            gold = tuple(spans[i] for i in places if is_gold(spans[i][2]))
            counts.found[row] += count_found(text, gold, predicted, rule)
        elif not any(label not in LABELS for *_, label in spans):
            counts.alarms[row] += (false_alarms(spans, predicted), len(text.split()))

    plain_found = find([(essay.id, essay.text) for essay, _ in given])
    baseline = Counts.empty(len(given))
    for row, (essay, spans) in enumerate(given):
        count(baseline, row, essay.text, spans, range(len(spans)), plain_found[row])

    def summary(after: Counts, before: Counts | None, rows: Sequence[int]) -> dict[str, Any]:
        return summarise(after.rows(rows), before.rows(rows) if before else None, n_resamples=n_resamples, seed=bootstrap_seed)

    report: dict[str, Any] = {}
    sums = {kind: (Counts.empty(len(given)), Counts.empty(len(given))) for kind in CLASSES}
    touched: dict[str, set[int]] = {kind: set() for kind in CLASSES}
    for name, perturbation in chosen.items():
        worn: list[tuple[int, str, Spans]] = []
        for row, (essay, spans) in enumerate(given):
            text, new = perturbation(essay.text, spans, rng_for(seed, name, essay.id))
            too_long = perturbation.kind == LENGTH and len(text) >= LONG // 2 and len(worn) >= long_essays
            if text != essay.text and not too_long:
                worn.append((row, text, new))
        before, after = Counts.empty(len(given)), Counts.empty(len(given))
        found = find([(given[row][0].id, text) for row, text, _ in worn])
        for (row, text, new), predicted in zip(worn, found, strict=True):
            essay, spans = given[row]
            old_places, new_places = perturbation.measured(essay.text, spans, text, new)
            count(before, row, essay.text, spans, old_places, plain_found[row])
            count(after, row, text, new, new_places, predicted)
        before.alarms[after.alarms[:, 1] == 0] = 0  # no longer clean: someone private was added
        rows = [row for row, _, _ in worn]
        report[name] = {"class": perturbation.kind, "about": perturbation.about} | summary(after, before, rows)
        touched[perturbation.kind].update(rows)
        for total, one in zip(sums[perturbation.kind], (before, after), strict=True):
            total.found[:] += one.found
            total.alarms[:] += one.alarms
        progress(name)
    everything = range(len(given))
    classes = {kind: summary(after, before, sorted(touched[kind])) for kind, (before, after) in sums.items() if touched[kind]}
    return {
        "format": FORMAT,
        "versions": versions(),
        "machine": machine(),
        "bootstrap": {"unit": "document", "resamples": n_resamples, "seed": bootstrap_seed, "level": 0.95},
        "system": {"name": system.name, **system.about},
        "seed": seed,
        "long_essays": long_essays,
        "unperturbed": summary(baseline, None, everything),
        "classes": classes,
        "worst_class": worst(classes),
        "worst": worst(report),
        "perturbations": report,
    }


def worst(entries: Mapping[str, Mapping[str, Any]], *, least: int = LEAST_SUPPORT) -> dict[str, Any]:
    """The entry with the lowest recall.

    entries (Mapping[str, Mapping[str, Any]]): From `measure`. least (int): Spans behind it at least.
    RETURNS (dict[str, Any]): Its name, recall, drop and support; empty if none has that many.
    """
    fit = {name: entry for name, entry in entries.items() if entry["support"] >= least and "recall" in entry}
    if not fit:
        return {}
    name = min(fit, key=lambda n: (fit[n]["recall"], n))
    shown_keys = ("recall", "recall_95", "drop", "drop_95", "support")
    return {"name": name, **{key: fit[name][key] for key in shown_keys if key in fit[name]}, "least_support": least}


def summarise(after: Counts, before: Counts | None, *, n_resamples: int, seed: int) -> dict[str, Any]:
    """Numbers with intervals.

    after (Counts): Of the perturbed essays. before (Counts | None): Of the same essays and people as they were.
    n_resamples, seed (int): Of the bootstrap.
    RETURNS (dict[str, Any]): Essays, support, recall in three ways, false alarms; with `before` the same unperturbed, and the drop.
    """
    number = len(after.found)
    out: dict[str, Any] = {"documents": number, "support": int(after.found[:, 1].sum())}
    if not number:
        return out | {"clean_documents": 0}
    weights = resample(number, n_resamples=n_resamples, seed=seed)
    recalls = {way: score(after.found[:, i], weights).recall for i, way in enumerate(_WAYS)}
    out |= plain(recalls)
    if before is not None:
        for i, way in enumerate(_WAYS):
            if recalls[way] is None:
                continue
            unperturbed = score(before.found[:, i], weights).recall
            lost = difference(before.found[:, i], after.found[:, i], weights)["recall"]
            drop = "drop" if way == "recall" else f"drop_{way}"
            out |= plain({f"unperturbed_{way}": unperturbed, drop: lost})
    out["clean_documents"] = int((after.alarms[:, 1] > 0).sum())
    for prefix, counts in (("", after), ("unperturbed_", before)):
        if counts is not None and counts.alarms[:, 1].any():
            out |= _alarm_rates(prefix, counts.alarms, weights)
    return out


def _alarm_rates(prefix: str, alarms: numpy.ndarray, weights: numpy.ndarray) -> dict[str, Any]:
    clean = (alarms[:, 1] > 0).astype("i8")
    hit = (alarms[:, 0] > 0).astype("i8")
    nothing = numpy.zeros_like(clean)
    rate = score(numpy.stack([alarms[:, 0], nothing, alarms[:, 1] - alarms[:, 0]], axis=1), weights).recall
    share = score(numpy.stack([hit, nothing, clean - hit], axis=1), weights).recall
    per_words = Estimate(rate.value * 1e4, rate.low * 1e4, rate.high * 1e4) if rate else None
    named = {f"{prefix}false_alarms": int(alarms[:, 0].sum())}
    return named | plain({f"{prefix}false_alarms_per_10k_words": per_words, f"{prefix}clean_touched": share})
