"""Handles: the part of an e-mail address, a user name or a profile's address that says who it is.

    "mlopez99", Maria Lopez -> Carla Vidal      =>  "cvidal47"
    "Maria.Lopez", the same                     =>  "Carla.Vidal"
    "skater_boy12", nobody's name               =>  "moreau_teller58"

The same handle becomes the same surrogate wherever it stands, so that an address and a profile still belong together. Letters
that are no part of a known name are replaced by a name: they may be one that we do not know.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache, cached_property
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

from .. import keep_offline
from ..names.letters import fold, has_sign, per_batch, plain
from ..names.link import nicknames_of
from ..names.table import Source
from .keys import pick
from .numbers import ipv4
from .person_names import Named, places_in
from .style import in_case, other_chars, randomize_same_shape, resource, word_list, words
from .values import Context

_LETTERS = re.compile(r"[^\W\d_]+")
_WORDS = re.compile(r"[^\W_]+|[\W_]+")
_RUNS = re.compile(r"[^\W\d_]+|\d+|[\W_]+")


class Piece(NamedTuple):
    """A stretch of letters in a handle that comes from a name: what it becomes, and how sure that is."""

    start: int
    end: int
    new: str
    weight: int


class Stem(NamedTuple):
    """A word of a person for handles: its letters, what they become, its place, its nicknames."""

    old: str
    new: str
    place: int
    nicks: tuple[str, ...]


def letters(word: str) -> str:
    """A name as it stands in an address: small ASCII letters only."""
    if word.isascii() and word.isalpha():
        return word.lower()
    return "".join(ch for ch in plain(word).lower() if ch.isascii() and ch.isalpha())


class NamedPeople(tuple[Named, ...]):
    """The people of a document, and how their names stand in handles: found out once for all of its addresses."""

    @classmethod
    def of(cls, people: Sequence[Named]) -> "NamedPeople":
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
    if not attempt and handle in context.handles:
        return context.handles[handle] or ""
    people = NamedPeople.of(context.people)
    owner = owner_of(handle, people)
    # A handle of such words only is somebody's all the same.
    harmless = words("handle_words")
    common = not harmless.issuperset([run.lower() for run in _LETTERS.findall(handle)])
    out, numbered, before = list[str](), False, ""
    for word in _WORDS.findall(handle):
        runs = _RUNS.findall(word)
        # Something like "4f2a9c": digits on both sides, several changes in a word.
        is_code = len(runs) > 2 and sum(len(run) for run in runs if run.isdecimal()) > 1
        for run in runs:
            # The same letters become the same ones in "imdolan", "imdolan99" and "imdolan99#4821".
            rng = context.chance.rng("HANDLE", fold(before + run), attempt=attempt)
            if not run[0].isalnum():
                new = run
            elif run.isdecimal():
                new, numbered = _number(run, rng), True
            else:
                small = letters(run)
                before = small
                if is_code:
                    new = other_chars(run, rng)
                elif owner >= 0 and (pieces := people.pieces(small, owner)):
                    new = _join(run, pieces, context, rng)
                elif len(small) != len(run):
                    new = other_chars(run, rng)
                elif common and run.lower() in harmless:
                    new = run.lower()
                else:
                    new = _unknown(small, context, rng)
                new = in_case(run, new)
            out.append(new)
    if attempt and owner >= 0 and not numbered:
        # Brothers whose surrogates share an initial, two schools that become one: as such sites do, add a number.
        rng = context.chance.rng("HANDLE", fold(handle), attempt=attempt)
        out.append(str(10 + int(rng.random() * 90)))
    return "".join(out)


def owner_of(handle: str, people: Sequence[Named]) -> int:
    """The place of the person whose name explains most of a handle; -1 if it holds nobody's."""
    best, found = 0, -1
    people = NamedPeople.of(people)
    harmless = words("handle_words")
    runs = [
        (len(run), letters(run)) for run in _LETTERS.findall(handle) if run.lower() not in harmless
    ]
    total = sum([length for length, _ in runs])
    for i, named in enumerate(people):
        weight = covered = longest = 0
        for _, run in runs:
            for piece in people.pieces(run, i):
                weight += piece.weight
                covered += piece.end - piece.start
                longest = max(longest, piece.weight)
        strong = weight >= 12 or (
            covered == total and weight >= min(2, len(named.person.words)) >= 2
        )
        # A whole long name says enough, whatever stands around it ("maria-lopez-my-first-ferry").
        if strong and (2 * covered >= total or longest >= 20) and (found < 0 or weight > best):
            best, found = weight, i
    return found


