"""What a generator of surrogates gets, and how a document's values become distinct surrogates.

    @surrogates.register("COURSE")
    def course(value: str, context: Context, attempt: int) -> str | None:
        rng = context.chance.rng("COURSE", canonical(value), attempt=attempt)
        return randomize_same_shape(value, rng)

A generator is a function `(value, context, attempt) -> str | None`. It is pure: the same value, context and attempt give the
same text; None means "no surrogate: use the tag". One that a user registers takes the place of ours.
"""

import re
from collections.abc import Callable, Collection, Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ..errors import Errors, PiiError
from ..labels import check_label, is_name
from ..names import Extensions
from ..names.letters import per_batch
from ..names.table import NameTable
from .keys import SurrogateKey
from .person_names import Named

__all__ = ["Context", "canonical", "surrogates"]

MAX_TRIES = 40
# How many fit surrogates are compared where the length shall be near.
NEAR_TRIES = 10
OLDEST = 105
_NO_VALUE = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class AgeShift:
    """How many years ages move within a scope. border: An age that nobody crosses; 0 for none."""

    delta: int
    border: int = 0

    def __call__(self, age: int) -> int | None:
        """RETURNS (int | None): The new age; None if there is none near on the same side of the border."""
        for new in (age + self.delta, age - self.delta):
            if 1 <= new <= max(OLDEST, age) and (new < self.border) == (age < self.border):
                return new
        return None


@dataclass(frozen=True, slots=True)
class DateShift:
    """How dates move: years back, and days beyond that, either way. day_first: What "3/5" means."""

    years: int
    days: int
    day_first: bool = False

    @property
    def total(self) -> int:
        return self.days - round(365.2425 * self.years)


@dataclass(frozen=True)
class Context:
    """What a surrogate may depend on.

    chance: Draws by the secret key. table: Names to draw from.
    people: The document's people and who they become. reserved: Whether values must be such that nobody can own them. locale:
    As Faker writes it. ages, dates: How those of the document move; None for what the key says. avoid: Folded words that no
    invented name may be. pools: Label -> values of the corpus that may stand for each other. near: Whether surrogates shall be
    about as long as their originals. other: Canonical value -> what the user wants there instead, for OTHER. handles: Of the
    document's user names and e-mail addresses, with their surrogates, so that one handle has one of them.
    """

    chance: SurrogateKey
    table: NameTable
    people: Sequence[Named] = ()
    reserved: bool = True
    locale: str = "en_US"
    ages: AgeShift | None = None
    dates: DateShift | None = None
    avoid: Container[str] = ()
    pools: Mapping[str, Sequence[str]] = field(default_factory=dict)
    near: bool = False
    other: Mapping[str, str] = field(default_factory=dict)
    handles: Mapping[str, str | None] = field(default_factory=dict)


Generator = Callable[[str, Context, int], str | None]


def _check_generator(label: str) -> None:
    if is_name(check_label(label)):
        allowed = "a label that is no name's; new names come from the name table"
        raise PiiError(Errors.E519, value=label, what="label for a generator", allowed=allowed)


surrogates: Extensions = Extensions("surrogates", _check_generator)
"""The user's generators, by label: a registry as spaCy's are."""


@per_batch(1024)
def canonical(value: str) -> str:
    """Letters and digits only, folded: "AB-12" and "ab 12" are one value."""
    folded = value.casefold()
    return folded if folded.isalnum() else _NO_VALUE.sub("", folded)


def own_generator(label: str) -> Generator | None:
    """RETURNS (Generator | None): The user's for a label, if there is one. What holds its original counts as the original. It raises E426, without
    a word of the text, if the user's function fails or returns anything but a text or None."""
    function = surrogates.known().get(label)
    if function is None:
        return None

    def checked(value: str, context: Context, attempt: int) -> str | None:
        try:
            new = function(value, context, attempt)
        except Exception as err:  # noqa: BLE001  (its message may hold the value)
            at = err.__traceback__.tb_next if err.__traceback__ else None
            where = f", line {at.tb_lineno} of it" if at else ""
            raise PiiError(Errors.E426, label=label, reason=type(err).__name__ + where) from None
        if new is None:
            return None
        if not isinstance(new, str) or not new:
            raise PiiError(Errors.E426, label=label, reason=f"it returned {type(new).__name__}")
        old = canonical(value)
        return value if len(old) > 2 and old in canonical(new) else new

    return checked


def distinct(
    values: Collection[str],
    generator: Generator,
    context: Context,
    *,
    forbidden: Collection[str],
    key: Callable[[str], str] = canonical,
) -> dict[str, str | None]:
    """A surrogate for each value of one kind, none like another one's and none that is an original.

    forbidden (Collection[str]): Canonical values that no surrogate may be.
    key (Callable): What makes two values one; they get the same surrogate, each in its own form.
    RETURNS (dict[str, str | None]): Value -> surrogate, or None if there is none.
    """
    groups: dict[str, list[str]] = {}
    for value in values:
        groups.setdefault(key(value), []).append(value)
    blocked = {*forbidden, *(groups if key is canonical else map(canonical, values))}
    taken: set[str] = set()
    found: dict[str, str | None] = {}
    for group in sorted(groups, key=context.chance.order) if len(groups) > 1 else groups:
        forms = sorted(set(groups[group]))
        fit: list[tuple[int, dict[str, str | None], set[str]]] = []
        for attempt in range(MAX_TRIES):
            made = {form: generator(form, context, attempt) for form in forms}
            results = {canonical(new) for new in made.values() if new is not None}
            lacks = None in made.values()
            if lacks or (results.isdisjoint(blocked) and results.isdisjoint(taken)):
                lengths = [abs(len(new) - len(old)) for old, new in made.items() if new is not None]
                distance = sum(lengths) if context.near and not lacks else 0
                fit.append((distance, made, results))
                if not distance or len(fit) >= NEAR_TRIES:
                    break
        nothing: tuple[int, dict[str, str | None], set[str]] = (0, dict.fromkeys(forms), set())
        _, chosen, results = min(fit, key=lambda option: option[0], default=nothing)
        found.update(chosen)
        taken |= results
    return found


class Item(NamedTuple):
    """A span of a document in characters, end exclusive, and what shall become of it: one of `profiles.ACTIONS`."""

    start: int
    end: int
    label: str
    action: str
