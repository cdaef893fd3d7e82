"""Surrogates per second on one core, and how they compare with unlinked ones of Faker: metrics/surrogate_speed.json.

    python -m scripts.bench_surrogates --essays 1600 --passes 16 --out metrics/surrogate_speed.json

Three corpora of invented essays, each of about 400 words. "crapii" has CRAPII's labels in CRAPII's shares, two or so to an essay;
"dense" the same labels, a dozen to an essay, as in headers and posts to a forum; "all labels" every label with a generator equally
often, thirteen to an essay. Two things are timed, in processor time of one process without threads: `plan` (linking, surrogates, the new
text and its offsets), and Faker making one value of the same kind for each span, which knows no person, no key and no original.

The essays are gone through several times, each time as if for the first: what is kept of earlier names, words and values is forgotten before.
The fastest pass counts, as `timeit` advises, since others may use the machine too. Needs the extra `train` (Faker).
"""

import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import typer

from pii_components.corpus.people import Person, invent_detail, invent_person
from pii_components.corpus.templates import Slot, read_templates
from pii_components.labels import LABELS
from pii_components.names.table import name_table
from pii_components.offsets import apply_replacements
from pii_components.profiles import Profile
from pii_components.surrogates.keys import Chance
from pii_components.surrogates.plan import NO_SURROGATE, plan
from pii_components.surrogates.values import Item
from scripts import common

ASSETS = Path(__file__).parents[1] / "assets"
PROFILE = Profile("all", actions=dict.fromkeys(LABELS, "surrogate"))
KEY = Chance(b"a key for measuring speed only, 01")
WORDS = 400
# Spans of each label: of CRAPII's 22,688 essays for the first four (PII of students), of its published part for the rest.
CRAPII = {
    "NAME_STUDENT": 4394, "URL_PERSONAL": 354, "EMAIL": 112, "PHONE_NUM": 15, "ID_NUM": 260, "USERNAME": 20, "STREET_ADDRESS": 7,
}  # fmt: skip
# Of each label, what `invent_detail` makes and what of Faker stands beside it.
DETAILS = {
    "EMAIL": ("email", "email"), "USERNAME": ("username", "user_name"), "URL_PERSONAL": ("url", "uri"), "ID_NUM": ("id", "bothify"),
    "PHONE_NUM": ("phone", "phone_number"), "STREET_ADDRESS": ("address", "address"), "AGE": ("age", "random_int"),
    "DATE": ("birthday", "date"), "LOCATION": ("town", "city"), "EDUCATION": ("school", "company"), "EMPLOYER": ("employer", "company"),
}  # fmt: skip
FORMS = (
    "full", "full", "full", "first", "first", "last", "initial_last", "first_initial", "last_first", "middle", "nick", "under",
)  # fmt: skip
Essay = tuple[str, list[tuple[int, int, str]]]


def value_of(label: str, person: Person, rng: random.Random) -> str:
    """A form of a person's name, or a detail, the same each time."""
    if label == "NAME_STUDENT":
        return person.render(Slot("student", rng.choice(FORMS)), rng)
    what = DETAILS[label][0]
    if what not in person.details:
        person.details[what] = invent_detail(what, person.first, person.last, rng)
    return person.details[what]


