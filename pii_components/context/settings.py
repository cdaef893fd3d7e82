"""The settings of `pii_context`: thresholds and weights, each in log-odds unless said otherwise.

    >>> from pii_components.context.settings import ContextSettings
    >>> ContextSettings(min_score=0.6).min_score
    0.6

One place for every number, so that cross-validation can turn them and a config can show them. Weights of single cues are data
(resources/cues/names.toml), not settings.
"""

from dataclasses import asdict, dataclass, fields
from typing import Any

from ..errors import Errors, PiiError
from ..ner.decode import PRECISION, RECALL


@dataclass(frozen=True, slots=True)
class ContextSettings:
    """How evidence is weighed.

    min_score (float): Probability, 0 to 1, from which a name needs no further evidence.
    student_bias (float): Added to STUDENT, always: unsure means protect.
    anchor_bias (float): Added to STUDENT once more where a name signs, heads the text or is the first person's.
    model_weight (float): Factor on the logarithm of the model's role probabilities.
    model_floor (float): Mixed into role probabilities, 0 to 1, so that a sure model can still be outweighed.
    mention_growth (float): The model's evidence grows with the number of mentions to this power, 0 to 1: its errors are
        correlated.
    repeat (float): Factor on each further time that the same cue speaks for the same person, 0 to 1.
    split_margin (float): By how much a bare name's own cues must speak for another role before it is another person.
    split_signed (float): The same against a student who heads or signs the text by full name: what a citation has.
    header_alone, header_line (float): STUDENT, for a name alone on a line of the header, or beside other words there.
    signoff_alone, signoff_line (float): STUDENT, for a name alone on one of the last lines, or beside other words there.
    bibliography (float): CITED, for a line of a bibliography.
    figure_full, figure_surname (float): For a public or literary figure by full name, or by a surname with further evidence.
    form_given, form_surname (float): Against CITED for a person called by a given name only; for CITED by a bare surname only.
    support_position, support_table, support_roster (float): Added to a weak name's own log-odds for a line of its own, for
        first and last name both in the name table (or an initial and a name of it), for a name of the class list. Cues add their weight,
        at most `support_cue`.
    support_cue (float): See above. support_beset (float): Added where an emoji, or a full stop without a space, touches the name: the model
        is less sure of such.
    support_slip (float): Added where a word of the name is one slip away from a frequent name.
    common_word (float): Taken from a lone word that is English and no frequent name ("The", "Customers").
    header_place (float): Taken from a lone word in the header beside "University", "City", "for" or "in", without a cue.
    story_cue (bool): Whether a text needs a sign of a story, a persona or an exercise for anyone in it to be a CHARACTER; without one the
        model alone cannot tell an essay in the third person about the writer's own team from a tale, and unsure means protect.
    protect_recall, protect, protect_precision (float): With a trained classifier: probability that a person is private from which the
        name is, at the operating points `recall`, `balanced` and `precision`.
    alone (float): With a trained classifier: taken from the log-odds that a person is private who neither heads nor signs a text in which
        nobody else is private for sure: writers stand alone over their text, classmates and friends come in company.
    blind (float): With a trained classifier: share, 0 to .5, of what does not look at names, the rules and the reader, in what is believed of
        anybody's role; of strange names it is half in any case.
    company (float): Probability, 0 to 1, from which somebody else is private for sure.
    header_lines, signoff_lines (int): Most lines, blank ones not counted, that a header or a sign-off may have.
    repair, find, propagate (bool): Whether edges are mended, strong cues find names, found names are marked everywhere.
    """

    min_score: float = 0.5
    student_bias: float = 0.5
    anchor_bias: float = 1.0
    model_weight: float = 1.0
    model_floor: float = 0.05
    mention_growth: float = 0.5
    repeat: float = 0.5
    split_margin: float = 1.5
    split_signed: float = 3.5
    header_alone: float = 3.0
    header_line: float = 1.2
    signoff_alone: float = 3.0
    signoff_line: float = 0.8
    bibliography: float = 4.0
    figure_full: float = 3.0
    figure_surname: float = 2.5
    form_given: float = 1.0
    form_surname: float = 0.5
    support_position: float = 2.5
    support_table: float = 2.0
    support_roster: float = 6.0
    support_cue: float = 2.5
    support_beset: float = 1.5
    support_slip: float = 1.5
    common_word: float = 3.0
    header_place: float = 4.0
    header_lines: int = 16
    signoff_lines: int = 6
    story_cue: bool = True
    protect_recall: float = 0.1
    protect: float = 0.3
    protect_precision: float = 0.7
    alone: float = 0.0
    blind: float = 0.0
    company: float = 0.9
    repair: bool = True
    find: bool = True
    propagate: bool = True

    def __post_init__(self) -> None:
        for name in (
            "min_score", "model_floor", "mention_growth", "repeat", "protect_recall", "protect", "protect_precision", "company",
        ):  # fmt: skip
            value = getattr(self, name)
            if not 0.0 <= value <= 1.0:
                raise PiiError(Errors.E301, name=name, value=value, allowed="a number from 0 to 1")
        if not 0.0 <= self.blind <= 0.5:
            raise PiiError(Errors.E301, name="blind", value=self.blind, allowed="a number from 0 to .5")
        for field in fields(self):
            value = getattr(self, field.name)
            if not isinstance(value, bool) and value < 0:
                raise PiiError(Errors.E301, name=field.name, value=value, allowed="0 or more")

    def protect_at(self, point: str) -> float:
        """RETURNS (float): Least probability of a private person at an operating point (operating.py)."""
        return {RECALL: self.protect_recall, PRECISION: self.protect_precision}.get(point, self.protect)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "ContextSettings":
        """Settings from a config; what is missing has its default.

        values (dict[str, Any]): Name to value.
        RETURNS (ContextSettings): The settings.
        RAISES (PiiError): E302 for a name that is no setting, E301 for a value out of range.
        """
        known = {field.name for field in fields(cls)}
        for name in values:
            if name not in known:
                raise PiiError(Errors.E302, name=name, allowed=", ".join(sorted(known)))
        return cls(**values)

    def to_dict(self) -> dict[str, Any]:
        """RETURNS (dict[str, Any]): Name to value, all of them."""
        return asdict(self)
