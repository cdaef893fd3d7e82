"""Validators of e-mail addresses: plain, with spaces, in words ("ana at uni dot edu"), with capitals for the sign ("ana7 AT orange").

    >>> from pii_components.shapes import Context, Hit
    >>> email_capital(Hit("look AT orange", 0, 14), Context()) is None
    True

What is plain needs a host that exists. What is written otherwise needs a sign of a person too, since "at" and "dot" are words.
"""

import re
from dataclasses import replace

from .shapes import Context, Hit, split_host

MAIL_HOSTS = ("gmail", "yahoo", "hotmail", "outlook", "icloud", "protonmail")


def email(hit: Hit, _: Context) -> Hit | None:
    """RETURNS (Hit | None): An address without what is glued to it, its host cut where one with a public suffix ends."""
    local, _at, host = hit.value.partition("@")
    lead = len(local) - len(re.sub(r"(?i)^(?:[.'-]+|e?-?mail[-_.:])+", "", local))
    local = local[lead:]
    labels = host.split(".")
    if not local or local.endswith(".") or ".." in local or any(not x or x.startswith("-") for x in labels):
        return None
    # "ana@x.org.Then": the longest host with a public suffix
    for n in range(len(labels), 1, -1):
        if split_host(".".join(labels[:n]))[2] and split_host(".".join(labels[:n]))[1]:
            return hit.cut(lead, lead + len(local) + 1 + len(".".join(labels[:n])))
    if not re.search(r"[A-Za-z]", labels[-1]):
        return None
    return replace(hit.cut(lead, len(hit.value)), score=min(hit.score, 0.7))


def email_spaced(hit: Hit, _: Context) -> Hit | None:
    """RETURNS (Hit | None): An address with spaces, if its host exists."""
    _local, _at, host = hit.value.partition("@")
    return hit if split_host(re.sub(r"\s", "", host))[2] else None


_WORDED_AT = re.compile(r"(?i)\s*[\[({<]\s?(?:at|@)\s?[\])}>]\s*|\s+at\s+|_at_")
_WORDED_DOT = re.compile(r"(?i)\s?[\[({<]\s?(?:dot|\.)\s?[\])}>]\s?|\sdot\s|_dot_")


# Where many people have their address, without endings; beside MAIL_HOSTS.
_PROVIDERS = frozenset(
    [
        "aol",
        "comcast",
        "gmx",
        "live",
        "libero",
        "mail",
        "mailru",
        "msn",
        "naver",
        "orange",
        "outlook",
        "proton",
        "qq",
        "rediffmail",
    ]
    + ["tutanota", "uol", "ukr", "verizon", "web", "wp", "yandex", "zoho"]
)


def _is_handle(local: str, hit: Hit, context: Context) -> bool:
    """Whether the first part of an address looks like one: digits or signs in it, or a name of the document (a word of it, 4 letters)."""
    if re.search(r"[._\d+-]", local):
        return True
    words = {
        word for start, end in context.names for word in re.split(r"[\W\d_]+", hit.text[start:end].lower()) if len(word) >= 4
    }
    return any(word in local.lower() for word in words)


_PROSE = re.compile(r"(?i).*(?:ed|ing|ly|able|ible)")


def _is_prose(word: str) -> bool:
    """Whether a word may stand before "at" in a sentence."""
    from .context_words import words

    return len(word) < 4 or words().is_common(word) or words().is_common(word.removesuffix("s")) or bool(_PROSE.fullmatch(word))


def email_capital(hit: Hit, context: Context) -> Hit | None:
    """Capitals for the sign: "ana.lopez7 AT orange"; "look AT this" is none."""
    local, _at, host = re.split(r"(\sAT\s{1,2})", hit.value, maxsplit=1)
    local, host = local.strip(), host.split(".")[0].split(" ")[0].lower()
    if local.isupper() or local[-1] in ".+-":
        return None
    if re.search(r"[._\d+-]", local):
        return hit
    known = host in _PROVIDERS or host in MAIL_HOSTS or _is_handle(local, hit, context)
    return hit if known and not _is_prose(local) else None


def email_worded(hit: Hit, context: Context) -> Hit | None:
    """Strict, since "meet me at example.com" is no address: something must hide a sign, and the host must exist."""
    at = _WORDED_AT.search(hit.value)
    if at is None:
        return None
    local, host = hit.value[: at.start()], hit.value[at.end() :]
    name = _WORDED_DOT.sub(".", local)
    address = _WORDED_DOT.sub(".", host)
    bracketed = not re.fullmatch(r"(?i)\s+at\s+", at.group())
    called = re.search(r"(?i)(?:e-?mail|\bmail|contact|reach|write|address)[^.\n]{0,30}$", hit.before())
    handle = bool(re.search(r"[._\d+]", name))
    if address.lower() in MAIL_HOSTS:
        return hit if bracketed or called or handle else None
    if not split_host(address)[2]:
        return None
    if bracketed:
        return hit
    first = address.lower().split(".")[0]
    known = called or handle or first in MAIL_HOSTS or first in _PROVIDERS or _is_handle(name, hit, context)
    return hit if _WORDED_DOT.search(host) and known and (called or handle or not _is_prose(name)) else None
