"""Fixed pseudonyms of a profile: ETS's "Sam Doe", "Casey Smith", "Anytown"; keyed tokens where a profile has none.

One value stands for all; of a list, the first person or place of the document gets the first value, the next one the next.
"""

from collections.abc import Sequence

from .. import profiles as modes
from ..labels import EMAIL, LOCATION, NAME_STUDENT, URL_PERSONAL, is_name
from ..names.letters import norm
from ..names.link import Person
from ..profiles import PSEUDONYM, Profile
from .handles import letters, owner_of
from .keys import Chance
from .person_names import Named
from .values import Item, canonical


def pseudonym_list(label: str, profile: Profile) -> list[str]:
    """A profile's pseudonyms for a label; those for other people, for a name that is no student's."""
    fixed = profile.pseudonyms.get(label)
    if fixed is None and is_name(label) and label != NAME_STUDENT:
        fixed = profile.pseudonyms.get("NAME_OTHER")
    return [fixed] if isinstance(fixed, str) else list(fixed or ())


def fixed_names(people: Sequence[Person], owners: Sequence[int], names: Sequence[Item], profile: Profile) -> dict[int, str]:
    """Give the people of a document the profile's pseudonyms in order; who comes after the last one gets a surrogate. A second
    student gets one of the other people's.

    owners: For each of the names, which person. RETURNS (dict[int, str]): Person -> pseudonym.
    """
    labels: dict[int, str] = {}
    for item, owner in zip(names, owners, strict=True):
        if owner >= 0 and item.action == PSEUDONYM:
            labels[owner] = NAME_STUDENT if NAME_STUDENT in (item.label, labels.get(owner)) else item.label
    if not labels:
        return {}
    used: set[str] = set()
    originals = {word for person in people for word in person.words}
    found = {}
    for owner in sorted(labels):
        label = labels[owner]
        options = pseudonym_list(label, profile)
        if label == NAME_STUDENT and options:
            options = [*options, *pseudonym_list("NAME_CONNECTED", profile)]
        # No pseudonym may hold a part of somebody's own name.
        free = [o for o in options if o not in used and originals.isdisjoint(norm(w) for w in o.split())]
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
        return modes.pseudonym(label, chance.token(label, canonical(old)))
    if isinstance(value, list):
        return value[number - 1]
    owner = owner_of(old, named) if label == EMAIL else None
    place = next((i for i, someone in enumerate(named) if someone is owner), -1)
    if place in fixed and "@" in value:
        # "samdoe@uni.edu" is the writer's; the others get addresses of the same form.
        return letters(fixed[place]) + "@" + value.partition("@")[2]
    return value
