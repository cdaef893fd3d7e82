"""`pii-edu corpus …`: labelled corpora, read, written, checked, split and made."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option

from .. import __version__
from ..corpus.clean import TrigramHasher, duplicates_of
from ..corpus.split import (
    PartCounts,
    check_ids,
    count_parts,
    group_documents,
    paper_split,
    stratified_folds,
)
from ..errors import Errors, PiiError
from ..files.formats.base import LabelledText, ReadStats
from ..files.labelled import FORMS, check_places, form_of, open_corpus_writer, read_corpus
from ..files.labelled import convert as convert_corpus
from ..files.record import Skip, show_fields
from ..files.sources import open_source
from ..files.writers import as_line, check_column, replace_file, value_of
from . import common
from .clean import EPILOG as CLEAN_EPILOG
from .clean import check_places as check_apart
from .clean import clean
from .deidentify import write_json

_BUILD_EPILOG = "Exit codes: 0 done; 2 refused, nothing was written; 130 interrupted."
_CHECK_EPILOG = "Exit codes: 0 every essay can be used; 1 an essay is broken or says what another one says; 2 there are none."
_ASSETS_EPILOG = "Exit codes: 0 nothing is wrong (files may be absent); 1 a file is not what it should be; 2 refused."
_CONVERT_EPILOG = (
    "Exit codes: 0 all done; 1 done, but records were skipped (they are listed in the report); 2 refused, nothing was written; "
    "130 interrupted, nothing was written."
)
_SPLIT_EPILOG = (
    "Exit codes: 0 all done; 1 done, but records were skipped (the report lists them); 2 refused, nothing was written. "
    "Beside folds.jsonl, folds.split.json holds what each part has; no text."
)
METHODS = ("folds", "paper")
_ROWS = 14
_WRITTEN = ", ".join(form.name for form in FORMS.values() if form.writer)

AssetsArg = Annotated[
    Path,
    Argument(metavar="ASSETS", help="Folder with essays/ and fragments/ (assets/ESSAY_FORMAT.md)."),
]
IdOpt = Annotated[
    str, Option("--id-column", "--id-field", help="Column or field of the id [a usual name].")
]
TextSourceOpt = Annotated[
    str, Option("--text-source", help="File or folder with the texts, for entities; joined by id.")
]

corpus_app = typer.Typer(
    help="Read, write and make labelled corpora.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@corpus_app.command(epilog=_CONVERT_EPILOG)
def convert(
    *,
    source: Annotated[Path, Argument(metavar="IN", help="A labelled corpus.")],
    out: Annotated[Path, Argument(metavar="OUT", help="What is written.")],
    from_form: str = Option(
        "", "--from", help=f"Form of IN: {', '.join(FORMS)} [by its suffix and first records]."
    ),
    to_form: str = Option("", "--to", help=f"Form of OUT: {_WRITTEN} [by its suffix]."),
    text_source: TextSourceOpt = "",
    text_field: common.TextOpt = "",
    id_field: IdOpt = "",
    encoding: common.EncodingOpt = "utf-8",
    report: str = Option("", help="Where the report goes [<OUT>.report.json]."),
    strict: bool = Option(
        False, "--strict", help="Stop at the first record that has to be skipped; write nothing."
    ),
    overwrite: common.OverwriteOpt = False,
    quiet: common.QuietOpt = False,
    debug: common.DebugOpt = False,
) -> None:
    """Turn a labelled corpus into another form; write OUT and a report.

    Gold that does not fit its text (outside of it, overlapping, other words at its offsets, an edge inside a token) is masked: OUT
    marks the stretch as not labelled, and the report says where and why.
    """
    with common.guard(debug):
        text_path = Path(text_source) if text_source else None
        report_path = Path(report) if report else out.with_name(out.name + ".report.json")
        if not source.exists():
            raise PiiError(Errors.E501, what=f"'{source}'", reason="it does not exist")
        from_form = from_form or form_of(source)
        to_form = open_corpus_writer(out, to_form).form
        check_places(source, report_path, text_path, out, overwrite=overwrite)
        skips = common.Skips(common.say, strict=strict)
        tally = convert_corpus(
            source,
            out,
            from_form=from_form,
            to_form=to_form,
            encoding=encoding,
            text_field=text_field,
            id_field=id_field,
            text_source=text_path,
            on_skip=skips,
            overwrite=overwrite,
        )
        head = {"program": "pii-edu", "version": __version__, "from": from_form, "to": to_form}
        write_json(report_path, head | _as_report(tally, skips))
        if not quiet:
            masked = Counter(found.label for found in tally.masked)
            labels = sorted(tally.labels.keys() | masked.keys())
            if labels:
                rows = ((label, tally.labels[label], masked[label]) for label in labels)
                common.console(stderr=True).print(
                    common.table_of(rows, "label", "spans", "masked", right=("spans", "masked"))
                )
            for name, n in sorted(tally.notes.items()):
                if n:
                    common.say(f"{name}: {n}")
            common.say(
                f"{tally.documents} documents, {len(skips)} skipped, {len(tally.masked)} labels masked"
            )
            common.say(f"wrote '{out}' ({to_form}) and '{report_path}'")
    raise typer.Exit(common.DONE_WITH_SKIPS if skips else common.DONE)


def _as_report(tally: ReadStats, skips: list[Skip]) -> dict[str, Any]:
    """Counts, and numbers of records with codes, offsets, labels and reasons; no text."""
    reasons = Counter((masked.reason, masked.label) for masked in tally.masked)
    return {
        "documents": tally.documents,
        "labels": {label: n for label, n in sorted(tally.labels.items()) if n},
        "skipped": _listed(skips),
        "masked": {
            "count": len(tally.masked),
            "by_reason": [
                {"reason": reason, "label": label, "count": n}
                for (reason, label), n in sorted(reasons.items())
            ],
            "where": [
                {
                    "record": m.number,
                    "start": m.start,
                    "end": m.end,
                    "label": m.label,
                    "reason": m.reason,
                }
                for m in tally.masked
            ],
        },
        "notes": dict(sorted((name, n) for name, n in tally.notes.items() if n)),
    }


def _listed(skips: list[Skip]) -> dict[str, Any]:
    return {
        "count": len(skips),
        "records": [{"record": skip.number, "code": skip.code} for skip in skips],
    }


corpus_app.command(epilog=CLEAN_EPILOG)(clean)


@corpus_app.command(epilog=_BUILD_EPILOG)
def build(
    *,
    assets: AssetsArg = Path("assets"),
    out: Path = Option(
        Path("corpus"), help="Folder for train, dev and test as DocBins, and the two reports."
    ),
    seed: int = Option(46, help="Of every choice."),
    scale: float = Option(1.0, min=0.001, help="Share of the fillings and carriers."),
    uncut: bool = Option(
        False,
        "--uncut",
        help="Whole texts to train on, not stretches: for a last pass, with --scale 0.5 or less.",
    ),
    crapii: bool = Option(
        True,
        help="Whether the essays in ASSETS/crapii go in; not if they are to be held out later.",
    ),
    scenes: bool = Option(
        True, help="Whether short texts go in, of which nearly every sentence names somebody."
    ),
    carriers: float = Option(
        1.0, min=0, help="Times as many carriers to train on; most of them name nobody."
    ),
    perturbed: Annotated[
        float,
        Option(
            min=0,
            max=1,
            help="Share of the filled essays to train on that are perturbed (evaluate robustness).",
        ),
    ] = 0.0,
    quiet: common.QuietOpt = False,
    debug: common.DebugOpt = False,
) -> None:
    """Fill the slots of authored essays (and of your own carriers) with invented people; write DocBins.

    `stats.json` counts documents, tokens and labels per split; `distribution.json` how often each label, role, form, region and
    kind of noise was filled in.
    """
    from ..corpus.build import build_corpus

    with common.guard(debug):
        change = None
        if perturbed:
            from ..corpus.noise import training_change

            change = training_change(perturbed)
        stats, distribution = build_corpus(
            assets,
            out,
            seed=seed,
            scale=scale,
            uncut=uncut,
            crapii=crapii,
            scenes=scenes,
            carriers=carriers,
            change=change,
        )
        if not quiet:
            keys = sorted(
                {key for some in stats.values() for key in some},
                key=lambda key: (key.isupper(), key),
            )
            rows = ((key, *(f"{some.get(key, 0):,}" for some in stats.values())) for key in keys)
            common.console().print(
                common.table_of(rows, "", *stats, right=stats, title="What was written")
            )
            frequent = (
                (kind, len(found), _first(found)) for kind, found in distribution["train"].items()
            )
            common.console().print(
                common.table_of(frequent, "train: what was filled in", "values", "most frequent")
            )
    raise typer.Exit(common.DONE)


def _first(found: Mapping[str, int]) -> str:
    shown = ", ".join(f"{value} {n:,}" for value, n in list(found.items())[:_ROWS])
    return shown + (f" and {len(found) - _ROWS} more" if len(found) > _ROWS else "")


@corpus_app.command(epilog=_CHECK_EPILOG)
def check(
    *,
    assets: AssetsArg = Path("assets"),
    names: bool = Option(
        False, "--names", help="List what looks like a name or a contact detail outside slots."
    ),
    quiet: common.QuietOpt = False,
    debug: common.DebugOpt = False,
) -> None:
    """Check authored essays: format, slots without a label, near-duplicates; count labels and roles."""
    from ..corpus.templates import check as check_essays

    with common.guard(debug):
        found = check_essays(assets)
        screen = common.console()
        for err in found.broken:
            screen.print(str(err), markup=False)
        for a, b, share in found.near:
            screen.print(
                f"{a} and {b} share {share:.0%} of the shorter one's word trigrams", markup=False
            )
        if not quiet:
            screen.print(
                f"{found.essays} essays, {found.clean} of them without private people and details",
                highlight=False,
            )
            rows = (
                (label, found.labels[label], found.slots[label]) for label in sorted(found.slots)
            )
            screen.print(common.table_of(rows, "label", "essays", "slots"))
        if names:
            for ident, some in found.names.items():
                screen.print(f"{ident}: {' | '.join(some)}", markup=False)
    raise typer.Exit(common.DONE_WITH_SKIPS if found.failed else common.DONE)


@corpus_app.command(epilog=_ASSETS_EPILOG)
def assets(
    *,
    folder: AssetsArg = Path("assets"),
    record: bool = Option(
        False, "--record", help="Write down the checksums of files that have no published one."
    ),
    quiet: common.QuietOpt = False,
    debug: common.DebugOpt = False,
) -> None:
    """Check the user's own files: published checksums, numbers of records, and the checksums that were recorded."""
    from ..corpus.build import WRONG, verify_assets

    with common.guard(debug):
        checked = verify_assets(folder, record=record)
        wrong = any(item.state == WRONG for item in checked)
        if wrong or not quiet:
            rows = ((item.path, item.state, item.sha256[:16], item.reason) for item in checked)
            common.console().print(common.table_of(rows, "file", "state", "sha256", ""))
    raise typer.Exit(common.DONE_WITH_SKIPS if wrong else common.DONE)


