"""``--event`` and ``--censored``: times of which some are censored, as those of survival."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from sfs_cli.catalog import METHODS
from sfs_cli.features.feature import Feature
from sfs_cli.options.fields import RANKING, Config, Refusal, option, option_fields
from sfs_cli.options.paths import READS

if TYPE_CHECKING:
    from sfs_cli.options import RankConfig


_NUMBERS = {"label_type=ordered": "times are numbers", "sample_weights": "all samples count alike"}
_column = partial(
    option,
    section="Tests",
    verbs=(*RANKING, "compare"),
    metavar="FILE:COLUMN, obs:KEY or COLUMN",
    column=True,
    needs=("labels",),
    path=READS,
)


@option_fields
class SurvivalFields(Config):
    """The options of events."""

    event: str | None = _column(
        "Whether each sample had an event (1, true, yes, dead) at the time that --labels gives, or "
        "was censored then (0, false, no, alive): for --method cox. Of others that take numeric "
        "labels the outcome is the martingale residual of the times.",
        excludes=_NUMBERS,
    )
    censored: str | None = _column(
        "The opposite of --event: whether each sample was censored (1, true, yes) at the time that "
        "--labels gives, or had the event then (0, false, no).",
        excludes={"event": "both say who had the event"} | _NUMBERS,
    )

    @property
    def events(self) -> str | None:
        """The column that says which samples had the event, or its opposite."""
        return self.event if self.event is not None else self.censored


def rules(config: RankConfig) -> Iterator[Refusal]:
    """Yield what is wrong with the option."""
    if config.events is None and "event" in METHODS[config.scorer].needs:
        what = f"--method {config.scorer} needs --event"
        hint = "give times, and the column that says whether there was an event then: --labels "
        hint += "FILE:COLUMN --event COLUMN (or --censored COLUMN)"
        yield what, hint, ("event", "method")


FEATURE = Feature(
    "survival",
    lambda config: config.events is not None,
    SurvivalFields,
    rules,
    orders=True,
    one_by_one=True,
    not_in_folds="has no classes to tell apart",
    # those who ask for another response or a sample graph ask for another method
    method=lambda config: "cox" if config.events and config.response_to_labels else "",
)
