"""What is known of a person in a document, as numbers: `begin_rows(people, heads, vectors)`, one row a person, columns as in `features()`.

First what the encoder's second head says of all their mentions (`heads.Heads.roles`), then what a reader can check: in which part of the text they
are named, the cues beside their names (resources/cues/context.toml), what the text is like. Nothing here decides: `classifier` learned what each is worth.
"""

import math
import re
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy

from ..labels import ROLES
from ..names import resource
from .heads import Backprop, Heads, first_of_each
from .mentions import People
from .view import MASK, Place

_READ = (*(f"read as {role}" for role in ROLES), "read as nobody")
_ZONES = ("header", "signoff", "bibliography", "quoted")
# Where a text begins or ends says nothing in a few sentences.
_EDGES, _SHORT = frozenset(("header", "signoff")), 60
_ABOUT = ("surely a name", "full", "named often", "persons", "story")
_LEAST = -7.0  # log-probability below which a role is out of the question


class Cue(NamedTuple):
    """A pattern: see resources/cues/context.toml."""

    before: re.Pattern[str] | None = None
    after: re.Pattern[str] | None = None
    above: re.Pattern[str] | None = None

    def holds(self, before: str, after: str, above: str) -> bool:
        """RETURNS (bool): Whether all of its patterns match. Arguments: Lower case."""
        return (
            (self.before is None or self.before.search(before) is not None)
            and (self.after is None or self.after.match(after) is not None)
            and (self.above is None or self.above.search(above) is not None)
        )


@cache
def read_cues() -> dict[str, tuple[Cue, ...]]:
    """RETURNS (dict[str, tuple[Cue, ...]]): What a cue tells -> its patterns, any of which is enough; in the order of the file."""
    tables: dict[str, list[dict[str, str]]] = resource("cues/context")
    return {
        reason: tuple(
            Cue(**{side: re.compile(pattern.replace("¤", MASK)) for side, pattern in one.items()})
            for one in patterns
        )
        for reason, patterns in tables.items()
    }


@cache
def features() -> tuple[str, ...]:
    """RETURNS (tuple[str, ...]): Columns of a person."""
    return (*_READ, *_ZONES, *read_cues(), *_ABOUT)


def begin_rows(
    people: People,
    heads: Heads | None,
    vectors: Any,
    persons: Sequence[Sequence[int]] | None = None,
) -> tuple[numpy.ndarray, Backprop]:
    """Rows of persons.

    heads (Heads | None): NaN, "not known", where nobody has read.
    vectors (numpy.ndarray): Of the document's tokens, `(n_tokens, 384)`.
    persons (Sequence | None): Lists of mentions; those of `people` if None.
    RETURNS (tuple): Shape `(n_persons, len(features()))`, and what makes of its gradient that of the vectors.
    """
    groups = people.persons if persons is None else persons
    if not groups:
        return numpy.zeros((0, len(features())), dtype="f4"), lambda d: numpy.zeros_like(vectors)
    read = numpy.full((len(groups), len(_READ)), numpy.nan, dtype="f4")
    learn: Backprop = numpy.zeros_like
    mentions = [i for group in groups for i in group]
    owners = numpy.repeat(numpy.arange(len(groups)), list(map(len, groups)))
    if heads is not None:
        spans = [(people.cands[i].start, people.cands[i].end) for i in mentions]
        read, learn = heads.begin_roles(vectors, spans, owners, len(groups))
    beside = numpy.maximum.reduceat(_beside(people)[mentions], first_of_each(owners))
    about = [
        (
            _logit(max(people.cands[i].score for i in group)),
            any(people.forms[i].full for i in group),
            math.log(len(group)),
            math.log(len(people.persons)),
            people.view.tells_a_story,
        )
        for group in groups
    ]
    rows = (numpy.maximum(read, _LEAST), beside, numpy.asarray(about, dtype="f4"))
    said = read > _LEAST
    return numpy.concatenate(rows, axis=1), lambda d: learn(d[:, : len(_READ)] * said)


def _logit(p: float) -> float:
    p = min(max(p, 0.01), 0.99)
    return math.log(p / (1 - p))


def _beside(people: People) -> numpy.ndarray:
    """Zones and cues of each mention, counted once and kept in `people.rows`."""
    if people.rows is None:
        short = len(people.view.words) < _SHORT
        rows = [_mention(place, short=short) for place in people.places]
        people.rows = numpy.asarray(rows, dtype="f4")
    return people.rows


def _mention(place: Place, *, short: bool) -> list[bool]:
    before, after, above = place.before.lower(), place.after.lower(), place.line_before.lower()
    zones = [zone in place.zones and not (short and zone in _EDGES) for zone in _ZONES]
    cues = [
        any(cue.holds(before, after, above) for cue in patterns)
        for patterns in read_cues().values()
    ]
    return [*zones, *cues]


def reason_of(feature: str) -> str:
    """RETURNS (str): What a data steward reads of a feature that decided; empty for one that tells nothing by itself."""
    if feature in read_cues():
        return feature
    return str(resource("cues/reasons").get(feature, ""))
