"""`hips_surrogate`: hide what was found in plain sight. The last component of the pipeline, and optional.

    nlp.add_pipe("hips_surrogate", config={"profile": "crapii"})
    doc = nlp("My name is Ana Lopez.")
    doc._.deidentified            # "My name is Carla Vidal."
    doc._.pii_offsets             # OffsetMap, old <-> new characters
    doc._.surrogate_spans         # [{"start_char": 11, "end_char": 22, "label": "NAME_STUDENT", ...}]

It reads `doc.spans["pii"]` and asks the profile what happens to each label. `doc.text` is never changed; `doc.ents` mirrors
what is protected. The key comes from a file or an environment variable and is never saved with the pipeline.
"""

import hashlib
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import srsly
from spacy import util
from spacy.pipeline import Pipe
from spacy.pipeline.span_ruler import prioritize_new_ents_filter
from spacy.tokens import Doc, Span
from spacy.training import Example

from ..config import Saved
from ..errors import Errors, PiiError, PiiStop, Warnings, warn
from ..labels import EDUCATION, EMPLOYER, LABELS, LOCATION
from ..names.letters import forget as forget_batch
from ..names.people import people_of
from ..names.table import name_tables
from ..ner.scorer import score_ents
from ..offsets import apply_replacements
from ..profiles import (
    CORPUS,
    KEEP,
    PSEUDONYM,
    SCOPES,
    STRATEGIES,
    SURROGATE,
    Profile,
    shipped_profiles,
)
from ..spans import SPANS_KEY, EntsFilter, merge_found, read_spans, write_ents
from .keys import KEY_ENV, Secret, SurrogateKey, load_key
from .owners import set_detail_roles
from .plan import EMPTY, NO_SURROGATE, ScopePeople, plan
from .values import Item, surrogates

__all__ = ["HipsSurrogate"]

logger = logging.getLogger(__name__)
logger.addHandler(logging.NullHandler())

POOLED = (LOCATION, EDUCATION, EMPLOYER)
# Actions that may ask a generator.
_MADE = (SURROGATE, PSEUDONYM)
_IMPORT = (
    "import the file that registers it first (spacy train, package: --code FILE; pii-edu: --config code=FILE), or install it as a package with an "
    "entry point"
)
# In how many documents a value must stand before others may get it: one that fewer have tells who they are.
SHARED_BY = 3


def _registered() -> set[str]:
    return {f"surrogates.{label}" for label in surrogates.known()} | {
        f"names.{name}" for name in name_tables.known()
    }


def _modules() -> list[str]:
    """RETURNS (list[str]): Where the user's functions stand."""
    functions = (*surrogates.known().values(), *name_tables.known().values())
    return sorted({function.__module__ for function in functions})


def read_group(doc: Doc, key: str) -> list[Span]:
    """RETURNS (list[Span]): The spans of a group, sorted; where some overlap, as `spans.merge_found` has it; empty for a missing group.
    RAISES (PiiError): E001 for a span without a label."""
    cands = merge_found(doc, (), read_spans(doc, key))
    return [Span(doc, cand.start, cand.end, label=cand.label) for cand in cands]


