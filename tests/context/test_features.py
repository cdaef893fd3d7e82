"""What is known of a person, as numbers."""

import numpy
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pii_components.context import features as module
from pii_components.context.features import begin_rows, features, read_cues
from pii_components.context.mentions import People

from ..tiny import cases
from .marking import BODY, heads, people_of
from .test_mentions import DOCS

CASES = cases("context_tables")


def vectors_of(people: People) -> numpy.ndarray:
    """RETURNS (numpy.ndarray): Random ones, the same for the same text."""
    return numpy.random.default_rng(3).normal(size=(len(people.view.words), 384)).astype("f4")


def row_of(text: str, who: str) -> dict[str, float]:
    """RETURNS (dict[str, float]): What is seen of the first person with a mention that reads so."""
    people = people_of(text)
    rows = begin_rows(people, None, None)[0]
    view = people.view
    written = [view.text[view.starts[c.start] : view.ends[c.end - 1]] for c in people.cands]
    (number,) = [
        n for n, person in enumerate(people.persons) if who in [written[i] for i in person]
    ]
    return dict(zip(features(), rows[number].tolist(), strict=True))


@pytest.mark.parametrize(("cue", "holds", "not_here"), CASES["cues"])
def test_cues_hold_where_they_say(cue, holds, not_here):
    assert [row_of(text, "Vesna")[cue] for text in (holds, not_here)] == [1.0, 0.0]


@pytest.mark.parametrize(("feature", "text", "who", "value"), CASES["seen"])
def test_what_is_seen(feature, text, who, value):
    assert row_of(text.replace("BODY", BODY * 4), who)[feature] == pytest.approx(value)


@pytest.mark.parametrize(("n_words", "seen"), [(59, 0), (60, 1)])
def test_short_texts_have_no_edges(n_words, seen):
    between = " ".join(["town"] * (n_words - 4))  # line breaks count
    text = f"[[Ana]]\n{between}\n[[Ben]]"
    assert len(people_of(text).view.words) == n_words
    assert [row_of(text, "Ana")["header"], row_of(text, "Ben")["signoff"]] == [seen, seen]


def test_what_the_head_reads_comes_first():
    people = people_of("[[Ana Lopez]] left. So did [[Lopez]], and [[Ivo Novak]].")
    vectors = vectors_of(people)
    rows = begin_rows(people, heads(), vectors)[0]
    spans = [(c.start, c.end) for c in people.cands]
    assert numpy.allclose(rows[:, :6], heads().roles(vectors, spans, [0, 0, 1], 2))
    alone = begin_rows(people, heads(), vectors, [[0], [1], [2]])[0]
    assert numpy.allclose(alone[2], rows[1], equal_nan=True) and not numpy.allclose(
        alone[0, :6], rows[0, :6]
    )


def test_columns():
    assert len(set(features())) == len(features()) == 6 + 4 + len(read_cues()) + 5
    said = {name: module.reason_of(name) for name in features()}
    assert all(said[cue] == cue for cue in read_cues())
    patterns = [cue for cue, patterns in read_cues().items() for _ in patterns]
    assert [cue for cue, *_ in CASES["cues"]] == patterns  # each has its case
    assert said["header"] == "in the header" and not said["read as STUDENT"]
    assert all("\n" not in reason and len(reason) < 70 for reason in said.values())
    nobody = begin_rows(people_of("Nobody was there."), None, None)[0]
    assert nobody.shape == (0, len(features()))


FAST = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))


@FAST
@given(DOCS, st.booleans())
def test_rows_are_finite(text, read):
    people = people_of(text)
    found = begin_rows(people, heads() if read else None, vectors_of(people))[0]
    assert found.shape == (len(people.persons), len(features()))
    assert numpy.isfinite(found[:, 6:]).all()
    assert (found[:, :6] >= -7).all() if read else numpy.isnan(found[:, :6]).all()


@FAST
@given(DOCS, st.randoms(use_true_random=False))
def test_order_of_mentions_says_nothing(text, rng):
    people = people_of(text)
    order = list(range(len(people.cands)))
    rng.shuffle(order)
    turned = {old: new for new, old in enumerate(order)}
    persons = [[turned[i] for i in person] for person in people.persons]
    for person in persons:
        rng.shuffle(person)
    parts = ([part[i] for i in order] for part in (people.cands, people.mentions, people.places))
    other = People(people.view, *parts, persons)
    one, two = (begin_rows(each, heads(), vectors_of(people))[0] for each in (people, other))
    assert numpy.allclose(one, two, atol=1e-4)
