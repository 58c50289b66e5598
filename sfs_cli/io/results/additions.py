"""What AnnData gets of a ranking: columns of ``var`` and members of ``uns``.

The command writes it into a copy of a file, the function of Python into an object.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sfs_cli.errors import counted
from sfs_cli.ranking.table import Ranking
from sfs_cli.tables import OF_GENES

if TYPE_CHECKING:
    import pandas as pd

KEY = "sfs"
"""What names in an AnnData begin with."""
MARK = "highly_variable"
"""The column of ``var`` that marks genes, which ``scanpy.pp.pca`` and others read."""
FLAVOR = "sfs"
"""What chose the genes, beside the flavors of scanpy."""


class Inside(NamedTuple):
    """What AnnData holds where scores go."""

    names: list[str]  # of the variables
    columns: list[str]  # of var
    hvg: dict[str, Any]  # what has marked the highly variable genes: uns["hvg"]


@dataclass
class Additions:
    """What is written into AnnData, what is taken out of it, and what the user should know.

    More results go into ``uns`` as further `members`.
    """

    columns: dict[str, np.ndarray]  # of var, shape (m,) each
    members: dict[str, Any]  # of uns
    old_columns: list[str] = field(default_factory=list)  # that go, or are replaced
    old_members: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def write_to(self, adata: Any) -> None:
        """Write into an AnnData in memory."""
        for name in self.old_columns:
            del adata.var[name]
        for name, values in self.columns.items():
            adata.var[name] = values
        for name in self.old_members:
            del adata.uns[name]
        adata.uns.update(self.members)


def additions(
    ranking: Ranking,
    inside: Inside,
    names: Sequence[str],
    about: Mapping[str, Any],
    *,
    top: int | None = None,
    key: str = KEY,
) -> Additions:
    """Return what an AnnData of m variables gets of a ranking, and what of an earlier one goes.

    Parameters
    ----------
    ranking : Ranking
        Of its variables, or of others too, such as those of ``raw``.
    inside : Inside
        What is there.
    names : sequence of str, length m
        What a ranking calls its variables, in their order.
    about : mapping
        How the ranking was made: members of ``uns[key]`` beside ``table``, the whole ranking.
    top : int, optional
        So many of the best features are ``highly_variable``. Without it, marks that an earlier
        ranking with this key has made are taken out.
    key : str
        Columns are named ``KEY_rank`` and so on.

    Notes
    -----
    A variable without a score has no rank. Ranks are numbers with NaN then, else integers. Texts of
    a variable that is not ranked are empty.
    """
    import pandas as pd

    table = _frame(ranking)
    var = table.reindex(pd.Index(names, dtype=object))
    var["rank"] = var["rank"].where(var["score"].notna())
    texts = var.select_dtypes(object)  # missing where a variable is not ranked
    var[texts.columns] = texts.fillna("")
    columns = {f"{key}_{name}": var[name].to_numpy() for name in OF_GENES if name in var}
    found = Additions(columns, {key: {**about, "table": table}})
    old = {f"{key}_{name}" for name in OF_GENES}
    ours = inside.hvg.get("flavor") == FLAVOR
    if top is not None:
        if MARK in inside.columns:
            found.notes.append(f"{MARK} was in var, and is replaced")
        columns[MARK] = (var["rank"] <= top).to_numpy()
        if (marked := int(columns[MARK].sum())) < top:
            best = min(top, ranking.n_scored)
            found.notes.append(
                f"{MARK} marks {counted(marked, 'feature')}, where {top:,} were asked for: "
                f"{ranking.n_scored:,} have a score, and {best - marked:,} of the {best:,} best are"
                " not in var"
            )
        found.members["hvg"] = {"flavor": FLAVOR, "key": key}
    elif ours and inside.hvg.get("key", key) == key:
        old.add(MARK)
        found.old_members.append("hvg")
        found.notes.append(
            f"{MARK} in var was of an earlier ranking, and is taken out: --top N marks the N best "
            "features"
        )
    found.old_columns = [name for name in inside.columns if name in old.union(columns)]
    return found


def _frame(ranking: Ranking) -> pd.DataFrame:
    """Return the ranking as a data frame that every version of AnnData writes and reads.

    Texts are of type object. A slash in the name of a column, which HDF5 has for groups, is ``|``.
    """
    import pandas as pd

    columns = {
        name.replace("/", "|"): pd.Series(
            column, dtype=None if isinstance(column, np.ndarray) else object
        )
        for name, column in ranking.columns().items()
    }
    frame = pd.DataFrame(columns)
    return frame.set_index(pd.Index(frame.pop("feature"), dtype=object, name="feature"))
