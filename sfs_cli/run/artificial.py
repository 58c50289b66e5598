"""``sfs select --artificial``: the features are ranked again, among shuffled copies of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sfs_cli.catalog import GOING_ON, METHODS
from sfs_cli.compute.matrix import Block
from sfs_cli.compute.passes import PassList
from sfs_cli.errors import UsageError
from sfs_cli.features import against
from sfs_cli.features.significance.graph import OTHER_GRAPH, circular, made_of_features
from sfs_cli.graph.build import Graph
from sfs_cli.methods.base import Solution, Status
from sfs_cli.options import RankConfig
from sfs_cli.options.fields import flag
from sfs_cli.provenance import ArtificialFacts
from sfs_cli.ranking.competition import Competition, compete
from sfs_cli.ranking.table import Picked, rank_features, tie_blocks
from sfs_cli.run.load import Run
from sfs_cli.run.memory import memory_plan
from sfs_cli.run.passes import Shape, needed
from sfs_cli.run.scoring import make_graph, problem_of, score_on, scorer_of, scores_of
from sfs_cli.run.top import values_of
from sfs_cli.store.copies import WithCopies

TOGETHER, LOOKED_AT, ALL_OF = 99, 1000, 100
"""Shuffles that move whole samples, so that features keep their correlations; the largest number of
features that are shuffled so; and how many selected features are among these at least. More would
bias the result: features that vary together are selected in about twice as many shuffles as they
are a part of `max_false` of the features."""
SHUFFLED = 100_000_000
"""Largest number of values that are shuffled so."""
MANY, AGAIN = 0.5, 5
"""The competition does not hold where so many of these shuffles, 5 %, select so large a part of the
number that was selected."""
_TAKES_PART = (Status.OK, Status.NOT_SELECTED)


def check_artificial(config: RankConfig, where: str) -> None:
    """Refuse a ranking for which shuffled copies are no valid null features.

    Raises UsageError where the order of the samples plays no part, samples do not count alike, or
    the ranking is one of several graphs or rankings.
    """
    alike = {
        "source": "competes on one sample graph; `sfs fuse` builds one from the sources, for "
        "--similarity-file",
    }
    if config.max_correlation is not None and config.scorer not in GOING_ON:
        alike["given_"] = "competes by scores alone, which do not start from given features; "
        alike["given_"] += "rank without --given, or choose by another rule, such as --top"
    wrong = {name: alike[name] for name in config.given(*alike)} | against("artificial", config)
    for name, why in wrong.items():
        what, _, hint = why.partition("; ")
        raise UsageError(
            f"--artificial {what}: not for a ranking with {flag(name)}",
            where=where,
            hint=hint or "choose by another rule, such as --top",
            option="artificial",
        )
    if METHODS[config.ranker].order_blind:
        raise UsageError(
            f"--artificial has no effect with --method {config.method}: a feature with shuffled "
            "samples has the same score",
            where=where,
            hint="choose by another rule, such as --top",
            option="artificial",
        )


def artificial(
    run: Run, copies: int, seed: int, max_false: float
) -> tuple[Competition, ArtificialFacts]:
    """Rank the features of a run among copies of them, and cut where too many are false.

    Returns where the ranking is cut, and what the record says of it.

    The sample graph is built from the real features alone, as that of the ranking was: a copy is a
    feature that this graph was not made for. The copies are values as they are scored, in another
    order of the samples, so that totals and other sums of the samples are those of the real
    features too. They are made block by block while these are read, so that the features are read
    once more for each copy.
    """
    matrix, context, config = run.matrix, run.context, run.config
    n, m, memory = matrix.n_samples, matrix.n_features, context.memory
    times = copies + 1
    longer = ("score", "solve")
    passes = PassList(
        [replace(p, fraction=p.fraction * (times if p.kind in longer else 1)) for p in run.passes],
        m,
    )
    plan = memory_plan(config, Shape(n, times * m, matrix.dtype, memory), passes)
    run = run.planned(passes, plan)
    with run.progress("ranking with artificial features"):
        run.fit_matrix()
        graph = make_graph(run)
        warn_of_null_features(run, graph)
        joined = run.with_engine(source=WithCopies(matrix, copies, seed))
        with run.log.about("among artificial features"):
            solution = score_on(joined, graph).solution
    level = levels(solution).reshape(times, m)
    level[:, ~np.isin(solution.status[:m], _TAKES_PART)] = -np.inf
    level[:, np.array(context.given, np.int64)] = -np.inf
    found = compete(level, max_false)
    facts = ArtificialFacts(
        kind="permuted",
        copies=copies,
        max_false=max_false,
        selected=len(found.selected),
        beaten=found.beaten,
        estimated_share=found.share,
    )
    if len(found.selected) and run.method.load("solve") is None:
        facts["selected_in_shuffles"] = selected_together(
            run, graph, solution, found.selected, seed, max_false
        )
        _warn_of_correlation(run, facts)
    return found, facts


def selected_together(
    run: Run,
    graph: Graph | None,
    solution: Solution,
    chosen: np.ndarray,
    seed: int,
    max_false: float,
) -> list[int]:
    """Return how many features are selected where all are shuffled in the same way, ascending.

    Copies are independent of each other. Features are not: what they have in common may agree with
    the labels by chance, and takes all of them ahead. Shuffles of the samples keep that. Of large
    matrices features that are drawn are shuffled, those that were `chosen`, (k,), among them, and
    each counts for as many as it was drawn from.
    """
    m, n = run.matrix.n_features, run.matrix.n_samples
    sign, rng = 1 if solution.larger_is_better else -1, np.random.default_rng(seed)
    taking = np.flatnonzero(np.isin(solution.status[:m], _TAKES_PART))
    taking = np.setdiff1d(taking, np.array(run.context.given, np.int64))
    looked, counts_for = drawn(taking, chosen, max(1, SHUFFLED // (TOGETHER * n)), rng)
    scorer = scorer_of(run.config, problem_of(run, graph.similarity if graph else None))
    values = values_of(run, looked).astype(scorer.dtype)
    level = sign * solution.score.reshape(-1, m)[:, looked]
    selected = np.empty(TOGETHER)
    for draw in range(TOGETHER):
        block = Block(np.ascontiguousarray(values[:, rng.permutation(n)]))
        with np.errstate(all="ignore"):
            level[0] = sign * scores_of(scorer, block)
        found = compete(np.where(np.isnan(level), -np.inf, level), max_false)
        selected[draw] = counts_for[found.selected].sum()
    return np.sort(np.rint(selected).astype(int)).tolist()


def drawn(
    taking: np.ndarray, chosen: np.ndarray, most: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Draw features to shuffle, at most `most`; return them, and how many each counts for."""
    wanted = min(LOOKED_AT, len(taking), most)
    share = -(-wanted * len(chosen) // len(taking))  # their part of all
    of_chosen = min(len(chosen), wanted, max(share, min(ALL_OF, wanted // 10)))
    others = np.setdiff1d(taking, chosen)
    looked, counts_for = [], []
    for part, count in ((chosen, of_chosen), (others, min(len(others), wanted - of_chosen))):
        looked.append(rng.choice(part, count, replace=False))
        counts_for.append(np.full(count, len(part) / max(1, count)))
    ascending = np.argsort(found := np.concatenate(looked))
    return found[ascending], np.concatenate(counts_for)[ascending]


def _warn_of_correlation(run: Run, facts: ArtificialFacts) -> None:
    """Warn where correlated features may be selected together by chance."""
    many = np.array(facts["selected_in_shuffles"]) >= MANY * facts["selected"]
    times = int(np.count_nonzero(many))
    what = (
        f"{times} of {TOGETHER} joint permutations of the samples (a null that keeps the "
        f"correlations) select {MANY:.0%} of that number or more"
    )
    if times < AGAIN:
        run.log.note(what)
        return
    run.log.warn(
        f"features are correlated: {what}. --max-false limits the expected share of false "
        f"features if features are independent; here nearly all of the {facts['selected']:,} may "
        "be false at once. Adjust for what features have in common (--adjust), or choose by --fdr "
        "or --stable"
    )


def levels(solution: Solution) -> np.ndarray:
    """Return how good each feature is, shape (m,): larger for better, -inf where it is not ranked.

    Scores that differ by rounding alone are one level.
    """
    ranking = rank_features(
        Picked([""], np.zeros(len(solution.score), np.int8)),  # nobody asks for names
        solution.score,
        solution.status,
        [status.text for status in Status],
        larger_is_better=solution.larger_is_better,
        order=solution.order,
    )
    found, ranked = np.full(len(ranking), -np.inf), ranking.order[: ranking.n_scored]
    found[ranked] = -np.arange(len(ranked))
    if solution.order is None:
        starts, sizes = tie_blocks(ranking.score)
        found[ranked] = -np.repeat(starts, sizes)
    return found


def warn_of_null_features(run: Run, graph: Graph | None) -> None:
    """Warn where null features are ahead of their artificial copies."""
    config, needs = run.config, needed(run.config)
    if graph is not None:
        if made_of_features(config, run.matrix.n_samples):
            run.log.warn(
                f"{circular(graph.facts)} (double dipping): null features are ahead of their "
                "artificial copies, and --max-false does not control the share of false features; "
                f"{OTHER_GRAPH}"
            )
    elif not needs:
        run.log.warn(
            f"--method {config.method} compares the features with each other: null features that "
            "are correlated are ahead of their shuffled copies, and --max-false does not control "
            "the share of false features; rank by labels, or on a graph of other data"
        )
