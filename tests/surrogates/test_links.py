"""Every form of a person's name, address and handle becomes that form of one invented name."""

import random
import re

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pii_components.labels import EMAIL, NAME_CONNECTED, NAME_STUDENT, USERNAME
from pii_components.names.link import nicknames, nicknames_of
from pii_components.names.table import REGIONS, name_table
from pii_components.offsets import apply_replacements
from pii_components.profiles import Profile
from pii_components.surrogates.handles import letters
from pii_components.surrogates.keys import SurrogateKey
from pii_components.surrogates.plan import plan
from pii_components.surrogates.values import Item

CRAPII = Profile.load("crapii")
# How a form is written, and the label of its span; none for a name.
FORMS = {
    "{given}": "",
    "{family}": "",
    "{family}, {given}": "",
    "{given[0]}. {family}": "",
    "{upper}": "",
    "{lower}": "",
    "{lower_given}.{lower_family}@lakeford.edu": EMAIL,
    "@{lower_given[0]}{lower_family}": USERNAME,
}


def write(form, given_name, surname):
    full = f"{given_name} {surname}"
    return form.format(
        given=given_name,
        family=surname,
        upper=full.upper(),
        lower=full.lower(),
        lower_given=letters(given_name),
        lower_family=letters(surname),
    )


def draw_people(rng):
    """Two people of one region each, whose names nobody takes for each other's."""
    table = name_table()
    people = []
    for _ in range(2):
        region = rng.choice([r for r in REGIONS if (r, "") in table._given.pools])
        people.append((table.sample_given(rng, None, region), table.sample_surname(rng, region)))
    words = [word.lower() for person in people for word in person]
    kin = {name for word in words for name in (*nicknames_of(word), *nicknames().get(word, ()))}
    assume(all(word.isascii() and word.isalpha() and len(word) > 3 for word in words))
    assume(len({word[:4] for word in words}) == 4 and kin.isdisjoint(words))
    assume(people[0][0][0] != people[1][0][0])
    return people


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(["corpus", "document:1"]))
def test_links_of_people_stay(seed, scope):
    rng = random.Random(seed)
    people = draw_people(rng)
    text, items, mentions = "", [], []
    for person, label in zip(people, (NAME_STUDENT, NAME_CONNECTED), strict=True):
        for form in ("{given} {family}", *rng.sample(list(FORMS), 5)):
            value = write(form, *person)
            text += "We asked "
            found = FORMS.get(form) or label
            items.append(Item(len(text), len(text) + len(value), found, CRAPII.action(found)))
            mentions.append((person, form))
            text += f"{value} again.\n\n"
    chance = SurrogateKey(b"the key of the links", scope)
    replacements = plan(text, items, profile=CRAPII, chance=chance, local="document" in scope)

    new_names = {}
    for (person, form), replacement in zip(mentions, replacements, strict=True):
        if person not in new_names:
            new_names[person] = replacement.new.split()
        expected = re.escape(write(form, *new_names[person]))
        expected = expected.replace(r"lakeford\.edu", r"[\w.-]+")
        assert re.fullmatch(expected, replacement.new), (form, expected)
    first, second = new_names.values()
    assert set(first).isdisjoint(second)
    left = {word.lower() for word in re.findall(r"\w+", apply_replacements(text, replacements)[0])}
    assert left.isdisjoint(word.lower() for person in people for word in person)
