"""Rankings on knowledge sources (``--source``): their passes, and what the page says of them."""

from __future__ import annotations

from sfs_cli.features.feature import Feature

FEATURE = Feature("knowledge", lambda config: bool(config.source), orders=True)
