"""Predictions in a file: offsets and labels, so that a slow system runs once and a published one can be compared.

    write_run(run, Path("presidio.jsonl"), data_sha256="…")
    run = read_run(Path("presidio.jsonl"), documents, data_sha256="…", name="presidio")

The first line says which system and which data; each other line is a document: `{"document": "7", "spans": [[0, 9,
"NAME_STUDENT"]]}`. There is no text in it; texts come back from the gold file, whose checksum must be the same.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..corpus.records import reason_of
from ..errors import Errors, PiiError
from .records import GoldDocument
from .systems import Run, entity_of


def write_run(run: Run, path: Path, *, data_sha256: str) -> None:
    """Write predictions.

    run (Run): What a system found. path (Path): A .jsonl file; folders are made. data_sha256 (str): Checksum of the
    gold file.
    RAISES (PiiError): E512, if that fails.
    """
    head = {
        "system": run.name, "about": dict(run.about), "data_sha256": data_sha256, "protected": sorted(run.protected),
        "seconds": round(run.seconds, 6), "cpu_seconds": round(run.cpu_seconds, 6), "words": run.words,
    }  # fmt: skip
    spans: dict[str, list[tuple[int, int, str]]] = {}
    for entity in run.entities:
        spans.setdefault(entity.document, []).append((entity.start, entity.end, entity.label))
    lines = [head, *({"document": document, "spans": found} for document, found in spans.items())]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf8")
    except OSError as err:
        raise PiiError(Errors.E512, what=path.name, reason=reason_of(err)) from err


def read_run(path: Path, documents: Sequence[GoldDocument], *, data_sha256: str, name: str = "") -> Run:
    """Read predictions.

    path (Path): The file. documents (Sequence[GoldDocument]): Gold, for the texts; predictions of other documents
    are left out.
    data_sha256 (str): Checksum of the gold file. name (str): Another name for the system.
    RETURNS (Run): With `stored` set. RAISES (PiiError): E501 if it cannot be read, E705 if it does not fit the gold
    file.
    """
    try:
        head, *lines = (json.loads(line, object_pairs_hook=once) for line in path.read_text(encoding="utf8").splitlines())
        if head["data_sha256"] != data_sha256:
            raise PiiError(Errors.E705, file=path.name, reason="another checksum")
        by_id = {doc.id: doc for doc in documents}
        entities = [
            entity_of(by_id[line["document"]], start, end, label)
            for line in lines
            if line["document"] in by_id
            for start, end, label in line["spans"]
        ]
        return Run(
            name=name or head["system"],
            about=head["about"],
            entities=tuple(entities),
            protected=frozenset(head["protected"]),
            seconds=head["seconds"],
            cpu_seconds=head["cpu_seconds"],
            words=head["words"],
            stored=True,
        )
    except OSError as err:
        raise PiiError(Errors.E501, what=path.name, reason=reason_of(err)) from err
    except (KeyError, TypeError, ValueError) as err:
        if isinstance(err, PiiError):
            raise
        raise PiiError(Errors.E705, file=path.name, reason="not of this form") from err


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """RETURNS (dict[str, Any]): An object of JSON. RAISES (ValueError): A key is there twice: which one counts, nobody knows."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError
    return found
