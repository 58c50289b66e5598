"""The selectors for scikit-learn: its own checks, and the rankings of the commands."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("sklearn")

import sklearn
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import sfs_cli
from sfs_cli import sklearn as selectors

RNG = np.random.default_rng(4)
Y = np.repeat([0, 1, 2], 12)
X = RNG.normal(size=(36, 40)) + 1.0
X[:, :6] += 2.5 * Y[:, None]
EVERY = [getattr(selectors, name)() for name in selectors.__all__]


@parametrize_with_checks(EVERY)
def test_checks_of_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("selector", EVERY, ids=lambda each: type(each).__name__)
def test_it_ranks_as_the_command_does(selector: Any) -> None:
    made = clone(selector).set_params(n_features_to_select=8).fit(X, Y)
    options = {"labels": Y.astype(str)} if selector.LABELS == "needed" else {}
    if selector.METHOD == "hsic":
        options = {"labels": Y.astype(str)}
    if selector.METHOD == "msfs":
        options = {"source": ["expression=target:"]}
    if selector.METHOD in ("mrsf", "trace-ratio", "sselect"):
        options["select"] = 8
    expected = sfs_cli.rank(X, method=selector.METHOD, dtype="float64", **options)
    assert made.get_support(indices=True).tolist() == sorted(expected.order[:8])
    assert np.argsort(made.ranking_).tolist() == expected.order.tolist()
    assert made.transform(X).shape == (36, 8)


def test_sparse_named_and_pickled() -> None:
    made = selectors.SpectralSelector(5, neighbors=6).fit(X)
    sparse = selectors.SpectralSelector(5, neighbors=6).fit(csr_array(X))
    np.testing.assert_array_equal(made.ranking_, sparse.ranking_)
    frame = pd.DataFrame(X, columns=[f"gene {i}" for i in range(40)])
    named = selectors.SpectralSelector(5, neighbors=6).set_output(transform="pandas").fit(frame)
    chosen = frame.columns[made.get_support()]
    assert named.transform(frame).columns.tolist() == chosen.tolist()
    assert named.get_feature_names_out().tolist() == chosen.tolist()
    again = pickle.loads(pickle.dumps(made))
    np.testing.assert_array_equal(again.transform(X), made.transform(X))


def test_a_search_over_the_number_of_features() -> None:
    steps = make_pipeline(selectors.ReliefFSelector(), SVC(kernel="linear"))
    search = GridSearchCV(steps, {"relieffselector__n_features_to_select": [2, 6]}, cv=3)
    assert search.fit(X, Y).best_score_ > 0.9


def test_sources_are_routed() -> None:
    sources = {"other": X[:, :6] ** 2}
    direct = selectors.MultiSourceSelector(5).fit(X, sources=sources)
    with sklearn.config_context(enable_metadata_routing=True):
        step = selectors.MultiSourceSelector(5).set_fit_request(sources=True)
        steps = make_pipeline(step, SVC()).fit(X, Y, sources=sources)
    np.testing.assert_array_equal(steps[0].ranking_, direct.ranking_)
    alone = selectors.MultiSourceSelector(5).fit(X)
    assert (alone.ranking_ != direct.ranking_).any()


def test_samples_without_a_class() -> None:
    some = np.where(np.arange(36) % 3 == 0, Y, -1)
    made = selectors.SemiSupervisedSelector(6).fit(X, some)
    known = [str(y) if y >= 0 else None for y in some]
    expected = sfs_cli.rank(X, method="sselect", dtype="float64", select=6, labels=known)
    assert made.get_support(indices=True).tolist() == sorted(expected.order[:6])
