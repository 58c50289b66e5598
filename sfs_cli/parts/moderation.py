"""The work of ``--moderate``: the F-test and the t-test with moderated variances."""

from __future__ import annotations

from typing import Any

from sfs_cli.report.model import Section
from sfs_cli.run.load import Run
from sfs_cli.run.scoring import RankResult


def tell_prior(run: Run, found: RankResult) -> None:
    """Say that variances are moderated, and by how much."""
    facts, how = found.facts["method"], {"how": run.config.moderate}
    if run.cohort.parts:  # each batch has a prior, which is among its facts
        found.facts["moderation"] = how
        return
    prior, within = _prior(facts["moderated"]), facts["degrees_of_freedom"][1]
    run.log.note(
        f"variances are moderated: the prior has {prior} degrees of freedom, beside {within} "
        "of each feature (--moderate no: each feature by its own variance)"
    )
    found.facts["moderation"] = how | facts.pop("moderated")


def section(facts: dict[str, Any]) -> Section:
    """Return what the page says of the prior; within batches each has its own."""
    pairs = [("Variances", f"moderated ({facts['how']})")]
    if "prior_variance" in facts:
        pairs.append(("Prior degrees of freedom", _prior(facts)))
        pairs.append(("Prior variance", f"{facts['prior_variance']:.4g}"))
    reference = "Smyth, Stat. Appl. Genet. Mol. Biol. 3, 2004"
    return Section(heading="Moderation", pairs=pairs, reference=reference)


def _prior(facts: dict[str, Any]) -> str:
    """Return the prior degrees of freedom: infinite where variances differ by chance alone."""
    df = facts["prior_degrees_of_freedom"]
    return "infinite" if df is None else f"{df:.3g}"
