"""`pii-edu corpus split`: which document goes to which part, and what each part holds."""

import json
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from ..about import __version__
from ..corpus.duplicates import TrigramHasher, duplicates_of
from ..corpus.labelled import FORMS, LabelledText, guess_form, open_corpus_writer, read_corpus
from ..corpus.lines import as_line, check_column, value_of
from ..corpus.readers import open_source
from ..corpus.records import Skip, reason_of, show_fields
from ..corpus.splits import PartCounts, check_ids, count_parts, group_documents, paper_split, stratified_folds
from ..errors import Errors, PiiError
from .exit_codes import DONE, DONE_WITH_SKIPS
from .guard import guard
from .show import console

METHODS = ("folds", "paper")
EPILOG = (
    "Exit codes: 0 all done; 1 done, but records were skipped (the report lists them); 2 refused, nothing was written. "
    "Beside folds.jsonl, folds.split.json holds what each part has; no text."
)

SourceArg = Annotated[
    str, typer.Argument(metavar="INPUT", help="A corpus, labelled or not: any form that convert or clean reads.")
]
OutOpt = Annotated[str, typer.Option("--out", "-o", help="What is written: JSON Lines with id and fold, or id and split.")]
MethodOpt = Annotated[
    str, typer.Option("--method", help="folds; or paper: 25, 15, 60 % by the seeds of the JEDM paper, in the order of INPUT.")
]
FoldsOpt = Annotated[int, typer.Option("--folds", help="How many folds.")]
StudentOpt = Annotated[str, typer.Option("--student-column", help="Column of the student: all of one go to one fold.")]
SimilarityOpt = Annotated[
    float, typer.Option("--similarity", help="Cosine above which texts are near-duplicates and go to one fold; 0 for none.")
]
SeedOpt = Annotated[int, typer.Option("--seed", help="Of the folds.")]
PartsOpt = Annotated[str, typer.Option("--parts", help="Write the parts as files too, to this new folder.")]
FormOpt = Annotated[str, typer.Option("--from", help="Form of a labelled INPUT [by its suffix and first records].")]
TextSourceOpt = Annotated[str, typer.Option("--text-source", help="File or folder with the texts, for entities; joined by id.")]
TextOpt = Annotated[str, typer.Option("--text-column", "--text-field", help="Column or field of the text [a usual name].")]
IdOpt = Annotated[str, typer.Option("--id-column", "--id-field", help="Column or field of the id [a usual name].")]
EncodingOpt = Annotated[str, typer.Option("--encoding", help="Encoding of INPUT; a byte order mark is seen without it.")]
OverwriteOpt = Annotated[bool, typer.Option("--overwrite", help="Replace an OUT that exists.")]
QuietOpt = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]
DebugOpt = Annotated[bool, typer.Option("--debug", help="Raise unexpected errors with their traceback, which may show text.")]


@dataclass(slots=True)
class Input:
    """A corpus that can be read again and again, labelled or not. form (str): Of a labelled one, else nothing. skips (list[Skip]):
    Records of the last reading that could not be used."""

    path: Path
    form: str
    student: str
    options: dict[str, Any]
    skips: list[Skip] = field(default_factory=list)

    @classmethod
    def open(cls, path: Path, form: str, student: str, options: dict[str, Any]) -> "Input":
        """RETURNS (Input): Labelled, if a form is given or can be guessed.

        RAISES (PiiError): E501 to E508, E620.
        """
        if not form and path.exists():
            try:
                form = guess_form(path, encoding=options["encoding"], text_field=options["text_field"])
            except PiiError as err:
                if err.code != "E621":
                    raise
        return cls(path, form, student, options)

    def read(self) -> Iterator[tuple[LabelledText, str, str]]:
        """YIELDS (tuple[LabelledText, str, str]): A document; its student; its line, if the corpus is not labelled."""
        self.skips = []
        if self.form:
            fields: dict[str, None] = {}
            known = False
            for essay in read_corpus(self.path, self.form, on_skip=self.skips.append, **self.options):
                known = known or self.student in essay.meta
                fields.update(dict.fromkeys(essay.meta))
                yield essay, _text_of(essay.meta.get(self.student)), ""
            if self.student and not known:
                raise PiiError(Errors.E652, option="--student-column", name=self.student, fields=show_fields(fields))
            return
        source = open_source(self.path, **{name: self.options[name] for name in ("text_field", "id_field", "encoding")})
        if self.student:
            check_column(source, self.student, "--student-column")
        for item in source:
            if isinstance(item, Skip):
                self.skips.append(item)
                continue
            student = _text_of(value_of(item, source, self.student)) if self.student else ""
            yield LabelledText(item.id, item.text), student, as_line(item, source)


def _text_of(value: Any) -> str:
    return "" if value is None else str(value).strip()


