"""What happens to each label: a profile, from a TOML file, and what can stand in the place of personal information beside a surrogate.

    >>> from pii_components.profiles import mask, redact, tag
    >>> tag("EMAIL"), redact("EMAIL"), mask("Ana Lopez")
    ('[EMAIL]', '[REDACTED]', 'Axx Lxxxx')

Tags can be put back into training: they hold the label. Redaction tells a reader least; masking keeps length, spaces and initials, and so
tells a little about the original.
"""

import hashlib
import re
import tomllib
from collections.abc import Container, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib import resources
from numbers import Real
from pathlib import Path
from typing import Any

from .errors import Errors, PiiError
from .labels import ORGANISATION, ROLES, check_label

__all__ = ["Profile", "generic", "mask", "pseudonym", "redact", "shipped_profiles", "tag"]

_OWN = "the|an?|my|your|his|her|its|our|their"
_LEADING = re.compile(rf"^(?:{_OWN})\s+", re.IGNORECASE)
_NUMBERS = "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
_ORDINALS = "first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|last|next|\\d+(?:st|nd|rd|th)?"
# What stands before a noun that has no article of its own: another determiner, a number, a possessive ("it's" is none), an adjective by its ending.
_BEHIND = re.compile(
    rf"(?:\b(?:{_OWN}|this|that|these|those|every|each|any|no|some|another|which|whose|what|{_NUMBERS}|{_ORDINALS})"
    r"|(?<!\bit)(?<!\bhe)(?<!\bshe)(?<!\bthat)(?<!\bthere)(?<!\bwhat)(?<!\bwho)['’]s|\w\ws['’]|\b[a-z]{2,}(?:ous|ful|ish|[ai]ble|ic|al))"
    r"\s+[\"“‘(]*$",
    re.IGNORECASE,
)
# A determiner, and one word more.
_PARTED = re.compile(rf"\b(?:{_OWN}|every|another|whose)\s+([a-z]+)\s+[\"“‘(]*$", re.IGNORECASE)
_SENTENCE_START = re.compile(r"(?:^|[.!?][\"')\]]*\s+|\n\s*)$")
_POSSESSIVE = re.compile(r"['’]s$")
# Sounds that letters do not tell: "a European", "an hour", "an FBI agent", "an 18-year-old".
_CONSONANT = re.compile(r"eu|ew|uni(?!n|m)|us[aei]|uk|ut[aeio]|one\b|once", re.IGNORECASE)
_VOWEL = re.compile(r"[aeiou]|hour|honou?r|honest|heir|8|1[18](?!\d)", re.IGNORECASE)
_SPELT = re.compile(r"[AEFHILMNORSX](?=[A-Z]+\b)(?![A-Z]*[AEIOU])")


def takes_an(text: str) -> bool:
    """RETURNS (bool): Whether "an" stands before a text, rather than "a"."""
    text = text.lstrip("[\"'“‘(#@")
    return bool(_SPELT.match(text)) or (
        _VOWEL.match(text) is not None and _CONSONANT.match(text) is None
    )


def tag(label: str) -> str:
    """RETURNS (str): The label in brackets, `[EMAIL]`."""
    return f"[{label}]"


def redact(label: str = "") -> str:
    """RETURNS (str): `[REDACTED]`, whatever the label."""
    return "[REDACTED]"


def mask(text: str, *, char: str = "x", first: bool = True) -> str:
    """Blank every character but white space and the first letter of a word (two_layer_framework's fourth mode, for every entity).

    first (bool): Whether the first character of a word stays, if it is a letter and not the whole word.
    RETURNS (str): As long as the original, with its spaces and line breaks.
    """
    out, before = [], " "
    for ch, after in zip(text, [*text[1:], " "], strict=False):
        kept = first and before.isspace() and ch.isalpha() and not after.isspace()
        out.append(ch if ch.isspace() or kept else char)
        before = ch
    return "".join(out)


def pseudonym(label: str, ident: str | int) -> str:
    """RETURNS (str): A tag with a keyed token to tell people apart, `[STUDENT_5c1f09ab3e]`."""
    return f"[{label.removeprefix('NAME_')}_{ident}]"


