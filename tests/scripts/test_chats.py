"""Chats: placeholders, people per group, reading, and that the authored set keeps to its own rules."""

import re
from collections import Counter
from itertools import combinations
from pathlib import Path

import pytest

from pii_components.corpus.people import CULTURES
from pii_components.errors import PiiError
from pii_components.files.labelled import read_corpus
from pii_components.names.letters import fold
from scripts import chats
from scripts.chats import Chat, Placeholders, assign_groups, fill_chat, parse_chat, read_chats
from scripts.cultures import GROUPS, given_names, surnames
from tests.tiny import cases

ASSETS = Path(__file__).parents[2] / "assets" / "chats"
TABLE = Placeholders()
TALK = """teacher: Hi there <STUDENT>, I'm <TEACHER FULL NAME>. Is that <STUDENT SPELLED>?
student: hi <TEACHER>, its <STUDENT FULL NAME>, not <STUDENT MISHEARD>, <AGE>, from <CITY>, now <CITY 2>
student: <FRIEND> and <FRIEND 2> say hi, <FRIEND 2 SURNAME> is at <SCHOOL>. write to <EMAIL ADDRESS>
"""
CASES = cases("corpus")


def fill(text, gender="F", culture="Asia", seed=1, **options):
    chat = parse_chat(text, "c", TABLE)
    return fill_chat(chat, gender=gender, culture=culture, seed=seed, table=TABLE, **options)


def values(filled):
    found = [filled.text[start:end] for start, end, _ in filled.spans]
    return dict(zip(filled.placeholders, found, strict=True))


@pytest.mark.parametrize("words, meaning", CASES["placeholders"])
def test_a_placeholder_is_taken_apart(words, meaning):
    found = TABLE.resolve(words)
    assert (list(found[: len(meaning)]) if found else None) == meaning


def test_an_unknown_placeholder_is_an_error():
    assert values(fill("teacher: if (a < B && C > d) <b> List<T>")) == {}
    with pytest.raises(PiiError, match=r"\[E601\].*turn 1.* 3 ") as error:
        fill("teacher: Oh <UNCLE BOB>")
    assert "BOB" not in str(error.value)


@pytest.mark.parametrize("gender, culture", GROUPS)
def test_people_have_names_of_their_group(gender, culture):
    found = values(fill(TALK, gender, culture))
    assert found["STUDENT"] in given_names(gender, culture)
    assert found["TEACHER FULL NAME"].split()[-1] in surnames(culture)
    assert culture in CULTURES


def test_forms_of_a_name_agree():
    found = values(fill(TALK))
    first = found["STUDENT"]
    assert found["STUDENT FULL NAME"].split()[0] == first != found["STUDENT MISHEARD"]
    assert re.sub("[^A-Z]", "", found["STUDENT SPELLED"]) == first.upper()
    assert found["CITY"] != found["CITY 2"]
    full = values(fill(TALK, called="full"))
    assert full["STUDENT"] == full["STUDENT FULL NAME"]


def test_authored_chats_give_sure_labels():
    for chat in read_chats(ASSETS, table=TABLE)[::8]:
        filled = fill_chat(chat, gender="M", culture="Europe", seed=3, table=TABLE)
        people = {who: set() for who in filled.people}
        for (start, end, label), words in zip(filled.spans, filled.placeholders, strict=True):
            who = TABLE.resolve(words).who
            if label.startswith("NAME_"):
                people[who] |= {fold(w) for w in re.findall(r"\w+", filled.text[start:end])}
        assert not any(len(w) > 1 for a, b in combinations(people.values(), 2) for w in a & b)


@pytest.mark.parametrize("n, size", [(84, 8), (3, 1)])
def test_every_group_has_as_many_chats(n, size):
    made = [Chat(str(i), (("teacher", "Hi"),)) for i in range(n)]
    found = assign_groups(made, seed=1)
    assert found == assign_groups(made[::-1], seed=1)
    assert Counter(group for _, group in found) == dict.fromkeys(GROUPS, size)
    assert n < 10 or len({chat.id for chat, _ in found}) == len(found)


def test_front_matter_and_lines_that_go_on():
    chat = parse_chat(
        "id: c\ngenre: maths\npart: test\n---\nTutor: a\nb\n\ns: <STUDENT>", "c", TABLE
    )
    assert chat == Chat("c", (("teacher", "a\nb"), ("student", "<STUDENT>")), "maths", "test")


@pytest.mark.parametrize("text", ["", "Hello", "id: d\n---\nteacher: Hi", "Hi\nteacher: x"])
def test_malformed_chats_are_errors_without_text(text):
    with pytest.raises(PiiError, match=r"\[E601\] c ") as error:
        parse_chat(text, "c", TABLE)
    assert "Hello" not in str(error.value)


def test_a_table_is_a_chat(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("role,edited\nteacher,Hi <STUDENT>\nstudent,bye\n", "utf8")
    assert [len(chat.turns) for chat in read_chats(path, table=TABLE)] == [2]
    path.write_text("role,edited\nparrot,Hi\n", "utf8")
    with pytest.raises(PiiError, match=r"\[E601\].*row 1"):
        read_chats(path, table=TABLE)


def test_the_command_writes_a_labelled_corpus(command, tmp_path):
    out = tmp_path / "out.jsonl"
    done = command(chats.main, "--input", ASSETS, "--out", out)
    assert done.exit_code == 0, done.output
    essays = list(read_corpus(out))
    assert len(essays) >= 10 and any(essay.spans for essay in essays)
    refused = command(chats.main, "--input", ASSETS, "--out", out, "--called", "sir")
    assert refused.exit_code == 2 and "E519" in refused.output
