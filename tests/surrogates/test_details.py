"""Surrogates of e-mail addresses, user names, web addresses, phone numbers, ID numbers and street addresses."""

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pii_components.names.link import link
from pii_components.names.parse import read_mention
from pii_components.surrogates.handles import surrogate_email, surrogate_url, surrogate_username
from pii_components.surrogates.numbers import id_key, phone_key, surrogate_id_num, surrogate_phone
from pii_components.surrogates.person_names import Named
from pii_components.surrogates.places import surrogate_address
from pii_components.surrogates.plan import GENERATORS as ALL_GENERATORS
from pii_components.surrogates.values import canonical, distinct

from .conftest import CONTEXT


def named(text: str, *surrogates: str) -> Named:
    return Named(link([read_mention(text)])[0][0], surrogates)


PEOPLE = (named("Maria Lopez", "Carla", "Vidal"), named("José O'Neil", "Héctor", "Byrne"))
RESERVED = replace(CONTEXT, people=PEOPLE)
REALISTIC = replace(RESERVED, reserved=False)


def shape(text: str) -> str:
    return re.sub(r"[A-Z]", "A", re.sub(r"[a-z]", "a", re.sub(r"\d", "9", text)))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("maria.lopez@stateu.edu", "carla.vidal@example.edu"),
        ("mlopez@gmail.com", "cvidal@example.com"),
        ("lopezm@cs.uni.ac.uk", "vidalc@example.edu"),
        ("MLOPEZ@GMAIL.COM", "CVIDAL@EXAMPLE.COM"),
        ("Maria_Lopez@club.org", "Carla_Vidal@example.org"),
        ("joneil@school.k12.ca.us", "hbyrne@example.edu"),
        ("mariawrites@gmail.com", "carlawrites@example.com"),
        ("m.lopez [at] gmail (dot) com", "c.vidal [at] example (dot) com"),
        ("marialopez at stateu dot edu", "carlavidal at example dot edu"),
        ("mailto:lopezmaria@web.de", "mailto:vidalcarla@example.com"),
    ],
)
def test_email_has_the_surrogate_name(value, expected):
    assert surrogate_email(value, RESERVED) == expected


def test_email_domains():
    assert surrogate_email("mlopez@gmail.com", REALISTIC) == "cvidal@gmail.com"
    assert re.fullmatch(r"cvidal@[a-z]+\.edu", surrogate_email("mlopez@stateu.edu", REALISTIC))
    assert "stateu" not in surrogate_email("mlopez@stateu.edu", REALISTIC)
    assert surrogate_email("@", RESERVED) is None


def runs(email: str) -> list[str]:
    return re.findall(r"[a-z]+|\d+|\W|_", email.partition("@")[0])


UNLINKED = "skater_boy12@hotmail.com jdoe@abc.org x9@y.com wang.li88@qq.com jose-o.neil@x.net"
DIGITS = "mlopez99@stateu.edu maria.lopez1999@gmail.com l.maria-07@x.org"


@pytest.mark.parametrize("value", f"{UNLINKED} {DIGITS}".split())
def test_email_keeps_its_pattern_only(value):
    for old, new in zip(runs(value), runs(surrogate_email(value, RESERVED)), strict=True):
        assert old != new or not old.isalnum()


def test_handles_agree_everywhere():
    handle = surrogate_username("@mlopez99", RESERVED)[1:]
    assert surrogate_email("mlopez99@gmail.com", RESERVED) == f"{handle}@example.com"
    assert surrogate_url("https://github.com/mlopez99", RESERVED) == f"https://github.com/{handle}"
    assert surrogate_username("MLopez99", RESERVED) == "CVidal" + handle[6:]


def test_username():
    assert surrogate_username("@maria_l", RESERVED) == "@carla_v"
    assert surrogate_username("JoseONeil", RESERVED) == "HectorByrne"
    assert surrogate_username("mari", RESERVED) not in ("mari", None)
    assert surrogate_username("...", RESERVED) is None


