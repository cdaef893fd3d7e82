"""The 21 properties of surrogates, in the order of the design; each is told once more, in more detail, where its part is tested.

Everybody in here is invented.
"""

import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import date, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pii_components.errors import PiiError
from pii_components.names.link import nicknames_of
from pii_components.names.table import name_table
from pii_components.offsets import OffsetMap
from pii_components.profiles import Profile
from pii_components.release.sweep import Surnames
from pii_components.surrogates.component import HipsSurrogate

from .conftest import KEY, make_doc

S, T, C = "NAME_STUDENT", "NAME_INSTRUCTOR", "NAME_CITED"
NAMES = (
    "Maria Lopez",
    "Tom Baker",
    "Wei Chen",
    "Jean-Luc Picard",
    "Qzxwa Zzywq",
    "José García",
    "O'Neil",
    "Juan de la Cruz",
    "Sukarno",
)
DETAILS = (
    ("EMAIL", "mlopez9@x.edu"), ("EMAIL", "who.knows@quill.org"), ("USERNAME", "@tbaker"), ("ID_NUM", "AB-20477"),
    ("PHONE_NUM", "+1 312 867 5309"), ("URL_PERSONAL", "https://github.com/mlopez"), ("STREET_ADDRESS", "12 Elm Street, Ashby"),
    ("DATE", "May 3, 2019"), ("AGE", "17"), ("LOCATION", "Zanfort"), ("EDUCATION", "Harlo High School"), ("EMPLOYER", "Mumpert Bank"),
)  # fmt: skip
SPANS = st.one_of(st.tuples(st.sampled_from([S, T]), st.sampled_from(NAMES)), st.sampled_from(DETAILS))
PIECES = st.lists(st.one_of(SPANS, st.text(alphabet="qvx .,\n'é", min_size=1, max_size=6)), max_size=9)
EVERYTHING = Profile("all", actions=dict.fromkeys((S, T, *(label for label, _ in DETAILS)), "surrogate"))
FEW = settings(max_examples=25, deadline=None)


def component(*, key: bytes = KEY, profile: Profile | str = EVERYTHING, **options) -> HipsSurrogate:
    hips = HipsSurrogate(profile=profile, **options)
    hips.set_key(key)
    return hips


def marked(pieces) -> str:
    return " ".join(p if isinstance(p, str) else f"{{{p[0]}|{p[1]}}}" for p in pieces)


def new(text: str, **options) -> str:
    return component(**options)(make_doc(text))._.deidentified


def parts(text: str) -> list[str]:
    return new(text).split("; ")


@FEW
@given(PIECES, st.sampled_from([(S, "Maria Lopez"), *DETAILS]))
def test_property_01_same_value_same_surrogate(pieces, value):
    doc = component()(make_doc(marked([value, *pieces, value, "q", value])))
    same = [span for span in doc.spans["pii"] if span.text == value[1] and span.label_ == value[0]]
    assert len(same) >= 3
    found = {doc._.deidentified[slice(*doc._.pii_offsets.span_to_new(s.start_char, s.end_char))] for s in same}
    assert len(found) == 1


def test_property_02_in_a_corpus_a_thread_or_per_author_if_asked():
    one, other = make_doc(f"a {{{S}|Maria Lopez}}"), make_doc(f"b {{{S}|Maria Lopez}}")

    def names(scope, *, first=None, second=None):
        hips = component(scope=scope)
        one._.pii_scope, other._.pii_scope = first, second
        return [hips(doc)._.deidentified[2:] for doc in (one, other)]

    def equal(pair):
        return pair[0] == pair[1]

    assert not equal(names("document"))
    assert equal(names("corpus"))
    assert equal(names("thread", first="author 1", second="author 1"))
    assert not equal(names("thread", first="author 1", second="author 2"))


def test_property_03_forms_of_one_person_stay_linked():
    full, first, last, comma, initial, nick, initials, slip = parts(
        f"{{{S}|Elizabeth Lopez}}; {{{S}|Elizabeth}}; {{{S}|Lopez}}; {{{S}|Lopez, Elizabeth}}; {{{S}|E. Lopez}}; {{{S}|Liz}}; "
        f"{{{S}|EL}}; {{{S}|Elizabteh Lopez}}"
    )
    given_name, surname = full.split()
    assert (first, last, comma, slip) == (given_name, surname, f"{surname}, {given_name}", full)
    assert initial == f"{given_name[0]}. {surname}"
    assert initials == given_name[0] + surname[0]
    assert nick.lower() in {given_name.lower(), *nicknames_of(given_name)}


