"""Surrogates for personal web addresses: taken apart, the identifying parts replaced, the rest kept.

    https://in.linkedin.com/in/maria-lopez-4f2a9c/  ->  https://in.linkedin.com/in/carla-vidal-8d3b1e/
    youtube.com/@mlopez?list=PLx91                  ->  youtube.com/@cvidal?list=QRw46
    http://www.marialopez.com/about                 ->  http://www.carlavidal.example.com/about

A social site stays itself: its host and the words of its own addresses ("in", "watch", "channel") say nothing about a
person; sites.py knows them. Elsewhere, what is neither of these nor a frequent word of web pages is taken to identify somebody.
"""

import os
import re
from functools import cache, lru_cache
from typing import Any
from urllib.parse import quote, unquote

from .check_digits import other_number
from .generate import Context
from .handle import owner_of, surrogate_handle
from .keys import Source
from .sites import HANDLE, ID, WORD, Site, read_path, site_of
from .style import has_sign, other_shape
from .words import words

_URL = re.compile(
    r"^(?P<scheme>[a-z][a-z0-9+.-]*:/{1,2}|//)?(?P<user>[^@/?#]*@)?(?P<host>\[[^\]]*\]|[^/?#:]+)(?P<port>:\d+)?"
    r"(?P<path>/[^?#]*)?(?P<query>\?[^#]*)?(?P<fragment>#.*)?$",
    re.IGNORECASE | re.DOTALL,
)
_NUMBERS = re.compile(r"[\d.]+|\[.*\]")
_CHANNEL = re.compile(r"UC[\w-]{20,}")
_RUNS = re.compile(r"[A-Za-z]+|\d+")
_CODE = re.compile(r"(?=.*\d)(?=.*[A-Za-z])[\w-]{6,}|\d{5,}|[A-Za-z0-9_-]{20,}")


def surrogate_url(value: str, context: Context, attempt: int = 0) -> str | None:
    """An address of the same kind for somebody else.

    value (str): As it stands; spaces inside it are left out. context (Context): People, chance, settings.
    attempt (int): Another one for the same value.
    RETURNS (str | None): None if it is no address.
    """
    compact = "".join(value.split())
    if compact.startswith("@"):
        return surrogate_handle(compact, context.people, context.chance, context.table, attempt=attempt)
    match = _URL.match(compact)
    if not match or not has_sign(compact):
        return None
    scheme, user, host, port, path, query, fragment = match.groups("")
    rng = context.chance.rng("URL_PERSONAL", compact.casefold(), attempt=attempt)
    site = site_of(host.lower())
    user = surrogate_handle(user, context.people, context.chance, context.table) if user else ""
    host, known = _host(host, site, context, rng, attempt)
    path = _path(path, site, context, rng, attempt)
    query = _query(query, rng)
    fragment = "#" + _segment(fragment[1:], context, rng, attempt) if fragment else ""
    new = scheme + user + host + port + path + query + fragment
    # A bare social site tells nothing, but what stays as it was must not look as if it had been replaced.
    return None if known and new == compact else new


def _path(path: str, site: Site | None, context: Context, rng: Source, attempt: int) -> str:
    """RETURNS (str): A path, by the rules of its site where there are some."""
    steps = path.split("/")
    if site is None:
        return "/".join(_segment(s, context, rng, attempt) for s in steps)
    named = [i for i, s in enumerate(steps) if s]
    kinds = dict(zip(named, read_path(site, [unquote(steps[i]) for i in named]), strict=True))
    return "/".join(_step(s, kinds.get(i, WORD), site, context, rng, attempt) for i, s in enumerate(steps))


def _step(step: str, kind: str, site: Site, context: Context, rng: Source, attempt: int) -> str:
    """RETURNS (str): One step of a known site's path. kind (str): What it is, one of those in sites.py."""
    plain = unquote(step)
    if kind == WORD or not has_sign(plain):
        return step
    if kind == ID and ":" not in plain:
        code = "".join(ch for ch in plain if ch.isalnum())
        if site.check and (made := other_number(code, rng, site.check) if code[:-1].isdecimal() else None):
            chars = iter(made)
            return "".join(next(chars) if ch.isalnum() else ch for ch in plain)
        lead = next((lead for lead in site.leads if plain.startswith(lead) and len(plain) > len(lead) + 8), "")
        return quote(lead + other_shape(plain[len(lead) :], rng), safe="@-._~+!$&'()*,;=:")
    if kind == HANDLE and not _is_code(plain):
        new = surrogate_handle(plain, context.people, context.chance, context.table, attempt=attempt)
        return new if plain == step else quote(new, safe="@-._~+!$&'()*,;=:")
    return _segment(step, context, rng, attempt, common=False)


