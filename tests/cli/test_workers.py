"""Processes of this machine: the same bytes as one process, whatever ends. Everybody is invented."""

import os
import signal
import time
from pathlib import Path

import pytest

from pii_components.errors import Errors, PiiError
from pii_components.files.record import Record
from pii_components.release import LOCAL, scale
from pii_components.release.engine import Engine
from pii_components.release.scale import SpreadEngine, local_map, spread
from tests.cli.conftest import KEY, files_in, put, table, wait_for_items
from tests.cli.test_engines import SWEPT, outcome
from tests.cli.test_killed import EVERYTHING, HEADER

BATCHES = [[Record(n, str(n), f"text {n}")] for n in range(12)]


# Steps of a worker, which are found by their names.


def about(config, batch):
    time.sleep(0.02 if batch[0].number % 3 else 0.06)
    threads = os.environ["OMP_NUM_THREADS"]
    return batch[0].number, os.getpid(), threads


def broken(config, batch):
    if batch[0].number == 5:
        raise PiiError(Errors.E516, model=config) if config else ValueError("text")
    return batch[0].number


def fatal(config, batch):
    os._exit(9) if batch[0].number == 5 else None


def engine_with(mapped, config="", workers=0):
    """RETURNS (SpreadEngine): One whose own pipeline is not needed."""
    return SpreadEngine(nlp=None, name="", mapped=mapped, config=config, workers=workers)  # type: ignore[arg-type]


def answers(step, config=""):
    """RETURNS (list): What two processes give for each batch, and the code of the error that ends it."""
    found = []
    with local_map(2) as mapped:
        try:
            for _, answer in engine_with(mapped, config)._map(step, BATCHES):
                found.append(answer)
        except PiiError as err:
            found.append(err.code)
    return found


def is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def test_answers_come_in_order_from_processes_with_one_thread_that_end():
    found = answers(about)
    assert [number for number, *_ in found] == [batch[0].number for batch in BATCHES]
    pids = {pid for _, pid, _ in found}
    assert len(pids) == 2 and os.getpid() not in pids and {one for *_, one in found} == {"1"}
    assert not any(map(is_alive, pids))


def test_batches_are_read_a_few_ahead():
    read = []

    def reading():
        for n in range(100):
            read.append(n)
            yield [Record(n, str(n), "text")]

    with local_map(2) as mapped:
        for n, _ in enumerate(mapped(about, "", reading())):
            assert len(read) <= n + 1 + 2 * scale._AHEAD + 2
            if n == 3:
                break


@pytest.mark.parametrize(
    ("step", "config", "code"), [(broken, "x", "E516"), (broken, "", "E561"), (fatal, "", "E561")]
)
def test_an_error_of_a_worker_comes_when_what_was_before_it_is_done(step, config, code):
    found = answers(step, config)
    assert found[-1] == code and (step is fatal or found[:-1] == [0, 1, 2, 3, 4])


def test_an_error_of_reading_comes_when_what_was_read_is_done():
    def reading():
        yield from BATCHES[:3]
        raise OSError("of the input")

    found = []
    with pytest.raises(OSError, match="of the input"):
        for batch, _ in engine_with(lambda step, config, todo: todo).stream(reading()):
            found.append(batch)
    assert found == BATCHES[:3]


def test_one_for_each_processor_that_memory_allows(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "6")
    monkeypatch.setattr(scale, "WORKER_BYTES", 1)
    assert scale.workers_at_hand() == 6
    monkeypatch.setattr(scale, "WORKER_BYTES", 2**60)
    assert scale.workers_at_hand() == 1


# Runs.


@pytest.fixture
def used(monkeypatch):
    """Whatever the length of an input, processes do it. RETURNS (list): How many were started."""
    started, start = list[int](), scale._start_worker
    monkeypatch.setattr(scale, "LEAST", 0)
    monkeypatch.setattr(scale, "_start_worker", lambda stack: started.append(1) or start(stack))
    return started


def both(pii_edu, folder, line, out):
    """What one process writes, and two."""
    found = []
    for n in (1, 2):
        run = pii_edu(
            f"{line} --out {n}/{out} --config workers={n} --config batch_size=2".replace(
                "@", f"{n}/"
            )
        )
        assert run.exit_code == 0, run.output
        made = outcome(folder / str(n))
        made.pop("v", None)  # encrypted with chance
        made["report.json"].pop("vault", None)
        found.append(made)
    return found


def test_short_inputs_start_none(folder, pii_edu, monkeypatch):
    monkeypatch.setattr(scale, "_start_worker", None)
    put(folder / "in.csv", table(9))
    line = "deidentify in.csv --config workers=2 --config sweep=hide --config batch_size=2"
    assert pii_edu(line).exit_code == 0


def test_not_more_are_started_than_there_are_batches(folder, pii_edu, used):
    put(folder / "in.csv", table(5))
    line = "deidentify in.csv --out out.csv --config workers=50 --config batch_size=2"
    assert pii_edu(line).exit_code == 0 and len(used) == 3


