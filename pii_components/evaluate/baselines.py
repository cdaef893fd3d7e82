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

import spacy

from ..errors import Errors, PiiError
from ..profiles import Profile
from .baselines_spacy import OURS, PRESIDIO_MODELS, find_model, load_any, load_ours, load_presidio, load_spacy_ner, load_tok2vec
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
        if not spec.argument:
            raise PiiError(Errors.E743, name=spec.kind, how="the folder of a spaCy pipeline, or the name of an installed one.")
        return load_presidio(spec.argument, entities=entities, name=spec.name)

    return make


def _ours(spec: Spec, setting: Setting) -> System:
    return load_ours(spec.argument or OURS, protects=setting.protects, name=spec.name)


def _tok2vec(spec: Spec, setting: Setting) -> System:
    return load_tok2vec(spec.argument, protects=setting.protects, name=spec.name)


def _spacy_ner(spec: Spec, _setting: Setting) -> System:
    if not spec.argument:
        raise PiiError(Errors.E743, name=spec.kind, how="the folder of a spaCy pipeline, or the name of an installed one.")
    return load_spacy_ner(spec.argument, name=spec.name)


def _stored(spec: Spec, setting: Setting) -> System:
    if not spec.argument:
        raise PiiError(Errors.E743, name=spec.kind, how="a file that ends in " + " or ".join(SUFFIXES))
    return StoredSystem(Path(spec.argument), name=spec.name, data_sha256=setting.data_sha256)


def _azure(entities: str) -> Factory:
    def make(spec: Spec, _setting: Setting) -> System:
        from .azure import AzureSystem

        if spec.argument:
            raise PiiError(Errors.E742, name=spec.kind, got=Path(spec.argument).name)
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
# Those that mean nothing without a path.
WITH_PATH = ("pii-edu-tok2vec", "presidio", "presidio-four", "spacy", "stored")


def make_system(spec: str | Spec, *, protects: Callable[[str], bool] | None = None, data_sha256: str = "") -> System:
    """Load a system.

    spec (str | Spec): `[NAME=]SYSTEM[:PATH]`, see above.
    protects (Callable[[str], bool] | None): Which labels of our pipelines are hidden; those of the profile `crapii` if None.
    data_sha256 (str): Checksum of the gold file; stored predictions for another one are refused. Not checked if empty.
    RETURNS (System): Ready to be given to `run_system`.
    RAISES (PiiError): E740 if there is no such system, E741 to E751 if it lacks something, E005, E516, E517, E705.
    """
    asked = parse_spec(spec) if isinstance(spec, str) else spec
    setting = Setting(protects or Profile.load("crapii").protects, data_sha256)
    if asked.kind:
        return SYSTEMS[asked.kind](asked, setting)
    return load_any(asked.argument, protects=setting.protects, name=asked.name)


def parse_systems(text: str) -> tuple[Spec, ...]:
    """Read a list of systems, without loading any.

    text (str): Specs with commas between them.
    RETURNS (tuple[Spec, ...]): In order. RAISES (PiiError): E740, E744.
    """
    specs = tuple(parse_spec(part) for part in split_list(text))
    seen: set[str] = set()
    for spec in specs:
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
    if text and (Path(text).exists() or spacy.util.is_package(text)):
        return Spec(name or Path(text).name or text, "", text)
    raise PiiError(Errors.E740, got=Path(text).name or text, known=known_systems())


def known_systems() -> str:
    """RETURNS (str): The names for a message or a help text; `:PATH` where one is needed."""
    return ", ".join(f"{name}:PATH" if name in WITH_PATH else name for name in SYSTEMS)
