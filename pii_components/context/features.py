"""What is known of a person in a document, as numbers: `person_rows(people)`, one row a person, columns as in `features()`.

A mention has what the detector says, its form, its zone, the patterns beside it (resources/cues/context.toml) and the gazetteer of known people; a
person has the mean and the most of these over their mentions, what the document is like, and what the role encoder reads around all their
names. Nothing here decides: `classifier` learned what each is worth.
"""

import math
import re
from collections import Counter
from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import NamedTuple

import numpy

from ..labels import CHARACTER, CITED, ROLES
from ..names import resource
from ..names.parse import Form, read_tokens
from ..names.wordlists import case_style, is_word, story_pattern, words
from ..spans import ROSTER, Candidate
from .mentions import FORM, People
from .view import MASK, Place

_FIRST_PERSON = re.compile(r"\b(?:i|me|my|mine|myself|we|us|our|ours)\b")
_UNLIKE = re.compile(r"\d|[^\W\d_A-Za-zÀ-ÖØ-öø-ɏʰ-˿Ḁ-ỿ]")
_ZONES = (
    "header",
    "top",
    "lead",
    "alone",
    "opens",
    "signoff",
    "last",
    "bibliography",
    "body",
    "quoted",
    "small",
    "beset",
    "turn",
    "tutor_turn",
    "speaker",
)
_FILES = (("public_figures.txt", CITED), ("story_figures.txt", CHARACTER))


class Cue(NamedTuple):
    """A pattern: see resources/cues/context.toml."""

    id: str
    reason: str
    before: re.Pattern[str] | None = None
    after: re.Pattern[str] | None = None
    above: re.Pattern[str] | None = None

    def holds(self, before: str, after: str, above: str) -> bool:
        """RETURNS (bool): Whether all of its patterns match. Arguments: Lower case."""
        return (
            (self.before is None or self.before.search(before) is not None)
            and (self.after is None or self.after.match(after) is not None)
            and (self.above is None or self.above.search(above) is not None)
        )


@cache
def read_cues() -> tuple[Cue, ...]:
    """RETURNS (tuple[Cue, ...]): All patterns, in the order of the file."""
    found = []
    for name, cue in resource("cues/context").items():
        patterns = {
            side: re.compile(cue[side].replace("¤", MASK))
            for side in ("before", "after", "above")
            if side in cue
        }
        found.append(Cue(name, reason=cue["reason"], **patterns))
    return tuple(found)


@cache
def figures() -> tuple[dict[str, str], dict[str, str]]:
    """RETURNS (tuple): Full names of known people -> CITED or CHARACTER; and their surnames."""
    full: dict[str, str] = {}
    surnames: dict[str, str] = {}
    for file, role in _FILES:
        for line in (
            (resources.files("pii_components") / "resources" / "cues" / file)
            .read_text("utf8")
            .splitlines()
        ):
            if name := line.partition("#")[0].strip():
                form = read_tokens(name.replace("-", " ").replace(",", "").split()).form
                if len(form.words) + len(form.letters) > 1:
                    full.setdefault(_key(form), role)
                if form.surname:
                    surnames.setdefault(form.surname, role)
    return full, surnames


def _key(form: Form) -> str:
    named = form.words[1:] + form.words[:1] if form.comma else form.words
    # "Franklin D. Roosevelt" is "Franklin Roosevelt", but of "J. K. Rowling" nothing else is left.
    return " ".join(named if len(named) > 1 else (*form.letters, *named))


_FORM_FEATURES = (
    "full",
    "initials",
    "comma",
    "common word",
    "lower case",
    "upper case",
    "other case",
    "strange",
    "words",
    "figure",
    "character of a story",
    "surname of a figure",
)
_PLACE_FEATURES = ("first person in sentence", "first person near", "position", "possessive")


@cache
def mention_names() -> tuple[str, ...]:
    """RETURNS (tuple[str, ...]): Columns of a mention."""
    detector = (*(f"model {role}" for role in ROLES), "score", "by model", "by form")
    zones, cues = (f"zone {zone}" for zone in _ZONES), (f"cue {cue.id}" for cue in read_cues())
    return (*detector, *_FORM_FEATURES, *_PLACE_FEATURES, *zones, *cues)


_DOCUMENT = (
    "mentions",
    "share of mentions",
    "persons",
    "length",
    "first person",
    "tells a story",
    "conversation",
    "bibliography",
    "first named",
    "others in the line",
    "others sign",
    "fullest is single",
    *(f"others {role}" for role in ROLES),
)

_READ = (*(f"around {role}" for role in ROLES), "around no name")


@cache
def features() -> tuple[str, ...]:
    """RETURNS (tuple[str, ...]): Columns of a person: means, then the most of each, then the document, then the role encoder."""
    names = mention_names()
    return (
        *(f"mean {name}" for name in names),
        *(f"most {name}" for name in names),
        *_DOCUMENT,
        *_READ,
    )


