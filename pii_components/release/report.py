"""What a run says of itself: `report.json`, and `report.html` for the file of an IRB or under FERPA (34 CFR
99.31(b)). Numbers, codes, digests and labels; no text of anybody.

    report = Report()
    report.add(record, result)
    write_report(Path("report.json"), report.as_json(head, {"grade": "grade"}))

And what a review says of a release, and how many documents a review must draw:

    leak_estimate(reviewed=300, missed_in=0, documents=5000)["documents"]["upper_95"]   # 0.0096
    documents_to_review(0.01, documents=5000)           # 290 drawn at random, none with a miss
    sample_records(60, documents=5000, skipped=[17], seed=1)

An estimate holds for documents that were drawn at random, not for those that looked risky.
"""

import hmac
import json
import math
import platform
import random
import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import partial
from hashlib import file_digest, sha256
from importlib import metadata
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import ChainableUndefined, Environment, PackageLoader, Undefined

from ..errors import Errors, PiiError, imported
from ..files.record import Record, Skip, Source, open_binary, open_regular
from ..files.sources import REPORT_NAME, files_below, is_hidden
from ..files.writers import replace_file
from ..labels import LABELS
from ..profiles import KEEP, TAG, Profile
from .engine import Result

if TYPE_CHECKING:
    from spacy.language import Language


# A decision with less than this score is called unsure.
UNSURE = 0.5
MOST_LISTED = 10_000
_MOST_DIGESTS = 200
_LIBRARIES = ("spacy", "thinc", "numpy", "onnxruntime", "torch")
DASH = "–"
# How a report begins: OUTPUT may be a .json of any size.
_BEGIN = b'{\n  "program": "pii-edu"'
# What 34 CFR 99.3 calls personally identifiable, point by point, and the labels that look for it.
_POINTS = {
    "(a) the student's name": ("NAME_STUDENT",),
    "(b) names of parents and other family members": ("NAME_CONNECTED",),
    "(c) address of the student or the family": ("STREET_ADDRESS",),
    "(d) personal identifiers, such as a student number": (
        *("ID_NUM", "USERNAME", "EMAIL", "PHONE_NUM", "URL_PERSONAL"),
    ),
    "(e) other indirect identifiers, such as date and place of birth": ("DATE", "AGE", "LOCATION"),
    "(f) other information that is linkable to a student": (
        *("NAME_INSTRUCTOR", "EDUCATION", "EMPLOYER", "OTHER"),
    ),
}


