"""The record of a run, ``run.json``: its schema, how it is written, and how it is checked."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from sfs_cli.display import shown

NAME = "run.json"
BESIDE = f".{NAME}"
"""Added to the name of a similarity of `sfs fuse` for its record."""


def record_beside(table: Path) -> Path:
    """Return where the record of a table is."""
    return table.with_name(NAME)


InputFile = dict[str, Any]
"""A file that was read.

``role`` is the option that names it; ``path``, ``bytes`` and ``modified`` (when it changed last, in
nanoseconds) tell it from another; ``sha256`` is of its content, ``column`` or ``part`` what of it
is read. ``source`` is what a store was made of: path, sha256 and files.
"""
RunFacts = dict[str, Any]
"""What a run found out about itself, for ``run.json`` and the report: keys of `KEYS`."""
RunRecord = dict[str, Any]
"""``run.json``."""

KEYS = {
    "all": {
        "command": "the command line; of a function of Python, one that means the same",
        "config": "the options, which `--config` takes",
        "inputs": "role (the option), path, size, time and sha256 of each file that was read",
        "warnings": "all of them, the most important first",
        "versions": "of sfs, Python and libraries",
        "started": "UTC, ISO 8601",
        "finished": "the same",
        "seconds": "wall time",
        "peak_memory_bytes": "the largest resident size of the process",
        "outputs": "names of the files beside `run.json`",
        "beside": "absolute paths of outputs in other places, by their options",
    },
    "rank": {
        "result": "the ranking in numbers: `n_features`, `n_scored`, `unscored` (why), `top`, "
        "`columns`, `eigenvalues` of the sample graph and, if `--top` has cut it, `n_written`",
        "input": "the matrix as it was read and prepared: `orientation` says why rows are what "
        "they are, `left_out` how many features take no part",
        "graph": "the sample graph",
        "method": "the method and its parameters, with defaults",
        "knowledge": "the sources, and their weights",
        "solver": "how an iterative method ended: `converged`, `stop`, `objective`",
        "plan": "how the work was done: arithmetic, features in a block, threads, passes",
        "passes": "readings of the matrix by their purpose, and the features that they read",
        "labels": "their type, and classes with their numbers of samples, or the range",
        "defaults": "values of options that were left out, which `--config` takes as well",
    },
    "aggregate": {
        "result": "as that of `rank`",
        "lists": "the rankings that were read",
        "of_one_matrix": "whether two lists are of one matrix; null where that is not known",
        "agreement": "of the lists",
    },
    "evaluate": {
        "n_samples": "in use",
        "n_features": "of the matrix",
        "background": "features that take part",
        "lengths": "of the lists",
        "classifier_steps": "what is done with the values before the classifiers",
        "lists": "what was evaluated: `selection` says when its features were chosen",
        "threads": "that worked",
        "passes": "readings of the matrix",
        "splits": "folds",
        "repeats": "of the splits",
        "classes": "with their numbers of samples",
        "donors": "where folds take whole ones",
        "covariates": "what is taken out of the features",
        "drivers": "how many were found",
        "sets": "how many were found",
        "defaults": "as those of `rank`",
    },
    "select": {
        "rule": "the option that says how many features to take",
        "ranking": "the table that was read",
        "n_ranked": "features in it",
        "n_selected": "features that are taken",
        "cv": "the accuracy in folds, and what guesses have by chance",
        "matrix": "the file that `--write-matrix` names",
    },
}
"""The keys of ``run.json``: of all commands, and what each adds."""


@cache  # reading them takes 10 ms or more, and a run asks for them several times
def versions() -> dict[str, str]:
    """Return the versions of this package and of the libraries that a run may use."""
    import platform
    from importlib.metadata import PackageNotFoundError, version

    found = {"sfs": version("sfs-cli"), "python": platform.python_version()}
    libraries = ("numpy", "scipy", "pandas", "anndata", "h5py", "zarr", "pyarrow", "matplotlib")
    for name in (*libraries, "scikit-learn"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue  # an extra that is not installed
    return found


def deciding_versions() -> dict[str, str]:
    """Return the versions that can change a number: parts of one ranking need the same.

    Libraries that only read and write (pandas, AnnData, h5py, zarr, PyArrow) give the same values
    in all versions. Of Python the first two numbers count: 3.12 adds up floats in another way than
    3.11.
    """
    found = versions()
    names = ("sfs", "numpy", "scipy", "scikit-learn")
    known = {name: found.get(name, "not installed") for name in names}
    return known | {"python": found["python"].rpartition(".")[0]}


def describe_input(path: Path) -> dict[str, Any]:
    """Return path, size in bytes and sha256 of an input.

    A store is known by its manifest, which holds the digests of its files; what it was made of is
    its ``source``.
    """
    from sfs_cli.io.files.atomic import sha256_file, size_and_time
    from sfs_cli.io.files.sniff import MANIFEST, is_store
    from sfs_cli.io.files.text import split_member

    found: dict[str, Any] = {"path": str(path), "bytes": size_and_time(path)[0]}
    file, modality = split_member(path)
    if is_store(path):
        found["sha256"] = sha256_file(path / MANIFEST)
        source = (read_record(path / MANIFEST) or {}).get("source", {})
        if "sha256" in source:
            files = [each for each in source.get("inputs", ()) if of_matrix(each["role"])]
            found["source"] = {"path": source["path"], "sha256": source["sha256"], "files": files}
    elif file.is_dir():
        total = hashlib.sha256()
        for each in sorted(p for p in file.rglob("*") if p.is_file()):
            total.update(f"{each.relative_to(file).as_posix()}\0{sha256_file(each)}\n".encode())
        found["sha256"] = total.hexdigest()
    else:
        found["sha256"] = sha256_file(file)
        if modality is not None:  # two modalities of a file are two matrices
            both = f"{modality}\0{found['sha256']}\n"
            found["sha256"] = hashlib.sha256(both.encode()).hexdigest()
    return found


def of_matrix(role: str) -> bool:
    """Tell whether an input is the matrix, or one of its files."""
    return role.partition(".")[0] in ("matrix", "files")


def read_record(path: Path) -> dict[str, Any] | None:
    """Return a record of provenance, or None where there is none that can be read."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None


