"""Surrogates for places, schools and workplaces: the words that say what it is stay, the name is an invented one.

    Ridgeview High School           ->  Larkmere High School
    University of Ridgeview         ->  University of Larkmere       the same name, the same surrogate
    Lima, Peru                      ->  Oakhaven, Chile              countries, people of them and states are real ones

With a corpus's own pool (`pool = "corpus"` in a profile, after `hips_surrogate.observe`) a whole value is replaced by another
one of the corpus instead, as CRAPII did (section 2.3.2); only by one that several documents have in common.
"""

import re
from collections.abc import Collection, Sequence
from functools import cache, partial

from ..labels import EDUCATION, EMPLOYER, LOCATION
from ..names import resource
from ..names.letters import fold, has_sign, like, norm, plain
from ..names.parse import PARTICLES
from ..names.table import Source
from ..profiles import takes_an
from .keys import pick
from .style import in_case, ordinal, other_chars, word_list, words
from .values import Context

MAX_DRAWS = 60
# The words of places.toml that say what a place is, and stay.
KEPT = {LOCATION: "place_words", EDUCATION: "school_words", EMPLOYER: "work_words"}
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
# What leads to a name, the name, and a possessive.
_PLACE = re.compile(r"(the\s+)?(.*?)(['’]s)?", re.IGNORECASE | re.DOTALL)
_NAME = re.compile(
    r"((?:the|a|an|my|our|your|his|her|its|their)\s+)?(.*?)(['’]s)?", re.IGNORECASE | re.DOTALL
)


@cache
def _code_groups() -> dict[str, tuple[str, ...]]:
    """Code of a state or a province -> those of its country; codes with stops are apart."""
    groups = [
        tuple(text.split())
        for kind in ("dotted_codes", "codes")
        for text in reversed(resource("surrogates/places")[kind].values())
    ]
    return {code: group for group in groups for code in group}


@cache
def _groups() -> dict[str, tuple[str, ...]]:
    """Name of a country, of its people, or of a state -> those that may replace it."""
    found: dict[str, tuple[str, ...]] = {}
    states = tuple(
        [" ".join(name.split()) for name in resource("surrogates/places")["us_states"].split(",")]
    )
    found.update(dict.fromkeys(map(fold, states), states))
    for text in resource("surrogates/places")["regions"].values():
        pairs = [pair.strip().split(":") for pair in text.split(",")]
        countries, people = zip(*pairs, strict=True)
        found.update(dict.fromkeys(map(fold, countries), countries))
        found.update(dict.fromkeys(map(fold, people), tuple(sorted(set(people)))))
    return found


@cache
def _countries(of: int = 0) -> frozenset[str]:
    """Names of countries, folded; or of their people (`of` is 1)."""
    text = ",".join(resource("surrogates/places")["regions"].values())
    return frozenset([fold(pair.split(":")[of].strip()) for pair in text.split(",")])


def is_people(value: str) -> bool:
    """RETURNS (bool): Whether a value is the people of a country, "Hungarians", or its adjective or language."""
    return not _countries(1).isdisjoint((fold(value), fold(value).removesuffix("s")))


def invented(kind: str, core: str, context: Context, attempt: int = 0) -> str:
    """A name of a town or a company that is put together ("Larkmere"). core: What it stands for; no part of it comes back."""
    rng = context.chance.rng("PLACE/" + kind, norm(core), attempt=attempt)
    starts, ends = word_list(f"{kind}_starts"), word_list(f"{kind}_ends")
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
    if pooled := _from_pool(LOCATION, value, context, attempt):
        return pooled
    parts = _SPLIT.split(value)
    parts[::2] = [_place(part, context, attempt) for part in parts[::2]]
    return "".join(parts)


def _place(part: str, context: Context, attempt: int) -> str:
    lead, name, ending = _PLACE.fullmatch(part).groups("")  # type: ignore[union-attr]
    new = _country(name, bool(lead), context, attempt)
    if not new and name in _code_groups():
        rng = context.chance.rng("PLACE/code", name, attempt=attempt)
        new = pick(rng, [code for code in _code_groups()[name] if code != name])
    new = new or _rename(name, KEPT[LOCATION], "town", context, attempt)
    # "downtown", "the city": nothing but words of the kind.
    if new == name:
        lead, new = "", invented("town", name, context, attempt)
    return lead + new + ending


