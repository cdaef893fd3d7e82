"""Names that are written wrong once."""

import random

import pytest

from pii_components.names import spelling
from pii_components.names.parse import read_tokens
from pii_components.names.spelling import is_slip, respell


@pytest.mark.parametrize(
    "names, read",
    [
        ("Meenakshi Rao/Meenakhsi", "meenakshi"),  # two letters changed places
        ("Evgeny Karimov/Evgny", "evgeny"),  # one is missing
        ("Meenakshi Rao/Menaksshi", "meenakshi"),  # two slips in a long name
        ("Marisol Vega/Marisul/Marisel Roth", "marisul"),  # it may be either
        ("Evgeny Karimov/Vgny", "vgny"),  # too short
        ("Norman Jansen/Janssen", "janssen"),  # a name of its own
        ("Anika Challenger/Challenge", "challenge"),  # an English word
        ("Evgeny/Evgny", "evgeny"),  # a first name alone
        ("Evgeny/Evgny Karimov", "evgeny karimov"),  # in a full name
        ("Meenakshi Rao/Meenakhsi Roa", "meenakshi roa"),  # too short to tell, or a name of its own
    ],
)
def test_a_name_written_wrong_is_the_one_it_is_meant_for(names: str, read: str) -> None:
    forms = [read_tokens(name.split()).form for name in names.split("/")]
    found = respell(forms)
    assert (found[0], found[1].words) == (forms[0], tuple(read.split()))


def test_the_words_of_a_long_list_are_not_each_compared_with_every_other(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(46)
    parts = ["ka", "ri", "mo", "ten", "wu", "sha", "vol", "pe", "ne", "qua", "dri", "zil", "tho", "mar", "bek", "yun"]
    forms = [read_tokens(["".join(rng.choices(parts, k=4)), "".join(rng.choices(parts, k=4))]).form for _ in range(1000)]
    compared = []
    monkeypatch.setattr(spelling, "is_slip", lambda *pair: compared.append(pair) or is_slip(*pair))
    assert respell(forms) != forms  # some are alike by chance
    assert len(compared) < 20 * len(forms)  # of four million pairs


def test_one_of_two_misspellings_stands_for_both() -> None:
    forms = respell([read_tokens([word]).form for word in ("Prszybilla", "Prszybila", "Oyelaran")])
    assert forms[0] == forms[1] != forms[2]
