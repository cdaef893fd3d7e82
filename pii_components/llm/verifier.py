"""The task `pii_edu.Verifier.v1`: is what was found personal in its context, T or F? (JEDM paper, systems 6 and 7)

    [components.llm.task]
    @llm_tasks = "pii_edu.Verifier.v1"
    reasoning = true

One question for each string of a document, with the passages of several mentions, and one answer for all of them: a student who shares a name with
an author is not lost. Only a plain F changes anything: the names become NAME_CITED, the details go. Unsure, unreadable,
refused or missing is T. With every question goes a control, the same passages with an invented student in them: where the
model does not call that name personal, the text steers it, and its F does not count.
"""

import re
from collections.abc import Sequence
from typing import Any, Iterable, NamedTuple, Tuple  # noqa: UP035 - spacy-llm compares these very types

from spacy.tokens import Doc, Span
from spacy.util import filter_spans

from ..errors import Errors, PiiError
from ..labels import DETAIL_LABELS, NAME_CHARACTER, NAME_CITED, NAME_STUDENT, is_name
from ..spans import ENTS, SPANS_KEY, read_spans, write_ents, write_spans
from . import Note, Prompt, read_toml
from .marker import Task, add_notes, fence_of

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


_BLANK = re.compile(r"\s")
_LAST_WORD = re.compile(r"\s\S*\Z")


