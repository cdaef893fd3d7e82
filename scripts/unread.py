"""What a pipeline does on texts that its makers have not read, in totals: `python -m scripts.unread score --out metrics/unread.json`.

Sets: `everyday` (assets/sealed/everyday.txt), `tutoring` (60 conversations of MathDial, marks by two readers in
assets/sealed/tutoring.jsonl), `novels` (LitBank) and `slots` (open texts of ours in which a private person gets a famous name, a famous
surname or a word that is a name, after assets/hard_names.toml). The text of `tutoring` and `novels` comes from --public. No case is ever
printed.

What is hidden, the profile says (scripts/totals.py). Each run that scores a sealed set adds a line to metrics/looks.jsonl.
"""

import hashlib
import json
import random
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import spacy
import typer
from sklearn.metrics import cohen_kappa_score
from spacy.language import Language

from pii_components.cli.common import guard
from pii_components.corpus.build import TemplateFiller, rng_for
from pii_components.corpus.people import Person
from pii_components.corpus.templates import Slot, Template, parse_parts, read_templates
from pii_components.errors import Errors, PiiError
from pii_components.evaluate.report import plain
from pii_components.evaluate.systems import load_pipeline
from pii_components.labels import INDIRECT_LABELS, LABELS, is_name, role_of
from pii_components.names.table import name_table
from pii_components.profiles import Profile
from scripts import common
from scripts.totals import KEPT, PRIVATE, Mark, Totals, add_look, add_table, cell, count, marks_of

app = typer.Typer(add_completion=False, no_args_is_help=True, help=__doc__)
SEALED = ("everyday", "tutoring")
PROFILE = "crapii"  # says which labels must be hidden
SHORT = 3  # sentences of a short text
_OF_READERS = {"pupil": "NAME_STUDENT", "tutor": "NAME_INSTRUCTOR", "problem": "NAME_CHARACTER"}


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


def counts_of(case: Case, found: Iterable[Mark], hides: Callable[[str], bool]) -> Counter[str]:
    """RETURNS (Counter[str]): As `totals.count`; a name is right where a private one or a teacher's is."""
    private = [m for m in case.marks if is_name(m[2]) and role_of(m[2]) not in KEPT]
    return count(case.text, case.marks, found, hides, private=private)


def summary(rows: Sequence[Counter[str]]) -> dict[str, Any]:
    """RETURNS (dict[str, Any]): Rates with intervals (bootstrap over texts) and their support, as a metrics file has them."""
    totals = Totals(rows)
    made: dict[str, Any] = {"texts": len(rows), "with_private": totals.sum("with private")}
    made["texts_left_open"] = totals.sum("left open")
    made["left_open"] = totals.share("left open", "with private")
    groups = {"private": PRIVATE, "instructor": ("INSTRUCTOR",), "kept": KEPT}
    groups["contacts"] = tuple(x for x in LABELS if not is_name(x) and x not in INDIRECT_LABELS)
    for name, kinds in groups.items():
        made[name] = totals.sum(*(f"{k} all" for k in kinds))
        what = "touched" if name == "kept" else "hidden"
        made[f"{name}_{what}"] = totals.of(kinds, what)
    made["precision"] = totals.share("names right", "names found")
    made["indirect_f1"], of_label = _exact_f1(totals)
    return plain(made) | {"indirect": of_label}


def _exact_f1(totals: Totals) -> tuple[float | None, dict[str, Any]]:
    """F1 by exact offsets and label, of each indirect identifier but OTHER, and their mean."""
    made = {}
    for label in INDIRECT_LABELS:
        gold, found, exact = (totals.sum(f"{label} {x}") for x in ("all", "found", "exact"))
        if label != "OTHER" and gold:
            made[label] = {
                "support": gold,
                "found": found,
                "f1": round(2 * exact / (gold + found), 4),
            }
    mean = sum(row["f1"] for row in made.values()) / len(made) if made else None
    return (None if mean is None else round(mean, 4)), made


def measure(nlp: Language, cases: Sequence[Case], profile: Profile) -> dict[str, Any]:
    """RETURNS (dict[str, Any]): `summary` of all cases, of the short ones, and of each group."""
    sentences = spacy.blank("en")
    sentences.add_pipe("sentencizer")
    docs = nlp.pipe([case.text for case in cases], batch_size=16)
    counts = [
        counts_of(case, marks_of(doc), profile.protects)
        for case, doc in zip(cases, docs, strict=True)
    ]
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
    sets: Annotated[str, typer.Option(help="Sets, with commas.")] = "slots,everyday",
    public: Annotated[
        Path | None, typer.Option(help="Folder with mathdial.jsonl and litbank.jsonl.")
    ] = None,
    note: Annotated[str, typer.Option(help="What is measured, for the list of looks.")] = "",
    out: common.OutOpt = None,
    debug: common.DebugOpt = False,
) -> None:
    """Score a pipeline on texts that its makers have not read."""
    with guard(debug):
        common.early(out)
        chosen = sets.split(",")
        hides = Profile.load(PROFILE)
        nlp = load_pipeline(pipeline)
        makers: dict[str, Callable[[], Iterable[Case]]] = {
            "everyday": everyday,
            "slots": slots,
            "tutoring": lambda: tutoring(public or Path()),
            "novels": lambda: novels(public or Path()),
        }
        made = {n: measure(nlp, list(makers[n]()), hides) for n in chosen}
        for row in made.get("slots", {}).values():
            del row["precision"], row["precision_95"]  # the other people of a text have no marks
        if "tutoring" in made:
            made["tutoring"]["readers"] = agreement()
        report = common.head() | {
            "pipeline": f"{nlp.meta['name']} {nlp.meta['version']}",
            "profile": PROFILE,
            "sets": made,
        }
        common.publish("unread", report, out, show)
        if looked := [name for name in chosen if name in SEALED]:
            totals = {name: made[name]["all"] for name in looked}
            add_look(report["pipeline"], note, sets=looked, totals=totals)


def show(report: dict[str, Any], to: Any) -> None:
    """Print the rows of each set."""
    keys = "texts with_private texts_left_open private private_hidden instructor_hidden kept kept_touched precision contacts contacts_hidden indirect_f1"
    for name, groups in report["sets"].items():
        common.show(to, f"{name}, {report['profile']}", groups, keys)


def table(reports: Sequence[dict[str, Any]]) -> list[str]:
    """RETURNS (list[str]): A row for each set and group of each report; 95 % intervals in brackets."""
    heads = "pipeline, texts|number|private hidden|left open|cited, characters touched|precision|indirect, exact F1"
    lines = []
    for report in reports:
        for name, groups in report["sets"].items():
            for group, row in groups.items():
                if "texts" not in row or "right" in row:  # readers; reports, until 0.14.0
                    continue
                title = f"{report['pipeline']}, {name}" + ("" if group == "all" else f", {group}")
                keys = {"private_hidden": "private", "left_open": "with_private"}
                keys |= {"kept_touched": "kept", "precision": "", "indirect_f1": ""}
                cells = [cell(row, key, support) for key, support in keys.items()]
                lines.append([title, str(row["texts"]), *cells])
    return common.lines_of(heads.split("|"), lines)


add_table(app, table)
if __name__ == "__main__":
    app()
