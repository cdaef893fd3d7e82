"""The name table: gender, origin, and samples that are good surrogates."""

import random

import pytest

from pii_components.names.table import (
    MIN_POOL,
    REGIONS,
    NameTable,
    name_table,
)
from scripts.build_name_table import TableRow, write_table


def test_gender():
    for gender, names in {"F": "Maria MARIA", "M": "josé John Chidi Min-jun"}.items():
        assert {name_table().gender(name) for name in names.split()} == {gender}
    assert name_table().gender("Qqxyz") is name_table().gender("Andrea") is None


SURNAMES = """Smith EN, O'Brien EN, McDonald EN, MCDONALD EN, GARCIA ES, García ES, Silva PT, Rossi IT, Müller DE, Wang CN, Tanaka JP,
Kim KR, Nguyen VN, Patel IN, Khan PK, Okafor WA, Hosseini IR, Cohen HE"""


@pytest.mark.parametrize(("name", "region"), [pair.split() for pair in SURNAMES.split(",")])
def test_region_of_surnames(name, region):
    assert name_table().regions(name)[0] == region


def test_unknown_names():
    table = name_table()
    assert table.countries("Qqxyz") == table.regions("Qqxyz") == ()
    assert not table.is_given("Qqxyz") and not table.is_surname("Qqxyz")


def test_english_words_are_no_surrogates():
    words = set("Will Mark Grace Hope The April India Jordan King Young".split())
    for kind in (name_table()._given, name_table()._surnames):
        assert words.isdisjoint(kind.pools["", ""][0])


@pytest.mark.parametrize("region", sorted(REGIONS))
@pytest.mark.parametrize("gender", ["F", "M"])
def test_every_region_has_names(region, gender):
    table = name_table()
    assert len(table._given.pools[region, gender].names) >= MIN_POOL
    assert len(table._surnames.pools[region, ""].names) >= MIN_POOL
    rng = random.Random(0)
    assert table.is_given(table.sample_given(rng, gender, "nowhere"))  # the world's
    for _ in range(10):
        given, surname = table.sample_given(rng, gender, region), table.sample_surname(rng, region)
        assert table.gender(given) in (gender, None)  # None: without accents, both bear it
        assert table.is_surname(surname)


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
    assert len(table.pool(given=True).names) == 2
    write_table(tmp_path / "again", reversed(rows))
    assert (tmp_path / "again").read_bytes() == (tmp_path / "given").read_bytes()