@pytest.mark.parametrize(
    ("value", "pattern"),
    [
        (
            "https://in.linkedin.com/in/maria-lopez-4f2a9c/",
            r"https://in\.linkedin\.com/in/carla-vidal-\d[a-z]\d[a-z]\d[a-z]/",
        ),
        ("linkedin.com/pulse/maria-lopez", r"linkedin\.com/pulse/carla-vidal"),
        (
            "https://www.linkedin.com/posts/marialopez_learning-activity-6899",
            r".*/posts/carlavidal_learning-activity-\d{4}",
        ),
        (
            "https://www.linkedin.com/feed/update/urn:li:activity:689912",
            r".*/feed/update/urn:li:activity:\d{6}",
        ),
        ("youtube.com/@mlopez?list=PLx91", r"youtube\.com/@cvidal\?list=[A-Z]{2}[a-z]\d\d"),
        (
            "https://www.youtube.com/watch?v=dQw4w9WgXcQ",
            r"https://www\.youtube\.com/watch\?v=(?!dQw)\w{11}",
        ),
        (
            "https://www.youtube.com/channel/UCabcdefghijklmnopqrstuv",
            r".*/channel/UC(?!abc)[a-z]{22}",
        ),
        ("https://m.youtube.com/c/MariaLopez", r"https://m\.youtube\.com/c/CarlaVidal"),
        ("https://youtu.be/dQw4w9WgXcQ", r"https://youtu\.be/(?!dQw)\w{11}"),
        (
            "https://www.facebook.com/profile.php?id=100012345678",
            r".*/profile\.php\?id=(?!1000)\d{12}",
        ),
        ("instagram.com/maria.lopez", r"instagram\.com/carla\.vidal"),
        ("mlopez.wordpress.com/about", r"cvidal\.wordpress\.com/about"),
        ("http://www.marialopez.com/about", r"http://www\.carlavidal\.example\.com/about"),
        ("www. linkedin .com/in/joseoneil", r"www\.linkedin\.com/in/hectorbyrne"),
        ("http://10.1.2.3/~mlopez", r"http://192\.0\.2\.\d+/~cvidal"),
        ("@mlopez", r"@cvidal"),
        (
            "https://www.youtube.com/watch?v=abc1&list=PLxy9#t-ana",
            r"https://www\.youtube\.com/watch\?v=\w{4}&list=\w{5}#(?!t-ana).*",
        ),
        ("x.org/a?k=1?y=2;flag", r"\w+\.example\.org/\w\?k=\d\?[a-xz]=\d;(?!flag)\w{4}"),
    ],
)
def test_url_is_taken_apart(value, pattern):
    assert re.fullmatch(pattern, surrogate_url(value, RESERVED))


def test_url_realistic_or_impersonal():
    page = surrogate_url("http://www.marialopez.co.uk/", REALISTIC)
    assert page == "http://www.carlavidal.co.uk/"
    for value in ("https://www.facebook.com/", "", "///"):
        assert surrogate_url(value, RESERVED) is None


@pytest.mark.parametrize(
    ("value", "pattern"),
    [
        ("(312) 867-5309", r"\((?!312)\d{3}\) 555-01\d\d"),
        ("312.867.5309", r"(?!312)\d{3}\.555\.01\d\d"),
        ("+1 312 867 5309", r"\+1 (?!312)\d{3} 555 01\d\d"),
        ("3128675309", r"(?!312)\d{3}55501\d\d"),
        ("867-5309", r"555-01\d\d"),
        ("+44 7911 123456", r"\+44 7700 900\d{3}"),
        ("+33 6 12 34 56 78", r"\+33 1 99 00 \d\d \d\d"),
        ("+91 98765 43210", r"\+91 [^09]\d{4} \d{5}"),
        ("98765 43210", r"[^09]\d{4} \d{5}"),
        ("+55 11 91234-5678", r"\+55 \d\d \d{5}-\d{4}"),
        ("030 1234567", r"0\d\d \d{7}"),
        ("312-867-5309 ext. 42", r"(?!312)\d{3}-555-01\d\d ext\. \d\d"),
        ("five five oh one", r"(?:(?!five)\w+ ){2}(?!oh)\w+ (?!one)\w+"),
    ],
)
def test_phone_keeps_its_shape(value, pattern):
    assert re.fullmatch(pattern, surrogate_phone(value, RESERVED))


def test_phone_forms():
    assert re.fullmatch("[０-９]{8}", surrogate_phone("０１２３４５６７", RESERVED))
    assert "555" not in surrogate_phone("(312) 867-5309", REALISTIC)
    assert surrogate_phone("call me", RESERVED) is None


def test_forms_of_one_number_agree():
    phones = ["(312) 867-5309", "312.867.5309", "+1 312 867 5309"]
    made = distinct(phones, surrogate_phone, RESERVED, forbidden=(), key=phone_key)
    assert len({canonical(v)[-10:] for v in made.values()}) == 1
    ids = ["AB-2047", "ab2047", "ID: AB 2047"]
    made = distinct(ids, surrogate_id_num, RESERVED, forbidden=(), key=id_key)
    assert len({id_key(v) for v in made.values()}) == 1


@pytest.mark.parametrize(
    "value",
    [
        "AB-2047/x",
        "20194455",
        "a1B2c3",
        "STU 44 90 17",
        "№ 345",
        "0042",
        "٣٤٥",
        "小四五",
        "Ⅷ９",
        "7",
    ],
)
def test_id_changes_every_place(value):
    for attempt in range(10):
        new = surrogate_id_num(value, RESERVED, attempt)
        assert shape(new) == shape(value) or not value.isascii()
        assert all(a != b for a, b in zip(value, new, strict=True) if a.isalnum()) and new.strip()


