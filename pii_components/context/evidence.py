"""Evidence for roles, and the decision per (document, person).

    evidence of a mention   cues, zone of the line
    evidence of a person    those of all mentions, the model's reading, public figures, the form of the name
    decision                the role with the highest sum of log-odds; the strongest evidence for it is the reason

Summing log-odds treats pieces of evidence as independent, which they are not; `repeat` and `mention_growth` keep the same
evidence from being counted over and over.
"""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import NamedTuple

import numpy

from ..labels import CHARACTER, CITED, CONNECTED, INSTRUCTOR, ROLES, STUDENT
from ..names.letters import fold
from ..names.parse import Form, read_tokens
from ..names.spelling import is_near_table
from ..names.table import name_table
from ..names.wordlists import case_style, in_table, words
from ..spans import PROPAGATION, Candidate
from .cues import NOT_NAME, CueRules
from .settings import ContextSettings
from .view import DocView, Place

FILES = (("public_figures.txt", CITED), ("story_figures.txt", CHARACTER))


class Figures(NamedTuple):
    """Full names and surnames of known people -> "CITED" or "CHARACTER"; and the surnames that are enough by themselves ("Vygotsky")."""

    full: dict[str, str]
    surname: dict[str, str]
    sure: set[str]

    def of(self, form: Form) -> str:
        """RETURNS (str): The role of the figure with this full name; the empty string if there is none."""
        return self.full.get(_key(form), "") if len(form.words) + len(form.letters) > 1 else ""


def _key(form: Form) -> str:
    words = form.words[1:] + form.words[:1] if form.comma else form.words
    # "Franklin D. Roosevelt" is "Franklin Roosevelt", but of "J. K. Rowling" nothing else is left.
    return " ".join(words if len(words) > 1 else (*form.letters, *words))


@cache
def figures() -> Figures:
    found = Figures({}, {}, set())
    for file, role in FILES:
        for line in (resources.files("pii_components") / "resources" / "cues" / file).read_text("utf8").splitlines():
            name = line.partition("#")[0].strip()
            if not name:
                continue
            form = read_tokens(name.rstrip("*").replace("-", " ").replace(",", "").split()).form
            if len(form.words) + len(form.letters) > 1:
                found.full.setdefault(_key(form), role)
            if form.surname:
                found.surname.setdefault(form.surname, role)
                if name.endswith("*") or form.single:
                    found.sure.add(form.surname)
    return found


_FLOOR = 1e-3
_MOST_MENTIONS = 9.0
_SURE = 3.0  # evidence for CITED from which a first name alone no longer speaks against it
_TITLES = ("title_header", "title_header_weak", "course_by", "degree_header")
# "Dokuz Eylul University", "LYON FOR BEGINNERS": a lone word on such a line of the header is a place or a thing.
_PLACE_AFTER = re.compile(
    r" (?:[^\W\d_]+ ){0,2}(?:university|college|school|institute|academy|universidad|universit[àéäy]\w*|üniversitesi)\b"
    r"|,? (?:city|street|road|avenue)\b| (?:for|in)\b"
)
_PLACE_BEFORE = re.compile(r"\b(?:university|college|school|institute|academy|city|universidad|université)(?: (?:of|de|in))? $")
_SIGNED = frozenset(("header", "lead", "signoff"))
_ADDRESS = frozenset(
    ("thanks_to", "mail_to", "small_letters", "turn_spoken_to")
)  # cues of CONNECTED that fit a teacher as well
_ZONE_REASONS = {
    "header_alone": "alone on a line of the header",
    "header_line": "in the header",
    "signoff_alone": "signs the text: alone on one of its last lines",
    "signoff_line": "in the last lines of the text",
}
_NO_SUPPORT = ("bibliography", "header_line", "signoff_line", "turn_told_of")  # a line of this kind holds other words too


@dataclass(frozen=True, slots=True)
class Evidence:
    """What speaks for a role, or for `NOT_NAME`: id of the cue, log-odds (below 0: against), reason for a reader; anchor: it shows a
    signature, a header or the first person; names: only a name stands there."""

    id: str
    role: str
    weight: float
    reason: str
    anchor: bool = False
    names: bool = False


def mention_evidence(place: Place, rules: CueRules, settings: ContextSettings) -> list[Evidence]:
    """RETURNS (list[Evidence]): What the line of one mention says: cues in the order of the rules, then the zone."""
    found = [Evidence(c.id, c.role, c.weight, c.reason, c.anchor, c.names) for c in rules.match(place)]
    zones = place.zones
    if "bibliography" in zones:
        found.append(Evidence("bibliography", CITED, settings.bibliography, "in a list of sources"))
        return found
    others = max((e.weight for e in found if e.role in (CITED, CHARACTER, INSTRUCTOR, CONNECTED)), default=0.0)
    where = "header" if zones & {"header", "lead"} else "signoff" if "signoff" in zones else ""
    if others < 2.0 and where:
        sole = "alone" in zones and where in zones
        kind = f"{where}_{'alone' if sole else 'line'}"
        found.append(Evidence(kind, STUDENT, getattr(settings, kind), _ZONE_REASONS[kind], anchor=sole))
    return found


