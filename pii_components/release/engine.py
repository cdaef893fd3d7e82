"""The pipeline behind the commands: load it, set key and profile, turn records into results.

    engine = load_engine("en_pii_edu", profile="crapii", key=key)
    for result in engine.results(records): ...

A document lives no longer than its batch (`nlp.memory_zone`). A record on which the pipeline fails becomes a `Skip`, alone;
its original is never what comes out.
"""

import gc
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from dataclasses import replace as with_changes
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import Errors, PiiError, PiiStop, imported
from ..files.formats.base import GoldSpan
from ..files.formats.tokens import Tokens, from_tokens, touched_tokens
from ..files.record import FIELD_SEPARATOR, Record, Skip
from ..files.tables import TOKEN_FIELDS, JsonBody, tokens_fit
from ..labels import HEADER, NAME_STUDENT
from ..names.people import NO_PEOPLE, People, people_of
from ..offsets import OffsetMap
from ..profiles import KEEP, Profile
from ..vault.vault import Hidden, Release, offsets_of, pack_tokens, record_edits
from . import CPU, CUDA
from .columns import NO_THREAD, THREAD
from .review import ADD, Decided, apply_decisions, text_hash
from .sweep import Surnames, add_swept

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

    from ..ruler.roster import Roster
    from .threads import Threads

NER, SURROGATES = "pii_ner", "hips_surrogate"
# Says nothing about anyone. Components that build tables at their first document do so here, outside a memory zone.
WARM_UP = "Name: A. Sample\nsample@example.edu, 555-0100, example.edu/~sample, 00000000. Sample (2000) says so."


def gold_of(record: Record) -> list[GoldSpan] | None:
    """The labels that a record brought along, as spans of its text; None if it has none, or if its tokens are not those of its text.

    RAISES (PiiError): E624, if they are not of the form.
    """
    body = record.body
    if not isinstance(body, JsonBody) or body.values.get("labels") is None:
        return None
    if not tokens_fit(body.values, record.text):
        return None
    return from_tokens(*map(body.values.get, TOKEN_FIELDS), number=record.number)[1]


def moved(spans: Sequence[GoldSpan], offsets: OffsetMap) -> tuple[GoldSpan, ...]:
    """Carry labels over to the new text, sorted. What was removed is gone; neighbours of one label that have become parts of one
    surrogate are one."""
    out: list[GoldSpan] = []
    for start, end, label in sorted(
        (*offsets.span_to_new(start, end), label) for start, end, label in spans
    ):
        if out and start < out[-1][1] and label == out[-1][2]:
            out[-1] = (out[-1][0], max(end, out[-1][1]), label)
        elif start < end:
            out.append((start, end, label))
    return tuple(out)


def _drop_heads(doc: "Doc", told: Sequence[GoldSpan]) -> None:
    """Let go of what was found within a name of a column."""
    from ..spans import read_spans, write_spans

    head_at = dict[int, int]()
    for n, (start, end, label) in enumerate(told):
        head_at |= {} if label else dict.fromkeys(range(start, end), n)
    kept = []
    for cand in read_spans(doc):
        first, last = doc[cand.start].idx, doc[cand.end - 1].idx
        if first not in head_at or head_at[first] != head_at.get(last):
            kept.append(cand)
    write_spans(doc, kept)


def surrogate_pipes(nlp: "Language") -> list[str]:
    """RETURNS (list[str]): Components of a pipeline that make surrogates."""
    return [name for name in nlp.pipe_names if nlp.get_pipe_meta(name).factory == SURROGATES]


def memory_zone(nlp: "Language") -> AbstractContextManager[Any]:
    """Free the words of its texts at the end; no Doc may be used after it.

    RETURNS (AbstractContextManager): One that does nothing, where a tokenizer has a cache that would point into what is gone.
    """
    from spacy.tokenizer import Tokenizer

    fine = type(nlp.tokenizer) is Tokenizer or hasattr(nlp.tokenizer, "memory_zone")
    return nlp.memory_zone() if fine else nullcontext()


