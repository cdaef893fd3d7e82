"""What a pipeline does on texts that its makers have not read, in totals: `python -m scripts.unread score --out metrics/unread.json`.

Sets: `everyday` (assets/sealed/everyday.txt), `tutoring` (60 conversations of MathDial, marks by two readers in
assets/sealed/tutoring.jsonl), `novels` (LitBank), `reports` (inputs after public bug reports of peers) and `slots` (open texts of ours
in which a private person gets a famous name, a famous surname or a word that is a name, after assets/hard_names.toml). The text of
`tutoring`, `novels` and `reports` comes from --public. No case is ever printed.

A name is hidden if the profile changes all of its letters. Private: students and connected people; cited and characters are touched if a
letter of theirs is changed. Each run that scores a sealed set adds a line to metrics/looks.jsonl.
"""

import hashlib
import json
import random
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import numpy
import spacy
import typer
from sklearn.metrics import cohen_kappa_score
from spacy.language import Language

from pii_components.cli.common import guard
from pii_components.corpus.build import TemplateFiller, rng_for
from pii_components.corpus.people import Person
from pii_components.corpus.templates import Slot, Template, parse_parts, read_templates
from pii_components.errors import Errors, PiiError
from pii_components.evaluate.metrics import rate, resample
from pii_components.evaluate.report import plain
from pii_components.evaluate.systems import load_pipeline
from pii_components.labels import INDIRECT_LABELS, LABELS, is_name, role_of
from pii_components.names.table import name_table
from pii_components.profiles import Profile
from pii_components.spans import SPANS_KEY
from scripts import common

app = typer.Typer(add_completion=False, no_args_is_help=True, help=__doc__)
LOOKS = Path("metrics/looks.jsonl")
SEALED = ("everyday", "tutoring")
PRIVATE, KEPT = ("STUDENT", "CONNECTED"), ("CITED", "CHARACTER")
SHORT = 3  # sentences of a short text
_OF_READERS = {"pupil": "NAME_STUDENT", "tutor": "NAME_INSTRUCTOR", "problem": "NAME_CHARACTER"}

Mark = tuple[int, int, str]


@dataclass(frozen=True, slots=True)
class Case:
    """A text and its marks: (start, end, label), offsets in characters. group (str): "dialogue", "famous surname" or the like."""

    text: str
    marks: tuple[Mark, ...]
    group: str = ""


def everyday(path: Path = Path("assets/sealed/everyday.txt")) -> Iterator[Case]:
    """Texts between `%%`, each with a front matter and its marks as literals, `{{LABEL=text}}`."""
    for block in path.read_text("utf8").split("\n%%\n"):
        head, _, body = block.partition("\n---\n")
        kind = next(line for line in head.splitlines() if line.startswith("kind:"))
        text, marks = "", []
        for part in parse_parts(body.strip("\n") + "\n", where=path.name):
            if isinstance(part, Slot):
                marks.append((len(text), len(text) + len(part.text), part.label))
            text += part.text if isinstance(part, Slot) else part
        yield Case(text, tuple(marks), "dialogue" if "dialogue" in kind else "")


def tutoring(public: Path, path: Path = Path("assets/sealed/tutoring.jsonl")) -> Iterator[Case]:
    """Conversations of MathDial with the marks on which both readers agree. RAISES (PiiError): E501, if a text is another one."""
    texts = {row["id"]: row["text"] for row in _rows(public / "mathdial.jsonl")}
    for row in _rows(path):
        text = texts.get(row["id"], "")
        if hashlib.sha256(text.encode()).hexdigest() != row["sha256"]:
            raise PiiError(Errors.E501, what=f"'{row['id']}'", reason="it is not the marked text")
        marks = {(a, b, _OF_READERS[role]) for a, b, role in row["first"] if role in _OF_READERS}
        marks &= {(a, b, _OF_READERS[role]) for a, b, role in row["second"] if role in _OF_READERS}
        yield Case(text, tuple(sorted(marks)), "dialogue")


