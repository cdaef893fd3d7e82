"""A trained pipeline that holds no word of the texts that it was trained on.

spaCy keeps every string that a pipeline has seen; what ours has seen in training is students' words.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import spacy
from spacy.language import Language


def without_words(nlp: Language) -> Language:
    """RETURNS (Language): The same pipeline, over a vocabulary that has seen no text; of the config's paths names alone."""
    config = nlp.config.copy()
    # Where it was trained is nobody's business; spaCy checks the whole config, so a path may not become null either.
    config["paths"] = {key: value and Path(value).name for key, value in config["paths"].items()}
    fresh = spacy.util.get_lang_class(nlp.lang or "en").from_config(config)
    for name, source in nlp.pipeline:
        target: Any = fresh.get_pipe(name)
        if hasattr(source, "to_bytes"):  # pii_cleaner is a function
            target.from_bytes(source.to_bytes(exclude=["vocab"]), exclude=["vocab"])
        for label in getattr(source, "labels", ()):
            fresh.vocab.strings.add(label)
    return fresh


def make_without_words() -> Callable[[Language], Language]:
    """RETURNS (Callable[[Language], Language]): `pii_edu.without_words.v1`, for `[training.before_to_disk]`: spaCy saves every word that it has
    read, and in training that is students' names."""
    return without_words
