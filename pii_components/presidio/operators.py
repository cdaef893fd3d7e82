"""Presidio's anonymizer with our surrogates: the operator `hips`, and `reidentify` for the way back.

    engine = PiiEduAnonymizer(key=key, profile="crapii", vault=vault)
    result = engine.anonymize(text, analyzer.analyze(text, language="en"))
    PiiEduDeanonymizer(vault=vault).deanonymize(result.text, result.items).text == text

Presidio makes a new operator for each span, calls it from the end of the text to its start and lets it see one span
only, or several that it has merged. But people, e-mail addresses and dates hang together over a document. So an
operator here is a pure function without memory, and what a document needs is decided before, by the same function as
in `hips_surrogate`. What an operator knows decides what is linked:

- type and text of a span: equal values get equal surrogates; people, their e-mails and dates stand each on their own;
- `PiiEduAnonymizer`: they are linked as in `hips_surrogate`, by place too, so that two people with one text are two.
"""

import hmac
import threading
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from ..errors import Errors, PiiError
from ..labels import AGREEMENT, HEADER, LABELS, PRIORITY, check_label, role_of
from ..names.people import identify
from ..offsets import Replacement, apply_replacements
from ..profiles import REMOVE, TAG, Profile, shipped_profiles
from ..surrogates.keys import KEY_ENV, SurrogateKey, check_key, load_key
from ..surrogates.owners import detail_owners
from ..surrogates.plan import plan
from ..surrogates.values import Item
from ..vault.vault import Entry, Hidden, Release, Vault
from .settings import LABEL_KEY, label_of, presidio_needed

presidio_needed("the operators", package="presidio_anonymizer")

from presidio_anonymizer import (  # noqa: E402
    AnonymizerEngine,
    ConflictResolutionStrategy,
    DeanonymizeEngine,
    OperatorConfig,
)
from presidio_anonymizer.entities import (  # noqa: E402
    EngineResult,
    InvalidParamError,
    OperatorResult,
    RecognizerResult,
)
from presidio_anonymizer.operators import Operator, OperatorType  # noqa: E402

HIPS, REIDENTIFY = "hips", "reidentify"
DOCUMENT, CORPUS, THREAD = "document", "corpus", "thread:"
MERGE = ConflictResolutionStrategy.MERGE_SIMILAR_OR_CONTAINED
_DEFAULT = "DEFAULT"
# Parts the type of an entity from its place; no type of anybody's holds it.
_AT = "\x1f"
# A vault is one file with one position, and a service has threads.
_VAULT_LOCK = threading.Lock()
# Parameters of `hips`: the types that a user may give, and what an error calls them.
_PARAMS: dict[str, tuple[tuple[type, ...], str]] = {
    "key": ((bytes, str, type(None)), "text or bytes"),
    "profile": ((str, Path, Profile, Mapping), "a profile's name or its settings"),
    "scope": ((str, type(None)), "text"),
    "reserved": ((bool, type(None)), "true or false"),
    "labels": ((Mapping, type(None)), "an object of entities and labels"),
}


class OperatorError(PiiError, InvalidParamError):
    """An error with a code that Presidio knows as its own: its REST service answers 422 to it."""

    def __init__(self, template: str, **values: object) -> None:
        super().__init__(template, **values)
        self.err_msg = str(self)


class NewTexts(dict[str, str]):
    """What stands in the place of each text of one document. It is not shown, since it holds originals."""

    def __repr__(self) -> str:
        return f"NewTexts of {len(self)} values"


def _expect(operator: str, name: str, value: object, types: Any, expected: str) -> None:
    if not isinstance(value, types):  # what it holds is not told
        what, got = (
            f"Parameter '{name}' of operator '{operator}'",
            f"of type {type(value).__name__}",
        )
        raise OperatorError(Errors.E650, name=what, value=got, allowed=expected)


