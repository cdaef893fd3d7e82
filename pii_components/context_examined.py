"""What `pii_context` knows of a document before it decides: names and whose they are, what speaks for each role, and rows for the classifier."""

from dataclasses import dataclass

import numpy

from .context_cues import NOT_NAME
from .context_features import SIDES, People, Weighed, features
from .context_view import DocView
from .labels import CHARACTER, STUDENT
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

        vectors (numpy.ndarray | None): Of the encoder. read (numpy.ndarray | None): What the reader says, shape `(n_persons, 6)`. Whether
            something is a name it cannot tell, since it does not see it. Where nothing tells of a story, whom it takes for a character is
            somebody of whom it knows nothing: real people are told of like figures, too.
        RETURNS (numpy.ndarray): Shape `(n_persons, len(FEATURES) + width)`.
        """
        anchored = [any(e.anchor and e.role == STUDENT for e in w.evidence) for w in self.weighed]
        if read is not None:
            read = without(read, NOT_NAME, *(() if self.tells else (CHARACTER,)))
        found = [
            features(
                self.view, self.people, self.weighed, n,
                anchored=anchored, tells=self.tells, vectors=vectors, read=None if read is None else read[n],
            )  # fmt: skip
            for n in range(len(self.weighed))
        ]
        return numpy.stack(found) if found else numpy.zeros((0, 0), dtype="f4")


def without(read: numpy.ndarray, *classes: str) -> numpy.ndarray:
    """Leave something out of what the reader says.

    read (numpy.ndarray): Log-probabilities, shape `(n_persons, 6)`. classes (str): Of `context_model.CLASSES`.
    RETURNS (numpy.ndarray): The same shape; the probability of those classes is dealt out evenly among the others.
    """
    chances = numpy.exp(read.astype("f8"))
    out = [SIDES.index(name) for name in classes]
    dealt = chances + chances[:, out].sum(axis=1, keepdims=True) / (chances.shape[1] - len(out))
    dealt[:, out] = 0.0
    return numpy.asarray(numpy.log(numpy.maximum(dealt, 1e-9)), dtype="f4")
