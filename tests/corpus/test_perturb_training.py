"""Perturbed copies to train on: labels stay where they were, and nothing tells who is private."""

import random

import pytest
import spacy
from spacy.tokens import DocBin

from pii_components.corpus.build import Filled, build_corpus
from pii_components.corpus.perturb import BESIDE, training_change, training_perturbations
from pii_components.labels import is_name

TEXT = "I am Ana Lopez. My friend Budi met Kim Moss, the author; Budi lives at Mill Road 3.\n"
SPANS = (
    (5, 14, "NAME_STUDENT"),
    (26, 30, "NAME_CONNECTED"),
    (35, 43, "NAME_CITED"),
    (57, 61, "NAME_CONNECTED"),
)
FILLED = Filled(TEXT, SPANS, ((71, 82),))


def labels(spans):
    return [label for *_, label in spans]


@pytest.mark.parametrize("change", training_perturbations(), ids=lambda p: p.name)
def test_changes_do_not_depend_on_who_is_private(change):
    """The same text with the roles dealt out otherwise is changed alike: nothing in it tells a student from an author."""
    other = tuple(
        (start, end, {"NAME_STUDENT": "NAME_CITED"}.get(label, "NAME_STUDENT"))
        for start, end, label in SPANS
    )
    for seed in range(5):
        text, spans = change(TEXT, SPANS, random.Random(seed))
        again, others = change(TEXT, other, random.Random(seed))
        assert text == again and [s[:2] for s in spans] == [s[:2] for s in others]
        assert all(is_name(label) for label in labels(spans))


def test_share_of_texts_that_are_changed_and_what_becomes_of_the_unlabelled():
    change, rng = training_change(0.5), random.Random(7)
    found = [change(FILLED, rng) for _ in range(400)]
    changed = [one for one in found if one != FILLED]
    assert 140 < len(changed) < 210  # a tenth of the changes have nothing to change here
    assert all(len(one.unlabelled) == 1 for one in found)
    assert all(set(labels(one.spans)) == set(labels(SPANS)) for one in found)
    assert [training_change(0.5)(FILLED, random.Random(3)) for _ in range(2)] == [
        change(FILLED, random.Random(3))
    ] * 2
    assert training_change(0.0)(FILLED, rng) == FILLED


def test_beside_everybody_stands_somebody_of_the_same_role():
    spans, seen = SPANS, set()
    for seed in range(40):
        text, spans = BESIDE(TEXT, SPANS, random.Random(seed))
        added = len(spans) - len(SPANS)
        assert added >= 0 and len({text[start:end] for start, end, _ in spans}) >= added
        seen |= {b for a, b in zip(labels(spans), labels(spans)[1:], strict=False) if a == b}
    assert seen == {"NAME_STUDENT", "NAME_CONNECTED", "NAME_CITED"}


def test_only_training_texts_are_perturbed(tmp_path):
    (tmp_path / "essays").mkdir()
    (tmp_path / "fragments").mkdir()
    for n in range(60):
        body = f"Text {n} of {{{{student.full}}}}, about a bridge. {{{{cited.last}}}} built it."
        (tmp_path / "essays" / f"e{n}.txt").write_text(f"id: e{n}\n---\n{body}\n", "utf8")
    for name, change in (("as_is", None), ("worn", lambda filled, rng: Filled("CHANGED " * 3))):
        build_corpus(
            tmp_path, tmp_path / name, seed=3, scale=0.2, uncut=True, crapii=False, change=change
        )
    for split in ("train", "dev", "test", "dev_worn"):
        files = (tmp_path / name / f"{split}.spacy" for name in ("as_is", "worn"))
        as_is, worn = (
            [doc.text for doc in DocBin().from_disk(file).get_docs(spacy.blank("en").vocab)]
            for file in files
        )
        assert as_is and worn and not any("CHANGED" in text for text in as_is)
        assert set(worn) == {"CHANGED " * 3} if split in ("train", "dev_worn") else worn == as_is
