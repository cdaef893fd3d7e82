"""Presidio's names that our analyzer is made with, imported so that Presidio stays offline, or an error that says how to get it.

    from .api import LocalRecognizer, RecognizerResult
"""

from .offline import presidio_needed

presidio_needed("The Presidio recognizer")

from presidio_analyzer import AnalysisExplanation, AnalyzerEngine, LocalRecognizer, RecognizerResult  # noqa: E402
from presidio_analyzer.input_validation.yaml_recognizer_models import CONFIG_MODEL_MAP, PredefinedRecognizerConfig  # noqa: E402
from presidio_analyzer.nlp_engine import NerModelConfiguration, NlpArtifacts, SpacyNlpEngine  # noqa: E402
from presidio_analyzer.recognizer_registry import RecognizerRegistryProvider  # noqa: E402

__all__ = [
    "CONFIG_MODEL_MAP",
    "AnalysisExplanation",
    "AnalyzerEngine",
    "LocalRecognizer",
    "NerModelConfiguration",
    "NlpArtifacts",
    "PredefinedRecognizerConfig",
    "RecognizerRegistryProvider",
    "RecognizerResult",
    "SpacyNlpEngine",
]
