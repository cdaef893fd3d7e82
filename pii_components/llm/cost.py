"""What was sent, where to, and what it costs.

usage.add(tokens_in=812, tokens_out=790)
Prices.load().cost("gpt-4o-mini", 812, 790)     # US dollars
total(usages, prices, words=30_000)             # a report, like Table 8 of the JEDM paper
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import Errors, PiiError
from . import read_toml

CHARACTERS_A_TOKEN = 4  # of English, for an estimate
TOKENS_A_WORD = 4 / 3  # of English; Table 8 counts a corpus in tokens


def estimate(characters: int) -> int:
    """RETURNS (int): Tokens, estimated from a number of characters."""
    return -(-characters // CHARACTERS_A_TOKEN)


@dataclass(slots=True)
class Usage:
    """What one model was asked.

    host (str): Where texts went.
    local (bool): Whether they stayed on this machine.
    guessed (bool): Whether tokens are estimated since the server did not count them.
    errors (Counter[str]): Answers that did not come, by code.
    """

    model: str
    host: str
    local: bool
    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    characters: int = 0
    guessed: bool = False
    errors: Counter[str] = field(default_factory=Counter)

    def add(
        self,
        *,
        tokens_in: int,
        tokens_out: int,
        characters: int,
        guessed: bool = False,
        error: str = "",
    ) -> None:
        """Count one call. characters (int): Of the prompt."""
        self.calls += 1
        self.tokens_in += tokens_in
        self.tokens_out += tokens_out
        self.characters += characters
        self.guessed |= guessed
        if error:
            self.errors[error] += 1


@dataclass(frozen=True, slots=True)
class Prices:
    """A dated table. models: Start of a model's name -> US dollars for a million tokens "in" and "out"."""

    models: Mapping[str, Mapping[str, float]]
    date: str
    file: str

    @classmethod
    def load(cls, path: str | Path | None = None) -> "Prices":
        """From a TOML file; the one that ships if there is none. RAISES (PiiError): E900."""
        data, name = read_toml("prices.toml", path), Path(path or "prices.toml").name
        models = data.get("models", {})
        try:
            for price in models.values():
                if min(*price.values(), price["in"], price["out"]) < 0:
                    raise ValueError
        except (AttributeError, KeyError, TypeError, ValueError):
            reason = "models need in and out, numbers of 0 or more"
            raise PiiError(Errors.E900, file=name, kind="table of prices", reason=reason) from None
        return cls(models, str(data.get("date", "")), name)

    def cost(self, model: str, tokens_in: int, tokens_out: int) -> float:
        """RETURNS (float): US dollars. RAISES (PiiError): E920, if the table has no such model."""
        known = max((name for name in self.models if model.startswith(name)), key=len, default=None)
        if known is None:
            raise PiiError(Errors.E920, model=model, file=self.file, known=", ".join(self.models))
        price = self.models[known]
        return (tokens_in * price["in"] + tokens_out * price["out"]) / 1e6


def total(usages: Iterable[Usage], prices: Prices, *, words: int) -> dict[str, Any]:
    """The report of a run.

    words (int): Of the corpus.
    RETURNS (dict): Per model what was sent and its price, None where nobody knows one; the sum, and the sum per million
        tokens of the corpus, estimated from its words. A model on this machine costs nothing.
    """
    rows = []
    usd: float | None = 0.0
    for usage in usages:
        cost: float | None = 0.0
        if not usage.local:
            try:
                cost = prices.cost(usage.model, usage.tokens_in, usage.tokens_out)
            except PiiError:
                cost = None
        usd = None if usd is None or cost is None else usd + cost
        rows.append(
            {
                "model": usage.model,
                "host": usage.host,
                "left_this_machine": not usage.local and usage.calls > 0,
                "calls": usage.calls,
                "characters_sent": usage.characters,
                "tokens_in": usage.tokens_in,
                "tokens_out": usage.tokens_out,
                "tokens_estimated": usage.guessed,
                "errors": dict(sorted(usage.errors.items())),
                "usd": cost,
            }
        )
    tokens = words * TOKENS_A_WORD
    return {
        "models": rows,
        "prices": prices.date,
        "usd": usd,
        "corpus_tokens": round(tokens),
        "usd_per_million_tokens": usd / tokens * 1e6 if usd is not None and tokens else None,
    }
