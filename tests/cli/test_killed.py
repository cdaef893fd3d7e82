"""Killed at each moment at which a file gets its name: what --resume makes is what one run makes, and nothing is left over."""

import itertools
import os
import zipfile

import pytest

from tests.cli.conftest import ESSAY, put, table

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
