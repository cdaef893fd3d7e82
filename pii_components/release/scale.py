"""The pipeline on many cores or machines, by Ray or by Spark: the same records in, the same results out (docs/scale.md).

    with_workers = spread(engine, RAY, model="en_pii_edu", key=key)           # what `pii-edu deidentify --engine ray` does
    safe = deidentify_frame(spark.read.parquet("essays"), "text", id="essay", key_file="secret.key")     # in a job of your own
    safe = deidentify_dataset(ray.data.read_json("essays.jsonl"), "text", key_file="secret.key")

Workers only compute. In `spread` this process reads, writes, keeps the vault and the report, so its output has the same bytes as
without workers, and a worker that dies takes nothing along: what it was given is given to another one, and each answer is taken
once. In a frame or a dataset Spark or Ray write, each in its way.

What is learnt from a whole corpus comes in a pass of its own, and travels as digests under the key. The key and the profile's map
travel inside of pickles, never in a setting that a web page of Spark or Ray shows.
"""

import json
import os
import pickle
import secrets
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import __version__
from ..errors import Errors, PiiError
from ..files.record import Record, Skip, Source, is_no_text
from ..profiles import Profile
from ..surrogates.keys import KEY_ENV, load_key
from .columns import THREAD, Ids
from .engine import Engine, Result, load_engine
from .run import batches, token_under
from .sweep import Surnames

if TYPE_CHECKING:
    import pyarrow

ENGINES = LOCAL, RAY, SPARK = ("local", "ray", "spark")
# A column beside the new text: the code of the error where a text was set aside, and is null; else empty.
SKIPPED = "pii_skipped"
Batch = list[Record | Skip]
# What is known of a corpus, as digests under the key: names that no surrogate may be (n), surnames to hide alone (a) or in pairs (p).
Learnt = frozenset[bytes]
NAME, ALONE, PAIR = b"n", b"a", b"p"
# How often a batch is given to another worker. One that kills each of them, by its length say, must not do so for ever.
_TRIES = 4
# Batches on their way for each worker: none waits, and few texts are in memory.
_AHEAD = 4


@dataclass(frozen=True, slots=True)
class Shared:
    """What all workers need in their second pass; fetched once by each. box: Ray's reference or Spark's broadcast."""

    name: str
    box: Any

    def get(self) -> Learnt:
        """RETURNS (Learnt): From where the engine keeps it."""
        return self.box.value if hasattr(self.box, "value") else import_module("ray").get(self.box)


@dataclass(frozen=True)
class Recipe:
    """What a worker makes its pipeline from. Its text shows neither the key nor the profile, whose map may hold originals.

    versions (str): Of pipeline and package; a worker that has others refuses.
    """

    model: str
    versions: str
    profile: str = field(repr=False)
    key: bytes = field(repr=False)
    batch_size: int = 16

    @classmethod
    def of(cls, engine: Engine, model: str, key: bytes, batch_size: int = 16) -> "Recipe":
        """For workers that do as this engine does."""
        profile = json.dumps(engine.profile.to_dict(), sort_keys=True)
        return cls(model, f"{engine.name}, pii_components {__version__}", profile, key, batch_size)


class Worker:
    """A pipeline in a process of Ray or Spark; loaded once, by the first piece of work."""

    def __init__(self, recipe: Recipe) -> None:
        profile = Profile.from_dict(json.loads(recipe.profile))
        self.engine = load_engine(
            recipe.model, profile=profile, key=recipe.key, scope=profile.scope
        )
        versions = Recipe.of(self.engine, recipe.model, recipe.key).versions
        if versions != recipe.versions:
            raise PiiError(Errors.E562, got=versions, wanted=recipe.versions)
        self._token = token_under(recipe.key)
        self._knows = ""

    def learn(self, batch: Batch) -> Learnt:
        """What this batch teaches; the worker forgets it."""
        self._forget()
        self.engine.surnames = found = Surnames(self._token)
        self.engine.learn_all([batch])
        learnt = [NAME + digest for digest in self.engine.hips.learnt()]
        learnt += [ALONE + word.encode() for word in found.alone] + [
            PAIR + word.encode() for word in found.pairs
        ]
        self._forget()
        return frozenset(learnt)

    def results(self, batch: Batch, shared: Shared | None = None) -> list[Result | Skip]:
        """As `Engine.results`."""
        if self._knows != (shared.name if shared else ""):
            self._forget()
            if shared is not None:
                names, alone, pairs = (
                    {d[1:] for d in shared.get() if d[:1] == kind} for kind in (NAME, ALONE, PAIR)
                )
                self.engine.hips.learn_from(names)
                self.engine.surnames = Surnames(
                    self._token, {d.decode() for d in alone}, {d.decode() for d in pairs}
                )
                self._knows = shared.name
        return self.engine.results([item for item in batch if isinstance(item, Record)])

    def _forget(self) -> None:
        self.engine.hips.forget()
        self.engine.surnames, self._knows = None, ""


