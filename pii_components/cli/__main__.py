"""`python -m pii_components.cli` is `pii-edu`."""

from . import main

main()
