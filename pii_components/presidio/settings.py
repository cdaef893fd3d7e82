"""What Presidio is told: names of entities, scores, the YAML file that ships. This module imports no Presidio.

    >>> Naming().entity("NAME_STUDENT"), Naming(labels="ours").entity("NAME_STUDENT")
    ('PERSON', 'NAME_STUDENT')
    >>> [Naming(cited=cited).entity("NAME_CITED") for cited in ("omit", "own", "person")]
    ['', 'CITED_PERSON', 'PERSON']

Presidio drops keys of a YAML file that it does not know; here an unknown option is an error.
"""

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from importlib import resources
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import srsly

from .. import keep_offline
from ..errors import Errors, PiiError, reason_of
from ..labels import (
    ID_NUM,
    INDIRECT_LABELS,
    IP_ADDRESS,
    LABELS,
    NAME_CHARACTER,
    NAME_CITED,
    NAME_STUDENT,
    OTHER,
    PRESIDIO_ENTITIES,
    is_name,
    is_own,
)
from ..options import ABOVE_0, Settings, key

# What a recognizer of ours says of a result beside its type: several of our labels are one of Presidio's types.
LABEL_KEY = "pii_label"
SERVICES = BOTH, ANALYZER, ANONYMIZER = ("both", "analyzer", "anonymizer")
PRESIDIO, OURS = LABEL_STYLES = ("presidio", "ours")
# What becomes of people who are no private matter of the writer's: authors and public figures, and figures in a story.
OMIT, OWN, PERSON = CITED = ("omit", "own", "person")
_PUBLIC = (NAME_CITED, NAME_CHARACTER)
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
    **dict.fromkeys(_NUMBERS, ID_NUM),
    **dict.fromkeys(("IP_ADDRESS", "MAC_ADDRESS"), IP_ADDRESS),
    **{entity: label for label, entity in PRESIDIO_ENTITIES.items()},
    **{label: label for label in LABELS},
    "PERSON": "NAME_STUDENT",
    "DATE_TIME": "DATE",
    "ORGANIZATION": "EMPLOYER",
    "URL": "URL_PERSONAL",
    "ZA_MOBILE_NUMBER": "PHONE_NUM",
    "ZA_TELEPHONE_NUMBER": "PHONE_NUM",
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
    """What entities are called, and which are returned.

    labels (str): "presidio" for its names (PERSON, EMAIL_ADDRESS), "ours" for our labels.
    cited (str): What happens to cited people and characters: "omit"; "own" for CITED_PERSON and CHARACTER_PERSON;
        "person" for PERSON, as everybody else: an anonymizer sees no roles.
    direct_only (bool): Whether AGE, DATE, LOCATION, EDUCATION and EMPLOYER are left out.
    RAISES (PiiError): E650 for a value that is not allowed.
    """

    labels: str = PRESIDIO
    cited: str = OMIT
    direct_only: bool = False

    def __post_init__(self) -> None:
        allowed = {"labels": LABEL_STYLES, "cited": CITED, "direct_only": (False, True)}
        for name, values in allowed.items():
            value = getattr(self, name)
            if type(value) is not type(values[0]) or value not in values:
                known = " or ".join(map(str, values)).lower()
                raise PiiError(Errors.E650, name=name, value=value, allowed=known)

    def label(self, label: str) -> str:
        """RETURNS (str): What operators of ours are told."""
        return NAME_STUDENT if label in _PUBLIC and self.cited == PERSON else label

    def entity(self, label: str) -> str:
        """RETURNS (str): What Presidio is told for a label of ours; "" if it is never returned."""
        label = self.label(label)
        if label in _PUBLIC and self.cited == OMIT or label in INDIRECT_LABELS and self.direct_only:
            return ""
        return label if self.labels == OURS else PRESIDIO_ENTITIES.get(label, label)

    def entities(self, labels: Iterable[str] = LABELS) -> list[str]:
        """RETURNS (list[str]): What Presidio is told for these labels, each once, in order."""
        return [entity for entity in dict.fromkeys(map(self.entity, labels)) if entity]

    def chosen(self, asked: Iterable[str] | None) -> list[str]:
        """RETURNS (list[str]): The entities that are asked for; all but OTHER's if nobody asks.
        RAISES (PiiError): E519 for one that is never returned; labels of the user's own may be."""
        allowed = self.entities()
        if not asked:
            return [entity for entity in allowed if entity != self.entity(OTHER)]
        for entity in asked:
            if entity not in allowed and not (is_own(entity) and label_of(entity) == entity):
                told = ", ".join(allowed) + " (cited people and characters: with cited: own)"
                raise PiiError(Errors.E519, value=entity, what="entity of ours", allowed=told)
        return list(dict.fromkeys(asked))


@dataclass(frozen=True, kw_only=True)
class ServeSettings(Settings):
    """What the REST server is asked for; it checks itself.

    service (str): "both" of Presidio's services, "analyzer" or "anonymizer".
    model (str): Pipeline of the analyzer: an installed package or a folder.
    analyzer_conf_file (str): Presidio's analyzer YAML instead of the model; "analyzer" for the one that ships.
    recognizers (str): Presidio's list of recognizers, beside ours.
    cited (str): What happens to cited people: "omit", "own" (CITED_PERSON), or "person", as for everybody.
    ad_hoc (bool): Whether a request may bring recognizers and regular expressions of its own.
    profile (str): For the operator `hips`: a name, or a file that ends in ".toml".
    max_bytes (int): Longest body of a request; beyond it: 413.
    batch_size (int): Texts of a list that are processed together.
    allowed_hosts (str): Further names that a Host header may have, with commas between them; "*" for any.
    RAISES (PiiError): E519, E650 for a value that is not allowed.
    """

    service: str = key(BOTH, allowed=SERVICES)
    model: str = key("en_pii_edu")
    analyzer_conf_file: str = key("")
    recognizers: str = key("")
    cited: str = key(OMIT, allowed=CITED)
    ad_hoc: bool = key(True)
    profile: str = key("")
    max_bytes: int = key(200_000, limit=ABOVE_0)
    batch_size: int = key(16, limit=ABOVE_0)
    allowed_hosts: str = key("")

    @classmethod
    def from_env(cls) -> "ServeSettings":
        """RETURNS (ServeSettings): What PII_EDU_SERVE_MODEL and so on say, else the defaults."""
        found: dict[str, Any] = {}
        for setting in fields(cls):
            text = os.environ.get(f"PII_EDU_SERVE_{setting.name.upper()}")
            if text is not None:
                is_text = isinstance(setting.default, str)
                found[setting.name] = text if is_text else json.loads(text.lower())
        return cls(**found)
