"""Where marks count: words that a model drops, adds or changes shift nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pii_components.llm.marker import align, free_marks, mark, unmark

MARKS = {"NAME_STUDENT": ("@@@", "###"), "EMAIL": ("QQQ", "^^^")}
TAIL = " Further words of the essay stand here and say nothing about anybody at all, as essays do."
TEXT = (
    "My name is Ana Lopez and I study in the evening. Write to ana@x.edu when you like. Ana likes it."
    + TAIL
)


def found(answer: str, text: str = TEXT) -> list[str]:
    return [text[start:end] for start, end, _ in align(text, answer, MARKS).spans]


# Edits of the text: what is replaced, one after the other; or another answer.
@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ([("Ana Lopez", "@@@Ana Lopez###")], ["Ana Lopez"]),
        ([("Ana Lopez", "@@@Ana Lopez###"), ("in the evening", "evenings")], ["Ana Lopez"]),
        ([("Ana Lopez", "@@@Anna Lopez###")], ["Ana Lopez"]),
        ([("Ana Lopez", "@@@ Ana Lopez ###")], ["Ana Lopez"]),
        ([("My name is Ana Lopez and", "Sure! My name is @@@Ana Lopez###, and")], ["Ana Lopez"]),
        ([("ana@x.edu", "QQQana@x.edu^^^")], ["ana@x.edu"]),
        ([("I study in the evening", "I study"), ("Ana likes", "@@@Ana### likes")], ["Ana"]),
        ("@@@Ana Lopez### is a student who works hard at night.", ["Ana Lopez"]),
        ("@@@Bob Reed### is a student who works hard at night.", []),
        ([("Ana Lopez", "@@@Ana Lopez")], []),
        ([("Ana Lopez", "@@@Ana ###")], ["Ana"]),
        ([("Ana Lopez", "@@@###Ana Lopez")], []),
        ([("Ana Lopez", "@@@Ana @@@Lopez###")], ["Lopez"]),
        ("", []),
    ],
)
def test_marks_count_at_the_words_they_were_aligned_with(
    changes: list[tuple[str, str]] | str, expected: list[str]
) -> None:
    answer = TEXT if isinstance(changes, list) else changes
    for old, new in changes if isinstance(changes, list) else ():
        answer = answer.replace(old, new)
    assert found(answer) == expected


def test_repeated_names_get_each_their_own_place() -> None:
    text = "Kim met Kim. " * 3 + TAIL
    answer = text.replace("met Kim", "met @@@Kim###")
    assert [start for start, _, _ in align(text, answer, MARKS).spans] == [8, 21, 34]


def test_what_was_not_read_and_what_was_rewritten_is_told() -> None:
    cut = align(TEXT, TEXT[:60], MARKS)
    assert 40 < cut.read <= 60 and cut.same < 0.8
    whole = align(TEXT, TEXT, MARKS)
    assert (whole.read, whole.same, whole.lost, whole.rewritten) == (len(TEXT), 1.0, 0, [])
    other = "He was called @@@Ana Lopez### by his aunt, who never wrote anything down."
    new = align(TEXT, other, MARKS)
    assert new.rewritten and new.same < 0.5


def test_a_text_that_holds_a_sign_gets_other_signs() -> None:
    text = "### Title\n<1| and |2>\nAna wrote it."
    marks = free_marks(text, MARKS)
    assert not any(sign in text for pair in marks.values() for sign in pair)
    answer = mark(text, [(22, 25, "NAME_STUDENT")], marks)
    assert [text[a:b] for a, b, _ in align(text, answer, marks).spans] == ["Ana"]
    assert free_marks("plain", MARKS) == MARKS


@given(
    st.lists(
        st.sampled_from(["Ana", "Lopez", "wrote", "x@y.zz", "(2001)", "é", ".", "\n", "###"]),
        min_size=1,
        max_size=30,
    ),
    st.data(),
)
def test_what_is_marked_and_copied_comes_back(words: list[str], data: st.DataObject) -> None:
    text = " ".join(words)
    starts = [i for i, word in enumerate(words) if any(ch.isalnum() for ch in word)]
    picked = data.draw(st.lists(st.sampled_from(starts), unique=True, max_size=4)) if starts else []
    at = [sum(len(word) + 1 for word in words[:i]) for i in range(len(words))]
    spans = sorted((at[i], at[i] + len(words[i]), "NAME_STUDENT") for i in picked)
    marks = free_marks(text, MARKS)
    answer = mark(text, spans, marks)
    assert unmark(answer, marks)[0] == text
    result = align(text, answer, marks)
    assert result.spans == spans and result.lost == 0 and result.same == 1.0
