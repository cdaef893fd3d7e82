"""Presidio's AnalyzerEngine over a Doc that is there already; behind `presidio_source`.

    engine = SourceEngine(nlp.vocab, ["IbanRecognizer"], language="en", score_threshold=0.4)
    engine.find(doc)                     # list[Candidate]

The engine is Presidio's own, so that checksums, thresholds and words of context work as documented there. What it asks of a
pipeline (tokens, lemmas, stop words) comes from the Doc and its vocabulary.
"""

import difflib
import inspect
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .offline import presidio_needed

presidio_needed("presidio_source")

from presidio_analyzer import (  # noqa: E402
    AnalyzerEngine,
    EntityRecognizer,
    PatternRecognizer,
    RecognizerRegistry,
    RecognizerResult,
    RemoteRecognizer,
    predefined_recognizers,
)
from presidio_analyzer.nlp_engine import NlpArtifacts, NlpEngine  # noqa: E402
from spacy.tokens import Doc  # noqa: E402
from spacy.vocab import Vocab  # noqa: E402

from ..errors import Errors, PiiError  # noqa: E402
from ..spans import Candidate  # noqa: E402
from .entities import label_of  # noqa: E402

_OWN = ("patterns", "deny_list")


class DocEngine(NlpEngine):
    """An NLP engine with nothing to load: what it is asked for is in the Doc."""

    def __init__(self, vocab: Vocab, language: str) -> None:
        self.vocab, self.language = vocab, language

    def load(self) -> None:
        """Nothing to do."""

    def is_loaded(self) -> bool:
        """RETURNS (bool): True."""
        return True

    def artifacts(self, doc: Doc) -> NlpArtifacts:
        """RETURNS (NlpArtifacts): What Presidio wants to know of a document; words as they stand, where there are no lemmas."""
        lemmas = [token.lemma_ or token.lower_ for token in doc]
        places = [token.idx for token in doc]
        return NlpArtifacts(list(doc.ents), doc, places, lemmas, self, self.language)

    def process_text(self, text: str, language: str) -> NlpArtifacts:
        """RETURNS (NlpArtifacts): Of an empty document: texts come as Docs here."""
        return self.artifacts(Doc(self.vocab))

    def process_batch(self, texts: Iterable[str], language: str, batch_size: int = 1, n_process: int = 1, **kwargs: Any) -> Any:
        """YIELDS (tuple): Texts, each with what `process_text` gives."""
        return ((text, self.process_text(text, language)) for text in texts)

    def is_stopword(self, word: str, language: str) -> bool:
        """RETURNS (bool): Whether the vocabulary says so."""
        return bool(self.vocab[word].is_stop)

    def is_punct(self, word: str, language: str) -> bool:
        """RETURNS (bool): Whether it is no word; white space, which is a token of its own in a Doc, is none either."""
        return bool(self.vocab[word].is_punct or self.vocab[word].is_space)

    def get_supported_entities(self) -> list[str]:
        """RETURNS (list[str]): None."""
        return []

    def get_supported_languages(self) -> list[str]:
        """RETURNS (list[str]): The pipeline's."""
        return [self.language]


