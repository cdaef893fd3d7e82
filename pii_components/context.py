"""`pii_context`: whose name is it, and why. One decision per person of a document, not one per mention.

    nlp.add_pipe("pii_context", after="pii_ruler", config={"settings": {"min_score": 0.4}})
    [(span.text, span._.pii_role, span._.pii_reason) for span in doc.spans["pii"]]

It reads names of any role from `doc.spans["pii"]`, weak ones too, mends their edges, adds names that only a strong cue shows,
drops weak ones without evidence, links the mentions of a person, weighs what speaks for each role, and marks an accepted name
everywhere. It touches nothing but names. Verifiers that decide per mention lose people with one-word names (recall .30 against
.95 on CRAPII); a bare word here shares the evidence of its person.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy
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
    reason_for,
    weigh_header,
)  # fmt: skip
from .context_examined import Examined
from .context_features import READER, People, Weighed, roles_of, token_vectors
from .context_find import find_by_cue
from .context_model import PersonModel, shares
from .context_persons import Mention, link, parse_form
from .context_propagate import Known, propagate
from .context_reach import settle
from .context_reader import PersonReader
from .context_repair import repair
from .context_saved import Saved
from .context_settings import ContextSettings
from .context_spelling import respell
from .context_view import DocView, Place
from .context_words import story_pattern
from .labels import CHARACTER, CONNECTED, ROLES, STUDENT, is_name, label_for_role
from .operating import BALANCED, OPERATING_POINT
from .spans import PROPAGATION, SPANS_KEY, Candidate, install_extensions, read_spans, write_spans

CUE_PREFIX = "cue:"
# Whom CRAPII's annotators marked: the student, classmates, team members, friends. Teachers are told from them by their role.
PRIVATE = (STUDENT, CONNECTED)
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


class PiiContext(Saved, Pipe):
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
        self.classifier: PersonModel | None = None
        self.reader: PersonReader | None = None
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
                self.set_annotations(docs, self.find_all(docs))
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
        """RETURNS (list[Candidate]): As `find_all`, of one document. doc (Doc): Stays as it is."""
        return self.find_all([doc])[0]

    def find_all(self, docs: Sequence[Doc]) -> list[list[Candidate]]:
        """All candidates of some documents, their names decided.

        docs (Sequence[Doc]): Stay as they are.
        RETURNS (list[list[Candidate]]): Per document, sorted, without overlaps; others than names unchanged.
        """
        seen = [self.examine(doc) for doc in docs]
        read = self.read(docs, seen) if self.classifier is not None else [None] * len(docs)
        return [self._found(doc, known, rows) for doc, known, rows in zip(docs, seen, read, strict=True)]

    def _found(self, doc: Doc, seen: Examined | None, read: numpy.ndarray | None) -> list[Candidate]:
        if seen is None:
            return [_with_roles(c) for c in read_spans(doc, self.cfg["spans_key"]) if not (is_name(c.label) and _is_added(c))]
        named = self._decided(seen) if self.classifier is None else self._decided_by_model(self.classifier, seen, doc, read)
        return sorted([*seen.others, *named], key=lambda c: c.start)

    def examine(self, doc: Doc) -> Examined | None:
        """Everything up to the decision: names found and mended, weak ones dropped, mentions linked, evidence weighed.

        doc (Doc): Stays as it is. RETURNS (Examined | None): None for a text of white space.
        """
        view = DocView(doc, self.settings)
        # What an earlier run of this component added is found again, so that running twice changes nothing.
        base = [_with_roles(c) for c in read_spans(doc, self.cfg["spans_key"]) if not (is_name(c.label) and _is_added(c))]
        if not view.filled:
            return None
        cache: dict[Place, list[Evidence]] = {}
        people = People([], [], [], [], [])
        for _ in range(_ROUNDS):
            if self.settings.repair:
                base = repair(view, base)
            added = find_by_cue(view, base, self.rules) if self.settings.find else []
            people = self._gathered(view, [*(c for c in base if is_name(c.label)), *added], cache)
            kept = self._accepted(people)
            dropped = {(c.start, c.end) for c, keep in zip(people.cands, kept, strict=True) if not keep}
            if not dropped:
                break
            base = [c for c in base if (c.start, c.end) not in dropped]
            added = [c for c in added if (c.start, c.end) not in dropped]
        else:
            people = self._gathered(view, [*(c for c in base if is_name(c.label)), *added], cache)
        others = [c for c in base if not is_name(c.label)]
        if self.settings.propagate and people.cands:
            more = propagate(view, _known(view, people), [*others, *people.cands])
            if more:
                people = self._gathered(view, [*people.cands, *(cand for cand, _ in more)], cache)
        weighed = [self._weighed(people, person) for person in people.persons]
        return Examined(view, others, people, weighed, self._tells(view, weighed))

    def _gathered(self, view: DocView, cands: Sequence[Candidate], cache: dict[Place, list[Evidence]]) -> People:
        """Gather forms, places, evidence and persons of some names."""
        cands = sorted(cands, key=lambda c: c.start)
        forms = respell([parse_form(view.words[c.start : c.end]) for c in cands])
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
        return People(cands, forms, places, evidence, persons)

    def people(self, view: DocView, cands: Sequence[Candidate]) -> People:
        """RETURNS (People): Some names of a document, and whose they are. view (DocView): It. cands (Sequence[Candidate]): The names."""
        return self._gathered(view, cands, {})

    def read(self, docs: Sequence[Doc], seen: Sequence[Examined | None]) -> list[numpy.ndarray | None]:
        """What the reader says of everybody.

        docs (Sequence[Doc]), seen (Sequence[Examined | None]): The same documents.
        RETURNS (list[numpy.ndarray | None]): Per document, see `PersonReader.read`; None without a reader, and where nobody is named.
        """
        found: list[numpy.ndarray | None] = [None] * len(docs)
        named = [n for n, known in enumerate(seen) if known is not None and known.weighed]
        if self.reader is not None and named:
            texts = [(docs[n], known.view, known.people) for n in named if (known := seen[n]) is not None]
            for n, rows in zip(named, self.reader.read(texts), strict=True):
                found[n] = rows
        return found

    def _own(self, people: People, i: int) -> float:
        """The log-odds that a mention by itself is a name."""
        parts = people.cands[i], people.forms[i], people.places[i], people.evidence[i]
        return name_logit(*parts, settings=self.settings, roster=self.roster)

    def _accepted(self, people: People) -> list[bool]:
        """Whether each name is kept: strong enough by itself, or by the link to a mention that is."""
        own = [self._own(people, i) >= self._limit for i in range(len(people.cands))]
        kept = list(own)
        for person in people.persons:
            if any(own[i] for i in person):
                anchored = any(e.anchor for i in person for e in people.evidence[i])
                for i in person:
                    denied = any(e.role not in ROLES for e in people.evidence[i])
                    kept[i] = own[i] or not denied or (anchored and people.forms[i].full)
        return kept

    def _weighed(self, people: People, person: Sequence[int]) -> Weighed:
        cands = [people.cands[i] for i in person]
        evidence = person_evidence(
            cands, [people.forms[i] for i in person], [people.evidence[i] for i in person], self.settings
        )
        return Weighed(evidence, model_scores(cands, self.settings), max(self._own(people, i) for i in person))

    def _tells(self, view: DocView, weighed: Sequence[Weighed]) -> bool:
        told = any(e.role == CHARACTER and e.weight > 0 for w in weighed for e in w.evidence)
        return told or story_pattern().search(view.text.lower()) is not None

    def _decided(self, seen: Examined) -> list[Candidate]:
        """The names with their roles and reasons, by the sums of evidence."""
        # CHARACTER only if anything tells of a story
        roles = ROLES if seen.tells or not self.settings.story_cue else tuple(role for role in ROLES if role != CHARACTER)
        found = []
        for person, w in zip(seen.people.persons, seen.weighed, strict=True):
            role, reason = decide(w.evidence, w.model, roles=roles)
            found += self._written(seen.people, person, role, reason)
        return found

    def _written(
        self, people: People, person: Sequence[int], role: str, reason: str, score: float = -1.0, likely: str = ""
    ) -> list[Candidate]:
        """A person's mentions with a role.

        score (float): Takes the place of the detector's, if 0 or more. likely (str): Another role that is likelier; empty if none is.
        """
        found = []
        for i in person:
            here = any(e.role == (likely or role) for e in people.evidence[i])
            note = reason if here or len(person) == 1 else f"{reason} (another mention)"
            cand = people.cands[i]
            taken = cand.score if score < 0 else score
            found.append(replace(cand, label=label_for_role(role), reason=note, score=taken, likely=likely))
        return found

    def _decided_by_model(self, model: PersonModel, seen: Examined, doc: Doc, read: numpy.ndarray | None) -> list[Candidate]:
        """The names with their roles, reasons and calibrated probabilities, by the trained classifier."""
        if not seen.weighed:
            return []
        point = doc.spans[self.cfg["spans_key"]].attrs.get(OPERATING_POINT, BALANCED)
        least = self.settings.protect_at(point)
        found = []
        rows = seen.rows(token_vectors(doc) if model.width else None, read)
        blind = shares(rows) if read is None else (shares(rows) + roles_of(rows[:, READER])) / 2.0
        for n, (person, w, p) in enumerate(zip(seen.people.persons, seen.weighed, model.predict(rows), strict=True)):
            p = settle(p, blind[n], seen.view, seen.people, person, w)
            private = sum(float(p[ROLES.index(role)]) for role in PRIVATE)
            if private >= least:
                roles: Sequence[str] = PRIVATE
            elif p[-1] > p[:-1].max():
                continue
            else:
                roles = tuple(role for role in ROLES if role not in PRIVATE)
            # Among these the reader's word counts as much, for a character without a story, too: nobody comes out of hiding by it.
            believed = p[:-1] if read is None else (p[:-1] + roles_of(read[n : n + 1])[0]) / 2.0
            role = max(roles, key=lambda r: float(believed[ROLES.index(r)]))
            score = private if role in PRIVATE else float(believed[ROLES.index(role)])
            # Who is hidden only because nobody is sure keeps the likeliest role: the label says what is done, the role who it is.
            likely = ROLES[int(believed.argmax())] if role in PRIVATE else role
            unsure = likely != role
            reason = reason_for(likely, w.evidence, w.model) + ("; hidden, to be safe" if unsure else "")
            found += self._written(seen.people, person, role, reason, min(score, 1.0), likely if unsure else "")
        return found


def _is_added(c: Candidate) -> bool:
    return c.source == PROPAGATION or c.source.startswith(CUE_PREFIX)


def _with_roles(c: Candidate) -> Candidate:
    """A name without role probabilities (from a roster, a language model) gets its label as a soft reading of its role."""
    if not is_name(c.label) or len(c.roles) == len(ROLES):
        return c
    return replace(c, roles=tuple(0.6 if role == c.role else 0.1 for role in ROLES))


def _known(view: DocView, names: People) -> list[Known]:
    person_of = {i: n for n, person in enumerate(names.persons) for i in person}
    return [
        Known(c, form, person_of[i], tuple(w for w in view.words[c.start : c.end] if w[:1].isalpha()))
        for i, (c, form) in enumerate(zip(names.cands, names.forms, strict=True))
    ]
