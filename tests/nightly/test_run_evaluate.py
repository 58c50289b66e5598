"""Folds do not leak: many draws of noise, and lists beside scikit-learn's."""

from __future__ import annotations

import numpy as np

from sfs_cli.options.evaluate import EvaluateConfig
from tests.contract.run.test_evaluate import rows_of, study, value


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
