"""Every number that anyone sees is computed here: gold and predictions (gold, systems) -> counts per document and label, scores with
intervals (metrics) -> one report and its tables (report).

All systems pass through the same functions, so that a table compares like with like. Reports hold counts, labels and the names of files;
never a text, never a name, so that the commands can be used on private data.
"""
