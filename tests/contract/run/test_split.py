"""``--split``: p-values on a graph that was not made of what is tested."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sfs_cli import RankConfig
from sfs_cli.errors import InputError
from sfs_cli.parts.split import first_half
from sfs_cli.ranking.false_discovery import q_values
from sfs_cli.workflow.rank import rank
from tests.making import names, write_table
from tests.oracles import similarities

N, M = 24, 80


def values(seed: int = 0, m: int = M, n: int = N) -> np.ndarray:
    """Features x samples with three groups in a tenth of the features."""
    rng = np.random.default_rng(seed)
    X = rng.normal(8, 1, (m, n))
    X[: m // 10] += 2 * rng.normal(size=(m // 10, 3))[:, np.arange(n) % 3]
    return X


def columns(result: Any) -> dict[str, dict[str, float]]:
    """Return the numbers of a ranking by feature."""
    ranking = result.ranking
    table = {"score": ranking.score, **ranking.extra}
    wanted = ("score", "p_value", "effect", "q_value")
    return {f: {k: float(table[k][i]) for k in wanted} for i, f in enumerate(ranking.feature)}


@pytest.mark.parametrize("null", ["moments", "permutation"])
@pytest.mark.parametrize("method", ["spec", "hsic"])
def test_each_half_is_tested_on_the_graph_of_the_other(
    null: str, method: str, tmp_path: Path
) -> None:
    X, genes = values(), names("g", M)
    first = first_half(3, genes)
    assert first.sum() == M // 2
    split = rank(
        RankConfig(
            matrix=write_table(tmp_path / "x.csv", X),
            method=method,
            similarity="knn-correlation",
            neighbors=4,
            pvalues=null,
            permutation_draws=20 if null == "permutation" else None,
            dtype="float64",
            split="features",
            seed=3,
        )
    )
    found, by_hand = columns(split), {}
    for name, tested in (("a", first), ("b", ~first)):
        S = similarities.knn_correlation(X[~tested].T, 4)
        own = [gene for gene, inside in zip(genes, tested) if inside]
        config = RankConfig(
            matrix=write_table(tmp_path / f"{name}.csv", X[tested], own),
            method=method,
            similarity_file=write_table(tmp_path / f"S{name}.csv", S, names("s", N)),
            pvalues=null,
            permutation_draws=20 if null == "permutation" else None,
            dtype="float64",
            seed=3,
        )
        by_hand |= columns(rank(config))
    q = q_values(np.array([by_hand[g]["p_value"] for g in found]))
    for at, gene in enumerate(found):
        for column in ("score", "p_value", "effect"):
            # permutations are drawn feature by feature: which ones depends on the others
            if null == "permutation" and column != "score":
                continue
            expected = by_hand[gene][column]
            # distances of profiles are rounded to parts of 2^29; scores and effects may be near 0
            near = 1e-12 if column == "p_value" else 1e-9
            assert found[gene][column] == pytest.approx(expected, rel=1e-7, abs=near)
        if null == "moments":
            assert found[gene]["q_value"] == pytest.approx(q[at], rel=1e-7, abs=1e-12)
    p = [each["p_value"] for each in found.values()]
    assert p == sorted(p), "the order is that of the p-values"
    assert not any("too small" in text for text in split.warnings)
    assert [half["features"] for half in split.facts["significance"]["split"]["halves"]] == [40, 40]


def test_halves_depend_on_ids_and_seed_alone() -> None:
    genes = names("g", M)
    for seed in (0, 3):
        inside = {gene for gene, first in zip(genes, first_half(seed, genes)) if first}
        assert len(inside) == M // 2
        turned = genes[::-1]
        assert inside == {g for g, first in zip(turned, first_half(seed, turned)) if first}
    assert (first_half(0, genes) != first_half(3, genes)).any()


def test_too_few_features_to_divide_are_refused(tmp_path: Path) -> None:
    path = write_table(tmp_path / "x.csv", values(m=3))
    with pytest.raises(InputError, match="cannot divide 3"):
        rank(RankConfig(matrix=path, pvalues="moments", split="features"))
