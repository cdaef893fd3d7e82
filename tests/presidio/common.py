"""Small pipelines, synthetic essays and servers for tests of Presidio. Everyone is invented."""

import asyncio
import contextlib
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import cache
from itertools import islice
from pathlib import Path

import httpx
import spacy
from fastapi import FastAPI
from presidio_anonymizer.entities import RecognizerResult
from spacy.language import Language

from pii_components.corpus.build import Filled, TemplateFiller
from pii_components.corpus.templates import read_templates
from pii_components.labels import PRESIDIO_ENTITIES
from pii_components.names.table import name_table
from pii_components.spans import Candidate, write_spans
from tests.tiny import TOKENIZER

ROOT = Path(__file__).parents[2]
ESSAY = "Name: Ana Lopez\n\nAs Buzan (2006) says, a map helps. Write to ana.lopez@gmail.com or call (212) 555-0123."
# What `presidio_test_names` finds: label, score, probability of each role, reason.
SIGNS = (0.9, 0.02, 0.02, 0.05, 0.01)
KNOWN = {
    "Ana Lopez": ("NAME_STUDENT", 0.9375, SIGNS, "student: signs the essay"),
    "Buzan": ("NAME_CITED", 0.75, (0.1, 0.0, 0.0, 0.9, 0.0), "cited: year in brackets follows"),
    "Zed": ("NAME_CHARACTER", 0.5, (0.1, 0.0, 0.0, 0.1, 0.8), "character: figure in a story"),
    "Ms. Roe": ("NAME_INSTRUCTOR", 0.625, (0.1, 0.8, 0.1, 0.0, 0.0), "instructor: handed in to"),
    "May 4, 2021": ("DATE", 0.5, (), "date"),
}


@Language.factory("presidio_test_names", assigns=["doc.spans"])
class Names:
    """Finds what is in `KNOWN`, and counts the texts that it has seen."""

    def __init__(self, nlp, name):
        self.texts = []

    def __call__(self, doc):
        self.texts.append(doc.text)
        cands = []
        for value, (label, score, roles, reason) in KNOWN.items():
            for match in re.finditer(re.escape(value), doc.text):
                span = doc.char_span(*match.span(), alignment_mode="expand")
                cands.append(Candidate(span.start, span.end, label, score, "model", reason, roles))
        write_spans(doc, cands)
        return doc


@Language.component("presidio_test_point")
def point(doc):
    """As pii_context notes it: names are hidden from a probability of .21 on."""
    doc.spans["pii"].attrs["protect_at"] = 0.21
    return doc


def names_pipeline(lang: str = "en") -> Language:
    """RETURNS (Language): With `presidio_test_names` alone; `nlp.get_pipe("names").texts` are the texts that it has seen."""
    nlp = spacy.blank(lang)
    nlp.add_pipe("presidio_test_names", name="names")
    return nlp


def small_pipeline(*, surrogates: bool = False) -> Language:
    """RETURNS (Language): pii_ruler and pii_context behind `presidio_test_names`. surrogates (bool): With hips_surrogate behind them."""
    nlp = spacy.blank("en", config=TOKENIZER)
    nlp.add_pipe("presidio_test_names", name="names")
    nlp.add_pipe("pii_ruler")
    nlp.add_pipe("pii_context")
    if surrogates:
        nlp.add_pipe("hips_surrogate")
    return nlp


def found(results, text):
    """RETURNS (list): (entity, text) of Presidio's results, in order of the text."""
    return [(r.entity_type, text[r.start : r.end]) for r in sorted(results, key=lambda r: r.start)]


KEY = b"a key for tests, 32 bytes long.."


@cache
def essays(n: int = 200) -> tuple[Filled, ...]:
    """RETURNS (tuple[Filled, ...]): Essays of ours, filled with invented people; the same ones each time."""
    templates = enumerate(read_templates(ROOT / "assets"))
    filled = (
        TemplateFiller(name_table(), random.Random(i), genders=one.genders).fill(one.parts)
        for i, one in templates
    )
    return tuple(islice((essay for essay in filled if len(essay.spans) > 1), n))


def as_results(filled: Filled, *, presidio: bool = False) -> list[RecognizerResult]:
    """RETURNS (list[RecognizerResult]): The spans as an analyzer gives them. presidio (bool): With Presidio's names, and our labels in the
    metadata, as StudentPiiRecognizer does it."""
    results = []
    for start, end, label in filled.spans:
        result = RecognizerResult(PRESIDIO_ENTITIES[label] if presidio else label, start, end, 1.0)
        result.recognition_metadata = {"pii_label": label} if presidio else {}
        results.append(result)
    return results


SERVE_KEY = "a key for tests, of no other use"
SERVE_TEXT = "By Ina Sorel. As Buzan (2006) says, maps help. Write to ina.sorel@example.edu or ask Odile Prath."
PATTERNS = [
    {"label": "NAME_STUDENT", "pattern": "Ina Sorel"},
    {"label": "NAME_CITED", "pattern": "Buzan"},
    {"label": "NAME_INSTRUCTOR", "pattern": "Odile Prath"},
    {"label": "EMAIL", "pattern": [{"LIKE_EMAIL": True}]},
]


def ruler_pipeline() -> Language:
    """RETURNS (Language): One that loads in a moment: spaCy's span_ruler finds people, nothing is trained."""
    nlp = spacy.blank("en")
    spans_filter = {"@misc": "spacy.first_longest_spans_filter.v1"}
    nlp.add_pipe(
        "span_ruler", config={"spans_key": "pii", "spans_filter": spans_filter}
    ).add_patterns(PATTERNS)
    return nlp


def ask(
    app: FastAPI, method: str, path: str, *, host: str = "localhost", **options
) -> httpx.Response:
    """RETURNS (httpx.Response): Of one request to an application in this process."""

    async def once() -> httpx.Response:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url=f"http://{host}") as client:
            return await client.request(method, path, **options)

    return asyncio.run(once())


class Server:
    """`pii-edu serve` in a process of its own. url (str): Where it answers; log (str): What it wrote, once it has ended."""

    def __init__(self, process: subprocess.Popen, url: str, lines: list[str]) -> None:
        self.process = process
        self.url = url
        self.lines = lines
        self.log = ""

    def stop(self, how: int = signal.SIGTERM) -> int:
        """RETURNS (int): The exit code."""
        self.process.send_signal(how)
        out, err = self.process.communicate(timeout=60)
        self.log = "".join(self.lines) + err + out
        return self.process.returncode


@contextlib.contextmanager
def server(
    *args: str,
    cwd: Path,
    command: list[str] | None = None,
    env: dict[str, str] | None = None,
    wait: float = 240,
) -> Iterator[Server]:
    """Start a server on a free port of this machine, and end it with the test."""
    paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    ours = {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1", "PII_EDU_KEY": SERVE_KEY}
    environment = {**os.environ, **ours, **(env or {})}
    command = command or [sys.executable, "-m", "pii_components.cli", "serve", "--port", "0", *args]
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen(command, cwd=cwd, env=environment, text=True, **pipes)
    try:
        lines: list[str] = []
        assert process.stderr is not None
        limit = time.monotonic() + wait
        for line in process.stderr:
            lines.append(line)
            found = re.search(r"running on (http://127\.0\.0\.1:\d+) ", line)
            if found:
                yield Server(process, found[1], lines)
                break
            assert time.monotonic() < limit
        else:
            raise AssertionError("".join(lines))
    finally:
        if process.poll() is None:
            process.kill()
        with contextlib.suppress(ValueError):
            process.communicate()
