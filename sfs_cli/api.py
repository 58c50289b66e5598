"""The functions for Python: the commands, on what is in memory as well as on files.

`rank`, `fuse`, `aggregate`, `select`, `evaluate` and `compare` have the names, the options and the
defaults of the commands. Where a command takes a file, they take an object too: an AnnData, a
MuData, a data frame, an array or a sparse matrix. Objects get a name, such as ``<labels>``, which
stands for them wherever the command has a path (`sfs_cli.io.given`), so that there is one way
through the program, and no file is written.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import Field, dataclass, field, fields, replace
from functools import cached_property, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from sfs_cli import provenance
from sfs_cli.errors import InputError, UsageError, listed, nearest
from sfs_cli.io.given import giving, named
from sfs_cli.io.matrix.memory import Table
from sfs_cli.logs import Messages
from sfs_cli.options import RankConfig
from sfs_cli.options.guards import GUARDS
from sfs_cli.options.rank import texts_of
from sfs_cli.options.source import SourceSpec, parse_sources
from sfs_cli.run import rank as of_rank

if TYPE_CHECKING:
    import pandas as pd
    from anndata import AnnData

    from sfs_cli.ranking.table import Ranking

F = TypeVar("F", bound=Callable[..., Any])
OF_SAMPLES = ("labels", "sample_weights", "batch", "donors", "adjust")
"""Options that take a column of ``obs`` by its name, or values of the samples."""
MEASURES = ("name", "selection", "length", "measure", "classifier", "value", "error")
KEY = "sfs"
"""What names in an AnnData begin with."""


class WrongInputError(InputError, ValueError):
    """An `InputError` that is a ValueError too, as users of Python expect."""


class WrongUsageError(UsageError, ValueError):
    """A `UsageError` that is a ValueError too."""


def _for_python(function: F) -> F:
    """Let the errors of a function be a ValueError where Python users expect one."""

    @wraps(function)
    def call(*given: Any, **named: Any) -> Any:
        try:
            return function(*given, **named)
        except (InputError, UsageError) as error:
            kind = WrongInputError if isinstance(error, InputError) else WrongUsageError
            raise kind(
                error.what, where=error.where, hint=error.hint, option=error.options
            ) from error

    return cast(F, call)


class SfsWarning(UserWarning):
    """What a user should know of a result before trusting it."""


@dataclass
class Ranked:
    """A ranking of features.

    Attributes
    ----------
    config : RankConfig
        What was done, with the default method filled in.
    facts : dict
        What ``run.json`` says of such a run: the graph, the method, the samples, times.
    warnings : list of str
        Warnings, which were given as `SfsWarning` too.
    adata : AnnData, optional
        Where the ranking was written; None where it was not: of files, of arrays, and of a view
        of a backed AnnData, which cannot be written to.
    ranking : Ranking
        The same as `table`, as arrays.
    """

    config: RankConfig
    facts: dict[str, Any]
    warnings: list[str]
    adata: AnnData | None
    ranking: Ranking = field(repr=False)
    _inputs: Inputs | None = field(default=None, repr=False)

    @cached_property
    def table(self) -> pd.DataFrame:
        """The ranking, best first: columns rank, score, status and more; features are the index."""
        return table_of_ranking(self.ranking)

    @property
    def order(self) -> np.ndarray:
        """The positions of the features in the input, best first, shape (m,)."""
        return self.ranking.order

    def top(self, n: int) -> list[str]:
        """Return the ids of the n best features; fewer where fewer have a score."""
        return list(self.ranking.feature[: min(n, self.ranking.n_scored)])

    def __len__(self) -> int:
        return len(self.ranking)

    def __repr__(self) -> str:
        best = listed(self.top(5), 5)
        return f"Ranked({len(self):,} features by {self.config.method}: {best}, ...)"


@_for_python
def rank(
    data: Any,
    *,
    labels: Any = None,
    similarity: Any = None,
    source: Any = (),
    top: int | None = None,
    modality: str | None = None,
    key_added: str = KEY,
    copy: bool = False,
    verbose: bool = False,
    **options: Any,
) -> Ranked:
    """Rank features, as ``sfs rank`` does.

    Parameters
    ----------
    data : AnnData, MuData, DataFrame, array, sparse matrix, str or Path
        The matrix. Rows of a data frame or an array are samples, as everywhere in Python, unless
        ``rows="features"`` (a command takes the rows of a file for features). Arrays have no ids:
        features are x0, x1, ...
    labels : str, Series, array or dict, optional
        A column of ``obs``, ``FILE[:COLUMN]``, or a label for each sample: in the order of the
        samples, or by their ids (a Series or dict). The options sample_weights, batch, donors and
        adjust take the same.
    similarity : str, DataFrame, array or sparse matrix, optional
        A name of the command (``knn``, ``obsp:connectivities`` ...), or the graph itself, shape
        (n, n).
    source : sequence of str, or dict, optional
        Knowledge sources: texts of the command, or by their names a text without ``NAME=``, a
        matrix of other features of the samples (a profile), or a dict of gene sets (kind genes).
        Of a MuData the name of another modality is enough.
    top : int, optional
        Mark so many genes as ``highly_variable`` in ``var``. ``means``, ``dispersions`` and
        ``dispersions_norm`` of the matrix, which ``scanpy.pl.highly_variable_genes`` plots, are
        added where they are not there and no value is below zero.
    modality : str, optional
        The modality of a MuData that is ranked.
    key_added : str
        Names in ``var`` and ``uns`` begin so: ``sfs_score``, ``sfs_rank``, ``sfs``.
    copy : bool
        Write into a copy of the AnnData, ``adata`` of the result, and leave the one given as it is.
    verbose : bool
        Show what the command shows.
    **options
        The other options of ``sfs rank``, with ``_`` for ``-`` (`RankConfig`).

    Returns
    -------
    Ranked
        Its ``table`` is the ranking.

    Raises
    ------
    SfsError
        For anything the user can correct; wrong options and data are a ValueError too.
    """
    if isinstance(data, RankConfig):
        return _rank(data, Inputs(data.matrix, None, None), verbose)
    asked = {"labels": labels, "similarity": similarity, "source": source, **options}
    inputs = Inputs(data, modality, asked.get("rows"))
    asked = inputs.options(asked)
    config = _config(RankConfig, inputs.matrix, asked)
    with giving(inputs.objects):
        result = _rank(config, inputs, verbose)
    if inputs.adata is not None:
        result.adata = _written(inputs, result, top, key_added, copy)
    elif top is not None or copy:
        what = "top marks genes in an AnnData" if top is not None else "copy is of an AnnData"
        raise UsageError(f"{what}, and this is none", hint="leave it out", option="top")
    return result


def _rank(config: RankConfig, inputs: Inputs, verbose: bool) -> Ranked:
    messages = _messages(verbose)
    found = of_rank.rank(config, messages)
    _warn(found.warnings, verbose)
    return Ranked(found.config, dict(found.facts), found.warnings, None, found.ranking, inputs)


def _messages(verbose: bool) -> Messages:
    return Messages(verbosity=0 if verbose else -1)


def _warn(texts: Iterable[str], verbose: bool) -> None:
    """Give the warnings that were not shown."""
    for text in () if verbose else texts:
        warnings.warn(text, SfsWarning, stacklevel=5)


def _config(kind: type, matrix: str, options: Mapping[str, Any]) -> Any:
    """Return a configuration; UsageError for an option that it does not have, or of files."""
    known = {each.name: each.default for each in fields(kind)}
    of_files = {each.name for each in fields(kind) if _is_of_files(each)}
    made = {}
    for name, value in options.items():
        asked = name if name in known else f"{name}_"  # such as given_, as the commands have it
        if asked not in known:
            raise UsageError(f"there is no option {name!r}", hint=nearest(name, known), option=name)
        if asked in of_files:
            raise UsageError(
                f"{name!r} is about the files that the command writes, and a function writes none",
                hint="take what the function returns",
                option=name,
            )
        made[asked] = texts_of(value) if isinstance(known[asked], tuple) else value
    return kind(matrix, **made)


def _is_of_files(option: Field[Any]) -> bool:
    return option.name == "resume" or option.metadata["option"].section == "Output"


class Inputs:
    """The objects of a call, by the names that stand for them.

    Parameters
    ----------
    data : AnnData, MuData, DataFrame, array, sparse matrix, str or Path
        The matrix.
    modality : str, optional
        Of a MuData.
    rows : str, optional
        What the rows of a data frame or an array are; samples by default.

    Attributes
    ----------
    matrix : str
        The path of the matrix, or what stands for it.
    adata : AnnData, optional
        What a ranking can be written to.
    objects : dict
        What each name stands for.
    """

    def __init__(self, data: Any, modality: str | None, rows: str | None) -> None:
        self.objects: dict[str, Any] = {}
        self.adata: AnnData | None = None
        self.modalities: dict[str, Any] = {}
        self.columns: list[str] = []
        self.samples: list[str] | None = None
        self.path = isinstance(data, str | Path)
        if self.path:
            if modality is not None:
                data = f"{data}:{modality}"
            self.matrix = str(data)
            return
        self.matrix = named("matrix")
        if hasattr(data, "n_mod"):
            data = self._chosen(data, modality)
        elif modality is not None:
            raise UsageError(
                "modality is of MuData, and this is none", hint="leave it out", option="modality"
            )
        if _is_anndata(data):
            if self.adata is None:
                self.adata = data
            self.samples = list(map(str, data.obs_names))
            self.columns = [*self.columns, *map(str, data.obs.columns)]
            self.objects[self.matrix] = data
            return
        table = as_table(data, "matrix", rows)
        self.objects[self.matrix] = table
        if table.samples_are_rows is not None:
            self.samples = list(table.row_ids if table.samples_are_rows else table.column_ids)

    def _chosen(self, data: Any, modality: str | None) -> Any:
        """Return the modality that is ranked; the others may be sources."""
        names = list(data.mod)
        if modality is None and len(names) > 1:
            raise UsageError(
                f"the MuData has {len(names)} modalities, and none is named",
                hint=f"give modality, one of {listed(names)}",
                option="modality",
            )
        name = names[0] if modality is None else modality
        if name not in names:
            raise UsageError(
                f"there is no modality {name!r}", hint=nearest(name, names), option="modality"
            )
        chosen = data.mod[name]
        self.adata = chosen
        self.modalities = {other: data.mod[other] for other in names if other != name}
        self.columns = [c for c in map(str, data.obs.columns) if c not in chosen.obs.columns]
        if self.columns:  # annotations of the whole, for the samples of the modality
            for column in self.columns:
                self.objects[named(f"obs {column}")] = data.obs[[column]].dropna()
        return chosen

    def options(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Return options of the command, in which names stand for the objects."""
        made = {name: value for name, value in asked.items() if value is not None}
        if self.path:
            pass  # rows of a file are what the command takes them for
        elif self.adata is None:
            made.pop("rows", None)  # the table says
        for name in OF_SAMPLES:
            if name in made:
                made[name] = self._of_samples(name, made[name])
        graph = made.get("similarity")
        if graph is not None and not isinstance(graph, str):
            del made["similarity"]
            made["similarity_file"] = self._graph(graph)
        places = made.get("coordinates")
        if places is not None and not isinstance(places, str | Path):
            made["coordinates"] = self._hold("coordinates", self._with_samples(places))
        made["source"] = self._sources(made.get("source", ()))
        return {k: str(v) if isinstance(v, Path) else v for k, v in made.items()}

    def _hold(self, what: str, value: Any) -> str:
        name = named(what)
        self.objects[name] = value
        return name

    def _of_samples(self, option: str, value: Any) -> Any:
        """Return the text of the command for an annotation of the samples."""
        if option == "adjust" and isinstance(value, list | tuple):
            return tuple(self._of_samples(option, each) for each in value)
        if isinstance(value, str | Path):
            name = str(value)
            if name in self.columns and not Path(name).exists():
                whole = named(f"obs {name}")
                text = whole if whole in self.objects else f"obs:{name}"
            else:
                text = name
        else:
            frame = self._frame(value, option)
            count = sum(name.startswith(f"<{option}") for name in self.objects)
            text = self._hold(option + f" {count + 1}" * bool(count), frame)
        return text

    def _frame(self, value: Any, option: str) -> Any:
        """Return values of the samples as a data frame, with their ids as the index."""
        import pandas as pd

        if isinstance(value, Mapping):
            value = pd.Series(dict(value))
        ids = getattr(value, "index", None)
        if not isinstance(value, pd.Series | pd.DataFrame):
            value = np.asarray(value)
            value = pd.Series(value, index=self._ids(len(value), option))
        elif isinstance(ids, pd.RangeIndex) and self.samples is not None:
            value = value.set_axis(self._ids(len(value), option))  # the index counts, no more
        else:
            value = value.set_axis(value.index.map(str))
        return value.to_frame(value.name or option) if value.ndim == 1 else value

    def _ids(self, length: int, option: str) -> list[str]:
        """Return the ids of the samples for values in their order."""
        if self.samples is None:
            raise UsageError(
                f"{option} has no ids, and the samples of a file are not known yet",
                hint="give a Series with the ids of the samples as its index",
                option=option,
            )
        if len(self.samples) != length:
            raise UsageError(
                f"{option} has {length:,} values for {len(self.samples):,} samples",
                hint="give one value for each sample, or a Series with their ids as its index",
                option=option,
            )
        return self.samples

    def _with_samples(self, values: Any) -> Table:
        """Return a table with a row for each sample."""
        table = as_table(values, "coordinates", "samples")
        if hasattr(values, "index"):
            return replace(table, samples_are_rows=None)
        ids = self._ids(len(table.row_ids), "coordinates")
        return replace(table, row_ids=ids, samples_are_rows=None)

    def _graph(self, graph: Any) -> str:
        if hasattr(graph, "index"):
            table = as_table(graph, "similarity", "samples")
        else:
            values = graph if hasattr(graph, "tocsr") else np.asarray(graph, np.float64)
            ids = self._ids(values.shape[0], "similarity")
            table = Table(values, ids, ids)
        values = table.values
        values = values.tocsr().astype(np.float64) if hasattr(values, "tocsr") else values
        return self._hold("similarity", replace(table, values=values))

    def _sources(self, given: Any) -> tuple[SourceSpec, ...]:
        if isinstance(given, str):
            given = (given,)
        if not isinstance(given, Mapping):
            texts, made = [], []
            for each in given:
                if isinstance(each, SourceSpec):
                    made.append(each)
                elif each in self.modalities:
                    made.append(self._source(each, self.modalities[each]))
                else:
                    texts.append(each)
            return (*made, *parse_sources(texts))
        return tuple(self._source(name, value) for name, value in given.items())

    def _source(self, name: str, value: Any) -> SourceSpec:
        if isinstance(value, str):
            return parse_sources((f"{name}={value}",))[0]
        if isinstance(value, Mapping):
            key = named(name) + ".gmt"
            self.objects[key] = value
            return SourceSpec(name, "genes", key)
        held = value if _is_anndata(value) else as_table(value, name, "samples")
        if isinstance(held, Table) and not hasattr(value, "index"):
            held = replace(held, row_ids=self._ids(len(held.row_ids), name))
        return SourceSpec(name, "profile", self._hold(name, held))


