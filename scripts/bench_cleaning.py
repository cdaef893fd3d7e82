"""Clean 30,000 synthetic essays and write what it took: metrics/cleaning_30000.json.

    python -m scripts.bench_cleaning --essays 30000 --pdfs 300 --out metrics/cleaning_30000.json

Essays are sentences of assets/ in random order, one word in ten another one; their authors are invented. Planted are copies (some with
words changed, some in larger groups), texts that are short, in another language, or garbled as PDF text can be, and second submissions.
The command `pii-edu corpus clean` runs in a process of its own; its seconds and its peak of memory are what counts. A folder of PDFs is
cleaned too, for the seconds per file. Needs the extra `corpus`.
"""

import json
import os
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from textwrap import wrap
from typing import Annotated, Any

import typer

from pii_components.corpus.templates import read_templates
from scripts import common

FOREIGN: dict[str, list[str]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf8"))
GARBLED: dict[str, Callable[[str, random.Random], str]] = {
    "shifted": lambda text, rng: re.sub(
        r"[a-zA-Z]", lambda m: m[0] if rng.random() < 0.7 else chr(33 + (ord(m[0]) + 7) % 60), text
    ),
    "glued": lambda text, rng: re.sub(
        r" (?=\w)", lambda m: " " if rng.random() < 0.2 else "", text
    ),
    "spaced": lambda text, rng: re.sub(
        r"\w+", lambda m: " ".join(m[0]) if rng.random() < 0.25 else m[0], text
    ),
    "codes": lambda text, rng: re.sub(
        r"\w+", lambda m: m[0] if rng.random() < 0.85 else f"(cid:{rng.randrange(200)})", text
    ),
    "lost": lambda text, rng: text.replace("e", ""),
    "digraph": lambda text, rng: text.replace("io", "3").replace("th", "0"),
}


class Maker:
    """Makes essays."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        sentences: set[str] = set()
        for template in read_templates(Path("assets")):
            plain = "".join(part if isinstance(part, str) else "someone" for part in template.parts)
            sentences.update(
                s.strip() for line in plain.split("\n") for s in re.split(r"(?<=[.!?])\s+", line)
            )
        self.sentences = sorted(s for s in sentences if 6 <= len(s.split()) <= 40)
        self.words = sorted({word for s in self.sentences for word in s.split()})

    def essay(self) -> str:
        """250 to 550 words."""
        wanted, parts, size = self.rng.randrange(250, 550), [], 0
        while size < wanted:
            sentence = self.changed(self.rng.choice(self.sentences), 0.1)
            parts.append(sentence)
            size += len(sentence.split())
        return re.sub(r"((?:\S+ ){80,120})", r"\1\n\n", " ".join(parts))

    def changed(self, text: str, share: float) -> str:
        """With other words for a share of the words."""
        return " ".join(
            self.rng.choice(self.words) if self.rng.random() < share else word
            for word in text.split(" ")
        )

    def corpus(self, n: int) -> tuple[list[dict[str, Any]], dict[str, str]]:
        """Rows in random order; what was planted, id to kind."""
        rows: list[tuple[str, str, str]] = []  # kind, student, text
        share = lambda percent: max(2, int(n * percent / 100))  # noqa: E731
        for _ in range(share(1)):  # pairs
            text = self.essay()
            rows += [("copy", "", text), ("copy", "", self.changed(text, 0.01))]
        for _ in range(max(1, share(0.02))):  # larger groups
            text = self.essay()
            rows += [("copy", "", text if i % 2 else text.upper()) for i in range(12)]
        for _ in range(share(1)):
            rows.append(("short", "", " ".join(self.essay().split()[: self.rng.randrange(20, 50)])))
        for _ in range(share(1)):
            rows.append(
                (
                    "foreign",
                    "",
                    " ".join(self.rng.choices(FOREIGN[self.rng.choice(sorted(FOREIGN))], k=25)),
                )
            )
        for i in range(share(1)):
            name = sorted(GARBLED)[i % len(GARBLED)]
            rows.append((f"garbled {name}", "", GARBLED[name](self.essay(), self.rng)))
        for i in range(share(1)):
            rows += [
                ("older submission", f"twice{i}", self.essay()),
                ("", f"twice{i}", self.essay()),
            ]
        rows += [("", "", self.essay()) for _ in range(n - len(rows))]
        self.rng.shuffle(rows)
        planted = {f"e{i}": kind for i, (kind, _, _) in enumerate(rows) if kind}
        result = []
        for i, (kind, student, text) in enumerate(rows):
            when = "2024-05-01" if kind == "older submission" else "2024-06-01"
            result.append(
                {"id": f"e{i}", "student": student or f"s{i}", "when": when, "text": text}
            )
        return result, planted


def clean(source: Path, out: Path, *options: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The report of `corpus clean`, and what it took. Where others use the machine too, only processor time can be compared."""
    command = [
        sys.executable,
        "-m",
        "pii_components.cli",
        "corpus",
        "clean",
        str(source),
        "--out",
        str(out),
        "--quiet",
    ]
    load, start, before = (
        os.getloadavg()[0],
        time.perf_counter(),
        resource.getrusage(resource.RUSAGE_CHILDREN),
    )
    subprocess.run([*command, *options], check=True)
    seconds, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    cost = {
        "seconds": round(seconds, 1),
        "cpu_seconds": round(cpu, 1),
        "peak_rss_mib": round(after.ru_maxrss / 1024),
    }
    return json.loads(
        out.with_name(out.stem + ".cleaning.json").read_text(encoding="utf-8")
    ), cost | {"load_before": load}


def bench_texts(folder: Path, n: int, seed: int) -> dict[str, Any]:
    """What cleaning n essays took, and what was found of what was planted."""
    rows, planted = Maker(seed).corpus(n)
    source = folder / "essays.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    options = ("--id-column", "id", "--student-column", "student", "--time-column", "when")
    report, cost = clean(source, folder / "clean.jsonl", *options)
    removed = {item["id"]: item["step"] for item in report["removed"]}
    kinds = Counter(planted.values())
    return {
        "essays": len(rows),
        "words": sum(len(row["text"].split()) for row in rows),
        **cost,
        "steps": report["steps"],
        "notes": report["notes"],
        "near_duplicate_pairs": report["near_duplicates"]["pairs"],
        "highest_similarity": report["near_duplicates"]["highest_similarity"],
        "planted": {
            kind: {
                "planted": kinds[kind],
                "found": sum(
                    removed.get(name) is not None for name, k in planted.items() if k == kind
                ),
                "by_step": dict(
                    sorted(
                        Counter(
                            removed[name]
                            for name, k in planted.items()
                            if k == kind and name in removed
                        ).items()
                    )
                ),
            }
            for kind in sorted(kinds)
        },
        "removed_without_being_planted": dict(
            sorted(Counter(s for name, s in removed.items() if name not in planted).items())
        ),
    }


def make_pdf(*pages: str, locked: bool = False) -> bytes:
    """The bytes of a PDF. pages (str): Texts of Western letters. locked (bool): Whether it asks for a password, which nobody has."""
    objects = [
        "<</Type/Catalog/Pages 2 0 R>>",
        "",
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>",
    ]
    for text in pages:
        signs = str.maketrans({"\\": r"\\", "(": r"\(", ")": r"\)"})
        lines = [
            line
            for part in text.splitlines()
            for line in wrap(part, 100, break_long_words=False) or [""]
        ]
        shown = "".join(f"({line.translate(signs)}) Tj T*\n" for line in lines)
        stream = f"BT /F 9 Tf 10 TL 50 780 Td\n{shown}ET"
        page = "<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Resources<</Font<</F 3 0 R>>>>"
        objects += [
            f"<</Length {len(stream)}>>stream\n{stream}\nendstream",
            f"{page}/Contents {len(objects) + 1} 0 R>>",
        ]
    kids = " ".join(f"{n} 0 R" for n in range(5, len(objects) + 1, 2))
    objects[1] = f"<</Type/Pages/Kids[{kids}]/Count {len(pages)}>>"
    out, places = "%PDF-1.4\n", []
    for n, content in enumerate(objects, 1):
        places.append(len(out))
        out += f"{n} 0 obj\n{content}\nendobj\n"
    lock = (
        f"/Encrypt<</Filter/Standard/V 1/R 2/P -4/O<{'41' * 32}>/U<{'42' * 32}>>>/ID[<41><41>]"
        if locked
        else ""
    )
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    size = len(objects) + 1
    end = f"trailer<</Root 1 0 R/Size {size}{lock}>>\nstartxref\n{len(out)}\n%%EOF"
    return f"{out}xref\n0 {size}\n0000000000 65535 f \n{table}{end}".encode("cp1252", "replace")


def bench_pdfs(folder: Path, n: int, seed: int) -> dict[str, Any]:
    """What cleaning a folder of n PDFs of one page took."""
    maker = Maker(seed)
    (folder / "pdf").mkdir()
    for i in range(n):
        (folder / "pdf" / f"{i:05}.pdf").write_bytes(make_pdf(maker.essay()))
    report, cost = clean(folder / "pdf", folder / "pdf.jsonl")
    del cost["peak_rss_mib"]  # of the larger of the two runs
    return {"files": n, **cost, "remaining": report["steps"][-1]["remaining"]}


def main(
    *,
    essays: Annotated[int, typer.Option(help="Texts to clean.")] = 30_000,
    pdfs: Annotated[int, typer.Option(help="PDFs to clean; 0 for none.")] = 300,
    seed: common.SeedOpt = 0,
    out: Annotated[Path, typer.Option(help="Metrics file (JSON).")] = Path(
        "metrics/cleaning_30000.json"
    ),
) -> None:
    """Make, clean, write."""
    with tempfile.TemporaryDirectory() as name:
        texts = bench_texts(Path(name), essays, seed)
        found = {"texts": texts, "pdfs": bench_pdfs(Path(name), pdfs, seed + 1) if pdfs else None}
    common.publish("bench_cleaning", common.head() | found, out, None)
    print(
        "{essays} essays: {seconds} s ({cpu_seconds} s of processor), {peak_rss_mib} MiB".format(
            **texts
        )
    )


if __name__ == "__main__":
    typer.run(main)
