"""Speed, memory and size of our pipeline beside others, on the same essays of one machine.

    python -m scripts.speed --out metrics/speed.json
    python -m scripts.speed --saved metrics/speed.json      # the table again

Numbers of different runs cannot be compared, so systems take turns (A B C A B C), each time in a
fresh process, and what counts are ratios within a turn: a busy machine slows all of them. Memory is
the peak of a process, interpreter and libraries included. Essays are authored and filled with
invented people; training has seen most of them, which changes no speed.
"""

import json
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import cycle, islice
from math import isnan, log, nan
from pathlib import Path
from statistics import linear_regression, median
from time import perf_counter, process_time
from typing import Annotated, Any

import typer

STARTED = perf_counter()  # nothing large has been imported yet
ESSAYS = "essays"
SYSTEMS = "en_pii_edu,presidio-md"
NUMBER, LENGTHS = 160, (100, 1000, 10_000)  # essays; words of a text
MOST = 4_000  # words that are read of short texts, so that a length is not measured on one of them
COLUMNS = {
    "words_per_second": "words a second",
    "words_per_cpu_second": "words a CPU second",
    "load_seconds": "seconds to load",
    "megabytes_essays": "peak memory, MB",
    "megabytes_on_disk": "size on disk, MB",
}


def memory() -> float:
    """Megabytes that this process has held at most, by /proc.

    `ru_maxrss` also counts what the process that started this one held when it forked.
    """
    status = Path("/proc/self/status").read_text("utf8")
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024 / 1e6