@dataclass(frozen=True, slots=True)
class SurrogateSettings:
    """What surrogates depend on, beside the document; see `HipsOperator` for its parameters."""

    key: bytes = field(repr=False)
    profile: Profile
    scope: str
    reserved: bool | None
    labels: Mapping[str, str]

    @classmethod
    def of(cls, params: Mapping[str, Any], *, document: bool = False) -> "SurrogateSettings":
        """Check what a user gave.

        document (bool): Whether it is known; then the default of the scope is the profile's, else "corpus".
        RAISES (OperatorError): E464, E650, E833; E002, E402, E422 to E425 for key, profile and labels.
        """
        given = {"profile": "crapii", **params}
        for name, (types, expected) in _PARAMS.items():
            _expect(HIPS, name, given.get(name), types, expected)
        labels = dict(given.get("labels") or {})
        try:
            key = _key(given.get("key"))
            profile = _profile(given["profile"])
            for label in labels.values():
                check_label(label)
        except PiiError as err:
            raise OperatorError(str(err).replace("{", "{{").replace("}", "}}")) from None
        scope = given.get("scope") or (profile.scope if document else CORPUS)
        if scope in ("thread", THREAD) or (scope == DOCUMENT and not document):
            what = f"know its document or thread: scope '{scope}' takes its id (thread:ID)"
            raise OperatorError(Errors.E833, what=what)
        return cls(key, profile, scope, given.get("reserved"), labels)

    def refuse_headers(self) -> None:
        """RAISES (OperatorError): E833 for a profile that removes headers: an operator sees one span at a time."""
        if self.profile.header == REMOVE:
            what = f"remove headers, as profile '{self.profile.name}' does"
            raise OperatorError(Errors.E833, what=what)


def _key(given: str | bytes | None) -> bytes:
    key = load_key(env=KEY_ENV) if given is None else given
    if key is None:
        raise PiiError(Errors.E464, what="the operator hips", env=KEY_ENV)
    if isinstance(key, str):
        key = key.strip().encode("utf8")
    return check_key(key, source="the parameter key")


_load_profile = cache(Profile.load)


def _profile(value: str | Path | Profile | Mapping[str, Any]) -> Profile:
    # A name that comes with a request is never a path.
    if isinstance(value, str) and value not in shipped_profiles():
        raise PiiError(Errors.E425, profile=value[:40], allowed=", ".join(shipped_profiles()))
    return _load_profile(value) if isinstance(value, str | Path) else Profile.of(value)


# What is replaced beside the spans: headers, and words that agree with a surrogate.
BESIDE = (HEADER, AGREEMENT)


def plan_document(
    text: str,
    spans: Sequence[Any],
    labels: Sequence[str],
    settings: SurrogateSettings,
    entities: Collection[str],
) -> list[Replacement]:
    """Decide for all spans of a document together.

    spans (Sequence[RecognizerResult]): Sorted, no two at the same place.
    labels (Sequence[str]): Our label of each.
    entities (Collection[str]): Types that `hips` replaces; others are another operator's business, and no surrogate is
        like them.
    RETURNS (list[Replacement]): For each span that is replaced and each header that the profile removes.
    """
    profile = settings.profile
    places = [(span.start, span.end, label) for span, label in zip(spans, labels, strict=True)]
    people = identify(text, [(*place, None) for place in places])
    roles = [role_of(label) for label in labels]
    if profile.by_role:
        roles = [owner.role for owner in detail_owners(text, places, people)]
    items, others = [], set()
    for span, (start, end, label), role in zip(spans, places, roles, strict=True):
        action = profile.action(label, role)
        if span.entity_type not in entities:
            action = TAG
            others.add((start, end))
        items.append(Item(start, end, label, action))
    chance = SurrogateKey(settings.key, settings.scope)
    is_local = settings.scope == DOCUMENT
    if is_local:
        chance = chance.within("document:" + chance.digest("document", text).hex())
    made = plan(
        text,
        items,
        people=people,
        profile=profile,
        chance=chance,
        reserved=settings.reserved,
        local=is_local,
    )
    return [rep for rep in made if rep.label in BESIDE or (rep.start, rep.end) not in others]


