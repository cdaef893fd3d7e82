"""What `pii_context` knows of a document before it decides: names and whose they are, what speaks for each role, and rows for the classifier."""

from dataclasses import dataclass

import numpy

from .context_features import People, Weighed, features
from .context_view import DocView
from .labels import CHARACTER, ROLES, STUDENT
from .spans import Candidate


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

        vectors (numpy.ndarray | None): Of the encoder. read (numpy.ndarray | None): What the reader says, shape `(n_persons, 6)`. Where nothing
            tells of a story, whom it takes for a character is somebody of whom it knows nothing: real people are told of like figures, too.
        RETURNS (numpy.ndarray): Shape `(n_persons, len(FEATURES) + width)`.
        """
        anchored = [any(e.anchor and e.role == STUDENT for e in w.evidence) for w in self.weighed]
        import os
        gate = os.environ.get("GATE", "0")
        told = numpy.full(len(self.weighed), self.tells)
        if read is not None and not self.tells:
            chance = numpy.exp(read[:, ROLES.index(CHARACTER)])
            if gate == "1":
                told = numpy.asarray([c >= 0.6 and sum(anchored) - anchored[n] > 0 for n, c in enumerate(chance)])
            elif gate == "2":
                told = chance >= 0.8
            elif gate == "3":
                told = chance >= 0.5
            elif gate == "4":
                told = numpy.asarray([c >= 0.8 and sum(anchored) - anchored[n] > 0 for n, c in enumerate(chance)])
            dealt = without_character(read)
            read = numpy.where(told[:, None], read, dealt)
        found = [
            features(
                self.view, self.people, self.weighed, n,
                anchored=anchored, tells=bool(told[n]), vectors=vectors, read=None if read is None else read[n],
            )  # fmt: skip
            for n in range(len(self.weighed))
        ]
        return numpy.stack(found) if found else numpy.zeros((0, 0), dtype="f4")


def without_character(read: numpy.ndarray) -> numpy.ndarray:
    """RETURNS (numpy.ndarray): Log-probabilities, shape `(n_persons, 6)`; that of CHARACTER is dealt out evenly among the others."""
    chances = numpy.exp(read)
    n = ROLES.index(CHARACTER)
    dealt = chances + chances[:, n : n + 1] / (chances.shape[1] - 1)
    dealt[:, n] = 0.0
    return numpy.asarray(numpy.log(numpy.maximum(dealt, 1e-9)), dtype="f4")
