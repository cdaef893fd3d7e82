"""Servers for tests: in this process over ASGI, and as a process of its own. Everyone in the texts is invented."""

import asyncio
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import spacy
from fastapi import FastAPI

ROOT = Path(__file__).parents[2]
KEY = "a key for tests, of no other use"
TEXT = "By Ina Sorel. As Buzan (2006) says, maps help. Write to ina.sorel@example.edu or ask Odile Prath."
PATTERNS = [
    {"label": "NAME_STUDENT", "pattern": "Ina Sorel"},
    {"label": "NAME_CITED", "pattern": "Buzan"},
    {"label": "NAME_INSTRUCTOR", "pattern": "Odile Prath"},
    {"label": "EMAIL", "pattern": [{"LIKE_EMAIL": True}]},
]


def small_pipeline(folder: Path) -> str:
    """RETURNS (str): Path of a pipeline that loads in a moment: spaCy's span_ruler finds people, nothing is trained."""
    nlp = spacy.blank("en")
    spans_filter = {"@misc": "spacy.first_longest_spans_filter.v1"}
    ruler = nlp.add_pipe("span_ruler", config={"spans_key": "pii", "spans_filter": spans_filter})
    ruler.add_patterns(PATTERNS)
    nlp.to_disk(folder / "small")
    return str(folder / "small")


def ask(app: FastAPI, method: str, path: str, *, host: str = "localhost", **options) -> httpx.Response:
    """RETURNS (httpx.Response): Of one request to an application in this process."""

    async def once() -> httpx.Response:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=f"http://{host}") as client:
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
def server(*args: str, cwd: Path, env: dict[str, str] | None = None, wait: float = 240) -> Iterator[Server]:
    """Start a server on a free port of this machine, and end it with the test."""
    paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    environment = {**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1", "PII_EDU_KEY": KEY, **(env or {})}
    command = [sys.executable, "-m", "pii_components.cli", "serve", "--port", "0", *args]
    process = subprocess.Popen(
        command, cwd=cwd, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        lines: list[str] = []
        assert process.stderr is not None
        limit = time.monotonic() + wait
        for line in process.stderr:
            lines.append(line)
            found = re.match(r"listening on (http://127\.0\.0\.1:\d+)$", line.strip())
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


def dumps(value: object) -> bytes:
    """RETURNS (bytes): As httpx would not write it: with the spaces of json.dumps, as a Presidio client in Python sends it."""
    return json.dumps(value).encode()
