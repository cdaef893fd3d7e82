"""`python -m pii_components.cli` is `pii-edu`."""

from ..cli import main

if __name__ == "__main__":  # not in the processes that a run starts
    main()