@dataclass(slots=True)
class Input:
    """A corpus that can be read again and again, labelled (form) or not; options are those of `read_corpus`. skips (list[Skip]):
    Records of the last reading that could not be used."""

    path: Path
    form: str
    student: str
    options: dict[str, Any]
    skips: list[Skip] = field(default_factory=list)

    def __post_init__(self) -> None:
        if not self.form and self.path.exists():
            try:
                self.form = form_of(self.path)
            except PiiError as err:
                if err.code != "E621":
                    raise

    def read(self) -> Iterator[tuple[LabelledText, str, str]]:
        """YIELDS (tuple[LabelledText, str, str]): A document; its student; its line, if the corpus is not labelled."""
        self.skips = []
        if self.form:
            fields: dict[str, None] = {}
            known = False
            for essay in read_corpus(
                self.path, self.form, on_skip=self.skips.append, **self.options
            ):
                known = known or self.student in essay.meta
                fields.update(dict.fromkeys(essay.meta))
                yield essay, _text_of(essay.meta.get(self.student)), ""
            if self.student and not known:
                raise PiiError(
                    Errors.E652,
                    option="--student-column",
                    name=self.student,
                    fields=show_fields(fields),
                )
            return
        source = open_source(
            self.path,
            **{name: self.options[name] for name in ("text_field", "id_field", "encoding")},
        )
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


