"""Forms of labelled corpora: `read(path, options)` and a writer for each. `files.labelled` is the way in."""
