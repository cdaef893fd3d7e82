"""What gained what: experiments as files, and docs/experiments.md made from them.

    experiment = from_metrics("three_passes", before=Path("old.json"), after=Path("new.json"), change="...", held_out="...", date="2026-11-21")
    write_experiment(experiment, Path("metrics/experiments"))
    page(read_experiments(Path("metrics/experiments")), metrics=Path("metrics"))

An experiment is one change with the numbers before and after it, on essays that were not trained on, copied by a command out of two metrics
files of `pii-edu evaluate run`, `pii-edu compare` or `evaluate.compare`. No number is written by hand.
"""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import Errors, PiiError
from .markdown import cell, lines_of

FORMAT = 1
MEASURES = ("precision", "recall", "f1", "f5")
SIDES = ("before", "after")
VIEWS = ("four", "all")
MATCHINGS = ("bag", "position")
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,60}")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_COVERAGE = ("documents_with_pii", "incompletely_covered", "clean_documents", "clean_touched")


def side_of(report: Mapping[str, Any], system: str, *, file: str) -> dict[str, Any]:
    """One side of an experiment out of a metrics file.

    report (Mapping[str, Any]): What the command wrote. system (str): Its name; the first if empty. file (str): For the error.
    RETURNS (dict[str, Any]): System, version, profile, command, and per view the scores by text and by position, and coverage.
    RAISES (PiiError): E775 if it is no such file, E788 if the system is not in it.
    """
    systems = report.get("systems")
    if not isinstance(systems, Mapping) or not systems:
        raise PiiError(Errors.E775, file=file, reason="it has no systems")
    name = system or next(iter(systems))
    if name not in systems or not set(VIEWS) <= set(systems[name].get("views", {})):
        raise PiiError(Errors.E788, file=file, name=name, view=" and ".join(VIEWS), allowed=", ".join(systems))
    found = systems[name]
    return {
        "system": name,
        "model_version": found["about"].get("model_version", ""),
        "profile": report.get("profile", ""),
        "command": report["command"],
        "views": {
            view: {
                **{matching: found["views"][view][matching] for matching in MATCHINGS},
                "coverage": {key: found["views"][view]["coverage"][key] for key in _COVERAGE},
            }
            for view in VIEWS
        },
    }


def from_metrics(
    name: str,
    *,
    before: Path,
    after: Path,
    change: str,
    held_out: str,
    date: str,
    systems: Sequence[str] = ("", ""),
    sources: Sequence[str] = ("", ""),
) -> dict[str, Any]:
    """An experiment out of two metrics files (or one that has both systems).

    name (str): Of the experiment and its file; experiments are told in the order of date and name. before, after (Path): Metrics files.
    change (str): What was changed. held_out (str): Why the essays count as not trained on. date (str): YYYY-MM-DD.
    systems (Sequence[str]): Names of the two systems in their files; the first there if empty.
    sources (Sequence[str]): What is told of where the files are, such as a commit; their names if empty.
    RETURNS (dict[str, Any]): Checked. RAISES (PiiError): E775, E787, E788.
    """
    reports = [read_metrics(path) for path in (before, after)]
    sides = [side_of(r, system, file=path.name) for r, system, path in zip(reports, systems, (before, after), strict=True)]
    for side, source, path in zip(sides, sources, (before, after), strict=True):
        side["source"] = source or path.name
    data = {key: reports[1]["data"][key] for key in ("file", "sha256", "documents", "documents_with_pii", "words")}
    if reports[0]["data"]["sha256"] != data["sha256"]:
        raise PiiError(Errors.E787, file=f"{name}.json", problem="before and after are not on the same data")
    pair = f"{sides[1]['system']} - {sides[0]['system']}"
    paired = reports[1].get("differences", {}).get(pair) if before == after else None
    experiment: dict[str, Any] = {
        "format": FORMAT,
        "name": name,
        "date": date,
        "change": change,
        "held_out": held_out,
        "data": data,
        "before": sides[0],
        "after": sides[1],
    }
    if paired:
        experiment["difference"] = {view: paired[view]["bag"] for view in VIEWS if view in paired}
    check(experiment, f"{name}.json")
    return experiment


