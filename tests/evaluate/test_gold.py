"""Labelled files become documents."""

import json

import pytest

from pii_components.errors import PiiError
from pii_components.evaluate.gold import choose_splits, file_sha256, read_gold


def test_gold_has_what_the_file_has(gold_file, gold):
    read = read_gold(gold_file)
    assert [doc.id for doc in read] == ["1", "2", "#3", "#4"]
    assert [doc.split for doc in read] == ["test", "test", "base_train", "unknown"]
    assert [doc.text for doc in read] == [doc.text for doc in gold]
    assert [doc.tokens for doc in read] == [doc.tokens for doc in gold]
    assert read[0].entities == gold[0].entities
    assert [len(doc.entities) for doc in read] == [2, 1, 0, 0]


def test_equal_ids_are_an_error(gold_file):
    gold_file.write_text(gold_file.read_text().splitlines()[0] + "\n" + gold_file.read_text())
    with pytest.raises(PiiError, match=r"\[E702\].* 1;"):
        read_gold(gold_file)


def test_a_record_that_does_not_fit_is_an_error(gold_file):
    record = json.loads(gold_file.read_text().splitlines()[0])
    record["labels"].pop()
    gold_file.write_text(json.dumps(record) + "\n")
    with pytest.raises(PiiError, match=r"\[E535\]"):
        read_gold(gold_file)


def test_a_file_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(PiiError, match=r"\[E501\]"):
        read_gold(tmp_path / "gold.jsonl")


def test_splits_are_chosen_by_name(gold_file):
    documents = read_gold(gold_file)
    assert [doc.id for doc in choose_splits(documents, ["test"])] == ["1", "2"]
    assert choose_splits(documents, []) == documents
    with pytest.raises(PiiError, match=r"\[E704\] Splits dev .* base_train, test, unknown"):
        choose_splits(documents, ["test", "dev"])


def test_the_checksum_is_that_of_the_bytes(tmp_path):
    (tmp_path / "a").write_bytes(b"abc")
    assert file_sha256(tmp_path / "a").startswith("ba7816bf")


def test_a_document_keeps_its_text_out_of_its_repr(gold):
    assert "wrote" not in repr(gold[0])
    assert "Dana" not in repr(gold[0])
