"""Three invented essays before and after, as docs/explanation/surrogates.md shows them: `python -m scripts.before_after`.

Their spans are marked in resources/demo/before_after_*.txt, so that what is shown depends on the
surrogates alone; the component gives the same with the same key, wherever the spans come from.
"""

import re
from importlib import resources
from typing import NamedTuple

from pii_components.corpus.templates import Filled
from pii_components.offsets import apply_replacements
from pii_components.profiles import Profile
from pii_components.surrogates.keys import SurrogateKey
from pii_components.surrogates.plan import plan
from pii_components.surrogates.values import Item

KEY = b"everyone may know this key"
COMMAND = "python -m scripts.before_after"


class Example(NamedTuple):
    """An essay before and after."""

    profile: str
    title: str
    text: str
    spans: tuple[tuple[int, int, str], ...]
    after: str


def examples() -> list[Example]:
    """The essays that ship."""
    found = []
    folder = resources.files("pii_components") / "resources" / "demo"
    for file in sorted(folder.glob("before_after_*.txt")):  # type: ignore[attr-defined]
        head, _, marked = file.read_text(encoding="utf8").partition("\n")
        # Text and spans in turn: "I am {NAME_STUDENT|Ana}."
        parts = re.split(r"\{(\w+)\|(.*?)\}", marked, flags=re.DOTALL)
        pieces = [(piece, "") for piece in parts[::3]]
        spans = zip(parts[2::3], parts[1::3], strict=True)
        pairs = zip(pieces, [*spans, ("", "")], strict=True)
        essay = Filled("").with_pieces(piece for pair in pairs for piece in pair)
        name, _, title = head.partition(": ")
        profile = Profile.load(name)
        items = [Item(a, b, label, profile.action(label)) for a, b, label in essay.spans]
        chance = SurrogateKey(
            KEY, "document:" + SurrogateKey(KEY).digest("document", essay.text).hex()
        )
        planned = plan(essay.text, items, profile=profile, chance=chance)
        after = apply_replacements(essay.text, planned)[0]
        found.append(Example(name, title, essay.text, essay.spans, after))
    return found


def as_diff(before: str, after: str) -> str:
    """Old and new lines below each other. Both texts have the same lines, but for those that a header took with it."""
    old, new = before.rstrip("\n").split("\n"), after.rstrip("\n").split("\n")
    gone = len(old) - len(new)
    rows = [f"- {line}".rstrip() for line in old[:gone]]
    for a, b in zip(old[gone:], new, strict=True):
        rows += [f"  {a}".rstrip()] if a == b else [f"- {a}", f"+ {b}"]
    return "\n".join(rows)


def markdown() -> str:
    """What stands in docs/explanation/surrogates.md; README has the first of them."""
    blocks = []
    for essay in examples():
        diff = as_diff(essay.text, essay.after)
        blocks.append(f"`{essay.profile}`: {essay.title}.\n\n```diff\n{diff}\n```")
    return "\n\n".join(blocks)


if __name__ == "__main__":
    print(markdown())
