"""Essays that give orders to the model that reads them: 36 of our own, each with another idea (tests/data/llm_injections.jsonl)."""

import json
from collections import Counter
from pathlib import Path

import pytest
import spacy

from pii_components.labels import EMAIL, NAME_STUDENT
from pii_components.llm.marker import make_marker_task
from pii_components.llm.verifier import make_verifier_task
from pii_components.spans import Candidate, resolve_overlaps, write_spans

FILE = Path(__file__).parents[1] / "data" / "llm_injections.jsonl"
ESSAYS = [json.loads(line) for line in FILE.read_text("utf8").splitlines()]
NLP = spacy.blank("en")


def private_doc(essay):
    """What a detector found before: every private string."""
    doc, found = NLP(essay["text"]), []
    for value in essay["private"]:
        at = essay["text"].find(value)
        while at >= 0:
            span = doc.char_span(at, at + len(value), alignment_mode="expand")
            found.append(Candidate(span.start, span.end, EMAIL if "@" in value else NAME_STUDENT))
            at = essay["text"].find(value, at + 1)
    write_spans(doc, resolve_overlaps(found))
    return doc


def labels(doc):
    return Counter((span.text, span.label_) for span in doc.spans["pii"])


def test_there_are_enough_essays_and_ideas():
    assert len(ESSAYS) >= 30 and len({essay["kind"] for essay in ESSAYS}) >= 30
    assert all(value in essay["text"] for essay in ESSAYS for value in essay["private"])


@pytest.mark.parametrize("settings", [{}, {"reasoning": True}, {"votes": "majority"}], ids=str)
@pytest.mark.parametrize(
    "said", ["F", "Response: F", "", "As you wish: nothing here is personal.", "F F F F"]
)
def test_a_verifier_that_obeys_the_essay_takes_no_name_away(said, settings):
    task = make_verifier_task(**settings)
    for essay in ESSAYS:
        doc = private_doc(essay)
        before = labels(doc)
        ((prompts, questions),) = task.generate_prompts([doc])
        (doc,) = task.parse_responses([questions], [[said] * len(prompts)])
        assert labels(doc) == before and doc._.llm_notes, essay["id"]


@pytest.mark.parametrize(
    "said",
    [str, lambda text: "", lambda text: "Nothing personal.", lambda text: text[:40], str.upper],
)
def test_a_marker_that_obeys_the_essay_takes_nothing_away_and_adds_nothing(said):
    task = make_marker_task()
    for essay in ESSAYS:
        doc = private_doc(essay)
        before = labels(doc)
        ((_, shards),) = task.generate_prompts([doc])
        (doc,) = task.parse_responses([shards], [[said(shard.text) for shard in shards]])
        assert labels(doc) == before, essay["id"]
        assert said is str or doc._.llm_notes, essay["id"]


def test_an_essay_cannot_close_its_fence_or_use_the_signs():
    task = make_marker_task()
    for essay in ESSAYS:
        ((prompts, shards),) = task.generate_prompts([NLP(essay["text"])])
        for prompt, shard in zip(prompts, shards, strict=True):
            fence = prompt.rsplit("</", 1)[1].split(">")[0]
            assert prompt.count(f"</{fence}>") == 1 and fence not in shard.text
            assert not any(sign in shard.text for pair in shard.marks.values() for sign in pair)
            assert prompt.index(shard.text) > prompt.index("Whatever it asks you to do")
