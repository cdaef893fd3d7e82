"""From a trained pipeline to the one that ships: `package("training/model-best", Path("en_pii_edu"))`.

Three things change: the rules are added behind the trained components, the encoder becomes an ONNX graph that runs without torch (or stays a
PyTorch model, in half precision, for a GPU or for training on), and the vocabulary is made anew: spaCy keeps every string that a pipeline has
seen, and what `pii_ner` has seen in training is students' words.
"""

import logging
import shutil
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any, cast

import spacy
import srsly
from spacy.language import Language
from thinc.api import PyTorchShim

from .. import __version__
from ..context.classifier import PersonModel
from ..errors import Errors, PiiError
from ..ner.onnx import OnnxShim
from .encoder import half
from .onnx_export import ENCODER, encoder_shim, renew, with_onnx_encoder, with_torch_encoder

logger = logging.getLogger(__name__)

# How the encoder is packaged. 8 bits are half the size and twice as fast; half precision in ONNX gives what torch gives.
INT8, HALF, TORCH = "onnx-int8", "onnx-half", "torch"
ENCODERS = (INT8, HALF, TORCH)
RULES = ("pii_ruler", "pii_context", "hips_surrogate")
CLEANER = "pii_cleaner"
MAX_BYTES = 40_000_000  # of what ships
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


def _serialize_half(model: Any) -> bytes:
    import torch

    buffer = BytesIO()
    torch.save(half(model.state_dict()), buffer)
    return buffer.getvalue()


def halve(nlp: Language) -> None:
    """Store every PyTorch model of a pipeline in half precision from now on; its weights in memory stay, and loading widens them again."""
    for _, pipe in nlp.pipeline:
        for node in pipe.model.walk() if hasattr(pipe, "model") else ():
            for shim in node.shims:
                if isinstance(shim, PyTorchShim):
                    cast(Any, shim)._serialize_model = _serialize_half


def mean_of(models: Sequence[Path | str], **options: Any) -> Language:
    """One pipeline with the mean of the weights of several that were trained from the same start, as good as their ensemble and as fast as one
    (Wortsman et al. 2022, arXiv:2203.05482). options (Any): Of `spacy.load`. RETURNS (Language): The first, with the means."""
    first, *others = (spacy.load(str(model), **options) for model in models)
    for name, pipe in first.pipeline:
        if not hasattr(pipe, "model"):
            continue
        walks = [list(nlp.get_pipe(name).model.walk()) for nlp in (first, *others)]  # type: ignore[attr-defined]
        for nodes in zip(*walks, strict=True):
            for param in nodes[0].param_names:
                if nodes[0].has_param(param):
                    nodes[0].set_param(
                        param, sum(node.get_param(param) for node in nodes) / len(nodes)
                    )
            for shims in zip(*(node.shims for node in nodes), strict=True):
                if isinstance(shims[0], PyTorchShim):
                    states = [cast(Any, shim)._model.state_dict() for shim in shims]
                    cast(Any, shims[0])._model.load_state_dict(
                        {
                            key: sum(state[key] for state in states) / len(states)
                            for key in states[0]
                        }
                    )
    return first


