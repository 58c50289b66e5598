"""``sfs rank`` from configuration to files: up to date or not, ranked, written, summed up."""

from __future__ import annotations

import sys
from pathlib import Path

from sfs_cli import provenance
from sfs_cli.compute.memory import format_size
from sfs_cli.config import RankConfig
from sfs_cli.errors import OutputExistsError, UsageError
from sfs_cli.io.atomic import check_writable
from sfs_cli.io.lines import count_lines
from sfs_cli.io.writers import ranking_bytes
from sfs_cli.jobs import inputs, outputs
from sfs_cli.jobs.plan import estimate_seconds
from sfs_cli.jobs.rank import RankResult, memory_budget, rank
from sfs_cli.jobs.work import plan_shape
from sfs_cli.logs import Messages
from sfs_cli.store.disk import open_store
from sfs_cli.store.manifest import is_store


def run(config: RankConfig, messages: Messages, *, as_json: bool = False) -> bytes:
    """Rank, write what was asked for, and return what belongs on stdout.

    Raises
    ------
    SfsError
        For anything the user can mend.
    """
    if config.write_h5ad is not None:
        _check_h5ad(config)
    if config.out is None:
        if as_json:
            raise UsageError(
                "--json has no effect without --out", hint="give --out, or --format json"
            )
        _refuse_existing(config)
        result = rank(config, messages)
        _write_h5ad(config, result)
        _write_weights(config, result)
        _summarise(config, result, messages)
        return ranking_bytes(result.ranking, config.format, config.digits)
    described = outputs.describe_inputs(config)
    wanted = provenance.fingerprint(config.result_options(), described)
    if outputs.check_folder(Path(config.out), config, wanted) and all(
        path.exists() for path in _copies(config).values()
    ):
        messages.note(f"{config.out}: up to date")
        return _json_of(provenance.read_run(Path(config.out)), as_json)
    _refuse_existing(config)
    result = rank(config, messages)
    record = outputs.write_outputs(config, result, described, ["sfs", *sys.argv[1:]])
    _write_h5ad(config, result)
    _write_weights(config, result)
    _summarise(config, result, messages)
    return _json_of(record, as_json)


def _json_of(record: dict | None, wanted: bool) -> bytes:
    return provenance.dumps(record or {}).encode() if wanted else b""


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


def _refuse_existing(config: RankConfig) -> None:
    """Refuse to write over what is there, or where nothing can be, before anything is computed."""
    for name, path in _copies(config).items():
        if path.exists() and not config.force:
            raise OutputExistsError(f"{name} {path} exists", hint="give another name, or --force")
        check_writable(path, name)


def _copies(config: RankConfig) -> dict[str, Path]:
    """Return the files that are asked for beside the output folder, by their flags."""
    asked = {"--write-h5ad": config.write_h5ad, "--weights-out": config.weights_out}
    return {name: Path(path) for name, path in asked.items() if path is not None}


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
    unscored = ranking.unscored()
    if unscored:
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in unscored.items())
        messages.note(f"without a score: {reasons}")
    messages.note(f"best: {', '.join(ranking.feature[: min(5, ranking.n_scored)])}")
    if config.out is not None:
        messages.note(f"wrote {config.out}/{outputs.table_name(config)} and {outputs.REPORT}")


def describe_plan(config: RankConfig, messages: Messages) -> str:
    """Return the plan of a run, for ``--dry-run``, from what can be known without reading it all.

    Raises
    ------
    SfsError
        For what `rank` would refuse before reading.
    """
    memory = memory_budget(config)
    path = Path(config.matrix)
    table = inputs.read_label_table(config)
    graphs: tuple[str, ...] = ()
    if is_store(path):
        matrix = open_store(path)
        n, m, exact = matrix.n_samples, matrix.n_features, True
        where, stored = "the store is read in place", matrix.dtype
    else:
        reader, rows, why = inputs.peek(config, list(table or ()), memory)
        count, exact = (
            (reader.n_rows, True) if reader.n_rows else (max(2, count_lines(path) - 1), False)
        )
        columns = len(reader.column_ids)
        n, m = (columns, count) if rows == "features" else (count, columns)
        stored, graphs = inputs.storage_dtype(config), reader.annotations.graphs
        held = n * m * stored.itemsize <= memory // inputs.HELD_PART
        where = "held in memory" if held else "a temporary store in the scratch folder"
        messages.note(f"{path.name} ({reader.format}): {why}")
        reader.close()
    plan = plan_shape(config, n, m, stored, graphs, memory)
    about = "" if exact else "about "
    lines = [
        ("shape", f"{about}{n:,} samples x {m:,} features"),
        ("matrix", f"{format_size(n * m * stored.itemsize)} as {stored.name}; {where}"),
        ("passes", f"{plan.passes} over the matrix, blocks of {plan.block_size:,} features"),
        ("arithmetic", f"{plan.dtype.name}, {plan.workers} threads"),
        ("memory", f"{format_size(plan.needed)} beside the matrix, of {format_size(memory)}"),
        ("time", f"about {estimate_seconds(plan):.1f} s once the matrix is read"),
    ]
    return "".join(f"{name:<11}{text}\n" for name, text in lines)
