"""Layout: names torn, glued, listed, repeated in page headers, as students' files and what PDFs make of them have them.

Seen in CRAPII's essays: line breaks inside names, "menu.Keep", "1.Ch", "Name_ID", letter-spaced capitals, running heads in the middle
of the text, two names without a comma, three names glued (PEERS.md E2's cases).
"""

import random
import re

from ..corpus.people import invent_person
from ..corpus.templates import Slot
from ..corpus.wear import NAME_WEAR
from ..labels import ID_NUM, NAME_CONNECTED, NAME_STUDENT, is_name
from ..surrogates.names import name_table
from .perturb import (
    LAYOUT,
    NAMES,
    Change,
    Edit,
    OnValue,
    Perturbation,
    Perturbed,
    Span,
    Spans,
    apply_edits,
    around_names,
    insert,
    on_names,
    on_prose,
    stops,
    substitute,
)
from .perturb_script import gap


def glued(name: str, rng: random.Random) -> str:
    """RETURNS (str): "AnaLopez", "LopezAna" for "Lopez, Ana"."""
    return re.sub(r"[\s,]+", "", name)


def last_first(name: str, rng: random.Random) -> str:
    """RETURNS (str): "Lopez, Ana"; a name of one word or with a comma stays."""
    first, _, last = name.rpartition(" ")
    return f"{last}, {first}" if first and "," not in name and len(last) > 1 else name


def initials(name: str, rng: random.Random) -> str:
    """RETURNS (str): "A. Lopez"; a name of one word or with a comma stays."""
    first, _, last = name.rpartition(" ")
    return f"{first[0]}. {last}" if first and "," not in name and first[0].isalpha() else name


def broken_word(name: str, rng: random.Random) -> str:
    """RETURNS (str): "Lo-\\npez": the longest word, hyphenated at the end of a line."""
    word = max(re.findall(r"[^\W\d_]+", name) or [""], key=len)
    at = len(word) // 2
    return name.replace(word, f"{word[:at]}-\n{word[at:]}", 1) if len(word) > 3 else name


def glued_to_id(text: str, spans: Spans, rng: random.Random) -> Perturbed:
    """RETURNS (Perturbed): "AnaLopez_20231234" for every student's name; the number is a span of its own."""
    text, spans = on_names(glued)(text, spans, rng)
    for _, end, label in reversed(spans):
        if label == NAME_STUDENT:
            number = f"20{rng.randint(18, 25)}{rng.randint(0, 9999):04d}"
            text, spans = insert(text, spans, end, f"_{number}", [(1, 1 + len(number), ID_NUM)])
    return text, spans


def no_space_before(text: str, spans: Spans, rng: random.Random) -> Perturbed:
    """RETURNS (Perturbed): "my essay.Ana Lopez": the space before a name gone, a full stop there."""
    edits: list[Edit] = []
    for start, _, label in spans:
        if is_name(label) and start > 1 and text[start - 1] == " ":
            edits.append((start - 1, start, "" if text[start - 2] in ".,;:!?" else "."))
    return apply_edits(text, spans, edits)


def _people(spans: Spans) -> list[Span]:
    """The names of private people, students before others."""
    return sorted((s for s in spans if s[2] in (NAME_STUDENT, NAME_CONNECTED)), key=lambda s: (s[2] != NAME_STUDENT, s[0]))


