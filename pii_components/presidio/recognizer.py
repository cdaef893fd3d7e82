"""`StudentPiiRecognizer`: our pipeline as a recognizer of Presidio; `build_analyzer`: an AnalyzerEngine around it in one call.

    analyzer = build_analyzer()
    analyzer = build_analyzer(pipeline=nlp, return_cited=True, recognizers="my_recognizers.yaml")
    registry.add_recognizer(StudentPiiRecognizer())

or, in a list of recognizers, `- {name: StudentPiiRecognizer, type: predefined}`.

The recognizer reads the Doc that the NLP engine made, when the engine runs our pipeline (PiiEduNlpEngine, or Presidio's own for spaCy
with `model_name: en_pii_edu`), and else loads the pipeline at the first text. Scores are those of `settings.score_of`; probabilities and
what else we know are in the analysis explanation and in the recognition metadata. No text of a person is in either.
"""

from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import Any

from pydantic import ConfigDict, model_validator
from spacy.tokens import Doc

from .. import __version__
from ..errors import Errors, PiiError
from ..labels import EMAIL, ID_NUM, NAME_STUDENT, ROLES, USERNAME
from ..ruler.roster import Roster
from ..ruler.tokenizer import checked_text
from ..spans import ROSTER, SPANS_KEY, Candidate, read_spans
from .engine import (
    DEFAULT_PIPELINE,
    MAX_CHARS,
    PiiEduNlpEngine,
    Pipeline,
    Source,
    check_source,
    found_labels,
    name_of,
    protect_at,
)
from .settings import PRESIDIO, Naming, presidio_needed, read_config, refuse_unknown, score_of

presidio_needed("The Presidio recognizer")

from presidio_analyzer import (  # noqa: E402
    AnalysisExplanation,
    AnalyzerEngine,
    LocalRecognizer,
    PatternRecognizer,
    RecognizerResult,
)
from presidio_analyzer.input_validation.yaml_recognizer_models import (  # noqa: E402
    CONFIG_MODEL_MAP,
    PredefinedRecognizerConfig,
)
from presidio_analyzer.nlp_engine import NlpArtifacts  # noqa: E402
from presidio_analyzer.recognizer_registry import RecognizerRegistryProvider  # noqa: E402

