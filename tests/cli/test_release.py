"""`pii-edu release`: the steps of a day, left and taken up; in the terminal and behind the page. Everybody is invented."""

import json
import time
from contextlib import closing, nullcontext

import pytest

from pii_components.errors import PiiError
from pii_components.release import day as days
from pii_components.release.day import AGAIN, ESTIMATE, REHEARSE, REVIEW, RUN, Day
from pii_components.release.report import AT_RANDOM
from pii_components.release.review import REJECT, Review
from pii_components.release.review_view import draw
from pii_components.release.run import RunState, state_path
from tests.cli.conftest import put, report, table
from tests.fresh import fresh

CHOICES = {
    "input": "essays.csv",
    "run_file": "run.toml",
    "operating_point": "",
    "profile": "crapii",
}


@pytest.fixture
def day(folder, model):
    """A day whose choices are made, with the small pipeline."""
    put(folder / "essays.csv", table(6))
    put(folder / "run.toml", f'model = {json.dumps(model)}\nid_column = "id"\n')
    made = Day(folder / "private")
    made.choose(CHOICES)
    return made


@pytest.mark.parametrize(
    ("step", "has", "lacks"),
    [
        (REHEARSE, {"--dry-run", "sweep=hide"}, {"--vault", "--decisions", "--overwrite"}),
        (RUN, {"--vault", "--review-dir", "--id-map"}, {"--dry-run", "--decisions", "--overwrite"}),
        (AGAIN, {"--vault", "--decisions"}, {"--dry-run"}),
        (ESTIMATE, {"audit", "--review"}, {"--vault", "deidentify"}),
    ],
)
def test_each_step_is_a_command(day, step, has, lacks):
    made = set(day.command(step))
    assert has <= made and not lacks & made


def test_what_exists_is_replaced_and_what_was_stopped_goes_on(day):
    put(day.out, "an old release")
    assert "--overwrite" in day.command(RUN) and "--resume" not in day.command(RUN)
    RunState({}).save(state_path(day.out))
    assert "--resume" in day.command(RUN) and "--overwrite" not in day.command(RUN)
    day.ended(RUN, 130, ["interrupted"])
    assert day.state(RUN) == days.STOPPED and Day(day.folder).following() == REHEARSE


def test_what_stopped_goes_on_only_as_the_same_step_with_the_same_choices(day):
    day.begin(RUN)
    RunState({}).save(state_path(day.out))
    again = Day(day.folder)
    assert "--resume" in again.command(RUN) and "--resume" not in again.command(AGAIN)
    again.choose({"profile": "ferpa_strict"})
    assert "--overwrite" in again.begin(RUN) and "--resume" in again.command(RUN)


def test_other_texts_go_to_another_place(day, folder):
    first = day.out
    put(first, "a release")
    put(folder / "more.csv", table(2))
    day.choose({"input": "more.csv"})
    assert day.out != first and day.out.suffix == ".csv"
    day.choose({"input": "essays.csv", "out": "mine.csv"})
    assert day.choices.out == "mine.csv"
    other = Day(folder / "private2")
    other.choose(CHOICES)
    assert other.out not in (first, day.out) and other.out.parent == first.parent


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"input": "nowhere.csv"}, "E501"),
        ({"roster": "nowhere.csv"}, "E501"),
        ({"profil": "crapii"}, "E546"),
        ({"profile": 3}, "E650"),
        ({"operating_point": "all"}, "E519"),
        ({"profile": "nobody's"}, "E425"),
    ],
)
def test_a_wrong_choice_is_refused_and_the_old_ones_stay(day, given, code):
    before = (day.folder / "release.toml").read_text("utf8")
    with pytest.raises(PiiError) as refused:
        day.choose(given)
    assert refused.value.code == code
    assert (day.folder / "release.toml").read_text("utf8") == before


def test_other_choices_make_what_was_done_stale(day):
    day.ended(REHEARSE, 0, ["fine"])
    assert day.state(REHEARSE) == days.DONE
    day.choose({"profile": "ferpa_strict"})
    assert Day(day.folder).state(REHEARSE) == days.STALE
    day.ended(REHEARSE, 2, ["[E503]"])
    assert day.state(REHEARSE) == days.FAILED and day.following() == REHEARSE


