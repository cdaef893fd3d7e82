"""The corpus step: splits without leaks, the same bytes again, gold on token boundaries."""

import json
import shutil
from pathlib import Path

import pytest
import spacy
from spacy.tokens import DocBin

from pii_components.corpus.build import (
    SPLITS,
    Filled,
    Recipe,
    build_corpus,
    crapii_splits,
    from_essays,
    split_of,
    to_doc,
)
from pii_components.corpus.split import CRAPII_DOCUMENTS, paper_split
from pii_components.corpus.templates import read_fragments, read_templates
from pii_components.errors import PiiError
from pii_components.factories import make_essay_corpus
from pii_components.labels import LABELS, ROLES
from pii_components.names.table import name_table

ASSETS = Path(__file__).parents[2] / "assets"


@pytest.fixture(scope="module")
def assets(tmp_path_factory):
    """A few of the shipped essays, so that the test is quick."""
    folder = tmp_path_factory.mktemp("assets")
    shutil.copytree(ASSETS / "fragments", folder / "fragments")
    (folder / "essays").mkdir()
    paths = sorted((ASSETS / "essays").glob("*.txt"))
    for split, number in (("train", 16), ("dev", 2), ("test", 2)):
        for path in [path for path in paths if split_of(path.stem) == split][:number]:
            shutil.copy(path, folder / "essays")
    return folder


def texts_of(path):
    return [doc.text for doc in DocBin().from_disk(path).get_docs(spacy.blank("en").vocab)]


@pytest.fixture(scope="module")
def built(assets, tmp_path_factory):
    out = tmp_path_factory.mktemp("corpus")
    return out, *build_corpus(assets, out, seed=1, scale=0.2)


def test_stats_count_what_is_written(built):
    out, stats, distribution = built
    nlp = spacy.blank("en")
    for split in ("train", "dev", "test"):
        docs = list(DocBin().from_disk(out / f"{split}.spacy").get_docs(nlp.vocab))
        assert len(docs) == stats[split]["documents"] > 0
        assert sum(map(len, docs)) == stats[split]["tokens"]
        assert sum(not doc.spans["pii"] for doc in docs) == stats[split]["without_spans"]
    assert stats["train"]["NAME_STUDENT"] > 20


def test_carriers_are_added_to_train_only_and_short_texts_left_out(assets, tmp_path):
    folder = tmp_path / "assets"
    shutil.copytree(assets, folder)
    (folder / "persuade").mkdir()
    words = "We went to the lake and it was cold . Nobody swam but we looked at the boats for an hour . "
    rows = [{"id": f"c{n}", "text": f"{n} {words * 12}"} for n in range(400)]
    (folder / "persuade" / "p.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in rows), "utf8"
    )
    (folder / "scenes").mkdir()
    short = "%%\nid: s_{0}\n---\nI met {{{{friend.full}}}} at gate {0}, and we spoke of the rain there.\n"
    (folder / "scenes" / "s.txt").write_text("".join(short.format(n) for n in range(40)), "utf8")
    how = {"seed": 1, "scale": 0.02}
    kinds = {"plain": {}, "more": {"carriers": 4.0}, "essays": {"scenes": False}}
    made = {kind: build_corpus(folder, tmp_path / kind, **how | kinds[kind])[0] for kind in kinds}
    assert made["more"]["train"]["documents"] > made["plain"]["train"]["documents"] + 40
    assert all(made["more"][split] == made["plain"][split] for split in ("dev", "test"))
    texts = {kind: " ".join(texts_of(tmp_path / kind / "train.spacy")) for kind in kinds}
    assert "we spoke of the rain" in texts["plain"]
    assert "we spoke of the rain" not in texts["essays"]


def test_the_same_seed_builds_the_same_corpus(built, assets, tmp_path):
    out, stats, distribution = built
    assert build_corpus(assets, tmp_path, seed=1, scale=0.2) == (stats, distribution)
    assert texts_of(tmp_path / "train.spacy") == texts_of(out / "train.spacy")


