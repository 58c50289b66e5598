"""Compiling of loops by numba (the extra ``singlecell``).

Compiled loops call those of their own file alone: what numba keeps of a loop does not notice that
another file has changed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba

Kernel = TypeVar("Kernel", bound=Callable[..., Any])


def compiled(function: Kernel) -> Kernel:
    """Compile a loop, and keep the code for the next process where there is a place for it."""
    compiler: Any = numba.njit
    try:
        return compiler(nogil=True, cache=True)(function)
    except RuntimeError:  # nowhere to keep the compiled code
        return compiler(nogil=True)(function)