def _country(name: str, has_the: bool, context: Context, attempt: int) -> str:
    """Another country, people of it, or state; empty if the name is none."""
    full = _SHORT.get(fold(name).rstrip("."), name)
    groups, folded = _groups(), fold(full)
    plural = "s" if folded not in groups and folded.endswith("s") else ""
    options = groups.get(folded.removesuffix(plural), ())
    with_the = (has_the and folded in _countries()) or name in _WITH_ARTICLE[:5]
    old = {*folded.split(), *(word.rstrip("s") for word in folded.split())}
    fit = []
    for option in _WITH_ARTICLE if with_the and options else options:
        wants_the = option in _WITH_ARTICLE and not (with_the or has_the)
        is_plural = plural and option.endswith(("ese", "sh", "ch", "ss"))
        if old.isdisjoint(fold(option).split()) and not wants_the and not is_plural:
            fit.append(option)
    if not fit:
        return ""
    rng = context.chance.rng("PLACE/country", folded, attempt=attempt)
    return like(name if full == name else full, pick(rng, fit)) + plural


def _organisation(
    label: str, kind: str, value: str, context: Context, attempt: int = 0
) -> str | None:
    """A school or workplace of the same kind; None if there is no letter or digit in it."""
    if not has_sign(value):
        return None
    if pooled := _from_pool(label, value, context, attempt):
        return pooled
    lead, text, ending = _NAME.fullmatch(value).groups("")  # type: ignore[union-attr]
    new = _rename(lead + text, KEPT[label], kind, context, attempt)
    if new == lead + text:
        # "my high school" gets a name.
        name = like("XX" if new.isupper() else "Xx", invented(kind, new, context, attempt))
        new = f"{lead}{name} {text}"
    article, space, rest = new.partition(" ")
    if article.lower() in ("a", "an"):
        new = in_case(article, "an" if takes_an(rest) else "a") + space + rest
    return new + ending


surrogate_education = partial(_organisation, EDUCATION, "town")
surrogate_employer = partial(_organisation, EMPLOYER, "company")


def _rename(text: str, kept: str, kind: str, context: Context, attempt: int) -> str:
    """Put an invented name in the place of every run of words that say no kind; all else stays."""
    of_kind = words(kept)
    out = ""
    tokens = _TOKEN.findall(text)
    while tokens:
        token = tokens.pop(0)
        if token.isdecimal():
            rng = context.chance.rng("PLACE/number", token, attempt=attempt)
            token = other_chars(token, rng, first=True)
        elif _is_name(token, of_kind):
            while tokens[1:] and not tokens[0].strip(" .-&") and _is_name(tokens[1], of_kind):
                token += tokens.pop(0) + tokens.pop(0)
            token = _core(token, text, kind, context, attempt)
        out += token
    return out


def _is_name(token: str, of_kind: Collection[str]) -> bool:
    return token[0].isalpha() and fold(token).rstrip(".") not in of_kind


def _core(core: str, text: str, kind: str, context: Context, attempt: int) -> str:
    """Another name, or other letters for letters that stand for one ("MIT"). text (str): What the name is a part of."""
    is_short = core.isupper() and core.isalpha() and len(core) <= 5
    is_alone = core == "".join(filter(str.isalpha, text))
    if _LETTERS.fullmatch(core.rstrip(".")) or (is_short and (is_alone or not text.isupper())):
        return other_chars(core, context.chance.rng("PLACE/letters", core, attempt=attempt))
    new = like(plain(core), invented(kind, core, context, attempt))
    return new + ("." if core.endswith(".") else "")


def _from_pool(label: str, value: str, context: Context, attempt: int) -> str | None:
    """Another value of the corpus, of the same kind if there is one; None if there is no pool."""
    old = {norm(word) for word in _TOKEN.findall(value)} - {""}
    kinds = words(KEPT[label])
    fit, same = [], []
    for other in sorted(context.pools.get(label, ())):
        own = {norm(word) for word in _TOKEN.findall(other)}
        if own.isdisjoint(old - kinds or old):
            fit.append(other)
            same += [other] if own & kinds == old & kinds else []
    # Where others of the document have taken those of the kind, any other, and at last an invented one.
    options = same if same and attempt < 12 else fit
    if not options or attempt >= 24:
        return None
    return pick(context.chance.rng("PLACE/pool", fold(value), attempt=attempt), options)


