"""Presidio's engine for a Doc that is there already, and its recognizers by name; imports Presidio, so `source.py` imports it late."""

import difflib
import inspect
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from spacy.vocab import Vocab

from ..errors import Errors, PiiError
from .settings import presidio_needed

presidio_needed("presidio_source")

from presidio_analyzer import (  # noqa: E402
    AnalyzerEngine,
    EntityRecognizer,
    PatternRecognizer,
    RecognizerRegistry,
    RemoteRecognizer,
    predefined_recognizers,
)
from presidio_analyzer.nlp_engine import SpacyNlpEngine  # noqa: E402


class DocEngine(SpacyNlpEngine):
    """An NLP engine with nothing to load: `AnalyzerEngine.analyze` is given what it would be asked for."""

    def is_punct(self, word: str, language: str) -> bool:
        """Whether it is no word; white space, which is a token of its own in a Doc, is none either."""
        return super().is_punct(word, language) or bool(self.get_nlp(language).vocab[word].is_space)


def make_engine(recognizers: list[str | Mapping[str, Any]], *, language: str, vocab: Vocab) -> AnalyzerEngine:
    """Presidio's engine with the recognizers of the settings. RAISES (PiiError): E842 to E844, as `make_recognizer`."""
    nlp_engine = DocEngine()
    nlp_engine.nlp = {language: SimpleNamespace(vocab=vocab)}  # type: ignore[assignment]
    made = [make_recognizer(entry, language=language) for entry in recognizers]
    registry = RecognizerRegistry(recognizers=made, supported_languages=[language])
    return AnalyzerEngine(registry=registry, nlp_engine=nlp_engine, supported_languages=[language])


def make_recognizer(entry: str | Mapping[str, Any], *, language: str) -> EntityRecognizer:
    """The recognizer of an entry in the settings of `PresidioSource`, used for this language, whatever its country.
    RAISES (PiiError): E842 if there is none, E843 if it would leave this machine, E844 if its settings are not usable."""
    given = {"name": entry} if isinstance(entry, str) else dict(entry)
    name = str(given.pop("name", ""))
    kind = _class_of(name)
    if kind is None and "patterns" not in given and "deny_list" not in given:
        known = known_recognizers()
        like = difflib.get_close_matches(name, known, n=5) or ["IbanRecognizer", "UsSsnRecognizer", f"{len(known) - 2} more"]
        raise PiiError(Errors.E842, name=name[:60], known=", ".join(like))
    if kind is not None and not _is_local(kind, given):
        raise PiiError(Errors.E843, name=name)
    try:
        if kind is None:
            return PatternRecognizer.from_dict({"name": name or "PatternRecognizer", "supported_language": language, **given})
        return kind(supported_language=language, **given)  # type: ignore[no-any-return]
    except Exception as err:
        raise PiiError(Errors.E844, name=name[:60], reason=type(err).__name__) from err


def _class_of(name: str) -> Any:
    kind = getattr(predefined_recognizers, name, None)
    return kind if isinstance(kind, type) and issubclass(kind, EntityRecognizer) else None


def _is_local(kind: Any, given: Mapping[str, Any]) -> bool:
    """Whether a class neither calls a service nor fetches a model, where it has one by name that is no folder."""
    path = given.get("model_name")
    fetches = "model_name" in inspect.signature(kind).parameters and not (isinstance(path, str) and Path(path).is_dir())
    return not issubclass(kind, RemoteRecognizer) and not fetches


def known_recognizers() -> list[str]:
    """Names of Presidio's recognizers that neither call a service nor fetch a model."""
    return [name for name in dir(predefined_recognizers) if (kind := _class_of(name)) is not None and _is_local(kind, {})]
