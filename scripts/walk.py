"""A class walks ETS's four steps, from a zip to a released folder: is all that was planted gone, and does all that must stay still stand?

    python -m scripts.walk --out metrics/walk.json
    python -m scripts.walk --kill 20        # kill -9 at random moments, then --resume: the same bytes?
    python -m scripts.walk --big 2          # memory while a generated CSV of 2 GB is read

`tests/data/class` is an invented class. A planted string is *left* if it stands in the release more often than it stood where it is innocent
("Will you?"), *in part* if only a word of a name is; searched for as whole words in texts, all parts of a .docx and names of files. What
must stay is intact if it stands as often as before. Strings are written to --failures only. Intervals: exact (Clopper-Pearson), and by
bootstrap over documents. Needs python-docx and scipy (the extra test).
"""

import contextlib
import csv
import io
import json
import os
import random
import re
import subprocess
import sys
import time
import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from html import unescape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any
from unicodedata import normalize

import numpy
import typer
from rich.console import Console
from scipy.stats import binomtest

from pii_components.cli.common import guard
from pii_components.evaluate.metrics import resample, score
from pii_components.evaluate.report import plain
from scripts import common
from scripts.common import make_pdf

CLASS = Path(__file__).resolve().parents[1] / "tests/data/class"
PROGRAM = (sys.executable, "-c", "from pii_components.cli import main; main()")
NAMES = {"author", "classmate", "instructor", "connected"}
GONE, PART, LEFT = "gone", "in_part", "left"
PARTS = ("walk", "found", "kill")
ENDS_A_WORD = "</(?!w:(t|r|rPr|delText)>)"
Doc = dict[str, Any]


def main(
    *,
    number: Annotated[int, typer.Option(help="The first so many documents; 0 for all.")] = 0,
    model: Annotated[str, typer.Option(help="Pipeline.")] = "en_pii_edu",
    kill: Annotated[int, typer.Option(help="So many runs are killed and taken up.")] = 0,
    failures: Annotated[
        Path | None,
        typer.Option(help="Where strings that failed go; not for makers of the detector."),
    ] = None,
    out: common.OutOpt = None,
) -> None:
    """A class in, a release out, and what is left in it."""
    with guard(), TemporaryDirectory() as name:
        common.early(out)
        place, documents = Path(name), read_class()[: number or None]
        build_zip(documents, place / "class.zip")
        (place / "roster.csv").write_bytes((CLASS / "roster.csv").read_bytes())
        if kill:
            found = kill_and_resume(place, kill, model)
        else:
            found = walk(documents, place, model, failures)
        old = (
            json.loads(out.read_text("utf8")) if out is not None and out.exists() else {}
        )  # what other runs found stays
        common.publish(
            "walk",
            {**common.head(), **{key: old[key] for key in PARTS if key in old}, **found},
            out,
            show,
        )


def show(report: Mapping[str, Any], to: Console) -> None:
    """Print the tables, then the rest."""
    for title, table in report.get("found", {}).items():
        common.show(
            to,
            title,
            table,
            f"n {'intact lost' if title == 'kept' else 'gone in_part left'} share share_exact_95",
        )
    to.print_json(
        json.dumps({key: report[key] for key in PARTS if key in report and key != "found"})
    )


def read_class() -> list[Doc]:  # documents, with what was planted and what must stay
    return [json.loads(line) for line in (CLASS / "documents.jsonl").read_text("utf8").splitlines()]


def build_zip(documents: Sequence[Doc], path: Path) -> None:
    """Write the files that a learning platform would export."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for doc in documents:
            data = (
                make_docx(doc)
                if doc["format"] == "docx"
                else doc["text"].encode(doc.get("encoding", "utf-8"))
            )
            archive.writestr(doc["file"], make_pdf(doc["text"]) if doc["format"] == "pdf" else data)


def make_docx(doc: Doc) -> bytes:
    """RETURNS (bytes): A .docx with header, footer, comments, table and author as the document has them."""
    import docx

    made, file = docx.Document(), io.BytesIO()
    paragraphs = [made.add_paragraph(line) for line in doc["text"].splitlines()]
    for row in doc.get("table", ()):
        table = made.tables[0] if made.tables else made.add_table(0, len(row))
        for cell, value in zip(table.add_row().cells, row, strict=True):
            cell.text = value
    for author, text in doc.get("comments", ()):
        made.add_comment(
            paragraphs[0].runs,
            text=text,
            author=author,
            initials="".join(word[0] for word in author.split()),
        )
    for part in ("header", "footer"):
        getattr(made.sections[0], part).paragraphs[0].text = doc.get(part, "")
    made.core_properties.author = made.core_properties.last_modified_by = doc.get("metadata", "")
    made.save(file)
    return file.getvalue()


def arguments_of(model: str, out: str) -> list[str]:
    """ETS's steps 1 to 4 in one command: header, names and contact, autobiographical details, search for surnames over all texts."""
    return [
        "deidentify",
        "class.zip",
        "--out",
        out,
        "--profile",
        "ets",
        "--roster",
        "roster.csv",
        "--config",
        "sweep=hide",
        "--id-map",
        f"{out}.csv",
        "--vault",
        f"{out}.vault",
        "--config",
        f"report={out}.json",
        "--config",
        f"model={model}",
    ]


