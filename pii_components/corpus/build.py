"""From essays with slots to DocBins: `pii-edu corpus build assets --out corpus`.

The essays that ship are always used; PERSUADE and other carriers in assets/persuade/ and real CRAPII in assets/crapii/ where the user
has put them. A template, a carrier or a fragment is in one of train, dev and test only, by a hash of its id: no essay is scored on
another filling of itself.
"""

import hashlib
import json
import logging
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import spacy
from spacy.language import Language
from spacy.tokens import Doc, DocBin, Span

from ..errors import Errors, PiiError
from ..labels import DETAIL_LABELS, NAME_CONNECTED, NAME_STUDENT, USERNAME
from ..ner_loss import ANNOTATED, UNLABELLED_KEY
from ..spans import SPANS_KEY
from ..surrogates.names import NameTable, name_table
from .carriers import fill_carrier, iter_persuade, slots_in_llm_text
from .native_words import native_sentence
from .negatives import hard_negative
from .splits import CRAPII_DOCUMENTS, paper_split
from .synthesis import Filled, Filler, Tally, crop, insert, paragraph_ends, roughen
from .templates import Part, Template, read_fragments, read_templates

logger = logging.getLogger(__name__)

Blocks = dict[str, list[tuple[Part, ...]]]
Change = Callable[[Filled, random.Random], Filled]
SPLITS = ("train", "dev", "test")
# What may be set into an essay, and how often (share of the documents). Two thirds of what results holds no student's name: real
# essays hold one in 15 of 100, and a detector that expects one in each sees one in each.
_INSIDE = {"selfintro": 0.12, "connected": 0.18, "cited": 0.15, "characters": 0.08, "negatives": 0.20, "contacts": 0.13}
_HARD_NEGATIVE = 0.2
_NATIVE_WORDS = 0.06
# What CRAPII's annotators marked (seeds/crapii_paper.txt, 2.2): of people's names the students' only, classmates' among them. An author's
# name there is not outside of everything, it is only no student's.
CRAPII_ANNOTATED = {NAME_STUDENT: [NAME_STUDENT, NAME_CONNECTED], **{label: [label] for label in DETAIL_LABELS}}


@dataclass(frozen=True, slots=True)
class Recipe:
    """How much of what goes into a split.

    fillings (int): Times that each essay of ours is filled. clean_share (float): Share of the stretches without labels that is kept.
    carriers (int): Carriers with marks at most. clean_carriers (int): Carriers without marks at most.
    whole (bool): Whole texts, neither roughened nor cut: for dev and test.
    cut (bool): Whether texts that are roughened are cut into stretches, too.
    worn (float): Share of the mentions and details that are worn by themselves (`wear.wear`).
    habit (float): Share of the texts in which all names are worn in one way (`habits.Wardrobe`).
    """

    fillings: int
    clean_share: float
    carriers: int
    clean_carriers: int
    whole: bool = False
    cut: bool = True
    worn: float = 0.0
    habit: float = 0.0


RECIPES = {
    "train": Recipe(fillings=6, clean_share=0.45, carriers=1000, clean_carriers=2500, worn=0.05, habit=0.17),
    "dev": Recipe(fillings=2, clean_share=1.0, carriers=40, clean_carriers=40, whole=True),
    "test": Recipe(fillings=2, clean_share=1.0, carriers=40, clean_carriers=40, whole=True),
}
# The dev essays worn: people whom the classifier of `pii_context` shall know in every script, case and layout.
WORN = "dev_worn"
WORN_RECIPE = Recipe(fillings=2, clean_share=1.0, carriers=0, clean_carriers=0, cut=False, worn=0.08, habit=0.75)


def split_of(key: str) -> str:
    """RETURNS (str): "train" (80 %), "dev" (10 %) or "test" (10 %), by SHA-256 of the key."""
    n = int.from_bytes(hashlib.sha256(key.encode("utf8")).digest()[:4], "big") % 10
    return {0: "dev", 1: "test"}.get(n, "train")


