"""Presidio's names that our analyzer is made with, imported so that Presidio stays offline, or an error that says how to get it.

from .api import LocalRecognizer, RecognizerResult
"""

from presidio_analyzer import AnalysisExplanation, AnalyzerEngine, LocalRecognizer, RecognizerResult
from presidio_analyzer.input_validation.yaml_recognizer_models import CONFIG_MODEL_MAP, PredefinedRecognizerConfig
from presidio_analyzer.nlp_engine import NerModelConfiguration, NlpArtifacts, SpacyNlpEngine
from presidio_analyzer.recognizer_registry import RecognizerRegistryProvider

from .settings import presidio_needed

presidio_needed("The Presidio recognizer")


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
