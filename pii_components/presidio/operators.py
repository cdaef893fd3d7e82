"""Presidio's anonymizer with our surrogates: the operators `hips` and `pseudonym`, and `reidentify` for the way back.

    engine = PiiEduAnonymizer(key=key, profile="crapii", vault=vault)
    result = engine.anonymize(text, analyzer.analyze(text, language="en"))
    PiiEduDeanonymizer(vault=vault).deanonymize(result.text, result.items).text == text

Presidio makes a new operator for each span, calls it from the end of the text to its start and lets it see one span only, or several
that it has merged. But people, e-mail addresses and dates hang together over a document. So an operator here is a pure function, with
no counter and no memory, and what a document needs is decided before, by the same function as in `hips_surrogate`, and reaches the
operators as a `DocumentPlan`. What an operator knows decides what is linked. Type and text of a span: equal values get equal surrogates, and
people, their e-mails and dates stand each on their own. With `hips_operators(text, results, ...)` they are linked as in `hips_surrogate`; with
`PiiEduAnonymizer` by place too, so that two people with one text are two.
"""

import hmac
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from ..errors import Errors, PiiError
from ..labels import HEADER, LABELS, PRIORITY, role_of
from ..offsets import Replacement, apply_replacements
from ..profiles import KEEP, PSEUDONYM, REMOVE, TAG, Profile, shipped_profiles
from ..surrogates.keys import KEY_ENV, MIN_KEY_BYTES, Chance, check_key, load_key
from ..surrogates.owners import detail_owners
from ..surrogates.plan import plan
from ..surrogates.values import Item
from ..vault.vault import Entry, Hidden, Release, Vault
from .settings import label_of, presidio_needed

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

HIPS, PSEUDO, REIDENTIFY = "hips", "pseudonym", "reidentify"
DOCUMENT, CORPUS, THREAD = "document", "corpus", "thread:"
MERGE = ConflictResolutionStrategy.MERGE_SIMILAR_OR_CONTAINED
# What a recognizer of ours says of a result beside its type: our label, since several of ours are one of Presidio's.
LABEL_KEY = "pii_label"
_DEFAULT = "DEFAULT"
# Parts the type of an entity from its place; no type of anybody's holds it.
_AT = "\x1f"
_ENGINE = AnonymizerEngine()
# A vault is one file with one position, and a service has threads.
_VAULT_LOCK = threading.Lock()
# Parameters of `hips` and `pseudonym`: the types that a user may give, and how an error calls them.
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


def _expect(
    operator: str, name: str, value: object, types: tuple[type, ...], expected: str
) -> None:
    if not isinstance(value, types):  # what it holds is not told
        raise OperatorError(
            Errors.E832, operator=operator, name=name, type=type(value).__name__, expected=expected
        )


def _check_place(text: str, start: int, end: int) -> None:
    if not 0 <= start <= end <= len(text):
        raise OperatorError(Errors.E838, start=start, end=end, length=len(text))


def _refuse_headers(profile: Profile) -> None:
    if profile.header == REMOVE:
        raise OperatorError(Errors.E834, profile=profile.name)


@dataclass(frozen=True, slots=True)
class SurrogateSettings:
    """What surrogates depend on, beside the document; see `HipsOperator`, which makes it of its parameters."""

    key: bytes = field(repr=False)
    profile: Profile
    scope: str
    reserved: bool | None
    labels: Mapping[str, str]


_load_profile = cache(Profile.load)


def _profile(value: str | Path | Profile | Mapping[str, Any]) -> Profile:
    if isinstance(value, Profile):
        return value
    if isinstance(value, Mapping):
        return Profile.from_dict(value)
    if isinstance(value, Path):
        return Profile.load(value)
    if value not in shipped_profiles():  # a name that comes with a request is never a path
        raise PiiError(Errors.E425, profile=value[:40], allowed=", ".join(shipped_profiles()))
    return _load_profile(value)


class EntitySpan(NamedTuple):
    """A span that an analyzer found: characters, Presidio's name for its type, our label, and what will stand in its place."""

    start: int
    end: int
    entity: str
    label: str
    new: str = ""


