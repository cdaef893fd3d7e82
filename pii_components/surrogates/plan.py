"""What becomes of each span of a document: the profile's actions carried out.

    replacements = plan(text, items, profile=Profile.load("crapii"), chance=Chance(key, scope))
    new, offsets = apply_replacements(text, replacements)

A document is decided as a whole, so that its people are known before their e-mail addresses are made, and no two values get one
surrogate. A value without a surrogate gets its tag; nothing is ever left as it was because something did not work.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from .. import modes
from ..alignment import Replacement
from ..labels import EMAIL, ID_NUM, LOCATION, NAME_STUDENT, PHONE_NUM, STREET_ADDRESS, URL_PERSONAL, USERNAME, is_name
from ..profiles import GENERIC, KEEP, MASK, PSEUDONYM, REDACT, REMOVE, SURROGATE, Profile
from .address import surrogate_address
from .email import surrogate_email
from .generate import Context, Generator, canonical, distinct
from .handle import letters, owner_of
from .id_num import id_key, surrogate_id_num
from .keys import Chance
from .mentions import FAMILY, GIVEN, Mention, read_mention
from .name import Named, name_people, render
from .names import name_table
from .persons import Person, link, spell_initials
from .phone import phone_key, surrogate_phone
from .style import norm
from .url import surrogate_url
from .username import surrogate_username

GENERATORS: dict[str, Generator] = {
    EMAIL: surrogate_email,
    USERNAME: surrogate_username,
    URL_PERSONAL: surrogate_url,
    PHONE_NUM: surrogate_phone,
    ID_NUM: surrogate_id_num,
    STREET_ADDRESS: surrogate_address,
}
# What makes two values of a label one and the same; letters and digits, where nothing else is said.
KEYS = {PHONE_NUM: phone_key, ID_NUM: id_key}
NO_SURROGATE = "no surrogate"
_WORD = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class Item:
    """A span of a document and what shall become of it.

    start (int), end (int): Characters, end exclusive. label (str): Its label. action (str): One of `profiles.ACTIONS`.
    """

    start: int
    end: int
    label: str
    action: str


def plan(
    text: str,
    items: Sequence[Item],
    *,
    profile: Profile,
    chance: Chance,
    known: Collection[str] = (),
    reserved: bool | None = None,
    local: bool = True,
) -> list[Replacement]:
    """Decide what stands in the place of each span.

    text (str): The document.
    items (Sequence[Item]): Its spans without overlaps, sorted; those to be kept too, since no surrogate may be a cited author.
    profile (Profile): Fixed pseudonyms and nouns. chance (Chance): Key and scope.
    known (Collection[str]): Folded words of names elsewhere in the corpus that no surrogate may be.
    reserved (bool | None): Whether values must be such that nobody can own them; None for what the profile says.
    local (bool): Whether surrogates hold for this document only, so that they may depend on all of its words.
    RETURNS (list[Replacement]): One for each item that is not kept.
    """
    names = [item for item in items if is_name(item.label) and item.action in (SURROGATE, PSEUDONYM)]
    mentions = spell_initials([read_mention(text[n.start : n.end], before=text[max(0, n.start - 20) : n.start]) for n in names])
    people, owners = link(mentions)
    table = name_table()
    fixed = _fixed_names(people, owners, names, profile)
    named = name_people(people, chance, table=table, forbidden=_forbidden(text, items, known, local=local), fixed=fixed)
    context = Context(chance, table, named, reserved=profile.reserved if reserved is None else reserved, locale=profile.locale)
    made = _details(text, items, context)
    numbers: dict[str, dict[str, int]] = {}
    by_start = {names[i].start: (mentions[i], owners[i]) for i in range(len(names))}
    found = []
    for item in items:
        if item.action == KEEP:
            continue
        old = text[item.start : item.end]
        new: str | None = None
        note = ""
        if item.start in by_start:
            mention, owner = by_start[item.start]
            new, note = _name(item, mention, owner, named, chance, profile=profile, fixed=fixed)
        elif item.action == SURROGATE:
            new = made.get((item.label, old))
        elif item.action == PSEUDONYM:
            new = _pseudonym(item.label, old, named, fixed=fixed, profile=profile, numbers=numbers)
        elif item.action == GENERIC and item.label in profile.generic:
            new = modes.generic(profile.generic[item.label], before=text[: item.start], original=old)
        elif item.action in (REDACT, MASK, REMOVE):
            new = {REDACT: modes.redact(item.label), MASK: modes.mask(old), REMOVE: ""}[item.action]
        if new is None or (new.casefold() == old.casefold() and item.action not in (MASK, REMOVE)):
            note = NO_SURROGATE if item.action in (SURROGATE, PSEUDONYM, GENERIC) else note
            new = modes.tag(item.label)
        found.append(Replacement(item.start, item.end, new, item.label, item.action, note))
    return found


def _forbidden(text: str, items: Sequence[Item], known: Collection[str], *, local: bool) -> set[str]:
    """Folded words that no name may become: every name here, kept ones too; in a document's own scope every word of its text.

    In a wider scope the other words of one document must not change what a name becomes in all of them.
    """
    words = {norm(w) for w in known}
    for item in items:
        if is_name(item.label):
            words.update(w.norm for w in read_mention(text[item.start : item.end]).words)
    if local:
        words.update(norm(w) for w in _WORD.findall(text))
    return words


def _details(text: str, items: Sequence[Item], context: Context) -> dict[tuple[str, str], str | None]:
    """RETURNS (dict): (label, value) -> surrogate, for everything but names."""
    values: dict[str, set[str]] = {}
    for item in items:
        if item.action == SURROGATE and item.label in GENERATORS:
            values.setdefault(item.label, set()).add(text[item.start : item.end])
    originals = {canonical(v) for group in values.values() for v in group}
    found = {}
    for label in sorted(values):
        made = distinct(values[label], GENERATORS[label], context, forbidden=originals, key=KEYS.get(label, canonical))
        found.update({(label, value): new for value, new in made.items()})
    return found


def _name(
    item: Item,
    mention: Mention,
    owner: int,
    named: Sequence[Named],
    chance: Chance,
    *,
    profile: Profile,
    fixed: dict[int, str],
) -> tuple[str | None, str]:
    """RETURNS (tuple[str | None, str]): A name's new form, and a note."""
    if owner < 0:
        return None, ""
    if item.action == PSEUDONYM and owner not in fixed and not _pseudonym_list(item.label, profile):
        return modes.pseudonym(item.label, owner + 1), ""
    new = render(mention, named[owner], chance)
    # A pseudonym has no word for a lone middle name.
    return (new if new and any(ch.isalpha() for ch in new) else None), named[owner].note


