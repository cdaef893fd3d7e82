"""What becomes of the spans of one document, decided before Presidio calls an operator for the first of them.

    plan = plan_document(text, found, settings, how={"PERSON": HIPS, "URL": ""})
    plan.at(11, 20, "PERSON")            # the new text of a span, or of neighbours that Presidio merged into one
    plan.of("PERSON", "Ana Lopez")       # the same, where nobody says where the span stands

An operator of Presidio sees one span's text and nothing else. People, e-mail addresses and dates hang together over a document, so
what is decided is decided here, by the same function as in `hips_surrogate`, and reaches the operators as a value. Nothing here
imports Presidio.
"""

import hmac
import threading
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import Errors, PiiError
from ..labels import LABELS, role_of
from ..profiles import KEEP, PSEUDONYM, TAG, Profile, shipped_profiles
from ..surrogates.header import HEADER
from ..surrogates.keys import KEY_ENV, MIN_KEY_BYTES, Chance, check_key, load_key
from ..surrogates.owners import detail_roles
from ..surrogates.plan import plan
from ..surrogates.values import Item
from .settings import label_of

if TYPE_CHECKING:
    from ..vault.vault import Entry, Release, Vault

HIPS, PSEUDO = "hips", "pseudonym"
DOCUMENT, CORPUS, THREAD = "document", "corpus", "thread:"


@dataclass(frozen=True, slots=True)
class Settings:
    """What surrogates depend on, beside the document.

    key (bytes): The secret. profile (Profile): What happens to each label.
    scope (str): Within what equal values get equal surrogates: "document", "corpus", "thread:" and an id, or a name of your own.
    reserved (bool | None): As in `hips_surrogate`. labels (Mapping[str, str]): Entity -> our label, before the table.
    """

    key: bytes = field(repr=False)
    profile: Profile
    scope: str = CORPUS
    reserved: bool | None = None
    labels: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        *,
        operator: str = HIPS,
        key: bytes | str | None = None,
        profile: str | Path | Profile | Mapping[str, Any] = "crapii",
        scope: str | None = None,
        reserved: bool | None = None,
        labels: Mapping[str, str] | None = None,
        document: bool = False,
    ) -> "Settings":
        """Check what a user gave.

        operator (str): For messages. key (bytes | str | None): None for the environment variable PII_EDU_KEY.
        profile: A shipped profile's name, a profile, its settings, or the Path of a TOML file. A name that comes with a request is
            never a path: nobody opens files on a server by asking for them.
        scope (str | None): None for what the profile says where there is a document, else "corpus".
        reserved, labels: As above. document (bool): Whether the document is known.
        RETURNS (Settings): Usable. RAISES (PiiError): E830, E832, E833; E002, E402, E422 to E426 for key, profile and labels.
        """
        expect(operator, "key", key, (bytes, str, type(None)), "text or bytes")
        expect(operator, "profile", profile, (str, Path, Profile, Mapping), "a profile's name or its settings")
        expect(operator, "scope", scope, (str, type(None)), "text")
        expect(operator, "reserved", reserved, (bool, type(None)), "true or false")
        expect(operator, "labels", labels, (Mapping, type(None)), "an object of entities and labels")
        secret = load_key(env=KEY_ENV) if key is None else key.strip().encode("utf8") if isinstance(key, str) else key
        if secret is None:
            raise PiiError(Errors.E830, operator=operator, least=MIN_KEY_BYTES, env=KEY_ENV)
        for label in (labels or {}).values():
            if label not in LABELS:
                raise PiiError(Errors.E002, label=label, allowed=", ".join(LABELS))
        known = _profile(profile)
        scope = scope or (known.scope if document else CORPUS)
        if scope in ("thread", THREAD) or (scope == DOCUMENT and not document):
            raise PiiError(Errors.E833, operator=operator, scope=scope)
        return cls(check_key(secret, source="the parameter key"), known, scope, reserved, dict(labels or {}))

    def chance(self, text: str) -> Chance:
        """RETURNS (Chance): Key and scope of a document, as `hips_surrogate` has them."""
        if self.scope == DOCUMENT:
            return Chance(self.key, "document:" + Chance(self.key).digest("document", text).hex())
        return Chance(self.key, self.scope)

    def action(self, how: str, label: str, role: str) -> str:
        """RETURNS (str): One of `profiles.ACTIONS`. how (str): "hips", "pseudonym", or "" for what another operator does."""
        action = self.profile.action(label, role)
        if action != KEEP and how == PSEUDO:
            return PSEUDONYM
        return action if how else TAG


