"""Presidio, imported so that it stays offline, or an error that says how to get it.

    presidio_needed("the recognizer")
    from presidio_analyzer import LocalRecognizer
"""

import os
from importlib.util import find_spec

from ..errors import Errors, PiiError


def presidio_needed(what: str, *, package: str = "presidio_analyzer") -> None:
    """Call before Presidio is imported.

    what (str): What needs it. package (str): The module.
    RAISES (PiiError): E005, if Presidio is not installed.
    """
    # Presidio's recognizer of e-mail addresses brings tldextract, which fetches its list when it is first used, unless this is set
    # before its import. A list of one's own is left alone.
    os.environ.setdefault("TLDEXTRACT_PUBLIC_SUFFIX_LIST_URLS", "")
    try:
        found = find_spec(package) is not None
    except (ImportError, ValueError):
        found = False
    if not found:
        raise PiiError(Errors.E005, package=package.replace("_", "-"), what=what, extra="presidio")
