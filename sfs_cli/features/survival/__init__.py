"""``--event``: times of which some are censored, as those of survival."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sfs_cli.catalog import METHODS
from sfs_cli.features.feature import Feature
from sfs_cli.options.fields import RANKING, Config, Refusal, option
from sfs_cli.options.paths import READS, split_part

if TYPE_CHECKING:
    from sfs_cli.options import RankConfig


@dataclass(frozen=True, kw_only=True, init=False, eq=False, repr=False)
class SurvivalFields(Config):
    """The option of events."""

    event: str | None = option(
        "Whether each sample had an event (1, true, yes, dead) at the time that --labels gives, or "
        "was censored then (0, false, no, alive): for --method cox. Of others that take numeric "
        "labels the outcome is the martingale residual of the times.",
        section="Input",
        verbs=(*RANKING, "compare"),
        metavar="FILE:COLUMN, obs:KEY or COLUMN",
        column=True,
        beside_labels=True,
        needs=("labels",),
        excludes={
            "label_type=ordered": "times are numbers",
            "sample_weights": "all samples count alike",
        },
        path=READS,
    )


def beside_labels(event: str, labels: str) -> str:
    """Return the column of the events as ``FILE:COLUMN`` or ``obs:KEY``.

    A word without a colon is a column of the table that the labels are in.
    """
    if ":" in event or event.startswith("<"):  # an object of Python has such a name
        return event
    return f"{'obs' if labels.startswith('obs:') else split_part(labels)[0]}:{event}"


def rules(config: RankConfig) -> Iterator[Refusal]:
    """Yield what is wrong with the option."""
    if config.event is None and "event" in METHODS[config.scorer].needs:
        what = f"--method {config.scorer} needs --event"
        hint = "give times, and the column that says whether there was an event then: --labels "
        hint += "FILE:COLUMN --event COLUMN"
        yield what, hint, ("event", "method")


FEATURE = Feature(
    "survival",
    lambda config: config.event is not None,
    SurvivalFields,
    rules,
    orders=True,
    one_by_one=True,
    against={
        "artificial": "has no times of shuffled features",
        "cv": "has no classes to tell apart",
    },
)
