"""`pii-edu corpus …`: labelled corpora. Each command has a module of its own and is named here."""

import typer

from .corpus_clean import EPILOG as CLEAN_EPILOG
from .corpus_clean import clean
from .corpus_convert import EPILOG as CONVERT_EPILOG
from .corpus_convert import convert

corpus_app = typer.Typer(
    help="Read, write and make labelled corpora.", no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode=None
)
corpus_app.command("convert", epilog=CONVERT_EPILOG)(convert)
corpus_app.command("clean", epilog=CLEAN_EPILOG)(clean)
