"""Learning which lines are headers, and the score."""

from scripts.headers import fit, no_headers, scores, text_of

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
