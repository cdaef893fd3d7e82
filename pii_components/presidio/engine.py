"""`PiiEduNlpEngine`: our pipeline as Presidio's NLP engine.

    AnalyzerEngine(nlp_engine=PiiEduNlpEngine())                             # the installed package
    AnalyzerEngine(nlp_engine=PiiEduNlpEngine(pipeline=nlp))                 # a pipeline that is loaded
    NlpEngineProvider(nlp_engines=(PiiEduNlpEngine,), conf_file=path)        # nlp_engine_name: pii_edu

Against Presidio's engine for spaCy: entities are those of `doc.spans["pii"]` with their own probabilities, not
`doc.ents` with .85 for each; nothing is downloaded; surrogates are not made; and words that have no lemma stand
for themselves, so that the context words of other recognizers work.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from threading import RLock
from typing import Any

import spacy
from spacy.language import Language
from spacy.tokenizer import Tokenizer
from spacy.tokens import Doc, Span

from ..errors import Errors, PiiError, checked_text
from ..labels import LABELS, OTHER
from ..spans import PROTECT_AT, SPANS_KEY, read_spans
from .settings import OMIT, PRESIDIO, Naming, presidio_needed, score_of

presidio_needed("The Presidio recognizer")

from presidio_analyzer.nlp_engine import NerModelConfiguration, NlpArtifacts, SpacyNlpEngine  # noqa: E402

DEFAULT_PIPELINE = "en_pii_edu"
_SURROGATES = "hips_surrogate"
# Values of tables that are no text.
_PLAIN = (bool, int, float, type(None))
# An installed package, a folder, or a pipeline that is loaded.
PipelineSource = str | Path | Language


def open_pipeline(source: PipelineSource) -> Language:
    """Load a pipeline, unless it is loaded; without surrogates, which Presidio's anonymizer is there for.

    RETURNS (Language): It writes `doc.spans["pii"]`.
    RAISES (PiiError): E517 if it does not load, E807 if it finds nothing.
    """
    try:
        nlp = source if isinstance(source, Language) else spacy.load(source, exclude=[_SURROGATES])
    except (ImportError, OSError, ValueError) as err:
        reason = type(err).__name__
        raise PiiError(Errors.E517, model=name_of(source), reason=reason) from err
    if not any("doc.spans" in nlp.get_pipe_meta(name).assigns for name in nlp.pipe_names):
        pipes = ", ".join(nlp.pipe_names) or "nothing"
        raise PiiError(Errors.E807, pipeline=name_of(nlp), pipes=pipes)
    return nlp


def surrogate_pipes(nlp: Language) -> list[str]:
    """RETURNS (list[str]): Components of a pipeline that make surrogates."""
    return [name for name in nlp.pipe_names if nlp.get_pipe_meta(name).factory == _SURROGATES]


def memory_zone(nlp: Language) -> AbstractContextManager[Any]:
    """Free the words of its texts at the end; no Doc may be used after it.

    RETURNS (AbstractContextManager): One that does nothing, where a tokenizer has a cache that would point into
        what is gone.
    """
    fine = type(nlp.tokenizer) is Tokenizer or hasattr(nlp.tokenizer, "memory_zone")
    return nlp.memory_zone() if fine else nullcontext()


def check_source(source: PipelineSource, language: str) -> None:
    """Check that a pipeline can be had, without loading it.

    RAISES (PiiError): E516 if there is none, E517 if it cannot be read, E806 if it is for another language.
    """
    if isinstance(source, Language):
        spoken = source.lang
    else:
        is_package = spacy.util.is_package(str(source))
        path = spacy.util.get_package_path(str(source)) if is_package else Path(source)
        if not path.is_dir():
            raise PiiError(Errors.E516, model=name_of(source))
        try:
            spoken = str(spacy.util.get_model_meta(path)["lang"])
        except (OSError, ValueError) as err:
            reason = type(err).__name__
            raise PiiError(Errors.E517, model=name_of(source), reason=reason) from err
    if spoken != language:
        raise PiiError(Errors.E806, language=language, allowed=spoken)


def name_of(source: PipelineSource) -> str:
    """RETURNS (str): The name of a pipeline, without the folders above it."""
    if isinstance(source, Language):
        return f"{source.lang}_{source.meta['name']}"
    return Path(source).name


def protect_at(doc: Doc) -> float:
    """RETURNS (float): The probability from which a name of the document is hidden; .5 if nobody has said so."""
    return float(doc.spans[SPANS_KEY].attrs.get(PROTECT_AT, 0.5)) if SPANS_KEY in doc.spans else 0.5


def artifacts_of(
    doc: Doc, engine: Any, language: str, entities: list[Span], scores: list[float] | None = None
) -> NlpArtifacts:
    """RETURNS (NlpArtifacts): What Presidio wants to know of a document; words as they stand, without lemmas."""
    lemmas = [token.lemma_ or token.lower_ for token in doc]
    places = [token.idx for token in doc]
    return NlpArtifacts(entities, doc, places, lemmas, engine, language, scores)


class PiiEduNlpEngine(SpacyNlpEngine):
    """The engine. `nlp` is a dict of pipelines by language, as in Presidio's; it is None until it is loaded."""

    engine_name = "pii_edu"
    is_available = True

    def __init__(
        self,
        models: Sequence[Mapping[str, str]] | None = None,
        ner_model_configuration: NerModelConfiguration | None = None,
        *,
        pipeline: PipelineSource = DEFAULT_PIPELINE,
        labels: str = PRESIDIO,
        cited: str = OMIT,
        direct_only: bool = False,
    ) -> None:
        """
        models (Sequence[Mapping[str, str]] | None): As in Presidio's configuration, `lang_code` and `model_name`
            of each pipeline; they win over `pipeline`.
        ner_model_configuration (NerModelConfiguration | None): Its labels to ignore, names for our labels and
            entities with low scores win over ours.
        pipeline (PipelineSource): An installed package, a folder, or a pipeline that is loaded.
        labels, cited, direct_only: See `settings.Naming`.
        RAISES (PiiError): E650 for options; E516 to E806 for a pipeline that is not there or of another language.
        """
        self.naming = Naming(labels, cited, direct_only)
        self._sources: dict[str, PipelineSource] = {}
        for model in models or ():
            self._validate_model_params(dict(model))
            self._sources[model["lang_code"]] = model["model_name"]
        if not self._sources:
            self._sources[str(getattr(pipeline, "lang", "en"))] = pipeline
        for language, source in self._sources.items():
            check_source(source, language)
        super().__init__(
            models=[{"lang_code": la, "model_name": str(s)} for la, s in self._sources.items()],
            ner_model_configuration=_configuration(self.naming, ner_model_configuration),
        )
        self._lock = RLock()
        if all(isinstance(source, Language) for source in self._sources.values()):
            self.load()

    def load(self) -> None:
        """Load the pipelines, once. RAISES (PiiError): E517, E807."""
        with self._lock:
            if self.nlp is None:
                loaded = {lang: open_pipeline(source) for lang, source in self._sources.items()}
                self.nlp = loaded  # type: ignore[assignment]

    def process_text(self, text: str, language: str) -> NlpArtifacts:
        """RETURNS (NlpArtifacts): Its `tokens` is the Doc. RAISES (PiiError): E806, E808, E809."""
        nlp = self._pipeline(language)
        doc = nlp(checked_text(text), disable=surrogate_pipes(nlp))
        return self._doc_to_nlp_artifact(doc, language)

    def process_batch(  # type: ignore[override]
        self,
        texts: Iterable[Any],
        language: str,
        batch_size: int = 1,
        n_process: int = 1,
        as_tuples: bool = False,
    ) -> Iterator[tuple[Any, ...]]:
        """Process many texts with `nlp.pipe`.

        texts (Iterable[Any]): Strings, numbers and None, as BatchAnalyzerEngine lets them through; (text, context) if
            `as_tuples`.
        YIELDS (tuple[Any, ...]): (text, artifacts) or (text, artifacts, context), in order.
        RAISES (PiiError): E806, E808, E809.
        """
        pairs = texts if as_tuples else ((text, None) for text in texts)
        nlp = self._pipeline(language)
        docs = nlp.pipe(
            # Presidio's engine for spaCy takes numbers and None as words.
            ((str(t) if isinstance(t, _PLAIN) else checked_text(t), about) for t, about in pairs),
            as_tuples=True,
            batch_size=batch_size,
            n_process=n_process,
            disable=surrogate_pipes(nlp),
        )
        for doc, about in docs:
            artifacts = self._doc_to_nlp_artifact(doc, language)
            yield (doc.text, artifacts, about) if as_tuples else (doc.text, artifacts)

    def _pipeline(self, language: str) -> Language:
        self.load()
        pipelines: dict[str, Any] = self.nlp or {}
        if language not in pipelines:
            raise PiiError(Errors.E806, language=language, allowed=", ".join(pipelines))
        return pipelines[language]  # type: ignore[no-any-return]

    def _doc_to_nlp_artifact(self, doc: Doc, language: str) -> NlpArtifacts:
        spans, scores = [], []
        for cand in read_spans(doc):
            spans.append(Span(doc, cand.start, cand.end, label=cand.label))
            scores.append(score_of(self.naming.label(cand.label), cand.score, protect_at(doc)))
        return artifacts_of(doc, self, language, *self._get_updated_entities(spans, scores))


def _configuration(naming: Naming, given: NerModelConfiguration | None) -> NerModelConfiguration:
    """RETURNS (NerModelConfiguration): Our names for our labels; what the user said wins."""
    given = given or NerModelConfiguration()
    names = {label: naming.entity(label) for label in LABELS if label != OTHER}
    said = given.model_to_presidio_entity_mapping or {}
    is_users = "model_to_presidio_entity_mapping" in given.model_fields_set
    names = names | said if is_users else said | names
    ignored = [label for label in LABELS if not names.get(label)]
    update = {
        "model_to_presidio_entity_mapping": {k: v for k, v in names.items() if v},
        "labels_to_ignore": sorted({*ignored, *(given.labels_to_ignore or ())}),
    }
    return given.model_copy(update=update)