@dataclass
class Report:
    """`report.json`: what a run did, in numbers. No text of anybody.

    documents, changed, empty, words (int): Documents written; those that differ from their original; those without text; words.
    spans (Counter): Number per "label|role|action". sources (Counter): Number per "label|action|source".
    risk (Counter): Documents per "least|n" and "in_clear|n", n tenths being the least score of all, and of what stays in clear; per "unsure|n", the
    number of scores below `UNSURE`, 10 being ten or more. skipped (list[tuple[int, str, int, str]]): Number, code, line and ID or file of a
    record; no ID of which holds a name. renamed (int): Documents that have a pseudonym for their ID or file.
    unread (Counter): Per kind of what documents hold and nobody read: how many. unread_in (list[int]): Records.
    rows_left_out (list[tuple[int, int]]): Record and line of broken rows of tables in a folder.
    headers, with_headers (int): Headers that were removed, and the documents that had them.
    recognised (list[tuple[int, str]]): Records that are in no Unicode, and in which encoding they were read.
    in_fields (Counter): Per field that passes through unchanged: records in which it holds a value that was replaced in the text.
    """

    documents: int = 0
    changed: int = 0
    empty: int = 0
    words: int = 0
    seconds: float = 0.0
    n_skipped: int = 0
    spans: Counter[str] = field(default_factory=Counter)
    sources: Counter[str] = field(default_factory=Counter)
    risk: Counter[str] = field(default_factory=Counter)
    skipped: list[tuple[int, str, int, str]] = field(default_factory=list)
    renamed: int = 0
    headers: int = 0
    with_headers: int = 0
    notes: Counter[str] = field(default_factory=Counter)
    in_fields: Counter[str] = field(default_factory=Counter)
    unread: Counter[str] = field(default_factory=Counter)
    unread_in: list[int] = field(default_factory=list)
    recognised: list[tuple[int, str]] = field(default_factory=list)
    rows_left_out: list[tuple[int, int]] = field(default_factory=list)

    def add(self, record: Record, result: Result) -> None:
        self.documents += 1
        self.changed += result.text != record.text
        self.renamed += record.given is not None
        self.headers += len(result.headers)
        self.with_headers += bool(result.headers)
        self.empty += not result.words
        self.words += result.words
        self.spans.update(f"{span.label}|{span.role}|{span.action}" for span in result.spans)
        self.sources.update(f"{span.label}|{span.action}|{span.source}" for span in result.spans)
        for name, scores in (
            ("least", [span.score for span in result.spans]),
            ("in_clear", [span.score for span in result.spans if span.action == KEEP]),
        ):
            if scores:
                self.risk[f"{name}|{min(9, int(min(scores) * 10 + 1e-9))}"] += 1
        self.risk[f"unsure|{min(10, sum(span.score < UNSURE for span in result.spans))}"] += 1
        self.notes.update(result.notes)
        self.in_fields.update(result.fields_with_found)
        if record.encoding:
            self.recognised.append((record.number, record.encoding))
            del self.recognised[MOST_LISTED:]
        self.unread.update(record.unread)
        if record.unread:
            self.unread_in.append(record.number)
            del self.unread_in[MOST_LISTED:]

    def skip(self, skip: Skip) -> None:
        self.n_skipped += 1
        self.skipped.append((skip.number, skip.code, skip.line, skip.id))
        del self.skipped[MOST_LISTED:]

    @property
    def refused(self) -> bool:
        """Whether there were records, and none of them could be used."""
        return self.n_skipped > 0 and not self.documents

    @classmethod
    def load(cls, data: Mapping[str, Any]) -> "Report":
        """The counts that a state holds."""
        report = cls(**data)
        for name in ("spans", "sources", "risk", "notes", "in_fields", "unread"):
            setattr(report, name, Counter(getattr(report, name)))
        report.skipped = [
            (int(number), str(code), int(line), str(ident))
            for number, code, line, ident in report.skipped
        ]
        return report

    def as_json(self, head: Mapping[str, Any], shown: Mapping[str, str]) -> dict[str, Any]:
        """The whole report. head: Version, profile, model, ... shown (Mapping[str, str]): Fields that passed through unchanged, and
        what they may be called."""
        rows = [(*key.split("|"), count) for key, count in sorted(self.spans.items())]
        name = "file" if head.get("format") == "folder" else "id"
        return {
            **head,
            "documents": self.documents,
            "documents_changed": self.changed,
            "documents_without_text": self.empty,
            "words": self.words,
            "seconds": round(self.seconds, 2),
            "words_per_second": round(self.words / self.seconds) if self.seconds else None,
            "spans": [
                {"label": label, "role": role, "action": action, "count": n}
                for label, role, action, n in rows
            ],
            "sources": [
                dict(zip(("label", "action", "source"), key.split("|", 2), strict=True))
                | {"count": n}
                for key, n in sorted(self.sources.items())
            ],
            "risk": {
                name: [self.risk[f"{name}|{i}"] for i in range(size)]
                for name, size in (("least", 10), ("in_clear", 10), ("unsure", 11))
            },
            "notes": dict(sorted(self.notes.items())),
            "ids_replaced": self.renamed,
            "headers_removed": {"count": self.headers, "documents": self.with_headers},
            "skipped": {
                "count": self.n_skipped,
                "records": [
                    {"record": n, "code": code}
                    | ({"line": line} if line else {})
                    | ({name: ident} if ident else {})
                    for n, code, line, ident in self.skipped
                ],
            },
            "rows_left_out": [{"record": n, "line": line} for n, line in self.rows_left_out],
            "to_review": {
                "replaced_value_stands_in_unchanged_field": {
                    shown.get(name, "(another)"): n for name, n in sorted(self.in_fields.items())
                },
            },
            "not_read_in_documents": {
                "parts": dict(sorted(self.unread.items())),
                "records": self.unread_in,
            },
            "encodings_recognised": [
                {"record": number, "encoding": encoding} for number, encoding in self.recognised
            ],
            "unchanged_fields": list(shown.values()),
        }


