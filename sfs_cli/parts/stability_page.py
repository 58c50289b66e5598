"""What the report says of ``--stability``, from its facts."""

from __future__ import annotations

from typing import Any

from sfs_cli.errors import counted
from sfs_cli.options.samples import SUBSETS
from sfs_cli.report.model import Pairs, Table


def stability_pairs(facts: dict[str, Any]) -> Pairs:
    """Return how the subsets were drawn, and how stable the list is."""
    low, high = facts["interval"]
    least, most = facts["samples"]
    kind = SUBSETS[facts["how"]]
    size = counted(least, "sample") if least == most else f"{least:,} to {most:,} samples"
    pairs = [
        ("Summary", facts["summary"]),
        ("Subsets", f"{facts['subsets']:,} {kind} of {size}"),
    ]
    if facts["strata"]:
        pairs.append(("Stratified by", " and ".join(facts["strata"])))
    if facts["donors"] is not None:
        pairs.append(("Whole donors", f"{facts['donors']:,}"))
    measure = f"{facts['stability']:.3f} (95 % interval {low:.3f} to {high:.3f})"
    pairs += [
        ("List", f"the first {facts['top']:,} of {facts['features']:,} features"),
        ("Stability", f"{measure}: 1 for equal lists, 0 for random ones (Nogueira et al. 2018)"),
    ]
    return pairs


def stability_tables(facts: dict[str, Any]) -> list[Table]:
    """Return the table of the features that are selected often."""
    words = {"any": "any distribution", "unimodal": "unimodal", "r_concave": "r-concave"}
    bounded = bool(facts["stable"][0]["false_selections"])
    shown = words if bounded else {}
    rows: list[tuple[object, ...]] = [
        (
            f"{row['threshold']:.0%}",
            row["features"],
            row["of_first"],
            *(row["false_selections"][name] for name in shown),
        )
        for row in facts["stable"]
    ]
    note = (
        "Features that are among the first in at least that share of the subsets, and how many of "
        f"them are among the first {facts['top']:,} of the ranking."
    )
    if bounded:
        share = f"{facts['mean_length']:g} of {facts['features']:,}"
        note += (
            " The other columns are upper bounds on how many of these are expected to be no "
            f"likelier in a list than a random feature ({share}), from the fewest "
            "assumptions to the most (Shah and Samworth 2013)."
        )
    return [
        Table(
            heading="Features selected often",
            columns=("in at least", "features", "of the first", *shown.values()),
            rows=rows,
            note=note,
            digits=3,
        )
    ]
