"""Defects of earlier implementations (CRAPII's obfuscator, PIILO, BRATsynthetic, nedap/deidentify, Stanford's hide_in_plain_sight,
the two-layer paper's algorithms) that no other test of this folder would see.
"""

import pytest

from pii_components.names.table import name_table
from pii_components.profiles import Profile
from pii_components.surrogates.keys import Chance
from pii_components.surrogates.numbers import surrogate_id_num
from pii_components.surrogates.values import Context

from .conftest import KEY, make_doc

CONTEXT = Context(Chance(KEY, "corpus"), name_table())


def hidden(hips, *names: str) -> list[str]:
    """RETURNS (list[str]): What the names of one document become."""
    return hips(make_doc(" ; ".join(f"{{NAME_STUDENT|{n}}}" for n in names)))._.deidentified.split(
        " ; "
    )


def test_origin_holds_for_the_second_person_of_a_surname(hips):  # CRAPII
    for new in hidden(hips, "Hiroshi Tanaka", "Yuko Tanaka"):
        assert "JP" in name_table().regions_of_given(new.split()[0])


def test_first_names_of_a_corpus_have_no_common_map(hips):  # CRAPII: frequencies tell who is who
    hips.scope = "corpus"
    firsts = {
        hidden(hips, f"Maria {surname}")[0].split()[0]
        for surname in ("Lopez", "Baker", "Rossi", "Tanaka", "Novak")
    }
    assert len(firsts) > 3
    assert hidden(hips, "Maria Lopez") == hidden(hips, "Maria Lopez")


def test_failed_name_becomes_a_tag_and_not_none(hips, monkeypatch):  # nedap
    monkeypatch.setattr("pii_components.surrogates.person_names.MAX_TRIES", 0)
    with pytest.warns(UserWarning, match="W402"):
        assert hidden(hips, "Maria Lopez") == ["[NAME_STUDENT]"]


@pytest.mark.parametrize("value", ["٣٤٥٦", "小四五", "ΑΒΓ-12", "Ⅷ９", "7", "a", "11", "AB1"])
def test_id_is_neither_blanked_nor_the_input(value):  # CRAPII
    for attempt in range(30):
        new = surrogate_id_num(value, CONTEXT, attempt)
        assert len(new) == len(value) and new.strip()
        assert all(a != b for a, b in zip(value, new, strict=True) if a.isalnum())


@pytest.mark.parametrize("label", ["EMPLOYER", "EDUCATION", "LOCATION"])
def test_rare_values_of_other_students_are_not_lent_and_the_original_does_not_return(
    hips, label
):  # CRAPII
    hips.profile = Profile("pool", actions={label: "surrogate"}, pool="corpus")
    values = ["Zanfort", "Quimby", "Harlo"]
    docs = [make_doc(f"{{{label}|{value}}}") for value in values]
    hips.observe(docs)
    assert not {hips(doc)._.deidentified for doc in docs} & set(values)


def test_every_entity_stays_masked(hips):  # two-layer paper, algorithm 4: only the last one
    hips.profile = Profile("mask", actions={"NAME_STUDENT": "mask", "EMAIL": "mask"})
    doc = hips(make_doc("{NAME_STUDENT|Ana Lopez}, {NAME_STUDENT|Tom Baker}, {EMAIL|ana@x.org}"))
    assert doc._.deidentified == "Axx Lxxxx, Txx Bxxxx, axxxxxxxx"
