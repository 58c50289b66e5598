"""The passes of a run over its matrix, as they are made: what for, how often, how much was read.

The code that makes a pass says what it is for (`sfs_cli.compute.engine.Engine.at`). The progress
bar and ``run.json`` read this list.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

LOOK = "a look at a few features, for warnings and pictures"


@dataclass
class Made:
    """The passes of one purpose."""

    executed: int = 0  # how often it was made
    features: int = 0  # features read, all passes of this purpose together


class PassList:
    """The passes of a run over a matrix of `n_features` features, in the order they began."""

    def __init__(self, n_features: int) -> None:
        self.n_features = n_features
        self.looked = 0  # features read beside all passes
        self.made: dict[str, Made] = {}
        self._show: Callable[[str, int], None] | None = None
        self._advance: Callable[[int], None] | None = None

    def watch(self, show: Callable[[str, int], None], advance: Callable[[int], None]) -> None:
        """Drive a progress bar.

        `show` receives the purpose of a pass that begins and the features it is about to read,
        `advance` those that were read.
        """
        self._show, self._advance = show, advance

    def begin(self, purpose: str) -> None:
        """Count a pass that begins."""
        self.made.setdefault(purpose, Made()).executed += 1
        if self._show is not None:
            self._show(purpose, self.n_features)

    def read(self, purpose: str, features: int) -> None:
        """Count features that a pass has read."""
        self.made[purpose].features += features
        if self._advance is not None:
            self._advance(features)

    def look(self, features: int) -> None:
        """Count a few features that are read beside all passes, only to see what they hold."""
        self.looked += features

    @property
    def executed(self) -> int:
        """Reads of the matrix that were made."""
        return sum(each.executed for each in self.made.values())

    def facts(self) -> list[dict[str, Any]]:
        """Return what ``run.json`` says of every purpose that passes were made for."""
        looked = {LOOK: Made(0, self.looked)} if self.looked else {}
        return [
            {"purpose": purpose, "executed": each.executed, "features": each.features}
            for purpose, each in (looked | self.made).items()
        ]