def weigh_header(
    places: Sequence[Place], evidence: Sequence[list[Evidence]], settings: ContextSettings
) -> list[list[Evidence]]:
    """Titles in a header: beside the writer's name they are a teacher's; the only name may be that of a writer who is a doctor.
    RETURNS (list[list[Evidence]]): The evidence, per mention, that of titled names in such a header changed."""
    by_line = ("header_alone", "header_line", "team_list")
    titled = [any(e.id in _TITLES for e in found) for found in evidence]
    if not any(titled):
        return list(evidence)
    writer = any(_is_writer(found) for found, t in zip(evidence, titled, strict=True) if not t)
    teacher = Evidence("titled_in_header", INSTRUCTOR, 3.0, "has a title in a header that names the writer too")
    alone = Evidence("header_alone", STUDENT, settings.header_alone, "the only name of the header", True)
    weighed = []
    for place, found, t in zip(places, evidence, titled, strict=True):
        rest = [e for e in found if e.id not in by_line]
        if not t or "header" not in place.zones or _is_writer(rest):
            weighed.append(found)
        elif writer:
            weighed.append([*rest, teacher])
        else:
            weighed.append([*rest, alone] if titled.count(True) == 1 else found)
    return weighed


def _is_writer(evidence: Sequence[Evidence]) -> bool:
    return any(e.anchor and e.role == STUDENT for e in evidence)


def own_scores(evidence: Sequence[Evidence]) -> dict[str, float]:
    total: dict[str, float] = {}
    for e in evidence:
        if e.role != NOT_NAME:
            total[e.role] = total.get(e.role, 0.0) + e.weight
    return total


def signs(place: Place, evidence: Sequence[Evidence]) -> bool:
    """RETURNS (bool): Whether a mention heads or signs the text, or is the first person's."""
    return bool(place.zones & _SIGNED) or any(e.anchor for e in evidence)


def is_addressed(evidence: Sequence[Evidence]) -> bool:
    """RETURNS (bool): Whether what connects a name to the writer is only that it is thanked or written to."""
    connected = {e.id for e in evidence if e.role == CONNECTED}
    return bool(connected) and connected <= _ADDRESS


def logit(p: float) -> float:
    """RETURNS (float): Log-odds of a probability, kept within that of .001 and .999."""
    p = min(max(p, _FLOOR), 1.0 - _FLOOR)
    return math.log(p / (1.0 - p))


def name_logit(
    cand: Candidate,
    form: Form,
    place: Place,
    evidence: Sequence[Evidence],
    *,
    settings: ContextSettings,
    roster: frozenset[str] = frozenset(),
) -> float:
    """RETURNS (float): The log-odds that a candidate is a person's name, with what stands around it; compare with `logit(settings.min_score)`.
    roster (frozenset[str]): Folded words of the class list."""
    total = logit(cand.score)
    zones, common = place.zones, words().is_common
    anchored = any(e.anchor for e in evidence)
    denied = 0.0 if anchored else sum(e.weight for e in evidence if e.role == NOT_NAME)
    if form.single and not anchored:
        if not in_table(form.words[0]) and common(form.words[0]):
            denied += settings.common_word
        if "header" in zones and (_PLACE_AFTER.match(place.after.lower()) or _PLACE_BEFORE.search(place.before.lower())):
            denied += settings.header_place
    support = [e for e in evidence if e.role != NOT_NAME and e.id not in _NO_SUPPORT]
    total += max((e.weight if e.names else min(e.weight, settings.support_cue) for e in support), default=0.0)
    if "alone" in zones and zones & {"top", "signoff"}:
        total += settings.support_position
    if "beset" in zones:
        total += settings.support_beset
    several = form.full or (form.words and form.letters)
    tabled = several and all(in_table(word) or is_near_table(word) for word in form.words)
    if not denied and tabled and not all(map(common, form.words)):
        total += settings.support_table
    if not denied and any(map(is_near_table, form.words)):
        total += settings.support_slip
    if roster and form.words and all(word in roster for word in form.words):
        total += settings.support_roster
    return total - denied


