"""brat standoff: a folder with a .txt and an .ann for each text.

    T1	NAME_STUDENT 5 8	Ina
    T2	NAME_STUDENT 20 23;30 35	Ina Sorel

Only text-bound annotations (T) are read; relations, events, attributes, normalisations and notes are counted. The parts of a
discontinuous annotation become spans of their own, unless only white space parts them: so brat writes what runs over a line
end, and so do we. Stretches whose gold is not known have the type UNLABELLED. Other fields of a record have no place here.
"""

import os
import re
import shutil
from pathlib import Path
from urllib.parse import quote, unquote

from ...errors import Errors, PiiError
from ..record import Skip, read_bytes, reason_of
from ..sources import decode_text, files_below, is_hidden
from .base import (
    MASKED_LABEL,
    TEXT,
    CorpusWriter,
    GoldSpan,
    Items,
    LabelledText,
    ReadOptions,
    Stretch,
    Tally,
    each,
    is_label,
    settle,
    within,
)

SUFFIXES = (".txt", ".ann")
_BOUND = re.compile(
    r"T\d+\t([^\t ]+) (-?\d{1,9} -?\d{1,9}(?:;-?\d{1,9} -?\d{1,9})*)\t(.*)", re.DOTALL
)
_IGNORED = {"R": "relations", "*": "relations", "E": "events", "A": "attributes", "M": "attributes"}
_IGNORED |= {"N": "normalisations", "#": "notes"}
_LINE_END = re.compile(r"[\r\n\u0085\u2028\u2029]+")
_SPACE = re.compile(r"\s")
_MARK = "\ufeff"


def read_brat(path: Path, options: ReadOptions) -> Items:
    """YIELDS (tuple[int, LabelledText] | Skip): Each pair of files, sorted; E5xx and E6xx of those that cannot be used.

    RAISES (PiiError): E501, E504.
    """
    if not path.is_dir():
        raise PiiError(Errors.E501, what=f"'{path}'", reason="it is no folder")
    stems: dict[str, set[str]] = {}
    for name in files_below(path)[0]:
        stem, suffix = os.path.splitext(name)
        if is_hidden(name):
            continue
        if suffix in SUFFIXES:
            stems.setdefault(stem, set()).add(suffix)
        else:
            options.tally.notes["other files not read"] += 1
    if not stems:
        raise PiiError(Errors.E504)

    def labelled(number: int, stem: str) -> LabelledText:
        if len(stems[stem]) < 2:
            raise PiiError(Errors.E630, number=number)
        text, notes = (
            _decode(path / f"{stem}{suffix}", options.encoding, number) for suffix in SUFFIXES
        )
        return _labelled(number, _ident(stem), text, notes, options.tally)

    return each(enumerate(sorted(stems), 1), labelled)


def _decode(path: Path, encoding: str, number: int) -> str:
    try:
        data = read_bytes(path)
    except OSError as err:
        raise PiiError(Errors.E641, number=number, reason=reason_of(err)) from err
    item = decode_text(data, number, path.name, encoding=encoding)
    if isinstance(item, Skip):
        raise item.error
    return item.text


def _labelled(number: int, ident: str, text: str, notes: str, tally: Tally) -> LabelledText:
    found: list[GoldSpan] = []
    lost: list[Stretch] = []
    for line_number, line in enumerate(notes.split("\n"), 1):
        line = line.removesuffix("\r")
        if not line.strip():
            continue
        bound = _BOUND.fullmatch(line)
        if bound is None:
            kind = _IGNORED.get(line[0])
            if kind is None or "\t" not in line:
                raise PiiError(Errors.E629, number=number, line=line_number)
            tally.notes[f"{kind} not read"] += 1
            continue
        label, offsets, words = bound.groups()
        if not is_label(label):
            raise PiiError(Errors.E629, number=number, line=line_number)
        parts = [
            (int(start), int(end))
            for start, end in (pair.split(" ") for pair in offsets.split(";"))
        ]
        if label == MASKED_LABEL:
            lost.extend(_join(text, parts))
        elif all(0 <= s < e <= len(text) for s, e in parts) and plain(
            " ".join(text[s:e] for s, e in parts)
        ) != plain(words):
            tally.mask(number, (parts[0][0], parts[-1][1], label), TEXT)
            lost.extend(where for s, e in parts if (where := within(text, s, e)))
        else:
            joined = _join(text, parts)
            tally.notes["discontinuous annotations taken apart"] += len(joined) > 1
            found.extend((start, end, label) for start, end in joined)
    spans, masked = settle(text, found, lost, number=number, tally=tally)
    return LabelledText(ident, text, spans, masked)


