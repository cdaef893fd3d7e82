"""Most names are read without nameparser; what they are read as is what nameparser says."""

import random

import pytest

from pii_components.names.parse import FAMILY, LONE, Mention, _plain_words, _words, read_mention
from pii_components.names.table import name_table


def invented(rng: random.Random) -> str:
    """Words of the name table and initials in each order and case, the other way round too."""
    table = name_table()

    def word() -> str:
        if rng.random() < 0.12:
            return rng.choice("ABDEGHJKLMNPRSTVZ") + "."
        found = table.sample_given(rng) if rng.random() < 0.5 else table.sample_surname(rng)
        found += "-" + table.sample_surname(rng) if rng.random() < 0.06 else ""
        return rng.choice((found,) * 8 + (found.lower(), found.upper()))

    words = [word() for _ in range(rng.randint(1, 5))]
    cut = rng.randrange(len(words)) if rng.random() < 0.5 else 0
    return " ".join(words[:cut]) + ", " + " ".join(words[cut:]) if cut else rng.choice("   _").join(words)


PARTICLES = ["", "bin", "da", "de", "de la", "del", "di", "dos", "du", "van", "van der", "von", "von der"]


@pytest.mark.parametrize("particles", PARTICLES)
def test_plain_names_are_read_as_nameparser_reads_them(particles):
    rng = random.Random(particles)
    names = [f"{invented(rng)} {particles} {name_table().sample_surname(rng)}" if particles else invented(rng) for _ in range(200)]
    names += [name.replace(" ", "_") for name in names[:20]]
    plain = [name for name in names if _plain_words(name) is not None]
    assert len(plain) > 30
    assert [name for name in plain if (_plain_words(name), "", False) != _words(name)] == []


def as_nameparser_reads(name: str, title: str) -> Mention:
    words, gender, titled = _words(name)
    lone = [words[0]._replace(kind=FAMILY if titled or title else LONE)] if len(words) == 1 else words
    return Mention.of(name, lone, gender or {"Mr.": "M"}.get(title, ""))


@pytest.mark.parametrize("title", ["", "Mr."])
def test_names_of_one_or_two_words_are_read_as_nameparser_reads_them(title):
    rng = random.Random(5)
    names = [invented(rng) for _ in range(300)]
    names += ["Dean", "Ana", "Ana King", "a b", "An", "Bo Li", "Ana  Lopez", " Ana", "Zo\u00eb Lim"]
    read = [read_mention(name, before=f"the words of {title} ") for name in names]
    assert read == [as_nameparser_reads(name, title) for name in names]


NOT_PLAIN = """Lopez Baker, JD;Juan y Cruz;Dr. Lopez;Tom Baker Jr.;Lopez Baker, V.;M A R I A;T0m Baker;Nguyen van Anh;Ana De La Cruz;van der Berg
Ana de Lopez Ruiz;Ana van;Anne-Lou de Roo"""


@pytest.mark.parametrize("name", NOT_PLAIN.replace("\n", ";").split(";"))
def test_other_names_are_left_to_nameparser(name):
    assert _plain_words(name) is None
