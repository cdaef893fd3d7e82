"""Speed and memory of a system beside a baseline, in one run on one machine.

    python -m scripts.speed --pipeline en_pii_edu --baseline presidio-md --out metrics/speed.json

Numbers of different runs cannot be compared, so systems take turns, repeat by repeat, and what is reported beside the medians are ratios.
Time of processors is told beside wall-clock time: other programs have less influence on it. Loading and memory are measured in a fresh
process each (`speed_probe`); their peak is that of the process, interpreter and libraries included.
"""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from itertools import cycle
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import typer
from rich.console import Console

from pii_components.cli.common import guard
from pii_components.errors import Errors, PiiError
from pii_components.evaluate.gold import GoldDocument
from pii_components.evaluate.systems import Run, make_system, parse_spec, run_system
from pii_components.evaluate.tables import split_list
from pii_components.profiles import Profile
from scripts import common, robustness

REPEATS = 3
# Characters that are read per length of essay, so that a short one is not measured on one text.
CHARACTERS = 40_000
MEASURES = ("words_per_second", "words_per_cpu_second")
GROUPS = (BY_LENGTH, BY_SIZE) = ("by_length", "by_corpus_size")


def main(
    *,
    pipeline: common.PipelineOpt = "en_pii_edu",
    baseline: Annotated[str, typer.Option(help="Others beside it, with commas between them, such as presidio-md.")] = "",
    assets: common.AssetsOpt = Path("assets"),
    lengths: Annotated[list[int] | None, typer.Option(min=1, help="Characters of an essay [500, 2000, 20000].")] = None,
    sizes: Annotated[list[int] | None, typer.Option(min=1, help="Essays of a corpus, the largest last [10, 40, 160].")] = None,
    out: common.OutOpt = None,
    debug: common.DebugOpt = False,
) -> None:
    """Words per second (wall clock and processors), seconds to load and peak memory, by length and corpus size.

    Systems take turns on the same essays. Compare ratios, not the numbers of different runs.
    """
    with guard(debug):
        common.early(out)
        texts = [essay.text for essay in robustness.authored_essays(assets)]
        specs = [pipeline, *split_list(baseline)]
        found = measure_speed(specs, texts, lengths=lengths or [500, 2000, 20_000], sizes=sizes or [10, 40, 160])
        common.publish("speed", found, out, print_speed)


def print_speed(report: Mapping[str, Any], to: Console) -> None:
    """Print a table."""
    some = next(iter(report["systems"].values()))
    columns = ["load_seconds", *(f"peak_megabytes.{stage}" for stage in some["peak_megabytes"])]
    columns += [f"{group}.{size}.{measure}" for group in GROUPS for size in some[group] for measure in MEASURES]
    common.show(to, "Medians, and ratios", report["systems"] | report["ratios"], " ".join(columns))


def essays_of(texts: Sequence[str], length: int, number: int) -> list[GoldDocument]:
    """So many essays of at most `length` characters (no word is cut), out of the texts, one after the other and again."""
    words = cycle("\n\n".join(texts).split(" "))
    found, word = [], next(words)
    for n in range(number):
        text = word
        while len(text) + len(word := next(words)) < length:
            text += " " + word
        found.append(GoldDocument(str(n), text))
    return found


def corpus_of(texts: Sequence[str], number: int) -> list[GoldDocument]:
    """So many essays, the texts in turn."""
    return [GoldDocument(str(n), texts[n % len(texts)]) for n in range(number)]


def speed_of(runs: Sequence[Run]) -> dict[str, Any]:
    """The medians of repeats of one system on one set of essays, with the least and the most."""
    out: dict[str, Any] = {"words": runs[0].words, "seconds": round(median(run.seconds for run in runs), 3)}
    for measure, seconds in zip(MEASURES, ("seconds", "cpu_seconds"), strict=True):
        rates = [run.words / max(getattr(run, seconds), 1e-9) for run in runs]
        out |= {measure: round(median(rates), 1), f"{measure}_range": [round(min(rates), 1), round(max(rates), 1)]}
    return out


def fresh_process(system: str, texts: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Load a system in processes of its own, which then read texts, stage by stage.

    RETURNS (dict[str, Any]): Medians: seconds to load and to the first result, megabytes (10^6 bytes) at the peak, by stage.
    RAISES (PiiError): E764, if a process does not end well.
    """
    command, request = [sys.executable, "-m", "scripts.speed_probe"], json.dumps({"system": system, "texts": texts})
    answers = []
    for _ in range(REPEATS):
        done = subprocess.run(command, input=request, capture_output=True, text=True, encoding="utf8", check=False)
        if done.returncode:
            kind, _, message = (done.stderr.strip().splitlines() or [""])[-1].partition(": ")
            # A traceback's last line may hold text; only our own coded line is passed on.
            reason = message if message.startswith("[E") else kind[:80]
            raise PiiError(Errors.E764, system=parse_spec(system).name, code=done.returncode, reason=reason)
        answers.append(json.loads(done.stdout.strip().splitlines()[-1]))
    seconds = ("load_seconds", "load_cpu_seconds", "first_result_seconds")
    peaks = {stage: [answer["peak_bytes"][stage] for answer in answers] for stage in ("loaded", *texts)}
    return {name: round(median(answer[name] for answer in answers), 3) for name in seconds} | {
        "peak_megabytes": {stage: round(median(some) / 1e6, 1) for stage, some in peaks.items() if None not in some}
    }


def measure_speed(
    specs: Sequence[str], texts: Sequence[str], *, lengths: Sequence[int], sizes: Sequence[int]
) -> dict[str, Any]:
    """All numbers on speed and memory of systems, the one of interest first. RAISES (PiiError): E740 to E751, E764."""
    named = {parse_spec(spec).name: spec for spec in specs}
    corpora = [(BY_LENGTH, length, essays_of(texts, length, max(2, CHARACTERS // length))) for length in lengths]
    corpora += [(BY_SIZE, size, corpus_of(texts, size)) for size in sizes]
    stages = {"long_essay": essays_of(texts, 20_000, 1), "corpus": corpora[-1][2]}
    requests = {stage: [doc.text for doc in some] for stage, some in stages.items()}
    found: dict[str, Any] = {name: fresh_process(spec, requests) for name, spec in named.items()}
    systems = {name: make_system(spec, protects=Profile.load("crapii").protects) for name, spec in named.items()}
    for name, system in systems.items():
        found[name] |= {"about": dict(system.about), BY_LENGTH: {}, BY_SIZE: {}}
    for group, size, documents in common.track("speed", corpora):
        turns = [{name: run_system(system, documents) for name, system in systems.items()} for _ in range(REPEATS)]
        for name in systems:
            found[name][group][str(size)] = speed_of([turn[name] for turn in turns])
    first, *others = named
    return common.head() | {
        "profile": "crapii",
        "repeats": REPEATS,
        "data": {"essays": len(texts), "characters": sum(map(len, texts)), "words": sum(len(text.split()) for text in texts)},
        "systems": found,
        "ratios": {f"{first} / {other}": ratios(found[first], found[other]) for other in others},
    }


def ratios(ours: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """One system's numbers by the other's: above 1 is faster for words per second, slower for seconds, and more for memory."""
    out: dict[str, Any] = {}
    for key, value in ours.items():
        if isinstance(value, Mapping) and key != "about":
            out[key] = ratios(value, other[key])
        elif isinstance(value, float):
            out[key] = round(value / max(other[key], 1e-9), 3)
    return out


if __name__ == "__main__":
    typer.run(main)
