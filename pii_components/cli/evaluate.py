"""`pii-edu evaluate …`: every number that anyone sees."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option

from ..errors import Errors, PiiError, reason_of
from ..options import ABOVE_0, Settings, key, need, read_settings
from ..release.engine import load_code
from .common import ConfigOpt, console, global_option, guard, progress, say, tell
from .settings import MODEL

# Spans of a label below which a difference says little.
ENOUGH = 20
# Spans more or less that may be chance.
SOME = 5

EPILOG = (
    "Settings for --config: profile, form (of GOLD), text_source (of gold with offsets alone), splits, "
    "labels (that annotators looked for: others that are found are passed over), resamples, seed, gate (true: refuse, with E706, "
    "a first system that is worse than another: the interval of a difference of F5, of a label or of all, is below 0), "
    "code (a Python file that the systems need). "
    "Exit codes: 0 all done; 2 refused; 3 an unexpected error; 130 interrupted."
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
    labels (tuple[str, ...]): Those that annotators looked for; all if empty.
    gate (bool): Whether the first system is refused if it is worse than another.
    code (str): A Python file that the systems need.
    resamples, seed (int): Of the bootstrap over documents; seed 0 is the usual one.
    """

    profile: str = key("kaggle")
    form: str = key("")
    text_source: str = key("")
    splits: tuple[str, ...] = key(())
    labels: tuple[str, ...] = key(())
    gate: bool = key(False)
    code: str = key("")
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
        from ..evaluate import gold as golds
        from ..evaluate import report as reports
        from ..evaluate.metrics import SEED
        from ..files.formats.base import ReadStats
        from ..profiles import Profile

        settings, path = read_settings(ScoreSettings, config), Path(gold)
        if out:
            reports.check_place(Path(out))
        profile, tally = Profile.load(settings.profile), ReadStats()
        load_code(settings.code)
        texts = Path(settings.text_source) if settings.text_source else None
        documents = golds.read_gold(path, form=settings.form, text_source=texts, tally=tally)
        labels = (entity.label for doc in documents for entity in doc.entities)
        golds.check_labels((*labels, *settings.labels), what=path.name)
        documents = golds.choose_splits(documents, settings.splits)
        digest = golds.file_sha256(path)
        runs = _run_systems(systems, documents, profile.protects, digest, save)
        masked, names = tally.masked_in_short(), ",".join(one.name for one in runs)
        report: dict[str, Any] = {
            "command": f"pii-edu evaluate run {path.name} --systems {names} --config profile={profile.name}",
            "data": reports.describe_data(documents, file=path.name, sha256=digest),
            "masked": masked,
            "profile": profile.name,
        }
        how: dict[str, Any] = {"resamples": settings.resamples, "seed": settings.seed or SEED}
        how["labels"] = settings.labels
        report |= reports.score_report(runs, documents, profile=profile, **how)
        if not global_option("quiet"):
            reports.print_score(report, to=console())
        if masked["count"]:
            tell(
                f"{masked['count']} gold labels cannot be used; the places where they stand are passed over"
            )
        if out:
            reports.write_report(report, Path(out))
            say(f"wrote '{out}'")
        if settings.gate:
            _say_changed(runs, settings.labels)
            _refuse_worse(report)


def _say_changed(runs: Sequence[Any], labels: Sequence[str]) -> None:
    """Say which labels that nobody looked for the first system finds much more or less often than another: no score shows that."""
    first, *others = [Counter(entity.label for entity in run.entities) for run in runs]
    for run, found in zip(runs[1:], others, strict=True):
        for label in sorted({*first, *found}.difference(labels)) if labels else ():
            if abs(first[label] - found[label]) > max(SOME, found[label] / 2):
                counts = f"{first[label]} times, and {found[label]} times by {run.name}"
                say(f"to review: {label}, for which nobody looked, is found {counts}")


def _refuse_worse(report: dict[str, Any]) -> None:
    """Say what is too little to decide on. RAISES (PiiError): E473 for one system alone; E706, if the first is worse than another."""
    from ..evaluate.report import worse

    first, *others = report["systems"]
    need(True, "gate", others, "two systems or more")
    per_label = report["systems"][first]["views"]["all"]["per_label"]
    few = [label for label, found in per_label.items() if found["bag"]["support"] < ENOUGH]
    if few:
        say(
            f"to review: fewer than {ENOUGH} spans of {', '.join(few)} to score on, so little is known of them"
        )
    for other, where in worse(report).items():
        raise PiiError(Errors.E706, system=first, other=other, where=", ".join(where))


def _run_systems(
    systems: str, documents: Sequence[Any], protects: Any, digest: str, save: str
) -> list[Any]:
    """What each system finds. They are loaded one after the other: memory is what runs out first.

    save (str): Folder for their predictions, if any.
    RETURNS (list[Run]): One for each system.
    """
    from ..evaluate.gold import write_run
    from ..evaluate.systems import parse_spec, parse_systems, run_spec

    about: dict[str, Any] = {"protects": protects, "data_sha256": digest}
    done = []
    for spec in parse_systems(systems) or [parse_spec(systems)]:
        with progress() as bar:
            about["progress"] = partial(bar.advance, bar.add_task(spec.name, total=len(documents)))
            done.append(run_spec(spec, documents, **about))
    for one in done if save else ():
        write_run(one, Path(save) / f"{one.name}.jsonl", data_sha256=digest)
    return done


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
        list[Path], Argument(metavar="FILE...", help="Metrics files that evaluate run wrote.")
    ],
) -> None:
    """Print metrics files again, as evaluate run printed them."""
    with guard():
        from ..evaluate.report import print_score

        for report in [read_metrics(file) for file in files]:
            print_score(report, to=console())


evaluate_app = typer.Typer(
    help="Measure detection, and reproduce the published tables.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
evaluate_app.command("run", epilog=EPILOG)(run)
evaluate_app.command("systems")(systems)
evaluate_app.command("table")(table)
