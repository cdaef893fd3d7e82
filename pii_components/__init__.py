"""Find personally identifiable information in student writing and hide it in plain sight.

    nlp = spacy.load("en_pii_edu")
    doc = nlp(text)
    doc.spans["pii"], doc._.deidentified

Entry points register the components. This module stays light: every `spacy.blank()` in the environment imports it.
"""

from .about import __version__
from .spans import install_extensions

__all__ = ["__version__"]
install_extensions()
