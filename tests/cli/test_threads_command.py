"""`pii-edu deidentify --scope thread`: one person in all posts of a thread. Everybody is invented."""

import json
import random

import pytest

from pii_components.errors import PiiError
from pii_components.release import engine as engines
from pii_components.release.engine import load_engine
from pii_components.release.scale import RAY, spread

KEY = b"a key for tests, of no other use"
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


def put_rows(folder, rows=ROWS, name="posts.jsonl"):
    lines = [
        json.dumps({"n": i, "topic": thread or None, "text": text})
        for i, (thread, text) in enumerate(rows)
    ]
    (folder / name).write_text("\n".join(lines) + "\n", "utf8")


def released(folder, name="out.jsonl") -> list[str]:
    return [json.loads(line)["text"] for line in (folder / name).read_text("utf8").splitlines()]


def run_threads(pii_edu, *args, source="posts.jsonl", out="out.jsonl"):
    return pii_edu(
        "deidentify",
        source,
        "--out",
        out,
        "--config",
        "scope=thread",
        "--config",
        "thread=topic",
        *args,
    )


def test_a_person_is_hidden_and_the_same_in_all_posts_of_a_thread(folder, pii_edu):
    put_rows(folder)
    run = run_threads(pii_edu)
    assert run.exit_code == 0, run.output
    texts = released(folder)
    given, surname = texts[0].split()[2:4]
    assert (given, surname) != ("Ina", "Sorel") and f"{given}.{surname}".lower() in texts[0]
    assert (
        texts[2] == f"Thank you {given}, and thanks to {surname.upper()}, {given[0]}. for the map."
    )
    assert (
        texts[4].startswith(f"{given[0]}{surname}".lower())
        and texts[6] == f"The map of {surname} is good, says Will."
    )
    # Another thread is another world, and knows no Sorel; so does a post that tells no thread.
    assert texts[1].split()[0] not in ("Ina", given) and texts[1].endswith("Nobody knows Sorel.")
    assert texts[5].endswith(f"Ask {texts[1].split()[0]}.") and texts[3].endswith("wrote to Sorel.")
    assert all("Buzan" in text for text in (texts[0], texts[4]))
    report = json.loads((folder / "report.json").read_text("utf8"))
    assert report["scope"] == "thread" and report["notes"]["no thread: a scope of its own"] == 1
    assert "1 documents tell no thread" in run.output and "Sorel" not in run.output + json.dumps(
        report
    )


@pytest.mark.parametrize("sweep", ["off", "hide"])
def test_order_and_batches_do_not_matter(sweep, folder, pii_edu):
    put_rows(folder)
    assert run_threads(pii_edu, "--config", f"sweep={sweep}").exit_code == 0
    mixed = list(range(len(ROWS)))
    random.Random(4).shuffle(mixed)
    put_rows(folder, [ROWS[i] for i in mixed], "mixed.jsonl")
    assert (
        run_threads(
            pii_edu,
            "--config",
            f"sweep={sweep}",
            "--config",
            "batch_size=2",
            source="mixed.jsonl",
            out="other.jsonl",
        ).exit_code
        == 0
    )
    texts = released(folder)
    assert released(folder, "other.jsonl") == [texts[i] for i in mixed]
    assert ("Sorel" in texts[1]) is (sweep == "off")


def test_a_run_that_is_taken_up_gives_the_same_bytes(folder, pii_edu, monkeypatch):
    put_rows(folder)
    assert run_threads(pii_edu, out="whole.jsonl").exit_code == 0
    results, calls = engines.Engine.results, []

    def broken(self, records):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return results(self, records)

    with monkeypatch.context() as patched:
        patched.setattr(engines.Engine, "results", broken)
        assert run_threads(pii_edu, "--config", "batch_size=2").exit_code == 130
    assert "E514" in pii_edu("deidentify posts.jsonl --out out.jsonl --resume").output
    assert run_threads(pii_edu, "--config", "batch_size=2", "--resume").exit_code == 0
    assert (folder / "out.jsonl").read_bytes() == (folder / "whole.jsonl").read_bytes()


def test_the_vault_gives_the_originals_back_and_knows_the_thread(folder, pii_edu):
    put_rows(folder)
    (folder / "k").write_bytes(KEY)
    assert run_threads(pii_edu, "--vault", "v", "--key-file", "k").exit_code == 0
    back = pii_edu("reidentify out.jsonl --vault v --key-file k --out back.jsonl")
    assert back.exit_code == 0, back.output
    assert (folder / "back.jsonl").read_bytes() == (folder / "posts.jsonl").read_bytes()


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (["posts.jsonl", "--config", "scope=thread"], "E570"),
        (["posts.jsonl", "--config", "scope=thread", "--config", "thread=course"], "E571"),
        (
            ["posts.jsonl", "--config", "scope=thread", "--config", "thread=course", "--dry-run"],
            "E571",
        ),
        (["posts.jsonl", "--config", "thread=topic"], "E473"),
        (["posts.csv", "--config", "scope=thread", "--config", "thread=course"], "E652"),
        (["folder", "--config", "scope=thread"], "E571"),
        (["folder", "--config", "scope=thread", "--config", "thread=topic"], "E651"),
        (["one.txt", "--config", "scope=thread"], "E570"),
    ],
)
def test_what_tells_no_thread_is_refused(args, code, folder, pii_edu):
    put_rows(folder)
    (folder / "posts.csv").write_text("topic,text\na,I am Ina.\n", "utf8")
    (folder / "folder").mkdir()
    for name in ("one.txt", "folder/one.txt"):
        (folder / name).write_text("I am Ina.", "utf8")
    run = pii_edu("deidentify", *args, "--out", "out" + (".jsonl" if "posts.jsonl" in args else ""))
    assert run.exit_code == 2 and code in run.output, run.output
    assert not [path for path in folder.iterdir() if path.name.startswith("out")]


def test_engines_that_would_send_names_are_refused(model):
    loaded = load_engine(model, key=KEY, scope="thread")
    with (
        pytest.raises(PiiError, match="E560"),
        spread(loaded, RAY, model=model, key=KEY),
    ):
        raise AssertionError
