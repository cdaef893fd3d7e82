"""Names in a script of their own in a text that is in Latin letters: whether a run of Hangul or Greek is a person.

    >>> from pii_components.names.scripts import native_names
    >>> [found.text for found in native_names("My friend 김지민 said that 서울 is cold, and the word 사랑 means love.")]
    ['김지민']

Precision first. A run is weighed by its form (a common family name and what may stand beside it, given names, endings of family names;
resources/patterns/native_names.toml), by what stands around it (native_around.toml: kinship, a greeting, a title, a verb of speech; a line of its
own; or "the word", "the novel", "in"), and by whether it is found again where that is plain. What is explained, eaten, read or visited is no person.
Whose name it is, others must say.
"""

import re
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from . import expression, resource

_RANGES = {
    "Hangul": "\uac00-\ud7a3",
    "Han": "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff",
    "Kana": "\u3041-\u30ff",
    "Arabic": "\u0620-\u065f\u066e-\u06d3\u06fa-\u06ff\u0750-\u077f",
    "Hebrew": "\u05b0-\u05ea\u05f3\u05f4",
    "Cyrillic": "\u0400-\u052f",
    "Greek": "\u0370-\u03ff\u1f00-\u1fff",
    "Devanagari": "\u0900-\u0963\u0970-\u097f",
    "Bengali": "\u0980-\u09fe",
    "Tamil": "\u0b80-\u0bff",
    "Thai": "\u0e01-\u0e4f",
    "Georgian": "\u10d0-\u10ff",
    "Armenian": "\u0531-\u0587",
}
# Kanji and kana make one word; whether a name in kanji alone is Chinese or Japanese is settled by the tables.
_CLASSES = [
    "".join((_RANGES["Han"], _RANGES["Kana"])),
    *(r for name, r in _RANGES.items() if name not in ("Han", "Kana")),
]
_WORD = "|".join(f"[{letters}][{letters}\u200c\u200d]*" for letters in _CLASSES)
_RUN = re.compile(rf"(?<![^\W\d_])(?:{_WORD})(?:(?: |[-·・]| ?- ?)(?:{_WORD})){{0,3}}(?![^\W\d_])")
_ANY = re.compile(f"[{''.join(_RANGES.values())}]")
_MOST_NATIVE = 0.25  # share of letters from which the text is in that language
_CASED = ("Cyrillic", "Greek", "Armenian")

# A word that is explained, read, eaten or visited.
_AROUND = "patterns/native_around"
_BEFORE_STRONG, _BEFORE_WEAK = (
    expression(_AROUND, "before_strong"),
    expression(_AROUND, "before_weak"),
)
_AFTER_STRONG, _PLACE_BEFORE = (
    expression(_AROUND, "after_strong"),
    expression(_AROUND, "place_before"),
)
_GLOSS_BEFORE, _GLOSS_AFTER = (
    expression(_AROUND, "gloss_before"),
    expression(_AROUND, "gloss_after"),
)
_LATIN_NAME_BEFORE = re.compile(r"(?:^|\W)[A-Z][a-zà-ÿ]+(?:[ -][A-Z]?[a-zà-ÿ]+){0,3} ?[(（]\Z")
_BRACKET_BEFORE = re.compile(r"[a-z]{2} ?[(（]\Z")  # filial piety (孝)
_TOP, _END = 6, 4  # lines at the top and the end where a name may stand alone
_WEIGHT = 2  # of an accepted run


class NativeName(NamedTuple):
    """A name: characters, end exclusive, and what speaks for it."""

    start: int
    end: int
    text: str
    reason: str


class _Table(NamedTuple):
    families: frozenset[str]
    givens: frozenset[str]
    endings: tuple[str, ...]
    not_names: frozenset[str]


@cache
def _tables() -> dict[str, _Table]:
    def words(entry: dict[str, str], key: str) -> frozenset[str]:
        return frozenset(entry.get(key, "").split())

    return {
        script: _Table(
            words(e, "families"),
            words(e, "givens"),
            tuple(sorted(words(e, "endings"))),
            words(e, "not_names"),
        )
        for script, e in resource("patterns/native_names").items()
    }


def script_of(text: str) -> str:
    """RETURNS (str): The script of a word: "Hangul", "Han" (kana and kanji too) ...; empty for Latin and others."""
    for name, letters in _RANGES.items():
        if re.match(f"[{letters}]", text):
            return "Han" if name == "Kana" else name
    return ""


def _east_asian(
    words: Sequence[str], families: frozenset[str], givens: frozenset[str], most: int
) -> int:
    if len(words) == 2:
        return (
            2
            if words[0] in families and len(words[1]) <= most
            else 1
            if words[1] in givens or words[0] in givens
            else 0
        )
    if len(words) > 2:
        return 0
    word = words[0]
    for size in (2, 1):
        given = word[size:]
        if word[:size] in families and 1 <= len(given) <= most:
            return 2 if len(given) == 2 or given in givens else 1
    return 1 if word in givens else 0


def _form_hangul(words: Sequence[str]) -> int:
    table, first = _tables()["Hangul"], words[0]
    if len(words) == 1 and not 2 <= len(first) <= 4:
        return 0 if first in table.families and len(first) == 1 else -1
    return _east_asian(words, table.families, table.givens, 2)


