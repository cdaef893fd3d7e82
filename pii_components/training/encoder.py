"""Loaders of other encoders: curated transformers whose weights lie in files, as their makers publish them.

The pipeline that ships needs none of this: its encoder learns from what it is (ner/torch_encoder.py). A config of `spacy train` over a
curated transformer, such as scripts/encoders.py writes, names these in `[initialize]`.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..errors import Errors, PiiError


def make_encoder_loader(*, path: str | Path) -> Callable[[Any, Any, Any], Any]:
    """`pii_edu.EncoderLoader.v1`: loads an encoder's weights when a pipeline is initialized.

    path (str | Path): A folder with `model.safetensors` (upstream's names of the weights); layers that the pipeline's encoder does not have
        are left out.
    RETURNS (Callable): For `[initialize.components.transformer.encoder_loader]`; RAISES (PiiError): E604, if the folder holds no weights.
    """

    def load(model: Any, X: Any = None, Y: Any = None) -> Any:
        from curated_transformers.models.hf_util import convert_pretrained_model_for_encoder
        from torch import load as read

        encoder = model.shims[0]._model
        weights = read(_file_of(path, "model.safetensors"), map_location="cpu", weights_only=True)
        state = convert_pretrained_model_for_encoder(encoder, weights)
        known = encoder.state_dict()
        encoder.load_state_dict({name: value for name, value in state.items() if name in known})
        return model

    return load


def make_sentencepiece_loader(*, path: str | Path) -> Callable[[Any, Any, Any], Any]:
    """`pii_edu.SentencepieceLoader.v1`: loads the pieces (sentencepiece.bpe.model) of an XLM-R-like encoder when a pipeline is initialized.

    spacy-curated-transformers' own loader (0.3.1) hands the pieces to the chain of encoder and adapter, where nobody looks for them.
    path (str | Path): The file with the pieces.
    RETURNS (Callable): For `[initialize.components.transformer.piecer_loader]`; RAISES (PiiError): E604, if there is no such file.
    """

    def load(model: Any, X: Any = None, Y: Any = None) -> Any:
        from curated_tokenizers import SentencePieceProcessor

        pieces = _file_of(Path(path).parent, Path(path).name)
        model.get_ref("encoder").attrs["sentencepiece_processor"] = (
            SentencePieceProcessor.from_file(str(pieces))
        )
        return model

    return load


def _file_of(folder: str | Path, name: str) -> Path:
    """RAISES (PiiError): E604, if the folder has no such file."""
    if not Path(folder, name).is_file():
        raise PiiError(Errors.E604, path=str(folder), what=name, task="get-encoders")
    return Path(folder, name)