def _between(text: str, span: Any, made: Sequence[Replacement]) -> str:
    """RETURNS (str): What becomes of a stretch: one span, or several that were merged."""
    inside = [
        Replacement(rep.start - span.start, rep.end - span.start, rep.new)
        for rep in made
        if span.start <= rep.start and rep.end <= span.end
    ]
    return apply_replacements(text[span.start : span.end], inside)[0]


def _labels_of(
    text: str, spans: Sequence[Any], results: Sequence[Any], labels: Mapping[str, str]
) -> list[str]:
    """RETURNS (list[str]): Our labels of spans that Presidio made of results; a result that says our label keeps it. Of
    several that were merged, the label that protects most. RAISES (OperatorError): E411 for a span outside of the text."""
    found = []
    for span in spans:
        if not 0 <= span.start <= span.end <= len(text):
            raise OperatorError(Errors.E411, start=span.start, end=span.end, length=len(text))
        said: set[str] = set()
        for result in results if span.entity_type not in labels else ():
            about = getattr(result, "recognition_metadata", None) or {}
            if span.entity_type == result.entity_type and span.intersects(result):
                said.add(about.get(LABEL_KEY, ""))
        label = label_of(span.entity_type, labels)
        found.append(max(said & set(LABELS), key=PRIORITY.__getitem__, default=label))
    return found


class _Operator(Operator):
    """What ours have in common. `defaults` holds parameters that `register_operators` has bound."""

    NAME: ClassVar[str]
    PARAMS: ClassVar[tuple[str, ...]]
    TYPE: ClassVar[OperatorType] = OperatorType.Anonymize
    defaults: ClassVar[Mapping[str, Any]] = {}

    @classmethod
    def merged(cls, params: Mapping[str, Any] | None) -> dict[str, Any]:
        """RETURNS (dict): Parameters of a call, and the bound ones.
        RAISES (OperatorError): E546 for an unknown one, E650 for a document that is none of ours."""
        given = dict(params or {})
        given.pop("entity_type", None)
        for name in given:
            if name not in cls.PARAMS:
                raise OperatorError(
                    Errors.E546,
                    key=str(name)[:40],
                    where=f"operator '{cls.NAME}'",
                    allowed=", ".join(cls.PARAMS),
                )
        _expect(cls.NAME, "document", given.get("document", NewTexts()), NewTexts, "of our making")
        return {**cls.defaults, **given}

    def operator_name(self) -> str:
        return self.NAME

    def operator_type(self) -> OperatorType:
        return self.TYPE


class HipsOperator(_Operator):
    """Hide in plain sight: what `hips_surrogate` puts in the place of a value.

    Parameters, all optional once a key is bound or in the environment:
    key (str | bytes): The secret, 16 bytes or more.
    profile (str | Path | Profile | dict): "crapii" and so on; what it keeps stays.
    scope (str): "corpus", "thread:" and an id, or any name: within it, equal values get equal surrogates.
    reserved (bool): Whether values must be such that nobody can own them.
    labels (dict): Entity -> our label, for types of your own.
    document (NewTexts): From `PiiEduAnonymizer`.
    """

    NAME = HIPS
    PARAMS = (*_PARAMS, "document")

    def validate(self, params: dict[str, Any] | None = None) -> None:
        """RAISES (OperatorError): E546, E650, E833, and those of key and profile, for parameters that cannot be used."""
        values = self.merged(params)
        if "document" not in values:
            SurrogateSettings.of(values).refuse_headers()

    def operate(self, text: str = "", params: dict[str, Any] | None = None) -> str:
        """What stands in the place of a span: a surrogate; the tag of its label where there is none; the text where the
        profile keeps it. Without a document it is a function of key, scope, label and text: not linked to any other
        value, nor kept apart from it.

        RAISES (OperatorError): E833 for a span of another document, E650 for what is no text.
        """
        values = self.merged(params)
        entity = str((params or {}).get("entity_type") or "")
        _expect(HIPS, "text", text, str, "text")
        if "document" in values:
            if text not in values["document"]:
                what = f"use what it was given for another text (a span of type {entity})"
                raise OperatorError(Errors.E833, what=what)
            return str(values["document"][text])
        if not text:
            return ""
        settings = SurrogateSettings.of(values)
        span = RecognizerResult(entity, 0, len(text), 1.0)
        labels = [label_of(entity, settings.labels)]
        return _between(text, span, plan_document(text, [span], labels, settings, [entity]))