def expect(operator: str, name: str, value: object, types: tuple[type, ...], expected: str) -> None:
    """RAISES (PiiError): E832, if a parameter is of another type; what it holds is not told."""
    if not isinstance(value, types):
        raise PiiError(Errors.E832, operator=operator, name=name, type=type(value).__name__, expected=expected)


@cache
def _shipped(name: str) -> Profile:
    return Profile.load(name)


def _profile(value: str | Path | Profile | Mapping[str, Any]) -> Profile:
    if isinstance(value, Profile):
        return value
    if isinstance(value, Mapping):
        return Profile.from_dict(value)
    if isinstance(value, Path):
        return Profile.load(value)
    if value not in shipped_profiles():
        raise PiiError(Errors.E425, profile=value[:40], allowed=", ".join(shipped_profiles()))
    return _shipped(value)


@dataclass(frozen=True, slots=True)
class Found:
    """A span that an analyzer found. start (int), end (int): Characters. entity (str): As Presidio calls it. label (str): Ours."""

    start: int
    end: int
    entity: str
    label: str


@dataclass(frozen=True, slots=True)
class Row:
    """What stands in the place of a span. action (str), note (str): As in `alignment.Replacement`."""

    start: int
    end: int
    entity: str
    new: str
    action: str = ""
    note: str = ""