def person_evidence(forms: Sequence[Form], evidence: Sequence[Sequence[Evidence]], settings: ContextSettings) -> list[Evidence]:
    """RETURNS (list[Evidence]): All evidence about one person but the model's, see `model_scores`. Arguments: one entry per mention."""
    found: list[Evidence] = []
    seen: Counter[str] = Counter()
    for e in (e for one in evidence for e in one if e.role != NOT_NAME):
        found.append(Evidence(e.id, e.role, e.weight * settings.repeat ** seen[e.id], e.reason, e.anchor))
        seen[e.id] += 1
    cited = any(e.role == CITED and e.weight >= 1.0 for e in found)
    if not any(e.anchor for e in found):
        found += _figure_evidence(forms, cited, settings)
    surely = any(e.role == CITED and e.weight >= _SURE for e in found) or any(e.id.startswith("figure") for e in found)
    if all(form.single for form in forms) and not surely:
        word, table = forms[0].words[0], name_table()
        if table.is_given(word) and (not table.is_surname(word) or table.gender(word)):
            found.append(Evidence("form_given", CITED, -settings.form_given, "called by a first name only"))
        elif not cited and table.is_surname(word) and not table.is_given(word):
            found.append(Evidence("form_surname", CITED, settings.form_surname, "called by a surname only"))
    found.append(Evidence("student_bias", STUDENT, settings.student_bias, "no sign that it is anyone else, so it is protected"))
    if any(e.anchor and e.role == STUDENT for e in found):
        found.append(Evidence("anchor_bias", STUDENT, settings.anchor_bias, "signs or heads the text"))
    return found


def _figure_evidence(forms: Sequence[Form], cited: bool, settings: ContextSettings) -> list[Evidence]:
    known = figures()
    for role in filter(None, map(known.of, forms)):
        what = "a well-known person" if role == CITED else "a figure of a well-known story"
        return [Evidence("figure_full", role, settings.figure_full, what)]
    for form in forms if not any(form.full for form in forms) else ():
        role = known.surname.get(form.surname, "")
        if role and (form.surname in known.sure or (cited and role == CITED)):
            what = "the name of a well-known person" if role == CITED else "a figure of a well-known story"
            return [Evidence("figure_surname", role, settings.figure_surname, what)]
    return []


def model_scores(cands: Sequence[Candidate], settings: ContextSettings) -> dict[str, float]:
    """RETURNS (dict[str, float]): The model's reading of one person, log-odds per role against an even guess; mentions without role
    probabilities have no say."""
    read = [c for c in cands if len(c.roles) == len(ROLES)]
    total = sum(max(c.score, 0.05) for c in read)
    if not read or not settings.model_weight:
        return {}
    growth = settings.model_weight * min(total, _MOST_MENTIONS) ** settings.mention_growth
    floor = settings.model_floor
    scores = {}
    for n, role in enumerate(ROLES):
        logs = (max(c.score, 0.05) * math.log((1 - floor) * c.roles[n] + floor / len(ROLES) + _FLOOR) for c in read)
        scores[role] = growth * (sum(logs) / total + math.log(len(ROLES)))
    return scores


def decide(evidence: Sequence[Evidence], model: Mapping[str, float], *, roles: Sequence[str] = ROLES) -> tuple[str, str]:
    """RETURNS (tuple[str, str]): The role of a person, of `roles`, and the reason: "cited: year in brackets follows". Equal sums: the earlier."""
    total = {role: model.get(role, 0.0) for role in ROLES}
    for e in evidence:
        total[e.role] += e.weight
    role = max(roles, key=lambda r: (round(total[r], 9), -ROLES.index(r)))
    return role, reason_for(role, evidence, model)


def reason_for(role: str, evidence: Sequence[Evidence], model: Mapping[str, float]) -> str:
    best = max((e for e in evidence if e.role == role and e.weight > 0), key=lambda e: e.weight, default=None)
    if best is None or (best.weight < 0.75 * model.get(role, 0.0) and best.weight < 1.5):
        reason = "reads like it, to the model"
    else:
        reason = best.reason
    return f"{role.lower()}: {reason}"


def folded_words(names: Sequence[str]) -> frozenset[str]:
    """RETURNS (frozenset[str]): Every word of some names, folded, to compare with `Form.words`."""
    return frozenset(word for name in names for word in fold(name).replace(",", " ").split())


_ZONES = ("header", "top", "lead", "alone", "opens", "signoff", "last", "bibliography", "body", "quoted", "small")
SIDES = (*ROLES, NOT_NAME)
_MOST = 12.0  # log-odds beyond which more evidence says nothing new

