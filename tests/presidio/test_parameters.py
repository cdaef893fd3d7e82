"""Each parameter of Presidio's engines does with our recognizer what it does with built-in ones that find the same; docs/presidio.md has the
table. Everyone is invented."""

import inspect
import re
from pathlib import Path

import pytest

pytest.importorskip("presidio_analyzer")

import spacy
from presidio_analyzer import (
    AnalyzerEngine,
    BatchAnalyzerEngine,
    LemmaContextAwareEnhancer,
    Pattern,
    PatternRecognizer,
    RecognizerRegistry,
)
from presidio_analyzer.app_tracer import AppTracer

from pii_components.presidio import PiiEduNlpEngine, StudentPiiRecognizer

from .common import names_pipeline
from .test_recognizer import spacy_engine

DOC = Path(__file__).parents[2] / "docs/presidio.md"
TEXT = "Ana Lopez told Ms. Roe on May 4, 2021."
DAYS = PatternRecognizer("WORD", deny_list=["told"])
WEAK = LemmaContextAwareEnhancer(context_similarity_factor=0.1)


def made(recognizers, nlp_engine, *, thresholds=None, **options):
    for recognizer in recognizers:
        recognizer.score_thresholds = thresholds or {}
    return AnalyzerEngine(
        nlp_engine=nlp_engine, registry=RecognizerRegistry(recognizers), **options
    )


def ours(*, entities=None, context=("pupil",), **options):
    nlp = names_pipeline()
    return made(
        [StudentPiiRecognizer(pipeline=nlp, supported_entities=entities, context=context)],
        PiiEduNlpEngine(pipeline=nlp),
        **options,
    )


def built_in(*, entities=("PERSON", "DATE_TIME"), context=("pupil",), **options):
    patterns = {
        "PERSON": [("Ana Lopez", 0.9375), (r"Ms\. Roe", 0.625)],
        "DATE_TIME": [("May 4, 2021", 0.5)],
    }
    found = [
        PatternRecognizer(e, patterns=[Pattern(e, *p) for p in patterns[e]], context=list(context))
        for e in entities
    ]
    return made(found, spacy_engine(spacy.blank("en")), **options)


def told(results):
    return sorted((r.start, r.end, r.entity_type, round(r.score, 4)) for r in results)


def analyzed(make, options=None, /, language="en", **asked):
    return told(make(**options or {}).analyze(TEXT, language, **asked))


def refused(make, options=None, /, **asked):
    with pytest.raises(ValueError) as error:
        analyzed(make, options, **asked)
    return str(error.value)


def explained(make, **asked):
    results = make().analyze(TEXT, "en", return_decision_process=True, **asked)
    whys = [(r.start, r.analysis_explanation) for r in results]
    named = [
        r.recognition_metadata.keys() >= {"recognizer_name", "recognizer_identifier"}
        for r in results
    ]
    return named, sorted(
        (start, why.original_score, why.score, why.supportive_context_word) for start, why in whys
    )


def traced(make, **asked):
    class Tracer(AppTracer):
        seen = []

        def trace(self, request_id, trace):
            self.seen.append((request_id, "entities" in trace or "entity_type" in trace))

    analyzed(make, {"app_tracer": Tracer(), "log_decision_process": True}, **asked)
    return Tracer.seen


def with_artifacts(make):
    engine = make()
    artifacts = engine.nlp_engine.process_text(TEXT, "en")
    engine.nlp_engine.process_text = None  # it is not asked again
    return told(engine.analyze(TEXT, "en", nlp_artifacts=artifacts))


def batch(make, *args, **options):
    return [
        told(results)
        for results in BatchAnalyzerEngine(make()).analyze_iterator(
            [TEXT, "", 7, TEXT], "en", *args, **options
        )
    ]


def record(make, **options):
    found = BatchAnalyzerEngine(make()).analyze_dict(
        {"pupil": TEXT, "id": TEXT, "all": {"one": [TEXT]}}, "en", **options
    )
    return {one.key: told(one.recognizer_results) for one in found if one.key != "all"}


def table(make):
    structured, pandas = pytest.importorskip("presidio_structured"), pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {"who": ["Ana Lopez", "Ms. Roe"], "day": ["May 4, 2021"] * 2, "n": [1, 2]}
    )
    whole = structured.JsonAnalysisBuilder(make(default_score_threshold=0.6)).generate_analysis(
        {"who": "Ms. Roe", "on": {"day": "May 4, 2021"}}
    )
    return structured.PandasAnalysisBuilder(make()).generate_analysis(
        frame
    ).entity_mapping, whole.entity_mapping


