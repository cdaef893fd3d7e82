"""Azure AI Language's detection of personal information as a baseline, through Presidio's own remote recognizer.

    AZURE_AI_ENDPOINT=https://NAME.cognitiveservices.azure.com AZURE_AI_KEY=... pii-edu evaluate compare ... --systems azure

It sends the texts to Microsoft's service: use it for texts that may go there. The service is asked not to keep them
(`disable_service_logs`), and neither texts nor the key reach a log.

A synchronous request takes 5 documents of 5,120 characters (the service's data limits); a longer text goes in windows that overlap,
each finding counted once. The JEDM paper's way, asynchronous with 125,000 characters per document, gives the model other windows:
scores may differ in the last digits. Presidio's recognizer sends one text at a time and drops what the service refused; here it is
given answers that were fetched five at a time, and a refusal is an error.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, cast
from urllib.parse import urlsplit

from spacy.util import minibatch

from ..errors import Errors, PiiError
from ..labels import EMAIL, ID_NUM, NAME_STUDENT, PHONE_NUM, STREET_ADDRESS, URL_PERSONAL
from .records import Entity, GoldDocument
from .systems import BATCH_SIZE, entity_of, package_version

ENDPOINT, KEY = "AZURE_AI_ENDPOINT", "AZURE_AI_KEY"
MAX_DOCUMENTS = 5
MAX_CHARACTERS = 5120
# Characters at each side of a window that are there for context only: findings belong to the window in whose middle they begin.
MARGIN = 256
RETRIES = 8
# Seconds between tries without Retry-After: .4, .8, 1.6 …
BACKOFF = 0.4
TIMEOUT = 60
_LOOPBACK = ("127.0.0.1", "::1", "localhost")

# The types that the JEDM paper took from Azure, as Presidio's recognizer writes them.
AZURE_FOUR: dict[str, str] = {"PERSON": NAME_STUDENT, "EMAIL": EMAIL, "URL": URL_PERSONAL, "PHONENUMBER": PHONE_NUM}
# Not mapped, because CRAPII has no such label or because they identify no person; all others are numbers of persons.
_OTHER = ("ORGANIZATION", "AGE", "DATE", "IPADDRESS", "EUGPSCOORDINATES", "SWIFTCODE", "ABAROUTINGNUMBER", "ALL", "DEFAULT")
_SECRETS = ("AZURE", "SQLSERVER")


def azure_labels(entities: str, categories: Iterable[str]) -> dict[str, str]:
    """CRAPII's label for each type.

    entities (str): "four" as in the JEDM paper, or "wide": addresses, and every number that a person is known by as ID_NUM.
    categories (Iterable[str]): What the service knows, in upper case.
    RETURNS (dict[str, str]): Azure's type -> CRAPII's label.
    """
    if entities == "four":
        return dict(AZURE_FOUR)
    numbers = {
        category: ID_NUM
        for category in categories
        if category not in (*AZURE_FOUR, *_OTHER, "ADDRESS") and not category.startswith(_SECRETS)
    }
    return AZURE_FOUR | {"ADDRESS": STREET_ADDRESS} | numbers


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch of a document that fits a request.

    document (GoldDocument): The document. start, end (int): Characters that are sent.
    first, last (int): Findings that begin from `first` to before `last` are this window's.
    """

    document: GoldDocument
    start: int
    end: int
    first: int
    last: int

    @property
    def text(self) -> str:
        """RETURNS (str): What is sent."""
        return self.document.text[self.start : self.end]


def windows(document: GoldDocument, *, size: int = MAX_CHARACTERS, margin: int = MARGIN) -> Iterator[Window]:
    """Cover a document.

    document (GoldDocument): Of any length. size (int): Characters of a window. margin (int): Context at an inner edge.
    YIELDS (Window): Their middles cover the document without overlap; windows of white space are left out.
    """
    length = len(document.text)
    start = 0
    while start < length:
        end = min(start + size, length)
        window = Window(document, start, end, start + margin if start else 0, length if end == length else end - margin)
        if window.text.strip():
            yield window
        if end == length:
            return
        start = end - 2 * margin


class FetchedAnswers:
    """Stands before Presidio's recognizer as the SDK's client and hands out answers that are there already."""

    def __init__(self) -> None:
        self.answer: Any = None

    def recognize_pii_entities(self, _documents: Sequence[str], **_options: Any) -> list[Any]:
        """RETURNS (list[Any]): The answer that was put here."""
        return [self.answer]


