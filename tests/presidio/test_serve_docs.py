"""docs/serve.md says what the command wrote, and memory is flat: what 4,000 more requests leave is a few megabytes at most."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/serve.md"
pytestmark = pytest.mark.skipif(not PAGE.is_file(), reason="docs/ is not in an installed wheel")


def test_memory_by_thousand_is_that_of_the_metrics_file_and_flat():
    measured = json.loads((ROOT / "metrics/serve_memory.json").read_text("utf8"))
    rows = {row["requests"]: row["rss_mib"] for row in measured["by_thousand"] if row["requests"] >= 0}
    said = re.findall(r"^\| ([\d,]+) \| ([\d.]+) MiB \|$", PAGE.read_text("utf8"), re.MULTILINE)
    assert {int(n.replace(",", "")): float(mib) for n, mib in said} == rows
    assert max(rows) == 5000 and rows[5000] - rows[1000] < 8
    assert measured["command"] in PAGE.read_text("utf8")
