"""Names become placeholders, of one number per person; nothing of a name is left, all else is."""

import numpy
import pytest

from pii_components.context.mentions import find_people
from pii_components.context.role_encoder import GIVEN, PLACES, SURNAME, blind, kinds_of
from pii_components.names.parse import read_tokens

from ..tiny import cases
from .marking import NLP, name, view_of

CASES = cases("context_tables")


def blinded(text, names):
    """One piece per token, its number; names is a list of strings, each found where it comes next."""
    doc, cands, at = NLP(text), [], 0
    for who in names:
        at = text.index(who, at)
        cands.append(name(doc.char_span(at, at + len(who))))
        at += len(who)
    view = view_of(text)
    people, windows = find_people(view, cands, None)[0], [900, *range(len(doc)), 901]
    found = blind(people, view.words, windows, [1] * (len(doc) + 2))
    shown = [doc[i].text.lower() if 0 <= i < 900 else i for i in found.pieces.tolist()[1:]]
    return found, shown


def code(kind, person):
    return -1 - (kind * PLACES + person)


def test_mentions_share_their_persons_number():
    text = "I am Ana Lopez. Mr. Hart likes Ana, and Lopez is glad."
    found, shown = blinded(text, ["Ana Lopez", "Hart", "Ana", "Lopez"])
    first, last = code(GIVEN, 0), code(SURNAME, 0)
    assert shown[:5] == ["i", "am", first, last, "."]
    hart = shown[shown.index("mr.") + 1]
    assert hart < 0 and (-1 - hart) % PLACES == 1
    assert shown.count(first) == 2 and shown.count(last) == 2
    assert found.n_persons == 2
    assert found.mentions[:, 2].tolist() == [0, 1, 0, 0]
    begins = [shown[start - 1] for start, _, _ in found.mentions.tolist()]
    assert begins == [first, hart, first, last]


def test_nothing_of_names_is_left():
    text = "by Zbyszek O'Farrell-Quint, who cites Quint (2014)."
    _, shown = blinded(text, ["Zbyszek O'Farrell-Quint"])
    # The one who is cited was not named as found.
    words = [word for word in shown if isinstance(word, str)]
    assert words == "by - , who cites quint ( 2014 ) .".split()


@pytest.mark.parametrize(("tokens", "others", "kinds"), CASES["placeholders"])
def test_what_stands_for_each_word(tokens, others, kinds):
    form = read_tokens(tokens).form
    assert kinds_of(tokens, form, [form, *(read_tokens(other).form for other in others)]) == kinds


def test_invisible_tokens_have_no_piece():
    text = "by \u200bAna\u200b \u200bLopez\u200b who"
    doc, view = NLP(text), view_of(text)
    unseen = [-1 if token.text == "\u200b" else 5 for token in doc]
    people = find_people(view, [name(doc.char_span(4, 15))], None)[0]
    found = blind(people, view.words, [900, *unseen, 901], [1] * (len(doc) + 2))
    assert found.pieces.tolist() == [900, 5, code(GIVEN, 0), code(SURNAME, 0), 5]
    assert found.mentions.tolist() == [[2, 2, 0]]


def test_other_names_same_pieces():
    """What is read does not depend on culture, script or case of a name."""
    text = "My teacher {} {} read it. {} liked it."
    seen = []
    names = "Ana Lopez; Keʻala Kahananui; MINH NGUYEN; oluwaseun adeyemi"
    for given, last in (who.split() for who in names.split("; ")):
        found, shown = blinded(text.format(given, last, last), [f"{given} {last}", last])
        seen.append((shown, found.mentions.tolist()))
    assert all(other == seen[0] for other in seen)


def test_placeholders_are_shared_when_few():
    names = [f"Qz{chr(97 + n % 26)}{chr(97 + n // 26)}x" for n in range(PLACES + 2)]
    found, _ = blinded(" and ".join(names) + ".", names)
    assert found.n_persons == PLACES + 2
    codes = (-1 - found.pieces[found.pieces < 0]) % PLACES
    assert sorted(set(codes.tolist())) == list(range(PLACES))


def test_texts_without_names_stay():
    found, shown = blinded("Nobody is named here.", [])
    assert shown == ["nobody", "is", "named", "here", "."]
    assert found.mentions.shape == (0, 3) and found.n_persons == 0
    assert found.pieces.dtype == numpy.dtype("i8")