def novels(public: Path) -> Iterator[Case]:
    """Excerpts of LitBank: each named person is a character."""
    for row in _rows(public / "litbank.jsonl"):
        marks = [(a, b, "NAME_CHARACTER") for a, b, label in _spans(row) if label == "PER"]
        yield Case(row["text"], tuple(marks))


def slots(number: int = 300, path: Path = Path("assets/hard_names.toml")) -> Iterator[Case]:
    """Open texts of ours; one private person of each gets a hard name, and only that person's names are marked."""
    hard, rng = tomllib.loads(path.read_text("utf8")), random.Random(29)
    kinds = sorted(hard)
    templates = [t for t in read_templates(Path("assets")) if _private_people(t)]
    for n, template in enumerate(rng.sample(templates, number)):
        kind = kinds[n % len(kinds)]
        name = rng.choice(hard[kind])
        filler = TemplateFiller(name_table(), rng_for(29, template.id), genders=template.genders)
        who = rng.choice(_private_people(template))
        person = filler.person(who)
        first, last = person.first, person.last
        if kind == "full":
            first, last = name.rsplit(" ", 1)
        elif kind == "surname":
            last = name
        else:
            first = name
        filler.people[who] = Person(first, person.middle, last, person.region)
        filled = filler.fill(template.parts)
        slots_of = [part for part in template.parts if isinstance(part, Slot)]
        marks = [m for m, s in zip(filled.spans, slots_of, strict=True) if s.who == who]
        yield Case(filled.text, tuple(m for m in marks if is_name(m[2])), kind)


def _private_people(template: Template) -> list[str]:
    """Who is private and has the full name in the text."""
    return sorted({s.who for s in template.slots if s.role in PRIVATE and s.what == "full"})


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf8").splitlines()]


def _spans(row: Mapping[str, Any]) -> list[Any]:
    spans = row["spans"]
    return json.loads(spans.replace("'", '"')) if isinstance(spans, str) else spans


def count(case: Case, found: Iterable[Mark], hides: Callable[[str], bool]) -> Counter[str]:
    """RETURNS (Counter[str]): Names by role that are there, hidden and touched; hidden names and those right; labels by exact offsets."""
    found = set(found)
    hidden = {i for a, b, label in found if hides(label) for i in range(a, b)}
    counts: Counter[str] = Counter(documents=1)
    for a, b, label in case.marks:
        letters = [i for i in range(a, b) if case.text[i].isalnum()]
        kind = role_of(label) if is_name(label) else label
        counts[f"{kind} all"] += 1
        counts[f"{kind} hidden"] += all(i in hidden for i in letters)
        counts[f"{kind} touched"] += any(i in hidden for i in letters)
        counts[f"{kind} exact"] += (a, b, label) in found
    ours = [m for m in case.marks if is_name(m[2]) and role_of(m[2]) not in KEPT]
    for a, b, label in found:
        if is_name(label) and hides(label):
            counts["names"] += 1
            counts["names right"] += any(a < y and b > x for x, y, _ in ours)
        elif not is_name(label):
            counts[f"{label} found"] += 1
    missed = sum(counts[f"{role} all"] - counts[f"{role} hidden"] for role in PRIVATE)
    counts["with private"] = any(counts[f"{role} all"] for role in PRIVATE)
    counts["left open"] = missed > 0
    return counts


