"""Cue rules: a pattern beside a name, the role it speaks for, how strongly, and why. In the manner of ConText (forward,
backward, terminators, pseudo-cues), with the rules as data.

    rules = load_cues()
    for cue in rules.match(place): cue.role, cue.weight, cue.reason

ConText: Harkema et al. 2009, J Biomed Inform 42:839; medspaCy's form of it. resources/cues/README.md describes the file.
"""

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from ..errors import Errors, PiiError
from ..labels import ROLES
from .view import MASK, Place

NOT_NAME = "NOT_NAME"  # what speaks against a person's name at all
ZONES = (
    "header", "top", "lead", "signoff", "bibliography", "body", "last", "alone", "opens", "quoted", "small", "turn", "tutor_turn",
    "speaker", "beset",
)  # fmt: skip
_PATTERNS = ("before", "after", "sentence_before", "sentence_after", "line_before")
_KEYS = {
    "id", "role", "weight", "reason", "zone", "not_zone", "when", "anchor", "find", "case", "sole", "names", "english", "lists", *_PATTERNS,
}  # fmt: skip
_MACRO = re.compile(r"<([a-z_]+)>")
_LETTERS = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class Cue:
    """One rule; resources/cues/README.md says what each key means. Patterns are compiled, missing ones None.

    gate (frozenset[str]): `when`, as beginnings of words: at least one must be near before any pattern is tried.
    signs (tuple[str, ...]): What in `when` has no letters.
    """

    id: str
    role: str
    weight: float
    reason: str
    before: re.Pattern[str] | None = None
    after: re.Pattern[str] | None = None
    sentence_before: re.Pattern[str] | None = None
    sentence_after: re.Pattern[str] | None = None
    line_before: re.Pattern[str] | None = None
    zone: frozenset[str] = frozenset()
    not_zone: frozenset[str] = frozenset()
    gate: frozenset[str] = frozenset()
    signs: tuple[str, ...] = ()
    anchor: bool = False
    find: bool = False
    case: bool = False
    sole: bool = False
    names: bool = False
    english: bool = False
    lists: bool = False


class CueRules:
    """Compiled rules.

    cues (tuple[Cue, ...]): In the order of the file. terminators (re.Pattern | None): End the reach of sentence patterns.
    pseudo (re.Pattern | None): Phrases that are blanked out first.
    """

    def __init__(self, cues: tuple[Cue, ...], terminators: re.Pattern[str] | None, pseudo: re.Pattern[str] | None) -> None:
        self.cues = cues
        self.finders = tuple(cue for cue in cues if cue.find)
        self.terminators = terminators
        self.pseudo = pseudo
        # Which cues a word's beginning or a sign opens, by number: most cues have a gate, and most gates are shut.
        self._always = frozenset(n for n, cue in enumerate(cues) if not cue.gate and not cue.signs)
        self._by_gate: dict[str, set[int]] = {}
        self._by_sign: dict[str, set[int]] = {}
        for n, cue in enumerate(cues):
            for gate in cue.gate:
                self._by_gate.setdefault(gate, set()).add(n)
            for sign in cue.signs:
                self._by_sign.setdefault(sign, set()).add(n)

    def match(self, place: Place) -> list[Cue]:
        """The cues that speak about a name.

        place (Place): What stands beside it.
        RETURNS (list[Cue]): In the order of the rules.
        """
        before, after = self._blank(place.before.lower()), self._blank(place.after.lower())
        above, opens = place.line_before.lower(), "opens" in place.zones
        # The sentence is a suffix (a prefix) of the line, so a blanked phrase is blanked there too.
        sentence_before = self._last_part(before[len(before) - len(place.sentence_before) :] if place.sentence_before else "")
        sentence_after = self._first_part(after[: len(place.sentence_after)])
        near = f"{before} {after} {above}"
        opened = set(self._always)
        opened.update(*(self._by_gate[start] for start in beginnings(near) if start in self._by_gate))
        opened.update(*(numbers for sign, numbers in self._by_sign.items() if sign in near))
        found = []
        for cue in map(self.cues.__getitem__, sorted(opened)):
            if (cue.zone and cue.zone.isdisjoint(place.zones)) or not cue.not_zone.isdisjoint(place.zones):
                continue
            if (
                (cue.before is None or cue.before.search(place.before if cue.case else before))
                and (cue.after is None or cue.after.match(place.after if cue.case else after))
                and (cue.line_before is None or (above and (opens or cue.before) and cue.line_before.search(above)))
                and (cue.sentence_before is None or cue.sentence_before.search(sentence_before))
                and (cue.sentence_after is None or cue.sentence_after.search(sentence_after))
            ):
                found.append(cue)
        return [cue for cue in found if cue.sole] or found

    def _blank(self, text: str) -> str:
        if self.pseudo is None:
            return text
        return self.pseudo.sub(lambda match: "\x1f" * len(match[0]), text)

    def _last_part(self, text: str) -> str:
        at = 0
        if self.terminators is not None:
            for match in self.terminators.finditer(text):
                at = match.end()
        return text[at:]

    def _first_part(self, text: str) -> str:
        match = self.terminators.search(text) if self.terminators is not None else None
        return text[: match.start()] if match else text


