"""Speed and memory of a system beside a baseline, in one run on one machine.

    report = measure_speed(["en_pii_edu", "presidio-md"], texts)
    report["ratios"]["en_pii_edu / presidio-md"]["words_per_cpu_second"]

Numbers of different runs cannot be compared, so systems take turns, repeat by repeat, and what is reported beside the medians are ratios.
Time of processors is told beside wall-clock time: other programs have less influence on it. Loading and memory are measured in a fresh
process each (`speed_probe`); their peak is that of the process, interpreter and libraries included.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from pii_components.cli.common import DONE, guard
from pii_components.errors import Errors, PiiError
from pii_components.evaluate.gold import GoldDocument
from pii_components.evaluate.report import FORMAT, machine, versions
from pii_components.evaluate.systems import Run, System, make_system, parse_spec, run_system
from pii_components.evaluate.tables import console, progress_bar, shown_command, split_list
from pii_components.profiles import Profile
from scripts.robustness import LENGTHS, REPEATS, SIZES

# `pii-edu evaluate speed`: words per second, loading and memory, beside a baseline in the same run.

EPILOG = "Exit codes: 0 done; 2 refused; 130 interrupted."

PipelineOpt = Annotated[str, typer.Option("--pipeline", help="The system of interest: a package, a path, or a known system.")]
BaselineOpt = Annotated[
    str, typer.Option("--baseline", help="Others beside it, with commas between them, such as presidio-md.")
]
ProfileOpt = Annotated[str, typer.Option("--profile", help="Says which labels are hidden.")]
AssetsOpt = Annotated[Path, typer.Option("--assets", help="Folder with the authored essays, which are read.")]
LengthsOpt = Annotated[str, typer.Option("--lengths", help="Characters of an essay.")]
SizesOpt = Annotated[str, typer.Option("--sizes", help="Essays of a corpus.")]
RepeatsOpt = Annotated[int, typer.Option("--repeats", min=1, help="Of each measurement; the median counts.")]
OutOpt = Annotated[Path | None, typer.Option("--out", "-o", help="Metrics file (JSON).")]
SeedOpt = Annotated[int, typer.Option("--seed", help="Of the fillings.")]
QuietOpt = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]
DebugOpt = Annotated[bool, typer.Option("--debug", help="Raise unexpected errors with their traceback, which may show text.")]


def speed(
    *,
    pipeline: PipelineOpt = "en_pii_edu",
    baseline: BaselineOpt = "",
    profile: ProfileOpt = "crapii",
    assets: AssetsOpt = Path("assets"),
    lengths: LengthsOpt = ",".join(map(str, LENGTHS)),
    sizes: SizesOpt = ",".join(map(str, SIZES)),
    repeats: RepeatsOpt = REPEATS,
    out: OutOpt = None,
    seed: SeedOpt = 46,
    quiet: QuietOpt = False,
    debug: DebugOpt = False,
) -> None:
    """Words per second (wall clock and processors), seconds to load and peak memory in a fresh process, by length and corpus size.

    Systems take turns on the same essays. Compare ratios, not the numbers of different runs.
    """
    from pii_components.evaluate.report import check_place, write_report
    from scripts.robustness import authored_essays

    with guard(debug):
        if out is not None:
            check_place(out)
        long, many = _numbers("--lengths", lengths), _numbers("--sizes", sizes)
        specs = [pipeline, *split_list(baseline)]
        texts = [essay.text for essay in authored_essays(assets, seed=seed)]
        with progress_bar("speed", steps(len(specs), lengths=long, sizes=many, repeats=repeats)) as advance:
            found = measure_speed(specs, texts, profile=profile, lengths=long, sizes=many, repeats=repeats, progress=advance)
        report = {"command": shown_command("pii_components.cli evaluate speed", sys.argv[3:])} | found
        if out is not None:
            write_report(report, out)
        if not quiet:
            print_speed(report, console())
    raise typer.Exit(DONE)


def _numbers(name: str, text: str) -> tuple[int, ...]:
    parts = split_list(text)
    if not parts or not all(part.isdecimal() and int(part) for part in parts):
        raise PiiError(Errors.E763, name=name, value=text)
    return tuple(int(part) for part in parts)


def print_speed(report: Mapping[str, Any], to: Console) -> None:
    """Print the tables. report (Mapping[str, Any]): From the command or its metrics file. to (Console): Where to."""
    systems, machine = report["systems"], report["machine"]
    to.print(
        f"{machine['cpus']} processors, OMP_NUM_THREADS {machine['omp_num_threads'] or 'not set'}; medians of {report['repeats']} repeats"
    )
    stages = list(dict.fromkeys(stage for found in systems.values() for stage in found["peak_megabytes"]))
    table = Table("system", title="In a fresh process", title_justify="left")
    for column in ("seconds to load", "to the first result", *(f"peak MB: {stage}" for stage in stages)):
        table.add_column(column, justify="right")
    for name, found in systems.items():
        peaks = (f"{found['peak_megabytes'][stage]:.0f}" if stage in found["peak_megabytes"] else "–" for stage in stages)
        table.add_row(name, f"{found['load_seconds']:.2f}", f"{found['first_result_seconds']:.2f}", *peaks)
    for pair, ratio in report["ratios"].items():
        table.add_row(
            pair, f"× {ratio['load_seconds']:.2f}", "", *(_times(ratio["peak_megabytes"].get(stage)) for stage in stages)
        )
    to.print(table)
    for group, what in (("by_length", "characters of an essay"), ("by_corpus_size", "essays of a corpus")):
        to.print(_scaling(report, group, what))


def _times(value: float | None) -> str:
    return "–" if value is None else f"× {value:.2f}"


def _scaling(report: Mapping[str, Any], group: str, what: str) -> Table:
    table = Table(what, title=f"Words per second, by {what}", title_justify="left")
    for name in report["systems"]:
        table.add_column(f"{name}: wall clock", justify="right")
        table.add_column("processors", justify="right")
    for pair in report["ratios"]:
        table.add_column(f"{pair}: wall clock", justify="right")
        table.add_column("processors", justify="right")
    for key in next(iter(report["systems"].values()))[group]:
        cells = []
        for found in report["systems"].values():
            cells += [f"{found[group][key][measure]:,.0f}" for measure in ("words_per_second", "words_per_cpu_second")]
        for ratio in report["ratios"].values():
            cells += [_times(ratio[group][key][measure]) for measure in ("words_per_second", "words_per_cpu_second")]
        table.add_row(f"{int(key):,}", *cells)
    return table


# Characters that are read per length of essay, so that a short one is not measured on one text.
CHARACTERS = 40_000
_PROBE = "from scripts.speed import main; main()"


def essays_of(texts: Sequence[str], length: int, number: int) -> list[GoldDocument]:
    """Essays of one length.

    texts (Sequence[str]): What they are made of, one after the other and again. length (int): Characters, at most; the last word is not
    cut. number (int): How many.
    RETURNS (list[GoldDocument]): Different ones, as long as the texts last.
    """
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
    """RETURNS (list[GoldDocument]): `number` essays, the texts in turn."""
    return [GoldDocument(str(n), texts[n % len(texts)]) for n in range(number)]


def speed_of(runs: Sequence[Run]) -> dict[str, Any]:
    """The medians of repeats.

    runs (Sequence[Run]): Of one system on one set of essays.
    RETURNS (dict[str, Any]): Words per second of wall-clock and of processor time, with the least and the most; seconds.
    """
    wall = [run.words / max(run.seconds, 1e-9) for run in runs]
    cpu = [run.words / max(run.cpu_seconds, 1e-9) for run in runs]
    return {
        "words": runs[0].words,
        "seconds": round(median(run.seconds for run in runs), 3),
        "words_per_second": round(median(wall), 1),
        "words_per_second_range": [round(min(wall), 1), round(max(wall), 1)],
        "words_per_cpu_second": round(median(cpu), 1),
        "words_per_cpu_second_range": [round(min(cpu), 1), round(max(cpu), 1)],
    }


def fresh_process(
    system: str, texts: Mapping[str, Sequence[str]], *, profile: str = "crapii", repeats: int = REPEATS
) -> dict[str, Any]:
    """Load a system in processes of its own.

    system (str): A spec, see `baselines`. texts (Mapping[str, Sequence[str]]): Stage -> texts that are read after loading.
    profile (str): Name or path. repeats (int): Processes.
    RETURNS (dict[str, Any]): Medians: seconds to load and to the first result, megabytes (10^6 bytes) at the peak, by stage.
    RAISES (PiiError): E764, if a process does not end well.
    """
    request = json.dumps({"system": system, "profile": profile, "texts": {stage: list(some) for stage, some in texts.items()}})
    answers = []
    for _ in range(repeats):
        done = subprocess.run(
            [sys.executable, "-c", _PROBE], input=request, capture_output=True, text=True, encoding="utf8", check=False
        )
        if done.returncode:
            lines = done.stderr.strip().splitlines() or [""]
            # A traceback's last line may hold text; only our own coded line is passed on.
            reason = lines[-1] if lines[-1].startswith("[E") else lines[-1].partition(":")[0][:80]
            raise PiiError(Errors.E764, system=parse_spec(system).name, code=done.returncode, reason=reason)
        answers.append(json.loads(done.stdout.strip().splitlines()[-1]))
    stages = answers[0]["peak_bytes"]
    out = {
        name: round(median(a[name] for a in answers), 3)
        for name in ("load_seconds", "load_cpu_seconds", "first_result_seconds")
    }
    peaks = {stage: [a["peak_bytes"][stage] for a in answers] for stage in stages}
    out_peaks = {stage: round(median(some) / 1e6, 1) for stage, some in peaks.items() if None not in some}
    return out | {"peak_megabytes": out_peaks}


def take_turns(
    systems: Mapping[str, System],
    documents: Sequence[GoldDocument],
    *,
    repeats: int,
    progress: Callable[[], None] = lambda: None,
) -> dict[str, dict[str, Any]]:
    """Every system reads the same essays, in turn.

    systems (Mapping[str, System]): Loaded, by name. documents (Sequence[GoldDocument]): Essays. repeats (int): Turns.
    progress (Callable[[], None]): Called after each.
    RETURNS (dict[str, dict[str, Any]]): `speed_of`, by name.
    """
    runs: dict[str, list[Run]] = {name: [] for name in systems}
    for _ in range(repeats):
        for name, system in systems.items():
            runs[name].append(run_system(system, documents))
            progress()
    return {name: speed_of(some) for name, some in runs.items()}


def measure_speed(
    specs: Sequence[str],
    texts: Sequence[str],
    *,
    profile: str = "crapii",
    lengths: Sequence[int] = LENGTHS,
    sizes: Sequence[int] = SIZES,
    repeats: int = REPEATS,
    characters: int = CHARACTERS,
    progress: Callable[[], None] = lambda: None,
) -> dict[str, Any]:
    """All numbers on speed and memory.

    specs (Sequence[str]): Systems, the one of interest first; see `baselines`. texts (Sequence[str]): Essays to read.
    profile (str): Name or path. lengths (Sequence[int]): Characters of an essay. sizes (Sequence[int]): Essays of a corpus.
    repeats (int): Of each measurement. characters (int): Read per length, at least one essay.
    progress (Callable[[], None]): Called `steps` times.
    RETURNS (dict[str, Any]): Plain data without `command`. RAISES (PiiError): E740 to E751, E764.
    """
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
    per_length = {n: take_turns(systems, docs, repeats=repeats, progress=progress) for n, docs in by_length.items()}
    per_size = {n: take_turns(systems, corpus_of(texts, n), repeats=repeats, progress=progress) for n in sizes}
    found = {
        name: {
            "about": dict(systems[name].about),
            **fresh[name],
            "by_length": {str(length): some[name] for length, some in per_length.items()},
            "by_corpus_size": {str(size): some[name] for size, some in per_size.items()},
        }
        for name in named
    }
    first, *others = named
    return {
        "format": FORMAT,
        "versions": versions(),
        "machine": machine(),
        "profile": Path(profile).name,
        "repeats": repeats,
        "data": {"essays": len(texts), "characters": sum(map(len, texts)), "words": sum(len(text.split()) for text in texts)},
        "systems": found,
        "ratios": {f"{first} / {other}": ratios(found[first], found[other]) for other in others},
    }


def steps(systems: int, *, lengths: Sequence[int], sizes: Sequence[int], repeats: int) -> int:
    """RETURNS (int): How often `measure_speed` tells that it has come further."""
    return systems + systems * repeats * (len(lengths) + len(sizes))


def ratios(ours: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """One system's numbers by the other's.

    ours, other (Mapping[str, Any]): From `measure_speed`.
    RETURNS (dict[str, Any]): Above 1 is faster for words per second, slower for loading, and more for memory.
    """

    def quotient(upper: float, lower: float) -> float:
        return round(upper / max(lower, 1e-9), 3)

    out: dict[str, Any] = {"load_seconds": quotient(ours["load_seconds"], other["load_seconds"])}
    peaks, theirs = ours["peak_megabytes"], other["peak_megabytes"]
    out["peak_megabytes"] = {stage: quotient(peaks[stage], theirs[stage]) for stage in _shared(peaks, theirs)}
    for group in ("by_length", "by_corpus_size"):
        out[group] = {
            key: {
                measure: quotient(ours[group][key][measure], other[group][key][measure])
                for measure in ("words_per_second", "words_per_cpu_second")
            }
            for key in _shared(ours[group], other[group])
        }
    # The largest corpus is nearest to what a steward has.
    largest = list(out["by_corpus_size"] or out["by_length"])[-1:]
    for measure in ("words_per_second", "words_per_cpu_second"):
        for key in largest:
            out[measure] = (out["by_corpus_size"] or out["by_length"])[key][measure]
    return out


def _shared(first: Iterable[str], second: Iterable[str]) -> list[str]:
    known = set(second)
    return [key for key in first if key in known]


# What a process of its own takes to load a system, and how much memory: `python -c "from ….speed_probe import main; main(


def peak_memory() -> int | None:
    """The most memory that this process has held so far.

    RETURNS (int | None): Bytes; None where the platform does not tell. On Linux the high-water mark of /proc: `ru_maxrss` there also
    counts what the process that started this one held when it forked.
    """
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(peak if sys.platform == "darwin" else peak * 1024)


def probe(system: str, profile: str, texts: dict[str, list[str]]) -> dict[str, Any]:
    """Load a system and let it read texts.

    system (str): A spec, see `baselines`. profile (str): Name or path. texts (dict[str, list[str]]): Stage -> texts, in order.
    RETURNS (dict[str, Any]): Seconds to load (imports too), and the peak of memory after that and after each stage, in bytes.
    """
    start, cpu = perf_counter(), process_time()
    from pii_components.evaluate.gold import GoldDocument
    from pii_components.evaluate.systems import make_system
    from pii_components.profiles import Profile

    loaded = make_system(system, protects=Profile.load(profile).protects)
    out: dict[str, Any] = {"load_seconds": perf_counter() - start, "load_cpu_seconds": process_time() - cpu}
    out["peak_bytes"] = {"loaded": peak_memory()}
    start = perf_counter()
    for stage, some in texts.items():
        for _ in loaded.find([GoldDocument(str(n), text) for n, text in enumerate(some)]):
            out.setdefault("first_result_seconds", perf_counter() - start)
        out["peak_bytes"][stage] = peak_memory()
    return out


def main() -> None:
    """Read the request, write the answer; a coded error is one line on standard error, and code 2."""
    from pii_components.errors import PiiError

    asked = json.load(sys.stdin)
    try:
        answer = probe(asked["system"], asked["profile"], asked["texts"])
    except PiiError as err:
        sys.stderr.write(f"{err}\n")
        sys.exit(2)
    sys.stdout.write(json.dumps(answer) + "\n")
