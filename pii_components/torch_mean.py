"""The mean of the weights of several PyTorch modules of one form (Wortsman et al. 2022, arXiv:2203.05482)."""

from collections.abc import Sequence

import torch
from torch import nn

from .errors import PiiError


def average_into_first(modules: Sequence[nn.Module], *, error: str) -> None:
    """Write the mean of all weights into the first module; whole numbers stay as they are there.

    modules (Sequence[nn.Module]): At least one. error (str): Said if they differ in form. RAISES (PiiError): That.
    """
    states = [module.state_dict() for module in modules]
    shapes = [{name: tuple(value.shape) for name, value in state.items()} for state in states]
    if any(shape != shapes[0] for shape in shapes):
        raise PiiError(error)
    mean = {
        name: torch.stack([state[name].double() for state in states]).mean(dim=0).to(value.dtype)
        for name, value in states[0].items()
        if value.is_floating_point()
    }
    modules[0].load_state_dict({**states[0], **mean})
