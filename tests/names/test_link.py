"""Reading one name, and linking the names of a text to its people.

Tables of names with "/" between them are in data/regression_cases/names.json.
"""

import random
import re

import pytest

from pii_components.names import link as linking
from pii_components.names import parse as parsing
from pii_components.names.parse import read_mention, read_tokens
from pii_components.names.table import name_table

from ..tiny import cases

CASES = cases("names")


def mentions(names):
    return linking.spell_initials([read_mention(name) for name in names])


@pytest.mark.parametrize(("text", "words"), CASES["read"])
def test_read_mention(text, words):
    mention = read_mention(text)
    assert [f"{w.kind}:{w.norm}" for w in mention.words] == words
    assert all(text[w.start : w.end] == w.text for w in mention.words)


def test_two_words_are_read_as_nameparser_reads_them(monkeypatch):
    """Most pairs are not given to it. Of those that may be: 500 of the table, and words that it knows."""
    rng = random.Random(5)
    given, surnames = name_table()._given.names, name_table()._surnames.names
    known = sorted(word for word in parsing._lexicon() if word.isascii())
    firsts = [*rng.sample(given, 400), *rng.sample(known, 100)]
    lasts = [*rng.sample(surnames, 400), *rng.sample(known, 100)]
    pairs = [f"{a} {b}".title() for a, b in zip(firsts, rng.sample(lasts, len(lasts)), strict=True)]
    quick = [read_mention(pair) for pair in pairs]
    parsing._read.cache_clear()
    monkeypatch.setattr(parsing, "_PAIR", re.compile(r"(?!)"))
    assert quick == [read_mention(pair) for pair in pairs]


def test_title_before_the_span():
    mention = read_mention("Lopez", before="I asked Ms. ")
    assert (mention.gender, mention.words[0].kind) == ("F", "family")
    for before in ("I asked ", "I asked 4Ms. ", "_ms "):
        assert read_mention("Lopez", before=before).words[0].kind == "lone"


@pytest.mark.parametrize(("tokens", "words", "letters", "comma"), CASES["tokens"])
def test_form_of_tokens(tokens, words, letters, comma):
    form = read_tokens(tokens).form
    initials = [n for n, is_initial in zip(form.norms, form.initials, strict=True) if is_initial]
    assert [list(form.words), initials, form.comma] == [words, letters, comma]


@pytest.mark.parametrize(("names", "owners"), [*CASES["same_people"], *CASES["linked"]])
def test_link(names, owners):
    assert linking.link(mentions(names.split("/"))).owners == owners


@pytest.mark.parametrize(("names", "persons", "owners"), CASES["taken_over"])
def test_links_of_detection_are_taken_over(names, persons, owners):
    links = linking.links_of([read_mention(name) for name in names], persons)
    assert links.owners == owners
    for name, places, owner in zip(names, links.places, owners, strict=True):
        assert owner < 0 or len(places) == len(read_mention(name).words)


def test_people_have_their_fullest_form():
    links = linking.links_of(
        [read_mention(name) for name in ("Ana", "Lopez, Ana", "A. Lopez")], (7, 7, 7)
    )
    assert [person.words for person in links.people] == [("lopez", "ana")]
    assert links.places == [(1,), (0, 1), (1, 0)]


@pytest.mark.parametrize(("names", "kinds"), CASES["kinds"])
def test_kinds_come_from_the_table(names, kinds):
    assert [" ".join(p.kinds) for p in linking.link(mentions(names.split("/"))).people] == kinds


def test_nicknames_are_folded():
    assert "michael" in linking.nicknames()["mike"]
    assert all(nick == nick.lower() and names for nick, names in linking.nicknames().items())


def test_many_people_are_not_compared_with_each_other(monkeypatch):
    asked, match = [], linking.match_form
    monkeypatch.setattr(linking, "match_form", lambda *form: asked.append(1) or match(*form))
    letters = "bdfgklmn"
    names = [f"Ana {a}{a}o{b}{b}u{c}{c}".title() for a in letters for b in letters for c in letters]
    links = linking.link([read_mention(name) for name in names])
    assert len(links.people) == len(set(links.owners)) == len(names)
    assert len(asked) < 40 * len(names)