@dataclass(frozen=True, slots=True)
class DocumentPlan:
    """What becomes of each span of a document; made by `plan_document`. text (str): The document. rows: Sorted."""

    text: str = field(repr=False)
    rows: Sequence[EntitySpan] = field(repr=False)

    def at(self, start: int, end: int, entity: str) -> str | None:
        """The new text of a stretch, one span or several of one type that were merged, with what stands between them as it was; None if
        no span of the type lies in it."""
        inside = [
            Replacement(row.start - start, row.end - start, row.new)
            for row in self.rows
            if row.entity == entity and start <= row.start < max(end, start + 1) and row.end <= end
        ]
        return apply_replacements(self.text[start:end], inside)[0] if inside else None

    def of(self, entity: str, old: str) -> str | None:
        """As `at`, by what stands there; the first one's where two people have the same text."""
        spans = [(row.start, row.end) for row in self.rows if row.entity == entity]
        merged = spans[
            :1
        ]  # neighbours with nothing but spaces between them, which Presidio makes one span
        for start, end in spans[1:]:
            between = self.text[merged[-1][1] : start]
            if between and not between.strip(" "):
                merged[-1] = merged[-1][0], end
            else:
                merged.append((start, end))
        return next(
            (
                self.at(start, end, entity)
                for start, end in spans + merged
                if self.text[start:end] == old
            ),
            None,
        )


def plan_document(
    text: str, found: Sequence[EntitySpan], settings: SurrogateSettings, *, how: Mapping[str, str]
) -> DocumentPlan:
    """Decide for all spans of a document, no two at the same place.

    how (Mapping[str, str]): Entity -> "hips" or "pseudonym"; others are another operator's business, and no surrogate is like them.
    RETURNS (DocumentPlan): A row for each span of those entities, kept ones too, and for each header that the profile removes.
    """
    ordered, profile, items = sorted(found), settings.profile, []
    roles = [role_of(span.label) for span in ordered]
    if profile.by_role:
        roles = [
            owner.role
            for owner in detail_owners(
                text, [(span.start, span.end, span.label) for span in ordered]
            )
        ]
    for span, role in zip(ordered, roles, strict=True):
        action = profile.action(span.label, role) if span.entity in how else TAG
        if action != KEEP and how.get(span.entity) == PSEUDO:
            action = PSEUDONYM
        items.append(Item(span.start, span.end, span.label, action))
    chance, local = Chance(settings.key, settings.scope), settings.scope == DOCUMENT
    if local:
        chance = chance.within("document:" + chance.digest("document", text).hex())
    replacements = plan(
        text, items, profile=profile, chance=chance, reserved=settings.reserved, local=local
    )
    new_at = {(rep.start, rep.end): rep.new for rep in replacements if rep.label != HEADER}
    headers = [
        EntitySpan(rep.start, rep.end, HEADER, HEADER, rep.new)
        for rep in replacements
        if rep.label == HEADER
    ]
    rows = [
        span._replace(new=new_at.get((span.start, span.end), text[span.start : span.end]))
        for span in ordered
        if span.entity in how
        and not any(header.start <= span.start < header.end for header in headers)
    ]
    return DocumentPlan(text, sorted(headers + rows))


def found_in(
    text: str,
    results: Sequence[Any],
    labels: Mapping[str, str],
    *,
    conflict_resolution: ConflictResolutionStrategy = MERGE,
) -> list[EntitySpan]:
    """What Presidio will anonymize, sorted, conflicts resolved in its own way, neighbours not yet merged; a result that says our label keeps
    it. labels: Entity -> our label. RAISES (OperatorError): E838 for a span outside of the text."""
    said: dict[tuple[int, int, str], str] = {}
    for result in results:
        ours = (getattr(result, "recognition_metadata", None) or {}).get(LABEL_KEY)
        if ours in LABELS and result.entity_type not in labels:
            said[result.start, result.end, result.entity_type] = ours
    copies = sorted(_ENGINE._copy_recognizer_results(list(results)), key=lambda r: (r.start, r.end))
    found = []
    for result in _ENGINE._remove_conflicts_and_get_text_manipulation_data(
        copies, conflict_resolution
    ):
        start, end, entity = place = result.start, result.end, result.entity_type
        _check_place(text, start, end)
        # Where Presidio has made one of several, or has cut one: of what they said, the label that protects most.
        inside = [
            label
            for (s, e, kind), label in said.items()
            if kind == entity and s < end and start < e
        ]
        label = (
            said.get(place)
            or max(inside, key=PRIORITY.__getitem__, default=None)
            or label_of(entity, labels)
        )
        found.append(EntitySpan(start, end, entity, label))
    return sorted(found)


