"""Find personally identifiable information in student writing and hide it in plain sight.

    nlp = spacy.load("en_pii_edu")
    doc = nlp(text)
    doc.spans["pii"], doc._.deidentified

Entry points register the components (factories.py). This module stays light: every `spacy.blank()` in the environment imports it.
The attributes of Doc and Span are installed by `pii_components.spans`, which every component imports. To read a DocBin
in a process that makes no pipeline, import it first.
"""

import os

__version__ = "0.16.0"
__all__ = ["__version__", "keep_offline"]


def keep_offline() -> None:
    """Keep libraries from calling out; call it before onnxruntime, tldextract or Presidio is imported.

    From 1.29 on the import of onnxruntime alone writes a device ID below the user's cache folder and looks up its maker's
    host. tldextract, which Presidio's recognizer of e-mail addresses uses, fetches its list when it is first used and stores
    it there. What the user has set is left alone.
    """
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    os.environ.setdefault("TLDEXTRACT_PUBLIC_SUFFIX_LIST_URLS", "")
    os.environ.setdefault("TLDEXTRACT_CACHE", "")
