"""Surrogates of ages, dates, places, schools, workplaces, and what a user maps."""

import re
import warnings
from dataclasses import replace
from datetime import date, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pii_components.errors import PiiWarning
from pii_components.surrogates.component import HipsSurrogate
from pii_components.surrogates.dates import (
    choose_age_shift,
    choose_date_shift,
    surrogate_age,
    surrogate_date,
    weekday_beside,
)
from pii_components.surrogates.keys import SurrogateKey
from pii_components.surrogates.places import (
    surrogate_education,
    surrogate_employer,
    surrogate_location,
)

from .conftest import CONTEXT, KEY, KEYS, hide, make_doc, surrogates_of

NUMBER_WORD = r"(?:twenty|thirty|forty|fifty)(?:-\w+)?|\w+teen|ten|twelve|eleven"


# Ages


@pytest.mark.parametrize(
    ("value", "pattern"),
    [
        ("14", r"\d\d"),
        ("14-year-old", r"\d\d-year-old"),
        ("aged 9 and 12", r"aged \d+ and \d+"),
        ("twenty-one years old", rf"(?:{NUMBER_WORD}) years old"),
        ("TWENTY-ONE", r"[A-Z-]+"),
        ("Sixteen", r"[A-Z][a-z]+"),
        ("14th birthday", r"\d\dth birthday"),
        ("in her mid-thirties", r"in her mid-(?:twenties|forties)"),
        ("my 20s", r"my 30s"),
        ("12.5 years", r"\d\d\.[^5] years"),
        ("16½", r"\d\d½"),
    ],
)
def test_age_keeps_its_form(value, pattern):
    new = surrogate_age(value, CONTEXT)
    assert re.fullmatch(pattern, new)
    assert new != value


@pytest.mark.parametrize("value", ["14-15 May 2018", "May 14-15, 2018"])
def test_two_days_with_a_slash_are_those_with_a_dash(value):
    new = surrogate_date(value.replace("-", "/"), CONTEXT)
    assert new == surrogate_date(value, CONTEXT).replace("-", "/")


@pytest.mark.parametrize("value", ["a boy", "", "14 in Dayton", "16²", "999 years old"])
def test_unreadable_age_has_none(value):
    assert surrogate_age(value, CONTEXT) is None


def test_words_and_digits_agree(hips):
    hips.profile = surrogates_of("AGE")
    new = hide(hips, "{AGE|14}; {AGE|14-year-old}; {AGE|fourteen}; {AGE|17}").split("; ")
    assert new[1] == f"{new[0]}-year-old"
    assert int(new[3]) - int(new[0]) == 3


@settings(max_examples=60, deadline=None)
@given(st.sets(st.integers(3, 90), min_size=1, max_size=6), st.integers(1, 5), st.integers(0, 50))
def test_ages_stay_near_and_in_order(ages, spread, n):
    chance = SurrogateKey(KEY, f"document:{n}")
    texts = [str(age) for age in ages]
    shift = choose_age_shift(texts, chance, spread=spread, border=18)
    for age, new in zip(ages, map(shift, ages), strict=True):
        assert new is None or (0 < abs(new - age) <= spread and (new < 18) == (age < 18))
    free = choose_age_shift(texts, chance, spread=1)
    assert sorted(map(free, ages)) == [free(a) for a in sorted(ages)]


# Dates

