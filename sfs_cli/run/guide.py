"""The runs that are worth making next, from what was read: ``--guide``, and a box of the report.

Each is the configuration of a run with a few options changed, so that its command is one that the
command line takes. Nothing here depends on where a result is written, or how it is computed.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sfs_cli import catalog
from sfs_cli.catalog import METHODS, ON_SOURCES
from sfs_cli.compute.context import Labels
from sfs_cli.errors import SfsError, counted
from sfs_cli.features import steps_of, untested
from sfs_cli.features.significance import tests
from sfs_cli.features.significance.graph import made_of_features
from sfs_cli.io.files.read_limits import reading_within
from sfs_cli.io.files.scratch import scratch_folder
from sfs_cli.io.files.table import NULL_TOKENS
from sfs_cli.logs import Messages
from sfs_cli.options import RankConfig
from sfs_cli.options.graph import GRAPH_FIELDS
from sfs_cli.provenance import NextRun
from sfs_cli.run import inputs
from sfs_cli.run.artificial import check_artificial
from sfs_cli.run.guards import (
    REPEATS,
    Raw,
    id_labels,
    raw_kind,
    response_of,
)
from sfs_cli.run.memory import memory_budget
from sfs_cli.run.passes import needed
from sfs_cli.store.matrix import look

if TYPE_CHECKING:
    import pyarrow as pa

    from sfs_cli.run.load import Run

MOST = 3
"""Runs that are suggested at most."""
FEW_SAMPLES = 5000
"""MRSF on a sample graph takes minutes for more."""
PRUNED_AT = 0.7
MOST_CLASSES, SAMPLES_PER_CLASS = 20, 4
_WORD_BEGINS, _WORD_ENDS = r"(?:^|[\W_]|(?<=[a-z])(?=[A-Z]))", r"(?:[\W_\d]|(?<=[a-z])(?=[A-Z])|$)"
_BATCHES = "batch plate lane run site center centre chip library lot slide donor patient subject "
_BATCHES += "individual experiment study dataset sequencer platform"
_CLASSES = "type tissue class label labels condition group disease diagnosis status treatment "
_CLASSES += "genotype stage subtype cluster leiden louvain phenotype"


def _named(words: str) -> re.Pattern[str]:
    return re.compile(f"{_WORD_BEGINS}(?i:{'|'.join(words.split())}){_WORD_ENDS}")


_LIKE_BATCHES, _LIKE_CLASSES = _named(_BATCHES), _named(_CLASSES)


@dataclass(frozen=True)
class Seen:
    """What is known of an input, and of the ranking where there is one.

    Attributes
    ----------
    n, m : int
        Samples and features.
    raw : Raw, optional
        What the values are, if they need a transformation and none was asked for.
    classes, batches : dict
        Annotations of the samples that look like classes or like batches, with the number of
        different values; what comes first is most likely one.
    labeled : bool
        Whether there are labels that look like classes.
    unlabeled : int
        Samples without a label, where there are labels.
    missing : int
        Missing values.
    repeats : float, optional
        Mean absolute correlation of the first features of a ranking.
    """

    n: int
    m: int
    raw: Raw | None = None
    classes: Mapping[str, int] = field(default_factory=dict)
    batches: Mapping[str, int] = field(default_factory=dict)
    labeled: bool = False
    unlabeled: int = 0
    missing: int = 0
    repeats: float | None = None


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
    reason = "How many features to take is a question of its own: this cuts the list by a rule."
    rule = _rule(config.for_samples(facts.n), facts.n, repeated=repeated)
    runs.append((reason, shlex.join(["sfs", "select", result, *rule])))
    return "\n".join(f"# {why}\n{command}\n" for why, command in runs)


def _rule(config: RankConfig, n: int, *, repeated: bool) -> list[str]:
    """Return the rule of `sfs select` that goes with a ranking of n samples.

    A rule that promises something is proposed where the promise holds: where samples are
    independent (`repeated`: they are not), and the graph is of other features.
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
    """Return what is worth doing after a run."""
    facts = seen(run.opened, run.labels, raw)
    return next_runs(run.config, replace(facts, repeats=repeats), ranked=True)


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

    def propose(base: RankConfig, name: str, reason: str, **changes: Any) -> RankConfig | None:
        try:
            made = replace(base, **changes)
        except SfsError:  # some option that was given does not go with these
            return None
        words = [*made.command(), "--out", f"results-{name}" if name else "results"]
        found.append(NextRun(command=shlex.join(words), reason=reason))
        return made

    made = config.for_samples(seen.n)  # what runs; the commands say what was asked for
    changes, reasons, name = _corrections(made, seen)
    base = config
    if changes:
        base = propose(config, name, _sentence(reasons), **changes) or config
        made = base.for_samples(seen.n)
    elif not ranked:
        said = "What was asked for" if config.method is not None else "The default method"
        propose(config, "", f"{said}: {METHODS[made.ranker].title}.")
    if base.adjust == () and base.batch is None:
        for name, levels in list(seen.batches.items())[:1]:
            reason = f"{name} ({levels} values) looks like batches, whose differences may be larger"
            reason += " than those of interest: this takes their means out of every feature."
            propose(base, "adjusted", reason, adjust=(f"obs:{name}=categorical",))
    if seen.repeats is not None and seen.repeats > REPEATS and base.max_correlation is None:
        reason = "The first features repeat each other (their mean absolute correlation is "
        reason += f"{seen.repeats:.2f}): this moves those that repeat a better one behind."
        propose(base, "pruned", reason, max_correlation=PRUNED_AT)
    _propose_labels(base, made, seen, propose)
    if len(base.source) > 1 and base.weights is None and base.method != "kogs":
        how, learned = ("alignf", "the labels") if seen.labeled else ("statis", "each other")
        reason = f"The {len(base.source)} sources count alike: this weighs them by how far they "
        if not any(source.weight is not None for source in base.source):
            propose(base, how, f"{reason}agree with {learned}.", weights=how)
    _propose_graph(base, made, seen, propose)
    if not base.modules:
        reason = "Modules show what the first features have in common, and which one stands for "
        propose(base, "modules", f"{reason}each group.", modules=True)
    if METHODS[made.scorer].iterative or base.source or base.members or base.batch is not None:
        return found[:MOST]
    same = METHODS[made.ranker].compares  # as the F-test does, but for a factor
    other = "variance" if "labels" not in needed(made) else "relieff" if same else "f-test"
    if made.method not in (other, *ON_SOURCES):
        reason = f"A second opinion: the rankings of {made.method} and {other} are aggregated, and "
        reason += "the report says how far they agree."
        propose(base, "agreement", reason, method="kogs", members=(made.method, other))
    return found[:MOST]


