"""`PiiEduNlpEngine`: our pipeline as Presidio's NLP engine.

    AnalyzerEngine(nlp_engine=PiiEduNlpEngine())                             # the installed package
    AnalyzerEngine(nlp_engine=PiiEduNlpEngine(pipeline=nlp))                 # a pipeline that is loaded
    NlpEngineProvider(nlp_engines=(PiiEduNlpEngine,), conf_file=path)        # nlp_engine_name: pii_edu

Against Presidio's engine for spaCy: entities are those of `doc.spans["pii"]` with their own probabilities, not `doc.ents` with .85
for each; nothing is downloaded; surrogates are not made; a text may be of any length; words that have no lemma stand for themselves,
so that the context words of other recognizers work; and asking whether a word is a stop word leaves no trace in the vocabulary.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any

from spacy.lang.lex_attrs import is_punct
from spacy.tokens import Doc, Span

from ..errors import Errors, PiiError
from ..labels import LABELS
from ..spans import read_spans
from .api import NerModelConfiguration, NlpArtifacts, SpacyNlpEngine
from .pipelines import DEFAULT_PIPELINE, MAX_CHARS, Pipeline, check_source, found_labels
from .settings import PRESIDIO, Naming, refuse_unknown

if TYPE_CHECKING:
    from spacy.language import Language

_MODEL_KEYS = ("lang_code", "model_name")
_OPTIONS = ("labels", "return_cited", "max_chars")


class PiiEduNlpEngine(SpacyNlpEngine):
    """The engine. `nlp` is a dict of pipelines by language, as in Presidio's; it is None until it is loaded."""

    engine_name = "pii_edu"
    is_available = True

    def __init__(
        self,
        models: Sequence[Mapping[str, Any]] | None = None,
        ner_model_configuration: NerModelConfiguration | None = None,
        *,
        pipeline: "str | Path | Language | None" = None,
        labels: str = PRESIDIO,
        return_cited: bool = False,
        max_chars: int = MAX_CHARS,
    ) -> None:
        """
        models (Sequence[Mapping[str, Any]] | None): As in Presidio's configuration: `lang_code` and `model_name` of each pipeline;
            the first may hold our options as well, for who has only YAML.
        ner_model_configuration (NerModelConfiguration | None): What it says of labels to ignore, of names for our labels and of
            entities with low scores goes before ours.
        pipeline (str | Path | Language | None): One pipeline instead of `models`: an installed package, a folder, or a pipeline that
            is loaded. labels (str), return_cited (bool): See `settings.Naming`. max_chars (int): See `pipelines.Pipeline`.
        RAISES (PiiError): E801, E803, E810 for options, E804, E806 for a pipeline that is not there or of another language.
        """
        if models and pipeline is not None:
            raise PiiError(Errors.E810, what=type(self).__name__, first="models", second="pipeline")
        options: dict[str, Any] = {"labels": labels, "return_cited": return_cited, "max_chars": max_chars}
        self._sources: dict[str, str | Path | Language] = {}
        for model in models or ():
            refuse_unknown(_without(model, (*_MODEL_KEYS, *_OPTIONS)), what="models", allowed=(*_MODEL_KEYS, *_OPTIONS))
            self._validate_model_params(dict(model))
            options |= {key: model[key] for key in _OPTIONS if key in model}
            self._sources[model["lang_code"]] = model["model_name"]
        if not self._sources:
            source = DEFAULT_PIPELINE if pipeline is None else pipeline
            self._sources[str(getattr(source, "lang", "en"))] = source
        for language, source in self._sources.items():
            check_source(source, language=language)
        self.naming = Naming(options["labels"], options["return_cited"])
        self.max_chars = options["max_chars"]
        super().__init__(
            models=[{"lang_code": lang, "model_name": str(source)} for lang, source in self._sources.items()],
            ner_model_configuration=_configuration(self.naming, ner_model_configuration),
        )
        self.pipelines: dict[str, Pipeline] = {}
        self._lock = RLock()
        if not any(isinstance(source, str | Path) for source in self._sources.values()):
            self.load()

    def load(self) -> None:
        """Load the pipelines, once. RAISES (PiiError): E805, E807."""
        with self._lock:
            if self.nlp is not None:
                return
            if any(isinstance(source, str | Path) for source in self._sources.values()):
                self._enable_gpu()
            self.pipelines = {
                language: Pipeline.open(source, language=language, max_chars=self.max_chars)
                for language, source in self._sources.items()
            }
            self.nlp = {lang: pipeline.nlp for lang, pipeline in self.pipelines.items()}  # type: ignore[assignment]

    def process_text(self, text: str, language: str) -> NlpArtifacts:
        """Process one text.

        text (str): Of any length. language (str): One of `get_supported_languages()`.
        RETURNS (NlpArtifacts): Its `tokens` is the Doc. RAISES (PiiError): E806 for a language without a pipeline, E808, E809.
        """
        return self._doc_to_nlp_artifact(self._pipeline(language).doc(text), language)

    def process_batch(  # type: ignore[override]
        self,
        texts: Iterable[Any],
        language: str,
        batch_size: int = 1,
        n_process: int = 1,
        as_tuples: bool = False,
    ) -> Iterator[tuple[Any, ...]]:
        """Process many texts with `nlp.pipe`.

        texts (Iterable[Any]): Strings, numbers and None, as BatchAnalyzerEngine lets them through; tuples of (text, context) if
            `as_tuples`. language (str), batch_size (int), n_process (int): As in Presidio.
        YIELDS (tuple[Any, ...]): (text, artifacts) or (text, artifacts, context), in order.
        RAISES (PiiError): E806, E808, E809.
        """
        pairs = texts if as_tuples else ((text, None) for text in texts)
        stream = ((_text_of(text), context) for text, context in pairs)
        for doc, context in self._pipeline(language).docs(stream, batch_size=batch_size, n_process=n_process):
            artifacts = self._doc_to_nlp_artifact(doc, language)
            yield (doc.text, artifacts, context) if as_tuples else (doc.text, artifacts)

    def memory_zone(self, language: str = "en") -> AbstractContextManager[Any]:
        """RETURNS (AbstractContextManager): For a request of a service: the words of its texts are freed at its end. Artifacts may not
        be used after it; see `Pipeline.memory_zone`."""
        return self._pipeline(language).memory_zone()

    def get_supported_entities(self) -> list[str]:
        """RETURNS (list[str]): What the entities of `NlpArtifacts` may be called."""
        ignored = set(self.ner_model_configuration.labels_to_ignore or ())
        names = self.ner_model_configuration.model_to_presidio_entity_mapping or {}
        labels = dict.fromkeys(label for source in self._sources.values() for label in found_labels(source))
        entities = (names.get(label, label) for label in labels if label not in ignored)
        return list(dict.fromkeys(entity for entity in entities if entity not in ignored))

    def get_supported_languages(self) -> list[str]:
        """RETURNS (list[str]): Two letters each."""
        return list(self._sources)

    def is_stopword(self, word: str, language: str) -> bool:
        """RETURNS (bool): Whether it is a stop word of the language."""
        return word.lower() in self._pipeline(language).nlp.Defaults.stop_words

    def is_punct(self, word: str, language: str) -> bool:
        """RETURNS (bool): Whether it is punctuation."""
        return is_punct(word)

    def _pipeline(self, language: str) -> Pipeline:
        if self.nlp is None:
            self.load()
        if language not in self.pipelines:
            raise PiiError(Errors.E806, language=language, allowed=", ".join(self.pipelines))
        return self.pipelines[language]

    def _doc_to_nlp_artifact(self, doc: Doc, language: str) -> NlpArtifacts:
        found = [(Span(doc, cand.start, cand.end, label=cand.label), cand.score) for cand in read_spans(doc)]
        entities, scores = self._get_updated_entities([span for span, _ in found], [score for _, score in found])
        return NlpArtifacts(
            entities=entities,
            tokens=doc,
            tokens_indices=[token.idx for token in doc],
            lemmas=[token.lemma_ or token.lower_ for token in doc],
            nlp_engine=self,
            language=language,
            scores=scores,
        )


def _without(model: Mapping[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    return {key: value for key, value in model.items() if key not in keys}


def _text_of(value: Any) -> Any:
    """RETURNS (Any): A number or None as Presidio's engine for spaCy writes it; anything else as it is."""
    return str(value) if value is None or isinstance(value, bool | int | float) else value


def _configuration(naming: Naming, given: NerModelConfiguration | None) -> NerModelConfiguration:
    """RETURNS (NerModelConfiguration): Our names for our labels, and what the user said before them."""
    names = {label: naming.entity(label) or label for label in LABELS}
    ignored = {label for label in LABELS if not naming.entity(label)}
    if given is None:
        return NerModelConfiguration(model_to_presidio_entity_mapping=names, labels_to_ignore=sorted(ignored))
    said = given.model_fields_set
    if "model_to_presidio_entity_mapping" in said:
        names |= given.model_to_presidio_entity_mapping or {}
    ignored |= set(given.labels_to_ignore or ())
    return given.model_copy(update={"model_to_presidio_entity_mapping": names, "labels_to_ignore": sorted(ignored)})
