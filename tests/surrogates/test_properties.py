"""The 21 properties of surrogates, in the order of the design; each is told once more, in more detail, where its part is tested.

Everybody in here is invented.
"""

import json
import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pii_components.labels import AGREEMENT
from pii_components.names.link import nicknames_of
from pii_components.names.table import name_table
from pii_components.offsets import OffsetMap
from pii_components.profiles import Profile
from pii_components.surrogates.component import HipsSurrogate
from tests.fresh import fresh

from .conftest import KEY, KEYS, hide, make_doc, surrogates_of

S, T, C = "NAME_STUDENT", "NAME_INSTRUCTOR", "NAME_CITED"
NAMES = (
    "Maria Lopez; Tom Baker; Wei Chen; Jean-Luc Picard; Qzxwa Zzywq; José García; O'Neil; "
    "Juan de la Cruz; Sukarno"
).split("; ")
DETAILS = (
    ("EMAIL", "mlopez9@x.edu"),
    ("EMAIL", "who.knows@quill.org"),
    ("USERNAME", "@tbaker"),
    ("ID_NUM", "AB-20477"),
    ("PHONE_NUM", "+1 312 867 5309"),
    ("URL_PERSONAL", "https://github.com/mlopez"),
    ("STREET_ADDRESS", "12 Elm Street, Ashby"),
    ("DATE", "May 3, 2019"),
    ("AGE", "17"),
    ("LOCATION", "Zanfort"),
    ("EDUCATION", "Harlo High School"),
    ("EMPLOYER", "Mumpert Bank"),
)
SPANS = st.one_of(
    st.tuples(st.sampled_from([S, T]), st.sampled_from(NAMES)), st.sampled_from(DETAILS)
)
PIECES = st.lists(
    st.one_of(SPANS, st.text(alphabet="qvx .,\n'é", min_size=1, max_size=6)), max_size=9
)
EVERYTHING = surrogates_of(S, T, *(label for label, _ in DETAILS))
FEW = settings(max_examples=25, deadline=None)


def component(*, key: bytes = KEY, profile: Profile | str = EVERYTHING, **options) -> HipsSurrogate:
    hips = HipsSurrogate(profile=profile, **options)
    hips.set_key(key)
    return hips


def marked(pieces) -> str:
    return " ".join(p if isinstance(p, str) else f"{{{p[0]}|{p[1]}}}" for p in pieces)


def new(text: str, **options) -> str:
    return hide(component(**options), text)


def parts(text: str) -> list[str]:
    """RETURNS (list[str]): What stands for each; what has no label is a student's name."""
    spans = [part if "|" in part else f"{S}|{part}" for part in text.split("; ")]
    return new("; ".join(f"{{{span}}}" for span in spans)).split("; ")


@FEW
@given(PIECES, st.sampled_from([(S, "Maria Lopez"), *DETAILS]))
def test_property_01_same_value_same_surrogate(pieces, value):
    doc = component()(make_doc(marked([value, *pieces, value, "q", value])))
    same = [span for span in doc.spans["pii"] if span.text == value[1] and span.label_ == value[0]]
    assert len(same) >= 3
    places = [doc._.pii_offsets.span_to_new(s.start_char, s.end_char) for s in same]
    assert len({doc._.deidentified[start:end] for start, end in places}) == 1


def test_property_03_forms_stay_linked():
    full, first, last, comma, initial, nick, initials, slip = parts(
        "Elizabeth Lopez; Elizabeth; Lopez; Lopez, Elizabeth; E. Lopez; Liz; EL; Elizabteh Lopez"
    )
    given_name, surname = full.split()
    assert (first, last, comma, slip) == (given_name, surname, f"{surname}, {given_name}", full)
    assert initial == f"{given_name[0]}. {surname}"
    assert initials == given_name[0] + surname[0]
    assert nick.lower() in {given_name.lower(), *nicknames_of(given_name)}


@pytest.mark.parametrize(
    ("name", "gender", "region", "note"),
    [
        ("Maria Rossi", "F", "IT", ""),
        ("Hiroshi Tanaka", "M", "JP", ""),
        ("Olga Ivanova", "F", "RU", ""),
        ("Qzxwa Rossi", None, "IT", "gender unknown"),
        ("Maria Qzxwa", "F", None, ""),
        ("Qzxwa Zzywq", None, None, "gender unknown, origin unknown"),
    ],
)
def test_property_05_gender_and_origin(name, gender, region, note):
    table = name_table()
    for i in range(5):
        doc = component()(make_doc(f"{i} {{{S}|{name}}}"))
        row = doc._.surrogate_spans[0]
        first, last = doc._.deidentified[2:].split()
        assert not gender or table.gender(first) in (gender, None)
        assert not region or region in table.regions(last)
        assert not note or row["note"] == note


def test_property_06_accents_are_kept():
    made = [new(f"{{{S}|José}} {i}") for i in range(6)]
    assert any(not name.isascii() for name in made)
    assert all(new(f"{{{S}|Jose}} {i}").isascii() for i in range(6))