def digest(path: Path, data: bytes | None = None, *, key: bytes = b"") -> dict[str, Any]:
    """SHA-256 of a file, or of a folder file by file; no names.

    data (bytes | None): The content, where it came by standard input.
    key (bytes): For originals: HMAC-SHA256, so that nobody can try texts out; of a folder with the names of its files.
    RETURNS (dict): `sha256` or `hmac_sha256`, and `bytes` of a file; of a folder `files`, and `…_of_list`, that
        of the sorted digests, one a line, which this command shows:
        `find OUT -type f ! -name 'report.*' -exec sha256sum {} + | cut -c1-64 | sort | sha256sum`
    RAISES (PiiError): E501.
    """
    kind = "hmac_sha256" if key else "sha256"

    def begun(name: str = "") -> Any:
        return hmac.new(key, name.encode("utf-8", "surrogateescape"), "sha256") if key else sha256()

    if data is not None or not path.is_dir():
        opened: Any = BytesIO(data) if data is not None else open_binary(path)
        with opened as file:
            return {kind: file_digest(file, begun).hexdigest(), "bytes": file.seek(0, 2)}
    names, listed = [name for name in files_below(path)[0] if not is_hidden(name)], list[str]()
    for name in names:
        with suppress(OSError), open_regular(path / name, follow=False) as file:
            listed.append(file_digest(file, partial(begun, name)).hexdigest())  # type: ignore[arg-type]
    total = begun()
    total.update("".join(f"{found}\n" for found in sorted(listed)).encode("ascii"))
    shown = len(names) <= _MOST_DIGESTS and not key
    return {
        "files": len(names),
        "files_not_hashed": len(names) - len(listed),
        f"{kind}_of_list": total.hexdigest(),
    } | ({"sha256_of_files": sorted(listed)} if shown else {})


def thresholds(nlp: "Language") -> dict[str, Any]:
    """RETURNS (dict): The operating point, and the numbers by which `pii_ner` and `pii_context` decide."""
    found = {}
    for name, pipe in nlp.pipeline:
        values = (getattr(pipe, "cfg", None) or {}).get("thresholds")
        found[name] = values or (asdict(pipe.settings) if hasattr(pipe, "settings") else {})
        if hasattr(pipe, "operating_point"):
            found[name] = {"operating_point": pipe.operating_point, **found[name]}
    return {name: values for name, values in found.items() if values}


def input_digest(source: Source, key: bytes) -> dict[str, Any] | None:
    """RETURNS (dict | None): The keyed `digest` of INPUT; None, if it is gone."""
    with suppress(PiiError):
        return digest(source.path, getattr(source, "data", None), key=key)
    return None


def provenance(
    nlp: "Language", profile: Profile, out: Path, *, source: dict[str, Any] | None
) -> dict[str, Any]:
    """What a report says beyond its counts. source (dict | None): The digest of INPUT, if it is as it was read."""
    installed = {dist.name.lower(): dist.version for dist in metadata.distributions()}
    versions = {name: installed[name] for name in sorted(_LIBRARIES) if name in installed}
    settings = profile.to_dict(private=False)
    del settings["name"], settings["description"]
    actions = {label: profile.action(label) for label in LABELS} | settings.pop("actions")
    shown = {
        name: value for name, value in settings.items() if isinstance(value, str | int | float)
    }
    return {
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": {"python": platform.python_version(), **versions},
        "components": list(nlp.pipe_names),
        "thresholds": thresholds(nlp),
        "actions": actions,
        "profile_description": profile.description,
        "profile_settings": shown,
        "input": source,
        "output": digest(out),
    }


def find_report(run: Path) -> tuple[Path, dict[str, Any]]:
    """RETURNS (tuple): The report of a run, and what it says. run (Path): OUTPUT, or the report.

    One beside OUTPUT counts if it has OUTPUT's digest. RAISES (PiiError): E585."""
    beside = run.with_name(REPORT_NAME)
    mine = (run / REPORT_NAME,) if run.is_dir() else (run, run.with_name(run.name + ".report.json"))
    for path in (*mine, beside):
        report = _read_report(path)
        if report and (
            path in mine
            or (run.is_file() and report["output"].get("sha256") == digest(run)["sha256"])
        ):
            return path, report
    raise PiiError(Errors.E585, path=run)


def _read_report(path: Path) -> dict[str, Any] | None:
    with suppress(OSError, ValueError), open(path, "rb") as file:
        if file.read(len(_BEGIN)) == _BEGIN:
            return dict(json.loads(_BEGIN + file.read()))
    return None


def page_path(report: Path) -> Path:
    """RETURNS (Path): Where the page lies: beside the report, with its name."""
    is_json = report.suffix == ".json"
    return report.with_suffix(".html") if is_json else report.with_name(report.name + ".html")


