"""``sfs fuse``: fuse knowledge sources to one similarity between the samples, in a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sfs_cli import provenance
from sfs_cli.errors import InputError, UsageError, counted, located, nearest
from sfs_cli.graph.similarity import SparseSimilarity
from sfs_cli.io.files.atomic import check_writable, output_folder, refuse_folders
from sfs_cli.io.knowledge.similarity import FORMATS, write_similarity
from sfs_cli.logs import Messages
from sfs_cli.options import RankConfig
from sfs_cli.options.files import resolved
from sfs_cli.options.source import KINDS
from sfs_cli.options.testing import adjusts
from sfs_cli.parts import covariates
from sfs_cli.run.fused_rank import Fused, fuse
from sfs_cli.run.guards import guard_labels, guard_raw, guard_sources
from sfs_cli.run.load import Run, loaded
from sfs_cli.workflow.outputs import describe_inputs, facts_of_run, is_made, with_digests
from sfs_cli.workflow.pipes import as_given


def run(config: RankConfig, target: str, key: str, messages: Messages) -> None:
    """Fuse the sources of a configuration, and write the similarity and its record.

    The suffix of `target` decides the format; `key` is the name of the graph under ``obsp`` of an
    h5ad.
    """
    path = Path(target)
    copied, other = path.suffix == ".h5ad", "give an output with the suffix .npz, .parquet or .tsv"
    if path.suffix not in FORMATS:
        what = f"--out {path}: unknown suffix {path.suffix!r}"
        raise UsageError(what, hint=nearest(path.suffix, FORMATS), option="target")
    if copied and (config.files or Path(config.matrix).suffix.lower() != ".h5ad"):
        what = f"--out {path} copies an h5ad input; the matrix is not one such file"
        raise UsageError(what, hint=other, option="target")
    check_writable(path, "--out")
    record = path.with_name(path.name + provenance.BESIDE)
    refuse_folders((path, record))
    inputs = describe_inputs(config)
    options = resolved(as_given(config), str(path.parent)) | {"key": key}
    if not config.force and is_made(path, record, [path.name], options, inputs, messages):
        return
    inputs = with_digests(inputs)
    with loaded(config, messages) as loaded_run:
        fused, S, samples = fuse_sources(loaded_run)
        in_file, design = loaded_run.matrix.matrix.n_samples, loaded_run.design
    if copied and len(samples) != in_file:
        raise InputError(
            f"the similarity is between {len(samples):,} of the {in_file:,} samples of the h5ad",
            where=path,
            hint=other,
        )
    with output_folder(path.parent) as out:
        staged = out.file(path.name)
        with located(str(path)):
            if copied:
                from sfs_cli.io.matrix.h5ad_copy import write_obsp

                write_obsp(Path(config.matrix), staged, key, S)
            else:
                write_similarity(staged, S, samples)
        adjusted = {} if design is None else {"columns": design.columns, "rank": design.rank}
        facts = {
            **facts_of_run(options, inputs, messages),
            "samples": len(samples),
            **fused.facts(),
            "covariates": adjusted,
            "outputs": [path.name],
            "bytes": staged.stat().st_size,
        }
        out.file(record.name).write_text(provenance.dumps(facts), encoding="utf-8")
        out.commit(last=record.name)
    messages.note(f"wrote {path}: {counted(len(samples), 'sample')}")


def fuse_sources(run: Run) -> tuple[Fused, Any, list[str]]:
    """Fuse the sources of a run, of which nothing was read yet, and warn of what they hold.

    Returned are the fusion, and its similarity (n, n), dense or sparse, with the samples in the
    order of the file.
    """
    config, matrix = run.config, run.matrix
    if any(KINDS[spec.kind].of_matrix for spec in config.source):
        guard_raw(run, "the graph")
    guard_labels(run)
    guard_sources(run)
    if adjusts(config):
        covariates.tell_unadjusted(run)
    run.fit()
    fused = fuse(run)
    similarity, order = fused.similarity, matrix.as_in_file
    S: Any = (
        similarity.matrix if isinstance(similarity, SparseSimilarity) else similarity.to_dense()
    )
    if matrix.samples is not None:
        S = S[order][:, order]
    return fused, S, [matrix.ids.samples[i] for i in order.tolist()]
