"""A steward's day: the way from the texts of a class to a release, step by step, each one left and taken up again.

    day = Day(Path("private"))                  # what it had come to, if it was begun
    day.choose({"input": "course.zip", "roster": "class.csv", "profile": "ferpa_strict"})
    day.command(REHEARSE)                       # arguments of `pii-edu`, which does the step

    choose -> rehearse -> run -> review -> again, as decided -> estimate

FOLDER is private: release.toml (the choices, and nothing else), day.json (how each step ended), secret.key, map.csv, texts.vault, review/,
report.json, report.html. What may be given away lies elsewhere (`out`). Steps are other processes, so that a kill, of them or of whoever
shows them, loses nothing: `run` and `again` go on where they were.
"""

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from threading import Thread
from typing import Any

from ..errors import Errors, PiiError
from ..files.sources import suffix_of_output
from ..files.writers import replace_file
from ..labels import POINTS
from ..options import Settings, checked, key, read_toml
from ..profiles import HEADERS, Profile
from .review import VERDICTS, Decisions, decisions_path
from .run import load_state, state_path

REHEARSE, RUN, REVIEW, AGAIN, ESTIMATE = STEPS = (
    "rehearse",
    "run",
    "review",
    "again",
    "estimate",
)
# How a step stands. stale: it was done with other choices, or before what the review says now.
TODO, RUNNING, DONE, FAILED, STOPPED, STALE = (
    "todo",
    "running",
    "done",
    "failed",
    "stopped",
    "stale",
)
CHOICES, RECORD = "release.toml", "day.json"
_DRAW = "No random sample is drawn: draw one in the review first, and review all of it. Documents shown by risk are no estimate."
_LINES = 400  # of what a step says, at most
# What lies in the private folder.
_HELD = {
    "key": "secret.key",
    "vault": "texts.vault",
    "map": "map.csv",
    "headers": "headers.csv",
    "review": "review",
    "report": "report.json",
}


@dataclass(frozen=True, kw_only=True)
class Choices(Settings):
    """What a person chooses.

    input (str): The texts: a table, a folder, a .zip or a document. roster (str): The class list (CSV); empty for none.
    out (str): Where the release is written; empty for a place in `release/` beside the private folder.
    profile (str): A name, or a TOML file. operating_point (str): "recall" hides more, "precision" less; empty: as the pipeline has it.
    run_file (str): Further settings, as `pii-edu init` writes them; empty for none."""

    input: str = key("")
    roster: str = key("")
    out: str = key("")
    profile: str = key("ferpa_strict")
    operating_point: str = key("recall", allowed=("", *POINTS))
    run_file: str = key("")

    @classmethod
    def read(cls, path: Path) -> "Choices":
        """RETURNS (Choices): Those of a file; the defaults, if there is none. RAISES (PiiError): E501, E519, E546, E650."""
        return cls(**checked(cls, read_toml(path), f"'{path}'")) if path.exists() else cls()


