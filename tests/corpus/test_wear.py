"""Wear on names and details, invented details, hard negatives, and the tally of what was filled in."""

import json
import random
import re
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest

from pii_components.corpus.build import Filler, Tally
from pii_components.corpus.noise import hard_negative, noisy_detail, noisy_name
from pii_components.corpus.people import Person, invent_detail, invent_person, is_linked
from pii_components.corpus.templates import DETAILS, NAME_FORMS, Slot, parse_parts, read_tables
from pii_components.names.table import REGIONS, name_table

CASES = json.loads(
    (Path(__file__).parents[1] / "data/regression_cases/corpus.json").read_text("utf8")
)


def letters(text):
    """Letters of a name, folded: what most kinds of wear keep."""
    flat = unicodedata.normalize("NFKD", text).casefold()
    return "".join(ch for ch in flat if ch.isalpha() and not unicodedata.combining(ch))


def kinds_of(name, n=3000):
    rng, found = random.Random(3), {}
    for _ in range(n):
        worn, kind = noisy_name(name, rng)
        found.setdefault(kind, set()).add(worn)
    return found


def test_every_kind_of_wear_on_a_name():
    found = kinds_of("Zoë Hatfield")
    assert found["upper"] == {"ZOË HATFIELD"} and found["lower"] == {"zoë hatfield"}
    assert found["spaced"] == {"Z O Ë  H A T F I E L D", "Z O Ë   H A T F I E L D"}
    assert (
        found["newline"] == {"Zoë\nHatfield"}
        and found["glued"] == {"ZoëHatfield"}
        and found["underscore"] == {"Zoë_Hatfield"}
    )
    assert found["no accents"] == {"Zoe Hatfield"} and found["ligature"] == {"Zoë Hatﬁeld"}
    assert found["full width"] == {"Ｚｏë\u3000Ｈａｔｆｉｅｌｄ"}
    assert len(found) >= 17
    assert found["leet"] == {"Z0ë H47f13ld"}
    assert not any(
        ch.isascii() and ch.isalpha() for name in found["native script"] for ch in name
    )  # another name, in its own script
    for kind in found.keys() - {
        "look-alikes",
        "letters swapped",
        "letter doubled",
        "ocr",
        "leet",
        "native script",
    }:
        assert {letters(worn) for worn in found[kind]} == {"zoehatfield"}, kind
    assert all(worn != "Zoë Hatfield" for kind, some in found.items() if kind for worn in some)


@pytest.mark.parametrize(
    "name", ["Li", "A", "Ng", "José", "J. K.", "Đặng Văn Lâm", "O'Brien", "李"]
)
def test_wear_never_empties_a_name(name):
    for kind, some in kinds_of(name, 600).items():
        assert all(worn.strip() for worn in some), kind


@pytest.mark.parametrize("value, label, expected", CASES["noise on details"])
def test_wear_on_details(value, label, expected):
    rng = random.Random(1)
    found = {noisy_detail(value, label, rng) for _ in range(200)}
    assert {*expected} - {value} <= {worn for worn, _ in found}
    assert all((kind == "") == (worn == value) for worn, kind in found)
    if label == "EMAIL":
        assert any(re.search(r"\bat\b", worn, re.I) and "dot" in worn.lower() for worn, _ in found)


@pytest.mark.parametrize("what", sorted(DETAILS))
def test_details_vary_and_do_not_depend_on_the_process(what):
    table = name_table()
    values = [invent_detail(what, "Ana", "Lopez", random.Random(n), table) for n in range(60)]
    assert all(value.strip() for value in values)
    assert values == [
        invent_detail(what, "Ana", "Lopez", random.Random(n), table) for n in range(60)
    ]
    assert len(set(values)) >= (
        1 if what in ("country", "nationality") else 3 if what == "town" else 12
    )