def rng_for(seed: int, *parts: object) -> random.Random:
    """RETURNS (random.Random): Determined by the seed and the parts, not by the order of calls or the process."""
    text = "|".join(map(str, (seed, *parts)))
    return random.Random(hashlib.sha256(text.encode("utf8")).digest())


def dress(filled: Filled, filler: Filler, blocks: Blocks, rng: random.Random, *, header: float) -> Filled:
    """Put a head on a text, a sign-off under it, and sentences of other kinds into it.

    filled (Filled): A text. filler (Filler): Fills the fragments, with the people of the text. blocks (Blocks): Fragments by kind.
    rng (random.Random): Where chance comes from. header (float): Probability of a head with the student's name.
    RETURNS (Filled): The text with what was added.
    """
    for kind, share in _INSIDE.items():
        stops = paragraph_ends(filled)
        if stops and blocks.get(kind) and rng.random() < share:
            addition = filler.fill(rng.choice(blocks[kind]))
            gap = "\n\n" if "\n" in addition.text else rng.choice((" ", " ", "\n\n", "\n"))
            filled = insert(filled, addition, rng.choice(stops), before=gap, after="\n" if "\n" in gap else "")
            filler.tally.add("set in", kind)
    if (stops := paragraph_ends(filled)) and rng.random() < _HARD_NEGATIVE:
        sentence, kind = hard_negative(rng)
        filled = insert(filled, Filled(sentence), rng.choice(stops), before=rng.choice((" ", " ", "\n")))
        filler.tally.add("hard negative", kind)
    draw = rng.random()
    if draw < header and blocks.get("headers"):
        joint = rng.choice(("\n", "\n", "\n\n", "\n\n", "\n\n\n", "  ", " \n"))
        filled = filler.fill(rng.choice(blocks["headers"])) + Filled(joint) + filled
        filler.tally.add("set in", "headers")
    elif draw < header + 0.3 and blocks.get("headers_clean"):
        filled = filler.fill(rng.choice(blocks["headers_clean"])) + Filled(rng.choice(("\n", "\n\n", "  "))) + filled
    if rng.random() < header / 4 and blocks.get("signoffs"):
        filled = filled + Filled(rng.choice(("\n\n", "\n"))) + filler.fill(rng.choice(blocks["signoffs"]))
        filler.tally.add("set in", "signoffs")
    return filled


def _native_words(filled: Filled, filler: Filler, recipe: Recipe) -> Filled:
    """A word of another script that is no name, set in here and there to train on; a detector that never saw one takes each for a name."""
    stops = paragraph_ends(filled) if recipe.habit and filler.rng.random() < _NATIVE_WORDS else ()
    if not stops:
        return filled
    filler.tally.add("hard negative", "word of another script")
    return insert(filled, Filled(native_sentence(filler.rng)), filler.rng.choice(stops), before=" ")


def _pieces(filled: Filled, rng: random.Random, recipe: Recipe, change: Change | None = None) -> Iterator[Filled]:
    if recipe.whole:
        yield filled
        return
    rough = roughen(filled, rng)
    if change is not None:
        rough = change(rough, rng)
    for piece in crop(rough, rng) if recipe.cut else (rough,):
        if piece.text.strip() and (piece.direct or rng.random() < recipe.clean_share):
            yield piece


