"""``--stability``: how far the first features of a ranking depend on the samples."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from sfs_cli.features.feature import Feature
from sfs_cli.options.fields import SURE, WHOLE, Config, Refusal, option, option_fields

if TYPE_CHECKING:
    from sfs_cli.options import RankConfig

DEFAULT_TOP = 50
"""Features of the list whose stability is measured, where there are many."""
SUBSETS = {"half": "half-samples", "bootstrap": "bootstrap samples"}
"""The kinds of subsets of the samples, and what the page and messages call them."""

_stability = partial(option, section="Method", verbs=WHOLE)
_how = partial(_stability, needs=("stability",))


@option_fields
class StabilityFields(Config):
    """The options of stability."""

    stability: int | None = _stability(
        "Rank on this many subsets of the samples too, and count how often each feature is among "
        "the first.",
        metavar="B",
        least=2,
        most=10_000,
        first=SURE,
    )
    stability_how: str | None = _how(
        "Subsets of --stability: complementary halves of the samples, or bootstrap samples (as "
        "many draws as samples, with replacement), each drawn sample used once.",
        words=tuple(SUBSETS),
        default_text="half",
    )
    stability_top: int | None = _how(
        "Number of first features that --stability counts.",
        metavar="K",
        least=1,
        default_text=f"{DEFAULT_TOP}, of few features a quarter",
    )

    @property
    def subset_kind(self) -> str:
        """What the subsets of the samples are, one of `SUBSETS`."""
        return self.stability_how or "half"

    @property
    def subset_count(self) -> int:
        """Number of subsets of the samples: halves come in pairs."""
        count = self.stability or 0
        return count + count % 2 if self.subset_kind == "half" else count


def rules(config: RankConfig) -> Iterator[Refusal]:
    """Yield what is wrong with the options."""
    selected = config.method_options().get("select")
    if selected is not None and (config.stability_top or 0) > selected:
        top, method = f"--stability-top {config.stability_top}", f"--method {config.scorer}"
        hint = f"give {selected} or fewer, or let it select more with --select"
        yield f"{top}: {method} selects {selected} features", hint, ("stability_top", "select")


FEATURE = Feature("stability", lambda config: config.stability is not None, StabilityFields, rules)
