"""The tagger that an attacker trains: logistic regression over a word and its surroundings (scikit-learn).

    parrot = Parrot(seed=1).fit(texts, spans)
    places, probabilities = parrot.tag(text)                    # one probability per word or sign

Cheap on purpose: half a corpus of 300 essays takes seconds on one processor. Features are those of the taggers of Carrell et al.
(2019): the word, its shape, prefix and suffix, two neighbours on each side, where it stands in its line and in the document.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy

from ..errors import Errors, PiiError

WORD = re.compile(r"\w+|[^\w\s]")
_FEATURES = 1 << 18
_EDGE_WORDS = 50


def words_of(text: str) -> list[tuple[int, int]]:
    """RETURNS (list[tuple[int, int]]): First character and end (exclusive) of the words and signs of a text."""
    return [match.span() for match in WORD.finditer(text)]


class Parrot:
    """A tagger: is this word part of something that was replaced?

    seed (int): Of the solver. strength (float): Inverse of the regularisation, above 0 (scikit-learn's C).
    share (float): Once trained: share of the words that were tagged in what it was trained on.
    RAISES (PiiError): E005, without scikit-learn.
    """

    def __init__(self, *, seed: int = 1, strength: float = 5.0) -> None:
        try:
            from sklearn.feature_extraction import FeatureHasher
            from sklearn.linear_model import LogisticRegression
        except ImportError as err:
            raise PiiError(Errors.E005, package="scikit-learn", what="the attack", extra="corpus") from err
        self._hasher: Any = FeatureHasher(_FEATURES, input_type="string", alternate_sign=False)
        self._model: Any = LogisticRegression(C=strength, solver="liblinear", max_iter=500, random_state=seed)
        self._constant: float | None = None
        self.share = 0.0

    def fit(self, texts: Sequence[str], spans: Sequence[Sequence[tuple[int, int]]]) -> "Parrot":
        """Train.

        texts (Sequence[str]): Documents. spans (Sequence[Sequence[tuple[int, int]]]): Start and end (exclusive) of what is tagged.
        RETURNS (Parrot): Itself. Where nothing, or everything, is tagged, it says so of every word.
        """
        truth = numpy.asarray([
            any(s < end and e > start for s, e in found)
            for text, found in zip(texts, spans, strict=True)
            for start, end in words_of(text)
        ])  # fmt: skip
        self._constant, self.share = None, float(truth.mean()) if len(truth) else 0.0
        if not len(truth) or truth.all() or not truth.any():
            self._constant = float(len(truth) > 0 and truth.all())
            return self
        self._model.fit(self._hasher.transform(row for text in texts for row in features(text)), truth)
        return self

    def tag(self, text: str) -> tuple[list[tuple[int, int]], numpy.ndarray]:
        """RETURNS (tuple): Places of the words, and for each the probability that it was replaced, shape `(n_words,)`."""
        places = words_of(text)
        if self._constant is not None or not places:
            return places, numpy.full(len(places), self._constant or 0.0)
        return places, self._model.predict_proba(self._hasher.transform(features(text)))[:, 1]


def features(text: str) -> Iterator[list[str]]:
    """YIELDS (list[str]): For each word what the tagger sees of it."""
    places = words_of(text)
    words = [text[start:end] for start, end in places]
    lower, shapes = [word.lower() for word in words], [shape(word) for word in words]
    pad = ["", "", *lower, "", ""]
    pad_shapes = ["", "", *shapes, "", ""]
    for i, (start, end) in enumerate(places):
        line_start, line_end = text.rfind("\n", 0, start) + 1, text.find("\n", end)
        line = text[line_start : len(text) if line_end < 0 else line_end]
        j = i + 2
        yield [
            "w=" + lower[i], "s=" + shapes[i], "p=" + lower[i][:3], "x=" + lower[i][-3:],
            "w-1=" + pad[j - 1], "w-2=" + pad[j - 2], "w+1=" + pad[j + 1], "w+2=" + pad[j + 2],
            "s-1=" + pad_shapes[j - 1], "s+1=" + pad_shapes[j + 1], "s+2=" + pad_shapes[j + 2],
            f"s-1:1={pad_shapes[j - 1]} {shapes[i]} {pad_shapes[j + 1]}",
            f"w-1,s={pad[j - 1]} {shapes[i]}", f"w-2,-1,s={pad[j - 2]} {pad[j - 1]} {shapes[i]}",
            f"first={not text[line_start:start].strip()}", f"short={len(line) < 40} {shapes[i]}",
            f"where={_where(i, len(words))} {shapes[i]}",
        ]  # fmt: skip


def shape(word: str) -> str:
    """RETURNS (str): "Xx" for "Ana", "d" for "2019": kinds of characters, each once where it repeats."""
    kinds = ("X" if c.isupper() else "x" if c.islower() else "d" if c.isdigit() else c for c in word)
    out = ""
    for kind in kinds:
        if not out.endswith(kind):
            out += kind
    return out


def _where(index: int, length: int) -> str:
    if index < _EDGE_WORDS:
        return "head"
    return "foot" if index >= length - _EDGE_WORDS else "body"
