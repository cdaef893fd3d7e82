"""Perturbations: ways in which a text is changed while its spans are carried along, to measure with and to train on.

    perturbations()["names_lower"]("I am Ana Lopez.", ((5, 14, "NAME_STUDENT"),), rng)
    ->  ("I am ana lopez.", ((5, 14, "NAME_STUDENT"),))

Which there are: resources/corpus/perturbations.toml, each made of the changes below and of corpus/noise.py. Every change is a pure function
`(text, spans, rng) -> (text, spans)`. Spans are characters, end exclusive, sorted and apart; those that come out lie exactly where a
perfect detector would put them. Labels that are unknown here (a masked stretch) travel along untouched.
"""

import random
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from ..errors import Errors, PiiError
from ..labels import (
    AGE,
    DETAIL_LABELS,
    ID_NUM,
    NAME_CITED,
    NAME_CONNECTED,
    NAME_INSTRUCTOR,
    NAME_STUDENT,
    is_name,
)
from ..names.table import name_table
from . import edit
from .edit import (
    ALL,
    DETAILS,
    NAMES,
    Change,
    Filled,
    OnValue,
    Perturbed,
    Span,
    Spans,
    insert,
    joined,
    on_names,
    rewrite,
    stops,
)
from .noise import (
    CHANGES,
    DIGIT_WORDS,
    NAME_NOISE,
    alternate,
    always,
    curly,
    fill_pattern,
    hard_negative,
    inside,
)
from .people import invent_person
from .templates import PUBLIC_LABELS, Slot, read_tables

if TYPE_CHECKING:
    from spacy.language import Language

CASE, SCRIPT, LAYOUT, NOISE = "case", "script", "layout", "noise"
CONTACT, LENGTH, ATTACK, MEANING = "contact", "length", "attack", "meaning"
CLASSES = (CASE, SCRIPT, LAYOUT, NOISE, CONTACT, LENGTH, ATTACK, MEANING)
UNTOLD = "UNLABELLED"
MAIN = "main"

_WORDS = read_tables("words")
_SENTENCES = read_tables("sentences")
_WORD = r"[^\W\d_]{3,}"


@dataclass(frozen=True, slots=True)
class Perturbation:
    """A change with what is measured under it.

    name (str): Unique. kind (str): One of `CLASSES`. about (str): What it does, by example.
    change (Change): The pure function.
    counts (str): Which spans are measured: "all", "names", "details", "main" for that of `main_span`, or those of one label.
    rewrites (bool): The spans' own text is what changes, and their number and order stay: only those that did change are measured.
    """

    name: str
    kind: str
    about: str
    change: Change
    counts: str = ALL
    rewrites: bool = False

    def __call__(self, text: str, spans: Iterable[Span], rng: random.Random) -> Perturbed:
        """RETURNS (Perturbed): The changed text with its spans, or what came in where there is nothing to change.

        RAISES (PiiError): E761, if the spans are out of order, before or after the change.
        """
        given = tuple(spans)
        edit.check_spans(text, given, self.name)
        new_text, new_spans = self.change(text, given, rng)
        edit.check_spans(new_text, new_spans, self.name)
        return new_text, new_spans

    def measured(
        self, before: str, old: Spans, after: str, new: Spans
    ) -> tuple[list[int], list[int]]:
        """RETURNS (tuple[list[int], list[int]]): Places in `old` and `new` of what is measured: the same people before and after."""
        of_old, of_new = self._counted(old), self._counted(new)
        if self.rewrites:
            of_old = of_new = [
                i for i in of_old if before[old[i][0] : old[i][1]] != after[new[i][0] : new[i][1]]
            ]
        return of_old, of_new

    def _counted(self, spans: Spans) -> list[int]:
        if self.counts == MAIN:
            return [i for i in (main_span(spans),) if i is not None]
        return [i for i, (*_, label) in enumerate(spans) if edit.is_among(self.counts, label)]


def main_span(spans: Spans) -> int | None:
    """RETURNS (int | None): Place of the span that matters most: the first student's name, else another person's or detail."""
    labels = [label for *_, label in spans]
    of_persons = [
        i for i, label in enumerate(labels) if is_name(label) and label not in PUBLIC_LABELS
    ]
    student = [i for i in of_persons if labels[i] == NAME_STUDENT]
    return next(
        iter(
            (
                *student,
                *of_persons,
                *(i for i, label in enumerate(labels) if label in DETAIL_LABELS),
            )
        ),
        None,
    )


def _private(spans: Spans) -> list[Span]:
    return [span for span in spans if span[2] in (NAME_STUDENT, NAME_CONNECTED)]


