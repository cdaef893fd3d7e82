"""Is a student's name found as often whatever the gender and the culture: ten groups on the same texts, only the names differ.

    python -m scripts.fairness --pipeline en_pii_edu --out metrics/fairness.json

Texts are the authored chats of the test part (assets/chats) that name the student, and those authored essays of the test part that name
a student and do not tell by a pronoun who it is. Each is filled for both genders and the five regions of the UN with names of
`corpus.people` (as the JEDM paper, section 3.6, fills TSCC). Intervals are bootstraps over what was filled: the ten versions of
a text are drawn together, so a gap is paired. Exit code 1: a gender or a culture is too far below the rest, or has too few names.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import numpy
import typer
from rich.console import Console

from pii_components.cli.common import DONE, DONE_WITH_SKIPS, guard
from pii_components.corpus.build import RECIPES, Filler, dress, rng_for
from pii_components.corpus.chats import fill_chat, read_chats
from pii_components.corpus.people import CULTURES, GROUPS, check_group, given_names, surnames
from pii_components.errors import Errors, PiiError
from pii_components.evaluate.gold import Entity, GoldDocument
from pii_components.evaluate.match import in_clear
from pii_components.evaluate.metrics import N_RESAMPLES, SEED, gap_of, mann_whitney, rate, resample
from pii_components.evaluate.report import plain
from pii_components.evaluate.systems import PipelineSystem, System, make_system
from pii_components.evaluate.tables import progress_bar, split_list
from pii_components.labels import NAME_STUDENT
from pii_components.names.table import NameTable, name_table
from pii_components.profiles import Profile
from pii_components.surrogates.keys import pick
from scripts import common
from scripts.common import Protects
from scripts.robustness import authored_parts

CHATS, ESSAYS = "chats", "essays"
KINDS = (CHATS, ESSAYS)
GENDER_NAMES = {"F": "Female", "M": "Male"}
# What the project asks for: no group more than .02 below the rest, on 200 names each.
MOST_BELOW, LEAST_NAMES = 0.02, 200


def main(
    *,
    pipeline: common.PipelineOpt = "en_pii_edu",
    profile: common.ProfileOpt = "crapii",
    assets: common.AssetsOpt = Path("assets"),
    kinds: Annotated[str, typer.Option(help="chats, essays, or both with a comma between them.")] = "chats,essays",
    fillings: Annotated[int, typer.Option(min=1, help="Times that each text is filled for each of the ten groups.")] = 2,
    limit: Annotated[int, typer.Option(min=0, help="Chats and essays at most, of each; 0 for all.")] = 0,
    most_below: Annotated[float, typer.Option(min=0, max=1, help="How far recall may be below the rest.")] = MOST_BELOW,
    least_names: Annotated[int, typer.Option(min=0, help="Names that each gender and culture must have.")] = LEAST_NAMES,
    out: common.OutOpt = None,
    seed: common.SeedOpt = 46,
    resamples: common.ResamplesOpt = N_RESAMPLES,
    quiet: common.QuietOpt = False,
    debug: common.DebugOpt = False,
) -> None:
    """Recall of students' names by gender and culture: the same chats and essays, filled with names of ten groups."""
    with guard(debug):
        common.early(out)
        protects = Profile.load(profile).protects
        texts = group_texts(assets, fillings=fillings, seed=seed, kinds=split_list(kinds), limit=limit)
        if not texts:
            raise PiiError(Errors.E762, what="--kinds", needed="texts")
        system = make_system(pipeline, protects=protects)
        if isinstance(system, PipelineSystem):
            system.keep_roles = True
        with progress_bar("fairness", len(texts)) as advance:
            found = measure_fairness(
                system, texts, protects=protects, most_below=most_below, least_names=least_names, n_resamples=resamples,
                progress=advance,
            )  # fmt: skip
        report = {"profile": Path(profile).name, "fillings": fillings, "seed": seed, **found}
        common.publish("fairness", report, out, None if quiet else print_fairness)
        raise typer.Exit(DONE if report["asked"]["holds"] else DONE_WITH_SKIPS)


def print_fairness(report: Mapping[str, Any], to: Console) -> None:
    """Print the tables."""
    keys = "names people recall gap p exact anywhere"
    common.show(to, "All texts, each in ten versions", {"all": report["all"]}, keys)
    for category, groups in report["groups"].items():
        common.show(to, f"By {category}; gap: recall less that of the rest", groups, keys)
    for kind, part in report["by_kind"].items():
        common.show(to, f"{kind} only", {**part["gender"], **part["culture"]}, keys)
    common.show(to, "Is no gender and no culture too far below the rest?", [report["asked"]], " ".join(report["asked"]))


# --- the texts


