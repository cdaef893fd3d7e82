"""Every number that anyone sees is computed here.

    gold (gold.py) + predictions (systems.py, stored.py)
        -> counts per document and label (matching.py)
        -> scores with intervals (metrics.py)
        -> one report, a table and a file (report.py), by the commands compare.py, errors.py, thresholds.py

All systems pass through the same functions, so that a table compares like with like. Reports hold counts, labels and
the names of files; never a text, never a name, so that the commands can be used on private data.
"""
