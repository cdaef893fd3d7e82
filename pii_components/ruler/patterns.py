"""Patterns as data: what an entry of resources/patterns/*.toml may hold, checked once and compiled; and whose web addresses are.

    >>> from pii_components.ruler.patterns import compile_patterns, judge_url, shipped_patterns
    >>> rules = compile_patterns([{"id": "our-id", "label": "ID_NUM", "regex": r"U\\d{7}"}])
    >>> rules.regexes[0].find.pattern
    'U\\\\d{7}'
    >>> judge_url(Hit("see linkedin.com/in/ana.", 4, 23), compile_patterns(shipped_patterns())).source
    'url-linkedin-profile'

Four kinds. `pattern`: spaCy's own, a list of token descriptions or a phrase; the ruler gives it to spaCy. `regex`: searched in the normalised view;
the group "pii" is reported, else the whole match; `validate` names a function of validators.py. `host`: a line of the table of web sites, or a list
of sites of which the same is known. `near`: words before a web address that say whose it is. Every entry has an id, which becomes the source of what
it finds, and a reason that a data steward can read.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Set
from dataclasses import replace
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from ..errors import Errors, PiiError
from ..labels import check_label
from ..names import resource, word_list
from ..names.wordlists import in_table, is_glued
from .validators import SURE_TLD, VALIDATORS, Context, Hit, split_host

__all__ = ["shipped_patterns"]

Pattern = dict[str, Any]
KINDS = ("pattern", "regex", "host", "near")
PERSONAL = ("yes", "maybe", "cue", "no")
MEANS = ("own", "cited")
PATTERN_FILES = ("email", "phone", "id_num", "username", "url", "place", "machine")


class RegexRule(NamedTuple):
    """A regular expression with a validator. `cue`: a word in the match says what the value is. `only_if`: must be found first."""

    id: str
    label: str
    find: re.Pattern[str]
    validate: str
    score: float
    reason: str
    cue: bool
    only_if: re.Pattern[str] | None

    def hits(self, text: str, context: Context) -> Iterator[Hit]:
        """YIELDS (Hit): What the expression finds in the normalised text (its group "pii", else the whole match) and the validator accepts."""
        if self.only_if is not None and not self.only_if.search(text):
            return
        validate, group = VALIDATORS[self.validate], "pii" if "pii" in self.find.groupindex else 0
        for match in self.find.finditer(text):
            start, end = match.span(group)
            hit = Hit(text, start, end, self.score, text[match.start() : start])
            valid = validate(hit, context)
            if valid is not None and valid.start < valid.end:
                yield valid


# Parts of a host that a site has, and no person.
_PARTS = frozenset(("", "www", "m", "en", "support", "help", "about", "blog"))


class SiteRule(NamedTuple):
    """A line of the table of web sites; see resources/patterns/url.toml. `personal`: one of `PERSONAL`."""

    id: str
    host: str
    path: re.Pattern[str] | None
    personal: str
    score: float
    reason: str

    def covers(self, host: str, rest: str) -> bool:
        """RETURNS (bool): Whether the entry speaks about this host and what follows it."""
        if self.host.startswith("*."):
            below = host.removesuffix(self.host[1:])
            known = below != host and below not in _PARTS
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
    reason: str


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
        about = {"id": entry.get("id", ""), "field": field, "value": entry.get(field)}
        raise PiiError(Errors.E204, **about, allowed=allowed)


def _compile(entry: Mapping[str, Any], key: str) -> re.Pattern[str] | None:
    """RETURNS (re.Pattern[str] | None): An expression; None where there is none. RAISES (PiiError): E203."""
    try:
        return re.compile(entry[key]) if key in entry else None
    except (re.error, TypeError) as err:
        raise PiiError(Errors.E203, id=entry.get("id", ""), error=err) from err


def _one_of(
    entry: Mapping[str, Any], name: str, allowed: Collection[str], default: str = ""
) -> str:
    value = entry.get(name, default)
    _check(value in allowed, entry, name, ", ".join(allowed))
    return str(value)


def compile_patterns(entries: Iterable[Mapping[str, Any]]) -> RuleSet:
    """Check and compile entries of the kinds regex, host and near.

    entries (Iterable[Mapping[str, Any]]): In order; of two that say as much about a web address, the later one decides.
    RETURNS (RuleSet): The sites sorted, the most exact first.
    RAISES (PiiError): E201 to E204."""
    regexes, sites, nears = list[RegexRule](), list[SiteRule](), list[NearRule]()
    for entry in entries:
        kind = kind_of(entry)
        name, reason = str(entry.get("id", "")), str(entry.get("reason", ""))
        score, find = entry.get("score", 1.0), _compile(entry, kind) if kind != "host" else None
        _check(isinstance(score, int | float) and 0 <= score <= 1, entry, "score", "0 to 1")
        if kind == "regex" and find:
            validate, only_if = (
                _one_of(entry, "validate", VALIDATORS, "accept"),
                _compile(entry, "only_if"),
            )
            reason, cue = reason or f"pattern {name}", bool(entry.get("cue", False))
            rule = RegexRule(
                name, entry["label"], find, validate, float(score), reason, cue, only_if
            )
            regexes.append(rule)
        elif kind == "near" and find:
            nears.append(NearRule(name, find, _one_of(entry, "means", MEANS), reason))
        elif kind == "host":
            hosts = entry["host"] if isinstance(entry["host"], list) else [entry["host"]]
            fits = hosts and all(isinstance(host, str) and host for host in hosts)
            _check(fits, entry, "host", "a host or a list of hosts")
            about = (
                _compile(entry, "path"),
                _one_of(entry, "personal", PERSONAL),
                float(score),
                reason,
            )
            sites += [SiteRule(name, host.lower(), *about) for host in hosts]
    sites.reverse()
    sites.sort(key=lambda site: site.rank, reverse=True)
    return RuleSet(tuple(regexes), tuple(sites), tuple(nears))


def shipped_patterns() -> list[Pattern]:
    """RETURNS (list[Pattern]): A fresh copy of the patterns that ship, in the order of `PATTERN_FILES`."""
    return [
        dict(entry) for name in PATTERN_FILES for entry in resource(f"patterns/{name}")["patterns"]
    ]


# Web addresses: what belongs to one, and whose it is, by the table of sites and the words before it. CRAPII protects what leads to a student:
# a profile, an own page, a video or a document that they made (Holmes, section 2.2). What is public stays, since a reader needs it: course
# pages, encyclopedias, news, published works.

_SURE = frozenset(SURE_TLD.split("|"))
_WINDOW = 160
# Parts of a site that an organisation has and a person's own page has not.
_PUBLISHED = re.compile(
    r"/(?:[a-z]{2}(?:-[a-z]{2})?/)?(?:case[-_]?stud(?:y|ies)|articles?|news|newsroom|press(?:-releases?)?|insights|resources?|library|white-?papers?"
    r"|publications?|reports?|products?|services?|solutions|pricing|features|templates?|courses?|glossary|help|support|faqs?|docs|documentation|careers"
    r"|about-us|our-story|research|topics?|tools?|methods?)(?:[/?#]|\Z)"
)
_OF_A_SITE = word_list("ruler/words", "parts_of_a_site")
_OWN_ENDINGS = frozenset(("me", "name", "blog", "page", "bio", "tel"))


class Verdict(NamedTuple):
    """What is known about one web address.

    personal (str): "yes" (protect), "unsure" (no rule speaks: what the model says counts), "unlikely" (the home page, or what is
        published there, of a site that nobody's name is in: only a model that is very sure counts) or "no" (public).
    source (str): Id of the deciding pattern."""

    hit: Hit
    personal: str
    source: str = "url"
    reason: str = "web address"


def trim_url(value: str) -> int:
    """RETURNS (int): Length of the address without closing signs and brackets that have no partner."""
    end = len(value)
    while end:
        last = value[end - 1]
        opens = {")": "(", "]": "[", "}": "{"}.get(last)
        if last not in ".,;:!?'\"*_~…([{" and not (
            opens and value.count(opens, 0, end) < value.count(last, 0, end)
        ):
            break
        end -= 1
    return end


def parse_url(value: str) -> tuple[str, str, bool] | None:
    """Take a web address of the normalised view apart, with or without scheme, spaces within the scheme allowed.

    RETURNS (tuple[str, str, bool] | None): Host in lower case without "www.", what follows it, and whether the form alone
        (scheme, "www." or a path) says that it is one. None, if it is no web address."""
    value = re.sub(r"\[\.\]|\(\.\)|\[dot\]", ".", re.sub(r"\s", "", value))
    value = re.sub(r"(?i)^hxxp", "http", value)
    value = re.sub(r"(?i)^(https?):/{1,2}(?!/)", r"\1://", value)
    scheme = re.match(r"(?i)https?://", value) is not None
    try:
        parts = urlsplit(value if scheme else "http://" + value)
        host = (parts.hostname or "").strip(".")
    except ValueError:
        return None
    given = parts.netloc.rpartition("@")[2].partition(":")[0].strip(".")
    _sub, domain, suffix = split_host(host)
    if not suffix or not domain:
        return None
    rest = (
        parts.path
        + (f"?{parts.query}" if parts.query else "")
        + (f"#{parts.fragment}" if parts.fragment else "")
    )
    www = host.startswith("www.")
    if not scheme and not www:
        # "word.Next", "menu.Keep": a new sentence. "whole.it", "3.in": no sure ending and nothing after it.
        last = given.rpartition(".")[2]
        written = last.islower() or given.isupper() or last in ("Com", "Org", "Net", "Edu")
        bare = len(rest) < 2 and (
            suffix.rpartition(".")[2] not in _SURE or not re.search(r"[^\W\d]{2}", domain)
        )
        if not written or bare or not re.search(r"[^\W\d]", domain):
            return None
    return host.removeprefix("www."), rest, scheme or www or len(rest) > 1


def words_of_names(names: Iterable[str]) -> set[str]:
    """RETURNS (set[str]): Words of names in small letters, three or more each."""
    return {word for name in names for word in re.split(r"[^a-z]+", name.lower()) if len(word) >= 3}


def holds_name(address: str, words: Set[str]) -> bool:
    """RETURNS (bool): Whether a name of the document stands in the address, as a word or two of them joined. words: From `words_of_names`."""
    return any(
        (piece in words and len(piece) >= 4)
        or any(piece[:at] in words and piece[at:] in words for at in range(3, len(piece) - 2))
        for piece in re.split(r"[^a-z]+", address.lower())
    )


def judge_url(hit: Hit, rules: RuleSet, names: Set[str] = frozenset()) -> Verdict | None:
    """Whose is this address?

    names (Set[str]): Words of the names found in the document, cited authors left out; see `words_of_names`.
    RETURNS (Verdict | None): None, if it is no web address."""
    hit = hit.cut(0, trim_url(hit.value))
    parsed = parse_url(hit.value) if hit.value else None
    if parsed is None:
        return None
    host, rest, sure = parsed
    window = hit.before(_WINDOW).rpartition("\n\n")[2]
    near = {rule.means: rule for rule in rules.nears if rule.find.search(window)}
    own = near.get("own")
    # In capitals throughout, its path too, which sites write in small letters.
    path = rest.lower() if hit.value.isupper() else rest
    site = next(
        (site for site in rules.sites if site.covers(host, path)), None
    )  # the most exact entry
    personal = site.personal if site else "cue"
    hit = replace(hit, score=site.score if site else 0.8)
    if site is None and not rest.strip("/") and any(known.host == host for known in rules.sites):
        return Verdict(hit, "no", "url-home", "the home page of a known site")
    if site and personal == "no":
        return Verdict(hit, "no", site.id, site.reason)
    if site and (personal == "yes" or (personal == "maybe" and (own or "cited" not in near))):
        return Verdict(hit, "yes", site.id, site.reason)
    if holds_name(host + rest, names):
        reason = "web address that holds a name of this document"
        return Verdict(hit, "yes", "url-holds-name", reason)
    if own and "cited" not in near and sure | (split_host(host)[2] in _SURE):
        return Verdict(hit, "yes", own.id, own.reason)
    cited = site is not None and personal == "maybe" and own is None
    return Verdict(hit, "unlikely" if cited or is_published(host, rest) else "unsure")


def is_published(host: str, rest: str) -> bool:
    """Whether an address (host and rest from `parse_url`) leads to the front of a whole site that bears nobody's name, or to what it
    publishes: a company's, a newspaper's, the case study of an agency. Never for a subdomain ("ana.example.com") but such as "docs", an
    ending for people (.me), or a domain that holds a frequent name."""
    sub, domain, suffix = split_host(host)
    front = not sub and (not rest.strip("/") or _PUBLISHED.match(rest.lower()))
    if suffix in _OWN_ENDINGS or not (front or sub.lower() in _OF_A_SITE):
        return False
    words = re.split(r"[^a-z]+", domain.lower())
    return not any(len(word) > 2 and (in_table(word) or is_glued(word)) for word in words)
