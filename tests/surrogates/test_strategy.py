"""Headers; modes by label and role."""

import json

import pytest

from pii_components.profiles import Profile
from pii_components.surrogates.component import HipsSurrogate

from .conftest import KEY, hide, make_doc, rows


def test_older_components_load(tmp_path):
    cfg = {"scope": "corpus", "reserved": None, "key_file": None, "key_env": "PII_EDU_KEY"}
    profile = {"name": "old", "description": "", "actions": {"NAME_STUDENT": "surrogate"}}
    profile |= {"scope": "document", "locale": "en_US", "header": "keep", "reserved": True}
    (tmp_path / "cfg").write_text(json.dumps(cfg | {"spans_key": "pii"}), "utf8")
    profile |= {"pseudonyms": {}, "generic": {}}
    (tmp_path / "profile").write_text(json.dumps(profile), "utf8")
    hips = HipsSurrogate().from_disk(tmp_path)
    hips.set_key(KEY)
    assert (hips.scope, hips.profile.pool) == ("corpus", "invented")
    assert "Lopez" not in hide(hips, "{NAME_STUDENT|Ana Lopez}")


def test_masks_that_hide_nothing(hips):
    hips.profile = Profile("x", actions={"NAME_STUDENT": "mask"})
    assert hide(hips, "{NAME_STUDENT|Bx} {NAME_STUDENT|Bo}") == "[NAME_STUDENT] Bx"


# Headers

HEADER = (
    "{NAME_STUDENT|Ana Lopez}\nProfessor {NAME_INSTRUCTOR|Hartwell}\nENGL 101\n{DATE|12 May 2019}\n\n"
    "The Summer of Ferries\n\nI am {NAME_STUDENT|Ana}, says {NAME_CITED|Kant}."
    " They are slow, and nobody on them can do anything about it at all.\n{NAME_STUDENT|Lopez} 2\nMore text of the same kind stands here."
)


def test_headers_are_removed_and_told(hips):
    assert hide(hips, HEADER).count("\n") == HEADER.count("\n")  # crapii does not ask
    hips.profile = "ets"
    doc = hips(make_doc(HEADER))
    assert doc._.deidentified == (
        "The Summer of Ferries\n\nI am Sam, says Kant."
        " They are slow, and nobody on them can do anything about it at all.\nMore text of the same kind stands here."
    )
    gone = [row for row in doc._.surrogate_spans if row["label"] == "HEADER"]
    assert [row["note"] for row in gone] == ["header removed"] * 2
    assert len(doc._.pii_offsets.edits) == len(doc._.surrogate_spans)
    at = doc.text.index("More")
    assert doc._.pii_offsets.span_to_old(*doc._.pii_offsets.span_to_new(at, at + 4)) == (at, at + 4)
    assert doc._.pii_offsets.span_to_new(0, 9) == (0, 0)


# ETS's tables

ETS = """
NAME_STUDENT -> Priya Patel; Priya; Patel -> Sam Doe; Sam; Doe
PHONE_NUM -> 312 867 5309 -> (555) 555-5555
EMAIL -> pp@x.org -> samdoe@uni.edu
STREET_ADDRESS -> 9 Elm Rd -> 123 Main Street Anytown, NJ USA 12345
URL_PERSONAL -> linkedin.com/in/pp -> www.linkedin.com/in/sam-doe
URL_PERSONAL -> http://x.edu/~pp -> http://removed-this-url.com/
NAME_CONNECTED -> Wei Chen; Nora Wang; Chidi Okafor -> Casey Smith; Riley Johnson; Jaime Miller
LOCATION -> Lima; Quito; Cusco; Oruro -> Anytown; Anyville; Springfield; Franklin
LOCATION -> Essex County; Kent County -> Washington County; Jefferson County
DATE -> May 3, 1999; June 1, 2001 -> February 29, 2017; February 29, 2017
EDUCATION -> Ridgeview University; Ridgeview -> the university; the university
EDUCATION -> Ridgeview School District -> the school district
NAME_CITED -> Immanuel Kant -> Immanuel Kant
NAME_CHARACTER -> Okonkwo -> Okonkwo
"""


@pytest.mark.parametrize(("label", "values", "expected"), rows(ETS))
def test_ets_tables(hips, label, values, expected):
    hips.profile = "ets"
    text = "; ".join(f"{{{label}|{value}}}" for value in values.split("; "))
    assert hide(hips, f"It says {text}") == f"It says {expected}"
