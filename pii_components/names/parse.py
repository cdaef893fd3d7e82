"""Reading one name: which of its words must change, and what each of them is.

    >>> from pii_components.names.parse import read_mention
    >>> [(w.norm, w.kind) for w in read_mention("Dr. Juan de la Cruz's").words]
    [('juan', 'given'), ('cruz', 'family')]

What is given, family, title or suffix comes from nameparser, except where it would keep a part of a name: "Dean" and "King" are
names until shown otherwise.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import fields
from functools import cache
from typing import NamedTuple

from .letters import has_letter, is_letter, norm, per_batch
from .table import name_table

GIVEN, FAMILY, LONE = "given", "family", "lone"
# Of forms of address, folded, in English, French, Spanish, Portuguese, Italian, German and Dutch: no part of a name, so they stay.
_GENDER_OF_TITLES = {
    "M": "mr sir mister monsieur senor sr don profesor senhor dom doutor signor signore dottore herr md meneer",
    "F": "mrs ms miss madam madame mademoiselle mme mlle senora senorita sra srta dona profesora doctora dra senhora senhorita professora doutora "
    "signora signorina professoressa dottoressa frau fraulein mevrouw",
    "": "mx dr prof professor doctor",
}
TITLES = {title: gender for gender, text in _GENDER_OF_TITLES.items() for title in text.split()}
# They stand before a given name, and are one in English: a title is "don Jaime" or "Doña", not "Don".
_BEFORE_GIVEN = frozenset(("don", "dona", "dom"))
SUFFIXES = frozenset("jr sr ii iii iv phd md msc bsc mba esq edd rn cpa".split())
PARTICLES = frozenset(
    "de la del los las da do dos das di du van von der den ter ten zu al el bin binti bint ibn y e".split()
)
# With a capital, "De La" is a particle, and the "Al" of Al de la Cruz a given name.
_LEADING_PARTICLES, _SECOND_PARTICLES = (
    frozenset({"de", "van", "von"}),
    frozenset({"la", "las", "los", "der", "den"}),
)
_POSSESSIVE = re.compile(r"['’`´](?:s|S)?$")
_PAIR = re.compile(r"[A-Za-z]{2,} [A-Za-z]{2,}")
_SPACED = re.compile(r"\w(?:[ .]\w){3,}\.?")
_PIECE = re.compile("L(?:L|'(?=L))*")  # of a text as letters and apostrophes
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
        return tuple(
            [word for word, initial in zip(self.norms, self.initials, strict=True) if not initial]
        )

    @property
    def comma(self) -> bool:
        """RETURNS (bool): Whether the family name stands first, as in "Lopez, Maria"."""
        return len(self.norms) > 1 and self.kinds[0] == FAMILY != self.kinds[-1]

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
        form = Form(
            tuple(w.norm for w in words),
            tuple(w.kind for w in words),
            tuple(w.is_initial for w in words),
        )
        return cls(text, words, gender, form)


def read_mention(text: str, *, before: str = "") -> Mention:
    """Take a name apart. text (str): A span that holds one name, as found. before (str): The text before it, which may end with a title.
    RETURNS (Mention): Its words; titles, suffixes, particles, a possessive and all that is no letter stay out of them."""
    return _read(text, _title_before(before) if before else "")


def read_tokens(tokens: Sequence[str]) -> Mention:
    """RETURNS (Mention): A name of which the tokens are known, letter by letter maybe. tokens (Sequence[str]): Its words."""
    letters = [token for token in tokens if token.isalpha()]
    if len(letters) > 2 and all(len(letter) == 1 for letter in letters):
        return read_mention("".join(tokens))
    text = ""
    for token in tokens:
        glued = not text or token[:1] in ",.-'’" or text[-1:] in "-'’_" or token == "_"
        text += token if glued else f" {token}"
    return read_mention(" ".join(text.split()))


@per_batch(2048)
def _read(text: str, title: str) -> Mention:
    possessive = _POSSESSIVE.search(text)
    end = possessive.start() if possessive and len(text) > 3 else len(text)
    pieces = _pieces(text[:end])
    # nameparser reads spaces and commas; a view of the same length gives it those for "_", line breaks, digits.
    view = "".join(ch if is_letter(ch) or ch in ".,-'’()\"" else " " for ch in text[:end])
    norms = [norm(text[start:stop]) for start, stop in pieces]
    # One word is what it is, whatever its role; two that nameparser does not know are a given and a family name to it, slowly.
    if len(pieces) < 2 or (_PAIR.fullmatch(text) and _lexicon().isdisjoint(norms)):
        roles = {start: role for (start, _), role in zip(pieces, ("given", "family"), strict=False)}
    else:
        roles = _roles(view)
    words: list[Word] = []
    gender = TITLES.get(title, "")
    for i, (start, stop) in enumerate(pieces):
        word, role = norms[i], roles.get(start, "middle")
        if not words and len(pieces) > 1 and (found := _title_of(text[start:stop])):
            gender, title = TITLES[found] or gender, found
        elif (
            word
            and not (role == "suffix" and word in SUFFIXES and words)
            and not _is_particle(text, (start, stop), i, norms)
        ):
            words.append(Word(start, stop, text[start:stop], word, _kind_of(word, role)))
    if len(words) == 1:
        is_family = title and title not in _BEFORE_GIVEN
        words = [words[0]._replace(kind=FAMILY if is_family else LONE)]
    return Mention.of(text, words, gender)


@cache
def _lexicon() -> frozenset[str]:
    """RETURNS (frozenset[str]): All words that nameparser knows: titles, particles, suffixes."""
    from nameparser import Lexicon

    lexicon = Lexicon.default()
    found = (getattr(lexicon, field.name) for field in fields(lexicon))
    return frozenset[str]().union(*(words for words in found if isinstance(words, frozenset)))


def _roles(text: str) -> dict[int, str]:
    """RETURNS (dict[int, str]): Character -> what nameparser calls the word that it is in."""
    from nameparser import parse

    spans = ((t.span, t.role.value) for t in parse(text).tokens if t.span is not None)
    return {i: role for span, role in spans for i in range(span.start, span.end)}


def _title_before(before: str) -> str:
    last = _LAST_WORD.search(before[-20:].rstrip())
    return _title_of(last[1]) if last else ""


def _title_of(text: str) -> str:
    """RETURNS (str): A form of address, folded; empty for any other word."""
    word = norm(text)
    is_title = word not in _BEFORE_GIVEN or text.islower() or not text.isascii()
    return word if word in TITLES and is_title else ""


def _kind_of(word: str, role: str) -> str:
    """RETURNS (str): `GIVEN` or `FAMILY`, of a folded word. role (str): As nameparser has it."""
    table = name_table()
    if role == "middle" and len(word) > 1 and table.is_surname(word) and not table.is_given(word):
        return FAMILY
    return FAMILY if role in ("family", "maiden", "suffix") else GIVEN


def _pieces(text: str) -> list[tuple[int, int]]:
    if _SPACED.fullmatch(text.strip()) and not re.search(r"\.\w\.", text):
        # Letter-spaced capitals, "M A R I A": one word that has spaces in it.
        lead = len(text) - len(text.lstrip())
        return [(lead, len(text.rstrip()))]
    shapes = "".join("L" if is_letter(ch) else "'" if ch in _APOSTROPHES else " " for ch in text)
    found: list[tuple[int, int]] = []
    for start, stop in (match.span() for match in _PIECE.finditer(shapes)):
        if not has_letter(text[start:stop]):
            continue
        if (
            found
            and text[found[-1][1] : start] == "-"
            and name_table().is_given(text[found[-1][0] : stop])
        ):
            start = found.pop()[0]
        found.append((start, stop))
    return found


def _is_particle(text: str, piece: tuple[int, int], i: int, words: Sequence[str]) -> bool:
    """RETURNS (bool): Whether a word is the "de la" of de la Cruz; not the "Van" of Nguyen Van Anh or of Van Tran."""
    if words[i] not in PARTICLES or i == len(words) - 1:
        return False
    if piece[1] - piece[0] == 1 and text[piece[0]].isupper():
        # "Ana E. Lopez" has an initial, "Ortega y Gasset" a particle.
        return False
    if i == 0:
        return text[piece[0]].islower() or (
            words[0] in _LEADING_PARTICLES and words[1] in _SECOND_PARTICLES
        )
    # "Van" is a Vietnamese surname too; at the start of "van der Berg" it is none.
    return words[0] in PARTICLES or "VN" not in name_table().regions(words[0])
