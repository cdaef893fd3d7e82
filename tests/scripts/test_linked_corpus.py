"""The corpus of linked identities: every link of every person is kept; and the check notices when one is not."""

import json
import random
import re

import pytest

from pii_components.profiles import Profile
from pii_components.surrogates.keys import Chance
from scripts import linked_corpus
from scripts.linked_corpus import FORMS, Names

CRAPII = Profile.load("crapii")


@pytest.mark.parametrize("scope", ["document", "corpus"])
def test_every_link_is_kept(scope):
    found = linked_corpus.measure_links(60, seed=7, scope=scope)
    rows = {**found["links"], **found["properties"]}
    assert {name: row for name, row in rows.items() if row["checked"] != row["kept"]} == {}
    assert found["links_checked"] == found["mentions"] > 600


@pytest.mark.slow
def test_every_link_of_2000_essays_is_kept():
    found = linked_corpus.measure_links(2000, seed=46)
    assert found["essays_with_something_broken"] == 0
    assert {
        row["checked"] == row["kept"]
        for row in (*found["links"].values(), *found["properties"].values())
    } == {True}


def test_essays_depend_on_seed_and_number_only():
    first = list(linked_corpus.linked_essays(3, seed=1))
    assert list(linked_corpus.linked_essays(5, seed=1))[:3] == first
    assert first[0] != next(linked_corpus.linked_essays(1, seed=2))


def test_spans_lie_where_the_forms_stand():
    for essay in linked_corpus.linked_essays(30, seed=3):
        assert [m.start for m in essay.mentions] == sorted(m.start for m in essay.mentions)
        for mention in essay.mentions:
            own, text = essay.people[mention.person], essay.text[mention.start : mention.end]
            if mention.form not in ("nickname", "slip of the pen"):
                assert linked_corpus.expected(FORMS[mention.form], own, own).fullmatch(text)


@pytest.mark.parametrize(
    ("names", "form", "text"),
    [
        (Names(("Juan", "Cruz"), "{0} de la {1}", "gf"), "last, first", "de la Cruz, Juan"),
        (Names(("Wang", "Xiaoming"), "{0} {1}", "fg"), "first.last@", "xiaoming.wang±@§"),
        (Names(("Wang", "Xiaoming"), "{0} {1}", "fg"), "last", "Wang"),
        (Names(("Ana", "Gil", "Soto"), "{0} {1}-{2}", "gff"), "last", "Gil-Soto"),
        (Names(("Ana", "Eva", "Gil"), "{0} {1} {2}", "ggf"), "last", "Gil"),
        (Names(("Sukarno",), "{0}", "g"), "Last#", "Sukarno###"),
    ],
)
def test_forms(names, form, text):
    assert FORMS[form].write(names) == text


@pytest.mark.parametrize(
    ("word", "wrong"), [("Whitcombe", "Whitcobme"), ("Lopez", ""), ("Otto", "")]
)
def test_slip(word, wrong):
    found = linked_corpus.slip(word)
    assert found == wrong or (wrong and sorted(found) == sorted(word) and found != word)


def broken(change) -> set[str]:
    """RETURNS (set[str]): What the check finds broken in twenty essays once their replacements are changed."""
    links = linked_corpus.Links()
    for number, essay in enumerate(linked_corpus.linked_essays(20, seed=5)):
        replacements = linked_corpus.hide(
            essay, CRAPII, Chance(linked_corpus.KEY, f"document:{number}")
        )
        changed = [change(essay, m, r) for m, r in zip(essay.mentions, replacements, strict=True)]
        linked_corpus.check_essay(number, essay, changed, links)
    return {what for _, what in links.broken}


def test_the_check_notices_addresses_without_link_one_surrogate_for_all_and_originals():
    found = broken(
        lambda essay, m, r: r._replace(new="gil.soto@example.edu") if m.label == "EMAIL" else r
    )
    assert found and all("@" in what for what in found)
    assert "distinct people stay distinct" in broken(
        lambda essay, m, r: r._replace(new="Gil Soto") if m.form == "full" else r
    )
    found = broken(
        lambda essay, m, r: r._replace(new=essay.text[m.start : m.end]) if m.form == "first" else r
    )
    assert {"no original name is left", "link: first"} <= found


def test_command(command, tmp_path):
    run = command(linked_corpus.main, "--essays", 3, "--out", tmp_path / "m.json")
    assert run.exit_code == 0, run.output
    data = json.loads((tmp_path / "m.json").read_text("utf8"))
    assert data["links"]["essays"] == 3
    people = [
        word
        for essay in linked_corpus.linked_essays(3, seed=46)
        for names in essay.people
        for word in names.words
    ]
    assert not [word for word in people if re.search(rf"\b{word}\b", run.output + json.dumps(data))]
    assert command(linked_corpus.main, "--scope", "school").exit_code == 2


def test_siblings_and_single_names_occur():
    essays = [linked_corpus.linked_essay(random.Random(i)) for i in range(80)]
    assert any(a.f == b.f for e in essays for i, a in enumerate(e.people) for b in e.people[:i])
    layouts = {names.layout for e in essays for names in e.people}
    assert {"{0}", "{0} {1}"} < layouts
    assert any("de" in layout or "van" in layout for layout in layouts)
    assert any(names.kinds == "fg" for e in essays for names in e.people)
