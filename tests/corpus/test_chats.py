"""Chats: placeholders, people per group, reading, and that the authored set keeps to its own rules."""

import csv
import hashlib
import json
import re
import subprocess
import sys
from collections import Counter
from dataclasses import asdict
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pii_components.corpus.chats import (
    NAME_FORMS,
    Chat,
    Placeholder,
    Turn,
    count_placeholders,
    deal,
    fill_chat,
    load_table,
    make_chats,
    name_forms,
    parse_chat,
    read_chats,
)
from pii_components.corpus.people import CULTURES, GROUPS, given_names, surnames
from pii_components.errors import PiiError
from pii_components.labels import LABELS
from pii_components.names.letters import fold

ASSETS = Path(__file__).parents[2] / "assets" / "chats"
TALK = """teacher: Hi there <STUDENT>, I'm <TEACHER FULL NAME>. Is that <STUDENT SPELLED>?
student: hi <TEACHER>, its <STUDENT FULL NAME>, not <STUDENT MISHEARD>, <AGE>, from <CITY>, now <CITY 2>
student: <FRIEND> and <FRIEND 2> say hi, <FRIEND 2 SURNAME> is at <SCHOOL>. write to <EMAIL ADDRESS>
"""


@pytest.fixture(scope="module")
def table():
    return load_table()


@pytest.fixture(scope="module")
def authored(table):
    return read_chats(ASSETS, table=table)


def fill(text, gender="F", culture="Asia", seed=1, **options):
    return fill_chat(parse_chat(text, "c"), gender=gender, culture=culture, seed=seed, **options)


def one(filled, words):
    spans = zip(filled.spans, filled.placeholders, strict=True)
    (text,) = {filled.text[start:end] for (start, end, _), name in spans if name == words}
    return text


def refuses(code, call, *args, **options):
    with pytest.raises(PiiError) as error:
        call(*args, **options)
    assert error.value.code == code
    return str(error.value)


CASES = json.loads(
    (Path(__file__).parents[1] / "data/regression_cases/corpus.json").read_text("utf8")
)

# The names and the placeholders


def test_the_papers_ten_groups_have_names_enough_in_english_letters_and_share_none():
    assert len(set(GROUPS)) == 10 and {c for _, c in GROUPS} == {
        "Africa",
        "Americas",
        "Asia",
        "Europe",
        "Oceania",
    }
    countries = [c for text in CULTURES.values() for c in text.split()]
    assert len(countries) == len(set(countries)) == 105
    for gender, culture in GROUPS:
        for names in (given_names(gender, culture), surnames(culture)):
            assert len(set(names)) == len(names) >= 250
            assert all(re.fullmatch(r"[A-Z][A-Za-z]{2,13}", name) for name in names)
        assert not set(given_names("F", culture)) & set(given_names("M", culture))


@pytest.mark.parametrize("words, meaning", CASES["placeholders"])
def test_a_placeholder_is_taken_apart(table, words, meaning):
    assert table.resolve(words) == (meaning and Placeholder(*meaning))


def test_only_words_in_capitals_are_placeholders_and_an_unknown_one_is_a_coded_error_without_text(
    table,
):
    assert table.pattern.findall("<STUDENT> <STUDENT's MOTHER> <DATE 2>") == [
        "STUDENT",
        "STUDENT's MOTHER",
        "DATE 2",
    ]
    assert table.pattern.findall("i <3 it, List<T>, <h1>, Map<String>, a < B > c") == []
    text = "student: hi\nteacher: ask <JOHN SMITH>"
    message = refuses("E680", fill, text)
    assert "Chat c:" in message and "turn 2" in message and "JOHN" not in message
    assert count_placeholders([parse_chat(text, "c")]) == [("JOHN SMITH", 1, None)]


def test_a_users_table_adds_people_details_values_and_brackets(tmp_path):
    own = tmp_path / "own.toml"
    own.write_text(
        'brackets = ["[", "]"]\n[speakers]\nteacher = ["Coach"]\n[persons]\n"NEIGHBOUR" = {role = "CONNECTED", age = [90, 90]}\n'
        '[details]\n"LEVEL" = {values = ["B2"], label = ""}\n"TEAM" = {values = ["the Owls"], label = "OTHER"}\n',
        "utf8",
    )
    table = load_table(own)
    chat = parse_chat(
        "coach: [NEIGHBOUR], [NEIGHBOUR AGE], is in [TEAM], [LEVEL], hi [STUDENT]", "c", table=table
    )
    filled = fill_chat(chat, gender="M", culture="Europe", seed=1, table=table)
    assert [label for *_, label in filled.spans] == [
        "NAME_CONNECTED",
        "AGE",
        "OTHER",
        "NAME_STUDENT",
    ]
    assert ", 90, is in the Owls, B2, hi " in filled.text and filled.text.startswith("teacher: ")


