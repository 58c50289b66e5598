"""``--rank-sources``: the features of profile sources are ranked with those of the matrix."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sfs_cli.features.feature import Feature
from sfs_cli.options.fields import RANKING, Config, Refusal, option, option_fields, split_words

if TYPE_CHECKING:
    from sfs_cli.options import RankConfig
    from sfs_cli.options.source import SourceSpec

MATRIX = "matrix"
"""What the features of the matrix are of, where no source is the matrix."""
_ONE_MATRIX = "it is about the values of one matrix"


@option_fields
class JointFields(Config):
    """The option of features of several matrices."""

    rank_sources: str | None = option(
        "Rank the features of these profile sources (or of all) together with those of the matrix, "
        "on the same sample graph: each transformed as its source, and then standardized.",
        section="Knowledge sources",
        verbs=RANKING,
        metavar="all or NAME,...",
        items=str,
        needs=("source",),
        excludes={
            "samples=union": "a source has no values for the samples that it lacks",
            "voom": _ONE_MATRIX,
            "min_count": _ONE_MATRIX,
            "write_h5ad": "the file has no place for features of sources",
        },
    )


def of(config: RankConfig) -> list[SourceSpec]:
    """Return the sources whose features are ranked, in their order."""
    names = split_words(config.rank_sources)
    able = (s for s in config.source if s.kind == "profile" and not s.has_coordinates)
    return [each for each in able if each.name in names or names == ("all",)]


def rules(config: RankConfig) -> Iterator[Refusal]:
    """Yield what is wrong with the option."""
    found = [each.name for each in of(config)]
    unknown = {*split_words(config.rank_sources)}.difference(found, ("all",) if found else ())
    if unknown:
        what = f"--rank-sources: {', '.join(sorted(unknown))} is no profile source with features"
        hint = "give the names of sources such as mirna=profile:mirna.csv, or all: for all of these"
        yield what, hint, ("rank_sources", "source")
    if config.rank_sources and any(each.name == "in_source" for each in config.source):
        what = "a source cannot have the name in_source beside --rank-sources"
        hint = "give it another one: rank_in_source is the rank among the features of a source"
        yield what, hint, ("source", "rank_sources")


FEATURE = Feature(
    "joint", lambda config: config.rank_sources is not None, JointFields, rules, orders=True
)
