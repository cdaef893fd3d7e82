"""The shapes of requests and answers, for `/openapi.json`. They describe; Presidio's own classes decide what is accepted.

A model that checked a request would answer with its own words and codes, where Presidio's services have theirs.
"""

from typing import Any

from pydantic import BaseModel, Field
from pydantic.json_schema import models_json_schema

_TEXT = "A text, or a list of texts."


class AdHocPattern(BaseModel):
    """A pattern of an ad hoc recognizer."""

    name: str
    regex: str
    score: float


class AdHocRecognizer(BaseModel):
    """A recognizer for one request: patterns, or a deny list."""

    name: str | None = None
    supported_entity: str
    supported_language: str = "en"
    patterns: list[AdHocPattern] | None = None
    deny_list: list[str] | None = None
    deny_list_score: float = 1.0
    context: list[str] | None = None


class AnalyzeRequest(BaseModel):
    """What `POST /analyze` takes."""

    text: str | list[str] = Field(description=_TEXT, examples=["Write to nora.quill@example.edu, says Piaget (1952)."])
    language: str = Field(description="Code of the language.", examples=["en"])
    correlation_id: str | None = Field(default=None, description="Taken, as by Presidio's service; never logged.")
    score_threshold: float | None = Field(default=None, description="Least score of a result.")
    entities: list[str] | None = Field(default=None, description="Types to look for; all, if left out.")
    return_decision_process: bool = Field(default=False, description="Whether each result says why it was found.")
    ad_hoc_recognizers: list[AdHocRecognizer] | None = Field(default=None, description="For this request only.")
    context: list[str] | None = Field(default=None, description="Words that make a result near them likelier.")
    allow_list: list[str] | None = Field(default=None, description="Values that are not returned.")
    allow_list_match: str = Field(default="exact", description='"exact" or "regex".')
    regex_flags: int = Field(default=26, description="Of Python's regex, for the allow list.")


class AnalysisExplanation(BaseModel):
    """Why a result was found."""

    recognizer: str
    pattern_name: str | None = None
    pattern: str | None = None
    original_score: float
    score: float
    textual_explanation: str | None = None
    score_context_improvement: float = 0
    supportive_context_word: str = ""
    validation_result: bool | float | None = None
    regex_flags: int | None = None


class Found(BaseModel):
    """A result of `POST /analyze`; offsets are characters, end exclusive."""

    entity_type: str
    start: int
    end: int
    score: float
    analysis_explanation: AnalysisExplanation | None = None


class SpanIn(BaseModel):
    """A result that goes into `POST /anonymize`."""

    entity_type: str
    start: int
    end: int
    score: float


class HiddenIn(BaseModel):
    """An item of an anonymised text that goes into `POST /deanonymize`."""

    entity_type: str
    start: int
    end: int


class AnonymizeRequest(BaseModel):
    """What `POST /anonymize` takes."""

    text: str | list[str] = Field(description=_TEXT)
    analyzer_results: list[SpanIn] | list[list[SpanIn]] = Field(description="Of the text, or one list for each text.")
    anonymizers: dict[str, dict[str, Any]] | None = Field(
        default=None,
        description='Operator by entity type or "DEFAULT": its type and parameters.',
        examples=[{"DEFAULT": {"type": "replace", "new_value": "SOMEBODY"}}],
    )


class DeanonymizeRequest(BaseModel):
    """What `POST /deanonymize` takes."""

    text: str | list[str] = Field(description=_TEXT)
    anonymizer_results: list[HiddenIn] | list[list[HiddenIn]] = Field(description="Items of `POST /anonymize`.")
    deanonymizers: dict[str, dict[str, Any]] = Field(description='Operator by entity type or "DEFAULT".')


class Item(BaseModel):
    """What stands in the new text where something was replaced."""

    start: int
    end: int
    entity_type: str
    text: str
    operator: str
    score: float | None = None


class Operated(BaseModel):
    """A new text."""

    text: str
    items: list[Item]


class Refused(BaseModel):
    """Any answer but 200. Our own errors begin with a code, "[E854] ..."."""

    error: str


MODELS: tuple[type[BaseModel], ...] = (AnalyzeRequest, Found, AnonymizeRequest, DeanonymizeRequest, Operated, Refused)
_REF = "#/components/schemas/{model}"


def schemas() -> dict[str, Any]:
    """RETURNS (dict[str, Any]): All models, for `components.schemas` of an OpenAPI document."""
    _, definitions = models_json_schema([(model, "validation") for model in MODELS], ref_template=_REF)
    return dict(definitions["$defs"])


def takes(model: type[BaseModel]) -> dict[str, Any]:
    """RETURNS (dict[str, Any]): `requestBody` of a route. model (type[BaseModel]): Of its content."""
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": _ref(model)}}}}


def gives(model: type[BaseModel], *, many: bool) -> dict[int | str, dict[str, Any]]:
    """RETURNS (dict[int | str, dict[str, Any]]): `responses` of a route. many (bool): Whether even one text has a list of it."""
    one = {"type": "array", "items": _ref(model)} if many else _ref(model)
    both = {"anyOf": [one, {"type": "array", "items": one}]}
    told = {400: "Not readable", 413: "Too large", 500: "Refused by Presidio", 503: "Too many waiting", 504: "Took too long"}
    answers: dict[int | str, dict[str, Any]] = {200: {"description": "Done", "content": {"application/json": {"schema": both}}}}
    for code, description in told.items():
        answers[code] = {"description": description, "content": {"application/json": {"schema": _ref(Refused)}}}
    return answers


def _ref(model: type[BaseModel]) -> dict[str, str]:
    return {"$ref": _REF.format(model=model.__name__)}
