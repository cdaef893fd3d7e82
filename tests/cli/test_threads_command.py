"""`pii-edu deidentify --config scope=thread`: one person in all posts of a thread. Everybody is invented."""

import json
import random

import pytest

from pii_components.errors import PiiError
from pii_components.release import engine as engines
from pii_components.release.engine import load_engine
from pii_components.release.scale import RAY, spread
from tests.cli.conftest import KEY, put, report, texts_of

# The small pipeline knows "Ina Sorel", "Ina", addresses and numbers of eight digits; "Buzan" is cited.
ROWS = [
    ("a", "I am Ina Sorel (ina.sorel@example.edu), and Buzan (2006) says: map it."),
    ("b", "Ina here. Nobody knows Sorel."),
    ("a", "Thank you Ina, and thanks to SOREL, I. for the map."),
    ("", "Ina wrote to Sorel."),
    ("a", "isorel7 and ina.sorel@example.edu, says Buzan."),
    ("b", "I am Jörn Übel, and I like Übel's map. Ask Ina."),
    ("a", "The map of Sorel is good, says Will."),
]
THREADS = "--config scope=thread --config thread=topic"


@pytest.fixture
def posts(folder):
    put_rows(folder / "posts.jsonl")
    return folder


def put_rows(path, rows=ROWS):
    numbered = enumerate(rows)
    objects = [{"n": i, "topic": thread or None, "text": text} for i, (thread, text) in numbered]
    put(path, "".join(json.dumps(one) + "\n" for one in objects))


def test_a_person_is_hidden_and_the_same_in_all_posts_of_a_thread(posts, pii_edu):
    run = pii_edu(f"deidentify posts.jsonl --out out.jsonl {THREADS} --vault v")
    assert run.exit_code == 0, run.output
    texts = texts_of(posts / "out.jsonl")
    given, surname = texts[0].split()[2:4]
    assert (given, surname) != ("Ina", "Sorel") and f"{given}.{surname}".lower() in texts[0]
    thanks = f"Thank you {given}, and thanks to {surname.upper()}, {given[0]}. for the map."
    assert texts[2] == thanks
    assert texts[4].startswith(f"{given[0]}{surname}".lower())
    assert texts[6] == f"The map of {surname} is good, says Will."
    # Another thread is another world, and knows no Sorel; so does a post that tells no thread.
    assert texts[1].split()[0] not in ("Ina", given) and texts[1].endswith("Nobody knows Sorel.")
    assert texts[5].endswith(f"Ask {texts[1].split()[0]}.") and texts[3].endswith("wrote to Sorel.")
    assert "Buzan" in texts[0] and "Buzan" in texts[4]
    found = report(posts / "report.json")
    assert found["scope"] == "thread" and found["notes"]["no thread: a scope of its own"] == 1
    assert "1 documents tell no thread" in run.output
    assert "Sorel" not in run.output + json.dumps(found)
    back = pii_edu("reidentify out.jsonl --vault v --out back.jsonl")
    assert back.exit_code == 0, back.output
    assert (posts / "back.jsonl").read_bytes() == (posts / "posts.jsonl").read_bytes()


@pytest.mark.parametrize("sweep", ["off", "hide"])
def test_order_and_batches_do_not_matter(sweep, posts, pii_edu):
    options = f"{THREADS} --config sweep={sweep}"
    assert pii_edu(f"deidentify posts.jsonl --out out.jsonl {options}").exit_code == 0
    mixed = list(range(len(ROWS)))
    random.Random(4).shuffle(mixed)
    put_rows(posts / "mixed.jsonl", [ROWS[i] for i in mixed])
    options += " --config batch_size=2"
    assert pii_edu(f"deidentify mixed.jsonl --out other.jsonl {options}").exit_code == 0
    texts = texts_of(posts / "out.jsonl")
    assert texts_of(posts / "other.jsonl") == [texts[i] for i in mixed]
    assert ("Sorel" in texts[1]) is (sweep == "off")


def test_a_run_that_is_taken_up_gives_the_same_bytes(posts, pii_edu, monkeypatch):
    assert pii_edu(f"deidentify posts.jsonl --out whole.jsonl {THREADS}").exit_code == 0
    results, calls = engines.Engine.results, []

    def broken(self, records):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return results(self, records)

    line = "deidentify posts.jsonl --out out.jsonl --config batch_size=2"
    with monkeypatch.context() as patched:
        patched.setattr(engines.Engine, "results", broken)
        assert pii_edu(f"{line} {THREADS}").exit_code == 130
    assert "E514" in pii_edu(f"{line} --resume").output
    assert pii_edu(f"{line} {THREADS} --resume").exit_code == 0
    assert (posts / "out.jsonl").read_bytes() == (posts / "whole.jsonl").read_bytes()


def test_engines_that_would_send_names_are_refused(model):
    loaded = load_engine(model, key=KEY.encode(), scope="thread")
    with (
        pytest.raises(PiiError, match="E560"),
        spread(loaded, RAY, model=model, key=KEY.encode()),
    ):
        raise AssertionError
