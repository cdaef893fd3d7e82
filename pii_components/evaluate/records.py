"""What is compared: an entity in a document, and the document with its gold.

    >>> Entity("7", 0, 9, "NAME_STUDENT", "Ana Lopez")
    Entity(document='7', start=0, end=9, label='NAME_STUDENT')

Texts are needed to compare by text; they stay in memory and out of `repr`, messages and files.
"""

from dataclasses import dataclass, field

from ..errors import Errors, PiiError
from ..labels import EMAIL, ID_NUM, NAME_STUDENT, PHONE_NUM, STREET_ADDRESS, URL_PERSONAL, USERNAME

# What CRAPII's gold holds. A system's NAME_CITED or NAME_INSTRUCTOR is no prediction of NAME_STUDENT.
CRAPII_LABELS: tuple[str, ...] = (NAME_STUDENT, EMAIL, USERNAME, ID_NUM, PHONE_NUM, URL_PERSONAL, STREET_ADDRESS)
# The four types of the JEDM paper (seeds/gpt4omini_jedm.txt, Table 7); its gold has no others.
FOUR_LABELS: tuple[str, ...] = (NAME_STUDENT, EMAIL, PHONE_NUM, URL_PERSONAL)
UNKNOWN_SPLIT = "unknown"


@dataclass(frozen=True, slots=True)
class Entity:
    """A piece of personal information, as annotated or as predicted.

    document (str): Id of the document.
    start (int): First character. end (int): Character after the last one, exclusive.
    label (str): One of `labels.LABELS`, or a system's own.
    text (str): The characters; empty where they are not known.
    role (str): The likeliest role of a name, where it is another than the one in its label; empty elsewhere.
    """

    document: str
    start: int
    end: int
    label: str
    text: str = field(default="", repr=False)
    role: str = ""

    def __post_init__(self) -> None:
        if not 0 <= self.start < self.end:
            raise PiiError(Errors.E701, start=self.start, end=self.end, document=self.document)


@dataclass(frozen=True, slots=True)
class GoldDocument:
    """A text with what annotators found in it.

    id (str): Unique in the file.
    text (str): The document.
    entities (tuple[Entity, ...]): Sorted by position.
    tokens (tuple[tuple[int, int], ...]): First character and end (exclusive) of the tokens that the gold file gives.
    split (str): The part of the data set that it belongs to: `test`, `base_train`, `verifier_train`, `unknown`.
    masked (tuple[tuple[int, int], ...]): Stretches whose gold is not known: what is found there is neither right nor wrong.
    """

    id: str
    text: str = field(repr=False)
    entities: tuple[Entity, ...] = ()
    tokens: tuple[tuple[int, int], ...] = field(default=(), repr=False)
    split: str = UNKNOWN_SPLIT
    masked: tuple[tuple[int, int], ...] = ()

    @property
    def n_words(self) -> int:
        """RETURNS (int): Words between white space: the same for every system, whatever its tokenizer."""
        return len(self.text.split())
