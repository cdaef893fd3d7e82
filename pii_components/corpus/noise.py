"""Noise on texts with labelled spans: one name as a student types it, all names of a text, a whole text.

    noisy_name("Ana Lopez", rng)                    ->  ("A N A  L O P E Z", "spaced")
    DocumentNoise(rng, style=1.0).mention(...)      all names of one text, in one style
    perturbations()[0].change(filled, rng)          what robustness measures and training may see

A change of a text works on `Filled` and carries the spans along: those that come out lie exactly
where a perfect detector would put them. Which noise there is, and how often: resources/corpus,
noise.toml and perturbations.toml. Noise never depends on whose name it is: it must not tell a
student from an author.
"""

import random
import re
import unicodedata
from collections.abc import Callable, Iterable
from string import ascii_lowercase, ascii_uppercase
from typing import Any, NamedTuple

from ..labels import (
    DETAIL_LABELS,
    EMAIL,
    ID_NUM,
    NAME_CONNECTED,
    NAME_STUDENT,
    PHONE_NUM,
    URL_PERSONAL,
    is_name,
)
from ..names.table import name_table
from .templates import PUBLIC_LABELS, Filled, Piece, Slot, Span, read_tables

OnValue = Callable[[str, random.Random], str]
Change = Callable[[Filled, random.Random], Filled]


# --- names in other scripts, words of other scripts that are no names, and what looks like a name or
# a number of somebody

_GIVEN_FORMS = frozenset(("first", "nick", "first_initial", "initials"))


class NativePerson(NamedTuple):
    """A person whose name is in a script other than Latin: given name, family name, and both."""

    given: str
    family: str
    full: str

    def form(self, what: str) -> str:
        """RETURNS (str): Given name, family name or both, as a slot asks; there are no initials."""
        if what in _GIVEN_FORMS:
            return self.given
        return self.family if what == "last" else self.full


def pick_script(rng: random.Random) -> str:
    """RETURNS (str): A script for names, those that students sign in most more often."""
    scripts, shares = list(read_tables("native")["names"]), read_tables("noise")["scripts"]
    return rng.choices(scripts, [shares.get(script, 1) for script in scripts])[0]


def native_person(rng: random.Random, script: str = "") -> NativePerson:
    """RETURNS (NativePerson): Somebody invented, of any script if none is given."""
    script = script or pick_script(rng)
    names = read_tables("native")["names"][script]
    gap = names["gap"]
    # East Asian names have a space more or less at times.
    if script in ("Han", "Hangul", "Japanese") and rng.random() < 0.12:
        gap = "" if gap else " "
    given, family = rng.choice(names["given"].split()), rng.choice(names["family"].split())
    order = (family, given) if names["family_first"] else (given, family)
    return NativePerson(given, family, gap.join(order))


def native_sentence(rng: random.Random) -> str:
    """RETURNS (str): English, with a word, a town or a title in another script: none is a name."""
    tables = read_tables("native")
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
    tables = read_tables("negatives")
    kind = rng.choices(("number", "public contact", "word that is a name"), (5, 2, 4))[0]
    if kind != "word that is a name":
        sentence = rng.choice(tables["numbers" if kind == "number" else "contacts"])
        return fill_pattern(sentence, {"¤": "123456789", "#": "0123456789"}, rng), kind
    values = {}
    for key, options in tables["fill"].items():
        values[key], values[f"{key}2"] = rng.sample(options, 2)
    return rng.choice(tables["words"]).format(**values), kind


# --- changes of one value: a name, a detail, a stretch of prose

_OCR = (("rn", "m"), ("m", "rn"), ("l", "1"), ("i", "l"), ("o", "0"), ("cl", "d"), ("e", "c"))
DIGIT_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_LIGATURES = {"ffi": "ﬃ", "ffl": "ﬄ", "ff": "ﬀ", "fi": "ﬁ", "fl": "ﬂ", "st": "ﬆ"}
_WORD = r"[^\W\d_]{3,}"
# Letters of mathematics, as on social media.
_BOLD = {ord(ch): chr(0x1D400 + i) for i, ch in enumerate(ascii_uppercase + ascii_lowercase)}
_FULL_WIDTH = {ord(" "): "\u3000"} | {n: chr(n + 0xFEE0) for n in range(ord("!"), ord("~") + 1)}


