"""Options of the recognizer and of the NLP engine, checked: what is unknown is an error, never ignored.

    >>> from pii_components.presidio.settings import Naming
    >>> Naming().entity("NAME_STUDENT"), Naming(labels="ours").entity("NAME_STUDENT"), Naming().entity("NAME_CITED")
    ('PERSON', 'NAME_STUDENT', '')
    >>> Naming(return_cited=True).entity("NAME_CITED")
    'CITED_PERSON'

Presidio drops keys of a YAML file that it does not know. Nothing here imports Presidio.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import Errors, PiiError
from ..labels import CHARACTER, CITED, LABELS, PRESIDIO_ENTITIES, role_of

PRESIDIO, OURS = LABEL_STYLES = ("presidio", "ours")
# People who are no private matter of the writer's: authors and public figures, and figures in a story.
_PUBLIC = (CITED, CHARACTER)


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
            raise PiiError(Errors.E801, name="labels", value=self.labels, allowed=" or ".join(LABEL_STYLES))
        if not isinstance(self.return_cited, bool):
            raise PiiError(Errors.E801, name="return_cited", value=self.return_cited, allowed="true or false")

    def entity(self, label: str) -> str:
        """RETURNS (str): What Presidio is told for a label of ours; the empty string if it is left out."""
        if role_of(label) in _PUBLIC and not self.return_cited:
            return ""
        return label if self.labels == OURS else PRESIDIO_ENTITIES[label]

    def entities(self, labels: Iterable[str] = LABELS) -> list[str]:
        """RETURNS (list[str]): What Presidio is told for these labels: each once, in the order of the labels."""
        return list(dict.fromkeys(entity for label in labels if (entity := self.entity(label))))

    def checked(self, entities: Iterable[str]) -> list[str]:
        """RETURNS (list[str]): The same, each once. RAISES (PiiError): E802 for one that is never returned."""
        allowed = self.entities()
        for entity in entities:
            if entity not in allowed:
                raise PiiError(Errors.E802, entity=entity, allowed=", ".join(allowed))
        return list(dict.fromkeys(entities))


def refuse_unknown(options: Mapping[str, Any], *, what: str, allowed: Iterable[str]) -> None:
    """Refuse options that nobody reads.

    options (Mapping[str, Any]): Those that are left. what (str): Whose they are. allowed (Iterable[str]): Those that there are.
    RAISES (PiiError): E803, with the first unknown one.
    """
    for name in options:
        raise PiiError(Errors.E803, what=what, name=name, allowed=", ".join(allowed))
