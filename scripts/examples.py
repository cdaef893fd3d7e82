"""Writes what scripts/two_heads.py learns from, as arrays, so that it can learn where no spaCy is.

    python -m scripts.examples start model.safetensors start.npz
    python -m scripts.examples texts out/examples.npz --texts assets/crapii/essays_sample.jsonl

Texts are the open annotated ones, the authored essays and short texts with their slots filled, and
publishers' essays in assets/persuade (those that are annotated must not be among them). What an
annotator or a slot marks is gold. Places, organisations and dates beside it come from a general English
pipeline (`--general`): in texts whose indirect identifiers are complete they are the world's, in others
nobody knows whose they are.

Arrays: `pieces` of all tokens, and per token `lengths`, `case`, `bio`, `ends` (a sentence ends here), `wid`
and `wkind` (word of a person's name; 1 given name, 2 surname). `mentions`: start, end, person, role.
`items`: start, end, type, owner (1 somebody's, 0 the world's, 2 unknown). `docs`: first token, tokens,
first piece, pieces, first mention, mentions, first item, items, source, part.
"""

import json
import random
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import spacy
import typer
from spacy.tokens import Doc

from pii_components import labels
from pii_components.cli.common import guard
from pii_components.corpus.build import RECIPES, Tally, from_carriers, from_essays, to_doc
from pii_components.corpus.templates import Filled, read_fragments, read_templates
from pii_components.names.letters import norm
from pii_components.names.link import link
from pii_components.names.normalize import normalize_token
from pii_components.names.parse import read_tokens
from pii_components.names.table import name_table
from pii_components.names.wordlists import words
from pii_components.ner.layers import CASE_STEP, case_of, encoded_data
from scripts import common
from scripts.annotations import FIRST, SECOND, half_of, read_annotated
from scripts.cultures import given_names, surnames
from scripts.shipped import shipped_start

app = typer.Typer(add_completion=False, no_args_is_help=True, help=__doc__)
SOURCES = (
    "real",
    "persuade",
    "llm",
    "new",
    "essays",
    "scenes",
    "later scenes",
    "carriers",
    "llm carriers",
)
TYPES = ("PERSON", "PLACE", "SCHOOL", "FIRM", "DATE", "AGE", "EMAIL", "USERNAME")
TYPES += ("ID_NUM", "PHONE_NUM", "URL_PERSONAL", "STREET_ADDRESS")
TYPE_OF = {labels.LOCATION: "PLACE", labels.EDUCATION: "SCHOOL", labels.EMPLOYER: "FIRM"}
GENERAL = {
    "PERSON": "PERSON",
    "GPE": "PLACE",
    "LOC": "PLACE",
    "NORP": "PLACE",
    "FAC": "PLACE",
    "ORG": "FIRM",
    "DATE": "DATE",
}
ROLES = (labels.STUDENT, labels.INSTRUCTOR, labels.CONNECTED, labels.CITED, labels.CHARACTER)
NO_PERSON, UNKNOWN = 5, 255
SOMEBODYS, WORLDS, NOBODY_KNOWS = 1, 0, 2
SEED = 71
CARRIERS = 2800  # publishers' essays at most, with marks and as many without
FAMOUS = Path("assets/famous_names.txt")
GENERAL_FOLDER = Path("assets/encoders/en_core_web_md")
_NO_GENERAL = """so places, firms and dates are learned from slots and annotations alone. To have it, as what ships had it:
    python -m scripts.encoder_files --only en_core_web_md --download
    weasel run train . --vars.general assets/encoders/en_core_web_md"""
_SCHOOL = re.compile(
    r"(?i)\b(school|university|college|academy|institute|polytechnic|seminary|kindergarten|lyc[eé]e)\b"
)
_DEGREE = re.compile(
    r"(?i)\b(b\.?a|b\.?sc|m\.?a|m\.?sc|mba|ph\.?d|bachelor\w*|master\w*|diploma|degree|doctorate)\b"
)
_AGE = re.compile(r"(?i)years?[- ]old|\baged?\b|months[- ]old")
_LATER = re.compile(r"n\d_")
# Words of everyday English that people are called by; a tenth of private people get one.
_WORD_NAMES = """Will Grace Grant Brook King Summer Love Hope Faith Joy Rose Lily Daisy Ivy Violet Mark Bill Jack Rob Art
Dale Glen Heath Forest River Sky Star Angel Prince Noble Justice Merit Honor Chance Chase Hunter Mason Cooper Carter
Baker Butler Page Reed Rich Early May June April August Young Long Short Strong Wise Good Best Day Knight Bishop Pope
Price Banks Waters Fields Hill Woods Stone Bell Ball Drew Frank Earnest Pat Sue Gene Ray Dawn Eve Crystal Jade Ruby
Pearl Amber Jasmine Olive Sage Basil Ginger Pepper Candy Cherry Melody Harmony Carol Penny Christian Major Royal Baron
Duke Earl Sandy Rocky Cliff Gale Storm Winter Autumn Rain"""
_HEADING = 10  # lines at the top in which a date alone is the date of hand-in


