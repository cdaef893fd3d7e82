"""An AnalyzerEngine in one call: our NLP engine, our recognizer and those of Presidio's that find what ours does not look for.

analyzer = build_analyzer()
analyzer = build_analyzer(pipeline=nlp, return_cited=True)
analyzer = build_analyzer(recognizers="my_recognizers.yaml")
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from .api import AnalyzerEngine, RecognizerRegistryProvider
from .engine import PiiEduNlpEngine
from .pipelines import DEFAULT_PIPELINE, MAX_CHARS
from .recognizer import StudentPiiRecognizer
from .settings import PRESIDIO, read_config

if TYPE_CHECKING:
    from spacy.language import Language

_OURS = StudentPiiRecognizer.__name__


def build_analyzer(
    *,
    pipeline: "str | Path | Language" = DEFAULT_PIPELINE,
    labels: str = PRESIDIO,
    return_cited: bool = False,
    max_chars: int = MAX_CHARS,
    recognizers: str | Path | None = None,
    default_score_threshold: float = 0.0,
) -> AnalyzerEngine:
    """Make an AnalyzerEngine for the language of a pipeline.

    pipeline (str | Path | Language), labels (str), return_cited (bool), max_chars (int): As for `StudentPiiRecognizer`.
    recognizers (str | Path | None): A list of recognizers in Presidio's YAML; the one that ships if None. What it says of
        StudentPiiRecognizer is kept, but for the pipeline and its language; if it has none, one is added.
    default_score_threshold (float): As in Presidio.
    RETURNS (AnalyzerEngine): Loaded. Nothing is downloaded.
    RAISES (PiiError): E801 to E807 for options and the pipeline, E811, E812 for the list.
    """
    engine = PiiEduNlpEngine(pipeline=pipeline, labels=labels, return_cited=return_cited, max_chars=max_chars)
    engine.load()
    (language,) = engine.get_supported_languages()
    listed = read_config(recognizers or "recognizers")
    entries: list[dict[str, Any]] = [dict(entry) for entry in listed.get("recognizers") or () if isinstance(entry, dict)]
    ours = [entry for entry in entries if _OURS in (entry.get("name"), entry.get("class_name"))]
    if not ours:
        ours = [{"name": _OURS, "type": "predefined"}]
        entries = ours + entries
    for entry in ours:
        # The pipeline is loaded once, here; the rest is the file's to say, if it is the user's.
        entry |= {"pipeline": engine.pipelines[language].nlp, "max_chars": max_chars, "supported_languages": [language]}
        if recognizers is None:
            entry |= {"labels": labels, "return_cited": return_cited}
    registry = RecognizerRegistryProvider(
        registry_configuration={**listed, "supported_languages": [language], "recognizers": entries}
    ).create_recognizer_registry()
    return AnalyzerEngine(
        registry=registry,
        nlp_engine=engine,
        supported_languages=[language],
        default_score_threshold=default_score_threshold,
    )
