"""Surrogates per second on one core, and how they compare with unlinked ones of Faker: metrics/surrogate_speed.json.

    python -m scripts.bench_surrogates --essays 1600 --passes 16 --out metrics/surrogate_speed.json

Three corpora of invented essays, each of about 400 words. "crapii" has CRAPII's labels in CRAPII's shares, two or so to an essay;
"dense" the same labels, a dozen to an essay, as in headers and posts to a forum; "all labels" every label with a generator equally
often, thirteen to an essay. Three things are timed, in processor time of one process without threads: `plan` (linking,
surrogates, the new text and its offsets), the component over spaCy Docs, and Faker making one value of the same kind for each span, which
knows no person, no key and no original. A surrogate is a span that was replaced.

The essays are gone through several times, each time as if for the first: what is kept of earlier names, words and values is forgotten before.
Where others use the machine too, processor time counts more than the work, so the least time of each few essays is taken, as `timeit`
advises; `passes` tells what whole passes gave, load and all. The loop that is timed before and after tells how fast the processor is:
.06 s where nobody else uses a core of 2.5 GHz. Needs the extra `train` (Faker).
"""

import os
import random
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import spacy
import typer

from pii_components.corpus.people import Person, invent_detail, invent_person
from pii_components.corpus.templates import Slot, read_templates
from pii_components.evaluate.report import machine, versions
from pii_components.labels import LABELS
from pii_components.names.table import name_table
from pii_components.offsets import apply_replacements
from pii_components.profiles import Profile
from pii_components.spans import Candidate, write_spans
from pii_components.surrogates.component import HipsSurrogate
from pii_components.surrogates.keys import Chance
from pii_components.surrogates.plan import plan
from pii_components.surrogates.values import Item
from scripts import common

ASSETS = Path(__file__).parents[1] / "assets"
PROFILE = Profile("all", actions=dict.fromkeys(LABELS, "surrogate"))
KEY = b"a key for measuring speed only, 01"
WORDS = 400
# Essays between two looks at the clock: a batch of `pipe`.
FEW = 128
# Spans of each label: of CRAPII's 22,688 essays for the first four (PII of students), of its published part for the rest.
CRAPII = {
    "NAME_STUDENT": 4394,
    "URL_PERSONAL": 354,
    "EMAIL": 112,
    "PHONE_NUM": 15,
    "ID_NUM": 260,
    "USERNAME": 20,
    "STREET_ADDRESS": 7,
}
DETAILS = {
    "EMAIL": "email", "USERNAME": "username", "URL_PERSONAL": "url", "PHONE_NUM": "phone", "ID_NUM": "id", "STREET_ADDRESS": "address",
    "AGE": "age", "DATE": "birthday", "LOCATION": "town", "EDUCATION": "school", "EMPLOYER": "employer",
}  # fmt: skip
FORMS = (
    "full",
    "full",
    "full",
    "first",
    "first",
    "last",
    "initial_last",
    "first_initial",
    "last_first",
    "middle",
    "nick",
    "under",
)
Essay = tuple[str, list[tuple[int, int, str]]]
Run = Callable[[slice], int]


def detail(label: str, person: Person, rng: random.Random) -> str:
    """A value of a person, the same each time for what somebody has one of."""
    what = DETAILS[label]
    if what not in person.details or label in ("DATE", "LOCATION", "EDUCATION", "EMPLOYER"):
        person.details[what] = invent_detail(what, person.first, person.last, rng)
    return person.details[what]


