"""The task `pii_edu.Verifier.v1`: is what was found personal in its context, T or F? (JEDM paper, systems 6 and 7)

    [components.llm.task]
    @llm_tasks = "pii_edu.Verifier.v1"
    reasoning = true

One question for each string of a document, with the passages of several mentions, and one answer for all of them: a student who shares a name with
an author is not lost. Only a plain F changes anything; unsure, unreadable, refused or missing is T. With every question goes a control, the same
passages with an invented student in them: where the model does not call that name personal, the text steers it, and its F does not count.
"""

import re
from collections.abc import Sequence
from typing import Any, Iterable, NamedTuple, Tuple  # noqa: UP035 - spacy-llm compares these very types

from spacy.tokens import Doc, Span
from spacy.util import filter_spans

from ..errors import Errors, PiiError
from ..labels import DETAIL_LABELS, NAME_CHARACTER, NAME_CITED, NAME_STUDENT, is_name
from ..spans import ENTS, SPANS_KEY, read_spans, write_ents, write_spans
from . import Note, Prompt, Reply, read_toml
from .marker import add_notes, fence_of

VOTES = VETO, MAJORITY = ("veto", "majority")
KEPT = (NAME_CITED, NAME_CHARACTER)
TRUE, FALSE = "T", "F"
_SHORT = re.compile(r"\W*(T|F|True|False)\W*", re.IGNORECASE)
_LONG = re.compile(r"\bresponse\b\W{0,6}(T|F|True|False)\W*\Z", re.IGNORECASE)


def verdict(reply: str, *, reasoning: bool = False) -> str | None:
    """RETURNS (str | None): "T" or "F"; None for an answer that is neither, or both."""
    found = _LONG.search(reply.strip()) if reasoning else None
    found = found or _SHORT.fullmatch(reply.strip())
    return found[1][0].upper() if found else None


def key_of(text: str) -> str:
    """Mentions with one key are one string."""
    return " ".join(text.casefold().split())


