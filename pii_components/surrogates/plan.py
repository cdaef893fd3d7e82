"""What becomes of each span of a document: the profile's actions carried out.

    replacements = plan(text, items, profile=Profile.load("crapii"), chance=SurrogateKey(key, scope))
    new, offsets = apply_replacements(text, replacements)

A document is decided as a whole, so that its people are known before their e-mail addresses are made, and no two values get one
surrogate. A value without a surrogate gets its tag; nothing is ever left as it was because something did not work.
"""

import re
from collections.abc import Callable, Collection, Container, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from spacy.lang.en.stop_words import STOP_WORDS

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
from ..names.letters import has_sign, like, norm
from ..names.link import Person, fits, places_of
from ..names.parse import FAMILY, GIVEN, Mention
from ..names.people import People, identify
from ..names.table import name_table
from ..offsets import Replacement
from ..profiles import GENERIC, NEAR, PSEUDONYM, REMOVE, SURROGATE, Profile
from .dates import (
    choose_age_shift,
    choose_date_shift,
    is_date,
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
from .headers import HEADER_REMOVED, find_headers
from .keys import SurrogateKey
from .numbers import id_key, phone_key, surrogate_id_num, surrogate_machine, surrogate_phone
from .person_names import Forbidden, Named, letters, name_people, render
from .places import surrogate_address, surrogate_education, surrogate_employer, surrogate_location
from .style import in_case, randomize_same_shape, words
from .values import Context, Generator, Item, canonical, distinct

__all__ = ["EMPTY", "NO_SURROGATE", "ScopePeople", "Item", "plan"]

NO_SURROGATE = "no surrogate"
# What a word beside a surrogate is called that was made to agree with it: "an" before a vowel, the s of a possessive.
AGREEMENT = "AGREEMENT"
_KIN = re.compile(r"\b([^\W\d_]+),?\s+\Z")
_OPENS, _CLOSES = re.compile(r"(?<!\w)['‘](?=\w)"), re.compile(r"(?<=\w)['’](?!\w)")
_AT_BEHIND = re.compile(r"\s?@")
_PRONOUN = re.compile(r"\b(?:s?he|her|hers|herself|him|his|himself)\b", re.IGNORECASE)
_SENTENCE = re.compile(r"[.!?;]\s|\n")
_ARTICLE = re.compile(r"(?<![\w'’.-])(an?|A[Nn]?)\s\Z")
_WORDS = re.compile(r"[a-z]{3,}")
# Sounds that letters do not tell: "a European", "an hour", "an FBI agent", "an 18-year-old".
_CONSONANT = re.compile(r"eu|ew|uni(?!n|m)|us[aei]|uk|ut[aeio]|one\b|once", re.IGNORECASE)
_VOWEL = re.compile(r"[aeiou]|hour|honou?r|honest|heir|8|1[18](?!\d)", re.IGNORECASE)
_SPELT = re.compile(r"[AEFHILMNORSX](?=[A-Z]+\b)(?![A-Z]*[AEIOU])")
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
    labels.IP_ADDRESS: surrogate_machine,
    AGE: surrogate_age,
    DATE: surrogate_date,
    LOCATION: surrogate_location,
    labels.EDUCATION: surrogate_education,
    labels.EMPLOYER: surrogate_employer,
    OTHER: surrogate_other,
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


class ScopePeople(NamedTuple):
    """Who is known of the scope that a document belongs to, a thread. people (tuple[Person, ...]), labels (tuple[str, ...]): Those that are hidden
    somewhere, and the label of each one's names. words (frozenset[str]): Folded, of all names, which no surrogate may be."""

    people: tuple[Person, ...] = ()
    labels: tuple[str, ...] = ()
    words: frozenset[str] = frozenset()


EMPTY = ScopePeople()


class Linked(NamedTuple):
    """A name that gets another one, the person it belongs to (-1 for nobody), and which word of the person each of its words is."""

    item: Item
    mention: Mention
    owner: int
    places: tuple[int, ...]


def renamed(people: People, items: Sequence[Item]) -> tuple[list[Person], list[Linked]]:
    """The people of a document whose names get another one, in order of first mention, and those names."""
    anew = {i[:2]: i for i in items if i.action in _ANEW and is_name(i.label)}
    those = people.among(anew)
    names = zip(those.spans, those.mentions, those.owners, those.places, strict=True)
    return those.persons, [Linked(anew[span[:2]], m, o, p) for span, m, o, p in names]


def _as_shown(text: str, people: Sequence[Person], linked: Sequence[Linked]) -> Iterator[Person]:
    """YIELDS (Person): With the gender that a word for kin before the name or a pronoun behind it shows; who is called "my son Owen"
    has a given name."""
    shown: dict[int, list[str]] = {}
    kin = set()
    for n, name in enumerate(linked):
        start, end, *_ = name.item
        found = shown.setdefault(name.owner, [])
        before = _KIN.search(text, max(0, start - 24), start)
        for gender in "FM" if before else "":
            word = before[1].lower()  # type: ignore[index]
            is_kin = word in words(f"kin_{gender}")
            if is_kin or word in words(f"titles_{gender}"):
                # It outweighs a pronoun, which may be somebody else's.
                found += [gender] * 3
                kin |= {name.owner} if is_kin else set()
        behind = text[end : linked[n + 1].item.start if n + 1 < len(linked) else end + 160]
        for word in _PRONOUN.findall(_SENTENCE.split(behind[:160])[0]):
            found.append("F" if word.lower() in ("she", "her", "hers", "herself") else "M")
    for i, person in enumerate(people):
        genders, given = shown.get(i, []), person.first(GIVEN)
        lead = genders.count("F") - genders.count("M")
        # Where the name says another gender, one pronoun is not enough.
        known = given is not None and name_table().gender(person.words[given])
        if not person.gender and abs(lead) > bool(known):
            person = person._replace(gender="F" if lead > 0 else "M")
        lone = len(person.words) == 1 and i in kin
        yield person._replace(kinds=(GIVEN,)) if lone else person


def _among(
    people: Sequence[Person], linked: Sequence[Linked], everyone: ScopePeople
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
    chance: SurrogateKey,
    known: Container[str] = (),
    reserved: bool | None = None,
    local: bool = True,
    pools: Mapping[str, Sequence[str]] | None = None,
    everyone: ScopePeople = EMPTY,
    people: People | None = None,
) -> list[Replacement]:
    """Decide what stands in the place of each span.

    items (Sequence[Item]): Spans without overlaps, sorted; those to be kept too, since no surrogate may be a cited author.
    known (Container[str]): Folded words of names elsewhere in the corpus that no surrogate may be.
    reserved (bool | None): Whether values must be such that nobody can own them; None for what the profile says.
    local (bool): Whether surrogates hold for this document only, so that they may depend on all of its words.
    pools (Mapping[str, Sequence[str]] | None): Label -> values of the corpus, for profiles that draw from it.
    everyone (ScopePeople): Who else is in a wider scope.
    people (People | None): Who is named in the items, if that is at hand.
    RETURNS (list[Replacement]): One for each item that is not kept, and for each header that is removed, with the items in it.
    """
    if people is None:
        people = identify(text, [(i.start, i.end, i.label, i.person) for i in items])
    avoid = Forbidden(people.words(), known, everyone.words, text=text if local else "")
    persons, linked = renamed(people, items)
    if everyone.people:
        persons, linked = _among(persons, linked, everyone)
    elif local:
        persons = [*_as_shown(text, persons, linked)]
    fixed = fixed_names(persons, linked, profile, chance, everyone.labels, avoid)
    persons = _given_first(persons, linked, fixed)
    is_near = profile.length == NEAR
    named = name_people(
        persons,
        chance,
        table=name_table(),
        forbidden=avoid,
        fixed=fixed,
        near=is_near,
        first=len(everyone.people),
    )
    values = _values(text, items)
    context = Context(
        chance,
        name_table(),
        people=named,
        reserved=profile.reserved if reserved is None else reserved,
        locale=profile.locale,
        ages=choose_age_shift(
            values[AGE], chance, spread=profile.age_spread, border=profile.age_border, local=local
        ),
        dates=choose_date_shift(
            values[DATE],
            chance,
            weeks=_stand_by_weekdays(text, items),
            local=local,
            locale=profile.locale,
        ),
        avoid=avoid,
        pools=pools or {} if profile.pool == "corpus" else {},
        near=is_near,
        other={canonical(k): v for k, v in profile.other.items()},
    )
    made = _details(values, context)
    whole = _pieces(text, items, made, context)
    by_start = {name.item.start: name for name in linked}
    numbers: dict[str, dict[str, int]] = {}
    found = []
    for item in items:
        old, note = text[item.start : item.end], ""
        if item.action == profiles.KEEP:
            continue
        if item.start in whole:
            became = whole[item.start]
        elif item.start in by_start:
            became, note = _name(by_start[item.start], named, context, profile=profile, fixed=fixed)
        elif item.action == SURROGATE:
            became = made.get((item.label, old))
        elif item.action == PSEUDONYM:
            became = fixed_value(
                item, text, named, chance, fixed=fixed, profile=profile, numbers=numbers
            )
        else:
            became = _without_key(item, text, profile)
        found.append(_replacement(item, old, became, note))
    found = [*_agreeing(text, found)]
    return _without_headers(text, items, found) if profile.header == REMOVE else found


def _values(text: str, items: Sequence[Item]) -> dict[str, set[str]]:
    """Label -> values that get a surrogate of their own; names are none of them."""
    values: dict[str, set[str]] = {AGE: set(), DATE: set()}
    for item in items:
        if item.action == SURROGATE and item.label in GENERATORS:
            values.setdefault(item.label, set()).add(text[item.start : item.end])
    return values


def _stand_by_weekdays(text: str, items: Sequence[Item]) -> bool:
    """Whether a weekday stands beside a date that moves: then dates move by weeks."""
    dates = [i for i in items if i.action == SURROGATE and i.label == DATE]
    return any(weekday_beside(text, date.start, date.end) for date in dates)


def _replacement(item: Item, old: str, new: str | None, note: str) -> Replacement:
    """A tag stands where there is nothing new; a generic noun may be what stood there."""
    if new is None or (new.casefold() == old.casefold() and item.action != GENERIC):
        note = NO_SURROGATE if item.action in (SURROGATE, PSEUDONYM, GENERIC) else note
        new = profiles.tag(item.label)
    return Replacement(item.start, item.end, new, item.label, item.action, note)


def _given_first(
    people: Sequence[Person], linked: Sequence[Linked], fixed: Mapping[int, str]
) -> list[Person]:
    """Those with a pseudonym, an English name, with their family name last, unless it stands before a comma."""
    commas = {name.owner for name in linked if name.mention.form.comma}
    found = list(people)
    for i in fixed.keys() - commas:
        kinds = sorted(people[i].kinds, key=FAMILY.__eq__)
        found[i] = people[i]._replace(kinds=tuple(kinds))
    return found


def _pieces(
    text: str,
    items: Sequence[Item],
    made: Mapping[tuple[str, str], str | None],
    context: Context,
) -> dict[int, str | None]:
    """Start -> new text of what becomes what it is a part of, or becomes elsewhere: pieces of dates, also short numbers with another
    label; a handle that was found as a name too."""
    numbers, spans = (labels.ID_NUM, labels.PHONE_NUM), list[tuple[int, int]]()
    found: dict[int, str | None] = {}
    for start, end, label, action, _ in items:
        handle = made.get((labels.USERNAME, text[start:end]))
        if action in _ANEW and (label == DATE or (label in numbers and end - start < 5)):
            spans.append((start, end))
        elif handle and action == SURROGATE and is_name(label):
            found[start] = handle
    assert context.dates is not None
    return found | torn_dates(text, spans, context.dates, context.chance)


def _agreeing(text: str, found: Sequence[Replacement]) -> Iterator[Replacement]:
    """YIELDS (Replacement): All of them, and between them what agrees with them: "a" or "an", "James' hat" as "Neil's hat"; a tag does
    not stick to what stands beside it."""
    last = 0
    for n, rep in enumerate(found):
        start, end, new = rep.start, rep.end, rep.new
        after = found[n + 1].start if n + 1 < len(found) else len(text)
        if rep.action not in (profiles.MASK, profiles.LEGACY_SHA256, REMOVE):
            article = _ARTICLE.search(text, max(last, start - 4), start)
            if article and (word := _article(text, article, text[start:end], new, rep.label)):
                yield _beside(*article.span(1), word)
            is_tag = new.startswith("[") and new.endswith("]")
            if is_tag and start > last and text[start - 1] == "_":
                yield _beside(start - 1, start, " ")
            yield rep._replace(new=new + " ") if is_tag and text[end:after][:1].isalnum() else rep
            last = end
            if is_tag and end < after and text[end] == "_":
                yield _beside(end, end + 1, " ")
                last = end + 1
            elif text[end:after] and _is_possessive(text, start, end) and new[-1:] not in "sxzSXZ":
                yield _beside(end, end + 1, text[end] + "s")
                last = end + 1
        else:
            yield rep
            last = end


def _beside(start: int, end: int, new: str) -> Replacement:
    return Replacement(start, end, new, AGREEMENT, SURROGATE, "")


def _article(text: str, article: re.Match[str], old: str, new: str, label: str) -> str:
    """The other article, where the old one agreed with the original and does not with what stands there now; else empty."""
    word = article[1]
    is_start = word[0].islower() or profiles.is_sentence_start(text[: article.start()])
    line = text[text.rfind("\n", 0, article.start()) + 1 :][:200].partition("\n")[0]
    if not is_start or (is_name(label) and STOP_WORDS.isdisjoint(_WORDS.findall(line))):
        return ""
    if _takes_an(old) != (len(word) > 1) or _takes_an(new) == (len(word) > 1):
        return ""
    return in_case(word, "a" if len(word) > 1 else "an")


def _takes_an(text: str) -> bool:
    text = text.lstrip("[\"'“‘(#@")
    return bool(_SPELT.match(text)) or (
        _VOWEL.match(text) is not None and _CONSONANT.match(text) is None
    )


def _is_possessive(text: str, start: int, end: int) -> bool:
    """Whether an apostrophe behind a name that ends in s is a possessive, "James' hat", and closes no quotation."""
    if text[end - 1] not in "sxzSXZ" or not re.match(r"['’]\s+[^\W\d_]", text[end : end + 8]):
        return False
    line = text[text.rfind("\n", 0, start) + 1 : end]
    return len(_OPENS.findall(line)) <= len(_CLOSES.findall(line))


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


def _details(
    values: Mapping[str, Collection[str]], context: Context
) -> dict[tuple[str, str], str | None]:
    """(label, value) -> surrogate, for everything but names; no value gets that of another one, nor one that is an original."""
    found: dict[tuple[str, str], str | None] = {}
    addresses = [*values.get(EMAIL, ()), *values.get(labels.USERNAME, ())]
    handles = {handle for value in addresses if has_sign(handle := handle_of(value))}
    taken = {canonical(value) for value in handles.union(*values.values())}
    context = replace(
        context, handles=distinct(handles, surrogate_handle, context, forbidden=taken)
    )
    for label in sorted(values):
        generator = GENERATORS[label]
        if label in TOGETHER:
            made = {value: generator(value, context, 0) for value in values[label]}
        else:
            made = distinct(
                values[label],
                _dated(generator) if label in KEYS else generator,
                context,
                forbidden=taken,
                key=KEYS.get(label, canonical),
            )
        for value, new in made.items():
            if label in SPARE and (new is None or new.casefold() == value.casefold()):
                n = int.from_bytes(context.chance.order(value)[:4])
                new = generator(SPARE[label](n), context, 0)
            found[label, value] = new
    return found


def _dated(generator: Generator) -> Generator:
    """The generator of a number, but that a date that is labelled as one moves as a date."""
    return lambda value, context, attempt: (
        surrogate_date(value, context)
        if not attempt and is_date(value)
        else generator(value, context, attempt)
    )


def _name(
    linked: Linked,
    named: Sequence[Named],
    context: Context,
    *,
    profile: Profile,
    fixed: dict[int, str],
) -> tuple[str | None, str]:
    """A name's new form, and a note."""
    item, mention, owner, places = linked
    chance = context.chance
    if owner < 0:
        # No letter of a name: a number maybe.
        return randomize_same_shape(mention.text, chance.rng("NAME/numbers", mention.text)), ""
    if item.action == PSEUDONYM and owner not in fixed and not pseudonym_list(item.label, profile):
        return profiles.pseudonym(
            item.label, chance.token("NAME", " ".join(named[owner].person.words))
        ), ""
    new = render(mention, named[owner], chance, places, avoid=context.avoid)
    return new, named[owner].note


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
            o
            for o in options
            if o not in used
            and originals.isdisjoint(norm(w) for w in o.split())
            and not all(norm(w) in avoid for w in o.split())
        ]
        if free:
            found[owner] = free[0]
            used.add(free[0])
    return found


def fixed_value(
    item: Item,
    text: str,
    named: Sequence[Named],
    chance: SurrogateKey,
    *,
    fixed: dict[int, str],
    profile: Profile,
    numbers: dict[str, dict[str, int]],
) -> str:
    """A detail's pseudonym; a keyed token where the profile has none, or has used them up. numbers: Values so far, by kind."""
    label, old = item.label, text[item.start : item.end]
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
        loud = old.isupper() or text[text.rfind("\n", 0, item.start) + 1 : item.end].islower()
        return like(old, value[number - 1]) if loud else value[number - 1]
    if label == EMAIL and "@" in value:
        local, _, domain = value.partition("@")
        if (owner := owner_of(old, named)) in fixed:
            # "samdoe@uni.edu" is the writer's; the others get addresses of the same form.
            local = letters(fixed[owner])
        # Where half of an address is marked, half of one stands there.
        if old.startswith("@") and len(old) > 1:
            return "@" + domain
        is_half = "@" not in old and _AT_BEHIND.match(text, item.end)
        return local if is_half else f"{local}@{domain}"
    return value
