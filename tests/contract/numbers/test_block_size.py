"""``--block-size`` decides how sums are rounded, and nothing that a reader of a table would see."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sfs_cli.catalog import METHODS
from sfs_cli.cli.app import run
from tests.making import names, table_text, write_labels

N, M = 24, 300
SIZES = (1, 7, 64)
CLOSE = 1e-12
"""Largest difference of a score, as a part of the largest score."""
CLOSE_OF = {"qalpha": 1e-8, "rfs": 1e-11}
"""Of the solvers that stop at a tolerance."""
FAST = ("spec", "fisher", "mrsf", "qalpha")
OPTIONS = {
    "msfs": ["--source", "p=profile:PROFILE", "--source", "t=target:"],
    "kogs": ["--members", "spec,variance"],
    "l21": ["--lambda", "1"],
    "spearman": ["--label-type", "ordered"],
    "cox": ["--event", "alive"],
}
NUMBERS = {"spearman": "time", "cox": "time"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    home = tmp_path_factory.mktemp("blocks")
    rng = np.random.default_rng(5)
    X = rng.normal(5, 2, (M, N)).round(4)
    X[:20, : N // 2] += 2
    samples = names("s", N)
    (home / "m.csv").write_text(table_text(X, names("g", M), samples, ","))
    (home / "p.csv").write_text(table_text(X[:50] ** 2, names("p", 50), samples, ","))
    write_labels(home / "l.tsv", ["a"] * (N // 2) + ["b"] * (N // 2), samples)
    lines = [f"{s}\t{i % 7}\t{i % 2}\n" for i, s in enumerate(samples)]
    (home / "numbers.tsv").write_text("sample\ttime\talive\n" + "".join(lines))
    return home


def ranking(folder: Path, method: str, size: int | None) -> tuple[list[str], np.ndarray]:
    out = folder / f"{method}-{size}"
    words = ["rank", str(folder / "m.csv"), "--method", method, "--labels", str(folder / "l.tsv")]
    if name := NUMBERS.get(method):
        words[-1] = f"{folder / 'numbers.tsv'}:{name}"
    words += [w.replace("PROFILE", str(folder / "p.csv")) for w in OPTIONS.get(method, [])]
    words += [] if size is None else ["--block-size", str(size)]
    assert run([*words, "--out", str(out), "--digits", "17", "-q"]) == 0
    rows = [line.split("\t") for line in (out / "ranking.tsv").read_text().splitlines()[1:]]
    return [row[1] for row in rows], np.array([float(row[2] or "nan") for row in rows])


@pytest.mark.nightly
@pytest.mark.parametrize(
    "method",
    [name if name in FAST else pytest.param(name, marks=pytest.mark.nightly) for name in METHODS],
)
def test_order_is_the_same_and_scores_are_as_close_as_the_readme_says(method, folder):
    features, scores = ranking(folder, method, None)
    scale = np.nanmax(np.abs(scores))
    for size in SIZES:
        others, found = ranking(folder, method, size)
        assert others == features, size
        close = CLOSE_OF.get(method, CLOSE) * scale
        np.testing.assert_allclose(found, scores, rtol=0, atol=close, equal_nan=True)
