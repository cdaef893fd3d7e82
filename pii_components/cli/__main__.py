"""`python -m pii_components.cli` is `pii-edu`."""

from ..cli import main

main()