def _is_anndata(value: Any) -> bool:
    return all(hasattr(value, name) for name in ("obs_names", "var_names", "obsp", "uns"))


def as_table(value: Any, what: str, rows: str | None) -> Table:
    """Return a data frame, an array or a sparse matrix with ids; rows are samples by default."""
    samples_are_rows = rows != "features"
    if hasattr(value, "iloc"):
        frame = value
        return Table(
            frame.to_numpy(),
            list(map(str, frame.index)),
            list(map(str, frame.columns)),
            samples_are_rows,
        )
    values = value if hasattr(value, "tocsr") else np.asarray(value)
    if values.ndim != 2:
        raise UsageError(
            f"{what} has {values.ndim} axes, not 2",
            hint="give samples in rows and features in columns",
            option="matrix",
        )
    samples, features = values.shape if samples_are_rows else values.shape[::-1]
    ids = [str(i) for i in range(samples)], [f"x{i}" for i in range(features)]
    return Table(values, *(ids if samples_are_rows else ids[::-1]), samples_are_rows)


def _written(
    inputs: Inputs, ranked: Ranked, top: int | None, key: str, copy: bool
) -> AnnData | None:
    """Write a ranking into ``var`` and ``uns``, and return the AnnData; None where it cannot be."""
    from sfs_cli.io.results.highly_variable import FLAVOR, MARK, is_plotted, plotted_columns

    adata: Any = inputs.adata
    if not copy and adata.isbacked and adata.is_view:
        return None  # which anndata cannot write to
    if copy:
        adata = adata.to_memory() if adata.isbacked else adata.copy()
    table = ranked.table.reindex(list(map(str, adata.var_names)))
    table.index = adata.var_names
    adata.var[f"{key}_rank"] = table["rank"]
    adata.var[f"{key}_score"] = table["score"]
    options = {"config": ranked.config.result_options(), **ranked.facts}
    adata.uns[key] = provenance.dumps(options)
    if top is None:
        return adata
    if MARK in adata.var:
        warnings.warn(f"{MARK} was there, and is replaced", SfsWarning, stacklevel=4)
    adata.var[MARK] = ((table["rank"] <= top) & table["score"].notna()).to_numpy(bool)
    flavor = dict(adata.uns.get("hvg", {})).get("flavor")
    plotted = is_plotted(adata.var.columns, flavor)
    if not plotted and not ranked.config.use_raw:
        with giving(inputs.objects):
            made = plotted_columns(Path(inputs.matrix), ranked.config.layer)
        for name, values in made.items():
            adata.var[name] = values
    if flavor is None or not plotted:
        adata.uns["hvg"] = {"flavor": FLAVOR}
    return adata


