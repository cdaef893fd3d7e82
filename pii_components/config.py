"""Which configuration wins: what the user asks for, then what a saved pipeline holds, then the default.

    nlp = spacy.load("en_pii_edu", config={"components.hips_surrogate.profile": "ets"})
    nlp.get_pipe("hips_surrogate").profile = "ferpa_strict"
    nlp.config["components"]["hips_surrogate"]["profile"]      # "ferpa_strict"

spaCy makes a component from the config, overrides in it, and lets it read its own files afterwards. So a component remembers what the
user asked for, saves that beside the settings in force, and takes from a file only what nobody has asked for otherwise. Null in a
config means "as saved, else the default".
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import Any, Self
from weakref import WeakKeyDictionary, ref

from spacy import util
from spacy.attrs import SHAPE
from spacy.language import Language
from spacy.lookups import Lookups
from spacy.tokens import Doc

from .errors import Warnings, warn
from .labels import LABELS

# Not attributes of the components: a weak reference cannot be pickled, and a component goes to other processes.
_PIPELINES: "WeakKeyDictionary[Any, ref[Language]]" = WeakKeyDictionary()
_HAS_OUR_TOKENS: "WeakKeyDictionary[Lookups, bool]" = WeakKeyDictionary()
# Where `cfg` holds, as JSON, what the user asked for; the name stands in saved pipelines.
_USER_CONFIG = "asked"


class Configured:
    """Mixin of a component.

    cfg (dict[str, Any]): The settings in force, as plain data.
    user_config (dict[str, Any]): Those that the user asked for.
    """

    cfg: dict[str, Any]
    user_config: dict[str, Any]
    _defaults: Mapping[str, Any]

    def configure(self, defaults: Mapping[str, Any], user_config: Mapping[str, Any]) -> None:
        """Set `cfg`.

        user_config (Mapping): None for what the user did not give; a mapping completes its default, anything else replaces it.
        """
        self._defaults = defaults
        given = {key: value for key, value in user_config.items() if value is not None}
        text = json.dumps(given)
        self.user_config = json.loads(text)
        self.cfg = deepcopy({**defaults, _USER_CONFIG: text})
        for key, value in json.loads(text).items():
            is_part = isinstance(self.cfg.get(key), dict)
            self.cfg[key] = {**self.cfg[key], **value} if is_part else value

    def bind_to(self, nlp: Language) -> None:
        """Name the pipeline whose config `sync_config` writes to."""
        _PIPELINES[self] = ref(nlp)
        for label in LABELS:
            # Not when a document first has it: that may be in a memory zone, which forgets it.
            nlp.vocab.strings.add(label, allow_transient=False)  # type: ignore[call-arg]

    def _pipeline(self) -> Language | None:
        return _PIPELINES[self]() if self in _PIPELINES else None

    def has_our_tokens(self, doc: Doc) -> bool:
        """RETURNS (bool): Whether our tokenizer made them. Looked at once for a pipeline: W001 or W002 says what is lost."""
        lookups = doc.vocab.lookups  # a Vocab takes no weak references
        if lookups not in _HAS_OUR_TOKENS:
            _HAS_OUR_TOKENS[lookups] = ours = self._is_our_tokenizer(doc)
            is_english = doc.vocab.lang in ("", "en")
            if not (ours and is_english):
                template = Warnings.W001 if is_english else Warnings.W002
                warn(template, component=getattr(self, "name", ""), lang=doc.vocab.lang)
        return _HAS_OUR_TOKENS[lookups]

    def _is_our_tokenizer(self, doc: Doc) -> bool:
        getters: Any = getattr(doc.vocab, "lex_attr_getters", {})
        shape = getters.get(SHAPE)
        ours = getattr(shape, "__module__", "").startswith(str(__package__))
        nlp = self._pipeline()
        if ours and nlp is not None and nlp.vocab is doc.vocab:  # else the component was sourced
            return len(nlp.make_doc("a_b")) > 1
        return ours

    @contextmanager
    def loading(self) -> Iterator[dict[str, Any]]:
        """While saved settings are read into `cfg`, which is yielded; those count then that were not asked for otherwise."""
        own, saved = self.cfg, dict[str, Any]()
        self.cfg = saved
        try:
            yield saved
        finally:
            self.cfg = own
        # srsly reads .3 as .30000000000000004.
        saved |= json.loads(json.dumps(saved), parse_float=lambda text: round(float(text), 12))
        # Before 0.9.7 the config said what is saved.
        before = {**self._defaults, **saved}
        saved[_USER_CONFIG] = json.loads(saved[_USER_CONFIG]) if _USER_CONFIG in saved else before
        for key, value in saved.items():
            if key != _USER_CONFIG:
                self._take_saved(key, value, saved[_USER_CONFIG].get(key))
        in_force = (key for key in saved if key in own and own[key] != self.user_config.get(key))
        self.sync_config(*in_force)

    def _take_saved(self, key: str, value: Any, then: Any) -> None:
        """Take a saved setting, unless the user asks for another one now. then (Any): What the user asked for when it was saved."""
        now = self.user_config.get(key)
        if not isinstance(now, dict):
            if now in (None, then):
                self.cfg[key] = deepcopy(value)
            return
        if isinstance(value, dict):
            changed = {k: v for k, v in now.items() if k not in (then or {}) or then[k] != v}
            value = {**self.cfg[key], **value, **changed}
        self.cfg[key] = deepcopy(value)

    def overrides(self, saved: Mapping[str, Any], key: str) -> bool:
        """RETURNS (bool): Whether a setting was asked for, and otherwise than in a `cfg` that was loaded."""
        return self.user_config.get(key) not in (None, saved[_USER_CONFIG].get(key))

    def sync_config(self, *keys: str, **values: Any) -> None:
        """Make the pipeline's config say what is in force. keys: Of `cfg`. values: What is not in it, as plain data."""
        nlp = self._pipeline()
        for name, pipe in nlp.components if nlp is not None else ():
            if pipe is self and nlp is not None:
                # The same objects: what is changed in them shows in the config.
                config = nlp.get_pipe_config(name)
                config.update({key: self.cfg[key] for key in keys if key in config} | values)


