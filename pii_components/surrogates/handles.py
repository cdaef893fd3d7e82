"""Handles: the part of an e-mail address, a user name or a profile's address that says who it is.

    "mlopez99", Maria Lopez -> Carla Vidal      =>  "cvidal47"
    "Maria.Lopez", the same                     =>  "Carla.Vidal"
    "skater_boy12", nobody's name               =>  "moreau_teller58"

The same handle becomes the same surrogate wherever it stands, so that an address and a profile still belong together. Letters
that are no part of a known name are replaced by a name: they may be one that we do not know.
"""

import os
import re
import tomllib
from collections.abc import Collection, Sequence
from functools import cache, cached_property
from importlib import resources
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

from ..names.letters import fold, has_sign, plain
from ..names.link import nicknames_of
from ..names.memo import per_batch
from ..names.table import NameTable, Source
from .keys import pick
from .numbers import other_number
from .person_names import Named
from .style import fill, in_case, other_chars, other_shape, word_list, words
from .values import Context

_LETTERS = re.compile(r"[^\W\d_]+")
_RUNS = re.compile(r"[^\W\d_]+|\d+|[\W_]+")


class Piece(NamedTuple):
    """A stretch of letters in a handle that comes from a name: what it becomes, and how sure that is."""

    start: int
    end: int
    new: str
    weight: int


class Stem(NamedTuple):
    """A word of a person for handles: its letters, what they become, its place, its nicknames; `signs` of which one stands in a
    run that holds more of the word than its initial.
    """

    old: str
    new: str
    place: int
    nicks: tuple[str, ...]
    signs: tuple[str, ...]


def letters(word: str) -> str:
    """A name as it stands in an address: small ASCII letters only."""
    if word.isascii() and word.isalpha():
        return word.lower()
    return "".join(ch for ch in plain(word).lower() if ch.isascii() and ch.isalpha())


class People(tuple[Named, ...]):
    """The people of a document, and how their names stand in handles: found out once for all of its addresses."""

    @classmethod
    def of(cls, people: Sequence[Named]) -> "People":
        return people if isinstance(people, cls) else cls(people)

    @cached_property
    def words(self) -> frozenset[str]:
        return frozenset([letters(word) for named in self for word in named.person.words])

    @cached_property
    def stems(self) -> list[list[Stem]]:
        return [_stems(named) for named in self]

    @cached_property
    def _read(self) -> dict[tuple[str, int], tuple[Piece, ...]]:
        return {}

    def pieces(self, run: str, i: int) -> tuple[Piece, ...]:
        """A run of small letters read as the name of one of them; see `_segment`."""
        found = self._read.get((run, i))
        if found is None:
            found = self._read[run, i] = _segment(run, self.stems[i], len(self[i].person.words))
        return found


def surrogate_handle(handle: str, context: Context, attempt: int = 0) -> str:
    """A handle for somebody else, with as many runs of letters and digits, the same separators and case. The person whose name
    it holds lends the surrogate; letters that are nobody's name become a name of the table.
    """
    people, table = People.of(context.people), context.table
    runs = _RUNS.findall(handle)
    owner = _owner(handle, people)
    avoid = people.words
    rng = context.chance.rng("HANDLE", fold(handle), attempt=attempt)
    # A handle of such words only is somebody's all the same.
    harmless = words("handle_words")
    common = any(run[0].isalpha() and run.lower() not in harmless for run in runs)
    out = []
    for i, run in enumerate(runs):
        if run.isdecimal():
            out.append(_number(run, rng))
        elif run[0].isalpha():
            mixed = _is_code(runs, i)
            small = letters(run)
            pieces = people.pieces(small, owner) if owner >= 0 else ()
            if mixed or (not pieces and len(small) != len(run)):
                new = other_chars(run, rng)
            elif pieces:
                out.append(_join(run, pieces, rng, table, avoid))
                continue
            elif common and run.lower() in harmless:
                new = run.lower()
            else:
                new = _unknown(small, rng, table, avoid)
            out.append(in_case(run, new))
        else:
            out.append(run)
    if attempt and owner >= 0 and not any(run.isdecimal() for run in runs):
        # Brothers whose surrogates share an initial, two schools that become one: as such sites do, add a number.
        out.append(str(10 + int(rng.random() * 90)))
    return "".join(out)


