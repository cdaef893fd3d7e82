"""Handles: the part of an e-mail address, a user name or a profile's address that says who it is.

    "mlopez99", Maria Lopez -> Carla Vidal      =>  "cvidal47"
    "Maria.Lopez", the same                     =>  "Carla.Vidal"
    "skater_boy12", nobody's name               =>  "moreau_teller58"

The same handle becomes the same surrogate wherever it stands, so that an address and a profile still belong together. Letters
that are no part of a known name are replaced by a name: they may be one that we do not know.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from urllib.parse import quote, unquote

from ..names.letters import fold, has_sign
from ..names.table import Source
from ..ruler.validators import split_host
from .keys import pick
from .numbers import ipv4
from .person_names import Named, Piece, Stem, letters
from .style import in_case, other_chars, randomize_same_shape, word_list, words
from .values import Context

_LETTERS = re.compile(r"[^\W\d_]+")
_WORDS = re.compile(r"[^\W_]+|[\W_]+")
_RUNS = re.compile(r"[^\W\d_]+|\d+|[\W_]+")


def surrogate_handle(handle: str, context: Context, attempt: int = 0) -> str:
    """A handle for somebody else, with as many runs of letters and digits, the same separators and case. The person whose name
    it holds lends the surrogate; letters that are nobody's name become a name of the table.
    """
    if not attempt and handle in context.handles:
        return context.handles[handle] or ""
    owner = owner_of(handle, context.people)
    # A handle of such words only is somebody's all the same.
    harmless = words("handle_words")
    common = not harmless.issuperset([run.lower() for run in _LETTERS.findall(handle)])
    out, before = "", ""
    for word in _WORDS.findall(handle):
        runs = _RUNS.findall(word)
        # Something like "4f2a9c": digits on both sides, several changes in a word.
        is_code = len(runs) > 2 and sum(len(run) for run in runs if run.isdecimal()) > 1
        for run in runs:
            # The same letters become the same ones in "imdolan", "imdolan99" and "imdolan99#4821".
            rng = context.chance.rng("HANDLE", fold(before + run), attempt=attempt)
            small = letters(run)
            if run.isdecimal():
                new = _number(run, rng)
            elif is_code:
                new = other_chars(run, rng)
            elif owner >= 0 and (pieces := pieces_of(small, context.people[owner])):
                new = _join(run, pieces, context, rng)
            elif len(small) != len(run):
                new = other_chars(run, rng)
            elif common and small in harmless:
                new = small
            else:
                new = _unknown(small, context, rng)
            before = small if run[0].isalpha() else before
            out += in_case(run, new)
    if attempt and owner >= 0 and not any(map(str.isdecimal, handle)):
        # Brothers whose surrogates share an initial, two schools that become one: as such sites do, add a number.
        rng = context.chance.rng("HANDLE", fold(handle), attempt=attempt)
        out += str(10 + int(rng.random() * 90))
    return out


def owner_of(handle: str, people: Sequence[Named]) -> int:
    """The place of the person whose handle it is by the class list, or whose name explains most of it; -1 if it holds nobody's."""
    known = (i for i, named in enumerate(people) if fold(handle) in named.person.handles)
    if (listed := next(known, -1)) >= 0:
        return listed
    best, found = 0, -1
    runs = _LETTERS.findall(handle)
    runs = [run for run in runs if run.lower() not in words("handle_words")]
    total = sum(map(len, runs))
    for i, named in enumerate(people):
        pieces = [piece for run in runs for piece in pieces_of(letters(run), named)]
        weight = sum([piece.weight for piece in pieces])
        if weight <= best:
            continue
        covered = sum([piece.end - piece.start for piece in pieces])
        strong = weight >= 12 or (covered == total and min(weight, len(named.person.words)) >= 2)
        # A whole long name says enough, whatever stands around it ("maria-lopez-my-first-ferry").
        if strong and (2 * covered >= total or max([piece.weight for piece in pieces]) >= 20):
            best, found = weight, i
    return found


