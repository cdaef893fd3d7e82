"""What Presidio is told, and what comes with the package for it: names of entities, scores, options, a YAML file. Presidio is not imported.

    >>> Naming().entity("NAME_STUDENT"), Naming(labels="ours").entity("NAME_STUDENT"), Naming().entity("NAME_CITED")
    ('PERSON', 'NAME_STUDENT', '')
    >>> Naming(return_cited=True).entity("NAME_CITED")
    'CITED_PERSON'

Presidio drops keys of a YAML file that it does not know; here an unknown option is an error.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import resources
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import srsly

from .. import keep_offline
from ..errors import Errors, PiiError
from ..labels import ID_NUM, LABELS, PRESIDIO_ENTITIES, is_name

CONFIGS = ("analyzer",)
PRESIDIO, OURS = LABEL_STYLES = ("presidio", "ours")
# People who are no private matter of the writer's: authors and public figures, and figures in a story.
_PUBLIC = ("NAME_CITED", "NAME_CHARACTER")
# Countries whose recognizers Presidio 2.2.366 has; what they find are numbers, and codes of numbers and letters.
_COUNTRIES = frozenset("AU CA DE ES FI IN IT KR NG PH PL SE SG TH TR UK US ZA".split())
_NUMBERS = (
    "IBAN_CODE",
    "CREDIT_CARD",
    "CRYPTO",
    "MEDICAL_LICENSE",
    "ABA_ROUTING_NUMBER",
    "IP_ADDRESS",
    "MAC_ADDRESS",
    "UUID",
)
LABEL_OF_ENTITY: dict[str, str] = {
    **{entity: label for label, entity in PRESIDIO_ENTITIES.items()},
    **{label: label for label in LABELS},
    "PERSON": "NAME_STUDENT",
    "DATE_TIME": "DATE",
    "ORGANIZATION": "EMPLOYER",
    "URL": "URL_PERSONAL",
    "ZA_MOBILE_NUMBER": "PHONE_NUM",
    "ZA_TELEPHONE_NUMBER": "PHONE_NUM",
    **dict.fromkeys(_NUMBERS, ID_NUM),
}


def config_path(name: str = "analyzer") -> Path:
    """The file for Presidio's AnalyzerEngineProvider: all sections in one. RAISES (PiiError): E811 for another name."""
    if name not in CONFIGS:
        raise PiiError(Errors.E811, name=name, allowed=", ".join(CONFIGS))
    return Path(str(resources.files("pii_components") / "resources" / "presidio" / f"{name}.yaml"))


def resolve_config(name_or_path: str | Path) -> Path:
    """Of a file that ships, by its name, or of a file of your own."""
    return config_path(str(name_or_path)) if str(name_or_path) in CONFIGS else Path(name_or_path)


def read_config(name_or_path: str | Path) -> dict[str, Any]:
    """What a file says, one that ships by name or one of your own, as Presidio's providers take it.
    RAISES (PiiError): E811, if there is none; E812, if it is no mapping."""
    path = resolve_config(name_or_path)
    if not path.is_file():
        raise PiiError(Errors.E811, name=path.name, allowed=", ".join(CONFIGS))
    try:
        data = srsly.read_yaml(path)
    except Exception as err:  # noqa: BLE001  (the parser has many kinds, and their messages quote the file)
        raise PiiError(Errors.E812, path=path.name, reason=type(err).__name__) from None
    if not isinstance(data, dict):
        raise PiiError(Errors.E812, path=path.name, reason=type(data).__name__)
    return data


def label_of(entity: str, labels: Mapping[str, str] | None = None) -> str:
    """Our label of an entity of Presidio ("PERSON", "US_SSN", ...). labels: What goes before the table. What nobody knows keeps its
    name: no profile has an action for it, so it becomes a tag, also where a profile keeps OTHER."""
    known = (labels or {}).get(entity) or LABEL_OF_ENTITY.get(entity)
    return known or (ID_NUM if entity[:2] in _COUNTRIES and entity[2:3] == "_" else entity)


def score_of(label: str, probability: float, protect_at: float) -> float:
    """What Presidio is told for a probability: .5 is our operating point, so nothing that is protected has less.

    protect_at (float): Probability, 0 to 1, from which a name is hidden; a name's odds are divided by the odds of that. Rules and the other
        labels have their threshold at .5. People who are not hidden, cited ones and characters, keep the probability of their role.

    >>> [round(score_of("NAME_STUDENT", p, 0.21), 2) for p in (0.21, 0.3, 0.5, 0.9, 1.0)]
    [0.5, 0.62, 0.79, 0.97, 1.0]
    """
    if label in _PUBLIC:
        return probability
    least = protect_at if is_name(label) else 0.5
    private, public = probability * (1 - least), (1 - probability) * least
    return max(0.5, private / ((private + public) or 1.0))


def presidio_needed(what: str, *, package: str = "presidio_analyzer") -> None:
    """Call before Presidio is imported; keeps it offline. RAISES (PiiError): E005, if it is not installed."""
    keep_offline()
    if find_spec(package) is None:
        raise PiiError(Errors.E005, package=package.replace("_", "-"), what=what, extra="presidio")


@dataclass(frozen=True, slots=True)
class Naming:
    """What Presidio is told.

    labels (str): "presidio" for its names of entities (PERSON, EMAIL_ADDRESS, ...), "ours" for our labels.
    return_cited (bool): Whether cited people and characters are returned, as CITED_PERSON and CHARACTER_PERSON, rather than left
        out. They are never PERSON: an anonymizer sees no roles.
    RAISES (PiiError): E801 for a value that is not allowed.
    """

    labels: str = PRESIDIO
    return_cited: bool = False

    def __post_init__(self) -> None:
        if self.labels not in LABEL_STYLES:
            raise PiiError(
                Errors.E801, name="labels", value=self.labels, allowed=" or ".join(LABEL_STYLES)
            )
        if not isinstance(self.return_cited, bool):
            raise PiiError(
                Errors.E801, name="return_cited", value=self.return_cited, allowed="true or false"
            )

    def entity(self, label: str) -> str:
        """What Presidio is told for a label of ours; the empty string if it is left out."""
        if label in _PUBLIC and not self.return_cited:
            return ""
        return label if self.labels == OURS else PRESIDIO_ENTITIES.get(label, label)

    def entities(self, labels: Iterable[str] = LABELS) -> list[str]:
        """What Presidio is told for these labels: each once, in the order of the labels."""
        return list(dict.fromkeys(entity for label in labels if (entity := self.entity(label))))

    def checked(self, entities: Iterable[str]) -> list[str]:
        """The same, each once. RAISES (PiiError): E802 for one that is never returned."""
        allowed = self.entities()
        for entity in entities:
            if entity not in allowed:
                raise PiiError(Errors.E802, entity=entity, allowed=", ".join(allowed))
        return list(dict.fromkeys(entities))


def refuse_unknown(options: Iterable[str], *, what: str, allowed: Iterable[str]) -> None:
    """RAISES (PiiError): E803 for the first of the options that are left over. what (str): Whose they are."""
    for name in options:
        raise PiiError(Errors.E803, what=what, name=name, allowed=", ".join(allowed))
