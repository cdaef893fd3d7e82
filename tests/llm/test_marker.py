"""The marker task: prompts, shards, what comes back."""

import pytest
import spacy

from pii_components.errors import PiiError
from pii_components.labels import NAME_CITED
from pii_components.llm import Reply, read_toml
from pii_components.llm.marker import make_marker_task, shards_of, unmark
from pii_components.spans import Candidate, write_spans

TEXT = "Essay by Lena Ruiz. According to Freire (1970) education frees people. I wrote this with Omar Diallo in spring."


def run(task, text, answer, length=None):
    nlp = spacy.blank("en")
    ((prompts, shards),) = task.generate_prompts([nlp(text)], length)
    (doc,) = task.parse_responses([shards], [[answer(shard.text) for shard in shards]])
    return doc, prompts


def names(doc):
    return [span.text for span in doc.spans["pii"]]


def test_the_prompt_holds_the_papers_signs_and_the_text_in_a_fence_it_cannot_know():
    _, (prompt,) = run(make_marker_task(), TEXT, str)
    for sign in ("@@@", "###", "&&&", "$$$", "QQQ", "^^^", "%%%", "~~~"):
        assert sign in prompt
    fence = prompt.rsplit("</", 1)[1].split(">")[0]
    assert f"<{fence}>\n{TEXT}\n</{fence}>" in prompt and fence not in TEXT
    assert [message["role"] for message in prompt.messages] == ["system", "user"]
    assert prompt.messages[1]["content"].count("Example.") == 3


def test_examples_can_be_left_out_and_are_their_texts():
    _, (prompt,) = run(make_marker_task(examples=False), TEXT, str)
    assert "Example." not in prompt
    signs = {name: tuple(e["signs"]) for name, e in read_toml("marker.toml")["labels"].items()}
    for entry in read_toml("examples.toml")["examples"]:
        assert unmark(entry["answer"], signs)[::2] == (entry["text"], 0)


def test_settings_that_cannot_be_met_are_refused():
    for settings, code in (({"labels": ["SHOE_SIZE"]}, "E519"), ({"max_shard": 100}, "E650")):
        with pytest.raises(PiiError, match=code):
            make_marker_task(**settings)


def test_long_texts_go_in_shards_that_end_at_sentences_and_overlap():
    text = "My name is Ana Lopez. I like it. " * 400
    doc, prompts = run(
        make_marker_task(), text, lambda shard: shard.replace("Ana Lopez", "@@@Ana Lopez###"), 4096
    )
    assert len(prompts) > 2 and len(names(doc)) == 400
    bounds = shards_of(text, 5000)
    assert all(text[:end].rstrip().endswith(".") for _, end in bounds)
    assert all(a < b for (_, b), (a, _) in zip(bounds, bounds[1:], strict=False))
    assert (
        bounds[0][0] == 0 and bounds[-1][1] == len(text) and all(b - a <= 5000 for a, b in bounds)
    )
    assert shards_of("x" * 25_000, 5000)[-1][1] == 25_000
    with pytest.raises(PiiError, match="E650"):
        run(make_marker_task(), text, str, 600)


def test_what_came_back_changed_is_noted():
    doc, _ = run(make_marker_task(), TEXT * 5, lambda text: text[: len(text) // 3])
    assert {note[0] for note in doc._.llm_notes} == {"E930", "E931"}
    doc, _ = run(make_marker_task(), TEXT, lambda text: text.replace("Lena", "@@@Lena"))
    assert [note[0] for note in doc._.llm_notes] == ["E932"]


def test_a_document_without_an_answer_fails_and_keeps_what_others_found():
    nlp = spacy.blank("en")
    task = make_marker_task()
    docs = [nlp(TEXT), nlp(TEXT), nlp("  ")]
    write_spans(docs[0], [Candidate(2, 4, "NAME_STUDENT")])
    parts = list(task.generate_prompts(docs))
    assert parts[2][0] == []
    replies = [[Reply(code="E914")], [TEXT.replace("Lena Ruiz", "@@@Lena Ruiz###")], []]
    done = task.parse_responses([shards for _, shards in parts], replies)
    assert [doc._.pii_failed for doc in done] == ["E914", None, None]
    assert [names(doc) for doc in done] == [["Lena Ruiz"], ["Lena Ruiz"], []]


def test_what_stands_in_the_group_is_merged():
    nlp = spacy.blank("en")
    task, doc = make_marker_task(), nlp(TEXT)
    write_spans(doc, [Candidate(7, 8, NAME_CITED, 0.7, "model")])
    ((_, shards),) = task.generate_prompts([doc])
    (doc,) = task.parse_responses([shards], [[TEXT.replace("Omar Diallo", "@@@Omar Diallo###")]])
    found = [(s.text, s.label_, s._.pii_source) for s in doc.spans["pii"]]
    assert found == [("Freire", NAME_CITED, "model"), ("Omar Diallo", "NAME_STUDENT", "llm")]
