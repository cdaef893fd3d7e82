"""YAML alone: the files that ship, in a fresh process that imports nothing of ours, and what is refused."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("presidio_analyzer")

from presidio_analyzer import AnalyzerEngineProvider
from presidio_analyzer.nlp_engine import NlpEngineProvider
from presidio_analyzer.recognizer_registry import RecognizerRegistryProvider

import en_pii_edu
from pii_components.about import __version__
from pii_components.errors import PiiError
from pii_components.labels import LABELS, PRESIDIO_ENTITIES
from pii_components.presidio import build_analyzer
from pii_components.presidio.recognizer import StudentPiiRecognizer
from pii_components.presidio.settings import CONFIGS, config_path, read_config

from .helpers import found, names_pipeline

ROOT = Path(__file__).parents[2]
SHIPPED = Path(en_pii_edu.__file__).parent / f"en_pii_edu-{__version__}"
TEXT = "Ana Lopez told Ms. Roe what Buzan wrote of Zed."
# Presidio warns that it adds SpacyRecognizer, and then takes it away again, since the list says so.
pytestmark = pytest.mark.filterwarnings("ignore:NLP recognizer:UserWarning")

# Nothing of ours is imported, and nothing can be fetched.
FRESH = """
import socket, sys, warnings
def refuse(*args, **kwargs):
    raise OSError("the network was asked")
