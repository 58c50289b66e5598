"""The work of ``--markers``: tests of each class against the rest, and their tables."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from sfs_cli.compute.matrix import DOUBLE, Arrays, Block, NonZeros
from sfs_cli.errors import listed
from sfs_cli.methods.markers import MarkerTests
from sfs_cli.methods.shared import SIGNIFICANT
from sfs_cli.parts.classes import compared_classes
from sfs_cli.parts.donors import doubt as about_donors
from sfs_cli.ranking.false_discovery import q_values
from sfs_cli.report.model import Section, Table
from sfs_cli.run.guards import tell
from sfs_cli.run.load import Run
from sfs_cli.run.marker_table import Markers
from sfs_cli.run.raw_values import doublings_of
from sfs_cli.run.scoring import RankResult
from sfs_cli.store.transforms import stated
from sfs_cli.tables import header

MARKERS = "tests of classes, for --markers"
TABLE = "markers.tsv"
BEST = 10
"""Markers of each class that ``run.json`` and the report list."""
HELD = 120
"""Bytes of a feature and class that are held: what is measured, before and after it is joined."""
_LEAST = 1e-9
"""What scanpy adds to means before it divides them."""


def tests_of(run: Run) -> MarkerTests:
    """Return the tests of the classes of a run; classes that cannot be tested are refused."""
    context = run.context
    codes = np.unique(context.required_labels.codes, return_inverse=True)[1]
    blocks = np.zeros(context.n) if context.blocks is None else context.blocks
    return MarkerTests(codes, str(run.config.markers), context.basis, blocks)


def find_markers(run: Run, found: RankResult, tests: MarkerTests) -> None:
    """Test all features that take part, and order them for each class.

    One that does not vary has the p-value 1 and counts among the tests, as in scanpy.
    """
    from scipy.sparse import csr_array

    # the values as they are: the tests take covariates and blocks out, and zeros stay zeros
    view = run.matrix.adjusted(None)

    def task(block: Block | NonZeros) -> Arrays:
        values = csr_array(block.values) if isinstance(block, Block) else block.as_rows()
        out = np.zeros(values.shape[0], int) if block.left_out is None else block.left_out
        return {"out": out} | tests.measure(values)

    # shards do not share this pass: it comes when the scores are there
    engine = replace(run.context.engine.at(MARKERS), source=view, parts=None)
    engine = replace(engine, nonzeros=view.keeps_zeros)
    measured = engine.columns(task, DOUBLE)
    taken = np.flatnonzero(measured["out"] == 0)
    measured = {name: each[taken] for name, each in measured.items()}
    statistic, mean, rest = (measured[name] for name in ("statistic", "mean", "mean_rest"))
    q = np.apply_along_axis(q_values, 0, measured["p_value"])
    said = stated(run.config.transform)
    steps = (*([said] if said else []), *run.matrix.steps)
    changes = fold_changes(mean, rest, steps, doublings_of(run))
    numbers = measured | {"q_value": q, "log2_fold_change": changes}
    by_name = {name: numbers[name] for name in header(TABLE)[3:]}
    if np.isnan(changes).all():
        why = (
            "neither --transform nor uns['log1p'] (of X or raw.X, but not of counts) says that the "
            "values are logarithms (counts: --transform median,log1p; logarithms to base 2: "
            "--transform is-log2)"
        )
        if "raw" in run.opened.facts.get("matrices", ()) and min(mean.min(), rest.min()) < 0:
            why = "values are below zero, as scaled ones; give --layer raw.X"
        run.log.note(f"log2 fold changes of markers are NaN: {why}")
    best_first = np.argsort(-statistic, axis=0, kind="stable")
    classes = np.array(compared_classes(run), object)
    features = np.array(list(run.matrix.ids.features), object)[taken]
    tested = "q_value" in found.ranking.extra  # whose test warns
    read = found.facts["input"]
    if read.get("donors") and not tested and (doubt := about_donors(read)):
        tell(run, doubt.guard, doubt.text)
    significant = ((q <= SIGNIFICANT) & (statistic > 0)).sum(axis=0)
    best = features[best_first[:BEST]]
    found.facts["markers"] = {"test": run.config.markers, "features": len(taken)} | {
        "classes": {
            name: {"significant": int(significant[k]), "best": best[:, k].tolist()}
            for k, name in enumerate(classes)
        }
    }
    found.markers = Markers(run.config, classes, features, taken, best_first, by_name)
    found.files[TABLE] = found.markers.write


def section(facts: dict[str, Any]) -> Section:
    """Return what the page says of markers: the best of each class."""
    rows = [
        (name, each["significant"], listed(each["best"], BEST))
        for name, each in facts["classes"].items()
    ]
    note = f"Each class against all other samples ({facts['test']}), {facts['features']:,} "
    note += f"features: how many are higher in it with a q-value of {SIGNIFICANT:g} or less."
    columns = ("class", "significant", "best")
    table = Table(heading="Markers of each class", columns=columns, rows=rows, note=note)
    return Section(tables=[table], files=[(TABLE, "the markers of each class")])


def fold_changes(
    mean: np.ndarray, rest: np.ndarray, steps: tuple[str, ...], unit: float | None
) -> np.ndarray:
    """Return log2 fold changes of means of classes and rests, both of one shape.

    `unit` is how many doublings a difference of 1 is. After ``log1p``, and of values that AnnData
    says it of, they are those of scanpy, ``log2((e^mean - 1 + 1e-9) / (e^rest - 1 + 1e-9))``, or
    with the base b of the file for e; after other logarithms, and of those that are stated
    (``is-log2``: of x or x + 1), differences of the means. NaN where nothing says what the values
    are.
    """
    if unit is None:
        return np.full(mean.shape, np.nan)
    if not steps or steps[-1] == "log1p":
        base = unit * np.log(2)  # its logarithm: 1 of natural ones
        return np.log2((np.expm1(base * mean) + _LEAST) / (np.expm1(base * rest) + _LEAST))
    return (mean - rest) * unit
