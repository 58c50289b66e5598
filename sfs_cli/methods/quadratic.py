"""Quadratic forms ``g A g'`` of features with a dense positive semidefinite matrix A.

With ``R' R = A`` and R upper triangular the form is ``|R g|^2``. A triangular product takes n^2
operations for each feature where ``g A g'`` takes 2 n^2, and BLAS writes it over its operand. The
form is a sum of squares, so nothing cancels: an error of ``eps |g|`` in ``R g`` changes a form of
``c |g|^2`` by about ``eps / sqrt(c)`` of it, and ``g A g'`` by ``eps / c``.
"""

from __future__ import annotations

import ctypes
import importlib
import sys
import threading
from collections.abc import Callable
from functools import cache
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from types import ModuleType

import numpy as np

from sfs_cli.compute.limits import EPS
from sfs_cli.compute.matrix import InDtypes
from sfs_cli.graph.laplacian import NormalizedLaplacian

WEAK_TRIANGULAR = 0.01
"""A form below this part of that of a random g is found again in float64: float32 loses 1.5e-6 of
it (and 1e-5 of a hundredth of it), in the products and in the features themselves."""
IN_PLACE = 1e10
"""So many multiplications take longer than to import SciPy, which has the triangular product."""


_LOADING = threading.Lock()
"""Held while BLAS is loaded, by the first of many threads."""


class TriangularForm:
    """``g A g'`` and ``g A`` for rows g, from ``R' R = A``.

    Parameters
    ----------
    factor : ndarray, shape (n, n)
        R, upper triangular, float64.
    m : int
        Number of rows that it is for, which decides how they are multiplied.

    Attributes
    ----------
    weak : float
        A form below this part of the square of the norm is to be found in float64.
    """

    def __init__(self, factor: np.ndarray, m: int) -> None:
        self.in_place = m * float(len(factor)) ** 2 >= IN_PLACE
        self.factor = InDtypes(factor)
        diagonal = np.vecdot(factor.T, factor.T)  # of A
        self.weak = WEAK_TRIANGULAR * float(diagonal.mean())

    def form(self, G: np.ndarray) -> np.ndarray:
        """Return ``g A g'`` for every row; may overwrite the rows.

        Parameters
        ----------
        G : ndarray, shape (b, n), float32 or float64

        Returns
        -------
        ndarray, shape (b,), float64
        """
        image = self._multiply(G)
        return np.vecdot(image, image).astype(np.float64)

    def apply(self, G: np.ndarray) -> np.ndarray:
        """Return ``G A``, shape (b, n)."""
        return self._multiply(self._multiply(G.copy()), transposed=True)

    def _multiply(self, G: np.ndarray, *, transposed: bool = False) -> np.ndarray:
        """Return ``G R'``, or ``G R``; may be written over `G`."""
        R = self.factor[G.dtype]
        if not self.in_place:
            return G @ (R if transposed else R.T)
        multiply_in_place(R, G, transposed=transposed)
        return G


def multiply_in_place(R: np.ndarray, G: np.ndarray, *, transposed: bool = False) -> None:
    """Overwrite the rows g of `G` with ``R g``, or ``R' g``, without the interpreter's lock.

    Parameters
    ----------
    R : ndarray, shape (n, n), in Fortran order
        Upper triangular, of the type of `G`.
    G : ndarray, shape (b, n), in C order
        float32 or float64.
    """
    b, n = G.shape
    # BLAS gets addresses alone
    assert G.flags.c_contiguous
    assert R.flags.f_contiguous
    single = G.dtype == np.float32
    one = (ctypes.c_float if single else ctypes.c_double)(1)
    rows, columns = ctypes.c_int(n), ctypes.c_int(b)  # to BLAS the rows of G are columns
    words = (b"L", b"U", b"T" if transposed else b"N", b"N")  # left, upper, as it is, any diagonal
    _blas("strmm" if single else "dtrmm")(
        *words,
        *map(ctypes.addressof, (rows, columns, one)),
        *(R.ctypes.data, ctypes.addressof(rows), G.ctypes.data, ctypes.addressof(rows)),
    )


@cache
def _blas(name: str) -> Callable[..., None]:
    """Return a BLAS routine from what SciPy offers to Cython.

    ``scipy.linalg.blas.strmm`` is the same routine, but holds the interpreter's lock while it
    works: two threads took as long as one.
    """
    capsule = vars(_cython_blas())["__pyx_capi__"][name]
    named = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)
    found = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
    signature = named(("PyCapsule_GetName", ctypes.pythonapi))(capsule)
    address = found(("PyCapsule_GetPointer", ctypes.pythonapi))(capsule, signature)
    arguments = [ctypes.c_char_p] * 4 + [ctypes.c_void_p] * 7
    return ctypes.CFUNCTYPE(None, *arguments)(address)


