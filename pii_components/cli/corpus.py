"""`pii-edu corpus …`: labelled corpora, read, written, checked, split and made."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option

from .. import __version__
from ..corpus.clean import TrigramHasher, duplicates_of
from ..corpus.split import (
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
from ..files.writers import check_column, replace_file, value_of
from . import common
from .clean import EPILOG as CLEAN_EPILOG
from .clean import clean
from .settings import key, read_settings

_READING = "text_column, id_column, encoding, text_source (texts of entities with offsets alone; joined by id)"
_BUILD_EPILOG = (
    "Settings for --config: seed, scale (share of fillings and carriers), carriers (times as many to train on), "
    "uncut (whole texts, for a last pass), crapii and scenes (whether they go in), perturbed (share of filled essays). "
    "Exit codes: 0 done; 2 refused, nothing was written; 130 interrupted."
)
_CHECK_EPILOG = "Exit codes: 0 every essay can be used; 1 an essay is broken or says what another one says; 2 there are none."
_CONVERT_EPILOG = (
    f"Settings for --config: {_READING}, strict. "
    "Exit codes: 0 all done; 1 done, but records were skipped (they are listed in the report); 2 refused, nothing was written; "
    "130 interrupted, nothing was written."
)
_SPLIT_EPILOG = (
    "Settings for --config: method (folds; or paper: 25, 15, 60 % by the seeds of the JEDM paper, in the order of INPUT), folds, seed, "
    "student_column (all texts of one go to one fold), similarity (cosine above which texts are near-duplicates and go to one fold; "
    f"0 for none), form (of a labelled INPUT), {_READING}. "
    "Exit codes: 0 all done; 1 done, but records were skipped (the report lists them); 2 refused, nothing was written. "
    "Beside folds.jsonl, folds.split.json holds what each part has; no text."
)
METHODS = FOLDS, PAPER = ("folds", "paper")
_WRITTEN = ", ".join(form.name for form in FORMS.values() if form.writer)

AssetsArg = Annotated[
    Path,
    Argument(metavar="ASSETS", help="Folder with essays/ and fragments/ (assets/ESSAY_FORMAT.md)."),
]

corpus_app = typer.Typer(
    help="Read, write and make labelled corpora.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@dataclass(frozen=True, kw_only=True)
class ReadingSettings:
    """How a corpus is read; see `read_corpus`. strict (bool): Whether the first record that cannot be used ends it all."""

    text_column: str = key("")
    id_column: str = key("")
    encoding: str = key("utf-8")
    text_source: str = key("")
    strict: bool = key(False)

    @property
    def columns(self) -> dict[str, Any]:
        """Options of `open_source`."""
        return {
            "text_field": self.text_column,
            "id_field": self.id_column,
            "encoding": self.encoding,
        }

    @property
    def options(self) -> dict[str, Any]:
        """Options of `read_corpus`."""
        return {
            **self.columns,
            "text_source": Path(self.text_source) if self.text_source else None,
        }


@corpus_app.command(epilog=_CONVERT_EPILOG)
def convert(
    *,
    source: Annotated[Path, Argument(metavar="IN", help="A labelled corpus.")],
    out: Annotated[Path, Argument(metavar="OUT", help="What is written.")],
    from_form: str = Option("", "--from", help=f"Form of IN: {', '.join(FORMS)} [by its suffix]."),
    to_form: str = Option("", "--to", help=f"Form of OUT: {_WRITTEN} [by its suffix]."),
    config: common.ConfigOpt = None,
    overwrite: common.OverwriteOpt = False,
) -> None:
    """Turn a labelled corpus into another form; write OUT and a report.

    Gold that does not fit its text (outside of it, overlapping, other words at its offsets, an edge inside a token) is masked: OUT
    marks the stretch as not labelled, and the report says where and why.
    """
    with common.guard():
        settings = read_settings(ReadingSettings, config)
        report_path = out.with_name(out.name + ".report.json")
        if not source.exists():
            raise PiiError(Errors.E501, what=f"'{source}'", reason="it does not exist")
        from_form = from_form or form_of(source)
        to_form = open_corpus_writer(out, to_form).form
        texts = settings.options["text_source"]
        check_places(source, report_path, texts, out, overwrite=overwrite)
        skips = common.Skips(common.say, strict=settings.strict)
        tally = convert_corpus(
            source,
            out,
            from_form=from_form,
            to_form=to_form,
            on_skip=skips,
            overwrite=overwrite,
            **settings.options,
        )
        head = {"program": "pii-edu", "version": __version__, "from": from_form, "to": to_form}
        _write_json(report_path, head | _as_report(tally, skips))
        for name, n in sorted(tally.notes.items()):
            common.tell(f"{name}: {n}")
        common.tell(
            f"{tally.documents} documents, {len(skips)} skipped, {len(tally.masked)} labels masked"
        )
        common.tell(f"wrote '{out}' ({to_form}) and '{report_path}'")
    raise typer.Exit(common.exit_code(skips))


def _write_json(path: Path, content: Mapping[str, Any]) -> None:
    replace_file(path, json.dumps(content, indent=1, ensure_ascii=False) + "\n")


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
    config: common.ConfigOpt = None,
) -> None:
    """Fill the slots of authored essays (and of your own carriers) with invented people; write DocBins.

    `stats.json` counts documents, tokens and labels per split; `distribution.json` how often each label, role, form, region and
    kind of noise was filled in.
    """
    from ..corpus.build import build_corpus

    with common.guard():
        settings = read_settings(BuildSettings, config)
        options = asdict(settings)
        if perturbed := options.pop("perturbed"):
            from ..corpus.noise import training_change

            options["change"] = training_change(perturbed)
        stats, _ = build_corpus(assets, out, **options)
        for name, counts in stats.items():
            common.tell(f"{name}: {counts['documents']} documents, {counts['tokens']} tokens")
    raise typer.Exit(common.DONE)


@dataclass(frozen=True, kw_only=True)
class BuildSettings:
    """See `build_corpus`. perturbed (float): Share of the filled essays that are perturbed."""

    seed: int = key(46)
    scale: float = key(1.0)
    carriers: float = key(1.0)
    uncut: bool = key(False)
    crapii: bool = key(True)
    scenes: bool = key(True)
    perturbed: float = key(0.0)

    def __post_init__(self) -> None:
        for name, fits, allowed in (
            ("scale", self.scale > 0, "a number above 0"),
            ("carriers", self.carriers >= 0, "a number from 0"),
            ("perturbed", 0 <= self.perturbed <= 1, "a number from 0 to 1"),
        ):
            if not fits:
                raise PiiError(Errors.E650, name=name, value=getattr(self, name), allowed=allowed)


@corpus_app.command(epilog=_CHECK_EPILOG)
def check(
    *,
    assets: AssetsArg = Path("assets"),
    names: bool = Option(
        False, "--names", help="List what looks like a name or a contact detail outside slots."
    ),
) -> None:
    """Check authored essays: format, slots without a label, near-duplicates; count labels and roles."""
    from ..corpus.templates import check as check_essays

    with common.guard():
        found = check_essays(assets)
        screen = common.console()
        for err in found.broken:
            screen.print(str(err), markup=False)
        for first, second, share in found.near:
            line = f"{first} and {second} share {share:.0%} of the shorter one's word trigrams"
            screen.print(line, markup=False)
        if not common.global_option("quiet"):
            line = (
                f"{found.essays} essays, {found.clean} of them without private people and details"
            )
            screen.print(line, highlight=False)
            rows = ((label, found.labels[label], n) for label, n in sorted(found.slots.items()))
            screen.print(common.table_of(rows, "label", "essays", "slots"))
        if names:
            for ident, values in found.names.items():
                screen.print(f"{ident}: {' | '.join(values)}", markup=False)
    raise typer.Exit(common.exit_code(found.failed))


@dataclass(frozen=True, kw_only=True)
class SplitSettings(ReadingSettings):
    """How a corpus is split. RAISES (PiiError): E519, E650."""

    method: str = key(FOLDS)
    folds: int = key(5)
    seed: int = key(0)
    student_column: str = key("")
    similarity: float = key(0.9)
    form: str = key("")

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise PiiError(
                Errors.E519, value=self.method, what="method", allowed=", ".join(METHODS)
            )
        if not 0 <= self.similarity < 1:
            allowed = "a number from 0, below 1; 0 for none"
            raise PiiError(Errors.E650, name="similarity", value=self.similarity, allowed=allowed)


@dataclass(slots=True)
class Documents:
    """What a split needs to know of the documents of a corpus, in their order; skips: what could not be read."""

    form: str = "unlabelled"
    ids: list[str] = field(default_factory=list)
    labels: list[Counter[str]] = field(default_factory=list)
    students: list[str] = field(default_factory=list)
    rows: list[Any] = field(default_factory=list)
    skips: list[Skip] = field(default_factory=list)


def read_documents(path: Path, settings: SplitSettings) -> Documents:
    """Read a corpus, labelled or not."""
    form = settings.form
    if not form:
        with suppress(PiiError):
            form = form_of(path)
    documents = Documents(form or "unlabelled")
    hasher = TrigramHasher()
    read = _labelled(path, form, settings, documents) if form else _plain(path, settings, documents)
    for essay, student in read:
        documents.ids.append(essay.id)
        documents.students.append("" if student is None else str(student).strip())
        documents.labels.append(Counter(label for _, _, label in essay.spans))
        if settings.similarity and settings.method == FOLDS:
            documents.rows.append(hasher(essay.text))
    check_ids(documents.ids)
    return documents


def _labelled(
    path: Path, form: str, settings: SplitSettings, documents: Documents
) -> Iterator[tuple[LabelledText, Any]]:
    name, fields = settings.student_column, dict[str, None]()
    for essay in read_corpus(path, form, on_skip=documents.skips.append, **settings.options):
        fields.update(dict.fromkeys(essay.meta))
        yield essay, essay.meta.get(name)
    if name and name not in fields:
        shown = show_fields(fields)
        raise PiiError(Errors.E652, option="student_column", name=name, fields=shown)


def _plain(
    path: Path, settings: SplitSettings, documents: Documents
) -> Iterator[tuple[LabelledText, Any]]:
    name, source = settings.student_column, open_source(path, **settings.columns)
    if name:
        check_column(source, name, "student_column")
    for item in source:
        if isinstance(item, Skip):
            documents.skips.append(item)
        else:
            student = value_of(item, source, name) if name else ""
            yield LabelledText(item.id, item.text), student


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
    config: common.ConfigOpt = None,
    overwrite: common.OverwriteOpt = False,
) -> None:
    """Split a corpus: folds that keep students and near-duplicates together and labels even, or the split of the JEDM paper."""
    with common.guard():
        settings = read_settings(SplitSettings, config)
        report_path = out.with_name(out.stem + ".split.json")
        common.check_outputs(source, out, report_path, overwrite=overwrite)
        documents = read_documents(source, settings)
        groups, parts = make_parts(documents, settings)
        counts = count_parts(parts, documents.labels, groups)
        report = {
            "program": "pii-edu corpus split",
            "version": __version__,
            "settings": asdict(settings),
            "form": documents.form,
            "documents": len(documents.ids),
            "groups": len(groups),
            "parts": {name: asdict(part) for name, part in counts.items()},
            "skipped": _listed(documents.skips),
        }
        _write_json(report_path, report)
        row_of: dict[int, dict[str, Any]] = {}
        for k, (name, part) in enumerate(parts.items()):
            row = {"fold": k} if settings.method == FOLDS else {"split": name}
            row_of.update(dict.fromkeys(part, row))
        lines = [json.dumps({"id": name} | row_of[i]) for i, name in enumerate(documents.ids)]
        replace_file(out, "".join(line + "\n" for line in lines))
        for skip in documents.skips[:10]:
            common.say(skip.error)
        sizes = ", ".join(f"{name} {part.documents}" for name, part in counts.items())
        common.tell(f"documents: {sizes}; {len(documents.skips)} records skipped")
        common.tell(f"wrote '{out}' and '{report_path}'")
    raise typer.Exit(common.exit_code(documents.skips))


def make_parts(
    documents: Documents, settings: SplitSettings
) -> tuple[Any, dict[str, tuple[int, ...]]]:
    """RETURNS (tuple): Groups of documents that stay together; numbers of the documents of each part."""
    copies: Any = ()
    if documents.rows:
        found = duplicates_of(documents.rows, threshold=settings.similarity, highest=False)
        copies = found.groups
    n = len(documents.ids)
    groups = group_documents(n, students=documents.students, copies=copies)
    if settings.method == PAPER:
        return groups, paper_split(n)
    fold_of = stratified_folds(
        groups, documents.labels, ids=documents.ids, folds=settings.folds, seed=settings.seed
    )
    parts = {}
    for k in range(settings.folds):
        parts[f"fold_{k}"] = tuple(i for i, fold in enumerate(fold_of) if fold == k)
    return groups, parts