DATES = [
    ("May 3, 1999", r"[A-Z][a-z]+ \d+, 199\d"),
    ("Tuesday, 04/05/2021", r"[A-Z][a-z]+day, \d\d/\d\d/20\d\d"),
    ("from 2015 to 2019", r"from 20\d\d to 20\d\d"),
    ("2019-05-12", r"20\d\d-\d\d-\d\d"),
    ("20190512", r"20\d{6}"),
    ("3rd of May, 1999", r"\d+(?:st|nd|rd|th) of [A-Z][a-z]+, 199\d"),
    ("MAY 3", r"[A-Z]+ \d+"),
    ("may 3", r"[a-z]+ \d+"),
    ("Sept. 3rd, 2019", r"[A-Z][a-z]+\. \d+(?:st|nd|rd|th), 20\d\d"),
    ("'99", r"'9\d"),
    ("the 1990s", r"the 1980s"),
    ("Spring 2014", r"(?:Winter|Summer) 20\d\d"),
    ("2015-16", r"20\d\d-\d\d"),
    ("May 3-5, 1999", r"[A-Z][a-z]+ \d+-\d+, 199\d"),
    ("12 Oct 2019", r"\d+ [A-Z][a-z]{2,3} 20\d\d"),
    ("13/5/2019", r"\d+/\d+/20\d\d"),
    ("05/2019", r"\d\d/20\d\d"),
    ("the 3rd", r"the \d+(?:st|nd|rd|th)"),
    ("October 12th 2016 at 5 pm", r"[A-Z][a-z]+ \d+(?:st|nd|rd|th) 20\d\d at \d+ pm"),
    ("Friday", r"[A-Z][a-z]+day"),
    ("March", r"[A-Z][a-z]+"),
]


@pytest.mark.parametrize(("value", "pattern"), DATES)
def test_date_keeps_its_format(value, pattern):
    shift = choose_date_shift([value], CONTEXT.chance)
    new = surrogate_date(value, replace(CONTEXT, dates=shift))
    assert re.fullmatch(pattern, new), new
    assert new != value


NO_DATES = "value 0; ; Ana's birthday; nineteen ninety"


@pytest.mark.parametrize("value", NO_DATES.split("; "))
def test_unreadable_date_has_none(value):
    assert surrogate_date(value, CONTEXT) is None


IMPOSSIBLE = [
    ("2/30/2019", "%m/%d/%Y"),
    ("14/14/2019", "%d/%m/%Y"),
    ("May 40, 1999", "%B %d, %Y"),
    ("2024-13-45", "%Y-%m-%d"),
    ("Mon Feb 30 10:02:11 2021", "%a %b %d %H:%M:%S %Y"),
    ("2018-07-04T10:30", "%Y-%m-%dT%H:%M"),
]


@pytest.mark.parametrize(("value", "style"), IMPOSSIBLE)
def test_any_date_becomes_a_possible_one(value, style):
    for n in range(30):
        chance = SurrogateKey(KEY, f"document:{n}")
        shift = choose_date_shift([value], chance)
        new = surrogate_date(value, replace(CONTEXT, dates=shift, chance=chance))
        moved = datetime.strptime(new.replace("Sept ", "Sep "), style)
        assert moved.strftime("%a") == new[:3] or "%a" not in style


TORN = [
    ("since {DATE|November}\n{DATE|3, 2025} we", r"since ([A-Z]\w+)\n(\d+), (20\d\d) we"),
    ("due 2024-01-{DATE|31} at", r"due 2024-01-(\d\d) at"),
    ("due 2024-{ID_NUM|02}-29 at", r"due 2024-(\d\d)-29 at"),
    ("on February {ID_NUM|29}, 2024", r"on February (\d\d?), 2024"),
    ("on February 29, {DATE|2024}", r"on February 29, (\d{4})"),
    ("on {ID_NUM|2024-01-15} it", r"on (\d{4})-(\d\d)-(\d\d) it"),
]


@pytest.mark.parametrize(("text", "pattern"), TORN)
def test_torn_date_is_a_possible_one(hips, text, pattern):
    hips.profile = surrogates_of("DATE", "ID_NUM")
    for n in range(12):
        new = hide(hips, f"{text} {n}").removesuffix(f" {n}")
        assert re.fullmatch(pattern, new) and new != re.sub(r"\{\w+\||\}", "", text)
        found = re.search(r"(\d{4})-(\d\d)-(\d\d)", new)
        if found:
            date(*map(int, found.groups()))
        elif "February" in text:
            datetime.strptime(new, "on %B %d, %Y")


