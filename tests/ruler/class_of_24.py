"""An invented class of 24 and two short texts of each: [[...]] is planted and must go, {{...}} is cited or public and stays."""

import json
import re
from pathlib import Path

_DATA = json.loads((Path(__file__).parents[1] / "data/class_of_24.json").read_text("utf8"))
HEADER, ROWS = _DATA["header"], _DATA["rows"]


def texts() -> list[tuple[str, list[tuple[int, int]], list[tuple[int, int]]]]:
    """RETURNS (list): 48 texts, each with characters of what is planted, and of what is cited, end exclusive."""
    return list(map(_unmarked, _DATA["texts"]))


def _unmarked(marked: str) -> tuple[str, list[tuple[int, int]], list[tuple[int, int]]]:
    text, planted, cited, at = "", [], [], 0
    for match in re.finditer(r"\[\[(.+?)\]\]|\{\{(.+?)\}\}", marked):
        text += marked[at : match.start()]
        (planted if match[1] else cited).append((len(text), len(text) + len(match[1] or match[2])))
        text, at = text + (match[1] or match[2]), match.end()
    return text + marked[at:], planted, cited
