"""The masked-name role encoder: what the text around somebody's names says of their role, whatever the name.

    PersonReader.from_bytes(data).read([(doc, view, people)])    ->  per document shape (n_persons, 6): five roles, and "no name"

An encoder of its own reads the document with a placeholder for every name, in windows that hold one. The vectors of all mentions of a
person are pooled, by attention and by their maximum, and two layers decide. Runs on onnxruntime.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any, cast

import numpy
import srsly
from spacy.tokens import Doc
from thinc.api import Model

from ..errors import Errors, PiiError
from ..names.letters import fold, norm
from ..names.parse import Form
from ..names.table import name_table
from ..names.wordlists import is_initial, words
from ..ner.layers import WordPieces, build_layout_wordpiece_encoder, windows_of
from ..ner.onnx import OnnxShim
from .mentions import People
from .view import DocView

# Kinds of placeholders; NAME where nobody knows whether a lone word is a given name or a surname.
GIVEN, SURNAME, NAME = 0, 1, 2
_KEPT, _DROPPED = -1, -2
PLACES = 24  # people with a placeholder of their own; the next one shares that of the first
# Pieces that BERT's vocabularies keep free: "[unused100]" is the given name of the first person.
PLACEHOLDERS: tuple[str, ...] = tuple(f"[unused{100 + n}]" for n in range(3 * PLACES))
_LETTERS_APART = 3


@dataclass(frozen=True, slots=True, eq=False)
class Blinded:
    """Pieces of a document with placeholders, ids of shape `(n_pieces,)`; a placeholder is `-1 - (kind * PLACES + person % PLACES)`.
    mentions (numpy.ndarray): First piece, number of pieces and person of each, shape `(n_mentions, 3)`, in the order of the text."""

    pieces: numpy.ndarray
    mentions: numpy.ndarray
    n_persons: int


def blind(
    people: People, words_of: Sequence[str], pieces: Sequence[int], lengths: Sequence[int]
) -> Blinded:
    """RETURNS (Blinded): A document with placeholders for names, without the last piece. words_of (Sequence[str]): Its words, normalised.
    pieces (Sequence[int]): With one before and one behind the text. lengths (Sequence[int]): Pieces of each token; of these two as well."""
    marked: dict[int, tuple[int, int]] = {}  # token -> mention, and kind of placeholder
    owner = {i: number for number, person in enumerate(people.persons) for i in person}
    forms = [list(dict.fromkeys(people.forms[i] for i in person)) for person in people.persons]
    for i, number in owner.items():
        span = range(people.cands[i].start, people.cands[i].end)
        kinds = kinds_of([words_of[token] for token in span], people.forms[i], forms[number])
        marked.update((token, (i, kind)) for token, kind in zip(span, kinds, strict=True))
    found = list(pieces[: lengths[0]])
    mentions: list[list[int]] = []
    at, current = lengths[0], -1
    for token, length in enumerate(lengths[1:-1]):
        own = [
            piece for piece in pieces[at : at + length] if piece >= 0
        ]  # a token that shows nothing has none
        at += length
        i, kind = marked.get(token, (-1, _KEPT))
        if i >= 0 and i != current:
            mentions.append([len(found), 0, owner[i]])
        current = i
        if kind == _KEPT:
            found += own
        elif kind != _DROPPED:
            found.append(-1 - (kind * PLACES + owner[i] % PLACES))
        if i >= 0:
            mentions[-1][1] = len(found) - mentions[-1][0]
    return Blinded(
        numpy.asarray(found, dtype="i8"),
        numpy.asarray(mentions, dtype="i8").reshape(-1, 3),
        len(people.persons),
    )


def kinds_of(tokens: Sequence[str], form: Form, forms: Sequence[Form]) -> list[int]:
    """RETURNS (list[int]): What stands for each token of a mention: GIVEN, SURNAME or NAME; below 0 for what stays as it is or goes.
    forms (Sequence[Form]): All forms of its person."""
    letters = [len(token) for token in tokens if token.isalpha()]
    if (
        len(letters) >= _LETTERS_APART and max(letters) == 1
    ):  # "A N A": letters that are read together
        return [NAME, *[_DROPPED] * (len(tokens) - 1)]
    named = [(n, word) for n, token in enumerate(tokens) if (word := _bare(token))]
    kinds = [_KEPT] * len(tokens)
    if not named:
        kinds[0] = NAME
        return kinds
    if len(named) > 1:
        last = named[0][0] if form.comma else named[-1][0]
        for n, _ in named:
            kinds[n] = SURNAME if n == last else GIVEN
        return kinds
    n, word = named[0]
    surnames = {other.surname for other in forms if other.full}
    given = {
        part
        for other in forms
        if other.full
        for part in (other.words[1:] if other.comma else other.words[:-1])
    }
    if (word in surnames) != (word in given):
        kinds[n] = SURNAME if word in surnames else GIVEN
    elif form.letters:
        kinds[n] = SURNAME
    else:
        table = name_table()
        a_given, a_surname = table.is_given(word), table.is_surname(word)
        kinds[n] = NAME if a_given == a_surname else GIVEN if a_given else SURNAME
    return kinds


def _bare(token: str) -> str:
    """RETURNS (str): A word of a name as `Form.words` has it; empty for signs, initials, particles, suffixes and the possessive."""
    word = fold(token).replace("’", "'")
    if word in ("'s", "'") or not any(char.isalpha() for char in word):
        return ""
    bare = word.replace(".", "")
    if (len(bare) == 1 and is_initial(bare)) or (
        "." in word and all(len(part) <= 1 for part in word.split("."))
    ):
        return ""
    if bare in words().suffixes or bare in words().particles:
        return ""
    return norm(word[:-2] if word.endswith("'s") and len(word) > 3 else word)


WINDOW, OVERLAP = 512, 64
Named = tuple[Doc, DocView, People]
HEAD = ("attention", "attention_bias", "hidden", "hidden_bias", "output", "output_bias")


@dataclass(frozen=True, slots=True, eq=False)
class Head:
    """What stands behind the encoder. attention: `(width,)`, hidden: `(n_hidden, 2 * width)`, output: `(6, n_hidden)`, each with its bias."""

    attention: numpy.ndarray
    attention_bias: numpy.ndarray
    hidden: numpy.ndarray
    hidden_bias: numpy.ndarray
    output: numpy.ndarray
    output_bias: numpy.ndarray

    def logits(
        self, vectors: numpy.ndarray, owners: numpy.ndarray, n_persons: int
    ) -> numpy.ndarray:
        """RETURNS (numpy.ndarray): Shape `(n_persons, 6)`; zeros for people without a mention.
        vectors (numpy.ndarray): Of each mention, shape `(n_mentions, width)`. owners (numpy.ndarray): Person of each, shape `(n_mentions,)`."""
        found = numpy.zeros((n_persons, len(self.output)), dtype="f4")
        scores = vectors @ self.attention + self.attention_bias
        order = numpy.argsort(owners, kind="stable")
        for mine in numpy.split(order, numpy.flatnonzero(numpy.diff(owners[order])) + 1):
            if not len(mine):
                continue
            person = owners[mine[0]]
            weights = numpy.exp(scores[mine] - scores[mine].max())
            pooled = (weights[:, None] * vectors[mine]).sum(axis=0) / weights.sum()
            x = numpy.concatenate([pooled, vectors[mine].max(axis=0)])
            found[person] = (
                numpy.maximum(self.hidden @ x + self.hidden_bias, 0.0) @ self.output.T
                + self.output_bias
            )
        return found


class PersonReader:
    """An encoder (an ONNX graph), its vocabulary (WordPiece, uncased) and a head; E304, if the vocabulary has no placeholders."""

    def __init__(self, graph: bytes, vocabulary: list[str], head: Head) -> None:
        self.head = head
        self.vocabulary = vocabulary
        self.shim = OnnxShim(graph)
        number = {piece: n for n, piece in enumerate(vocabulary)}
        if not number.keys() >= set(PLACEHOLDERS):
            raise PiiError(Errors.E304, what="role encoder", task="train-reader")
        self.placeholders = numpy.asarray([number[piece] for piece in PLACEHOLDERS], dtype="i8")
        self.pieces = pieces_of(vocabulary)

    def blind(self, named: Sequence[Named]) -> list[Blinded]:
        """RETURNS (list[Blinded]): Documents with placeholders for their names."""
        read = self.pieces.predict([doc for doc, *_ in named])
        return [
            blind(people, view.words, pieces.dataXd.tolist(), pieces.lengths.tolist())
            for (_, view, people), pieces in zip(named, read, strict=True)
        ]

    def read(self, named: Sequence[Named]) -> list[numpy.ndarray]:
        """RETURNS (list[numpy.ndarray]): Per document log-probabilities, shape `(n_persons, 6)`, columns as in `classifier.CLASSES`."""
        plans = [(blinded, *cut(blinded)) for blinded in self.blind(named)]
        windows = [
            numpy.where(w < 0, self.placeholders[numpy.where(w < 0, -1 - w, 0)], w)
            for _, found, _ in plans
            for w in found
        ]
        rows: Iterator[Any] = iter(self.shim.run(windows))
        return [
            self._decided(blinded, [next(rows) for _ in found], inside)
            for blinded, found, inside in plans
        ]

    def _decided(
        self,
        blinded: Blinded,
        rows: Sequence[numpy.ndarray],
        inside: Sequence[tuple[int, int, int, int]],
    ) -> numpy.ndarray:
        vectors = [rows[n][start:end].mean(axis=0) for n, start, end, _ in inside]
        stacked = numpy.asarray(vectors, dtype="f4").reshape(-1, len(self.head.attention))
        logits = self.head.logits(
            stacked, numpy.asarray([owner for *_, owner in inside], dtype="i8"), blinded.n_persons
        )
        shifted = logits - logits.max(axis=1, keepdims=True)
        return cast(
            numpy.ndarray, shifted - numpy.log(numpy.exp(shifted).sum(axis=1, keepdims=True))
        )

    def to_bytes(self) -> bytes:
        buffer = BytesIO()
        arrays: dict[str, Any] = {
            name: numpy.asarray(getattr(self.head, name), dtype="f2") for name in HEAD
        }
        numpy.savez_compressed(buffer, **arrays)
        content = {
            "graph": self.shim.graph,
            "vocabulary": "\n".join(self.vocabulary),
            "head": buffer.getvalue(),
        }
        return cast(bytes, srsly.msgpack_dumps(content))

    @classmethod
    def from_bytes(cls, data: bytes) -> "PersonReader":
        """RETURNS (PersonReader): What `to_bytes` wrote. RAISES (PiiError): E304, if it cannot be read."""
        try:
            content = srsly.msgpack_loads(data)
            with numpy.load(BytesIO(content["head"]), allow_pickle=False) as arrays:
                head = Head(**{name: arrays[name].astype("f4") for name in HEAD})
            return cls(content["graph"], content["vocabulary"].split("\n"), head)
        except (OSError, ValueError, KeyError, TypeError) as err:
            raise PiiError(Errors.E304, what="role encoder", task="train-reader") from err


def pieces_of(vocabulary: Sequence[str]) -> Model:
    pieces: Model = build_layout_wordpiece_encoder()
    pieces.attrs.update(
        wordpiece_processor=WordPieces(vocabulary), lowercase=True, strip_accents=True
    )
    return pieces


def cut(blinded: Blinded) -> tuple[list[numpy.ndarray], list[tuple[int, int, int, int]]]:
    """RETURNS (tuple): The windows that hold a name, and per mention and window that holds the whole of it: window, first piece, end, person. A
    mention longer than the overlap of windows is read by its beginning."""
    windows: list[numpy.ndarray] = []
    inside: list[tuple[int, int, int, int]] = []
    firsts = blinded.mentions[:, 0].tolist()
    for start, end in windows_of(len(blinded.pieces), window=WINDOW, overlap=OVERLAP):
        near = blinded.mentions[bisect_left(firsts, start) : bisect_right(firsts, end)].tolist()
        mine = [
            (len(windows), low - start, low + min(n, OVERLAP) - start, owner)
            for low, n, owner in near
            if low + min(n, OVERLAP) <= end
        ]
        if mine:
            inside += mine
            windows.append(blinded.pieces[start:end])
    return windows, inside