@corpus_app.command(epilog=_SPLIT_EPILOG)
def split(
    *,
    source: Annotated[
        Path,
        Argument(
            metavar="INPUT", help="A corpus, labelled or not: any form that convert or clean reads."
        ),
    ],
    out: Annotated[
        Path,
        Option(
            "--out", "-o", help="What is written: JSON Lines with id and fold, or id and split."
        ),
    ],
    method: Annotated[
        str,
        Option(
            help="folds; or paper: 25, 15, 60 % by the seeds of the JEDM paper, in the order of INPUT."
        ),
    ] = "folds",
    folds: int = Option(5, help="How many folds."),
    student: str = Option(
        "", "--student-column", help="Column of the student: all of one go to one fold."
    ),
    similarity: float = Option(
        0.9, help="Cosine above which texts are near-duplicates and go to one fold; 0 for none."
    ),
    seed: int = Option(0, help="Of the folds."),
    parts_folder: str = Option(
        "", "--parts", help="Write the parts as files too, to this new folder."
    ),
    form: str = Option(
        "", "--from", help="Form of a labelled INPUT [by its suffix and first records]."
    ),
    text_source: TextSourceOpt = "",
    text_field: common.TextOpt = "",
    id_field: IdOpt = "",
    encoding: common.EncodingOpt = "utf-8",
    overwrite: common.OverwriteOpt = False,
    quiet: common.QuietOpt = False,
    debug: common.DebugOpt = False,
) -> None:
    """Split a corpus: folds that keep students and near-duplicates together and labels even, or the split of the JEDM paper."""
    with common.guard(debug):
        if method not in METHODS:
            raise PiiError(
                Errors.E685, value=method, what="way to split", allowed=", ".join(METHODS)
            )
        if not 0 <= similarity < 1:
            raise PiiError(
                Errors.E650,
                name="similarity",
                value=similarity,
                allowed="a number from 0, below 1; 0 for none",
            )
        folder = Path(parts_folder) if parts_folder else None
        report_path = out.with_name(out.stem + ".split.json")
        places = [out, report_path, *([folder] if folder else [])]
        check_apart(source, *places)
        if not overwrite:
            common.check_free(*places)
        options: dict[str, Any] = {
            "text_field": text_field,
            "id_field": id_field,
            "encoding": encoding,
        }
        corpus = Input(
            source,
            form,
            student,
            options | {"text_source": Path(text_source) if text_source else None},
        )
        by_fold = method == "folds"
        ids: list[str] = []
        labels: list[Counter[str]] = []
        students: list[str] = []
        rows: list[Any] = []
        hasher = TrigramHasher()
        for essay, name, _ in corpus.read():
            ids.append(essay.id)
            students.append(name)
            labels.append(Counter(label for _, _, label in essay.spans))
            if similarity and by_fold:
                rows.append(hasher(essay.text))
        check_ids(ids)
        copies = duplicates_of(rows, threshold=similarity, highest=False).groups if rows else ()
        groups = group_documents(len(ids), students=students, copies=copies)
        if by_fold:
            fold_of = stratified_folds(groups, labels, ids=ids, folds=folds, seed=seed)
            parts = {
                f"fold_{k}": tuple(i for i, fold in enumerate(fold_of) if fold == k)
                for k in range(folds)
            }
        else:
            parts = paper_split(len(ids))
        counts = count_parts(parts, labels, groups)
        part_of = {i: name for name, part in parts.items() for i in part}
        if folder is not None:
            _write_parts(corpus, folder, [part_of[i] for i in range(len(ids))], list(parts))
        settings = {
            "folds": folds,
            "seed": seed,
            "similarity": similarity,
            "student_column": student,
        }
        report = {
            "program": "pii-edu corpus split",
            "version": __version__,
            "method": method,
            "settings": settings if by_fold else {},
            "form": corpus.form or "unlabelled",
            "documents": len(ids),
            "groups": len(groups),
            "parts": {name: asdict(part) for name, part in counts.items()},
            "skipped": _listed(corpus.skips),
        }
        values = {name: {"fold": k} if by_fold else {"split": name} for k, name in enumerate(parts)}
        replace_file(report_path, json.dumps(report, indent=1, ensure_ascii=False) + "\n")
        replace_file(
            out,
            "".join(
                json.dumps({"id": name} | values[part_of[i]]) + "\n" for i, name in enumerate(ids)
            ),
        )
        if not quiet:
            _tell_split(counts, corpus.skips)
            common.say(f"wrote '{out}' and '{report_path}'")
    raise typer.Exit(common.DONE_WITH_SKIPS if corpus.skips else common.DONE)


