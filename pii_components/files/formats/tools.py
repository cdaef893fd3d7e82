"""Forms that annotation tools export: Prodigy's JSON Lines (db-out), and Label Studio's JSON, JSON-MIN, or their objects one a line.

    {"text": "I am Ina", "spans": [{"start": 5, "end": 8, "label": "NAME_STUDENT"}], "answer": "accept", "_task_hash": 1}
    {"id": 7, "data": {"text": "I am Ina"}, "annotations": [{"was_cancelled": false, "result": [{"type": "labels",
      "value": {"start": 5, "end": 8, "text": "Ina", "labels": ["NAME_STUDENT"]}}]}]}
    {"id": 7, "text": "I am Ina", "label": [{"start": 5, "end": 8, "text": "Ina", "labels": ["NAME_STUDENT"]}], "annotation_id": 1}

What an annotator rejected, ignored or skipped is passed over and counted. Label Studio counts an emoji as two characters: a
region is where its words stand. Where several people annotated a task, one that is marked as ground truth holds; else what all
of them marked is gold, and what some of them marked is masked.
"""

from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from ...errors import Errors, PiiError
from ..record import choose_text_field
from ..tables import TOKEN_FIELDS, open_json
from .base import (
    USUAL_ID_FIELDS,
    GoldSpan,
    Items,
    LabelledText,
    ReadOptions,
    each,
    id_of,
    is_label,
    parse_spans,
    resolve_gold_overlaps,
    whole,
)
from .spans import EntityRow, place

SET_ASIDE = "not annotated, or set aside by the annotator"
DIFFER = "marked by some annotators only"
# What JSON-MIN has beside the fields of a task.
_BESIDE = ("annotation_id", "annotator", "created_at", "updated_at", "lead_time")
_REGION = "a region of <Text>: start and end, whole numbers, and labels without white space"


def read_prodigy(path: Path, options: ReadOptions) -> Items:
    """Read tasks of recipes that mark a whole text (ner.manual, ner.correct, spans.manual, review); fields of `meta` are kept.

    YIELDS (tuple[int, LabelledText] | Skip): Each task; E520 to E522, E624 of those that cannot be used.
    """
    source = open_json(path, text_field=options.text_field, encoding=options.encoding)

    def labelled(number: int, body: object, values: dict[str, Any]) -> LabelledText | None:
        if values.get("answer", "accept") != "accept":
            options.tally.notes[SET_ASIDE] += 1
            return None
        if values.get("_view_id") == "ner":  # a question about one span says nothing of the rest
            expected = "ner_manual, spans_manual or another in which a whole text is marked"
            raise PiiError(Errors.E624, number=number, name="_view_id", expected=expected)
        text = whole(values[source.text_field], number)
        found = parse_spans(values.get("spans") or [], number)
        meta = values["meta"] if isinstance(values.get("meta"), dict) else {}
        own = {source.text_field, "spans", "answer", "meta", *TOKEN_FIELDS}
        others = {n: v for n, v in values.items() if n not in own and not n.startswith("_")}
        gold = resolve_gold_overlaps(text, found, number=number, tally=options.tally)
        return _with_id(number, text, gold, {**meta, **others}, options)

    return each(source.objects(), labelled)


def read_label_studio(path: Path, options: ReadOptions) -> Items:
    """Read tasks with regions of <Labels> over <Text>; other fields of a task's data are kept.

    YIELDS (tuple[int, LabelledText] | Skip): Each task; E506, E520 to E522, E624 of those that cannot be used.
    """
    source = open_json(path, text_field="id", encoding=options.encoding)

    def labelled(number: int, body: object, values: dict[str, Any]) -> LabelledText | None:
        every = list(_annotations(values, number))
        if not every:
            options.tally.notes[SET_ASIDE] += 1
            return None
        task = values.get("data", values)
        if not isinstance(task, dict):
            raise PiiError(Errors.E624, number=number, name="data", expected="an object")
        name = choose_text_field(list(task), options.text_field)
        text, marked, lost = whole(task[name], number), [], []
        for regions in every:
            rows = list(_rows(regions, text, number))
            spans, unplaced = place(text, rows, number=number, tally=options.tally)
            marked.append(set(spans))
            lost += unplaced
        gold = set.intersection(*marked)
        unsure = set.union(*marked) - gold
        options.tally.notes[DIFFER] += len(unsure)
        lost += [(start, end) for start, end, _ in unsure]
        found = resolve_gold_overlaps(text, gold, lost, number=number, tally=options.tally)
        own = {name, *_BESIDE}
        meta = {n: v for n, v in task.items() if n not in own and not isinstance(v, list)}
        return _with_id(number, text, found, {"id": values["id"], **meta}, options)

    return each(source.objects(), labelled)


def _annotations(values: dict[str, Any], number: int) -> Iterator[list[Any]]:
    """YIELDS (list): The regions of each annotator who finished the task. RAISES (PiiError): E522, if it is no task."""
    if "annotation_id" in values:  # JSON-MIN: the field of regions has the name of the tag
        listed = (value for value in values.values() if isinstance(value, list))
        yield [one for one in _dicts(chain.from_iterable(listed)) if "end" in one]
        return
    if not isinstance(values.get("annotations"), list):
        raise PiiError(Errors.E522, number=number, name="annotations")
    every = _dicts(values["annotations"])
    done = [one for one in every if not one.get("was_cancelled") and "result" in one]
    for one in [one for one in done if one.get("ground_truth")][:1] or done:
        # Relations, choices and notes beside the regions have no place in the text.
        results = _dicts(one["result"] or ())
        yield [item["value"] for item in results if "end" in (item.get("value") or ())]


def _dicts(values: Iterable[Any]) -> list[dict[str, Any]]:
    return [value for value in values if isinstance(value, dict)]


def _rows(regions: list[dict[str, Any]], text: str, number: int) -> Iterator[EntityRow]:
    """YIELDS (EntityRow): Each label of each region. RAISES (PiiError): E624 for one of another kind of tag."""
    for index, region in enumerate(regions):
        start, end, labels = region.get("start"), region.get("end"), region.get("labels")
        if not (
            type(start) is type(end) is int
            and isinstance(labels, list)
            and labels
            and all(map(is_label, labels))
        ):
            name = f"result[{index}]"
            raise PiiError(Errors.E624, number=number, name=name, expected=_REGION)
        there = text[max(start, 0) : max(end, 0)]
        words = str(region.get("text") or there)
        # A line break in what was marked is exported as \n.
        words = words if words == there else words.replace("\\n", "\n")
        for label in labels:
            yield EntityRow(number, "", start, end, label, words)


def _with_id(
    number: int,
    text: str,
    gold: tuple[tuple[GoldSpan, ...], tuple[tuple[int, int], ...]],
    meta: dict[str, Any],
    options: ReadOptions,
) -> LabelledText:
    name = options.id_field or next((name for name in USUAL_ID_FIELDS if name in meta), "")
    return LabelledText(id_of(meta.pop(name, None), number), text, *gold, meta)
