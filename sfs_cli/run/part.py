"""A run on some of its samples: the matrix is read as before, and ranked as one of them alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sfs_cli.compute.context import Labels
from sfs_cli.compute.matrix import arithmetic_dtype
from sfs_cli.logs import Messages
from sfs_cli.run.cohort import Design, compressed
from sfs_cli.run.compared import compared
from sfs_cli.run.features import group_of
from sfs_cli.run.load import Run
from sfs_cli.store.adjust import Adjustment


def prepared_on(run: Run, samples: np.ndarray, log: Messages) -> Run:
    """Return the run of some samples, as a matrix of these alone would be ranked.

    Labels, batches, covariates and weights are theirs, found from nothing but what the columns of
    these samples say; `log` receives what is said of them.
    """
    labels = None
    if run.context.labels is not None:
        assert run.labels is not None
        labels = compressed(run.labels.take(run.matrix.samples), samples)
    cohort = compared(run.cohort.subset(samples, labels), run.config, run.context.memory, log)
    return replace(run_on(run, samples, cohort.labels, cohort.design), cohort=cohort)


def run_on(
    run: Run, samples: np.ndarray, labels: Labels | None, design: Design | None = None
) -> Run:
    """Return the run of some samples, shape (l,), given by index among those of a run.

    Filters, missing values, totals, sample graph and method see no other sample. `labels` are
    theirs, and a `design` is taken out of their features.
    """
    whole, context = run.matrix, run.context
    basis = design.basis if design is not None and len(design.basis) else None
    adjustment = None if basis is None else Adjustment(basis)
    among = samples if whole.samples is None else whole.samples[samples]
    features = replace(whole.features, group=group_of(labels, len(samples)))
    matrix = replace(whole, samples=among, adjustment=adjustment, features=features)
    # blocks are as large as those of all samples, which are what is read
    dtype = arithmetic_dtype(matrix.n_samples, matrix.n_features, matrix.dtype)
    engine = replace(context.engine, source=matrix, dtype=dtype)
    weights = context.sample_weights
    own = replace(
        context,
        engine=engine,
        labels=labels,
        design=basis,
        blocks=None if design is None else design.blocks,
        sample_weights=None if weights is None else weights[samples],
    )
    coordinates = None if run.coordinates is None else run.coordinates[samples]
    return replace(run, context=own, coordinates=coordinates)
