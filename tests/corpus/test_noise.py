"""Noise: offsets stay exact, the seed decides, nothing tells whose name it is."""

import random
import re
import unicodedata
from collections import Counter
from pathlib import Path

import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st

from pii_components.corpus.build import RECIPES, Tally, TemplateFiller, from_essays, split_of
from pii_components.corpus.noise import (
    MARKS,
    NATIVE,
    DocumentNoise,
    hard_negative,
    native_sentence,
    noisy_detail,
    noisy_name,
)
from pii_components.corpus.templates import (
    Filled,
    Slot,
    parse_parts,
    read_fragments,
    read_templates,
)
from pii_components.labels import ROLES
from pii_components.names import resource
from pii_components.names.table import name_table
from pii_components.ruler.tokenizer import make_student_tokenizer
from scripts.perturbations import perturbations
from tests.tiny import cases

CASES = cases("corpus")
ALL = {one.name: one for one in perturbations()}
ESSAY = Filled("").with_pieces(map(tuple, CASES["text to perturb"]))


def values(filled):
    return [filled.text[start:end] for start, end, _ in filled.spans]


def labels(filled):
    return [label for *_, label in filled.spans]


def perturb(name, seed=1, filled=ESSAY):
    return ALL[name].change(filled, random.Random(seed))


def check_spans(filled):
    at = 0
    for start, end, _ in filled.spans:
        assert at <= start < end <= len(filled.text)
        at = end


# --- texts with spans


def test_cut_leaves_split_spans_unlabelled():
    filled = Filled("Ana and Ben", ((0, 3, "NAME_STUDENT"), (8, 11, "NAME_CONNECTED")))
    assert filled.cut(0, 9) == Filled("Ana and B", ((0, 3, "NAME_STUDENT"),), ((8, 9),))


def test_put_moves_what_follows():
    filled = Filled("Ana and Ben.", ((0, 3, "NAME_STUDENT"), (8, 11, "NAME_CONNECTED")))
    addition = Filled(" or Eva", ((4, 7, "NAME_STUDENT"),))
    assert values(filled.put(addition, 3)) == ["Ana", "Eva", "Ben"]
    assert filled.put(Filled("&"), 4, 7).text == "Ana & Ben."


def test_stops_are_outside_of_spans():
    filled = Filled("A. Roe left. Bye.", ((0, 6, "NAME_STUDENT"),))
    assert filled.stops() == [12, 17] and filled.stops(at_end=False) == [12]


@given(st.lists(st.tuples(st.text(max_size=4), st.sampled_from(["", "EMAIL", "UNLABELLED"]))))
def test_pieces_come_back(pieces):
    filled = Filled("").with_pieces(pieces)
    assert filled.text == "".join(text for text, _ in pieces)
    assert filled.with_pieces(filled.pieces()) == filled


# --- noise on names and details


def kinds_of(name, n=3000):
    rng, found = random.Random(3), {}
    for _ in range(n):
        noisy, kind = noisy_name(name, rng)
        found.setdefault(kind, set()).add(noisy)
    return found


def folded(text):
    flat = unicodedata.normalize("NFKD", text).casefold()
    return "".join(ch for ch in flat if ch.isalpha() and not unicodedata.combining(ch))


def test_kinds_of_noise_on_a_name():
    found = kinds_of("Zoë Hatfield")
    assert found["upper"] == {"ZOË HATFIELD"} and found["glued"] == {"ZoëHatfield"}
    assert found["spaced"] == {"Z O Ë  H A T F I E L D", "Z O Ë   H A T F I E L D"}
    assert found["no accents"] == {"Zoe Hatfield"} and found["ligature"] == {"Zoë Hatﬁeld"}
    assert found["full width"] == {"Ｚｏë\u3000Ｈａｔｆｉｅｌｄ"} and found["leet"] == {
        "Z0ë H47f13ld"
    }
    others = {"look-alikes", "letters swapped", "letter doubled", "ocr", "leet", NATIVE}
    for kind in found.keys() - others:
        assert {folded(noisy) for noisy in found[kind]} == {"zoehatfield"}, kind


@pytest.mark.parametrize("name", ["Li", "A", "José", "J. K.", "Đặng Văn Lâm", "O'Brien", "李"])
def test_noise_never_empties_a_name(name):
    assert all(noisy.strip() for some in kinds_of(name, 600).values() for noisy in some)


@pytest.mark.parametrize("value, label, expected", CASES["noise on details"])
def test_noise_on_details(value, label, expected):
    rng = random.Random(1)
    found = {noisy_detail(value, label, rng) for _ in range(200)}
    assert {*expected} - {value} <= {noisy for noisy, _ in found}
    assert all((kind == "") == (noisy == value) for noisy, kind in found)


def test_sentences_that_only_look_private():
    rng = random.Random(2)
    found = [hard_negative(rng) for _ in range(600)]
    assert {kind for _, kind in found} == {"number", "public contact", "word that is a name"}
    assert not [text for text, _ in found if set("#¤{}") & set(text)]
    assert len({native_sentence(random.Random(n)) for n in range(400)}) > 250


