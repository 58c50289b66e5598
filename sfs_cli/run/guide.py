"""The runs that are worth making next, from what was read: ``--guide``, and a box of the report.

Each is the configuration of a run with a few options changed, so that its command is one that the
command line takes. Nothing here depends on where a result is written, or how it is computed.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sfs_cli import catalog
from sfs_cli.catalog import METHODS, ON_SOURCES
from sfs_cli.compute.context import Labels
from sfs_cli.errors import SfsError, counted
from sfs_cli.features import FEATURES, steps_of, untested
from sfs_cli.features.proposal import OTHER_METHOD, Proposal, Seen
from sfs_cli.features.significance import tests
from sfs_cli.features.significance.graph import made_of_features
from sfs_cli.io.files.read_limits import reading_within
from sfs_cli.io.files.scratch import scratch_folder
from sfs_cli.io.files.table import NULL_TOKENS
from sfs_cli.logs import Messages
from sfs_cli.options import RankConfig
from sfs_cli.options.fields import options_of
from sfs_cli.options.graph import GRAPH_FIELDS
from sfs_cli.provenance import NextRun
from sfs_cli.run import inputs
from sfs_cli.run.artificial import check_artificial
from sfs_cli.run.guards import (
    REPEATS,
    id_labels,
    response_of,
)
from sfs_cli.run.memory import memory_budget
from sfs_cli.run.passes import needed
from sfs_cli.run.raw_values import Raw, raw_kind
from sfs_cli.store.matrix import look

if TYPE_CHECKING:
    import pyarrow as pa

    from sfs_cli.run.load import Run

MOST = 3
"""Runs that are suggested at most."""
FEW_SAMPLES = 5000
"""MRSF on a sample graph takes minutes for more."""
MOST_CLASSES, SAMPLES_PER_CLASS = 20, 4
_WORD_BEGINS, _WORD_ENDS = r"(?:^|[\W_]|(?<=[a-z])(?=[A-Z]))", r"(?:[\W_\d]|(?<=[a-z])(?=[A-Z])|$)"
_BATCHES = "batch plate lane run site center centre chip library lot slide donor patient subject "
_BATCHES += "individual experiment study dataset sequencer platform"
_CLASSES = "type tissue class label labels condition group disease diagnosis status treatment "
_CLASSES += "genotype stage subtype cluster leiden louvain phenotype"


def _named(words: str) -> re.Pattern[str]:
    return re.compile(f"{_WORD_BEGINS}(?i:{'|'.join(words.split())}){_WORD_ENDS}")


_LIKE_BATCHES, _LIKE_CLASSES = _named(_BATCHES), _named(_CLASSES)


def guide(config: RankConfig, messages: Messages) -> str:
    """Read what a configuration names, rank nothing, and return the runs worth making as text."""
    memory = memory_budget(config)
    scratch = Path(config.scratch) if config.scratch else None
    with reading_within(memory), scratch_folder(scratch) as folder:
        opened, table = inputs.load_with_labels(config, memory, folder, messages)
        labels = inputs.align_labels(config, opened.matrix, table, messages)
        raw = None if config.transform is not None else raw_kind(look(opened.matrix), config)
        facts = seen(opened, labels, raw)
        repeated = not all(step.independent(opened.matrix.ids) for step in steps_of(config))
    found = next_runs(config, facts, ranked=False)
    runs = [(each["reason"], each["command"]) for each in found]
    result = shlex.split(runs[0][1])[-1] if runs else "results"
    reason = "Choose the number of features by a rule."
    rule = _rule(config.for_samples(facts.n), facts.n, repeated=repeated)
    runs.append((reason, shlex.join(["sfs", "select", result, *rule])))
    return "\n".join(f"# {why}\n{command}\n" for why, command in runs)


def _rule(config: RankConfig, n: int, *, repeated: bool) -> list[str]:
    """Return the rule of `sfs select` that goes with a ranking of n samples.

    A rule that controls errors is proposed only where its assumptions hold: the samples are
    independent (not `repeated`), and the graph is built from other data.
    """
    needs, own = needed(config), False
    if "graph" in needs:
        own = bool(made_of_features(config, n))
    if tests(config) and untested(config) is None:
        tested = not repeated and not (own and config.split is None)
        return ["--fdr", "0.05"] if tested else ["--top", "50"]
    if config.stability is not None:
        return ["--stable", "0.75"]
    # features of the graph itself, and those of donors, are ahead of the copies anyway
    if own or repeated or not needs:
        return ["--top", "50"]
    try:
        check_artificial(config, "")
    except SfsError:
        return ["--top", "50"]
    return ["--artificial"]


def after_ranking(run: Run, raw: Raw | None, repeats: float | None) -> list[NextRun]:
    """Return the runs worth making after a run."""
    facts = seen(run.opened, run.labels, raw)
    if repeats is not None and repeats > REPEATS:
        facts = replace(facts, repeats=repeats)
    return next_runs(run.config, facts, ranked=True)


def seen(opened: inputs.Opened, labels: Labels | None, raw: Raw | None) -> Seen:
    """Return what is known of a matrix that was read."""
    matrix = opened.matrix
    classes, batches = _annotations(matrix.ids.obs, matrix.n_samples, labels)
    labeled = labels is not None and id_labels(labels) is None
    return Seen(
        matrix.n_samples,
        matrix.n_features,
        raw,
        classes,
        batches,
        labeled,
        0 if labels is None else int((labels.codes < 0).sum()),
        matrix.missing.values,
    )


def _annotations(
    obs: pa.Table | None, n: int, labels: Labels | None
) -> tuple[dict[str, int], dict[str, int]]:
    """Return the annotations that look like classes and like batches, and their sizes."""
    classes: dict[str, int] = {}
    batches: dict[str, int] = {}
    if obs is None:
        return classes, batches
    import pyarrow as pa

    for name, kind in zip(obs.schema.names, obs.schema.types):
        textual = pa.types.is_string(kind) or pa.types.is_large_string(kind)
        column = obs[name]
        if not (textual or pa.types.is_dictionary(kind) or pa.types.is_boolean(kind)):
            continue
        # samples without a value would have to be left out
        if column.null_count or not set(NULL_TOKENS).isdisjoint(column.unique().to_pylist()):
            continue
        if not pa.types.is_dictionary(kind):
            column = column.dictionary_encode()
        joined = column.unify_dictionaries().combine_chunks()
        _, codes = np.unique(joined.indices.to_numpy(), return_inverse=True)
        sizes = np.bincount(codes)
        if not 2 <= len(sizes) <= n // SAMPLES_PER_CLASS or sizes.min() < 2:
            continue
        if _LIKE_BATCHES.search(name):
            if labels is None or not _tells(codes, labels):
                batches[name] = len(sizes)
        elif len(sizes) <= MOST_CLASSES:
            classes[name] = len(sizes)
    likely = sorted(classes, key=lambda name: _LIKE_CLASSES.search(name) is None)
    return {name: classes[name] for name in likely}, batches


def _tells(codes: np.ndarray, labels: Labels) -> bool:
    """Tell whether a batch (n,) says which class its samples have: both cannot be separated."""
    known = labels.codes >= 0
    pairs = np.unique(np.stack([codes[known], labels.codes[known]]), axis=1)
    return pairs.shape[1] == len(np.unique(codes[known]))


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
            made = replace(base, **proposal.changes)
        except SfsError:  # some option that was given does not go with these
            return None
        words = [*made.command(), "--out", "-".join(filter(None, ("results", proposal.name)))]
        found.append(NextRun(command=shlex.join(words), reason=proposal.reason))
        return made

    base, made = config, config.for_samples(seen.n)  # what is asked for, and what runs
    corrected = _corrected(made, seen)
    if corrected is not None:
        base = add(config, corrected) or config
        made = base.for_samples(seen.n)
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
    return Proposal("adjusted", reason, {"adjust": (f"obs:{name}=categorical",)})


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
        changes["labels"] = f"obs:{name}"
        reason = f"{name} has {count} values: this selects features that tell them apart together."
    return Proposal("labels", reason, changes, OTHER_METHOD)


def _weighted(base: RankConfig, _made: RankConfig, seen: Seen) -> Proposal | None:
    """Propose to learn the weights of sources."""
    given = base.weights is not None or any(source.weight is not None for source in base.source)
    if len(base.source) < 2 or given or base.method == "kogs":
        return None
    how, learned = ("alignf", "the labels") if seen.labeled else ("statis", "each other")
    reason = f"The {len(base.source)} sources count alike: this weighs them by how far they "
    return Proposal(how, f"{reason}agree with {learned}.", {"weights": how}, OTHER_METHOD)


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
        changes |= _defaults(*GRAPH_FIELDS) | {"response": response_of(made)}
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
