"""Find personally identifiable information in student writing and hide it in plain sight.

    import spacy
    nlp = spacy.load("en_pii_edu")
    doc = nlp(text)
    doc.spans["pii"], doc._.deidentified

The components are registered by entry points; nothing here needs to be imported by hand. This module stays light, because every
`spacy.blank()` in the environment imports it.
"""

from .about import __version__

__all__ = ["__version__"]
