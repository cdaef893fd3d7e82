"""A span of a document, and what shall become of it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Item:
    """A span of a document and what shall become of it.

    start (int), end (int): Characters, end exclusive. label (str): Its label. action (str): One of `profiles.ACTIONS`.
    """

    start: int
    end: int
    label: str
    action: str