worker_for = lru_cache(maxsize=2)(Worker)
LEARN, RESULTS = Worker.learn.__name__, Worker.results.__name__


def work(recipe: Recipe, step: str, todo: Sequence[Batch], *args: Any) -> list[Any] | PiiError:
    """Do one step with some batches, in a worker. An error is an answer, too: one that is raised, Spark and Ray would log with all
    that belongs to it, and try again."""
    try:
        worker = worker_for(recipe)
        return [getattr(worker, step)(batch, *args) for batch in todo]
    except PiiError as err:
        return err
    except Exception as err:
        return PiiError(Errors.E561, reason=type(err).__name__)


class RayWorkers:
    """Actors of Ray; in the cluster that RAY_ADDRESS names, or else on this machine. n (int): How many; 0 for one a core."""

    def __init__(self, recipe: Recipe, n: int = 0) -> None:
        ray = self._ray = _ray()
        self._started = not ray.is_initialized()
        if self._started:
            here: dict[str, Any] = (
                {}
                if os.environ.get("RAY_ADDRESS")
                else {"include_dashboard": False, "num_cpus": n or None}
            )
            ray.init(log_to_driver=False, logging_level="ERROR", **here)
        self._n = n or max(1, int(ray.cluster_resources().get("CPU", 1)))
        actor = ray.remote(num_cpus=1, max_restarts=-1, max_task_retries=_TRIES - 1)(RayActor)
        self._actors = [actor.remote(recipe) for _ in range(self._n)]
        self._sent, self.per_piece, self.ahead = 0, 1, _AHEAD * self._n
        self.answer, self.share = ray.get, ray.put

    def send(self, step: str, todo: Sequence[Batch], *args: Any) -> Any:
        self._sent += 1
        return self._actors[self._sent % self._n].work.remote(step, todo, *args)

    def close(self) -> None:
        for actor in self._actors:
            self._ray.kill(actor)
        if self._started:
            self._ray.shutdown()


class RayActor:
    """A worker of Ray: a process of its own."""

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe

    def work(self, step: str, todo: Sequence[Batch], *args: Any) -> list[Any] | PiiError:
        return work(self.recipe, step, todo, *args)


