"""Reading one name, and one person linker for detection (with the roles that cues tell) and for surrogates (by the names); names written wrong.

Tables of names with "/" between them are in data/regression_cases/names.json.
"""

import random

import pytest

from pii_components.names import link as module
from pii_components.names.link import (
    RoleCues,
    is_slip,
    link,
    link_with_roles,
    links_of,
    nicknames,
    respell,
    spell_initials,
)
from pii_components.names.parse import read_mention, read_tokens

from ..tiny import cases

CASES = cases("names")


def mentions(names):
    return spell_initials([read_mention(name) for name in names])


def with_roles(names, own=(), signed=None, **options):
    own = dict(own if isinstance(own, dict) else enumerate(own))
    cues = [
        RoleCues(10 * i, own.get(i, {}), **options.get(f"cue{i}", {})) for i in range(len(names))
    ]
    return link_with_roles(mentions(names), cues, margin=1.5, signed=signed).owners


@pytest.mark.parametrize(("text", "words"), CASES["read"])
def test_read_mention(text, words):
    mention = read_mention(text)
    assert [f"{w.kind}:{w.norm}" for w in mention.words] == words
    assert all(text[w.start : w.end] == w.text for w in mention.words)


def test_title_before_the_span():
    mention = read_mention("Lopez", before="I asked Ms. ")
    assert (mention.gender, mention.words[0].kind) == ("F", "family")
    assert {
        read_mention("Lopez", before=before).words[0].kind
        for before in ("I asked ", "I asked 4Ms. ", "_ms ")
    } == {"lone"}


@pytest.mark.parametrize(("tokens", "words", "letters", "comma"), CASES["tokens"])
def test_form_of_tokens(tokens, words, letters, comma):
    form = read_tokens(tokens).form
    assert [list(form.words), list(form.letters), form.comma] == [words, letters, comma]


def test_parts_of_a_form():
    forms = [read_tokens(tokens).form for tokens in (["Lopez", ",", "Ana"], ["Ana"])]
    assert [(f.surname, f.given, f.full, f.single) for f in forms] == [
        ("lopez", "ana", True, False),
        ("ana", "", False, True),
    ]


@pytest.mark.parametrize(("names", "owners"), CASES["same_people"])
def test_detection_and_surrogates_see_the_same_people(names, owners):
    assert with_roles(names.split("/")) == link(mentions(names.split("/"))).owners == owners


@pytest.mark.parametrize(("names", "owners"), CASES["linked"])
def test_link(names, owners):
    assert link(mentions(names.split("/"))).owners == owners


@pytest.mark.parametrize(("names", "own", "signed", "owners"), CASES["parted_by_cues"])
def test_cues_part_people_of_one_name(names, own, signed, owners):
    assert with_roles(names.split("/"), own, signed) == owners


def test_a_teacher_who_is_thanked_is_one_person_and_every_mention_has_an_owner():
    own = [{"INSTRUCTOR": 3.0}, {"CONNECTED": 3.0}]
    assert with_roles(("Joan Hart", "Joan"), own) == [0, 1]
    assert with_roles(("Joan Hart", "Joan"), own, cue1={"addressed": True}) == [0, 0]
    assert with_roles(("", "Ana Lopez", "...")) == [0, 1, 2]


@pytest.mark.parametrize(("names", "persons", "owners"), CASES["taken_over"])
def test_links_of_detection_are_taken_over(names, persons, owners):
    links = links_of([read_mention(name) for name in names], persons)
    assert links.owners == owners
    assert all(
        len(p) == len(read_mention(n).words)
        for n, p, o in zip(names, links.places, owners, strict=True)
        if o >= 0
    )


def test_the_person_is_called_by_the_fullest_form():
    links = links_of([read_mention(name) for name in ("Ana", "Lopez, Ana", "A. Lopez")], (7, 7, 7))
    assert [person.words for person in links.people] == [("lopez", "ana")]
    assert links.places == [(1,), (0, 1), (1, 0)]


@pytest.mark.parametrize(("names", "kinds"), CASES["kinds"])
def test_kinds_of_words_come_from_the_table(names, kinds):
    assert [" ".join(p.kinds) for p in link(mentions(names.split("/"))).people] == kinds


def test_nicknames_are_folded():
    assert "michael" in nicknames()["mike"]
    assert all(nick == nick.lower() and names for nick, names in nicknames().items())


@pytest.mark.parametrize(("names", "read"), CASES["misspelt"])
def test_a_name_written_wrong_is_the_one_it_is_meant_for(names, read):
    forms = [read_tokens(name.split()).form for name in names.split("/")]
    found = respell(forms)
    assert (found[0], found[1].words) == (forms[0], tuple(read.split()))


def test_one_of_two_misspellings_stands_for_both():
    forms = respell([read_tokens([word]).form for word in ("Prszybilla", "Prszybila", "Oyelaran")])
    assert forms[0] == forms[1] != forms[2]


def test_the_words_of_a_long_list_are_not_each_compared_with_every_other(monkeypatch):
    rng, parts = (
        random.Random(46),
        "ka ri mo ten wu sha vol pe ne qua dri zil tho mar bek yun".split(),
    )
    forms = [
        read_tokens(["".join(rng.choices(parts, k=4)), "".join(rng.choices(parts, k=4))]).form
        for _ in range(1000)
    ]
    compared = []
    monkeypatch.setattr(module, "is_slip", lambda *pair: compared.append(pair) or is_slip(*pair))
    assert respell(forms) != forms  # some are alike by chance
    assert len(compared) < 20 * len(forms)  # of four million pairs
