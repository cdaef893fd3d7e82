"""`GET /metrics`: counters and latencies in Prometheus' text format. Routes, methods, codes and entity types; no text, no ids.

    pii_edu_requests_total{method="POST",route="/analyze",status="200"} 12.0
    pii_edu_found_total{entity="PERSON"} 31.0

A request can bring entity types of its own (ad hoc recognizers), and a path can be anything: what the server does not know is
counted as "other".
"""

from collections.abc import Collection, Iterable

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Histogram,
    disable_created_metrics,
    generate_latest,
)

OTHER = "other"
METHODS = ("GET", "HEAD", "POST", "OPTIONS", "PUT", "PATCH", "DELETE")
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)


class Metrics:
    """The counters of one server.

    routes (Collection[str]): Paths that are counted by name. entities (Collection[str]): Entity types that are counted by name.
    """

    content_type = CONTENT_TYPE_LATEST

    def __init__(self, *, routes: Collection[str], entities: Collection[str]) -> None:
        self.routes = frozenset(routes)
        self.entities = frozenset(entities)
        disable_created_metrics()  # else each counter has its date of birth beside it
        self.registry = CollectorRegistry()
        self.requests = Counter("pii_edu_requests", "Requests answered.", ("route", "method", "status"), registry=self.registry)
        self.seconds = Histogram(
            "pii_edu_request_seconds", "Time until the answer.", ("route",), buckets=SECONDS, registry=self.registry
        )
        self.texts = Counter("pii_edu_texts", "Texts processed.", ("route",), registry=self.registry)
        self.found = Counter("pii_edu_found", "Spans found, by entity type.", ("entity",), registry=self.registry)

    def answered(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count a request. route (str): Path as the server knows it. status (int): HTTP code. seconds (float): Until the answer."""
        route = route if route in self.routes else OTHER
        method = method if method in METHODS else OTHER
        self.requests.labels(route=route, method=method, status=str(status)).inc()
        self.seconds.labels(route=route).observe(seconds)

    def processed(self, route: str, texts: int) -> None:
        """Count texts. route (str): One of the routes. texts (int): How many."""
        self.texts.labels(route=route).inc(texts)

    def spans(self, entities: Iterable[str]) -> None:
        """Count what was found. entities (Iterable[str]): Its types."""
        for entity in entities:
            self.found.labels(entity=entity if entity in self.entities else OTHER).inc()

    def render(self) -> bytes:
        """RETURNS (bytes): Prometheus' text format."""
        return generate_latest(self.registry)