def owner_of(handle: str, people: Sequence[Named]) -> Named | None:
    """The person whose name explains most of a handle; None if it holds nobody's."""
    found = _owner(handle, People.of(people))
    return people[found] if found >= 0 else None


def _owner(handle: str, people: People) -> int:
    best, found = 0, -1
    harmless = words("handle_words")
    runs = [(len(run), letters(run)) for run in _LETTERS.findall(handle) if run.lower() not in harmless]
    total = sum([length for length, _ in runs])
    for i, named in enumerate(people):
        weight = covered = longest = 0
        for _, run in runs:
            for piece in people.pieces(run, i):
                weight += piece.weight
                covered += piece.end - piece.start
                longest = max(longest, piece.weight)
        strong = weight >= 12 or (covered == total and weight >= min(2, len(named.person.words)) >= 2)
        # A whole long name says enough, whatever stands around it ("maria-lopez-my-first-ferry").
        if strong and (2 * covered >= total or longest >= 20) and (found < 0 or weight > best):
            best, found = weight, i
    return found


def _stems(named: Named) -> list[Stem]:
    found = []
    for i, (word, surrogate) in enumerate(zip(named.person.words, named.surrogates, strict=True)):
        old, new = letters(word), letters(surrogate or "")
        if old and new:
            nicks = nicknames_of(word)
            found.append(Stem(old, new, i, nicks, (old[:3], *nicks) if len(old) > 1 else nicks))
    return found


def _forms(run: str, stems: Sequence[Stem]) -> list[tuple[str, str, int, int]]:
    """How a person's words stand in a run of letters, if they do: letters, what they become, which word, how sure."""
    forms = []
    for old, new, i, nicks, _ in stems:
        if old[0] in run:
            # Where not even the first letters are, nothing longer is.
            if old[:3] in run and len(old) > 1:
                if old in run:
                    forms.append((old, new, i, 4 * len(old)))
                forms += [(old[:n], new[:n], i, 3 * n) for n in range(len(old) - 1, 2, -1) if old[:n] in run]
            forms.append((old[0], new[0], i, 1))
        for nick in nicks:
            if nick in run:
                forms.append((nick, new, i, 4 * len(nick)))
    return forms


def _segment(run: str, stems: Sequence[Stem], size: int) -> tuple[Piece, ...]:
    """The best way to read a run of small letters as parts of a person's name, each word used once; nothing if only scattered
    initials fit. size: How many words the name has.
    """
    if not run or len(run) > 40:
        return ()
    shown = [stem for stem in stems if any([sign in run for sign in stem.signs])]
    if not shown and len(run) > size:
        # Most people have nothing to do with it.
        return ()
    if len(shown) == 1 and shown[0].old == run and len(run) > 1:
        # Initials of other words, or a part of this one, never weigh as much.
        return (Piece(0, len(run), shown[0].new, 4 * len(run)),)
    forms = _forms(run, stems)
    if not forms:
        return ()
    # Where forms begin, and the next such place behind each letter.
    here: dict[int, list[tuple[str, str, int, int]]] = {}
    for form in forms:
        start = run.find(form[0])
        while start >= 0:
            here.setdefault(start, []).append(form)
            start = run.find(form[0], start + 1)
    after = [len(run)] * (len(run) + 1)
    for start in range(len(run) - 1, -1, -1):
        after[start] = start if start in here else after[start + 1]
    seen: dict[tuple[int, int], tuple[int, tuple[Piece, ...]]] = {}

    def best(start: int, used: int) -> tuple[int, tuple[Piece, ...]]:
        # Letters that are no part of a name cost three each.
        lost = 3 * (after[start] - start)
        start = after[start]
        if start == len(run):
            return -lost, ()
        found = seen.get((start, used))
        if found is None:
            score, rest = best(start + 1, used)
            found = (score - 3, rest)
            for old, new, i, weight in here[start]:
                if not used >> i & 1:
                    score, rest = best(start + len(old), used | 1 << i)
                    if score + weight > found[0]:
                        found = (score + weight, (Piece(start, start + len(old), new, weight), *rest))
            seen[start, used] = found
        return found[0] - lost, found[1]

    pieces = best(0, 0)[1]
    whole = sum([p.end - p.start for p in pieces]) == len(run)
    return pieces if whole or any([p.weight > 8 for p in pieces]) else ()