def test_property_04_addresses_and_handles_have_the_same_surrogate():
    name, email, user, url, page = parts(
        f"{{{S}|Maria Lopez}}; {{EMAIL|maria.lopez99@x.edu}}; {{USERNAME|@mlopez}}; {{URL_PERSONAL|https://github.com/lopez-maria}}; "
        "{URL_PERSONAL|http://www.marialopez.com/}"
    )
    given_name, surname = name.lower().split()
    assert re.fullmatch(rf"{given_name}\.{surname}\d\d@example\.edu", email) and "99" not in email
    assert user == f"@{given_name[0]}{surname}"
    assert url == f"https://github.com/{surname}-{given_name}"
    assert given_name + surname in page


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
def test_property_05_gender_and_origin_match_with_a_recorded_fallback(name, gender, region, note):
    table = name_table()
    for i in range(5):
        doc = component()(make_doc(f"{i} {{{S}|{name}}}"))
        row = doc._.surrogate_spans[0]
        first, last = doc._.deidentified[2:].split()
        assert not gender or table.gender(first) in (gender, None)
        assert not region or region in table.regions(last)
        assert not note or row["note"] == note


@pytest.mark.parametrize(
    ("name", "pattern"),
    [
        ("MARIA LOPEZ", r"[A-Z']+ [A-Z']+"),
        ("maria lopez", r"[a-z']+ [a-z']+"),
        ("Dr. Maria Lopez Jr.", r"Dr\. X X Jr\."),
        ("Maria Lopez's", r"X X's"),
        ("Lopez, Maria", r"X, X"),
        ("M. E. Lopez", r"[A-Z]\. [A-Z]\. X"),
        ("Juan de la Cruz", r"X de la X"),
        ("M A R I A", r"[A-Z](?: [A-Z])+"),
        ("Maria_Lopez", r"X_X"),
    ],
)
def test_property_06_form_is_kept(name, pattern):
    assert re.fullmatch(pattern.replace("X", r"[A-Z][A-Za-z']+"), new(f"{{{S}|{name}}}"))


def test_property_06_accents_are_kept():
    made = [new(f"{{{S}|José}} {i}") for i in range(6)]
    assert any(not name.isascii() for name in made)
    assert all(new(f"{{{S}|Jose}} {i}").isascii() for i in range(6))


@FEW
@given(
    st.lists(st.sampled_from([n for n in NAMES if " " in n]), min_size=2, max_size=6, unique=True),
    st.binary(min_size=16, max_size=16),
)
def test_property_07_distinct_people_stay_distinct(names, key):
    made = component(key=key)(make_doc("; ".join(f"{{{S}|{n}}}" for n in names)))._.deidentified.split("; ")
    assert len({m.lower() for m in made}) == len(names)
    assert len({m.split()[0].lower() for m in made}) == len(names)


def test_property_07_siblings_share_a_surname_and_are_two():
    one, two = (name.split() for name in parts(f"{{{S}|Maria Lopez}}; {{{S}|Tomas Lopez}}"))
    assert one[1] == two[1]
    assert one[0] != two[0]


def test_property_08_no_surrogate_equals_an_original_or_a_cited_author():
    hips = component()
    text = f"{{{S}|Maria Lopez}} read {{{C}|Garcia}} (2019), page {{n}}"
    free = {word for i in range(12) for word in hips(make_doc(text.replace("{n}", str(i))))._.deidentified.split()[:2]}
    assert "Garcia" not in free
    corpus = [make_doc(f"{{{S}|{word}}}") for word in sorted(free)]
    hips.observe(corpus)
    taken = {word for i in range(12) for word in hips(make_doc(text.replace("{n}", str(i))))._.deidentified.split()[:2]}
    assert taken.isdisjoint(free)


@FEW
@given(st.sampled_from([*((S, n) for n in NAMES), *DETAILS]), st.binary(min_size=16, max_size=16))
def test_property_09_no_part_of_the_own_original_is_left(value, key):
    made = new(marked([value]), key=key)
    kept = {
        "street",
        "high",
        "school",
        "bank",
        "https",
        "github",
        "com",
        "edu",
        "org",
        "de",
        "la",
        "x",
    }  # kind and form, not who it is
    own = {word for word in re.findall(r"[^\W_]{3,}", value[1].lower())} - kept
    assert own.isdisjoint(re.findall(r"[^\W_]{3,}", made.lower()))


SCRIPT = """
import json, sys
sys.path.insert(0, sys.argv[1])
from tests.surrogates.conftest import KEY, make_doc
from pii_components.surrogates.component import HipsSurrogate
hips = HipsSurrogate(scope="corpus")
hips.set_key(KEY)
print(json.dumps([hips(make_doc(text))._.deidentified for text in json.loads(sys.argv[2])]))
"""