def legacy_sha256(text: str) -> str:
    """RETURNS (str): The unsalted SHA-256 of a value in hexadecimal, the paper's "reversible encryption" (two_layer_framework, algorithm 1).

    For comparison only: it has no key, so whoever has a list of names, or counts through all phone numbers, looks the values up.
    """
    return hashlib.sha256(text.encode("utf8", "surrogatepass")).hexdigest()


def generic(
    noun: str | Sequence[str], *, before: str = "", original: str = "", joined: bool = False
) -> str:
    """A generic noun that fits into its sentence (ETS's procedure, step 3: "and add the appropriate determiner, if needed").

    noun (str | Sequence[str]): With its determiner, "the university". Of several, the longest one whose noun the original holds
        ("the high school" for "Ridgeview High School"), else the first.
    before (str): The text before it; where that holds the determiner ("my third"), the noun's own is left out.
    original (str): What it replaces; if that brings its own determiner, the noun keeps one; a possessive stays.
    joined (bool): Whether another name of a place, a school or a firm stands right before it: then it needs no determiner.
    RETURNS (str): The noun, with a capital at the start of a sentence.
    """
    nouns = {_LEADING.sub("", n): n for n in ([noun] if isinstance(noun, str) else noun)}
    fit = [n for n in nouns if re.search(rf"\b{re.escape(n)}\b", original, re.IGNORECASE)]
    bare = max(fit, key=len) if fit else next(iter(nouns))
    own, ending = _LEADING.match(original), _POSSESSIVE.search(original)
    lead = own.group().strip().lower() if own else ""
    if joined or _is_behind(before[-40:], nouns):
        new = bare
    elif lead in ("a", "an"):
        new = f"{'an' if takes_an(bare) else 'a'} {bare}"
    else:
        new = f"{lead} {bare}" if lead not in ("", "the") else nouns[bare]
    new += ending.group() if ending else ""
    new = new.upper() if original.isupper() and " " in original else new
    return new[:1].upper() + new[1:] if is_sentence_start(before) else new


def _is_behind(before: str, nouns: Container[str]) -> bool:
    """Whether a noun stands behind its determiner: "my", "my third", "the prestigious"."""
    from spacy.lang.en.stop_words import STOP_WORDS

    if _BEHIND.search(before):
        return True
    parted = _PARTED.search(before)
    word = parted[1].lower() if parted else ""
    # Not so in "gave her to Acme", "my college Ridgeview".
    return bool(word) and word not in STOP_WORDS and word not in nouns


def is_sentence_start(before: str) -> bool:
    """RETURNS (bool): Whether a sentence or a line begins behind a text."""
    return _SENTENCE_START.search(before[-20:]) is not None


KEEP, SURROGATE, TAG, REDACT, MASK, PSEUDONYM, GENERIC, REMOVE, LEGACY_SHA256 = ACTIONS = (
    "keep",
    "surrogate",
    "tag",
    "redact",
    "mask",
    "pseudonym",
    "generic",
    "remove",
    "legacy_sha256",
)
# Another name for an action: hiding in plain sight.
ALIASES = {"hips": SURROGATE}
# Within what the same value gets the same surrogate: one document, all, or those of one thread or author (`doc._.pii_scope`).
SCOPES = (_, CORPUS, _) = ("document", "corpus", "thread")
HEADERS = ("keep", "remove")
# What a value that comes again becomes: the same. Saved pipelines name it.
STRATEGIES = (CONSISTENT,) = ("consistent",)
# Where surrogates of places, schools and workplaces come from: invented names, or values that the corpus has in common.
POOLS = ("invented", "corpus")
# How long surrogates are: as chance has it, or about as long as their originals.
LENGTHS = FREE, NEAR = ("free", "near")
_CHOICES = {
    "scope": SCOPES,
    "header": HEADERS,
    "strategy": STRATEGIES,
    "pool": POOLS,
    "length": LENGTHS,
}
_RANGES = {"repeat": (0, 1), "age_spread": (1, 10), "age_border": (0, 100)}
# Besides labels, what pseudonyms may be for: any protected name that is no student's, a profile on LinkedIn, a county.
PSEUDONYM_KEYS = ("NAME_OTHER", "LINKEDIN", "COUNTY")


def _is_texts(value: Any) -> bool:
    """Whether a value is a text, or a list of some; none of them empty."""
    texts = value if isinstance(value, list) else [value]
    return bool(texts) and all(isinstance(text, str) and text for text in texts)