@_for_python
def fuse(
    data: Any,
    source: Any,
    *,
    modality: str | None = None,
    key_added: str = f"{KEY}_fused",
    copy: bool = False,
    verbose: bool = False,
    **options: Any,
) -> pd.DataFrame | AnnData:
    """Fuse knowledge sources to one similarity between the samples, as ``sfs fuse`` does.

    Parameters
    ----------
    data, source, modality, copy, verbose, **options
        As of `rank`.
    key_added : str
        Where ``obsp`` of an AnnData gets the similarity.

    Returns
    -------
    DataFrame or AnnData
        The similarity, shape (n, n), with the ids of the samples; of a sparse one its columns are
        sparse. With `copy` the copy of the AnnData.

    Raises
    ------
    SfsError
        For anything the user can correct.
    """
    import pandas as pd

    from sfs_cli.graph.similarity import SparseSimilarity
    from sfs_cli.run.fused_rank import fuse as fuse_sources
    from sfs_cli.run.load import loaded

    inputs = Inputs(data, modality, options.get("rows"))
    config = _config(RankConfig, inputs.matrix, inputs.options({"source": source, **options}))
    if not config.source:
        raise UsageError("no knowledge source is given", hint="give one or more", option="source")
    messages = _messages(verbose)
    with giving(inputs.objects), loaded(config, messages) as run:
        run.fit()
        similarity = fuse_sources(run).similarity
        samples = list(run.matrix.ids.samples)
    _warn(messages.warnings, verbose)
    sparse = isinstance(similarity, SparseSimilarity)
    made: Any = similarity.matrix if sparse else similarity.to_dense()  # type: ignore[attr-defined]
    of_pandas: Any = pd.DataFrame
    if sparse:
        of_pandas = of_pandas.sparse.from_spmatrix
    frame = of_pandas(made, samples, samples)
    adata = inputs.adata
    if adata is not None and len(samples) == adata.n_obs:
        adata = adata.copy() if copy else adata
        adata.obsp[key_added] = made
    return adata if copy and adata is not None else frame


