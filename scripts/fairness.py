"""Is a student's name found as often whatever the gender and the culture: ten groups on the same texts, only the names differ.

    python -m scripts.fairness --pipeline en_pii_edu --out metrics/fairness.json

Texts are the authored chats of the test part (assets/chats) that name the student, and those authored essays of the test part that name
a student and do not tell by a pronoun who it is. Each is filled twice for both genders and the five regions of the UN with names of
`corpus.people` (as the JEDM paper, section 3.6, fills TSCC). Intervals are bootstraps over what was filled: the ten versions of
a text are drawn together, so a gap is paired. Exit code 1: a gender or a culture is too far below the rest, or has too few names.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import numpy
import typer

from pii_components.cli.common import DONE, DONE_WITH_SKIPS, guard
from pii_components.corpus.build import Filled, TemplateFiller, add_header, rng_for
from pii_components.corpus.people import CULTURES
from pii_components.errors import Errors, PiiError
from pii_components.evaluate.gold import Entity, GoldDocument
from pii_components.evaluate.metrics import (
    FEMALE,
    MALE,
    N_RESAMPLES,
    SEED,
    NameGroup,
    in_clear,
    rate,
    recall_by_group,
    resample,
)
from pii_components.evaluate.report import plain
from pii_components.evaluate.systems import System, make_system
from pii_components.labels import NAME_STUDENT
from pii_components.names.table import NameTable, name_table
from pii_components.profiles import Profile
from pii_components.surrogates.keys import pick
from scripts import common
from scripts.chats import FilledChat, Placeholders, fill_chat, read_chats
from scripts.common import Protects
from scripts.cultures import GROUPS, given_names, surnames
from scripts.robustness import DRAWN, authored_parts

KINDS = (CHATS, ESSAYS) = ("chats", "essays")
FILLINGS = 2
WAYS = ("recall", "exact", "anywhere")
# What the project asks for: no group more than .02 below the rest, on 200 names each.
MOST_BELOW, LEAST_NAMES = 0.02, 200


def main(
    *,
    pipeline: common.PipelineOpt = "en_pii_edu",
    assets: common.AssetsOpt = Path("assets"),
    limit: Annotated[
        int, typer.Option(min=0, help="Chats and essays at most, of each; 0 for all.")
    ] = 0,
    out: common.OutOpt = None,
    debug: common.DebugOpt = False,
) -> None:
    """Recall of students' names by gender and culture: the same chats and essays, filled with names of ten groups."""
    with guard(debug):
        common.early(out)
        protects = Profile.load("crapii").protects
        texts = _chats(assets / "chats", limit) + _essays(assets, limit)
        system = make_system(pipeline, protects=protects)
        report = {"profile": "crapii", "fillings": FILLINGS, "seed": DRAWN} | measure_fairness(
            system, texts, protects
        )
        common.publish(
            "fairness", report, out, lambda made, to: to.print(table(made), markup=False)
        )
        raise typer.Exit(DONE if report["asked"]["holds"] else DONE_WITH_SKIPS)


# --- the texts


@dataclass(frozen=True, slots=True)
class GroupText:
    """A text with people of a group; `base` is what was filled, the same for all groups, and its entities are the students' names."""

    group: NameGroup
    kind: str
    base: str
    document: GoldDocument = field(repr=False)


class GroupTable(NameTable):
    """The table of names, but people are drawn from one culture, a key of `CULTURES`."""

    def __init__(self, culture: str) -> None:
        self.__dict__.update(name_table().__dict__)
        self.culture = culture

    def sample_given(self, rng: Any, gender: str | None = None, region: str | None = None) -> str:
        return pick(rng, given_names(gender or ("F" if rng.random() < 0.5 else "M"), self.culture))

    def sample_surname(self, rng: Any, region: str | None = None) -> str:
        return pick(rng, surnames(self.culture))


def _text(
    kind: str, base: str, gender: str, culture: str, filled: Filled | FilledChat
) -> GroupText:
    ident = f"{kind}.{base}.{gender}.{culture}"
    names = []
    for start, end, label in filled.spans:
        if label == NAME_STUDENT:
            names.append(Entity(ident, start, end, label, filled.text[start:end]))
    group = NameGroup({"F": FEMALE, "M": MALE}[gender], culture)
    return GroupText(group, kind, f"{kind}.{base}", GoldDocument(ident, filled.text, tuple(names)))


def _chats(folder: Path, limit: int) -> list[GroupText]:
    """Of chats of the test part: the rules for conversations were made beside the others. RAISES (PiiError): E601, if there are none."""
    out: list[GroupText] = []
    table = Placeholders()
    chats = [chat for chat in read_chats(folder, table=table) if chat.part == "test"]
    for chat in sorted(chats, key=lambda chat: chat.id):
        for n, (gender, culture) in product(range(1, FILLINGS + 1), GROUPS):
            group = {"gender": gender, "culture": culture, "number": n}
            filled = fill_chat(chat, **group, seed=DRAWN, table=table)
            text = _text(CHATS, f"{chat.id}.{n}", gender, culture, filled)
            if text.document.entities:
                out.append(text)
        if limit and len({text.base for text in out}) >= limit * FILLINGS:
            break
    return out


def _essays(assets: Path, limit: int) -> list[GroupText]:
    """RAISES (PiiError): E552, if there are none."""
    templates, blocks = authored_parts(assets)
    named = []
    for template in templates:
        names = [
            slot for slot in template.slots if (slot.who, slot.label) == ("student", NAME_STUDENT)
        ]
        if names and template.genders.get("student", "x") == "x":
            named.append(template)
    tables = {culture: GroupTable(culture) for culture in CULTURES}
    out = []
    for template, n in product(named[: limit or None], range(FILLINGS)):
        for gender, culture in GROUPS:
            rng = rng_for(DRAWN, "fairness", template.id, n)
            genders = {**template.genders, "student": gender.lower()}
            filler = TemplateFiller(tables[culture], rng, genders=genders)
            filled = filler.fill(template.parts)
            if n:
                filled = add_header(filled, filler, blocks, rng, header=0.35)
            out.append(_text(ESSAYS, f"{template.id}.{n}", gender, culture, filled))
    return out


