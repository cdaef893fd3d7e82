"""Labelled corpora in every form: read, written, turned into one another.

    for essay in read_corpus(Path("train.json")):                       # the form by the suffix, or given
        essay.id, essay.text, essay.spans, essay.masked
    write_corpus(essays, Path("train.spacy"))
    tally = convert(Path("train.json"), Path("train.spacy"))            # what `pii-edu corpus convert` does

Nothing is lost in silence. A record that cannot be read is a `Skip` with a code; gold that does not fit its text is masked and
counted (`formats.base`): training passes over it, and so must whoever measures. Texts stream where the form allows it.
"""

import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import Errors, PiiError, PiiWarning, Warnings
from .formats import spans, tokens, tools
from .formats.base import CorpusWriter, Items, LabelledText, ReadOptions, ReadStats
from .record import Skip, open_decoded
from .writers import partial_path

__all__ = ["LabelledText", "convert", "form_of", "read_corpus", "write_corpus"]


class Form(NamedTuple):
    """A form of labelled corpora: its name for --from and --to, its reader, its writer if it has one, and suffixes of files that
    are written in it unless another form is asked for."""

    name: str
    read: Callable[[Path, ReadOptions], Items]
    writer: type[CorpusWriter] | None = None
    suffixes: tuple[str, ...] = ()


_FORMS = (
    # CRAPII's too: tokens, labels and full_text
    Form("kaggle", spans.read_json, tokens.KaggleArrayWriter, (".json",)),
    # the same, one object per line
    Form("kaggle-jsonl", spans.read_json, tokens.KaggleWriter),
    Form("jsonl", spans.read_json, spans.SpansWriter, (".jsonl", ".ndjson")),
    Form("csv", spans.read_csv, spans.TableWriter, (".csv", ".tsv")),
    Form("entities", spans.read_joined),
    Form("spacy", tokens.read_docbin, tokens.DocBinWriter, (".spacy",)),
    Form("prodigy", tools.read_prodigy),
    Form("label-studio", tools.read_label_studio),
)
FORMS = {form.name: form for form in _FORMS}
# Names by which a form is known: of columns; of fields, with their quotes.
_COLUMNS = {"entity_text": "entities", "spans": "csv"}
_FIELDS = {
    '"_task_hash"': "prodigy",
    '"annotation_id"': "label-studio",
    '"was_cancelled"': "label-studio",
    '"spans"': "jsonl",
    '"labels"': "kaggle",
}
_LOOKED_AT = 1_000_000  # characters


def form_named(name: str, *, written: bool = False) -> Form:
    """The form of that name. RAISES (PiiError): E519, if there is none, or none that is written."""
    allowed = [form.name for form in FORMS.values() if form.writer or not written]
    if name not in allowed:
        what = "form that is written" if written else "form"
        raise PiiError(Errors.E519, value=name, what=what, allowed=", ".join(allowed))
    return FORMS[name]


def form_of(path: Path) -> str:
    """The form of a corpus, a name in `FORMS`, by its suffix and the names of its columns or fields.

    RAISES (PiiError): E621, if they tell nothing, as those of a corpus without labels; E501; E503.
    """
    suffix = path.suffix.lower()
    if suffix == ".spacy":
        return "spacy"
    if suffix in (".csv", ".tsv", ".json", ".jsonl", ".ndjson"):
        with open_decoded(path, "utf-8") as (stream, _, _):
            head = stream.read(_LOOKED_AT)
        if not head.strip():
            raise PiiError(Errors.E503)
        is_table = suffix in (".csv", ".tsv")
        head = head.partition("\n")[0] if is_table else head
        for name, form in (_COLUMNS if is_table else _FIELDS).items():
            if name in head:
                return form
    raise PiiError(Errors.E621, what=f"'{path.name}'", allowed=", ".join(FORMS))


def read_corpus(
    path: Path,
    form: str = "",
    *,
    encoding: str = "utf-8",
    text_field: str = "",
    id_field: str = "",
    text_source: Path | None = None,
    on_skip: Callable[[Skip], None] | None = None,
    tally: ReadStats | None = None,
) -> Iterator[LabelledText]:
    """Read a labelled corpus.

    path (Path): The file.
    form (str): A name in `FORMS`; empty to go by its name and fields.
    encoding (str): Of text files.
    text_field, id_field (str): Columns or fields; empty to find usual ones.
    text_source (Path | None): Where the texts are, for entities with offsets alone.
    on_skip (Callable[[Skip], None] | None): Called with every record that cannot be used; without
        it the first one raises.
    tally (ReadStats | None): Gets counts and what is masked; without it one warning (W620) says how
        much was.
    YIELDS (LabelledText): In the order of the corpus.
    RAISES (PiiError): E501 to E508, E519 to E634; those of a record only without `on_skip`.
    """
    counts = tally if tally is not None else ReadStats()
    options = ReadOptions(encoding, text_field, id_field, text_source, counts)
    for _, essay in _read(path, form, options, on_skip):
        counts.count(essay)
        yield essay
    if tally is None and counts.masked:
        docs = len({masked.number for masked in counts.masked})
        told = Warnings.W620.format(n=len(counts.masked), docs=docs)
        warnings.warn(told, PiiWarning, stacklevel=2)


