"""The systems that are compared: our pipeline, Presidio, a spaCy pipeline's own entities.

    system = PipelineSystem.load("en_pii_edu", protects=Profile.load("crapii").protects)
    run = run_system(system, documents)         # predictions, seconds, words

Each gives `Entity` records with CRAPII's labels where it has an equal, and with its own label where it has none.
Texts are processed in batches, as each system's own documentation advises; loading and the first document do not
count as time.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, Protocol, runtime_checkable

import spacy
from spacy.language import Language
from spacy.tokens import Span

from ..errors import Errors, PiiError
from ..labels import EMAIL, ID_NUM, NAME_STUDENT, PHONE_NUM, URL_PERSONAL, is_name, role_of
from ..spans import SPANS_KEY, install_extensions
from .records import Entity, GoldDocument

BATCH_SIZE = 16

# What the JEDM paper asked Presidio for and how it mapped it (repository AnonJD/PrivacyAI, presidio_inference.py and
# evaluate_crapii.ipynb): these four and no score threshold.
PRESIDIO_FOUR: dict[str, str] = {
    "PERSON": NAME_STUDENT,
    "EMAIL_ADDRESS": EMAIL,
    "URL": URL_PERSONAL,
    "PHONE_NUMBER": PHONE_NUM,
}
# The same and every recognizer for numbers that a person is known by, as ID_NUM. Not mapped, because CRAPII has no
# such label: LOCATION, NRP, DATE_TIME, ORGANIZATION, IP_ADDRESS, MAC_ADDRESS, CRYPTO.
PRESIDIO_WIDE: dict[str, str] = PRESIDIO_FOUR | dict.fromkeys(
    (
        "US_SSN", "US_ITIN", "US_PASSPORT", "US_DRIVER_LICENSE", "US_BANK_NUMBER", "UK_NHS", "CREDIT_CARD", "IBAN_CODE",
        "MEDICAL_LICENSE",
    ),
    ID_NUM,
)  # fmt: skip
PRESIDIO_ENTITY_SETS: dict[str, dict[str, str]] = {"four": PRESIDIO_FOUR, "wide": PRESIDIO_WIDE}
# As Presidio's own conf/default.yaml; without it, every CARDINAL is a warning in the log.
_PRESIDIO_IGNORES = (
    "ORGANIZATION", "ORG", "CARDINAL", "EVENT", "FAC", "LANGUAGE", "LAW", "MONEY", "ORDINAL", "PERCENT", "PRODUCT", "QUANTITY",
    "WORK_OF_ART",
)  # fmt: skip


class System(Protocol):
    """Something that finds personal information.

    name (str): In tables and files. about (Mapping[str, Any]): Versions and settings, for the report.
    """

    name: str
    about: Mapping[str, Any]

    def find(self, documents: Sequence[GoldDocument]) -> Iterator[list[Entity]]:
        """YIELDS (list[Entity]): What was found in each document, in order. Gold is not looked at."""

    def protects(self, label: str) -> bool:
        """RETURNS (bool): Whether what has this label would be hidden."""


@dataclass(frozen=True, slots=True)
class Run:
    """What a system found.

    name (str), about (Mapping[str, Any]): Of the system.
    entities (tuple[Entity, ...]): All that was found, in order.
    protected (frozenset[str]): Labels among them that would be hidden.
    seconds (float): For all documents, without loading. cpu_seconds (float): The same in time of processors, on which other
        programs have less influence.
    words (int): In all documents. stored (bool): Read from a file, timed elsewhere.
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


@runtime_checkable
class StoredResults(Protocol):
    """A system that ran elsewhere: `find` is there too, but its time means nothing."""

    def run(self, documents: Sequence[GoldDocument]) -> Run:
        """RETURNS (Run): With `stored` set, and the time that it took elsewhere."""


