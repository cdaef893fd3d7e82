"""Sections of the report on speed and on a release; see html_sections.py."""

from collections.abc import Mapping, Sequence
from typing import Any

from .html_parts import DASH, Cell, estimate, flat, is_pair, missing, number, paragraph, table
from .html_sections import Reports, comparisons, shown_systems, title_of


def speed(reports: Reports) -> str:
    """RETURNS (str): Words per second and what else was measured of time and memory."""
    out = []
    for file, report in comparisons(reports).items():
        rows: list[Sequence[Cell]] = []
        for name, system in shown_systems(report):
            time = system.get("time") or {}
            # Predictions from elsewhere bring no times: nothing was measured, which is not 0.
            kept = "this run"
            if time.get("stored"):
                kept = f"stored predictions: {'measured in another run' if time.get('seconds') else 'not measured'}"
            keys = ("seconds", "words_per_second", "cpu_seconds", "words_per_cpu_second")
            rows.append([name, *(time.get(k) or None for k in keys), kept])
        head = ("system", "seconds", "words per second", "processor seconds", "words per processor second", "measured in")
        out.append(table(f"{title_of(file, report)}: speed", head, rows, texts=(0, 5)))
        for pair, ratio in (report.get("speed_ratio") or {}).items():
            shown = ", ".join(f"{name.replace('_', ' ')} {number(value)}" for name, value in ratio.items())
            out.append(paragraph(f"{pair}: {shown}."))
    for file, report in reports.items():
        systems = report.get("systems")
        if isinstance(systems, Mapping) and any("by_length" in s for s in systems.values() if isinstance(s, Mapping)):
            out.append(scaling(file, report))
    return "\n".join(out) or missing("speed", "Make it with: pii-edu evaluate speed … --out FILE.")


def scaling(file: str, report: Mapping[str, Any]) -> str:
    """RETURNS (str): What `pii-edu evaluate speed` measured: by length of an essay, by size of a corpus; loading and memory."""
    rows: list[Sequence[Cell]] = []
    others: list[Sequence[Cell]] = []
    for name, system in report["systems"].items():
        for part, unit in (("by_length", "characters an essay"), ("by_corpus_size", "essays")):
            for size, found in (system.get(part) or {}).items():
                spread = found.get("words_per_second_range")
                least_most = " to ".join(number(v) for v in spread) if is_pair(spread) else DASH
                rows.append(
                    [
                        name,
                        f"{size} {unit}",
                        found.get("words_per_second"),
                        least_most,
                        found.get("words_per_cpu_second"),
                        found.get("seconds"),
                    ]
                )
        rest = {key: value for key, value in system.items() if key not in ("about", "by_length", "by_corpus_size")}
        others += [
            [name, path.replace("_", " "), value if isinstance(value, str | int | float) else None]
            for path, value in flat(rest)
        ]
    head = ("system", "of", "words per second", "least to most", "words per processor second", "seconds")
    out = table(f"{file}: speed by length and size, medians of {number(report.get('repeats'))} runs", head, rows, texts=(0, 1))
    out += "\n" + table(f"{file}: loading and memory", ("system", "measure", "value"), others, texts=(0, 1))
    ratios = [[path, value] for path, value in flat(report.get("ratios") or {})]
    return out + ("\n" + table(f"{file}: beside the baseline", ("ratio", "value"), ratios) if ratios else "")


def release(reports: Reports) -> str:
    """RETURNS (str): The attack on a release beside chance, and the leak arithmetic."""
    out = []
    for file, report in reports.items():
        found = report.get("release")
        if not isinstance(found, Mapping):
            continue
        names = (
            "documents",
            "surrogates",
            "leaks",
            "leaks_in_part",
            "mentions",
            "mentions_with_a_leak",
            "documents_with_a_leak",
        )
        out.append(paragraph("; ".join(f"{name.replace('_', ' ')}: {number(found.get(name))}" for name in names) + "."))
        out.append(
            paragraph(
                f"Leaks known from: {found.get('leaks_known_from', '?')}. Surrogates known from: {found.get('surrogates_known_from', '?')}."
            )
        )
        rows: list[Sequence[Cell]] = [
            [name, *(row.get(k) for k in ("leaks", "suspects", "found")), estimate(row, "precision"), row.get("chance_precision"),
             estimate(row, "recall"), row.get("chance_recall"), estimate(row, "lift"), row.get("p_value"), estimate(row, "auc")]
            for name, row in (found.get("attacks") or {}).items()
        ]  # fmt: skip
        head = (
            "attacker",
            "leaks",
            "suspects",
            "found",
            "precision",
            "by chance",
            "recall",
            "by chance",
            "precision over chance",
            "p",
            "AUC",
        )
        out.append(table(f"{file}: parrot attack, both halves in turn", head, rows))
        out.append(arithmetic(found.get("arithmetic") or {}))
    return "\n".join(out) or missing("release risk", "Make it with: pii-edu evaluate release ORIGINAL RELEASED --out FILE.")


def arithmetic(found: Mapping[str, Any]) -> str:
    """RETURNS (str): Probability that repetition gives a value away, by number of mentions."""
    if not found:
        return ""
    names = ("consistent", "apart", "random", "markov")
    rows: list[Sequence[Cell]] = [
        [str(row.get("n")), row.get("values"), *(row.get(name) for name in names)] for row in found.get("by_repetition", [])
    ]
    for title, key, count in (
        ("all values", "share_of_values", "values"),
        ("documents", "share_of_documents", "documents_with_values"),
    ):
        shares = found.get(key) or {}
        rows.append([title, found.get(count), *(shares.get(name) for name in names)])
    seen = ", ".join(f"{name.replace('_', ' ')}: {number(n)}" for name, n in (found.get("observed") or {}).items())
    head = ("mentions in a document", "values", "consistent", "consistent, side by side", "random", "Markov")
    return table(
        f"Probability that repetition gives a value away; {number(found.get('miss_rate'))} of the mentions missed "
        f"(from {found.get('miss_rate_from')}), Markov keeps with {number(found.get('keep'))}",
        head,
        rows,
    ) + paragraph(f"Observed in the release: {seen}.")
