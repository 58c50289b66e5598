"""The record of a run, ``run.json``: its schema, how it is written, and how it is checked."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NotRequired, TypedDict, cast

from sfs_cli.display import shown

NAME = "run.json"
BESIDE = f".{NAME}"
"""Added to the name of a similarity of `sfs fuse` for its record."""


def record_beside(table: Path) -> Path:
    """Return where the record of a table is."""
    return table.with_name(NAME)


class InputFile(TypedDict):
    """A file that was read; `role` is the option that names it.

    `modified` is when it changed last, in nanoseconds; a copy of standard input or of a file at an
    address has none. `source` is what a store was made of: its path and sha256.
    """

    role: str
    path: str
    bytes: int
    modified: NotRequired[int]
    sha256: str
    source: NotRequired[dict[str, Any]]
    column: NotRequired[str | None]
    part: NotRequired[str]


class BesideFile(TypedDict):
    """An output in another place: its absolute path, and its size in bytes."""

    path: str
    bytes: int


class RankingFacts(TypedDict):
    """A ranking in numbers.

    `columns` says what its table has after the status: ``text``, ``integer`` or ``number``. A
    table that ``--top`` has cut has the first `n_written` features.
    """

    n_features: int
    n_scored: int
    unscored: dict[str, int]
    larger_is_better: bool
    top: list[str]
    columns: dict[str, str]
    n_written: NotRequired[int]
    eigenvalues: NotRequired[Any]


class CommonRecord(TypedDict):
    """What the records of all verbs have in common."""

    command: list[str]
    config: dict[str, Any]
    inputs: list[InputFile]
    warnings: list[str]
    versions: dict[str, str]
    started: str  # UTC, ISO 8601
    finished: str
    seconds: float
    peak_memory_bytes: int
    outputs: NotRequired[list[str]]
    beside: NotRequired[dict[str, BesideFile]]  # outputs in other places, by their flags


class Record(CommonRecord):
    """What the records of all verbs that write a ranking have in common."""

    result: RankingFacts


class SolverFacts(TypedDict, total=False):
    """How an iterative method ended; empty for other methods.

    `coefficients` is the number of features in ``coefficients.tsv``, where there is one.
    """

    converged: bool
    stop: str
    objective: list[float]
    coefficients: int


class StableFeatures(TypedDict):
    """How many features are selected in so large a share of the subsets, and of the first ones.

    `false_selections` are upper bounds on how many of them are expected although they are no
    likelier in a list than a random feature, by what is assumed of how often a feature is selected;
    empty for bootstrap samples.
    """

    threshold: float
    features: int
    of_first: int
    false_selections: dict[str, float | None]


class StabilityFacts(TypedDict, total=False):
    """What ``--stability`` found; empty without it.

    On `subsets` of the samples, of `samples` each (the smallest and the largest), the features were
    ranked again, and the first `top` of each ranking counted; `mean_length` is how many these are,
    `features` how many there could be. `stability` is Nogueira's measure, with its 95 % confidence
    `interval`.
    """

    subsets: int
    how: str
    samples: list[int]
    strata: list[str]
    donors: int | None
    top: int
    mean_length: float
    features: int
    stability: float
    interval: list[float]
    variance: float
    stable: list[StableFeatures]
    summary: str


class PlanFacts(TypedDict):
    """How the work was done; `passes` is the number of reads of the matrix that were made.

    `dask` is what ``--dask`` says, None for threads of one process.
    """

    arithmetic: str
    block_size: int
    dask: str | None
    threads: int
    passes: int


class PassFacts(TypedDict):
    """Passes of one purpose: how many were made, and the features that they read."""

    purpose: str
    executed: int
    features: int


LabelFacts = TypedDict(
    "LabelFacts",
    {
        "from": str | None,
        "type": str,
        "classes": dict[str, int],  # empty for a continuous outcome
        "smallest": float,  # of a continuous outcome
        "largest": float,
        "used": bool,
        "column": str,  # that of several which was taken by its name
    },
    total=False,
)


class ScoringFacts(TypedDict):
    """What was read, and how the features were scored.

    The keys of `graph`, `method` and `knowledge` depend on what was asked for. `input` is the
    matrix as it was read and prepared, and what is known of its samples: `orientation` says why
    rows are what they are, `left_out` how many features take no part by the reason, and `given` how
    many were chosen before.
    """

    input: dict[str, Any]
    graph: dict[str, Any]
    method: dict[str, Any]
    knowledge: dict[str, Any]
    solver: SolverFacts


class PartFacts(TypedDict):
    """What optional parts found out, by their names; empty without them."""

    survival: dict[str, Any]
    precision: dict[str, Any]
    moderation: dict[str, Any]
    scales: dict[str, Any]
    pruning: dict[str, Any]
    joint: dict[str, Any]
    modules: dict[str, Any]
    stability: StabilityFacts
    significance: dict[str, Any]
    markers: dict[str, Any]
    covariates: dict[str, Any]
    batches: dict[str, Any]


def without_parts() -> PartFacts:
    """Return the facts of a run that has no optional part."""
    return cast(PartFacts, {name: {} for name in PartFacts.__annotations__})


class RunFacts(ScoringFacts, PartFacts):
    """What a run found out about itself, for ``run.json`` and the report."""

    plan: PlanFacts
    passes: list[PassFacts]
    labels: LabelFacts


class PageFacts(TypedDict):
    """What the report says of the command line: what was ranked, and how it is ranked again.

    Paths are as they were given.
    """

    matrix: str
    command: list[str]


class RunRecord(Record, RunFacts):
    """``run.json`` of `sfs rank`.

    `defaults` are the values of options that were left out, by their names, which ``--config``
    takes as well.
    """

    defaults: dict[str, Any]
    page: PageFacts


class AggregateRecord(Record):
    """``run.json`` of `sfs aggregate`.

    `of_one_matrix` says whether two lists rank the features of one matrix, by the records beside
    them; null where that is not known.
    """

    lists: list[dict[str, Any]]
    of_one_matrix: bool | None
    agreement: dict[str, Any]


class EvaluatedList(TypedDict):
    """A list that was evaluated.

    `selection` says when its features were chosen, `n_ranked` how many are ranked.
    """

    name: str
    selection: str
    n_ranked: int
    method: NotRequired[str]
    path: NotRequired[str]
    not_in_matrix: NotRequired[int]
    made_from_this_matrix: NotRequired[bool | None]


class JudgedRecord(CommonRecord):
    """What each ``run.json`` of `sfs evaluate` and `sfs compare` has.

    `background` is the number of features that take part.
    """

    n_samples: int
    n_features: int
    background: int
    lengths: list[int]
    classifier_steps: list[str]
    lists: list[EvaluatedList]
    threads: int
    passes: int


class EvaluateRecord(JudgedRecord, total=False):
    """``run.json`` of `sfs evaluate` and `sfs compare`.

    `splits`, `repeats` and `classes` are those of the folds, where there are labels, and `donors`
    counts them where folds take whole ones; `covariates` are what is taken out of the features;
    `drivers` and `sets` count what was found. `defaults` are as in `RunRecord`.
    """

    defaults: dict[str, Any]
    splits: int
    repeats: int
    classes: dict[str, int]
    donors: int
    covariates: list[dict[str, Any]]
    drivers: dict[str, int]
    sets: dict[str, int]


class CurveFacts(TypedDict):
    """The accuracy in folds of `sfs select --cv`, and the numbers of features that it points to.

    Guesses have the balanced accuracy `by_chance`, and rarely more than `by_chance_up_to`;
    `above_chance` says whether the best number of features has more.
    """

    lengths: list[int]
    splits: int
    repeats: int
    classes: dict[str, int]
    donors: NotRequired[int]  # where folds take whole ones
    best: int
    chosen: int
    balanced_accuracy: float
    standard_error: float
    by_chance: float
    by_chance_up_to: float
    above_chance: bool


class SelectRecord(CommonRecord):
    """``run.json`` of `sfs select`.

    `rule` is the option that says how many features to take, `matrix` the file that
    ``--write-matrix`` names.
    """

    rule: str
    ranking: str
    n_ranked: int
    n_selected: int
    cv: NotRequired[CurveFacts]
    matrix: NotRequired[str]


@cache  # reading them takes 10 ms or more, and a run asks for them several times
def versions() -> dict[str, str]:
    """Return the versions of this package and of the libraries that a run may use."""
    import platform
    from importlib.metadata import PackageNotFoundError, version

    found = {"sfs": version("sfs-cli"), "python": platform.python_version()}
    libraries = ("numpy", "scipy", "pandas", "anndata", "h5py", "pyarrow")
    for name in (*libraries, "scikit-learn", "numba", "pynndescent"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue  # an extra that is not installed
    return found


def deciding_versions() -> dict[str, str]:
    """Return the versions that can change a number: parts of one ranking need the same.

    Libraries that only read and write (pandas, AnnData, h5py, PyArrow) give the same values in all
    versions. Of Python the first two numbers count: 3.12 adds up floats in another way than 3.11.
    """
    found = versions()
    names = ("sfs", "numpy", "scipy", "scikit-learn", "numba", "pynndescent")
    known = {name: found.get(name, "not installed") for name in names}
    return known | {"python": found["python"].rpartition(".")[0]}


def describe_input(path: Path) -> dict[str, Any]:
    """Return path, size in bytes and sha256 of an input.

    A store is known by its manifest, which holds the digests of its files; what it was made of is
    its ``source``.
    """
    from sfs_cli.io.files.atomic import describe, size_and_time
    from sfs_cli.store.disk import NAME as MANIFEST
    from sfs_cli.store.disk import is_store

    if not is_store(path):
        return describe(path)
    size, _ = size_and_time(path)
    found = describe(path / MANIFEST) | {"path": str(path), "bytes": size}
    source = (read_record(path / MANIFEST) or {}).get("source")
    if isinstance(source, dict) and isinstance(source.get("sha256"), str):
        found["source"] = {k: source[k] for k in ("path", "sha256", "files") if k in source}
    return found


def read_run(folder: Path) -> dict[str, Any] | None:
    """Return the ``run.json`` of an earlier run, or None where there is none that can be read."""
    return read_record(folder / NAME)


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


def outputs_of(record: Mapping[str, Any] | None) -> list[str]:
    """Return the names of the files of a result; none of a record that is damaged, or not ours."""
    names = (record or {}).get("outputs")
    if record is None or not is_ours(record) or not isinstance(names, list | dict):
        return []
    names = [*names]  # version 1.0.0 had more to say of each
    plain_names = all(isinstance(n, str) and n != ".." and Path(n).name == n for n in names)
    return names if plain_names else []


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
    before, pinned = _set(record.get("config")), _set(record.get("defaults"))
    asked = _set(options)
    # all of them, as --config gives them: one alone may be the default of another method
    if asked not in (before, pinned | before):
        name = next(n for n in [*asked, *before] if asked.get(n) != before.get(n))
        value = before.get(name, "not given")
        words = ",".join(map(str, value)) if isinstance(value, list) else value
        option, _, key = name.replace("_", "-").partition(",")
        return f"there {f'{key}= of ' if key else ''}--{option.rstrip('-')} is {words}"
    states = record.get("inputs")
    if not isinstance(states, list) or len(states) != len(inputs):
        return "there were other inputs"
    if not all(isinstance(each, dict) for each in states):
        return "its record is damaged"
    found = ((each["path"], changed(was, each)) for was, each in zip(states, inputs))
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


def _set(options: Any) -> dict[str, Any]:
    """Return options as JSON has them, without those that are not set; parameters by themselves."""
    found = plain(dict(options)) if isinstance(options, Mapping) else {}
    parts = {
        f"{name},{key}" if key != "name" else name: value
        for name, each in found.items()
        for key, value in (each.items() if isinstance(each, dict) else [("name", each)])
    }
    parts["source"] = [*(found.get("source") or ())]  # their order, which numbers of weights follow
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
