"""The reader of `pii_context` in torch: `model = new_model(folder, dropout=.1)`, and what ships of it: `to_reader(model, vocabulary)`."""

from collections import OrderedDict
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn

from .context_blind import PLACEHOLDERS, PLACES
from .context_model import CLASSES
from .context_reader import HEAD, Head, PersonReader
from .cpu_training import quicken
from .encoder import WEIGHTS, find_weights
from .errors import Errors, PiiError
from .onnx_graph import PREFIX, encoder_graph, encoder_state

SOME_NAMES = ("maria", "john", "anna", "garcia", "smith", "brown")  # placeholders begin at the mean of their pieces


class ReaderModel(nn.Module):
    """Encoder, placeholders and head in torch; see `context_reader.PersonReader` for what they do."""

    def __init__(self, encoder: nn.Module, width: int, like: Tensor, *, hidden: int = 384, dropout: float = 0.1) -> None:
        """encoder (nn.Module): Of the curated transformers. width (int): Of its vectors. like (Tensor): Where placeholders begin, `(width,)`."""
        super().__init__()
        self.encoder = encoder
        self.placeholders = nn.Parameter(like + 0.02 * torch.randn(3 * PLACES, width))
        self.attention = nn.Linear(width, 1)
        self.hidden = nn.Linear(2 * width, hidden)
        self.output = nn.Linear(hidden, len(CLASSES))
        self.dropout = nn.Dropout(dropout)

    def forward(self, pieces: Tensor, lengths: Tensor, spans: Tensor, owners: Tensor, n_persons: int) -> Tensor:
        """Logits.

        pieces (Tensor): Shape `(n_windows, n_pieces)`, placeholders below 0. lengths (Tensor): Pieces of each window.
        spans (Tensor): Window, first piece and end of each mention, shape `(n_mentions, 3)`. owners (Tensor): Person of each.
        RETURNS (Tensor): Shape `(n_persons, 6)`.
        """
        vectors = self._encoded(pieces, lengths)
        width = vectors.shape[-1]
        sizes = spans[:, 2] - spans[:, 1]
        member = torch.repeat_interleave(torch.arange(len(spans), device=pieces.device), sizes)
        within = torch.arange(len(member), device=pieces.device) - torch.repeat_interleave(sizes.cumsum(0) - sizes, sizes)
        rows = spans[member, 0] * pieces.shape[1] + spans[member, 1] + within
        mentions = vectors.new_zeros(len(spans), width).index_add_(0, member, vectors.reshape(-1, width)[rows]) / sizes[:, None]
        scores = self.attention(mentions)[:, 0]
        weights = torch.exp(scores - scores.max().detach())
        shares = weights / vectors.new_zeros(n_persons).index_add_(0, owners, weights)[owners]
        pooled = vectors.new_zeros(n_persons, width).index_add_(0, owners, mentions * shares[:, None])
        most = vectors.new_full((n_persons, width), -1e4)
        most = most.scatter_reduce(0, owners[:, None].expand_as(mentions), mentions, "amax")
        return cast(Tensor, self.output(self.dropout(torch.relu(self.hidden(torch.cat([pooled, most], dim=1))))))

    def _encoded(self, pieces: Tensor, lengths: Tensor) -> Tensor:
        from curated_transformers.models.attention import AttentionMask

        bert: Any = self.encoder.curated_encoder
        parts = bert.embeddings
        words = parts.word_embeddings(pieces.clamp_min(0))
        words = torch.where((pieces < 0)[..., None], self.placeholders[(-1 - pieces).clamp_min(0)], words)
        places = parts.position_embeddings.weight[: pieces.shape[1]] + parts.token_type_embeddings.weight[0]
        x = parts.dropout(parts.layer_norm(words + places))
        mask = AttentionMask(torch.arange(pieces.shape[1], device=pieces.device)[None] < lengths[:, None])
        with torch.autocast(pieces.device.type, dtype=torch.bfloat16):
            for layer in bert.layers:
                x = layer(x, mask)
        return x.float()


def new_model(encoder: Path, *, seed: int = 46, dropout: float = 0.1, frozen: int = 0, heads: int = 12) -> ReaderModel:
    """A model that has not learned anything yet.

    encoder (Path): Folder with the weights to start from, see `pii_components.encoder`. seed (int): Of what is drawn.
    dropout (float): See `cpu_training.quicken`. frozen (int): Lowest layers that are kept as they are.
    heads (int): Of attention.
    RETURNS (ReaderModel): With placeholders at the mean of some names' pieces. RAISES (PiiError): E106 without weights.
    """
    torch.manual_seed(seed)
    vocabulary = read_vocabulary(encoder)
    state = read_weights(encoder)
    known = [vocabulary.index(name) for name in SOME_NAMES if name in vocabulary] or [0]
    like = state[PREFIX + "embeddings.word_embeddings.weight"][known].mean(dim=0)
    return _model(state, like, dropout=dropout, frozen=frozen, heads=heads)


