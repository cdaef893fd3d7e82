"""The layers under `pii_ner` that the curated transformer does not have.

- `pii_edu.LayoutWordpieceEncoder.v1`: WordPiece that shows line breaks to the encoder and reads a cleaned view of each token.
- `pii_edu.WithWindows.v1`: windows over a document of any length, averaged where they overlap.
- `pii_edu.TokenClassifier.v1`: a softmax over encoder vectors with case and shape features beside them.

Torch is imported when a config names an architecture of the curated transformers, not here.
"""

import math
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

from spacy.attrs import ORTH
from spacy.tokens import Doc
from thinc.api import (
    Model,
    Ragged,
    Softmax_v2,
    chain,
    concatenate,
    deserialize_attr,
    serialize_attr,
    with_array,
)
from thinc.types import Floats2d

from ..errors import Errors, PiiError
from ..names.normalize import normalize_token

# What ASCII has beside letters, digits and white space is punctuation for BERT, also "$" and "+".
_ASCII = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")


def split_punctuation(text: str) -> list[str]:
    """RETURNS (list[str]): Words, and each punctuation mark alone."""
    marks = [char in _ASCII or unicodedata.category(char).startswith("P") for char in text]
    starts = [i for i, mark in enumerate(marks) if i == 0 or mark or marks[i - 1]]
    return [text[start:end] for start, end in pairwise([*starts, len(text)])]


def strip_marks(text: str) -> str:
    """RETURNS (str): Decomposed, without accents."""
    return "".join(
        char for char in unicodedata.normalize("NFD", text) if unicodedata.category(char) != "Mn"
    )


class WordPieces:
    """A WordPiece vocabulary, which needs no library: `to_list` and `get_initial` as the `WordPieceProcessor` has them that a loader of the curated
    transformers puts in its place for training."""

    def __init__(self, pieces: Sequence[str] = ()) -> None:
        self._pieces = list(pieces)
        self.ids = {piece: n for n, piece in enumerate(self._pieces)}

    def to_list(self) -> list[str]:
        return self._pieces

    def get_initial(self, piece: str) -> int:
        """RETURNS (int): The id of a piece that starts a word. RAISES (KeyError): If there is none."""
        return self.ids[piece]


@serialize_attr.register(WordPieces)
def _write_vocabulary(_: Any, value: WordPieces, name: str, model: Any) -> bytes:
    return "\n".join(value.to_list()).encode(
        "utf8"
    )  # one piece a line, as the curated transformers have it


@deserialize_attr.register(WordPieces)
def _read_vocabulary(_: Any, value: bytes, name: str, model: Any) -> WordPieces:
    return WordPieces(value.decode("utf8").split("\n"))


# Pieces that BERT's vocabularies keep free. One for a line break, one for a blank line, one for a run of spaces or a tab: a name that
# stands alone on its line is told from a name in a sentence by these.
LINE_PIECE, BLANK_LINE_PIECE, GAP_PIECE = "[unused1]", "[unused2]", "[unused3]"
# Characters of a token, or of encoded data, that are read: what goes on is no language and would take its time.
READ = 256
_DATA, _DIGIT_IN = (
    re.compile(rf"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{{{READ}}}([A-Za-z0-9+/_-]+)"),
    16,
)
# Stands for a token that shows nothing, a zero-width space beside a word: no encoder reads it.
UNSEEN = -1


@lru_cache(maxsize=8)
def _piece_matcher(processor: Any) -> Callable[[str], list[int]]:
    """As `processor.encode`, the longest piece first, -1 for a rest without one; in linear time, since no piece is longer than the longest."""
    vocabulary = processor.to_list()
    ids = {piece: i for i, piece in enumerate(vocabulary)}
    longest = max(map(len, vocabulary), default=0)

    def match(word: str) -> list[int]:
        found, at = [], 0
        while at < len(word):
            prefix = "##" if at else ""
            ends = range(min(len(word), at + longest), at, -1)
            piece, end = next(
                ((ids[key], end) for end in ends if (key := prefix + word[at:end]) in ids),
                (-1, len(word)),
            )
            found.append(piece)
            at = end
        return found

    return match


