"""Street addresses in the forms of many countries, where their place says that they are somebody's.

    Ana Reyes | 14 Rua das Flores, Porto | ana@example.org          14 Rua das Flores, Porto: STREET_ADDRESS
    We live at Lindenstraße 8, 50674 Köln, above a bakery.          Lindenstraße 8, 50674 Köln

A form alone is not enough (a detective lives at an address, too): it must stand among contact details, with a town or a postal code near a name,
or behind words such as "I live at" and "home address:". What the model found of an address is made one with it.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence

from ..labels import (
    EMAIL,
    ID_NUM,
    NAME_CITED,
    PHONE_NUM,
    STREET_ADDRESS,
    URL_PERSONAL,
    USERNAME,
    is_name,
)
from ..names import word_list
from ..spans import Candidate
from .merge import Page
from .validators import Hit

SOURCE = "address-form"
_SCORE = 0.85
_DETAILS = (EMAIL, PHONE_NUM, ID_NUM, URL_PERSONAL, USERNAME)
_NEAR, _LONGEST, _MOST_PARTS = 2, 240, 6  # lines, characters of a line, parts behind the street
_DIGIT = re.compile(r"\d")
_LINE = re.compile(r"[^\r\n\u2028\u2029]+")
_TOKEN = re.compile(
    r"c/|\d[\w/-]*|[^\W\d_]+\d\w*|[^\W\d_]+(?:['’.-][^\W\d_]+)*\.?|\S", re.IGNORECASE
)  # noqa: RUF001
_HOUSE = re.compile(r"\d{1,5}[A-Za-z]?(?:[-/]\d{1,4}[A-Za-z]?)*")
_CODE = re.compile(
    r"\d{4,6}(?:-\d{3,4})?|\d{2}-\d{3}|[A-Za-z]{1,2}\d[A-Za-z\d]?|[A-Za-z]\d[A-Za-z]|\d[A-Za-z]{2}|\d[A-Za-z]\d"
)
_CUE = re.compile(
    r"(?i)(?:\b(?:i|we|family|parents)\s+(?:(?:still|now|both|all|have|has|had|used\s+to)\s+)*"
    r"(?:live[sd]?|living|resid(?:e|es|ed|ing)|stay(?:s|ed)?|moved|grew\s+up)\s+(?:(?:on|at|in|to)\s+)+(?:(?:number|no\.?|house)\s+)?"
    r"|\b(?:address(?:\s+is)?|anschrift|adresse|dirección|direccion|domicilio|endereço|endereco|morada|indirizzo|adres)\s*[:=–-]?\s+)$"  # noqa: RUF001
)
_PARTS = frozenset("|;•·,–—-/:\t")  # noqa: RUF001
# What may follow an address in a sentence; a name before another word is somebody who does something.
_FOLLOWS = frozenset(
    "with and in near where which since for above behind next but until when because".split()
)
_SHORT = frozenset(("blvd.", "pkwy.", "cres.", "bldg."))
_BARS = frozenset("|;•·")
_SIGNS = frozenset(", : . # º ° n n. no no. nr nr. num num.".split())

Token = tuple[int, int, str]  # characters of the normalised text, end exclusive, and the word


def _words(key: str) -> frozenset[str]:
    return word_list("addresses/streets", key)


def addresses(page: Page, known: Sequence[Candidate]) -> list[Candidate]:
    """Addresses that their form and their place show.

    known (Sequence[Candidate]): What rules and the model have found, of every label.
    RETURNS (list[Candidate]): Each with what the model found of it."""
    text = page.view.text
    lines = [line.span() for line in _LINE.finditer(text) if not line.group().isspace()]
    firsts = [start for start, _ in lines]
    detailed, named, proposed = set[int](), set[int](), list[tuple[int, int]]()
    for c in known:
        start, end = page.chars(c.start, c.end)
        if c.label in _DETAILS:
            detailed.add(bisect_right(firsts, start) - 1)
        elif is_name(c.label) and c.label != NAME_CITED:
            named.add(bisect_right(firsts, start) - 1)
        elif c.label == STREET_ADDRESS:
            proposed.append((start, end))
    found: list[Candidate] = []
    for n, (low, high) in enumerate(lines):
        inside = [span for span in proposed if low <= span[0] < high]
        if not inside and _DIGIT.search(text, low, high) is None:
            continue
        near = range(n - _NEAR, n + _NEAR + 1)
        tokens = _tokens(text, low, high)
        within = [[i for i, t in enumerate(tokens) if a <= t[0] and t[1] <= b] for a, b in inside]
        held = [(part[0], part[-1]) for part in within if part]
        for first, street in (*_streets(tokens), *held):
            start = tokens[first][0]
            cue = _CUE.search(text[max(low, start - 60) : start]) is not None
            begins = high - low <= _LONGEST and (first == 0 or tokens[first - 1][2] in _PARTS)
            last = _further(tokens, street, listed=begins and not cue)
            below = lines[n + 1 : n + 2] if last == len(tokens) - 1 else _part_behind(tokens, last)
            town = _town_of(text, *below[0]) if begins and below else 0
            # "St." is one token with its full stop anyway
            end = max(tokens[last][1] - tokens[last][2].endswith("."), town)
            is_long = town or last > street
            beside = not (detailed.isdisjoint(near) and (not is_long or named.isdisjoint(near)))
            same = [(a, b) for a, b in inside if a < end and start < b]
            if cue or (begins and beside) or same:
                ends = [(start, end), *same]
                hit = Hit(text, min(a for a, _ in ends), max(b for _, b in ends), _SCORE)
                found += page.found(hit, STREET_ADDRESS, SOURCE, "form of an address")
    return found


def _tokens(text: str, low: int, high: int) -> list[Token]:
    return [
        (match.start(), match.end(), match.group()) for match in _TOKEN.finditer(text, low, high)
    ]


def _word(tokens: Sequence[Token], at: int) -> str:
    """RETURNS (str): A word; empty behind the last one."""
    return tokens[at][2] if at < len(tokens) else ""


def _part_behind(tokens: Sequence[Token], last: int) -> list[tuple[int, int]]:
    """Characters of the next part of a list, "4050-262 Porto" behind "Rua do Sol, 77 |"; one or none."""
    if tokens[last + 1][2] not in _BARS:
        return []
    ends = (n for n in range(last + 2, len(tokens)) if tokens[n][2] in _BARS)
    part = tokens[last + 2 : next(ends, len(tokens))]
    return [(part[0][0], part[-1][1])] if part else []


def _streets(tokens: Sequence[Token]) -> Iterator[tuple[int, int]]:
    """First and last token of each street with its number, from left to right, none within another."""
    behind = 0
    for i, (_, _, word) in enumerate(tokens):
        if i < behind or not word[0].isalpha():
            continue
        kind = word.lower()
        found = None
        if kind in _words("first") or kind + "." in _words("first"):
            found = _kind_first(tokens, i)
        if found is None and kind.rstrip(".") in _words("last"):
            found = _kind_last(tokens, i)
        if found is None and _is_ending(tokens, i):
            at = _number_behind(tokens, i)
            own = kind in _words("ending")
            found = (i - 1 if own else i, at) if at is not None else None
        if found is not None and found[0] >= behind:
            yield found
            behind = found[1] + 1


def _kind_last(tokens: Sequence[Token], i: int) -> tuple[int, int] | None:
    """ "14 Maple Street": the number stands one to four words before."""
    for first in range(i - 1, max(-1, i - 6), -1):
        if _HOUSE.fullmatch(tokens[first][2]):
            return (first, i) if first < i - 1 else None
        if not _in_name(tokens[first][2]):
            return None
    return None


def _kind_first(tokens: Sequence[Token], i: int) -> tuple[int, int] | None:
    """ "Rua das Flores 14", "14, rue de la Paix"."""
    last = i
    while last - i < 6 and _in_name(_word(tokens, last + 1)):
        last += 1
    while last > i and tokens[last][2].lower() in _words("small") | _words("within"):
        last -= 1
    if last == i:
        return None
    before = i - 2 if i > 1 and tokens[i - 1][2] == "," else i - 1
    if before >= 0 and _HOUSE.fullmatch(tokens[before][2]):
        return before, last
    at = _number_behind(tokens, last)
    return (i, at) if at is not None else None


def _is_ending(tokens: Sequence[Token], i: int) -> bool:
    """Whether a word is, or ends with, a kind of street, with the street's name before it: "Lindenstraße", "Kossuth utca"."""
    word = tokens[i][2].lower()
    if word in _words("ending"):
        return i > 0 and tokens[i - 1][2][0].isupper()
    # Three letters and an ending.
    return tokens[i][2][0].isupper() and word[3:].endswith(tuple(_words("ending")))


