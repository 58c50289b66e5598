"""What a shell completes from files: names of columns and keys, from headers alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sfs_cli.io.files.child_process import call_apart
from sfs_cli.io.files.names import decoded
from sfs_cli.io.files.sniff import Kind, recognize
from sfs_cli.io.files.text import H5MU, split_member


def names_inside(matrix: str, part: str) -> list[str]:
    """Return the names in a part of AnnData (obs, obsp, obsm, layers), or the modalities (mod)."""
    file, modality = split_member(Path(matrix))
    if file.is_dir():
        return _names_in_zarr(file / part)

    def work() -> list[str]:
        import h5py  # here, as only this child needs it

        with h5py.File(file, "r") as held:
            group: Any = held
            if file.suffix.lower() == H5MU and part != "mod":
                names = list(held["mod"])
                group = held[f"mod/{modality or names[0]}"] if modality or len(names) == 1 else {}
            return _names_in(group[part]) if part in group else []

    return call_apart(work, file) if recognize(file).kind is Kind.HDF5 else []


def _names_in(group: Any) -> list[str]:
    """Return the names of columns of a table, or the keys of a group."""
    if not hasattr(group, "keys"):  # from before AnnData 0.7
        names = group.dtype.names or ()
        return list(names[1:] if "index" in names[:1] else names)
    order = group.attrs.get("column-order")
    return list(group) if order is None else list(map(decoded, order))


def _names_in_zarr(folder: Path) -> list[str]:
    for name in (".zattrs", "zarr.json"):
        if (folder / name).exists():
            held = json.loads((folder / name).read_bytes())
            order = held.get("attributes", held).get("column-order")
            if order is not None:
                return [str(each) for each in order]
    return sorted(each.name for each in folder.iterdir() if each.is_dir())


def columns_of(path: str) -> list[str]:
    """Return the names of the columns of a table but the first, which has the ids of the rows."""
    content = recognize(path)
    if content.kind is Kind.PARQUET:
        import pyarrow.parquet as pq

        return [str(name) for name in pq.read_schema(path).names[1:]]
    if not content.is_text:
        return []
    from sfs_cli.io.files.table import read_header
    from sfs_cli.io.files.text import LineStream

    with LineStream(Path(path)) as stream:
        return read_header(stream).names[1:]
