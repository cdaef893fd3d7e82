"""What Presidio is told: names of entities, scores, the YAML file that ships. This module imports no Presidio.

    >>> Naming().entity("NAME_STUDENT"), Naming(labels="ours").entity("NAME_STUDENT")
    ('PERSON', 'NAME_STUDENT')
    >>> Naming().entity("NAME_CITED"), Naming(return_cited=True).entity("NAME_CITED")
    ('', 'CITED_PERSON')

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
from ..errors import Errors, PiiError, reason_of
from ..labels import ID_NUM, LABELS, PRESIDIO_ENTITIES, is_name

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
    "MAC_ADDRESS": "IP_ADDRESS",
    **dict.fromkeys(_NUMBERS, ID_NUM),
}


def config_path() -> Path:
    """RETURNS (Path): The YAML file for Presidio's AnalyzerEngineProvider, with all of its sections."""
    return Path(str(resources.files("pii_components") / "resources" / "presidio" / "analyzer.yaml"))


def resolve_config(name_or_path: str | Path) -> Path:
    """RETURNS (Path): Of the file that ships, for "analyzer", or of a file of your own."""
    return config_path() if str(name_or_path) == "analyzer" else Path(name_or_path)


def read_config(name_or_path: str | Path) -> dict[str, Any]:
    """Read "analyzer", the file that ships, or a file of your own.

    RETURNS (dict[str, Any]): As Presidio's providers take it.
    RAISES (PiiError): E900, if there is no such file, or no mapping in it.
    """
    path = resolve_config(name_or_path)
    try:
        data = srsly.read_yaml(path)
    except Exception as err:  # noqa: BLE001  (the parser has many kinds, and their messages quote the file)
        raise PiiError(
            Errors.E900, file=path.name, kind="YAML file", reason=reason_of(err)
        ) from None
    if not isinstance(data, dict):
        raise PiiError(Errors.E900, file=path.name, kind="YAML file", reason=type(data).__name__)
    return data


def label_of(entity: str, labels: Mapping[str, str] | None = None) -> str:
    """Our label of an entity of Presidio's ("PERSON", "US_SSN").

    labels (Mapping[str, str] | None): The user's, which win.
    RETURNS (str): What nobody knows keeps its name: no profile has an action for it, so it becomes a tag,
        also where a profile keeps OTHER.
    """
    known = {**LABEL_OF_ENTITY, **(labels or {})}
    country, _, rest = entity.partition("_")
    return known.get(entity) or (ID_NUM if rest and country in _COUNTRIES else entity)


def score_of(label: str, probability: float, protect_at: float) -> float:
    """Presidio's score for a probability: .5 is our operating point, so what is protected never has less.

    protect_at (float): Probability from which a name is hidden; a name's odds are divided by the odds of it.
        Rules and other labels have their threshold at .5. People who are not hidden keep the probability of
        their role.

    >>> [round(score_of("NAME_STUDENT", p, 0.21), 2) for p in (0.21, 0.3, 0.5, 0.9, 1.0)]
    [0.5, 0.62, 0.79, 0.97, 1.0]
    """
    if label in _PUBLIC:
        return probability
    least = protect_at if is_name(label) else 0.5
    private, public = probability * (1 - least), (1 - probability) * least
    return max(0.5, private / ((private + public) or 1.0))


def presidio_needed(what: str, *, package: str = "presidio_analyzer") -> None:
    """Keep Presidio offline; call it before Presidio is imported. RAISES (PiiError): E005 without Presidio."""
    keep_offline()
    if find_spec(package) is None:
        raise PiiError(Errors.E005, package=package.replace("_", "-"), what=what, extra="presidio")


@dataclass(frozen=True, slots=True)
class Naming:
    """What entities are called.

    labels (str): "presidio" for its names (PERSON, EMAIL_ADDRESS), "ours" for our labels.
    return_cited (bool): Whether cited people and characters are returned, as CITED_PERSON and CHARACTER_PERSON.
        They are never PERSON: an anonymizer sees no roles.
    RAISES (PiiError): E650 for a value that is not allowed.
    """

    labels: str = PRESIDIO
    return_cited: bool = False

    def __post_init__(self) -> None:
        if self.labels not in LABEL_STYLES:
            allowed = " or ".join(LABEL_STYLES)
            raise PiiError(Errors.E650, name="labels", value=self.labels, allowed=allowed)
        if not isinstance(self.return_cited, bool):
            value = self.return_cited
            raise PiiError(Errors.E650, name="return_cited", value=value, allowed="true or false")

    def entity(self, label: str) -> str:
        """RETURNS (str): What Presidio is told for a label of ours; "" if it is left out."""
        if label in _PUBLIC and not self.return_cited:
            return ""
        return label if self.labels == OURS else PRESIDIO_ENTITIES.get(label, label)

    def entities(self, labels: Iterable[str] = LABELS) -> list[str]:
        """RETURNS (list[str]): What Presidio is told for these labels, each once, in order."""
        return [entity for entity in dict.fromkeys(map(self.entity, labels)) if entity]

    def checked(self, entities: Iterable[str]) -> list[str]:
        """RETURNS (list[str]): The same, each once. RAISES (PiiError): E802 for one that is never returned."""
        allowed = self.entities()
        for entity in entities:
            if entity not in allowed:
                raise PiiError(Errors.E802, entity=entity, allowed=", ".join(allowed))
        return list(dict.fromkeys(entities))
