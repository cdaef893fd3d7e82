"""Operating points: how a pipeline trades missed names for false alarms, chosen at load time.

    nlp = spacy.load("en_pii_edu", config={"components.pii_ner.operating_point": "recall"})

`pii_ner` takes its thresholds for the point and writes the point into `doc.spans["pii"].attrs`; `pii_context` reads it there, so that one
setting moves both.
"""

from collections.abc import Mapping

from .errors import Errors, PiiError

RECALL = "recall"
BALANCED = "balanced"
PRECISION = "precision"
POINTS: tuple[str, ...] = (RECALL, BALANCED, PRECISION)
OPERATING_POINT = "operating_point"  # the key in doc.spans["pii"].attrs
# The odds that a threshold asks for, at the points beside `balanced`.
_ODDS = {RECALL: 0.25, PRECISION: 4.0}


def check_point(point: str) -> None:
    """RAISES (PiiError): E107, if there is no such point."""
    if point not in POINTS:
        raise PiiError(Errors.E107, point=point, allowed=", ".join(POINTS))


def thresholds_at(point: str, thresholds: Mapping[str, float]) -> dict[str, float]:
    """Thresholds of `pii_ner` at an operating point.

    point (str): One of `POINTS`. thresholds (Mapping[str, float]): Those of `balanced`, 0 to 1.
    RETURNS (dict[str, float]): A quarter of the odds for `recall`, four times the odds for `precision`; 0 and 1 stay. Names keep theirs:
        who is private is for `pii_context` to decide, and a name that it never sees it cannot weigh.

    >>> round(thresholds_at("recall", {"EMAIL": 0.5})["EMAIL"], 3)
    0.2
    """
    factor = _ODDS.get(point, 1.0)
    return {
        label: value if label == "NAME" or value in (0.0, 1.0) else factor * value / (1 - value + factor * value)
        for label, value in thresholds.items()
    }
