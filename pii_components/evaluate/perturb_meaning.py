"""Meaning: what looks like a private person and is none, set beside those who are.

The names that are added are an author's, an instructor's, or no person's at all (but for `people_thanked`); what must be found stays the
same, so that recall shows whether the one's company hides the other, and the false alarms whether the other is taken for the one.
"""

import random
import re
from collections.abc import Callable

from ..corpus.negatives import hard_negative
from ..labels import NAME_CITED, NAME_CONNECTED, NAME_INSTRUCTOR, NAME_STUDENT
from ..surrogates.names import name_table
from .perturb import MEANING, Change, Perturbation, Perturbed, Span, Spans, insert, stops

# "{N}" is a name with the label that is given.
_CITED = (
    (" ({N}, 2019).", NAME_CITED),
    (" {N} et al. found the same.", NAME_CITED),
    (" According to {N} (2008), this is so.", NAME_CITED),
)
_QUOTED = ((' "Nobody can learn alone," {N} wrote in 1994.', NAME_CITED), (" As {N} once said, habits are quiet.", NAME_CITED))
_NOBODY = (
    " {N} University offers the same course.", " We read this at the {N} Library.", " {N} & Sons sells them.", " The {N} effect is well known.",
)  # fmt: skip
_THANKED = (
    (" I thank my classmate {N} for reading this.", NAME_CONNECTED), (" My sister {N} said the same.", NAME_CONNECTED),
    (" My grandfather {N} was a farmer.", NAME_CONNECTED),
)  # fmt: skip
_REFERENCES = (
    "\n\nReferences\n{A}, J. (2011). Learning in groups. Studies in Education, 12(3), 45-67.\n{B}, M. (2016). On reading.\n"
)
_WORDS = (
    " In April and June it rained.", " Hope and joy are not the same.", " Paris and Florence are far away.", " Will it be enough?",
    " The Amazon is a river and a company.", " Grace is a word for it.", " May is the month of exams.",
)  # fmt: skip


def _surname(text: str, spans: Spans, rng: random.Random, *, shared: bool) -> str:
    """The last word of the first private person's name, or any surname."""
    people = [text[s:e] for s, e, label in spans if label in (NAME_STUDENT, NAME_CONNECTED)]
    words = re.findall(r"[^\W\d_]{2,}", people[0]) if people and shared else []
    return words[-1].capitalize() if words else name_table().sample_surname(rng)


def sentences(choices: tuple[tuple[str, str], ...], *, shared: bool, times: int = 3) -> Change:
    """Sentences about other people set in.

    choices (tuple[tuple[str, str], ...]): Sentence with {N}, and the label of {N}; empty for no person.
    shared (bool): The other one has the surname of the first private person. times (int): How many at most.
    RETURNS (Change): The change.
    """

    def change(text: str, spans: Spans, rng: random.Random) -> Perturbed:
        name = _surname(text, spans, rng, shared=shared)
        places = stops(text, spans)
        for at in sorted(rng.sample(places, k=min(times, len(places))), reverse=True):
            sentence, label = rng.choice(choices)
            start = sentence.find("{N}")
            added: list[Span] = [(start, start + len(name), label)] if label and start >= 0 else []
            text, spans = insert(text, spans, at, sentence.replace("{N}", name), added)
        return text, spans

    return change


def bibliography(text: str, spans: Spans, rng: random.Random) -> Perturbed:
    """RETURNS (Perturbed): A list of references at the end, one of the authors with the surname of the first private person."""
    addition, added = "", []
    names = {"A": _surname(text, spans, rng, shared=True), "B": name_table().sample_surname(rng)}
    for part in re.split(r"(\{[AB]\}, [A-Z]\.)", _REFERENCES):
        value = part.replace("{A}", names["A"]).replace("{B}", names["B"])
        if part.startswith("{"):
            added.append((len(addition), len(addition) + len(value), NAME_CITED))
        addition += value
    return insert(text, spans, len(text), addition, added)


