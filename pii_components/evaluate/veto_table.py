"""The random-veto control of `veto_control` as rows of a table and as a line, for the report, for Markdown and for the terminal."""

from collections.abc import Mapping
from typing import Any

from .veto_control import MEASURES

HEAD = ("labels", "system", "names", "P", "R", "F1", "F5")
WAYS = {
    "names": "as many names at random",
    "people": "as many people at random",
    "readded": "strict verifier, names re-added at random",
}
DASH = "-"


def control_rows(control: Mapping[str, Any]) -> list[list[str]]:
    """RETURNS (list[list[str]]): Cells under `HEAD`, per set of labels: without, with the verifier, and by chance: mean, 95 % range, and the
    share of draws that the verifier is above. control (Mapping[str, Any]): From `control_report`."""
    rows = []
    for view, found in control["views"].items():
        for name, shown in (("unverified", "unverified"), ("verified", "verified")):
            rows.append([view, shown, str(found[name]["names"]), *(_number(found[name][m]) for m in MEASURES)])
        for way, shown in WAYS.items():
            drawn = found["control"][way]
            rows.append([view, shown, f"{drawn['drawn']} of {drawn['of']}", *(_place(drawn[m]) for m in MEASURES)])
    return rows


def recall_rows(control: Mapping[str, Any]) -> list[list[str]]:
    """RETURNS (list[list[str]]): Per set of labels: recall, precision of the verifier at it, and of names in a random order."""
    return [
        [view, _number(at["recall"]), _number(at["precision"]), _place(at["control"])]
        for view, found in control["views"].items()
        for at in found["at_recall"]
    ]


RECALL_HEAD = ("labels", "recall, at least", "P of the verifier", "P in a random order")


def check_lines(control: Mapping[str, Any]) -> list[str]:
    """RETURNS (list[str]): Per set of labels, whether the verifier keeps the recall, with the figures."""
    lines = []
    for view, found in control["views"].items():
        check = found["check"]
        if check["holds"] is None:
            continue
        low, high = check["difference_95"]
        lines.append(
            f"{view}: recall of verified not below unverified by more than {control['about']['allowed']:g}: "
            f"{'holds' if check['holds'] else 'does not hold'} ({check['verified']:.4f} against {check['unverified']:.4f}; "
            f"95 % interval of the difference {low:+.4f} to {high:+.4f})"
        )
    return lines


def note(control: Mapping[str, Any]) -> str:
    """RETURNS (str): What the rows by chance show."""
    about = control["about"]
    return (
        f"By chance: mean and 95 % range of {about['draws']} draws, then the share of draws below the verified system, ties by half. "
        f"The strict verifier takes {about['strict']:g} for its threshold."
    )


def _number(value: float | None) -> str:
    return DASH if value is None else f"{value:.3f}"


def _place(found: Mapping[str, Any] | None) -> str:
    if found is None:
        return DASH
    low, high = found["range_95"]
    return f"{found['mean']:.3f} ({low:.3f} to {high:.3f}); {found['above']:.3f}"
