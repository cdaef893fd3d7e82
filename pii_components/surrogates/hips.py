"""`hips_surrogate`: hide what was found in plain sight. The last component of the pipeline, and optional.

    nlp.add_pipe("hips_surrogate", config={"profile": "crapii"})
    doc = nlp("My name is Ana Lopez.")
    doc._.deidentified            # "My name is Carla Vidal."
    doc._.pii_offsets             # OffsetMap, old <-> new characters
    doc._.surrogate_spans         # [{"start_char": 11, "end_char": 22, "label": "NAME_STUDENT", ...}]

It reads `doc.spans["pii"]` and asks the profile what happens to each label. `doc.text` is never changed; `doc.ents` mirrors
what is protected. The key comes from a file or an environment variable and is never saved with the pipeline.
"""

import logging
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from spacy import util
from spacy.language import Language
from spacy.pipeline import Pipe
from spacy.tokens import Doc, Span

from ..alignment import OffsetMap, Replacement, apply_replacements
from ..errors import Errors, PiiError, PiiWarning, Warnings
from ..profiles import KEEP, SCOPES, STRATEGIES, Profile
from ..spans import SPANS_KEY, install_extensions
from .docs import Found, Words, collect_later, read_group, write_ents
from .keys import KEY_ENV, Chance
from .observed import Observed
from .saving import Saved
from .secret import Secret

logger = logging.getLogger(__name__)
logger.addHandler(logging.NullHandler())


@Language.factory(
    "hips_surrogate",
    assigns=["doc.ents", "doc._.deidentified", "doc._.pii_offsets", "doc._.surrogate_spans"],
    requires=["doc.spans"],
    default_config={
        "profile": "crapii",
        "scope": None,
        "reserved": None,
        "key_file": None,
        "key_env": KEY_ENV,
        "spans_key": SPANS_KEY,
        "strategy": None,
    },
)
def make_hips_surrogate(
    nlp: Language,
    name: str,
    *,
    profile: str | Profile,
    scope: str | None,
    reserved: bool | None,
    key_file: str | None,
    key_env: str | None,
    spans_key: str,
    strategy: str | None,
) -> "HipsSurrogate":
    """Make the component; see `HipsSurrogate`."""
    return HipsSurrogate(
        name,
        profile=profile,
        scope=scope,
        reserved=reserved,
        key_file=key_file,
        key_env=key_env,
        spans_key=spans_key,
        strategy=strategy,
    )


class Read(NamedTuple):
    """A document as read. text (str): Its text. found (list[Found]): Its spans. actions (list[str]): What becomes of each."""

    text: str
    found: list[Found]
    actions: list[str]


class Decided(NamedTuple):
    """What is to be written. new (str): The new text. offsets (OffsetMap): Where everything went. replacements
    (list[Replacement]): What stands where. ents (list[Span]): What does not stay as it is."""

    new: str
    offsets: OffsetMap
    replacements: list[Replacement]
    ents: list[Span]


