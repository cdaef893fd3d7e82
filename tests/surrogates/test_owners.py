"""Whose detail it is, by the name inside it or by what stands around it; unsure means no role."""

import pytest

from pii_components.labels import DETAIL_LABELS
from pii_components.profiles import Profile
from pii_components.surrogates.owners import detail_owners, set_detail_roles

from .conftest import hide, make_doc, unmark


def roles_of(marked: str) -> list[str]:
    text, spans = unmark(marked)
    return [
        owner.role
        for owner, (_, _, label) in zip(detail_owners(text, spans), spans, strict=True)
        if label in DETAIL_LABELS
    ]


S = "{NAME_STUDENT|Maria Lopez}"
T = "{NAME_INSTRUCTOR|Theo Hartwell}"
F = "{NAME_CONNECTED|Tobias Reed}"
PHONE = "{PHONE_NUM|555-0142}"
STU, INS, CON = "STUDENT", "INSTRUCTOR", "CONNECTED"


@pytest.mark.parametrize(
    ("marked", "expected"),
    [
        # the name inside
        (f"{S} {T} {{EMAIL|maria.lopez9@x.edu}} {{EMAIL|t.hartwell@x.edu}}", [STU, INS]),
        (f"{S} {T} {{USERNAME|@mlopez}} {{URL_PERSONAL|https://www.x.edu/~hartwell/}}", [STU, INS]),
        (f"{S} {F} {{URL_PERSONAL|linkedin.com/in/tobias-reed}}", [CON]),
        (f"{S} {F} {{URL_PERSONAL|www.marialopez.com}}", [STU]),
        # a student of the same surname goes first
        ("{NAME_STUDENT|Ana Hartwell} " + T + " {EMAIL|hartwell@x.edu}", [STU]),
        ("Dr. {NAME_INSTRUCTOR|Lopez} taught " + S + ": {EMAIL|lopez@x.edu}", [STU]),
        # what stands around it
        (f"Call {T} at {PHONE} or {{EMAIL|office7@x.edu}}.", [INS, INS]),
        (f"{T} (office: {PHONE})", [INS]),
        (f"{F}, whose e-mail is {{EMAIL|skater@x.org}}, drew it.", [CON]),
        ("{EMAIL|office7@x.edu} (Prof. " + T + ")", [INS]),
        (f"{F}'s address: {{STREET_ADDRESS|9 Elm Road}}", [CON]),
        (f"I gave {T} my number {{PHONE_NUM|555-0117}}", [STU]),
        (f"Dear {T}, contact me at {{EMAIL|skater@x.org}}", [STU]),
        # the only private person in the sentence or right above it; of a teacher that tells too little
        (f"{F} answers late, so try {PHONE} twice", [CON]),
        (f"{S}\nTown, Week 3\n{{ID_NUM|20418837}}", [STU]),
        (f"{T} answers late, so try {PHONE} twice", [""]),
        (f"{S} and {F} answer late, so try {PHONE}", [""]),
        # nothing tells
        (PHONE, [""]),
        (f"{T} asked who had called {PHONE}", [""]),
        (f"{T}\n{PHONE}", [""]),
        (f"{S}, {T}, {PHONE}", [""]),
        (f"{T} {{ID_NUM|20418837}}", [""]),
        # one value, one role
        (f"{T}: {PHONE}. I dial {{PHONE_NUM|555 0142}}.", [INS, INS]),
        (f"{T}: {PHONE}. My number is {PHONE}.", [STU, STU]),
        (f"{T}: {PHONE}.\nCall {F} at {PHONE}.", ["", ""]),
    ],
)
def test_role_of_a_detail(marked, expected):
    assert roles_of(marked) == expected


def test_organisations_only_where_a_reader_says_so(hips):
    marked = f"Call the office at {PHONE}. {{EMAIL|info@lakesidelibrary.org}}"
    assert roles_of(marked) == ["", ""]
    hips.profile = Profile("x", actions={"PHONE_NUM/ORGANISATION": "keep", "EMAIL": "tag"})
    assert hide(hips, marked) == "Call the office at [PHONE_NUM]. [EMAIL]"
    doc = make_doc(marked)
    doc.spans["pii"][0]._.pii_role = "ORGANISATION"
    assert hips(doc)._.deidentified == "Call the office at 555-0142. [EMAIL]"


def test_details_say_whose_they_are():
    doc = make_doc(f"{S} {{EMAIL|mlopez@x.edu}}; {F} (phone {PHONE}); {{USERNAME|@who}}")
    for span, person in zip(doc.spans["pii"], (7, None, 3, None, None), strict=True):
        span._.pii_person = person
    set_detail_roles(doc)
    assert [span._.pii_person for span in doc.spans["pii"]] == [7, 7, 3, 3, None]


def test_profiles_act_by_role(hips):
    actions = {"NAME_STUDENT": "tag", "NAME_INSTRUCTOR": "keep"}
    hips.profile = Profile("x", actions={**actions, "EMAIL": "tag", "EMAIL/INSTRUCTOR": "keep"})
    assert hips.profile.by_role and not Profile.load("crapii").by_role
    marked = f"{S} {{EMAIL|mlopez@x.edu}}; {T} {{EMAIL|hartwell@x.edu}}; {{EMAIL|who@x.edu}}"
    doc = hips(make_doc(marked))
    assert doc._.deidentified == "[NAME_STUDENT] [EMAIL]; Theo Hartwell hartwell@x.edu; [EMAIL]"
    assert [span._.pii_role for span in doc.spans["pii"]] == [STU, STU, INS, INS, ""]
    assert [e.text for e in doc.ents] == ["Maria Lopez", "mlopez@x.edu", "who@x.edu"]


def test_given_roles_stay():
    doc = make_doc(f"{S} {{EMAIL|mlopez@x.edu}}")
    doc.spans["pii"][1]._.pii_role = CON
    set_detail_roles(doc)
    assert doc.spans["pii"][1]._.pii_role == CON


def test_long_documents_are_quick():
    # What stands between is looked at within a line and 60 characters only.
    assert roles_of(f"{T} " + "e-mail address office " * 2000 + PHONE) == [""]
