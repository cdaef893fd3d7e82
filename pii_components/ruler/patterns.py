"""Patterns as data: what an entry of resources/patterns/*.toml may hold, checked once and compiled.

    >>> from pii_components.ruler.patterns import compile_patterns
    >>> rules = compile_patterns([{"id": "our-id", "label": "ID_NUM", "regex": r"U\\d{7}"}])
    >>> rules.regexes[0].find.pattern
    'U\\\\d{7}'

Four kinds. `pattern`: spaCy's own, a list of token descriptions or a phrase; the ruler gives it to spaCy. `regex`: searched in the normalised view;
the group "pii" is reported, else the whole match; `validate` names a function of validators.py. `host`: a line of the table of web sites, or a list
of sites of which the same is known. `near`: words before a web address that say whose it is. Every entry has an id, which becomes the source of what
it finds, and a reason that a data steward can read.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from ..errors import Errors, PiiError
from ..labels import check_label
from ..names import resource
from .validators import VALIDATORS, Context, Hit

__all__ = ["shipped_patterns"]

Pattern = dict[str, Any]
KINDS = ("pattern", "regex", "host", "near")
PERSONAL = ("yes", "maybe", "cue", "no")
MEANS = ("own", "cited")
PATTERN_FILES = ("email", "phone", "id_num", "username", "url", "place", "machine")


class RegexRule(NamedTuple):
    """A regular expression with a validator. `cue`: a word in the match says what the value is. `only_if`: must be found in the text first."""

    id: str
    label: str
    find: re.Pattern[str]
    validate: str = "accept"
    score: float = 1.0
    reason: str = ""
    cue: bool = False
    only_if: re.Pattern[str] | None = None

    def hits(self, text: str, context: Context) -> Iterator[Hit]:
        """YIELDS (Hit): What the expression finds in the normalised text (its group "pii", else the whole match) and the validator accepts."""
        if self.only_if is not None and not self.only_if.search(text):
            return
        validate, group = VALIDATORS[self.validate], "pii" if "pii" in self.find.groupindex else 0
        for match in self.find.finditer(text):
            start, end = match.span(group)
            valid = validate(
                Hit(text, start, end, self.score, text[match.start() : start]), context
            )
            if valid is not None and valid.start < valid.end:
                yield valid


class SiteRule(NamedTuple):
    """A line of the table of web sites; see resources/patterns/url.toml. `personal`: one of `PERSONAL`."""

    id: str
    host: str
    path: re.Pattern[str] | None
    personal: str
    score: float = 1.0
    reason: str = ""

    def covers(self, host: str, rest: str) -> bool:
        """RETURNS (bool): Whether the entry speaks about this host and what follows it."""
        if self.host.startswith("*."):
            below = host.removesuffix(self.host[1:])
            known = below != host and below not in (
                "",
                "www",
                "m",
                "en",
                "support",
                "help",
                "about",
                "blog",
            )
        elif self.host.startswith("."):
            known = host.endswith(self.host)
        else:
            known = self.host in ("*", host) or host.endswith("." + self.host)
        return known and (self.path is None or self.path.search(rest) is not None)

    @property
    def rank(self) -> tuple[int, int]:
        """RETURNS (tuple[int, int]): The higher, the more exactly the entry says what it is about."""
        return len(self.host.strip("*.")), int(self.path is not None)


class NearRule(NamedTuple):
    """Words before a web address. `means`: "own" or "cited"."""

    id: str
    find: re.Pattern[str]
    means: str
    reason: str = ""


class RuleSet(NamedTuple):
    """Compiled patterns, apart from those that spaCy matches."""

    regexes: tuple[RegexRule, ...] = ()
    sites: tuple[SiteRule, ...] = ()
    nears: tuple[NearRule, ...] = ()


def kind_of(entry: Mapping[str, Any]) -> str:
    """RETURNS (str): Which of `KINDS` an entry is. RAISES (PiiError): E201, if it is none or several; E204 without a label, E002
    for one that is neither ours nor can be a user's own."""
    kinds = [kind for kind in KINDS if kind in entry]
    if len(kinds) != 1:
        raise PiiError(Errors.E201, id=entry.get("id", ""))
    label = entry.get("label")
    _check(isinstance(label, str) and label, entry, "label", "a label")
    check_label(entry["label"], what=f"pattern '{entry.get('id', '')}'")
    return kinds[0]


def _check(fits: object, entry: Mapping[str, Any], field: str, allowed: str) -> None:
    if not fits:
        value = entry.get(field)
        raise PiiError(
            Errors.E204, id=entry.get("id", ""), field=field, value=value, allowed=allowed
        )


def _compile(entry: Mapping[str, Any], key: str) -> re.Pattern[str]:
    try:
        return re.compile(entry[key])
    except (re.error, TypeError) as err:
        raise PiiError(Errors.E203, id=entry.get("id", ""), error=err) from err


def _score(entry: Mapping[str, Any]) -> float:
    score = entry.get("score", 1.0)
    _check(isinstance(score, int | float) and 0.0 <= score <= 1.0, entry, "score", "0 to 1")
    return float(score)


def _one_of(entry: Mapping[str, Any], name: str, allowed: tuple[str, ...]) -> str:
    _check(entry.get(name) in allowed, entry, name, ", ".join(allowed))
    return str(entry[name])


def _hosts(entry: Mapping[str, Any]) -> list[str]:
    given = entry["host"] if isinstance(entry["host"], list) else [entry["host"]]
    fits = given and all(isinstance(host, str) and host for host in given)
    _check(fits, entry, "host", "a host or a list of hosts")
    return [host.lower() for host in given]


def compile_patterns(entries: Iterable[Mapping[str, Any]]) -> RuleSet:
    """Check and compile entries of the kinds regex, host and near.

    entries (Iterable[Mapping[str, Any]]): In order; of two that say as much about a web address, the later one decides.
    RETURNS (RuleSet): The sites sorted, the most exact first.
    RAISES (PiiError): E201 to E204."""
    regexes, sites, nears = list[RegexRule](), list[SiteRule](), list[NearRule]()
    for entry in entries:
        kind = kind_of(entry)
        name, reason = str(entry.get("id", "")), str(entry.get("reason", ""))
        if kind == "regex":
            validate = entry.get("validate", "accept")
            _check(validate in VALIDATORS, entry, "validate", ", ".join(VALIDATORS))
            only_if = _compile(entry, "only_if") if entry.get("only_if") else None
            found = (
                entry["label"],
                _compile(entry, "regex"),
                validate,
                _score(entry),
                reason or f"pattern {name}",
            )
            regexes.append(RegexRule(name, *found, bool(entry.get("cue", False)), only_if))
        elif kind == "host":
            path = _compile(entry, "path") if entry.get("path") else None
            personal = _one_of(entry, "personal", PERSONAL)
            sites += [
                SiteRule(name, host, path, personal, _score(entry), reason)
                for host in _hosts(entry)
            ]
        elif kind == "near":
            nears.append(
                NearRule(name, _compile(entry, "near"), _one_of(entry, "means", MEANS), reason)
            )
    sites.reverse()
    return RuleSet(
        tuple(regexes), tuple(sorted(sites, key=lambda s: s.rank, reverse=True)), tuple(nears)
    )


def shipped_patterns() -> list[Pattern]:
    """RETURNS (list[Pattern]): A fresh copy of the patterns that ship, in the order of `PATTERN_FILES`."""
    return [
        dict(entry) for name in PATTERN_FILES for entry in resource(f"patterns/{name}")["patterns"]
    ]
