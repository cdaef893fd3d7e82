"""What becomes of each span of a document: the profile's actions carried out.

    replacements = plan(text, items, profile=Profile.load("crapii"), chance=Chance(key, scope))
    new, offsets = apply_replacements(text, replacements)

A document is decided as a whole, so that its people are known before their e-mail addresses are made, and no two values get one
surrogate. A value without a surrogate gets its tag; nothing is ever left as it was because something did not work.
"""

from collections.abc import Collection, Container, Hashable, Mapping, Sequence
from typing import NamedTuple

from .. import profiles as modes
from ..labels import (
    AGE,
    DATE,
    EDUCATION,
    EMAIL,
    EMPLOYER,
    ID_NUM,
    LOCATION,
    NAME_LABELS,
    OTHER,
    PHONE_NUM,
    STREET_ADDRESS,
    URL_PERSONAL,
    USERNAME,
)
from ..names.letters import norm
from ..names.link import links_of, spell_initials
from ..names.parse import Mention, read_mention
from ..names.table import name_table
from ..offsets import Replacement
from ..profiles import (
    CONSISTENT,
    GENERIC,
    KEEP,
    LEGACY_SHA256,
    MASK,
    NEAR,
    PSEUDONYM,
    RANDOM,
    REDACT,
    REMOVE,
    SURROGATE,
    Profile,
)
from .dates import AgeShift, DateShift, choose_age_shift, choose_date_shift, surrogate_age, surrogate_date, weekday_beside
from .fixed import fixed_names, fixed_value, pseudonym_list
from .handles import People, surrogate_email, surrogate_url, surrogate_username
from .header import HEADER, HEADER_REMOVED, find_headers
from .keys import Chance
from .numbers import id_key, phone_key, surrogate_id_num, surrogate_phone
from .person_names import Forbidden, Named, name_people, render
from .places import surrogate_address, surrogate_education, surrogate_employer, surrogate_location
from .values import Context, Generator, Item, canonical, distinct

# What a value that comes again becomes: the same surrogate, another one each time, or the same as before with a probabili


def variants(
    values: Sequence[Hashable | None], chance: Chance, document: str, *, strategy: str, repeat: float, local: bool
) -> list[str]:
    """Choose a variant of its surrogate for each mention of a document.

    values (Sequence[Hashable | None]): What makes two mentions one value; None for what never varies.
    chance (Chance): Key and scope. document (str): What tells the document from others.
    strategy (str): One of `profiles.STRATEGIES`. repeat (float): For "markov": how likely the last surrogate is kept.
    local (bool): Whether the scope is this document; in a wider one, its first mention too may vary.
    RETURNS (list[str]): For `Chance.variant`; the empty string is the surrogate that "consistent" gives.
    """
    if strategy == CONSISTENT:
        return [""] * len(values)
    seen: dict[Hashable, int] = {}
    last: dict[Hashable, str] = {}
    out = []
    for value in values:
        if value is None:
            out.append("")
            continue
        count = seen[value] = seen.get(value, -1) + 1
        if count == 0 and local:
            new = ""
        elif strategy == RANDOM:
            new = f"{document}:{count}"
        else:
            kept = chance.rng("MARKOV", f"{document}|{value!r}", attempt=count).random() < repeat
            new = last.get(value, "") if kept else f"{document}:{count}"
        last[value] = new
        out.append(new)
    return out


__all__ = ["NO_SURROGATE", "Item", "plan"]


def surrogate_other(value: str, context: Context, attempt: int = 0) -> str | None:
    """RETURNS (str | None): What the user's map in the profile says for this value; None if nothing (CRAPII, section 2.3.1)."""
    return context.other.get(canonical(value))


GENERATORS: dict[str, Generator] = {
    EMAIL: surrogate_email,
    USERNAME: surrogate_username,
    URL_PERSONAL: surrogate_url,
    PHONE_NUM: surrogate_phone,
    ID_NUM: surrogate_id_num,
    STREET_ADDRESS: surrogate_address,
    AGE: surrogate_age,
    DATE: surrogate_date,
    LOCATION: surrogate_location,
    EDUCATION: surrogate_education,
    EMPLOYER: surrogate_employer,
    OTHER: surrogate_other,
}
# What makes two values of a label one and the same; letters and digits, where nothing else is said.
KEYS = {PHONE_NUM: phone_key, ID_NUM: id_key}
# These move together by one shift, which keeps distinct values distinct and in order; no strategy changes that. A user's map may
# give two values one replacement.
TOGETHER = (AGE, DATE, OTHER)
NO_SURROGATE = "no surrogate"
_NAMES = frozenset(NAME_LABELS)
# What is done with names that get another one.
_ANEW = frozenset({SURROGATE, PSEUDONYM})


