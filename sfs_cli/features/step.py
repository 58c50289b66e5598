"""What an optional part of a ranking does: its memory, its work, its part of the page.

Each method does nothing by default; a room overrides those that it needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from sfs_cli.catalog import Method
    from sfs_cli.compute.matrix import Ids
    from sfs_cli.logs import Messages
    from sfs_cli.methods.base import Problem, Scorer, Solution
    from sfs_cli.options import RankConfig
    from sfs_cli.provenance import RunFacts
    from sfs_cli.ranking.table import Ranking
    from sfs_cli.report.model import Table
    from sfs_cli.run.cohort import Cohort
    from sfs_cli.run.load import Run
    from sfs_cli.run.needs import Shape
    from sfs_cli.run.rank import RankResult
    from sfs_cli.run.scoring import Scored

Pairs = list[tuple[str, str]]
Tsv = tuple[Sequence[str], Iterable[Sequence[Any]]]


def as_pairs(facts: dict[str, Any]) -> Pairs:
    """Return facts as words: numbers are rounded or grouped, None is left out."""
    pairs = []
    for name, value in facts.items():
        if isinstance(value, float):
            value = f"{value:.6g}"
        elif isinstance(value, bool):
            value = "yes" if value else "no"
        elif isinstance(value, int):
            value = f"{value:,}"
        elif isinstance(value, list):
            value = ", ".join(map(str, value))
        if value is not None:
            pairs.append((name.replace("_", " ").capitalize(), str(value)))
    return pairs


class Doubt(NamedTuple):
    """A reason not to trust p-values."""

    guard: str  # its name in `sfs_cli.options.guards`
    text: str  # of the warning: what is wrong, and what to do
    short: str  # what is wrong, after a "but"
    remedy: str = ""  # what to do, where it is about the samples


class Step:
    """The work of an optional part for one configuration."""

    feature_bytes = 0
    """Bytes of each feature that it holds while the features have scores."""
    graph_copies = 0
    """Copies of the sample graph that it holds while the features are scored."""
    imports: tuple[str, ...] = ()
    """Slow modules that its work takes, which are imported while the first passes are made."""
    downloads: tuple[tuple[str, str], ...] = ()
    """The files that it writes beside the page: name, description."""
    heading = ""
    """Of its section of the page, if not its name."""

    def __init__(self, config: RankConfig) -> None:
        self.config = config

    def held(self, shape: Shape) -> int:
        """Return the bytes that it holds for a while, once the features have scores."""
        return 0

    def graphs(self, shape: Shape) -> tuple[int, int] | None:
        """Return the samples of the largest sample graph that it makes, and its other bytes.

        None where it makes none.
        """
        return None

    def score(self, run: Run) -> Scored | None:
        """Score every feature in a way of its own, as a whole; None where it has none."""
        return None

    def scorer(self, problem: Problem, scorer: Scorer) -> Scorer:
        """Return what scores blocks: that of the method, or one that finds more of each feature."""
        return scorer

    def prepare(self, cohort: Cohort, memory: int, log: Messages) -> Cohort:
        """Return how the samples are compared; subsets of them are compared so, too."""
        return cohort

    def check(self, run: Run) -> None:
        """Refuse what it cannot do before anything is ranked."""

    def independent(self, ids: Ids) -> bool:
        """Tell whether samples are independent, as far as this part knows."""
        return True

    def solved(self, run: Run, solution: Solution) -> Solution:
        """Return what was found of the features as it is ranked; also on subsets of the samples."""
        return solution

    def order(self, run: Run, ranking: Ranking) -> tuple[Ranking, dict[str, Any]]:
        """Return the ranking in another order, and its facts; subsets are ordered so, too."""
        return ranking, {}

    def find(self, run: Run, found: RankResult) -> None:
        """Do the work: change what was found, and add its facts."""

    @classmethod
    def files(cls, found: Any) -> tuple[tuple[str, str], ...]:
        """Return the files beside the page that it has written, by its facts."""
        return cls.downloads

    def tsv(self) -> dict[str, Tsv]:
        """Return the header and the rows of each table that it writes, by the file's name."""
        return {}

    def writers(self) -> dict[str, Callable[[Path], None]]:
        """Return what writes each of its files, by name, once the work is done."""
        from sfs_cli.io.results.writers import table_bytes

        def write(columns: Sequence[str], rows: Iterable[Sequence[Any]], path: Path) -> None:
            path.write_bytes(table_bytes(columns, rows))

        return {name: partial(write, *table) for name, table in self.tsv().items()}

    def members(self, names: Sequence[str]) -> dict[str, object]:
        """Return what an AnnData gets in ``uns``, whose features have these names, in order."""
        return {}

    # ---- its part of the page, from its facts in run.json ----------------------------------------

    @staticmethod
    def doubt(record: Mapping[str, Any]) -> Doubt | None:
        """Return why samples violate the assumptions of a test, by run.json; None if not."""
        return None

    @staticmethod
    def input(found: Any) -> Pairs:
        """Return names and values for the section of the input."""
        return []

    @staticmethod
    def how(facts: dict[str, Any], method: Method) -> str:
        """Return how to read the scores, if not as those of the method."""
        return ""

    @staticmethod
    def reference(facts: dict[str, Any]) -> str:
        """Return what to cite for it in place of the method, by its facts."""
        return ""

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