STYLES = ("%Y-%m-%d", "%m/%d/%Y", "%B %d, %Y", "%d %b %Y", "%d %B %Y", "%Y%m%d", "%A, %B %d, %Y")
DAYS = st.dates(date(1950, 1, 1), date(2029, 12, 31))


@settings(max_examples=50, deadline=None)
@given(
    st.lists(DAYS, min_size=2, max_size=5, unique=True),
    st.sampled_from(STYLES),
    st.integers(0, 30),
    st.booleans(),
)
def test_dates_keep_order_and_intervals(days, style, n, local):
    values = [day.strftime(style) for day in days]
    shift = choose_date_shift(values, SurrogateKey(KEY, f"document:{n}"), local=local)
    context = replace(CONTEXT, dates=shift)
    new = []
    for value in values:
        made = surrogate_date(value, context)
        made = re.sub(r"\b([A-Z][a-z]{2})[a-z]*", r"\1", made) if "%b" in style else made
        day = datetime.strptime(re.sub(r"(?<!\d)(\d)(?!\d)", r"0\1", made), style).date()
        assert "%A" not in style or day.strftime("%A") in made
        new.append(day)
    (gap,) = {a - b for a, b in zip(days, new, strict=True)}
    assert gap > timedelta(days=300)
    assert all(a.year != b.year for a, b in zip(days, new, strict=True))


def test_other_dates_tell_the_order(hips):
    hips.profile = surrogates_of("DATE")
    new = hide(hips, "{DATE|25/12/2019} {DATE|03/01/2020}").split()
    first, second = (datetime.strptime(text, "%d/%m/%Y") for text in new)
    assert (second - first).days == 9


def test_weekdays_beside_dates_stay_right(hips):
    hips.profile = surrogates_of("DATE")
    for text, style in (
        ("On Tuesday, {DATE|May 4, 2021}, we met", "On Tuesday, %B %d, %Y, we met"),
        ("due {DATE|05/04/2021} (Tuesday)", "due %m/%d/%Y (Tuesday)"),
    ):
        assert datetime.strptime(hide(hips, text), style).weekday() == 1
    text = "Mon. May 3 and May 5"
    assert weekday_beside(text, 5, 10)
    assert not weekday_beside(text, 15, 20)


def test_one_shift_per_scope_and_key(hips):
    hips.profile, hips.scope = surrogates_of("DATE"), "corpus"
    one = hide(hips, "{DATE|May 3, 2019}")
    both = hide(hips, "It was {DATE|May 3, 2019} and {DATE|June 3, 2019}")
    assert both.startswith(f"It was {one} and")
    hips.set_key(KEY + b"!")
    assert hide(hips, "{DATE|May 3, 2019}") != one


# Places, schools, workplaces


@pytest.mark.parametrize(
    ("generator", "value", "pattern"),
    [
        (surrogate_location, "Dayton", r"[A-Z]\w+"),
        (surrogate_location, "Lima, Peru", r"[A-Z]\w+, [A-Z]\w+"),
        (surrogate_location, "Dayton, OH", r"[A-Z]\w+, (?!OH)[A-Z]{2}"),
        (surrogate_location, "Hamilton County", r"[A-Z]\w+ County"),
        (surrogate_location, "Mexicans", r"(?:Canadian|American)s"),
        (surrogate_location, "the Philippines", r"the [A-Z].*"),
        (surrogate_location, "New York", r"(?!New)[A-Z].*"),
        (surrogate_location, "Peru's", r"[A-Z]\w+'s"),
        (surrogate_location, "são paulo", r"[a-z]+"),
        (surrogate_education, "Ridgeview High School", r"[A-Z]\w+ High School"),
        (surrogate_education, "University of Ridgeview", r"University of [A-Z]\w+"),
        (surrogate_education, "MIT", r"[A-LN-Z][A-HJ-Z][A-SU-Z]"),
        (surrogate_education, "PS 118", r"[A-Z]{2} \d{3}"),
        (surrogate_education, "St. Mary's College", r"[A-Z]\w+ College"),
        (surrogate_employer, "Acme Corp.", r"[A-Z]\w+ Corp\."),
        (surrogate_employer, "Bank of Ridgeview", r"Bank of [A-Z]\w+"),
    ],
)
def test_place_keeps_its_kind(generator, value, pattern):
    new = generator(value, CONTEXT, 0)
    assert re.fullmatch(pattern, new), new
    assert new.casefold() != value.casefold()
    assert generator("?!", CONTEXT, 0) is None


