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

from .conftest import CONTEXT, rows


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
        assert len(old) == len(new) or not old.isdigit()


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


URLS = r"""
in.linkedin.com/in/maria-lopez-4f2a9c/ -> in\.linkedin\.com/in/carla-vidal-\d[a-z]\d[a-z]\d[a-z]/
linkedin.com/pulse/maria-lopez -> linkedin\.com/pulse/carla-vidal
www.linkedin.com/posts/marialopez_learning-activity-6899 -> .*/carlavidal_learning-activity-\d{4}
https://www.linkedin.com/feed/update/urn:li:activity:689912 -> .*/update/urn:li:activity:\d{6}
youtube.com/@mlopez?list=PLx91 -> youtube\.com/@cvidal\?list=[A-Z]{2}[a-z]\d\d
https://www.youtube.com/watch?v=dQw4w9WgXcQ -> https://www\.youtube\.com/watch\?v=(?!dQw)\w{11}
https://www.youtube.com/channel/UCabcdefghijklmnopqrstuv -> .*/channel/UC(?!abc)[a-z]{22}
https://m.youtube.com/c/MariaLopez -> https://m\.youtube\.com/c/CarlaVidal
https://youtu.be/dQw4w9WgXcQ -> https://youtu\.be/(?!dQw)\w{11}
https://www.facebook.com/profile.php?id=100012345678 -> .*/profile\.php\?id=(?!1000)\d{12}
instagram.com/maria.lopez -> instagram\.com/carla\.vidal
mlopez.wordpress.com/about -> cvidal\.wordpress\.com/about
http://www.marialopez.com/about -> http://www\.carlavidal\.example\.com/about
www. linkedin .com/in/joseoneil -> www\.linkedin\.com/in/hectorbyrne
http://10.1.2.3/~mlopez -> http://(?:192\.0\.2|198\.51\.100|203\.0\.113)\.\d+/~cvidal
@mlopez -> @cvidal
www.youtube.com/watch?v=abc1&list=PLxy9#t-ana -> .*/watch\?v=\w{4}&list=\w{5}#(?!t-ana).*
x.org/a?k=1?y=2;flag -> \w+\.example\.org/\w\?k=\d\?[a-xz]=\d;(?!flag)\w{4}
"""


@pytest.mark.parametrize(("value", "pattern"), rows(URLS))
def test_url_is_taken_apart(value, pattern):
    assert re.fullmatch(pattern, surrogate_url(value, RESERVED))


def test_url_realistic_or_impersonal():
    page = surrogate_url("http://www.marialopez.co.uk/", REALISTIC)
    assert page == "http://www.carlavidal.co.uk/"
    for value in ("https://www.facebook.com/", "", "///"):
        assert surrogate_url(value, RESERVED) is None


PHONES = r"""
(312) 867-5309 -> \((?!312)\d{3}\) 555-01\d\d
312.867.5309 -> (?!312)\d{3}\.555\.01\d\d
+1 312 867 5309 -> \+1 (?!312)\d{3} 555 01\d\d
3128675309 -> (?!312)\d{3}55501\d\d
867-5309 -> 555-01\d\d
+44 7911 123456 -> \+44 7700 900\d{3}
+33 6 12 34 56 78 -> \+33 1 99 00 \d\d \d\d
+91 98765 43210 -> \+91 [^09]\d{4} \d{5}
98765 43210 -> [^09]\d{4} \d{5}
+55 11 91234-5678 -> \+55 \d\d \d{5}-\d{4}
030 1234567 -> 0\d\d \d{7}
312-867-5309 ext. 42 -> (?!312)\d{3}-555-01\d\d ext\. \d\d
０１２３４５６７ -> \d{8}
"""


@pytest.mark.parametrize(("value", "pattern"), rows(PHONES))
def test_phone_keeps_its_shape(value, pattern):
    assert re.fullmatch(pattern, surrogate_phone(value, RESERVED))
    assert "555" not in surrogate_phone("(312) 867-5309", REALISTIC)
    assert surrogate_phone("call me", RESERVED) is None


def test_forms_of_one_number_agree():
    phones = ["(312) 867-5309", "312.867.5309", "+1 312 867 5309"]
    made = distinct(phones, surrogate_phone, RESERVED, forbidden=(), key=phone_key)
    assert len({canonical(v)[-10:] for v in made.values()}) == 1
    ids = ["AB-2047", "ab2047", "ID: AB 2047"]
    made = distinct(ids, surrogate_id_num, RESERVED, forbidden=(), key=id_key)
    assert len({id_key(v) for v in made.values()}) == 1


