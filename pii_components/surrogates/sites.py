"""Which parts of a social site's address say who somebody is: rules as data, resources/surrogates/sites.toml.

    steps = read_path("github.com", ["octo-maria", "ferry", "blob", "main"])
    [("handle", "octo-maria"), ("text", "ferry"), ("word", "blob"), ("word", "main")]

A step that no rule calls the site's own word never stays.
"""

import tomllib
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources

WORD, HANDLE, ID, TEXT = ("word", "handle", "id", "text")


@dataclass(frozen=True, slots=True)
class Site:
    """A site. name (str): As in the table. patterns (tuple[tuple[str, ...], ...]): Of paths. keep (frozenset[str]): Its own words.

    leads (tuple[str, ...]): With what codes begin. check (str): Scheme of a number with a check digit; empty for none.
    """

    name: str
    patterns: tuple[tuple[str, ...], ...]
    keep: frozenset[str]
    leads: tuple[str, ...] = ()
    check: str = ""


@cache
def _sites() -> dict[str, Site]:
    file = resources.files("pii_components") / "resources" / "surrogates" / "sites.toml"
    found = {}
    for name, row in tomllib.loads(file.read_text(encoding="utf8")).items():
        patterns = tuple(tuple(path.split("/")) for path in row["paths"])
        keep = frozenset(row.get("keep", "").lower().split())
        site = Site(name, patterns, keep, tuple(row.get("leads", "").split()), row.get("check", ""))
        found.update(dict.fromkeys(row["hosts"].split(), site))
    return found


@lru_cache(maxsize=256)
def site_of(host: str) -> Site | None:
    """RETURNS (Site | None): The site of a host, or of what it is a subdomain of. host (str): In lower case."""
    labels = host.split(".")
    return next((site for i in range(len(labels) - 1) if (site := _sites().get(".".join(labels[i:])))), None)


def site_names() -> tuple[str, ...]:
    """RETURNS (tuple[str, ...]): Sites that have rules."""
    return tuple(dict.fromkeys(site.name for site in _sites().values()))


def read_path(site: Site, steps: list[str]) -> list[str]:
    """What each step of a path is.

    site (Site): Its rules. steps (list[str]): Decoded, without empty ones at the end.
    RETURNS (list[str]): `WORD`, `HANDLE`, `ID` or `TEXT` for each.
    """
    for pattern in site.patterns:
        more = pattern[-1] == "*"
        fixed = pattern[:-1] if more else pattern
        if len(steps) < len(fixed) or (len(steps) > len(fixed) and not more):
            continue
        if all(p.startswith("{") or p == step.lower() for p, step in zip(fixed, steps, strict=False)):
            kinds = [p.strip("{}") if p.startswith("{") else WORD for p in fixed]
            return kinds + [WORD if step.lower() in site.keep else TEXT for step in steps[len(fixed) :]]
    return [TEXT] * len(steps)
