"""`pii_context` in chats: lines that open with a speaker, and whom is spoken to there."""

import pytest

from pii_components.context.component import PiiContext
from pii_components.context.settings import ContextSettings
from pii_components.context.view import DocView
from pii_components.labels import NAME_CITED, NAME_CONNECTED, NAME_INSTRUCTOR, NAME_STUDENT
from pii_components.spans import Candidate
from tests.test_context import CONTEXT, NLP, marked

CHAT = "teacher: Hello there!\nstudent: hi\nteacher: {}\nstudent: i do not know\nteacher: Try again.\nstudent: ok\n"


def view(text: str) -> DocView:
    return DocView(NLP(text), ContextSettings())


def found(text: str, model: str | None = None) -> list[tuple[str, str]]:
    doc = CONTEXT(marked(text, model))
    return [(span.text, span.label_) for span in doc.spans["pii"]]


@pytest.mark.parametrize(
    "text, turns",
    [
        ("teacher: Hi\nstudent: hi\nteacher: so?\nstudent: ok\n", [("Hi", True), ("hi", False), ("so?", True), ("ok", False)]),
        (
            "[10:31] Ana Lopez: one\n[10:32] Tutor: two\n[10:33] Ana Lopez: three\n10:34:02 Tutor: four\n",
            [("one", False), ("two", True), ("three", False), ("four", True)],
        ),
        (
            "[Fri 17:04] cook80: one\n14/02, 17:05 - Anne-Marie O'Hara : two\n[Fri 17:04] cook80: three\n14/02, 17:06 - Anne-Marie O'Hara : four\n",
            [("one", False), ("two", False), ("three", False), ("four", False)],
        ),
        ("प्रिया: one\nDr. Hart: two\nप्रिया: three\nDr. Hart: four\n", [(word, False) for word in ("one", "two", "three", "four")]),
        ("student> a\ntutor 2> b\nstudent> c\ntutor 2> d\n", [("a", False), ("b", True), ("c", False), ("d", True)]),
        # A turn may run over several lines; those that open with nobody are no turns.
        ("Q: a\nmore\nA: b\nQ: c\nA: d\nand more\n", [("a", False), ("b", False), ("c", False), ("d", False)]),
        # A header, a plan, a letter, a play with one line each.
        ("Name: Ana Lopez\nCourse: Design\nTeacher: Dr. Weber\nDate: 3 May\n\nMy project began late.\n", []),
        ("Student: Ana Lopez\nStudent: Ben Okoro\nTutor: Mia Weber\nTutor: Dr. Hart\n", []),
        ("teacher: Hi\nstudent: hi\nteacher: So?\n", []),
        ("Goal: a\nGoal: b\nGoal: c\nGoal: d\n", []),
        ("Step one: a\nStep two: b\nStep one: c\nStep two: d\n" + "We went on with it for a while.\n" * 6, []),
        ("", []),
    ],
)
def test_turns_of_a_conversation(text: str, turns: list[tuple[str, bool]]) -> None:
    seen = view(text)
    got = [(text[at : seen.lines[n][1]], tutor) for n, (at, tutor) in sorted(seen.turns.items())]
    assert got == turns


@pytest.mark.parametrize(
    "said",
    [
        "[[.2:Filsan]], that is the wrong file.",
        "OK, [[.2:Filsan]], shall we go on?",
        "Hi [[.2:Filsan]]! Send me one.",
        "Well done [[.2:Filsan]]!",
        "Not the lentils again, [[.3:Filsan]].",
        "You are [[.2:Filsan]], right?",
        "Careful. [[.2:Filsan]], you have to save first.",
        "I only see [[.9:Filsan Osman]] in the list.",
        "See you [[.9:Filsan]].",
    ],
)
def test_whom_a_teacher_speaks_to_is_the_student(said: str) -> None:
    labels = {label for text, label in found(CHAT.format(said), None) if "Filsan" in text}
    assert labels == {NAME_STUDENT}


@pytest.mark.parametrize(
    "said",
    ["[[.2:Filsan]] cabbage is a dish.", "The method of [[.3:Filsan]] is old.", "They sell [[.4:Filsan]], rice and tea."],
)
def test_weak_names_that_nobody_speaks_to_are_dropped(said: str) -> None:
    assert found(CHAT.format(said), "CITED") == []