def started(place: Path, *arguments: str) -> subprocess.Popen[str]:
    """RETURNS (Popen): The program, with a fixed key."""
    given = {**os.environ, "PII_EDU_KEY": "a key for this walk, of no other use"}
    pipes: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([*PROGRAM, *arguments], cwd=place, env=given, **pipes)


def run(place: Path, *arguments: str) -> str:
    """RETURNS (str): What the program told. RAISES (SystemExit): Its status is not 0, nor 1 (files were set aside), nor is it E513."""
    process = started(place, *arguments)
    told = process.communicate()[1]
    if process.returncode not in {0, 1} and "[E513]" not in told:
        raise SystemExit(f"{arguments[0]} ended with {process.returncode}: {told.strip()[-300:]}")
    return told


def walk(
    documents: Sequence[Doc], place: Path, model: str, failures: Path | None
) -> dict[str, Any]:
    """Run the steps and check the release. RETURNS (dict): Counts. failures: Where file, table, kind and string of what failed go."""
    arguments, start = arguments_of(model, "safe"), time.perf_counter()
    run(place, *arguments)
    about: Doc = {
        "arguments": arguments,
        "seconds": round(time.perf_counter() - start, 1),
        "documents": len(documents),
    }
    run(place, "vault", "verify", "safe.vault")
    names = {
        row[0]: row[1]
        for row in csv.reader((place / "safe.csv").read_text("utf-8-sig").splitlines())
        if row[1]
    }
    there = [doc for doc in documents if doc["file"] in names]
    found, failed = judge(
        there,
        [(names[doc["file"]], texts_of(place / "safe" / names[doc["file"]])) for doc in there],
    )
    (failures or Path(os.devnull)).write_text(json.dumps(failed, indent=1))
    left = {one["file"] for one in failed if one["kind"] != "kept"}
    about |= {"released": len(there), "documents_with_nothing_left": len(there) - len(left)}
    about["files_beside"] = sum(path.is_file() for path in (place / "safe").rglob("*")) - len(there)
    return {"walk": about, "found": found}


def texts_of(path: Path) -> str:
    """RETURNS (str): All that can be read in a released file; of a .docx, the text, attributes and names of all its parts."""
    if path.suffix != ".docx":
        data = path.read_bytes()
        return data.decode("utf-16" if data[:2] in {b"\xff\xfe", b"\xfe\xff"} else "utf-8-sig")
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name).decode("utf8", "replace") for name in archive.namelist()}
    bare = [re.sub("<[^>]*>", "", re.sub(ENDS_A_WORD, "\n<", part)) for part in parts.values()]
    return unescape(
        "\n".join([*parts, *bare, *re.findall('="([^"]*)"', "\n".join(parts.values()))])
    )


def tidy(text: str) -> str:
    """RETURNS (str): One form for widths, accents and white space; without what cannot be seen."""
    return " ".join(
        re.sub("[\u00ad\u200b-\u200f\u2060\ufeff]", "", normalize("NFKC", text)).split()
    )


def count(string: str, text: str) -> int:
    """How often a string stands in a `tidy` text as whole words."""
    return len(re.findall(rf"(?<!\w){re.escape(tidy(string))}(?!\w)", text))


def fate(
    kind: str, string: str, text: str, innocent: Mapping[str, int], others: Sequence[str] = ()
) -> str:
    """GONE, PART or LEFT. text (str): As released, `tidy`. others: What else was planted; a word that is one of them is judged by itself."""
    if count(string, text) > innocent.get(string, 0):
        return LEFT
    words = re.findall(r"[^\W\d_]{2,}", string) if kind in NAMES else []
    return (
        PART
        if any(count(word, text) > innocent.get(word, 0) for word in words if word not in others)
        else GONE
    )


