"""The compiled sums against sums in extended precision, on every instruction set that is here."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from sfs_cli.compute import compiled

moments = pytest.importorskip(
    "sfs_cli.compute._moments", reason="the compiled sums were not built", exc_type=ImportError
)
if not compiled.SETS:
    pytest.skip("this processor has none of the instruction sets", allow_module_level=True)

NONE = np.empty(0)
WIDTHS = (0, 1, 4, 5, 6, 11, moments.MOST_COLUMNS)
EPS = float(np.finfo(np.float64).eps)


def grouped(columns: np.ndarray) -> np.ndarray:
    n, k = columns.shape
    padded = np.zeros((-(-n // 8) * 8, k))
    padded[:n] = columns
    return np.array([padded[lo : lo + 8].T for lo in range(0, n, 8)])


def made(values, columns, *, scale=NONE, reference=-1, kind=compiled.SETS[0]):
    (b, n), k = values.shape, columns.shape[1]
    squares, products = np.full(b, np.nan), np.full((k, b), np.nan)
    scale = grouped(scale[:, None]) if len(scale) else scale
    moments.of_values(
        values, n, values.itemsize, kind, reference, scale, grouped(columns), squares, products
    )
    return squares, products.T


def slow(values, columns, *, scale=NONE, reference=-1):
    x = values.astype(np.longdouble)
    if reference >= 0:
        x = x - x[:, [reference]]
    if len(scale):
        x = x * scale
    bound = np.abs(x) @ np.abs(columns)
    return (x * x).sum(axis=1), x @ columns.astype(np.longdouble), bound


@pytest.mark.parametrize("kind", compiled.SETS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 7, 8, 9, 16, 61, 500])
def test_as_in_extended_precision(kind, dtype, n):
    rng = np.random.default_rng(n)
    for k in WIDTHS:
        values = rng.normal(3, 2, size=(9, n)).astype(dtype)
        columns, scale = rng.normal(size=(n, k)), rng.uniform(0.1, 4, size=n)
        for reference in (-1, 0, n - 1):
            for given in (NONE, scale):
                options = {"scale": given, "reference": reference}
                squares, products = made(values, columns, kind=kind, **options)
                expected, along, bound = slow(values, columns, **options)
                assert (abs(squares - expected) <= (n + 3) * EPS * expected).all()
                assert (abs(products - along) <= (n + 3) * EPS * bound).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_bytes_do_not_depend_on_the_instructions(dtype):
    if len(compiled.SETS) < 2:
        pytest.skip("this processor has one instruction set only")
    rng = np.random.default_rng(0)
    values = rng.normal(size=(50, 203)).astype(dtype)
    for k in WIDTHS:
        columns = rng.normal(size=(203, k))
        found = [made(values, columns, kind=kind, reference=5) for kind in compiled.SETS]
        for squares, products in found[1:]:
            assert squares.tobytes() == found[0][0].tobytes()
            assert products.tobytes() == found[0][1].tobytes()


@pytest.mark.parametrize("kind", compiled.SETS)
def test_the_bytes_do_not_depend_on_where_a_feature_lies(kind):
    rng = np.random.default_rng(1)
    values, columns = rng.normal(size=(23, 77)).astype(np.float32), rng.normal(size=(77, 7))
    squares, products = made(values, columns, kind=kind)
    for lo in range(23):
        for hi in (lo + 1, 23):
            part = made(np.ascontiguousarray(values[lo:hi]), columns, kind=kind)
            assert part[0].tobytes() == squares[lo:hi].tobytes()
            assert part[1].tobytes() == products[lo:hi].tobytes()


def test_float32_is_converted_before_anything_else():
    values = np.random.default_rng(2).normal(1e4, 1, size=(5, 40)).astype(np.float32)
    columns = np.ones((40, 2))
    for reference in (-1, 3):
        single = made(values, columns, reference=reference)
        double = made(values.astype(np.float64), columns, reference=reference)
        assert [a.tobytes() for a in single] == [a.tobytes() for a in double]


def test_what_is_no_number_stays_with_its_feature():
    values, columns = np.ones((6, 30)), np.ones((30, 3))
    values[2, 29], values[4, 0] = np.nan, np.inf
    squares, products = made(values, columns)
    np.testing.assert_array_equal(np.isfinite(squares), [1, 1, 0, 1, 0, 1])
    np.testing.assert_array_equal(np.isfinite(products).all(axis=1), [1, 1, 0, 1, 0, 1])


@pytest.fixture
def stored(tmp_path: Path):
    values = np.random.default_rng(3).normal(size=(101, 37)).astype(np.float32)
    path = tmp_path / "values.bin"
    path.write_bytes(b"x" * 12 + values.tobytes())
    descriptor = os.open(path, os.O_RDONLY)
    yield descriptor, values
    os.close(descriptor)


def from_file(descriptor, count, columns, *, offset=12, rows=8):
    n = len(columns)
    squares, products = np.empty(count), np.empty((columns.shape[1], count))
    buffer = np.empty((rows, n), np.float32)
    at = (descriptor, offset, buffer, n, 4, compiled.SETS[0], -1, NONE, grouped(columns))
    moments.of_file(*at, squares, products)
    return squares, products.T


@pytest.mark.parametrize("rows", [1, 8, 100, 101, 500])
def test_a_file_gives_what_its_values_give(stored, rows):
    descriptor, values = stored
    columns = np.random.default_rng(4).normal(size=(37, 3))
    found, expected = from_file(descriptor, 101, columns, rows=rows), made(values, columns)
    assert [a.tobytes() for a in found] == [a.tobytes() for a in expected]


def test_threads_do_not_meet(stored):
    descriptor, values = stored
    columns = np.random.default_rng(4).normal(size=(37, 3))
    expected = made(values, columns)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: from_file(descriptor, 101, columns, rows=3), range(64)))
    for part in found:
        assert [a.tobytes() for a in part] == [a.tobytes() for a in expected]


def test_a_file_that_is_too_short_or_not_there(stored):
    columns = np.ones((37, 1))
    with pytest.raises(EOFError, match="ends before"):
        from_file(stored[0], 102, columns)
    with pytest.raises(OSError, match="Bad file descriptor"):
        from_file(1 << 20, 1, columns)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"values": np.ones((2, 8))}, "values are not"),
        ({"columns": np.ones(8 * 17)}, "too many"),
        ({"columns": np.ones(9)}, "another size"),
        ({"scale": np.ones(5)}, "factors"),
        ({"products": np.empty(7)}, "products"),
        ({"itemsize": 2}, "4 or 8 bytes"),
        ({"samples": 0}, "have samples"),
        ({"samples": 2**61, "columns": NONE, "products": NONE, "values": NONE}, "too many samples"),
        ({"reference": 5}, "no such sample"),
        ({"kind": "mmx"}, "instructions"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(changed, told):
    given = {
        "values": np.ones((3, 5)),
        "samples": 5,
        "itemsize": 8,
        "kind": compiled.SETS[0],
        "reference": -1,
        "scale": NONE,
        "columns": np.ones((1, 2, 8)),
        "squares": np.empty(3),
        "products": np.empty((2, 3)),
    }
    moments.of_values(*given.values())
    with pytest.raises(ValueError, match=told):
        moments.of_values(*(given | changed).values())


def test_arrays_that_are_not_contiguous_or_not_writable_are_refused():
    columns, squares, products = np.ones((1, 1, 8)), np.empty(3), np.empty((1, 3))
    rest = (5, 8, compiled.SETS[0], -1, NONE, columns)
    with pytest.raises((BufferError, ValueError), match="contiguous"):
        moments.of_values(np.ones((3, 10))[:, ::2], *rest, squares, products)
    squares.flags.writeable = False
    with pytest.raises((BufferError, TypeError, ValueError), match="-"):
        moments.of_values(np.ones((3, 5)), *rest, squares, products)
