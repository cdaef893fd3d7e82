"""`pii_context`: whose name is it, and why. One decision per person of a document, not one per mention.

    nlp.add_pipe("pii_context", after="pii_ruler", config={"settings": {"min_score": 0.4}})
    [(span.text, span._.pii_role, span._.pii_reason) for span in doc.spans["pii"]]

It reads names of any role from `doc.spans["pii"]`, weak ones too, mends their edges, adds names that only a strong cue shows,
drops weak ones without evidence, links the mentions of a person, weighs what speaks for each role, and marks an accepted name
everywhere. It touches nothing but names. Verifiers that decide per mention lose people with one-word names (recall .30 against
.95 on CRAPII); a bare word here shares the evidence of its person.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import srsly
from spacy import util
from spacy.language import Language
from spacy.pipeline.pipe import Pipe
from spacy.tokens import Doc
from spacy.util import minibatch

from .context_cues import CueRules, read_cues
from .context_evidence import (
    Evidence,
    decide,
    folded_words,
    is_addressed,
    logit,
    mention_evidence,
    model_scores,
    name_logit,
    own_scores,
    person_evidence,
    weigh_header,
)  # fmt: skip
from .context_find import find_by_cue
from .context_persons import Form, Mention, link, parse_form
from .context_propagate import Known, propagate
from .context_repair import repair
from .context_settings import ContextSettings
from .context_view import DocView, Place
from .context_words import story_pattern
from .labels import CHARACTER, ROLES, is_name, label_for_role
from .spans import SPANS_KEY, Candidate, install_extensions, read_spans, write_spans

PROPAGATION = "propagation"
CUE_PREFIX = "cue:"
_ROUNDS = 5  # dropping a name changes what others see beside them; five rounds settle it, and a sixth never came


@Language.factory(
    "pii_context",
    assigns=["doc.spans"],
    requires=["doc.spans"],
    default_config={"spans_key": SPANS_KEY, "settings": ContextSettings().to_dict(), "cues": []},
)
def make_pii_context(
    nlp: Language, name: str, *, spans_key: str, settings: dict[str, Any], cues: list[dict[str, Any]]
) -> "PiiContext":
    """Make a `pii_context`. See `PiiContext` for the settings."""
    return PiiContext(name, spans_key=spans_key, settings=settings, cues=cues)


@dataclass(frozen=True, slots=True)
class _Names:
    """The names of one document, in parallel: candidates, their forms, places and evidence."""

    cands: list[Candidate]
    forms: list[Form]
    places: list[Place]
    evidence: list[list[Evidence]]
    persons: list[list[int]]


class PiiContext(Pipe):
    """Decides the role of every name, with a reason, per (document, person)."""

    def __init__(
        self,
        name: str = "pii_context",
        *,
        spans_key: str = SPANS_KEY,
        settings: dict[str, Any] | None = None,
        cues: Sequence[dict[str, Any]] = (),
        roster: Sequence[str] | None = None,
    ) -> None:
        """
        name (str): The component's name in the pipeline.
        spans_key (str): The span group that is read and written.
        settings (dict[str, Any] | None): Thresholds and weights, see `ContextSettings`; what is missing has its default.
        cues (Sequence[dict[str, Any]]): Further rules, as in resources/cues/names.toml; one with the id of a shipped rule takes
            its place.
        roster (Sequence[str] | None): Names of a class. Never saved with the pipeline.
        RAISES (PiiError): E301, E302 for settings, E303 for cues that cannot be used.
        """
        install_extensions()
        self.name = name
        self.cfg: dict[str, Any] = {
            "spans_key": spans_key,
            "settings": dict(settings or {}),
            "cues": [dict(cue) for cue in cues],
        }
        self.roster = folded_words(roster or ())
        self._load()

    def _load(self) -> None:
        self.settings = ContextSettings.from_dict(self.cfg["settings"])
        self.rules: CueRules = read_cues(self.cfg["cues"])
        self._limit = logit(self.settings.min_score)

    def set_roster(self, names: Sequence[str]) -> None:
        """Use a class list: a weak name that stands on it is kept. It is not saved with the pipeline.

        names (Sequence[str]): Full names, in any order of their parts.
        """
        self.roster = folded_words(names)

    def __call__(self, doc: Doc) -> Doc:
        """Decide the names of one document.

        doc (Doc): With candidates in its span group.
        RETURNS (Doc): The same.
        """
        handle = self.get_error_handler()
        try:
            self.set_annotations([doc], [self.find_spans(doc)])
        except Exception as e:  # noqa: BLE001  (the handler decides, as in spaCy's own pipes)
            handle(self.name, self, [doc], e)
        return doc

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Process a stream in batches, with the pipeline's error handler per batch.

        stream (Iterable[Doc]): Documents. YIELDS (Doc): The same, in order.
        """
        install_extensions()
        handle = self.get_error_handler()
        for batch in minibatch(stream, size=batch_size):
            docs = list(batch)
            try:
                self.set_annotations(docs, [self.find_spans(doc) for doc in docs])
                yield from docs
            except Exception as e:  # noqa: BLE001
                handle(self.name, self, docs, e)

    def set_annotations(self, docs: Iterable[Doc], found: Iterable[list[Candidate]]) -> None:
        """Write what was found.

        docs (Iterable[Doc]): The documents. found (Iterable[list[Candidate]]): What `find_spans` returned for them.
        """
        for doc, cands in zip(docs, found, strict=True):
            write_spans(doc, cands, self.cfg["spans_key"])

    def find_spans(self, doc: Doc) -> list[Candidate]:
        """All candidates of a document, its names decided.

        doc (Doc): Stays as it is.
        RETURNS (list[Candidate]): Sorted, without overlaps; others than names unchanged.
        """
        view = DocView(doc, self.settings)
        # What an earlier run of this component added is found again, so that running twice changes nothing.
        base = [_with_roles(c) for c in read_spans(doc, self.cfg["spans_key"]) if not (is_name(c.label) and _is_added(c))]
        if not view.filled:
            return base
        cache: dict[Place, list[Evidence]] = {}
        names = _Names([], [], [], [], [])
        for _ in range(_ROUNDS):
            if self.settings.repair:
                base = repair(view, base)
            added = find_by_cue(view, base, self.rules) if self.settings.find else []
            names = self._names(view, [*(c for c in base if is_name(c.label)), *added], cache)
            kept = self._accepted(names)
            dropped = {(c.start, c.end) for c, keep in zip(names.cands, kept, strict=True) if not keep}
            if not dropped:
                break
            base = [c for c in base if (c.start, c.end) not in dropped]
            added = [c for c in added if (c.start, c.end) not in dropped]
        else:
            names = self._names(view, [*(c for c in base if is_name(c.label)), *added], cache)
        others = [c for c in base if not is_name(c.label)]
        if self.settings.propagate and names.cands:
            more = propagate(view, _known(view, names), [*others, *names.cands])
            if more:
                names = self._names(view, [*names.cands, *(cand for cand, _ in more)], cache)
        return sorted([*others, *self._decided(view, names)], key=lambda c: c.start)

    def _names(self, view: DocView, cands: Sequence[Candidate], cache: dict[Place, list[Evidence]]) -> _Names:
        """Gather forms, places, evidence and persons of some names."""
        cands = sorted(cands, key=lambda c: c.start)
        forms = [parse_form(view.words[c.start : c.end]) for c in cands]
        places = view.places(cands)
        evidence = []
        for place in places:
            if place not in cache:
                cache[place] = mention_evidence(place, self.rules, self.settings)
            evidence.append(cache[place])
        evidence = weigh_header(places, evidence, self.settings)
        mentions = [
            Mention(
                i,
                c.start,
                form,
                own_scores(e),
                signs=bool(place.zones & {"header", "lead", "signoff"}) or any(x.anchor for x in e),
                addressed=is_addressed(e),
            )
            for i, (c, form, place, e) in enumerate(zip(cands, forms, places, evidence, strict=True))
        ]
        persons = link(mentions, margin=self.settings.split_margin, signed=self.settings.split_signed)
        return _Names(cands, forms, places, evidence, persons)

    def _accepted(self, names: _Names) -> list[bool]:
        """Whether each name is kept: strong enough by itself, or by the link to a mention that is."""
        own = [
            name_logit(c, form, place, e, settings=self.settings, roster=self.roster) >= self._limit
            for c, form, place, e in zip(names.cands, names.forms, names.places, names.evidence, strict=True)
        ]
        kept = list(own)
        for person in names.persons:
            if any(own[i] for i in person):
                anchored = any(e.anchor for i in person for e in names.evidence[i])
                for i in person:
                    denied = any(e.role not in ROLES for e in names.evidence[i])
                    kept[i] = own[i] or not denied or (anchored and names.forms[i].full)
        return kept

    def _decided(self, view: DocView, names: _Names) -> list[Candidate]:
        """The names with their roles and reasons."""
        found = []
        weighed = []
        for person in names.persons:
            cands = [names.cands[i] for i in person]
            evidence = person_evidence(
                cands, [names.forms[i] for i in person], [names.evidence[i] for i in person], self.settings
            )
            weighed.append((evidence, model_scores(cands, self.settings)))
        roles = self._roles(view, weighed)
        for person, (evidence, model) in zip(names.persons, weighed, strict=True):
            cands = [names.cands[i] for i in person]
            role, reason = decide(evidence, model, roles=roles)
            for i, cand in zip(person, cands, strict=True):
                here = any(e.role == role for e in names.evidence[i])
                note = reason if here or len(person) == 1 else f"{reason} (another mention)"
                found.append(replace(cand, label=label_for_role(role), reason=note))
        return found

    def _roles(self, view: DocView, weighed: Sequence[tuple[list[Evidence], dict[str, float]]]) -> tuple[str, ...]:
        """RETURNS (tuple[str, ...]): The roles that people of this document can have; CHARACTER if anything tells of a story."""
        told = not self.settings.story_cue or any(e.role == CHARACTER and e.weight > 0 for found, _ in weighed for e in found)
        if told or story_pattern().search(view.text.lower()):
            return ROLES
        return tuple(role for role in ROLES if role != CHARACTER)

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """RETURNS (bytes): The component. exclude (Iterable[str]): Names of fields to leave out: "cfg"."""
        return util.to_bytes({"cfg": lambda: srsly.json_dumps(self.cfg)}, exclude)

    def from_bytes(self, bytes_data: bytes, *, exclude: Iterable[str] = ()) -> "PiiContext":
        """Load from bytes.

        bytes_data (bytes): What `to_bytes` returned. exclude (Iterable[str]): Names of fields to leave out.
        RETURNS (PiiContext): This component.
        """
        util.from_bytes(bytes_data, {"cfg": lambda b: self.cfg.update(srsly.json_loads(b))}, exclude)
        self._load()
        return self

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Save. path (str | Path): A folder. exclude (Iterable[str]): Names of fields to leave out: "cfg"."""
        util.to_disk(path, {"cfg": lambda p: srsly.write_json(p, self.cfg)}, exclude)

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> "PiiContext":
        """Load from a folder.

        path (str | Path): As saved by `to_disk`. exclude (Iterable[str]): Names of fields to leave out.
        RETURNS (PiiContext): This component.
        """
        util.from_disk(path, {"cfg": lambda p: self.cfg.update(srsly.read_json(p))}, exclude)
        self._load()
        return self


def _is_added(c: Candidate) -> bool:
    return c.source == PROPAGATION or c.source.startswith(CUE_PREFIX)


def _with_roles(c: Candidate) -> Candidate:
    """A name without role probabilities (from a roster, a language model) gets its label as a soft reading of its role."""
    if not is_name(c.label) or len(c.roles) == len(ROLES):
        return c
    return replace(c, roles=tuple(0.6 if role == c.role else 0.1 for role in ROLES))


def _known(view: DocView, names: _Names) -> list[Known]:
    person_of = {i: n for n, person in enumerate(names.persons) for i in person}
    return [
        Known(c, form, person_of[i], tuple(w for w in view.words[c.start : c.end] if w[:1].isalpha()))
        for i, (c, form) in enumerate(zip(names.cands, names.forms, strict=True))
    ]
