"""`PiiEduNlpEngine`: our pipeline as Presidio's NLP engine; `Pipeline`: what it and the recognizer run.

    AnalyzerEngine(nlp_engine=PiiEduNlpEngine())                             # the installed package
    AnalyzerEngine(nlp_engine=PiiEduNlpEngine(pipeline=nlp))                 # a pipeline that is loaded
    NlpEngineProvider(nlp_engines=(PiiEduNlpEngine,), conf_file=path)        # nlp_engine_name: pii_edu

Against Presidio's engine for spaCy: entities are those of `doc.spans["pii"]` with their own probabilities, not `doc.ents` with .85
for each; nothing is downloaded; surrogates are not made; a text may be of any length; words that have no lemma stand for themselves,
so that the context words of other recognizers work; and asking whether a word is a stop word leaves no trace in the vocabulary.
"""

import difflib
import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from threading import RLock
from traceback import walk_stack
from types import SimpleNamespace
from typing import Any

import spacy
from spacy.lang.lex_attrs import is_punct
from spacy.language import Language
from spacy.tokenizer import Tokenizer
from spacy.tokens import Doc, Span
from spacy.vocab import Vocab

from ..errors import Errors, PiiError
from ..labels import LABELS, NAME_LABELS
from ..ruler.tokenizer import checked_text
from ..spans import PROTECT_AT, SPANS_KEY, read_spans, write_spans
from .settings import PRESIDIO, Naming, presidio_needed, refuse_unknown, score_of

presidio_needed("The Presidio recognizer")

from presidio_analyzer import (  # noqa: E402
    AnalyzerEngine,
    EntityRecognizer,
    PatternRecognizer,
    RecognizerRegistry,
    RemoteRecognizer,
    predefined_recognizers,
)
from presidio_analyzer.nlp_engine import NerModelConfiguration, NlpArtifacts, SpacyNlpEngine  # noqa: E402

