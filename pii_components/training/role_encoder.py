"""Train the masked-name role encoder of `pii_context`: roles of people from the text around their names.

    texts = read_texts(path, nlp, pieces, settings)    # people of labelled texts, names as placeholders
    model = new_model(Path("assets/encoder"))
    log = train(model, texts, dev, settings)
    to_reader(model, vocabulary).to_bytes()

One decision per (document, person), as it is used. People whose gold leaves several roles open (CRAPII marks students and says nothing of
others) are learned from by what is left open. Some capitalised words that are no names are made placeholders, too, so that the reader knows
"no name". Checkpoints after each epoch; a run that was broken off goes on from the last one.
"""

import json
import logging
import os
import random
import time
from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy
import spacy
import torch
from spacy.language import Language
from spacy.tokens import Doc, DocBin, Span
from torch import Tensor, nn

from ..context.classifier import CLASSES, NOT_NAME
from ..context.component import PiiContext
from ..context.mentions import People, find_people
from ..context.role_encoder import (
    NAME,
    PLACEHOLDERS,
    PLACES,
    Blinded,
    Head,
    PersonReader,
    blind,
    cut,
    pieces_of,
)
from ..context.view import DocView
from ..labels import CONNECTED, DETAIL_LABELS, NAME_CITED, STUDENT, is_name, role_of
from ..ner.layers import has_bfloat16, quicken
from ..ner.loss import ANNOTATED, UNLABELLED_KEY
from ..spans import SPANS_KEY, Candidate
from .encoder import need_weights, read_heads, read_torch
from .onnx_export import PREFIX, WORDS, count_layers, encoder_graph, encoder_state, heads_of

logger = logging.getLogger(__name__)

_SPECIAL = 1000  # ids below are BERT's own, punctuation and placeholders
_MASK_PIECE = 103
SOME_NAMES = (
    "maria",
    "john",
    "anna",
    "garcia",
    "smith",
    "brown",
)  # placeholders begin at the mean of their pieces


@dataclass(frozen=True, slots=True)
class Settings:
    """How the reader is trained.

    epochs (int): Passes over the texts. learn_rate (float): Of the encoder, at its height; the head and the placeholders have `head_rate` times
    that. batch_pieces (int): Pieces of a batch. masked (float): Share of the pieces that are hidden. lost (float): Share of the mentions that a
    detector would have missed. strangers (float): Share of the texts in which words that are no names are made placeholders.
    dropout (float): Of the encoder. frozen (int): Lowest layers that are kept as they are. seed (int): Of everything.
    """

    epochs: int = 4
    learn_rate: float = 3e-4
    head_rate: float = 5.0
    batch_pieces: int = 6144
    masked: float = 0.05
    lost: float = 0.04
    strangers: float = 0.25
    dropout: float = 0.1
    frozen: int = 0
    seed: int = 46


class Text(NamedTuple):
    """A labelled text, and 1 for each of `CLASSES` that a person may be, shape `(n_persons, 6)`; all 0 if the gold says nothing of them."""

    blinded: Blinded
    allowed: numpy.ndarray


def people_of_gold(gold: Doc, rng: random.Random, *, strangers: float) -> list[Candidate]:
    """RETURNS (list[Candidate]): The names of a labelled text, and in a share of the texts up to three capitalised words that are none."""
    labelled, unlabelled = (gold.spans.get(key, ()) for key in (SPANS_KEY, UNLABELLED_KEY))
    found = [
        Candidate(s.start, s.end, s.label_, 0.99, "model") for s in labelled if is_name(s.label_)
    ]
    if rng.random() >= strangers:
        return found
    taken = {i for s in (*labelled, *unlabelled) for i in range(s.start, s.end)}
    free = [
        t.i for t in gold if t.i not in taken and t.text.istitle() and t.is_alpha and len(t) > 2
    ]
    for i in rng.sample(free, min(len(free), rng.randint(1, 3))):
        end = i + 1
        while end < len(gold) and end - i < 3 and end in free and rng.random() < 0.7:
            end += 1
        if not any(c.start < end and i < c.end for c in found):
            found.append(Candidate(i, end, NAME_CITED, 0.5, "model"))
    return sorted(found, key=lambda c: c.start)