def _corrections(config: RankConfig, seen: Seen) -> tuple[dict[str, Any], list[str], str]:
    """Return what is to be changed in any case: options, why, and a word for the folder."""
    changes: dict[str, Any] = {}
    reasons, name = [], "complete"
    if seen.missing and config.missing == "error":
        changes["missing"] = "mean"
        count = counted(seen.missing, "missing value")
        reasons.append(f"{count} would be refused, and are filled by the mean of the feature here")
    if seen.unlabeled and config.samples == "error" and "labels" in needed(config):
        changes["samples"] = "intersect"
        count = counted(seen.unlabeled, "sample")
        reasons.append(f"{count} without a label would be refused, and are left out here")
    if seen.raw is not None and config.transform is None:
        changes["transform"] = seen.raw.transform
        name = seen.raw.transform.split(",")[-1]
        reasons.append(
            f"the values look like {seen.raw.what}: features of large values decide the ranking"
        )
    return changes, reasons, name


def _sentence(parts: list[str]) -> str:
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}."


def _propose_labels(base: RankConfig, made: RankConfig, seen: Seen, propose: Any) -> None:
    """Propose to select for classes that are known and not used."""
    if {"labels", "some-labels"} & needed(made) or base.source:
        return
    cleared: dict[str, Any] = dict.fromkeys((*catalog.OPTIONS, *GRAPH_FIELDS))
    cleared |= {"similarity": None, "similarity_file": None, "members": (), "weights": None}
    supervised = cleared | {"method": "mrsf", "response": "lda"}
    if seen.unlabeled and base.samples == "error":
        supervised["samples"] = "intersect"
    if seen.labeled:
        reason = f"--method {made.method} does not use the labels. This selects features that "
        reason += "tell the classes apart together."
        propose(base, "labels", reason, **supervised)
    elif base.labels is None:
        for name, count in list(seen.classes.items())[:1]:
            reason = f"{name} has {count} values: this selects features that tell them apart "
            labels = {"labels": f"obs:{name}"}
            propose(base, "labels", f"{reason}together.", **supervised | labels)


def _propose_graph(base: RankConfig, made: RankConfig, seen: Seen, propose: Any) -> None:
    """Propose MRSF in place of one score for each feature."""
    of_matrix = base.graph not in ("sources", "file") and not base.members
    if not of_matrix or "graph" not in needed(made) or base.uses_classes:
        return
    if made.ranker not in (*catalog.GOING_ON, *ON_SOURCES) and seen.n <= FEW_SAMPLES:
        changes: dict[str, Any] = dict.fromkeys(catalog.OPTIONS)
        changes |= {"method": "mrsf", "members": ()}
        if {"labels", "some-labels"} & needed(made):  # else MRSF follows the graph and not them
            changes |= dict.fromkeys(GRAPH_FIELDS) | {"response": response_of(made)}
        elif seen.labeled:
            return  # the run on the labels is proposed already
        reason = f"{METHODS[made.ranker].title} scores each feature by itself: this selects "
        reason += "features together, so that none repeats another."
        propose(base, "mrsf", reason, **changes)
