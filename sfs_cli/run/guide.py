"""The runs that are worth making next, from what was read: ``--guide``, and a box of the report.

Each is the configuration of a run with a few options changed, so that its command is one that the
command line takes. Nothing here depends on where a result is written, or how it is computed.
"""

from __future__ import annotations

import shlex
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sfs_cli import catalog
from sfs_cli.catalog import METHODS, ON_SOURCES
from sfs_cli.compute.context import Labels
from sfs_cli.errors import SfsError, counted
from sfs_cli.features import FEATURES, steps_of, untested
from sfs_cli.features.proposal import OTHER_METHOD, Proposal, Seen
from sfs_cli.features.significance import tests
from sfs_cli.features.significance.graph import made_of_features
from sfs_cli.io.knowledge.sample_columns import is_inside
from sfs_cli.logs import Messages
from sfs_cli.options import RankConfig
from sfs_cli.options.fields import options_of
from sfs_cli.options.graph import GRAPH_FIELDS
from sfs_cli.provenance import NextRun
from sfs_cli.run import inputs
from sfs_cli.run.annotations import components, followed, groupings
from sfs_cli.run.artificial import check_artificial
from sfs_cli.run.guards import REPEATS, id_labels
from sfs_cli.run.passes import needed
from sfs_cli.run.raw_values import Raw, raw_kind
from sfs_cli.store.matrix import look

if TYPE_CHECKING:
    from sfs_cli.run.load import Run

MOST = 3
"""Runs that are suggested at most."""
FEW_SAMPLES = 5000
"""MRSF on a sample graph takes minutes for more."""


def guide(config: RankConfig, messages: Messages) -> str:
    """Read what a configuration names, rank nothing, and return the runs worth making as text."""
    with inputs.read_alone(config, messages) as (opened, table):
        labels = inputs.align_labels(config, opened.matrix, table, messages)
        raw = None if config.transform is not None else raw_kind(look(opened.matrix), config)
        facts = seen(config, opened, labels, raw)
        repeated = not all(step.independent(opened.matrix.ids) for step in steps_of(config))
    runs = [(each["reason"], each["command"]) for each in next_runs(config, facts, ranked=False)]
    result = shlex.split(runs[0][1])[-1] if runs else "results"
    reason = "Choose the number of features by a rule."
    rule = _rule(
        config.for_samples(facts.n, facts.n_classes, facts.sparse), facts.n, repeated=repeated
    )
    runs.append((reason, shlex.join(["sfs", "select", result, *rule])))
    return "\n".join(f"# {why}\n{command}\n" for why, command in runs)


def first_run(
    config: RankConfig, opened: inputs.Opened, labels: Labels | None, raw: Raw | None
) -> tuple[str, Seen]:
    """Return the command of the run to begin with, on a matrix that was read, and what is known.

    It takes the annotation that looks like classes by its name as labels, where there are none, and
    batches that the samples follow out of the features.
    """
    named = [each.spec for each in groupings(opened.matrix) if each.named and not each.batch]
    if labels is None and named:
        config = replace(config, labels=named[0])
        labels = inputs.align_labels(config, opened.matrix, None, Messages(verbosity=-1))
    facts = seen(config, opened, labels, raw)
    if facts.followed:
        config = replace(config, adjust=(f"{next(iter(facts.followed))}=categorical",))
    return next_runs(config, facts, ranked=False)[0]["command"], facts


def _rule(config: RankConfig, n: int, *, repeated: bool) -> list[str]:
    """Return the rule of `sfs select` that goes with a ranking of n samples.

    A rule that controls errors is proposed only where its assumptions hold: the samples are
    independent (not `repeated`), and the graph is built from other data.
    """
    needs = needed(config)
    own = "graph" in needs and made_of_features(config, n)
    if tests(config) and untested(config) is None:
        if not repeated and not (own and config.split is None):
            return ["--fdr", "0.05"]
    elif config.stability is not None:
        return ["--stable", "0.75"]
    # features of the graph itself, and those of donors, are ahead of the copies anyway
    elif needs and not own and not repeated:
        with suppress(SfsError):
            check_artificial(config, "")
            return ["--artificial"]
    return ["--top", "50"]