def summary(rows: Sequence[Counter[str]]) -> dict[str, Any]:
    """RETURNS (dict[str, Any]): Rates with intervals (bootstrap over texts) and their support, as a metrics file has them."""
    weights = resample(len(rows))

    def column(*names: str) -> numpy.ndarray:
        return numpy.asarray([sum(row[name] for name in names) for row in rows])

    def share(kinds: Sequence[str], what: str) -> Any:
        upper, lower = [f"{k} {what}" for k in kinds], [f"{k} all" for k in kinds]
        return rate(column(*upper), column(*lower), weights)

    made: dict[str, Any] = {"texts": len(rows), "with_private": int(column("with private").sum())}
    made["texts_left_open"] = int(column("left open").sum())
    made["left_open"] = rate(column("left open"), column("with private"), weights)
    groups = {"private": PRIVATE, "instructor": ("INSTRUCTOR",), "kept": KEPT}
    groups["contacts"] = tuple(x for x in LABELS if not is_name(x) and x not in INDIRECT_LABELS)
    for name, kinds in groups.items():
        made[name] = int(column(*(f"{k} all" for k in kinds)).sum())
        what = "touched" if name == "kept" else "hidden"
        made[f"{name}_{what}"] = share(kinds, what)
    made["precision"] = rate(column("names right"), column("names"), weights)
    made["indirect_f1"], of_label = _exact_f1(column)
    return plain(made) | {"indirect": of_label}


def _exact_f1(column: Callable[..., numpy.ndarray]) -> tuple[float | None, dict[str, Any]]:
    """F1 by exact offsets and label, of each indirect identifier but OTHER, and their mean."""
    made = {}
    for label in INDIRECT_LABELS:
        gold, found, exact = (int(column(f"{label} {x}").sum()) for x in ("all", "found", "exact"))
        if label != "OTHER" and gold:
            made[label] = {
                "support": gold,
                "found": found,
                "f1": round(2 * exact / (gold + found), 4),
            }
    mean = sum(row["f1"] for row in made.values()) / len(made) if made else None
    return (None if mean is None else round(mean, 4)), made


def right_reports(nlp: Language, path: Path) -> dict[str, Any]:
    """RETURNS (dict[str, Any]): Inputs after public reports, and those right in both ways: all of `private` gone, all of `keep` there."""
    rows = _rows(path)
    texts = [doc._.deidentified for doc in nlp.pipe(row["text"] for row in rows)]
    gone = [all(x not in t for x in row["private"]) for row, t in zip(rows, texts, strict=True)]
    kept = [all(x in t for x in row["keep"]) for row, t in zip(rows, texts, strict=True)]
    right = [a and b for a, b in zip(gone, kept, strict=True)]
    return {"texts": len(rows), "right": sum(right), "gone": sum(gone), "kept": sum(kept)}


def measure(nlp: Language, cases: Sequence[Case], profile: Profile) -> dict[str, Any]:
    """RETURNS (dict[str, Any]): `summary` of all cases, of the short ones, and of each group."""
    sentences = spacy.blank("en")
    sentences.add_pipe("sentencizer")
    spans = [
        [(s.start_char, s.end_char, s.label_) for s in doc.spans.get(SPANS_KEY, ())]
        for doc in nlp.pipe([case.text for case in cases], batch_size=16)
    ]
    counts = [count(c, found, profile.protects) for c, found in zip(cases, spans, strict=True)]
    made = {"all": summary(counts)}
    short = [len(list(sentences(case.text).sents)) <= SHORT for case in cases]
    groups = {"at most three sentences": short}
    groups |= {g: [c.group == g for c in cases] for g in sorted({c.group for c in cases} - {""})}
    for group, inside in groups.items():
        if 0 < sum(inside) < len(cases):
            made[group] = summary([c for c, is_in in zip(counts, inside, strict=True) if is_in])
    return made


def agreement(path: Path = Path("assets/sealed/tutoring.jsonl")) -> dict[str, Any]:
    """RETURNS (dict[str, Any]): Marks of both readers of the conversations, those they share (place and role), kappa of roles."""
    marks = []
    for row in _rows(path):
        first, second = ({(a, b): role for a, b, role in row[x]} for x in ("first", "second"))
        marks += [(first.get(k), second.get(k)) for k in first.keys() | second.keys()]
    roles = [pair for pair in marks if None not in pair]
    kappa = float(cohen_kappa_score(*zip(*roles, strict=True)))
    return {"marks": len(marks), "shared": sum(a == b for a, b in marks), "kappa": round(kappa, 3)}