@dataclass(frozen=True)
class DocumentPlan:
    """What becomes of each span of a document; made by `plan_document`.

    text (str): The document. rows (tuple[Row, ...]): Sorted. scope (str): As in `Settings`.
    """

    text: str = field(repr=False)
    rows: tuple[Row, ...] = field(repr=False)
    scope: str = DOCUMENT
    _starts: list[int] = field(init=False, repr=False, compare=False)
    _by_text: dict[tuple[str, str], str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_starts", [row.start for row in self.rows])
        by_text: dict[tuple[str, str], str] = {}
        for start, end, entity in [*((r.start, r.end, r.entity) for r in self.rows), *self._runs()]:
            by_text.setdefault((entity, self.text[start:end]), self.at(start, end, entity) or "")
        object.__setattr__(self, "_by_text", by_text)

    @property
    def headers(self) -> tuple[Row, ...]:
        """RETURNS (tuple[Row, ...]): Headers that the profile removes."""
        return tuple(row for row in self.rows if row.entity == HEADER)

    def at(self, start: int, end: int, entity: str) -> str | None:
        """The new text of a stretch.

        start (int), end (int): Characters of one span, or of several of one type that were merged. entity (str): Its type.
        RETURNS (str | None): With what stands between them as it was; None if no span of the type lies in it.
        """
        out, last, any_here = "", start, False
        for row in self.rows[bisect_left(self._starts, start) : bisect_left(self._starts, max(end, start + 1))]:
            if row.entity == entity and row.end <= end:
                out += self.text[last : row.start] + row.new
                last, any_here = row.end, True
        return out + self.text[last:end] if any_here else None

    def of(self, entity: str, old: str) -> str | None:
        """RETURNS (str | None): As `at`, by what stands there; the first one's where two people have the same text."""
        return self._by_text.get((entity, old))

    def _runs(self) -> Iterable[tuple[int, int, str]]:
        """YIELDS (tuple): Neighbours of one type with nothing but spaces between them, which Presidio makes one span."""
        rows = self.rows
        i = 0
        while i < len(rows):
            j = i
            while j + 1 < len(rows) and rows[j + 1].entity == rows[i].entity and self._spaces(rows[j].end, rows[j + 1].start):
                j += 1
            if j > i:
                yield rows[i].start, rows[j].end, rows[i].entity
            i = j + 1

    def _spaces(self, start: int, end: int) -> bool:
        return start < end and not self.text[start:end].strip(" ")


def plan_document(text: str, found: Sequence[Found], settings: Settings, *, how: Mapping[str, str]) -> DocumentPlan:
    """Decide for all spans of a document.

    text (str): The document. found (Sequence[Found]): Its spans, no two at the same place.
    settings (Settings): Key, profile, scope.
    how (Mapping[str, str]): Entity -> "hips" or "pseudonym"; others are another operator's business, and no surrogate is like them.
    RETURNS (DocumentPlan): With a row for each span of those entities, those that the profile keeps too, and for each header
        that it removes.
    """
    ordered = sorted(found, key=lambda f: (f.start, f.end))
    roles = [role_of(f.label) for f in ordered]
    if settings.profile.by_role:
        roles = detail_roles(text, [(f.start, f.end, f.label) for f in ordered])
    items = [
        Item(f.start, f.end, f.label, settings.action(how.get(f.entity, ""), f.label, role))
        for f, role in zip(ordered, roles, strict=True)
    ]
    replacements = plan(
        text,
        items,
        profile=settings.profile,
        chance=settings.chance(text),
        reserved=settings.reserved,
        local=settings.scope == DOCUMENT,
    )
    at = {(rep.start, rep.end): rep for rep in replacements if rep.label != HEADER}
    gone = [rep for rep in replacements if rep.label == HEADER]
    rows = [Row(rep.start, rep.end, HEADER, rep.new, rep.action, rep.note) for rep in gone]
    for span, item in zip(ordered, items, strict=True):
        rep = at.get((span.start, span.end))
        if not how.get(span.entity) or any(g.start <= span.start < g.end for g in gone):
            continue
        old = text[span.start : span.end]
        rows.append(Row(span.start, span.end, span.entity, rep.new if rep else old, item.action, rep.note if rep else ""))
    return DocumentPlan(text, tuple(sorted(rows, key=lambda r: (r.start, r.end))), settings.scope)


def surrogate_alone(text: str, entity: str, settings: Settings, *, how: str) -> str:
    """What a value becomes where nothing but itself is known.

    text (str): The value. entity (str): Its type. settings (Settings): Key, profile, scope. how (str): "hips" or "pseudonym".
    RETURNS (str): A function of key, scope, label and text: not linked to any other value, nor kept apart from it.
    """
    label = label_of(entity, settings.labels)
    return plan_document(text, [Found(0, len(text), entity, label)], settings, how={entity: how}).rows[0].new


# From a surrogate back to what it stands for, for Presidio's de-anonymizer. Nothing here imports Presidio.

# A vault is one file with one position, and a service has threads.
_LOCK = threading.Lock()


def find_entry(vault: "Vault", text: str, *, id: str | None = None) -> "Entry":
    """RETURNS (Entry): As `Vault.find`, one thread at a time."""
    with _LOCK:
        return vault.find(text, id=id)


def originals_of(vault: "Vault", new: str, *, id: str | None = None, scope: str | None = None) -> list[str]:
    """RETURNS (list[str]): As `Vault.lookup`, one thread at a time."""
    with _LOCK:
        return vault.lookup(new, id=id, scope=scope)


def remember(vault: "Vault", release: "Release") -> None:
    """Put a document into the vault; it is on the disk when this returns. RAISES (PiiError): E450, E469, E470."""
    with _LOCK:
        vault.append(release)


def original_between(entry: "Entry", text: str, start: int, end: int) -> str:
    """What stood in a stretch of a released text.

    entry (Entry): Its record. text (str): The stretch. start (int), end (int): Where it lies in the released text.
    RETURNS (str): With every hidden value in it put back; as it is where nothing was hidden.
    RAISES (PiiError): E839, if a hidden value lies across its edge.
    """
    out, last = "", start
    for hidden in entry.hidden:
        if hidden.start == hidden.end:
            # What was removed belongs to the stretch around it, or to an empty one at its place; at an edge it is a neighbour's.
            inside = start < hidden.start < end or start == end == hidden.start
        else:
            inside = hidden.start < end and start < hidden.end
        if not inside:
            continue
        if hidden.start < start or hidden.end > end or text[hidden.start - start : hidden.end - start] != hidden.new:
            raise PiiError(Errors.E839, start=start, end=end)
        out += text[last - start : hidden.start - start] + hidden.old
        last = hidden.end
    return out + text[last - start :]


def proved(vault: "Vault", entry: "Entry", old: str, places: Sequence[tuple[int, int]]) -> bool:
    """Whether a text that came out is the original.

    vault (Vault), entry (Entry): Where it comes from. old (str): What came out.
    places (Sequence[tuple[int, int]]): Stretches of the released text that were put back.
    RETURNS (bool): True too where some of what was hidden was not asked for.
    """
    starts = {start for start, _ in places}
    covered = all(any(s <= h.start and h.end <= e for s, e in places) or h.start in starts for h in entry.hidden)
    return not covered or hmac.compare_digest(vault.digest("original", old), entry.original)