# A piece's id and the case of its token are one number, `id + CASE_STEP * case`, where an encoder reads case.
CASE_STEP = 1 << 15
_SIGN_CASE, _SPACE_CASE = 5, 6


def case_of(word: str) -> int:
    """RETURNS (int): 0 small letters, 1 a capital first, 2 capitals, 3 mixed, 4 digits, 5 a sign, 6 white space."""
    if not word.strip():
        return _SPACE_CASE
    if word.isdigit():
        return 4
    if not word[0].isalnum():
        return _SIGN_CASE
    if word.islower():
        return 0
    if len(word) > 1 and word.isupper():
        return 2
    return 1 if word[0].isupper() and (len(word) == 1 or word[1:].islower()) else 3


def build_layout_wordpiece_encoder(*, case: bool = False) -> Model[list[Doc], list[Ragged]]:
    """A WordPiece encoder in which each token has a piece: a run of white space, which BERT's own drops, becomes one of three.

    Tokens are read through `normalize_token`, so look-alike and invisible characters do not hide a name. Load a vocabulary with
    `spacy-curated-transformers.WordpieceLoader.v1`.

    case (bool): Whether the case of a token goes with its pieces (`CASE_STEP`), for an uncased encoder that reads it.
    RETURNS (Model[list[Doc], list[Ragged]]): Per document piece ids, shape `(n_pieces,)`, with lengths per token and one [CLS] and
        [SEP] around it. A token that shows nothing is one piece `UNSEEN`, which `pii_edu.WithWindows.v1` keeps from the encoder."""
    attrs: dict[str, Any] = {
        "wordpiece_processor": WordPieces(),
        "lowercase": False,
        "strip_accents": False,
    }
    attrs |= {"unk_piece": "[UNK]", "bos_piece": "[CLS]", "eos_piece": "[SEP]", "case": case}
    return Model("layout_wordpiece_encoder", forward=_layout_wordpiece_forward, attrs=attrs)


def _layout_wordpiece_forward(
    model: Model, docs: list[Doc], is_train: bool
) -> tuple[list[Ragged], Callable]:
    processor = model.attrs["wordpiece_processor"]
    lowercase, strip_accents = model.attrs["lowercase"], model.attrs["strip_accents"]
    unk, match = processor.get_initial(model.attrs["unk_piece"]), _piece_matcher(processor)
    step = CASE_STEP if model.attrs.get("case") else 0
    cache: dict[int, list[int]] = {}

    def pieces_of(text: str) -> list[int]:
        if text.isspace():
            lines = text.count("\n") + text.count("\u2028") + text.count("\u2029") or (
                1 if "\r" in text else 0
            )
            return [
                processor.get_initial(
                    LINE_PIECE if lines == 1 else BLANK_LINE_PIECE if lines else GAP_PIECE
                )
            ]
        plain = text.isascii() and text.isalpha()  # most are; all else changes nothing of them
        clean = text[:READ] if plain else normalize_token(text[:READ])
        if not clean:
            return [UNSEEN]
        clean = clean.lower() if lowercase else clean
        clean = strip_marks(clean) if strip_accents and not plain else clean
        parts = [clean] if plain else split_punctuation(clean)
        ids = [unk if i == -1 else i for part in parts for i in match(part)]
        return ids or [unk]

    first, last = (
        processor.get_initial(model.attrs[name]) + step * _SIGN_CASE
        for name in ("bos_piece", "eos_piece")
    )
    output = []
    for doc in docs:
        # When a pipeline is initialized, the curated transformer gives lists of tokens instead.
        orths = (
            doc.to_array(ORTH).tolist() if isinstance(doc, Doc) else [token.orth for token in doc]
        )
        strings = (
            doc.vocab.strings if isinstance(doc, Doc) else doc[0].vocab.strings if orths else None
        )
        for orth in orths:
            if orth not in cache:
                more = step * case_of(strings[orth])
                found = pieces_of(strings[orth])
                cache[orth] = [piece + more if piece >= 0 else piece for piece in found]
        pieces = [[first], *(cache[orth] for orth in orths), [last]]
        for i in encoded_data(doc) if isinstance(doc, Doc) else ():
            pieces[i + 1] = [unk + step * case_of(doc[i].text)]
        ids = [piece for token in pieces for piece in token]
        output.append(
            Ragged(model.ops.asarray1i(ids), model.ops.asarray1i([len(token) for token in pieces]))
        )
    return output, lambda dY: []


