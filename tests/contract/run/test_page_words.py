"""What the page says of facts: words a reader need not look up."""

from __future__ import annotations

import pytest

from sfs_cli.parts import significance
from sfs_cli.parts.depth import MEASURED
from sfs_cli.parts.knowledge import changes, without_effect


@pytest.mark.parametrize(("leads", "said"), [(True, "confounds"), (False, "does not confound")])
def test_the_library_size_is_said_to_confound_a_test_or_not(leads: bool, said: str) -> None:
    depth = {"leads": leads, "shift": -0.016, "tested": "labels"} | dict.fromkeys(MEASURED, -0.8)
    found = {"level": 0.05, "features": 3, "depth": depth}
    record = {"input": {"transform": None}, "method": {}, "significance": found}
    pairs = significance.section(record).pairs
    words = f"{said} the test: it moves the scores of features by -0.02 standard deviations of"
    assert pairs[-1] == ("Library size", f"{words} scores by chance")


@pytest.mark.parametrize(
    ("overlap", "alone", "said"),
    [
        (0.94, 0.9, ""),
        (None, 0.9, ""),
        (0.95, None, ""),
        (0.95, 0.61, "The source s repeats the others: leave it out."),  # (0.61 - 0.2) / 0.8 > 0.5
        (1.0, 0.59, "The source s adds nothing: without it the top stays"),
    ],
)
def test_a_source_adds_nothing_where_the_top_stays_without_it(
    overlap: float | None, alone: float | None, said: str
) -> None:
    row = {"without": "s", "first": 100, "overlap": overlap, "by_chance": 0.2}
    found = without_effect({"leave_one_out": [row | {"overlap_alone": alone}]})
    assert bool(found) == bool(said)
    assert all(said in text for text in found)
    assert not without_effect({"leave_one_out": [row]})  # a record of an earlier version


@pytest.mark.parametrize(
    ("overlaps", "said"),
    [
        ((0.83, 0.89, 0.85), "The top 100 changes by 17% without a, 15% without c, 11% without b."),
        ((0.95, 0.98), "No source dominates. The top 100 changes by 5% without a, 2% without b."),
        ((0.6, 0.92), "The source a dominates. The top 100 changes by 40% without a, 8% without"),
    ],
)
def test_the_page_says_how_much_each_source_changes(overlaps: tuple[float, ...], said: str) -> None:
    rows = [{"without": n, "first": 100, "overlap": o} for n, o in zip("abc", overlaps)]
    found = changes({"leave_one_out": rows})
    assert found.startswith(said)
    assert bool(found) == bool(said)