FEATURES: tuple[str, ...] = (
    *(f"model {role}" for role in ROLES),
    *(f"evidence {side}" for side in SIDES),
    *(f"strongest {side}" for side in SIDES),
    *(f"share of {role} by rules" for role in ROLES),
    "best score", "mean score", "own best log-odds", "anchored student", "anchored",
    *(f"zone {zone}" for zone in _ZONES),
    "mentions", "first at", "last at",
    "full form", "initials", "comma", "given in table", "surname in table", "whole in table", "common word", "lower case", "upper case",
    "found by model", "found by cue", "propagated", "other students anchored", "persons in text", "length", "tells a story",
    *(f"reader {side}" for side in SIDES),
)  # fmt: skip
READER = slice(len(FEATURES) - len(SIDES), len(FEATURES))
_LEAST_READ = -6.0  # log-probability of the reader below which less says nothing new


@dataclass(frozen=True, slots=True)
class People:
    """The names of one document, in parallel lists; persons (list[list[int]]): indices of each person's mentions."""

    cands: list[Candidate]
    forms: list[Form]
    places: list[Place]
    evidence: list[list[Evidence]]
    persons: list[list[int]]


@dataclass(frozen=True, slots=True)
class Weighed:
    """Evidence for each role of one person, the model's log-odds per role, and the best log-odds of a mention that it is a name at all."""

    evidence: list[Evidence]
    model: Mapping[str, float]
    own: float


def features(
    view: DocView,
    people: People,
    weighed: Sequence[Weighed],
    number: int,
    *,
    anchored: Sequence[bool],
    tells: bool,
    read: numpy.ndarray | None = None,
) -> numpy.ndarray:
    """RETURNS (numpy.ndarray): Person `number` as float32, shape `(len(FEATURES),)`.
    anchored (Sequence[bool]): Per person whether a header, a signature or the first person shows a student.
    tells (bool): Whether the text tells of a story. read (numpy.ndarray | None): Log-probabilities by the role encoder, shape `(6,)`."""
    mine, w = people.persons[number], weighed[number]
    cands, forms, places = [people.cands[i] for i in mine], [people.forms[i] for i in mine], [people.places[i] for i in mine]
    sums, tops = dict.fromkeys(SIDES, 0.0), dict.fromkeys(SIDES, 0.0)
    for e in [*w.evidence, *(e for i in mine for e in people.evidence[i] if e.role == NOT_NAME)]:
        sums[e.role] += e.weight
        tops[e.role] = max(tops[e.role], e.weight)
    totals = numpy.asarray([sums[role] + w.model.get(role, 0.0) for role in ROLES])
    if not tells:
        totals[ROLES.index(CHARACTER)] -= _MOST  # as the rules have it: nobody is a character where nothing tells of a story
    shares = numpy.exp(totals - totals.max())
    shares /= shares.sum()
    n, length = len(mine), max(len(view), 1)
    table, lists = name_table(), words()
    longest = max(forms, key=lambda form: (len(form.words), len(form.letters)))
    first_word, last_word = (longest.given or (longest.words[0] if longest.words else "")), longest.surname
    styles = [case_style(view.words[c.start]) for c in cands]
    values = [
        *(w.model.get(role, 0.0) for role in ROLES),
        *(_clip(sums[side]) for side in SIDES),
        *(tops[side] for side in SIDES),
        *shares,
        logit(max(c.score for c in cands)),
        logit(sum(c.score for c in cands) / n),
        _clip(w.own),
        anchored[number],
        any(e.anchor for e in w.evidence),
        *(sum(zone in place.zones for place in places) / n for zone in _ZONES),
        math.log(n),
        cands[0].start / length,
        cands[-1].start / length,
        any(form.full for form in forms),
        any(form.letters for form in forms),
        any(form.comma for form in forms),
        bool(first_word) and table.is_given(first_word),
        bool(last_word) and table.is_surname(last_word),
        bool(longest.words) and all(in_table(word) for word in longest.words),
        bool(longest.words) and all(lists.is_common(word) for word in longest.words),
        all(style == "lower" for style in styles),
        all(style == "upper" for style in styles),
        sum(c.source == "model" for c in cands) / n,
        sum(c.source.startswith("cue:") for c in cands) / n,
        sum(c.source == PROPAGATION for c in cands) / n,
        sum(anchored) - anchored[number] > 0,
        math.log(len(people.persons)),
        math.log(length),
        tells,
        *(numpy.zeros(len(SIDES)) if read is None else numpy.maximum(read, _LEAST_READ)),
    ]
    return numpy.asarray(values, dtype="f4")


def roles_of(read: numpy.ndarray) -> numpy.ndarray:
    chances = numpy.exp(read[:, : len(ROLES)].astype("f8"))
    return numpy.asarray(chances / chances.sum(axis=1, keepdims=True))


def _clip(value: float) -> float:
    return max(-_MOST, min(_MOST, value))
