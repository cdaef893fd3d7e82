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


CHANGES = {
    "cut": ("out.csv.partial", lambda data: data[:40]),
    "grown with zeros": ("out.csv.partial", lambda data: data[:40] + bytes(len(data))),
    "changed": ("out.csv.partial", lambda data: data.replace(b"Number 1", b"Number 7")),
    "map changed": ("m.csv.partial", lambda data: data.replace(b"d1", b"d7")),
    "headers cut": ("h.csv.partial", lambda data: data[:10]),
    "sweep changed": ("out.csv.sweep.jsonl", lambda data: data.replace(b'"n": 1', b'"n": 7')),
    "labels changed": ("l.jsonl.rows.jsonl", lambda data: data.replace(b"Number 1", b"Number 7")),
    "review changed": ("r/review.jsonl.partial", lambda data: data.replace(b'"n": 1', b'"n": 7')),
    "input changed": ("in.csv", lambda data: data.replace(b"Number 1", b"Number 7")),
}


def broken_off(folder, pii_edu, fork, line, name="out.csv"):
    """Start a run and kill it; what it has left."""
    child = fork(f"{line} --config batch_size=2")
    wait_for_items(folder / f"{name}.state.json", 8)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def test_what_was_changed_since_the_run_broke_off_is_not_taken_up(folder, pii_edu, fork):
    put(folder / "in.csv", table(60))
    line = (
        "deidentify in.csv --out out.csv --id-column id --id-map m.csv --review-dir r "
        "--config headers=remove --config headers_out=h.csv --config labels_out=l.jsonl"
    )
    broken_off(folder, pii_edu, fork, line)
    for what, (name, change) in CHANGES.items():
        path = folder / name
        before, times = path.read_bytes(), path.stat()
        path.write_bytes(change(before))
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        assert path.read_bytes() != before, what
        run = pii_edu(f"{line} --resume")
        code = "[E514]" if name == "in.csv" else "[E513]"
        assert run.exit_code in (2, 3) and code in run.stderr, (what, run.output)
        assert not (folder / "out.csv").exists() and path.read_bytes() == change(before), what
        path.write_bytes(before)
    put(folder / "other.key", "another key, of no other use as well")
    assert "[E514]" in pii_edu(f"{line} --resume --key-file other.key").stderr
    assert pii_edu(f"{line} --resume").exit_code == 0
    made = (folder / "out.csv").read_bytes()
    assert pii_edu(f"{line} --overwrite").exit_code == 0
    assert (folder / "out.csv").read_bytes() == made


@pytest.mark.parametrize("suffix", ["", ".zip"])
def test_a_folder_that_was_changed_is_not_taken_up(folder, pii_edu, fork, suffix):
    for i in range(40):
        put(folder / f"in/{i:02}.txt", f"{ESSAY} {i}")
    line = f"deidentify in --out out{suffix}"
    broken_off(folder, pii_edu, fork, line, f"out{suffix}")
    part = folder / f"out{suffix}.partial"
    for change in (b"", b"\0" * 9, b"x"):
        before = (part / "01.txt").read_bytes()
        (part / "01.txt").write_bytes(change)
        assert "[E513]" in pii_edu(f"{line} --resume").stderr
        (part / "01.txt").write_bytes(before)
    put(part / "planted.txt", ESSAY)
    assert pii_edu(f"{line} --resume").exit_code == 0
    if suffix:
        names = zipfile.ZipFile(folder / "out.zip").namelist()
    else:
        names = [path.name for path in (folder / "out").glob("*.txt")]
    assert sorted(names) == [f"{i:02}.txt" for i in range(40)]
    assert not list(folder.glob("*.list"))


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
    essay = "I am Ina Sorel (2041{i:04}). Hope Adeyink and Sorel read Buzan, more of it than they liked."
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
