"""Files to fine-tune with: what they hold, the default of T, and what a validator refuses."""

from collections import Counter

import pytest
import spacy

from pii_components.errors import PiiError
from pii_components.files.formats.base import LabelledText
from pii_components.labels import NAME_STUDENT
from pii_components.llm.finetune import detector_examples, reason, verifier_examples
from pii_components.llm.marker import make_marker_task
from pii_components.llm.verifier import make_verifier_task
from pii_components.profiles import Profile
from tests.llm.test_models import Fixed

TEXT = "I am Ina Sorel. Buzan (2006) says: map it. Write to ina@example.edu or to Ina."
ESSAY = LabelledText("1", TEXT, ((5, 14, NAME_STUDENT), (52, 67, "EMAIL"), (74, 77, NAME_STUDENT)))
PRIVATE = Profile.load("crapii").protects


def detector():
    nlp = spacy.blank("en")
    config = {"spans_key": "pii", "spans_filter": {"@misc": "spacy.first_longest_spans_filter.v1"}}
    patterns = [{"label": NAME_STUDENT, "pattern": name} for name in ("Ina Sorel", "Buzan", "Ina")]
    nlp.add_pipe("span_ruler", config=config).add_patterns(patterns)
    return nlp


def test_a_detector_learns_to_copy_and_mark():
    (example,) = detector_examples([ESSAY], make_marker_task())
    system, user, assistant = example["messages"]
    marked = TEXT.replace("Ina Sorel", "@@@Ina Sorel###")
    marked = marked.replace("ina@example.edu", "QQQina@example.edu^^^")
    assert assistant["content"] == marked.replace("to Ina.", "to @@@Ina###.")
    assert TEXT in user["content"] and "anything" not in system["content"]
    unknown = LabelledText("2", TEXT, (), ((0, 5),))
    assert list(detector_examples([unknown, LabelledText("3", "  ")], make_marker_task())) == []
    long = LabelledText("4", (TEXT + " ") * 200, ((5, 14, NAME_STUDENT),))
    made = list(detector_examples([long], make_marker_task()))
    assert len(made) > 2 and made[0]["messages"][2]["content"].startswith("I am @@@Ina Sorel###")


def test_a_verifier_learns_t_and_f_by_string():
    counts = Counter()

    def examples(essay):
        task = make_verifier_task()
        return list(verifier_examples([essay], detector(), task, counts, private=PRIVATE))

    answers = [example["messages"][2]["content"] for example in examples(ESSAY)]
    assert answers == ["T", "F", "T"] and counts == {"T": 2, "F": 1}
    masked = LabelledText("2", TEXT, (), ((16, 21),))
    assert len(examples(masked)) == 2


def test_reasoning_is_kept_if_it_ends_with_the_truth_and_else_t_after_six_attempts():
    counts = Counter()
    task = make_verifier_task(reasoning=True)
    model = Fixed("She signs the essay.\nResponse: T")
    made = list(verifier_examples([ESSAY], detector(), task, counts, private=PRIVATE, model=model))
    assert all(example["messages"][2]["content"].endswith("Response: T") for example in made)
    assert counts == {"T": 3, "defaulted": 1} and model.usage.calls == 1 + 6 + 1
    said = "An author.\nResponse: F"
    assert reason(made[0], "F", Fixed(said), counts) == (said, "F")
    with pytest.raises(PiiError, match="E473"):
        list(verifier_examples([ESSAY], detector(), task, counts, private=PRIVATE))
