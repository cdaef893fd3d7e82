"""`pii_context`: English words that are names, one word for one person, who hands a text in below its sources, and who is in company."""

import math
from dataclasses import replace

import pytest
from pii_components.context.people import Mention, link, parse_form

from pii_components.context.component import PiiContext
from pii_components.context.cues import compile_cues
from pii_components.context.decide import in_company
from pii_components.context.evidence import Evidence, People
from pii_components.context.settings import ContextSettings
from pii_components.context.view import DocView
from pii_components.errors import PiiError
from pii_components.labels import NAME_STUDENT
from pii_components.spans import Candidate
from tests.test_context import CONTEXT, GOOD, NLP, marked, names_in


def found(text: str) -> list[str]:
    return [name for name, _ in names_in(CONTEXT(marked(text)))]


@pytest.mark.parametrize(
    "text, names",
    [
        ("My name is Hope and I live in a small town.", ["Hope"]),
        ("When they called the roll, my name was Will and nobody laughed.", ["Will"]),
        ("I asked my sister Faith and my friend Will about it.", ["Faith", "Will"]),
        ("Our classmate, June, was there too.", ["June"]),
        ("My best friend called Joy came with us.", ["Joy"]),
        # Written like any other word, or in a heading of capitals, it is one.
        ("My name is hope for those who have none left.", []),
        ("I asked my friend will you come along.", []),
        ("My Sister Faith And My Friend Will", []),
        ("MY NAME IS HOPE AND THAT IS ALL", []),
        # No given name.
        ("My name is Important to me and to nobody else.", []),
        ("I called my mother Earth and everybody laughed.", []),
        ("We sold it to our neighbour Country by country.", []),
        # A verb stands between them: what somebody is called or what they are like.
        ("My friend is Hope itself, said the old man.", []),
    ],
)
def test_an_english_word_is_a_name_where_the_text_says_so(text: str, names: list[str]) -> None:
    assert found(text) == names


def test_a_short_name_at_the_end_of_a_sentence_and_again_after_it_is_two() -> None:
    assert found("So does my seatmate [[Bo. Bo]] crashed it nine times.") == ["Bo", "Bo"]
    assert found("So does my neighbour [[Wm. Rahman]] of the third floor.") == ["Wm. Rahman"]


def test_such_a_name_is_not_marked_where_it_is_an_english_word() -> None:
    assert found("My name is Hope.\nThere is hope for all of us, and hope dies last.") == ["Hope"]


def test_only_cues_that_find_names_take_english_words() -> None:
    with pytest.raises(PiiError) as err:
        compile_cues({"cue": [{**GOOD, "english": True}]})
    assert err.value.code == "E303"


def persons(*names: str, own: dict[int, dict[str, float]]) -> list[list[int]]:
    mentions = [Mention(i, 10 * i, parse_form(name.split()), own.get(i, {})) for i, name in enumerate(names)]
    return link(mentions, margin=1.5, signed=3.5)


@pytest.mark.parametrize(
    "names, own, together",
    [
        # "My colleague Farid ... Farid suggested that": the same word, or the first name, is not cited without more.
        (("Farid", "Farid"), {0: {"CONNECTED": 4.0}, 1: {"CITED": 2.0}}, True),
        (("Farid Rahimi", "Farid"), {0: {"CONNECTED": 4.0}, 1: {"CITED": 2.0}}, True),
        (("Farid", "Farid"), {0: {"STUDENT": 4.0}, 1: {"CHARACTER": 2.0}}, True),
        # With a year behind it, it is an author.
        (("Smith", "Smith"), {0: {"CONNECTED": 4.0}, 1: {"CITED": 5.0}}, False),
        (("Farid Rahimi", "Farid"), {0: {"CONNECTED": 4.0}, 1: {"CITED": 5.0}}, False),
        # A surname may be another's; two private roles are told apart as before; who is cited protects nobody.
        (("Ana Smith", "Smith"), {0: {"CONNECTED": 4.0}, 1: {"CITED": 2.0}}, False),
        (("Farid", "Farid"), {0: {"CONNECTED": 4.0}, 1: {"INSTRUCTOR": 2.0}}, False),
        (("Farid", "Farid"), {0: {"CITED": 4.0}, 1: {"CHARACTER": 2.0}}, False),
    ],
)
def test_one_word_is_one_person_unless_it_is_clearly_cited(names: tuple[str, ...], own: dict, together: bool) -> None:
    assert persons(*names, own=own) == ([[0, 1]] if together else [[0], [1]])


