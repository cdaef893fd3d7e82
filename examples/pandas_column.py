"""De-identify a column of a pandas DataFrame: ids and order stay, the same key gives the same surrogates again.

    pii-edu keygen secret.key
    python examples/pandas_column.py assets/samples/essays.csv text secret.key new.csv

Other columns are copied as they are: see whether one of them holds names before you give the table away.
"""

import sys
from pathlib import Path

import pandas as pd
import spacy


def deidentify_column(frame: pd.DataFrame, column: str, key_file: str | Path) -> pd.DataFrame:
    """RETURNS (pd.DataFrame): A copy with new texts in the column; missing cells stay missing."""
    config = {"components.hips_surrogate.key_file": str(key_file)}
    nlp = spacy.load("en_pii_edu", config=config)
    there = frame[column].notna()
    new = []
    for doc in nlp.pipe(frame.loc[there, column], batch_size=16):
        # Where a component could not do its work the cell is left empty: the original is never the fallback.
        new.append(pd.NA if doc._.pii_failed else doc._.deidentified)
    made = frame.copy()
    made.loc[there, column] = new
    return made


if __name__ == "__main__":
    table, column, key_file, out = sys.argv[1:]
    frame = pd.read_csv(table, dtype="string")  # so that an id keeps its zeros
    deidentify_column(frame, column, key_file).to_csv(out, index=False)
