"""Proof of a run, for the file of an IRB or under FERPA (34 CFR 99.31(b)): digests, versions, what a review found and what that says of the
rest, and one page with all of it. Numbers, codes and labels; no text of anybody.

    leak_estimate(reviewed=300, missed_in=0, documents=5000)["documents"]["upper_95"]   # 0.0096: at most 48 of 5,000, at 95 %
    documents_to_review(0.01, documents=5000)                                           # 290 drawn at random, none with a miss
    sample_records(60, documents=5000, skipped=[17], seed=1)                            # numbers of records to review
    write_page(Path("report.html"), json.loads(Path("report.json").read_text()))

An estimate holds for documents that were drawn at random, not for those that were picked since they looked risky.
"""

import json
import math
import os
import platform
import random
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from hashlib import file_digest, sha256
from importlib import metadata
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import ZipFile

from jinja2 import ChainableUndefined, Environment, PackageLoader, Template, Undefined

from ..errors import Errors, PiiError
from ..files.documents import MAX_BYTES
from ..files.record import Source, open_binary
from ..files.sources import REPORT_NAME, files_below, is_hidden
from ..files.writers import replace_file
from ..labels import LABELS
from ..profiles import KEEP, Profile
from .run import UNSURE

if TYPE_CHECKING:
    from spacy.language import Language

BOUNDS = (0.05, 0.02, 0.01, 0.005, 0.001)
_MOST_LISTED = 200
_LIBRARIES = ("spacy", "thinc", "numpy", "onnxruntime", "torch")
_ERROR = 0.05
_GRID, _ROUND = 10**6, 1e-12
DASH = "–"
# How a report begins: OUTPUT may be a .json of any size.
_BEGIN = b'{\n  "program": "pii-edu"'
# What 34 CFR 99.3 calls personally identifiable, point by point, and the labels that look for it.
_POINTS = (
    ("(a) the student's name", ("NAME_STUDENT",)),
    ("(b) names of parents and other family members", ("NAME_CONNECTED",)),
    ("(c) address of the student or the family", ("STREET_ADDRESS",)),
    (
        "(d) personal identifiers, such as a student number",
        ("ID_NUM", "USERNAME", "EMAIL", "PHONE_NUM", "URL_PERSONAL"),
    ),
    (
        "(e) other indirect identifiers, such as date and place of birth",
        ("DATE", "AGE", "LOCATION"),
    ),
    (
        "(f) other information that is linkable to a student",
        ("NAME_INSTRUCTOR", "EDUCATION", "EMPLOYER", "OTHER"),
    ),
)


def hypergeometric_cdf(x: int, bad: int, drawn: int, documents: int) -> float:
    """RETURNS (float): Chance of at most `x` bad documents among `drawn` of `documents` with `bad` bad ones, drawn without putting back."""
    if x >= min(bad, drawn):
        return 1.0
    ways = _log_choose(documents, drawn)
    least = max(0, drawn - (documents - bad))
    terms = (
        _log_choose(bad, i) + _log_choose(documents - bad, drawn - i) - ways
        for i in range(least, x + 1)
    )
    return min(1.0, math.fsum(map(math.exp, terms)))


def binomial_cdf(x: int, n: int, p: float) -> float:
    """RETURNS (float): Chance of at most `x` in `n` where each comes with the probability `p`."""
    if x >= n or p <= 0:
        return 1.0
    terms = (
        _log_choose(n, i) + i * math.log(p) + (n - i) * math.log1p(-p)
        for i in range(x + 1)
        if p < 1
    )
    return min(1.0, math.fsum(map(math.exp, terms)))


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def bad_documents(found: int, drawn: int, documents: int, *, error: float) -> tuple[int, int]:
    """How many of all documents are bad, if `found` of those drawn were: exact, by turning the hypergeometric test around.

    error (float): On each side. RETURNS (tuple[int, int]): Fewest and most."""
    possible = range(found, documents - (drawn - found) + 1)
    least = bisect_left(
        possible,
        True,
        key=lambda bad: (
            not found or 1 - hypergeometric_cdf(found - 1, bad, drawn, documents) > error
        ),
    )
    over = bisect_left(
        possible,
        True,
        key=lambda bad: hypergeometric_cdf(found, bad, drawn, documents) <= error + _ROUND,
    )
    return possible[least], possible[over - 1]