def _join(run: str, pieces: Sequence[Piece], rng: Source, table: NameTable, avoid: Collection[str]) -> str:
    out, last = "", 0
    for piece in [*pieces, Piece(len(run), len(run), "", 0)]:
        between = run[last : piece.start]
        kept = between.lower() in words("handle_words")
        out += between if kept else in_case(between, _unknown(between.lower(), rng, table, avoid))
        out += in_case(run[piece.start : piece.end], piece.new)
        last = piece.end
    # Initials in capitals look like words in capitals, one letter at a time.
    return out.upper() if len(run) > 1 and run.isupper() else out


def _unknown(run: str, rng: Source, table: NameTable, avoid: Collection[str]) -> str:
    """Letters for a run that is nobody's name: single ones if short, else a name of about its length."""
    if len(run) < 4:
        return other_chars(run, rng)
    given = table.is_given(run)
    gender = (table.gender(run) or "") if given else ""
    pool = table.pool(given=given, gender=gender)
    options = [letters(name) for name in pool.draw_some(rng, 8)]
    fit = [o for o in options if o and o[0] != run[0] and o not in run and run not in o and o not in avoid]
    if not fit:
        return other_chars(run, rng)
    # The options are drawn already: more words for a long run must not be originals either.
    new = min(fit, key=lambda o: abs(len(o) - len(run)))
    rest = [o for o in fit if o != new]
    return new + rest[0] if len(run) - len(new) > 4 and rest else new


def _number(run: str, rng: Source) -> str:
    """Other digits; for what may be a year of birth, another year."""
    if len(run) == 4 and run.isascii() and 1930 <= int(run) <= 2029:
        return str(pick(rng, [y for y in range(1975, 2010) if y != int(run) and str(y)[2:] != run[2:]]))
    return other_chars(run, rng, first=True)


def _is_code(runs: Sequence[str], i: int) -> bool:
    """Whether letters stand in something like "4f2a9c": digits on both sides, several changes in a word."""
    start, end = i, i
    while start > 0 and runs[start - 1].isalnum():
        start -= 1
    while end + 1 < len(runs) and runs[end + 1].isalnum():
        end += 1
    return end - start >= 2 and sum(len(r) for r in runs[start : end + 1] if r.isdecimal()) > 1


# E-mail addresses: the handle of the surrogate name at a domain that belongs to nobody.
AT = re.compile(r"@|＠|\s*[\[({<]\s*(?:at|@)\s*[\])}>]\s*|\s+at\s+|\s+@\s*", re.IGNORECASE)
DOT = re.compile(r"\s*[\[({<]\s*(?:dot|\.)\s*[\])}>]\s*|\s+dot\s+|[.．]", re.IGNORECASE)
_PREFIX = re.compile(r"^(?:mailto:|e-?mail:)\s*", re.IGNORECASE)


def surrogate_email(value: str, context: Context, attempt: int = 0) -> str | None:
    """An address in the same pattern, also with "at" and "dot" spelled out. RETURNS (str | None): None if there is no handle in
    it.
    """
    prefix = _PREFIX.match(value)
    start = prefix.end() if prefix else 0
    at = AT.search(value, start)
    local = value[start : at.start()] if at else value[start:]
    if not has_sign(local):
        return None
    new = value[:start] + surrogate_handle(local, context, attempt)
    return new + at.group() + surrogate_domain(value[at.end() :], context) if at else new


def surrogate_domain(domain: str, context: Context) -> str:
    """A domain of the same kind (school, free mail, organisation, other) with the separators of the original; if
    `context.reserved`, one that nobody can own (RFC 2606).
    """
    dot = DOT.search(domain)
    names = [p.strip().lower() for p in DOT.split(domain) if p]
    if not names:
        return domain
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
    return (dot.group() if dot else ".").join(p.upper() if upper else p for p in new)


