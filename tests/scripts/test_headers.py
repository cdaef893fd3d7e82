"""Learning which lines are headers, and the score."""

from scripts.headers import fit, no_headers, scores, set_in, text_of

TEXTS = [
    text_of(
        str(n),
        f"Ana Lopez\nENGL {n}\n\nHere is what I think of it, and of all that we were told about it.\n",
        [(0, 9, "NAME_STUDENT")],
        [(0, 17)],
    )
    for n in range(10, 20)
]


def test_what_is_learned_finds_what_was_labelled():
    weights = fit(TEXTS, [text.lines[2].features for text in TEXTS])
    found = scores(TEXTS, weights)
    assert found["documents"] == 10 and found["lines"]["f1"] == 1.0


def test_running_text_is_no_header():
    text = text_of("1", f"Ana Lopez\n\n{'one two three ' * 5}four.\n", [], [(0, 9)])
    assert len(no_headers(text)) == 2  # gold marks the line that signs an essay


def test_a_chat_in_an_essay_is_no_header():
    prose = f"{'one two three ' * 5}four.\n" * 4
    host = text_of("essay", prose, [])
    guest = text_of("chat", "Ana\nhi\nTom\nAna left\n", [(0, 3, "NAME_STUDENT")])
    lines = set_in([host, guest])
    assert [line.features.get("student") for line in lines] == [1.0, None, None, None]
    assert all("below again" in line.features or "below once" in line.features for line in lines)
