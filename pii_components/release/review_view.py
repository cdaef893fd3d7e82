"""What the page of `pii-edu review` asks of a review: lists that a person narrows down, values, how far they are, the random sample.

    listed(review, Wanted(label="EMPLOYER", below=0.5))     # documents with such a span, by risk
    values(review, Wanted(left=True))                       # each value once, with what is still to decide
    draw(review, 60); estimate(review)                      # what `pii-edu audit --sample 60 --seed …` will say

Documents of the sample alone count for the estimate; what is shown for its risk never does.
"""

import re
import secrets
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise
from typing import Any

from ..labels import HEADER
from ..profiles import KEEP
from .report import documents_to_review, leak_estimate, sample_records
from .review import REJECTED, SAMPLE, SUSPECT, Entry, Review, around, value_of

_BREAK = 600  # seconds without an action that are no work
_BOUND = 0.05
# What may have become of a span.
FATES: dict[str, Callable[[dict[str, Any]], bool]] = {
    "": lambda item: True,
    "clear": lambda item: item["action"] == KEEP,
    "suspect": lambda item: item["state"] == SUSPECT,
    "kept": lambda item: item["action"] == KEEP and item["state"] not in (SUSPECT, REJECTED),
    "hidden": lambda item: item["action"] != KEEP,
}
Place = tuple[int, dict[str, Any]]


@dataclass(frozen=True)
class Wanted:
    """What a list is narrowed down to.

    words (str): In the text of a document, or in a value; without case.
    name (str): In the name of a document: its ID or file.
    label, role (str): Of a span.
    below (float): Its score is less.
    fate (str): One of `FATES`: it stands in clear; a part of what is hidden elsewhere; kept by the profile; it is hidden.
    sample (bool): Documents of the random sample.
    left (bool): What is not done: documents not reviewed, values not decided about.
    """

    words: str = ""
    name: str = ""
    label: str = ""
    role: str = ""
    below: float = 0
    fate: str = ""
    sample: bool = False
    left: bool = False

    @property
    def asks_spans(self) -> bool:
        return bool(self.label or self.role or self.below or self.fate)

    def shows(self, item: dict[str, Any]) -> bool:
        """Whether a span is wanted."""
        score = item["score"]
        return (
            self.label in ("", item["label"])
            and self.role in ("", item["role"])
            and (not self.below or (score is not None and score < self.below))
            and FATES[self.fate](item)
        )


def listed(review: Review, wanted: Wanted) -> list[Entry]:
    """RETURNS (list[Entry]): Documents by risk."""
    words, name = wanted.words.casefold(), wanted.name.casefold()
    sample = set(review.decisions.sample.get("records", ())) if wanted.sample else None
    found = []
    for entry in review.entries.values():
        if sample is not None and entry.number not in sample:
            continue
        if name not in entry.name.casefold() or (words and words not in entry.text.casefold()):
            continue
        if wanted.left and review.decisions.is_reviewed(entry.number):
            continue
        if wanted.asks_spans and not any(map(wanted.shows, review.state(entry.number)[1])):
            continue
        found.append(entry)
    return found


def excerpt(text: str, words: str) -> tuple[str, str, str] | None:
    """RETURNS (tuple | None): The first place of some words in a text, with what stands around it."""
    match = re.search(re.escape(words), text, re.IGNORECASE) if words else None
    return around(text, *match.span()) if match else None


def _grouped(review: Review, wanted: Wanted) -> dict[tuple[str, str, str], list[Place]]:
    """RETURNS (dict): Value, label and role (of a detail) -> its places, by risk of the document."""
    groups = defaultdict[tuple[str, str, str], list[Place]](list)
    words = value_of(wanted.words)
    every = not (words or wanted.asks_spans)
    for entry in listed(review, replace(wanted, words="", left=False)):
        for item in review.state(entry.number)[1]:
            key = item["key"]
            if every or (words in key[0] and wanted.shows(item)):
                groups[key].append((entry.number, item))
    return groups


