"""Generic nouns, places and tags read well in their sentences. Everybody and everything is invented; spans are given, so no detector is judged."""

import re

import pytest

from pii_components.labels import AGREEMENT
from pii_components.profiles import Profile
from pii_components.surrogates.component import HipsSurrogate
from pii_components.surrogates.style import word_list

from .conftest import INDIRECT_TOO, KEY, make_doc

# O a place, H a school, W a firm, G an age, D a date, S a student, F somebody of the writer's life.
SENTENCES = r"""
My cousin came from {O|Drogheda} with a cold.
{O|Drogheda} floods in {O|March Vale}.
She was born in {O|Ballinasloe}, he in {O|Gyula}, I in {O|Harwick}, they in {O|Tarbrook}, you in {O|Ostrel}.
{O|Harwick}'s market is loud.
I live in {O|Harwick} with my {O|Hungarian} grandmother.
An {O|Austrian} and a {O|Greek} friend came, too.
We drove from the {O|Kilbeggan} road to the {O|Ostrel River}.
In {O|the city} nobody asks.
He has a {O|Harwick} accent.
I go to {H|Ridgeview College}.
{H|Ridgeview College} is far.
My third {H|Ridgeview College} essay was late.
It was the second {H|Ridgeview College} team.
This is my 2nd {H|Oakmont High School} and her last {H|Oakmont High School}.
I am an {H|Oakmont High School} student.
I am a {H|Ridgeview University} student.
He is an {W|Acme Logistics} driver.
She was a {W|Mumpert Bank} clerk.
I study at {H|the Ridgeview Institute}.
I study at the {H|Ridgeview Institute}.
We went to {H|a Ridgeview school}.
My aunt works at {W|a Fairmont Bank branch}.
My aunt works at {W|an Orvane office}.
I study at {H|my old Ridgeview college} again.
My {H|Ridgeview College} friends and {S|Imara Dolan}'s {H|Oakmont High} friends met.
{S|Imara Dolan}'s {W|Acme} badge is blue.
I like {H|Ridgeview College}'s library.
The {W|Hollins}' delivery came.
{W|Acme's} trucks are red.
I applied to the "{H|Ridgeview College}" twice.
I applied to "{H|Ridgeview College}" twice.
The ({W|Acme}) truck is red.
It is another {W|Acme} truck, not one of these {W|Acme} trucks.
Which {W|Acme} truck, and whose {W|Acme} badge?
He went to the prestigious {H|Ridgeview University} and to a small {H|Oakmont College}.
He joined {W|Acme Logistics} and left {W|Sable Bank}.
She teaches at {H|Escuela Mirasol} in {O|Trujillo}.
{F|Ruth Sable} of {W|Sable Bank} and {H|Ridgeview University} called.
In {H|Ridgeview}, {H|Oakmont High} and {H|St. Brendan's Academy}, we won.
The {H|Ridgeview University} {W|Mercy Hospital} is new.
{O|Harwick} {H|Oakmont College} is small.
{H|RIDGEVIEW COLLEGE}\n{O|HARWICK}
I was {G|twelve} and in a {W|Acme} shirt.
An {G|18-year-old} and a {G|9-year-old} waited.
I came {D|last year} and I left on {D|May 3, 2018}.
We met {D|yesterday} at {H|the university}.
Each {H|Ridgeview College} student and every {W|Acme} driver pays.
It is two {H|Ridgeview College} buses and one {H|Oakmont High School} van.
""".strip().splitlines()
SHORT = {
    **dict(O="LOCATION", H="EDUCATION", W="EMPLOYER", G="AGE", D="DATE"),
    **dict(S="NAME_STUDENT", F="NAME_CONNECTED"),
}
PROFILES = {
    "indirect_too": INDIRECT_TOO,
    **{name: Profile.load(name) for name in ("ets", "ferpa_strict", "crapii", "tags_only")},
}
ARTICLE = r"(?:the|an?)"
DETERMINER = rf"(?:{ARTICLE}|my|your|his|her|its|our|their|this|that|these|every|each|any|no|some|another|which|whose)"
# What no sentence has.
WRONG = {
    "two articles": rf"(?i)\b{DETERMINER}[ \"(]+{ARTICLE}\b",
    "article behind an ordinal": rf"(?i)\b(?:\d+(?:st|nd|rd|th)|first|second|third|last|one|two) {ARTICLE}\b",
    "article behind an adjective": rf"(?i)\b(?:old|small|prestigious) {ARTICLE}\b",
    "article behind a possessive": rf"(?i)['’]s?[ \"]+{ARTICLE}\b",
    "article inside a name": rf"\b(?:Any\w+|university|hospital|\]) {ARTICLE}\b",
    "a before a vowel": r"(?i)\ba [\[\"]?[aeio]",
    "an before a consonant": r"(?i)\ban [\[\"]?+(?![aeiou\d]|hour)|\ban uni",
    "a capital in the sentence": r"(?<![.?!\n]) (?:The|An?) (?=[a-z])",
    "small at the start": r"(?m)^[a-z]",
}
OWN = re.compile(r"['’]s$")