@dataclass(frozen=True)
class Profile:
    """What to do with each label.

    name, description (str): For people.
    actions (Mapping[str, str]): Label -> one of `ACTIONS`; a label that is missing gets "tag". "EMAIL/INSTRUCTOR", "EMAIL/ORGANISATION":
        for the details of one role, or of organisations.
    scope (str): Within what equal values get equal surrogates: "document", "thread" or "corpus". Ages and dates always move together.
    locale (str): Language and country of phones and addresses, as Faker writes it.
    header (str): "keep", or "remove": lines at the start that hold names, courses, dates go; told in `doc._.surrogate_spans`.
    reserved (bool): Whether surrogates are values that can belong to nobody (example.edu, 555-01xx) rather than fully realistic ones.
    pseudonyms (Mapping[str, str | list[str]]): For that action: one fixed value, or one for each person or place in order.
    generic (Mapping[str, str | list[str]]): For that action: a noun with its determiner, or several, by what they hold.
    strategy (str): What a value that comes again becomes: "consistent", the same; there are no others any more.
    repeat (float): Of no use any more; saved pipelines hold it.
    age_spread (int): Years that an age moves at most. age_border (int): An age that nobody crosses, 18 say; 0 for none.
    pool (str): Where surrogates of places, schools and workplaces come from: "invented" names, or values that many documents of the "corpus"
        have in common. length (str): How long surrogates are: "free", or "near" the length of their originals.
    other (Mapping[str, str]): Value -> what to put there, for OTHER. It holds originals, so it is not saved with a pipeline.
    RAISES (PiiError): E002, E422, E519 for what is not allowed.
    """

    name: str
    description: str = ""
    actions: Mapping[str, str] = field(default_factory=dict)
    scope: str = "document"
    locale: str = "en_US"
    header: str = "keep"
    reserved: bool = True
    pseudonyms: Mapping[str, str | list[str]] = field(default_factory=dict)
    generic: Mapping[str, str | list[str]] = field(default_factory=dict)
    strategy: str = CONSISTENT
    repeat: float = 0.5
    age_spread: int = 2
    age_border: int = 0
    pool: str = "invented"
    length: str = FREE
    other: Mapping[str, str] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        actions = {label: ALIASES.get(action, action) for label, action in self.actions.items()}
        object.__setattr__(self, "actions", actions)
        for label, action in actions.items():
            name, slash, role = label.partition("/")
            check_label(name, what=f"profile '{self.name}'")
            if slash and role not in (*ROLES, ORGANISATION):
                allowed = ", ".join((*ROLES, ORGANISATION))
                raise PiiError(Errors.E519, value=role, what="role", allowed=allowed)
            self._check(action in ACTIONS, f"actions.{label}", action, ", ".join(ACTIONS))
        for setting, choices in _CHOICES.items():
            value = getattr(self, setting)
            self._check(value in choices, setting, value, ", ".join(choices))
        for setting, (least, most) in _RANGES.items():
            number = getattr(self, setting)
            self._check(
                least <= number <= most, setting, number, f"a number from {least} to {most}"
            )
        for value, new in self.other.items():
            fits = isinstance(new, str) and bool(new) and new.casefold() != value.casefold()
            self._check(fits, "other", "not usable", "a text for each value, and not that value")
        for label in (*self.generic, *self.pseudonyms):
            if label not in PSEUDONYM_KEYS:
                check_label(label, what=f"profile '{self.name}'")
        for label, nouns in self.generic.items():
            self._check(_is_texts(nouns), f"generic.{label}", "not usable", "a text or some texts")
        for label, fixed in self.pseudonyms.items():
            self._check(
                _is_texts(fixed), f"pseudonyms.{label}", "not usable", "a text or some texts"
            )

    def _check(self, fits: bool, setting: str, value: object, allowed: str) -> None:
        if not fits:
            raise PiiError(
                Errors.E422, setting=setting, value=value, profile=self.name, allowed=allowed
            )

    def action(self, label: str, role: str = "") -> str:
        """RETURNS (str): What to do with a label; "tag" if the profile does not name it. role (str): Whose detail it is, if known."""
        return self.actions.get(f"{label}/{role}") or self.actions.get(label, TAG)

    @property
    def by_role(self) -> bool:
        """RETURNS (bool): Whether some label has an action for the details of one role."""
        return any("/" in label for label in self.actions)

    def protects(self, label: str) -> bool:
        """RETURNS (bool): Whether values with this label do not stay as they are."""
        return self.action(label) != KEEP

    def to_dict(self, *, private: bool = True) -> dict[str, Any]:
        """RETURNS (dict): Plain data. private (bool): Whether with `other`, which holds originals; not for a saved pipeline."""
        data = asdict(self).items()
        return {
            key: dict(value) if isinstance(value, Mapping) else value
            for key, value in data
            if private or key != "other"
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], *, where: str = "") -> "Profile":
        """RETURNS (Profile): From plain data; `base` names a shipped profile that it completes. RAISES (PiiError): E423 for a setting that profiles
        do not have."""
        allowed = [*cls.__dataclass_fields__, "base"]
        wrong = sorted(set(data) - set(allowed))
        if wrong or not isinstance(data.get("name"), str):
            setting, profile = wrong[0] if wrong else "name", where or data.get("name")
            raise PiiError(
                Errors.E423, setting=setting, profile=profile, allowed=", ".join(allowed)
            )
        data = _completed(data)
        kinds: dict[str, type] = dict.fromkeys(allowed, str) | {
            "reserved": bool,
            "actions": Mapping,
            "pseudonyms": Mapping,
            "generic": Mapping,
            "other": Mapping,
            "repeat": Real,
            "age_spread": int,
            "age_border": int,
        }
        for key, value in data.items():
            kind, got = kinds[key], type(value).__name__
            if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
                raise PiiError(
                    Errors.E422, setting=key, value=got, profile=data["name"], allowed=kind.__name__
                )
        return cls(**data)

    @classmethod
    def of(cls, value: "str | Path | Mapping[str, Any] | Profile") -> "Profile":
        """RETURNS (Profile): From whatever names or holds one. RAISES (PiiError): As `load` and `from_dict`."""
        if isinstance(value, Profile):
            return value
        return cls.from_dict(value) if isinstance(value, Mapping) else cls.load(value)

    @classmethod
    def load(cls, name_or_path: str | Path) -> "Profile":
        """RETURNS (Profile): The shipped profile of that name, or that of a TOML file, checked.

        RAISES (PiiError): E425 if there is none, or it is no TOML in UTF-8.
        """
        shipped = (
            resources.files("pii_components") / "resources" / "profiles" / f"{name_or_path}.toml"
        )
        path = shipped if str(name_or_path) in shipped_profiles() else Path(name_or_path)
        try:
            data = tomllib.loads(path.read_text(encoding="utf8"))
        except (OSError, ValueError):
            allowed = ", ".join(shipped_profiles())
            raise PiiError(Errors.E425, profile=name_or_path, allowed=allowed) from None
        return cls.from_dict(data, where=str(name_or_path))


