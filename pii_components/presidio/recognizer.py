"""`StudentPiiRecognizer`: our pipeline as a recognizer of Presidio.

    registry.add_recognizer(StudentPiiRecognizer())
    analyzer = AnalyzerEngine(registry=registry, nlp_engine=PiiEduNlpEngine())

or, in a list of recognizers, `- {name: StudentPiiRecognizer, type: predefined}`.

It reads the Doc that the NLP engine made, when the engine runs our pipeline (PiiEduNlpEngine, or Presidio's own for spaCy with
`model_name: en_pii_edu`), and else loads the pipeline at the first text. Scores are probabilities of spans; what we know beyond them
is in the analysis explanation and in the recognition metadata. No text of a person is in either.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from pydantic import ConfigDict

from ..about import __version__
from ..errors import Errors, PiiError
from ..labels import ROLES
from ..spans import SPANS_KEY, Candidate, read_spans
from .api import CONFIG_MODEL_MAP, AnalysisExplanation, LocalRecognizer, PredefinedRecognizerConfig, RecognizerResult
from .pipelines import DEFAULT_PIPELINE, MAX_CHARS, Pipeline, check_source, found_labels, name_of
from .settings import PRESIDIO, Naming, refuse_unknown

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

    from .api import NlpArtifacts

# Keys of `recognition_metadata`, beside Presidio's own two.
LABEL_KEY, ROLE_KEY, ROLES_KEY, REASON_KEY, SOURCE_KEY = "pii_label", "pii_role", "pii_roles", "pii_reason", "pii_source"
_OWN = ("pipeline", "labels", "return_cited", "max_chars")
_PRESIDIOS = (
    "supported_language",
    "supported_languages",
    "supported_entities",
    "name",
    "class_name",
    "type",
    "enabled",
    "context",
)


class StudentPiiRecognizer(LocalRecognizer):
    """The recognizer. What Presidio gives a constructor comes by keyword; options of ours are checked."""

    def __init__(
        self,
        supported_language: str = "en",
        supported_entities: Sequence[str] | None = None,
        name: str | None = None,
        context: Sequence[str] | None = None,
        *,
        supported_entity: str | None = None,
        version: str = __version__,
        pipeline: "str | Path | Language" = DEFAULT_PIPELINE,
        labels: str = PRESIDIO,
        return_cited: bool = False,
        max_chars: int = MAX_CHARS,
        **unknown: Any,
    ) -> None:
        """
        supported_language (str): That of the pipeline. supported_entities (Sequence[str] | None): What may be returned; None for all
            that the pipeline finds. supported_entity (str | None): One of them.
        name (str | None): In results. context (Sequence[str] | None): Words near a span that raise its score by Presidio's rule; none
            are needed, since the pipeline reads the context itself. version (str): Of this recognizer.
        pipeline (str | Path | Language): An installed package, a folder, or a pipeline that is loaded. It is loaded at the first text
            that comes without a Doc of such a pipeline, and never downloaded.
        labels (str), return_cited (bool): See `settings.Naming`. max_chars (int): See `pipelines.Pipeline`.
        RAISES (PiiError): E801 to E803 for options, E804 and E806 for a pipeline that is not there or of another language.
        """
        refuse_unknown(unknown, what=type(self).__name__, allowed=(*_OWN, *_PRESIDIOS, "score_thresholds"))
        if supported_entity is not None and supported_entities is not None:
            raise PiiError(Errors.E810, what=type(self).__name__, first="supported_entity", second="supported_entities")
        self.name: str
        self.naming = Naming(labels, return_cited)
        check_source(pipeline, language=supported_language)
        asked = [supported_entity] if supported_entity is not None else supported_entities
        self.pipeline, self.max_chars = pipeline, max_chars
        # Whether it is all: then what a pipeline finds beyond what it says is returned too.
        self._all = not asked
        self._opened: Pipeline | None = None
        self._lock = Lock()
        super().__init__(
            supported_entities=self.naming.checked(asked) if asked else self.naming.entities(found_labels(pipeline)),
            supported_language=supported_language,
            name=name or type(self).__name__,
            version=version,
            context=list(context or ()),
        )

    def load(self) -> None:
        """Presidio calls it when the recognizer is made; the pipeline is loaded when it is needed."""

    def analyze(
        self, text: str, entities: Sequence[str] | None = None, nlp_artifacts: "NlpArtifacts | None" = None
    ) -> list[RecognizerResult]:
        """Find personal information.

        text (str): The text. entities (Sequence[str] | None): What is asked for; None for all. Others' entities are ignored.
        nlp_artifacts (NlpArtifacts | None): Of the NLP engine.
        RETURNS (list[RecognizerResult]): Sorted, without overlaps.
        RAISES (PiiError): E808, E809 for what is no text; E805, E807 if the pipeline does not load.
        """
        doc = _doc_of(nlp_artifacts, text)
        if doc is None:
            doc = self._pipeline().doc(text)
        wanted = set(self.supported_entities if entities is None else entities)
        everything = self._all and wanted.issuperset(self.supported_entities)
        results = []
        for cand in read_spans(doc):
            entity = self.naming.entity(cand.label)
            if entity and (everything or (entity in wanted and entity in self.supported_entities)):
                results.append(self._result(cand, doc, entity))
        return results

    def _pipeline(self) -> Pipeline:
        if self._opened is None:
            with self._lock:
                if self._opened is None:
                    self._opened = Pipeline.open(self.pipeline, language=self.supported_language, max_chars=self.max_chars)
        return self._opened

    def _result(self, cand: Candidate, doc: "Doc", entity: str) -> RecognizerResult:
        span = doc[cand.start : cand.end]
        return RecognizerResult(
            entity_type=entity,
            start=span.start_char,
            end=span.end_char,
            score=cand.score,
            analysis_explanation=AnalysisExplanation(
                recognizer=self.name, original_score=cand.score, textual_explanation=explain(cand)
            ),
            recognition_metadata={
                RecognizerResult.RECOGNIZER_NAME_KEY: self.name,
                RecognizerResult.RECOGNIZER_IDENTIFIER_KEY: self.id,
                **metadata(cand),
            },
        )

    def to_dict(self) -> dict[str, Any]:
        """RETURNS (dict[str, Any]): What `from_dict` makes the same recognizer of, its pipeline by name."""
        pipeline = str(self.pipeline) if isinstance(self.pipeline, str | Path) else name_of(self.pipeline)
        own = {"labels": self.naming.labels, "return_cited": self.naming.return_cited, "max_chars": self.max_chars}
        data = {**super().to_dict(), "pipeline": pipeline, "context": list(self.context), **own}
        return {key: value for key, value in data.items() if key != "supported_entities"} if self._all else data


def explain(cand: Candidate) -> str:
    """RETURNS (str): One line for a data steward: the label, why, what found it, and how likely each role of a name is."""
    reason = f": {cand.reason}" if cand.reason else ""
    told = [f"source {cand.source}"] if cand.source else []
    if cand.roles:
        told.append("roles " + ", ".join(f"{role} {p:.2f}" for role, p in _ranked(cand)))
    return cand.label + reason + (f" ({'; '.join(told)})" if told else "")


def metadata(cand: Candidate) -> dict[str, Any]:
    """RETURNS (dict[str, Any]): Plain data, so that it can be copied and sent: our label, role and its probabilities, reason, source."""
    return {
        LABEL_KEY: cand.label,
        ROLE_KEY: cand.role,
        ROLES_KEY: dict(_ranked(cand)),
        REASON_KEY: cand.reason,
        SOURCE_KEY: cand.source,
    }


def _ranked(cand: Candidate) -> Iterable[tuple[str, float]]:
    return sorted(zip(ROLES, cand.roles, strict=False), key=lambda pair: -pair[1])


def _doc_of(nlp_artifacts: "NlpArtifacts | None", text: str) -> "Doc | None":
    """RETURNS (Doc | None): The Doc behind the artifacts, if a pipeline like ours made it of this text."""
    doc = getattr(nlp_artifacts, "tokens", None)
    spans = getattr(doc, "spans", None)
    return doc if doc is not None and spans is not None and SPANS_KEY in spans and doc.text == text else None


class StudentPiiRecognizerConfig(PredefinedRecognizerConfig):
    """Lets our options through: Presidio's own class for the entries of a list drops what it does not know, and the recognizer has to
    see a wrong one to refuse it."""

    model_config = ConfigDict(extra="allow")


CONFIG_MODEL_MAP[StudentPiiRecognizer.__name__] = StudentPiiRecognizerConfig
