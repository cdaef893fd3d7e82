"""The encoder that training starts from: upstream's MiniLM-L6-v2 (model.safetensors, vocab.txt) or one taken out of a pipeline (encoder.pt).

    ensure_encoder(Path("assets/encoder"))

Training from a pipeline's encoder goes on from a model that knows names, and needs no network. Upstream's weights are never removed.
"""

import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import spacy

from ..errors import Errors, PiiError
from ..ner.onnx import OnnxShim
from .onnx_export import CASES, ENCODER, PLACES, encoder_shim, encoder_state

logger = logging.getLogger(__name__)

WEIGHTS = ("model.safetensors", "encoder.pt")


def find_weights(folder: Path) -> Path | None:
    """RETURNS (Path | None): The file with weights in a folder, upstream's before ours."""
    return next((folder / name for name in WEIGHTS if (folder / name).is_file()), None)


def need_weights(folder: Path) -> Path:
    """RETURNS (Path): As `find_weights`. RAISES (PiiError): E604, if the folder holds none."""
    if weights := find_weights(folder):
        return weights
    raise PiiError(Errors.E604, path=str(folder), what=" or ".join(WEIGHTS), task="get-encoder")


def read_torch(weights: Path) -> dict[str, Any]:
    """RETURNS (dict[str, Tensor]): What is in a file of weights, 32 bits each."""
    import torch

    state = torch.load(weights, map_location="cpu", weights_only=True)
    return {
        name: value.float() if value.is_floating_point() else value for name, value in state.items()
    }


def make_encoder_loader(*, path: str | Path) -> Callable[[Any, Any, Any], Any]:
    """`pii_edu.EncoderLoader.v1`: loads an encoder's weights when a pipeline is initialized.

    path (str | Path): A folder with `model.safetensors` (upstream's names of the weights) or `encoder.pt` (of another pipeline); layers that the
        pipeline's encoder does not have are left out.
    RETURNS (Callable): For `[initialize.components.transformer.encoder_loader]`; RAISES (PiiError): E604, if the folder holds neither.
    """

    def load(model: Any, X: Any = None, Y: Any = None) -> Any:
        from curated_transformers.models.hf_util import convert_pretrained_model_for_encoder

        weights, encoder = need_weights(Path(path)), model.shims[0]._model
        state = read_torch(weights)
        if weights.suffix != ".pt":
            state = convert_pretrained_model_for_encoder(encoder, state)
        known = encoder.state_dict()
        encoder.load_state_dict({name: value for name, value in state.items() if name in known})
        return model

    return load


def make_sentencepiece_loader(*, path: str | Path) -> Callable[[Any, Any, Any], Any]:
    """`pii_edu.SentencepieceLoader.v1`: loads the pieces (sentencepiece.bpe.model) of an XLM-R-like encoder when a pipeline is initialized.

    spacy-curated-transformers' own loader (0.3.1) hands the pieces to the chain of encoder and adapter, where nobody looks for them.
    RETURNS (Callable): For `[initialize.components.transformer.piecer_loader]`; RAISES (PiiError): E604, if there is no such file.
    """

    def load(model: Any, X: Any = None, Y: Any = None) -> Any:
        from curated_tokenizers import SentencePieceProcessor

        if not Path(path).is_file():
            raise PiiError(
                Errors.E604, path=str(Path(path).parent), what=Path(path).name, task="get-encoder"
            )
        model.get_ref("encoder").attrs["sentencepiece_processor"] = (
            SentencePieceProcessor.from_file(str(path))
        )
        return model

    return load


def extract(nlp: Any, out: Path) -> Path:
    """Write the encoder of a pipeline to a folder, in half precision, and vocab.txt beside it.

    nlp (Language): A pipeline with a curated transformer, or with the ONNX encoder that was made from one.
    RETURNS (Path): The file with the weights.
    """
    import torch

    out.mkdir(parents=True, exist_ok=True)
    model = nlp.get_pipe(ENCODER).model
    shim = encoder_shim(model)
    if isinstance(shim, OnnxShim):
        arrays = encoder_state(shim.graph)
        if CASES in arrays:  # a curated transformer has none: all words are as in small letters
            arrays[PLACES] = arrays[PLACES] + arrays.pop(CASES)[0]
        state = {name: torch.from_numpy(value) for name, value in arrays.items()}
    else:
        state = shim._model.state_dict()
    torch.save(half(state), out / "encoder.pt")
    pieces = model.get_ref("piece_encoder").attrs["wordpiece_processor"].to_list()
    (out / "vocab.txt").write_text("\n".join(pieces), "utf8")
    return out / "encoder.pt"


def half(state: Mapping[str, Any]) -> dict[str, Any]:
    """RETURNS (dict[str, Tensor]): A state dict, its floating point values in half precision."""
    return {
        name: value.half() if value.is_floating_point() else value for name, value in state.items()
    }


def ensure_encoder(out: Path, pipeline: str = "") -> None:
    """See that an encoder lies in a folder: the one that is there, or that of a pipeline, which takes the place of an earlier encoder.pt.

    pipeline (str): Name or path; empty for what lies there already, else en_pii_edu.
    RAISES (PiiError): E510, if upstream's weights are there, which would be read before the pipeline's.
    """
    if not pipeline and find_weights(out) and (out / "vocab.txt").is_file():
        logger.info("%s: there already", find_weights(out))
        return
    if (out / WEIGHTS[0]).is_file():
        raise PiiError(Errors.E510, what=f"'{out / WEIGHTS[0]}'")
    pipeline = pipeline or "en_pii_edu"
    logger.info("%s: from %s", extract(spacy.load(pipeline), out), pipeline)