DEFAULT_PIPELINE = "en_pii_edu"
# About 50,000 words, more than a book's chapter: all that a name's first and last mention may be apart.
MAX_CHARS = 250_000
# Makes surrogates, which Presidio's anonymizer is there for.
_NOT_NEEDED = "hips_surrogate"
# Writes `doc.ents`, which is what Presidio's own engine reads.
_WRITES_ENTS = "pii_context"
_OPTIONS = ("labels", "return_cited", "max_chars")
_KEYS = ("lang_code", "model_name", *_OPTIONS)
# An installed package, a folder, or a pipeline that is loaded.
Source = str | Path | Language


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A loaded pipeline, run without surrogates over texts of any length.

    nlp (Language): It writes `doc.spans["pii"]`; it is not changed.
    max_chars (int): A longer text is cut at a line break, and its parts become one Doc again. disable (tuple[str, ...]): What does not run.
    """

    nlp: Language
    max_chars: int = MAX_CHARS
    disable: tuple[str, ...] = ()

    @classmethod
    def open(cls, source: Source, *, language: str = "", max_chars: int = MAX_CHARS) -> "Pipeline":
        """Load a pipeline, unless it is loaded; its own limit is kept if it is lower than `max_chars`. language (str): Any if empty.

        RAISES (PiiError): E804 if there is none, E805 if it does not load, E806 for another language, E807 if it finds nothing,
            E801 for `max_chars`.
        """
        if not isinstance(max_chars, int) or isinstance(max_chars, bool) or max_chars < 1000:
            raise PiiError(
                Errors.E801, name="max_chars", value=max_chars, allowed="a whole number from 1000"
            )
        check_source(source, language=language)
        try:
            nlp = (
                source
                if isinstance(source, Language)
                else spacy.load(source, exclude=[_NOT_NEEDED])
            )
        except (ImportError, OSError, ValueError) as err:
            raise PiiError(
                Errors.E805, pipeline=name_of(source), reason=type(err).__name__
            ) from err
        metas = {name: nlp.get_pipe_meta(name) for name in nlp.pipe_names}
        if not any("doc.spans" in meta.assigns for meta in metas.values()):
            raise PiiError(
                Errors.E807, pipeline=name_of(nlp), pipes=", ".join(nlp.pipe_names) or "nothing"
            )
        disable = tuple(name for name, meta in metas.items() if meta.factory == _NOT_NEEDED)
        return cls(nlp, min(max_chars, nlp.max_length), disable)

    def doc(self, text: str) -> Doc:
        """The Doc of the whole text. RAISES (PiiError): E808, E809 for what is no text."""
        return join(
            [
                self.nlp(part, disable=self.disable)
                for part in cut(checked_text(text), self.max_chars)
            ]
        )

    def docs(
        self, texts: Iterable[tuple[str, Any]], *, batch_size: int | None = None, n_process: int = 1
    ) -> Iterator[tuple[Doc, Any]]:
        """Docs of a stream by `nlp.pipe`, in order, each with what came with its text. RAISES (PiiError): E808, E809."""
        cuts = ((cut(checked_text(text), self.max_chars), context) for text, context in texts)
        stream = (
            (part, (n == len(parts), context))
            for parts, context in cuts
            for n, part in enumerate(parts, 1)
        )
        options: dict[str, Any] = {
            "batch_size": batch_size,
            "n_process": n_process,
            "disable": list(self.disable),
        }
        done: list[Doc] = []
        for doc, (is_last, context) in self.nlp.pipe(stream, as_tuples=True, **options):
            done.append(doc)
            if is_last:
                yield join(done), context
                done = []


def memory_zone(nlp: Language) -> AbstractContextManager[Any]:
    """Frees the words of its texts at the end; no Doc may be used after it. Does nothing where a tokenizer has a cache that would
    point into what is gone."""
    fine = type(nlp.tokenizer) is Tokenizer or hasattr(nlp.tokenizer, "memory_zone")
    return nlp.memory_zone() if fine else nullcontext()


def check_source(source: Source, *, language: str = "") -> None:
    """Check that a pipeline can be had, without loading it. language (str): Two letters; any if empty.

    RAISES (PiiError): E804 if there is none, E806 if it is for another language, E801 if it is nothing of the kind.
    """
    if not isinstance(source, Source) or not str(source):
        raise PiiError(
            Errors.E801,
            name="pipeline",
            value=type(source).__name__,
            allowed="a package, a folder or a Language",
        )
    if isinstance(source, Language):
        spoken = source.lang
    elif not (spacy.util.is_package(str(source)) or Path(source).is_dir()):
        raise PiiError(Errors.E804, pipeline=name_of(source))
    else:
        spoken = meta_of(source).get("lang", "")
    if language and spoken and spoken != language:
        raise PiiError(Errors.E806, language=language, allowed=spoken)


def meta_of(source: Source) -> dict[str, Any]:
    """meta.json of a pipeline, without loading it; empty if it cannot be read."""
    if isinstance(source, Language):
        return source.meta
    path = (
        spacy.util.get_package_path(str(source))
        if spacy.util.is_package(str(source))
        else Path(source)
    )
    try:
        return spacy.util.get_model_meta(path)
    except (OSError, ValueError):
        return {}


def found_labels(source: Source) -> tuple[str, ...]:
    """Labels that a pipeline says it finds, in our order; all of ours where it does not say. Names are
    always among them: `pii_context` finds some that no model found, and has no list."""
    said = {
        label
        for labels in meta_of(source).get("labels", {}).values()
        for label in labels
        if label in LABELS
    }
    return (
        tuple(label for label in LABELS if label in said or label in NAME_LABELS)
        if said
        else LABELS
    )


def name_of(source: Source) -> str:
    """The name of a pipeline, without the folders above it."""
    return (
        f"{source.lang}_{source.meta['name']}"
        if isinstance(source, Language)
        else Path(source).name
    )


def cut(text: str, most: int) -> list[str]:
    """Parts of at most so many characters, one at least, cut at line breaks or else at a space in their last half; together they are the text."""
    parts, start = [], 0
    while len(text) - start > most:
        end = start + most
        for mark in ("\n\n", "\n", " "):
            at = text.rfind(mark, start + most // 2, end - len(mark))
            if at >= 0:
                end = at + len(mark)
                break
        parts.append(text[start:end])
        start = end
    return [*parts, text[start:]]


def join(docs: list[Doc]) -> Doc:
    """One Doc for the parts of a text, with `doc.spans["pii"]`, scores, roles and reasons; one alone as it is."""
    if len(docs) == 1:
        return docs[0]
    left_out = ["spans", "tensor", "user_data"]
    whole = Doc.from_docs(docs, ensure_whitespace=False, exclude=left_out)  # type: ignore[call-arg]  # its stub lacks it
    starts = accumulate((len(doc) for doc in docs), initial=0)
    found = ((at, cand) for at, doc in zip(starts, docs, strict=False) for cand in read_spans(doc))
    write_spans(
        whole, [replace(cand, start=cand.start + at, end=cand.end + at) for at, cand in found]
    )
    whole.spans[SPANS_KEY].attrs[PROTECT_AT] = protect_at(docs[0])
    return whole


def protect_at(doc: Doc) -> float:
    """The probability of being private from which a name of the document is hidden; .5 if nobody has said so."""
    return float(doc.spans[SPANS_KEY].attrs.get(PROTECT_AT, 0.5)) if SPANS_KEY in doc.spans else 0.5


def artifacts_of(
    doc: Doc, engine: Any, language: str, entities: list[Span], scores: list[float] | None = None
) -> NlpArtifacts:
    """What Presidio wants to know of a document; words as they stand, where there are no lemmas."""
    lemmas = [token.lemma_ or token.lower_ for token in doc]
    return NlpArtifacts(
        entities, doc, [token.idx for token in doc], lemmas, engine, language, scores
    )


class PiiEduNlpEngine(SpacyNlpEngine):
    """The engine. `nlp` is a dict of pipelines by language, as in Presidio's; it is None until it is loaded."""

    engine_name = "pii_edu"
    is_available = True

    def __init__(
        self,
        models: Sequence[Mapping[str, Any]] | None = None,
        ner_model_configuration: NerModelConfiguration | None = None,
        *,
        pipeline: Source | None = None,
        labels: str = PRESIDIO,
        return_cited: bool = False,
        max_chars: int = MAX_CHARS,
    ) -> None:
        """
        models: As in Presidio's configuration, `lang_code` and `model_name` of each pipeline; an entry may hold our options as well.
        ner_model_configuration: Its labels to ignore, names for our labels and entities with low scores go before ours.
        pipeline: One pipeline instead of `models`: an installed package, a folder, or a pipeline that is loaded.
        labels, return_cited: See `settings.Naming`. max_chars: See `Pipeline`.
        RAISES (PiiError): E801, E803, E810 for options, E804, E806 for a pipeline that is not there or of another language.
        """
        if models and pipeline is not None:
            raise PiiError(Errors.E810, what=type(self).__name__, first="models", second="pipeline")
        options: dict[str, Any] = {
            "labels": labels,
            "return_cited": return_cited,
            "max_chars": max_chars,
        }
        self._sources: dict[str, Source] = {}
        for model in models or ():
            refuse_unknown((key for key in model if key not in _KEYS), what="models", allowed=_KEYS)
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
            models=[
                {"lang_code": lang, "model_name": str(source)}
                for lang, source in self._sources.items()
            ],
            ner_model_configuration=_configuration(self.naming, ner_model_configuration),
        )
        self.pipelines: dict[str, Pipeline] = {}
        self._lock = RLock()
        self._loaded_already = all(
            isinstance(source, Language) for source in self._sources.values()
        )
        if self._loaded_already:
            self.load()

    def load(self) -> None:
        """Load the pipelines, once. RAISES (PiiError): E805, E807."""
        with self._lock:
            if self.nlp is not None:
                return
            if not self._loaded_already:
                self._enable_gpu()
            self.pipelines = {
                language: Pipeline.open(source, language=language, max_chars=self.max_chars)
                for language, source in self._sources.items()
            }
            self.nlp = {lang: pipeline.nlp for lang, pipeline in self.pipelines.items()}  # type: ignore[assignment]

    def process_text(self, text: str, language: str) -> NlpArtifacts:
        """RETURNS (NlpArtifacts): Of a text of any length; its `tokens` is the Doc. RAISES (PiiError): E806, E808, E809."""
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

        texts (Iterable[Any]): Strings, numbers and None, as BatchAnalyzerEngine lets them through; (text, context) if `as_tuples`.
        YIELDS (tuple[Any, ...]): (text, artifacts) or (text, artifacts, context), in order. RAISES (PiiError): E806, E808, E809.
        """
        pairs = texts if as_tuples else ((text, None) for text in texts)
        # A number or None as Presidio's engine for spaCy writes it.
        stream = (
            (str(t) if t is None or isinstance(t, bool | int | float) else t, context)
            for t, context in pairs
        )
        for doc, context in self._pipeline(language).docs(
            stream, batch_size=batch_size, n_process=n_process
        ):
            artifacts = self._doc_to_nlp_artifact(doc, language)
            yield (doc.text, artifacts, context) if as_tuples else (doc.text, artifacts)

    def memory_zone(self, language: str = "en") -> AbstractContextManager[Any]:
        """For a request of a service: the words of its texts are freed at its end. Artifacts may not be used after it."""
        return memory_zone(self._pipeline(language).nlp)

    def get_supported_entities(self) -> list[str]:
        """RETURNS (list[str]): What the entities of `NlpArtifacts` may be called."""
        ignored = set(self.ner_model_configuration.labels_to_ignore or ())
        names = self.ner_model_configuration.model_to_presidio_entity_mapping or {}
        labels = [
            label
            for source in self._sources.values()
            for label in found_labels(source)
            if label not in ignored
        ]
        return [
            entity
            for entity in dict.fromkeys(names.get(label, label) for label in labels)
            if entity not in ignored
        ]

    def get_supported_languages(self) -> list[str]:
        return list(self._sources)

    def is_stopword(self, word: str, language: str) -> bool:
        return word.lower() in self._pipeline(language).nlp.Defaults.stop_words

    def is_punct(self, word: str, language: str) -> bool:
        return is_punct(word)

    def _pipeline(self, language: str) -> Pipeline:
        self.load()
        if language not in self.pipelines:
            raise PiiError(Errors.E806, language=language, allowed=", ".join(self.pipelines))
        return self.pipelines[language]

    def _doc_to_nlp_artifact(self, doc: Doc, language: str) -> NlpArtifacts:
        cands = read_spans(doc)
        spans = [Span(doc, cand.start, cand.end, label=cand.label) for cand in cands]
        scores = [score_of(cand.label, cand.score, protect_at(doc)) for cand in cands]
        return artifacts_of(doc, self, language, *self._get_updated_entities(spans, scores))


def introduce() -> None:
    """Tell an engine of Presidio's own that is loading a pipeline of ours what its labels are called there.

    Presidio asks no pipeline: it takes the user's mapping or its own, and drops what is not in it, so `model_name: en_pii_edu` alone would find
    nobody. It has no hook for that either, so this looks for the engine among its callers, and changes that one's configuration."""
    engines = (
        frame.f_locals["self"]
        for frame, _ in walk_stack(None)
        if frame.f_code is SpacyNlpEngine.load.__code__
    )
    engine = next(engines, None)
    if engine is not None and any(
        _WRITES_ENTS in meta_of(model["model_name"]).get("pipeline", ()) for model in engine.models
    ):
        engine.ner_model_configuration = _configuration(Naming(), engine.ner_model_configuration)


