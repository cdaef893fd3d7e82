"""Whose word counts for a component's settings: the user's, then that of the saved pipeline, then the default.

    nlp = spacy.load("en_pii_edu", config={"components.hips_surrogate.profile": "ets"})
    nlp.get_pipe("hips_surrogate").profile = "ferpa_strict"
    nlp.config["components"]["hips_surrogate"]["profile"]      # "ferpa_strict"

spaCy makes a component from the config, overrides in it, and lets it read its own files afterwards. So a component remembers what it
was asked for, saves that beside what is in force, and takes from a file only what nobody has asked for otherwise. Null in a config
means "as saved, else the default".
"""

import json
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from typing import Any
from weakref import WeakKeyDictionary, ref

from spacy.attrs import SHAPE
from spacy.language import Language
from spacy.lookups import Lookups
from spacy.tokens import Doc

from .errors import PiiWarning, Warnings

_PIPELINES: "WeakKeyDictionary[Any, ref[Language]]" = WeakKeyDictionary()
_OUR_TOKENS: "WeakKeyDictionary[Lookups, bool]" = WeakKeyDictionary()


class Configured:
    """Mixin of a component. `cfg` (dict[str, Any]) holds the settings in force, as plain data, and as text what the user asked for."""

    cfg: dict[str, Any]
    _asked: dict[str, Any]
    _defaults: Mapping[str, Any]

    def configure(self, defaults: Mapping[str, Any], asked: Mapping[str, Any]) -> None:
        """Set `cfg`. asked: What the user gave, None where nothing; a mapping completes its default, anything else replaces it."""
        self._defaults = defaults
        text = json.dumps({key: value for key, value in asked.items() if value is not None})
        self._asked = json.loads(text)
        self.cfg = deepcopy({**defaults, "asked": text})
        for key, value in json.loads(text).items():
            self.cfg[key] = (
                {**self.cfg[key], **value} if isinstance(self.cfg.get(key), dict) else value
            )

    def belongs_to(self, nlp: Language) -> None:
        """Name the pipeline whose config shall say what is set later."""
        _PIPELINES[self] = ref(nlp)

    def has_our_tokens(self, doc: Doc) -> bool:
        """RETURNS (bool): Whether our tokenizer made them. Looked at once for a pipeline: W001 or W002 says what is lost."""
        vocab = doc.vocab
        if vocab.lookups not in _OUR_TOKENS:  # a Vocab takes no weak references
            getters: Any = getattr(vocab, "lex_attr_getters", {})
            ours = getattr(getters.get(SHAPE), "__module__", "").startswith(__package__)
            nlp = _PIPELINES[self]() if self in _PIPELINES else None
            if ours and nlp is not None and nlp.vocab is vocab:  # else the component was sourced
                ours = len(nlp.make_doc("a_b")) > 1
            _OUR_TOKENS[vocab.lookups] = ours
            if not ours or vocab.lang not in ("", "en"):
                template = Warnings.W001 if vocab.lang in ("", "en") else Warnings.W002
                warnings.warn(
                    template.format(component=getattr(self, "name", ""), lang=vocab.lang),
                    PiiWarning,
                    stacklevel=2,
                )
        return _OUR_TOKENS[vocab.lookups]

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
        saved["asked"] = (
            json.loads(saved["asked"]) if "asked" in saved else {**self._defaults, **saved}
        )
        for key, value in saved.items():
            now, then = self._asked.get(key), saved["asked"].get(key)
            if key == "asked" or (now not in (None, then) and not isinstance(now, dict)):
                continue
            if isinstance(value, dict) and isinstance(now, dict):
                changed = {k: v for k, v in now.items() if k not in (then or {}) or then[k] != v}
                value = {**own[key], **value, **changed}
            own[key] = deepcopy(value)
        self.tell(*(key for key in saved if key in own and own[key] != self._asked.get(key)))

    def overrides(self, saved: Mapping[str, Any], key: str) -> bool:
        """RETURNS (bool): Whether a setting was asked for, and otherwise than in a `cfg` that was loaded."""
        return self._asked.get(key) not in (None, saved["asked"].get(key))

    def tell(self, *keys: str, **values: Any) -> None:
        """Make the pipeline's config say what is in force. keys: Of `cfg`. values: What is not in it, as plain data."""
        nlp = _PIPELINES[self]() if self in _PIPELINES else None
        name = (
            next((name for name, pipe in nlp.components if pipe is self), None)
            if nlp is not None
            else None
        )
        if nlp is not None and name is not None:
            # The same objects: what is changed in them shows in the config.
            config = nlp.get_pipe_config(name)
            config.update({key: self.cfg[key] for key in keys if key in config} | values)