def passages(text: str, spans: Sequence[tuple[int, int]], *, window: int, most: int) -> list[str]:
    """What surrounds mentions.

    spans (Sequence[tuple[int, int]]): Characters start and end.
    window (int): Characters on either side, up to the next blank.
    most (int): Passages; of more mentions, the first, the last, and some in between.
    RETURNS (list[str]): In order of the text; those that touch are one.
    """
    if len(spans) > most:
        spans = [spans[i * (len(spans) - 1) // max(most - 1, 1)] for i in range(most)]
    merged: list[list[int]] = []
    for start, end in spans:
        left, right = max(start - window, 0), min(end + window, len(text))
        blank = _BLANK.search(text, left - 1, start) if left else None
        left = blank.end() if blank else left
        cut_off = _LAST_WORD.search(text[end : right + 1]) if right < len(text) else None
        right = end + cut_off.start() if cut_off else right
        if merged and left <= merged[-1][1]:
            merged[-1][1] = max(right, merged[-1][1])
        else:
            merged.append([left, right])
    return [text[left:right].strip() for left, right in merged]


class Question(NamedTuple):
    """One prompt: the mentions that it is about, none for a document without questions; or a control."""

    doc: Doc
    spans: tuple[Span, ...] = ()
    control: bool = False


class VerifierTask(Task):
    """Registered as `pii_edu.Verifier.v1` of `llm_tasks`.

    reasoning (bool): Whether the model reasons before it answers.
    labels (list[str] | None): What it is asked about; None for all but cited people and characters.
    votes (str): With a panel of models, "veto": F if all say so, or "majority".
    control (bool): Whether an invented student is asked about too.
    window (int): Characters around a mention.
    contexts (int): Passages at most; one at least.
    RAISES (PiiError): E519.
    """

    def __init__(
        self,
        reasoning: bool = False,
        labels: list[str] | None = None,
        votes: str = VETO,
        control: bool = True,
        window: int = 200,
        contexts: int = 3,
    ) -> None:
        if votes not in VOTES:
            raise PiiError(Errors.E519, value=votes, what="votes", allowed=", ".join(VOTES))
        self._data = read_toml("verifier.toml")
        self.reasoning, self.votes, self.control = reasoning, votes, control
        self.window, self.contexts = window, max(contexts, 1)
        self.labels_asked = labels

    def generate_prompts(
        self, docs: Iterable[Doc], context_length: int | None = None
    ) -> Iterable[Tuple[Iterable[Any], Iterable[Doc]]]:  # noqa: UP006
        """As spacy-llm asks; for each document its prompts, and a `Question` for each of them."""
        for doc in docs:
            prompts: list[Prompt] = []
            questions: list[Question] = []
            for spans in self.groups(doc):
                places = [(span.start_char, span.end_char) for span in spans]
                context = self.context(doc.text, places)
                prompts.append(self.prompt(spans[0].text, context, spans[0].label_))
                questions.append(Question(doc, spans))
                if self.control:
                    prompts.append(self._control(doc.text, context))
                    questions.append(Question(doc, spans, control=True))
            yield prompts, questions or [Question(doc)]  # type: ignore[misc,list-item]

    def groups(self, doc: Doc) -> list[tuple[Span, ...]]:
        """RETURNS (list[tuple[Span, ...]]): The mentions of each string that there is to ask about, in order of the text."""
        found: dict[tuple[str, bool], list[Span]] = {}
        for span in doc.spans.get(SPANS_KEY, ()):
            asked = self.labels_asked
            if span.label_ not in KEPT if asked is None else span.label_ in asked:
                found.setdefault((key_of(span.text), is_name(span.label_)), []).append(span)
        return [tuple(spans) for spans in found.values()]

    def prompt(self, entity: str, context: str, label: str) -> Prompt:
        """The question about a string. context (str): Its passages."""
        data = self._data
        kind = data["detail_kind" if label in DETAIL_LABELS else "name_kind"]
        how = data["reasoning" if self.reasoning else "answer"]
        fence = fence_of(context)
        request = data["request"].format(fence=fence, context=context, entity=entity, kind=kind)
        return Prompt.of(data["system"], f"{request} {how}", expected=400 if self.reasoning else 1)

    def context(self, text: str, spans: Sequence[tuple[int, int]]) -> str:
        """RETURNS (str): The passages around mentions (characters start and end), as the prompt has them."""
        return str(self._data["gap"]).join(
            passages(text, spans, window=self.window, most=self.contexts)
        )

    def _control(self, text: str, context: str) -> Prompt:
        """RETURNS (Prompt): The question about an invented student, whose name is not in the text."""
        *others, last = self._data["control_names"]
        free = (other for other in others if not any(part in text for part in other.split()))
        name = next(free, last)
        line = self._data["control"].format(name=name)
        return self.prompt(name, f"{line}\n{context}", NAME_STUDENT)

    def _parse(self, questions: list[Question], replies: list[str]) -> Doc:
        """Take what is not personal out of the spans."""
        doc = questions[0].doc
        changed: set[tuple[int, int]] = set()
        # A document without questions has no replies.
        for i, (question, reply) in enumerate(zip(questions, replies, strict=False)):
            if question.control:
                continue
            is_false, codes = self._decide(reply, replies[i + 1] if self.control else None)
            first = question.spans[0]
            add_notes(doc, [Note(code, first.start_char, first.end_char) for code in codes])
            if is_false:
                changed |= {(span.start, span.end) for span in question.spans}
        add_notes(doc, ())
        if changed:
            _keep(doc, changed)
        return doc

    def _decide(self, reply: str, control: str | None) -> tuple[bool, list[str]]:
        """RETURNS (tuple): Whether it is F, and codes of answers that did not count. A vote is paired with the same model's vote
        on the control."""
        votes = getattr(reply, "votes", ()) or (reply,)
        checks = getattr(control, "votes", ()) or [control] * len(votes)
        n_false, codes = 0, []
        for vote, check in zip(votes, checks, strict=True):
            answer = verdict(vote, reasoning=self.reasoning)
            if answer is None:
                codes.append(getattr(vote, "code", "") or "E914")
            elif answer == TRUE:
                continue
            elif check is not None and verdict(check, reasoning=self.reasoning) != TRUE:
                codes.append("E934")
            else:
                n_false += 1
        if self.votes == MAJORITY:
            return n_false * 2 > len(votes), codes
        return n_false == len(votes), codes


def _keep(doc: Doc, places: set[tuple[int, int]]) -> None:
    """What is not personal: names become NAME_CITED, details go. places (set[tuple[int, int]]): Tokens start and end."""
    left = []
    for cand in read_spans(doc):
        if (cand.start, cand.end) not in places:
            left.append(cand)
        elif is_name(cand.label):
            reason = "not personal, says the language model"
            left.append(cand.with_label(NAME_CITED, reason=reason))
    write_spans(doc, left)
    group = doc.spans[SPANS_KEY]
    if ENTS in group.attrs:
        ours = {(start, end) for start, end, _ in group.attrs[ENTS]} - places
        own = [span for span in group if (span.start, span.end) in ours]
        write_ents(doc, own, lambda others, own: filter_spans([*own, *others]))


make_verifier_task = VerifierTask  # as setup.cfg registers it
