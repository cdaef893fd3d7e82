"""Labelled corpora: gold that does not fit its text, forms known by their fields, writing that is whole or not at all. All invented."""

import json

import pytest
import spacy

from pii_components.errors import PiiError, PiiWarning
from pii_components.files.formats.base import (
    RANGE,
    LabelledText,
    ReadStats,
    parse_spans,
    resolve_gold_overlaps,
)
from pii_components.files.formats.tokens import to_doc
from pii_components.files.labelled import (
    FORMS,
    convert,
    form_of,
    read_corpus,
    write_corpus,
)
from pii_components.files.record import Skip
from tests.tiny import TOKENIZER

TEXT = "I am Ina Sorel, not Odile."
INA, ODILE = (5, 14, "NAME_STUDENT"), (20, 25, "NAME_INSTRUCTOR")
ESSAY = LabelledText("7", TEXT, (INA, ODILE))
WRITTEN = [form.name for form in FORMS.values() if form.writer]
NAMES = {
    "kaggle": "a.json",
    "kaggle-jsonl": "ak.jsonl",
    "jsonl": "a.jsonl",
    "csv": "a.csv",
    "spacy": "a.spacy",
}


@pytest.mark.parametrize(
    ("found", "masked", "spans", "stretches", "reasons"),
    [
        ([INA, ODILE], [], [INA, ODILE], [], []),
        ([ODILE, INA], [], [INA, ODILE], [], []),
        ([INA, INA], [], [INA], [], []),
        ([], [], [], [], []),
        # touching is no overlap
        ([(5, 8, "X"), (8, 14, "X")], [], [(5, 8, "X"), (8, 14, "X")], [], []),
        ([INA, (5, 8, "EMAIL")], [], [], [(5, 14)], ["overlaps other gold"] * 2),
        ([INA, (5, 14, "EMAIL")], [], [], [(5, 14)], ["overlaps other gold"] * 2),
        (
            [(0, 6, "X"), (5, 9, "X"), (8, 12, "X"), ODILE],
            [],
            [ODILE],
            [(0, 12)],
            ["overlaps other gold"] * 3,
        ),
        ([INA, (20, 99, "X")], [], [INA], [(20, 26)], ["outside of the text"]),
        ([INA, (-3, 2, "X")], [], [INA], [(0, 2)], ["outside of the text"]),
        # the end first, or nothing: the words that may be meant
        ([INA, (25, 20, "X")], [], [INA], [(20, 25)], ["outside of the text"]),
        ([INA, (22, 22, "X")], [], [INA], [(20, 26)], ["outside of the text"]),
        # points nowhere: may stand anywhere
        ([(90, 99, "X")], [], [], [(0, 26)], ["outside of the text"]),
        (
            [INA, (90, 99, "X")],
            [],
            [],
            [(0, 26)],
            ["outside of the text", "touches a masked stretch"],
        ),
        ([INA, ODILE], [(12, 16)], [ODILE], [(5, 16)], ["touches a masked stretch"]),
        ([INA], [(14, 16), (16, 18), (0, 2)], [INA], [(0, 2), (14, 18)], []),
        ([INA], [(18, 99)], [INA], [(18, 26)], []),
    ],
)
def test_gold_that_does_not_fit_is_masked_and_counted(found, masked, spans, stretches, reasons):
    tally = ReadStats()
    got = resolve_gold_overlaps(TEXT, found, masked, number=3, tally=tally)
    assert (list(got[0]), list(got[1])) == (spans, stretches)
    assert sorted(m.reason for m in tally.masked) == sorted(reasons)
    assert {m.number for m in tally.masked} <= {3}
    LabelledText("7", TEXT, *got)


def test_gold_of_an_empty_text():
    tally = ReadStats()
    assert resolve_gold_overlaps("", [(0, 3, "X")], number=1, tally=tally) == ((), ())
    assert [m.reason for m in tally.masked] == [RANGE]


@pytest.mark.parametrize(
    ("spans", "masked"),
    [
        ([(5, 99, "X")], []),
        ([(-1, 3, "X")], []),
        ([(5, 5, "X")], []),
        ([(9, 5, "X")], []),
        ([INA, (8, 16, "X")], []),
        ([ODILE, INA], []),
        ([INA], [(13, 16)]),
        ([], [(3, 9), (0, 2)]),
    ],
)
def test_record_that_contradicts_itself_is_refused(spans, masked):
    with pytest.raises(PiiError) as err:
        LabelledText("7", TEXT, tuple(spans), tuple(masked))
    assert err.value.code == "E635" and "Ina" not in str(err.value)