def pieces_of(run: str, named: Named) -> tuple[Piece, ...]:
    """The best way to read a run of small letters as parts of a person's name; found out once for all handles of a document."""
    if run not in named.read:
        named.read[run] = _segment(run, named.stems, len(named.person.words))
    return named.read[run]


def _segment(run: str, stems: Sequence[Stem], size: int) -> tuple[Piece, ...]:
    """See `pieces_of`: each word is used once; nothing if only scattered initials fit. size: How many words the name has."""
    # Words of which more than the initial may stand in it.
    shown = [
        stem for stem in stems if stem.old[:3] in run or any([nick in run for nick in stem.nicks])
    ]
    if not run or len(run) > 40 or (not shown and len(run) > size):
        # Most people have nothing to do with it.
        return ()
    if len(shown) == 1 and shown[0].old == run and len(run) > 1:
        # Initials of other words, or a part of this one, never weigh as much.
        return (Piece(0, len(run), shown[0].new, 4 * len(run)),)
    pieces = _best_pieces(run, stems)
    whole = sum([p.end - p.start for p in pieces]) == len(run)
    return pieces if whole or any([p.weight > 8 for p in pieces]) else ()


def _forms(run: str, stems: Sequence[Stem]) -> Iterator[tuple[str, str, int, int]]:
    """How a person's words stand in a run of letters, if they do: letters, what they become, which word, how sure."""
    for old, new, i, nicks in stems:
        yield old[0], new[0], i, 1
        for nick in nicks:
            yield nick, new, i, 4 * len(nick)
        # Where not even the first letters are, nothing longer is.
        for n in range(3, len(old)) if old[:3] in run else ():
            yield old[:n], new[:n], i, 3 * n
        if len(old) > 1:
            yield old, new, i, 4 * len(old)


def _best_pieces(run: str, stems: Sequence[Stem]) -> tuple[Piece, ...]:
    """The reading of a run that weighs most, with three less for each letter that is no part of a name."""
    here: dict[int, list[tuple[str, str, int, int]]] = {}
    for form in _forms(run, stems):
        for start in range(len(run)):
            if run.startswith(form[0], start):
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
        if between.lower() not in words("handle_words"):
            between = in_case(between, _unknown(between.lower(), context, rng))
        out += between + in_case(run[piece.start : piece.end], piece.new)
        last = piece.end
    return out


def _unknown(run: str, context: Context, rng: Source) -> str:
    """Letters for a run that is nobody's name: single ones if short, else a name of about its length."""
    if len(run) < 4:
        return other_chars(run, rng)
    given = context.table.is_given(run)
    gender = (context.table.gender(run) or "") if given else ""
    drawn = context.table.pool(given=given, gender=gender).draw_some(rng, 8)
    fit = []
    for name in map(letters, drawn):
        is_apart = name[:1] != run[0] and name not in run and run not in name
        if is_apart and name not in context.avoid:
            fit.append(name)
    if not fit:
        return other_chars(run, rng)
    new = min(fit, key=lambda name: abs(len(name) - len(run)))
    # A long run gets two of them.
    rest = [name for name in fit if name != new] if len(run) - len(new) > 4 else []
    return new + "".join(rest[:1])


def _number(run: str, rng: Source) -> str:
    """Other digits; for what may be a year of birth, another year."""
    if len(run) == 4 and run.isascii() and 1930 <= int(run) <= 2029:
        years = map(str, range(1975, 2010))
        return pick(rng, [year for year in years if year != run and year[2:] != run[2:]])
    return other_chars(run, rng, first=True)


def surrogate_username(value: str, context: Context, attempt: int = 0) -> str | None:
    """RETURNS (str | None): A user name in the same pattern; None if there is no letter or digit in it."""
    handle = value.lstrip(_LEAD)
    lead = value[: len(value) - len(handle)]
    return lead + surrogate_handle(handle, context, attempt) if has_sign(value) else None


