"""The report's section on calibration, from metrics files that hold `calibration`, and the verifier against chance (`control`)."""

from collections.abc import Mapping
from typing import Any

from . import veto_table as veto
from .html_charts import lines
from .html_parts import missing, number, paragraph, table

Reports = Mapping[str, Mapping[str, Any]]


def calibration(reports: Reports) -> str:
    """RETURNS (str): A reliability curve and its bins for each group of probabilities."""
    out = []
    for file, report in reports.items():
        found = report.get("calibration")
        if not isinstance(found, Mapping):
            continue
        for name, curve in found.items():
            bins = curve.get("bins") if isinstance(curve, Mapping) else None
            if not bins:
                continue
            places = [b["mean_score"] for b in bins]
            drawn = {"was so": [b["share"] for b in bins], "as it should be": places}
            out.append(lines(f"{file}: {name}", places, drawn, axis="mean probability"))
            told = f"{curve['n']} probabilities; expected calibration error {number(curve['ece'])}, Brier score {number(curve['brier'])}."
            out.append(paragraph(told))
            rows = []
            for b in bins:
                low, high = b["share_95"]
                rows.append(
                    [
                        f"{b['low']:.1f} to {b['high']:.1f}",
                        b["n"],
                        b["mean_score"],
                        f"{b['share']:.3f} ({low:.3f} to {high:.3f})",
                    ]
                )
            out.append(table(f"{name}: bins", ("probability", "n", "mean", "was so, 95 % interval"), rows))
    if not out:
        out.append(missing("reliability curves", "Make them with: pii-edu evaluate crossval … --out FILE."))
    return "\n".join(out)


def control(reports: Reports) -> str:
    """RETURNS (str): The verifier against vetoes at random (`control`); nothing where no file holds it."""
    out = []
    for file, report in reports.items():
        found = report.get("control")
        if isinstance(found, Mapping) and "views" in found:
            out.append(table(f"{file}: verifier against vetoes at random", veto.HEAD, veto.control_rows(found), texts=(0, 1)))
            out.append(paragraph(veto.note(found)))
            out.append(table(f"{file}: precision at a fixed recall", veto.RECALL_HEAD, veto.recall_rows(found)))
            out += [paragraph(line) for line in veto.check_lines(found)]
    return "\n".join(out)