def test_property_10_a_secret_key_decides_and_nothing_else(pytestconfig):
    texts = [f"{{{S}|Maria Lopez}} {{EMAIL|mlopez9@x.edu}}", f"{{{S}|Tom Baker}}", f"{{{S}|Qzxwa}} {{ID_NUM|AB-20477}}"]
    hips = component(profile="crapii", scope="corpus")
    here = [hips(make_doc(text))._.deidentified for text in texts]
    # neither the order nor the batch, ...
    assert [hips(make_doc(text))._.deidentified for text in reversed(texts)] == here[::-1]
    assert [doc._.deidentified for doc in hips.pipe([make_doc(text) for text in texts], batch_size=2)] == here
    # ... nor threads, ...
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda text: hips(make_doc(text))._.deidentified, texts * 8)) == here * 8
    # ... nor the process and its hash(), ...
    command = [sys.executable, "-c", SCRIPT, str(pytestconfig.rootpath), json.dumps(texts)]
    there = subprocess.run(command, env={**os.environ, "PYTHONHASHSEED": "7"}, capture_output=True, check=True, text=True)
    assert json.loads(there.stdout) == here
    # ... but the key.
    hips.set_key(KEY + b"!")
    assert not {hips(make_doc(text))._.deidentified for text in texts} & set(here)


def test_property_11_the_map_back_is_apart_encrypted_and_optional(tmp_path):
    pytest.importorskip("cryptography")
    from pii_components.vault.keys import VaultKey
    from pii_components.vault.vault import Vault, reidentify

    hips = component()
    doc = hips(make_doc(f"I am {{{S}|Maria Lopez}}."))
    assert doc._.deidentified != doc.text  # without any vault
    path, key = tmp_path / "essays.vault", VaultKey(KEY)
    with Vault.create(path, key) as vault:
        vault.append(doc, id="1")
    assert b"Maria" not in path.read_bytes() and b"Lopez" not in path.read_bytes()
    assert b"Lopez" not in hips.to_bytes()
    with Vault.open(path, key) as vault:
        assert reidentify(doc._.deidentified, vault) == doc.text
    with pytest.raises(PiiError):
        Vault.open(path, VaultKey(KEY + b"!"))


@FEW
@given(PIECES)
def test_property_12_new_offsets_and_labels_come_back(pieces):
    doc = component()(make_doc(marked(pieces)))
    rows = doc._.surrogate_spans
    spans = sorted((s for s in doc.spans["pii"]), key=lambda s: s.start)
    assert [row["label"] for row in rows] == [s.label_ for s in spans]
    for row, span in zip(rows, spans, strict=True):
        there = doc._.pii_offsets.span_to_new(span.start_char, span.end_char)
        assert there == (row["start_char"], row["end_char"])
        assert doc._.pii_offsets.span_to_old(*there) == (span.start_char, span.end_char)
    assert OffsetMap.from_dict(doc._.pii_offsets.to_dict()) == doc._.pii_offsets


def test_property_13_near_preserving_length_if_asked():
    names = ["Maria Lopez", "Christopher Montgomery", "Bo Lee", "Alexandra Whitcombe", "Tim Reed"]

    def away(length):
        profile = Profile("x", actions={S: "surrogate"}, length=length)
        return sum(abs(len(new(f"{i} {{{S}|{name}}}", profile=profile)) - len(name) - 2) for name in names for i in range(6))

    assert away("near") < 0.5 * away("free")


def test_property_14_dates_stay_valid_in_order_and_with_their_intervals():
    old = [date(2016, 2, 28), date(2016, 3, 1), date(2016, 12, 31), date(2017, 2, 14)]
    text = " ".join(f"{{DATE|{day:%m/%d/%Y}}}" for day in old)
    for i in range(8):
        made = [datetime.strptime(part, "%m/%d/%Y").date() for part in new(f"{text} {i}").split()[:4]]
        assert [b - a for a, b in zip(made, made[1:], strict=False)] == [b - a for a, b in zip(old, old[1:], strict=False)]
        assert made[0] != old[0]


def test_property_15_reserved_safe_values_or_realistic_ones():
    text = "{EMAIL|jane.roe@college.edu} {PHONE_NUM|+1 312 867 5309} {URL_PERSONAL|http://www.janeroe.com}"
    email, *phone, url = new(text, reserved=True).split()
    assert email.endswith("@example.edu")
    assert re.search(r"555.?01\d\d$", " ".join(phone))
    assert ".example." in url
    email, *phone, url = new(text, reserved=False).split()
    assert "example" not in email + url and email.endswith(".edu")
    assert not re.search(r"555.?01\d\d$", " ".join(phone))


