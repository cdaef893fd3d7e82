"""Which language a text is in, by Chromium's Compact Language Detector 2: the one that the CRAPII paper used.

    detect_language("This is an essay about storytelling.")     # "en"

Of the packages that could stand here, pycld2 0.42 is the paper's own detector, has wheels for Python 3.11 to 3.13 on Linux, macOS and
Windows (14 MB with its tables), and downloads nothing. gcld3 and langid have no wheels, lingua takes 96 MB, and py3langid (4.5 MB) is
another algorithm.
"""

import re
from functools import cache
from typing import Any

from ..errors import Errors, PiiError

UNKNOWN = "un"
# What CLD2 refuses as no interchange-valid UTF-8, and what says nothing about a language: control signs and noncharacters.
_REFUSED = re.compile(
    "[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef"
    + "".join(f"{chr(plane * 0x10000 + 0xFFFE)}{chr(plane * 0x10000 + 0xFFFF)}" for plane in range(17))
    + "]"
)


def detect_language(text: str) -> str:
    """The language that most of a text is in.

    text (str): Any text.
    RETURNS (str): CLD2's code ("en", "es", "zh-Hant"); "un" if it recognises none.
    RAISES (PiiError): E005, if pycld2 is not installed.
    """
    cld2 = _cld2()
    try:
        details = cld2.detect(text)[2]
    except (cld2.error, UnicodeError):
        details = cld2.detect(_REFUSED.sub(" ", text))[2]
    return str(details[0][1])


@cache
def language_codes() -> frozenset[str]:
    """RETURNS (frozenset[str]): The codes that the detector knows."""
    return frozenset(code for _, code in _cld2().LANGUAGES)


def _cld2() -> Any:
    try:
        import pycld2
    except ImportError as err:
        raise PiiError(Errors.E005, package="pycld2", what="telling the language", extra="corpus") from err
    return pycld2
