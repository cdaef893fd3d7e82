"""People and figures that everyone knows, by full name or by surname.

    >>> from pii_components.context_figures import figures
    >>> from pii_components.context_persons import parse_form
    >>> figures().of(parse_form(["Leonardo", "da", "Vinci"]))
    'CITED'

A name on these lists is evidence, not a verdict: a student may be called Michael Jordan, and signs so.
"""

from dataclasses import dataclass
from functools import cache
from importlib import resources

from .context_persons import Form, parse_form
from .labels import CHARACTER, CITED

FILES = (("public_figures.txt", CITED), ("story_figures.txt", CHARACTER))


@dataclass(frozen=True, slots=True)
class Figures:
    """The lists.

    full (dict[str, str]): Key of a full name -> "CITED" or "CHARACTER".
    surname (dict[str, str]): Surname or single name -> the same.
    sure (frozenset[str]): Surnames and single names that are enough by themselves ("Vygotsky", "Aristotle").
    """

    full: dict[str, str]
    surname: dict[str, str]
    sure: frozenset[str]

    def of(self, form: Form) -> str:
        """RETURNS (str): The role of the figure with this full name; the empty string if there is none."""
        return self.full.get(_key(form), "") if len(form.words) + len(form.initials) > 1 else ""


def _key(form: Form) -> str:
    words = form.words[1:] + form.words[:1] if form.comma else form.words
    # "Franklin D. Roosevelt" is "Franklin Roosevelt", but of "J. K. Rowling" nothing else is left.
    return " ".join(words if len(words) > 1 else (*form.initials, *words))


@cache
def figures() -> Figures:
    """RETURNS (Figures): The lists that ship, read once."""
    folder = resources.files("pii_components") / "resources" / "cues"
    full: dict[str, str] = {}
    surname: dict[str, str] = {}
    sure: set[str] = set()
    for file, role in FILES:
        for line in (folder / file).read_text("utf8").splitlines():
            name = line.partition("#")[0].strip()
            if not name:
                continue
            form = parse_form(name.rstrip("*").replace("-", " ").replace(",", "").split())
            if len(form.words) + len(form.initials) > 1:
                full.setdefault(_key(form), role)
            if form.surname:
                surname.setdefault(form.surname, role)
                if name.endswith("*") or form.single:
                    sure.add(form.surname)
    return Figures(full, surname, frozenset(sure))
