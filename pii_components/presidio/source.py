"""`presidio_source`: Presidio's recognizers as one more source of spans, so that IBAN, SSN, passport and the like can be switched on.

    config = {"recognizers": ["IbanRecognizer", "UsSsnRecognizer"], "labels": {"IBAN_CODE": "ID_NUM"}}
    nlp.add_pipe("presidio_source", before="hips_surrogate", config=config)
    doc = nlp("My IBAN is DE89 3704 0044 0532 0130 00.")
    doc.spans["pii"][0]._.pii_source        # "presidio:IbanRecognizer"

Presidio's engine runs with its own rules (checksums, thresholds, words of context) on the Doc as it is: no second
pipeline, no model, no network. What it finds is merged under our priorities, and nothing that was protected loses
protection.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import srsly
from spacy.language import Language
from spacy.pipeline import Pipe
from spacy.tokens import Doc

from ..config import Saved
from ..errors import Errors, PiiError
from ..labels import LABELS
from ..ruler.component import OnePerDoc
from ..spans import SPANS_KEY, Candidate, merge_found, read_spans, write_spans
from .recognizer import artifacts_of
from .settings import label_of

# `engine` has looked whether Presidio is installed.
from presidio_analyzer import (  # isort: skip
    AnalyzerEngine,
    EntityRecognizer,
    PatternRecognizer,
    RecognizerRegistry,
    RecognizerResult,
    RemoteRecognizer,
    predefined_recognizers,
)
from presidio_analyzer.nlp_engine import SpacyNlpEngine  # isort: skip

DEFAULT_RECOGNIZERS = (
    "IbanRecognizer",
    "CreditCardRecognizer",
    "UsSsnRecognizer",
    "UsPassportRecognizer",
)
# What Presidio gives a weak pattern that has a word of context near it; alone, such a pattern has .05.
DEFAULT_THRESHOLD = 0.4


class DocEngine(SpacyNlpEngine):
    """An NLP engine with nothing to load: `AnalyzerEngine.analyze` is given what it would be asked for."""

    def is_punct(self, word: str, language: str) -> bool:
        """Whether it is no word; white space, which is a token of its own in a Doc, is none either."""
        lexeme = self.get_nlp(language).vocab[word]
        return bool(lexeme.is_punct or lexeme.is_space)


def make_recognizer(entry: str | Mapping[str, Any], language: str) -> EntityRecognizer:
    """Make the recognizer of an entry in the settings, for this language, whatever its country.

    RAISES (PiiError): E844 if it would leave this machine, if there is none of that name, or its settings are not
        usable.
    """
    given = {"name": entry} if isinstance(entry, str) else dict(entry)
    name = str(given.pop("name", "PatternRecognizer"))
    kind: Any = getattr(predefined_recognizers, name, None)
    try:
        if not (inspect.isclass(kind) and issubclass(kind, EntityRecognizer)):
            own = {"name": name, "supported_language": language, **given}
            return PatternRecognizer.from_dict(own)
        is_remote = issubclass(kind, RemoteRecognizer)
        if "model_name" in inspect.signature(kind).parameters:
            folder = given.get("model_name")
            is_remote = not (folder and Path(folder).is_dir())
        if is_remote:
            reason = (
                "it calls a service or fetches a model; give model_name a folder, or leave it out"
            )
            raise PiiError(Errors.E844, name=name, reason=reason)
        return kind(supported_language=language, **given)  # type: ignore[no-any-return]
    except PiiError:
        raise
    except Exception as err:
        raise PiiError(Errors.E844, name=name[:60], reason=type(err).__name__) from err


def _candidate(doc: Doc, result: RecognizerResult, labels: Mapping[str, str]) -> Candidate | None:
    """RETURNS (Candidate | None): The whole tokens of a result; None if there is nothing but space."""
    span = doc.char_span(result.start, result.end, alignment_mode="expand")
    tokens = [token.i for token in span or () if not token.is_space]
    if not tokens:
        return None
    # For a data steward; names of types and patterns, nothing from the text.
    why = result.analysis_explanation
    reasons = [f"Presidio: {result.entity_type}"]
    if why.pattern_name:
        reasons.append(f"pattern {why.pattern_name}")
    if why.validation_result:
        reasons.append("its check digits are right")
    if why.supportive_context_word:
        reasons.append("a word near it says so")
    return Candidate(
        tokens[0],
        tokens[-1] + 1,
        label_of(result.entity_type, labels),
        score=min(1.0, max(0.0, float(result.score))),
        source=f"presidio:{result.recognition_metadata['recognizer_name']}",
        reason=", ".join(reasons),
    )


class PresidioSource(OnePerDoc, Saved, Pipe):
    """The component. `find_spans` is pure; `set_annotations` writes `doc.spans[spans_key]`.

    nlp (Language): Its language is that of the recognizers.
    name (str): Name of the component.
    recognizers (Sequence[str | dict]): Names of Presidio's classes; with settings as in its YAML,
        `{"name": "PhoneRecognizer", "supported_regions": ["US"], "context": ["ring"]}`; or patterns of your own,
        `{"name": "StudentCard", "supported_entity": "STUDENT_CARD", "patterns": [{"name": "card", "regex": "...",
        "score": 0.5}], "context": ["card"]}`.
    labels (dict[str, str]): Presidio's entity -> our label; before `settings.label_of`, which knows Presidio's own.
    score_threshold (float): Least score, 0 to 1, after words of context have raised it.
    context (Sequence[str]): Words that count as being near every value, as for `AnalyzerEngine.analyze`.
    language (str | None): None for that of the pipeline.
    spans_key (str): The span group.
    RAISES (PiiError): E005 without Presidio; E002, E650, E844 for settings that cannot be used.
    """

    def __init__(
        self,
        nlp: Language,
        name: str = "presidio_source",
        *,
        recognizers: Sequence[str | dict[str, Any]] | None = None,
        labels: dict[str, str] | None = None,
        score_threshold: float | None = None,
        context: Sequence[str] = (),
        language: str | None = None,
        spans_key: str = SPANS_KEY,
    ) -> None:
        self.vocab, self.name = nlp.vocab, name
        defaults: dict[str, Any] = {
            "recognizers": [*DEFAULT_RECOGNIZERS],
            "labels": {},
            "context": [],
            "language": nlp.lang,
            "score_threshold": DEFAULT_THRESHOLD,
        }
        asked: dict[str, Any] = {
            "recognizers": None if recognizers is None else [*recognizers],
            "labels": labels or None,
            "context": [*context] or None,
            "language": language,
            "score_threshold": score_threshold,
            "spans_key": spans_key,
        }
        self.configure(defaults, asked)
        self.engine = self._make_engine()

    @property
    def labels(self) -> tuple[str, ...]:
        """RETURNS (tuple[str, ...]): Those of all that its recognizers look for."""
        entities = self.engine.get_supported_entities(self.cfg["language"])
        return tuple(sorted({label_of(entity, self.cfg["labels"]) for entity in entities}))

    def _make_engine(self) -> AnalyzerEngine:
        """RETURNS (AnalyzerEngine): With the recognizers of the settings. RAISES (PiiError): As the class."""
        for label in self.cfg["labels"].values():
            if label not in LABELS:
                raise PiiError(Errors.E002, label=label, allowed=", ".join(LABELS))
        score = self.cfg["score_threshold"]
        if not 0 <= score <= 1:
            allowed = "a number from 0 to 1"
            raise PiiError(Errors.E650, name="score_threshold", value=score, allowed=allowed)
        if not self.cfg["recognizers"]:
            allowed = "names of Presidio's, such as " + ", ".join(DEFAULT_RECOGNIZERS)
            raise PiiError(Errors.E650, name="recognizers", value="empty", allowed=allowed)
        language = self.cfg["language"]
        nlp_engine = DocEngine()
        nlp_engine.nlp = {language: SimpleNamespace(vocab=self.vocab)}  # type: ignore[assignment]
        made = [make_recognizer(entry, language) for entry in self.cfg["recognizers"]]
        registry = RecognizerRegistry(recognizers=made, supported_languages=[language])
        return AnalyzerEngine(
            registry=registry, nlp_engine=nlp_engine, supported_languages=[language]
        )

    def __getstate__(self) -> dict[str, Any]:
        # Recognizers are made anew where the component arrives: nobody promises that all of them can be pickled.
        return {name: value for name, value in self.__dict__.items() if name != "engine"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.engine = self._make_engine()

    def find_spans(self, doc: Doc) -> list[Candidate]:
        """RETURNS (list[Candidate]): What `doc.spans[spans_key]` should hold, sorted, without overlaps.
        RAISES (PiiError): E845, if a recognizer fails."""
        known, language = read_spans(doc, self.cfg["spans_key"]), self.cfg["language"]
        if not len(doc):
            return known
        try:
            results = self.engine.analyze(
                doc.text,
                language,
                nlp_artifacts=artifacts_of(doc, self.engine.nlp_engine, language, list(doc.ents)),
                return_decision_process=True,
                score_threshold=self.cfg["score_threshold"],
                context=self.cfg["context"] or None,
            )
        except Exception as err:  # its message may quote the text
            raise PiiError(Errors.E845, reason=type(err).__name__) from None
        found = [_candidate(doc, result, self.cfg["labels"]) for result in results]
        return merge_found(doc, known, [cand for cand in found if cand is not None])

    def set_annotations(self, doc: Doc, candidates: Iterable[Candidate]) -> None:
        """Write to `doc.spans[spans_key]`. candidates (Iterable[Candidate]): From `find_spans`."""
        write_spans(doc, candidates, self.cfg["spans_key"])

    # Saved are the settings.

    def parts(self) -> dict[str, Callable[[], bytes]]:
        return {"cfg": lambda: srsly.json_dumps(self.cfg, indent=2).encode("utf8")}

    def read_parts(self, found: Mapping[str, bytes]) -> None:
        with self.loading() as saved:
            saved.update(srsly.json_loads(found.get("cfg", b"{}")))
        self.engine = self._make_engine()
