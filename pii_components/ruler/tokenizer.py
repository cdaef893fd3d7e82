"""A tokenizer for what student files look like: sentences that run together, names glued to titles, file names and numbers.

    [nlp.tokenizer]
    @tokenizers = "pii_edu.StudentTokenizer.v1"

    "menu.Keep it"               menu . Keep it
    "Ana_Lopez_1234567"          Ana _ Lopez _ 1234567
    "AnaLopez3rdYear"            Ana Lopez 3rdYear
    "Email:ana.lopez@x.org."     Email : ana.lopez@x.org .

It is spaCy's own Tokenizer with other rules, so it is saved and loaded with the pipeline, and `doc.text == text` always holds.
The rule behind the rules: a span can cover several tokens but never half of one, so where a name may end, a token ends. E-mail
addresses, web addresses and @handles stay whole, also in the middle of a string: the infix expression takes them first.

It also sets how SHAPE is computed for its vocabulary: of what shows, so that a zero-width space in a name does not make it a word without
a known shape; and the class of the pipeline, so that what is no text is refused with a code.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from threading import Condition, get_ident
from typing import Any

from spacy.attrs import ORTH, SHAPE
from spacy.lang.char_classes import ALPHA, ALPHA_LOWER, ALPHA_UPPER
from spacy.lang.en import English
from spacy.lang.lex_attrs import word_shape
from spacy.language import Language
from spacy.tokenizer import Tokenizer
from spacy.tokens import Doc
from spacy.util import compile_infix_regex, compile_prefix_regex, compile_suffix_regex, registry

from ..errors import Errors, PiiError, checked_text
from ..names import resource, word_list
from ..names.normalize import INVISIBLE, is_invisible
from .validators import SURE_TLD

_CODE = re.compile(r"\\u([0-9A-Fa-f]{4})|\\U([0-9A-Fa-f]{8})")
_RANGE = re.compile(r"(.)-(.)|(.)", re.DOTALL)


def _merged(letters: str) -> str:
    """RETURNS (str): What stands in a class of letters, neighbours as one range: the same class, which compiles in a tenth of the time."""
    plain = _CODE.sub(lambda code: chr(int(code[1] or code[2], 16)), letters)
    ranges: list[list[str]] = []
    for first, last in sorted((m[1] or m[3], m[2] or m[3]) for m in _RANGE.finditer(plain)):
        if ranges and ord(first) <= ord(ranges[-1][1]) + 1:
            ranges[-1][1] = max(last, ranges[-1][1])
        else:
            ranges.append([first, last])
    return "".join(first if first == last else f"{first}-{last}" for first, last in ranges)


# What shows nothing belongs to the word that it is in (the encoder sees the word without it); after a small letter and before a capital, and
# beside signs, it parts two words.
LOWER = _merged(ALPHA_LOWER + r"\uff41-\uff5a\ufb00-\ufb06\u0300-\u036f")
UPPER = _merged(ALPHA_UPPER + r"\uff21-\uff3a")
LETTER = _merged(LOWER + UPPER)
AT = "@\uff20"
DOT = ".\uff0e"
# Scripts that have no case, and letters of mathematics: spaCy leaves a full stop on their words.
CASELESS = (
    "\u0590-\u05ff\u0600-\u06ff\u0750-\u077f\u0900-\u0dff\u0e00-\u0eff\u0f00-\u109f\u10d0-\u10ff\u1100-\u11ff\u1200-\u137f"
    "\u1780-\u17df\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\U0001d400-\U0001d7ff"
)

_SECOND = r"(?:co|ac|edu|com|gov|org|net|nic|res)\.(?:[a-z]{2})"
_ANY_CASE = f"(?:{SURE_TLD}|{SURE_TLD.upper()}|Com|Org|Net|Edu|Gov)"
_WORD = rf"[\w{INVISIBLE}]"
_LABEL = rf"[\w{INVISIBLE}](?:[\w{INVISIBLE}-]{{0,62}})"
_END = rf"(?![\w{INVISIBLE}-])"
_PATH_CHAR = r"[^\s<>\"\u201c\u201d\u00ab\u00bb]"
_PATH_LAST = r"[^\s<>\"\u201c\u201d\u00ab\u00bb.,;:!?()\[\]{}'\u2018\u2019\u2026]"
_PATH = rf"(?:[/?#](?:{_PATH_CHAR}*{_PATH_LAST})?)"

EMAIL_SHAPE = (
    rf"[\w.+{INVISIBLE}\uff0e-]{{1,64}}[{AT}](?:{_LABEL}[{DOT}]){{1,8}}"
    rf"(?:[a-z\uff41-\uff5a\u0430-\u044f{INVISIBLE}]{{2,24}}|[A-Z\uff21-\uff3a]{{2,24}}|Com|Org|Net|Edu){_END}"
)
URL_SHAPE = (
    rf"(?:(?:[Hh][Tt][Tt][Pp][Ss]?|ftp)[:\uff1a][/\uff0f]{{1,2}}{_PATH_CHAR}*{_PATH_LAST}/?"
    rf"|[Ww][Ww][Ww]\.(?:{_LABEL}\.){{1,8}}[A-Za-z]{{2,24}}{_END}(?::\d{{2,5}})?{_PATH}?"
    rf"|(?:{_LABEL}\.){{1,8}}(?:{_ANY_CASE}|{_SECOND}){_END}(?::\d{{2,5}})?{_PATH}?"
    rf"|(?:{_LABEL}\.){{1,8}}[a-z]{{2,10}}/(?:{_PATH_CHAR}*{_PATH_LAST})/?)"
)
HANDLE_SHAPE = rf"[{AT}]{_WORD}(?:[\w.{INVISIBLE}-]{{0,62}}{_WORD})?"

_SETS = {
    "INVISIBLE": INVISIBLE,
    "LOWER": LOWER,
    "UPPER": UPPER,
    "LETTER": LETTER,
    "SCRIPT": _merged(ALPHA + LETTER),
    "AT": AT,
    "CASELESS": CASELESS,
    "ICON": r"[\u2600-\u27bf\u2b50\U0001f1e6-\U0001faff]",  # spaCy knows those of older Unicode
    "EMAIL_SHAPE": EMAIL_SHAPE,
    "URL_SHAPE": URL_SHAPE,
    "HANDLE_SHAPE": HANDLE_SHAPE,
    # spaCy counts letters of scripts without case as both; here it must be known where a capital stands.
    "AFTER_SMALL": rf"(?<=[{LOWER}])(?<![{_merged(ALPHA_UPPER)}])",
    "BEFORE_CAPITAL": rf"(?=[{UPPER}])(?![{_merged(ALPHA_LOWER)}])",
}


def _affixes(kind: str) -> list[str]:
    """Expressions of resources/ruler/tokenizer.toml: prefixes, suffixes or infixes."""
    return [
        re.sub(r"<([A-Z_]+)>", lambda name: _SETS[name[1]], affix)
        for affix in resource("ruler/tokenizer")[kind]
    ]


CAMEL_WORDS = word_list("ruler/tokenizer", "camel_words")
# English exceptions that take "id" for "I'd" and "Wed" for "we'd".
NOT_EXCEPTIONS = ("id", "Id", "ID", "wed", "Wed")


def _is_shifted(text: str) -> bool:
    """Whether a word is typed with the shift key the wrong way round, or in turn; "mRNA", "NaCl" and "iPhone" are not."""
    if (
        len(text) < 5
        or text.islower()
        or text.isupper()
        or text.istitle()
        or not text.isalpha()
        or text in CAMEL_WORDS
    ):
        return False
    switches = sum(a.isupper() != b.isupper() for a, b in pairwise(text))
    return (text[0].islower() and text[1:].isupper()) or switches >= len(text) - 2


def visible_shape(text: str) -> str:
    """RETURNS (str): spaCy's word shape, computed without marks and without what shows nothing; "lOPEZ" and "LoPeZ" have that of "Lopez"."""
    if _is_shifted(text):
        return word_shape(text.capitalize())
    if text.isascii() or not any(
        unicodedata.category(char)[0] == "M" or is_invisible(char) for char in text
    ):
        return word_shape(text)
    composed = unicodedata.normalize(
        "NFC", "".join(char for char in text if not is_invisible(char))
    )
    return word_shape(
        "".join(char for char in composed if unicodedata.category(char)[0] != "M")
    ) or word_shape(text)


