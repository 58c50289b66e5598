"""The elbow: known corners, and what must not change it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfs_cli.ranking.elbow import elbow


def broken_line(m: int, corner: int, height: float) -> np.ndarray:
    """A curve from 1 to 0 in two straight pieces that meet at (corner, height)."""
    return np.interp(np.arange(m), [0, corner, m - 1], [1.0, height, 0.0])


@pytest.mark.parametrize(("m", "corner"), [(3, 1), (10, 3), (1000, 40), (5000, 4000)])
def test_a_corner_below_the_chord_is_the_first_feature_of_the_tail(m: int, corner: int) -> None:
    below = 0.3 * (1 - corner / (m - 1))
    assert elbow(broken_line(m, corner, below)) == corner


@pytest.mark.parametrize(("m", "corner"), [(3, 1), (10, 3), (1000, 40), (5000, 4000)])
def test_a_corner_above_the_chord_is_the_last_feature_that_counts(m: int, corner: int) -> None:
    chord = 1 - corner / (m - 1)
    assert elbow(broken_line(m, corner, chord + 0.5 * (1 - chord))) == corner + 1


@pytest.mark.parametrize("good", [3, 10, 50, 97])
def test_a_step_with_sloping_ends_is_cut_at_the_step(good: int) -> None:
    scores = np.r_[np.linspace(10, 9.5, good), np.linspace(1, 0.5, 100 - good)]
    assert elbow(scores) == good


def test_the_exponential_bends_where_its_slope_is_that_of_the_chord() -> None:
    m, rate = 100_001, 8.0
    x = np.linspace(0, 1, m)
    drop = 1 - np.exp(-rate)
    expected = np.log(rate / drop) / rate * (m - 1)
    assert elbow(np.exp(-rate * x)) == pytest.approx(expected, abs=1)


@given(
    st.lists(st.integers(1, 1000), min_size=3, max_size=60, unique=True),
    st.floats(1e-6, 1e6),
    st.floats(-1e3, 1e3),
    st.sampled_from([-1.0, 1.0]),
)
def test_affine_maps_and_direction_do_not_move_it(
    steps: list[int], scale: float, shift: float, sign: float
) -> None:
    scores = np.cumsum(np.array(steps, dtype=float) ** 2)[::-1]
    below = np.linspace(1, 0, len(scores)) - (scores - scores[-1]) / (scores[0] - scores[-1])
    two_largest = np.sort(np.abs(below))[-2:]
    if two_largest[1] - two_largest[0] > 1e-3 or len(scores) == 3:
        assert elbow(sign * (scale * scores + shift * scale)) == elbow(scores)


@pytest.mark.parametrize("factor", [1e-300, 1e-12, 1e12, 1e300])
def test_tiny_and_huge_scores_do_not_overflow(factor: float) -> None:
    assert elbow(factor * broken_line(100, 20, 0.2)) == 20
    assert elbow(factor * (broken_line(100, 20, 0.2) - 0.5)) == 20


@pytest.mark.parametrize(
    "scores",
    [
        [],
        [1.0],
        [2.0, 1.0],
        [5.0, 5.0, 5.0, 5.0],
        [2.0, 2.0, 1.0, 1.0],
        list(np.linspace(3, -8, 1000)),
        list(1e6 + np.linspace(0, 1e-3, 1000)),
        [np.inf, 2.0, 1.0, 0.9],
        [3.0, 2.0, 0.5, -np.inf],
    ],
    ids=["empty", "one", "two", "equal", "two values", "line", "offset line", "inf", "-inf"],
)
def test_a_curve_without_a_bend_has_no_elbow(scores: list[float]) -> None:
    assert elbow(np.array(scores)) is None


def test_scores_are_left_as_they_were_and_float32_is_taken() -> None:
    scores = broken_line(50, 10, 0.1).astype(np.float32)
    before = scores.copy()
    assert elbow(scores) == 10
    assert np.array_equal(scores, before)
