"""Near-duplicates among essays: one-hot word trigrams, cosine above .9 (CRAPII paper, section 2.1).

    found = find_duplicates(texts)
    found.groups                        # ((0, 17), (3, 4, 9)): positions of texts that copy each other
    found.to_remove()                   # {0, 3, 4, 9, 17}: all of them, as the paper does; keep="first" spares 0 and 3
    found.curve()                       # [(.0, .02), (.05, .41), ...]: the paper's Figure 1

Texts are lower-cased, folded to ASCII, split at white space, without stop words. Every trigram becomes 64 bits (BLAKE2b), so that a
text costs its number of trigrams times 8 bytes and can be forgotten; the similarities are a sparse product, made a block of
rows at a time. Nothing depends on the order of the texts, on the process or on chance.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from importlib import resources
from typing import Any

import numpy as np

from ..errors import Errors, PiiError

KEEP = ("none", "first")
# Typographic signs that a word processor puts in: a copy must not escape by them, and "don’t" is a stop word too.
_SIGNS = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"', "–": "-", "—": "-"})
_WORD = re.compile(r"\S+")
# Odd numbers that tell the three places of a trigram apart (golden ratio and the multipliers of xxHash64).
_PLACES = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9], dtype=np.uint64)
# Entries of one block of the product, at most; each costs 8 bytes, and 25 while they are compared.
_BLOCK = 4_000_000


@dataclass(frozen=True, slots=True)
class Duplicates:
    """What copies what.

    n (int): Number of texts. threshold (float): Pairs are more similar than this.
    pairs (tuple[tuple[int, int, float], ...]): Positions, lower first, and cosine. Of texts with equal trigrams each is paired
    with the first of them only, so that a thousand copies are not half a million pairs.
    groups (tuple[tuple[int, ...], ...]): Connected components of the pairs, sorted.
    highest (tuple[float, ...]): Per text its highest similarity to another one; empty unless asked for.
    """

    n: int
    threshold: float
    pairs: tuple[tuple[int, int, float], ...]
    groups: tuple[tuple[int, ...], ...]
    highest: tuple[float, ...] = ()

    def to_remove(self, keep: str = "none") -> set[int]:
        """What a corpus without copies leaves out.

        keep (str): "none": all texts of a group go, as in the paper; "first": the first text of each group stays.
        RETURNS (set[int]): Positions.
        RAISES (PiiError): E650, for another value.
        """
        if keep not in KEEP:
            raise PiiError(Errors.E650, name="keep", value=keep, allowed=" or ".join(KEEP))
        return {i for group in self.groups for i in (group if keep == "none" else group[1:])}

    def curve(self, steps: int = 20) -> list[tuple[float, float]]:
        """The cumulative curve of the paper's Figure 1.

        steps (int): Number of steps from 0 to 1.
        RETURNS (list[tuple[float, float]]): Similarity, and the share of texts whose highest similarity is not above it.
        """
        points = [i / steps for i in range(steps + 1)]
        ordered = np.sort(np.asarray(self.highest))
        shares = np.searchsorted(ordered, np.asarray(points) + 1e-12, side="right") / max(len(ordered), 1)
        return [(point, round(float(share), 6)) for point, share in zip(points, shares, strict=True)]


@cache
def stop_words() -> frozenset[str]:
    """RETURNS (frozenset[str]): English stop words; see the head of resources/corpus/stop_words_en.txt."""
    source = resources.files("pii_components") / "resources" / "corpus" / "stop_words_en.txt"
    return frozenset(line for line in source.read_text(encoding="utf-8").split("\n") if line and not line.startswith("#"))


def content_words(text: str) -> list[str]:
    """RETURNS (list[str]): Lower case, ASCII, split at white space, without stop words; signs stay on their word."""
    folded = unicodedata.normalize("NFKD", text.translate(_SIGNS)).encode("ascii", "ignore").decode("ascii").lower()
    stop = stop_words()
    return [word for word in _WORD.findall(folded) if word not in stop]


class TrigramHasher:
    """Turns texts into sets of hashed trigrams. Remembers the hash of each word, nothing of a text."""

    def __init__(self) -> None:
        self._words: dict[str, int] = {}

    def __call__(self, text: str) -> Any:
        """RETURNS (numpy.ndarray): Distinct trigrams of a text, uint64, sorted, (n_trigrams,)."""
        known = self._words
        numbers = []
        for word in content_words(text):
            number = known.get(word)
            if number is None:
                number = known[word] = int.from_bytes(blake2b(word.encode(), digest_size=8).digest(), "little")
            numbers.append(number)
        if len(numbers) < 3:
            return np.empty(0, dtype=np.uint64)
        row = np.array(numbers, dtype=np.uint64)
        return np.unique(row[:-2] * _PLACES[0] + row[1:-1] * _PLACES[1] + row[2:] * _PLACES[2])  # modulo 2**64


def find_duplicates(texts: Iterable[str], *, threshold: float = 0.9, highest: bool = True, block: int = _BLOCK) -> Duplicates:
    """Find near-duplicates among texts.

    texts (Iterable[str]): Each is read once and not kept. threshold (float): Cosine above which two texts are copies, 0 to 1.
    highest (bool): Whether to find each text's highest similarity too; without it, texts whose lengths differ too much are
    never compared. block (int): Entries of the product that may be held at a time.
    RETURNS (Duplicates): A text of fewer than three content words is like no other.
    RAISES (PiiError): E650, if the threshold is not above 0 and below 1; E005, if scipy is not installed.
    """
    hasher = TrigramHasher()
    return duplicates_of((hasher(text) for text in texts), threshold=threshold, highest=highest, block=block)


def duplicates_of(rows: Iterable[Any], *, threshold: float = 0.9, highest: bool = True, block: int = _BLOCK) -> Duplicates:
    """Find near-duplicates among sets of trigrams, as `TrigramHasher` makes them; see `find_duplicates`."""
    if not 0 < threshold < 1:
        raise PiiError(Errors.E650, name="threshold", value=threshold, allowed="a number above 0 and below 1")
    try:
        from scipy import sparse
    except ImportError as err:
        raise PiiError(Errors.E005, package="scipy", what="near-duplicates", extra="corpus") from err
    distinct, first, copies = _distinct(rows)
    n = len(first)
    best = np.zeros(len(distinct))
    found: list[tuple[int, int, float]] = []
    # Sorted by size, texts of similar size lie together: with one-hot vectors a cosine above t needs sizes above t² apart.
    sizes = np.array([len(row) for row in distinct], dtype=np.int64)
    order = np.argsort(sizes, kind="stable")
    matrix, sizes = _matrix([distinct[i] for i in order], sparse), sizes[order]
    start = 0
    while start < len(order):
        stop = min(len(order), start + max(1, block // (len(order) - start)))
        end = len(order) if highest else int(np.searchsorted(sizes, sizes[stop - 1] / threshold**2, side="right"))
        # Rows of the block against itself and all that come after it: each pair once.
        product = (matrix[start:stop] @ matrix[start:end].T.tocsr()).tocoo()
        left, right = product.row + start, product.col + start
        above = left < right
        left, right, shared = left[above], right[above], product.data[above]
        cosine = shared / np.sqrt(sizes[left] * sizes[right])
        if highest:
            np.maximum.at(best, left, cosine)
            np.maximum.at(best, right, cosine)
        for at in np.flatnonzero(cosine > threshold):
            found.append((int(order[left[at]]), int(order[right[at]]), float(cosine[at])))
        start = stop
    origin = {number: i for i, number in enumerate(first) if number >= 0 and copies[i] == i}
    pairs = [(min(origin[i], origin[j]), max(origin[i], origin[j]), round(value, 6)) for i, j, value in found]
    pairs += [(copies[i], i, 1.0) for i in range(n) if copies[i] != i]
    top: list[float] = []
    if highest:
        by_number = np.empty(len(distinct))
        by_number[order] = best
        twice = {copies[i] for i in range(n) if copies[i] != i}
        top = [0.0 if k < 0 else 1.0 if copies[i] in twice else round(float(by_number[k]), 6) for i, k in enumerate(first)]
    pairs.sort()
    return Duplicates(n, threshold, tuple(pairs), connected(n, ((i, j) for i, j, _ in pairs)), tuple(top))


def _distinct(rows: Iterable[Any]) -> tuple[list[Any], list[int], list[int]]:
    """Take equal sets together.

    RETURNS (tuple): The distinct sets that are not empty; per text the number of its set, or -1; per text the first text with
    the same set (itself, if none came before).
    """
    numbers: dict[bytes, int] = {}
    distinct: list[Any] = []
    origin: list[int] = []
    first: list[int] = []
    copies: list[int] = []
    for i, row in enumerate(rows):
        if not len(row):
            first.append(-1)
            copies.append(i)
            continue
        number = numbers.setdefault(blake2b(row.tobytes(), digest_size=16).digest(), len(distinct))
        if number == len(distinct):
            distinct.append(row)
            origin.append(i)
        first.append(number)
        copies.append(origin[number])
    return distinct, first, copies


def _matrix(rows: list[Any], sparse: Any) -> Any:
    """RETURNS (scipy.sparse.csr_matrix): Texts by trigrams, (n_texts, n_trigrams): only trigrams of two texts or more, since
    the others add to no product; they count in the length of the vector alone."""
    counts = [len(row) for row in rows]
    flat = np.concatenate(rows) if rows else np.empty(0, dtype=np.uint64)
    _, columns, frequency = np.unique(flat, return_inverse=True, return_counts=True)
    del flat
    shared = (frequency > 1)[columns]
    new_number = np.cumsum(frequency > 1) - 1
    indices = new_number[columns[shared]].astype(np.int32)
    ends = np.cumsum(np.concatenate([[0], counts])).astype(np.int64)
    kept = np.concatenate([[0], np.cumsum(shared)])[ends]
    kept = kept.astype(np.int32 if len(indices) < 2**31 else np.int64)  # scipy keeps both index arrays in the larger type
    width = int((frequency > 1).sum())
    return sparse.csr_matrix((np.ones(len(indices), dtype=np.int32), indices, kept), shape=(len(rows), width))


def connected(n: int, pairs: Iterable[tuple[int, int]]) -> tuple[tuple[int, ...], ...]:
    """Groups of things that hang together.

    n (int): Number of things. pairs (Iterable[tuple[int, int]]): Which two do.
    RETURNS (tuple[tuple[int, ...], ...]): Groups of two or more, sorted inside and among each other.
    """
    parent = list(range(n))

    def root(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    for i, j in pairs:
        a, b = root(i), root(j)
        parent[max(a, b)] = min(a, b)  # the root is the lowest of its group
    return tuple(tuple(group) for group in _gather(root(i) for i in range(n)) if len(group) > 1)


def _gather(roots: Iterable[int]) -> Iterator[list[int]]:
    groups: dict[int, list[int]] = {}
    for i, number in enumerate(roots):
        groups.setdefault(number, []).append(i)
    yield from groups.values()