def table(report: Mapping[str, Any]) -> str:
    """RETURNS (str): Markdown: recall per gender and culture, and how far it is from the rest."""
    rows = []
    for category in ("gender", "culture"):
        for name, found in report["groups"][category].items():
            gap = "{:+.3f} ({:+.3f} to {:+.3f})".format(found["gap"], *found["gap_95"])
            counts = [str(found["names"]), str(found["people"])]
            rows.append([name, *counts, common.cell(found, "recall", interval=True), gap])
    asked = report["asked"]
    told = (
        f"No group more than {asked['most_below']} below the rest, on {asked['least_names']} names "
        f"a group: {'holds' if asked['holds'] else 'does not hold'}; the worst is "
        f"{asked['worst'].split(' ', 1)[1]}."
    )
    head = ["names", "mentions", "people", "recall (95 % interval)"]
    return "\n".join([*common.lines_of([*head, "less the rest (95 % interval)"], rows), "", told])


# --- counting


def found_names(
    text: GroupText, predicted: Sequence[Entity], protects: Protects
) -> list[tuple[bool, ...]]:
    """Whether each student's name is found, in three ways.

    Hidden: no character in clear, whatever the label; exact: the very offsets with a label that is protected; anywhere: the same
    string is protected somewhere in the text, as the JEDM paper counts.
    """
    kept = {(e.start, e.end): e.text for e in predicted if protects(e.label)}
    hidden = {at for place in kept for at in range(*place)}
    names = text.document.entities
    return [
        (not in_clear(name, hidden), (name.start, name.end) in kept, name.text in kept.values())
        for name in names
    ]


def measure_fairness(
    system: System, texts: Sequence[GroupText], protects: Protects
) -> dict[str, Any]:
    """Recall of students' names by gender and by culture, each against the rest. RAISES (PiiError): E552, without names."""
    rows: list[tuple[GroupText, tuple[bool, ...]]] = []
    all_found = system.entities([text.document for text in texts])
    for text, predicted in zip(common.track("fairness", texts), all_found, strict=True):
        rows += [(text, found) for found in found_names(text, predicted, protects)]
    if not rows:
        raise PiiError(Errors.E552, what="The texts", reason="no student's name")
    whole = by_group(rows)
    asked = {}
    for category in ("gender", "culture"):
        asked |= {f"{category} {name}": found for name, found in whole[category].items()}
    worst = min(asked, key=lambda name: asked[name].get("gap", 0.0))
    gap, fewest = asked[worst].get("gap", 0.0), min(found["names"] for found in asked.values())
    parts = {kind: [row for row in rows if row[0].kind == kind] for kind in KINDS}
    bootstrap = {"unit": "text with its ten versions", "resamples": N_RESAMPLES}
    return common.head(system) | {
        "rule": "a student's name is found if no character of it is left in clear; exact and anywhere are told beside it",
        "bootstrap": bootstrap | {"seed": SEED, "level": 0.95},
        "texts": {
            "documents": len(texts),
            "words": sum(text.document.n_words for text in texts),
            **{kind: len({text.base for text in texts if text.kind == kind}) for kind in KINDS},
        },
        "all": whole.pop("all"),
        "groups": whole,
        "by_kind": {kind: by_group(part) for kind, part in parts.items() if part},
        "asked": {
            "most_below": MOST_BELOW,
            "least_names": LEAST_NAMES,
            "worst": worst,
            "worst_gap": gap,
            "worst_gap_95": asked[worst].get("gap_95"),
            "fewest_names": fewest,
            "holds": fewest >= LEAST_NAMES and gap >= -MOST_BELOW,
        },
    }


def by_group(rows: Sequence[tuple[GroupText, tuple[bool, ...]]]) -> dict[str, Any]:
    """Recall in three ways of all names and, with the gap to the rest and Mann-Whitney's p, by gender and culture."""
    texts, found = [text for text, _ in rows], numpy.asarray([found for _, found in rows])
    bases = sorted({text.base for text in texts})
    weights = resample(len(bases))
    of = numpy.asarray([bases.index(text.base) for text in texts])
    total, *hits = (
        numpy.bincount(of, weights=x).astype("i8") for x in (numpy.ones(len(rows)), *found.T)
    )
    rates = {way: rate(some, total, weights) for way, some in zip(WAYS, hits, strict=True)}
    people = len({text.document.id for text in texts})
    out: dict[str, Any] = {"all": {"names": len(rows), "people": people, **plain(rates)}}
    # As if all versions of a text were one document: they are drawn together.
    gold = [Entity(text.base, 0, 1, NAME_STUDENT) for text in texts]
    ways = dict(zip(WAYS, found.T.tolist(), strict=True))
    groups = [text.group for text in texts]
    for test in recall_by_group(gold, groups, ways, documents=bases, weights=weights):
        mine = [text for text in texts if getattr(text.group, test.category) == test.group]
        counts = {"names": test.total, "people": len({text.document.id for text in mine})}
        entry = out.setdefault(test.category, {}).setdefault(test.group, counts)
        entry |= plain({test.system: test.recall})
        if test.system == WAYS[0] and test.gap:
            entry |= plain({"gap": test.gap, "p": round(test.p, 4)})
    return out


if __name__ == "__main__":
    typer.run(main)
