"""Releases with known leaks, for the tests. Everyone in them is invented."""

import random
from collections.abc import Callable

from pii_components.labels import EMAIL, NAME_STUDENT
from scripts.release_attack import ReleasedDocument, ReleasedText

Misses = Callable[[str, random.Random], bool]
_SYLLABLES = ("ba", "den", "fi", "gor", "hal", "jo", "kel", "lu", "mir", "na", "pol", "ri", "sa", "tun", "ves", "wil")
_USUAL = (
    "My name is {} and I study rivers.\n",
    "Essay by {}\n",
    "Written by {} for the course.\n",
    "My friend {} helped me.\n",
)
_ODD = (
    "the boat of {} sank twice.\n",
    "we thanked {} with cake.\n",
    "it was, as {} whispered, cold.\n",
    "under {} lay the map.\n",
)
_FILLING = (
    "The river was cold and the bridge was old.\n", "Cities grow when people move to them.\n", "In Spring the water rose again.\n",
    "Results in Table 2 show that Group A was faster.\n", "Most people think about the future of work.\n",
)  # fmt: skip


def by_chance(rate: float) -> Misses:
    """The detector misses a value whatever it looks like."""
    return lambda frame, rng: rng.random() < rate


def odd_places(frame: str, rng: random.Random) -> bool:
    """The detector misses names in sentences that are rare."""
    return frame in _ODD


def _name(rng: random.Random) -> str:
    return " ".join("".join(rng.choices(_SYLLABLES, k=2)).title() for _ in range(2))


def synthetic_release(misses: Misses, *, n: int = 60, odd: float = 0.0, seed: int = 3) -> list[ReleasedDocument]:
    """Short essays with five names each, all hidden but for what is missed. odd: Share of the names in rare sentences."""
    documents = []
    for number in range(n):
        rng = random.Random(f"{seed} {number}")
        original, released, gold, spans = "", "", [], []
        for _ in range(5):
            filling = rng.choice(_FILLING)
            frame = rng.choice(_ODD if rng.random() < odd else _USUAL)
            before, after = frame.split("{}")
            name, surrogate = _name(rng), _name(rng)
            while set(name.split()) & set(surrogate.split()):  # no surrogate shares a part with its original
                surrogate = _name(rng)
            original, released = original + filling + before, released + filling + before
            gold.append((len(original), len(original) + len(name), NAME_STUDENT))
            if misses(frame, rng):
                surrogate = name
            else:
                spans.append((len(released), len(released) + len(surrogate), NAME_STUDENT))
            original, released = original + name + after, released + surrogate + after
        mail = f"{_name(rng).split()[0].lower()}@uni.example"
        spans.append((len(released), len(released) + 15, EMAIL))
        gold.append((len(original), len(original) + len(mail), EMAIL))
        pair = ReleasedText(f"d{number}", original + mail, released + "kai@example.edu", tuple(spans))
        documents.append(ReleasedDocument(pair, tuple(gold)))
    return documents
