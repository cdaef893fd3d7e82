"""`--engine ray` and `spark`, and frames and datasets of one's own: the same as `local`, worker killed or not. Everybody is invented."""

import contextlib
import json
import os
import pickle
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

from pii_components.errors import Errors, PiiError
from pii_components.files.record import Record
from pii_components.profiles import Profile
from pii_components.release import scale
from pii_components.release.engine import load_engine
from pii_components.release.scale import (
    RAY,
    SPARK,
    WorkerConfig,
    deidentify_frame,
)
from tests.cli.conftest import KEY, files_in, put, table

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.filterwarnings("ignore")  # those of Ray and Spark
N = 60
TIMES = ("seconds", "words_per_second", "finished")
SWEPT = (
    "id,essay\n"
    + "".join(f'd{i},"I am Ina Sorel."\n' for i in range(20))
    + 'd20,"So Sorel said, and Übel too."\nd21,"By Jörn Übel"\n'
)


@pytest.fixture(scope="module")
def cluster():
    """Start Ray or Spark with two workers, once."""
    begun = {}
    old = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), old]))

    def start(how: str):
        if how == RAY and how not in begun:
            ray = pytest.importorskip("ray", reason="the extra [engines] is not installed")
            os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
            ray.init(
                num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR"
            )
            begun[how] = ray
        if how == SPARK and how not in begun:
            sql = pytest.importorskip("pyspark.sql", reason="the extra [engines] is not installed")
            try:
                builder = sql.SparkSession.builder.master("local[2,4]").config(
                    "spark.ui.enabled", "false"
                )
                begun[how] = builder.config("spark.log.level", "OFF").getOrCreate()
            except Exception as err:
                pytest.skip(f"Spark does not start ({type(err).__name__}); it needs Java")
        return begun.get(how)

    yield start
    for how, running in begun.items():
        running.shutdown() if how == RAY else running.stop()
    os.environ.pop("PYTHONPATH") if old is None else os.environ.update(PYTHONPATH=old)


def outcome(folder: Path) -> dict:
    """All that a run wrote, with its report but for the times."""
    out = {name: (folder / name).read_bytes() for name in files_in(folder)}
    told = json.loads(out["report.json"])
    out["report.html"] = out["report.html"].replace(told["finished"].encode(), b"")
    return out | {"report.json": {k: v for k, v in told.items() if k not in TIMES}}


@pytest.mark.parametrize("how", [RAY, SPARK])
@pytest.mark.parametrize("form", ["csv", "jsonl", "hide", "labels"])
def test_engines_write_the_same_bytes(how, form, folder, pii_edu, cluster):
    cluster(how)
    put(folder / "csv.csv", table(N))
    put(folder / "labels.csv", table(N))
    put(folder / "hide.csv", SWEPT)
    texts = [row.split(",", 1)[1] for row in table(N).splitlines()[1:]]
    objects = [{"id": i, "essay": text} for i, text in enumerate([*texts, 3])]
    put(folder / "jsonl.jsonl", "".join(json.dumps(one) + "\n" for one in objects))
    name = f"{form}.{'jsonl' if form == 'jsonl' else 'csv'}"
    more = {"hide": "--config sweep=hide --config scope=corpus"}.get(form, "")
    for engine in ("local", how):
        labels = f"--config labels_out={engine}/labels.jsonl" if form == "labels" else ""
        line = f"deidentify {name} --out {engine}/{name} --config engine={engine} {more} {labels}"
        run = pii_edu(f"{line} --config batch_size=3")
        assert run.exit_code == (1 if form == "jsonl" else 0), run.output
    mine = outcome(folder / how)
    assert mine == outcome(folder / "local")
    assert b"Sorel" not in mine[name] and (form != "hide" or "Übel".encode() not in mine[name])


def test_what_others_learn_hides_as_what_one_learns(folder, pii_edu, monkeypatch):
    @contextlib.contextmanager
    def in_turn(n):
        yield lambda step, config, todo: (scale.work(step, config, batch) for batch in todo)

    monkeypatch.setattr(scale, "ray_map", in_turn)
    put(folder / "in.csv", SWEPT)
    for engine in ("local", RAY):
        line = f"deidentify in.csv --out {engine}/in.csv --config engine={engine}"
        assert pii_edu(f"{line} --config sweep=hide --config batch_size=3").exit_code == 0
    assert outcome(folder / RAY) == outcome(folder / "local")


