"""A class walks ETS's four steps, from a zip to a released folder: is all that was planted gone, and
does all that must stay still stand?

    python -m scripts.walk --out metrics/walk.json

`tests/data/class` is an invented class. A planted string is *left* if it stands in the release more
often than it stood where it is innocent ("Will you?"), *in part* if only a word of a name is; it is
searched for as whole words in texts and names of files. What must stay is intact if it stands as
often as before. Strings are written to --failures only. Needs python-docx and scipy (extra test).
"""

import codecs
import csv
import io
import json
import os
import re
import subprocess
import sys
import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any
from unicodedata import normalize

import typer
from rich.console import Console
from scipy.stats import binomtest

from pii_components.cli.common import guard
from scripts import common
from scripts.common import make_pdf

CLASS = Path(__file__).resolve().parents[1] / "tests/data/class"
PROGRAM = (sys.executable, "-c", "from pii_components.cli import main; main()")
# ETS's steps 1 to 4: header, names and contact, autobiographical details, search for surnames.
STEPS = (
    "--profile ets --roster roster.csv --config sweep=hide --id-map safe.csv --vault safe.vault "
    "--config report=safe.json"
)
NAMES = {"author", "classmate", "instructor", "connected"}
GONE, PART, LEFT, INTACT = "gone", "in_part", "left", "intact"
Doc = dict[str, Any]


def main(
    *,
    model: Annotated[str, typer.Option(help="Pipeline.")] = "en_pii_edu",
    failures: Annotated[
        Path | None,
        typer.Option(help="Where strings that failed go; not for makers of the detector."),
    ] = None,
    out: common.OutOpt = None,
) -> None:
    """A class in, a release out, and what is left in it."""
    with guard(), TemporaryDirectory() as name:
        common.early(out)
        place, documents = Path(name), read_class()
        build_zip(documents, place / "class.zip")
        (place / "roster.csv").write_bytes((CLASS / "roster.csv").read_bytes())
        found, failed = walk(documents, place, model)
        if failures:
            failures.write_text(json.dumps(failed, indent=1), "utf8")
        common.publish("walk", common.head() | found, out, show)


def show(report: Mapping[str, Any], to: Console) -> None:
    """Print the tables, then the rest."""
    for title, table in report["found"].items():
        common.show(to, title, table, "n intact gone in_part left share share_exact_95")
    to.print_json(json.dumps(report["walk"]))


def read_class() -> list[Doc]:
    """Documents, with what was planted in each and what must stay."""
    return [json.loads(line) for line in (CLASS / "documents.jsonl").read_text("utf8").splitlines()]


