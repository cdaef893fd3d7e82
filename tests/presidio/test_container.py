"""The example for Presidio's container names files that are there and versions that are tested. No image is built here."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "configs/presidio/container"
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="configs/ is not in an installed wheel")


def test_every_file_that_is_copied_is_there_and_named_in_the_environment():
    text = (FOLDER / "Dockerfile").read_text("utf8")
    sources = [name for line in re.findall(r"^COPY (.+)$", text, re.MULTILINE) for name in line.split()[:-1]]
    for name in sources:
        assert name.startswith("dist/") or (ROOT / name).is_file(), name
    copied = {f"/app/pii_edu/{Path(name).name}" for name in sources if name.endswith(".yaml")}
    named = re.findall(r"^ENV (?:ANALYZER|NLP|RECOGNIZER_REGISTRY)_CONF_FILE=(\S+)$", text, re.MULTILINE)
    assert sorted(named) == sorted(copied) and len(named) == 3


def test_versions_are_those_of_the_constraints():
    tested = (ROOT / "constraints.txt").read_text("utf8").splitlines()
    wanted = [line for line in (FOLDER / "requirements.txt").read_text("utf8").splitlines() if line[:1] not in ("#", "-")]
    assert wanted and set(wanted) <= set(tested)
    presidio = re.search(r"presidio-analyzer:([\d.]+)$", (FOLDER / "Dockerfile").read_text("utf8"), re.MULTILINE)
    assert presidio and f"presidio-analyzer=={presidio[1]}" in tested