def beginnings(text: str) -> set[str]:
    """RETURNS (set[str]): The first three letters of every word; what gates are compared with, since that is one look-up."""
    return {word[:3] for word in _LETTERS.findall(text)}


def compile_cues(data: dict[str, Any]) -> CueRules:
    """Check and compile rules.

    data (dict[str, Any]): `macros`, `terminators`, `pseudo`, `cue`, as in names.toml.
    RETURNS (CueRules): The rules.
    RAISES (PiiError): E303 for a rule that cannot be used.
    """
    macros: dict[str, str] = {}
    for name, text in data.get("macros", {}).items():
        macros[name] = _expand(text, macros, name)
    seen: set[str] = set()
    cues = []
    for raw in data.get("cue", ()):
        cue = _compile_cue(raw, macros)
        if cue.id in seen:
            raise PiiError(Errors.E303, id=cue.id, problem="its id is taken")
        seen.add(cue.id)
        cues.append(cue)
    return CueRules(
        tuple(cues),
        _compile("|".join(data.get("terminators", ())), macros, "terminators"),
        _compile("|".join(raw["pattern"] for raw in data.get("pseudo", ())), macros, "pseudo"),
    )


def _compile_cue(raw: dict[str, Any], macros: dict[str, str]) -> Cue:
    name = str(raw.get("id", "?"))
    problem = ""
    if unknown := sorted(set(raw) - _KEYS):
        problem = f"unknown key {unknown[0]}"
    elif missing := [key for key in ("id", "role", "weight", "reason") if key not in raw]:
        problem = f"{missing[0]} is missing"
    elif raw["role"] not in (*ROLES, NOT_NAME):
        problem = f"the role must be one of {', '.join((*ROLES, NOT_NAME))}"
    elif not isinstance(raw["weight"], int | float) or raw["weight"] <= 0:
        problem = "the weight must be above 0"
    elif not any(key in raw for key in _PATTERNS):
        problem = f"it needs one of {', '.join(_PATTERNS)}"
    elif bad := sorted({*raw.get("zone", ()), *raw.get("not_zone", ())} - set(ZONES)):
        problem = f"unknown zone {bad[0]}"
    elif raw.get("find") and ("before" not in raw and "line_before" not in raw):
        problem = "to find names it needs before or line_before"
    elif (raw.get("english") or raw.get("lists")) and not raw.get("find"):
        problem = "english and lists are for cues that find names"
    if problem:
        raise PiiError(Errors.E303, id=name, problem=problem)
    return Cue(
        id=name,
        role=raw["role"],
        weight=float(raw["weight"]),
        reason=raw["reason"],
        zone=frozenset(raw.get("zone", ())),
        not_zone=frozenset(raw.get("not_zone", ())),
        gate=frozenset(start for entry in raw.get("when", ()) for start in _gate(entry, macros)),
        signs=tuple(entry for entry in raw.get("when", ()) if not _LETTERS.search(entry)),
        anchor=bool(raw.get("anchor", False)),
        find=bool(raw.get("find", False)),
        case=bool(raw.get("case", False)),
        sole=bool(raw.get("sole", False)),
        names=bool(raw.get("names", False)),
        english=bool(raw.get("english", False)),
        lists=bool(raw.get("lists", False)),
        **{key: _compile(raw[key], macros, name) for key in _PATTERNS if key in raw},
    )


def _gate(entry: str, macros: dict[str, str]) -> set[str]:
    """The beginnings that an entry of `when` stands for: its first word's, or those of all words of a macro."""
    if match := _MACRO.fullmatch(entry):
        # Sets of characters and escapes are no words.
        return beginnings(re.sub(r"\[[^\]]*\]|\\.", " ", macros.get(match[1], "")))
    return set(sorted(beginnings(entry), key=entry.find)[:1])


def _compile(pattern: str, macros: dict[str, str], name: str) -> re.Pattern[str] | None:
    if not pattern:
        return None
    try:
        return re.compile(_expand(pattern, macros, name))
    except re.error as err:
        raise PiiError(Errors.E303, id=name, problem=f"its pattern does not compile ({err.msg})") from err


def _expand(pattern: str, macros: dict[str, str], name: str) -> str:
    def replace(match: re.Match[str]) -> str:
        if match[1] not in macros:
            raise PiiError(Errors.E303, id=name, problem=f"there is no macro {match[1]}")
        return f"(?:{macros[match[1]]})"

    return _MACRO.sub(replace, pattern).replace("¤", MASK)


def read_cues(extra: Iterable[dict[str, Any]] = ()) -> CueRules:
    """The rules that ship, and further ones.

    extra (Iterable[dict[str, Any]]): Rules as tables of names.toml; one with the id of a shipped rule takes its place.
    RETURNS (CueRules): Compiled.
    """
    extra = list(extra)
    if not extra:
        return load_cues()
    data = dict(_read())
    taken = {raw.get("id") for raw in extra}
    data["cue"] = [raw for raw in data["cue"] if raw["id"] not in taken] + extra
    return compile_cues(data)


@cache
def load_cues() -> CueRules:
    """RETURNS (CueRules): The rules that ship, compiled once."""
    return compile_cues(_read())


def _read() -> dict[str, Any]:
    return tomllib.loads((resources.files("pii_components") / "resources" / "cues" / "names.toml").read_text("utf8"))
