"""Names by gender and culture: the ten groups that the JEDM paper measures (seeds/gpt4omini_jedm.txt, section 3.6).

    >>> from pii_components.corpus.culture_names import GROUPS, given_names, surnames
    >>> len(GROUPS), len(given_names("F", "Africa")), len(surnames("Africa"))
    (10, 260, 260)

A culture is a region of the UN, and its names are the most frequent of its countries in names-dataset. Where the lists come from
and what is wrong with them: resources/names/README.md.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from pathlib import Path

from ..errors import Errors, PiiError

# Region of the UN (ISO 3166, lukes/ISO-3166-Countries-with-Regional-Codes) -> its countries that names-dataset has.
CULTURES: dict[str, str] = {
    "Africa": "AO BF BI BW CM DJ DZ EG ET GH LY MA MU NA NG SD TN ZA",
    "Americas": "AR BO BR CA CL CO CR EC GT HN HT JM MX PA PE PR SV US UY",
    "Asia": "AE AF AZ BD BH BN CN CY GE HK ID IL IN IQ IR JO JP KH KR KW KZ LB MO MV MY OM PH PS QA SA SG SY TM TR TW YE",
    "Europe": "AL AT BE BG CH CZ DE DK EE ES FI FR GB GR HR HU IE IS IT LT LU MD MT NL NO PL PT RS RU SE SI",
    "Oceania": "FJ",
}
GENDERS = ("F", "M")
GROUPS: tuple[tuple[str, str], ...] = tuple((gender, culture) for culture in CULTURES for gender in GENDERS)
# Surnames have no gender in the source: both genders of a culture share them.
SURNAMES = "S"


def check_group(gender: str, culture: str) -> None:
    """Check that a group is one of `GROUPS`.

    RAISES (PiiError): E685, if the gender or the culture is unknown.
    """
    if gender not in GENDERS:
        raise PiiError(Errors.E685, value=gender, what="gender", allowed=", ".join(GENDERS))
    if culture not in CULTURES:
        raise PiiError(Errors.E685, value=culture, what="culture", allowed=", ".join(CULTURES))


def given_names(gender: str, culture: str) -> tuple[str, ...]:
    """RETURNS (tuple[str, ...]): Given names of a group, sorted. RAISES (PiiError): E685, if there is no such group."""
    check_group(gender, culture)
    return _lists()[culture, gender]


def surnames(culture: str) -> tuple[str, ...]:
    """RETURNS (tuple[str, ...]): Surnames of a culture, sorted. RAISES (PiiError): E685, if there is no such culture."""
    check_group(GENDERS[0], culture)
    return _lists()[culture, SURNAMES]


def write_lists(path: Path, lists: Mapping[tuple[str, str], Sequence[str]]) -> None:
    """Write the resource.

    path (Path): Where to. lists (Mapping[tuple[str, str], Sequence[str]]): (culture, "F", "M" or "S") -> names.
    """
    rows = (f"{culture}\t{kind}\t{' '.join(names)}\n" for (culture, kind), names in lists.items())
    path.write_text("".join(rows), encoding="utf8", newline="\n")


@cache
def _lists() -> dict[tuple[str, str], tuple[str, ...]]:
    file = resources.files("pii_components") / "resources" / "names" / "cultures.tsv"
    rows = (line.split("\t") for line in file.read_text(encoding="utf8").splitlines())
    return {(culture, kind): tuple(names.split(" ")) for culture, kind, names in rows}
