"""What becomes of each span of a document: the profile's actions carried out.

    replacements = plan(text, items, profile=Profile.load("crapii"), chance=Chance(key, scope))
    new, offsets = apply_replacements(text, replacements)

A document is decided as a whole, so that its people are known before their e-mail addresses are made, and no two values get one
surrogate. A value without a surrogate gets its tag; nothing is ever left as it was because something did not work.
"""

from collections.abc import Collection, Container, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from .. import labels, profiles
from ..labels import (
    AGE,
    DATE,
    EMAIL,
    HEADER,
    LOCATION,
    NAME_STUDENT,
    OTHER,
    URL_PERSONAL,
    is_name,
)
from ..names.letters import norm
from ..names.link import Person, fits, links_of, places_of, spell_initials
from ..names.parse import Mention, read_mention
from ..names.table import name_table
from ..offsets import Replacement
from ..profiles import CONSISTENT, GENERIC, NEAR, PSEUDONYM, REMOVE, SURROGATE, Profile
from .dates import (
    choose_age_shift,
    choose_date_shift,
    surrogate_age,
    surrogate_date,
    weekday_beside,
)
from .handles import People, letters, owner_of, surrogate_email, surrogate_url, surrogate_username
from .headers import HEADER_REMOVED, find_headers
from .keys import Chance
from .numbers import id_key, phone_key, surrogate_id_num, surrogate_phone
from .person_names import Forbidden, Named, name_people, render
from .places import surrogate_address, surrogate_education, surrogate_employer, surrogate_location
from .values import Context, Generator, Item, canonical, distinct

__all__ = ["NOBODY", "NO_SURROGATE", "Everyone", "Item", "plan"]

NO_SURROGATE = "no surrogate"
# What is done with names that get another one.
_ANEW = frozenset({SURROGATE, PSEUDONYM})


def surrogate_other(value: str, context: Context, attempt: int = 0) -> str | None:
    """What the user's map in the profile says for this value; None if nothing (CRAPII, section 2.3.1)."""
    return context.other.get(canonical(value))


GENERATORS: dict[str, Generator] = {
    EMAIL: surrogate_email,
    labels.USERNAME: surrogate_username,
    URL_PERSONAL: surrogate_url,
    labels.PHONE_NUM: surrogate_phone,
    labels.ID_NUM: surrogate_id_num,
    labels.STREET_ADDRESS: surrogate_address,
    labels.IP_ADDRESS: surrogate_id_num,
    AGE: surrogate_age,
    DATE: surrogate_date,
    LOCATION: surrogate_location,
    labels.EDUCATION: surrogate_education,
    labels.EMPLOYER: surrogate_employer,
    OTHER: surrogate_other,
}
# What makes two values of a label one and the same; letters and digits, where nothing else is said.
KEYS = {labels.PHONE_NUM: phone_key, labels.ID_NUM: id_key}
# These move together by one shift, which keeps distinct values distinct and in order; no strategy changes that. A user's map may
# give two values one replacement.
TOGETHER = (AGE, DATE, OTHER)


class Everyone(NamedTuple):
    """Who is known of the scope that a document belongs to, a thread. people (tuple[Person, ...]), labels (tuple[str, ...]): Those that are hidden
    somewhere, and the label of each one's names. words (frozenset[str]): Folded, of all names, which no surrogate may be."""

    people: tuple[Person, ...] = ()
    labels: tuple[str, ...] = ()
    words: frozenset[str] = frozenset()


NOBODY = Everyone()


class Linked(NamedTuple):
    """A name that gets another one, the person it belongs to (-1 for nobody), and which word of the person each of its words is."""

    item: Item
    mention: Mention
    owner: int
    places: tuple[int, ...]


def link_names(
    text: str, items: Sequence[Item]
) -> tuple[list[Person], list[Linked], list[Mention]]:
    """The people of a document, their mentions among those spans that get another name, and these as they stand in the text."""
    names = [item for item in items if item.action in _ANEW and is_name(item.label)]
    read = [
        read_mention(text[start:end], before=text[max(0, start - 20) : start])
        for start, end, *_ in names
    ]
    mentions = spell_initials(read)
    people, owners, places = links_of(mentions, [item.person for item in names])
    return people, [Linked(*row) for row in zip(names, mentions, owners, places, strict=True)], read


