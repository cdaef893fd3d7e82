"""What can stand in the place of personal information, other than a surrogate. Pure functions of the text and its label.

    >>> from pii_components.modes import mask, redact, tag
    >>> tag("EMAIL"), redact("EMAIL"), mask("Ana Lopez")
    ('[EMAIL]', '[REDACTED]', '*** *****')

A profile chooses among them: see profiles.py. Tags can be put back into training: they hold the label. Redaction tells a reader
least; masking keeps length and spaces, and so tells a little about the original.
"""

import re

_DETERMINER = re.compile(r"\b(?:the|a|an|my|your|his|her|its|our|their|this|that)\s+$", re.IGNORECASE)
_LEADING = re.compile(r"^(?:the|a|an|my|your|his|her|its|our|their)\s+", re.IGNORECASE)
_SENTENCE_START = re.compile(r"(?:^|[.!?][\"')\]]*\s+|\n\s*)$")


def tag(label: str) -> str:
    """RETURNS (str): The label in brackets, `[EMAIL]`."""
    return f"[{label}]"


def redact(label: str = "") -> str:
    """RETURNS (str): `[REDACTED]`, whatever the label."""
    return "[REDACTED]"


def mask(text: str, *, char: str = "*") -> str:
    """Blank every character but white space.

    text (str): The original.
    char (str): What to put instead.
    RETURNS (str): As long as the original, with its spaces and line breaks.
    """
    return "".join(ch if ch.isspace() else char for ch in text)


def pseudonym(label: str, number: int) -> str:
    """RETURNS (str): A numbered tag, `[STUDENT_1]`: the same value has the same number in its document."""
    return f"[{label.removeprefix('NAME_')}_{number}]"


def generic(noun: str, *, before: str = "", original: str = "") -> str:
    """A generic noun that fits into its sentence (ETS's procedure, step 3: "and add the appropriate determiner, if needed").

    noun (str): With its determiner, "the university".
    before (str): The text before it; where that ends with a determiner, the noun's own is left out.
    original (str): What it replaces; if that brings its own determiner, the noun keeps one.
    RETURNS (str): The noun, with a capital at the start of a sentence.
    """
    if _DETERMINER.search(before[-20:]) and not _LEADING.search(original):
        noun = _LEADING.sub("", noun)
    return noun[:1].upper() + noun[1:] if _SENTENCE_START.search(before[-20:]) else noun
