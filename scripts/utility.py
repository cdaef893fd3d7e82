"""What a release costs research: measures of each text before and after, in pairs.

    python -m scripts.utility essays.csv clean.csv --id-column id
    python -m scripts.utility in clean --map map.csv        # what `pii-edu deidentify --id-map` wrote

Numbers only; no text is kept or shown. Readability by textstat, variety by MTLD (McCarthy and Jarvis
2010). Documents are matched by ID or file name, else by order. Needs textstat and scipy.
"""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy
import typer
from rich.console import Console
from rich.table import Table
from scipy import stats
from textstat.textstat import textstatistics

from pii_components.files.record import Record
from pii_components.files.sources import open_source
from pii_components.release.run import read_map

_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_TTR = 0.72  # at which a stretch of MTLD ends, as its authors found
_RESAMPLES = 9999
MEASURES = ("words", "characters", "sentences", "flesch_reading_ease", "types", "mtld")


def mtld(words: Sequence[str]) -> float:
    """RETURNS (float): Mean length of stretches whose types are more than .72 of their words."""

    def one_way(run: Iterable[str]) -> float:
        seen, n, stretches = set[str](), 0, 0.0
        for word in run:
            seen.add(word)
            n += 1
            if len(seen) / n <= _TTR:
                seen, n, stretches = set(), 0, stretches + 1
        stretches += (1 - len(seen) / n) / (1 - _TTR) if n else 0.0
        return len(words) / stretches if stretches else float(len(words))

    return (one_way(words) + one_way(reversed(words))) / 2 if words else 0.0


def measure(text: str, readability: textstatistics) -> list[float]:
    """RETURNS (list[float]): A number for each of `MEASURES`."""
    words = [word.lower() for word in _WORD.findall(text)]
    ease, sentences = readability.flesch_reading_ease(text), readability.sentence_count(text)
    return [len(words), len(text), sentences, ease, len(set(words)), mtld(words)]


def read(path: Path, names: dict[str, str], **reading: str) -> dict[str, list[float]]:
    """RETURNS (dict): ID in BEFORE, or number -> measures. names: ID in AFTER -> ID in BEFORE."""
    readability = textstatistics()
    readability.set_lang("en-US")  # as "en_US" it would download a dictionary
    source = open_source(path, **reading)
    records = (item for item in source if isinstance(item, Record))
    return {names.get(item.id, item.id): measure(item.text, readability) for item in records}


def main(
    before: Path, after: Path, map: str = "", text_column: str = "", id_column: str = ""
) -> None:
    """Compare a release with what it was made from."""
    names = {new: old for old, new in read_map(Path(map)) if new} if map else {}
    reading = {"text_field": text_column, "id_field": id_column}
    olds, news = read(before, {}, **reading), read(after, names, **reading)
    keys = [key for key in olds if key in news]
    if not keys:
        raise typer.BadParameter("no document in common; give --id-column or --map")
    old, new = (numpy.array([side[key] for key in keys]) for side in (olds, news))
    table = Table("measure", "before", "after", "difference", "95 % interval", "p")
    for i, name in enumerate(MEASURES):
        gain = new[:, i] - old[:, i]
        rng = numpy.random.default_rng(0)
        test = {"n_resamples": _RESAMPLES, "rng": rng, "vectorized": True}
        made = stats.bootstrap((gain,), numpy.mean, method="percentile", **test)
        low, high = made.confidence_interval
        p = stats.permutation_test((gain,), numpy.mean, permutation_type="samples", **test).pvalue
        row = (old[:, i].mean(), new[:, i].mean(), gain.mean())
        table.add_row(name, *(f"{x:.4g}" for x in row), f"{low:.4g} to {high:.4g}", f"{p:.4f}")
    Console().print(table)
    typer.echo(f"{len(keys)} documents in pairs; {len(olds) - len(keys)} only before")


if __name__ == "__main__":
    typer.run(main)