class SparkWorkers:
    """Python workers of Spark: of the active session, or of one with the settings of spark-submit; on this machine where they name
    no master. n (int): Cores of this machine; 0 for all, and where there is a master, which decides.

    A piece of work is one job over some batches a core; two jobs overlap, so that no core waits for the slowest one."""

    def __init__(self, recipe: Recipe, n: int = 0) -> None:
        session = _spark().SparkSession
        self._recipe, active = recipe, session.getActiveSession()
        conf = import_module("pyspark").SparkConf()
        if n and (active or conf.contains("spark.master")):
            raise PiiError(
                Errors.E560, engine=SPARK, what="--workers where Spark has a master already"
            )
        conf.setIfMissing("spark.master", f"local[{n or '*'},{_TRIES}]").setIfMissing(
            "spark.app.name", "pii-edu"
        )
        # What Spark puts on a disk for a while is encrypted; no page shows the job, unless spark-submit says so.
        conf.setIfMissing("spark.io.encryption.enabled", "true").setIfMissing(
            "spark.ui.enabled", "false"
        )
        conf.setIfMissing("spark.ui.showConsoleProgress", "false").setIfMissing(
            "spark.log.level", "ERROR"
        )
        self._spark = active or session.builder.config(conf=conf).getOrCreate()
        self._started = active is None
        self.per_piece = _AHEAD * self._spark.sparkContext.defaultParallelism
        self.ahead, self._threads = 1, ThreadPoolExecutor(2)
        self.share = self._spark.sparkContext.broadcast

    def send(self, step: str, todo: Sequence[Batch], *args: Any) -> "Future[Any]":
        return self._threads.submit(self._job, step, todo, *args)

    @staticmethod
    def answer(sent: "Future[Any]") -> Any:
        return sent.result()

    def _job(self, step: str, todo: Sequence[Batch], *args: Any) -> list[Any] | PiiError:
        import pyarrow as pa

        recipe = self._recipe

        def deidentified(given: "Iterator[pyarrow.RecordBatch]") -> "Iterator[pyarrow.RecordBatch]":
            for rows in given:
                # One answer a batch: those of a piece are joined below.
                answers = [
                    work(recipe, step, [pickle.loads(batch.as_py())], *args)
                    for batch in rows.column(1)
                ]
                data = pa.array([pickle.dumps(answer) for answer in answers], pa.binary())
                yield pa.RecordBatch.from_arrays([rows.column(0), data], ["n", "data"])

        table = pa.table(
            {
                "n": range(len(todo)),
                "data": pa.array([pickle.dumps(batch) for batch in todo], pa.binary()),
            }
        )
        rows = (
            self._spark.createDataFrame(table)
            .mapInArrow(deidentified, "n long, data binary")
            .collect()
        )
        answers = [pickle.loads(row.data) for row in sorted(rows)]
        return next(
            (err for err in answers if isinstance(err, PiiError)), [answer[0] for answer in answers]
        )

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
        if self._started:
            self._spark.stop()


@dataclass(slots=True)
class SpreadEngine(Engine):
    """An engine whose work others do. workers : They. shared (Shared | None): What `learn_all` found."""

    workers: Any = None
    shared: Shared | None = None

    def learn_all(self, batches: Iterable[Sequence[Record | Skip]]) -> None:
        learnt: set[bytes] = set()
        for _, digests in self._spread(LEARN, batches):
            learnt |= digests
        self.shared = Shared(secrets.token_hex(8), self.workers.share(frozenset(learnt)))

    def stream(self, batches: Iterable[Batch]) -> Iterator[tuple[Batch, list[Result | Skip]]]:
        return self._spread(RESULTS, batches, self.shared)

    def _spread(self, step: str, todo: Iterable[Any], *args: Any) -> Iterator[tuple[Batch, Any]]:
        """YIELDS (tuple): Each batch with its answer, in the order of the input. RAISES (PiiError): E561; what a worker raised."""
        sent: deque[tuple[list[Batch], Any]] = deque()
        todo = iter(todo)
        while True:
            piece = list(islice(todo, self.workers.per_piece))
            if piece:
                sent.append((piece, self.workers.send(step, piece, *args)))
            elif not sent:
                return
            if not piece or len(sent) > self.workers.ahead:
                given, handle = sent.popleft()
                try:
                    answers = self.workers.answer(handle)
                except Exception as err:  # of Ray or Spark; it may quote anything
                    raise PiiError(Errors.E561, reason=type(err).__name__) from None
                if isinstance(answers, PiiError):
                    raise answers
                yield from zip(given, answers, strict=True)


def spread(
    engine: Engine, how: str, *, model: str, key: bytes, workers: int = 0, learns: bool = False
) -> SpreadEngine:
    """The engine with workers; close those at the end (`.workers.close()`).

    engine (Engine): Loaded here, with all its settings. how (str): "ray" or "spark". model (str): The name or path that it came from,
    the same on all machines. key (bytes): Of the run. workers (int): How many processes; 0 for as many as there are cores.
    learns (bool): Whether `learn_all` will be called.
    RAISES (PiiError): E005, if Ray or Spark is not installed; E560, for what workers cannot do; E564, if the engine does not start.
    """
    _check_can(engine.profile, how, learns=learns)
    recipe = Recipe.of(engine, model, key)
    try:
        made = (RayWorkers if how == RAY else SparkWorkers)(recipe, workers)
    except PiiError:
        raise
    except Exception as err:
        raise PiiError(Errors.E564, engine=how, reason=type(err).__name__) from None
    return SpreadEngine(**{f.name: getattr(engine, f.name) for f in fields(Engine)}, workers=made)