def test_the_whole_way_in_the_terminal(day):
    """Until somebody has to look; then, with what was decided, to its end."""
    line = ("pii_components.cli", "release", "private", "--no-browser")
    first = fresh(*line, how="-m")
    assert "pii-edu review private/review" in first.stderr.replace(str(day.folder.parent) + "/", "")
    assert "Ina Sorel" not in day.out.read_text("utf8")
    review = Review.open(day.place("review") / "review.jsonl")
    start = review.document(1)["text"].index("Ina Sorel")
    review.decide([(1, start, start + len("Ina Sorel"))], REJECT)
    assert "draw one" in day.advice and "--sample" not in day.command(ESTIMATE)
    draw(review, 4)
    sample = review.decisions.sample
    assert not day.advice
    assert day.command(ESTIMATE)[-4:] == ["--sample", "4", "--seed", str(sample["seed"])]
    for number in sample["records"]:
        review.mark(number, True)
    review.close()
    fresh(*line, how="-m")
    assert "Ina Sorel" in day.out.read_text("utf8")
    estimate = report(day.place("report"))["leak_estimate"]["documents"]
    assert (estimate["drawn"], estimate["sample"]) == (AT_RANDOM, 4)
    assert Day(day.folder).following() == ""
    review = Review.open(day.place("review") / "review.jsonl")
    review.mark(sample["records"][0], False)
    assert (
        Day(day.folder).state(ESTIMATE) == days.STALE and Day(day.folder).state(AGAIN) == days.DONE
    )
    review.mark(sample["records"][0], True)
    assert Day(day.folder).state(ESTIMATE) == days.DONE
    draw(review, 5)
    review.close()
    assert Day(day.folder).state(ESTIMATE) == days.STALE
    day.ended(AGAIN, 0, [])
    assert Day(day.folder).state(ESTIMATE) == days.TODO


@pytest.fixture
def client(day):
    from fastapi.testclient import TestClient

    from pii_components.release.day_page import Desk, create_app

    def key(day: Day) -> None:
        put(day.place("key"), "0123456789abcdef" * 4)

    desk = Desk(day, lambda path: nullcontext(), key)
    with closing(desk), TestClient(create_app(desk, "secret", "testserver")) as made:
        yield made


def wait_for(client, step: str) -> dict:
    for _ in range(600):
        rows = {row["step"]: row for row in client.get("/secret/api/state").json()["steps"]}
        if rows[step]["state"] != days.RUNNING:
            return rows[step]
        time.sleep(0.1)
    raise AssertionError(f"{step} has not ended")


def test_the_page_does_the_steps_and_opens_the_review(client, day):
    assert client.get("/secret/").status_code == 200
    for name in ("day.js", "day.css", "review.css"):
        assert client.get(f"/secret/{name}").status_code == 200
    for step in (REHEARSE, RUN):
        assert client.post("/secret/api/start", json={"step": step}).status_code == 200
        both = client.post("/secret/api/start", json={"step": step})
        assert both.status_code == 400 and "E519" in both.json()["error"]
        ended = wait_for(client, step)
        assert ended["state"] == days.DONE, ended
    assert "6 documents" in "\n".join(ended["lines"])
    assert client.get("/secret/review/api/documents").status_code == 404
    assert client.post("/secret/api/review", json={}).status_code == 200
    assert client.get("/secret/review/api/documents").json()["all"] == 6
    assert 'data-command="pii-edu release"' in client.get("/secret/review/").text
    assert client.get("/secret/report").status_code == 200
    assert client.get("/secret/api/state").json()["next"] == REVIEW


@pytest.mark.parametrize("path", ["/", "/other/api/state", "/other/review/api/documents"])
def test_who_lacks_the_secret_sees_nothing(client, path):
    answer = client.get(path)
    assert answer.status_code == 403 and "E584" in answer.text


def test_the_page_lists_folders_by_name_alone(client, folder):
    put(folder / "course" / "a.txt", "Ina Sorel was here")
    put(folder / ".hidden", "")
    listed = client.get("/secret/api/folder", params={"path": str(folder)}).json()
    assert {"course"} <= set(listed["folders"]) and "essays.csv" in listed["files"]
    assert ".hidden" not in listed["files"]
    inside = client.get("/secret/api/folder", params={"path": str(folder / "essays.csv")}).json()
    assert inside == listed
