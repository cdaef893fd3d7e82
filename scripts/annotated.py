"""Our annotations of real and invented texts (docs/explanation/annotation.md): the classifier that learns from them, and scores on the
sealed fifth, every look counted.

    python -m scripts.annotated agreement
    python -m scripts.annotated score --texts essays_sample.jsonl --part sealed --out metrics/sealed.json

`score` prints totals and never a case. Mentions count as hidden if all of their letters are. Private: students, teachers and connected
people; kept: cited people and characters. `proposed` is what the detector and the rules propose, `found` what is protected in the end; the
difference is what the
classifier gives away. With --part sealed each run adds a line to metrics/looks.jsonl.
"""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import numpy
import typer
from spacy.tokens import Doc

from pii_components.cli.common import guard
from pii_components.evaluate.metrics import rate, resample
from pii_components.evaluate.report import plain
from pii_components.evaluate.systems import load_pipeline
from pii_components.labels import (
    CHARACTER,
    CITED,
    INDIRECT_LABELS,
    LABELS,
    is_name,
    role_of,
)
from pii_components.spans import SPANS_KEY
from pii_components.training.package import make_pipeline, read_weights, shipped_vocabulary
from scripts import common
from scripts.annotations import (
    FIRST,
    ORGANISATION,
    SEALED,
    SECOND,
    AnnotatedText,
    read_annotated,
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
)

app = typer.Typer(add_completion=False, no_args_is_help=True, help=__doc__)
FolderOpt = Annotated[Path, typer.Option(help="Folder with the annotations.")]
TextsOpt = Annotated[
    list[Path] | None,
    typer.Option("--texts", help="JSON Lines with the texts, also .gz; may be repeated."),
]
LOOKS = Path("metrics/looks.jsonl")
KEPT_ROLES = (CITED, CHARACTER)
DIRECT = tuple(label for label in LABELS if label not in INDIRECT_LABELS)
PARTS = {"open": (FIRST, SECOND), "first": (FIRST,), "second": (SECOND,), "sealed": (SEALED,)}


@app.command()
def agreement(*, folder: FolderOpt = Path("assets/annotations")) -> None:
    """Print how far the two readers agree, as docs/explanation/annotation.md has it."""
    print("\n".join(agreement_table(folder)))


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
    folder: FolderOpt = Path("assets/annotations"),
    texts: TextsOpt = None,
    start: Annotated[Path, typer.Option(help="Encoder that training started from.")] = Path(
        "corpus/start.npz"
    ),
    first: Annotated[
        Path, typer.Option(help="Weights that have seen the first half; they read the second.")
    ] = Path("training/first/model.npz"),
    second: Annotated[
        Path, typer.Option(help="Weights that have seen the second half; they read the first.")
    ] = Path("training/second/model.npz"),
    config: Annotated[Path, typer.Option(help="Pipeline.")] = Path("configs/two_heads.cfg"),
    l2: Annotated[float, typer.Option(min=0.0, help="Penalty of the fit.")] = 20.0,
    out: Annotated[Path, typer.Option(help="New file for the classifier.")] = Path(
        "training/classifier.npz"
    ),
    debug: common.DebugOpt = False,
) -> None:
    """Learn the calibrated decision of pii_context, on texts of all lengths, and print what it is worth out of fold."""
    with guard(debug):
        persons: dict[str, list[PersonExample]] = {"whole": [], "cut": []}
        things: list[ThingExample] = []
        for weights, part in ((first, SECOND), (second, FIRST)):
            nlp = make_pipeline(read_weights(start, weights), shipped_vocabulary(), config)
            gold = read_annotated(folder, common.those_there(texts), parts=(part,))
            whole = [one.labelled for one in gold]
            persons["whole"] += collect(nlp, whole)
            persons["cut"] += collect(nlp, cut_texts(whole, most=3, seed=29))
            things += collect_things(nlp, whole)
        together = [*persons["whole"], *persons["cut"]]
        chances = cross_validate(together, l2=l2)
        n_whole = len(persons["whole"])
        print(json.dumps({"persons": dict(Counter(p.gold for p in together))}))
        for kind, numbers in (("whole", range(n_whole)), ("cut", range(n_whole, len(together)))):
            for source in ("", "essays_", "persuade", "llm", "new"):
                mine = [i for i in numbers if together[i].text.startswith(source)]
                for at in (0.1, 0.15, 0.2, 0.3, 0.5):
                    shares = tally([together[i] for i in mine], chances[mine], at)
                    shown = {k: round(v, 3) for k, v in sorted(shares.items())}
                    print(kind, source or "all", at, json.dumps(shown))
        made = replace(fit(together, l2=l2), owned=fit_things(things))
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_bytes(made.to_bytes())


