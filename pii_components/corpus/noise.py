"""Noise on names and details, as it was seen in students' files and is to be expected there, and sentences that only look private.

    noisy_name("Ana Lopez", rng)   ->  ("A N A  L O P E Z", "spaced")
    noisy_detail("ana@uni.edu", "EMAIL", rng)   ->  ("ana [at] uni (dot) edu", "spelt out")

`TextNoise` gives all names of a text the same noise. Noise never depends on whose name it is: it must not tell a student from an author.
"""

import random
import re
import unicodedata
from collections.abc import Callable
from typing import Any, NamedTuple

from ..labels import EMAIL, ID_NUM, PHONE_NUM, URL_PERSONAL, is_name
from .edit import OnValue
from .templates import Slot, read_tables

# Names in other scripts, words of other scripts that are no names, and what looks like a name or a number of somebody.

_GIVEN_FORMS = frozenset(("first", "nick", "first_initial", "initials"))


class NativePerson(NamedTuple):
    """A person whose name is written in a script other than Latin: what stands between the names, and whether the family name is first."""

    given: str
    family: str
    gap: str
    family_first: bool

    def form(self, what: str) -> str:
        """RETURNS (str): The form of the name that a slot asks for: given name, family name, or both; there are no initials."""
        if what in _GIVEN_FORMS:
            return self.given
        if what == "last":
            return self.family
        return self.gap.join(
            (self.family, self.given) if self.family_first else (self.given, self.family)
        )


def pick_script(rng: random.Random) -> str:
    """RETURNS (str): A script that names are invented in, those that students sign in most more often."""
    scripts, shares = list(read_tables("native")["names"]), read_tables("noise")["scripts"]
    return rng.choices(scripts, [shares.get(script, 1) for script in scripts])[0]


def native_person(rng: random.Random, script: str = "") -> NativePerson:
    """RETURNS (NativePerson): An invented person, of any script if none is given. East Asian names have a space more or less at times."""
    script = script or pick_script(rng)
    names = read_tables("native")["names"][script]
    gap = names["gap"]
    if script in ("Han", "Hangul", "Japanese") and rng.random() < 0.12:
        gap = "" if gap else " "
    return NativePerson(
        rng.choice(names["given"].split()),
        rng.choice(names["family"].split()),
        gap,
        names["family_first"],
    )


def native_name(rng: random.Random) -> str:
    """RETURNS (str): A full name in a script other than Latin; a given name alone at times."""
    return native_person(rng).form("first" if rng.random() < 0.2 else "full")


def native_sentence(rng: random.Random) -> str:
    """RETURNS (str): An English sentence with a word, a town or a title in another script: none of them is a name."""
    tables = read_tables("native")
    language = rng.choice(list(tables["words"]))
    words, towns, titles = tables["words"][language].values()
    (word, meaning), (word2, _) = rng.sample(words, 2)
    values = {"language": language, "word": word, "word2": word2, "meaning": meaning}
    values |= zip(("town", "name"), rng.choice(towns), strict=True)
    values |= zip(("title", "kind"), rng.choice(titles), strict=True)
    return str(
        rng.choice(rng.choices(list(tables["sentences"].values()), (6, 2, 2))[0]).format(**values)
    )


def fill_pattern(pattern: str, kinds: dict[str, str], rng: random.Random) -> str:
    """RETURNS (str): The pattern, each of its signs that `kinds` has replaced by one of that kind."""
    return "".join(rng.choice(kinds[ch]) if ch in kinds else ch for ch in pattern)


def hard_negative(rng: random.Random) -> tuple[str, str]:
    """RETURNS (tuple[str, str]): A sentence that holds nothing to protect and looks as if it did, and its kind."""
    tables = read_tables("negatives")
    kind = rng.choices(("number", "public contact", "word that is a name"), (5, 2, 4))[0]
    if kind != "word that is a name":
        sentence = rng.choice(tables["numbers" if kind == "number" else "contacts"])
        return fill_pattern(sentence, {"¤": "123456789", "#": "0123456789"}, rng), kind
    values = {}
    for key, options in tables["fill"].items():
        values[key], values[f"{key}2"] = rng.sample(options, 2)
    return rng.choice(tables["words"]).format(**values), kind


