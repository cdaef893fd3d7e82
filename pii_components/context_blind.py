"""A document as the reader of `pii_context` sees it: every name is a placeholder, so that only the text tells who somebody is.

    I am Ana Lopez. Mr. Lopez, my teacher, read A. Smith (2014).
    i am [given 0] [surname 0] . mr . [surname 1] , my teacher , read a . [surname 2] ( 2014 ) .

Entities are made anonymous as Hermann et al. (2015, arXiv:1506.03340) do it: one number per person of the document, so that attention links the
mentions of a person, and nothing is learned from a name's culture, script or spelling. The kind of word stays, and so do initials, titles and
particles, since authors and teachers go by their surname and friends by their given name.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy

from .context_features import People
from .context_persons import Form
from .context_words import is_initial, words
from .surrogates.names import fold, name_table

# Kinds of placeholders; NAME where nobody knows whether a lone word is a given name or a surname.
GIVEN, SURNAME, NAME = 0, 1, 2
_KEPT, _DROPPED = -1, -2
PLACES = 24  # people with a placeholder of their own; the next one shares that of the first
# Pieces that BERT's vocabularies keep free: "[unused100]" is the given name of the first person.
PLACEHOLDERS: tuple[str, ...] = tuple(f"[unused{100 + n}]" for n in range(3 * PLACES))
_LETTERS_APART = 3


@dataclass(frozen=True, slots=True, eq=False)
class Blinded:
    """Pieces of a document with placeholders.

    pieces (numpy.ndarray): Ids, shape `(n_pieces,)`; a placeholder is `-1 - (kind * PLACES + person % PLACES)`.
    mentions (numpy.ndarray): First piece, number of pieces and person of each mention, shape `(n_mentions, 3)`, in the order of the text.
    n_persons (int): People of the document.
    """

    pieces: numpy.ndarray
    mentions: numpy.ndarray
    n_persons: int


def blind(people: People, words_of: Sequence[str], pieces: Sequence[int], lengths: Sequence[int]) -> Blinded:
    """Put placeholders in the place of names.

    people (People): The names of the document, and whose they are. words_of (Sequence[str]): Its words, normalised (`DocView.words`).
    pieces (Sequence[int]): Its pieces, with one before and one behind the text. lengths (Sequence[int]): Pieces of each token; of the first
        and last piece as well.
    RETURNS (Blinded): Without the last piece.
    """
    marked: dict[int, tuple[int, int]] = {}
    owner: dict[int, int] = {}
    for number, person in enumerate(people.persons):
        forms = [people.forms[i] for i in person]
        for i in person:
            cand = people.cands[i]
            owner[i] = number
            for token, kind in zip(
                range(cand.start, cand.end), kinds_of(words_of[cand.start : cand.end], people.forms[i], forms), strict=True
            ):
                marked[token] = (i, kind)
    found = list(pieces[: lengths[0]])
    mentions: list[list[int]] = []
    at, current = lengths[0], -1
    for token, length in enumerate(lengths[1:-1]):
        own = [piece for piece in pieces[at : at + length] if piece >= 0]  # a token that shows nothing has none
        at += length
        i, kind = marked.get(token, (-1, _KEPT))
        if i >= 0 and i != current:
            mentions.append([len(found), 0, owner[i]])
        current = i
        if kind == _KEPT:
            found += own
        elif kind != _DROPPED:
            found.append(-1 - (kind * PLACES + owner[i] % PLACES))
        if i >= 0:
            mentions[-1][1] = len(found) - mentions[-1][0]
    return Blinded(numpy.asarray(found, dtype="i8"), numpy.asarray(mentions, dtype="i8").reshape(-1, 3), len(people.persons))


def kinds_of(tokens: Sequence[str], form: Form, forms: Sequence[Form]) -> list[int]:
    """What stands for each token of a mention.

    tokens (Sequence[str]): Its words. form (Form): The same, taken apart. forms (Sequence[Form]): All forms of its person.
    RETURNS (list[int]): GIVEN, SURNAME or NAME; below 0 for what stays as it is or goes.
    """
    letters = [len(token) for token in tokens if token.isalpha()]
    if len(letters) >= _LETTERS_APART and max(letters) == 1:  # "A N A": letters that are read together
        return [NAME, *[_DROPPED] * (len(tokens) - 1)]
    named = [(n, word) for n, token in enumerate(tokens) if (word := _bare(token))]
    kinds = [_KEPT] * len(tokens)
    if not named:
        kinds[0] = NAME
        return kinds
    if len(named) > 1:
        last = named[0][0] if form.comma else named[-1][0]
        for n, _ in named:
            kinds[n] = SURNAME if n == last else GIVEN
        return kinds
    n, word = named[0]
    surnames = {other.surname for other in forms if other.full}
    given = {part for other in forms if other.full for part in (other.words[1:] if other.comma else other.words[:-1])}
    if (word in surnames) != (word in given):
        kinds[n] = SURNAME if word in surnames else GIVEN
    elif form.initials:
        kinds[n] = SURNAME
    else:
        table = name_table()
        a_given, a_surname = table.is_given(word), table.is_surname(word)
        kinds[n] = NAME if a_given == a_surname else GIVEN if a_given else SURNAME
    return kinds


def _bare(token: str) -> str:
    """RETURNS (str): A word of a name as `Form.words` has it; empty for signs, initials, particles, suffixes and the possessive."""
    word = fold(token).replace("’", "'")
    if word in ("'s", "'") or not any(char.isalpha() for char in word):
        return ""
    bare = word.replace(".", "")
    if (len(bare) == 1 and is_initial(bare)) or ("." in word and all(len(part) <= 1 for part in word.split("."))):
        return ""
    if bare in words().suffixes or bare in words().particles:
        return ""
    return (word[:-2] if word.endswith("'s") and len(word) > 3 else word).rstrip(".")