def write_report(path: Path, report: Mapping[str, Any]) -> None:
    """Write the report, and the page that shows it. RAISES (PiiError): E512."""
    replace_file(path, json.dumps(report, indent=2, ensure_ascii=False) + "\n")
    replace_file(page_path(path), build_page(report))


def number(value: Any) -> str:
    """Up to four digits after the point; a dash for None and for what is not there."""
    if value is None or isinstance(value, Undefined):
        return DASH
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if isinstance(value, int):
        return f"{value:,}".replace(",", "\u202f") if abs(value) >= 10_000 else str(value)
    if value and abs(value) < 0.001:
        return f"{value:.4g}"
    return f"{value:.4f}".rstrip("0").rstrip(".")


def share(value: float) -> str:
    """A part of a whole as a width, never outside of it."""
    return f"{max(0.0, min(1.0, value)) * 100:.2f}%"


def build_page(report: Mapping[str, Any]) -> str:
    """RETURNS (str): HTML of a report.json, complete in itself: no script, no other file."""
    # A label of the user's own that the profile does not name becomes its tag.
    known = report["actions"]
    actions = known | {row["label"]: known.get(row["label"], TAG) for row in report["spans"]}
    counts, roles, sources = (defaultdict[str, Counter[str]](Counter) for _ in range(3))
    for row in report["spans"]:
        counts[row["label"]][row["action"]] += row["count"]
        roles[row["label"]][row["role"]] += row["count"]
    for row in report["sources"]:
        sources[row["label"]][row["source"]] += row["count"]
    kept = {label: counts[label][KEEP] for label in report["actions"]}
    gone = {label: counts[label].total() - n for label, n in kept.items()}
    law = []
    for point, labels in _POINTS.items():
        n_gone, n_kept = (sum(n.get(name, 0) for name in labels) for n in (gone, kept))
        law.append([point, ", ".join(labels), n_gone, n_kept])
    skipped = []
    for code, n in sorted(Counter(row["code"] for row in report["skipped"]["records"]).items()):
        reason = str(getattr(Errors, code)).partition("] ")[2]
        skipped.append([code, re.sub(r"\{[^}]*\}", "…", reason), n])
    found = [
        [name, action, counts[name], roles[name], sources[name]] for name, action in actions.items()
    ]
    tables = {"law": law, "skipped": skipped, "found": found, "kept": kept, "gone": gone}
    env = Environment(
        loader=PackageLoader("pii_components", "resources/report"),
        autoescape=True,
        undefined=ChainableUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=["jinja2.ext.do"],
    )
    env.filters |= {"number": number, "share": share}
    page = env.get_template("audit.html").render(tables, r=report, unsure=UNSURE)
    return page.lstrip()


BOUNDS = (0.05, 0.02, 0.01, 0.005, 0.001)
_ERROR, _ROUND = 0.05, 1e-12
# How documents of a review were chosen.
AT_RANDOM, BY_RISK = "drawn at random", "shown by risk"


def hypergeometric_cdf(x: int, bad: int, drawn: int, documents: int) -> float:
    """RETURNS (float): Chance of at most `x` bad documents among those drawn, without putting back."""
    if x >= min(bad, drawn):
        return 1.0
    good, total = documents - bad, 0.0
    for i in range(max(0, drawn - good), x + 1):
        ways = _log_choose(bad, i) + _log_choose(good, drawn - i)
        total += math.exp(ways - _log_choose(documents, drawn))
    return min(1.0, total)


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def bad_documents(found: int, drawn: int, documents: int, *, error: float) -> tuple[int, int]:
    """How many of all documents are bad, if `found` of those drawn were: exact, by turning the
    hypergeometric test around. error (float): On each side. RETURNS (tuple): Fewest and most."""

    def is_enough(bad: int) -> bool:
        return not found or 1 - hypergeometric_cdf(found - 1, bad, drawn, documents) > error

    def is_too_many(bad: int) -> bool:
        return hypergeometric_cdf(found, bad, drawn, documents) <= error + _ROUND

    possible = range(found, documents - (drawn - found) + 1)
    least = bisect_left(possible, True, key=is_enough)
    over = bisect_left(possible, True, key=is_too_many)
    return possible[least], possible[over - 1]


def clopper_pearson(found: int, n: int, *, error: float) -> tuple[float, float]:
    """RETURNS (tuple): Bounds of a share (Clopper and Pearson 1934); `error` on each side."""
    beta = imported("scipy.stats", "an estimate per span", "corpus").beta
    low = beta.ppf(error, found, n - found + 1) if found else 0.0
    return float(low), float(beta.ppf(1 - error, found + 1, n - found) if found < n else 1.0)


