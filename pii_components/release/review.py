"""Review: what a person says about what was found; kept, applied when INPUT is released again, and given out as training data.

    review = Review.open(Path("clean.review.jsonl"))       # what `pii-edu deidentify --review-dir` wrote; reads INPUT and OUTPUT once
    review.decide([(7, 5, 14)], REJECT)
    review.mark(7, True)
    engine.decisions = Decisions.load(path).by_text()       # what `pii-edu deidentify --decisions` does

Neither file holds text: a document is its number and the hash of its text, a span its offsets (characters of INPUT, end exclusive).
Decisions are lines that are only ever added, each one on the disk before it counts: what a kill leaves of a line is cut off.
"""

import hashlib
import hmac
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from ..errors import Errors, PiiError
from ..files.formats.base import LabelledText, is_label
from ..files.record import Record, Skip, open_binary
from ..files.sources import open_source
from ..files.writers import GrowingFile, new_file, writing
from ..labels import HEADER, ORGANISATION, ROLES, check_label, is_name, role_of
from ..offsets import Edit, OffsetMap
from ..profiles import KEEP, REMOVE, Profile
from .sweep import HIGH, LOW, MEDIUM

if TYPE_CHECKING:
    from spacy.tokens import Doc

ACCEPT, REJECT, RELABEL, ADD = VERDICTS = ("accept", "reject", "relabel", "add")
REVIEWED, REOPENED, UNDO, SAMPLE = ("reviewed", "reopened", "undo", "sample")
# What nobody has decided about: what was found, and what was not though it stands elsewhere as part of what was hidden.
FOUND, SUSPECT, REJECTED = ("found", "suspect", "rejected")
SOURCE = "review"
_REASON = "a person has decided so"
_OTHER = "it has another label"
# How many mistakes a place in clear is likely to be, by the risk that the sweep gives it.
WEIGHTS = {HIGH: 1.0, MEDIUM: 0.5, LOW: 0.1}
ORDER = (
    "Most likely mistakes first: each span counts 1 less its score; each place in clear that is, elsewhere, part of what was hidden counts "
    "1, 0.5 or 0.1, as its risk is high, medium or low."
)
_LINE = re.compile(r"\S(?:[^\n]*\S)?")
_AROUND = 40  # characters that are shown on either side of a mention
_DECISIONS, _REVIEW, _DECIDED = "pii_edu_decisions", "pii_edu_review", ".decisions.jsonl"


def text_hash(text: str, key: bytes) -> str:
    """RETURNS (str): 128 bits of HMAC-SHA256 in hexadecimal; tells whether a text is still the one that was reviewed, and nothing to those
    who lack the key."""
    return hmac.new(key, text.encode("utf-8", "surrogatepass"), "sha256").hexdigest()[:32]


def review_key(place: Path, *, secret: bytes = b"") -> bytes:
    """RETURNS (bytes): The key of the hashes of a run or its decisions: `<RUN>.key`. secret (bytes): The key of the run, from which it is
    made. RAISES (PiiError): E501, E512."""
    path = place.with_name(place.name.removesuffix(_DECIDED) + ".key")
    if secret:
        made = hmac.new(secret, b"pii-edu|key of a review", "sha256").hexdigest()
        with writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            with new_file(path) as file:
                file.write(made.encode("ascii"))
    with open_binary(path) as file:
        return file.read()


def around(text: str, start: int, end: int) -> tuple[str, str, str]:
    """RETURNS (tuple[str, str, str]): A stretch, and what stands before and behind it."""
    return text[max(0, start - _AROUND) : start], text[start:end], text[end : end + _AROUND]


def value_of(words: str) -> str:
    """RETURNS (str): What two places with the same words have in common: no case, single spaces."""
    return " ".join(words.casefold().split())


def _need(fine: bool) -> None:
    if not fine:
        raise ValueError("not of the form")


class Decided(NamedTuple):
    """What a person said of a stretch of a text. verdict (str): One of `VERDICTS`. label (str): Empty if there is nothing personal;
    HEADER of lines that go, or stay if that was rejected. role (str): Of a detail, whose it is."""

    start: int
    end: int
    label: str
    role: str
    verdict: str


