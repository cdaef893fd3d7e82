"""Killed at each moment at which a file gets its name: what --resume makes is what one run makes, and nothing is left over."""

import itertools
import os
import signal
import zipfile

import pytest

from pii_components.vault.keys import VaultKey
from pii_components.vault.vault import Vault
from tests.cli.conftest import ESSAY, KEY, files_in, put, report, table, wait_for_items


def killed(pii_edu, step, line):
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
    pii_edu(line)
    os._exit(0)


@pytest.mark.filterwarnings("ignore:This process")
@pytest.mark.parametrize("form", ["csv", "folder", "zip"])
def test_a_run_that_is_killed_while_files_get_their_names_is_taken_up(folder, pii_edu, form):
    suffix = "" if form == "folder" else f".{form}"
    names = [f"Ina_Sorel_{i}.txt" for i in range(3)]
    if form == "zip":
        with zipfile.ZipFile(folder / "in.zip", "w") as archive:
            for name in names:
                archive.writestr(name, ESSAY)
    for name in names if form == "folder" else ():
        put(folder / "in" / name, ESSAY)
    if form == "csv":
        put(folder / "in.csv", table(3))
    made = {}
    for step in range(100):  # 0 is never reached: a run to its end
        place = folder / str(step)
        line = (
            f"deidentify in{suffix} --out {step}/out{suffix} --id-map {step}/names.csv --review-dir {step}/r "
            f"--config labels_out={step}/labels.jsonl --config report={step}/told.json --config batch_size=2"
        )
        ended = not killed(pii_edu, step, line)
        if not ended:
            again = pii_edu(f"{line} --resume")
            assert again.exit_code == 0, (step, again.output)
        found = {name: (place / name).read_bytes() for name in files_in(place)}
        assert found.pop("told.html") and found.pop("told.json"), step
        made = made or found
        assert found == made, step
        if ended and step:
            break
    assert step > 6
    left = (".state.json", ".partial", ".gone", ".lock")
    assert not any(name.endswith(left) for name in made), sorted(made)


HEADER = "Ina Sorel\nProf. Odile Prath\nDesign Studio 210\n\nThe map of my week\n\n"
EVERYTHING = (
    "--id-column id --id-map m.csv --review-dir review --vault v --roster class.csv "
    "--config headers=remove --config headers_out=h.csv --config labels_out=l.jsonl "
    "--config sweep=hide --config report=r.json"
)
WRITTEN = ("out.csv", "m.csv", "h.csv", "l.jsonl", "review/review.jsonl")


def whole_of(folder):
    """What a run has written: bytes of files, and the report without its times."""
    told = report(folder / "r.json")
    for name in ("seconds", "words_per_second", "finished", "vault"):
        told.pop(name)
    return told, [(folder / name).read_bytes() for name in WRITTEN]


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_run_with_everything_that_is_killed_goes_on(folder, pii_edu, fork, how):
    essay = "I am Ina Sorel (2041{i:04}). Hope Adeyink and Sorel read Buzan."
    rows = [f'd{i},"{HEADER}{i}. {essay.format(i=i)}"\n' for i in range(24)]
    put(folder / "in.csv", "id,essay\n" + "".join(rows))
    put(folder / "class.csv", "Name\nHope Adeyink\n")
    put(folder / "other.csv", "Name\nIda Quill\n")
    line = f"deidentify in.csv --out out.csv {EVERYTHING}"
    assert pii_edu(line).exit_code == 0
    whole = whole_of(folder)
    assert whole[0]["headers_removed"]["count"] == 24 and whole[0]["sweep"]
    for name in (*WRITTEN, "v", "r.json", "r.html"):
        (folder / name).unlink()
    child = fork(f"{line} --config batch_size=2")
    wait_for_items(folder / "out.csv.state.json", 8)
    os.kill(child, how)
    os.waitpid(child, 0)
    assert not any((folder / name).exists() for name in WRITTEN)
    state = (folder / "out.csv.state.json").read_text("utf8")
    assert not any(name in state for name in ("Sorel", "Prath", "Adeyink"))
    with Vault.open(folder / "v", VaultKey(KEY.encode()), unfinished=True) as vault:
        assert vault.documents >= 8
    # It is taken up with the same settings only.
    less = line.replace("--review-dir review ", "")
    others = ("--roster other.csv", "--config headers_out=x.csv", "--profile ets")
    for changed in (less, *(f"{line} {other}" for other in others)):
        assert "[E514]" in pii_edu(f"{changed} --resume").stderr, changed
    run = pii_edu(f"{line} --resume")
    assert run.exit_code == 0, run.output
    assert whole_of(folder) == whole
    assert pii_edu("reidentify out.csv --vault v --out back.csv").exit_code == 0
    assert (folder / "back.csv").read_bytes().count(b"Hope Adeyink and Sorel") == 24
    assert not [
        name for name in files_in(folder) if name.endswith((".partial", ".lock", ".state.json"))
    ]