@dataclass(slots=True)
class Text:
    """A text with spans. complete (bool): Whether its indirect identifiers are all marked."""

    source: str
    part: int
    filled: Any
    complete: bool


@dataclass(slots=True)
class Arrays:
    """What is written, a list a document."""

    tokens: dict[str, list[np.ndarray]] = field(default_factory=lambda: defaultdict(list))
    mentions: list[tuple[int, int, int, int]] = field(default_factory=list)
    items: list[tuple[int, int, int, int]] = field(default_factory=list)
    docs: list[tuple[int, ...]] = field(default_factory=list)
    words: dict[tuple[int, int, str], int] = field(default_factory=dict)
    n_tokens: int = 0
    n_pieces: int = 0


@app.command()
def start(
    weights: Annotated[
        Path,
        typer.Argument(help="model.safetensors of MiniLM-L6-v2; en_pii_edu's if it is not there."),
    ],
    out: Annotated[Path, typer.Argument(help="New file.")],
) -> None:
    """Write an encoder as arrays: words in 8 bits with a scale for each, the rest in half precision."""
    out.parent.mkdir(parents=True, exist_ok=True)
    if not weights.is_file():
        np.savez(out, **shipped_start())
        return
    from safetensors.numpy import load_file

    state = load_file(weights)
    word = state["embeddings.word_embeddings.weight"]
    scale = np.abs(word).max(1, keepdims=True) / 127
    arrays = {
        "word.weight": np.round(word / scale).astype("i1"),
        "word.weight.scale": scale.astype("f4"),
        "place.weight": state["embeddings.position_embeddings.weight"].astype("f2"),
        "segment": state["embeddings.token_type_embeddings.weight"][0].astype("f2"),
    }
    parts = {
        "o": "attention.output.dense",
        "n1": "attention.output.LayerNorm",
        "i": "intermediate.dense",
    }
    parts |= {"f": "output.dense", "n2": "output.LayerNorm"}
    for kind in ("weight", "bias"):
        arrays[f"norm.{kind}"] = state[f"embeddings.LayerNorm.{kind}"]
        for n in range(6):
            layer = f"encoder.layer.{n}"
            qkv = [
                state[f"{layer}.attention.self.{name}.{kind}"] for name in ("query", "key", "value")
            ]
            arrays[f"layers.{n}.qkv.{kind}"] = np.concatenate(qkv).astype("f2")
            for name, theirs in parts.items():
                arrays[f"layers.{n}.{name}.{kind}"] = state[f"{layer}.{theirs}.{kind}"].astype("f2")
    np.savez(out, **arrays)


@app.command()
def texts(
    out: Annotated[Path, typer.Argument(help="New file.")],
    own: Annotated[
        list[Path] | None, typer.Option("--texts", help="Texts of annotations, JSON Lines.")
    ] = None,
    general: Annotated[
        str,
        typer.Option(
            help="Pipeline for places, firms and dates; auto: get-encoders' if it is there."
        ),
    ] = "auto",
) -> None:
    """Write all examples, and the names that take the place of others."""
    with guard(debug=True):
        exporter = Exporter("en_pii_edu", general)
        rng = random.Random(SEED)
        found = list(read_texts(common.those_there(own)))
        silver = exporter.general.pipe((text.filled.text for text in found), batch_size=64)
        for text, ents in zip(found, silver, strict=True):
            exporter.add(text, ents, rng)
        arrays = exporter.arrays
        made: dict[str, Any] = {name: np.concatenate(rows) for name, rows in arrays.tokens.items()}
        for name, rows in (
            ("mentions", arrays.mentions),
            ("items", arrays.items),
            ("docs", arrays.docs),
        ):
            made[name] = np.array(rows, np.int32)
        out.parent.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(out, **made, **exporter.name_lists())
        print(
            json.dumps({"texts": len(found), "tokens": arrays.n_tokens, "pieces": arrays.n_pieces})
        )


