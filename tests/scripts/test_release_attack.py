"""The parrot attack and the leak arithmetic: planted leaks are found, a release without leaks gives nothing away."""

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from pii_components.errors import PiiError
from pii_components.labels import EMAIL, NAME_STUDENT
from pii_components.offsets import Edit
from scripts import release_attack as study
from scripts.release_attack import LEAK, SURROGATE, ReleasedDocument, ReleasedText, release_report

NAME = NAME_STUDENT
ORIGINAL = "By Ana Lopez, 2019.\nI am Ana. Lopez is my name."
RELEASED = "By Mia Rossetti, 2019.\nI am Mia. Lopez is my name."
SPANS = ((3, 15, NAME), (28, 31, NAME))
GOLD = [(3, 12, NAME), (25, 28, NAME), (30, 35, NAME)]


Misses = Callable[[str, random.Random], bool]
_SYLLABLES = ("ba", "den", "fi", "gor", "hal", "jo", "kel", "lu", "mir", "na", "pol", "ri", "sa", "tun", "ves", "wil")
_USUAL = (
    "My name is {} and I study rivers.\n",
    "Essay by {}\n",
    "Written by {} for the course.\n",
    "My friend {} helped me.\n",
)
_ODD = (
    "the boat of {} sank twice.\n",
    "we thanked {} with cake.\n",
    "it was, as {} whispered, cold.\n",
    "under {} lay the map.\n",
)
_FILLING = (
    "The river was cold and the bridge was old.\n", "Cities grow when people move to them.\n", "In Spring the water rose again.\n",
    "Results in Table 2 show that Group A was faster.\n", "Most people think about the future of work.\n",
)  # fmt: skip


def by_chance(rate: float) -> Misses:
    """The detector misses a value whatever it looks like."""
    return lambda frame, rng: rng.random() < rate


def odd_places(frame: str, rng: random.Random) -> bool:
    """The detector misses names in sentences that are rare."""
    return frame in _ODD


def _name(rng: random.Random) -> str:
    return " ".join("".join(rng.choices(_SYLLABLES, k=2)).title() for _ in range(2))


def synthetic_release(misses: Misses, *, n: int = 60, odd: float = 0.0, seed: int = 3) -> list[ReleasedDocument]:
    """Short essays with five names each, all hidden but for what is missed. odd: Share of the names in rare sentences."""
    documents = []
    for number in range(n):
        rng = random.Random(f"{seed} {number}")
        original, released, gold, spans = "", "", [], []
        for _ in range(5):
            filling = rng.choice(_FILLING)
            frame = rng.choice(_ODD if rng.random() < odd else _USUAL)
            before, after = frame.split("{}")
            name, surrogate = _name(rng), _name(rng)
            while set(name.split()) & set(surrogate.split()):  # no surrogate shares a part with its original
                surrogate = _name(rng)
            original, released = original + filling + before, released + filling + before
            gold.append((len(original), len(original) + len(name), NAME_STUDENT))
            if misses(frame, rng):
                surrogate = name
            else:
                spans.append((len(released), len(released) + len(surrogate), NAME_STUDENT))
            original, released = original + name + after, released + surrogate + after
        mail = f"{_name(rng).split()[0].lower()}@uni.example"
        spans.append((len(released), len(released) + 15, EMAIL))
        gold.append((len(original), len(original) + len(mail), EMAIL))
        pair = ReleasedText(f"d{number}", original + mail, released + "kai@example.edu", tuple(spans))
        documents.append(ReleasedDocument(pair, tuple(gold)))
    return documents


# --- where the surrogates and the leaks lie


