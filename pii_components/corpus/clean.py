"""From submissions to a corpus: the steps of the CRAPII paper (section 2.1, Table 1), each with its count.

    options = CleaningOptions(min_words=50)
    check_record(record, options)               # the step that leaves it out, or nothing
    check_corpus(texts, options).copies         # positions of near-duplicates

Every record that goes has a step and its number, and a code if it could not be read; its text is in no report. A threshold of 0 leaves its step out. The paper
leaves out students with several graded submissions (`per_student="only"`); here the latest submission stays. What a step keeps does
not depend on the order of the records, but for submissions without a time: there the last one is the latest.
"""

import math
import re
import unicodedata
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cache
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np

from ..errors import Errors, PiiError, imported
from ..files.record import Record, Skip
from ..names import resource_lines
from ..options import Limit, Settings, key

# Texts with an anomalous distribution of characters: mostly PDF that was parsed wrongly (CRAPII paper, section 2.1).

COLUMNS = (*map(chr, range(32, 127)), "\n")
# At least so many texts per column, or the covariance says nothing.
LEAST_PER_COLUMN = 5
_CODES = np.array([ord(sign) for sign in COLUMNS])


def character_counts(text: str) -> Any:
    """RETURNS (numpy.ndarray): Number of each of the 96 signs, then of all other signs, (97,), int32."""
    whole = unicodedata.normalize("NFKD", text)
    ascii_only = np.frombuffer(whole.encode("ascii", "ignore"), dtype=np.uint8)
    counts = np.bincount(ascii_only, minlength=128)[_CODES].astype(np.int32)
    return np.append(counts, np.int32(len(whole) - counts.sum()))


def columns_of(counts: Any, *, pool_below: float = 0.5) -> Any:
    """RETURNS (numpy.ndarray): Shares of the text, (n_texts, n_columns), without columns that never vary.

    counts (numpy.ndarray): (n_texts, 97), as `character_counts` makes them. pool_below (float): Signs that a smaller share of the
    texts have are added up; 0 for the 96 columns as they are.
    """
    if not len(counts):
        return np.empty((0, 0))
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    if pool_below:
        rare = (counts > 0).mean(axis=0) < pool_below
        rare[-1] = True
        shares = np.hstack([shares[:, ~rare], shares[:, rare].sum(axis=1, keepdims=True)])
        # All shares together are 1, so one column says nothing new; distances are the same whichever is left out.
        shares = (
            np.delete(shares, int(shares.mean(axis=0).argmax()), axis=1)
            if shares.shape[1] > 1
            else shares
        )
    else:
        shares = shares[:, :-1]
    return shares[:, shares.std(axis=0) > 0]


def find_anomalies(
    counts: Any, *, contamination: float = 0.03, pool_below: float = 0.5, seed: int = 0
) -> Any:
    """RETURNS (numpy.ndarray): True for a text with anomalous characters, (n_texts,); the order of the texts makes no difference.

    counts (numpy.ndarray): (n_texts, 97), as `character_counts` makes them. contamination (float): Share of the texts that is
    taken for anomalous, above 0, at most .5. seed (int): Of the random subsets that the robust fit begins with.
    RAISES (PiiError): E664, if there are too few texts for the number of columns; E005.
    """
    covariance = imported("sklearn.covariance", "anomalous characters", "corpus")
    columns = columns_of(counts, pool_below=pool_below)
    documents, width = columns.shape
    if not width or documents < LEAST_PER_COLUMN * width:
        raise PiiError(
            Errors.E664, documents=documents, columns=width, needed=max(LEAST_PER_COLUMN * width, 2)
        )
    order = np.lexsort(columns.T)
    support = 1 - contamination if pool_below else None
    envelope = covariance.EllipticEnvelope(
        contamination=contamination, support_fraction=support, random_state=seed
    )
    with warnings.catch_warnings():
        # "Not full rank" and "determinant has increased": the fit falls back to a pseudo-inverse, which serves here.
        warnings.simplefilter("ignore")
        return (envelope.fit_predict(columns[order]) == -1)[np.argsort(order)]