def read_texts(own: list[Path]) -> Iterator[Text]:
    """YIELDS (Text): All texts, annotated ones first."""
    assets = Path("assets")
    part_of = {FIRST: 1, SECOND: 2}
    for one in read_annotated(assets / "annotations", own, parts=(FIRST, SECOND)):
        yield Text(
            one.source,
            part_of[one.part],
            Filled(one.labelled.text, tuple(one.labelled.spans)),
            True,
        )
    recipe = replace(RECIPES["train"], cut=False, clean_share=1.0)
    blocks, table = read_fragments(assets), name_table()
    for template in read_templates(assets, scenes=True):
        short = (assets / "scenes" / f"{template.id.split('_')[0]}.txt").is_file()
        half = half_of(template.id)
        later = bool(half or _LATER.match(template.id))
        source = "later scenes" if later else "scenes" if short else "essays"
        mine = replace(recipe, fillings=2 if later else 1)
        for filled in from_essays([template], {} if short else blocks, mine, table, SEED):
            marked = any(label in labels.INDIRECT_LABELS for *_, label in filled.spans)
            yield Text(source, part_of.get(half, 0), filled, later or marked)
    share = replace(recipe, carriers=CARRIERS, clean_carriers=CARRIERS)
    for path in sorted((assets / "persuade").glob("*.jsonl*")):
        source = "llm carriers" if "llm" in path.name else "carriers"
        for filled in from_carriers(path, "train", blocks, share, SEED, Tally()):
            yield Text(source, 0, filled, False)


def load_general(name: str) -> Any:
    """RETURNS (Language): A pipeline by name or path; for "auto" the one that get-encoders fetches, if it is there; else an empty one, for "none" too."""
    unused = ["lemmatizer", "tagger", "parser", "senter", "attribute_ruler"]
    if name == "auto" and GENERAL_FOLDER.is_dir():
        name = str(GENERAL_FOLDER)
    elif name == "auto":
        print(f"{GENERAL_FOLDER}: not there, {_NO_GENERAL}", file=sys.stderr)
    return spacy.blank("en") if name in ("auto", "none") else spacy.load(name, exclude=unused)


class Exporter:
    """Reads texts with the pieces of a pipeline and the entities of a general one."""

    def __init__(self, pipeline: str, general: str) -> None:
        tokenizer = {"@tokenizers": "pii_edu.StudentTokenizer.v1"}
        self.nlp = spacy.blank("en", config={"nlp": {"tokenizer": tokenizer}})
        model: Any = spacy.load(pipeline).get_pipe("transformer")
        self.encoder = model.model.get_ref("piece_encoder")
        self.general = load_general(general)
        self.arrays = Arrays()

    def pieces(self, doc: Doc) -> tuple[list[int], list[int]]:
        """RETURNS (tuple[list[int], list[int]]): Ids of pieces, without those at both ends, and pieces per token."""
        read = self.encoder.predict([doc])[0]
        unknown = self.encoder.attrs["wordpiece_processor"].get_initial("[UNK]")
        ids = [p % CASE_STEP if p >= 0 else unknown for p in read.dataXd.tolist()[1:-1]]
        return ids, read.lengths.tolist()[1:-1]

    def add(self, text: Text, general: Doc, rng: random.Random) -> None:
        """Add a document to the arrays."""
        doc = to_doc(self.nlp, text.filled)
        if len(doc) < 3:
            return
        ids, lengths = self.pieces(doc)
        marks = Marks(doc)
        marks.add_gold(annotated=SOURCES.index(text.source) < SOURCES.index("essays"))
        marks.add_general(general, complete=text.complete, names_complete=text.source != "carriers")
        marks.add_nobodies(rng)
        a = self.arrays
        word_ids, word_kinds, persons = name_words(doc, marks.mentions, a.words, len(a.docs))
        sizes = (len(a.mentions), len(marks.mentions), len(a.items), len(marks.items))
        a.docs.append(
            (
                a.n_tokens,
                len(doc),
                a.n_pieces,
                len(ids),
                *sizes,
                SOURCES.index(text.source),
                text.part,
            )
        )
        a.mentions += [
            (s, e, p, role) for (s, e, role), p in zip(marks.mentions, persons, strict=True)
        ]
        a.items += marks.items
        rows = {
            "pieces": np.array(ids, np.uint16),
            "lengths": np.array(lengths, np.uint8),
            "case": np.array([case_of(token.text) for token in doc], np.uint8),
            "bio": marks.bio,
            "ends": np.array(
                [token.text in ".!?" or "\n" in token.text for token in doc], np.uint8
            ),
            "wid": word_ids,
            "wkind": word_kinds,
        }
        for name, row in rows.items():
            a.tokens[name].append(row)
        a.n_tokens += len(doc)
        a.n_pieces += len(ids)

    def name_lists(self) -> dict[str, np.ndarray]:
        """RETURNS (dict[str, np.ndarray]): Pieces of names, and which are given names, surnames, famous people's, words."""
        known: dict[str, int] = {}
        pieces: list[int] = []
        at = [0]

        def number(word: str) -> int:
            if word not in known:
                known[word] = len(known)
                pieces.extend(self.pieces(Doc(self.nlp.vocab, words=[word]))[0][:12])
                at.append(len(pieces))
            return known[word]

        regions = ("Africa", "Americas", "Asia", "Europe", "Oceania")
        given = {
            name for region in regions for gender in "FM" for name in given_names(gender, region)
        }
        family = {name for region in regions for name in surnames(region)}
        given, family = (
            {name for name in names if name.isascii() and name.isalpha()}
            for names in (given, family)
        )
        common = {name for name in given | family if words().is_common(norm(name))} | {
            *_WORD_NAMES.split()
        }
        famous = []
        for line in FAMOUS.read_text("utf8").splitlines():
            name = line.partition("#")[0].replace(",", "").split()
            if len(name) > 1:
                famous.append((number(name[0]), number(name[-1])))
        return {
            "given": np.array([number(name) for name in sorted(given)], np.int32),
            "surname": np.array([number(name) for name in sorted(family)], np.int32),
            "word_names": np.array([number(name) for name in sorted(common)], np.int32),
            "famous": np.array(famous, np.int32),
            "lex_pieces": np.array(pieces, np.uint16),
            "lex_at": np.array(at, np.int64),
        }