def test_a_table_that_cannot_be_used_is_a_coded_error(tmp_path):
    persons = (
        '{role = "KING"}',
        '{role = "STUDENT", gender = "x"}',
        '{role = "STUDENT", age = [9, 2]}',
    )
    details = (
        '{make = "shoe"}',
        "{values = []}",
        '{values = ["x"]}',
        '{values = ["x"], label = "SHOE"}',
        '{values = ["x"], make = "age"}',
    )
    whole = (
        "= 1",
        "colour = 1",
        "persons = 3",
        'brackets = ["<"]',
        '[speakers]\nparrot = ["p"]',
        '[forms]\n"F" = "shoe"',
    )
    for toml in (
        *whole,
        *(f'[persons]\n"A" = {row}' for row in persons),
        *(f'[details]\n"D" = {row}' for row in details),
    ):
        (tmp_path / "bad.toml").write_text(toml, "utf8")
        assert "bad.toml" in refuses("E686", load_table, tmp_path / "bad.toml"), toml
    refuses("E501", load_table, tmp_path / "none.toml")


# Filling


@pytest.mark.parametrize("gender, culture", GROUPS)
def test_people_have_names_of_their_group(gender, culture):
    filled = fill(TALK, gender, culture, 46)
    first, last = one(filled, "STUDENT FULL NAME").split()
    assert (
        first == one(filled, "STUDENT")
        and first in given_names(gender, culture)
        and last in surnames(culture)
    )
    assert (
        one(filled, "TEACHER FULL NAME").split()[0]
        == one(filled, "TEACHER")
        in given_names(gender, culture)
    )
    assert filled.people["STUDENT"] == {"role": "STUDENT", "gender": gender, "culture": culture}
    assert re.sub(r"[^A-Z]", "", one(filled, "STUDENT SPELLED")) == first.upper()
    assert fold(one(filled, "STUDENT MISHEARD")) != fold(first)
    assert one(filled, "CITY") != one(filled, "CITY 2")


def test_forms_of_a_name_and_called_full_is_the_papers_way():
    forms = (
        "Mereoni Waqa",
        "Mereoni",
        "Waqa",
        "Mere",
        "M.W.",
        "M-E-R-E-O-N-I",
        "W-A-Q-A",
        "Mereani",
    )
    assert name_forms("Mereoni", "Waqa", "Mere", "Mereani", "-") == dict(
        zip(NAME_FORMS, forms, strict=True)
    )
    filled = fill(TALK, called="full")
    assert one(filled, "STUDENT") == one(filled, "STUDENT FULL NAME")


@pytest.mark.parametrize(
    "turn, change",
    [
        ("hello <STUDENT>, i'm in <CITY>", str.lower),
        ("yes I think I'm late <STUDENT>", str.lower),
        ("HELLO <STUDENT> HELP", str.upper),
        ("Hello <STUDENT>", str),
        ("<STUDENT>!", str),
        ("OK <STUDENT>", str),
    ],
)
def test_case_of_the_surroundings_is_taken_but_by_addresses(turn, change):
    written, following = (
        fill(f"student: {turn}", "M", "Americas", 3, case=case)
        for case in ("written", "surroundings")
    )
    assert one(written, "STUDENT") in given_names("M", "Americas")
    assert one(following, "STUDENT") == change(one(written, "STUDENT"))
    address = "student: mail me <EMAIL ADDRESS>"
    assert fill(address).text == fill(address, case="surroundings").text


@pytest.mark.parametrize(
    "option", [{"gender": "x"}, {"culture": "Atlantis"}, {"called": "loudly"}, {"case": "camel"}]
)
def test_unknown_options_are_coded_errors(option):
    refuses("E685", fill, TALK, **option)


