"""Read, parse and link people's names; and how words and patterns are read that are data."""

import re
import tomllib
from functools import cache
from importlib import resources
from typing import Any


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