def read_texts(path: Path, nlp: Language, pieces: Any, settings: Settings) -> list[Text]:
    """RETURNS (list[Text]): Those of a .spacy file with gold in `doc.spans["pii"]` that name anybody; `nlp` has `pii_context`."""
    context = cast(PiiContext, nlp.get_pipe("pii_context"))
    rng = random.Random(settings.seed)
    golds = DocBin().from_disk(path).get_docs(nlp.vocab)
    named = ((gold, people_of_gold(gold, rng, strangers=settings.strangers)) for gold in golds)
    texts = (as_text(context, gold, cands, pieces) for gold, cands in named if cands)
    return [text for text in texts if text.allowed.any()]


def as_text(context: PiiContext, gold: Doc, cands: Sequence[Candidate], pieces: Any) -> Text:
    """RETURNS (Text): A labelled text with these names, which `context` links; `pieces` is a piece encoder."""
    view = DocView(gold, context.settings)
    people, _ = find_people(view, cands, None)
    ragged = pieces.predict([gold])[0]
    blinded = blind(people, view.words, ragged.dataXd.tolist(), ragged.lengths.tolist())
    allowed = numpy.zeros((blinded.n_persons, len(CLASSES)), dtype="f4")
    for number, mentions in enumerate(mentions_of(people, gold)):
        if (classes := classes_of(gold, mentions)) is not None:
            allowed[number] = classes
    return Text(blinded, allowed)


def mentions_of(people: People, doc: Doc) -> list[list[tuple[int, int]]]:
    """RETURNS (list[list[tuple[int, int]]]): Characters, from and to, of each mention of each person."""
    spans = [doc[cand.start : cand.end] for cand in people.cands]
    return [[(spans[i].start_char, spans[i].end_char) for i in person] for person in people.persons]


def classes_of(gold: Doc, mentions: Sequence[tuple[int, int]]) -> numpy.ndarray | None:
    """RETURNS (numpy.ndarray | None): 1 for each of `CLASSES` that the gold leaves open to a person with mentions there, shape `(6,)`; None if
    it says nothing: nobody has labelled the mentions, or they are of several people."""
    spans, unlabelled = (gold.spans.get(key, ()) for key in (SPANS_KEY, UNLABELLED_KEY))
    labelled = [
        (a, b)
        for a, b in mentions
        if not any(s.start_char < b and a < s.end_char for s in unlabelled)
    ]
    votes = Counter(_label_at(spans, start, end) for start, end in labelled)
    if not votes:
        return None
    # A mention that is labelled says more than one that the annotators passed over.
    named = {label: n for label, n in votes.items() if label}
    label, n = max((named or votes).items(), key=lambda item: item[1])
    if sum(named.values()) > 1.5 * n:
        return None
    if label in DETAIL_LABELS:
        return None  # a user name or a number taken for a name: no name, but nothing to let stand either
    annotated = gold.spans[SPANS_KEY].attrs.get(ANNOTATED) if SPANS_KEY in gold.spans else None
    if not annotated:
        classes = {role_of(label) if is_name(label) else NOT_NAME}
    elif is_name(label):
        classes = {role_of(other) for other in annotated.get(label, [label])}
    else:
        # Nobody marked it, so it is none of those who would have been: classmates neither, whom CRAPII calls students.
        classes = {*CLASSES} - {STUDENT, CONNECTED}
    return numpy.asarray([name in classes for name in CLASSES], dtype="f4")


def _label_at(spans: Iterable[Span], start: int, end: int) -> str:
    """The label of the gold span that shares most characters; empty if none shares half of the mention."""
    best, most = "", 0
    for span in spans:
        shared = min(end, span.end_char) - max(start, span.start_char)
        if shared > most and 2 * shared >= min(end - start, span.end_char - span.start_char):
            best, most = span.label_, shared
    return best


