"""A run over a long table: what it needs does not grow with the table."""

from tests.fresh import fresh

# In a process of its own, whose peak nothing else has set. The engine is a stand-in; reader, writer, loop and report are real.
CODE = """
import resource, sys
from pathlib import Path
from pii_components.files.sources import open_source
from pii_components.files.writers import open_writer
from pii_components.release.engine import Engine, Result
from pii_components.release.run import Report, Run, RunState

class Upper(Engine):
    def __init__(self):
        pass

    def results(self, records):
        return [Result(text=record.text.upper(), words=9) for record in records]

def go(name):
    source = open_source(Path(f"{name}.csv"))
    run = Run(source, open_writer(source, Path(f"{name}_out.csv")), Upper(), Report(), RunState({}))
    run.go()
    return run.report.documents

go("small")
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
documents = go("large")
print(documents, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, "spacy" in sys.modules)
"""
N = 60_000


def test_memory_does_not_grow_with_the_table(tmp_path):
    words = "as many words as a short reply in a forum has, or a few more, " * 3
    for name, n in (("small", 100), ("large", N)):
        rows = (f'{i},"row {i}: {words}"\n' for i in range(n))
        (tmp_path / f"{name}.csv").write_text("id,text\n" + "".join(rows))
    documents, kilobytes, spacy = fresh(CODE, cwd=tmp_path).stdout.split()
    assert (int(documents), spacy) == (N, "False")
    assert int(kilobytes) < 4_000 < (tmp_path / "large.csv").stat().st_size / 1024
