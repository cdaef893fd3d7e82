"""One thread does the work, requests wait in line, and nobody waits for ever.

    result = await worker.run(lambda deadline: slow(text, deadline), seconds=60)

Why one thread: spaCy frees what a document has added to the vocabulary when its memory zone ends, for the whole pipeline; a second
thread would lose its strings. More at once means more processes (docs/serve.md).

A thread cannot be stopped from outside. A request whose time is up is answered at once; if it still waits, it is never begun; if it
is at work, the next `deadline.check()` (between the texts of a list) ends it, and a single text is done to its end, unanswered.
"""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


class TimeIsUp(Exception):
    """The request has taken longer than it may."""


class TooManyWaiting(Exception):
    """The line is full."""


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment on the clock of this process. at (float): As `time.monotonic()` counts."""

    at: float

    @classmethod
    def after(cls, seconds: float) -> "Deadline":
        """RETURNS (Deadline): So many seconds from now."""
        return cls(time.monotonic() + seconds)

    def check(self) -> None:
        """RAISES (TimeIsUp): If it has passed."""
        if time.monotonic() > self.at:
            raise TimeIsUp


class Worker:
    """The thread and the line before it.

    max_waiting (int): Requests that may wait while one is at work.
    """

    def __init__(self, *, max_waiting: int) -> None:
        self.max_waiting = max_waiting
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="pii-edu")
        self._pending = 0

    async def run(self, work: Callable[[Deadline], T], *, seconds: float) -> T:
        """Do a piece of work in the thread. For the event loop's own thread only: the count is not locked.

        work (Callable[[Deadline], T]): Gets its deadline. seconds (float): That it may take, waiting included.
        RAISES (TooManyWaiting): If the line is full. (TimeIsUp): If it takes longer. Also what the work raises.
        """
        if self._pending > self.max_waiting:
            raise TooManyWaiting
        deadline = Deadline.after(seconds)
        self._pending += 1
        loop = asyncio.get_running_loop()
        future = self._pool.submit(_in_time, work, deadline)
        # Counted until the thread is done with it, not until the request is: what runs over its time is still in the way.
        future.add_done_callback(lambda _: _count_down(self, loop))
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), seconds)
        except TimeoutError as err:
            future.cancel()
            raise TimeIsUp from err

    def close(self) -> None:
        """Begin nothing more, and wait for what is at work."""
        self._pool.shutdown(wait=True, cancel_futures=True)

    def done(self) -> None:
        """One less in the line."""
        self._pending -= 1


def _in_time(work: Callable[[Deadline], T], deadline: Deadline) -> T:
    deadline.check()
    return work(deadline)


def _count_down(worker: Worker, loop: asyncio.AbstractEventLoop) -> None:
    """Runs in whichever thread ends the work; the count belongs to the loop's, as long as there is one."""
    try:
        loop.call_soon_threadsafe(worker.done)
    except RuntimeError:
        worker.done()
