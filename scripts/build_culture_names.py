"""Build the lists of names by gender and culture that ship as `pii_components/resources/names/cultures.tsv`.

    python -m scripts.build_culture_names --out pii_components/resources/names/cultures.tsv

Needs what build_name_table.py needs. The steps are those of the JEDM paper (seeds/gpt4omini_jedm.txt, section 3.6): countries of a
culture by the UN's regions, the most frequent names of each country, all countries of a culture in one list, names with other than
English letters left out. What differs is said in resources/names/README.md. Deterministic: the same packages give the same bytes.
"""

import re
from pathlib import Path
from typing import Annotated, Any

import typer

from pii_components.corpus.people import CULTURES, GENDERS, SURNAMES
from pii_components.names.letters import fold
from scripts.build_name_table import (
    DATA,
    JUNK,
    RUDE,
    SMALL,
    common_words,
    display,
    place_names,
    read_source,
)

# Names per list: what Fiji, the only country of Oceania in the source, has of both genders; equal for all, so that no group is
# measured on rarer names than another.
PER_LIST = 260
# Share of a given name's bearers that have the gender. The source's own `get_top_names` takes the gender of most.
LEAST_SHARE = 0.6
# The source has few people of some countries, and deep ranks there are what single people called themselves. Of SMALL ones only the
# first names count, of SPARSE ones those of them that English texts hold; other countries of the culture make up for it.
ALONE, FIRST = "FJ", 20
SPARSE = {"SV", "HN", "KH", "BF"}
SEEN_IN_PRINT = -19.5
ENGLISH = re.compile(r"[A-Za-z]{3,14}")


def ranked_names(
    entries: dict[str, dict[str, Any]],
    country: str,
    unfit: set[str],
    probs: dict[str, float],
    *,
    gender: str | None = None,
) -> list[str]:
    """The names of a country, the most frequent first."""
    found: list[tuple[int, str]] = []
    for raw, entry in entries.items():
        rank = entry["rank"].get(country)
        if not rank or (gender and entry["gender"].get(gender, 0.0) < LEAST_SHARE):
            continue
        name = display(raw)
        if (
            name
            and ENGLISH.fullmatch(name)
            and fold(name) not in unfit
            and not RUDE.search(fold(name))
        ):
            found.append((rank, name))
    names = [name for _, name in sorted(found)]
    if country in SMALL and country != ALONE:
        names = names[:FIRST]
    return [
        name for name in names if country not in SPARSE or probs.get(name, -99.0) > SEEN_IN_PRINT
    ]


def merge(lists: list[list[str]], limit: int) -> list[str]:
    """The first name of each country, then the second of each, and so on, without doubles, sorted at the end."""
    merged: dict[str, None] = {}
    for place in range(max(map(len, lists))):
        for names in lists:
            if place < len(names) and len(merged) < limit:
                merged.setdefault(names[place])
    return sorted(merged)


def main(
    out: Annotated[Path, typer.Option(help="File.")] = Path(
        "pii_components/resources/names/cultures.tsv"
    ),
) -> None:
    """Write the lists; refused, if the source lacks a country or a culture does."""
    given, last, probs = read_source()
    unfit = common_words(probs) | place_names() | JUNK | set(DATA["playful"].split())
    known = {c for entry in given.values() for c in entry["rank"]}
    if left := known ^ {c for text in CULTURES.values() for c in text.split()}:
        raise SystemExit(
            f"In the source or in a culture, but not in both: {', '.join(sorted(left))}"
        )
    lists = {}
    for culture, text in CULTURES.items():
        for gender in GENDERS:
            lists[culture, gender] = merge(
                [ranked_names(given, c, unfit, probs, gender=gender) for c in text.split()],
                PER_LIST,
            )
        lists[culture, SURNAMES] = merge(
            [ranked_names(last, c, unfit, probs) for c in text.split()], PER_LIST
        )
    rows = (f"{culture}\t{kind}\t{' '.join(names)}\n" for (culture, kind), names in lists.items())
    out.write_text("".join(rows), encoding="utf8", newline="\n")
    for (culture, kind), names in lists.items():
        print(f"{culture} {kind}: {len(names)} names")


if __name__ == "__main__":
    typer.run(main)
