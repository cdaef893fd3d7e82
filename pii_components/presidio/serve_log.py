"""Logs without texts. A library's message may quote what it worked on, so of others' records only the place stays.

    2026-11-21T17:00:00Z INFO pii_components.presidio: POST /analyze 200, 812 bytes in, 1.9 ms
    2026-11-21T17:00:01Z WARNING presidio-analyzer: at recognizer_registry:301

Of an exception stay its type and the line it came from: its message and the variables of a traceback may hold a text.
"""

import logging
import sys
import time
from types import TracebackType

OURS = "pii_components"
# Presidio's trace of decisions prints tokens; uvicorn's access log prints queries.
SILENT = ("decision_process", "uvicorn.access")


class TextlessFormatter(logging.Formatter):
    """Time, level, logger; the message only of our own records."""

    converter = time.gmtime  # type: ignore[assignment]

    def __init__(self) -> None:
        super().__init__(datefmt="%Y-%m-%dT%H:%M:%SZ")

    def format(self, record: logging.LogRecord) -> str:
        """RETURNS (str): One line. record (logging.LogRecord): Of any logger."""
        ours = record.name == OURS or record.name.startswith(f"{OURS}.")
        what = record.getMessage() if ours else f"at {record.module}:{record.lineno}"
        exception = record.exc_info[1] if isinstance(record.exc_info, tuple) else None
        if exception is not None:
            what += f" ({where(exception)})"
        return f"{self.formatTime(record, self.datefmt)} {record.levelname} {record.name}: {what}"


def where(error: BaseException) -> str:
    """RETURNS (str): Type of an exception and the innermost line it came from."""
    trace: TracebackType | None = error.__traceback__
    if trace is None:
        return type(error).__name__
    while trace.tb_next is not None:
        trace = trace.tb_next
    module = trace.tb_frame.f_globals.get("__name__", "?")
    return f"{type(error).__name__} at {module}:{trace.tb_lineno}"


def log_without_texts(*, quiet: bool = False) -> None:
    """Send every record of this process through the formatter, to standard error; warnings too.

    quiet (bool): Whether requests are left out, so that only warnings and errors stay.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(TextlessFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    # Loggers that exist by now have handlers of their own, or none: all go through the one above.
    for logger in list(logging.Logger.manager.loggerDict.values()):
        if isinstance(logger, logging.Logger):
            logger.handlers[:] = []
            logger.propagate = True
            logger.setLevel(logging.NOTSET)
    logging.getLogger(OURS).setLevel(logging.WARNING if quiet else logging.INFO)
    for name in SILENT:
        logging.getLogger(name).disabled = True
    logging.captureWarnings(True)