def apply_decisions(
    doc: "Doc", decided: Sequence[Decided], *, source: str = SOURCE, reason: str = _REASON
) -> None:
    """Let decisions overrule what was found, before surrogates are made. Unsure means protect: what is found beyond a decided stretch
    stays, and a stretch that ends within a token grows to the whole of it."""
    from ..spans import Candidate, read_spans, uncovered, write_spans

    cands = read_spans(doc)
    roles: dict[tuple[int, int], str] = {}
    lines = [(d.start, d.end, d.verdict != REJECT) for d in decided if d.label == HEADER]
    doc._.pii_lines = [*(doc._.pii_lines or ()), *lines]
    for start, end, label, role, _ in decided:
        span = doc.char_span(start, end, alignment_mode="expand")
        if not span or label == HEADER:  # white space
            continue
        if not label:
            reach = [(doc[c.start].idx, doc[c.start : c.end].end_char, c) for c in cands]
            cands = [cand for first, last, cand in reach if first < start or last > end]
            continue
        people = (c.person for c in cands if (c.start, c.end) == (span.start, span.end))
        new = Candidate(span.start, span.end, label, 1.0, source, reason, person=next(people, None))
        taken, others, cands = set(range(span.start, span.end)), cands, [new]
        for other in others:
            overlaps = not taken.isdisjoint(range(other.start, other.end))
            cands += uncovered(doc, other, taken) if overlaps else [other]
        roles[new.start, new.end] = "" if is_name(label) else role
    write_spans(doc, cands)
    for span in doc.spans["pii"]:
        span._.pii_role = roles.get((span.start, span.end)) or span._.pii_role


