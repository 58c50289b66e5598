"""Loading a run: everything read, aligned, planned, and ready for its first pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from sfs_cli.catalog import METHODS, Method
from sfs_cli.compute.context import Labels, RunContext
from sfs_cli.compute.engine import Engine, Executor, PassList, ThreadExecutor
from sfs_cli.compute.parts import Parts
from sfs_cli.errors import InputError, UsageError, counted, either, listed, located
from sfs_cli.io.files.atomic import made, scratch_folder
from sfs_cli.io.knowledge.coordinates import INSIDE, Coordinates, open_coordinates
from sfs_cli.io.knowledge.sample_columns import Column
from sfs_cli.io.knowledge.similarity import open_similarity
from sfs_cli.knowledge.base import Source
from sfs_cli.logs import AT_ONCE, FIRST, Messages
from sfs_cli.methods.base import Status
from sfs_cli.options import RankConfig
from sfs_cli.options.fields import flag
from sfs_cli.run import inputs
from sfs_cli.run import sources as sources_of
from sfs_cli.run.cohort import (
    Cohort,
    Design,
    SampleColumns,
    columns_of,
    read_files,
)
from sfs_cli.run.columns import check_columns
from sfs_cli.run.compared import compared, for_cohort
from sfs_cli.run.features import feature_filter, given_features, without_known
from sfs_cli.run.needs import (
    MemoryPlan,
    Shape,
    memory_budget,
    memory_plan,
    needed,
    spatial_settled,
    with_defaults,
)
from sfs_cli.run.sample_ids import tell_left_out
from sfs_cli.run.together import held_at_once
from sfs_cli.store.ids import natural_order
from sfs_cli.store.joined import prepared as prepared_view
from sfs_cli.store.matrix import Matrix
from sfs_cli.store.prepared import PreparedMatrix
from sfs_cli.store.transforms import parse as parse_transform

if TYPE_CHECKING:
    from distributed import Client

ORDERED = 50_000
"""Up to this number, samples are put in the natural order of their ids."""


@dataclass(frozen=True)
class Shared:
    """What the shards of a plan have in common."""

    parts: Parts
    load: Callable[[RankConfig, list[str], int, Path, Messages], inputs.Opened]  # as `inputs.load`


@dataclass(frozen=True)
class Run:
    """A run that is ready for its first pass."""

    config: RankConfig
    context: RunContext  # matrix, engine, labels (where they are used), memory, seed and log
    plan: MemoryPlan
    opened: inputs.Opened  # the matrix as it was read, before samples were chosen
    labels: Labels | None  # of all samples in the file
    sources: list[Source]
    cohort: Cohort  # the samples that are used, and how they are compared
    coordinates: np.ndarray | None = None  # of the samples, (n, d), if the graph is made of some
    # columns that were taken without being named, by the option of their file
    taken: Mapping[str, str] = field(default_factory=dict)
    label_table: Column[inputs.Label] | None = None

    @property
    def label_columns(self) -> tuple[str, ...]:
        """The column of the labels, and the others of their table."""
        return _names(self.label_table)

    @property
    def method(self) -> Method:
        """The method that scores, from the catalog."""
        return METHODS[self.config.scorer]

    @property
    def options(self) -> dict[str, Any]:
        """The options of that method, defaults filled in."""
        return self.config.method_options()

    @property
    def labels_used(self) -> bool:
        """Whether the ranking is made with the labels, by its method or as a source.

        Those of other methods (``--also``) are columns beside it.
        """
        same = ("", self.config.labels)
        as_source = any(s.kind == "labels" and s.path in same for s in self.config.source)
        needs = needed(self.config, beside=False) & {"labels", "some-labels"}
        by_method = self.context.labels is not None and bool(needs)
        return by_method or (self.labels is not None and as_source)

    @property
    def columns(self) -> SampleColumns:
        """The columns of the samples that options name, as they were read."""
        return self.cohort.columns

    @property
    def design(self) -> Design | None:
        """What covariates say of the samples, where these are not ranked in parts."""
        return self.cohort.design

    @property
    def donors(self) -> np.ndarray | None:
        """The donor of each sample that is used by number, (n,); None where none are named."""
        column = self.columns.donors
        if column is None:
            return None
        names = [str(column.values[sample]) for sample in self.matrix.ids.samples]
        return np.unique(names, return_inverse=True)[1]

    @property
    def passes(self) -> PassList:
        """The passes over the matrix, as planned and as made."""
        assert self.context.engine.passes is not None
        return self.context.engine.passes

    @contextmanager
    def progress(self, title: str) -> Iterator[None]:
        """Show how far the passes of the list have come."""
        with self.log.progress(title, None) as advance:
            self.passes.watch(self.log.phase, advance)
            yield

    def on(self, engine: Engine) -> Run:
        """Return the run with other passes over its matrix, or another matrix."""
        return replace(self, context=replace(self.context, engine=engine))

    def with_engine(self, **changes: Any) -> Run:
        """Return the run with other attributes of its engine, such as its matrix (`source`)."""
        return self.on(replace(self.context.engine, **changes))

    def of(self, whose: str) -> Run:
        """Return a part of the run, which its passes are counted for."""
        return self.on(self.context.engine.of(whose))

    def planned(self, plan: MemoryPlan) -> Run:
        """Return the run in memory that is planned in another way."""
        executor = self.context.engine.executor.at_most(plan.workers)
        run = self.with_engine(executor=executor, block_size=plan.block_size)
        return replace(run, plan=plan)

    @property
    def log(self) -> Messages:
        """Receives messages and progress."""
        return self.context.log

    @property
    def matrix(self) -> PreparedMatrix:
        """The matrix, prepared."""
        return cast(PreparedMatrix, self.context.matrix)

    def fit(self) -> None:
        """Make the passes for what the transformation needs of each sample."""
        run = self.context
        self.matrix.fit(run.engine, run.memory, run.scratch)
        if (alpha := self.matrix.dispersion) is not None:
            run.log.note(f"--transform vst: the counts have a common dispersion of {alpha:.3g}")


@contextmanager
def loaded(
    config: RankConfig,
    log: Messages,
    shared: Shared | None = None,
    client: Client | None = None,
    *,
    labeled: bool = False,
    matrix: inputs.Opened | None = None,
) -> Iterator[Run]:
    """Read what a configuration names, and plan the run; `client` is of a Dask cluster to use.

    `shared` is what a plan of shards has.

    A matrix that does not fit in memory is stored in a scratch folder, which is removed at the end.
    With `labeled`, every sample that is used has a label, whether the method needs one or not.
    `matrix` is that of another run, which has read it.
    """
    memory = memory_budget(config)
    parse_transform(config.transform)  # refused before anything is read
    with ExitStack() as stack:
        folder = stack.enter_context(scratch_folder())
        start = _starting_executor(config, client, folder, stack)
        load = inputs.load if shared is None else shared.load
        known = _read(config, load, memory, folder, log, matrix)
        stack.enter_context(located(config.matrix))
        chosen, cohort = _align(known, memory, log, labeled)
        config = for_cohort(known.config, cohort)
        looked = check_columns(config, known.opened.matrix, chosen, known.named, log)
        prepared = _prepare(config, known, chosen, cohort, log)
        given, taken = given_features(config, known.whole, log), _taken_unnamed(known, log)
        n, m, found = prepared.n_samples, prepared.n_features, known.coordinates
        shape = Shape(
            *(n, m, prepared.dtype, memory, cohort.sizes),
            coordinates=None if found is None else len(found.names),
            classes=2 if known.labels is None else known.labels.n_classes,
        )
        passes = PassList(m)
        passes.look(looked + known.seen)
        adjustment = prepared.adjustment
        # the basis is there as rows and as columns
        held = 8 * n * len(given) + (0 if adjustment is None else 2 * adjustment.basis.nbytes)
        of_subsets = held_at_once(config, n, m, memory)
        plan = memory_plan(config, shape, held, of_subsets=of_subsets)
        engine = Engine(
            prepared,
            start(plan.workers),
            plan.dtype,
            plan.block_size,
            passes=passes,
            parts=None if shared is None else shared.parts,
        )
        context = RunContext(
            *(engine, cohort.labels, memory, config.seed, log, config.matrix),
            sample_weights=cohort.weights,
            scratch=folder,
            design=None if cohort.design is None else cohort.design.basis,
            blocks=None if cohort.design is None else cohort.design.blocks,
            given=given,
        )
        stack.enter_context(_none_left(config, prepared))
        yield Run(
            config,
            context,
            plan,
            known.opened,
            known.labels,
            known.sources,
            cohort,
            None if found is None else found.aligned(prepared.ids.samples),
            taken,
            known.table,
        )


@dataclass(frozen=True)
class _Known:
    """What the files of a run hold, before their samples are matched."""

    config: RankConfig  # with the defaults that suit the matrix
    opened: inputs.Opened
    seen: int  # features that were read to find the defaults
    table: Column[inputs.Label] | None  # of labels
    labels: Labels | None  # of all samples in the file
    columns: SampleColumns
    coordinates: Coordinates | None
    sources: list[Source]
    whole: Matrix  # with the features of sources that are ranked, too
    named: set[str]  # samples by what other files say


def _names(table: Column[Any] | None) -> tuple[str, ...]:
    """Return the name of a column, and those of the others of its table."""
    return () if table is None else (table.name, *table.beside)


def _read(
    config: RankConfig,
    load: Callable[..., inputs.Opened],
    memory: int,
    folder: Path,
    log: Messages,
    matrix: inputs.Opened | None,
) -> _Known:
    """Read every file, small ones first: they show what the rows are, and may be refused."""
    table = inputs.read_label_table(config)
    of_files = read_files(config)
    of = config.coordinates_from
    found = None if of is None else open_coordinates(of, config.matrix)
    ids = sources_of.known_samples(config, table)
    of_columns = (each.values for columns in of_files.values() for each in columns)
    ids += dict.fromkeys(sample for column in of_columns for sample in column.possible_ids)
    opened = matrix or load(config, ids, memory, folder, log)
    with located(config.matrix):
        if table is None:
            table = inputs.read_label_table(config, opened.matrix.ids)
        labels = inputs.align_labels(config, opened.matrix, table, log)
        made, seen = _with_defaults(config, opened, labels, log)
        if made.spatial:
            made = spatial_settled(made, opened.matrix)
        _tell_modality(made, opened.graphs, log)
        if of != made.coordinates_from:
            found = open_coordinates(str(made.coordinates_from), made.matrix)
        sources = sources_of.open_sources(made, opened, labels, memory, folder, log)
        renamed = opened.facts.get("renamed")
        if renamed and any(spec.about_genes for spec in made.source):
            log.warn(
                f"sources about genes find only the first feature of each id, not the {renamed:,} "
                "that were given suffixes; --id-map can name those"
            )
        columns = columns_of(made, of_files, opened.matrix.ids)
        for each in columns.all:
            inputs.tell_column(each.values, flag(each.option), log)
        whole = sources_of.joined_with(made, opened.matrix, sources, log)
    return _Known(made, opened, seen, table, labels, columns, found, sources, whole, {*ids})


def _with_defaults(
    config: RankConfig, opened: inputs.Opened, labels: Labels | None, log: Messages
) -> tuple[RankConfig, int]:
    """Return the configuration with defaults by the matrix, and how many features were read."""
    sparse, seen = opened.like_cells() if config.method is None else (False, 0)
    n, classes = opened.matrix.n_samples, 2 if labels is None else labels.n_classes
    if sparse and config.default_method(n, classes, True) != config.default_method(n, classes):
        log.note(
            "most values are zero, as in single cells: the default method is spec, whose lists "
            "give better clusters there than those of mrsf-rounds"
        )
    made = with_defaults(config, n, classes, sparse, opened.graphs)
    if made.batch is not None and config.graph is None and made.graph == "obsp":
        log.note(
            f"{made.similarity} is a graph of all samples, and batches are ranked one by one: "
            "their graphs are made within each batch"
        )
        others = tuple(each for each in opened.graphs if not each.startswith("obsp:"))
        made = with_defaults(config, n, classes, sparse, others)
    if config.method is None and made.left_out:
        log.warn(made.left_out, AT_ONCE)
    return made, seen


def _tell_modality(config: RankConfig, graphs: Sequence[str], log: Messages) -> None:
    """Warn of a graph or coordinates of MuData, where a modality has some of that name, too."""
    name = config.coordinates_from or str(config.similarity)
    part_of, _, key = name.partition(":")
    alone = [g for g in graphs if g.startswith(f"{part_of}:") and g.endswith(f":{key}")]
    alone = [g for g in alone if key and g != name]
    if alone:  # of MuData, where the name of the modality comes first
        given_by = "--coordinates" if config.coordinates else "--similarity"
        log.warn(
            f"{name} is that of the MuData, of all modalities; that of the modality alone is "
            f"{given_by} {alone[0]}"
        )


def _align(
    known: _Known, memory: int, log: Messages, labeled: bool
) -> tuple[np.ndarray | None, Cohort]:
    """Choose the samples (None: all, as they are), and find how they are compared."""
    matrix = known.opened.matrix
    chosen, labels = _choose_samples(known, log, labeled)
    cohort = Cohort(known.columns, labels=labels)
    if known.columns:
        ids = matrix.ids.samples
        cohort = replace(cohort, samples=[ids[i] for i in chosen.tolist()])
        cohort = compared(cohort, known.config, memory, log)
    if cohort.kept is not None:
        chosen = chosen[cohort.kept]
    as_they_are = len(chosen) == matrix.n_samples and (np.diff(chosen) > 0).all()
    return None if as_they_are else chosen, cohort


def _prepare(
    config: RankConfig,
    known: _Known,
    chosen: np.ndarray | None,
    cohort: Cohort,
    log: Messages,
) -> PreparedMatrix:
    """Return the matrix as methods see it: chosen samples and features, transformed, adjusted."""
    whole = known.whole
    n_used = known.opened.matrix.n_samples if chosen is None else len(chosen)
    fewest = min(cohort.sizes.values(), default=n_used)
    features = feature_filter(config, whole, fewest, cohort.labels, log)
    own: list[tuple[str, str, Mapping[str, Any]]] = []
    own += [(each.option, each.name, each.values) for each in known.columns.all]
    if (table := known.table) is not None:
        own += [("labels", table.name, table)]
        own += [("labels", part, table.texts_of(part)) for part in table.parts]
    features = without_known(features, whole, own, log)
    return prepared_view(
        whole,
        samples=chosen,
        missing=cast(Any, config.missing),
        features=features,
        steps=parse_transform(config.transform),
        adjustment=cohort.adjustment,
        where=config.matrix,
    )


def _taken_unnamed(known: _Known, log: Messages) -> dict[str, str]:
    """Return the columns that were taken without being named, by the option of their file."""
    taken = {each.option: each.name for each in known.columns.all if each.values.others}
    if known.table is not None and known.table.others:
        taken["labels"] = known.table.name
    found = known.coordinates
    if found is not None and not str(known.config.coordinates_from).startswith(INSIDE):
        log.note(f"coordinates are all columns of {found.where}: {listed([*found.names], 20)}")
        taken["coordinates"] = ", ".join(found.names)
    return taken


@contextmanager
def _none_left(config: RankConfig, prepared: PreparedMatrix) -> Iterator[None]:
    """Let an error of a matrix whose features are all left out say so, and why.

    Passes leave features out as they meet them. What fails for want of any would blame samples.
    """
    try:
        yield
    except InputError as error:
        asked = [flag(name) for name in config.given("min_samples", "min_count")]
        if not asked and config.missing != "drop":
            raise
        reasons = np.bincount(np.concatenate(list(prepared.left_out())))
        if reasons[0]:
            raise
        why = [f"{count:,} {Status(r).text}" for r, count in enumerate(reasons.tolist()) if count]
        hint = f"give a smaller {' or '.join(asked)}" if asked else "fill them by --missing mean"
        asked += ["--missing drop"] * (config.missing == "drop")
        raise InputError(
            f"no feature is left after {' and '.join(asked)}",
            where=f"{config.matrix}: {', '.join(why)}",
            hint=hint,
            option=error.options,
        ) from error


def _choose_samples(
    known: _Known, log: Messages, labeled: bool
) -> tuple[np.ndarray, Labels | None]:
    """Return which samples are used, by index, and their labels where those are needed.

    They are in the natural order of their ids: a sum rounds by the order of its terms, and what is
    drawn goes by it, so that a list would depend on the order of the columns of the file.
    """
    config, matrix, labels = known.config, known.opened.matrix, known.labels
    sources, columns, coordinates = known.sources, known.columns, known.coordinates
    of_file = config.similarity_file if config.graph == "file" else None
    if not (sources or columns or of_file) and labels is None and coordinates is None:
        return _in_natural_order(matrix, np.arange(matrix.n_samples)), None
    needs, samples = needed(config) | ({"labels"} if labeled else set()), matrix.ids.samples
    coverages = [sources_of.coverage_of_source(source, samples) for source in sources]
    choose = config.samples == "intersect" and "some-labels" not in needs
    if labels is not None and ("labels" in needs or choose):
        having = known.table or [samples[i] for i in np.flatnonzero(labels.known).tolist()]
        what = ("label", str(config.labels), "labels")
        events = columns.get("event", ())
        had = events[0].values if events else {}
        mend = inputs.last_visit(config, known.table, had, samples)
        coverages.append(replace(sources_of.coverage_of(having, samples, *what), mend=mend))
    coverages += columns.coverages(samples)
    if config.samples == "intersect" and coordinates is not None:
        what = ("row of coordinates", coordinates.where, "coordinates")
        coverages.append(sources_of.coverage_of(coordinates.samples, samples, *what))
    if config.samples == "intersect" and of_file and (ids := open_similarity(of_file).samples):
        what = ("similarity", of_file, "similarity_file")
        coverages.append(sources_of.coverage_of(ids, samples, *what))
    idle = columns.idle(samples)  # for which nothing is missing
    coverages = [replace(each, has=each.has | idle) for each in coverages]
    chosen = sources_of.choose_samples(config, samples, coverages)
    compared = labels if needs & {"labels", "some-labels"} else None
    if len(chosen) < len(samples):
        mend = "give their samples what they lack"
        tell_left_out(samples, chosen, compared, "--samples intersect", mend, log)
        for each in coverages:
            if each.change:
                have = f"{int(each.has.sum()):,} of {len(samples):,} samples have a {each.noun}"
                log.warn(
                    f"{each.where}: {have}, and {each.change}: write both in the same way", FIRST
                )
    if idle.any():
        mend = "give some of them a weight above 0"
        tell_left_out(samples, np.flatnonzero(~idle), compared, "weights of 0", mend, log)
        chosen = chosen[~idle[chosen]]
        if len(chosen) < 2:
            raise InputError(
                f"{len(chosen)} of the {len(samples):,} samples can be used: too few, because "
                f"{counted(int(idle.sum()), 'sample')} have a weight of 0",
                where=columns["sample_weights"][0].where,
                hint="give more samples a weight above 0",
                option="sample_weights",
            )
        labels = None if labels is None else labels.among(~idle)
    chosen = _in_natural_order(matrix, chosen)
    if labels is None:
        return chosen, None
    if needs & {"labels", "some-labels"}:
        used = labels.take(chosen)
        if config.numeric:
            inputs.check_outcome(used, str(config.labels))
        else:
            names = _names(known.table)
            summed = config.pseudobulk is not None and config.least_cells > 1
            inputs.check_classes(used, str(config.labels), names, summed=summed)
        return chosen, used
    by = "the sources and their weights" if config.source else config.using("method")
    if choose:
        log.note(f"the labels choose the samples, and are not used by {by}")
        return chosen, None
    users = ["tests such as f-test"]
    users += [f"response={config.label_response}"] * ("response" in config.method_options())
    users += ["--weights alignf", "--source NAME=labels:FILE"] * bool(config.source)
    log.warn(
        f"{config.label('labels', config.labels)} has no effect on the ranking with {by}: labels "
        f"are used by {either(users, 'and')}",
        AT_ONCE,
    )
    return chosen, None


def _in_natural_order(matrix: Matrix, chosen: np.ndarray) -> np.ndarray:
    """Return samples in the order of their ids."""
    if len(chosen) > ORDERED:
        return chosen  # ids that may be read later
    ids = matrix.ids.samples
    return chosen[natural_order([ids[i] for i in chosen.tolist()])]


def _starting_executor(
    config: RankConfig, client: Client | None, folder: Path, stack: ExitStack
) -> Callable[[int], Executor]:
    """Return the function that starts what runs the tasks, with as many workers as are planned.

    A Dask cluster that runs already is connected to at once, so that nothing is read in vain; its
    workers are used as they are. A local one has its temporary files in `folder`. Both end with
    `stack`.
    """
    if client is None and config.dask is None:
        return ThreadExecutor
    if client is not None and config.dask is not None:
        raise UsageError(
            f"--dask {config.dask} and a client name two clusters",
            hint="give one of them",
            option="dask",
        )
    from sfs_cli.compute import dask_cluster
    from sfs_cli.compute.dask_executor import DaskExecutor

    dask_cluster.require_dask()
    if config.dask == "local":

        def start(workers: int) -> DaskExecutor:
            cluster = stack.enter_context(dask_cluster.local_cluster(workers, made(folder)))
            return DaskExecutor(cluster, ThreadExecutor(workers))

        return start
    running = client or stack.enter_context(dask_cluster.connected(str(config.dask)))
    dask_cluster.check_workers(running, config.dask or "the client")
    return lambda workers: DaskExecutor(running, ThreadExecutor(workers))