class Batch(NamedTuple):
    """Texts as tensors.

    pieces (Tensor): Shape `(n_windows, n_pieces)`, placeholders below 0. lengths (Tensor): Pieces of each window. spans (Tensor): Window, first
    piece and end of each mention, shape `(n_mentions, 3)`. owners (Tensor): Person of each. allowed (Tensor): Shape `(n_persons, 6)`.
    """

    pieces: Tensor
    lengths: Tensor
    spans: Tensor
    owners: Tensor
    allowed: Tensor

    def on(self, device: str) -> "Batch":
        """RETURNS (Batch): The same on a device: "cpu", "cuda"."""
        return Batch(*(tensor.to(device) for tensor in self))


_Windows = tuple[
    list[numpy.ndarray], list[tuple[int, int, int, int]], numpy.ndarray
]  # rows, mentions, what their people may be


def batches(
    texts: Sequence[Text], rng: random.Random | None, settings: Settings
) -> Iterator[Batch]:
    """YIELDS (Batch): Texts of like length together, at most `batch_pieces` pieces with padding, but one text at least.

    rng (random.Random | None): For order, lost mentions and hidden pieces; None for none of it.
    """
    found: list[_Windows] = []
    for text in texts:
        rows, mentions = cut(
            text.blinded if rng is None else _roughened(text.blinded, rng, settings)
        )
        present = sorted({owner for *_, owner in mentions if text.allowed[owner].any()})
        if present:
            numbered = [
                (n, start, end, present.index(owner))
                for n, start, end, owner in mentions
                if owner in present
            ]
            found.append((rows, numbered, text.allowed[present]))
    if rng is not None:
        rng.shuffle(found)
        stretches = (found[at : at + 256] for at in range(0, len(found), 256))
        found = [item for some in stretches for item in sorted(some, key=_longest)]
    groups: list[list[_Windows]] = []
    n_rows = longest = 0
    for item in found:
        n_rows, longest = n_rows + len(item[0]), max(longest, _longest(item))
        if not groups or n_rows * longest > settings.batch_pieces:
            groups.append([])
            n_rows, longest = len(item[0]), _longest(item)
        groups[-1].append(item)
    if rng is not None:
        rng.shuffle(groups)
    yield from map(_stack, groups)


def _longest(item: _Windows) -> int:
    return max(map(len, item[0]))


def _stack(group: Sequence[_Windows]) -> Batch:
    rows, places, n_persons = list[Tensor](), list[tuple[int, ...]](), 0
    for windows, mentions, allowed in group:
        places += [
            (len(rows) + n, start, end, n_persons + owner) for n, start, end, owner in mentions
        ]
        rows += map(torch.from_numpy, windows)
        n_persons += len(allowed)
    spans, owners = torch.tensor(places).split((3, 1), dim=1)
    pieces, lengths = (
        nn.utils.rnn.pad_sequence(rows, batch_first=True),
        torch.tensor([len(row) for row in rows]),
    )
    return Batch(
        pieces,
        lengths,
        spans,
        owners[:, 0],
        torch.from_numpy(numpy.concatenate([item[2] for item in group])),
    )


def _roughened(blinded: Blinded, rng: random.Random, settings: Settings) -> Blinded:
    """With other numbers for the people, some pieces hidden, some mentions lost, some kinds of name not known."""
    order = list(range(PLACES))
    rng.shuffle(order)
    noise = numpy.random.default_rng(rng.getrandbits(32))
    pieces = blinded.pieces.copy()
    names = pieces < 0
    kinds, people = numpy.divmod(-1 - pieces[names], PLACES)
    kinds[noise.random(len(kinds)) < 0.05] = NAME
    pieces[names] = -1 - (kinds * PLACES + numpy.asarray(order)[people])
    pieces[(noise.random(len(pieces)) < settings.masked) & (pieces >= _SPECIAL)] = _MASK_PIECE
    kept = blinded.mentions[noise.random(len(blinded.mentions)) >= settings.lost]
    return Blinded(pieces, kept if len(kept) else blinded.mentions, blinded.n_persons)


