"""Extrapolating a sequence of weight vectors to where it is going (Anderson acceleration)."""

from __future__ import annotations

from collections import deque

import numpy as np

from sfs_cli.methods.qalpha_space import Weights

_DEPTH = 6
_RIDGE = 1e-12


class Extrapolation:
    """The last steps ``x -> g(x)`` of a fixed-point iteration on unit weight vectors."""

    def __init__(self) -> None:
        self._steps: deque[tuple[Weights, np.ndarray, np.ndarray]] = deque(maxlen=_DEPTH)

    def add(self, before: Weights, after: Weights) -> None:
        """Take note of a step."""
        self._steps.append((after, after.B - before.B, after.A - before.A))

    def clear(self) -> None:
        """Forget the steps, which have led astray."""
        self._steps.clear()

    def point(self) -> Weights | None:
        """Return the mixture of the results whose mixed step is shortest; None after one step."""
        q = len(self._steps)
        if q < 2:
            return None
        gram = np.array(
            [[float(np.vdot(B, A)) for _, _, A in self._steps] for _, B, _ in self._steps]
        )
        gram = (gram + gram.T) / 2
        gram[np.diag_indices(q)] += _RIDGE * np.trace(gram)
        shares = np.linalg.solve(gram, np.ones(q))
        shares /= shares.sum()
        B = sum(c * step[0].B for c, step in zip(shares, self._steps))
        A = sum(c * step[0].A for c, step in zip(shares, self._steps))
        norm = np.sqrt(np.vdot(B, A))
        return Weights(B / norm, A / norm, self._steps[-1][0].value)
