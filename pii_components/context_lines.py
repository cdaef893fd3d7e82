"""What a line of a text is: running text, the start of a header, a heading of sources, an entry of a bibliography; and its sentences.

    is_running("We met on Monday and drew the map.")  ->  True
    is_running("Reflection Ana Lopez")                 ->  False
"""

import re
from collections.abc import Iterable

MASK = "\ue0f0"  # private use: stands for a name in what patterns see
_BIBLIOGRAPHY = re.compile(
    r"[\W\d_]*(?:list of )?(?:references?|works? cited|bibliography|literature(?: cited)?|sources?(?: cited)?|citations?"
    r"|further reading|reference list|referencias|bibliograf[ií]a|endnotes|footnotes|notes and references)"
    r"(?: and [a-z]+)?\W*\Z",
    re.IGNORECASE,
)
_AFTER_BIBLIOGRAPHY = re.compile(
    # "5.0 DISCUSSION", "3.1 Data"; entries of a list are numbered 1., 2., 3.
    r"\s*\d{1,2}\.\d{1,2}\.?\s+[^\W\d_]"
    r"|[\W\d]*(?:appendix|appendices|annex|acknowledge?ments?|about the authors?|author'?s? (?:bio|note)|contact|signed|declaration"
    r"|submitted|sincerely|regards|thank|student|name|signature|place|date|word count)\b"
    r"|[\W\d]*(?:introduction|background|methods?|methodology|data|results?|findings|analysis|discussion|limitations|conclusions?|recommendations?"
    r"|problems encountered|summary|reflection)\W*\Z",
    re.IGNORECASE,
)
# Who hands it in, below the sources: of any length, with all that stands behind a name.
_HANDED_IN = re.compile(
    r"[\W\d]*(?:(?:submitted|prepared|presented|written|compiled|handed in|completed) by(?: the)?(?: students?| learners?)?\s*[:\-–]"
    r"|(?:group|team)(?: members?)?\s*:|(?:student|learner)(?:'?s)?(?: names?| id)?\s*:|(?:full )?name\s*:)",
    re.IGNORECASE,
)
# "4. Who is not there" after "3. Literature"; entries of a list hold commas, years and full stops.
_SECTION = re.compile(r"\W*(\d{1,2})(?:\.\d{1,2})?[.)]?\s+[^\W\d_][^\d,.:;]*[?!]?\s*\Z")
_NUMBER = r"\W*(?:\[?\d{1,3}[\].)]*\s+)?"
_INITIALS = r"(?:,? (?:[A-Z]\.[ -]?){1,3})?"
_YEAR = r"(?:1[5-9]|20)\d\d"
_BIB_LINE = re.compile(
    # Last, I., & Last, I. (2010). Title    Last, First. "Title."
    rf"{_NUMBER}{MASK}{_INITIALS}(?:(?:, |,? and |,? & |,? &amp; |; |, \.\.\. ){MASK}{_INITIALS}|,? et al\.?)*[.,]?"
    rf" (?:\({_YEAR}[a-z]?[,)]|{_YEAR}[a-z]?[.,]|\(n\.d\.\)|[“\"«].{{3,160}}[.,]?[”\"»])"
    # Last, First. Title. Publisher, 2010
    rf"|{_NUMBER}{MASK}(?:, (?:ed|eds|trans)\.)?[.,] [^.]{{3,120}}\. (?:[^.:]{{2,60}}: )?[^.,]{{2,60}}, {_YEAR}"
)
# A full stop ends a sentence unless a title, an initial or an abbreviation stands before it.
_SENTENCE_END = re.compile(
    r"(?<!\bmr)(?<!\bmrs)(?<!\bms)(?<!\bdr)(?<!\bprof)(?<!\bal)(?<!\bpp)(?<!\bst)(?<!\b\w)[.!?]+[\"'”’)\]]*(?:\s+|\Z)"
)
_WORD = re.compile(r"[^\W\d_]+")
_LABEL = re.compile(r"\W*\w{1,20}:\s")
_HEADING = 60  # characters that no heading has


def has_words(text: str) -> bool:
    """RETURNS (bool): Whether there is a letter in it."""
    return _WORD.search(text) is not None


def is_bibliography_entry(line: str) -> bool:
    """RETURNS (bool): Whether a line, its names masked, is in the form of an entry: "¤, K. (1959). The logic ..."."""
    return _BIB_LINE.match(line) is not None


def under_bibliography(lines: Iterable[tuple[int, str]]) -> list[int]:
    """Which lines a list of sources holds.

    lines (Iterable[tuple[int, str]]): Numbers and texts of the lines that are not blank, in order.
    RETURNS (list[int]): Numbers of those under a heading such as "References", up to a heading of another kind.
    """
    found: list[int] = []
    inside, number = False, ""
    for n, line in lines:
        short = len(line) < _HEADING
        section = _SECTION.match(line) if short else None
        if short and _BIBLIOGRAPHY.match(line):
            inside, number = True, section[1] if section else ""
        elif inside:
            follows = section is not None and number != "" and int(section[1]) == int(number) + 1
            inside = not (follows or _HANDED_IN.match(line) or (short and _AFTER_BIBLIOGRAPHY.match(line)))
            found += [n] if inside else []
    return found


def is_running(line: str) -> bool:
    """RETURNS (bool): Whether a line is running text and not a heading, a label or a name."""
    lower = sum(word[0].islower() for word in _WORD.findall(line[:400]))
    stripped = line.rstrip()
    if len(stripped) > 120 and lower >= 3:
        return True
    return (
        lower >= 7 or (lower >= 3 and stripped.endswith((".", "!", "?", ".”", '."'))) or (lower >= 4 and stripped.endswith(":"))
    )


def is_small(line: str) -> bool:
    """RETURNS (bool): Whether a line is in lower case throughout, the label of a speaker left out."""
    label = _LABEL.match(line)
    rest = line[label.end() :] if label else line
    return not any(c.isupper() for c in rest) and sum(c.islower() for c in rest) >= 12


def is_lead(before: str, after: str) -> bool:
    """RETURNS (bool): Whether a name on a first line that runs on stands like a header: only headings before it, no predicate after it."""
    small = ("by", "and", "of", "the", "on", "in", "for")
    if re.search(r"[.!?] ", before) or any(word[0].islower() and word not in small for word in _WORD.findall(before)):
        return False
    follows = rf"\s{{2,}}|\s*[-–—|:/_(]|\s*[,.]?\s+(?!I\b)[A-Z\d]|\s*[.,]?\s*\Z|,? ?(?:and |& )?{MASK}"
    return re.match(follows, after) is not None


def last_sentence(text: str) -> str:
    """RETURNS (str): What of the last sentence stands at the end of a text."""
    at = 0
    for match in _SENTENCE_END.finditer(text.lower()):
        at = match.end()
    return text[at:] if at <= len(text) else ""


def first_sentence(text: str) -> str:
    """RETURNS (str): What of the first sentence stands at the beginning of a text."""
    match = _SENTENCE_END.search(text.lower())
    return text[: match.start()] if match else text
