"""Read, parse and link people's names; how words and patterns are read that are data, and where a user's own code registers itself."""

import re
import tomllib
from collections.abc import Callable
from functools import cache
from importlib import resources
from typing import Any

import catalogue


class Extensions(catalogue.Registry):
    """A registry of a user's own functions, as spaCy's are: code that was imported registers them (spaCy's `--code`), or an installed package does by
    an entry point of the group `pii_components_<kind>`.

    kind (str): Last part of the registry's name. check (Callable): Is called with each name that is registered.
    """

    def __init__(self, kind: str, check: Callable[[str], object]) -> None:
        super().__init__(("pii_components", kind), entry_points=True)
        self._check = check
        self._known: dict[str, Callable[..., Any]] | None = None

    def register(self, name: str, *, func: Any = None) -> Any:
        """RETURNS (Callable): A decorator, as of every registry of spaCy's. RAISES: What the check raises."""
        self._check(name)
        self._known = None
        return super().register(name, func=func)

    def known(self) -> dict[str, Callable[..., Any]]:
        """RETURNS (dict[str, Callable]): Name -> function. Entry points are looked for once."""
        if self._known is None:
            self._known = self.get_all()
        return self._known


@cache
def resource(name: str) -> dict[str, Any]:
    """RETURNS (dict[str, Any]): A TOML file of resources/ ("ruler/words"), read once."""
    return tomllib.loads(
        (resources.files("pii_components") / "resources" / f"{name}.toml").read_text("utf8")
    )


def resource_lines(name: str) -> list[str]:
    """RETURNS (list[str]): Those of a text file of resources/ ("names/neutral.tsv")."""
    return (resources.files("pii_components") / "resources" / name).read_text("utf8").splitlines()


@cache
def word_list(name: str, key: str) -> frozenset[str]:
    """RETURNS (frozenset[str]): The words, with white space between them, that such a file has under a key."""
    return frozenset(resource(name)[key].split())


@cache
def expression(name: str, key: str) -> re.Pattern[str]:
    """RETURNS (re.Pattern[str]): What such a file has under a key, one string or several in a row; `<PART>` is what it has under that name."""
    texts = {
        key: value if isinstance(value, str) else "".join(value)
        for key, value in resource(name).items()
    }
    return re.compile(re.sub(r"<([A-Z]+)>", lambda part: texts[part[1]], texts[key]))
