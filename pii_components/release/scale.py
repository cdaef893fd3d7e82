"""The pipeline in many processes, of this machine, of Ray or of Spark: the same bytes as in one (docs/how-to/large-corpora.md).

    with spread(engine, RAY, model="en_pii_edu", key=key) as spreading: ...     # --config engine=ray
    safe = deidentify_frame(spark.read.parquet("essays"), "text", id="essay", key_file="secret.key")

Workers only compute; each engine's own map hands them batches, and that of Ray and Spark repeats what a dead one had.
What is learnt from a whole corpus travels as digests under the key. Names of a class list or a thread stay on this machine.
"""

import json
import os
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache, partial
from importlib import import_module
from itertools import chain, islice, tee
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from .. import __version__
from ..errors import Errors, PiiError, imported
from ..files.record import Record, Skip, Source, check_fields, is_no_text
from ..profiles import Profile
from ..surrogates.keys import KEY_ENV, load_key
from . import CPU, LOCAL, RAY, SPARK
from .columns import THREAD, Ids
from .engine import Engine, Result, load_code, load_engine, read_roster, use_roster
from .run import batches, token_under
from .sweep import Surnames

if TYPE_CHECKING:
    from .threads import Threads

# A column beside the new text: the code of the error where a text was set aside; else empty.
SKIPPED = "pii_skipped"
Batch = list[Record | Skip]
# Kinds of digests: names that no surrogate may be; surnames to hide alone, or beside a given name.
KINDS = NAME, ALONE, PAIR = (b"n", b"a", b"p")
# How often a batch is tried, for it may kill its worker; batches on their way for each core.
_TRIES, _AHEAD = 4, 4
# What Spark puts on a disk is encrypted; no page shows the job, unless spark-submit says so.
_SPARK = {
    "spark.app.name": "pii-edu",
    "spark.io.encryption.enabled": "true",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
}
# Characters of an input for which no process of this machine is started: one does it sooner.
LEAST = 250_000
# What a process of this machine takes, in bytes (docs/how-to/large-corpora.md).
WORKER_BYTES = 600_000_000


@dataclass(frozen=True)
class WorkerConfig:
    """What a worker makes its pipeline from; its text shows neither key nor profile.

    versions (str): Of pipeline and package; a worker that has others refuses.
    learnt (frozenset[bytes]): Digests of what the first of two passes has found.
    roster (str): Path of a class list, which each process reads; on this machine only, as are
        operating_point, device, code, decisions, decisions_key and threads: those of `load_engine` and `Engine`.
    """

    model: str
    versions: str
    profile: str = field(repr=False)
    key: bytes = field(repr=False)
    learnt: frozenset[bytes] = field(default=frozenset(), repr=False)
    operating_point: str = ""
    roster: str = ""
    device: str = CPU
    code: str = ""
    decisions: Any = field(default=None, repr=False, hash=False)
    decisions_key: bytes = field(default=b"", repr=False)
    threads: "Threads | None" = field(default=None, repr=False)

    @classmethod
    def of(cls, engine: Engine, model: str, key: bytes, **here: Any) -> "WorkerConfig":
        """For workers that do as this engine does. here: Settings of those of this machine."""
        profile = json.dumps(engine.profile.to_dict(), sort_keys=True)
        return cls(model, f"{engine.name}, pii_components {__version__}", profile, key, **here)


@lru_cache(maxsize=1)
def engine_of(config: WorkerConfig) -> Engine:
    """RETURNS (Engine): The pipeline of a worker, which knows what was learnt."""
    engine = _loaded(replace(config, learnt=frozenset(), threads=None))
    _teach(engine, config)
    return engine