@app.command()
def score(
    *,
    pipeline: common.PipelineOpt = "en_pii_edu",
    profile: common.ProfileOpt = "crapii",
    sets: Annotated[str, typer.Option(help="Sets, with commas.")] = "slots,everyday",
    public: Annotated[
        Path | None, typer.Option(help="Folder with mathdial.jsonl and litbank.jsonl.")
    ] = None,
    reports: Annotated[Path, typer.Option(help="Inputs after public reports.")] = Path(
        "tests/data/public_reports.jsonl"
    ),
    note: Annotated[str, typer.Option(help="What is measured, for the list of looks.")] = "",
    out: common.OutOpt = None,
    debug: common.DebugOpt = False,
) -> None:
    """Score a pipeline on texts that its makers have not read."""
    with guard(debug):
        common.early(out)
        chosen = sets.split(",")
        hides = Profile.load(profile)
        nlp = load_pipeline(pipeline)
        makers: dict[str, Callable[[], Iterable[Case]]] = {
            "everyday": everyday,
            "slots": slots,
            "tutoring": lambda: tutoring(public or Path()),
            "novels": lambda: novels(public or Path()),
        }
        made = {n: measure(nlp, list(makers[n]()), hides) for n in chosen if n != "reports"}
        for row in made.get("slots", {}).values():
            del row["precision"], row["precision_95"]  # the other people of a text have no marks
        if "reports" in chosen:
            made["reports"] = {"all": right_reports(spacy.load(pipeline), reports)}
        if "tutoring" in made:
            made["tutoring"]["readers"] = agreement()
        report = common.head() | {
            "pipeline": f"{nlp.meta['name']} {nlp.meta['version']}",
            "profile": profile,
            "sets": made,
        }
        common.publish("unread", report, out, show)
        if looked := [name for name in chosen if name in SEALED]:
            now = datetime.now(UTC).isoformat(timespec="seconds")
            look = {"time": now, "pipeline": report["pipeline"], "note": note}
            totals = {name: made[name]["all"] for name in looked}
            with LOOKS.open("a", encoding="utf-8") as file:
                file.write(json.dumps(look | {"sets": looked, "totals": totals}) + "\n")


def show(report: dict[str, Any], to: Any) -> None:
    """Print the rows of each set."""
    keys = "texts with_private texts_left_open private private_hidden instructor_hidden kept kept_touched precision contacts contacts_hidden indirect_f1 right"
    for name, groups in report["sets"].items():
        common.show(to, f"{name}, {report['profile']}", groups, keys)


@app.command(name="table")
def print_table(files: Annotated[list[Path], typer.Argument(help="Metrics files.")]) -> None:
    """Print metrics files as Markdown, as docs/explanation/evaluation.md has them."""
    print("\n".join(table([json.loads(path.read_text("utf8")) for path in files])))


def table(reports: Sequence[dict[str, Any]]) -> list[str]:
    """RETURNS (list[str]): A row for each set and group of each report; 95 % intervals in brackets."""
    heads = "pipeline, texts|number|private hidden|left open|cited, characters touched|precision|indirect, exact F1"
    lines = []
    for report in reports:
        for name, groups in report["sets"].items():
            for group, row in groups.items():
                if "texts" not in row or "right" in row:
                    continue
                title = f"{report['pipeline']}, {name}" + ("" if group == "all" else f", {group}")
                keys = ("private_hidden", "left_open", "kept_touched", "precision", "indirect_f1")
                cells = [_cell(row, key) for key in keys]
                lines.append([title, str(row["texts"]), *cells])
    return common.lines_of(heads.split("|"), lines)


def _cell(row: Mapping[str, Any], key: str) -> str:
    if row.get(key) is None:
        return "–"
    support = {"private_hidden": "private", "left_open": "with_private", "kept_touched": "kept"}
    low_high = row.get(f"{key}_95")
    interval = " ({:.3f} to {:.3f})".format(*low_high) if low_high else ""
    of = f" of {row[support[key]]}" if key in support else ""
    return f"{row[key]:.3f}{interval}{of}"


if __name__ == "__main__":
    app()
