"""Surrogates for places, schools and workplaces: the words that say what it is stay, the name is an invented one.

    Ridgeview High School           ->  Larkmere High School
    University of Ridgeview         ->  University of Larkmere       the same name, the same surrogate
    Lima, Peru                      ->  Oakhaven, Chile              countries, people of them and states are real ones

With a corpus's own pool (`pool = "corpus"` in a profile, after `hips_surrogate.observe`) a whole value is replaced by another
one of the corpus instead, as CRAPII did (section 2.3.2); only by one that several documents have in common.
"""

import re
from collections.abc import Collection
from functools import cache

from ..names.letters import fold, has_sign, like, norm, plain
from ..names.parse import PARTICLES
from ..names.table import Source
from .keys import pick
from .style import ordinal, other_chars, resource, rewrite, word_list, words
from .values import Context

MAX_DRAWS = 60
# The words of places.toml that say what a place is, and stay.
KEPT = {"LOCATION": "place_words", "EDUCATION": "school_words", "EMPLOYER": "work_words"}
_WITH_ARTICLE = (
    "Netherlands",
    "Philippines",
    "Dominican Republic",
    "Czech Republic",
    "United Kingdom",
    "United States",
)
# Letters that stand for a country.
_SHORT = {
    **dict.fromkeys(("us", "u.s", "usa", "u.s.a"), "United States"),
    **dict.fromkeys(("uk", "u.k"), "United Kingdom"),
}
_TOKEN = re.compile(r"[^\W\d_]+(?:['’.-][^\W\d_]+)*\.?|\d+|[\W_]+")
_LETTERS = re.compile(r"[A-Z](?:\.[A-Z])+")
_SPLIT = re.compile(r"(\s*[,;/|\n]\s*|\s+(?:and|or|in|near)\s+)", re.IGNORECASE)
_THE = re.compile(r"the\s+", re.IGNORECASE)
_POSSESSIVE = re.compile(r"['’]s$", re.IGNORECASE)
_LEAD = re.compile(r"(?:(?:the|a|an|my|our|your|his|her|its|their)\s+)?", re.IGNORECASE)


@cache
def _words(name: str) -> frozenset[str]:
    return frozenset(str(resource("places")[name]).split())


@cache
def _code_groups() -> dict[str, tuple[str, ...]]:
    """Code of a state or a province -> those of its country; codes with stops are apart."""
    groups = [
        tuple(text.split())
        for kind in ("dotted_codes", "codes")
        for text in reversed(resource("places")[kind].values())
    ]
    return {code: group for group in groups for code in group}


@cache
def _groups() -> dict[str, tuple[str, ...]]:
    """Name of a country, of its people, or of a state -> those that may replace it."""
    lists = [tuple(" ".join(n.split()) for n in str(resource("places")["us_states"]).split(","))]
    for text in resource("places")["regions"].values():
        pairs = [pair.strip().split(":") for pair in text.split(",")]
        lists += [tuple(name for name, _ in pairs), tuple(sorted({people for _, people in pairs}))]
    return {fold(name): names for names in lists for name in names}


@cache
def _countries() -> frozenset[str]:
    return frozenset(
        fold(pair.split(":")[0].strip())
        for text in resource("places")["regions"].values()
        for pair in text.split(",")
    )


