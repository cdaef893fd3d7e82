"""Texts to train the reader of `pii_context` on: people of labelled documents with placeholders for their names, and batches of them."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, cast

import numpy
import torch
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from torch import Tensor

from .context import PiiContext
from .context_blind import NAME, PLACES, Blinded, blind
from .context_model import CLASSES
from .context_reader import cut
from .context_train import classes_of
from .context_view import DocView
from .labels import NAME_CITED, is_name
from .ner_loss import FOUND_KEY, UNLABELLED_KEY
from .spans import SPANS_KEY, Candidate

_SPECIAL = 1000  # ids below are BERT's own, punctuation and placeholders
_MASK_PIECE = 103


@dataclass(frozen=True, slots=True)
class Settings:
    """How the reader is trained.

    epochs (int): Passes over the texts. learn_rate (float): Of the encoder, at its height; the head and the placeholders have `head_rate` times
    that. batch_pieces (int): Pieces of a batch. masked (float): Share of the pieces that are hidden. lost (float): Share of the mentions that a
    detector would have missed. strangers (float): Share of the texts in which words that are no names are made placeholders.
    dropout (float): Of the encoder. frozen (int): Lowest layers that are kept as they are. seed (int): Of everything.
    """

    epochs: int = 4
    learn_rate: float = 3e-4
    head_rate: float = 5.0
    batch_pieces: int = 6144
    masked: float = 0.05
    lost: float = 0.04
    strangers: float = 0.25
    dropout: float = 0.1
    frozen: int = 0
    seed: int = 46


@dataclass(frozen=True, slots=True, eq=False)
class Text:
    """A labelled text.

    blinded (Blinded): It. allowed (numpy.ndarray): 1 for each of `context_model.CLASSES` that a person may be, shape `(n_persons, 6)`; all 0 for
    those of whom the gold says nothing.
    """

    blinded: Blinded
    allowed: numpy.ndarray


def people_of_gold(context: PiiContext, gold: Doc, rng: random.Random, *, strangers: float) -> list[Candidate]:
    """RETURNS (list[Candidate]): The names of a labelled text, and in a share of the texts up to three capitalised words that are none. Where a
    detector's names stand beside the gold, these instead."""
    found = [Candidate(s.start, s.end, s.label_, 0.99, "model") for s in gold.spans.get(SPANS_KEY, ()) if is_name(s.label_)]
    if FOUND_KEY in gold.spans:
        found += [Candidate(s.start, s.end, s.label_, 0.5, "model") for s in gold.spans[FOUND_KEY]]
        return sorted(found, key=lambda c: c.start)
    if rng.random() >= strangers:
        return found
    taken = {i for s in gold.spans.get(SPANS_KEY, ()) for i in range(s.start, s.end)}
    taken |= {i for s in gold.spans.get(UNLABELLED_KEY, ()) for i in range(s.start, s.end)}
    free = [t.i for t in gold if t.i not in taken and t.text.istitle() and t.is_alpha and len(t) > 2]
    for i in rng.sample(free, min(len(free), rng.randint(1, 3))):
        end = i + 1
        while end < len(gold) and end - i < 3 and end in free and rng.random() < 0.7:
            end += 1
        if not any(c.start < end and i < c.end for c in found):
            found.append(Candidate(i, end, NAME_CITED, 0.5, "model"))
    return sorted(found, key=lambda c: c.start)


def read_texts(path: Path, nlp: Language, pieces: Any, settings: Settings) -> list[Text]:
    """People of a corpus.

    path (Path): A .spacy file with gold in `doc.spans["pii"]`. nlp (Language): With `pii_context`. pieces (Model): A piece encoder.
    settings (Settings): For `strangers`. RETURNS (list[Text]): Texts that name anybody.
    """
    context = cast(PiiContext, nlp.get_pipe("pii_context"))
    rng = random.Random(settings.seed)
    texts = []
    for gold in DocBin().from_disk(path).get_docs(nlp.vocab):
        cands = people_of_gold(context, gold, rng, strangers=settings.strangers)
        if cands:
            texts.append(as_text(context, gold, cands, pieces))
    return [text for text in texts if text.allowed.any()]


