"""The encoder that training starts from: `python -m pii_components.training.encoder --out assets/encoder`.

Where MiniLM-L6-v2 lies in the folder already (model.safetensors and vocab.txt, as upstream publishes them), nothing is done. Where not,
the encoder of the installed en_pii_edu is written there: training then goes on from a model that knows names, and needs no network. With
`--pipeline` that one's encoder takes the place of an earlier one (encoder.pt): the reader of `pii_context` goes on from that of the trained
detector. Upstream's weights are never removed.
"""

import argparse
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import spacy

from ..errors import Errors, PiiError

logger = logging.getLogger(__name__)

WEIGHTS = ("model.safetensors", "encoder.pt")


def find_weights(folder: Path) -> Path | None:
    """RETURNS (Path | None): The file with weights in a folder, upstream's before ours."""
    return next((folder / name for name in WEIGHTS if (folder / name).is_file()), None)


def make_encoder_loader(*, path: str | Path) -> Callable[[Any, Any, Any], Any]:
    """`pii_edu.EncoderLoader.v1`: load an encoder's weights when a pipeline is initialized.

    path (str | Path): A folder with `model.safetensors` (upstream's names of the weights) or `encoder.pt` (of another pipeline).
    RETURNS (Callable): A model loader as `[initialize.components.transformer.encoder_loader]` takes it.
    RAISES (PiiError): E106, if the folder holds neither.
    """

    def load(model: Any, X: Any = None, Y: Any = None) -> Any:
        import torch
        from spacy_curated_transformers.models import build_pytorch_checkpoint_loader_v1

        weights = find_weights(Path(path))
        if weights is None:
            raise PiiError(Errors.E106, path=str(path), names=" or ".join(WEIGHTS))
        if weights.suffix == ".pt":
            state = torch.load(weights, map_location="cpu", weights_only=True)
            model.shims[0]._model.load_state_dict({k: v.float() if v.is_floating_point() else v for k, v in state.items()})
            return model
        return build_pytorch_checkpoint_loader_v1(path=weights)(model, X, Y)

    return load


def make_sentencepiece_loader(*, path: str | Path) -> Callable[[Any, Any, Any], Any]:
    """`pii_edu.SentencepieceLoader.v1`: load the pieces of an XLM-R-like encoder when a pipeline is initialized.

    spacy-curated-transformers' own loader (0.3.1) hands the pieces to the chain of encoder and adapter, where nobody looks for them.

    path (str | Path): `sentencepiece.bpe.model`.
    RETURNS (Callable): A model loader as `[initialize.components.transformer.piecer_loader]` takes it.
    RAISES (PiiError): E106, if there is no such file.
    """

    def load(model: Any, X: Any = None, Y: Any = None) -> Any:
        from curated_tokenizers import SentencePieceProcessor

        if not Path(path).is_file():
            raise PiiError(Errors.E106, path=str(Path(path).parent), names=Path(path).name)
        model.get_ref("encoder").attrs["sentencepiece_processor"] = SentencePieceProcessor.from_file(str(path))
        return model

    return load


def extract(nlp: Any, out: Path) -> Path:
    """Write the encoder of a pipeline to a folder.

    nlp (Language): A pipeline with a curated transformer, or with the ONNX encoder that was made from one. out (Path): The folder.
    RETURNS (Path): The file with the weights, in half precision; vocab.txt lies beside it.
    """
    import torch

    from ..ner.onnx import OnnxShim

    out.mkdir(parents=True, exist_ok=True)
    model = nlp.get_pipe("transformer").model
    shim = model.get_ref("transformer").shims[0]
    if isinstance(shim, OnnxShim):
        from .onnx_export import encoder_state

        state = {name: torch.from_numpy(value) for name, value in encoder_state(shim.graph).items()}
    else:
        state = shim._model.state_dict()
    torch.save({k: v.half() if v.is_floating_point() else v for k, v in state.items()}, out / "encoder.pt")
    pieces = model.get_ref("piece_encoder").attrs["wordpiece_processor"].to_list()
    (out / "vocab.txt").write_text("\n".join(pieces), "utf8")
    return out / "encoder.pt"


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description="Put an encoder where training looks for it.")
    parser.add_argument("--out", type=Path, default=Path("assets/encoder"))
    parser.add_argument(
        "--pipeline", help="name or path of the pipeline to take it from; takes the place of an earlier encoder.pt"
    )
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    if not args.pipeline and find_weights(args.out) and (args.out / "vocab.txt").is_file():
        logger.info("%s: there already", find_weights(args.out))
        return
    if (args.out / WEIGHTS[0]).is_file():  # it would be read before ours
        parser.error(str(PiiError(Errors.E541, path=args.out / WEIGHTS[0])))
    pipeline = args.pipeline or "en_pii_edu"
    logger.info("%s: from %s", extract(spacy.load(pipeline), args.out), pipeline)


if __name__ == "__main__":
    main()
