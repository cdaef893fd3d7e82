"""From the weights that scripts/two_heads.py learns to a pipeline: `make_pipeline(read_weights(start, model), vocabulary, config)`.

The encoder becomes an ONNX graph, head A the softmax of `pii_ner`, head B the `Heads` of `pii_context`.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy
import spacy
from spacy.language import Language

from ..context.classifier import PersonModel
from ..context.component import PiiContext
from ..context.heads import Heads
from ..labels import (
    AGE,
    DATE,
    EDUCATION,
    EMAIL,
    EMPLOYER,
    ID_NUM,
    LOCATION,
    PHONE_NUM,
    STREET_ADDRESS,
    URL_PERSONAL,
    USERNAME,
)
from ..ner.decode import NAME
from ..ner.layers import WordPieces
from .onnx_export import (
    CASES,
    ENCODER,
    PLACES,
    PREFIX,
    SEGMENTS,
    WORDS,
    encoder_graph,
    encoder_shim,
    quantize,
)
from .onnx_export import encoder_state as graph_state

# Head A's labels, in the order of `TYPES` of scripts/two_heads.py.
_CONTACTS = (EMAIL, USERNAME, ID_NUM, PHONE_NUM, URL_PERSONAL, STREET_ADDRESS)
LABELS = (NAME, LOCATION, EDUCATION, EMPLOYER, DATE, AGE, *_CONTACTS)
RULES = ("pii_ruler", "pii_context", "hips_surrogate", "pii_cleaner")
_HEADS = ("attend", "whose", "owned")
_N_ATTENTION = 12
_LAYER = {
    "qkv": "mha.input",
    "o": "mha.output",
    "n1": "attn_output_layernorm",
    "i": "ffn.intermediate",
    "f": "ffn.output",
    "n2": "ffn_output_layernorm",
}
Weights = Mapping[str, numpy.ndarray]


def read_weights(start: Path, *models: Path) -> dict[str, numpy.ndarray]:
    """Read weights by their names in scripts/two_heads.py, 32 bits each.

    start (Path): The encoder that training started from; it has what stayed frozen.
    models (Path): What was trained; of several the mean.
    """
    trained = [_read(model) for model in models]
    means = {name: sum(one[name] for one in trained) / len(trained) for name in trained[0]}
    layers = {name.split(".")[1] for name in means if name.startswith("layers.")}
    kept = {
        name: value
        for name, value in _read(start).items()
        if not name.startswith("layers.") or name.split(".")[1] in layers
    }
    return kept | cast(dict[str, numpy.ndarray], means)


def _read(path: Path) -> dict[str, numpy.ndarray]:
    with numpy.load(path) as arrays:
        scales = {name: arrays[name] for name in arrays.files if name.endswith(".scale")}
        return {
            name: arrays[name].astype("f4") * scales.get(f"{name}.scale", 1)
            for name in arrays.files
            if name not in scales
        }


def encoder_state(weights: Weights) -> dict[str, numpy.ndarray]:
    """RETURNS (dict[str, numpy.ndarray]): The encoder's weights by their names in the curated transformers, the vectors of case beside them."""
    state = {
        WORDS: weights["word.weight"],
        PLACES: weights["place.weight"],
        SEGMENTS: weights["segment"][None],
        CASES: weights["case.weight"],
    }
    for name, value in weights.items():
        parts = name.split(".")
        if parts[0] == "norm":
            state[f"{PREFIX}embeddings.layer_norm.{parts[1]}"] = value
        elif parts[0] == "layers":
            state[f"{PREFIX}layers.{parts[1]}.{_LAYER[parts[2]]}.{parts[3]}"] = value
    return state


def shipped_start() -> dict[str, numpy.ndarray]:
    """RETURNS (dict[str, numpy.ndarray]): Weights of the encoder that is installed, by their names in scripts/two_heads.py; words in 8 bits."""
    nlp: Any = spacy.load("en_pii_edu", exclude=[*RULES, "pii_ner"])
    state = graph_state(encoder_shim(nlp.get_pipe(ENCODER).model).graph)
    scale, words = quantize(state[WORDS], 127)
    found = {"word.weight": words, "word.weight.scale": scale[:, None]}
    found |= {"place.weight": state[PLACES], "segment": state[SEGMENTS][0]}
    if CASES in state:
        found["case.weight"] = state[CASES]
    ours = {theirs: name for name, theirs in _LAYER.items()}
    for name, value in state.items():
        part = name.removeprefix(PREFIX).split(".")
        if part[:2] == ["embeddings", "layer_norm"]:
            found[f"norm.{part[2]}"] = value
        elif part[0] == "layers":
            inner, kind = ".".join(part[2:-1]), part[-1]
            found[f"layers.{part[1]}.{ours[inner]}.{kind}"] = value
    return found


def shipped_vocabulary() -> list[str]:
    """RETURNS (list[str]): Pieces of the encoder that is installed, which are upstream's."""
    encoder: Any = spacy.load("en_pii_edu", exclude=[*RULES, "pii_ner"]).get_pipe(ENCODER)
    return list(encoder.model.get_ref("piece_encoder").attrs["wordpiece_processor"].to_list())


def make_pipeline(
    weights: Weights,
    vocabulary: Sequence[str],
    config: Path,
    *,
    classifier: bytes = b"",
) -> Language:
    """Put weights into the pipeline of a config.

    weights (Weights): Of `read_weights`.
    vocabulary (Sequence[str]): WordPiece of the encoder, uncased.
    config (Path): With `transformer`, `pii_ner` and `pii_context`, such as configs/two_heads.cfg.
    classifier (bytes): Of `pii_context`, as `scripts.annotated classifier` writes it; none if empty.
    """
    nlp: Any = spacy.util.load_model_from_config(spacy.util.load_config(config), auto_fill=True)
    encoder = nlp.get_pipe(ENCODER).model
    pieces = encoder.get_ref("piece_encoder").attrs
    pieces.update(wordpiece_processor=WordPieces(vocabulary), lowercase=True, strip_accents=True)
    graph = encoder_graph(encoder_state(weights), heads=_N_ATTENTION)
    encoder_shim(encoder).from_bytes(graph)
    ner = nlp.get_pipe("pii_ner")
    for label in LABELS:
        ner.add_label(label)
    output = ner.model.get_ref("output_layer")
    for dim, size in zip(("nO", "nI"), weights["what.weight"].shape, strict=True):
        output.set_dim(dim, size)
    output.set_param("W", weights["what.weight"])
    output.set_param("b", weights["what.bias"])
    context = cast(PiiContext, nlp.get_pipe("pii_context"))
    context.heads = Heads({n: v for n, v in weights.items() if n.split(".")[0] in _HEADS})
    if classifier:
        context.classifier = PersonModel.from_bytes(classifier)
    return cast(Language, nlp)
