"""Gene sets of knowledge sources that are over-represented at the top; no option asks for it."""

from __future__ import annotations

from sfs_cli.features.feature import Feature

FEATURE = Feature("enrichment", lambda config: config.out is not None and bool(config.source))