def is_ours(record: Mapping[str, Any]) -> bool:
    """Tell whether a record is one of this program."""
    versions = record.get("versions")
    return isinstance(versions, dict) and "sfs" in versions


def outputs_of(record: Mapping[str, Any]) -> list[str]:
    """Return the names of the files of a result; none of a record that is not ours."""
    names = record.get("outputs")  # earlier versions had more to say of each
    known = names if is_ours(record) and isinstance(names, list | dict) else []
    return [Path(name).name for name in known]


def made_by(record: Mapping[str, Any]) -> str:
    """Return the version of sfs that made a result, where it is not this one."""
    version = str(record["versions"]["sfs"])
    return "" if version == versions()["sfs"] else version


def difference(
    record: Mapping[str, Any], options: Mapping[str, Any], inputs: Sequence[Mapping[str, Any]]
) -> str:
    """Return in what a run differs from the one of a record, in words; nothing if it is the same.

    Parameters
    ----------
    record : dict
        That of a result; `outputs_of` knows whether it is ours.
    options : dict
        Every option that changes the result, paths included.
    inputs : sequence of InputFile
        Which they are, options say.
    """
    before, pinned = _set(record["config"]), _set(record.get("defaults", {}))
    asked = _set(options)
    # all of them, as --config gives them: one alone may be the default of another method
    if asked not in (before, pinned | before):
        name = next(n for n in [*asked, *before] if asked.get(n) != before.get(n))
        value = before.get(name, "not given")
        words = ",".join(map(str, value)) if isinstance(value, list) else value
        option, _, key = name.replace("_", "-").partition(",")
        return f"there {f'{key}= of ' if key else ''}--{option.rstrip('-')} is {words}"
    if len(record["inputs"]) != len(inputs):
        return "there were other inputs"
    found = ((each["path"], changed(was, each)) for was, each in zip(record["inputs"], inputs))
    return next((f"{shown(str(path))} had {what}" for path, what in found if what), "")


def changed(was: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Return what of an input is another than it was, in words; nothing if it is the same.

    A file is the same if its size and the time of its last change are. It is read for its sha256
    only where the time is another: files are touched, and engines copy them.
    """
    for part in ("column", "part"):
        if was.get(part) != now.get(part):
            return f"another {part} that is read"
    if was.get("bytes") != now["bytes"]:
        return "another size"
    if "modified" in now and was.get("modified") == now["modified"]:
        return ""
    digest = now.get("sha256") or describe_input(Path(now["path"]))["sha256"]
    return "" if was.get("sha256") == digest else "another content"


def _set(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options as JSON has them, without those that are not set; parameters by themselves."""
    parts: dict[str, Any] = {}
    for name, value in plain(dict(options)).items():
        each = value if isinstance(value, dict) else {"name": value}
        parts |= {name if key == "name" else f"{name},{key}": v for key, v in each.items()}
    parts["source"] = [*(options.get("source") or ())]  # in their order, as numbers of weights are
    return {name: value for name, value in parts.items() if value not in (None, [], {})}


def dumps(content: dict[str, Any]) -> str:
    """Return JSON with numbers that JSON lacks as null, and files by the names they have."""
    return json.dumps(plain(content), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def plain(value: Any) -> Any:
    """Turn arrays, NumPy numbers, paths and non-finite numbers into what JSON has."""
    if isinstance(value, dict):
        return {shown(str(k)): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float) and not (float("-inf") < value < float("inf")):
        return None
    if isinstance(value, Path | str):
        return shown(str(value))
    return value