def test_no_two_people_share_a_name_and_no_name_stands_in_the_text(authored, table):
    for gender, culture in GROUPS[::3]:
        for filled in (
            fill_chat(c, gender=gender, culture=culture, seed=7, table=table) for c in authored
        ):
            names: dict[str, set[str]] = {}
            for (start, end, label), words in zip(filled.spans, filled.placeholders, strict=True):
                if label.startswith("NAME_") and not words.endswith(("SPELLED", "INITIALS")):
                    parts = {fold(part) for part in filled.text[start:end].split()}
                    names.setdefault(table.resolve(words).who, set()).update(parts)
            assert not [pair for pair in combinations(names.values(), 2) if pair[0] & pair[1]]
            rest = list(filled.text)
            for start, end, _ in filled.spans:
                rest[start:end] = "\0" * (end - start)
            own = {fold(word) for word in re.findall(r"[^\W\d_]+", "".join(rest))}
            assert not own & set().union(*names.values())


def test_a_name_in_the_chats_own_words_is_passed_over():
    names = given_names("F", "Europe")
    for seed in range(5):
        assert (
            one(
                fill(f"student: {' '.join(names[:-40])} and <STUDENT>", "F", "Europe", seed),
                "STUDENT",
            )
            in names[-40:]
        )
    refuses("E689", fill, f"student: {' '.join(names)} and <STUDENT>", "F", "Europe")


_PIECES = st.sampled_from(
    [
        "<STUDENT>",
        "<TEACHER NICKNAME>",
        "<FRIEND 2 FULL NAME>",
        "<AGE>",
        "<HOME ADDRESS>",
        "<PERSONAL PAGE>",
    ]
)
_TURN = st.lists(
    st.one_of(_PIECES, st.text("aé \U0001f600<>:'\n", max_size=6)), min_size=1, max_size=6
).map("".join)


@settings(max_examples=60, deadline=None)
@given(st.lists(_TURN, min_size=1, max_size=4), st.integers(0, 9), st.sampled_from(GROUPS))
def test_spans_are_what_was_put_in_and_the_rest_stays(turns, seed, group):
    chat = Chat("c", tuple(Turn("student", text) for text in turns))
    filled = fill_chat(chat, gender=group[0], culture=group[1], seed=seed, case="surroundings")
    assert all(a[1] <= b[0] for a, b in zip(filled.spans, filled.spans[1:], strict=False))
    text = filled.text
    for (start, end, label), words in reversed(
        list(zip(filled.spans, filled.placeholders, strict=True))
    ):
        assert text[start:end].strip() == text[start:end] != "" and label in LABELS
        text = f"{text[:start]}<{words}>{text[end:]}"
    assert text == "".join(f"student: {turn}\n" for turn in turns)


# Groups


def hellos(n):
    return [Chat(f"c{i}", (Turn("student", "hi <STUDENT>"),)) for i in range(n)]


@pytest.mark.parametrize(
    "n, per_group, each", [(44, None, 4), (260, None, 26), (3, None, 1), (44, 9, 9), (44, 50, 50)]
)
def test_every_group_has_as_many_chats(n, per_group, each):
    dealt = deal(hellos(n), per_group=per_group, seed=1)
    assert Counter(group for _, group, _ in dealt) == dict.fromkeys(GROUPS, each)
    assert len({(chat.id, group, number) for chat, group, number in dealt}) == len(dealt)
    uses = Counter(chat.id for chat, _, _ in dealt)
    assert max(uses.values()) - min((*uses.values(), *([0] if len(uses) < n else []))) <= 1
    assert dealt == deal(hellos(n)[::-1], per_group=per_group, seed=1)
    assert {number for *_, number in dealt} == ({1, 2} if each > n else {1})


def test_the_same_chats_in_every_group_if_asked_and_a_group_needs_one():
    dealt = deal(hellos(20), per_group=6, seed=1, same_chats=True)
    assert len({chat.id for chat, *_ in dealt}) == 6 and len(dealt) == 60
    refuses("E687", deal, [], per_group=0, seed=1)
    assert list(make_chats([], seed=1)) == []


