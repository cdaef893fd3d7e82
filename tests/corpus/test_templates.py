"""Slots and essays: the format, and that what ships keeps to it."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pii_components.cli.app import app
from pii_components.corpus.templates import (
    WHO_ROLES,
    Slot,
    check,
    parse_parts,
    read_file,
    read_fragments,
    read_templates,
)
from pii_components.errors import PiiError
from pii_components.labels import ID_NUM, LABELS, PHONE_NUM, ROLES, STREET_ADDRESS, USERNAME

CASES = json.loads(
    (Path(__file__).parents[1] / "data/regression_cases/corpus.json").read_text("utf8")
)
ASSETS = Path(__file__).parents[2] / "assets"
needs_assets = pytest.mark.skipif(
    not ASSETS.is_dir(), reason="assets/ is not in an installed wheel"
)


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


def test_front_matter_must_name_the_file_and_essays_must_be_there(tmp_path):
    with pytest.raises(PiiError, match="E603"):
        check(tmp_path)
    path = tmp_path / "one.txt"
    path.write_text("id: two\n---\ntext", "utf8")
    with pytest.raises(PiiError, match="E601"):
        read_file(path)


@pytest.fixture(scope="module")
def shipped():
    if not ASSETS.is_dir():
        pytest.skip("assets/ is not in an installed wheel")
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


SAYS = "the river was low that spring and we walked across it on the stones with our shoes in our hands while {{friend.first}} sang"


def test_check_finds_copies_broken_slots_and_bare_names(tmp_path):
    write_essay(tmp_path, "one", f"At home {SAYS}.")
    write_essay(tmp_path, "two", f"In town {SAYS.replace('friend', 'student')}!")
    bare = "yesterday Maria Gomez rang from ana@example.org about the roof"
    write_essay(tmp_path, "three", f"Nothing here is like the others, and {bare}.")
    write_essay(tmp_path, "four", "A slot {{student.shoe}} that nobody knows")
    found = check(tmp_path)
    assert [(a, b) for a, b, _ in found.near] == [("one", "two")] and found.failed
    assert [err.code for err in found.broken] == ["E601"]
    assert found.names == {"three": ["Maria Gomez", "ana@example.org"]}
    assert (found.essays, found.clean, found.labels["NAME_CONNECTED"]) == (3, 1, 1)
    shown = CliRunner().invoke(app, ["corpus", "check", str(tmp_path)])
    assert shown.exit_code == 1 and "one and two" in shown.output and "E601" in shown.output
    assert "Gomez" not in shown.output
    listed = CliRunner().invoke(app, ["corpus", "check", str(tmp_path), "--names"])
    assert "Maria Gomez" in listed.output
    (tmp_path / "accepted_names.txt").write_text("Maria Gomez\nana@example.org\n", "utf8")
    assert not check(tmp_path).names


def test_essay_in_another_encoding_is_named_and_the_others_are_checked(tmp_path):
    (tmp_path / "essays").mkdir()
    essay = "id: {}\n---\nI drew this map, naïve as it is.\n"
    (tmp_path / "essays" / "a.txt").write_bytes(essay.format("a").encode("latin-1"))
    # As an editor of Windows saves it.
    (tmp_path / "essays" / "b.txt").write_bytes(essay.format("b").encode("utf-8-sig"))
    found = check(tmp_path)
    assert [err.code for err in found.broken] == ["E501"] and "a.txt" in str(found.broken[0])
    assert found.essays == 1 and found.failed


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
    assert [err.code for err in check(tmp_path).broken] == ["E601"] and check(tmp_path).essays == 1


@needs_assets
def test_shipped_essays_pass_the_check_and_are_as_many_as_promised():
    found = check(ASSETS)
    assert not found.failed, (found.broken, found.near)
    assert not found.names, found.names
    assert found.essays >= 400 and found.clean >= 120
    assert all(
        found.labels[label] >= 60 for label in (USERNAME, STREET_ADDRESS, PHONE_NUM, ID_NUM)
    ), found.labels