def check(experiment: Any, file: str) -> None:
    """Check an experiment's form. file (str): For the error. RAISES (PiiError): E787, with the first problem."""

    def fits(true: Any, problem: str) -> None:
        if not true:
            raise PiiError(Errors.E787, file=file, problem=problem)

    fits(isinstance(experiment, dict), "it is no object")
    for key in ("name", "date", "change", "held_out"):
        fits(isinstance(experiment.get(key), str) and experiment[key].strip(), f"it needs {key}, a text")
    fits(_NAME.fullmatch(experiment["name"]), "name is of small letters, digits, _ and -")
    fits(f"{experiment['name']}.json" == file, "the file has the experiment's name")
    fits(_DATE.fullmatch(experiment["date"]), "date is of the form 2026-11-21")
    fits(
        not any("|" in experiment[key] or "\n" in experiment[key] for key in ("change", "held_out")),
        "texts are on one line, without |",
    )
    data = experiment.get("data")
    fits(
        isinstance(data, dict) and {"file", "sha256", "documents", "documents_with_pii"} <= set(data),
        "data names the file it was scored on",
    )
    for side in SIDES:
        found = experiment.get(side)
        fits(
            isinstance(found, dict) and isinstance(found.get("command"), str) and found["command"], f"{side} needs its command"
        )
        for view in VIEWS:
            scores = found.get("views", {}).get(view, {})
            for matching in MATCHINGS:
                part = scores.get(matching, {})
                fits(isinstance(part.get("support"), int), f"{side} needs support ({view}, {matching})")
                for measure in MEASURES:
                    bounds = part.get(f"{measure}_95")
                    fits(
                        measure not in part or (isinstance(bounds, list) and len(bounds) == 2),
                        f"{side} needs {measure} with its interval ({view}, {matching})",
                    )
            fits(set(_COVERAGE) <= set(scores.get("coverage", {})), f"{side} needs coverage ({view})")


def read_metrics(path: Path) -> dict[str, Any]:
    """RETURNS (dict[str, Any]): A metrics file. RAISES (PiiError): E775, if it is none."""
    try:
        report = json.loads(path.read_text(encoding="utf8"))
    except OSError as err:
        raise PiiError(Errors.E775, file=path.name, reason="it cannot be read") from err
    except ValueError as err:
        raise PiiError(Errors.E775, file=path.name, reason="it is no JSON") from err
    if not isinstance(report, dict):
        raise PiiError(Errors.E775, file=path.name, reason="it is no object")
    return report


