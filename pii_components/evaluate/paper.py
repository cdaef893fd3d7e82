"""The printed tables of the JEDM paper as records: what computed numbers are compared with.

    >>> from pii_components.evaluate.paper import printed
    >>> len(printed(7)), printed(7)[0]["system"], printed(7)[0]["tp"]
    (35, 'presidio_lg', 1805)

Source: seeds/gpt4omini_jedm.txt (arXiv 2501.09765), Tables 6 to 11. Slips of the print stand here as they were printed.
"""

import csv
from functools import cache
from importlib import resources

# Names of the systems in the data files -> stored predictions and the name in the print.
SYSTEMS: dict[str, tuple[str, str]] = {
    "presidio_lg": ("1_presidio_lg.csv", "1. Presidio (en_core_web_lg)"),
    "presidio_trf": ("2_presidio_trf.csv", "2. Presidio (en_core_web_trf)"),
    "azure": ("3_azure.csv", "3. Azure AI Language"),
    "prompted": ("4_prompting.csv", "4. Prompting GPT-4o-mini"),
    "finetuned": ("5_finetuned.csv", "5. Fine-tuned GPT-4o-mini"),
    "verifier_1": ("6_verifier_I.csv", "6. Verifier Model I (Without CoT)"),
    "verifier_2": ("7_verifier_II.csv", "7. Verifier Model II (With CoT)"),
}
# Of Table 11, on TSCC.
CHAT_SYSTEMS: dict[str, str] = {
    "tscc_1_presidio": "1. Presidio (en_core_web_trf)",
    "tscc_2_azure": "2. Azure AI Language",
    "tscc_3_gpt+fewshot": "3. GPT-4o-mini + few-shot prompting",
    "tscc_4_ftgpt+zeroshot": "4. Fine-tuned GPT-4o-mini + zero-shot prompting",
    "tscc_5_gpt+ft": "5. GPT-4o-mini + fine-tuning",
    "tscc_6_ftgpt+ft": "6. Fine-tuned GPT-4o-mini + fine-tuning",
}
OVERALL = "overall"
MEASURES = ("precision", "recall", "f1", "f5")
Value = str | int | float | None


@cache
def printed(table: int) -> tuple[dict[str, Value], ...]:
    """Rows of a table.

    table (int): Its number in the paper, 6 to 11.
    RETURNS (tuple[dict[str, Value], ...]): In the order of the print: whole numbers, fractions, texts; None for what is not printed.
    """
    file = resources.files("pii_components") / "resources" / "papers" / f"jedm_table{table}.tsv"
    lines = file.read_text(encoding="utf8").splitlines()
    return tuple({name: _value(cell) for name, cell in row.items()} for row in csv.DictReader(lines, delimiter="\t"))


def _value(cell: str) -> Value:
    for kind in (int, float):
        try:
            return kind(cell)
        except ValueError:
            continue
    return cell or None


def as_printed(value: float, like: Value) -> bool:
    """Whether a number was rounded to what stands in the print.

    value (float): As computed. like (Value): As printed.
    RETURNS (bool): For fractions, up to half a unit of the last digit that the paper prints (four, for money two).
    """
    if like is None or isinstance(like, str):
        return False
    return abs(value - like) <= (0 if isinstance(like, int) else 0.5e-4 + 1e-9)
