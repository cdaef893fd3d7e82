"""Slots and essays: the format, and that what ships keeps to it."""

from pathlib import Path

import pytest

from pii_components.corpus.templates import (
    WHO_ROLES,
    Slot,
    parse_parts,
    read_file,
    read_fragments,
    read_templates,
)
from pii_components.errors import PiiError
from pii_components.labels import LABELS, ROLES
from tests.tiny import cases

CASES = cases("corpus")
ASSETS = Path(__file__).parents[2] / "assets"


@pytest.mark.parametrize("text, slot, label, role", CASES["slots"])
def test_slots_are_read(text, slot, label, role):
    before, found, after = parse_parts(f"a {text} b")
    assert (before, found, after) == ("a ", Slot(*slot), " b")
    assert (found.label, found.role) == (label, role)


@pytest.mark.parametrize("text", CASES["what is no slot"])
def test_what_is_not_a_slot_is_a_coded_error(text):
    with pytest.raises(PiiError) as error:
        parse_parts(f"before {text} after", where="x.txt")
    assert error.value.code == "E601" and "x.txt" in str(error.value)


def test_front_matter_must_name_the_file(tmp_path):
    path = tmp_path / "one.txt"
    path.write_text("id: two\n---\ntext", "utf8")
    with pytest.raises(PiiError, match="E601"):
        read_file(path)


@pytest.fixture(scope="module")
def shipped():
    return read_templates(ASSETS), read_fragments(ASSETS)


def test_shipped_essays_hold_every_label_and_role(shipped):
    templates, fragments = shipped
    assert {slot.label for t in templates for slot in t.slots} == {*LABELS} - {"IP_ADDRESS"}
    roles = {slot.role for t in templates for slot in t.slots} - {""}
    assert roles == set(ROLES) == set(WHO_ROLES.values())
    assert sum(not any(s.who.startswith("student") for s in t.slots) for t in templates) > 500
    assert len(fragments) == 9 and all(len(blocks) >= 80 for blocks in fragments.values())


def write_essay(folder, ident, text):
    (folder / "essays").mkdir(exist_ok=True)
    (folder / "essays" / f"{ident}.txt").write_text(f"id: {ident}\n---\n{text}\n", "utf8")


def test_scenes_stand_many_to_a_file_and_are_read_among_the_essays(tmp_path):
    write_essay(tmp_path, "b_essay", "An essay by {{student.full}}.")
    (tmp_path / "scenes").mkdir()
    scenes = tmp_path / "scenes" / "a.txt"
    two = "id: a_two\npersons: friend=f\n---\n{{friend.first}} rang. She was late.\n"
    one = "id: a_one\n---\nTwo lines\nof {{cited.last}}.\n"
    scenes.write_text(f"{two}\n%%\n{one}%%\n", "utf8")
    found = read_templates(tmp_path)
    assert [t.id for t in found] == ["a_one", "a_two", "b_essay"]
    assert found[1].genders == {"friend": "f"}
    labels = [slot.label for t in found for slot in t.slots]
    assert labels == ["NAME_CITED", "NAME_CONNECTED", "NAME_STUDENT"]
    assert found[0].parts[0] == "Two lines\nof " and found[1].parts[-1] == " rang. She was late.\n"
    for broken in (
        "id: a_two\n---\nx\n%%\nid: a_two\n---\ny\n",
        "id: b_one\n---\nx\n",
        "---\nx\n",
        "id: a_one\nno line\n",
    ):
        scenes.write_text(broken, "utf8")
        with pytest.raises(PiiError, match="E601.*a.txt after"):
            read_file(scenes)