@lru_cache(maxsize=1)
def _loaded(config: WorkerConfig) -> Engine:
    """RETURNS (Engine): The pipeline of a worker, loaded once in its process."""
    load_code(config.code)  # the profile may have labels of its own
    profile = Profile.from_dict(json.loads(config.profile))
    engine = load_engine(
        config.model,
        profile=profile,
        scope=profile.scope,
        key=config.key,
        operating_point=config.operating_point,
        device=config.device,
    )
    engine.decisions, engine.decisions_key = config.decisions or {}, config.decisions_key
    versions = WorkerConfig.of(engine, config.model, config.key).versions
    if versions != config.versions:
        reason = f"it has {versions}, and the run began with {config.versions}"
        raise PiiError(Errors.E561, reason=reason)
    return engine


_class_list = lru_cache(maxsize=1)(read_roster)


def _teach(engine: Engine, config: WorkerConfig) -> None:
    """Let an engine know what was learnt, and forget all else that it knew of a corpus."""
    names, alone, pairs = ({d[1:] for d in config.learnt if d[:1] == kind} for kind in KINDS)
    engine.hips.forget()
    use_roster(engine.nlp, _class_list(config.roster))
    engine.hips.corpus_names.learn_from(names)
    words = (set(map(bytes.decode, found)) for found in (alone, pairs))
    engine.surnames = Surnames(token_under(config.key), *words) if alone or pairs else None
    engine.threads = config.threads


def learn(config: WorkerConfig, batch: Batch) -> "tuple[frozenset[bytes], Threads | None]":
    """What a batch teaches, as digests, and who is in its threads; the worker forgets it."""
    engine = engine_of(config)
    engine.surnames = found = Surnames(token_under(config.key))
    try:
        engine.learn_all([batch])
        digests, threads = engine.hips.corpus_names.digests(), engine.threads
    finally:
        _teach(engine, config)
    learnt = {NAME + digest for digest in digests}
    learnt.update(ALONE + word.encode() for word in found.alone)
    return frozenset(learnt.union(PAIR + word.encode() for word in found.pairs)), threads


def results(config: WorkerConfig, batch: Batch) -> list[Result | Skip]:
    return engine_of(config).results(batch)


def work(step: Any, config: WorkerConfig, batch: Batch) -> Any:
    """Do one step in a worker. An error is an answer: Ray and Spark log and repeat what is raised."""
    try:
        return step(config, batch)
    except PiiError as err:
        return err
    except Exception as err:
        return PiiError(Errors.E561, reason=type(err).__name__)


