"""p-values of the mutual information, by permuting the labels."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from sfs_cli.catalog import PERMUTED
from sfs_cli.compute.matrix import Block
from sfs_cli.errors import UsageError
from sfs_cli.methods import mutual_info
from sfs_cli.methods.mutual_info import MutualInfoScorer
from sfs_cli.methods.significance import tested
from sfs_cli.methods.significance.tested import LabelPermutations
from sfs_cli.options import RankConfig
from tests.cli.running import run_here
from tests.making import make_problem, write_labels, write_table
from tests.methods.helpers import run
from tests.oracles import baselines, outcome

RNG = np.random.default_rng(6)
CODES = RNG.permutation(np.repeat([0, 1, 2, 3], [14, 9, 5, 2]))
N, M = len(CODES), 12
Y = RNG.gamma(2.0, 10.0, N)
X = RNG.normal(50, RNG.uniform(0.1, 10, M), size=(N, M))
X[:, 0] += 30 * CODES
X[:, 1] += 3 * Y
X[:, 2] = np.sign(X[:, 2] - 50) * (Y - Y.mean()) ** 2
LABELS: dict[str, dict[str, Any]] = {"classes": {"codes": CODES}, "outcome": {"outcome": Y}}


def test_these_are_the_methods_without_a_formula() -> None:
    assert PERMUTED == ("mutual-info",)


def columns_of(X: np.ndarray, count: int, **given: Any) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """The scores of features, and the columns beside them."""
    made = make_problem(X, **given)
    scorer = LabelPermutations(MutualInfoScorer(made), made, count)
    score, _, *measured = scorer.score_block(Block(np.array(X.T, order="C")))
    return score, scorer.columns(score, *measured)


# ---- estimates ----------------------------------------------------------------------------------


def orders_of(n: int, count: int = 6) -> np.ndarray:
    rng = np.random.default_rng(1)
    return np.array([np.arange(n), *(rng.permutation(n) for _ in range(count))])


@pytest.mark.parametrize("sizes", [(2, 2), (3, 2), (4, 4), (7, 9, 30), (14, 9, 5, 2)])
@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_permuted_classes_one_by_one(sizes: tuple[int, ...], k: int) -> None:
    codes = np.repeat(np.arange(len(sizes)), sizes)
    rng = np.random.default_rng(k)
    values = np.sort(rng.gamma(1.0, size=len(codes)))
    permuted = codes[orders_of(len(codes))]
    found = mutual_info.of_permuted_classes(values, permuted, k)
    exact = [mutual_info.estimated(values[None], y, k)[0] for y in permuted]
    np.testing.assert_allclose(found, exact, rtol=1e-10, atol=1e-12)
    expected = [baselines.mutual_information(values, y, k) for y in permuted]
    np.testing.assert_allclose(np.maximum(found, 0), expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("sizes", [(9, 4, 2), (30, 20), (5, 5, 5, 5)])
@pytest.mark.parametrize("digits", [0, 1, 2])
def test_permuted_classes_of_equal_values_and_distances(sizes: Any, digits: int) -> None:
    codes = np.repeat(np.arange(len(sizes)), sizes)
    values = np.sort(np.random.default_rng(digits).gamma(0.5, size=len(codes)).round(digits))
    values = (values - values.mean()) / values.std()
    permuted = codes[orders_of(len(codes))]
    found = mutual_info.of_permuted_classes(values, permuted)
    exact = [mutual_info.estimated(values[None], y)[0] for y in permuted]
    np.testing.assert_allclose(found, exact, rtol=1e-10, atol=1e-12)


def test_the_p_value_of_ties_is_that_of_the_score() -> None:
    """No noise decides: the seed changes the permutations alone."""
    counts = np.random.default_rng(8).poisson(0.5, (N, 30)).astype(float)
    found = [columns_of(counts, 400, seed=s, codes=CODES)[1] for s in (1, 2)]
    np.testing.assert_allclose(found[0]["p_value"], found[1]["p_value"], atol=0.16)
    centered = np.array((counts - counts.mean(axis=0)).T, order="C")
    scorer = MutualInfoScorer(make_problem(counts, codes=CODES))
    own = scorer.permuted(centered, np.arange(N)[None], np.ones(centered.shape))[:, 0]
    score = scorer.score_block(Block(centered))[0]
    np.testing.assert_allclose(np.maximum(own, 0), score, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("n", [5, 12, 60])
@pytest.mark.parametrize("k", [1, 3, 4])
def test_permuted_outcomes_one_by_one(n: int, k: int) -> None:
    rng = np.random.default_rng(n)
    values, y = np.sort(rng.gamma(1.0, size=n)), rng.normal(size=n)
    permuted = y[orders_of(n)]
    found = mutual_info.of_permuted_outcomes(values, permuted, k)
    expected = [outcome.mutual_information(values, own, k) for own in permuted]
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("kind", LABELS)
def test_labels_in_their_order_have_the_score(kind: str) -> None:
    """Where there are no ties, against which there is noise in tests alone."""
    if kind == "outcome":
        pytest.importorskip("sklearn")
    scorer = MutualInfoScorer(make_problem(X, **LABELS[kind]))
    score, *_ = scorer.score_block(Block(np.array(X.T, order="C")))
    centered = np.array((X - X.mean(axis=0)).T, order="C")
    noise = np.broadcast_to(scorer.noise, centered.shape)
    found = scorer.permuted(centered, np.arange(N)[None], noise)[:, 0]
    np.testing.assert_allclose(np.maximum(found, 0), score, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("values", [X, RNG.poisson(1.0, (N, 20)) * 1.0], ids=["normal", "ties"])
def test_many_samples_are_not_looked_up(
    values: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = columns_of(values, 50, codes=CODES)[1]
    monkeypatch.setattr(mutual_info, "LOOKED_UP", N - 1)
    monkeypatch.setattr(mutual_info, "_TEMPORARY", 5 * N)
    for name, column in columns_of(values, 50, codes=CODES)[1].items():
        np.testing.assert_allclose(column, expected[name], rtol=1e-9)


# ---- p-values -----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("kind", LABELS)
def test_p_values_are_counts_of_permutations(kind: str) -> None:
    _, columns = columns_of(X, 60, seed=4, **LABELS[kind])
    draws = [np.random.default_rng((4, k)).permutation(N) for k in range(60)]
    for k, f in enumerate(X.T[:4]):
        if kind == "classes":
            estimates = [
                mutual_info.estimated(f[None], CODES[o])[0] for o in (np.arange(N), *draws)
            ]
        else:
            x, y = f / f.std(), Y / Y.std()
            estimates = [outcome.mutual_information(x, y[o]) for o in (np.arange(N), *draws)]
        observed, others = estimates[0], np.array(estimates[1:])
        p = (1 + np.count_nonzero(others >= observed - 1e-9)) / 61
        assert columns["p_value"][k] == pytest.approx(p)
        effect = (observed - others.mean()) / others.std()
        assert columns["effect"][k] == pytest.approx(effect, rel=1e-6)
    q = stats.false_discovery_control(columns["p_value"])
    np.testing.assert_allclose(columns["q_value"], q, rtol=1e-12)


def test_with_many_permutations_small_p_values_are_those_of_a_tail() -> None:
    _, columns = columns_of(X, 1000, codes=CODES)
    assert columns["p_value"][0] < 1e-5
    assert (columns_of(X, 999, codes=CODES)[1]["p_value"] >= 1 / 1000).all()


def test_no_p_value_is_below_the_part_of_one_order_of_the_labels() -> None:
    codes = np.repeat([0, 1], [3, 9])  # of 220 orders
    X = np.random.default_rng(0).normal(size=(12, 200)) + 5 * codes[:, None]
    for count in (300, 1_000):
        _, columns = columns_of(X, count, codes=codes)
        assert columns["p_value"].min() >= 1 / 220 * (1 - 1e-12)
    assert columns["p_value"].min() == pytest.approx(1 / 220, rel=1e-12)


def test_features_that_do_not_vary_or_have_missing_values() -> None:
    wide = X.copy()
    wide[:, 3], wide[5, 4] = 7.0, np.nan
    expected = columns_of(X, 50, codes=CODES)[1]
    made = make_problem(X, codes=CODES)
    scorer = LabelPermutations(MutualInfoScorer(made), made, 50)
    left_out = np.zeros(M, np.int8)
    left_out[4] = 3
    block = Block(np.array(wide.T, order="C"), left_out)
    score, _, *measured = scorer.score_block(block)
    columns = scorer.columns(score, *measured)
    np.testing.assert_array_equal(np.isnan(columns["p_value"]), np.isin(np.arange(M), [3, 4]))
    for name in ("p_value", "effect"):
        kept = ~np.isnan(score)
        np.testing.assert_array_equal(columns[name][kept], expected[name][kept])
    assert scorer.facts["tested_features"] == M - 2


def test_units_do_not_matter() -> None:
    expected = columns_of(X, 50, codes=CODES)[1]
    for scale in (1e-140, 1e140):
        found = columns_of((X - 50) * scale, 50, codes=CODES)[1]
        np.testing.assert_allclose(found["p_value"], expected["p_value"])


# ---- calibration --------------------------------------------------------------------------------


def noise_of(kind: str, rng: np.random.Generator, n: int, m: int) -> np.ndarray:
    """Normal values, or counts of which eight or nine in ten are 0."""
    if kind == "normal":
        return rng.normal(size=(n, m))
    values = rng.poisson(rng.gamma(0.7, 0.25, size=(n, m))).astype(np.float64)
    return values[:, values.any(axis=0)]


def in_seeds(kind: str, labels: str, n: int, m: int, count: int) -> list[np.ndarray]:
    """The p-values of noise, in 20 seeds."""
    found = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        values = noise_of(kind, rng, n, m)
        codes = rng.permutation(np.repeat([0, 1, 2], [n // 2, n // 3, n - n // 2 - n // 3]))
        given = {"codes": codes} if labels == "classes" else {"outcome": rng.gamma(2.0, size=n)}
        found.append(columns_of(values, count, seed=seed, **given)[1]["p_value"])
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "labels", "n", "m", "count"),
    [
        ("normal", "classes", 30, 60, 99),
        ("counts", "classes", 30, 100, 199),
        ("normal", "outcome", 24, 50, 99),
        ("normal", "classes", 100, 100, 200),
        ("counts", "classes", 100, 100, 200),
        ("counts", "outcome", 60, 60, 150),
    ],
)
def test_p_values_of_noise_are_uniform(kind: str, labels: str, n: int, m: int, count: int) -> None:
    found = in_seeds(kind, labels, n, m, count)
    # few values have few scores, of which the equal ones make p-values too large, not too small
    ties = kind == "counts" and labels == "classes"
    side = "greater" if ties else "two-sided"
    assert sum(stats.kstest(p, "uniform", alternative=side).pvalue > 0.01 for p in found) >= 19
    for level in (0.1, 0.01):
        rates = np.array([(p <= level).mean() for p in found])
        # features share labels and permutations: the seeds are what is independent
        error = max(rates.std(), np.sqrt(level / m)) / np.sqrt(len(rates))
        assert rates.mean() - level < 3 * error
        assert ties or level - rates.mean() < 3 * error


# ---- whole runs ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """20 features of 30 samples, one of them constant and many zero, and two kinds of labels."""
    folder = tmp_path_factory.mktemp("labels")
    values = np.random.default_rng(3).poisson(2.0, size=(20, N)).astype(float)
    values[:8] += 3 * (CODES == 0)
    values[7] = 3.0
    write_table(folder / "m.csv", values)
    names = [f"s{i}" for i in range(N)]
    write_labels(folder / "classes.tsv", [f"c{c}" for c in CODES], names)
    write_labels(folder / "numbers.tsv", [str(y) for y in Y], names)
    return folder


def given(table: Path, kind: str) -> dict[str, Any]:
    if kind == "classes":
        return {"method": "mutual-info", "labels": str(table / "classes.tsv")}
    labels = {"labels": str(table / "numbers.tsv"), "label_type": "continuous"}
    return {"method": "mutual-info"} | labels


@pytest.mark.slow
@pytest.mark.parametrize("kind", LABELS)
def test_the_same_bytes_over_threads_and_blocks(
    kind: str, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if kind == "outcome":
        pytest.importorskip("sklearn")

    def columns(**running: Any) -> np.ndarray:
        asked = given(table, kind) | {"pvalues": "permutation:30", "seed": 4} | running
        extra = run(str(table / "m.csv"), **asked).ranking.extra
        return np.array([extra[name] for name in ("p_value", "q_value", "effect")])

    whole = columns(threads=1)
    np.testing.assert_array_equal(columns(threads=2, block_size=9), whole)
    np.testing.assert_array_equal(columns(threads=1, block_size=1), whole)
    monkeypatch.setattr(tested, "HELD", 120)
    monkeypatch.setattr(tested, "DRAWN", 7 * N)
    np.testing.assert_array_equal(columns(threads=1), whole)
    assert not np.array_equal(columns(threads=1, seed=5), whole, equal_nan=True)


def test_a_run_from_the_command_line(
    table: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    words = ["rank", str(table / "m.csv"), "--labels", str(table / "classes.tsv")]
    words += ["--method", "mutual-info", "--pvalues", "permutation:99"]
    done = run_here([*words, "--out", str(tmp_path / "out")], capfd)
    assert done.code == 0, done.err
    header = (tmp_path / "out" / "ranking.tsv").read_text().partition("\n")[0].split("\t")
    for name in ("p_value", "q_value", "effect", "highest_class"):
        assert name in header
    facts = json.loads((tmp_path / "out" / "run.json").read_text())["method"]
    assert facts["permutations"] == 99
    assert facts["tested_features"] == 19
    assert (tmp_path / "out" / "report.html").read_text()


def test_shards_have_the_same_bytes(
    table: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    words = [str(table / "m.csv"), "--labels", str(table / "classes.tsv"), "--block-size", "6"]
    words += ["--method", "mutual-info", "--pvalues", "permutation:50"]
    whole, parts, merged = (str(tmp_path / name) for name in ("whole", "parts", "merged"))
    commands = [["rank", *words, "--out", whole], ["shard", "init", parts, *words]]
    commands[1] += ["--shards", "3"]
    commands += [["shard", "run", parts, str(number)] for number in (1, 2, 3)]
    commands.append(["shard", "merge", parts, "--out", merged])
    for command in commands:
        done = run_here(command, capfd)
        assert done.code == 0, (command, done.err)
    assert Path(merged, "ranking.tsv").read_bytes() == Path(whole, "ranking.tsv").read_bytes()


@pytest.mark.parametrize("null", ["gaussian", "moments"])
def test_there_is_no_formula(null: str) -> None:
    with pytest.raises(UsageError) as refused:
        RankConfig(matrix="m.csv", method="mutual-info", labels="l.tsv", pvalues=null)
    assert {"pvalues", "method"} <= set(refused.value.options)
    assert "permutation" in refused.value.hint


def test_nothing_is_split() -> None:
    asked: dict[str, Any] = {"method": "mutual-info", "labels": "l.tsv", "split": "features"}
    with pytest.raises(UsageError) as refused:
        RankConfig(matrix="m.csv", pvalues="permutation", **asked)
    assert "split" in refused.value.options


def test_a_feature_whose_score_no_order_changes_has_no_effect() -> None:
    """One sample of classes of one size: rounding differs between orders, and is no spread."""
    values = np.zeros((60, 3))
    values[[3, 20, 41], [0, 1, 2]] = 5.0
    _, columns = columns_of(values, 99, codes=np.repeat([0, 1], 30))
    np.testing.assert_array_equal(columns["effect"], 0)
    np.testing.assert_array_equal(columns["p_value"], 1)


@pytest.mark.parametrize("n", [7, 50, 400])
def test_values_within_a_radius_are_counted_with_ties(n: int) -> None:
    rng = np.random.default_rng(n)
    for values in (rng.poisson(0.3, (4, n)), rng.normal(size=(4, n)).round(1), np.zeros((4, n))):
        values = values.astype(np.float64)
        radius = mutual_info.kth_distances(values, 3)
        exact = (np.abs(values[:, :, None] - values[:, None]) <= radius[:, :, None]).sum(axis=2)
        np.testing.assert_array_equal(mutual_info.counts_within(values, radius), exact)