@pytest.mark.parametrize("spans", [SPANS, None])
def test_alignment_finds_what_was_replaced(spans):
    offsets = study.align(ReleasedText("1", ORIGINAL, RELEASED, spans))
    pairs = [(ORIGINAL[e.start : e.end], RELEASED[e.new_start : e.new_end]) for e in offsets.edits]
    assert [old for old, _ in pairs if old.strip()][-1] == "Ana"
    assert pairs[-1] == ("Ana", "Mia")
    kept = [i for i in range(len(ORIGINAL)) if not any(e.start <= i < e.end for e in offsets.edits)]
    assert all(ORIGINAL[i] == RELEASED[offsets.to_new(i)] for i in kept)


def test_a_span_beside_a_letter_is_one_edit():
    """Names are glued to other words in students' files."""
    pair = ReleasedText("1", "my_Ana_file", "my_Mia_file", ((3, 6, NAME),))
    assert study.align(pair).edits == (Edit(3, 6, 3, 6),)


@pytest.mark.parametrize("spans", [SPANS, None])
def test_items_are_surrogates_and_leaks(spans):
    items = study.find_items(ReleasedText("1", ORIGINAL, RELEASED, spans), GOLD)
    assert [(RELEASED[i.start : i.end], i.kind, i.partial) for i in items] == [
        ("Mia Rossetti", SURROGATE, False),
        ("Mia", SURROGATE, False),
        ("Lopez", LEAK, False),
    ]


def test_a_name_replaced_in_part_is_a_leak():
    pair = ReleasedText("1", "I am Ana Lopez here", "I am Mia Lopez here", ((5, 8, NAME),))
    items = study.find_items(pair, [(5, 14, NAME)])
    assert [(i.kind, i.start, i.end, i.partial) for i in items] == [(SURROGATE, 5, 8, False), (LEAK, 9, 14, True)]


def test_an_address_may_keep_a_word():
    """Where spans are not known, a surrogate's own words cannot be told from what was left."""
    pair = ReleasedText("1", "Home: 12 Main Street, ok", "Home: 88 Oak Street, ok")
    assert {i.kind for i in study.find_items(pair, [(6, 20, "STREET_ADDRESS")])} == {SURROGATE}


def test_without_gold_a_replaced_word_elsewhere_is_a_leak():
    document = ReleasedDocument(ReleasedText("1", ORIGINAL, RELEASED))
    assert [(RELEASED[i.start : i.end]) for i in document.of_kind(LEAK)] == ["Lopez"]
    assert (30, 35, "") in study.replaced_values(document.pair)


def test_values_are_counted():
    document = ReleasedDocument(ReleasedText("1", ORIGINAL, RELEASED, SPANS), tuple(GOLD))
    assert sorted(study.value_counts(document)) == [(1, 0), (1, 0), (1, 1)]


@pytest.mark.parametrize(
    ("released", "spans"),
    [
        (
            "Nothing at all is the same in a text that someone else wrote about other things and in another year, on a hill.",
            None,
        ),
        (RELEASED * 2, ((3, 15, NAME), (10, 20, NAME))),
        (RELEASED, ((3, 999, NAME),)),
    ],
)
def test_texts_that_do_not_belong_together_are_a_coded_error(released, spans):
    with pytest.raises(PiiError, match=r"\[E771\]"):
        study.align(ReleasedText("1", ORIGINAL * 2, released, spans))


# --- the attack


def test_shapes_words_and_a_tagger_without_labels():
    assert [study.shape(word) for word in ("Ana", "2019", "McLee", "@")] == ["Xx", "d", "XxXx", "@"]
    assert study.words_of("a b!") == [(0, 1), (2, 3), (3, 4)]
    assert list(study.Parrot().fit(["a b"], [[]]).tag("a b c")[1]) == [0, 0, 0]


def test_halves_and_attack_depend_on_the_seed_and_not_on_order():
    documents = synthetic_release(by_chance(0.1), n=12)
    half, again = (
        {d.pair.id: n for d, n in zip(some, study.halves(some), strict=True)} for some in (documents, documents[::-1])
    )
    assert half == again and sum(half.values()) == 6
    first, second = (release_report(d, seed=4, n_resamples=5, attackers=["labels"]) for d in (documents, documents[::-1]))
    first["attacks"]["labels"] = {k: v for k, v in first["attacks"]["labels"].items() if not k.endswith("_95")}
    assert first["attacks"]["labels"].items() <= second["attacks"]["labels"].items()


