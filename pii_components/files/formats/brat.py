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
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, unquote

from ...errors import Errors, PiiError
from ..record import Skip, detect_encoding, has_half_pair, open_binary, reason_of
from .base import (
    MASKED_LABEL,
    TEXT,
    CorpusWriter,
    GoldSpan,
    LabelledText,
    ReadOptions,
    Stretch,
    Tally,
    is_label,
    settle,
    within,
)

SUFFIXES = (".txt", ".ann")
_BOUND = re.compile(r"T\d+\t([^\t ]+) (-?\d{1,9} -?\d{1,9}(?:;-?\d{1,9} -?\d{1,9})*)\t(.*)", re.DOTALL)
_IGNORED = {
    "R": "relations",
    "E": "events",
    "A": "attributes",
    "M": "attributes",
    "N": "normalisations",
    "*": "relations",
    "#": "notes",
}
_LINE_END = re.compile(r"[\r\n\u0085\u2028\u2029]+")
_MARK = "\ufeff"


def read(path: Path, options: ReadOptions) -> Iterator[tuple[int, LabelledText] | Skip]:
    """YIELDS (tuple[int, LabelledText] | Skip): Each pair of files, sorted; E5xx and E6xx of those that cannot be used.

    RAISES (PiiError): E501, E504.
    """
    if not path.is_dir():
        raise PiiError(Errors.E501, what=f"'{path}'", reason="it is no folder")
    stems: dict[str, set[str]] = {}
    for folder, _, names in os.walk(path):
        for name in names:
            stem, suffix = os.path.splitext(os.path.relpath(os.path.join(folder, name), path))
            if suffix in SUFFIXES and not os.path.basename(stem).startswith("."):
                stems.setdefault(stem, set()).add(suffix)
    if not stems:
        raise PiiError(Errors.E504)
    for number, stem in enumerate(sorted(stems), 1):
        if len(stems[stem]) < 2:
            yield Skip.of(Errors.E630, number=number)
            continue
        try:
            text, notes = (_decode(path / f"{stem}{suffix}", options.encoding, number) for suffix in SUFFIXES)
            yield number, _labelled(number, _ident(stem), text, notes, options.tally)
        except PiiError as err:
            yield Skip(number=number, error=err)


def _decode(path: Path, encoding: str, number: int) -> str:
    with open_binary(path) as file:
        try:
            data = file.read()
        except OSError as err:
            raise PiiError(Errors.E641, number=number, reason=reason_of(err)) from err
    codec, bom = detect_encoding(data[:4], encoding)
    try:
        text = data[len(bom) :].decode(codec)
    except UnicodeError as err:
        raise PiiError(Errors.E520, number=number, encoding=codec) from err
    if has_half_pair(text):
        raise PiiError(Errors.E520, number=number, encoding=codec)
    return text


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
        parts = [(int(start), int(end)) for start, end in (pair.split(" ") for pair in offsets.split(";"))]
        if label == MASKED_LABEL:
            lost.extend(_join(text, parts))
        elif all(0 <= s < e <= len(text) for s, e in parts) and plain(" ".join(text[s:e] for s, e in parts)) != plain(words):
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
    """RETURNS (str): Words with one space for each run of white space, as .ann files cannot hold line ends."""
    return " ".join(words.split())


def _ident(stem: str) -> str:
    name = unquote(stem)
    return name if file_name(name) == stem else stem.replace(os.sep, "/")


def file_name(ident: str) -> str:
    """RETURNS (str): An id as the name of a file, without suffix; `_ident` finds back."""
    name = quote(ident, safe=" ()+,;=@'~!&")
    return "%2E" + name[1:] if name.startswith(".") else name


class BratWriter(CorpusWriter):
    """A folder, with a pair of files per text."""

    form = "brat"

    def __init__(self, out: Path, tally: Tally) -> None:
        super().__init__(out, tally)
        self._names: set[str] = set()

    def start(self) -> None:
        self.discard()
        self.partial.mkdir()

    def record(self, essay: LabelledText, number: int) -> tuple[str, bytes, bytes]:
        name = file_name(essay.id)
        if name.lower() in self._names:  # two names that differ in case are one file on some systems
            raise PiiError(Errors.E627, number=number)
        if not 0 < len(name.encode("utf-8")) <= 200:
            raise PiiError(Errors.E640, number=number, form=self.form, reason="the id is no name for a file")
        if essay.meta:
            self.tally.notes["other fields left out"] += len(essay.meta)
        marks = sorted([*essay.spans, *((start, end, MASKED_LABEL) for start, end in essay.masked)])
        lines = [
            f"T{i}\t{label} {_fragments(essay.text, start, end)}\t{_words(essay.text[start:end])}\n"
            for i, (start, end, label) in enumerate(marks, 1)
        ]
        text = _MARK + essay.text if essay.text.startswith(_MARK) else essay.text  # readers take the first one for a mark
        try:
            data = text.encode("utf-8"), "".join(lines).encode("utf-8")
        except UnicodeError as err:
            raise PiiError(Errors.E640, number=number, form=self.form, reason=type(err).__name__) from err
        self._names.add(name.lower())
        return name, *data

    def put(self, data: tuple[str, bytes, bytes]) -> None:
        for suffix, content in zip(SUFFIXES, data[1:], strict=True):
            (self.partial / f"{data[0]}{suffix}").write_bytes(content)

    def end(self) -> None:
        pass

    def replace(self) -> None:
        old = self.out.with_name(self.out.name + ".old")
        if self.out.is_dir():
            if holds_others(self.out) or old.exists():
                raise PiiError(Errors.E637, what=f"'{self.out}'")
            os.replace(self.out, old)
        os.replace(self.partial, self.out)
        shutil.rmtree(old, ignore_errors=True)


def holds_others(path: Path) -> bool:
    """RETURNS (bool): Whether a folder holds anything but pairs of brat."""
    return any(not item.is_file() or item.suffix not in SUFFIXES for item in path.iterdir())


def _fragments(text: str, start: int, end: int) -> str:
    """RETURNS (str): "5 8", or "5 8;9 14" where a line ends in between: brat refuses an annotation over a line end."""
    parts, pos = [], start
    for match in _LINE_END.finditer(text, start, end):
        parts.append((pos, match.start()))
        pos = match.end()
    parts.append((pos, end))
    if any(s >= e for s, e in parts):  # a line end at an edge: the offsets come first
        parts = [(start, end)]
    return ";".join(f"{s} {e}" for s, e in parts)


def _words(words: str) -> str:
    return re.sub(r"\s", " ", words)