def fates(doc: Doc, name: str, text: str) -> Iterator[tuple[str, str, str, str]]:
    """YIELDS (tuple): Table, kind, string, and what became of it."""
    text, name = tidy(text), tidy(name).casefold().replace("_", " ")
    for kind, string in doc["planted"]:
        yield (
            "planted",
            kind,
            string,
            fate(kind, string, text, doc["innocent"], [other for _, other in doc["planted"]]),
        )
    for kind, string in doc["in_name"]:
        low = string.casefold().replace(
            "_", " "
        )  # "lopezmaria" may stand glued; three letters may be a part of any word
        yield (
            "names of files",
            kind,
            string,
            LEFT if len(low) > 4 and tidy(low) in name else fate(kind, low, name, {}),
        )
    for string, times in doc["kept"].items():
        yield "kept", "kept", string, "intact" if count(string, text) >= times else "lost"


def judge(
    documents: Sequence[Doc], released: Sequence[tuple[str, str]]
) -> tuple[dict[str, Any], list[Doc]]:
    """Tables of counts, and what failed. released: Name and all of the text of each document in the release."""
    made, failed = defaultdict[tuple[str, str], list[tuple[int, str]]](list), list[Doc]()
    for i, doc in enumerate(documents):
        for table, kind, string, end in fates(doc, *released[i]):
            for key in {
                (table, kind),
                (table, "all"),
                ("formats", doc["format"] if table == "planted" else ""),
            }:
                made[key].append((i, end))
            if end not in {GONE, "intact"}:
                failed.append(
                    {
                        "file": doc["file"],
                        "table": table,
                        "kind": kind,
                        "string": string,
                        "end": end,
                    }
                )
    kinds = sorted((table, kind) for table, kind in made if kind)
    tables = {
        key: {kind: shares(made[key, kind], i + 1) for table, kind in kinds if table == key}
        for key, _ in kinds
    }
    return tables, failed


def shares(ends: Sequence[tuple[int, str]], n: int) -> dict[str, Any]:
    """Counts, and the share that is gone, or intact, with its intervals: exact (Clopper-Pearson), and by bootstrap over n documents."""
    counts = Counter(end for _, end in ends)
    table, good = numpy.zeros((n, 3), int), counts[GONE] + counts["intact"]
    for i, end in ends:
        table[i, 0 if end in {GONE, "intact"} else 2] += 1
    exact = binomtest(good, len(ends)).proportion_ci(method="exact")
    names = ("intact", "lost") if counts["intact"] + counts["lost"] else (GONE, PART, LEFT)
    return {
        "n": len(ends),
        **{name: counts[name] for name in names},
        "share": round(good / len(ends), 4),
        "share_exact_95": [round(exact.low, 4), round(exact.high, 4)],
        "share_95": plain(score(table, resample(n)))["recall_95"],
    }


def digest(place: Path, out: str) -> str:
    """RETURNS (str): Of all released names and bytes, and of the map."""
    files = sorted(path for path in (place / out).rglob("*") if path.is_file())
    parts = [
        str(path.relative_to(place / out)).encode() + b"\0" + path.read_bytes() for path in files
    ]
    return sha256(b"\0".join([*parts, (place / f"{out}.csv").read_bytes()])).hexdigest()


def kill_and_resume(place: Path, times: int, model: str) -> dict[str, Any]:
    """Kill runs at random moments of the time that a whole one takes, take them up, and compare. RETURNS (dict): Counts."""
    start, _ = time.perf_counter(), run(place, *arguments_of(model, "whole"))
    whole, seconds, rng = digest(place, "whole"), time.perf_counter() - start, random.Random(times)
    files, ends, moments = (
        sum(p.is_file() for p in (place / "whole").rglob("*")),
        Counter[str](),
        list[float](),
    )
    while ends["killed"] < times:
        out = f"run{ends['killed'] + ends['ended_before_its_kill']}"
        moment, process = rng.uniform(0, seconds), started(place, *arguments_of(model, out))
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(moment)
        process.kill()
        process.communicate()
        ends["killed" if process.returncode else "ended_before_its_kill"] += 1
        if process.returncode == 0:
            seconds = moment  # the machine has less to do than before
            continue
        moments.append(round(moment / seconds, 2))
        if "[E513]" in run(
            place, *arguments_of(model, out), "--resume"
        ):  # nothing to take up: not yet, or all was done
            ends[
                "killed_after_the_end" if (place / out).exists() else "killed_before_the_start"
            ] += 1
            if not (place / out).exists():
                run(place, *arguments_of(model, out))
        run(place, "vault", "verify", f"{out}.vault")
        ends["same_bytes"] += digest(place, out) == whole
    return {
        "kill": {
            "files": files,
            **ends,
            "seconds_of_a_whole_run": round(seconds, 1),
            "moments": sorted(moments),
        }
    }


if __name__ == "__main__":
    typer.run(main)
