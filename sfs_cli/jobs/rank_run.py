"""``sfs rank`` from configuration to files: up to date or not, ranked, written, summed up."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from sfs_cli import provenance
from sfs_cli.compute.memory import format_size
from sfs_cli.config import RankConfig
from sfs_cli.errors import OutputExistsError, UsageError
from sfs_cli.io.atomic import check_writable
from sfs_cli.io.lock import Lock
from sfs_cli.io.writers import ranking_bytes
from sfs_cli.jobs import outputs, result_folder
from sfs_cli.jobs.claim import claimed
from sfs_cli.jobs.opening import Kept
from sfs_cli.jobs.rank import RankResult, rank
from sfs_cli.jobs.resume import forget, kept_beside
from sfs_cli.jobs.time_limit import time_limit
from sfs_cli.logs import Messages

Keeping = Callable[[str, Lock], AbstractContextManager[Kept]]


def run(config: RankConfig, messages: Messages, *, as_json: bool = False) -> bytes:
    """Rank, write what was asked for, and return what belongs on stdout.

    Raises
    ------
    SfsError
        For anything the user can mend.
    """
    check(config, as_json)
    if config.out is None:
        _refuse_existing(config)
        with time_limit(config.time_limit, messages, kept=None):
            result = rank(config, messages)
            _write_copies(config, result)
        _summarise(config, result, messages)
        return ranking_bytes(result.ranking, config.format, config.digits)
    hint = "allow more time with the same --resume, and it goes on from there"
    out = Path(config.out)

    @contextmanager
    def keeping(wanted: str, lock: Lock) -> Iterator[Kept]:
        with kept_beside(out, wanted, lock, messages, resume=config.resume) as kept:
            yield kept

    return into_folder(
        config,
        lambda: outputs.describe_inputs(config),
        keeping,
        messages,
        as_json=as_json,
        hint=hint if config.resume else None,
    )


def check(config: RankConfig, as_json: bool) -> None:
    """Refuse outputs that cannot be meant.

    Raises
    ------
    UsageError
        Which says why.
    """
    if config.write_h5ad is not None:
        _check_h5ad(config)
    result_folder.check_json(config.out, as_json)


def into_folder(
    config: RankConfig,
    describe: Callable[[], list[dict[str, Any]]],
    keeping: Keeping,
    messages: Messages,
    *,
    as_json: bool,
    hint: str | None = None,
) -> bytes:
    """Rank into the output folder of a configuration, unless the very result is there.

    Parameters
    ----------
    config : RankConfig
        What to rank, how, and where to.
    describe : callable
        Returns the inputs, as ``run.json`` has them.
    keeping : callable
        Given the fingerprint of the work and the lock of the output; gives what outlives the run.
    messages : Messages
        Told of decisions and progress.
    as_json : bool
        Whether ``run.json`` belongs on stdout.
    hint : str, optional
        How a run can be gone on with that was stopped by its time limit.

    Returns
    -------
    bytes
        What belongs on stdout.
    """
    out, copies = Path(str(config.out)), copies_of(config)
    check_writable(out, "--out")
    with (
        claimed(out, messages, beside=list(copies.values())) as lock,
        time_limit(config.time_limit, messages, kept=hint),
    ):
        with messages.progress("checking inputs", None):
            described = describe()
        wanted = provenance.fingerprint(config.result_options(), described)
        if result_folder.check_folder(out, config, wanted) and all(
            path.exists() for path in copies.values()
        ):
            forget(out)
            messages.note(f"{out}: up to date")
            return result_folder.json_of(provenance.read_run(out), as_json)
        _refuse_existing(config, lock)
        with keeping(wanted, lock) as kept:
            result = rank(config, messages, kept=kept)
            record = outputs.write_outputs(config, result, described, ["sfs", *sys.argv[1:]])
            _write_copies(config, result)
    _summarise(config, result, messages)
    return result_folder.json_of(record, as_json)


def _check_h5ad(config: RankConfig) -> None:
    if Path(config.matrix).suffix != ".h5ad":
        raise UsageError(
            "--write-h5ad copies an h5ad input; the matrix is not one",
            hint="use --out, or convert the matrix to h5ad first",
        )
    if config.use_raw:
        raise UsageError(
            "--write-h5ad has no place for the scores of --use-raw", hint="leave one of them out"
        )
    target = Path(str(config.write_h5ad))
    if target.exists() and target.samefile(config.matrix):
        raise UsageError(
            f"--write-h5ad {target} would replace the input", hint="give the copy another name"
        )


def _refuse_existing(config: RankConfig, lock: Lock | None = None) -> None:
    """Refuse to write over what is there, or where nothing can be, before anything is computed."""
    for name, path in copies_of(config).items():
        ours = lock is not None and str(path.absolute()) in lock.left  # of a run that was killed
        if path.exists() and not config.force and not ours:
            raise OutputExistsError(f"{name} {path} exists", hint="give another name, or --force")
        check_writable(path, name)
        if lock is not None:
            lock.leaves(path.absolute())


def copies_of(config: RankConfig) -> dict[str, Path]:
    """Return the files that are asked for beside the output folder, by their flags."""
    asked = {"--write-h5ad": config.write_h5ad, "--weights-out": config.weights_out}
    return {name: Path(path) for name, path in asked.items() if path is not None}


def _write_copies(config: RankConfig, result: RankResult) -> None:
    _write_h5ad(config, result)
    _write_weights(config, result)


def _write_h5ad(config: RankConfig, result: RankResult) -> None:
    if config.write_h5ad is not None:
        from sfs_cli.io.h5ad_scores import write_scores

        facts = {"config": config.result_options(), **result.facts}
        write_scores(
            Path(config.matrix), Path(config.write_h5ad), result.ranking, provenance.dumps(facts)
        )


def _write_weights(config: RankConfig, result: RankResult) -> None:
    if config.weights_out is not None and result.coefficients is not None:
        from sfs_cli.io.coefficients import write_coefficients

        write_coefficients(Path(config.weights_out), *result.coefficients)


def _summarise(config: RankConfig, result: RankResult, messages: Messages) -> None:
    ranking = result.ranking
    facts = result.facts["input"]
    messages.note(
        f"ranked {ranking.n_scored:,} of {len(ranking):,} features on {facts['n_samples']:,} "
        f"samples by {result.method.title} in {result.seconds:.2f} s "
        f"(peak memory {format_size(result.peak_memory)})"
    )
    result_folder.tell(config, ranking, messages)
