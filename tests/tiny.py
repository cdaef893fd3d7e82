"""A pipeline of the shipped shape, small enough to train in a test: transformer of width 16, one layer, a vocabulary of letters."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import spacy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

from pii_components.labels import NAME_STUDENT, is_name
from pii_components.ner.graph import encoder_graph

WORDS = "my name is ana lopez by submitted reflection the a of and thank you name : mail write to in said".split()
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789.,:;!?'\"()-_@/&"
TOKENIZER = {"nlp": {"tokenizer": {"@tokenizers": "pii_edu.StudentTokenizer.v1"}}}

CONFIG = (Path(__file__).parent / "data/tiny.cfg").read_text("utf8")


# Code that stands before other code.
WITHOUT_TORCH = """
import sys
for name in ("torch", "spacy_curated_transformers", "curated_transformers", "onnx"):
    sys.modules[name] = None  # to import it is an error
# As where spacy-curated-transformers is not installed: its entry points are not there.
import importlib.metadata as metadata
original = metadata.entry_points
def without(**params):
    found = original(**params)
    found = [e for group in found.values() for e in group] if isinstance(found, dict) else found
    return metadata.EntryPoints(e for e in found if not e.value.startswith("spacy_curated"))
metadata.entry_points = without
"""


def vocabulary() -> list[str]:
    """RETURNS (list[str]): Pieces: BERT's special ones, a few words, every letter at the start and inside of a word."""
    special = [
        "[PAD]",
        "[unused0]",
        "[unused1]",
        "[unused2]",
        "[unused3]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
    ]
    return [*special, *dict.fromkeys((*WORDS, *LETTERS)), *(f"##{c}" for c in LETTERS)]


def gold(nlp: Language, text: str, spans: list[tuple[int, int, str]]) -> Example:
    """RETURNS (Example): A text with labelled spans in characters."""
    reference: Doc = nlp.make_doc(text)
    reference.spans["pii"] = [reference.char_span(s, e, label=label) for s, e, label in spans]
    return Example(nlp.make_doc(text), reference)


TRAIN = [
    ("My name is Ana Lopez.", [(11, 20, "NAME_STUDENT")]),
    ("Reflection\nBy Ana Lopez", [(14, 23, "NAME_STUDENT")]),
    ("Lopez (2014) said so.", [(0, 5, "NAME_CITED")]),
    ("Thank you and the reflection of the name.", []),
    ("Write to ana@lopez.org", [(9, 22, "EMAIL")]),
]


def as_read(spans: Sequence[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """RETURNS (list): What `pii_ner` says of gold: it finds names, and whose they are `pii_context` decides."""
    return [(start, end, NAME_STUDENT if is_name(label) else label) for start, end, label in spans]


def tiny_pipeline(folder: Path) -> Language:
    """RETURNS (Language): transformer + pii_ner, initialized with random weights; the vocabulary is written to `folder`."""
    path = folder / "vocab.txt"
    path.write_text("\n".join(vocabulary()), "utf8")
    config = spacy.util.load_config_from_str(
        CONFIG.replace("{size}", str(len(vocabulary()))).replace("{vocab}", str(path))
    )
    nlp = spacy.util.load_model_from_config(config, auto_fill=True)
    spacy.util.fix_random_seed(0)
    nlp.initialize(lambda: [gold(nlp, text, spans) for text, spans in TRAIN])
    return nlp


def tiny_onnx_pipeline(folder: Path) -> Language:
    """RETURNS (Language): The same over an encoder of random weights that onnxruntime runs, and that learns in torch."""
    nlp: Any = tiny_pipeline(folder)
    curated = nlp.get_pipe("transformer").model
    config = nlp.config.copy()
    settings = config["components"]["transformer"]["model"]
    kept = {name: settings[name] for name in ("piece_encoder", "with_spans")}
    onnx = {"@architectures": "pii_edu.OnnxEncoder.v1", "hidden_width": settings["hidden_width"]}
    onnx["pooling"] = {"@layers": "reduce_mean.v1"}
    config["components"]["transformer"] = {"factory": "tok2vec", "model": onnx | kept}
    config["components"]["pii_ner"]["model"]["tok2vec"] = {
        "@architectures": "pii_edu.EncoderVectors.v1",
        "width": settings["hidden_width"],
        "upstream": "transformer",
    }
    del config["initialize"]["components"]["transformer"]
    fresh: Any = spacy.util.load_model_from_config(config)
    encoder = fresh.get_pipe("transformer").model
    pieces = encoder.get_ref("piece_encoder").attrs
    pieces.update(curated.get_ref("piece_encoder").attrs)
    state = curated.get_ref("transformer").shims[0]._model.state_dict()
    graph = encoder_graph({name: value.numpy() for name, value in state.items()}, heads=2)
    encoder.get_ref("transformer").shims[0].from_bytes(graph)
    spacy.util.fix_random_seed(0)
    with fresh.select_pipes(disable="transformer"):
        fresh.initialize(lambda: [gold(fresh, text, spans) for text, spans in TRAIN])
    return fresh


UPSTREAM = {
    "curated_encoder.": "",
    "layers.": "encoder.layer.",
    "mha.output": "attention.output.dense",
    "attn_output_layernorm": "attention.output.LayerNorm",
    "ffn.intermediate": "intermediate.dense",
    "ffn.output": "output.dense",
    "ffn_output_layernorm": "output.LayerNorm",
    "layer_norm": "LayerNorm",
}


def upstream_names(state: Mapping[str, Any]) -> dict[str, Any]:
    """RETURNS (dict): Torch's weights of a curated encoder by the names that upstream has."""
    found = {}
    for name, value in state.items():
        for ours, theirs in UPSTREAM.items():
            name = name.replace(ours, theirs)
        parts = value.chunk(3) if "mha.input" in name else [value]
        names = ("query", "key", "value") if "mha.input" in name else ("",)
        for part, kind in zip(parts, names, strict=True):
            found[name.replace("mha.input", f"attention.self.{kind}")] = part.contiguous()
    return found


def cases(file: str) -> Any:
    """RETURNS (Any): Cases as data, `data/regression_cases/FILE.json`."""
    return json.loads(
        (Path(__file__).parent / f"data/regression_cases/{file}.json").read_text("utf8")
    )
