"""Put the `llm` components of a config file into a pipeline, and say what they sent.

    names = add_components(nlp, "verifier.cfg", allow_remote=True)
    report(nlp, Prices.load(), words=12_000)

The file is a spaCy config as spacy-llm's documentation has it. The components with the factory "llm" are taken; where they go says `[nlp]
pipeline`, which may list components of the pipeline at hand too. Not listed, a verifier stands before the surrogates and a marker behind
`pii_ner`.
"""

import warnings
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import Errors, PiiError, reason_of
from . import Reply
from .cost import Prices, Usage, total
from .models import ChatModel

if TYPE_CHECKING:
    from spacy.language import Language

FACTORY = "llm"
_REMOTE = "pii_edu.OpenAICompatible.v1"


class ForeignModel(ChatModel):
    """A model of spacy-llm or of somebody else: what it fails on becomes an empty reply, document by document; tokens are estimated."""

    def __init__(self, model: Any, name: str) -> None:
        host = str(getattr(model, "_endpoint", "") or "unknown")
        super().__init__(Usage(name, host, None), getattr(model, "context_length", None))
        self._model = model

    def answer(self, prompts: list[str]) -> list[Reply]:
        return [self._one(prompt) for prompt in prompts]

    def _one(self, prompt: str) -> Reply:
        try:
            reply = Reply(next(iter(next(iter(self._model([[prompt]]))))))
        except Exception:  # its message may hold the text
            reply = Reply.none("E914")
        return self.counted(prompt, reply)


def load_with(
    model: str, path: str | Path, *, allow_remote: bool = False, dry: bool = False
) -> "Language":
    """A pipeline without surrogates and the components of a config file; where `[nlp] pipeline` lists these alone, they stand alone, on our
    tokenizer. model (str): Name of a package, or path. RAISES (PiiError): As `add_components`; what loading raises."""
    import spacy

    config = read_config(path)
    order = config.get("nlp", {}).get("pipeline", ())
    if order and all(name in config["components"] for name in order):
        nlp = spacy.blank(
            "en", config={"nlp": {"tokenizer": {"@tokenizers": "pii_edu.StudentTokenizer.v1"}}}
        )
    else:
        nlp = spacy.load(model, exclude=["hips_surrogate"])
    add_components(nlp, path, allow_remote=allow_remote, dry=dry)
    return nlp


def llm_parts(nlp: "Language") -> Iterator[tuple[str, Any]]:
    """YIELDS (tuple[str, Any]): Name of each `llm` component and the component."""
    for name in nlp.pipe_names:
        if nlp.get_pipe_meta(name).factory == FACTORY:
            yield name, nlp.get_pipe(name)


def read_config(path: str | Path) -> dict[str, Any]:
    """RAISES (PiiError): E501, if it cannot be read; E943, if there is no component with the factory "llm"."""
    from confection import Config

    try:
        config = Config().from_disk(Path(path), interpolate=True)
    except (OSError, ValueError) as err:
        raise PiiError(Errors.E501, what=f"'{Path(path).name}'", reason=reason_of(err)) from None
    components = config.get("components", {})
    if not any(
        isinstance(part, dict) and part.get("factory") == FACTORY for part in components.values()
    ):
        raise PiiError(Errors.E943, path=Path(path).name)
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

    allow_remote (bool): Whether texts may leave this machine; it has the last word over the config. dry (bool): Nothing is sent, only counted.
    alone (bool): Whether the config's other components are passed over.
    RAISES (PiiError): E005, without spacy-llm; E501, E943, E944; E911, E918, if a text would leave; E517, with the type of what else went wrong.
    """
    if find_spec("spacy_llm") is None:
        raise PiiError(Errors.E005, package="spacy-llm", what="language models", extra="llm")
    config = read_config(path)
    parts = {
        name: dict(part)
        for name, part in config["components"].items()
        if part.get("factory") == FACTORY
    }
    order = [] if alone else [str(name) for name in config.get("nlp", {}).get("pipeline", ())]
    for name in order:
        if name not in parts and name not in nlp.pipe_names:
            raise PiiError(
                Errors.E944, name=name, model=nlp.meta["name"], pipes=", ".join(nlp.pipe_names)
            )
    for name, part in parts.items():
        settings = {key: value for key, value in part.items() if key != "factory"}
        model = _allowed(settings.get("model", {}), name, allow_remote=allow_remote or dry, dry=dry)
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings(
                    "ignore", message="Task supports sharding"
                )  # shards have a length of their own then
                made: Any = nlp.add_pipe(
                    FACTORY,
                    name,
                    config={**settings, "model": model},
                    **_place(nlp, name, order, settings),
                )
        except PiiError:
            raise
        except Exception as err:  # confection shows the config, and with it whatever stands there
            cause: BaseException | None = err
            while cause is not None and not isinstance(cause, PiiError):
                cause = cause.__cause__ or cause.__context__
            raise cause or PiiError(
                Errors.E517, model=Path(path).name, reason=type(err).__name__
            ) from None
        if not isinstance(made._model, ChatModel):
            made._model = ForeignModel(
                made._model, str(model.get("name", model.get("@llm_models", "")))
            )
        if dry:
            made._model.rehearse()
    return list(parts)


def _allowed(model: Any, component: str, *, allow_remote: bool, dry: bool) -> Any:
    """The config of a model, with what the user allowed; RAISES (PiiError): E918."""
    if not isinstance(model, dict):
        return model
    kind = model.get("@llm_models", "")
    if kind == _REMOTE:
        return model | {"allow_remote": allow_remote} | ({"key_env": ""} if dry else {})
    if kind and not kind.startswith("pii_edu."):
        if not allow_remote:
            raise PiiError(Errors.E918, name=component)
        if dry:
            return {
                "@llm_models": _REMOTE,
                "name": str(model.get("name", kind)),
                "key_env": "",
                "allow_remote": True,
            }
    return {
        key: _allowed(value, component, allow_remote=allow_remote, dry=dry)
        for key, value in model.items()
    }


def _place(
    nlp: "Language", name: str, order: list[str], settings: dict[str, Any]
) -> dict[str, Any]:
    if name in order:
        before = [other for other in order[: order.index(name)] if other in nlp.pipe_names]
        return {"after": before[-1]} if before else {"first": True}
    is_verifier = "Verifier" in settings.get("task", {}).get("@llm_tasks", "")
    behind = ("hips_surrogate",) if is_verifier else ("pii_ruler", "pii_context", "hips_surrogate")
    at = next((other for other in behind if other in nlp.pipe_names), None)
    return {"before": at} if at else {}


def usages(nlp: "Language") -> list[Usage]:
    """RETURNS (list[Usage]): Of every model in the pipeline."""
    return [
        usage
        for _, part in llm_parts(nlp)
        if isinstance(part._model, ChatModel)
        for usage in part._model.usages()
    ]


def report(nlp: "Language", prices: Prices, *, words: int) -> dict[str, Any]:
    """What was sent, where to, and what it costs (`cost.total`). words (int): Of the corpus."""
    return total(usages(nlp), prices, words=words)


__all__ = ["add_components", "llm_parts", "load_with", "read_config", "report", "usages"]