# Which parts of a social site's address say who somebody is: rules as data, resources/surrogates/sites.toml.
WORD, HANDLE, ID, TEXT = ("word", "handle", "id", "text")


class Site(NamedTuple):
    """A site: its patterns of paths, its own words, with what codes begin, and the scheme of a number with a check digit."""

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


@per_batch(256)
def site_of(host: str) -> Site | None:
    """The rules of a host in lower case, or of what it is a subdomain of."""
    labels = host.split(".")
    return next((site for i in range(len(labels) - 1) if (site := _sites().get(".".join(labels[i:])))), None)


def site_names() -> tuple[str, ...]:
    return tuple(dict.fromkeys(site.name for site in _sites().values()))


def read_path(site: Site, steps: list[str]) -> list[str]:
    """What each decoded step of a path is: `WORD`, `HANDLE`, `ID` or `TEXT`."""
    for pattern in site.patterns:
        more = pattern[-1] == "*"
        fixed = pattern[:-1] if more else pattern
        if len(steps) < len(fixed) or (len(steps) > len(fixed) and not more):
            continue
        if all(p.startswith("{") or p == step.lower() for p, step in zip(fixed, steps, strict=False)):
            kinds = [p.strip("{}") if p.startswith("{") else WORD for p in fixed]
            return kinds + [WORD if step.lower() in site.keep else TEXT for step in steps[len(fixed) :]]
    return [TEXT] * len(steps)


# Personal web addresses: taken apart, the identifying parts replaced, the rest kept.
_URL = re.compile(
    r"^(?P<scheme>[a-z][a-z0-9+.-]*:/{1,2}|//)?(?P<user>[^@/?#]*@)?(?P<host>\[[^\]]*\]|[^/?#:]+)(?P<port>:\d+)?"
    r"(?P<path>/[^?#]*)?(?P<query>\?[^#]*)?(?P<fragment>#.*)?$",
    re.IGNORECASE | re.DOTALL,
)
_NUMBERS = re.compile(r"[\d.]+|\[.*\]")
_CHANNEL = re.compile(r"UC[\w-]{20,}")
_RUNS_URL = re.compile(r"[A-Za-z]+|\d+")
_CODE = re.compile(r"(?=.*\d)(?=.*[A-Za-z])[\w-]{6,}|\d{5,}|[A-Za-z0-9_-]{20,}")


def surrogate_url(value: str, context: Context, attempt: int = 0) -> str | None:
    """An address of the same kind for somebody else; spaces inside it are left out. RETURNS (str | None): None if it is no
    address.
    """
    compact = "".join(value.split())
    if compact.startswith("@"):
        return surrogate_handle(compact, context, attempt)
    match = _URL.match(compact)
    if not match or not has_sign(compact):
        return None
    scheme, user, host, port, path, query, fragment = match.groups("")
    rng = context.chance.rng("URL_PERSONAL", compact.casefold(), attempt=attempt)
    site = site_of(host.lower())
    user = surrogate_handle(user, context) if user else ""
    host, known = _host(host, site, context, rng, attempt)
    path = _path(path, site, context, rng, attempt)
    query = _query(query, rng)
    fragment = "#" + _segment_url(fragment[1:], context, rng, attempt) if fragment else ""
    new = scheme + user + host + port + path + query + fragment
    # A bare social site tells nothing, but what stays as it was must not look as if it had been replaced.
    return None if known and new == compact else new


def _path(path: str, site: Site | None, context: Context, rng: Source, attempt: int) -> str:
    steps = path.split("/")
    if site is None:
        return "/".join(_segment_url(s, context, rng, attempt) for s in steps)
    named = [i for i, s in enumerate(steps) if s]
    kinds = dict(zip(named, read_path(site, [unquote(steps[i]) for i in named]), strict=True))
    return "/".join(_step(s, kinds.get(i, WORD), site, context, rng, attempt) for i, s in enumerate(steps))


