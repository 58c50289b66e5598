"""A run on some of its samples: the matrix is read as before, and ranked as one of them alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sfs_cli.compute.context import Labels
from sfs_cli.compute.matrix import arithmetic_dtype
from sfs_cli.run.load import Run
from sfs_cli.store.adjust import Adjustment


def run_on(
    run: Run,
    samples: np.ndarray,
    labels: Labels | None,
    adjustment: Adjustment | None = None,
    covariates: int = 0,
) -> Run:
    """Return the run of some samples, shape (l,), given by index among those of a run.

    Filters, missing values, totals, sample graph and method see no other sample. `labels` are
    theirs; of their features an `adjustment` is taken out, of so many `covariates`.
    """
    whole, context = run.matrix, run.context
    among = samples if whole.samples is None else whole.samples[samples]
    matrix = replace(whole, samples=among, adjustment=adjustment)
    # blocks are as large as those of all samples, which are what is read
    dtype = arithmetic_dtype(matrix.n_samples, matrix.n_features, matrix.dtype)
    engine = replace(context.engine, source=matrix, dtype=dtype)
    weights = context.sample_weights
    own = replace(
        context,
        engine=engine,
        labels=labels,
        covariates=covariates,
        sample_weights=None if weights is None else weights[samples],
    )
    coordinates = None if run.coordinates is None else run.coordinates[samples]
    return replace(run, context=own, coordinates=coordinates)
