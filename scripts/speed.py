"""Speed, memory and size of our pipeline beside others, one after the other on the same essays of one machine.

    python -m scripts.speed --out metrics/speed.json --plot docs/speed.svg
    python -m scripts.speed --saved metrics/speed.json      # the table again

Numbers of different runs cannot be compared, so systems take turns (A B C A B C), each time in a fresh process (`speed_probe`), and what counts
are ratios within a turn: a busy machine slows all of them. Time of processors stands beside the wall clock; memory is the peak of a process,
interpreter and libraries included. What cannot be measured here is told. Essays are authored and filled with invented people; training
has seen most of them, which changes no speed.
"""

import json
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from html import escape
from importlib.util import find_spec
from itertools import cycle, islice
from math import isnan, log, log2, log10, nan
from pathlib import Path
from statistics import linear_regression, median
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer
from thinc.compat import has_cupy_gpu

from pii_components.cli.common import guard
from pii_components.corpus.build import RECIPES, from_essays, rng_for
from pii_components.corpus.templates import read_templates
from pii_components.errors import Errors, PiiError
from pii_components.evaluate.systems import OURS, find_model, load_pipeline, parse_spec
from pii_components.evaluate.tables import lines_of, split_list
from pii_components.names.table import name_table
from pii_components.profiles import Profile
from pii_components.training.onnx_export import with_torch_encoder
from pii_components.training.package import halve
from scripts import common, robustness

LEAST = 200  # words of an essay; shorter ones are scenes
LENGTHS = [100, 1000, 10_000, 100_000]
MOST = 4_000  # words that are read of short texts, so that a length is not measured on one of them
TORCH, PRESIDIO, CNN, GPU = "torch", "presidio-md", "cnn", "gpu"
DEFAULTS = (OURS, TORCH, PRESIDIO, CNN, GPU)
ESSAYS, WORDS = "essays", "words"
BARS = {
    "words_per_second": "words a second",
    "words_per_cpu_second": "words a CPU second",
    "load_seconds": "seconds to load",
    "megabytes_essays": "peak memory, MB",
    "megabytes_on_disk": "size on disk, MB",
}
PLAIN = {
    "load_seconds_beside_spacy": "beyond spaCy's own",
    f"exponent_{ESSAYS}_seconds": "exponent by essays",
    f"exponent_{WORDS}_seconds": "by length",
}
COLOURS = ("#3b6ea5", "#c0582b", "#777777", "#3f8f4f", "#8a5a9e", "#b08a1e")


