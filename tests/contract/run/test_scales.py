"""Tests on several scales of the coordinates: their twins, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist, pdist, squareform

from sfs_cli.api import rank as rank_in_python
from sfs_cli.graph import spatial
from sfs_cli.graph.similarity import DenseSimilarity, SparseSimilarity
from sfs_cli.methods.significance.scales import ScalesScorer
from sfs_cli.ranking.table import Picked
from tests.contract.numbers.commands import facts, rank_to
from tests.making import annotated, names
from tests.running import run_here

SIDE, M = 9, 60
MOMENTS = ("--pvalues", "moments")
SPATIAL = ("--coordinates", "obsm:spatial", *MOMENTS)
FEW = ("--scales", "1,2.5,linear")


def grid(side: int = SIDE) -> np.ndarray:
    """Places of a grid, moved a little, in an unusual unit."""
    rng = np.random.default_rng(3)
    places = np.stack(np.meshgrid(np.arange(side), np.arange(side)), axis=-1).reshape(-1, 2)
    return 50 * (places + rng.uniform(-0.2, 0.2, size=places.shape)) + 1e4


def counts(m: int = M, side: int = SIDE) -> np.ndarray:
    """Counts of samples x features, the first of which follow the places."""
    rng = np.random.default_rng(4)
    places = (grid(side) - 1e4) / 50 / side
    log_mean = np.zeros((len(places), m))
    log_mean[:, :10] = 2 * places[:, :1] * rng.uniform(size=10)
    log_mean[:, 10:15] = 2 * (np.hypot(*(places - 0.5).T) < 0.25)[:, None]
    return rng.poisson(rng.gamma(1.0, np.exp(log_mean))).astype(np.float32)


@pytest.fixture(scope="module")
def tissue(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tissue")
    X = counts()
    X[:, 20] = 7  # no score
    made = annotated(X, obsm={"spatial": grid()})
    made.obs["slide"] = np.where(np.arange(len(X)) % 3, "a", "b")
    made.obs["depth"] = X.sum(axis=1)
    made.write_h5ad(folder / "tissue.h5ad")
    frame = pd.DataFrame(grid(), index=made.obs_names, columns=["x", "y"])
    frame.iloc[::-1].to_csv(folder / "xy.tsv", sep="\t")
    return folder / "tissue.h5ad"


def read(out: Path) -> pd.DataFrame:
    return pd.read_csv(out / "ranking.tsv", sep="\t").set_index("feature").sort_index()


def kernels(places: np.ndarray, widths: tuple[float, ...]) -> dict[str, np.ndarray]:
    """The Gaussian kernels and the projection, from their definitions."""
    distance = squareform(pdist(places))
    unit = np.median(np.sort(distance, axis=1)[:, 1])
    found = {f"{w:g}": np.exp(-(distance**2) / (2 * (w * unit) ** 2)) for w in widths}
    X = places - places.mean(axis=0)
    return found | {"linear": X @ np.linalg.inv(X.T @ X) @ X.T}


def by_hand(p: np.ndarray) -> np.ndarray:
    """The Cauchy combination of p-values (k, m)."""
    return 0.5 - np.arctan(np.mean(np.tan((0.5 - p) * np.pi), axis=0)) / np.pi


@pytest.mark.parametrize("adjust", [(), ("--adjust", "obs:slide,depth")])
def test_p_values_are_those_of_each_kernel_combined(adjust, tissue, tmp_path):
    found = read(rank_to(tmp_path / "all", tissue, *SPATIAL, *FEW, *adjust))
    single = {}
    for name, S in kernels(grid(), (1, 2.5)).items():
        ids = names("s", len(S))
        pd.DataFrame(S, index=ids, columns=ids).to_csv(tmp_path / "S.csv")
        given = ("--method", "hsic", "--similarity", f"file:{tmp_path / 'S.csv'}")
        single[name] = read(rank_to(tmp_path / name, tissue, *MOMENTS, *given, *adjust))
        expected = single[name]["p_value"]
        # similarities below 0.0004 are left out; the file has the digits of a table
        p, large = found[f"p_value_{name}"], expected > 0.1
        np.testing.assert_allclose(p[large], expected[large], rtol=2e-3)
        # and features stop at another permutation where one of them compares differently
        np.testing.assert_allclose(np.log2(p / expected).dropna(), 0, atol=1)
        assert np.isclose(p, expected, rtol=2e-3, equal_nan=True).mean() > 0.8
    scored = found["p_value"].notna()
    assert list(found.index[~scored]) == ["g20"]
    own = found.loc[scored, [f"p_value_{name}" for name in single]].to_numpy().T
    np.testing.assert_allclose(found.loc[scored, "p_value"], by_hand(own), rtol=1e-6)
    np.testing.assert_allclose(
        found.loc[scored, "score"], -np.log10(found.loc[scored, "p_value"]), rtol=1e-6
    )
    best = np.array([*single])[own.argmin(axis=0)]
    assert list(found.loc[scored, "scale"].astype(str)) == list(best)
    effects = np.array([each.loc[scored, "effect"] for each in single.values()])
    of_best = effects[own.argmin(axis=0), np.arange(scored.sum())]
    np.testing.assert_allclose(found.loc[scored, "effect"], of_best, rtol=2e-3)


def test_the_default_has_four_scales_and_a_column_of_each(tissue, tmp_path):
    out = rank_to(tmp_path / "out", tissue, *SPATIAL)
    widths = facts(out)["scales"]["widths"]
    assert widths == ["1.5", "3", "6", "linear"]
    assert facts(out)["scales"]["unit"] == pytest.approx(spatial.spacing_of(grid()))
    assert "scale" in read(out)
    columns = [c for c in read(out) if c.startswith("p_value_") and c != "p_value_by"]
    assert columns == [f"p_value_{width}" for width in widths]
    page = (out / "report.html").read_text()
    assert "Widths of the kernels" in page


def test_coordinates_of_a_table_are_those_of_the_file(tissue, capfd):
    places = ("obsm:spatial", str(tissue.parent / "xy.tsv"))
    made = [run_here(["rank", str(tissue), "--coordinates", p, *MOMENTS], capfd) for p in places]
    assert (made[0].code, made[1].code) == (0, 0)
    assert made[0].out == made[1].out


def test_p_values_of_0_have_a_score():
    scorer = ScalesScorer.__new__(ScalesScorer)
    scorer.names, scorer.facts = ["1", "2"], {}
    p = np.array([[0.0, 1.0, np.nan, np.nan], [0.3, 1.0, 0.2, np.nan]])

    class Fake:
        def __init__(self, row: int) -> None:
            self.row = row

        def columns(self, _found: dict[str, np.ndarray]) -> dict[str, Any]:
            effect = np.where(np.isnan(p[self.row]), np.nan, self.row + 1.0)
            by = Picked(["moments", "permutation"], np.full(4, self.row))
            return {"p_value": p[self.row], "effect": effect, "p_value_by": by}

    scorer.scorers = [Fake(0), Fake(1)]  # type: ignore[list-item]
    columns = scorer.columns({})
    score = columns["score"]
    assert score[0] > 300
    assert np.isfinite(score[0])
    assert str(score[1]) == "0.0"
    assert np.isnan(score[3])
    assert list(columns["scale"]) == ["1", "1", "2", ""]
    np.testing.assert_array_equal(columns["effect"], [1, 1, 2, np.nan])
    assert list(columns["p_value_by"]) == ["moments", "moments", "permutation", ""]


def test_a_sparse_kernel_is_the_dense_one_but_for_far_pairs():
    places = grid(30)
    made = spatial.kernel(places, 40.0, 1 << 40)
    assert isinstance(made, SparseSimilarity)
    full = np.exp(-(cdist(places, places) ** 2) / (2 * 40.0**2))
    assert np.abs(made.to_dense() - full).max() < np.exp(-(spatial.FARTHEST**2) / 2) + 1e-12
    np.testing.assert_allclose(made.to_dense()[full > 1e-3], full[full > 1e-3], rtol=1e-12)
    wide = spatial.kernel(places, 400.0, 1 << 40)
    assert isinstance(wide, DenseSimilarity)
    np.testing.assert_allclose(
        wide.to_dense(), np.exp(-(cdist(places, places) ** 2) / (2 * 400.0**2)), rtol=1e-10
    )


def test_a_kernel_that_does_not_fit_is_refused():
    with pytest.raises(Exception, match="a kernel of 900 samples"):
        spatial.kernel(grid(30), 400.0, 1000)


def test_the_unit_and_the_axes_of_coordinates_do_not_matter():
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    first = spatial.projection(grid()).to_dense()
    np.testing.assert_allclose(spatial.projection(grid() @ turn * [3, 0.1]).to_dense(), first)
    twice = np.column_stack([grid(), grid()[:, 0]])
    np.testing.assert_allclose(spatial.projection(twice).to_dense(), first, atol=1e-12)


def test_spacing_is_that_of_different_places():
    places = np.array([[0, 0], [0, 0], [2, 0], [4, 0], [4, 0], [7, 0.0]])
    assert spatial.spacing_of(places) == 2


def test_too_few_places_and_useless_scales_are_refused(tissue, tmp_path, capfd):
    done = run_here(["rank", str(tissue), *SPATIAL, "--scales", "0.001"], capfd)
    assert done.code == 3
    assert "at the scale 0.001 all pairs" in done.err
    few = np.repeat([[0, 0], [1, 1], [2, 0]], 27, axis=0).astype(float)
    annotated(counts(), obsm={"spatial": few}).write_h5ad(tmp_path / "few.h5ad")
    done = run_here(["rank", str(tmp_path / "few.h5ad"), *SPATIAL], capfd)
    assert done.code == 3
    assert "fewer than 4 different places" in done.err


REFUSED = {
    "no number": (*SPATIAL, "--scales", "near"),
    "twice": (*SPATIAL, "--scales", "3,3.0"),
    "stability, by default": (*SPATIAL, "--stability", "5"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_options_that_do_not_go_together_are_refused(case, tissue, tmp_path, capfd):
    words = ["rank", str(tissue), *REFUSED[case], "--out", str(tmp_path / "o")]
    done = run_here(words, capfd)
    assert done.code == 2
    assert "--scale" in done.err


@pytest.mark.parametrize("words", [("--similarity", "knn,neighbors=4"), ("--method", "laplacian")])
def test_a_graph_or_method_that_is_asked_for_has_no_scales(words, tissue, tmp_path):
    out = rank_to(tmp_path / "o", tissue, *SPATIAL, *words)
    assert not facts(out).get("scales")
    assert "scale" not in read(out)


def test_select_does_not_rank_again_on_one_scale(tissue, tmp_path, capfd):
    labels = ("--labels", "obs:slide")
    out = rank_to(tmp_path / "o", tissue, *SPATIAL, *labels)
    done = run_here(["select", str(out), "--cv"], capfd)
    assert done.code == 2
    assert "--cv tests on several scales at once" in done.err


def test_scales_are_numbers_in_python():
    adata = annotated(counts(), obsm={"spatial": grid()})
    asked = {"coordinates": "obsm:spatial", "pvalues": "moments"}
    made = rank_in_python(adata, scales=(1, np.float64(2.5), "linear"), **asked)
    assert made.facts["scales"]["widths"] == ["1", "2.5", "linear"]