# Anchored at the end, without flags: spaCy stores the pattern alone.
_ADDRESS = re.compile(rf"(?:{EMAIL_SHAPE}|{URL_SHAPE}|{HANDLE_SHAPE})\Z")


# Seconds for which a thread waits for another one's memory zone.
ZONE_WAIT = 60.0


class ZoneLock:
    """A memory zone frees every word that its vocabulary learns meanwhile, also those of other threads' documents. So one
    thread at a time has a zone open, and others make no documents until it is closed."""

    def __init__(self) -> None:
        self._closed = Condition()
        self._owner: int | None = None

    def __reduce__(self) -> tuple[type, tuple]:
        return ZoneLock, ()

    @contextmanager
    def held(self, *, zone: bool) -> Iterator[None]:
        """While a zone is open, or a document is made. RAISES (PiiError): E012 if another thread has a zone open for too long, or this one for
        another zone."""
        with self._closed:
            mine = self._closed.wait_for(lambda: self._owner in (None, get_ident()), ZONE_WAIT)
            if not mine or (zone and self._owner is not None):
                raise PiiError(Errors.E012, seconds=ZONE_WAIT)
            if not zone:
                yield
                return
            self._owner = get_ident()
        try:
            yield
        finally:
            with self._closed:
                self._owner = None
                self._closed.notify_all()


