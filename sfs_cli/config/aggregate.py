"""The configuration of ``sfs aggregate``."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any

from sfs_cli.config.choices import FORMATS, MAX_DIGITS
from sfs_cli.config.flags import flag
from sfs_cli.config.values import at_least, at_most, one_of
from sfs_cli.errors import UsageError
from sfs_cli.ranking.hows import HOWS, check_list_weights

ORDERS = ("largest-first", "smallest-first")
_NO_EFFECT_ON_RESULT = ("rankings", "out", "force")


@dataclass(frozen=True)
class AggregateConfig:
    """What `sfs aggregate` is asked to do; None stands for a default that depends on the tables.

    The attributes are the options of the command line with underscores for dashes.
    """

    rankings: tuple[str, ...]
    how: str = "borda"
    list_weights: str | None = None
    feature_column: str | None = None
    rank_column: str | None = None
    score_column: str | None = None
    order: str | None = None
    top: int | None = None
    out: str | None = None
    format: str = "tsv"
    digits: int = 10
    force: bool = False

    def __post_init__(self) -> None:
        one_of("--how", self.how, tuple(HOWS))
        one_of("--order", self.order, ORDERS)
        one_of("--format", self.format, FORMATS)
        at_least("--top", self.top, 1)
        at_least("--digits", self.digits, 1)
        at_most("--digits", self.digits, MAX_DIGITS)
        if len(self.rankings) < 2:
            raise UsageError(
                "there is nothing to aggregate in one ranking", hint="give two tables or more"
            )
        if self.rank_column is not None and self.score_column is not None:
            raise UsageError(
                "--rank-column and --score-column both say what ranks the features",
                hint="give one of them",
            )
        if self.rank_column is not None and self.order is not None:
            raise UsageError(
                "--order has no effect on --rank-column: rank 1 is the best",
                hint="leave it out, or take --score-column",
            )
        check_list_weights(self.how, self.weights, "--list-weights")

    @property
    def weights(self) -> list[float]:
        """The weight of each list."""
        if self.list_weights is None:
            return [1.0] * len(self.rankings)
        try:
            weights = [float(word) for word in self.list_weights.split(",")]
        except ValueError:
            raise UsageError(
                f"--list-weights {self.list_weights!r} is not a list of numbers",
                hint="give one for each table, such as 2,1,1",
            ) from None
        if len(weights) != len(self.rankings):
            raise UsageError(
                f"--list-weights has {len(weights)} numbers for {len(self.rankings)} tables",
                hint="give one for each, in the order of the tables",
            )
        return weights

    def result_options(self) -> dict[str, Any]:
        """Return the options that the result depends on."""
        return {k: v for k, v in asdict(self).items() if k not in _NO_EFFECT_ON_RESULT}

    def command(self) -> list[str]:
        """Return the command line that asks for the same result."""
        words = ["sfs", "aggregate", *self.rankings]
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name not in _NO_EFFECT_ON_RESULT and value != field.default:
                words += [flag(field.name), str(value)]
        return words