@dataclass(slots=True)
class Decisions:
    """All decisions of a file. path (Path): Where they are added. good (int): Bytes of whole lines. torn (bool): Whether the end of a line is
    missing, as a kill leaves it. actions (dict): What was done, by number of the action. history (dict): Actions of each document, in
    order. hashes (dict): Of its text. undone (set): Actions that were taken back. sample (dict): size, seed and records of the random sample;
    empty before one is drawn.
    key (bytes): Of the hashes, to compare them with texts."""

    path: Path
    good: int = 0
    torn: bool = False
    actions: dict[int, dict[str, Any]] = field(default_factory=dict)
    history: dict[int, list[int]] = field(default_factory=dict)
    hashes: dict[int, str] = field(default_factory=dict)
    undone: set[int] = field(default_factory=set)
    sample: dict[str, Any] = field(default_factory=dict)
    key: bytes = field(default=b"", repr=False)

    @classmethod
    def load(cls, path: Path, *, new: bool = False) -> Self:
        """Read a file of decisions. new (bool): Whether it need not be there. RAISES (PiiError): E501; E576, if it is of another form."""
        if new and not path.exists():
            return cls(path)
        with open_binary(path) as file:
            *lines, rest = file.read().split(b"\n")
        made = cls(path, good=sum(map(len, lines)) + len(lines), torn=bool(rest))
        try:
            _need(new or bool(lines))
            for n, row in enumerate(map(json.loads, lines)):
                if n:
                    made._put(row)
                else:
                    _need(row[_DECISIONS] == 1)
        except (ValueError, TypeError, KeyError) as err:
            raise PiiError(Errors.E576, path=path, option="pii-edu review") from err
        return made

    def append(self, do: str, at: Sequence[tuple[Any, ...]] = (), **about: Any) -> int:
        """Add an action; it counts when it is on the disk. at: Number, hash, start, end of each mention. RETURNS (int): Its number.
        RAISES (PiiError): E512; nothing has changed then."""
        row = {
            "id": len(self.actions) + 1,
            "time": datetime.now(UTC).isoformat(timespec="seconds"),
            "do": do,
            **about,
            "at": at,
        }
        file = GrowingFile(self.path)
        head = b"" if self.good else json.dumps({_DECISIONS: 1}).encode() + b"\n"
        try:
            file.start(self.good if self.path.exists() else None)  # cuts off what a failure left
            file.append(head + json.dumps(row).encode("ascii") + b"\n")
            self.good, self.torn = file.sync(), False
        finally:
            file.stop()
        self._put(row)
        return int(row["id"])

    def _put(self, row: dict[str, Any]) -> None:
        """Take an action in. RAISES (ValueError, TypeError, KeyError): If it is not of the form."""
        number, do = int(row["id"]), row["do"]
        _need(number not in self.actions and do in (*VERDICTS, REVIEWED, REOPENED, UNDO, SAMPLE))
        _need(
            do not in VERDICTS
            or (isinstance(row["role"], str) and (row["label"] == "" or is_label(row["label"])))
        )
        _need(do != UNDO or row["of"] in self.actions)
        places: dict[int, list[tuple[int, int]]] = {}
        if "seen" in row:  # where it was said; it can be taken back there, too
            places[int(row["seen"])] = []
        for n, digest, *where in row["at"]:
            self.hashes[int(n)] = str(digest)
            here = places.setdefault(int(n), [])
            if do in VERDICTS:
                start, end = map(int, where)
                _need(0 <= start < end)
                here.append((start, end))
        self.undone.update([row["of"]] if do == UNDO else ())
        if do == SAMPLE:
            self.sample = {name: row[name] for name in ("size", "seed", "records")}
        self.actions[number] = {**row, "at": places}
        for n in places:
            self.history.setdefault(n, []).append(number)

    def _done(self, number: int) -> Iterator[dict[str, Any]]:
        yield from (self.actions[i] for i in self.history.get(number, ()) if i not in self.undone)

    def decided(self, number: int) -> list[Decided]:
        """RETURNS (list[Decided]): What holds of a document, in the order in which it was said; of one stretch the last word, and of the
        line that it is."""
        out: dict[tuple[int, int, bool], Decided] = {}
        for row in self._done(number):
            for start, end in row["at"][number] if row["do"] in VERDICTS else ():
                where = start, end, row["label"] == HEADER
                out.pop(where, None)
                out[where] = Decided(start, end, row["label"], row["role"], row["do"])
        return list(out.values())

    def is_reviewed(self, number: int) -> bool:
        marks = [row["do"] for row in self._done(number) if row["do"] in (REVIEWED, REOPENED)]
        return marks[-1:] == [REVIEWED]

    def missed_then(self, number: int) -> int:
        """RETURNS (int): How many protected spans the release had in clear when a document was marked: what is mended since is no proof."""
        marks = (row for row in self._done(number) if row["do"] == REVIEWED)
        return max((int(row.get("missed", 0)) for row in marks), default=0)

    def last(self, number: int) -> int:
        """RETURNS (int): The last action of a document that was not taken back; 0 if there is none."""
        return max((row["id"] for row in self._done(number)), default=0)

    def check(self, item: Record | Skip) -> Record | Skip:
        """RETURNS (Record | Skip): The item; a skip with E578, if there are decisions about it, and its text is another one now."""
        known = self.hashes.get(item.number, "")
        if (
            isinstance(item, Skip)
            or not self.decided(item.number)
            or known == text_hash(item.text, self.key)
        ):
            return item
        return Skip.of(Errors.E578, n=1, number=item.number, id=item.id)

    def by_text(self) -> dict[str, list[Decided]]:
        """RETURNS (dict[str, list[Decided]]): For an engine: hash of a text -> what was decided about it."""
        out: dict[str, list[Decided]] = {}
        for number, digest in self.hashes.items():
            if decided := self.decided(number):
                out.setdefault(digest, []).extend(decided)
        return out

    def not_read(self, n: int) -> PiiError | None:
        """RETURNS (PiiError | None): E578, if there are decisions about records past the nth, the last one of INPUT."""
        past = [number for number in self.hashes if number > n and self.decided(number)]
        return PiiError(Errors.E578, n=len(past), number=max(past)) if past else None


