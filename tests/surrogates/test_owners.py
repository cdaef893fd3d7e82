"""Whose detail it is, by the name inside it or by what stands around it; unsure means no role."""

import pytest

from pii_components.profiles import Profile
from pii_components.surrogates.owners import OWNED, detail_roles, set_detail_roles

from .conftest import make_doc, unmark


def roles_of(marked: str) -> list[str]:
    text, spans = unmark(marked)
    return [role for role, (_, _, label) in zip(detail_roles(text, spans), spans, strict=True) if label in OWNED]


S, T, F = "{NAME_STUDENT|Maria Lopez}", "{NAME_INSTRUCTOR|Theo Hartwell}", "{NAME_CONNECTED|Tobias Reed}"


@pytest.mark.parametrize(
    ("marked", "expected"),
    [
        # the name inside
        (f"{S} {T} {{EMAIL|maria.lopez9@x.edu}} {{EMAIL|t.hartwell@x.edu}}", ["STUDENT", "INSTRUCTOR"]),
        (f"{S} {T} {{USERNAME|@mlopez}} {{URL_PERSONAL|https://www.x.edu/~hartwell/}}", ["STUDENT", "INSTRUCTOR"]),
        (f"{S} {F} {{URL_PERSONAL|linkedin.com/in/tobias-reed}} {{URL_PERSONAL|www.marialopez.com}}", ["CONNECTED", "STUDENT"]),
        # a student of the same surname goes first
        ("{NAME_STUDENT|Ana Hartwell} " + T + " {EMAIL|hartwell@x.edu}", ["STUDENT"]),
        ("Dr. {NAME_INSTRUCTOR|Lopez} taught " + S + ": {EMAIL|lopez@x.edu}", ["STUDENT"]),
        # what stands around it
        (f"Call {T} at {{PHONE_NUM|555-0142}} or {{EMAIL|office7@x.edu}}.", ["INSTRUCTOR", "INSTRUCTOR"]),
        (f"{T} (office: {{PHONE_NUM|555-0142}})", ["INSTRUCTOR"]),
        (f"{F}, whose e-mail is {{EMAIL|skater@x.org}}, drew it.", ["CONNECTED"]),
        ("{EMAIL|office7@x.edu} (Prof. " + T + ")", ["INSTRUCTOR"]),
        (f"{F}'s address: {{STREET_ADDRESS|9 Elm Road}}", ["CONNECTED"]),
        (f"I gave {T} my number {{PHONE_NUM|555-0117}}", ["STUDENT"]),
        (f"Dear {T}, contact me at {{EMAIL|skater@x.org}}", ["STUDENT"]),
        # nothing tells
        ("{PHONE_NUM|555-0142}", [""]),
        (f"{T} asked who had called {{PHONE_NUM|555-0142}}", [""]),
        (f"{T}\n{{PHONE_NUM|555-0142}}", [""]),
        (f"{S}, {T}, {{PHONE_NUM|555-0142}}", [""]),
        (f"{T} {{ID_NUM|20418837}}", []),
        # one value, one role
        (f"{T}: {{PHONE_NUM|555-0142}}. I dial {{PHONE_NUM|555 0142}}.", ["INSTRUCTOR", "INSTRUCTOR"]),
        (f"{T}: {{PHONE_NUM|555-0142}}. My number is {{PHONE_NUM|555-0142}}.", ["STUDENT", "STUDENT"]),
        (f"{T}: {{PHONE_NUM|555-0142}}.\nCall {F} at {{PHONE_NUM|555-0142}}.", ["", ""]),
    ],
)
def test_role_of_a_detail(marked, expected):
    assert roles_of(marked) == expected


def test_the_profile_says_what_happens_by_role(hips):
    hips.profile = Profile(
        "x", actions={"NAME_STUDENT": "tag", "NAME_INSTRUCTOR": "keep", "EMAIL": "tag", "EMAIL/INSTRUCTOR": "keep"}
    )
    doc = hips(make_doc(f"{S} {{EMAIL|mlopez@x.edu}}; {T} {{EMAIL|hartwell@x.edu}}; {{EMAIL|who@x.edu}}"))
    assert doc._.deidentified == "[NAME_STUDENT] [EMAIL]; Theo Hartwell hartwell@x.edu; [EMAIL]"
    assert [s._.pii_role for s in doc.spans["pii"]] == ["STUDENT", "STUDENT", "INSTRUCTOR", "INSTRUCTOR", ""]
    assert [e.text for e in doc.ents] == ["Maria Lopez", "mlopez@x.edu", "who@x.edu"]


def test_a_role_that_is_given_stays():
    doc = make_doc(f"{S} {{EMAIL|mlopez@x.edu}}")
    doc.spans["pii"][1]._.pii_role = "CONNECTED"
    set_detail_roles(doc)
    assert doc.spans["pii"][1]._.pii_role == "CONNECTED"


def test_shipped_profiles_name_no_roles_yet_and_may():
    assert not Profile.load("crapii").by_role
    assert Profile("x", actions={"EMAIL/INSTRUCTOR": "keep"}).by_role


def test_long_documents_do_not_take_long():
    # What stands between is looked at within a line and 60 characters only.
    marked = f"{T} " + "e-mail address office " * 2000 + "{PHONE_NUM|555-0142}"
    assert roles_of(marked) == [""]