def clopper_pearson(found: int, n: int, *, error: float) -> tuple[float, float]:
    """Bounds of a share (Clopper and Pearson 1934), to the outer millionth. error (float): On each side. RETURNS (tuple[float, float]): 0 to 1."""
    grid = range(_GRID)
    low = bisect_left(
        grid, True, key=lambda p: not found or 1 - binomial_cdf(found - 1, n, p / _GRID) > error
    )
    return max(0, low - 1) / _GRID, bisect_left(
        grid, True, key=lambda p: binomial_cdf(found, n, p / _GRID) <= error
    ) / _GRID


def leak_estimate(
    *,
    reviewed: int,
    missed_in: int,
    documents: int,
    spans_missed: int | None = None,
    spans_there: int | None = None,
) -> dict[str, Any]:
    """What a review says of the whole release.

    reviewed (int): Documents that were read, drawn at random. missed_in (int): Of them, those with something personal left in clear.
    documents (int): Documents of the release. spans_missed, spans_there (int | None): In those read: personal spans left in clear, and all.
    RETURNS (dict): Per document and, if known, per span: `rate`, `interval_95` (2.5 % on each side), `upper_95` (5 % above; what the rule
        of three comes near to). RAISES (PiiError): E586 for numbers that cannot be.
    """
    spans = (
        spans_missed is not None
        and spans_there is not None
        and 0 <= spans_missed <= spans_there
        and spans_missed >= missed_in
    )
    if not (0 <= missed_in <= reviewed <= documents and reviewed) or not (
        spans or spans_missed is spans_there is None
    ):
        raise PiiError(
            Errors.E586,
            reviewed=reviewed,
            missed=missed_in,
            documents=documents,
            spans=spans_missed,
            there=spans_there,
        )
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
    if spans_there and spans_missed is not None:
        found["spans"] = {
            "there": spans_there,
            "missed": spans_missed,
            "rate": spans_missed / spans_there,
            "interval_95": list(clopper_pearson(spans_missed, spans_there, error=_ERROR / 2)),
            "upper_95": clopper_pearson(spans_missed, spans_there, error=_ERROR)[1],
            "method": "binomial, exact (Clopper-Pearson), as if spans of one document were independent: truly it is wider",
        }
    return found


def documents_to_review(bound: float, *, documents: int, misses: int = 0) -> int | None:
    """RETURNS (int | None): How many documents to draw, so that with no more than `misses` bad ones among them at most the share `bound` of all is
    bad, at 95 %; None if no review can show that. RAISES (PiiError): E519, if the bound is not above 0 and below 1."""
    if not 0 < bound < 1:
        raise PiiError(
            Errors.E519,
            value=bound,
            what="bound",
            allowed="a share above 0 and below 1, such as 0.01",
        )
    bad = int(bound * documents + 1e-9) + 1
    if misses >= bad:
        return None
    return bisect_left(
        range(documents),
        True,
        key=lambda n: hypergeometric_cdf(misses, bad, n, documents) <= _ERROR + _ROUND,
    )


def review_plan(bounds: Sequence[float], *, documents: int, spans: int) -> list[dict[str, Any]]:
    """RETURNS (list[dict]): For each bound how many documents, or personal spans, must be seen. spans (int): Of the release."""
    rows = []
    for bound in bounds if documents else ():
        none, one = (documents_to_review(bound, documents=documents, misses=n) for n in (0, 1))
        see = math.ceil(math.log(_ERROR) / math.log1p(-bound))
        about = math.ceil(see * documents / spans) if see <= spans else None
        rows.append(
            {
                "bound": bound,
                "documents_if_none": none,
                "documents_if_one": one,
                "spans": see,
                "documents_for_spans": about,
            }
        )
    return rows


def sample_records(
    n: int, *, documents: int, skipped: Sequence[int], n_skipped: int = 0, seed: int = 0
) -> list[int]:
    """RETURNS (list[int]): Numbers of records drawn at random among those released, sorted; the same for the same seed.

    skipped (Sequence[int]): Numbers of records left out; n_skipped (int): How many there are, listed or not.
    RAISES (PiiError): E588, if there are fewer documents, or if not all that were left out are known."""
    left_out = set(skipped)
    if not 0 < n <= documents or n_skipped > len(left_out):
        raise PiiError(
            Errors.E588, n=n, documents=documents, skipped=n_skipped, listed=len(left_out)
        )
    chance, drawn = random.Random(seed), set[int]()
    while len(drawn) < n:
        number = chance.randrange(documents + len(left_out)) + 1
        drawn |= {number} - left_out
    return sorted(drawn)


