"""Features of one id made one, compared with pandas."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sfs_cli.compute.matrix import Ids, Span
from sfs_cli.errors import InputError
from sfs_cli.knowledge.matching import FeatureIndex
from sfs_cli.store.collapse import WAYS, Collapsed
from sfs_cli.store.ids import FeatureIds
from sfs_cli.store.matrix import HeldMatrix
from tests.making import names

M, N = 60, 7
PROBES = names("p", M)


def values(*, gaps: bool = False) -> np.ndarray:
    rng = np.random.default_rng(3)
    X = rng.poisson(2.0, (M, N)) * rng.normal(1, 2, (M, N))
    if gaps:
        X[rng.random(X.shape) < 0.2] = np.nan
        X[[4, 24, 44]] = np.nan  # a gene of which nothing is known
    return X


def twin(X: np.ndarray, ids: list[str], how: str) -> pd.DataFrame:
    """Return the groups in the order of their first features, by pandas."""
    groups = pd.DataFrame(X).groupby(np.array(ids), sort=False)
    if how == "sum":
        return groups.agg(lambda column: column.sum(skipna=False))
    if how != "highest-mean":
        return getattr(groups, how)()
    means = pd.DataFrame(X).mean(axis=1).fillna(-np.inf)
    best = means.groupby(np.array(ids), sort=False).idxmax()
    return pd.DataFrame(X[best.to_numpy()], index=best.index)


def read(matrix) -> np.ndarray:
    found = np.empty((matrix.n_features, matrix.n_samples), matrix.dtype)
    matrix.read(Span(0, matrix.n_features), found)
    return found


REPEATED = [f"g{i % 20}" for i in range(M - 5)] + names("own", 5)
LIMITS = {"memory": 1 << 30, "disk": 0}


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize(
    ("rows", "sparse", "limit"), [("features", False, "disk"), ("samples", True, "memory")]
)
def test_rows_of_one_id_are_as_pandas_has_them(built, how, gaps, rows, sparse, limit):
    X = values(gaps=gaps)
    made = built(
        X,
        rows=rows,
        sparse=sparse,
        limit=LIMITS[limit],
        features=REPEATED,
        collapse=how,
    )
    expected = twin(X, REPEATED, how)
    assert list(made.matrix.ids.features) == list(expected.index)
    np.testing.assert_allclose(read(made.matrix), expected, rtol=1e-12, atol=1e-14)
    gone = expected.isna().to_numpy()
    missing = made.matrix.missing
    assert (missing.values, missing.features) == (gone.sum(), gone.any(axis=1).sum())
    assert (made.matrix.sparse, made.renamed) == (sparse, 0)
    assert not list(made.folder.glob("whole*"))


def test_a_store_that_is_kept_has_the_collapsed_matrix_alone(built):
    made = built(values(), features=REPEATED, keep=True, collapse="mean")
    assert {path.name for path in made.folder.iterdir()} == {
        *("values.bin", "features.parquet", "samples.parquet", "manifest.json")
    }
    assert made.matrix.n_features == 25


MAP = [
    *((p, f"G{i % 9}") for i, p in enumerate(PROBES[:40])),
    *((PROBES[i], "H") for i in (3, 5)),  # which have a gene already
    (PROBES[4], "G4"),  # the same gene once more
    *((f"other{i}", "G1") for i in range(30)),
]


def by(pairs):
    return lambda given: FeatureIndex(list(dict.fromkeys(given)), pairs).symbols()


@pytest.mark.parametrize("way_round", [1, -1])
def test_a_map_gives_the_ids_and_leaves_out_what_has_none_or_several(built, way_round):
    X = values()
    symbols = by([pair[::way_round] for pair in MAP])
    made = built(X, features=PROBES, collapse="median", symbols=symbols)
    at = [i for i in range(40) if i not in (3, 5)]
    expected = twin(X[at], [f"G{i % 9}" for i in at], "median")
    assert list(made.matrix.ids.features) == list(expected.index)
    np.testing.assert_allclose(read(made.matrix), expected, rtol=1e-12)
    again = Collapsed(matrix_of(X, PROBES), FeatureIds.of(PROBES), "median", symbols, Path("x"))
    assert (again.several, np.count_nonzero(again.codes < 0)) == (2, 22)


def matrix_of(X: np.ndarray, features: list[str]) -> HeldMatrix:
    return HeldMatrix(X, Ids(features, names("s", N)))


def test_a_map_of_other_ids_is_refused(built):
    symbols = by([("x", "G1"), ("y", "G2")])
    with pytest.raises(InputError, match=r"x = G1.*features are p0, p1, p2"):
        built(values(), features=PROBES, collapse="mean", symbols=symbols)


def test_one_group_is_too_few(built):
    with pytest.raises(InputError, match="has 1 feature; a ranking needs at least 2"):
        built(values(), features=["g"] * M, collapse="mean")


def test_sums_beyond_float32_are_refused(built):
    X = np.full((4, 3), 3e38, np.float32)
    X[:2] = 1
    with pytest.raises(InputError, match=r"infinite|or more"):
        built(X, features=["a", "b", "c", "c"], collapse="sum")