def _stems(named: Named) -> list[Stem]:
    found = []
    for i, (word, surrogate) in enumerate(zip(named.person.words, named.surrogates, strict=True)):
        old, new = letters(word), letters(surrogate or "")
        if old and new:
            found.append(Stem(old, new, i, nicknames_of(word)))
    return found


def _forms(run: str, stems: Sequence[Stem]) -> Iterator[tuple[str, str, int, int]]:
    """How a person's words stand in a run of letters, if they do: letters, what they become, which word, how sure."""
    for old, new, i, nicks in stems:
        # Where not even the first letters are, nothing longer is.
        if len(old) > 1 and old[:3] in run:
            if old in run:
                yield old, new, i, 4 * len(old)
            for n in range(len(old) - 1, 2, -1):
                if old[:n] in run:
                    yield old[:n], new[:n], i, 3 * n
        yield old[0], new[0], i, 1
        for nick in nicks:
            if nick in run:
                yield nick, new, i, 4 * len(nick)


def _segment(run: str, stems: Sequence[Stem], size: int) -> tuple[Piece, ...]:
    """The best way to read a run of small letters as parts of a person's name, each word used once; nothing if only scattered
    initials fit. size: How many words the name has.
    """
    if not run or len(run) > 40:
        return ()
    # Words of which more than the initial may stand in it.
    shown = [
        stem for stem in stems if stem.old[:3] in run or any([nick in run for nick in stem.nicks])
    ]
    if not shown and len(run) > size:
        # Most people have nothing to do with it.
        return ()
    if len(shown) == 1 and shown[0].old == run and len(run) > 1:
        # Initials of other words, or a part of this one, never weigh as much.
        return (Piece(0, len(run), shown[0].new, 4 * len(run)),)
    pieces = _best_pieces(run, stems)
    whole = sum([p.end - p.start for p in pieces]) == len(run)
    return pieces if whole or any([p.weight > 8 for p in pieces]) else ()


def _best_pieces(run: str, stems: Sequence[Stem]) -> tuple[Piece, ...]:
    """The reading of a run that weighs most, with three less for each letter that is no part of a name."""
    here: dict[int, list[tuple[str, str, int, int]]] = {}
    for form in _forms(run, stems):
        for start in places_in(run, form[0]):
            here.setdefault(start, []).append(form)

    @cache
    def best(start: int, used: int) -> tuple[int, tuple[Piece, ...]]:
        if start == len(run):
            return 0, ()
        score, pieces = best(start + 1, used)
        score -= 3
        for old, new, i, weight in here.get(start, ()):
            if not used >> i & 1:
                rest, behind = best(start + len(old), used | 1 << i)
                if rest + weight > score:
                    piece = Piece(start, start + len(old), new, weight)
                    score, pieces = rest + weight, (piece, *behind)
        return score, pieces

    return best(0, 0)[1]


def _join(run: str, pieces: Sequence[Piece], context: Context, rng: Source) -> str:
    """The letters of the pieces, in the case of the run; what stands between them is replaced too, but for common words."""
    out, last = "", 0
    for piece in [*pieces, Piece(len(run), len(run), "", 0)]:
        between = run[last : piece.start]
        kept = between.lower() in words("handle_words")
        out += between if kept else in_case(between, _unknown(between.lower(), context, rng))
        out += in_case(run[piece.start : piece.end], piece.new)
        last = piece.end
    return out


def _unknown(run: str, context: Context, rng: Source) -> str:
    """Letters for a run that is nobody's name: single ones if short, else a name of about its length."""
    if len(run) < 4:
        return other_chars(run, rng)
    table, originals = context.table, NamedPeople.of(context.people).words
    given = table.is_given(run)
    pool = table.pool(given=given, gender=(table.gender(run) or "") if given else "")
    options = [letters(name) for name in pool.draw_some(rng, 8)]
    fit = [
        o
        for o in options
        if o
        and o[0] != run[0]
        and o not in run
        and run not in o
        and o not in originals
        and o not in context.avoid
    ]
    if not fit:
        return other_chars(run, rng)
    # The options are drawn already: more words for a long run must not be originals either.
    new = min(fit, key=lambda o: abs(len(o) - len(run)))
    rest = [o for o in fit if o != new]
    return new + rest[0] if len(run) - len(new) > 4 and rest else new