# Near-duplicates among essays: one-hot word trigrams, cosine above .9 (CRAPII paper, section 2.1).

KEEP = ("none", "first")
# Typographic signs that a word processor puts in: a copy must not escape by them, and "don’t" is a stop word too.
_SIGNS = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"', "–": "-", "—": "-"})
# Odd numbers that tell the three places of a trigram apart (golden ratio and the multipliers of xxHash64).
_PLACES = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9], dtype=np.uint64)
# Entries of one block of the product, at most; each costs 8 bytes, and 25 while they are compared.
_BLOCK = 4_000_000


@dataclass(frozen=True, slots=True)
class Duplicates:
    """What copies what.

    pairs (tuple[tuple[int, int, float], ...]): Positions, lower first, and cosine. Of texts with equal trigrams each is paired
    with the first of them only, so that a thousand copies are not half a million pairs.
    groups (tuple[tuple[int, ...], ...]): Connected components of the pairs, sorted.
    highest (tuple[float, ...]): Per text its highest similarity to another one; empty unless asked for.
    """

    pairs: tuple[tuple[int, int, float], ...]
    groups: tuple[tuple[int, ...], ...]
    highest: tuple[float, ...] = ()

    def to_remove(self, keep: str = "none") -> set[int]:
        """RETURNS (set[int]): Positions of what goes: all texts of a group, as in the paper, or with "first" all but the first."""
        return {i for group in self.groups for i in (group if keep == "none" else group[1:])}

    def curve(self, steps: int = 20) -> list[tuple[float, float]]:
        """RETURNS (list[tuple[float, float]]): The paper's Figure 1: similarity, share of texts whose highest one is not above it."""
        points = [i / steps for i in range(steps + 1)]
        ordered = np.sort(np.asarray(self.highest))
        shares = np.searchsorted(ordered, np.asarray(points) + 1e-12, side="right") / max(
            len(ordered), 1
        )
        return [
            (point, round(float(share), 6)) for point, share in zip(points, shares, strict=True)
        ]


@cache
def stop_words() -> frozenset[str]:
    """RETURNS (frozenset[str]): English stop words; see the head of resources/corpus/stop_words_en.txt."""
    lines = resource_lines("corpus/stop_words_en.txt")
    return frozenset(line for line in lines if line and not line.startswith("#"))


def content_words(text: str) -> list[str]:
    """RETURNS (list[str]): Lower case, ASCII, split at white space, without stop words; signs stay on their word."""
    folded = (
        unicodedata.normalize("NFKD", text.translate(_SIGNS))
        .encode("ascii", "ignore")
        .decode("ascii")
        .lower()
    )
    return [word for word in re.findall(r"\S+", folded) if word not in stop_words()]


class TrigramHasher:
    """Turns texts into sets of hashed trigrams; remembers the hash of each word, nothing of a text."""

    def __init__(self) -> None:
        self._hash = cache(
            lambda word: int.from_bytes(blake2b(word.encode(), digest_size=8).digest(), "little")
        )

    def __call__(self, text: str) -> Any:
        """RETURNS (numpy.ndarray): Distinct trigrams of a text, uint64, sorted, (n_trigrams,)."""
        row = np.array([self._hash(word) for word in content_words(text)], dtype=np.uint64)
        return np.unique(
            row[:-2] * _PLACES[0] + row[1:-1] * _PLACES[1] + row[2:] * _PLACES[2]
        )  # modulo 2**64


