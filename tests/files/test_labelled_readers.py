"""Readers of labelled corpora: good and malformed input side by side, each fault with its code. All texts are invented."""

import json
import zlib

import pytest
import spacy
from spacy.tokens import Doc, DocBin, Span

from pii_components.errors import PiiError
from pii_components.files.formats.base import ReadStats
from pii_components.files.formats.spans import EntityRow, occurrences, place, read_entities
from pii_components.files.labelled import read_corpus
from pii_components.files.record import Skip
from tests.cli.conftest import put

TEXT = "I am Ina Sorel."
GOLD = ((5, 14, "NAME_STUDENT"),)
KAGGLE = {
    "document": 7,
    "full_text": TEXT,
    "tokens": ["I", "am", "Ina", "Sorel", "."],
    "trailing_whitespace": [True, True, True, False, False],
    "labels": ["O", "O", "B-NAME_STUDENT", "I-NAME_STUDENT", "O"],
}
LINE = {"id": "7", "text": TEXT, "spans": [[5, 14, "NAME_STUDENT"]]}
HALF = "half \ud83d"


def read(path, form="", **options):
    """Documents as (id, text, spans, masked), skips as (number, code), and the tally."""
    skips: list[Skip] = []
    tally = ReadStats()
    essays = list(read_corpus(path, form, on_skip=skips.append, tally=tally, **options))
    for skip in skips:
        assert "Sorel" not in str(skip.error)
    return (
        [(e.id, e.text, e.spans, e.masked) for e in essays],
        [(skip.number, skip.code) for skip in skips],
        tally,
    )


JSON_FAULTS = [
    ("kaggle", {"full_text": 5}, "E624"),
    ("kaggle", {"labels": "O"}, "E522"),
    ("kaggle", {"labels": [*KAGGLE["labels"][:4], "NAME"]}, "E624"),
    ("kaggle", {"labels": [*KAGGLE["labels"][:4], "B-a b"]}, "E624"),
    ("kaggle", {"tokens": ["I", "am", "Ina", 5, "."]}, "E624"),
    ("kaggle", {"trailing_whitespace": [True, True, True, "False", False]}, "E624"),
    ("kaggle", {"full_text": "I am Ino Sorel."}, "E624"),
    ("kaggle", {"tokens": ["I", "am", "Ina", HALF, "."], "full_text": f"I am Ina {HALF}."}, "E520"),
    ("kaggle", {"masked": [[1]]}, "E624"),
    ("kaggle", {"document": [7]}, "E624"),
    ("kaggle", {"document": HALF}, "E520"),
    ("jsonl", {"text": 5}, "E624"),
    ("jsonl", {"text": HALF}, "E520"),
    ("jsonl", {"id": HALF}, "E520"),
    ("jsonl", {"spans": None}, "E624"),
    ("jsonl", {"spans": [[5, 14, "a b"]]}, "E624"),
    ("jsonl", {"masked": [[5, 14, "X"]]}, "E624"),
]


@pytest.mark.parametrize(("form", "change", "code"), JSON_FAULTS)
def test_fault_in_json_is_a_coded_skip_between_good_records(tmp_path, form, change, code):
    good = {"kaggle": KAGGLE, "jsonl": LINE}[form]
    content = "\n".join(json.dumps(row) for row in (good, {**good, **change}, good))
    path = put(tmp_path / "a.json", content)
    essays, skips, _ = read(path, form)
    assert essays == [("7", TEXT, GOLD, ())] * 2 and skips == [(2, code)]
    with pytest.raises(PiiError, match=code):
        list(read_corpus(path, form))