class ReaderModel(nn.Module):
    """Encoder, placeholders and head in torch; see `context.role_encoder.PersonReader` for what they do. encoder (nn.Module): Of the curated
    transformers. width (int): Of its vectors. like (Tensor): Where placeholders begin, `(width,)`."""

    def __init__(
        self,
        encoder: nn.Module,
        width: int,
        like: Tensor,
        *,
        hidden: int = 384,
        dropout: float = 0.1,
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.placeholders = nn.Parameter(like + 0.02 * torch.randn(3 * PLACES, width))
        self.attention = nn.Linear(width, 1)
        self.hidden = nn.Linear(2 * width, hidden)
        self.output = nn.Linear(hidden, len(CLASSES))
        self.dropout = nn.Dropout(dropout)

    def forward(self, batch: Batch) -> Tensor:
        """RETURNS (Tensor): Logits, shape `(n_persons, 6)`."""
        pieces, lengths, spans, owners, allowed = batch
        vectors, n_persons = self._encoded(pieces, lengths), len(allowed)
        width = vectors.shape[-1]
        sizes = spans[:, 2] - spans[:, 1]
        member = torch.repeat_interleave(torch.arange(len(spans), device=pieces.device), sizes)
        within = torch.arange(len(member), device=pieces.device) - torch.repeat_interleave(
            sizes.cumsum(0) - sizes, sizes
        )
        rows = spans[member, 0] * pieces.shape[1] + spans[member, 1] + within
        mentions = (
            vectors.new_zeros(len(spans), width).index_add_(
                0, member, vectors.reshape(-1, width)[rows]
            )
            / sizes[:, None]
        )
        scores = self.attention(mentions)[:, 0]
        weights = torch.exp(scores - scores.max().detach())
        shares = weights / vectors.new_zeros(n_persons).index_add_(0, owners, weights)[owners]
        pooled = vectors.new_zeros(n_persons, width).index_add_(
            0, owners, mentions * shares[:, None]
        )
        most = vectors.new_full((n_persons, width), -1e4)
        most = most.scatter_reduce(0, owners[:, None].expand_as(mentions), mentions, "amax")
        return cast(
            Tensor,
            self.output(self.dropout(torch.relu(self.hidden(torch.cat([pooled, most], dim=1))))),
        )

    def head(self) -> dict[str, Tensor]:
        """RETURNS (dict[str, Tensor]): What stands behind the encoder, by the fields of `Head`; they share memory with the model."""
        layers = {"attention": self.attention, "hidden": self.hidden, "output": self.output}
        named = {**layers, **{f"{name}_bias": layer for name, layer in layers.items()}}
        found = {
            name: layer.bias if name.endswith("_bias") else layer.weight
            for name, layer in named.items()
        }
        return {
            name: (value[0] if name.startswith("attention") else value).detach()
            for name, value in found.items()
        }

    def _encoded(self, pieces: Tensor, lengths: Tensor) -> Tensor:
        from curated_transformers.models.attention import AttentionMask

        bert: Any = self.encoder.curated_encoder
        parts = bert.embeddings
        words = parts.word_embeddings(pieces.clamp_min(0))
        words = torch.where(
            (pieces < 0)[..., None], self.placeholders[(-1 - pieces).clamp_min(0)], words
        )
        places = (
            parts.position_embeddings.weight[: pieces.shape[1]]
            + parts.token_type_embeddings.weight[0]
        )
        x = parts.dropout(parts.layer_norm(words + places))
        mask = AttentionMask(
            torch.arange(pieces.shape[1], device=pieces.device)[None] < lengths[:, None]
        )
        quick = pieces.device.type != "cpu" or has_bfloat16()
        with torch.autocast(pieces.device.type, dtype=torch.bfloat16, enabled=quick):
            for layer in bert.layers:
                x = layer(x, mask)
        return x.float()


def new_model(
    start: Path | PersonReader,
    *,
    seed: int = 46,
    dropout: float = 0.1,
    frozen: int = 0,
) -> ReaderModel:
    """RETURNS (ReaderModel): One that has not learned anything yet, with placeholders at the mean of some names' pieces; or what ships in torch, to
    go on training, as near as 8 bits are.

    start (Path | PersonReader): Folder with the weights of an encoder (`training.encoder`), or what ships. seed (int): Of what is drawn.
    dropout (float): See `ner.layers.quicken`. frozen (int): Lowest layers that are kept as they are.
    RAISES (PiiError): E604 without weights.
    """
    torch.manual_seed(seed)
    if isinstance(start, PersonReader):
        state = {
            name: torch.from_numpy(value) for name, value in encoder_state(start.shim.graph).items()
        }
        places = state[WORDS][torch.from_numpy(start.placeholders)]
        heads = heads_of(start.shim.graph)
    else:
        vocabulary, state, heads = read_vocabulary(start), read_weights(start), read_heads(start)
        places = state[WORDS][
            [vocabulary.index(name) for name in SOME_NAMES if name in vocabulary] or [0]
        ]
    width = state[WORDS].shape[1]
    encoder = _curated(
        width,
        len(state[PREFIX + "layers.0.ffn.intermediate.weight"]),
        vocab_size=len(state[WORDS]),
        num_attention_heads=heads,
        num_hidden_layers=count_layers(state),
        max_position_embeddings=len(state[PREFIX + "embeddings.position_embeddings.weight"]),
    )
    encoder.load_state_dict(state)
    quicken(encoder, dropout=dropout)
    model = ReaderModel(encoder, width, places.mean(dim=0), dropout=dropout)
    for kept in (
        encoder.curated_encoder.embeddings.word_embeddings,
        *encoder.curated_encoder.layers[:frozen],
    ):
        kept.requires_grad_(False)
    if isinstance(start, PersonReader):
        with torch.no_grad():
            model.placeholders.copy_(places)
            for name, value in model.head().items():
                value.copy_(torch.from_numpy(getattr(start.head, name)))
    return model


def _curated(width: int, inner: int, **settings: int) -> Any:
    from curated_transformers.models.bert import BertConfig, BertEncoder
    from curated_transformers.models.curated_transformer import CuratedTransformer

    config = BertConfig(
        embedding_width=width, hidden_width=width, intermediate_width=inner, **settings
    )
    return CuratedTransformer(BertEncoder(config))


def read_weights(encoder: Path) -> dict[str, Tensor]:
    """RETURNS (dict[str, Tensor]): A folder's weights by their names in the curated transformers, 32 bits each. RAISES (PiiError): E604."""
    weights = need_weights(encoder)
    if weights.suffix == ".pt":
        return read_torch(weights)
    from curated_transformers.models.hf_util import convert_pretrained_model_for_encoder
    from safetensors.torch import load_file

    kind = _curated(
        2, 2, num_attention_heads=1, num_hidden_layers=1, vocab_size=2
    )  # says which names to expect
    return dict(convert_pretrained_model_for_encoder(kind, OrderedDict(load_file(weights))))


def read_vocabulary(encoder: Path) -> list[str]:
    """RETURNS (list[str]): The pieces of an encoder."""
    return (encoder / "vocab.txt").read_text("utf8").splitlines()


def to_reader(model: ReaderModel, vocabulary: list[str], *, quantized: bool = True) -> PersonReader:
    """RETURNS (PersonReader): What ships: a trained model on onnxruntime, placeholders in the place of free pieces of its vocabulary.

    quantized (bool): 8 bits instead of half precision.
    """
    encoder: Any = model.encoder
    state = {
        PREFIX + name: value.float().cpu().numpy()
        for name, value in encoder.curated_encoder.state_dict().items()
    }
    state[WORDS] = state[WORDS].copy()
    state[WORDS][[vocabulary.index(piece) for piece in PLACEHOLDERS]] = (
        model.placeholders.detach().cpu().numpy()
    )
    head = Head(**{name: value.cpu().numpy() for name, value in model.head().items()})
    heads = encoder.curated_encoder.layers[0].mha.num_heads
    return PersonReader(encoder_graph(state, heads=heads, quantized=quantized), vocabulary, head)


def loss_of(logits: Tensor, allowed: Tensor) -> Tensor:
    """RETURNS (Tensor): Mean negative log-probability of what is allowed, so that gold may leave several classes open."""
    chances = torch.log_softmax(logits, dim=1)
    return -torch.logsumexp(chances.masked_fill(allowed == 0, -1e9), dim=1).mean()


def train(
    model: ReaderModel,
    texts: Sequence[Text],
    dev: Sequence[Text],
    settings: Settings,
    *,
    checkpoint: Path | None = None,
) -> list[dict[str, Any]]:
    """RETURNS (list[dict[str, Any]]): The log: per epoch loss, seconds, and the figures of `accuracy` on `dev`, which chooses nothing.

    model (ReaderModel): Changed in place. checkpoint (Path | None): Written after each epoch, and gone on from where it is there.
    """
    device = model.placeholders.device.type
    rates = [settings.learn_rate, settings.learn_rate * settings.head_rate]
    encoder = [p for p in model.encoder.parameters() if p.requires_grad]
    others = [p for name, p in model.named_parameters() if not name.startswith("encoder.")]
    optimizer = torch.optim.AdamW(
        [{"params": encoder}, {"params": others}], weight_decay=0.01, fused=True
    )
    per_epoch = sum(1 for _ in batches(texts, random.Random(settings.seed), settings))
    total, step, told = per_epoch * settings.epochs, 0, list[dict[str, Any]]()
    if checkpoint is not None and checkpoint.is_file():
        state = torch.load(checkpoint, map_location=device, weights_only=True)
        if state["settings"] == asdict(settings) and state["per_epoch"] == per_epoch:
            model.load_state_dict(state["model"])
            optimizer.load_state_dict(state["optimizer"])
            step, told = state["step"], state["told"]
    for epoch in range(len(told), settings.epochs):
        rng = random.Random(f"{settings.seed}|{epoch}")
        torch.manual_seed(rng.getrandbits(32))
        model.train()
        began, losses, n_pieces = time.perf_counter(), [], 0
        for batch in (batch.on(device) for batch in batches(texts, rng, settings)):
            step += 1
            share = min(step / (0.06 * total), max(0.02, (total - step) / (0.94 * total)))
            for group, rate in zip(optimizer.param_groups, rates, strict=True):
                group["lr"] = rate * share
            loss = loss_of(model(batch), batch.allowed)
            loss.backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            losses.append(loss.item())
            n_pieces += batch.pieces.numel()
            if step % 50 == 0:
                speed = n_pieces / (time.perf_counter() - began)
                logger.info(
                    "step %d of %d, loss %.3f, %.0f pieces a second",
                    step,
                    total,
                    numpy.mean(losses[-50:]),
                    speed,
                )
        loss_and_time = {
            "loss": round(float(numpy.mean(losses)), 4),
            "seconds": round(time.perf_counter() - began),
        }
        told.append({"epoch": epoch + 1, **loss_and_time, **accuracy(model, dev, settings)})
        logger.info("%s", json.dumps(told[-1]))
        if checkpoint is not None:
            state = {
                "model": model.state_dict(),
                "optimizer": optimizer.state_dict(),
                "step": step,
                "told": told,
            }
            torch.save(
                {**state, "per_epoch": per_epoch, "settings": asdict(settings)},
                checkpoint.with_suffix(".part"),
            )
            os.replace(checkpoint.with_suffix(".part"), checkpoint)
    return told


def accuracy(model: ReaderModel, texts: Sequence[Text], settings: Settings) -> dict[str, Any]:
    """RETURNS (dict[str, Any]): `persons` whose gold leaves one class open, the share of them that is right, and F1 per class."""
    model.eval()
    counts = numpy.zeros((len(CLASSES), len(CLASSES)), dtype="i8")
    with torch.no_grad():
        for batch in (
            batch.on(model.placeholders.device.type) for batch in batches(texts, None, settings)
        ):
            found = model(batch).argmax(dim=1)
            sure = batch.allowed.sum(dim=1) == 1
            numpy.add.at(
                counts,
                (batch.allowed.argmax(dim=1)[sure].cpu().numpy(), found[sure].cpu().numpy()),
                1,
            )
    right, sums = counts.diagonal(), counts.sum(axis=0) + counts.sum(axis=1)
    f1 = {
        name: round(float(2 * right[n] / sums[n]), 3) for n, name in enumerate(CLASSES) if sums[n]
    }
    return {
        "persons": int(counts.sum()),
        "right": round(float(right.sum() / max(counts.sum(), 1)), 4),
        "f1": f1,
    }


def train_reader(
    corpora: Sequence[Path],
    out: Path,
    settings: Settings,
    *,
    encoder: Path,
    source: Path | None = None,
    device: str = "cpu",
) -> None:
    """Train on folders with train.spacy and dev.spacy (of several, dev of the first), and write the reader, its checkpoint and told.json.

    encoder (Path): Weights to start from. source (Path | None): To go on from: checkpoint.pt of an earlier training, or what ships.
    """
    out.mkdir(parents=True, exist_ok=True)
    nlp = spacy.blank(
        "en", config={"nlp": {"tokenizer": {"@tokenizers": "pii_edu.StudentTokenizer.v1"}}}
    )
    nlp.add_pipe("pii_context")
    shipped = (
        PersonReader.from_bytes(source.read_bytes()) if source and source.suffix != ".pt" else None
    )
    vocabulary = shipped.vocabulary if shipped else read_vocabulary(encoder)
    files = [corpora[0] / "dev.spacy", *(folder / "train.spacy" for folder in corpora)]
    dev, *rest = (read_texts(file, nlp, pieces_of(vocabulary), settings) for file in files)
    texts = list(chain.from_iterable(rest))
    n_pieces, n_people = (
        sum(len(t.blinded.pieces) for t in texts),
        sum(t.blinded.n_persons for t in texts),
    )
    logger.info(
        "%d texts, %d pieces, %d people; dev: %d texts", len(texts), n_pieces, n_people, len(dev)
    )
    model = new_model(
        shipped or encoder, seed=settings.seed, dropout=settings.dropout, frozen=settings.frozen
    )
    if source and not shipped:
        model.load_state_dict(torch.load(source, map_location=device, weights_only=True)["model"])
    log = train(model.to(device), texts, dev, settings, checkpoint=out / "checkpoint.pt")
    (out / "reader").write_bytes(to_reader(model, vocabulary).to_bytes())
    report = {"settings": asdict(settings), "texts": len(texts), "epochs": log}
    (out / "told.json").write_text(json.dumps(report, indent=1) + "\n", "utf8")


def mean_reader(folders: Sequence[Path]) -> PersonReader:
    """RETURNS (PersonReader): The mean of the weights of several that `train_reader` wrote to these folders, which began from the same one
    (see `package.mean_of`)."""
    shipped = PersonReader.from_bytes((folders[0] / "reader").read_bytes())
    states = [
        torch.load(folder / "checkpoint.pt", map_location="cpu", weights_only=True)["model"]
        for folder in folders
    ]
    model = new_model(shipped)
    model.load_state_dict(
        {name: sum(state[name] for state in states) / len(states) for name in states[0]}
    )
    return to_reader(model, shipped.vocabulary)