def _read(
    path: Path, form: str, options: ReadOptions, on_skip: Callable[[Skip], None] | None
) -> Iterator[tuple[int, LabelledText]]:
    chosen = form_named(form or form_of(path))
    if options.text_source is not None and chosen.name != "entities":
        raise PiiError(Errors.E473, option="text_source", needed="the form entities")
    yield from _usable(chosen.read(path, options), on_skip)


def _usable(
    items: Items, on_skip: Callable[[Skip], None] | None
) -> Iterator[tuple[int, LabelledText]]:
    for item in items:
        if not isinstance(item, Skip):
            yield item
        elif on_skip is not None:
            on_skip(item)
        else:
            raise item.error


def open_corpus_writer(
    out: Path, form: str = "", *, tally: ReadStats | None = None
) -> CorpusWriter:
    """The writer of a form, for a with statement: `write` each record, then `finish`.

    out (Path): The file.
    form (str): A name in `FORMS`; empty to go by the suffix.
    tally (ReadStats | None): Gets what is masked on the way to tokens.
    RAISES (PiiError): E519, E621.
    """
    if not form:
        by_suffix = [known.name for known in FORMS.values() if out.suffix.lower() in known.suffixes]
        if not by_suffix:
            raise PiiError(Errors.E621, what=f"'{out.name}'", allowed=", ".join(FORMS))
        form = by_suffix[0]
    writer = form_named(form, written=True).writer
    assert writer is not None
    return writer(out, tally if tally is not None else ReadStats())


def write_corpus(
    essays: Iterable[LabelledText],
    out: Path,
    form: str = "",
    *,
    on_skip: Callable[[Skip], None] | None = None,
    tally: ReadStats | None = None,
) -> int:
    """Write a labelled corpus; what stood at `out` is replaced when all is written.

    out (Path), form (str): See `open_corpus_writer`.
    on_skip (Callable[[Skip], None] | None): Called with every record that the form cannot hold; without it the first one raises.
    tally (ReadStats | None): Gets what is masked, since it begins or ends inside a token.
    RETURNS (int): Number of records that were written.
    RAISES (PiiError): E512, E519, E621, E640.
    """
    return _write(
        enumerate(essays, 1), out, form, on_skip, tally if tally is not None else ReadStats()
    )


def _write(
    essays: Iterable[tuple[int, LabelledText]],
    out: Path,
    form: str,
    on_skip: Callable[[Skip], None] | None,
    tally: ReadStats,
    *,
    needed: bool = False,
) -> int:
    with open_corpus_writer(out, form, tally=tally) as writer:
        for number, essay in essays:
            before = len(tally.masked)
            try:
                writer.write(essay, number=number)
            except PiiError as err:
                if on_skip is None or err.code == "E512":
                    raise
                del tally.masked[before:]
                on_skip(Skip(number=number, error=err))
                continue
            tally.count(essay)
            tally.labels.subtract(masked.label for masked in tally.masked[before:])
        if needed and not writer.n_written:
            raise PiiError(Errors.E503)
        writer.finish()
        return writer.n_written


def convert(
    source: Path,
    out: Path,
    *,
    from_form: str = "",
    to_form: str = "",
    on_skip: Callable[[Skip], None] | None = None,
    overwrite: bool = False,
    text_source: Path | None = None,
    **reading: Any,
) -> ReadStats:
    """Turn a corpus into another form; nothing stands at `out` before all is done.

    from_form, to_form (str): Names in `FORMS`; empty to go by the suffix. overwrite (bool): Whether what stands at `out` is replaced.
    The others (encoding, text_field, id_field) as in `read_corpus`.
    RETURNS (ReadStats): Documents and labels that came through, all that was masked on the way in and out.
    RAISES (PiiError): E503 if no record could be used; E472, E510; else as `read_corpus` and `write_corpus`.
    """
    check_places(source, out, text_source, overwrite=overwrite)
    options = ReadOptions(text_source=text_source, tally=ReadStats(), **reading)
    _write(
        _read(source, from_form, options, on_skip),
        out,
        to_form,
        on_skip,
        options.tally,
        needed=True,
    )
    return options.tally


def check_places(source: Path, out: Path, *others: Path | None, overwrite: bool) -> None:
    """Refuse to write on, in or around what is read, and over what exists. RAISES (PiiError): E472, E510."""
    target = out.resolve()
    for origin in (path.resolve() for path in (source, *others) if path is not None):
        places = (target, partial_path(target))
        is_same = any(p.exists() and origin.exists() and p.samefile(origin) for p in places)
        is_inside = origin.is_dir() and origin in target.parents
        if is_same or is_inside or origin in places or target in origin.parents:
            raise PiiError(Errors.E472, what="output", other="a file that is read")
    for place in (out, partial_path(out)):
        is_empty = place.is_dir() and not any(place.iterdir())
        if place.exists() and not (overwrite or is_empty):
            raise PiiError(Errors.E510, what=f"'{place}'")