def after_ranking(run: Run, raw: Raw | None, repeats: float | None) -> list[NextRun]:
    """Return the runs worth making after a run."""
    facts = seen(run.config, run.opened, run.labels, raw)
    if repeats is not None and repeats > REPEATS:
        facts = replace(facts, repeats=repeats)
    return next_runs(run.config, facts, ranked=True)


def seen(config: RankConfig, opened: inputs.Opened, labels: Labels | None, raw: Raw | None) -> Seen:
    """Return what is known of a matrix that was read."""
    matrix = opened.matrix
    columns = groupings(matrix, labels, config.labels)
    batches = [each for each in columns if each.batch]
    led = followed(batches, components(matrix)) if batches else {}
    batches.sort(key=lambda each: [*led, each.spec].index(each.spec))
    inside = [each for each in columns if not each.batch and is_inside(each.spec)]
    labeled = labels is not None and id_labels(labels) is None
    return Seen(
        matrix.n_samples,
        matrix.n_features,
        raw,
        {each.spec: each.levels for each in inside},
        {each.spec: each.levels for each in batches},
        led,
        labeled,
        2 if labels is None else labels.n_classes,
        0 if labels is None else int((~labels.known).sum()),
        matrix.missing.values,
        config.method is None and opened.like_cells()[0],
        "obsm:spatial" in opened.graphs,
    )


def next_runs(config: RankConfig, seen: Seen, *, ranked: bool) -> list[NextRun]:
    """Return the two or three runs that are worth making, the most useful first.

    Where nothing was ranked yet, the first one is what was asked for.

    Parameters
    ----------
    config : RankConfig
        The run that was made, or asked for.
    seen : Seen
        What is known of its input.
    ranked : bool
        Whether it was made.
    """
    found: list[NextRun] = []

    def add(base: RankConfig, proposal: Proposal) -> RankConfig | None:
        try:
            made = replace(base, top=None, **proposal.changes)  # rules may need the whole table
        except SfsError:  # some option that was given does not go with these
            return None
        words = [*made.command(), "--out", "-".join(filter(None, ("results", proposal.name)))]
        found.append(NextRun(command=shlex.join(words), reason=proposal.reason))
        return made

    base = config  # what is asked for; and what runs:
    made = config.for_samples(seen.n, seen.n_classes, seen.sparse)
    corrected = _corrected(made, seen)
    if corrected is not None:
        base = add(config, corrected) or config
        made = base.for_samples(seen.n, seen.n_classes, seen.sparse)
    elif not ranked:
        said = "What was asked for" if config.method is not None else "The default method"
        add(config, Proposal("", f"{said}: {METHODS[made.ranker].title}.", {}))
    proposals = [propose(base, made, seen) for propose in PROPOSE]
    for proposal in sorted(filter(None, proposals), key=lambda each: each.use):
        add(base, proposal)
    return found[:MOST]


def _corrected(config: RankConfig, seen: Seen) -> Proposal | None:
    """Propose what is to be changed in any case."""
    changes: dict[str, str] = {}
    reasons, name = [], "complete"
    if seen.missing and config.missing == "error":
        changes["missing"] = "mean"
        count = counted(seen.missing, "missing value")
        reasons.append(f"{count} would be an error: this fills them by the mean of the feature")
    if seen.unlabeled and config.samples == "error" and "labels" in needed(config):
        changes["samples"] = "intersect"
        count = counted(seen.unlabeled, "sample")
        reasons.append(f"{count} without a label would be an error: this leaves them out")
    if seen.raw is not None and config.transform is None:
        changes["transform"] = seen.raw.transform
        name = seen.raw.transform.split(",")[-1]
        reasons.append(
            f"the values look like {seen.raw.what}: a few high-valued features dominate the ranking"
        )
    if not changes:
        return None
    reason = "; ".join(reasons)
    return Proposal(name, f"{reason[0].upper()}{reason[1:]}.", changes)


