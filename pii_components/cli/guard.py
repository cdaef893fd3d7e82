"""What goes wrong becomes one coded line and an exit code, in every command."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import typer

from ..errors import Errors, PiiError
from .exit_codes import INTERRUPTED, REFUSED, STOPPED
from .show import console


@contextmanager
def guard(debug: bool = False) -> Iterator[None]:
    """Turn what goes wrong into one coded line and an exit code; with `debug`, unexpected errors are raised."""
    err = console(stderr=True)
    try:
        yield
    except PiiError as error:
        err.print(str(error), markup=False)
        raise typer.Exit(REFUSED) from None
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None
    except BrokenPipeError:
        with suppress(OSError):
            sys.stdout.close()
        raise typer.Exit(STOPPED) from None
    except Exception as error:
        if debug or isinstance(error, typer.Exit | typer.Abort):
            raise
        err.print(str(PiiError(Errors.E533, type=type(error).__name__)), markup=False)
        raise typer.Exit(STOPPED) from None
