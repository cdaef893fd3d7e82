"""Everything that `pii_context` does before it decides: names found and mended, weak ones dropped, mentions linked, evidence weighed.

    examiner = Examiner(settings, read_cues([]), roster=frozenset())
    examiner.examine(doc, candidates)
"""

from collections.abc import Sequence

from spacy.tokens import Doc

from .context_cues import CueRules
from .context_evidence import (
    Evidence,
    is_addressed,
    logit,
    mention_evidence,
    model_scores,
    name_logit,
    own_scores,
    person_evidence,
    signs,
    weigh_header,
)
from .context_examined import Examined
from .context_features import People, Weighed
from .context_find import find_by_cue
from .context_persons import Mention, link, parse_form
from .context_propagate import Known, propagate
from .context_repair import repair
from .context_settings import ContextSettings
from .context_spelling import respell
from .context_unnamed import drop_unnamed
from .context_view import DocView, Place
from .context_words import story_pattern
from .labels import CHARACTER, ROLES, is_name
from .spans import Candidate

CUE_PREFIX = "cue:"
_ROUNDS = 5  # dropping a name changes what others see beside them; five rounds settle it, and a sixth never came


class Examiner:
    """Reads documents with some settings.

    settings (ContextSettings): Thresholds and weights. rules (CueRules): Cues. roster (frozenset[str]): Folded words of a class list.
    """

    def __init__(self, settings: ContextSettings, rules: CueRules, roster: frozenset[str]) -> None:
        self.settings = settings
        self.rules = rules
        self.roster = roster
        self._limit = logit(settings.min_score)

    def examine(self, doc: Doc, base: list[Candidate]) -> Examined | None:
        """Read a document.

        doc (Doc): Stays as it is. base (list[Candidate]): What others found in it.
        RETURNS (Examined | None): None for a text of white space.
        """
        view = DocView(doc, self.settings)
        if not view.filled:
            return None
        cache: dict[Place, list[Evidence]] = {}
        people = People([], [], [], [], [])
        base = drop_unnamed(view, base)
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
                signs=signs(place, e),
                addressed=is_addressed(e),
            )
            for i, (c, form, place, e) in enumerate(zip(cands, forms, places, evidence, strict=True))
        ]
        persons = link(mentions, margin=self.settings.split_margin, signed=self.settings.split_signed)
        return People(cands, forms, places, evidence, persons)

    def people(self, view: DocView, cands: Sequence[Candidate]) -> People:
        """RETURNS (People): Some names of a document, and whose they are. view (DocView): It. cands (Sequence[Candidate]): The names."""
        return self._gathered(view, cands, {})

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


def _known(view: DocView, names: People) -> list[Known]:
    person_of = {i: n for n, person in enumerate(names.persons) for i in person}
    return [
        Known(c, form, person_of[i], tuple(w for w in view.words[c.start : c.end] if w[:1].isalpha()))
        for i, (c, form) in enumerate(zip(names.cands, names.forms, strict=True))
    ]