def test_leaks_among_published_spans_are_found():
    found = release_report(synthetic_release(by_chance(0.1), n=40), n_resamples=50)["attacks"]
    labels, reader = found["labels"], found["reader"]
    assert labels["recall"] > 0.8 and labels["precision"] > 0.8
    assert labels["lift_95"][0] > 2 and labels["p_value"] < 1e-6
    # What was missed by chance looks like what was not: a reader without the spans cannot tell.
    low, high = reader["auc_95"]
    assert low < 0.65 and high > 0.35
    assert reader["p_value"] > 0.01


def test_a_reader_finds_leaks_in_odd_places():
    reader = release_report(synthetic_release(odd_places, n=40, odd=0.06), attackers=["reader"], n_resamples=50)["attacks"][
        "reader"
    ]
    assert reader["auc"] > 0.8 and reader["auc_95"][0] > 0.5


def test_a_release_without_leaks_gives_nothing_away():
    report = release_report(synthetic_release(by_chance(0), n=30), n_resamples=50)
    assert report["leaks"] == report["mentions_with_a_leak"] == 0
    for row in report["attacks"].values():
        assert (row["found"], row["p_value"], row["chance_precision"]) == (0, 1, 0)
        assert "lift" not in row and "auc" not in row
    assert report["arithmetic"]["share_of_documents"] == dict.fromkeys((*study.STRATEGIES, "apart"), 0)


def test_a_tail_by_hand():
    """One of two of four: 1 - (2 of 4 unmarked)/(6 pairs)."""
    assert study.tail(4, 2, 2, 1) == pytest.approx(5 / 6)
    assert study.tail(4, 2, 2, 2) == pytest.approx(1 / 6)
    assert study.tail(4, 2, 0, 0) == 1


@pytest.mark.parametrize(("n", "options", "code"), [(4, {"recall": 1.2}, "E773"), (4, {"keep": -1}, "E773"), (3, {}, "E772")])
def test_what_cannot_be_attacked_is_a_coded_error(n, options, code):
    with pytest.raises(PiiError, match=rf"\[{code}\]"):
        release_report(synthetic_release(by_chance(0), n=n), **options)


# --- the arithmetic


@pytest.mark.parametrize(
    ("n", "shares"),
    [
        (57, {"consistent": 0.946, "random": 0.785}),  # 5 % missed: what BRATsynthetic's formulae give
        (5, {"consistent": 0.2262, "random": 0.0226}),
        (2, {"consistent": 0.0975, "random": 0.0025}),
        (1, {"consistent": 0.05, "random": 0, "apart": 0, "markov": 0}),
    ],
)
def test_small_numbers_by_hand(n, shares):
    found = study.told(n, 0.05)
    assert {way: found[way] for way in shares} == pytest.approx(shares, abs=6e-4)


def test_a_chain_by_hand():
    # Three mentions, two missed and one replaced, or all missed: 3 e^2 (1 - e) + e^3.
    assert study.markov(3, 0.5, 0.5) == pytest.approx(3 * 0.125 + 0.125)
    # Four: two missed beside two surrogates, which differ with one half; three; four.
    assert study.markov(4, 0.5, 0.5) == pytest.approx((6 * 0.5 + 4 + 1) / 16)
    assert study.markov(9, 0.2, 0) == pytest.approx(study.told(9, 0.2)["random"])


def test_a_corpus_is_the_mean_of_its_values():
    assert study.expected([1, 2, 2], 0.1)["consistent"] == pytest.approx((0.1 + 0.19 + 0.19) / 3)
    assert study.documents_told({"a": [1, 2], "b": [1]}, 0.1)["consistent"] == pytest.approx((1 - 0.9 * 0.81 + 0.1) / 2)
    assert study.expected([], 0.1) == study.documents_told({}, 0.1) == dict.fromkeys((*study.STRATEGIES, "apart"), 0)