def always(change: Callable[[str], str]) -> OnValue:
    """RETURNS (OnValue): A change that leaves nothing to chance."""
    return lambda value, rng: change(value)


def each(pattern: str, change: OnValue, share: float = 1.0) -> OnValue:
    """RETURNS (OnValue): Changes what a regular expression finds, or a share of it."""

    def one(match: re.Match[str], rng: random.Random) -> str:
        chosen = share == 1.0 or rng.random() < share
        return change(match[0], rng) if chosen else match[0]

    return lambda value, rng: re.sub(pattern, lambda match: one(match, rng), value)


def _place(name: str, rng: random.Random) -> int:
    return rng.randint(1, max(1, len(name) - 1))


def _inside(mark: str) -> OnValue:
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


def _typo(word: str, rng: random.Random) -> str:
    """One letter replaced by one beside it on the keyboard, the first one seldom."""
    keys = read_tables("words")["keys"]
    places = [i for i, char in enumerate(word) if char.lower() in keys]
    if not places:
        return word
    at = rng.choice(places[1:] or places)
    new = rng.choice(keys[word[at].lower()])
    return word[:at] + (new.upper() if word[at].isupper() else new) + word[at + 1 :]


def _replaced(name: str, share: float) -> OnValue:
    """A share of the words and phrases of a table replaced; the case of the first letter stays."""
    table: dict[str, str] = read_tables("words")[name]
    longest_first = "|".join(map(re.escape, sorted(table, key=len, reverse=True)))

    def change(old: str, rng: random.Random) -> str:
        new = table[old.lower()]
        return new[:1].upper() + new[1:] if old[0].isupper() else new

    return each(rf"(?i)(?<![\w@.'’/-])({longest_first})(?![\w@'’/-])", change, share)


def _digits_worded(value: str) -> str:
    return " ".join(DIGIT_WORDS[int(ch)] for ch in value if ch.isascii() and ch.isdigit())


NATIVE, MARKS = "native script", "marks"
# Changes by name.
CHANGES: dict[str, OnValue] = {
    "none": always(str),
    "upper": always(str.upper),
    "lower": always(str.lower),
    "title": always(str.title),
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
    "ligatures": each("|".join(_LIGATURES), always(_LIGATURES.__getitem__)),
    "letters swapped": _swap,
    "letter doubled": _double,
    "ocr": _ocr,
    "typo": _typo,
    "torn": _torn,
    # A given name alone at times.
    NATIVE: lambda name, rng: native_person(rng).form("first" if rng.random() < 0.2 else "full"),
    "glued together": always(lambda name: re.sub(r"[\s,]+", "", name)),
    "curly": always(curly),
    "digits worded": always(_digits_worded),
}
# Changes with arguments, by name.
MAKERS: dict[str, Callable[..., OnValue]] = {
    "between letters": lambda mark: always(mark.join),
    "gap": lambda mark, count=-1: always(lambda name: name.replace(" ", mark, count)),
    "inside": _inside,
    "inserted": lambda mark: each("[^ ]{2,}", _inside(mark)),
    "letters": lambda old, new: always(lambda name: name.translate(str.maketrans(old, new))),
    "in words": lambda name, share: each(_WORD, change_of(name), share),
    "one space in eight": lambda mark: each(r"(?<=\S) (?=\S)", always(lambda space: mark), 0.125),
    # "#" is a digit, "%" one from 1 to 9.
    "number": lambda form: (
        lambda value, rng: fill_pattern(form, {"#": "0123456789", "%": "123456789"}, rng)
    ),
    "regex": lambda pattern, new, count=0: always(
        lambda value: re.sub(pattern, new, value, count=count)
    ),
    "spelt": lambda at, dot: always(lambda value: value.replace("@", at).replace(".", dot)),
    "spread": lambda joint: always(lambda value: joint.join(ch for ch in value if ch.isalnum())),
    "table": _replaced,
}


