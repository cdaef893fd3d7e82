"""`pii-edu evaluate …`: every number that anyone sees. Each command has a module of its own and is named here."""

import typer

evaluate_app = typer.Typer(
    help="Measure detection, and reproduce the published tables.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
