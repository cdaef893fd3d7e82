"""`pii-edu evaluate …`: every number that anyone sees. Each command has a module of its own and is named here."""

import typer

from .evaluate_crossval import EPILOG as CROSSVAL_EPILOG
from .evaluate_crossval import crossval
from .evaluate_encoders import EPILOG as ENCODERS_EPILOG
from .evaluate_encoders import encoders
from .evaluate_fairness import EPILOG as FAIRNESS_EPILOG
from .evaluate_fairness import fairness
from .evaluate_links import EPILOG as LINKS_EPILOG
from .evaluate_links import links
from .evaluate_presidio import EPILOG as PRESIDIO_EPILOG
from .evaluate_presidio import presidio
from .evaluate_release import release
from .evaluate_report import report
from .evaluate_robustness import EPILOG as ROBUSTNESS_EPILOG
from .evaluate_robustness import robustness
from .evaluate_score import EPILOG as SCORE_EPILOG
from .evaluate_score import run, score
from .evaluate_speed import EPILOG as SPEED_EPILOG
from .evaluate_speed import speed
from .evaluate_tables import EPILOG as TABLES_EPILOG
from .evaluate_tables import tables
from .evaluate_windows import EPILOG as WINDOWS_EPILOG
from .evaluate_windows import windows

evaluate_app = typer.Typer(
    help="Measure detection, and reproduce the published tables.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
evaluate_app.command("run", epilog=SCORE_EPILOG)(run)
evaluate_app.command("score", epilog=SCORE_EPILOG)(score)
evaluate_app.command("tables", epilog=TABLES_EPILOG)(tables)
evaluate_app.command("robustness", epilog=ROBUSTNESS_EPILOG)(robustness)
evaluate_app.command("speed", epilog=SPEED_EPILOG)(speed)
evaluate_app.command("encoders", epilog=ENCODERS_EPILOG)(encoders)
evaluate_app.command("fairness", epilog=FAIRNESS_EPILOG)(fairness)
evaluate_app.command("crossval", epilog=CROSSVAL_EPILOG)(crossval)
evaluate_app.command("presidio", epilog=PRESIDIO_EPILOG)(presidio)
evaluate_app.command("windows", epilog=WINDOWS_EPILOG)(windows)
evaluate_app.command("release")(release)
evaluate_app.command("links", epilog=LINKS_EPILOG)(links)
evaluate_app.command("report")(report)
