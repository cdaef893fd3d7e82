"""Presidio's REST API over our pipeline: `contract` answers, `app` is the web around it, `run` loads, listens and logs."""

from ... import keep_offline

keep_offline()
