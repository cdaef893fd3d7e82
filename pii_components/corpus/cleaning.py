"""From submissions to a corpus: the steps of the CRAPII paper (section 2.1, Table 1), each with its count.

    options = CleaningOptions(min_words=50)
    cleaned = clean(open_submissions(Path("downloads"), max_pages=5), options)
    cleaned.records                             # what is left, in the order of the input
    cleaned.steps()                             # [Step("records", ..., removed=0, remaining=1200), ...]

Every record that goes has a step, a code and its number; its text is in no report. A threshold of 0 leaves its step out. The paper
leaves out students with several graded submissions (`per_student="only"`); here the latest submission stays. What a step keeps does
not depend on the order of the records, but for submissions without a time: there the last one is the latest.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np

from ..errors import Errors, PiiError
from .anomalies import character_counts, find_anomalies
from .duplicates import KEEP, Duplicates, TrigramHasher, duplicates_of
from .language import detect_language, language_codes
from .records import Record, Skip

PER_STUDENT = ("latest", "only", "all")
# Name of a step, and the line of the table.
STEPS = (
    ("records", "Input records"),
    ("student", "One submission per student"),
    ("size", "At most {max_bytes:,} bytes"),
    ("pages", "At most {max_pages} pages"),
    ("text", "Readable as text"),
    ("language", "In language '{language}'"),
    ("words", "{min_words} words or more"),
    ("duplicates", "Deduplicated (cosine at most {similarity})"),
    ("anomalies", "Non-anomalous ({contamination:.1%} out)"),
)
_SETTING = {
    "size": "max_bytes", "pages": "max_pages", "language": "language", "words": "min_words", "duplicates": "similarity",
    "anomalies": "contamination",
}  # fmt: skip
_STEP_OF_CODE = {
    "E654": "size", "E655": "pages", "E659": "language", "E660": "words", "E661": "duplicates", "E662": "anomalies", "E663": "student",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class CleaningOptions:
    """The thresholds. Where 0 is allowed, it leaves the step out.

    max_bytes (int): Of a file, or of a text in a table. max_pages (int): Of a PDF.
    language (str): Code of CLD2; empty for any language. min_words (int): Between white space.
    similarity (float): Cosine above which two texts are near-duplicates. keep (str): "none" or "first" of a group of them.
    contamination (float): Share of the texts that is taken for anomalous, at most .5.
    pool_below (float): See `anomalies.columns_of`; 0 for the columns of the paper.
    per_student (str): "latest" submission; "only" students with one, as in the paper; "all" submissions.
    RAISES (PiiError): E650.
    """

    max_bytes: int = 10_000_000
    max_pages: int = 5
    language: str = "en"
    min_words: int = 50
    similarity: float = 0.9
    keep: str = "none"
    contamination: float = 0.03
    pool_below: float = 0.5
    per_student: str = "latest"
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("max_bytes", "max_pages", "min_words"):
            self._check(name, getattr(self, name) >= 0, "a number from 0; 0 leaves the step out")
        self._check("similarity", 0 <= self.similarity < 1, "a number from 0, below 1; 0 leaves the step out")
        self._check("contamination", 0 <= self.contamination <= 0.5, "a number from 0 to .5; 0 leaves the step out")
        self._check("pool_below", 0 <= self.pool_below <= 1, "a number from 0 to 1")
        self._check("keep", self.keep in KEEP, " or ".join(KEEP))
        self._check("per_student", self.per_student in PER_STUDENT, ", ".join(PER_STUDENT))
        if self.language:
            self._check("language", self.language in language_codes(), "a code of CLD2, such as en, es, zh, or nothing")

    def _check(self, name: str, valid: bool, allowed: str) -> None:
        if not valid:
            raise PiiError(Errors.E650, name=name, value=getattr(self, name), allowed=allowed)


@dataclass(frozen=True, slots=True)
class Step:
    """A line of the table. name, about (str): From `STEPS`. removed, remaining (int): Records."""

    name: str
    about: str
    removed: int
    remaining: int


@dataclass(frozen=True, slots=True)
class Removed:
    """A record that went. number (int): In the input. id (str): Where one is known. step, code (str): Why."""

    number: int
    id: str
    step: str
    code: str


@dataclass(frozen=True, slots=True)
class WholeCorpus:
    """What the steps found that look at all texts at once. Positions are those in the texts that were given.

    duplicates (Duplicates | None): None, if the step was left out. copies (frozenset[int]): Near-duplicates that go.
    anomalous (frozenset[int]): Anomalous texts. note (str): Why anomalies were not looked for, or nothing.
    """

    duplicates: Duplicates | None = None
    copies: frozenset[int] = frozenset()
    anomalous: frozenset[int] = frozenset()
    note: str = ""


@dataclass(frozen=True, slots=True)
class Cleaned:
    """The outcome. records (tuple[Record, ...]): What is left. removed (tuple[Removed, ...]): What is not. whole (WholeCorpus)."""

    records: tuple[Record, ...]
    removed: tuple[Removed, ...]
    whole: WholeCorpus
    options: CleaningOptions

    def steps(self) -> list[Step]:
        """RETURNS (list[Step]): The table."""
        return count_steps(len(self.records) + len(self.removed), self.removed, self.options)


def step_of(code: str) -> str:
    """RETURNS (str): The step that leaves out records with this code; "text" for whatever could not be read."""
    return _STEP_OF_CODE.get(code, "text")


def check_record(item: Record | Skip, options: CleaningOptions, chosen: frozenset[int] | None = None) -> Skip | None:
    """The steps that need one record only: student, size, language, words. Readers have seen to pages.

    item (Record | Skip): As read. options (CleaningOptions). chosen (frozenset[int] | None): Numbers of the submissions that
    `choose_submissions` keeps; None for all.
    RETURNS (Skip | None): Why it goes.
    """
    number = item.number
    if chosen is not None and isinstance(item, Record) and number not in chosen:
        return Skip.of(Errors.E663, number=number)
    if isinstance(item, Skip):
        return item
    size = len(item.text.encode())
    if 0 < options.max_bytes < size:
        return Skip.of(Errors.E654, number=number, size=size, limit=options.max_bytes)
    if options.language:
        found = detect_language(item.text)
        if found != options.language:
            return Skip.of(Errors.E659, number=number, wanted=options.language, found=found)
    words = len(item.text.split())
    if words < options.min_words:
        return Skip.of(Errors.E660, number=number, words=words, least=options.min_words)
    return None


def choose_submissions(
    records: Iterable[Record],
    student: Callable[[Record], Any],
    time: Callable[[Record], Any] | None = None,
    *,
    how: str = "latest",
) -> frozenset[int]:
    """One submission per student.

    records (Iterable[Record]): All of them. student, time (Callable[[Record], Any]): Give the student and the time of a record; a
    record without student stays. how (str): "latest", or "only": students with one submission.
    RETURNS (frozenset[int]): Numbers of the records that stay.
    RAISES (PiiError): E653, if a time can be read neither as a number nor as an ISO date.
    """
    best: dict[str, tuple[float, int]] = {}
    count: Counter[str] = Counter()
    free: set[int] = set()
    for record in records:
        value = student(record)
        name = "" if value is None else str(value).strip()
        if not name:
            free.add(record.number)
            continue
        count[name] += 1
        moment = (_moment(time(record), record.number) if time else 0.0, record.number)
        best[name] = max(best.get(name, moment), moment)
    return frozenset(free | {number for name, (_, number) in best.items() if how == "latest" or count[name] == 1})


def _moment(value: Any, number: int) -> float:
    try:
        moment = float(value)
    except (TypeError, ValueError):
        try:
            when = datetime.fromisoformat(str(value).strip())
        except ValueError as err:
            raise PiiError(Errors.E653, number=number) from err
        moment = (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
    if not math.isfinite(moment):
        raise PiiError(Errors.E653, number=number)
    return moment


def check_corpus(texts: Iterable[str], options: CleaningOptions) -> WholeCorpus:
    """The steps that need the whole corpus: near-duplicates, then anomalous characters among what is left.

    texts (Iterable[str]): Each is read once and not kept. options (CleaningOptions).
    RETURNS (WholeCorpus): With a note if there are too few texts to look for anomalies (E664).
    """
    hasher = TrigramHasher()
    counts: list[Any] = []

    def rows() -> Iterator[Any]:
        for text in texts:
            counts.append(character_counts(text))
            yield hasher(text) if options.similarity else np.empty(0, dtype=np.uint64)

    found, copies = None, frozenset[int]()
    if options.similarity:
        found = duplicates_of(rows(), threshold=options.similarity)
        copies = frozenset(found.to_remove(options.keep))
    else:
        for _ in rows():
            pass
    left = [i for i in range(len(counts)) if i not in copies]
    if not options.contamination:
        return WholeCorpus(found, copies)
    try:
        outlying = find_anomalies(
            np.stack([counts[i] for i in left]) if left else np.empty((0, 1)),
            contamination=options.contamination,
            pool_below=options.pool_below,
            seed=options.seed,
        )
    except PiiError as err:
        if err.code != "E664":
            raise
        return WholeCorpus(found, copies, note=str(err))
    return WholeCorpus(found, copies, frozenset(i for i, out in zip(left, outlying, strict=True) if out))


def count_steps(total: int, removed: Iterable[Removed], options: CleaningOptions) -> list[Step]:
    """RETURNS (list[Step]): The table, a line for each of `STEPS`. total (int): Input records."""
    gone = Counter(item.step for item in removed)
    table, remaining = [], total
    values = {name: getattr(options, name) for name in options.__slots__}
    for name, about in STEPS:
        remaining -= gone[name]
        done = name not in _SETTING or values[_SETTING[name]]
        table.append(Step(name, about.format(**values) if done else f"({name}: left out)", gone[name], remaining))
    return table


def clean(items: Iterable[Record | Skip], options: CleaningOptions, *, chosen: frozenset[int] | None = None) -> Cleaned:
    """All steps, in memory. `pii-edu corpus clean` does the same with texts on disk.

    items (Iterable[Record | Skip]): From a reader. options (CleaningOptions). chosen (frozenset[int] | None): See `check_record`.
    RETURNS (Cleaned): What is left, and what went.
    """
    kept: list[Record] = []
    removed: list[Removed] = []
    for item in items:
        skip = check_record(item, options, chosen)
        if isinstance(item, Record) and skip is None:
            kept.append(item)
        elif skip is not None:
            removed.append(Removed(item.number, getattr(item, "id", ""), step_of(skip.code), skip.code))
    whole = check_corpus((record.text for record in kept), options)
    removed += (Removed(kept[i].number, kept[i].id, "duplicates", "E661") for i in sorted(whole.copies))
    removed += (Removed(kept[i].number, kept[i].id, "anomalies", "E662") for i in sorted(whole.anomalous))
    gone = whole.copies | whole.anomalous
    records = tuple(record for i, record in enumerate(kept) if i not in gone)
    return Cleaned(records, tuple(sorted(removed, key=lambda item: item.number)), whole, options)
