"""Speed and memory of a system beside a baseline, in one run on one machine.

    python -m scripts.speed --pipeline en_pii_edu --baseline presidio-md --out metrics/speed.json

Numbers of different runs cannot be compared, so systems take turns, repeat by repeat, and what is reported beside the medians are ratios.
Time of processors is told beside wall-clock time: other programs have less influence on it. Loading and memory are measured in a fresh
process each (`speed_probe`); their peak is that of the process, interpreter and libraries included.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import typer
from rich.console import Console

from pii_components.cli.common import guard
from pii_components.errors import Errors, PiiError
from pii_components.evaluate.gold import GoldDocument
from pii_components.evaluate.systems import Run, System, make_system, parse_spec, run_system
from pii_components.evaluate.tables import progress_bar, split_list
from pii_components.profiles import Profile
from scripts import common, robustness

LENGTHS, SIZES, REPEATS = (500, 1000, 2000, 5000, 10_000, 20_000), (10, 40, 160), 3
# Characters that are read per length of essay, so that a short one is not measured on one text.
CHARACTERS = 40_000
MEASURES = ("words_per_second", "words_per_cpu_second")


def main(
    *,
    pipeline: common.PipelineOpt = "en_pii_edu",
    baseline: Annotated[str, typer.Option(help="Others beside it, with commas between them, such as presidio-md.")] = "",
    profile: common.ProfileOpt = "crapii",
    assets: common.AssetsOpt = Path("assets"),
    lengths: Annotated[str, typer.Option(help="Characters of an essay.")] = ",".join(map(str, LENGTHS)),
    sizes: Annotated[str, typer.Option(help="Essays of a corpus.")] = ",".join(map(str, SIZES)),
    repeats: Annotated[int, typer.Option(min=1, help="Of each measurement; the median counts.")] = REPEATS,
    out: common.OutOpt = None,
    seed: common.SeedOpt = 46,
    quiet: common.QuietOpt = False,
    debug: common.DebugOpt = False,
) -> None:
    """Words per second (wall clock and processors), seconds to load and peak memory, by length and corpus size.

    Systems take turns on the same essays. Compare ratios, not the numbers of different runs.
    """
    with guard(debug):
        common.early(out)
        long, many = _numbers("--lengths", lengths), _numbers("--sizes", sizes)
        specs = [pipeline, *split_list(baseline)]
        texts = [essay.text for essay in robustness.authored_essays(assets)]
        with progress_bar("speed", len(specs) * (1 + repeats * (len(long) + len(many)))) as advance:
            found = measure_speed(specs, texts, profile=profile, lengths=long, sizes=many, repeats=repeats, progress=advance)
        common.publish("speed", found, out, None if quiet else print_speed)


def _numbers(name: str, text: str) -> tuple[int, ...]:
    parts = split_list(text)
    if not parts or not all(part.isdecimal() and int(part) for part in parts):
        raise PiiError(Errors.E763, name=name, value=text)
    return tuple(int(part) for part in parts)


def print_speed(report: Mapping[str, Any], to: Console) -> None:
    """Print the tables."""
    rows = report["systems"] | report["ratios"]
    stages = next(iter(report["systems"].values()))["peak_megabytes"]
    peaks = {}
    for name, row in rows.items():
        peaks[name] = {"load_seconds": row["load_seconds"], "first_result_seconds": row.get("first_result_seconds")}
        peaks[name] |= {f"peak_{n}": row["peak_megabytes"].get(stage) for n, stage in enumerate(stages)}
    named = ", ".join(f"{n}: {stage}" for n, stage in enumerate(stages))
    common.show(to, f"In a fresh process; peak in megabytes after {named}", peaks, " ".join(next(iter(peaks.values()))))
    for group, what in (("by_length", "characters of an essay"), ("by_corpus_size", "essays of a corpus")):
        for measure in MEASURES:
            found = {name: {key: entry[measure] for key, entry in row[group].items()} for name, row in rows.items()}
            common.show(to, f"{measure.replace('_', ' ')}, by {what}", found, " ".join(next(iter(found.values()))))


def essays_of(texts: Sequence[str], length: int, number: int) -> list[GoldDocument]:
    """So many essays of at most `length` characters (no word is cut), out of the texts, one after the other and again."""
    stream = "\n\n".join(texts)
    while len(stream) < length * (number + 1):
        stream += "\n\n" + stream
    found, at = [], 0
    for n in range(number):
        cut = stream[at : at + length]
        space = max(cut.rfind(" "), cut.rfind("\n"))
        # The next one goes on after this one's last whole word.
        cut = cut if space <= 0 or stream[at + length : at + length + 1].isspace() else cut[:space]
        found.append(GoldDocument(str(n), cut))
        at += len(cut)
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


def fresh_process(
    system: str, texts: Mapping[str, Sequence[str]], *, profile: str = "crapii", repeats: int = REPEATS
) -> dict[str, Any]:
    """Load a system in processes of its own, which then read texts, stage by stage.

    RETURNS (dict[str, Any]): Medians: seconds to load and to the first result, megabytes (10^6 bytes) at the peak, by stage.
    RAISES (PiiError): E764, if a process does not end well.
    """
    request = json.dumps({"system": system, "profile": profile, "texts": {stage: list(some) for stage, some in texts.items()}})
    answers = []
    for _ in range(repeats):
        command = [sys.executable, "-m", "scripts.speed_probe"]
        done = subprocess.run(command, input=request, capture_output=True, text=True, encoding="utf8", check=False)
        if done.returncode:
            last = (done.stderr.strip().splitlines() or [""])[-1]
            # A traceback's last line may hold text; only our own coded line is passed on.
            reason = last if last.startswith("[E") else last.partition(":")[0][:80]
            raise PiiError(Errors.E764, system=parse_spec(system).name, code=done.returncode, reason=reason)
        answers.append(json.loads(done.stdout.strip().splitlines()[-1]))
    out: dict[str, Any] = {}
    for name in ("load_seconds", "load_cpu_seconds", "first_result_seconds"):
        out[name] = round(median(a[name] for a in answers), 3)
    peaks = {stage: [a["peak_bytes"][stage] for a in answers] for stage in answers[0]["peak_bytes"]}
    return out | {"peak_megabytes": {s: round(median(some) / 1e6, 1) for s, some in peaks.items() if None not in some}}


def take_turns(
    systems: Mapping[str, System], documents: Sequence[GoldDocument], *, repeats: int, progress: Callable[[], None]
) -> dict[str, dict[str, Any]]:
    """Every system reads the same essays, in turn: `speed_of`, by name."""
    runs: dict[str, list[Run]] = {name: [] for name in systems}
    for _ in range(repeats):
        for name, system in systems.items():
            runs[name].append(run_system(system, documents))
            progress()
    return {name: speed_of(some) for name, some in runs.items()}


def measure_speed(
    specs: Sequence[str], texts: Sequence[str], *, profile: str = "crapii", lengths: Sequence[int] = LENGTHS,
    sizes: Sequence[int] = SIZES, repeats: int = REPEATS, characters: int = CHARACTERS, progress: Callable[[], None] = lambda: None,
) -> dict[str, Any]:  # fmt: skip
    """All numbers on speed and memory of systems, the one of interest first. RAISES (PiiError): E740 to E751, E764."""
    named = {parse_spec(spec).name: spec for spec in specs}
    by_length = {length: essays_of(texts, length, max(2, characters // length)) for length in lengths}
    stages = {"one essay of 20,000 characters": [doc.text for doc in essays_of(texts, 20_000, 1)]}
    stages |= {f"{size} essays": [doc.text for doc in corpus_of(texts, size)] for size in sizes[-1:]}
    fresh = {}
    for name, spec in named.items():
        fresh[name] = fresh_process(spec, stages, profile=profile, repeats=repeats)
        progress()
    protects = Profile.load(profile).protects
    systems = {name: make_system(spec, protects=protects) for name, spec in named.items()}
    per_length = {str(n): take_turns(systems, docs, repeats=repeats, progress=progress) for n, docs in by_length.items()}
    per_size = {str(n): take_turns(systems, corpus_of(texts, n), repeats=repeats, progress=progress) for n in sizes}
    found: dict[str, Any] = {
        name: {
            "about": dict(systems[name].about),
            **fresh[name],
            "by_length": {length: some[name] for length, some in per_length.items()},
            "by_corpus_size": {size: some[name] for size, some in per_size.items()},
        }
        for name in named
    }
    first, *others = named
    return common.head() | {
        "profile": Path(profile).name,
        "repeats": repeats,
        "data": {"essays": len(texts), "characters": sum(map(len, texts)), "words": sum(len(text.split()) for text in texts)},
        "systems": found,
        "ratios": {f"{first} / {other}": ratios(found[first], found[other]) for other in others},
    }


def ratios(ours: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """One system's numbers by the other's: above 1 is faster for words per second, slower for loading, and more for memory."""

    def shared(group: str) -> list[str]:
        return [key for key in ours[group] if key in other[group]]

    def quotient(upper: float, lower: float) -> float:
        return round(upper / max(lower, 1e-9), 3)

    out: dict[str, Any] = {"load_seconds": quotient(ours["load_seconds"], other["load_seconds"])}
    peaks, theirs = ours["peak_megabytes"], other["peak_megabytes"]
    out["peak_megabytes"] = {stage: quotient(peaks[stage], theirs[stage]) for stage in shared("peak_megabytes")}
    for group in ("by_length", "by_corpus_size"):
        out[group] = {
            key: {measure: quotient(ours[group][key][measure], other[group][key][measure]) for measure in MEASURES}
            for key in shared(group)
        }
    # The largest corpus is nearest to what a steward has.
    largest = list((out["by_corpus_size"] or out["by_length"]).values())[-1:]
    return out | {measure: entry[measure] for entry in largest for measure in MEASURES}


if __name__ == "__main__":
    typer.run(main)
