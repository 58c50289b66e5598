"""The sign of the metric of ``--format rnk``, by two classes or along labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfs_cli import catalog
from sfs_cli.features.feature import Feature

if TYPE_CHECKING:
    from sfs_cli.options import RankConfig


def asked(config: RankConfig) -> bool:
    """Tell whether the metric has a sign, where there are two classes."""
    return config.format == "rnk" and config.method in catalog.SIGNED


FEATURE = Feature("direction", asked)
