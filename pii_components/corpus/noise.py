"""Noise on names and details: one name as a student types it, all names of a text in one style.

    noisy_name("Ana Lopez", rng)                    ->  ("A N A  L O P E Z", "spaced")
    DocumentNoise(rng, style=1.0).mention(...)      all names of one text, in one style

Which noise there is, and how often: resources/corpus/noise.toml. Noise never depends on whose name
it is: it must not tell a student from an author.
"""

import random
import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable
from string import ascii_lowercase, ascii_uppercase
from typing import NamedTuple

from ..labels import (
    EMAIL,
    ID_NUM,
    PHONE_NUM,
    URL_PERSONAL,
    is_name,
)
from ..names import resource
from .templates import Slot

OnValue = Callable[[str, random.Random], str]


# --- names in other scripts, words of other scripts that are no names, and what looks like a name or
# a number of somebody

_GIVEN_FORMS = ("first", "nick", "first_initial", "initials")


def pick_script(rng: random.Random) -> str:
    """RETURNS (str): A script for names, those that students sign in most more often."""
    scripts, shares = list(resource("corpus/native")["names"]), resource("corpus/noise")["scripts"]
    return rng.choices(scripts, [shares.get(script, 1) for script in scripts])[0]


def native_person(rng: random.Random, script: str = "") -> defaultdict[str, str]:
    """RETURNS (defaultdict[str, str]): Form of a slot -> somebody's invented name in it: given name, family
    name, or both; there are no initials. Of any script if none is given."""
    script = script or pick_script(rng)
    names = resource("corpus/native")["names"][script]
    gap = names["gap"]
    # East Asian names have a space more or less at times.
    if script in ("Han", "Hangul", "Japanese") and rng.random() < 0.12:
        gap = "" if gap else " "
    given, family = rng.choice(names["given"].split()), rng.choice(names["family"].split())
    order = (family, given) if names["family_first"] else (given, family)
    full = gap.join(order)
    return defaultdict(lambda: full, dict.fromkeys(_GIVEN_FORMS, given), last=family)


def native_sentence(rng: random.Random) -> str:
    """RETURNS (str): English, with a word, a town or a title in another script: none is a name."""
    tables = resource("corpus/native")
    language = rng.choice(list(tables["words"]))
    words, towns, titles = tables["words"][language].values()
    (word, meaning), (word2, _) = rng.sample(words, 2)
    values = {"language": language, "word": word, "word2": word2, "meaning": meaning}
    values["town"], values["name"] = rng.choice(towns)
    values["title"], values["kind"] = rng.choice(titles)
    kinds = rng.choices(list(tables["sentences"].values()), (6, 2, 2))[0]
    return str(rng.choice(kinds).format(**values))


def fill_pattern(pattern: str, kinds: dict[str, str], rng: random.Random) -> str:
    """RETURNS (str): The pattern, each of its signs that `kinds` has replaced by one of that kind."""
    return "".join(rng.choice(kinds[ch]) if ch in kinds else ch for ch in pattern)


def hard_negative(rng: random.Random) -> tuple[str, str]:
    """RETURNS (tuple[str, str]): A sentence that only looks private, and its kind."""
    tables = resource("corpus/negatives")
    kind = rng.choices(("number", "public contact", "word that is a name"), (5, 2, 4))[0]
    if kind != "word that is a name":
        sentence = rng.choice(tables["numbers" if kind == "number" else "contacts"])
        return fill_pattern(sentence, {"¤": "123456789", "#": "0123456789"}, rng), kind
    values = {}
    for key, options in tables["fill"].items():
        values[key], values[f"{key}2"] = rng.sample(options, 2)
    return rng.choice(tables["words"]).format(**values), kind


# --- changes of one value

_OCR = (("rn", "m"), ("m", "rn"), ("l", "1"), ("i", "l"), ("o", "0"), ("cl", "d"), ("e", "c"))
DIGIT_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
# Letters of mathematics, as on social media.
_BOLD = {ord(ch): chr(0x1D400 + i) for i, ch in enumerate(ascii_uppercase + ascii_lowercase)}
_FULL_WIDTH = {ord(" "): "\u3000"} | {n: chr(n + 0xFEE0) for n in range(ord("!"), ord("~") + 1)}


def always(change: Callable[[str], str]) -> OnValue:
    """RETURNS (OnValue): A change that leaves nothing to chance."""
    return lambda value, rng: change(value)


def _place(name: str, rng: random.Random) -> int:
    return rng.randint(1, max(1, len(name) - 1))


def inside(mark: str) -> OnValue:
    """A mark between two characters."""

    def change(name: str, rng: random.Random) -> str:
        at = _place(name, rng)
        return name[:at] + mark + name[at:]

    return change


