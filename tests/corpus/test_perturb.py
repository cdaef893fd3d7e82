"""Every perturbation: offsets exact, determined by the seed, does what it says."""

import json
import random
import re
from pathlib import Path

import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st

from pii_components.corpus.edit import check_spans
from pii_components.corpus.perturb import (
    CLASSES,
    EDGES,
    LONG,
    PARAGRAPHS,
    Windows,
    choose,
    clean_paragraphs,
    length_perturbations,
    number_to_words,
    perturbations,
    prose,
    windows_of,
)
from pii_components.errors import PiiError

CASES = json.loads(
    (Path(__file__).parents[1] / "data/regression_cases/corpus.json").read_text("utf8")
)
ALL = perturbations()


def essay(pieces):
    text, spans = "", []
    for value, label in pieces:
        if label:
            spans.append((len(text), len(text) + len(value), label))
        text += value
    return text, tuple(spans)


TEXT, SPANS = essay(CASES["text to perturb"])


def run(name, seed=1, text=TEXT, spans=SPANS, found=ALL):
    return found[name](text, spans, random.Random(seed))


def test_every_class_is_there():
    assert {p.kind for p in ALL.values()} == set(CLASSES)
    assert len(ALL) >= 150 and all(name == p.name and p.about for name, p in ALL.items())


@pytest.mark.parametrize("name", list(ALL))
def test_it_changes_the_text_by_its_seed_and_keeps_every_span(name):
    changed = [run(name, seed) for seed in range(8)]
    assert any(text != TEXT for text, _ in changed) and changed[5] == run(name, 5)
    for text, spans in changed:
        check_spans(text, spans, name)
        assert len(spans) >= len(SPANS)
        if len(spans) == len(SPANS):
            assert [label for *_, label in spans] == [label for *_, label in SPANS]
        if (
            not ALL[name].rewrites
            and ALL[name].counts == "all"
            and ALL[name].kind in ("length", "attack", "meaning")
        ):
            kept = [text[s:e] for s, e, _ in spans]
            assert all(TEXT[s:e] in kept for s, e, _ in SPANS)


@pytest.mark.parametrize("name, pattern", CASES["perturbations by what they are known by"].items())
def test_it_does_what_it_says(name, pattern):
    assert any(re.search(pattern, run(name, seed)[0]) for seed in range(6))


@pytest.mark.parametrize("name", [n for n, p in ALL.items() if p.rewrites])
def test_what_rewrites_spans_leaves_the_rest(name):
    text, spans = run(name)
    edges = [0, *(place for s, e, _ in spans for place in (s, e)), len(text)]
    old = [0, *(place for s, e, _ in SPANS for place in (s, e)), len(TEXT)]
    outside = [text[a:b] for a, b in zip(edges[::2], edges[1::2], strict=True)]
    assert (
        outside == [TEXT[a:b] for a, b in zip(old[::2], old[1::2], strict=True)]
        or name == "ages_changed"
    )


@pytest.mark.parametrize(
    "name", [n for n, p in ALL.items() if p.kind == "noise" and not p.rewrites]
)
def test_noise_in_prose_leaves_names_and_details(name):
    if name in ("ocr_everywhere", "several_at_once"):
        pytest.skip("changes names too")
    text, spans = run(name)
    assert [text[s:e] for s, e, _ in spans] == [TEXT[s:e] for s, e, _ in SPANS]


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.text(alphabet="abc XÄßﬁé'._@-1,\n😊", max_size=12),
            st.sampled_from(
                [
                    "",
                    "NAME_STUDENT",
                    "NAME_CITED",
                    "NAME_CONNECTED",
                    "EMAIL",
                    "PHONE_NUM",
                    "URL_PERSONAL",
                    "AGE",
                    "UNLABELLED",
                ]
            ),
        ),
        max_size=7,
    ),
    st.integers(0, 99),
)
def test_offsets_are_exact_on_any_text(pieces, seed):
    text, spans = essay([(value, label if value.strip() else "") for value, label in pieces])
    for name, perturbation in ALL.items():
        if perturbation.kind == "length":
            continue
        new, moved = perturbation(text, spans, random.Random(seed))  # checks the spans
        if (
            not perturbation.rewrites
            and len(moved) == len(spans)
            and perturbation.kind in ("attack", "meaning")
        ):
            assert [new[s:e] for s, e, _ in moved] == [text[s:e] for s, e, _ in spans], name


@pytest.mark.parametrize("name", list(ALL))
def test_texts_without_spans_and_empty_ones(name):
    for text in ("", "Nobody is named here. The end."):
        new, spans = run(name, text=text, spans=())
        assert all(
            label in ("NAME_CITED", "NAME_INSTRUCTOR", "NAME_CONNECTED") for *_, label in spans
        )
        assert isinstance(new, str)


