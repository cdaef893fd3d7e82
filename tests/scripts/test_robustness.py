"""Numbers computed by hand, with a detector that knows two names in one spelling each."""

import json
import re

import pytest

from pii_components.corpus.build import split_of
from pii_components.corpus.edit import around_names, insert, on_names
from pii_components.corpus.perturb import (
    CASE,
    LAYOUT,
    LENGTH,
    NAMES,
    Perturbation,
    perturbations,
)
from pii_components.errors import PiiError
from pii_components.evaluate.gold import Entity
from pii_components.files.formats.base import LabelledText
from pii_components.profiles import Profile
from scripts.robustness import authored_essays, count_found, false_alarms, main, measure, prose_of, shown, spans_of, take, worst

CRAPII = Profile.load("crapii").protects
# Finds two names and a town where they are written so; "BUDI" in part.
PATTERN = "Ana Roe|Budi|Paris|BUD(?=I)"
ESSAYS = [
    LabelledText(
        "1", "By Ana Roe and Budi. See Smith.", ((3, 10, "NAME_STUDENT"), (15, 19, "NAME_CONNECTED"), (25, 30, "NAME_CITED"))
    ),
    LabelledText("2", "By Ana Roe, aged 20.", ((3, 10, "NAME_STUDENT"), (17, 19, "AGE"))),
    LabelledText("3", "Paris is a town by Smith and others, as you know.", ((19, 24, "NAME_CITED"),)),
    LabelledText("4", "Paris, nobody knows.", (), ((0, 5),)),
]
UPPER = Perturbation("upper", CASE, "", on_names(lambda v, rng: v.upper()), NAMES, rewrites=True)
WRAPPED = Perturbation("wrapped", LAYOUT, "", around_names("<", ">"), NAMES)
PARIS = Perturbation("paris", LAYOUT, "", lambda text, spans, rng: insert(text, spans, len(text), " Paris."))
NOTHING = Perturbation("nothing", CASE, "", lambda text, spans, rng: (text, spans))


@pytest.fixture(scope="module")
def report(finds):
    chosen = {p.name: p for p in (UPPER, WRAPPED, PARIS, NOTHING)}
    return measure(finds(PATTERN), ESSAYS, chosen, protects=CRAPII, n_resamples=200)


def test_unperturbed(report):
    base = report["unperturbed"]
    assert (base["documents"], base["support"], base["clean_documents"]) == (4, 3, 1)
    assert (base["recall"], base["whole"], base["strict"]) == (1, 1, 1)
    # "Paris" in one clean essay of eleven words; the masked one counts for nothing.
    assert base["false_alarms"] == 1 and base["false_alarms_per_10k_words"] == 909.0909 and base["clean_touched"] == 1
    assert not re.search("Ana|Roe|Budi|Smith|Paris", json.dumps(report).replace('"paris"', ""))


def test_names_in_capitals(report):
    # Of 6 + 4 + 6 letters "BUD" is hidden; no span wholly, none strictly. All three were found before.
    found = report["perturbations"]["upper"]
    assert (found["class"], found["documents"], found["support"]) == ("case", 3, 3)
    assert (found["recall"], found["whole"], found["strict"]) == (round(3 / 16, 4), 0, 0)
    assert (found["unperturbed_recall"], found["drop"], found["drop_strict"]) == (1, round(13 / 16, 4), 1)
    low, high = found["recall_95"]
    assert 0 <= low <= found["recall"] <= high <= 0.3
    assert found["false_alarms"] == found["unperturbed_false_alarms"] == 1


def test_an_insertion_costs_false_alarms_and_no_recall(report):
    found = report["perturbations"]["paris"]
    assert (found["recall"], found["drop"], found["documents"]) == (1, 0, 4)
    assert (found["false_alarms"], found["unperturbed_false_alarms"]) == (2, 1)
    assert found["false_alarms_per_10k_words"] == pytest.approx(2 / 12 * 1e4, abs=0.1)


def test_what_changes_nothing_is_not_measured(report):
    empty = {"class": "case", "about": "", "documents": 0, "support": 0, "clean_documents": 0}
    assert report["perturbations"]["nothing"] == empty


def test_classes_sum_over_their_perturbations_and_the_worst_needs_support(report):
    classes = report["classes"]
    assert set(classes) == {"case", "layout"} and (classes["layout"]["support"], classes["layout"]["recall"]) == (6, 1)
    assert classes["case"]["recall"] == worst(classes, least=3)["recall"] == round(3 / 16, 4)
    assert report["worst"] == {} == report["worst_class"]
    assert worst(report["perturbations"], least=3)["name"] == "upper"


def test_the_profile_decides_what_must_be_hidden(finds):
    strict = measure(finds(PATTERN), ESSAYS, {}, protects=lambda label: True, n_resamples=20)["unperturbed"]
    assert strict["support"] == 5 and strict["clean_documents"] == 0
    with pytest.raises(PiiError, match="E762"):
        measure(finds(PATTERN), ESSAYS[2:], {}, protects=CRAPII)


def test_few_essays_are_lengthened(finds):
    system = finds(PATTERN)
    found = measure(system, ESSAYS, {"l": perturbations()["long_people_late"]}, protects=CRAPII, n_resamples=20, long_essays=2)
    assert found["perturbations"]["l"]["documents"] == 2 and system.read == 4 + 2
    assert found["perturbations"]["l"]["class"] == LENGTH


