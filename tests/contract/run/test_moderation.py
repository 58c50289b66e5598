"""Moderated variances through whole runs: as limma has them, by default where samples are few."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sfs_cli.errors import InputError
from sfs_cli.logs import Messages
from sfs_cli.options import RankConfig
from sfs_cli.workflow.rank import rank
from tests.making import write_labels, write_parquet
from tests.places import REFERENCES

REFERENCE = REFERENCES / "moderated.json"
ANALYSIS = json.loads(REFERENCE.read_text(encoding="utf-8"))["analysis"]


def of_limma(folder: Path) -> dict[str, Any]:
    """The values that limma's numbers are of, in files."""
    y, groups = (np.array(ANALYSIS[name], np.float64) for name in ("y", "groups"))
    return {
        "matrix": write_parquet(folder / "x.parquet", y),
        "labels": write_labels(folder / "y.tsv", groups.astype(int).tolist()),
        "dtype": "float64",
    }


def columns(config: RankConfig, log: Messages | None = None) -> dict[str, np.ndarray]:
    """The columns of a run in the order of the input."""
    found = rank(config, log or Messages(-1))
    back = np.argsort(found.ranking.order)
    extra = {name: np.asarray(each)[back] for name, each in found.ranking.extra.items()}
    return extra | {"score": found.ranking.score[back]}


@pytest.mark.parametrize("method", ["t-test", "f-test"])
def test_statistics_and_p_values_are_those_of_limma(tmp_path: Path, method: str) -> None:
    found = columns(RankConfig(**of_limma(tmp_path), method=method, moderate="yes"))
    t = np.array(ANALYSIS["plain"]["t"], np.float64)
    expected = np.abs(t) if method == "t-test" else t**2
    np.testing.assert_allclose(found["score"], expected, rtol=1e-7)
    np.testing.assert_allclose(found["p_value"], np.array(ANALYSIS["plain"]["p"], float), rtol=1e-6)
    np.testing.assert_array_equal(np.sign(found["mean_difference"]), np.sign(t))


def test_few_samples_are_moderated_by_default_and_told(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 40))
    y = np.arange(40) % 2
    for n, moderated in ((12, True), (14, False)):
        options = {
            "matrix": write_parquet(tmp_path / "x.parquet", X[:, :n]),
            "labels": write_labels(tmp_path / "y.tsv", y[:n].tolist()),
        }
        log = Messages(-1)
        found = rank(RankConfig(**options, method="f-test"), log)
        assert bool(found.facts["moderation"]) == moderated
        assert found.config.moderate == ("yes" if moderated else "no")


def test_how_often_a_trend_is_wrong_is_measured_along_the_means(tmp_path: Path) -> None:
    """A number that is added to all values moves the trend, and changes no p-value."""
    rng = np.random.default_rng(2)
    means = rng.uniform(0, 6, size=(80, 1))
    X = means + np.exp(means / 4) * rng.normal(size=(80, 12))
    labels, found = write_labels(tmp_path / "y.tsv", [0, 1] * 6), []
    for offset in (0.0, 3.0):
        matrix = write_parquet(tmp_path / "x.parquet", X + offset)
        options = {"matrix": matrix, "labels": labels, "dtype": "float64", "method": "f-test"}
        ranked = rank(RankConfig(**options, moderate="trend"), Messages(-1))
        found.append(ranked.facts["method"]["false_positives"])
    assert found[0] == pytest.approx(found[1], rel=1e-9)


def test_each_batch_has_its_own_prior(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    options = {
        "matrix": write_parquet(tmp_path / "x.parquet", rng.normal(size=(60, 24))),
        "labels": write_labels(tmp_path / "y.tsv", [0, 1] * 12),
        "batch": str(write_labels(tmp_path / "b.tsv", [0] * 12 + [1] * 12)),
    }
    found = rank(RankConfig(**options, method="f-test", moderate="yes"), Messages(-1))
    assert found.facts["moderation"] == {"how": "yes"}
    ranked = found.facts["batches"]["ranked"]
    priors = [batch["method"]["moderated"]["prior_variance"] for batch in ranked]
    assert priors[0] != priors[1]
    assert all(0.5 < prior < 2 for prior in priors)
    # by default none is moderated: batches of other sizes would be ranked in another way
    assert not rank(RankConfig(**options, method="f-test"), Messages(-1)).facts["moderation"]


def test_variances_of_zero_in_most_features_are_told(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    y = np.repeat([0, 1], 4)
    X = rng.normal(size=(20, 8))
    for still, told in ((10, True), (9, False)):
        values = np.where(np.arange(20)[:, None] < still, np.outer(np.arange(1, 21), y), X)
        options = {
            "matrix": write_parquet(tmp_path / "x.parquet", values),
            "labels": write_labels(tmp_path / "y.tsv", y.tolist()),
        }
        found = rank(RankConfig(**options, method="t-test", moderate="yes"), Messages(-1))
        text = f"{still} of 20 features vary by the labels alone"
        assert any(text in each for each in found.warnings) == told


def test_a_member_ranks_as_it_does_alone(tmp_path: Path) -> None:
    options = of_limma(tmp_path)
    alone = rank(RankConfig(**options, method="t-test"), Messages(-1))
    assert alone.config.moderate == "yes"  # the samples are few
    both = RankConfig(**options, method="kogs", members=("t-test", "variance"))
    found = rank(both, Messages(-1))
    place = np.empty(len(alone.ranking.order), int)
    place[alone.ranking.order] = np.arange(1, len(place) + 1)
    of_member = np.asarray(found.ranking.extra["rank_t-test"])
    np.testing.assert_array_equal(of_member, place[found.ranking.order])


def test_features_that_are_all_constant_are_refused_as_such(tmp_path: Path) -> None:
    options = {
        "matrix": write_parquet(
            tmp_path / "x.parquet", np.repeat([[1.0], [2.0], [3.0]], 8, axis=1)
        ),
        "labels": write_labels(tmp_path / "y.tsv", [0, 1] * 4),
    }
    for voom in (False, True):
        config = RankConfig(**options, method="f-test", moderate="yes", voom=voom)
        with pytest.raises(InputError, match="no feature can be scored: 3 constant"):
            rank(config, Messages(-1))