def encoded_data(doc: Doc) -> list[int]:
    """RETURNS (list[int]): Tokens of base64 and the like behind its first `READ` characters: many digits among letters, and no space.
    No name is read there; the encoder sees one piece for each."""
    found: list[int] = []
    for match in _DATA.finditer(doc.text):
        span = doc.char_span(*match.span(1), alignment_mode="contract")
        if span and sum(map(str.isdigit, match[0])) * _DIGIT_IN > len(match[0]):
            found += range(span.start, span.end)
    return found


def windows_of(length: int, *, window: int, overlap: int) -> list[tuple[int, int]]:
    """RETURNS (list[tuple[int, int]]): Start and end of windows that cover `length` pieces, neighbours sharing `overlap` pieces or more.

    As few as `window` pieces allow, and all of one size, so that hardly a piece is read twice without need.

        0                              length
        |------ window ------|
                  |------ window ------|
                  |  overlap |
    """
    n = max(1, -(-(length - overlap) // (window - overlap)))
    size = -(-(length + (n - 1) * overlap) // n)
    return [
        (start, start + size)
        for start in (round(i * (length - size) / max(n - 1, 1)) for i in range(n))
    ]


def build_with_windows(
    *, window: int = 256, overlap: int = 64, batch_size: int = 64, even: bool = True
) -> Callable[[Model], Model]:
    """RETURNS (Callable[[Model], Model]): Wraps an encoder, as `with_spans` of the curated transformers asks, to read overlapping windows.

    What they say of the same piece is averaged. Near the edge of a window it is read with little context, so its weight falls linearly
    towards the edge. Pieces `UNSEEN` are not read; their vector is that of the piece before.

    window (int): Pieces in a window; the encoder's number of positions at most. overlap (int): The least number of pieces that neighbours
        share; from 0 to window / 2. batch_size (int): Windows in one call of the encoder. even (bool): Of earlier versions, not used:
        windows of a document are all of one size. RAISES (PiiError): E105, if they do not fit."""
    if not 0 <= overlap <= window // 2 or batch_size < 1:
        raise PiiError(Errors.E105, window=window, overlap=overlap, batch_size=batch_size)

    def with_windows(encoder: Model) -> Model:
        attrs = {"window": window, "overlap": overlap, "batch_size": batch_size}
        return Model(
            "with_windows",
            _with_windows_forward,
            init=_with_windows_init,
            layers=[encoder],
            attrs=attrs,
        )

    return with_windows


def _with_windows_init(model: Model, X: Any = None, Y: Any = None) -> None:
    sample = (
        None if X is None else [x.dataXd[x.dataXd != UNSEEN][: model.attrs["window"]] for x in X]
    )
    model.layers[0].initialize(X=sample, Y=None)


def _window_weights(xp: Any, windows: list[tuple[int, int]], length: int) -> list[Any]:
    """One weight per piece of each window, so that the weights of a piece sum to 1."""
    size = windows[0][1] - windows[0][0]
    ramp = xp.minimum(xp.arange(1, size + 1), xp.arange(size, 0, -1)).astype("float32")
    total = xp.zeros(length, dtype="float32")
    for start, end in windows:
        total[start:end] += ramp
    return [ramp / total[start:end] for start, end in windows]


def _with_windows_forward(model: Model, X: list[Ragged], is_train: bool) -> tuple[Any, Callable]:
    encoder = model.layers[0]
    xp, size = model.ops.xp, model.attrs["batch_size"]
    how = {name: model.attrs[name] for name in ("window", "overlap")}
    plans = []  # per document: (pieces that are read, windows, their weights)
    pieces: list[Any] = []
    for x in X:
        seen = x.dataXd != UNSEEN
        read = x.dataXd[seen]
        windows = windows_of(len(read), **how)
        plans.append((seen, windows, _window_weights(xp, windows, len(read))))
        pieces.extend(read[start:end] for start, end in windows)

    outputs: list[list[Floats2d]] = []
    backprops: list[Callable] = []
    for start in range(0, len(pieces), size):
        out, backprop_batch = encoder(pieces[start : start + size], is_train)
        outputs.extend(out.all_outputs)
        backprops.append(backprop_batch)
        last_only, record = (
            out.last_layer_only,
            type(out),
        )  # the curated transformers' record, or that of the ONNX encoder

    def merged() -> Iterator[list[Ragged]]:
        at = 0
        for x, (seen, windows, weights) in zip(X, plans, strict=True):
            layers = []
            rows = xp.maximum(xp.cumsum(seen) - 1, 0)
            for n_layer in range(len(outputs[at])):
                total = outputs[at][n_layer]
                if len(windows) > 1:
                    total = model.ops.alloc2f(int(seen.sum()), total.shape[1])
                    for i, (start, end) in enumerate(windows):
                        total[start:end] += outputs[at + i][n_layer] * weights[i][:, None]
                layers.append(Ragged(total if len(total) == len(rows) else total[rows], x.lengths))
            at += len(windows)
            yield layers

    result = record(outputs=list(merged()), last_layer_only=last_only)

    def backprop(dY: list[list[Ragged]]) -> list[Any]:
        d_windows = [
            [
                model.ops.as_contig(layer.dataXd[seen][start:end] * weights[i][:, None])
                for layer in d_layers
            ]
            for d_layers, (seen, windows, weights) in zip(dY, plans, strict=True)
            for i, (start, end) in enumerate(windows)
        ]
        for n_batch, backprop_batch in enumerate(backprops):
            backprop_batch(d_windows[n_batch * size : (n_batch + 1) * size])
        return []  # piece ids have no gradient

    return result, backprop


def build_token_classifier(
    tok2vec: Model[list[Doc], list[Floats2d]],
    features: Model[list[Doc], list[Floats2d]] | None = None,
    nO: int | None = None,
) -> Model[list[Doc], list[Floats2d]]:
    """A linear softmax per token: probabilities, one `(n_tokens, n_outputs)` array per document.

    tok2vec (Model): Vectors of the encoder, one `(n_tokens, width)` array per document: a transformer listener.
    features (Model | None): Other vectors per token, such as `spacy.Tok2Vec.v2` over SHAPE: an uncased encoder does not see capitals.
    nO (int | None): Number of outputs; set by `pii_ner` from its labels."""
    vectors = tok2vec if features is None else concatenate(tok2vec, features)
    with Model.define_operators({">>": chain}):
        output = Softmax_v2(nO=nO, nI=None)
        model = vectors >> with_array(output)
    model.set_ref("tok2vec", tok2vec)
    model.set_ref("output_layer", output)
    return model


def grow_outputs(model: Model, n: int) -> None:
    """Give a token classifier that may have learned `n` outputs; those that are new begin as a hundredth of the first, which is
    nothing at all, so that they learn from where most of what they will read is now."""
    output = model.get_ref("output_layer")
    weights: Any = output.get_param("W") if output.has_param("W") else None
    bias: Any = output.get_param("b") if output.has_param("b") else None
    for param in output.param_names:  # else thinc keeps the size
        output.set_param(param, None)
    for node in (output, *model.walk()):
        if node is output or (not node.param_names and output in node.walk()):
            node.set_dim("nO", n, force=True)
    if weights is not None:
        old, width = weights.shape
        wide, long = output.ops.alloc2f(n, width), output.ops.alloc1f(n)
        wide[:old], long[:old] = weights, bias
        wide[old:], long[old:] = weights[0], bias[0] - math.log(100)
        output.set_param("W", wide)
        output.set_param("b", long)