def _write_parts(corpus: Input, folder: Path, part_of: list[str], names: list[str]) -> None:
    """A file per part, in the form of INPUT where it is one that is written, else JSON Lines."""
    form = FORMS.get(corpus.form)
    if form is None:
        for name in names:
            lines = [
                line
                for (_, _, line), part in zip(corpus.read(), part_of, strict=True)
                if part == name
            ]
            replace_file(folder / f"{name}.jsonl", "".join(line + "\n" for line in lines))
        return
    form = form if form.writer else FORMS["jsonl"]
    suffix = (
        form.suffixes[0] if form.suffixes else {"kaggle-jsonl": ".jsonl"}.get(form.name, ".json")
    )
    with ExitStack() as stack:
        writers = {
            name: stack.enter_context(open_corpus_writer(folder / f"{name}{suffix}", form.name))
            for name in names
        }
        for number, ((essay, _, _), part) in enumerate(zip(corpus.read(), part_of, strict=True), 1):
            writers[part].write(essay, number=number)
        for writer in writers.values():
            writer.finish()


def _tell_split(counts: dict[str, PartCounts], skips: list[Skip]) -> None:
    parts = list(counts.values())
    rows: dict[str, list[int]] = {
        "documents": [part.documents for part in parts],
        "groups": [part.groups for part in parts],
        "documents with labels": [part.with_pii for part in parts],
    }
    for label in sorted({label for part in parts for label in part.spans}):
        rows[label] = [part.spans.get(label, 0) for part in parts]
    shown = ((title, *(f"{value:,}" for value in values)) for title, values in rows.items())
    common.console(stderr=True).print(common.table_of(shown, "", *counts, right=counts))
    for skip in skips[:10]:
        common.say(skip.error)
    if skips:
        common.say(f"{len(skips)} records skipped")
