"""The work of ``--scales``: sample graphs of several widths, in one pass over the features."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import Any

import numpy as np

from sfs_cli.errors import InputError
from sfs_cli.graph.similarity import Similarity
from sfs_cli.graph.spatial import kernel, projection, spacing_of
from sfs_cli.methods.significance.scales import ScalesScorer
from sfs_cli.methods.significance.tested import TestedScorer
from sfs_cli.methods.spectral import HsicScorer
from sfs_cli.options.fields import flag
from sfs_cli.options.testing import LINEAR, STANDS_FOR, scales_of
from sfs_cli.report.model import Section
from sfs_cli.run.columns import LIKE_BATCHES
from sfs_cli.run.guards import tell
from sfs_cli.run.load import Run
from sfs_cli.run.scoring import RankResult, Scored, problem_of, score_on

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
    "neighbors are wrong; give --batch {1}"
)


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
            tell(run, "slides", SLIDES.format(name, shlex.quote(f"obs:{name}")))


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
