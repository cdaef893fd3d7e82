"""What a run costs: tokens times price, from a price table that is data.

    prices = read_prices()
    cost(Usage(service="gpt-4o-mini", input=12_900_000, output=12_900_000), prices)     # dollars
    per_million(11.93, 12_900_000)

The JEDM paper's Table 8 gives sums only: total cost divided by the tokens of the test set. Services that count records of 1,000
characters (Azure AI Language) begin a new record with every document.
"""

import csv
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from ..corpus.records import reason_of
from ..errors import Errors, PiiError

MILLION = 1_000_000
RECORD_CHARACTERS = 1_000
KINDS = ("input", "output", "training", "records")
_COLUMNS = ("service", "kind", "usd", "per")
# Price of one unit by (service, kind).
Prices = Mapping[tuple[str, str], float]


@dataclass(frozen=True, slots=True)
class Usage:
    """What was used of a service.

    service (str): As in the price table. input, output, training (int): Tokens. records (int): Records of 1,000 characters.
    """

    service: str
    input: int = 0
    output: int = 0
    training: int = 0
    records: int = 0


def read_prices(path: Path | None = None) -> dict[tuple[str, str], float]:
    """Read a price table.

    path (Path | None): Tab-separated, with service, kind, usd, per; the one that ships if None.
    RETURNS (dict[tuple[str, str], float]): Dollars for one unit, by service and kind.
    RAISES (PiiError): E501, if it cannot be read; E734, for a row that is not of the form.
    """
    source = resources.files("pii_components") / "resources" / "papers" / "prices.tsv" if path is None else path
    try:
        rows = list(csv.DictReader(source.read_text(encoding="utf8").splitlines(), delimiter="\t"))
    except (OSError, UnicodeError) as err:
        raise PiiError(Errors.E501, what=source.name, reason=reason_of(err)) from err
    prices: dict[tuple[str, str], float] = {}
    for number, row in enumerate(rows, 1):
        try:
            usd, per = float(row["usd"]), float(row["per"])
        except (KeyError, TypeError, ValueError):
            usd = per = -1.0
        if not (math.isfinite(usd) and usd >= 0 and math.isfinite(per) and per > 0) or row.get("kind") not in KINDS:
            raise PiiError(Errors.E734, number=number, file=source.name, needed=", ".join(_COLUMNS), kinds=", ".join(KINDS))
        prices[row["service"], row["kind"]] = usd / per
    return prices


def cost(usage: Usage, prices: Prices) -> float:
    """Cost of a run in dollars.

    usage (Usage): Tokens or records. prices (Prices): From `read_prices`.
    RETURNS (float): The sum over what was used.
    RAISES (PiiError): E735, if there is no price for something that was used.
    """
    total = 0.0
    for kind in KINDS:
        amount = getattr(usage, kind)
        if not amount:
            continue
        if (usage.service, kind) not in prices:
            known = ", ".join(f"{service} ({of})" for service, of in sorted(prices))
            raise PiiError(Errors.E735, service=usage.service, kind=kind, known=known)
        total += amount * prices[usage.service, kind]
    return total


def per_million(total: float, tokens: int) -> float:
    """RETURNS (float): Dollars per million tokens of text, as in Table 8. RAISES (PiiError): E736, without tokens."""
    if tokens <= 0:
        raise PiiError(Errors.E736, tokens=tokens)
    return total / tokens * MILLION


def records_of(lengths: Iterable[int]) -> int:
    """RETURNS (int): Records that a service charges for documents with these numbers of characters; each begins a new one."""
    return sum(max(math.ceil(length / RECORD_CHARACTERS), 1) for length in lengths)


def implied_tokens(total: float, average: float, *, digits: int = 2) -> tuple[float, float]:
    """What number of tokens a printed average stands for.

    total (float): Dollars, exact to a cent. average (float): Dollars per million tokens, rounded. digits (int): To which digit.
    RETURNS (tuple[float, float]): Least and most millions of tokens that round to this average.
    """
    half = 0.5 * 10**-digits
    return (total - half) / (average + half), (total + half) / (average - half)
