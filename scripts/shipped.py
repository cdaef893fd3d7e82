"""What ships: from what training wrote to a package, over an encoder that runs without torch; and back to where training starts.

    nlp = make_pipeline(read_weights(start, model), shipped_vocabulary(), config)   # of scripts/two_heads.py
    nlp = assemble("training/model-best")                                           # of `spacy train` with configs/pii_ner.cfg
    package(nlp, Path("training/en_pii_edu"))

`make_pipeline` makes an ONNX graph of the encoder, the softmax of `pii_ner` of head A, the `Heads` of `pii_context` of head B.
"""

import logging
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy
import spacy
import srsly
from spacy.language import Language
from thinc.api import Model

from pii_components import __version__
from pii_components.context.classifier import PersonModel
from pii_components.context.component import PiiContext
from pii_components.context.heads import Heads
from pii_components.errors import Errors, PiiError
from pii_components.labels import (
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
from pii_components.ner.decode import NAME
from pii_components.ner.graph import CASES, PLACES, PREFIX, SEGMENTS, WORDS, encoder_graph, quantize
from pii_components.ner.graph import encoder_state as graph_state
from pii_components.ner.layers import WordPieces
from pii_components.ner.onnx import OnnxShim
from pii_components.training.package import without_words

logger = logging.getLogger(__name__)

ENCODER = "transformer"
CLEANER = "pii_cleaner"
RULES = ("pii_ruler", "pii_context", "hips_surrogate")
MAX_BYTES = 26_000_000  # of what ships
META = {
    "lang": "en",
    "name": "pii_edu",
    "description": "De-identification of student writing: who is named, in which role, and realistic surrogates.",
    "author": "pii-edu developers",
    "license": "Apache-2.0",
    "sources": [
        {"name": "all-MiniLM-L6-v2", "license": "Apache-2.0", "author": "sentence-transformers"},
        {"name": "Essays of the project's authors", "license": "Apache-2.0", "author": "pii_edu"},
        {
            "name": "CRAPII (358 essays of Kaggle's training file)",
            "license": "CC0, as far as known",
            "author": "Holmes et al.",
        },
        {
            "name": "PERSUADE 2.0 (as carrier of invented names)",
            "license": "see its publisher",
            "author": "Crossley et al.",
        },
    ],
}
# Head A's labels, in the order of `TYPES` of scripts/two_heads.py.
_CONTACTS = (EMAIL, USERNAME, ID_NUM, PHONE_NUM, URL_PERSONAL, STREET_ADDRESS)
LABELS = (NAME, LOCATION, EDUCATION, EMPLOYER, DATE, AGE, *_CONTACTS)
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


def _shipped_encoder() -> Any:
    """The model of the encoder that is installed."""
    nlp: Any = spacy.load("en_pii_edu", exclude=[*RULES, CLEANER, "pii_ner"])
    return nlp.get_pipe(ENCODER).model


def shipped_start() -> dict[str, numpy.ndarray]:
    """RETURNS (dict[str, numpy.ndarray]): Weights of the encoder that is installed, by their names in scripts/two_heads.py; words in 8 bits."""
    state = graph_state(encoder_shim(_shipped_encoder()).graph)
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
    pieces = _shipped_encoder().get_ref("piece_encoder").attrs
    return list(pieces["wordpiece_processor"].to_list())


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


def encoder_shim(model: Model) -> Any:
    """RETURNS (Shim): What runs the encoder of a component `transformer`."""
    return model.get_ref("transformer").shims[0]


def assemble(model: Path | str) -> Language:
    """Add the rules behind components that `spacy train` trained, over an encoder that onnxruntime runs.

    model (Path | str): The pipeline, by path or name.
    RETURNS (Language): The whole pipeline, not yet saved.
    RAISES (PiiError): E110 without a transformer, or with one that needs torch.
    """
    nlp: Any = spacy.load(str(model), exclude=[*RULES, CLEANER])
    if ENCODER not in nlp.pipe_names:
        raise PiiError(Errors.E110, problem=f"no component '{ENCODER}'")
    if not isinstance(encoder_shim(nlp.get_pipe(ENCODER).model), OnnxShim):
        raise PiiError(Errors.E110, problem="a transformer of another kind")
    fresh = without_words(nlp)
    for rule in (*RULES, CLEANER):
        fresh.add_pipe(rule)
    return fresh


def meta_of(metrics: Path | None = None) -> dict[str, Any]:
    """RETURNS (dict[str, Any]): What meta.json says. metrics (Path | None): Of `scripts.annotated score` or `spacy evaluate`: its
    performance."""
    performance = srsly.read_json(metrics) if metrics else {}
    notes = ""
    if "sources" in performance:
        names, part = performance["sources"]["all"]["names"], performance.get("part", "")
        keys = ("protected", "kept_hidden", "precision")
        performance = {"documents": names["documents"]} | {
            k: names[k] for key in keys for k in (key, f"{key}_95")
        }
        notes = f"On {names['documents']} {part} texts: {names['protected']:.3f} of the mentions of students and connected people are "
        notes += f"hidden, and {names['kept_hidden']:.3f} of those of cited people and characters; MODEL_CARD.md"
    return {**META, "version": __version__, "notes": notes, "performance": performance}


def package(nlp: Language, out: Path, *, metrics: Path | None = None) -> Path:
    """Write a package folder such as the one that `spacy.load("en_pii_edu")` finds.

    nlp (Language): Of `assemble`, or of `two_heads.make_pipeline`.
    out (Path): The folder; earlier pipelines in it are removed.
    metrics (Path | None): See `meta_of`.
    RETURNS (Path): The pipeline's folder.
    """
    nlp.meta.update(meta_of(metrics))
    made = _new(out)
    nlp.to_disk(made)
    logger.info("%s: %.1f MB", out, _size(made) / 1e6)
    return _put(made, out / f"en_pii_edu-{__version__}")


def ship(packaged: Path, out: Path) -> Path:
    """Put a pipeline that `package` wrote in the place of the one that ships.

    packaged (Path): The folder that was written. out (Path): That of the import package. RETURNS (Path): The pipeline's folder there.
    RAISES (PiiError): E604, if nothing was written; E650, if it is larger than 26 MB.
    """
    for folder in packaged.glob("en_pii_edu-*"):
        if (size := _size(folder)) > MAX_BYTES:
            what, allowed = "size of the packaged pipeline", f"{MAX_BYTES} bytes at most"
            raise PiiError(Errors.E650, name=what, value=size, allowed=allowed)
        return _put(shutil.copytree(folder, _new(out)), out / folder.name)
    raise PiiError(Errors.E604, path=packaged, what="packaged pipeline", task="assemble")


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _new(out: Path) -> Path:
    out.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(out / "new", ignore_errors=True)
    return out / "new"


def _put(made: Path, target: Path) -> Path:
    for old in target.parent.glob(
        "en_pii_edu-*"
    ):  # only now: what was there stays until the new one is whole
        shutil.rmtree(old)
    made.rename(target)
    shutil.copy(target / "meta.json", target.parent / "meta.json")
    return target