def _completed(data: Mapping[str, Any]) -> dict[str, Any]:
    """RETURNS (dict): A profile's data, and what its `base` says where it says nothing, label by label."""
    own = dict(data)
    base = own.pop("base", None)
    if base is None:
        return own
    if base not in shipped_profiles():
        known = ", ".join(shipped_profiles())
        about = {"setting": "base", "value": base, "profile": own["name"], "allowed": known}
        raise PiiError(Errors.E422, **about)
    for key, value in Profile.load(base).to_dict().items():
        if key in own and isinstance(value, dict) and isinstance(own[key], Mapping):
            own[key] = {**value, **own[key]}
        elif key != "description":
            own.setdefault(key, value)
    return own


def make_profile(name: str) -> Profile:
    """For configs: `{"@misc": "pii_edu.profile.v1", "name": "crapii"}`. RETURNS (Profile): See `Profile.load`.

    name (str): Of a profile that ships, or the path of a TOML file."""
    return Profile.load(name)


def shipped_profiles() -> tuple[str, ...]:
    """RETURNS (tuple[str, ...]): Names of the profiles that come with the package."""
    folder = resources.files("pii_components") / "resources" / "profiles"
    return tuple(
        sorted(p.name.removesuffix(".toml") for p in folder.iterdir() if p.name.endswith(".toml"))
    )
