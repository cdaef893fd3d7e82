"""What `pii_context` knows of a document before it decides: names and whose they are, what speaks for each role, and rows for the classifier."""

from dataclasses import dataclass

import numpy

from .context_features import People, Weighed, features
from .context_view import DocView
from .labels import CHARACTER, ROLES, STUDENT
from .spans import Candidate

_READ_STORY = -0.7  # log-probability of a character from which the reader has seen a story: one half


@dataclass(frozen=True, slots=True)
class Examined:
    """What is known of a document before anything is decided.

    view (DocView): The document. others (list[Candidate]): What is no name. people (People): The names, and whose they are.
    weighed (list[Weighed]): Per person. tells (bool): Whether the text tells of a story, a persona or an exercise.
    """

    view: DocView
    others: list[Candidate]
    people: People
    weighed: list[Weighed]
    tells: bool

    def rows(self, vectors: numpy.ndarray | None, read: numpy.ndarray | None = None) -> numpy.ndarray:
        """One row per person for `PersonModel`, see `context_features.features`.

        vectors (numpy.ndarray | None): Of the encoder. read (numpy.ndarray | None): What the reader says, shape `(n_persons, 6)`: whom it takes
            for a character shows that a story is told.
        RETURNS (numpy.ndarray): Shape `(n_persons, len(FEATURES) + width)`.
        """
        anchored = [any(e.anchor and e.role == STUDENT for e in w.evidence) for w in self.weighed]
        tells = self.tells or (read is not None and bool((read[:, ROLES.index(CHARACTER)] > _READ_STORY).any()))
        found = [
            features(
                self.view,
                self.people,
                self.weighed,
                n,
                anchored=anchored,
                tells=tells,
                vectors=vectors,
                read=None if read is None else read[n],
            )  # fmt: skip
            for n in range(len(self.weighed))
        ]
        return numpy.stack(found) if found else numpy.zeros((0, 0), dtype="f4")
