"""spaCy's own tools know our pipeline: analyze_pipes, info, debug config, evaluate."""

from pathlib import Path

import pytest
import spacy
from spacy.cli.debug_config import debug_config
from spacy.cli.evaluate import evaluate
from spacy.tokens import DocBin, Span
from spacy.training import Example

from pii_components.errors import PiiError

from .tiny import TOKENIZER, tiny_pipeline

ROOT = Path(__file__).parents[1]
CONFIGS = sorted((ROOT / "configs").glob("*.cfg"))


@pytest.fixture
def nlp(monkeypatch):
    monkeypatch.setenv("PII_EDU_KEY", "a key of sixteen bytes")
    nlp = spacy.blank("en", config=TOKENIZER)
    for name in ("pii_ruler", "pii_context", "hips_surrogate", "pii_cleaner"):
        nlp.add_pipe(name)
    return nlp


def seen(doc):
    """What `assigns` may name, as it stands in a document."""
    group = doc.spans.get("pii", ())
    names = ("pii_source", "pii_role", "pii_reason", "pii_person")
    found = {f"span._.{name}": [span._.get(name) or None for span in group] for name in names}
    found |= {
        f"doc._.{name}": repr(doc._.get(name))
        for name in ("deidentified", "pii_offsets", "surrogate_spans")
    }
    found |= {
        f"token.{name}": [getattr(t, name) for t in doc]
        for name in ("ent_iob", "ent_type", "tag", "lemma", "head")
    }
    spans, ents = ([(s.start, s.end) for s in some] for some in (group, doc.ents))
    return found | {"doc.spans": spans, "doc.ents": ents, "text": doc.text}


def test_what_a_component_assigns_is_what_it_declares(nlp):
    doc = nlp.make_doc(
        "Ilse Okoro\n\nMy teacher, Mr. Fenwick, has the number 212-555-0187. Write to ilse@uni.edu."
    )
    analysis = nlp.analyze_pipes()
    assert not any(analysis["problems"].values()) and not any(
        meta["retokenizes"] for meta in analysis["summary"].values()
    )
    for name, pipe in nlp.pipeline:
        before = seen(doc)
        doc = pipe(doc)
        changed = {key for key, value in seen(doc).items() if value != before[key] and any(value)}
        declared = set(analysis["summary"][name]["assigns"])
        assert changed <= declared, (name, changed - declared)
    scores = nlp.evaluate([Example(nlp.make_doc(doc.text), doc)])
    assert {score for meta in analysis["summary"].values() for score in meta["scores"]} <= set(
        scores
    )


@pytest.mark.skipif(not CONFIGS, reason="configs/ is not in an installed wheel")
@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_debug_config_passes(path, tmp_path, capsys):
    source = {}
    if "source" in spacy.util.load_config(path)["paths"]:
        tiny_pipeline(tmp_path).to_disk(tmp_path / "source")
        source = {"paths.source": str(tmp_path / "source")}
    debug_config(path, overrides=source)
    assert "Config is valid" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("labels", "in_ents", "expected"),
    [
        (("NAME_STUDENT", "EMAIL"), False, (1.0, 1.0)),
        (("NAME_STUDENT", "EMAIL"), True, (1.0, 1.0)),
        (("NAME_CITED", "EMAIL"), True, (0.5, 1.0)),  # who is not protected is not missed
        (("NAME_STUDENT", "EMAIL", "ORG"), True, (1.0, 1.0)),  # of others
        (("PERSON", "ORG"), True, "E002"),
    ],
)
def test_evaluate_prints_scores_for_gold_in_spans_and_entities(
    labels, in_ents, expected, nlp, tmp_path, capsys
):
    doc = nlp.make_doc("Ilse Okoro\n\nWrite to ilse@uni.edu.")
    spans = [
        Span(doc, start, end, label=label)
        for (start, end), label in zip(((0, 2), (5, 6), (3, 4)), labels, strict=False)
    ]
    if in_ents:
        doc.set_ents(spans)
    else:
        doc.spans["pii"] = spans
    DocBin(docs=[doc]).to_disk(tmp_path / "dev.spacy")
    nlp.to_disk(tmp_path / "pipeline")
    if isinstance(expected, str):
        with pytest.raises(PiiError, match=expected):
            evaluate(str(tmp_path / "pipeline"), tmp_path / "dev.spacy")
        return
    scores = evaluate(str(tmp_path / "pipeline"), tmp_path / "dev.spacy", silent=False)
    assert (scores["ents_p"], scores["ents_r"]) == expected and scores["ents_per_type"][
        "EMAIL"
    ] == dict.fromkeys(("p", "r", "f", "f5"), 1.0)
    assert "NER P" in capsys.readouterr().out