class _Operator(Operator):
    """What ours have in common. `defaults` holds parameters that `register_operators` has bound."""

    NAME: ClassVar[str]
    PARAMS: ClassVar[tuple[str, ...]]
    TYPE: ClassVar[OperatorType] = OperatorType.Anonymize
    defaults: ClassVar[Mapping[str, Any]] = {}

    @classmethod
    def merged(cls, params: Mapping[str, Any] | None) -> dict[str, Any]:
        """The parameters of a call, and the bound ones. RAISES (OperatorError): E831 for an unknown one."""
        given = {name: value for name, value in (params or {}).items() if name != "entity_type"}
        for name in given:
            if name not in cls.PARAMS:
                raise OperatorError(
                    Errors.E831,
                    operator=cls.NAME,
                    name=str(name)[:40],
                    allowed=", ".join(cls.PARAMS),
                )
        return {**cls.defaults, **given}

    def operator_name(self) -> str:
        return self.NAME

    def operator_type(self) -> OperatorType:
        return self.TYPE


class HipsOperator(_Operator):
    """Hide in plain sight: what `hips_surrogate` puts in the place of a value.

    Parameters, all optional once a key is bound or in the environment:
    key (str | bytes): The secret, 16 bytes or more. profile (str | Path | Profile | dict): "crapii", ...; what it keeps stays.
    scope (str): "corpus", "thread:" and an id, or any name: within it, equal values get equal surrogates.
    reserved (bool): Whether values must be such that nobody can own them. labels (dict): Entity -> our label, for types of your own.
    document (DocumentPlan), place (tuple): From `hips_operators` and `PiiEduAnonymizer`.
    """

    NAME = HIPS
    PARAMS = (*_PARAMS, "document", "place")

    @classmethod
    def settings(
        cls, params: Mapping[str, Any] | None, *, document: bool = False
    ) -> SurrogateSettings:
        """Check what a user gave. document (bool): Whether it is known; then the default of the scope is the profile's, else "corpus".

        RAISES (OperatorError): E830 to E833; E002, E402, E422 to E425 for key, profile and labels.
        """
        given = {"profile": "crapii", **cls.merged(params)}
        for name, (types, expected) in _PARAMS.items():
            _expect(cls.NAME, name, given.get(name), types, expected)
        key, labels = given.get("key"), dict(given.get("labels") or {})
        try:
            secret = (
                load_key(env=KEY_ENV)
                if key is None
                else key.strip().encode("utf8")
                if isinstance(key, str)
                else key
            )
            if secret is None:
                raise PiiError(Errors.E830, operator=cls.NAME, least=MIN_KEY_BYTES, env=KEY_ENV)
            for label in labels.values():
                if label not in LABELS:
                    raise PiiError(Errors.E002, label=label, allowed=", ".join(LABELS))
            profile = _profile(given["profile"])
            scope = given.get("scope") or (profile.scope if document else CORPUS)
            if scope in ("thread", THREAD) or (scope == DOCUMENT and not document):
                raise PiiError(Errors.E833, operator=cls.NAME, scope=scope)
            secret = check_key(secret, source="the parameter key")
        except PiiError as err:
            raise OperatorError(str(err).replace("{", "{{").replace("}", "}}")) from None
        return SurrogateSettings(secret, profile, scope, given.get("reserved"), labels)

    def validate(self, params: dict[str, Any] | None = None) -> None:
        """RAISES (OperatorError): E831 to E834, and those of key and profile, for parameters that cannot be used."""
        document = self.merged(params).get("document")
        if document is not None:
            _expect(self.NAME, "document", document, (DocumentPlan,), "what hips_operators gives")
        else:
            _refuse_headers(self.settings(params).profile)

    def operate(self, text: str = "", params: dict[str, Any] | None = None) -> str:
        """What stands in the place of a span: a surrogate; the tag of its label where there is none; the text where the profile keeps it.
        Without a plan it is a function of key, scope, label and text: not linked to any other value, nor kept apart from it.

        RAISES (OperatorError): E835 for a span of another document, E832 for what is no text.
        """
        values = self.merged(params)
        entity = str((params or {}).get("entity_type") or "")
        document: DocumentPlan | None = values.get("document")
        if document is None:
            settings = self.settings(params)
            _expect(self.NAME, "text", text, (str,), "text")
            if not text:
                return ""
            span = EntitySpan(0, len(text), entity, label_of(entity, settings.labels))
            return plan_document(text, [span], settings, how={entity: self.NAME}).rows[0].new
        new = document.at(*values["place"]) if "place" in values else document.of(entity, text)
        if new is None:
            raise OperatorError(
                Errors.E835, entity=values["place"][2] if "place" in values else entity
            )
        return new


