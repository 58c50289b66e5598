"""``--module-traits``: the eigengenes of modules against columns of the samples.

P. Langfelder and S. Horvath, "WGCNA: an R package for weighted correlation network analysis", BMC
Bioinformatics 9, 2008.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sfs_cli.io.knowledge.sample_columns import Covariate
from sfs_cli.methods.shared import r_squared_tests
from sfs_cli.ranking.false_discovery import q_values
from sfs_cli.report.model import Table
from sfs_cli.run.design import columns_of
from sfs_cli.store.adjust import orthonormal, r_squared

MOST = 200
"""Classes of a column that is tested; barcodes and the like would take long, and say nothing."""


def tested_traits(
    eigengenes: np.ndarray, traits: Sequence[Covariate], samples: Sequence[str], design: np.ndarray
) -> tuple[list[tuple[Any, ...]], list[str]]:
    """Test every eigengene against every trait, in the samples that have a value of it.

    A numeric trait by Pearson's correlation and its t-test, classes by one-way ANOVA: with k
    classes, ``R^2`` (eta squared) is the sum of squares between them over that of all, and
    ``F = (R^2 / (k - 1)) / ((1 - R^2) / (n - k))``. What covariates were taken out of the features
    is taken out of both, which makes these partial: the test of the trait beside the covariates,
    whose degrees of freedom the residuals lack. q-values (Benjamini and Hochberg) are
    over all pairs of a module and a trait.

    Parameters
    ----------
    eigengenes : ndarray, shape (M, n)
        Of the modules.
    traits : sequence of Covariate
        The columns.
    samples : sequence of str, length n
        Ids of the samples.
    design : ndarray, shape (r, n)
        Covariates that were taken out of the features.

    Returns
    -------
    tests : list of tuple
        The rows of the table, module by module.
    unused : list of str
        Traits that are not tested: of one value, of more than `MOST` classes or as many as degrees
        of freedom, or following from the covariates.
    """
    found, unused = [], []
    for trait in traits:
        known = np.array([sample in trait.values for sample in samples])
        values = [trait.values[sample] for sample in samples if sample in trait.values]
        numeric = trait.kind == "numeric"
        levels = None if numeric else sorted(set(values))
        if len(values) < 2 or (levels and len(levels) > MOST):
            unused.append(trait.name)
            continue
        columns = columns_of(values, levels)
        whole, added = orthonormal(np.concatenate([design[:, known], columns]))
        taken = np.count_nonzero(added[: len(design)])
        basis, own = whole[taken:], eigengenes[:, known]
        own = own - own @ whole[:taken].T @ whole[:taken]
        freedom = len(values) - 1 - len(whole)
        if not len(basis) or freedom < 1:
            unused.append(trait.name)
            continue
        share = np.minimum(r_squared(own, basis), 1)
        # a basis of one row has the direction of the values
        signed = np.copysign(np.sqrt(share), own @ basis[0])
        p = r_squared_tests(share, len(basis), freedom)
        about = trait.name, trait.kind, len(values)
        found.append([(about, r if numeric else "", *n) for r, *n in zip(signed, share, p)])
    tests = [(at, *about, *n) for at, row in enumerate(zip(*found), 1) for about, *n in row]
    q = q_values(np.array([test[-1] for test in tests]))
    return [(*test, value) for test, value in zip(tests, q.tolist())], unused


def trait_table(tests: list[Any]) -> Table:
    """Return the table of modules and traits, from rows of ``module_traits.tsv``."""
    names = [name for module, name, *_ in tests if module == tests[0][0]]
    # a module that does not vary in the samples of a trait has no share
    cells = [
        None if share is None else share**0.5 if r == "" else r for *_, r, share, _, _ in tests
    ]
    return Table(
        heading="Modules and traits",
        columns=("module", *names),
        rows=[
            (tests[at][0], *cells[at : at + len(names)]) for at in range(0, len(cells), len(names))
        ],
        note="The correlation of the eigengene of a module with each column of the samples; of "
        "classes the correlation ratio, the root of the part of the variance between them, which "
        "has no sign. Modules of features that were ranked by a column follow it for that reason "
        "alone. Samples count as independent.",
        digits=2,
        shade=1.0,
    )