def _number(run: str, rng: Source) -> str:
    """Other digits; for what may be a year of birth, another year."""
    if len(run) == 4 and run.isascii() and 1930 <= int(run) <= 2029:
        return str(
            pick(rng, [y for y in range(1975, 2010) if y != int(run) and str(y)[2:] != run[2:]])
        )
    return other_chars(run, rng, first=True)


def surrogate_username(value: str, context: Context, attempt: int = 0) -> str | None:
    """RETURNS (str | None): A user name in the same pattern; None if there is no letter or digit in it."""
    if not has_sign(value):
        return None
    lead = _LEAD.match(value).end()  # type: ignore[union-attr]
    return value[:lead] + surrogate_handle(value[lead:], context, attempt)


# E-mail addresses: the handle of the surrogate name at a domain that belongs to nobody.
_AT = re.compile(r"@|＠|\s*[\[({<]\s*(?:at|@)\s*[\])}>]\s*|\s+at\s+|\s+@\s*", re.IGNORECASE)
_DOT = re.compile(r"\s*[\[({<]\s*(?:dot|\.)\s*[\])}>]\s*|\s+dot\s+|[.．]", re.IGNORECASE)
_LEAD = re.compile(r"[@＠ ]*")
_PREFIX = re.compile(r"(?:(?:mailto:|e-?mail:)\s*)?", re.IGNORECASE)


def handle_of(value: str) -> str:
    """The handle in a user name or an e-mail address."""
    start = max(pattern.match(value).end() for pattern in (_PREFIX, _LEAD))  # type: ignore[union-attr]
    at = _AT.search(value, start)
    return value[start : at.start()] if at else value[start:]


def surrogate_email(value: str, context: Context, attempt: int = 0) -> str | None:
    """An address in the same pattern, also with "at" and "dot" spelled out, or one half of it. RETURNS (str | None): None if there
    is no letter or digit in it.
    """
    start = _PREFIX.match(value).end()  # type: ignore[union-attr]
    at = _AT.search(value, start)
    local = value[start : at.start()] if at else value[start:]
    if not has_sign(value[start:]):
        return None
    # Another domain where the address is taken: one handle has one surrogate.
    known = local in context.handles
    new = value[:start] + surrogate_handle(local, context, 0 if known and at else attempt)
    if not at:
        return new
    return new + at.group() + surrogate_domain(value[at.end() :], context, attempt if known else 0)


def surrogate_domain(domain: str, context: Context, attempt: int = 0) -> str:
    """A domain of the same kind (school, free mail, organisation, other) with the separators of the original; if
    `context.reserved`, one that nobody can own (RFC 2606).
    """
    dot = _DOT.search(domain)
    names = [p.strip().lower() for p in _DOT.split(domain) if p]
    if not names:
        return domain
    school = "edu" in names[-2:] or "ac" in names[-2:-1] or "k12" in names
    school = school or any(n.startswith(("uni", "college")) for n in names)
    if not context.reserved and not school and not words("free_mail").isdisjoint(names[:-1]):
        return domain
    ending = "edu" if school else names[-1] if names[-1] in ("org", "net") else "com"
    new = ["example", ending]
    rng = context.chance.rng("DOMAIN", ".".join(letters(n) for n in names), attempt=attempt)
    if context.reserved and attempt:
        new.insert(0, pick(rng, word_list("domain_starts")))
    elif not context.reserved:
        made_up = pick(rng, word_list("domain_starts")) + pick(rng, word_list("domain_ends"))
        new = [made_up, *(names[-2:] if names[-2:-1] in (["ac"], ["edu"], ["co"]) else [ending])]
    made = (dot.group() if dot else ".").join(new)
    return made.upper() if domain.isupper() else made


