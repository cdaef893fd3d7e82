"""How a whole text wears its names: the same for everybody in it, and for words that are nobody's name."""

import random
import re
from collections import Counter
from pathlib import Path

import pytest
import spacy

from pii_components.corpus.build import RECIPES, Filler, Tally, from_essays, split_of
from pii_components.corpus.noise import (
    MARKS,
    NATIVE,
    TextNoise,
    native_name,
    native_person,
    native_sentence,
)
from pii_components.corpus.templates import (
    Slot,
    parse_parts,
    read_fragments,
    read_tables,
    read_templates,
)
from pii_components.labels import ROLES
from pii_components.names.table import name_table
from pii_components.ruler.tokenizer import make_student_tokenizer

TOKENIZER = make_student_tokenizer(spacy.blank("en"))
PEOPLE = "{{student.full}} asked {{instructor.last}}, {{friend.first}}. {{character.first}}, {{cited.last}} (2014), {{CITED=Jean Piaget}} agree."


def noise_with(habit, start=0):
    """The first noise that has the habit."""
    return next(
        w
        for w in (TextNoise(random.Random(n), habit=1.0) for n in range(start, start + 4000))
        if w.habit == habit
    )


@pytest.mark.parametrize(
    "habit",
    [
        MARKS,
        NATIVE,
        "upper",
        "lower",
        "alternating",
        "spaced",
        "spaced lower",
        "mixed case",
        "swapped case",
    ],
)
def test_a_habit_is_that_of_everybody(habit):
    noise = noise_with(habit)
    people = [
        Slot("student", "full"),
        Slot("instructor", "full"),
        Slot("friend", "full"),
        Slot("cited", "full"),
        Slot("character", "full"),
        Slot("CITED", "literal", "", "Jean Piaget"),
    ]
    found = {
        slot.role: Counter(noise.mention("Ana Lopez", slot).kind for _ in range(80))
        for slot in people
    }
    assert set(found) == set(ROLES)
    for role, kinds in found.items():
        assert set(kinds) <= {habit, ""} and kinds[habit] > 55, (role, kinds)


def test_no_habit_and_no_wear_is_the_name_as_it_is():
    noise = TextNoise(random.Random(0))
    assert noise.habit == "" and noise.prose(
        "Nothing here is worn by anybody. Nothing at all."
    ).startswith("Nothing")
    worn = noise.mention("Ana Lopez", Slot("student", "full"))
    assert (worn.before, worn.text, worn.after, worn.kind) == ("", "Ana Lopez", "", "")


def test_markers_stand_outside_of_the_span_and_do_not_change_in_a_text():
    for n in range(300):
        filler = Filler(name_table(), random.Random(n), habit=1.0)
        if filler.noise.habit != MARKS:
            continue
        before, after = filler.noise.marks
        filled = filler.fill(parse_parts(PEOPLE))
        values = [filled.text[s:e] for s, e, _ in filled.spans]
        assert not any(
            sign in value for value in values for sign in ("@", "#", "*", "<", "[", "{", "|")
        )
        assert (
            sum(
                filled.text[s - len(before) : s] == before
                and filled.text[e : e + len(after)] == after
                for s, e, _ in filled.spans
            )
            >= 3
        )


@pytest.mark.parametrize(
    "pair", [p for p in read_tables("noise")["marks"] if p != ["@", "@"]]
)  # "@Ana" is a handle
def test_a_name_between_markers_is_tokens_of_its_own(pair):
    for name in ("Ana", "Ana Lopez", "ana lopez", "ANA LOPEZ", "O'Neil", "김지우", "उषा वर्मा"):
        marked = f"{pair[0]}{name}{pair[1]}"
        for text in (f"by {marked} of", f"{marked}. So", f"I, {marked}, am"):
            start = text.index(marked) + len(pair[0])
            assert TOKENIZER(text).char_span(start, start + len(name)) is not None, text


def test_one_person_has_one_name_in_another_script():
    noise = noise_with(NATIVE)
    forms = {
        what: {noise.mention("Ana Lopez", Slot("student", what)).text for _ in range(60)}
        - {"Ana Lopez"}
        for what in ("full", "first", "last")
    }
    assert all(len(found) == 1 for found in forms.values())
    (full,), (first,), (last,) = forms.values()
    assert first in full and last in full


@pytest.mark.parametrize("script", read_tables("native")["names"])
def test_native_people_have_no_latin_letter(script):
    for n in range(40):
        person = native_person(random.Random(n), script)
        for what in ("full", "first", "last", "last_first", "initials", "nick"):
            form = person.form(what)
            assert form.strip() and not re.search(r"[A-Za-z0-9.,]", form)
        assert (
            person.form("full").startswith(person.family) == person.family_first
            or person.given == person.family
        )


def test_native_names_and_words_vary_and_repeat_with_the_seed():
    assert len({native_name(random.Random(n)) for n in range(400)}) > 250
    sentences = [native_sentence(random.Random(n)) for n in range(400)]
    assert len(set(sentences)) > 250 and sentences == [
        native_sentence(random.Random(n)) for n in range(400)
    ]
    assert all(re.search(r"[^\W\d_A-Za-zÀ-ɏ]", text) and "{" not in text for text in sentences)


def test_ordinary_words_are_worn_too():
    prose = "This is a long stretch of prose about gardens, and nobody in it has a name at all. It goes on for a while after that."
    for habit in (MARKS, "upper", "spaced", "alternating"):
        noise = noise_with(habit)
        changed = [worn for worn in (noise.prose(prose) for _ in range(40)) if worn != prose]
        assert changed, habit
    native = noise_with(NATIVE)
    changed = [text for text in (native.prose(prose) for _ in range(60)) if text != prose]
    assert changed and not any(text.isascii() for text in changed)


def test_wear_tells_no_role():
    assets = Path(__file__).parents[2] / "assets"
    templates = [t for t in read_templates(assets) if split_of(t.id) == "train"][:60]
    tally = Tally()
    list(from_essays(templates, read_fragments(assets), RECIPES["train"], name_table(), 5, tally))
    shares = {role: tally["worn role", role] / tally["role", role] for role in ROLES}
    assert max(shares.values()) - min(shares.values()) < 0.1, shares
    assert all(0.1 < share < 0.35 for share in shares.values()), shares
