"""What the tests of measuring share: four documents, the same as a file, a small pipeline."""

import json
from pathlib import Path

import pytest
import spacy
from invented import EMAIL, NAME, document
from spacy.language import Language

from pii_components.evaluate.gold import GoldDocument


@pytest.fixture
def gold() -> list[GoldDocument]:
    """Four documents: two entities, one, none, none."""
    found = [("Dana Vell", NAME), ("dana@uni.example", EMAIL)]
    return [
        document("1", "Dana Vell wrote to dana@uni.example today", found, "test"),
        document("2", "This is by Oskar Tamm", [("Oskar Tamm", NAME)], "test"),
        document("3", "Nobody is named here", [], "base_train"),
        document("4", "Smith argues that cities grow", [], "base_train"),
    ]


@pytest.fixture
def gold_file(tmp_path: Path, gold: list[GoldDocument]) -> Path:
    """The same documents as a file in CRAPII's form; the third and the fourth have no number."""
    lines = []
    for doc in gold:
        labels = []
        for start, _ in doc.tokens:
            inside = [e for e in doc.entities if e.start <= start < e.end]
            begins = inside and inside[0].start == start
            labels.append(f"{'B' if begins else 'I'}-{inside[0].label}" if inside else "O")
        tokens = [doc.text[start:end] for start, end in doc.tokens]
        line = {"document": None if doc.id in "34" else int(doc.id), "full_text": doc.text}
        line |= {"tokens": tokens, "labels": labels}
        line["trailing_whitespace"] = [True] * (len(tokens) - 1) + [False]
        lines.append(line | {"seed_split": None if doc.id == "4" else doc.split})
    path = tmp_path / "gold.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf8")
    return path


@pytest.fixture
def nlp() -> Language:
    """A pipeline that tags capitalised pairs of words and the word Smith as PERSON."""
    made = spacy.blank("en")
    pair = [{"IS_TITLE": True}, {"TEXT": {"IN": ["Vell", "Tamm"]}}]
    found = [("PERSON", pair), ("PERSON", "Smith"), ("ORG", "Nobody")]
    patterns = [{"label": label, "pattern": pattern} for label, pattern in found]
    made.add_pipe("entity_ruler").add_patterns(patterns)
    return made
