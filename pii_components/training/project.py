"""A weasel project that trains the pipeline on somebody's own labelled essays: what `pii-edu init-train` writes.

    looked_for = annotated_labels(["NAME_STUDENT", "COURSE"])
    plan = make_plan([412, 380], depth=HEADS)
    write_project(Path("project"), project)

Only what gold holds is learned. A label that nobody looked for is neither learned nor forgotten: `annotated_labels` says which
those are, and the corpus carries it to the loss and the scorer (ner/loss.py).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import cycle
from pathlib import Path
from time import perf_counter
from typing import Any

import spacy
from jinja2 import Environment, PackageLoader, StrictUndefined
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.training.batchers import minibatch_by_words

from .. import __version__
from ..files.formats.base import LabelledText, ReadStats
from ..files.formats.tokens import to_doc
from ..files.writers import Output, replace_file
from ..labels import (
    LABELS,
    NAME_CHARACTER,
    NAME_CITED,
    NAME_CONNECTED,
    NAME_LABELS,
    NAME_STUDENT,
)
from ..ner.loss import ANNOTATED
from ..spans import SPANS_KEY

DEPTHS = HEADS, ENCODER = ("heads", "encoder")
# The pipeline to begin with.
SOURCE = "en_pii_edu"
# Documents to train on below which steps are few, and must be large.
FEW = 30
# Seconds to load, score and package; how much longer than it reads an encoder takes to learn, in torch.
_START, _BACK = 30, 12
CLEANER = "pii_cleaner"
_FROZEN = ("pii_ruler", "hips_surrogate", CLEANER)
WHAT = {HEADS: "the two heads over the encoder as it ships", ENCODER: "the encoder and both heads"}


def annotated_labels(found: Iterable[str], more: Iterable[str] = ()) -> dict[str, list[str]]:
    """What annotators looked for: the labels that they gave, and `more`.

    Who labels cited authors or characters labels names of every role. Who labels no connected people may have called them
    students, as CRAPII's annotators did (corpus/build.py).
    RETURNS (dict[str, list[str]]): As `doc.spans["pii"].attrs["annotated"]`: label -> labels of ours that it may be.
    """
    looked = {*found, *more}
    if looked & {NAME_CITED, NAME_CHARACTER}:
        looked |= set(NAME_LABELS)
    ordered = [label for label in LABELS if label in looked] + sorted(looked.difference(LABELS))
    known = {label: [label] for label in ordered}
    if NAME_STUDENT in known and NAME_CONNECTED not in known:
        known[NAME_STUDENT].append(NAME_CONNECTED)
    return known


@dataclass(frozen=True, slots=True)
class Plan:
    """How training goes.

    batch (int): Tokens of a step. steps (int): Of an epoch. epochs (int): At most. evaluate (int): Steps between two scores.
    patience (int): Steps without a better score after which it ends. learn_rate, eps (float): Of Adam.
    """

    batch: int
    steps: int
    epochs: int
    evaluate: int
    patience: int
    learn_rate: float
    eps: float


def make_plan(lengths: Sequence[int], depth: str) -> Plan:
    """RETURNS (Plan): For so many documents. lengths (Sequence[int]): Their tokens.

    A new label needs some hundred steps at a high rate to be learned from ten essays. `eps` is large on purpose: Adam divides by
    the usual size of a gradient, so that a label that does not occur, whose gradient is tiny and always of one sign, would be
    forgotten as fast as others are learned.
    """
    batch = min(max(sum(lengths) // 16, 400), 1500)
    parts: Any = [range(n) for n in lengths]
    steps = sum(1 for _ in minibatch_by_words(parts, batch, get_length=len))
    epochs = min(max(round(120 / len(lengths) ** 0.5), 5), 30)
    rate = 0.002 if depth == ENCODER else 0.01 if len(lengths) < FEW else 0.003
    eps = 1e-4 if depth == ENCODER else 1e-3
    return Plan(batch, steps, epochs, max(steps, 20), max(5 * steps, 100), rate, eps)


def tokens_a_second(nlp: Language, docs: Sequence[Doc], seconds: float = 1.5) -> float:
    """RETURNS (float): Tokens that a pipeline reads in a second, measured on these documents, one after the other, for so long."""
    read, start = 0, perf_counter()
    for doc in cycle(docs):
        read += len(nlp(doc.text))
        if perf_counter() - start >= seconds:
            break
    return read / (perf_counter() - start)


def estimate(plan: Plan, train: Sequence[Doc], dev: Sequence[Doc], depth: str) -> str:
    """RETURNS (str): How long `weasel run all` takes here at most. The pipeline reads the first documents for a second or two."""
    nlp = spacy.load(SOURCE, exclude=["hips_surrogate", CLEANER])
    n_train, n_dev = (sum(map(len, docs)) for docs in (train, dev))
    scores = plan.epochs * plan.steps / plan.evaluate
    read = plan.epochs * n_train + 2 * scores * n_dev  # a score takes surrogates, too
    seconds = _START + scores + read / tokens_a_second(nlp, train)
    if depth == ENCODER:
        with nlp.select_pipes(enable="transformer"):
            seconds += plan.epochs * n_train * _BACK / tokens_a_second(nlp, train)
    minutes = round(seconds / 60)
    return "about a minute" if minutes < 2 else f"about {minutes} minutes"


@dataclass(frozen=True, kw_only=True)
class Project:
    """What a project is made of.

    train, dev (Sequence[Doc]): Gold, see `make_docs`. looked_for (Mapping[str, list[str]]): Of `annotated_labels`.
    own (Sequence[str]): Labels of the user's own. plan (Plan), depth (str), seed (int). minutes (str): How long it may take.
    """

    train: Sequence[Doc]
    dev: Sequence[Doc]
    looked_for: Mapping[str, list[str]]
    own: Sequence[str]
    plan: Plan
    depth: str
    seed: int
    minutes: str


def make_docs(
    essays: Iterable[LabelledText], looked_for: Mapping[str, list[str]], tally: ReadStats
) -> list[Doc]:
    """RETURNS (list[Doc]): Gold to train on. tally (ReadStats): Gets what is masked since it ends inside a token."""
    docs = []
    for number, essay in enumerate(essays, 1):
        doc = to_doc(replace(essay, meta={}), number=number, tally=tally)
        doc.spans[SPANS_KEY].attrs[ANNOTATED] = dict(looked_for)
        docs.append(doc)
    return docs


def write_project(folder: Path, project: Project) -> None:
    """Write project.yml, config.cfg, README.md, .gitignore, and the corpus; only their owner can read them. RAISES (PiiError): E512."""
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)  # spaCy and weasel write into it, too
    for name, docs in (("train", project.train), ("dev", project.dev)):
        out = Output(folder / "corpus" / f"{name}.spacy")
        out.start()
        out.append(DocBin(attrs=["ORTH"], store_user_data=True, docs=docs).to_bytes())
        out.finish()
    frozen = ("transformer", *_FROZEN) if project.depth == HEADS else _FROZEN
    # Others that a label may be were looked for, too.
    looked_for = dict.fromkeys(one for others in project.looked_for.values() for one in others)
    values = {
        "pii_version": __version__,
        "source": SOURCE,
        "n_train": len(project.train),
        "n_dev": len(project.dev),
        "labels": list(looked_for),
        "own": _quoted(project.own),
        "frozen": _quoted(frozen),
        "what": WHAT[project.depth],
        "plan": project.plan,
        "depth": project.depth,
        "seed": project.seed,
        "minutes": project.minutes,
    }
    render = _templates()
    for name in ("project.yml", "config.cfg", "README.md"):
        replace_file(folder / name, render(name).render(values))
    replace_file(folder / ".gitignore", "corpus/\ntraining/\nmetrics/\npackages/\n")


def _quoted(names: Iterable[str]) -> str:
    return ",".join(f'"{name}"' for name in names)


def _templates() -> Callable[[str], Any]:
    loader = PackageLoader("pii_components", "resources/train")
    made = Environment(
        loader=loader, undefined=StrictUndefined, trim_blocks=True, keep_trailing_newline=True
    )
    return made.get_template