class PseudonymOperator(HipsOperator):
    """A keyed tag, `[STUDENT_5c1f09ab3e]`, as the action "pseudonym" of a profile. Parameters as those of `hips`."""

    NAME = PSEUDO


class ReidentifyOperator(_Operator):
    """The way back for `hips` and `pseudonym`, and for any other operator whose document is in the vault.

    vault (Vault): Open. A request names no files: bind one with `register_operators`.
    id (str), scope (str): Narrow the search down to one document, or one thread.
    missing (str): "error", or "keep" for a value that no record of the vault has, because a profile kept it.
    document (Entry), place (tuple): From `PiiEduDeanonymizer`, which proves the whole text first.
    """

    NAME = REIDENTIFY
    PARAMS = ("vault", "id", "scope", "missing", "document", "place")
    TYPE = OperatorType.Deanonymize

    def validate(self, params: dict[str, Any] | None = None) -> None:
        """RAISES (OperatorError): E831, E832 or E836 for parameters that cannot be used."""
        values = self.merged(params)
        if not isinstance(values.get("vault"), Vault):
            raise OperatorError(Errors.E836, operator=self.NAME)
        for name in ("id", "scope"):
            _expect(self.NAME, name, values.get(name), (str, type(None)), "text")
        if values.get("missing", "error") not in ("error", "keep"):
            expected = '"error" or "keep"'
            raise OperatorError(
                Errors.E832,
                operator=self.NAME,
                name="missing",
                type="another value",
                expected=expected,
            )

    def operate(self, text: str = "", params: dict[str, Any] | None = None) -> str:
        """What stood in the place of a surrogate. RAISES (OperatorError): E837, if the vault has none, or several."""
        values = self.merged(params)
        if values.get("document") is not None:
            return _original_between(values["document"], text, *values["place"][:2])
        with _VAULT_LOCK:
            found: list[str] = values["vault"].lookup(
                text, id=values.get("id"), scope=values.get("scope")
            )
        if not found and values.get("missing") == "keep":
            return text
        if len(found) != 1:
            raise OperatorError(
                Errors.E837, entity=str((params or {}).get("entity_type") or ""), n=len(found)
            )
        return found[0]


def _original_between(entry: Entry, text: str, start: int, end: int) -> str:
    """What stood in a stretch of a released text: every hidden value in it put back. start, end: Where it lies in that text.
    RAISES (PiiError): E839, if a hidden value lies across its edge."""
    inside = []
    for hidden in entry.hidden:
        at = slice(hidden.start - start, hidden.end - start)
        if hidden.start == hidden.end:
            # What was removed belongs to the stretch around it, or to an empty one at its place; at an edge it is a neighbour's.
            touched = start < hidden.start < end or start == end == hidden.start
        else:
            touched = hidden.start < end and start < hidden.end
        if touched:
            if hidden.start < start or hidden.end > end or text[at] != hidden.new:
                raise PiiError(Errors.E839, start=start, end=end)
            inside.append(Replacement(at.start, at.stop, hidden.old))
    return apply_replacements(text, inside)[0]


def register_operators(
    anonymizer: AnonymizerEngine | None = None,
    deanonymizer: DeanonymizeEngine | None = None,
    *,
    vault: Vault | None = None,
    **bound: Any,
) -> None:
    """Make `hips`, `pseudonym` and `reidentify` selectable by name, in Python and in the body of a request.

    vault, and key, profile, scope, reserved, labels as for `HipsOperator`: What a call does not give. So no request has to bring a secret.
    """
    if unknown := set(bound) - set(_PARAMS):
        raise TypeError(f"register_operators() got an unexpected keyword argument '{min(unknown)}'")
    defaults = {name: value for name, value in bound.items() if value is not None}
    if anonymizer is not None:
        for base in (HipsOperator, PseudonymOperator):
            anonymizer.add_anonymizer(type(base.__name__, (base,), {"defaults": defaults}))
    if deanonymizer is not None:
        back = {"defaults": {"vault": vault} if vault is not None else {}}
        deanonymizer.add_deanonymizer(
            type(ReidentifyOperator.__name__, (ReidentifyOperator,), back)
        )


