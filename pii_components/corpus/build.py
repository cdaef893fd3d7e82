"""From essays with slots to DocBins: `pii-edu corpus build assets --out corpus`.

The essays that ship are always used; PERSUADE and other carriers in assets/persuade/ and real CRAPII in assets/crapii/ where the user
has put them. A template, a carrier or a fragment is in one of train, dev and test only, by a hash of its id: no essay is scored on
another filling of itself.
"""

import hashlib
import json
import logging
import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc, DocBin, Span

from ..errors import Errors, PiiError
from ..files.formats.tokens import blank_pipeline
from ..labels import DETAIL_LABELS, NAME_CONNECTED, NAME_STUDENT, USERNAME, is_name
from ..names import resource
from ..names.table import NameTable, name_table
from ..ner.loss import ANNOTATED, UNLABELLED_KEY
from ..spans import SPANS_KEY
from .noise import DocumentNoise, Noisy, curly, hard_negative, native_sentence
from .people import Person, invent_person, is_linked
from .split import CRAPII_DOCUMENTS, paper_split
from .templates import (
    Filled,
    Part,
    Piece,
    Slot,
    Template,
    read_fragments,
    read_rows,
    read_templates,
)

logger = logging.getLogger(__name__)

# Fill the slots of essays with invented people: one essay, many training documents, exact labels.

Counts = dict[str, dict[str, int]]
# Share of the cited authors who have the surname of the student: the name alone does not tell the two apart.
_SAME_SURNAME = 0.05


class Tally(Counter[tuple[str, str]]):
    """How often each label, role, form, region and the like was filled in: (kind, value) -> times."""

    def to_dict(self) -> Counts:
        """RETURNS (Counts): Sorted by kind, most frequent value first."""
        found: defaultdict[str, dict[str, int]] = defaultdict(dict)
        for kind, value in sorted(self, key=lambda key: (key[0], -self[key], key[1])):
            found[kind][value] = self[kind, value]
        return dict(found)


class TemplateFiller:
    """Fills slots; one person per `who`, as long as the filler lives.

    genders (Mapping[str, str]): "m", "f" or "x" per person.
    noise (float): Share of the mentions and details that have noise of their own, 0 to 1.
    style (float): Probability that all names of the text have the same noise, 0 to 1.
    tally (Tally | None): Counts what is filled in, for the report.
    """

    def __init__(
        self,
        table: NameTable,
        rng: random.Random,
        *,
        genders: Mapping[str, str] | None = None,
        noise: float = 0.0,
        style: float = 0.0,
        tally: Tally | None = None,
    ) -> None:
        self.table = table
        self.rng = rng
        self.genders = dict(genders or {})
        self.tally = tally if tally is not None else Tally()
        self.people: dict[str, Person] = {}
        # A student who writes a name in lower case does so each time; CRAPII's 4,393 of 4,394 Title
        # Case names teach none of this.
        case = rng.choices(("", "upper", "lower"), (0.86, 0.08, 0.06))[0]
        # To train on, the case must not tell the student: there it is one of the styles, which
        # everybody in the text shares.
        self.case = "" if noise or style else case
        self.noise = DocumentNoise(rng, noise=noise, style=style)
        if style:
            self.tally["style", self.noise.style or "none"] += 1

    def person(self, who: str) -> Person:
        """RETURNS (Person): The person of a slot; two people share no name, but an author at times has the student's surname."""
        if who in self.people:
            return self.people[who]
        taken = frozenset(part for p in self.people.values() for part in (p.first, p.last))
        student = self.people.get("student")
        surname = ""
        if student and who.startswith("cited") and self.rng.random() < _SAME_SURNAME:
            surname = student.last
            self.tally["hard negative", "author with the student's surname"] += 1
        gender = self.genders.get(who, "x")
        person = invent_person(self.rng, self.table, gender=gender, avoid=taken, surname=surname)
        self.people[who] = person
        self.tally["region", person.region] += 1
        return person

    def fill(self, parts: Iterable[Part]) -> Filled:
        """RETURNS (Filled): Text and slots in order, a span for each slot; an age goes with its unit."""
        pieces: list[Piece] = []
        for part in parts:
            if isinstance(part, str):
                pieces.append((part, ""))
                continue
            noisy = self._value(part)
            self.tally["label", part.label] += 1
            if part.role and is_name(part.label):
                self.tally["role", part.role] += 1
            self.tally["form", f"{part.what} {part.case}".strip()] += 1
            pieces += [(noisy.before, ""), (noisy.text, part.label), (noisy.after, "")]
        return Filled("").with_pieces(pieces).with_units()

    def _value(self, slot: Slot) -> Noisy:
        value = slot.text if slot.what == "literal" else self._detail(slot)
        noisy = self.noise.mention(value, slot)
        if noisy.kind:
            what = "name" if is_name(slot.label) else slot.label
            self.tally["noise", f"{what}: {noisy.kind}"] += 1
            if slot.role:
                self.tally["noisy role", slot.role] += 1
        return noisy

    def _detail(self, slot: Slot) -> str:
        of_student = slot.role == "STUDENT" and is_name(slot.label) and not slot.case
        if of_student and self.case and self.rng.random() < 0.8:
            slot = replace(slot, case=self.case)
        person = self.person(slot.who)
        value = person.render(slot, self.rng)
        if slot.what in ("email", "username", "url"):
            linked = "yes" if is_linked(value, person.first, person.last) else "no"
            self.tally["linked to the name", f"{slot.what}: {linked}"] += 1
        return value


