"""What is known of a person, as numbers."""

import numpy
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pii_components.context import features as module
from pii_components.context.classifier import CLASSES
from pii_components.context.features import features, mention_names, mention_rows, person_rows
from pii_components.context.mentions import People
from pii_components.labels import ROLES
from pii_components.names.wordlists import case_style, words

from ..tiny import cases
from .marking import people_of
from .test_mentions import DOCS

CASES = cases("context_tables")


def row_of(text: str, who: str, model: str | None = None) -> dict[str, float]:
    """RETURNS (dict[str, float]): What is seen of the first person with a mention that reads so."""
    people = people_of(text, model=model)
    rows = person_rows(people, mention_rows(people))
    view = people.view
    written = [view.text[view.starts[c.start] : view.ends[c.end - 1]] for c in people.cands]
    (number,) = [
        n for n, person in enumerate(people.persons) if who in [written[i] for i in person]
    ]
    return dict(zip(features(), rows[number].tolist(), strict=True))


@pytest.mark.parametrize(("cue", "holds", "not_here"), CASES["cues"])
def test_cues_hold_where_they_say(cue, holds, not_here):
    assert [row_of(text, "Vesna")[f"most cue {cue}"] for text in (holds, not_here)] == [1.0, 0.0]


@pytest.mark.parametrize(("feature", "text", "who", "value"), CASES["seen"])
def test_what_is_seen(feature, text, who, value):
    assert row_of(text, who)[feature] == pytest.approx(value)


def test_detectors_reading_is_seen():
    row = row_of("We saw [[Ana]].", "Ana", "CITED")
    said = [row[f"mean model {role}"] for role in ROLES]
    assert said.index(max(said)) == ROLES.index("CITED") and len(set(said)) == 2
    row = row_of("We saw [[Ana]].", "Ana")
    assert len({row[f"mean model {role}"] for role in ROLES}) == 1
    low, high = (row_of(f"We saw [[.{n}:Ana]].", "Ana")["mean score"] for n in (3, 8))
    assert low < 0 < high


def test_columns():
    n = 2 * len(mention_names()) + 12 + len(ROLES) + len(CLASSES)
    assert len(set(features())) == len(features()) == n
    assert [cue for cue, *_ in CASES["cues"]] == [cue.id for cue in module.read_cues()]
    for cue in module.read_cues():
        assert (
            module.reason_of(f"mean cue {cue.id}")
            == module.reason_of(f"most cue {cue.id}")
            == cue.reason
        )
    said = {name: module.reason_of(name) for name in features()}
    assert said["most zone header"] == said["mean zone header"] == "in the header"
    assert not said["mean score"]
    assert all("\n" not in reason and len(reason) < 70 for reason in said.values())
    people = people_of("Nobody was there.")
    assert mention_rows(people).shape == (0, len(mention_names()))
    assert person_rows(people, mention_rows(people)).shape == (0, len(features()))


FAST = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))


@FAST
@given(DOCS, st.sampled_from([None, *ROLES]))
def test_rows_are_finite(text, model):
    people = people_of(text, model=model)
    rows = mention_rows(people)
    found = person_rows(people, rows)
    n = len(mention_names())
    assert rows.shape == (len(people.cands), n)
    assert found.shape == (len(people.persons), len(features()))
    assert numpy.isfinite(found[:, :-6]).all()
    assert numpy.isnan(found[:, -6:]).all()  # nobody has read the text around
    assert (found[:, :n] <= found[:, n : 2 * n] + 1e-4).all()  # the mean is at most the most


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
    one, two = (person_rows(each, mention_rows(each)) for each in (people, other))
    assert numpy.allclose(one, two, atol=1e-5, equal_nan=True)


def test_figures():
    full, surnames = module.figures()
    assert len(full) >= 400 and set(full.values()) | set(surnames.values()) <= set(CLASSES)
    known = {"J. K. Rowling": "CITED", "Rowling, J. K.": "CITED", "Ana Kant": ""}
    for who, role in (known | {"Sherlock Holmes": "CHARACTER"}).items():
        row = row_of(f"We read [[{who}]] there.", who)
        assert row["most figure"] == (role == "CITED"), who
        assert row["most character of a story"] == (role == "CHARACTER"), who


def test_words():
    assert words().is_title("Prof.") and words().is_heading("Reflection")
    assert not words().is_heading("Lopez")
    styles = {"Ana": "title", "ANA": "upper", "ana": "lower", "McKay": "title", "A.": "title"}
    for word, style in (styles | {"安": "other"}).items():
        assert case_style(word) == style