def leak_estimate(
    *,
    reviewed: int,
    missed_in: int,
    documents: int,
    spans_missed: int | None = None,
    spans_there: int | None = None,
) -> dict[str, Any]:
    """What a review says of the whole release.

    reviewed (int): Documents that were read, drawn at random.
    missed_in (int): Of them, those with something personal left in clear.
    documents (int): Documents of the release.
    spans_missed, spans_there (int | None): In those read: personal spans left in clear, and all.
    RETURNS (dict): Per document and, if known, per span: `rate`, `interval_95` (2.5 % on each
        side), `upper_95` (5 % above).
    RAISES (PiiError): E586 for numbers that cannot be.
    """
    missed, there = (spans_missed or 0), (spans_there or 0)
    one_lacks = (spans_missed is None) != (spans_there is None)
    fewer = spans_missed is not None and not missed_in <= missed <= there * bool(missed_in)
    if one_lacks or fewer or not (0 <= missed_in <= reviewed <= documents and reviewed):
        raise PiiError(Errors.E586, reviewed=reviewed, missed=missed_in, documents=documents)
    least, most = bad_documents(missed_in, reviewed, documents, error=_ERROR / 2)
    upper = bad_documents(missed_in, reviewed, documents, error=_ERROR)[1]
    found: dict[str, Any] = {
        "documents": {
            "reviewed": reviewed,
            "with_a_miss": missed_in,
            "of": documents,
            "rate": missed_in / reviewed,
            "interval_95": [least / documents, most / documents],
            "upper_95": upper / documents,
            "at_most_in_release": upper,
            "method": "hypergeometric, exact, documents drawn without putting back",
        }
    }
    if there:
        found["spans"] = {
            "there": there,
            "missed": missed,
            "rate": missed / there,
            "interval_95": list(clopper_pearson(missed, there, error=_ERROR / 2)),
            "upper_95": clopper_pearson(missed, there, error=_ERROR)[1],
            "method": "binomial, exact (Clopper-Pearson), as if spans of one document were "
            "independent: truly it is wider",
        }
    return found


def documents_to_review(bound: float, *, documents: int, misses: int = 0) -> int | None:
    """RETURNS (int | None): How many documents to draw, so that with no more than `misses` bad ones
    among them at most the share `bound` of all is bad, at 95 %; None if no review can show that.
    RAISES (PiiError): E519, if the bound is not above 0 and below 1."""
    if not 0 < bound < 1:
        allowed = "a share above 0 and below 1, such as 0.01"
        raise PiiError(Errors.E519, value=bound, what="bound", allowed=allowed)
    bad = int(bound * documents + 1e-9) + 1
    if misses >= bad:
        return None
    return bisect_left(
        range(documents),
        True,
        key=lambda n: hypergeometric_cdf(misses, bad, n, documents) <= _ERROR + _ROUND,
    )


def review_plan(bounds: Sequence[float], *, documents: int, spans: int) -> list[dict[str, Any]]:
    """RETURNS (list[dict]): For each bound how many documents, or spans, must be seen."""
    rows = []
    for bound in bounds if documents else ():
        none, one = (documents_to_review(bound, documents=documents, misses=n) for n in (0, 1))
        see = math.ceil(math.log(_ERROR) / math.log1p(-bound))
        rows.append(
            {
                "bound": bound,
                "documents_if_none": none,
                "documents_if_one": one,
                "spans": see,
                "documents_for_spans": math.ceil(see * documents / spans) if see <= spans else None,
            }
        )
    return rows


def sample_records(
    n: int, *, documents: int, skipped: Sequence[int], n_skipped: int = 0, seed: int = 0
) -> list[int]:
    """RETURNS (list[int]): Numbers of `n` records drawn among those released, by seed; of all, if there are fewer.

    skipped (Sequence[int]): Numbers of records left out.
    n_skipped (int): How many there are, listed or not.
    RAISES (PiiError): E650, if not all left out are known.
    """
    left_out = set(skipped)
    if n_skipped > len(left_out):
        allowed = f"--id-map, since {len(left_out)} of {n_skipped} that were left out are listed"
        raise PiiError(Errors.E650, name="--sample", value=n, allowed=allowed)
    chance, drawn = random.Random(seed), set[int]()
    while len(drawn) < min(n, documents):
        number = chance.randrange(documents + len(left_out)) + 1
        drawn |= {number} - left_out
    return sorted(drawn)