def _writer(text: str, spans: Spans) -> tuple[str, str]:
    """Name and label of the first private person, students before others; empty if there is none."""
    start, end, label = min(
        _private(spans), key=lambda s: (s[2] != NAME_STUDENT, s[0]), default=(0, 0, "")
    )
    return " ".join(text[start:end].split()), label


def _first_words(text: str, spans: Spans) -> list[str]:
    """The words of the name of the private person who comes first in the text."""
    return [
        word
        for start, end, _ in _private(spans)[:1]
        for word in re.findall(r"[^\W\d_]{2,}", text[start:end])
    ]


def _surname(text: str, spans: Spans, rng: random.Random) -> str:
    """The last word of the first private person's name, or any surname."""
    words = _first_words(text, spans)
    return words[-1].capitalize() if words else name_table().sample_surname(rng)


def _invented_name(rng: random.Random) -> str:
    return invent_person(rng, name_table()).render(Slot("friend", "full"), rng)


def _with(pattern: str, *values: tuple[str, str]) -> Perturbed:
    """A text with values and their labels in place of its {0} and {1}."""
    parts = re.split(r"\{(\d)\}", pattern)
    return joined(values[int(part)] if i % 2 else (part, "") for i, part in enumerate(parts))


# Changes of one value: characters, case, misspelt words, words for other words, contact details that no machine shall find.