def _configuration(naming: Naming, given: NerModelConfiguration | None) -> NerModelConfiguration:
    """RETURNS (NerModelConfiguration): Our names for our labels; what the user said goes before them, Presidio's defaults behind."""
    given = given or NerModelConfiguration()
    names, said = (
        {label: naming.entity(label) for label in LABELS},
        given.model_to_presidio_entity_mapping or {},
    )
    ignored = {label for label, name in names.items() if not name} | set(
        given.labels_to_ignore or ()
    )
    names = {label: name for label, name in names.items() if name}
    names = (
        names | said
        if "model_to_presidio_entity_mapping" in given.model_fields_set
        else said | names
    )
    return given.model_copy(
        update={"model_to_presidio_entity_mapping": names, "labels_to_ignore": sorted(ignored)}
    )


# Presidio's recognizers over a Doc that is there already, for `PresidioSource`.
class DocEngine(SpacyNlpEngine):
    """An NLP engine with nothing to load: `AnalyzerEngine.analyze` is given what it would be asked for."""

    def is_punct(self, word: str, language: str) -> bool:
        """Whether it is no word; white space, which is a token of its own in a Doc, is none either."""
        return super().is_punct(word, language) or bool(self.get_nlp(language).vocab[word].is_space)


def make_engine(
    recognizers: list[str | Mapping[str, Any]], *, language: str, vocab: Vocab
) -> AnalyzerEngine:
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
        like = difflib.get_close_matches(name, known, n=5) or [
            "IbanRecognizer",
            "UsSsnRecognizer",
            f"{len(known) - 2} more",
        ]
        raise PiiError(Errors.E842, name=name[:60], known=", ".join(like))
    if kind is not None and not _is_local(kind, given):
        raise PiiError(Errors.E843, name=name)
    try:
        if kind is None:
            return PatternRecognizer.from_dict(
                {"name": name or "PatternRecognizer", "supported_language": language, **given}
            )
        return kind(supported_language=language, **given)  # type: ignore[no-any-return]
    except Exception as err:
        raise PiiError(Errors.E844, name=name[:60], reason=type(err).__name__) from err


def _class_of(name: str) -> Any:
    kind = getattr(predefined_recognizers, name, None)
    return kind if isinstance(kind, type) and issubclass(kind, EntityRecognizer) else None


def _is_local(kind: Any, given: Mapping[str, Any]) -> bool:
    """Whether a class neither calls a service nor fetches a model, where it has one by name that is no folder."""
    path = given.get("model_name")
    fetches = "model_name" in inspect.signature(kind).parameters and not (
        isinstance(path, str) and Path(path).is_dir()
    )
    return not issubclass(kind, RemoteRecognizer) and not fetches


def known_recognizers() -> list[str]:
    """Names of Presidio's recognizers that neither call a service nor fetch a model."""
    return [
        name
        for name in dir(predefined_recognizers)
        if (kind := _class_of(name)) is not None and _is_local(kind, {})
    ]
