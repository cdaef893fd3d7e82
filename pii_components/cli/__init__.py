"""`pii-edu`: find and hide personal information in files. The only part that prints, and the only one that imports typer and
rich.

pii-edu deidentify essays.csv --out clean.csv --text-column essay
pii-edu detect essay.txt
pii-edu demo
"""


def main() -> None:
    """Run the command line; the console script `pii-edu`."""
    from .app import app

    app()


__all__ = ["main"]
