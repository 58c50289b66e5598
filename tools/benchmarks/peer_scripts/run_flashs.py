"""Functions of FlashS, timed in its own environment."""

import numpy as np
from common import main
from flashs import FlashS


def svg(given, options):
    """Its test of every gene; X is genes x samples, C are coordinates."""
    values = np.ascontiguousarray(given["X"].T, dtype=np.float64)
    FlashS(**options).fit_test(given["C"], values[:, :20])  # compiles

    def results(found):
        return {"p": found.pvalues, "order": -found.statistics}

    return lambda: FlashS(**options).fit_test(given["C"], values), results


if __name__ == "__main__":
    main("flashs", {"svg": svg})