# Noise on one name or detail.

_OCR = (("rn", "m"), ("m", "rn"), ("l", "1"), ("i", "l"), ("o", "0"), ("cl", "d"), ("e", "c"))
DIGIT_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def always(change: Callable[[str], str]) -> OnValue:
    """RETURNS (OnValue): A change that leaves nothing to chance."""
    return lambda name, rng: change(name)


def _place(name: str, rng: random.Random) -> int:
    return rng.randint(1, max(1, len(name) - 1))


def inside(mark: str) -> OnValue:
    """RETURNS (OnValue): A mark between two characters."""

    def change(name: str, rng: random.Random) -> str:
        at = _place(name, rng)
        return name[:at] + mark + name[at:]

    return change


def _spaced(name: str, rng: random.Random) -> str:
    return rng.choice(("  ", "   ")).join(" ".join(word.upper()) for word in name.split())


def _mixed(name: str, rng: random.Random) -> str:
    first, *others = name.split(" ")
    return " ".join(
        [first.lower() if rng.random() < 0.6 else first, *(word.upper() for word in others)]
    )


def alternate(name: str, *, upper: bool, anew: bool = False) -> str:
    """RETURNS (str): "AnA lOpEz": letters in turn large and small, the first one large if `upper`; `anew` after each sign that is none."""
    out, turn = [], upper
    for ch in name:
        out.append(ch.upper() if turn else ch.lower())
        turn = upper if anew and not ch.isalpha() else turn != ch.isalpha()
    return "".join(out)


def _torn(name: str, rng: random.Random) -> str:
    word = max(re.findall(r"[^\W\d_]+", name) or [""], key=len)
    at = len(word) // 2
    return name.replace(word, f"{word[:at]}-\n{word[at:]}", 1) if len(word) > 3 else name


def _bold(name: str) -> str:
    """Letters of mathematics, as on social media."""
    first = {True: 0x1D400 - ord("A"), False: 0x1D41A - ord("a")}
    return "".join(
        chr(ord(ch) + first[ch.isupper()]) if ch.isascii() and ch.isalpha() else ch for ch in name
    )


def _no_accents(name: str) -> str:
    return "".join(ch for ch in unicodedata.normalize("NFD", name) if not unicodedata.combining(ch))


def curly(text: str) -> str:
    """RETURNS (str): With typographic quotes and apostrophes."""
    return text.replace("'", "’").replace(' "', " “").replace('"', "”")


def _full_width(name: str) -> str:
    return "".join(
        chr(ord(ch) + 0xFEE0) if "!" <= ch <= "~" else "\u3000" if ch == " " else ch for ch in name
    )


def _swap(name: str, rng: random.Random) -> str:
    at = _place(name[:-2], rng)
    pair = name[at : at + 2]
    return name[:at] + pair[::-1] + name[at + 2 :] if pair.isalpha() and pair.islower() else name


def _double(name: str, rng: random.Random) -> str:
    at = _place(name, rng)
    return (
        name[:at] + name[at - 1] + name[at:]
        if name[at - 1].isalpha() and name[at - 1].islower()
        else name
    )


def _ocr(name: str, rng: random.Random) -> str:
    old, new = rng.choice([pair for pair in _OCR if pair[0] in name[1:]] or [("", "")])
    return name[0] + name[1:].replace(old, new, 1) if old else name


