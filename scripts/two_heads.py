"""Trains one encoder with two heads: what is there (head A), and whose is it (head B).

    python scripts/two_heads.py examples.npz start.npz training/two_heads --layers 4 --minutes 240

Needs only torch and numpy, so that it runs on a GPU machine where nothing else is installed;
`python -m scripts.examples` writes both inputs. Head A gives BIO over `TYPES` for each token. Head B
gives one of five roles or "no person" for each person, and for each place, school, firm, date or age
whether it is somebody's or the world's. With `--part 1` the texts of the second half of the
annotations are left out.

Four in ten examples are cut to a few sentences. In three of ten all names are one placeholder, so that
head B reads the text around them. In two of three the people get other names: some private people the
name of somebody famous or a word for a name, some authors and characters an ordinary one.
"""

import argparse
import hashlib
import os
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

WIDTH, HEADS, WINDOW, MOST_WINDOWS = 384, 12, 254, 8
TYPES = ("PERSON", "PLACE", "SCHOOL", "FIRM", "DATE", "AGE", "EMAIL", "USERNAME")
TYPES += ("ID_NUM", "PHONE_NUM", "URL_PERSONAL", "STREET_ADDRESS")
N_BIO = 1 + 2 * len(TYPES)
UNKNOWN = 255  # a token of which nobody knows what it is
# Roles: STUDENT, INSTRUCTOR, CONNECTED, CITED, CHARACTER, and no person.
N_PRIVATE, N_ROLES, NO_PERSON = 3, 6, 5
CLS, SEP, MASK, HIDDEN = 101, 102, 103, 51  # HIDDEN is [unused50], the placeholder of a name
# Times that a text is drawn, by its source; see `SOURCES` of scripts/examples.py.
SOURCE_WEIGHTS = (2.0, 1.6, 1.2, 8.0, 1.0, 1.2, 2.0, 0.5, 0.8)
SNIPPET, HIDE, RENAME = 0.4, 0.3, 0.65
LOG = 200  # steps between two lines of progress
HEAD_NAMES = ("what", "attend", "whose", "owned", "case")
Example = dict[str, Any]
Batch = dict[str, Any]


class Data:
    """The arrays of `scripts.examples`: flat over all documents, with an index in `docs`."""

    docs: np.ndarray

    def __init__(self, path: Path) -> None:
        arrays = np.load(path)
        for name in arrays.files:
            setattr(self, name, arrays[name])
        self.piece_at = np.concatenate([[0], np.cumsum(self.lengths.astype(np.int64))])

    def draw_weights(self, part: int) -> np.ndarray:
        """RETURNS (np.ndarray): How often each document is drawn; 0 for those of the other part."""
        source, parts = self.docs[:, 8], self.docs[:, 9]
        kept = (parts == 0) | (part == 0) | (parts == part)
        return (
            np.array(SOURCE_WEIGHTS)[source] * kept * np.clip(self.docs[:, 3] / 250, 0.6, 3) ** 0.5
        )

    def name(self, index: int) -> list[int]:
        """RETURNS (list[int]): Pieces of a name of the lists to draw from."""
        return self.lex_pieces[self.lex_at[index] : self.lex_at[index + 1]].tolist()


