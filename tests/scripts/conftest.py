"""What the tests of the studies share: a way to run a study, and a system that finds what a pattern says."""

import re

import pytest
import typer
from typer.testing import CliRunner

from pii_components.evaluate.gold import Entity
from pii_components.labels import NAME_CITED, NAME_STUDENT


@pytest.fixture
def command():
    """Run a study's `main` with arguments. RETURNS: What typer's runner tells."""

    def run(main, *arguments):
        app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
        app.command()(main)
        return CliRunner().invoke(app, [str(argument) for argument in arguments])

    return run


class Finds:
    """Finds the same stretches in every text, or what matches a pattern, or what a function of the document gives."""

    name, about, nlp = "finds", {"version": "1"}, None

    def __init__(self, found):
        self.found, self.read = found, 0

    def protects(self, label):
        return label != NAME_CITED

    def entities(self, documents):
        for doc in documents:
            self.read += 1
            found = self.found
            if isinstance(found, str):
                found = [(*match.span(), NAME_STUDENT) for match in re.finditer(found, doc.text)]
            elif callable(found):
                found = found(doc)
            yield [
                Entity(doc.id, start, end, label, doc.text[start:end])
                for start, end, label in found
            ]


@pytest.fixture(scope="session")
def finds():
    """RETURNS: The class."""
    return Finds
