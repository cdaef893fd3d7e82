"""Is a student's name found as often whatever the gender and the culture: ten groups on the same texts, only the names differ.

    texts = group_texts(Path("assets"), fillings=2, seed=46)
    report = measure_fairness(system, texts, protects=Profile.load("crapii").protects)
    report["groups"]["culture"]["Asia"]["gap"]         # recall less that of all other cultures

Texts are the authored chats of the test part (assets/chats) that name the student, and those authored essays of the test part that name
a student and do not tell by a pronoun who it is. Each is filled for both genders and the five regions of the UN with names of
`corpus.culture_names` (as the JEDM paper, section 3.6, fills TSCC). Intervals are bootstraps over what was filled: the ten versions of
a text are drawn together, so a gap is paired.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import numpy
import typer
from rich.console import Console
from rich.table import Table

from pii_components.cli.common import DONE, DONE_WITH_SKIPS, guard
from pii_components.corpus.build import RECIPES, Filler, dress, rng_for, split_of
from pii_components.corpus.chats import fill_chat, read_chats
from pii_components.corpus.people import CULTURES, GROUPS, check_group, given_names, surnames
from pii_components.corpus.templates import read_fragments, read_templates
from pii_components.errors import Errors, PiiError
from pii_components.evaluate.gold import Entity, GoldDocument
from pii_components.evaluate.match import in_clear
from pii_components.evaluate.metrics import N_RESAMPLES, SEED, Estimate, gap_of, mann_whitney, rate, resample
from pii_components.evaluate.report import FORMAT, machine, plain, versions
from pii_components.evaluate.systems import System
from pii_components.evaluate.tables import console, interval, number, progress_bar, shown_command, split_list
from pii_components.labels import NAME_STUDENT
from pii_components.names.table import NameTable, name_table
from pii_components.profiles import Profile
from pii_components.surrogates.keys import pick

# `pii-edu evaluate fairness`: is a student's name found as often whatever the gender and the culture.

EPILOG = (
    "Exit codes: 0 done; 1 a gender or a culture is too far below the rest, or has too few names; 2 refused; 130 interrupted."
)

PipelineOpt = Annotated[str, typer.Option("--pipeline", help="Our pipeline, or another system, such as presidio-md.")]
ProfileOpt = Annotated[str, typer.Option("--profile", help="Says which labels are hidden.")]
AssetsOpt = Annotated[Path, typer.Option("--assets", help="Folder with essays/, fragments/ and chats/.")]
KindsOpt = Annotated[str, typer.Option("--kinds", help="chats, essays, or both with a comma between them.")]
FillingsOpt = Annotated[
    int, typer.Option("--fillings", min=1, help="Times that each text is filled for each of the ten groups.")
]
LimitOpt = Annotated[int, typer.Option("--limit", min=0, help="Chats and essays at most, of each; 0 for all.")]
BelowOpt = Annotated[float, typer.Option("--most-below", min=0, max=1, help="How far a group's recall may be below the rest.")]
LeastOpt = Annotated[int, typer.Option("--least-names", min=0, help="Names that each gender and culture must have.")]
OutOpt = Annotated[Path | None, typer.Option("--out", "-o", help="Metrics file (JSON).")]
SeedOpt = Annotated[int, typer.Option("--seed", help="Of the fillings.")]
ResamplesOpt = Annotated[int, typer.Option("--resamples", min=1, help="Bootstrap resamples of the texts.")]
QuietOpt = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]
DebugOpt = Annotated[bool, typer.Option("--debug", help="Raise unexpected errors with their traceback, which may show text.")]


def fairness(
    *,
    pipeline: PipelineOpt = "en_pii_edu",
    profile: ProfileOpt = "crapii",
    assets: AssetsOpt = Path("assets"),
    kinds: KindsOpt = "chats,essays",
    fillings: FillingsOpt = 2,
    limit: LimitOpt = 0,
    most_below: BelowOpt = 0.02,
    least_names: LeastOpt = 200,
    out: OutOpt = None,
    seed: SeedOpt = 46,
    resamples: ResamplesOpt = N_RESAMPLES,
    quiet: QuietOpt = False,
    debug: DebugOpt = False,
) -> None:
    """Recall of students' names by gender and culture: the same chats and essays, filled with names of ten groups.

    Texts are made by the command and are not trained on. Nothing of a text is shown or written.
    """
    from pii_components.evaluate.report import check_place, write_report
    from pii_components.evaluate.systems import PipelineSystem, make_system

    report: dict[str, Any] = {}
    with guard(debug):
        if out is not None:
            check_place(out)
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
        report |= {
            "command": shown_command("pii_components.cli evaluate fairness", sys.argv[3:]),
            "profile": Path(profile).name,
            "fillings": fillings,
            "seed": seed,
        } | found
        if out is not None:
            write_report(report, out)
        if not quiet:
            print_fairness(report, console())
    raise typer.Exit(DONE if report["asked"]["holds"] else DONE_WITH_SKIPS)


def print_fairness(report: Mapping[str, Any], to: Console) -> None:
    """Print the tables. report (Mapping[str, Any]): From the command or its metrics file. to (Console): Where to."""
    texts, overall, asked = report["texts"], report["all"], report["asked"]
    to.print(
        f"{texts['documents']} texts ({texts['chats']} chats and {texts['essays']} essays, each in ten versions), {texts['words']} words: "
        f"{overall['names']} students' names, recall {interval(overall, 'recall')}"
    )
    for category, groups in report["groups"].items():
        to.print(_table(f"By {category} (95 % intervals)", groups))
    for kind, part in report["by_kind"].items():
        to.print(_table(f"{kind} only", {**part["gender"], **part["culture"]}))
    verdict = "yes" if asked["holds"] else "no"
    to.print(
        f"No gender and no culture more than {asked['most_below']} below the rest on {asked['least_names']} names or more: {verdict}. "
        f"Worst: {asked['worst']}, {interval({'gap': asked['worst_gap'], 'gap_95': asked['worst_gap_95']}, 'gap', signed=True)}; fewest "
        f"names: {asked['fewest_names']}"
    )


def _table(title: str, groups: Mapping[str, Mapping[str, Any]]) -> Table:
    table = Table("", title=title, title_justify="left")
    for column in ("names", "people", "recall", "less the rest", "p", "exact", "anywhere"):
        table.add_column(column, justify="right")
    for name, found in groups.items():
        table.add_row(
            name, str(found["names"]), str(found["people"]), interval(found, "recall"), interval(found, "gap", signed=True),
            number(found.get("p")), number(found.get("exact")), number(found.get("anywhere")),
        )  # fmt: skip
    return table


CHATS, ESSAYS = "chats", "essays"
KINDS = (CHATS, ESSAYS)
GENDER_NAMES = {"F": "Female", "M": "Male"}
# What the project asks for: no group more than .02 below the rest, on 200 names each.
MOST_BELOW, LEAST_NAMES = 0.02, 200
RULES = ("hidden", "exact", "anywhere")


@dataclass(frozen=True, slots=True)
class GroupText:
    """A text with people of a group.

    gender (str): "F" or "M". culture (str): A key of `CULTURES`. kind (str): One of `KINDS`. base (str): What was filled, the same for
    all groups. document (GoldDocument): With the students' names as entities.
    """

    gender: str
    culture: str
    kind: str
    base: str
    document: GoldDocument = field(repr=False)


class GroupTable(NameTable):
    """The table of names, but people are drawn from one culture. culture (str): A key of `CULTURES`."""

    def __init__(self, culture: str) -> None:
        check_group("F", culture)
        self.__dict__.update(name_table().__dict__)
        self.culture = culture

    def sample_given(self, rng: Any, gender: str | None = None, region: str | None = None) -> str:
        sex = gender or ("F" if rng.random() < 0.5 else "M")
        return pick(rng, given_names(sex, self.culture))

    def sample_surname(self, rng: Any, region: str | None = None) -> str:
        return pick(rng, surnames(self.culture))


def group_texts(
    assets: Path, *, fillings: int = 2, seed: int = 46, kinds: Sequence[str] = KINDS, limit: int = 0
) -> list[GroupText]:
    """Texts of all ten groups.

    assets (Path): Folder with essays/, fragments/ and chats/. fillings (int): Times that each is filled for each group.
    seed (int): Of every choice. kinds (Sequence[str]): Of `KINDS`. limit (int): Chats and essays at most, of each; 0 for all.
    RETURNS (list[GroupText]): The same number for each group. RAISES (PiiError): E603, E684 if there are none, E685 for a kind.
    """
    for kind in kinds:
        if kind not in KINDS:
            raise PiiError(Errors.E685, value=kind, what="kind of texts", allowed=", ".join(KINDS))
    texts: list[GroupText] = []
    if CHATS in kinds:
        texts += _chats(assets / "chats", fillings, seed, limit)
    if ESSAYS in kinds:
        texts += _essays(assets, fillings, seed, limit)
    return texts


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
        filled = [
            (number, group, fill_chat(chat, gender=group[0], culture=group[1], seed=seed, number=number))
            for number in range(1, fillings + 1)
            for group in GROUPS
        ]
        texts = [_text(CHATS, f"{chat.id}.{number}", group, made.text, made.spans) for number, group, made in filled]
        out += [text for text in texts if text.document.entities]
        if limit and len({text.base for text in out}) >= limit * fillings:
            break
    return out


def _essays(assets: Path, fillings: int, seed: int, limit: int) -> list[GroupText]:
    templates = [
        template
        for template in read_templates(assets)
        if split_of(template.id) == "test"
        and template.genders.get("student", "x") == "x"
        and any(slot.who == "student" and slot.label == NAME_STUDENT for slot in template.slots)
    ]
    if not templates:
        raise PiiError(Errors.E603, path=assets.name)
    blocks = {
        kind: [block for n, block in enumerate(found) if split_of(f"{kind}|{n}") == "test"]
        for kind, found in read_fragments(assets).items()
    }
    tables = {culture: GroupTable(culture) for culture in CULTURES}
    recipe = RECIPES["test"]
    out = []
    for template in templates[:limit] if limit else templates:
        for number in range(fillings):
            for gender, culture in GROUPS:
                rng = rng_for(seed, "fairness", template.id, number)
                genders = {**template.genders, "student": gender.lower()}
                filler = Filler(tables[culture], rng, genders=genders, worn=recipe.worn)
                filled = filler.fill(template.parts)
                if number:
                    filled = dress(filled, filler, blocks, rng, header=0.35)
                out.append(_text(ESSAYS, f"{template.id}.{number}", (gender, culture), filled.text, filled.spans))
    return out


def found_names(text: GroupText, predicted: Sequence[Entity], protects: Callable[[str], bool]) -> list[tuple[bool, bool, bool]]:
    """Whether each student's name is found, in three ways.

    text (GroupText): With gold. predicted (Sequence[Entity]): All that was found. protects (Callable[[str], bool]): From a profile.
    RETURNS (list[tuple[bool, bool, bool]]): `hidden`: no character in clear, whatever the label; `exact`: the very offsets with a
        label that is protected; `anywhere`: the same string is protected somewhere in the text, as the JEDM paper counts.
    """
    kept = [entity for entity in predicted if protects(entity.label)]
    hidden = {at for entity in kept for at in range(entity.start, entity.end)}
    exact, strings = {(entity.start, entity.end) for entity in kept}, {entity.text for entity in kept}
    return [
        (not in_clear(name, hidden), (name.start, name.end) in exact, name.text in strings)
        for name in text.document.entities
    ]  # fmt: skip


def measure_fairness(
    system: System,
    texts: Sequence[GroupText],
    *,
    protects: Callable[[str], bool] | None = None,
    most_below: float = MOST_BELOW,
    least_names: int = LEAST_NAMES,
    n_resamples: int = N_RESAMPLES,
    seed: int = SEED,
    progress: Callable[[], None] = lambda: None,
) -> dict[str, Any]:
    """Recall of students' names by gender, by culture and by both, each against the rest.

    system (System): Loaded. texts (Sequence[GroupText]): From `group_texts`. protects (Callable[[str], bool] | None): From a profile;
    the system's own if None. most_below (float), least_names (int): What `holds` is about. n_resamples, seed (int): Of the bootstrap.
    progress (Callable[[], None]): Called after each text.
    RETURNS (dict[str, Any]): Plain data, without texts and names. RAISES (PiiError): E762, if nobody is named.
    """
    rows: list[_Name] = []
    rule = protects or system.protects
    for text, predicted in zip(texts, system.find([text.document for text in texts]), strict=True):
        for name, found in zip(text.document.entities, found_names(text, predicted, rule), strict=True):
            rows.append(_Name(text, name.text, found))
        progress()
    if not rows:
        raise PiiError(Errors.E762, what="The texts", needed="student's name")
    counted = _Counted(rows, n_resamples, seed)
    groups = {category: counted.groups(category) for category in ("gender", "culture", "gender and culture")}
    # What the project asks is asked of genders and cultures; the ten cells are told beside it.
    asked = [(f"{category} {name}", found) for category in ("gender", "culture") for name, found in groups[category].items()]
    worst_name, worst = min(asked, key=lambda item: item[1].get("gap", 0.0))
    least = min(found["names"] for _, found in asked)
    return {
        "format": FORMAT,
        "versions": versions(),
        "machine": machine(),
        "system": {"name": system.name, **system.about},
        "rule": "a student's name is found if no character of it is left in clear; exact and anywhere are told beside it",
        "bootstrap": {"unit": "text with its ten versions", "resamples": n_resamples, "seed": seed, "level": 0.95},
        "texts": {
            "documents": len(texts),
            "words": sum(text.document.n_words for text in texts),
            **{kind: len({text.base for text in texts if text.kind == kind}) for kind in KINDS},
        },
        "all": counted.recall(numpy.ones(len(rows), dtype=bool)),
        "groups": groups,
        "by_kind": {
            kind: {"all": part.recall(numpy.ones(len(part.rows), dtype=bool)), "gender": part.groups("gender"), "culture": part.groups("culture")}
            for kind in KINDS
            if (part := _Counted([row for row in rows if row.text.kind == kind], n_resamples, seed)).rows
        },
        "asked": {
            "most_below": most_below,
            "least_names": least_names,
            "worst": worst_name,
            "worst_gap": worst.get("gap"),
            "worst_gap_95": worst.get("gap_95"),
            "fewest_names": least,
            "holds": least >= least_names and worst.get("gap", 0.0) >= -most_below,
        },
    }  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Name:
    text: GroupText
    name: str = field(repr=False)
    found: tuple[bool, bool, bool] = (False, False, False)


class _Counted:
    """Names as arrays."""

    def __init__(self, rows: Sequence[_Name], n_resamples: int, seed: int) -> None:
        self.rows = rows
        bases = sorted({row.text.base for row in rows})
        at = {base: i for i, base in enumerate(bases)}
        self.n = len(bases)
        self.base = numpy.asarray([at[row.text.base] for row in rows], dtype="i8")
        self.found = numpy.asarray([row.found for row in rows], dtype=bool).reshape(-1, len(RULES))
        self.weights = resample(max(1, self.n), n_resamples=n_resamples, seed=seed)
        self.categories: Mapping[str, numpy.ndarray] = {
            "gender": numpy.asarray([GENDER_NAMES[row.text.gender] for row in rows], dtype=object),
            "culture": numpy.asarray([row.text.culture for row in rows], dtype=object),
            "gender and culture": numpy.asarray(
                [f"{GENDER_NAMES[row.text.gender]}, {row.text.culture}" for row in rows], dtype=object
            ),
        }

    def recall(self, chosen: numpy.ndarray) -> dict[str, Any]:
        """RETURNS (dict[str, Any]): Of the chosen names: how many, of how many people, and recall by each rule."""
        whole = numpy.bincount(self.base[chosen], minlength=self.n)
        numbers: dict[str, Estimate | None] = {
            name: rate(numpy.bincount(self.base[chosen & self.found[:, i]], minlength=self.n), whole, self.weights)
            for i, name in enumerate(("recall", "exact", "anywhere"))
        }
        people = {
            (row.text.base, row.text.gender, row.text.culture) for row, keep in zip(self.rows, chosen, strict=True) if keep
        }
        return {"names": int(chosen.sum()), "people": len(people), **plain(numbers)}

    def groups(self, category: str) -> dict[str, Any]:
        """RETURNS (dict[str, Any]): By group of a category: `recall`, and its gap to the rest with interval and Mann-Whitney's p."""
        of, hits = self.categories[category], self.found[:, 0]
        out = {}
        for name in sorted(set(of.tolist())):
            inside = of == name
            sides = [numpy.bincount(self.base[x], minlength=self.n) for x in (inside & hits, inside, ~inside & hits, ~inside)]
            _, p = mann_whitney(*(int(side.sum()) for side in sides))
            gap = gap_of(sides, self.weights)
            out[name] = self.recall(inside) | plain({"gap": gap}) | ({} if gap is None else {"p": round(p, 4)})
        return out
