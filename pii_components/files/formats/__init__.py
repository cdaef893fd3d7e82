"""Forms of labelled corpora, one module per form. `corpus.labelled` is the way in."""
