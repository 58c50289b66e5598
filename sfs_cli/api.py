"""The functions for Python: the commands, on what is in memory as well as on files.

`rank`, `fuse`, `aggregate`, `select`, `evaluate` and `compare` have the names, the options and the
defaults of the commands. Where a command takes a file, they take an object too: an AnnData, a
MuData, a data frame, an array or a sparse matrix (`sfs_cli.arguments`).
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, wraps
from pathlib import Path
from threading import Lock
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypeVar, overload

import numpy as np
import pandas as pd
import scipy.linalg  # noqa: F401  # it brings a BLAS of its own: loaded now, it is limited too
from threadpoolctl import threadpool_limits

from sfs_cli import provenance
from sfs_cli.arguments import (
    CALLED,
    Given,
    as_declared,
    config_of,
    given_of,
    in_names,
    of_samples,
    plain,
    without_addresses,
)
from sfs_cli.errors import (
    InputError,
    OutputExistsError,
    SfsError,
    UsageError,
    listed,
    within,
)
from sfs_cli.io.files.table import is_id_name
from sfs_cli.io.given import giving
from sfs_cli.io.objects import (
    has_index,
    names_of,
    refused,
)
from sfs_cli.io.results.additions import KEY, MARK, Inside, additions
from sfs_cli.logs import AT_ONCE, Messages
from sfs_cli.options import RankConfig
from sfs_cli.options.fields import Config, options_of
from sfs_cli.options.grammar import expanded, joined, text_of
from sfs_cli.ranking.table import Picked
from sfs_cli.store.ids import unique_features
from sfs_cli.workflow import rank as of_rank
from sfs_cli.workflow.annotated import anndata_of
from sfs_cli.workflow.outputs import describe_inputs, with_digests
from sfs_cli.workflow.rank import about_ranking

if TYPE_CHECKING:
    from anndata import AnnData
    from scipy.sparse import csr_array

    from sfs_cli.provenance import InputFile, RunFacts
    from sfs_cli.ranking.table import Ranking
    from sfs_cli.run.scoring import RankResult
    from sfs_cli.workflow.judged import Judged

P = ParamSpec("P")
T = TypeVar("T")
C = TypeVar("C", bound=Config)
MEASURES = (
    *("list", "selection", "length", "measure", "classifier"),
    *("value", "standard_error", "low", "high"),
)
"""The columns of what lists are measured by, as of evaluation.tsv."""


class SfsWarning(UserWarning):
    """What a user should know of a result before trusting it."""


def _for_python(function: Callable[P, T]) -> Callable[P, T]:
    """Let the errors of a function name its arguments, not the options of the command."""
    called = CALLED.get(function.__name__, {})

    @wraps(function)
    def call(*args: P.args, **options: P.kwargs) -> T:
        try:
            return function(*args, **options)
        except SfsError as error:
            texts = (error.what, error.where or "", error.hint or "")
            error.what, error.where, error.hint = (_in_python(text, called) for text in texts)
            raise

    return call


def _in_python(text: str, called: Mapping[str, str] = MappingProxyType({})) -> str:
    """Return a message with arguments where it names options of the command line."""
    words = {option.flag: option.words for option in options_of(RankConfig)}

    def argument(found: re.Match[str]) -> str:
        name, value = found[1][2:].replace("-", "_"), found[2]
        name = name if name == "method" else called.get(name, name)
        if value is None:
            return name
        if value.startswith("'"):  # a pattern that a shell takes as it is
            return f"{name}={value}"
        if value.isalpha() and value not in words.get(found[1], ()):
            return f"{name} {value}"  # a word of the sentence
        return f"{name}={value}" if value.replace(".", "").isdigit() else f'{name}="{value}"'

    value = r"(?: (?!-)('[^']*'|[\w./,:=-]*\w))?"
    return re.sub(rf"(?<![\w-])(--(?!help)[a-z][a-z\d-]*){value}", argument, text)


@dataclass(eq=False, repr=False)
class Ranked:
    """A ranking of features.

    Attributes
    ----------
    config : RankConfig
        What was done, with the default method filled in.
    facts : dict
        What ``run.json`` says of such a run: the graph, the method, the samples, times.
    warnings : list of str
        Warnings, which were given as `SfsWarning` too, or shown with `verbose`.
    adata : AnnData, optional
        Where the ranking was written; None where it was not: of files, of arrays, with
        ``inplace=False``, and of a view of a backed AnnData, which cannot be written to.
    markers : DataFrame, optional
        The markers of each class, as in markers.tsv; None without ``markers``.
    coefficients : DataFrame, optional
        The coefficients of a sparse method, as in coefficients.tsv; None of other methods.
    ranking : Ranking
        The same as `table`, as arrays.

    Notes
    -----
    It refers to the data, which `select` reads again for ``cv``: change them in place, and it sees
    other values.
    """

    config: RankConfig
    facts: RunFacts
    warnings: list[str]
    adata: AnnData | None
    markers: pd.DataFrame | None
    coefficients: pd.DataFrame | None
    ranking: Ranking
    _given: Given
    _asked: RankConfig
    _found: RankResult
    _inputs: list[InputFile]
    _features: list[str] | None  # of the AnnData, as it was

    @cached_property
    def table(self) -> pd.DataFrame:
        """The ranking, best first: columns rank, score, status and more; features are the index.

        With ``top`` it has so many rows; `ranking` and all functions have the whole ranking.
        """
        return _table_of_ranking(self.ranking)

    @property
    def _whole(self) -> pd.DataFrame:
        return _table_of_ranking(replace(self.ranking, top=None))

    @property
    def order(self) -> np.ndarray:
        """The positions of the features in the input, best first, shape (m,); a copy."""
        return self.ranking.order.copy()

    def top(self, n: int) -> list[str]:
        """Return the ids of the n best features; fewer where fewer have a score."""
        return list(self.ranking.feature[: min(n, self.ranking.n_scored)])

    @_for_python
    def to_anndata(self, *, key_added: str = KEY) -> AnnData:
        """Return the data as AnnData with the ranking in it, as `rank` and ``--write-h5ad`` do it.

        Parameters
        ----------
        key_added : str
            As of `rank`.

        Returns
        -------
        AnnData
            Of an AnnData, also in a file, a copy in memory. Of other data one with their values
            before any transformation and their ids, samples x features: float64, also
            of arrays of another type, or what ``dtype`` of the ranking says.

        Raises
        ------
        InputError
            Where a file has changed since it was ranked, as of `write`, or an AnnData has other
            samples or features, or them in another order. Values that were changed in place are
            not seen: the ranking is that of the values before.
        """
        self._refuse_changes()
        held = self._given.adata
        if held is not None:
            adata = held.to_memory() if held.isbacked else held.copy()
        else:
            with giving(self._given.objects):
                adata = anndata_of(self._asked)
            adata.obs_names = self._given.as_written(adata.obs_names, "samples")
            adata.var_names = self._given.as_written(adata.var_names)
        self._write_to(adata, key_added)
        return adata

    def _refuse_changes(self, *, ids: bool = True) -> list[InputFile]:
        """Return the files that were ranked; InputError where they or the ids have changed.

        Tables have copied their ids; those of an AnnData can be changed in place.
        """
        try:
            with giving(self._given.objects):
                now = describe_inputs(self._asked)
        except FileNotFoundError as error:
            what = "a file that was ranked is not there any more"
            raise InputError(
                what, where=error.filename, hint="put it back, or rank again"
            ) from error
        inputs = [*zip(self._inputs, now)]
        changed = [f"{a['path']} changed" for a, b in inputs if provenance.changed(a, b)]
        if ids and (adata := self._given.adata) is not None:
            features = _features_of(adata, self.config.of_raw)
            for what, were, names in (
                ("samples", self._given.samples, list(map(str, adata.obs_names))),
                ("features", self._features, features),
            ):
                if were is not None and [*were] != names:
                    counts = f"{len(were):,} were ranked, and there are {len(names):,}"
                    others = "their ids are others, or in another order"
                    why = others if len(were) == len(names) else counts
                    changed.append(f"the {what} of the data changed ({why})")
        if changed:
            what = f"{listed(changed)} after the ranking was made"
            raise InputError(what, hint="rank again, and take that result")
        return [was | each for was, each in inputs]

    def _names(self, adata: AnnData) -> list[str]:
        """Return what the ranking calls the features of an AnnData."""
        return self._given.as_written(unique_features(list(map(str, adata.var_names)))[0])

    def _write_to(self, adata: AnnData, key: str) -> None:
        """Write the ranking into ``var`` and ``uns`` of an AnnData of its features."""
        config = self.config
        added = additions(
            self.ranking,
            Inside([], list(adata.var.columns), dict(adata.uns.get("hvg", {}))),
            self._names(adata),
            about_ranking(config, self.facts, config.top),
            top=config.top,
            key=key,
        )
        of_features = adata.raw if config.of_raw else adata
        added.members |= self._found.uns(list(of_features.var_names))
        added.write_to(adata)
        _warn(added.notes)

    @_for_python
    def write(self, folder: str | Path, *, force: bool = False) -> None:
        """Write the ranking, its page and ``run.json`` to a folder, as ``sfs rank --out`` does.

        An object in memory is ``<matrix>``, ``<labels>`` and so on in ``run.json``, which has no
        digest of it. Of files nothing is written where the folder has this result already.

        Parameters
        ----------
        folder : str or Path
            The folder, which is made.
        force : bool
            Replace another result in it.

        Raises
        ------
        OutputExistsError
            Where another result is there, or one of objects, which cannot be compared.
        UsageError
            Where the name of the folder is empty.
        InputError
            Where the content of a file has changed since it was ranked, or the file is gone, or
            the folder cannot be written.
        """
        if folder is None or not str(folder).strip():
            raise UsageError("folder is empty", hint="give the folder to write to", option="folder")
        config = replace(self._asked, out=str(folder), force=force)
        if self._given.objects and Path(folder, provenance.NAME).exists() and not force:
            raise OutputExistsError(
                f"{folder} holds a result, and whether it is of the same objects is not known",
                hint="give another folder, or replace it with force=True",
                option="folder",
            )

        def unchanged() -> list[InputFile]:  # the ids are in the ranking
            return self._refuse_changes(ids=False)

        with giving(self._given.objects):
            of_rank.run(config, Messages(verbosity=-1), describe=unchanged, ranked=self._found)

    def __len__(self) -> int:
        return len(self.ranking)

    def __repr__(self) -> str:
        best = listed(self.top(5), 5)
        return f"Ranked({len(self):,} features by {self.config.method}: {best}, ...)"


def _features_of(adata: AnnData, of_raw: bool) -> list[str]:
    held = adata.raw if of_raw else adata
    return [] if held is None else list(map(str, held.var_names))  # raw may be gone since


def _table_of_ranking(ranking: Ranking) -> pd.DataFrame:
    columns = ranking.columns(0, ranking.n_written)
    made = {k: v if isinstance(v, np.ndarray) else list(v) for k, v in columns.items()}
    return pd.DataFrame(made).set_index("feature")


@overload
def rank(data: object, *, copy: Literal[True], **options: Any) -> AnnData: ...


@overload
def rank(data: object, *, copy: Literal[False] = ..., **options: Any) -> Ranked: ...


@_for_python
def rank(
    data: object,
    *,
    labels: object = None,
    similarity: object = None,
    source: object = (),
    top: int | None = None,
    modality: str | None = None,
    key_added: str = KEY,
    copy: bool = False,
    subset: bool = False,
    inplace: bool = True,
    verbose: bool = False,
    **options: object,
) -> Ranked | AnnData:
    """Rank features, as ``sfs rank`` does.

    Parameters
    ----------
    data : AnnData, MuData, DataFrame, array, sparse matrix, str or Path
        The matrix. Rows of a data frame or an array are samples, as everywhere in Python, unless
        ``rows="features"`` (a command takes the rows of a file for features). A warning tells of a
        matrix with many more rows than columns where neither ``rows`` nor labels or the like say
        that these are samples. Arrays have no ids: features are x0, x1, ... Into an AnnData, also
        the modality of a MuData, the ranking is written (Notes).
    labels : str, Series, array or dict, optional
        A column of ``obs``, ``FILE[:COLUMN]``, or a label for each sample: in the order of the
        samples, or by their ids (a Series or dict). Samples of an array have no ids: there a Series
        goes by the order of its rows, and the keys of a dict are the numbers of the samples, from 0
        on. Masked values are missing. The options sample_weights, batch, donors and adjust take the
        same.
    similarity : str, DataFrame, array or sparse matrix, optional
        A name of the command (``knn``, ``obsp:connectivities`` ...), or the graph itself, shape
        (n, n).
    source : sequence of str or dict, or dict, optional
        Knowledge sources: texts of the command, or by their names a text without ``NAME=``, a
        matrix of other features of the samples (a profile), or a dict of gene sets (kind genes).
        Those with options are dicts: ``{"name": "mirna", "kind": "profile", "path": matrix,
        "transform": "log1p"}``. Of a MuData the name of another modality is enough.
    top : int, optional
        Give ``table`` so many rows. In an AnnData all genes have their scores, and these are marked
        as ``highly_variable`` in ``var``. ``n_top_genes``, as scanpy calls it, is the same.
    modality : str, optional
        The modality of a MuData that is ranked.
    key_added : str
        Names in ``var`` and ``uns`` begin so: ``sfs_score``, ``sfs_rank``, ``sfs``.
    copy : bool
        Write into a copy of the AnnData, which is returned, and leave the one given as it is.
    subset : bool
        Keep the `top` genes of the AnnData alone.
    inplace : bool
        Write into the AnnData. With False nothing is written; the result has the ranking.
    verbose : bool
        Show what the command shows.
    **options
        The other options of ``sfs rank``, with ``_`` for ``-`` (`RankConfig`); ``batch_key`` is
        ``batch``.

    Returns
    -------
    Ranked or AnnData
        A ranking, whose ``table`` has the features best first; with `copy` the copy.

    Notes
    -----
    ``var`` gets the columns of the ranking, as ``sfs_rank``, ``sfs_score``, ``sfs_status``, and
    where there are some ``sfs_p_value``, ``sfs_q_value``, ``sfs_effect``, ``sfs_frequency``,
    ``sfs_highest_class``, ``sfs_log2_fold_change`` and others. A gene without a score has no rank.
    Those of an earlier ranking, and its marks, go. ``uns["sfs"]`` has ``table``, the whole ranking
    as a data frame, best first; ``params``, the options that were given; and ``record``, all that
    is known of the run, as JSON. With `top`, ``uns["hvg"]`` says that the marks are of ``sfs``.

    Raises
    ------
    SfsError
        For anything the user can correct; wrong options and data are a ValueError too.
    """
    asked = {"labels": labels, "similarity": similarity, "source": source, "top": top, **options}
    for theirs, ours in (("n_top_genes", "top"), ("batch_key", "batch")):  # as scanpy calls them
        value = asked.pop(theirs, None)
        if value is not None and asked.get(ours) is not None:
            what = f"{theirs} and {ours} are one option, and both are given"
            raise UsageError(what, hint=f"give {ours} alone", option=ours)
        asked[ours] = asked.get(ours) if value is None else value
    first = plain(asked.pop("top"))
    given = given_of(data, modality, asked.get("rows"))
    adata = given.adata if inplace else None
    if adata is None and (copy or subset):
        raise _no_copy("copy" if copy else "subset")
    if subset and first is None:
        what = "subset keeps the first genes, and top does not say how many"
        raise UsageError(what, hint="give top, the number of genes to keep", option="top")
    if subset and adata is not None and adata.isbacked and not copy:
        what = "subset takes genes out, which a backed AnnData does not allow"
        raise UsageError(what, hint="give copy=True, or adata.to_memory()", option="subset")
    if adata is not None and first is not None and not copy and adata.isbacked and adata.is_view:
        what = "top marks genes in an AnnData, and a view of a backed one cannot be written to"
        raise UsageError(what, hint="give copy=True, or the AnnData itself", option="top")
    if given.adata is not None and asked.get("collapse"):
        what = "collapse makes other features than the AnnData has, to which scores are written"
        raise UsageError(what, hint="give adata.to_df()", option="collapse")
    config = config_of(given, RankConfig, asked, top=first)

    def ranked(config: RankConfig, messages: Messages) -> tuple[RankResult, list[InputFile]]:
        result = of_rank.rank(config, messages, page=True)
        return result, with_digests(describe_inputs(config))

    found, inputs = _run(given, ranked, config, verbose)
    coefficients, axis = None, "raw" if found.config.of_raw else "features"
    if found.coefficients is not None:
        names, rows = found.coefficients
        index = pd.Index(given.as_written(names, axis), name="feature")
        coefficients = pd.DataFrame(rows, index, [f"w{k + 1}" for k in range(rows.shape[1])])
    result = Ranked(
        config=found.config,
        facts=dict(found.facts),
        warnings=list(map(_in_python, found.warnings)),
        adata=None,
        markers=None if found.markers is None else found.markers.table(),
        coefficients=coefficients,
        ranking=_as_written(given, found.ranking, axis),
        _given=given,
        _asked=config,
        _found=found,
        _inputs=inputs,
        _features=None if given.adata is None else _features_of(given.adata, found.config.of_raw),
    )
    if adata is None or (adata.isbacked and adata.is_view and not copy):
        return result
    if copy:
        adata = result.to_anndata(key_added=key_added)
    else:
        result._write_to(adata, key_added)
    if subset:
        adata._inplace_subset_var(adata.var[MARK].to_numpy())
        result._features = _features_of(adata, found.config.of_raw)  # this change is ours
    result.adata = adata
    return adata if copy else result


def _no_copy(option: str) -> UsageError:
    what = f"{option} is of an AnnData that is written to: there is none"
    return UsageError(what, hint="leave it out", option=option)


def _as_written(given: Given, ranking: Ranking, of: str = "features") -> Ranking:
    """Return a ranking whose ids are keys of the user's data, in the form that they have there."""
    if not given.forms(of):
        return ranking
    extra, every = dict(ranking.extra), np.arange(len(ranking))
    if isinstance(names := extra.get("representative"), Picked):
        extra["representative"] = Picked(given.as_written(names, of), every)
    features = Picked(given.as_written(ranking.feature, of), every)
    return replace(ranking, feature=features, extra=extra)