def from_essays(
    templates: Iterable[Template],
    blocks: Blocks,
    recipe: Recipe,
    table: NameTable,
    seed: int,
    tally: Tally | None = None,
    change: Change | None = None,
) -> Iterator[Filled]:
    """YIELDS (Filled): Our own essays, each filled several times; an essay that names its writer gets no other head."""
    for template in templates:
        named = any(slot.who.startswith("student") for slot in template.slots)
        # Each essay is worn as often as every other: by lot, essays with a crowd of one role would teach that wear goes with that role.
        turn = 1.0 / recipe.habit if recipe.habit else 0.0
        first = rng_for(seed, template.id, "habit").random() * turn
        worn_turns = {int(first + turn * i) for i in range(recipe.fillings)} if turn else set()
        for n in range(recipe.fillings):
            rng = rng_for(seed, template.id, n)
            habit = float(n in worn_turns) if recipe.fillings >= turn else recipe.habit
            filler = Filler(table, rng, genders=template.genders, worn=recipe.worn, habit=habit, tally=tally)
            filled = filler.fill(template.parts)
            if n or not recipe.whole:
                filled = dress(filled, filler, blocks, rng, header=0.08 if named else 0.35)
            filled = _native_words(filler.wear_prose(filled), filler, recipe)
            yield from _pieces(filled, rng, recipe, change)


def from_carriers(
    path: Path, split: str, blocks: Blocks, recipe: Recipe, table: NameTable, seed: int, tally: Tally | None = None
) -> Iterator[Filled]:
    """YIELDS (Filled): Essays of a JSONL file, marks filled; those without marks with something set into them."""
    left = {True: recipe.carriers, False: recipe.clean_carriers}
    model_written = "llm" in path.name  # few, but on the very assignment: filled twice
    rows = list(enumerate(iter_persuade(path)))
    for n, (key, text) in rows * (2 if model_written and not recipe.whole else 1):
        if split_of(f"{path.name}|{key}|{n}") != split or not any(left.values()):
            continue
        rng = rng_for(seed, path.name, key, n, *left.values())
        counts = Tally()
        filled = fill_carrier(slots_in_llm_text(text), table, rng, worn=recipe.worn, habit=recipe.habit, tally=counts)
        if filled is None or not left[filled.direct]:
            continue
        left[filled.direct] -= 1
        if tally is not None:
            tally.update(counts)
        if not filled.direct or model_written:
            if not recipe.whole and not model_written:
                # One stretch of each, so that the budget goes to many writers.
                filled = rng.choice(crop(filled, rng, least=500, most=1050)[:4])
            filler = Filler(table, rng, worn=recipe.worn, habit=recipe.habit, tally=tally)
            filled = dress(filled, filler, blocks, rng, header=0.45 if model_written else 0.2)
            filled = _native_words(filler.wear_prose(filled), filler, recipe)
        yield from _pieces(filled, rng, recipe)


def from_crapii(path: Path, split: str) -> Iterator[Filled]:
    """YIELDS (Filled): Real labelled essays in CRAPII's JSON or JSONL form, whole, in the part where the JEDM paper has them."""
    from .readers import read_labelled

    for text in read_labelled(path):
        if crapii_split(text.id) == split:
            yield Filled(text.text, tuple(text.spans), tuple(text.masked), CRAPII_ANNOTATED)


def crapii_split(document: str) -> str:
    """The part of the corpus in which a CRAPII essay belongs.

    document (str): Its number in CRAPII.
    RETURNS (str): "train" for the paper's base train, "dev" for its verifier train, "test" for its test and for an essay without such a
        number: nobody knows that it is not of the test part.
    """
    parts = {"base_train": "train", "verifier_train": "dev"}
    known = document.isdecimal() and int(document) < CRAPII_DOCUMENTS
    return parts.get(_paper_parts()[int(document)], "test") if known else "test"


@cache
def _paper_parts() -> dict[int, str]:
    return {number: part for part, numbers in paper_split(CRAPII_DOCUMENTS).items() for number in numbers}


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
    rest = (doc.char_span(s, e, label="UNLABELLED", alignment_mode="expand") for s, e in sorted(masked))
    doc.spans[UNLABELLED_KEY] = [span for span in rest if span is not None]
    return doc


Counts = dict[str, dict[str, int]]