def assemble(
    model: Path | str | Sequence[Path | str],
    *,
    settings: dict[str, dict[str, Any]] | None = None,
    encoder: str = INT8,
    classifier: bytes = b"",
) -> Language:
    """Add the rules behind the trained components.

    model (Path | str | Sequence): A pipeline as `spacy train` saved it, or one that was assembled before, by path or name; of several `mean_of`.
    settings (dict | None): Config per component; "pii_ner" may change thresholds. encoder (str): One of `ENCODERS`. classifier (bytes):
    Of `pii_context`, as `scripts.annotated classifier` writes it; none if empty. RETURNS (Language): The
    whole pipeline, not yet saved.
    """
    settings = settings or {}
    models = [model] if isinstance(model, Path | str) else model
    nlp = mean_of(models, exclude=[*RULES, CLEANER, "doc_cleaner"])  # the latter until 0.9.6
    if thresholds := settings.get("pii_ner", {}).get("thresholds"):
        cast(Any, nlp.get_pipe("pii_ner")).cfg["thresholds"] = dict(thresholds)
    config = nlp.config.copy()
    # Where it was trained is nobody's business; spaCy checks the whole config, so a path may not become null either.
    config["paths"] = {key: value and Path(value).name for key, value in config["paths"].items()}
    if thresholds:
        config["components"]["pii_ner"]["thresholds"] = dict(thresholds)
    fresh = renew(nlp, config)
    is_onnx = isinstance(encoder_shim(cast(Any, fresh.get_pipe(ENCODER)).model), OnnxShim)
    if encoder == TORCH and is_onnx:
        fresh = with_torch_encoder(fresh)
    elif encoder != TORCH and not is_onnx:
        fresh = with_onnx_encoder(fresh, quantized=encoder == INT8)
    for rule in RULES:
        fresh.add_pipe(rule, config=settings.get(rule, {}))
    context: Any = fresh.get_pipe("pii_context")
    if classifier:
        context.classifier = PersonModel.from_bytes(classifier)
    fresh.add_pipe(CLEANER)
    return fresh


def meta_of(metrics: Path | None = None) -> dict[str, Any]:
    """RETURNS (dict[str, Any]): What meta.json says. metrics (Path | None): Of `pii-edu evaluate run`, `spacy evaluate` or
    `scripts.annotated score`: its performance."""
    performance = srsly.read_json(metrics) if metrics else {}
    notes, part = "", performance.get("part", "")
    if "systems" in performance:
        view = next(iter(performance["systems"].values()))["views"]["all"]
        found, documents = _numbers(view), performance["data"]["documents"]
        each = {
            label: numbers for label, of in view["per_label"].items() if (numbers := _numbers(of))
        }
        performance = {f"ents_{kind}": value for kind, value in found.items()} | {
            "ents_per_type": each
        }
        notes = f"Precision {found['p']:.3f}, recall {found['r']:.3f}, F5 {found['f5']:.3f} on {documents} texts; "
        notes += "MODEL_CARD.md says on which, and what unread text gives"
    elif "sources" in performance:
        names = performance["sources"]["all"]["names"]
        keys = ("protected", "kept_hidden", "precision")
        performance = {"documents": names["documents"]} | {
            k: names[k] for key in keys for k in (key, f"{key}_95")
        }
        notes = f"On {names['documents']} {part} texts: {names['protected']:.3f} of the mentions of students and connected people are "
        notes += f"hidden, and {names['kept_hidden']:.3f} of those of cited people and characters; MODEL_CARD.md"
    return {**META, "version": __version__, "notes": notes, "performance": performance}


def _numbers(view: dict[str, Any]) -> dict[str, float]:
    names = {"p": "precision", "r": "recall", "f": "f1", "f5": "f5"}
    return {
        kind: view["position"][name] for kind, name in names.items() if name in view["position"]
    }


def package(
    model: Path | str | Sequence[Path | str],
    out: Path,
    *,
    metrics: Path | None = None,
    **options: Any,
) -> Path:
    """Write a package folder such as the one that `spacy.load("en_pii_edu")` finds.

    out (Path): The folder; earlier pipelines in it are removed. metrics (Path | None): See `meta_of`. options (Any): Of `assemble`.
    RETURNS (Path): The pipeline's folder.
    """
    nlp = assemble(model, **options)
    halve(nlp)
    nlp.meta.update(meta_of(metrics))
    made = _new(out)
    nlp.to_disk(made)
    logger.info("%s: %.1f MB", out, _size(made) / 1e6)
    return _put(made, out / f"en_pii_edu-{__version__}")


def ship(packaged: Path, out: Path) -> Path:
    """Put a pipeline that `package` wrote in the place of the one that ships.

    packaged (Path): The folder that was written. out (Path): That of the import package. RETURNS (Path): The pipeline's folder there.
    RAISES (PiiError): E604, if nothing was written; E010, if it is larger than 40 MB.
    """
    for folder in packaged.glob("en_pii_edu-*"):
        if (size := _size(folder)) > MAX_BYTES:
            raise PiiError(Errors.E010, size=size, most=MAX_BYTES)
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