@overload
def fuse(data: object, source: object, *, copy: Literal[True], **options: Any) -> AnnData: ...


@overload
def fuse(
    data: object, source: object, *, copy: Literal[False] = ..., **options: Any
) -> pd.DataFrame: ...


@_for_python
def fuse(
    data: object,
    source: object,
    *,
    modality: str | None = None,
    key_added: str = f"{KEY}_fused",
    copy: bool = False,
    verbose: bool = False,
    **options: object,
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
    from sfs_cli.run.load import loaded
    from sfs_cli.workflow.fuse import fuse_sources

    given = given_of(data, modality, options.get("rows"))
    if copy and given.adata is None:
        raise _no_copy("copy")
    config = config_of(given, RankConfig, {"source": source, **options}, "fuse", method="msfs")

    def fused(config: RankConfig, messages: Messages) -> tuple[np.ndarray | csr_array, list[str]]:
        with loaded(config, messages) as run:
            _, similarity, samples = fuse_sources(run)
            return similarity, samples

    made, samples = _run(given, fused, config, verbose)
    samples = given.as_written(samples, "samples")
    if isinstance(made, np.ndarray):
        frame = pd.DataFrame(made, samples, samples)
    else:
        frame = pd.DataFrame.sparse.from_spmatrix(made, samples, samples)  # type: ignore[attr-defined]
    adata = given.adata
    if adata is None:
        return frame
    if len(samples) < adata.n_obs:
        what = f"the similarity is between {len(samples):,} of the {adata.n_obs:,} samples"
        if copy:
            hint = "leave copy out, and take the data frame that is returned"
            raise InputError(f"{what}, and obsp has room for all alone", hint=hint)
        _warn([f"{what}: it is returned, and not written into obsp"])
        return frame
    adata = adata.copy() if copy else adata
    adata.obsp[key_added] = made
    return adata if copy else frame


@_for_python
def aggregate(rankings: object, *, verbose: bool = False, **options: object) -> pd.DataFrame:
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
    from sfs_cli.workflow.aggregate import aggregate_lists

    if isinstance(rankings, Ranked | str | Path) or has_index(rankings):
        hint = "give a list, or a dict of names and rankings"
        raise UsageError("one ranking is nothing to aggregate", hint=hint, option="rankings")
    given = Given("")
    paths = tuple(_lists(given, rankings))
    weights = options.get("list_weights")
    if isinstance(weights, Mapping):
        if not isinstance(rankings, Mapping) or set(weights) != set(rankings):
            hint = "give a weight for each ranking, by its name"
            what = "list_weights names other lists than there are"
            raise UsageError(what, hint=hint, option="list_weights")
        options["list_weights"] = [weights[name] for name in rankings]
    taken = options_of(AggregateConfig)
    config = AggregateConfig(paths, **as_declared(AggregateConfig, options, taken))
    without_addresses(config)
    found = _run(given, aggregate_lists, config, verbose)
    return _table_of_ranking(_as_written(given, found.ranking))


@_for_python
def select(ranked: object, *, verbose: bool = False, **options: object) -> list[str]:
    """Choose how many features of a ranking to take, as ``sfs select`` does.

    Parameters
    ----------
    ranked : Ranked, DataFrame, str or Path
        A result of `rank`; a table with a column of ranks or scores, or the folder or the table
        that a command wrote. Of a data frame alone nothing is ranked again, so that cv is not for
        it.
    verbose : bool
        Show what the command shows.
    **options
        Exactly one rule of ``sfs select``: top, fdr, stable or cv, and what goes with it.

    Returns
    -------
    list of str
        The chosen features, best first.
    """
    from sfs_cli.options.select import SelectConfig
    from sfs_cli.workflow import select as of_select

    own = ranked if isinstance(ranked, Ranked) else None
    given = Given("")
    if own is not None:
        given = replace(own._given, objects={**own._given.objects})
    if own is not None and "labels" in options:
        options["labels"] = of_samples(given, "labels", options["labels"])
    (place,) = _lists(given, {"ranking": ranked})

    def chosen(config: SelectConfig, messages: Messages) -> list[str]:
        result = of_select.read_result(config, messages)
        again = None
        if own is not None:
            result = replace(result, record=own.facts)
            if config.reads_matrix:
                again = of_select.to_rank_again(config, own.config, own.facts, place)
        elif config.reads_matrix:
            again = of_select.ranking_config(config, result)
        rows = of_select.select(config, result, again, messages).rows
        return [result.features[row] for row in rows.tolist()]

    config = SelectConfig(place, **as_declared(SelectConfig, options, options_of(SelectConfig)))
    without_addresses(config)
    return given.as_written(_run(given, chosen, config, verbose))


_RANKING_TAKEN = "a result of rank, a data frame, a path, or the features, best first"


def _lists(given: Given, rankings: object, prefix: str = "") -> list[str]:
    """Keep rankings, and return the names that stand for them; of files their paths.

    With a `prefix` the names are as of what else there is; without they name the lists.
    """
    if not isinstance(rankings, Mapping):
        if not isinstance(rankings, Iterable):
            raise refused("rankings", rankings, "a list, or a dict of names and rankings")
        rankings = {f"list{k}": each for k, each in enumerate(rankings, 1)}
    return [
        str(each)
        if isinstance(each, str | Path)
        else given.hold(f"{prefix}{name}", _frame_of_list(each))
        for name, each in rankings.items()
    ]


def _frame_of_list(value: object) -> pd.DataFrame:
    """Return a ranking, or features best first, as a data frame with the features as its index."""
    if isinstance(value, Ranked):
        return value._whole
    if isinstance(value, pd.Series):
        name = str(value.name)  # it says how its values are ordered: padj
        value = value.to_frame("score" if value.name is None or is_id_name(name) else name)
    if not isinstance(value, pd.DataFrame):
        features = names_of(value, "a ranking", _RANKING_TAKEN)
        value = pd.DataFrame({"rank": np.arange(1, len(features) + 1)}, index=features)
    if isinstance(value.index, pd.MultiIndex):
        why = f"its index has names of {value.index.nlevels} levels"
        raise refused("a ranking", value, _RANKING_TAKEN, why)
    texts = any(not pd.api.types.is_numeric_dtype(kind) for kind in value.dtypes)
    only_counts = isinstance(value.index, pd.RangeIndex) and texts  # the features are a column
    named_already = value.index.name is not None or only_counts
    return value if named_already else value.rename_axis("feature")


@dataclass
class Evaluated:
    """What `evaluate` and `compare` have found.

    Attributes
    ----------
    table : DataFrame
        A row for each list, length and measure: columns list, selection, length, measure,
        classifier, value, standard_error, low and high (a 95 % interval).
    enrichment : DataFrame
        The sets in the lists, where some were given.
    facts : dict
        What ``run.json`` says of such a run.
    """

    table: pd.DataFrame
    enrichment: pd.DataFrame
    facts: RunFacts


@_for_python
def evaluate(
    data: object,
    *,
    list: object = None,
    modality: str | None = None,
    verbose: bool = False,
    **options: object,
) -> Evaluated:
    """Measure what a ranking is worth, as ``sfs evaluate`` does.

    Parameters
    ----------
    data, modality, verbose
        As of `rank`.
    list : Ranked, DataFrame, sequence of str or path, optional
        The ranking, or the features best first.
    **options
        The options of ``sfs evaluate``: method, labels, label_type, event, adjust, lengths, splits,
        repeats, sets, drivers.

    Returns
    -------
    Evaluated
        Its ``table`` holds the measures.
    """
    from sfs_cli.options.evaluate import EvaluateConfig
    from sfs_cli.workflow.judge import judge

    given = given_of(data, modality, options.get("rows"))
    if list is not None:
        (options["list_"],) = _lists(given, {"list": list})
    config = config_of(given, EvaluateConfig, options)
    return _evaluated(given, _run(given, judge, config, verbose))


@_for_python
def compare(
    data: object,
    methods: Iterable[str | Mapping[str, object]] | str | Mapping[str, object] = (),
    *,
    rankings: Mapping[str, Mapping[str, object]] | None = None,
    lists: Mapping[str, object] | None = None,
    modality: str | None = None,
    verbose: bool = False,
    **options: object,
) -> Evaluated:
    """Compare methods and rankings on one matrix, as ``sfs compare`` does.

    Parameters
    ----------
    data, modality, verbose
        As of `rank`.
    methods : sequence of str or dict
        Methods, perhaps with parameters: ``"spec"``, ``{"name": "spec", "ranking": "phi3"}``.
    rankings : dict, optional
        Names of rankings, each with the options of `rank` that make it, as a dict.
    lists : dict, optional
        Names of rankings that are there already, each as of `aggregate`.
    **options
        The options of ``sfs compare``: labels, event, adjust, lengths, splits, sets and more.

    Returns
    -------
    Evaluated
        Its ``table`` holds the measures of all lists, and of the controls.
    """
    from sfs_cli.options.compare import CompareConfig, ListSpec, RankingSpec, ranking_options
    from sfs_cli.workflow.judge import judge

    for name, value, wanted in (
        ("methods", methods, Iterable),
        ("rankings", rankings or {}, Mapping),
        ("lists", lists or {}, Mapping),
    ):
        if not isinstance(value, wanted):
            raise refused(name, value, f"{name} by their names, in a dict; methods in a list")
    several = [methods] if isinstance(methods, str | Mapping) else [*methods]
    if not (several or rankings or lists):
        hint = 'give methods, such as ["spec", "f-test"], rankings, or lists'
        raise UsageError("nothing to compare: there is no ranking", hint=hint, option="methods")
    given = given_of(data, modality, options.get("rows"))
    specs = []
    for name, each in (rankings or {}).items():
        if not isinstance(each, Mapping):
            raise refused(f"ranking {name}", each, "a dict with the options of rank")
        with within(f"ranking {name}"):
            taken = ranking_options().values()
            own = as_declared(RankConfig, in_names(given, each), taken, "compare")
        text = ", ".join(f"{option}={listed([value])}" for option, value in own.items())
        specs.append(RankingSpec(str(name), own, text))
    paths = _lists(given, lists or {}, "list ")
    config = config_of(
        given,
        CompareConfig,
        options,
        method_=tuple(map(_method_text, several)),
        ranking_of=tuple(specs),
        list_=tuple(map(ListSpec, map(str, lists or {}), paths)),
    )
    return _evaluated(given, _run(given, judge, config, verbose))


def _method_text(method: str | Mapping[str, object]) -> str:
    """Return a method as text; UsageError where members with parameters have none."""
    if not isinstance(method, Mapping):
        return method
    text = text_of(joined(RankConfig, expanded(RankConfig, {"method": plain(method)}))["method"])
    if text.startswith("{"):
        what = f"methods: {text} has members with parameters"
        hint = 'give it to rankings with a name, such as {"kogs": {"method": ...}}'
        raise UsageError(what, hint=hint, option="methods")
    return text


def _evaluated(given: Given, found: Judged) -> Evaluated:
    """Return what `evaluate` or `compare` has found as tables."""
    from sfs_cli.evaluation.measures import Enrichment

    enriched = [
        (*place, *each._replace(members=given.as_written(each.members)))
        for *place, each in found.enriched
    ]
    of_sets = ["list", "selection", "features", "set", *Enrichment._fields[1:]]
    measures = pd.DataFrame(found.measures, columns=MEASURES)
    return Evaluated(measures, pd.DataFrame(enriched, columns=of_sets), found.facts)


# ---- how a function runs -------------------------------------------------------------------------


class _OneBlas:
    """Limits BLAS to one thread while any function runs: as many in each of ours are slower.

    The limit is one of the whole process: the first of several functions at a time sets it, and the
    last one that ends takes it away.
    """

    def __init__(self) -> None:
        self.lock, self.running = Lock(), 0

    def __enter__(self) -> None:
        with self.lock:
            if not self.running:
                self.limits = threadpool_limits(1, "blas")
            self.running += 1

    def __exit__(self, *error: object) -> None:
        with self.lock:
            self.running -= 1
            if not self.running:
                self.limits.restore_original_limits()


_ONE_BLAS = _OneBlas()


def _run(given: Given, work: Callable[[C, Messages], T], config: C, verbose: bool) -> T:
    """Do the work of a command, and give the warnings that are due."""
    messages = Messages(verbosity=0 if verbose else -1)
    for doubt in given.doubts.values():
        messages.warn(doubt)
    given.doubts.clear()  # which are told once, not by `select` again
    if config.left_out:
        messages.warn(config.left_out, AT_ONCE)
    with giving(given.objects), _ONE_BLAS:
        found = work(config, messages)
    _warn(() if verbose else messages.warnings)
    return found


def _warn(texts: Iterable[str]) -> None:
    """Give warnings at the line that has called a function of this package."""
    frame, level = sys._getframe(), 1
    while frame is not None and str(frame.f_globals.get("__name__")).startswith("sfs_cli."):
        frame, level = frame.f_back, level + 1  # type: ignore[assignment]
    for text in texts:
        warnings.warn(_in_python(text), SfsWarning, stacklevel=level)