def make_essay(rng: random.Random, labels: Sequence[str], sentences: Sequence[str]) -> Essay:
    """Text and spans."""
    people: list[Person] = []
    for _ in range(1 + len(labels) // 6):
        taken = frozenset(w for p in people for w in (p.first, p.last))
        people.append(invent_person(rng, name_table(), gender=rng.choice("fmx"), avoid=taken))
    parts: list[tuple[str, str]] = []  # sentence or value, label
    while sum(part.count(" ") + 1 for part, _ in parts) < WORDS:
        parts.append((rng.choice(sentences), ""))
    for label in labels:
        person = people[0] if rng.random() < 0.6 else rng.choice(people)
        parts.insert(rng.randrange(len(parts)), (value_of(label, person, rng), label))
    text, spans = "", []
    for part, label in parts:
        spans += [(len(text), len(text) + len(part), label)] if label else []
        text += part + " "
    return text, spans


def corpora(n: int, seed: int) -> dict[str, list[Essay]]:
    """Name of the mix -> essays."""
    parts = [part.strip() for template in read_templates(ASSETS) for part in template.parts if isinstance(part, str)]
    sentences = [part for part in parts if 5 < len(part.split()) < 40]
    rng = random.Random(seed)
    kinds, shares = list(CRAPII), list(CRAPII.values())
    everything = ["NAME_STUDENT", "NAME_STUDENT", *DETAILS]
    return {
        "crapii": [make_essay(rng, rng.choices(kinds, shares, k=rng.choice((1, 1, 1, 2, 2, 3))), sentences) for _ in range(n)],
        "dense": [make_essay(rng, rng.choices(kinds, shares, k=12), sentences) for _ in range(n // 4)],
        "all labels": [make_essay(rng, rng.sample(everything, len(everything)), sentences) for _ in range(n // 4)],
    }


def with_plan(essays: Sequence[Essay]) -> int:
    """Replaces all spans, returns how many."""
    made = 0
    for text, spans in essays:
        items = [Item(start, end, label, "surrogate") for start, end, label in spans]
        found = plan(text, items, profile=PROFILE, chance=KEY.within("document:" + KEY.digest("document", text).hex()))
        apply_replacements(text, found)
        made += sum(replacement.note != NO_SURROGATE for replacement in found)
    return made


@cache
def makers() -> dict[str, Callable[[], Any]]:
    """What Faker has for each label."""
    from faker import Faker

    fake = Faker("en_US")
    fake.seed_instance(0)
    return {"NAME_STUDENT": fake.name} | {label: getattr(fake, name) for label, (_, name) in DETAILS.items()}


def with_faker(essays: Sequence[Essay]) -> int:
    """Has Faker make a value for each span, returns how many."""
    return len([makers()[label]() for _, spans in essays for _, _, label in spans])


SYSTEMS: dict[str, Callable[[Sequence[Essay]], int]] = {"plan": with_plan, "faker": with_faker}


def forget() -> None:
    """Empty every bounded cache of the package: they hold names and values of texts, not tables."""
    for name, module in list(sys.modules.items()):
        if name.startswith("pii_components"):
            for value in vars(module).values():
                if callable(getattr(value, "cache_clear", None)) and value.cache_parameters()["maxsize"] is not None:
                    value.cache_clear()


def rates(essays: Sequence[Essay], passes: int) -> dict[str, dict[str, Any]]:
    """Time the systems, taking turns, after one pass to warm up."""
    seconds: dict[str, list[float]] = {name: [] for name in SYSTEMS}
    made = {}
    for _ in range(passes + 1):
        for name, run in SYSTEMS.items():
            forget()
            start = time.process_time()
            made[name] = run(essays)
            seconds[name].append(time.process_time() - start)
    return {name: {"per_second": round(made[name] / min(seconds[name][1:])), "surrogates": made[name]} for name in SYSTEMS}


def main(
    *,
    essays: Annotated[int, typer.Option(help="Of the first corpus.")] = 1_600,
    passes: Annotated[int, typer.Option(help="How often each is gone through.")] = 16,
    out: common.OutOpt = Path("metrics/surrogate_speed.json"),
) -> None:
    """Make, measure, write."""
    mixes: dict[str, Any] = {}
    for name, mix in corpora(essays, 0).items():
        found = rates(mix, passes)
        labels = Counter(label for _, spans in mix for _, _, label in spans)
        mixes[name] = {
            "essays": len(mix),
            "words_per_essay": round(sum(len(text.split()) for text, _ in mix) / len(mix)),
            "spans_per_essay": round(labels.total() / len(mix), 2),
            "labels": dict(labels.most_common()),
            **found,
            "ratio": round(found["plan"]["per_second"] / found["faker"]["per_second"], 2),
        }
    measured = "surrogates per second of processor time, one process, one thread; the fastest pass"
    report = common.head() | {"measured": measured, "mixes": mixes}
    columns = "essays spans_per_essay plan.per_second faker.per_second ratio"
    common.publish("bench_surrogates", report, out, lambda made, to: common.show(to, "", made["mixes"], columns))


if __name__ == "__main__":
    typer.run(main)
