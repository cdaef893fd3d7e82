"""The engines behind the server, loaded and warm.

with build_services(ServeSettings(), model="en_pii_edu", key=b"...") as services:
    app = create_app(services, settings)
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from presidio_analyzer import AnalyzerEngine, AnalyzerEngineProvider

from ..errors import Errors, PiiError
from .anonymizer import PiiEduAnonymizer, PiiEduDeanonymizer
from .configuration import read_config
from .serve import Services
from .serve_settings import ServeSettings

if TYPE_CHECKING:
    from ..vault import Vault

# Says nothing about anyone. What components build at their first text is built here, outside of a memory zone.
WARM_UP = "Name: A. Sample\nsample@example.edu, 555-0100, example.edu/~sample, 00000000. Sample (2000) says so."


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """Presidio's three files, as its container takes them; all empty for our own analyzer.

    analyzer (str), nlp (str), recognizers (str): Paths, or "analyzer", "nlp", "recognizers" for those that ship.
    """

    analyzer: str = ""
    nlp: str = ""
    recognizers: str = ""

    @property
    def presidio(self) -> bool:
        """RETURNS (bool): Whether Presidio's provider makes the analyzer."""
        return bool(self.analyzer or self.nlp)


@contextmanager
def build_services(
    settings: ServeSettings,
    *,
    model: str,
    configuration: Configuration | None = None,
    return_cited: bool = False,
    key: bytes | None = None,
    profile: str = "",
    vault: "Vault | None" = None,
) -> Iterator[Services]:
    """Make the engines that the settings ask for.

    settings (ServeSettings): Which services. model (str): Name or path of our pipeline.
    configuration (Configuration | None): Presidio's files. return_cited (bool): Whether cited people are returned, as CITED_PERSON.
    key (bytes | None): Of surrogates; None for the environment's. profile (str): For `hips` and `pseudonym`; empty for crapii.
    vault (Vault | None): Open for writing: gets every text that is anonymised; closed at the end.
    YIELDS (Services): Ready. RAISES (PiiError): E853 and E801 to E812 for files, options and the pipeline; those of the profile.
    """
    made: dict[str, Any] = {}
    try:
        if settings.anonymizer:
            # `Path` says that it is a file: a bare name in a request never is.
            chosen: Any = (Path(profile) if profile.endswith(".toml") else profile) or None
            made["anonymizer"] = _local(PiiEduAnonymizer(key=key, profile=chosen, vault=vault))
            made["deanonymizer"] = PiiEduDeanonymizer(vault=vault)
        if settings.analyzer:
            made["analyzer"] = _analyzer(configuration or Configuration(), model=model, return_cited=return_cited)
        yield Services(**made)
    finally:
        if vault is not None:
            vault.close()


def _analyzer(configuration: Configuration, *, model: str, return_cited: bool) -> AnalyzerEngine:
    from .analyzer import build_analyzer

    if not configuration.presidio:
        analyzer = build_analyzer(pipeline=model, return_cited=return_cited, recognizers=configuration.recognizers or None)
    else:
        analyzer = _provided(configuration)
    for language in analyzer.supported_languages:
        analyzer.analyze(WARM_UP, language)
    return analyzer


def _provided(configuration: Configuration) -> AnalyzerEngine:
    """Presidio's provider goes on with its own files where it cannot read one of ours, and then downloads a model: look first."""
    paths: dict[str, str | None] = {}
    said: dict[str, dict[str, Any]] = {}
    for kind, given in (
        ("analyzer", configuration.analyzer),
        ("nlp", configuration.nlp),
        ("recognizers", configuration.recognizers),
    ):
        said[kind] = read_config(given) if given else {}
        paths[kind] = str(_path(given)) if given else None
    if not configuration.nlp and "nlp_configuration" not in said["analyzer"]:
        raise PiiError(Errors.E853)
    return AnalyzerEngineProvider(
        analyzer_engine_conf_file=paths["analyzer"],
        nlp_engine_conf_file=paths["nlp"],
        recognizer_registry_conf_file=paths["recognizers"],
    ).create_engine()


def _path(given: str) -> Path:
    from .configuration import CONFIGS, config_path

    return config_path(given) if given in CONFIGS else Path(given)


def _local(engine: PiiEduAnonymizer) -> PiiEduAnonymizer:
    """RETURNS (PiiEduAnonymizer): Without Presidio's operator that sends texts to an address which the request names."""
    from presidio_anonymizer.operators import AHDSSurrogate

    if AHDSSurrogate is not None and "surrogate_ahds" in engine.get_anonymizers():
        engine.remove_anonymizer(AHDSSurrogate)
    return engine