def _spaced(name: str, rng: random.Random) -> str:
    return rng.choice(("  ", "   ")).join(" ".join(word.upper()) for word in name.split())


def _mixed(name: str, rng: random.Random) -> str:
    first, *others = name.split(" ")
    first = first.lower() if rng.random() < 0.6 else first
    return " ".join([first, *map(str.upper, others)])


def _alternate(name: str, *, upper: bool, anew: bool = False) -> str:
    """ "AnA lOpEz": the first letter large if `upper`; `anew` after each sign that is no letter."""
    out, turn = [], upper
    for ch in name:
        out.append(ch.upper() if turn else ch.lower())
        turn = upper if anew and not ch.isalpha() else turn != ch.isalpha()
    return "".join(out)


def _torn(name: str, rng: random.Random) -> str:
    word = max(re.findall(r"[^\W\d_]+", name) or [""], key=len)
    at = len(word) // 2
    return name.replace(word, f"{word[:at]}-\n{word[at:]}", 1) if len(word) > 3 else name


def _no_accents(name: str) -> str:
    return "".join(ch for ch in unicodedata.normalize("NFD", name) if not unicodedata.combining(ch))


def curly(text: str) -> str:
    """RETURNS (str): With typographic quotes and apostrophes."""
    return text.replace("'", "’").replace(' "', " “").replace('"', "”")


def _swap(name: str, rng: random.Random) -> str:
    at = _place(name[:-2], rng)
    pair = name[at : at + 2]
    return name[:at] + pair[::-1] + name[at + 2 :] if pair.isalpha() and pair.islower() else name


def _double(name: str, rng: random.Random) -> str:
    at = _place(name, rng)
    letter = name[at - 1]
    return name[:at] + letter + name[at:] if letter.isalpha() and letter.islower() else name


def _ocr(name: str, rng: random.Random) -> str:
    old, new = rng.choice([pair for pair in _OCR if pair[0] in name[1:]] or [("", "")])
    return name[0] + name[1:].replace(old, new, 1) if old else name


def digits_worded(value: str) -> str:
    return " ".join(DIGIT_WORDS[int(ch)] for ch in value if ch.isascii() and ch.isdigit())


NATIVE, MARKS = "native script", "marks"
# Changes by name.
CHANGES: dict[str, OnValue] = {
    "upper": always(str.upper),
    "lower": always(str.lower),
    "mixed case": _mixed,
    "swapped case": always(str.swapcase),
    "alternating": lambda name, rng: _alternate(
        name, upper=rng.random() < 0.5, anew=rng.random() < 0.3
    ),
    "random case": lambda name, rng: "".join(
        ch.upper() if rng.random() < 0.5 else ch.lower() for ch in name
    ),
    "spaced": _spaced,
    "spaced lower": lambda name, rng: _spaced(name, rng).lower(),
    "no accents": always(_no_accents),
    "combining": always(lambda name: unicodedata.normalize("NFD", name)),
    "full width": always(lambda name: name.translate(_FULL_WIDTH)),
    "bold letters": always(lambda name: name.translate(_BOLD)),
    "ligature": always(lambda name: name.replace("fi", "ﬁ").replace("fl", "ﬂ")),
    "letters swapped": _swap,
    "letter doubled": _double,
    "ocr": _ocr,
    "torn": _torn,
    # A given name alone at times.
    NATIVE: lambda name, rng: native_person(rng)["first" if rng.random() < 0.2 else "full"],
}
# Changes with arguments, by name.
MAKERS: dict[str, Callable[..., OnValue]] = {
    "between letters": lambda mark: always(mark.join),
    "gap": lambda mark, count=-1: always(lambda name: name.replace(" ", mark, count)),
    "inside": inside,
    "letters": lambda old, new: always(lambda name: name.translate(str.maketrans(old, new))),
}
_KINDS = resource("corpus/noise")["kinds"]
NAME_NOISE: dict[str, OnValue] = {
    kind: MAKERS[how[0]](*how[1:]) if how else CHANGES[kind] for kind, (_, *how) in _KINDS.items()
}


def noisy_name(name: str, rng: random.Random) -> tuple[str, str]:
    """RETURNS (tuple[str, str]): A name as in a badly kept file, and the kind of noise, if any."""
    kind = rng.choices(list(_KINDS), [share for share, *_ in _KINDS.values()])[0]
    noisy = NAME_NOISE[kind](name, rng)
    return (noisy, kind) if noisy != name and noisy.strip() else (name, "")


def _spell_email(value: str, rng: random.Random) -> str:
    at = rng.choice((" at ", " [at] ", "(at)", " AT ", " @ "))
    dot = rng.choice((" dot ", " (dot) ", "[dot]", " DOT ")) if at != " @ " else " . "
    local, _, domain = value.partition("@")
    if rng.random() < 0.5:
        local = local.replace(".", dot)
    return local + at + domain.replace(".", dot)


