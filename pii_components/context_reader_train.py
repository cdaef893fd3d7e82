"""Train the reader of `pii_context`: `python -m pii_components.context_reader_train --corpus corpus/whole --out training/reader`.

    texts = read_texts(path, context)                  # people of labelled texts, names as placeholders
    model = train(texts, encoder=Path("assets/encoder"), settings=Settings(epochs=4))
    to_reader(model, vocabulary).to_bytes()

One decision per (document, person), as it is used. People whose gold leaves several roles open (CRAPII marks students and says nothing of
others) are learned from by what is left open. Some capitalised words that are no names are made placeholders, too, so that the reader knows
"no name". Checkpoints after each epoch; a run that was broken off goes on from the last one.
"""

import argparse
import json
import logging
import os
import random
import time
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy
import spacy
import torch
from torch import Tensor, nn

from .context_model import CLASSES
from .context_reader import PersonReader, pieces_of
from .context_reader_data import Settings, Text, batches, read_texts
from .context_reader_model import ReaderModel, from_reader, new_model, read_vocabulary, to_reader

logger = logging.getLogger(__name__)


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
    """Learn.

    model (ReaderModel): Changed in place. texts (Sequence[Text]): To learn from. dev (Sequence[Text]): Looked at after each epoch, not chosen by.
    settings (Settings): How. checkpoint (Path | None): A file that is written after each epoch, and gone on from where it is there.
    RETURNS (list[dict[str, Any]]): Per epoch loss, seconds, and the figures of `accuracy` on `dev`.
    """
    device = model.placeholders.device.type
    rates = [settings.learn_rate, settings.learn_rate * settings.head_rate]
    encoder = [p for p in model.encoder.parameters() if p.requires_grad]
    others = [p for name, p in model.named_parameters() if not name.startswith("encoder.")]
    optimizer = torch.optim.AdamW([{"params": encoder}, {"params": others}], weight_decay=0.01, fused=True)
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
            logits = model(batch.pieces, batch.lengths, batch.spans, batch.owners, len(batch.allowed))
            loss = loss_of(logits, batch.allowed)
            loss.backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            losses.append(loss.item())
            n_pieces += batch.pieces.numel()
            if step % 50 == 0:
                logger.info(
                    "step %d of %d, loss %.3f, %.0f pieces a second",
                    step,
                    total,
                    numpy.mean(losses[-50:]),
                    n_pieces / (time.perf_counter() - began),
                )
        told.append(
            {
                "epoch": epoch + 1,
                "loss": round(float(numpy.mean(losses)), 4),
                "seconds": round(time.perf_counter() - began),
                **accuracy(model, dev, settings),
            }
        )
        logger.info("%s", json.dumps(told[-1]))
        if checkpoint is not None:
            state = {
                "model": model.state_dict(),
                "optimizer": optimizer.state_dict(),
                "step": step,
                "told": told,
                "per_epoch": per_epoch,
            }
            torch.save({**state, "settings": asdict(settings)}, checkpoint.with_suffix(".part"))
            os.replace(checkpoint.with_suffix(".part"), checkpoint)
    return told


def accuracy(model: ReaderModel, texts: Sequence[Text], settings: Settings) -> dict[str, Any]:
    """Right roles.

    model (ReaderModel): The model. texts (Sequence[Text]): Labelled. settings (Settings): For the size of batches.
    RETURNS (dict[str, Any]): `persons` whose gold leaves one class open, the share of them that is right, and F1 per class.
    """
    model.eval()
    counts = numpy.zeros((len(CLASSES), len(CLASSES)), dtype="i8")
    with torch.no_grad():
        for batch in (batch.on(model.placeholders.device.type) for batch in batches(texts, None, settings)):
            found = model(batch.pieces, batch.lengths, batch.spans, batch.owners, len(batch.allowed)).argmax(dim=1)
            sure = batch.allowed.sum(dim=1) == 1
            numpy.add.at(counts, (batch.allowed.argmax(dim=1)[sure].cpu().numpy(), found[sure].cpu().numpy()), 1)
    right, sums = counts.diagonal(), counts.sum(axis=0) + counts.sum(axis=1)
    f1 = {name: round(float(2 * right[n] / sums[n]), 3) for n, name in enumerate(CLASSES) if sums[n]}
    return {"persons": int(counts.sum()), "right": round(float(right.sum() / max(counts.sum(), 1)), 4), "f1": f1}


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(
        description="Train the reader of pii_context: roles of people from the text around their names."
    )
    parser.add_argument(
        "--corpus",
        type=Path,
        action="append",
        required=True,
        help="folder with train.spacy and dev.spacy; of several, dev of the first",
    )
    parser.add_argument("--encoder", type=Path, default=Path("assets/encoder"), help="weights to start from")
    parser.add_argument(
        "--source", type=Path, help="to go on from: checkpoint.pt of an earlier training, or the `reader` of a package"
    )
    parser.add_argument("--out", type=Path, default=Path("training/reader"))
    parser.add_argument("--gpu-id", type=int, default=-1, help="0 for the first GPU")
    for name, default in asdict(Settings()).items():
        parser.add_argument("--" + name.replace("_", "-"), type=type(default), default=default)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    settings = Settings(**{name: getattr(args, name) for name in asdict(Settings())})
    args.out.mkdir(parents=True, exist_ok=True)
    nlp = spacy.blank("en", config={"nlp": {"tokenizer": {"@tokenizers": "pii_edu.StudentTokenizer.v1"}}})
    nlp.add_pipe("pii_context")
    shipped = PersonReader.from_bytes(args.source.read_bytes()) if args.source and args.source.suffix != ".pt" else None
    vocabulary = shipped.vocabulary if shipped else read_vocabulary(args.encoder)
    pieces = pieces_of(vocabulary)
    texts = [text for folder in args.corpus for text in read_texts(folder / "train.spacy", nlp, pieces, settings)]
    dev = read_texts(args.corpus[0] / "dev.spacy", nlp, pieces, settings)
    logger.info(
        "%d texts, %d pieces, %d people; dev: %d texts",
        len(texts),
        sum(len(t.blinded.pieces) for t in texts),
        sum(t.blinded.n_persons for t in texts),
        len(dev),
    )
    device = "cpu" if args.gpu_id < 0 else f"cuda:{args.gpu_id}"
    made = partial(from_reader, shipped) if shipped else partial(new_model, args.encoder)
    model: ReaderModel = made(seed=settings.seed, dropout=settings.dropout, frozen=settings.frozen)
    if args.source and not shipped:
        model.load_state_dict(torch.load(args.source, map_location=device, weights_only=True)["model"])
    told = train(model.to(device), texts, dev, settings, checkpoint=args.out / "checkpoint.pt")
    (args.out / "reader").write_bytes(to_reader(model, vocabulary).to_bytes())
    (args.out / "told.json").write_text(
        json.dumps({"settings": asdict(settings), "texts": len(texts), "epochs": told}, indent=1) + "\n", "utf8"
    )


if __name__ == "__main__":
    main()
