"""`PiiEduNlpEngine`: our pipeline as Presidio's NLP engine; `StudentPiiRecognizer`: as a recognizer of Presidio; `build_analyzer`: an
AnalyzerEngine around both.

    analyzer = build_analyzer()
    analyzer = build_analyzer(pipeline=nlp, cited="person", recognizers="my_recognizers.yaml")
    AnalyzerEngine(nlp_engine=PiiEduNlpEngine(pipeline=nlp))                 # or the installed package
    NlpEngineProvider(nlp_engines=(PiiEduNlpEngine,), conf_file=path)        # nlp_engine_name: pii_edu
    registry.add_recognizer(StudentPiiRecognizer())

or, in a list of recognizers, `- {name: StudentPiiRecognizer, type: predefined}`.

Against Presidio's engine for spaCy: entities are those of `doc.spans["pii"]` with their own probabilities, not `doc.ents` with .85 for
each; nothing is downloaded; surrogates are not made; and words that have no lemma stand for themselves, so that the context words of
other recognizers work.

The recognizer reads the Doc that the NLP engine made, when the engine runs our pipeline (PiiEduNlpEngine, or Presidio's own for spaCy
with `model_name: en_pii_edu`), and else loads the pipeline at the first text. Scores are those of `settings.score_of`; probabilities and
what else we know are in the analysis explanation and in the recognition metadata. No text of a person is in either.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from threading import Lock, RLock
from types import SimpleNamespace
from typing import Any

import spacy
from pydantic import ConfigDict, model_validator
from spacy.language import Language
from spacy.tokens import Doc, Span

from .. import __version__
from ..errors import Errors, PiiError, checked_text
from ..labels import LABELS, OTHER, PRESIDIO_ENTITIES, ROLES
from ..release.engine import SURROGATES, load_pipeline, surrogate_pipes
from ..spans import PROTECT_AT, SPANS_KEY, Candidate, read_spans
from .settings import (
    LABEL_KEY,
    OMIT,
    PRESIDIO,
    Naming,
    label_of,
    presidio_needed,
    read_config,
    score_of,
)

presidio_needed("The Presidio recognizer")

from presidio_analyzer import (  # noqa: E402
    AnalysisExplanation,
    AnalyzerEngine,
    LemmaContextAwareEnhancer,
    LocalRecognizer,
    PatternRecognizer,
    RecognizerResult,
    predefined_recognizers,
)
from presidio_analyzer.input_validation.yaml_recognizer_models import (  # noqa: E402
    CONFIG_MODEL_MAP,
    PredefinedRecognizerConfig,
)
from presidio_analyzer.nlp_engine import NerModelConfiguration, NlpArtifacts, SpacyNlpEngine  # noqa: E402
from presidio_analyzer.recognizer_registry import RecognizerRegistryProvider  # noqa: E402

_OPTIONS = (
    "pipeline, labels, cited, direct_only, supported_language, supported_entities, name, context"
)
# What Presidio gives a weak pattern that has a word of context near it.
_LEAST = 0.4
DEFAULT_PIPELINE = "en_pii_edu"
# Values of tables that are no text.
_PLAIN = (bool, int, float, type(None))
# An installed package, a folder, or a pipeline that is loaded.
PipelineSource = str | Path | Language


def open_pipeline(source: PipelineSource) -> Language:
    """Load a pipeline, unless it is loaded; without surrogates, which Presidio's anonymizer is there for.

    RETURNS (Language): It writes `doc.spans["pii"]`.
    RAISES (PiiError): E516, E517 if it does not load, E518 if it finds nothing.
    """
    is_path = not isinstance(source, Language)
    nlp: Language = load_pipeline(source, exclude=[SURROGATES]) if is_path else source  # type: ignore
    if not any("doc.spans" in nlp.get_pipe_meta(name).assigns for name in nlp.pipe_names):
        pipes = ", ".join(nlp.pipe_names) or "nothing"
        raise PiiError(
            Errors.E518,
            model=name_of(nlp),
            factory=f"that finds (it has: {pipes})",
            what="write doc.spans",
        )
    return nlp


def check_source(source: PipelineSource, language: str) -> None:
    """Check that a pipeline can be had, without loading it.

    RAISES (PiiError): E516 if there is none, E517 if it cannot be read, E519 if it is for another language.
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
        raise PiiError(Errors.E519, value=language, what="language of the pipeline", allowed=spoken)


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
        RAISES (PiiError): E650 for options; E516 to E519 for a pipeline that is not there or of another language.
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
        """Load the pipelines, once. RAISES (PiiError): E517, E518."""
        with self._lock:
            if self.nlp is None:
                loaded = {lang: open_pipeline(source) for lang, source in self._sources.items()}
                self.nlp = loaded  # type: ignore[assignment]

    def process_text(self, text: str, language: str) -> NlpArtifacts:
        """RETURNS (NlpArtifacts): Its `tokens` is the Doc. RAISES (PiiError): E519, E808, E809."""
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
        RAISES (PiiError): E519, E808, E809.
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
            allowed = ", ".join(pipelines)
            raise PiiError(
                Errors.E519, value=language, what="language of the pipeline", allowed=allowed
            )
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