def _pseudonym_list(label: str, profile: Profile) -> list[str]:
    fixed = profile.pseudonyms.get(label)
    if fixed is None and is_name(label) and label != NAME_STUDENT:
        fixed = profile.pseudonyms.get("NAME_OTHER")
    return [fixed] if isinstance(fixed, str) else list(fixed or ())


def _fixed_names(people: Sequence[Person], owners: Sequence[int], names: Sequence[Item], profile: Profile) -> dict[int, str]:
    """Give the people of a document the profile's pseudonyms in order; who comes after the last one gets a surrogate.

    RETURNS (dict[int, str]): Person -> pseudonym. A second student gets one of the other people's.
    """
    labels: dict[int, str] = {}
    for item, owner in zip(names, owners, strict=True):
        if owner >= 0 and item.action == PSEUDONYM:
            labels[owner] = NAME_STUDENT if NAME_STUDENT in (item.label, labels.get(owner)) else item.label
    used: set[str] = set()
    originals = {word for person in people for word in person.words}
    found = {}
    for owner in sorted(labels):
        label = labels[owner]
        options = _pseudonym_list(label, profile)
        if label == NAME_STUDENT and options:
            options = [*options, *_pseudonym_list("NAME_CONNECTED", profile)]
        # No pseudonym may hold a part of somebody's own name.
        free = [o for o in options if o not in used and originals.isdisjoint(norm(w) for w in o.split())]
        if free:
            found[owner] = free[0]
            used.add(free[0])
    return found


def _pseudonym(
    label: str,
    old: str,
    named: Sequence[Named],
    *,
    fixed: dict[int, str],
    profile: Profile,
    numbers: dict[str, dict[str, int]],
) -> str:
    """RETURNS (str): The profile's value for a detail; a numbered tag where it has none, or has used them up."""
    key = label
    if label == LOCATION and "county" in old.lower() and "COUNTY" in profile.pseudonyms:
        key = "COUNTY"
    elif label == URL_PERSONAL and "linkedin." in old.lower() and "LINKEDIN" in profile.pseudonyms:
        key = "LINKEDIN"
    seen = numbers.setdefault(key, {})
    number = seen.setdefault(canonical(old), len(seen) + 1)
    value = profile.pseudonyms.get(key)
    if value is None or (isinstance(value, list) and number > len(value)):
        return modes.pseudonym(label, number)
    if isinstance(value, list):
        return value[number - 1]
    owner = owner_of(old, named) if label == EMAIL else None
    if owner is not None and "@" in value and fixed and owner is not named[0]:
        return letters(owner.word(GIVEN)) + letters(owner.word(FAMILY)) + "@" + value.partition("@")[2]
    return value
