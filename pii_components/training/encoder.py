"""The encoder: where training starts from, and the same without torch.

    ensure_encoder(Path("assets/encoder"))
    with_onnx_encoder(nlp)

Training starts from upstream's MiniLM-L6-v2 (model.safetensors, vocab.txt), whose weights are never removed, or from an encoder that was
taken out of a pipeline (encoder.pt): then it goes on from a model that knows names, and needs no network.

In a trained pipeline the component `transformer` keeps its name, its pieces and its windows; its model becomes `pii_edu.OnnxEncoder.v1`, and
whatever listened to it reads `doc.tensor`. Everything else is copied as it is.
"""

import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import spacy
from spacy.language import Language
from thinc.api import Config, Model

from ..errors import Errors, PiiError
from ..ner.graph import CASES, PLACES, encoder_graph, encoder_state
from ..ner.onnx import OnnxShim

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
    path (str | Path): The file with the pieces.
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


ENCODER = "transformer"
_BERT = "spacy-curated-transformers.BertTransformer.v1"
_RUNNER, _VECTORS = "pii_edu.OnnxEncoder.v1", "pii_edu.EncoderVectors.v1"
_LISTENER = "spacy-curated-transformers.LastTransformerLayerListener.v1"
_PIECE_SETTINGS = (
    "wordpiece_processor",
    "unk_piece",
    "bos_piece",
    "eos_piece",
    "lowercase",
    "strip_accents",
)


def with_onnx_encoder(nlp: Language) -> Language:
    """RETURNS (Language): The same pipeline with an encoder that onnxruntime runs, over a vocabulary of its own.

    nlp (Language): With a curated transformer of BERT's kind; it stays as it is.
    RAISES (PiiError): E110 for another encoder, E005 without `onnx`.
    """
    config = nlp.config.copy()
    settings = config["components"].get(ENCODER, {}).get("model", {})
    check_settings(settings)
    width = settings["hidden_width"]
    vectors = {"@architectures": _VECTORS, "width": width, "upstream": ENCODER}
    poolings = _replace_listeners(config["components"], vectors)
    n_poolings = sum(pooling not in poolings[:n] for n, pooling in enumerate(poolings))
    if n_poolings != 1:
        raise PiiError(Errors.E110, problem=f"{n_poolings} poolings of its pieces")
    model = {"@architectures": _RUNNER, "hidden_width": width, "threads": 0}
    model |= {key: settings[key] for key in ("piece_encoder", "with_spans")} | {
        "pooling": poolings[0]
    }
    config["components"][ENCODER] = {"factory": "tok2vec", "model": model}

    def copy(source: Model, target: Model) -> None:
        weights = {
            name: value.float().cpu().numpy()
            for name, value in encoder_shim(source)._model.state_dict().items()
        }
        heads, epsilon = settings["num_attention_heads"], settings["layer_norm_eps"]
        encoder_shim(target).from_bytes(encoder_graph(weights, heads=heads, epsilon=epsilon))

    return renew(nlp, config, copy)


def renew(
    nlp: Language, config: Config, copy_encoder: Callable[[Model, Model], None] | None = None
) -> Language:
    """RETURNS (Language): A new pipeline of this config with the same weights, over a vocabulary that has seen no text, but labels.

    copy_encoder (Callable | None): Fills the model of another kind of encoder from the one that is there; None if the kind stays.
    """
    fresh = spacy.util.get_lang_class(nlp.lang or "en").from_config(config)
    source: Any
    for name, source in nlp.pipeline:
        target: Any = fresh.get_pipe(name)
        if copy_encoder and name == ENCODER:
            copy_encoder(source.model, target.model)  # type: ignore[attr-defined]
            for key in _PIECE_SETTINGS:
                target.model.get_ref("piece_encoder").attrs[key] = source.model.get_ref(
                    "piece_encoder"
                ).attrs[key]  # type: ignore[attr-defined]
        elif copy_encoder and (_listens(source) or _listens(target)):
            target.cfg = dict(source.cfg)  # type: ignore[attr-defined]
            copy_parameters(source.model, target.model)  # type: ignore[attr-defined]
        elif hasattr(source, "to_bytes"):  # pii_cleaner is a function
            target.from_bytes(source.to_bytes(exclude=["vocab"]), exclude=["vocab"])
        for label in getattr(source, "labels", ()):
            fresh.vocab.strings.add(label)
    return fresh


def check_settings(settings: dict[str, Any]) -> None:
    """RAISES (PiiError): E110, if the encoder of these settings cannot be written as ONNX."""
    kind, activation = settings.get("@architectures"), settings.get("hidden_act")
    windows = settings.get("with_spans", {}).get("@architectures")
    for fits, problem in (
        (kind == _BERT, f"the architecture {kind}"),
        (activation == "gelu", f"the activation {activation}"),
        (windows == "pii_edu.WithWindows.v1", "other windows"),
    ):
        if not fits:
            raise PiiError(Errors.E110, problem=problem)


def _replace_listeners(tree: dict[str, Any], new: dict[str, Any]) -> list[dict[str, Any]]:
    """Put `new` where a config has a listener. RETURNS (list[dict]): The poolings of those that were there."""
    poolings: list[dict[str, Any]] = []
    for key, value in tree.items():
        if isinstance(value, dict) and value.get("@architectures") == _LISTENER:
            poolings.append(value.get("pooling", {}))
            tree[key] = dict(new)
        elif isinstance(value, dict):
            poolings += _replace_listeners(value, new)
    return poolings


def _listens(pipe: Any) -> bool:
    nodes = pipe.model.walk() if isinstance(getattr(pipe, "model", None), Model) else ()
    return any(node.name == "last_transformer_layer_listener" for node in nodes)


def encoder_shim(model: Model) -> Any:
    """RETURNS (Shim): What runs the encoder of a component `transformer`, PyTorch's or ours."""
    return model.get_ref("transformer").shims[0]


def copy_parameters(source: Model, target: Model) -> None:
    """Copy parameters and dimensions, in the order of `walk`, to a model that differs only in layers without parameters. RAISES: E110."""
    pairs = [[node for node in model.walk() if node.param_names] for model in (source, target)]
    if [node.name for node in pairs[0]] != [node.name for node in pairs[1]]:
        raise PiiError(Errors.E110, problem="other layers behind it")
    for old, new in zip(*pairs, strict=True):
        for dim in old.dim_names:
            if old.has_dim(dim):
                new.set_dim(dim, old.get_dim(dim), force=True)
        for param in old.param_names:
            new.set_param(param, old.get_param(param))
    for name in target.dim_names:
        if target.has_dim(name) is None and source.has_dim(name):
            target.set_dim(name, source.get_dim(name))
