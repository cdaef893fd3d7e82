"""The small pipeline and the command line of tests/cli."""

from tests.cli.conftest import folder, model, pii_edu  # noqa: F401
