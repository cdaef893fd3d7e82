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

from .context_cues import NOT_NAME, CueRules
from .context_figures import figures
from .context_persons import Form
from .context_settings import ContextSettings
from .context_spelling import is_near_table
from .context_view import Place
from .context_words import in_table, words
from .labels import CHARACTER, CITED, CONNECTED, INSTRUCTOR, ROLES, STUDENT
from .spans import Candidate
from .surrogates.names import fold, name_table

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
_ADDRESS = frozenset(("thanks_to", "mail_to", "small_letters", "turn_spoken_to"))  # cues of CONNECTED that fit a teacher as well
_NO_SUPPORT = ("bibliography", "header_line", "signoff_line", "turn_told_of")  # a line of this kind holds other words too


@dataclass(frozen=True, slots=True)
class Evidence:
    """One piece of evidence.

    id (str): What it came from, a cue's id or a name of this module. role (str): The role it speaks for, or `NOT_NAME`.
    weight (float): Log-odds; below 0 it speaks against. reason (str): For a reader.
    anchor (bool): Whether it shows a signature, a header or the first person. names (bool): Whether only a name stands there.
    """

    id: str
    role: str
    weight: float
    reason: str
    anchor: bool = False
    names: bool = False


def mention_evidence(place: Place, rules: CueRules, settings: ContextSettings) -> list[Evidence]:
    """What the line of one mention says.

    place (Place): Where it stands. rules (CueRules): The cues. settings (ContextSettings): Weights of the zones.
    RETURNS (list[Evidence]): Cues in the order of the rules, then the zone.
    """
    found = [Evidence(c.id, c.role, c.weight, c.reason, c.anchor, c.names) for c in rules.match(place)]
    zones = place.zones
    if "bibliography" in zones:
        found.append(Evidence("bibliography", CITED, settings.bibliography, "in a list of sources"))
        return found
    others = max((e.weight for e in found if e.role in (CITED, CHARACTER, INSTRUCTOR, CONNECTED)), default=0.0)
    if others < 2.0:
        if "header" in zones and "alone" in zones:
            found.append(Evidence("header_alone", STUDENT, settings.header_alone, "alone on a line of the header", True))
        elif "header" in zones or "lead" in zones:
            found.append(Evidence("header_line", STUDENT, settings.header_line, "in the header"))
        elif "signoff" in zones and "alone" in zones:
            found.append(
                Evidence(
                    "signoff_alone", STUDENT, settings.signoff_alone, "signs the text: alone on one of its last lines", True
                )
            )
        elif "signoff" in zones:
            found.append(Evidence("signoff_line", STUDENT, settings.signoff_line, "in the last lines of the text"))
    return found


def weigh_header(
    places: Sequence[Place], evidence: Sequence[list[Evidence]], settings: ContextSettings
) -> list[list[Evidence]]:
    """Titles in a header: beside the writer's name they are a teacher's; the only name may be that of a writer who is a doctor.

    places (Sequence[Place]), evidence (Sequence[list[Evidence]]): One per mention. settings (ContextSettings): Weights.
    RETURNS (list[list[Evidence]]): The evidence, that of titled names in such a header changed.
    """
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
    """RETURNS (dict[str, float]): The sum of weights per role, `NOT_NAME` left out."""
    total: dict[str, float] = {}
    for e in evidence:
        if e.role != NOT_NAME:
            total[e.role] = total.get(e.role, 0.0) + e.weight
    return total


