"""What `pii-edu serve` is asked for; every value is checked when the record is made.

>>> ServeSettings(port=5002, service="analyzer").hosts
('localhost', '127.0.0.1', '::1')
"""

import ipaddress
import socket
from contextlib import ExitStack
from dataclasses import dataclass

from ...errors import Errors, PiiError, reason_of

BOTH, ANALYZER, ANONYMIZER = SERVICES = ("both", "analyzer", "anonymizer")
LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeSettings:
    """Where the server listens and what it refuses.

    host (str): Name or address to listen on. port (int): 0 for any that is free.
    service (str): "both", or one of Presidio's two services: "analyzer", "anonymizer".
    max_bytes (int): Longest body of a request. time_limit (float): Seconds that a request may take, waiting included.
    max_waiting (int): Requests that may wait for the one at work. batch_size (int): Texts of a list that are processed together.
    allowed_hosts (tuple[str, ...]): Further names that a Host header may have where the server listens on loopback only.
    """

    host: str = "127.0.0.1"
    port: int = 3000
    service: str = BOTH
    max_bytes: int = 1_000_000
    time_limit: float = 60.0
    max_waiting: int = 32
    batch_size: int = 16
    allowed_hosts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        above = "a number above 0"
        checks = {
            "port": (0 <= self.port <= 65_535, "a number from 0 to 65535"),
            "service": (self.service in SERVICES, ", ".join(SERVICES)),
            "max_bytes": (self.max_bytes > 0, above),
            "time_limit": (self.time_limit > 0, above),
            "max_waiting": (self.max_waiting >= 0, "0 or more"),
            "batch_size": (self.batch_size > 0, above),
        }
        for name, (fine, allowed) in checks.items():
            if not fine:
                raise PiiError(Errors.E850, name=name, value=getattr(self, name), allowed=allowed)

    @property
    def analyzer(self) -> bool:
        return self.service in (BOTH, ANALYZER)

    @property
    def anonymizer(self) -> bool:
        return self.service in (BOTH, ANONYMIZER)

    @property
    def loopback(self) -> bool:
        """RETURNS (bool): Whether only this machine can reach the server."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    @property
    def hosts(self) -> tuple[str, ...]:
        """RETURNS (tuple[str, ...]): What a Host header may name; empty for anything. A web page that lets its own name point to
        127.0.0.1 must not reach a server that is there for this machine."""
        if not self.loopback:
            return ()
        return tuple(dict.fromkeys((*LOOPBACK_NAMES, self.host, *self.allowed_hosts)))


def listen(settings: ServeSettings) -> socket.socket:
    """Take the place where the server listens, before anything heavy is imported or loaded. Connections are refused until it is ready.

    RETURNS (socket.socket): Bound, not listening yet. RAISES (PiiError): E859, if the place is taken or not ours.
    """
    with ExitStack() as failed:
        try:
            family, kind, protocol, _, address = socket.getaddrinfo(
                settings.host, settings.port, type=socket.SOCK_STREAM
            )[0]
            sock = failed.enter_context(socket.socket(family, kind, protocol))
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sock.bind(address)
        except OSError as err:
            raise PiiError(
                Errors.E859, host=settings.host, port=settings.port, reason=reason_of(err)
            ) from None
        failed.pop_all()
    return sock
