"""Wear on single names and details, as it was seen in students' files and is to be expected there.

    wear_name("Ana Lopez", rng)   ->  ("A N A  L O P E Z", "spaced")
    wear_detail("ana@uni.edu", "EMAIL", rng)   ->  ("ana [at] uni (dot) edu", "spelt out")

Whole texts are worn by `synthesis.roughen`, all names of a text in one way by `habits.Wardrobe`; here one mention is, whatever stands
around it and whoever it belongs to: wear must not tell a student from an author.
"""

import random
import re
import unicodedata
from collections.abc import Callable

from ..labels import EMAIL, ID_NUM, PHONE_NUM, URL_PERSONAL, is_name
from .native_names import native_name

_LOOK_ALIKE = str.maketrans("aceopxyABCEHKMOPTX", "асеорхуАВСЕНКМОРТХ")
_OCR = (("rn", "m"), ("m", "rn"), ("l", "1"), ("i", "l"), ("o", "0"), ("cl", "d"), ("e", "c"))
_LEET = str.maketrans("aeiostAEIOST", "431057431057")
_DIGIT_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def _spaced(name: str, rng: random.Random) -> str:
    return rng.choice(("  ", "   ")).join(" ".join(word.upper()) for word in name.split())


def _mixed(name: str, rng: random.Random) -> str:
    words = name.split(" ")
    return " ".join([words[0].lower() if rng.random() < 0.6 else words[0], *(word.upper() for word in words[1:])])


def _alternating(name: str, rng: random.Random) -> str:
    """Letters in turn large and small, from either; each word begins with the same size at times."""
    large, anew = rng.random() < 0.5, rng.random() < 0.3
    out, turn = [], large
    for ch in name:
        out.append(ch.upper() if turn else ch.lower())
        turn = large if anew and not ch.isalpha() else turn != ch.isalpha()
    return "".join(out)


def _random_case(name: str, rng: random.Random) -> str:
    return "".join(ch.upper() if rng.random() < 0.5 else ch.lower() for ch in name)


def _everywhere(mark: str) -> Callable[[str, random.Random], str]:
    return lambda name, rng: mark.join(name)


def _torn(name: str, rng: random.Random) -> str:
    word = max(re.findall(r"[^\W\d_]+", name) or [""], key=len)
    at = len(word) // 2
    return name.replace(word, f"{word[:at]}-\n{word[at:]}", 1) if len(word) > 3 else name


def _bold(name: str, rng: random.Random) -> str:
    """Letters of mathematics, as on social media."""
    first = {True: 0x1D400, False: 0x1D41A}
    return "".join(
        chr(first[ch.isupper()] + ord(ch.lower()) - ord("a")) if ch.isascii() and ch.isalpha() else ch for ch in name
    )


def _no_accents(name: str, rng: random.Random) -> str:
    return "".join(ch for ch in unicodedata.normalize("NFD", name) if not unicodedata.combining(ch))


def _gap(mark: str) -> Callable[[str, random.Random], str]:
    return lambda name, rng: name.replace(" ", mark, 1)


def _inside(mark: str) -> Callable[[str, random.Random], str]:
    def change(name: str, rng: random.Random) -> str:
        at = rng.randint(1, max(1, len(name) - 1))
        return name[:at] + mark + name[at:]

    return change


def _full_width(name: str, rng: random.Random) -> str:
    return "".join(chr(ord(ch) + 0xFEE0) if "!" <= ch <= "~" else "\u3000" if ch == " " else ch for ch in name)


def _swap(name: str, rng: random.Random) -> str:
    at = rng.randint(1, max(1, len(name) - 3))
    pair = name[at : at + 2]
    return name[:at] + pair[::-1] + name[at + 2 :] if pair.isalpha() and pair.islower() else name


def _double(name: str, rng: random.Random) -> str:
    at = rng.randint(1, max(1, len(name) - 1))
    return name[:at] + name[at - 1] + name[at:] if name[at - 1].isalpha() and name[at - 1].islower() else name


def _ocr(name: str, rng: random.Random) -> str:
    old, new = rng.choice([pair for pair in _OCR if pair[0] in name[1:]] or [("", "")])
    return name[0] + name[1:].replace(old, new, 1) if old else name