@dataclass(slots=True)
class Day:
    """The steps of one release. folder (Path): The private folder. choices (Choices): Of its file. record (dict): Step -> how it ended.
    RAISES (PiiError): E501, E519, E546, E650."""

    folder: Path
    choices: Choices = field(init=False)
    record: dict[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        self.choices = Choices.read(self.folder / CHOICES)
        self.record = {}
        with suppress(OSError, ValueError):
            self.record = json.loads((self.folder / RECORD).read_bytes())

    def choose(self, given: Mapping[str, Any]) -> None:
        """Take choices, and keep them. RAISES (PiiError): E501 for a place that is not there; E519, E546, E650; E512; what a profile raises."""
        made = replace(self.choices, **checked(Choices, given, CHOICES))
        for what, place in (
            ("input", made.input),
            ("roster", made.roster),
            ("run_file", made.run_file),
        ):
            if (place or what == "input") and not Path(place or " ").exists():
                raise PiiError(Errors.E501, what=f"{what} '{place}'", reason="it is not there")
        Profile.load(made.profile)
        # Other texts are another release, unless they were given a place of their own.
        moved = made.input != self.choices.input and made.out == self.choices.out
        if moved or not made.out:
            made = replace(made, out=str(self._out_for(Path(made.input))))
        self.folder.mkdir(parents=True, exist_ok=True)
        lines = [
            f"{name} = {json.dumps(value, ensure_ascii=False)}"
            for name, value in asdict(made).items()
        ]
        head = f"# Choices of a release: pii-edu release {self.folder}\n"
        replace_file(self.folder / CHOICES, head + "\n".join(lines) + "\n")
        self.choices = made

    def _out_for(self, source: Path) -> Path:
        """In `release/`, beside the private folder, in the form of INPUT; not what another release is called."""
        stem = source.resolve().stem if source.is_file() else source.resolve().name
        suffix = "" if source.is_dir() else suffix_of_output(source)
        places = self.folder.resolve().parent / "release"
        names = (f"{stem}{n}{suffix}" for n in ("", *(f"-{i}" for i in range(2, 1000))))
        return next(place for name in names if not (place := places / name).exists())

    def place(self, name: str) -> Path:
        """RETURNS (Path): Where something private lies, one of `_HELD`."""
        return self.folder / _HELD[name]

    @property
    def out(self) -> Path:
        return Path(self.choices.out)

    @property
    def chosen(self) -> str:
        """RETURNS (str): Tells choices apart; a step that was done with other ones is stale."""
        return hashlib.sha256(json.dumps(asdict(self.choices)).encode()).hexdigest()[:16]

    def command(self, step: str) -> list[str]:
        """RETURNS (list[str]): Arguments of `pii-edu`; for the estimate, with the sample that was drawn in the review."""
        report = str(self.place("report"))
        if step == ESTIMATE:
            made = ["audit", report, "--review", str(self.place("review"))]
            if drawn := self._said().sample:
                made += ["--sample", str(drawn["size"]), "--seed", str(drawn["seed"])]
            return made
        chosen = self.choices
        settings = {"sweep": "hide", "report": report}
        if chosen.operating_point:
            settings["operating_point"] = chosen.operating_point
        if Profile.load(chosen.profile).header != HEADERS[0]:
            settings["headers_out"] = str(self.place("headers"))
        made = ["deidentify", chosen.input, "--out", chosen.out, "--profile", chosen.profile]
        made += ["--key-file", str(self.place("key"))]
        made += ["--roster", chosen.roster] if chosen.roster else []
        made += ["--config", chosen.run_file] if chosen.run_file else []
        for name, value in settings.items():
            made += ["--config", f"{name}={value}"]
        if step == REHEARSE:
            return [*made, "--dry-run"]
        for option, name in (("--vault", "vault"), ("--id-map", "map"), ("--review-dir", "review")):
            made += [option, str(self.place(name))]
        if step == AGAIN:
            made += ["--decisions", str(self.place("review"))]
        begun = self.record.get("begun", [step, self.chosen]) == [step, self.chosen]
        if begun and state_path(self.out).exists():
            return [*made, "--resume"]
        exists = self.out.exists() or state_path(self.out).exists()
        return [*made, "--overwrite"] if exists else made

    def begin(self, step: str) -> list[str]:
        """Note that a step begins: it alone goes on where it stopped, with the same choices. RETURNS (list[str]): `command`. RAISES (PiiError): E512."""
        made = self.command(step)
        if step in (RUN, AGAIN):
            self.record["begun"] = [step, self.chosen]
            replace_file(self.folder / RECORD, json.dumps(self.record))
        return made

    def ended(self, step: str, code: int, lines: Iterable[str]) -> None:
        """Keep how a step ended. RAISES (PiiError): E512."""
        kept = [*lines][-_LINES:]
        about = {"chosen": self.chosen, "said": self._basis(step)}
        self.record[step] = {"code": code, "lines": kept, **about}
        for later in {RUN: (AGAIN, ESTIMATE), AGAIN: (ESTIMATE,)}.get(step, ()):
            self.record.pop(later, None)
        replace_file(self.folder / RECORD, json.dumps(self.record))

    @property
    def decisions(self) -> int:
        """RETURNS (int): Decisions of the review that hold."""
        said = self._said()
        rows = (row for n, row in said.actions.items() if n not in said.undone)
        return sum(row["do"] in VERDICTS for row in rows)

    def _basis(self, step: str) -> list[Any]:
        """What a step is made of beside the choices: what the review says."""
        said = self._said()
        marked = sum(map(said.is_reviewed, said.history))
        known: dict[str, list[Any]] = {AGAIN: [self.decisions]}
        return (known | {ESTIMATE: [self.decisions, marked, said.sample]}).get(step, [])

    @property
    def advice(self) -> str:
        """RETURNS (str): What an estimate lacks; empty, if a sample was drawn, or all documents are reviewed."""
        said, rows = self._said(), self._run.read_bytes().count(b"\n") if self._run.exists() else 0
        lacks = not said.sample and sum(map(said.is_reviewed, said.history)) < rows - 1
        return _DRAW if lacks else ""

    @property
    def _run(self) -> Path:
        return self.place("review") / "review.jsonl"

    def _said(self) -> Decisions:
        return Decisions.load(decisions_path(self._run), new=True)

    def state(self, step: str) -> str:
        """RETURNS (str): How a step stands, but for one that runs now."""
        if step == REVIEW:
            said = (
                self._said()
                if self.record.get(RUN, {}).get("code") in (0, 1)
                else Decisions(Path())
            )
            return DONE if any(map(said.is_reviewed, said.history)) else TODO
        kept = self.record.get(step)
        if kept is None:
            return TODO
        if kept["code"] not in (0, 1):
            is_left = step in (RUN, AGAIN) and state_path(self.out).exists()
            return STOPPED if is_left else FAILED
        then = kept["chosen"], kept.get("said", [])
        return DONE if then == (self.chosen, self._basis(step)) else STALE

    def following(self) -> str:
        """RETURNS (str): The step that comes next; empty when all is done."""
        asked = (step for step in STEPS if step != AGAIN or self.decisions)
        return next((step for step in asked if self.state(step) != DONE), "")

    def progress(self) -> float:
        """RETURNS (float): The share of INPUT that a run which has not ended has read."""
        with suppress(PiiError):
            return load_state(state_path(self.out)).read
        return 0.0


class Child(Thread):
    """A step that runs, as another process; the thread reads what it says. lines (list[str]): What it has said so far. since (float): Clock when it began."""

    def __init__(self, day: Day, step: str, arguments: list[str]) -> None:
        super().__init__(daemon=True)
        self.day, self.step, self.since, self.first = day, step, time.monotonic(), day.progress()
        self.lines: list[str] = []
        environment = os.environ | {"PYTHONIOENCODING": "utf8", "COLUMNS": "140"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "pii_components.cli", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf8",
            errors="replace",
            env=environment,
        )

    def run(self) -> None:
        """Read what it says until it ends, and keep how it did. RAISES (PiiError): E512."""
        with self.process as process:
            for line in process.stdout or ():
                self.lines.append(line.rstrip())
        self.day.ended(self.step, process.returncode, self.lines)

    def stop(self) -> None:
        """Ask it to stop; what is done stays."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)

    def left(self) -> float | None:
        """RETURNS (float | None): Seconds until all of INPUT is read, by the pace so far."""
        read = self.day.progress()
        done, spent = read - self.first, time.monotonic() - self.since
        return spent / done * (1 - read) if done > 0 else None
