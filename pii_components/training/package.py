"""From a trained pipeline to a package: `package(assemble("training/model-best"), Path("training/en_pii_edu"))`.

Of what `spacy train` wrote three things change: the rules are added behind the trained components, the encoder becomes an ONNX graph that runs
without torch, and the vocabulary is made anew: spaCy keeps every string that a pipeline has seen, and what `pii_ner` has seen in training is
students' words.
"""

import logging
import shutil
from pathlib import Path
from typing import Any, cast

import spacy
import srsly
from spacy.language import Language

from .. import __version__
from ..errors import Errors, PiiError
from ..ner.onnx import OnnxShim
from .onnx_export import ENCODER, encoder_shim, renew, with_onnx_encoder

logger = logging.getLogger(__name__)

RULES = ("pii_ruler", "pii_context", "hips_surrogate")
CLEANER = "pii_cleaner"
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


def assemble(model: Path | str, *, quantized: bool = True) -> Language:
    """Add the rules behind components that `spacy train` trained, over an encoder that onnxruntime runs.

    model (Path | str): The pipeline, by path or name.
    quantized (bool): 8 bits instead of half precision, which gives what torch gives.
    RETURNS (Language): The whole pipeline, not yet saved.
    """
    nlp = spacy.load(str(model), exclude=[*RULES, CLEANER])
    config = nlp.config.copy()
    # Where it was trained is nobody's business; spaCy checks the whole config, so a path may not become null either.
    config["paths"] = {key: value and Path(value).name for key, value in config["paths"].items()}
    fresh = renew(nlp, config)
    if not isinstance(encoder_shim(cast(Any, fresh.get_pipe(ENCODER)).model), OnnxShim):
        fresh = with_onnx_encoder(fresh, quantized=quantized)
    for rule in (*RULES, CLEANER):
        fresh.add_pipe(rule)
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
    RAISES (PiiError): E604, if nothing was written; E010, if it is larger than 26 MB.
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