@dataclass(frozen=True, slots=True)
class Found:
    """A span that was found: offsets are characters in the text as given, end exclusive."""

    start_char: int
    end_char: int
    label: str
    role: str
    score: float
    source: str
    reason: str
    action: str = ""
    person: int | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """What the pipeline made of a record.

    text (str): The new text. spans (tuple[Found, ...]): What was found in the old one. words (int): White-space separated.
    surrogates (tuple[tuple[int, int, str], ...]): Start, end, label in the new text.
    fields (dict[str, Any]): New values of fields that repeat the text (tokens, trailing_whitespace, labels).
    fields_with_found (tuple[str, ...]): Other fields in which a value that was replaced stands.
    notes (tuple[str, ...]): What the component says about a surrogate: that there was none, and so on.
    headers (tuple[tuple[int, int], ...]): Start and end of what was removed as a header, in the old text.
    hidden (tuple[Hidden, ...]): What was replaced, for the vault. labels (tuple[tuple[int, int, str], ...]): Start, end, label in
    the new text of all that is labelled there: by the record where it has labels, else what was found.
    people (People | None): Who is named in the old text; None if there was nothing to replace.
    """

    text: str
    spans: tuple[Found, ...] = ()
    words: int = 0
    surrogates: tuple[tuple[int, int, str], ...] = ()
    fields: dict[str, Any] = field(default_factory=dict)
    fields_with_found: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    headers: tuple[tuple[int, int], ...] = ()
    hidden: tuple[Hidden, ...] = field(default=(), repr=False)
    labels: tuple[tuple[int, int, str], ...] = ()
    people: People | None = field(default=None, repr=False)

    @property
    def offsets(self) -> OffsetMap:
        """From the old text to the new one."""
        return offsets_of(self.hidden, len(self.text))

    def names(self, *, kept: bool) -> People:
        """RETURNS (People): Those who are named in the old text by names that stay, or by names that are hidden."""
        spans = [(s.start_char, s.end_char) for s in self.spans if (s.action == KEEP) == kept]
        return (self.people or NO_PEOPLE).among(spans)

    def release(self, record: Record, scope: str) -> Release:
        """The document for the vault. record (Record): Its original. scope (str): Of the profile."""
        body = record.body
        has_tokens = self.fields and isinstance(body, JsonBody)
        tokens = pack_tokens(*map(body.values.get, TOKEN_FIELDS)) if has_tokens else None
        if scope == THREAD:
            scope = f"{THREAD}:{record.thread}" if record.thread else "document"
        return Release(record.id, record.text, self.text, self.hidden, scope, tokens, record.given)