def _number_behind(tokens: Sequence[Token], i: int) -> int | None:
    """The house number that follows a token: "14", ", 14", "No: 14", "nº 14"."""
    at = i + 1
    while at <= i + 4 and _word(tokens, at).lower() in _SIGNS:
        at += 1
    return at if _HOUSE.fullmatch(_word(tokens, at)) else None


def _further(tokens: Sequence[Token], street: int, *, listed: bool) -> int:
    """The last token of the address: flat, postal code, town, country. listed: in a list, not in a sentence."""
    last, codes = street, False
    for _ in range(_MOST_PARTS):
        comma = _word(tokens, last + 1) == ","
        at = last + 1 + comma
        if _ends(tokens[last][2]) or at >= len(tokens):
            break
        word = tokens[at][2]
        if word.lower() in _words("within") or word == "#":
            if not re.fullmatch(r"\d[\w-]*|[A-Za-z]", _word(tokens, at + 1)):
                break
            last = at + 1
        elif behind := _code(tokens, at):
            last, codes = behind - 1, True
        elif (comma or codes) and word[0].isupper():
            end = at
            while end - at < 4 and not _ends(tokens[end][2]) and _in_name(_word(tokens, end + 1)):
                end += 1
            while tokens[end][2].lower() in _words("small"):
                end -= 1
            follows = "." if _ends(tokens[end][2]) else _word(tokens, end + 1)
            if not (listed or not follows[:1].isalpha() or follows.lower() in _FOLLOWS):
                break
            last, codes = end, False
        else:
            break
    return last


