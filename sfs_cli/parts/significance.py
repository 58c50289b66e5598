"""The work of p-values: tests of the features, and checks of whether these tests hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sfs_cli.errors import counted
from sfs_cli.methods.shared import SIGNIFICANT
from sfs_cli.options.parts import UNTESTED
from sfs_cli.parts.depth import depth_of
from sfs_cli.parts.double_dipping import made_of_features
from sfs_cli.parts.doubts import doubts
from sfs_cli.parts.theory import warn_of_variances
from sfs_cli.report.model import Pairs, Section
from sfs_cli.run.guards import tell
from sfs_cli.run.load import Run
from sfs_cli.run.needs import needed
from sfs_cli.run.scoring import RankResult
from sfs_cli.run.top import from_all_over, stored_of
from sfs_cli.store.matrix import LOOK_VALUES


def tell_significant(run: Run, found: RankResult) -> None:
    """Say how many features are significant, and warn of p-values that are not valid.

    Where a method that tests has no p-values here, `none` says why.
    """
    config, solution, facts = run.config, found.scored.solution, found.facts
    if "p_value" not in found.ranking.extra:
        if why := _untested(run):
            run.log.note(why)
            facts["significance"] = {"none": why}
        return
    if config.pvalues is not None and "graph" in needed(config):
        own = config.split is None and made_of_features(config, run.matrix.n_samples)
        facts["graph"]["of_tested_features"] = bool(own)
        if own is None:
            of = config.similarity_file or config.coordinates_from or "the sources"
            what = f"the sample graph of {of}"
            what = f"if {what} was built from the tested features, the p-values are too small"
            run.log.note(what)
    of_scores = facts["significance"] if config.split else depth_of(run, solution)
    q = np.asarray(found.ranking.extra["q_value"])
    counts: dict[str, Any] = {
        "level": SIGNIFICANT,
        "features": int(np.count_nonzero(q <= SIGNIFICANT)),
    }
    if config.pvalues is None and "pvalues" in facts["method"]:
        counts["theory"] = "does not hold for these values"
    facts["significance"] = counts | of_scores
    what = counted(counts["features"], "feature")
    run.log.note(f"q-value of {SIGNIFICANT:g} or less: {what} of {np.count_nonzero(q == q):,}")
    for doubt in doubts(facts):
        tell(run, doubt.guard, doubt.text)
    if share := missing_share(run, solution.scored):
        run.log.note(
            f"{share:.2g} of the values are missing and were filled by the mean of their "
            "feature; the test treats them as measured. p-values of features with many "
            "missing values may be too large, or too small where one class lacks more values "
            "than another"
        )
    warn_of_variances(run, facts["method"], solution)


def sentences(record: Mapping[str, Any]) -> list[str]:
    """Say how many features have a small q-value, and whether that can be trusted."""
    part = record["significance"]
    if "features" not in part:
        return []
    count, level = part["features"], f"{part['level']:g}"
    if not count:
        return [f"No feature has a q-value of {level} or less: none is significant."]
    has = "has" if count == 1 else "have"
    words = f"{counted(count, 'feature')} {has} a q-value of {level} or less"
    if doubt := next(doubts(record), None):
        return [f"{words}, but {doubt.short}: null features would have some, too."]
    return [
        f"{words}. The expected share of null features among these is at most "
        f"{part['level']:.0%}, if the samples are independent and the test suits the values."
    ]


def section(record: Mapping[str, Any]) -> Section:
    """Return what the page says of the tests of a run, by its record."""
    pairs, texts = _pairs(record["significance"]), sentences(record)
    return Section(heading="Significance", pairs=pairs, sentences=texts)


def _pairs(facts: Mapping[str, Any]) -> Pairs:
    if "none" in facts:
        return [("No p-values", facts["none"])]
    pairs = [(f"q-value of {facts['level']:g} or less", counted(facts["features"], "feature"))]
    if "theory" in facts:
        pairs.append(("p-values", f"by permutation: theory {facts['theory']}"))
    if "split" in facts:
        of = {"features": "the other half of the features", "counts": "a part of every count"}
        pairs.append(("Tested on a graph built from", of[facts["split"]["how"]]))
    if "depth" in facts:
        depth = facts["depth"]
        text = f"{'confounds' if depth['leads'] else 'does not confound'} the test: "
        text += f"it moves the scores of features by {depth['shift']:+.2f} standard deviations "
        pairs.append(("Library size", f"{text}of scores by chance"))
    return pairs


def missing_share(run: Run, scored: np.ndarray) -> float:
    """Return the share of values that are filled, of the used samples and scored features (m,).

    In large matrices it is that of evenly spread features; if these lack none, all are read.
    """
    whole = run.matrix.matrix
    if run.config.missing != "mean" or not whole.missing.values:
        return 0.0
    most = max(1, LOOK_VALUES // run.matrix.n_samples)
    share = float(np.isnan(stored_of(run, from_all_over(scored, most))).mean())
    if share:
        return share
    parts = np.array_split(scored, -(-len(scored) // most))
    lacking = [np.isnan(stored_of(run, part)).mean(axis=1) for part in parts]
    return float(np.concatenate(lacking).mean())


def _untested(run: Run) -> str | None:
    """Return why a method that has p-values of its own has none here."""
    method, weighted = run.method, run.config.sample_weights is not None
    if not method.testing or run.cohort.parts or not weighted:
        return None
    return f"--method {method.name} has no p-values with --sample-weights, because {UNTESTED}"