def _cython_blas() -> ModuleType:
    """Return ``scipy.linalg.cython_blas``, loaded without the rest of ``scipy.linalg``.

    Importing all of that takes ten times as long, a third of a second, and no more of it is needed.
    """
    import scipy

    name = "scipy.linalg.cython_blas"
    with _LOADING:
        if name not in sys.modules:
            spec = PathFinder.find_spec(name, [f"{folder}/linalg" for folder in scipy.__path__])
            if spec is not None and spec.loader is not None:
                module = module_from_spec(spec)
                spec.loader.exec_module(module)
                sys.modules[name] = module
        return importlib.import_module(name)


def triangular_factor(A: np.ndarray, normal: np.ndarray, size: float) -> np.ndarray | None:
    """Return R, upper triangular with ``g R' R g' = g A g'`` for every g orthogonal to `normal`.

    ``A + c u u'`` is factorized, with u the vector that features are orthogonal to: A has a null
    vector, which is not. So Cholesky's factorization finds R, unless the graph is in several
    connected components or A has other eigenvalues of the size of rounding. Then Cholesky's
    factorization with pivots finds it, which takes singular matrices, and a QR factorization
    undoes the pivots. An eigendecomposition would do for both, in ten times the time.

    Parameters
    ----------
    A : ndarray, shape (n, n), float64
        Symmetric; overwritten.
    normal : ndarray, shape (n,)
        u, of unit norm.
    size : float
        Magnitude of what A was computed from, which its rounding is relative to.

    Returns
    -------
    ndarray, shape (n, n), in Fortran order, or None
        None where A has a negative eigenvalue, for which there is no R.
    """
    n = len(A)
    A += np.outer(max(float(np.trace(A)) / n, EPS * size) * normal, normal)
    try:
        return np.linalg.cholesky(A).T
    except np.linalg.LinAlgError:
        from scipy.linalg import lapack
    # four vectors tell afterwards whether all of A was factorized
    probes = np.cos(np.outer(np.arange(1.0, n + 1), np.arange(1.0, 5)))
    expected = A @ probes
    pivoted, pivots, rank, _ = lapack.dpstrf(A.T, tol=4 * EPS * size, overwrite_a=1)
    pivoted[rank:] = 0
    unordered = np.empty_like(pivoted)
    unordered[:, pivots - 1] = np.triu(pivoted)
    R = triangle(unordered)
    residual = np.abs(R.T @ (R @ probes) - expected).max(initial=0)
    return R if residual <= 64 * n * EPS * size else None


def power_factor(laplacian: NormalizedLaplacian, power: int) -> np.ndarray | None:
    """Return R, upper triangular with ``g R' R g' = g N^power g'`` for every g orthogonal to xi_1.

    Half of the power is taken of N and the rest is a factor of N, so that small eigenvalues keep
    their digits.

    Parameters
    ----------
    laplacian : NormalizedLaplacian
        Of a dense similarity.
    power : int
        At least 1.

    Returns
    -------
    ndarray, shape (n, n), in Fortran order, or None
        None where ``N^power`` has a negative eigenvalue: an odd power, and negative similarities.
    """
    N = -laplacian.smooth_matrix()
    N[np.diag_indices(laplacian.n)] += 1
    N -= np.outer(laplacian.trivial, laplacian.trivial)
    if power == 1:
        return triangular_factor(N, laplacian.trivial, 1.0)
    half = np.linalg.matrix_power(N, power // 2)
    if power % 2:
        root = triangular_factor(N.copy(), laplacian.trivial, 1.0)
        if root is None:
            return None
        half = root @ half
    return triangle(half)


def triangle(B: np.ndarray) -> np.ndarray:
    """Return R, upper triangular with ``R' R = B' B``, in Fortran order."""
    return np.asfortranarray(np.linalg.qr(B, mode="r"))


def is_zero(
    apply: Callable[[np.ndarray], np.ndarray],
    n: int,
    scale: float,
    center: Callable[[np.ndarray], np.ndarray],
) -> bool:
    """Return whether a linear operator is 0 but for rounding, from its products with four vectors.

    `apply` maps rows (b, n) that `center` has centered, and `scale` is the size of eigenvalues.
    """
    rows = center(np.cos(np.outer(np.arange(1, 5), np.arange(n) ** 2 + 1.0)))
    product = apply(rows.copy())
    return norm(product) <= 1e-11 * scale * norm(rows)


def norm(values: np.ndarray) -> float:
    """Return the root of the sum of squares of an array, whose squares may over- or underflow."""
    from scipy import linalg

    return float(linalg.norm(values.ravel(), check_finite=False))
