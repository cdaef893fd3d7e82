"""Our annotations of real and invented texts (docs/explanation/annotation.md): the classifier that learns from them, and scores on the
sealed fifth, every look counted.

    python -m scripts.annotated agreement
    python -m scripts.annotated score --texts essays_sample.jsonl --part sealed --out metrics/sealed.json

`score` prints totals (scripts/totals.py) and never a case. All that is found is hidden but cited people and characters. `proposed` is what
the detector and the rules propose; the difference to what is hidden is what the classifier gives away. With --part sealed each run adds a
line to metrics/looks.jsonl.
"""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import typer

from pii_components.cli.common import guard
from pii_components.evaluate.report import plain
from pii_components.evaluate.systems import load_pipeline
from pii_components.labels import INDIRECT_LABELS, LABELS, is_name
from scripts import common
from scripts.annotations import (
    FIRST,
    ORGANISATION,
    SEALED,
    SECOND,
    AnnotatedText,
    read_annotated,
    read_short,
)
from scripts.classifier import (
    PersonExample,
    ThingExample,
    collect,
    collect_things,
    cross_validate,
    cut_texts,
    fit,
    fit_things,
    tally,
    touched_at,
)
from scripts.shipped import make_pipeline, read_weights, shipped_vocabulary
from scripts.totals import (
    KEPT,
    PRIVATE,
    Totals,
    add_look,
    add_table,
    cell,
    count,
    kind_of,
    letters_of,
    marks_of,
)

app = typer.Typer(add_completion=False, no_args_is_help=True, help=__doc__)
FOLDER = Path("assets/annotations")
L2 = 20.0  # penalty of the fit
HIDDEN = 0.93  # share of private mentions at which settings are compared
TextsOpt = Annotated[
    list[Path] | None,
    typer.Option("--texts", help="JSON Lines with the texts, also .gz; may be repeated."),
]
PARTS = {"open": (FIRST, SECOND), "first": (FIRST,), "second": (SECOND,), "sealed": (SEALED,)}


@app.command()
def agreement() -> None:
    """Print how far the two readers agree, as docs/explanation/annotation.md has it."""
    print("\n".join(agreement_table(FOLDER)))


def agreement_table(folder: Path) -> list[str]:
    """RETURNS (list[str]): A row for each source: F1 of the readers (same offsets and label), kappa of roles."""
    heads = (
        "source|texts|names|F1|kappa of roles|details|F1|indirect identifiers|F1|marks of one alone"
    )
    lines = []
    for path in sorted(folder.glob("*.jsonl")):
        rows = [json.loads(line) for line in path.read_text("utf8").splitlines()]
        pairs = [(_marks(row, "first"), _marks(row, "second")) for row in rows]
        cells = [path.stem, str(len(rows))]
        for kind in ("NAME", "detail", "indirect"):
            cells += _agreed(pairs, kind)
            if kind == "NAME":
                cells.append(f"{_kappa(pairs):.3f}")
        alone = sum(len({*first.items()} ^ {*second.items()}) for first, second in pairs)
        lines.append([*cells, str(alone)])
    return common.lines_of(heads.split("|"), lines)


Marks = dict[tuple[int, int], tuple[str, str]]


def _marks(row: Any, reader: str) -> Marks:
    """A reader's marks; null stands for those that were settled."""
    marks = row["spans"] if row[reader] is None else row[reader]
    return {(start, end): (label, more) for start, end, label, more in marks}


def _kind(label: str) -> str:
    if label == "NAME":
        return label
    return "indirect" if label in INDIRECT_LABELS else "detail"