def passages(text: str, spans: Sequence[tuple[int, int]], *, window: int, most: int) -> list[str]:
    """What surrounds mentions. spans: Characters start and end. window (int): Characters on either side, up to the next blank. most (int): Passages;
    of more mentions, the first, the last, and some in between.
    RETURNS (list[str]): In order of the text; those that touch are one."""
    chosen = (
        spans
        if len(spans) <= most
        else [spans[i * (len(spans) - 1) // max(most - 1, 1)] for i in range(most)]
    )
    merged: list[list[int]] = []
    for start, end in chosen:
        left, right = max(start - window, 0), min(end + window, len(text))
        left = next((i for i in range(left, start) if text[i - 1].isspace()), left) if left else 0
        right = (
            next((i for i in range(right, end, -1) if text[i].isspace()), right)
            if right < len(text)
            else right
        )
        if merged and left <= merged[-1][1]:
            merged[-1][1] = max(right, merged[-1][1])
        else:
            merged.append([left, right])
    return [text[left:right].strip() for left, right in merged]


class Question(NamedTuple):
    """One prompt: the mentions that it is about, as spans of the document, none for a document without questions; or a control."""

    doc: Doc
    spans: tuple[Span, ...] = ()
    control: bool = False


class VerifierTask:
    """Registered as `pii_edu.Verifier.v1` of `llm_tasks`.

    reasoning (bool): Whether the model reasons before it answers. labels (list[str] | None): What it is asked about; None for all but cited
    people and characters. key (str): Group of `doc.spans` that is verified, or "ents" for `doc.ents`; in "pii", names that are not personal
    become NAME_CITED, and everywhere else, and for details, the span goes. votes (str): With a panel of models, "veto": F if all say so, or
    "majority". rescue (bool): The other way: what the pipeline hides stays hidden, the model is asked about cited people and characters, and T
    hides them; then one T protects. control (bool): Whether an invented student is asked about too. window (int): Characters around a mention.
    contexts (int): Passages at most. RAISES (PiiError): E904, E905.
    """

    def __init__(
        self,
        reasoning: bool = False,
        labels: list[str] | None = None,
        key: str = SPANS_KEY,
        votes: str = VETO,
        rescue: bool = False,
        control: bool = True,
        window: int = 200,
        contexts: int = 3,
    ) -> None:
        if votes not in VOTES:
            raise PiiError(Errors.E904, name="votes", value=votes, allowed=", ".join(VOTES))
        for name, number in (("window", window), ("contexts", contexts)):
            if number < 1:
                raise PiiError(Errors.E905, name=name, value=number, allowed="1 or more")
        self._data = read_toml("verifier.toml")
        self.reasoning, self.key, self.votes, self.rescue, self.control = (
            reasoning,
            key,
            votes,
            rescue,
            control,
        )
        self.window, self.contexts = window, contexts
        self.labels_asked = None if labels is None else frozenset(labels)

    def generate_prompts(
        self, docs: Iterable[Doc], context_length: int | None = None
    ) -> Iterable[Tuple[Iterable[Any], Iterable[Doc]]]:  # noqa: UP006
        """As spacy-llm asks; for each document its prompts, and a `Question` for each of them."""
        for doc in docs:
            asked = [
                (prompt, question)
                for group in self.groups(doc)
                for prompt, question in self._ask(doc, group)
            ]
            yield (
                [prompt for prompt, _ in asked],
                [question for _, question in asked] or [Question(doc)],
            )  # type: ignore[misc,list-item]

    def groups(self, doc: Doc) -> list[tuple[Span, ...]]:
        """RETURNS (list[tuple[Span, ...]]): The mentions of each string that there is to ask about, in order of the text."""
        found: dict[tuple[str, bool], list[Span]] = {}
        for span in doc.ents if self.key == "ents" else doc.spans.get(self.key, ()):
            if self._asks(span.label_):
                found.setdefault((key_of(span.text), is_name(span.label_)), []).append(span)
        return [tuple(spans) for spans in found.values()]

    def _asks(self, label: str) -> bool:
        if self.rescue:
            return label in KEPT
        return label not in KEPT if self.labels_asked is None else label in self.labels_asked

    def prompt(self, entity: str, context: str, label: str) -> Prompt:
        """The question about a string. context (str): Its passages."""
        data = self._data
        kind = data["detail_kind" if label in DETAIL_LABELS else "name_kind"]
        how = data["reasoning" if self.reasoning else "answer"]
        request = data["request"].format(
            fence=fence_of(context), context=context, entity=entity, kind=kind
        )
        return Prompt.of(data["system"], f"{request} {how}", expected=400 if self.reasoning else 1)

    def context(self, text: str, spans: Sequence[tuple[int, int]]) -> str:
        """The passages around mentions (characters start and end), as the prompt has them."""
        return self._data["gap"].join(passages(text, spans, window=self.window, most=self.contexts))

    def _ask(self, doc: Doc, spans: tuple[Span, ...]) -> list[tuple[Prompt, Question]]:
        context = self.context(doc.text, [(s.start_char, s.end_char) for s in spans])
        asked = [(self.prompt(spans[0].text, context, spans[0].label_), Question(doc, spans))]
        if self.control:
            names = self._data["control_names"]
            name = next(
                (name for name in names if not any(part in doc.text for part in name.split())),
                names[-1],
            )
            line = self._data["control"].format(name=name)
            asked.append(
                (
                    self.prompt(name, f"{line}\n{context}", NAME_STUDENT),
                    Question(doc, spans, control=True),
                )
            )
        return asked

    def parse_responses(
        self, shards: Iterable[Iterable[Doc]], responses: Iterable[Iterable[Any]]
    ) -> Iterable[Doc]:
        """As spacy-llm asks; takes what is not personal out of the spans. RETURNS (list[Doc]): In order."""
        return [
            self._parse(list(some), list(replies))
            for some, replies in zip(shards, responses, strict=True)
        ]  # type: ignore[arg-type]

    def _parse(self, questions: list[Question], replies: list[str]) -> Doc:
        doc = questions[0].doc
        changed: list[Span] = []
        notes: list[Note] = []
        # A document without questions has no replies.
        for i, (question, reply) in enumerate(zip(questions, replies, strict=False)):
            if question.control:
                continue
            control = replies[i + 1] if self.control else None
            said, codes = self._decide(reply, control)
            notes += [
                Note(code, s.start_char, s.end_char) for code in codes for s in question.spans[:1]
            ]
            if (said == TRUE) == self.rescue:
                changed += question.spans
        add_notes(doc, notes)
        if changed:
            self._change(doc, changed)
        return doc

    def _decide(self, reply: str, control: str | None) -> tuple[str, list[str]]:
        """RETURNS (tuple): T or F, and codes of answers that did not count. A vote is paired with the same model's vote on the control."""
        votes = reply.votes if isinstance(reply, Reply) and reply.votes else (reply,)
        paired = isinstance(control, Reply) and control.votes
        checks: Sequence[str | None] = paired or (control,) * len(votes)
        said, codes = [], []
        for vote, check in zip(votes, checks, strict=True):
            answer = verdict(vote, reasoning=self.reasoning)
            if answer is None:
                codes.append((vote.code if isinstance(vote, Reply) else "") or "E933")
            elif (
                answer == FALSE
                and check is not None
                and verdict(check, reasoning=self.reasoning) != TRUE
            ):
                codes.append("E934")
                answer = None
            said.append(answer or TRUE)
        no = said.count(FALSE)
        return (
            FALSE if no == len(said) or self.votes == MAJORITY and no * 2 > len(said) else TRUE
        ), codes

    def _change(self, doc: Doc, spans: list[Span]) -> None:
        gone = {(s.start, s.end) for s in spans}
        if self.key == "ents":
            doc.set_ents(
                [ent for ent in doc.ents if (ent.start, ent.end) not in gone], default="outside"
            )
            return
        if self.key != SPANS_KEY:
            doc.spans[self.key] = [s for s in doc.spans[self.key] if (s.start, s.end) not in gone]
            return
        label, reason = NAME_CITED, "not personal, says the language model"
        if self.rescue:
            label, reason = NAME_STUDENT, "the language model calls it personal"
        left = []
        for cand in read_spans(doc):
            if (cand.start, cand.end) not in gone:
                left.append(cand)
            elif is_name(cand.label):
                left.append(cand.with_label(label, reason=reason))
        write_spans(doc, left)
        if ENTS in doc.spans[SPANS_KEY].attrs:
            ours = {(start, end) for start, end, _ in doc.spans[SPANS_KEY].attrs[ENTS]}
            ours = ours | gone if self.rescue else ours - gone
            own = [span for span in doc.spans[SPANS_KEY] if (span.start, span.end) in ours]
            write_ents(doc, own, lambda others, own: filter_spans([*own, *others]))


make_verifier_task = VerifierTask  # as setup.cfg registers it