_ACCENTS, _KEYS = _WORDS["accents"], _WORDS["keys"]
_STROKES = str.maketrans("øØłŁđĐı", "oOlLdDi")
_LIGATURES = {"ffi": "ﬃ", "ffl": "ﬄ", "ff": "ﬀ", "fi": "ﬁ", "fl": "ﬂ", "st": "ﬆ"}
_EMOJI = "🌸😊⭐🔥🦋"
_ONES = (
    *DIGIT_WORDS,
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
)
_TENS = ("", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_SCALES = ((10**9, "billion"), (10**6, "million"), (1000, "thousand"), (100, "hundred"))


def _each(pattern: str, change: OnValue) -> OnValue:
    """Changes all that a regular expression finds."""
    return lambda value, rng: re.sub(pattern, lambda m: change(m.group(), rng), value)


def _at_times(share: float, change: OnValue) -> OnValue:
    return lambda value, rng: change(value, rng) if rng.random() < share else value


def _regex(pattern: str, new: str, count: int = 0) -> OnValue:
    return lambda value, rng: re.sub(pattern, new, value, count=count)


def _mixed(name: str) -> str:
    first, *others = name.split(" ")
    return (
        " ".join([first.lower(), *(word.upper() for word in others)])
        if others
        else name[:1].lower() + name[1:].upper()
    )


def _accents_added(name: str, rng: random.Random) -> str:
    """One letter in two that can bear an accent, and one at least."""
    places = [i for i, char in enumerate(name) if char.lower() in _ACCENTS]
    chosen = {i for i in places if rng.random() < 0.5} or set(places[:1])
    marked = (
        rng.choice(_ACCENTS[char.lower()]) if i in chosen else char for i, char in enumerate(name)
    )
    return "".join(
        new.upper() if char.isupper() else new for new, char in zip(marked, name, strict=True)
    )


def _typo(word: str, rng: random.Random) -> str:
    """One letter replaced by one beside it on the keyboard, the first one seldom."""
    places = [i for i, char in enumerate(word) if char.lower() in _KEYS]
    if not places:
        return word
    at = rng.choice(places[1:] or places)
    new = rng.choice(_KEYS[word[at].lower()])
    return word[:at] + (new.upper() if word[at].isupper() else new) + word[at + 1 :]


def _letter_dropped(word: str, rng: random.Random) -> str:
    """Without one letter, not the first."""
    places = [i for i, char in enumerate(word) if char.isalpha()][1:]
    at = rng.choice(places) if places else len(word)
    return word[:at] + word[at + 1 :]


def _replaced(name: str, share: float) -> OnValue:
    """A share of the words and phrases of a table replaced; the case of the first letter stays."""
    table: dict[str, str] = _WORDS[name]
    longest_first = "|".join(map(re.escape, sorted(table, key=len, reverse=True)))

    def change(old: str, rng: random.Random) -> str:
        new = table[old.lower()]
        return new[:1].upper() + new[1:] if old[0].isupper() else new

    return _each(rf"(?i)(?<![\w@.'’/-])({longest_first})(?![\w@'’/-])", _at_times(share, change))


def number_to_words(number: int) -> str:
    """RETURNS (str): "two thousand and nineteen", for 0 to 999,999,999,999."""
    if number < 20:
        return _ONES[number]
    if number < 100:
        return _TENS[number // 10] + (f"-{_ONES[number % 10]}" if number % 10 else "")
    scale, word = next((scale, word) for scale, word in _SCALES if number >= scale)
    rest = number % scale
    joint = " and " if rest < 100 else " "
    return f"{number_to_words(number // scale)} {word}" + (
        joint + number_to_words(rest) if rest else ""
    )


def _digits_worded(value: str) -> str:
    words = re.sub(r"\d", lambda m: f" {DIGIT_WORDS[int(m.group())]} ", value)
    return re.sub(r"[\s()+.-]+", " ", words).strip()


def _url_spaced(value: str) -> str:
    scheme, mark, rest = value.rpartition("://")
    return scheme + mark + re.sub(r"([./])", r" \1 ", rest).strip()


_APOSTROPHE = _each(r" (?=[^\W\d_][^ ]*\Z)", lambda space, rng: f" {rng.choice('ODN')}'")
_GLUED = _regex(r"[\s,]+", "")
_VALUES: dict[str, Callable[..., Any]] = {
    **CHANGES,
    **NAME_NOISE,
    "title": always(str.title),
    "lower then upper": always(_mixed),
    "in turn": lambda v, rng: alternate(v, upper=rng.random() >= 0.5),
    "accents added": _accents_added,
    "accents removed": lambda v, rng: NAME_NOISE["no accents"](v, rng).translate(_STROKES),
    "stray mark": lambda v, rng: _VALUES["inserted"](rng.choice("\u0307\u0323\u0332\u0336"))(
        v, rng
    ),
    "ligatures": _each("|".join(_LIGATURES), lambda letters, rng: _LIGATURES[letters]),
    "emoji inside": lambda v, rng: v.replace(" ", f" {rng.choice(_EMOJI)} ", 1),
    "glued together": _GLUED,
    "typo": _typo,
    "letter dropped": _letter_dropped,
    "numbers worded": _each(
        r"(?<![\w.,:/@#-])\d{1,9}(?![\w:/@%-]|[.,]\d)",
        lambda digits, rng: number_to_words(int(digits)),
    ),
    "no punctuation": _regex(r"[.,;:!?\"'()\[\]…“”‘’-]", ""),
    "curly": always(curly),
    "digits worded": always(_digits_worded),
    "broken in the middle": lambda v, rng: f"{v[: len(v) // 2]}\n{v[len(v) // 2 :]}",
    "in groups": lambda v, rng: "-".join(re.findall(r"\w{1,3}", re.sub(r"\W", "", v))),
    "URL spaced": always(_url_spaced),
    "defanged": lambda v, rng: re.sub(r"^http", "hxxp", v).replace(".", "[.]", 1),
    "as handle": lambda v, rng: "@" + (re.findall(r"[\w.-]+", v) or ["ana"])[-1],
    # With arguments: what makes the change.
    "apostrophe": lambda mark: lambda v, rng: _APOSTROPHE(v, rng).replace("'", mark),
    "in words": lambda name, share: _each(_WORD, _at_times(share, _VALUES[name])),
    "inserted": lambda mark: _each("[^ ]{2,}", inside(mark)),
    # "#" is a digit, "%" one from 1 to 9.
    "number": lambda form: (
        lambda v, rng: re.sub("[#%]", lambda m: str(rng.randint(m.group() == "%", 9)), form)
    ),
    "one space in eight": lambda mark: _each(
        r"(?<=\S) (?=\S)", _at_times(0.125, lambda space, rng: mark)
    ),
    "regex": _regex,
    "spelt": lambda at, dot: lambda v, rng: v.replace("@", at).replace(".", dot),
    "spread": lambda joint: lambda v, rng: joint.join(ch for ch in v if ch.isalnum()),
    "table": _replaced,
}


# Changes of all names of a text.


def _on_people(make: Callable[[random.Random], OnValue]) -> Change:
    return lambda text, spans, rng: on_names(make(rng))(text, spans, rng)


def _in_script(language: str, joint: str) -> Callable[[random.Random], OnValue]:
    """Names in another script: a word of a name becomes the same one throughout a text; initials and commas go."""

    def make(rng: random.Random) -> OnValue:
        left = read_tables("native")["name_words"][language].split()
        rng.shuffle(left)
        known: dict[str, str] = {}

        def change(value: str, rng: random.Random) -> str:
            parts = (
                "".join(ch for ch in word if ch.isalnum()).lower()
                for word in value.replace("_", " ").split()
            )
            return joint.join(
                known.setdefault(part, left[len(known) % len(left)]) for part in parts if part
            )

        return change

    return make


def _exchanged(rng: random.Random) -> OnValue:
    """Other people's names, word by word the same one throughout (LangTest's swap_entities)."""
    table, known = name_table(), dict[str, str]()

    def other(word: str, rng: random.Random) -> str:
        if word.lower() not in known:
            draw = (
                table.sample_given
                if table.is_given(word) and not table.is_surname(word)
                else table.sample_surname
            )
            known[word.lower()] = draw(rng)
        new = known[word.lower()]
        return new.upper() if word.isupper() else new.lower() if word.islower() else new

    return _each(_WORD, other)


def _inconsistent(rng: random.Random) -> OnValue:
    """Every second mention of a name with a letter doubled or dropped."""
    seen = Counter[str]()

    def change(value: str, rng: random.Random) -> str:
        key = value.lower().split()[-1]
        seen[key] += 1
        misspell = rng.choice((NAME_NOISE["letter doubled"], _letter_dropped))
        return misspell(value, rng) if seen[key] % 2 == 0 else value

    return change


_PEOPLE: dict[str, Callable[..., Any]] = {
    "in script": _in_script,
    "exchanged": _exchanged,
    "inconsistent": _inconsistent,
}


# Changes of a whole text: layout, and what is set in.


def _emoji_beside(text: str, spans: Spans, rng: random.Random) -> Perturbed:
    """ "🌸Ana Lopez🌸", the signs outside of the span."""
    signs = [(start, end, rng.choice(_EMOJI)) for start, end, label in spans if is_name(label)]
    return edit.apply_edits(
        text, spans, [(at, at, sign) for start, end, sign in signs for at in (start, end)]
    )


def _glued_to_id(text: str, spans: Spans, rng: random.Random) -> Perturbed:
    """ "AnaLopez_20231234" for every student's name; the number is a span of its own."""
    text, spans = on_names(_GLUED)(text, spans, rng)
    for _, end, label in reversed(spans):
        if label == NAME_STUDENT:
            number = f"20{rng.randint(18, 25)}{rng.randint(0, 9999):04d}"
            text, spans = insert(text, spans, end, *_with("_{0}", (number, ID_NUM)))
    return text, spans


def _no_space_before(text: str, spans: Spans, rng: random.Random) -> Perturbed:
    """ "my essay.Ana Lopez": the space before a name gone, a full stop there."""
    starts = [
        start
        for start, _, label in spans
        if is_name(label) and start > 1 and text[start - 1] == " "
    ]
    return edit.apply_edits(
        text, spans, [(at - 1, at, "" if text[at - 2] in ".,;:!?" else ".") for at in starts]
    )


def _page_headers(text: str, spans: Spans, rng: random.Random) -> Perturbed:
    """ "Lopez 2" on a line of its own in the middle of the text, each 1,500 characters; "Page 2" without a person."""
    name, label = _writer(text, spans)
    places = stops(text, spans)
    chosen = [
        at
        for i, at in enumerate(places)
        if i == len(places) // 2 or at // 1500 > (places[i - 1] if i else 0) // 1500
    ]
    head = (re.split(r"[\s_]+", name)[-1], label)
    for page, at in reversed(list(enumerate(chosen, 2))):
        text, spans = insert(
            text, spans, at, *_with(f"\n{{0}} {page}\n", head if head[0] else ("Page", ""))
        )
    return text, spans


def _header_block(text: str, spans: Spans, rng: random.Random) -> Perturbed:
    """Name, student ID and who submitted on lines of their own on top; without a person, lines with nothing of one."""
    name = _writer(text, spans)
    if not name[1]:
        return insert(text, spans, 0, "Course: Introduction\nAssignment: Essay 2\nWords: 500\n\n")
    number = (f"{rng.randint(10**7, 10**8 - 1)}", ID_NUM)
    return insert(
        text, spans, 0, *_with("Name: {0}\nStudent ID: {1}\nSubmitted by: {0}\n\n", name, number)
    )


def _signature_block(text: str, spans: Spans, rng: random.Random) -> Perturbed:
    """ "Best regards," and the first person's name under the text; "Thank you for reading." without one."""
    name = _writer(text, spans)
    pattern = "\n\nBest regards,\n{0}\n" if name[1] else "\n\nThank you for reading.\n"
    return insert(text, spans, len(text), *_with(pattern, name))


def _with_others(joint: str, many: int) -> Change:
    """So many invented people beside every private person's name, of the same label; glued together if nothing joins them."""

    def change(text: str, spans: Spans, rng: random.Random) -> Perturbed:
        if not joint:
            text, spans = on_names(_GLUED)(text, spans, rng)
        for _, end, label in reversed(_private(spans)):
            others = [_invented_name(rng) for _ in range(many)]
            pieces = [
                piece
                for name in others
                for piece in ((joint, ""), (name if joint else _GLUED(name, rng), label))
            ]
            text, spans = insert(text, spans, end, *joined(pieces))
        return text, spans

    return change


def _end_added(text: str, spans: Spans, rng: random.Random) -> Perturbed:
    """Punctuation set at the end of the text, and doubled at the end of sentences."""
    text, spans = rewrite(
        text, spans, outside=lambda piece: re.sub(r"([.!?])(?=\s)", r"\1\1", piece)
    )
    return insert(text, spans, len(text), rng.choice(".!?,;:-"))


def _ages_changed(text: str, spans: Spans, rng: random.Random) -> Perturbed:
    """Other ages, in spans labelled AGE and in "20 years old"."""

    def other(age: str, rng: random.Random) -> str:
        return str(max(1, int(age) + rng.choice((-3, -2, -1, 1, 2, 3, 7))))

    in_span, in_prose = (
        _each(r"\b\d{1,2}\b", other),
        _each(r"\b\d{1,2}(?=[ -]years?[ -]old|-year-old)", other),
    )
    return rewrite(
        text,
        spans,
        inside=lambda v, label: in_span(v, rng) if label == AGE else v,
        outside=lambda v: in_prose(v, rng),
    )


def _context_added(text: str, spans: Spans, rng: random.Random) -> Perturbed:
    """A line before and after that has nothing to do with the text."""
    text, spans = insert(text, spans, len(text), f"\n{rng.choice(_SENTENCES['after'])}")
    return insert(text, spans, 0, f"{rng.choice(_SENTENCES['before'])}\n")


def _instructions(kind: str, where: str) -> Change:
    """Sets in a sentence that gives orders, at the "start", "beside" the main person, or at the "end"."""

    def change(text: str, spans: Spans, rng: random.Random) -> Perturbed:
        sentence = rng.choice(_SENTENCES[kind])
        if where == "start":
            return insert(text, spans, 0, f"{sentence}\n\n")
        if where == "end":
            return insert(text, spans, len(text), f"\n\n{sentence}")
        main, places = main_span(spans), stops(text, spans)
        before = places[:1] if main is None else [at for at in places if at <= spans[main][0]]
        return insert(text, spans, before[-1] if before else 0, f" {sentence} ")

    return change


def _sentences(make: Callable[[random.Random], Perturbed | str], times: int = 3) -> Change:
    """Sentences, with spans of their own or about nobody, set in after some of a text, so many at most."""

    def change(text: str, spans: Spans, rng: random.Random) -> Perturbed:
        places = stops(text, spans)
        for at in sorted(rng.sample(places, k=min(times, len(places))), reverse=True):
            sentence = make(rng)
            text, spans = insert(
                text, spans, at, *((sentence, ()) if isinstance(sentence, str) else sentence)
            )
        return text, spans

    return change


def _about_others(kind: str, label: str, shared: bool = False) -> Change:
    """Sets in sentences of a kind about one other person, with the surname of the first private one if `shared`."""

    def change(text: str, spans: Spans, rng: random.Random) -> Perturbed:
        name = _surname(text, spans if shared else (), rng)
        return _sentences(lambda rng: _with(rng.choice(_SENTENCES[kind]), (name, label)))(
            text, spans, rng
        )

    return change


def _bibliography(text: str, spans: Spans, rng: random.Random) -> Perturbed:
    """A list of references at the end, one of the authors with the surname of the first private person."""
    first, second = _surname(text, spans, rng), name_table().sample_surname(rng)
    references = _with(
        _SENTENCES["references"], (f"{first}, J.", NAME_CITED), (f"{second}, M.", NAME_CITED)
    )
    return insert(text, spans, len(text), *references)


def _instructor(text: str, spans: Spans, rng: random.Random) -> Perturbed:
    """An instructor with the first name of the first private person."""
    first = _first_words(text, spans) or [name_table().sample_given(rng)]
    name = f"{first[0].capitalize()} {name_table().sample_surname(rng)}"
    places = stops(text, spans)
    at = rng.choice(places) if places else len(text)
    return insert(
        text, spans, at, *_with(" My teacher, Professor {0}, agreed.", (name, NAME_INSTRUCTOR))
    )


def _checked_number(rng: random.Random) -> str:
    """A sentence with a number whose check digit is right, by Luhn or of an ISBN-13."""
    luhn = rng.random() < 0.5
    digits = fill_pattern(
        "#" * rng.choice((9, 12)) if luhn else "978#########", {"#": "0123456789"}, rng
    )
    if luhn:
        total = sum(
            sum(divmod(int(ch) * (2 if i % 2 == 0 else 1), 10))
            for i, ch in enumerate(reversed(digits))
        )
    else:
        total = sum(int(ch) * (3 if i % 2 else 1) for i, ch in enumerate(digits))
    return f" {'The sample in the manual' if luhn else 'The book'} is {digits}{-total % 10}."


def _day_first(rng: random.Random) -> str:
    mark = rng.choice("/.-")
    return f" The battle was on {rng.randint(13, 31):02}{mark}{rng.randint(1, 12):02}{mark}{rng.randint(1600, 1950)}."


_DOCUMENT: dict[str, Callable[..., Any]] = {
    "about others": _about_others,
    "ages changed": _ages_changed,
    "bibliography": _bibliography,
    "checked number": _sentences(_checked_number),
    "context added": _context_added,
    "day first": _sentences(_day_first),
    "emoji beside": _emoji_beside,
    "end added": _end_added,
    "glued to ID": _glued_to_id,
    "header block": _header_block,
    "instructions": _instructions,
    "instructor": _instructor,
    "no space before": _no_space_before,
    "numbers": _sentences(lambda rng: f" {hard_negative(rng)[0]}", times=4),
    "page headers": _page_headers,
    "placeholders": _sentences(lambda rng: rng.choice(_SENTENCES["placeholders"])),
    "several": edit.in_turn(
        edit.on_prose(_VALUES["in words"]("typo", 0.1)),
        edit.on_prose(_VALUES["no punctuation"]),
        edit.on_everything(_VALUES["lower"]),
    ),
    "signature block": _signature_block,
    "substitute": edit.substitute,
    "with others": _with_others,
}


# Length: essays of 20,000 characters with the same people early, in the middle or late, and names at the edges of the encoder's windows.

LONG = 20_000
FAR = 10_000
PARAGRAPHS = tuple(_SENTENCES["paragraphs"])
EDGES = {
    "window_end": "the main name across the end of a window",
    "window_start": "the main name across the start of a window",
    "window_overlap": "the main name amid what two windows share",
}
FILLER = "so"  # one piece in every vocabulary of words


@dataclass(frozen=True, slots=True)
class Windows:
    """How the pipeline's encoder reads a long text: pieces in a window, and how many of them neighbours share.

    pieces (Callable[[str, int], int]): How many pieces stand before a character of a text.
    """

    window: int
    overlap: int
    pieces: Callable[[str, int], int]


def windows_of(nlp: "Language") -> Windows | None:
    """RETURNS (Windows | None): Of a pipeline's transformer config; None without a transformer that reads in windows."""
    model: dict[str, Any] = nlp.config.get("components", {}).get("transformer", {}).get("model", {})
    settings = model.get("with_spans", {})
    if "window" not in settings or "transformer" not in nlp.pipe_names:
        return None
    layer = getattr(nlp.get_pipe("transformer"), "model", None)
    encoder = (
        layer.get_ref("piece_encoder")
        if layer is not None and layer.has_ref("piece_encoder")
        else None
    )

    def pieces(text: str, at: int) -> int:
        doc = nlp.make_doc(text)
        n_tokens = sum(token.idx < at for token in doc)
        # Without the encoder, 1.3 pieces per token: what English prose has with BERT's vocabulary.
        return (
            round(1.3 * n_tokens) + 1
            if encoder is None
            else int(encoder.predict([doc])[0].lengths[: n_tokens + 1].sum())
        )

    return Windows(int(settings["window"]), int(settings.get("overlap", 0)), pieces)


def prose(paragraphs: Sequence[str], length: int, rng: random.Random) -> str:
    """RETURNS (str): Clean prose of at least that many characters, ending with a paragraph; empty for 0 and less."""
    order: list[str] = []
    left: list[str] = []
    while sum(len(paragraph) + 2 for paragraph in order) < length:
        if not left:
            left = list(paragraphs)
            rng.shuffle(left)
        order.append(left.pop(0))
    return "\n\n".join(order)


def _padded(paragraphs: Sequence[str], before: float, after: float) -> Change:
    """Lengthens a text to `LONG` characters, these shares of what is added before and after it."""

    def change(text: str, spans: Spans, rng: random.Random) -> Perturbed:
        missing = LONG - len(text)
        if missing > 0 and after:
            text, spans = insert(
                text, spans, len(text), "\n\n" + prose(paragraphs, int(missing * after), rng)
            )
        if missing > 0 and before:
            text, spans = insert(
                text, spans, 0, prose(paragraphs, int(missing * before), rng) + "\n\n"
            )
        return text, spans

    return change


def _torn_apart(paragraphs: Sequence[str]) -> Change:
    """`FAR` characters of prose set in after the sentence with the main name: the same name comes again far below."""

    def change(text: str, spans: Spans, rng: random.Random) -> Perturbed:
        main = main_span(spans)
        first = spans[main][1] if main is not None else 0
        at = next((stop for stop in stops(text, spans) if stop >= first), len(text))
        return insert(text, spans, at, "\n\n" + prose(paragraphs, FAR, rng) + "\n\n")

    return change


def _at_border(paragraphs: Sequence[str], windows: Windows, target: int) -> Change:
    """Pads a text so that its main name begins at a piece of a window; a text without private people stays."""

    def change(text: str, spans: Spans, rng: random.Random) -> Perturbed:
        main = main_span(spans)
        if main is None:
            return text, spans
        start = spans[main][0]
        head = text[: start + 1]
        already = windows.pieces(head, start)
        needed = target - already
        while needed < 8:
            needed += windows.window - windows.overlap

        def pieces_of(words: list[str]) -> int:
            front = " ".join(words) + "\n\n"
            return windows.pieces(front, len(front))

        words = prose(paragraphs, 8 * needed, rng).split()
        # As many words as fit, then one-piece words to the very piece.
        fitting = bisect_right(range(1, len(words) + 1), needed, key=lambda n: pieces_of(words[:n]))
        chosen = words[:fitting]
        for _ in range(3):  # what stands at the seam may join: count again with the text behind it
            front = " ".join(chosen) + "\n\n"
            missing = needed + already - windows.pieces(front + head, len(front) + start)
            chosen = chosen + [FILLER] * missing if missing >= 0 else chosen[:missing]
            if not missing:
                break
        text, spans = insert(
            text, spans, len(text), "\n\n" + prose(paragraphs, 8 * windows.window, rng)
        )
        return insert(text, spans, 0, front)

    return change


def length_perturbations(
    paragraphs: Sequence[str] = PARAGRAPHS, windows: Windows | None = None
) -> Iterator[Perturbation]:
    """YIELDS (Perturbation): Those of this class; without windows none at their edges."""
    for place, about, before, after in (
        ("early", "first", 0, 1),
        ("middle", "in the middle", 0.5, 0.5),
        ("late", "last", 1, 0),
    ):
        change = _padded(paragraphs, before, after)
        yield Perturbation(
            f"long_people_{place}", LENGTH, f"20,000 characters, the text {about}", change
        )
    yield Perturbation(
        "name_again_far_below",
        LENGTH,
        "10,000 characters after the first name",
        _torn_apart(paragraphs),
    )
    if windows is not None:
        targets = (
            windows.window - 1,
            windows.window - windows.overlap - 1,
            windows.window - windows.overlap // 2,
        )
        for (name, about), target in zip(EDGES.items(), targets, strict=True):
            yield Perturbation(name, LENGTH, about, _at_border(paragraphs, windows, target), MAIN)


def clean_paragraphs(texts: Iterable[str], *, least: int = 200) -> list[str]:
    """RETURNS (list[str]): Paragraphs of at least so many characters, each once, in order."""
    found = (
        re.sub(r"\s+", " ", block).strip() for text in texts for block in re.split(r"\n\s*\n", text)
    )
    return list(dict.fromkeys(block for block in found if len(block) >= least))


# All perturbations by name.


def _perturbation(
    kind: str, name: str, about: str, where: str, what: str, *args: Any
) -> Perturbation:
    """One row of the table."""
    scope, *of = where.split()
    if scope == "around":
        after, *inside = args
        change = edit.around_names(
            what, after, name=_VALUES[inside[0]] if inside else None, of=of[0]
        )
        return Perturbation(name, kind, about, change, of[0])
    found = {"document": _DOCUMENT, "people": _PEOPLE}.get(scope, _VALUES)[what]
    change = found(*args) if args else found
    match scope:
        case "document":
            return Perturbation(name, kind, about, change, of[0])
        case "prose":
            return Perturbation(name, kind, about, edit.on_prose(change))
        case "text":
            return Perturbation(name, kind, about, edit.on_everything(change))
        case "names":
            return Perturbation(name, kind, about, on_names(change), NAMES, rewrites=True)
        case "people":
            return Perturbation(name, kind, about, _on_people(change), NAMES, rewrites=True)
    labels = DETAIL_LABELS if scope == DETAILS else where.split()
    return Perturbation(name, kind, about, edit.on_labels(change, *labels), DETAILS, rewrites=True)


_FIXED = [
    _perturbation(kind, name, *row)
    for kind, rows in read_tables("perturbations").items()
    for name, row in rows.items()
]


def perturbations(
    paragraphs: Sequence[str] = PARAGRAPHS, windows: Windows | None = None
) -> dict[str, Perturbation]:
    """RETURNS (dict[str, Perturbation]): The registry, class by class.

    paragraphs (Sequence[str]): Clean prose that long essays are padded with. windows (Windows | None): Of the pipeline under test.
    """
    found = sorted(
        (*_FIXED, *length_perturbations(paragraphs, windows)), key=lambda p: CLASSES.index(p.kind)
    )
    return {perturbation.name: perturbation for perturbation in found}


def choose(found: dict[str, Perturbation], names: Iterable[str]) -> dict[str, Perturbation]:
    """Some of the perturbations.

    names (Iterable[str]): Names of perturbations or of classes; none for all.
    RETURNS (dict[str, Perturbation]): In the order of the registry; without those at the edges of windows where there are none.
    RAISES (PiiError): E760, for a name that is neither.
    """
    wanted = set(names)
    for name in sorted(wanted):
        if name not in found and name not in (*CLASSES, *EDGES):
            raise PiiError(
                Errors.E760,
                name=name,
                classes=", ".join(CLASSES),
                allowed=", ".join({**found, **EDGES}),
            )
    return {
        name: p for name, p in found.items() if not wanted or name in wanted or p.kind in wanted
    }


# Perturbed copies to train on: everybody's names are changed alike.

_CLASSES = (CASE, SCRIPT, LAYOUT, NOISE, ATTACK)
_ONLY_PRIVATE = frozenset(
    (
        "glued_to_id",
        "adjacent_names",
        "names_in_lines",
        "three_names_glued",
        "page_headers",
        "header_block",
        "signature_block",
        "orders_beside",
        "said_public_beside",
    )
)
_JOINTS = (" ", "\n", "", " / ", " & ", ", ", "  ")
_SHARE_BESIDE = 0.3


def _beside(text: str, spans: Spans, rng: random.Random) -> Perturbed:
    """An invented person of the same role beside a share of the names, private or not, joined in one way."""
    joint = rng.choice(_JOINTS)
    for start, end, label in reversed(spans):
        if is_name(label) and rng.random() < _SHARE_BESIDE and text[start:end].strip():
            name = _invented_name(rng)
            text, spans = insert(
                text,
                spans,
                end,
                *joined(((joint, ""), (name if joint else name.replace(" ", ""), label))),
            )
    return text, spans


BESIDE = Perturbation("beside", LAYOUT, "Ana Lopez / Budi Santoso", _beside, NAMES)


def training_perturbations() -> list[Perturbation]:
    """RETURNS (list[Perturbation]): Those that tell nothing of who is private."""
    return [
        BESIDE,
        *(
            p
            for p in perturbations().values()
            if p.kind in _CLASSES and p.name not in _ONLY_PRIVATE
        ),
    ]


def training_change(share: float) -> Callable[[Filled, random.Random], Filled]:
    """RETURNS (Callable[[Filled, random.Random], Filled]): Changes a share of the texts, for `build_corpus`; classes are equally frequent."""
    found = training_perturbations()
    by_class = {kind: [p for p in found if p.kind == kind] for kind in _CLASSES}

    def change(filled: Filled, rng: random.Random) -> Filled:
        if rng.random() >= share:
            return filled
        perturbation = rng.choice(by_class[rng.choice(_CLASSES)])
        given = sorted((*filled.spans, *((start, end, UNTOLD) for start, end in filled.unlabelled)))
        if any(a[1] > b[0] for a, b in pairwise(given)) or any(
            start >= end for start, end, _ in given
        ):
            return filled
        text, spans = perturbation(filled.text, given, rng)
        unlabelled = tuple((start, end) for start, end, label in spans if label == UNTOLD)
        return replace(
            filled,
            text=text,
            spans=tuple(span for span in spans if span[2] != UNTOLD),
            unlabelled=unlabelled,
        )

    return change