@pytest.mark.parametrize(
    ("value", "lead"),
    [("Student ID: 2019-44", "Student ID: "), ("ID# 8812", "ID# "), ("Roll No. 7731", "Roll No. ")],
)
def test_id_keeps_the_word_before_it(value, lead):
    new = surrogate_id_num(value, RESERVED)
    assert new.startswith(lead)
    assert new[len(lead) :] != value[len(lead) :]


def test_id_in_other_scripts():
    assert re.fullmatch(r"[٠-٩]{3}", surrogate_id_num("٣٤٥", RESERVED))
    assert surrogate_id_num("#!?", RESERVED) is None


@pytest.mark.parametrize(
    ("value", "pattern"),
    [
        (
            "1420 Oak Hill Road, Apt 7, Dayton, OH 45402",
            r"\d{4} [A-Z]\w+ [A-Z]\w+ Road, Apt \d, [A-Z]\w+, (?!OH)[A-Z]{2} \d{5}",
        ),
        (
            "12 W 42nd St., New York, NY",
            r"\d\d W \d\d(?:st|nd|rd|th) St\., \w+ \w+, (?!NY)[A-Z]{2}",
        ),
        ("PO Box 552, Hartford, CT 06103", r"PO Box \d{3}, (?!Hart)\w+, (?!CT)[A-Z]{2} \d{5}"),
        (
            "Flat 3, 17 Gower Street\nLondon WC1E 6BT",
            r"Flat \d, \d\d (?!Gower)\w+ Street\n(?!London)\w+ [A-Z]{2}\d[A-Z] \d[A-Z]{2}",
        ),
        ("17 OAK STREET", r"\d\d (?!OAK)[A-Z]+ STREET"),
        ("calle de la luna 5", r"calle de la (?!luna)[a-z]+ \d"),
    ],
)
def test_address_keeps_its_layout(value, pattern):
    new = surrogate_address(value, RESERVED)
    assert re.fullmatch(pattern, new)
    assert not set(re.findall(r"\d+", value)) & set(re.findall(r"\d+", new))


@pytest.mark.parametrize(
    ("value", "pattern"),
    [
        ("Hauptstraße 12, Dresden, Germany", r"(?!Haupt)\w+straße \d\d, (?!Dresden)\w+, Germany"),
        (
            "81 Bay Street, Toronto, ON M5V 2T6, Canada",
            r"\d\d [A-Z]\w+ Street, \w+, (?!ON)[A-Z]{2} [A-Z]\d[A-Z] \d[A-Z]\d, Canada",
        ),
        (
            "4 Kent Street, Sydney NSW 2000",
            r"\d [A-Z]\w+ Street, \w+ (?!NSW)(?:QLD|VIC|TAS|ACT) \d{4}",
        ),
        ("12 rue Lepic, Paris, France", r"\d\d rue (?!Lepic)\w+, (?!Paris)\w+, France"),
        (
            "4 Elm Road, Monterrey, N.L.",
            r"\d [A-Z]\w+ Road, (?!Mont)\w+, (?:Q\.R|S\.L\.P|B\.C|B\.C\.S|D\.F)\.",
        ),
        (
            "12 K St. N.W., Washington, D.C. 20005",
            r"\d\d [A-Z]\w+ St\. N\.W\., (?!Wash)\w+, (?!D\.C)[A-Z]\.[A-Z]\. \d{5}",
        ),
        ("P.O. Box 552, Toluca, EDMX", r"P\.O\. Box \d{3}, (?!Tol)\w+, (?!EDMX)[A-Z]{4}"),
    ],
)
def test_address_stays_in_its_country(value, pattern):
    assert re.fullmatch(pattern, surrogate_address(value, RESERVED))
    assert surrogate_address(" , ", RESERVED) is None


VALUES = st.text(alphabet="abzAZ019-_. @/:é小٣", min_size=1, max_size=24)
GENERATORS = [
    generator
    for label, generator in ALL_GENERATORS.items()
    if label not in ("OTHER", "LOCATION", "EDUCATION", "EMPLOYER")
]


@pytest.mark.parametrize("generator", GENERATORS)
@settings(max_examples=40, deadline=None)
@given(VALUES)
def test_any_text_changes_or_has_none(generator, value):
    for context in (RESERVED, REALISTIC):
        new = generator(value, context, 0)
        assert new is None or generator(value, context, 0) == new
        assert new is None or new != value or not any(ch.isalnum() for ch in value)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.from_regex(r"[A-Z]{0,2}\d{3,6}", fullmatch=True), min_size=1, unique=True),
    st.randoms(use_true_random=False),
)
def test_distinct_stay_distinct_in_order(values, random):
    made = distinct(values, surrogate_id_num, RESERVED, forbidden=(), key=id_key)
    random.shuffle(values)
    assert distinct(values, surrogate_id_num, RESERVED, forbidden=(), key=id_key) == made
    assert len(set(made.values())) == len(values)
    assert not set(made.values()) & set(values)
