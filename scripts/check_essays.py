"""Check the authored essays (assets/ESSAY_FORMAT.md): format, slots without a label, near-duplicates, names outside of slots.

    python -m scripts.check_essays assets

Exit codes: 0 every text can be used; 1 one is broken, says what another one says, or names somebody outside of its slots.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer

from pii_components.corpus.clean import TrigramHasher, duplicates_of
from pii_components.corpus.templates import (
    Template,
    essay_files,
    read_file,
    read_fragments,
)
from pii_components.errors import Errors, PiiError
from pii_components.labels import NAME_CHARACTER, NAME_CITED
from pii_components.names.table import NameTable, name_table
from scripts.annotations import half_of

# Two short texts of ours are alike by .31 at most; an essay that is another with new names by far more.
NEAR = 0.4
_PAIR = re.compile(r"(?<![.!?:\n\"] )(?<![\w'])([A-Z][a-z]+) ([A-Z][a-z]+)\b")
_CONTACT = re.compile(r"[\w.+-]+@[\w-]+\.[a-z]{2,}|\(\d{3}\) ?\d{3}-\d{4}")


@dataclass(slots=True)
class Findings:
    """What the check found: essays that could be read, those without a slot for a private person or detail, essays and slots of each label,
    why an essay could not be read, pairs that are alike, and per essay what looks like a name or a contact detail outside slots."""

    essays: int = 0
    clean: int = 0
    labels: Counter[str] = field(default_factory=Counter)
    slots: Counter[str] = field(default_factory=Counter)
    broken: list[PiiError] = field(default_factory=list)
    near: list[tuple[str, str, float]] = field(default_factory=list)
    names: dict[str, list[str]] = field(default_factory=dict)

    @property
    def failed(self) -> bool:
        """RETURNS (bool): Whether an essay must be mended before it can be used."""
        return bool(self.broken or self.near or self.names)


def find_near(templates: Sequence[Template]) -> list[tuple[str, str, float]]:
    """RETURNS (list[tuple[str, str, float]]): Ids of essays that are alike outside slots, and the cosine of their trigrams; without the short texts
    of one file that are alike on purpose, one with somebody private and one with somebody cited or invented (`half_of`)."""
    hashed = TrigramHasher()
    texts = (" ".join(x for x in one.parts if isinstance(x, str)) for one in templates)
    found = duplicates_of(map(hashed, texts), threshold=NEAR, highest=False).pairs
    pairs = ((templates[a].id, templates[b].id, share) for a, b, share in found)
    return [
        (a, b, share)
        for a, b, share in pairs
        if not half_of(a) or a.partition("_")[0] != b.partition("_")[0]
    ]


def find_names(template: Template, table: NameTable) -> list[str]:
    """RETURNS (list[str]): What looks like a private name or a contact detail outside slots, in order."""
    found = []
    for part in template.parts:
        if not isinstance(part, str):
            continue
        found += [
            match[0]
            for match in _PAIR.finditer(part)
            if table.is_given(match[1]) and table.is_surname(match[2])
        ]
        found += [match[0] for match in _CONTACT.finditer(part)]
    return found


def check(assets: Path) -> Findings:
    """RETURNS (Findings): Of every essay and fragment in a folder with essays/, scenes/ and fragments/ (assets/ESSAY_FORMAT.md).

    RAISES (PiiError): E501, if there are no essays; E501, E601 for a fragment.
    """
    files = essay_files(assets)
    if not files:
        raise PiiError(Errors.E501, what=f"'{assets}'", reason="it holds no essays")
    list_path = assets / "accepted_names.txt"
    accepted = set(list_path.read_text("utf8").splitlines() if list_path.is_file() else ())
    read_fragments(assets)
    findings, templates = Findings(), []
    for path in files:
        try:
            templates += read_file(path)
        except PiiError as err:
            findings.broken.append(err)
    for template in templates:
        found = [slot.label for slot in template.slots]
        findings.slots.update(found)
        findings.labels.update(set(found))
        findings.clean += {NAME_CITED, NAME_CHARACTER}.issuperset(found)
        if names := [name for name in find_names(template, name_table()) if name not in accepted]:
            findings.names[template.id] = names
    findings.essays = len(templates)
    findings.near = find_near(templates)
    return findings


def main(folder: Annotated[Path, typer.Argument(help="Folder with essays/ and scenes/.")]) -> None:
    """Print what must be mended, and how often each label occurs."""
    found = check(folder)
    for err in found.broken:
        print(err)
    for first, second, share in found.near:
        print(f"{first} and {second} are alike: cosine of trigrams {share:.2f}")
    for ident, values in found.names.items():
        print(f"{ident}: {' | '.join(values)}")
    print(f"{found.essays} essays, {found.clean} of them without private people and details")
    for label, n in sorted(found.slots.items()):
        print(f"{label}: {n} slots in {found.labels[label]} essays")
    raise typer.Exit(found.failed)


if __name__ == "__main__":
    typer.run(main)
