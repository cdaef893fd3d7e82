"""Labels, roles and priorities: the one source of truth.

    >>> from pii_components.labels import label_for_role, role_of
    >>> label_for_role("CITED"), role_of("NAME_STUDENT"), role_of("EMAIL")
    ('NAME_CITED', 'STUDENT', '')

Users may have labels of their own, such as COURSE: `check_label` tells them from slips of the pen.
A person's name carries its role in its label (`NAME_<ROLE>`), so that one string travels through DocBin, Presidio and a report.
A name that is hidden only to be safe is NAME_STUDENT or NAME_CONNECTED all the same; `span._.pii_role` has its likeliest role then.
Sources: CRAPII (seeds/crapii_paper.txt, section 2.2) for the direct and indirect labels; ETS's procedure for instructors and
connected people.
"""

import re
from difflib import get_close_matches

from .errors import Errors, PiiError

__all__ = ["LABELS", "is_name", "label_for_role", "role_of"]

ROLES = STUDENT, INSTRUCTOR, CONNECTED, CITED, CHARACTER = (
    "STUDENT",
    "INSTRUCTOR",
    "CONNECTED",
    "CITED",
    "CHARACTER",
)
# Whose a detail is, if nobody's in person: an office's, a firm's.
ORGANISATION = "ORGANISATION"
# How many false alarms a found name is worth: many, some, few.
POINTS = RECALL, BALANCED, PRECISION = ("recall", "balanced", "precision")
# Where surrogates are told: a header that was removed, and a word beside a surrogate that was made to agree with it ("an" before a vowel).
HEADER, AGREEMENT = "HEADER", "AGREEMENT"
NAME_LABELS = NAME_STUDENT, NAME_INSTRUCTOR, NAME_CONNECTED, NAME_CITED, NAME_CHARACTER = (
    "NAME_STUDENT",
    "NAME_INSTRUCTOR",
    "NAME_CONNECTED",
    "NAME_CITED",
    "NAME_CHARACTER",
)
DETAIL_LABELS = EMAIL, USERNAME, ID_NUM, PHONE_NUM, URL_PERSONAL, STREET_ADDRESS, IP_ADDRESS = (
    "EMAIL",
    "USERNAME",
    "ID_NUM",
    "PHONE_NUM",
    "URL_PERSONAL",
    "STREET_ADDRESS",
    "IP_ADDRESS",
)
# CRAPII's direct identifiers; what its Kaggle task scores, with instructors beside it.
DIRECT_LABELS: tuple[str, ...] = (NAME_STUDENT, NAME_INSTRUCTOR, *DETAIL_LABELS[:-1])
INDIRECT_LABELS = AGE, DATE, LOCATION, EDUCATION, EMPLOYER, OTHER = (
    "AGE",
    "DATE",
    "LOCATION",
    "EDUCATION",
    "EMPLOYER",
    "OTHER",
)
LABELS: tuple[str, ...] = (*NAME_LABELS, *DETAIL_LABELS, *INDIRECT_LABELS)
"""All labels: names, details, indirect identifiers. The page on labels says what each marks."""

# Where two spans overlap, the higher one stays: a value with a shape of its own before a name inside it.
PRIORITY: dict[str, int] = {
    EMAIL: 100,
    URL_PERSONAL: 90,
    IP_ADDRESS: 85,
    PHONE_NUM: 80,
    ID_NUM: 70,
    STREET_ADDRESS: 65,
    USERNAME: 60,
    NAME_STUDENT: 50,
    NAME_INSTRUCTOR: 49,
    NAME_CONNECTED: 48,
    NAME_CHARACTER: 47,
    NAME_CITED: 46,
    EMPLOYER: 30,
    EDUCATION: 29,
    LOCATION: 28,
    DATE: 27,
    AGE: 26,
    OTHER: 10,
}
# A label of a user's own: before what is said of somebody, which profiles may keep; behind names, which they hide.
OWN_PRIORITY = 40

# Backgrounds in displaCy: people, what leads to one, what is said of one.
COLORS: dict[str, str] = (
    dict.fromkeys(NAME_LABELS, "#ffd966")
    | {NAME_CITED: "#d9d9d9", NAME_CHARACTER: "#d9d9d9"}
    | dict.fromkeys(DETAIL_LABELS, "#f4a6a0")
    | dict.fromkeys(INDIRECT_LABELS, "#a9d3f5")
)

# Presidio's entity names. A cited author must not reach an anonymizer as PERSON: it sees no roles.
PRESIDIO_ENTITIES: dict[str, str] = {
    NAME_STUDENT: "PERSON",
    NAME_INSTRUCTOR: "PERSON",
    NAME_CONNECTED: "PERSON",
    NAME_CITED: "CITED_PERSON",
    NAME_CHARACTER: "CHARACTER_PERSON",
    EMAIL: "EMAIL_ADDRESS",
    USERNAME: "USERNAME",
    ID_NUM: "ID",
    PHONE_NUM: "PHONE_NUMBER",
    URL_PERSONAL: "URL",
    STREET_ADDRESS: "STREET_ADDRESS",
    IP_ADDRESS: "IP_ADDRESS",
    AGE: "AGE",
    DATE: "DATE_TIME",
    LOCATION: "LOCATION",
    EDUCATION: "EDUCATION",
    EMPLOYER: "ORGANIZATION",
    OTHER: "OTHER_PII",
}

_OWN = re.compile(r"(?!NAME_)[A-Z][A-Z0-9_]{1,39}")


def check_label(label: str, *, what: str = "") -> str:
    """Tell a label from a slip of the pen. what (str): Where it stands, for the error.

    RETURNS (str): The label, if it is one of `LABELS` or can be a user's own, see `is_own`.
    RAISES (PiiError): E002 for any other.
    """
    if label in LABELS or is_own(label):
        return label
    near = _nearest(label)
    allowed = f"{', '.join(LABELS)}, or a label of your own: capitals, digits and _, such as COURSE"
    if near:
        allowed = f"{near} (the nearest), or a label of your own that is less like it"
    shown = f"{label} of {what}" if what else label
    raise PiiError(Errors.E002, label=shown, allowed=allowed)


def is_own(label: str) -> bool:
    """RETURNS (bool): Whether a label can be a user's own: 2 to 40 capitals, digits and `_`, not beginning with NAME_; none of ours, nor what is
    most likely a slip or another name for one of ours: EMIAL, PHONE, PERSON."""
    is_form = _OWN.fullmatch(label) is not None and label not in (HEADER, AGREEMENT)
    return is_form and label not in LABELS and not _nearest(label)


def _nearest(label: str) -> str:
    """Which of ours a label most likely means; empty for none."""
    for ours in LABELS:
        if label in (*ours.split("_"), PRESIDIO_ENTITIES[ours]):
            return ours
    names = {PRESIDIO_ENTITIES[ours]: ours for ours in reversed(LABELS)}
    near = get_close_matches(label, ("NAME", *LABELS, *names), 1, 0.8)
    return names.get(near[0], near[0]) if near else ""


def label_for_role(role: str) -> str:
    """RETURNS (str): `NAME_<role>`, the label of a person's name with one of `ROLES`. RAISES (PiiError): E519, if the role is unknown."""
    if role not in ROLES:
        raise PiiError(Errors.E519, value=role, what="role", allowed=", ".join(ROLES))
    return f"NAME_{role}"


def role_of(label: str) -> str:
    """RETURNS (str): The role in a name's label; the empty string for every other label."""
    return label[5:] if label in NAME_LABELS else ""


def is_name(label: str) -> bool:
    """RETURNS (bool): Whether the label is that of a person's name."""
    return label in NAME_LABELS
