"""Folds of numbers and times do not leak: many draws of noise."""

from __future__ import annotations

import numpy as np

from tests.contract.run.test_evaluate_outcomes import batches, judged, numbers, times, write


def test_of_noise_nothing_is_predicted(tmp_path):
    found: dict[str, list[float]] = {"r2": [], "spearman": []}
    for seed in range(6):
        X, y = numbers(seed, signal=0)
        table = write(tmp_path, X, age=y)
        asked = {"labels": f"{table}:age", "label_type": "continuous", "lengths": "5"}
        rows = judged(tmp_path, **asked, method="spearman")["evaluation"]
        for row in rows:
            if row["list"] == "spearman" and row["measure"] in found:
                found[row["measure"]].append(float(row["value"]))
    assert max(found["r2"]) < 0.15
    assert np.mean(found["r2"]) < 0.02
    error = np.std(found["spearman"], ddof=1) / np.sqrt(6)
    assert np.mean(found["spearman"]) < 3 * error


def test_noise_has_no_concordance_and_hazards_do(tmp_path):
    means = {}
    for signal in (0.0, 1.0):
        found = []
        for seed in range(5):
            X, time, event = times(seed, signal)
            table = write(tmp_path, X, time=time, dead=event)
            given = {"labels": f"{table}:time", "event": "dead", "lengths": "4"}
            rows = judged(tmp_path, **given, method="cox")["evaluation"]
            own = {"list": "cox", "measure": "concordance"}
            found += [float(r["value"]) for r in rows if own.items() <= r.items()]
        means[signal] = found
    error = np.std(means[0.0], ddof=1) / np.sqrt(5)
    assert abs(np.mean(means[0.0]) - 0.5) < 3 * error + 0.02
    assert min(means[1.0]) > 0.7


def test_labels_confounded_with_a_batch_fall_to_chance(tmp_path):
    accuracy: dict[bool, list[float]] = {True: [], False: []}
    for seed in range(5):
        X, batch, age, y = batches(seed)
        table = write(tmp_path, X, kind=y, batch=[f"b{b}" for b in batch], age=age)
        for adjusted in (True, False):
            asked = {"adjust": (f"{table}:batch,age",)} if adjusted else {}
            rows = judged(tmp_path, labels=f"{table}:kind", method="f-test", **asked)["evaluation"]
            own = {"list": "f-test", "measure": "balanced_accuracy", "classifier": "linear SVM"}
            accuracy[adjusted] += [float(r["value"]) for r in rows if own.items() <= r.items()]
    assert np.mean(accuracy[False]) > 0.65
    assert abs(np.mean(accuracy[True]) - 0.5) < 0.08