def _agreed(pairs: Sequence[tuple[Marks, Marks]], kind: str) -> list[str]:
    same = every = 0
    for first, second in pairs:
        for found, other in ((first, second), (second, first)):
            mine = [(place, label) for place, (label, _) in found.items() if _kind(label) == kind]
            every += len(mine)
            same += sum(other.get(place, ("", ""))[0] == label for place, label in mine)
    return [str(every // 2), f"{same / every:.3f}" if every else "–"]


def _kappa(pairs: Sequence[tuple[Marks, Marks]]) -> float:
    """Cohen's kappa of roles, where both readers have the name."""
    from sklearn.metrics import cohen_kappa_score

    both = [
        (first[place][1], second[place][1])
        for first, second in pairs
        for place in first.keys() & second.keys()
        if first[place][0] == second[place][0] == "NAME"
    ]
    return float(cohen_kappa_score(*zip(*both, strict=True)))


@app.command()
def classifier(
    *,
    texts: TextsOpt = None,
    start: Annotated[Path, typer.Option(help="Encoder that training started from.")] = Path(
        "corpus/start.npz"
    ),
    out: Annotated[Path, typer.Option(help="New file for the classifier.")] = Path(
        "training/classifier.npz"
    ),
    debug: common.DebugOpt = False,
) -> None:
    """Learn the calibrated decision of pii_context, on texts of all lengths, and print what it is worth out of fold. The weights in
    training/first have seen the first half of the texts and read the second, those in training/second the other way round."""
    with guard(debug):
        persons: dict[str, list[PersonExample]] = {"whole": [], "cut": [], "short": []}
        things: list[ThingExample] = []
        for half, part in (("first", SECOND), ("second", FIRST)):
            read = read_weights(start, Path("training", half, "model.npz"))
            nlp = make_pipeline(read, shipped_vocabulary(), Path("configs/two_heads.cfg"))
            gold = read_annotated(FOLDER, common.those_there(texts), parts=(part,))
            whole = [one.labelled for one in gold]
            persons["whole"] += collect(nlp, whole)
            persons["cut"] += collect(nlp, cut_texts(whole, most=3, seed=29))
            short = read_short(FOLDER.parent, parts=(part,))
            persons["short"] += collect(nlp, short)
            things += collect_things(nlp, [*whole, *short])
        together = list(chain.from_iterable(persons.values()))
        chances = cross_validate(together, l2=L2)
        print(json.dumps({"persons": dict(Counter(p.gold for p in together))}))
        begin = 0
        for kind, examples in ((k, found) for k, found in persons.items() if found):
            part, begin = slice(begin, begin + len(examples)), begin + len(examples)
            for at in (0.1, 0.15, 0.2, 0.3, 0.5):
                shares = tally(together[part], chances[part], at)
                shown = {k: round(v, 3) for k, v in sorted(shares.items())}
                print(kind, at, json.dumps(shown))
            touched, at = touched_at(together[part], chances[part], HIDDEN)
            print(
                kind,
                f"{touched:.3f} of cited and characters where {HIDDEN} of private are: {at:.2f}",
            )
        made = replace(fit(together, l2=L2), owned=fit_things(things))
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_bytes(made.to_bytes())


@app.command()
def score(
    *,
    texts: TextsOpt = None,
    pipeline: common.PipelineOpt = "en_pii_edu",
    part: Annotated[str, typer.Option(help="sealed, open, first or second.")] = "open",
    note: Annotated[str, typer.Option(help="What is measured, for the list of looks.")] = "",
    out: common.OutOpt = None,
    debug: common.DebugOpt = False,
) -> None:
    """Totals per source: who is proposed, protected, kept; labels of details and indirect identifiers."""
    with guard(debug):
        common.early(out)
        gold = read_annotated(FOLDER, common.those_there(texts), parts=PARTS[part])
        nlp = load_pipeline(pipeline)
        report = common.head() | {
            "pipeline": f"{nlp.meta['name']} {nlp.meta['version']}",
            "part": part,
            "sources": measure(nlp, gold),
        }
        made = common.publish("annotated", report, out, show)
        if part == "sealed":
            add_look(made["pipeline"], note, totals=made["sources"]["all"]["names"])


def measure(nlp: Any, gold: Sequence[AnnotatedText]) -> dict[str, Any]:
    """Totals by source and of all."""
    late = [name for name in nlp.pipe_names if name not in ("transformer", "pii_ner", "pii_ruler")]
    docs, proposals = [], []
    with nlp.select_pipes(disable=late):
        for doc in nlp.pipe([one.labelled.text for one in gold], batch_size=16):
            # What the classifier drops is lost to `doc.spans`, so this is counted before it decides.
            proposals.append(letters_of(marks_of(doc)))
            docs.append(doc)
    for name in late:
        component = nlp.get_pipe(name)
        docs = [component(doc) for doc in docs]
    counts = []
    for one, doc, proposed in zip(gold, docs, proposals, strict=True):
        marks = one.labelled.spans
        owned = zip(marks, one.owners, strict=True)
        how = {"private": [mark for mark in marks if _hides(mark[2])], "proposed": proposed}
        how |= {"left_out": {mark for mark, owner in owned if owner == ORGANISATION}}
        counts.append(count(one.labelled.text, marks, marks_of(doc), _hides, **how))
    sources = ["all", *dict.fromkeys(one.source for one in gold)]
    return {
        source: _summary(
            [row for one, row in zip(gold, counts, strict=True) if source in ("all", one.source)]
        )
        for source in sources
    }


def _hides(label: str) -> bool:
    return kind_of(label) not in KEPT


def _summary(rows: Sequence[Counter[str]]) -> dict[str, Any]:
    totals = Totals(rows)
    names: dict[str, Any] = {"documents": len(rows)}
    for kind in ("STUDENT", "CONNECTED", "INSTRUCTOR", *KEPT):
        names[f"{kind}_support"] = totals.sum(f"{kind} all")
        names |= {f"{kind}_{what}": totals.of([kind], what) for what in ("hidden", "proposed")}
    names |= {
        "protected": totals.of(PRIVATE, "hidden"),
        "proposed": totals.of(PRIVATE, "proposed"),
        "kept_hidden": totals.of(KEPT, "hidden"),
        "precision": totals.share("names right", "names found"),
        "found": totals.sum("names found"),
        "documents_left_open": totals.sum("left open"),
    }
    labels: dict[str, Any] = {}
    for label in LABELS:
        support, found = totals.sum(f"{label} gold"), totals.sum(f"{label} found")
        if not is_name(label) and (support or found):
            p = totals.share(f"{label} right", f"{label} found")
            r = totals.share(f"{label} met", f"{label} gold")
            labels[label] = plain({"support": support, "found": found, "precision": p, "recall": r})
            a, b = labels[label].get("precision") or 0, labels[label].get("recall") or 0
            labels[label]["f1"] = round(2 * a * b / (a + b), 4) if a + b else 0.0
    return {"names": plain(names), "labels": labels}


def table(reports: Sequence[dict[str, Any]]) -> list[str]:
    """RETURNS (list[str]): A row for each source of each report; 95 % intervals in brackets."""
    heads = "pipeline, texts|documents|students protected|connected protected|both|cited, characters hidden|precision|left open"
    lines = []
    for report in reports:
        for source, made in report["sources"].items():
            row = made["names"]
            shown = [cell(row, f"{role}_hidden", f"{role}_support") for role in PRIVATE]
            shown += [cell(row, key) for key in ("protected", "kept_hidden", "precision")]
            title = f"{report['pipeline']}, {source}"
            lines.append([title, str(row["documents"]), *shown, str(row["documents_left_open"])])
    return common.lines_of(heads.split("|"), lines)


def show(report: dict[str, Any], to: Any) -> None:
    """Print totals."""
    keys = "documents STUDENT_support STUDENT_hidden CONNECTED_support CONNECTED_hidden proposed protected kept_hidden precision documents_left_open"
    common.show(
        to, f"names, {report['part']}", {s: r["names"] for s, r in report["sources"].items()}, keys
    )
    labels = report["sources"]["all"]["labels"]
    common.show(
        to,
        "details and indirect identifiers, all sources",
        labels,
        "support found precision recall f1",
    )


add_table(app, table)
if __name__ == "__main__":
    app()