# Which parts of a social site's address say who somebody is: rules as data, resources/surrogates/sites.toml.
WORD, HANDLE, ID, TEXT = ("word", "handle", "id", "text")


class Site(NamedTuple):
    """A site: its patterns of paths, its own words, with what codes begin."""

    patterns: tuple[tuple[str, ...], ...]
    keep: frozenset[str]
    leads: tuple[str, ...]


@cache
def _sites() -> dict[str, Site]:
    found = {}
    for row in resource("sites").values():
        patterns = tuple(tuple(path.split("/")) for path in row["paths"])
        keep, leads = row.get("keep", "").lower().split(), row.get("leads", "").split()
        site = Site(patterns, frozenset(keep), tuple(leads))
        found.update(dict.fromkeys(row["hosts"].split(), site))
    return found


@per_batch(256)
def site_of(host: str) -> Site | None:
    """The rules of a host in lower case, or of what it is a subdomain of."""
    labels = host.split(".")
    return next(
        (site for i in range(len(labels) - 1) if (site := _sites().get(".".join(labels[i:])))), None
    )


def read_path(site: Site, steps: list[str]) -> list[str]:
    """What each decoded step of a path is: `WORD`, `HANDLE`, `ID` or `TEXT`."""
    for pattern in site.patterns:
        more = pattern[-1] == "*"
        fixed = pattern[:-1] if more else pattern
        if len(steps) < len(fixed) or (len(steps) > len(fixed) and not more):
            continue
        if all(
            p.startswith("{") or p == step.lower() for p, step in zip(fixed, steps, strict=False)
        ):
            kinds = [p.strip("{}") if p.startswith("{") else WORD for p in fixed]
            return kinds + [
                WORD if step.lower() in site.keep else TEXT for step in steps[len(fixed) :]
            ]
    return [TEXT] * len(steps)


# Personal web addresses: taken apart, the identifying parts replaced, the rest kept.
_URL = re.compile(
    r"^(?P<scheme>[a-z][a-z0-9+.-]*:/{1,2}|//)?(?P<user>[^@/?#]*@)?(?P<host>\[[^\]]*\]|[^/?#:]+)(?P<port>:\d+)?"
    r"(?P<path>/[^?#]*)?(?P<query>\?[^#]*)?(?P<fragment>#.*)?$",
    re.IGNORECASE | re.DOTALL,
)
_NUMBERS = re.compile(r"[\d.]+|\[.*\]")
_CHANNEL = re.compile(r"UC[\w-]{20,}")
_RUNS_ASCII = re.compile(r"[A-Za-z]+|\d+")
_CODE = re.compile(r"(?=.*\d)(?=.*[A-Za-z])[\w-]{6,}|\d{5,}|[A-Za-z0-9_-]{20,}")
_PAGES = (".html", ".htm", ".php", ".pdf", ".aspx")


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
    parts = _Parts(context, rng, attempt, site_of(host.lower()))
    host, known = parts.host(host)
    new = (
        scheme
        + (surrogate_handle(user, context) if user else "")
        + host
        + port
        + parts.path(path)
        + parts.query(query)
    )
    new += "#" + parts.segment(fragment[1:]) if fragment else ""
    # A bare social site tells nothing, but what stays as it was must not look as if it had been replaced.
    return None if known and new == compact else new