def test_every_filling_differs(assets):
    templates = read_templates(assets)[:4]
    recipe = Recipe(fillings=3, clean_share=1.0, carriers=0, clean_carriers=0)
    filled = list(from_essays(templates, read_fragments(assets), recipe, name_table(), 1))
    with_names = [f.text for f in filled if f.spans]
    assert len(set(with_names)) > 0.9 * len(with_names) > 10  # a stretch may hold a literal only


def test_reader_shuffles_and_thins(built):
    out, stats, distribution = built
    nlp = spacy.blank(
        "en", config={"nlp": {"tokenizer": {"@tokenizers": "pii_edu.StudentTokenizer.v1"}}}
    )
    read = make_essay_corpus(out / "train.spacy", shuffle=True, clean_share=0.0, seed=3)
    first, second = ([eg.reference.text for eg in read(nlp)] for _ in range(2))
    assert len(first) == stats["train"]["documents"] - stats["train"]["without_spans"]
    assert sorted(first) == sorted(second) and first != second


def test_what_is_not_there_is_a_coded_error(tmp_path):
    with pytest.raises(PiiError, match="E604"):
        list(make_essay_corpus(tmp_path / "none.spacy")(spacy.blank("en")))
    with pytest.raises(PiiError, match="E552"):
        build_corpus(tmp_path, tmp_path / "out")


def test_the_report_counts_what_was_filled_in(built):
    out, stats, distribution = built
    assert json.loads((out / "distribution.json").read_text("utf8")) == distribution
    train = distribution["train"]
    kinds = {"label", "role", "form", "region", "noise", "hard negative", "set in"}
    assert kinds | {"linked to the name"} <= set(train)
    assert set(train["role"]) == set(ROLES)
    # What was filled in was written or cut away or masked; nothing is written that was not filled in.
    for label in LABELS:
        assert stats["train"].get(label, 0) <= train["label"].get(label, 0)
    assert "noise" not in distribution["dev"]


def test_crapii_goes_where_the_paper_has_it(assets, tmp_path):
    numbers = {part: ids[0] for part, ids in paper_split(CRAPII_DOCUMENTS).items()}
    splits = {part: crapii_splits().get(str(n), "test") for part, n in numbers.items()}
    assert splits == {"base_train": "train", "verifier_train": "dev", "test": "test"}
    assert not {"", "essay", "22688", "-1"} & set(crapii_splits())
    folder = tmp_path / "assets"
    shutil.copytree(assets, folder)
    (folder / "crapii").mkdir()
    row = {"trailing_whitespace": [True, False], "labels": ["B-NAME_STUDENT", "O"]}
    rows = [
        row | {"document": n, "full_text": f"Zyx {part}", "tokens": ["Zyx", part]}
        for part, n in numbers.items()
    ]
    (folder / "crapii" / "train.json").write_text(json.dumps(rows), "utf8")
    report = folder / "crapii" / "train.json.report.json"  # as `pii-edu corpus convert` leaves it
    report.write_text('{\n "documents": 3\n}\n', "utf8")
    build_corpus(folder, tmp_path / "out", seed=1, scale=0.1)

    def found(name):
        texts = {split: texts_of(tmp_path / name / f"{split}.spacy") for split in SPLITS}
        return {split: [t for t in texts[split] if t.startswith("Zyx")] for split in SPLITS}

    here = {"train": "Zyx base_train", "dev": "Zyx verifier_train", "test": "Zyx test"}
    assert found("out") == {split: [text] for split, text in here.items()}


def test_gold_between_token_boundaries_is_masked():
    nlp = spacy.blank("en")
    spans = ((0, 3, "NAME_STUDENT"), (4, 7, "NAME_STUDENT"), (15, 17, "AGE"))
    doc = to_doc(nlp, Filled("Ana Roesler is 41", spans))
    kept = [(s.text, s.label_) for s in doc.spans["pii"]]
    assert kept == [("Ana", "NAME_STUDENT"), ("41", "AGE")]
    assert [s.text for s in doc.spans["pii_unlabelled"]] == ["Roesler"]