@pytest.mark.parametrize(
    ("form", "content", "skips"),
    [
        ("jsonl", f'{json.dumps(LINE)}\n{{"text": "x"}}\n{json.dumps(LINE)}\n', [(2, "E522")]),
        ("jsonl", f'{json.dumps(LINE)}\n{{"spans": []}}\n{json.dumps(LINE)}\n', [(2, "E522")]),
        ("jsonl", json.dumps([LINE, 5, LINE]), [(2, "E521")]),
        ("kaggle", json.dumps([KAGGLE, {"full_text": "x"}, KAGGLE]), [(2, "E522")]),
        (
            "csv",
            "id,text,spans\n7,x,[]\n8,a, b,[]\n9,x,[]\n",
            [(1, "E524"), (2, "E524"), (3, "E524")],
        ),
        ("csv", "id,text,spans\n7,x,[]\n8,x,\n9,x,[]\n", [(2, "E624")]),
        ("csv", "id,text,spans\n7,x,[]\n8,x,nan\n9,x,[]\n", [(2, "E624")]),
        ("csv", "id,text,spans\n7,x,[]\n8,x,\"[(0, 1, 'X')]\"\n9,x,[]\n", [(2, "E624")]),
        ("csv", "id,text,spans\n7,x,[]\n8,x,{}\n9,x,[]\n", [(2, "E624")]),
        ("csv", 'id,text,spans\n7,x,[]\n8,x,"[[0, 1]]"\n9,x,[]\n', [(2, "E624")]),
        ("csv", "id,text,spans,masked\n7,x,[],\n8,x,[],5\n9,x,[],\n", [(2, "E624")]),
        ("csv", "id,text,spans,meta\n7,x,[],\n8,x,[],[]\n9,x,[],\n", [(2, "E624")]),
        (
            "csv",
            'id,text,spans,meta\n7,x,[],\n8,x,[],"{""a"": ""\\ud83d""}"\n9,x,[],\n',
            [(2, "E520")],
        ),
    ],
)
def test_fault_in_a_file_is_a_coded_skip(tmp_path, form, content, skips):
    essays, got, _ = read(put(tmp_path / "a.csv", content), form)
    assert got == skips and len(essays) == 3 - len(skips)


@pytest.mark.parametrize(
    ("form", "content", "code"),
    [
        ("jsonl", '{"words": "x", "spans": []}', "E652"),
        ("kaggle", json.dumps([KAGGLE, KAGGLE])[:-1], "E521"),
        ("csv", "id,text\n1,x\n", "E652"),
        ("csv", "id,text,spans,spans\n1,x,[],[]\n", "E652"),
        ("csv", "id,words,spans\n1,x,[]\n", "E506"),
        ("entities", "", "E503"),
        ("entities", "file_idx,type,positions\n", "E652"),
        ("entities", "file_idx,file_idx,entity_text,type,positions\n", "E652"),
        ("entities", '"file_idx\n', "E524"),
        ("spacy", "", "E503"),
        ("spacy", "x", "E900"),
        ("spacy", zlib.compress(b"x"), "E900"),
        ("spacy", zlib.compress(b"\x80"), "E900"),
    ],
)
def test_file_of_another_form_is_refused(tmp_path, form, content, code):
    texts = put(tmp_path / "texts.jsonl", json.dumps(LINE)) if form == "entities" else None
    with pytest.raises(PiiError, match=code):
        list(
            read_corpus(
                put(tmp_path / "a", content), form, text_source=texts, on_skip=lambda skip: None
            )
        )


@pytest.mark.parametrize(
    ("values", "ident"),
    [
        ({"id": 7}, "7"),
        ({"document": 8}, "8"),
        ({"id": None}, "1"),
        ({"id": ""}, "1"),
        ({}, "1"),
        ({"id": 1.5}, "1.5"),
    ],
)
def test_ids_of_json_lines(tmp_path, values, ident):
    row = {key: value for key, value in LINE.items() if key != "id"} | values
    assert read(put(tmp_path / "a.jsonl", json.dumps(row)))[0] == [(ident, TEXT, GOLD, ())]


def test_columns_and_fields_can_be_named(tmp_path):
    row = {"nr": "a", "words": TEXT, "spans": LINE["spans"]}
    path = put(tmp_path / "a.jsonl", json.dumps(row))
    assert read(path, text_field="words", id_field="nr")[0] == [("a", TEXT, GOLD, ())]
    path = put(tmp_path / "a.csv", 'nr;words;spans\na;x;"[]"\n')
    assert read(path, text_field="words", id_field="nr")[0] == [("a", "x", (), ())]


