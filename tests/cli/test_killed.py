"""Killed at each moment at which a file gets its name: what --resume makes is what one run makes, and nothing is left over."""

import itertools
import json
import os
import signal
import zipfile

import pytest

from pii_components.vault.keys import VaultKey
from pii_components.vault.vault import Vault
from tests.cli.conftest import ESSAY, KEY, put, table, wait_for_items

BESIDE = {
    "--id-map": "names.csv",
    "--labels-out": "labels.jsonl",
    "--review-dir": "r.review.jsonl",
    "--report": "told.json",
}


def killed(pii_edu, step, *args):
    """Whether a copy of this process was killed, as by kill -9, right after it had renamed a file for the step-th time."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    real, count = os.replace, itertools.count(1)

    def replace(*places):
        real(*places)
        if next(count) == step:
            os._exit(9)

    os.replace = replace
    pii_edu(*args)
    os._exit(0)


@pytest.mark.filterwarnings("ignore:This process")
@pytest.mark.parametrize("form", ["csv", "txt", "folder", "zip"])
def test_a_run_that_is_killed_while_files_get_their_names_is_taken_up(folder, pii_edu, form):
    texts = {f"Ina_Sorel_{i}.txt": f"{ESSAY} {i}" for i in range(3)}
    name = "in" if form == "folder" else f"in.{form}"
    if form == "csv":
        put(folder / name, table(3))
    elif form == "txt":
        put(folder / name, ESSAY)
    elif form == "zip":
        with zipfile.ZipFile(folder / name, "w") as archive:
            for key, text in texts.items():
                archive.writestr(key, text)
    else:
        for key, text in texts.items():
            put(folder / name / key, text)
    made = {}
    for step in range(100):  # 0 is never reached: a run to its end
        place = folder / str(step)
        args = [
            "deidentify",
            name,
            "--out",
            place / name.replace("in", "out"),
            "--config",
            "batch_size=2",
        ]
        args += [part for option, file in BESIDE.items() for part in (option, place / file)]
        ended = not killed(pii_edu, step, *args)
        again = None if ended else pii_edu(*args, "--resume")
        assert again is None or again.exit_code == 0, (step, again.output)
        found = {
            str(path.relative_to(place)): path.read_bytes()
            for path in place.rglob("*")
            if path.is_file()
        }
        assert {"told.html", "told.json"} <= set(found), (
            step,
            sorted(found),
            again and again.output,
        )
        del found["told.html"], found["told.json"]
        made = made or found
        assert found == made, step
        if ended and step:
            break
    assert step > 6
    assert not any(name.endswith((".state.json", ".partial", ".gone", ".lock")) for name in made), (
        sorted(made)
    )


HEADER = "Ina Sorel\nProf. Odile Prath\nDesign Studio 210\n\nThe map of my week\n\n"
EVERYTHING = (
    "--id-column id --id-map m.csv --review-dir review --vault v --roster class.csv "
    "--config headers=remove --config headers_out=h.csv --config labels_out=l.jsonl "
    "--config sweep=hide --config report=r.json"
)


def whole_of(folder):
    """What a run has written: bytes of files, and the report without its times."""
    names = ("out.csv", "m.csv", "h.csv", "l.jsonl", "review/review.jsonl")
    report = json.loads((folder / "r.json").read_text("utf8"))
    for name in ("seconds", "words_per_second", "finished", "vault"):
        report.pop(name)
    return report, [(folder / name).read_bytes() for name in names]


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_run_with_everything_that_is_killed_goes_on(folder, pii_edu, fork, how):
    rows = [
        f'd{i},"{HEADER}{i}. I am Ina Sorel ({20000000 + i}). Hope Adeyink and Sorel read Buzan."'
        for i in range(40)
    ]
    put(folder / "in.csv", "id,essay\n" + "\n".join(rows) + "\n")
    put(folder / "class.csv", "Name\nHope Adeyink\n")
    put(folder / "other.csv", "Name\nIda Quill\n")
    line = f"deidentify in.csv --out out.csv {EVERYTHING}"
    assert pii_edu(line).exit_code == 0
    whole = whole_of(folder)
    assert whole[0]["headers_removed"]["count"] == 40 and whole[0]["sweep"]
    for path in [*folder.iterdir(), folder / "review/review.jsonl"]:
        if path.is_file() and path.name not in ("in.csv", "class.csv", "other.csv"):
            path.unlink()
    child = fork(f"{line} --config batch_size=2")
    wait_for_items(folder / "out.csv.state.json", 8)
    os.kill(child, how)
    os.waitpid(child, 0)
    assert not any((folder / name).exists() for name in ("out.csv", "m.csv", "h.csv", "l.jsonl"))
    state = (folder / "out.csv.state.json").read_text("utf8")
    assert not any(name in state for name in ("Sorel", "Prath", "Adeyink"))
    key = VaultKey(KEY.encode())
    with Vault.open(folder / "v", key, unfinished=True) as vault:
        assert vault.documents >= 8
    # It is taken up with the same settings only.
    for other in ("--roster other.csv", "--config headers_out=x.csv", "--profile ets"):
        assert "[E514]" in pii_edu(f"{line} --resume {other}").stderr, other
    less = line.replace("--review-dir review ", "")
    assert "[E514]" in pii_edu(f"{less} --resume").stderr
    run = pii_edu(f"{line} --resume")
    assert run.exit_code == 0, run.output
    assert whole_of(folder) == whole
    assert pii_edu("reidentify out.csv --vault v --out back.csv").exit_code == 0
    assert (folder / "back.csv").read_bytes().count(b"Hope Adeyink and Sorel") == 40
    left = [path.name for path in folder.rglob("*") if path.suffix in (".partial", ".lock")]
    assert not left and not (folder / "out.csv.state.json").exists()
