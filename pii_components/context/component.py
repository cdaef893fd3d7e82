"""`pii_context`: whose name is it, and why. One decision per person of a document, not one per mention.

    nlp.add_pipe("pii_context", after="pii_ruler", config={"settings": {"min_score": 0.4}})
    [(span.text, span._.pii_role, span._.pii_reason) for span in doc.spans["pii"]]

It mends the edges of names, weak ones too, adds names that only a strong cue shows, drops weak ones without evidence, links the mentions of
a person, weighs what speaks for each role, and marks an accepted name everywhere. It touches nothing but names. Verifiers that decide per
mention lose people with one-word names (recall .30 against .95 on CRAPII); a bare word here shares the evidence of its person.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy
import srsly
from spacy import util
from spacy.pipeline.pipe import Pipe
from spacy.pipeline.span_ruler import prioritize_new_ents_filter
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import minibatch

from ..config import Configured
from ..labels import CHARACTER, CONNECTED, ROLES, STUDENT, is_name, label_for_role
from ..names.edges import write_whole
from ..names.letters import forget
from ..ner.decode import BALANCED, OPERATING_POINT
from ..ner.scorer import score_ents
from ..spans import (
    PROPAGATION,
    PROTECT_AT,
    SPANS_KEY,
    Candidate,
    EntsFilter,
    read_spans,
    with_given,
    write_ents,
    write_spans,
)
from .classifier import Examined, PersonModel, shares
from .cues import CueRules, read_cues
from .decide import CUE_PREFIX, Examiner, adjust_posterior, isolation_penalty
from .evidence import READER, People, decide, folded_words, reason_for, roles_of
from .role_encoder import PersonReader
from .settings import ContextSettings
from .view import DocView

# Whom CRAPII's annotators marked: the student, classmates, team members, friends. Teachers are told from them by their role.
PRIVATE = (STUDENT, CONNECTED)
# Who is not protected by the default profile, and so is not in doc.ents until hips_surrogate with another one says so.
KEPT = tuple(label_for_role(role) for role in ROLES if role not in PRIVATE)
_PARTS = ("cfg", "classifier", "reader")  # what is saved; none of it holds a word of a text


class PiiContext(Configured, Pipe):
    """Decides the role of every name, with a reason, per (document, person).

    spans_key (str): The span group that is read and written.
    settings (dict[str, Any] | None): Thresholds and weights, see `ContextSettings`; what is missing has its default.
    cues (Sequence[dict[str, Any]]): Further rules, as in resources/cues/names.toml; one with the id of a shipped rule takes its place.
    roster (Sequence[str] | None): Names of a class. Never saved with the pipeline.
    ents_filter (Callable): As that of spaCy's SpanRuler: who wins in `doc.ents` where entities of others overlap what is protected; ours.
    RAISES (PiiError): E301, E302 for settings, E303 for cues that cannot be used."""

    def __init__(
        self,
        name: str = "pii_context",
        *,
        spans_key: str = SPANS_KEY,
        settings: dict[str, Any] | None = None,
        cues: Sequence[dict[str, Any]] | None = None,
        roster: Sequence[str] | None = None,
        ents_filter: EntsFilter = prioritize_new_ents_filter,
    ) -> None:
        self.name = name
        self.ents_filter = ents_filter
        given = [dict(cue) for cue in cues] if cues is not None else None
        self.configure({"settings": {}, "cues": []}, {"spans_key": spans_key, "settings": settings, "cues": given})
        self.roster = folded_words(roster or ())
        self.classifier: PersonModel | None = None
        self.reader: PersonReader | None = None
        self._load()

    def _load(self) -> None:
        self.settings = ContextSettings.from_dict(self.cfg["settings"])
        self.rules: CueRules = read_cues(self.cfg["cues"])
        self._examiner = Examiner(self.settings, self.rules, self.roster)

    def set_roster(self, names: Sequence[str]) -> None:
        """Keep weak names that stand on a class list: full names, in any order of their parts. It is not saved with the pipeline."""
        self.roster = folded_words(names)
        self._examiner = Examiner(self.settings, self.rules, self.roster)

    def __call__(self, doc: Doc) -> Doc:
        handle = self.get_error_handler()
        try:
            self.set_annotations([doc], [self.find_spans(doc)])
        except Exception as e:  # noqa: BLE001  (the handler decides, as in spaCy's own pipes)
            handle(self.name, self, [doc], e)
        finally:
            forget()
        return doc

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Process a stream in batches, with the pipeline's error handler per batch."""
        handle = self.get_error_handler()
        for batch in minibatch(stream, size=batch_size):
            docs = list(batch)
            try:
                self.set_annotations(docs, self.find_all(docs))
            except Exception as e:  # noqa: BLE001
                handle(self.name, self, docs, e)
                continue
            finally:
                forget()
            yield from docs

    def set_annotations(self, docs: Iterable[Doc], found: Iterable[list[Candidate]]) -> None:
        for doc, cands in zip(docs, found, strict=True):
            key = self.cfg["spans_key"]
            write = write_spans if self.has_our_tokens(doc) else write_whole
            write(doc, with_given(doc, cands, key), key)
            if self.classifier is not None:
                doc.spans[key].attrs[PROTECT_AT] = self._protect_at(doc)
            write_ents(doc, [span for span in doc.spans[key] if span.label_ not in KEPT], self.ents_filter, key)

    def score(self, examples: Iterable[Example], **kwargs: Any) -> dict[str, Any]:
        """RETURNS (dict[str, Any]): See `score_ents`."""
        return score_ents(examples, KEPT.__contains__, spans_key=self.cfg["spans_key"])

    def find_spans(self, doc: Doc) -> list[Candidate]:
        return self.find_all([doc])[0]

    def find_all(self, docs: Sequence[Doc]) -> list[list[Candidate]]:
        """RETURNS (list[list[Candidate]]): Per document, which stays as it is, all candidates, sorted, without overlaps, names decided."""
        seen = [self.examine(doc) for doc in docs]
        read = self.read(docs, seen) if self.classifier is not None else [None] * len(docs)
        return [self._found(doc, known, rows) for doc, known, rows in zip(docs, seen, read, strict=True)]

    def _found(self, doc: Doc, seen: Examined | None, read: numpy.ndarray | None) -> list[Candidate]:
        if seen is None:
            return self._read(doc)
        named = self._by_evidence(seen) if self.classifier is None else self._by_model(self.classifier, seen, doc, read)
        return sorted([*seen.others, *named], key=lambda c: c.start)

    def examine(self, doc: Doc) -> Examined | None:
        """RETURNS (Examined | None): What is known of a document before it is decided; None for a text of white space."""
        return self._examiner.examine(doc, self._read(doc))

    def people(self, view: DocView, cands: Sequence[Candidate]) -> People:
        return self._examiner.people(view, cands, {})

    def _read(self, doc: Doc) -> list[Candidate]:
        return [_with_roles(c) for c in read_spans(doc, self.cfg["spans_key"]) if not (is_name(c.label) and _is_added(c))]

    def read(self, docs: Sequence[Doc], seen: Sequence[Examined | None]) -> list[numpy.ndarray | None]:
        """RETURNS (list[numpy.ndarray | None]): Per document what the role encoder says of everybody; None without one or without names."""
        found: list[numpy.ndarray | None] = [None] * len(docs)
        if self.reader is not None:
            named = [(n, (docs[n], known.view, known.people)) for n, known in enumerate(seen) if known and known.weighed]
            for (n, _), rows in zip(named, self.reader.read([texts for _, texts in named]) if named else (), strict=True):
                found[n] = rows
        return found

    def _protect_at(self, doc: Doc) -> float:
        group = doc.spans.get(self.cfg["spans_key"])  # none, if nothing before found anything
        return self.settings.protect_at(BALANCED if group is None else group.attrs.get(OPERATING_POINT, BALANCED))

    def _by_evidence(self, seen: Examined) -> list[Candidate]:
        # CHARACTER only if anything tells of a story
        roles = ROLES if seen.tells or not self.settings.story_cue else tuple(role for role in ROLES if role != CHARACTER)
        found = []
        for n, w in enumerate(seen.weighed):
            role, reason = decide(w.evidence, w.model, roles=roles)
            found += _written(seen.people, n, role, reason)
        return found

    def _by_model(self, model: PersonModel, seen: Examined, doc: Doc, read: numpy.ndarray | None) -> list[Candidate]:
        if not seen.weighed:
            return []
        least = self._protect_at(doc)
        rows = seen.rows(read)
        masked = shares(rows) if read is None else (shares(rows) + roles_of(rows[:, READER])) / 2.0
        adjusted = [
            adjust_posterior(p, masked[n], seen.view, seen.people, person, w, self.settings)
            for n, (person, w, p) in enumerate(zip(seen.people.persons, seen.weighed, model.predict(rows), strict=True))
        ]
        each = [sum(float(p[ROLES.index(role)]) for role in PRIVATE) for p in adjusted]
        chances = isolation_penalty(each, seen.people, self.settings)
        found = []
        for n, (w, p, private) in enumerate(zip(seen.weighed, adjusted, chances, strict=True)):
            if private < least and p[-1] > p[:-1].max():
                continue
            roles = [role for role in ROLES if (role in PRIVATE) == (private >= least)]
            # Among these the role encoder's word counts as much, for a character without a story, too: nobody comes out of hiding by it.
            believed = p[:-1] if read is None else (p[:-1] + roles_of(read[n : n + 1])[0]) / 2.0
            role = max(roles, key=lambda r: float(believed[ROLES.index(r)]))
            score = private if role in PRIVATE else float(believed[ROLES.index(role)])
            # Who is hidden only because nobody is sure keeps the likeliest role: the label says what is done, the role who it is.
            likely = ROLES[int(believed.argmax())] if role in PRIVATE else role
            unsure = likely != role
            reason = reason_for(likely, w.evidence, w.model) + ("; hidden, to be safe" if unsure else "")
            found += _written(seen.people, n, role, reason, min(score, 1.0), likely if unsure else "")
        return found

    def _part(self, name: str) -> bytes:
        if name == "cfg":
            return srsly.json_dumps(self.cfg, indent=2).encode("utf8")
        part = self.classifier if name == "classifier" else self.reader
        return b"" if part is None else part.to_bytes()

    def _read_part(self, name: str, data: bytes) -> None:
        if name == "cfg":
            self.cfg.update(srsly.json_loads(data))
        elif name == "classifier":
            self.classifier = PersonModel.from_bytes(data) if data else None
        else:
            self.reader = PersonReader.from_bytes(data) if data else None

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """RETURNS (bytes): The component. exclude (Iterable[str]): Of "cfg", "classifier" and "reader", what to leave out."""
        return util.to_bytes({name: partial(self._part, name) for name in _PARTS}, exclude)

    def from_bytes(self, bytes_data: bytes, *, exclude: Iterable[str] = ()) -> Self:
        """Load what `to_bytes` returned. RAISES (PiiError): E304 for a classifier of another version."""
        with self.loading():
            util.from_bytes(bytes_data, {name: partial(self._read_part, name) for name in _PARTS}, exclude)
        self._load()
        return self

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Save in a folder. exclude (Iterable[str]): As in `to_bytes`."""

        def write(p: Path) -> None:
            p.write_bytes(self._part(p.name))

        util.to_disk(path, dict.fromkeys(_PARTS, write), exclude)

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> Self:
        """Load what `to_disk` saved. RAISES (PiiError): E304 for a classifier of another version."""

        def read(p: Path) -> None:
            self._read_part(p.name, p.read_bytes() if p.is_file() else b"")

        with self.loading():
            util.from_disk(path, dict.fromkeys(_PARTS, read), exclude)
        self._load()
        return self


def _written(
    people: People, number: int, role: str, reason: str, score: float | None = None, likely: str = ""
) -> list[Candidate]:
    found, person = [], people.persons[number]
    for i in person:
        here = any(e.role == (likely or role) for e in people.evidence[i])
        note = reason if here or len(person) == 1 else f"{reason} (another mention)"
        cand = people.cands[i]
        taken = cand.score if score is None else score
        found.append(replace(cand, label=label_for_role(role), reason=note, score=taken, likely=likely, person=number))
    return found


def _is_added(c: Candidate) -> bool:
    return c.source == PROPAGATION or c.source.startswith(CUE_PREFIX)


def _with_roles(c: Candidate) -> Candidate:
    if not is_name(c.label) or len(c.roles) == len(ROLES):
        return c
    return replace(c, roles=tuple(0.6 if role == c.role else 0.1 for role in ROLES))