@_for_python
def aggregate(rankings: Any, *, verbose: bool = False, **options: Any) -> pd.DataFrame:
    """Aggregate several rankings into one, as ``sfs aggregate`` does.

    Parameters
    ----------
    rankings : sequence or dict
        Rankings, or rankings by their names: results of `rank`, data frames with a column of ranks
        or scores and features in a column or as the index, or paths.
    verbose : bool
        Show what the command shows.
    **options
        The options of ``sfs aggregate``: how, list_weights, top and more.

    Returns
    -------
    DataFrame
        The ranking, best first, with features as the index.
    """
    from sfs_cli.options.aggregate import AggregateConfig
    from sfs_cli.run.aggregate import aggregate_lists

    inputs = Lists(rankings)
    config = _config(AggregateConfig, tuple(inputs.paths), options)  # type: ignore[arg-type]
    messages = _messages(verbose)
    with giving(inputs.objects):
        found = aggregate_lists(config, messages)
    _warn(messages.warnings, verbose)
    return table_of_ranking(found.ranking)


class Lists:
    """Rankings, by the names that stand for them; those of files by their paths."""

    def __init__(self, given: Any) -> None:
        self.objects: dict[str, Any] = {}
        self.paths: list[str] = []
        pairs = given.items() if isinstance(given, Mapping) else enumerate(given, 1)
        for name, each in pairs:
            self.paths.append(self.add(str(name) if isinstance(name, str) else f"list{name}", each))

    def add(self, name: str, value: Any) -> str:
        """Return the name that stands for a ranking, or its path."""
        if isinstance(value, str | Path):
            return str(value)
        import pandas as pd

        if isinstance(value, Ranked):
            frame = value.table
        elif isinstance(value, pd.DataFrame):
            frame = value
        elif isinstance(value, pd.Series):
            frame = value.to_frame("score")
        else:  # features, best first
            features = [str(each) for each in value]
            frame = pd.DataFrame({"rank": np.arange(1, len(features) + 1)}, index=features)
        counted = isinstance(frame.index, pd.RangeIndex) and len(frame.select_dtypes("object").T)
        if frame.index.name is None and not counted:
            frame = frame.rename_axis("feature")
        self.objects[named(name)] = frame
        return named(name)