def run_system(system: System, documents: Sequence[GoldDocument], *, progress: Callable[[], None] = lambda: None) -> Run:
    """Find entities in all documents and take the time.

    system (System): A loaded system. documents (Sequence[GoldDocument]): The texts.
    progress (Callable[[], None]): Called after each document.
    RETURNS (Run): Predictions and time. The first document is processed once before the clock starts. Stored ones as they are.
    """
    if isinstance(system, StoredResults):
        return system.run(documents)
    list(system.find(documents[:1]))
    found: list[Entity] = []
    start, cpu_start = perf_counter(), process_time()
    for entities in system.find(documents):
        found.extend(entities)
        progress()
    seconds, cpu_seconds = perf_counter() - start, process_time() - cpu_start
    labels = {entity.label for entity in found}
    protected = frozenset(label for label in labels if system.protects(label))
    words = sum(doc.n_words for doc in documents)
    return Run(system.name, system.about, tuple(found), protected, seconds, cpu_seconds, words)


@dataclass(slots=True)
class PipelineSystem:
    """Our pipeline: `doc.spans["pii"]`.

    nlp (Language): Loaded. protects (Callable[[str], bool]): From a profile.
    keep_roles (bool): Whether labels stay as they are; else names become CRAPII's (`crapii_label`).
    """

    nlp: Language
    protects: Callable[[str], bool]
    name: str = "pii_edu"
    about: Mapping[str, Any] = field(default_factory=dict)
    batch_size: int = BATCH_SIZE
    keep_roles: bool = False

    @classmethod
    def load(cls, model: str, *, protects: Callable[[str], bool], name: str = "pii_edu") -> "PipelineSystem":
        """Load a pipeline. Surrogates are left out, as Presidio's anonymizer is: what is compared is detection.

        model (str): An installed package or a path. protects (Callable[[str], bool]): Whether a label is hidden.
        RETURNS (PipelineSystem): Ready. RAISES (PiiError): E516, E517.
        """
        nlp = load_pipeline(model, exclude=("hips_surrogate",))
        return cls(nlp, protects, name, describe_pipeline(nlp))

    def find(self, documents: Sequence[GoldDocument]) -> Iterator[list[Entity]]:
        install_extensions()
        for gold, doc in zip(documents, self.nlp.pipe((d.text for d in documents), batch_size=self.batch_size), strict=True):
            spans = doc.spans.get(SPANS_KEY, ())
            if self.keep_roles:
                yield [entity_of(gold, s.start_char, s.end_char, s.label_, role=other_role(s)) for s in spans]
            else:
                yield [entity_of(gold, s.start_char, s.end_char, crapii_label(s.label_, self.protects)) for s in spans]


def crapii_label(label: str, protects: Callable[[str], bool]) -> str:
    """CRAPII's label for one of ours: every person's name that a profile hides counts as NAME_STUDENT.

    CRAPII has one label for names; its annotators, told to label liberally, gave it to classmates and team members too.

    label (str): One of `labels.LABELS`. protects (Callable[[str], bool]): From a profile.
    RETURNS (str): NAME_STUDENT, or the label as it is.
    """
    return NAME_STUDENT if is_name(label) and protects(label) else label


@dataclass(slots=True)
class SpacyNerSystem:
    """A spaCy pipeline's `doc.ents`: every PERSON counts as a student's name.

    nlp (Language): Loaded. labels (Mapping[str, str]): Label of an entity -> CRAPII's label; others are left out.
    """

    nlp: Language
    name: str = "spacy_ner"
    labels: Mapping[str, str] = field(default_factory=lambda: {"PERSON": NAME_STUDENT, "PER": NAME_STUDENT})
    about: Mapping[str, Any] = field(default_factory=dict)
    batch_size: int = BATCH_SIZE

    @classmethod
    def load(cls, model: str, *, name: str = "spacy_ner") -> "SpacyNerSystem":
        """RETURNS (SpacyNerSystem): With an installed package or a path. RAISES (PiiError): E516, E517."""
        nlp = load_pipeline(model)
        return cls(nlp, name, about=describe_pipeline(nlp))

    def protects(self, label: str) -> bool:
        return True

    def find(self, documents: Sequence[GoldDocument]) -> Iterator[list[Entity]]:
        for gold, doc in zip(documents, self.nlp.pipe((d.text for d in documents), batch_size=self.batch_size), strict=True):
            ents = [(ent.start_char, ent.end_char, self.labels.get(ent.label_)) for ent in doc.ents]
            yield [entity_of(gold, start, end, label) for start, end, label in ents if label]