# Kind -> change and how often, in parts of all wear. A kind that leaves a name as it is (no accent to lose) counts as none.
_NAME_WEAR: dict[str, tuple[Callable[[str, random.Random], str], int]] = {
    "upper": (lambda name, rng: name.upper(), 18),
    "lower": (lambda name, rng: name.lower(), 18),
    "mixed case": (_mixed, 8),
    "spaced": (_spaced, 5),
    "no accents": (_no_accents, 8),
    "combining": (lambda name, rng: unicodedata.normalize("NFD", name), 4),
    "newline": (_gap("\n"), 6),
    "wide gap": (_gap("  "), 6),
    "no-break space": (_gap("\u00a0"), 4),
    "glued": (_gap(""), 4),
    "underscore": (_gap("_"), 3),
    "zero width": (_inside("\u200b"), 3),
    "soft hyphen": (_inside("\u00ad"), 2),
    "full width": (_full_width, 2),
    "look-alikes": (lambda name, rng: name.translate(_LOOK_ALIKE), 2),
    "ligature": (lambda name, rng: name.replace("fi", "ﬁ").replace("fl", "ﬂ"), 3),
    "letters swapped": (_swap, 5),
    "letter doubled": (_double, 4),
    "ocr": (_ocr, 5),
    "native script": (lambda name, rng: native_name(rng), 12),
    "spaced lower": (lambda name, rng: _spaced(name, rng).lower(), 4),
    "leet": (lambda name, rng: name.translate(_LEET), 3),
    "grapheme joiner": (_inside("\u034f"), 2),
    "swapped case": (lambda name, rng: name.swapcase(), 4),
    "alternating": (_alternating, 4),
    "random case": (_random_case, 2),
    "tab": (_gap("\t"), 2),
    "thin space": (_gap("\u2009"), 2),
    "dotted": (_gap("."), 2),
    "hyphen": (_gap("-"), 2),
    "torn": (_torn, 3),
    "invisible everywhere": (_everywhere("\u200b"), 1),
    "bold letters": (_bold, 2),
}

# The changes by themselves, for whoever measures them one by one.
NAME_WEAR: dict[str, Callable[[str, random.Random], str]] = {kind: change for kind, (change, _) in _NAME_WEAR.items()}


def wear_name(name: str, rng: random.Random) -> tuple[str, str]:
    """A name as it might stand in a badly kept file.

    name (str): The name. rng (random.Random): Where chance comes from.
    RETURNS (tuple[str, str]): What stands there, and the kind of wear; the kind is empty if nothing changed.
    """
    kind = rng.choices(list(_NAME_WEAR), [share for _, share in _NAME_WEAR.values()])[0]
    worn = _NAME_WEAR[kind][0](name, rng)
    return (worn, kind) if worn != name and worn.strip() else (name, "")


def _spell_email(value: str, rng: random.Random) -> str:
    at = rng.choice((" at ", " [at] ", "(at)", " AT ", " @ "))
    dot = rng.choice((" dot ", " (dot) ", "[dot]", " DOT ")) if at != " @ " else " . "
    local, _, domain = value.partition("@")
    if rng.random() < 0.5:
        local = local.replace(".", dot)
    return local + at + domain.replace(".", dot)


def _spell_digits(value: str, rng: random.Random) -> str:
    return " ".join(_DIGIT_WORDS[int(ch)] for ch in value if ch.isascii() and ch.isdigit())


def wear_detail(value: str, label: str, rng: random.Random) -> tuple[str, str]:
    """A detail written so that a machine shall not find it, or with stray spaces.

    value (str): The detail. label (str): Its label. rng (random.Random): Where chance comes from.
    RETURNS (tuple[str, str]): What stands there, and the kind of wear; the kind is empty if nothing changed.
    """
    if label == EMAIL and "@" in value:
        return (_spell_email(value, rng), "spelt out") if rng.random() < 0.6 else (value.replace("@", " @ "), "spaced")
    if label == PHONE_NUM:
        if rng.random() < 0.3:
            return _spell_digits(value, rng), "spelt out"
        return " ".join(re.findall(r"\d", value)), "spaced"
    if label == ID_NUM and value.isalnum() and len(value) > 5:
        return f"{value[:3]} {value[3:]}", "spaced"
    if label == URL_PERSONAL and "." in value and "\n" not in value:
        return value.replace(".", ". ", 1) if rng.random() < 0.5 else value.replace("/", " / ", 1), "spaced"
    return value, ""


def wear(value: str, label: str, rng: random.Random) -> tuple[str, str]:
    """RETURNS (tuple[str, str]): `wear_name` or `wear_detail`, by the label."""
    return wear_name(value, rng) if is_name(label) else wear_detail(value, label, rng)
