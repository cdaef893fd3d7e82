"""Files to fine-tune a chat model with: detector (JEDM paper, Table 4) and verifier (Table 5), one JSON object with `messages` a line.

    for example in detector_examples(essays, task): ...
    for example in verifier_examples(essays, nlp, task, counts): ...

The paper trained GPT-4o-mini with 2 epochs, batch size 1 and a learning rate multiplier of 1.8.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from spacy.language import Language

from ..errors import Errors, PiiError
from ..files.formats.base import LabelledText
from . import Prompt
from .marker import SHARD, MarkerTask, free_marks, mark, shards_of
from .models import ChatModel
from .verifier import FALSE, TRUE, VerifierTask, verdict

ATTEMPTS = 6  # after which the answer is T, see the paper's section 3.2
_BATCH = 16


def chat(prompt: Prompt, answer: str) -> dict[str, Any]:
    """RETURNS (dict): One example."""
    return {"messages": [*prompt.messages, {"role": "assistant", "content": answer}]}


def detector_examples(
    documents: Iterable[LabelledText], task: MarkerTask
) -> Iterator[dict[str, Any]]:
    """YIELDS (dict): For each shard of each document the prompt and the text with its gold marked; a document with masked stretches, whose gold
    nobody knows, is passed over."""
    for document in documents:
        if document.masked or not document.text.strip():
            continue
        for start, end in shards_of(document.text, SHARD, 0):
            text = document.text[start:end]
            marks = free_marks(text, task.marks)
            inside = [
                (a - start, b - start, label)
                for a, b, label in document.spans
                if start <= a and b <= end
            ]
            yield chat(task.prompt(text, marks), mark(text, inside, marks))


def verifier_examples(
    documents: Iterable[LabelledText],
    nlp: Language,
    task: VerifierTask,
    counts: "Counter[str]",
    *,
    private: Callable[[str], bool],
    model: ChatModel | None = None,
) -> Iterator[dict[str, Any]]:
    """Each string that a base detector found, T or F by gold: T if any of its mentions touches gold that is private.

    nlp (Language): The detector.
    counts (Counter[str]): Gets the numbers of "T", "F", and "defaulted", where six attempts did not reason to the truth
        and the answer became T.
    private (Callable[[str], bool]): Whether gold of a label is private.
    model (ChatModel | None): Writes the reasoning where the task wants it; give it a temperature above 0.
    YIELDS (dict[str, Any]): A string with masked text in a mention, whose gold nobody knows, is passed over.
    RAISES (PiiError): E473, if there is no model to reason.
    """
    if task.reasoning and model is None:
        raise PiiError(Errors.E473, option="reasoning", needed="--llm")
    pairs = ((document.text, document) for document in documents if document.text.strip())
    for doc, document in nlp.pipe(pairs, as_tuples=True, batch_size=_BATCH):
        gold = [(start, end) for start, end, label in document.spans if private(label)]
        for spans in task.groups(doc):
            places = [(span.start_char, span.end_char) for span in spans]
            if _touch(places, document.masked):
                continue
            truth = TRUE if _touch(places, gold) else FALSE
            context = task.context(document.text, places)
            prompt = task.prompt(spans[0].text, context, spans[0].label_)
            answer = truth
            if model is not None and task.reasoning:
                answer, truth = reason(prompt, truth, model, counts)
            counts[truth] += 1
            yield chat(prompt, answer)


def _touch(places: Iterable[tuple[int, int]], others: Sequence[tuple[int, int]]) -> bool:
    return any(a < end and b > start for start, end in places for a, b in others)


def reason(prompt: Any, truth: str, model: ChatModel, counts: "Counter[str]") -> tuple[str, str]:
    """RETURNS (tuple[str, str]): Reasoning that ends with the truth, and the truth; after six attempts that disagree, T."""
    for _ in range(ATTEMPTS):
        (said,) = next(iter(model([[prompt]])))
        if verdict(said, reasoning=True) == truth:
            return str(said).strip(), truth
    counts["defaulted"] += 1
    return "It cannot be ruled out that this is personal.\nResponse: T", TRUE


def part_of(documents: Sequence[LabelledText], part: str) -> list[LabelledText]:
    """The documents of a part of the paper's split, "base_train", "verifier_train" or "test"; or "all". RAISES (PiiError): E519."""
    from ..corpus.split import PAPER_PARTS, paper_split

    if part == "all":
        return list(documents)
    if part not in PAPER_PARTS:
        allowed = ", ".join(("all", *PAPER_PARTS))
        raise PiiError(Errors.E519, value=part, what="part", allowed=allowed)
    return [documents[i] for i in paper_split(len(documents))[part]]
