"""What is hidden of texts in which one token is labelled and nothing else is known.

    python -m scripts.windows assets/windows/tokens.jsonl --pipeline en_pii_edu --out metrics/windows.json

Of tokens with a label it is the share that is hidden: recall, whatever the label under which. Of tokens labelled "O" it is that of false
alarms, if the tokens were drawn evenly; they seldom are, so precision cannot be told from it.
"""

import json
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from pii_components.cli.common import guard
from pii_components.errors import Errors, PiiError
from pii_components.evaluate.gold import Entity, GoldDocument
from pii_components.evaluate.match import COVERED, ENTITIES, TOUCHED, cover
from pii_components.evaluate.metrics import rate, resample
from pii_components.evaluate.report import plain
from pii_components.evaluate.systems import System, make_system
from pii_components.files.record import reason_of
from pii_components.profiles import Profile
from scripts import common
from scripts.common import Protects

OUTSIDE = "O"


def main(
    path: Annotated[
        Path,
        typer.Argument(
            metavar="WINDOWS", help="JSON Lines: text, start, end, label (B-EMAIL, O) of a token."
        ),
    ],
    *,
    pipeline: common.PipelineOpt = "en_pii_edu",
    out: common.OutOpt = None,
    debug: common.DebugOpt = False,
) -> None:
    """Share of labelled tokens that is hidden, in windows out of labelled essays, of which nothing but one token is known."""
    with guard(debug):
        common.early(out)
        protects = Profile.load("crapii").protects
        documents = read_windows(path)
        report = {
            "profile": "crapii",
            **measure_windows(make_system(pipeline, protects=protects), documents, protects),
        }
        common.publish("windows", report, out, common.show_markdown)


def read_windows(path: Path) -> list[GoldDocument]:
    """The texts, each once, with their labelled stretches, in the order of the file.

    path (Path): JSON Lines with `text`, `start`, `end` and `label`, a label of CRAPII with or without "B-" and "I-", or "O".
    RAISES (PiiError): E611, with the number of the line, for what is no such row; E501 for a file that cannot be read.
    """
    try:
        with path.open(encoding="utf8") as stream:
            lines = list(stream)
    except (OSError, UnicodeDecodeError) as err:
        raise PiiError(Errors.E501, what=path.name, reason=reason_of(err)) from err
    found: dict[str, list[Entity]] = defaultdict(list)
    for number, line in enumerate(lines, 1):
        try:
            row = json.loads(line)
            text, start, end = row["text"], int(row["start"]), int(row["end"])
            label = row["label"].removeprefix("B-").removeprefix("I-")
            ident = str(list(found).index(text) if text in found else len(found))
            if end > len(text):
                raise ValueError
            found[text].append(Entity(ident, start, end, label, text[start:end]))
        except (ValueError, TypeError, KeyError, AttributeError, PiiError):
            raise PiiError(Errors.E611, file=path.name, line=number) from None
    return [
        GoldDocument(str(n), text, tuple(stretches))
        for n, (text, stretches) in enumerate(found.items())
    ]


def measure_windows(
    system: System, documents: Sequence[GoldDocument], protects: Protects
) -> dict[str, Any]:
    """How much of the labelled stretches the system hides, per label, with intervals over texts.

    RETURNS (dict[str, Any]): Per label `support`, `texts`, `hidden` (no character in clear), `touched` (at least one hidden) and
        `right` (hidden by findings of the label itself). RAISES (PiiError): E762, if there is nothing.
    """
    if not documents:
        raise PiiError(Errors.E762, what="The file", needed="labelled stretch")
    predicted = zip(common.track("windows", documents), system.find(documents), strict=True)
    kept = [entity for _, entities in predicted for entity in entities if protects(entity.label)]
    stretches = [entity for document in documents for entity in document.entities]
    ids, weights = [document.id for document in documents], resample(len(documents))
    labels: dict[str, Any] = {}
    for label in sorted(
        {entity.label for entity in stretches}, key=lambda label: (label == OUTSIDE, label)
    ):
        gold = [entity for entity in stretches if entity.label == label]
        counts = cover(gold, kept, documents=ids)
        support, parts = (
            counts[:, ENTITIES],
            {"hidden": counts[:, COVERED], "touched": counts[:, TOUCHED]},
        )
        if label != OUTSIDE:
            parts["right"] = cover(
                gold, [entity for entity in kept if entity.label == label], documents=ids
            )[:, COVERED]
        rates = plain({name: rate(part, support, weights) for name, part in parts.items()})
        labels[label] = {"support": int(support.sum()), "texts": int((support > 0).sum()), **rates}
    return common.head(system) | {"kind": "windows", "texts": len(documents), "labels": labels}


if __name__ == "__main__":
    typer.run(main)