@pytest.mark.parametrize("how", [RAY, SPARK])
def test_a_vault_leads_back(how, folder, pii_edu, cluster):
    pytest.importorskip("cryptography")
    cluster(how)
    put(folder / "in.csv", table(N))
    line = f"deidentify in.csv --out clean.csv --vault v --config engine={how}"
    assert pii_edu(f"{line} --config batch_size=4").exit_code == 0
    assert pii_edu("reidentify clean.csv --vault v --out again.csv").exit_code == 0
    assert (folder / "again.csv").read_bytes() == (folder / "in.csv").read_bytes()


def test_a_run_is_taken_up_by_another_engine(folder, pii_edu, cluster):
    cluster(RAY)
    cluster(SPARK)
    put(folder / "in.csv", table(40) + 'x,"\0"\n' + table(20).partition("\n")[2])
    assert pii_edu("deidentify in.csv --out whole.csv").exit_code == 1
    line = "deidentify in.csv --out clean.csv --config batch_size=4 --config engine="
    assert pii_edu(f"{line}{RAY} --config strict=true").exit_code == 3
    assert pii_edu(f"{line}{SPARK} --resume").exit_code == 1
    assert (folder / "clean.csv").read_bytes() == (folder / "whole.csv").read_bytes()


def parents_of(pid: int) -> list[int]:
    """Process ids above a process."""
    found = []
    while pid > 1:
        pid = int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
        found.append(pid)
    return found


def workers_of(how: str) -> list[int]:
    """Process ids of workers that this process started."""
    mark, found = {RAY: b"ray::work", SPARK: b"pyspark.daemon"}[how], []
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            above = parents_of(int(path.name))
            if mark not in (path / "cmdline").read_bytes() or os.getpid() not in above:
                continue
            # Spark's workers have the name of the daemon that forks them.
            if how == RAY or mark in Path(f"/proc/{above[0]}/cmdline").read_bytes():
                found.append(int(path.name))
    return found


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")
@pytest.mark.parametrize("how", [RAY, SPARK])
def test_a_killed_worker_loses_and_repeats_nothing(how, folder, pii_edu, cluster):
    cluster(how)
    put(folder / "in.csv", table(3000))
    assert pii_edu("deidentify in.csv --out whole.csv --config batch_size=7").exit_code == 0
    before, killed = set(workers_of(how)) if how == RAY else set(), []

    def kill() -> None:
        while len(killed) < 2 and not (folder / "clean.csv").exists():
            partial = folder / "clean.csv.partial"
            if partial.exists() and partial.stat().st_size > 1000 * (1 + 20 * len(killed)):
                for pid in sorted(set(workers_of(how)) - before - set(killed))[:1]:
                    os.kill(pid, signal.SIGKILL)
                    killed.append(pid)
            time.sleep(0.01)

    thread = threading.Thread(target=kill, daemon=True)
    thread.start()
    line = "deidentify in.csv --out clean.csv --config batch_size=7 --overwrite"
    run = pii_edu(f"{line} --config engine={how}")
    thread.join(60)
    assert run.exit_code == 0, run.output
    assert killed and (folder / "clean.csv").read_bytes() == (folder / "whole.csv").read_bytes()


@pytest.mark.parametrize(
    ("options", "code"), [("--config sweep=hide --profile pool.toml", "E560"), ("", "E564")]
)
def test_what_an_engine_cannot_do_is_refused_before_anything_is_written(
    options, code, folder, pii_edu, monkeypatch
):
    monkeypatch.setattr(scale, "ray_map", lambda n: None)
    put(folder / "in.csv", table(2))
    put(folder / "pool.toml", 'name = "pool"\npool = "corpus"\n')
    run = pii_edu(f"deidentify in.csv --out clean.csv --config engine=ray {options}")
    assert run.exit_code == 2 and f"[{code}]" in run.output
    assert files_in(folder) == ["in.csv", "pool.toml"]