def _host(host: str, of: Site | None, context: Context, rng: Source, attempt: int) -> tuple[str, bool]:
    """RETURNS (tuple[str, bool]): The new host, and whether it is one that many people use. of (Site | None): Its rules."""
    lower = host.lower()
    if _NUMBERS.fullmatch(lower):
        return f"192.0.2.{1 + int(rng.random() * 254)}", False
    labels = lower.split(".")
    ends = [".".join(labels[i:]) for i in range(len(labels) - 1)]
    hosted = words("hosted_sites")
    site = next((end for end in ends[1:] if end in hosted), "")
    owner = lower.removesuffix("." + site) if site else ""
    if owner not in ("", "www", "m"):
        lead = "www." if owner.startswith("www.") else ""
        handle = surrogate_handle(host[len(lead) : len(owner)], context.people, context.chance, context.table, attempt=attempt)
        return lead + handle + host[len(owner) :], True
    if of or not words("social_sites").isdisjoint(ends) or not words("hosted_sites").isdisjoint(ends):
        return host, True
    extracted = _extract(lower)
    domain, suffix = extracted.domain, extracted.suffix
    registered = f"{domain}.{suffix}" if suffix else domain
    handle = surrogate_handle(domain, context.people, context.chance, context.table, attempt=attempt) or "site"
    lead = lower[: len(lower) - len(registered)]
    if lead not in ("", "www.", "m.", "blog.", "portfolio."):
        # "maria-lopez.some-school.edu": the person before the school.
        steps = [step for step in lead.split(".") if owner_of(step, context.people)]
        new = (surrogate_handle(step, context.people, context.chance, context.table, attempt=attempt) for step in steps)
        lead = ".".join([*new, ""]) if steps else "www."
    if not context.reserved:
        return f"{lead}{handle}.{suffix or 'com'}", False
    if context.near:
        # The shortest that nobody can own (RFC 2606).
        return f"{lead}{handle}.example", False
    ending = "edu" if "edu" in suffix.split(".") or suffix.startswith("ac.") else suffix if suffix in ("org", "net") else "com"
    return f"{lead}{handle}.example.{ending}", False


@cache
def _extractor() -> Any:
    # The snapshot in the package; without this the library looks for a newer list on the network.
    os.environ.setdefault("TLDEXTRACT_PUBLIC_SUFFIX_LIST_URLS", "")
    import tldextract

    return tldextract.TLDExtract(suffix_list_urls=(), cache_dir=None, fallback_to_snapshot=True)


@lru_cache(maxsize=256)
def _extract(host: str) -> Any:
    return _extractor()(host)


def _segment(segment: str, context: Context, rng: Source, attempt: int, *, common: bool = True) -> str:
    """RETURNS (str): One step of a path: a new code for a code, else a new handle. common (bool): Whether common words stay."""
    plain = unquote(segment)
    if not has_sign(plain) or (common and plain.lower() in words("path_words")):
        return segment
    if ":" in plain:
        return ":".join(_segment(part, context, rng, attempt) for part in segment.split(":"))
    if _is_code(plain):
        # A channel's code begins with UC: a fact about the site.
        lead = "UC" if _CHANNEL.fullmatch(plain) else ""
        return lead + other_shape(plain[len(lead) :], rng)
    new = surrogate_handle(plain, context.people, context.chance, context.table, attempt=attempt)
    if plain.lower().endswith((".html", ".htm", ".php", ".pdf", ".aspx")):
        new = new.rpartition(".")[0] + "." + plain.rpartition(".")[2]
    return new if plain == segment else quote(new, safe="@-._~+!$&'()*,;=:")


def _is_code(text: str) -> bool:
    """RETURNS (bool): Whether a step of a path is a code ("4f2a9c", "dQw4w9WgXcQ") rather than a handle ("maria-lopez-99")."""
    if not _CODE.fullmatch(text):
        return False
    if text == text.lower() and any([len(word) > 2 and word.isalpha() for word in text.replace("_", "-").split("-")]):
        return False
    runs = _RUNS.findall(text)
    switches = sum(1 for a, b in zip(text, text[1:], strict=False) if a.islower() and b.isupper())
    return text.isdigit() or len(runs) >= 4 or (switches >= 2 and len(runs) >= 2) or (len(text) >= 20 and not text.islower())


def _query(query: str, rng: Source) -> str:
    """RETURNS (str): The query with its keys kept and all values changed."""
    if not query:
        return ""
    out = []
    for part in re.split(r"([&;])", query[1:]):
        key, equals, value = part.partition("=")
        if equals:
            out.append(key + "=" + other_shape(value, rng))
        else:
            out.append(other_shape(part, rng) if part not in "&;" else part)
    return "?" + "".join(out)
