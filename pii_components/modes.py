"""What can stand in the place of personal information, other than a surrogate. Pure functions of the text and its label.

    >>> from pii_components.modes import mask, redact, tag
    >>> tag("EMAIL"), redact("EMAIL"), mask("Ana Lopez")
    ('[EMAIL]', '[REDACTED]', 'Axx Lxxxx')

A profile chooses among them: see profiles.py. Tags can be put back into training: they hold the label. Redaction tells a reader
least; masking keeps length, spaces and initials, and so tells a little about the original.
"""

import hashlib
import re
from collections.abc import Sequence

_DETERMINER = re.compile(r"\b(?:the|a|an|my|your|his|her|its|our|their|this|that|every|each|any|no|some)\s+$", re.IGNORECASE)
_LEADING = re.compile(r"^(?:the|a|an|my|your|his|her|its|our|their)\s+", re.IGNORECASE)
_SENTENCE_START = re.compile(r"(?:^|[.!?][\"')\]]*\s+|\n\s*)$")
_POSSESSIVE = re.compile(r"['’]s$")


def tag(label: str) -> str:
    """RETURNS (str): The label in brackets, `[EMAIL]`."""
    return f"[{label}]"


def redact(label: str = "") -> str:
    """RETURNS (str): `[REDACTED]`, whatever the label."""
    return "[REDACTED]"


def mask(text: str, *, char: str = "x", first: bool = True) -> str:
    """Blank every character but white space and the first letter of a word (two_layer_framework's fourth mode, for every entity).

    text (str): The original. char (str): What to put instead.
    first (bool): Whether the first character of a word stays, if it is a letter and not the whole word.
    RETURNS (str): As long as the original, with its spaces and line breaks.
    """
    out, before, lone = [], " ", True
    for i, ch in enumerate(text):
        lone = i + 1 == len(text) or text[i + 1].isspace()
        kept = first and before.isspace() and ch.isalpha() and not lone
        out.append(ch if ch.isspace() or kept else char)
        before = ch
    return "".join(out)


def pseudonym(label: str, ident: str | int) -> str:
    """RETURNS (str): A tag with something to tell people apart, `[STUDENT_5c1f09ab3e]`: a keyed token (`keys.Chance.token`)."""
    return f"[{label.removeprefix('NAME_')}_{ident}]"


def legacy_sha256(text: str) -> str:
    """The unsalted SHA-256 of a value, as the paper's "reversible encryption" has it (two_layer_framework, algorithm 1).

    For comparison only. It has no key: whoever has a list of names, or can count through all phone numbers, hashes them and
    looks the values up (a dictionary attack). No profile that ships uses it; "pseudonym" is the keyed form.
    RETURNS (str): 64 hexadecimal digits.
    """
    return hashlib.sha256(text.encode("utf8", "surrogatepass")).hexdigest()


def generic(noun: str | Sequence[str], *, before: str = "", original: str = "") -> str:
    """A generic noun that fits into its sentence (ETS's procedure, step 3: "and add the appropriate determiner, if needed").

    noun (str | Sequence[str]): With its determiner, "the university". Of several, the longest one whose noun the original holds
        ("the high school" for "Ridgeview High School"), else the first.
    before (str): The text before it; where that ends with a determiner, the noun's own is left out.
    original (str): What it replaces; if that brings its own determiner, the noun keeps one; a possessive stays.
    RETURNS (str): The noun, with a capital at the start of a sentence.
    """
    if not isinstance(noun, str):
        fit = [n for n in noun if re.search(rf"\b{re.escape(_LEADING.sub('', n))}\b", original, re.IGNORECASE)]
        noun = max(fit, key=len) if fit else noun[0]
    own = _LEADING.match(original)
    if _DETERMINER.search(before[-20:]) and not own:
        noun = _LEADING.sub("", noun)
    elif own and own.group().strip().lower() not in ("the", "a", "an"):
        noun = own.group().lower() + _LEADING.sub("", noun)
    ending = _POSSESSIVE.search(original)
    noun += ending.group() if ending else ""
    return noun[:1].upper() + noun[1:] if _SENTENCE_START.search(before[-20:]) else noun
