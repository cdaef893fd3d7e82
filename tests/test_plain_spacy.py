"""Other people's spaCy code is unharmed: our entry points import nothing heavy, and a plain pipeline is as it was."""

from tests.fresh import fresh

BLOCKED = """
import importlib.metadata as metadata, sys

class Block:
    NAMES = {names!r}
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in self.NAMES:
            raise ModuleNotFoundError("blocked: " + name, name=name)

sys.meta_path.insert(0, Block())
# spacy-curated-transformers' own entry point imports torch whenever spaCy starts; what is tested is ours.
original = metadata.entry_points
ours = metadata.distribution("en_pii_edu").entry_points
def only_ours(**params):
    keep = {{(e.group, e.name, e.value) for e in ours}}
    found = original(**params)
    found = [e for group in found.values() for e in group] if isinstance(found, dict) else found  # Python 3.11 without a group
    return metadata.EntryPoints(e for e in found if (e.group, e.name, e.value) in keep or e.value.startswith("spacy."))
metadata.entry_points = only_ours
import numpy, spacy, spacy.pipeline.factories
from spacy.util import registry
spacy.pipeline.factories.register_factories()
before = set(sys.modules)
nlp = spacy.blank("en")
registry._entry_point_factories.get_all()
others = {{name.split(".")[0] for name in set(sys.modules) - before}} - {{"pii_components", "tomllib", "spacy", "google"}}
assert not others, others
for group in ("architectures", "tokenizers", "readers", "scorers", "misc", "callbacks"):
    getattr(registry, group).get_all()
doc = nlp("Plain text stays plain.")
assert [t.text for t in doc] == ["Plain", "text", "stays", "plain", "."], doc
assert not doc.spans
loaded = sorted({{m.split(".")[0] for m in sys.modules}} & set(Block.NAMES))
assert not loaded, loaded
print("fine")
"""


def test_blank_works_with_heavy_packages_blocked():
    names = (
        "torch",
        "presidio_analyzer",
        "presidio_anonymizer",
        "faker",
        "names_dataset",
        "pandas",
        "phonenumbers",
        "tldextract",
    )
    assert fresh(BLOCKED.format(names=names)).stdout.strip().endswith("fine")


LIGHT = """
import sys, spacy
spacy.blank("en")
assert "pii_components.presidio" in sys.modules and "presidio_analyzer" in sys.modules
rooms = {name.split(".")[1] for name in sys.modules if name.startswith("pii_components.")}
print(*sorted(rooms))
"""


def test_blank_stays_light_beside_presidios_own_entry_point():
    assert (
        fresh(LIGHT).stdout.split()
        == "errors factories labels offsets presidio profiles spans".split()
    )


def test_other_pipelines_tokenize_as_before():
    import spacy

    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    assert [t.text for t in nlp("Ana_Lopez said menu.Keep it")] == [
        "Ana_Lopez",
        "said",
        "menu",
        ".",
        "Keep",
        "it",
    ]