@pytest.mark.parametrize("how", [RAY, SPARK])
def test_an_engine_that_is_not_installed_is_told(how, folder, pii_edu, monkeypatch):
    for name in ("ray", "pyspark.sql"):
        monkeypatch.setitem(sys.modules, name, None)
    put(folder / "in.csv", table(2))
    run = pii_edu(f"deidentify in.csv --out clean.csv --config engine={how}")
    assert run.exit_code == 2 and "[E005]" in run.output
    assert "en_pii_edu[engines]" in run.output.replace("\n", "")
    assert files_in(folder) == ["in.csv"]


def row_of(i: int) -> dict:
    text = f"{i}: I am Ina Sorel. Sorel writes."
    n = 2**60 + i if i % 7 else None
    return {"id": f"Ilse_Okoro_{i}" if i == 3 else f"d{i}", "text": text, "n": n, "teacher": "x"}


ROWS = [*map(row_of, range(50)), {"id": "d50", "text": None, "n": 1, "teacher": "x"}]


@pytest.mark.parametrize("form", ["parquet", "csv", "json"])
def test_frames(form, folder, model, cluster):
    running = cluster(SPARK)
    plain = running.createDataFrame(ROWS, "id string, text string, n long, teacher string")
    plain.repartition(3).write.option("header", True).format(form).save(str(folder / "in"))
    reader = running.read.option("header", True).schema(plain.schema).format(form)
    frame = reader.load(str(folder / "in"))
    made = deidentify_frame(frame, id="id", keep=["n"], model=model)
    assert KEY not in made._jdf.queryExecution().toString()
    made.write.parquet(str(folder / "out"))
    got = [row.asDict() for row in running.read.parquet(str(folder / "out")).collect()]
    engine = load_engine(model, profile="crapii", key=KEY.encode())
    results = engine.results([Record(i, str(i), row["text"]) for i, row in enumerate(ROWS[:50])])
    texts = (result.text for result in results)
    expected = {row["n"]: text for row, text in zip(ROWS, texts, strict=False) if row["n"]}
    names = ["id", "n", "text", "pii_skipped"]
    assert len(got) == len(ROWS) and all(list(row) == names for row in got)
    assert {row["n"]: row["text"] for row in got if row["n"] and row["n"] > 1} == expected
    assert [row["pii_skipped"] for row in got if row["text"] is None] == ["E624"]
    text = json.dumps(got)
    assert "Okoro" not in text and "Ina" not in text and "Sorel" in text


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"text": "essay"}, "E652"),
        ({"keep": ["grade"]}, "E652"),
        ({"key": None}, "E464"),
        ({"profile": "x"}, "E425"),
    ],
)
def test_a_frame_is_refused_at_once(change, code, model, monkeypatch):
    monkeypatch.delenv("PII_EDU_KEY", raising=False)
    pytest.importorskip("pyspark")

    class Frame:
        columns = ("id", "text")

    with pytest.raises(PiiError) as err:
        deidentify_frame(Frame(), **({"model": model, "key": KEY.encode()} | change))
    assert err.value.code == code


def test_a_worker_gives_errors_as_answers_and_shows_no_key(model):
    engine = load_engine(model, profile=Profile("own", other={"Quimby": "Smith"}), key=KEY.encode())
    config = WorkerConfig.of(engine, model, KEY.encode())
    assert KEY not in repr(config) and "Quimby" not in repr(config)
    other = pickle.loads(pickle.dumps(WorkerConfig(model, "another", config.profile, config.key)))
    assert scale.work(scale.results, other, []).code == "E561"
    assert scale.work(None, config, []).code == "E561"
    error = PiiError(Errors.E652, name="{0} {x}", option="o", fields="a, b")
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.code) == (str(error), "E652")


def test_what_travels_of_a_corpus_are_digests(model):
    engine = load_engine(model, profile="crapii", key=KEY.encode())
    config = WorkerConfig.of(engine, model, KEY.encode())
    learnt, threads = scale.work(scale.learn, config, [Record(1, "1", "I am Ina Sorel.")])
    assert threads is None
    assert {digest[:1] for digest in learnt} == {scale.NAME, scale.ALONE}
    assert b"sorel" not in pickle.dumps(learnt)