@app.command()
def score(
    *,
    folder: FolderOpt = Path("assets/annotations"),
    texts: TextsOpt = None,
    pipeline: common.PipelineOpt = "en_pii_edu",
    part: Annotated[str, typer.Option(help="sealed, open, first or second.")] = "open",
    note: Annotated[str, typer.Option(help="What is measured, for the list of looks.")] = "",
    seed: common.SeedOpt = 29,
    out: common.OutOpt = None,
    debug: common.DebugOpt = False,
) -> None:
    """Totals per source: who is proposed, protected, kept; labels of details and indirect identifiers."""
    with guard(debug):
        common.early(out)
        gold = read_annotated(folder, common.those_there(texts), parts=PARTS[part], seed=seed)
        nlp = load_pipeline(pipeline)
        report = common.head() | {
            "pipeline": f"{nlp.meta['name']} {nlp.meta['version']}",
            "part": part,
            "sources": measure(nlp, gold),
        }
        made = common.publish("annotated", report, out, show)
        if part == "sealed":
            look = {
                "time": datetime.now(UTC).isoformat(timespec="seconds"),
                "pipeline": made["pipeline"],
                "note": note,
            }
            with LOOKS.open("a", encoding="utf-8") as file:
                file.write(json.dumps(look | {"totals": made["sources"]["all"]["names"]}) + "\n")


def measure(nlp: Any, gold: Sequence[AnnotatedText]) -> dict[str, Any]:
    """Totals by source and of all."""
    late = [name for name in nlp.pipe_names if name not in ("transformer", "pii_ner", "pii_ruler")]
    docs, proposals = [], []
    with nlp.select_pipes(disable=late):
        for doc in nlp.pipe([one.labelled.text for one in gold], batch_size=16):
            # What the classifier drops is lost to `doc.spans`, so this is counted before it decides.
            proposals.append(
                {i for s in doc.spans.get(SPANS_KEY, ()) for i in range(s.start_char, s.end_char)}
            )
            docs.append(doc)
    for name in late:
        component = nlp.get_pipe(name)
        docs = [component(doc) for doc in docs]
    by_source: dict[str, list[int]] = {"all": list(range(len(gold)))}
    for i, one in enumerate(gold):
        by_source.setdefault(one.source, []).append(i)
    counts = [
        _count(one, doc, proposed) for one, doc, proposed in zip(gold, docs, proposals, strict=True)
    ]
    return {source: _summary([counts[i] for i in rows]) for source, rows in by_source.items()}


def _is_kept(label: str) -> bool:
    return is_name(label) and role_of(label) in KEPT_ROLES


def _count(one: AnnotatedText, doc: Doc, proposed: set[int]) -> Counter[str]:
    text, found = (
        one.labelled.text,
        [(s.start_char, s.end_char, s.label_) for s in doc.spans.get(SPANS_KEY, ())],
    )
    hidden = {i for a, b, label in found if not _is_kept(label) for i in range(a, b)}
    counts: Counter[str] = Counter()
    private = [(a, b) for a, b, label in one.labelled.spans if not _is_kept(label)]
    for (a, b, label), owner in zip(one.labelled.spans, one.owners, strict=True):
        letters = [i for i in range(a, b) if text[i].isalnum()]
        kind = role_of(label) if is_name(label) else label
        if owner != ORGANISATION:
            counts[f"{kind} all"] += 1
            counts[f"{kind} hidden"] += all(i in hidden for i in letters)
            counts[f"{kind} proposed"] += all(i in proposed for i in letters)
    for a, b, label in found:
        if is_name(label) and not _is_kept(label):
            counts["names found"] += 1
            counts["names right"] += any(a < y and b > x for x, y in private)
        elif not is_name(label):
            counts[f"{label} found"] += 1
            counts[f"{label} right"] += any(
                a < y and b > x for x, y, gold in one.labelled.spans if gold == label
            )
    for label in {label for *_, label in one.labelled.spans if not is_name(label)}:
        spans = [(a, b) for a, b, gold in one.labelled.spans if gold == label]
        counts[f"{label} gold"] += len(spans)
        counts[f"{label} met"] += sum(
            any(a < y and b > x for x, y, given in found if given == label) for a, b in spans
        )
    return counts