@dataclass(frozen=True, slots=True)
class GroupText:
    """A text with people of a group; `base` is what was filled, the same for all groups, and its entities are the students' names."""

    gender: str
    culture: str
    kind: str
    base: str
    document: GoldDocument = field(repr=False)


class GroupTable(NameTable):
    """The table of names, but people are drawn from one culture, a key of `CULTURES`."""

    def __init__(self, culture: str) -> None:
        check_group("F", culture)
        self.__dict__.update(name_table().__dict__)
        self.culture = culture

    def sample_given(self, rng: Any, gender: str | None = None, region: str | None = None) -> str:
        return pick(rng, given_names(gender or ("F" if rng.random() < 0.5 else "M"), self.culture))

    def sample_surname(self, rng: Any, region: str | None = None) -> str:
        return pick(rng, surnames(self.culture))


def group_texts(
    assets: Path, *, fillings: int = 2, seed: int = 46, kinds: Sequence[str] = KINDS, limit: int = 0
) -> list[GroupText]:
    """Texts of all ten groups, the same number for each.

    fillings (int): Times that each is filled for each group. limit (int): Chats and essays at most, of each; 0 for all.
    RAISES (PiiError): E603, E684 if there are none, E685 for a kind that is not of `KINDS`.
    """
    for kind in kinds:
        if kind not in KINDS:
            raise PiiError(Errors.E685, value=kind, what="kind of texts", allowed=", ".join(KINDS))
    texts = _chats(assets / "chats", fillings, seed, limit) if CHATS in kinds else []
    return texts + (_essays(assets, fillings, seed, limit) if ESSAYS in kinds else [])


def _text(kind: str, base: str, group: tuple[str, str], text: str, spans: Sequence[tuple[int, int, str]]) -> GroupText:
    ident = f"{kind}.{base}.{'.'.join(group)}"
    names = tuple(Entity(ident, start, end, label, text[start:end]) for start, end, label in spans if label == NAME_STUDENT)
    return GroupText(*group, kind, f"{kind}.{base}", GoldDocument(ident, text, names))


def _chats(folder: Path, fillings: int, seed: int, limit: int) -> list[GroupText]:
    chats = sorted(read_chats(folder), key=lambda chat: chat.id)
    # The rules for conversations were made beside the others. A corpus without parts is taken as a whole.
    chats = [chat for chat in chats if chat.part == "test"] or chats
    out: list[GroupText] = []
    for chat in chats:
        for n in range(1, fillings + 1):
            for group in GROUPS:
                made = fill_chat(chat, gender=group[0], culture=group[1], seed=seed, number=n)
                text = _text(CHATS, f"{chat.id}.{n}", group, made.text, made.spans)
                out += [text] if text.document.entities else []
        if limit and len({text.base for text in out}) >= limit * fillings:
            break
    return out


def _essays(assets: Path, fillings: int, seed: int, limit: int) -> list[GroupText]:
    templates, blocks = authored_parts(assets)
    templates = [
        template
        for template in templates
        if template.genders.get("student", "x") == "x"
        and any(slot.who == "student" and slot.label == NAME_STUDENT for slot in template.slots)
    ]
    if not templates:
        raise PiiError(Errors.E603, path=assets.name)
    tables = {culture: GroupTable(culture) for culture in CULTURES}
    out = []
    for template in templates[:limit] if limit else templates:
        for n in range(fillings):
            for gender, culture in GROUPS:
                rng = rng_for(seed, "fairness", template.id, n)
                genders = {**template.genders, "student": gender.lower()}
                filler = Filler(tables[culture], rng, genders=genders, worn=RECIPES["test"].worn)
                filled = filler.fill(template.parts)
                if n:
                    filled = dress(filled, filler, blocks, rng, header=0.35)
                out.append(_text(ESSAYS, f"{template.id}.{n}", (gender, culture), filled.text, filled.spans))
    return out


# --- counting


def found_names(text: GroupText, predicted: Sequence[Entity], protects: Protects) -> list[tuple[bool, bool, bool]]:
    """Whether each student's name is found, in three ways.

    Hidden: no character in clear, whatever the label; exact: the very offsets with a label that is protected; anywhere: the same
    string is protected somewhere in the text, as the JEDM paper counts.
    """
    kept = [entity for entity in predicted if protects(entity.label)]
    hidden = {at for entity in kept for at in range(entity.start, entity.end)}
    exact, strings = {(entity.start, entity.end) for entity in kept}, {entity.text for entity in kept}
    names = text.document.entities
    return [(not in_clear(name, hidden), (name.start, name.end) in exact, name.text in strings) for name in names]


