"""A larger reader to learn from: MPNet (Song et al. 2020, arXiv:2004.09297) under the head of `context_reader_model.ReaderModel`.

    teacher = new_teacher(Path("encoders/all-mpnet-base-v2"), vocabulary)      # vocabulary: of the reader that will learn from it

It takes the batches of the small reader as they are, pieces are translated, so that one text gives both the same people. It does not ship.
`transformers` is needed (the extra `encoders`). `MeanModel` asks several readers, such as it and the one that goes on learning.
"""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import gelu, scaled_dot_product_attention

from .context_reader_model import SOME_NAMES, ReaderModel, read_vocabulary
from .cpu_training import SequenceDropout
from .errors import Errors, PiiError

_SPECIAL = {"[CLS]": "<s>", "[SEP]": "</s>", "[PAD]": "<pad>", "[MASK]": "<mask>"}
_FAR = -1e4


class TeacherModel(ReaderModel):
    """Encoder, placeholders and head; `forward` is that of a reader."""

    def __init__(self, encoder: Any, translation: Tensor, like: Tensor, *, dropout: float = 0.1) -> None:
        """encoder (MPNetModel): Of transformers. translation (Tensor): Its number of each piece of the reader, shape `(n_pieces,)`.
        like (Tensor): Where placeholders begin, `(width,)`. dropout (float): Share of a layer's output that is dropped, 0 to 1."""
        super().__init__(encoder, encoder.config.hidden_size, like, dropout=dropout)
        self.register_buffer("translation", translation, persistent=False)
        self.layer_dropout = SequenceDropout(dropout)

    def _encoded(self, pieces: Tensor, lengths: Tensor) -> Tensor:
        mpnet: Any = self.encoder
        parts = mpnet.embeddings
        translation: Any = self.translation
        words = parts.word_embeddings(translation[pieces.clamp_min(0)])
        words = torch.where((pieces < 0)[..., None], self.placeholders[(-1 - pieces).clamp_min(0)], words)
        first = parts.padding_idx + 1
        x = self.layer_dropout(parts.LayerNorm(words + parts.position_embeddings.weight[first : first + pieces.shape[1]]))
        beyond = torch.arange(pieces.shape[1], device=pieces.device)[None] >= lengths[:, None]
        with torch.autocast(pieces.device.type, dtype=torch.bfloat16):
            mask = mpnet.encoder.compute_position_bias(x).detach() + beyond[:, None, None] * _FAR
            mask = mask.to(torch.bfloat16).expand(len(x), -1, -1, -1)
            for layer in mpnet.encoder.layer:
                x = self._layer(layer, x, mask)
        return x.float()

    def _layer(self, layer: Any, x: Tensor, mask: Tensor) -> Tensor:
        attention = layer.attention.attn
        heads = (attention.num_attention_heads, attention.attention_head_size)
        q, k, v = (part(x).view(*x.shape[:2], *heads).transpose(1, 2) for part in (attention.q, attention.k, attention.v))
        seen = scaled_dot_product_attention(q, k, v, attn_mask=mask).transpose(1, 2).flatten(2)
        x = layer.attention.LayerNorm(x + self.layer_dropout(attention.o(seen)))
        inner = gelu(layer.intermediate.dense(x))
        return layer.output.LayerNorm(x + self.layer_dropout(layer.output.dense(inner)))  # type: ignore[no-any-return]


class MeanModel(nn.Module):
    """Several readers as one: the mean of the probabilities that they give."""

    def __init__(self, readers: Sequence[nn.Module]) -> None:
        """readers (Sequence[nn.Module]): Of the same pieces, one at least."""
        super().__init__()
        self.readers = nn.ModuleList(readers)

    def forward(self, pieces: Tensor, lengths: Tensor, spans: Tensor, owners: Tensor, n_persons: int) -> Tensor:
        """Arguments of `ReaderModel.forward`. RETURNS (Tensor): Logarithms of the mean, which are logits, shape `(n_persons, 6)`."""
        said = [torch.log_softmax(reader(pieces, lengths, spans, owners, n_persons), dim=1) for reader in self.readers]
        return torch.logsumexp(torch.stack(said), dim=0) - math.log(len(said))


def new_teacher(encoder: Path, vocabulary: list[str], *, seed: int = 46, dropout: float = 0.1, frozen: int = 0) -> TeacherModel:
    """A teacher that has not learned anything yet.

    encoder (Path): Folder of an MPNet with its `vocab.txt`. vocabulary (list[str]): Of the reader that will learn, uncased WordPiece.
    seed (int): Of what is drawn. dropout (float): See `TeacherModel`. frozen (int): Lowest layers that are kept as they are.
    RETURNS (TeacherModel): With placeholders at the mean of some names' pieces. Position biases and word vectors are kept as they are.
    RAISES (PiiError): E106 without its files, E005 without transformers.
    """
    if not (encoder / "vocab.txt").is_file() or not (encoder / "config.json").is_file():
        raise PiiError(Errors.E106, path=str(encoder), names="config.json and vocab.txt")
    try:
        from transformers import MPNetModel
    except ImportError as err:
        raise PiiError(Errors.E005, package="transformers", what="a teacher", extra="encoders") from err

    torch.manual_seed(seed)
    mpnet: Any = MPNetModel.from_pretrained(str(encoder), add_pooling_layer=False, local_files_only=True)
    number = {piece: n for n, piece in enumerate(read_vocabulary(encoder))}
    unknown = number["[UNK]"]
    translation = torch.tensor([number.get(_SPECIAL.get(piece, piece), unknown) for piece in vocabulary])
    known = [number[name] for name in SOME_NAMES if name in number] or [unknown]
    like = mpnet.embeddings.word_embeddings.weight[known].mean(dim=0).detach()
    kept: tuple[nn.Module, ...] = (mpnet.embeddings.word_embeddings, mpnet.encoder.relative_attention_bias)
    for part in (*kept, *mpnet.encoder.layer[:frozen]):
        part.requires_grad_(False)
    return TeacherModel(mpnet, translation, like, dropout=dropout)
