"""The compiled sums, where they were built and the processor has the instructions for them.

A package that was built without a C compiler does not have them, and neither do processors other
than x86-64 with AVX2. NumPy does the same there, in two to three times the time.
"""

from __future__ import annotations

try:
    from sfs_cli.compute import _moments as moments
except ImportError:
    SETS: tuple[str, ...] = ()
else:
    SETS = moments.SETS


def kind() -> str:
    """Return ``compiled`` or ``numpy``: the last digits of sums depend on which it is."""
    return "compiled" if SETS else "numpy"
