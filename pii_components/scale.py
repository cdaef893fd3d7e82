"""`deidentify_frame` (Spark), for a job of one's own: docs/scale.md."""

from .release.scale import deidentify_frame

__all__ = ["deidentify_frame"]
