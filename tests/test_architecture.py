"""docs/architecture.md names files and functions that are there, and every room of the package."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/architecture.md"
pytestmark = pytest.mark.skipif(not PAGE.is_file(), reason="docs/ is not in an installed wheel")


def test_every_step_is_where_the_page_says():
    named = re.findall(r"`([\w/]+\.py): (\w+)`", PAGE.read_text("utf8"))
    assert len(named) > 15
    for file, name in named:
        source = (ROOT / "pii_components" / file).read_text("utf8")
        assert re.search(rf"^(?:def |class )?{name}\b", source, re.MULTILINE), (file, name)


def test_every_room_stands_in_the_drawing():
    drawing = PAGE.read_text("utf8").split("```")[1]
    rooms = {path.parent.name for path in (ROOT / "pii_components").glob("*/__init__.py")}
    assert rooms == set(re.findall(r"^  (\w+) ─", drawing, re.MULTILINE)) - {"root"}
