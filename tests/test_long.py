"""Any token and any line takes time in proportion to its length, and a signal ends a run meanwhile."""

import csv
import gc
import os
import random
import signal
import subprocess
import sys
import time

import pytest
import spacy

from pii_components.labels import NAME_STUDENT
from pii_components.ner.layers import READ, encoded_data
from pii_components.spans import Candidate, write_spans
from tests.tiny import TOKENIZER

RNG = random.Random(4)
WORDS = "the student wrote an essay about ferries and the town where people live by the river near a school".split()
BASE64 = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/"
KINDS = {
    "prose": lambda n: " ".join(RNG.choices(WORDS, k=n // 5)),
    "letters": lambda n: "".join(RNG.choices("abcdefghij", k=n)),
    "one letter": lambda n: "a" * n,
    "base64": lambda n: "".join(RNG.choices(BASE64, k=n)),
    "web address": lambda n: (
        "https://example.com/" + "".join(RNG.choices("abcdefgh/-_?=&%12345", k=n))
    ),
    "e-mails": lambda n: " ".join(f"user{i}@site{i}.org" for i in range(n // 20)),
    "like an e-mail": lambda n: "a@b." * (n // 4),
    "digits": lambda n: "".join(RNG.choices("0123456789", k=n)),
    "names in one word": lambda n: "AnaLopez" * (n // 8),
    "names in a file name": lambda n: "Ana_Lopez_" * (n // 10),
    "marks": lambda n: "!?.,-" * (n // 5),
    "lines": lambda n: "\n" * n,
}


@pytest.fixture(scope="module")
def rules():
    """Everything but the encoder."""
    nlp = spacy.blank("en", config=TOKENIZER)
    for name in ("pii_ruler", "pii_context", "hips_surrogate"):
        nlp.add_pipe(name)
    nlp.get_pipe("hips_surrogate").set_key(b"a key of sixteen bytes")
    nlp("My name is Ana Lopez.")
    return nlp


def seconds(function, *args):
    """Processor seconds; the collector would walk over all that earlier tests left."""
    gc.collect()
    gc.disable()
    try:
        began = time.process_time()
        function(*args)
        return time.process_time() - began
    finally:
        gc.enable()


@pytest.mark.filterwarnings("ignore:\\[W402\\]")
@pytest.mark.parametrize("kind", KINDS)
def test_rules_are_linear(rules, kind):
    short, long = (seconds(rules, KINDS[kind](n)) for n in (10_000, 40_000))
    assert (
        long < 10 * short + 0.3
    )  # four times, were it not for clocks; sixteen times if it were quadratic


SYLLABLES = [a + b for a in "bdfgklmnprstvz" for b in "aeiou"]


def word():
    return "".join(RNG.choices(SYLLABLES, k=3)).capitalize()


# A piece of text, and the name that stands in it.
NAMED = {
    "one line of one name": lambda: ("{} ", "Anna"),
    "one given name, many surnames": lambda: ("My friend {} came. ", f"Tobias {word()}"),
    "numbers beside names": lambda: ("{} " + f"{RNG.randrange(10**7, 10**8)}\n", f"Ana {word()}"),
    "addresses that hold a name": lambda: (
        "{} has " + f"www.{word().lower()}{word().lower()}.com now. ",
        f"Ana {word()}",
    ),
    "planets": lambda: ("{} is a planet. ", "Venus"),
}


def named(rules, kind, length):
    """A document whose names a detector has found."""
    text, spans = "", []
    while len(text) < length:
        form, name = NAMED[kind]()
        start = len(text) + form.index("{}")
        text += form.format(name)
        spans.append((start, start + len(name)))
    doc = rules.make_doc(text)
    tokens = [doc.char_span(*span, alignment_mode="expand") for span in spans]
    write_spans(doc, [Candidate(t.start, t.end, NAME_STUDENT, 0.9, "model") for t in tokens])
    return doc


@pytest.mark.filterwarnings("ignore:\\[W402\\]")
@pytest.mark.parametrize("kind", NAMED)
def test_names_take_linear_time(rules, kind):
    def detect(doc):
        return rules.get_pipe("pii_context")(rules.get_pipe("pii_ruler")(doc))

    short, long = (seconds(detect, named(rules, kind, n)) for n in (8_000, 40_000))
    assert (
        long < 9 * short + 0.2
    )  # five times, were it not for clocks; 25 times if it were quadratic


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:\\[W402\\]")
@pytest.mark.parametrize("kind", KINDS)
def test_shipped_pipeline_takes_about_as_long_as_for_prose(shipped, kind):
    prose, other = (seconds(shipped, KINDS[name](40_000)) for name in ("prose", kind))
    assert other < 5 * prose


@pytest.fixture(scope="module")
def shipped():
    nlp = spacy.load("en_pii_edu")
    nlp.get_pipe("hips_surrogate").set_key(b"a key of sixteen bytes")
    nlp("My name is Ana Lopez.")
    return nlp


@pytest.mark.parametrize("processor", [["[UNK]", "a", "##b", "b", "##c", "abc", "##bc", "ab"]])
@pytest.mark.parametrize("word", ["a", "ab", "abc", "abcb", "abd", "x", "", "aab", "bbcb"])
def test_pieces_are_those_of_the_library(processor, word):
    from curated_tokenizers import WordPieceProcessor

    from pii_components.ner.layers import _piece_matcher

    library = WordPieceProcessor(processor)
    assert _piece_matcher(library)(word) == library.encode(word)[0]


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("".join(RNG.choices(BASE64, k=2000)), True),
        ("".join(RNG.choices(BASE64, k=READ - 10)), False),
        ("MynameisAnaLopezandIwritewithoutspaces" * 20, False),
        ("My_name_is_Ana_Lopez_" * 40, False),
    ],
)
def test_encoded_data_is_no_language(rules, text, data):
    assert bool(encoded_data(rules.make_doc(f"See {text} here"))) == data


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_ends_a_run_and_keeps_what_is_done(number, tmp_path):
    source, out = tmp_path / "in.csv", tmp_path / "out.csv"
    with source.open("w", encoding="utf8", newline="") as file:
        rows = [["1", "My name is Ana Lopez."]] * 40 + [["2", KINDS["prose"](900_000)]]
        csv.writer(file).writerows([["id", "text"], *rows])
    environment = os.environ | {"PII_EDU_KEY": "a key of sixteen bytes and more"}
    command = [
        sys.executable,
        "-c",
        "from pii_components.cli import main; main()",
        "deidentify",
        str(source),
        "-o",
        str(out),
    ]
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as run:
        partial = tmp_path / "out.csv.partial"
        while not partial.exists() and run.poll() is None:
            time.sleep(0.1)
        time.sleep(4)  # the short records are done and the long one is read
        run.send_signal(number)
        began = time.monotonic()
        told = run.communicate()[1]
    assert time.monotonic() - began < 4 and run.returncode == 130 and "interrupted" in told
    assert (
        partial.read_text("utf8").count("\n") > 30
        and "Lopez" not in partial.read_text("utf8")
        and not out.exists()
    )
