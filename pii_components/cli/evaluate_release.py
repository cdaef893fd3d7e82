"""`pii-edu evaluate release`: what an attacker finds in a release, and what repetition gives away."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from ..evaluate.command import progress_bar
from ..evaluate.release_arithmetic import KEEP, STRATEGIES
from ..evaluate.tables import console, interval, number
from .guard import guard

_TITLES = {
    "reader": "marks all that looks personal, suspects what the tagger passes over",
    "labels": "has the spans of the surrogates, suspects what the tagger tags outside of them",
}

OriginalArg = Annotated[Path, typer.Argument(metavar="ORIGINAL", help="The texts before; labels in it are taken as gold.")]
ReleaseArg = Annotated[Path, typer.Argument(metavar="RELEASED", help="The texts after, as pii-edu deidentify wrote them.")]
GoldOpt = Annotated[Path | None, typer.Option("--gold", help="Labelled corpus of the same texts [labels of ORIGINAL].")]
SpansOpt = Annotated[
    bool,
    typer.Option("--with-spans", help="RELEASED has the spans of its surrogates (id, text, spans), as the library gives them."),
]
ProfileOpt = Annotated[str, typer.Option("--profile", help="Says which labels of the gold had to be hidden.")]
RecallOpt = Annotated[float | None, typer.Option("--recall", help="Of the detector, for the arithmetic [what RELEASED shows].")]
KeepOpt = Annotated[float, typer.Option("--keep", help="Markov strategy: probability that a surrogate is kept.")]
OutOpt = Annotated[Path | None, typer.Option("--out", "-o", help="Metrics file (JSON).")]
TextOpt = Annotated[str, typer.Option("--text-column", "--text-field", help="Column or field of the text [a usual name].")]
IdOpt = Annotated[str, typer.Option("--id-column", "--id-field", help="Column or field of the id [a usual name].")]
EncodingOpt = Annotated[str, typer.Option("--encoding", help="Encoding of the files.")]


def release(
    *,
    original: OriginalArg,
    released: ReleaseArg,
    gold: GoldOpt = None,
    with_spans: SpansOpt = False,
    profile: ProfileOpt = "crapii",
    recall: RecallOpt = None,
    keep: KeepOpt = KEEP,
    out: OutOpt = None,
    text_field: TextOpt = "",
    id_field: IdOpt = "",
    encoding: EncodingOpt = "utf-8",
    resamples: Annotated[int, typer.Option(min=1, help="Bootstrap resamples of the documents.")] = 1000,
    seed: Annotated[int, typer.Option(help="Of halves, tagger and bootstrap; 0 is the usual one.")] = 0,
    debug: Annotated[
        bool, typer.Option("--debug", help="Raise unexpected errors with their traceback, which may show text.")
    ] = False,
) -> None:
    """Parrot attack on RELEASED (Carrell et al. 2019) and leak arithmetic; no text is shown or written.

    A tagger (logistic regression, seeded) is trained on one half of RELEASED and looks for leaks in the other, and the other way
    round. Without gold, a leak is a word that was replaced in one place of a document and stands in clear in another.
    """
    with guard(debug):
        from ..evaluate.metrics import SEED
        from ..evaluate.release import ATTACKERS
        from ..evaluate.release_files import read_release
        from ..evaluate.release_numbers import release_report
        from ..evaluate.report import versions, write_report
        from ..profiles import Profile

        documents = read_release(
            original,
            released,
            gold=gold,
            with_spans=with_spans,
            hides=Profile.load(profile).protects,
            encoding=encoding,
            text_field=text_field,
            id_field=id_field,
        )
        with progress_bar("attack", 2 * len(ATTACKERS)) as advance:
            found = release_report(
                documents, recall=recall, keep=keep, seed=seed or SEED, n_resamples=resamples, progress=advance
            )
        print_release(found, console())
        if out is not None:
            files = {"original": original.name, "released": released.name, "gold": gold.name if gold else None}
            # Folders are left out: they tell about a machine and its user.
            shown = [Path(part).name or part for part in sys.argv[1:]]
            head = {"command": " ".join(["pii-edu", *shown]), "files": files, "profile": Path(profile).name}
            write_report({**head, "versions": versions(), "release": found}, out)


def print_release(found: dict[str, Any], to: Console) -> None:
    """Print the tables of a release. found (dict[str, Any]): From `release_report`. to (Console): Where to."""
    to.print(
        f"{found['documents']} documents, {found['words']} words, {found['surrogates']} surrogates (from {found['surrogates_known_from']}), "
        f"{found['leaks']} leaks (from {found['leaks_known_from']}), {found['leaks_in_part']} of them beside a part that was replaced"
    )
    to.print(attack_table(found))
    for name in found["attacks"]:
        to.print(f"{name}: {_TITLES.get(name, '')}")
    to.print(arithmetic_table(found["arithmetic"]))
    seen = found["arithmetic"]["observed"]
    to.print(
        f"observed: {seen['values_in_part_in_clear']} values replaced in one place and in clear in another "
        f"({seen['documents_with_a_value_in_part']} documents), {seen['values_wholly_in_clear']} in clear each time"
    )


def attack_table(found: dict[str, Any]) -> Table:
    """RETURNS (Table): A row per attacker: leaks found, precision and recall beside chance."""
    table = Table(title=f"Parrot attack, both halves in turn (95 % intervals); {found['tagger']}", title_justify="left")
    table.add_column("attacker")
    for name in ("leaks", "suspects", "found", "P", "P by chance", "R", "R by chance", "P over chance", "p", "AUC"):
        table.add_column(name, justify="right")
    for name, row in found["attacks"].items():
        table.add_row(
            name,
            *(str(row[key]) for key in ("leaks", "suspects", "found")),
            interval(row, "precision"),
            number(row["chance_precision"]),
            interval(row, "recall"),
            number(row["chance_recall"]),
            interval(row, "lift"),
            f"{row['p_value']:.2g}",
            interval(row, "auc"),
        )
    return table


def arithmetic_table(found: dict[str, Any]) -> Table:
    """RETURNS (Table): What repetition gives away: a row per count of mentions, then the corpus."""
    title = f"Given away by repetition, if {found['miss_rate']:.4f} of the mentions are missed (from {found['miss_rate_from']})"
    table = Table(title=title, title_justify="left", caption="side by side: value and surrogate stand in one document")
    columns = (*STRATEGIES, "apart")
    for name in ("mentions in a document", "values", *STRATEGIES, "consistent, side by side"):
        table.add_column(name, justify="right")
    for row in found["by_repetition"]:
        table.add_row(str(row["n"]), str(row["values"]), *(number(row[name]) for name in columns))
    table.add_section()
    table.add_row("all values", str(found["values"]), *(number(found["share_of_values"][name]) for name in columns))
    in_documents = (number(found["share_of_documents"][name]) for name in columns)
    table.add_row("documents", str(found["documents_with_values"]), *in_documents)
    return table
