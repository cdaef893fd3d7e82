"""The mean of several trained detectors: `python -m pii_components.ner_mean first/model-last second/model-last --out mean`.

Pipelines of `transformer` and `pii_ner` that went on from the same weights lie in one basin, and the mean of their weights decides more steadily
than each (Wortsman et al. 2022, arXiv:2203.05482), at the cost of one. Trainings that began apart have no useful mean.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy
import spacy
from spacy.language import Language
from thinc.api import Model

from .errors import Errors, PiiError
from .torch_mean import average_into_first


def average(pipelines: Sequence[Language]) -> Language:
    """Average weights.

    pipelines (Sequence[Language]): Of the same components with models of one form, PyTorch's among them.
    RETURNS (Language): The first of them, changed in place. RAISES (PiiError): E309, if they differ in form, or there are none.
    """
    if not pipelines or any(nlp.pipe_names != pipelines[0].pipe_names for nlp in pipelines):
        raise PiiError(Errors.E309)
    for name, pipe in pipelines[0].pipeline:
        if isinstance(getattr(pipe, "model", None), Model):
            _average([nlp.get_pipe(name).model for nlp in pipelines])  # type: ignore[attr-defined]
    return pipelines[0]


def _average(models: Sequence[Model[Any, Any]]) -> None:
    """Write the mean of the parameters of all into the first."""
    layers = [list(model.walk()) for model in models]
    if any([layer.name for layer in found] != [layer.name for layer in layers[0]] for found in layers):
        raise PiiError(Errors.E309)
    for same in zip(*layers, strict=True):
        first = same[0]
        for name in first.param_names:
            if first.has_param(name):
                values = [layer.ops.to_numpy(layer.get_param(name)) for layer in same if layer.has_param(name)]
                if len(values) < len(same) or any(value.shape != values[0].shape for value in values):
                    raise PiiError(Errors.E309)
                first.set_param(name, first.ops.asarray(numpy.mean(values, axis=0, dtype="f8").astype(values[0].dtype)))
        for shims in zip(*(layer.shims for layer in same), strict=True):
            average_into_first([shim._model for shim in shims], error=Errors.E309)


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description="Average the weights of several detectors that went on from the same weights.")
    parser.add_argument("pipelines", type=Path, nargs="+", help="folders as `spacy train` saves them")
    parser.add_argument("--out", type=Path, required=True, help="the folder to write")
    args = parser.parse_args()
    average([spacy.load(path) for path in args.pipelines]).to_disk(args.out)


if __name__ == "__main__":
    main()
