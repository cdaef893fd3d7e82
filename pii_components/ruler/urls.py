"""Web addresses: what belongs to one, and whose it is, by the table of sites and the words before it.

    >>> from pii_components.ruler.patterns import compile_patterns, shipped_patterns
    >>> from pii_components.ruler.urls import judge_url
    >>> from pii_components.ruler.validators import Hit
    >>> judge_url(Hit("see linkedin.com/in/ana.", 4, 23), compile_patterns(shipped_patterns())).source
    'url-linkedin-profile'

CRAPII protects what leads to a student: a profile, an own page, a video or a document that they made (Holmes, section 2.2).
What is public stays, since a reader needs it: course pages, encyclopedias, news, published works.
"""

import re
from collections.abc import Iterable, Set
from typing import NamedTuple
from urllib.parse import urlsplit

from ..names import word_list
from ..names.wordlists import in_table, is_glued
from .patterns import RuleSet
from .tokenizer import SURE_TLD
from .validators import Hit, split_host

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
    score: float = 1.0
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
    personal, score = (site.personal, site.score) if site else ("cue", 0.8)
    if site is None and not rest.strip("/") and any(known.host == host for known in rules.sites):
        return Verdict(hit, "no", score, "url-home", "the home page of a known site")
    if site and personal == "no":
        return Verdict(hit, "no", score, site.id, site.reason)
    if site and (personal == "yes" or (personal == "maybe" and (own or "cited" not in near))):
        return Verdict(hit, "yes", score, site.id, site.reason)
    if holds_name(host.partition("/")[0] + rest, names):
        return Verdict(
            hit, "yes", score, "url-holds-name", "web address that holds a name of this document"
        )
    if own and "cited" not in near and sure | (split_host(host)[2] in _SURE):
        return Verdict(hit, "yes", score, own.id, own.reason)
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
