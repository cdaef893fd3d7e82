"""Presidio, both ways: our findings in Presidio, its recognizers in our pipeline, our surrogates among its operators.

    from pii_components.presidio import build_analyzer
    build_analyzer().analyze("My name is Ana Lopez.", language="en")

Presidio is imported when a name is first asked for, because every `spacy.blank()` in the environment imports this
module: the entry point `pii_edu_presidio` makes `StudentPiiRecognizer` known to a process that uses Presidio, so that
YAML alone can name it. Presidio makes its pipeline before its recognizers, and spaCy looks its entry points up whenever
it makes one.
"""

import logging
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .operators import PiiEduAnonymizer, PiiEduDeanonymizer, register_operators
    from .recognizer import PiiEduNlpEngine, StudentPiiRecognizer, build_analyzer
    from .settings import config_path, read_config

logger = logging.getLogger(__name__)
logger.addHandler(logging.NullHandler())

__all__ = [
    "PiiEduAnonymizer",
    "PiiEduDeanonymizer",
    "PiiEduNlpEngine",
    "StudentPiiRecognizer",
    "build_analyzer",
    "config_path",
    "read_config",
    "register_operators",
]
_MODULES = {
    **dict.fromkeys(("PiiEduNlpEngine", "StudentPiiRecognizer", "build_analyzer"), ".recognizer"),
    **dict.fromkeys(("config_path", "read_config"), ".settings"),
}


def _announced() -> None:
    """Makes `StudentPiiRecognizer` known to Presidio whenever spaCy looks for components. It adds nothing to a pipeline."""


def __getattr__(name: str) -> Any:
    if name == "announce":
        # Looked up anew for each pipeline (PEP 562), so it does not matter what was imported first.
        if hasattr(sys.modules.get("presidio_analyzer"), "LocalRecognizer"):
            try:
                import_module(".recognizer", __name__)
            except (ImportError, AttributeError) as err:
                # Another Presidio: spaCy has to work all the same.
                kind = type(err).__name__
                logger.warning("StudentPiiRecognizer does not work with this Presidio (%s)", kind)
        return _announced
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES.get(name, ".operators"), __name__), name)
