"""The configuration of ``sfs robustness``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from sfs_cli.options.evaluate import says_how
from sfs_cli.options.fields import ASKED, numbers_of, option, options_of
from sfs_cli.options.rank import RankConfig

DEFAULT_LEVELS = (0.05, 0.1, 0.2, 0.3, 0.5)
DEFAULT_DRAWS, EXAMPLE_DRAWS, MOST_DRAWS = 5, 100, 10_000

_how = partial(option, section="Evaluation", verbs=("robustness",), first=ASKED)


@dataclass(frozen=True, eq=False, repr=False)
class RobustnessConfig(RankConfig):
    """The options of `sfs robustness`: those of SPEC, and the noise."""

    VERB: ClassVar[str] = "robustness"

    noise: str | None = _how(
        "Levels of noise, above 0 and at most 1: the part of the Laplacian that is that of noise, "
        "and the standard deviation of what is added to a feature, in its own.",
        metavar="A,A,...",
        default_text=",".join(map(str, DEFAULT_LEVELS)),
    )
    draws: int | None = _how(
        "Number of times that noise is drawn, or with --example samples.",
        metavar="N",
        least=1,
        most=MOST_DRAWS,
        default_text=f"{DEFAULT_DRAWS}; {EXAMPLE_DRAWS} with --example",
    )
    example: bool = _how(
        "Take no matrix, but the synthetic case of Figure 2.3 of the dissertation.", default=False
    )

    def __post_init__(self) -> None:
        if not self.matrix:  # None where the command line leaves it out
            object.__setattr__(self, "matrix", "")
        if self.method is None:
            object.__setattr__(self, "method", "spec")
        super().__post_init__()
        if self.method != "spec":
            what = f"--method {self.method} has no bounds"
            raise self.error(what, "leave it out: they are those of spec", "method")
        self.levels  # noqa: B018 - levels that are none are refused here
        if self.example:
            for o in options_of(type(self)):
                chosen = getattr(self, o.name) not in (o.default, "")
                of_matrix = says_how(o) or o.section == "Input"
                if of_matrix and chosen and o.name != "method":
                    name = "MATRIX" if o.argument else o.flag
                    what = f"{name} has no effect with --example"
                    raise self.error(what, "leave one of them out", o.name, "example")
        elif not self.matrix:
            hint = "give a matrix, or --example; `sfs robustness --help` lists the options"
            raise self.error("missing argument 'MATRIX'", hint, "matrix")

    @property
    def levels(self) -> tuple[float, ...]:
        """The levels of noise, ascending."""
        if self.noise is None:
            return DEFAULT_LEVELS
        found = numbers_of(self.noise)
        if not found or not all(0 < level <= 1 for level in found):
            what = f"--noise {self.noise!r} is not a list of numbers above 0 and up to 1"
            raise self.error(what, "give levels such as 0.1,0.3", "noise")
        return tuple(sorted(set(found)))

    @property
    def n_draws(self) -> int:
        """Number of draws."""
        if self.draws is not None:
            return self.draws
        return EXAMPLE_DRAWS if self.example else DEFAULT_DRAWS
