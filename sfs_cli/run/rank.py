"""``sfs rank``: load, score, rank, write.

`run` is the command: it claims the output, tells whether the result is there already, ranks and
writes. `rank` is the same without files, for Python.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from sfs_cli import provenance
from sfs_cli.catalog import METHODS, Method
from sfs_cli.compute import memory as memory_of
from sfs_cli.compute.memory import format_size
from sfs_cli.errors import OutputExistsError, UsageError
from sfs_cli.io.files.atomic import check_writable
from sfs_cli.io.files.lock import Lock
from sfs_cli.logs import Messages
from sfs_cli.methods.base import Solution, Status
from sfs_cli.options import RankConfig
from sfs_cli.options.files import resolved
from sfs_cli.provenance import (
    InputFile,
    LabelFacts,
    MatrixFacts,
    PassFacts,
    PlanFacts,
    RunFacts,
    SolverFacts,
)
from sfs_cli.ranking.table import Ranking, rank_features
from sfs_cli.run.checkpoints import (
    NO_CHECKPOINTS,
    RunCheckpoints,
    checkpoints_beside,
    remove_checkpoints,
)
from sfs_cli.run.load import Run, loaded
from sfs_cli.run.outputs import (
    check_json_option,
    claimed,
    describe_inputs,
    is_done,
    json_bytes,
    log_result,
    ranking_facts,
    record_head,
    record_tail,
    write_folder,
)
from sfs_cli.run.scoring import Scored, run_method
from sfs_cli.run.time_limit import time_limit

if TYPE_CHECKING:
    from distributed import Client

OpenCheckpoints = Callable[[str, Lock], AbstractContextManager[RunCheckpoints]]
"""Opens the checkpoints of a run, given the fingerprint of the work and the lock of its output."""


def run(config: RankConfig, messages: Messages, *, as_json: bool = False) -> bytes:
    """Rank, write what the configuration asks for, and return what belongs on stdout.

    Raises
    ------
    SfsError
        For anything the user can correct.
    """
    check_outputs(config, as_json)
    if config.out is None:
        _check_copies(config)
        with time_limit(config.time_limit, messages, hint="allow more time; --resume needs --out"):
            result = rank(config, messages)
            _write_copies(config, result)
        _log_summary(config, result, messages)
        from sfs_cli.io.results.writers import ranking_bytes

        return ranking_bytes(result.ranking, config.format, config.digits)

    @contextmanager
    def open_checkpoints(fingerprint: str, lock: Lock) -> Iterator[RunCheckpoints]:
        output = Path(str(config.out))
        with checkpoints_beside(output, fingerprint, lock, messages, resume=config.resume) as found:
            yield found

    hint = "allow more time; with --resume, a run continues where another has stopped"
    if config.resume:
        hint = "run the same command with more time: --resume continues it"
    return run_into_folder(
        config,
        lambda: describe_inputs(config),
        open_checkpoints,
        messages,
        as_json=as_json,
        hint=hint,
    )


def run_into_folder(
    config: RankConfig,
    describe: Callable[[], list[InputFile]],
    open_checkpoints: OpenCheckpoints,
    messages: Messages,
    *,
    as_json: bool,
    hint: str,
) -> bytes:
    """Rank into the output folder of a configuration, unless exactly this result is there.

    Parameters
    ----------
    config : RankConfig
        What to rank, how, and where to.
    describe : callable
        Returns the input files, as ``run.json`` has them.
    open_checkpoints : callable
        Opens what outlives the run.
    messages : Messages
        Receives messages and progress.
    as_json : bool
        Whether ``run.json`` belongs on stdout.
    hint : str
        What to do after the time limit.

    Returns
    -------
    bytes
        What belongs on stdout.
    """
    out, copies = Path(str(config.out)), copies_of(config)
    check_writable(out, "--out")
    with (
        claimed(out, messages, beside=list(copies.values())) as lock,
        time_limit(config.time_limit, messages, hint=hint),
    ):
        with messages.progress("checking inputs", None):
            inputs = describe()
        fingerprint = provenance.fingerprint(config.result_options(), inputs)
        there = all(path.exists() for path in copies.values())
        if is_done(out, config, fingerprint) and there:
            remove_checkpoints(out)
            messages.note(f"{out}: up to date")
            return json_bytes(provenance.read_run(out), as_json)
        _check_copies(config, lock)
        with open_checkpoints(fingerprint, lock) as checkpoints:
            result = rank(config, messages, checkpoints=checkpoints)
            record = _write_result(config, result, inputs)
            _write_copies(config, result)
    _log_summary(config, result, messages)
    return json_bytes(record, as_json)


@dataclass
class RankResult:
    """A ranking and all that is known of how it was made.

    Attributes
    ----------
    ranking : Ranking
        The table.
    method : Method
        The method of the configuration.
    facts : RunFacts
        What ``run.json`` and the report say of the run.
    eigenvalues : ndarray, optional
        Leading eigenvalues of the sample graph.
    coefficients : (list of str, ndarray), optional
        Features with non-zero coefficients and their rows, for methods that have some.
    warnings : list of str
        Warnings that the user was given.
    seconds : float
        Wall time.
    peak_memory : int
        Largest resident size of the process, bytes.
    """

    ranking: Ranking
    method: Method
    facts: RunFacts
    eigenvalues: np.ndarray | None = None
    coefficients: tuple[list[str], np.ndarray] | None = None
    warnings: list[str] = field(default_factory=list)
    seconds: float = 0.0
    peak_memory: int = 0


def rank(
    config: RankConfig,
    messages: Messages | None = None,
    *,
    client: Client | None = None,
    checkpoints: RunCheckpoints = NO_CHECKPOINTS,
) -> RankResult:
    """Rank the features of a matrix.

    Parameters
    ----------
    config : RankConfig
        What to rank and how.
    messages : Messages, optional
        Receives messages and progress; silent by default.
    client : distributed.Client, optional
        Of a Dask cluster to run on; it stays open.
    checkpoints : RunCheckpoints
        What outlives the run.

    Raises
    ------
    SfsError
        For anything the user can correct.
    """
    started = time.perf_counter()
    messages = messages or Messages(verbosity=-1)
    with loaded(config, messages, checkpoints, client) as loaded_run:
        result = _result(loaded_run, score(loaded_run))
    result.warnings = list(messages.warnings)
    result.seconds = time.perf_counter() - started
    result.peak_memory = memory_of.peak_resident()
    return result


def score(run: Run) -> Scored:
    """Score the features as the configuration asks, making the passes of the list.

    Raises
    ------
    SfsError
        For anything the user can correct.
    """
    passes = run.passes
    with run.log.progress("ranking", passes.total) as advance:
        passes.watch(run.log.phase, advance)
        run.fit()
        if run.config.method == "kogs":
            from sfs_cli.run.fused_rank import run_kogs  # imports SciPy

            scored = run_kogs(run)
        elif run.sources:
            from sfs_cli.run.fused_rank import rank_on_sources

            scored = rank_on_sources(run)
        else:
            scored = run_method(run)
    for surprise in passes.surprises():
        run.log.detail(f"passes over the matrix were not as planned: {surprise}")
    return scored


def _result(run: Run, scored: Scored) -> RankResult:
    """Order the features, and collect the facts of the run."""
    solution, features = scored.solution, run.matrix.ids.features
    ranking = rank_features(
        features,
        solution.score,
        solution.status,
        [s.text for s in Status],
        larger_is_better=solution.larger_is_better,
        order=solution.order,
        extra=solution.extra,
        threads=run.plan.workers,
    )
    facts: RunFacts = {
        "input": _input_facts(run),
        "graph": scored.graph,
        "method": _method_facts(run) | solution.facts,
        "knowledge": scored.sources,
        "solver": _solver_facts(solution),
        "plan": _plan_facts(run),
        "passes": cast(list[PassFacts], run.passes.facts()),
        "labels": _label_facts(run),
    }
    coefficients = None
    if solution.coefficients is not None:
        indices, rows = solution.coefficients
        coefficients = ([features[int(i)] for i in indices], rows)
    method = METHODS[run.config.method]
    return RankResult(ranking, method, facts, scored.eigenvalues, coefficients)


def _method_facts(run: Run) -> dict[str, Any]:
    config = run.config
    facts: dict[str, Any] = {"name": config.method}
    if config.method == "kogs":
        from sfs_cli.run.fused_rank import DEFAULT_AGGREGATION

        facts["how"] = config.how or DEFAULT_AGGREGATION
    if config.members:
        return facts | {"members": list(config.members)}
    then = {} if config.method == config.scorer else {"then": config.scorer}
    return facts | then | run.options


def _input_facts(run: Run) -> MatrixFacts:
    source = run.matrix
    facts = run.reading | {
        "n_samples": source.n_samples,
        "n_samples_in_file": source.matrix.n_samples,
        "n_features": source.n_features,
        "dtype": source.dtype.name,
        "sparse": source.matrix.sparse,
        "missing_values": source.matrix.missing.values,
        "features_with_missing_values": source.matrix.missing.features,
        "transform": list(source.steps),
    }
    return cast(MatrixFacts, facts)


def _solver_facts(solution: Solution) -> SolverFacts:
    if not solution.stop and not solution.objective:
        return {}
    return {
        "converged": solution.converged,
        "stop": solution.stop,
        "objective": solution.objective,
    }


def _plan_facts(run: Run) -> PlanFacts:
    plan = run.plan
    return {
        "arithmetic": plan.dtype.name,
        "block_size": plan.block_size,
        "executor": run.config.executor,
        "threads": plan.workers,
        "passes": run.passes.executed,
    }


def _label_facts(run: Run) -> LabelFacts:
    if run.labels is None:
        return {}
    return {
        "from": run.config.labels,
        "classes": run.labels.counts(),
        "used": run.context.labels is not None,
    }


def check_outputs(config: RankConfig, as_json: bool) -> None:
    """Refuse outputs that cannot be written for this input.

    Raises
    ------
    UsageError
        Which says why.
    """
    check_json_option(config.out, as_json)
    if config.write_h5ad is None:
        return
    if Path(config.matrix).suffix != ".h5ad":
        raise UsageError(
            "--write-h5ad copies an h5ad input; the matrix is not one",
            hint="use --out, or convert the matrix to h5ad first",
            option="write_h5ad",
        )
    if config.use_raw:
        raise UsageError(
            "--write-h5ad has no place for the scores of --use-raw",
            hint="leave one of them out",
            option="write_h5ad",
        )
    target = Path(config.write_h5ad)
    if target.exists() and target.samefile(config.matrix):
        raise UsageError(
            f"--write-h5ad {target} would replace the input",
            hint="give the copy another name",
            option="write_h5ad",
        )


def copies_of(config: RankConfig) -> dict[str, Path]:
    """Return the files that are asked for beside the output folder, by their flags."""
    asked = {"--write-h5ad": config.write_h5ad, "--weights-out": config.weights_out}
    return {name: Path(path) for name, path in asked.items() if path is not None}


def _check_copies(config: RankConfig, lock: Lock | None = None) -> None:
    """Refuse to write over other files, or where nothing can be, before anything is computed."""
    for name, path in copies_of(config).items():
        ours = lock is not None and str(path.absolute()) in lock.left  # of a run that was killed
        if path.exists() and not config.force and not ours:
            raise OutputExistsError(f"{name} {path} exists", hint="give another name, or --force")
        check_writable(path, name)
        if lock is not None:
            lock.leaves(path.absolute())


def _write_result(
    config: RankConfig, result: RankResult, inputs: list[InputFile]
) -> dict[str, Any]:
    """Write the ranking, the report and ``run.json``; return the content of the latter."""
    from sfs_cli.run.report_data import report_data

    record: dict[str, Any] = {
        **record_head(config.result_options(), inputs),
        "config": resolved(config, str(config.out)),
        **result.facts,
        "result": ranking_facts(result.ranking) | {"eigenvalues": result.eigenvalues},
        **record_tail(result.warnings, result.seconds, result.peak_memory),
    }
    threads = result.facts["plan"]["threads"]
    data = report_data(config, result)
    return write_folder(config, result.ranking, data, Path(config.matrix).name, record, threads)


def _write_copies(config: RankConfig, result: RankResult) -> None:
    from sfs_cli.io.results.writers import write_coefficients, write_scores

    if config.write_h5ad is not None:
        facts = {"config": config.result_options(), **result.facts}
        about, target = provenance.dumps(facts), Path(config.write_h5ad)
        write_scores(Path(config.matrix), target, result.ranking, about)
    if config.weights_out is not None and result.coefficients is not None:
        write_coefficients(Path(config.weights_out), *result.coefficients)


def _log_summary(config: RankConfig, result: RankResult, messages: Messages) -> None:
    ranking, samples = result.ranking, result.facts["input"]["n_samples"]
    messages.note(
        f"ranked {ranking.n_scored:,} of {len(ranking):,} features on {samples:,} samples by "
        f"{result.method.title} in {result.seconds:.2f} s "
        f"(peak memory {format_size(result.peak_memory)})"
    )
    log_result(config, ranking, messages)
