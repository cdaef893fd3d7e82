"""Where the printed JEDM paper does not agree with itself: sums, measures, averages, tests. Nothing but its own numbers is needed.

find_slips()            # [{"where": "Table 6", "what": "total of all: printed 4871, the rows sum to 4875"}, …]
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy

from .cost import implied_tokens
from .fairness import mann_whitney, significance
from .metrics import measures
from .paper import MEASURES, SYSTEMS, Value, as_printed, printed

COUNTS = ("tp", "fp", "fn")
# Section 4.4: "approximately 6 times higher" than the fine-tuned model.
PRINTED_RATIO = 6
_CENT = 0.005


def number(value: Value) -> float:
    """RETURNS (float): A printed number; 0 for a dash."""
    return float(value) if isinstance(value, int | float) else 0.0


def check_counts(table: int) -> list[dict[str, Any]]:
    """Measures of Table 7 or 11 against its own counts.

    RETURNS (list[dict[str, Any]]): Per row `differs`: measures that do not follow from TP, FP and FN.
    """
    out = []
    for row in printed(table):
        values = measures(numpy.asarray([number(row[name]) for name in COUNTS]))
        differs = [name for name in MEASURES if not as_printed(float(values[name]), row[name])]
        out.append({"system": row["system"], "label": row.get("label", ""), "differs": differs})
    return out


def check_table8() -> list[dict[str, Any]]:
    """RETURNS (list[dict[str, Any]]): Per system its total, the sum of its parts, and the tokens that its average stands for."""
    out = []
    for row in printed(8):
        parts = [number(value) for name, value in row.items() if name not in ("system", "total", "per_million")]
        total, average = number(row["total"]), number(row["per_million"])
        out.append({
            "system": row["system"], "name": SYSTEMS[str(row["system"])][1], "total": total, "sum": round(sum(parts), 2),
            "equal": abs(total - sum(parts)) < _CENT, "per_million": average,
            "million_tokens": [round(n, 3) for n in implied_tokens(total, average)] if average else None,
        })  # fmt: skip
    return out


def check_table9(recall: Mapping[str, float]) -> list[dict[str, Any]]:
    """Recall over both genders as Table 9 prints it, beside recall of names in Table 7 and by the rule that Table 9 fits.

    recall (Mapping[str, float]): Of all names, by the rule "anywhere in the document".
    RETURNS (list[dict[str, Any]]): Per system.
    """
    genders = [row for row in printed(9) if row["category"] == "gender"]
    total = sum(number(row["total"]) for row in genders)
    names = {row["system"]: number(row["recall"]) for row in printed(7) if row["label"] == "NAME_STUDENT"}
    return [
        {
            "system": system,
            "table9": round(sum(number(row["total"]) * number(row[system]) for row in genders) / total, 4),
            "table7": names[system],
            "anywhere": round(value, 4),
        }
        for system, value in recall.items()
    ]


def hits_of(total: int, recall: float) -> int:
    """RETURNS (int): The number of hits that rounds to this recall."""
    return round(total * recall)


def check_table10() -> list[dict[str, Any]]:
    """Table 10 from the totals and recalls of Table 9: U, p and stars, each beside what is printed.

    RETURNS (list[dict[str, Any]]): The 18 rows; `equal` if U (to a whole number), both rates and the stars are as printed.
    """
    groups = {(row["category"], row["group"]): row for row in printed(9)}
    out = []
    for row in printed(10):
        category, system = row["category"], str(row["system"])
        of = [(name, values) for (kind, name), values in groups.items() if kind == category]
        counts = {name: (hits_of(int(number(v["total"])), number(v[system])), int(number(v["total"]))) for name, v in of}
        hits, total = counts.pop(row["group"])
        rest_hits, rest_total = (sum(pair[i] for pair in counts.values()) for i in (0, 1))
        u, p = mann_whitney(hits, total, rest_hits, rest_total)
        rates_equal = as_printed(hits / total, row["group_tpr"]) and as_printed(rest_hits / rest_total, row["rest_tpr"])
        found: dict[str, Any] = {
            "category": category, "group": row["group"], "system": system, "u": u, "printed_u": row["u"],
            "p": float(f"{p:.4g}"), "significance": significance(p), "printed_significance": row["significance"],
            "rates_equal": rates_equal,
        }  # fmt: skip
        found["u_equal"] = abs(u - number(row["u"])) <= 0.5
        found["equal"] = rates_equal and found["u_equal"] and found["significance"] == row["significance"]
        out.append(found)
    return out


def find_slips() -> list[dict[str, str]]:
    """RETURNS (list[dict[str, str]]): Where the print contradicts itself, and how."""
    out: list[tuple[str, str]] = []
    table = printed(6)
    for part in (name for name in table[0] if name != "label"):
        total = sum(int(number(row[part])) for row in table if row["label"] != "total")
        shown = next(row[part] for row in table if row["label"] == "total")
        if total != shown:
            out.append(("Table 6", f"total of {part}: printed {shown}, its rows sum to {total}"))
    for which in (7, 11):
        out += [
            (f"Table {which}", f"{row['system']} {row['label']}: {', '.join(row['differs'])} do not follow from the counts")
            for row in check_counts(which)
            if row["differs"]
        ]
    out += overall_slips()
    rows = check_table8()
    out += [
        ("Table 8", f"{row['system']}: printed total {row['total']}, its parts sum to {row['sum']}")
        for row in rows
        if not row["equal"]
    ]
    known = {row["system"]: row["million_tokens"] for row in rows if row["million_tokens"]}
    least, most = max(known, key=lambda s: known[s][0]), min(known, key=lambda s: known[s][1])
    if known[least][0] > known[most][1]:
        what = f"no number of tokens fits all averages: {least} has {known[least][0]:.2f} million or more, {most} {known[most][1]:.2f}"
        out.append(("Table 8", what + " or less"))
    price = {row["system"]: row["per_million"] for row in rows}
    ratio = price["azure"] / price["finetuned"]
    if round(ratio) != PRINTED_RATIO:
        out.append(
            ("Section 4.4", f"Azure costs {ratio:.1f} times the fine-tuned model, printed 'approximately {PRINTED_RATIO}'")
        )
    out += [
        ("Tables 7, 9", f"{row['system']}: recall of names {row['table7']:.4f} in Table 7, {row['table9']:.4f} over both genders "
         "in Table 9, so not by one rule")
        for row in check_table9(dict.fromkeys(("presidio_trf", "azure", "finetuned"), 0.0))
    ]  # fmt: skip
    out += [("Table 10", slip_of(row)) for row in check_table10() if not row["equal"]]
    return [{"where": where, "what": what} for where, what in out]


def slip_of(row: Mapping[str, Any]) -> str:
    """RETURNS (str): What does not fit in a row of Table 10."""
    wrong = []
    if not row["rates_equal"]:
        wrong.append("rates other than in Table 9")
    if not row["u_equal"]:
        wrong.append(f"U printed {row['printed_u']}, from Table 9 {row['u']:.1f}")
    if row["significance"] != row["printed_significance"]:
        wrong.append(f"printed {row['printed_significance']}, p = {row['p']:.3g} is {row['significance']}")
    return f"{row['group']}, {row['system']}: {'; '.join(wrong)}"


def overall_slips() -> list[tuple[str, str]]:
    """RETURNS (list[tuple[str, str]]): Rows "Overall" of Table 7 that are not the sum of their system, and other totals than Table 6's."""
    out: list[tuple[str, str]] = []
    rows: Sequence[Mapping[str, Value]] = printed(7)
    shown = next(int(number(row["test"])) for row in printed(6) if row["label"] == "total")
    gold = set()
    for system in SYSTEMS:
        own = [row for row in rows if row["system"] == system]
        overall = next(row for row in own if row["label"] == "overall")
        gold.add(int(number(overall["tp"]) + number(overall["fn"])))
        for name in COUNTS:
            total = sum(int(number(row[name])) for row in own if row["label"] != "overall")
            if total != overall[name]:
                out.append(("Table 7", f"{system} overall: printed {name} {overall[name]}, its rows sum to {total}"))
    out += [("Tables 6, 7", f"{n} entities (TP + FN) in Table 7, {shown} in Table 6") for n in sorted(gold - {shown})]
    return out