class _Parts(NamedTuple):
    """Makes the parts of a web address. rng: For codes and numbers, drawn in the order of the address."""

    context: Context
    rng: Source
    attempt: int
    site: Site | None

    def handle(self, text: str) -> str:
        return surrogate_handle(text, self.context, self.attempt)

    def host(self, host: str) -> tuple[str, bool]:
        """The new host, and whether it is one that many people use."""
        lower = host.lower()
        if _NUMBERS.fullmatch(lower):
            return ipv4(self.rng), False
        labels = lower.split(".")
        ends = [".".join(labels[i:]) for i in range(len(labels) - 1)]
        hosted = words("hosted_sites")
        site = next((end for end in ends[1:] if end in hosted), "")
        owner = lower.removesuffix("." + site) if site else ""
        if owner not in ("", "www", "m"):
            start = 4 if owner.startswith("www.") else 0
            return lower[:start] + self.handle(host[start : len(owner)]) + host[len(owner) :], True
        if self.site or not (words("social_sites") | hosted).isdisjoint(ends):
            return host, True
        return self._own_host(lower), False

    def _own_host(self, host: str) -> str:
        """A domain that is one person's or one school's."""
        context, extracted = self.context, _extractor()(host)
        domain, suffix = extracted.domain, extracted.suffix
        handle = self.handle(domain) or "site"
        lead = host[: len(host) - len(f"{domain}.{suffix}" if suffix else domain)]
        if lead not in ("", "www.", "m.", "blog.", "portfolio."):
            # "maria-lopez.some-school.edu": the person before the school.
            new = [
                self.handle(step) for step in lead.split(".") if owner_of(step, context.people) >= 0
            ]
            lead = ".".join([*new, ""]) if new else "www."
        if not context.reserved:
            return f"{lead}{handle}.{suffix or 'com'}"
        if context.near:
            # The shortest that nobody can own (RFC 2606).
            return f"{lead}{handle}.example"
        school = "edu" in suffix.split(".") or suffix.startswith("ac.")
        return f"{lead}{handle}.example.{'edu' if school else suffix if suffix in ('org', 'net') else 'com'}"

    def path(self, path: str) -> str:
        steps = path.split("/")
        if self.site is None:
            return "/".join(map(self.segment, steps))
        kinds = iter(read_path(self.site, [unquote(step) for step in steps if step]))
        return "/".join(
            [self._step(step, next(kinds), self.site) if step else "" for step in steps]
        )

    def _step(self, step: str, kind: str, site: Site) -> str:
        plain = unquote(step)
        if kind == WORD or not has_sign(plain):
            return step
        if kind == ID and ":" not in plain:
            lead = next(
                (
                    lead
                    for lead in site.leads
                    if plain.startswith(lead) and len(plain) > len(lead) + 8
                ),
                "",
            )
            return _quoted(lead + randomize_same_shape(plain[len(lead) :], self.rng))
        if kind == HANDLE and not _is_code(plain):
            new = self.handle(plain)
            return new if plain == step else _quoted(new)
        return self.segment(step, common=False)

    def segment(self, segment: str, *, common: bool = True) -> str:
        """One step of a path: a new code for a code, else a new handle. common: Whether common words stay."""
        plain = unquote(segment)
        if not has_sign(plain) or (common and plain.lower() in words("path_words")):
            return segment
        if ":" in segment:
            return ":".join(map(self.segment, segment.split(":")))
        if _is_code(plain):
            # A channel's code begins with UC: a fact about the site.
            lead = "UC" if _CHANNEL.fullmatch(plain) else ""
            return lead + randomize_same_shape(plain[len(lead) :], self.rng)
        new = self.handle(plain)
        if plain.lower().endswith(_PAGES):
            new = new.rpartition(".")[0] + "." + plain.rpartition(".")[2]
        return new if plain == segment else _quoted(new)

    def query(self, query: str) -> str:
        """The query with its keys kept and all values changed."""
        out = query[:1]
        for part in re.split(r"([&;])", query[1:]):
            key, equals, value = part.partition("=")
            out += (
                key + equals + randomize_same_shape(value, self.rng)
                if equals
                else randomize_same_shape(part, self.rng)
            )
        return out


@cache
def _extractor() -> Any:
    keep_offline()
    import tldextract

    return tldextract.TLDExtract(suffix_list_urls=(), cache_dir=None, fallback_to_snapshot=True)


def _quoted(step: str) -> str:
    return quote(step, safe="@-._~+!$&'()*,;=:")


def _is_code(text: str) -> bool:
    """Whether a step of a path is a code ("4f2a9c", "dQw4w9WgXcQ") rather than a handle ("maria-lopez-99")."""
    if not _CODE.fullmatch(text):
        return False
    if text == text.lower() and any(
        [len(word) > 2 and word.isalpha() for word in text.replace("_", "-").split("-")]
    ):
        return False
    runs = len(_RUNS_ASCII.findall(text))
    switches = sum(1 for a, b in zip(text, text[1:], strict=False) if a.islower() and b.isupper())
    return (
        text.isdigit()
        or runs >= 4
        or (switches >= 2 and runs >= 2)
        or (len(text) >= 20 and not text.islower())
    )