socket.socket.connect = socket.getaddrinfo = refuse
import spacy.cli
spacy.cli.download = refuse
from presidio_analyzer import AnalyzerEngineProvider
from presidio_analyzer.recognizer_registry import RecognizerRegistryProvider
assert not any(name.startswith("pii_components.presidio") for name in sys.modules)
warnings.simplefilter("ignore")
folder = sys.argv[1]
engine = AnalyzerEngineProvider(
    analyzer_engine_conf_file=folder + "/analyzer.yaml",
    nlp_engine_conf_file=folder + "/nlp.yaml",
    recognizer_registry_conf_file=folder + "/recognizers.yaml",
).create_engine()
names = sorted(recognizer.name for recognizer in engine.registry.recognizers)
assert names == ["CreditCardRecognizer", "CryptoRecognizer", "IbanRecognizer", "IpRecognizer", "StudentPiiRecognizer", "UsSsnRecognizer"], names
text = "By Marisol Quintero\\n\\nAs Buzan (2006) says, a map helps. My friend Tobias drew it. Write to marisol.quintero@gmail.com"
results = sorted(engine.analyze(text, "en", return_decision_process=True), key=lambda r: r.start)
assert [(r.entity_type, text[r.start : r.end]) for r in results] == [
    ("PERSON", "Marisol Quintero"), ("PERSON", "Tobias"), ("EMAIL_ADDRESS", "marisol.quintero@gmail.com")
], results
assert len({r.score for r in results}) > 1 and not any(r.score == 0.85 for r in results), results
assert results[0].analysis_explanation.textual_explanation.startswith("NAME_STUDENT: student: "), results[0]
(ours,) = (r for r in engine.registry.recognizers if r.name == "StudentPiiRecognizer")
assert ours._opened is None, "a second pipeline was loaded"
registry = RecognizerRegistryProvider(conf_file=folder + "/recognizers.yaml").create_recognizer_registry()
assert {"PERSON", "EMAIL_ADDRESS", "US_SSN"} <= set(registry.get_supported_entities())
print("fine")
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A pipeline on disk."""
    path = tmp_path_factory.mktemp("pipelines") / "names"
    names_pipeline().to_disk(path)
    return path


def recognizers(**options):
    """RETURNS (dict): A list of recognizers as YAML says it, with SpacyRecognizer off."""
    entry = {"name": "StudentPiiRecognizer", "type": "predefined", **options}
    return {"supported_languages": ["en"], "global_regex_flags": 26, "recognizers": [entry, {"name": "SpacyRecognizer", "enabled": False}]}


@pytest.mark.skipif(not SHIPPED.is_dir(), reason="no pipeline is packaged in en_pii_edu/")
def test_files_work_as_they_are_in_a_process_that_imports_nothing_of_ours():
    out = subprocess.run(
        [sys.executable, "-c", FRESH, str(config_path("nlp").parent)], capture_output=True, text=True, check=False, cwd="/"
    )
    assert out.returncode == 0, out.stderr[-2000:]
    assert out.stdout.strip() == "fine"


@pytest.mark.skipif(not (ROOT / "configs").is_dir(), reason="configs/ is not in an installed wheel")
def test_files_in_configs_are_those_that_ship():
    assert {p.name for p in (ROOT / "configs/presidio").glob("*.yaml")} == {f"{name}.yaml" for name in CONFIGS}
    for name in CONFIGS:
        assert (ROOT / "configs/presidio" / f"{name}.yaml").read_bytes() == config_path(name).read_bytes()


def test_file_for_the_engine_names_every_label():
    said = read_config("nlp")["ner_model_configuration"]
    assert said["model_to_presidio_entity_mapping"] == PRESIDIO_ENTITIES
    assert list(said["model_to_presidio_entity_mapping"]) == list(LABELS)
    assert said["labels_to_ignore"] == ["NAME_CITED", "NAME_CHARACTER"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [("PERSON", "Ana Lopez"), ("PERSON", "Ms. Roe")]),
        ({"labels": "ours", "return_cited": True, "supported_entities": ["NAME_CITED"]}, [("NAME_CITED", "Buzan")]),
        ({"supported_entity": "PERSON"}, [("PERSON", "Ana Lopez"), ("PERSON", "Ms. Roe")]),
        ({"score_thresholds": {"PERSON": 0.7}}, [("PERSON", "Ana Lopez")]),
    ],
)
def test_options_from_yaml(options, expected, folder, tmp_path):
    """All three sections in one file; the class is known in this process."""
    import srsly

    nlp = {"nlp_engine_name": "spacy", "models": [{"lang_code": "en", "model_name": str(folder)}]}
    srsly.write_yaml(
        tmp_path / "all.yaml",
        {"supported_languages": ["en"], "nlp_configuration": nlp, "recognizer_registry": recognizers(**options)},
    )
    engine = AnalyzerEngineProvider(analyzer_engine_conf_file=tmp_path / "all.yaml").create_engine()
    assert found(engine.analyze(TEXT, "en"), TEXT) == expected


def test_recognizer_by_another_name():
    provider = RecognizerRegistryProvider(registry_configuration=recognizers(class_name="StudentPiiRecognizer", name="Essays"))
    (recognizer,) = provider.create_recognizer_registry().recognizers
    assert (type(recognizer), recognizer.name) == (StudentPiiRecognizer, "Essays")


def test_recognizer_that_is_off():
    listed = recognizers(enabled=False)
    listed["recognizers"].append({"name": "IpRecognizer", "type": "predefined"})
    names = [r.name for r in RecognizerRegistryProvider(registry_configuration=listed).create_recognizer_registry().recognizers]
    assert names == ["IpRecognizer"]


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"lables": "ours"}, "E803"),
        ({"threshold": 0.4}, "E803"),
        ({"labels": "theirs"}, "E801"),
        ({"return_cited": "sometimes"}, "E801"),
        ({"pipeline": "en_nowhere"}, "E804"),
        ({"supported_entities": ["FOO"]}, "E802"),
        ({"supported_languages": ["en", "es"]}, "E806"),
    ],
)
def test_what_nobody_knows_is_an_error(options, code):
    """Presidio drops unknown keys of other recognizers."""
    with pytest.raises(PiiError) as error:
        RecognizerRegistryProvider(registry_configuration=recognizers(**options)).create_recognizer_registry()
    assert error.value.code == code


def test_presidios_engine_around_a_pipeline_that_is_loaded_once(folder):
    nlp = {"nlp_engine_name": "spacy", "models": [{"lang_code": "en", "model_name": str(folder)}]}
    engine = NlpEngineProvider(nlp_configuration=nlp).create_engine()
    listed = recognizers()
    registry = RecognizerRegistryProvider(registry_configuration=listed, nlp_engine=engine).create_recognizer_registry()
    assert [r.name for r in registry.recognizers] == ["StudentPiiRecognizer"]


def test_a_list_of_ones_own_for_build_analyzer(tmp_path):
    import srsly

    path = tmp_path / "mine.yaml"
    srsly.write_yaml(path, recognizers(return_cited=True, supported_entities=["CITED_PERSON"], score_thresholds={"default": 0.1}))
    analyzer = build_analyzer(pipeline=names_pipeline(), recognizers=path)
    assert found(analyzer.analyze(TEXT, "en"), TEXT) == [("CITED_PERSON", "Buzan")]
    srsly.write_yaml(path, {"supported_languages": ["en"], "recognizers": [{"name": "IpRecognizer", "type": "predefined"}]})
    analyzer = build_analyzer(pipeline=names_pipeline(), recognizers=path)
    assert found(analyzer.analyze(TEXT + " 10.11.12.13", "en"), TEXT + " 10.11.12.13")[-1] == ("IP_ADDRESS", "10.11.12.13")


@pytest.mark.parametrize(
    ("text", "code"), [(None, "E811"), ("a: [", "E812"), ("- a list\n", "E812"), ("", "E812")], ids=["none", "broken", "list", "empty"]
)
def test_file_that_cannot_be_read(text, code, tmp_path):
    path = tmp_path / "mine.yaml"
    if text is not None:
        path.write_text(text)
    with pytest.raises(PiiError) as error:
        read_config(path)
    assert error.value.code == code
    assert str(tmp_path) not in str(error.value)


def test_name_of_no_file():
    with pytest.raises(PiiError) as error:
        config_path("analyser")
    assert error.value.code == "E811"


def test_presidios_own_engine_has_spacys_limit_and_ours_has_none(folder):
    """The page says so."""
    nlp = {"nlp_engine_name": "spacy", "models": [{"lang_code": "en", "model_name": str(folder)}]}
    engine = NlpEngineProvider(nlp_configuration=nlp).create_engine()
    engine.nlp["en"].max_length = 1000
    with pytest.raises(ValueError, match="E088"):
        engine.process_text("word " * 300, "en")
    recognizer = StudentPiiRecognizer(pipeline=engine.nlp["en"])
    assert len(recognizer.analyze("word " * 300 + "Ana Lopez")) == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("My SSN is 231456789.", [("US_SSN", "231456789")]),
        ("The number is 231456789.", []),
        ("It is 231-45-6789.", [("US_SSN", "231-45-6789")]),
        ("DE89370400440532013000", [("IBAN_CODE", "DE89370400440532013000")]),
        ("4012888888881881", [("CREDIT_CARD", "4012888888881881")]),
        ("4012888888881882", []),
        ("at 10.11.12.13", [("IP_ADDRESS", "10.11.12.13")]),
    ],
)
def test_presidios_recognizers_in_the_list_that_ships(text, expected):
    analyzer = build_analyzer(pipeline=names_pipeline())
    assert found(analyzer.analyze(text, "en"), text) == expected
