"""The settings of `pii_context`: thresholds and weights, each in log-odds unless said otherwise.

One place for every number, so that cross-validation can turn them and a config can show them. Weights of single cues are data
(resources/cues/names.toml), not settings.
"""

from dataclasses import asdict, dataclass, fields
from typing import Any

from ..errors import Errors, PiiError
from ..ner.decode import PRECISION, RECALL

_SHARES = (
    "min_score", "model_floor", "mention_growth", "repeat", "protect_recall", "protect", "protect_precision", "company", "blind",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ContextSettings:
    """How evidence is weighed. RAISES (PiiError): E301 for a value out of range."""

    min_score: float = 0.5  # probability from which a name needs no further evidence
    student_bias: float = 0.5  # added to STUDENT, always: unsure means protect
    anchor_bias: float = 1.0  # added to STUDENT once more where a name signs, heads the text or is the first person's
    model_weight: float = 1.0  # factor on the logarithm of the model's role probabilities
    model_floor: float = 0.05  # mixed into role probabilities, 0 to 1, so that a sure model can still be outweighed
    mention_growth: float = 0.5  # the model's evidence grows with the mentions to this power: its errors are correlated
    repeat: float = 0.5  # factor on each further time that the same cue speaks for the same person, 0 to 1
    split_margin: float = 1.5  # by how much a bare name's own cues must speak for another role before it is another person
    split_signed: float = 3.5  # the same against a student who heads or signs the text by full name
    header_alone: float = 3.0  # STUDENT: alone on a line of the header
    header_line: float = 1.2  # STUDENT: beside other words there
    signoff_alone: float = 3.0  # STUDENT: alone on one of the last lines
    signoff_line: float = 0.8  # STUDENT: beside other words there
    bibliography: float = 4.0  # CITED, for a line of a bibliography
    figure_full: float = 3.0  # a public or literary figure by full name
    figure_surname: float = 2.5  # by a surname with further evidence
    form_given: float = 1.0  # against CITED for a person called by a given name only
    form_surname: float = 0.5  # for CITED by a bare surname only
    support_position: float = 2.5  # added to a weak name's own log-odds for a line of its own,
    support_table: float = 2.0  # for first and last name both in the name table (or an initial and a name of it),
    support_roster: float = 6.0  # for a name of the class list,
    support_cue: float = 2.5  # for a cue, at most,
    support_beset: float = 1.5  # for an emoji or a full stop that touches it: the model is less sure of such,
    support_slip: float = 1.5  # for a word that is one slip away from a frequent name
    common_word: float = 3.0  # taken from a lone word that is English and no frequent name ("The", "Customers")
    header_place: float = 4.0  # taken from a lone word in the header beside "University", "City", "for" or "in", without a cue
    header_lines: int = 16  # most lines, blank ones not counted, of a header
    signoff_lines: int = 6  # and of a sign-off
    # Whether a text needs a sign of a story, a persona or an exercise for anyone in it to be a CHARACTER; without one the model alone
    # cannot tell an essay in the third person about the writer's own team from a tale.
    story_cue: bool = True
    # With a trained classifier: probability of being private from which a name is, at the three operating points.
    protect_recall: float = 0.1
    protect: float = 0.3
    protect_precision: float = 0.7
    # Taken from the log-odds of being private of who neither heads nor signs a text in which nobody else is private for sure.
    alone: float = 0.0
    blind: float = (
        0.0  # share, 0 to .5, of what does not look at names in anybody's role; of strange names it is half in any case
    )
    company: float = 0.9  # probability from which somebody else is private for sure
    repair: bool = True  # whether edges are mended,
    find: bool = True  # strong cues find names,
    propagate: bool = True  # found names are marked everywhere

    def __post_init__(self) -> None:
        for name in _SHARES:
            value, most = getattr(self, name), 0.5 if name == "blind" else 1.0
            if not 0.0 <= value <= most:
                raise PiiError(Errors.E301, name=name, value=value, allowed=f"a number from 0 to {'.5' if most < 1 else '1'}")
        for field in fields(self):
            value = getattr(self, field.name)
            if not isinstance(value, bool) and value < 0:
                raise PiiError(Errors.E301, name=field.name, value=value, allowed="0 or more")

    def protect_at(self, point: str) -> float:
        """RETURNS (float): Least probability of a private person at an operating point."""
        return {RECALL: self.protect_recall, PRECISION: self.protect_precision}.get(point, self.protect)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "ContextSettings":
        known = {field.name for field in fields(cls)}
        for name in values:
            if name not in known:
                raise PiiError(Errors.E302, name=name, allowed=", ".join(sorted(known)))
        return cls(**values)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)
