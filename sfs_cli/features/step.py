"""What an optional part of a ranking does: its passes, its memory, its work, its part of the page.

Each method does nothing by default; a room overrides those that it needs.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfs_cli.compute.passes import Pass

if TYPE_CHECKING:
    from sfs_cli.methods.base import Solution
    from sfs_cli.options import RankConfig
    from sfs_cli.provenance import RunFacts
    from sfs_cli.ranking.table import Ranking
    from sfs_cli.report.model import Table
    from sfs_cli.run.load import Run
    from sfs_cli.run.passes import Shape
    from sfs_cli.run.rank import RankResult
    from sfs_cli.run.scoring import Scored

Pairs = list[tuple[str, str]]


def as_pairs(facts: dict[str, Any]) -> Pairs:
    """Return facts as words: numbers are rounded or grouped, None is left out."""
    pairs = []
    for name, value in facts.items():
        if isinstance(value, float):
            value = f"{value:.6g}"
        elif isinstance(value, int) and not isinstance(value, bool):
            value = f"{value:,}"
        if value is not None:
            pairs.append((name.replace("_", " ").capitalize(), str(value)))
    return pairs


class Step:
    """The work of an optional part for one configuration."""

    feature_bytes = 0
    """Bytes of each feature that it holds while the features have scores."""
    downloads: tuple[tuple[str, str], ...] = ()
    """The files that it writes beside the page: name, description."""
    heading = ""
    """Of its section of the page, if not its name."""

    def __init__(self, config: RankConfig) -> None:
        self.config = config

    def passes(self, shape: Shape) -> list[Pass]:
        """Return the passes over the matrix that it takes, once the features have scores."""
        return []

    def scoring_passes(self, shape: Shape) -> list[Pass] | None:
        """Return the passes of `score`; None where it does not score."""
        return None

    def graphs(self, shape: Shape) -> tuple[int, int] | None:
        """Return the samples of the largest sample graph that it makes, and its other bytes.

        None where it makes none.
        """
        return None

    def check(self, run: Run) -> None:
        """Refuse what it cannot do before anything is ranked."""

    def score(self, run: Run) -> Scored | None:
        """Score the features in its own way; None where it does not."""
        return None

    def solved(self, run: Run, solution: Solution) -> Solution:
        """Return what was found of the features as it is ranked; also on subsets of the samples."""
        return solution

    def order(self, run: Run, ranking: Ranking) -> tuple[Ranking, dict[str, Any]]:
        """Return the ranking in another order, and its facts; subsets are ordered so, too."""
        return ranking, {}

    def find(self, run: Run, found: RankResult) -> None:
        """Do the work: change what was found, and add its facts."""

    def writers(self) -> dict[str, Callable[[Path], None]]:
        """Return what writes each of its files, by name, once the work is done."""
        return {}

    # ---- its part of the page, from its facts in run.json ----------------------------------------

    @staticmethod
    def input(found: Any) -> Pairs:
        """Return names and values for the section of the input."""
        return []

    @staticmethod
    def section(facts: dict[str, Any]) -> Pairs:
        """Return names and values of its section; none where there is no section."""
        return []

    @staticmethod
    def sentences(facts: RunFacts) -> list[str]:
        """Return what the page says of it first, from all facts of the run."""
        return []

    @staticmethod
    def tables(facts: Any) -> list[Table]:
        """Return its tables."""
        return []
