"""Conversations: lines that open with one of several speakers, again and again.

    tutor: Well done, Ana!        what is said begins at "Well", and one who teaches says it
    student: thx

What is said begins behind the speaker, so that "teacher: Ana, look" is no field of a form that names a teacher.
"""

import re
from collections import Counter
from collections.abc import Mapping

TURN_ZONES = frozenset(("turn", "tutor_turn", "speaker"))  # none of them outside a conversation
# "Tutor: ", "[10:31] Ana Lopez: ", "12/05, 10:31 - Anne-Marie O'Hara : ", "student 2> "
_SPEAKER = re.compile(
    r"\W{0,3}(?:[^:\n]{0,15}\b\d{1,2}:\d\d(?::\d\d)?(?: ?[ap]m)?\W{1,4})?"
    r"([^\W_][^\s:>]{0,24}(?: [^\s:>]{1,24}){0,2}) ?(?::|>)\s+(?=\S)",
    re.IGNORECASE,
)
_TUTOR = re.compile(r"(?:teacher|tutor|instructor|professor|prof|lecturer|advis[eo]r|coach|mentor|ta|supervisor|examiner)(?: \d)?")
_WORD = re.compile(r"[^\W\d_]+")
_LEAST_TURNS, _LEAST_SHARE = 4, 0.5  # of a conversation: turns, and their share of the lines


def find_turns(text: str, lines: Mapping[int, tuple[int, int]]) -> dict[int, tuple[int, bool]]:
    """The turns of a conversation.

    text (str): The text. lines (Mapping[int, tuple[int, int]]): Its lines that are not blank: number -> first character, and end.
    RETURNS (dict[int, tuple[int, bool]]): Number of a line -> where what is said begins, and whether one who teaches says it. Empty, unless
        two speakers at least have two turns each, half of the lines are theirs, and half of what they say is more than names: a header
        ("Name: ...", "Course: ...") is no conversation.
    """
    found = {n: match for n, line in lines.items() if (match := _SPEAKER.match(text, *line))}
    counts = Counter(match[1].lower() for match in found.values())
    found = {n: match for n, match in found.items() if counts[match[1].lower()] > 1}
    if len(found) < max(_LEAST_TURNS, _LEAST_SHARE * len(lines)) or len({m[1].lower() for m in found.values()}) < 2:
        return {}
    # "Student: Ana Lopez", "Student: Ben Okoro", "Tutor: ..." is a list of people.
    talk = sum(any(word[0].islower() for word in _WORD.findall(text, m.end(), lines[n][1])) for n, m in found.items())
    if talk < _LEAST_SHARE * len(found):
        return {}
    return {n: (match.end(), _TUTOR.fullmatch(match[1].lower()) is not None) for n, match in found.items()}
