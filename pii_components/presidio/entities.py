"""Presidio's names for entities, and ours: one table, both ways.

    >>> from pii_components.presidio.entities import label_of
    >>> label_of("PERSON"), label_of("NAME_CITED"), label_of("US_SSN"), label_of("NRP")
    ('NAME_STUDENT', 'NAME_CITED', 'ID_NUM', 'OTHER')

The way there is `labels.PRESIDIO_ENTITIES`. The way back is not unique, since several labels are called PERSON: unsure means
protect, so it is the student's name. Nothing here imports Presidio.
"""

from collections.abc import Mapping

from ..labels import DATE, EMPLOYER, ID_NUM, LABELS, NAME_STUDENT, OTHER, PHONE_NUM, PRESIDIO_ENTITIES, URL_PERSONAL

# Countries whose recognizers Presidio 2.2.366 has; what they find are numbers, and codes of numbers and letters.
_COUNTRIES = frozenset(
    ["AU", "CA", "DE", "ES", "FI", "IN", "IT", "KR", "NG", "PH", "PL", "SE", "SG", "TH", "TR", "UK", "US", "ZA"]
)
_NUMBERS = ("IBAN_CODE", "CREDIT_CARD", "CRYPTO", "MEDICAL_LICENSE", "ABA_ROUTING_NUMBER", "IP_ADDRESS", "MAC_ADDRESS", "UUID")
LABEL_OF_ENTITY: dict[str, str] = {
    **{entity: label for label, entity in reversed(PRESIDIO_ENTITIES.items())},
    "PERSON": NAME_STUDENT, "DATE_TIME": DATE, "ORGANIZATION": EMPLOYER, "URL": URL_PERSONAL,
    "ZA_MOBILE_NUMBER": PHONE_NUM, "ZA_TELEPHONE_NUMBER": PHONE_NUM,
    **dict.fromkeys(_NUMBERS, ID_NUM),
}  # fmt: skip


def label_of(entity: str, labels: Mapping[str, str] | None = None) -> str:
    """Our label of an entity of Presidio.

    entity (str): "PERSON", "US_SSN", or one of our labels. labels (Mapping[str, str] | None): What goes before the table.
    RETURNS (str): One of `labels.LABELS`; OTHER for what nobody knows, and OTHER has no generator: it becomes a tag.
    """
    if labels and entity in labels:
        return labels[entity]
    if entity in LABELS:
        return entity
    if entity in LABEL_OF_ENTITY:
        return LABEL_OF_ENTITY[entity]
    return ID_NUM if entity[:2] in _COUNTRIES and entity[2:3] == "_" else OTHER