class ReidentifyOperator(_Operator):
    """The way back for `hips`, and for any other operator whose document is in the vault.

    vault (Vault): Open. A request names no files: bind one with `register_operators`.
    id (str), scope (str): Narrow the search down to one document, or one thread.
    document (NewTexts): From `PiiEduDeanonymizer`, which proves the whole text first.
    """

    NAME = REIDENTIFY
    PARAMS = ("vault", "id", "scope", "document")
    TYPE = OperatorType.Deanonymize

    def validate(self, params: dict[str, Any] | None = None) -> None:
        """RAISES (OperatorError): E473, E546 or E650 for parameters that cannot be used."""
        values = self.merged(params)
        if "document" not in values and not isinstance(values.get("vault"), Vault):
            needed = "an open vault: register_operators(..., vault=vault)"
            raise OperatorError(Errors.E473, option=f"operator '{REIDENTIFY}'", needed=needed)

    def operate(self, text: str = "", params: dict[str, Any] | None = None) -> str:
        """What stood in the place of a surrogate. RAISES (OperatorError): E837, if the vault has none, or several."""
        values = self.merged(params)
        if "document" in values:
            return str(values["document"][text])
        with _VAULT_LOCK:
            vault: Vault = values["vault"]
            found = vault.lookup(text, id=values.get("id"), scope=values.get("scope"))
        if len(found) != 1:
            entity = str((params or {}).get("entity_type") or "")
            raise OperatorError(Errors.E837, entity=entity, n=len(found))
        return found[0]


def register_operators(
    anonymizer: AnonymizerEngine | None = None,
    deanonymizer: DeanonymizeEngine | None = None,
    *,
    vault: Vault | None = None,
    **bound: Any,
) -> None:
    """Make `hips` and `reidentify` selectable by name, in Python and in the body of a request.

    vault, and key, profile, scope, reserved, labels as for `HipsOperator`: What a call does not give. So no request has to
    bring a secret.
    """
    given = {name: value for name, value in bound.items() if value is not None}
    HipsOperator.merged(given)
    if anonymizer is not None:
        anonymizer.add_anonymizer(type("Hips", (HipsOperator,), {"defaults": given}))
    if deanonymizer is not None:
        back = {"defaults": {"vault": vault}}
        deanonymizer.add_deanonymizer(type("Reidentify", (ReidentifyOperator,), back))


def _resolve(
    engine: AnonymizerEngine, results: Sequence[Any], strategy: ConflictResolutionStrategy
) -> list[Any]:
    """RETURNS (list[RecognizerResult]): Copies without conflicts, as Presidio resolves them; sorted."""
    copies = sorted(engine._copy_recognizer_results(list(results)), key=_place)
    resolved = engine._remove_conflicts_and_get_text_manipulation_data(copies, strategy)
    return sorted(resolved, key=_place)


def _place(span: Any) -> tuple[int, int]:
    return span.start, span.end


def _operate(
    engine: Any, text: str, spans: Sequence[Any], wanted: dict[str, Any], news: Sequence[str | None]
) -> EngineResult:
    """Presidio's loop over spans. It looks an operator up by the type of a span; so that ours learn where a span stands, each
    span of ours has a type of its own while the loop runs.

    news (Sequence[str | None]): The new text of each span that is ours.
    """
    is_back = isinstance(engine, DeanonymizeEngine)
    operator, kind = (
        (REIDENTIFY, OperatorType.Deanonymize) if is_back else (HIPS, OperatorType.Anonymize)
    )
    for span, new in zip(spans, news, strict=True):
        if new is not None:
            document = NewTexts({text[span.start : span.end]: new})
            span.entity_type += f"{_AT}{span.start}{_AT}{span.end}"
            wanted[span.entity_type] = OperatorConfig(operator, {"document": document})
    result: EngineResult = engine._operate(text, spans, wanted, kind)
    for item in result.items:
        item.entity_type = item.entity_type.partition(_AT)[0]
    return result


