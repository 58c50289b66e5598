"""Columns that say how features differ between the classes; no option asks for them."""

from __future__ import annotations

from sfs_cli.features.feature import Feature

FEATURE = Feature("classes", lambda config: config.labels is not None)
