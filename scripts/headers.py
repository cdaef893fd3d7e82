"""Headers of assignments and posts: learns which lines they are, and says how well they are found.

    python -m scripts.headers --learn                                 # writes resources/surrogates/headers.json
    python -m scripts.headers --sealed --out metrics/headers.json

The weights of `surrogates.headers` are learned by logistic regression, from the open texts of tests/data/headers and, at little weight, from
lines of our own essays that are no header; how sure a line must be, by cross-validation, for F0.25. `open` is scored by nested cross-validation
over documents, `sealed` with what ships. `rule` is what 0.12.0 removed. `essays`: how many lines that are no header would be removed of
essays that nothing was learned from; running text has more than 12 words and ends a sentence. Intervals are bootstraps over documents.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy
import spacy
import typer

from pii_components.cli.common import guard
from pii_components.corpus.build import Filled, TemplateFiller, rng_for, split_of
from pii_components.corpus.templates import read_fragments, read_templates
from pii_components.evaluate import metrics
from pii_components.evaluate.report import plain
from pii_components.names.table import name_table
from pii_components.profiles import KEEP
from pii_components.surrogates.component import read_group
from pii_components.surrogates.headers import MODEL, Line, find_headers, read_lines, weigh
from pii_components.surrogates.values import Item
from scripts import common

Spans = Sequence[Sequence[int]]
Weights = dict[str, float]
SEED, FOLDS, C = 31, 10, 1.0
BETA = 0.25  # a line that is wrongly removed counts as 16 that are missed
ESSAYS = 2000  # whose lines are no headers; together they weigh half of the labelled lines
RUNNING, TOP = 12, 15
_SENTENCE = re.compile(r"([^.!?\n]{15,120})[.!?]")
BARS = numpy.arange(0, 2.01, 0.25)


class Text(NamedTuple):
    """A text, what is found in it, its lines with their features, and which of them are headers, where that is known."""

    id: str
    text: str
    items: list[Item]
    lines: list[Line]
    gold: list[bool]


def main(
    *,
    learn: Annotated[
        bool, typer.Option("--learn", help="Learn anew what ships; score nothing.")
    ] = False,
    sealed: Annotated[bool, typer.Option("--sealed", help="Score the sealed texts, too.")] = False,
    pipeline: common.PipelineOpt = "en_pii_edu",
    data: Annotated[Path, typer.Option(help="Folder with texts.jsonl and rule.json.")] = Path(
        "tests/data/headers"
    ),
    assets: common.AssetsOpt = Path("assets"),
    out: common.OutOpt = None,
    debug: common.DebugOpt = False,
) -> None:
    """Learn and score the finder of headers."""
    with guard(debug):
        common.early(out)
        texts = read_texts(data / "texts.jsonl", pipeline, "open")
        none = [
            text.lines[n].features for text in essays(assets, "train") for n in no_headers(text)
        ]
        if learn:
            made = json.dumps(fit(texts, none), indent=0, sort_keys=True, ensure_ascii=False)
            Path("pii_components", MODEL).write_text(made + "\n", "utf8")
            return
        rule = json.loads((data / "rule.json").read_text("utf8"))
        report: dict[str, Any] = common.head() | {
            "bootstrap": {"unit": "document", "resamples": metrics.N_RESAMPLES}
        }
        report["open"] = compare(
            texts, crossed(texts, lambda others: fit(others, none), found_by), rule
        )
        if sealed:
            texts = read_texts(data / "texts.jsonl", pipeline, "sealed")
            report["sealed"] = compare(texts, [found_by(None, text) for text in texts], rule)
        report["essays"] = eaten([*essays(assets, "dev"), *essays(assets, "test")])
        common.publish("headers", report, out, lambda made, to: to.print_json(data=made))


def text_of(
    ident: str, text: str, spans: Sequence[tuple[int, int, str]], headers: Spans = ()
) -> Text:
    """A text with the spans that are found, and its headers."""
    items = [Item(*span, KEEP) for span in sorted(spans)]
    lines = read_lines(text, items)
    return Text(ident, text, items, lines, marked(text, lines, headers))


def read_texts(path: Path, pipeline: str, part: str) -> list[Text]:
    """The texts of a part, read by the pipeline."""
    rows = [
        row for row in map(json.loads, path.read_text("utf8").splitlines()) if row["part"] == part
    ]
    docs = spacy.load(pipeline, exclude=["hips_surrogate"]).pipe([row["text"] for row in rows])
    found = [
        [(span.start_char, span.end_char, span.label) for span in read_group(doc, "pii")]
        for doc in docs
    ]
    return [
        text_of(row["id"], row["text"], spans, row["headers"])
        for row, spans in zip(rows, found, strict=True)
    ]


@cache
def essays(assets: Path, split: str) -> list[Text]:
    """Essays and short texts by lot, filled once: one sentence of each is a text too, and half of them are signed, which `gold` marks."""
    templates = [template for template in read_templates(assets) if split_of(template.id) == split]
    rng_for(SEED, split).shuffle(templates)
    signoffs, out = read_fragments(assets)["signoffs"], list[Text]()
    for template in templates[:ESSAYS]:
        rng = rng_for(SEED, template.id)
        filler = TemplateFiller(name_table(), rng, genders=template.genders)
        filled = filler.fill(template.parts)
        if sentences := [*_SENTENCE.finditer(filled.text)]:
            a, b = rng.choice(sentences).span(rng.randrange(2))  # with and without its full stop
            out.append(
                text_of(
                    "",
                    filled.text[a:b],
                    [(s - a, e - a, label) for s, e, label in filled.spans if a <= s and e <= b],
                )
            )
        end = len(filled.text)
        if rng.random() < 0.5:
            filled = filled + Filled("\n\n") + filler.fill(rng.choice(signoffs))
        out.append(text_of(template.id, filled.text, filled.spans, [(end, len(filled.text))]))
    return out


def found_by(weights: Weights | None, text: Text) -> Spans:
    """What is found with these weights; None for those that ship."""
    return find_headers(text.text, text.items, weights)


def marked(text: str, lines: Sequence[Line], spans: Spans) -> list[bool]:
    """Which lines lie in the spans, by more than half of their letters and digits."""
    inside = {i for start, end in spans for i in range(start, end)}
    signs = [
        [i in inside for i in range(line.start, line.end) if text[i].isalnum()] for line in lines
    ]
    return [sum(line) > len(line) / 2 for line in signs]


def no_headers(text: Text) -> dict[int, bool]:
    """Lines of an essay that are no header, beyond doubt: running text (True); what stands alone, signs the essay, or stands below the top and
    names no student (False)."""
    shown = [text.text[line.start : line.end].strip() for line in text.lines]
    running = [len(line.split()) > RUNNING and line.endswith((".", "!", "?")) for line in shown]
    sure = [
        len(shown) == 1 or text.gold[n] or (n >= TOP and "student" not in line.features)
        for n, line in enumerate(text.lines)
    ]
    return {n: running[n] for n in range(len(shown)) if running[n] or sure[n]}


def regression(texts: Sequence[Text], none: Sequence[Weights]) -> Weights:
    """Weights of features, "bias" among them. none: Features of lines that are no header."""
    from sklearn.feature_extraction import DictVectorizer
    from sklearn.linear_model import LogisticRegression

    rows, gold = (
        [line.features for text in texts for line in text.lines],
        [header for text in texts for header in text.gold],
    )
    share = len(gold) / 2 / len(none)
    names, model = DictVectorizer(), LogisticRegression(C=C, max_iter=5000)
    weights = [1.0] * len(gold) + [share] * len(none)
    model.fit(
        names.fit_transform([*rows, *none]), [*gold, *[False] * len(none)], sample_weight=weights
    )
    return dict(zip(names.get_feature_names_out(), model.coef_[0].tolist(), strict=True)) | {
        "bias": float(model.intercept_[0])
    }


def fit(texts: Sequence[Text], none: Sequence[Weights]) -> Weights:
    """What ships: a line must be as sure as is best for F0.25 where texts are left out in turn, in three ways."""
    odds: list[list[float]] = []
    for seed in range(3):
        left_out = crossed(
            texts,
            lambda others: regression(others, none),
            lambda w, text: [weigh(x.features, w) for x in text.lines],
            seed,
        )
        odds += left_out
    gold = numpy.concatenate([text.gold for text in texts] * 3)[:, None]
    found = numpy.concatenate(odds)[:, None] > BARS
    bar = BARS[
        numpy.argmax((1 + BETA**2) * (found & gold).sum(0) / (found.sum(0) + BETA**2 * gold.sum()))
    ]
    weights = {
        name: round(weight, 3)
        for name, weight in regression(texts, none).items()
        if round(weight, 3)
    }
    return weights | {"bias": round(weights["bias"] - float(bar), 3)}


def crossed(
    texts: Sequence[Text],
    learn: Callable[[list[Text]], Weights],
    apply: Callable[[Weights, Text], Any],
    seed: int = SEED,
) -> list[Any]:
    """For each text what weights give that were learned from the other nine tenths."""
    order, out = numpy.random.default_rng(seed).permutation(len(texts)).tolist(), dict[int, Any]()
    for fold in range(FOLDS):
        left = order[fold::FOLDS]
        weights = learn([text for n, text in enumerate(texts) if n not in left])
        out |= {n: apply(weights, texts[n]) for n in left}
    return [out[n] for n in range(len(texts))]


def compare(
    texts: Sequence[Text], learned: Sequence[Spans], rule: Mapping[str, Spans]
) -> dict[str, Any]:
    """Scores of lines, and of blocks that are found whole and alone, for both; and the difference."""
    weights, counts = metrics.resample(len(texts)), dict[str, dict[str, numpy.ndarray]]()
    for name, found in (("learned", learned), ("rule", [rule[text.id] for text in texts])):
        rows = [
            (text.gold, marked(text.text, text.lines, spans))
            for text, spans in zip(texts, found, strict=True)
        ]
        for of, units in (("lines", numpy.flatnonzero), ("blocks", blocks)):
            pairs = [({*units(gold)}, {*units(got)}) for gold, got in rows]
            counts.setdefault(of, {})[name] = numpy.array(
                [(len(a & b), len(b - a), len(a - b)) for a, b in pairs]
            )
    report: dict[str, Any] = {"documents": len(texts)}
    for of, by in counts.items():
        report[of] = {name: plain(metrics.score(rows, weights)) for name, rows in by.items()}
        report[of]["learned minus rule"] = plain(
            metrics.difference(by["learned"], by["rule"], weights)
        )
    return report


def blocks(marks: Sequence[bool]) -> list[tuple[int, int]]:
    """First line of each run, and the one behind it."""
    edges = numpy.flatnonzero(numpy.diff([0, *marks, 0])).tolist()
    return list(zip(edges[::2], edges[1::2], strict=True))


def eaten(texts: Sequence[Text]) -> dict[str, Any]:
    """How many lines would be removed that are no header."""
    counts = {"running text": [0, 0], "other lines": [0, 0]}
    for text in texts:
        gone = marked(text.text, text.lines, found_by(None, text))
        for n, running in no_headers(text).items():
            kind = counts["running text" if running else "other lines"]
            kind[0], kind[1] = kind[0] + 1, kind[1] + gone[n]
    return {"essays": len(texts)} | {
        kind: {"lines": n, "removed": m} for kind, (n, m) in counts.items()
    }


if __name__ == "__main__":
    typer.run(main)