class SourceEngine:
    """Presidio's recognizers on Docs.

    vocab (Vocab): Of the pipeline. recognizers (Sequence[str | Mapping]): See `make_recognizer`. language (str): Of the pipeline.
    score_threshold (float), context (Sequence[str]), labels (Mapping[str, str]): As in `PresidioSource`.
    """

    def __init__(
        self,
        vocab: Vocab,
        recognizers: Sequence[str | Mapping[str, Any]],
        *,
        language: str,
        score_threshold: float,
        context: Sequence[str] = (),
        labels: Mapping[str, str] | None = None,
    ) -> None:
        self.language, self.score_threshold, self.context = language, score_threshold, list(context)
        self.labels = dict(labels or {})
        self.recognizers = [make_recognizer(entry, language=language) for entry in recognizers]
        self._docs = DocEngine(vocab, language)
        registry = RecognizerRegistry(recognizers=self.recognizers, supported_languages=[language])
        self._engine = AnalyzerEngine(registry=registry, nlp_engine=self._docs, supported_languages=[language])

    def find(self, doc: Doc) -> list[Candidate]:
        """RETURNS (list[Candidate]): What the recognizers find, whole tokens each; may overlap. RAISES (PiiError): E845."""
        try:
            results = self._engine.analyze(
                doc.text,
                self.language,
                score_threshold=self.score_threshold,
                context=self.context or None,
                nlp_artifacts=self._docs.artifacts(doc),
                return_decision_process=True,
            )
        except Exception as err:
            # A message of Presidio may quote the text.
            raise PiiError(Errors.E845, reason=type(err).__name__) from None
        found = (self._candidate(doc, result) for result in results)
        return [cand for cand in found if cand is not None]

    def _candidate(self, doc: Doc, result: RecognizerResult) -> Candidate | None:
        span = doc.char_span(result.start, result.end, alignment_mode="expand")
        tokens = [token.i for token in span if not token.is_space] if span is not None else []
        if not tokens:
            return None
        source = (result.recognition_metadata or {}).get(RecognizerResult.RECOGNIZER_NAME_KEY, "")
        return Candidate(
            tokens[0],
            tokens[-1] + 1,
            label_of(result.entity_type, self.labels),
            score=min(1.0, max(0.0, float(result.score))),
            source=f"presidio:{source}",
            reason=_reason(result),
        )


def _reason(result: RecognizerResult) -> str:
    """RETURNS (str): One line for a data steward; names of types and patterns, nothing from the text."""
    why = result.analysis_explanation
    said = [f"Presidio: {result.entity_type}"]
    if why is not None and why.pattern_name:
        said.append(f"pattern {why.pattern_name}")
    if why is not None and why.validation_result:
        said.append("its check digits are right")
    if why is not None and why.supportive_context_word:
        said.append("a word near it says so")
    return ", ".join(said)


def make_recognizer(entry: str | Mapping[str, Any], *, language: str) -> EntityRecognizer:
    """One recognizer.

    entry (str | Mapping[str, Any]): The name of a class of Presidio; with settings, `{"name": ..., "context": [...]}`; or patterns of
        one's own, as in Presidio's YAML. language (str): What it is to be used for, whatever its country.
    RETURNS (EntityRecognizer): Ready. RAISES (PiiError): E842 if there is none, E843 if it would leave this machine, E844 if its
        settings are not usable.
    """
    given = {"name": entry} if isinstance(entry, str) else dict(entry)
    name = str(given.pop("name", ""))
    own = any(key in given for key in _OWN)
    found = getattr(predefined_recognizers, name, None)
    kind: Any = found if isinstance(found, type) and issubclass(found, EntityRecognizer) else None
    if kind is None and not own:
        raise PiiError(Errors.E842, name=name[:60], known=", ".join(_like(name)))
    if kind is not None and (issubclass(kind, RemoteRecognizer) or _needs_model(kind, given)):
        raise PiiError(Errors.E843, name=name)
    try:
        if kind is not None:
            made: EntityRecognizer = kind(supported_language=language, **given)
            return made
        return PatternRecognizer.from_dict({"name": name or "PatternRecognizer", "supported_language": language, **given})
    except PiiError:
        raise
    except Exception as err:
        raise PiiError(Errors.E844, name=name[:60], reason=type(err).__name__) from err


def _needs_model(kind: type, given: Mapping[str, Any]) -> bool:
    """RETURNS (bool): Whether a class would fetch a model: it has one by name, and what is given is no folder."""
    if "model_name" not in inspect.signature(kind).parameters:
        return False
    path = given.get("model_name")
    return not (isinstance(path, str) and Path(path).is_dir())


def _like(name: str) -> list[str]:
    known = known_recognizers()
    return difflib.get_close_matches(name, known, n=5) or ["IbanRecognizer", "UsSsnRecognizer", f"{len(known) - 2} more"]


def known_recognizers() -> list[str]:
    """RETURNS (list[str]): Names of Presidio's recognizers that neither call a service nor fetch a model."""
    kinds = {name: getattr(predefined_recognizers, name) for name in dir(predefined_recognizers)}
    return sorted(
        name
        for name, kind in kinds.items()
        if isinstance(kind, type)
        and issubclass(kind, EntityRecognizer)
        and not issubclass(kind, RemoteRecognizer)
        and not _needs_model(kind, {})
    )