# What student files look like: kind -> how often, and what becomes of the text between spans.
_LAYOUTS: dict[str, tuple[int, Callable[[str], str]]] = {
    "none": (39, str),
    "run together": (8, lambda piece: re.sub(r"(?<=[a-z][.,;])[ ](?=[A-Z])", "", piece)),
    "flat": (13, lambda piece: re.sub(r"[ \t]*\n+[ \t]*", "  ", piece)),
    "double lines": (22, lambda piece: re.sub(r"(?<!\n)\n(?!\n)", "\n\n", piece)),
    "lower": (5, str.lower),
    "upper": (2, str.upper),
    "no stops": (3, lambda piece: re.sub(r"[.,](?=\s)", "", piece)),
    # What is left of justified text in a word processor's file.
    "wide": (2, lambda piece: piece.replace(" ", "\t\r \u00a0")),
    "curly": (6, curly),
}


def add_layout_noise(filled: Filled, rng: random.Random) -> Filled:
    """RETURNS (Filled): A text as student files are, or as it was.

    The spans stay; where the text changes its case, they do so too.
    """
    kind = rng.choices(list(_LAYOUTS), [share for share, _ in _LAYOUTS.values()])[0]
    change = _LAYOUTS[kind][1]
    if kind not in ("lower", "upper"):
        return filled.map_prose(change)
    text = change(filled.text)
    return replace(filled, text=text) if len(text) == len(filled.text) else filled


_BREAKS = re.compile(r"\n+|(?<=[.!?])\s+(?=[A-Z\"'(])")


