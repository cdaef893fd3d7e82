"""What is drawn for a name: words that are forbidden, names for people of unknown gender, lengths."""

import re
import statistics

import pytest

from pii_components.names.link import link
from pii_components.names.parse import read_mention
from pii_components.names.table import Pool, name_table
from pii_components.profiles import Profile
from pii_components.surrogates import person_names
from pii_components.surrogates.keys import SurrogateKey
from pii_components.surrogates.person_names import Forbidden, name_people
from pii_components.surrogates.plan import ScopePeople, plan
from pii_components.surrogates.values import Item

from .conftest import KEY, hide, make_doc, surrogates_of


@pytest.mark.parametrize("word", ["lopez", "cafe", "obrien", "brien", "met", "zoe", "quoc", "a"])
def test_words_of_the_text_are_forbidden(word):
    assert word in Forbidden({"lopez"}, text="We met at a Café near O'Brien's with ZOË, and Quốc.")


# People of a scope


@pytest.mark.parametrize("profile", ["crapii", "ets"])
def test_names_of_a_class_are_drawn_once(profile):
    """The documents that came before change nothing."""
    names = ["Ana Lopez", "Owen Parker", "Bo Ng", "Mary-Jane Okoro"]
    people = tuple(link([read_mention(name)]).people[0] for name in names)
    how = {"profile": Profile.load(profile), "chance": SurrogateKey(KEY, "corpus"), "local": False}

    def planned(text, everyone):
        items = [Item(0, len(text), "NAME_STUDENT", how["profile"].action("NAME_STUDENT"))]
        return plan(text, items, everyone=everyone, **how)

    others = [f"{given} Ng" for given in sorted(name_table()._given.pools["", ""].names)[::90]]
    listed = ScopePeople(people, ("NAME_STUDENT",) * 4)
    for text in [*names, *others, *names]:
        assert planned(text, listed) == planned(text, ScopePeople(people, listed.labels))


# Gender


def surrogate(name: str, n: int = 0):
    people, *_ = link([read_mention(name)])
    return name_people(people, SurrogateKey(KEY, str(n)), table=name_table(), forbidden=())[0]


@pytest.mark.parametrize("name", ["Qzxwa Zzywq", "Avery Smith", "Mpho Dlamini", "Q. Zzywq"])
def test_unknown_gender_says_so(name):
    for n in range(8):
        named = surrogate(name, n)
        assert "gender unknown" in named.note
        assert name_table().gender(named.surrogates[0]) is None


def test_a_title_in_the_table_is_no_surrogate(monkeypatch):
    pool = Pool(["Engr", "Dayo"], [9.0, 10.0])
    monkeypatch.setattr(person_names, "_pools_of", lambda *_: (pool, pool, pool))
    assert {surrogate("Kwame", n).surrogates[0] for n in range(8)} == {"Dayo"}


# Length

VALUES = {
    "NAME_STUDENT": ["Maximiliana Featherstonehaugh", "Bo Ng", "Ana Lopez", "Qzx Zzywqabcde"],
    "EMAIL": ["alan@mymail.org", "bartholomew.krzyzewski1999@longuniversityname.edu"],
    "URL_PERSONAL": ["www.zx.com", "http://thequickbrownfoxblog.wordpress.com/about"],
    "STREET_ADDRESS": ["9 Elmer Road, Ashby", "1420 Featherington Road, Constantinople, OH 45402"],
    "LOCATION": ["Zurnby", "Birmingham", "Ashbury"],
    "EDUCATION": ["Zurnby College", "Featheringtonville High School"],
    "EMPLOYER": ["Zurnby Bank", "Constantinopolitan Logistics"],
    "DATE": ["May 3, 2011", "September 12, 2011"],
    "AGE": ["14", "seventeen"],
    "ID_NUM": ["AB-2047"],
    "PHONE_NUM": ["(312) 867-5309"],
    "USERNAME": ["@zx9", "@thequickbrownfox"],
}


def distances(hips, label: str, length: str) -> list[int]:
    """RETURNS (list[int]): Characters by which surrogates are longer or shorter."""
    hips.profile = surrogates_of(label, length=length)
    found = []
    for value in VALUES[label]:
        for n in range(8):
            (edit,) = hips(make_doc(f"{{{label}|{value}}} {n}"))._.pii_offsets.edits
            found.append(abs(edit.new_end - edit.new_start - len(value)))
    return found


@pytest.mark.parametrize("label", VALUES)
def test_length_is_near_if_asked(hips, label):
    near = distances(hips, label, "near")
    assert statistics.mean(near) <= statistics.mean(distances(hips, label, "free"))
    longest = [max(4, 0.35 * len(value)) for value in VALUES[label] for _ in range(8)]
    assert sum(a <= b for a, b in zip(near, longest, strict=True)) >= 0.85 * len(near)


def test_ets_addresses_are_its_pseudonyms(hips):
    hips.profile = "ets"
    teacher = "It is {NAME_INSTRUCTOR|Nora Wang}, {EMAIL|nwang@x.edu}"
    student = "{NAME_STUDENT|Priya Patel}, {EMAIL|ppatel@x.edu}, {EMAIL|q@x.edu}"
    made = hide(hips, f"{teacher}, who taught {student}").split(", who taught ")
    assert made == [
        "It is Casey Smith, caseysmith@uni.edu",
        "Sam Doe, samdoe@uni.edu, samdoe@uni.edu",
    ]


def test_no_half_of_hyphens_is_original(hips):
    for i in range(40):
        made = hide(hips, f"{i} {{NAME_STUDENT|Hyun Jae-hyun}}")
        assert "hyun" not in re.split(r"[\s-]", made.lower())
