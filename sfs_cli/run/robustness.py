"""``sfs robustness``: how far noise changes the scores of SPEC, beside how far it can.

The Laplacian becomes ``(1 - a) L + a L_noise`` with a graph of noise features that is made as that
of the matrix (Z. Zhao, dissertation, Arizona State University 2010, Section 2.5), features get
normal noise of a times their standard deviation, or both. Every score is computed again, in dense
arithmetic; `sfs_cli.evaluation.robustness` says by how much it can have changed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from sfs_cli.compute.engine import Engine
from sfs_cli.compute.matrix import Span
from sfs_cli.compute.memory import format_size
from sfs_cli.compute.passes import PassList
from sfs_cli.errors import InputError, OutOfMemoryError
from sfs_cli.evaluation import figure
from sfs_cli.evaluation.robustness import (
    Bounds,
    Function,
    System,
    bounds,
    complement,
    norm,
    normalized,
    scores,
    system_of,
    units,
)
from sfs_cli.graph.build import on_coordinates, sample_graph
from sfs_cli.graph.spectral import MAX_CLUSTERS, clusters_by_eigengap
from sfs_cli.io.results.writers import Row, table_bytes
from sfs_cli.logs import Messages
from sfs_cli.options.graph import DENSE_SAMPLES, LABEL_GRAPHS, SIMILARITIES
from sfs_cli.options.robustness import RobustnessConfig
from sfs_cli.ranking.agreement import correlations, top_overlap
from sfs_cli.run import outputs
from sfs_cli.run.checkpoints import NO_CHECKPOINTS, RunCheckpoints
from sfs_cli.run.load import Run, loaded
from sfs_cli.run.passes import SCORES, graph_asked
from sfs_cli.run.scoring import make_graph
from sfs_cli.tables import header

TABLE, EXAMPLE, CLAIMS = "robustness.tsv", "example.tsv", "claims.tsv"
KINDS = ("graph", "features", "both")
"""What noise is put into."""
TOP = 50
"""Features of the short list that is compared."""
NOISE_FEATURES = 1000
"""Largest number of features from which the graph of noise is built."""
POOL = 997
"""Rows of noise that features share, one after the other: a feature's noise is then the same
whatever block it is read in."""
SQUARES = 12
"""Arrays (n, n) of float64 that are held at a time."""
NEGATIVE = 1e-8
"""An eigenvalue below minus this is none of rounding."""
ROUNDING = 1e-10
"""By so much, relative to the largest score, a change may exceed its bound."""
UNDER_NOISE = SCORES.of(" under noise")
_DOUBLE = np.dtype(np.float64)


class Change(NamedTuple):
    """What noise of one kind and level has done in one draw: a row of the table.

    A part is 0 where the change and its bound are, and a change is within its bound but for
    rounding.
    """

    kind: str
    level: float
    draw: int  # from 1
    size: float  # spectral norm of the perturbation of the Laplacian
    distance: float  # median distance between the unit vectors of the features
    resolved: int  # eigenvectors whose angle is bounded
    median: float  # of the absolute changes of the scores
    most: float
    bound: float  # of the theorem, the median
    part: float  # of the bound that a change is, the median
    most_part: float
    within: float  # part of the features whose change is within the bound
    sharp: float  # the sharp bound, and the same of it
    sharp_part: float
    most_sharp_part: float
    within_sharp: float
    kendall: float
    shared: float  # part of the first features that stay


@dataclass
class Found:
    """All changes, and what the record says of them."""

    changes: list[Change]
    facts: dict[str, Any]
    top: int


def run(config: RobustnessConfig, messages: Messages, *, as_json: bool = False) -> bytes:
    """Measure, write what is asked for, and return what belongs on stdout."""

    def make(kept: RunCheckpoints) -> outputs.Made:
        if config.example:
            return _make_example(config, messages)
        found = robustness(config, messages, kept)
        table = {TABLE: _table_bytes(found, config.digits)}
        return outputs.Made.of_tables(table, found.facts, partial(_log_summary, found, messages))

    return outputs.make_result(
        config,
        messages,
        [EXAMPLE, CLAIMS] if config.example else [TABLE],
        lambda: [] if config.example else outputs.describe_inputs(config),
        make,
        as_json=as_json,
    )


def robustness(
    config: RobustnessConfig, messages: Messages, kept: RunCheckpoints = NO_CHECKPOINTS
) -> Found:
    """Measure the change of every score under noise, and its bounds.

    Raises
    ------
    InputError
        When there are too many samples for dense arithmetic, or the Laplacian has negative
        eigenvalues, for which the theorems say nothing.
    OutOfMemoryError
        When the dense matrices do not fit.
    """
    with loaded(config, messages, kept) as run:
        run = _prepared(run, config)
        with run.progress("robustness"):
            return _measure(run, config)


def _prepared(run: Run, config: RobustnessConfig) -> Run:
    """Return the run with all passes in its list; refuse samples that are too many."""
    n, context = run.matrix.n_samples, run.context
    if n > DENSE_SAMPLES:
        raise InputError(
            f"the bounds need all eigenvectors of the sample graph: {n:,} samples are too many",
            where=config.matrix,
            hint=f"take up to {DENSE_SAMPLES:,} of the samples",
            option="matrix",
        )
    needed = SQUARES * 8 * n * n
    if needed > context.memory // 2:
        raise OutOfMemoryError(
            f"the eigenvectors of {n:,} samples take {format_size(needed)}, more than a half of "
            f"--memory {format_size(context.memory)}",
            where=config.matrix,
            hint="give more --memory",
            option="memory",
        )
    times = len(config.levels) * config.n_draws
    passes = PassList([*run.passes, replace(UNDER_NOISE, times=times)], context.m)
    return run.with_engine(passes=passes)


def _measure(run: Run, config: RobustnessConfig) -> Found:
    run.fit()
    made = make_graph(run)
    assert made is not None
    S = made.similarity.to_dense()
    L, degrees = normalized(S)
    trivial = np.sqrt(degrees / degrees.sum())
    L = complement(L, trivial)
    function = _function(run, L)
    before = system_of(L, trivial, function)
    features = Features(run.context.engine, degrees, function, config.seed)
    score = features.scores(before)
    if np.isnan(score).all():
        raise InputError(
            "no feature varies between the samples, so none has a score",
            where=config.matrix,
            hint="check that values differ between samples (and --rows, --transform, --missing)",
        )
    changes: list[Change] = []
    for draw in range(config.n_draws):
        difference = complement(normalized(_noise_graph(run, S, draw))[0], trivial) - L
        apart = norm(difference)
        for level in config.levels:
            size = level * apart
            after = system_of(L + level * difference, trivial, function)
            limits = bounds(before, after, size, function), bounds(before, before, 0.0, function)
            measured = features.under_noise(before, after, level, draw)
            changes += _changes(_Noise(level, draw, size), score, measured, limits, function)
    n_scored = int(np.count_nonzero(~np.isnan(score)))
    facts: dict[str, Any] = {
        "n_samples": run.matrix.n_samples,
        "n_features": run.matrix.n_features,
        "n_scored": n_scored,
        "graph": made.facts,
        "ranking": function.ranking,
        "gamma": function.gamma,
        "gamma_power": function.power,
        "clusters": function.clusters if function.ranking == "phi3" else None,
        "levels": list(config.levels),
        "draws": config.n_draws,
        "noise_graph": "noise features" if _is_made(run) else "shuffled samples",
        "threads": run.plan.workers,
        "passes": run.passes.executed,
    }
    return Found(changes, facts, min(TOP, n_scored))


def _function(run: Run, L: np.ndarray) -> Function:
    """Return what is scored; phi3 finds the number of clusters as `sfs rank` does."""
    options, n = run.options, len(L)
    values = np.linalg.eigvalsh(L)
    if values[0] < -NEGATIVE:
        raise InputError(
            f"the Laplacian of this sample graph has negative eigenvalues (down to {values[0]:.3g})"
            ", and the theorems are about graphs without",
            where=run.config.matrix,
            hint="give a --similarity without negative values, such as knn or rbf",
            option="similarity",
        )
    clusters = options["clusters"]
    if options["ranking"] == "phi3":
        if clusters is None and n < 3:
            what, hint = "an eigengap needs at least 3 samples", "give --clusters, or use phi2"
            raise InputError(what, hint=hint, option="clusters")
        if clusters is None:
            clusters = clusters_by_eigengap(values[: min(MAX_CLUSTERS + 1, n)])
        if clusters > n:
            what = f"--clusters {clusters} is more than the {n} samples"
            raise InputError(what, hint=f"give a number from 2 to {n}", option="clusters")
    return Function(options["ranking"], options["gamma"], options["gamma_power"], clusters or 2)


def _is_made(run: Run) -> bool:
    """Tell whether the graph is built from features or coordinates."""
    name = graph_asked(run.config, run.context.n).name
    return name in SIMILARITIES and name not in LABEL_GRAPHS


def _noise_graph(run: Run, S: np.ndarray, draw: int) -> np.ndarray:
    """Return a similarity (n, n) that is independent of the samples.

    It is made as that of the run, of uniform noise in place of the features. A graph that is given,
    or made of labels, is that of shuffled samples.
    """
    rng, n = np.random.default_rng([run.config.seed, draw, 0]), run.context.n
    if not _is_made(run):
        order = rng.permutation(n)
        return S[np.ix_(order, order)]
    wide = run.context.m if run.coordinates is None else run.coordinates.shape[1]
    values = rng.uniform(size=(n, min(wide, NOISE_FEATURES)))
    context = on_coordinates(run.context, values, "noise features")
    context = replace(context, engine=replace(context.engine, passes=None))
    return sample_graph(graph_asked(run.config, n), context).similarity.to_dense()


class Features:
    """The features of a matrix, as they are and with noise, scored on one graph and another.

    Parameters
    ----------
    engine : Engine
        Passes over them.
    degrees : ndarray, shape (n,)
        The degrees of the sample graph.
    function : Function
        What is scored.
    seed : int
        Random seed.
    """

    def __init__(self, engine: Engine, degrees: np.ndarray, function: Function, seed: int) -> None:
        self.engine, self.degrees, self.function, self.seed = engine, degrees, function, seed
        self._varies = replace(function, ranking="phi2")  # of which a constant has no vector

    def scores(self, system: System) -> np.ndarray:
        """Return the score of each feature, shape (m,); NaN for those that do not vary."""

        def of_span(span: Span) -> tuple[np.ndarray]:
            values = self._read(span)
            U = units(values, self.degrees, self.function)
            varies = units(values, self.degrees, self._varies).any(axis=1)
            return (np.where(varies, scores(U, system), np.nan),)

        return np.asarray(self.engine.at(SCORES).joined(of_span, self.engine.spans())[0])

    def under_noise(
        self, before: System, after: System, level: float, draw: int
    ) -> tuple[np.ndarray, ...]:
        """Return the scores with noise in the graph, in the features, and in both.

        A fourth array tells how far each unit vector moved; all have the shape (m,).
        """
        pool = np.random.default_rng([self.seed, draw, 1]).normal(size=(POOL, len(self.degrees)))

        def of_span(span: Span) -> tuple[np.ndarray, ...]:
            values = self._read(span)
            noise = pool[np.arange(span.lo, span.hi) % POOL]
            added = values + level * values.std(axis=1, keepdims=True) * noise
            U, V = (units(each, self.degrees, self.function) for each in (values, added))
            moved = V - U
            distance = np.sqrt(np.vecdot(moved, moved))
            return scores(U, after), scores(V, before), scores(V, after), distance

        found = self.engine.at(UNDER_NOISE).joined(of_span, self.engine.spans())
        return tuple(np.asarray(each) for each in found)

    def _read(self, span: Span) -> np.ndarray:
        return np.asarray(self.engine.read(span, _DOUBLE).values)


class _Noise(NamedTuple):
    """Noise that was drawn."""

    level: float
    draw: int  # its number, from 0
    size: float  # norm of the difference between the Laplacians


def _changes(
    noise: _Noise,
    score: np.ndarray,
    measured: tuple[np.ndarray, ...],
    limits: tuple[Bounds, Bounds],
    function: Function,
) -> list[Change]:
    """Return what each kind of noise has done to the features that are scored."""
    known = ~np.isnan(score)
    score, distance = score[known], measured[-1][known]
    still = np.zeros_like(distance)
    largest = max(1.0, float(np.abs(function.of(np.array([2.0])))[0]))  # that is possible
    of_graph, of_features = limits
    found = []
    for kind, after, limit, moved in zip(
        KINDS, measured, (of_graph, of_features, of_graph), (still, distance, distance)
    ):
        now = after[known]
        sign = -1 if function.larger_is_better else 1
        ranks, others = sign * score, sign * now
        change = np.abs(now - score)
        of_bounds = []
        for bound in (limit.theorem(moved), limit.sharp(moved)):
            part = np.divide(change, bound, out=np.zeros_like(change), where=bound > 0)
            held = np.mean(change <= bound + ROUNDING * largest)
            of_bounds += [np.median(bound), np.median(part), part.max(), held]
        order = correlations(ranks, others)[0], top_overlap(ranks, others, min(TOP, len(score)))
        numbers = (np.median(change), change.max(), *of_bounds, *order)
        found.append(
            Change(
                *(kind, noise.level, noise.draw + 1, 0.0 if kind == "features" else noise.size),
                *(float(np.median(moved)), limit.resolved),
                *map(float, numbers),
            )
        )
    return found


# ---- tables and the summary ----------------------------------------------------------------------


def _table_bytes(found: Found, digits: int) -> bytes:
    *columns, kept = header(TABLE)
    return table_bytes((*columns, kept.replace("N", str(found.top))), found.changes, digits)


def _log_summary(found: Found, messages: Messages) -> None:
    """Say how far scores and order changed at each level, and whether every bound held."""
    for level in found.facts["levels"]:
        texts = []
        for kind in KINDS:
            own = [c for c in found.changes if (c.kind, c.level) == (kind, level)]
            kept = float(np.mean([c.shared for c in own]))
            tau = float(np.mean([c.kendall for c in own]))
            texts.append(f"{kind} {kept:.0%} (tau {tau:.2f})")
        kept_of = ", ".join(texts)
        chance = found.top / found.facts["n_scored"]
        messages.note(
            f"noise {level:g}: of the first {found.top} features stay {kept_of}; "
            f"of random lists {chance:.0%} (tau 0)"
        )
    outside = sum(min(c.within, c.within_sharp) < 1 for c in found.changes)
    if outside:
        messages.warn(f"{outside} of {len(found.changes)} draws have changes above a bound")
        return
    largest = max(c.most_part for c in found.changes)
    closest = max(c.most_sharp_part for c in found.changes)
    messages.note(
        f"every change is within its bounds: up to {largest:.2%} of that of the theorem, and "
        f"{closest:.0%} of the sharp one"
    )


# ---- Figure 2.3 ----------------------------------------------------------------------------------


def _make_example(config: RobustnessConfig, messages: Messages) -> outputs.Made:
    """Make the synthetic case of Figure 2.3: one sample in full, the claims over many."""
    levels = (0.0, *config.levels) if config.noise else figure.LEVELS
    samples = [figure.sample([config.seed, i]) for i in range(config.n_draws)]
    measured = [figure.measure(each, levels) for each in samples]
    held = figure.claims(measured)

    def summarize() -> None:
        for text, share in held.items():
            messages.note(f"{share:.0%} of {len(measured)} samples: {text}")

    names = [f"F{i + 1}" for i in range(figure.FEATURES)]
    rows: list[Row] = [
        (level, f"phi{i + 1}", power, *map(float, measured[0].scores[a, i, p]))
        for i in range(3)
        for p, power in enumerate(figure.POWERS)
        for a, level in enumerate(levels)
    ]
    tables = {
        EXAMPLE: table_bytes((*header(EXAMPLE)[:-1], *names), rows, config.digits),
        CLAIMS: table_bytes(header(CLAIMS), list(held.items()), config.digits),
    }
    facts = {"levels": list(levels), "draws": config.n_draws, "claims": held}
    return outputs.Made.of_tables(tables, facts, summarize)