def workers_at_hand() -> int:
    """RETURNS (int): One for each processor that this process may use, as long as half of the memory holds them."""
    from ..ner.onnx import threads_at_hand

    memory = float("inf")
    with suppress(AttributeError, ValueError, OSError):  # Windows does not tell
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return int(max(1, min(threads_at_hand(), memory / 2 // WORKER_BYTES)))


def serve(pipe: Connection) -> None:
    """A process of this machine: its config, steps and batches come through a pipe, until that is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that started it ends it
    config: Any = None
    with suppress(EOFError, OSError):
        while True:
            step, content = pipe.recv()
            if step is None:
                config = content
            else:
                pipe.send(work(step, config, content))


def _start_worker(stack: ExitStack) -> Connection:
    """RETURNS (Connection): The pipe to a process that is started now, and ended with the stack."""
    context = get_context("spawn")
    threads, interrupt = os.environ.get("OMP_NUM_THREADS"), signal.getsignal(signal.SIGINT)
    # Both are inherited: one thread, and Ctrl-C while it starts is for this process alone.
    os.environ["OMP_NUM_THREADS"] = "1"
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        mine, theirs = context.Pipe()
        process = context.Process(target=serve, args=(theirs,), daemon=True)
        process.start()
        theirs.close()  # so that its end shows
        stack.callback(process.join)
        stack.callback(process.terminate)
    finally:
        signal.signal(signal.SIGINT, interrupt)
        os.environ.pop("OMP_NUM_THREADS")
        os.environ.update({"OMP_NUM_THREADS": threads} if threads is not None else {})
    return mine


@contextmanager
def local_map(n: int) -> Iterator[Callable[..., Iterator[Any]]]:
    """Processes of this machine, n at most, each started when a batch waits for it. YIELDS (Callable): Its map."""
    pipes = list[Connection]()

    def mapped(step: Any, config: WorkerConfig, todo: Iterable[Batch]) -> Iterator[Any]:
        left, free = enumerate(todo), [*pipes]
        busy, done, wanted = dict[Connection, int](), dict[int, Any](), 0
        try:
            for pipe in pipes:
                pipe.send((None, config))
            while True:
                while wanted in done:
                    yield done.pop(wanted)
                    wanted += 1
                while len(busy) < n and len(done) < _AHEAD * n and (task := next(left, None)):
                    if not free:
                        free.append(_start_worker(stack))
                        pipes.append(free[0])
                        free[0].send((None, config))
                    pipe = free.pop()
                    busy[pipe] = task[0]
                    pipe.send((step, task[1]))
                if not busy:
                    return
                for pipe in cast(list[Connection], wait([*busy])):
                    done[busy.pop(pipe)] = pipe.recv()
                    free.append(pipe)
        except (EOFError, ConnectionError):
            raise PiiError(Errors.E561, reason="a process was ended") from None

    with ExitStack() as stack:
        yield mapped


@contextmanager
def ray_map(n: int) -> Iterator[Callable[..., Iterator[Any]]]:
    """Tasks of Ray, in the cluster that RAY_ADDRESS names, or else here. YIELDS (Callable): Its map."""
    ray = _imported("ray")
    started = not ray.is_initialized()
    if started:
        is_here = not os.environ.get("RAY_ADDRESS")
        here = {"include_dashboard": False, "num_cpus": n or None} if is_here else {}
        ray.init(log_to_driver=False, logging_level="ERROR", **here)
    ahead = n or _AHEAD * int(ray.cluster_resources().get("CPU", 1))
    remote = ray.remote(num_cpus=1, max_retries=_TRIES - 1)(work)

    def mapped(step: Any, config: WorkerConfig, todo: Iterable[Batch]) -> Iterator[Any]:
        shared, sent = ray.put(config), list[Any]()
        for batch in todo:
            sent.append(remote.remote(step, shared, batch))
            if len(sent) > ahead:
                yield ray.get(sent.pop(0))
        yield from map(ray.get, sent)

    try:
        yield mapped
    finally:
        if started:
            ray.shutdown()


@contextmanager
def spark_map(n: int) -> Iterator[Callable[..., Iterator[Any]]]:
    """Workers of Spark: of the active session, or with the settings of spark-submit."""
    session = _imported("pyspark.sql").SparkSession
    active, conf = session.getActiveSession(), import_module("pyspark").SparkConf()
    if n and (active or conf.contains("spark.master")):
        what = "--workers where Spark has a master already"
        raise PiiError(Errors.E560, engine=SPARK, what=what)
    for name, value in (_SPARK | {"spark.master": f"local[{n or '*'},{_TRIES}]"}).items():
        conf.setIfMissing(name, value)
    context = (active or session.builder.config(conf=conf).getOrCreate()).sparkContext

    def mapped(step: Any, config: WorkerConfig, todo: Iterable[Batch]) -> Iterator[Any]:
        left = iter(todo)
        while piece := list(islice(left, _AHEAD * context.defaultParallelism)):
            yield from (
                context.parallelize(piece, len(piece)).map(partial(work, step, config)).collect()
            )

    try:
        yield mapped
    finally:
        if active is None:
            context.stop()


def _until(batches: Iterable[Batch], failed: list[Exception]) -> Iterator[Batch]:
    """YIELDS (list): Batches up to one that cannot be read, which fails when what was read before it is done."""
    try:
        yield from batches
    except Exception as err:
        failed.append(err)


@dataclass(slots=True)
class SpreadEngine(Engine):
    """An engine whose work others do.

    mapped (Callable): Of `ray_map`, `spark_map` or `local_map`.
    workers (int): Processes of this machine: what is too short for them is done here. 0 for Ray and Spark.
    alone (bool): Whether all is done here, since what was learnt is known here only.
    """

    mapped: Any = None
    config: Any = None
    workers: int = 0
    alone: bool = False

    def learn_all(self, batches: Iterable[Batch], *, sweep: bool = True) -> None:
        failed, learnt, threads = list[Exception](), set[bytes](), None
        self.alone, todo = self._is_short(_until(batches, failed))
        if self.alone:
            Engine.learn_all(self, todo, sweep=sweep)
        for _, (digests, found) in () if self.alone else self._map(learn, todo):
            learnt.update(digests if sweep else (d for d in digests if d[:1] == NAME))
            threads = found.merged(threads) if found else threads
        for err in failed:
            raise err
        if not self.alone:
            self.config = replace(self.config, learnt=frozenset(learnt), threads=threads)
        if self.workers and not self.alone:
            _teach(self, self.config)  # what is left of a run that is taken up may be short

    def stream(self, batches: Iterable[Batch]) -> Iterator[tuple[Batch, list[Result | Skip]]]:
        failed = list[Exception]()
        short, todo = self._is_short(_until(batches, failed))
        yield from Engine.stream(self, todo) if short else self._map(results, todo)
        for err in failed:
            raise err

    def _is_short(self, todo: Iterator[Batch]) -> tuple[bool, Iterator[Batch]]:
        """RETURNS (tuple): Whether this process does the work sooner than others would have started; what there is to do."""
        first, chars = list[Batch](), 0
        for batch in todo if self.workers and not self.alone else ():
            first.append(batch)
            chars += sum(len(item.text) for item in batch if isinstance(item, Record))
            if chars >= LEAST and len(first) > 1:
                return False, chain(first, todo)
        return bool(self.workers), chain(first, todo)

    def _map(self, step: Any, todo: Iterable[Any]) -> Iterator[tuple[Batch, Any]]:
        """YIELDS (tuple): Each batch with its answer. RAISES (PiiError): E561; a worker's own."""
        given, kept = tee(todo)
        try:
            for answer, batch in zip(self.mapped(step, self.config, given), kept):  # noqa: B905
                if isinstance(answer, PiiError):
                    raise answer
                yield batch, answer
        except PiiError:
            raise
        except Exception as err:  # of Ray, Spark or the system; it may quote anything
            raise PiiError(Errors.E561, reason=type(err).__name__) from None


@contextmanager
def spread(
    engine: Engine,
    how: str,
    *,
    model: str,
    key: bytes,
    workers: int = 0,
    learns: bool = False,
    **here: Any,
) -> Iterator[SpreadEngine]:
    """Give an engine workers.

    how (str): "local", "ray" or "spark".
    model (str): The name or path that `engine` came from, the same on all machines.
    workers (int): How many at a time; for Ray and Spark 0 for as many as there are cores.
    learns (bool): Whether `learn_all` will be called.
    here (Any): Of `WorkerConfig`, on this machine only.
    YIELDS (SpreadEngine): With all settings of `engine`.
    RAISES (PiiError): E005, if Ray or Spark is missing; E560, for what workers cannot do; E564.
    """
    if how == LOCAL:
        here |= {"decisions": engine.decisions, "decisions_key": engine.decisions_key}
    else:
        _check_can(engine.profile, how, learns=learns)
    maps = {LOCAL: local_map, RAY: ray_map, SPARK: spark_map}
    settings = {f.name: getattr(engine, f.name) for f in fields(Engine)}
    with ExitStack() as stack:
        try:
            mapped = stack.enter_context(maps[how](workers))
        except PiiError:
            raise
        except Exception as err:
            raise PiiError(Errors.E564, engine=how, reason=type(err).__name__) from None
        config = WorkerConfig.of(engine, model, key, **here)
        mine = workers if how == LOCAL else 0
        yield SpreadEngine(**settings, mapped=mapped, config=config, workers=mine)


def _check_can(profile: Profile, how: str, *, learns: bool = False) -> None:
    if profile.scope == THREAD:
        what = "the scope 'thread' (names of its people would travel in clear)"
        raise PiiError(Errors.E560, engine=how, what=what)
    if learns and profile.pool == "corpus":
        what = "sweep with a profile whose pool is 'corpus' (its values never travel)"
        raise PiiError(Errors.E560, engine=how, what=what)


def _imported(module: str) -> Any:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # it calls out, else
    return imported(module, "this engine", "engines")


def release_rows(config: WorkerConfig, text: str, id: str, rows: Any) -> Any:
    """RETURNS (RecordBatch): The rows of a pyarrow.RecordBatch, released, with `SKIPPED`."""
    import pyarrow as pa

    records: list[Record | Skip] = []
    for number, value in enumerate(rows.column(text).to_pylist(), 1):
        if isinstance(value, str) and not is_no_text(value):
            records.append(Record(number, str(number), value))
        else:
            records.append(Skip.of(Errors.E624, number=number, name=text, expected="a string"))
    made = [*chain.from_iterable(results(config, batch) for batch in batches(iter(records), 16))]
    new = [None if isinstance(one, Skip) else one.text for one in made]
    codes = [one.code if isinstance(one, Skip) else "" for one in made]
    columns = {name: rows.column(name) for name in rows.schema.names}
    if id and str(columns[id].type).endswith("string"):
        safe = Ids(Source(Path(id), kind="frame", id_field=id), config.key).safe
        columns[id] = pa.array([value and safe(value) for value in columns[id].to_pylist()])
    columns[text], columns[SKIPPED] = pa.array(new, pa.string()), pa.array(codes, pa.string())
    return pa.RecordBatch.from_pydict(columns)


def released(config: WorkerConfig, text: str, id: str, parts: Iterable[Any]) -> Iterator[Any]:
    """YIELDS (RecordBatch): Parts of a frame; the name is what a page of Spark shows."""
    return map(partial(release_rows, config, text, id), parts)


def deidentify_frame(
    df: Any, text: str = "text", *, id: str = "", keep: Sequence[str] = (), **settings: Any
) -> Any:
    """A Spark DataFrame with its texts de-identified; lazy, in the same order and parts.

    id (str): Column of an ID, which becomes a pseudonym where it holds a name.
    keep (Sequence[str]): Columns that are released as they are. All others are left out.
    settings: model, profile, scope as those of `pii-edu deidentify`; key (bytes) or key_file, else
        the environment variable PII_EDU_KEY.
    RETURNS (DataFrame): These columns, and `pii_skipped`: a code where a text was set aside.
    RAISES (PiiError): E005, E464, E560, E652; what the model, key and profile raise.
    """
    types, used = _imported("pyspark.sql").types, _used(text, id, keep)
    config, chosen = _config(df.columns, used, SPARK, **settings), df.select(*used)
    schema = types.StructType([chosen.schema[name] for name in used if name != text])
    for name in (text, SKIPPED):
        schema.add(name, types.StringType())
    return chosen.mapInArrow(partial(released, config, text, id), schema)


def deidentify_dataset(
    ds: Any, text: str = "text", *, id: str = "", keep: Sequence[str] = (), **settings: Any
) -> Any:
    """A Ray Dataset with its texts de-identified: as `deidentify_frame`, by `map_batches`."""
    _imported("ray")
    used = _used(text, id, keep)
    todo = partial(release_rows, _config(ds.columns(), used, RAY, **settings), text, id)
    made = ds.select_columns(used).map_batches(todo, batch_format="pyarrow", batch_size=1024)
    made.context.execution_options.preserve_order = True
    return made


def _used(text: str, id: str, keep: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(name for name in (id, *keep, text) if name))


def _config(
    columns: Sequence[str],
    used: Sequence[str],
    how: str,
    *,
    model: str = "en_pii_edu",
    key: bytes | None = None,
    key_file: str | Path | None = None,
    **settings: Any,
) -> WorkerConfig:
    check_fields([*columns], *used, option="text, id or keep")
    secret = key or load_key(path=key_file)
    if secret is None:
        raise PiiError(Errors.E464, what="the workers", env=KEY_ENV)
    engine = load_engine(model, key=secret, **({"profile": "crapii"} | settings))
    _check_can(engine.profile, how)
    return WorkerConfig.of(engine, model, secret)
