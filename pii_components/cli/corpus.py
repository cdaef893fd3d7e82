"""`pii-edu corpus …`: labelled corpora. Each command has a module of its own and is named here."""

import typer

from .corpus_build import ASSETS_EPILOG, BUILD_EPILOG, CHECK_EPILOG, assets, build, check
from .corpus_chats import EPILOG as CHATS_EPILOG
from .corpus_chats import chats
from .corpus_clean import EPILOG as CLEAN_EPILOG
from .corpus_clean import clean
from .corpus_convert import EPILOG as CONVERT_EPILOG
from .corpus_convert import convert
from .corpus_split import EPILOG as SPLIT_EPILOG
from .corpus_split import split

corpus_app = typer.Typer(
    help="Read, write and make labelled corpora.", no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode=None
)
corpus_app.command("convert", epilog=CONVERT_EPILOG)(convert)
corpus_app.command("clean", epilog=CLEAN_EPILOG)(clean)
corpus_app.command("build", epilog=BUILD_EPILOG)(build)
corpus_app.command("check", epilog=CHECK_EPILOG)(check)
corpus_app.command("assets", epilog=ASSETS_EPILOG)(assets)
corpus_app.command("split", epilog=SPLIT_EPILOG)(split)
corpus_app.command("chats", epilog=CHATS_EPILOG)(chats)
