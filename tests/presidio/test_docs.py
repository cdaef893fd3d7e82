"""The pages are true: snippets print what they say."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import en_pii_edu
from pii_components import __version__
from pii_components.context.view import ContextSettings
from pii_components.presidio.settings import score_of

ROOT = Path(__file__).parents[2]
DOC = ROOT / "docs/how-to/presidio.md"
pytestmark = pytest.mark.skipif(not DOC.is_file(), reason="docs/ are not in an installed wheel")
SHIPPED = Path(en_pii_edu.__file__).parent / f"en_pii_edu-{__version__}"


def blocks(kind):
    return re.findall(rf"```{kind}\n(.*?)```", DOC.read_text("utf8"), re.DOTALL)


def test_thresholds_of_scores_are_those_of_names_that_are_hidden():
    settings, page = ContextSettings(), DOC.read_text("utf8")
    points = (settings.protect, settings.protect_recall, settings.protect_precision)
    told = re.search(
        r"names are hidden \((\S+); (\S+) for .+?recall`, (\S+)\nfor `precision`\)", page
    )
    assert tuple(map(float, told.groups())) == points
    head, row = (
        re.findall(r"\.\d+", line)
        for line in page.split("\n")
        if line.startswith(("| `score_th", "| names that"))
    )
    for least, private in zip(map(float, head), map(float, row), strict=True):
        assert score_of("NAME_STUDENT", private, settings.protect) == pytest.approx(least, abs=0.01)


@pytest.mark.skipif(not SHIPPED.is_dir(), reason="no pipeline is packaged in en_pii_edu/")
def test_snippets_print_what_the_page_says():
    pytest.importorskip("presidio_analyzer")
    out = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", "\n".join(blocks("python"))],
        capture_output=True,
        text=True,
        check=False,
        cwd="/",
    )
    assert out.returncode == 0, out.stderr[-2000:]
    assert out.stdout == "".join(blocks("text"))