def change_of(name: str, *arguments: Any) -> OnValue:
    """RETURNS (OnValue): A change by its name: one of `CHANGES`, of `MAKERS` with its arguments, or of
    the kinds of noise on names."""
    if arguments:
        return MAKERS[name](*arguments)
    return CHANGES.get(name) or NAME_NOISE[name]


_KINDS = read_tables("noise")["kinds"]
NAME_NOISE: dict[str, OnValue] = {
    kind: change_of(*how) if how else CHANGES[kind] for kind, (_, *how) in _KINDS.items()
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
            return _digits_worded(value), "spelt out"
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
            styles = read_tables("noise")["styles"]
            self.style = rng.choices(list(styles), list(styles.values()))[0]
            if self.style == "any":
                self.style = rng.choice([kind for kind in NAME_NOISE if kind != NATIVE])
        self.marks = rng.choice(read_tables("noise")["marks"]) if self.style == MARKS else ("", "")
        # Friends who write to each other share a script; in a course they do not.
        self.script = pick_script(rng) if self.style == NATIVE and rng.random() < 0.6 else ""
        self.natives: dict[str, NativePerson] = {}

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
            choices = read_tables("noise")["marks"]
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
        return self.natives[who].form(what)

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


# --- perturbations: changes of whole texts, to measure with and to train on

CASE, SCRIPT, LAYOUT, NOISE = "case", "script", "layout", "noise"
CONTACT, LENGTH, ATTACK, MEANING = "contact", "length", "attack", "meaning"
CLASSES = (CASE, SCRIPT, LAYOUT, NOISE, CONTACT, LENGTH, ATTACK, MEANING)
PRIVATE = f"{NAME_STUDENT} {NAME_CONNECTED}"


def chosen_by(where: str) -> Callable[[str], bool]:
    """RETURNS (Callable): Whether a label is among "names", "details", "prose" (no label), "text" (all
    of it), "all" (all spans), or some labels."""
    among: dict[str, Callable[[str], bool]] = {
        "names": is_name,
        "details": lambda label: label in DETAIL_LABELS,
        "prose": lambda label: not label,
        "text": lambda label: True,
        "all": bool,
    }
    return among.get(where) or (lambda label: label in where.split())


class Perturbation(NamedTuple):
    """A change of a text, with what a study measures under it.

    kind (str): One of `CLASSES`.
    about (str): What it does, by example.
    change (Change): The pure function.
    counts (str): Which spans are measured, see `chosen_by`.
    rewrites (bool): The spans' own text is what changes, and their number and order stay.
    """

    name: str
    kind: str
    about: str
    change: Change
    counts: str = "all"
    rewrites: bool = False


def replaced(where: str, new: Callable[[str, str, random.Random], Iterable[Piece]]) -> Change:
    """RETURNS (Change): Sets pieces in the place of each piece that `where` names."""
    chosen = chosen_by(where)

    def change(filled: Filled, rng: random.Random) -> Filled:
        pieces: list[Piece] = []
        for value, label in filled.pieces():
            pieces += new(value, label, rng) if chosen(label) else [(value, label)]
        return filled.with_pieces(pieces)

    return change


def on(where: str, change: OnValue) -> Change:
    """RETURNS (Change): Changes the text of each piece that `where` names; spans never come out empty."""

    def new(value: str, label: str, rng: random.Random) -> list[Piece]:
        made = change(value, rng)
        return [(made if made.strip() or not label else value, label)]

    return replaced(where, new)


def around(where: str, before: str, after: str, inside: str = "none") -> Change:
    """RETURNS (Change): Sets strings beside each span that `where` names, outside of it.

    inside (str): How the names change themselves.
    """
    rename = on("names", change_of(inside))
    put = replaced(where, lambda value, label, rng: [(before, ""), (value, label), (after, "")])
    return lambda filled, rng: put(rename(filled, rng), rng)


def main_span(filled: Filled) -> Span | None:
    """RETURNS (Span | None): The span that matters most: the first student's name, else another private
    person's, else a detail."""
    for label in (NAME_STUDENT, "names", "details"):
        for span in filled.spans:
            if chosen_by(label)(span[2]) and span[2] not in PUBLIC_LABELS:
                return span
    return None


def _writer(filled: Filled) -> Piece:
    """Name and label of the first private person, students before others; empty if there is none."""
    private = [span for span in filled.spans if span[2] in PRIVATE.split()]
    start, end, label = min(private, key=lambda s: (s[2] != NAME_STUDENT, s[0]), default=(0, 0, ""))
    return " ".join(filled.text[start:end].split()), label


def _with(pattern: str, *values: Piece) -> Filled:
    """A text with values and their labels in place of its {0} and {1}."""
    parts = re.split(r"\{(\d)\}", pattern)
    return Filled("").with_pieces(
        values[int(part)] if i % 2 else (part, "") for i, part in enumerate(parts)
    )


def _in_script(language: str, joint: str) -> Change:
    """Names in another script: a word of a name becomes the same one throughout a text; initials and
    commas go."""

    def change(filled: Filled, rng: random.Random) -> Filled:
        left = read_tables("native")["name_words"][language].split()
        rng.shuffle(left)
        known: dict[str, str] = {}

        def translate(value: str) -> str:
            words = re.findall(r"[^\W_]+", re.sub(r"(?<=\w)['’.](?=\w)", "", value.lower()))
            return joint.join(known.setdefault(w, left[len(known) % len(left)]) for w in words)

        return on("names", always(translate))(filled, rng)

    return change


_glue = on("names", CHANGES["glued together"])


def _glued_to_id(filled: Filled, rng: random.Random) -> Filled:
    """ "AnaLopez_20231234" for every student's name; the number is a span of its own."""

    def new(value: str, label: str, rng: random.Random) -> list[Piece]:
        number = f"20{rng.randint(18, 25)}{rng.randint(0, 9999):04d}"
        return [(value, label), ("_", ""), (number, ID_NUM)]

    return replaced(NAME_STUDENT, new)(_glue(filled, rng), rng)


def _with_others(joint: str, many: int, share: float = 1.0, where: str = PRIVATE) -> Change:
    """So many invented people beside each name, of the same label; glued if nothing joins them.

    share (float): Of the names that get somebody.
    where (str): Which names, see `chosen_by`.
    """
    table = name_table()

    def new(value: str, label: str, rng: random.Random) -> list[Piece]:
        pieces = [(value, label)]
        if value.strip() and (share == 1.0 or rng.random() < share):
            for _ in range(many):
                name = f"{table.sample_given(rng)} {table.sample_surname(rng)}"
                pieces += [(joint, ""), (name if joint else name.replace(" ", ""), label)]
        return pieces

    put = replaced(where, new)
    return lambda filled, rng: put(filled if joint or share < 1 else _glue(filled, rng), rng)


def _without(pattern: str) -> Change:
    """Deletes what a regular expression finds between spans; it sees the whole text, names too."""

    def change(filled: Filled, rng: random.Random) -> Filled:
        for match in reversed(list(re.finditer(pattern, filled.text))):
            if not filled.is_marked(*match.span()):
                filled = filled.put(Filled(""), *match.span())
        return filled

    return change


def _page_header(filled: Filled, rng: random.Random) -> Filled:
    """ "Lopez 2" on a line of its own in the middle; "Page 2" without a person."""
    name, label = _writer(filled)
    head = (re.split(r"[\s_]+", name)[-1], label) if name else ("Page", "")
    places = filled.stops() or [len(filled.text)]
    return filled.put(_with("\n{0} 2\n", head), places[len(places) // 2])


def _header_block(filled: Filled, rng: random.Random) -> Filled:
    """Name, student ID and who submitted on top; without a person, lines with nothing of one."""
    name = _writer(filled)
    if not name[1]:
        return Filled("Course: Introduction\nAssignment: Essay 2\nWords: 500\n\n") + filled
    number = (f"{rng.randint(10**7, 10**8 - 1)}", ID_NUM)
    return _with("Name: {0}\nStudent ID: {1}\nSubmitted by: {0}\n\n", name, number) + filled


def _signature_block(filled: Filled, rng: random.Random) -> Filled:
    """ "Best regards," and the first person's name under the text; a line of thanks without one."""
    name = _writer(filled)
    pattern = "\n\nBest regards,\n{0}\n" if name[1] else "\n\nThank you for reading.\n"
    return filled + _with(pattern, name)


def _instructions(kind: str, where: str) -> Change:
    """A sentence that gives orders, at the "start", "beside" the main person, or at the "end"."""

    def change(filled: Filled, rng: random.Random) -> Filled:
        sentence = rng.choice(read_tables("sentences")[kind])
        if where == "start":
            return Filled(f"{sentence}\n\n") + filled
        if where == "end":
            return filled + Filled(f"\n\n{sentence}")
        main, places = main_span(filled), filled.stops()
        before = [at for at in places if at <= main[0]] if main else places[:1]
        return filled.put(Filled(f" {sentence} "), before[-1] if before else 0)

    return change


def _sentences(kind: str, label: str = "", shared: bool = False) -> Change:
    """Sentences of a kind, set in after some of a text: about one other person, or about nobody.

    kind (str): Of the table, or "numbers" for those that only look private.
    shared (bool): Whether that person has the surname of the first private one.
    """

    def change(filled: Filled, rng: random.Random) -> Filled:
        words = re.findall(r"[^\W\d_]{2,}", _writer(filled)[0]) if shared else []
        name = words[-1].capitalize() if words else name_table().sample_surname(rng)
        places = filled.stops()
        for at in sorted(rng.sample(places, k=min(3, len(places))), reverse=True):
            sentence = f" {hard_negative(rng)[0]}"
            if kind != "numbers":
                sentence = rng.choice(read_tables("sentences")[kind])
            filled = filled.put(_with(sentence, (name, label)), at)
        return filled

    return change


# Changes of a whole text; those whose rows have arguments are made from these.
DOCUMENT: dict[str, Callable[..., Any]] = {
    "glued to ID": _glued_to_id,
    "header block": _header_block,
    "instructions": _instructions,
    "page header": _page_header,
    "sentences": _sentences,
    "signature block": _signature_block,
    "with others": _with_others,
    "without": _without,
}


def _perturbation(
    kind: str, name: str, about: str, where: str, what: str, *arguments: Any
) -> Perturbation:
    """One row of the table."""
    scope, _, of = where.partition(" ")
    if scope == "around":
        return Perturbation(name, kind, about, around(of, what, *arguments), of)
    if scope == "document":
        change = DOCUMENT[what](*arguments) if arguments else DOCUMENT[what]
        return Perturbation(name, kind, about, change, of)
    if scope == "people":
        return Perturbation(name, kind, about, _in_script(*arguments), "names", rewrites=True)
    change = on(where, change_of(what, *arguments))
    if scope in ("prose", "text"):
        return Perturbation(name, kind, about, change)
    counts = "names" if scope == "names" else "details"
    return Perturbation(name, kind, about, change, counts, rewrites=True)


def perturbations() -> list[Perturbation]:
    """RETURNS (list[Perturbation]): Those of perturbations.toml, class by class."""
    return [
        _perturbation(kind, name, *row)
        for kind, rows in read_tables("perturbations").items()
        for name, row in rows.items()
    ]
