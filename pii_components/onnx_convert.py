"""From a trained pipeline to the same one without torch: `with_onnx_encoder(nlp, quantized=True)`.

The component `transformer` keeps its name, its pieces and its windows; its model becomes `pii_edu.OnnxEncoder.v1`, and whatever listened
to it reads `doc.tensor`. Everything else is copied as it is.
"""

from typing import Any, cast

import spacy
from spacy.language import Language
from thinc.api import Model

from .errors import Errors, PiiError
from .onnx_encoder import OnnxShim
from .onnx_graph import encoder_graph

ENCODER = "transformer"
_BERT = "spacy-curated-transformers.BertTransformer.v1"
_LISTENER = "spacy-curated-transformers.LastTransformerLayerListener.v1"
_PIECE_SETTINGS = ("wordpiece_processor", "unk_piece", "bos_piece", "eos_piece", "lowercase", "strip_accents")


def with_onnx_encoder(nlp: Language, *, quantized: bool = True) -> Language:
    """The same pipeline with an encoder that onnxruntime runs.

    nlp (Language): With a curated transformer of BERT's kind; it stays as it is. quantized (bool): 8 bits instead of half precision.
    RETURNS (Language): A new pipeline over a vocabulary of its own. RAISES (PiiError): E110 for another encoder, E005 without `onnx`.
    """
    config = nlp.config.copy()
    settings = config["components"].get(ENCODER, {}).get("model", {})
    check_settings(settings)
    width = settings["hidden_width"]
    listeners = _replace(
        config["components"], {"@architectures": "pii_edu.EncoderVectors.v1", "width": width, "upstream": ENCODER}
    )
    if len(listeners) != 1:
        raise PiiError(Errors.E110, problem=f"{len(listeners)} poolings of its pieces")
    config["components"][ENCODER] = {
        "factory": "tok2vec",
        "model": {
            "@architectures": "pii_edu.OnnxEncoder.v1",
            "hidden_width": width,
            "threads": 0,
            "piece_encoder": settings["piece_encoder"],
            "with_spans": settings["with_spans"],
            "pooling": listeners[0],
        },
    }
    fresh = spacy.util.get_lang_class(nlp.lang or "en").from_config(config)
    for name, pipe in nlp.pipeline:
        target: Any = fresh.get_pipe(name)
        if name == ENCODER:
            _copy_encoder(cast(Any, pipe).model, target.model, settings, quantized=quantized)
        elif _listens(cast(Any, pipe)):
            target.cfg = dict(cast(Any, pipe).cfg)
            copy_parameters(cast(Any, pipe).model, target.model)
        else:
            target.from_bytes(cast(Any, pipe).to_bytes(exclude=["vocab"]), exclude=["vocab"])
        for label in getattr(pipe, "labels", ()):
            fresh.vocab.strings.add(label)
    return fresh


def check_settings(settings: dict[str, Any]) -> None:
    """RAISES (PiiError): E110, if the encoder of these settings cannot be written as ONNX."""
    if settings.get("@architectures") != _BERT:
        raise PiiError(Errors.E110, problem=f"the architecture {settings.get('@architectures')}")
    if settings["hidden_act"] != "gelu":
        raise PiiError(Errors.E110, problem=f"the activation {settings['hidden_act']}")
    if settings["with_spans"].get("@architectures") != "pii_edu.WithWindows.v1":
        raise PiiError(Errors.E110, problem="other windows")


def _replace(tree: dict[str, Any], new: dict[str, Any]) -> list[dict[str, Any]]:
    """Put `new` where a config has a listener. RETURNS (list[dict]): The poolings of those that were there, without repeats."""
    poolings: list[dict[str, Any]] = []
    for key, value in tree.items():
        if not isinstance(value, dict):
            continue
        if value.get("@architectures") == _LISTENER:
            poolings.append(value["pooling"])
            tree[key] = dict(new)
        else:
            poolings.extend(_replace(value, new))
    return [pooling for n, pooling in enumerate(poolings) if pooling not in poolings[:n]]


def _listens(pipe: Any) -> bool:
    nodes = pipe.model.walk() if isinstance(getattr(pipe, "model", None), Model) else ()
    return any(node.name == "last_transformer_layer_listener" for node in nodes)


def _copy_encoder(source: Model, target: Model, settings: dict[str, Any], *, quantized: bool) -> None:
    weights = source.get_ref("transformer").shims[0]._model.state_dict()
    shim = cast(OnnxShim, target.get_ref("transformer").shims[0])
    shim.from_bytes(
        encoder_graph(
            {name: value.float().cpu().numpy() for name, value in weights.items()},
            heads=settings["num_attention_heads"],
            epsilon=settings["layer_norm_eps"],
            quantized=quantized,
        )
    )
    for name in _PIECE_SETTINGS:
        target.get_ref("piece_encoder").attrs[name] = source.get_ref("piece_encoder").attrs[name]


def copy_parameters(source: Model, target: Model) -> None:
    """Copy parameters and dimensions between two models that differ only in layers without parameters.

    source (Model): Initialized. target (Model): Gets the same parameters, in the order of `walk`.
    RAISES (PiiError): E110, if the layers with parameters differ.
    """
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
