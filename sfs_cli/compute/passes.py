"""The passes of a run over its matrix: what they are for, how many are planned, and those made.

A `Pass` says what passes of one purpose take. The code that makes them names it
(`sfs_cli.compute.engine.Engine.at`), and the plan of a run lists the same objects, in a `PassList`.
Progress bar, ``sfs plan``, shards, the memory plan and ``run.json`` all read this list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

Kind = Literal[
    "sums", "gram", "pairs", "panels", "components", "score", "solve", "prune", "modules"
]
"""What is computed of each block: sums of each sample or
feature, inner products of the samples, distances of some pairs of samples, distances of a panel of
samples to all, products with principal components, scores, products of a solver, correlations with
the features that pruning has kept, or of the best features."""

Sharing = Literal["divide", "one", "every", "merge"]
"""How shards make a pass: each takes a part of the features; one shard makes it for all; every
shard makes it by itself; or it is made by the merge, and nothing after it is shared."""


@dataclass(frozen=True)
class Pass:
    """Passes of one purpose.

    Attributes
    ----------
    purpose : str
        What they are for, for people; it also identifies them in a run.
    kind : Kind
        What is computed of each block.
    times : int
        How often the features are read; a typical number where it is not exact.
    exact : bool
        Whether `times` is certain before the run. A solver decides as it goes, and some passes are
        made only where the values ask for them.
    sharing : Sharing
        How shards make it.
    fraction : float
        What each reads, as a fraction of the features: below 1 for some of them (an upper bound
        where a source chooses them), above 1 where tasks read the same features.
    of_matrix : bool
        Whether the features are those of the matrix; False for a small matrix made from it, such
        as its principal components.
    rounds : int
        How many subsets of the samples they are made on, one after the other; `times` is that of
        all of them.
    columns : float
        How long a pass takes beside reading: as long as a product of the matrix with so many
        columns, about.
    work : float
        The part of this that it takes on some of the samples.
    held, of_worker : int
        Bytes in memory, beside blocks and sample graphs: until what is made of the passes is done,
        and those of each worker.
    """

    purpose: str
    kind: Kind
    times: int = 1
    exact: bool = True
    sharing: Sharing = "divide"
    fraction: float = 1.0
    of_matrix: bool = True
    rounds: int = 1
    columns: float = 1.0
    work: float = 1.0
    held: int = 0
    of_worker: int = 0

    def of(self, whose: str) -> Pass:
        """Return the same passes for a part of the run, which ends their purpose."""
        return replace(self, purpose=self.purpose + whose) if whose else self

    def and_again(self, other: Pass) -> Pass:
        """Return these passes and others of the same purpose."""
        times = self.times + other.times
        read = self.times * self.fraction + other.times * other.fraction
        exact = self.exact and other.exact
        return replace(self, times=times, exact=exact, fraction=read / times if times else 1.0)


@dataclass
class Row:
    """A line of the list: what was planned, and what was done."""

    plan: Pass  # `times` is 0 for passes that nobody planned
    executed: int = 0  # how often it was made
    features: int = 0  # features read, all passes of this purpose together

    def facts(self) -> dict[str, Any]:
        """Return what ``run.json`` says of it."""
        return {
            "purpose": self.plan.purpose,
            "kind": self.plan.kind,
            "of_matrix": self.plan.of_matrix,
            "planned": self.plan.times,
            "exact": self.plan.exact,
            "executed": self.executed,
            "features": self.features,
        }


class PassList:
    """The passes of a run over a matrix of `n_features` features, in their order."""

    def __init__(self, planned: Iterable[Pass], n_features: int) -> None:
        self.n_features = n_features
        self.looked = 0  # features read beside all passes
        self.rows: dict[str, Row] = {}
        for each in planned:
            known = self.rows.get(each.purpose)
            self.rows[each.purpose] = Row(each if known is None else known.plan.and_again(each))
        self._now = ""  # purpose of the pass that began last
        self._show: Callable[[str, int], None] | None = None
        self._advance: Callable[[int], None] | None = None

    def __iter__(self) -> Iterator[Pass]:
        return (row.plan for row in self.rows.values())

    def watch(self, show: Callable[[str, int], None], advance: Callable[[int], None]) -> None:
        """Drive a progress bar.

        `show` receives the purpose of a pass that begins, and `total` as it is known then;
        `advance` the features that were read.
        """
        self._show, self._advance = show, advance
        advance(sum(row.features for row in self.rows.values()))

    def _row(self, made: Pass) -> Row:
        return self.rows.setdefault(made.purpose, Row(replace(made, times=0, exact=False)))

    def begin(self, made: Pass) -> None:
        """Count a pass that begins."""
        self._row(made).executed += 1
        self._now = made.purpose
        if self._show is not None:
            self._show(made.purpose, self.total)

    def read(self, made: Pass, features: int) -> None:
        """Count features that a pass has read."""
        self._row(made).features += features
        if self._advance is not None:
            self._advance(features)

    def restored(self, made: Pass) -> None:
        """Count all passes of a purpose as made: their result was kept by an earlier run."""
        self.begin(made)
        row = self._row(made)
        row.executed = max(row.executed, row.plan.times)
        self.read(made, max(0, self._features(row.plan) - row.features))

    def look(self, features: int) -> None:
        """Count a few features that are read beside all passes, only to see what they hold."""
        self.looked += features

    def _features(self, plan: Pass) -> int:
        return round(plan.times * plan.fraction * self.n_features)

    @property
    def total(self) -> int:
        """Features that all passes read: those made as they were, the others as planned."""
        total, over = 0, self._now in self.rows
        for purpose, row in self.rows.items():
            over = over and purpose != self._now
            planned = self._features(row.plan)
            if row.executed > row.plan.times:  # a solver takes longer than most
                planned = row.features + self.n_features
            # passes on one subset of the samples after the other come again
            done = over and row.plan.rounds == 1
            total += row.features if done else max(row.features, planned)
        return total

    @property
    def executed(self) -> int:
        """Reads of the matrix that were made."""
        return sum(row.executed for row in self.rows.values() if row.plan.of_matrix)

    @property
    def shared(self) -> int | None:
        """Steps of `sfs shard run` before the scores are gathered; None where that is uncertain.

        Passes that one shard makes for all are one step, however often they read the matrix.
        """
        steps = 0
        for each in self:
            if each.sharing == "merge":
                break
            if not each.exact and each.times:
                return None
            steps += {"divide": each.times, "one": min(1, each.times), "every": 0}[each.sharing]
        return steps

    def facts(self) -> list[dict[str, Any]]:
        """Return what ``run.json`` says of every purpose that passes were made for."""
        look = Pass("a look at a few features, for warnings and pictures", "sums", 0, exact=False)
        found = [Row(look, 0, self.looked).facts() | {"kind": "look"}] if self.looked else []
        made = (row for row in self.rows.values() if row.executed or row.plan.exact)
        return found + [row.facts() for row in made]
