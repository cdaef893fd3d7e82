"""Training and packaging: `python -m scripts.train SUBCOMMAND`, run by weasel (project.yml)."""

import json
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
def encoder(
    out: Annotated[Path, typer.Option(help="Folder for the weights.")] = Path("assets/encoder"),
    pipeline: Annotated[
        str, typer.Option(help="Name or path of the pipeline to take it from; takes the place of an earlier encoder.pt.")
    ] = "",
) -> None:
    """Put an encoder where training looks for it: upstream's if it is there, else that of a pipeline [en_pii_edu]."""
    from pii_components.training.encoder import ensure_encoder

    with guard(debug=True):
        ensure_encoder(out, pipeline)


@app.command()
def package(
    model: Annotated[str, typer.Option(help="Folder that `spacy train` wrote (model-best), or an assembled pipeline.")],
    out: Annotated[Path, typer.Option(help="Folder to write; `ship` makes it the one that spacy.load finds.")] = Path(
        "training/en_pii_edu"
    ),
    settings: Annotated[Path, typer.Option(help="Config per component, JSON.")] = Path("configs/pipeline.json"),
    encoder: Annotated[str, typer.Option(help="What runs the encoder: onnx-int8, onnx-half, torch.")] = "onnx-int8",
    classifier: Annotated[Path | None, typer.Option(help="classifier.npz of `scripts.annotated classifier`.")] = None,
    metrics: Annotated[Path | None, typer.Option(help="Metrics file that goes into meta.json, as its performance.")] = None,
) -> None:
    """Add the rules to a trained pipeline and write it beside the one that ships."""
    from pii_components.training.package import ENCODERS
    from pii_components.training.package import package as write

    if encoder not in ENCODERS:
        raise typer.BadParameter(f"'{encoder}' is none of {', '.join(ENCODERS)}", param_hint="--encoder")
    with guard(debug=True):
        write(
            model,
            out,
            settings=json.loads(settings.read_text("utf8")) if settings.is_file() else {},
            encoder=encoder,
            classifier=classifier.read_bytes() if classifier else b"",
            metrics=metrics,
        )


@app.command()
def ship(
    packaged: Annotated[Path, typer.Option(help="Folder that `package` wrote.")] = Path("training/en_pii_edu"),
    out: Annotated[Path, typer.Option(help="Folder of the import package; the pipeline in it is replaced.")] = Path(
        "en_pii_edu"
    ),
) -> None:
    """Put a packaged pipeline in the place of the one that ships."""
    from pii_components.training.package import ship as put

    with guard(debug=True):
        put(packaged, out)


@app.command()
def sample(
    assets: Annotated[Path, typer.Option(help="Folder with essays/.")] = Path("assets"),
    out: Annotated[Path, typer.Option(help="Folder for essays.csv and gold.jsonl.")] = Path("assets/samples"),
    number: Annotated[int, typer.Option(help="Essays.")] = 20,
) -> None:
    """Write a CSV of filled essays and what is planted in them."""
    from pii_components.corpus.build import write_sample

    with guard(debug=True):
        write_sample(assets, out, number=number)


if __name__ == "__main__":
    app()