def test_property_08_no_original_or_author():
    hips = component()

    def names() -> set[str]:
        text = f"{{{S}|Maria Lopez}} read {{{C}|Garcia}} (2019), page"
        return {word for i in range(12) for word in hide(hips, f"{text} {i}").split()[:2]}

    free = names()
    assert "Garcia" not in free
    assert hips.observe([make_doc(f"{{{S}|{word}}}") for word in sorted(free)]) == len(free)
    assert names().isdisjoint(free)
    hips.forget()
    assert names() == free


@FEW
@given(st.sampled_from([*((S, n) for n in NAMES), *DETAILS]), KEYS)
def test_property_09_no_part_is_left(value, key):
    made = new(marked([value]), key=key)
    kept = "street high school bank https github com edu org".split()  # kind, not who it is
    own = set(re.findall(r"[^\W_]{3,}", value[1].lower())) - set(kept)
    assert own.isdisjoint(re.findall(r"[^\W_]{3,}", made.lower()))


SCRIPT = """
import json, sys
from tests.surrogates.conftest import KEY, hide
from pii_components.surrogates.component import HipsSurrogate
hips = HipsSurrogate(scope="corpus")
hips.set_key(KEY)
print(json.dumps([hide(hips, text) for text in json.loads(sys.argv[1])]))
"""


def test_property_10_only_the_key_decides():
    texts = [
        f"{{{S}|Maria Lopez}} {{EMAIL|mlopez9@x.edu}}",
        f"{{{S}|Tom Baker}}",
        f"{{{S}|Qzxwa}} {{ID_NUM|AB-20477}}",
    ]
    hips = component(profile="crapii", scope="corpus")
    here = [hide(hips, text) for text in texts]
    # neither the order nor the batch, ...
    assert [hide(hips, text) for text in reversed(texts)] == here[::-1]
    docs = hips.pipe([make_doc(text) for text in texts], batch_size=2)
    assert [doc._.deidentified for doc in docs] == here
    # ... nor threads, ...
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda text: hide(hips, text), texts * 8)) == here * 8
    # ... nor the process and its hash(), ...
    there = fresh(SCRIPT, json.dumps(texts), PYTHONHASHSEED="7")
    assert json.loads(there.stdout) == here
    # ... but the key.
    hips.set_key(KEY + b"!")
    assert not {hide(hips, text) for text in texts} & set(here)


@FEW
@given(PIECES)
def test_property_12_offsets_come_back(pieces):
    doc = component()(make_doc(marked(pieces)))
    rows = [row for row in doc._.surrogate_spans if row["label"] != AGREEMENT]
    spans = sorted((s for s in doc.spans["pii"]), key=lambda s: s.start)
    assert [row["label"] for row in rows] == [s.label_ for s in spans]
    for row, span in zip(rows, spans, strict=True):
        there = doc._.pii_offsets.span_to_new(span.start_char, span.end_char)
        assert there == (row["start_char"], row["end_char"])
        assert doc._.pii_offsets.span_to_old(*there) == (span.start_char, span.end_char)
    assert OffsetMap.from_dict(doc._.pii_offsets.to_dict()) == doc._.pii_offsets


@FEW
@given(
    st.sampled_from(["EMAIL", "PHONE_NUM", "DATE", "AGE", "ID_NUM", "OTHER", "LOCATION", S]),
    st.text(alphabet="qv?-é .", min_size=1),
)
def test_property_16_nothing_is_deleted_silently(label, value):
    doc = make_doc(f"a {{{label}|{value}}} b") if value.strip() else make_doc(f"a {{{label}|q}} b")
    hips = component(profile=surrogates_of(label))
    missing = hips.set_annotations(doc)
    (row,) = [row for row in doc._.surrogate_spans if row["label"] != AGREEMENT]
    made = doc._.deidentified[row["start_char"] : row["end_char"]]
    assert made.strip()
    assert (made == f"[{label}]") == bool(missing) == (row["note"] == "no surrogate")


def test_no_handle_is_a_name_of_the_run():
    hips = component()
    texts = [f"{i} {{USERNAME|quibblewort}}" for i in range(20)]
    words = {hide(hips, text).split()[1] for text in texts}
    hips.observe([make_doc(f"{{{S}|{word.capitalize()}}}") for word in sorted(words)])
    assert words.isdisjoint(hide(hips, text).split()[1] for text in texts)
    hips.profile = Profile.load("ets")
    assert "Sam Doe" in hide(hips, f"{{{S}|Maria Lopez}} read")
    hips.observe([make_doc(f"{{{S}|Sam Doe}}")])
    assert "Sam Doe" not in hide(hips, f"{{{S}|Maria Lopez}} read")


@pytest.mark.parametrize(
    ("text", "gender"),
    [
        ("My mom {NAME_STUDENT|Alexis} called", "F"),
        ("my brother, {NAME_STUDENT|Joss}, sang", "M"),
        ("{NAME_STUDENT|Andrea Rossi} shaved his beard since he was tired", "M"),
        ("Doña {NAME_STUDENT|Qzxwa Zzywq} came", "F"),
        ("{NAME_STUDENT|Qzxwa} said that she likes her bike", "F"),
    ],
)
def test_shown_gender_is_kept(text, gender):
    for i in range(5):
        made = component()(make_doc(f"{text} {i}"))
        row = made._.surrogate_spans[0]
        first = made._.deidentified[row["start_char"] : row["end_char"]].split()[0]
        assert name_table().gender(first.lower()) in (gender, None)
