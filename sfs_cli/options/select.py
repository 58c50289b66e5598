"""The configuration of ``sfs select``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from sfs_cli.options.aggregate import TableFields
from sfs_cli.options.evaluate import FoldFields
from sfs_cli.options.fields import ASKED, READ, WRITTEN, flag, option
from sfs_cli.options.parts import EnrichmentFields
from sfs_cli.options.paths import OPENS, READS, REPLACES
from sfs_cli.options.rank import OutputFields, ResourceFields

RULES = {
    "top": "--top N",
    "fdr": "--fdr Q",
    "stable": "--stable PI",
    "cv": "--cv",
}
"""The rules by the options that name them: exactly one is given."""
_READING = ("cv", "write_matrix")
"""What reads the matrix."""
_rule = partial(option, section="Selection", verbs=("select",), first=ASKED)
_input = partial(option, section="Input", verbs=("select",), first=READ)


@dataclass(frozen=True, eq=False, repr=False)
class SelectConfig(TableFields, FoldFields, EnrichmentFields, OutputFields, ResourceFields):
    """The options of `sfs select`."""

    VERB: ClassVar[str] = "select"

    result: str = _input(
        "The output folder of sfs rank, or a table of features, with the column that ranks them.",
        default=...,
        metavar="RESULT[:COLUMN]",
        argument=True,
        path=OPENS,
        in_result=False,
    )
    matrix: str | None = _input(
        "The ranked matrix.",
        metavar="FILE",
        path=READS,
        default_text="the one that run.json of the result names",
        in_result=False,
        needs=_READING,
    )
    labels: str | None = _input(
        "Class of each sample.",
        metavar="FILE[:COLUMN] or obs:KEY",
        column=True,
        path=READS,
        default_text="those of the result",
        needs=("cv",),
    )
    top: int | None = _rule("Take the N best features.", metavar="N", least=1)
    fdr: float | None = _rule(
        "Take the features with a q-value (column q_value) of at most Q.",
        metavar="Q",
        above=0,
        below=1,
    )
    stable: float | None = _rule(
        "Take the features that were selected in at least this part of the rankings of halved or "
        "resampled samples (column frequency).",
        metavar="PI",
        above=0,
        most=1,
    )
    cv: bool = _rule(
        "Take the number of features of the best cross-validated balanced accuracy, or the "
        "smallest number within a standard error of it; features are ranked again inside folds.",
        default=False,
    )
    write_matrix: str | None = option(
        "Write the matrix with the selected features alone to this file, in its own format.",
        section="Output",
        verbs=("select",),
        metavar="FILE",
        path=REPLACES,
        in_result=False,
        first=WRITTEN,
    )

    def __post_init__(self) -> None:
        self.check_values()
        self.asked_lengths  # noqa: B018 - a list that is no list is refused here
        rules = self.given(*RULES)
        if len(rules) != 1:
            given = " and ".join(map(flag, rules))
            what = f"{given} are {len(rules)} rules" if rules else "no rule says how many to take"
            choices = ", ".join(RULES.values())
            raise self.error(what, f"give exactly one of {choices}", *(rules or RULES))

    @property
    def rule(self) -> str:
        """The option that says how many features to take."""
        return self.given(*RULES)[0]

    @property
    def ranks(self) -> bool:
        """Whether features are ranked again."""
        return self.cv

    @property
    def reads_matrix(self) -> bool:
        """Whether the matrix is needed."""
        return bool(self.given(*_READING))