def _join(text: str, parts: list[Stretch]) -> list[Stretch]:
    out = parts[:1]
    for start, end in parts[1:]:
        if 0 <= out[-1][1] <= start and not text[out[-1][1] : start].strip():
            out[-1] = (out[-1][0], end)
        else:
            out.append((start, end))
    return out


def plain(words: str) -> str:
    """Words with one space for each run of white space, as .ann files cannot hold line ends."""
    return " ".join(words.split())


def _ident(stem: str) -> str:
    name = unquote(stem)
    return name if file_name(name) == stem else stem.replace(os.sep, "/")


def file_name(ident: str) -> str:
    """An id as the name of a file, without suffix; `_ident` finds back."""
    name = quote(ident, safe=" ()+,;=@'~!&")
    return "%2E" + name[1:] if name.startswith(".") else name


class BratWriter(CorpusWriter):
    """A folder, with a pair of files per text."""

    form = "brat"

    def __init__(self, out: Path, tally: Tally) -> None:
        super().__init__(out, tally)
        self._names: set[str] = set()

    def start(self, done: int | None = None) -> None:
        self.discard()
        self.partial.mkdir()

    def record(self, essay: LabelledText, number: int) -> tuple[str, bytes, bytes]:
        name = file_name(essay.id)
        if (
            name.lower() in self._names
        ):  # two names that differ in case are one file on some systems
            raise PiiError(Errors.E627, number=number)
        if not 0 < len(name.encode("utf-8")) <= 200:
            raise PiiError(
                Errors.E640, number=number, form=self.form, reason="the id is no name for a file"
            )
        if essay.meta:
            self.tally.notes["other fields left out"] += len(essay.meta)
        marks = sorted([*essay.spans, *((start, end, MASKED_LABEL) for start, end in essay.masked)])
        lines = [
            f"T{i}\t{label} {_fragments(essay.text, start, end)}\t{_SPACE.sub(' ', essay.text[start:end])}\n"
            for i, (start, end, label) in enumerate(marks, 1)
        ]
        text = (
            _MARK + essay.text if essay.text.startswith(_MARK) else essay.text
        )  # readers take the first one for a mark
        try:
            data = text.encode("utf-8"), "".join(lines).encode("utf-8")
        except UnicodeError as err:
            raise PiiError(
                Errors.E640, number=number, form=self.form, reason=type(err).__name__
            ) from err
        self._names.add(name.lower())
        return name, *data

    def put(self, data: tuple[str, bytes, bytes]) -> None:
        for suffix, content in zip(SUFFIXES, data[1:], strict=True):
            (self.partial / f"{data[0]}{suffix}").write_bytes(content)

    def replace(self) -> None:
        old = self.out.with_name(self.out.name + ".old")
        if self.out.is_dir():
            if old.exists() or any(
                not item.is_file() or item.suffix not in SUFFIXES for item in self.out.iterdir()
            ):
                raise PiiError(Errors.E637, what=f"'{self.out}'")
            os.replace(self.out, old)
        os.replace(self.partial, self.out)
        shutil.rmtree(old, ignore_errors=True)


def _fragments(text: str, start: int, end: int) -> str:
    """The offsets: "5 8", or "5 8;9 14" where a line ends in between: brat refuses an annotation over a line end."""
    parts, pos = [], start
    for match in _LINE_END.finditer(text, start, end):
        parts.append((pos, match.start()))
        pos = match.end()
    parts.append((pos, end))
    if any(s >= e for s, e in parts):  # a line end at an edge: the offsets come first
        parts = [(start, end)]
    return ";".join(f"{s} {e}" for s, e in parts)
