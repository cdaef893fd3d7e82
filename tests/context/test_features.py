"""What is known of a person, as numbers."""

import numpy
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pii_components.context.classifier import CLASSES
from pii_components.context.features import (
    features,
    figures,
    mention_names,
    mention_rows,
    person_rows,
    read_cues,
    reason_of,
)
from pii_components.context.mentions import People
from pii_components.labels import ROLES
from pii_components.names.wordlists import case_style, words

from .marking import people_of
from .test_mentions import DOCS

BODY = "\n\nThe town is old and the river is long, and every spring the water comes up to the doors.\n"
# Of each cue a text where it holds for Vesna, and one where it does not.
# fmt: off
CUES = {
    "my_name_is": ("My name is [[Vesna]] and I bake.", "My name is on a list with [[Vesna]]."),
    "by_line": ("The Ferry\nWritten by [[Vesna]]", "We walked by [[Vesna]] again."),
    "name_field": ("Team members: [[Ivo]] and [[Vesna]]", "The team likes [[Vesna]]."),
    "above_names": ("Group members\n[[Vesna]]", "We are a group of four.\n[[Vesna]]"),
    "closing": ("Best regards,\n[[Vesna]]", "My regards to the baker.\n[[Vesna]]"),
    "closing_before": ("Kind regards, [[Vesna]]", "Thanks to [[Vesna]]"),
    "year": ("[[Vesna]] (2014) says so.", "[[Vesna]] has 2014 pens."),
    "in_brackets": ("Some agree ([[Vesna]], p. 31).", "Some agree ([[Vesna]], too)."),
    "et_al": ("[[Vesna]] et al. agree.", "[[Vesna]] and all agree."),
    "and_author": ("[[Vesna]] and [[Ivo]] (2010) agree.", "[[Vesna]] and [[Ivo]] agree."),
    "according_to": ("According to [[Vesna]], maps help.", "[[Vesna]] is right, according to all."),
    "argues": ("[[Vesna]] argues that waiting has a price.", "[[Vesna]] arrives at noon."),
    "speaks": ("[[Vesna]] laughed at it.", "[[Vesna]] (2014)"),
    "writes_here": ("[[Vesna]] replied: I agree.", "[[Vesna]] replies never."),
    "kin_before": ("My older sister [[Vesna]] came.", "The sister of [[Vesna]] came."),
    "friend_before": ("Our best friend [[Vesna]] came.", "The friendly [[Vesna]] came."),
    "mate_before": ("My classmates [[Ivo]] and [[Vesna]] came.", "My class liked [[Vesna]]."),
    "kin_after": ("[[Vesna]], my aunt, came.", "[[Vesna]], my hero, came."),
    "teacher_before": ("Our English teacher [[Vesna]] came.", "We teach with [[Vesna]]."),
    "teacher_field": ("Instructor: [[Vesna]]", "The instructor likes [[Vesna]]."),
    "title_before": ("We met Mrs. [[Vesna]] there.", "He misses [[Vesna]]."),
    "thanks": ("Thanks to [[Ivo]] and [[Vesna]] for it.", "[[Ivo]] said thanks, and [[Vesna]] left."),
    "greeting": ("Dear [[Vesna]],\nI am late.", "My dear friend knows [[Vesna]]."),
    "and_i": ("[[Vesna]] and I met.", "[[Vesna]] and Ivo met."),
    "i_and": ("It was me, [[Ivo]] and [[Vesna]].", "It was the cat, [[Ivo]] and [[Vesna]]."),
    "role_before": ("The novelist [[Vesna]] lived here.", "A novel thing for [[Vesna]]."),
    "role_after": ("[[Vesna]] was a Dutch painter.", "[[Vesna]] was a painted door."),
    "work_of": ("We read [[Vesna]]'s first novel.", "We saw [[Vesna]]'s first dog."),
    "work_by": ("The play by [[Vesna]] is long.", "We sat by [[Vesna]]."),
    "in_title": ("We read “A letter for [[Vesna]]” at home.", "We read “A letter” to [[Vesna]]."),
    "imagined": ("Imagine a nurse, [[Vesna]], at night.", "The nurse is [[Vesna]]."),
    "called": ("It is a dog named [[Vesna]].", "It is a dog with [[Vesna]]."),
    "age": ("[[Vesna]], 34, works nights.", "[[Vesna]], the nurse, works nights."),
    "speaker": ("[[Vesna]]: hello there", "Then [[Vesna]]: hello there"),
    "contact": ("[[Vesna]], vesna@post.example", "[[Vesna]], at the post"),
    "contact_before": ("20418837 [[Vesna]]", "2041 [[Vesna]]"),
    "initials_after": ("[[Vesna]], B. (2014). The map.", "[[Vesna]], born here."),
    "thing_after": ("The [[Vesna]] Institute is closed.", "[[Vesna]] is in."),
    "the_before": ("We saw the [[Vesna]] there.", "We saw there [[Vesna]]."),
    "interviewed": ("We interviewed [[Ivo]] and [[Vesna]].", "The interview is long, [[Vesna]]."),
}
# fmt: on