def _params_of(
    operator: str, wanted: Mapping[str, OperatorConfig], spans: Sequence[Any]
) -> dict[str, dict[str, Any]]:
    """RETURNS (dict): Types of the spans that an operator is wanted for, with its parameters."""
    found = {}
    for entity in sorted({span.entity_type for span in spans}):
        config = wanted.get(entity) or wanted.get(_DEFAULT)
        if config is not None and config.operator_name == operator:
            found[entity] = config.params
    return found


class PiiEduAnonymizer(AnonymizerEngine):
    """Presidio's anonymizer; where `hips` is asked for, a text is decided as a whole. It stands wherever Presidio's stands,
    and gives what `hips_surrogate` gives for the same spans and key. Other operators work as ever, beside ours or alone.

    vault (Vault | None): Open for writing: every text goes into it, whatever the operators, before its result is returned.
    bound: key, profile, scope, reserved, labels, as for `HipsOperator`; the scope is what the profile says, "document"
        mostly.
    """

    def __init__(self, *, vault: Vault | None = None, **bound: Any) -> None:
        super().__init__()
        self.vault = vault
        register_operators(self, **bound)

    def anonymize(
        self,
        text: str,
        analyzer_results: Sequence[Any],
        operators: dict[str, OperatorConfig] | None = None,
        conflict_resolution: ConflictResolutionStrategy = MERGE,
        merge_entities_with_spaces: bool = True,
        *,
        document_id: str = "",
    ) -> EngineResult:
        """Anonymize a text.

        operators (dict[str, OperatorConfig] | None): By type of entity; None for `hips` throughout. Where a dict is
            given, what it does not name is Presidio's "replace", as ever.
        conflict_resolution, merge_entities_with_spaces: As in Presidio.
        document_id (str): For the vault.
        RETURNS (EngineResult): As Presidio's; a header that the profile removes is an item of type HEADER with an empty
            text.
        RAISES (OperatorError): For parameters that cannot be used.
        RAISES (PiiError): E450, E470, if the vault refuses.
        """
        wanted = {_DEFAULT: OperatorConfig(HIPS)} if operators is None else dict(operators)
        wanted.setdefault(_DEFAULT, OperatorConfig("replace"))
        spans = _resolve(self, analyzer_results, conflict_resolution)
        made: dict[str, list[Replacement]] = {}  # by type
        scope = DOCUMENT
        for settings, entities in self._hips_settings(wanted, spans):
            _expect(HIPS, "text", text, str, "text")
            labels = _labels_of(text, spans, analyzer_results, settings.labels)
            planned = plan_document(text, spans, labels, settings, entities)
            made |= dict.fromkeys([*entities, *BESIDE], planned)
            scope = settings.scope
        if HEADER not in wanted:
            for rep in made.get(HEADER, ()):
                if rep.label in BESIDE:
                    spans.append(RecognizerResult(rep.label, rep.start, rep.end, 1.0))
            spans = _resolve(self, spans, conflict_resolution)
        if merge_entities_with_spaces:
            spans = self._merge_entities_with_spaces_between(text, spans)
        places = sorted((span.start, span.end, span.entity_type) for span in spans)
        news = [
            _between(text, span, made[span.entity_type]) if span.entity_type in made else None
            for span in spans
        ]
        result = _operate(self, text, spans, wanted, news)
        if self.vault is not None:
            hidden = _hidden(text, places, result)
            with _VAULT_LOCK:
                self.vault.append(Release(document_id, text, result.text, hidden, scope))
        return result

    def _hips_settings(
        self, wanted: Mapping[str, OperatorConfig], spans: Sequence[Any]
    ) -> list[tuple[SurrogateSettings, list[str]]]:
        """RETURNS (list): What `hips` is asked for, and for which types; but for those whose new texts are given."""
        asked: list[SurrogateSettings] = []
        entities = defaultdict(list)
        kind: Any = self.operators_factory.get_anonymizers()[HIPS]
        for entity, params in _params_of(HIPS, wanted, spans).items():
            values = kind.merged(params)
            if "document" not in values:
                settings = SurrogateSettings.of(values, document=True)
                if settings not in asked:
                    asked.append(settings)
                entities[asked.index(settings)].append(entity)
        return [(settings, entities[n]) for n, settings in enumerate(asked)]


