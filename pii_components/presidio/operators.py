"""Presidio's anonymizer with our surrogates: the operators `hips` and `pseudonym`, and `reidentify` for the way back.

    engine, back = AnonymizerEngine(), DeanonymizeEngine()
    register_operators(engine, back, key=key, vault=vault)
    engine.anonymize(text, results, {"PERSON": OperatorConfig("hips"), "DEFAULT": OperatorConfig("pseudonym")})

Presidio makes a new operator for each span, calls it from the end of the text to its start and lets it see one span only, or several
that it has merged. So an operator here is a pure function, with no counter and no memory. What it knows decides what is linked:

    what reaches the operator                    the same value   the people of a text, their e-mails, dates
    type and text of the span (this module)      same surrogate   each on its own
    `hips_operators(text, results, ...)`         same surrogate   linked as in `hips_surrogate`
    `anonymizer.PiiEduAnonymizer`                same surrogate   the same, and by place: two people with one text are two
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from presidio_anonymizer import AnonymizerEngine, ConflictResolutionStrategy, DeanonymizeEngine, OperatorConfig
from presidio_anonymizer.entities import InvalidParamError
from presidio_anonymizer.operators import Operator, OperatorType

from ..errors import Errors, PiiError
from ..labels import LABELS, PRIORITY
from ..profiles import REMOVE, Profile
from .plans import HIPS, PSEUDO, DocumentPlan, Found, Settings, expect, plan_document, surrogate_alone
from .settings import label_of, presidio_needed

if TYPE_CHECKING:
    from ..vault.vault import Vault

presidio_needed("the operators", package="presidio_anonymizer")


REIDENTIFY = "reidentify"
# What a recognizer of ours says of a result beside its type: our label, since several of ours are one of Presidio's.
LABEL_KEY = "pii_label"


class OperatorError(PiiError, InvalidParamError):
    """An error with a code that Presidio knows as its own: its REST service answers 422 to it."""

    def __init__(self, template: str, **values: object) -> None:
        super().__init__(template, **values)
        self.err_msg = str(self)

    @classmethod
    def of(cls, err: PiiError) -> "OperatorError":
        """RETURNS (OperatorError): The same error for Presidio."""
        return cls(str(err).replace("{", "{{").replace("}", "}}"))


class _Operator(Operator):
    """What ours have in common. `defaults` holds parameters that `register_operators` has bound."""

    NAME: ClassVar[str] = ""
    PARAMS: ClassVar[tuple[str, ...]] = ()
    defaults: ClassVar[Mapping[str, Any]] = {}

    @classmethod
    def merged(cls, params: Mapping[str, Any] | None) -> dict[str, Any]:
        """RETURNS (dict[str, Any]): The parameters of a call, and the bound ones. RAISES (OperatorError): E831 for an unknown one."""
        given = {name: value for name, value in (params or {}).items() if name != "entity_type"}
        for name in given:
            if name not in cls.PARAMS:
                _raise(Errors.E831, operator=cls.NAME, name=str(name)[:40], allowed=", ".join(cls.PARAMS))
        return {**cls.defaults, **given}

    def operator_name(self) -> str:
        """RETURNS (str): The name under which a configuration selects it."""
        return self.NAME


class HipsOperator(_Operator):
    """Hide in plain sight: what `hips_surrogate` puts in the place of a value.

    Parameters, all optional once a key is bound or in the environment:
    key (str | bytes): The secret, 16 bytes or more. profile (str | Path | Profile | dict): "crapii", ...; what it keeps stays.
    scope (str): "corpus", "thread:" and an id, or any name: within it, equal values get equal surrogates.
    reserved (bool): Whether values must be such that nobody can own them. labels (dict): Entity -> our label, for types of your own.
    document (DocumentPlan), place (tuple): From `hips_operators` and `PiiEduAnonymizer`.
    """

    NAME = HIPS
    HOW: ClassVar[str] = HIPS
    PARAMS = ("key", "profile", "scope", "reserved", "labels", "document", "place")

    @classmethod
    def settings(cls, params: Mapping[str, Any] | None, *, document: bool = False) -> Settings:
        """RETURNS (Settings): Of a call. RAISES (OperatorError): For parameters that cannot be used; see `Settings.of`."""
        values = cls.merged(params)
        wanted = {name: values[name] for name in ("key", "profile", "scope", "reserved", "labels") if name in values}
        try:
            return Settings.of(operator=cls.NAME, document=document, **wanted)
        except PiiError as err:
            raise OperatorError.of(err) from None

    def validate(self, params: dict[str, Any] | None = None) -> None:
        """RAISES (OperatorError): E831 to E834, and those of key and profile, for parameters that cannot be used."""
        values = self.merged(params)
        if values.get("document") is not None:
            if not isinstance(values["document"], DocumentPlan):
                kind = type(values["document"]).__name__
                _raise(Errors.E832, operator=self.NAME, name="document", type=kind, expected="what hips_operators gives")
            return
        settings = self.settings(params)
        if settings.profile.header == REMOVE:
            _raise(Errors.E834, profile=settings.profile.name)

    def operate(self, text: str = "", params: dict[str, Any] | None = None) -> str:
        """What stands in the place of a span.

        text (str): The span. params (dict[str, Any]): See the class; Presidio adds "entity_type".
        RETURNS (str): A surrogate; the tag of its label where there is none; the text where the profile keeps it.
        RAISES (OperatorError): E835 for a span of another document, E832 for what is no text.
        """
        values = self.merged(params)
        entity = str((params or {}).get("entity_type") or "")
        plan: DocumentPlan | None = values.get("document")
        if plan is not None:
            start, end, entity = values.get("place") or (-1, -1, entity)
            new = plan.at(start, end, entity) if start >= 0 else plan.of(entity, text)
            if new is None:
                _raise(Errors.E835, entity=entity)
            return new
        settings = self.settings(params)
        try:
            expect(self.NAME, "text", text, (str,), "text")
        except PiiError as err:
            raise OperatorError.of(err) from None
        return surrogate_alone(text, entity, settings, how=self.HOW) if text else ""

    def operator_type(self) -> OperatorType:
        """RETURNS (OperatorType): Anonymize."""
        return OperatorType.Anonymize


class PseudonymOperator(HipsOperator):
    """A keyed tag, `[STUDENT_5c1f09ab3e]`, as the action "pseudonym" of a profile: see modes.py. Parameters as those of `hips`."""

    NAME = PSEUDO
    HOW = PSEUDO


class ReidentifyOperator(_Operator):
    """The way back for `hips` and `pseudonym`, and for any other operator whose document is in the vault.

    vault (Vault): Open; see vault.py. A request names no files: bind one with `register_operators`.
    id (str), scope (str): Narrow the search down to one document, or one thread.
    missing (str): "error", or "keep" for a value that no record of the vault has, because a profile kept it.
    document (Entry), place (tuple): From `PiiEduDeanonymizer`, which proves the whole text first.
    """

    NAME = REIDENTIFY
    PARAMS = ("vault", "id", "scope", "missing", "document", "place")

    def validate(self, params: dict[str, Any] | None = None) -> None:
        """RAISES (OperatorError): E831, E832 or E836 for parameters that cannot be used."""
        from ..vault.vault import Vault

        values = self.merged(params)
        if not isinstance(values.get("vault"), Vault):
            _raise(Errors.E836, operator=self.NAME)
        try:
            for name in ("id", "scope"):
                expect(self.NAME, name, values.get(name), (str, type(None)), "text")
        except PiiError as err:
            raise OperatorError.of(err) from None
        if values.get("missing", "error") not in ("error", "keep"):
            _raise(Errors.E832, operator=self.NAME, name="missing", type="another value", expected='"error" or "keep"')

    def operate(self, text: str = "", params: dict[str, Any] | None = None) -> str:
        """What stood in the place of a surrogate.

        text (str): As it stands in the released text. params (dict[str, Any]): See the class.
        RETURNS (str): The original. RAISES (OperatorError): E837, if the vault has none, or several for this surrogate.
        """
        from .plans import original_between, originals_of

        values = self.merged(params)
        if values.get("document") is not None:
            return original_between(values["document"], text, *values["place"][:2])
        found = originals_of(values["vault"], text, id=values.get("id"), scope=values.get("scope"))
        if not found and values.get("missing") == "keep":
            return text
        if len(found) != 1:
            _raise(Errors.E837, entity=str((params or {}).get("entity_type") or ""), n=len(found))
        return found[0]

    def operator_type(self) -> OperatorType:
        """RETURNS (OperatorType): Deanonymize."""
        return OperatorType.Deanonymize


def register_operators(
    anonymizer: AnonymizerEngine | None = None,
    deanonymizer: DeanonymizeEngine | None = None,
    *,
    key: bytes | str | None = None,
    profile: str | Path | Profile | Mapping[str, Any] | None = None,
    scope: str | None = None,
    reserved: bool | None = None,
    labels: Mapping[str, str] | None = None,
    vault: "Vault | None" = None,
) -> None:
    """Make `hips`, `pseudonym` and `reidentify` selectable by name, in Python and in the body of a request.

    anonymizer (AnonymizerEngine | None), deanonymizer (DeanonymizeEngine | None): What they are added to.
    key, profile, scope, reserved, labels, vault: Bound: what a call does not give. So no request has to bring a secret.
    """
    given = {"key": key, "profile": profile, "scope": scope, "reserved": reserved, "labels": labels}
    bound = {name: value for name, value in given.items() if value is not None}
    if anonymizer is not None:
        for base in (HipsOperator, PseudonymOperator):
            anonymizer.add_anonymizer(type(base.__name__, (base,), {"defaults": bound}))
    if deanonymizer is not None:
        back = {"defaults": {"vault": vault} if vault is not None else {}}
        deanonymizer.add_deanonymizer(type(ReidentifyOperator.__name__, (ReidentifyOperator,), back))


def hips_operators(
    text: str,
    analyzer_results: Sequence[Any],
    *,
    operator: str = HIPS,
    conflict_resolution: ConflictResolutionStrategy = ConflictResolutionStrategy.MERGE_SIMILAR_OR_CONTAINED,
    **settings: Any,
) -> dict[str, OperatorConfig]:
    """Operators for one text, with all of its people, addresses and dates linked.

        engine.anonymize(text, results, hips_operators(text, results, key=key))

    text (str): The text. analyzer_results (Sequence[RecognizerResult]): What will be anonymized.
    operator (str): "hips" or "pseudonym". conflict_resolution (ConflictResolutionStrategy): As for `anonymize`.
    settings: key, profile, scope, reserved, labels: as parameters of `HipsOperator`; the scope is the profile's, "document" mostly.
    RETURNS (dict[str, OperatorConfig]): One for each type of entity in the results. They hold originals, so they are for this call.
    RAISES (OperatorError): For settings that cannot be used; E834 for a profile that removes headers.
    """
    base = {HIPS: HipsOperator, PSEUDO: PseudonymOperator}.get(operator)
    if base is None:
        _raise(Errors.E831, operator=str(operator)[:40], name="operator", allowed=f"{HIPS}, {PSEUDO}")
    chosen = base.settings(settings, document=True)
    if chosen.profile.header == REMOVE:
        _raise(Errors.E834, profile=chosen.profile.name)
    found = found_in(text, analyzer_results, chosen.labels, conflict_resolution=conflict_resolution)
    plan = plan_document(text, found, chosen, how={f.entity: base.HOW for f in found})
    return {entity: OperatorConfig(operator, {"document": plan}) for entity in sorted({f.entity for f in found})}


_ENGINE = AnonymizerEngine()


def found_in(
    text: str,
    results: Sequence[Any],
    labels: Mapping[str, str],
    *,
    conflict_resolution: ConflictResolutionStrategy = ConflictResolutionStrategy.MERGE_SIMILAR_OR_CONTAINED,
) -> list[Found]:
    """What Presidio will anonymize, conflicts resolved in its own way, neighbours not yet merged.

    text (str): The text. results (Sequence[RecognizerResult]): Of an analyzer; one that says our label or role keeps it.
    labels (Mapping[str, str]): Entity -> our label. conflict_resolution (ConflictResolutionStrategy): Presidio's.
    RETURNS (list[Found]): Sorted. RAISES (OperatorError): E838 for a span outside of the text.
    """
    copies = sorted(_ENGINE._copy_recognizer_results(list(results)), key=lambda r: (r.start, r.end))
    said: dict[tuple[int, int, str], str] = {}
    for result in results:
        ours = (getattr(result, "recognition_metadata", None) or {}).get(LABEL_KEY)
        if ours in LABELS and result.entity_type not in labels:
            said[result.start, result.end, result.entity_type] = ours
    found = []
    for result in _ENGINE._remove_conflicts_and_get_text_manipulation_data(copies, conflict_resolution):
        start, end, entity = result.start, result.end, result.entity_type
        if not 0 <= start <= end <= len(text):
            _raise(Errors.E838, start=start, end=end, length=len(text))
        label: str | None = said.get((start, end, entity))
        if label is None:
            # Presidio has made one of several, or has cut one: of what they said, the label that protects most.
            inside = [lab for (s, e, kind), lab in said.items() if kind == entity and s < end and start < e]
            label = max(inside, key=PRIORITY.__getitem__, default=None)
        found.append(Found(start, end, entity, label or label_of(entity, labels)))
    return sorted(found, key=lambda f: (f.start, f.end))


def _raise(template: str, **values: object) -> NoReturn:
    raise OperatorError(template, **values)
