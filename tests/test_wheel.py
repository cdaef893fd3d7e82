"""The wheel holds what the source tree holds: resources, the pipeline, entry points. Run from the unpacked wheel, away from the sources."""

import zipfile

import pytest

from tests.fresh import ROOT, fresh

CODE = """
import pii_components, spacy, sys
from importlib.metadata import entry_points
assert pii_components.__file__.startswith(sys.argv[1]), pii_components.__file__
for group in ("spacy_factories", "spacy_architectures", "spacy_tokenizers", "spacy_readers", "spacy_scorers", "spacy_misc", "console_scripts"):
    for entry in entry_points(group=group):
        if entry.value.startswith("pii_components"):
            assert callable(entry.load())
nlp = spacy.blank("en", config={"nlp": {"tokenizer": {"@tokenizers": "pii_edu.StudentTokenizer.v1"}}})
for name in ("pii_ruler", "pii_context", "hips_surrogate"):
    nlp.add_pipe(name)
nlp.get_pipe("hips_surrogate").set_key(b"a key for tests, of no other use")
doc = nlp("Name: Ana Lopez\\n\\nWrite to ana.lopez@gmail.com, says Piaget (1952).")
assert "ana.lopez" not in doc._.deidentified and "Piaget" in doc._.deidentified, doc.spans
print("fine")
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    out = tmp_path_factory.mktemp("wheel")
    fresh("build", "--wheel", "--no-isolation", "--outdir", out, ROOT, how="-m", cwd=out)
    (path,) = out.glob("*.whl")
    return path


def test_every_resource_is_in_the_wheel(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    for folder in ("pii_components", "en_pii_edu"):
        for path in (ROOT / folder).rglob("*"):
            name = path.relative_to(ROOT).as_posix()
            left_out = "__pycache__" in name or "/." in name or "/checkpoints/" in name
            if path.is_file() and not left_out:
                assert name in names
    assert not any(name.startswith(("tests", "assets", "training", "corpus")) for name in names)


def test_unpacked_wheel_works_alone(wheel, tmp_path):
    zipfile.ZipFile(wheel).extractall(tmp_path)
    out = fresh(CODE, tmp_path, cwd=tmp_path, PYTHONPATH=str(tmp_path))
    assert out.stdout.strip().endswith("fine")
