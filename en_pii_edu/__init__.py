"""The trained pipeline: `spacy.load("en_pii_edu")`.

One distribution, `en_pii_edu`, holds this package and `pii_components`, so that spaCy finds the pipeline by its name after
`pip install .`.
"""

from pathlib import Path
from typing import Any

from spacy.language import Language
from spacy.util import get_model_meta, load_model_from_init_py

__version__ = (
    get_model_meta(Path(__file__).parent)["version"]
    if (Path(__file__).parent / "meta.json").exists()
    else "0.0.0"
)


def load(**overrides: Any) -> Language:
    """Load the pipeline.

    overrides: Those of `spacy.load`: vocab, disable, enable, exclude, config.
    RETURNS (Language): The pipeline.
    """
    return load_model_from_init_py(__file__, **overrides)