def from_reader(reader: PersonReader, *, seed: int = 46, dropout: float = 0.1, frozen: int = 0, heads: int = 12) -> ReaderModel:
    """A reader to go on training, as near as what it was rounded to: what ships has 8 bits.

    reader (PersonReader): It, of its own vocabulary. Others as in `new_model`. RETURNS (ReaderModel): The same in torch.
    """
    torch.manual_seed(seed)
    state = {name: torch.from_numpy(value) for name, value in encoder_state(reader.shim.graph).items()}
    places = state[PREFIX + "embeddings.word_embeddings.weight"][torch.from_numpy(reader.placeholders)]
    model = _model(state, places.mean(dim=0), dropout=dropout, frozen=frozen, heads=heads)
    head = {name: torch.from_numpy(getattr(reader.head, name)) for name in HEAD}
    with torch.no_grad():
        model.placeholders.copy_(places)
        for name, layer in (("attention", model.attention), ("hidden", model.hidden), ("output", model.output)):
            layer.weight.copy_(head[name].reshape(layer.weight.shape))
            layer.bias.copy_(head[f"{name}_bias"].reshape(layer.bias.shape))
    return model


def _model(state: dict[str, Tensor], like: Tensor, *, dropout: float, frozen: int, heads: int) -> ReaderModel:
    from curated_transformers.models.bert import BertConfig, BertEncoder
    from curated_transformers.models.curated_transformer import CuratedTransformer

    words, inner = state[PREFIX + "embeddings.word_embeddings.weight"], state[PREFIX + "layers.0.ffn.intermediate.weight"]
    width = words.shape[1]
    config = BertConfig(
        embedding_width=width, hidden_width=width, intermediate_width=inner.shape[0], vocab_size=len(words),
        num_attention_heads=heads, num_hidden_layers=1 + max(int(name.split(".")[2]) for name in state if ".layers." in name),
        max_position_embeddings=len(state[PREFIX + "embeddings.position_embeddings.weight"]),
    )  # fmt: skip
    wrapped: Any = CuratedTransformer(BertEncoder(config))
    wrapped.load_state_dict(state)
    quicken(wrapped, dropout=dropout)
    bert = wrapped.curated_encoder
    reader = ReaderModel(wrapped, width, like, dropout=dropout)
    for kept in (bert.embeddings.word_embeddings, *bert.layers[:frozen]):
        kept.requires_grad_(False)
    return reader


def read_weights(encoder: Path) -> dict[str, Tensor]:
    """Weights by their names in the curated transformers.

    encoder (Path): A folder. RETURNS (dict[str, Tensor]): 32 bits each. RAISES (PiiError): E106, if it holds none.
    """
    from curated_transformers.models.bert import BertConfig, BertEncoder
    from curated_transformers.models.curated_transformer import CuratedTransformer
    from curated_transformers.models.hf_util import convert_pretrained_model_for_encoder

    weights = find_weights(encoder)
    if weights is None:
        raise PiiError(Errors.E106, path=str(encoder), names=" or ".join(WEIGHTS))
    if weights.suffix == ".pt":
        return {key: value.float() for key, value in torch.load(weights, map_location="cpu", weights_only=True).items()}
    from safetensors.torch import load_file

    tiny = BertConfig(
        embedding_width=2, hidden_width=2, intermediate_width=2, num_attention_heads=1, num_hidden_layers=1, vocab_size=2
    )
    kind: Any = CuratedTransformer(BertEncoder(tiny))  # says which names to expect
    return dict(convert_pretrained_model_for_encoder(kind, OrderedDict(load_file(weights))))


def read_vocabulary(encoder: Path) -> list[str]:
    """RETURNS (list[str]): The pieces of an encoder. encoder (Path): Its folder."""
    return (encoder / "vocab.txt").read_text("utf8").splitlines()


def to_reader(model: ReaderModel, vocabulary: list[str], *, quantized: bool = True, heads: int = 12) -> PersonReader:
    """What ships.

    model (ReaderModel): Trained. vocabulary (list[str]): Its pieces. quantized (bool): 8 bits instead of half precision.
    heads (int): Of attention. RETURNS (PersonReader): The same on onnxruntime, placeholders in the place of free pieces.
    """
    state = {PREFIX + name: value.float().cpu().numpy() for name, value in model.encoder.curated_encoder.state_dict().items()}  # type: ignore[union-attr]
    name = PREFIX + "embeddings.word_embeddings.weight"
    state[name] = state[name].copy()
    state[name][[vocabulary.index(piece) for piece in PLACEHOLDERS]] = model.placeholders.detach().cpu().numpy()
    parts = {
        "attention": model.attention.weight[0], "attention_bias": model.attention.bias[0], "hidden": model.hidden.weight,
        "hidden_bias": model.hidden.bias, "output": model.output.weight, "output_bias": model.output.bias,
    }  # fmt: skip
    head = Head(**{key: value.detach().cpu().numpy() for key, value in parts.items()})
    return PersonReader(encoder_graph(state, heads=heads, quantized=quantized), vocabulary, head)
