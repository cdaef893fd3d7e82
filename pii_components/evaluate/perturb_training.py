"""Perturbed copies to train on: a text changed in one of the ways of `perturb_registry`, with everybody's names alike.

    change = training_change(0.25)
    change(filled, random.Random(1))          # a quarter of the texts come out changed

Left out are the changes that only touch private people or add some (who is changed would tell who is private), those of contact details,
which are the rules' work, those that lengthen a text, and those of meaning, whose sentences would be learned by heart.
"""

import random
from collections.abc import Callable
from dataclasses import replace

from ..corpus.people import invent_person
from ..corpus.synthesis import Filled
from ..corpus.templates import Slot
from ..labels import is_name
from ..surrogates.names import name_table
from .perturb import ATTACK, CASE, LAYOUT, NAMES, NOISE, SCRIPT, UNTOLD, Perturbation, Perturbed, Spans, insert
from .perturb_registry import perturbations

_CLASSES = (CASE, SCRIPT, LAYOUT, NOISE, ATTACK)
_ONLY_PRIVATE = frozenset((
    "glued_to_id", "adjacent_names", "names_in_lines", "three_names_glued", "page_headers", "header_block", "signature_block",
    "orders_beside", "said_public_beside",
))  # fmt: skip
_JOINTS = (" ", "\n", "", " / ", " & ", ", ", "  ")
_BESIDE = 0.3


def beside(text: str, spans: Spans, rng: random.Random) -> Perturbed:
    """RETURNS (Perturbed): An invented person of the same role beside a share of the names, private or not, joined in one way."""
    joint = rng.choice(_JOINTS)
    for start, end, label in reversed(spans):
        if not is_name(label) or rng.random() >= _BESIDE or not text[start:end].strip():
            continue
        name = invent_person(rng, name_table()).render(Slot("friend", "full"), rng)
        name = name if joint else name.replace(" ", "")
        addition = joint + name
        text, spans = insert(text, spans, end, addition, [(len(joint), len(addition), label)])
    return text, spans


BESIDE = Perturbation("beside", LAYOUT, "Ana Lopez / Budi Santoso", beside, NAMES)


def training_perturbations() -> list[Perturbation]:
    """RETURNS (list[Perturbation]): Those that tell nothing of who is private."""
    return [BESIDE, *(p for p in perturbations().values() if p.kind in _CLASSES and p.name not in _ONLY_PRIVATE)]


def training_change(share: float) -> Callable[[Filled, random.Random], Filled]:
    """A change for `corpus.build.build_corpus`.

    share (float): Of the texts that are changed, 0 to 1.
    RETURNS (Callable[[Filled, random.Random], Filled]): From a text to the same, or to a changed one; classes are drawn alike often.
    """
    found = training_perturbations()
    by_class = {kind: [p for p in found if p.kind == kind] for kind in _CLASSES}

    def change(filled: Filled, rng: random.Random) -> Filled:
        if rng.random() >= share:
            return filled
        perturbation = rng.choice(by_class[rng.choice(_CLASSES)])
        given = sorted((*filled.spans, *((start, end, UNTOLD) for start, end in filled.unlabelled)))
        if any(a[1] > b[0] for a, b in zip(given, given[1:], strict=False)) or any(start >= end for start, end, _ in given):
            return filled
        text, spans = perturbation(filled.text, given, rng)
        return replace(
            filled,
            text=text,
            spans=tuple(span for span in spans if span[2] != UNTOLD),
            unlabelled=tuple((start, end) for start, end, label in spans if label == UNTOLD),
        )

    return change