def row_of(text: str, who: str, model: str | None = None) -> dict[str, float]:
    """RETURNS (dict[str, float]): What is seen of the first person with a mention that reads so."""
    people = people_of(text, model=model)
    rows = person_rows(people, mention_rows(people))
    view = people.view
    written = [view.text[view.starts[c.start] : view.ends[c.end - 1]] for c in people.cands]
    (number,) = [n for n, person in enumerate(people.persons) if who in [written[i] for i in person]]
    return dict(zip(features(), rows[number].tolist(), strict=True))


def test_every_cue_has_its_texts():
    assert list(CUES) == [cue.id for cue in read_cues()] and len(CUES) == 40


@pytest.mark.parametrize("cue", CUES)
def test_a_cue_holds_where_it_says_and_elsewhere_not(cue):
    for text, holds in zip(CUES[cue], (1.0, 0.0), strict=True):
        assert row_of(text, "Vesna")[f"most cue {cue}"] == holds, text


# fmt: off
@pytest.mark.parametrize(("feature", "text", "who", "value"), [
    ("most zone header", f"[[Ana Lopez]]{BODY}", "Ana Lopez", 1),
    ("most zone header", f"{BODY}We saw [[Ana Lopez]] there.", "Ana Lopez", 0),
    ("most zone signoff", f"{BODY}[[Ana Lopez]]", "Ana Lopez", 1),
    ("most zone bibliography", "References\n[[Popper, K.]] (1959). The logic of it.", "Popper, K.", 1),
    ("most zone quoted", "He said “go to [[Ana]] now” and left.", "Ana", 1),
    ("most full", "We saw [[Ana Lopez]].", "Ana Lopez", 1),
    ("most full", "We saw [[Ana]].", "Ana", 0),
    ("most initials", "We saw [[A. Lopez]].", "A. Lopez", 1),
    ("most comma", "[[Lopez, Ana]]\nReflection", "Lopez, Ana", 1),
    ("most upper case", "WE SAW [[ANA LOPEZ]].", "ANA LOPEZ", 1),
    ("most lower case", "we saw [[ana lopez]].", "ana lopez", 1),
    ("most strange", "We saw [[李伟]].", "李伟", 1),
    ("most strange", "We saw [[Zoë Müller]].", "Zoë Müller", 0),
    ("most words", "We saw [[Ana Maria Lopez]].", "Ana Maria Lopez", 3),
    ("most figure", "We read [[Nelson Mandela]].", "Nelson Mandela", 1),
    ("most figure", "We read [[Nelson Okoro]].", "Nelson Okoro", 0),
    ("most character of a story", "Like [[Sherlock Holmes]], we looked.", "Sherlock Holmes", 1),
    ("most possessive", "We saw [[Ana]]'s dog.", "Ana", 1),
    ("most first person in sentence", "I saw her. [[Ana]] left.", "Ana", 0),
    ("most first person in sentence", "When I saw it, [[Ana]] left.", "Ana", 1),
    ("most first person near", f"I {'very ' * 20} late saw [[Ana]].", "Ana", 0),
    ("most by model", "We saw [[Ana]].", "Ana", 1),
    ("most by form", "Ana Lopez\nReflection" + BODY, "Ana Lopez", 1),
    ("mean position", "[[Ana]] left.", "Ana", 0),
    ("mean zone header", f"[[Ana Lopez]]{BODY}Then [[Lopez]] left.", "Lopez", 0.5),
    ("most zone header", f"[[Ana Lopez]]{BODY}Then [[Lopez]] left.", "Lopez", 1),
    ("mentions", "[[Ana Lopez]] left.", "Ana Lopez", 0),
    ("share of mentions", "[[Ana Lopez]] left. So did [[Lopez]], and [[Ivo]] and [[Ben]].", "Lopez", 0.5),
    ("first named", "[[Ana]] left. So did [[Ivo]].", "Ana", 1),
    ("first named", "[[Ana]] left. So did [[Ivo]].", "Ivo", 0),
    ("others in the line", "[[Ana]] left.\n[[Ivo]], [[Ben]] and [[Ana]] too.", "Ana", 2),
    ("others in the line", "[[Ana]] left.\n[[Ivo]] and [[Ben]] too.", "Ana", 0),
    ("others sign", f"[[Ana]]\n[[Ivo]]{BODY}[[Ben]] left, says the town, and never came back to it.", "Ana", 1),
    ("fullest is single", "[[Ana]] left.", "Ana", 1),
    ("fullest is single", "[[Ana]] left. [[Ana Lopez]] too.", "Ana", 0),
    ("conversation", "tutor: hi\n[[Ana]]: hi all of you\ntutor: so is it done\nAna: not yet", "Ana", 1),
    ("bibliography", "We saw [[Ana]].\nReferences\nPopper (1959). The logic.", "Ana", 1),
    ("bibliography", "We saw [[Ana]].", "Ana", 0),
])
# fmt: on
def test_what_is_seen(feature, text, who, value):
    assert row_of(text, who)[feature] == pytest.approx(value)


