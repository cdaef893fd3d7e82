"""`pii-edu deidentify --headers`: what is removed, where the steward finds it, and that nothing of it is released. Everybody is invented."""

import csv
import json

import pytest

from pii_components.files.record import Record
from pii_components.release.engine import load_engine
from pii_components.release.scale import WorkerConfig, results
from tests.cli.conftest import KEY, put
from tests.files.made_docx import plain_docx

HEADER = ("Ina Sorel", "Prof. Odile Prath", "Design Studio 210")
BODY = "The map of my week\n\nI drew a map of my week, and Buzan says that a map helps everyone who draws one.\n"
TEXT = "\n".join((*HEADER, "", BODY))


def header_rows(path) -> list[tuple[str, str]]:
    with open(path, encoding="utf8", newline="") as file:
        return [(row["document"], row["header"]) for row in csv.DictReader(file)]


def test_headers_go_to_the_steward_alone(folder, pii_edu):
    put(folder / "in/a.txt", TEXT)
    put(folder / "in/b.docx", plain_docx(*TEXT.split("\n")))
    put(folder / "in/c.txt", BODY)
    run = pii_edu(
        "deidentify in --out out --config headers=remove --config headers_out=headers.csv "
        "--config ids=keep"
    )
    assert run.exit_code == 0, run.output
    assert (folder / "out/a.txt").read_text("utf8") == BODY
    assert (folder / "out/b.docx.txt").read_text("utf8") == BODY.strip()
    assert header_rows("headers.csv") == [(name, "\n".join(HEADER)) for name in ("a.txt", "b.docx")]
    assert "'headers.csv' holds the headers as they were" in run.stderr
    found = json.loads((folder / "out/report.json").read_text("utf8"))
    assert found["headers"] == "remove" and found["headers_removed"] == {"count": 2, "documents": 2}
    assert not any(word in json.dumps(found) + run.output for word in ("Sorel", "Prath", "Studio"))


def test_the_option_overrules_the_profile(folder, pii_edu):
    put(folder / "a.txt", TEXT)
    for n, (options, kept) in enumerate(
        [
            ((), True),
            (("--config", "headers=remove"), False),
            (("--profile", "ets"), False),
            (("--profile", "ets", "--config", "headers=keep"), True),
        ]
    ):
        assert pii_edu("deidentify a.txt --out", f"{n}.txt", *options).exit_code == 0
        assert ("Design Studio" in (folder / f"{n}.txt").read_text("utf8")) == kept
    assert (
        b"Design Studio"
        not in pii_edu("deidentify - --config headers=remove", stdin=TEXT).stdout_bytes
    )


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--config", "headers=shrink"], "E519"),
        (["--config", "headers_out=h.csv"], "E473"),
        (["--config", "headers=keep", "--config", "headers_out=h.csv"], "E473"),
        (["--config", "headers=remove", "--config", "headers_out=out/h.csv"], "E472"),
        (["--config", "headers=remove", "--config", "headers_out=in/h.csv"], "E472"),
        (
            ["--config", "headers=remove", "--config", "headers_out=m.csv", "--id-map", "m.csv"],
            "E472",
        ),
        (["--config", "headers=remove", "--config", "headers_out=there.csv"], "E510"),
    ],
)
def test_what_is_refused(folder, pii_edu, options, code):
    put(folder / "in/a.txt", TEXT)
    put(folder / "there.csv", "old")
    run = pii_edu("deidentify in --out out", *options)
    assert run.exit_code == 2 and f"[{code}]" in run.stderr and not (folder / "out").exists()


def test_a_cell_cannot_run_in_a_spreadsheet(folder, pii_edu):
    put(folder / "a.txt", "=Ina Sorel\n" + TEXT)
    assert (
        pii_edu(
            "deidentify a.txt --out b.txt --config headers=remove --config headers_out=h.csv"
        ).exit_code
        == 0
    )
    assert header_rows("h.csv")[0][1].startswith("'=Ina Sorel")


def test_workers_remove_the_same(model):
    engine = load_engine(model, key=KEY.encode(), headers="remove")
    batch = [Record(1, "1", TEXT)]
    [here] = engine.results(batch)
    [there] = results(WorkerConfig.of(engine, model, KEY.encode()), batch)
    assert there == here and [TEXT[a:b] for a, b in there.headers] == [TEXT[: TEXT.index(BODY)]]
