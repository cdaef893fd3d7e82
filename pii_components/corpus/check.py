"""Check the authored essays: `pii-edu corpus check assets`.

An essay is refused for a slot that is not of the format, for a front matter that is not, and for saying what another essay says (share
of common word trigrams). Names of people outside slots are what no format can see: pairs of words that the name table knows as a given name
and a surname are listed for the eye, and so are strings that a pattern takes for an e-mail address or a phone number. The same pairs in
`assets/accepted_names.txt` are public names of things ("Franklin Street") and are not listed again.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path

from ..errors import Errors, PiiError
from ..labels import DETAIL_LABELS, INDIRECT_LABELS, NAME_CHARACTER, NAME_CITED, NAME_CONNECTED, NAME_INSTRUCTOR, NAME_STUDENT
from ..surrogates.names import NameTable, name_table
from .templates import Template, iter_words, read_fragments, template_files

PRIVATE_LABELS = frozenset((NAME_STUDENT, NAME_INSTRUCTOR, NAME_CONNECTED, *DETAIL_LABELS, *INDIRECT_LABELS))
PUBLIC_LABELS = frozenset((NAME_CITED, NAME_CHARACTER))
# Two different essays of ours share under 2 in 100 of the shorter one's trigrams; one that is another with new names shares most.
NEAR = 0.2
_PAIR = re.compile(r"(?<![.!?:\n\"] )(?<![\w'])([A-Z][a-z]+) ([A-Z][a-z]+)\b")
_CONTACT = re.compile(r"[\w.+-]+@[\w-]+\.[a-z]{2,}|\(\d{3}\) ?\d{3}-\d{4}")


@dataclass(slots=True)
class Findings:
    """What the check found.

    essays (int): Essays that could be read. clean (int): Essays without a slot for a private person or detail.
    labels (Counter[str]): Essays in which each label occurs. slots (Counter[str]): Slots of each label.
    broken (list[PiiError]): Why an essay could not be read. near (list[tuple[str, str, float]]): Two ids and the share that they have in common.
    names (dict[str, list[str]]): Per essay, what looks like a name or a contact detail outside slots.
    """

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
        return bool(self.broken or self.near)


def trigrams(template: Template) -> frozenset[tuple[str, ...]]:
    """RETURNS (frozenset[tuple[str, ...]]): Every three words in a row, outside slots, lower case."""
    words = list(iter_words(template.parts))
    return frozenset(tuple(words[i : i + 3]) for i in range(len(words) - 2))


def find_near(templates: Sequence[Template], *, least: float = NEAR) -> list[tuple[str, str, float]]:
    """Essays that say the same.

    templates (Sequence[Template]): The essays. least (float): Share of the shorter one's trigrams, 0 to 1, from which a pair is reported.
    RETURNS (list[tuple[str, str, float]]): Two ids and the share, most alike first.
    """
    grams = [trigrams(template) for template in templates]
    holders: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for n, found in enumerate(grams):
        for gram in found:
            holders[gram].append(n)
    common = Counter(pair for found in holders.values() for pair in combinations(found, 2))
    near = []
    for (a, b), n in common.items():
        share = n / max(1, min(len(grams[a]), len(grams[b])))
        if share >= least:
            near.append((templates[a].id, templates[b].id, share))
    return sorted(near, key=lambda pair: (-pair[2], pair))


def find_names(template: Template, table: NameTable, *, accepted: Iterable[str] = ()) -> list[str]:
    """What looks like a private name or a contact detail and stands outside slots.

    template (Template): An essay. table (NameTable): Known given names and surnames. accepted (Iterable[str]): Pairs that are no private names.
    RETURNS (list[str]): The strings, in order.
    """
    known = set(accepted)
    found = []
    for part in template.parts:
        if not isinstance(part, str):
            continue
        for match in _PAIR.finditer(part):
            if table.is_given(match[1]) and table.is_surname(match[2]) and match[0] not in known:
                found.append(match[0])
        found += [match[0] for match in _CONTACT.finditer(part) if match[0] not in known]
    return found


def check(assets: Path) -> Findings:
    """Check every essay and fragment in a folder.

    assets (Path): A folder with essays/, scenes/ and fragments/ (assets/ESSAY_FORMAT.md).
    RETURNS (Findings): What was found.
    RAISES (PiiError): E603, if there are no essays; E501, E601 for a fragment.
    """
    files = template_files(assets)
    if not files:
        raise PiiError(Errors.E603, path=str(assets))
    list_path = assets / "accepted_names.txt"
    accepted = list_path.read_text("utf8").splitlines() if list_path.is_file() else []
    read_fragments(assets)
    findings, table, templates = Findings(), name_table(), []
    for read in files.values():
        try:
            templates += read()
        except PiiError as err:
            findings.broken.append(err)
    for template in templates:
        labels = [slot.label for slot in template.slots]
        findings.slots.update(labels)
        findings.labels.update(set(labels))
        findings.clean += not PRIVATE_LABELS & set(labels)
        if names := find_names(template, table, accepted=accepted):
            findings.names[template.id] = names
    findings.essays = len(templates)
    findings.near = find_near(templates)
    return findings
