"""The mean of several readers of `pii_context`: `python -m pii_components.context_reader_mean first/reader second/reader --out mean`.

Readers that went on from each other's weights lie in one basin, and the mean of their weights reads better than each (Wortsman et al. 2022,
arXiv:2203.05482), at the cost of one. Readers of trainings that began apart have no useful mean.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from .context_reader import PersonReader
from .context_reader_model import ReaderModel, from_reader, to_reader
from .errors import Errors, PiiError
from .torch_mean import average_into_first


def mean_of(readers: Sequence[PersonReader], *, heads: int = 12) -> ReaderModel:
    """Average weights.

    readers (Sequence[PersonReader]): Of one form and vocabulary. heads (int): Of attention.
    RETURNS (ReaderModel): With the mean of their weights. RAISES (PiiError): E308, if they differ in form or vocabulary, or there are none.
    """
    if not readers or any(r.vocabulary != readers[0].vocabulary for r in readers):
        raise PiiError(Errors.E308)
    models = [from_reader(reader, heads=heads) for reader in readers]
    average_into_first(models, error=Errors.E308)
    return models[0]


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description="Average the weights of several readers that went on from each other.")
    parser.add_argument("readers", type=Path, nargs="+", help="files as context_reader_train writes them, or of a package")
    parser.add_argument("--out", type=Path, required=True, help="the file to write")
    parser.add_argument("--heads", type=int, default=12, help="of attention")
    args = parser.parse_args()
    readers = [PersonReader.from_bytes(path.read_bytes()) for path in args.readers]
    mean = mean_of(readers, heads=args.heads)
    args.out.write_bytes(to_reader(mean, readers[0].vocabulary, heads=args.heads).to_bytes())


if __name__ == "__main__":
    main()
