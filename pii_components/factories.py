"""The factories of our components, which entry points name. Every `spacy.blank()` in the environment imports this module, so it is light:
a component's own module is imported when the component is made.
"""

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy
from spacy.language import Language
from spacy.pipeline import Pipe
from spacy.tokens import Doc
from spacy.training import Corpus, Example
from thinc.api import Config, Model
from thinc.types import Floats2d

from .errors import Errors, PiiError
from .labels import INDIRECT_LABELS
from .profiles import Profile
from .spans import SPANS_KEY, EntsFilter, read_gold

KEY_ENV = "PII_EDU_KEY"
# What is assigned, for nlp.analyze_pipes.
SPANS = [
    "doc.spans",
    "span._.pii_source",
    "span._.pii_role",
    "span._.pii_reason",
    "span._.pii_score",
]
ENTS = ["doc.ents", "token.ent_iob", "token.ent_type"]
ENTS_FILTER = {"@misc": "spacy.prioritize_new_ents_filter.v1"}
# What is protected; it does not choose among checkpoints.
ENTS_WEIGHTS = {"ents_f5": 0.0, "ents_p": 0.0, "ents_r": 0.0, "ents_f": 0.0, "ents_per_type": None}
DEFAULT_MODEL = Config().from_str("""
[model]
@architectures = "pii_edu.TokenClassifier.v1"

[model.tok2vec]
@architectures = "spacy.HashEmbedCNN.v2"
pretrained_vectors = null
width = 96
depth = 4
embed_size = 2000
window_size = 1
maxout_pieces = 3
subword_features = true
""")["model"]


@Language.factory(
    "pii_ner",
    assigns=SPANS,
    default_config={
        "model": DEFAULT_MODEL,
        "spans_key": SPANS_KEY,
        **dict.fromkeys(("thresholds", "operating_point", "class_weights")),
        "scorer": {"@scorers": "pii_edu.pii_scorer.v1"},
    },
    default_score_weights={
        "pii_f5": 1.0,
        "pii_p": 0.0,
        "pii_r": 0.0,
        "pii_f": 0.0,
        "pii_per_type": None,
    },
)
def make_pii_ner(
    nlp: Language,
    name: str,
    *,
    model: Model[list[Doc], list[Floats2d]],
    spans_key: str,
    thresholds: dict[str, float] | None,
    operating_point: str | None,
    class_weights: dict[str, float] | None,
    scorer: Callable | None,
) -> Pipe:
    """Make a `pii_ner`; see `PiiTokenClassifier` for the settings. None: as saved, else the default."""
    from .ner.component import PiiTokenClassifier

    settings: dict[str, Any] = {
        "thresholds": thresholds,
        "class_weights": class_weights,
        "operating_point": operating_point,
    }
    made = PiiTokenClassifier(
        nlp.vocab, model, name, spans_key=spans_key, scorer=scorer, **settings
    )
    made.bind_to(nlp)
    return made


@Language.component("pii_cleaner")
def clean_doc(doc: Doc) -> Doc:
    """Last in the pipeline: drop the encoder's output, a megabyte an essay, which would go into every DocBin.

    RETURNS (Doc): The same, with vectors as in a pipeline that has none; spaCy's doc_cleaner leaves a `doc.vector` that fails.
    """
    doc.tensor = numpy.zeros((0,), dtype="float32")
    if Doc.has_extension("trf_data"):
        doc._.trf_data = None
    return doc


@Language.factory(
    "pii_ruler",
    assigns=SPANS,
    default_config={
        "spans_key": SPANS_KEY,
        **dict.fromkeys(("phone_regions", "shipped", "native_names")),
        "validate": False,
    },
)
def make_pii_ruler(  # noqa: PLR0917 (spaCy calls it by keyword)
    nlp: Language,
    name: str,
    spans_key: str,
    phone_regions: list[str] | None,
    shipped: bool | None,
    validate: bool,
    native_names: bool | None,
) -> Pipe:
    """Make a `pii_ruler`; see `PiiRuler` for the settings. None: as saved, else the default.

    native_names (bool | None): Of earlier versions, not used: the model finds names in scripts of their own.
    RETURNS (PiiRuler): Empty, but for what ships.
    """
    from .ruler.component import PiiRuler

    settings: dict[str, Any] = {"spans_key": spans_key, "phone_regions": phone_regions}
    made = PiiRuler(nlp, name, **settings, shipped=shipped, validate=validate)
    made.bind_to(nlp)
    return made


@Language.factory("pii_roster", assigns=SPANS, default_config={"spans_key": SPANS_KEY})
def make_pii_roster(nlp: Language, name: str, *, spans_key: str) -> Pipe:
    """RETURNS (PiiRoster): Without a list, which is never in a config: see `PiiRoster.set_roster`."""
    from .ruler.roster import PiiRoster

    return PiiRoster(name, spans_key=spans_key)


@Language.factory(
    "pii_context",
    assigns=[*SPANS, "span._.pii_person", *ENTS],
    requires=["doc.spans"],
    default_config={
        "model": {"@architectures": "pii_edu.EncoderVectors.v1", "width": 384},
        "spans_key": SPANS_KEY,
        "settings": None,
        "ents_filter": ENTS_FILTER,
    },
    default_score_weights=ENTS_WEIGHTS,
)
def make_pii_context(
    nlp: Language,
    name: str,
    *,
    model: Model[list[Doc], list[Floats2d]],
    spans_key: str,
    settings: dict[str, Any] | None,
    ents_filter: EntsFilter,
) -> Pipe:
    """RETURNS (PiiContext): See there for the settings. None: as saved, else the default."""
    from .context.component import PiiContext

    made = PiiContext(
        name, model=model, spans_key=spans_key, settings=settings, ents_filter=ents_filter
    )
    made.bind_to(nlp)
    return made