def build_corpus(
    assets: Path,
    out: Path,
    *,
    seed: int = 46,
    scale: float = 1.0,
    uncut: bool = False,
    crapii: bool = True,
    scenes: bool = True,
    carriers: float = 1.0,
    change: Change | None = None,
) -> tuple[Counts, dict[str, Counts]]:
    """Write train, dev and test as DocBins, `stats.json` and `distribution.json`: how often each label, role, form and region was filled in.

    assets (Path): Folder with essays/ and fragments/, and the user's own persuade/ and crapii/.
    out (Path): Folder for the .spacy files.
    seed (int): Of every choice. scale (float): Share of the carriers and of the fillings, above 0.
    uncut (bool): Whole texts to train on, not stretches of them: slower by the token, and what tells a role often stands far from the name.
        With them goes dev_worn.spacy, the dev essays with names that are worn.
    crapii (bool): Whether what lies in crapii/ goes in; False where those essays are to be held out later.
    scenes (bool): Whether short texts go in, of which nearly every sentence names somebody.
    carriers (float): Times as many carriers in train: a detector that sees few texts without people sees people everywhere.
    change (Callable[[Filled, random.Random], Filled] | None): Done to each filled essay of train and dev_worn, never of dev and test.
    RETURNS (tuple[Counts, dict[str, Counts]]): Per split: documents, tokens, documents without spans, spans that were masked since they
        do not lie on token boundaries, spans per label; and per split what was filled in, by kind and value (`synthesis.Tally`).
    RAISES (PiiError): E603, if there are no essays.
    """
    templates, fragments = read_templates(assets, scenes=scenes), read_fragments(assets)
    if not templates:
        raise PiiError(Errors.E603, path=str(assets))
    table = name_table()
    nlp = spacy.blank("en", config={"nlp": {"tokenizer": {"@tokenizers": "pii_edu.StudentTokenizer.v1"}}})
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
            cut=not uncut,
        )
        blocks = {
            kind: [block for n, block in enumerate(found) if split_of(f"{kind}|{n}") == split]
            for kind, found in fragments.items()
        }
        mine = [t for t in templates if split_of(t.id) == split]
        sources: list[Iterator[Filled]] = [from_essays(mine, blocks, recipe, table, seed, tally, change)]
        for path in sorted((assets / "persuade").glob("*.jsonl*")):
            sources.append(from_carriers(path, split, blocks, recipe, table, seed, tally))
        for path in sorted((assets / "crapii").glob("*.json*")) if crapii else ():
            sources.append(from_crapii(path, split))
        texts = [filled for source in sources for filled in source]
        docs = [to_doc(nlp, filled) for filled in texts]
        rng_for(seed, split).shuffle(docs)
        DocBin(docs=docs, store_user_data=False).to_disk(out / f"{split}.spacy")
        labels = Counter(span.label_ for doc in docs for span in doc.spans[SPANS_KEY])
        stats[split] = {
            "documents": len(docs),
            "tokens": sum(map(len, docs)),
            "without_spans": sum(not doc.spans[SPANS_KEY] for doc in docs),
            "masked": sum(len(f.spans) - len(doc.spans[SPANS_KEY]) for f, doc in zip(texts, docs, strict=True)),
            **dict(sorted(labels.items())),
        }
        distribution[split] = tally.to_dict()
        logger.info("%s: %s", split, stats[split])
    if uncut:
        mine = [t for t in templates if split_of(t.id) == "dev"]
        blocks = {
            kind: [b for n, b in enumerate(found) if split_of(f"{kind}|{n}") == "dev"] for kind, found in fragments.items()
        }
        worn = [to_doc(nlp, filled) for filled in from_essays(mine, blocks, WORN_RECIPE, table, seed + 1, change=change)]
        DocBin(docs=worn, store_user_data=False).to_disk(out / f"{WORN}.spacy")
    (out / "stats.json").write_text(json.dumps(stats, indent=1) + "\n", "utf8")
    (out / "distribution.json").write_text(json.dumps(distribution, indent=1) + "\n", "utf8")
    return stats, distribution