@dataclass(slots=True)
class PresidioSystem:
    """Presidio's AnalyzerEngine with a spaCy pipeline of the user's choice.

    analyzer (Any): A `presidio_analyzer.AnalyzerEngine`. labels (Mapping[str, str]): Presidio's entity -> CRAPII's
    label; only these are asked for.
    """

    analyzer: Any
    name: str = "presidio"
    labels: Mapping[str, str] = field(default_factory=lambda: PRESIDIO_FOUR)
    about: Mapping[str, Any] = field(default_factory=dict)
    batch_size: int = BATCH_SIZE

    @classmethod
    def load(cls, model: str, *, entities: str = "four", name: str = "presidio") -> "PresidioSystem":
        """Presidio with a spaCy pipeline.

        model (str): An installed package or a path; nothing is downloaded.
        entities (str): "four" as in the JEDM paper, or "wide": see `PRESIDIO_ENTITY_SETS`.
        RETURNS (PresidioSystem): Ready. RAISES (PiiError): E005 without Presidio, E516, E517.
        """
        return cls.from_nlp(load_pipeline(model), entities=entities, name=name)

    @classmethod
    def from_nlp(cls, nlp: Language, *, entities: str = "four", name: str = "presidio") -> "PresidioSystem":
        """RETURNS (PresidioSystem): Around a pipeline that is loaded. RAISES (PiiError): E005 without Presidio."""
        about = describe_pipeline(nlp) | {"entities": entities, "presidio": package_version("presidio-analyzer")}
        return cls(presidio_analyzer(nlp), name, PRESIDIO_ENTITY_SETS[entities], about)

    def protects(self, label: str) -> bool:
        return True

    def find(self, documents: Sequence[GoldDocument]) -> Iterator[list[Entity]]:
        asked = list(self.labels)
        texts = (doc.text for doc in documents)
        batches = self.analyzer.nlp_engine.process_batch(texts, language="en", batch_size=self.batch_size)
        for gold, (text, artifacts) in zip(documents, batches, strict=True):
            results = self.analyzer.analyze(text=text, language="en", entities=asked, nlp_artifacts=artifacts)
            # A number that two recognizers know is one ID_NUM; overlapping findings of two kinds stay two, as in JEDM.
            found = sorted({(r.start, r.end, self.labels[r.entity_type]) for r in results})
            yield [entity_of(gold, start, end, label) for start, end, label in found]


def presidio_analyzer(nlp: Language) -> Any:
    """An AnalyzerEngine that neither downloads a pipeline nor looks the network up.

    nlp (Language): Used as it is. RETURNS (Any): With Presidio's default recognizers for English.
    RAISES (PiiError): E005, if Presidio is not installed.
    """
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
    configuration = NerModelConfiguration(labels_to_ignore=list(_PRESIDIO_IGNORES))
    engine = SpacyNlpEngine(ner_model_configuration=configuration)
    engine.nlp = {"en": nlp}  # type: ignore[assignment]  # set, so that the engine counts as loaded and fetches nothing
    return AnalyzerEngine(nlp_engine=engine, supported_languages=["en"])


def load_pipeline(model: str, *, exclude: Sequence[str] = ()) -> Language:
    """Load a spaCy pipeline.

    model (str): An installed package or a path. exclude (Sequence[str]): Components that are not loaded.
    RETURNS (Language): The pipeline. RAISES (PiiError): E516 if there is none, E517 if it does not load.
    """
    if not (Path(model).exists() or spacy.util.is_package(model)):
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
