"""Training and packaging: `python -m scripts.train SUBCOMMAND`, run by weasel (project.yml)."""

import logging
from pathlib import Path
from typing import Annotated

import typer

from pii_components.cli.common import guard

app = typer.Typer(add_completion=False, no_args_is_help=True, rich_markup_mode="rich", help=__doc__)


@app.callback()
def _log() -> None:
    logging.basicConfig(level=logging.INFO, format="%(message)s")


@app.command()
def package(
    weights: Annotated[
        list[Path] | None,
        typer.Option(
            help="The encoder that training started from, then what scripts.two_heads wrote; of several the mean."
        ),
    ] = None,
    model: Annotated[
        str, typer.Option(help="Instead of weights: folder that `spacy train` wrote.")
    ] = "",
    classifier: Annotated[
        Path | None, typer.Option(help="classifier.npz of `scripts.annotated classifier`.")
    ] = None,
    out: Annotated[
        Path, typer.Option(help="Folder to write; `ship` makes it the one that spacy.load finds.")
    ] = Path("training/en_pii_edu"),
    metrics: Annotated[
        Path | None, typer.Option(help="Metrics file that goes into meta.json, as its performance.")
    ] = None,
) -> None:
    """Write a whole pipeline, rules and all, beside the one that ships."""
    from scripts import shipped

    with guard(debug=True):
        if model:
            shipped.package(shipped.assemble(model), out, metrics=metrics)
            return
        read = shipped.read_weights(*(weights or ()))
        chosen = classifier.read_bytes() if classifier else b""
        config = Path("configs/two_heads.cfg")
        nlp = shipped.make_pipeline(read, shipped.shipped_vocabulary(), config, classifier=chosen)
        shipped.package(nlp, out, metrics=metrics)


@app.command()
def ship(
    packaged: Annotated[Path, typer.Option(help="Folder that `package` wrote.")] = Path(
        "training/en_pii_edu"
    ),
    out: Annotated[
        Path, typer.Option(help="Folder of the import package; the pipeline in it is replaced.")
    ] = Path("en_pii_edu"),
) -> None:
    """Put a packaged pipeline in the place of the one that ships."""
    from scripts.shipped import ship as put

    with guard(debug=True):
        put(packaged, out)


if __name__ == "__main__":
    app()
