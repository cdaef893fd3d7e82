"""Put the `llm` components of a config file into a pipeline, and say what they sent.

    names = add_components(nlp, "verifier.cfg", allow_remote=True)
    report(nlp, Prices.load(), words=12_000)

The file is a spaCy config as spacy-llm's documentation has it. The components with the factory "llm" are taken; where they go says `[nlp]
pipeline`, which may list components of the pipeline at hand too; what is not listed stands before the surrogates.
"""

import warnings
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import Errors, PiiError, reason_of
from ..files.formats.tokens import blank_pipeline
from .models import Prices, total

if TYPE_CHECKING:
    from spacy.language import Language

FACTORY, SURROGATES = "llm", "hips_surrogate"
SERVER, PANEL = "pii_edu.OpenAICompatible.v1", "pii_edu.Panel.v1"


def load_with(
    model: str, path: str | Path, *, allow_remote: bool = False, dry: bool = False
) -> "Language":
    """A pipeline without surrogates and the components of a config file; where `[nlp] pipeline` lists these alone, they stand alone, on our
    tokenizer. model (str): Name of a package, or path. RAISES (PiiError): As `add_components`; what loading raises."""
    import spacy

    config = read_config(path)
    order = config.get("nlp", {}).get("pipeline", ())
    if order and all(name in config["components"] for name in order):
        nlp = blank_pipeline()
    else:
        nlp = spacy.load(model, exclude=[SURROGATES])
    add_components(nlp, path, allow_remote=allow_remote, dry=dry)
    return nlp


def llm_parts(nlp: "Language") -> Iterator[tuple[str, Any]]:
    """YIELDS (tuple[str, Any]): Name of each `llm` component and the component."""
    for name in nlp.pipe_names:
        if nlp.get_pipe_meta(name).factory == FACTORY:
            yield name, nlp.get_pipe(name)


def read_config(path: str | Path) -> dict[str, Any]:
    """RAISES (PiiError): E501, if it cannot be read; E900, if there is no component with the factory "llm"."""
    from confection import Config

    try:
        config = Config().from_disk(Path(path), interpolate=True)
    except (OSError, ValueError) as err:
        raise PiiError(Errors.E501, what=f"'{Path(path).name}'", reason=reason_of(err)) from None
    if not any(map(_is_llm, config.get("components", {}).values())):
        reason = 'no component with the factory "llm"; see docs/how-to/llm.md'
        raise PiiError(Errors.E900, file=Path(path).name, kind="config", reason=reason)
    return config


def add_components(
    nlp: "Language",
    path: str | Path,
    *,
    allow_remote: bool = False,
    dry: bool = False,
    alone: bool = False,
) -> list[str]:
    """Add what a config file describes.

    allow_remote (bool): Whether texts may leave this machine; it has the last word over the config.
    dry (bool): Whether nothing is sent, only counted.
    alone (bool): Whether the config's other components are passed over.
    RETURNS (list[str]): Names of the components.
    RAISES (PiiError): E005, without spacy-llm; E501, E519, E900; E911, E519, if a text would leave; E517, with the type of
        what else went wrong.
    """
    if find_spec("spacy_llm") is None:
        raise PiiError(Errors.E005, package="spacy-llm", what="language models", extra="llm")
    config = read_config(path)
    order = [] if alone else [str(name) for name in config.get("nlp", {}).get("pipeline", ())]
    parts = {name: part for name, part in config["components"].items() if _is_llm(part)}
    for name in order:
        if name not in parts and name not in nlp.pipe_names:
            pipes = ", ".join(nlp.pipe_names)
            raise PiiError(Errors.E519, value=name, what="component of the pipeline", allowed=pipes)
    for name, part in parts.items():
        settings = {key: value for key, value in part.items() if key != "factory"}
        model = settings.get("model", {})
        settings["model"] = _allowed(model, name, allow_remote=allow_remote or dry, dry=dry)
        made = _add(nlp, name, settings, _place(nlp, name, order), file=Path(path).name)
        if dry:
            made._model.rehearse()
    return list(parts)


def _is_llm(part: Any) -> bool:
    return isinstance(part, dict) and part.get("factory") == FACTORY


def _add(
    nlp: "Language", name: str, settings: dict[str, Any], place: dict[str, Any], *, file: str
) -> Any:
    """RETURNS (Any): The component. RAISES (PiiError): What a task or a model raises; E517 for anything else."""
    try:
        with warnings.catch_warnings():
            # Shards have a length of their own then.
            warnings.filterwarnings("ignore", message="Task supports sharding")
            return nlp.add_pipe(FACTORY, name, config=settings, **place)
    except Exception as err:  # confection shows the config, and with it whatever stands there
        cause: BaseException | None = err
        while cause is not None and not isinstance(cause, PiiError):
            cause = cause.__cause__ or cause.__context__
        raise cause or PiiError(Errors.E517, model=file, reason=type(err).__name__) from None


def _allowed(
    model: dict[str, Any], component: str, *, allow_remote: bool, dry: bool
) -> dict[str, Any]:
    """RETURNS (dict): The config of a model, with what the user allowed. RAISES (PiiError): E519."""
    kind = model.get("@llm_models")
    if kind == PANEL:
        inner = {}
        for name, one in model.get("models", {}).items():
            inner[name] = _allowed(one, component, allow_remote=allow_remote, dry=dry)
        return model | {"models": inner}
    if kind != SERVER:
        what = f"model of component '{component}' that says where texts go"
        raise PiiError(Errors.E519, value=kind, what=what, allowed=f"{SERVER}, {PANEL}")
    return model | {"allow_remote": allow_remote} | ({"key_env": ""} if dry else {})


def _place(nlp: "Language", name: str, order: list[str]) -> dict[str, Any]:
    """RETURNS (dict): Where a component goes: as the config lists it, else before the surrogates."""
    if name in order:
        before = [other for other in order[: order.index(name)] if other in nlp.pipe_names]
        return {"after": before[-1]} if before else {"first": True}
    return {"before": SURROGATES} if SURROGATES in nlp.pipe_names else {}


def report(nlp: "Language", prices: Prices, *, words: int) -> dict[str, Any]:
    """RETURNS (dict): What was sent, where to, and what it costs; see `cost.total`. words (int): Of the corpus."""
    used = [usage for _, part in llm_parts(nlp) for usage in part._model.usages()]
    return total(used, prices, words=words)
