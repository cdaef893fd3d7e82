"""spaCy's own tools know our pipeline: analyze_pipes, info, debug config, evaluate."""

import json
from pathlib import Path

import pytest
import spacy
from spacy import displacy
from spacy.cli.debug_config import debug_config
from spacy.cli.evaluate import evaluate
from spacy.tokens import Doc, DocBin, Span
from spacy.training import Example

from pii_components.errors import PiiError, PiiWarning
from pii_components.labels import COLORS, DETAIL_LABELS, LABELS, NAME_LABELS
from pii_components.spans import Candidate, read_spans, write_spans

from .tiny import TOKENIZER, tiny_pipeline

ROOT = Path(__file__).parents[1]
# Those that train; two_heads.cfg is what spaCy fills in and loads.
CONFIGS = [
    p for p in sorted((ROOT / "configs").glob("*.cfg")) if "[training]" in p.read_text("utf8")
]


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
    ilse = [{"label": "NAME_STUDENT", "pattern": [{"ORTH": "Ilse"}, {"ORTH": "Okoro"}]}]
    nlp.get_pipe("pii_ruler").add_patterns(ilse)
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


SCORED = "Write to ilse@uni.edu or 212-555-0187."


def test_merged_documents_keep_persons_and_scores(nlp):
    docs = [nlp.make_doc(text) for text in ("Ilse wrote to Bo. Ilse", "Kemi wrote.")]
    write_spans(docs[0], [Candidate(n, n + 1, "NAME_STUDENT", 0.2, person=p) for n, p in NAMED])
    write_spans(docs[1], [Candidate(0, 1, "NAME_STUDENT", 0.9, person=0)])
    persons = [c.person for c in read_spans(docs[0])]
    assert persons == [0, 1, 0]
    merged = read_spans(Doc.from_docs(docs))
    assert [c.score for c in merged] == [0.2, 0.2, 0.2, 0.9]
    assert [[c.person == d.person for d in merged] for c in merged] == [
        [True, False, True, False],
        [False, True, False, False],
        [True, False, True, False],
        [False, False, False, True],
    ]


NAMED = ((0, 0), (3, 1), (5, 0))


def test_json_carries_what_we_found(nlp):
    attributes = ("pii_source", "pii_role", "pii_reason", "pii_score", "pii_person")
    of_doc = ("deidentified", "pii_offsets", "surrogate_spans")
    doc = nlp("Ilse Okoro\n\nMr. Fenwick has my number, 212-555-0187.")
    data = json.loads(json.dumps(doc.to_json(underscore=[*attributes, *of_doc])))
    again = Doc(nlp.vocab).from_json(data)
    assert [c.score for c in read_spans(again)] == [c.score for c in read_spans(doc)]
    for name in of_doc:
        assert again._.get(name) == doc._.get(name)
    for name in attributes:
        assert [s._.get(name) for s in again.spans["pii"]] == [
            s._.get(name) for s in doc.spans["pii"]
        ]


def test_scores_follow_their_spans(nlp):
    doc = nlp.make_doc(SCORED)
    write_spans(doc, [Candidate(2, 3, "EMAIL", 0.4), Candidate(4, 7, "PHONE_NUM", 0.7)])
    doc.spans["pii"].append(Span(doc, 0, 1, label="OTHER"))
    assert [c.score for c in read_spans(doc)] == [1.0, 0.4, 0.7]
    doc.spans["pii"] = list(doc.spans["pii"])[1:2]
    assert [c.score for c in read_spans(doc)] == [0.7]
    for text in ("", " ", "Nothing.", SCORED):
        group = nlp(text).spans["pii"]
        assert len(group) == len(group.attrs["scores"]) == len(group.attrs["roles"])


def test_displacy_has_a_colour_for_each_label():
    doc = spacy.blank("en")("Ilse wrote")
    for label in LABELS:
        doc.set_ents([Span(doc, 0, 1, label=label)])
        assert COLORS[label] in displacy.render(doc, style="ent", page=False, jupyter=False)
    assert set(COLORS) == set(LABELS)


def test_each_component_tells_its_labels(nlp):
    nlp.add_pipe("pii_roster", first=True)
    labels = {name: set(nlp.get_pipe(name).labels) for name in nlp.pipe_names[:-1]}
    assert labels["pii_context"] == set(NAME_LABELS)
    assert labels["pii_ruler"] == set(DETAIL_LABELS)
    assert labels["pii_roster"] == {"NAME_STUDENT", "EMAIL", "USERNAME", "ID_NUM"}
    assert {"NAME_STUDENT", "EMAIL"} < labels["hips_surrogate"]
    assert "NAME_CITED" not in labels["hips_surrogate"]


def test_labels_of_users_go_through_the_pipeline(nlp):
    nlp.get_pipe("pii_ruler").add_patterns(
        [
            {"label": "LOCKER", "id": "locker", "regex": r"\bL-\d{3}\b"},
            {"label": "CLUB", "id": "club", "pattern": "Chess Club"},
        ]
    )
    doc = nlp("My locker is L-204, near the Chess Club.")
    assert [(s.text, s.label_) for s in doc.spans["pii"]] == [
        ("L-204", "LOCKER"),
        ("Chess Club", "CLUB"),
    ]
    assert doc._.deidentified == "My locker is [LOCKER], near the [CLUB]."
    assert {"LOCKER", "CLUB"} < set(nlp.pipe_labels["pii_ruler"])


def test_warnings_stand_at_the_users_line(monkeypatch):
    monkeypatch.delenv("PII_EDU_KEY", raising=False)
    nlp = spacy.blank("en")
    nlp.add_pipe("pii_ruler")
    nlp.add_pipe("hips_surrogate")
    with pytest.warns(PiiWarning) as seen:
        list(nlp.pipe([SCORED]))
    assert [str(one.message)[1:5] for one in seen] == ["W001", "W401"]
    assert {one.filename for one in seen} == {__file__}
