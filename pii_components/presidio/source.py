"""`presidio_source`: Presidio's recognizers as one more source of spans, so that IBAN, SSN, passport and the like can be switched on.

    config = {"recognizers": ["IbanRecognizer", "UsSsnRecognizer"], "labels": {"IBAN_CODE": "ID_NUM"}}
    nlp.add_pipe("presidio_source", before="hips_surrogate", config=config)
    doc = nlp("My IBAN is DE89 3704 0044 0532 0130 00.")
    doc.spans["pii"][0]._.pii_source        # "presidio:IbanRecognizer"

Presidio's engine runs with its own rules (checksums, thresholds, words of context) on the Doc as it is: no second pipeline, no model,
no network. What it finds is merged under our priorities, and nothing that was protected loses protection. Presidio itself is imported
when the component is made.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import srsly
from spacy import util
from spacy.language import Language
from spacy.pipeline import Pipe
from spacy.tokens import Doc

from ..config import Configured
from ..errors import Errors, PiiError
from ..labels import LABELS
from ..spans import SPANS_KEY, Candidate, merge_found, read_spans, write_spans
from .settings import label_of

if TYPE_CHECKING:
    from presidio_analyzer import AnalyzerEngine, RecognizerResult

DEFAULT_RECOGNIZERS = (
    "IbanRecognizer",
    "CreditCardRecognizer",
    "UsSsnRecognizer",
    "UsPassportRecognizer",
)
# What Presidio gives a weak pattern that has a word of context near it; alone, such a pattern has .05.
DEFAULT_THRESHOLD = 0.4


def _candidate(doc: Doc, result: "RecognizerResult", labels: Mapping[str, str]) -> Candidate | None:
    """The whole tokens of a result; None if there is nothing but space."""
    span = doc.char_span(result.start, result.end, alignment_mode="expand")
    tokens = [token.i for token in span or () if not token.is_space]
    if not tokens:
        return None
    # For a data steward; names of types and patterns, nothing from the text.
    reason, why = f"Presidio: {result.entity_type}", result.analysis_explanation
    if why is not None:
        reason += f", pattern {why.pattern_name}" if why.pattern_name else ""
        reason += ", its check digits are right" if why.validation_result else ""
        reason += ", a word near it says so" if why.supportive_context_word else ""
    label, score = label_of(result.entity_type, labels), min(1.0, max(0.0, float(result.score)))
    source = f"presidio:{(result.recognition_metadata or {}).get('recognizer_name', '')}"
    return Candidate(tokens[0], tokens[-1] + 1, label, score=score, source=source, reason=reason)


class PresidioSource(Configured, Pipe):
    """The component. `find_spans` is pure; `set_annotations` writes `doc.spans[spans_key]`.

    nlp (Language): Its language is that of the recognizers. name (str): Name of the component.
    recognizers (Sequence[str | dict]): Names of Presidio's classes; with settings as in its YAML, `{"name": "PhoneRecognizer",
        "supported_regions": ["US"], "context": ["ring"]}`; or patterns of your own, `{"name": "StudentCard", "supported_entity":
        "STUDENT_CARD", "patterns": [{"name": "card", "regex": "...", "score": 0.5}], "context": ["card"]}`.
    labels (dict[str, str]): Presidio's entity -> our label; before `settings.label_of`, which knows Presidio's own.
    score_threshold (float): Least score, 0 to 1, after words of context have raised it.
    context (Sequence[str]): Words that count as being near every value, as for `AnalyzerEngine.analyze`.
    language (str | None): None for that of the pipeline. spans_key (str): The span group.
    RAISES (PiiError): E005 without Presidio; E002, E840 to E844 for settings that cannot be used.
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
        asked: dict[str, Any] = {
            "labels": labels or None,
            "context": list(context) or None,
            "language": language,
        }
        if recognizers is not None:
            asked["recognizers"] = [
                dict(entry) if isinstance(entry, Mapping) else entry for entry in recognizers
            ]
        defaults: dict[str, Any] = {
            "recognizers": [*DEFAULT_RECOGNIZERS],
            "labels": {},
            "context": [],
            "language": nlp.lang,
        }
        defaults["score_threshold"] = DEFAULT_THRESHOLD
        self.configure(
            defaults, asked | {"score_threshold": score_threshold, "spans_key": spans_key}
        )
        # Made now and not at the first document: wrong names are errors here, and worker processes share it.
        self.engine  # noqa: B018

    @cached_property
    def engine(self) -> "AnalyzerEngine":
        """Presidio's engine with the recognizers of the settings. RAISES (PiiError): E002, E005, E840 to E844."""
        from .engine import make_engine

        for label in self.cfg["labels"].values():
            if label not in LABELS:
                raise PiiError(Errors.E002, label=label, allowed=", ".join(LABELS))
        score = self.cfg["score_threshold"]
        if isinstance(score, bool) or not isinstance(score, int | float) or not 0 <= score <= 1:
            raise PiiError(Errors.E840, value=score)
        if not self.cfg["recognizers"]:
            raise PiiError(Errors.E841, examples=", ".join(DEFAULT_RECOGNIZERS))
        return make_engine(self.cfg["recognizers"], language=self.cfg["language"], vocab=self.vocab)

    def __getstate__(self) -> dict[str, Any]:
        # Recognizers are made anew where the component arrives: nobody promises that all of them can be pickled.
        return {name: value for name, value in self.__dict__.items() if name != "engine"}

    def __call__(self, doc: Doc) -> Doc:
        """RETURNS (Doc): The same document, with what the recognizers found in `doc.spans`."""
        try:
            self.set_annotations(doc, self.find_spans(doc))
            return doc
        except Exception as err:
            # A handler that swallows the error leaves no Doc: an unchecked document must not pass for a checked one.
            return self.get_error_handler()(self.name, self, [doc], err)

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """The documents of a stream in order; one that fails goes to the error handler and is left out."""
        return (doc for doc in map(self, stream) if doc is not None)

    def find_spans(self, doc: Doc) -> list[Candidate]:
        """What `doc.spans[spans_key]` should hold, sorted, without overlaps. Changes nothing. RAISES (PiiError): E845, if a recognizer
        fails."""
        from .engine import artifacts_of

        known, language = read_spans(doc, self.cfg["spans_key"]), self.cfg["language"]
        if not len(doc):
            return known
        artifacts = artifacts_of(doc, self.engine.nlp_engine, language, list(doc.ents))
        options = {
            "score_threshold": self.cfg["score_threshold"],
            "context": self.cfg["context"] or None,
        }
        try:
            results = self.engine.analyze(
                doc.text, language, nlp_artifacts=artifacts, return_decision_process=True, **options
            )
        except Exception as err:  # its message may quote the text
            raise PiiError(Errors.E845, reason=type(err).__name__) from None
        found = [
            cand
            for result in results
            if (cand := _candidate(doc, result, self.cfg["labels"])) is not None
        ]
        return merge_found(doc, known, found) if found else known

    def set_annotations(self, doc: Doc, candidates: Iterable[Candidate]) -> None:
        """Write to `doc.spans[spans_key]`. candidates (Iterable[Candidate]): From `find_spans`."""
        write_spans(doc, candidates, self.cfg["spans_key"])

    # Saved are the settings.

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        return bytes(
            util.to_bytes({"cfg": lambda: srsly.json_dumps(self.cfg).encode("utf8")}, exclude)
        )

    def from_bytes(self, bytes_data: bytes, *, exclude: Iterable[str] = ()) -> Self:
        return self._load(
            lambda readers: util.from_bytes(bytes_data, readers, exclude), srsly.json_loads
        )

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        util.to_disk(path, {"cfg": lambda p: srsly.write_json(p, self.cfg)}, exclude)

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> Self:
        return self._load(lambda readers: util.from_disk(path, readers, exclude), srsly.read_json)

    def _load(self, load: Callable[[Any], Any], read: Callable[[Any], Any]) -> Self:
        before = dict(self.cfg)
        with self.loading() as saved:
            load({"cfg": lambda data: saved.update(read(data))})
        if before != self.cfg:
            self.__dict__.pop("engine", None)
            self.engine  # noqa: B018
        return self
