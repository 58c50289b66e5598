"""The compact protocol of Thrift, as far as the footer of a Parquet file needs it.

Values are walked over, not made into objects: a footer of many columns is read in little more
memory than the places of its parts. Malformed bytes end in an `IndexError` or `ValueError`.
"""

from __future__ import annotations

from collections.abc import Collection

I32, I64, BINARY, LIST, STRUCT = 5, 6, 8, 9, 12
"""Codes of types in the headers of fields and lists."""
_BOOLEANS = (1, 2)
_BYTE, _I16, _DOUBLE, _SET = 3, 4, 7, 10
_VARINTS = (_I16, I32, I64)


def read_varint(data: memoryview, at: int) -> tuple[int, int]:
    """Return an unsigned number of variable length, and where it ends."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7


def read_integer(data: memoryview, at: int) -> int:
    """Return a signed number of 16, 32 or 64 bits."""
    value, _ = read_varint(data, at)
    return (value >> 1) ^ -(value & 1)


def read_binary(data: memoryview, at: int) -> memoryview:
    """Return a string or other bytes, not copied."""
    size, at = read_varint(data, at)
    return data[at : at + size]


def read_list(data: memoryview, at: int) -> tuple[int, int, int]:
    """Return the number of items of a list, their type, and where the first begins."""
    head = data[at]
    if head >> 4 < 15:
        return head >> 4, head & 15, at + 1
    size, at = read_varint(data, at + 1)
    return size, head & 15, at


def find_fields(
    data: memoryview, at: int, wanted: Collection[int] = (), *, to_end: bool = True
) -> tuple[dict[int, int], int]:
    """Walk over a struct.

    Parameters
    ----------
    data : memoryview of bytes
        What it is in.
    at : int
        Where it begins.
    wanted : collection of int
        Field numbers.
    to_end : bool
        Go on when all that is wanted has been found.

    Returns
    -------
    found : dict of int to int
        Where the value of each field that is wanted and there begins.
    end : int
        Where the struct ends, if it was walked over to its end.
    """
    found: dict[int, int] = {}
    field = 0
    while to_end or len(found) < len(wanted):
        head = data[at]
        at += 1
        if head == 0:
            break
        if head >> 4:
            field += head >> 4
        else:
            field = read_integer(data, at)
            at = read_varint(data, at)[1]
        if field in wanted:
            found[field] = at
        if head & 15 not in _BOOLEANS:  # the value of a boolean is its type
            at = _skip(data, at, head & 15)
    return found, at


def _skip(data: memoryview, at: int, kind: int) -> int:
    """Return where a value ends."""
    if kind in _VARINTS:
        while data[at] > 127:
            at += 1
        return at + 1
    if kind == BINARY:
        size, at = read_varint(data, at)
        return at + size
    if kind == STRUCT:
        return find_fields(data, at)[1]
    if kind in (LIST, _SET):
        count, item, at = read_list(data, at)
        for _ in range(count):
            at = _skip(data, at, item)
        return at
    if kind in (_BYTE, *_BOOLEANS):  # of a list, where a boolean takes a byte
        return at + 1
    if kind == _DOUBLE:
        return at + 8
    raise ValueError(f"type {kind} has no place in a Parquet footer")


def varint(value: int) -> bytes:
    """Return the bytes of an unsigned number."""
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def integer(value: int) -> bytes:
    """Return the bytes of a signed number of up to 64 bits."""
    return varint((value << 1) ^ (value >> 63))


def binary(value: bytes) -> bytes:
    """Return the bytes of a string."""
    return varint(len(value)) + value


def structs(items: list[bytes]) -> bytes:
    """Return the bytes of a list of structs."""
    return b"\xfc" + varint(len(items)) + b"".join(items)


def struct(*fields: tuple[int, int, bytes]) -> bytes:
    """Return the bytes of a struct of fields: number (rising, at most 15), type, value."""
    out, last = [], 0
    for number, kind, value in fields:
        out += [bytes([(number - last) << 4 | kind]), value]
        last = number
    return b"".join(out) + b"\0"
