"""What stands beside the texts: names of files, IDs, other columns. None of them goes out in clear without the user's word, if it
tells who somebody is.

    columns = Columns(source, free={"course"})
    columns.check(open_source(path))                # E543, if one looks like names, e-mail addresses, ID numbers, or holds prose
    ids = Ids(source, key)                          # a file name or an ID that holds a name becomes a pseudonym
    thread_of = ThreadOf(source, "topic")           # which record belongs to which thread
    item = columns.watch(ids(item))                 # a skip with E544, for what the first records did not show
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Set
from contextlib import closing
from dataclasses import replace
from functools import cache
from ipaddress import ip_address
from itertools import islice
from pathlib import PurePath

from ..errors import Errors, PiiError
from ..files.record import (
    CAMEL,
    WORD,
    Record,
    Skip,
    Source,
    header_holds_name,
    holds_name,
)
from ..files.sources import FolderSource
from ..files.tables import table_of
from ..files.writers import check_column, renamed, value_of
from ..labels import (
    DATE,
    EMAIL,
    ID_NUM,
    IP_ADDRESS,
    PHONE_NUM,
    STREET_ADDRESS,
    USERNAME,
)
from ..names.letters import fold
from ..names.wordlists import in_table
from ..ruler.patterns import RegexRule, compile_patterns, shipped_patterns
from ..ruler.validators import Context, is_date
from ..surrogates.keys import SurrogateKey
from . import KEEP_IDS, PSEUDONYM

THREAD = "thread"  # the scope, and what `span._.pii_source` says
NO_THREAD = "no thread: a scope of its own"

PROSE, NAMES, MAIL, NUMBERS = "prose", "names", "e-mail addresses", "ID numbers"
PHONES, COMPUTERS, PLACES = "telephone numbers", "addresses of computers", "coordinates"
BIRTHS, CODES, STREETS, HANDLES = "birth dates", "postcodes", "addresses", "handles"
FILE_NAME = "(file name)"
SAMPLE = 500
# A cell of so many words is prose: it may tell of anybody.
_PROSE_WORDS = 10
_TWO_LETTERS = re.compile(r"[^\W\d_]{2}")
_KEY = re.compile(r'"([^"\\]{1,40})": ')
_PERSON = "student|pupil|learner|author|writer|teacher|instructor|user"
# How Canvas, Moodle and Blackboard name the files of an export: by the student, in forms that no table of names knows ("sorelina_4711_").
_EXPORTED = re.compile(r"_\d{4,}_\d{4,}_|_\d+_assignsubmission_|_attempt_\d{4}-\d\d-\d\d-")
_LETTER, _DIGIT, _ANY = map(re.compile, (r"[^\W\d_]", r"\d", ""))
# "May 6" is nobody; 1716973200 in a column of times is one.
_CALENDAR = re.compile(
    r"(?i)\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|may|june|july|august|september|october|november|december)\b"
)
_TIME, _SECONDS = (
    re.compile(r"time|date|stamp|access|created|modified|changed|sent|load"),
    re.compile(r"1\d{9}"),
)
_HEAD = re.compile(r"[a-z][\w.-]*")
# What a column is by its header (folded, words joined by "_"), where a cell has the form on the right: "long" may be a mark, "facebook" a scale.
_HEADERS = (
    (
        NAMES,
        rf"(?:sur|fore|nick|user|first|last|full)?names?|(?:{_PERSON})s?|first|last|login|handle",
        _ANY,
    ),
    (MAIL, r"e?_?mails?(?:_address(?:es)?)?", _ANY),
    (
        NUMBERS,
        rf"(?:{_PERSON}|person|participant|candidate|sis|login|net|matriculation|enrolment)s?_?(?:ids?|nos?|nr|num|number|code)"
        r"|sid|uid|ssn|matriculation",
        _ANY,
    ),
    # What a platform calls a response leads back to it; a number that counts them does not.
    (
        NUMBERS,
        r"(?:respon[sd]e(?:nt)?|submission|session|collector)_?(?:id|key|code)",
        re.compile(r"[\w-]{8}"),
    ),
    (COMPUTERS, r"ip(?:v[46])?|ip_?addr(?:ess)?|mac_?addr(?:ess)?", _DIGIT),
    (
        PHONES,
        r"(?:tele)?(?:phone|fon)s?|telefono?|tel|mobile|cell|handy|fax|whats_?app|(?:tele)?(?:phone|fon)_?(?:no|nr|num|number)",
        re.compile(r"(?:\d\W*){6}"),
    ),
    (
        PLACES,
        r"lat|lng|lon|(?:lat|long)itude|lat_?(?:lng|lon|long)|gps|coord(?:inate)?s?|breitengrad|langengrad|latitud|longitud",
        re.compile(r"\d[.,]\d\d"),
    ),
    (
        BIRTHS,
        r"[dy]ob|b_?day|born(?:_on)?|(?:date|year|day)_of_birth|birth_?(?:day|date|year)?|geb|geburts(?:tag|datum|jahr)|(?:fecha_de_)?nacimiento"
        r"|(?:date_de_)?naissance|(?:data_de_)?nascimento|(?:data_di_)?nascita|geboortedatum|f[o]?dsels?dato|fodelsedatum",
        _DIGIT,
    ),
    (
        CODES,
        r"zip(?:_?code)?|post(?:al)?_?codes?|plz|postleitzahl|codigo_postal|code_postal|codice_postale|eircode|pin_?code",
        _DIGIT,
    ),
    (
        STREETS,
        r"street(?:_address)?|(?:home|mail|mailing|postal|permanent)_address|address(?:_line)?|anschrift|adresse|direccion|domicilio|endereco|indirizzo",
        _DIGIT,
    ),
    (
        HANDLES,
        r"handles?|twitter|insta(?:gram)?|tik_?tok|snap(?:chat)?|discord|git(?:hub|lab)|linked_?in|facebook|skype|telegram|wechat|reddit|gamer_?tag",
        re.compile(r"@|[^\W\d_][._#:\d]"),
    ),
)
_BY_HEADER = [(kind, re.compile(rf"(?:.*_)?(?:{form})"), cell) for kind, form, cell in _HEADERS]
_OF_LIST = {EMAIL: MAIL, ID_NUM: NUMBERS}  # all else on a class list is a name
# What most cells of a column look like, whatever its header: a national telephone number; a pair of degrees; a British, Canadian, American or
# Dutch postcode ("2024 FA" is a term); a handle; digits of an ID, an SSN or an IBAN.
_FORMS = {
    PHONES: r"\(?0\d{1,5}\)?(?:[ /-]{1,3}\d{2,8}){1,4}|0\d(?:[ .]\d\d){4}",
    PLACES: r"[+-]?\d{1,2}[.,]\d{3,}°? ?[NS]?[,; /]+[+-]?\d{1,3}[.,]\d{3,}°? ?[EW]?|\d{1,3}° ?\d.*[NSEW]",
    CODES: r"[A-Z]{1,2}\d[A-Z\d]? \d[A-Z]{2}|[A-Z]\d[A-Z] ?\d[A-Z]\d|\d{5}-\d{4}|(?!19|20)\d{4} [A-Z]{2}",
    HANDLES: r"@[A-Za-z\d_.]{2,30}|\w[\w.]{1,31}#\d{4}|live:\S+",
    NUMBERS: r"[A-Za-z]{0,3}-?\d{6,12}|\d{3}-\d\d-\d{4}|[A-Z]{2}\d\d(?: ?[A-Z\d]{4}){3,7}(?: ?[A-Z\d]{1,3})?",
}
_LABELS = {
    NUMBERS: ID_NUM,
    COMPUTERS: IP_ADDRESS,
    PHONES: PHONE_NUM,
    HANDLES: USERNAME,
    BIRTHS: DATE,
    **dict.fromkeys((PLACES, CODES, STREETS), STREET_ADDRESS),
}
_BY_FORM = {kind: re.compile(form) for kind, form in _FORMS.items()}
_MAC = re.compile(r"(?:[\dA-Fa-f]{2}[:-]){5}[\dA-Fa-f]{2}")
_DAY = re.compile(
    r"\d{1,2}[-./ ]\d{1,2}[-./ ]((?:19|20)\d\d)|((?:19|20)\d\d)[-./ ]?\d\d?[-./ ]?\d\d?"
)
# No platform exports anything that was written before; who was born then writes now.
_LAST_BIRTH = 2005


@cache
def _rules() -> tuple[tuple[str, RegexRule], ...]:
    """What says enough of a column by one cell: an e-mail address; a telephone number with its country, or in American form."""
    enough = ("phone-international", "phone-american")
    used = (e for e in shipped_patterns() if e["label"] == EMAIL or e["id"] in enough)
    rules = compile_patterns(used).regexes
    return tuple((MAIL if rule.label == EMAIL else PHONES, rule) for rule in rules)


def told_by_columns(record: Record) -> Record:
    """RETURNS (Record): A table in a folder, which knows of its cells what their columns say: a number alone tells nothing; and that what a
    program calls a column, "messageformat", is nobody."""
    table = table_of(record)
    if table is None:
        return record
    columns: dict[str, dict[int, str]] = {}
    heads = {head for head in table.rows[0] if _HEAD.fullmatch(head) and not _may_be_name(head)}
    # A table may have no header.
    heads = heads if all(map(_LETTER.match, filter(None, table.rows[0]))) else set()
    told = []
    for at, name, cell in table.cells():
        if name in heads:
            told.append((at - len(f"{name}: "), at, ""))
        elif not name and cell in heads:
            told.append((at, at + len(cell), ""))
        if name and kind_of_cell(cell) != PROSE:
            columns.setdefault(name, {})[at] = cell
    for name, cells in columns.items():
        label = _LABELS.get(_kind_of_most(name, {*islice(cells.values(), SAMPLE)}))
        told += [(at, at + len(cell), label) for at, cell in cells.items() if label]
    return replace(record, told=tuple(sorted(told)))  # names and prose are read as text


def _may_be_name(head: str) -> bool:
    return any(map(in_table, WORD.findall(CAMEL.sub(" ", head))))


def kind_of_cell(cell: str) -> str:
    """What one cell says of its column, whatever the others hold; empty for nothing."""
    if len([word for word in cell.split() if _TWO_LETTERS.search(word)]) >= _PROSE_WORDS:
        return PROSE
    for kind, rule in _rules():
        if next(rule.hits(cell, Context()), None):
            return kind
    return NAMES if any(map(header_holds_name, _keys_in(cell))) else ""


def _keys_in(cell: str) -> list[str]:
    return _KEY.findall(cell) if cell.lstrip()[:1] in ("{", "[") else []


def _form_of(cell: str) -> str:
    """What a cell looks like that says too little alone."""
    cell = cell.strip()
    if _MAC.fullmatch(cell) or _is_ip(cell):
        return COMPUTERS
    day = _DAY.fullmatch(cell)
    if is_date(cell):
        return BIRTHS if day and int(day[1] or day[2]) <= _LAST_BIRTH else ""
    if kind := next((kind for kind, form in _BY_FORM.items() if form.fullmatch(cell)), ""):
        return kind
    words = _KEY.sub(" ", cell[:200])
    words = _CALENDAR.sub("", words) if _DIGIT.search(words) else words
    return NAMES if holds_name(words) else ""


def _is_ip(cell: str) -> bool:
    """Whether a cell is an address of the internet; "2.1.3.1" is a section."""
    try:
        address = ip_address(cell)
    except ValueError:
        return False
    return address.version == 6 or max(address.packed) >= 30


def kind_of_column(name: str, cells: Iterable[str]) -> str:
    """What a column looks like, by any of its cells, its header (or a key inside of its cells), or most of its values."""
    cells = {cell for cell in cells if cell.strip()}
    return next(filter(None, map(kind_of_cell, cells)), "") or _kind_of_most(name, cells)


def _kind_of_most(name: str, cells: Set[str]) -> str:
    from ..ruler.roster import kind_of_header  # it brings spaCy

    for key in sorted({name, *(key for cell in cells for key in _keys_in(cell))}):
        header = "_".join(WORD.findall(fold(CAMEL.sub(" ", key))))
        for kind, form, hint in _BY_HEADER:
            if form.fullmatch(header) and (hint is _ANY or any(map(hint.search, cells))):
                return kind
        if listed := kind_of_header(key):
            kind = _OF_LIST.get(listed, NAMES)
            # "id" and "number" are anything's.
            if len(header) > 7 if kind == NUMBERS else any(map(_LETTER.search, cells)):
                return kind
    if header_holds_name(name):
        return NAMES
    if _TIME.search(fold(name)):
        cells = {cell for cell in cells if not _SECONDS.fullmatch(cell.strip())}
    forms = Counter(map(_form_of, cells))
    return next((kind for kind, n in forms.items() if kind and 2 * n > len(cells)), "")


class Columns:
    """The columns that pass through unchanged. free (Collection[str]): Those that the user has spoken about. listed (Set[str]): Folded
    words of names on the class list."""

    def __init__(
        self, source: Source, free: Collection[str], listed: Set[str] = frozenset()
    ) -> None:
        self.source, self.free, self.listed = source, free, listed
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
        # A column without anything so far is new when something comes.
        self.seen, told = {name for name, some in cells.items() if any(some)}, list[str]()
        for name in {*self.source.text_fields}:  # whose name goes out, too
            if header_holds_name(name, self.listed):
                cells.setdefault(name, [])
        for name in sorted(cells, key=[*self.source.fields, *cells].index):
            kind = "" if name in self.free else self._kind(name, cells[name])
            if kind:
                told.append(f"{self._told(name)} ({kind})")
        if told:
            raise PiiError(Errors.E543, columns=", ".join(told))

    def _kind(self, name: str, cells: Collection[str]) -> str:
        is_listed = header_holds_name(name, self.listed)
        return kind_of_column(name, cells) or (NAMES if is_listed else "")

    def _told(self, name: str) -> str:
        fields = [*self.source.fields]
        if header_holds_name(name, self.listed):
            return f"column {fields.index(name) + 1 if name in fields else len(fields) + 1}"
        shown = self.source.shown(name)
        return f"'{name}'" if shown == name else shown

    def watch(self, item: Record | Skip) -> Record | Skip:
        """The item; a skip with E544 where a cell, or a column that was not there before, must not go out in clear."""
        others = item.others if isinstance(item, Record) and self.source.has_columns else ()
        for name, cell in others:
            if name in self.free or not cell.strip():
                continue
            kind = kind_of_cell(cell) if name in self.seen else self._kind(name, [cell])
            if kind:
                return Skip.of(
                    Errors.E544,
                    number=item.number,
                    id=item.id,
                    what=kind,
                    column=self._told(name),
                )
        return item


class Ids:
    """What documents are called on the side of OUTPUT.

    key (bytes): Of the run; the same one gives the same pseudonyms. how (str): `PSEUDONYM` for all; `KEEP_IDS`; empty for those that
    hold a name, and for all files of a folder, if the name of one does, or if it is what a learning platform exports. listed (Set[str]):
    Folded words of names on the class list.
    """

    def __init__(
        self, source: Source, key: bytes, how: str = "", listed: Set[str] = frozenset()
    ) -> None:
        self.listed = listed
        self.source, self.how, self._chance = source, how, SurrogateKey(key, "ids")
        files = source.files if isinstance(source, FolderSource) else ()
        archive = getattr(source, "archive", None)
        self.exported = archive is not None or any(map(_EXPORTED.search, files))
        if not how and (self.exported or any(holds_name(name, listed) for name in files)):
            self.how = PSEUDONYM

    def __call__(self, item: Record | Skip) -> Record | Skip:
        """The item under the name that it has in OUTPUT."""
        field = self.source.id_field or ("" if self.source.has_columns else FILE_NAME)
        if not field or item.id in ("", "-") or self.how == KEEP_IDS:
            return item
        if not (self.how or holds_name(item.id, self.listed)):
            return item
        if isinstance(item, Skip):
            # A file that is not in OUTPUT keeps its name, if it may: the user must find it.
            is_file = isinstance(self.source, FolderSource)
            return replace(item, id=(self.safe if is_file else self._pseudonym)(item.id))
        if field != FILE_NAME and value_of(item, self.source, field) is None:
            return item  # the number of the record stands in its place
        return renamed(item, self.source, field, self._pseudonym(item.id))

    def safe(self, ident: str, *, left_out: bool = False) -> str:
        """What a document may be called beside OUTPUT, even where IDs are kept.

        left_out (bool): Whether it is in no OUTPUT: the report may lie in a folder that is
            released, and nobody looked whether another name stands in the name of a file."""
        unseen = left_out and isinstance(self.source, FolderSource) and self.how != KEEP_IDS
        hides = unseen or self.exported or holds_name(ident, self.listed)
        return self._pseudonym(ident) if hides else ident

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
        """Once all is read. RAISES (PiiError): E570, if no record has a thread."""
        if self.read == self.without > 0:
            raise PiiError(Errors.E570)
