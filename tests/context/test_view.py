"""A document as `pii_context` reads it: lists of sources, what stands beside a name."""

import pytest

from pii_components.context.view import ContextSettings, DocView

from ..tiny import cases
from .marking import NLP, name, view_of

CASES = cases("context_tables")


@pytest.mark.parametrize(("text", "inside"), CASES["sources"])
def test_where_a_list_of_sources_ends(text, inside):
    assert sorted(view_of(text).under_bibliography) == inside


@pytest.mark.parametrize(("text", "shown"), CASES["shown"])
def test_text_as_it_is_shown(text: str, shown: str) -> None:
    assert view_of(text).text == shown


LINES = (
    "Ana Lopez\nWeek 3\n\nThe group adopted the view of one of us after a vote.\n\nAna\nBen\nCarl\n"
)


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


@pytest.mark.parametrize(("text", "zones"), CASES["zones"])
def test_zones(text, zones):
    doc, at = NLP(text), text.lower().index("ana lopez")
    assert view_of(text).places([name(doc.char_span(at, at + 9))])[0].zones == set(zones)
