"""`pii_context`: where a list of sources ends, names that are written wrong once, and numbers behind names."""

import random

import pytest
from pii_components.context.people import is_near_table, is_slip, parse_form, respell

from pii_components.context.component import PiiContext
from pii_components.context.component import people as context_spelling
from pii_components.context.settings import ContextSettings
from pii_components.context.view import DocView
from pii_components.labels import NAME_CITED, NAME_STUDENT
from tests.test_context import NLP, marked

PROSE = "The group adopted the view of one of us after a vote and went home.\n"


@pytest.mark.parametrize(
    "text, inside",
    [
        (f"2.0 LITERATURE\nThe theory is old and good.\n4.0 DISCUSSION\n{PROSE}", [1]),
        (f"References\nPopper (1959). The logic.\nDiscussion\n{PROSE}", [1]),
        (f"References\nPopper (1959). The logic.\n5. Conclusion\n{PROSE}", [1]),
        (f"3. Literature\nThe theory is old and good.\n4. Who isn't there\n{PROSE}", [1]),
        # Entries are numbered too.
        (
            "3. References\n1. Popper K. The logic\n2. Kuhn T. The structure\n3. Rawls J. Justice\n4. Arendt, H. The life\n",
            [1, 2, 3, 4],
        ),
        ("References\n1. Popper\n2. Kuhn\n3. Rawls\n", [1, 2, 3]),
        ("References\nPopper, K. (1959). The logic.\nData and Society (2019). A report.\n", [1, 2]),
    ],
)
def test_where_a_list_of_sources_ends(text: str, inside: list[int]) -> None:
    assert sorted(DocView(NLP(text), ContextSettings()).under_bibliography) == inside


@pytest.mark.parametrize(
    "names, read",
    [
        (["Meenakshi Rao", "Meenakhsi"], "meenakshi"),  # two letters changed places
        (["Evgeny Karimov", "Evgny"], "evgeny"),  # one is missing
        (["Meenakshi Rao", "Menaksshi"], "meenakshi"),  # two slips in a long name
        (["Marisol Vega", "Marisul", "Marisel Roth"], "marisul"),  # it may be either
        (["Evgeny Karimov", "Vgny"], "vgny"),  # too short
        (["Norman Jansen", "Janssen"], "janssen"),  # a name of its own
        (["Anika Challenger", "Challenge"], "challenge"),  # an English word
        (["Evgeny", "Evgny"], "evgeny"),  # a first name alone
        (["Evgeny", "Evgny Karimov"], "evgeny karimov"),  # in a full name
        (["Meenakshi Rao", "Meenakhsi Roa"], "meenakshi roa"),  # too short to tell, or a name of its own
    ],
)
def test_a_name_written_wrong_is_the_one_it_is_meant_for(names: list[str], read: str) -> None:
    forms = respell([parse_form(name.split()) for name in names])
    assert forms[1].words == tuple(read.split())
    assert forms[0] == parse_form(names[0].split())


def test_the_words_of_a_long_list_are_not_each_compared_with_every_other(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(46)
    parts = ["ka", "ri", "mo", "ten", "wu", "sha", "vol", "pe", "ne", "qua", "dri", "zil", "tho", "mar", "bek", "yun"]
    forms = [parse_form(["".join(rng.choices(parts, k=4)), "".join(rng.choices(parts, k=4))]) for _ in range(1000)]
    compared = []

    def counted(word: str, other: str) -> bool:
        compared.append((word, other))
        return is_slip(word, other)

    monkeypatch.setattr(context_spelling, "is_slip", counted)
    assert respell(forms) != forms  # some are alike by chance
    assert len(compared) < 20 * len(forms)  # of four million pairs


def test_one_of_two_misspellings_stands_for_both() -> None:
    forms = respell([parse_form([word]) for word in ("Prszybilla", "Prszybila", "Oyelaran")])
    assert forms[0] == forms[1] != forms[2]


@pytest.mark.parametrize(
    ("word", "near"),
    [("jonathna", True), ("gonzalze", True), ("maria", False), ("window", False), ("zzyzx", False), ("jhn", False)],
)
def test_a_slip_away_from_a_frequent_name(word: str, near: bool) -> None:
    assert is_near_table(word) == near


def test_a_misspelled_name_shares_the_evidence_of_its_person() -> None:
    context = PiiContext(settings={"min_score": 0.9})
    doc = context(marked("By [[Meenakshi Rao]]\n\nOur group met late. [[.6:Meenakhsi]] is of the view that it failed.\n"))
    assert [(span.text, span.label_) for span in doc.spans["pii"]] == [
        ("Meenakshi Rao", NAME_STUDENT),
        ("Meenakhsi", NAME_STUDENT),
    ]


@pytest.mark.parametrize(
    "behind, label", [("(A04451276M)", NAME_STUDENT), ("(ID: 204-812-33)", NAME_STUDENT), ("(2014)", NAME_CITED)]
)
def test_a_number_behind_a_name(behind: str, label: str) -> None:
    doc = PiiContext()(marked(f"We also worked with [[Lyn Pilapil]] {behind} on the second chart of it all.\n", "CITED"))
    assert [span.label_ for span in doc.spans["pii"]] == [label]


@pytest.mark.parametrize(
    "name, parts",
    [
        ("Ilse. Marwan", ["Ilse", "Marwan"]),
        ("Ana Lopez. Budi Santoso", ["Ana Lopez", "Budi Santoso"]),
        ("Thos. Miller", ["Thos. Miller"]),
        ("J. R. Ashdown", ["J. R. Ashdown"]),
    ],
)
def test_a_full_stop_between_two_sentences_parts_two_names(name: str, parts: list[str]) -> None:
    doc = PiiContext(settings={"find": False, "propagate": False})(marked(f"It was said by [[.95:{name}]] on that day.\n"))
    assert [span.text for span in doc.spans["pii"]] == parts


def test_a_full_stop_in_a_line_that_begins_with_the_name_parts_nothing() -> None:
    doc = PiiContext(settings={"find": False, "propagate": False})(marked("On bridges\n[[.95:Ana. Lopez]]\nIt was said on that day.\n"))
    assert [span.text for span in doc.spans["pii"]] == ["Ana. Lopez"]