@dataclass(slots=True)
class Engine:
    """A loaded pipeline.

    nlp (Language): The pipeline. name (str): Its name and version. replace (bool): Whether it makes new texts, or only finds.
    profile (Profile): The profile in use. debug (bool): Whether errors inside the pipeline are raised.
    surnames (Surnames | None): Those hidden anywhere in the corpus, once `learn` has seen it; threads (Threads | None): Who is hidden in each
    thread, if the scope is one. decisions (Mapping[str, Sequence[Decided]]): Of a review, by hash of the text under
    `decisions_key`; they overrule what is found.
    """

    nlp: "Language"
    name: str
    replace: bool = True
    profile: Profile = field(default_factory=lambda: Profile("none"))
    debug: bool = False
    surnames: Surnames | None = None
    threads: "Threads | None" = None
    decisions: Mapping[str, Sequence[Decided]] = field(default_factory=dict)
    decisions_key: bytes = field(default=b"", repr=False)

    def learn(self, items: Sequence[Record | Skip]) -> None:
        """Learn the names of some documents before any is processed: no surrogate will be one of them, and surnames that are
        hidden in one document are hidden in the others too, as is in its thread who is known there. What is learnt stays in memory.

        A record that cannot be processed is passed over, and will be skipped in `results`.
        """
        self.surnames = Surnames() if self.surnames is None else self.surnames
        if self.profile.scope == THREAD and self.threads is None:
            from .threads import Threads

            self.threads = Threads()
        with self._batch():
            for record, doc in self._docs(self._fitting(items), self._find):
                if isinstance(doc, Skip):
                    continue
                self.hips.observe([doc])
                if self.threads is not None and record.thread:
                    self.threads.learn(record.thread, doc, self.profile)
                hidden = [found for found in self._found(doc) if found.action != KEEP]
                places = [(found.start_char, found.end_char) for found in hidden]
                self.surnames.add(people_of(doc).among(places))
                del doc

    def _fitting(self, items: Sequence[Record | Skip]) -> list[Record]:
        records = [item for item in items if isinstance(item, Record) and item.text.strip()]
        return [record for record in records if len(record.text) <= self.nlp.max_length]

    def learn_all(self, batches: Iterable[list[Record | Skip]], *, sweep: bool = True) -> None:
        """`learn` from all of a corpus. sweep (bool): Whether surnames that are hidden in one document are to be hidden in the others."""
        for batch in batches:
            self.learn(batch)
        if not sweep:
            self.surnames = None

    def stream(
        self, batches: Iterable[list[Record | Skip]]
    ) -> Iterator[tuple[list[Record | Skip], list[Result | Skip]]]:
        """YIELDS (tuple): Each batch, in order, with the `results` of its records."""
        for batch in batches:
            yield batch, self.results(batch)

    def results(self, items: Sequence[Record | Skip]) -> list[Result | Skip]:
        """Process a batch of texts up to the pipeline's limit of length. RETURNS: One for each item, in order; skips are as they were."""
        found: dict[int, Result | Skip] = {}
        for record in items:
            if isinstance(record, Skip):
                continue
            found[record.number] = Result(text=record.text)
            if len(record.text) > self.nlp.max_length:
                found[record.number] = Skip.of(
                    Errors.E528,
                    number=record.number,
                    length=len(record.text),
                    limit=self.nlp.max_length,
                )
        with self._batch():
            for record, doc in self._docs(self._fitting(items), self._pipe):
                found[record.number] = doc if isinstance(doc, Skip) else self._result(record, doc)
                del doc
        return [item if isinstance(item, Skip) else found[item.number] for item in items]

    @contextmanager
    def _batch(self) -> Iterator[None]:
        """Memory is freed afterwards. Warnings of libraries may quote a text; ours are counted as notes."""
        with memory_zone(self.nlp), warnings.catch_warnings():
            if not self.debug:
                warnings.simplefilter("ignore")
            yield

    @property
    def hips(self) -> Any:
        return self.nlp.get_pipe(surrogate_pipes(self.nlp)[-1])

    def _find(self, records: Sequence[Record]) -> "list[Doc]":
        """Documents with what was found or decided, and nothing replaced."""
        docs, size = map(self._made, records), max(1, len(records))
        found = list(self.nlp.pipe(docs, batch_size=size, disable=surrogate_pipes(self.nlp)))
        for record, doc in zip(records, found, strict=False):
            self._overrule(record, doc)
        return found

    def _made(self, record: Record) -> "Doc":
        """A document that knows which of its lines are no headers."""
        doc = self.nlp.make_doc(record.text)
        doc._.pii_lines = [(start, end, None) for start, end in record.stays]
        return doc

    def _overrule(self, record: Record, doc: "Doc") -> None:
        """What a column says of its cells, then what a person has said."""
        told = [Decided(start, end, label, "", ADD) for start, end, label in record.told if label]
        if record.told:
            _drop_heads(doc, record.told)
            apply_decisions(doc, told, source="column", reason="its column says so")
        decided = self.decisions and self.decisions.get(text_hash(doc.text, self.decisions_key))
        if decided:
            apply_decisions(doc, decided)

    def _pipe(self, records: Sequence[Record]) -> "list[Doc]":
        """Documents that went through the pipeline; with surnames of the whole corpus and who is in the thread, if they are known; and with
        decisions."""
        plain = self.surnames is None and self.threads is None and not self.decisions
        if plain and not any(record.told for record in records):
            return list(self.nlp.pipe(map(self._made, records), batch_size=max(1, len(records))))
        done: list[Doc] = []
        # One that failed is not among those found: then each is tried alone.
        for record, doc in zip(records, self._find(records), strict=True):
            known: dict[str, Any] = {}
            if self.threads is not None and record.thread:
                everyone = self.threads.known(record.thread).everyone
                known = {"thread": record.thread, "everyone": everyone}
                self.threads.add_known(record.thread, doc, self.profile)
            if self.surnames is not None:
                add_swept(doc, self.surnames, self.profile)
            self._overrule(record, doc)
            with self.hips.using(**known):
                done += self.hips.pipe([doc])
        return done

    @staticmethod
    def _done(record: Record, doc: "Doc") -> "Doc | Skip":
        """The document, unless a component says that it could not do its work (`spans.fail`)."""
        code = doc._.pii_failed
        if doc.text != record.text:
            return Skip.of(Errors.E526, number=record.number, type="a component changed the text")
        return Skip.of(Errors.E557, number=record.number, code=code) if code else doc

    def _docs(
        self, records: Sequence[Record], pipe: "Callable[[Sequence[Record]], list[Doc]]"
    ) -> "Iterator[tuple[Record, Doc | Skip]]":
        """YIELDS (tuple[Record, Doc | Skip]): Each record with its document; the batch is split where it fails as a whole."""
        try:
            docs = pipe(records)
            if len(docs) == len(records):
                yield from zip(records, map(self._done, records, docs), strict=True)
                return
        except PiiStop:
            raise
        except Exception:
            if self.debug:
                raise
        for record in records:
            try:
                doc: Doc | Skip = self._done(record, pipe([record])[0])
            except Exception as err:
                doc = Skip.of(
                    Errors.E526,
                    number=record.number,
                    type=err if isinstance(err, PiiError) else type(err).__name__,
                )
            yield record, doc

    def _result(self, record: Record, doc: "Doc") -> Result | Skip:
        spans = self._found(doc)
        words = len(record.text.replace(FIELD_SEPARATOR, " ").split())
        if not self.replace:
            return Result(text=record.text, spans=spans, words=words, people=people_of(doc))
        text, offsets = doc._.deidentified, doc._.pii_offsets
        if not isinstance(text, str) or not isinstance(offsets, OffsetMap):
            return Skip.of(Errors.E526, number=record.number, type="no new text")
        try:
            gold = gold_of(record)
        except PiiError as err:
            return Skip(record.number, err)
        made = doc._.surrogate_spans or ()
        surrogates = tuple((row["start_char"], row["end_char"], row["label"]) for row in made)
        labels_at = {(start, end): label for start, end, label in surrogates}
        replaced = {record.text[s.start_char : s.end_char] for s in spans if s.action != KEEP}
        values = [value for value in replaced if len(value) > 3]
        labelled = [(s.start_char, s.end_char, s.label) for s in spans] if gold is None else gold
        edits = zip(offsets.edits, surrogates, strict=True)
        return Result(
            text=text,
            spans=spans,
            words=words,
            surrogates=surrogates,
            notes=self._notes(record, doc),
            fields=self._fields(record, text, gold, offsets) if text != record.text else {},
            fields_with_found=tuple(
                name for name, content in record.others if any(v in content for v in values)
            ),
            headers=tuple(edit[:2] for edit, (_, _, label) in edits if label == HEADER),
            hidden=record_edits(record.text, text, offsets, labels_at),
            labels=moved(labelled, offsets),
            people=people_of(doc),
        )

    def _found(self, doc: "Doc") -> tuple[Found, ...]:
        from ..spans import read_spans
        from ..surrogates.owners import set_detail_roles

        set_detail_roles(doc)
        found = []
        for cand in read_spans(doc):
            span = doc[cand.start : cand.end]
            role = cand.role or span._.pii_role
            action = self.profile.action(cand.label, role) if self.replace else ""
            found.append(
                Found(
                    span.start_char,
                    span.end_char,
                    cand.label,
                    role,
                    cand.score,
                    cand.source,
                    cand.reason,
                    action,
                    cand.person,
                )
            )
        return tuple(found)

    def _notes(self, record: Record, doc: "Doc") -> tuple[str, ...]:
        notes = [row["note"] for row in doc._.surrogate_spans or () if row["note"]]
        notes += sorted({note[0] for note in doc._.llm_notes or ()})
        if self.threads is not None and not record.thread:
            notes.append(NO_THREAD)
        return tuple(notes)

    def _fields(
        self, record: Record, text: str, gold: list[GoldSpan] | None, offsets: OffsetMap
    ) -> dict[str, Any]:
        """Tokens of the new text, and the labels that the record had: of each token that of the last span that shares a character."""
        body = record.body
        if not isinstance(body, JsonBody) or "tokens" not in body.values:
            return {}
        new = self.nlp.make_doc(text)
        spans = [(*touched_tokens(new, *at), label) for *at, label in moved(gold or (), offsets)]
        fields = Tokens(new, tuple(spans), ()).fields()
        if gold is None:
            del fields["labels"]
        return fields


