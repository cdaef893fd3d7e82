"""The systems that a comparison can name, and how a name becomes a system.

    system = make_system("presidio-md")                 # a spaCy package that is installed
    system = make_system("presidio-md:/models/md")      # or a folder
    specs = parse_systems("en_pii_edu,presidio-md-four,azure,old=stored:predictions/old.jsonl")

A spec is `[NAME=]SYSTEM[:PATH]`: one of `SYSTEMS`, the path of a spaCy pipeline, or the name of an installed one. Nothing is loaded
before `make_system`, so a list can be checked before the first of its systems runs; and nothing is downloaded, ever.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ..errors import Errors, PiiError
from ..profiles import Profile
from .azure import AzureSystem, credentials
from .baselines_spacy import (
    OURS,
    PRESIDIO_MODELS,
    find_model,
    is_pipeline,
    load_any,
    load_ours,
    load_presidio,
    load_spacy_ner,
    load_tok2vec,
)
from .baselines_stored import SUFFIXES, StoredSystem
from .command import split_list
from .systems import System

# A name in front: no path looks like this, and a path may hold "=".
_NAMED = re.compile(r"([\w.+-]+)=(.+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Spec:
    """A system as somebody asked for it.

    name (str): In tables. kind (str): One of `SYSTEMS`; empty for a pipeline of one's own.
    argument (str): The path after ":", or the pipeline of one's own.
    """

    name: str
    kind: str
    argument: str = ""


@dataclass(frozen=True, slots=True)
class Setting:
    """What all systems of a comparison share.

    protects (Callable[[str], bool]): From a profile: whether a label of ours is hidden.
    data_sha256 (str): Checksum of the gold file, which stored predictions must be for; empty if it is not known.
    """

    protects: Callable[[str], bool]
    data_sha256: str = ""


Factory = Callable[[Spec, Setting], System]


def _presidio(size: str, entities: str) -> Factory:
    def make(spec: Spec, _setting: Setting) -> System:
        return load_presidio(find_model(spec.kind, size, spec.argument), entities=entities, name=spec.name)

    return make


def _presidio_of(entities: str) -> Factory:
    def make(spec: Spec, _setting: Setting) -> System:
        return load_presidio(spec.argument, entities=entities, name=spec.name)

    return make


def _ours(spec: Spec, setting: Setting) -> System:
    return load_ours(spec.argument or OURS, protects=setting.protects, name=spec.name)


def _tok2vec(spec: Spec, setting: Setting) -> System:
    return load_tok2vec(spec.argument, protects=setting.protects, name=spec.name)


def _spacy_ner(spec: Spec, _setting: Setting) -> System:
    return load_spacy_ner(spec.argument, name=spec.name)


def _stored(spec: Spec, setting: Setting) -> System:
    return StoredSystem(Path(spec.argument), name=spec.name, data_sha256=setting.data_sha256)


def _azure(entities: str) -> Factory:
    def make(spec: Spec, _setting: Setting) -> System:
        return AzureSystem.from_environment(entities=entities, name=spec.name)

    return make


SYSTEMS: dict[str, Factory] = {
    OURS: _ours,
    "pii-edu-tok2vec": _tok2vec,
    **{f"presidio-{size}": _presidio(size, "wide") for size in PRESIDIO_MODELS},
    **{f"presidio-{size}-four": _presidio(size, "four") for size in PRESIDIO_MODELS},
    "presidio": _presidio_of("wide"),
    "presidio-four": _presidio_of("four"),
    "spacy": _spacy_ner,
    "azure": _azure("wide"),
    "azure-four": _azure("four"),
    "stored": _stored,
}
_A_PIPELINE = "the folder of a spaCy pipeline, or the name of an installed one."
# Those that mean nothing without a path, and which one.
WITH_PATH: dict[str, str] = {
    "pii-edu-tok2vec": "train it with: weasel run train . --vars.config pii_tok2vec; it is then training/model-best",
    "presidio": _A_PIPELINE,
    "presidio-four": _A_PIPELINE,
    "spacy": _A_PIPELINE,
    "stored": "a file that ends in " + " or ".join(SUFFIXES),
}
_SIZES = {f"presidio-{size}{four}": size for size in PRESIDIO_MODELS for four in ("", "-four")}


def make_system(spec: str | Spec, *, protects: Callable[[str], bool] | None = None, data_sha256: str = "") -> System:
    """Load a system.

    spec (str | Spec): `[NAME=]SYSTEM[:PATH]`, see above.
    protects (Callable[[str], bool] | None): Which labels of our pipelines are hidden; those of the profile `crapii` if None.
    data_sha256 (str): Checksum of the gold file; stored predictions for another one are refused. Not checked if empty.
    RETURNS (System): Ready to be given to `run_system`.
    RAISES (PiiError): E740 if there is no such system, E741 to E751 if it lacks something, E005, E516, E517, E705.
    """
    asked = parse_spec(spec) if isinstance(spec, str) else spec
    check_spec(asked)
    setting = Setting(protects or Profile.load("crapii").protects, data_sha256)
    if asked.kind:
        return SYSTEMS[asked.kind](asked, setting)
    return load_any(asked.argument, protects=setting.protects, name=asked.name)


def parse_systems(text: str) -> tuple[Spec, ...]:
    """Read a list of systems and check that each can be had, without loading any: the last of them may run hours later.

    text (str): Specs with commas between them.
    RETURNS (tuple[Spec, ...]): In order. RAISES (PiiError): E740 to E747, E752, E501.
    """
    specs = tuple(parse_spec(part) for part in split_list(text))
    seen: set[str] = set()
    for spec in specs:
        check_spec(spec)
        if spec.name in seen:
            raise PiiError(Errors.E744, name=spec.name)
        seen.add(spec.name)
    return specs


def parse_spec(text: str) -> Spec:
    """Read one spec, without loading anything.

    text (str): `[NAME=]SYSTEM[:PATH]`.
    RETURNS (Spec): The system, with a name that a table can show.
    RAISES (PiiError): E740, if it is none of `SYSTEMS`, no path and no installed pipeline.
    """
    text = text.strip()
    named = _NAMED.fullmatch(text)
    name, text = (named[1], named[2].strip()) if named and not Path(text).exists() else ("", text)
    kind, _, argument = text.partition(":")
    if kind in SYSTEMS:
        shown = Path(argument).stem if kind == "stored" else kind
        return Spec(name or shown or kind, kind, argument)
    if is_pipeline(text):
        return Spec(name or Path(text).name or text, "", text)
    raise PiiError(Errors.E740, got=Path(text).name or text, known=known_systems())


def check_spec(spec: Spec) -> None:
    """Check that a system is not without its path, its package or its environment variables, without loading it.

    spec (Spec): As somebody asked for it. RAISES (PiiError): E741 to E743, E745 to E747, E752, E501.
    """
    if spec.kind in WITH_PATH and not spec.argument:
        raise PiiError(Errors.E743, name=spec.kind, how=WITH_PATH[spec.kind])
    if spec.kind == "stored":
        StoredSystem(Path(spec.argument), name=spec.name)
    elif spec.kind.startswith("azure"):
        if spec.argument:
            raise PiiError(Errors.E742, name=spec.kind, got=Path(spec.argument).name)
        credentials(spec.kind)
    elif spec.argument and not is_pipeline(spec.argument):
        raise PiiError(Errors.E752, name=spec.name, got=Path(spec.argument).name)
    elif spec.kind in _SIZES:
        find_model(spec.kind, _SIZES[spec.kind], spec.argument)


def known_systems() -> str:
    """RETURNS (str): The names for a message or a help text; `:PATH` where one is needed."""
    return ", ".join(f"{name}:PATH" if name in WITH_PATH else name for name in SYSTEMS)