class CorpusNames:
    """Names and values of a corpus. `word in observed` asks for a folded word (`letters.norm`) of a name. secret (Secret): For copies."""

    def __init__(self, secret: Secret) -> None:
        self._secret = secret
        self.forget()

    def forget(self) -> None:
        self._words: set[str] = set()
        # Label -> value as it stands -> digests of documents that hold it, as many as count.
        self._pools: dict[str, dict[str, set[bytes]]] = {}
        self._digests: frozenset[bytes] = frozenset()
        self._lacks_pools = False

    def observe(self, docs: Iterable[Doc], *, spans_key: str = SPANS_KEY) -> int:
        """Learn from documents with spans. RETURNS (int): How many words of names are known."""
        for doc in docs:
            self._words |= people_of(doc, spans_key).words()
            digest = hashlib.sha256(doc.text.encode("utf8", "surrogatepass")).digest()[:8]
            for span in doc.spans.get(spans_key, ()):
                if span.label_ in POOLED:
                    values = self._pools.setdefault(span.label_, {})
                    docs_with = values.setdefault(span.text, set())
                    if len(docs_with) < SHARED_BY:
                        docs_with.add(digest)
        return len(self._words) + len(self._digests)

    def add(self, words: Iterable[str]) -> None:
        """words (Iterable[str]): Folded, of names."""
        self._words.update(words)

    def shared(self) -> dict[str, list[str]]:
        """RETURNS (dict[str, list[str]]): Label -> values that enough documents have in common: what one student alone wrote is
        not lent. RAISES (PiiError): E475, if this is a copy.
        """
        if self._lacks_pools:
            cure = "use one process, or call observe() there"
            raise PiiError(Errors.E475, lacks="the values that observe() learnt", cure=cure)
        return {
            label: sorted([value for value, docs in values.items() if len(docs) >= SHARED_BY])
            for label, values in self._pools.items()
        }

    def __contains__(self, word: object) -> bool:
        return word in self._words or (bool(self._digests) and self._digest(word) in self._digests)

    def digests(self) -> frozenset[bytes]:
        """RETURNS (frozenset[bytes]): What stands for the words of names outside of this process: keyed digests."""
        return self._digests | {self._digest(word) for word in self._words}

    def learn_from(self, digests: Iterable[bytes]) -> None:
        """Know the words that another process, with the same key, has the `digests` of."""
        self._digests |= frozenset(digests)

    def _digest(self, word: Any) -> bytes:
        return self._secret.chance().digest("observed", word)[:12]

    def __getstate__(self) -> dict[str, Any]:
        return {
            "secret": self._secret,
            "digests": self.digests(),
            "lacks_pools": self._lacks_pools or bool(self._pools),
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["secret"])  # type: ignore[misc]
        self._digests, self._lacks_pools = state["digests"], state["lacks_pools"]


DEFAULTS = dict.fromkeys(("scope", "reserved", "key_file", "strategy"))


