"""Caches that end with the batch of texts whose names they hold: no name of a text stays in the process longer than its text.

@per_batch(4096)
def read(name: str) -> Form: ...
"""

from collections.abc import Callable
from functools import lru_cache
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
_CACHES: list[Callable[[], None]] = []


def per_batch(maxsize: int) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A decorator: `functools.lru_cache` for what is computed of words of a text. maxsize (int): Results that are kept at most."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        cached = lru_cache(maxsize)(function)
        _CACHES.append(cached.cache_clear)
        return cached  # type: ignore[return-value]

    return decorate


def forget() -> None:
    """Empty all these caches. To be called at the end of every batch, also when it ended with an error."""
    for clear in _CACHES:
        clear()