class Sampler(torch.utils.data.IterableDataset):
    """Draws examples and packs those of like length into batches."""

    def __init__(self, data: Data, part: int, budget: int, seed: int) -> None:
        self.data, self.part, self.budget, self.seed = data, part, budget, seed

    def __iter__(self) -> Iterator[Batch]:
        worker = torch.utils.data.get_worker_info()
        seed = self.seed * 1000 + (worker.id if worker else 0)
        self.rng, draws = random.Random(seed), np.random.default_rng(seed)
        share = np.cumsum(self.data.draw_weights(self.part))
        share /= share[-1]
        pool: list[Example] = []
        while True:
            for i in np.searchsorted(share, draws.random(64)):
                example = self.draw(int(i))
                if example is not None:
                    pool.append(example)
            if len(pool) < max(300, self.budget // 60):
                continue
            batches = pack(pool, self.budget)
            self.rng.shuffle(batches)
            yield from map(collate, batches)
            pool = []

    def draw(self, i: int) -> Example | None:
        """RETURNS (Example | None): A document, or a few sentences of it."""
        rng, data = self.rng, self.data
        first, n_tokens, _, _, m, n_m, k, n_k, _, _ = data.docs[i].tolist()
        mentions, items = data.mentions[m : m + n_m], data.items[k : k + n_k]
        start, end = 0, n_tokens
        ends = np.flatnonzero(data.ends[first : first + n_tokens]) + 1
        if rng.random() < SNIPPET and len(ends) > 1:
            at = rng.randrange(n_tokens)
            if len(mentions) and rng.random() < 0.75:
                at = int(mentions[rng.randrange(len(mentions))][0])
            elif len(items) and rng.random() < 0.4:
                at = int(items[rng.randrange(len(items))][0])
            start, end = sentences_around(
                ends,
                at,
                n_tokens,
                before=rng.choice((0, 0, 0, 1, 1, 2)),
                behind=rng.choice((0, 0, 0, 1, 1, 2)),
            )
        return build(
            data,
            first,
            start,
            end,
            mentions,
            items,
            rng=rng,
            hide=rng.random() < HIDE,
            rename=rng.random() < RENAME,
        )


def sentences_around(
    ends: np.ndarray, at: int, n_tokens: int, *, before: int, behind: int
) -> tuple[int, int]:
    """RETURNS (tuple[int, int]): First token and end of the sentence that holds token `at`, with some beside it."""
    sentence = int(np.searchsorted(ends, at, side="right"))
    start = int(ends[sentence - 1 - before]) if sentence - 1 - before >= 0 else 0
    if sentence >= len(ends):
        return start, n_tokens
    return start, int(ends[min(len(ends) - 1, sentence + behind)])


def pack(pool: list[Example], budget: int) -> list[list[Example]]:
    """RETURNS (list[list[Example]]): Batches of at most `budget` pieces, padding counted."""
    pool.sort(key=_width)
    batches: list[list[Example]] = [[]]
    rows = 0
    for example in pool:
        if batches[-1] and _width(example) * (rows + len(example["ids"])) > budget:
            batches.append([])
            rows = 0
        batches[-1].append(example)
        rows += len(example["ids"])
    return batches


def _width(example: Example) -> int:
    return max(map(len, example["ids"])) + 2


def build(
    data: Data,
    first: int,
    start: int,
    end: int,
    mentions: np.ndarray,
    items: np.ndarray,
    *,
    rng: random.Random | None = None,
    hide: bool = False,
    rename: bool = False,
) -> Example | None:
    """Pieces of a stretch of a document in windows, and what both heads learn there.

    first (int): The document's first token in the arrays.
    start, end (int): Tokens of the stretch, within the document.
    rng (random.Random | None): For noise; None to read the text as it is.
    hide (bool): Whether all names are one placeholder; head A learns nothing then.
    rename (bool): Whether people get other names.
    RETURNS (Example | None): At most `MOST_WINDOWS`; None, if fewer than two tokens are left.
    """
    here = slice(first + start, first + end)
    pieces = data.pieces[data.piece_at[here.start] : data.piece_at[here.stop]].astype(np.int32)
    lengths, word_ids = data.lengths[here].astype(np.int64), data.wid[here]
    case = data.case[here].astype(np.int8)
    at = np.cumsum(lengths) - lengths
    edits: dict[int, Any] = {
        int(t): pieces[at[t] : at[t] + 40] for t in np.flatnonzero(lengths > 40)
    }
    inside = [row for row in mentions.tolist() if row[0] >= start and row[1] <= end]
    if hide:
        for a, b, _, role in inside:
            if role < NO_PERSON:
                case[a - start : b - start] = 1
                edits.update((t, (HIDDEN,)) for t in range(a - start, b - start))
    elif rng is not None:
        if rename:
            edits.update(renamed(data, inside, start, word_ids, data.wkind[here], rng))
        if rng.random() < 0.3:  # as in pre-training
            chosen = np.random.default_rng(rng.getrandbits(32)).random(len(lengths)) < 0.06
            for t in np.flatnonzero(chosen & (word_ids == 0)).tolist():
                edits[t] = (MASK,) * min(int(lengths[t]), 2)
        recase(case, rng.random())
    pieces, lengths = replace_tokens(pieces, lengths, edits)
    limit = WINDOW if rng is None or end - start < 150 else rng.randint(WINDOW // 2, WINDOW)
    windows, window_of = cut(lengths, limit, MOST_WINDOWS)
    done = windows[-1][1]
    if done < 2:
        return None
    at = np.concatenate([[0], np.cumsum(lengths)])

    def whole(a: int, b: int) -> bool:
        return b - start <= done and window_of[a - start] == window_of[b - 1 - start]

    return {
        "ids": [pieces[at[t] : at[u]] for t, u in windows],
        "cases": [np.repeat(case[t:u], lengths[t:u]) for t, u in windows],
        "tokens": [np.repeat(np.arange(t, u), lengths[t:u]) for t, u in windows],
        "bio": np.full(done, UNKNOWN) if hide else data.bio[here][:done].astype(np.int64),
        "mentions": [
            (a - start, b - start, person, role)
            for a, b, person, role in inside
            if role < N_ROLES and whole(a, b) and not (hide and role == NO_PERSON)
        ],
        "items": [
            (a - start, b - start, kind, owner)
            for a, b, kind, owner in items.tolist()
            if a >= start and b <= end and owner < 2 and whole(a, b)
        ],
    }


def recase(case: np.ndarray, draw: float) -> None:
    """A text that somebody wrote without capitals, or in nothing else. case (np.ndarray): Changed in place."""
    if draw < 0.06:
        case[(case > 0) & (case < 4)] = 0
    elif draw < 0.09:
        case[case < 4] = 2


def replace_tokens(
    pieces: np.ndarray, lengths: np.ndarray, edits: dict[int, Any]
) -> tuple[np.ndarray, np.ndarray]:
    """RETURNS (tuple[np.ndarray, np.ndarray]): Pieces and lengths with other pieces for some tokens."""
    if not edits:
        return pieces, lengths
    new = lengths.copy()
    new[list(edits)] = [len(value) for value in edits.values()]
    shift = (np.cumsum(new) - new) - (np.cumsum(lengths) - lengths)
    kept = np.ones(len(lengths), bool)
    kept[list(edits)] = False
    kept = np.repeat(kept, lengths)
    out = np.zeros(int(new.sum()), np.int32)
    out[(np.arange(len(pieces)) + np.repeat(shift, lengths))[kept]] = pieces[kept]
    at = np.cumsum(new) - new
    for t, value in edits.items():
        out[at[t] : at[t] + len(value)] = value
    return out, new


def cut(lengths: np.ndarray, limit: int, most: int) -> tuple[list[tuple[int, int]], np.ndarray]:
    """RETURNS (tuple): Windows as token ranges, the first of at most `limit` pieces; the window of each token, or -1."""
    ends = np.cumsum(lengths)
    window_of = np.full(len(lengths), -1, np.int32)
    windows: list[tuple[int, int]] = []
    t = 0
    while t < len(lengths) and len(windows) < most:
        begin = ends[t] - lengths[t]
        u = max(t + 1, int(np.searchsorted(ends, begin + limit, side="right")))
        window_of[t:u] = len(windows)
        windows.append((t, u))
        t, limit = u, WINDOW
    return windows, window_of


def renamed(
    data: Data,
    mentions: list[list[int]],
    start: int,
    word_ids: np.ndarray,
    word_kinds: np.ndarray,
    rng: random.Random,
) -> dict[int, list[int]]:
    """RETURNS (dict[int, list[int]]): Token -> pieces of the word that stands there now."""
    people: dict[tuple[int, int], dict[int, int]] = {}
    places: dict[int, list[int]] = {}
    for a, b, person, role in mentions:
        for t in range(a - start, b - start):
            word = int(word_ids[t])
            if word and role < NO_PERSON:
                people.setdefault((person, role), {})[word] = int(word_kinds[t])
                places.setdefault(word, []).append(t)
    out: dict[int, list[int]] = {}
    for (_, role), words in people.items():
        new = draw_name(data, words, private=role < N_PRIVATE, rng=rng)
        out.update((t, pieces) for word, pieces in new.items() for t in places[word])
    return out


def draw_name(
    data: Data, words: dict[int, int], *, private: bool, rng: random.Random
) -> dict[int, list[int]]:
    """RETURNS (dict[int, list[int]]): Word -> pieces; empty, if a person keeps the name.

    words (dict[int, int]): Words of a person's name, each with 1 for a given name, 2 for a surname.
    """

    def pick(name: str) -> list[int]:
        numbers = getattr(data, name)
        return data.name(int(numbers[rng.randrange(len(numbers))]))

    def ordinary(kind: int) -> list[int]:
        return pick("surname" if kind == 2 else "given")

    x = rng.random()
    if x < 0.10 if private else 0.40 <= x < 0.55:
        given, surname = data.famous[rng.randrange(len(data.famous))].tolist()
        whole = not private or rng.random() < 0.5
        return {
            w: data.name(surname) if kind == 2 else data.name(given) if whole else pick("given")
            for w, kind in words.items()
        }
    if private and x < 0.20:
        return {
            w: pick("word_names") if rng.random() < 0.7 else ordinary(kind)
            for w, kind in words.items()
        }
    if x < (0.60 if private else 0.40):
        return {w: ordinary(kind) for w, kind in words.items()}
    return {}


def collate(examples: list[Example]) -> Batch:
    """RETURNS (Batch): Tensors of some examples; tokens, people and items are numbered through the batch."""
    n_rows = sum(len(e["ids"]) for e in examples)
    width = -(-max(map(_width, examples)) // 8) * 8
    ids = np.zeros((n_rows, width), np.int32)
    case, size = np.full((n_rows, width), 5, np.int8), np.zeros(n_rows, np.int32)
    token = np.full((n_rows, width), -1, np.int32)
    mentions: list[tuple[int, int, int]] = []
    items: list[tuple[int, int, int, int, int]] = []
    roles, doc_of_person = [], []
    row = n_tokens = 0
    for k, e in enumerate(examples):
        for pieces, cases, tokens in zip(e["ids"], e["cases"], e["tokens"], strict=True):
            n = len(pieces)
            ids[row, 0], ids[row, n + 1] = CLS, SEP
            ids[row, 1 : n + 1], case[row, 1 : n + 1], token[row, 1 : n + 1] = (
                pieces,
                cases,
                tokens + n_tokens,
            )
            size[row] = n + 2
            row += 1
        number: dict[tuple[int, int], int] = {}
        for a, b, person, role in e["mentions"]:
            if (person, role) not in number:
                number[person, role] = len(roles)
                roles.append(role)
                doc_of_person.append(k)
            mentions.append((n_tokens + a, n_tokens + b, number[person, role]))
        items += [(n_tokens + a, n_tokens + b, kind, owner, k) for a, b, kind, owner in e["items"]]
        n_tokens += len(e["bio"])
    return {
        "ids": torch.from_numpy(ids),
        "case": torch.from_numpy(case),
        "size": torch.from_numpy(size),
        "token": torch.from_numpy(token),
        "doc_of_token": torch.repeat_interleave(
            torch.arange(len(examples)), torch.tensor([len(e["bio"]) for e in examples])
        ),
        "bio": torch.from_numpy(np.concatenate([e["bio"] for e in examples]).astype(np.int64)),
        "mentions": torch.tensor(mentions, dtype=torch.long).reshape(-1, 3),
        "role": torch.tensor(roles, dtype=torch.long),
        "doc_of_person": torch.tensor(doc_of_person, dtype=torch.long),
        "items": torch.tensor(items, dtype=torch.long).reshape(-1, 5),
        "n_docs": len(examples),
    }


class Layer(nn.Module):
    """A layer of BERT."""

    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.qkv, self.o = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.n1, self.n2 = nn.LayerNorm(WIDTH, eps=1e-12), nn.LayerNorm(WIDTH, eps=1e-12)
        self.i, self.f = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
        self.drop = nn.Dropout(dropout)

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        rows, length, _ = x.shape
        q, k, v = self.qkv(x).view(rows, length, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        read = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        x = self.n1(x + self.drop(self.o(read.transpose(1, 2).reshape(rows, length, WIDTH))))
        return self.n2(x + self.drop(self.f(F.gelu(self.i(x)))))


class TwoHeads(nn.Module):
    """MiniLM cut to some layers, with a vector for the case of a token, and two heads."""

    def __init__(self, layers: int, dropout: float = 0.1) -> None:
        super().__init__()
        self.word, self.place = nn.Embedding(30522, WIDTH), nn.Embedding(512, WIDTH)
        self.segment = nn.Parameter(torch.zeros(WIDTH))
        self.case = nn.Embedding(7, WIDTH)
        nn.init.zeros_(self.case.weight)
        self.norm = nn.LayerNorm(WIDTH, eps=1e-12)
        self.layers = nn.ModuleList(Layer(dropout) for _ in range(layers))
        self.what = nn.Linear(WIDTH, N_BIO)
        self.attend = nn.Linear(WIDTH, 1)
        self.whose = _two_layers(3 * WIDTH, 256, N_ROLES)
        self.owned = _two_layers(2 * WIDTH, 128, 6)
        self.drop = nn.Dropout(dropout)

    def forward(self, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
        """RETURNS (tuple): Vectors of tokens `(n_tokens, 384)`, of documents `(n_docs, 384)`."""
        with torch.autocast("cuda", dtype=torch.bfloat16, enabled=batch["ids"].is_cuda):
            x = self.encode(batch["ids"], batch["case"], batch["size"])
        x = x.float()
        n = len(batch["bio"])
        token = batch["token"].long()
        token = torch.where(token < 0, n, token).view(-1)
        tokens = _mean(x.reshape(-1, WIDTH), token, n + 1)[:n]
        return tokens, _mean(tokens, batch["doc_of_token"], batch["n_docs"])

    def encode(self, ids: torch.Tensor, case: torch.Tensor, size: torch.Tensor) -> torch.Tensor:
        """RETURNS (torch.Tensor): Vectors `(n_windows, n_pieces, 384)`."""
        length = ids.shape[1]
        mask = torch.arange(length, device=ids.device)[None] < size[:, None]
        x = (
            self.word(ids.long())
            + self.place.weight[:length]
            + self.segment
            + self.case(case.long())
        )
        x = self.drop(self.norm(x))
        for layer in self.layers:
            x = layer(x, mask[:, None, None, :])
        return x

    def roles(self, tokens: torch.Tensor, docs: torch.Tensor, batch: Batch) -> torch.Tensor:
        """RETURNS (torch.Tensor): Logits `(n_persons, 6)`, from attention and maximum over a person's mentions."""
        vectors = stretch(tokens, batch["mentions"])
        person, n = batch["mentions"][:, 2], len(batch["role"])
        score = self.attend(vectors).squeeze(-1)
        top = score.new_full((n,), -1e9).scatter_reduce(0, person, score.detach(), "amax")
        weight = torch.exp(score - top[person])
        total = score.new_zeros(n).index_add(0, person, weight)
        mean = vectors.new_zeros(n, WIDTH).index_add(0, person, vectors * weight[:, None])
        most = vectors.new_full((n, WIDTH), -1e4)
        most = most.scatter_reduce(0, person[:, None].expand(-1, WIDTH), vectors, "amax")
        read = torch.cat([mean / total[:, None], most, docs[batch["doc_of_person"]]], 1)
        return self.whose(self.drop(read))

    def owners(self, tokens: torch.Tensor, docs: torch.Tensor, items: torch.Tensor) -> torch.Tensor:
        """RETURNS (torch.Tensor): Log-odds `(n_items,)` that a thing is somebody's."""
        read = torch.cat([stretch(tokens, items), docs[items[:, 4]]], 1)
        return self.owned(self.drop(read)).gather(1, items[:, 2:3]).squeeze(1)


def _two_layers(n_in: int, n_hidden: int, n_out: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(n_in, n_hidden), nn.GELU(), nn.Dropout(0.2), nn.Linear(n_hidden, n_out)
    )


def _mean(rows: torch.Tensor, group: torch.Tensor, n: int) -> torch.Tensor:
    total = rows.new_zeros(n, rows.shape[1]).index_add(0, group, rows)
    count = rows.new_zeros(n).index_add(0, group, torch.ones_like(group, dtype=rows.dtype))
    return total / count.clamp(min=1)[:, None]


def stretch(tokens: torch.Tensor, spans: torch.Tensor) -> torch.Tensor:
    """RETURNS (torch.Tensor): The mean of each span's tokens, `(n_spans, 384)`. spans: Start and end first."""
    lengths = spans[:, 1] - spans[:, 0]
    owner = torch.repeat_interleave(torch.arange(len(spans), device=tokens.device), lengths)
    first = torch.cumsum(lengths, 0) - lengths
    at = torch.arange(len(owner), device=tokens.device) - first[owner] + spans[owner, 0]
    return _mean(tokens[at], owner, len(spans))


def losses(model: TwoHeads, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
    """RETURNS (tuple): What is minimised; head A, roles and owners apart, `(3,)`, without gradient."""
    tokens, docs = model(batch)
    zero = tokens.sum() * 0
    what = role = owner = zero
    weight = tokens.new_ones(N_BIO)
    weight[0] = 0.4
    bio = torch.where(batch["bio"] == UNKNOWN, -100, batch["bio"])
    if bool((bio >= 0).any()):
        what = F.cross_entropy(
            model.what(model.drop(tokens)), bio, weight=weight, ignore_index=-100
        )
    if len(batch["role"]):
        logs = F.log_softmax(model.roles(tokens, docs, batch), -1)
        gold = batch["role"]
        sides = torch.stack(
            [torch.logsumexp(logs[:, :N_PRIVATE], 1), torch.logsumexp(logs[:, N_PRIVATE:], 1)], 1
        )
        side = (gold >= N_PRIVATE).long()[:, None]
        # Private or not counts first; which of the roles is a soft second question.
        first = -0.97 * sides.gather(1, side) - 0.03 * sides.gather(1, 1 - side)
        each = (first + 0.4 * -logs.gather(1, gold[:, None])).squeeze(1)
        weights = torch.where(gold == NO_PERSON, 0.4, 1.0)
        role = (each * weights).sum() / weights.sum()
    if len(batch["items"]):
        log_odds = model.owners(tokens, docs, batch["items"])
        owner = F.binary_cross_entropy_with_logits(log_odds, batch["items"][:, 3].float())
    return 2 * what + 0.6 * role + 0.3 * owner, torch.stack([what, role, owner]).detach()


def load_arrays(model: TwoHeads, *paths: Path) -> None:
    """Load the encoder of `scripts.examples start`, or what `save` wrote; of several files the mean."""
    states = [_arrays(path) for path in paths]
    for name, parameter in model.named_parameters():
        if states and name in states[0]:
            parameter.data.copy_(torch.stack([state[name] for state in states]).mean(0))


def _arrays(path: Path) -> dict[str, torch.Tensor]:
    arrays = np.load(path)
    found = {}
    for name in arrays.files:
        if not name.endswith(".scale"):
            value = arrays[name].astype(np.float32)
            scale = arrays[f"{name}.scale"] if f"{name}.scale" in arrays.files else 1
            found[name] = torch.from_numpy(value * scale)
    return found


def save(model: TwoHeads, path: Path) -> None:
    """Write what was trained: matrices in 8 bits with a scale for each row, the rest in half precision."""
    arrays = {}
    for name, parameter in model.named_parameters():
        if not parameter.requires_grad:
            continue
        value = parameter.detach().float().cpu().numpy()
        if value.ndim == 2 and value.size > 20_000:
            scale = np.abs(value).max(1, keepdims=True) / 127 + 1e-12
            arrays[name], arrays[f"{name}.scale"] = np.round(value / scale).astype(np.int8), scale
        else:
            arrays[name] = value.astype(np.float16)
    put(path, lambda file: np.savez(file, **arrays))


def put(path: Path, write: Callable[[Any], Any]) -> None:
    """Write a file that is whole or not there at all, whenever the process is killed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path.with_suffix(".new"), "wb") as file:
        write(file)
    os.replace(path.with_suffix(".new"), path)


def origin_of(args: argparse.Namespace) -> str:
    """RETURNS (str): A hash of all that decides what is learned: this file, what it reads, its options."""
    digest = hashlib.sha256()
    for path in (Path(__file__), args.data, args.start, *args.init):
        digest.update(path.read_bytes())
    names = ("layers", "minutes", "part", "batch", "rate", "head_rate", "seed")
    digest.update(repr([getattr(args, name) for name in names]).encode())
    return digest.hexdigest()


def on_device(batch: Batch, device: str) -> Batch:
    return {
        k: v.to(device, non_blocking=True) if torch.is_tensor(v) else v for k, v in batch.items()
    }


class Run:
    """A training that can be killed: weights, their mean, the optimizer, and how far it has got."""

    def __init__(self, args: argparse.Namespace, device: str) -> None:
        self.model = TwoHeads(args.layers)
        load_arrays(self.model, args.start)
        load_arrays(self.model, *args.init)
        self.model.to(device).train()
        for frozen in (self.model.word, self.model.place):
            frozen.weight.requires_grad_(False)
        self.trained = {n: p for n, p in self.model.named_parameters() if p.requires_grad}
        self.rates = (args.rate, args.head_rate)
        groups: tuple[list[nn.Parameter], list[nn.Parameter]] = ([], [])
        for name, parameter in self.trained.items():
            groups[name.split(".")[0] in HEAD_NAMES].append(parameter)
        self.optimizer = torch.optim.AdamW([{"params": g} for g in groups], weight_decay=0.01)
        self.average = {n: p.detach().clone() for n, p in self.trained.items()}
        self.step = self.seen = self.averaged = 0
        self.seconds = 0.0

    def to_dict(self) -> dict[str, Any]:
        """RETURNS (dict[str, Any]): All that training changes."""
        numbers = {n: getattr(self, n) for n in ("step", "seen", "averaged", "seconds")}
        weights = {n: p.detach() for n, p in self.trained.items()}
        states = {"weights": weights, "average": self.average}
        return numbers | states | {"optimizer": self.optimizer.state_dict()}

    def from_dict(self, state: dict[str, Any]) -> None:
        for name in ("step", "seen", "averaged", "seconds"):
            setattr(self, name, state[name])
        for kind, mine in (("weights", self.trained), ("average", self.average)):
            for name, value in mine.items():
                value.data.copy_(state[kind][name])
        self.optimizer.load_state_dict(state["optimizer"])

    def update(self, batch: Batch, done: float) -> torch.Tensor:
        """RETURNS (torch.Tensor): The losses of both heads. done (float): The share of the time that is over; the learning rate falls with it."""
        self.step += 1
        self.seen += int(batch["size"].sum())
        for group, rate in zip(self.optimizer.param_groups, self.rates, strict=True):
            group["lr"] = rate * min(1, self.step / 100) * max(0.02, 1 - done)
        loss, parts = losses(self.model, batch)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(self.trained.values(), 1.0)
        self.optimizer.step()
        if self.step % 10 == 0:
            self.averaged += done > 0.5
            with torch.no_grad():
                for name, parameter in self.trained.items():
                    self.average[name].lerp_(parameter, 1 / max(self.averaged, 1))
        return parts


def train(args: argparse.Namespace) -> None:
    """Train for some minutes, the learning rate falling to its end; the mean of the last half is what is kept.

    A run that was killed goes on from its last checkpoint (there are 20). Examples and dropout are drawn
    anew there, as by another seed; weights, optimizer, mean, learning rate and time go on as they were.
    """
    device = "cuda" if torch.cuda.is_available() else "cpu"
    on_gpu = device == "cuda"
    torch.manual_seed(args.seed)
    last, origin, run = args.out / "last.pt", origin_of(args), Run(args, device)
    state = torch.load(last, map_location="cpu", weights_only=True) if last.is_file() else {}
    if state.get("origin") != origin:
        if state:
            print(f"{last} is of other examples or options: begins anew", flush=True)
    elif "weights" in state:
        run.from_dict(state)
        torch.manual_seed(args.seed + run.step)
        print(f"goes on from step {run.step}, {run.seconds / 60:.1f} minutes", flush=True)
    elif (args.out / "model.npz").is_file():
        print(f"{args.out}: trained already; remove {last} to train it again", flush=True)
        return
    sampler = Sampler(
        Data(args.data), args.part, args.batch or (32768 if on_gpu else 4096), args.seed + run.step
    )
    workers = min(14, max(0, (os.cpu_count() or 1) - 2)) if on_gpu else 0
    loader = torch.utils.data.DataLoader(sampler, batch_size=None, num_workers=workers)
    began, limit = time.monotonic() - run.seconds, 60 * args.minutes
    sums, saved = torch.zeros(3, device=device), run.seconds
    for batch in loader:
        run.seconds = time.monotonic() - began
        if run.seconds >= limit:
            break
        if run.seconds - saved >= limit / 20:
            saved = run.seconds
            put(last, lambda file: torch.save(run.to_dict() | {"origin": origin}, file))
        sums += run.update(on_device(batch, device), run.seconds / limit)
        if run.step % LOG == 0:
            what, role, owner = (sums / LOG).tolist()
            sums.zero_()
            print(
                f"{run.step} {run.seen / 1e6:.1f}M what {what:.4f} role {role:.4f} owner {owner:.4f} {run.seen / run.seconds:.0f}/s",
                flush=True,
            )
    if run.averaged:
        run.model.load_state_dict(run.average, strict=False)
    save(run.model, args.out / "model.npz")
    put(last, lambda file: torch.save({"origin": origin}, file))
    print(f"pieces read: {run.seen:,} in {run.step} steps", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path, help="Examples, of `python -m scripts.examples texts`.")
    parser.add_argument("start", type=Path, help="Encoder, of `python -m scripts.examples start`.")
    parser.add_argument("out", type=Path, help="Folder for model.npz, and last.pt to go on from.")
    init = "Weights to go on from; of several the mean."
    parser.add_argument("--init", type=Path, nargs="*", default=[], help=init)
    for name, kind, default, about in (
        ("layers", int, 4, "of the encoder"),
        ("minutes", float, 240, "of training"),
        ("part", int, 0, "1 or 2: the half of the annotations to learn from; 0 for both"),
        ("batch", int, None, "pieces of a batch; 4096, on a GPU 32768"),
        ("rate", float, 1.5e-4, "at which the encoder learns"),
        ("head_rate", float, 1e-3, "at which the heads learn"),
        ("seed", int, 1, "of everything that is drawn"),
    ):
        parser.add_argument(f"--{name}", type=kind, default=default, help=about)
    train(parser.parse_args())


if __name__ == "__main__":
    main()