def hips_operators(
    text: str,
    analyzer_results: Sequence[Any],
    *,
    operator: str = HIPS,
    conflict_resolution: ConflictResolutionStrategy = MERGE,
    **settings: Any,
) -> dict[str, OperatorConfig]:
    """Operators for one text, with all of its people, addresses and dates linked.

        engine.anonymize(text, results, hips_operators(text, results, key=key))

    operator (str): "hips" or "pseudonym". settings: As for `HipsOperator`; the default scope is the profile's, "document" mostly.
    RETURNS (dict[str, OperatorConfig]): One for each type of entity in the results. They hold originals, so they are for this call.
    RAISES (OperatorError): For settings that cannot be used; E834 for a profile that removes headers.
    """
    base = {HIPS: HipsOperator, PSEUDO: PseudonymOperator}.get(operator)
    if base is None:
        raise OperatorError(
            Errors.E831, operator=str(operator)[:40], name="operator", allowed=f"{HIPS}, {PSEUDO}"
        )
    chosen = base.settings(settings, document=True)
    _refuse_headers(chosen.profile)
    found = found_in(text, analyzer_results, chosen.labels, conflict_resolution=conflict_resolution)
    how = dict.fromkeys(sorted({span.entity for span in found}), operator)
    document = plan_document(text, found, chosen, how=how)
    return {entity: OperatorConfig(operator, {"document": document}) for entity in how}


class PiiEduAnonymizer(AnonymizerEngine):
    """Presidio's anonymizer; where `hips` and `pseudonym` are asked for, a text is decided as a whole. It stands wherever Presidio's
    stands, and gives what `hips_surrogate` gives for the same spans and key. Other operators work as ever, beside ours or alone.

    vault (Vault | None): Open for writing: every text goes into it, whatever the operators, before its result is returned.
    bound: key, profile, scope, reserved, labels, as for `HipsOperator`; the scope is what the profile says, "document" mostly.
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

        operators (dict[str, OperatorConfig] | None): By type of entity; None for `hips` throughout. Where a dict is given, what it
            does not name is Presidio's "replace", as ever.
        conflict_resolution, merge_entities_with_spaces: As in Presidio. document_id (str): For the vault.
        RETURNS (EngineResult): As Presidio's; a header that the profile removes is an item of type HEADER with an empty text.
        RAISES (OperatorError): For parameters that cannot be used. RAISES (PiiError): E450, E470, if the vault refuses.
        """
        wanted = {_DEFAULT: OperatorConfig(HIPS)} if operators is None else dict(operators)
        wanted.setdefault(_DEFAULT, OperatorConfig("replace"))
        results = self._copy_recognizer_results(list(analyzer_results))
        asked: list[
            tuple[SurrogateSettings, dict[str, str]]
        ] = []  # settings, and the operator of each type that wants them
        for entity, kind, config in _ours(
            HipsOperator, self.operators_factory.get_anonymizers(), wanted, results
        ):
            if "document" not in config.params:
                settings = kind.settings(config.params, document=True)
                how = next((how for known, how in asked if known == settings), None)
                if how is None:
                    asked.append((settings, how := {}))
                how[entity] = kind.NAME
        for settings, how in asked:
            _expect(HIPS, "text", text, (str,), "text")
            found = found_in(
                text, analyzer_results, settings.labels, conflict_resolution=conflict_resolution
            )
            document = plan_document(text, found, settings, how=how)
            wanted |= {
                entity: OperatorConfig(name, {"document": document}) for entity, name in how.items()
            }
            headers = [
                row for row in document.rows if row.entity == HEADER
            ]  # that the profile removes
            if headers and HEADER not in wanted:
                results += [RecognizerResult(HEADER, row.start, row.end, 1.0) for row in headers]
                wanted[HEADER] = OperatorConfig(HIPS, {"document": document})
        results.sort(key=lambda r: (r.start, r.end))
        entities = self._remove_conflicts_and_get_text_manipulation_data(
            results, conflict_resolution
        )
        if merge_entities_with_spaces:
            entities = self._merge_entities_with_spaces_between(text, entities)
        old = sorted((e.start, e.end, e.entity_type) for e in entities)
        result = _operate(self, text, entities, wanted, OperatorType.Anonymize)
        if self.vault is not None:
            scope = asked[-1][0].scope if asked else DOCUMENT
            with _VAULT_LOCK:
                self.vault.append(
                    Release(
                        document_id, text, result.text, tuple(_hidden(text, old, result)), scope
                    )
                )
        return result