def mention_rows(people: People) -> numpy.ndarray:
    """RETURNS (numpy.ndarray): One row a mention, shape `(n_mentions, len(mention_names()))`; counted once, and kept in `people.rows`."""
    if people.rows is not None:
        return people.rows
    length = max(len(people.view.text), 1)
    rows = [
        _mention(people, cand, form, place, people.view.starts[cand.start] / length)
        for cand, form, place in zip(people.cands, people.forms, people.places, strict=True)
    ]
    people.rows = numpy.asarray(rows, dtype="f4").reshape(len(rows), len(mention_names()))
    return people.rows


def _mention(
    people: People, cand: Candidate, form: Form, place: Place, position: float
) -> list[float]:
    roles = cand.roles if len(cand.roles) == len(ROLES) else (1 / len(ROLES),) * len(ROLES)
    row = [math.log(p + 0.01) + 2.0 for p in roles]
    by_form = cand.source.startswith(FORM) or (cand.source == ROSTER and not cand.roles)
    row += [
        _logit(cand.score),
        cand.source == "model" or (cand.source == ROSTER and not by_form),
        by_form,
    ]
    written = [word for word in people.view.words[cand.start : cand.end] if is_word(word)]
    row += _of_form(form, written)
    before, after, above = place.before.lower(), place.after.lower(), place.line_before.lower()
    sentence = f"{place.sentence_before} {place.sentence_after}".lower()
    near = before[-40:] + " " + after[:40]
    row += [
        bool(_FIRST_PERSON.search(sentence)),
        bool(_FIRST_PERSON.search(near)),
        position,
        place.after[:2] in ("'s", "’s", "´s", "`s"),
    ]
    row += [zone in place.zones for zone in _ZONES]
    row += [cue.holds(before, after, above) for cue in read_cues()]
    return [float(value) for value in row]


def _of_form(form: Form, written: Sequence[str]) -> list[float]:
    # Not whether the name table has it: names of Oceania, which it has less of, would be given away more often (metrics/fairness.json).
    full, surnames = figures()
    styles = [case_style(word) for word in written]
    known = full.get(_key(form), "") if len(form.words) + len(form.letters) > 1 else ""
    return [
        form.full,
        bool(form.letters),
        form.comma,
        bool(form.words) and all(map(words().is_common, form.words)),
        bool(styles) and all(style == "lower" for style in styles),
        bool(styles) and all(style == "upper" for style in styles),
        "other" in styles,
        any(_UNLIKE.search(word) for word in written),
        min(len(written), 5),
        known == CITED,
        known == CHARACTER or surnames.get(form.surname) == CHARACTER,
        surnames.get(form.surname) == CITED,
    ]


def _logit(p: float) -> float:
    p = min(max(p, 0.01), 0.99)
    return math.log(p / (1.0 - p))


def person_rows(
    people: People,
    rows: numpy.ndarray,
    persons: Sequence[Sequence[int]] | None = None,
    read: numpy.ndarray | None = None,
) -> numpy.ndarray:
    """Rows of persons. rows (numpy.ndarray): From `mention_rows`. persons: Lists of mentions; those of `people` if None. read (numpy.ndarray | None):
    Log-probabilities of the role encoder, `(n_persons, 6)`; NaN, "not known", if nobody has read. RETURNS (numpy.ndarray): Shape `(n_persons,
    len(features()))`."""
    groups = people.persons if persons is None else persons
    if not groups:
        return numpy.zeros((0, len(features())), dtype="f4")
    view = people.view
    text = view.text.lower()
    total = max(len(view.words), 1)
    signs = [bool(place.zones & {"header", "signoff", "lead"}) for place in people.places]
    signers = sum(any(signs[i] for i in group) for group in groups)
    lines = [view.line_of(view.starts[c.start]) for c in people.cands]
    in_line = Counter(lines)
    said = rows[:, : len(ROLES)].astype("f8")  # what the detector says of each, whose name it is
    every = said.sum(axis=0)
    of_document = [
        math.log(len(groups)),
        math.log(total),
        len(_FIRST_PERSON.findall(text)) / total * 10,
        story_pattern().search(text) is not None,
        bool(view.turns),
        bool(view.under_bibliography),
    ]
    made = []
    for number, group in enumerate(groups):
        own = rows[list(group)]
        others = sum(in_line[line] for line in {lines[i] for i in group}) - len(group)
        signing = signers - any(signs[i] for i in group)
        single = all(people.forms[i].single for i in group)
        of_person = [
            math.log(len(group)),
            len(group) / len(lines),
            *of_document,
            number == 0,
            min(others, 5),
            min(signing, 3),
            single,
            *((every - said[list(group)].sum(axis=0)) / max(len(lines) - len(group), 1)),
        ]
        around = [math.nan] * len(_READ) if read is None else read[number]
        made.append(
            numpy.concatenate(
                [
                    own.mean(axis=0),
                    own.max(axis=0),
                    numpy.asarray([*of_person, *around], dtype="f4"),
                ]
            )
        )
    return numpy.stack(made).astype("f4")


def reason_of(feature: str) -> str:
    """RETURNS (str): What a data steward reads of a feature that decided; empty for one that tells nothing by itself."""
    kind, _, rest = feature.partition(" ")
    if rest.startswith("cue "):
        return {cue.id: cue.reason for cue in read_cues()}[rest[4:]]
    if kind == "around":
        return "the text around the name reads like it"
    return str(resource("cues/reasons").get(rest if kind in ("mean", "most") else feature, ""))
