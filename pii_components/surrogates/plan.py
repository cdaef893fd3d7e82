"""What becomes of each span of a document: the profile's actions carried out.

    replacements = plan(text, items, profile=Profile.load("crapii"), chance=SurrogateKey(key, scope))
    new, offsets = apply_replacements(text, replacements)

A document is decided as a whole, so that its people are known before their e-mail addresses are made, and no two values get one
surrogate. A value without a surrogate gets its tag; nothing is ever left as it was because something did not work.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

from spacy.lang.en.stop_words import STOP_WORDS

from .. import labels, profiles
from ..labels import (
    AGE,
    AGREEMENT,
    DATE,
    EMAIL,
    HEADER,
    LOCATION,
    NAME_STUDENT,
    OTHER,
    URL_PERSONAL,
    is_name,
)
from ..names.letters import has_sign, like, norm
from ..names.link import Among, Person, fits, places_of
from ..names.parse import FAMILY, GIVEN, Mention
from ..names.people import People, identify, singular
from ..names.table import name_table
from ..offsets import Replacement
from ..profiles import GENERIC, NEAR, PSEUDONYM, REMOVE, SURROGATE, Profile
from .dates import (
    choose_age_shift,
    choose_date_shift,
    surrogate_age,
    surrogate_date,
    torn_dates,
    weekday_beside,
)
from .handles import (
    handle_of,
    owner_of,
    surrogate_email,
    surrogate_handle,
    surrogate_url,
    surrogate_username,
)
from .headers import HEADER_REMOVED, NEVER, find_headers
from .keys import SurrogateKey
from .numbers import id_key, phone_key, surrogate_id_num, surrogate_machine, surrogate_phone
from .person_names import Forbidden, Namer, letters, name_people, render
from .places import (
    KEPT,
    is_people,
    surrogate_address,
    surrogate_education,
    surrogate_employer,
    surrogate_location,
)
from .style import in_case, randomize_same_shape, words
from .values import Context, Generator, Item, canonical, distinct, own_generator

NO_SURROGATE = "no surrogate"
_POSSESSIVE = re.compile(r"['’][sS]\Z")
_NAMED = re.compile(r"[^\W\d_]{3}|[A-Z]\.?[A-Z]")
_KIN = re.compile(r"\b([^\W\d_]+),?\s+\Z")
_OPENS, _CLOSES = re.compile(r"(?<!\w)['‘](?=\w)"), re.compile(r"(?<=\w)['’](?!\w)")
_PRONOUN = re.compile(r"\b(?:s?he|her|hers|herself|him|his|himself)\b", re.IGNORECASE)
_SENTENCE = re.compile(r"[.!?;]\s|\n")
_ARTICLE = re.compile(r"(?<![\w'’.-])(an?|A[Nn]?)\s\Z")
# What is done with names that get another one; with what nobody reads any more; and what needs no key.
_ANEW = frozenset({SURROGATE, PSEUDONYM})
_UNREAD = frozenset({profiles.MASK, profiles.LEGACY_SHA256, REMOVE})
_WITHOUT_KEY: dict[str, Callable[[str], str]] = {
    profiles.LEGACY_SHA256: profiles.legacy_sha256,
    profiles.REDACT: lambda old: profiles.redact(),
    profiles.MASK: profiles.mask,
    REMOVE: lambda old: "",
}


GENERATORS: dict[str, Generator] = {
    EMAIL: surrogate_email,
    labels.USERNAME: surrogate_username,
    URL_PERSONAL: surrogate_url,
    labels.PHONE_NUM: surrogate_phone,
    labels.ID_NUM: surrogate_id_num,
    labels.STREET_ADDRESS: surrogate_address,
    labels.IP_ADDRESS: surrogate_machine,
    AGE: surrogate_age,
    DATE: surrogate_date,
    LOCATION: surrogate_location,
    labels.EDUCATION: surrogate_education,
    labels.EMPLOYER: surrogate_employer,
    # What the user's map in the profile says for a value, if anything (CRAPII, section 2.3.1).
    OTHER: lambda value, context, attempt: context.other.get(canonical(value)),
}
# What stands for a value that no generator can read, in no form of its own. n: A number that the value decides.
SPARE: dict[str, Callable[[int], str]] = {
    EMAIL: lambda n: f"someone{n % 97}@school.edu",
    labels.USERNAME: lambda n: f"someone{n % 97}",
    URL_PERSONAL: lambda n: f"https://someone{n % 97}.com/",
    labels.PHONE_NUM: lambda n: f"312-867-{1000 + n % 8999}",
    labels.ID_NUM: lambda n: str(10**6 + n % 10**6),
    labels.STREET_ADDRESS: lambda n: f"{1 + n % 97} Oak Road",
    labels.IP_ADDRESS: lambda n: "192.0.2.1",
    AGE: lambda n: str(16 + n % 20),
    DATE: lambda n: f"May {1 + n % 28}, {2006 + n % 12}",
    LOCATION: lambda n: "Ashby",
    labels.EDUCATION: lambda n: "Ashby School",
    labels.EMPLOYER: lambda n: "Ashby Company",
}
# What makes two values of a label one and the same; letters and digits, where nothing else is said.
KEYS = {labels.PHONE_NUM: phone_key, labels.ID_NUM: id_key}
# These move together by one shift, which keeps distinct values distinct and in order. A user's map may
# give two values one replacement.
TOGETHER = (AGE, DATE, OTHER)


@dataclass(frozen=True)
class ScopePeople:
    """Who is known of the scope that a document belongs to, a thread. people (tuple[Person, ...]), labels (tuple[str, ...]): Those that are hidden
    somewhere, and the label of each one's names. words (frozenset[str]): Folded, of all names, which no surrogate may be. namers: Of these
    people, by key."""

    people: tuple[Person, ...] = ()
    labels: tuple[str, ...] = ()
    words: frozenset[str] = frozenset()
    namers: dict[SurrogateKey, Namer] = field(default_factory=dict, compare=False, repr=False)

    @cached_property
    def among(self) -> Among:
        return Among(self.people)

    def namer(self, chance: SurrogateKey) -> Namer:
        """RETURNS (Namer): The one that names these people in all documents of the scope."""
        return self.namers.setdefault(chance, Namer(chance, name_table()))


EMPTY = ScopePeople()


class Linked(NamedTuple):
    """A name that gets another one, the person it belongs to (-1 for nobody), and which word of the person each of its words is."""

    item: Item
    mention: Mention
    owner: int
    places: tuple[int, ...]


def _as_shown(text: str, people: Sequence[Person], linked: Sequence[Linked]) -> Iterator[Person]:
    """YIELDS (Person): With the gender that a word for kin before the name or a pronoun behind it shows; who is called "my son Owen"
    has a given name."""
    votes, kin = Counter[tuple[int, str]](), set()
    for n, (item, _, owner, _) in enumerate(linked):
        before = _KIN.search(text, max(0, item.start - 24), item.start)
        word = before[1].lower() if before else ""
        for gender in "FM":
            if word in words(f"kin_{gender}"):
                kin.add(owner)
                # It outweighs a pronoun, which may be somebody else's.
                votes[owner, gender] += 3
        after = linked[n + 1].item.start if n + 1 < len(linked) else len(text)
        behind = text[item.end : min(after, item.end + 160)]
        for pronoun in _PRONOUN.findall(_SENTENCE.split(behind)[0]):
            votes[owner, "F" if pronoun.lower().startswith(("she", "her")) else "M"] += 1
    for i, person in enumerate(people):
        given, lead = person.first(GIVEN), votes[i, "F"] - votes[i, "M"]
        # Where the name says another gender, one pronoun is not enough.
        known = given is not None and name_table().gender(person.words[given])
        if not person.gender and abs(lead) > bool(known):
            person = person._replace(gender="F" if lead > 0 else "M")
        lone = len(person.words) == 1 and i in kin
        yield person._replace(kinds=(GIVEN,)) if lone else person


def _renamed(
    text: str, items: Sequence[Item], people: People, everyone: ScopePeople, *, local: bool
) -> tuple[list[Person], list[Linked]]:
    """The people whose names get another one, those of the scope first, and those names."""
    anew = {item[:2]: item for item in items if item.action in _ANEW and is_name(item.label)}
    those = people.among(anew)
    names = zip(those.spans, those.mentions, those.owners, those.places, strict=True)
    linked = [Linked(anew[span[:2]], m, o, p) for span, m, o, p in names]
    if everyone.people:
        known = {word for person in everyone.people for word in person.words}
        linked = [
            name._replace(mention=singular(name.mention, text[max(0, at - 4) : at], known))
            for name in linked
            for at in (name.item.start,)
        ]
        return _among(those.persons, linked, everyone)
    shown = _as_shown(text, those.persons, linked) if local else those.persons
    return list(shown), linked


def _among(
    people: Sequence[Person], linked: Sequence[Linked], everyone: ScopePeople
) -> tuple[list[Person], list[Linked]]:
    """The people of the scope, then those of the document who are none of them or nobody knows which; and the names linked to these. Whom the
    document keeps apart, the scope does."""
    known, owners = list(everyone.people), dict[int, int]()
    taken: dict[int, list[Person]] = {}
    for i in sorted(range(len(people)), key=lambda i: (-len(people[i].words), i)):
        who = fits(people[i], everyone.among)
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
    chance: SurrogateKey,
    known: Container[str] = (),
    reserved: bool | None = None,
    local: bool = True,
    pools: Mapping[str, Sequence[str]] | None = None,
    everyone: ScopePeople = EMPTY,
    people: People | None = None,
    lines: Sequence[tuple[int, int, bool | None]] = (),
) -> list[Replacement]:
    """Decide what stands in the place of each span.

    items (Sequence[Item]): Spans without overlaps, sorted; those to be kept too, since no surrogate may be a cited author.
    known (Container[str]): Folded words of names elsewhere in the corpus that no surrogate may be.
    reserved (bool | None): Whether values must be such that nobody can own them; None for what the profile says.
    local (bool): Whether surrogates hold for this document only, so that they may depend on all of its words.
    pools (Mapping[str, Sequence[str]] | None): Label -> values of the corpus, for profiles that draw from it.
    everyone (ScopePeople): Who else is in a wider scope.
    people (People | None): Who is named in the items, if that is at hand.
    lines (Sequence[tuple[int, int, bool | None]]): Which lines are headers, or none: `decided` of `find_headers`.
    RETURNS (list[Replacement]): One for each item that is not kept, and for each header that is removed, with the items in it.
    """
    if people is None:
        people = identify(text, [(*item[:3], None) for item in items])
    avoid = Forbidden(people.words(), known, everyone.words, text=text if local else "")
    persons, linked = _renamed(text, items, people, everyone, local=local)
    fixed = fixed_names(persons, linked, profile, chance, everyone.labels, avoid)
    # Those with a pseudonym, an English name, have their family name last, unless it stands before a comma.
    for i in fixed.keys() - {name.owner for name in linked if name.mention.form.comma}:
        kinds = sorted(persons[i].kinds, key=FAMILY.__eq__)
        persons[i] = persons[i]._replace(kinds=tuple(kinds))
    is_near = profile.length == NEAR
    named = name_people(
        persons,
        chance,
        table=name_table(),
        forbidden=avoid,
        fixed=fixed,
        near=is_near,
        first=len(everyone.people),
        namer=everyone.namer(chance) if everyone.people else None,
    )
    values = _values(text, items)
    ages = choose_age_shift(
        values[AGE], chance, spread=profile.age_spread, border=profile.age_border, local=local
    )
    weeks = _has_weekdays(text, items)
    dates = choose_date_shift(values[DATE], chance, weeks=weeks, local=local, locale=profile.locale)
    context = Context(
        chance,
        name_table(),
        people=named,
        reserved=profile.reserved if reserved is None else reserved,
        locale=profile.locale,
        ages=ages,
        dates=dates,
        avoid=avoid,
        pools=pools or {},
        near=is_near,
        other={canonical(k): v for k, v in profile.other.items()},
    )
    made = _details(values, context)
    whole = _pieces(text, items, made, context)
    by_start = {name.item.start: name for name in linked}
    numbers: dict[str, dict[str, int]] = {}
    # Where a place, a school or a firm begins, and where another one before it ends.
    places = {b.start: a.end for a, b in pairwise(items) if {a.label, b.label} <= {*KEPT}}
    found = []
    for item in items:
        if item.action == profiles.KEEP:
            continue
        old, name, note = text[item.start : item.end], by_start.get(item.start), ""
        if item.start in whole:
            new = whole[item.start]
        elif name is not None:
            new, note = _name(name, context, profile=profile, fixed=fixed)
        elif item.action == SURROGATE:
            new = made.get((item.label, old))
        elif item.action == PSEUDONYM:
            place = made.get((LOCATION, old)) if item.label == LOCATION else None
            about: dict[str, Any] = {"fixed": fixed, "profile": profile, "numbers": numbers}
            new = fixed_value(item, text, context, made=place, **about)
        else:
            joined = text[places.get(item.start, item.start) : item.start] == " "
            new = _without_key(item, text, profile, joined)
        found.append(_replacement(item, old, new, note))
    found = [*_agreeing(text, found)]
    return _without_headers(text, items, found, lines, learned=profile.header == REMOVE)


def _has_weekdays(text: str, items: Sequence[Item]) -> bool:
    """Whether a weekday stands beside a date that moves; it stays right where dates move by weeks."""
    moved = [item for item in items if (item.label, item.action) == (DATE, SURROGATE)]
    return any(weekday_beside(text, date.start, date.end) for date in moved)


def _values(text: str, items: Sequence[Item]) -> dict[str, set[str]]:
    """Label -> values that get a surrogate of their own; names are none of them."""
    values = defaultdict[str, set[str]](set)
    for item in items:
        drawn = _ANEW if item.label == LOCATION else (SURROGATE,)
        if item.action in drawn and (item.label in GENERATORS or own_generator(item.label)):
            values[item.label].add(text[item.start : item.end])
    return values


def _without_key(item: Item, text: str, profile: Profile, joined: bool) -> str | None:
    old = text[item.start : item.end]
    # A number, a grade or a language is no firm, whoever found one.
    is_named = _NAMED.search(old) is not None and not is_people(old)
    if item.action == GENERIC and item.label in profile.generic and is_named:
        nouns, before = profile.generic[item.label], text[: item.start]
        return profiles.generic(nouns, before=before, original=old, joined=joined)
    return _WITHOUT_KEY[item.action](old) if item.action in _WITHOUT_KEY else None


def _replacement(item: Item, old: str, new: str | None, note: str) -> Replacement:
    """A tag stands where there is nothing new; a generic noun may be what stood there."""
    if new is None or (new.casefold() == old.casefold() and item.action != GENERIC):
        new = profiles.tag(item.label)
        note = NO_SURROGATE if item.action in (SURROGATE, PSEUDONYM, GENERIC) else note
    own = _POSSESSIVE.search(old) if item.label in KEPT or is_name(item.label) else None
    if own and new and item.action not in _UNREAD and not _POSSESSIVE.search(new):
        new += own.group()
    return Replacement(item.start, item.end, new, item.label, item.action, note)


def _pieces(
    text: str,
    items: Sequence[Item],
    made: Mapping[tuple[str, str], str | None],
    context: Context,
) -> dict[int, str | None]:
    """Start -> new text of what becomes what it is a part of, or becomes elsewhere: pieces of dates, also short numbers with another
    label; a handle that was found as a name too."""
    spans = list[tuple[int, int]]()
    found: dict[int, str | None] = {}
    for start, end, label, action in items:
        handle = made.get((labels.USERNAME, text[start:end]))
        if label == DATE or (label in KEYS and end - start < 5):
            spans += [(start, end)] if action in _ANEW and not own_generator(label) else []
        elif handle and action == SURROGATE and is_name(label):
            found[start] = handle
    return found | torn_dates(text, spans, context)


def _agreeing(text: str, found: Sequence[Replacement]) -> Iterator[Replacement]:
    """YIELDS (Replacement): All of them, and between them what agrees with them: "a" or "an", "James' hat" as "Neil's hat"; a tag does
    not stick to what stands beside it."""
    last = 0
    for n, rep in enumerate(found):
        start, end, new = rep[:3]
        behind = text[end : found[n + 1].start if n + 1 < len(found) else None][:1]
        is_tag = new.startswith("[") and new.endswith("]")
        beside = ""
        if rep.action not in _UNREAD:
            article = _ARTICLE.search(text, max(last, start - 4), start)
            if article and (word := _article(text, article, text[start:end], new, rep.label)):
                yield _beside(*article.span(1), word)
            if is_tag and start > last and text[start - 1] == "_":
                yield _beside(start - 1, start, " ")
            if is_tag and behind == "_":
                beside = " "
            elif behind and _is_possessive(text, start, end) and new[-1:] not in "sxzSXZ":
                beside = behind + "s"
            if is_tag and behind.isalnum():
                rep = rep._replace(new=new + " ")
        yield rep
        last = end
        if beside:
            yield _beside(end, end + 1, beside)
            last = end + 1


def _beside(start: int, end: int, new: str) -> Replacement:
    return Replacement(start, end, new, AGREEMENT, SURROGATE, "")


def _article(text: str, article: re.Match[str], old: str, new: str, label: str) -> str:
    """The other article, where the old one agreed with the original and does not with what stands there now; else empty."""
    word = article[1]
    is_start = word[0].islower() or profiles.is_sentence_start(text[: article.start()])
    line = text[text.rfind("\n", 0, article.start()) + 1 :][:200].partition("\n")[0]
    if not is_start or (is_name(label) and STOP_WORDS.isdisjoint(re.findall(r"[a-z]{3,}", line))):
        return ""
    if profiles.takes_an(old) != (len(word) > 1) or profiles.takes_an(new) == (len(word) > 1):
        return ""
    return in_case(word, "a" if len(word) > 1 else "an")


def _is_possessive(text: str, start: int, end: int) -> bool:
    """Whether an apostrophe behind a name that ends in s is a possessive, "James' hat", and closes no quotation."""
    if text[end - 1] not in "sxzSXZ" or not re.match(r"['’]\s+[^\W\d_]", text[end : end + 8]):
        return False
    line = text[text.rfind("\n", 0, start) + 1 : end]
    return len(_OPENS.findall(line)) <= len(_CLOSES.findall(line))


def _without_headers(
    text: str,
    items: Sequence[Item],
    found: list[Replacement],
    lines: Sequence[tuple[int, int, bool | None]],
    *,
    learned: bool,
) -> list[Replacement]:
    """With headers removed, each as one replacement in the place of those inside it."""
    if not learned and not any(goes for *_, goes in lines):
        return found
    headers = find_headers(text, items, None if learned else NEVER, lines)
    rest = [rep for rep in found if not any(start <= rep.start < end for start, end in headers)]
    gone = [Replacement(start, end, "", HEADER, REMOVE, HEADER_REMOVED) for start, end in headers]
    return sorted([*gone, *rest], key=lambda rep: (rep.start, rep.end))


def _details(
    values: Mapping[str, Collection[str]], context: Context
) -> dict[tuple[str, str], str | None]:
    """(label, value) -> surrogate, for everything but names; no value gets that of another one, nor one that is an original."""
    found: dict[tuple[str, str], str | None] = {}
    addresses = [*values.get(EMAIL, ()), *values.get(labels.USERNAME, ())]
    handles = set(filter(has_sign, map(handle_of, addresses)))
    taken = {canonical(value) for value in handles.union(*values.values())}
    context = replace(
        context, handles=distinct(handles, surrogate_handle, context, forbidden=taken)
    )
    for label in sorted(values):
        own = own_generator(label)
        generator = own or GENERATORS[label]
        if label in TOGETHER:
            made = {value: generator(value, context, 0) for value in values[label]}
        else:
            key = KEYS.get(label, canonical)
            made = distinct(values[label], generator, context, forbidden=taken, key=key)
        for value, new in made.items():
            is_same = new is None or new.casefold() == value.casefold()
            if is_same and label in SPARE and not own:
                n = int.from_bytes(context.chance.order(value)[:4])
                new = generator(SPARE[label](n), context, 0)
            found[label, value] = new
    return found


def _name(
    linked: Linked, context: Context, *, profile: Profile, fixed: Mapping[int, str]
) -> tuple[str | None, str]:
    """A name's new form, and a note."""
    item, mention, owner, places = linked
    chance = context.chance
    if owner < 0:
        # No letter of a name: a number maybe.
        return randomize_same_shape(mention.text, chance.rng("NAME/numbers", mention.text)), ""
    named = context.people[owner]
    if item.action == PSEUDONYM and owner not in fixed and not pseudonym_list(item.label, profile):
        token = chance.token("NAME", " ".join(named.person.words))
        return profiles.pseudonym(item.label, token), ""
    return render(mention, named, chance, places, avoid=context.avoid), named.note


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
    chance: SurrogateKey,
    labels: Sequence[str],
    avoid: Container[str] = (),
) -> dict[int, str]:
    """Give the people of a document the profile's pseudonyms in order; who comes after the last one gets a surrogate. A second
    student gets one of the other people's. labels (Sequence[str]): Of the first people, those of the whole scope: theirs are the same
    in all of its documents. avoid (Container[str]): Folded words of names of the run: no pseudonym is made of them alone.
    RETURNS (dict[int, str]): Person -> pseudonym.
    """
    roles = {i: label for i, label in enumerate(labels) if profile.action(label) == PSEUDONYM}
    for item, _, owner, _ in linked:
        if owner >= len(labels) and item.action == PSEUDONYM:
            is_student = NAME_STUDENT in (item.label, roles.get(owner))
            roles[owner] = NAME_STUDENT if is_student else item.label
    originals = {word for person in people for word in person.words}
    # No pseudonym may hold a part of somebody's own name.
    options = {
        label: [
            option
            for option in _pseudonyms(label, profile, avoid)
            if originals.isdisjoint(map(norm, option.split()))
        ]
        for label in set(roles.values())
    }
    found: dict[int, str] = {}
    # A secret order, for that of the alphabet would tell something; then those of this document alone.
    ranks = {i: chance.order(" ".join(people[i].words)) for i in roles if i < len(labels)}
    for owner in sorted(roles, key=lambda i: (i >= len(labels), ranks.get(i, b""), i)):
        left = [option for option in options[roles[owner]] if option not in found.values()]
        if left:
            found[owner] = left[0]
    return found


