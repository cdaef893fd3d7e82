"""A span of a document, and what shall become of it."""

from typing import NamedTuple


class Item(NamedTuple):
    """A span of a document and what shall become of it.

    start (int), end (int): Characters, end exclusive. label (str): Its label. action (str): One of `profiles.ACTIONS`.
    """

    start: int
    end: int
    label: str
    action: str
