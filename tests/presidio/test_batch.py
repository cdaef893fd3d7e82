"""Many texts at once: BatchAnalyzerEngine on lists and dicts, presidio-structured on a CSV and a JSON file. Everyone is invented."""

import json

import pytest

pytest.importorskip("presidio_analyzer")

import spacy
from presidio_analyzer import BatchAnalyzerEngine
from presidio_anonymizer import BatchAnonymizerEngine, OperatorConfig

from pii_components.presidio import build_analyzer
from pii_components.presidio.operators import PiiEduAnonymizer

from .serving import KEY, PATTERNS, TEXT

OTHER = "Nobody is named here."
ROWS = [
    ("name,email,score,essay"),
    (f'Ina Sorel,ina.sorel@example.edu,17,"{TEXT}"'),
    (f'Odile Prath,odile.prath@example.edu,18,"{OTHER}"'),
]
RECORD = {
    "course": "C1",
    "student": {"name": "Ina Sorel", "email": "ina.sorel@example.edu", "score": 17},
    "replies": ["Odile Prath", "Ina Sorel"],
}


@pytest.fixture(scope="module")
def analyzer():
    nlp = spacy.blank("en")
    nlp.add_pipe("span_ruler", config={"spans_key": "pii"}).add_patterns(PATTERNS)
    return build_analyzer(pipeline=nlp)


def names(results, text):
    return sorted(text[r.start : r.end] for r in results if r.entity_type == "PERSON")


@pytest.mark.parametrize("batch_size", [1, 3, 500])
def test_list_is_analysed_as_its_texts_one_by_one(analyzer, batch_size):
    texts = [TEXT, OTHER, "", 12, None, True, TEXT]
    found = BatchAnalyzerEngine(analyzer).analyze_iterator(texts, "en", batch_size=batch_size)
    assert found == [analyzer.analyze(str(text), "en") for text in texts]
    assert [names(results, str(text)) for results, text in zip(found, texts)] == [
        ["Ina Sorel", "Odile Prath"], [], [], [], [], [], ["Ina Sorel", "Odile Prath"]
    ]  # fmt: skip


def test_list_of_lists_is_refused(analyzer):
    with pytest.raises(ValueError, match="primitive types"):
        BatchAnalyzerEngine(analyzer).analyze_iterator([["Ina Sorel"]], "en")


def test_dict_of_lists_and_dicts_becomes_one_without_the_people(analyzer):
    record = {
        "essay": TEXT,
        "replies": [OTHER, "Ask Odile Prath."],
        "student": {"name": "Ina Sorel", "age": 17},
        "id": "Ina Sorel",
    }
    found = BatchAnalyzerEngine(analyzer).analyze_dict(record, "en", keys_to_skip=["id"])
    engine = BatchAnonymizerEngine(PiiEduAnonymizer(key=KEY, profile="ferpa_strict"))
    hidden = engine.anonymize_dict(found, operators={"DEFAULT": OperatorConfig("hips")})
    assert hidden["id"] == "Ina Sorel" and hidden["student"]["age"] == 17 and hidden["replies"][0] == OTHER
    rest = json.dumps({key: value for key, value in hidden.items() if key != "id"})
    assert "Sorel" not in rest and "sorel" not in rest and "Prath" not in rest and "Buzan (2006)" in rest


def test_csv_by_presidio_structured(analyzer, tmp_path):
    structured = pytest.importorskip("presidio_structured")
    (tmp_path / "class.csv").write_text("\n".join(ROWS), "utf8")
    table = structured.data.CsvReader().read(tmp_path / "class.csv")
    analysis = structured.PandasAnalysisBuilder(analyzer).generate_analysis(table[["name", "email", "score"]])
    assert analysis.entity_mapping == {"name": "PERSON", "email": "EMAIL_ADDRESS"}
    # presidio-structured makes its operators itself and knows Presidio's only: ours come in as `custom`.
    hips = PiiEduAnonymizer(key=KEY)

    def hidden(text):
        return hips.anonymize(text, analyzer.analyze(text, "en"), {"DEFAULT": OperatorConfig("hips")}).text

    analysis.entity_mapping["essay"] = "ESSAY"  # a column of running text is not one value: say so
    custom = {entity: OperatorConfig("custom", {"lambda": hidden}) for entity in ("PERSON", "EMAIL_ADDRESS", "ESSAY")}
    made = structured.StructuredEngine().anonymize(table.copy(), analysis, custom)
    assert list(made["score"]) == [17, 18] and made["essay"][1] == OTHER and "Buzan (2006)" in made["essay"][0]
    out = made.to_csv(index=False)
    assert not any(name in out for name in ("Ina", "Sorel", "sorel@"))


def test_json_by_presidio_structured(analyzer, tmp_path):
    structured = pytest.importorskip("presidio_structured")
    (tmp_path / "class.json").write_text(json.dumps(RECORD), "utf8")
    record = structured.data.JsonReader().read(tmp_path / "class.json")
    analysis = structured.JsonAnalysisBuilder(analyzer).generate_analysis(record)
    assert analysis.entity_mapping == {"student.name": "PERSON", "student.email": "EMAIL_ADDRESS"}
    engine = structured.StructuredEngine(structured.data.JsonDataProcessor())
    made = engine.anonymize(record, analysis, {"DEFAULT": OperatorConfig("replace", {"new_value": "<HIDDEN>"})})
    assert made["course"] == "C1" and made["student"] == {"name": "<HIDDEN>", "email": "<HIDDEN>", "score": 17}
    # It passes over lists of texts, here as with any recognizer: those are for BatchAnalyzerEngine, as above (docs/serve.md).
    assert made["replies"] == ["Odile Prath", "Ina Sorel"]
