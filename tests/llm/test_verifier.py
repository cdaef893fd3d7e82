"""The verifier: only a plain F counts, once for a string in a document."""

import pytest
import spacy

from pii_components.errors import PiiError
from pii_components.labels import EMAIL, NAME_CITED, NAME_STUDENT
from pii_components.llm import Reply
from pii_components.llm.verifier import make_verifier_task, passages, verdict
from pii_components.spans import Candidate, write_ents, write_spans

TEXT = "Essay by Will Turner. The painter Turner loved fog; Turner (1844) shows a train. Mail will@x.edu or ask Omar, says Turner."


def make(text=TEXT, **labels):
    """A document with each value labelled at every place where it stands."""
    doc = spacy.blank("en")(text)
    found = []
    for value, label in ((v.replace("_", " "), lab) for v, lab in labels.items()):
        for i in range(len(doc)):
            for j in range(i + 1, min(i + 4, len(doc) + 1)):
                if doc[i:j].text == value and all(j <= c.start or i >= c.end for c in found):
                    found.append(Candidate(i, j, label))
    write_spans(doc, found)
    return doc


DOC = {"Will_Turner": NAME_STUDENT, "Turner": NAME_STUDENT, "Omar": NAME_STUDENT}


def run(doc, answer, **settings):
    task = make_verifier_task(**settings)
    ((prompts, questions),) = task.generate_prompts([doc])
    replies = [
        answer(q.spans[0].text, q.control, prompt)
        for q, prompt in zip(questions, prompts, strict=False)
    ]
    (done,) = task.parse_responses([questions], [replies])
    return {span.text: span.label_ for span in done.spans["pii"]}, done, prompts


def says(**answers):
    """F or T by string, T for everything else and for every control."""
    return lambda text, control, prompt: (
        "T" if control else answers.get(text.replace(" ", "_"), "T")
    )


@pytest.mark.parametrize(
    ("reply", "reasoning", "expected"),
    [
        ("T", False, "T"),
        (" f.\n", False, "F"),
        ("**T**", False, "T"),
        ("False", False, "F"),
        ("T or F", False, None),
        ("F, because he is an author", False, None),
        ("", False, None),
        ("He is an author.\nResponse: F", True, "F"),
        ("... [Response:] T", True, "T"),
        ("Response: F. But perhaps T", True, None),
        ("Response: T\nno: Response: F", True, "F"),
        ("F", True, "F"),
        ("Response: F", False, None),
    ],
)
def test_an_answer_is_plain_or_it_is_none(reply, reasoning, expected):
    assert verdict(reply, reasoning=reasoning) == expected


def test_f_makes_a_name_cited_and_takes_other_spans_away():
    doc = make(**DOC, **{"will@x.edu": EMAIL})
    found, done, _ = run(doc, says(Turner="F", **{"will@x.edu": "F"}))
    assert found == {"Will Turner": NAME_STUDENT, "Turner": NAME_CITED, "Omar": NAME_STUDENT}
    assert {s._.pii_reason for s in done.spans["pii"] if s.text == "Turner"} == {
        "not personal, says the language model"
    }


def test_one_question_for_all_mentions_of_a_string():
    _, _, prompts = run(make(**DOC), says(), control=False)
    assert len(prompts) == 3
    (turner,) = (prompt for prompt in prompts if 'Is "Turner"' in prompt)
    assert "painter Turner" in turner and "says Turner" in turner


@pytest.mark.parametrize(
    "answer",
    ["", "maybe", "T or F", "I cannot help with that", Reply(code="E914"), Reply(code="E915")],
)
def test_unsure_unreadable_refused_or_missing_means_t(answer):
    found, done, _ = run(make(**DOC), lambda text, control, prompt: "T" if control else answer)
    assert set(found.values()) == {NAME_STUDENT}
    assert {note[0] for note in done._.llm_notes} == {getattr(answer, "code", "") or "E914"}
    assert done._.pii_failed is None


def test_an_f_does_not_count_where_the_text_steers_the_model():
    found, done, _ = run(make(**DOC), lambda text, control, prompt: "F")
    assert set(found.values()) == {NAME_STUDENT} and {note[0] for note in done._.llm_notes} == {
        "E934"
    }
    found, _, prompts = run(make(**DOC), lambda text, control, prompt: "F", control=False)
    assert set(found.values()) == {NAME_CITED} and len(prompts) == 3


@pytest.mark.parametrize(
    ("votes", "answers", "expected"),
    [
        ("veto", "FFT", NAME_STUDENT),
        ("veto", "FFF", NAME_CITED),
        ("majority", "FFT", NAME_CITED),
        ("majority", "FTT", NAME_STUDENT),
        ("majority", "F?", NAME_STUDENT),
    ],
)
def test_votes(votes, answers, expected):
    def panel(text, control, prompt):
        return Reply(votes=[Reply("T" if control else answer) for answer in answers])

    assert run(make(Omar=NAME_STUDENT), panel, votes=votes)[0]["Omar"] == expected


def test_a_vote_is_checked_by_the_control_of_the_same_model():
    def panel(text, control, prompt):
        return Reply(votes=[Reply("F"), Reply("F")] if not control else [Reply("T"), Reply("F")])

    found, done, _ = run(make(Omar=NAME_STUDENT), panel)
    assert found["Omar"] == NAME_STUDENT and [note[0] for note in done._.llm_notes] == ["E934"]


def test_entities_that_mirror_the_spans_follow():
    doc = make(**DOC)
    write_ents(doc, list(doc.spans["pii"]), lambda others, own: own)
    run(doc, says(Omar="F"))
    assert {e.text for e in doc.ents} == {"Will Turner", "Turner"}


def test_passages_are_cut_at_blanks_and_joined_where_they_touch():
    text = "aaa bbb Ann ccc ddd eee fff ggg hhh Ann iii"
    places = [(8, 11), (36, 39)]
    assert passages(text, places, window=4, most=3) == ["bbb Ann ccc", "hhh Ann iii"]
    assert passages(text, places, window=30, most=3) == [text]
    many = [(i, i + 1) for i in range(0, 40, 2)]
    assert len(passages("x " * 20, many, window=1, most=3)) <= 3


def test_a_document_without_names_is_not_asked_about():
    found, done, prompts = run(make(), says())
    assert (found, prompts, done._.llm_notes) == ({}, [], [])


def test_settings_are_checked():
    with pytest.raises(PiiError, match="E519"):
        make_verifier_task(votes="chance")
