"""Headers of assignments and posts: learns which lines they are, and says how well they are found.

    python -m scripts.headers --learn                                 # writes resources/surrogates/headers.json
    python -m scripts.headers --out metrics/headers.json

The weights of `surrogates.headers` are learned by logistic regression, from the open texts of
tests/data/headers and, at little weight, from lines of our own essays that are no header; how sure a
line must be, by cross-validation, for F0.25. The sealed texts are scored with what ships. Intervals
are bootstraps over documents.
"""

import json
import re
from collections.abc import Sequence
from itertools import cycle
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
DATA = Path("tests/data/headers/texts.jsonl")
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
    learn: Annotated[bool, typer.Option("--learn", help="Learn anew what ships.")] = False,
    out: common.OutOpt = None,
) -> None:
    """Learn the finder of headers, or score it on the sealed texts."""
    with guard():
        common.early(out)
        if learn:
            texts = essays(Path("assets"))
            rows = [line.features for text in texts for line in no_headers(text)]
            rows += [line.features for line in set_in(texts)]
            made = fit(read_texts("open"), rows)
            shown = json.dumps(made, indent=0, sort_keys=True, ensure_ascii=False)
            Path("pii_components", MODEL).write_text(shown + "\n", "utf8")
        else:
            report = common.head() | {"sealed": scores(read_texts("sealed"))}
            common.publish("headers", report, out, lambda made, to: to.print_json(data=made))


def text_of(
    ident: str, text: str, spans: Sequence[tuple[int, int, str]], headers: Spans = ()
) -> Text:
    """A text with the spans that are found, and its headers."""
    items = [Item(*span, KEEP) for span in sorted(spans)]
    lines = read_lines(text, items)
    return Text(ident, text, items, lines, marked(text, lines, headers))


def read_texts(part: str) -> list[Text]:
    """The texts of a part, read by the pipeline."""
    rows = [json.loads(line) for line in DATA.read_text("utf8").splitlines()]
    rows = [row for row in rows if row["part"] == part]
    docs = spacy.load("en_pii_edu", exclude=["hips_surrogate"]).pipe([row["text"] for row in rows])
    texts = []
    for row, doc in zip(rows, docs, strict=True):
        spans = [(span.start_char, span.end_char, span.label_) for span in read_group(doc, "pii")]
        texts.append(text_of(row["id"], row["text"], spans, row["headers"]))
    return texts


def essays(assets: Path) -> list[Text]:
    """Essays and short texts by lot, filled once: one sentence of each is a text too, and half of them are signed, which `gold` marks."""
    templates = [one for one in read_templates(assets) if split_of(one.id) == "train"]
    rng_for(SEED, "train").shuffle(templates)
    signoffs, out = read_fragments(assets)["signoffs"], list[Text]()
    for template in templates[:ESSAYS]:
        rng = rng_for(SEED, template.id)
        filler = TemplateFiller(name_table(), rng, genders=template.genders)
        filled = filler.fill(template.parts)
        if sentences := [*_SENTENCE.finditer(filled.text)]:
            a, b = rng.choice(sentences).span(rng.randrange(2))  # with and without its full stop
            one = filled.cut(a, b)
            out.append(text_of("", one.text, one.spans))
        end = len(filled.text)
        if rng.random() < 0.5:
            filled = filled + Filled("\n\n") + filler.fill(rng.choice(signoffs))
        out.append(text_of(template.id, filled.text, filled.spans, [(end, len(filled.text))]))
    return out


def marked(text: str, lines: Sequence[Line], spans: Spans) -> list[bool]:
    """Which lines lie in the spans, by more than half of their letters and digits."""
    inside = {i for start, end in spans for i in range(start, end)}
    out = []
    for line in lines:
        signs = [i in inside for i in range(line.start, line.end) if text[i].isalnum()]
        out.append(sum(signs) > len(signs) / 2)
    return out


def no_headers(text: Text) -> list[Line]:
    """Lines of an essay that are no header, beyond doubt: running text; what stands alone, signs the
    essay, or stands below the top and names no student; or that names others only."""
    found = []
    for n, line in enumerate(text.lines):
        shown = text.text[line.start : line.end].strip()
        running = len(shown.split()) > RUNNING and shown.endswith((".", "!", "?"))
        below = n >= TOP and "student" not in line.features
        others = not line.features.keys().isdisjoint(("public", "connected"))
        others = others and line.features.keys().isdisjoint(("student", "instructor"))
        if running or len(text.lines) == 1 or text.gold[n] or below or others:
            found.append(line)
    return found