# E-mail addresses: the handle of the surrogate name at a domain that belongs to nobody.
_AT = r"@|＠|\s*[\[({<]\s*(?:at|@)\s*[\])}>]\s*|\s+at\s+|\s+@\s*"
_ADDRESS = re.compile(
    rf"((?:(?:mailto:|e-?mail:)\s*)?)(.*?)(?:({_AT})(.*))?", re.IGNORECASE | re.DOTALL
)
_DOT = re.compile(r"\s*[\[({<]\s*(?:dot|\.)\s*[\])}>]\s*|\s+dot\s+|[.．]", re.IGNORECASE)
_LEAD = "@＠ "


def handle_of(value: str) -> str:
    """The handle in a user name or an e-mail address."""
    return _ADDRESS.fullmatch(value.lstrip(_LEAD)).group(2)  # type: ignore[union-attr]


def surrogate_email(value: str, context: Context, attempt: int = 0) -> str | None:
    """An address in the same pattern, also with "at" and "dot" spelled out, or one half of it. RETURNS (str | None): None if there
    is no letter or digit in it.
    """
    lead, local, at, domain = _ADDRESS.fullmatch(value).groups("")  # type: ignore[union-attr]
    if not has_sign(value[len(lead) :]):
        return None
    # Another domain where the address is taken: one handle has one surrogate.
    known = local in context.handles
    new = lead + surrogate_handle(local, context, 0 if known and at else attempt) + at
    return new + surrogate_domain(domain, context, attempt if known else 0)


def surrogate_domain(domain: str, context: Context, attempt: int = 0) -> str:
    """A domain of the same kind (school, free mail, organisation, other) with the separators of the original; if
    `context.reserved`, one that nobody can own (RFC 2606).
    """
    dot = _DOT.search(domain)
    names = [name.strip().lower() for name in _DOT.split(domain) if name]
    is_free = not words("free_mail").isdisjoint(names[:-1])
    school = "edu" in names[-2:] or "ac" in names[-2:-1] or "k12" in names
    school = school or any(name.startswith(("uni", "college")) for name in names)
    if not names or (is_free and not school and not context.reserved):
        return domain
    ending = "edu" if school else names[-1] if names[-1] in ("org", "net") else "com"
    rng = context.chance.rng("DOMAIN", ".".join(map(letters, names)), attempt=attempt)
    new = ["example", ending]
    if not context.reserved:
        country = names[-2:] if names[-2:-1] in (["ac"], ["edu"], ["co"]) else [ending]
        new = [
            pick(rng, word_list("domain_starts")) + pick(rng, word_list("domain_ends")),
            *country,
        ]
    elif attempt:
        new.insert(0, pick(rng, word_list("domain_starts")))
    made = (dot.group() if dot else ".").join(new)
    return made.upper() if domain.isupper() else made


# Personal web addresses: taken apart, the identifying parts replaced, the rest kept.
_URL = re.compile(
    r"^(?P<scheme>[a-z][a-z0-9+.-]*:/{1,2}|//)?(?P<user>[^@/?#]*@)?(?P<host>\[[^\]]*\]|[^/?#:]+)(?P<port>:\d+)?"
    r"(?P<path>/[^?#]*)?(?P<query>\?[^#]*)?(?P<fragment>#.*)?$",
    re.IGNORECASE | re.DOTALL,
)
_VALUE = re.compile(r"(?<==)[^&;]+|(?<=[?&;])[^&;=]+(?=[&;]|$)")
_CODE = re.compile(r"(?=.*\d)(?=.*[A-Za-z])[\w-]{6,}|\d{5,}|[A-Za-z0-9_-]{20,}")
_WORD_IN_CODE = re.compile(r"(?<![^_-])[^\W\d_]{3,}(?![^_-])")
_PAGES = (".html", ".htm", ".php", ".pdf", ".aspx")