def _adjusted(base: RankConfig, _made: RankConfig, seen: Seen) -> Proposal | None:
    """Propose to take batches out of the features."""
    if base.adjust or base.batch is not None or not seen.batches:
        return None
    name, levels = next(iter(seen.batches.items()))
    reason = f"{name} ({levels} values) looks like batches, whose differences may be larger than "
    reason += "those of interest: this takes their means out of every feature."
    if name in seen.followed:
        reason = f"The samples follow {name} ({levels} values), which explains "
        reason += f"{seen.followed[name]:.0%} of one of their leading components: this takes the "
        reason += "means of these batches out of every feature."
    return Proposal("adjusted", reason, {"adjust": (f"{name}=categorical",)})


def _labeled(base: RankConfig, made: RankConfig, seen: Seen) -> Proposal | None:
    """Propose to select for classes that are known and not used."""
    unused = seen.labeled or (base.labels is None and seen.classes)
    if {"labels", "some-labels"} & needed(made) or base.source or not unused:
        return None
    graph = (*GRAPH_FIELDS, "similarity", "similarity_file")
    changes = _defaults(*catalog.OPTIONS, *graph, "weights")
    changes |= {"method": "mrsf", "response": "lda"}
    if seen.unlabeled and base.samples == "error":
        changes["samples"] = "intersect"
    if seen.labeled:
        reason = f"--method {made.method} does not use the labels. This selects features that "
        reason += "tell the classes apart together."
    else:
        name, count = next(iter(seen.classes.items()))
        changes["labels"] = name
        reason = f"{name} has {count} values: this selects features that tell them apart together."
    return Proposal("labels", reason, changes, OTHER_METHOD)


def _weighted(base: RankConfig, _made: RankConfig, seen: Seen) -> Proposal | None:
    """Propose to learn the weights of sources from labels.

    Without labels nothing is proposed: weights by agreement (`statis`) are equal for two sources
    and for any number of `rbf` ones, and `sparse-umkl` weighs a source of noise above the others.
    """
    given = base.weights is not None or any(source.weight is not None for source in base.source)
    if len(base.source) < 2 or given or base.method == "kogs" or not seen.labeled:
        return None
    reason = f"The {len(base.source)} sources count alike: this weighs them by how far they agree "
    return Proposal("alignf", f"{reason}with the labels.", {"weights": "alignf"}, OTHER_METHOD)


def _together(base: RankConfig, made: RankConfig, seen: Seen) -> Proposal | None:
    """Propose MRSF in place of one score for each feature of a graph of the samples."""
    needs = needed(made)
    if base.graph in ("sources", "file") or "graph" not in needs or base.uses_classes:
        return None
    apart = made.ranker not in (*catalog.GOING_ON, *ON_SOURCES)
    by_labels = bool({"labels", "some-labels"} & needs)
    # labels that the method does not use: the run on them is proposed already
    if not apart or seen.n > FEW_SAMPLES or (seen.labeled and not by_labels):
        return None
    changes = _defaults(*catalog.OPTIONS) | {"method": "mrsf"}
    if by_labels:  # else MRSF follows the graph and not them
        changes |= _defaults(*GRAPH_FIELDS) | {"response": made.label_response}
    reason = f"{METHODS[made.ranker].title} scores each feature by itself: this selects features "
    reason += "together, without redundancy."
    return Proposal("mrsf", reason, changes, OTHER_METHOD)


def _defaults(*names: str) -> dict[str, Any]:
    """Return the values of options that are not given."""
    return {each.name: each.default for each in options_of(RankConfig) if each.name in names}


PROPOSE = (
    *(_adjusted, _labeled, _weighted, _together),
    *(feature.propose for feature in FEATURES),
)
"""What proposes further runs: each returns one, or None, for what is asked for and what runs."""
