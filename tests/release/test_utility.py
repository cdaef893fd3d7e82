"""What a release costs, in numbers: measures, pairs, tests. All texts are invented."""

import socket
import subprocess
import sys

import numpy
import pytest

pytest.importorskip("textstat", reason="needs the extra 'utility'")

from pii_components.errors import PiiError
from pii_components.files.sources import open_source
from pii_components.release.utility import (
    Measured,
    compare,
    load_score,
    measures,
    mtld,
    paired,
    read_map,
    words_of,
)

TEXT = "The ferry was late again. Nobody at the harbor knew why, and the captain did not say anything about it. "


def test_readability_needs_no_network_and_no_dictionary(monkeypatch):
    import nltk

    def refuse(*args, **kwargs):
        raise AssertionError("a download")

    monkeypatch.setattr(nltk, "download", refuse)
    monkeypatch.setattr(nltk.data, "find", refuse)
    monkeypatch.setattr(socket, "socket", refuse)
    found = {name: measure(TEXT) for name, measure in measures().items()}
    assert (found["words"], found["characters"], found["sentences"], found["types"]) == (
        20,
        len(TEXT),
        2,
        18,
    )
    # 20 words, 2 sentences, syllables by pyphen (Flesch 1948; Kincaid et al. 1975)
    syllables = (206.835 - 1.015 * 20 / 2 - found["flesch_reading_ease"]) / 84.6 * 20
    assert syllables == pytest.approx(round(syllables)) and 22 <= syllables <= 28
    assert found["flesch_kincaid_grade"] == pytest.approx(
        0.39 * 20 / 2 + 11.8 * syllables / 20 - 15.59
    )


def test_a_fresh_process_measures_without_a_home(tmp_path):
    code = "from pii_components.release.utility import measures; print([m('I read it.') for m in measures().values()])"
    env = {"HOME": str(tmp_path), "PATH": "", "PYTHONPATH": ":".join(filter(None, sys.path))}
    subprocess.run([sys.executable, "-c", code], check=True, env=env, capture_output=True)
    assert not list(tmp_path.iterdir())


def test_empty_text_has_measures():
    assert [measure("") for measure in measures().values()] == [0] * 9


def test_mtld():
    assert mtld([]) == 0 and mtld(["a", "b", "c"]) == 3
    # by hand: a stretch ends at the second "a" (1/2), so two stretches of two either way
    assert mtld(["a", "a", "b", "b"]) == 2
    assert words_of("Don't re-read [NAME_STUDENT], José!") == [
        "don't",
        "re-read",
        "name",
        "student",
        "josé",
    ]


def test_paired_test_against_counting_all_signs():
    gain = numpy.array([1.0, 2.0, -0.5, 3.0, 1.5])
    found = paired(numpy.zeros(5), gain)
    signs = numpy.array(numpy.meshgrid(*[[-1, 1]] * 5)).reshape(5, -1).T
    assert found["p"] == pytest.approx(
        numpy.mean(abs((signs * gain).mean(1)) >= gain.mean() - 1e-9)
    )
    assert found["difference"] == 1.4 and found["effect"] == pytest.approx(
        gain.mean() / gain.std(ddof=1)
    )
    assert (
        found["interval_95"][0] < 1.4 < found["interval_95"][1]
        and found["largest"] == 3
        and found["differ"] == 1
    )
    same = paired(numpy.ones(4), numpy.ones(4))
    assert (same["p"], same["interval_95"], same["effect"], same["differ"]) == (
        1.0,
        [0, 0],
        None,
        0,
    )
    assert paired(numpy.ones(1), numpy.zeros(1))["p"] is None


def table(path, rows):
    path.write_text("id,text\n" + "".join(f'{i},"{text}"\n' for i, text in rows), "utf8")
    return path


def read(path, **options):
    return open_source(path, text_field="text", **options)


def side(path, score="", **options) -> Measured:
    made = Measured(measures(score))
    made.read(read(path, **options))
    return made


def test_documents_are_matched_by_id_in_any_order_and_those_left_are_numbered(tmp_path):
    before = table(tmp_path / "a.csv", [("x", TEXT), ("y", TEXT * 2), ("z", TEXT)])
    after = table(
        tmp_path / "b.csv",
        [("w", "New."), ("y", TEXT * 2), ("x", TEXT.replace("captain", "pilot"))],
    )
    found = compare(side(before, id_field="id"), read(after, id_field="id"))
    assert (
        found["documents"],
        found["only_before"]["records"],
        found["only_after"]["records"],
    ) == (2, [3], [1])
    assert (
        found["measures"]["types"]["difference"] == 0
        and found["measures"]["characters"]["difference"] == -1
    )
    assert found["types_kept"] == pytest.approx((1 + 17 / 18) / 2)


def test_documents_without_ids_are_matched_by_order_if_there_are_as_many(tmp_path):
    before = table(tmp_path / "a.csv", [("x", TEXT), ("y", TEXT)])
    assert compare(side(before), read(before))["documents"] == 2
    with pytest.raises(PiiError, match="E770"):
        compare(side(before), read(table(tmp_path / "b.csv", [("x", TEXT)])))
    with pytest.raises(PiiError, match="E591"):
        compare(
            side(before, id_field="id"),
            read(table(tmp_path / "c.csv", [("d1", TEXT)]), id_field="id"),
        )


def test_a_map_leads_from_new_names_to_old_ones(tmp_path):
    (tmp_path / "map.csv").write_text("in,out\nx,d1\ny,\nz,d2\n")
    names = {new: old for old, new in read_map(tmp_path / "map.csv") if new}
    before = table(tmp_path / "a.csv", [("x", TEXT), ("y", TEXT), ("z", TEXT)])
    after = table(tmp_path / "b.csv", [("d2", TEXT), ("d1", TEXT)])
    found = compare(side(before, id_field="id"), read(after, id_field="id"), names=names)
    assert found["documents"] == 2 and found["only_before"]["records"] == [2]
    for content in ("out,in\n", "in,out\na\n", ""):
        (tmp_path / "bad.csv").write_text(content)
        with pytest.raises(PiiError, match="E592"):
            read_map(tmp_path / "bad.csv")


def test_a_score_of_the_user(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_score.py").write_text(
        "X = 1\ndef good(text): return text.count('e')\ndef bad(text): raise ValueError(text)\ndef nan(text): return float('nan')\n"
    )
    before = table(tmp_path / "a.csv", [("x", TEXT)])
    assert compare(side(before, "my_score:good"), read(before))["measures"]["score"][
        "before"
    ] == TEXT.count("e")
    for name in ("my_score", "my_score:none", "no_such:f", "my_score:X", ""):
        with pytest.raises(PiiError, match="E589"):
            load_score(name)
    for name in ("bad", "nan"):
        with pytest.raises(PiiError, match="E590") as failed:
            side(before, f"my_score:{name}")
        assert "ferry" not in str(failed.value)


def test_differences_that_are_equal_but_for_rounding_have_no_effect_size():
    old = numpy.array([67.27, 67.27, 67.27])
    assert paired(old, old + numpy.array([94.01, 94.01 + 1e-14, 94.01]))["effect"] is None
    assert paired(old, old + numpy.array([94.0, 94.5, 93.5]))["effect"] > 100