@pytest.mark.parametrize(
    "predicted, expected",
    [
        ([(0, 7, "NAME_STUDENT")], [(6, 0), (1, 0), (1, 0)]),
        ([(0, 3, "NAME_STUDENT"), (4, 7, "EMAIL")], [(6, 0), (1, 0), (0, 1)]),  # the space in clear tells nothing
        ([(0, 7, "EMAIL")], [(6, 0), (1, 0), (0, 1)]),
        ([(0, 9, "NAME_STUDENT")], [(6, 0), (1, 0), (0, 1)]),
        ([(0, 6, "NAME_STUDENT")], [(5, 1), (0, 1), (0, 1)]),
        ([], [(0, 6), (0, 1), (0, 1)]),
    ],
)
def test_found_in_three_ways(predicted, expected):
    entities = [Entity("", start, end, label) for start, end, label in predicted]
    counts = count_found("Ana Roe!", ((0, 7, "NAME_CONNECTED"),), entities, CRAPII)
    assert [(int(tp), int(fn)) for tp, _, fn in counts] == expected


def test_what_shows_nothing_need_not_be_hidden():
    text = "A\u200bna 🌸 Roe"
    assert shown(text) == "A na   Roe"
    entities = [Entity("", 0, 4, "NAME_STUDENT"), Entity("", 7, 10, "NAME_STUDENT")]
    counts = count_found(text, ((0, 10, "NAME_STUDENT"),), entities, CRAPII)
    assert counts[:2, 2].tolist() == [0, 0] and counts[2, 2] == 1


def test_indirect_identifiers_are_no_false_alarms_and_masked_stretches_travel_along():
    found = [Entity("", 0, 3, "NAME_STUDENT"), Entity("", 5, 8, "NAME_STUDENT")]
    assert false_alarms(((4, 6, "AGE"), (0, 1, "NAME_CITED")), found) == 1
    assert spans_of(ESSAYS[3]) == ((0, 5, "UNLABELLED"),)


def test_a_sample_is_nested_fixed_and_has_clean_essays_in_their_share():
    assert take(ESSAYS, 2, seed=1) == take(ESSAYS, 0, seed=1)[:2] == take(list(ESSAYS), 2, seed=1)
    many = [LabelledText(str(n), "Ana Roe", ((0, 7, "NAME_STUDENT"),) if n % 5 else ()) for n in range(50)]
    assert sum(not essay.spans for essay in take(many, 10, seed=1)) == 2
    cited = [LabelledText(essay.id, essay.text, ((0, 7, "NAME_CITED"),) if not essay.spans else essay.spans) for essay in many]
    assert sum(essay.spans[0][2] == "NAME_CITED" for essay in take(cited, 10, seed=1, protects=CRAPII)) == 2


@pytest.fixture
def assets(tmp_path):
    (tmp_path / "essays").mkdir()
    names = [f"e{n}" for n in range(60)]
    body = (
        "By {{student.full}}\n\nThe town is old. I like its river, says {{CITED=Fay Moss}}.\n\n" + "It flows on and on. " * 15
    )
    for name in [n for n in names if split_of(n) == "test"][:3] + [n for n in names if split_of(n) == "train"][:1]:
        (tmp_path / "essays" / f"{name}.txt").write_text(f"id: {name}\n---\n{body}\n", "utf8")
    return tmp_path


def test_authored_essays_of_the_test_split(assets):
    essays = authored_essays(assets)
    assert len(essays) == 6 and len({essay.id for essay in essays}) == 6
    assert essays == authored_essays(assets) != authored_essays(assets, seed=47)
    assert all(label.startswith("NAME") for essay in essays for *_, label in essay.spans)
    assert prose_of(assets)[0].startswith("It flows")
    with pytest.raises(PiiError, match="E603"):
        authored_essays(assets / "nowhere")


@pytest.fixture
def run(command, finds, assets, monkeypatch):
    monkeypatch.setattr("scripts.robustness.make_system", lambda spec, protects: finds(PATTERN))
    return lambda *options: command(main, *options, "--assets", assets, "--resamples", 20)


def test_the_command(run, tmp_path):
    out = tmp_path / "metrics" / "robustness.json"
    done = run("--only", "case,window_end", "--all", "--out", out)
    assert done.exit_code == 0, done.output
    assert "names_lower" in done.output and "window_end was left out" in done.output
    report = json.loads(out.read_text("utf8"))
    assert report["data"]["documents"] == 6 and report["profile"] == "crapii"
    assert report["command"].startswith("python -m scripts.robustness")
    assert len(report["perturbations"]) == 11 and report["unperturbed"]["recall"] == 0


@pytest.mark.parametrize(
    "options, code, shown_text",
    [
        (["--list"], 0, "zero_width_space"),
        (["--only", "nonsense"], 2, "E760"),
        (["--only", "window_end"], 2, "E762"),
        (["--only", "names_lower", "--floor", "0.5", "--quiet"], 1, ""),
        (["--only", "names_lower", "--profile", "none"], 2, "E425"),
        (["missing.json"], 2, "E501"),
    ],
)
def test_the_command_refuses(run, options, code, shown_text):
    done = run(*options)
    assert done.exit_code == code and shown_text in done.output


def test_gold_in_a_file(run, tmp_path):
    gold = tmp_path / "gold.jsonl"
    gold.write_text("".join(json.dumps({"id": e.id, "text": e.text, "spans": e.spans}) + "\n" for e in ESSAYS[:3]), "utf8")
    done = run(gold, "--only", "names_upper")
    assert done.exit_code == 0 and "gold.jsonl, 3 of 3 essays" in done.output