_OPTIONS = (
    "pipeline",
    "labels",
    "return_cited",
    "max_chars",
    "supported_language",
    "supported_languages",
    "supported_entities",
    "name",
    "class_name",
    "type",
    "enabled",
    "context",
    "score_thresholds",
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
        pipeline: Source = DEFAULT_PIPELINE,
        labels: str = PRESIDIO,
        return_cited: bool = False,
        max_chars: int = MAX_CHARS,
        **unknown: Any,
    ) -> None:
        """
        supported_language, name, version: As of Presidio's recognizers. unknown: Refused.
        supported_entities: What may be returned; None for all that the pipeline finds. supported_entity: One of them.
        context: Words near a span that raise its score by Presidio's rule; none are needed, the pipeline reads the context itself.
        pipeline: An installed package, a folder, or a pipeline that is loaded. It is loaded at the first text that comes without a
            Doc of such a pipeline, and never downloaded.
        labels, return_cited: See `settings.Naming`. max_chars: See `engine.Pipeline`.
        RAISES (PiiError): E801 to E803, E810 for options, E804 and E806 for a pipeline that is not there or of another language.
        """
        refuse_unknown(unknown, what=type(self).__name__, allowed=_OPTIONS)
        if supported_entity is not None and supported_entities is not None:
            raise PiiError(
                Errors.E810,
                what=type(self).__name__,
                first="supported_entity",
                second="supported_entities",
            )
        asked = [supported_entity] if supported_entity is not None else supported_entities
        self.name: str
        self.naming, self.pipeline, self.max_chars = (
            Naming(labels, return_cited),
            pipeline,
            max_chars,
        )
        check_source(pipeline, language=supported_language)
        self._all = not asked  # then what a pipeline finds beyond what it says is returned too
        self._opened: Pipeline | None = None
        self._lock = Lock()
        super().__init__(
            supported_entities=self.naming.checked(asked)
            if asked
            else self.naming.entities(found_labels(pipeline)),
            supported_language=supported_language,
            name=name or type(self).__name__,
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
        RAISES (PiiError): E808, E809 for what is no text; E805, E807 if the pipeline does not load.
        """
        doc = getattr(nlp_artifacts, "tokens", None)
        if not (isinstance(doc, Doc) and SPANS_KEY in doc.spans and doc.text == text):
            with self._lock:
                if self._opened is None:
                    self._opened = Pipeline.open(
                        self.pipeline, language=self.supported_language, max_chars=self.max_chars
                    )
            doc = self._opened.doc(text)
        supported = set(self.supported_entities)
        wanted = supported if entities is None else supported & set(entities)
        everything = self._all and wanted == supported
        named = ((self.naming.entity(cand.label), cand) for cand in read_spans(doc))
        return [
            self._result(cand, doc, entity)
            for entity, cand in named
            if entity and (everything or entity in wanted)
        ]

    def _result(self, cand: Candidate, doc: Doc, entity: str) -> RecognizerResult:
        span, score = doc[cand.start : cand.end], score_of(cand.label, cand.score, protect_at(doc))
        roles = dict(sorted(zip(ROLES, cand.roles, strict=False), key=lambda pair: -pair[1]))
        # The label, why, what found it, and how likely each role of a name is.
        known = [
            f"probability {cand.score:.2f}",
            *([f"source {cand.source}"] if cand.source else []),
        ]
        if roles:
            known.append("roles " + ", ".join(f"{role} {p:.2f}" for role, p in roles.items()))
        told = cand.label + (f": {cand.reason}" if cand.reason else "") + f" ({'; '.join(known)})"
        about = {
            "pii_label": cand.label,
            "pii_probability": cand.score,
            "pii_role": cand.role,
            "pii_roles": roles,
        }
        about |= {"pii_reason": cand.reason, "pii_source": cand.source}
        return _result(self, entity, span.start_char, span.end_char, score, told, about)

    def to_dict(self) -> dict[str, Any]:
        """What `from_dict` makes the same recognizer of, its pipeline by name."""
        pipeline = (
            str(self.pipeline) if isinstance(self.pipeline, str | Path) else name_of(self.pipeline)
        )
        own = {
            "labels": self.naming.labels,
            "return_cited": self.naming.return_cited,
            "max_chars": self.max_chars,
        }
        data = {**super().to_dict(), "pipeline": pipeline, "context": list(self.context), **own}
        return {
            key: value
            for key, value in data.items()
            if key != "supported_entities" or not self._all
        }


class RosterRecognizer(LocalRecognizer):
    """What stands on a class list, in any analyzer; see `ruler.roster.Roster`. roster (Roster | str | Path): The list, or its CSV; it is in no
    configuration. labels (str): See `settings.Naming`. RAISES (PiiError): E207 to E210, E801."""

    def __init__(
        self,
        roster: Roster | str | Path,
        *,
        supported_language: str = "en",
        labels: str = PRESIDIO,
        name: str = "RosterRecognizer",
    ) -> None:
        self.roster = roster if isinstance(roster, Roster) else Roster.from_csv(roster)
        self.name: str
        self.naming = Naming(labels)
        entities = self.naming.entities((NAME_STUDENT, EMAIL, ID_NUM, USERNAME))
        super().__init__(
            supported_entities=entities,
            supported_language=supported_language,
            name=name,
            version=__version__,
        )

    def load(self) -> None:
        """Presidio calls it; the list is there."""

    def analyze(
        self,
        text: str,
        entities: Sequence[str] | None = None,
        nlp_artifacts: NlpArtifacts | None = None,
    ) -> list[RecognizerResult]:
        """RETURNS (list[RecognizerResult]): Sorted, without overlaps. RAISES (PiiError): E808, E809 for what is no text."""
        results = []
        for hit in self.roster.find(checked_text(text)):
            entity = self.naming.entity(hit.label)
            if entities is None or entity in entities:
                about = {"pii_label": hit.label, "pii_reason": hit.reason, "pii_source": ROSTER}
                told = f"{hit.label}: {hit.reason}"
                results.append(_result(self, entity, hit.start, hit.end, hit.score, told, about))
        return results


def _result(
    by: Any, entity: str, start: int, end: int, score: float, told: str, about: dict[str, Any]
) -> RecognizerResult:
    """by: The recognizer. told (str): One line for a data steward. about: Metadata of ours. No text of a person is in either."""
    why = AnalysisExplanation(recognizer=by.name, original_score=score, textual_explanation=told)
    by_whom = {
        RecognizerResult.RECOGNIZER_NAME_KEY: by.name,
        RecognizerResult.RECOGNIZER_IDENTIFIER_KEY: by.id,
    }
    return RecognizerResult(entity, start, end, score, why, by_whom | about)


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
    pipeline: Source = DEFAULT_PIPELINE,
    labels: str = PRESIDIO,
    return_cited: bool = False,
    max_chars: int = MAX_CHARS,
    supported_entities: Sequence[str] | None = None,
    recognizers: str | Path | None = None,
    roster: Roster | str | Path | None = None,
    default_score_threshold: float = 0.0,
) -> AnalyzerEngine:
    """Make an AnalyzerEngine of our NLP engine, our recognizer and those of Presidio's that find what ours does not look for.

    pipeline (str | Path | Language), labels (str), return_cited (bool), max_chars (int), supported_entities (Sequence[str] | None): As for
        `StudentPiiRecognizer`; Presidio's own recognizers find theirs whatever `supported_entities` says.
    recognizers (str | Path | None): A list of recognizers in Presidio's YAML, or an analyzer's file with one; that of the file that ships if
        None. What it says of StudentPiiRecognizer is kept, but for the pipeline and its language; if it has none, one is added.
    roster (Roster | str | Path | None): A class list, or its CSV, for a `RosterRecognizer` beside the others; it stays in memory.
    default_score_threshold (float): As in Presidio.
    RETURNS (AnalyzerEngine): Loaded, for the pipeline's language. Nothing is downloaded.
    RAISES (PiiError): E801 to E807 for options and the pipeline, E811, E812 for the list, E207 to E210 for the roster.
    """
    engine = PiiEduNlpEngine(
        pipeline=pipeline, labels=labels, return_cited=return_cited, max_chars=max_chars
    )
    engine.load()
    (language,) = engine.get_supported_languages()
    listed = read_config(recognizers or "analyzer")
    listed = listed.get("recognizer_registry", listed)
    name = StudentPiiRecognizer.__name__
    entries: list[dict[str, Any]] = [
        dict(entry) for entry in listed.get("recognizers") or () if isinstance(entry, dict)
    ]
    if not any(name in (entry.get("name"), entry.get("class_name")) for entry in entries):
        entries.insert(0, {"name": name, "type": "predefined"})
    for entry in entries:
        if name in (entry.get("name"), entry.get("class_name")):
            # The pipeline is loaded once, here; the rest is the file's to say, if it is the user's.
            entry |= {
                "pipeline": engine.pipelines[language].nlp,
                "max_chars": max_chars,
                "supported_languages": [language],
            }
            own = {
                "labels": labels,
                "return_cited": return_cited,
                "supported_entities": supported_entities,
            }
            entry |= (
                {key: value for key, value in own.items() if value is not None}
                if recognizers is None
                else {}
            )
    configuration = {**listed, "supported_languages": [language], "recognizers": entries}
    registry = RecognizerRegistryProvider(
        registry_configuration=configuration
    ).create_recognizer_registry()
    if roster is not None:
        registry.add_recognizer(
            RosterRecognizer(roster, supported_language=language, labels=labels)
        )
    options: dict[str, Any] = {
        "supported_languages": [language],
        "default_score_threshold": default_score_threshold,
    }
    return AnalyzerEngine(registry=registry, nlp_engine=engine, **options)