@dataclass(slots=True)
class AzureSystem:
    """Azure AI Language.

    client (Any): A `TextAnalyticsClient`. recognizer (Any): Presidio's `AzureAILanguageRecognizer` over `answers`.
    labels (Mapping[str, str]): Azure's type -> CRAPII's label; only these are asked for.
    """

    client: Any
    recognizer: Any
    answers: FetchedAnswers
    labels: Mapping[str, str]
    name: str = "azure"
    about: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_environment(cls, *, entities: str = "four", name: str = "azure") -> "AzureSystem":
        """With the endpoint and the key that the environment has; nothing is sent yet.

        entities (str): "four" or "wide", see `azure_labels`. name (str): In tables.
        RETURNS (AzureSystem): Ready. RAISES (PiiError): E746, E747, E005.
        """
        endpoint, key = credentials(name)
        return cls.connect(endpoint, key, entities=entities, name=name)

    @classmethod
    def connect(cls, endpoint: str, key: str, *, entities: str = "four", name: str = "azure", **options: Any) -> "AzureSystem":
        """With an endpoint and a key.

        endpoint (str): https://…; http:// only on this machine. key (str): The secret.
        options (Any): For the SDK's client, such as `transport`.
        RETURNS (AzureSystem): Ready. RAISES (PiiError): E747, E005 without the SDK or Presidio.
        """
        check_endpoint(endpoint)
        try:
            from presidio_analyzer.predefined_recognizers import AzureAILanguageRecognizer
        except ImportError as err:
            raise PiiError(Errors.E005, package="presidio-analyzer", what="the Azure baseline", extra="azure") from err
        try:
            from azure.ai.textanalytics import TextAnalyticsClient
            from azure.core.credentials import AzureKeyCredential
        except ImportError as err:
            raise PiiError(Errors.E005, package="azure-ai-textanalytics", what="the Azure baseline", extra="azure") from err
        settings: dict[str, Any] = {
            "retry_total": RETRIES,
            "retry_status": RETRIES,
            "retry_backoff_factor": BACKOFF,
            "connection_timeout": TIMEOUT,
            "read_timeout": TIMEOUT,
            "permit_redirects": False,  # a redirect would carry texts to another place
            "logging_enable": False,  # the SDK's log of bodies, whatever the level
        }
        client = TextAnalyticsClient(endpoint, AzureKeyCredential(key), **settings | options)
        answers = FetchedAnswers()
        recognizer = AzureAILanguageRecognizer(ta_client=cast(Any, answers))
        about = {
            "entities": entities,
            "remote": True,
            "presidio": package_version("presidio-analyzer"),
            "azure-ai-textanalytics": package_version("azure-ai-textanalytics"),
            "api_version": client._api_version,
        }
        return cls(client, recognizer, answers, azure_labels(entities, recognizer.supported_entities), name, about)

    def protects(self, label: str) -> bool:
        return True

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

    def _fetch(self, stream: Iterable[Window]) -> Iterator[tuple[Window, Any]]:
        """YIELDS (tuple[Window, Any]): Each window with the service's answer. RAISES (PiiError): E748, E749."""
        stream = iter(stream)
        while batch := list(islice(stream, MAX_DOCUMENTS)):
            for window, answer in zip(batch, self._request([window.text for window in batch]), strict=True):
                if answer.is_error:
                    raise PiiError(Errors.E749, document=window.document.id, code=answer.error.code)
                yield window, answer

    def _request(self, texts: list[str]) -> list[Any]:
        from azure.core.exceptions import AzureError

        try:
            # The SDK tries a POST again for 429 only if there is a Retry-After; recognizing twice does no harm.
            return self.client.recognize_pii_entities(
                texts, language="en", disable_service_logs=True, retry_on_methods=frozenset({"POST"})
            )
        except (AzureError, ValueError) as err:
            status = getattr(err, "status_code", None) or "none"
            code = getattr(getattr(err, "error", None), "code", None) or type(err).__name__
            # Not chained: what a server writes into its message is not in our hands.
            raise PiiError(Errors.E748, status=status, code=code, tries=RETRIES + 1) from None


def credentials(name: str = "azure") -> tuple[str, str]:
    """What the environment has.

    name (str): The system's, for the message.
    RETURNS (tuple[str, str]): Endpoint and key. RAISES (PiiError): E746, if one is missing, E747.
    """
    missing = [variable for variable in (ENDPOINT, KEY) if not os.environ.get(variable)]
    if missing:
        raise PiiError(Errors.E746, name=name, missing=", ".join(missing))
    check_endpoint(os.environ[ENDPOINT])
    return os.environ[ENDPOINT], os.environ[KEY]


def check_endpoint(endpoint: str) -> None:
    """RAISES (PiiError): E747, if texts and key would travel in clear."""
    parts = urlsplit(endpoint)
    if not parts.hostname or not (parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK)):
        raise PiiError(Errors.E747)
