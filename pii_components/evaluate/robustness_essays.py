"""The essays that robustness and speed are measured on: authored ones that training has not seen, or the user's own.

essays = authored_essays(Path("assets"), seed=46)
sample = take(essays, 20, seed=46)              # clean ones in their share
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from ..corpus.build import RECIPES, from_essays, rng_for, split_of
from ..corpus.labelled import LabelledText, read_corpus
from ..corpus.templates import read_fragments, read_templates
from ..errors import Errors, PiiError
from ..labels import INDIRECT_LABELS, LABELS
from ..surrogates.names import name_table

Protects = Callable[[str], bool]


def authored_essays(assets: Path, *, seed: int = 46, fillings: int = 2) -> list[LabelledText]:
    """The essays of the test split, filled with invented people.

    assets (Path): Folder with essays/ and fragments/. seed (int): Of every choice. fillings (int): Times that each is filled: once as it
    is, else with a head, a sign-off and sentences of other kinds.
    RETURNS (list[LabelledText]): With and without private people; the same for the same seed.
    RAISES (PiiError): E603, if there are no essays.
    """
    templates = [template for template in read_templates(assets) if split_of(template.id) == "test"]
    if not templates:
        raise PiiError(Errors.E603, path=assets.name)
    blocks = {
        kind: [block for n, block in enumerate(found) if split_of(f"{kind}|{n}") == "test"]
        for kind, found in read_fragments(assets).items()
    }
    recipe = replace(RECIPES["test"], fillings=fillings)
    filled = from_essays(templates, blocks, recipe, name_table(), seed)
    names = [f"{template.id}#{n}" for template in templates for n in range(fillings)]
    return [LabelledText(name, one.text, one.spans, one.unlabelled) for name, one in zip(names, filled, strict=True)]


def prose_of(assets: Path) -> list[str]:
    """RETURNS (list[str]): The stretches of the authored test essays between slots, to pad with; empty without assets."""
    texts = []
    for template in read_templates(assets):
        if split_of(template.id) == "test":
            # A slot spoils its paragraph: what stands beside it may point to the person.
            body = "".join(part if isinstance(part, str) else "\x00" for part in template.parts)
            texts += [block for block in body.split("\n\n") if "\x00" not in block]
    return texts


def read_essays(path: Path, *, form: str = "") -> list[LabelledText]:
    """RETURNS (list[LabelledText]): A labelled corpus in any form. path (Path): The file. form (str): See `corpus.labelled`."""
    return list(read_corpus(path, form))


def take(
    essays: Sequence[LabelledText], limit: int, *, seed: int, protects: Protects = lambda label: True
) -> list[LabelledText]:
    """Essays by lot, clean ones in their share.

    essays (Sequence[LabelledText]): All. limit (int): How many; 0 for all. seed (int): Of the lot.
    protects (Callable[[str], bool]): Which labels must be hidden; an essay without any is clean.
    RETURNS (list[LabelledText]): In an order of its own, of which any beginning is a fair sample.
    """
    parts: tuple[list[LabelledText], list[LabelledText]] = ([], [])
    for essay in essays:
        parts[any(must_hide(label, protects) for *_, label in essay.spans)].append(essay)
    placed = []
    for number, part in enumerate(parts):
        rng_for(seed, "sample", number).shuffle(part)
        placed += [((i + 0.5) / len(part), number, essay) for i, essay in enumerate(part)]
    order = [essay for *_, essay in sorted(placed, key=lambda item: item[:2])]
    return order[:limit] if limit else order


def must_hide(label: str, protects: Protects) -> bool:
    """RETURNS (bool): Whether a gold label must be hidden: a direct identifier that the profile protects."""
    return label in LABELS and label not in INDIRECT_LABELS and protects(label)