def _check_can(profile: Profile, how: str, *, learns: bool) -> None:
    if profile.scope == THREAD:
        raise PiiError(
            Errors.E560,
            engine=how,
            what="the scope 'thread' (names of its people would travel in clear)",
        )
    if learns and profile.pool == "corpus":
        raise PiiError(
            Errors.E560,
            engine=how,
            what="sweep with a profile whose pool is 'corpus' (its values never travel)",
        )


def _ray() -> Any:
    """RAISES (PiiError): E005."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # it calls out, else
    try:
        return import_module("ray")
    except ImportError as err:
        raise PiiError(Errors.E005, package="ray", what="this engine", extra=RAY) from err


def _spark() -> Any:
    """RAISES (PiiError): E005."""
    try:
        import_module("pyarrow")
        return import_module("pyspark.sql")
    except ImportError as err:
        raise PiiError(Errors.E005, package="pyspark", what="this engine", extra=SPARK) from err


@dataclass(frozen=True)
class Frames:
    """What is done to each part of a frame or dataset. text, id (str), keep (tuple[str, ...]): Columns."""

    recipe: Recipe
    text: str
    id: str
    keep: tuple[str, ...]
    shared: Shared | None = None

    def new(self, rows: Any) -> Any:
        """The released columns of a pyarrow.Table or RecordBatch."""
        import pyarrow as pa

        items = self._items(rows)
        done = iter(
            [result for results in self._work(RESULTS, items, self.shared) for result in results]
        )
        all_done = [next(done) if isinstance(item, Record) else item for item in items]
        columns = {
            name: rows.column(name) for name in rows.schema.names if name in (self.id, *self.keep)
        }
        if self.id and str(columns[self.id].type).endswith("string"):
            safe = Ids(Source(Path(self.id), kind="frame", id_field=self.id), self.recipe.key).safe
            columns[self.id] = pa.array(
                [value and safe(value) for value in columns[self.id].to_pylist()], pa.string()
            )
        columns[self.text] = pa.array(
            [done.text if isinstance(done, Result) else None for done in all_done], pa.string()
        )
        columns[SKIPPED] = pa.array(
            [done.code if isinstance(done, Skip) else "" for done in all_done], pa.string()
        )
        return type(rows).from_arrays(list(columns.values()), names=list(columns))

    def learnt(self, rows: Any) -> Any:
        """What there is to learn, one digest a row."""
        import pyarrow as pa

        found = sorted(frozenset().union(*self._work(LEARN, self._items(rows))))
        return type(rows).from_arrays([pa.array(found, pa.binary())], names=["digest"])

    def _items(self, rows: Any) -> Batch:
        items: Batch = []
        for number, text in enumerate(rows.column(self.text).to_pylist(), 1):
            if not isinstance(text, str):
                items.append(Skip.of(Errors.E523, number=number, type=type(text).__name__))
            elif is_no_text(text):
                items.append(Skip.of(Errors.E520, number=number, encoding="text"))
            else:
                items.append(Record(number, str(number), text))
        return items

    def _work(self, step: str, items: Batch, *args: Any) -> list[Any]:
        answers = work(self.recipe, step, list(batches(iter(items), self.recipe.batch_size)), *args)
        if isinstance(answers, PiiError):
            raise answers from None
        return answers

    def with_learnt(self, digests: Iterable[bytes], share: Callable[[Learnt], Any]) -> "Frames":
        """The same, knowing what all parts taught. share (Callable): Puts it where workers can fetch it."""
        return replace(self, shared=Shared(secrets.token_hex(8), share(frozenset(digests))))


def _parts(todo: Callable[[Any], Any]) -> Callable[[Iterator[Any]], Iterator[Any]]:
    def deidentified(
        given: Iterator[Any],
    ) -> Iterator[Any]:  # its name is what a page of Spark shows
        return map(todo, given)

    return deidentified


class FramesActor:
    """For Ray, which makes one a worker and calls it. what (str): A method of `Frames`."""

    def __init__(self, frames: Frames, what: str) -> None:
        self._todo = getattr(frames, what)

    def __call__(self, rows: Any) -> Any:
        return self._todo(rows)


def _frames(
    columns: Sequence[str],
    text: str,
    id: str,
    keep: Sequence[str],
    sweep: bool,
    how: str,
    /,
    *,
    model: str = "en_pii_edu",
    profile: str | Profile = "crapii",
    scope: str = "",
    key: bytes | None = None,
    key_file: str | Path | None = None,
    batch_size: int = 16,
) -> Frames:
    for name in filter(None, (text, id, *keep)):
        if name not in columns:
            raise PiiError(
                Errors.E625, what="The frame", name=name, needed="the columns of text, id and keep"
            )
    secret = key or load_key(path=key_file)
    if secret is None:
        raise PiiError(Errors.E563, env=KEY_ENV)
    engine = load_engine(model, profile=profile, key=secret, scope=scope)
    _check_can(engine.profile, how, learns=sweep)
    return Frames(
        Recipe.of(engine, model, secret, batch_size),
        text,
        id,
        tuple(name for name in keep if name != text),
    )


def deidentify_frame(
    df: Any,
    text: str = "text",
    *,
    id: str = "",
    keep: Sequence[str] = (),
    sweep: bool = False,
    **settings: Any,
) -> Any:
    """A Spark DataFrame with its texts de-identified, for a job of your own; lazy, in the same order and parts.

    df (DataFrame): From Parquet, CSV, JSON Lines, anything. text (str): Column of the text. id (str): Column of an ID, which becomes a
        pseudonym where it holds a name. keep (Sequence[str]): Columns that are released as they are. All others are left out.
    sweep (bool): Read `df` twice, the first time now: as `--sweep hide`.
    settings: model (str), profile (str | Profile), scope (str) as those of `pii-edu deidentify`; batch_size (int); key (bytes) or
        key_file (str), else the environment variable PII_EDU_KEY.
    RETURNS (DataFrame): These columns, and `pii_skipped`: a code where a text was set aside and is null, else empty.
    RAISES (PiiError): E005, E560, E563, E625; what the model, key and profile raise. All of them before anything is computed.
    """
    types = _spark().types
    frames = _frames(df.columns, text, id, keep, sweep, SPARK, **settings)
    used = df.select(*dict.fromkeys(filter(None, (id, *keep, text))))
    if sweep:
        rows = (
            used.select(text)
            .mapInArrow(_parts(frames.learnt), "digest binary")
            .distinct()
            .collect()
        )
        frames = frames.with_learnt(
            (bytes(row.digest) for row in rows), df.sparkSession.sparkContext.broadcast
        )
    schema = types.StructType([used.schema[name] for name in used.columns if name != text])
    for name in (text, SKIPPED):
        schema.add(name, types.StringType())
    return used.mapInArrow(_parts(frames.new), schema)


def deidentify_dataset(
    ds: Any,
    text: str = "text",
    *,
    id: str = "",
    keep: Sequence[str] = (),
    sweep: bool = False,
    workers: int = 0,
    **settings: Any,
) -> Any:
    """A Ray Dataset with its texts de-identified: `deidentify_frame` for Ray, by `map_batches` over actors that load once.

    ds (Dataset): Anything with named columns. workers (int): How many actors at most; 0 for as many as there is room for.
    Others: As there. RETURNS (Dataset): In the same order. RAISES (PiiError): As there.
    """
    ray = _ray()
    frames = _frames(ds.columns(), text, id, keep, sweep, RAY, **settings)
    used = ds.select_columns(list(dict.fromkeys(filter(None, (id, *keep, text)))))

    def spread_over(what: str) -> Any:
        pool = import_module("ray.data").ActorPoolStrategy(min_size=1, max_size=workers or None)
        options: dict[str, Any] = {
            "batch_format": "pyarrow",
            "batch_size": 64 * frames.recipe.batch_size,
            "compute": pool,
        }
        return used.map_batches(FramesActor, fn_constructor_args=(frames, what), **options)

    if sweep:
        frames = frames.with_learnt(
            (row["digest"] for row in spread_over(Frames.learnt.__name__).iter_rows()), ray.put
        )
    made = spread_over(Frames.new.__name__)
    made.context.execution_options.preserve_order = True
    return made
