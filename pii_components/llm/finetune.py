"""Files to fine-tune a chat model with: detector (JEDM paper, Table 4) and verifier (Table 5), one JSON object with `messages` a line.

    for example in detector_examples(essays, task): ...
    for example in verifier_examples(essays, nlp, task, counts): ...
    check_file(Path("train.jsonl"))

The paper trained GPT-4o-mini with 2 epochs, batch size 1 and a learning rate multiplier of 1.8.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import Errors, PiiError, reason_of
from ..files.formats.base import LabelledText
from .align import free_marks, mark
from .cost import estimate
from .marker import SHARD, MarkerTask, shards_of
from .models import ChatModel
from .verifier import FALSE, TRUE, VerifierTask, verdict

if TYPE_CHECKING:
    from spacy.language import Language

ATTEMPTS = 6  # after which the answer is T, see the paper's section 3.2
LEAST = 10  # examples that OpenAI asks for
LONGEST = 65_536  # tokens of one example
ROLES = ("system", "user", "assistant")
_BATCH = 16


def chat(prompt: Any, answer: str) -> dict[str, Any]:
    """One example. prompt (Prompt): With messages."""
    return {"messages": [*prompt.messages, {"role": "assistant", "content": answer}]}


def detector_examples(
    documents: Iterable[LabelledText], task: MarkerTask
) -> Iterator[dict[str, Any]]:
    """YIELDS (dict): For each shard of each document the prompt and the text with its gold marked; a document with masked stretches, whose gold
    nobody knows, is passed over."""
    for document in documents:
        if document.masked or not document.text.strip():
            continue
        bounds = shards_of(document.text, SHARD, 0)
        for start, end in bounds:
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
    nlp: "Language",
    task: VerifierTask,
    counts: "Counter[str]",
    *,
    private: Callable[[str], bool],
    model: ChatModel | None = None,
) -> Iterator[dict[str, Any]]:
    """Each string that a base detector found, T or F by gold: T if any of its mentions touches gold that is private.

    nlp (Language): The detector. private (Callable): Whether gold of a label is. model (ChatModel | None): Writes the reasoning where the
    task wants it; give it a temperature above 0. counts (Counter): Gets the numbers of "T", "F", and "defaulted", where six attempts did not
    reason to the truth and the answer became T.
    """
    todo = [document for document in documents if document.text.strip()]
    for at in range(0, len(todo), _BATCH):
        batch = todo[at : at + _BATCH]
        for document, doc in zip(
            batch, nlp.pipe([d.text for d in batch], batch_size=_BATCH), strict=True
        ):
            for spans in task.groups(doc):
                places = [(s.start_char, s.end_char) for s in spans]
                if any(a < end and b > start for a, b in document.masked for start, end in places):
                    continue
                gold = [(a, b) for a, b, label in document.spans if private(label)]
                truth = (
                    TRUE
                    if any(a < end and b > start for a, b in gold for start, end in places)
                    else FALSE
                )
                prompt = task.prompt(
                    spans[0].text, task.context(document.text, places), spans[0].label_
                )
                answer = truth
                if task.reasoning:
                    if model is None:
                        raise PiiError(Errors.E942)
                    answer, truth = reason(prompt, truth, model, counts)
                counts[truth] += 1
                yield chat(prompt, answer)


def reason(prompt: Any, truth: str, model: ChatModel, counts: "Counter[str]") -> tuple[str, str]:
    """RETURNS (tuple[str, str]): Reasoning that ends with the truth, and the truth; after six attempts that disagree, T."""
    for _ in range(ATTEMPTS):
        (said,) = next(iter(model([[prompt]])))
        if verdict(said, reasoning=True) == truth:
            return str(said).strip(), truth
    counts["defaulted"] += 1
    return "It cannot be ruled out that this is personal.\nResponse: T", TRUE


@dataclass(frozen=True, slots=True)
class Checked:
    """A file that can be used: examples, their estimated tokens, and those that an assistant says."""

    examples: int
    tokens: int
    answers: int


def problem_of(example: Any) -> str:
    """RETURNS (str): What is wrong with an example, after OpenAI's rules for chat data; empty if nothing is."""
    if not isinstance(example, dict) or not isinstance(example.get("messages"), list):
        return "no object with a list 'messages'"
    if extra := sorted(example.keys() - {"messages"}):
        return f"key '{extra[0][:20]}' beside 'messages'"
    roles = []
    for message in example["messages"]:
        if not isinstance(message, dict) or message.get("role") not in ROLES:
            return f"a message whose role is none of {', '.join(ROLES)}"
        if not isinstance(message.get("content"), str) or not message["content"].strip():
            return "a message without content"
        if message.keys() - {"role", "content", "name", "weight"}:
            return "a message with a key that is not role, content, name or weight"
        weight = message.get("weight", 1)
        if (
            isinstance(weight, bool)
            or weight not in (0, 1)
            or ("weight" in message and message["role"] != "assistant")
        ):
            return "a weight that is not 0 or 1, or not an assistant's"
        roles.append(message["role"])
    if roles[-1:] != ["assistant"] or "user" not in roles or "system" in roles[1:]:
        return "messages that are not: perhaps system, then user and assistant, the assistant last"
    if sum(estimate(len(m["content"])) for m in example["messages"]) > LONGEST:
        return f"more than {LONGEST} tokens"
    return ""


def check_file(path: Path) -> Checked:
    """Check a file of examples. RAISES (PiiError): E501; E940, with the first line that is wrong; E941, if there are too few."""
    lengths: list[int] = []
    answers = number = 0
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                try:
                    example = json.loads(line)
                except ValueError:
                    raise PiiError(Errors.E940, number=number, problem="no JSON") from None
                if problem := problem_of(example):
                    raise PiiError(Errors.E940, number=number, problem=problem)
                lengths += [estimate(len(m["content"])) for m in example["messages"]]
                answers += lengths[-1]
    except UnicodeDecodeError:
        raise PiiError(Errors.E940, number=number + 1, problem="not in UTF-8") from None
    except OSError as err:
        raise PiiError(Errors.E501, what=f"'{path.name}'", reason=reason_of(err)) from err
    if number < LEAST:
        raise PiiError(Errors.E941, n=number, least=LEAST)
    return Checked(number, sum(lengths), answers)


def part_of(documents: Sequence[LabelledText], part: str) -> list[LabelledText]:
    """The documents of a part of the paper's split, "base_train", "verifier_train" or "test"; or "all". RAISES (PiiError): E650, E904."""
    from ..corpus.split import PAPER_PARTS, paper_split

    if part not in ("all", *PAPER_PARTS):
        raise PiiError(
            Errors.E904, name="--part", value=part, allowed=", ".join(("all", *PAPER_PARTS))
        )
    return (
        list(documents)
        if part == "all"
        else [documents[i] for i in paper_split(len(documents))[part]]
    )


__all__ = [
    "ATTEMPTS",
    "Checked",
    "check_file",
    "detector_examples",
    "part_of",
    "reason",
    "verifier_examples",
]