def signs(place: Place, evidence: Sequence[Evidence]) -> bool:
    """RETURNS (bool): Whether a name heads or signs the text, or is the first person's. place (Place), evidence: Of this mention."""
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
    """The log-odds that a candidate is a person's name, with what stands around it.

    cand (Candidate): As found. form (Form): Its parts. place (Place): Where it stands.
    evidence (Sequence[Evidence]): Of this mention. settings (ContextSettings): Weights.
    roster (frozenset[str]): Folded words of the class list.
    RETURNS (float): Compare it with `logit(settings.min_score)`.
    """
    total = logit(cand.score)
    anchored = any(e.anchor for e in evidence)
    denied = 0.0 if anchored else sum(e.weight for e in evidence if e.role == NOT_NAME)
    if form.single and not anchored and not in_table(form.words[0]) and words().is_common(form.words[0]):
        denied += settings.common_word
    if form.single and not anchored and "header" in place.zones and _is_place(place):
        denied += settings.header_place
    support = (e.weight if e.names else min(e.weight, settings.support_cue) for e in evidence if _supports(e))
    total += max(support, default=0.0)
    if "alone" in place.zones and place.zones & {"top", "signoff"}:
        total += settings.support_position
    if "beset" in place.zones:
        total += settings.support_beset
    several = form.full or (form.words and form.initials)
    tabled = several and all(in_table(word) or is_near_table(word) for word in form.words)
    if not denied and tabled and not all(words().is_common(word) for word in form.words):
        total += settings.support_table
    if not denied and any(is_near_table(word) for word in form.words):
        total += settings.support_slip
    if roster and form.words and all(word in roster for word in form.words):
        total += settings.support_roster
    return total - denied


def _supports(e: Evidence) -> bool:
    return e.role != NOT_NAME and e.id not in _NO_SUPPORT


def _is_place(place: Place) -> bool:
    return bool(_PLACE_AFTER.match(place.after.lower()) or _PLACE_BEFORE.search(place.before.lower()))


def person_evidence(
    cands: Sequence[Candidate], forms: Sequence[Form], evidence: Sequence[Sequence[Evidence]], settings: ContextSettings
) -> list[Evidence]:
    """All evidence about one person.

    cands (Sequence[Candidate]), forms (Sequence[Form]), evidence (Sequence[Sequence[Evidence]]): One per mention.
    settings (ContextSettings): Weights.
    RETURNS (list[Evidence]): Without that of the model; see `model_scores`.
    """
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
    for form in forms:
        role = known.of(form)
        if role:
            what = "a well-known person" if role == CITED else "a figure of a well-known story"
            return [Evidence("figure_full", role, settings.figure_full, what)]
    if all(not form.full for form in forms):
        for form in forms:
            role = known.surname.get(form.surname, "")
            if role and (form.surname in known.sure or (cited and role == CITED)):
                what = "the name of a well-known person" if role == CITED else "a figure of a well-known story"
                return [Evidence("figure_surname", role, settings.figure_surname, what)]
    return []


def model_scores(cands: Sequence[Candidate], settings: ContextSettings) -> dict[str, float]:
    """The model's reading of one person.

    cands (Sequence[Candidate]): All mentions; those without role probabilities have no say.
    settings (ContextSettings): Weights.
    RETURNS (dict[str, float]): Log-odds per role against an even guess.
    """
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
    """The role of a person.

    evidence (Sequence[Evidence]): All of `person_evidence`. model (Mapping[str, float]): What `model_scores` gave.
    roles (Sequence[str]): Those to choose from.
    RETURNS (tuple[str, str]): The role, and the reason: "cited: year in brackets follows". Equal sums go to the earlier role.
    """
    total = {role: model.get(role, 0.0) for role in ROLES}
    for e in evidence:
        total[e.role] += e.weight
    role = max(roles, key=lambda r: (round(total[r], 9), -ROLES.index(r)))
    return role, reason_for(role, evidence, model)


def reason_for(role: str, evidence: Sequence[Evidence], model: Mapping[str, float]) -> str:
    """RETURNS (str): What speaks most for a role, for a reader: "cited: year in brackets follows"."""
    best = max((e for e in evidence if e.role == role and e.weight > 0), key=lambda e: e.weight, default=None)
    if best is None or (best.weight < 0.75 * model.get(role, 0.0) and best.weight < 1.5):
        reason = "reads like it, to the model"
    else:
        reason = best.reason
    return f"{role.lower()}: {reason}"


def folded_words(names: Sequence[str]) -> frozenset[str]:
    """RETURNS (frozenset[str]): Every word of some names, folded, to compare with `Form.words`."""
    return frozenset(word for name in names for word in fold(name).replace(",", " ").split())