def read_roster(path: str) -> "Roster | None":
    """RETURNS (Roster | None): A class list, before a pipeline is loaded; None for none. RAISES (PiiError): E207 to E210."""
    if not path:
        return None
    from ..ruler.roster import Roster

    return Roster.from_csv(path)


def use_roster(nlp: "Language", roster: "Roster | None") -> None:
    """Find the names of a class list in all texts, and make no surrogate that is one of them. Where the scope is "corpus", who is on the list has one
    surrogate in all documents."""
    if roster is None:
        return
    from ..ruler.roster import add_roster
    from ..surrogates.plan import ScopePeople

    add_roster(nlp, roster)
    people = roster.persons()
    for name in surrogate_pipes(nlp):
        component: Any = nlp.get_pipe(name)
        component.corpus_names.add(roster.words)
        component.listed = ScopePeople(people, (NAME_STUDENT,) * len(people))


def load_code(path: str) -> None:
    """Import a Python file of the user's, as spaCy's `--code` does; none if empty. RAISES (PiiError): E743."""
    from spacy.util import import_file

    try:
        if path:
            import_file("python_code", path)
    except Exception as err:
        raise PiiError(Errors.E743, name=path, how=f"{type(err).__name__}: {err}") from err


def load_pipeline(model: str | Path, *, debug: bool = False, **options: Any) -> "Language":
    """RETURNS (Language): With these options of `spacy.load`. RAISES (PiiError): E516, E517; what its components raise."""
    try:
        with warnings.catch_warnings(), _uncollected():
            import spacy

            warnings.simplefilter("ignore")
            return spacy.load(model, **options)
    except Exception as err:
        if isinstance(err, PiiError) or (debug and not isinstance(err, OSError)):
            raise
        template = Errors.E516 if "[E050]" in str(err) else Errors.E517
        raise PiiError(template, model=model, reason=type(err).__name__) from err