def noisy_detail(value: str, label: str, rng: random.Random) -> tuple[str, str]:
    """RETURNS (tuple[str, str]): A detail that no machine shall find, or with stray spaces, and the
    kind of noise, if any."""
    if label == EMAIL and "@" in value:
        if rng.random() < 0.6:
            return _spell_email(value, rng), "spelt out"
        return value.replace("@", " @ "), "spaced"
    if label == PHONE_NUM:
        if rng.random() < 0.3:
            return digits_worded(value), "spelt out"
        return " ".join(re.findall(r"\d", value)), "spaced"
    if label == ID_NUM and value.isalnum() and len(value) > 5:
        return f"{value[:3]} {value[3:]}", "spaced"
    if label == URL_PERSONAL and "." in value and "\n" not in value:
        if rng.random() < 0.5:
            return value.replace(".", ". ", 1), "spaced"
        return value.replace("/", " / ", 1), "spaced"
    return value, ""


# --- noise on a document: its writer's style

_FOLLOWING = 0.9  # share of the names that follow the writer's style
_PROSE_WORD = re.compile(r"(?<![\w@/.-])[a-z]{3,12}(?: [a-z]{3,12})?(?![\w@/-])")


class Noisy(NamedTuple):
    """What stands for a name or detail: `text` is the span, `before` and `after` stand beside it;
    `kind` of noise, empty for none."""

    before: str
    text: str
    after: str
    kind: str = ""


class DocumentNoise:
    """Noise on the names and details of one text.

    rng (random.Random): Where chance comes from.
    noise (float): Share of the mentions that have noise of their own, 0 to 1.
    style (float): Probability that all names of the text have the same noise, 0 to 1.
    """

    def __init__(self, rng: random.Random, *, noise: float = 0.0, style: float = 0.0) -> None:
        self.rng = rng
        self.noise = noise
        self.style = ""
        if style and rng.random() < style:
            styles = resource("corpus/noise")["styles"]
            self.style = rng.choices(list(styles), list(styles.values()))[0]
            if self.style == "any":
                self.style = rng.choice([kind for kind in NAME_NOISE if kind != NATIVE])
        self.marks = (
            rng.choice(resource("corpus/noise")["marks"]) if self.style == MARKS else ("", "")
        )
        # Friends who write to each other share a script; in a course they do not.
        self.script = pick_script(rng) if self.style == NATIVE and rng.random() < 0.6 else ""
        self.natives: dict[str, dict[str, str]] = {}

    def mention(self, value: str, slot: Slot) -> Noisy:
        """RETURNS (Noisy): What fills a slot: in the writer's style, with noise of its own, or as it is."""
        named = is_name(slot.label)
        if named and self.style and self.rng.random() < _FOLLOWING:
            return self._by_kind(value, slot, self.style)
        if not self.noise or self.rng.random() >= self.noise:
            return Noisy("", value, "")
        if not named:
            text, kind = noisy_detail(value, slot.label, self.rng)
            return Noisy("", text, "", kind)
        if self.rng.random() < 0.2:
            return self._by_kind(value, slot, MARKS)
        text, kind = noisy_name(value, self.rng)
        return self._by_kind(value, slot, NATIVE) if kind == NATIVE else Noisy("", text, "", kind)

    def _by_kind(self, value: str, slot: Slot, kind: str) -> Noisy:
        if kind == MARKS:
            choices = resource("corpus/noise")["marks"]
            before, after = self.marks if self.style == MARKS else self.rng.choice(choices)
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
        return self.natives[who][what]

    def prose(self, piece: str) -> str:
        """RETURNS (str): Text between spans: some words with the noise of the names, or a sentence with
        words of another script."""
        if self.style == NATIVE:
            return self._with_sentence(piece) if self.rng.random() < 0.12 else piece
        if not self.style or len(piece) < 60 or self.rng.random() > 0.45:
            return piece
        places = list(_PROSE_WORD.finditer(piece))
        chosen = self.rng.sample(places, min(len(places), self.rng.randint(1, 2)))
        for match in sorted(chosen, key=lambda match: -match.start()):
            words = match.group()
            shown = self.rng.choice((words, words, words.title(), words.capitalize()))
            change = NAME_NOISE.get(self.style)
            noisy = change(shown, self.rng) if change else f"{self.marks[0]}{shown}{self.marks[1]}"
            piece = piece[: match.start()] + noisy + piece[match.end() :]
        return piece

    def _with_sentence(self, piece: str) -> str:
        sentence = native_sentence(self.rng)
        stops = [match.end() for match in re.finditer(r"[a-z][.!?](?=\s+[A-Z])", piece)]
        if not stops:
            return piece
        at = self.rng.choice(stops)
        return f"{piece[:at]} {sentence}{piece[at:]}"
