"""`pii-edu evaluate …`: every number that anyone sees."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option

from ..errors import Errors, PiiError, reason_of
from .common import ConfigOpt, console, global_option, guard, say, tell
from .settings import ABOVE_0, MODEL, Settings, key, read_settings

EPILOG = (
    "Settings for --config: profile, form (of GOLD), text_source (of gold with offsets alone), splits, "
    "resamples, seed. "
    "Exit codes: 0 all done; 2 refused, nothing was written; 3 an unexpected error; 130 interrupted."
)

GoldArg = Annotated[
    str,
    Argument(metavar="GOLD", help="Labelled corpus in any form of: pii-edu corpus convert."),
]
MetricsOutOpt = Annotated[str, Option("--out", "-o", help="Metrics file (JSON).")]


@dataclass(frozen=True, kw_only=True)
class ScoreSettings(Settings):
    """How systems are scored.

    profile (str): Says what is hidden; what CRAPII's labels mark is that of `kaggle`.
    form (str): Of GOLD; empty to go by its suffix.
    text_source (str): File or folder with the texts, for gold with offsets alone.
    splits (tuple[str, ...]): Only these parts of the data.
    resamples, seed (int): Of the bootstrap over documents; seed 0 is the usual one.
    """

    profile: str = key("kaggle")
    form: str = key("")
    text_source: str = key("")
    splits: tuple[str, ...] = key(())
    resamples: int = key(1000, limit=ABOVE_0)
    seed: int = key(0)


def run(
    *,
    gold: GoldArg,
    systems: Annotated[
        str,
        Option(
            help="[NAME=]SYSTEM[:PATH] with commas between them; see: pii-edu evaluate systems."
        ),
    ] = MODEL,
    out: MetricsOutOpt = "",
    save: Annotated[
        str,
        Option("--save-predictions", help="Folder for offsets and labels of each system."),
    ] = "",
    config: ConfigOpt = None,
) -> None:
    """Run one or more systems on GOLD and score them: every number of the papers, with 95 % intervals; the first is compared with
    each other one in pairs."""
    with guard():
        job = Job(gold, out, read_settings(ScoreSettings, config))
        done = job.run_systems(systems, save)
        names = ",".join(one.name for one in done)
        job.finish(done, f"evaluate run {job.path.name} --systems {names}")


class Job:
    """Gold and profile of one command, read and checked, and what becomes of its results.

    RAISES (PiiError): E501, E512 for an output that cannot be written, E7xx, E002 for labels that are not ours.
    """

    def __init__(self, gold: str, out: str, settings: ScoreSettings) -> None:
        from ..evaluate import gold as golds
        from ..evaluate.gold import check_labels
        from ..evaluate.report import check_gold, check_place
        from ..files.formats.base import ReadStats
        from ..profiles import Profile

        self.path, self.out, self.settings = Path(gold), out, settings
        if out:
            check_place(Path(out))
        self.profile = Profile.load(settings.profile)
        tally = ReadStats()
        texts = Path(settings.text_source) if settings.text_source else None
        documents = golds.read_gold(self.path, form=settings.form, text_source=texts, tally=tally)
        self.masked = check_gold(tally)
        labels = (entity.label for doc in documents for entity in doc.entities)
        check_labels(labels, what=self.path.name)
        self.documents = golds.choose_splits(documents, settings.splits)
        self.about: dict[str, Any] = {
            "protects": self.profile.protects,
            "data_sha256": golds.file_sha256(self.path),
        }

    def run_systems(self, systems: str, save: str) -> list[Any]:
        """What each system finds. They are loaded one after the other: memory is what runs out first.

        save (str): Folder for their predictions, if any.
        RETURNS (list[Run]): One for each system.
        """
        from ..evaluate.gold import write_run
        from ..evaluate.report import progress_bar
        from ..evaluate.systems import parse_spec, parse_systems, run_spec

        done = []
        for spec in parse_systems(systems) or [parse_spec(systems)]:
            with progress_bar(spec.name, len(self.documents)) as advance:
                done.append(run_spec(spec, self.documents, progress=advance, **self.about))
        if save:
            for one in done:
                place = Path(save) / f"{one.name}.jsonl"
                write_run(one, place, data_sha256=self.about["data_sha256"])
        return done

    def finish(self, runs: Sequence[Any], command: str) -> None:
        """Score, print, write."""
        from ..evaluate import report as reports
        from ..evaluate.metrics import SEED
        from ..evaluate.report import print_score

        settings, digest = self.settings, self.about["data_sha256"]
        report: dict[str, Any] = {
            "command": f"pii-edu {command} --config profile={self.profile.name}",
            "data": reports.describe_data(self.documents, file=self.path.name, sha256=digest),
            "masked": self.masked,
            "profile": self.profile.name,
        }
        report |= reports.score_report(
            runs,
            self.documents,
            profile=self.profile,
            resamples=settings.resamples,
            seed=settings.seed or SEED,
        )
        if not global_option("quiet"):
            print_score(report, to=console())
        if n := self.masked["count"]:
            tell(f"{n} gold labels cannot be used; the places where they stand are passed over")
        if self.out:
            reports.write_report(report, Path(self.out))
            say(f"wrote '{self.out}'")


def systems() -> None:
    """List what --systems takes."""
    from ..evaluate.systems import known_systems

    print("\n".join(known_systems()))


def read_metrics(path: Path) -> dict[str, Any]:
    """RETURNS (dict[str, Any]): A metrics file. RAISES (PiiError): E501, if it cannot be read; E900, if it holds something else."""
    try:
        content = json.loads(path.read_text(encoding="utf8"))
        if not {"systems", "views"} <= content.keys():
            raise ValueError
    except OSError as err:
        raise PiiError(Errors.E501, what=f"'{path}'", reason=reason_of(err)) from err
    except (ValueError, AttributeError) as err:
        reason = "no systems in it"
        raise PiiError(Errors.E900, file=path.name, kind="metrics file", reason=reason) from err
    return dict(content)


def table(
    *,
    files: Annotated[
        list[Path], Argument(metavar="FILE...", help="Metrics files that evaluate wrote.")
    ],
) -> None:
    """Print metrics files as a Markdown table."""
    with guard():
        from ..evaluate.report import markdown_table

        print(markdown_table([read_metrics(file) for file in files]))


evaluate_app = typer.Typer(
    help="Measure detection, and reproduce the published tables.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
evaluate_app.command("run", epilog=EPILOG)(run)
evaluate_app.command("systems")(systems)
evaluate_app.command("table")(table)