class Marks:
    """What is known of a document's tokens: BIO of head A, people's mentions with roles, things with owners."""

    def __init__(self, doc: Doc) -> None:
        self.doc = doc
        self.bio = np.zeros(len(doc), np.uint8)
        self.taken = np.zeros(len(doc), bool)
        self.mentions: list[tuple[int, int, int]] = []
        self.items: list[tuple[int, int, int, int]] = []
        for span in doc.spans["pii_unlabelled"]:
            self.leave_out(span.start, span.end)
        self.bio[encoded_data(doc)] = UNKNOWN

    def leave_out(self, start: int, end: int) -> None:
        self.bio[start:end] = UNKNOWN
        self.taken[start:end] = True

    def mark(self, kind: str, start: int, end: int) -> None:
        column = 1 + 2 * TYPES.index(kind)
        self.bio[start], self.bio[start + 1 : end] = column, column + 1
        self.taken[start:end] = True

    def add_gold(self, *, annotated: bool) -> None:
        """What annotators and slots mark. annotated (bool): Whether the older guideline's marks must be mended."""
        for span in self.doc.spans["pii"]:
            label, start, end = span.label_, span.start, span.end
            if labels.is_name(label):
                self.mentions.append((start, end, ROLES.index(labels.role_of(label))))
                self.mark("PERSON", start, end)
            elif label == labels.OTHER:
                continue
            elif (
                annotated
                and label == labels.EDUCATION
                and not (_SCHOOL.search(span.text) or _DEGREE.search(span.text))
            ):
                self.leave_out(start, end)  # a grade or the code of a course
            elif label not in labels.INDIRECT_LABELS:
                self.mark(label, start, end)
            else:
                kind = TYPE_OF.get(label, label)
                hand_in = annotated and label == labels.DATE and self._heads(span)
                self.items.append((start, end, TYPES.index(kind), WORLDS if hand_in else SOMEBODYS))
                self.mark(kind, start, end)

    def _heads(self, span: Any) -> bool:
        text = self.doc.text
        start = text.rfind("\n", 0, span.start_char) + 1
        end = text.find("\n", span.end_char)
        line = text[start : end if end >= 0 else len(text)]
        return len(line) < len(span.text) + 12 and text.count("\n", 0, start) < _HEADING

    def add_general(self, general: Doc, *, complete: bool, names_complete: bool) -> None:
        """Entities of a general pipeline where nothing is marked. names_complete (bool): Whether all names are marked."""
        for ent in general.ents:
            kind = GENERAL.get(ent.label_)
            span = self.doc.char_span(ent.start_char, ent.end_char, alignment_mode="expand")
            if kind is None or span is None:
                continue
            start, end = self._trim(span.start, span.end)
            if start >= end or self.taken[start:end].any() or "\n" in self.doc[start:end].text:
                continue
            value = self.doc[start:end].text
            if kind == "PERSON":
                if names_complete:
                    self.mentions.append((start, end, NO_PERSON))
                else:  # somebody whom the publisher left: a name, but nobody knows whose
                    self.mark(kind, start, end)
                continue
            if kind == "DATE" and not re.search(r"[\dA-Z]", value):
                self.leave_out(start, end)
                continue
            if kind == "FIRM":
                kind = "SCHOOL" if _SCHOOL.search(value) else "FIRM"
            if kind == "DATE" and _AGE.search(value):
                kind = "AGE"
            self.items.append((start, end, TYPES.index(kind), WORLDS if complete else NOBODY_KNOWS))
            self.mark(kind, start, end)

    def _trim(self, start: int, end: int) -> tuple[int, int]:
        doc = self.doc
        while start < end and (doc[start].is_space or doc[start].lower_ in ("the", "a", "an")):
            start += 1
        while start < end and (
            doc[end - 1].is_space or doc[end - 1].is_punct or doc[end - 1].lower_ in ("'s", "’s")
        ):
            end -= 1
        return start, end

    def add_nobodies(self, rng: random.Random) -> None:
        """A few words with a capital that name nobody, so that head B learns what is no person."""
        free = [
            t.i
            for t in self.doc
            if t.is_title and t.is_alpha and len(t) > 2 and not self.taken[t.i]
        ]
        for i in rng.sample(free, min(len(free), max(1, len(self.mentions) // 6))):
            self.mentions.append((i, i + 1, NO_PERSON))
        self.mentions.sort()


def name_words(
    doc: Doc,
    mentions: list[tuple[int, int, int]],
    words_seen: dict[tuple[int, int, str], int],
    n_doc: int,
) -> tuple[np.ndarray, np.ndarray, list[int]]:
    """RETURNS (tuple): Per token the number of a person's word and its kind; per mention its person. Names are linked within a role."""
    ids, kinds = np.zeros(len(doc), np.int32), np.zeros(len(doc), np.uint8)
    persons = [0] * len(mentions)
    groups: dict[int, list[int]] = defaultdict(list)
    for n, (_, _, role) in enumerate(mentions):
        groups[role].append(n)
    n_persons = 0
    for role, numbers in groups.items():
        if role == NO_PERSON:
            for n in numbers:
                persons[n] = n_persons
                n_persons += 1
            continue
        read = [
            read_tokens([normalize_token(t.text) or t.text for t in doc[slice(*mentions[n][:2])]])
            for n in numbers
        ]
        owner_of: dict[int, int] = {}
        for n, owner in zip(numbers, link(read).owners, strict=True):
            owner_of.setdefault(owner if owner >= 0 else -1 - n, n_persons + len(owner_of))
            persons[n] = owner_of[owner if owner >= 0 else -1 - n]
        n_persons += len(owner_of)
        kind_of = word_kinds(read, [persons[n] for n in numbers])
        for n, mention in zip(numbers, read, strict=True):
            norms = {word.norm for word in mention.words if not word.is_initial}
            for token in doc[slice(*mentions[n][:2])]:
                word = norm(token.text)
                if len(token) > 1 and token.is_alpha and token.is_ascii and word in norms:
                    ids[token.i] = words_seen.setdefault(
                        (n_doc, persons[n], word), len(words_seen) + 1
                    )
                    kinds[token.i] = kind_of[persons[n], word]
    return ids, kinds, persons


def word_kinds(read: list[Any], persons: list[int]) -> dict[tuple[int, str], int]:
    """RETURNS (dict[tuple[int, str], int]): For each person's word 1 for a given name, 2 for a surname."""
    table, found = name_table(), dict[tuple[int, str], int]()
    several = list(zip(persons, read, strict=True))
    for person, mention in several:
        named = [word.norm for word in mention.words if not word.is_initial]
        if len(named) > 1:
            family = named[0] if mention.form.comma else named[-1]
            found.update({(person, word): 2 if word == family else 1 for word in named})
    for person, mention in several:
        for word in mention.words:
            only_surname = table.is_surname(word.norm) and not table.is_given(word.norm)
            found.setdefault((person, word.norm), 2 if only_surname else 1)
    return found


if __name__ == "__main__":
    app()
