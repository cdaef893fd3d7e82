"""Names by gender and culture: the ten groups that the JEDM paper measures (seeds/gpt4omini_jedm.txt, section 3.6)."""

from functools import cache
from importlib import resources

from pii_components.corpus.people import CULTURES

GENDERS = ("F", "M")
GROUPS: tuple[tuple[str, str], ...] = tuple(
    (gender, culture) for culture in CULTURES for gender in GENDERS
)
# Surnames have no gender in the source: both genders of a culture share them.
SURNAMES = "S"


def given_names(gender: str, culture: str) -> tuple[str, ...]:
    """RETURNS (tuple[str, ...]): Given names of one of `GROUPS`, sorted."""
    return _lists()[culture, gender]


def surnames(culture: str) -> tuple[str, ...]:
    """RETURNS (tuple[str, ...]): Surnames of one of `CULTURES`, sorted."""
    return _lists()[culture, SURNAMES]


@cache
def _lists() -> dict[tuple[str, str], tuple[str, ...]]:
    file = resources.files("pii_components") / "resources" / "names" / "cultures.tsv"
    rows = (line.split("\t") for line in file.read_text(encoding="utf8").splitlines())
    return {(culture, kind): tuple(names.split(" ")) for culture, kind, names in rows}
