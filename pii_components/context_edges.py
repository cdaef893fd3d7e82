"""Where a name begins and ends, asked of the words beside it: what `context_repair` takes off a name, puts to it, and parts.

    warmed to 40 [C. Pradeep]        the letter of a unit            [Kavita Rani] d/o Gopal      whose child she is
    by [Anita Lopez I] am writing    the writer, no initial          Submitted by: [Nadia] Church the rest of a field
"""

import re

from .context_view import DocView
from .context_words import case_style, in_table, is_initial, is_word, words
from .spans import Candidate
from .surrogates.names import name_table

_LEAST_WHOLE, _LONGEST_SHORTENED = 3, 5  # letters of a name that is written out, and of one that a full stop may shorten ("Thos.")
# Says that all of the field is a name.
_FIELD = re.compile(
    r"(?:\bnames?|\b(?:submitted|prepared|written|presented|done|made|created|completed|compiled)? ?by|\bauthors?|\b(?:student|learner)s?)"
    r"(?: ?\(s\))?[^\S\n]*[:=][^\S\n]*\Z",
    re.IGNORECASE,
)
# What is told apart by letters.
_LETTERED = frozenset("table group figure fig part section class option grade appendix exhibit vitamin plan team block zone room graph".split())  # noqa: SIM905
_PARENT = re.compile(r"(?:[dsw]/o|a/[lp])\Z", re.IGNORECASE)  # "daughter of", "anak lelaki"
_ENDS_FIELD = frozenset(",;|/(–—")


def is_unit(view: DocView, start: int, end: int) -> bool:
    """Whether a name begins with the end of a sentence: the letter of a unit or of a table ("warmed to 40 C. Pradeep", "in Table B. Anton")."""
    word = view.words[start]
    stop = start + (not word.endswith("."))
    if stop >= end - 1 or not is_initial(word.rstrip(".")) or not view.words[stop].endswith(".") or start == 0:
        return False
    before = view.words[start - 1]
    if before == "/" and not view.gap(start - 1) and not view.gap(start - 2):
        return True
    low, _ = view.lines[view.line_of(view.starts[start])]
    counted = not view.text[low : view.starts[start - 1]].strip()  # "2 A. Lopez" in a list of names
    number = before[-1:].isdigit() and not counted and not before.startswith(("(", "["))
    return (number and view.gap(start - 1) in ("", " ")) or before.lower() in _LETTERED


def is_pronoun(view: DocView, start: int, end: int) -> bool:
    """Whether a bare "I" at the end is the writer and no initial: behind first and last name, or with a small word after it."""
    if view.words[end - 1] != "I" or end - start < 2 or (end < len(view) and view.words[end].startswith(".")):
        return False
    full = sum(1 for word in view.words[start : end - 1] if is_word(word) and not is_initial(word))
    after = view.words[end] if end < len(view) and view.gap(end - 1) == " " else ""
    return full >= 2 or (full == 1 and case_style(after) == "lower" and after.isalpha())


def is_foreign(view: DocView, start: int, end: int) -> bool:
    """Whether a small word no table knows stands before a name with a capital: "Name ist Jonas"."""
    word = view.words[start]
    if not word.isalpha() or case_style(word) != "lower" or in_table(word) or words().is_particle(word):
        return False
    return not any(case_style(w) == "lower" for w in view.words[start + 1 : end] if is_word(w))


def follows_initial(view: DocView, last: Candidate, c: Candidate, gap: str) -> bool:
    """Whether a surname stands behind a name that ends in an initial, two spaces between them, as typists put them after a full stop."""
    end = last.end - (view.words[last.end - 1] == ".")
    initial = end - 1 > last.start and is_initial(view.words[end - 1]) and view.text[view.ends[last.end - 1] - 1] == "."
    if not initial or gap not in (" ", "  ") or c.end - c.start != 1:
        return False
    word = view.words[c.start]
    return case_style(word) in ("title", "upper") and (name_table().is_surname(word) or not in_table(word))


def past_parent(view: DocView, c: Candidate, taken: list[bool]) -> int:
    """RETURNS (int): Where a name ends that goes on with whose child somebody is: "Kavita Rani d/o Gopal", "Siva a/l Raman"."""
    for at in (c.end, c.end - 1):  # with its first letter, as the model reads it, or without
        first = at + 3 if view.words[at + 1 : at + 2] == ["/"] else at + 1
        if at <= c.start or first >= len(view) or not _PARENT.match("".join(view.words[at:first])) or view.gap(first - 1) != " ":
            continue
        end = first
        while end < len(view) and end - first < 2 and not taken[end] and case_style(view.words[end]) in ("title", "upper"):
            if not is_word(view.words[end]) or (end > first and view.gap(end - 1) != " "):
                break
            end += 1
        if end > first:
            return end
    return c.end


def is_rest_of_field(view: DocView, start: int, end: int) -> bool:
    """Whether a name opens its field and one word more fills it, a name or an English word: "Submitted by: Nadia Stern  Course: ..."."""
    low, _ = view.lines[view.line_of(view.starts[start])]
    if is_initial(view.words[end]) or not _FIELD.search(view.text[low : view.starts[start]]):
        return False
    gap = view.gap(end)
    after = view.words[end + 1] if end + 1 < len(view) else ""
    return gap not in ("", " ") or not after or after.isspace() or after[0] in _ENDS_FIELD


def is_and(view: DocView, c: Candidate, i: int) -> bool:
    """Whether token i is the "n" of "tash n dev", as chats have it for "and"."""
    if view.words[i] != "n" or not c.start < i < c.end - 1 or not view.gap(i) or not view.gap(i - 1):
        return False
    if len(view.words[i - 1]) == 1 or len(view.words[i + 1]) == 1:  # letter by letter
        return False
    return all(case_style(word) == "lower" for word in view.words[c.start : c.end] if is_word(word))


def ends_sentence(view: DocView, c: Candidate, i: int) -> bool:
    """Whether token i is the full stop in "... said Ilse. Marwan laughed"; not that of an initial or of "Md. Rahman", nor of a line that begins
    with the name ("Ana. Lopez" as a heading): no sentence was there to end."""
    if view.words[i] != "." or not c.start < i < c.end - 1:
        return False
    first = next((n for n in range(i - 1, c.start - 1, -1) if view.words[n]), i)  # what shows nothing may stand between
    behind = next((n for n in range(i + 1, c.end) if view.words[n]), i)
    if i in (first, behind) or view.starts[i] > view.ends[first] or view.starts[behind] == view.ends[i]:
        return False
    line_start, _ = view.lines[view.line_of(view.starts[c.start])]
    if not view.text[line_start : view.starts[c.start]].strip():
        return False
    before = view.words[first]
    if before.isalpha() and before.casefold() == view.words[behind].casefold():  # "my seatmate Bo. Bo crashed"
        return True
    return before.isalpha() and len(before) >= _LEAST_WHOLE and (in_table(before) or len(before) > _LONGEST_SHORTENED)
