"""Case: "maria GARCIA", "ANA LOPEZ", an essay all in lower case. Presidio misses names in capitals (its issue 1354); CRAPII has them."""

import random

from .perturb import CASE, DETAILS, NAMES, Perturbation, on_everything, on_labels, on_names
from .perturb import DETAIL_LABELS as _DETAIL_LABELS


def mixed(name: str, rng: random.Random) -> str:
    """RETURNS (str): "maria GARCIA"; "mARIA" where there is one word only."""
    words = name.split(" ")
    if len(words) == 1:
        return name[:1].lower() + name[1:].upper()
    return " ".join([words[0].lower(), *(word.upper() for word in words[1:])])


def alternating(name: str, rng: random.Random) -> str:
    """RETURNS (str): "aNa LoPeZ": every letter in turn, from either case."""
    lower = rng.random() < 0.5
    out = []
    for char in name:
        out.append(char.lower() if lower else char.upper())
        lower = lower != char.isalpha()
    return "".join(out)


PERTURBATIONS = (
    Perturbation("names_lower", CASE, "ana lopez", on_names(lambda v, rng: v.lower()), NAMES, rewrites=True),
    Perturbation("names_upper", CASE, "ANA LOPEZ", on_names(lambda v, rng: v.upper()), NAMES, rewrites=True),
    Perturbation("names_title", CASE, "De La Cruz for de la Cruz", on_names(lambda v, rng: v.title()), NAMES, rewrites=True),
    Perturbation("names_mixed", CASE, "ana LOPEZ", on_names(mixed), NAMES, rewrites=True),
    Perturbation("names_swapped", CASE, "aNA lOPEZ", on_names(lambda v, rng: v.swapcase()), NAMES, rewrites=True),
    Perturbation("names_alternating", CASE, "aNa LoPeZ", on_names(alternating), NAMES, rewrites=True),
    Perturbation(
        "details_upper", CASE, "ANA@UNI.EDU", on_labels(dict.fromkeys(_DETAIL_LABELS, lambda v, rng: v.upper())), DETAILS, rewrites=True
    ),
    Perturbation("text_lower", CASE, "all of the text in lower case", on_everything(lambda v, rng: v.lower())),
    Perturbation("text_upper", CASE, "ALL OF THE TEXT IN CAPITALS", on_everything(lambda v, rng: v.upper())),
    Perturbation("text_title", CASE, "All Of The Text In Title Case", on_everything(lambda v, rng: v.title())),
    Perturbation("text_swapped", CASE, "aLL OF THE TEXT THE OTHER WAY ROUND", on_everything(lambda v, rng: v.swapcase())),
)  # fmt: skip
