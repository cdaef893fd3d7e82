"""`pii-edu evaluate …`: every number that anyone sees. Each command has a module of its own and is named here."""

import typer

from .evaluate_score import EPILOG as SCORE_EPILOG
from .evaluate_score import run, score
from .evaluate_tables import EPILOG as TABLES_EPILOG
from .evaluate_tables import tables

evaluate_app = typer.Typer(
    help="Measure detection, and reproduce the published tables.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
evaluate_app.command("run", epilog=SCORE_EPILOG)(run)
evaluate_app.command("score", epilog=SCORE_EPILOG)(score)
evaluate_app.command("tables", epilog=TABLES_EPILOG)(tables)
