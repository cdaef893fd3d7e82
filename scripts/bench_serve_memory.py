"""Ask a server 5,000 times and write what its memory did: metrics/serve_memory.json.

    python -m scripts.bench_serve_memory --requests 5000 --model en_pii_edu --out metrics/serve_memory.json

`pii-edu serve` runs in a process of its own. Every request has sentences of the essays that ship and invented words that no other
request has, so that whatever the server keeps of a text would grow: a vocabulary, a cache, a log. Each finds, each fifth also hides
what was found with `hips`. Noted is resident memory by thousand. "rules" is pii_ruler and pii_context without the transformer, which
takes a fraction of the time and has the same server, vocabulary and caches. Needs the extra `serve`, httpx, and /proc.
"""

import csv
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated, Any

import httpx
import spacy
import typer

from scripts import common
from scripts.speed_probe import memory

CONSONANTS, VOWELS = "bcdfghjklmnprstvz", "aeiou"
WARM_UP = 200


def word(rng: random.Random) -> str:
    """Of three to five syllables; one of more than 10^6."""
    return "".join(rng.choice(CONSONANTS) + rng.choice(VOWELS) for _ in range(rng.randint(3, 5)))


def texts(n: int, *, seed: int, sentences: int) -> list[str]:
    """Texts of up to so many sentences, each with a name, an address, a number and words of its own."""
    with open("assets/samples/essays.csv", encoding="utf-8", newline="") as file:
        pool = [
            s
            for row in csv.DictReader(file)
            for s in re.split(r"(?<=[.!?])\s+", row["text"])
            if 20 < len(s) < 200
        ]
    rng = random.Random(seed)
    made = []
    for _ in range(n):
        first, last = word(rng).title(), word(rng).title()
        parts = [
            f"By {first} {last}.",
            *rng.sample(pool, rng.randint(1, sentences)),
            f"{word(rng)} {word(rng)} {word(rng)}.",
        ]
        made.append(
            " ".join(
                [*parts, f"Write to {word(rng)}@{word(rng)}.edu, ID {rng.randrange(10**7, 10**8)}."]
            )
        )
    return made


def rules(folder: str) -> str:
    """Path of a pipeline without a model."""
    nlp = spacy.blank(
        "en", config={"nlp": {"tokenizer": {"@tokenizers": "pii_edu.StudentTokenizer.v1"}}}
    )
    nlp.add_pipe("pii_ruler")
    nlp.add_pipe("pii_context")
    nlp.to_disk(folder)
    return folder


def start(model: str) -> tuple[subprocess.Popen[str], str]:
    """The server, and where it answers."""
    env = {**os.environ, "OMP_NUM_THREADS": "1", "PII_EDU_KEY": "everyone may know this key"}
    command = [
        sys.executable,
        *[
            "-m",
            "pii_components.cli",
            "serve",
            "--port",
            "0",
            "--time-limit",
            "600",
            "--model",
        ],
        model,
    ]
    process = subprocess.Popen(
        command, env=env, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    said = []
    for line in process.stderr:
        if found := re.search(r"running on (http://\S+)", line):
            return process, found[1]
        said.append(line)
    raise SystemExit(f"the server did not start:\n{''.join(said)}")


def main(
    *,
    requests: Annotated[int, typer.Option(help="After the warm-up.")] = 5000,
    model: Annotated[str, typer.Option(help="en_pii_edu, rules, or a path.")] = "en_pii_edu",
    sentences: Annotated[int, typer.Option(min=1, help="Of a text at most.")] = 4,
    out: Annotated[
        Path, typer.Option(help="Metrics file (JSON), written anew after each thousand.")
    ] = Path("metrics/serve_memory.json"),
) -> None:
    """Ask a server, and write what its memory did."""
    with tempfile.TemporaryDirectory() as folder:
        process, url = start(rules(folder) if model == "rules" else model)
        rows: list[dict[str, Any]] = []
        found, began = 0, time.perf_counter()

        def note(done: int) -> None:
            held = round(memory("VmRSS", process.pid) * 1e6 / 2**20, 1)
            rows.append(
                {
                    "requests": done,
                    "rss_mib": held,
                    "seconds": round(time.perf_counter() - began, 1),
                }
            )
            print(rows[-1], flush=True)
            after = [row["rss_mib"] for row in rows if row["requests"] >= 1000]
            report = common.head() | {
                "requests": max(0, done),
                "warm_up": WARM_UP,
                "spans_found": found,
                "by_thousand": rows,
            }
            report["growth_mib_after_first_thousand"] = (
                round(after[-1] - after[0], 1) if after else None
            )
            common.publish("bench_serve_memory", report, out, None)

        try:
            with httpx.Client(base_url=url, timeout=700) as client:
                note(-WARM_UP)
                for i, text in enumerate(texts(WARM_UP + requests, seed=7, sentences=sentences)):
                    answer = client.post("/analyze", json={"text": text, "language": "en"})
                    answer.raise_for_status()
                    found += len(answer.json())
                    if i % 5 == 0:
                        asked = {
                            "text": text,
                            "analyzer_results": answer.json(),
                            "anonymizers": {"DEFAULT": {"type": "hips"}},
                        }
                        client.post("/anonymize", json=asked).raise_for_status()
                    done = i + 1 - WARM_UP
                    if done >= 0 and done % 1000 == 0:
                        note(done)
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate()


if __name__ == "__main__":
    typer.run(main)