class StudentPiiRecognizer(LocalRecognizer):
    """The recognizer. What Presidio gives a constructor comes by keyword; options of ours are checked."""

    def __init__(
        self,
        supported_language: str = "en",
        supported_entities: Sequence[str] | None = None,
        name: str = "StudentPiiRecognizer",
        context: Sequence[str] = (),
        *,
        version: str = __version__,
        pipeline: PipelineSource = DEFAULT_PIPELINE,
        labels: str = PRESIDIO,
        cited: str = OMIT,
        direct_only: bool = False,
        **unknown: Any,
    ) -> None:
        """
        supported_language, name, version: As of Presidio's recognizers.
        supported_entities (Sequence[str] | None): What may be returned; None for all that the pipeline finds, but for
            OTHER_PII, which has to be named.
        context (Sequence[str]): Words near a span that raise its score by Presidio's rule; none are needed, the
            pipeline reads the context itself.
        pipeline (PipelineSource): An installed package, a folder, or a pipeline that is loaded. It is loaded at the first
            text that comes without a Doc of such a pipeline, and never downloaded.
        labels, cited, direct_only: See `settings.Naming`.
        unknown: Refused.
        RAISES (PiiError): E650 to E546 for options, E516 to E519 for a pipeline that is not there or of another
            language.
        """
        for option in unknown:
            raise PiiError(Errors.E546, key=option, where="StudentPiiRecognizer", allowed=_OPTIONS)
        self.name: str
        self.naming = Naming(labels, cited, direct_only)
        self.pipeline = pipeline
        check_source(pipeline, supported_language)
        self._all = not supported_entities  # then a label of the user's own is returned too
        self._opened: Language | None = None
        self._lock = Lock()
        super().__init__(
            supported_entities=self.naming.chosen(supported_entities),
            supported_language=supported_language,
            name=name,
            version=version,
            context=list(context or ()),
        )

    def load(self) -> None:
        """Presidio calls it when the recognizer is made; the pipeline is loaded when it is needed."""

    def analyze(
        self,
        text: str,
        entities: Sequence[str] | None = None,
        nlp_artifacts: NlpArtifacts | None = None,
    ) -> list[RecognizerResult]:
        """Find personal information.

        entities (Sequence[str] | None): What is asked for; None for all. Others' entities are ignored.
        RETURNS (list[RecognizerResult]): Sorted, without overlaps.
        RAISES (PiiError): E808, E809 for what is no text; E517, E518 if the pipeline does not load.
        """
        doc = getattr(nlp_artifacts, "tokens", None)
        if not (isinstance(doc, Doc) and SPANS_KEY in doc.spans and doc.text == text):
            nlp = self._pipeline()
            doc = nlp(checked_text(text), disable=surrogate_pipes(nlp))
        elif nlp_artifacts is not None and not any(nlp_artifacts.lemmas):
            # Presidio's own engine, which the YAML names: its words of context are lemmas, and we have none.
            words = artifacts_of(doc, nlp_artifacts.nlp_engine, self.supported_language, [])
            nlp_artifacts.lemmas, nlp_artifacts.keywords = words.lemmas, words.keywords
        supported = set(self.supported_entities)
        wanted = supported if entities is None else supported & set(entities)
        results = []
        for cand in read_spans(doc):
            entity = self.naming.entity(cand.label)
            is_own = cand.label not in LABELS and self._all
            asked = wanted == supported or entity in (entities or ())
            if entity and (entity in wanted or (is_own and asked)):
                results.append(self._result(cand, doc, entity))
        return results

    def enhance_using_context(
        self,
        text: str,
        raw_recognizer_results: list[RecognizerResult],
        other_raw_recognizer_results: list[RecognizerResult],
        nlp_artifacts: NlpArtifacts,
        context: list[str] | None = None,
    ) -> list[RecognizerResult]:
        """RETURNS (list[RecognizerResult]): Ours; where a recognizer of Presidio's knows more of a number (US_SSN), with its
        type, so that operators for it fire. Span and score stay."""
        known = PRESIDIO_ENTITIES.values()
        theirs = [r for r in other_raw_recognizer_results if r.entity_type not in known]
        names = {r.recognition_metadata[r.RECOGNIZER_IDENTIFIER_KEY]: r for r in theirs}
        recognizers: list[Any] = []
        for ident, result in names.items():
            name = result.recognition_metadata[result.RECOGNIZER_NAME_KEY]
            words = getattr(getattr(predefined_recognizers, name, None), "CONTEXT", ())
            recognizers.append(SimpleNamespace(id=ident, name=name, context=words))
        enhancer = LemmaContextAwareEnhancer()
        theirs = enhancer.enhance_using_context(text, theirs, nlp_artifacts, recognizers, context)
        for ours in raw_recognizer_results:
            label = ours.recognition_metadata[LABEL_KEY]
            same = [r for r in theirs if ours.intersects(r) and label_of(r.entity_type) == label]
            best = max(same, key=lambda result: result.score, default=ours)
            if best.score >= _LEAST:
                ours.entity_type = best.entity_type
        return raw_recognizer_results

    def _pipeline(self) -> Language:
        with self._lock:
            self._opened = self._opened or open_pipeline(self.pipeline)
        return self._opened

    def _result(self, cand: Candidate, doc: Doc, entity: str) -> RecognizerResult:
        span = doc[cand.start : cand.end]
        label = self.naming.label(cand.label)
        score = score_of(label, cand.score, protect_at(doc))
        roles = dict(sorted(zip(ROLES, cand.roles, strict=False), key=lambda pair: -pair[1]))
        known = f"probability {cand.score:.2f}"
        if cand.source:
            known += f"; source {cand.source}"
        if roles:
            known += "; roles " + ", ".join(f"{role} {p:.2f}" for role, p in roles.items())
        reason = f": {cand.reason}" if cand.reason else ""
        why = AnalysisExplanation(
            recognizer=self.name,
            original_score=score,
            textual_explanation=f"{cand.label}{reason} ({known})",
        )
        metadata = {
            RecognizerResult.RECOGNIZER_NAME_KEY: self.name,
            RecognizerResult.RECOGNIZER_IDENTIFIER_KEY: self.id,
            LABEL_KEY: label,
            "pii_probability": cand.score,
            "pii_role": cand.role,
            "pii_roles": roles,
            "pii_reason": cand.reason,
            "pii_source": cand.source,
        }
        return RecognizerResult(entity, span.start_char, span.end_char, score, why, metadata)

    def to_dict(self) -> dict[str, Any]:
        """RETURNS (dict[str, Any]): What `from_dict` makes the same recognizer of, its pipeline by name."""
        is_named = isinstance(self.pipeline, str | Path)
        data = super().to_dict() | {
            "pipeline": str(self.pipeline) if is_named else name_of(self.pipeline),
            "context": list(self.context),
            "labels": self.naming.labels,
            "cited": self.naming.cited,
            "direct_only": self.naming.direct_only,
        }
        if self._all:
            del data["supported_entities"]
        return data