class HipsSurrogate(Saved, Pipe):
    """Replace the spans of a document as a profile says.

    name (str): Name of the component.
    profile (str | Path | Profile | dict | None): A shipped profile, a TOML file, or a profile; "crapii".
    scope (str | None): Within what equal names get equal surrogates: "document", "corpus" or "thread" (documents with the same
        `doc._.pii_scope`, or those processed while `thread` is set); None for what the profile says.
    reserved (bool | None): Whether surrogates use values that can belong to nobody; None for what the profile says.
    key_file (str | Path | None): A file that holds the secret key.
    key_env (str | None): An environment variable that holds it, if there is no file. Without either, a random key for this run.
    spans_key (str): The span group to read.
    listed (ScopePeople): Who is on a class list: where the scope is "corpus", one person by all names in all documents. Never saved.
    strategy (str | None): What a value that comes again becomes: "consistent", the same; there are no others any more.
    ents_filter (Callable): As that of spaCy's SpanRuler: who wins in `doc.ents` where entities of others overlap ours; ours.
    RAISES (PiiError): E401, E402 for a key file; E002, E422 to E425 for a profile.
    """

    def __init__(
        self,
        name: str = "hips_surrogate",
        *,
        profile: str | Path | Profile | dict[str, Any] | None = None,
        scope: str | None = None,
        reserved: bool | None = None,
        key_file: str | Path | None = None,
        key_env: str | None = KEY_ENV,
        spans_key: str = SPANS_KEY,
        strategy: str | None = None,
        ents_filter: EntsFilter = prioritize_new_ents_filter,
    ) -> None:
        self.name = name
        made = Profile.of(profile if profile is not None else "crapii")
        asked: dict[str, Any] = {
            "scope": scope,
            "reserved": reserved,
            "strategy": strategy,
            "spans_key": spans_key,
            "key_env": key_env or "",
            "key_file": str(key_file) if key_file is not None else None,
            "profile": _config_of(made) if profile else None,
        }
        self.configure(DEFAULTS, asked)
        self.cfg.pop("profile", None)  # in force is self.profile
        self.thread: str | None = None
        self._everyone: Any = None
        self.listed = EMPTY
        self._ents_filter = ents_filter
        self._secret = Secret(path=self.cfg["key_file"], env=self.cfg["key_env"])
        self.corpus_names = CorpusNames(self._secret)
        # What the user's code had registered when this was saved or copied.
        self._needs: list[str] = []
        self.profile = made
        self._checked("strategy", strategy, STRATEGIES)
        self.scope = scope  # type: ignore[assignment]
        self._check_key_file()

    def _check_key_file(self) -> None:
        if self.cfg["key_file"] is not None:
            load_key(path=self.cfg["key_file"], env=None)

    @property
    def profile(self) -> Profile:
        """RETURNS (Profile): What happens to each label. Set it to a profile, a shipped one's name, or a path."""
        return self._profile

    @profile.setter
    def profile(self, value: str | Path | Profile) -> None:
        self._profile = Profile.of(value)
        self.sync_config(profile=_config_of(self._profile))
        # Whether this is a copy whose profile had a map for OTHER, which holds originals.
        self._lacks_map = False

    @property
    def labels(self) -> tuple[str, ...]:
        """RETURNS (tuple[str, ...]): What the profile does not leave as it is."""
        own = (label.partition("/")[0] for label in self._profile.actions)
        return tuple(filter(self._profile.protects, dict.fromkeys((*LABELS, *own))))

    def _needed(self) -> list[str]:
        """What the user's own code has registered and surrogates depend on: `surrogates.COURSE`, `names.kenya`."""
        actions = self._profile.actions.items()
        made = {label.partition("/")[0] for label, action in actions if action in _MADE}
        unused = {f"surrogates.{label}" for label in surrogates.known() if label not in made}
        return sorted(_registered() - unused)

    def _check_needed(self) -> None:
        """RAISES (PiiError): E475, if this was saved or copied with code of the user's own that is not here."""
        if missing := sorted({*self._needs} - _registered()):
            raise PiiError(Errors.E475, lacks=", ".join(missing), cure=_IMPORT)

    @property
    def scope(self) -> str:
        """RETURNS (str): "document", "corpus" or "thread". Set it to None for what the profile says."""
        return self.cfg["scope"] or self._profile.scope

    @scope.setter
    def scope(self, value: str | None) -> None:
        self.cfg["scope"] = self._checked("scope", value, SCOPES)
        self.sync_config("scope")

    def _checked(self, setting: str, value: str | None, allowed: Sequence[str]) -> str | None:
        if value is not None and value not in allowed:
            raise PiiError(
                Errors.E422,
                setting=setting,
                value=value,
                profile=self._profile.name,
                allowed=", ".join(allowed),
            )
        return value

    @contextmanager
    def using(
        self,
        *,
        profile: str | Path | Profile | None = None,
        scope: str | None = None,
        thread: str | None = None,
        everyone: ScopePeople | None = None,
    ) -> Iterator["HipsSurrogate"]:
        """Change settings for some documents.

        profile (str | Path | Profile | None): Another profile. scope (str | None): Another scope.
        thread (str | None): Id of the thread or author that the documents belong to; sets the scope to "thread".
        everyone (ScopePeople | None): Who else is in it: "Ana" is who is "Ana Lopez" in another of its documents. Never saved.
        YIELDS (HipsSurrogate): The component; afterwards it is as before.
        """
        before = self._profile, self._lacks_map, self.cfg["scope"], self.thread, self._everyone
        try:
            if profile is not None:
                self._profile, self._lacks_map = Profile.of(profile), False
            if scope is not None or thread is not None:
                self.cfg["scope"] = self._checked("scope", scope or "thread", SCOPES)
            self.thread = thread if thread is not None else self.thread
            self._everyone = everyone if everyone is not None else self._everyone
            yield self
        finally:
            self._profile, self._lacks_map, self.cfg["scope"], self.thread, self._everyone = before

    def set_key(self, key: bytes) -> None:
        """Use this key (16 bytes or more) instead of a file or an environment variable. RAISES (PiiError): E402 if it is shorter."""
        self._secret.give(key)

    def observe(self, docs: Iterable[Doc]) -> int:
        """Learn the names of a corpus, so that no surrogate is one of them; and its places, schools and workplaces, for profiles
        with `pool = "corpus"`. What is learnt stays in memory.

        docs (Iterable[Doc]): With `doc.spans`; run the pipeline up to this component over all documents first.
        RETURNS (int): How many words of names are known now.
        """
        try:
            return self.corpus_names.observe(docs, spans_key=self.cfg["spans_key"])
        finally:
            forget_batch()

    def forget(self) -> None:
        """Forget what `observe` and `corpus_names.learn_from` learnt."""
        self.corpus_names.forget()

    def __call__(self, doc: Doc) -> Doc:
        """RETURNS (Doc): The same document, with `_.deidentified`, `_.pii_offsets`, `_.surrogate_spans` and `ents`."""
        self._replace([doc])
        return doc

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """YIELDS (Doc): The documents of a stream in order; one that fails goes to the error handler."""
        for docs in util.minibatch(stream, size=batch_size):
            yield from self._replace(docs)

    def _replace(self, docs: Iterable[Doc]) -> list[Doc]:
        """RETURNS (list[Doc]): Those of a batch that did not fail. No word of theirs stays in a cache."""
        done, missing = list[Doc](), 0
        try:
            for doc in docs:
                try:
                    missing += self.set_annotations(doc)
                    done.append(doc)
                except Exception as err:  # noqa: BLE001, PERF203
                    self.get_error_handler()(self.name, self, [doc], err)
        finally:
            forget_batch()
        if missing:
            warn(Warnings.W402, n=missing)
        return done

    def _refuse_unread(self, doc: Doc) -> None:
        """RAISES (PiiStop): E403, if nobody has looked for personal information, or somebody will only look afterwards; E475."""
        key, nlp = self.cfg["spans_key"], self._pipeline()
        names = nlp.pipe_names if nlp is not None and nlp.vocab is doc.vocab else []
        late = []
        for name in names[names.index(self.name) + 1 :] if self.name in names else ():
            writes = "doc.spans" in nlp.get_pipe_meta(name).assigns  # type: ignore[union-attr]
            if writes and nlp.get_pipe_config(name).get("spans_key") == key:  # type: ignore[union-attr]
                late.append(name)
        if late or (len(doc) and key not in doc.spans):
            raise PiiStop(Errors.E403, name=self.name, key=key, late=", ".join(late) or "none")
        if self._lacks_map:
            cure = "use one process, or set the profile again there"
            raise PiiError(Errors.E475, lacks="the profile's map for OTHER", cure=cure)
        self._check_needed()

    def set_annotations(self, doc: Doc) -> int:
        """Write the results to a document with `doc.spans`. RETURNS (int): How many values got a tag: there was no surrogate."""
        self._refuse_unread(doc)
        key, profile, text = self.cfg["spans_key"], self._profile, doc.text
        if profile.by_role:
            set_detail_roles(doc, key)
        items, ents = [], []
        for span in read_group(doc, key):
            role = (profile.by_role and span._.pii_role) or ""
            action = profile.action(span.label_, role)
            items.append(Item(span.start_char, span.end_char, span.label_, action))
            if action != KEEP:
                ents.append(span)
        replacements = plan(
            text,
            items,
            profile=profile,
            chance=self.chance(doc, text),
            known=self.corpus_names,
            reserved=self.cfg["reserved"],
            local=self.scope == "document",
            pools=self.corpus_names.shared() if profile.pool == "corpus" else None,
            everyone=self._everyone or (self.listed if self.scope == CORPUS else EMPTY),
            people=people_of(doc, key, text),
            lines=doc._.pii_lines or (),
        )
        new, offsets = apply_replacements(text, replacements)
        rows = []
        for rep, edit in zip(replacements, offsets.edits, strict=True):
            place = {"start_char": edit.new_start, "end_char": edit.new_end}
            rows.append({**place, "label": rep.label, "action": rep.action, "note": rep.note})
        attributes = doc._
        attributes.deidentified, attributes.pii_offsets = new, offsets
        attributes.surrogate_spans = rows
        write_ents(doc, ents, self._ents_filter, key)
        return sum([rep.note == NO_SURROGATE for rep in replacements])

    def score(self, examples: Iterable[Example], **kwargs: Any) -> dict[str, Any]:
        """RETURNS (dict[str, Any]): See `score_ents`; protected is what the profile does not keep."""
        return score_ents(
            examples,
            lambda label: self._profile.action(label) == KEEP,
            spans_key=self.cfg["spans_key"],
        )

    def chance(self, doc: Doc, text: str) -> SurrogateKey:
        """RETURNS (SurrogateKey): The key, with the scope that this document belongs to. text (str): `doc.text`."""
        base = self._secret.chance()
        if self.scope == CORPUS:
            return base.within(CORPUS)
        if self.scope == "thread":
            thread = doc._.pii_scope if doc._.pii_scope is not None else self.thread
            if thread is not None:
                return base.within(f"thread:{thread}")
        # A document is its text: equal texts get equal surrogates, whatever else was read before.
        return base.within("document:" + base.digest("document", text).hex())

    # Saved and copied are settings and profile: never the key, nor anything that a person wrote.

    def parts(self) -> dict[str, Callable[[], bytes]]:
        profile = self._profile.to_dict(private=False)
        return {
            "cfg": lambda: _as_json({**self.cfg, "needs": self._needed()}),
            "profile": lambda: _as_json(profile),
        }

    def read_parts(self, found: Mapping[str, bytes]) -> None:
        cfg = srsly.json_loads(found.get("cfg", b"{}"))
        self._needs = cfg.pop("needs", [])
        self._check_needed()
        profile = (
            Profile.from_dict(srsly.json_loads(found["profile"])) if "profile" in found else None
        )
        with self.loading() as saved:
            saved.update(cfg)
            if "asked" not in saved and profile:
                saved["profile"] = profile.name
        if "key_env" in saved:
            self._secret.look_again(path=self.cfg["key_file"], env=self.cfg["key_env"])
            self._check_key_file()
        if profile and not self.overrides(saved, "profile"):
            self.profile = profile  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        state = vars(self) | {
            "_profile": Profile.from_dict(self._profile.to_dict(private=False)),
            "_lacks_map": self._lacks_map or bool(self._profile.other),
            "_everyone": None,
            "listed": EMPTY,
            "_needs": self._needed(),
            "_code": _modules() if self._needed() else (),
        }
        return type(self), (self.name,), state

    def __setstate__(self, state: dict[str, Any]) -> None:
        for module in state.pop("_code", ()):
            # Importing it registers its functions, in a process that was not forked too; what is missing then is told by E475.
            with suppress(ImportError):
                import_module(module)
        vars(self).update(state)


def _as_json(data: Any) -> bytes:
    return srsly.json_dumps(data, indent=2).encode("utf8")


def _config_of(profile: Profile) -> str | dict[str, Any]:
    """RETURNS (str | dict[str, Any]): What stands for a profile in a config: the name of a shipped one, else its settings."""
    same = profile.name in shipped_profiles() and Profile.load(profile.name) == profile
    return profile.name if same else profile.to_dict(private=False)
