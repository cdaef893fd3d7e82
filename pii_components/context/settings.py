"""The settings of `pii_context`: one place for every number, so that cross-validation can turn them and a config can show them."""

from dataclasses import asdict, dataclass, fields
from typing import Any

from ..errors import Errors, PiiError
from ..ner.decode import PRECISION, RECALL


@dataclass(frozen=True, slots=True)
class ContextSettings:
    """From which probability of being a student or somebody connected a name is protected, per operating point; and what counts as the head and the
    end of a text. RAISES (PiiError): E301 for a value out of range."""

    protect_recall: float = 0.15
    protect: float = 0.25
    protect_precision: float = 0.5
    header_lines: int = 16
    signoff_lines: int = 6

    def __post_init__(self) -> None:
        for name in ("protect_recall", "protect", "protect_precision"):
            if not 0 <= getattr(self, name) <= 1:
                raise PiiError(Errors.E301, name=name, value=getattr(self, name), allowed="a number from 0 to 1")
        for name in ("header_lines", "signoff_lines"):
            value = getattr(self, name)
            if not isinstance(value, int) or value < 0:
                raise PiiError(Errors.E301, name=name, value=value, allowed="a whole number, 0 or more")

    def protect_at(self, point: str) -> float:
        """RETURNS (float): The probability from which a name is protected. point (str): An operating point of `pii_ner`."""
        return {RECALL: self.protect_recall, PRECISION: self.protect_precision}.get(point, self.protect)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "ContextSettings":
        """Settings from a config; what is missing has its default. RAISES (PiiError): E301, E302."""
        known = [f.name for f in fields(cls)]
        for name, value in values.items():
            if name not in known:
                raise PiiError(Errors.E302, name=name, allowed=", ".join(known))
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise PiiError(Errors.E301, name=name, value=value, allowed="a number")
        return cls(**values)

    def to_dict(self) -> dict[str, Any]:
        """RETURNS (dict[str, Any]): Plain data, for a config."""
        return asdict(self)