def page_headers(text: str, spans: Spans, rng: random.Random) -> Perturbed:
    """RETURNS (Perturbed): "Lopez 2" on a line of its own in the middle of the text, each 1,500 characters; "Page 2" without a person."""
    people = _people(spans)
    name = re.split(r"[\s_]+", text[people[0][0] : people[0][1]].strip())[-1] if people else ""
    places = stops(text, spans)
    chosen = [at for i, at in enumerate(places) if i == len(places) // 2 or at // 1500 > (places[i - 1] if i else 0) // 1500]
    for page, at in reversed(list(enumerate(chosen, 2))):
        added = [(1, 1 + len(name), people[0][2])] if name else []
        text, spans = insert(text, spans, at, f"\n{name or 'Page'} {page}\n", added)
    return text, spans


def header_block(text: str, spans: Spans, rng: random.Random) -> Perturbed:
    """RETURNS (Perturbed): Name, student ID and who submitted on lines of their own on top; without a person, lines with nothing of one."""
    people = _people(spans)
    if not people:
        return insert(text, spans, 0, "Course: Introduction\nAssignment: Essay 2\nWords: 500\n\n")
    start, end, label = people[0]
    name = " ".join(text[start:end].split())
    number = f"{rng.randint(10**7, 10**8 - 1)}"
    head, added = "", []
    for line, value, kind in (("Name: ", name, label), ("Student ID: ", number, ID_NUM), ("Submitted by: ", name, label)):
        head += line
        added.append((len(head), len(head) + len(value), kind))
        head += value + "\n"
    return insert(text, spans, 0, head + "\n", added)


def signature_block(text: str, spans: Spans, rng: random.Random) -> Perturbed:
    """RETURNS (Perturbed): "Best regards," and the first person's name under the text; "Thank you for reading." without one."""
    people = _people(spans)
    if not people:
        return insert(text, spans, len(text), "\n\nThank you for reading.\n")
    name = " ".join(text[people[0][0] : people[0][1]].split())
    opening = "\n\nBest regards,\n"
    return insert(text, spans, len(text), f"{opening}{name}\n", [(len(opening), len(opening) + len(name), people[0][2])])


def with_others(joint: str, *, many: int, glue: bool) -> Change:
    """Invented people beside every private person's name.

    joint (str): What stands between two names. many (int): How many are added. glue (bool): "AnaLopezBudiSantoso".
    RETURNS (Change): The others have the label of whom they stand beside.
    """

    def change(text: str, spans: Spans, rng: random.Random) -> Perturbed:
        if glue:
            text, spans = on_names(glued)(text, spans, rng)
        for _, end, label in sorted(_people(spans), reverse=True):
            addition, added = "", []
            for _ in range(many):
                name = invent_person(rng, name_table()).render(Slot("friend", "full"), rng)
                name = glued(name, rng) if glue else name
                addition += joint
                added.append((len(addition), len(addition) + len(name), label))
                addition += name
            text, spans = insert(text, spans, end, addition, added)
        return text, spans

    return change


def lines_broken(piece: str, rng: random.Random) -> str:
    """RETURNS (str): A line break for one space in eight."""
    return re.sub(r"(?<=\S) (?=\S)", lambda m: "\n" if rng.random() < 0.125 else " ", piece)


def tabs(piece: str, rng: random.Random) -> str:
    """RETURNS (str): A tab for one space in eight."""
    return re.sub(r"(?<=\S) (?=\S)", lambda m: "\t" if rng.random() < 0.125 else " ", piece)


def _names(name: str, about: str, change: OnValue) -> Perturbation:
    return Perturbation(name, LAYOUT, about, on_names(change), NAMES, rewrites=True)


RUN_TOGETHER = substitute(r"(?<=[a-z)][.,;!?]) +(?=[A-Z])", lambda m, rng: "")


GLUED_BEFORE = substitute(r"(?<=\w) (?=[A-Z])|(?<=:) +(?=[A-Z])", lambda match, rng: "")

PERTURBATIONS = (
    _names("letter_spaced", "A N A  L O P E Z", NAME_WEAR["spaced"]),
    _names("letter_spaced_lower", "a n a  l o p e z", lambda v, rng: NAME_WEAR["spaced"](v, rng).lower()),
    _names("newline_in_name", "Ana\\nLopez", gap("\n")),
    _names("tab_in_name", "Ana\\tLopez", gap("\t")),
    _names("wide_gap", "Ana   Lopez", gap("   ")),
    _names("broken_word", "Lo-\\npez", broken_word),
    _names("glued_name", "AnaLopez", glued),
    _names("underscore_name", "Ana_Lopez", gap("_")),
    _names("dotted_name", "Ana.Lopez", gap(".")),
    _names("comma_order", "Lopez, Ana", last_first),
    _names("initials", "A. Lopez", initials),
    Perturbation("glued_words", LAYOUT, "AnaLopez3rdYear", around_names("", "3rdYear", name=glued), NAMES),
    Perturbation("glued_to_id", LAYOUT, "AnaLopez_20231234", glued_to_id, NAMES),
    Perturbation("glued_before", LAYOUT, "byAna Lopez, Name:Ana Lopez", GLUED_BEFORE, NAMES),
    Perturbation("list_number", LAYOUT, "1.Ana Lopez", around_names("1."), NAMES),
    Perturbation("table_cell", LAYOUT, "| Ana Lopez |", around_names("| ", " |"), NAMES),
    Perturbation("file_name", LAYOUT, "Essay_AnaLopez_final.docx", around_names("Essay_", "_final.docx", name=glued), NAMES),
    Perturbation("possessive", LAYOUT, "Ana Lopez's", around_names("", "'s"), NAMES),
    Perturbation("honorific", LAYOUT, "Mr. Ana Lopez", around_names("Mr. "), NAMES),
    Perturbation("brackets", LAYOUT, "(Ana Lopez)", around_names("(", ")"), NAMES),
    Perturbation("quotes", LAYOUT, '"Ana Lopez"', around_names('"', '"'), NAMES),
    Perturbation("no_space_before", LAYOUT, "my essay.Ana Lopez", no_space_before, NAMES),
    Perturbation("run_together", LAYOUT, "the menu.Keep it", substitute(r"(?<=[a-z][.,;!?]) +(?=[A-Z])", lambda m, rng: "")),
    Perturbation("adjacent_names", LAYOUT, "Ana Lopez Budi Santoso", with_others(" ", many=1, glue=False), NAMES),
    Perturbation("names_in_lines", LAYOUT, "three names, a line each", with_others("\n", many=2, glue=False), NAMES),
    Perturbation("three_names_glued", LAYOUT, "AnaLopezBudiSantosoMeiLin", with_others("", many=2, glue=True), NAMES),
    Perturbation("page_headers", LAYOUT, "Lopez 2 on a line in the middle of the text", page_headers, NAMES),
    Perturbation("header_block", LAYOUT, "Name: … Student ID: … Submitted by: … on top", header_block),
    Perturbation("signature_block", LAYOUT, "Best regards, and a name at the end", signature_block, NAMES),
    Perturbation("lines_broken", LAYOUT, "a line break for one space in eight", on_prose(lines_broken)),
    Perturbation("tabs", LAYOUT, "a tab for one space in eight", on_prose(tabs)),
    Perturbation("lines_flattened", LAYOUT, "no lines: spaces only", on_prose(lambda v, rng: re.sub(r"\s*\n\s*", " ", v))),
    Perturbation("lines_doubled", LAYOUT, "a blank line after each line", on_prose(lambda v, rng: re.sub(r"(?<!\n)\n(?!\n)", "\n\n", v))),
)  # fmt: skip