class Saved(Configured):
    """Mixin of a component that is saved in parts, a file each; one of them is "cfg". None holds a word of a text."""

    def parts(self) -> dict[str, Callable[[], bytes]]:
        """RETURNS (dict[str, Callable]): Name of each part -> what makes its bytes."""
        raise NotImplementedError

    def read_parts(self, found: Mapping[str, bytes]) -> None:
        """Take what was saved. found (Mapping[str, bytes]): Without the parts that the user excludes."""
        raise NotImplementedError

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """RETURNS (bytes): The component. exclude (Iterable[str]): Parts to leave out."""
        return bytes(util.to_bytes(self.parts(), exclude))

    def from_bytes(self, bytes_data: bytes, *, exclude: Iterable[str] = ()) -> Self:
        """RETURNS (Self): With what `to_bytes` returned."""
        found = dict[str, bytes]()
        readers: dict[str, Callable[[bytes], Any]] = {}
        for name in self.parts():
            readers[name] = partial(found.__setitem__, name)
        util.from_bytes(bytes_data, readers, exclude)
        self.read_parts(found)
        return self

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Save in a folder. exclude (Iterable[str]): Parts to leave out."""
        parts = self.parts()
        writers = dict.fromkeys(parts, lambda file: file.write_bytes(parts[file.name]()))
        util.to_disk(path, writers, exclude)

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> Self:
        """RETURNS (Self): With what `to_disk` saved."""
        found = dict[str, bytes]()
        readers = dict.fromkeys(
            self.parts(), lambda file: found.update({file.name: file.read_bytes()})
        )
        util.from_disk(path, readers, exclude)
        self.read_parts(found)
        return self
