"""The task `pii_edu.MarkerNER.v1`: a model copies the text and marks what is personal (JEDM paper, systems 4 and 5).

    [components.llm.task]
    @llm_tasks = "pii_edu.MarkerNER.v1"
    labels = ["NAME_STUDENT", "EMAIL"]

An essay too long for one answer goes in shards that end at sentences and overlap. What comes back
rewritten or cut off is noted in `doc._.llm_notes`; where no answer comes, the document fails (`doc._.pii_failed`), and it alone.

    >>> align("My name is Ana Lopez.", "My name's @@@Ana Lopez###.", {"NAME_STUDENT": ("@@@", "###")}).spans
    [(11, 20, 'NAME_STUDENT')]

A model returns the text with marks in it and changes words that it should not. So the words of both are aligned (edit operations, rapidfuzz),
and a mark counts at the place that its words were aligned with: what was dropped or added before it shifts nothing. Around a mark, most words
must be those of the text; else the passage was rewritten, and only a mark on words that stand in the text to the letter counts.
"""

import hashlib
import re
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Iterable, NamedTuple, Tuple  # noqa: UP035 - spacy-llm compares these very types

from rapidfuzz.distance import Levenshtein
from rapidfuzz.fuzz import ratio
from spacy.tokens import Doc

from ..errors import Errors, PiiError
from ..labels import LABELS, ROLES, is_name, role_of
from ..spans import Candidate, fail, merge_found, read_spans, resolve_overlaps, write_spans
from . import Note, Prompt, Reply, read_toml

SOURCE = "llm"
MARKS_LABELS = ("NAME_STUDENT", "URL_PERSONAL", "EMAIL", "PHONE_NUM")  # the four of the paper
SCORE = 0.9  # of what a model marked: it gives no probability
CHARACTERS_A_TOKEN = 3  # a cautious guess for any tokenizer
SHARD = 6000  # characters, where no context length is known
OVERLAP = 300
COPIED = 0.8  # share of the words that a copy must have
_END = re.compile(r"(?<=[.!?])\s+|\n+")


# Where the marked words of an answer stand in the text that was sent.

_WORD = re.compile(r"\w+|[^\w\s]")
AROUND = 8  # words on either side that tell whether a passage was rewritten
SAME = 0.6  # share of these that must be aligned
ALIKE = 80  # rapidfuzz's ratio of marked words and those they were aligned with, 0 to 100
UNREAD = 12  # words at the end that may be missing before the answer counts as cut off


@dataclass(slots=True)
class Aligned:
    """What an answer says of a text.

    spans (list[tuple[int, int, str]]): Characters start, end (exclusive) of the text, and label; sorted, without overlaps. same (float): Share of the
    words of the text that came back as they were. read (int): Characters of the text up to the last word that came back. lost (int): Marks that
    no place was found for, or that were never closed. rewritten (list[tuple[int, int]]): Passages of the text whose marks are not trusted.
    """

    spans: list[tuple[int, int, str]]
    same: float
    read: int
    lost: int = 0
    rewritten: list[tuple[int, int]] = field(default_factory=list)


def free_marks(text: str, marks: Mapping[str, tuple[str, str]]) -> dict[str, tuple[str, str]]:
    """The marks, or where the text holds one of them ("###" before a heading), others that it does not hold.

    marks: Label -> what stands before and behind an entity.
    """
    if not any(sign in text for pair in marks.values() for sign in pair):
        return dict(marks)
    base = 1
    while any(f"<{n}|" in text or f"|{n}>" in text for n in range(base, base + len(marks))):
        base += len(marks)
    return {label: (f"<{n}|", f"|{n}>") for n, label in enumerate(marks, base)}


def mark(text: str, spans: list[tuple[int, int, str]], marks: Mapping[str, tuple[str, str]]) -> str:
    """The text with its spans marked: what a model should answer. Spans without a mark are passed over."""
    parts, at = [], 0
    for start, end, label in sorted(spans):
        if label in marks and start >= at:
            parts += [text[at:start], marks[label][0], text[start:end], marks[label][1]]
            at = end
    return "".join([*parts, text[at:]])


def unmark(
    answer: str, marks: Mapping[str, tuple[str, str]]
) -> tuple[str, list[tuple[int, int, str]], int]:
    """RETURNS (tuple): The answer without marks, its marked stretches (start, end, label), and how many marks had no partner."""
    opens = {pair[0]: label for label, pair in marks.items()}
    closes = {pair[1]: label for label, pair in marks.items()}
    signs = re.compile(
        "|".join(re.escape(sign) for sign in sorted({*opens, *closes}, key=len, reverse=True))
    )
    parts: list[str] = []
    spans: list[tuple[int, int, str]] = []
    length = at = lost = 0
    begun: tuple[int, str] | None = None
    for found in signs.finditer(answer):
        parts.append(answer[at : found.start()])
        length, at = length + len(parts[-1]), found.end()
        if begun is not None and closes.get(found[0]) == begun[1]:
            spans.append((begun[0], length, begun[1]))
            begun = None
        else:
            lost += begun is not None or found[0] not in opens
            begun = (length, opens[found[0]]) if found[0] in opens else None
    return "".join([*parts, answer[at:]]), spans, lost + (begun is not None)