IDS = "AB-2047/x; 20194455; a1B2c3; STU 44 90 17; № 345; 0042; ٣٤٥; 小四五; Ⅷ９; 7"


@pytest.mark.parametrize("value", IDS.split("; "))
def test_id_keeps_its_shape(value):
    for attempt in range(10):
        new = surrogate_id_num(value, RESERVED, attempt)
        assert shape(new) == shape(value) or not value.isascii()
        assert new != value and len(new) == len(value)


def test_id_keeps_the_word_before():
    for lead, number in (("Student ID: ", "2019-44"), ("ID# ", "8812"), ("Roll No. ", "7731")):
        new = surrogate_id_num(lead + number, RESERVED)
        assert new.startswith(lead) and new != lead + number
    assert re.fullmatch(r"[٠-٩]{3}", surrogate_id_num("٣٤٥", RESERVED))
    assert surrogate_id_num("#!?", RESERVED) is None


ADDRESSES = r"""
1420 Oak Road, Apt 7, Dayton, OH 45402 -> \d{4} [A-Z]\w+ Road, Apt \d, [A-Z]\w+, (?!OH)[A-Z]{2} \d{5}
9 Oak Hill Road -> \d [A-Z]\w+ [A-Z]\w+ Road
12 W 42nd St., New York, NY -> \d\d W \d\d(?:st|nd|rd|th) St\., \w+ \w+, (?!NY)[A-Z]{2}
PO Box 552, Hartford, CT 06103 -> PO Box \d{3}, (?!Hart)\w+, (?!CT)[A-Z]{2} \d{5}
Flat 3, 17 Gower Street\nLondon WC1E 6BT -> Flat \d, \d\d (?!Gower)\w+ Street\n(?!London)\w+ [A-Z]{2}\d[A-Z] \d[A-Z]{2}
17 OAK STREET -> \d\d (?!OAK)[A-Z]+ STREET
calle de la luna 5 -> calle de la (?!luna)[a-z]+ \d
"""
ABROAD = r"""
12 Haupt Street, Dresden, Germany -> \d\d (?!Haupt)\w+ Street, (?!Dresden)\w+, Germany
81 Bay Street, Toronto, ON M5V 2T6, Canada -> .* Street, \w+, (?!ON)[A-Z]{2} [A-Z]\d[A-Z] \d[A-Z]\d, Canada
4 Kent Street, Sydney NSW 2000 -> \d [A-Z]\w+ Street, \w+ (?!NSW)(?:QLD|VIC|TAS|ACT) \d{4}
12 rue Lepic, Paris, France -> \d\d rue (?!Lepic)\w+, (?!Paris)\w+, France
4 Elm Road, Monterrey, N.L. -> \d [A-Z]\w+ Road, (?!Mont)\w+, (?:Q\.R|S\.L\.P|B\.C|B\.C\.S|D\.F)\.
12 K St. N.W., Washington, D.C. 20005 -> \d\d \w+ St\. N\.W\., (?!Wash)\w+, (?!D\.C)[A-Z]\.[A-Z]\. \d{5}
P.O. Box 552, Toluca, EDMX -> P\.O\. Box \d{3}, (?!Tol)\w+, (?!EDMX)[A-Z]{4}
"""


@pytest.mark.parametrize(("value", "pattern"), rows(ADDRESSES))
def test_address_keeps_its_layout(value, pattern):
    value = value.replace(r"\n", "\n")
    new = surrogate_address(value, RESERVED)
    assert re.fullmatch(pattern, new)
    assert not set(re.findall(r"\d+", value)) & set(re.findall(r"\d+", new))


@pytest.mark.parametrize(("value", "pattern"), rows(ABROAD))
def test_address_stays_in_its_country(value, pattern):
    assert re.fullmatch(pattern, surrogate_address(value, RESERVED))
    assert surrogate_address(" , ", RESERVED) is None


VALUES = st.text(alphabet="abzAZ019-_. @/:é小٣", min_size=1, max_size=24)
MAPPED = {"OTHER", "LOCATION", "EDUCATION", "EMPLOYER"}
GENERATORS = [ALL_GENERATORS[label] for label in ALL_GENERATORS if label not in MAPPED]


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