def test_places_and_schools_agree():
    town = surrogate_location("Ridgeview", CONTEXT)
    assert surrogate_education("Ridgeview College", CONTEXT) == f"{town} College"
    assert surrogate_education("University of Ridgeview", CONTEXT) == f"University of {town}"


WORDS = st.text(alphabet="abcdefghilmnoprstuvwyz", min_size=4, max_size=9).map(str.capitalize)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(WORDS, min_size=1, max_size=5, unique=True),
    st.sampled_from(["LOCATION", "EDUCATION", "EMPLOYER"]),
    KEYS,
)
def test_no_part_of_a_place_survives(words, label, key):
    hips = HipsSurrogate(profile=surrogates_of("LOCATION", "EDUCATION", "EMPLOYER"))
    hips.set_key(key)
    with warnings.catch_warnings():
        # "Store" alone is a kind and no name: it may get its tag, with a warning.
        warnings.simplefilter("ignore", PiiWarning)
        new = hide(hips, "; ".join(f"{{{label}|{w}}}" for w in words)).split("; ")
    made = [n for n in new if n != f"[{label}]"]
    assert len(set(made)) == len(made) and len(new) == len(words)
    for old in set(words) - {"Hotel", "Hospital", "School", "Institute"}:
        assert not any(old.lower() in n.lower() or n.lower() in old.lower() for n in new)


def test_corpus_lends_shared_values_only(hips):
    hips.profile = surrogates_of("EMPLOYER", pool="corpus")
    shared = "{EMPLOYER|Zanfort Bank} {EMPLOYER|Quimby Bank} {EMPLOYER|Harlo Hotel}"
    rare = make_doc("{EMPLOYER|Mumpert Bank}")
    hips.observe([*(make_doc(f"text {i} {shared}") for i in range(3)), rare, rare, rare])
    new = [hide(hips, f"{{EMPLOYER|Zanfort Bank}} {i}") for i in range(12)]
    assert new == [f"Quimby Bank {i}" for i in range(12)]
    both = hide(hips, "{EMPLOYER|Mumpert Bank} {EMPLOYER|Zanfort Bank}")
    assert both != "Zanfort Bank Mumpert Bank"
    hips.profile = surrogates_of("EMPLOYER")
    assert "Quimby" not in hide(hips, "{EMPLOYER|Zanfort Bank}")


@pytest.mark.parametrize("label", ["EMPLOYER", "EDUCATION", "LOCATION"])
def test_rare_values_are_not_lent(hips, label):
    hips.profile = surrogates_of(label, pool="corpus")
    values = ["Zanfort", "Quimby", "Harlo"]
    docs = [make_doc(f"{{{label}|{value}}}") for value in values]
    hips.observe(docs)
    assert not {hips(doc)._.deidentified for doc in docs} & set(values)


# OTHER


def test_other_by_map_or_tag(hips):
    hips.profile = surrogates_of("OTHER", other={"the Twins": "my cousins"})
    with pytest.warns(UserWarning, match="W402"):
        new = hide(hips, "{OTHER|the twins} and {OTHER|the mayor}")
    assert new == "my cousins and [OTHER]"
    assert b"Twins" not in hips.to_bytes()