# --- a writer's style


def noise_with(style):
    made = (DocumentNoise(random.Random(n), style=1.0) for n in range(4000))
    return next(noise for noise in made if noise.style == style)


@pytest.mark.parametrize("style", [MARKS, NATIVE, "upper", "alternating", "spaced", "swapped case"])
def test_a_style_is_that_of_everybody(style):
    noise = noise_with(style)
    people = [Slot(who, "full") for who in ("student", "instructor", "friend", "cited")]
    for slot in (*people, Slot("CITED", "literal", "", "Jean Piaget")):
        kinds = Counter(noise.mention("Ana Lopez", slot).kind for _ in range(80))
        assert set(kinds) <= {style, ""} and kinds[style] > 55, slot


@pytest.mark.parametrize("pair", [p for p in resource("corpus/noise")["marks"] if p != ["@", "@"]])
def test_a_name_between_markers_is_tokens(pair):
    tokenizer = make_student_tokenizer(spacy.blank("en"))
    for name in ("Ana", "ana lopez", "O'Neil", "김지우", "उषा वर्मा"):
        text = f"by {pair[0]}{name}{pair[1]} of"
        start = 3 + len(pair[0])
        assert tokenizer(text).char_span(start, start + len(name)) is not None, text


def test_one_person_has_one_native_name():
    noise = noise_with(NATIVE)
    for what in ("full", "first", "last"):
        found = {noise.mention("Ana Lopez", Slot("student", what)).text for _ in range(60)}
        assert len(found - {"Ana Lopez"}) == 1


def test_noise_tells_no_role():
    assets, tally = Path(__file__).parents[2] / "assets", Tally()
    templates = [t for t in read_templates(assets) if split_of(t.id) == "train"][:60]
    list(from_essays(templates, read_fragments(assets), RECIPES["train"], name_table(), 5, tally))
    shares = {role: tally["noisy role", role] / tally["role", role] for role in ROLES}
    assert max(shares.values()) - min(shares.values()) < 0.1, shares


def test_noisy_fillings_keep_exact_offsets():
    parts = parse_parts("Hi {{student.full}}, write to {{student.email}} ({{student.phone}}).")
    for n in range(100):
        filled = TemplateFiller(name_table(), random.Random(n), noise=1.0).fill(parts)
        prose = [text for text, label in filled.pieces() if not label]
        for found, said in zip(prose, ("Hi ", ", write to ", " (", ")."), strict=True):
            assert said in found and len(found) <= len(said) + 20


# --- perturbations


@pytest.mark.parametrize("name", list(ALL))
def test_a_perturbation_depends_on_its_seed_only(name):
    changed = [perturb(name, seed) for seed in range(6)]
    assert any(one.text != ESSAY.text for one in changed) and changed[5] == perturb(name, 5)
    for one in changed:
        check_spans(one)
        if len(one.spans) == len(ESSAY.spans):
            assert labels(one) == labels(ESSAY)
        if ALL[name].kind == "meaning":
            assert set(values(ESSAY)) <= set(values(one))


@pytest.mark.parametrize("name, pattern", CASES["perturbations by what they are known by"].items())
def test_a_perturbation_does_what_it_says(name, pattern):
    assert any(re.search(pattern, perturb(name, seed).text) for seed in range(6))


@pytest.mark.parametrize("name", [name for name, p in ALL.items() if p.rewrites])
def test_rewritten_spans_leave_the_rest(name):
    prose = [text for text, label in perturb(name).pieces() if not label]
    assert prose == [text for text, label in ESSAY.pieces() if not label]


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.text(alphabet="abc XÄßﬁé'._@-1,\n😊", max_size=12),
            st.sampled_from(["", "NAME_STUDENT", "NAME_CITED", "EMAIL", "AGE", "UNLABELLED"]),
        ),
        max_size=7,
    ),
    st.integers(0, 99),
)
def test_offsets_are_exact_on_any_text(pieces, seed):
    filled = Filled("").with_pieces((text, label if text.strip() else "") for text, label in pieces)
    for perturbation in ALL.values():
        check_spans(perturbation.change(filled, random.Random(seed)))


@pytest.mark.parametrize("text", ["", "Nobody is named here. The end."])
def test_texts_without_spans(text):
    added = {"NAME_CITED", "NAME_INSTRUCTOR", "NAME_CONNECTED"}
    for name in ALL:
        assert set(labels(perturb(name, filled=Filled(text)))) <= added


def test_what_is_set_in_has_spans():
    numbers = [value for value in values(perturb("glued_to_id")) if value.startswith("20")]
    assert len(numbers) == 4 and all(re.fullmatch(r"20\d{6}", value) for value in numbers)
    assert labels(perturb("three_names_glued")).count("NAME_STUDENT") == 9
    assert "López" in values(perturb("cited_namesake"))


def test_a_name_in_another_script_is_the_same_throughout():
    one = perturb("name_hebrew")
    names = [v for v, label in zip(values(one), labels(one), strict=True) if label[-3:] == "ENT"]
    assert names[0] == names[2] and names[0].split()[0] == names[1]
