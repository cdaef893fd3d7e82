"""The place where the server listens, taken before anything heavy is imported or loaded."""

import socket

from ..errors import Errors, PiiError
from .serve_settings import ServeSettings


def listen(settings: ServeSettings) -> socket.socket:
    """Take the place. Connections are refused until the server is ready, as by a container that starts.

    RETURNS (socket.socket): Bound, not listening yet. RAISES (PiiError): E859, if the place is taken or not ours.
    """
    try:
        found = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM)
        family, kind, protocol, _, address = found[0]
        sock = socket.socket(family, kind, protocol)
    except OSError as err:
        raise PiiError(Errors.E859, host=settings.host, port=settings.port, reason=_reason(err)) from None
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(address)
    except OSError as err:
        sock.close()
        raise PiiError(Errors.E859, host=settings.host, port=settings.port, reason=_reason(err)) from None
    return sock


def _reason(err: OSError) -> str:
    return err.strerror or type(err).__name__