def split(
    *,
    source: SourceArg,
    out: OutOpt,
    method: MethodOpt = "folds",
    folds: FoldsOpt = 5,
    student: StudentOpt = "",
    similarity: SimilarityOpt = 0.9,
    seed: SeedOpt = 0,
    parts_folder: PartsOpt = "",
    form: FormOpt = "",
    text_source: TextSourceOpt = "",
    text_field: TextOpt = "",
    id_field: IdOpt = "",
    encoding: EncodingOpt = "utf-8",
    overwrite: OverwriteOpt = False,
    quiet: QuietOpt = False,
    debug: DebugOpt = False,
) -> None:
    """Split a corpus: folds that keep students and near-duplicates together and labels even, or the split of the JEDM paper."""
    with guard(debug):
        if method not in METHODS:
            raise PiiError(Errors.E668, value=method, allowed=", ".join(METHODS))
        if not 0 <= similarity < 1:
            raise PiiError(Errors.E650, name="similarity", value=similarity, allowed="a number from 0, below 1; 0 for none")
        path, out_path, folder = Path(source), Path(out), Path(parts_folder) if parts_folder else None
        report_path = out_path.with_name(out_path.stem + ".split.json")
        _check_places(path, out_path, report_path, folder, overwrite=overwrite)
        options = {"text_field": text_field, "id_field": id_field, "encoding": encoding}
        corpus = Input.open(path, form, student, options | {"text_source": Path(text_source) if text_source else None})
        ids: list[str] = []
        labels: list[Counter[str]] = []
        students: list[str] = []
        rows: list[Any] = []
        hasher = TrigramHasher()
        for essay, name, _ in corpus.read():
            ids.append(essay.id)
            students.append(name)
            labels.append(Counter(label for _, _, label in essay.spans))
            if similarity and method == "folds":
                rows.append(hasher(essay.text))
        check_ids(ids)
        copies = duplicates_of(rows, threshold=similarity, highest=False).groups if rows else ()
        groups = group_documents(len(ids), students=students, copies=copies)
        if method == "paper":
            parts = paper_split(len(ids))
        else:
            fold_of = stratified_folds(groups, labels, ids=ids, folds=folds, seed=seed)
            parts = {f"fold_{k}": tuple(i for i, fold in enumerate(fold_of) if fold == k) for k in range(folds)}
        counts = count_parts(parts, labels, groups)
        part_of = {i: name for name, part in parts.items() for i in part}
        if folder is not None:
            _write_parts(corpus, folder, [part_of[i] for i in range(len(ids))], list(parts))
        report = {
            "program": "pii-edu corpus split",
            "version": __version__,
            "method": method,
            "settings": {"folds": folds, "seed": seed, "similarity": similarity, "student_column": student} if method == "folds" else {},
            "form": corpus.form or "unlabelled",
            "documents": len(ids),
            "groups": len(groups),
            "parts": {name: asdict(part) for name, part in counts.items()},
            "skipped": {
                "count": len(corpus.skips), "records": [{"record": skip.number, "code": skip.code} for skip in corpus.skips],
            },
        }  # fmt: skip
        key = "split" if method == "paper" else "fold"
        value = {name: name if method == "paper" else k for k, name in enumerate(parts)}
        _write(report_path, json.dumps(report, indent=1, ensure_ascii=False) + "\n")
        _write(out_path, "".join(json.dumps({"id": name, key: value[part_of[i]]}) + "\n" for i, name in enumerate(ids)))
        if not quiet:
            _tell(console(stderr=True), counts, corpus.skips, f"wrote '{out_path}' and '{report_path}'")
        skipped = bool(corpus.skips)
    raise typer.Exit(DONE_WITH_SKIPS if skipped else DONE)


def _check_places(path: Path, out: Path, report: Path, folder: Path | None, *, overwrite: bool) -> None:
    origin = path.resolve()
    places = [place.resolve() for place in (out, report, *([folder] if folder else []))]
    if origin in places or any(origin in place.parents for place in places):
        raise PiiError(Errors.E509)
    for place in () if overwrite else (out, report):
        if place.exists():
            raise PiiError(Errors.E510, what=f"'{place}'")
    if folder is not None and folder.exists() and not overwrite and (not folder.is_dir() or any(folder.iterdir())):
        raise PiiError(Errors.E510, what=f"'{folder}'")


def _write(path: Path, content: str) -> None:
    fresh = path.with_name(path.name + ".new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh.write_text(content, encoding="utf-8", newline="\n")
        os.replace(fresh, path)
    except OSError as err:
        raise PiiError(Errors.E512, what=f"'{path}'", reason=reason_of(err)) from err


def _write_parts(corpus: Input, folder: Path, part_of: list[str], names: list[str]) -> None:
    """A file per part, in the form of INPUT where it is one that is written, else JSON Lines."""
    form = FORMS.get(corpus.form)
    if form is None:
        for name in names:
            lines = [line for (_, _, line), part in zip(corpus.read(), part_of, strict=True) if part == name]
            _write(folder / f"{name}.jsonl", "".join(line + "\n" for line in lines))
        return
    form = form if form.writer else FORMS["jsonl"]
    suffix = form.suffixes[0] if form.suffixes else {"kaggle-jsonl": ".jsonl"}.get(form.name, ".json")
    with ExitStack() as stack:
        writers = {name: stack.enter_context(open_corpus_writer(folder / f"{name}{suffix}", form.name)) for name in names}
        for number, ((essay, _, _), part) in enumerate(zip(corpus.read(), part_of, strict=True), 1):
            writers[part].write(essay, number=number)
        for writer in writers.values():
            writer.finish()


def _tell(screen: Console, counts: dict[str, PartCounts], skips: list[Skip], last: str) -> None:
    table = Table()
    table.add_column("")
    for name in counts:
        table.add_column(name, justify="right")
    for title, values in (
        ("documents", [part.documents for part in counts.values()]),
        ("groups", [part.groups for part in counts.values()]),
        ("documents with labels", [part.with_pii for part in counts.values()]),
    ):
        table.add_row(title, *(f"{value:,}" for value in values))
    for label in sorted({label for part in counts.values() for label in part.spans}):
        table.add_row(label, *(f"{part.spans.get(label, 0):,}" for part in counts.values()))
    screen.print(table)
    for skip in skips[:10]:
        screen.print(str(skip.error), markup=False)
    if skips:
        screen.print(f"{len(skips)} records skipped")
    screen.print(last, markup=False)