def _hidden(text: str, old: list[tuple[int, int, str]], result: EngineResult) -> Iterator[Hidden]:
    """What was replaced, for the vault. old: Places and types of the spans in the text, sorted."""
    # A span that reaches into the next one was replaced up to there.
    ends = [
        min(end, after[0])
        for (_, end, _), after in zip(old, [*old[1:], (len(text), 0, "")], strict=True)
    ]
    items = sorted(result.items, key=lambda item: (item.start, item.end))
    for (start, _, entity), end, item in zip(old, ends, items, strict=True):
        if item.text != text[start:end]:
            label = HEADER if entity == HEADER else label_of(entity)
            yield Hidden(item.start, item.end, label, item.text, text[start:end])


class PiiEduDeanonymizer(DeanonymizeEngine):
    """Presidio's de-anonymizer; where `reidentify` is asked for, the text as a whole is looked up in the vault first.

    vault (Vault | None): Open; for calls that bring none. A text that was changed since its release is refused (E458), and what comes
    out is checked against the digest of the original, once all that was hidden is back.
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

        entities (list[OperatorResult]): The items that the anonymizer gave, or some of them. operators: None for `reidentify` throughout.
        RETURNS (EngineResult): With the originals. RAISES (PiiError): E458 to E461, E831, E832, E836, E838, E839.
        """
        wanted = {_DEFAULT: OperatorConfig(REIDENTIFY)} if operators is None else dict(operators)
        ours: dict[str, tuple[Vault, Entry]] = {}
        for entity, kind, config in _ours(
            ReidentifyOperator, self.operators_factory.get_deanonymizers(), wanted, entities
        ):
            kind().validate(config.params)
            values = kind.merged(config.params)
            with _VAULT_LOCK:
                entry = values["vault"].find(text, id=values.get("id"))
            ours[entity] = values["vault"], entry
            wanted[entity] = OperatorConfig(config.operator_name, {**values, "document": entry})
        places = [(e.start, e.end) for e in entities]
        result = _operate(self, text, [copy(e) for e in entities], wanted, OperatorType.Deanonymize)
        if ours and all(e.entity_type in ours for e in entities):
            vault, entry = next(iter(ours.values()))
            everything = all(
                any(start <= h.start and h.end <= end for start, end in places)
                for h in entry.hidden
            )
            if everything and not hmac.compare_digest(
                vault.digest("original", result.text), entry.original
            ):
                raise PiiError(Errors.E461, document=1)
        return result


def _ours(
    base: type[_Operator],
    classes: Mapping[str, Any],
    wanted: Mapping[str, OperatorConfig],
    spans: Iterable[Any],
) -> list[tuple[str, Any, OperatorConfig]]:
    """Types of spans whose operator is one of ours, with its class and what is said of it. classes: Of operators, by name."""
    found = []
    for entity in sorted({span.entity_type for span in spans}):
        config = wanted.get(entity) or wanted.get(_DEFAULT)
        kind = classes.get(config.operator_name) if config is not None else None
        if config is not None and kind is not None and issubclass(kind, base):
            found.append((entity, kind, config))
    return found


def _operate(
    engine: AnonymizerEngine | DeanonymizeEngine,
    text: str,
    entities: list[Any],
    operators: Mapping[str, OperatorConfig],
    kind: OperatorType,
) -> EngineResult:
    """Presidio's loop over spans. It looks an operator up by the type of a span; so that ours learn where a span stands, each span
    of ours has a type of its own while the loop runs."""
    configs = dict(operators)
    for entity in entities:
        config = configs.get(entity.entity_type) or configs.get(_DEFAULT)
        if config is None or config.params.get("document") is None:
            continue
        start, end, name = place = entity.start, entity.end, entity.entity_type
        _check_place(text, start, end)
        entity.entity_type = f"{name}{_AT}{start}{_AT}{end}"
        configs[entity.entity_type] = OperatorConfig(
            config.operator_name, {**config.params, "place": place}
        )
    result = engine._operate(text, entities, configs, kind)
    for item in result.items:
        item.entity_type = item.entity_type.partition(_AT)[0]
    return result
