"""A document as `pii_context` reads it: turns of a conversation, lists of sources, what stands beside a name."""

import pytest

from pii_components.context.settings import ContextSettings
from pii_components.context.view import DocView

from .marking import NLP, name, view_of

PROSE = "The group adopted the view of one of us after a vote and went home.\n"


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
        (
            "प्रिया: one\nDr. Hart: two\nप्रिया: three\nDr. Hart: four\n",
            [(word, False) for word in ("one", "two", "three", "four")],
        ),
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
    seen = view_of(text)
    got = [(text[at : seen.lines[n][1]], tutor) for n, (at, tutor) in sorted(seen.turns.items())]
    assert got == turns


def test_names_of_speakers_keep_their_own_line() -> None:
    seen = view_of("Ana Lopez: hi\nBen Okoro: hello\nAna Lopez: how are you\nBen Okoro: fine\n")
    places = seen.places([name((0, 2)), name((5, 7))])
    assert [place.before for place in places] == ["", ""]
    assert all("turn" not in place.zones for place in places)


@pytest.mark.parametrize(
    "text, inside",
    [
        (f"2.0 LITERATURE\nThe theory is old and good.\n4.0 DISCUSSION\n{PROSE}", [1]),
        (f"References\nPopper (1959). The logic.\nDiscussion\n{PROSE}", [1]),
        (f"References\nPopper (1959). The logic.\n5. Conclusion\n{PROSE}", [1]),
        (f"3. Literature\nThe theory is old and good.\n4. Who isn't there\n{PROSE}", [1]),
        # Entries are numbered too, and may be prepared by somebody.
        (
            "3. References\n1. Popper K. The logic\n2. Kuhn T. The structure\n3. Rawls J. Justice\n4. Arendt, H. The life\n",
            [1, 2, 3, 4],
        ),
        ("References\n1. Popper\n2. Kuhn\n3. Rawls\n", [1, 2, 3]),
        ("References\nPopper, K. (1959). The logic.\nData and Society (2019). A report.\n", [1, 2]),
        (
            "References\nPrepared by the board of the bank (2010). A long report on everything that there is.\nKuhn, T. (1962). The structure.\n",
            [1, 2],
        ),
    ],
)
def test_where_a_list_of_sources_ends(text: str, inside: list[int]) -> None:
    assert sorted(view_of(text).under_bibliography) == inside


@pytest.mark.parametrize(
    "text, shown",
    [
        ("Ana Lopez, 3rd year.\nWeek3", "Ana Lopez, 3rd year.\nWeek3"),
        ("by J1n-w00 L0p3z today", "by Jin-woo Lopez today"),
        ("my name is 🌸Ana Lopez🌸, ⭐ hi ★ 5", "my name is Ana Lopez,  hi  5"),
        ("Ana → Bob é", "Ana → Bob é"),
    ],
)
def test_text_as_it_is_shown(text: str, shown: str) -> None:
    assert view_of(text).text == shown


@pytest.mark.parametrize(
    "text, touched",
    [
        ("It was over.Ana came.", True), ("It was 🌸Ana there.", True), ("It was over. Ana came.", False),
        ("It was over.ana came.", False),  # a space is missing there, and nothing more
        ("It was \u200bAna there.", True), ("It was Ana🌸 there.", True),
    ],
)  # fmt: skip
def test_a_sign_touches_a_name(text: str, touched: bool) -> None:
    doc, at = NLP(text), text.lower().index("ana")
    assert ("beset" in view_of(text).places([name(doc.char_span(at, at + 3))])[0].zones) is touched


LINES = "Ana Lopez\nWeek 3\n\nThe group adopted the view of one of us after a vote.\n\nAna\nBen\nCarl\n"


@pytest.mark.parametrize(
    ("settings", "header", "signoff"),
    [
        ({}, [0, 1], [5, 6, 7]),
        ({"header_lines": 1}, [0], [5, 6, 7]),
        ({"header_lines": 0}, [], [5, 6, 7]),
        ({"signoff_lines": 2}, [0, 1], [6, 7]),
        ({"signoff_lines": 0}, [0, 1], []),
    ],
)
def test_head_and_end_of_a_text(settings: dict, header: list[int], signoff: list[int]) -> None:
    view = DocView(NLP(LINES), ContextSettings(**settings))
    assert (sorted(view.header), sorted(view.signoff)) == (header, signoff)


@pytest.mark.parametrize(
    ("text", "zones"),
    [
        (f"Ana Lopez\n{PROSE * 3}", {"header", "top", "alone", "opens"}),
        (f"Title\nWeek 3\nby\nAna Lopez\n{PROSE * 3}", {"header", "alone", "opens"}),
        (
            "Ana Lopez  Challenge  The queue in our bakery is far too long in the morning, and nobody knows why.",
            {"lead", "opens", "last"},
        ),
        (f"{PROSE * 3}Then Ana Lopez left for good with all of the others.\n{PROSE}", {"body"}),
        (f"{PROSE * 3}\nBest, Ana Lopez\n", {"signoff", "last"}),
        (f"{PROSE}References\nAna Lopez (2014). The map.\nPopper (1959). The logic.\n", {"bibliography", "signoff", "opens"}),
        (f"{PROSE * 3}She said “go to Ana Lopez and ask her for the map of it” again.\n{PROSE}", {"body", "quoted"}),
        (f"{PROSE * 3}we saw ana lopez there with all of the others again\n{PROSE}", {"body", "small"}),
        ("Tutor: hi Ana Lopez\nBen: hi\nTutor: so is it done\nBen: not yet\n", {"header", "top", "turn", "tutor_turn"}),
    ],
)
def test_zones(text: str, zones: set[str]) -> None:
    doc, at = NLP(text), text.lower().index("ana lopez")
    assert view_of(text).places([name(doc.char_span(at, at + 9))])[0].zones == zones