def _pseudonyms(label: str, profile: Profile, avoid: Container[str]) -> list[str]:
    """Those of a label that are not made of words to avoid alone."""
    listed = pseudonym_list(label, profile)
    if label == NAME_STUDENT and listed:
        listed += pseudonym_list("NAME_CONNECTED", profile)
    return [one for one in listed if not all(norm(word) in avoid for word in one.split())]


def fixed_value(
    item: Item,
    text: str,
    context: Context,
    *,
    fixed: Mapping[int, str],
    profile: Profile,
    numbers: dict[str, dict[str, int]],
    made: str | None,
) -> str:
    """A detail's pseudonym; where the profile has none, or has used them up, its surrogate if it is a place, else a keyed token.
    numbers: Values so far, by kind. made (str | None): The surrogate of a place."""
    label, old = item.label, text[item.start : item.end]
    # "My Hungarian friend": no town stands there.
    if made and is_people(old):
        return made
    # The profile may tell counties from places, and LinkedIn from pages.
    kinds = {LOCATION: ("county", "COUNTY"), URL_PERSONAL: ("linkedin.", "LINKEDIN")}
    sign, key = kinds.get(label, ("", label))
    key = key if sign in old.lower() and key in profile.pseudonyms else label
    seen = numbers.setdefault(key, {})
    number = seen.setdefault(canonical(old), len(seen))
    value = profile.pseudonyms.get(key, [])
    if isinstance(value, list):
        if number >= len(value):
            return made or profiles.pseudonym(label, context.chance.token(label, canonical(old)))
        loud = old.isupper() or text[text.rfind("\n", 0, item.start) + 1 : item.end].islower()
        return like(old, value[number]) if loud else value[number]
    local, at, domain = value.partition("@")
    if label != EMAIL or not at:
        return value
    # "samdoe@uni.edu" is the writer's; the others get addresses of the same form.
    owner = owner_of(old, context.people)
    local = letters(fixed[owner]) if owner in fixed else local
    # Where half of an address is marked, half of one stands there.
    if old.startswith("@") and len(old) > 1:
        return at + domain
    return (
        local if "@" not in old and re.match(r"\s?@", text[item.end :][:2]) else local + at + domain
    )