def test_who_and_what_comes_along_has_a_span_of_its_own():
    text, spans = run("glued_to_id")
    added = [text[s:e] for s, e, label in spans if label == "ID_NUM"]
    assert len(added) == 4 and all(re.fullmatch(r"20\d{6}", value) for value in added)
    text, spans = run("three_names_glued")
    assert sum(label == "NAME_STUDENT" for *_, label in spans) == 9
    assert spans[0][1] == spans[1][0] and spans[1][1] == spans[2][0]
    text, spans = run("cited_namesake")
    assert "López" in [text[s:e] for s, e, label in spans if label == "NAME_CITED"]


def test_a_name_in_another_script_is_the_same_throughout():
    text, spans = run("name_hebrew")
    first, again, last = (text[s:e] for s, e, label in spans if label == "NAME_STUDENT")
    assert first == last and first.split()[0] == again


@pytest.mark.parametrize(
    "name, place", [("long_people_early", 0), ("long_people_middle", 0.5), ("long_people_late", 1)]
)
def test_long_essays(name, place):
    text, spans = run(name)
    assert LONG * 0.97 <= len(text) <= LONG * 1.06
    assert spans[0][0] / len(text) == pytest.approx(place, abs=0.06)
    assert [text[s:e] for s, e, _ in spans] == [TEXT[s:e] for s, e, _ in SPANS]


def test_a_long_essay_is_not_lengthened_and_a_name_comes_again_far_below():
    text = "x" * LONG
    assert run("long_people_late", text=text, spans=((0, 4, "NAME_STUDENT"),))[0] == text
    spans = run("name_again_far_below")[1]
    assert spans[-1][0] - spans[0][0] > 10_000


@pytest.mark.parametrize("name, target", list(zip(EDGES, (31, 23, 28), strict=True)))
def test_names_at_the_edges_of_windows(name, target):
    windows = Windows(32, 8, lambda text, at: 1 + len(re.findall(r"\w+|[^\w\s]", text[:at])))
    found = {p.name: p for p in length_perturbations(PARAGRAPHS, windows)}
    text, spans = run(name, found=found)
    assert (windows.pieces(text, spans[0][0]) - target) % 24 == 0
    assert found[name].measured(TEXT, SPANS, text, spans) == ([0], [0])
    assert run(name, text="Nobody.", spans=(), found=found) == ("Nobody.", ())


def test_windows_are_those_of_the_pipelines_transformer(tmp_path):
    from tests.tiny import tiny_pipeline

    assert windows_of(spacy.blank("en")) is None and not set(EDGES) & set(ALL)
    windows = windows_of(tiny_pipeline(tmp_path))
    assert windows is not None and (windows.window, windows.overlap) == (32, 8)
    assert windows.pieces("my name is ana", 11) == 4  # [CLS] my name is


def test_paragraphs_to_pad_with():
    assert clean_paragraphs(["short\n\n" + "long " * 50, "long " * 50]) == [("long " * 50).strip()]
    assert prose(PARAGRAPHS, 0, random.Random(0)) == ""
    assert len(prose(PARAGRAPHS, 5000, random.Random(0))) >= 4998


def test_perturbations_are_chosen_by_name_or_class():
    assert list(choose(ALL, ["names_lower", "attack"]))[0] == "names_lower"
    assert len(choose(ALL, ["attack"])) == 10 and choose(ALL, []) == ALL
    assert choose(ALL, ["window_end"]) == {}
    with pytest.raises(PiiError, match="E760"):
        choose(ALL, ["names_lwer"])


@pytest.mark.parametrize("number, words", CASES["numbers in words"])
def test_numbers_in_words(number, words):
    assert number_to_words(number) == words


def test_decoys_have_right_check_digits_and_are_nobodys():
    text, spans = "Ana Roe wrote. It rained. We left.", ((0, 7, "NAME_STUDENT"),)
    seen = set()
    for seed in range(60):
        new, kept = perturbations()["checksum_decoy"].change(text, spans, random.Random(seed))
        assert kept == spans
        for digits in re.findall(r"\d{10,}", new):
            isbn = sum(int(ch) * (3 if i % 2 else 1) for i, ch in enumerate(digits)) % 10 == 0
            luhn = (
                sum(
                    sum(divmod(int(ch) * (2 if i % 2 else 1), 10))
                    for i, ch in enumerate(reversed(digits))
                )
                % 10
                == 0
            )
            assert (
                isbn
                if digits.startswith("978") and len(digits) == 13 and "book" in new
                else luhn or isbn
            )
            seen.add(len(digits))
    assert seen == {10, 13}
    new, kept = perturbations()["day_first_dates"].change(text, spans, random.Random(1))
    dates = re.findall(r"\b(\d\d)([/.-])(\d\d)\2(\d{4})\b", new)
    assert (
        kept == spans
        and dates
        and all(13 <= int(day) <= 31 and 1 <= int(month) <= 12 for day, _, month, _ in dates)
    )