def test_a_colleague_who_suggests_something_stays_a_colleague() -> None:
    text = "My colleague [[Farid]] and I mapped it in one afternoon. [[Farid]] suggested that we ask the families."
    assert names_in(CONTEXT(marked(text))) == [["Farid", "CONNECTED"], ["Farid", "CONNECTED"]]


@pytest.mark.parametrize("line", ["Submitted by: ", "Prepared by the student: ", "Compiled by - "])
def test_who_hands_in_is_found_below_the_sources(line: str) -> None:
    text = f"References\nPopper, K. (1959). The logic of it. Press.\n{line}Haruto Nakamura, in room 7, on a Monday, with the others of the class\n"
    doc = CONTEXT(marked(text.replace("Popper, K.", "[[Popper, K.]]"), "CITED"))
    assert names_in(doc) == [["Popper, K.", "CITED"], ["Haruto Nakamura", "STUDENT"]]


def test_an_entry_prepared_by_somebody_does_not_end_the_sources() -> None:
    text = "References\nPrepared by the board of the bank (2010). A long report on everything that there is.\nKuhn, T. (1962). The structure.\n"
    assert sorted(DocView(NLP(text), ContextSettings()).under_bibliography) == [1, 2]


@pytest.mark.parametrize(
    "text, names",
    [
        ("my group was me, [[.68:teo]] and [[.66:priyanka]] and we did it all at night", ["teo", "priyanka"]),
        ("it was just me, [[.68:teo]], [[.66:ilse]] & [[.66:priyanka]] in the end", ["teo", "ilse", "priyanka"]),
        ("to me, [[.4:plato]] and the others said the same things over and over", []),
    ],
)
def test_who_is_named_beside_me_is_kept_without_capitals(text: str, names: list[str]) -> None:
    context = PiiContext(settings={"min_score": 0.8})
    assert names_in(context(marked(text))) == [[name, "CONNECTED"] for name in names]


def odds(chance: float) -> float:
    return chance / (1.0 - chance)


def somebody(count: int, *, zones: frozenset[str] = frozenset(("body",)), anchor: bool = False) -> People:
    """So many people of one mention each, the first of whom stands in these zones."""
    doc = NLP("a " * count)
    cands = [Candidate(i, i + 1, NAME_STUDENT, 0.9, "model") for i in range(count)]
    places = [
        replace(place, zones=zones if i == 0 else frozenset(("body",)))
        for i, place in enumerate(DocView(doc, ContextSettings()).places(cands))
    ]
    evidence = [[Evidence("by_line", "STUDENT", 4.0, "for a test", anchor=anchor and i == 0)] for i in range(count)]
    return People(cands, [parse_form(["a"])] * count, places, evidence, [[i] for i in range(count)])


@pytest.mark.parametrize(
    ("chances", "changed"),
    [
        ([0.4], [True]),
        ([0.95], [True]),  # nobody is company for themselves
        ([0.4, 0.3], [True, True]),
        ([0.4, 0.95], [False, True]),
        ([0.4, 0.9], [False, True]),
        ([0.95, 0.99], [False, False]),
        ([], []),
    ],
)
def test_who_is_in_doubt_is_likelier_private_beside_who_is_sure(chances: list[float], changed: list[bool]) -> None:
    settings, people = ContextSettings(alone=0.75, company=0.9), somebody(len(chances))
    after = in_company(chances, people, settings)
    factors = [odds(new) / odds(old) for old, new in zip(chances, after, strict=True)]
    assert factors == pytest.approx([math.exp(-0.75) if alone else 1.0 for alone in changed])
    assert in_company(chances, people, ContextSettings()) == pytest.approx(chances)


@pytest.mark.parametrize(
    "how", [{"zones": frozenset(("header", "alone"))}, {"zones": frozenset(("signoff",))}, {"anchor": True}]
)
def test_who_heads_or_signs_the_text_needs_no_company(how: dict) -> None:
    after = in_company([0.4, 0.4], somebody(2, **how), ContextSettings(alone=0.75))
    assert after[0] == 0.4 and after[1] < 0.4


def test_certainty_stays_certain() -> None:
    assert in_company([0.0, 1.0], somebody(2), ContextSettings(alone=3.0, company=1.0)) == [0.0, 1.0]


@pytest.mark.parametrize("values", [{"company": 1.5}, {"alone": -1.0}])
def test_settings_out_of_range(values: dict[str, float]) -> None:
    with pytest.raises(PiiError) as err:
        PiiContext(settings=values)
    assert err.value.code == "E301"
