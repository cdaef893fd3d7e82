"""Labelled files become documents."""

import json

import pytest

from pii_components.errors import PiiError
from pii_components.evaluate.gold import choose_splits, file_sha256, read_gold


def test_gold_has_what_the_file_has(gold_file, gold):
    read = read_gold(gold_file)
    splits = [("1", "test"), ("2", "test"), ("#3", "base_train"), ("#4", "unknown")]
    assert [(doc.id, doc.split) for doc in read] == splits
    for mine, doc in zip(read, gold, strict=True):
        assert (mine.text, mine.tokens, mine.entities) == (doc.text, doc.tokens, doc.entities)


def test_what_cannot_be_used_is_an_error(gold_file, tmp_path):
    first = gold_file.read_text().splitlines()[0] + "\n"
    record = json.loads(first)
    record["labels"].pop()  # a token without a label
    for text, error in (
        (first * 2, r"\[E627\] Record 2"),
        (json.dumps(record), r"\[E624\]"),
        ("", r"\[E503\]"),
    ):
        gold_file.write_text(text)
        with pytest.raises(PiiError, match=error):
            read_gold(gold_file)
    with pytest.raises(PiiError, match=r"\[E501\]"):
        read_gold(tmp_path / "none.jsonl")


def test_splits_are_chosen_by_name(gold_file):
    documents = read_gold(gold_file)
    assert [doc.id for doc in choose_splits(documents, ["test"])] == ["1", "2"]
    assert choose_splits(documents, []) == documents
    with pytest.raises(PiiError, match=r"\[E519\] \'dev\'.* base_train, test, unknown"):
        choose_splits(documents, ["test", "dev"])


def test_the_checksum_is_that_of_the_bytes_and_repr_has_no_text(tmp_path, gold):
    (tmp_path / "a").write_bytes(b"abc")
    assert file_sha256(tmp_path / "a").startswith("ba7816bf")
    assert "wrote" not in repr(gold[0]) and "Dana" not in repr(gold[0])