def test_the_detectors_reading_is_seen():
    row = row_of("We saw [[Ana]].", "Ana", "CITED")
    said = [row[f"mean model {role}"] for role in ROLES]
    assert said.index(max(said)) == ROLES.index("CITED") and len(set(said)) == 2
    assert len({row_of("We saw [[Ana]].", "Ana")[f"mean model {role}"] for role in ROLES}) == 1
    assert row_of("We saw [[.3:Ana]].", "Ana")["mean score"] < 0 < row_of("We saw [[.8:Ana]].", "Ana")["mean score"]


def test_columns():
    assert len(set(features())) == len(features()) == 2 * len(mention_names()) + 12 + len(ROLES) + len(CLASSES)
    assert all(reason_of(f"{kind} cue {cue.id}") == cue.reason for kind in ("mean", "most") for cue in read_cues())
    said = {name: reason_of(name) for name in features()}
    assert said["most zone header"] == said["mean zone header"] == "in the header" and not said["mean score"]
    assert all("\n" not in reason and len(reason) < 70 for reason in said.values())
    people = people_of("Nobody was there.")
    assert mention_rows(people).shape == (0, len(mention_names()))
    assert person_rows(people, mention_rows(people)).shape == (0, len(features()))


FAST = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))


@FAST
@given(DOCS, st.sampled_from([None, *ROLES]))
def test_rows_are_finite_and_the_most_is_at_least_the_mean(text, model):
    people = people_of(text, model=model)
    rows = mention_rows(people)
    found = person_rows(people, rows)
    n = len(mention_names())
    assert rows.shape == (len(people.cands), n) and found.shape == (len(people.persons), len(features()))
    assert numpy.isfinite(found[:, :-6]).all() and numpy.isnan(found[:, -6:]).all()  # nobody has read the text around
    assert (found[:, :n] <= found[:, n : 2 * n] + 1e-4).all()


@FAST
@given(DOCS, st.randoms(use_true_random=False))
def test_the_order_of_mentions_says_nothing(text, rng):
    people = people_of(text)
    order = list(range(len(people.cands)))
    rng.shuffle(order)
    turned = {old: new for new, old in enumerate(order)}
    persons = [[turned[i] for i in person] for person in people.persons]
    for person in persons:
        rng.shuffle(person)
    parts = ([part[i] for i in order] for part in (people.cands, people.mentions, people.places))
    other = People(people.view, *parts, persons)
    assert numpy.allclose(person_rows(people, mention_rows(people)), person_rows(other, mention_rows(other)), atol=1e-5, equal_nan=True)


def test_figures():
    full, surnames = figures()
    assert len(full) >= 400 and set(full.values()) | set(surnames.values()) <= set(CLASSES)
    known = {"J. K. Rowling": "CITED", "Rowling, J. K.": "CITED", "Sherlock Holmes": "CHARACTER", "Ana Kant": ""}
    for who, role in known.items():
        row = row_of(f"We read [[{who}]] there.", who)
        assert (row["most figure"], row["most character of a story"]) == (role == "CITED", role == "CHARACTER"), who


def test_words():
    assert words().is_title("Prof.") and words().is_heading("Reflection") and not words().is_heading("Lopez")
    styles = {"Ana": "title", "ANA": "upper", "ana": "lower", "McKay": "title", "A.": "title", "安": "other"}
    assert {word: case_style(word) for word in styles} == styles