class Placed(NamedTuple):
    """A name of a document and whose it is, as `persons.link_words` tells.

    mention (Mention): The name. owner (int): Place of the person, -1 for nobody. places (tuple[int, ...]): Which word of the person
    each of its words is.
    """

    mention: Mention
    owner: int
    places: tuple[int, ...]


def plan(
    text: str,
    items: Sequence[Item],
    *,
    profile: Profile,
    chance: Chance,
    known: Container[str] = (),
    reserved: bool | None = None,
    local: bool = True,
    pools: Mapping[str, Sequence[str]] | None = None,
    strategy: str | None = None,
) -> list[Replacement]:
    """Decide what stands in the place of each span.

    text (str): The document.
    items (Sequence[Item]): Its spans without overlaps, sorted; those to be kept too, since no surrogate may be a cited author.
    profile (Profile): Fixed pseudonyms and nouns. chance (Chance): Key and scope.
    known (Container[str]): Folded words (`style.norm`) of names elsewhere in the corpus that no surrogate may be.
    reserved (bool | None): Whether values must be such that nobody can own them; None for what the profile says.
    local (bool): Whether surrogates hold for this document only, so that they may depend on all of its words.
    pools (Mapping[str, Sequence[str]] | None): Label -> values of the corpus, for profiles that draw from it.
    strategy (str | None): One of `profiles.STRATEGIES`; None for what the profile says.
    RETURNS (list[Replacement]): One for each item that is not kept, and for each header that is removed, with the items in it.
    """
    names = [item for item in items if item.label in _NAMES and item.action in _ANEW]
    read = [read_mention(text[start:end], before=text[max(0, start - 20) : start]) for start, end, *_ in names]
    mentions = spell_initials(read)
    people, owners, places = links_of(mentions, [item.person for item in names])
    table = name_table()
    fixed = fixed_names(people, owners, names, profile)
    forbidden = _forbidden(text, items, read, known, local=local)
    by_start = {item.start: found for item, found in zip(names, map(Placed, mentions, owners, places), strict=True)}
    variant = _variants(text, items, by_start, chance, profile=profile, strategy=strategy, local=local)
    details = [
        (item.label, text[item.start : item.end], name)
        for item, name in zip(items, variant, strict=True)
        if item.action == SURROGATE and item.label in GENERATORS
    ]
    # Each variant has surrogates of its own, none like those of an earlier one.
    named: dict[str, Sequence[Named]] = {}
    made: dict[str, dict[tuple[str, str], str | None]] = {}
    for name in dict.fromkeys(["", *variant]):
        varied = chance.variant(name)
        used = {norm(w or "") for group in named.values() for person in group for w in person.surrogates}
        blocked = forbidden.and_also(used) if used else forbidden
        named[name] = name_people(people, varied, table=table, forbidden=blocked, fixed=fixed, near=profile.length == NEAR)
        values: dict[str, set[str]] = {}
        for label, value, of_variant in details:
            if of_variant == name:
                values.setdefault(label, set()).add(value)
        if not values:
            made[name] = {}
            continue
        context = Context(
            varied,
            table,
            People(named[name]),
            reserved=profile.reserved if reserved is None else reserved,
            locale=profile.locale,
            ages=_age_shift(values[AGE], varied, profile=profile, local=local) if AGE in values else None,
            dates=_date_shift(text, items, values[DATE], varied, profile=profile, local=local) if DATE in values else None,
            avoid=forbidden,
            pools=pools or {} if profile.pool == "corpus" else {},
            near=profile.length == NEAR,
            other={canonical(k): v for k, v in profile.other.items()},
        )
        taken = {canonical(value) for _, value, _ in details}
        taken.update([canonical(new) for group in made.values() for new in group.values() if new is not None])
        made[name] = _details(values, context, taken)
    numbers: dict[str, dict[str, int]] = {}
    found = []
    for item, name in zip(items, variant, strict=True):
        if item.action == KEEP:
            continue
        old = text[item.start : item.end]
        new: str | None = None
        note = ""
        if item.start in by_start:
            new, note = _name(item, by_start[item.start], named[name], chance.variant(name), profile=profile, fixed=fixed)
        elif item.action == SURROGATE:
            new = made[name].get((item.label, old))
        elif item.action == PSEUDONYM:
            new = fixed_value(item.label, old, named[""], chance, fixed=fixed, profile=profile, numbers=numbers)
        elif item.action == GENERIC and item.label in profile.generic:
            new = modes.generic(profile.generic[item.label], before=text[: item.start], original=old)
        elif item.action == LEGACY_SHA256:
            new = modes.legacy_sha256(old)
        elif item.action in (REDACT, MASK, REMOVE):
            new = {REDACT: modes.redact(item.label), MASK: modes.mask(old), REMOVE: ""}[item.action]
        if new is None or new.casefold() == old.casefold():
            note = NO_SURROGATE if item.action in (SURROGATE, PSEUDONYM, GENERIC) else note
            new = modes.tag(item.label)
        found.append(Replacement(item.start, item.end, new, item.label, item.action, note))
    return _without_headers(text, items, found) if profile.header == REMOVE else found


