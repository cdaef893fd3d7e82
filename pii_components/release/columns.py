"""What stands beside the texts: names of files, IDs, other columns. None of them goes out in clear without the user's word, if it
tells who somebody is.

    columns = Columns(source, free={"course"})
    columns.check(open_source(path))                # E543, if one looks like names, e-mail addresses, ID numbers, or holds prose
    ids = Ids(source, key)                          # a file name or an ID that holds a name becomes a pseudonym
    thread_of = ThreadOf(source, "topic")           # which record belongs to which thread
    item = columns.watch(ids(item))                 # a skip with E544, for what the first records did not show
"""

import re
from collections.abc import Collection, Iterable
from contextlib import closing
from dataclasses import replace
from functools import cache
from itertools import islice
from pathlib import PurePath
from typing import Any
from unicodedata import normalize

from ..errors import Errors, PiiError
from ..files.record import Record, Skip, Source, safe_name
from ..files.sources import FolderSource, ZipSource
from ..files.writers import check_column, renamed, value_of
from ..labels import EMAIL
from ..names.letters import norm
from ..names.table import name_table
from ..ruler.patterns import RegexRule, compile_patterns, shipped_patterns
from ..ruler.validators import Context, is_date
from ..surrogates.keys import Chance
from .sweep import is_common

THREAD = "thread"  # the scope, and what `span._.pii_source` says
NO_THREAD = "no thread: a scope of its own"

PSEUDONYM, KEEP_IDS = "pseudonym", "keep"
PROSE, NAMES, MAIL, NUMBERS = "prose", "names", "e-mail addresses", "ID numbers"
FILE_NAME = "(file name)"
SAMPLE = 500
# A cell of so many words is prose: it may tell of anybody.
_PROSE_WORDS = 10
# How rare a name may be (see `TableRow`) to be one though it is a word, too (Jose, Smith); to be one alone, without another beside
# it; and to be one beside another where both have capitals and may be words.
_ALWAYS, _ALONE, _PAIRED = 1, 8, 8
_WORD, _TWO_LETTERS = re.compile(r"[^\W\d_]+"), re.compile(r"[^\W\d_]{2}")
_CAMEL = re.compile(r"(?<=[^\W\d_A-Z])(?=[A-Z])")
_NOT_LATIN = re.compile(r"[^\W\d_\u0000-\u024f\u1e00-\u1eff]")
_KEY = re.compile(r'"([^"\\]{1,40})": ')
_NUMBER = re.compile(r"[A-Za-z]{0,3}-?\d{6,12}")
_PERSON = "student|pupil|learner|author|writer|teacher|instructor|user"
# How Canvas, Moodle and Blackboard name the files of an export: by the student, in forms that no table of names knows ("sorelina_4711_").
_EXPORTED = re.compile(r"_\d{4,}_\d{4,}_|_\d+_assignsubmission_|_attempt_\d{4}-\d\d-\d\d-")
_HEADERS = {
    NAMES: re.compile(
        rf"(?:.*_)?(?:(?:sur|fore|nick|user|first|last|full)?names?|(?:{_PERSON})s?|first|last|login|handle)"
    ),
    MAIL: re.compile(r"(?:.*_)?e?_?mails?(?:_address(?:es)?)?"),
    NUMBERS: re.compile(
        rf"(?:.*_)?(?:{_PERSON}|person|participant|candidate|sis|login|net|matriculation|enrolment)s?_?(?:ids?|nos?|nr|num|number|code)"
        r"|sid|uid|ssn|matriculation"
    ),
}


def holds_name(text: str) -> bool:
    """Whether a file name or an ID holds the name of a person, as far as the name table knows: "Ilse_Okoro_essay2", "okoro3"."""
    words = _CAMEL.sub(" ", " ".join(_WORD.findall(normalize("NFC", text)))).split()
    table = name_table()
    before, was_name = (10, 10), False
    for i, word in enumerate(words):
        given, surname = now = table.rarity(word)
        is_name = len(word) > 2 and (
            min(now) <= _ALWAYS or (min(now) < 10 and not is_common(norm(word)))
        )
        if (is_name and (was_name or min(now) <= _ALONE)) or (
            len(word) > 1 and _NOT_LATIN.search(word)
        ):
            return True
        capitals = (
            i > 0
            and min(len(word), len(words[i - 1])) > 1
            and word[0].isupper()
            and words[i - 1][0].isupper()
        )
        if capitals and min(max(before[0], surname), max(given, before[1])) <= _PAIRED:
            return True
        before, was_name = now, is_name
    return False


@cache
def _mail_rules() -> tuple[RegexRule, ...]:
    return compile_patterns(
        entry for entry in shipped_patterns() if entry["label"] == EMAIL
    ).regexes


def kind_of_cell(cell: str) -> str:
    """What one cell says of its column, whatever the others hold: `PROSE`, `MAIL` or nothing."""
    if len([word for word in cell.split() if _TWO_LETTERS.search(word)]) >= _PROSE_WORDS:
        return PROSE
    return MAIL if any(next(rule.hits(cell, Context()), None) for rule in _mail_rules()) else ""


def kind_of_column(name: str, cells: Iterable[str]) -> str:
    """What a column looks like, by any of its cells, its header (or a key inside of its cells), or most of its values."""
    cells = {cell for cell in cells if cell.strip()}
    if kind := next(filter(None, map(kind_of_cell, cells)), ""):
        return kind
    keys = {name, *(key for cell in cells if cell[0] in "{[" for key in _KEY.findall(cell))}
    headers = ["_".join(_WORD.findall(_CAMEL.sub(" ", key))).lower() for key in sorted(keys)]
    for kind, form in _HEADERS.items():
        if any(map(form.fullmatch, headers)):
            return kind
    numbers = [c for c in cells if _NUMBER.fullmatch(c.strip()) and not is_date(c)]
    if 2 * len(numbers) > len(cells):
        return NUMBERS
    return NAMES if 2 * sum(holds_name(cell[:200]) for cell in cells) > len(cells) else ""