def _among(
    people: Sequence[Person], linked: Sequence[Linked], everyone: Everyone
) -> tuple[list[Person], list[Linked]]:
    """The people of the scope, then those of the document who are none of them or nobody knows which; and the names linked to these. Whom the
    document keeps apart, the scope does."""
    known, owners = list(everyone.people), dict[int, int]()
    taken: dict[int, list[Person]] = {}
    for i in sorted(range(len(people)), key=lambda i: (-len(people[i].words), i)):
        who = fits(people[i], everyone.people)
        places = (
            [places_of(name.mention, known[who[0]]) for name in linked if name.owner == i]
            if len(who) == 1
            else []
        )
        # Who could be linked here, and was not, is somebody else.
        others = taken.setdefault(who[0], []) if places and all(places) else None
        if others is not None and not fits(people[i], others):
            owners[i] = who[0]
            others.append(people[i])
        else:
            owners[i] = len(known)
            known.append(people[i])
    return known, [
        name._replace(
            owner=owners[name.owner], places=places_of(name.mention, known[owners[name.owner]])
        )
        if name.owner >= 0
        else name
        for name in linked
    ]


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
    everyone: Everyone = NOBODY,
) -> list[Replacement]:
    """Decide what stands in the place of each span.

    items (Sequence[Item]): Spans without overlaps, sorted; those to be kept too, since no surrogate may be a cited author.
    known (Container[str]): Folded words of names elsewhere in the corpus that no surrogate may be.
    reserved (bool | None): Whether values must be such that nobody can own them; None for what the profile says.
    local (bool): Whether surrogates hold for this document only, so that they may depend on all of its words.
    pools (Mapping[str, Sequence[str]] | None): Label -> values of the corpus, for profiles that draw from it.
    strategy (str | None): One of `profiles.STRATEGIES`; None for what the profile says. everyone (Everyone): Who else is in a wider scope.
    RETURNS (list[Replacement]): One for each item that is not kept, and for each header that is removed, with the items in it.
    """
    people, linked, read = link_names(text, items)
    if everyone.people:
        people, linked = _among(people, linked, everyone)
    by_start = {name.item.start: name for name in linked}
    fixed = fixed_names(people, linked, profile, chance, everyone.labels)
    variant = _variants(
        text,
        items,
        by_start,
        chance,
        profile=profile,
        strategy=strategy or profile.strategy,
        local=local,
    )
    context = Context(
        chance,
        name_table(),
        reserved=profile.reserved if reserved is None else reserved,
        locale=profile.locale,
        avoid=_forbidden(text, items, read, (known, everyone.words), local=local),
        pools=pools or {} if profile.pool == "corpus" else {},
        near=profile.length == NEAR,
        other={canonical(k): v for k, v in profile.other.items()},
    )
    named = _names_of(people, variant, context, fixed, first=len(everyone.people))
    details = [
        (item, name)
        for item, name in zip(items, variant, strict=True)
        if item.action == SURROGATE and item.label in GENERATORS
    ]
    made = _values_of(text, details, named, context, profile, local=local)
    numbers: dict[str, dict[str, int]] = {}
    found = []
    for item, name in zip(items, variant, strict=True):
        if item.action == profiles.KEEP:
            continue
        old, note = text[item.start : item.end], ""
        if item.start in by_start:
            became, note = _name(
                by_start[item.start],
                named[name],
                chance.variant(name),
                profile=profile,
                fixed=fixed,
            )
        elif item.action == SURROGATE:
            became = made.get((name, item.label, old))
        elif item.action == PSEUDONYM:
            became = fixed_value(
                item.label, old, named[""], chance, fixed=fixed, profile=profile, numbers=numbers
            )
        else:
            became = _without_key(item, text, profile)
        if became is None or became.casefold() == old.casefold():
            note = NO_SURROGATE if item.action in (SURROGATE, PSEUDONYM, GENERIC) else note
            became = profiles.tag(item.label)
        found.append(Replacement(item.start, item.end, became, item.label, item.action, note))
    return _without_headers(text, items, found) if profile.header == REMOVE else found


def _names_of(
    people: Sequence[Person],
    variant: Sequence[str],
    context: Context,
    fixed: dict[int, str],
    *,
    first: int,
) -> dict[str, list[Named]]:
    """Variant -> the people with its surrogates, none of them like those of an earlier variant."""
    found: dict[str, list[Named]] = {}
    used: set[str] = set()
    for name in dict.fromkeys(["", *variant]):
        found[name] = name_people(
            people,
            context.chance.variant(name),
            table=context.table,
            forbidden=Forbidden(context.avoid, used),
            fixed=fixed,
            near=context.near,
            first=first,
        )
        used |= {norm(word or "") for person in found[name] for word in person.surrogates}
    return found