def test_masked_tokens_are_no_gold_for_what_is_outside(tmp_path):
    row = {**KAGGLE, "masked": [[0, 1], [8, 10]]}
    essays, _, tally = read(put(tmp_path / "a.json", json.dumps([row])))
    assert essays == [("7", TEXT, (), ((0, 1), (5, 14)))]
    assert [m.label for m in tally.masked] == ["NAME_STUDENT"]


ENTITY_HEAD = "file_idx,entity_text,type,positions\n"
ENTITY_ROWS = [
    ('7,Ina Sorel,NAME_STUDENT,"(5, 14)"', True),
    ('7,Ina Sorel,NAME_STUDENT,"[5,14]"', True),
    ('7,"Ina\nSorel",NAME_STUDENT,"(5, 14)"', True),
    ('7,"  ",NAME_STUDENT,"(0, 2)"', True),
    ('7,Ina Sorel,NAME_STUDENT,"(5, 14"', False),
    ("7,Ina Sorel,NAME_STUDENT", False),
    ('7,Ina Sorel,NAME_STUDENT,"(5, 14)",x', False),
    (',Ina Sorel,NAME_STUDENT,"(5, 14)"', False),
    ('7,,NAME_STUDENT,"(5, 14)"', False),
    ('7,Ina Sorel,,"(5, 14)"', False),
    ('7,Ina Sorel,a b,"(5, 14)"', False),
]


@pytest.mark.parametrize(("row", "valid"), ENTITY_ROWS)
def test_rows_of_entities(tmp_path, row, valid):
    (item,) = read_entities(put(tmp_path / "e.csv", ENTITY_HEAD + row + "\n"))
    assert isinstance(item, EntityRow) if valid else isinstance(item, Skip) and item.code == "E524"


def entities(tmp_path, rows, texts, name="texts.jsonl"):
    path = put(
        tmp_path / "e.csv",
        ENTITY_HEAD + "".join(f'{i},{words},{label},"{at}"\n' for i, words, label, at in rows),
    )
    if name == "texts.jsonl":
        put(
            tmp_path / name,
            "".join(
                json.dumps({"document": i, "full_text": text}) + "\n" for i, text in texts.items()
            ),
        )
    elif name == "texts.csv":
        put(
            tmp_path / name,
            "file_idx,text\n" + "".join(f'{i},"{text}"\n' for i, text in texts.items()),
        )
    else:
        for i, text in texts.items():
            put(tmp_path / name / f"{i}.txt", text)
    return read(path, text_source=tmp_path / name)


@pytest.mark.parametrize("name", ["texts.jsonl", "texts.csv", "texts"])
def test_entities_are_joined_with_their_texts(tmp_path, name):
    rows = [
        ("7", "Ina", "NAME_STUDENT", (5, 8)),
        ("9", "Odile", "X", (0, 5)),
        ("7", "Bo", "X", (13, 15)),
    ]
    essays, skips, _ = entities(tmp_path, rows, {"7": "I am Ina and Bo.", "8": "None."}, name)
    assert essays == [
        ("7", "I am Ina and Bo.", ((5, 8, "NAME_STUDENT"), (13, 15, "X")), ()),
        ("8", "None.", (), ()),
    ]
    assert skips == [(2, "E628")]