def _without_headers(text: str, items: Sequence[Item], found: list[Replacement]) -> list[Replacement]:
    """RETURNS (list[Replacement]): With headers removed, each as one replacement in the place of those inside it."""
    headers = find_headers(text, items)
    rest = [rep for rep in found if not any(start <= rep.start < end for start, end in headers)]
    gone = [Replacement(start, end, "", HEADER, REMOVE, HEADER_REMOVED) for start, end in headers]
    return sorted([*gone, *rest], key=lambda rep: (rep.start, rep.end))


def _variants(
    text: str,
    items: Sequence[Item],
    by_start: Mapping[int, Placed],
    chance: Chance,
    *,
    profile: Profile,
    strategy: str | None,
    local: bool,
) -> list[str]:
    """RETURNS (list[str]): For each item, which variant of its surrogate it gets."""
    how = profile.strategy if strategy is None else strategy
    if how == CONSISTENT:
        return [""] * len(items)
    values: list[Hashable | None] = []
    for item in items:
        value: Hashable | None = None
        if item.action == SURROGATE and item.start in by_start:
            value = ("NAME", by_start[item.start].owner)
        elif item.action == SURROGATE and item.label not in TOGETHER:
            value = (item.label, KEYS.get(item.label, canonical)(text[item.start : item.end]))
        values.append(value)
    document = chance.digest("document", text).hex()[:16]
    return variants(values, chance, document, strategy=how, repeat=profile.repeat, local=local)


def _forbidden(
    text: str, items: Sequence[Item], mentions: Sequence[Mention], known: Container[str], *, local: bool
) -> Forbidden:
    """Folded words that no name may become: every name here, kept ones too; in a document's own scope every word of its text.

    In a wider scope the other words of one document must not change what a name becomes in all of them.
    mentions (Sequence[Mention]): Those of the names that do not stay.
    """
    names = {norm for mention in mentions for norm in mention.form.norms}
    for item in items:
        if item.label in _NAMES and item.action not in _ANEW:
            names.update(read_mention(text[item.start : item.end]).form.norms)
    return Forbidden(names, known, text=text if local else "")


def _age_shift(values: Collection[str], chance: Chance, *, profile: Profile, local: bool) -> AgeShift:
    """RETURNS (AgeShift): How the ages of a document move. values (Collection[str]): Those ages."""
    return choose_age_shift(values, chance, spread=profile.age_spread, border=profile.age_border, local=local)


def _date_shift(
    text: str, items: Sequence[Item], values: Collection[str], chance: Chance, *, profile: Profile, local: bool
) -> DateShift:
    """RETURNS (DateShift): How the dates of a document move. values (Collection[str]): Those dates."""
    weeks = any(weekday_beside(text, i.start, i.end) for i in items if i.label == DATE and i.action == SURROGATE)
    return choose_date_shift(values, chance, weeks=weeks, local=local, locale=profile.locale, near=profile.length == NEAR)


def _details(
    values: Mapping[str, Collection[str]], context: Context, taken: Collection[str]
) -> dict[tuple[str, str], str | None]:
    """RETURNS (dict): (label, value) -> surrogate, for everything but names.

    values (Mapping[str, Collection[str]]): Label -> its values. context (Context): For generators.
    taken (Collection[str]): Canonical values that no surrogate may be.
    """
    found: dict[tuple[str, str], str | None] = {}
    for label in sorted(values):
        generator = GENERATORS[label]
        if label in TOGETHER:
            made = {value: generator(value, context, 0) for value in values[label]}
        else:
            made = distinct(values[label], generator, context, forbidden=taken, key=KEYS.get(label, canonical))
        for value, new in made.items():
            found[label, value] = new
    return found


def _name(
    item: Item,
    placed: Placed,
    named: Sequence[Named],
    chance: Chance,
    *,
    profile: Profile,
    fixed: dict[int, str],
) -> tuple[str | None, str]:
    """RETURNS (tuple[str | None, str]): A name's new form, and a note."""
    mention, owner, places = placed
    if owner < 0:
        return None, ""
    if item.action == PSEUDONYM and owner not in fixed and not pseudonym_list(item.label, profile):
        return modes.pseudonym(item.label, chance.token("NAME", " ".join(named[owner].person.words))), ""
    new = render(mention, named[owner], chance, places)
    # A pseudonym has no word for a lone middle name.
    return (new if new and (new[0].isalpha() or any(ch.isalpha() for ch in new)) else None), named[owner].note
