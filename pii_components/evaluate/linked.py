"""Are all links kept? Every mention of every person of a corpus, laid beside what it has to become.

    found = measure_links(2000, seed=46)
    found["links"]["email"]                 # {"checked": 812, "kept": 812}

Spans are given, so that this is about surrogates and not about finding. Five things are counted: links (each form is that of the
person's surrogate names, by `linked_forms`, which knows nothing of the component), people of an essay that stay distinct,
surnames that stay shared or apart, originals that are left, text outside of spans that has changed.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from ..alignment import Replacement, apply_replacements
from ..profiles import Profile
from ..surrogates.item import Item
from ..surrogates.keys import Chance
from ..surrogates.names import fold
from ..surrogates.plan import plan
from ..surrogates.style import norm
from .linked_corpus import LinkedEssay, linked_essays
from .linked_forms import FORMS, Names, expected

# Everyone may know what these people become: nobody is meant.
KEY = b"the key of the linked corpus"


@dataclass(slots=True)
class Links:
    """Counts of a corpus, each as (checked, kept). broken (list[tuple[int, str]]): Number of an essay, and what is wrong in it."""

    checked: Counter[str] = field(default_factory=Counter)
    kept: Counter[str] = field(default_factory=Counter)
    broken: list[tuple[int, str]] = field(default_factory=list)

    def count(self, number: int, what: str, holds: bool) -> None:
        """Count one thing that was looked at. number (int): Of the essay. what (str): Which thing. holds (bool): Whether it does."""
        self.checked[what] += 1
        self.kept[what] += holds
        if not holds:
            self.broken.append((number, what))


def hide(essay: LinkedEssay, profile: Profile, chance: Chance) -> list[Replacement]:
    """RETURNS (list[Replacement]): What stands in the place of each mention."""
    items = [Item(m.start, m.end, m.label, profile.action(m.label)) for m in essay.mentions]
    return plan(essay.text, items, profile=profile, chance=chance, local=chance.scope.startswith("document"))


def new_names(essay: LinkedEssay, replacements: Sequence[Replacement]) -> list[Names | None]:
    """RETURNS (list[Names | None]): Who the people became, read off their full names; None where that is no such name."""
    found: list[Names | None] = []
    for person, names in enumerate(essay.people):
        first = next(i for i, m in enumerate(essay.mentions) if m.person == person and m.form == "full")
        shape = re.escape(names.layout).replace(r"\{", "{").replace(r"\}", "}")
        match = re.fullmatch(re.sub(r"\{\d\}", r"([^\\s]+?)", shape).replace(r"\ ", " "), replacements[first].new)
        found.append(names.with_words(match.groups()) if match else None)
    return found


def check_essay(number: int, essay: LinkedEssay, replacements: Sequence[Replacement], links: Links) -> None:
    """Check one essay.

    number (int): For `Links.broken`. essay (LinkedEssay): As made. replacements (Sequence[Replacement]): One for each mention.
    links (Links): Gets the counts.
    """
    people = new_names(essay, replacements)
    for mention, replacement in zip(essay.mentions, replacements, strict=True):
        new = people[mention.person]
        form = FORMS[mention.form]
        holds = new is not None and expected(form, new, essay.people[mention.person]).fullmatch(replacement.new) is not None
        links.count(number, f"link: {mention.form}", holds)
    for (old_a, a), (old_b, b) in combinations(zip(essay.people, people, strict=True), 2):
        if a is None or b is None:
            continue
        links.count(number, "distinct people stay distinct", fold(a.full) != fold(b.full) and fold(a.given) != fold(b.given))
        if "f" in old_a.kinds and "f" in old_b.kinds:
            what = "shared surname stays shared" if old_a.f == old_b.f else "other surnames stay apart"
            links.count(number, what, (a.f == b.f) == (old_a.f == old_b.f))
    text, offsets = apply_replacements(essay.text, replacements)
    left = {norm(word) for word in re.findall(r"[^\W\d_]+", text)}
    for names in essay.people:
        links.count(number, "no original name is left", left.isdisjoint(map(norm, names.words)))
    places = [0, *(x for e in offsets.edits for x in (e.start, e.end)), len(essay.text)]
    new_places = [0, *(x for e in offsets.edits for x in (e.new_start, e.new_end)), len(text)]
    outside = (
        essay.text[a:b] == text[c:d]
        for a, b, c, d in zip(places[::2], places[1::2], new_places[::2], new_places[1::2], strict=True)
    )
    links.count(number, "text outside is unchanged", all(outside))


def measure_links(n: int, *, seed: int = 46, profile: str = "crapii", scope: str = "document") -> dict[str, Any]:
    """Make a corpus, hide its people, and count what holds.

    n (int): Essays. seed (int): Of the corpus. profile (str): Name or path. scope (str): "document" or "corpus".
    RETURNS (dict[str, Any]): Counts, ready for JSON; no text.
    """
    chosen, links = Profile.load(profile), Links()
    people = mentions = 0
    for number, essay in enumerate(linked_essays(n, seed=seed)):
        chance = Chance(KEY, "corpus" if scope == "corpus" else f"document:{number}")
        check_essay(number, essay, hide(essay, chosen, chance), links)
        people += len(essay.people)
        mentions += len(essay.mentions)
    rows = {name: {"checked": links.checked[name], "kept": links.kept[name]} for name in sorted(links.checked)}
    return {
        "essays": n, "seed": seed, "profile": chosen.name, "scope": scope, "people": people, "mentions": mentions,
        "links": {name.removeprefix("link: "): row for name, row in rows.items() if name.startswith("link: ")},
        "links_checked": sum(row["checked"] for name, row in rows.items() if name.startswith("link: ")),
        "links_kept": sum(row["kept"] for name, row in rows.items() if name.startswith("link: ")),
        "properties": {name: row for name, row in rows.items() if not name.startswith("link: ")},
        "essays_with_something_broken": len({number for number, _ in links.broken}),
    }  # fmt: skip
