"""``--pvalues`` and ``--split``: p-values of scores, and a sample graph of other data for them.

The p-values of methods that compare classes are checked in the same way.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from sfs_cli import catalog
from sfs_cli.features.feature import Feature
from sfs_cli.options.fields import (
    RANKING,
    SURE,
    Config,
    Refusal,
    option,
    option_fields,
)
from sfs_cli.options.graph import LABELS_ALONE

if TYPE_CHECKING:
    from sfs_cli.catalog import Method
    from sfs_cli.options import RankConfig

FEWEST_PERMUTATIONS, MOST_PERMUTATIONS = 10, 1_000_000
DEFAULT_PERMUTATIONS = 1000
ABLE = catalog.WITH_PVALUES
"""Methods that ``--pvalues`` is for."""

_method = partial(option, section="Tests", verbs=RANKING)


@option_fields
class SignificanceFields(Config):
    """The options of p-values."""

    pvalues: str | None = _method(
        "Add p-values, q-values and effects. The null distribution is that of the moments of all "
        "permutations of the samples, or some of these permutations.",
        words=("moments", "permutation"),
        takers=lambda _: ABLE,
        first=SURE,
        by_verb={"evaluate": {"first": ""}},  # lists are judged there
    )
    permutation_draws: int | None = _method(
        "Number of permutations.",
        of="pvalues",
        word="draws",
        metavar="B",
        least=FEWEST_PERMUTATIONS,
        most=MOST_PERMUTATIONS,
        default_text=str(DEFAULT_PERMUTATIONS),
        needs=("pvalues=permutation",),
    )
    split: str | None = _method(
        "Test on a graph built from other data: the other half of the features, or one of two "
        "random parts of every count (count thinning).",
        words=("features", "counts"),
        takers=lambda _: catalog.SPLIT,
        needs=("pvalues",),
        excludes={
            "stability": "subsets are ranked by scores, not by p-values",
            "source": "the sources make the sample graph",
        },
    )

    @property
    def permutations(self) -> int:
        """Number of permutations that are asked for; 0 without ``--pvalues permutation``."""
        if self.pvalues != "permutation":
            return 0
        return self.permutation_draws or DEFAULT_PERMUTATIONS


def tests(config: RankConfig) -> bool:
    """Tell whether the features are tested: by ``--pvalues``, or by the method itself."""
    return config.pvalues is not None or config.scorer in catalog.TESTING


def _asked(config: RankConfig) -> bool:
    return tests(config) or config.how == "rra"  # which has p-values, too


def _suits(config: RankConfig, method: Method) -> bool:
    return config.pvalues is None or method.tested


def rules(config: RankConfig) -> Iterator[Refusal]:
    """Yield what is wrong with the options."""
    if config.split is not None:
        yield from _split_rules(config)
    if config.pvalues is None:
        return
    method = f"--method {config.ranker}"
    if config.then is not None:
        method = f"then={config.then}"
    if config.ranker == "kogs" or config.scorer not in ABLE:
        hint = _leave_out(ABLE)
        if config.ranker in catalog.TESTING:
            hint = f"leave it out: {method} has p-values of its own"
        yield f"--pvalues has no effect with {method}", hint, ("pvalues", "method")


def _split_rules(config: RankConfig) -> Iterator[Refusal]:
    if config.ranker in ABLE and config.ranker not in catalog.SPLIT:
        what = f"--split has no effect with --method {config.ranker}, which has no sample graph"
        yield what, _leave_out(catalog.SPLIT), ("split", "method")
    given = config.graph in ("file", "obsp", *LABELS_ALONE)
    if given or config.coordinates_from is not None:
        what = "--split has no effect on a sample graph that is not built from the features"
        yield what, "leave out --split", ("split", "similarity")


def _leave_out(methods: tuple[str, ...]) -> str:
    return f"leave it out; it has an effect with --method {', '.join(methods)}"


FEATURE = Feature("significance", _asked, SignificanceFields, rules, suits=_suits)