@cache
def _halves(kind: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What invented names ("town" or "company") begin and end with."""
    return tuple(str(resource("places")[f"{kind}_starts"]).split()), tuple(
        str(resource("places")[f"{kind}_ends"]).split()
    )


def invented(kind: str, core: str, context: Context, attempt: int = 0) -> str:
    """A name of a town or a company that is put together ("Larkmere"). core: What it stands for; no part of it comes back."""
    rng = context.chance.rng("PLACE/" + kind, norm(core), attempt=attempt)
    starts, ends = _halves(kind)
    old = [word for word in map(norm, core.split()) if len(word) > 2]
    name = ""
    for _ in range(MAX_DRAWS):
        name = pick(rng, starts) + pick(rng, ends)
        new = norm(name)
        taken = new[:1] == norm(core)[:1] or any([w in new or new in w for w in old])
        if not taken and new not in context.avoid:
            break
    return name


def surrogate_location(value: str, context: Context, attempt: int = 0) -> str | None:
    """A place of the same kind, also "Lima, Peru". RETURNS (str | None): None if there is no letter or digit in it."""
    if not has_sign(value):
        return None
    pooled = _from_pool("LOCATION", value, context, attempt)
    if pooled is not None:
        return pooled
    return "".join(
        part if i % 2 else _place(part, context, attempt)
        for i, part in enumerate(_SPLIT.split(value))
    )


def _place(part: str, context: Context, attempt: int) -> str:
    text, ending = _split_possessive(part)
    the = _THE.match(text)
    lead = the.group() if the else ""
    name = text[len(lead) :]
    if country := _country(name, bool(lead), context, attempt):
        return lead + country + ending
    if group := _code_groups().get(name):
        rng = context.chance.rng("PLACE/code", name, attempt=attempt)
        return lead + pick(rng, [c for c in group if c != name]) + ending
    new = _rename(name, KEPT["LOCATION"], "town", context, attempt)
    # "downtown", "the city": nothing but words of the kind.
    return (lead + new if new != name else invented("town", name, context, attempt)) + ending


def _country(name: str, has_the: bool, context: Context, attempt: int) -> str:
    """Another country, people of it, or state; empty if the name is none."""
    full = _SHORT.get(fold(name).rstrip("."), name)
    groups, folded = _groups(), fold(full)
    plural = "s" if folded not in groups and folded.endswith("s") else ""
    options = groups.get(folded.removesuffix(plural), ())
    with_the = (has_the and folded in _countries()) or name in _WITH_ARTICLE[:5]
    old = {*folded.split(), *(word.rstrip("s") for word in folded.split())}
    fit = [
        o
        for o in (_WITH_ARTICLE if with_the and options else options)
        if old.isdisjoint(fold(o).split())
        and (with_the or has_the or o not in _WITH_ARTICLE)
        and not (plural and o.endswith(("ese", "sh", "ch", "ss")))
    ]
    if not fit:
        return ""
    rng = context.chance.rng("PLACE/country", folded, attempt=attempt)
    return like(name if full == name else full, pick(rng, fit)) + plural


def surrogate_education(value: str, context: Context, attempt: int = 0) -> str | None:
    """A school of the same kind; None if there is no letter in it."""
    return _organisation("EDUCATION", value, "town", context, attempt)


def surrogate_employer(value: str, context: Context, attempt: int = 0) -> str | None:
    """A workplace of the same kind; None if there is no letter in it."""
    return _organisation("EMPLOYER", value, "company", context, attempt)


def _organisation(label: str, value: str, kind: str, context: Context, attempt: int) -> str | None:
    if not has_sign(value):
        return None
    pooled = _from_pool(label, value, context, attempt)
    if pooled is not None:
        return pooled
    text, ending = _split_possessive(value)
    new = _rename(text, KEPT[label], kind, context, attempt)
    if new == text:
        # "my high school" gets a name.
        lead = _LEAD.match(text).end()  # type: ignore[union-attr]
        name = like("XX" if text.isupper() else "Xx", invented(kind, text, context, attempt))
        new = f"{text[:lead]}{name} {text[lead:]}"
    return new + ending


def _split_possessive(text: str) -> tuple[str, str]:
    end = _POSSESSIVE.search(text)
    return (text[: end.start()], end.group()) if end else (text, "")


def _rename(text: str, kept: str, kind: str, context: Context, attempt: int) -> str:
    """Put an invented name in the place of every run of words that say no kind; all else stays."""
    tokens = _TOKEN.findall(text)
    of_kind = _words(kept)
    is_kept = [fold(t).rstrip(".") in of_kind for t in tokens]
    out: list[str] = []
    i = 0
    while i < len(tokens):
        token = tokens[i]
        if token.isdecimal():
            rng = context.chance.rng("PLACE/number", token, attempt=attempt)
            out.append(other_chars(token, rng, first=True))
        elif not token[0].isalpha() or is_kept[i]:
            out.append(token)
        else:
            end = i + 1
            while (
                end + 1 < len(tokens)
                and not tokens[end].strip(" .-&")
                and tokens[end + 1][0].isalpha()
                and not is_kept[end + 1]
            ):
                end += 2
            core = "".join(tokens[i:end])
            if _LETTERS.fullmatch(core.rstrip(".")) or (
                core.isupper()
                and core.isalpha()
                and len(core) <= 5
                and (not text.isupper() or core == "".join(filter(str.isalpha, text)))
            ):
                rng = context.chance.rng("PLACE/letters", core, attempt=attempt)
                out.append(other_chars(core, rng))
            else:
                out.append(
                    like(plain(core), invented(kind, core, context, attempt))
                    + ("." if core.endswith(".") else "")
                )
            i = end - 1
        i += 1
    return "".join(out)


def _from_pool(label: str, value: str, context: Context, attempt: int) -> str | None:
    """Another value of the corpus, of the same kind if there is one; None if there is no pool."""
    pool = context.pools.get(label)
    if not pool:
        return None
    old = {norm(w) for w in _TOKEN.findall(value)} - {""}
    kinds = _words(KEPT[label])
    special = old - kinds or old
    rows = [(o, {norm(w) for w in _TOKEN.findall(o)}) for o in pool]
    fit = [(o, words) for o, words in rows if not special & words]
    same = [o for o, words in fit if (words & kinds) == (old & kinds)]
    # Where others of the document have taken those of the kind, any other, and at last an invented one.
    options = sorted(same if same and attempt < 12 else [o for o, _ in fit])
    if not options or attempt >= 24:
        return None
    return pick(context.chance.rng("PLACE/pool", fold(value), attempt=attempt), options)


# Street addresses: other numbers, another street, another town; kinds of streets and the layout stay.
MAX_DRAWS_ADDRESS = 12
_COUNTRIES = words("country_words")
_DIGITS = re.compile(r"\d+")
_NUMBER = re.compile(r"(\.)?\d+")
# The country that an address ends with.
_LAST = re.compile(r"[,\n]\s*(?P<last>[^,\n]+?)[\s.]*$")
_COMPOUND = re.compile(
    r"(?P<stem>[^\W\d_]{3,})(?P<kind>stra(?:ß|ss)e|str\.?|weg|platz|allee|gasse|straat|laan)",
    re.IGNORECASE,
)
_CAPITALS = re.compile(r"[A-Z]{2,4}")
_POSTAL_CODE = re.compile(r"[\s,]*[A-Z]?\d")
_TOKEN_ADDRESS = re.compile(
    r"[^\W\d_]+(?:['’.-][^\W\d_]+)*|[\d]+(?:st|nd|rd|th)?\b|\d+|[\W_]+", re.IGNORECASE
)


def surrogate_address(value: str, context: Context, attempt: int = 0) -> str | None:
    """An address of the same layout somewhere else. RETURNS (str | None): None if there is neither a letter nor a digit in it."""
    if not has_sign(value):
        return None
    rng = context.chance.rng(
        "STREET_ADDRESS", " ".join(norm(w) or w for w in value.casefold().split()), attempt=attempt
    )
    if axes := _coordinates(value):
        return rewrite(
            value, [(*axis.span(), _at_sea(axis, n, rng)) for n, axis in enumerate(axes)]
        )
    end = _country_at(value)
    tokens = _TOKEN_ADDRESS.findall(value[:end])
    streets = _street_names(tokens)
    originals = {norm(t) for t in tokens}
    numbers = set(_DIGITS.findall(value[:end]))
    out, behind_comma, first_number = [], False, True
    for i, token in enumerate(tokens):
        if token[0].isdecimal():
            new = _number(token, rng, numbers)
            first_number = False
        elif not token[0].isalpha():
            new = token
            behind_comma = behind_comma or ("," in token or "\n" in token) and not first_number
        elif token in PARTICLES:
            new = token
        elif len(token) <= 3 and _in_code(tokens, i):
            new = other_chars(token, rng)
        elif _says_kind(tokens, i):
            new = token
            # "Elm Street Dayton", but "rue Lepic": there the street's name follows.
            behind_comma = behind_comma or (len(token) > 2 and streets is word_list("street_names"))
        else:
            new = _other_word(
                token,
                context,
                rng,
                attempt,
                streets=None if behind_comma else streets,
                originals=originals,
                capitals=value.isupper(),
            )
        out.append(new)
    return "".join(out) + value[end:]


# Latitude, then longitude: 41.8781, -87.6298; 41°52'41.2"N 87°37'47.3"W.
_AXIS = re.compile(
    r"""(?:(?P<before>[NSEWO])\s?)?[-+−]?(?P<whole>\d{1,3})(?P<part>\.\d+)?(?P<more>\s?[°º](?:\s?\d\d?(?:\.\d+)?\s?['′’])?(?:\s?\d\d?(?:\.\d+)?\s?["″”])?)?"""
    r"(?:\s?(?P<side>[NSEWO])\b)?"
)
# An ocean's corner in which nobody lives: the first degree and how many follow, south, then west.
_SEA = ((40, 15), (101, 30))


def _coordinates(value: str) -> list[re.Match[str]]:
    """The two halves of a place on a map; empty if it is none."""
    axes = list(_AXIS.finditer(value))
    sure = all(axis["more"] or len(axis["part"] or "") > 3 for axis in axes)
    return axes if len(axes) == 2 and sure else []


def _at_sea(axis: re.Match[str], n: int, rng: Source) -> str:
    side = axis["before"] or axis["side"] or ""
    is_west = side in "EWO" if side else n == 1
    first, size = _SEA[is_west]
    more = _NUMBER.sub(
        lambda m: other_chars(m.group(), rng) if m[1] else f"{int(rng.random() * 60):02d}",
        (axis["part"] or "") + (axis["more"] or ""),
    )
    new = str(first + int(rng.random() * size)) + more
    if not side:
        return "-" + new
    to = "W" if is_west else "S"
    return f"{to} {new}" if axis["before"] else f"{new} {to}" if " " in axis.group() else new + to


def _country_at(address: str) -> int:
    """Where the country begins that an address ends with; the end of the address if it names none."""
    last = _LAST.search(address)
    if last and (fold(last["last"]) in _countries() or last["last"].lower() in _COUNTRIES):
        return last.start("last")
    return len(address)


def _other_word(
    token: str,
    context: Context,
    rng: Source,
    attempt: int,
    *,
    streets: tuple[str, ...] | None,
    originals: Collection[str],
    capitals: bool,
) -> str:
    """Another name for a word of an address that names a place; the country's stays.

    streets (tuple[str, ...] | None): Names of streets to choose from; None if it names a town.
    originals (Collection[str]): Folded words of the address, which no name may be.
    capitals (bool): Whether the whole address is in capitals.
    """
    if group := _code_groups().get(token):
        return pick(rng, [code for code in group if code != token])
    if token.lower() in _COUNTRIES:
        return token
    if (_LETTERS.fullmatch(token) or _CAPITALS.fullmatch(token)) and not capitals:
        # "C.D.M.X", "KCMO": letters that stand for a place; which one, we do not know.
        return other_chars(token, rng)
    if compound := _COMPOUND.fullmatch(token):
        fit = [n for n in word_list("street_names_de") if norm(n) not in norm(token)]
        return like(compound["stem"], pick(rng, fit)) + compound["kind"]
    if streets is None and not context.locale.startswith("en"):
        return like(token, invented("town", token, context, attempt))
    names = _folded(streets or word_list("town_names"))
    return like(token, pick(rng, [name for name, word in names.items() if word not in originals]))


def _street_names(tokens: list[str]) -> tuple[str, ...]:
    """Names of streets in the language of the word for "street"."""
    kinds = [token.lower() for token in tokens]
    for names, of_language in _languages():
        if not of_language.isdisjoint(kinds):
            return names
    return word_list("street_names")


@cache
def _languages() -> list[tuple[tuple[str, ...], frozenset[str]]]:
    return [
        (word_list(f"street_names_{name}"), words(f"street_kinds_{name}"))
        for name in ("es", "pt", "fr", "it")
    ]


@cache
def _folded(names: tuple[str, ...]) -> dict[str, str]:
    return {name: norm(name) for name in names}


def _in_code(tokens: list[str], i: int) -> bool:
    """Whether letters are part of a postal code or a house number: "WC1E", "17b"."""
    return (i > 0 and tokens[i - 1][:1].isdigit()) or (
        i + 1 < len(tokens) and tokens[i + 1][:1].isdigit()
    )


def _says_kind(tokens: list[str], i: int) -> bool:
    """Whether a word says what a part of an address is ("Street", "Apt"). "CT" is Connecticut rather than a court where it follows
    a comma, and a postal code follows it."""
    token = tokens[i]
    if token.lower().replace(".", "") not in words("address_words"):
        return False
    if token not in _code_groups():
        return True
    before, after = "".join(tokens[:i]).rstrip(), "".join(tokens[i + 1 :])
    return not (before.endswith(",") and _POSTAL_CODE.match(after))


def _number(token: str, rng: Source, numbers: Collection[str]) -> str:
    """Another number with as many digits; "42nd" becomes "57th". numbers: Those of the address."""
    digits = _DIGITS.findall(token)[0]
    new = ""
    for _ in range(MAX_DRAWS_ADDRESS):
        new = other_chars(digits, rng, first=True)
        if new not in numbers:
            break
    return new + ordinal(token[len(digits) :], int(new))