class StudentEnglish(English):
    """English whose `nlp(text)` and `nlp.pipe(texts)` refuse with a code what they cannot read; see `checked_text`, and E011 for a text
    over `nlp.max_length`. It takes a Doc and `Doc.to_bytes()`, as spaCy does. Threads may share it, also with memory zones: see `ZoneLock`."""

    zones: ZoneLock

    @contextmanager
    def memory_zone(self, mem: Any = None) -> Iterator[Any]:
        with self.zones.held(zone=True), super().memory_zone(mem) as pool:
            yield pool

    def make_doc(self, text: str) -> Doc:
        if len(checked_text(text)) > self.max_length:
            raise PiiError(Errors.E011, length=len(text), limit=self.max_length)
        with self.zones.held(zone=False):
            return super().make_doc(text)

    def _ensure_doc(self, doc_like: Any) -> Doc:
        if isinstance(doc_like, str | Doc):
            return super()._ensure_doc(doc_like)
        with self.zones.held(zone=False):
            try:
                return super()._ensure_doc(doc_like)
            except Exception as err:
                raise PiiError(Errors.E808, type=type(doc_like).__name__) from err


def make_student_tokenizer(nlp: Language) -> Tokenizer:
    """RETURNS (Tokenizer): A plain spaCy Tokenizer. nlp (Language): Gives vocabulary, exceptions and the rules that ours stand before."""
    if (
        type(nlp) is English
    ):  # no config can name a class: spaCy's before_creation must return the one that it got
        nlp.__class__ = StudentEnglish
        nlp.zones = ZoneLock()  # type: ignore[attr-defined]
    defaults = nlp.Defaults
    rules = {
        orth: spec
        for orth, spec in (defaults.tokenizer_exceptions or {}).items()
        if orth not in NOT_EXCEPTIONS
    }
    rules |= {word: [{ORTH: word}] for word in CAMEL_WORDS}
    nlp.vocab.lex_attr_getters[SHAPE] = visible_shape  # type: ignore[attr-defined]
    return Tokenizer(
        nlp.vocab,
        rules=rules,
        prefix_search=compile_prefix_regex(
            [*_affixes("prefixes"), *(defaults.prefixes or [])]
        ).search,
        suffix_search=compile_suffix_regex(
            [*_affixes("suffixes"), *(defaults.suffixes or [])]
        ).search,
        infix_finditer=compile_infix_regex(
            [*_affixes("infixes"), *(defaults.infixes or [])]
        ).finditer,
        token_match=_ADDRESS.match,
        url_match=_ADDRESS.match,
    )


@registry.tokenizers("pii_edu.StudentTokenizer.v1")
def create_student_tokenizer() -> Callable[[Language], Tokenizer]:
    """RETURNS (Callable[[Language], Tokenizer]): For configs: `@tokenizers = "pii_edu.StudentTokenizer.v1"`."""
    return make_student_tokenizer
