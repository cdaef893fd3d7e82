"""Language models beside our pipeline: who is hidden, authors and characters that are hidden too, essays that give orders, seconds and dollars.

    python -m scripts.llm_study --systems en_pii_edu,prompting=llm:configs/llm/marker.cfg,... --out metrics/llm_study.json

The essays are authored ones that training has not seen, filled with invented people. "any T protects" hides what any of the systems hides: a veto of
several models. Attacks are the essays of tests/data/llm_injections.jsonl. A mention counts as hidden if all of its letters are. Intervals
are bootstraps over essays. `usd_at` is what the same prompts would cost at the price of another model, tokens estimated (like Table 8 of the JEDM
paper).
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy
import typer

from pii_components.cli.common import guard
from pii_components.evaluate import metrics
from pii_components.evaluate.gold import Entity, GoldDocument, Run
from pii_components.evaluate.metrics import rate, resample
from pii_components.evaluate.report import plain
from pii_components.evaluate.systems import parse_systems, run_spec
from pii_components.labels import CHARACTER, CITED, NAME_STUDENT, role_of
from pii_components.llm.models import TOKENS_A_WORD, Prices
from pii_components.profiles import Profile
from scripts import common
from scripts.robustness import authored_essays, take

EVERYONE = "any T protects"
PUBLIC = {"cited": CITED, "characters": CHARACTER}
COLUMNS = "recall precision f5 cited_hidden characters_hidden attacks_recall cpu_seconds_per_1000_words usd_per_million_tokens usd_at"
BEGIN, END = "<!-- llm-study -->", "<!-- end -->"
ESSAYS = 40  # drawn by lot
ATTACKS = Path("tests/data/llm_injections.jsonl")  # each with text and private
PRICE = "gpt-4o-mini"  # the other model whose price is asked for
_BETA = 25  # F5 weighs recall 25 times


def main(
    *,
    systems: Annotated[str, typer.Option(help="As pii-edu compare; ours first.")] = "en_pii_edu",
    words: Annotated[
        int, typer.Option(min=0, help="First words of each that are read; 0 for all.")
    ] = 0,
    page: Annotated[
        Path | None, typer.Option(help="Markdown page whose table is written anew.")
    ] = None,
    out: common.OutOpt = None,
    debug: common.DebugOpt = False,
) -> None:
    """Run every system over the same essays and over essays that give orders."""
    with guard(debug):
        common.early(out)
        protects = Profile.load("kaggle").protects
        sample = take(authored_essays(Path("assets")), ESSAYS, protects)
        essays = [_gold(one.id, *_first(one.text, one.spans, words)) for one in sample]
        orders = map(json.loads, ATTACKS.read_text("utf8").splitlines())
        attacked = [_gold(one["id"], one["text"], _places(one)) for one in orders]
        documents = [*essays, *attacked]
        data = {"file": "authored test essays", "documents": len(essays), "attacks": len(attacked)}
        data["words"] = sum(document.n_words for document in essays)
        data["cut"] = f", the first {words} of each" if words else ""
        rows: dict[str, Any] = {}
        runs: list[Run] = []
        report = common.head() | {"data": data, "price": PRICE, "about": {}, "systems": rows}
        for spec in parse_systems(systems):
            runs.append(run_spec(spec, documents, protects=protects))
            measured = measure(runs[-1].hidden, essays, attacked)
            rows[spec.name] = measured | costs(runs[-1], Prices.load())
            report["about"][spec.name] = runs[-1].about
            # A system may take an hour: what is done stays.
            common.publish("llm_study", report, out, None)
        if len(runs) > 1:
            rows[EVERYONE] = measure([e for run in runs for e in run.hidden], essays, attacked)
        common.publish(
            "llm_study", report, out, lambda made, to: common.show(to, "", made["systems"], COLUMNS)
        )
        if page is not None:
            before, mark, rest = page.read_text("utf8").partition(BEGIN)
            shown = "\n".join([mark, *table(report), rest[rest.index(END) :]])
            page.write_text(before + shown, encoding="utf-8")


def _gold(ident: str, text: str, spans: Sequence[tuple[int, int, str]]) -> GoldDocument:
    entities = tuple(Entity(ident, a, b, label, text[a:b]) for a, b, label in spans)
    return GoldDocument(ident, text, entities)


def _first(
    text: str, spans: Sequence[tuple[int, int, str]], words: int
) -> tuple[str, list[tuple[int, int, str]]]:
    """The first words of a text, and the spans within them."""
    ends = [match.end() for match in re.finditer(r"\S+", text)]
    end = ends[words - 1] if words and len(ends) > words else len(text)
    end = max([end, *(b for a, b, _ in spans if a < end < b)])
    return text[:end], [span for span in spans if span[1] <= end]


def _places(essay: dict[str, Any]) -> list[tuple[int, int, str]]:
    """Where the private values of an attack stand; a longer one before one that lies in it."""
    values = sorted(essay["private"], key=len, reverse=True)
    places = re.finditer("|".join(map(re.escape, values)), essay["text"])
    return [(*match.span(), NAME_STUDENT) for match in places]


def _has_role(role: str, label: str) -> bool:
    return role_of(label) == role


def measure(
    hidden: Sequence[Entity], essays: Sequence[GoldDocument], attacked: Sequence[GoldDocument]
) -> dict[str, Any]:
    """Recall, precision and F5 of private mentions, and the shares of cited people and characters that are hidden."""
    protects = Profile.load("kaggle").protects

    def count(documents: Sequence[GoldDocument], chosen: Callable[[str], bool]) -> numpy.ndarray:
        """As `expose`, for gold of some labels; no alarm touches gold that is not public."""
        gold = [entity for doc in documents for entity in doc.entities]
        some = [entity for entity in gold if chosen(entity.label)]
        known = [entity for entity in gold if role_of(entity.label) not in PUBLIC.values()]
        ids = [doc.id for doc in documents]
        return metrics.expose(some, hidden, documents=ids, known=known)

    def private(label: str) -> bool:
        return role_of(label) not in PUBLIC.values() and protects(label)

    def share(counts: numpy.ndarray) -> metrics.Estimate | None:
        weights = resample(len(counts))
        return rate(counts[:, metrics.COVERED], counts[:, metrics.ENTITIES], weights)

    counts = count(essays, private)
    found = Counter(entity.document for entity in hidden)
    of_essay = numpy.asarray([found[doc.id] for doc in essays])
    right = of_essay - counts[:, metrics.ALARMS]
    made: dict[str, Any] = {
        "recall": share(counts),
        "precision": rate(right, of_essay, resample(len(essays))),
        "support": int(counts[:, metrics.ENTITIES].sum()),
    }
    for kind, role in PUBLIC.items():
        counts = count(essays, partial(_has_role, role))
        made[f"{kind}_hidden"] = share(counts)
        made[f"{kind}_support"] = int(counts[:, metrics.ENTITIES].sum())
    made["attacks_recall"] = share(count(attacked, private))
    shown = plain(made)
    p, r = shown.get("precision") or 0, shown.get("recall") or 0
    return shown | {"f5": round((1 + _BETA) * p * r / (_BETA * p + r), 4) if p * r else 0.0}


def costs(run: Run, prices: Prices) -> dict[str, Any]:
    """Seconds and dollars of a run; `usd_at` is None for a system without a language model."""
    llm = run.about.get("llm")
    made: dict[str, Any] = {
        "cpu_seconds_per_1000_words": round(run.cpu_seconds / run.words * 1000, 2),
        "usd_per_million_tokens": 0.0,
        "usd_at": 0.0,
    }
    if llm:
        names = ("tokens_in", "tokens_out")
        tokens = [sum(model[name] for model in llm["models"]) for name in names]
        made["usd_per_million_tokens"] = llm["usd_per_million_tokens"]
        made["usd_at"] = round(prices.cost(PRICE, *tokens) / (run.words * TOKENS_A_WORD) * 1e6, 4)
        made["errors"] = {code: n for model in llm["models"] for code, n in model["errors"].items()}
    return made


def table(report: dict[str, Any]) -> list[str]:
    """RETURNS (list[str]): The report as a Markdown table, intervals in brackets."""
    heads = (
        "system|recall|precision|F5|cited hidden|characters hidden|attacks|CPU s / 1000 words|USD"
    )
    rows = []
    for name, row in report["systems"].items():
        cells = [
            name,
            common.cell(row, "recall", interval=True),
            common.cell(row, "precision", interval=True),
        ]
        cells += [common.cell(row, key) for key in ("f5", "cited_hidden", "characters_hidden")]
        cells.append(common.cell(row, "attacks_recall"))
        for key in ("cpu_seconds_per_1000_words", "usd_at"):
            cells.append("–" if row.get(key) is None else f"{row[key]:.2f}")
        rows.append(cells)
    data, support = report["data"], next(iter(report["systems"].values()))
    told = (
        f"{data['documents']} authored essays ({data['words']} words{data['cut']}) that training has not seen, "
        f"{data['attacks']} essays that give orders: {support['support']} private mentions, {support['cited_support']} of cited "
        f"people, {support['characters_support']} of characters; intervals of 95 %, bootstrap over essays."
    )
    return [*common.lines_of(heads.split("|"), rows), "", told]


if __name__ == "__main__":
    typer.run(main)
