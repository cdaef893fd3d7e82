"""`report.json`: what a run did, in numbers. No text of anybody, no name of a file.

report = Report()
report.add(record, result)
report.skip(skip)
report.as_json(head)
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from ..corpus.records import Record, Skip, safe_name
from .engine import Result

_MOST_LISTED = 10_000


@dataclass(slots=True)
class Report:
    """The counts of a run.

    documents, changed, empty, words (int): Documents written; those that differ from their original; those without text; words.
    spans (Counter): Number per "label|role|action". skipped (list[tuple[int, str]]): Number of the record and code.
    left_over (list[int]): Records in which a value that was replaced stands once more where nothing was found.
    in_fields (Counter): Per field that passes through unchanged: records in which it holds a value that was replaced in the
    text.
    """

    documents: int = 0
    changed: int = 0
    empty: int = 0
    words: int = 0
    seconds: float = 0.0
    n_skipped: int = 0
    n_left_over: int = 0
    spans: Counter[str] = field(default_factory=Counter)
    skipped: list[tuple[int, str]] = field(default_factory=list)
    left_over: list[int] = field(default_factory=list)
    notes: Counter[str] = field(default_factory=Counter)
    in_fields: Counter[str] = field(default_factory=Counter)

    def add(self, record: Record, result: Result) -> None:
        """Count a document that was written."""
        self.documents += 1
        self.changed += result.text != record.text
        self.empty += not record.text.strip()
        self.words += result.words
        self.spans.update(f"{span.label}|{span.role}|{span.action}" for span in result.spans)
        self.notes.update(result.notes)
        self.in_fields.update(result.fields_with_found)
        if result.left_over:
            self.n_left_over += 1
            self.left_over.append(record.number)
            del self.left_over[_MOST_LISTED:]

    def skip(self, skip: Skip) -> None:
        """Count a record that was left out."""
        self.n_skipped += 1
        self.skipped.append((skip.number, skip.code))
        del self.skipped[_MOST_LISTED:]

    def dump(self) -> dict[str, Any]:
        """RETURNS (dict[str, Any]): For the state of the run."""
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        return {name: dict(value) if isinstance(value, Counter) else value for name, value in values.items()}

    @classmethod
    def load(cls, data: Mapping[str, Any]) -> "Report":
        """RETURNS (Report): What `dump` gave."""
        report = cls(**data)
        report.spans, report.notes, report.in_fields = Counter(report.spans), Counter(report.notes), Counter(report.in_fields)
        report.skipped = [(int(number), str(code)) for number, code in report.skipped]
        return report

    def as_json(self, head: Mapping[str, Any], others: list[str]) -> dict[str, Any]:
        """The whole report.

        head (Mapping[str, Any]): Version, profile, model, ... others (list[str]): Fields that passed through unchanged.
        RETURNS (dict[str, Any]): Ready for JSON.
        """
        rows = [(*key.split("|"), count) for key, count in sorted(self.spans.items())]
        shown = {name: safe_name(name, i) for i, name in enumerate(others, 1)}
        return {
            **head,
            "documents": self.documents,
            "documents_changed": self.changed,
            "documents_without_text": self.empty,
            "words": self.words,
            "seconds": round(self.seconds, 2),
            "words_per_second": round(self.words / self.seconds) if self.seconds else None,
            "spans": [{"label": label, "role": role, "action": action, "count": n} for label, role, action, n in rows],
            "notes": dict(sorted(self.notes.items())),
            "skipped": {"count": self.n_skipped, "records": [{"record": n, "code": code} for n, code in self.skipped]},
            "to_review": {
                "replaced_value_stands_elsewhere_in_text": {"count": self.n_left_over, "records": self.left_over},
                "replaced_value_stands_in_unchanged_field": {
                    shown.get(name, "(another)"): n for name, n in sorted(self.in_fields.items())
                },
            },
            "unchanged_fields": list(shown.values()),
        }