def crop(filled: Filled, rng: random.Random, *, least: int = 350, most: int = 1050) -> list[Filled]:
    """RETURNS (list[Filled]): A text cut into stretches of so many characters that end at a line or
    sentence; the last may be shorter."""
    breaks = [m.end() for m in _BREAKS.finditer(filled.text)]
    length, pieces, start = len(filled.text), [], 0
    while start < length:
        want = start + rng.randint(least, most)
        fitting = [place for place in breaks if start + least // 2 < place <= want]
        end = fitting[-1] if fitting else min(want, length)
        if length <= want + 150:
            end = length
        pieces.append(filled.cut(start, end))
        start = end
    return pieces


# PERSUADE and other essays whose publishers put marks where names were: real writing, invented people.

_MARKS = resource("corpus/carriers")
_MARK = re.compile(r"\b(" + "|".join(mark for table in _MARKS.values() for mark in table) + r")\b")
_ANY_MARK = re.compile(
    r"\b[A-Z]+(?:_[A-Z]+)+\b|\bGeneric_[A-Z][a-z]+\b|[<\[][A-Za-z_ ]*(?:name|url|link|URL)[A-Za-z_ ]*[>\]]"
)
_SIGNED = re.compile(
    r"(?:incerely|egards|ruly|student|hank you|thanks|love)[^\n]{0,15}\n*\s*[-,]*\s*(?:PROPER_NAME|Generic_Name)\W*$",
    re.I,
)
_ADDRESSED = re.compile(r"(?:M[rs]{1,2}s?|Dr|Prof\w*|Principal)\.?\s*$")
_TITLE_PAIR = re.compile(r"(?<![.!?\n] )(?<!^)\b([A-Z][a-z]+) ([A-Z][a-z]+)\b")


def iter_persuade(path: Path) -> Iterator[tuple[str, str]]:
    """YIELDS (tuple[str, str]): Id and text of each essay in a (gzipped) JSONL file with fields `id` and `text`.

    A row with a `label` of its own is no carrier and is left out: it holds people whom nobody replaced by marks.
    """
    for row in read_rows(path):
        if "label" not in row and "labels" not in row:
            ident = str(row.get("id", row.get("essay_id", "")))
            yield ident, row.get("text", row.get("full_text", ""))


def to_parts(text: str, rng: random.Random) -> tuple[Part, ...]:
    """RETURNS (tuple[Part, ...]): An essay, its marks turned into slots; empty if there is a mark that
    this module does not know."""
    # The marks of a language model.
    text = text.replace("<personal_name>", "STUDENT_NAME")
    text = text.replace("<personal_url>", "PERSONAL_URL_HERE")
    parts: list[Part] = []
    at, character = 0, 0
    signed = _SIGNED.search(text)
    for match in _MARK.finditer(text):
        mark = match[1]
        parts.append(text[at : match.start()])
        at = match.end()
        if mark in _MARKS["places"]:
            label, names = _MARKS["places"][mark]
            name = rng.choice(names)
            parts.append(Slot(label, "literal", "", name) if label else name)
            continue
        if mark in _MARKS["details"]:
            parts.append(Slot("student", _MARKS["details"][mark]))
            continue
        who = _MARKS["people"][mark]
        if signed and signed.start() < match.start() and signed.end() >= match.end():
            who = "student"
        elif who == "character":
            # Stories name a handful of people with one mark: mostly the same one goes on, at times
            # another comes.
            character = rng.choices((character, rng.randint(0, 3)), (0.6, 0.4))[0]
            who = f"character{character + 1}"
        parts.append(Slot(who, _form_of(who, text[: match.start()], rng)))
    parts.append(text[at:])
    if any(isinstance(part, str) and _ANY_MARK.search(part) for part in parts):
        return ()
    return tuple(part for part in parts if part != "")


def _form_of(who: str, before: str, rng: random.Random) -> str:
    """How a person is called where a mark stands."""
    what = rng.choices(("first", "full", "last"), (0.75, 0.2, 0.05))[0]
    if who == "student":
        forms = ("full", "first", "initial_last", "middle")
        what = rng.choices(forms, (0.6, 0.3, 0.05, 0.05))[0]
    elif who == "instructor":
        what = "last" if _ADDRESSED.search(before) else rng.choice(("full", "last", "first"))
    return what


def fill_carrier(
    text: str,
    table: NameTable,
    rng: random.Random,
    *,
    noise: float = 0.0,
    style: float = 0.0,
    tally: Tally | None = None,
) -> Filled | None:
    """Fill an essay's marks; what looks like the name of somebody else is left unlabelled.

    RETURNS (Filled | None): None for an essay with marks of another kind.
    """
    parts = to_parts(text, rng)
    if not parts:
        return None
    filler = TemplateFiller(table, rng, noise=noise, style=style, tally=tally)
    filled = filler.fill(parts).map_prose(filler.noise.prose)
    apart = []
    for match in _TITLE_PAIR.finditer(filled.text):
        start, end = match.span()
        inside = any(s < end and e > start for s, e, _ in filled.spans)
        if not inside and table.is_given(match[1]) and table.is_surname(match[2]):
            apart.append((start, end))
    return Filled(filled.text, filled.spans, tuple(apart))


Blocks = dict[str, list[tuple[Part, ...]]]
SPLITS = ("train", "dev", "test")
# What may be set into an essay, and how often (share of the documents). Two thirds of what results holds no student's name: real
# essays hold one in 15 of 100, and a detector that expects one in each sees one in each.
_INSIDE = {
    "selfintro": 0.12,
    "connected": 0.18,
    "cited": 0.15,
    "characters": 0.08,
    "negatives": 0.20,
    "contacts": 0.13,
}
_HARD_NEGATIVE = 0.2
_NATIVE_WORDS = 0.06
# What CRAPII's annotators marked (seeds/crapii_paper.txt, 2.2): of people's names the students' only, classmates' among them. An author's
# name there is not outside of everything, it is only no student's.
CRAPII_ANNOTATED = {
    NAME_STUDENT: [NAME_STUDENT, NAME_CONNECTED],
    **{label: [label] for label in DETAIL_LABELS},
}


@dataclass(frozen=True, slots=True)
class Recipe:
    """How much of what goes into a split.

    fillings (int): Times that each essay of ours is filled. clean_share (float): Share of the stretches without labels that is kept.
    carriers (int): Carriers with marks at most. clean_carriers (int): Carriers without marks at most.
    whole (bool): Whole texts, neither changed in layout nor cut: for dev and test.
    cut (bool): Whether texts that are changed in layout are cut into stretches, too.
    noise (float): Share of the mentions and details that have noise of their own.
    style (float): Share of the texts in which all names have the same noise.
    """

    fillings: int
    clean_share: float
    carriers: int
    clean_carriers: int
    whole: bool = False
    cut: bool = True
    noise: float = 0.0
    style: float = 0.0


RECIPES = {
    "train": Recipe(
        fillings=6, clean_share=0.45, carriers=1000, clean_carriers=2500, noise=0.05, style=0.17
    ),
    "dev": Recipe(fillings=2, clean_share=1.0, carriers=40, clean_carriers=40, whole=True),
    "test": Recipe(fillings=2, clean_share=1.0, carriers=40, clean_carriers=40, whole=True),
}


def split_of(key: str) -> str:
    """RETURNS (str): "train" (80 %), "dev" (10 %) or "test" (10 %), by SHA-256 of the key."""
    n = int.from_bytes(hashlib.sha256(key.encode("utf8")).digest()[:4], "big") % 10
    return {0: "dev", 1: "test"}.get(n, "train")


def rng_for(seed: int, *parts: object) -> random.Random:
    """RETURNS (random.Random): Determined by the seed and the parts, not by the order of calls or the process."""
    text = "|".join(map(str, (seed, *parts)))
    return random.Random(hashlib.sha256(text.encode("utf8")).digest())


def add_header(
    filled: Filled, filler: TemplateFiller, blocks: Blocks, rng: random.Random, *, header: float
) -> Filled:
    """RETURNS (Filled): A text with a head, a sign-off under it, and sentences of other kinds in it.

    blocks (Blocks): Fragments by kind.
    header (float): Probability of a head with the student's name.
    """
    for kind, share in _INSIDE.items():
        places = filled.stops(at_end=False)
        if places and blocks.get(kind) and rng.random() < share:
            addition = filler.fill(rng.choice(blocks[kind]))
            gap = "\n\n" if "\n" in addition.text else rng.choice((" ", " ", "\n\n", "\n"))
            after = "\n" if "\n" in gap else ""
            filled = filled.put(Filled(gap) + addition + Filled(after), rng.choice(places))
            filler.tally["set in", kind] += 1
    places = filled.stops(at_end=False)
    if places and rng.random() < _HARD_NEGATIVE:
        sentence, kind = hard_negative(rng)
        at = rng.choice(places)
        filled = filled.put(Filled(rng.choice((" ", " ", "\n")) + sentence), at)
        filler.tally["hard negative", kind] += 1
    draw = rng.random()
    if draw < header and blocks.get("headers"):
        joint = rng.choice(("\n", "\n", "\n\n", "\n\n", "\n\n\n", "  ", " \n"))
        filled = filler.fill(rng.choice(blocks["headers"])) + Filled(joint) + filled
        filler.tally["set in", "headers"] += 1
    elif draw < header + 0.3 and blocks.get("headers_clean"):
        clean = filler.fill(rng.choice(blocks["headers_clean"]))
        filled = clean + Filled(rng.choice(("\n", "\n\n", "  "))) + filled
    if rng.random() < header / 4 and blocks.get("signoffs"):
        joint = rng.choice(("\n\n", "\n"))
        filled = filled + Filled(joint) + filler.fill(rng.choice(blocks["signoffs"]))
        filler.tally["set in", "signoffs"] += 1
    return filled


def _add_prose_noise(filled: Filled, filler: TemplateFiller, recipe: Recipe) -> Filled:
    """Noise between names, too, and to train on, here and there, a word of another script that is no
    name: a detector that never saw such a word takes each for a name."""
    filled = filled.map_prose(filler.noise.prose)
    if not recipe.style or filler.rng.random() >= _NATIVE_WORDS:
        return filled
    places = filled.stops(at_end=False)
    if not places:
        return filled
    filler.tally["hard negative", "word of another script"] += 1
    sentence = Filled(" " + native_sentence(filler.rng))
    return filled.put(sentence, filler.rng.choice(places))


def _pieces(filled: Filled, rng: random.Random, recipe: Recipe) -> Iterator[Filled]:
    if recipe.whole:
        yield filled
        return
    filled = add_layout_noise(filled, rng)
    for piece in crop(filled, rng) if recipe.cut else [filled]:
        if piece.text.strip() and (piece.direct or rng.random() < recipe.clean_share):
            yield piece


def _styled_turns(template: Template, recipe: Recipe, seed: int) -> set[int]:
    """RETURNS (set[int]): Which fillings have a writer's style.

    Each essay has one as often as every other: by lot, essays with a crowd of one role would teach
    that noise goes with that role.
    """
    turn = 1.0 / recipe.style
    first = rng_for(seed, template.id, "habit").random() * turn
    return {int(first + turn * i) for i in range(recipe.fillings)}


def from_essays(
    templates: Iterable[Template],
    blocks: Blocks,
    recipe: Recipe,
    table: NameTable,
    seed: int,
    tally: Tally | None = None,
) -> Iterator[Filled]:
    """YIELDS (Filled): Our own essays, each filled several times.

    An essay that names its writer gets no other head.
    """
    for template in templates:
        named = any(slot.who == "student" for slot in template.slots)
        turns = _styled_turns(template, recipe, seed) if recipe.style else set()
        by_turns = recipe.style and recipe.fillings >= 1.0 / recipe.style
        for n in range(recipe.fillings):
            rng = rng_for(seed, template.id, n)
            filler = TemplateFiller(
                table,
                rng,
                genders=template.genders,
                noise=recipe.noise,
                style=float(n in turns) if by_turns else recipe.style,
                tally=tally,
            )
            filled = filler.fill(template.parts)
            if n or not recipe.whole:
                header = 0.08 if named else 0.35
                filled = add_header(filled, filler, blocks, rng, header=header)
            yield from _pieces(_add_prose_noise(filled, filler, recipe), rng, recipe)


def from_carriers(
    path: Path, split: str, blocks: Blocks, recipe: Recipe, seed: int, tally: Tally
) -> Iterator[Filled]:
    """YIELDS (Filled): Essays of a JSONL file, marks filled; those without marks with something set into them."""
    left = {True: recipe.carriers, False: recipe.clean_carriers}
    how: dict[str, Any] = {"noise": recipe.noise, "style": recipe.style}
    model_written = "llm" in path.name  # few, but on the very assignment: filled twice
    rows = list(enumerate(iter_persuade(path)))
    for n, (key, text) in rows * (2 if model_written and not recipe.whole else 1):
        if split_of(f"{path.name}|{key}|{n}") != split or not any(left.values()):
            continue
        rng = rng_for(seed, path.name, key, n, *left.values())
        counts = Tally()
        filled = fill_carrier(text, name_table(), rng, tally=counts, **how)
        if filled is None or not left[filled.direct]:
            continue
        left[filled.direct] -= 1
        tally.update(counts)
        if model_written or not filled.direct:
            if not recipe.whole and not model_written:
                # One stretch of each, so that the budget goes to many writers.
                filled = rng.choice(crop(filled, rng, least=500, most=1050)[:4])
            filler = TemplateFiller(name_table(), rng, tally=tally, **how)
            header = 0.45 if model_written else 0.2
            filled = add_header(filled, filler, blocks, rng, header=header)
            filled = _add_prose_noise(filled, filler, recipe)
        yield from _pieces(filled, rng, recipe)


def from_crapii(path: Path, split: str) -> Iterator[Filled]:
    """YIELDS (Filled): Real labelled essays in CRAPII's JSON or JSONL form, whole, in the part where the JEDM paper has them."""
    from ..files.labelled import read_corpus

    for text in read_corpus(path, "kaggle"):
        if crapii_splits().get(text.id, "test") == split:
            yield Filled(text.text, tuple(text.spans), tuple(text.masked), CRAPII_ANNOTATED)


@cache
def crapii_splits() -> dict[str, str]:
    """RETURNS (dict[str, str]): Number of an essay in CRAPII -> "train" for the paper's base train, "dev" for its verifier train.

    All others are "test": of a document without a number nobody knows that it is not of the test part.
    """
    parts = paper_split(CRAPII_DOCUMENTS)
    dev = dict.fromkeys(map(str, parts["verifier_train"]), "dev")
    return dict.fromkeys(map(str, parts["base_train"]), "train") | dev


def to_doc(nlp: Language, filled: Filled) -> Doc:
    """RETURNS (Doc): Tokens and `doc.spans`; a span that does not lie on token boundaries is masked: it goes to the unlabelled ones."""
    doc = nlp.make_doc(filled.text)
    spans: list[Span] = []
    masked = list(filled.unlabelled)
    for start, end, label in filled.spans:
        span = doc.char_span(start, end, label=label)
        if span is None and label == USERNAME and filled.text[start - 1 : start] == "@":
            span = doc.char_span(start - 1, end, label=label)  # "@ana_l" is one token
        if span is None or (spans and spans[-1].end > span.start):
            masked.append((start, end))
        else:
            spans.append(span)
    doc.spans[SPANS_KEY] = spans
    if filled.annotated:
        doc.spans[SPANS_KEY].attrs[ANNOTATED] = dict(filled.annotated)
    doc.spans[UNLABELLED_KEY] = [
        span
        for start, end in sorted(masked)
        if (span := doc.char_span(start, end, label="UNLABELLED", alignment_mode="expand"))
    ]
    return doc


def of_split(
    split: str, templates: list[Template], fragments: Blocks
) -> tuple[list[Template], Blocks]:
    """RETURNS (tuple[list[Template], Blocks]): The essays and the fragments of "train", "dev" or "test"."""
    return [template for template in templates if split_of(template.id) == split], {
        kind: [b for n, b in enumerate(found) if split_of(f"{kind}|{n}") == split]
        for kind, found in fragments.items()
    }


def build_corpus(
    assets: Path,
    out: Path,
    *,
    seed: int = 46,
    scale: float = 1.0,
    scenes: bool = True,
    carriers: float = 1.0,
) -> tuple[Counts, dict[str, Counts]]:
    """Write train, dev and test as DocBins, `stats.json` and `distribution.json`: how often each label, role, form and region was filled in.

    assets (Path): Folder with essays/ and fragments/, and the user's own persuade/ and crapii/. out (Path): Folder for the files.
    seed (int): Of every choice. scale (float): Share of the carriers and of the fillings, above 0.
    scenes (bool): Whether short texts go in, of which nearly every sentence names somebody.
    carriers (float): Times as many carriers in train: a detector that sees few texts without people sees people everywhere.
    RETURNS (tuple[Counts, dict[str, Counts]]): Per split: documents, tokens, documents without spans, spans that were masked since they
        do not lie on token boundaries, spans per label; and per split what was filled in, by kind and value.
    RAISES (PiiError): E552, if there are no essays.
    """
    templates, fragments = read_templates(assets, scenes=scenes), read_fragments(assets)
    if not templates:
        raise PiiError(Errors.E552, what=f"'{assets.name}'", reason="no essays/*.txt")
    nlp = blank_pipeline()
    out.mkdir(parents=True, exist_ok=True)
    stats, distribution = {}, {}
    for split in SPLITS:
        base, tally = RECIPES[split], Tally()
        of_carriers = scale * (carriers if split == "train" else 1.0)
        recipe = replace(
            base,
            fillings=max(1, round(base.fillings * scale)),
            carriers=round(base.carriers * of_carriers),
            clean_carriers=round(base.clean_carriers * of_carriers),
        )
        mine, blocks = of_split(split, templates, fragments)
        texts = list(from_essays(mine, blocks, recipe, name_table(), seed, tally))
        for path in sorted((assets / "persuade").glob("*.jsonl*")):
            texts += from_carriers(path, split, blocks, recipe, seed, tally)
        for path in sorted((assets / "crapii").glob("*.json*")):
            # What `corpus convert` tells beside its output is no essay.
            texts += from_crapii(path, split) if ".report" not in path.suffixes else ()
        docs = [to_doc(nlp, filled) for filled in texts]
        labels = Counter(span.label_ for doc in docs for span in doc.spans[SPANS_KEY])
        stats[split] = {
            "documents": len(docs),
            "tokens": sum(map(len, docs)),
            "without_spans": sum(not doc.spans[SPANS_KEY] for doc in docs),
            "masked": sum(len(filled.spans) for filled in texts) - labels.total(),
            **dict(sorted(labels.items())),
        }
        distribution[split] = tally.to_dict()
        logger.info("%s: %s", split, stats[split])
        rng_for(seed, split).shuffle(docs)
        DocBin(docs=docs).to_disk(out / f"{split}.spacy")
    for name, counts in (("stats", stats), ("distribution", distribution)):
        (out / f"{name}.json").write_text(json.dumps(counts, indent=1) + "\n", "utf8")
    return stats, distribution
