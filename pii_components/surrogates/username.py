"""Surrogates for user names: the handle of the surrogate name. "@mlopez99" -> "@cvidal47"."""

from .generate import Context
from .handle import surrogate_handle
from .style import has_sign


def surrogate_username(value: str, context: Context, attempt: int = 0) -> str | None:
    """RETURNS (str | None): A user name in the same pattern; None if there is no letter or digit in it."""
    if not has_sign(value):
        return None
    lead = len(value) - len(value.lstrip("@＠ "))
    return value[:lead] + surrogate_handle(value[lead:], context.people, context.chance, context.table, attempt=attempt)