class ReviewFile:
    """What a run wrote with --review-dir: a head, and a row a document.

    path (Path): The file.
    head (dict): See `run.ReviewOut`.
    profile (Profile): Its actions.
    rows (dict[int, dict]): The row of each document, by its number.
    RAISES (PiiError): E501; E576, if it is of another form or was not finished.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with open_binary(path) as file:
            try:
                self.key = review_key(path)
                self.head, *rows = map(json.loads, file)
                _need(self.head[_REVIEW] == 1)
                self.profile = Profile(self.head["profile"], actions=self.head["actions"])
                self.rows: dict[int, dict[str, Any]] = {row["n"]: row for row in rows}
            except (ValueError, TypeError, KeyError) as err:
                raise PiiError(Errors.E576, path=path, option="--review-dir") from err

    def place(self, name: str) -> Path:
        """RETURNS (Path): Where "input", "output" or "report" lies; told from where this file is."""
        return self.path.parent / self.head[name]

    def report(self) -> dict[str, Any]:
        """RETURNS (dict): The report of the run; empty, if it is gone, or is another run's by now."""
        with suppress(OSError, ValueError), open(self.path, "rb") as file:
            report = dict(json.loads(self.place("report").read_bytes()))
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            if report.get("review", {}).get("sha256") == digest:
                return report
        return {}

    def suspects(
        self, row: Mapping[str, Any], swept: Sequence[Sequence[Any]]
    ) -> list[dict[str, Any]]:
        """RETURNS (list[dict]): Places of INPUT where nothing was found, and a part of what was hidden stands: here or, says the sweep,
        in another document."""
        found = [(span[0], span[1]) for span in row["spans"]]
        old, new = row["length"]
        offsets = OffsetMap(old, new, tuple(Edit(*edit) for edit in row["edits"])).inverse()
        places = [(*place, "a part of what is hidden in this document") for place in row["parts"]]
        there = [(*offsets.span_to_new(a, b), risk) for a, b, risk in swept if b <= new]
        places += [(*place, "hidden in another document") for place in sorted(there)]
        out: list[dict[str, Any]] = []
        for start, end, risk, why in places:
            if all(end <= a or start >= b for a, b in found):
                found.append((start, end))
                reason = f"in clear, {why}; risk {risk}"
                item = _item(start, end, source="sweep", reason=reason, state=SUSPECT)
                out.append(item | {"risk": risk})
        return out

    def items(
        self,
        row: Mapping[str, Any],
        decided: Sequence[Decided],
        swept: Sequence[Sequence[Any]] = (),
    ) -> list[dict[str, Any]]:
        """RETURNS (list[dict]): What there is to see in a document: found, suspected, decided; sorted, without overlaps."""
        items = [_item(*span[:8], state=FOUND) for span in row["spans"]]
        items += self.suspects(row, swept)
        for start, end, label, role, verdict in decided:
            if label == HEADER:
                continue
            if not label:
                reason = "a person says: nothing personal"
                blank = _item(start, end, source=SOURCE, reason=reason, state=REJECTED)
                inside = [item for item in items if start <= item["start"] and item["end"] <= end]
                for item in inside:
                    item |= {name: blank[name] for name in ("state", "action", "source", "reason")}
                items += [] if inside else [blank]
                continue
            here = (i for i in items if (i["start"], i["end"]) == (start, end))
            was: dict[str, Any] = next(here, {"score": None, "label": ""})
            items = [item for item in items if not _overlap(item, start, end)]
            made = _item(
                start,
                end,
                label,
                role_of(label) or role,
                was["score"],
                SOURCE,
                _REASON,
                self.profile.action(label, role),
                state=verdict,
            )
            items.append(made | {"was": was["label"]})
        return sorted(items, key=_place)

    @staticmethod
    def with_lines(
        row: Mapping[str, Any], decided: Sequence[Decided], items: Sequence[dict[str, Any]]
    ) -> list[dict[str, Any]]:
        """RETURNS (list[dict]): Lines that are removed as headers, each in the place of what stands in it; and the other items."""
        reason = "learned: a line of a header"
        lines = [
            _item(start, end, HEADER, "", None, "headers", reason, REMOVE, state=FOUND)
            for start, end in row.get("headers", ())
        ]
        for start, end, label, _, verdict in decided:
            if label == HEADER:
                lines = [line for line in lines if not _overlap(line, start, end)]
                state, action = (REJECTED, KEEP) if verdict == REJECT else (verdict, REMOVE)
                lines.append(
                    _item(start, end, HEADER, "", None, SOURCE, _REASON, action, state=state)
                )
        gone = [line for line in lines if line["action"] == REMOVE]
        rest = [item for item in items if not any(_overlap(item, *_place(line)) for line in gone)]
        # A line that stays is what stands in it, or else is shown as such.
        stay = [line for line in lines if line["action"] == KEEP]
        stay = [line for line in stay if not any(_overlap(line, *_place(item)) for item in rest)]
        return sorted([*gone, *rest, *stay], key=_place)

    @staticmethod
    def missed(row: Mapping[str, Any], items: Sequence[Mapping[str, Any]]) -> int:
        """RETURNS (int): How many spans are to be hidden of which the release left characters in clear."""
        hidden = [(span[0], span[1]) for span in row["spans"] if span[7] != KEEP]
        hidden += [(edit[0], edit[1]) for edit in row["edits"]]
        return sum(
            not any(a <= item["start"] and item["end"] <= b for a, b in hidden)
            for item in items
            if item["state"] in VERDICTS and item["action"] != KEEP
        )