def probe(system: str, stages: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Load a system, imports and all, and let it read the texts of each stage.

    RETURNS (dict[str, Any]): Its numbers, and seconds and the peak of memory after each stage.
    """
    from pii_components.evaluate.systems import make_system

    loaded = make_system(system)
    found, read = {"load_seconds": perf_counter() - STARTED}, {}
    path = loaded.nlp.path if loaded.nlp is not None else None
    files = [file for file in path.rglob("*") if file.is_file()] if path else []
    found["megabytes_on_disk"] = sum(file.stat().st_size for file in files) / 1e6
    for stage, texts in stages.items():
        list(loaded.find(texts[:1]))  # some things are made when they are first needed
        start, cpu = perf_counter(), process_time()
        list(loaded.find(texts))
        times = {"seconds": perf_counter() - start, "cpu_seconds": process_time() - cpu}
        read[stage] = times | {"megabytes": memory()}
    return {"about": loaded.about, "numbers": found, "stages": read}


def fresh_process(spec: str, stages: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """What `probe` tells in a process of its own. RAISES (PiiError): E743, if that does not end well."""
    from pii_components.errors import Errors, PiiError

    command = [sys.executable, "-m", "scripts.speed", "--probe"]
    request = json.dumps([spec, stages])
    done = subprocess.run(command, input=request, capture_output=True, text=True, check=False)
    if done.returncode:
        kind, _, message = (done.stderr.strip().splitlines() or [""])[-1].partition(": ")
        # A traceback's last line may hold text; only our own coded line is passed on.
        reason = message if message.startswith("[E") else kind[:80]
        how = f"a process of its own ended with code {done.returncode} ({reason})"
        raise PiiError(Errors.E743, name=spec, how=how)
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


def authored(assets: Path) -> list[str]:
    """Essays filled with invented people, in random order."""
    from pii_components.profiles import Profile
    from scripts.robustness import authored_essays, take

    essays = take(authored_essays(assets), NUMBER, Profile.load("kaggle").protects)
    return [essay.text for essay in essays]


def cut(texts: Sequence[str], length: int, most: int = MOST) -> list[str]:
    """Texts of `length` words out of the essays, one after the other and again."""
    words = cycle(re.findall(r"\S+\s*", "\n\n".join([*texts, ""])))
    return ["".join(islice(words, length)) for _ in range(max(1, most // length))]


def spread(rows: Sequence[Mapping[str, float]]) -> dict[str, Any]:
    """The median of each number over turns, and under `<name>_range` the least and the most."""
    found: dict[str, Any] = {}
    for key in rows[0]:
        values = [row[key] for row in rows]
        if not isnan(median(values)):
            low, middle, high = (float(f"{pick(values):.4g}") for pick in (min, median, max))
            found |= {key: middle, f"{key}_range": [low, high]}
    return found


def numbers(answer: Mapping[str, Any], data: Mapping[str, Mapping[str, int]]) -> dict[str, float]:
    """Of a system in one turn. data (Mapping): Stage -> texts and words."""
    found, times = dict(answer["numbers"]), answer["stages"]
    found["megabytes_essays"] = times[ESSAYS]["megabytes"]
    for clock in ("seconds", "cpu_seconds"):
        found[f"words_per_{clock[:-1]}"] = data[ESSAYS]["words"] / times[ESSAYS][clock]
    words, seconds = [], []
    for stage in data.keys() - {ESSAYS}:
        words.append(log(data[stage]["words"] / data[stage]["texts"]))
        seconds.append(log(times[stage]["seconds"] / data[stage]["texts"]))
    # The slope of the line through the logarithms: 1 where time grows like the text.
    found["exponent_words_seconds"] = linear_regression(words, seconds).slope
    return found


def measure(systems: Sequence[str], essays: Sequence[str], turns: int) -> dict[str, Any]:
    """All numbers of some systems. RAISES (PiiError): E519, E743 to E747."""
    from scripts import common

    stages = {ESSAYS: list(essays)}
    stages |= {f"words {length}": cut(essays, length) for length in LENGTHS}
    data = {}
    for stage, texts in stages.items():
        data[stage] = {"texts": len(texts), "words": sum(len(text.split()) for text in texts)}
    answers = defaultdict(list)
    for spec in common.track("speed", [*systems] * turns):
        answers[spec].append(fresh_process(spec, stages))
    rows = {}
    for spec, some in answers.items():
        rows[spec] = [numbers(answer, data) for answer in some]
    beside, ratios = systems[-1], {}
    for spec in systems[:-1]:
        pairs = zip(rows[spec], rows[beside], strict=True)
        ratios[spec] = spread([{key: a[key] / (b[key] or nan) for key in a} for a, b in pairs])
    found = {spec: {"about": answers[spec][0]["about"], **spread(rows[spec])} for spec in rows}
    head = common.head() | {"turns": turns, "essays": len(essays), "stages": data}
    return head | {"systems": found, "beside": beside, "ratios": ratios}


def table(report: Mapping[str, Any]) -> list[str]:
    """A row of Markdown per system: medians, in brackets the ratio with the least and the most."""
    from scripts import common

    rows = []
    for name, found in report["systems"].items():
        ratio, cells = report["ratios"].get(name, {}), [name]
        for key in COLUMNS:
            value = found.get(key, nan)
            shown = f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
            if key in ratio:
                shown += " ({:.2f}, {:.2f} to {:.2f})".format(ratio[key], *ratio[f"{key}_range"])
            cells.append(shown)
        ends = found.get("exponent_words_seconds_range", (nan, nan))
        rows.append([*cells, "{:.2f} to {:.2f}".format(*ends)])
    about = f"{report['essays']} essays, {report['turns']} turns; ratio to {report['beside']}"
    return [*common.lines_of(["system", *COLUMNS.values(), "exponent by length"], rows), "", about]


def main(
    *,
    systems: Annotated[str, typer.Option(help="With commas; ratios are to the last.")] = SYSTEMS,
    assets: Annotated[Path, typer.Option(help="Folder with essays/.")] = Path("assets"),
    turns: Annotated[int, typer.Option(min=1, help="How often all are measured.")] = 5,
    saved: Annotated[Path | None, typer.Option(help="Show this metrics file instead.")] = None,
    out: Annotated[Path | None, typer.Option(help="Metrics file (JSON).")] = None,
) -> None:
    """Words per second, seconds to load, memory and size, as ratios to the last system."""
    from pii_components.cli.common import guard
    from scripts import common

    with guard():
        common.early(out)
        if saved:
            report = json.loads(saved.read_text("utf8"))
        else:
            report = measure(systems.split(","), authored(assets), turns)
            report = common.publish("speed", report, out, None)
        common.console().print("\n".join(table(report)), markup=False, soft_wrap=True)


if __name__ == "__main__":
    if "--probe" in sys.argv:
        print(json.dumps(probe(*json.load(sys.stdin))))
    else:
        typer.run(main)
