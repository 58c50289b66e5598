"""The work of ``--scales``: sample graphs of several widths, in one pass over the features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sfs_cli.compute.matrix import Block, BlockLike
from sfs_cli.errors import InputError
from sfs_cli.graph.similarity import Similarity
from sfs_cli.graph.spatial import kernel, projection, spacing_of
from sfs_cli.methods.significance.tested import GraphTest, TestedScorer, tested_columns
from sfs_cli.methods.spectral import HsicScorer
from sfs_cli.options.fields import flag
from sfs_cli.options.testing import LINEAR, STANDS_FOR, scales_of
from sfs_cli.ranking.combine import cauchy, minus_log10
from sfs_cli.ranking.table import Picked
from sfs_cli.report.model import Section
from sfs_cli.run.columns import LIKE_BATCHES
from sfs_cli.run.guards import tell
from sfs_cli.run.load import Run
from sfs_cli.run.scoring import RankResult, Scored, problem_of, score_on

if TYPE_CHECKING:
    pass

FEWEST = 4
"""Different places at least."""
NO_COUNTS = (
    "the values are no counts: logarithms do not correct for a library size (depth) that follows "
    "the tissue, with which most null features pass the test; give the counts, such as --layer "
    "counts or --layer raw.X"
)
"""What is wrong with values of which ``--spatial`` makes no residuals."""
SEVERAL = ("fov", "sample", "sample_id", "image_id", "section", "region", "array")
"""Columns whose values may be slides, or else parts of one, as those that look like batches."""
OVERLAP = 0.25
"""Parts of one slide have fewer samples whose nearest one is of another part."""
SLIDES = (
    "samples of different {0} lie between each other: if the coordinates are of several slides, "
    "neighbors are wrong; give --batch obs:{0}"
)


class ScalesScorer(GraphTest):
    """The smallest combined p-value over several sample graphs; larger scores are better.

    The score is ``-log10`` of the Cauchy combination of the p-values on each graph
    (`sfs_cli.ranking.combine`). Further columns are this p-value, the q-value, the largest effect
    on any of them, the graph of the smallest p-value, which may be another one, and the p-value on
    each.

    Parameters
    ----------
    names : sequence of str, length k
        Of the scales.
    scorers : sequence of TestedScorer, length k
    """

    def __init__(self, names: Sequence[str], scorers: Sequence[TestedScorer]) -> None:
        super().__init__()
        self.names, self.scorers = names, scorers
        self.dtype = np.result_type(*(scorer.dtype for scorer in scorers))
        self.facts, self.warnings = scorers[0].facts, scorers[0].warnings

    def score_block(self, block: BlockLike) -> tuple[np.ndarray, ...]:
        """Return the scores on the first scale, statuses, and what all scales measure."""
        found = []
        for scorer in self.scorers:
            values = block.values.astype(scorer.dtype)  # a copy: scoring may overwrite it
            found.append(scorer.score_block(Block(values, block.left_out, block.zero)))
        (score, status, *measured), *others = found
        rest = [array for one, _, *more in others for array in (one, *more)]
        return score, status, *measured, *rest

    def settled(self, score: np.ndarray, *measured: np.ndarray) -> np.ndarray:
        """Return the scores of all features, shape (m,), by their p-values on each scale."""
        width = (len(measured) + 1) // len(self.scorers)
        whole = (score, *measured)
        parts = [whole[at : at + width] for at in range(0, len(whole), width)]
        columns = [scorer.columns(*part) for scorer, part in zip(self.scorers, parts)]
        self.p, self.effect = (
            np.array([c[name] for c in columns]) for name in ("p_value", "effect")
        )
        self.combined = cauchy(self.p)
        return minus_log10(self.combined)

    def columns(self, score: np.ndarray, *_measured: np.ndarray) -> dict[str, Any]:
        """Return the p-values, q-values, effects and best scales of all features, each (m,)."""
        known = ~np.isnan(score)
        p, found = np.nan_to_num(self.p, nan=np.inf), np.nan_to_num(self.effect, nan=-np.inf)
        best = np.where(known, p.argmin(axis=0), len(self.names))
        effect = np.where(known, found.max(axis=0), np.nan)
        tested, counted = tested_columns(self.combined, effect)
        self.facts |= counted
        each = {f"p_value_{name}": p for name, p in zip(self.names, self.p)}
        return {**tested, "scale": Picked([*self.names, ""], best.astype(np.int32)), **each}

    def effect_of(self, x: np.ndarray) -> float:
        """Return the largest effect of one feature around its mean, of unit norm, shape (n,)."""
        return max(scorer.effect_of(x) for scorer in self.scorers)


def mixed(places: np.ndarray, parts: np.ndarray) -> bool:
    """Tell whether parts (n,) of the samples lie on each other, by their coordinates (n, d)."""
    from scipy.spatial import KDTree

    nearest = np.ravel(KDTree(places).query(places, [2])[1])  # the first is a sample itself
    return bool((parts[nearest] != parts).mean() > OVERLAP)


def tell_spatial(run: Run) -> None:
    """Say what ``--spatial`` stands for, and warn of what it cannot know."""
    config, obs = run.config, run.matrix.ids.obs
    given = config.given(*STANDS_FOR)
    words = [f"{flag(name)} {getattr(config, name)}" for name in given]
    run.log.note(f"--spatial: {' '.join(words)} --scales {','.join(scales_of(config))}")
    if config.transform is None:
        tell(run, "depth", NO_COUNTS)
    assert run.coordinates is not None
    columns = {} if obs is None or config.batch else obs.to_pydict()
    for name, values in columns.items():
        possible = name in SEVERAL or LIKE_BATCHES.search(name)
        if possible and mixed(run.coordinates, np.array(values, str)):
            tell(run, "slides", SLIDES.format(name))


def rank_on_scales(run: Run) -> Scored:
    """Score every feature by its p-values on all scales."""
    assert run.coordinates is not None
    places, names = run.coordinates, scales_of(run.config)
    if len(np.unique(places, axis=0)) < FEWEST:
        raise InputError(
            f"the coordinates have fewer than {FEWEST} different places",
            where=str(run.config.coordinates_from),
            hint="check which coordinates these are",
            option="coordinates",
        )
    spacing, scorers = spacing_of(places), []
    for name in names:
        run.log.step(f"the sample graph of scale {name}")
        if name == LINEAR:
            similarity: Similarity = projection(places)
        else:
            similarity = kernel(places, float(name) * spacing, run.context.memory)
        problem = problem_of(run, similarity)
        try:
            scorer = HsicScorer(problem)
        except InputError as error:
            raise InputError(
                f"at the scale {name} all pairs of samples have the same similarity",
                where=str(run.config.coordinates_from),
                hint="give --scales from about 1 up to the extent of the samples, in units of "
                f"the distance between neighbors, {spacing:.4g}",
                option="scales",
            ) from error
        scorers.append(
            TestedScorer(scorer, problem, str(run.config.pvalues), run.config.permutations)
        )
    made = ScalesScorer(names, scorers)
    facts = {
        "similarity": "scales",
        "coordinates": str(run.config.coordinates_from),
        "dimensions": places.shape[1],
        "scales": list(names),
        "spacing": spacing,
    }
    return replace(score_on(run, None, lambda _: made), graph=facts)


def tell_scales(run: Run, found: RankResult) -> None:
    """Say on which scales the features were tested."""
    graph = found.facts["graph"]
    run.log.note(
        f"tested on the scales {', '.join(graph['scales'])} (in units of the distance between "
        f"neighbors, {graph['spacing']:.4g}); p-values are combined"
    )
    found.facts["scales"] = {"widths": graph["scales"], "unit": graph["spacing"]}


def section(facts: dict[str, Any]) -> Section:
    """Return what the page says of the scales and their unit."""
    return Section(
        heading="Scales",
        pairs=[
            ("Widths of the kernels", ", ".join(facts["widths"])),
            ("In units of the distance to the nearest sample", f"{facts['unit']:.6g}"),
        ],
        how="The score is -log10 of the combined p-value: the larger, the clearer the feature "
        "follows the coordinates on one of the scales.",
    )