def measure_fairness(
    system: System, texts: Sequence[GroupText], *, protects: Protects | None = None, most_below: float = MOST_BELOW,
    least_names: int = LEAST_NAMES, n_resamples: int = N_RESAMPLES, progress: Callable[[], None] = lambda: None,
) -> dict[str, Any]:  # fmt: skip
    """Recall of students' names by gender, by culture and by both, each against the rest. RAISES (PiiError): E762, without names."""
    rows: list[_Row] = []
    for text, predicted in zip(texts, system.find([text.document for text in texts]), strict=True):
        rows += [(text, found) for found in found_names(text, predicted, protects or system.protects)]
        progress()
    if not rows:
        raise PiiError(Errors.E762, what="The texts", needed="student's name")
    counted = _Counted(rows, n_resamples)
    groups = {category: counted.groups(category) for category in ("gender", "culture", "gender and culture")}
    # What the project asks is asked of genders and cultures; the ten cells are told beside it.
    asked = [(f"{category} {name}", found) for category in ("gender", "culture") for name, found in groups[category].items()]
    worst_name, worst = min(asked, key=lambda item: item[1].get("gap", 0.0))
    fewest = min(found["names"] for _, found in asked)
    parts = {kind: _Counted([row for row in rows if row[0].kind == kind], n_resamples) for kind in KINDS}
    return common.head(system) | {
        "rule": "a student's name is found if no character of it is left in clear; exact and anywhere are told beside it",
        "bootstrap": {"unit": "text with its ten versions", "resamples": n_resamples, "seed": SEED, "level": 0.95},
        "texts": {
            "documents": len(texts),
            "words": sum(text.document.n_words for text in texts),
            **{kind: len({text.base for text in texts if text.kind == kind}) for kind in KINDS},
        },
        "all": counted.recall(),
        "groups": groups,
        "by_kind": {
            kind: {"all": part.recall(), "gender": part.groups("gender"), "culture": part.groups("culture")}
            for kind, part in parts.items()
            if part.texts
        },
        "asked": {
            "most_below": most_below,
            "least_names": least_names,
            "worst": worst_name,
            "worst_gap": worst.get("gap"),
            "worst_gap_95": worst.get("gap_95"),
            "fewest_names": fewest,
            "holds": fewest >= least_names and worst.get("gap", 0.0) >= -most_below,
        },
    }


_Row = tuple[GroupText, tuple[bool, bool, bool]]


class _Counted:
    """Names as arrays, a row for each: the number of its text and by which of the three rules it is found."""

    def __init__(self, rows: Sequence[_Row], n_resamples: int) -> None:
        self.texts = [text for text, _ in rows]
        at = {base: i for i, base in enumerate(sorted({text.base for text in self.texts}))}
        self.n = len(at)
        self.base = numpy.asarray([at[text.base] for text in self.texts], dtype="i8")
        self.found = numpy.asarray([found for _, found in rows], dtype=bool).reshape(-1, 3)
        self.weights = resample(max(1, self.n), n_resamples=n_resamples, seed=SEED)

    def _count(self, chosen: numpy.ndarray) -> numpy.ndarray:
        return numpy.bincount(self.base[chosen], minlength=self.n)

    def recall(self, chosen: numpy.ndarray | None = None) -> dict[str, Any]:
        """Of the chosen names (all): how many, of how many people, and recall by each rule."""
        chosen = numpy.ones(len(self.texts), dtype=bool) if chosen is None else chosen
        whole = self._count(chosen)
        rates = {
            name: rate(self._count(chosen & self.found[:, i]), whole, self.weights)
            for i, name in enumerate(("recall", "exact", "anywhere"))
        }
        people = {(self.texts[i].base, self.texts[i].gender, self.texts[i].culture) for i in numpy.flatnonzero(chosen)}
        return {"names": int(chosen.sum()), "people": len(people), **plain(rates)}

    def groups(self, category: str) -> dict[str, Any]:
        """By group of a category: `recall`, and its gap to the rest with interval and Mann-Whitney's p."""
        names = [{"gender": GENDER_NAMES[text.gender], "culture": text.culture} for text in self.texts]
        of = numpy.asarray([", ".join(name[part] for part in category.split(" and ")) for name in names], dtype=object)
        hits, out = self.found[:, 0], {}
        for name in sorted(set(of.tolist())):
            inside = of == name
            sides = [self._count(chosen) for chosen in (inside & hits, inside, ~inside & hits, ~inside)]
            _, p = mann_whitney(*(int(side.sum()) for side in sides))
            gap = gap_of(sides, self.weights)
            out[name] = self.recall(inside) | plain({"gap": gap}) | ({} if gap is None else {"p": round(p, 4)})
        return out


if __name__ == "__main__":
    typer.run(main)