def _code(tokens: Sequence[Token], at: int) -> int:
    """The token after the postal code, or the half of one, that begins with a token; 0 without one."""
    word, behind = tokens[at][2], _word(tokens, at + 1)
    if _CODE.fullmatch(word):
        return at + 1
    return at + 2 if re.fullmatch(r"\d{3}", word) and re.fullmatch(r"\d{2,3}", behind) else 0


def _town_of(text: str, low: int, high: int) -> int:
    """Where a line ends that is the town of an address, "4050-262 Porto" or "Dayton, OH 45402"; else 0."""
    tokens = _tokens(text, low, high)
    codes = {k for n in range(len(tokens)) for k in range(n, _code(tokens, n))}
    words = [token[2] for n, token in enumerate(tokens) if n not in codes and token[2] != ","]
    code = "".join(tokens[n][2] for n in sorted(codes))
    # "Fall 2023", "Week B2" are no towns, nor is "English 1012".
    long = len(code) > 4 or (len(code) == 4 and 0 in codes)
    is_code = len(codes) <= 2 and long and not re.search(r"(?<!\d)(?:19|20)\d\d(?!\d)", code)
    fits = is_code and 0 < len(words) <= 6 and all(map(_in_name, words))
    return tokens[-1][1] if fits else 0


def _ends(word: str) -> bool:
    """Whether a word ends a sentence; "St." and "Blvd." do not."""
    return word.endswith(".") and len(word) > 4 and word.lower() not in _SHORT


def _in_name(word: str) -> bool:
    return word[:1].isalpha() and (word[0].isupper() or word.lower() in _words("small"))