class HipsSurrogate(Saved, Pipe):
    """Replace the spans of a document as a profile says.

    name (str): Name of the component.
    profile (str | Path | Profile): A shipped profile, a TOML file, or a profile.
    scope (str | None): Within what equal names get equal surrogates: "document", "corpus" or "thread" (documents with the same
        `doc._.pii_scope`, or those processed while `thread` is set); None for what the profile says.
    reserved (bool | None): Whether surrogates use values that can belong to nobody; None for what the profile says.
    key_file (str | Path | None): A file that holds the secret key.
    key_env (str | None): An environment variable that holds it, if there is no file. Without either, a random key for this run.
    spans_key (str): The span group to read.
    strategy (str | None): What a value that comes again becomes: "consistent", "random" or "markov"; None for what the profile
        says.
    """

    def __init__(
        self,
        name: str = "hips_surrogate",
        *,
        profile: str | Path | Profile = "crapii",
        scope: str | None = None,
        reserved: bool | None = None,
        key_file: str | Path | None = None,
        key_env: str | None = KEY_ENV,
        spans_key: str = SPANS_KEY,
        strategy: str | None = None,
    ) -> None:
        self.name = name
        self.cfg: dict[str, Any] = {
            "scope": None,
            "reserved": reserved,
            "key_file": str(key_file) if key_file is not None else None,
            "key_env": key_env,
            "spans_key": spans_key,
            "strategy": None,
        }
        self.thread: str | None = None
        self._words: Words | None = None
        self._secret = Secret(path=self.cfg["key_file"], env=key_env)
        self._observed = Observed(self._secret)
        self.profile = profile
        self.scope = scope
        self.strategy = strategy
        install_extensions()

    @property
    def profile(self) -> Profile:
        """RETURNS (Profile): What happens to each label. Set it to a profile, a shipped one's name, or a path."""
        return self._profile

    @profile.setter
    def profile(self, value: str | Path | Profile) -> None:
        self._profile = value if isinstance(value, Profile) else Profile.load(value)
        self._lacks_map = False

    @property
    def scope(self) -> str:
        """RETURNS (str): "document", "corpus" or "thread". Set it to None for what the profile says."""
        return self.cfg["scope"] or self._profile.scope

    @scope.setter
    def scope(self, value: str | None) -> None:
        if value is not None and value not in SCOPES:
            raise PiiError(Errors.E422, setting="scope", value=value, profile=self._profile.name, allowed=", ".join(SCOPES))
        self.cfg["scope"] = value

    @property
    def strategy(self) -> str:
        """RETURNS (str): "consistent", "random" or "markov". Set it to None for what the profile says."""
        return self.cfg["strategy"] or self._profile.strategy

    @strategy.setter
    def strategy(self, value: str | None) -> None:
        if value is not None and value not in STRATEGIES:
            raise PiiError(
                Errors.E422, setting="strategy", value=value, profile=self._profile.name, allowed=", ".join(STRATEGIES)
            )
        self.cfg["strategy"] = value

    @contextmanager
    def using(
        self, *, profile: str | Path | Profile | None = None, scope: str | None = None, thread: str | None = None
    ) -> Iterator["HipsSurrogate"]:
        """Change settings for some documents.

        profile (str | Path | Profile | None): Another profile. scope (str | None): Another scope.
        thread (str | None): Id of the thread or author that the documents belong to; sets the scope to "thread".
        YIELDS (HipsSurrogate): The component; afterwards it is as before.
        """
        before = self._profile, self.cfg["scope"], self.thread
        try:
            if profile is not None:
                self.profile = profile  # type: ignore[assignment]
            if scope is not None or thread is not None:
                self.scope = scope or "thread"
            self.thread = thread if thread is not None else self.thread
            yield self
        finally:
            self._profile, self.cfg["scope"], self.thread = before

    def set_key(self, key: bytes) -> None:
        """Use this key instead of a file or an environment variable.

        key (bytes): At least 16 bytes. RAISES (PiiError): E402 if it is shorter.
        """
        self._secret.give(key)

    def observe(self, docs: Iterable[Doc]) -> int:
        """Learn the names of a corpus, so that no surrogate is one of them; and its places, schools and workplaces, for profiles
        with `pool = "corpus"`. What is learnt stays in memory.

        docs (Iterable[Doc]): With `doc.spans`; run the pipeline up to this component over all documents first.
        RETURNS (int): How many words of names are known now.
        """
        return self._observed.observe(docs, spans_key=self.cfg["spans_key"])

    def forget(self) -> None:
        """Forget what `observe` learnt."""
        self._observed.forget()

    def __call__(self, doc: Doc) -> Doc:
        """RETURNS (Doc): The same document, with `_.deidentified`, `_.pii_offsets`, `_.surrogate_spans` and `ents`."""
        error_handler = self.get_error_handler()
        try:
            self._warn_missing(self.set_annotations(doc))
        except Exception as err:  # noqa: BLE001
            error_handler(self.name, self, [doc], err)
        return doc

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """YIELDS (Doc): The documents of a stream in order; one that fails goes to the error handler."""
        error_handler = self.get_error_handler()
        for docs in util.minibatch(stream, size=batch_size):
            # All are read, then all decided, then all written: what one step needs stays in the processor's cache.
            done: list[tuple[Doc, Any]] = [(doc, None) for doc in docs]
            with collect_later():
                for step in (self._read, self._decide, self._write):
                    todo, done = done, []
                    for doc, given in todo:
                        try:
                            done.append((doc, step(doc, given)))
                        except Exception as err:  # noqa: BLE001, PERF203
                            error_handler(self.name, self, [doc], err)
            self._warn_missing(sum([missing for _, missing in done]))
            for doc, _ in done:
                yield doc

    def set_annotations(self, doc: Doc) -> int:
        """Write the results to a document.

        doc (Doc): With `doc.spans`.
        RETURNS (int): How many values got a tag because there was no surrogate.
        """
        return self._write(doc, self._decide(doc, self._read(doc)))

    def _read(self, doc: Doc, _: None = None) -> "Read":
        """RETURNS (Read): What a document holds, and what the profile does with it."""
        if self._lacks_map:
            raise PiiError(
                Errors.E475, lacks="the profile's map for OTHER", cure="use one process, or set the profile again there"
            )
        by_role = self._profile.by_role
        if by_role:
            from .owners import set_detail_roles

            set_detail_roles(doc, self.cfg["spans_key"])
        found = read_group(doc, self.cfg["spans_key"])
        if by_role:
            actions = [self._profile.action(f.label, f.span._.pii_role or "") for f in found]
        else:
            actions = [self._profile.action(f.label) for f in found]
        strings = doc.vocab.strings
        if self._words is None or self._words.strings is not strings:
            self._words = Words(strings)
        return Read(self._words.text(doc), found, actions)

    def _decide(self, doc: Doc, read: "Read") -> "Decided":
        """RETURNS (Decided): What stands in the place of the spans."""
        from .plan import Item, plan

        text, found, actions = read
        replacements = plan(
            text,
            [Item(start, end, label, action) for (label, start, end, _), action in zip(found, actions, strict=True)],
            profile=self._profile,
            chance=self.chance(doc, text),
            known=self._observed,
            reserved=self.cfg["reserved"],
            local=self.scope == "document",
            pools=self._observed.shared() if self._profile.pool == "corpus" else None,
            strategy=self.cfg["strategy"],
        )
        new, offsets = apply_replacements(text, replacements)
        return Decided(new, offsets, replacements, [f.span for f, action in zip(found, actions, strict=True) if action != KEEP])

    def _write(self, doc: Doc, decided: "Decided") -> int:
        """RETURNS (int): How many values got a tag because there was no surrogate."""
        from .plan import NO_SURROGATE

        new, offsets, replacements, ents = decided
        attributes = doc._
        attributes.deidentified = new
        attributes.pii_offsets = offsets
        attributes.surrogate_spans = [
            {"start_char": start, "end_char": end, "label": rep.label, "action": rep.action, "note": rep.note}
            for rep, (_, _, start, end) in zip(replacements, offsets.edits, strict=True)
        ]
        write_ents(doc, ents)
        return sum([rep.note == NO_SURROGATE for rep in replacements])

    def chance(self, doc: Doc, text: str | None = None) -> Chance:
        """RETURNS (Chance): The key, with the scope that this document belongs to. text (str | None): `doc.text`, if it is at hand."""
        base = self._secret.chance()
        if self.scope == "corpus":
            return base.within("corpus")
        if self.scope == "thread":
            thread = doc._.pii_scope if doc._.pii_scope is not None else self.thread
            if thread is not None:
                return base.within(f"thread:{thread}")
        # A document is its text: equal texts get equal surrogates, whatever else was read before.
        return base.within("document:" + base.digest("document", doc.text if text is None else text).hex())

    def _warn_missing(self, n: int) -> None:
        if n:
            warnings.warn(Warnings.W402.format(n=n), PiiWarning, stacklevel=2)