NATIVE, MARKS = "native script", "marks"
CHANGES: dict[str, Callable[..., Any]] = {
    "upper": always(str.upper),
    "lower": always(str.lower),
    "mixed case": _mixed,
    "spaced": _spaced,
    "no accents": always(_no_accents),
    "combining": lambda name, rng: unicodedata.normalize("NFD", name),
    "full width": always(_full_width),
    "ligature": lambda name, rng: name.replace("fi", "ﬁ").replace("fl", "ﬂ"),
    "letters swapped": _swap,
    "letter doubled": _double,
    "ocr": _ocr,
    NATIVE: lambda name, rng: native_name(rng),
    "spaced lower": lambda name, rng: _spaced(name, rng).lower(),
    "swapped case": always(str.swapcase),
    "alternating": lambda name, rng: alternate(
        name, upper=rng.random() < 0.5, anew=rng.random() < 0.3
    ),
    "random case": lambda name, rng: "".join(
        ch.upper() if rng.random() < 0.5 else ch.lower() for ch in name
    ),
    "torn": _torn,
    "bold letters": always(_bold),
    # With arguments: what makes the change.
    "between letters": lambda mark: lambda name, rng: mark.join(name),
    "gap": lambda mark, count=-1: lambda name, rng: name.replace(" ", mark, count),
    "inside": inside,
    "letters": lambda old, new: lambda name, rng: name.translate(str.maketrans(old, new)),
}
_KINDS = read_tables("noise")["kinds"]
NAME_NOISE: dict[str, OnValue] = {
    kind: CHANGES[how[0]](*how[1:]) if how else CHANGES[kind] for kind, (_, *how) in _KINDS.items()
}


def noisy_name(name: str, rng: random.Random) -> tuple[str, str]:
    """RETURNS (tuple[str, str]): A name as it might stand in a badly kept file, and the kind of noise, empty if nothing changed."""
    kind = rng.choices(list(_KINDS), [share for share, *_ in _KINDS.values()])[0]
    noisy = NAME_NOISE[kind](name, rng)
    return (noisy, kind) if noisy != name and noisy.strip() else (name, "")


def _spell_email(value: str, rng: random.Random) -> str:
    at = rng.choice((" at ", " [at] ", "(at)", " AT ", " @ "))
    dot = rng.choice((" dot ", " (dot) ", "[dot]", " DOT ")) if at != " @ " else " . "
    local, _, domain = value.partition("@")
    return (
        (local.replace(".", dot) if rng.random() < 0.5 else local) + at + domain.replace(".", dot)
    )


def noisy_detail(value: str, label: str, rng: random.Random) -> tuple[str, str]:
    """RETURNS (tuple[str, str]): A detail so that a machine shall not find it, or with stray spaces; the kind, empty if nothing changed."""
    if label == EMAIL and "@" in value:
        return (
            (_spell_email(value, rng), "spelt out")
            if rng.random() < 0.6
            else (value.replace("@", " @ "), "spaced")
        )
    if label == PHONE_NUM:
        if rng.random() < 0.3:
            return " ".join(
                DIGIT_WORDS[int(ch)] for ch in value if ch.isascii() and ch.isdigit()
            ), "spelt out"
        return " ".join(re.findall(r"\d", value)), "spaced"
    if label == ID_NUM and value.isalnum() and len(value) > 5:
        return f"{value[:3]} {value[3:]}", "spaced"
    if label == URL_PERSONAL and "." in value and "\n" not in value:
        return value.replace(".", ". ", 1) if rng.random() < 0.5 else value.replace(
            "/", " / ", 1
        ), "spaced"
    return value, ""


# Noise on a whole text: all names between markers, in a script of their own, letter by letter, in one case.

_FOLLOWING = 0.9  # share of the names that follow the text's habit
_WORD = re.compile(r"(?<![\w@/.-])[a-z]{3,12}(?: [a-z]{3,12})?(?![\w@/-])")


class Noisy(NamedTuple):
    """What stands for a name or detail: `text` is the span, `before` and `after` stand beside it; `kind` of noise, empty for none."""

    before: str
    text: str
    after: str
    kind: str = ""


