"""Surrogates per second on one core, and how they compare with unlinked ones of Faker: metrics/surrogate_speed.json.

    python -m scripts.bench_surrogates --essays 1600 --passes 16 --out metrics/surrogate_speed.json

Two corpora of invented people with known spans: "linked", a dozen names, addresses and handles to an essay, in every form (linked_corpus), and
"authored", whole essays with every label (robustness). Two things are timed, in processor time of one process without threads: `plan`
(linking, surrogates, the new text and its offsets), and Faker making one value of the same kind for each span, which knows no person, no key
and no original.

The essays are gone through several times, each time as if for the first: what is kept of earlier names, words and values is forgotten before.
The fastest pass counts, as `timeit` advises, since others may use the machine too. Needs the extra `train` (Faker).
"""

import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from itertools import cycle, islice
from pathlib import Path
from typing import Annotated, Any

import typer

from pii_components.files.formats.base import GoldSpan
from pii_components.labels import LABELS, is_name
from pii_components.offsets import apply_replacements
from pii_components.profiles import Profile
from pii_components.surrogates.keys import Chance
from pii_components.surrogates.plan import NO_SURROGATE, plan
from pii_components.surrogates.values import Item
from scripts import common
from scripts.linked_corpus import linked_essays
from scripts.robustness import authored_essays

ASSETS = Path(__file__).parents[1] / "assets"
PROFILE = Profile("all", actions=dict.fromkeys(LABELS, "surrogate"))
KEY = Chance(b"a key for measuring speed only, 01")
# What of Faker stands beside a label; a name beside every other.
FAKER = {
    "EMAIL": "email",
    "USERNAME": "user_name",
    "URL_PERSONAL": "uri",
    "ID_NUM": "bothify",
    "PHONE_NUM": "phone_number",
    "STREET_ADDRESS": "address",
    "AGE": "random_int",
    "DATE": "date",
    "LOCATION": "city",
    "EDUCATION": "company",
    "EMPLOYER": "company",
}
Essay = tuple[str, Sequence[GoldSpan]]


def corpora(n: int, seed: int) -> dict[str, list[Essay]]:
    """Name of the corpus -> n essays; the authored ones are those that training has not seen, in turn and again."""
    linked: list[Essay] = [
        (e.text, [m[:3] for m in e.mentions]) for e in linked_essays(n, seed=seed)
    ]
    authored: list[Essay] = [(e.text, e.spans) for e in authored_essays(ASSETS)]
    return {"linked": linked, "authored": list(islice(cycle(authored), n))}


def with_plan(essays: Sequence[Essay]) -> int:
    """Replaces all spans, returns how many."""
    made = 0
    for text, spans in essays:
        items = [Item(start, end, label, "surrogate") for start, end, label in spans]
        found = plan(
            text,
            items,
            profile=PROFILE,
            chance=KEY.within("document:" + KEY.digest("document", text).hex()),
        )
        apply_replacements(text, found)
        made += sum(replacement.note != NO_SURROGATE for replacement in found)
    return made


@cache
def makers() -> dict[str, Callable[[], Any]]:
    """What Faker has for each label."""
    from faker import Faker

    fake = Faker("en_US")
    fake.seed_instance(0)
    return {
        label: fake.name if is_name(label) else getattr(fake, FAKER.get(label, "name"))
        for label in LABELS
    }


def with_faker(essays: Sequence[Essay]) -> int:
    """Has Faker make a value for each span, returns how many."""
    return len([makers()[label]() for _, spans in essays for _, _, label in spans])


SYSTEMS: dict[str, Callable[[Sequence[Essay]], int]] = {"plan": with_plan, "faker": with_faker}


def forget() -> None:
    """Empty every bounded cache of the package: they hold names and values of texts, not tables."""
    for name, module in list(sys.modules.items()):
        if name.startswith("pii_components"):
            for value in vars(module).values():
                if (
                    callable(getattr(value, "cache_clear", None))
                    and value.cache_parameters()["maxsize"] is not None
                ):
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
    return {
        name: {"per_second": round(made[name] / min(seconds[name][1:])), "surrogates": made[name]}
        for name in SYSTEMS
    }


def main(
    *,
    essays: Annotated[int, typer.Option(help="Of each corpus.")] = 1_600,
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
    common.publish(
        "bench_surrogates",
        report,
        out,
        lambda made, to: common.show(to, "", made["mixes"], columns),
    )


if __name__ == "__main__":
    typer.run(main)
