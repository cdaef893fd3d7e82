"""Labels, roles and priorities: the one source of truth.

    >>> from pii_components.labels import label_for_role, role_of
    >>> label_for_role("CITED"), role_of("NAME_STUDENT"), role_of("EMAIL")
    ('NAME_CITED', 'STUDENT', '')

A person's name carries its role in its label (`NAME_<ROLE>`), so that one string travels through DocBin, Presidio and a report.
A name that is hidden only to be safe is NAME_STUDENT or NAME_CONNECTED all the same; `span._.pii_role` has its likeliest role then.
Sources: CRAPII (seeds/crapii_paper.txt, section 2.2) for the direct and indirect labels; ETS's procedure for instructors and
connected people.
"""

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
# What a header that was removed is called, where surrogates are told.
HEADER = "HEADER"
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
