"""Reading one name: which of its words must change, and what each of them is.

    >>> from pii_components.names.parse import read_mention
    >>> [(w.norm, w.kind) for w in read_mention("Dr. Juan de la Cruz's").words]
    [('juan', 'given'), ('cruz', 'family')]

What is given, family, title or suffix comes from nameparser, except where it would keep a part of a name: "Dean" and "King" are
names until shown otherwise. It is not asked about plain words and initials none of which is in its vocabulary: those are given
names and, the last one or the one before a comma, a surname, and most names are such.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from operator import itemgetter
from typing import Any, NamedTuple

from .letters import is_letter, norm
from .memo import per_batch
from .obfuscated import rejoin
from .table import name_table

# Patronymics: the name after a father's, between given name and surname ("Ivan Petrovich Sidorov").
_ENDING = re.compile(r"[^\W\d_]{3,}(?:ov|ev)(?:ich|na)|(?:nikit|il|fom|luk|kuzm)(?:ich|yich|ichna|inichna|yinichna)")
_VOWELS = "aeiouy"


def patronymic_gender(word: str) -> str:
    """RETURNS (str): "M" or "F" for a patronymic, the empty string for any other word. word (str): Folded."""
    if not word.endswith(("ich", "na")) or _ENDING.fullmatch(word) is None:
        return ""
    return "M" if word.endswith("ich") else "F"


def patronymic(father: str, gender: str) -> str | None:
    """RETURNS (str | None): The patronymic after a father, for a child of gender "M" or "F"; None for names that make irregular ones."""
    ending = {"M": "ich", "F": "na"}[gender]
    low = father.lower()
    if not low.isascii() or len(low) < 3:
        return None
    if low.endswith(("ei", "ey", "ai", "ay")):
        return father[:-1] + "ev" + ending
    if low.endswith(("iy", "ii")):
        return father[:-2] + "iev" + ending
    return father + "ov" + ending if low[-1] not in _VOWELS else None


GIVEN, FAMILY, LONE = "given", "family", "lone"
_GENDER_OF_TITLES = {
    "M": "mr sir herr md mister",
    "F": "mrs ms miss madam mme mlle frau sra",
    "": "mx dr prof professor doctor",
}
TITLES = {title: gender for gender, text in _GENDER_OF_TITLES.items() for title in text.split()}
SUFFIXES = {"jr", "sr", "ii", "iii", "iv", "phd", "md", "msc", "bsc", "mba", "esq", "edd", "rn", "cpa"}
PARTICLES = frozenset([
    "de", "la", "del", "los", "las", "da", "do", "dos", "das", "di", "du", "van", "von", "der",
    "den", "ter", "ten", "zu", "al", "el", "bin", "binti", "bint", "ibn", "y", "e",
])  # fmt: skip
# With a capital, "De La" is a particle, and the "Al" of Al de la Cruz a given name.
_LEADING_PARTICLES, _SECOND_PARTICLES = frozenset({"de", "van", "von"}), frozenset({"la", "las", "los", "der", "den"})
# In small letters, before a surname at the end: nothing that nameparser need be asked about.
_JOINING = frozenset({"bin", "da", "de", "la", "del", "der", "di", "dos", "du", "van", "von"})
_POSSESSIVE = re.compile(r"['’`´](?:s|S)?$")
# Up to five words in Latin letters, or four the other way round: nameparser reads capitals behind two words and a comma as a
# suffix. U+00D7 and U+00F7 are no letters.
_LATIN = "[A-Za-zÀ-ÖØ-öø-ɏḀ-ỿ]"
_WORD = f"(?:{_LATIN}{{2,}}(?:-{_LATIN}{{2,}})?|[OD]'{_LATIN}{{3,}})"
_PART = rf"(?:{_WORD}|[A-Z]\.)"
_PLAIN = re.compile(
    rf"{_PART}(?:[ _]{_PART}){{0,4}}|{_WORD}, {_PART}(?: {_PART}){{0,2}}|{_WORD} {_WORD}, (?=.[a-zà-öø-ÿ]){_WORD}(?: {_PART}){{0,2}}"
)
_PLAIN_WORD = re.compile(rf"{_LATIN}+(?:'{_LATIN}+)*")
_SPACED = re.compile(r"\w(?:[ .]\w){3,}\.?")
_ASCII_WORD = re.compile("[A-Za-z](?:[A-Za-z]|['`](?=[A-Za-z]))*")
_LAST_WORD = re.compile(r"(?<![^\W_])(?<!_)([^\W\d_]+)\.?\Z")
_APOSTROPHES = "'’`´ʼ"


class Word(NamedTuple):
    """A part of a mention that says who somebody is. start, end: Characters within it. norm (str): Folded; one letter for an initial.
    kind (str): `GIVEN`, `FAMILY`, or `LONE` if nothing tells."""

    start: int
    end: int
    text: str
    norm: str
    kind: str

    @property
    def is_initial(self) -> bool:
        return len(self.norm) == 1 and self.text.isascii()


class Form(NamedTuple):
    """What links a mention to a person, for each word of it, see `Word`: equal forms are one name, whatever stands around them."""

    norms: tuple[str, ...]
    kinds: tuple[str, ...]
    initials: tuple[bool, ...]

    @property
    def words(self) -> tuple[str, ...]:
        if True not in self.initials:
            return self.norms
        return tuple([word for word, initial in zip(self.norms, self.initials, strict=True) if not initial])

    @property
    def letters(self) -> tuple[str, ...]:
        return tuple([word for word, initial in zip(self.norms, self.initials, strict=True) if initial])

    @property
    def comma(self) -> bool:
        """RETURNS (bool): Whether the family name stands first, as in "Lopez, Maria"."""
        return len(self.norms) > 1 and self.kinds[0] == FAMILY != self.kinds[-1]

    @property
    def single(self) -> bool:
        """RETURNS (bool): Whether this is one word and nothing else."""
        return len(self.norms) == 1 and not self.initials[0]

    @property
    def full(self) -> bool:
        """RETURNS (bool): Whether at least two words are written out."""
        return len(self.norms) - sum(self.initials) >= 2

    @property
    def surname(self) -> str:
        """RETURNS (str): The last word, or the first before a comma; empty for initials."""
        words = self.words
        return "" if not words else words[0] if self.comma else words[-1]

    @property
    def given(self) -> str:
        """RETURNS (str): The first word, or the first after a comma; empty if there is no second word."""
        words = self.words
        return "" if len(words) < 2 else words[1] if self.comma else words[0]


class Mention(NamedTuple):
    """A name as it stands in a text; `Mention.of` makes one. words (tuple[Word, ...]): What must change. gender (str): From its title."""

    text: str
    words: tuple[Word, ...]
    gender: str
    form: Form

    @classmethod
    def of(cls, text: str, words: Iterable[Word], gender: str = "") -> "Mention":
        words = tuple(words)
        if not words:
            return cls(text, (), gender, Form((), (), ()))
        _, _, texts, norms, kinds = zip(*words, strict=True)
        initials = tuple([len(norm) == 1 and text.isascii() for norm, text in zip(norms, texts, strict=True)])
        return cls(text, words, gender, Form(norms, kinds, initials))


def read_mention(text: str, *, before: str = "") -> Mention:
    """Take a name apart. text (str): A span that holds one name, as found. before (str): The text before it, which may end with a title.
    RETURNS (Mention): Its words; titles, suffixes, particles, a possessive and all that is no letter stay out of them."""
    return _read(text, _title_before(before) if before else "")


def read_tokens(tokens: Sequence[str]) -> Mention:
    """RETURNS (Mention): A name of which the tokens are known, letter by letter or torn over two lines maybe. tokens (Sequence[str]): Its words."""
    text = ""
    for token in rejoin(tokens):
        glued = not text or token[:1] in ",.-'’" or text[-1:] in "-'’_" or token == "_"
        text += token if glued else f" {token}"
    return read_mention(" ".join(text.split()))


@per_batch(2048)
def _read(text: str, title: str) -> Mention:
    plain = _plain_words(text)
    words, of_title, titled = (plain, "", False) if plain else _words(text)
    if len(words) == 1:
        start, end, written, word, _ = words[0]
        words = [Word(start, end, written, word, FAMILY if titled or title else LONE)]
    return Mention.of(text, words, of_title or TITLES.get(title, ""))


def _title_before(before: str) -> str:
    last = _LAST_WORD.search(before[-20:].rstrip())
    word = norm(last[1]) if last else ""
    return word if word in TITLES else ""


def _plain_words(text: str) -> list[Word] | None:
    if not _PLAIN.fullmatch(text):
        return None
    vocabulary = _vocabulary()
    pieces = [match.span() for match in _PLAIN_WORD.finditer(text)]
    comma = text.find(",")
    # Which part of the name each word is of: halves of a double name are what the whole is.
    parts: Sequence[int] = range(len(pieces))
    if "-" in text:
        pieces = _merged(text, pieces)
        parts = [0]
        for (_, end), _ in zip(pieces, pieces[1:], strict=False):
            parts.append(parts[-1] + (text[end] != "-"))
    # Which part is the given name: the first one, or the first one behind the surname and a comma.
    given = 0
    if comma > 0:
        given = next((part for (start, _), part in zip(pieces, parts, strict=True) if start > comma), 0)
    last = parts[-1] if comma < 0 else -1
    # Particles before the last word belong to nobody; after a Vietnamese surname "van" may be a name.
    joining = False
    words: list[Word] = []
    for (start, end), part in zip(pieces, parts, strict=True):
        written = text[start:end]
        word = norm(written)
        if word in vocabulary and end - start > 1:
            joining = True
            if part in (0, last) or comma >= 0 or written not in _JOINING:
                return None
            continue
        if part < given or part == last > 0:
            kind = FAMILY
        else:
            kind = GIVEN if part == given else _middle_kind(word)
        if joining and part != last:
            return None
        words.append(Word(start, end, written, word, kind))
    if joining and ("-" in text or "VN" in name_table().regions(words[0].norm)):
        return None
    return words


@cache
def _vocabulary() -> frozenset[str]:
    from nameparser import Lexicon

    def strings(value: Any) -> Iterator[str]:
        if isinstance(value, str):
            yield from (norm(part) for part in value.split())
        elif isinstance(value, dict):
            yield from strings(list(value.items()))
        elif isinstance(value, list | tuple | set | frozenset):
            for item in value:
                yield from strings(item)

    lexicon = Lexicon.default()
    found = {word for name in lexicon.__dataclass_fields__ for word in strings(getattr(lexicon, name))}
    return frozenset(found | TITLES.keys() | SUFFIXES | PARTICLES)


def _with_kind(word: Word, role: str) -> Word:
    kind = FAMILY if role in ("family", "maiden", "suffix") else _middle_kind(word.norm) if role == "middle" else GIVEN
    return Word(word.start, word.end, word.text, word.norm, kind)


def _middle_kind(word: str) -> str:
    if len(word) > 1 and name_table().is_surname(word) and not name_table().is_given(word):
        return GIVEN if patronymic_gender(word) else FAMILY
    return GIVEN


def _words(text: str) -> tuple[list[Word], str, bool]:
    from nameparser import parse

    end = len(text)
    possessive = _POSSESSIVE.search(text)
    if possessive and len(text) > 3:
        end = possessive.start()
    pieces = _pieces(text[:end])
    # nameparser reads spaces and commas; a view of the same length gives it those for "_", line breaks, digits.
    view = "".join(ch if is_letter(ch) or ch in ".,-'’()\"" else " " for ch in text[:end])
    roles = sorted((t.span.start, t.span.end, t.role.value) for t in parse(view).tokens if t.span is not None)
    norms = [norm(text[start:stop]) for start, stop in pieces]
    words: list[Word] = []
    gender, titled = "", False
    for i, (start, stop) in enumerate(pieces):
        word = norms[i]
        at = bisect_right(roles, start, key=itemgetter(0)) - 1
        role = roles[at][2] if at >= 0 and start < roles[at][1] else "middle"
        at_start = not words
        if word in TITLES and at_start and len(pieces) > 1:
            gender, titled = TITLES[word] or gender, True
            continue
        if role == "suffix" and word in SUFFIXES and not at_start:
            continue
        if not word or _is_particle(text, (start, stop), i, norms):
            continue
        words.append(_with_kind(Word(start, stop, text[start:stop], word, GIVEN), role))
    return words, gender, titled


def _pieces(text: str) -> list[tuple[int, int]]:
    if _SPACED.fullmatch(text.strip()) and not re.search(r"\.\w\.", text):
        # Letter-spaced capitals, "M A R I A": one word that has spaces in it.
        lead = len(text) - len(text.lstrip())
        return [(lead, len(text.rstrip()))]
    found: list[tuple[int, int]] = []
    i = 0
    if text.isascii():
        found = [match.span() for match in _ASCII_WORD.finditer(text)]
        i = len(text)
    while i < len(text):
        if not is_letter(text[i]):
            i += 1
            continue
        j = i
        while j < len(text) and (
            is_letter(text[j]) or (text[j] in _APOSTROPHES and j + 1 < len(text) and is_letter(text[j + 1]))
        ):
            j += 1
        if any(ch.isalpha() for ch in text[i:j]):
            found.append((i, j))
        i = max(j, i + 1)
    return _merged(text, found)


def _merged(text: str, pieces: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, stop in pieces:
        if merged and text[merged[-1][1] : start] == "-" and name_table().is_given(text[merged[-1][0] : stop]):
            merged[-1] = (merged[-1][0], stop)
        else:
            merged.append((start, stop))
    return merged


def _is_particle(text: str, piece: tuple[int, int], i: int, words: Sequence[str]) -> bool:
    """RETURNS (bool): Whether a word is the "de la" of de la Cruz; not the "Van" of Nguyen Van Anh or of Van Tran."""
    if words[i] not in PARTICLES or i == len(words) - 1:
        return False
    if piece[1] - piece[0] == 1 and text[piece[0]].isupper():
        # "Ana E. Lopez" has an initial, "Ortega y Gasset" a particle.
        return False
    if i == 0:
        return text[piece[0]].islower() or (words[0] in _LEADING_PARTICLES and words[1] in _SECOND_PARTICLES)
    # "Van" is a Vietnamese surname too; at the start of "van der Berg" it is none.
    return words[0] in PARTICLES or "VN" not in name_table().regions(words[0])