def _hidden(
    text: str, places: list[tuple[int, int, str]], result: EngineResult
) -> tuple[Hidden, ...]:
    """RETURNS (tuple[Hidden, ...]): What was replaced, for the vault.

    places (list[tuple[int, int, str]]): Start, end and type of the spans in the text, sorted.
    """
    found = []
    nexts = [start for start, _, _ in places[1:]] + [len(text)]
    items = sorted(result.items, key=_place)
    for (start, end, entity), after, item in zip(places, nexts, items, strict=True):
        old = text[
            start : min(end, after)
        ]  # what reaches into the next span was replaced up to there
        if item.text != old:
            label = entity if entity in BESIDE else label_of(entity)
            found.append(Hidden(item.start, item.end, label, item.text, old))
    return tuple(found)


class PiiEduDeanonymizer(DeanonymizeEngine):
    """Presidio's de-anonymizer; where `reidentify` is asked for, the text as a whole is looked up in the vault first.

    vault (Vault | None): Open; for calls that bring none. A text that was changed since its release is refused (E458),
        and what comes out is checked against the digest of the original, once all that was hidden is back.
    """

    def __init__(self, *, vault: Vault | None = None) -> None:
        super().__init__()
        register_operators(None, self, vault=vault)

    def deanonymize(
        self,
        text: str,
        entities: list[OperatorResult],
        operators: dict[str, OperatorConfig] | None = None,
    ) -> EngineResult:
        """De-anonymize a text as it was released.

        entities (list[OperatorResult]): The items that the anonymizer gave, or some of them.
        operators (dict[str, OperatorConfig] | None): None for `reidentify` throughout.
        RETURNS (EngineResult): With the originals.
        RAISES (PiiError): E458 to E461, E473, E546, E650, E839.
        """
        wanted = {_DEFAULT: OperatorConfig(REIDENTIFY)} if operators is None else dict(operators)
        asked = _params_of(REIDENTIFY, wanted, entities)
        kind: Any = self.operators_factory.get_deanonymizers()[REIDENTIFY]
        entry: Entry | None = None
        for params in asked.values():
            kind().validate(params)
            values = kind.merged(params)
            vault: Vault = values["vault"]
            with _VAULT_LOCK:
                entry = vault.find(text, id=values.get("id"))
        hidden = {(h.start, h.end): h.old for h in entry.hidden} if entry is not None else {}
        news = [
            _original(text, span, hidden) if span.entity_type in asked else None
            for span in entities
        ]
        result = _operate(self, text, [copy(span) for span in entities], wanted, news)
        is_whole = None not in news and set(hidden) <= set(map(_place, entities))
        if entry is not None and is_whole:
            digest = vault.digest("original", result.text)
            if not hmac.compare_digest(digest, entry.original):
                raise PiiError(Errors.E461, document=1)
        return result


def _original(text: str, span: Any, hidden: Mapping[tuple[int, int], str]) -> str:
    """RETURNS (str): What stood in the place of a span; itself, if it was kept.
    RAISES (PiiError): E839, if a hidden value lies across its edge."""
    for start, end in hidden:
        if (start, end) != _place(span) and start < span.end and span.start < end:
            raise PiiError(Errors.E839, start=span.start, end=span.end)
    return hidden.get(_place(span), text[span.start : span.end])