def main(
    *,
    system: Annotated[
        list[str] | None,
        typer.Option(help="NAME=SYSTEM[:PATH], also in the place of one of that name."),
    ] = None,
    only: Annotated[
        str,
        typer.Option(
            help="Names, with commas between them [en_pii_edu,torch,presidio-md,cnn,gpu]."
        ),
    ] = "",
    assets: common.AssetsOpt = Path("assets"),
    clean: Annotated[
        float,
        typer.Option(min=0, max=1, help="Share of the essays that name nobody who is hidden."),
    ] = 0.85,
    lengths: Annotated[
        list[int] | None, typer.Option(min=1, help="Words of a text [100, 1000, 10000, 100000].")
    ] = None,
    sizes: Annotated[
        list[int] | None, typer.Option(min=1, help="Essays of a corpus [10, 40, 160, 400].")
    ] = None,
    turns: Annotated[int, typer.Option(min=1, help="How often all systems are measured.")] = 5,
    saved: Annotated[
        Path | None, typer.Option(help="Show this metrics file instead of measuring.")
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Picture (SVG).")] = None,
    out: common.OutOpt = None,
    debug: common.DebugOpt = False,
) -> None:
    """Words per second, seconds to load, peak memory, size on disk, as ratios to Presidio; growth with length and number of essays."""
    with guard(debug):
        common.early(out)
        if saved:
            report = json.loads(saved.read_text("utf8"))
        else:
            with TemporaryDirectory() as folder:
                named, missing = choose(system or (), split_list(only), Path(folder))
                mixed = mix(
                    authored(assets),
                    max(400, *(sizes := sorted(sizes or [10, 40, 160, 400]))),
                    clean,
                )
                report = measure_speed(
                    named, mixed, sizes=sizes, lengths=sorted(lengths or LENGTHS), turns=turns
                )
            report = common.publish("speed", report | {"not_measured": missing}, out, None)
        common.console().print("\n".join(table(report)), markup=False, soft_wrap=True)
        if plot:
            plot.write_text(draw(report), "utf8")


def authored(assets: Path) -> list[tuple[str, bool]]:
    """Essays of at least `LEAST` words, in random order, each with whether something in it is hidden."""
    recipe, protects = replace(RECIPES["test"], fillings=1), Profile.load("crapii").protects
    filled = from_essays(read_templates(assets), {}, recipe, name_table(), robustness.DRAWN)
    long = (one for one in filled if len(one.text.split()) >= LEAST)
    found = [
        (one.text, any(robustness.must_hide(label, protects) for *_, label in one.spans))
        for one in long
    ]
    rng_for(robustness.DRAWN, "speed").shuffle(found)
    return found


def mix(essays: Sequence[tuple[str, bool]], number: int, clean: float) -> list[tuple[str, bool]]:
    """So many essays, in turn and again; of any beginning of them, the share `clean` hides nobody, as far as there are both kinds."""
    kinds = [cycle([one for one in essays if one[1] == named] or essays) for named in (False, True)]
    steps = [int((1 - clean) * n + 1e-9) for n in range(number + 1)]
    return [next(kinds[after > before]) for before, after in zip(steps, steps[1:], strict=False)]


def cut(texts: Sequence[str], length: int, number: int) -> list[str]:
    """So many texts of `length` words, out of the essays, one after the other and again; white space stays."""
    words = cycle(re.findall(r"\S+\s*", "\n\n".join([*texts, ""])))
    return ["".join(islice(words, length)) for _ in range(number)]


def choose(
    asked: Sequence[str], only: Sequence[str], folder: Path
) -> tuple[dict[str, str], dict[str, str]]:
    """RETURNS (tuple): What is measured, name -> spec, and what is not, name -> why. RAISES (PiiError): E740, for what was asked for."""
    named = {parse_spec(spec).name: spec for spec in asked}
    named |= {
        name: name
        for name in only
        if name not in named and name not in DEFAULTS and parse_spec(name)
    }
    missing: dict[str, str] = {}
    wanted = [name for name in dict.fromkeys([*DEFAULTS, *named]) if not only or name in only]
    for name in wanted:
        try:
            named[name] = named.get(name) or make_default(name, named, folder)
        except (PiiError, ImportError) as err:
            missing[name] = f"not measured: {err}"
    return {name: named[name] for name in wanted if name in named}, missing


def make_default(name: str, named: Mapping[str, str], folder: Path) -> str:
    """The spec of one of `DEFAULTS`; what does not ship is written to the folder: ours with its encoder as a PyTorch model that has the weights of
    the ONNX graph, and the entity recognizer of Presidio's pipeline alone, a HashEmbedCNN. named (Mapping): Specs that are known already.
    RAISES: ImportError without torch or a GPU; PiiError, if the encoder is no ONNX graph (E110) or Presidio's pipeline is missing (E741)."""
    if name in (OURS, PRESIDIO):
        return name if name == OURS or find_model(name, "md") else ""
    if name == CNN:
        nlp = load_pipeline(
            parse_spec(named.get(PRESIDIO, PRESIDIO)).argument or find_model(CNN, "md")
        )
        for pipe in {*nlp.component_names} - {
            "ner",
            "tok2vec" if "Listener" in str(nlp.config["components"]["ner"]) else "",
        }:
            nlp.remove_pipe(pipe)
    else:
        if name == GPU and not has_cupy_gpu:
            raise ImportError("CuPy finds no GPU")
        if not find_spec("torch") or not find_spec("spacy_curated_transformers"):
            raise ImportError("torch is not installed")
        if name == GPU and TORCH in named:
            return GPU + named[TORCH].removeprefix(TORCH)
        halve(
            nlp := with_torch_encoder(
                load_pipeline(parse_spec(named.get(OURS, OURS)).argument or OURS)
            )
        )
    nlp.to_disk(folder / name)
    return f"{name}={'spacy:' if name == CNN else ''}{folder / name}"


def fresh_process(name: str, spec: str, stages: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """What `speed_probe.probe` tells of a process of its own. RAISES (PiiError): E764, if that does not end well."""
    request = json.dumps({"system": spec, "stages": stages, "gpu": name == GPU})
    command = [sys.executable, "-m", "scripts.speed_probe"]
    done = subprocess.run(
        command, input=request, capture_output=True, text=True, encoding="utf8", check=False
    )
    if done.returncode:
        kind, _, message = (done.stderr.strip().splitlines() or [""])[-1].partition(": ")
        # A traceback's last line may hold text; only our own coded line is passed on.
        reason = message if message.startswith("[E") else kind[:80]
        raise PiiError(Errors.E764, system=name, code=done.returncode, reason=reason)
    answer: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return answer


def spread(rows: Iterable[Mapping[str, float]]) -> dict[str, Any]:
    """The median of each number over turns, and under `<name>_range` the least and the most; four digits of each."""
    found: dict[str, Any] = {}
    for key in (rows := list(rows))[0]:
        low, middle, high = (
            float(f"{pick(row[key] for row in rows):.4g}") for pick in (min, median, max)
        )
        found |= {} if isnan(middle) else {key: middle, f"{key}_range": [low, high]}
    return found


def exponent(points: Sequence[tuple[float, float]]) -> float:
    """RETURNS (float): Slope of the line through the logarithms of both: 1 where the second grows like the first."""
    return (
        linear_regression(*zip(*((log(x), log(y)) for x, y in points), strict=True)).slope
        if len(points) > 1
        else nan
    )


def numbers(
    answer: Mapping[str, Any], alone: Mapping[str, float], data: Mapping[str, Mapping[str, int]]
) -> dict[str, float]:
    """Of a system in one turn. alone (Mapping): Of spaCy. data (Mapping): Stage -> texts and words."""
    found, times = dict(answer["numbers"]), answer["stages"]
    sizes, lengths = (
        [stage for stage in data if stage.startswith(group)] for group in (ESSAYS, WORDS)
    )
    found |= {
        "megabytes_essays": times[sizes[-1]]["megabytes"],
        "megabytes_longest": times[lengths[-1]]["megabytes"],
    }
    for clock in ("seconds", "cpu_seconds"):
        found[f"load_{clock}_beside_spacy"] = found[f"load_{clock}"] - alone[f"load_{clock}"]
        found[f"words_per_{clock[:-1]}"] = data[sizes[-1]]["words"] / times[sizes[-1]][clock]
        found[f"exponent_{ESSAYS}_{clock}"] = exponent(
            [(data[stage]["words"], times[stage][clock]) for stage in sizes]
        )
        each = [
            (data[stage]["words"] / (n := data[stage]["texts"]), times[stage][clock] / n)
            for stage in lengths
        ]
        found[f"exponent_{WORDS}_{clock}"] = exponent(each)
    return found


def measure_speed(
    named: Mapping[str, str],
    essays: Sequence[tuple[str, bool]],
    *,
    sizes: Sequence[int],
    lengths: Sequence[int],
    turns: int,
) -> dict[str, Any]:
    """All numbers of systems (name -> spec). essays (Sequence): From `mix`. RAISES (PiiError): E740 to E751, E764."""
    texts, largest = [text for text, _ in essays], sizes[-1]
    stages = {f"{ESSAYS} {size}": texts[:size] for size in sizes}
    stages |= {
        f"{WORDS} {length}": cut(texts, length, max(1, MOST // length)) for length in lengths
    }
    data = {
        stage: {"texts": len(some), "words": sum(len(text.split()) for text in some)}
        for stage, some in stages.items()
    }
    specs, answers = {"": "", **named}, defaultdict(list)  # spaCy alone before the others
    for name in common.track("speed", [*specs] * turns):
        answers[name].append(fresh_process(name, specs[name], stages))
    alone, systems, ratios = answers.pop(""), {}, {}
    rows = {
        name: [numbers(*pair, data) for pair in zip(some, alone, strict=True)]
        for name, some in answers.items()
    }
    beside = PRESIDIO if PRESIDIO in rows else next(iter(rows), "")
    for name, some in rows.items():
        systems[name] = {"about": answers[name][0]["about"], **spread(some)}
        systems[name]["stages"] = {
            stage: spread(answer["stages"][stage] for answer in answers[name]) for stage in stages
        }
        if name != beside:
            ratios[name] = spread(
                {key: a[key] / (b[key] or nan) for key in a}
                for a, b in zip(some, rows[beside], strict=True)
            )
    found = {
        "profile": "crapii",
        "turns": turns,
        "essays": largest,
        "different_essays": len(set(texts[:largest])),
    }
    found |= {
        "clean_share": round(sum(not hidden for _, hidden in essays[:largest]) / largest, 3),
        "stages": data,
    }
    return (
        common.head()
        | found
        | {"spacy_alone": spread(alone), "systems": systems, "beside": beside, "ratios": ratios}
    )


def table(report: Mapping[str, Any]) -> list[str]:
    """RETURNS (list[str]): Markdown: a row per system; medians, and in brackets the ratio with the least and the most of the turns."""
    rows = []
    for name, found in report["systems"].items():
        ratio, cells = report["ratios"].get(name, {}), [name]
        for key in BARS:
            value = found.get(key, nan)
            cells.append(f"{value:,.0f}" if value >= 100 else f"{value:.3g}")
            cells[-1] += (
                " ({:.2f}, {:.2f} to {:.2f})".format(ratio[key], *ratio[f"{key}_range"])
                if key in ratio
                else ""
            )
        rows.append(
            [
                *cells,
                *(
                    "{:.2f} to {:.2f}".format(*found.get(f"{key}_range", (nan, nan)))
                    for key in PLAIN
                ),
            ]
        )
    rows += [
        [name, reason, *[""] * (len(BARS) + len(PLAIN) - 1)]
        for name, reason in report["not_measured"].items()
    ]
    about = f"{report['essays']} essays, {report['clean_share']:.0%} of them without anything to hide, {report['turns']} turns: medians, in "
    about += f"brackets the ratio to {report['beside']}, its least and its most. Exponent 1: twice the text takes twice the time."
    return [*lines_of(["system", *BARS.values(), *PLAIN.values()], rows), "", about]


def draw(report: Mapping[str, Any]) -> str:
    """RETURNS (str): An SVG: to the left ratios and their ranges, to the right seconds by length of a text; all axes are logarithmic."""
    parts = []
    colours = dict(zip(report["systems"], cycle(COLOURS), strict=False))

    def add(x: float, y: float, label: str, anchor: str = "middle") -> None:
        parts.append(f'<text x="{x}" y="{y}" text-anchor="{anchor}">{escape(label)}</text>')

    for n, (name, colour) in enumerate(colours.items()):
        parts.append(f'<circle cx="{20 + 150 * n}" cy="18" r="5" fill="{colour}"/>')
        add(30 + 150 * n, 22, name, "start")
    for power in range(-3, 4):
        parts.append(
            f'<path d="M{285 + 40 * power} 40V300" stroke="{"#ddd" if power else "#555"}"/>'
        )
        add(285 + 40 * power, 316, f"{2**power}" if power >= 0 else f"1/{2**-power}")
    for row, (key, title) in enumerate(BARS.items()):
        add(152, 72 + 52 * row, title, "end")
        for n, (name, made) in enumerate(report["ratios"].items()):
            some = (made.get(key, 1), *made.get(f"{key}_range", (1, 1)))
            at, low, high = (285 + 40 * min(max(log2(ratio), -3.2), 3.2) for ratio in some)
            y, colour = 56 + 52 * row + 9 * n, colours[name]
            parts.append(
                f'<path d="M{low:.1f} {y}H{high:.1f}" stroke="{colour}" stroke-width="2"/>'
            )
            parts.append(f'<circle cx="{at:.1f}" cy="{y}" r="4" fill="{colour}"/>')
    add(285, 334, f"ratio to {report['beside']}")
    for tick in range(6):
        parts.append(
            f'<path d="M{490 + 50 * tick} 40V300M490 {300 - 52 * tick}H740" stroke="#ddd"/>'
        )
        add(490 + 50 * tick, 316, f"{10 ** (tick + 1):,}")
        add(484, 304 - 52 * tick, f"{10.0 ** (tick - 2):g}", "end")
    lengths = {stage: at for stage, at in report["stages"].items() if stage.startswith(WORDS)}
    for name, made in report["systems"].items():
        each = [
            (at["words"] / at["texts"], made["stages"][stage]["seconds"] / at["texts"])
            for stage, at in lengths.items()
        ]
        path = "L".join(
            f"{440 + 50 * log10(words):.1f} {196 - 52 * log10(seconds):.1f}"
            for words, seconds in each
        )
        parts.append(f'<path d="M{path}" fill="none" stroke="{colours[name]}" stroke-width="2"/>')
    add(615, 334, "seconds by words of a text")
    return common.svg(780, 344, parts)


if __name__ == "__main__":
    typer.run(main)