@pytest.fixture(scope="module", params=PROFILES)
def made(request) -> tuple[str, list[tuple[str, str, list[tuple[str, str, str]]]]]:
    """Name of a profile, and of each sentence its old and new text, and label, old and new text of what was replaced."""
    hips, found = HipsSurrogate(profile=PROFILES[request.param]), []
    hips.set_key(KEY)
    for line in SENTENCES:
        marked = re.sub(
            r"\{([A-Z])\|", lambda m: "{" + SHORT[m[1]] + "|", line.replace(r"\n", "\n")
        )
        doc = hips(make_doc(marked))
        new, edits = doc._.deidentified, doc._.pii_offsets.edits
        pieces = [
            (row["label"], doc.text[e.start : e.end], new[e.new_start : e.new_end])
            for row, e in zip(doc._.surrogate_spans, edits, strict=True)
        ]
        found.append((doc.text, new, pieces))
    return request.param, found


def more_often(pattern: str, found) -> list[str]:
    """RETURNS (list[str]): New texts in which a pattern stands more often than in the old ones."""
    count = re.compile(pattern).findall
    return [new for old, new, _ in found if len(count(new)) > len(count(old))]


def test_there_are_forty_sentences():
    assert len(set(SENTENCES)) >= 40


@pytest.mark.parametrize("fault", WRONG)
def test_no_sentence_reads_wrong(made, fault):
    assert more_often(WRONG[fault], made[1]) == []


def test_possessives_are_kept(made):
    for _, new, pieces in made[1]:
        for label, old, made_of_it in pieces:
            assert label == AGREEMENT or bool(OWN.search(old)) == bool(OWN.search(made_of_it)), new


def test_places_stay_places(made):
    name, found = made
    for _, new, pieces in found:
        for old, place in [piece[1:] for piece in pieces if piece[0] == "LOCATION"]:
            if name == "ets":
                # An adjective is no town: "my Anytown grandmother".
                is_people = old in ("Hungarian", "Austrian", "Greek")
                towns = ("Any", "ANY", "Spring", "Frank", *word_list("town_starts"))
                assert place.startswith(towns) != is_people, new
            elif name != "indirect_too":
                assert place == "[LOCATION]"


def test_generic_nouns_have_a_determiner(made):
    name, found = made
    led = rf"(?i)(?:\b(?:{DETERMINER}|two|one|Anytown)|['’]s?)(?: [\w\"]+){{0,2}}[ \"(]+\Z"
    for _, new, pieces in found if name == "ets" else ():
        for label, _, noun in pieces:
            if label in ("EDUCATION", "EMPLOYER") and not re.match(rf"(?i){DETERMINER} ", noun):
                assert re.search(led, new[: new.index(noun)]), new


@pytest.mark.parametrize("value", ["16", "B+", "7b", "Spanish"])
def test_no_age_grade_or_language_becomes_a_firm(value):
    hips = HipsSurrogate(profile="ets")
    hips.set_key(KEY)
    with pytest.warns(UserWarning, match="W402"):
        doc = hips(make_doc(f"It was {{EMPLOYER|{value}}} then."))
    assert doc._.deidentified == "It was [EMPLOYER] then."