@contextmanager
def _uncollected() -> Iterator[None]:
    """Loading makes much that stays: Python's collector need not walk through it meanwhile."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def require_gpu() -> None:
    """`spacy.require_gpu()`, with torch. RAISES (PiiError): E005 without torch, E564 without a GPU or CuPy."""
    import spacy

    torch = imported("torch", "reading on a GPU", "train")
    try:
        torch.zeros(1, device=CUDA)
        spacy.require_gpu()
    except Exception as err:
        raise PiiError(Errors.E564, engine=CUDA, reason=type(err).__name__) from None


def load_engine(
    model: str,
    *,
    replace: bool = True,
    profile: str | Profile = "",
    key: bytes | None = None,
    scope: str = "",
    headers: str = "",
    operating_point: str = "",
    device: str = CPU,
    debug: bool = False,
    extend: "Callable[[Language], object] | None" = None,
    code: str = "",
) -> Engine:
    """Load a pipeline and set it up.

    model (str): Name of a package, or path. replace (bool): Whether new texts are wanted; else the surrogate component is
    left out. profile (str | Profile): Name or path; empty for the pipeline's own. key (bytes | None): For surrogates. scope (str):
    "document", "corpus" or "thread". headers (str): "keep" or "remove"; empty for what the profile says. operating_point (str): Of `pii_ner`, one of
    `POINTS`; empty for what is saved. device (str): One of `DEVICES`; it is for all of this process. debug (bool): Whether errors
    inside the pipeline are raised. extend (Callable | None): Adds components, after the first document has been through the others.
    code (str): A Python file that is imported before.
    RAISES (PiiError): E005 and E564 for a GPU; E516 to E518, E743; what the profile raises.
    """
    load_code(code)
    if device == CUDA:
        require_gpu()
    nlp = load_pipeline(model, debug=debug)
    if operating_point:
        if NER not in nlp.pipe_names:
            what = "have an operating point"
            raise PiiError(Errors.E518, model=model, factory=f"'{NER}'", what=what)
        ner: Any = nlp.get_pipe(NER)
        ner.operating_point = operating_point
    meta, pipes = nlp.meta, surrogate_pipes(nlp)
    engine = Engine(
        nlp=nlp,
        name=f"{meta.get('lang')}_{meta.get('name')} {meta.get('version')}",
        replace=replace,
        debug=debug,
    )
    if replace and not pipes:
        raise PiiError(Errors.E518, model=model, factory=f"'{SURROGATES}'", what="make surrogates")
    if replace:
        component: Any = nlp.get_pipe(pipes[-1])
        if profile:
            component.profile = profile
        if headers:
            component.profile = with_changes(component.profile, header=headers)
        if scope:
            component.scope = scope
        if key is not None:
            component.set_key(key)
        engine.profile = with_changes(component.profile, scope=component.scope)
    else:
        for name in pipes:
            nlp.remove_pipe(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        list(engine._docs([Record(0, "", WARM_UP)], engine._pipe))
    if extend is not None:
        extend(nlp)
    return engine