def test_a_sentence_in_a_chat_may_still_cite() -> None:
    text = CHAT.format("Read [[Bernoulli]] (1738), chapter 2, according to [[Marlowe]].")
    assert {label for _, label in found(text, "CITED")} == {NAME_CITED}


def test_a_speaker_is_no_field_of_a_form() -> None:
    chat = [label for _, label in found(CHAT.format("[[Rocio]], you have just found it."), "CHARACTER")]
    form = [label for _, label in found("Course: Design\nTeacher: [[Rocio Vega]]\n\nMy project began late in the year.\n")]
    assert chat == [NAME_STUDENT]
    assert form == [NAME_INSTRUCTOR]


def test_a_name_found_by_a_greeting_alone() -> None:
    doc = CONTEXT(marked(CHAT.format("Goodbye Amelia!")))
    assert [(s.text, s.label_, s._.pii_source) for s in doc.spans["pii"]] == [
        ("Amelia", NAME_STUDENT, "cue:turn_hello_student")
    ]
    assert found("We said goodbye Amelia!\n") == []


def test_whom_a_student_speaks_to_may_be_anybody() -> None:
    text = "teacher: Hi\nstudent: thanks, [[Amelia]]!\nteacher: So?\nstudent: ok\n"
    assert found(text) == [("Amelia", NAME_CONNECTED)]


@pytest.mark.parametrize("spelled", ["F-I-L-S-A-N", "F.I.L.S.A.N", "F, I, L, S, A, N"])
def test_a_spelled_name_is_that_of_whom_it_spells(spelled: str) -> None:
    text = CHAT.format(f"OK, [[Filsan]], so {spelled} it is.")
    assert (spelled, NAME_STUDENT) in found(text)
    assert spelled not in dict(found(f"My name is [[Ana]]. The code {spelled} was sent and nobody knew why.\n"))


def test_letters_that_spell_nobody() -> None:
    text = CHAT.format("OK, [[Filsan]], the U.S.A. and the B.B.C. and I-S-O and A, B, C.")
    assert [text for text, _ in found(text)] == ["Filsan"]


def test_names_of_speakers_keep_their_own_line() -> None:
    text = "Ana Lopez: hi\nBen Okoro: hello\nAna Lopez: how are you\nBen Okoro: fine\n"
    doc = NLP(text)
    seen = DocView(doc, ContextSettings())
    places = seen.places([Candidate(0, 2, NAME_STUDENT), Candidate(5, 7, NAME_STUDENT)])
    assert [place.before for place in places] == ["", ""]
    assert all("turn" not in place.zones for place in places)


def test_who_takes_turns_is_no_author() -> None:
    text = "Vols of Emma\n\n[[花子]]: did all read it\n[[健太]]: yes and before\n[[花子]]: what now\n[[健太]]: argues that it is long\n"
    assert {label for _, label in found(text, "CITED")} == {NAME_STUDENT}


@pytest.mark.parametrize("text", ["Then.[[.75:Iqra]] was late.", "Then 🌸[[.75:Iqra]]🌸 was late.", "Then \u200b[[.75:Iqra]] was late."])
def test_what_touches_a_name_excuses_a_weak_reading(text: str) -> None:
    context = PiiContext(settings={"min_score": 0.9})
    doc, plain = context(marked(text)), context(marked("Then [[.75:Iqra]] was late."))
    assert [span.text.strip("🌸\u200b.") for span in doc.spans["pii"]] == ["Iqra"]
    assert len(plain.spans["pii"]) == 0


def test_who_is_read_in_a_chat_is_an_author() -> None:
    text = "tutor: hello all\nstudent: did you read [[Okonjo]] yet\ntutor: not all of it\nstudent: and [[Amelia]] has not\n"
    assert found(text, "CITED") == [("Okonjo", NAME_CITED), ("Amelia", NAME_STUDENT)]
    assert found(text.replace("[[Okonjo]]", "[[Okonjo]]'s draft"))[0] == ("Okonjo", NAME_CONNECTED)


def test_who_leads_the_group_is_a_student() -> None:
    assert found("All letters go to the group leader, [[Meenakshi Rao]], before noon on the last day.\n", "CITED") == [
        ("Meenakshi Rao", NAME_STUDENT)
    ]
