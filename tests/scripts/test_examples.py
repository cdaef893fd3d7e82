"""What scripts/two_heads.py learns from: marks, general entities, people's words, and the encoder as arrays."""

import random

import numpy as np
import pytest
import spacy
from typer.testing import CliRunner

from pii_components.corpus.build import to_doc
from pii_components.corpus.templates import Filled
from pii_components.ner.graph import CASES
from scripts import examples
from scripts.examples import NO_PERSON, NOBODY_KNOWS, SOMEBODYS, TYPES, UNKNOWN, WORLDS, Marks
from scripts.shipped import encoder_state, read_weights
from tests.tiny import TOKENIZER, tiny_pipeline, upstream_names

NLP = spacy.blank("en", config=TOKENIZER)
PERSON, PLACE, DATE = (TYPES.index(name) for name in ("PERSON", "PLACE", "DATE"))


def filled(text, *spans):
    """spans: What is marked, and its label."""
    found = [(text.index(part), text.index(part) + len(part), label) for part, label in spans]
    return Filled(text, tuple(sorted(found)))


def marks_of(text, *spans, annotated=False):
    made = Marks(to_doc(NLP, filled(text, *spans)))
    made.add_gold(annotated=annotated)
    return made


def general(text, *ents):
    doc = NLP.make_doc(text)
    doc.ents = [
        doc.char_span(text.index(part), text.index(part) + len(part), label=label)
        for part, label in ents
    ]
    return doc


def test_marks_become_columns_people_and_things():
    made = marks_of("Ana Lopez left Harwick.", ("Ana Lopez", "NAME_CITED"), ("Harwick", "LOCATION"))
    assert made.bio.tolist() == [1, 2, 0, 1 + 2 * PLACE, 0]
    assert made.mentions == [(0, 2, 3)] and made.items == [(3, 4, PLACE, SOMEBODYS)]


def test_older_marks_are_mended():
    text = "3 May 2020\nSOC 101\n\nI was born on 4 June 2001, and went to Hill School."
    spans = [("3 May 2020", "DATE"), ("SOC 101", "EDUCATION"), ("4 June 2001", "DATE")]
    made = marks_of(text, *spans, ("Hill School", "EDUCATION"), annotated=True)
    assert [owner for *_, owner in made.items] == [WORLDS, SOMEBODYS, SOMEBODYS]
    assert set(made.bio[4:6]) == {UNKNOWN}  # a course is no school


@pytest.mark.parametrize(("complete", "owner"), [(True, WORLDS), (False, NOBODY_KNOWS)])
def test_general_entities_fill_the_rest(complete, owner):
    text = "Ana Lopez saw the Harwick in May 2014 with Ivo Novak today."
    ents = [("Ana Lopez", "PERSON"), ("the Harwick", "GPE"), ("May 2014", "DATE")]
    made = marks_of(text, ("Ana Lopez", "NAME_STUDENT"))
    made.add_general(
        general(text, *ents, ("Ivo Novak", "PERSON"), ("today", "DATE")),
        complete=complete,
        names_complete=complete,
    )
    assert made.items == [(4, 5, PLACE, owner), (6, 8, DATE, owner)]
    # Where all names are marked, another one is nobody's; else a name of nobody knows whom.
    assert made.mentions == [(0, 2, 0), *([(9, 11, NO_PERSON)] if complete else [])]
    assert made.bio[9:12].tolist() == [*((0, 0) if complete else (1, 2)), UNKNOWN]


def test_a_persons_words_are_known_by_kind():
    text = "Ana Lopez met Ms. Lopez. Norman (2014) wrote."
    doc = NLP.make_doc(text)
    ids, kinds, persons = examples.name_words(doc, [(0, 2, 0), (4, 5, 0), (6, 7, 3)], {}, 0)
    assert persons[0] == persons[1] != persons[2]
    assert (ids[1], kinds[1]) == (ids[4], 2) and kinds[0] == 1 and ids[0] != ids[1]


@pytest.fixture
def exporter(tmp_path):
    tiny_pipeline(tmp_path).to_disk(tmp_path / "nlp")
    return examples.Exporter(str(tmp_path / "nlp"), "none")


def test_examples_are_what_training_reads(exporter):
    from scripts import two_heads

    text = "My name is Ana Lopez.\n\u200b I am 12 years old."
    made = filled(text, ("Ana Lopez", "NAME_STUDENT"), ("12 years old", "AGE"))
    exporter.add(examples.Text("new", 1, made, True), exporter.general(text), random.Random(1))
    arrays = exporter.arrays
    data = two_heads.Data.__new__(two_heads.Data)
    vars(data).update({name: np.concatenate(rows) for name, rows in arrays.tokens.items()})
    data.piece_at = np.concatenate([[0], np.cumsum(data.lengths.astype(np.int64))])
    first, n, _, n_pieces, *_ = arrays.docs[0]
    mentions, items = np.array(arrays.mentions), np.array(arrays.items)
    found = two_heads.build(data, first, 0, n, mentions, items)
    assert len(found["ids"][0]) == n_pieces == data.lengths.sum()
    assert len(found["bio"]) == n and (3, 5, 0, 0) in found["mentions"]
    assert [item[2:] for item in found["items"]] == [(TYPES.index("AGE"), SOMEBODYS)]


def test_upstreams_encoder_becomes_arrays(tmp_path):
    from safetensors import torch as safetensors

    encoder = tiny_pipeline(tmp_path).get_pipe("transformer").model.get_ref("transformer")
    first = encoder.shims[0]._model.state_dict()
    state = {
        name.replace("layers.0", f"layers.{n}"): value + n * ("layers" in name)
        for n in range(6)
        for name, value in first.items()
    }
    safetensors.save_file(upstream_names(state), tmp_path / "model.safetensors")
    start = tmp_path / "start.npz"
    args = ["start", str(tmp_path / "model.safetensors"), str(start)]
    assert CliRunner().invoke(examples.app, args).exit_code == 0
    found = encoder_state({**read_weights(start, start), "case.weight": np.zeros((7, 16))})
    assert found.keys() == {*state, CASES}
    for name, value in state.items():
        assert np.allclose(found[name], value[: len(found[name])], atol=0.02), name


def test_general_pipeline_is_used_where_it_is(tmp_path, monkeypatch, capsys):
    assert examples.load_general("none").pipe_names == [] and not capsys.readouterr().err
    monkeypatch.setattr(examples, "GENERAL_FOLDER", tmp_path / "en_core_web_md")
    assert examples.load_general("auto").pipe_names == []
    assert "--only en_core_web_md --download" in capsys.readouterr().err
    nlp = spacy.blank("en")
    nlp.add_pipe("entity_ruler")
    nlp.to_disk(tmp_path / "en_core_web_md")
    assert examples.load_general("auto").pipe_names == ["entity_ruler"]
    with pytest.raises(OSError, match="E050"):
        examples.load_general("en_core_web_mdd")
