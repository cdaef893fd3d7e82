"""Many texts on many machines, inside a job of one's own: `deidentify_frame` (Spark) and `deidentify_dataset` (Ray); see docs/scale.md."""

from .release.scale import deidentify_dataset, deidentify_frame

__all__ = ["deidentify_dataset", "deidentify_frame"]
