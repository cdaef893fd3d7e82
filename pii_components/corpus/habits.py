"""How a whole text wears its names: all of them between markers, in a script of their own, letter by letter, in one case.

    wardrobe = Wardrobe(random.Random(2), worn=0.06, habit=0.15)
    worn = wardrobe.wear("Ana Lopez", slot)
    worn.before, worn.text, worn.after, worn.kind        # ("@@", "Ana Lopez", "##", "marks")

A format or a writer does with names what they do with every name: the student's, the teacher's, the author's and that of a figure in a
story. So a habit is the text's, drawn before anybody's role is known, and ordinary words and words of other languages get the same
treatment (`wear_prose`): neither a role nor that there is a name may be read off the wear.
"""

import random
import re
from dataclasses import dataclass

from ..labels import is_name
from .native_names import NativePerson, native_person, pick_script
from .native_words import native_sentence
from .templates import Slot
from .wear import NAME_WEAR, wear

NATIVE, MARKS = "native script", "marks"
# How a text wears its names, in parts of all habits; "any" is one of all kinds of wear.
_HABITS = {
    MARKS: 30, NATIVE: 26, "upper": 9, "lower": 10, "mixed case": 3, "swapped case": 3, "alternating": 4, "spaced": 5, "spaced lower": 3,
    "any": 14,
}  # fmt: skip
# What is set before and after a name; none says whose it is.
MARK_PAIRS = (
    ("@@", "##"), ("@@", "@@"), ("##", "##"), ("@", "@"), ("**", "**"), ("*", "*"), ("***", "***"), ("_", "_"), ("__", "__"),
    ("[", "]"), ("[[", "]]"), ("(", ")"), ("((", "))"), ("<", ">"), ("<<", ">>"), ("{", "}"), ("{{", "}}"), ("|", "|"), ("| ", " |"),
    ("~", "~"), ("~~", "~~"), ('"~', '~"'), ('"', '"'), ("“", "”"), ("'", "'"), ("‘", "’"), ("«", "»"), ("‹", "›"), ("„", "“"),
    ("`", "`"), ("=", "="), ("==", "=="), ("$", "$"), ("%", "%"), ("+", "+"), ("^", "^"), ("#", "#"), ("#", ""), ("§", "§"),
    ("【", "】"), ("「", "」"), ("<b>", "</b>"), ("<i>", "</i>"), ("<u>", "</u>"), ("<em>", "</em>"), ("<name>", "</name>"),
    ("<person>", "</person>"), ("<mark>", "</mark>"), ("<q>", "</q>"), ("[NAME] ", ""), ("[NAME]", "[/NAME]"), ("<NAME>", "</NAME>"),
    ("\\textbf{", "}"), ("1.", ""), ("- ", ""), ("-", "-"), ("--", "--"), ("—", "—"), ("• ", ""), ("/", "/"), ("\\", "\\"),
    ("...", "..."), (":", ":"), ("*", ""), ("> ", ""), ("🌸", "🌸"), ("⭐ ", " ⭐"), ("\u200f", "\u200f"), ("\u200b", "\u200b"),
)  # fmt: skip
_ALWAYS = 0.9  # share of the names that follow the text's habit
_WORD = re.compile(r"(?<![\w@/.-])[a-z]{3,12}(?: [a-z]{3,12})?(?![\w@/-])")


@dataclass(frozen=True, slots=True)
class Worn:
    """What stands in the place of a name or detail.

    before (str), after (str): Beside the span. text (str): The span. kind (str): Of the wear; empty if there is none.
    """

    before: str
    text: str
    after: str
    kind: str = ""