def numbers(text: str, spans: Spans, rng: random.Random) -> Perturbed:
    """RETURNS (Perturbed): ISBN, DOI, year ranges, help lines, months and towns: sentences that hold nothing to protect."""
    return decoys(lambda rng: f" {hard_negative(rng)[0]}", times=4)(text, spans, rng)


def _luhn(digits: str) -> str:
    """RETURNS (str): The digits and one more, so that Luhn's sum is a multiple of ten."""
    total = sum(sum(divmod(int(ch) * (2 if i % 2 == 0 else 1), 10)) for i, ch in enumerate(reversed(digits)))
    return f"{digits}{-total % 10}"


def _isbn13(digits: str) -> str:
    """RETURNS (str): Twelve digits and the check digit of an ISBN-13."""
    return f"{digits}{-sum(int(ch) * (3 if i % 2 else 1) for i, ch in enumerate(digits)) % 10}"


def _decoy(rng: random.Random) -> str:
    if rng.random() < 0.5:
        return f" The sample in the manual is {_luhn(''.join(rng.choice('0123456789') for _ in range(rng.choice((9, 12)))))}."
    return f" The book is {_isbn13('978' + ''.join(rng.choice('0123456789') for _ in range(9)))}."


def _day_first(rng: random.Random) -> str:
    mark = rng.choice("/.-")
    return f" The battle was on {rng.randint(13, 31):02}{mark}{rng.randint(1, 12):02}{mark}{rng.randint(1600, 1950)}."


def decoys(make: Callable[[random.Random], str], *, times: int = 3) -> Change:
    """Sentences with a number that is nobody's set in.

    make (Callable[[random.Random], str]): Gives a sentence. times (int): How many at most.
    RETURNS (Change): The change.
    """

    def change(text: str, spans: Spans, rng: random.Random) -> Perturbed:
        places = stops(text, spans)
        for at in sorted(rng.sample(places, k=min(times, len(places))), reverse=True):
            text, spans = insert(text, spans, at, make(rng))
        return text, spans

    return change


def instructor(text: str, spans: Spans, rng: random.Random) -> Perturbed:
    """RETURNS (Perturbed): An instructor with the first name of the first private person."""
    people = [text[s:e] for s, e, label in spans if label in (NAME_STUDENT, NAME_CONNECTED)]
    first = (re.findall(r"[^\W\d_]{2,}", people[0]) if people else []) or [name_table().sample_given(rng)]
    name = f"{first[0].capitalize()} {name_table().sample_surname(rng)}"
    places = stops(text, spans)
    opening = " My teacher, Professor "
    at = rng.choice(places) if places else len(text)
    return insert(text, spans, at, f"{opening}{name}, agreed.", [(len(opening), len(opening) + len(name), NAME_INSTRUCTOR)])


PERTURBATIONS = (
    Perturbation("cited_namesake", MEANING, "(Lopez, 2019) in an essay by a Lopez", sentences(_CITED, shared=True)),
    Perturbation("cited_author", MEANING, "(Moss, 2019)", sentences(_CITED, shared=False)),
    Perturbation("person_quoted", MEANING, "As Moss once said", sentences(_QUOTED, shared=False)),
    Perturbation("bibliography", MEANING, "a list of references at the end", bibliography),
    Perturbation("instructor_namesake", MEANING, "Professor Ana Moss in an essay by an Ana", instructor),
    Perturbation("people_thanked", MEANING, "I thank my classmate Moss", sentences(_THANKED, shared=False)),
    Perturbation("named_after", MEANING, "Moss University, Moss & Sons", sentences(tuple((s, "") for s in _NOBODY), shared=False)),
    Perturbation("word_names", MEANING, "April, Hope, Paris, Will", sentences(tuple((s, "") for s in _WORDS), shared=False)),
    Perturbation("numbers", MEANING, "ISBN, DOI, year ranges, part numbers, help lines", numbers),
    Perturbation("checksum_decoy", MEANING, "numbers with a right check digit (Luhn, ISBN) that are nobody's", decoys(_decoy)),
    Perturbation("day_first_dates", MEANING, "31/12/1848, 31.12.1848: dates of history, no IDs and no phone numbers", decoys(_day_first)),
)  # fmt: skip