# Street addresses: other numbers, another street, another town; kinds of streets and the layout stay.
_DIGITS = re.compile(r"\d+")
_TOKEN_ADDRESS = re.compile(
    r"[^\W\d_]+(?:['’.-][^\W\d_]+)*|[\d]+(?:st|nd|rd|th)?\b|\d+|[\W_]+", re.IGNORECASE
)


# A place on a map, latitude, then longitude: 41.8781, -87.6298; 41°52'41.2"N 87°37'47.3"W.
_AXIS = r"""[NSEWO]?\s?[-+−]?\d{1,3}(?:\.\d{3,}|(?:\.\d+)?\s?[°º](?:[\d.\s]+['′’])?(?:[\d.\s]+["″”])?)\s?[NSEWO]?"""
_MAP = re.compile(rf"\D*?{_AXIS}[\s,;]+{_AXIS}\D*")


def surrogate_address(value: str, context: Context, attempt: int = 0) -> str | None:
    """An address of the same layout somewhere else. RETURNS (str | None): None if there is neither a letter nor a digit in it."""
    if not has_sign(value):
        return None
    rng = context.chance.rng(
        "STREET_ADDRESS", " ".join(norm(w) or w for w in value.casefold().split()), attempt=attempt
    )
    if _MAP.fullmatch(value):
        # In a corner of an ocean where nobody lives.
        return f"-{40 + 15 * rng.random():.4f}, -{101 + 30 * rng.random():.4f}"
    tokens = _TOKEN_ADDRESS.findall(value)
    numbers = set(_DIGITS.findall(value))
    # Of words that no name may be; of streets first, then of towns.
    originals = {norm(token) for token in tokens}
    names, is_numbered = _street_names(tokens), False
    out = ""
    for i, token in enumerate(tokens):
        new = token
        if token[0].isdecimal():
            new, is_numbered = _number(token, rng, numbers), True
        elif not token[0].isalpha():
            if is_numbered and ("," in token or "\n" in token):
                names = word_list("town_names")
        elif len(token) <= 3 and re.search(r"\d", "".join([*tokens[max(0, i - 1) : i + 2]])):
            # Letters of a postal code or a house number: "WC1E", "17b".
            new = other_chars(token, rng)
        elif _says_kind(tokens, i):
            # "Elm Street Dayton", but "rue Lepic": there the street's name follows.
            if len(token) > 2 and names is word_list("street_names"):
                names = word_list("town_names")
        elif token not in PARTICLES and not _is_country(tokens, i):
            fit = [name for name in names if norm(name) not in originals]
            new = _other_word(token, fit, rng, is_loud=value.isupper())
        out += new
    return out


def _other_word(token: str, names: Sequence[str], rng: Source, *, is_loud: bool) -> str:
    """Another name for a word of an address that names a place. is_loud (bool): Whether the whole address is in capitals."""
    if group := _code_groups().get(token):
        return pick(rng, [code for code in group if code != token])
    if (_LETTERS.fullmatch(token) or re.fullmatch(r"[A-Z]{2,4}", token)) and not is_loud:
        # "C.D.M.X", "KCMO": letters that stand for a place; which one, we do not know.
        return other_chars(token, rng)
    return like(token, pick(rng, names))


def _street_names(tokens: Sequence[str]) -> tuple[str, ...]:
    """Names of streets in the language of the word for "street"."""
    for language in ("es", "pt", "fr", "it"):
        if not words(f"street_kinds_{language}").isdisjoint(map(str.lower, tokens)):
            return word_list(f"street_names_{language}")
    return word_list("street_names")


def _is_country(tokens: Sequence[str], i: int) -> bool:
    """Whether a word says the country, which stays, rather than a town or a street that is called so."""
    is_last = not "".join(tokens[i + 1 :]).strip(" .")
    return tokens[i].lower() in words("country_words") or (
        is_last and fold(tokens[i]) in _countries()
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
    return not (before.endswith(",") and re.match(r"[\s,]*[A-Z]?\d", after))


def _number(token: str, rng: Source, numbers: Collection[str]) -> str:
    """Another number with as many digits; "42nd" becomes "57th". numbers: Those of the address."""
    digits = _DIGITS.findall(token)[0]
    for _ in range(MAX_DRAWS):
        new = other_chars(digits, rng, first=True)
        if new not in numbers:
            break
    return new + ordinal(token[len(digits) :], int(new))
