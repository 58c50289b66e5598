"""The work of ``--event``: martingale residuals of the times, and the test of proportional hazards.

The residuals are those of T. M. Therneau, P. M. Grambsch and T. R. Fleming, "Martingale-based
residuals for survival models", Biometrika 77, 1990.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sfs_cli.errors import counted
from sfs_cli.report.model import Section
from sfs_cli.run.load import Run
from sfs_cli.run.scoring import RankResult


def tell_events(run: Run, found: RankResult) -> None:
    """Say what the outcome was."""
    labels = run.context.labels
    if labels is None or labels.survival is None:
        return
    events, tested = int(labels.survival.event.sum()), "event" in run.method.needs
    strata = 1 if run.context.blocks is None else len(np.unique(run.context.blocks))
    found.facts["survival"] = {
        "from": run.config.events,
        "events": events,
        "strata": strata,
        "outcome": "times" if tested else "martingale residuals",
    }
    of = f"{counted(events, 'event')} in {counted(len(labels.codes), 'sample')}"
    if strata > 1:
        of += f", {strata:,} blocks with a baseline hazard each"
    run.log.note(
        f"cox: {of}"
        if tested
        else f"the outcome is the martingale residual of the times (1 for an event, less the "
        f"number of events that was expected until then): {of}"
    )


def section(facts: dict[str, Any]) -> Section:
    """Return what the page says of the events: where they are from, and how many."""
    pairs = [("Events", f"{facts['events']:,}, {facts['from']}"), ("Outcome", facts["outcome"])]
    if facts["strata"] > 1:
        pairs.append(("Blocks with a baseline hazard each", f"{facts['strata']:,}"))
    return Section(heading="Survival", pairs=pairs)