def _step(step: str, kind: str, site: Site, context: Context, rng: Source, attempt: int) -> str:
    plain = unquote(step)
    if kind == WORD or not has_sign(plain):
        return step
    if kind == ID and ":" not in plain:
        code = "".join(ch for ch in plain if ch.isalnum())
        if site.check and (made := other_number(code, rng, site.check) if code[:-1].isdecimal() else None):
            return fill(plain, made)
        lead = next((lead for lead in site.leads if plain.startswith(lead) and len(plain) > len(lead) + 8), "")
        return _quoted(lead + other_shape(plain[len(lead) :], rng))
    if kind == HANDLE and not _is_code_url(plain):
        new = surrogate_handle(plain, context, attempt)
        return new if plain == step else _quoted(new)
    return _segment_url(step, context, rng, attempt, common=False)


def _host(host: str, of: Site | None, context: Context, rng: Source, attempt: int) -> tuple[str, bool]:
    """The new host, and whether it is one that many people use."""
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
        handle = surrogate_handle(host[len(lead) : len(owner)], context, attempt)
        return lead + handle + host[len(owner) :], True
    if of or not words("social_sites").isdisjoint(ends) or not words("hosted_sites").isdisjoint(ends):
        return host, True
    extracted = _extractor()(lower)
    domain, suffix = extracted.domain, extracted.suffix
    registered = f"{domain}.{suffix}" if suffix else domain
    handle = surrogate_handle(domain, context, attempt) or "site"
    lead = lower[: len(lower) - len(registered)]
    if lead not in ("", "www.", "m.", "blog.", "portfolio."):
        # "maria-lopez.some-school.edu": the person before the school.
        steps = [step for step in lead.split(".") if owner_of(step, context.people)]
        new = (surrogate_handle(step, context, attempt) for step in steps)
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


def _quoted(step: str) -> str:
    return quote(step, safe="@-._~+!$&'()*,;=:")


def _segment_url(segment: str, context: Context, rng: Source, attempt: int, *, common: bool = True) -> str:
    """One step of a path: a new code for a code, else a new handle. common: Whether common words stay."""
    plain = unquote(segment)
    if not has_sign(plain) or (common and plain.lower() in words("path_words")):
        return segment
    if ":" in plain:
        return ":".join(_segment_url(part, context, rng, attempt) for part in segment.split(":"))
    if _is_code_url(plain):
        # A channel's code begins with UC: a fact about the site.
        lead = "UC" if _CHANNEL.fullmatch(plain) else ""
        return lead + other_shape(plain[len(lead) :], rng)
    new = surrogate_handle(plain, context, attempt)
    if plain.lower().endswith((".html", ".htm", ".php", ".pdf", ".aspx")):
        new = new.rpartition(".")[0] + "." + plain.rpartition(".")[2]
    return new if plain == segment else _quoted(new)


def _is_code_url(text: str) -> bool:
    """Whether a step of a path is a code ("4f2a9c", "dQw4w9WgXcQ") rather than a handle ("maria-lopez-99")."""
    if not _CODE.fullmatch(text):
        return False
    if text == text.lower() and any([len(word) > 2 and word.isalpha() for word in text.replace("_", "-").split("-")]):
        return False
    runs = _RUNS_URL.findall(text)
    switches = sum(1 for a, b in zip(text, text[1:], strict=False) if a.islower() and b.isupper())
    return text.isdigit() or len(runs) >= 4 or (switches >= 2 and len(runs) >= 2) or (len(text) >= 20 and not text.islower())


def _query(query: str, rng: Source) -> str:
    """The query with its keys kept and all values changed."""
    out = query[:1]
    for part in re.split(r"([&;])", query[1:]):
        key, equals, value = part.partition("=")
        out += key + equals + other_shape(value, rng) if equals else other_shape(part, rng)
    return out


def surrogate_username(value: str, context: Context, attempt: int = 0) -> str | None:
    """RETURNS (str | None): A user name in the same pattern; None if there is no letter or digit in it."""
    if not has_sign(value):
        return None
    lead = len(value) - len(value.lstrip("@＠ "))
    return value[:lead] + surrogate_handle(value[lead:], context, attempt)
