"""Checkpoints of a training: weights, the optimizers' moments, and the numbers so far, so that an interrupted run goes on as if it had not been.

    save(path, nlp, optimizers)
    restore(path, nlp, optimizers)

thinc keys an optimizer's moments by the number of a layer in this process; here they are kept by the layer's place in the pipeline.
"""

import json
import os
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import srsly
from spacy.language import Language
from thinc.api import Optimizer

Key = tuple[int, str]


def fingerprint(settings: Mapping[str, Any]) -> str:
    """RETURNS (str): Of settings and data; what was made with others is of no use."""
    return sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:16]


def trainable(nlp: Language) -> dict[str, Any]:
    """RETURNS (dict[str, Any]): Components with a model, by name."""
    return {name: pipe for name, pipe in nlp.pipeline if hasattr(pipe, "model")}


def places(nlp: Language) -> dict[int, str]:
    """RETURNS (dict[int, str]): thinc's number of every layer and shim -> where it stands."""
    found = {}
    for name, pipe in trainable(nlp).items():
        for at, node in enumerate(pipe.model.walk()):
            found[node.id] = f"{name}|{at}"
            for n, shim in enumerate(node.shims):
                found[shim.id] = f"{name}|{at}|{n}"
    return found


def optimizer_state(optimizer: Optimizer, nlp: Language) -> dict[str, Any]:
    """RETURNS (dict[str, Any]): Moments and numbers of updates, by place and name of a parameter."""
    where = places(nlp)

    def plain(values: Mapping[Key, Any], convert: Any) -> dict[str, Any]:
        return {f"{where[key[0]]}\n{key[1]}": convert(value) for key, value in values.items() if key[0] in where}

    def to_numpy(array: Any) -> Any:
        return array.get() if hasattr(array, "get") else array

    return {
        "mom1": plain(optimizer.mom1, to_numpy),
        "mom2": plain(optimizer.mom2, to_numpy),
        "nr_update": plain(optimizer.nr_update, int),
    }


def set_optimizer_state(optimizer: Optimizer, state: Mapping[str, Any], nlp: Language) -> None:
    """Put moments back. optimizer (Optimizer): Changed in place. state (Mapping[str, Any]): From `optimizer_state`."""
    number = {place: ident for ident, place in places(nlp).items()}
    ops = next(iter(trainable(nlp).values())).model.ops
    for name in ("mom1", "mom2", "nr_update"):
        target = getattr(optimizer, name)
        for key, value in state[name].items():
            place, _, parameter = key.partition("\n")
            target[number[place], parameter] = value if name == "nr_update" else ops.asarray(value.copy())


def save(path: Path, nlp: Language, optimizers: Mapping[str, Optimizer]) -> None:
    """Write a checkpoint, all or nothing. path (Path): The file. nlp (Language), optimizers (Mapping[str, Optimizer]): As they are."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.partial")
    state = {
        "models": {name: pipe.model.to_bytes() for name, pipe in trainable(nlp).items()},
        "optimizers": {name: optimizer_state(optimizer, nlp) for name, optimizer in optimizers.items()},
    }
    partial.write_bytes(srsly.msgpack_dumps(state))
    os.replace(partial, path)


def restore(path: Path, nlp: Language, optimizers: Mapping[str, Optimizer]) -> None:
    """Read a checkpoint. nlp (Language), optimizers (Mapping[str, Optimizer]): Changed in place; empty to leave optimizers out."""
    state = srsly.msgpack_loads(path.read_bytes())
    for name, pipe in trainable(nlp).items():
        pipe.model.from_bytes(state["models"][name])
    for name, optimizer in optimizers.items():
        set_optimizer_state(optimizer, state["optimizers"][name], nlp)


def read_rows(path: Path, mark: str) -> dict[str, Any]:
    """RETURNS (dict[str, Any]): What is known of an encoder so far; nothing, if it was made with other settings."""
    try:
        known = json.loads(path.read_text(encoding="utf8"))
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) and known.get("fingerprint") == mark else {}


def write_rows(path: Path, known: Mapping[str, Any]) -> None:
    """Write what is known of an encoder, all or nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.partial")
    partial.write_text(json.dumps(known, indent=1) + "\n", encoding="utf8")
    os.replace(partial, path)
