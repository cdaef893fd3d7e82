"""Surrogates for e-mail addresses: the handle of the surrogate name at a domain that belongs to nobody.

maria.lopez99@stateu.edu  ->  carla.vidal47@example.edu
mlopez [at] gmail (dot) com  ->  cvidal [at] example (dot) com
"""

import re

from .generate import Context
from .handle import letters, surrogate_handle
from .keys import pick
from .style import has_sign
from .words import word_list, words

AT = re.compile(r"@|＠|\s*[\[({<]\s*(?:at|@)\s*[\])}>]\s*|\s+at\s+|\s+@\s*", re.IGNORECASE)
DOT = re.compile(r"\s*[\[({<]\s*(?:dot|\.)\s*[\])}>]\s*|\s+dot\s+|[.．]", re.IGNORECASE)
# In which only "@" and "." can separate.
_SIMPLE = re.compile(r"[\w.@+-]+", re.ASCII)
_PREFIX = re.compile(r"^(?:mailto:|e-?mail:)\s*", re.IGNORECASE)


def surrogate_email(value: str, context: Context, attempt: int = 0) -> str | None:
    """An address in the same pattern.

    value (str): As it stands, also with "at" and "dot" spelled out.
    context (Context): The document's people, chance and settings. attempt (int): Another one for the same value.
    RETURNS (str | None): None if there is no handle in it.
    """
    prefix = _PREFIX.match(value)
    start = prefix.end() if prefix else 0
    at = _at(value, start)
    local = value[start : at[0]] if at else value[start:]
    if not has_sign(local):
        return None
    handle = surrogate_handle(local, context.people, context.chance, context.table, attempt=attempt)
    if not at:
        return value[:start] + handle
    return value[:start] + handle + value[at[0] : at[1]] + surrogate_domain(value[at[1] :], context)


def _at(value: str, start: int) -> tuple[int, int] | None:
    """RETURNS (tuple[int, int] | None): Where the first `AT` of an address stands, from a place on."""
    if _SIMPLE.fullmatch(value):
        place = value.find("@", start)
        return (place, place + 1) if place >= 0 else None
    found = AT.search(value, start)
    return found.span() if found else None


def surrogate_domain(domain: str, context: Context) -> str:
    """A domain of the same kind: school, free mail, organisation or other.

    domain (str): As it stands. context (Context): `reserved` asks for one that nobody can own (RFC 2606).
    RETURNS (str): With the separators of the original, so far as there are as many.
    """
    simple = _SIMPLE.fullmatch(domain)
    parts = [p for p in (domain.split(".") if simple else DOT.split(domain)) if p]
    dots = ["."] if simple else DOT.findall(domain) or ["."]
    if not parts:
        return domain
    names = [p.strip().lower() for p in parts]
    school = (
        "edu" in names[-2:] or "ac" in names[-2:-1] or "k12" in names or any(n.startswith(("uni", "college")) for n in names)
    )
    free = any(n in words("free_mail") for n in names[:-1]) and not school
    if not context.reserved and free:
        return domain
    ending = "edu" if school else names[-1] if names[-1] in ("org", "net") else "com"
    if context.reserved:
        new = ["example", ending]
    else:
        rng = context.chance.rng("DOMAIN", ".".join(letters(n) for n in names))
        second_level = names[-2:-1] in (["ac"], ["edu"], ["co"])
        made_up = pick(rng, word_list("domain_starts")) + pick(rng, word_list("domain_ends"))
        new = [made_up, *(names[-2:] if second_level else [ending])]
    upper = len(domain) > 1 and domain.isupper()
    return dots[0].join(p.upper() if upper else p for p in new)
