"""All perturbations by name.

found = perturbations()                             # without those that need a pipeline's windows
found["names_lower"](text, spans, random.Random(1))
"""

from collections.abc import Iterable, Sequence

from ..errors import Errors, PiiError
from . import perturb_attack, perturb_case, perturb_contact, perturb_layout, perturb_meaning, perturb_noise, perturb_script
from .perturb import CLASSES, Perturbation
from .perturb_length import EDGES, PARAGRAPHS, Windows, length_perturbations

_FIXED = (
    *perturb_case.PERTURBATIONS,
    *perturb_script.PERTURBATIONS,
    *perturb_layout.PERTURBATIONS,
    *perturb_noise.PERTURBATIONS,
    *perturb_contact.PERTURBATIONS,
    *perturb_attack.PERTURBATIONS,
    *perturb_meaning.PERTURBATIONS,
)


def perturbations(paragraphs: Sequence[str] = PARAGRAPHS, windows: Windows | None = None) -> dict[str, Perturbation]:
    """The registry.

    paragraphs (Sequence[str]): Clean prose that long essays are padded with. windows (Windows | None): Of the pipeline under test.
    RETURNS (dict[str, Perturbation]): By name, class by class.
    """
    found = sorted((*_FIXED, *length_perturbations(paragraphs, windows)), key=lambda p: CLASSES.index(p.kind))
    return {perturbation.name: perturbation for perturbation in found}


def choose(found: dict[str, Perturbation], names: Iterable[str]) -> dict[str, Perturbation]:
    """Some of the perturbations.

    found (dict[str, Perturbation]): All. names (Iterable[str]): Names of perturbations or of classes; none for all.
    RETURNS (dict[str, Perturbation]): In the order of the registry; without those at the edges of windows where there are none.
    RAISES (PiiError): E760, for a name that is neither.
    """
    wanted = set(names)
    for name in sorted(wanted):
        if name not in found and name not in (*CLASSES, *EDGES):
            raise PiiError(Errors.E760, name=name, classes=", ".join(CLASSES), allowed=", ".join({**found, **EDGES}))
    return {name: p for name, p in found.items() if not wanted or name in wanted or p.kind in wanted}