def _values_of(
    text: str,
    details: Sequence[tuple[Item, str]],
    named: Mapping[str, Sequence[Named]],
    context: Context,
    profile: Profile,
    *,
    local: bool,
) -> dict[tuple[str, str, str], str | None]:
    """Variant, label and value -> its surrogate, which no other value gets. details: With the variant of each."""
    found: dict[tuple[str, str, str], str | None] = {}
    taken = {canonical(text[item.start : item.end]) for item, _ in details}
    weeks = any(weekday_beside(text, i.start, i.end) for i, _ in details if i.label == DATE)
    for name, people in named.items():
        values: dict[str, set[str]] = {}
        for item, of_variant in details:
            if of_variant == name:
                values.setdefault(item.label, set()).add(text[item.start : item.end])
        chance = context.chance.variant(name)
        varied = replace(
            context,
            chance=chance,
            people=People(people),
            ages=choose_age_shift(
                values[AGE],
                chance,
                spread=profile.age_spread,
                border=profile.age_border,
                local=local,
            )
            if AGE in values
            else None,
            dates=choose_date_shift(
                values[DATE],
                chance,
                weeks=weeks,
                local=local,
                locale=profile.locale,
                near=context.near,
            )
            if DATE in values
            else None,
        )
        new = _details(values, varied, taken)
        found |= {(name, *key): value for key, value in new.items()}
        taken |= {canonical(value) for value in new.values() if value is not None}
    return found


def _without_key(item: Item, text: str, profile: Profile) -> str | None:
    old = text[item.start : item.end]
    match item.action:
        case profiles.GENERIC if item.label in profile.generic:
            return profiles.generic(
                profile.generic[item.label], before=text[: item.start], original=old
            )
        case profiles.LEGACY_SHA256:
            return profiles.legacy_sha256(old)
        case profiles.REDACT:
            return profiles.redact(item.label)
        case profiles.MASK:
            return profiles.mask(old)
        case profiles.REMOVE:
            return ""
    return None


def _without_headers(
    text: str, items: Sequence[Item], found: list[Replacement]
) -> list[Replacement]:
    """With headers removed, each as one replacement in the place of those inside it."""
    headers = find_headers(text, items)
    rest = [rep for rep in found if not any(start <= rep.start < end for start, end in headers)]
    gone = [Replacement(start, end, "", HEADER, REMOVE, HEADER_REMOVED) for start, end in headers]
    return sorted([*gone, *rest], key=lambda rep: (rep.start, rep.end))


def variants(
    values: Sequence[Hashable | None],
    chance: Chance,
    document: str,
    *,
    strategy: str,
    repeat: float,
    local: bool,
) -> list[str]:
    """Choose a variant of its surrogate for each mention of a document.

    values: What makes two mentions one value; None for what never varies. document: What tells the document from others.
    repeat: For "markov": how likely the last surrogate is kept. local: Whether the scope is this document; in a wider one, a
    first mention too may vary.
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
        elif strategy == profiles.RANDOM:
            new = f"{document}:{count}"
        else:
            kept = chance.rng("MARKOV", f"{document}|{value!r}", attempt=count).random() < repeat
            new = last.get(value, "") if kept else f"{document}:{count}"
        last[value] = new
        out.append(new)
    return out


def _variants(
    text: str,
    items: Sequence[Item],
    by_start: Mapping[int, Linked],
    chance: Chance,
    *,
    profile: Profile,
    strategy: str,
    local: bool,
) -> list[str]:
    if strategy == CONSISTENT:
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
    return variants(values, chance, document, strategy=strategy, repeat=profile.repeat, local=local)


def _forbidden(
    text: str,
    items: Sequence[Item],
    read: Sequence[Mention],
    known: Sequence[Container[str]],
    *,
    local: bool,
) -> Forbidden:
    """Folded words that no name may become: every name here, kept ones too; in a document's own scope every word of its text.
    In a wider scope the other words of one document must not change what a name becomes in all of them.
    """
    kept = [
        read_mention(text[i.start : i.end])
        for i in items
        if is_name(i.label) and i.action not in _ANEW
    ]
    names = {norm for mention in (*read, *kept) for norm in mention.form.norms}
    return Forbidden(names, *known, text=text if local else "")


def _details(
    values: Mapping[str, Collection[str]], context: Context, taken: Collection[str]
) -> dict[tuple[str, str], str | None]:
    """(label, value) -> surrogate, for everything but names. taken: Canonical values that no surrogate may be."""
    found: dict[tuple[str, str], str | None] = {}
    for label in sorted(values):
        generator = GENERATORS[label]
        if label in TOGETHER:
            made = {value: generator(value, context, 0) for value in values[label]}
        else:
            made = distinct(
                values[label], generator, context, forbidden=taken, key=KEYS.get(label, canonical)
            )
        found |= {(label, value): new for value, new in made.items()}
    return found


def _name(
    linked: Linked,
    named: Sequence[Named],
    chance: Chance,
    *,
    profile: Profile,
    fixed: dict[int, str],
) -> tuple[str | None, str]:
    """A name's new form, and a note."""
    item, mention, owner, places = linked
    if owner < 0:
        return None, ""
    if item.action == PSEUDONYM and owner not in fixed and not pseudonym_list(item.label, profile):
        return profiles.pseudonym(
            item.label, chance.token("NAME", " ".join(named[owner].person.words))
        ), ""
    new = render(mention, named[owner], chance, places)
    # A pseudonym has no word for a lone middle name.
    return (new if new and (new[0].isalpha() or any(ch.isalpha() for ch in new)) else None), named[
        owner
    ].note


