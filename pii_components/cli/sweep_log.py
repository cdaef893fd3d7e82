"""`--sweep`: what a run has hidden, remembered for the last sweep over OUTPUT; and the sweep.

Rows grow in `<OUTPUT>.sweep.jsonl` in step with OUTPUT, so that a run can be broken off: for each document its number, where its
surrogates lie, and digests of the surnames that were hidden and of the words of names that stay, under the key of the run. No text,
and nothing that can be looked up without the key. The file goes when the sweep is done.
"""

import hmac
import json
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO

from ..corpus.readers import FolderSource, open_source
from ..corpus.records import Record, Skip, Source, reason_of
from ..errors import Errors, PiiError
from ..labels import is_name
from ..sweep import Surnames, words_of
from .engine import KEEP, Result

_MOST_LISTED = 10_000
# A surname that stands in small letters in more documents than this is a word there: ETS's "That shows up a lot!"
_A_LOT = 3


@dataclass(slots=True)
class Swept:
    """What a sweep found.

    surnames (int): That were looked for. documents (int): Looked at. unread (int): Not looked at, for they could not be read.
    found (list[tuple[int, int, int]]): Number of the record in the input; start and end, exclusive, in the text of OUTPUT. n_found
    (int): How many there are, listed or not. a_lot (tuple[int, int]): Surnames that are words, too, in the corpus; where they stand
    in small letters. n_alike (int): Documents in which a surrogate is a surname that was hidden elsewhere.
    """

    surnames: int = 0
    documents: int = 0
    unread: int = 0
    found: list[tuple[int, int, int]] = field(default_factory=list)
    n_found: int = 0
    a_lot: tuple[int, int] = (0, 0)
    n_alike: int = 0

    @property
    def n_documents(self) -> int:
        """RETURNS (int): Documents in which something was found, as far as it is listed."""
        return len({number for number, _, _ in self.found})

    def as_json(self, how: str) -> dict[str, Any]:
        """RETURNS (dict[str, Any]): For the report; numbers only. how (str): "report" or "hide"."""
        return {
            "mode": how,
            "surnames": self.surnames,
            "documents": self.documents,
            "unread": self.unread,
            "found": self.n_found,
            "places": [{"record": number, "start_char": a, "end_char": b} for number, a, b in self.found],
            "common_words": {"surnames": self.a_lot[0], "in_small_letters": self.a_lot[1]},
            "documents_with_a_surrogate_that_is_a_hidden_surname": self.n_alike,
        }


