"""Speed, memory and size of our pipeline beside others, on the same essays of one machine.

    python -m scripts.speed --out metrics/speed.json
    python -m scripts.speed --saved metrics/speed.json      # the tables again

Numbers of different runs cannot be compared, so systems take turns (A B C A B C), each time in a
fresh process, and what counts are ratios within a turn: a busy machine slows all of them. "2@NAME"
is a system with two threads; without it has one. Memory is the peak of a process, interpreter and
libraries included. A second table says where the time of a `pii-edu deidentify` goes. Essays are
authored and filled with invented people; training has seen most of them, which changes no speed.
"""

import json
import os
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from itertools import cycle, islice
from math import isnan, log, nan
from pathlib import Path
from statistics import linear_regression, median
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Annotated, Any

import typer

STARTED = perf_counter()  # nothing large has been imported yet
ESSAYS = "essays"
SYSTEMS = "1@en_pii_edu,2@en_pii_edu,presidio-md"
NUMBER, FEWER, LENGTHS = 160, (10, 40), (100, 1000, 10_000)  # essays; words of a text
MOST = 4_000  # words that are read of short texts, so that a length is not measured on one of them
COLUMNS = {
    "words_per_second": "words a second",
    "words_per_cpu_second": "words a CPU second",
    "load_seconds": "seconds to load",
    "megabytes_essays": "peak memory, MB",
    "megabytes_on_disk": "size on disk, MB",
}
EXPONENTS = {"exponent_essays_seconds": "by essays", "exponent_words_seconds": "by length"}
# Stages of a run: what of it is not the pipeline begins and ends it.
START, TOKENIZER, FILES = "start", "tokenizer", "files and all else"
RUN = "en_pii_edu"  # whose run


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


def run_stages(model: str, texts: Sequence[str]) -> dict[str, float]:
    """De-identify a CSV as `pii-edu deidentify` does. RETURNS (dict[str, float]): CPU seconds of each stage, in order."""
    from pii_components.cli import main as pii_edu
    from pii_components.release import engine

    found, load = Counter[str](), engine.load_pipeline

    def timed(name: str, done: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def call(given: Any) -> Any:
            start = process_time()
            result = done(given)
            found[name] += process_time() - start
            return result

        return call

    def watched(*args: Any, **kwargs: Any) -> Any:
        nlp = load(*args, **kwargs)
        found[START] = process_time()
        nlp.make_doc = timed(TOKENIZER, nlp.make_doc)
        for name, component in nlp.pipeline:
            if not hasattr(component, "pipe"):
                continue  # a function that tidies up
            of_all = timed(name, lambda docs, pipe=component.pipe: list(pipe(docs)))

            def pipe(docs: Iterable[Any], of_all: Any = of_all, **_: Any) -> Iterator[Any]:
                yield from of_all(list(docs))  # those before it have done their work by then

            component.pipe = pipe
        return nlp

    engine.load_pipeline = watched
    with TemporaryDirectory() as folder:
        source = Path(folder, "essays.jsonl")
        source.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), "utf8")
        at = ["--out", f"{folder}/safe.jsonl", "--key-file", f"{folder}/key"]
        how = ["--config", f"model={model}", "--config", "workers=1"]
        for line in (["keygen", f"{folder}/key"], ["deidentify", str(source), *at, *how]):
            sys.argv = ["pii-edu", "--quiet", *line]
            with redirect_stdout(sys.stderr):
                try:
                    pii_edu()
                except SystemExit as end:
                    if end.code:
                        raise
    found[FILES] = process_time() - found.total()
    return dict(found)


def fresh_process(
    spec: str, stages: Mapping[str, Sequence[str]], what: str = "--probe"
) -> dict[str, Any]:
    """What `probe` or, for "--run", `run_stages` tells in a process of its own. RAISES (PiiError): E743, if that does not end well."""
    from pii_components.errors import Errors, PiiError

    threads, _, system = spec.rpartition("@")
    command = [sys.executable, "-m", "scripts.speed", what]
    request, env = json.dumps([system, stages]), {**os.environ, "OMP_NUM_THREADS": threads or "1"}
    done = subprocess.run(
        command, input=request, capture_output=True, text=True, check=False, env=env
    )
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
    points = defaultdict[str, list[tuple[float, float]]](list)
    for stage, held in data.items():
        many, one = "exponent_essays_seconds", "exponent_words_seconds"
        key, of = (many, 1) if stage.startswith(ESSAYS) else (one, held["texts"])
        size = held["texts"] if key == many else held["words"] / of
        points[key].append((log(size), log(times[stage]["seconds"] / of)))
    # The slope of the line through the logarithms: 1 where time grows like the work.
    return found | {
        key: linear_regression(*zip(*some, strict=True)).slope for key, some in points.items()
    }


def measure(systems: Sequence[str], essays: Sequence[str], turns: int) -> dict[str, Any]:
    """All numbers of some systems. RAISES (PiiError): E519, E743 to E747."""
    from scripts import common

    stages = {ESSAYS: list(essays)} | {f"{ESSAYS} {n}": [*essays[:n]] for n in FEWER}
    stages |= {f"words {length}": cut(essays, length) for length in LENGTHS}
    data = {}
    for stage, texts in stages.items():
        data[stage] = {"texts": len(texts), "words": sum(len(text.split()) for text in texts)}
    answers = defaultdict(list)
    runs = list[dict[str, float]]()
    for n, spec in enumerate(common.track("speed", [*systems] * turns)):
        answers[spec].append(fresh_process(spec, stages))
        if not n % len(systems):
            runs.append(fresh_process(RUN, {ESSAYS: essays}, "--run"))
    rows = {}
    for spec, some in answers.items():
        rows[spec] = [numbers(answer, data) for answer in some]
    beside, ratios = systems[-1], {}
    for spec in systems[:-1]:
        pairs = zip(rows[spec], rows[beside], strict=True)
        ratios[spec] = spread([{key: a[key] / (b[key] or nan) for key in a} for a, b in pairs])
    found = {spec: {"about": answers[spec][0]["about"], **spread(rows[spec])} for spec in rows}
    head = common.head() | {"turns": turns, "essays": len(essays), "stages": data}
    return head | {"systems": found, "beside": beside, "ratios": ratios, "run": spread(runs)}


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
        ends = (found.get(f"{key}_range", (nan, nan)) for key in EXPONENTS)
        rows.append([*cells, *("{:.2f} to {:.2f}".format(*end) for end in ends)])
    about = f"{report['essays']} essays, {report['turns']} turns; ratio to {report['beside']}"
    head = ["system", *COLUMNS.values(), *(f"exponent {how}" for how in EXPONENTS.values())]
    run = {stage: held for stage, held in report.get("run", {}).items() if "_range" not in stage}
    whole = sum(run.values())
    parts = [[stage, f"{held:.2f}", f"{held / whole:.0%}"] for stage, held in run.items()]
    stages = ["", *common.lines_of(["stage of a run", "CPU seconds", "share"], parts)]
    return [*common.lines_of(head, rows), "", about, *(stages if run else [])]


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
    elif "--run" in sys.argv:
        model, texts = json.load(sys.stdin)
        print(json.dumps(run_stages(model, texts[ESSAYS])))
    else:
        typer.run(main)