def duplicates_of(
    rows: Iterable[Any], *, threshold: float = 0.9, highest: bool = True
) -> Duplicates:
    """Find near-duplicates among texts.

    rows (Iterable[numpy.ndarray]): Of each text what `TrigramHasher` makes; fewer than three content words are like no other text.
    threshold (float): Cosine above which two texts are copies, 0 to 1. highest (bool): Whether to find each text's highest similarity
    too; without it, texts whose lengths differ too much are never compared.
    RAISES (PiiError): E005, if scipy is not installed.
    """
    sparse = imported("scipy.sparse", "near-duplicates", "corpus")
    equal: dict[
        bytes, tuple[Any, list[int]]
    ] = {}  # trigrams, and where the texts stand that have them
    n = 0
    for n, row in enumerate(rows, 1):
        if len(row):
            equal.setdefault(blake2b(row.tobytes(), digest_size=16).digest(), (row, []))[1].append(
                n - 1
            )
    # Sorted by size, texts of similar size lie together: with one-hot vectors a cosine above t needs sizes above t² apart.
    distinct = sorted(equal.values(), key=lambda item: len(item[0]))
    sizes = np.array([len(row) for row, _ in distinct], dtype=np.int64)
    matrix = _matrix([row for row, _ in distinct], sizes, sparse)
    best, count, start = np.zeros(len(distinct)), len(distinct), 0
    pairs = [(places[0], i, 1.0) for _, places in distinct for i in places[1:]]
    while start < count:
        stop = min(count, start + max(1, _BLOCK // (count - start)))
        end = (
            count
            if highest
            else int(np.searchsorted(sizes, sizes[stop - 1] / threshold**2, side="right"))
        )
        # Rows of the block against itself and all that come after it: each pair once.
        product = sparse.triu(matrix[start:stop] @ matrix[start:end].T, k=1, format="coo")
        left, right = product.row + start, product.col + start
        cosine = product.data / np.sqrt(sizes[left] * sizes[right])
        np.maximum.at(best, left, cosine)
        np.maximum.at(best, right, cosine)
        for at in np.flatnonzero(cosine > threshold):
            first, second = sorted((distinct[left[at]][1][0], distinct[right[at]][1][0]))
            pairs.append((first, second, round(float(cosine[at]), 6)))
        start = stop
    pairs.sort()
    top = dict.fromkeys(range(n), 0.0)
    for (_, places), value in zip(distinct, best, strict=True):
        top |= dict.fromkeys(places, 1.0 if len(places) > 1 else round(float(value), 6))
    groups = connected(n, ((i, j) for i, j, _ in pairs))
    return Duplicates(tuple(pairs), groups, tuple(top.values()) if highest else ())


def _matrix(rows: list[Any], sizes: Any, sparse: Any) -> Any:
    """Texts by trigrams, (n_texts, n_trigrams): only trigrams of two texts or more, since the others add to no product; they count in
    the length of the vector alone."""
    if not rows:
        return None
    _, columns, frequency = np.unique(np.concatenate(rows), return_inverse=True, return_counts=True)
    whole = sparse.csr_matrix(
        (np.ones(len(columns), dtype=np.int32), columns, np.append(0, np.cumsum(sizes)))
    )
    return whole[:, frequency > 1]


def connected(
    n: int, pairs: Iterable[tuple[int, int]], *, least: int = 2
) -> tuple[tuple[int, ...], ...]:
    """RETURNS (tuple[tuple[int, ...], ...]): Groups of at least so many of n things that pairs connect, sorted inside and among each other."""
    group_of = [[i] for i in range(n)]
    for i, j in pairs:
        small, large = sorted((group_of[i], group_of[j]), key=len)
        if small is not large:
            large += small
            for member in small:
                group_of[member] = large
    groups = {id(group): group for group in group_of if len(group) >= least}
    return tuple(sorted(tuple(sorted(group)) for group in groups.values()))


# Which language a text is in, by Chromium's Compact Language Detector 2: the one that the CRAPII paper used.

# What CLD2 refuses as no interchange-valid UTF-8, and what says nothing about a language: control signs and noncharacters.
_REFUSED = re.compile(
    "[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef"
    + "".join(
        f"{chr(plane * 0x10000 + 0xFFFE)}{chr(plane * 0x10000 + 0xFFFF)}" for plane in range(17)
    )
    + "]"
)


def _cld2() -> Any:
    return imported("pycld2", "telling the language", "corpus")


def detect_language(text: str) -> str:
    """RETURNS (str): CLD2's code ("en", "zh-Hant") of the language that most of a text is in; "un" for none. RAISES (PiiError): E005."""
    cld2 = _cld2()
    try:
        details = cld2.detect(text)[2]
    except (cld2.error, UnicodeError):
        details = cld2.detect(_REFUSED.sub(" ", text))[2]
    return str(details[0][1])


def _is_language(code: str) -> bool:
    """Whether it is empty, or a code that the detector knows."""
    return not code or code in (known for _, known in _cld2().LANGUAGES)


# The steps.

PER_STUDENT = ("latest", "only", "all")
# Name, line of the table, the setting without which it is left out.
STEPS = (
    ("records", "Input records", ""),
    ("student", "One submission per student", ""),
    ("size", "At most {max_bytes:,} bytes", "max_bytes"),
    ("pages", "At most {max_pages} pages", "max_pages"),
    ("text", "Readable as text", ""),
    ("language", "In language '{language}'", "language"),
    ("words", "{min_words} words or more", "min_words"),
    ("duplicates", "Deduplicated (cosine at most {similarity})", "similarity"),
    ("anomalies", "Non-anomalous ({contamination:.1%} out)", "contamination"),
)
# Of records that a reader refuses; whatever else it refuses is no readable text.
_STEP_OF = {"E654": "size", "E655": "pages"}


_FROM_0: Limit = (lambda value: value >= 0, "a number from 0; 0 leaves the step out")


@dataclass(frozen=True, kw_only=True)
class CleaningOptions(Settings):
    """The thresholds. Where 0 is allowed, it leaves the step out.

    max_bytes (int): Most bytes of a file, or of a text in a table. max_pages (int): Most pages of a PDF.
    language (str): Code of CLD2; empty for any language. min_words (int): Least words of a text.
    similarity (float): Cosine above which two texts are near-duplicates. keep (str): "none" or "first" of a group of them.
    contamination (float): Share of the texts that is taken for anomalous, at most .5.
    pool_below (float): Signs that a smaller share of the texts have count together.
    per_student (str): "latest" submission; "only" students with one, as in the paper; "all" submissions.
    seed (int): Of the search for anomalous texts.
    RAISES (PiiError): E650.
    """

    max_bytes: int = key(10_000_000, limit=_FROM_0)
    max_pages: int = key(5, limit=_FROM_0)
    language: str = key(
        "en", limit=(_is_language, "a code of CLD2, such as en, es, zh, or nothing")
    )
    min_words: int = key(50, limit=_FROM_0)
    similarity: float = key(
        0.9, limit=(lambda value: 0 <= value < 1, "a number from 0, below 1; 0 leaves the step out")
    )
    keep: str = key("none", limit=(KEEP.__contains__, " or ".join(KEEP)))
    contamination: float = key(
        0.03, limit=(lambda v: 0 <= v <= 0.5, "a number from 0 to .5; 0 leaves the step out")
    )
    pool_below: float = key(0.5, limit=(lambda v: 0 <= v <= 1, "a number from 0 to 1"))
    per_student: str = key("latest", limit=(PER_STUDENT.__contains__, ", ".join(PER_STUDENT)))
    seed: int = key(0)


@dataclass(frozen=True, slots=True)
class Step:
    """A line of the table: name and text as in `STEPS`, how many records were removed and remain."""

    name: str
    about: str
    removed: int
    remaining: int


@dataclass(frozen=True, slots=True)
class Removed:
    """A record that went: its number in the input, its id where one is known, the step, and a code if it could not be read."""

    number: int
    id: str
    step: str
    code: str


class WholeCorpus(NamedTuple):
    """What the steps found that look at all texts at once: duplicates, if they were looked for; positions, in the texts that were
    given, of those that go as copies and of anomalous ones; and why anomalies were not looked for, or nothing."""

    duplicates: Duplicates | None = None
    copies: frozenset[int] = frozenset()
    anomalous: frozenset[int] = frozenset()
    note: str = ""


def check_record(
    item: Record | Skip, options: CleaningOptions, chosen: frozenset[int] | None = None
) -> str:
    """RETURNS (str): The step that leaves a record out, of those that need it only (pages are the reader's); empty if it stays.

    chosen (frozenset[int] | None): Numbers of the submissions that `choose_submissions` keeps; None for all.
    """
    if isinstance(item, Skip):
        return _STEP_OF.get(item.code, "text")
    if chosen is not None and item.number not in chosen:
        return "student"
    if 0 < options.max_bytes < len(item.text.encode()):
        return "size"
    if options.language and detect_language(item.text) != options.language:
        return "language"
    return "words" if len(item.text.split()) < options.min_words else ""


def choose_submissions(
    records: Iterable[Record],
    student: Callable[[Record], Any],
    time: Callable[[Record], Any] | None = None,
    *,
    how: str = "latest",
) -> frozenset[int]:
    """RETURNS (frozenset[int]): Numbers of the records that stay: the "latest" of each student, or with "only" those of students with one.

    student, time (Callable[[Record], Any]): Give the student and the time of a record; a record without student stays.
    RAISES (PiiError): E624, if a time can be read neither as a number nor as an ISO date.
    """
    submissions: defaultdict[str | int, list[tuple[float, int]]] = defaultdict(list)
    for record in records:
        value = student(record)
        name = "" if value is None else str(value).strip()
        moment = _moment(time(record), record.number) if time and name else 0.0
        submissions[name or record.number].append((moment, record.number))
    return frozenset(
        max(found)[1] for found in submissions.values() if how == "latest" or len(found) == 1
    )


def _moment(value: Any, number: int) -> float:
    try:
        moment = float(value)
    except (TypeError, ValueError):
        moment = math.nan
        with suppress(ValueError):
            when = datetime.fromisoformat(str(value).strip())
            moment = (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
    if not math.isfinite(moment):
        raise PiiError(
            Errors.E624,
            name="time_column",
            number=number,
            expected="a number or an ISO date (2024-05-31T13:00)",
        )
    return moment


def check_corpus(texts: Iterable[str], options: CleaningOptions) -> WholeCorpus:
    """RETURNS (WholeCorpus): Near-duplicates, then anomalous characters among what is left, or a note if texts are too few (E664).

    texts (Iterable[str]): Each is read once and not kept.
    """
    hasher, rows, counts = TrigramHasher(), list[Any](), list[Any]()
    for text in texts:
        counts.append(character_counts(text))
        if options.similarity:
            rows.append(hasher(text))
    found = duplicates_of(rows, threshold=options.similarity) if options.similarity else None
    copies = frozenset(found.to_remove(options.keep) if found else ())
    if not options.contamination:
        return WholeCorpus(found, copies)
    left = [i for i in range(len(counts)) if i not in copies]
    left_counts = np.reshape([counts[i] for i in left], (len(left), len(COLUMNS) + 1))
    try:
        outlying = find_anomalies(
            left_counts,
            contamination=options.contamination,
            pool_below=options.pool_below,
            seed=options.seed,
        )
    except PiiError as err:
        if err.code != "E664":
            raise
        return WholeCorpus(found, copies, note=str(err))
    return WholeCorpus(
        found, copies, frozenset(i for i, out in zip(left, outlying, strict=True) if out)
    )


def count_steps(total: int, removed: Iterable[Removed], options: CleaningOptions) -> list[Step]:
    """RETURNS (list[Step]): The table, a line for each of `STEPS`. total (int): Input records."""
    gone = Counter(item.step for item in removed)
    table, remaining, values = [], total, asdict(options)
    for name, about, setting in STEPS:
        remaining -= gone[name]
        done = not setting or values[setting]
        table.append(
            Step(
                name,
                about.format(**values) if done else f"({name}: left out)",
                gone[name],
                remaining,
            )
        )
    return table
