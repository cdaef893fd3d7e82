"""`presidio_source`: Presidio's recognizers as one more source of spans, so that IBAN, SSN, passport and the like can be switched on.

    config = {"recognizers": ["IbanRecognizer", "UsSsnRecognizer"], "labels": {"IBAN_CODE": "ID_NUM"}}
    nlp.add_pipe("presidio_source", before="hips_surrogate", config=config)
    doc = nlp("My IBAN is DE89 3704 0044 0532 0130 00.")
    doc.spans["pii"][0]._.pii_source        # "presidio:IbanRecognizer"

Presidio's engine runs with its own rules (checksums, thresholds, words of context) on the Doc as it is: no second pipeline, no model,
no network. What it finds is merged under our priorities, and nothing that was protected loses protection. Presidio itself is imported
when the component is made.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import srsly
from spacy import util
from spacy.language import Language
from spacy.pipeline import Pipe
from spacy.tokens import Doc

from ..errors import Errors, PiiError
from ..labels import LABELS
from ..spans import SPANS_KEY, Candidate, install_extensions, read_spans, write_spans
from .source_merge import merge_found

if TYPE_CHECKING:
    from .source_engine import SourceEngine

DEFAULT_RECOGNIZERS = ("IbanRecognizer", "CreditCardRecognizer", "UsSsnRecognizer", "UsPassportRecognizer")
# What Presidio gives a weak pattern that has a word of context near it; alone, such a pattern has .05.
DEFAULT_THRESHOLD = 0.4


@Language.factory(
    "presidio_source",
    assigns=["doc.spans"],
    default_config={
        "recognizers": list(DEFAULT_RECOGNIZERS),
        "labels": {},
        "score_threshold": DEFAULT_THRESHOLD,
        "context": [],
        "language": None,
        "spans_key": SPANS_KEY,
    },
)
def make_presidio_source(
    nlp: Language,
    name: str,
    *,
    recognizers: list[str | dict[str, Any]],
    labels: dict[str, str],
    score_threshold: float,
    context: list[str],
    language: str | None,
    spans_key: str,
) -> "PresidioSource":
    """Make the component; see `PresidioSource`."""
    return PresidioSource(
        nlp,
        name,
        recognizers=recognizers,
        labels=labels,
        score_threshold=score_threshold,
        context=context,
        language=language,
        spans_key=spans_key,
    )


class PresidioSource(Pipe):
    """The component. `find_spans` is pure; `set_annotations` writes `doc.spans[spans_key]`.

    nlp (Language): Its language is that of the recognizers. name (str): Name of the component.
    recognizers (Sequence[str | dict]): Names of Presidio's classes; with settings as in its YAML, `{"name": "PhoneRecognizer",
        "supported_regions": ["US"], "context": ["ring"]}`; or patterns of your own, `{"name": "StudentCard", "supported_entity":
        "STUDENT_CARD", "patterns": [{"name": "card", "regex": "...", "score": 0.5}], "context": ["card"]}`.
    labels (Mapping[str, str]): Presidio's entity -> our label; before `entities.label_of`, which knows Presidio's own.
    score_threshold (float): Least score, 0 to 1, after words of context have raised it.
    context (Sequence[str]): Words that count as being near every value, as for `AnalyzerEngine.analyze`.
    language (str | None): None for that of the pipeline. spans_key (str): The span group.
    RAISES (PiiError): E005 without Presidio; E840 to E844 for settings that cannot be used.
    """

    def __init__(
        self,
        nlp: Language,
        name: str = "presidio_source",
        *,
        recognizers: Sequence[str | dict[str, Any]] = DEFAULT_RECOGNIZERS,
        labels: dict[str, str] | None = None,
        score_threshold: float = DEFAULT_THRESHOLD,
        context: Sequence[str] = (),
        language: str | None = None,
        spans_key: str = SPANS_KEY,
    ) -> None:
        install_extensions()  # here too: with several processes it is workers that write spans, and this one that reads them
        self.name, self.vocab = name, nlp.vocab
        self.cfg: dict[str, Any] = {
            "recognizers": list(recognizers),
            "labels": dict(labels or {}),
            "score_threshold": score_threshold,
            "context": list(context),
            "language": language or nlp.lang,
            "spans_key": spans_key,
        }
        self._engine: SourceEngine | None = None
        # Made now and not at the first document: wrong names are errors here, and worker processes share it.
        self.engine  # noqa: B018

    @property
    def engine(self) -> "SourceEngine":
        """RETURNS (SourceEngine): Presidio's engine with the recognizers of the settings."""
        if self._engine is None:
            check_settings(self.cfg)
            from .source_engine import SourceEngine

            self._engine = SourceEngine(
                self.vocab,
                self.cfg["recognizers"],
                language=self.cfg["language"],
                score_threshold=self.cfg["score_threshold"],
                context=self.cfg["context"],
                labels=self.cfg["labels"],
            )
        return self._engine

    def __getstate__(self) -> dict[str, Any]:
        # Recognizers are made anew where the component arrives: nobody promises that all of them can be pickled.
        return {**self.__dict__, "_engine": None}

    def __call__(self, doc: Doc) -> Doc:
        """RETURNS (Doc): The same document, with what the recognizers found in `doc.spans`."""
        error_handler = self.get_error_handler()
        try:
            self.set_annotations(doc, self.find_spans(doc))
            return doc
        except Exception as err:
            # A handler that swallows the error leaves no Doc: an unchecked document must not pass for a checked one.
            return error_handler(self.name, self, [doc], err)

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """YIELDS (Doc): The documents of a stream in order; one that fails goes to the error handler and is left out."""
        error_handler = self.get_error_handler()
        for docs in util.minibatch(stream, size=batch_size):
            for doc in docs:
                try:
                    self.set_annotations(doc, self.find_spans(doc))
                except Exception as err:
                    error_handler(self.name, self, [doc], err)
                else:
                    yield doc

    def find_spans(self, doc: Doc) -> list[Candidate]:
        """What `doc.spans[spans_key]` should hold. Changes nothing.

        doc (Doc): The document. RETURNS (list[Candidate]): Sorted, without overlaps.
        """
        known = read_spans(doc, self.cfg["spans_key"])
        found = self.engine.find(doc) if len(doc) else []
        return merge_found(doc, known, found) if found else known

    def set_annotations(self, doc: Doc, candidates: Iterable[Candidate]) -> None:
        """Write to `doc.spans[spans_key]`. doc (Doc): The document. candidates (Iterable[Candidate]): From `find_spans`."""
        write_spans(doc, candidates, self.cfg["spans_key"])

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """RETURNS (bytes): The settings."""
        data: bytes = util.to_bytes({"cfg": lambda: srsly.json_dumps(self.cfg).encode("utf8")}, exclude)
        return data

    def from_bytes(self, bytes_data: bytes, *, exclude: Iterable[str] = ()) -> "PresidioSource":
        """RETURNS (PresidioSource): The component with the settings of `to_bytes`."""
        util.from_bytes(bytes_data, {"cfg": self._loader(srsly.json_loads)}, exclude)
        return self

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Write the settings to a folder."""
        folder = util.ensure_path(path)
        folder.mkdir(parents=True, exist_ok=True)
        util.to_disk(folder, {"cfg": lambda p: srsly.write_json(p, self.cfg)}, exclude)

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> "PresidioSource":
        """RETURNS (PresidioSource): The component with the settings of `to_disk`."""
        util.from_disk(util.ensure_path(path), {"cfg": self._loader(srsly.read_json)}, exclude)
        return self

    def _loader(self, read: Callable[[Any], Any]) -> Callable[[Any], None]:
        def load(source: Any) -> None:
            data = read(source)
            if data != self.cfg:
                self.cfg.update(data)
                self._engine = None
                self.engine  # noqa: B018

        return load


def check_settings(cfg: dict[str, Any]) -> None:
    """RAISES (PiiError): E002 for a label that is none of ours, E840 for a threshold, E841 if there is no recognizer."""
    for label in cfg["labels"].values():
        if label not in LABELS:
            raise PiiError(Errors.E002, label=label, allowed=", ".join(LABELS))
    score = cfg["score_threshold"]
    if isinstance(score, bool) or not isinstance(score, int | float) or not 0 <= score <= 1:
        raise PiiError(Errors.E840, value=score)
    if not cfg["recognizers"]:
        raise PiiError(Errors.E841, examples=", ".join(DEFAULT_RECOGNIZERS))
