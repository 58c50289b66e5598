"""Choosing how features are read to be scored: in blocks, without zeros, or out of the file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec

from sfs_cli.compute.engine import Engine
from sfs_cli.logs import Messages
from sfs_cli.methods.base import Scorer
from sfs_cli.methods.nonzero_scorers import NonZeroScorer
from sfs_cli.methods.thin import ThinScores
from sfs_cli.store.nonzeros import NonZeroSource
from sfs_cli.store.prepared import PreparedMatrix
from sfs_cli.store.stored import StoredSource, is_stored

DENSE_BLOCKS = "dense blocks"
NON_ZEROS = "non-zeros"


def best_read(
    engine: Engine, scorer: Scorer, messages: Messages
) -> tuple[Engine, Scorer | NonZeroScorer]:
    """Return the pass and the scorer that read the least; see the functions below."""
    thin: ThinScores | None = getattr(scorer, "thin", None)
    if thin is not None and thin.reads_files and is_stored(engine.source):
        return from_file(engine), scorer
    return without_zeros(engine, scorer, messages)


def from_file(engine: Engine) -> Engine:
    """Return the pass whose blocks are read out of the file of a store by what scores them."""
    assert isinstance(engine.source, PreparedMatrix)
    source = StoredSource(engine.source, engine.features_of_a_block)
    return replace(engine, source=source, block_size=source.block_size)


def without_zeros(
    engine: Engine, scorer: Scorer, messages: Messages
) -> tuple[Engine, Scorer | NonZeroScorer]:
    """Return the pass and the scorer that leave the zeros of a sparse matrix out, where they can.

    They can where the matrix is sparse after its steps, the graph is sparse, the formula of the
    method allows, and numba is installed; else what was given comes back. The scorer's facts tell.

    Parameters
    ----------
    engine : Engine
        Passes over the matrix.
    scorer : Scorer
        Of dense blocks; it may have ``on_nonzeros``.
    messages : Messages
        Told what to install.
    """
    source = engine.source
    if not isinstance(source, PreparedMatrix) or not source.matrix.sparse:
        return engine, scorer
    ask: Callable[[], NonZeroScorer | None] = getattr(scorer, "on_nonzeros", lambda: None)
    found = ask() if source.keeps_zeros else None
    if found is not None and find_spec("numba") is None:
        messages.note(
            "features are scored zeros and all, because numba is not installed: "
            "pip install 'sfs-cli[singlecell]' for a faster pass over sparse matrices"
        )
        found = None
    scorer.facts["scored_from"] = DENSE_BLOCKS if found is None else NON_ZEROS
    if found is None:
        return engine, scorer
    return replace(engine, source=NonZeroSource(source)), found