def set_in(texts: Sequence[Text]) -> list[Line]:
    """Lines of a list, a table, a chat or a play that stands in an essay: no header, whatever they look like. Behind a line of
    each essay that is long enough, another text is set in that has little running text."""
    running = {text.id: sum("many words" in line.features for line in text.lines) for text in texts}
    hosts = [text for text in texts if running[text.id] >= max(4, 0.6 * len(text.lines))]
    guests = [
        text for text in texts if len(text.lines) > 3 and running[text.id] < 0.6 * len(text.lines)
    ]
    found = list[Line]()
    for guest, host in zip(guests, cycle(hosts)):  # noqa: B905
        rng = rng_for(SEED, guest.id + host.id)
        long = [line.end for line in host.lines if "many words" in line.features]
        at = rng.choice(long)
        if any(item.start < at < item.end for item in host.items):
            continue
        shown = "\n" + guest.text.strip("\n") + "\n"
        by = 1 - len(guest.text) + len(guest.text.lstrip("\n"))
        spans = [item[:3] for item in host.items if item.end <= at]
        spans += [(a + at + by, b + at + by, label) for a, b, label, _ in guest.items]
        spans += [
            (a + len(shown), b + len(shown), label) for a, b, label, _ in host.items if a >= at
        ]
        one = text_of("", host.text[:at] + shown + host.text[at:], spans)
        found += [line for line in one.lines if at <= line.start < at + len(shown)]
    return found


def regression(texts: Sequence[Text], none: Sequence[Weights]) -> Weights:
    """Weights of features, "bias" among them. none: Features of lines that are no header."""
    from sklearn.feature_extraction import DictVectorizer
    from sklearn.linear_model import LogisticRegression

    rows = [line.features for text in texts for line in text.lines]
    gold = [header for text in texts for header in text.gold]
    share = len(gold) / 2 / len(none)
    names, model = DictVectorizer(), LogisticRegression(C=C, max_iter=5000)
    weights = [1.0] * len(gold) + [share] * len(none)
    labels = [*gold, *[False] * len(none)]
    model.fit(names.fit_transform([*rows, *none]), labels, sample_weight=weights)
    found = dict(zip(names.get_feature_names_out(), model.coef_[0].tolist(), strict=True))
    return found | {"bias": float(model.intercept_[0])}


def fit(texts: Sequence[Text], none: Sequence[Weights]) -> Weights:
    """What ships: a line must be as sure as is best for F0.25 where texts are left out in turn, in three ways."""
    odds, gold = [], []
    for seed in range(3):
        order = numpy.random.default_rng(seed).permutation(len(texts)).tolist()
        for fold in range(FOLDS):
            left = set(order[fold::FOLDS])
            weights = regression([text for n, text in enumerate(texts) if n not in left], none)
            for n in left:
                odds += [weigh(line.features, weights) for line in texts[n].lines]
                gold += texts[n].gold
    truth, found = numpy.asarray(gold)[:, None], numpy.asarray(odds)[:, None] > BARS
    hits = (found & truth).sum(0)
    bar = BARS[numpy.argmax((1 + BETA**2) * hits / (found.sum(0) + BETA**2 * truth.sum()))]
    rounded = {name: round(weight, 3) for name, weight in regression(texts, none).items()}
    weights = {name: weight for name, weight in rounded.items() if weight}
    return weights | {"bias": round(weights["bias"] - float(bar), 3)}


def scores(texts: Sequence[Text], weights: Weights | None = None) -> dict[str, Any]:
    """Scores of lines, found with these weights; None for those that ship."""
    counts = []
    for text in texts:
        found = find_headers(text.text, text.items, weights)
        pairs = list(zip(text.gold, marked(text.text, text.lines, found), strict=True))
        counts.append([pairs.count(one) for one in ((True, True), (False, True), (True, False))])
    lines = metrics.score(numpy.array(counts), metrics.resample(len(texts)))
    return {"documents": len(texts), "lines": plain(lines)}


if __name__ == "__main__":
    typer.run(main)
