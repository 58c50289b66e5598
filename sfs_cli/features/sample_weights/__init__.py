"""``--sample-weights``: samples that count more or less than others."""

from __future__ import annotations

from sfs_cli import catalog
from sfs_cli.features.feature import Feature
from sfs_cli.options.fields import WHOLE, Config, option, option_fields
from sfs_cli.options.paths import READS


@option_fields
class WeightFields(Config):
    """The option of weights."""

    sample_weights: str | None = option(
        "Weight of each sample, 0 or more: it counts as so many samples. The graph and "
        "transformations ignore weights.",
        section="Input",
        verbs=WHOLE,
        metavar="FILE[:COLUMN], obs:KEY or COLUMN",
        column=True,
        path=READS,
        takers=lambda _: catalog.WITH_WEIGHTS,
        taken_by="method",
        excludes={
            "max_correlation": "it takes correlations over all samples alike",
            "pvalues": "all samples count alike",
            "ranking=phi3": "it counts clusters; phi2 takes weights",
        },
    )


FEATURE = Feature(
    "sample_weights",
    lambda config: config.sample_weights is not None,
    WeightFields,
    orders=True,
    not_in_folds="treats all samples alike",
    untested="a sample of weight 10 is not 10 independent samples; for p-values, rank without "
    "weights",
)