def table_of_ranking(ranking: Ranking) -> pd.DataFrame:
    """Return a ranking as a data frame, best first, with features as the index."""
    import pandas as pd

    columns = ranking.columns(0, len(ranking))
    made = {k: v if isinstance(v, np.ndarray) else list(v) for k, v in columns.items()}
    return pd.DataFrame(made).set_index("feature")


@_for_python
def select(ranked: Ranked, *, verbose: bool = False, **options: Any) -> list[str]:
    """Choose how many features of a ranking to take, as ``sfs select`` does.

    Parameters
    ----------
    ranked : Ranked
        A result of `rank`.
    verbose : bool
        Show what the command shows.
    **options
        Exactly one rule of ``sfs select``: top, fdr, stable, artificial or cv, and what goes with
        it, such as max_false or min_redundancy.

    Returns
    -------
    list of str
        The chosen features, best first.
    """
    from sfs_cli.options.select import SelectConfig
    from sfs_cli.run import select as of_select

    place = named("ranking")
    config = _config(SelectConfig, place, options)
    ranking = ranked.ranking
    table = Lists([ranked]).objects[named("list1")].reset_index()
    messages = _messages(verbose)
    inputs = ranked._inputs
    assert inputs is not None, "of a ranking that was made here"
    with giving({**inputs.objects, place: table.set_index("feature")}):
        result = of_select.read_result(config, messages)
        again = None
        if config.reads_matrix:
            n = ranked.facts["input"]["n_samples_in_file"]
            made = replace(ranked.config, accept=tuple(GUARDS))
            again = of_select.to_rank_again(config, made, n, place)
        found = of_select.select(config, result, again, messages)
    _warn(messages.warnings, verbose)
    assert len(ranking) == len(result.features)
    return [result.features[row] for row in found.rows.tolist()]