def test_record_does_not_show_its_text():
    assert "Ina" not in repr(LabelledText("7", TEXT, (INA,), meta={"author": "Ina Sorel"}))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ([], []),
        ([[5, 14, "NAME_STUDENT"]], [INA]),
        ([{"start": 5, "end": 14, "label": "NAME_STUDENT", "token_start": 2}], [INA]),
        ([[-5, 140, "X"]], [(-5, 140, "X")]),
        (None, "E624"),
        ("[]", "E624"),
        ({}, "E624"),
        ([[5, 14]], "E624"),
        ([[5, 14, "X", 1]], "E624"),
        ([["5", 14, "X"]], "E624"),
        ([[5.0, 14, "X"]], "E624"),
        ([[True, 14, "X"]], "E624"),
        ([[5, 14, ""]], "E624"),
        ([[5, 14, "MY LABEL"]], "E624"),
        ([[5, 14, None]], "E624"),
        ([[5, 14, "half \ud83d"]], "E624"),
        ([{"start": 5, "end": 14}], "E624"),
        ([5], "E624"),
    ],
)
def test_spans_in_json(value, expected):
    if isinstance(expected, str):
        with pytest.raises(PiiError, match=expected):
            parse_spans(value, 1)
    else:
        assert parse_spans(value, 1) == expected


@pytest.mark.parametrize("form", WRITTEN)
def test_form_is_known_from_its_fields(tmp_path, form):
    write_corpus([ESSAY], tmp_path / NAMES[form], form)
    assert form_of(tmp_path / NAMES[form]) == form.removesuffix("-jsonl")
    (essay,) = read_corpus(tmp_path / NAMES[form])
    assert essay == ESSAY


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        ("a.json", '[{"text": "x"}]', "E621"),
        ("a.jsonl", '{"text": "x"}\n', "E621"),
        ("a.csv", "id,text\n1,x\n", "E621"),
        ("a.csv", "id,words\n1,x\n", "E621"),
        ("a.txt", "x", "E621"),
        ("a.jsonl", "", "E503"),
    ],
)
def test_form_that_cannot_be_told_or_is_not_there(tmp_path, name, content, code):
    (tmp_path / name).write_text(content)
    with pytest.raises(PiiError, match=code):
        list(read_corpus(tmp_path / name))


def test_without_a_tally_what_is_masked_is_one_warning(tmp_path):
    rows = [{"id": str(i), "text": TEXT, "spans": [[5, 99, "X"], [0, 1, "X"]]} for i in range(3)]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.warns(PiiWarning) as warned:
        assert len(list(read_corpus(tmp_path / "a.jsonl"))) == 3
    assert [str(w.message)[:38] for w in warned] == ["[W620] 3 gold labels in 3 documents ca"]


@pytest.mark.parametrize("form", WRITTEN)
def test_output_is_whole_or_not_there(tmp_path, form):
    out = tmp_path / NAMES[form]

    def essays():
        yield ESSAY
        raise KeyboardInterrupt

    write_corpus([ESSAY], out, form)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(KeyboardInterrupt):
        write_corpus(essays(), out, form)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    other = LabelledText("8", "Nothing here.")
    assert write_corpus([other], out, form) == 1
    assert [essay.id for essay in read_corpus(out, form)] == ["8"]
    assert not list(tmp_path.glob("*.partial*")) and not list(tmp_path.glob("*.old"))


@pytest.mark.parametrize("form", WRITTEN)
def test_an_empty_corpus_is_written_and_can_be_read(tmp_path, form):
    out = tmp_path / NAMES[form]
    assert write_corpus([], out, form) == 0
    assert out.exists()
    if form == "spacy":
        assert list(read_corpus(out, form)) == []


@pytest.mark.parametrize(
    ("form", "essays", "codes"),
    [
        ("jsonl", [ESSAY, LabelledText("8", "half \ud83d")], ["E640"]),
        ("csv", [ESSAY, LabelledText("8", "half \ud83d")], ["E640"]),
        ("jsonl", [ESSAY, LabelledText("8", "", meta={"a": {1, 2}})], ["E640"]),
        ("spacy", [ESSAY, LabelledText("8", "", meta={"a": {1, 2}})], ["E640"]),
    ],
)
def test_record_that_a_form_cannot_hold_is_skipped(tmp_path, form, essays, codes):
    skips: list[Skip] = []
    assert write_corpus(essays, tmp_path / "out", form, on_skip=skips.append) == len(essays) - len(
        codes
    )
    assert [skip.code for skip in skips] == codes
    with pytest.raises(PiiError) as err:
        write_corpus(essays, tmp_path / "out", form)
    assert err.value.code == codes[0]


