"""Comparing the files that a command leaves, each by its kind."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import numpy as np

from tools.compare.documents import CHANGING, compare_documents, only
from tools.compare.tables import (
    Findings,
    Level,
    Tolerance,
    compare_arrays,
    compare_tables,
    read_table,
)

NOT_COMPARED = re.compile(r"(^|/)(plan|[^/]*\.sfs-resume)/")
"""What runs keep for themselves."""
RANDOM = re.compile(r"-[0-9a-f]{12}(?=/|$)")
OF_A_PLAN = {"samples", "features", "shape_is_exact", "matrix_bytes", "stored_as", "arithmetic"}
OF_A_PLAN |= {"passes", "purpose", "kind", "times", "exact"}
"""Keys of a plan that do not depend on how busy the machine is."""
WORDING = {"pattern", "description"}
"""Keys of a schema that may change."""
TABLES = {".tsv": "tsv", ".csv": "csv", ".parquet": "parquet", ".json": "json", ".rnk": "rnk"}


def compare_folders(a: Path, b: Path, tolerance: Tolerance) -> Findings:
    """Compare the files of two folders, which have to have the same names."""
    found = Findings()
    before, after = _files(a), _files(b)
    for name in sorted(before.keys() - after.keys()):
        found.differ(f"{name} is not there any more")
    for name in sorted(after.keys() - before.keys()):
        found.differ(f"{name} was not there")
    for name in sorted(before.keys() & after.keys()):
        found.add(compare_files(before[name], after[name], tolerance), name)
    return found


def _files(folder: Path) -> dict[str, Path]:
    names = {str(p.relative_to(folder)): p for p in folder.rglob("*") if p.is_file()}
    return {RANDOM.sub("-", n): p for n, p in names.items() if not NOT_COMPARED.search(n)}


def compare_files(a: Path, b: Path, tolerance: Tolerance) -> Findings:
    """Compare two files of one name."""
    one, other = a.read_bytes(), b.read_bytes()
    if one == other:
        return Findings()
    if a.name.endswith(("run.json", "manifest.json")):
        return compare_records(one, other)
    if a.suffix in (".html", ".txt", ".log"):
        return _noted("has other text")
    if a.suffix == ".h5ad":
        return compare_hdf5(a, b, tolerance)
    if a.suffix in (".npz", ".npy"):
        return _compare_numpy(one, other, tolerance)
    if a.suffix in TABLES:
        return compare_texts(one, other, TABLES[a.suffix], tolerance)
    return _different("other bytes")


def compare_records(one: bytes, other: bytes) -> Findings:
    """Compare what two runs tell of themselves: all differences are notes."""
    try:
        found = compare_documents(json.loads(one), json.loads(other), strict=False)
    except ValueError as error:
        return _different(f"no JSON any more: {error}")
    found.level = Level.BYTES
    return found


def compare_texts(one: bytes, other: bytes, form: str, tolerance: Tolerance) -> Findings:
    """Compare two tables, or two JSON texts, of one form."""
    try:
        tables = [read_table(content, form) for content in (one, other)]
    except ValueError as error:
        return _different(f"cannot be read: {error}")
    if tables[0] is not None and tables[1] is not None:
        return compare_tables(*tables, tolerance)
    if form == "json":
        return compare_documents(json.loads(one), json.loads(other), strict=True)
    return _different("no table any more")


def compare_printed(one: str, other: str, verb: str, tolerance: Tolerance) -> Findings:
    """Compare what two calls printed: a table or JSON by its values, words not at all."""
    if one == other:
        return Findings()
    if not one or not other:
        return _different("prints nothing any more" if one else "printed nothing before")
    ranks = verb.split()[0] in ("rank", "aggregate")
    if one.startswith(("{", "[")):
        if ranks and one.startswith("["):
            return compare_texts(one.encode(), other.encode(), "json", tolerance)
        return _compare_json(one, other, verb)
    forms = ("rnk",) if "--format rnk" in verb else ("tsv", "csv")
    for form in forms if ranks else ():
        if read_table(one.encode(), form) is not None:
            return compare_texts(one.encode(), other.encode(), form, tolerance)
    return _noted("other words")


def _compare_json(one: str, other: str, verb: str) -> Findings:
    try:
        read = [json.loads(text) for text in (one, other)]
    except ValueError as error:
        return _different(f"no JSON any more: {error}")
    found = Findings(Level.WITHIN)
    strict = verb.startswith(("inspect", "shard status", "config schema"))
    if verb.startswith("plan"):
        fixed = [only(document, OF_A_PLAN) for document in read]
        found.add(compare_documents(*fixed, strict=True), "plan")
    ignored = CHANGING | WORDING if verb.startswith("config schema") else CHANGING
    found.add(compare_documents(*read, strict=strict, ignored=ignored), "JSON")
    if not found.differences:
        found.level = Level.BYTES  # what may change has changed
    return found


def _compare_numpy(one: bytes, other: bytes, tolerance: Tolerance) -> Findings:
    arrays = [np.load(io.BytesIO(content), allow_pickle=False) for content in (one, other)]
    if isinstance(arrays[0], np.ndarray):
        return compare_arrays(*arrays, tolerance)
    found = Findings(Level.WITHIN)
    if set(arrays[0]) != set(arrays[1]):
        found.differ(f"holds {sorted(arrays[0])}, now {sorted(arrays[1])}")
    for name in set(arrays[0]) & set(arrays[1]):
        found.add(compare_arrays(arrays[0][name], arrays[1][name], tolerance), name)
    return found


def compare_hdf5(a: Path, b: Path, tolerance: Tolerance) -> Findings:
    """Compare every dataset of two HDF5 files; what a run tells of itself in uns is noted."""
    import h5py

    found = Findings(Level.WITHIN)
    with h5py.File(a) as one, h5py.File(b) as other:
        before, after = _datasets(one), _datasets(other)
        for name in sorted(before.keys() ^ after.keys()):
            told = f"{name} is {'gone' if name in before else 'new'}"
            found.note(told) if name.startswith("uns/") else found.differ(told)
        for name in sorted(before.keys() & after.keys()):
            pair = compare_arrays(before[name], after[name], tolerance)
            if name.startswith("uns/"):
                pair = Findings(notes=pair.differences)
            found.add(pair, name)
    return found


def _datasets(file: object) -> dict[str, np.ndarray]:
    import h5py

    made: dict[str, np.ndarray] = {}

    def take(name: str, node: object) -> None:
        if isinstance(node, h5py.Dataset):
            made[name] = np.asarray(node[()])

    file.visititems(take)  # type: ignore[attr-defined]
    return made


def _different(text: str) -> Findings:
    found = Findings()
    found.differ(text)
    return found


def _noted(text: str) -> Findings:
    return Findings(notes=[text])