def test_texts_that_cannot_be_joined(tmp_path):
    path = put(tmp_path / "e.csv", ENTITY_HEAD + '1,Ina,X,"(0, 3)"\n')
    rows = [
        {"document": None, "text": "Ina"},
        {"text": "Ina"},
        {"document": 1, "text": "Ina"},
        {"document": 1, "text": "Ina"},
    ]
    rows += [{"document": 2, "text": 5}, {"document": 3, "text": HALF}]
    texts = put(tmp_path / "t.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    essays, skips, _ = read(path, text_source=texts)
    assert essays == [("1", "Ina", ((0, 3, "X"),), ())]
    assert skips == [(1, "E522"), (2, "E522"), (4, "E627"), (5, "E624"), (6, "E520")]
    texts = put(tmp_path / "t.csv", "id,text\n,Ina\n1,Ina\n")
    assert read(path, text_source=texts)[1] == [(1, "E522")]
    with pytest.raises(PiiError, match="E652"):
        read(path, text_source=put(tmp_path / "t.csv", "text\nIna\n"))
    with pytest.raises(PiiError, match="E473"):
        read(path)


FAR = " and so on" * 20
PLACES = [
    ("exact", "I am Ina.", [("Ina", 5)], [(5, 8)], []),
    ("two before", "I am Ina.", [("Ina", 3)], [(5, 8)], []),
    ("behind", "I am Ina.", [("Ina", 9)], [(5, 8)], []),
    ("white space differs", "I am Ina \n Sorel.", [("Ina Sorel", 3)], [(5, 16)], []),
    ("part of a word where it says so", "I am Ina123.", [("Ina", 5)], [(5, 8)], []),
    ("whole word rather than a part", "Inana Ina x", [("Ina", 1)], [(6, 9)], []),
    (
        "each place has its row",
        "Ina, Ina, Ina",
        [("Ina", 6), ("Ina", 12), ("Ina", 17)],
        [(0, 3), (5, 8), (10, 13)],
        [],
    ),
    ("far, but nowhere else", f"Ina{FAR}", [("Ina", 150)], [(0, 3)], []),
    ("the closer one", f"Ina{FAR} Ina", [("Ina", 2)], [(0, 3)], []),
    (
        "the closer one, after the same drift",
        "xx Ina Ina, Bob Ina Ina",
        [("Bob", 10), ("Ina", 14)],
        [(12, 15), (16, 19)],
        [],
    ),
    ("two as close", "Ina x Ina x", [("Ina", 3)], [], [(0, 9)]),
    ("far from two", f"Ina Ina{FAR}", [("Ina", 150)], [], [(0, 3), (4, 7), (150, 153)]),
    ("nowhere", "I am Odile.", [("Ina", 5)], [], [(5, 8)]),
    ("nowhere, outside", "I am Odile.", [("Ina", 50)], [], [(0, 11)]),
    ("the same row twice", "I am Ina.", [("Ina", 3), ("Ina", 3)], [(5, 8)], []),
    ("one place, two rows", "I am Ina.", [("Ina", 3), ("Ina", 7)], [], [(5, 8)]),
]


@pytest.mark.parametrize(
    ("text", "rows", "spans", "masked"),
    [case[1:] for case in PLACES],
    ids=[case[0] for case in PLACES],
)
def test_offsets_that_are_off_are_corrected_or_masked(tmp_path, text, rows, spans, masked):
    listed = [("7", words, "X", (start, start + len(words))) for words, start in rows]
    essays, _, tally = entities(tmp_path, listed, {"7": text})
    assert essays[0][2] == tuple((*at, "X") for at in spans)
    hidden = {i for start, end in masked for i in range(start, end)}
    assert {i for start, end in essays[0][3] for i in range(start, end)} >= hidden
    assert bool(essays[0][3]) == bool(masked) == bool(tally.masked)


def test_words_are_found_whatever_they_hold():
    assert occurrences("a+b (c) a+b", "a+b") == [(0, 3), (8, 11)]
    assert occurrences("a  b\na b", "a b") == [(0, 4), (5, 8)]
    assert occurrences("abc", "  ") == []
    spans, lost = place("abc", [EntityRow(1, "7", -3, 0, "X", "z")], number=1, tally=ReadStats())
    assert spans == [] and lost


def docs_in(path, *docs, **options):
    DocBin(docs=docs, **options).to_disk(path)
    return read(path)


def make_doc(**groups):
    doc = Doc(
        spacy.blank("xx").vocab,
        words=["I", "am", "Ina", "Sorel", "."],
        spaces=[True, True, True, False, False],
    )
    for name, found in groups.items():
        spans = [Span(doc, start, end, label=label) for start, end, label in found]
        if name == "ents":
            doc.set_ents(spans)
        else:
            doc.spans[name] = spans
    return doc


def test_docbin_takes_spans_before_entities(tmp_path):
    one = [(2, 4, "NAME_STUDENT")]
    docs = [
        make_doc(pii=one, ents=[(0, 1, "X")]),
        make_doc(ents=one),
        make_doc(pii=[], ents=one),
        make_doc(pii=[], pii_unlabelled=[(2, 4, "")]),
        make_doc(ents=[]),
        make_doc(pii=[(2, 4, "A"), (3, 4, "B")]),
    ]
    essays, skips, tally = docs_in(tmp_path / "a.spacy", *docs)
    assert [essay[2] for essay in essays] == [GOLD, GOLD, (), (), (), ()] and not skips
    assert [essay[3] for essay in essays] == [(), (), (), ((5, 14),), (), ((5, 14),)]
    assert [essay[0] for essay in essays] == list("123456") and len(tally.masked) == 2


def test_docbin_without_gold_or_with_odd_gold_is_skipped(tmp_path):
    odd = make_doc(pii=[])
    odd.user_data["pii_corpus"] = "no JSON"
    docs = [make_doc(pii=[]), make_doc(), make_doc(pii=[(0, 1, "")]), odd, make_doc(ents=[])]
    essays, skips, _ = docs_in(tmp_path / "a.spacy", *docs, store_user_data=True)
    assert len(essays) == 2 and skips == [(2, "E522"), (3, "E624"), (4, "E657")]


def test_broken_docbin_is_refused(tmp_path):
    made = DocBin(docs=[make_doc(pii=[]), make_doc(pii=[])])
    data = made.to_bytes()
    made.span_groups[1] = b"\xc1"
    for broken in (data[: len(data) // 2], made.to_bytes()):
        with pytest.raises(PiiError, match="E900"):
            read(put(tmp_path / "a.spacy", broken))


REGION = {"start": 5, "end": 14, "text": "Ina Sorel", "labels": ["NAME_STUDENT"]}
RESULT = {"id": "r", "from_name": "x", "to_name": "y", "type": "labels", "value": REGION}
TASK = {"id": 7, "data": {"text": TEXT, "writer": "w1"}, "annotations": []}
MIN = {"id": 7, "text": TEXT, "tag": [REGION], "annotation_id": 3, "lead_time": 1.5}
PRODIGY = {
    "text": TEXT,
    "id": "7",
    "spans": [{"start": 5, "end": 14, "token_start": 2, "token_end": 3, "label": "NAME_STUDENT"}],
    "tokens": [{"text": "I", "start": 0, "end": 1, "id": 0, "ws": True}],
    "meta": {"writer": "w1"},
    "answer": "accept",
    **{"_input_hash": 1, "_task_hash": -2, "_view_id": "ner_manual", "_annotator_id": "bo"},
}


def task(*annotations, text=TEXT):
    """A task of Label Studio's JSON; an annotation is a list of regions, or the whole of it."""
    done = [
        one
        if isinstance(one, dict)
        else {"was_cancelled": False, "result": [{**RESULT, "value": value} for value in one]}
        for one in annotations
    ]
    return {**TASK, "data": {**TASK["data"], "text": text}, "annotations": done}


@pytest.mark.parametrize("lines", [False, True])
@pytest.mark.parametrize("row", [PRODIGY, task([REGION]), MIN], ids=["prodigy", "json", "min"])
def test_exports_of_annotation_tools_are_known_and_read(tmp_path, row, lines):
    rows = [{**row, "id": "7"}, {**row, "id": "8"}]
    content = "\n".join(map(json.dumps, rows)) if lines else json.dumps(rows, indent=1)
    path = put(tmp_path / f"a.{'jsonl' if lines else 'json'}", content)
    essays, skips, _ = read(path)
    assert essays == [("7", TEXT, GOLD, ()), ("8", TEXT, GOLD, ())] and not skips
    whole = list(read_corpus(path))[0]
    assert whole.meta == ({} if row is MIN else {"writer": "w1"})


SHORT = {"start": 5, "end": 8, "text": "Ina", "labels": ["NAME_STUDENT"]}
CHOICE = {"from_name": "c", "type": "choices", "value": {"choices": ["good"]}}


@pytest.mark.parametrize(
    ("row", "spans", "masked"),
    [
        (task([]), (), ()),
        (task([REGION], [REGION]), GOLD, ()),
        (task([REGION], []), (), ((5, 14),)),
        (task([REGION], [SHORT]), (), ((5, 14),)),
        (
            task([SHORT], {"ground_truth": True, "result": [RESULT], "was_cancelled": False}),
            GOLD,
            (),
        ),
        (task([REGION], {"was_cancelled": True, "result": []}), GOLD, ()),
        (task({"was_cancelled": False, "result": [CHOICE, RESULT]}), GOLD, ()),
        (task([{**REGION, "labels": ["NAME_STUDENT", "OTHER"]}]), (), ((5, 14),)),
        (MIN | {"tag": [REGION], "second": []}, GOLD, ()),
        ({name: MIN[name] for name in MIN if name != "tag"}, (), ()),
        (PRODIGY | {"spans": None}, (), ()),
        ({name: PRODIGY[name] for name in PRODIGY if name != "spans"}, (), ()),
    ],
)
def test_what_annotators_of_a_tool_agree_on_is_gold(tmp_path, row, spans, masked):
    essays, skips, _ = read(put(tmp_path / "a.jsonl", json.dumps(row)))
    assert essays == [("7", TEXT, spans, masked)] and not skips


def test_label_studio_counts_emoji_twice_and_escapes_line_breaks(tmp_path):
    text = "\U0001f600\U0001f600 Ina Sorel\nInk Road 5, Ina"
    regions = [
        {"start": 5, "end": 14, "text": "Ina Sorel", "labels": ["NAME_STUDENT"]},
        {"start": 15, "end": 25, "text": "Ink Road 5", "labels": ["STREET_ADDRESS"]},
        {"start": 27, "end": 30, "text": "Ina", "labels": ["NAME_STUDENT"]},
    ]
    broken = [{"start": 5, "end": 18, "text": "Ina Sorel\\nInk", "labels": ["OTHER"]}]
    rows = [task(regions, text=text), task(broken, text=text)]
    essays, _, _ = read(put(tmp_path / "a.json", json.dumps(rows)))
    found = [[text[start:end] for start, end, _ in spans] for _, _, spans, _ in essays]
    assert found == [["Ina Sorel", "Ink Road 5", "Ina"], ["Ina Sorel\nInk"]]


@pytest.mark.parametrize(
    ("row", "code"),
    [
        (task([{**REGION, "start": "/p[1]/text()[1]"}]), "E624"),
        (task([{**REGION, "labels": ["a b"]}]), "E624"),
        (task([{"start": 5, "end": 14, "hypertextlabels": ["EMAIL"]}]), "E624"),
        ({**task([REGION]), "data": {"text": 5}}, "E624"),
        ({**task([REGION]), "data": {"a": "x", "b": "y"}}, "E506"),
        ({**TASK, "annotations": None}, "E522"),
        (PRODIGY | {"_view_id": "ner"}, "E624"),
        (PRODIGY | {"spans": [{"start": 5}]}, "E624"),
    ],
)
def test_fault_in_an_export_is_a_coded_skip(tmp_path, row, code):
    good = PRODIGY if "answer" in row else task([REGION])
    path = put(tmp_path / "a.jsonl", "\n".join(map(json.dumps, (good, row, good))))
    essays, skips, _ = read(path)
    assert len(essays) == 2 and skips == [(2, code)]


@pytest.mark.parametrize(
    "row", [PRODIGY | {"answer": "reject"}, task(), task({"was_cancelled": True, "result": []})]
)
def test_what_an_annotator_set_aside_is_counted_and_passed_over(tmp_path, row):
    good = PRODIGY if "answer" in row else task([REGION])
    path = put(tmp_path / "a.jsonl", "\n".join(map(json.dumps, (good, row))))
    essays, skips, tally = read(path)
    assert len(essays) == 1 and not skips
    assert tally.notes["not annotated, or set aside by the annotator"] == 1


def test_gold_of_a_docbin_may_stand_under_the_key_of_spacy(tmp_path):
    doc = spacy.blank("en")(TEXT)
    doc.spans["sc"] = [Span(doc, 2, 4, label="NAME_STUDENT")]
    DocBin(docs=[doc]).to_disk(tmp_path / "a.spacy")
    assert read(tmp_path / "a.spacy")[0][0][2] == GOLD
