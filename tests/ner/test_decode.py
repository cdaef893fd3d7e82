"""From probabilities to spans: edges, gaps, line breaks, what wins."""

import numpy
import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st

from pii_components.context.view import ContextSettings
from pii_components.labels import NAME_LABELS, POINTS
from pii_components.ner.decode import GROUPS, OPERATING_POINT, decode, output_labels, thresholds_at
from pii_components.spans import Candidate, write_spans

from ..tiny import TOKENIZER, cases

NLP = spacy.blank("en", config=TOKENIZER)
CASES = cases("ner")
COLUMNS = output_labels(GROUPS)


def probabilities(doc, marks):
    """Rows of .96 for the column that marks name (token text -> column), the rest spread; O where nothing is named."""
    probs = numpy.full((len(doc), len(COLUMNS)), 0.04 / (len(COLUMNS) - 1))
    for token in doc:
        probs[token.i, COLUMNS.index(marks.get(token.text, "O"))] = 0.96
    return probs


@pytest.mark.parametrize(("text", "marks", "expected"), CASES["edges"])
def test_edges_of_spans(text, marks, expected):
    doc = NLP.make_doc(text)
    found = decode(doc, probabilities(doc, marks), GROUPS, {})
    assert [doc[c.start : c.end].text for c in found] == expected


def test_a_name_is_a_students_until_decided():
    (found,) = decode(NLP.make_doc("Ana"), numpy.asarray([[0.36, 0.44, 0.2]]), ["NAME"], {})
    assert (found.label, found.roles, found.score) == ("NAME_STUDENT", (), pytest.approx(0.64))


@settings(max_examples=40, deadline=None)
@given(st.text(alphabet="Aa b.\n-_'9", max_size=40), st.integers(0, 2**32 - 1))
def test_any_probabilities_give_sorted_spans(text, seed):
    doc = NLP.make_doc(text)
    rng = numpy.random.default_rng(seed)
    probs = rng.dirichlet(numpy.full(len(COLUMNS), 0.2), size=len(doc))
    found = decode(doc, probs, GROUPS, {"NAME": 0.2})
    for left, right in zip(found, found[1:], strict=False):
        assert left.end <= right.start
    for cand in found:
        span = doc[cand.start : cand.end]
        assert 0 <= cand.score <= 1
        assert not span[0].is_space and not span[-1].is_space
        assert cand.label not in NAME_LABELS or "\n" not in span.text


# --- operating points ---


@given(st.dictionaries(st.sampled_from(["EMAIL", "ID_NUM", "PHONE_NUM"]), st.floats(0, 1)))
def test_points_ask_for_less_or_more(thresholds):
    low, middle, high = (thresholds_at(point, thresholds) for point in POINTS)
    assert middle == pytest.approx(thresholds)
    for k in thresholds:
        assert 0 <= low[k] <= middle[k] + 1e-12 and middle[k] <= high[k] + 1e-12 and high[k] <= 1


def test_points_leave_names_to_context():
    assert thresholds_at("precision", {"NAME": 0.15, "EMAIL": 0.5}) == {"NAME": 0.15, "EMAIL": 0.8}
    for what in ("protect", "somebodys"):
        low, middle, high = (ContextSettings().at(what, point) for point in POINTS)
        assert low < middle < high


def test_components_behind_keep_the_point():
    doc = spacy.blank("en")("Ana Lopez")
    write_spans(doc, [])
    doc.spans["pii"].attrs[OPERATING_POINT] = "recall"
    write_spans(doc, [Candidate(0, 2, "NAME_STUDENT", 0.9)])
    attrs = doc.spans["pii"].attrs
    assert attrs[OPERATING_POINT] == "recall" and attrs["scores"] == [0.9]


CHARLOTTE = {"NAME_STUDENT": [(0.1, 0.3), (0.3, 0.6)], "LOCATION": [(0.1, 0.8), (0.04, 0.4)]}
CHARLOTTE[""] = [(0.04, 0.3)]


@pytest.mark.parametrize("label", CHARLOTTE)
def test_names_win_over_places(label):
    for name, place in CHARLOTTE[label]:
        probs = numpy.asarray([[1 - name - place, name, 0.0, place, 0.0]])
        thresholds = {"NAME": 0.08, "LOCATION": 0.35}
        found = decode(NLP.make_doc("Charlotte"), probs, ("NAME", "LOCATION"), thresholds)
        assert "".join(c.label for c in found) == label


@pytest.mark.parametrize(("label", "text", "expected"), CASES["indirect_begins"])
def test_indirect_identifiers_lose_articles(label, text, expected):
    doc = NLP.make_doc(text)
    found = decode(doc, numpy.tile([0.02, 0.49, 0.49], (len(doc), 1)), (label,), {label: 0.5})
    assert [doc[c.start : c.end].text for c in found] == ([expected] if expected else [])


def test_neighbouring_places_are_one():
    labels = ("LOCATION", "EDUCATION", "DATE")
    doc = NLP.make_doc("Lakeford High School , Harwick May")
    probs = numpy.full((len(doc), 7), 0.01)
    for i, column in enumerate((1, 3, 4, 0, 1, 5)):
        probs[i, column] = 0.9
    found = decode(doc, probs, labels, {})
    assert [doc[c.start : c.end].text for c in found] == ["Lakeford High School", "Harwick", "May"]
    assert [c.label for c in found] == ["EDUCATION", "LOCATION", "DATE"]
