"""What a value that comes again becomes: the same surrogate, another one each time, or the same as before with a probability.

Where a detector misses one of several mentions, consistent surrogates point at it: it is the odd one out. Random ones hide it,
and the text no longer holds together; Markov is between the two (Osborne et al. 2022, BRATsynthetic).

The key decides. In a document it matters that a mention is the third one of its value, for Markov also what the second became;
which other documents there are, and in what order, matters nowhere.
"""

from collections.abc import Hashable, Sequence

from ..profiles import CONSISTENT, RANDOM
from .keys import Chance


def variants(
    values: Sequence[Hashable | None], chance: Chance, document: str, *, strategy: str, repeat: float, local: bool
) -> list[str]:
    """Choose a variant of its surrogate for each mention of a document.

    values (Sequence[Hashable | None]): What makes two mentions one value; None for what never varies.
    chance (Chance): Key and scope. document (str): What tells the document from others.
    strategy (str): One of `profiles.STRATEGIES`. repeat (float): For "markov": how likely the last surrogate is kept.
    local (bool): Whether the scope is this document; in a wider one, its first mention too may vary.
    RETURNS (list[str]): For `Chance.variant`; the empty string is the surrogate that "consistent" gives.
    """
    if strategy == CONSISTENT:
        return [""] * len(values)
    seen: dict[Hashable, int] = {}
    last: dict[Hashable, str] = {}
    out = []
    for value in values:
        if value is None:
            out.append("")
            continue
        count = seen[value] = seen.get(value, -1) + 1
        if count == 0 and local:
            new = ""
        elif strategy == RANDOM:
            new = f"{document}:{count}"
        else:
            kept = chance.rng("MARKOV", f"{document}|{value!r}", attempt=count).random() < repeat
            new = last.get(value, "") if kept else f"{document}:{count}"
        last[value] = new
        out.append(new)
    return out
