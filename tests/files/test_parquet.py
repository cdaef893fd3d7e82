"""Parquet in and out. All names are invented."""

import datetime
import random

import pyarrow as pa
import pytest
from pyarrow import parquet

from pii_components.errors import PiiError
from pii_components.files.record import Record, Skip
from pii_components.files.sources import open_source
from pii_components.files.writers import as_line, open_writer, renamed, value_of

DAY = datetime.date(2024, 5, 1)


def put(path, n=3, **columns):
    table = pa.table(
        {
            "id": range(n),
            "text": [f"I am Ina Sorel {i}" if i else None for i in range(n)],
            "day": [DAY] * n,
            "marks": [[1, 2]] * n,
            "kind": pa.array(["a"] * n).dictionary_encode(),
            **columns,
        }
    )
    parquet.write_table(
        table.replace_schema_metadata({"note": "Ina Sorel"}), path, row_group_size=100
    )
    return path


def copy(source, writer, *, first=0, last=None, done=None):
    """Write records in capitals; what is safe after `last` of them."""
    writer.start(done)
    for item in source:
        assert isinstance(item, Record)
        if item.number > first:
            writer.write(item, item.text.upper())
        if item.number == last:
            return writer.sync()
    return writer.finish()


def test_types_stay_and_metadata_go(tmp_path):
    source = open_source(put(tmp_path / "a.parquet"), id_field="id", drop=["marks"])
    assert (source.kind, source.text_field, source.others) == (
        "parquet",
        "text",
        ["id", "day", "kind"],
    )
    copy(source, open_writer(source, tmp_path / "b.parquet"))
    table = parquet.read_table(tmp_path / "b.parquet")
    assert table.to_pydict() == {
        "id": ["0", "1", "2"],
        "text": [None, "I AM INA SOREL 1", "I AM INA SOREL 2"],
        "day": [DAY] * 3,
        "kind": ["a"] * 3,
    }
    assert (
        table.schema.field("day").type == pa.date32()
        and b"Ina" not in (tmp_path / "b.parquet").read_bytes()
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.parquet", "b.parquet"]


def test_a_run_that_was_broken_off_goes_on(tmp_path):
    path = put(tmp_path / "a.parquet", 2300)
    copy(open_source(path), open_writer(open_source(path), tmp_path / "whole.parquet"))
    done = copy(
        open_source(path),
        broken := open_writer(open_source(path), tmp_path / "b.parquet"),
        last=1234,
    )
    broken.write(next(iter(open_source(path))), "lost")
    broken.stop()
    copy(
        open_source(path),
        open_writer(open_source(path), tmp_path / "b.parquet"),
        first=1234,
        done=done,
    )
    whole, again = (parquet.read_table(tmp_path / f"{name}.parquet") for name in ("whole", "b"))
    assert whole.equals(again) and len(again) == 2300


def test_ids_and_lines(tmp_path):
    source = open_source(put(tmp_path / "a.parquet"), id_field="id")
    item = list(source)[1]
    assert isinstance(item, Record) and (item.id, value_of(item, source, "day")) == ("1", DAY)
    new = renamed(item, source, "id", "d7")
    assert (new.id, new.given, value_of(new, source, "id")) == ("d7", ("id", "1"), "d7")
    assert '"day": "2024-05-01"' in as_line(item, source)


def test_pyarrow_is_needed(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(PiiError, match="E005"):
        open_source(put(tmp_path / "a.parquet"))


BAD = [
    (lambda path: path.write_bytes(b"x"), {}, "E501"),
    (lambda path: path.write_bytes(b""), {}, "E501"),
    (lambda path: put(path).write_bytes(path.read_bytes()[:-50]), {}, "E501"),
    (lambda path: put(path, 0), {}, "E503"),
    (lambda path: put(path), {"text_field": "body"}, "E652"),
    (lambda path: put(path), {"text_field": "day"}, "E624"),
]


@pytest.mark.parametrize(("make", "options", "code"), BAD)
def test_what_cannot_be_opened_has_a_code(tmp_path, make, options, code):
    make(tmp_path / "a.parquet")
    with pytest.raises(PiiError, match=code):
        open_source(tmp_path / "a.parquet", **options)


def test_a_broken_page_ends_the_reading_with_a_code(tmp_path):
    path = put(tmp_path / "a.parquet", 3000, noise=[random.Random(i).random() for i in range(3000)])
    data = bytearray(path.read_bytes())
    data[len(data) // 3 : len(data) // 2] = bytes(len(data) // 2 - len(data) // 3)
    path.write_bytes(data)
    last = list(open_source(path))[-1]
    assert isinstance(last, Skip) and last.code == "E531" and last.last