@dataclass
class Evaluated:
    """What `evaluate` and `compare` have found.

    Attributes
    ----------
    table : DataFrame
        A row for each list, length and measure: columns list, selection, length, measure,
        classifier, value and standard_error.
    enrichment : DataFrame
        The sets in the lists, where some were given.
    facts : dict
        What ``run.json`` says of such a run.
    """

    table: pd.DataFrame
    enrichment: pd.DataFrame
    facts: dict[str, Any]


@_for_python
def evaluate(
    data: Any,
    *,
    list: Any = None,
    modality: str | None = None,
    verbose: bool = False,
    **options: Any,
) -> Evaluated:
    """Measure what a ranking is worth, as ``sfs evaluate`` does.

    Parameters
    ----------
    data, modality, verbose
        As of `rank`.
    list : Ranked, DataFrame, sequence of str or path, optional
        The ranking, or the features best first.
    **options
        The options of ``sfs evaluate``: method, labels, lengths, folds, repeats, sets, drivers.

    Returns
    -------
    Evaluated
        Its ``table`` holds the measures.
    """
    from sfs_cli.options.evaluate import EvaluateConfig
    from sfs_cli.run.evaluate import evaluate as run_evaluate

    lists = Lists({} if list is None else {"list": list})
    return _judged(data, modality, verbose, options, EvaluateConfig, run_evaluate, lists)