class Wardrobe:
    """Wear on the names and details of one text.

    rng (random.Random): Where chance comes from. worn (float): Share of the mentions that are worn by themselves, 0 to 1.
    habit (float): Probability that the text has a habit, 0 to 1.
    """

    def __init__(self, rng: random.Random, *, worn: float = 0.0, habit: float = 0.0) -> None:
        self.rng = rng
        self.worn = worn
        self.habit = ""
        if habit and rng.random() < habit:
            self.habit = rng.choices(list(_HABITS), list(_HABITS.values()))[0]
            if self.habit == "any":
                self.habit = rng.choice([kind for kind in NAME_WEAR if kind != NATIVE])
        self.marks = rng.choice(MARK_PAIRS) if self.habit == MARKS else ("", "")
        # Friends who write to each other share a script; in a course they do not.
        self.script = pick_script(rng) if self.habit == NATIVE and rng.random() < 0.6 else ""
        self.natives: dict[str, NativePerson] = {}

    def wear(self, value: str, slot: Slot) -> Worn:
        """Dress one mention.

        value (str): What fills the slot. slot (Slot): Says who and in which form.
        RETURNS (Worn): With the habit of the text, or with wear of its own, or as it is.
        """
        if is_name(slot.label):
            if self.habit and self.rng.random() < _ALWAYS:
                return self._by_kind(value, slot, self.habit)
            if self.worn and self.rng.random() < self.worn:
                if self.rng.random() < 0.2:
                    return self._by_kind(value, slot, MARKS)
                text, kind = wear(value, slot.label, self.rng)
                return self._by_kind(value, slot, NATIVE) if kind == NATIVE else Worn("", text, "", kind)
        elif self.worn and self.rng.random() < self.worn:
            text, kind = wear(value, slot.label, self.rng)
            return Worn("", text, "", kind)
        return Worn("", value, "")

    def _by_kind(self, value: str, slot: Slot, kind: str) -> Worn:
        if kind == MARKS:
            before, after = self.marks if self.habit == MARKS else self.rng.choice(MARK_PAIRS)
            return Worn(before, value, after, kind)
        text = self._native(value, slot) if kind == NATIVE else NAME_WEAR[kind](value, self.rng)
        return Worn("", text, "", kind) if text.strip() and text != value else Worn("", value, "")

    def _native(self, value: str, slot: Slot) -> str:
        """The name of the same person in a script of its own, the same one throughout the text."""
        who, what = slot.who, slot.what
        if what == "literal":
            words = value.split()
            who, what = words[-1].lower(), "full" if len(words) > 1 else "last"
        if who not in self.natives:
            self.natives[who] = native_person(self.rng, self.script)
        return self.natives[who].form(what)

    def wear_prose(self, piece: str) -> str:
        """Ordinary words worn as the names of the text are, and words of other languages that are no names.

        piece (str): Text between spans.
        RETURNS (str): The piece, mostly as it is.
        """
        if self.habit == NATIVE:
            return _set_in(piece, native_sentence(self.rng), self.rng) if self.rng.random() < 0.12 else piece
        if not self.habit or len(piece) < 60 or self.rng.random() > 0.45:
            return piece
        places = list(_WORD.finditer(piece))
        for match in sorted(self.rng.sample(places, min(len(places), self.rng.randint(1, 2))), key=lambda m: -m.start()):
            piece = piece[: match.start()] + self._worn_word(match.group()) + piece[match.end() :]
        return piece

    def _worn_word(self, words: str) -> str:
        shown = self.rng.choice((words, words, words.title(), words.capitalize()))
        if self.habit == MARKS:
            return f"{self.marks[0]}{shown}{self.marks[1]}"
        return NAME_WEAR[self.habit](shown, self.rng)


def _set_in(piece: str, sentence: str, rng: random.Random) -> str:
    """A sentence set into prose, after one of its sentences; the prose as it is where it has no end of one."""
    stops = [match.end() for match in re.finditer(r"[a-z][.!?](?=\s+[A-Z])", piece)]
    if not stops:
        return piece
    at = rng.choice(stops)
    return f"{piece[:at]} {sentence}{piece[at:]}"

