"""The configuration of ``sfs aggregate``, and how tables of rankings are read."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from sfs_cli.options.fields import Config, numbers_of, option, option_fields
from sfs_cli.options.paths import READS
from sfs_cli.options.rank import OutputFields
from sfs_cli.ranking.aggregations import AGGREGATIONS, check_list_weights

_how = partial(option, section="Aggregation", verbs=("aggregate",))
_input = partial(option, section="Input", verbs=("aggregate",))
_table = partial(
    option,
    section="Input",
    verbs=("aggregate", "evaluate", "compare", "select"),
    needs=("list_",),
)


@option_fields
class TableFields(Config):
    """The options of every command that reads tables of ranks or scores."""

    feature_column: str | None = _table(
        "Column with the features.", metavar="NAME", default_text="recognized by its name"
    )
    order: str | None = _table(
        "Which values of the column are the best.",
        words=("largest-first", "smallest-first", "absolute"),
        default_text="largest-first; ranks and p-values: smallest-first; signed statistics, such "
        "as fold changes, t and z: absolute",
    )


@dataclass(frozen=True, eq=False, repr=False)
class AggregateConfig(TableFields, OutputFields):
    """The options of `sfs aggregate`; None stands for a default that depends on the tables."""

    VERB: ClassVar[str] = "aggregate"

    rankings: tuple[str, ...] = _input(
        "The rankings, each a folder, a file, or a file and the column that ranks.",
        default=...,
        metavar="RANKING[:COLUMN]...",
        argument=True,
        path=READS,
        in_result=False,
    )
    how: str = _how(
        "Mean rank (borda), median or geometric mean of the ranks, or robust rank aggregation "
        "with p-values (rra).",
        default="borda",
        words=tuple(AGGREGATIONS),
    )
    list_weights: str | None = _how(
        "Weight of each list.", metavar="W,W,...", default_text="1 each"
    )
    top: int | None = _how("Use only the best K features of each list.", metavar="K", least=1)

    def __post_init__(self) -> None:
        self.check_values()
        if len(self.rankings) < 2:
            what = "nothing to aggregate: this is only one ranking"
            raise self.error(what, "give two or more tables", "rankings")
        check_list_weights(self.how, self.weights, "--list-weights")

    @property
    def weights(self) -> list[float]:
        """The weight of each list."""
        if self.list_weights is None:
            return [1.0] * len(self.rankings)
        weights = numbers_of(self.list_weights)
        if not weights:
            what = f"--list-weights {self.list_weights!r} is not a list of numbers"
            hint = "give one number for each table, such as 2,1,1"
            raise self.error(what, hint, "list_weights")
        if len(weights) != len(self.rankings):
            what = f"--list-weights has {len(weights)} numbers for {len(self.rankings)} tables"
            hint = "give one number for each table, in their order"
            raise self.error(what, hint, "list_weights")
        return weights
