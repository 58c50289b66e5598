"""Folds do not leak: many draws of noise, and lists beside scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from sfs_cli.options.evaluate import EvaluateConfig
from tests.contract.run.test_evaluate import planted, rows_of, study, value


def test_noise_is_at_chance_in_folds_and_far_above_it_with_the_leak(tmp_path):
    found, leaky = [], []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        y = rng.permutation(np.arange(40) % 2)
        given = study(tmp_path, rng.normal(size=(600, 40)), y)
        config = EvaluateConfig(**given, method="f-test", lengths="20", repeats=2, leaky=True)
        rows = rows_of(config)
        cells = {"list": "f-test", "measure": "accuracy", "classifier": "linear SVM"}
        found.append(value(rows, selection="in folds", **cells))
        leaky.append(value(rows, selection="all samples", **cells))
    error = np.std(found, ddof=1) / np.sqrt(len(found))
    assert abs(np.mean(found) - 0.5) <= 3 * error
    assert min(leaky) > 0.8 > max(found)


def test_a_source_of_the_labels_does_not_leak_into_the_folds(tmp_path):
    found, leaky = [], []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        y = rng.permutation(np.arange(30) % 2)
        given = study(tmp_path, rng.normal(size=(300, 30)), y)
        from sfs_cli.options import parse_source

        sources = (parse_source(f"classes=labels:{given['labels']}"),)
        config = EvaluateConfig(
            **given, method="msfs", source=sources, lengths="10", repeats=1, leaky=True
        )
        rows = rows_of(config)
        cells = {"list": "msfs", "measure": "accuracy", "classifier": "linear SVM"}
        found.append(value(rows, selection="in folds", **cells))
        leaky.append(value(rows, selection="all samples", **cells))
    assert np.mean(found) < 0.65
    assert np.mean(leaky) > 0.8


def test_all_genes_and_the_most_variable_are_those_of_scikit_learn(tmp_path):
    X, y = planted(seed=2)
    X *= np.random.default_rng(0).uniform(0.5, 3, (60, 1))
    rows = rows_of(
        EvaluateConfig(
            **study(tmp_path, X, y), method="variance", dtype="float64", lengths="5", repeats=1
        )
    )
    every, variable = [], []
    split = RepeatedStratifiedKFold(n_splits=5, n_repeats=1, random_state=0).split(X.T, y)
    for train, test in split:
        model = make_pipeline(StandardScaler(), SVC(kernel="linear"))
        every.append(model.fit(X.T[train], y[train]).score(X.T[test], y[test]))
        top = np.argsort(-X[:, train].var(axis=1), kind="stable")[:5]
        model.fit(X.T[np.ix_(train, top)], y[train])
        variable.append(model.score(X.T[np.ix_(test, top)], y[test]))
    cells = {"measure": "accuracy", "classifier": "linear SVM"}
    assert value(rows, list="all genes", **cells) == pytest.approx(np.mean(every), abs=1e-9)
    for name in ("most variable genes", "variance"):
        assert value(rows, list=name, **cells) == pytest.approx(np.mean(variable), abs=1e-9)


def test_good_genes_beat_random_ones_and_are_redundant(tmp_path):
    X, y = planted(m=200, n=45)
    rows = rows_of(EvaluateConfig(**study(tmp_path, X, y), method="f-test", lengths="6", repeats=1))
    best = {"measure": "balanced_accuracy", "classifier": "linear SVM"}
    assert value(rows, list="f-test", **best) > 0.75
    assert value(rows, list="random genes", **best) < 0.55
    for measure in ("nmi", "ari", "redundancy", "jaccard"):
        mine, random = (value(rows, list=n, measure=measure) for n in ("f-test", "random genes"))
        assert mine > random
