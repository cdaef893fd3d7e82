"""operating.py, and what an operating point moves in a pipeline."""

import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st

from pii_components.context.settings import ContextSettings
from pii_components.errors import PiiError
from pii_components.ner.decode import OPERATING_POINT, POINTS, thresholds_at
from pii_components.spans import Candidate, write_spans


@given(st.dictionaries(st.sampled_from(["EMAIL", "ID_NUM", "PHONE_NUM"]), st.floats(0, 1)))
def test_recall_asks_for_less_and_precision_for_more(thresholds):
    low, middle, high = (thresholds_at(point, thresholds) for point in POINTS)
    assert middle == pytest.approx(thresholds)
    assert all(0 <= low[k] <= middle[k] + 1e-12 and middle[k] <= high[k] + 1e-12 and high[k] <= 1 for k in thresholds)


def test_names_are_left_to_the_context():
    assert thresholds_at("precision", {"NAME": 0.15, "EMAIL": 0.5}) == {"NAME": 0.15, "EMAIL": 0.8}


def test_protection_is_ordered_too():
    settings = ContextSettings()
    assert settings.protect_at("recall") < settings.protect_at("balanced") < settings.protect_at("precision")


def test_a_point_that_does_not_exist_is_a_coded_error():
    with pytest.raises(PiiError) as error:
        spacy.blank("en").add_pipe("pii_ner", config={"operating_point": "paranoid"})
    assert error.value.code == "E107" and "paranoid" in str(error.value)


def test_the_point_is_chosen_by_who_loads(tmp_path):
    nlp = spacy.blank("en")
    nlp.add_pipe("pii_ner", config={"operating_point": "precision"})
    assert nlp.get_pipe("pii_ner").operating_point == "precision"
    again = spacy.blank("en")
    again.add_pipe("pii_ner", config={"operating_point": "recall"}).from_bytes(nlp.get_pipe("pii_ner").to_bytes())
    assert again.get_pipe("pii_ner").operating_point == "recall"


def test_components_behind_keep_the_point():
    doc = spacy.blank("en")("Ana Lopez")
    write_spans(doc, [])
    doc.spans["pii"].attrs[OPERATING_POINT] = "recall"
    write_spans(doc, [Candidate(0, 2, "NAME_STUDENT", 0.9)])
    assert doc.spans["pii"].attrs[OPERATING_POINT] == "recall" and doc.spans["pii"].attrs["scores"] == [0.9]
