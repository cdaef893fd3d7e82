"""The spaCy training config of an encoder: the same head, features and corpus for each, so that only the encoder differs.

config = encoder_config(encoder, Path("assets/encoders/all-MiniLM-L6-v2"), corpus=Path("corpus"), epochs=3)
config.to_disk("encoder.cfg")                       # python -m spacy train encoder.cfg
"""

from pathlib import Path
from typing import Any

from thinc.api import Config

from ..labels import INDIRECT_LABELS, LABELS
from .encoder_registry import CNN, SENTENCEPIECE, SPACY, TRANSFORMERS, Encoder

# Those of configs/pii_ner.cfg: the labels of the corpus that `corpus build` writes.
TRAINED_LABELS = [label for label in LABELS if label not in INDIRECT_LABELS]
_CURATED = "spacy-curated-transformers."
_WINDOW, _OVERLAP = 256, 64


def encoder_config(
    encoder: Encoder,
    folder: Path,
    *,
    corpus: Path,
    epochs: int = 3,
    steps: int = 1000,
    batch_words: int = 400,
    learn_rate: float | None = None,
    seed: int = 46,
    max_steps: int = 0,
) -> Config:
    """A config for `spacy train`.

    encoder (Encoder): Of the registry. folder (Path): Its files. corpus (Path): Folder with train.spacy and dev.spacy.
    epochs (int), max_steps (int): When training ends. steps (int): For the schedule of the learning rate.
    batch_words (int): In a batch. learn_rate (float | None): The encoder's own if None. seed (int): Of everything.
    RETURNS (Config): With the components `transformer` or `tok2vec` (none for the CNN) and `pii_ner`.
    """
    pipe, component, listener = _encoder_parts(encoder, folder)
    components = {pipe: component} if pipe else {}
    components["pii_ner"] = _head(listener, with_features=encoder.kind not in (CNN, SPACY))
    rate = learn_rate if learn_rate is not None else encoder.learn_rate
    return Config(
        {
            "paths": {"train": str(corpus / "train.spacy"), "dev": str(corpus / "dev.spacy")},
            "system": {"seed": seed, "gpu_allocator": None},
            "nlp": {
                "lang": "en",
                "pipeline": [name for name in (pipe, "pii_ner") if name],
                "batch_size": 16,
                "tokenizer": {"@tokenizers": "pii_edu.StudentTokenizer.v1"},
            },
            "components": components,
            "corpora": {
                "train": {"@readers": "pii_edu.EssayCorpus.v1", "path": "${paths.train}", "shuffle": True, "seed": seed},
                "dev": {"@readers": "pii_edu.EssayCorpus.v1", "path": "${paths.dev}"},
            },
            "training": {
                "train_corpus": "corpora.train",
                "dev_corpus": "corpora.dev",
                "seed": "${system.seed}",
                "gpu_allocator": "${system.gpu_allocator}",
                "max_epochs": epochs,
                "max_steps": max_steps,
                "patience": 0,
                "eval_frequency": max(1, steps // max(1, epochs)),
                "dropout": 0.1,
                "accumulate_gradient": 1,
                "batcher": {
                    "@batchers": "spacy.batch_by_words.v1", "size": batch_words, "tolerance": 0.2, "discard_oversize": False,
                    "get_length": None,
                },
                "optimizer": {
                    "@optimizers": "Adam.v1", "beta1": 0.9, "beta2": 0.999, "L2_is_weight_decay": True, "L2": 0.01, "grad_clip": 1.0,
                    "use_averages": False, "eps": 1e-8,
                    "learn_rate": {
                        "@schedules": "warmup_linear.v1", "warmup_steps": max(1, steps // 10), "total_steps": max(2, steps),
                        "initial_rate": rate,
                    },
                },
                "logger": {"@loggers": "spacy.ConsoleLogger.v1", "progress_bar": False},
                "score_weights": {"pii_f5": 0.5, "pii_f": 0.5},
            },
            "initialize": _initialize(encoder, folder, pipe),
        }
    )  # fmt: skip


def _encoder_parts(encoder: Encoder, folder: Path) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """RETURNS (tuple[str, dict, dict]): Name and settings of the encoder's component, and the layer by which pii_ner reads it."""
    if encoder.kind == CNN:
        cnn = {
            "@architectures": "spacy.HashEmbedCNN.v2", "pretrained_vectors": None, "width": 96, "depth": 4, "embed_size": 4000,
            "window_size": 1, "maxout_pieces": 3, "subword_features": True,
        }  # fmt: skip
        return "", {}, cnn
    if encoder.kind == SPACY:
        return (
            "tok2vec",
            {"source": str(folder)},
            {"@architectures": "spacy.Tok2VecListener.v1", "width": encoder.width, "upstream": "tok2vec"},
        )
    pooling = {"@layers": "reduce_mean.v1"}
    if encoder.kind == TRANSFORMERS:
        model = {
            "@architectures": "spacy-transformers.TransformerModel.v3",
            "name": str(folder),
            "mixed_precision": False,
            # Windows are counted in words here; 192 of them are seldom more than 512 pieces.
            "get_spans": {"@span_getters": "spacy-transformers.strided_spans.v1", "window": 192, "stride": 144},
            "tokenizer_config": {"use_fast": True},
        }
        component = {
            "factory": "transformer", "max_batch_items": 4096, "model": model,
            "set_extra_annotations": {"@annotation_setters": "spacy-transformers.null_annotation_setter.v1"},
        }  # fmt: skip
        listener = {
            "@architectures": "spacy-transformers.TransformerListener.v1", "grad_factor": 1.0, "upstream": "transformer", "pooling": pooling,
        }  # fmt: skip
        return "transformer", component, listener
    shape = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0, "mixed_precision": False, **encoder.shape}
    pieces = f"{_CURATED}XlmrSentencepieceEncoder.v1" if encoder.kind == SENTENCEPIECE else "pii_edu.LayoutWordpieceEncoder.v1"
    window = min(_WINDOW, encoder.shape.get("model_max_length", _WINDOW))
    model = {
        "@architectures": f"{_CURATED}BertTransformer.v1", **shape, "piece_encoder": {"@architectures": pieces},
        "with_spans": {
            "@architectures": "pii_edu.WithWindows.v1", "window": window, "overlap": min(_OVERLAP, window // 4), "batch_size": 32,
        },
    }  # fmt: skip
    listener = {
        "@architectures": f"{_CURATED}LastTransformerLayerListener.v1", "width": encoder.shape["hidden_width"], "upstream": "transformer",
        "grad_factor": 1.0, "pooling": pooling,
    }  # fmt: skip
    component = {"factory": "curated_transformer", "all_layer_outputs": False, "frozen": False, "model": model}
    return "transformer", component, listener


def _head(listener: dict[str, Any], *, with_features: bool) -> dict[str, Any]:
    """RETURNS (dict[str, Any]): `pii_ner` as in configs/pii_ner.cfg; an encoder that reads SHAPE itself gets no features beside it."""
    features = {
        "@architectures": "spacy.Tok2Vec.v2",
        "embed": {
            "@architectures": "spacy.MultiHashEmbed.v2", "width": 32, "attrs": ["SHAPE"], "rows": [500], "include_static_vectors": False,
        },
        "encode": {"@architectures": "spacy.MaxoutWindowEncoder.v2", "width": 32, "depth": 2, "window_size": 1, "maxout_pieces": 2},
    }  # fmt: skip
    return {
        "factory": "pii_ner",
        "spans_key": "pii",
        "thresholds": {"NAME": 0.4},
        "class_weights": {"O": 0.3},
        "model": {
            "@architectures": "pii_edu.TokenClassifier.v1",
            "tok2vec": listener,
            "features": features if with_features else None,
        },
    }


def _initialize(encoder: Encoder, folder: Path, pipe: str) -> dict[str, Any]:
    blocks: dict[str, Any] = {"components": {"pii_ner": {"labels": TRAINED_LABELS}}}
    if encoder.kind == SPACY and encoder.vectors:
        blocks["vectors"] = str(folder)
    if pipe and encoder.shape:
        if encoder.kind == SENTENCEPIECE:
            pieces: dict[str, Any] = {"@model_loaders": "pii_edu.SentencepieceLoader.v1", "path": str(folder / "sentencepiece.bpe.model")}
        else:
            pieces = {
                "@model_loaders": f"{_CURATED}WordpieceLoader.v1", "path": str(folder / "vocab.txt"), "lowercase": not encoder.cased,
                "strip_accents": not encoder.cased,
            }  # fmt: skip
        loader = {"@model_loaders": "pii_edu.EncoderLoader.v1", "path": str(folder)}
        blocks["components"][pipe] = {"encoder_loader": loader, "piecer_loader": pieces}
    return blocks