def _item(
    start: int,
    end: int,
    label: str = "",
    role: str = "",
    score: float | None = None,
    source: str = "",
    reason: str = "",
    action: str = KEEP,
    *,
    state: str,
) -> dict[str, Any]:
    """RETURNS (dict): What there is to see at one place."""
    return {
        "start": start,
        "end": end,
        "label": label,
        "role": role,
        "score": score,
        "source": source,
        "reason": reason,
        "action": action,
        "state": state,
    }


def _place(item: Mapping[str, Any]) -> tuple[int, int]:
    return item["start"], item["end"]


def _overlap(item: Mapping[str, Any], start: int, end: int) -> bool:
    return bool(item["start"] < end and start < item["end"])


def _is_removed_line(item: Mapping[str, Any]) -> bool:
    return item.get("label") == HEADER and item["action"] == REMOVE


def whole_lines(text: str, start: int, end: int) -> tuple[int, int]:
    """RETURNS (tuple[int, int]): A stretch, grown to the whole of its first and last line."""
    lines = list(shown_lines(text, start, end)) or [(start, end)]
    return lines[0][0], lines[-1][1]


def shown_lines(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """YIELDS (tuple[int, int]): The lines that a stretch touches, without blank ones and white space around them."""
    first, last = text.rfind("\n", 0, start) + 1, text.find("\n", end - 1) % (len(text) + 1)
    for match in _LINE.finditer(text, first, last):
        yield match.span()


def decisions_path(run: Path) -> Path:
    """RETURNS (Path): Where decisions about a run are kept: `<RUN>.decisions.jsonl`."""
    return run.with_name(run.name + _DECIDED)


def reviewed(run: Path, decisions: Path | None = None) -> list[tuple[int, int, int]]:
    """RETURNS (list[tuple[int, int, int]]): Number of each document that was reviewed, how many protected spans its release had left in clear,
    and how many there are. RAISES (PiiError): E501, E576."""
    file = ReviewFile(run)
    said = Decisions.load(decisions or decisions_path(run), new=decisions is None)
    found = []
    for number, row in file.rows.items():
        if said.is_reviewed(number) and said.hashes[number] == row["hash"]:
            items = file.items(row, said.decided(number))
            there = sum(item["action"] != KEEP for item in items)
            missed = max(file.missed(row, items), said.missed_then(number))
            found.append((number, missed, max(missed, there)))
    return found


class Entry(NamedTuple):
    """A document in the list.

    number (int), name (str), text (str): In INPUT.
    release (str | None): Its new text; None if OUTPUT no longer holds it.
    risk (float): See `ORDER`.
    spans, suspects (int): How many.
    """

    number: int
    name: str
    text: str
    release: str | None
    risk: float
    spans: int
    suspects: int


class Review:
    """A run, its texts, and the decisions about it; the texts are kept in memory. Its methods may be called from several threads, those that
    write from one."""

    @classmethod
    def open(cls, path: Path, decisions: Path | None = None) -> Self:
        """Read INPUT and OUTPUT once, and put the documents in order.

        path (Path): What --review-dir wrote. decisions (Path | None): The file of decisions; None for `decisions_path`.
        RAISES (PiiError): E501 to E508, E576; E578, if INPUT is not what it was.
        """
        said = Decisions.load(decisions or decisions_path(path), new=True)
        return cls(ReviewFile(path), said)

    def __init__(self, file: ReviewFile, decisions: Decisions) -> None:
        self.file, self.decisions = file, decisions
        self.report = file.report()  # without it, places of the sweep are not known
        self.swept: dict[int, list[list[Any]]] = {}
        self._items: dict[int, list[dict[str, Any]]] = {}
        for p in self.report.get("sweep", {}).get("places", ()):
            place = [p["start_char"], p["end_char"], p["risk"]]
            self.swept.setdefault(p["record"], []).append(place)
        reading = dict(self.file.head["reading"])
        output = _items(self.file.place("output"), reading | {"id_field": "", "drop": ()})
        released = {text_hash(record.text, self.file.key): record.text for record in output}
        entries = list[Entry]()
        for record in _items(self.file.place("input"), reading):
            row = self.file.rows.get(record.number)
            if row is None or text_hash(record.text, self.file.key) != row["hash"]:
                continue
            suspects = self.file.suspects(row, self.swept.get(record.number, ()))
            risk = sum(WEIGHTS[suspect["risk"]] for suspect in suspects)
            risk += sum(1 - span[4] for span in row["spans"])
            entries.append(
                Entry(
                    record.number,
                    record.id,
                    record.text,
                    released.get(row["release"]),
                    risk,
                    len(row["spans"]),
                    len(suspects),
                )
            )
        entries.sort(key=lambda entry: (-entry.risk, entry.number))
        self.entries = {entry.number: entry for entry in entries}
        if changed := [number for number in self.file.rows if number not in self.entries]:
            raise PiiError(Errors.E578, n=len(changed), number=changed[0])
        for number, digest in self.decisions.hashes.items():
            if number not in self.entries or self.file.rows[number]["hash"] != digest:
                raise PiiError(Errors.E578, n=1, number=number)
        for number in self.entries:
            self.state(number)

    def close(self) -> None:
        self.entries.clear()

    def state(self, number: int) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """RETURNS (tuple): The row of a document, and its items (see `ReviewFile.items`) with the lines that are removed. Each has `open`:
        nobody has decided about it; and `key`: its words without case, its label and, of a detail, its role."""
        row = self.file.rows[number]
        if number not in self._items:
            text, decided = self.entries[number].text, self.decisions.decided(number)
            items = self.file.items(row, decided, self.swept.get(number, ()))
            items = self.file.with_lines(row, decided, items)
            for item in items:
                item["open"] = item["state"] in (FOUND, SUSPECT)
                words, label = value_of(text[item["start"] : item["end"]]), item["label"]
                item["key"] = words, label, "" if is_name(label) else item["role"]
            self._items[number] = items
        return row, self._items[number]

    def spans(self, number: int) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """RETURNS (tuple): The row of a document, and its items, those of lines that are removed too."""
        row = self.file.rows[number]
        return row, self.file.items(row, self.decisions.decided(number))

    def _append(self, do: str, at: Sequence[tuple[Any, ...]] = (), **about: Any) -> int:
        action = self.decisions.append(do, at, **about)
        for number in self.decisions.actions[about.get("of", action)]["at"]:
            self._items.pop(number, None)
        return action

    def document(self, number: int) -> dict[str, Any]:
        """RETURNS (dict): All that the page shows of a document, with its text. RAISES (KeyError): If there is none."""
        row, items = self.state(number)
        return self.entries[number]._asdict() | {
            "items": items,
            "edits": row["edits"],
            "reviewed": self.decisions.is_reviewed(number),
            "missed": self.file.missed(*self.spans(number)),
            "can_undo": bool(self.decisions.last(number)),
        }

    def decide(
        self,
        places: Sequence[tuple[int, int, int]],
        verdict: str,
        label: str = "",
        role: str = "",
        *,
        seen: int = 0,
    ) -> int:
        """Keep what a person says of stretches, as one action.

        places (Sequence[tuple[int, int, int]]): Number of the document, start, end; at least one.
        label, role (str): For RELABEL and ADD; ACCEPT keeps what there is, REJECT has none. HEADER takes the lines of the stretches out.
        seen (int): The document where it was said; it can be taken back there, too.
        RETURNS (int): The number of the action.
        RAISES (PiiError): E580, if that cannot be; E002, E003, E512. Nothing has changed then.
        """
        if label == HEADER and verdict in (ADD, RELABEL):
            verdict = ADD
            places = [(n, *whole_lines(self.entries[n].text, *where)) for n, *where in places]
        said = set[str]()
        for place in places:
            label, role = self._said_of(*place, verdict, label, role)
            said.add(label)
        if len(said) > 1:
            _, start, end = places[-1]
            raise PiiError(Errors.E580, start=start, end=end, reason=_OTHER)
        about: dict[str, Any] = {"label": label, "role": "" if is_name(label) else role}
        about |= {} if seen in (0, *(n for n, *_ in places)) else {"seen": seen}
        return self._append(verdict, [self._at(*place) for place in dict.fromkeys(places)], **about)

    def _said_of(
        self, number: int, start: int, end: int, verdict: str, label: str, role: str
    ) -> tuple[str, str]:
        """RETURNS (tuple[str, str]): Label and role that a place has with what is said of it. RAISES (PiiError): As `decide`."""
        text, (_, items) = self.entries[number].text, self.state(number)
        exact = next((item for item in items if (item["start"], item["end"]) == (start, end)), None)
        can_be = exact is not None or verdict in (ADD, RELABEL)
        reason = _why_not(text, items, start, end, is_span=can_be, label=label)
        if exact is not None and verdict == ACCEPT:
            if exact["state"] in (SUSPECT, REJECTED) or not exact["label"]:
                reason = reason or "it has no label yet; give it one"
            elif label and label != exact["label"]:
                reason = _OTHER
            label, role = exact["label"], role or exact["role"]
        if reason:
            raise PiiError(Errors.E580, start=start, end=end, reason=reason)
        if verdict == REJECT:
            return HEADER if _is_removed_line(exact or {}) else "", ""
        if label != HEADER:
            check_label(label)
        allowed = (*ROLES, ORGANISATION)
        if verdict != ACCEPT and role and role not in allowed:
            raise PiiError(Errors.E519, value=role, what="role", allowed=", ".join(allowed))
        return label, role

    def _at(self, number: int, *where: int) -> tuple[Any, ...]:
        return number, self.file.rows[number]["hash"], *where

    def mark(self, number: int, done: bool) -> int:
        """Mark a document as reviewed, or no longer: what is not decided about is right as it is. RETURNS (int): How many protected spans the
        release had left in clear. RAISES (PiiError): E512."""
        missed = self.file.missed(*self.spans(number))
        about = {"missed": missed} if done else {}
        self._append(REVIEWED if done else REOPENED, [self._at(number)], **about)
        return missed

    def undo(self, number: int) -> dict[str, Any] | None:
        """Take back the last action that touched a document, all of its mentions. RETURNS (dict | None): That action. RAISES (PiiError): E512."""
        last = self.decisions.last(number)
        if last:
            self._append(UNDO, of=last)
        return self.decisions.actions.get(last)

    def others(self, number: int, action: int) -> list[tuple[int, int, int]]:
        """Find the other mentions for which a decision may hold too, in all documents: spans of the same value and label that nobody has
        decided about and, of what is to be hidden, places in clear where the value stands as written.

        RETURNS (list[tuple[int, int, int]]): Number, start, end; by risk. RAISES (KeyError): If the document has no such action.
        """
        said = self.decisions.actions[action]
        start, end = said["at"][number][0]
        spans = self.file.rows[number]["spans"]
        label = next((str(span[2]) for span in spans if (span[0], span[1]) == (start, end)), "")
        label = HEADER if said["label"] == HEADER else label
        words = self.entries[number].text[start:end].split()
        form = re.compile(
            r"(?<!\w)" + r"\s+".join(map(re.escape, words)) + r"(?!\w)", re.IGNORECASE
        )
        found, longest = list[tuple[int, int, int]](), max(words, key=len).casefold()
        for entry in self.entries.values():
            if longest not in entry.text.casefold():  # a tenth of the time that the pattern takes
                continue
            matches = list(form.finditer(entry.text))
            items = self.state(entry.number)[1] if matches else []
            for match in matches:
                if self._holds_too(match, items, said, label, as_written=match[0].split() == words):
                    found.append((entry.number, *match.span()))
        return found

    def _holds_too(
        self,
        match: re.Match[str],
        items: Sequence[Mapping[str, Any]],
        said: Mapping[str, Any],
        label: str,
        *,
        as_written: bool,
    ) -> bool:
        """Whether what was said may hold of another place with the same words."""
        verdict = said["do"]
        action = self.file.profile.action(said["label"], said["role"])
        hides = verdict in (ADD, RELABEL) and action != KEEP and label != HEADER
        near = [item for item in items if _overlap(item, *match.span())]
        if not near:
            return hides and as_written
        if len(near) > 1 or (near[0]["start"], near[0]["end"]) != match.span():
            return False
        if near[0]["state"] == SUSPECT and label != HEADER:
            return hides or verdict == REJECT
        return bool(near[0]["state"] == FOUND and near[0]["label"] == label != "")

    def context(self, number: int, start: int, end: int) -> dict[str, Any]:
        """RETURNS (dict): A mention with what stands around it, for the page."""
        entry = self.entries[number]
        parts = around(entry.text, start, end)
        return {"number": number, "start": start, "end": end, "name": entry.name, "parts": parts}

    def gold(self) -> Iterator[LabelledText]:
        """YIELDS (LabelledText): Each reviewed document, in the order of INPUT, with all that is labelled in it: original text.
        RAISES (PiiError): E581, if there is none."""
        numbers = [n for n in sorted(self.entries) if self.decisions.is_reviewed(n)]
        if not numbers:
            raise PiiError(Errors.E581)
        for number in numbers:
            entry, (_, items) = self.entries[number], self.spans(number)
            spans = (
                (item["start"], item["end"], item["label"])
                for item in items
                if item["state"] not in (SUSPECT, REJECTED)
            )
            yield LabelledText(entry.name, entry.text, tuple(spans))


def _why_not(
    text: str,
    items: Sequence[Mapping[str, Any]],
    start: int,
    end: int,
    *,
    is_span: bool,
    label: str,
) -> str:
    """RETURNS (str): Why nothing can be decided about a stretch; nothing, if it can."""
    if not 0 <= start < end <= len(text) or not text[start:end].strip():
        return "there is no text"
    if not is_span:
        return "it is no span of the document"
    for item in items:
        counts = item["label"] and item["state"] != REJECTED
        touches = start < item["end"] and item["start"] < end
        if touches and label not in ("", HEADER) and _is_removed_line(item):
            return "it is in a line that is removed; reject that first"
        if counts and touches and (item["start"] < start or item["end"] > end):
            return "it cuts through a span; reject that one first"
    return ""


def _items(path: Path, reading: Mapping[str, Any]) -> Iterator[Record]:
    source = open_source(path, **reading)
    try:
        yield from (item for item in source if isinstance(item, Record))
    finally:
        source.close()
