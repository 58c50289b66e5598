"""The methods that rank on several sources of knowledge: another method scores for them."""

from __future__ import annotations

from sfs_cli.methods.entry import Method
from sfs_cli.ranking.hows import HOWS

ENTRIES = (
    Method(
        name="msfs",
        title="MSFS",
        module="sfs_cli.methods.spec",
        meaning={
            "": "Every source of knowledge says which samples are alike; the score says how well "
            "the feature agrees with what they say together."
        },
        needs=("graph",),
        options={"then": "spec"},
        choices={"then": ("spec", "gdcov", "mrsf")},
        cost="n^2 a source, and that of --then",
        passes="1, and 1 a source made from the matrix",
        when="other profiles of the samples, gene sets, terms or interactions are known",
        reference="Zhao and Liu, JMLR W&CP 4, 2008; Zhao, dissertation, Arizona State University "
        "2010, ch. 5",
    ),
    Method(
        name="kogs",
        title="KOGS",
        module="sfs_cli.methods.spec",
        meaning={
            "": "The features are ranked on every source of knowledge (or by every member method) "
            "alone, and the rankings are aggregated."
        },
        needs=("graph",),
        options={"then": "spec", "how": "borda", "members": ()},
        choices={
            "then": ("spec", "gdcov", "mrsf"),
            "how": tuple(HOWS),
        },
        cost="that of --then for each source, or that of each member",
        passes="those of all rankings",
        when="sources that are not to be mixed, or several methods that should agree",
        reference="Zhao, dissertation, Arizona State University 2010, ch. 5",
    ),
)
"""Entries of the catalogue, in the order they are listed."""
