"""Three invented essays before and after, as docs/explanation/surrogates.md shows them: `python -m scripts.before_after`.

Their spans are marked in resources/demo/before_after_*.txt, so that what is shown depends on the surrogates alone; the component
gives the same with the same key, wherever the spans come from.
"""

import re
import sys
from dataclasses import dataclass
from importlib import resources

from pii_components.offsets import apply_replacements
from pii_components.profiles import Profile
from pii_components.surrogates.keys import Chance
from pii_components.surrogates.plan import plan
from pii_components.surrogates.values import Item

# Everyone may know what the people in our own essays become.
KEY = b"everyone may know this key"
COMMAND = "python -m scripts.before_after"
_MARK = re.compile(r"\{(\w+)\|(.*?)\}", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Example:
    """An essay."""

    profile: str
    title: str
    text: str
    spans: tuple[tuple[int, int, str], ...]

    @property
    def after(self) -> str:
        profile = Profile.load(self.profile)
        items = [Item(a, b, label, profile.action(label)) for a, b, label in self.spans]
        chance = Chance(KEY, "document:" + Chance(KEY).digest("document", self.text).hex())
        return apply_replacements(
            self.text, plan(self.text, items, profile=profile, chance=chance)
        )[0]


def examples() -> list[Example]:
    """The essays that ship."""
    folder = resources.files("pii_components") / "resources" / "demo"
    files = sorted(
        (f for f in folder.iterdir() if f.name.startswith("before_after_")), key=lambda f: f.name
    )
    found = []
    for file in files:
        head, _, marked = file.read_text(encoding="utf8").partition("\n")
        profile, _, title = head.partition(": ")
        text, spans, last = "", [], 0
        for match in _MARK.finditer(marked):
            text += marked[last : match.start()]
            spans.append((len(text), len(text) + len(match[2]), match[1]))
            text += match[2]
            last = match.end()
        found.append(Example(profile, title, text + marked[last:], tuple(spans)))
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
    blocks = [
        f"`{e.profile}`: {e.title}.\n\n```diff\n{as_diff(e.text, e.after)}\n```" for e in examples()
    ]
    return "\n\n".join(blocks)


if __name__ == "__main__":
    sys.stdout.write(markdown() + "\n")