@pytest.mark.parametrize("form", ["kaggle", "kaggle-jsonl", "spacy"])
def test_edge_inside_a_token_is_masked(tmp_path, form):
    essay = LabelledText(
        "7", "Sorelson and Ina_Sorel", ((0, 5, "NAME_STUDENT"), (13, 16, "NAME_STUDENT"))
    )
    tally = ReadStats()
    write_corpus([essay], tmp_path / "out", form, tally=tally)
    assert [(m.start, m.end, m.label, m.reason) for m in tally.masked] == [
        (0, 5, "NAME_STUDENT", "edge inside a token")
    ]
    assert +tally.labels == {"NAME_STUDENT": 1}
    (back,) = read_corpus(tmp_path / "out", form)
    assert (back.spans, back.masked) == (((13, 16, "NAME_STUDENT"),), ((0, 8),))


@pytest.mark.parametrize(
    ("text", "span", "spans", "masked"),
    [
        ("I am Ina .", (5, 8), [(2, 3)], []),
        ("I am Ina .", (4, 9), [(2, 3)], []),  # spaces at the edges
        ("I am Ina .", (4, 5), [], [(1, 3)]),  # a space alone: it may be either word
        ("I am  Ina .", (5, 9), [(2, 4)], []),  # the second space is a token
        ("\n\nIna", (0, 5), [(0, 2)], []),
        ("Inaana", (0, 3), [], [(0, 1)]),
        ("I am Inaana", (2, 8), [], [(1, 3)]),
    ],
)
def test_gold_on_tokens(text, span, spans, masked):
    tally = ReadStats()
    doc = to_doc(LabelledText("7", text, ((*span, "X"),)), number=1, tally=tally)
    assert [(s.start, s.end) for s in doc.spans["pii"]] == spans
    assert [(s.start, s.end) for s in doc.spans["pii_unlabelled"]] == masked
    assert len(tally.masked) == len(masked)


def test_masked_stretch_takes_whole_tokens_and_the_gold_in_them():
    essay = LabelledText("7", "Ina Sorelson wrote", ((0, 9, "X"),), ((9, 12),))
    tally = ReadStats()
    doc = to_doc(essay, number=1, tally=tally)
    assert not doc.spans["pii"] and [(s.start, s.end) for s in doc.spans["pii_unlabelled"]] == [
        (0, 2)
    ]
    assert len(tally.masked) == 1


def test_training_reads_what_is_written(tmp_path):
    from pii_components.factories import make_essay_corpus

    write_corpus([ESSAY, LabelledText("8", "Clean.")], tmp_path / "a.spacy")
    nlp = spacy.blank("en", config=TOKENIZER)
    examples = list(make_essay_corpus(tmp_path / "a.spacy")(nlp))
    assert [len(eg.reference.spans["pii"]) for eg in examples] == [2, 0]


def test_kaggle_file_is_as_kaggles(tmp_path):
    write_corpus([ESSAY, LabelledText("x", "a   b\n")], tmp_path / "a.json")
    rows = json.loads((tmp_path / "a.json").read_text())
    assert list(rows[0]) == ["document", "full_text", "tokens", "trailing_whitespace", "labels"]
    assert [row["document"] for row in rows] == [7, "x"]
    assert rows[1]["tokens"] == ["a", "  ", "b", "\n"] and rows[1]["trailing_whitespace"] == [
        True,
        False,
        False,
        False,
    ]


def test_huge_text_goes_through_every_form(tmp_path):
    head = ("w" * 99 + " ") * 10_100  # more than spaCy takes unless told to
    essay = LabelledText("7", head + TEXT, ((len(head) + 5, len(head) + 14, "NAME_STUDENT"),))
    for form in ("jsonl", "csv", "kaggle", "spacy"):
        write_corpus([essay], tmp_path / form, form)
        assert list(read_corpus(tmp_path / form, form)) == [essay]


def test_conversion_without_one_usable_record_writes_nothing(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": "x", "spans": 5}\n')
    with pytest.raises(PiiError) as err:
        convert(tmp_path / "a.jsonl", tmp_path / "b.json", on_skip=lambda skip: None)
    assert err.value.code == "E503" and [path.name for path in tmp_path.iterdir()] == ["a.jsonl"]
