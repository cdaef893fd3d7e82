"""Cue rules in the manner of ConText (forward, backward, terminators, pseudo-cues): a pattern beside a name, the role it speaks for, how
strongly, and why.

    for cue in load_cues().match(place): cue.role, cue.weight, cue.reason

ConText: Harkema et al. 2009, J Biomed Inform 42:839; medspaCy's form of it. resources/cues/README.md describes the rules.
"""

import re
import tomllib
from collections import defaultdict
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
_FLAGS = ("anchor", "find", "case", "sole", "names", "english", "lists")
_NEEDED = ("id", "role", "weight", "reason")
_KEYS = {*_NEEDED, *_PATTERNS, *_FLAGS, "zone", "not_zone", "when"}
_MACRO = re.compile(r"<([a-z_]+)>")
_LETTERS = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class Cue:
    """One rule; resources/cues/README.md says what each key means. Patterns are compiled; `gate` and `signs` are `when`: beginnings of
    words, and what has no letters. One of them must be near before any pattern is tried."""

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
    """Compiled rules. terminators end the reach of sentence patterns; pseudo are phrases that are blanked out first."""

    def __init__(self, cues: tuple[Cue, ...], terminators: re.Pattern[str] | None, pseudo: re.Pattern[str] | None) -> None:
        self.cues = cues
        self.finders = tuple(cue for cue in cues if cue.find)
        self.terminators = terminators
        self.pseudo = pseudo
        # Which cues a word's beginning or a sign opens, by number: most cues have a gate, and most gates are shut.
        self._always = frozenset(n for n, cue in enumerate(cues) if not cue.gate and not cue.signs)
        self._by_gate: defaultdict[str, set[int]] = defaultdict(set)
        self._by_sign: defaultdict[str, set[int]] = defaultdict(set)
        for n, cue in enumerate(cues):
            for gate in cue.gate:
                self._by_gate[gate].add(n)
            for sign in cue.signs:
                self._by_sign[sign].add(n)

    def match(self, place: Place) -> list[Cue]:
        """RETURNS (list[Cue]): The cues that speak about a name, in the order of the rules. place (Place): What stands beside it."""
        before, after = self._blank(place.before.lower()), self._blank(place.after.lower())
        above, opens = place.line_before.lower(), "opens" in place.zones
        # The sentence is a suffix (a prefix) of the line, so a blanked phrase is blanked there too.
        sentence_before = before[len(before) - len(place.sentence_before) :] if place.sentence_before else ""
        sentence_after = after[: len(place.sentence_after)]
        if self.terminators is not None:
            *_, last = 0, *(stop.end() for stop in self.terminators.finditer(sentence_before))
            sentence_before = sentence_before[last:]
            if stop := self.terminators.search(sentence_after):
                sentence_after = sentence_after[: stop.start()]
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


def beginnings(text: str) -> set[str]:
    """RETURNS (set[str]): The first three letters of every word; what gates are compared with, since that is one look-up."""
    return {word[:3] for word in _LETTERS.findall(text)}


def compile_cues(data: dict[str, Any]) -> CueRules:
    """RETURNS (CueRules): Of `macros`, `terminators`, `pseudo`, `cue`, as in names.toml. RAISES (PiiError): E303 for a rule that cannot be used."""
    macros: dict[str, str] = {}
    for name, text in data.get("macros", {}).items():
        macros[name] = _expand(text, macros, name)
    cues: dict[str, Cue] = {}
    for raw in data.get("cue", ()):
        cue = _compile_cue(raw, macros)
        if cue.id in cues:
            raise PiiError(Errors.E303, id=cue.id, problem="its id is taken")
        cues[cue.id] = cue
    pseudo = "|".join(raw["pattern"] for raw in data.get("pseudo", ()))
    terminators = "|".join(data.get("terminators", ()))
    return CueRules(tuple(cues.values()), _compile(terminators, macros, "terminators"), _compile(pseudo, macros, "pseudo"))


def _compile_cue(raw: dict[str, Any], macros: dict[str, str]) -> Cue:
    name = str(raw.get("id", "?"))
    if problem := _problem(raw):
        raise PiiError(Errors.E303, id=name, problem=problem)
    when = raw.get("when", ())
    more: dict[str, Any] = {key: _compile(raw[key], macros, name) for key in _PATTERNS if key in raw}
    more |= {key: bool(raw[key]) for key in _FLAGS if key in raw}
    return Cue(
        id=name,
        role=raw["role"],
        weight=float(raw["weight"]),
        reason=raw["reason"],
        zone=frozenset(raw.get("zone", ())),
        not_zone=frozenset(raw.get("not_zone", ())),
        gate=frozenset(start for entry in when for start in _gate(entry, macros)),
        signs=tuple(entry for entry in when if not _LETTERS.search(entry)),
        **more,
    )


def _problem(raw: dict[str, Any]) -> str:
    roles = (*ROLES, NOT_NAME)
    if unknown := sorted(set(raw) - _KEYS):
        return f"unknown key {unknown[0]}"
    if missing := [key for key in _NEEDED if key not in raw]:
        return f"{missing[0]} is missing"
    if raw["role"] not in roles:
        return f"the role must be one of {', '.join(roles)}"
    if not isinstance(raw["weight"], int | float) or raw["weight"] <= 0:
        return "the weight must be above 0"
    if not any(key in raw for key in _PATTERNS):
        return f"it needs one of {', '.join(_PATTERNS)}"
    if bad := sorted({*raw.get("zone", ()), *raw.get("not_zone", ())} - set(ZONES)):
        return f"unknown zone {bad[0]}"
    if raw.get("find") and not {"before", "line_before"} & set(raw):
        return "to find names it needs before or line_before"
    if (raw.get("english") or raw.get("lists")) and not raw.get("find"):
        return "english and lists are for cues that find names"
    return ""


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
    """RETURNS (CueRules): The rules that ship, and further ones; one with the id of a shipped rule takes its place."""
    extra = list(extra)
    if not extra:
        return load_cues()
    data = dict(_read())
    taken = {raw.get("id") for raw in extra}
    data["cue"] = [raw for raw in data["cue"] if raw["id"] not in taken] + extra
    return compile_cues(data)


@cache
def load_cues() -> CueRules:
    return compile_cues(_read())


def _read() -> dict[str, Any]:
    return tomllib.loads((resources.files("pii_components") / "resources" / "cues" / "names.toml").read_text("utf8"))
