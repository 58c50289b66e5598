"""A ranking that was written, read again: its table, its record, and what has changed since."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sfs_cli import provenance
from sfs_cli.errors import InputError, counted, listed
from sfs_cli.io.files.table import TextTable
from sfs_cli.io.files.text import split_member
from sfs_cli.options import RankConfig
from sfs_cli.run.config import refuse_objects
from sfs_cli.run.load import Run
from sfs_cli.workflow import outputs


@dataclass(frozen=True)
class Result:
    """A ranking that was read, and what is known of how it was made."""

    path: Path
    table: TextTable
    features: list[str]  # of all rows
    order: np.ndarray  # the rows that are ranked, best first
    record: dict[str, Any] | None  # of the run that wrote it, if that was `sfs rank`
    whole: int | None = None  # number of features that were ranked, if `order` is their beginning

    @property
    def n_ranked(self) -> int:
        """Number of features that were ranked."""
        return self.whole or len(self.order)

    @property
    def record_path(self) -> Path:
        """Where the record is, or would be."""
        return provenance.record_beside(self.path)


def check_unchanged(
    made: RankConfig, result: Result, given: Collection[str], takes: Collection[str]
) -> None:
    """Refuse inputs that have changed since the features were ranked.

    Those of the options `given` are taken as they are; `takes` are those that the command has.
    """
    assert result.record is not None
    refuse_objects(made, takes)
    if "matrix" not in given and not split_member(Path(made.matrix))[0].exists():
        raise InputError(
            "the matrix that was ranked is not there any more",
            where=f"{made.matrix}, by {result.record_path}",
            hint="give it with --matrix FILE",
            option="matrix",
        )
    known = {each["role"]: each for each in result.record["inputs"]}
    for each in outputs.describe_inputs(made):
        role = each["role"]
        if role in known and role not in given and provenance.changed(known[role], each):
            of_matrix = role == "matrix"
            what = "the matrix" if of_matrix else f"an input of the ranking ({role})"
            raise InputError(
                f"{what} has changed since the features were ranked",
                where=f"{each['path']}, by {result.record_path}",
                hint="rank again" + ", or give the file that was ranked: --matrix" * of_matrix,
                option=role,
            )


def positions(run: Run, result: Result) -> np.ndarray:
    """Return the feature of the matrix that each row of the table is about.

    Raises InputError when the features are not those of the matrix.
    """
    ids = run.matrix.ids.features
    index = {name: i for i, name in enumerate(ids)}
    known, here = set(result.features), run.opened.matrix.n_samples
    unknown = [name for name in result.features if name not in index]
    lacking, ranked = list[str](), here
    if result.record is not None:
        ranked = result.record["input"]["n_samples_in_file"]
        if result.whole is None:
            lacking = [name for name in ids if name not in known]
    wrong = ""
    if found := unknown or lacking:
        others = "in the matrix" if unknown else "in the ranking"
        wrong = f"not {others}: {counted(len(found), 'feature')} ({listed(found, 3)})"
    elif ranked != here:
        wrong = f"that had {counted(ranked, 'sample')}, and this has {here:,}"
    if wrong:
        raise InputError(
            f"the ranking is of another matrix: {wrong}",
            where=f"{result.path}, {run.config.matrix}",
            hint="give the matrix that was ranked: --matrix FILE",
            option="matrix",
        )
    return np.array([index[name] for name in result.features], np.int64)