def _told(
    review: Review, key: tuple[str, str, str], places: Sequence[Place], most: int = 0
) -> dict[str, Any]:
    """RETURNS (dict): A value, how often it stands where, and at most so many of its places, the undecided first, with what stands around
    them."""
    states, shown = Counter(item["state"] for _, item in places), []
    for number, item in sorted(places, key=lambda place: not place[1]["open"])[: most or 1]:
        about = {name: item[name] for name in ("state", "action", "score", "open")}
        shown.append(review.context(number, item["start"], item["end"]) | about)
    return {
        **dict(zip(("value", "label", "role"), key, strict=True)),
        "text": shown[0]["parts"][1],
        "places": len(places),
        "documents": len({number for number, _ in places}),
        "open": sum(item["open"] for _, item in places),
        "hidden": sum(item["action"] != KEEP for _, item in places),
        "states": dict(sorted(states.items())),
        "shown": shown[:most],
    }


def values(review: Review, wanted: Wanted, start: int = 0, n: int = 50) -> dict[str, Any]:
    """RETURNS (dict): `listed`, how many values; `values`, n of them, those with most mistakes to expect first."""
    rows = []
    for key, places in _grouped(review, wanted).items():
        # A removed line has no score, and no mistake is expected of it.
        scores = [item["score"] or key[1] == HEADER for _, item in places if item["open"]]
        if scores or not wanted.left:
            rows.append((sum(scores) - len(scores), -len(places), key, places))
    rows.sort(key=lambda row: row[:2])
    shown = [_told(review, key, places) for *_, key, places in rows[start : start + n]]
    return {"listed": len(rows), "values": shown}


def value(
    review: Review, wanted: Wanted, key: tuple[str, str, str], most: int
) -> dict[str, Any] | None:
    """RETURNS (dict | None): A value with its places, at most so many; None, if there is none."""
    places = _grouped(review, replace(wanted, words="")).get(key)
    return _told(review, key, places, most) if places else None


def progress(review: Review, wanted: Wanted) -> dict[str, Any]:
    """RETURNS (dict): Of the documents that are wanted: `documents`, `reviewed`, `spans`, `decided`; `minutes` left at the pace so far, None
    before there is one."""
    marks, done, spans, decided = review.decisions, 0, 0, 0
    scope = listed(review, replace(wanted, left=False))
    for entry in scope:
        items = review.state(entry.number)[1]
        is_done = marks.is_reviewed(entry.number)
        spans += len(items)
        decided += len(items) if is_done else sum([not item["open"] for item in items])
        done += is_done
    times = [datetime.fromisoformat(row["time"]) for row in marks.actions.values() if "time" in row]
    gaps = [(after - before).total_seconds() for before, after in pairwise(times)]
    worked = sum(gap for gap in gaps if 0 < gap < _BREAK)
    n = sum(marks.is_reviewed(number) for number in marks.history)
    return {
        "documents": len(scope),
        "reviewed": done,
        "spans": spans,
        "decided": decided,
        "minutes": round(worked / n * (len(scope) - done) / 60, 1) if n and worked else None,
    }


def draw(review: Review, n: int) -> None:
    """Draw the random sample, as `pii-edu audit --sample` does, or make it larger, under the same seed; of all documents, if there are
    fewer.

    RAISES (PiiError): E512; E650, if not all that were left out are known. KeyError, if the report is gone.
    """
    old, skipped = review.decisions.sample, review.report["skipped"]
    n, seed = max(n, old.get("size", 0)), old.get("seed", secrets.randbelow(10**6))
    records = sample_records(
        n,
        documents=review.report["documents"],
        skipped=[row["record"] for row in skipped["records"]],
        n_skipped=skipped["count"],
        seed=seed,
    )
    review.decisions.append(SAMPLE, size=len(records), seed=seed, records=records)


def estimate(review: Review) -> dict[str, Any]:
    """RETURNS (dict): Of the random sample: `size`, `seed`, `reviewed`, `with_a_miss` (documents); `upper_95`, the share of all documents that
    leaks at most, if what is not reviewed yet has no miss; `needed`, documents to draw to show 5 % if none leaks; `of`, all documents."""
    sample, n = review.decisions.sample, len(review.entries)
    done = [i for i in sample.get("records", ()) if review.decisions.is_reviewed(i)]
    then = review.decisions.missed_then
    bad = sum(max(review.file.missed(*review.spans(i)), then(i)) > 0 for i in done)
    told = {"size": 0, "seed": None, "of": n, "needed": documents_to_review(_BOUND, documents=n)}
    if sample:
        found = leak_estimate(reviewed=sample["size"], missed_in=bad, documents=n)["documents"]
        told |= {"size": sample["size"], "seed": sample["seed"], "upper_95": found["upper_95"]}
    return told | {"reviewed": len(done), "with_a_miss": bad}