def test_the_same_in_a_fresh_process(authored, table):
    code = (
        "import hashlib, json, sys; from dataclasses import asdict; from pathlib import Path;"
        "from pii_components.corpus.chats import make_chats, read_chats;"
        "lines = [json.dumps(asdict(c)) for c in make_chats(read_chats(Path(sys.argv[1])), seed=46)];"
        "print(hashlib.sha256(''.join(lines).encode()).hexdigest())"
    )
    here = "".join(json.dumps(asdict(c)) for c in make_chats(authored, seed=46, table=table))
    run = subprocess.run(
        [sys.executable, "-c", code, str(ASSETS)], capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == hashlib.sha256(here.encode()).hexdigest()


# Reading


def test_front_matter_and_lines_that_go_on():
    chat = parse_chat(
        "id: c\ngenre: g\nvoice: v\n---\nTeacher: one\n  two\n\nSTUDENT: three: four\r\n", "c"
    )
    assert chat == Chat(
        "c", (Turn("teacher", "one\n  two"), Turn("student", "three: four")), "g", "v"
    )
    assert parse_chat("teacher: a\n---\nstudent: b", "c").turns == (
        Turn("teacher", "a\n---"),
        Turn("student", "b"),
    )


def test_malformed_chats_are_coded_errors_that_name_the_line_and_show_no_text():
    for text, code in (
        ("", "E682"),
        ("id: c\n---\n", "E682"),
        ("hello\nstudent: hi", "E681"),
        ("parrot: hello", "E681"),
        ("id: other\n---\nstudent: hi", "E692"),
    ):
        refuses(code, parse_chat, text, "c")
    message = refuses("E681", parse_chat, "id: c\n---\n\nMy name is Ina", "c")
    assert "line 4" in message and "Ina" not in message


ROWS = [
    ("l1", "teacher", "Hi <STUDENT>,\nok?"),
    ("l1", "Student", "hi"),
    ("l2", "student", "bye <TEACHER>"),
]


def write_rows(path, rows, names=("lesson", "role", "edited")):
    if path.suffix == ".jsonl":
        path.write_text(
            "".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows), "utf8"
        )
        return
    with path.open("w", encoding="utf8", newline="") as stream:
        csv.writer(stream, delimiter="\t" if path.suffix == ".tsv" else ",").writerows(
            [names, *rows]
        )


@pytest.mark.parametrize("name", ["t.tsv", "t.csv", "t.jsonl"])
def test_tables_are_one_chat_or_many(tmp_path, name):
    write_rows(tmp_path / name, ROWS)
    turns = tuple(Turn(speaker.lower(), text) for _, speaker, text in ROWS)
    assert read_chats(tmp_path) == read_chats(tmp_path / name) == [Chat("t", turns)]
    many = read_chats(tmp_path, chat_field="lesson", speaker_field="role", text_field="edited")
    assert many == [Chat("l1", turns[:2]), Chat("l2", turns[2:])]


@pytest.mark.parametrize("rows, options, code", CASES["malformed tables of chats"])
def test_malformed_tables_are_coded_errors(tmp_path, rows, options, code):
    write_rows(tmp_path / "t.csv", rows)
    refuses(code, read_chats, tmp_path, **options)


def test_malformed_folders_are_coded_errors(tmp_path):
    refuses("E501", read_chats, tmp_path / "none")
    refuses("E684", read_chats, tmp_path)
    (tmp_path / "a.txt").write_text("student: hi", "utf8")
    (tmp_path / "a.tsv").write_text("role\ttext\nstudent\thi\n", "utf8")
    refuses("E688", read_chats, tmp_path)
    (tmp_path / "a.tsv").unlink()
    (tmp_path / "b.txt").write_bytes(b"student: \xff")
    refuses("E691", read_chats, tmp_path)


def test_the_authored_chats_keep_to_the_format_and_say_nothing_twice(authored, table):
    assert len(authored) >= 44
    assert all(12 <= len(chat.turns) <= 60 and chat.genre and chat.voice for chat in authored)
    assert all({turn.speaker for turn in chat.turns} == {"student", "teacher"} for chat in authored)
    used = {meaning and meaning.what for *_, meaning in count_placeholders(authored, table=table)}
    assert None not in used and {
        *(detail.make for detail in table.details.values()),
        *table.forms.values(),
    } <= {*used, "first"}
    shingles: dict[tuple[str, ...], str] = {}
    for chat, turn in ((chat, turn) for chat in authored for turn in chat.turns):
        words = re.findall(r"[a-z']+", turn.text.lower())
        for i in range(len(words) - 8):
            assert shingles.setdefault(tuple(words[i : i + 9]), chat.id) == chat.id