def build_zip(documents: Sequence[Doc], path: Path) -> None:
    """Write the files that a learning platform would export."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for doc in documents:
            if doc["format"] == "docx":
                data = make_docx(doc)
            elif doc["format"] == "pdf":
                data = make_pdf(doc["text"])
            else:
                data = doc["text"].encode(doc.get("encoding", "utf-8"))
            archive.writestr(doc["file"], data)


def make_docx(doc: Doc) -> bytes:
    """A .docx with header, footer, comments, table and author as the document has them."""
    import docx

    made, file = docx.Document(), io.BytesIO()
    paragraphs = [made.add_paragraph(line) for line in doc["text"].splitlines()]
    for row in doc.get("table", ()):
        table = made.tables[0] if made.tables else made.add_table(0, len(row))
        for cell, value in zip(table.add_row().cells, row, strict=True):
            cell.text = value
    for author, text in doc.get("comments", ()):
        made.add_comment(paragraphs[0].runs, text=text, author=author, initials=author[0])
    made.sections[0].header.paragraphs[0].text = doc.get("header", "")
    made.sections[0].footer.paragraphs[0].text = doc.get("footer", "")
    made.core_properties.author = doc.get("metadata", "")
    made.save(file)
    return file.getvalue()


def run(place: Path, *arguments: str) -> None:
    """Run the program with a fixed key; files may be set aside (status 1)."""
    environment = {**os.environ, "PII_EDU_KEY": "a key for this walk, of no other use"}
    how: dict[str, Any] = {"cwd": place, "env": environment, "capture_output": True, "text": True}
    done = subprocess.run([*PROGRAM, *arguments], **how, check=False)
    if done.returncode not in (0, 1):
        told = done.stderr.strip()[-300:]
        raise SystemExit(f"{arguments[0]} ended with {done.returncode}: {told}")


def _text_of(data: bytes) -> str:
    """A released text: UTF-16, if its original was."""
    wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return data.decode("utf-16" if wide else "utf-8-sig")


def walk(documents: Sequence[Doc], place: Path, model: str) -> tuple[dict[str, Any], list[Doc]]:
    """Run the steps and check the release: counts, and file, table, kind and string of what failed."""
    options = ["--out", "safe", *STEPS.split(), "--config", f"model={model}"]
    run(place, "deidentify", "class.zip", *options)
    run(place, "vault", "verify", "safe.vault")
    rows = csv.reader((place / "safe.csv").read_text("utf-8-sig").splitlines())
    names = {row[0]: row[1] for row in rows if row[1]}
    there = [doc for doc in documents if doc["file"] in names]
    files = [(name, place / "safe" / name) for name in (names[doc["file"]] for doc in there)]
    found, failed = judge(there, [(name, _text_of(path.read_bytes())) for name, path in files])
    left = {one["file"] for one in failed if one["kind"] != "kept"}
    written = sum(path.is_file() for path in (place / "safe").rglob("*"))
    about = {
        "arguments": STEPS,
        "documents": len(documents),
        "released": len(there),
        "documents_with_nothing_left": len(there) - len(left),
        "files_beside": written - len(there),
    }
    return {"walk": about, "found": found}, failed


def tidy(text: str) -> str:
    """One form for widths, accents and white space; without what cannot be seen."""
    text = re.sub("[\u00ad\u200b-\u200f\u2060\ufeff]", "", normalize("NFKC", text))
    return " ".join(text.split())


def count(string: str, text: str) -> int:
    """How often a string stands in a `tidy` text as whole words."""
    return len(re.findall(rf"(?<!\w){re.escape(tidy(string))}(?!\w)", text))


def fate(
    kind: str, string: str, text: str, innocent: Mapping[str, int], others: Sequence[str] = ()
) -> str:
    """GONE, PART or LEFT in a released, `tidy` text.

    others (Sequence[str]): What else was planted; a word that is one of them is judged by itself.
    """
    if count(string, text) > innocent.get(string, 0):
        return LEFT
    for word in re.findall(r"[^\W\d_]{2,}", string) if kind in NAMES else ():
        if word not in others and count(word, text) > innocent.get(word, 0):
            return PART
    return GONE


def fates(doc: Doc, name: str, text: str) -> Iterator[tuple[str, str, str, str]]:
    """YIELDS (tuple): Table, kind, string, and what became of it."""
    text, name = tidy(text), tidy(name).casefold().replace("_", " ")
    planted = [string for _, string in doc["planted"]]
    for kind, string in doc["planted"]:
        yield "planted", kind, string, fate(kind, string, text, doc["innocent"], planted)
    for kind, string in doc["in_name"]:
        # "lopezmaria" may stand glued; three letters may be a part of any word.
        low = string.casefold().replace("_", " ")
        glued = len(low) > 4 and tidy(low) in name
        yield "names of files", kind, string, LEFT if glued else fate(kind, low, name, {})
    for string, times in doc["kept"].items():
        yield "kept", "kept", string, INTACT if count(string, text) >= times else "lost"


def judge(
    documents: Sequence[Doc], released: Sequence[tuple[str, str]]
) -> tuple[dict[str, Any], list[Doc]]:
    """Tables of counts, and what failed. released: Name and text of each document in the release."""
    ends: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    failed = []
    for doc, (name, text) in zip(documents, released, strict=True):
        for table, kind, string, end in fates(doc, name, text):
            for key in {kind, "all"} - ({"all"} if table == "kept" else set()):
                ends[table][key].append(end)
            if end not in (GONE, INTACT):
                row = {"file": doc["file"], "table": table, "kind": kind, "string": string}
                failed.append(row | {"end": end})
    tables = {}
    for table, kinds in ends.items():
        tables[table] = {kind: shares(some) for kind, some in sorted(kinds.items())}
    return tables, failed


def shares(ends: Sequence[str]) -> dict[str, Any]:
    """Counts, and the share that is gone, or intact, with its exact interval (Clopper-Pearson)."""
    counts = Counter(ends)
    good = counts[GONE] + counts[INTACT]
    exact = binomtest(good, len(ends)).proportion_ci(method="exact")
    interval = [round(exact.low, 4), round(exact.high, 4)]
    share = {"share": round(good / len(ends), 4), "share_exact_95": interval}
    return {"n": len(ends), **counts, **share}


if __name__ == "__main__":
    typer.run(main)
