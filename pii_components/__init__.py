"""Find personally identifiable information in student writing and hide it in plain sight.

    nlp = spacy.load("en_pii_edu")
    doc = nlp(text)
    doc.spans["pii"], doc._.deidentified

Entry points register the components (factories.py). This module stays light: every `spacy.blank()` in the environment imports it.
"""

import os
import sys
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.util import find_spec
from typing import Any

__version__ = "0.12.0"
__all__ = ["__version__", "keep_offline"]


def keep_offline() -> None:
    """Call before onnxruntime, tldextract or Presidio is imported: from 1.29 on the import of onnxruntime alone writes a device ID below the
    user's cache folder and looks up its maker's host; tldextract, which Presidio's recognizer of e-mail addresses uses, fetches its list when
    it is first used and stores it there. What the user has set is left alone."""
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    os.environ.setdefault("TLDEXTRACT_PUBLIC_SUFFIX_LIST_URLS", "")
    os.environ.setdefault("TLDEXTRACT_CACHE", "")


def _install() -> None:
    import_module(f"{__name__}.spans")  # it may be what is being imported


class _WhenDocIsImported(MetaPathFinder):
    """Installs the attributes of Doc and Span as soon as there are any: to import spaCy here would make every command a second slower."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        if fullname != "spacy.tokens":
            return None
        sys.meta_path.remove(self)
        spec = find_spec(fullname)
        if spec is not None and spec.loader is not None:
            run = spec.loader.exec_module

            def run_and_install(module: Any) -> None:
                run(module)
                _install()

            spec.loader.exec_module = run_and_install  # type: ignore[method-assign]
        return spec


if "spacy.tokens" in sys.modules:
    _install()
else:
    sys.meta_path.insert(0, _WhenDocIsImported())
