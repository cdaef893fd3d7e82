"""The pages are true: snippets print what they say."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import en_pii_edu
from pii_components import __version__

ROOT = Path(__file__).parents[2]
DOC = ROOT / "docs/how-to/presidio.md"
pytestmark = pytest.mark.skipif(not DOC.is_file(), reason="docs/ are not in an installed wheel")
SHIPPED = Path(en_pii_edu.__file__).parent / f"en_pii_edu-{__version__}"


def blocks(kind):
    return re.findall(rf"```{kind}\n(.*?)```", DOC.read_text("utf8"), re.DOTALL)


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