def make_essay(rng: random.Random, labels: Sequence[str], sentences: Sequence[str]) -> Essay:
    """Text and spans."""
    table = name_table()
    people: list[Person] = []
    for _ in range(1 + len(labels) // 6):
        taken = frozenset(w for p in people for w in (p.first, p.last))
        people.append(invent_person(rng, table, gender=rng.choice("fmx"), avoid=taken))
    parts: list[str] = []
    size = 0
    while size < WORDS:
        parts.append(rng.choice(sentences))
        size += parts[-1].count(" ") + 1
    places = sorted(rng.randrange(len(parts)) for _ in labels)
    text, spans, last = "", [], 0
    for label, place in zip(labels, places, strict=True):
        person = people[0] if rng.random() < 0.6 else rng.choice(people)
        text += " ".join(parts[last:place]) + (" " if place > last else "")
        last = place
        value = (
            person.render(Slot("student", rng.choice(FORMS)), rng) if label == "NAME_STUDENT" else detail(label, person, rng)
        )
        spans.append((len(text), len(text) + len(value), label))
        text += value + " "
    return text + " ".join(parts[last:]), spans


def corpora(n: int, seed: int) -> dict[str, list[Essay]]:
    """Name of the mix -> essays."""
    sentences = []
    for template in read_templates(ASSETS):
        sentences += [part.strip() for part in template.parts if isinstance(part, str) and 5 < len(part.split()) < 40]
    rng = random.Random(seed)
    kinds, shares = list(CRAPII), list(CRAPII.values())
    everything = ["NAME_STUDENT", "NAME_STUDENT", *DETAILS]
    return {
        "crapii": [make_essay(rng, rng.choices(kinds, shares, k=rng.choice((1, 1, 1, 2, 2, 3))), sentences) for _ in range(n)],
        "dense": [make_essay(rng, rng.choices(kinds, shares, k=12), sentences) for _ in range(n // 4)],
        "all labels": [make_essay(rng, rng.sample(everything, len(everything)), sentences) for _ in range(n // 4)],
    }


def with_plan(essays: Sequence[Essay]) -> Run:
    """Replaces all spans, returns how many."""

    documents = [(text, [Item(start, end, label, "surrogate") for start, end, label in spans]) for text, spans in essays]

    key = Chance(KEY)

    def run(part: slice) -> int:
        made = 0
        for text, items in documents[part]:
            replacements = plan(
                text, items, profile=PROFILE, chance=key.within("document:" + key.digest("document", text).hex())
            )
            apply_replacements(text, replacements)
            made += sum(rep.note != "no surrogate" for rep in replacements)
        return made

    return run


def with_component(essays: Sequence[Essay]) -> Callable[[], Run]:
    """Makes a component; what that gives sends Docs through it and returns how many spans it replaced."""

    nlp = spacy.blank("en")
    docs = []
    for text, spans in essays:
        doc = nlp.make_doc(text)
        found = [(doc.char_span(start, end, alignment_mode="expand"), label) for start, end, label in spans]
        write_spans(doc, [Candidate(span.start, span.end, label) for span, label in found if span])
        docs.append(doc)

    def make() -> Run:
        hips = HipsSurrogate(profile=PROFILE)
        hips.set_key(KEY)

        def run(part: slice) -> int:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return sum(len(doc.user_data["surrogate_spans"]) for doc in hips.pipe(docs[part]))

        return run

    return make


def with_faker(essays: Sequence[Essay]) -> Run:
    """Has Faker make a value for each span, returns how many."""
    from faker import Faker

    fake = Faker("en_US")
    fake.seed_instance(0)
    makers: dict[str, Callable[[], Any]] = {
        "NAME_STUDENT": fake.name, "EMAIL": fake.email, "USERNAME": fake.user_name, "URL_PERSONAL": fake.uri, "PHONE_NUM": fake.phone_number,
        "ID_NUM": lambda: fake.bothify("??######"), "STREET_ADDRESS": fake.address, "AGE": fake.random_int, "DATE": fake.date, "LOCATION": fake.city,
        "EDUCATION": fake.company, "EMPLOYER": fake.company,
    }  # fmt: skip
    labels = [[label for _, _, label in spans] for _, spans in essays]

    def run(part: slice) -> int:
        return len([makers[label]() for of_essay in labels[part] for label in of_essay])

    return run


def forget() -> None:
    """Empty every bounded cache of the package: they hold names and values of texts, not tables."""
    for name, module in list(sys.modules.items()):
        if name.startswith("pii_components"):
            for value in vars(module).values():
                if callable(getattr(value, "cache_clear", None)) and value.cache_parameters()["maxsize"] is not None:
                    value.cache_clear()


def rates(make: dict[str, Callable[[], Run]], essays: int, passes: int) -> dict[str, dict[str, Any]]:
    """Time them, taking turns, after one pass to warm up."""
    parts = [slice(i, min(i + FEW, essays)) for i in range(0, essays, FEW)]
    least = {name: [float("inf")] * len(parts) for name in make}
    made = {name: [0] * len(parts) for name in make}
    whole: dict[str, list[float]] = {name: [] for name in make}
    for turn in range(passes + 1):
        for name, new in make.items():
            run = new()
            forget()
            taken = []
            for i, part in enumerate(parts):
                start = time.process_time()
                made[name][i] = run(part)
                taken.append(time.process_time() - start)
            if turn:
                least[name] = [min(pair) for pair in zip(least[name], taken, strict=True)]
                whole[name].append(sum(made[name]) / sum(taken))
    return {
        name: {
            "per_second": round(sum(made[name]) / sum(least[name])),
            "passes": [round(min(whole[name])), round(max(whole[name]))],
            "surrogates": sum(made[name]),
        }
        for name in make
    }


def loop() -> float:
    """Seconds of processor time for a million turns of a loop; about .06 on a quiet machine of 2.5 GHz."""
    start, total = time.process_time(), 0
    for i in range(1_000_000):
        total += i * i
    return round(time.process_time() - start, 3)


def main(
    *,
    essays: Annotated[int, typer.Option(help="Of the first corpus.")] = 1_600,
    passes: Annotated[int, typer.Option(help="How often each is gone through.")] = 16,
    seed: common.SeedOpt = 0,
    out: Annotated[Path, typer.Option(help="Metrics file (JSON).")] = Path("metrics/surrogate_speed.json"),
) -> None:
    """Make, measure, write."""
    load, before = os.getloadavg()[0], loop()
    mixes: dict[str, Any] = {}
    others = corpora(essays, seed + 1)
    for name, mix in corpora(essays, seed).items():
        made: dict[str, Callable[[], Run]] = {
            "plan": partial(with_plan, others[name]),
            "component": with_component(mix),
            "faker": partial(with_faker, mix),
        }
        found = rates(made, len(mix), passes)
        labels = Counter(label for _, spans in mix for _, _, label in spans)
        per_second = {what: found[what]["per_second"] for what in made}
        mixes[name] = {
            "essays": len(mix),
            "words_per_essay": round(sum(len(text.split()) for text, _ in mix) / len(mix)),
            "spans_per_essay": round(labels.total() / len(mix), 2),
            "labels": dict(labels.most_common()),
            **found,
            "ratio": {f"{what} / faker": round(per_second[what] / per_second["faker"], 2) for what in ("plan", "component")},
        }
        print(f"{name} ({mixes[name]['spans_per_essay']} spans an essay): {per_second}")
    report = {
        "measured": "surrogates per second of processor time, one process, one thread, by the least time of every few essays; "
        "passes: slowest and fastest whole pass, whatever else ran",
        "machine": machine() | {"load_before": round(load, 2), "loop_seconds": [before, loop()]},
        "versions": versions(),
        "mixes": mixes,
    }
    common.publish("bench_surrogates", report, out, None)


if __name__ == "__main__":
    typer.run(main)
