"""Slots and essays: the format, and that what ships keeps to it."""

from pathlib import Path

import pytest

from pii_components.corpus.templates import (
    WHO_ROLES,
    Slot,
    iter_words,
    parse_parts,
    read_fragments,
    read_template,
    read_templates,
)
from pii_components.errors import PiiError
from pii_components.labels import DIRECT_LABELS, LABELS, ROLES

ASSETS = Path(__file__).parents[2] / "assets"


@pytest.mark.parametrize(
    "text, slot",
    [
        ("{{student.full}}", Slot("student", "full")),
        ("{{friend12.first|upper}}", Slot("friend12", "first", "upper")),
        ("{{CITED=Jean Piaget}}", Slot("CITED", "literal", "", "Jean Piaget")),
        ("{{instructor.email}}", Slot("instructor", "email")),
    ],
)
def test_slots_are_read(text, slot):
    assert parse_parts(f"a {text} b") == ("a ", slot, " b")


@pytest.mark.parametrize(
    "text", ["{{student}}", "{{nobody.full}}", "{{student.shoe}}", "{{student.full|title}}", "{{STUDENT}}", "{{x", "}} y"]
)
def test_what_is_not_a_slot_is_a_coded_error(text):
    with pytest.raises(PiiError) as error:
        parse_parts(f"before {text} after")
    assert error.value.code == "E601"


@pytest.mark.parametrize(
    "slot, label",
    [(Slot("friend2", "nick"), "NAME_CONNECTED"), (Slot("student", "id"), "ID_NUM"), (Slot("CITED", "literal"), "NAME_CITED")],
)
def test_label_of_a_slot(slot, label):
    assert slot.label == label


def test_front_matter_must_name_the_file(tmp_path):
    path = tmp_path / "one.txt"
    path.write_text("id: two\n---\ntext", "utf8")
    with pytest.raises(PiiError) as error:
        read_template(path)
    assert error.value.code == "E602"


@pytest.fixture(scope="module")
def shipped():
    if not ASSETS.is_dir():
        pytest.skip("assets/ is not in an installed wheel")
    return read_templates(ASSETS), read_fragments(ASSETS)


def test_shipped_essays_hold_every_direct_label_and_role(shipped):
    templates, fragments = shipped
    assert len(templates) >= 60
    labels = {slot.label for t in templates for slot in t.slots}
    assert set(DIRECT_LABELS) <= labels <= set(LABELS)
    assert {slot.role for t in templates for slot in t.slots} == set(ROLES) == set(WHO_ROLES.values())
    assert sum(not any(s.who.startswith("student") for s in t.slots) for t in templates) > len(templates) / 3
    assert len(fragments) == 9 and all(len(blocks) >= 80 for blocks in fragments.values())


def test_shipped_essays_are_genuinely_different(shipped):
    templates, _ = shipped
    grams = {}
    for t in templates:
        words = list(iter_words(t.parts))
        grams[t.id] = {tuple(words[i : i + 5]) for i in range(len(words) - 4)}
    ids = sorted(grams)
    worst = max(
        len(grams[a] & grams[b]) / max(1, min(len(grams[a]), len(grams[b]))) for i, a in enumerate(ids) for b in ids[:i]
    )
    assert worst < 0.08  # two essays share less than one in twelve of their five-word runs
