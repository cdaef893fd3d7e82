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
        str,
        typer.Option(
            help="Name or path of the pipeline to take it from; takes the place of an earlier encoder.pt."
        ),
    ] = "",
) -> None:
    """Put an encoder where training looks for it: upstream's if it is there, else that of a pipeline [en_pii_edu]."""
    from pii_components.training.encoder import ensure_encoder

    with guard(debug=True):
        ensure_encoder(out, pipeline)


@app.command()
def prune(
    corpus: Annotated[
        list[Path], typer.Option(help="A .spacy file whose words are counted; may be repeated.")
    ],
    reader: Annotated[Path, typer.Option(help="A reader of pii_context; nothing is trained anew.")],
    out: Annotated[Path, typer.Option(help="New file for the smaller one.")],
    pieces: Annotated[int, typer.Option(min=1, help="Pieces to keep.")] = 6500,
) -> None:
    """Cut a role encoder's vocabulary down to the pieces that text like this uses most; words whose pieces are all kept are read as before."""
    import spacy
    from spacy.tokens import DocBin

    from pii_components.context.role_encoder import PersonReader
    from pii_components.training.encoder import prune as choose
    from pii_components.training.onnx_export import prune_graph

    with guard(debug=True):
        vocab = spacy.blank("en").vocab
        docs = (doc for path in corpus for doc in DocBin().from_disk(path).get_docs(vocab))
        whole = PersonReader.from_bytes(reader.read_bytes())
        kept = choose(whole.vocabulary, docs, pieces)
        names = [whole.vocabulary[i] for i in kept]
        out.write_bytes(
            PersonReader(prune_graph(whole.shim.graph, kept), names, whole.head).to_bytes()
        )


@app.command()
def role_encoder(
    corpus: Annotated[
        list[Path],
        typer.Option(help="Folder with train.spacy and dev.spacy; of several, dev of the first."),
    ],
    encoder: Annotated[Path, typer.Option(help="Weights to start from.")] = Path("assets/encoder"),
    source: Annotated[
        Path | None,
        typer.Option(
            help="To go on from: checkpoint.pt of an earlier training, or the `reader` of a package."
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option(help="Folder for the reader, its checkpoint and the training log.")
    ] = Path("training/reader"),
    gpu_id: Annotated[int, typer.Option(help="0 for the first GPU.")] = -1,
    epochs: Annotated[int, typer.Option(help="Passes over the texts.")] = 4,
    learn_rate: Annotated[float, typer.Option(help="Of the encoder, at its height.")] = 3e-4,
    frozen: Annotated[int, typer.Option(help="Lowest layers that are kept as they are.")] = 0,
) -> None:
    """Train the masked-name role encoder of pii_context: roles of people from the text around their names."""
    from pii_components.training.role_encoder import Settings, train_reader

    settings = Settings(epochs, learn_rate, frozen=frozen)
    device = "cpu" if gpu_id < 0 else f"cuda:{gpu_id}"
    with guard(debug=True):
        train_reader(corpus, out, settings, encoder=encoder, source=source, device=device)


@app.command()
def head(
    model: Annotated[
        Path, typer.Option(help="Folder that `spacy train` wrote; its last layer is replaced.")
    ],
    corpus: Annotated[Path, typer.Option(help="The .spacy file that it was trained on.")],
) -> None:
    """Train the last layer of pii_ner alone, in large steps, by which rare labels are learned that fine-tuning hardly moves; minutes."""
    import spacy
    from spacy.tokens import DocBin

    from pii_components.training.head import fit_head

    with guard(debug=True):
        nlp = spacy.load(model)
        docs = list(DocBin().from_disk(corpus).get_docs(nlp.vocab))
        losses = fit_head(nlp, docs)
        nlp.to_disk(model)
        print(json.dumps({"loss": [round(loss, 4) for loss in losses]}))


@app.command()
def package(
    model: Annotated[
        list[str],
        typer.Option(
            help="Folder that `spacy train` wrote (model-best), or an assembled pipeline; of several, the mean."
        ),
    ],
    out: Annotated[
        Path, typer.Option(help="Folder to write; `ship` makes it the one that spacy.load finds.")
    ] = Path("training/en_pii_edu"),
    settings: Annotated[Path, typer.Option(help="Config per component, JSON.")] = Path(
        "configs/pipeline.json"
    ),
    encoder: Annotated[
        str, typer.Option(help="What runs the encoder: onnx-int8, onnx-half, torch.")
    ] = "onnx-int8",
    classifier: Annotated[
        Path | None, typer.Option(help="classifier.npz of `scripts.annotated classifier`.")
    ] = None,
    reader: Annotated[
        list[Path] | None,
        typer.Option(
            help="The reader of `role-encoder`, or of another package; or folders of `role-encoder`, of which the mean."
        ),
    ] = None,
    metrics: Annotated[
        Path | None, typer.Option(help="Metrics file that goes into meta.json, as its performance.")
    ] = None,
) -> None:
    """Add the rules to a trained pipeline and write it beside the one that ships."""
    from pii_components.training.package import ENCODERS
    from pii_components.training.package import package as write

    if encoder not in ENCODERS:
        raise typer.BadParameter(
            f"'{encoder}' is none of {', '.join(ENCODERS)}", param_hint="--encoder"
        )
    with guard(debug=True):
        around = b""
        if reader and reader[0].is_dir():
            from pii_components.training.role_encoder import mean_reader

            around = mean_reader(reader).to_bytes()
        elif reader:
            around = reader[0].read_bytes()
        write(
            model,
            out,
            settings=json.loads(settings.read_text("utf8")) if settings.is_file() else {},
            encoder=encoder,
            classifier=classifier.read_bytes() if classifier else b"",
            reader=around,
            metrics=metrics,
        )


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
    from pii_components.training.package import ship as put

    with guard(debug=True):
        put(packaged, out)


if __name__ == "__main__":
    app()
