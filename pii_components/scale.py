"""`deidentify_frame` (Spark) and `deidentify_dataset` (Ray), for a job of one's own: docs/how-to/large-corpora.md."""

from .release.scale import deidentify_dataset, deidentify_frame

__all__ = ["deidentify_dataset", "deidentify_frame"]
