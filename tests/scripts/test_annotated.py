"""Annotated texts: offsets and hashes with the user's own texts, the sealed part, names in the place of marks, scores by hand."""

import gzip
import hashlib
import json
from collections import Counter
from pathlib import Path

import pytest
import spacy

from pii_components.errors import PiiError
from pii_components.files.formats.base import LabelledText
from pii_components.labels import LABELS, is_name
from scripts.annotated import agreement_table, measure, table
from scripts.annotations import (
    FIRST,
    PARTS,
    SEALED,
    SECOND,
    fill_marks,
    half_of,
    part_of,
    read_annotated,
    read_short,
)

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = ROOT / "assets" / "annotations"
TEXT = "STUDENT_NAME wrote to Mrs. TEACHER_NAME about Generic_Name and Generic_Name. Thanks, STUDENT_NAME (cited: Buzan)"


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()


def at(text, value, nth=0):
    start = -1
    for _ in range(nth + 1):
        start = text.index(value, start + 1)
    return start, start + len(value)


SPANS = [
    [*at(TEXT, "STUDENT_NAME"), "NAME", "STUDENT"],
    [*at(TEXT, "TEACHER_NAME"), "NAME", "INSTRUCTOR"],
    [*at(TEXT, "Generic_Name"), "NAME", "CONNECTED"],
    [*at(TEXT, "Generic_Name", 1), "NAME", "CONNECTED"],
    [*at(TEXT, "STUDENT_NAME", 1), "NAME", "STUDENT"],
    [*at(TEXT, "Buzan"), "NAME", "CITED"],
]


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "annotations"
    made.mkdir()
    row = {"id": "p:1", "sha256": digest(TEXT), "sealed": False, "spans": SPANS}
    other = {"id": "p:2", "sha256": digest("another text"), "sealed": False, "spans": []}
    (made / "persuade.jsonl").write_text(json.dumps(row) + "\n" + json.dumps(other) + "\n")
    with gzip.open(tmp_path / "texts.jsonl.gz", "wt", encoding="utf-8") as file:
        file.write(json.dumps({"id": 7, "full_text": TEXT}) + "\n")
    return made


def test_texts_are_found_by_their_hash_and_marks_become_names(folder, tmp_path):
    (one,) = read_annotated(folder, [tmp_path / "texts.jsonl.gz"], parts=PARTS)
    text, labels = one.labelled.text, [label for *_, label in one.labelled.spans]
    assert one.id == "p:1" and one.part == part_of(digest(TEXT))
    assert "_NAME" not in text and "Generic_" not in text
    roles = "STUDENT INSTRUCTOR CONNECTED CONNECTED STUDENT CITED".split()
    assert labels == [f"NAME_{role}" for role in roles]
    values = [text[a:b] for a, b, _ in one.labelled.spans]
    assert values[5] == "Buzan" and values[2] != values[3]  # side by side: two people
    assert set(values[4].split()) <= {*values[0].split(), values[4]} and " wrote to Mrs. " in text
    (again,) = read_annotated(folder, [tmp_path / "texts.jsonl.gz"], parts=PARTS)
    assert again.labelled == one.labelled
    assert read_annotated(folder, [], parts=PARTS) == []
    with pytest.raises(PiiError, match="E501"):
        read_annotated(folder, [tmp_path / "none.jsonl"])


def test_text_outside_of_marks_is_unchanged():
    source = LabelledText("x", TEXT, tuple((a, b, f"NAME_{role}") for a, b, _, role in SPANS))
    filled = fill_marks(source, 1)
    pos = new = 0
    for (a, b, _), (x, y, _) in zip(source.spans, filled.spans, strict=True):
        assert source.text[pos:a] == filled.text[new:x]
        pos, new = b, y
    assert source.text[pos:] == filled.text[new:]


def test_a_fifth_is_sealed():
    parts = Counter(part_of(digest(str(n))) for n in range(5000))
    for part, share, near in ((SEALED, 1000, 120), (FIRST, 2000, 160), (SECOND, 2000, 160)):
        assert abs(parts[part] - share) < near


