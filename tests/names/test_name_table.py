"""The name table: gender, origin, and samples that are good surrogates."""

import random

import pytest

from pii_components.names.letters import fold
from pii_components.names.table import (
    MIN_POOL,
    REGIONS,
    NameTable,
    TableRow,
    name_table,
    write_table,
)


@pytest.mark.parametrize(
    "name", ["Maria F", "MARIA F", "josé M", "John M", "Chidi M", "Min-jun M", "Qqxyz ", "Andrea "]
)
def test_gender(name):
    word, gender = name.split(" ")
    assert name_table().gender(word) == (gender or None)


SURNAMES = """Smith EN, O'Brien EN, McDonald EN, MCDONALD EN, GARCIA ES, García ES, Silva PT, Rossi IT, Müller DE, Wang CN, Tanaka JP,
Kim KR, Nguyen VN, Patel IN, Khan PK, Okafor WA, Hosseini IR, Cohen HE"""


@pytest.mark.parametrize(("name", "region"), [pair.split() for pair in SURNAMES.split(",")])
def test_region_of_surnames(name, region):
    assert name_table().regions(name)[0] == region


def test_unknown_names():
    table = name_table()
    assert table.countries("Qqxyz") == table.regions("Qqxyz") == ()
    assert not table.is_given("Qqxyz")
    assert not table.is_surname("Qqxyz")


@pytest.mark.parametrize(
    "word", ["Will", "Mark", "Grace", "Hope", "The", "April", "India", "Jordan", "King", "Young"]
)
def test_english_words_and_countries_are_no_surrogates(word):
    for kind in (name_table()._given, name_table()._surnames):
        assert word not in kind.pools["", ""][0]


@pytest.mark.parametrize("region", sorted(REGIONS))
@pytest.mark.parametrize("gender", ["F", "M"])
def test_every_region_has_names(region, gender):
    table = name_table()
    assert table.pool_size(given=True, gender=gender, region=region) >= MIN_POOL
    assert table.pool_size(given=False, region=region) >= MIN_POOL
    rng = random.Random(0)
    for _ in range(10):
        given, surname = table.sample_given(rng, gender, region), table.sample_surname(rng, region)
        assert table.gender(given) in (
            gender,
            None,
        )  # None: a spelling without accents that both bear
        assert table.is_surname(surname)


def test_unknown_region_falls_back_to_the_world():
    table = name_table()
    assert table.is_given(table.sample_given(random.Random(1), "F", "nowhere"))


def test_table_round_trip(tmp_path):
    rows = [
        TableRow("José", "M", ("ES", "MX"), 2, True),
        TableRow("Jose", "M", ("ES",), 0, False),
        TableRow("Zoë", "F", ("NL",), 12, True),
        TableRow("Kim", "", ("KR", "US"), 3, False),
    ]
    write_table(tmp_path / "given", rows)
    write_table(tmp_path / "surnames", [])
    table = NameTable((tmp_path / "given").read_bytes(), (tmp_path / "surnames").read_bytes())
    assert table.gender("ZOE") == "F"
    assert table.regions_of_given("jose") == ("ES",)
    assert table.regions_of_given("josé") == ("ES",)
    assert table.gender("Kim") is None
    assert table._given.names == ["Jose", "José", "Kim", "Zoë"]
    assert table.pool_size(given=True) == 2
    write_table(tmp_path / "again", reversed(rows))
    assert (tmp_path / "again").read_bytes() == (tmp_path / "given").read_bytes()


@pytest.mark.parametrize(
    ("name", "folded"),
    [("José", "jose"), ("ŁUKASZ", "lukasz"), ("Øystein", "oystein"), ("O’Neil", "o'neil")],
)
def test_fold(name, folded):
    assert fold(name) == folded
