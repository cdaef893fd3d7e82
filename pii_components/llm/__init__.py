"""Language models through spacy-llm: marker prompting, verifier, models, what they cost, files to fine-tune with.

Prompts hold an essay, so nothing here logs, caches or stores one: spacy-llm's debug lines, which print documents, are dropped.
"""

import logging
import tomllib
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import Errors, PiiError, reason_of


class Prompt(str):
    """What a model is asked. As a string it is all parts one after the other, for models that take only that.

    messages (tuple[dict[str, str], ...]): The parts with their roles, for chat models. expected (int): Characters that an answer has.
    """

    messages: tuple[dict[str, str], ...]
    expected: int

    @classmethod
    def of(cls, system: str, user: str, *, expected: int) -> "Prompt":
        """From an instruction and a request."""
        made = cls(f"{system}\n\n{user}")
        made.messages = ({"role": "system", "content": system}, {"role": "user", "content": user})
        made.expected = expected
        return made


class Reply(str):
    """An answer.

    code (str): Of the error, if there is no answer; then the text is empty.
    votes (tuple[Reply, ...]): Those of every model of a panel, whose reply is the first of them.
    """

    code: str
    votes: tuple["Reply", ...]

    def __new__(cls, text: str = "", *, code: str = "", votes: Sequence["Reply"] = ()) -> "Reply":
        made = super().__new__(cls, votes[0] if votes else text)
        made.code, made.votes = votes[0].code if votes else code, tuple(votes)
        return made


# Of notes: what was not trusted, not read, or not answered.
CODES = ("E914", "E915", "E919", "E930", "E931", "E932", "E934")


class Note(NamedTuple):
    """What a task could not do or would not trust in a document: a code, and characters start to end (exclusive) of the text."""

    code: str
    start: int
    end: int


def read_toml(name: str, path: str | Path | None = None) -> dict[str, Any]:
    """A file of the room's resources, or the user's. RAISES (PiiError): E900, if it cannot be read."""
    place = Path(path) if path else resources.files("pii_components") / "resources" / "llm" / name
    try:
        return tomllib.loads(place.read_text(encoding="utf-8"))
    except (OSError, ValueError) as err:
        raise PiiError(
            Errors.E900, file=place.name, kind="TOML file", reason=reason_of(err)
        ) from err


def _no_texts(record: logging.LogRecord) -> bool:
    """spacy-llm writes documents, prompts and answers at DEBUG."""
    return record.levelno > logging.DEBUG


# From here on spacy-llm logs no document, however logging is set up.
logging.getLogger("spacy_llm").addFilter(_no_texts)