# Parameter -> a call, and what it returns.
EVERYTHING = [(0, 9, "PERSON", 0.9375), (15, 22, "PERSON", 0.625), (26, 37, "DATE_TIME", 0.5)]
PARAMETERS = {
    "text": (analyzed, EVERYTHING),
    "language": (
        lambda make: refused(make, language="de"),
        "No matching recognizers were found to serve the request.",
    ),
    "entities": (lambda make: analyzed(make, entities=["DATE_TIME", "US_SSN"]), EVERYTHING[2:]),
    "score_threshold": (
        lambda make: analyzed(make, {"thresholds": {"PERSON": 0.9}}, score_threshold=0.6),
        EVERYTHING[:2],
    ),
    "return_decision_process": (
        explained,
        ([True] * 3, [(0, 0.9375, 0.9375, ""), (15, 0.625, 0.625, ""), (26, 0.5, 0.5, "")]),
    ),
    "correlation_id": (lambda make: traced(make, correlation_id="7"), [("7", True)] * 2),
    "ad_hoc_recognizers": (
        lambda make: analyzed(make, ad_hoc_recognizers=[DAYS]),
        [EVERYTHING[0], (10, 14, "WORD", 1.0), *EVERYTHING[1:]],
    ),
    "context": (
        lambda make: explained(make, context=["Pupil"])[1][1:],
        [(15, 0.625, 0.975, "pupil"), (26, 0.5, 0.85, "pupil")],
    ),
    "allow_list": (
        lambda make: analyzed(make, allow_list=["Ms. Roe", "ana lopez"]),
        [EVERYTHING[0], EVERYTHING[2]],
    ),
    "allow_list_match": (
        lambda make: analyzed(make, allow_list=["^MS", r"\d{4}"], allow_list_match="regex"),
        EVERYTHING[:1],
    ),
    "regex_flags": (
        lambda make: analyzed(make, allow_list=["^MS"], allow_list_match="regex", regex_flags=0),
        EVERYTHING,
    ),
    "nlp_artifacts": (with_artifacts, EVERYTHING),
    "registry": (lambda make: analyzed(make, {"entities": ["PERSON"]}), EVERYTHING[:2]),
    "nlp_engine": (
        lambda make: analyzed(
            lambda: made(make().registry.recognizers, spacy_engine(spacy.blank("en")))
        ),
        EVERYTHING,
    ),
    "app_tracer, log_decision_process": (traced, [(None, True)] * 2),
    "default_score_threshold": (
        lambda make: analyzed(make, {"default_score_threshold": 0.6}),
        EVERYTHING[:2],
    ),
    "supported_languages": (
        lambda make: refused(make, {"supported_languages": ["de"]})[:20],
        "Misconfigured engine",
    ),
    "context_aware_enhancer": (
        lambda make: analyzed(make, {"context_aware_enhancer": WEAK}, context=["pupil"])[2],
        (26, 37, "DATE_TIME", 0.6),
    ),
    "score_thresholds": (
        lambda make: analyzed(make, {"thresholds": {"PERSON": 0.9, "default": 0.4}}),
        [EVERYTHING[0], EVERYTHING[2]],
    ),
    "texts, batch_size": (
        lambda make: batch(make, 2, score_threshold=0.6),
        [EVERYTHING[:2], [], [], EVERYTHING[:2]],
    ),
    "n_process": (lambda make: batch(make, n_process=2), [EVERYTHING, [], [], EVERYTHING]),
    "input_dict, keys_to_skip": (
        lambda make: record(make, keys_to_skip=["id"], entities=["DATE_TIME"]),
        {"pupil": [(26, 37, "DATE_TIME", 0.85)], "id": []},
    ),
    "presidio-structured": (table, ({"who": "PERSON", "day": "DATE_TIME"}, {"who": "PERSON"})),
}


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("make", [ours, built_in])
@pytest.mark.parametrize("name", PARAMETERS)
def test_parameter(name, make):
    call, expected = PARAMETERS[name]
    assert call(make) == expected


def test_no_parameter_is_missing():
    methods = [
        AnalyzerEngine.analyze,
        AnalyzerEngine.__init__,
        BatchAnalyzerEngine.analyze_iterator,
        BatchAnalyzerEngine.analyze_dict,
    ]
    names = {name for method in methods for name in inspect.signature(method).parameters}
    assert names - {"self", "kwargs"} <= {
        name for names in PARAMETERS for name in names.split(", ")
    }


@pytest.mark.skipif(not DOC.is_file(), reason="docs/ are not in an installed wheel")
def test_page_has_the_table():
    (rows,) = re.findall(
        r"^\| parameter \|.*\n\| --- .*\n((?:\|.*\n)+)", DOC.read_text("utf8"), re.MULTILINE
    )
    assert [row.split(" | ")[0].strip("| ").replace("`", "") for row in rows.splitlines()] == list(
        PARAMETERS
    )