def write_experiment(experiment: Mapping[str, Any], folder: Path) -> Path:
    """RETURNS (Path): The file that was written, folder/<name>.json."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{experiment['name']}.json"
    path.write_text(json.dumps(experiment, indent=1, ensure_ascii=False) + "\n", encoding="utf8")
    return path


def read_experiments(folder: Path) -> list[dict[str, Any]]:
    """RETURNS (list[dict[str, Any]]): All of a folder, by date and name. RAISES (PiiError): E775, E787."""
    found = []
    for path in sorted(folder.glob("*.json")):
        experiment = read_metrics(path)
        check(experiment, path.name)
        found.append(experiment)
    return sorted(found, key=lambda experiment: (experiment["date"], experiment["name"]))


HEAD = (
    "experiment",
    "support",
    "P",
    "R",
    "F5 (95 % interval)",
    "F5 by position",
    "gain of F5",
    "PII left in",
    "clean essays touched",
)


def gains(experiments: Sequence[Mapping[str, Any]], view: str) -> list[str]:
    """RETURNS (list[str]): Lines of a table: two rows per experiment. view (str): The set of labels."""
    rows = []
    for experiment in experiments:
        for side in SIDES:
            scores = experiment[side]["views"][view]
            bag, cover = scores["bag"], scores["coverage"]
            name = f"[{experiment['name']}](#{experiment['name']})" if side == "before" else ""
            rows.append(
                [
                    f"{name} {side}".strip(), str(bag["support"]), cell(bag, "precision"), cell(bag, "recall"), cell(bag, "f5", interval=True),
                    cell(scores["position"], "f5"), _gain(experiment, view) if side == "after" else "",
                    f"{cover['incompletely_covered']} of {cover['documents_with_pii']}",
                    f"{cover['clean_touched']} of {cover['clean_documents']}",
                ]
            )  # fmt: skip
    return lines_of(HEAD, rows)


def _gain(experiment: Mapping[str, Any], view: str) -> str:
    """The paired difference with its interval where both systems ran at once, else the plain difference."""
    paired = experiment.get("difference", {}).get(view, {})
    if "f5" in paired:
        low, high = paired["f5_95"]
        return f"{paired['f5']:+.3f} ({low:+.3f} to {high:+.3f})"
    before, after = (experiment[side]["views"][view]["bag"].get("f5") for side in SIDES)
    return "-" if before is None or after is None else f"{after - before:+.3f}"


TITLES = {"four": "NAME_STUDENT, URL, EMAIL, PHONE", "all": "All labels of CRAPII"}
INTRODUCTION = """# Experiments: what gained what

<!-- Written by `pii-edu evaluate experiments`; a test compares. Do not edit: add a file to metrics/experiments/ instead. -->

One change at a time, scored before and after on essays that were not trained on. Exact match by text (bag) unless said otherwise; intervals are
bootstraps over documents, and overlap for nearly every change on so few essays: a gain without a paired interval is a hint, not a proof.

Add one, and write this page anew:

```bash
pii-edu evaluate experiments --add NAME --before OLD.json --after NEW.json --change "what was changed" --held-out "why these essays are new to it"
```"""


def page(experiments: Sequence[Mapping[str, Any]], *, metrics: Path) -> str:
    """docs/experiments.md.

    experiments (Sequence[Mapping[str, Any]]): From `read_experiments`. metrics (Path): Folder with compare_encoders.json, if there is one.
    RETURNS (str): Markdown, with a line break at the end.
    """
    parts = [INTRODUCTION]
    by_data: dict[str, list[Mapping[str, Any]]] = {}
    for experiment in experiments:
        by_data.setdefault(experiment["data"]["sha256"], []).append(experiment)
    for same in by_data.values():
        data = same[0]["data"]
        parts.append(
            f"## On {data['file']}: {data['documents']} documents, {data['documents_with_pii']} with personal information"
        )
        for view in VIEWS:
            parts.append("\n".join([f"{TITLES[view]}:", "", *gains(same, view)]))
        parts += [_details(experiment) for experiment in same]
    encoders = metrics / "compare_encoders.json"
    if encoders.is_file():
        from .encoder_report import encoders_table, epochs_table

        report = read_metrics(encoders)
        parts.append("## Encoders, before and after fine-tuning")
        parts.append("\n".join(f"- {phase}: {told}" for phase, told in report["phases"].items()))
        parts.append(encoders_table(report))
        parts.append(f"Command: `{report['command']}`")
        for name in report["encoders"]:
            parts.append(
                f"### {name}\n\nBy epoch, on dev ({report['data']['dev']['documents']} {report['data']['dev']['unit']}):"
            )
            parts.append(epochs_table(report, name))
    return "\n\n".join(parts) + "\n"


def _details(experiment: Mapping[str, Any]) -> str:
    sides = [
        f"- {side}: {experiment[side]['source']}, {experiment[side]['system']} {experiment[side]['model_version']}".rstrip()
        + f", profile {experiment[side]['profile']}: `{experiment[side]['command']}`"
        for side in SIDES
    ]
    head = [f"### {experiment['name']}", "", f"{experiment['date']}. {experiment['change']}", ""]
    return "\n".join([*head, f"Not trained on: {experiment['held_out']}", "", *sides])
