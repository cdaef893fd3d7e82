"""The ways in which one person stands in a text: a name in many forms, addresses, handles, file names.

    form = FORMS["email"]
    form.write(Names(("Maria", "Lopez"), "{0} {1}", "gf"))          # "maria.lopez##@§": two digits and a domain to come

The same function writes the original and says what its surrogate has to look like: a check that knows nothing of how the
component links names.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from ..labels import EMAIL, URL_PERSONAL, USERNAME
from ..surrogates.handle import letters
from ..surrogates.persons import nicknames_of
from ..surrogates.style import norm

# In a form: a digit, a code, a domain, the ending of one, and where a number may be added to a handle that is taken.
DIGIT, CODE, DOMAIN, ENDING, MORE = "#", "¤", "§", "¦", "±"
_OPEN = {DIGIT: r"\d", CODE: r"[0-9a-z]{6}", MORE: r"(?:\d\d)?", DOMAIN: r"[\w-]+(?:\.[\w-]+)+", ENDING: r"(?:\.[\w-]+)+/?"}


@dataclass(frozen=True, slots=True)
class Names:
    """The names of somebody.

    words (tuple[str, ...]): As written. layout (str): How they stand in full, "{0} de la {1}". kinds (str): "g" or "f" for each
    word.
    """

    words: tuple[str, ...]
    layout: str
    kinds: str

    @property
    def full(self) -> str:
        """RETURNS (str): The whole name."""
        return self.layout.format(*self.words)

    @property
    def given(self) -> str:
        """RETURNS (str): The first given name, or the only name."""
        return self.words[self.kinds.index("g")] if "g" in self.kinds else self.words[0]

    @property
    def family(self) -> str:
        """RETURNS (str): The family name with its particles; empty for somebody with one name."""
        places = [i for i, kind in enumerate(self.kinds) if kind == "f"]
        if not places or len(self.words) == 1:
            return ""
        start = f"{{{places[0]}}}"
        if places[0] < self.kinds.index("g"):
            return self.words[places[0]]
        last_given = max(i for i, kind in enumerate(self.kinds) if kind == "g" and i < places[0])
        before = f"{{{last_given}}}"
        between = self.layout[self.layout.index(before) + len(before) : self.layout.index(start)].lstrip()
        return between + self.layout[self.layout.index(start) :].format(*self.words)

    @property
    def g(self) -> str:
        """RETURNS (str): The given name as it stands in addresses."""
        return letters(self.given)

    @property
    def f(self) -> str:
        """RETURNS (str): The family name as it stands in addresses; the only name of somebody with one."""
        places = [i for i, kind in enumerate(self.kinds) if kind == "f"]
        return letters(self.words[places[0]]) if places else self.g

    def with_words(self, words: tuple[str, ...]) -> "Names":
        """RETURNS (Names): Another person, in the same layout."""
        return Names(words, self.layout, self.kinds)


@dataclass(frozen=True, slots=True)
class Form:
    """One form.

    write (Callable): Names -> how it stands there. label (str): Of the span; empty for a name.
    lone (bool): Whether people with one name only have it. plain (bool): Whether those with particles or double surnames have it.
    options (Callable | None): Names of the surrogate, names of the original -> everything it may become, if that is more than
    one thing.
    """

    write: Callable[[Names], str]
    label: str = ""
    lone: bool = False
    plain: bool = True
    options: Callable[[Names, Names], list[str]] | None = None


def nick(names: Names) -> str:
    """RETURNS (str): A nickname; empty if the given name has none."""
    found = [n for n in nicknames_of(names.given) if len(n) > 2 and n.isascii()]
    return found[0].capitalize() if found else ""


def _nick_options(new: Names, old: Names) -> list[str]:
    mine = nick(old)
    return [new.given, *(n.capitalize() for n in nicknames_of(new.given) if n[0] != mine[0].lower())]


def slip(word: str) -> str:
    """RETURNS (str): The word with two of its inner letters swapped; empty if it is short or they are alike."""
    at = next((i for i in range(len(word) - 2, 1, -1) if word[i] != word[i - 1]), 0)
    return word[: at - 1] + word[at] + word[at - 1] + word[at + 1 :] if len(word) >= 6 and at and norm(word).isascii() else ""


def _slipped(names: Names) -> str:
    wrong = slip(names.family) if " " not in names.family and "-" not in names.family else ""
    return f"{names.given} {wrong}" if wrong else ""


def _initials(names: Names, joint: str) -> str:
    return joint.join(word[0].upper() for word in ((names.f, names.g) if names.kinds == "fg" else (names.g, names.f)))


FORMS: dict[str, Form] = {
    "full": Form(lambda n: n.full, lone=True, plain=False),
    "first": Form(lambda n: n.given, lone=True, plain=False),
    "last": Form(lambda n: n.family, plain=False),
    "possessive": Form(lambda n: f"{n.given}'s", lone=True, plain=False),
    "full possessive": Form(lambda n: f"{n.full}’s", lone=True, plain=False),
    "upper": Form(lambda n: n.full.upper(), lone=True, plain=False),
    "lower": Form(lambda n: n.full.lower(), lone=True, plain=False),
    "last, first": Form(lambda n: f"{n.family}, {n.given}", plain=False),
    "LAST, First": Form(lambda n: f"{n.family.upper()}, {n.given}"),
    "initial and last": Form(lambda n: f"{n.g[0].upper()}. {n.family}", plain=False),
    "first and initial": Form(lambda n: f"{n.given} {n.f[0].upper()}."),
    "last and initial": Form(lambda n: f"{n.family}, {n.g[0].upper()}."),
    "initials": Form(lambda n: _initials(n, "")),
    "initials with dots": Form(lambda n: _initials(n, ".") + "."),
    "letter-spaced": Form(lambda n: " ".join(ch for ch in n.given.upper() if ch.isalpha())),
    "nickname": Form(nick, options=_nick_options),
    "slip of the pen": Form(_slipped, options=lambda new, old: [f"{new.given} {new.family}"]),
    "file name": Form(lambda n: f"{n.given}_{n.family}"),
    "file name, last first": Form(lambda n: f"{n.family}_{n.given}"),
    "first.last@": Form(lambda n: f"{n.g}.{n.f}±@§", EMAIL),
    "flast#@": Form(lambda n: f"{n.g[0]}{n.f}##@§", EMAIL),
    "firstlast@": Form(lambda n: f"{n.g}{n.f}±@§", EMAIL),
    "last.first@": Form(lambda n: f"{n.f}.{n.g}±@§", EMAIL),
    "first@": Form(lambda n: f"{n.g}±@§", EMAIL, lone=True),
    "@flast": Form(lambda n: f"@{n.g[0]}{n.f}±", USERNAME),
    "first_last#": Form(lambda n: f"{n.g}_{n.f}##", USERNAME),
    "Last#": Form(lambda n: f"{n.f.capitalize()}###", USERNAME, lone=True),
    "linkedin": Form(lambda n: f"https://www.linkedin.com/in/{n.g}-{n.f}-¤", URL_PERSONAL),
    "github": Form(lambda n: f"https://github.com/{n.g[0]}{n.f}±", URL_PERSONAL),
    "home page": Form(lambda n: f"http://www.{n.g}{n.f}±¦", URL_PERSONAL),
    "subdomain": Form(lambda n: f"http://{n.g}{n.f}±.§/", URL_PERSONAL),
    "tilde": Form(lambda n: f"https://www.§/~{n.f}±", URL_PERSONAL, lone=True),
}


def expected(form: Form, new: Names, old: Names) -> re.Pattern[str]:
    """RETURNS (re.Pattern): What a form must look like once its person has other names."""
    texts = form.options(new, old) if form.options else [form.write(new)]
    shown = ("".join(_OPEN.get(ch, re.escape(ch)) for ch in text) for text in texts)
    return re.compile("|".join(f"(?:{text})" for text in shown))