class TextNoise:
    """Noise on the names and details of one text.

    rng (random.Random): Where chance comes from. noise (float): Share of the mentions that have noise of their own, 0 to 1.
    habit (float): Probability that all names of the text have the same noise, 0 to 1.
    """

    def __init__(self, rng: random.Random, *, noise: float = 0.0, habit: float = 0.0) -> None:
        self.rng = rng
        self.noise = noise
        self.habit = ""
        if habit and rng.random() < habit:
            habits = read_tables("noise")["habits"]
            self.habit = rng.choices(list(habits), list(habits.values()))[0]
            if self.habit == "any":
                self.habit = rng.choice([kind for kind in NAME_NOISE if kind != NATIVE])
        self.marks = self._pick_marks() if self.habit == MARKS else ["", ""]
        # Friends who write to each other share a script; in a course they do not.
        self.script = pick_script(rng) if self.habit == NATIVE and rng.random() < 0.6 else ""
        self.natives: dict[str, NativePerson] = {}

    def _pick_marks(self) -> list[str]:
        return list(self.rng.choice(read_tables("noise")["marks"]))

    def mention(self, value: str, slot: Slot) -> Noisy:
        """RETURNS (Noisy): What fills a slot, with the habit of the text, with noise of its own, or as it is."""
        named = is_name(slot.label)
        if named and self.habit and self.rng.random() < _FOLLOWING:
            return self._by_kind(value, slot, self.habit)
        if not self.noise or self.rng.random() >= self.noise:
            return Noisy("", value, "")
        if named and self.rng.random() < 0.2:
            return self._by_kind(value, slot, MARKS)
        text, kind = (
            noisy_name(value, self.rng) if named else noisy_detail(value, slot.label, self.rng)
        )
        return self._by_kind(value, slot, NATIVE) if kind == NATIVE else Noisy("", text, "", kind)

    def _by_kind(self, value: str, slot: Slot, kind: str) -> Noisy:
        if kind == MARKS:
            before, after = self.marks if self.habit == MARKS else self._pick_marks()
            return Noisy(before, value, after, kind)
        text = self._native(value, slot) if kind == NATIVE else NAME_NOISE[kind](value, self.rng)
        return Noisy("", text, "", kind) if text.strip() and text != value else Noisy("", value, "")

    def _native(self, value: str, slot: Slot) -> str:
        """The name of the same person in a script of its own, the same one throughout the text."""
        who, what = slot.who, slot.what
        if what == "literal":
            words = value.split()
            who, what = words[-1].lower(), "full" if len(words) > 1 else "last"
        if who not in self.natives:
            self.natives[who] = native_person(self.rng, self.script)
        return self.natives[who].form(what)

    def prose(self, piece: str) -> str:
        """RETURNS (str): Text between spans, some ordinary words with the noise of the names, or with a sentence about words of a script."""
        if self.habit == NATIVE:
            return self._with_sentence(piece) if self.rng.random() < 0.12 else piece
        if not self.habit or len(piece) < 60 or self.rng.random() > 0.45:
            return piece
        places = list(_WORD.finditer(piece))
        for match in sorted(
            self.rng.sample(places, min(len(places), self.rng.randint(1, 2))),
            key=lambda m: -m.start(),
        ):
            words = match.group()
            shown = self.rng.choice((words, words, words.title(), words.capitalize()))
            change = NAME_NOISE.get(self.habit)
            noisy = change(shown, self.rng) if change else f"{self.marks[0]}{shown}{self.marks[1]}"
            piece = piece[: match.start()] + noisy + piece[match.end() :]
        return piece

    def _with_sentence(self, piece: str) -> str:
        sentence = native_sentence(self.rng)
        stops = [match.end() for match in re.finditer(r"[a-z][.!?](?=\s+[A-Z])", piece)]
        at = self.rng.choice(stops) if stops else 0
        return f"{piece[:at]} {sentence}{piece[at:]}" if at else piece
