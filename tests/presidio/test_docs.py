"""The pages are true: snippets print what they say, tables and names are those of files and code; the container's files exist."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import en_pii_edu
from pii_components import __version__
from pii_components.presidio.settings import Naming, read_config, score_of
from scripts.presidio_samples import table as table_of

ROOT = Path(__file__).parents[2]
DOC = ROOT / "docs/how-to/presidio.md"
METRICS = ROOT / "metrics/presidio_samples.json"
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


def test_table_is_that_of_the_metrics_file():
    marks = r"<!-- scripts.presidio_samples.table (\S+) -->\n(.*?)\n<!-- end -->"
    ((file, table),) = re.findall(marks, DOC.read_text("utf8"), re.DOTALL)
    report = json.loads((ROOT / file).read_text("utf8"))
    assert (ROOT / file, table_of(report)) == (METRICS, table)


def test_metrics_are_of_the_essays_that_ship_and_of_the_versions_named():
    from pii_components.evaluate.gold import file_sha256

    report = json.loads(METRICS.read_text("utf8"))
    assert report["data"]["sha256"] == file_sha256(ROOT / "assets/samples/essays.csv")
    assert report["data"]["gold_sha256"] == file_sha256(ROOT / "assets/samples/gold.jsonl")
    for package in ("presidio-analyzer", "spacy"):
        assert report["versions"][package] in DOC.read_text("utf8")


def test_entities_of_presidio_that_we_do_not_find_are_those_on_the_page():
    pytest.importorskip("presidio_analyzer")
    import spacy
    from presidio_analyzer import AnalyzerEngine
    from presidio_analyzer.nlp_engine import SpacyNlpEngine
    from presidio_analyzer.recognizer_registry import RecognizerRegistryProvider

    import pii_components.presidio.recognizer  # noqa: F401

    engine = SpacyNlpEngine()
    engine.nlp = {"en": spacy.blank("en")}
    theirs = set(AnalyzerEngine(nlp_engine=engine).get_supported_entities("en")) - {
        "EMAIL"
    }  # which is EMAIL_ADDRESS
    listed = read_config("analyzer")["recognizer_registry"] | {"supported_languages": ["en"]}
    found = set(
        RecognizerRegistryProvider(registry_configuration=listed)
        .create_recognizer_registry()
        .get_supported_entities()
    )
    (said,) = re.findall(r"do not find: ([A-Z_, \n]+)\.", DOC.read_text("utf8"))
    assert said.replace("\n", " ").split(", ") == sorted(theirs - found)


def test_thresholds_are_those_of_the_pipeline_that_ships():
    cells = re.search(
        r"\| `score_threshold` \| 0 to (.+) \|\n.*\n\| names .* of \| (.+) \|",
        DOC.read_text("utf8"),
    )
    assert cells is not None
    scores, probabilities = ([float(cell) for cell in row.split(" | ")] for row in cells.groups())
    settings = json.loads((SHIPPED / "pii_context/cfg").read_text("utf8"))["settings"]
    assert [
        score_of("NAME_STUDENT", p, settings["protect"]) for p in probabilities
    ] == pytest.approx(scores, abs=0.01)


def test_options_stand_on_the_page():
    named = set(re.findall(r"`\w+`", DOC.read_text("utf8")))
    assert {f"`{name}`" for name in Naming.__dataclass_fields__} <= named


FOLDER = ROOT / "configs/presidio/container"


def test_every_file_that_is_copied_is_there_and_named_in_the_environment():
    text = (FOLDER / "Dockerfile").read_text("utf8")
    copied = [
        name
        for line in re.findall(r"^COPY (.+)$", text, re.MULTILINE)
        for name in line.split()[:-1]
    ]
    sources = [str(path.relative_to(ROOT)) for name in copied for path in ROOT.glob(name)] or copied
    for name in sources:
        assert name.startswith("dist/") or (ROOT / name).is_file(), name
    copied = {f"/app/pii_edu/{Path(name).name}" for name in sources if name.endswith(".yaml")}
    assert set(re.findall(r"^ENV ANALYZER_CONF_FILE=(\S+)$", text, re.MULTILINE)) == copied != set()


def test_versions_are_those_of_the_constraints():
    tested = (ROOT / "constraints.txt").read_text("utf8").splitlines()
    wanted = [
        line
        for line in (FOLDER / "requirements.txt").read_text("utf8").splitlines()
        if line[:1] not in ("#", "-")
    ]
    assert wanted and set(wanted) <= set(tested)
    presidio = re.search(
        r"presidio-analyzer:([\d.]+)$", (FOLDER / "Dockerfile").read_text("utf8"), re.MULTILINE
    )
    assert presidio and f"presidio-analyzer=={presidio[1]}" in tested
