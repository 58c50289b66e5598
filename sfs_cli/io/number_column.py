"""Parsing one long column of numbers written as text."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv

from sfs_cli.io.arrow_rows import column_values
from sfs_cli.io.header import NULL_TOKENS


def parse_column(column: bytes) -> np.ndarray:
    """Parse numbers, one in a line, as float64; what is missing is NaN.

    Raises
    ------
    pyarrow.ArrowInvalid
        If one is not a number.
    """
    table = pacsv.read_csv(
        pa.BufferReader(column),
        read_options=pacsv.ReadOptions(
            column_names=["value"], use_threads=False, block_size=len(column)
        ),
        parse_options=pacsv.ParseOptions(
            delimiter="\x01",
            quote_char='"' if b'"' in column else False,
            ignore_empty_lines=False,
        ),
        convert_options=pacsv.ConvertOptions(
            column_types={"value": pa.float64()}, null_values=NULL_TOKENS
        ),
    )
    return column_values(pa.concat_arrays(table.column(0).chunks))


def parses(values: list[bytes]) -> bool:
    """Say whether all of some texts are numbers or missing."""
    try:
        parse_column(b"".join(value + b"\n" for value in values))
    except pa.ArrowInvalid:
        return False
    return True
