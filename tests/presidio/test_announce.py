"""How Presidio learns of our recognizer, and what happens without Presidio, or with another one."""

import importlib
import logging
import os
import sys
from importlib.metadata import entry_points

import pytest

import pii_components.presidio as package
from pii_components.errors import PiiError
from pii_components.presidio import settings as offline


@pytest.fixture
def imported(monkeypatch):
    """Names of modules that the package imports."""
    names = []
    monkeypatch.setattr(package, "import_module", lambda name, anchor: names.append(name) or importlib.import_module(name, anchor))
    return names


def test_spacy_finds_the_entry_point():
    (entry,) = entry_points(group="spacy_factories", name="pii_edu_presidio")
    assert entry.value == "pii_components.presidio:announce"
    assert entry.load()() is None


def test_nothing_is_imported_where_presidio_is_not_in_use(imported, monkeypatch):
    monkeypatch.delitem(sys.modules, "presidio_analyzer", raising=False)
    assert callable(package.announce)
    assert imported == []


def test_nothing_is_imported_while_presidio_itself_is_being_imported(imported, monkeypatch):
    monkeypatch.setitem(sys.modules, "presidio_analyzer", type(sys)("presidio_analyzer"))
    assert callable(package.announce)
    assert imported == []


def test_recognizer_is_known_whenever_a_pipeline_is_made(imported):
    """Each time, so that it does not matter which of the two was imported first."""
    pytest.importorskip("presidio_analyzer")
    for _ in range(2):
        assert callable(package.announce)
    assert imported == [".recognizer"] * 2


def test_another_presidio_does_not_harm_spacy(monkeypatch, caplog):
    pytest.importorskip("presidio_analyzer")

    def fail(name, anchor):
        raise ImportError("no such name")

    monkeypatch.setattr(package, "import_module", fail)
    with caplog.at_level(logging.WARNING, logger="pii_components"):
        assert callable(package.announce)
    assert "StudentPiiRecognizer is not available" in caplog.text


def test_every_public_name_is_there():
    pytest.importorskip("presidio_analyzer")
    pytest.importorskip("presidio_anonymizer")
    assert {name for names in package._HOMES.values() for name in names} == set(package.__all__)
    assert all(getattr(package, name) for name in package.__all__)
    with pytest.raises(AttributeError, match="Recogniser"):
        _ = package.Recogniser


def test_presidio_that_is_not_installed(monkeypatch):
    monkeypatch.setattr(offline, "find_spec", lambda name: None)
    with pytest.raises(PiiError) as error:
        offline.presidio_needed("the recognizer")
    assert error.value.code == "E005"
    assert "presidio-analyzer" in str(error.value) and "en_pii_edu[presidio]" in str(error.value)


def test_a_list_of_domains_of_ones_own_is_left_alone(monkeypatch):
    name = "TLDEXTRACT_PUBLIC_SUFFIX_LIST_URLS"
    monkeypatch.delenv(name, raising=False)
    offline.presidio_needed("this test")
    assert os.environ[name] == ""
    monkeypatch.setenv(name, "file:///srv/list.dat")
    offline.presidio_needed("this test")
    assert os.environ[name] == "file:///srv/list.dat"