def align(text: str, answer: str, marks: Mapping[str, tuple[str, str]]) -> Aligned:
    """Find the marked words of an answer in the text. marks: Label -> what stands before and behind; see `free_marks`."""
    plain, marked, lost = unmark(answer, marks)
    ours = [(m.start(), m.end(), m[0]) for m in _WORD.finditer(text)]
    theirs = [(m.start(), m.end(), m[0]) for m in _WORD.finditer(plain)]
    places, same = _align_words([word for *_, word in ours], [word for *_, word in theirs])
    result = Aligned([], sum(same) / len(ours) if ours else 1.0, len(text), lost)
    last = max((i for i, equal in enumerate(same) if equal), default=-1)
    if len(ours) - 1 - last > UNREAD:
        result.read = ours[last][1] if last >= 0 else 0
    starts = [start for start, *_ in theirs]
    for start, end, label in marked:
        value = plain[start:end].strip()
        words = places[bisect_left(starts, start) : bisect_left(starts, end)]
        spot = _spot(text, value, ours, words, same, result) if value else None
        if spot is None:
            result.lost += 1
        elif all(spot[1] <= a or spot[0] >= b for a, b, _ in result.spans):
            result.spans.append((*spot, label))
    result.spans.sort()
    result.rewritten.sort()
    return result


def _align_words(ours: list[str], theirs: list[str]) -> tuple[list[int | None], list[bool]]:
    """RETURNS (tuple): For each word of the answer its word of the text, if it has one; for each word of the text, whether it
    came back as it was."""
    places: list[int | None] = [None] * len(theirs)
    same = [False] * len(ours)
    for block in Levenshtein.opcodes(ours, theirs):
        if block.tag in ("equal", "replace"):  # of both, one word stands against one
            for n in range(block.src_end - block.src_start):
                places[block.dest_start + n] = block.src_start + n
                same[block.src_start + n] = block.tag == "equal"
    return places, same


def _spot(
    text: str,
    value: str,
    ours: list[tuple[int, int, str]],
    places: list[int | None],
    same: list[bool],
    result: Aligned,
) -> tuple[int, int] | None:
    """RETURNS (tuple[int, int] | None): Characters of the text that a marked value stands for; None if nobody can tell."""
    near = 0
    known = [i for i in places if i is not None]
    if known:
        first, last = known[0], known[-1]
        near, end = ours[first][0], ours[last][1]
        left, right = max(first - AROUND, 0), last + 1 + AROUND
        around = same[left:first] + same[last + 1 : right]
        if around and sum(around) / len(around) < SAME:
            result.rewritten.append((ours[left][0], ours[min(right, len(ours)) - 1][1]))
        elif (
            text[near:end] == value
            or last - first < len(places) + 2
            and ratio(text[near:end], value) >= ALIKE
        ):
            return near, end
    exact = [m.span() for m in re.finditer(rf"(?<!\w){re.escape(value)}(?!\w)", text)]
    return min(exact, key=lambda span: abs(span[0] - near), default=None)


# The task.


class Shard(NamedTuple):
    """Characters start to end (exclusive) of a document, and the marks that its prompt uses."""

    doc: Doc
    start: int
    end: int
    marks: Mapping[str, tuple[str, str]]

    @property
    def text(self) -> str:
        """What the model reads."""
        return self.doc.text[self.start : self.end]


def fence_of(text: str) -> str:
    """A name for the tags around a text which that text cannot know."""
    return "text-" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:10]