def pseudonym_list(label: str, profile: Profile) -> list[str]:
    """A profile's pseudonyms for a label; those for other people, for a name that is no student's."""
    fixed = profile.pseudonyms.get(label)
    if fixed is None and is_name(label) and label != NAME_STUDENT:
        fixed = profile.pseudonyms.get("NAME_OTHER")
    return [fixed] if isinstance(fixed, str) else list(fixed or ())


def fixed_names(
    people: Sequence[Person],
    linked: Sequence[Linked],
    profile: Profile,
    chance: Chance,
    labels: Sequence[str],
) -> dict[int, str]:
    """Give the people of a document the profile's pseudonyms in order; who comes after the last one gets a surrogate. A second
    student gets one of the other people's. labels (Sequence[str]): Of the first people, those of the whole scope: theirs are the same
    in all of its documents. RETURNS (dict[int, str]): Person -> pseudonym.
    """
    roles = {i: label for i, label in enumerate(labels) if profile.action(label) == PSEUDONYM}
    for item, _, owner, _ in linked:
        if owner >= len(labels) and item.action == PSEUDONYM:
            roles[owner] = (
                NAME_STUDENT if NAME_STUDENT in (item.label, roles.get(owner)) else item.label
            )
    used: set[str] = set()
    originals = {word for person in people for word in person.words}
    found = {}
    # A secret order, for that of the alphabet would tell something; then those of this document alone.
    ranks = {
        i: chance.order(" ".join(people[i].words)) if i < len(labels) else b"\xff" * 33
        for i in roles
    }
    for owner, label in sorted(roles.items(), key=lambda pair: (ranks[pair[0]], pair[0])):
        options = pseudonym_list(label, profile)
        if label == NAME_STUDENT and options:
            options = [*options, *pseudonym_list("NAME_CONNECTED", profile)]
        # No pseudonym may hold a part of somebody's own name.
        free = [
            o for o in options if o not in used and originals.isdisjoint(norm(w) for w in o.split())
        ]
        if free:
            found[owner] = free[0]
            used.add(free[0])
    return found


def fixed_value(
    label: str,
    old: str,
    named: Sequence[Named],
    chance: Chance,
    *,
    fixed: dict[int, str],
    profile: Profile,
    numbers: dict[str, dict[str, int]],
) -> str:
    """A detail's pseudonym; a keyed token where the profile has none, or has used them up. numbers: Values so far, by kind."""
    key = label
    if label == LOCATION and "county" in old.lower() and "COUNTY" in profile.pseudonyms:
        key = "COUNTY"
    elif label == URL_PERSONAL and "linkedin." in old.lower() and "LINKEDIN" in profile.pseudonyms:
        key = "LINKEDIN"
    seen = numbers.setdefault(key, {})
    number = seen.setdefault(canonical(old), len(seen) + 1)
    value = profile.pseudonyms.get(key)
    if value is None or (isinstance(value, list) and number > len(value)):
        return profiles.pseudonym(label, chance.token(label, canonical(old)))
    if isinstance(value, list):
        return value[number - 1]
    if label == EMAIL and "@" in value and (owner := owner_of(old, named)) in fixed:
        # "samdoe@uni.edu" is the writer's; the others get addresses of the same form.
        return letters(fixed[owner]) + "@" + value.partition("@")[2]
    return value