@Language.factory(
    "hips_surrogate",
    assigns=[*ENTS, "doc._.deidentified", "doc._.pii_offsets", "doc._.surrogate_spans"],
    requires=["doc.spans"],
    default_config={
        **dict.fromkeys(("profile", "scope", "reserved", "key_file", "strategy")),
        "key_env": KEY_ENV,
        "spans_key": SPANS_KEY,
        "ents_filter": ENTS_FILTER,
    },
    default_score_weights=ENTS_WEIGHTS,
)
def make_hips_surrogate(
    nlp: Language,
    name: str,
    *,
    profile: str | Profile | dict[str, Any] | None,
    scope: str | None,
    reserved: bool | None,
    key_file: str | None,
    key_env: str | None,
    spans_key: str,
    strategy: str | None,
    ents_filter: EntsFilter,
) -> Pipe:
    """Make the component; see `HipsSurrogate`. None: as saved, else the default."""
    from .surrogates.component import HipsSurrogate

    settings: dict[str, Any] = {
        "profile": profile,
        "scope": scope,
        "strategy": strategy,
        "reserved": reserved,
    }

    made = HipsSurrogate(
        name,
        key_file=key_file,
        key_env=key_env,
        spans_key=spans_key,
        ents_filter=ents_filter,
        **settings,
    )
    made.bind_to(nlp)
    return made


@Language.factory(
    "presidio_source",
    assigns=SPANS,
    default_config={
        **dict.fromkeys(("recognizers", "score_threshold", "language")),
        "labels": {},
        "context": [],
        "spans_key": SPANS_KEY,
    },
)
def make_presidio_source(
    nlp: Language,
    name: str,
    *,
    recognizers: list[str | dict[str, Any]] | None,
    labels: dict[str, str],
    score_threshold: float | None,
    context: list[str],
    language: str | None,
    spans_key: str,
) -> Pipe:
    """RETURNS (PresidioSource): See there for the settings. None: as saved, else the default."""
    from .presidio.source import PresidioSource

    settings: dict[str, Any] = {
        "recognizers": recognizers,
        "labels": labels,
        "score_threshold": score_threshold,
        "context": context,
    }
    made = PresidioSource(nlp, name, language=language, spans_key=spans_key, **settings)
    made.bind_to(nlp)
    return made


def make_add_labels(labels: list[str], *, pipe: str = "pii_ner") -> Callable[[Language], None]:
    """RETURNS (Callable[[Language], None]): For `[initialize.before_init]`: gives a detector, which may have learned others, labels to learn.

    labels (list[str]): Ours or a user's own, such as COURSE. pipe (str): Name of the detector. RAISES (PiiError): E002 for what is no label."""

    def add(nlp: Language) -> None:
        detector: Any = nlp.get_pipe(pipe)
        for label in labels:
            if detector.add_label(label):
                # So that the config says it, for spaCy's find-threshold.
                detector.thresholds.setdefault(detector.labels[-1], 0.5)

    return add


def make_essay_corpus(
    path: str | Path,
    *,
    shuffle: bool = False,
    clean_share: float = 1.0,
    seed: int = 0,
    limit: int = 0,
) -> Callable[[Language], Iterator[Example]]:
    """RETURNS (Callable[[Language], Iterator[Example]]): The reader of a .spacy file, called once per epoch.

    path (str | Path): The file. shuffle (bool): Another order in each epoch.
    clean_share (float): Share of the documents without spans that an epoch sees, 0 to 1.
    seed (int): Of the order and of that choice. limit (int): Documents at most; 0 for all. RAISES (PiiError): E604, E650.
    """
    path = Path(path)
    if not 0 <= clean_share <= 1:
        raise PiiError(
            Errors.E650, name="clean_share", value=clean_share, allowed="a number from 0 to 1"
        )
    epoch = 0

    def read(nlp: Language) -> Iterator[Example]:
        nonlocal epoch
        if not path.is_file():
            raise PiiError(Errors.E604, path=str(path), what="corpus", task="fill-slots")
        rng = random.Random(f"{seed}|{epoch}")
        epoch += 1
        examples = list(Corpus(path, limit=limit)(nlp))
        if shuffle:
            rng.shuffle(examples)
        for eg in examples:
            if _has_direct(eg.reference) or rng.random() < clean_share:
                yield eg

    return read


def _has_direct(doc: Doc) -> bool:
    return any(span.label_ not in INDIRECT_LABELS for span in read_gold(doc) or ())


def _get_people(doc: Doc) -> dict[str, Any]:
    from .names.people import get_people

    return get_people(doc)


def _set_people(doc: Doc, people: dict[str, Any] | None) -> None:
    from .names.people import set_people

    set_people(doc, people)


# Beside those that `spans` installs: this one reads names, which spans do not know.
if not Doc.has_extension("pii_people"):
    Doc.set_extension("pii_people", getter=_get_people, setter=_set_people)
