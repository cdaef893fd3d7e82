"""Presidio's engines with the whole document in view: `PiiEduAnonymizer` and `PiiEduDeanonymizer`.

    engine = PiiEduAnonymizer(key=key, profile="crapii", vault=vault)
    result = engine.anonymize(text, analyzer.analyze(text, language="en"))
    PiiEduDeanonymizer(vault=vault).deanonymize(result.text, result.items).text == text

They stand wherever Presidio's stand (BatchAnonymizerEngine takes one too), and give what `hips_surrogate` gives for the same spans
and key. Other operators work as ever, beside ours or alone.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from presidio_anonymizer import AnonymizerEngine, ConflictResolutionStrategy, DeanonymizeEngine
from presidio_anonymizer.entities import EngineResult, OperatorConfig, OperatorResult, RecognizerResult
from presidio_anonymizer.operators import OperatorType

from ..errors import Errors, PiiError
from ..profiles import Profile
from ..surrogates.header import HEADER
from .operators import REIDENTIFY, HipsOperator, OperatorError, ReidentifyOperator, found_in, register_operators
from .plans import DOCUMENT, HIPS, Settings, find_entry, plan_document, proved, remember
from .settings import label_of, presidio_needed

if TYPE_CHECKING:
    from ..vault.vault import Entry, Vault

presidio_needed("PiiEduAnonymizer", package="presidio_anonymizer")


_DEFAULT = "DEFAULT"
# Parts the type of an entity from its place; no type of anybody's holds it.
_AT = "\x1f"


class PiiEduAnonymizer(AnonymizerEngine):
    """Presidio's anonymizer; where `hips` and `pseudonym` are asked for, a text is decided as a whole.

    key (bytes | str | None): The secret; None for the environment variable PII_EDU_KEY. profile, scope, reserved, labels: As
    parameters of `operators.HipsOperator`, bound; the scope is what the profile says, "document" mostly.
    vault (Vault | None): Open for writing: every text goes into it, whatever the operators, before its result is returned.
    """

    def __init__(
        self,
        *,
        key: bytes | str | None = None,
        profile: str | Path | Profile | Mapping[str, Any] | None = None,
        scope: str | None = None,
        reserved: bool | None = None,
        labels: Mapping[str, str] | None = None,
        vault: "Vault | None" = None,
    ) -> None:
        super().__init__()
        self.vault = vault
        register_operators(self, key=key, profile=profile, scope=scope, reserved=reserved, labels=labels)

    def anonymize(
        self,
        text: str,
        analyzer_results: Sequence[Any],
        operators: dict[str, OperatorConfig] | None = None,
        conflict_resolution: ConflictResolutionStrategy = ConflictResolutionStrategy.MERGE_SIMILAR_OR_CONTAINED,
        merge_entities_with_spaces: bool = True,
        *,
        document_id: str = "",
    ) -> EngineResult:
        """Anonymize a text.

        text (str): The text. analyzer_results (Sequence[RecognizerResult]): What was found in it.
        operators (dict[str, OperatorConfig] | None): By type of entity; None for `hips` throughout. Where a dict is given, what it
            does not name is Presidio's "replace", as ever.
        conflict_resolution, merge_entities_with_spaces: As in Presidio. document_id (str): For the vault.
        RETURNS (EngineResult): As Presidio's; a header that the profile removes is an item of type HEADER with an empty text.
        RAISES (OperatorError): For parameters that cannot be used. RAISES (PiiError): E450, E470, if the vault refuses.
        """
        wanted = {_DEFAULT: OperatorConfig(HIPS)} if operators is None else dict(operators)
        wanted.setdefault(_DEFAULT, OperatorConfig("replace"))
        results = self._copy_recognizer_results(list(analyzer_results))
        scope = DOCUMENT
        for settings, how in self._settings(wanted, {r.entity_type for r in results}):
            if not isinstance(text, str):
                kind = type(text).__name__
                raise OperatorError(Errors.E832, operator=HIPS, name="text", type=kind, expected="text")
            scope = settings.scope
            found = found_in(text, analyzer_results, settings.labels, conflict_resolution=conflict_resolution)
            plan = plan_document(text, found, settings, how=how)
            wanted |= {e: OperatorConfig(_config(wanted, e).operator_name, {"document": plan}) for e in how}
            if plan.headers and HEADER not in wanted:
                results += [RecognizerResult(HEADER, row.start, row.end, 1.0) for row in plan.headers]
                wanted[HEADER] = OperatorConfig(HIPS, {"document": plan})
        results.sort(key=lambda r: (r.start, r.end))
        entities = self._remove_conflicts_and_get_text_manipulation_data(results, conflict_resolution)
        if merge_entities_with_spaces:
            entities = self._merge_entities_with_spaces_between(text, entities)
        old = sorted((e.start, e.end, e.entity_type) for e in entities)
        result = _operate(self, text, entities, wanted, OperatorType.Anonymize)
        if self.vault is not None:
            self._remember(text, old, result, document_id=document_id, scope=scope)
        return result

    def _settings(self, operators: Mapping[str, OperatorConfig], entities: set[str]) -> list[tuple[Settings, dict[str, str]]]:
        """RETURNS (list): Settings that are asked for, each with the types that want them and the operator of each."""
        found: list[tuple[Settings, dict[str, str]]] = []
        classes = self.operators_factory.get_anonymizers()
        for entity in sorted(entities):
            config = _config(operators, entity)
            kind = classes.get(config.operator_name)
            if kind is None or not issubclass(kind, HipsOperator) or "document" in config.params:
                continue
            settings = kind.settings(config.params, document=True)
            how = next((how for known, how in found if known == settings), None)
            if how is None:
                found.append((settings, how := {}))
            how[entity] = kind.HOW
        return found

    def _remember(
        self, text: str, old: list[tuple[int, int, str]], result: EngineResult, *, document_id: str, scope: str
    ) -> None:
        from ..vault.vault import Hidden, Release

        assert self.vault is not None
        hidden = []
        # A span that reaches into the next one was replaced up to there.
        ends = [min(end, after[0]) for (_, end, _), after in zip(old, [*old[1:], (len(text), 0, "")], strict=True)]
        items = sorted(result.items, key=lambda item: (item.start, item.end))
        for (start, _, entity), end, item in zip(old, ends, items, strict=True):
            if item.text != text[start:end]:
                label = HEADER if entity == HEADER else label_of(entity)
                hidden.append(Hidden(item.start, item.end, label, item.text, text[start:end]))
        remember(self.vault, Release(document_id, text, result.text, tuple(hidden), scope))


class PiiEduDeanonymizer(DeanonymizeEngine):
    """Presidio's de-anonymizer; where `reidentify` is asked for, the text as a whole is looked up in the vault first.

    vault (Vault | None): Open; for calls that bring none. A text that was changed since its release is refused (E458), and what comes
    out is checked against the digest of the original, once all that was hidden is back.
    """

    def __init__(self, *, vault: "Vault | None" = None) -> None:
        super().__init__()
        register_operators(None, self, vault=vault)

    def deanonymize(
        self, text: str, entities: list[OperatorResult], operators: dict[str, OperatorConfig] | None = None
    ) -> EngineResult:
        """De-anonymize a text.

        text (str): As it was released. entities (list[OperatorResult]): The items that the anonymizer gave, or some of them.
        operators (dict[str, OperatorConfig] | None): By type of entity; None for `reidentify` throughout.
        RETURNS (EngineResult): With the originals. RAISES (PiiError): E458 to E461, E831, E832, E836, E838, E839.
        """
        wanted = {_DEFAULT: OperatorConfig(REIDENTIFY)} if operators is None else dict(operators)
        classes = self.operators_factory.get_deanonymizers()
        ours: dict[str, tuple[Vault, Entry]] = {}
        for entity in sorted({e.entity_type for e in entities}):
            config = wanted.get(entity) or wanted.get(_DEFAULT)
            kind = classes.get(config.operator_name) if config is not None else None
            if config is None or kind is None or not issubclass(kind, ReidentifyOperator):
                continue
            kind().validate(config.params)
            values = kind.merged(config.params)
            ours[entity] = values["vault"], find_entry(values["vault"], text, id=values.get("id"))
            wanted[entity] = OperatorConfig(config.operator_name, {**values, "document": ours[entity][1]})
        if not ours:
            return super().deanonymize(text, entities, wanted)
        copies = [OperatorResult(e.start, e.end, e.entity_type, e.text, e.operator, e.score) for e in entities]
        places = [(e.start, e.end) for e in entities if e.entity_type in ours]
        result = _operate(self, text, copies, wanted, OperatorType.Deanonymize)
        vault, entry = next(iter(ours.values()))
        if len(places) == len(entities) and not proved(vault, entry, result.text, places):
            raise PiiError(Errors.E461, document=1)
        return result


def _config(operators: Mapping[str, OperatorConfig], entity: str) -> OperatorConfig:
    return operators.get(entity) or operators[_DEFAULT]


def _operate(
    engine: AnonymizerEngine | DeanonymizeEngine,
    text: str,
    entities: list[Any],
    operators: Mapping[str, OperatorConfig],
    kind: OperatorType,
) -> EngineResult:
    """Presidio's loop over spans. It looks an operator up by the type of a span; so that ours learn where a span stands, each span
    of ours has a type of its own while the loop runs."""
    configs, names = dict(operators), {}
    for entity in entities:
        config = configs.get(entity.entity_type) or configs.get(_DEFAULT)
        document = config.params.get("document") if config is not None else None
        if config is None or document is None:
            continue
        if not 0 <= entity.start <= entity.end <= len(text):
            raise OperatorError(Errors.E838, start=entity.start, end=entity.end, length=len(text))
        name, place = (
            f"{entity.entity_type}{_AT}{entity.start}{_AT}{entity.end}",
            (entity.start, entity.end, entity.entity_type),
        )
        configs[name], names[name] = OperatorConfig(config.operator_name, {**config.params, "place": place}), entity.entity_type
        entity.entity_type = name
    result = engine._operate(text, entities, configs, kind)
    for item in result.items:
        item.entity_type = names.get(item.entity_type, item.entity_type)
    return result