def test_a_report_uses_the_corpus_own_counts():
    report = release_report(synthetic_release(by_chance(0), n=4), recall=0.9, attackers=[])["arithmetic"]
    assert report["miss_rate"] == 0.1 and report["miss_rate_from"] == "given"
    assert report["values"] == sum(row["values"] for row in report["by_repetition"]) == 24
    assert report["share_of_values"]["consistent"] == pytest.approx(0.1, abs=0.02)


# --- files and the command


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path, Path]:
    """An original with gold, its release as the command writes it, and as the library writes it."""
    documents = synthetic_release(by_chance(0.1), n=16)

    def write(name: str, rows: list[dict]) -> Path:
        path = tmp_path / name
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf8")
        return path

    return (
        write("essays.jsonl", [{"id": d.pair.id, "text": d.pair.original, "spans": d.gold} for d in documents]),
        write("plain.jsonl", [{"id": d.pair.id, "text": d.pair.released, "spans": d.gold} for d in documents[::-1]]),
        write("spans.jsonl", [{"id": d.pair.id, "text": d.pair.released, "spans": d.pair.surrogates} for d in documents]),
    )


def test_both_kinds_of_release_show_the_same_leaks(files):
    original, plain, spans = files
    compared, given = study.read_release(original, plain), study.read_release(original, spans, with_spans=True)
    leaks = [[(i.start, i.end) for d in documents for i in d.of_kind(LEAK)] for documents in (compared, given)]
    assert leaks[0] == leaks[1] != []
    assert len(compared[0].of_kind(SURROGATE)) == len(given[0].of_kind(SURROGATE))


def test_gold_may_be_a_file_of_its_own(files, tmp_path):
    original, plain, _ = files
    bare = tmp_path / "bare.jsonl"
    rows = [json.loads(line) for line in original.read_text().splitlines()]
    bare.write_text("".join(json.dumps({"id": r["id"], "text": r["text"]}) + "\n" for r in rows))
    assert study.read_release(bare, plain)[0].gold is None
    assert study.read_release(bare, plain, gold=original)[0].gold == study.read_release(original, plain)[0].gold
    other = tmp_path / "other.jsonl"
    other.write_text(original.read_text().replace("river", "stream"))
    with pytest.raises(PiiError, match=r"\[E774\]"):
        study.read_release(bare, plain, gold=other)


def test_other_documents_are_a_coded_error(files, tmp_path):
    original, plain, _ = files
    fewer = tmp_path / "fewer.jsonl"
    fewer.write_text("".join(line + "\n" for line in plain.read_text().splitlines()[:-2]))
    with pytest.raises(PiiError, match=r"\[E770\] 2 documents"):
        study.read_release(original, fewer)


def test_only_what_the_profile_hides_can_leak(files):
    original, plain, _ = files
    documents = study.read_release(original, plain, hides=lambda label: label != NAME)
    assert {item.label for d in documents for item in d.of_kind(LEAK)} == set()


def test_the_command_writes_numbers_and_no_text(command, files, tmp_path):
    original, _, spans = files
    out = tmp_path / "release.json"
    result = command(study.main, original, spans, "--with-spans", "--recall", 0.9, "--out", out, "--resamples", 20)
    assert result.exit_code == 0, result.output
    report = json.loads(out.read_text())
    assert report["release"]["arithmetic"]["miss_rate"] == 0.1
    assert set(report["release"]["attacks"]) == {"reader", "labels"}
    assert "Parrot attack" in result.output
    values = {r["text"][s:e] for r in map(json.loads, original.read_text().splitlines()) for s, e, _ in r["spans"]}
    assert not [value for value in values if value in out.read_text() + result.output]
    assert command(study.main, original, tmp_path / "none.jsonl").exit_code == 2
