"""Encoders of the curated transformers that learn faster on processors: `quicken(encoder)`, `compute_in_bfloat16(encoder)`. Needs torch."""

from typing import Any

import torch
from curated_transformers.models.attention import ScaledDotProductAttention
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention


class FusedAttention(nn.Module):
    """torch's own attention, without dropout, of tensors `(batch, heads, seq, width)`."""

    def forward(self, k: Tensor, q: Tensor, v: Tensor, attn_mask: Any) -> Tensor:
        mask = attn_mask.bool_mask.view(q.shape[0], 1, 1, -1)
        return scaled_dot_product_attention(q, k, v, attn_mask=mask)


class SequenceDropout(nn.Module):
    """Dropout with one mask for all places of a sequence (Gal and Ghahramani 2016, arXiv:1512.05287): a hundredth of the random numbers."""

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or not self.p:
            return x
        kept = torch.rand(x.shape[0], 1, x.shape[-1], device=x.device) > self.p
        return x * kept.to(x.dtype) / (1 - self.p)


def quicken(encoder: nn.Module, *, dropout: float = 0.0) -> nn.Module:
    """RETURNS (nn.Module): The same encoder with the parts above. dropout (float): Share of a layer's output that is dropped in training, 0 to 1."""
    for module in list(encoder.modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, ScaledDotProductAttention):
                setattr(module, name, FusedAttention())
            elif isinstance(child, nn.Dropout):
                setattr(module, name, SequenceDropout(dropout))
    return encoder


def has_bfloat16() -> bool:
    """RETURNS (bool): Whether this processor multiplies bfloat16 itself. Where torch has to imitate it, a training step takes eight times as long."""
    return bool(torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported())


def compute_in_bfloat16(encoder: nn.Module) -> nn.Module:
    """RETURNS (nn.Module): The same encoder, which computes in bfloat16 on processors; its weights and outputs stay 32 bits."""
    forward = encoder.forward

    def with_bfloat16(*args: Any, **kwargs: Any) -> Any:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            output = forward(*args, **kwargs)
        output.all_outputs = [layer.float() for layer in output.all_outputs]
        return output

    encoder.forward = with_bfloat16  # type: ignore[method-assign]
    return encoder
