"""Ties are marked in the table, and told of where they are at the top."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfs_cli.ranking.table import Ranking, rank_features
from sfs_cli.run.ties import ties
from tests.contract.numbers.commands import facts, rank_to
from tests.making import write_table

SCORES = st.lists(st.sampled_from([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, 2.5, -3.0]), min_size=1)


def ranked(scores: object, **given: object) -> Ranking:
    score = np.array(scores, np.float64)
    names = [f"g{i}" for i in range(len(score))]
    options: dict = {"larger_is_better": True} | given
    return rank_features(
        names, score, np.isnan(score).astype(np.int8), ("ok", "constant"), **options
    )


@given(SCORES, st.booleans())
def test_a_block_is_as_large_as_the_score_is_frequent(scores: list[float], larger: bool) -> None:
    ranking = ranked(scores, larger_is_better=larger)
    counts = Counter(score + 0.0 for score in scores if not np.isnan(score))
    if max(counts.values(), default=1) == 1:
        assert "tied" not in ranking.extra
        return
    expected = [0 if np.isnan(score) else counts[score + 0.0] for score in ranking.score]
    assert list(ranking.extra["tied"]) == expected
    assert list(ranking.columns())[:5] == ["rank", "feature", "score", "status", "tied"]


def test_scores_that_differ_by_rounding_alone_are_tied_in_the_order_of_the_input() -> None:
    ranking = ranked([5.0, 0.3, 0.1 + 0.2, 0.3 + 1e-9, np.nan, 0.3])
    assert ranking.feature == ["g0", "g3", "g1", "g2", "g5", "g4"]
    assert ranking.extra["tied"].tolist() == [1, 1, 3, 3, 3, 0]
    assert len(set(ranking.score[2:5])) == 1
    rising = ranked([0.1 + 0.2, 0.3], larger_is_better=False)
    assert rising.feature == ["g0", "g1"]


def test_the_order_of_a_path_is_no_order_of_scores() -> None:
    ranking = ranked([1.0, 1.0, 1.0, np.nan], order=np.array([2, 0, 1]))
    assert "tied" not in ranking.extra


@pytest.mark.parametrize(
    ("blocks", "ranks"),
    [
        ({45: 150}, "46 to 195"),
        ({49: 3}, "50 to 52"),
        ({48: 4, 10: 7, 100: 90}, "11 to 17"),
        ({50: 200}, None),
        ({10: 2, 49: 2}, None),
    ],
)
def test_blocks_at_the_top_are_told_of(blocks: dict[int, int], ranks: str | None) -> None:
    scores = -np.arange(400.0)
    for first, size in blocks.items():
        scores[first : first + size] = scores[first]
    found = ties(ranked(scores))
    if ranks is None:
        assert found is None
    else:
        assert found is not None
        assert f"ranks {ranks}" in found
        assert ("1 other block" in found) == (len(blocks) > 2)


@pytest.mark.parametrize(
    ("top", "ranks"),
    [(9, "9 to 10"), (8, "4 to 7"), (3, None), (200, "199 to 201"), (300, "4 to 7")],
)
def test_a_block_that_top_cuts_is_told_of(top: int, ranks: str | None) -> None:
    """Whether some of it are among the rows that are written; not what only others have."""
    scores = -np.arange(400.0)
    for first, size in {3: 4, 8: 2, 198: 3}.items():
        scores[first : first + size] = scores[first]
    found = ties(replace(ranked(scores), top=top))
    assert (found is None) == (ranks is None)
    assert ranks is None or f"ranks {ranks}" in str(found)


@pytest.mark.parametrize(("size", "dtype"), [(7, "float32"), (64, "float64")])
@pytest.mark.parametrize("method", ["t-test", "spec", "relieff"])
def test_copies_of_a_gene_are_tied_wherever_they_are(
    method, size, dtype, tmp_path: Path, set_blocks
) -> None:
    set_blocks(size)
    rng = np.random.default_rng(8)
    n, m = 31, 300
    X = rng.normal(5, 1, (m, n)).round(3)
    classes = np.arange(n) % 2
    copies = rng.choice(m, 60, replace=False)
    X[copies] = X[0] + 2 * classes
    write_table(tmp_path / "m.csv", X, [f"g{i}" for i in range(m)], [f"s{j}" for j in range(n)])
    rows = [f"s{j}\t{'ab'[classes[j]]}" for j in range(n)]
    (tmp_path / "labels.tsv").write_text("\n".join(["id\tkind", *rows]))
    labels = ["--labels", f"{tmp_path / 'labels.tsv'}:kind"]
    needs = ["--similarity", "knn"] if method == "spec" else labels
    given = ["--method", method, *needs, "--dtype", dtype]
    out = rank_to(tmp_path / "out", tmp_path / "m.csv", *given)
    lines = [line.split("\t") for line in (out / "ranking.tsv").read_text().splitlines()]
    at = lines[0].index("tied")
    tied = {line[1]: line[at] for line in lines[1:]}
    assert {tied[f"g{i}"] for i in copies} == {"60"}
    assert sum(size == "1" for size in tied.values()) == m - 60
    warned = any("column tied" in text for text in facts(out)["warnings"])
    ranks = [int(line[0]) for line in lines[1:] if line[at] == "60"]
    assert warned == (min(ranks) <= 50)
