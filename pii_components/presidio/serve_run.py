"""Listen, answer, and end when asked: uvicorn around the application.

    with listen(settings) as sock:
        serve(app, settings, sock, say=print)

SIGINT and SIGTERM end it: what has come in is answered, what comes after is refused. A second SIGINT does not wait.
"""

import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from fastapi import FastAPI

from .serve_log import log_without_texts
from .serve_settings import ServeSettings


def serve(
    app: FastAPI, settings: ServeSettings, sock: socket.socket, *, say: Callable[[str], Any], quiet: bool = False
) -> None:
    """Answer until a signal comes.

    app (FastAPI): From `create_app`. settings (ServeSettings): Its limits. sock (socket.socket): From `listen`.
    say (Callable[[str], Any]): Gets one line when the server is ready, with the port that it got.
    quiet (bool): Whether requests stay out of the log.
    """
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    ready = f"listening on http://{host}:{sock.getsockname()[1]}"
    config = uvicorn.Config(
        app,
        log_config=None,  # as log_without_texts has set it
        access_log=False,  # queries may hold anything; the application logs its own line
        server_header=False,
        proxy_headers=False,
        http="h11",
        ws="none",
        loop="asyncio",
        lifespan="on",
        timeout_graceful_shutdown=max(1, round(settings.time_limit)),
    )
    log_without_texts(quiet=quiet)
    with _signals_end_it():
        _Ready(config, lambda: say(ready)).run(sockets=[sock])


class _Ready(uvicorn.Server):
    """Says when it answers."""

    def __init__(self, config: uvicorn.Config, say: Callable[[], Any]) -> None:
        super().__init__(config)
        self.say = say

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        if self.started:
            self.say()


@contextmanager
def _signals_end_it() -> Iterator[None]:
    """uvicorn raises the signal once more when it has ended; by then there is nothing left to interrupt."""
    before = {number: signal.signal(number, lambda *_: None) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