def as_text(context: PiiContext, gold: Doc, cands: Sequence[Candidate], pieces: Any) -> Text:
    """RETURNS (Text): A labelled text with these names. context (PiiContext): Links them. pieces (Model): A piece encoder."""
    view = DocView(gold, context.settings)
    people = context.people(view, cands)
    ragged = pieces.predict([gold])[0]
    blinded = blind(people, view.words, ragged.dataXd.tolist(), ragged.lengths.tolist())
    allowed = numpy.zeros((blinded.n_persons, len(CLASSES)), dtype="f4")
    for number, person in enumerate(people.persons):
        offsets = [(gold[c.start].idx, gold[c.end - 1].idx + len(gold[c.end - 1])) for c in (people.cands[i] for i in person)]
        classes = classes_of(gold, offsets)
        if classes is not None:
            allowed[number] = classes
    return Text(blinded, allowed)


@dataclass(frozen=True, slots=True)
class Batch:
    """Texts as tensors, see `ReaderModel.forward`; allowed (Tensor): Shape `(n_persons, 6)`."""

    pieces: Tensor
    lengths: Tensor
    spans: Tensor
    owners: Tensor
    allowed: Tensor

    def on(self, device: str) -> "Batch":
        """RETURNS (Batch): The same on a device: "cpu", "cuda"."""
        return Batch(*(getattr(self, field.name).to(device) for field in fields(self)))


def batches(texts: Sequence[Text], rng: random.Random | None, settings: Settings) -> Iterator[Batch]:
    """Texts of like length together.

    texts (Sequence[Text]): All. rng (random.Random | None): For order, lost mentions and hidden pieces; None for none of it.
    settings (Settings): How much of it. YIELDS (Batch): At most `batch_pieces` pieces with padding, but one text at least.
    """
    windows = []
    for text in texts:
        blinded = text.blinded if rng is None else _roughened(text.blinded, rng, settings)
        found, inside = cut(blinded)
        present = sorted({owner for *_, owner in inside if text.allowed[owner].any()})
        inside = [item for item in inside if item[3] in set(present)]
        if inside:
            windows.append((max(map(len, found)), found, inside, present, text.allowed))
    if rng is not None:
        rng.shuffle(windows)
        windows = [
            item for at in range(0, len(windows), 256) for item in sorted(windows[at : at + 256], key=lambda item: item[0])
        ]
    groups: list[list[Any]] = [[]]
    for item in windows:
        rows = sum(len(other[1]) for other in groups[-1]) + len(item[1])
        if groups[-1] and rows * max(item[0], *(other[0] for other in groups[-1])) > settings.batch_pieces:
            groups.append([])
        groups[-1].append(item)
    if rng is not None:
        rng.shuffle(groups)
    for group in groups:
        if group:
            yield _stack(group)


def _stack(group: Sequence[Any]) -> Batch:
    rows: list[numpy.ndarray] = []
    spans, owners, allowed = [], [], []
    n_persons = 0
    for _, found, inside, present, classes in group:
        number = {owner: n_persons + n for n, owner in enumerate(present)}
        spans += [(len(rows) + n, start, end) for n, start, end, _ in inside]
        owners += [number[owner] for *_, owner in inside]
        allowed.append(classes[present])
        rows += found
        n_persons += len(present)
    pieces = numpy.zeros((len(rows), max(map(len, rows))), dtype="i8")
    for n, row in enumerate(rows):
        pieces[n, : len(row)] = row
    return Batch(
        torch.from_numpy(pieces),
        torch.tensor([len(row) for row in rows]),
        torch.tensor(spans),
        torch.tensor(owners),
        torch.from_numpy(numpy.concatenate(allowed)),
    )


def _roughened(blinded: Blinded, rng: random.Random, settings: Settings) -> Blinded:
    """RETURNS (Blinded): With other numbers for the people, some pieces hidden, some mentions lost, some kinds of name not known."""
    order = list(range(PLACES))
    rng.shuffle(order)
    noise = numpy.random.default_rng(rng.getrandbits(32))
    pieces = blinded.pieces.copy()
    names = pieces < 0
    codes = -1 - pieces[names]
    kinds, people = codes // PLACES, codes % PLACES
    unknown = noise.random(len(kinds)) < 0.05
    kinds = numpy.where(unknown & (kinds != NAME), NAME, kinds)
    pieces[names] = -1 - (kinds * PLACES + numpy.asarray(order)[people])
    hidden = (noise.random(len(pieces)) < settings.masked) & (pieces >= _SPECIAL)
    pieces[hidden] = _MASK_PIECE
    kept = blinded.mentions[noise.random(len(blinded.mentions)) >= settings.lost]
    return Blinded(pieces, kept if len(kept) else blinded.mentions, blinded.n_persons)