@_for_python
def compare(
    data: Any,
    methods: Iterable[str] = (),
    *,
    rankings: Mapping[str, Any] | None = None,
    lists: Mapping[str, Any] | None = None,
    modality: str | None = None,
    verbose: bool = False,
    **options: Any,
) -> Evaluated:
    """Compare methods and rankings on one matrix, as ``sfs compare`` does.

    Parameters
    ----------
    data, modality, verbose
        As of `rank`.
    methods : sequence of str
        Methods, with their defaults.
    rankings : dict, optional
        Names of rankings, each with the options of `rank` that make it, as a dict.
    lists : dict, optional
        Names of rankings that are there already, each as of `aggregate`.
    **options
        The options of ``sfs compare``: labels, lengths, folds, sets and more.

    Returns
    -------
    Evaluated
        Its ``table`` holds the measures of all lists, and of the controls.
    """
    from sfs_cli.options.compare import CompareConfig, ListSpec, RankingSpec
    from sfs_cli.run.compare import compare as run_compare

    held = Lists(lists or {})
    names = [] if lists is None else [str(name) for name in lists]
    asked = options | {
        "method_": tuple(methods),
        "ranking_of": tuple(
            RankingSpec(name, dict(each), str(each)) for name, each in (rankings or {}).items()
        ),
        "list_": tuple(map(ListSpec, names, held.paths)),
    }
    return _judged(data, modality, verbose, asked, CompareConfig, run_compare, held)


def _judged(
    data: Any,
    modality: str | None,
    verbose: bool,
    options: Mapping[str, Any],
    kind: type,
    judge: Callable[[Any, Messages], Any],
    lists: Lists,
) -> Evaluated:
    """Run `evaluate` or `compare`, and return what it has found as tables."""
    import pandas as pd

    sets = {}
    given = dict(options)
    if isinstance(given.get("sets"), Mapping):
        sets[named("sets") + ".gmt"] = given["sets"]
        given["sets"] = named("sets") + ".gmt"
    if isinstance(given.get("drivers"), list | tuple | set):
        sets[named("drivers")] = given["drivers"]
        given["drivers"] = named("drivers")
    if isinstance(given.get("lengths"), list | tuple):
        given["lengths"] = ",".join(map(str, given["lengths"]))
    if kind.__name__ == "EvaluateConfig" and lists.paths:
        given["list_"] = lists.paths[0]
    inputs = Inputs(data, modality, given.get("rows"))
    config = _config(kind, inputs.matrix, inputs.options(given))
    messages = _messages(verbose)
    with giving({**inputs.objects, **lists.objects, **sets}):
        found = judge(config, messages)
    _warn(messages.warnings, verbose)
    measures = [[getattr(row, name) for name in MEASURES] for row in found.measures]
    enriched = [(*place, *vars(found_set).values()) for *place, found_set in found.enriched]
    return Evaluated(
        pd.DataFrame(measures, columns=["list", *MEASURES[1:-1], "standard_error"]),
        pd.DataFrame(enriched),
        found.facts,
    )