@pytest.mark.parametrize("path", sorted(SHIPPED.glob("*.jsonl")), ids=lambda path: path.stem)
def test_what_ships_holds_offsets_and_no_text_of_others(path):
    rows = [json.loads(line) for line in path.read_text("utf8").splitlines()]
    assert len({row["id"] for row in rows}) == len(rows) and len(rows) >= 150
    for row in rows:
        assert row["sealed"] == (part_of(row["sha256"]) == SEALED)
        assert ("text" in row) == (path.stem == "new")
        assert "text" not in row or digest(row["text"]) == row["sha256"]
        for start, end, label, more in row["spans"]:
            assert 0 <= start < end and (label == "NAME" or label in LABELS)
            assert isinstance(more, str) and (label != "NAME" or f"NAME_{more}" in LABELS)


def test_our_own_texts_can_be_read_and_hold_every_label():
    found = read_annotated(SHIPPED)
    held = Counter(label for one in found for *_, label in one.labelled.spans)
    assert len(found) == 162 and set(held) == {*LABELS} - {"IP_ADDRESS"}  # no essay has one
    assert sum(n for label, n in held.items() if is_name(label)) > 2500


def test_neighbours_among_short_texts_are_of_one_half():
    first, second = (read_short(ROOT / "assets", parts=(part,)) for part in (FIRST, SECOND))
    assert min(len(first), len(second)) > 1000 and not {t.id for t in first} & {
        t.id for t in second
    }
    assert half_of("k1_000_a") == half_of("k1_009_b") == FIRST and half_of("k1_010_c") == SECOND
    assert not half_of("n1_a_scene") and not half_of("k1_an_essay")
    assert all(t.text[a:b].strip() for t in first for a, b, _ in t.spans)


def test_scores_are_totals_of_mentions():
    text = "Ana Lopez read Buzan. Ana mailed ana@x.edu."
    nlp = spacy.blank("en")
    longest = {"@misc": "spacy.first_longest_spans_filter.v1"}
    ruler = nlp.add_pipe("span_ruler", config={"spans_key": "pii", "spans_filter": longest})
    found = {"Ana Lopez": "NAME_STUDENT", "Buzan": "NAME_CONNECTED"}
    ruler.add_patterns([{"label": found[text], "pattern": text} for text in found])
    spans = ((0, 9, "NAME_STUDENT"), (15, 20, "NAME_CITED"))
    spans += ((22, 25, "NAME_STUDENT"), (33, 42, "EMAIL"))
    gold = read_annotated(SHIPPED)[0].__class__(
        "1", "new", FIRST, LabelledText("1", text, spans), ("", "", "", "author")
    )
    made = measure(nlp, [gold])["all"]
    names = made["names"]
    assert (names["STUDENT_support"], names["STUDENT_hidden"], names["protected"]) == (2, 0.5, 0.5)
    assert (names["CITED_hidden"], names["kept_hidden"]) == (1.0, 1.0)
    assert (names["precision"], names["documents_left_open"]) == (0.5, 1)
    assert made["labels"]["EMAIL"]["recall"] == 0.0 and made["labels"]["EMAIL"]["support"] == 1
    assert "0.500" in table([{"pipeline": "x", "sources": {"all": made}}])[2]


def test_agreement_by_hand(tmp_path):
    both = [[0, 3, "NAME", "STUDENT"], [5, 8, "NAME", "CITED"]]
    one = [[0, 3, "NAME", "STUDENT"], [5, 8, "NAME", "CONNECTED"], [9, 12, "AGE", ""]]
    rows = [
        {"id": "1", "spans": both, "first": None, "second": one},
        {"id": "2", "spans": one, "first": [], "second": None},
    ]
    (tmp_path / "new.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    cells = [cell.strip() for cell in agreement_table(tmp_path)[2].strip("|").split("|")]
    # names: 2 of both and 2 more of the second; roles agree once of two, by chance once in four
    assert cells == ["new", "2", "3", "0.667", "0.333", "0", "–", "1", "0.000", "6"]


def test_the_page_shows_how_far_readers_agree():
    page = (ROOT / "docs/explanation/annotation.md").read_text("utf8")
    shown = page.split("<!-- python -m scripts.annotated agreement -->\n")[1]
    assert shown.split("\n<!-- end -->")[0].splitlines() == agreement_table(SHIPPED)