class SweepLog:
    """Remembers, and sweeps.

    out (Path): OUTPUT. key (bytes): Of the run; digests are made with it.
    """

    def __init__(self, out: Path, key: bytes) -> None:
        self.out, self.rows = out, out.with_name(out.name + ".sweep.jsonl")
        self.token = lru_cache(maxsize=100_000)(lambda word: _digest(key, word))
        self._file: BinaryIO | None = None

    def start(self, done: int | None = None) -> None:
        """Open the rows. done (int | None): Bytes of them that count, if the run is taken up. RAISES (PiiError): E512."""
        try:
            self.rows.parent.mkdir(parents=True, exist_ok=True)
            self._file = open(self.rows, "wb" if done is None else "r+b")  # noqa: SIM115  (lives as long as the run)
            self._file.truncate(done or 0)
            self._file.seek(done or 0)
        except OSError as err:
            raise self._refused(err) from err

    def write(self, record: Record, result: Result) -> None:
        """Add a document. record (Record): Its original. result (Result): What became of it. RAISES (PiiError): E512."""
        assert self._file is not None
        names = [span for span in result.spans if is_name(span.label)]
        hidden = [(s.start_char, s.end_char) for s in names if s.action != KEEP]
        kept = [(s.start_char, s.end_char) for s in names if s.action == KEEP]
        alone, pairs = Surnames(self.token).add(record.text, hidden)
        row: dict[str, Any] = {"n": record.number, "i": self.token(f"id {record.id}")}
        row |= {"a": alone} if alone else {}
        row |= {"p": pairs} if pairs else {}
        row |= {"k": sorted(map(self.token, words_of(record.text, kept)))} if kept else {}
        row |= {"s": [[a, b] for a, b, _ in result.surrogates]} if result.surrogates else {}
        try:
            self._file.write(json.dumps(row).encode("ascii") + b"\n")
        except OSError as err:
            raise self._refused(err) from err

    def sync(self) -> int:
        """RETURNS (int): Bytes of the rows that are safe on disk."""
        if self._file is None or self._file.closed:
            return 0
        try:
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as err:
            raise self._refused(err) from err
        return self._file.tell()

    def stop(self) -> None:
        """Close the rows; they stay for a run that is taken up."""
        if self._file is not None:
            self._file.close()

    def clear(self) -> None:
        """Remove the rows."""
        self.stop()
        self.rows.unlink(missing_ok=True)

    def sweep(self, source: Source) -> Swept:
        """Read OUTPUT and look for every surname that the run has hidden anywhere: one pass over the rows, one over OUTPUT.

        source (Source): The input, whose form OUTPUT has.
        RETURNS (Swept): What was found. RAISES (PiiError): E512, E501 to E508, if OUTPUT cannot be read.
        """
        self.sync()
        self.stop()
        surnames, swept = Surnames(self.token), Swept()
        for row in self._rows():
            surnames.alone.update(row.get("a", ()))
            surnames.pairs.update(row.get("p", ()))
        swept.surnames = len(surnames)
        if len(surnames):
            again = open_source(self.out, text_field=source.text_field, encoding=source.encoding)
            try:
                self._look(again, surnames, swept)
            finally:
                again.close()
        return swept

    def _look(self, again: Iterable[Record | Skip], surnames: Surnames, swept: Swept) -> None:
        rows: Iterable[dict[str, Any]] = self._rows()
        if isinstance(again, FolderSource):
            # Other files may lie in the folder.
            known = {row["i"]: row for row in rows}
            ids = [self.token(f"id {name}") for name in again.files]
            rows = [known.get(ident, {}) for ident in ids]
        small: dict[str, list[tuple[int, int, int]]] = defaultdict(list)
        small_in: dict[str, set[int]] = defaultdict(set)
        for item, row in zip(again, rows, strict=False):
            if not row or isinstance(item, Skip):
                swept.unread += bool(row)
                continue
            swept.documents += 1
            number, exempt = row["n"], frozenset(row.get("k", ()))
            spans = [(a, b) for a, b in row.get("s", ())]
            # Surrogates of names of this document only: an original of another one makes no leak, but a reader may think so.
            inside = "\n".join(item.text[a:b] for a, b in spans)
            swept.n_alike += bool(Surnames(self.token, surnames.alone).find(inside))
            for hit in surnames.find(item.text, spans=spans, exempt=exempt):
                place = (number, hit.start, hit.end)
                if hit.lower and hit.word in surnames.alone:
                    small_in[hit.word].add(number)
                    if len(small_in[hit.word]) <= _A_LOT:
                        small[hit.word].append(place)
                    else:
                        # It is a word here. Only a count is kept from now on.
                        swept.a_lot = (swept.a_lot[0], swept.a_lot[1] + 1)
                else:
                    swept.n_found += 1
                    if len(swept.found) < _MOST_LISTED:
                        swept.found.append(place)
        for word, places in small.items():
            if len(small_in[word]) > _A_LOT:
                swept.a_lot = (swept.a_lot[0] + 1, swept.a_lot[1] + len(places))
            else:
                swept.n_found += len(places)
                swept.found.extend(places)
        swept.found = sorted(swept.found)[:_MOST_LISTED]

    def _rows(self) -> Iterator[dict[str, Any]]:
        with open(self.rows, encoding="ascii") as file:
            for line in file:
                yield json.loads(line)

    def _refused(self, err: OSError) -> PiiError:
        return PiiError(Errors.E512, what=f"'{self.rows}'", reason=reason_of(err))


def _digest(key: bytes, word: str) -> str:
    return hmac.new(key, b"pii-edu|sweep|" + word.encode("utf-8", "surrogatepass"), "sha256").hexdigest()[:16]