def digest(path: Path, data: bytes | None = None) -> dict[str, Any]:
    """SHA-256 of a file, or of a folder or .zip file by file; no names. data (bytes | None): The content, where it came by standard input.

    RETURNS (dict): `sha256` and `bytes` of a file; of a folder or .zip `files`, and `sha256_of_list`, that of the sorted digests, one a line,
    which `find OUT -type f ! -name 'report.*' -exec sha256sum {} + | cut -c1-64 | sort | sha256sum` shows; the digests too, if they are few.
    RAISES (PiiError): E501."""
    out: dict[str, Any] = {}
    if data is not None or path.is_file():
        opened: Any = BytesIO(data) if data is not None else open_binary(path)
        with opened as file:
            out["sha256"] = file_digest(file, "sha256").hexdigest()
            out["bytes"] = file.seek(0, os.SEEK_END)
    if data is None and (path.is_dir() or path.suffix.lower() == ".zip"):
        found = _digests(path)
        listed = sorted(filter(None, found))
        out |= {"files": len(found), "files_not_hashed": found.count("")}
        out["sha256_of_list"] = sha256(
            "".join(f"{one}\n" for one in listed).encode("ascii")
        ).hexdigest()
        out |= {"sha256_of_files": listed} if len(listed) <= _MOST_LISTED else {}
    return out


def _digests(path: Path) -> list[str]:
    """Of each file of a folder or archive; empty for one that is never read (a link, a bomb, one that is locked) or cannot be."""
    out = []
    with ExitStack() as stack:
        if path.is_dir():
            files = [path / name for name in files_below(path)[0] if not is_hidden(name)]
            todo: list[tuple[Callable[[], Any], bool]] = [
                (partial(open, file, "rb"), file.is_file() and not file.is_symlink())
                for file in files
            ]
        else:
            archive = stack.enter_context(ZipFile(path))
            shown = (
                i
                for i in archive.infolist()
                if not (i.is_dir() or is_hidden(i.filename) or i.filename[:9] == "__MACOSX/")
            )
            most = [(i, min(MAX_BYTES, max(1 << 20, 200 * i.compress_size))) for i in shown]
            todo = [
                (partial(archive.open, i), not i.flag_bits & 1 and i.file_size <= limit)
                for i, limit in most
            ]
        for opened, is_read in todo:
            try:
                with opened() if is_read else BytesIO() as file:
                    out.append(file_digest(file, "sha256").hexdigest() if is_read else "")
            except Exception:  # of the system and of zipfile: they quote names
                out.append("")
    return out


def thresholds(nlp: "Language") -> dict[str, Any]:
    """RETURNS (dict): Numbers that the components decide by: those of `pii_ner` for each label, the settings of `pii_context`."""
    found = {
        name: (getattr(pipe, "cfg", None) or {}).get("thresholds")
        or (asdict(pipe.settings) if hasattr(pipe, "settings") else {})
        for name, pipe in nlp.pipeline
    }
    return {name: values for name, values in found.items() if values}


def provenance(
    nlp: "Language", profile: Profile, source: Source, out: Path, *, fingerprint: str
) -> dict[str, Any]:
    """What a report says beyond its counts. fingerprint (str): Of INPUT as it was read; another one has no digest."""
    try:
        unchanged = source.fingerprint() == fingerprint
    except OSError:
        unchanged = False
    found = {
        dist.name.lower(): dist.version
        for dist in metadata.distributions()
        if dist.name.lower() in _LIBRARIES
    }
    settings = profile.to_dict(private=False)
    actions = {label: profile.action(label) for label in LABELS} | {
        k: v for k, v in settings["actions"].items() if "/" in k
    }
    kept = (
        "scope",
        "locale",
        "header",
        "reserved",
        "strategy",
        "repeat",
        "pool",
        "length",
        "age_spread",
        "age_border",
    )
    return {
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": {"python": platform.python_version(), **dict(sorted(found.items()))},
        "components": list(nlp.pipe_names),
        "thresholds": thresholds(nlp),
        "actions": actions,
        "profile_description": profile.description,
        "profile_settings": {name: settings[name] for name in kept},
        "input": digest(source.path, getattr(source, "data", None)) if unchanged else None,
        "output": digest(out),
    }


