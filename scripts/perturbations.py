"""The perturbations of the study of robustness: changes of whole texts that carry their spans along.

    perturbations()[0].change(filled, rng)

A change works on `Filled`; the spans that come out lie exactly where a perfect detector would put them. Which there are:
perturbations.toml beside this module, and what they put in: perturbed_words.toml, perturbed_sentences.toml. A perturbation never
depends on whose name it is.
"""

import random
import re
import tomllib
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from pii_components.corpus import noise
from pii_components.corpus.noise import (
    NAME_NOISE,
    OnValue,
    always,
    curly,
    digits_worded,
    fill_pattern,
    hard_negative,
    inside,
)
from pii_components.corpus.templates import Filled, Piece, Span
from pii_components.labels import (
    DETAIL_LABELS,
    ID_NUM,
    NAME_CHARACTER,
    NAME_CITED,
    NAME_CONNECTED,
    NAME_STUDENT,
    is_name,
)
from pii_components.names import resource
from pii_components.names.table import name_table

Change = Callable[[Filled, random.Random], Filled]


@cache
def read_tables(name: str) -> dict[str, Any]:
    """RETURNS (dict[str, Any]): The tables of a TOML file beside this module."""
    return tomllib.loads((Path(__file__).parent / f"{name}.toml").read_text("utf8"))


# --- changes of one value: a name, a detail, a stretch of prose

_LIGATURES = {"ffi": "ﬃ", "ffl": "ﬄ", "ff": "ﬀ", "fi": "ﬁ", "fl": "ﬂ", "st": "ﬆ"}
_WORD = r"[^\W\d_]{3,}"


def each(pattern: str, change: OnValue, share: float = 1.0) -> OnValue:
    """RETURNS (OnValue): Changes what a regular expression finds, or a share of it."""

    def one(match: re.Match[str], rng: random.Random) -> str:
        chosen = share == 1.0 or rng.random() < share
        return change(match[0], rng) if chosen else match[0]

    return lambda value, rng: re.sub(pattern, lambda match: one(match, rng), value)


def _typo(word: str, rng: random.Random) -> str:
    """One letter replaced by one beside it on the keyboard, the first one seldom."""
    keys = read_tables("perturbed_words")["keys"]
    places = [i for i, char in enumerate(word) if char.lower() in keys]
    if not places:
        return word
    at = rng.choice(places[1:] or places)
    new = rng.choice(keys[word[at].lower()])
    return word[:at] + (new.upper() if word[at].isupper() else new) + word[at + 1 :]


def _replaced(name: str, share: float) -> OnValue:
    """A share of the words and phrases of a table replaced; the case of the first letter stays."""
    table: dict[str, str] = read_tables("perturbed_words")[name]
    longest_first = "|".join(map(re.escape, sorted(table, key=len, reverse=True)))

    def change(old: str, rng: random.Random) -> str:
        new = table[old.lower()]
        return new[:1].upper() + new[1:] if old[0].isupper() else new

    return each(rf"(?i)(?<![\w@.'’/-])({longest_first})(?![\w@'’/-])", change, share)


# Changes by name.
CHANGES: dict[str, OnValue] = {
    **noise.CHANGES,
    "none": always(str),
    "title": always(str.title),
    "ligatures": each("|".join(_LIGATURES), always(_LIGATURES.__getitem__)),
    "typo": _typo,
    "glued together": always(lambda name: re.sub(r"[\s,]+", "", name)),
    "curly": always(curly),
    "digits worded": always(digits_worded),
}
# Changes with arguments, by name.
MAKERS: dict[str, Callable[..., OnValue]] = {
    **noise.MAKERS,
    "inserted": lambda mark: each("[^ ]{2,}", inside(mark)),
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


# --- changes of whole texts

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


def around(where: str, before: str, after: str, inner: str = "none") -> Change:
    """RETURNS (Change): Sets strings beside each span that `where` names, outside of it.

    inner (str): How the names change themselves.
    """
    rename = on("names", change_of(inner))
    put = replaced(where, lambda value, label, rng: [(before, ""), (value, label), (after, "")])
    return lambda filled, rng: put(rename(filled, rng), rng)


def main_span(filled: Filled) -> Span | None:
    """RETURNS (Span | None): The span that matters most: the first student's name, else another private
    person's, else a detail."""
    for label in (NAME_STUDENT, "names", "details"):
        for span in filled.spans:
            if chosen_by(label)(span[2]) and span[2] not in (NAME_CITED, NAME_CHARACTER):
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
        left = resource("corpus/native")["name_words"][language].split()
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
        sentence = rng.choice(read_tables("perturbed_sentences")[kind])
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
                sentence = rng.choice(read_tables("perturbed_sentences")[kind])
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
