"""Defaults that the command line shows in its help, kept where importing them loads neither spaCy nor torch."""

# `evaluate robustness`: essays that are lengthened to 20,000 characters.
LONG_ESSAYS = 12
# `evaluate speed`: characters of an essay, essays of a corpus, repeats of each measurement.
LENGTHS = (500, 1000, 2000, 5000, 10_000, 20_000)
SIZES = (10, 40, 160)
REPEATS = 3