def _form_han(words: Sequence[str]) -> int:
    chinese, japanese = _tables()["Han"], _tables()["Japanese"]
    if sum(map(len, words)) > 8 or len(words) > 2:
        return -1
    word = words[0]
    if len(words) == 2:
        if word in japanese.families and len(words[1]) <= 4:
            return 2
        return (
            1
            if japanese.givens & set(words)
            else _east_asian(words, chinese.families, chinese.givens, 2)
        )
    for size in (3, 2):
        if word[:size] in japanese.families and 1 <= len(word) - size <= 4:
            return (
                2
                if word[size:] in japanese.givens
                or re.fullmatch(f"[{_RANGES['Kana']}]+", word[size:])
                else 1
            )
    if word in japanese.families or word in japanese.givens:
        return 1
    if len(word) > 4:
        return -1
    if re.search(f"[{_RANGES['Kana']}]", word):
        return 0
    # Many words begin with a character that is a family name too, so the form alone is never enough.
    return min(1, _east_asian([word], chinese.families, chinese.givens, 2))


def _form_spelt(script: str, words: Sequence[str]) -> int:
    table = _tables().get(script)
    if table is None or len(words) > 4 or any(len(word) < 2 for word in words):
        return -1
    if script in _CASED and not all(
        word[0].isupper() and not word[1:].isupper() or word.isupper() for word in words
    ):
        return -1
    given = sum(word in table.givens for word in words)
    ends = [
        len(word) > 4 and word not in table.givens and word.endswith(table.endings)
        for word in words
    ]
    family = sum(word in table.families or ended for word, ended in zip(words, ends, strict=True))
    if len(words) > 1:
        return (
            2 if given and given + family == len(words) else int(given > 0 or family == len(words))
        )
    return int(given > 0 or words[0] in table.families)


def name_form(text: str) -> int:
    """RETURNS (int): How much one to four words in another script look like a name: 2 family and given name, 1 one of them, 0
    it might be one, -1 it is none: a word known for something else, too long,
    or small letters where names have capitals."""
    words = re.split(r"[ ·・-]+", text)
    scripts = {script_of(word) for word in words}
    script = scripts.pop()
    if scripts or not script:
        return -1
    known = (
        _tables()["Japanese"].not_names | _tables()["Han"].not_names
        if script == "Han"
        else _tables()[script].not_names
    )
    form = (
        _form_hangul(words)
        if script == "Hangul"
        else _form_han(words)
        if script == "Han"
        else _form_spelt(script, words)
    )
    # A word that is known for something else is a name only beside another one.
    if any(word in known for word in words) and (
        form < 2 or len(words) == 1 or all(word in known for word in words)
    ):
        return -1
    return form


def native_names(text: str, *, seen: Sequence[tuple[int, int]] = ()) -> list[NativeName]:
    """RETURNS (list[NativeName]): Names in scripts of their own, in order; none for a text that is itself in such a script.
    seen (Sequence[tuple[int, int]]): Characters, end exclusive, that a detector took for names: weak evidence."""
    if text.isascii() or not _ANY.search(text) or _is_native(text):
        return []
    lines = [match.span() for match in re.finditer(r"[^\n]*\S[^\n]*", text)]
    alone = [*lines[:_TOP], *lines[-_END:]]
    weighed = [
        (run.span(), run[0], *_weigh(text, *run.span(), alone, seen)) for run in _RUN.finditer(text)
    ]
    sure = {run for _, run, weight, _ in weighed if weight >= _WEIGHT}
    found = []
    for (start, end), run, weight, reason in weighed:
        if weight >= _WEIGHT:
            found.append(NativeName(start, end, run, reason))
        elif weight >= 0 and any(_part_of(run, other) for other in sure):
            found.append(NativeName(start, end, run, "named elsewhere in the text"))
    return found


def _is_native(text: str) -> bool:
    native = len(_ANY.findall(text))
    return len(text) > 40 and native > _MOST_NATIVE * sum(char.isalpha() for char in text)


def _part_of(run: str, name: str) -> bool:
    return (
        run == name
        or run in name.split()
        or (script_of(run) in ("Hangul", "Han") and name.startswith(run) or name.endswith(run))
    )


def _weigh(
    text: str,
    start: int,
    end: int,
    alone: Sequence[tuple[int, int]],
    seen: Sequence[tuple[int, int]],
) -> tuple[int, str]:
    """What speaks for a run being a person, in points, and the best of it; negative for what is none."""
    before, after = text[max(0, start - 60) : start], text[end : end + 40]
    form = name_form(text[start:end])
    strong = _BEFORE_STRONG.search(before) is not None
    if form < 0:
        return -9, ""
    named = _LATIN_NAME_BEFORE.search(before) is not None
    glossed = _GLOSS_BEFORE.search(before) is not None or _BRACKET_BEFORE.search(before) is not None
    if not named and (_GLOSS_AFTER.match(after) or (glossed and not strong)):
        return -9, ""
    points, reason = form, "a family name and a given name"
    after_strong = _AFTER_STRONG.match(after) is not None
    on_its_own = any(
        text[low:high].strip(" \t*_-–~#>|•.,:") == text[start:end] for low, high in alone
    )
    if strong or after_strong or on_its_own or named:
        # What is no known name needs two signs of a person.
        points += 2 if form > 0 or strong + after_strong + on_its_own + named > 1 or strong else 1
        reason = "stands where a name stands"
    elif _PLACE_BEFORE.search(before):
        points -= 1
    elif _BEFORE_WEAK.search(before):
        points += 1
        reason = "stands where a name may stand"
    if any(low < end and high > start for low, high in seen):
        points += 1
    return points, reason
