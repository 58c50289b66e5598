"""``--donors``: samples of one donor are not independent (pseudoreplication)."""

from __future__ import annotations

from sfs_cli.features.feature import Feature
from sfs_cli.options.fields import RANKING, SURE, Config, option, option_fields
from sfs_cli.options.paths import READS


@option_fields
class DonorFields(Config):
    """The option of donors."""

    donors: str | None = option(
        "Column of the donor of each sample. Subsets and folds take whole donors; a warning says "
        "where p-values count several samples of a donor as independent (pseudoreplication).",
        section="Input",
        first=SURE,
        verbs=(*RANKING, "compare"),
        metavar="FILE:COLUMN, obs:KEY or COLUMN",
        column=True,
        groups="donor",
        needs=("labels", "stability", "pvalues"),
        path=READS,
    )


FEATURE = Feature("donors", lambda config: config.donors is not None, DonorFields)