def test_who_stops_the_first_pass_is_told_to_start_again(folder, pii_edu, monkeypatch):
    def stop(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(Engine, "learn_all", stop)
    put(folder / "in.csv", table(5))
    run = pii_edu("deidentify in.csv --out out.csv --config sweep=hide --config workers=1")
    assert run.exit_code == 130 and "start again" in run.stderr
    assert files_in(folder) == ["in.csv"]


def test_two_processes_do_all_that_one_does(folder, pii_edu, used):
    essay = "I am Ina Sorel (2041{i:04}). Hope Adeyink and Sorel read Buzan, more of it than they liked."
    rows = [f'd{i},"{HEADER}{i}. {essay.format(i=i)}"\n' for i in range(14)]
    put(folder / "in.csv", "id,essay\n" + "".join(rows))
    put(folder / "class.csv", "Name\nHope Adeyink\n")
    more = EVERYTHING.replace("review ", "@r ").replace("=h.csv", "=@h.csv").replace("=l.", "=@l.")
    more = more.replace("map m.csv", "map @m.csv").replace("vault v", "vault @v")
    more = more.replace("--config report=r.json", "")
    one, two = both(pii_edu, folder, f"deidentify in.csv {more}", "out.csv")
    assert used == [1, 1] and one.keys() == two.keys()
    for found in (one, two):  # its first line has paths
        found["r/review.jsonl"] = found["r/review.jsonl"].partition(b"\n")[2]
        found.pop("report.html")
    assert one == two
    assert b"Adeyink" not in two["out.csv"] and b"Sorel" not in two["out.csv"]
    assert pii_edu("reidentify 2/out.csv --vault 2/v --out back.csv").exit_code == 0
    assert (folder / "back.csv").read_bytes().count(b"Hope Adeyink and Sorel") == 14


@pytest.mark.slow
@pytest.mark.parametrize("what", ["hide", "thread", "corpus", "lent", "ets", "folder"])
def test_two_processes_write_what_one_writes(folder, pii_edu, used, what):
    rows = [
        f"p{i},t{i % 3},I am {'Ina Sorel' if i % 4 else 'Jörn Übel'}. Sorel asked Ina.\n"
        for i in range(14)
    ]
    put(folder / "thread.csv", "id,topic,text\n" + "".join(rows))
    put(folder / "hide.csv", SWEPT)
    put(folder / "pool.toml", 'name = "pool"\npool = "corpus"\n')
    for i in range(7):
        put(folder / "texts" / f"{i}.txt", f"I am Ina Sorel, {20000000 + i}.")
    options = {
        "hide": "hide.csv --config sweep=hide",
        "thread": "thread.csv --config scope=thread --config thread=topic",
        "corpus": "thread.csv --config scope=corpus --keep topic",
        "lent": "hide.csv --profile pool.toml --config sweep=hide",
        "ets": "thread.csv --profile ets --config ids=pseudonym --id-column id",
        "folder": "texts",
    }[what]
    out = {"folder": "out"}.get(what, "out.csv")
    one, two = both(pii_edu, folder, f"deidentify {options} --config report=@report.json", out)
    assert used == ([] if what == "lent" else [1, 1])
    assert one == two


def children(pid):
    """Processes that a process has started."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            if int(path.read_text().rsplit(")", 1)[1].split()[1]) == pid:
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


def gone(pids):
    end = time.monotonic() + 60
    while any(map(is_alive, pids)):
        assert time.monotonic() < end
        time.sleep(0.05)
    return True


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")
@pytest.mark.parametrize("how", ["kill -9", "Ctrl-C", "a worker"])
def test_a_run_whose_processes_end_is_taken_up(folder, pii_edu, fork, used, how):
    put(folder / "in.csv", table(4000))
    assert pii_edu("deidentify in.csv --out whole.csv --config workers=1").exit_code == 0
    line = "deidentify in.csv --out out.csv --config batch_size=2 --config workers=2"
    child = fork(line)
    wait_for_items(folder / "out.csv.state.json", 8)
    started = children(child)
    workers = [pid for pid in started if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    assert len(workers) == 2
    if how == "Ctrl-C":  # a terminal sends it to all
        for pid in (child, *workers):
            os.kill(pid, signal.SIGINT)
    else:
        os.kill(workers[0] if how == "a worker" else child, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status == {"kill -9": -9, "Ctrl-C": 130, "a worker": 3}[how]
    assert gone(started) and not (folder / "out.csv").exists()
    if how != "kill -9":
        told = (folder / "log").read_text()
        assert "Traceback" not in told and ("[E561]" in told) == (how == "a worker"), told
    assert pii_edu(f"{line} --resume --config workers=2").exit_code == 0
    assert (folder / "out.csv").read_bytes() == (folder / "whole.csv").read_bytes()
    assert not [name for name in files_in(folder) if name.endswith((".partial", ".lock"))]


@pytest.mark.slow
def test_a_worker_refuses_another_version(model, used):
    engine = scale.load_engine(model, profile="crapii", key=KEY.encode())
    engine.name = "another"
    with (
        spread(engine, LOCAL, model=model, key=KEY.encode(), workers=1) as spreading,
        pytest.raises(PiiError, match="E561"),
    ):
        list(spreading.stream(iter(BATCHES)))
    assert isinstance(engine, Engine) and used == [1]