def test_the_same_details_in_a_fresh_process():
    code = (
        "import random; from pii_components.corpus.people import invent_detail; from pii_components.names.table import name_table;"
        "print([invent_detail(w, 'Ana', 'Lopez', random.Random(5), name_table()) for w in ('id', 'phone', 'address', 'email', 'town')])"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert (
        found
        == f"{[invent_detail(w, 'Ana', 'Lopez', random.Random(5), name_table()) for w in ('id', 'phone', 'address', 'email', 'town')]}\n"
    )


def test_handles_are_linked_to_the_name_or_not():
    linked = [
        is_linked(
            invent_detail("username", "Marta", "Kowalska", random.Random(n)), "Marta", "Kowalska"
        )
        for n in range(300)
    ]
    assert 0.6 < sum(linked) / len(linked) < 0.9


def test_a_town_and_a_country_of_one_person_agree():
    for n in range(30):
        person = invent_person(random.Random(n), name_table())
        rng = random.Random(n)
        town, country, adjective = (
            person.render(Slot("student", what), rng) for what in ("town", "country", "nationality")
        )
        assert any(
            (country, adjective) == (p["country"], p["adjective"]) and town in p["towns"]
            for p in read_tables("details")["places"]
        )


def test_names_of_every_region_order_and_form():
    table, rng = name_table(), random.Random(11)
    people = [invent_person(rng, table) for _ in range(3000)]
    assert {p.region for p in people} == set(REGIONS)
    assert any(not p.last for p in people) and any(p.family_first for p in people)
    assert any(p.middle.endswith("ovich") for p in people) and any(
        p.first.startswith(("Md", "Mohd")) for p in people
    )
    assert any(" " in p.last or "-" in p.last for p in people)


def test_people_with_one_name_have_every_form_and_others_may_have_the_family_name_first():
    person = Person("Suharto", "B.", "")
    forms = {what: person.render(Slot("student", what), random.Random(0)) for what in NAME_FORMS}
    assert forms.pop("initials") == "S." and forms.pop("nick") == "Suh"
    assert set(forms.values()) == {"Suharto"}
    person = Person("Ha-eun", "B.", "Kim", family_first=True)
    assert person.render(Slot("student", "full"), random.Random(0)) == "Kim Ha-eun"
    assert person.render(Slot("student", "reverse"), random.Random(0)) == "Kim Ha-eun"
    assert person.render(Slot("student", "last_first"), random.Random(0)) == "Kim, Ha-eun"


def test_authors_at_times_have_the_students_surname():
    parts = parse_parts("{{student.full}} read {{cited.last}} (2014).")
    tally, shared = Tally(), 0
    for n in range(400):
        filler = Filler(name_table(), random.Random(n), tally=tally)
        filler.fill(parts)
        shared += (
            bool(filler.people["student"].last)
            and filler.people["student"].last == filler.people["cited"].last
        )
    assert 5 <= shared <= 45
    counts = tally.to_dict()
    assert counts["hard negative"]["author with the student's surname"] >= shared
    assert counts["label"] == {"NAME_STUDENT": 400, "NAME_CITED": 400} and counts["role"] == {
        "STUDENT": 400,
        "CITED": 400,
    }


def test_worn_fillings_keep_exact_offsets():
    parts = parse_parts(
        "Hi {{student.full}}, write to {{student.email}} or {{friend.first}} ({{student.phone}}, {{student.id}})."
    )
    tally = Tally()
    for n in range(200):
        filled = Filler(name_table(), random.Random(n), worn=1.0, tally=tally).fill(parts)
        values = [filled.text[s:e] for s, e, _ in filled.spans]
        at, between = 0, []
        for start, end, _ in filled.spans:
            between.append(filled.text[at:start])
            at = end
        assert all(value.strip() for value in values)
        # Beside a span stands what the essay says, and a marker at most.
        for found, said in zip(between, ("Hi ", ", write to ", " or ", " (", ", "), strict=True):
            assert said in found and len(found) <= len(said) + 20
        assert filled.text[at:] == ")."
    wear = tally.to_dict()["wear"]
    assert sum(wear.values()) > 500 and len(wear) > 15


def test_hard_negatives_vary_and_hold_no_marks():
    rng = random.Random(2)
    found = [hard_negative(rng) for _ in range(600)]
    assert {kind for _, kind in found} == {"number", "public contact", "word that is a name"}
    assert len({text for text, _ in found}) > 400
    assert not [text for text, _ in found if set("#¤{}") & set(text)]
    assert any(
        re.search(r"ISBN on the back cover is 978-\d-\d\d-\d{6}-\d", text) for text, _ in found
    )