def shards_of(text: str, most: int, overlap: int = OVERLAP) -> list[tuple[int, int]]:
    """Stretches of at most `most` characters that end where a sentence or line does, if one does in their second half.

    RETURNS (list[tuple[int, int]]): Together they cover the text; each begins at a sentence at most `overlap` characters before the end of
    the one before.
    """
    ends = [m.end() for m in _END.finditer(text)]
    found, start = [], 0
    while len(text) - start > most:
        end = max((e for e in ends if start + most // 2 < e <= start + most), default=start + most)
        found.append((start, end))
        start = min(
            (e for e in ends if end - overlap <= e < end), default=max(end - overlap, start + 1)
        )
    return [*found, (start, len(text))]


class Task:
    """Base of both tasks: spacy-llm hands back what `generate_prompts` gave, and the replies."""

    def parse_responses(
        self, shards: Iterable[Iterable[Doc]], responses: Iterable[Iterable[Any]]
    ) -> Iterable[Doc]:
        """As spacy-llm asks. RETURNS (list[Doc]): In order."""
        pairs: Any = zip(shards, responses, strict=True)
        return [self._parse(list(some), list(replies)) for some, replies in pairs]

    def _parse(self, asked: list[Any], replies: list[str]) -> Doc:
        """One document. asked (list): Its shards or questions; one without a reply, where there is nothing to ask."""
        raise NotImplementedError


class MarkerTask(Task):
    """Registered as `pii_edu.MarkerNER.v1` of `llm_tasks`.

    labels (list[str]): Of those in resources/llm/marker.toml.
    examples (bool): Whether the prompt shows a few.
    max_shard (int | None): Characters in a prompt at most.
    RAISES (PiiError): E519, a label without signs; E650.
    """

    def __init__(
        self,
        labels: list[str] = list(MARKS_LABELS),  # noqa: B006
        examples: bool = True,
        max_shard: int | None = None,
    ) -> None:
        self._data = read_toml("marker.toml")
        signs = {name: tuple(entry["signs"]) for name, entry in self._data["labels"].items()}
        for label in labels:
            if label not in signs:
                allowed = ", ".join(signs)
                raise PiiError(Errors.E519, value=label, what="label with signs", allowed=allowed)
        self.marks: dict[str, tuple[str, str]] = {label: signs[label] for label in labels}
        self._max_shard = max_shard or SHARD
        if self._max_shard <= 2 * OVERLAP:
            allowed = f"more than {2 * OVERLAP} characters"
            raise PiiError(Errors.E650, name="max_shard", value=max_shard, allowed=allowed)
        shown = read_toml("examples.toml")["examples"] if examples else ()
        # An example may have marks of labels that are not asked for.
        self._examples = [(e["text"], align(e["text"], e["answer"], signs).spans) for e in shown]

    def prompt(self, text: str, marks: Mapping[str, tuple[str, str]]) -> Prompt:
        """What a model is asked for one shard."""
        data = self._data
        kinds = "\n".join(
            "- "
            + data["kind"].format(open=pair[0], close=pair[1], what=data["labels"][label]["what"])
            for label, pair in marks.items()
        )
        shown = [
            data["example"].format(text=t, answer=mark(t, spans, marks))
            for t, spans in self._examples
        ]
        request = data["request"].format(
            fence=fence_of(text), kinds=kinds, examples="".join(shown), text=text
        )
        return Prompt.of(data["system"], request, expected=len(text) + len(text) // 20)

    def generate_prompts(
        self, docs: Iterable[Doc], context_length: int | None = None
    ) -> Iterable[Tuple[Iterable[Any], Iterable[Doc]]]:  # noqa: UP006
        """As spacy-llm asks; for each document its prompts and its shards. context_length (int | None): Tokens for prompt and answer together."""
        most = self._max_shard
        if context_length:
            room = (context_length * CHARACTERS_A_TOKEN - len(self.prompt("", self.marks))) // 2
            most = min(most, room)
            if room <= 2 * OVERLAP:
                allowed = f"enough for the instructions and {2 * OVERLAP} characters of text"
                raise PiiError(
                    Errors.E650, name="context_length", value=context_length, allowed=allowed
                )
        for doc in docs:
            if not doc.text.strip():
                yield [], [Shard(doc, 0, len(doc.text), self.marks)]  # type: ignore[list-item]
                continue
            shards = []
            for start, end in shards_of(doc.text, most):
                shards.append(Shard(doc, start, end, free_marks(doc.text[start:end], self.marks)))
            yield [self.prompt(shard.text, shard.marks) for shard in shards], shards  # type: ignore[misc]

    def _parse(self, shards: list[Shard], replies: list[str]) -> Doc:
        """Write to `doc.spans["pii"]`, merged with what stands there."""
        doc = shards[0].doc
        notes: list[Note] = []
        found: dict[tuple[int, int, str], None] = {}
        for shard, reply in zip(shards, replies, strict=False):  # an empty document has no replies
            if isinstance(reply, Reply) and reply.code:
                notes.append(Note(reply.code, shard.start, shard.end))
                fail(doc, reply.code)
                continue
            result = align(shard.text, reply, shard.marks)
            notes += [Note("E930", shard.start + a, shard.start + b) for a, b in result.rewritten]
            if result.same < COPIED:
                notes.append(Note("E930", shard.start, shard.end))
            if result.read < len(shard.text):
                notes.append(Note("E931", shard.start + result.read, shard.end))
            notes += [Note("E932", shard.start, shard.end)] * result.lost
            found |= dict.fromkeys(
                (shard.start + a, shard.start + b, label) for a, b, label in result.spans
            )
        add_notes(doc, notes)
        candidates = []
        for start, end, label in found:
            span = doc.char_span(start, end, label=label, alignment_mode="expand")
            if span is not None:
                said = SCORE, SOURCE, "marked by the language model", _roles(label)
                candidates.append(Candidate(span.start, span.end, label, *said))
        write_spans(doc, merge_found(doc, read_spans(doc), resolve_overlaps(candidates)))
        return doc


def _roles(label: str) -> tuple[float, ...]:
    """RETURNS (tuple[float, ...]): For pii_context: the role that the label says, not quite surely."""
    if not is_name(label) or label not in LABELS:
        return ()
    rest = (1 - SCORE) / (len(ROLES) - 1)
    return tuple(SCORE if role == role_of(label) else rest for role in ROLES)


def add_notes(doc: Doc, notes: Iterable[Note]) -> None:
    """Add to `doc._.llm_notes`, a list of [code, start, end]."""
    doc._.llm_notes = [*(doc._.llm_notes or ()), *(list(note) for note in notes)]


make_marker_task = MarkerTask  # as setup.cfg registers it