def _summary(rows: Sequence[Counter[str]]) -> dict[str, Any]:
    weights = resample(len(rows))

    def column(*names: str) -> numpy.ndarray:
        return numpy.asarray([sum(row[name] for name in names) for row in rows])

    def share(upper: Sequence[str], lower: Sequence[str]) -> Any:
        return rate(column(*upper), column(*lower), weights)

    def of(kinds: Sequence[str], what: str) -> Any:
        return share([f"{kind} {what}" for kind in kinds], [f"{kind} all" for kind in kinds])

    names: dict[str, Any] = {"documents": len(rows)}
    for kind in ("STUDENT", "CONNECTED", "INSTRUCTOR", *KEPT_ROLES):
        names[f"{kind}_support"] = int(column(f"{kind} all").sum())
        names |= {f"{kind}_{what}": of([kind], what) for what in ("hidden", "proposed")}
    two = ("STUDENT", "CONNECTED")
    names |= {
        "protected": of(two, "hidden"),
        "proposed": of(two, "proposed"),
        "kept_hidden": of(KEPT_ROLES, "hidden"),
    }
    names["precision"] = share(["names right"], ["names found"])
    names["found"] = int(column("names found").sum())
    missed = column(*(f"{k} all" for k in two)) - column(*(f"{k} hidden" for k in two))
    names["documents_left_open"] = int((missed > 0).sum())
    labels: dict[str, Any] = {}
    for label in LABELS:
        support, found = (int(column(f"{label} {what}").sum()) for what in ("gold", "found"))
        if not is_name(label) and (support or found):
            p, r = (
                share([f"{label} right"], [f"{label} found"]),
                share([f"{label} met"], [f"{label} gold"]),
            )
            labels[label] = plain({"support": support, "found": found, "precision": p, "recall": r})
            a, b = labels[label].get("precision") or 0, labels[label].get("recall") or 0
            labels[label]["f1"] = round(2 * a * b / (a + b), 4) if a + b else 0.0
    return {"names": plain(names), "labels": labels}


@app.command(name="table")
def print_table(
    files: Annotated[list[Path], typer.Argument(help="Metrics files of `score`.")],
) -> None:
    """Print metrics files as Markdown, as docs/explanation/evaluation.md and MODEL_CARD.md have them."""
    print("\n".join(table([json.loads(path.read_text("utf8")) for path in files])))


def table(reports: Sequence[dict[str, Any]]) -> list[str]:
    """RETURNS (list[str]): A row for each source of each report; 95 % intervals in brackets."""
    heads = "pipeline, texts|documents|students protected|connected protected|both|cited, characters hidden|precision|left open"
    lines = []
    for report in reports:
        for source, made in report["sources"].items():
            row = made["names"]

            shown = []
            for key in (
                "STUDENT_hidden",
                "CONNECTED_hidden",
                "protected",
                "kept_hidden",
                "precision",
            ):
                support, low_high = (
                    row.get(key.replace("_hidden", "_support")),
                    row.get(f"{key}_95"),
                )
                interval = " ({:.3f} to {:.3f})".format(*low_high) if low_high else ""
                of = f" of {support}" if support is not None and key.endswith("_hidden") else ""
                shown.append("–" if row.get(key) is None else f"{row[key]:.3f}{interval}{of}")
            lines.append(
                [
                    f"{report['pipeline']}, {source}",
                    str(row["documents"]),
                    *shown,
                    str(row["documents_left_open"]),
                ]
            )
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


if __name__ == "__main__":
    app()