class Columns:
    """The columns that pass through unchanged. free (Collection[str]): Those that the user has spoken about."""

    def __init__(self, source: Source, free: Collection[str]) -> None:
        self.source, self.free = source, free
        self.seen: set[str] = set()

    def check(self, first: Source) -> None:
        """Look at the first records of the same input. RAISES (PiiError): E543, if a column would tell who somebody is."""
        if not self.source.has_columns:
            first.close()
            return
        cells: dict[str, list[str]] = {name: [] for name in self.source.others}
        with closing(first):
            for item in islice(first, SAMPLE):
                for name, cell in item.others if isinstance(item, Record) else ():
                    cells.setdefault(name, []).append(cell)
        self.seen, told = set(cells), list[str]()
        for i, (name, some) in enumerate(cells.items(), 1):
            kind = "" if name in self.free else kind_of_column(name, some)
            if kind:
                told.append(f"'{safe_name(name, i)}' ({kind})")
        if told:
            raise PiiError(Errors.E543, columns=", ".join(told))

    def watch(self, item: Record | Skip) -> Record | Skip:
        """The item; a skip with E544 where a cell, or a column that was not there before, must not go out in clear."""
        others = item.others if isinstance(item, Record) and self.source.has_columns else ()
        for i, (name, cell) in enumerate(others, 1):
            if name in self.free:
                continue
            kind = kind_of_cell(cell) if name in self.seen else kind_of_column(name, [cell])
            if kind:
                about: dict[str, Any] = {"what": kind, "column": safe_name(name, i)}
                return Skip.of(Errors.E544, number=item.number, id=item.id, **about)
        return item


class Ids:
    """What documents are called on the side of OUTPUT.

    key (bytes): Of the run; the same one gives the same pseudonyms. how (str): `PSEUDONYM` for all; `KEEP_IDS`; empty for those that
    hold a name, and for all files of a folder, if the name of one does, or if it is what a learning platform exports.
    """

    def __init__(self, source: Source, key: bytes, how: str = "") -> None:
        self.source, self.how, self._chance = source, how, Chance(key, "ids")
        files = source.files if isinstance(source, FolderSource) else ()
        self.exported = isinstance(source, ZipSource) or any(map(_EXPORTED.search, files))
        if not how and (self.exported or any(map(holds_name, files))):
            self.how = PSEUDONYM

    def __call__(self, item: Record | Skip) -> Record | Skip:
        """The item under the name that it has in OUTPUT."""
        field = self.source.id_field or ("" if self.source.has_columns else FILE_NAME)
        if not field or item.id in ("", "-") or self.how == KEEP_IDS:
            return item
        if not (self.how or holds_name(item.id)):
            return item
        if isinstance(item, Skip):
            # A file that is not in OUTPUT keeps its name, if it may: the user must find it.
            is_file = isinstance(self.source, FolderSource)
            return replace(item, id=(self.safe if is_file else self._pseudonym)(item.id))
        if field != FILE_NAME and value_of(item, self.source, field) is None:
            return item  # the number of the record stands in its place
        return renamed(item, self.source, field, self._pseudonym(item.id))

    def safe(self, ident: str) -> str:
        """What a document may be called beside OUTPUT, even where IDs are kept."""
        return self._pseudonym(ident) if self.exported or holds_name(ident) else ident

    def _pseudonym(self, ident: str) -> str:
        # Of digits: no pseudonym looks like a name.
        if not isinstance(self.source, FolderSource):
            return self.token(ident)
        path = PurePath(ident)
        return str(PurePath(*map(self.token, path.parts))) + path.suffix.lower()

    def token(self, part: str) -> str:
        """The pseudonym of an ID, or of a part of a path."""
        return f"d{int.from_bytes(self._chance.digest('id', part)[:8]) % 10**16:016d}"


class ThreadOf:
    """Says of each record to which thread it belongs. column (str): Where a table tells; of a folder or an archive it is the first folder on the
    path. A record without a value, and a file that lies in no folder, is a scope of its own: `without` of `read` records.

    RAISES (PiiError): E570, if nothing tells; E651, E652 for the column.
    """

    def __init__(self, source: Source, column: str) -> None:
        self.source, self.column, self.read, self.without = source, column, 0, 0
        dropped = source.kind == "parquet" and column in source.drop  # it would not be read
        tells = column if source.has_columns else isinstance(source, FolderSource)
        if dropped or not tells:
            raise PiiError(Errors.E570)
        if column and source.kind not in ("json", "jsonl"):  # there, a field may come later
            check_column(source, column, "--thread")

    def __call__(self, item: Record | Skip) -> Record | Skip:
        if isinstance(item, Skip):
            return item
        folder, slash, _ = item.id.partition("/")
        value = value_of(item, self.source, self.column) if self.column else slash and folder
        thread = "" if value is None else str(value).strip()
        self.read, self.without = self.read + 1, self.without + (not thread)
        return replace(item, thread=thread)

    def check(self) -> None:
        """Once all is read. RAISES (PiiError): E571, if no record has a thread."""
        if self.read == self.without > 0:
            raise PiiError(Errors.E571, n=self.read)
