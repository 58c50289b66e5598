"""The passes of a run over its matrix: planned once, then executed and counted.

One `PassList` is made before anything is computed. The engine announces each pass to it as the
pass begins, and the features as they are read. Progress bar, estimate, shards and ``run.json`` all
read this list; a pass that was not planned, or that is made another number of times, shows in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal[
    "sums", "gram", "pairs", "panels", "components", "score", "solve", "prune", "modules"
]
"""What is computed of each block, which decides how long a pass takes: sums of each sample or
feature, inner products of the samples, distances of some pairs of samples, distances of a panel of
samples to all, products with principal components, scores, products of a solver, correlations with
the features that pruning has kept, or of the best features."""

Sharing = Literal["divide", "one", "every", "merge"]
"""How shards make a pass: each takes a part of the features; one shard makes it for all; every
shard makes it by itself; or it is made by the merge, and nothing after it is shared."""


@dataclass(frozen=True)
class Pass:
    """Planned passes of one purpose.

    Attributes
    ----------
    purpose : str
        What they are for, for people.
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
    work : float
        How long a pass takes, as a part of one of its kind on all samples.
    """

    purpose: str
    kind: Kind
    times: int = 1
    exact: bool = True
    sharing: Sharing = "divide"
    fraction: float = 1.0
    of_matrix: bool = True
    rounds: int = 1
    work: float = 1.0


@dataclass
class Entry:
    """A line of the list: what was planned, and what was done."""

    plan: Pass  # as planned; `times` is 0 for a pass that nobody planned
    planned: bool = True
    executed: int = 0  # how often it was made
    features: int = 0  # features read, all passes of this line together

    def open(self, number: int) -> bool:
        """Whether another pass of this kind belongs to this line, in a round (from 1)."""
        plan = self.plan
        due = plan.times // plan.rounds * number if plan.rounds > 1 else plan.times
        return not plan.exact or self.executed < due

    @property
    def as_planned(self) -> bool:
        """Whether the passes made are those planned."""
        return self.planned and (not self.plan.exact or self.executed == self.plan.times)


class PassList:
    """The passes of a run over a matrix of `n_features` features, in their order."""

    def __init__(self, planned: Iterable[Pass], n_features: int) -> None:
        self.entries = [Entry(each) for each in planned]
        self.n_features = n_features
        self.looked = 0  # features read beside all passes
        self._at = 0
        self._closed = 0  # entries before this one take no more passes
        self._begun = False  # whether a pass was made, in this round
        self._round = 0  # of the passes that are made on one subset of the samples after the other
        self._restarted = 0  # entries before this one are of subsets that are done
        self._show: Callable[[str, int], None] | None = None
        self._advance: Callable[[int], None] | None = None

    def __iter__(self) -> Iterator[Pass]:
        return (entry.plan for entry in self.entries if entry.planned)

    def watch(self, show: Callable[[str, int], None], advance: Callable[[int], None]) -> None:
        """Drive a progress bar.

        `show` receives the purpose of a pass that begins, and `total` as it is known then;
        `advance` the features that were read.
        """
        self._show, self._advance = show, advance
        advance(sum(entry.features for entry in self.entries))

    def begin(self, kind: Kind) -> None:
        """Mark that a pass begins: the next planned one of its kind, else one not planned."""
        # never an earlier line: passes are made in the order of the list, some of them not at all
        for at in range(max(self._at, self._closed), len(self.entries)):
            if self.entries[at].plan.kind == kind and self.entries[at].open(self._round):
                break
        else:
            at = self._at
            if at < len(self.entries) and self.entries[at].executed:
                at += 1
            extra = Pass(f"{kind} (not planned)", kind, 0, exact=False)
            self.entries.insert(at, Entry(extra, planned=False))
        self._at, self._begun = at, True
        self.entries[at].executed += 1
        if self._show is not None:
            self._show(self.entries[at].plan.purpose, self.total)

    def read(self, features: int) -> None:
        """Count features that the current pass has read."""
        if self.entries:
            self.entries[self._at].features += features
        if self._advance is not None:
            self._advance(features)

    def look(self, features: int) -> None:
        """Count a few features that are read beside all passes, only to see what they hold."""
        self.looked += features

    def restored(self, kind: Kind) -> None:
        """Mark the passes of a kind as made: their result was kept by an earlier run."""
        self.begin(kind)
        entry = self.entries[self._at]
        entry.executed = max(entry.executed, entry.plan.times)
        self.read(max(0, self._features(entry.plan) - entry.features))

    def close(self) -> None:
        """Mark that the current purpose is done: the next pass of its kind is for another one."""
        if self._begun:
            self._closed = self._at + 1

    def restart_rounds(self, ending: str) -> None:
        """Mark that passes on the subsets begin again, with those whose purposes end so."""
        named = (i for i, entry in enumerate(self.entries) if entry.plan.purpose.endswith(ending))
        self._round, self._begun = 0, False
        self._at = self._closed = self._restarted = next(named, len(self.entries))

    def next_round(self) -> None:
        """Mark that the passes on the next subset of the samples begin."""
        self._round, self._begun = self._round + 1, False
        later = range(self._restarted, len(self.entries))
        rounds = (i for i in later if self.entries[i].plan.rounds > 1)
        self._at = self._closed = next(rounds, len(self.entries))

    def _features(self, plan: Pass) -> int:
        return round(plan.times * plan.fraction * self.n_features)

    @property
    def total(self) -> int:
        """Features that all passes read: those made as they were, the others as planned."""
        behind = min(self._at, len(self.entries))
        total = 0
        for at, entry in enumerate(self.entries):
            if at < behind and (entry.plan.rounds == 1 or self._round >= entry.plan.rounds):
                total += entry.features
                continue
            planned = self._features(entry.plan)
            if entry.executed > entry.plan.times:  # a solver takes longer than most
                planned = entry.features + self.n_features
            total += max(entry.features, planned)
        return total

    @property
    def executed(self) -> int:
        """Reads of the matrix that were made."""
        return sum(entry.executed for entry in self.entries if entry.plan.of_matrix)

    @property
    def features_read(self) -> int:
        """Features of the matrix that were read, each as often as it was."""
        of_passes = (entry.features for entry in self.entries if entry.plan.of_matrix)
        return self.looked + sum(of_passes)

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

    def surprises(self) -> list[str]:
        """Return what was made otherwise than planned, a line for each purpose."""
        return [
            f"{entry.plan.purpose}: planned {entry.plan.times} times, made {entry.executed} times"
            for entry in self.entries
            if not entry.as_planned
        ]

    def facts(self) -> list[dict[str, Any]]:
        """Return what ``run.json`` says of every purpose that passes were made for."""
        look: dict[str, Any] = {
            "purpose": "a look at a few features, for warnings and pictures",
            "kind": "look",
            "of_matrix": True,
            "planned": 0,
            "exact": False,
            "executed": 0,
            "features": self.looked,
        }
        return [look] * bool(self.looked) + [
            {
                "purpose": entry.plan.purpose,
                "kind": entry.plan.kind,
                "of_matrix": entry.plan.of_matrix,
                "planned": entry.plan.times if entry.planned else 0,
                "exact": entry.plan.exact and entry.planned,
                "executed": entry.executed,
                "features": entry.features,
            }
            for entry in self.entries
            if entry.executed or entry.plan.exact
        ]