def find_report(run: Path) -> tuple[Path, dict[str, Any]]:
    """RETURNS (tuple[Path, dict]): The report of a run, and what it says. run (Path): OUTPUT, or the report.

    One beside OUTPUT counts if it has OUTPUT's digest. RAISES (PiiError): E585."""
    beside = run.with_name(REPORT_NAME)
    for path in (
        (run / REPORT_NAME,)
        if run.is_dir()
        else (run, run.with_name(run.name + ".report.json"), beside)
    ):
        try:
            with open(path, "rb") as file:
                report = (
                    json.loads(_BEGIN + file.read()) if file.read(len(_BEGIN)) == _BEGIN else None
                )
        except (OSError, ValueError):
            continue
        mine = path != beside or run == beside
        if report and (
            mine
            or (
                run.is_file()
                and (report.get("output") or {}).get("sha256") == digest(run)["sha256"]
            )
        ):
            return path, report
    raise PiiError(Errors.E585, path=run)


def page_path(report: Path) -> Path:
    """RETURNS (Path): Where the page lies: beside the report, with its name."""
    return (
        report.with_suffix(".html")
        if report.suffix == ".json"
        else report.with_name(report.name + ".html")
    )


def report_text(report: Mapping[str, Any]) -> str:
    """RETURNS (str): JSON that people can read, too."""
    return json.dumps(report, indent=2, ensure_ascii=False) + "\n"


def write_report(path: Path, report: Mapping[str, Any]) -> None:
    """Write the report, and the page that shows it. RAISES (PiiError): E512."""
    replace_file(path, report_text(report))
    replace_file(page_path(path), build_page(report))


def number(value: Any) -> str:
    """Up to four digits after the point, as in the metrics files; a dash for None and for what is not there."""
    if value is None or isinstance(value, Undefined):
        return DASH
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if isinstance(value, int):
        return f"{value:,}".replace(",", "\u202f") if abs(value) >= 10_000 else str(value)
    return (
        f"{value:.4g}" if value and abs(value) < 0.001 else f"{value:.4f}".rstrip("0").rstrip(".")
    )


def share(value: float) -> str:
    """A part of a whole as a width, never outside of it."""
    return f"{max(0.0, min(1.0, value)) * 100:.2f}%"


def template(name: str) -> Template:
    """RETURNS (Template): One of resources/report (Jinja, which escapes everything)."""
    env = Environment(
        loader=PackageLoader("pii_components", "resources/report"),
        autoescape=True,
        undefined=ChainableUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=["jinja2.ext.do"],
    )
    env.filters |= {"number": number, "share": share}
    return env.get_template(name)


def build_page(report: Mapping[str, Any]) -> str:
    """RETURNS (str): HTML of a report.json, complete in itself: no script, no other file."""
    counts, roles, sources = (
        {label: Counter[str]() for label in report["actions"]} for _ in range(3)
    )
    for row in report["spans"]:
        counts[row["label"]][row["action"]] += row["count"]
        roles[row["label"]][row["role"]] += row["count"]
    for row in report["sources"]:
        sources[row["label"]][row["source"]] += row["count"]
    kept = {label: count[KEEP] for label, count in counts.items()}
    gone = {label: count.total() - kept[label] for label, count in counts.items()}
    law = [
        [point, ", ".join(labels), *(sum(n.get(name, 0) for name in labels) for n in (gone, kept))]
        for point, labels in _POINTS
    ]
    codes = Counter(row["code"] for row in report["skipped"]["records"])
    skipped = [
        [code, re.sub(r"\{[^}]*\}", "…", str(getattr(Errors, code))[7:]), n]
        for code, n in sorted(codes.items())
    ]
    found = [
        [name, action, counts[name], roles[name], sources[name]]
        for name, action in report["actions"].items()
        if name in counts
    ]
    tables = {"law": law, "skipped": skipped, "found": found, "kept": kept, "gone": gone}
    return template("audit.html").render(tables, r=report, unsure=UNSURE).lstrip()
