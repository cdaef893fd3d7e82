"""Twenty essays with invented people, to try the command line on: `python -m pii_components.corpus.sample --out assets/samples`.

They are fillings of essays that training has not seen (the dev and test part of the split). `essays.csv` holds the texts, `gold.jsonl`
what is planted in each, so that anybody can check what was replaced and what stayed.
"""

import argparse
import csv
import json
from pathlib import Path

from ..surrogates.names import name_table
from .build import rng_for, split_of
from .synthesis import Filled, Filler
from .templates import Template, read_templates


def choose(templates: list[Template], number: int) -> list[Template]:
    """Essays that together hold as many kinds of slots as possible.

    templates (list[Template]): To choose from. number (int): How many.
    RETURNS (list[Template]): Sorted by id.
    """
    seen: set[str] = set()
    chosen: list[Template] = []
    left = list(templates)
    while left and len(chosen) < number:
        best = max(left, key=lambda t: (len({s.label for s in t.slots} - seen), len({s.label for s in t.slots}), t.id))
        seen |= {s.label for s in best.slots}
        chosen.append(best)
        left.remove(best)
    return sorted(chosen, key=lambda t: t.id)


def fill_sample(assets: Path, *, number: int = 20, seed: int = 46) -> list[tuple[str, Filled]]:
    """RETURNS (list[tuple[str, Filled]]): Id and filled text of `number` essays that are not in the training part."""
    unseen = [t for t in read_templates(assets) if split_of(t.id) != "train"]
    table = name_table()
    filled = []
    for template in choose(unseen, number):
        filler = Filler(table, rng_for(seed, "sample", template.id), genders=template.genders)
        filled.append((template.id, filler.fill(template.parts)))
    return filled


def write_sample(assets: Path, out: Path, *, number: int = 20, seed: int = 46) -> None:
    """Write `essays.csv` and `gold.jsonl`.

    assets (Path): Folder with essays/. out (Path): Folder to write to. number (int), seed (int): See `fill_sample`.
    """
    out.mkdir(parents=True, exist_ok=True)
    sample = fill_sample(assets, number=number, seed=seed)
    with (out / "essays.csv").open("w", encoding="utf8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(("id", "course", "text"))
        writer.writerows((key, f"C{n % 3 + 1}", filled.text) for n, (key, filled) in enumerate(sample))
    with (out / "gold.jsonl").open("w", encoding="utf8") as stream:
        for key, filled in sample:
            stream.write(json.dumps({"id": key, "spans": filled.spans}) + "\n")


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description="Write a CSV of filled essays and what is planted in them.")
    parser.add_argument("--assets", type=Path, default=Path("assets"))
    parser.add_argument("--out", type=Path, default=Path("assets/samples"))
    parser.add_argument("--number", type=int, default=20)
    args = parser.parse_args()
    write_sample(args.assets, args.out, number=args.number)


if __name__ == "__main__":
    main()