class StudentPiiRecognizerConfig(PredefinedRecognizerConfig):
    """Lets our options through: Presidio's own class for the entries of a list drops what it does not know, and the recognizer has to
    see a wrong one to refuse it.

    A list inside the analyzer's file is checked before any pipeline is loaded, that is, before Presidio can know of us: there the entry
    says `class_name: PatternRecognizer`, which Presidio knows and cannot make without a pattern, and becomes ours when the list is read again."""

    model_config = ConfigDict(extra="allow")

    @model_validator(mode="before")
    @classmethod
    def _known_by_now(cls, entry: dict[str, Any]) -> dict[str, Any]:
        ours = (
            entry.get("class_name") == PatternRecognizer.__name__
            and entry.get("name") == StudentPiiRecognizer.__name__
        )
        return {**entry, "class_name": StudentPiiRecognizer.__name__} if ours else entry


CONFIG_MODEL_MAP |= dict.fromkeys(
    (StudentPiiRecognizer.__name__, PatternRecognizer.__name__), StudentPiiRecognizerConfig
)


def build_analyzer(
    *,
    pipeline: PipelineSource = DEFAULT_PIPELINE,
    labels: str = PRESIDIO,
    cited: str = OMIT,
    direct_only: bool = False,
    supported_entities: Sequence[str] | None = None,
    recognizers: str | Path | None = None,
    default_score_threshold: float = 0.0,
) -> AnalyzerEngine:
    """Make an AnalyzerEngine of our NLP engine, our recognizer and those of Presidio's that find what ours does not look for.

    pipeline, labels, cited, direct_only, supported_entities: As for `StudentPiiRecognizer`; Presidio's own recognizers
        find theirs whatever `supported_entities` says.
    recognizers (str | Path | None): A list of recognizers in Presidio's YAML, or an analyzer's file with one; that of
        the file that ships if None. What it says of StudentPiiRecognizer is kept, but for the pipeline and its
        language; if it has none, one is added.
    default_score_threshold (float): As in Presidio.
    RETURNS (AnalyzerEngine): Loaded, for the pipeline's language. Nothing is downloaded.
    RAISES (PiiError): E516 to E650 for options and the pipeline and E900 for the list.
    """
    naming: dict[str, Any] = {"labels": labels, "cited": cited, "direct_only": direct_only}
    engine = PiiEduNlpEngine(pipeline=pipeline, **naming)
    engine.load()
    pipelines: dict[str, Language] = engine.nlp or {}
    ((language, nlp),) = pipelines.items()
    # The pipeline is loaded once, here; the rest is the file's to say, if it is the user's.
    forced: dict[str, Any] = {"pipeline": nlp, "supported_languages": [language]}
    if recognizers is None:
        forced |= naming
        if supported_entities is not None:
            forced["supported_entities"] = list(supported_entities)
    listed = read_config(recognizers or "analyzer")
    listed = listed.get("recognizer_registry", listed)
    name = StudentPiiRecognizer.__name__
    entries, is_listed = [], False
    for entry in listed.get("recognizers") or ():
        if isinstance(entry, dict) and name in (entry.get("name"), entry.get("class_name")):
            entry, is_listed = entry | forced, True
        entries.append(entry)
    if not is_listed:
        entries.insert(0, {"name": name, "type": "predefined"} | forced)
    registry = RecognizerRegistryProvider(
        registry_configuration=listed | {"supported_languages": [language], "recognizers": entries}
    ).create_recognizer_registry()
    return AnalyzerEngine(
        registry=registry,
        nlp_engine=engine,
        supported_languages=[language],
        default_score_threshold=default_score_threshold,
    )