def surrogate_url(value: str, context: Context, attempt: int = 0) -> str | None:
    """An address of the same kind for somebody else; spaces inside it are left out. RETURNS (str | None): None if it is no
    address, or that of a site that many people use.
    """
    compact = "".join(value.split())
    if compact.startswith("@"):
        return surrogate_handle(compact, context, attempt)
    match = _URL.match(compact)
    if not match or not has_sign(compact):
        return None
    scheme, user, host, port, path, query, fragment = match.groups("")
    # For codes and numbers, drawn in the order of the address.
    rng = context.chance.rng("URL_PERSONAL", compact.casefold(), attempt=attempt)
    site = _host(host, context, attempt, rng)
    steps = path.split("/")
    made = [_step(step, context, attempt, rng) for step in steps]
    if made == steps and not query and site == host:
        # "github.com/home": somebody has that name.
        made = [step and surrogate_handle(step, context, attempt) for step in steps]
    new = scheme + surrogate_handle(user, context) + site + port + "/".join(made)
    new += _VALUE.sub(lambda part: randomize_same_shape(part.group(), rng), query)
    new += fragment[:1] + _step(fragment[1:], context, attempt, rng)
    return None if new == compact else new


def _host(host: str, context: Context, attempt: int, rng: Source) -> str:
    """Another host; one that many people use stays, but for somebody's name before it."""
    lower = host.lower()
    if re.fullmatch(r"[\d.]+|\[.*\]", lower):
        return ipv4(rng)
    labels = lower.split(".")
    hosted, ends = words("hosted_sites"), [".".join(labels[i:]) for i in range(len(labels) - 1)]
    site = next((end for end in ends[1:] if end in hosted), "")
    owner = lower.removesuffix("." + site) if site else ""
    if owner not in ("", "www", "m"):
        start = len(owner) - len(owner.removeprefix("www."))
        handle = surrogate_handle(host[start : len(owner)], context, attempt)
        return lower[:start] + handle + host[len(owner) :]
    if not (words("social_sites") | hosted).isdisjoint(ends):
        return host
    # A domain that is one person's or one school's.
    before, domain, suffix = split_host(lower)
    lead = f"{before}." if before else ""
    if lead not in ("", "www.", "m.", "blog.", "portfolio."):
        # "maria-lopez.some-school.edu": the person before the school.
        people = [step for step in before.split(".") if owner_of(step, context.people) >= 0]
        lead = (
            "".join([surrogate_handle(step, context, attempt) + "." for step in people]) or "www."
        )
    ending = suffix or "com"
    if context.reserved:
        school = "edu" in suffix.split(".") or suffix.startswith("ac.")
        ending = "edu" if school else suffix if suffix in ("org", "net") else "com"
        # The shortest that nobody can own is "example" itself.
        ending = "example" if context.near else f"example.{ending}"
    return f"{lead}{surrogate_handle(domain, context, attempt) or 'site'}.{ending}"


def _step(step: str, context: Context, attempt: int, rng: Source) -> str:
    """One step of a path: a new code for a code, else a new handle; words of addresses stay."""
    plain = unquote(step)
    if not has_sign(plain) or plain.lower() in words("path_words"):
        return step
    if ":" in plain:
        return ":".join([_step(part, context, attempt, rng) for part in plain.split(":")])
    if _is_code(plain):
        # A channel's code begins with UC: a fact about the site.
        start = 2 if plain.startswith("UC") and len(plain) > 20 else 0
        new = plain[:start] + randomize_same_shape(plain[start:], rng)
    else:
        new = surrogate_handle(plain, context, attempt)
        if plain.lower().endswith(_PAGES):
            new = new.rpartition(".")[0] + "." + plain.rpartition(".")[2]
    return new if plain == step else quote(new, safe="@-._~+!$&'()*,;=:")


def _is_code(text: str) -> bool:
    """Whether a step of a path is a code ("4f2a9c", "dQw4w9WgXcQ") rather than a handle ("maria-lopez-99")."""
    is_small = text == text.lower()
    if not _CODE.fullmatch(text) or (is_small and _WORD_IN_CODE.search(text)):
        return False
    runs = len(re.findall(r"[A-Za-z]+|\d+", text))
    switches = len(re.findall(r"(?<=[a-z])[A-Z]", text))
    is_long = len(text) >= 20 and not text.islower()
    return text.isdigit() or runs >= 4 or (switches >= 2 and runs >= 2) or is_long
