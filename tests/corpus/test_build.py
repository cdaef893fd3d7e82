"""The corpus step: splits without leaks, the same bytes again, gold on token boundaries."""

from pathlib import Path

import pytest
import spacy
from spacy.tokens import DocBin

from pii_components.corpus.build import Recipe, build, from_essays, split_of
from pii_components.corpus.reader import make_essay_corpus
from pii_components.corpus.templates import read_fragments, read_templates
from pii_components.errors import PiiError
from pii_components.surrogates.names import name_table

ASSETS = Path(__file__).parents[2] / "assets"


@pytest.fixture(scope="module")
def assets(tmp_path_factory):
    """A few of the shipped essays, so that the test is quick."""
    folder = tmp_path_factory.mktemp("assets")
    (folder / "essays").mkdir()
    (folder / "fragments").mkdir()
    for split, number in (("train", 16), ("dev", 2), ("test", 2)):
        for path in [p for p in sorted((ASSETS / "essays").glob("*.txt")) if split_of(p.stem) == split][:number]:
            (folder / "essays" / path.name).write_bytes(path.read_bytes())
    for path in (ASSETS / "fragments").glob("*.txt"):
        (folder / "fragments" / path.name).write_bytes(path.read_bytes())
    return folder


@pytest.fixture(scope="module")
def built(assets, tmp_path_factory):
    out = tmp_path_factory.mktemp("corpus")
    return out, build(assets, out, seed=1, scale=0.2)


def test_stats_count_what_is_written(built):
    out, stats = built
    nlp = spacy.blank("en")
    for split in ("train", "dev", "test"):
        docs = list(DocBin().from_disk(out / f"{split}.spacy").get_docs(nlp.vocab))
        assert len(docs) == stats[split]["documents"] > 0
        assert sum(map(len, docs)) == stats[split]["tokens"]
        assert sum(not doc.spans["pii"] for doc in docs) == stats[split]["without_spans"]
    assert stats["train"]["NAME_STUDENT"] > 20


def test_the_same_seed_builds_the_same_corpus(built, assets, tmp_path):
    out, stats = built
    assert build(assets, tmp_path, seed=1, scale=0.2) == stats
    nlp = spacy.blank("en")
    again, first = ([d.text for d in DocBin().from_disk(p / "train.spacy").get_docs(nlp.vocab)] for p in (tmp_path, out))
    assert again == first


def test_no_essay_is_in_two_splits():
    templates = read_templates(ASSETS)
    splits = {split: {t.id for t in templates if split_of(t.id) == split} for split in ("train", "dev", "test")}
    assert all(splits.values())
    assert sum(map(len, splits.values())) == len(templates)


def test_every_filling_differs(assets):
    templates = read_templates(assets)[:4]
    recipe = Recipe(fillings=3, clean_share=1.0, carriers=0, clean_carriers=0)
    texts = ["".join(p.text for p in [f]) for f in from_essays(templates, read_fragments(assets), recipe, name_table(), 1)]
    assert len(set(texts)) == len(texts)


def test_reader_shuffles_and_thins(built):
    out, stats = built
    nlp = spacy.blank("en", config={"nlp": {"tokenizer": {"@tokenizers": "pii_edu.StudentTokenizer.v1"}}})
    read = make_essay_corpus(out / "train.spacy", shuffle=True, clean_share=0.0, seed=3)
    first, second = ([eg.reference.text for eg in read(nlp)] for _ in range(2))
    assert len(first) == stats["train"]["documents"] - stats["train"]["without_spans"]
    assert sorted(first) == sorted(second) and first != second


def test_reader_without_a_file_is_a_coded_error(tmp_path):
    with pytest.raises(PiiError) as error:
        list(make_essay_corpus(tmp_path / "none.spacy")(spacy.blank("en")))
    assert error.value.code == "E604"


def test_build_without_essays_is_a_coded_error(tmp_path):
    with pytest.raises(PiiError) as error:
        build(tmp_path, tmp_path / "out")
    assert error.value.code == "E603"