@FEW
@given(
    st.sampled_from(["EMAIL", "PHONE_NUM", "DATE", "AGE", "ID_NUM", "OTHER", "LOCATION", S]),
    st.text(alphabet="qv?-é .", min_size=1),
)
def test_property_16_nothing_is_deleted_silently(label, value):
    doc = make_doc(f"a {{{label}|{value}}} b") if value.strip() else make_doc(f"a {{{label}|q}} b")
    hips = component(profile=Profile("x", actions={label: "surrogate"}))
    missing = hips.set_annotations(doc)
    (row,) = doc._.surrogate_spans
    made = doc._.deidentified[row["start_char"] : row["end_char"]]
    assert made.strip()
    assert (made == f"[{label}]") == bool(missing) == (row["note"] == "no surrogate")


@FEW
@given(PIECES, st.sampled_from(["consistent", "random", "markov"]))
def test_property_17_text_outside_spans_is_unchanged(pieces, strategy):
    doc = component(strategy=strategy)(make_doc(marked(pieces)))
    text, made = doc.text, doc._.deidentified
    last = last_new = 0
    for edit in doc._.pii_offsets.edits:
        assert text[last : edit.start] == made[last_new : edit.new_start]
        last, last_new = edit.end, edit.new_end
    assert text[last:].encode("utf8", "surrogatepass") == made[last_new:].encode("utf8", "surrogatepass")
    assert doc.text == text


def test_property_18_fixed_pseudonyms_of_ets_as_a_profile():
    text = (
        f"It is me, {{{S}|Priya Patel}}, {{PHONE_NUM|312 867 5309}}, {{EMAIL|pp@x.org}}, {{STREET_ADDRESS|9 Elm Rd}}. "
        f"{{{T}|Nora Wang}} and {{NAME_CONNECTED|Chidi Okafor}} of {{LOCATION|Lima}} know {{EDUCATION|Ridgeview University}} since "
        f"{{DATE|May 3, 1999}}, as {{{C}|Kant}} says."
    )
    assert new(text, profile="ets") == (
        "It is me, Sam Doe, (555) 555-5555, samdoe@uni.edu, 123 Main Street Anytown, NJ USA 12345. "
        "Casey Smith and Riley Johnson of Anytown know the university since February 29, 2017, as Kant says."
    )


def test_property_19_a_last_sweep_for_surnames_over_the_corpus():
    # The command's own tests are in tests/cli/test_sweep_command.py.
    surnames = Surnames()
    surnames.add("I am Ina Sorel.", [(5, 14)])
    released = ["I am Carla Vidal.", "Sorel helped me.", "Sorel (1999) says so."]
    hits = [surnames.find(released[0]), surnames.find(released[1]), surnames.find(released[2], exempt={"sorel"})]
    assert [[(hit.start, hit.end) for hit in found] for found in hits] == [[], [(0, 5)], []]


def test_property_20_headers_are_removed_if_asked():
    text = f"{{{S}|Maria Lopez}}\nProfessor {{{T}|Hartwell}}\nENGL 101\n12 May 2019\n\nThe Ferry\n\nI am {{{S}|Maria}}."
    doc = component(profile="ets")(make_doc(text))
    assert doc._.deidentified == "The Ferry\n\nI am Sam."
    assert doc._.surrogate_spans[0] | {"start_char": 0, "end_char": 0} == doc._.surrogate_spans[0]
    assert (doc._.surrogate_spans[0]["label"], doc._.surrogate_spans[0]["note"]) == ("HEADER", "header removed")
    assert new(text, profile="crapii").startswith(
        new(text, profile="crapii").split("\n", maxsplit=1)[0] + "\nProfessor Hartwell\n"
    )


def test_property_21_parrot_attack_is_measured():
    pytest.importorskip("sklearn")
    from scripts.release_attack import ReleasedDocument, ReleasedText, release_report

    hips = component(profile="crapii")
    documents = []
    for i in range(24):
        # Every fourth essay leaks its writer's name once.
        missed = "Maria Lopez" if i % 4 == 0 else f"{{{S}|Maria Lopez}}"
        doc = hips(
            make_doc(f"Essay {i}\nMy name is {{{S}|Maria Lopez}} and I study rivers.\nWritten by {missed} for the course.")
        )
        gold = tuple((m.start(), m.end(), S) for m in re.finditer("Maria Lopez", doc.text))
        spans = tuple((row["start_char"], row["end_char"], row["label"]) for row in doc._.surrogate_spans)
        documents.append(ReleasedDocument(ReleasedText(str(i), doc.text, doc._.deidentified, spans), gold))
    found = release_report(documents, n_resamples=20)
    assert found["leaks"] == 6
    for attack in found["attacks"].values():
        # Where an attacker suspects nothing, there is no precision.
        assert attack["leaks"] == 6 and {"recall", "chance_precision"} <= set(attack)
