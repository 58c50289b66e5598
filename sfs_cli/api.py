"""The functions for Python: the commands, on what is in memory as well as on files.

`rank`, `fuse`, `aggregate`, `select`, `evaluate` and `compare` have the names, the options and the
defaults of the commands. Where a command takes a file, they take an object too: an AnnData, a
MuData, a data frame, an array or a sparse matrix. Objects get a name, such as ``<labels>``, which
stands for them wherever the command has a path (`sfs_cli.io.given`), so that there is one way
through the program, and no file is written.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping
from copy import copy as copied
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cached_property, wraps
from numbers import Integral, Number
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from sfs_cli.errors import InputError, UsageError, counted, listed, nearest
from sfs_cli.io.files.names import nfc
from sfs_cli.io.given import giving, named
from sfs_cli.io.matrix.base import cast_values
from sfs_cli.io.matrix.memory import Table, table_of
from sfs_cli.io.matrix.stored import check_sparse, is_sparse, real
from sfs_cli.io.results.additions import KEY
from sfs_cli.io.results.highly_variable import MARK
from sfs_cli.logs import AT_ONCE, Messages
from sfs_cli.options import RankConfig
from sfs_cli.options.fields import Option, options_of, stated
from sfs_cli.options.grammar import NAME, expanded, hosts, joined, parameter_called, text_of
from sfs_cli.options.paths import READS, NamedPath, refuse_pipes
from sfs_cli.options.rank import OF_SAMPLES
from sfs_cli.options.source import SourceSpec, parse_source, source_of
from sfs_cli.ranking.table import Picked
from sfs_cli.run import rank as of_rank
from sfs_cli.run.inputs import on_its_side
from sfs_cli.store.ids import unique_features

if TYPE_CHECKING:
    import pandas as pd
    from anndata import AnnData

    from sfs_cli.ranking.table import Ranking
    from sfs_cli.run.marker_table import Markers

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")
MATCHED = ("source", "coordinates")
"""Options that are matched with the samples, by ids or by their number."""
Spelling = dict[str, str]
"""From ids in the form in which they are read (`nfc`) to what a user writes, where that differs."""
MEASURES = (
    *("list", "selection", "length", "measure", "classifier"),
    *("value", "standard_error", "low", "high"),
)
"""The columns of what lists are measured by, as of evaluation.tsv."""


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
            what, where, hint = map(_in_python, (error.what, error.where, error.hint))
            raise kind(str(what), where=where, hint=hint, option=error.options) from error

    return cast(F, call)


def _in_python(text: str | None) -> str | None:
    """Return a message with arguments where it names options of the command line."""
    if text is None:
        return None
    known = {option.flag: option for option in options_of(RankConfig)}

    def argument(found: re.Match[str]) -> str:
        option, value = known.get(found[1]), found[2]
        name = found[1][2:].replace("-", "_") if option is None else option.name
        if value is None:
            return name
        if value.isalpha() and (option is None or value not in option.words):
            return f"{name} {value}"  # a word of the sentence
        return f"{name}={value}" if value.replace(".", "").isdigit() else f'{name}="{value}"'

    return re.sub(r"(?<![\w-])(--(?!help)[a-z][a-z\d-]*)(?: (?!-)([\w.,:=-]*\w))?", argument, text)


class SfsWarning(UserWarning):
    """What a user should know of a result before trusting it."""


@dataclass(eq=False)
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
    ranking : Ranking
        The same as `table`, as arrays.

    Notes
    -----
    It refers to the data, which `select` reads again for ``cv``: change them in place, and it sees
    other values.
    """

    config: RankConfig
    facts: dict[str, Any]
    warnings: list[str]
    adata: AnnData | None
    ranking: Ranking = field(repr=False)
    _inputs: Inputs = field(repr=False)
    _markers: Markers | None = field(default=None, repr=False)
    _coefficients: tuple[list[str], np.ndarray] | None = field(default=None, repr=False)

    @property
    def markers(self) -> pd.DataFrame | None:
        """The markers of each class, as in markers.tsv; None without ``markers``."""
        import pandas as pd

        if self._markers is None:
            return None
        return pd.concat(self._markers.written(), ignore_index=True)

    @property
    def coefficients(self) -> pd.DataFrame | None:
        """The coefficients of a sparse method, as in coefficients.tsv; None of other methods."""
        import pandas as pd

        if self._coefficients is None:
            return None
        names, rows = self._coefficients
        columns = [f"w{k}" for k in range(1, rows.shape[1] + 1)]
        return pd.DataFrame(rows, pd.Index(names, name="feature"), columns)

    @cached_property
    def table(self) -> pd.DataFrame:
        """The ranking, best first: columns rank, score, status and more; features are the index.

        With ``top`` it has so many rows; `ranking` and all functions have the whole ranking.
        """
        return table_of_ranking(self.ranking)

    @cached_property
    def _whole(self) -> pd.DataFrame:
        return table_of_ranking(replace(self.ranking, top=None))

    @property
    def order(self) -> np.ndarray:
        """The positions of the features in the input, best first, shape (m,); a copy."""
        return self.ranking.order.copy()

    def top(self, n: int) -> list[str]:
        """Return the ids of the n best features; fewer where fewer have a score."""
        return list(self.ranking.feature[: min(n, self.ranking.n_scored)])

    def __len__(self) -> int:
        return len(self.ranking)

    def __repr__(self) -> str:
        return (
            f"Ranked({len(self):,} features by {self.config.method}: {listed(self.top(5), 5)}, ...)"
        )


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
    subset: bool = False,
    inplace: bool = True,
    verbose: bool = False,
    **options: Any,
) -> Any:
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
    is known of the run, as JSON. With `top`, ``uns["hvg"]`` says that the marks are of ``sfs``, and
    ``means``, ``dispersions`` and ``dispersions_norm`` of the matrix, which
    ``scanpy.pl.highly_variable_genes`` plots, are added where they are not there and no value is
    below zero.

    Raises
    ------
    SfsError
        For anything the user can correct; wrong options and data are a ValueError too.
    """
    top = _of_scanpy(options, "n_top_genes", "top", top)
    options["batch"] = _of_scanpy(options, "batch_key", "batch", options.get("batch"))
    asked = {"labels": labels, "similarity": similarity, "source": source, **options}
    if isinstance(data, RankConfig):
        others = {"modality": modality, "top": top, "copy": copy, "subset": subset, **asked}
        if given := [name for name, value in others.items() if not _is_unset(value)]:
            what = f"a RankConfig holds all options; beside it there is {listed(given)}"
            hint = "put it into the RankConfig, or give the matrix in its place"
            raise UsageError(what, hint=hint, option=given[0])
        return _rank(data, Inputs(data.matrix), verbose)
    inputs = Inputs(data, modality, asked.get("rows"))
    _check_marks(inputs.adata if inplace else None, top, copy, subset)
    if inputs.adata is not None and asked.get("collapse"):
        what = "collapse makes other features than the AnnData has, to which scores are written"
        raise UsageError(what, hint="give adata.to_df()", option="collapse")
    result = _rank(inputs.config(RankConfig, asked), inputs, verbose)
    result.ranking = replace(result.ranking, top=top)
    if inputs.adata is None or not inplace:
        return result
    result.adata = adata = _written(inputs, result, top, key_added, copy)
    if subset:
        adata._inplace_subset_var(adata.var[MARK].to_numpy())
    return adata if copy else result


_SCANPY = {
    "flavor": 'it is of scanpy; give method, such as method="variance"',
    "groupby": "give the column of obs as labels",
}
"""Arguments of scanpy that have another name here, or none."""


def _of_scanpy(options: dict[str, Any], theirs: str, ours: str, value: Any) -> Any:
    """Return an option that may have its name of scanpy, which is taken out."""
    other = options.pop(theirs, None)
    if value is not None and other is not None:
        what = f"{theirs} and {ours} are one option, and both are given"
        raise UsageError(what, hint=f"give {ours} alone", option=ours)
    return value if other is None else other


def _is_unset(value: Any) -> bool:
    """Return whether an argument has the default of `rank`."""
    return value is None or value is False or (isinstance(value, tuple) and not value)


def _check_marks(adata: Any, top: Any, copy: bool, subset: bool) -> None:
    """Refuse marks for genes, a copy or a part, where there is no AnnData to write to."""
    if top is not None and (isinstance(top, bool) or not isinstance(top, Integral) or top < 1):
        what = f"top={top!r} is not a number of genes"
        raise UsageError(what, hint="give a whole number from 1 on", option="top")
    if adata is None and (copy or subset):
        name = "copy" if copy else "subset"
        what = f"{name} is of an AnnData that is written to, and there is none"
        raise UsageError(what, hint="leave it out", option=name)
    if subset and top is None:
        hint = "give top, the number of genes to keep"
        what = "subset keeps the first genes, and top does not say how many"
        raise UsageError(what, hint=hint, option="top")
    if subset and adata.isbacked and not copy:
        what = "subset takes genes out, which a backed AnnData does not allow"
        raise UsageError(what, hint="give copy=True, or adata.to_memory()", option="subset")
    if adata is not None and top is not None and not copy and adata.isbacked and adata.is_view:
        what = "top marks genes in an AnnData, and a view of a backed one cannot be written to"
        raise UsageError(what, hint="give copy=True, or the AnnData itself", option="top")


def _rank(config: RankConfig, inputs: Inputs, verbose: bool) -> Ranked:
    found = inputs.run(of_rank.rank, config, verbose)
    told = [str(_in_python(text)) for text in found.warnings]
    ranking = _as_spelled(found.ranking, spelling := inputs.spelling(found.config))
    weights = found.coefficients
    if weights is not None:
        weights = [spelling.get(name, name) for name in weights[0]], weights[1]
    facts = dict(found.facts)
    return Ranked(found.config, facts, told, None, ranking, inputs, found.markers, weights)


def _spelling(ids: Iterable[Any]) -> Spelling:
    """Return how a user writes ids."""
    first: dict[str, str] = {}  # the others of one form have suffixes
    for name in map(str, ids):
        if not name.isascii():
            first.setdefault(nfc(name), name)
    return {form: name for form, name in first.items() if form != name}


def _as_spelled(ranking: Ranking, spelling: Spelling) -> Ranking:
    """Return a ranking whose ids are keys of the user's data, in the form that they have there."""
    if not spelling:
        return ranking

    def spelled(names: Picked) -> Picked:
        return Picked([spelling.get(name, name) for name in names], np.arange(len(names)))

    extra = ranking.extra
    if isinstance(found := extra.get("representative"), Picked):
        extra = extra | {"representative": spelled(found)}
    return replace(ranking, feature=spelled(ranking.feature), extra=extra)


def _warn(texts: Iterable[str], verbose: bool) -> None:
    """Give the warnings that were not shown, at the line that has called a function of ours."""
    for text in () if verbose else texts:
        warnings.warn(str(_in_python(text)), SfsWarning, stacklevel=_outside())


def _outside() -> int:
    """Return the stack level, for who calls, of the first frame that is not of this package."""
    frame, level = sys._getframe(1), 1
    while frame is not None and str(frame.f_globals.get("__name__")).startswith("sfs_cli."):
        frame, level = frame.f_back, level + 1  # type: ignore[assignment]
    return level


def options_for(kind: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options as a configuration holds them.

    UsageError for one that it does not have, or that is about files.
    """
    known = {o.name: o for o in options_of(kind) if not o.of}
    of_parts = hosts(kind)
    made = {}
    for name, value in options.items():
        asked = name if name in known else f"{name}_"  # such as given_, as the commands have it
        if asked not in known:
            raise _no_option(kind, name, options)
        if _is_of_files(known[asked]):
            what = f"{name!r} is about the command and its files, and a function writes none"
            hint = "leave it out, and take what the function returns"
            raise UsageError(what, hint=hint, option=name)
        if isinstance(value, Mapping) and asked in of_parts:
            made[asked] = _without_numpy(value)
        else:
            made[asked] = _value(name, value, known[asked].default)
    return expanded(kind, made)


def _no_option(kind: Any, name: str, options: Mapping[str, Any]) -> UsageError:
    """Return the error of a name among options that is none of them."""
    taken = [o.name.rstrip("_") for o in options_of(kind) if not o.of and not _is_of_files(o)]
    close = get_close_matches(name, taken, 1, 0.7)
    hint = f"did you mean {close[0]}?" if close else f"see `sfs {kind.VERB} --help`"
    hint = _SCANPY.get(name, hint)
    if (part := parameter_called(kind, name, options)) is not None:
        written = part.word if part.begins else f"NAME,{part.parameter}="
        hint = f'it is a parameter: {part.of}="{written}VALUE"'
    return UsageError(f"there is no option {name!r}", hint=hint, option=name)


@_for_python
def refuse_parameters(options: Mapping[str, Any]) -> None:
    """Refuse parameters among the options of a ranking, as `rank` does.

    Raises UsageError that says what they are parameters of.
    """
    parts = {o.name for o in options_of(RankConfig) if o.of}
    for name in options:
        if name in parts:
            raise _no_option(RankConfig, name, options)


@_for_python
def grouped(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a ranking, of which some are parameters, with these in mappings."""
    made = {k: _without_numpy(v) if isinstance(v, Mapping) else v for k, v in options.items()}
    return joined(RankConfig, expanded(RankConfig, made))


def _value(name: str, value: Any, default: Any) -> Any:
    """Return a value as configurations hold it: no scalar of NumPy, and lists as their type."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None:
        return default
    repeated = isinstance(default, tuple)  # on the command line
    one = isinstance(value, str | Path if repeated else str | Path | Number)
    several = isinstance(value, Collection) and not isinstance(value, str | bytes | Mapping)
    if not one and not (several and getattr(value, "ndim", 1) == 1):
        raise _refused(name, value, "a text, a number, or a list of them")
    if repeated:
        items = [value] if one else value
        return tuple(str(v) if isinstance(v, Path | Number) else v for v in items)
    return value if one else ",".join(map(str, value))  # as the command line has it


def _without_numpy(value: Any) -> Any:
    """Return a name with its parameters, of which methods are members, without NumPy scalars."""
    if isinstance(value, Mapping):
        return {key: _without_numpy(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_without_numpy(each) for each in value]
    return value.item() if isinstance(value, np.generic) else value


def _is_of_files(option: Option) -> bool:
    return option.section == "Output"


class Inputs:
    """The objects of a call, by the names that stand for them.

    Parameters
    ----------
    data : AnnData, MuData, DataFrame, array, sparse matrix, str or Path
        The matrix; "" where there is none.
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

    def __init__(self, data: Any, modality: str | None = None, rows: str | None = None) -> None:
        self.objects: dict[str, Any] = {}
        self.adata: AnnData | None = None
        self.modalities: dict[str, Any] = {}
        self.of_mudata = ""  # the modality
        self.columns: list[str] = []
        self.samples: list[str] | None = None
        self.have_ids = True  # whether they are those of the data, not numbers that stand for them
        self._doubts: list[str] = []  # what a warning is due to
        self._n_columns = 0  # of what is taken to have samples in rows, since nobody said so
        self.path = isinstance(data, str | Path)
        if self.path:
            self.matrix = str(data) if modality is None else f"{data}:{modality}"
            refuse_pipes([NamedPath("matrix", "matrix", self.matrix, READS)])
            return
        self.matrix = named("matrix")
        whole = data if hasattr(data, "n_mod") else None
        if whole is not None:
            data = self._chosen(whole, modality)
        elif modality is not None:
            what = "modality is of MuData, and this is none"
            raise UsageError(what, hint="leave it out", option="modality")
        if _is_anndata(data):
            self.adata = data
            self.samples = list(map(str, data.obs_names))
            held = data if whole is None else _with_whole(data, whole, self.of_mudata)
            self.columns = list(map(str, held.obs.columns))
            self.objects[self.matrix] = held
            return
        if rows not in (None, "auto", "samples", "features"):
            hint = 'give "samples" or "features"'
            raise UsageError(f"unknown value {rows!r} of rows", hint=hint, option="rows")
        table = as_table(data, "matrix", rows)
        self.have_ids = _has_index(data)
        self.objects[self.matrix] = table
        self.samples = list(table.row_ids if table.samples_are_rows else table.column_ids)
        if rows in (None, "auto") and not isinstance(data, Table):
            self._n_columns = table.values.shape[1]

    def _chosen(self, data: Any, modality: str | None) -> Any:
        """Return the modality that is ranked; the others may be sources."""
        names = list(data.mod)
        if modality is None and len(names) > 1:
            what = f"the MuData has {len(names)} modalities, and none is named"
            hint = f"give modality, one of {listed(names)}"
            raise UsageError(what, hint=hint, option="modality")
        name = names[0] if modality is None else modality
        if name not in names:
            what = f"there is no modality {name!r}"
            raise UsageError(what, hint=nearest(name, names), option="modality")
        self.modalities = dict(data.mod)
        self.of_mudata = name
        return self.modalities.pop(name)

    def spelling(self, config: Any, *, samples: bool = False) -> Spelling:
        """Return how the matrix writes ids, of features or samples, read in another form."""
        held = self.objects.get(self.matrix)
        if held is None:
            return {}
        if not isinstance(held, Table):
            of_features = held.raw if config.of_raw else held
            return _spelling(held.obs_names if samples else of_features.var_names)
        return _spelling(held.row_ids if held.samples_are_rows == samples else held.column_ids)

    def config(self, kind: Any, asked: Mapping[str, Any]) -> Any:
        """Return a configuration of a command on the matrix, in which names stand for objects."""
        return kind(self.matrix, **options_for(kind, self.options(asked)))

    def options(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Return options of the command, in which names stand for the objects."""
        made = stated(asked)
        if self.path:
            pass  # rows of a file are what the command takes them for
        elif made.pop("rows", None) == "features" and self.adata is not None:  # a table says it
            what = "rows of an AnnData are samples"
            raise UsageError(what, hint="give adata.T, or leave rows out", option="rows")
        for name in OF_SAMPLES:  # a column of ``obs`` by its name, or values of the samples
            if name in made:
                made[name] = self._of_samples(name, made[name])
        if not isinstance(graph := made.get("similarity"), str | Mapping | None):
            made["similarity"] = f"file:{self.hold('similarity', self._graph(graph))}"
        if not isinstance(places := made.get("coordinates"), str | Path | None):
            held = replace(self._of_rows(places), samples_are_rows=None)
            made["coordinates"] = self.hold("coordinates", held)
        for name in ("given", "drivers"):
            if not isinstance(genes := made.get(name), str | Path | None):
                made[name] = self.hold(name, _texts(genes, name, _GENES_TAKEN))
        if isinstance(made.get("sets"), Mapping):
            made["sets"] = self.hold("sets", _sets(made["sets"], "sets"), ".gmt")
        made["source"] = self._sources(made.get("source", ()))
        of_file = str(made.get("similarity")).startswith("file:")
        if of_file or any(not _is_unset(made.get(name)) for name in (*OF_SAMPLES, *MATCHED)):
            self._n_columns = 0  # what is found for the samples says that they are the rows
        return {k: str(v) if isinstance(v, Path) else v for k, v in made.items()}

    def run(self, work: Callable[[Any, Messages], T], config: Any, verbose: bool) -> T:
        """Do the work of a command, and give the warnings that are due."""
        messages = Messages(verbosity=0 if verbose else -1)
        if self._n_columns and self.samples is not None:
            self._doubts += filter(None, [on_its_side(len(self.samples), self._n_columns)])
        for text in dict.fromkeys(self._doubts):
            messages.warn(text)
        self._doubts, self._n_columns = [], 0
        if config.left_out:
            messages.warn(config.left_out, AT_ONCE)
        with giving(self.objects):
            found = work(config, messages)
        _warn(messages.warnings, verbose)
        return found

    def hold(self, what: str, value: Any, suffix: str = "") -> str:
        """Keep an object, and return the name that stands for it, which no other has."""
        same = (f"{what}_{k}" for k in range(2, len(self.objects) + 2))
        names = (named(each) + suffix for each in (what, *same))
        name = next(name for name in names if name not in self.objects)
        self.objects[name] = value
        return name

    def lists(self, given: Any, prefix: str = "") -> list[str]:
        """Keep rankings, and return the names that stand for them; of files their paths.

        With a `prefix` the names are as of what else there is; without they name the lists.
        """
        if not isinstance(given, Iterable):
            raise _refused("rankings", given, "a list, or a dict of names and rankings")
        pairs = given.items() if isinstance(given, Mapping) else enumerate(given, 1)
        return [
            str(each)
            if isinstance(each, str | Path)
            else self.hold(
                f"{prefix}{name if isinstance(name, str) else f'list{name}'}", _frame_of_list(each)
            )
            for name, each in pairs
        ]

    def _of_samples(self, option: str, value: Any) -> Any:
        """Return the text of the command for an annotation of the samples."""
        if option == "adjust" and _has_index(value) and getattr(value, "ndim", 1) == 2:
            value = [value[name] for name in value.columns]
        if option == "adjust" and isinstance(value, list | tuple) and not _is_values(value):
            return tuple(self._of_samples(option, each) for each in value)
        if not isinstance(value, str | Path):
            return self.hold(option, self._frame(value, option))
        name = str(value)
        # a name that is neither a column nor a file: the error lists the columns
        alone = ":" not in name or name.partition(":")[0] in (self.of_mudata, *self.modalities)
        none = bool(self.columns) and alone and not Path(name).exists()
        return f"obs:{name}" if name in self.columns or none else name

    def _frame(self, value: Any, option: str) -> Any:
        """Return values of the samples as a data frame, with their ids as the index."""
        import pandas as pd

        by_key = isinstance(value, Mapping)
        if by_key:
            self._check_keys(value, option)
            value = pd.Series(dict(value))
        elif isinstance(value, np.ma.MaskedArray):
            masked, value = np.ma.getmaskarray(value), value.data.astype(object)
            value[masked] = None
        if isinstance(value, pd.Series | pd.DataFrame):
            by_place = not by_key and self._by_place(value.index, option)
        else:
            by_place = True
            if not isinstance(value, pd.Categorical | pd.CategoricalIndex):  # which have a type
                value = array_of(value, option, 1, _OF_SAMPLES_TAKEN)
            value = pd.Series(value)
        ids = self._ids(len(value), option) if by_place else value.index.map(str)
        value = value.set_axis(ids)
        return value.to_frame(value.name or option) if value.ndim == 1 else value

    def _check_keys(self, values: Mapping[Any, Any], option: str) -> None:
        """Refuse keys that name no sample, where the samples have numbers in place of ids."""
        if self.have_ids or self.samples is None:
            return
        known = set(self.samples)
        if others := [str(key) for key in values if str(key) not in known]:
            raise UsageError(
                f"{option} has {counted(len(others), 'key')} ({listed(others, 3)}) of no sample: "
                f"those of an array are numbered from 0 to {len(known) - 1:,}",
                hint="give these numbers as the keys, a list of values in the order of the "
                "samples, or the matrix as a data frame with the ids as its index",
                option=option,
            )

    def _by_place(self, index: Any, option: str) -> bool:
        """Tell whether values with an index are in the order of the samples.

        They are where the samples have no ids, and where the index only counts and has none of
        their ids. Raises UsageError where it has some of them.
        """
        import pandas as pd

        if self.samples is None:
            return False
        texts = list(map(str, index))
        if not self.have_ids:
            if texts != self.samples and sorted(texts) == sorted(self.samples):
                # shuffled before the matrix became an array, or without it: nobody can tell
                self._doubts.append(
                    f"{option} is taken in the order of its rows, and its index, which counts the "
                    "samples in another order, is not used, since the samples of an array have no "
                    "ids: give its values without the index (to_numpy), or sort them by it "
                    "(sort_index) first"
                )
            return True
        _check_levels(index, f"samples of {option}")
        if not isinstance(index, pd.RangeIndex):
            return False
        known = len(set(texts).intersection(self.samples))
        if 0 < known < len(self.samples):
            raise UsageError(
                f"the index of {option} counts from {index.start}, and {known:,} of "
                f"{len(self.samples):,} samples have such ids",
                hint="give an array of values in the order of the samples, or the ids of the "
                "samples as the index",
                option=option,
            )
        return not known

    def _ids(self, length: int, option: str) -> list[str]:
        """Return the ids of the samples for values in their order."""
        if self.samples is None:
            raise UsageError(
                f"{option} has no ids, and the samples of a file are not known yet",
                hint="give a Series with the ids of the samples as its index",
                option=option,
            )
        if len(self.samples) != length:
            hint = "give one value for each sample, in their order, or by their ids"
            if length == self._n_columns:
                hint = 'if the columns are the samples, give rows="features"'
            raise UsageError(
                f"{option} has {length:,} values for {len(self.samples):,} samples",
                hint=hint,
                option=option,
            )
        return self.samples

    def _of_rows(self, values: Any, what: str = "coordinates") -> Table:
        """Return a table with a row for each sample, by their ids or in their order."""
        table = as_table(values, what, "samples")
        if not _has_index(values) or self._by_place(values.index, what):
            table = replace(table, row_ids=self._ids(len(table.row_ids), what))
        return table

    def _graph(self, graph: Any) -> Table:
        table = self._of_rows(graph, "similarity")
        if table.row_ids is self.samples:
            table = replace(table, column_ids=table.row_ids)
        return replace(table, values=real(table.values, named("similarity")), samples_are_rows=None)

    def _sources(self, given: Any) -> tuple[SourceSpec, ...]:
        if isinstance(given, Mapping):
            return tuple(self._source(str(name), value) for name, value in given.items())
        if isinstance(given, str | SourceSpec):
            given = (given,)
        if hasattr(given, "shape") or not isinstance(given, Iterable):
            raise _refused("source", given, 'a dict, such as {"mirna": matrix}, or texts')
        return tuple(map(self._listed_source, given))

    def _listed_source(self, each: Any) -> SourceSpec:
        """Return a source of a list, which has its name inside."""
        if isinstance(each, SourceSpec):
            return each
        if isinstance(each, Mapping) and NAME in each:
            return self._described(str(each[NAME]), {k: v for k, v in each.items() if k != NAME})
        if not isinstance(each, str):
            taken = 'a text, or a dict such as {"name": "mirna", "kind": "profile", "path": matrix}'
            raise _refused("a source", each, taken)
        in_data = self.modalities.get(each)
        return parse_source(each) if in_data is None else self._source(each, in_data)

    def _described(self, name: str, given: Mapping[str, Any]) -> SourceSpec:
        """Return a source with options, whose path may be an object."""
        found = {key: _value(key, value, None) for key, value in given.items() if key != "path"}
        path = given.get("path")
        if path is not None and not isinstance(path, str | Path):
            made = self._source(name, path)
            if found.setdefault("kind", made.kind) != made.kind:
                what = f"source {name}: an object is a source of the kind {made.kind}"
                hint = f"give the path of a file to one of the kind {found['kind']}"
                raise UsageError(what, hint=hint, option="source")
            path = made.path
        return source_of(name, stated(found | {"path": path and str(path)}).items())

    def _source(self, name: str, value: Any) -> SourceSpec:
        if isinstance(value, str):
            return parse_source(f"{name}={value}")
        if isinstance(value, Mapping) and isinstance(value.get("kind"), str):
            return self._described(name, value)
        if isinstance(value, Mapping):
            return SourceSpec(name, "genes", self.hold(name, _sets(value, name), ".gmt"))
        if not _is_anndata(value):
            return SourceSpec(name, "profile", self.hold(name, self._of_rows(value, name)))
        if not self.have_ids and self._by_place(value.obs_names, name):
            table = table_of(value)
            value = replace(table, row_ids=self._ids(len(table.row_ids), name))
        return SourceSpec(name, "profile", self.hold(name, value))


def _with_whole(adata: AnnData, whole: Any, own: str) -> SimpleNamespace:
    """Return a modality with what its MuData has of its samples: obs, obsm and obsp.

    A column of ``obs`` is that of the modality where both have it, and ``MODALITY:COLUMN`` names
    that of any modality. A graph or coordinates are those of the whole, such as muon's weighted
    nearest neighbors, where both have them, and ``MODALITY:KEY`` names those of the modality.
    """
    parts = ("X", "raw", "layers", "obs_names", "var_names", "uns")
    held = SimpleNamespace(**{part: getattr(adata, part) for part in parts})
    columns = {
        f"{name}:{key}": each.obs[key] for name, each in whole.mod.items() for key in each.obs
    }
    columns |= dict(whole.obs.items())
    held.obs = adata.obs.assign(
        **{k: each.reindex(adata.obs_names) for k, each in columns.items() if k not in adata.obs}
    )
    at = whole.obs.index.get_indexer(adata.obs_names)
    for part, rows in (("obsm", (at,)), ("obsp", (at[:, None], at))):
        found = dict(getattr(adata, part))
        for key, values in dict(getattr(whole, part, {})).items():
            if getattr(values, "ndim", 2) != 2:
                continue  # which samples a modality has
            if key in found:
                found[f"{own}:{key}"] = found[key]
            values = values.iloc if hasattr(values, "iloc") else values
            found[key] = values.tocsr()[at][:, at] if is_sparse(values) else values[rows]
        setattr(held, part, found)
    return held


def _is_anndata(value: Any) -> bool:
    return all(hasattr(value, name) for name in ("obs_names", "var_names", "obs", "uns"))


def _is_values(value: Any) -> bool:
    """Tell whether a list holds a number for each sample, and not covariates, or none."""
    return bool(value) and all(isinstance(each, Number | None) for each in value)


def _has_index(value: Any) -> bool:
    """Tell whether it is a data frame of pandas, whose rows have names."""
    return hasattr(value, "iloc")


def as_table(value: Any, what: str, rows: str | None) -> Table:
    """Return a data frame, an array or a sparse matrix with ids; rows are samples by default."""
    if isinstance(value, Table):
        return value
    import pandas as pd

    samples_are_rows = rows != "features"
    if not _has_index(value) and hasattr(value, "to_pandas"):  # of polars or Arrow
        value = value.to_pandas()
    if isinstance(value, pd.DataFrame):
        rows_and_columns = _names_of(value.index, "row"), _names_of(value.columns, "column")
        return Table(_numbers_of(value, what), *rows_and_columns, samples_are_rows)
    if is_sparse(value):
        check_sparse(value, named(what))
        values = value if value.format in ("csr", "csc") else value.tocsr()
    elif isinstance(value, np.ma.MaskedArray) and value.ndim == 2:
        masked = np.ma.array(cast_values(value.data, "float64", named(what)), mask=value.mask)
        values = masked.filled(np.nan)
    else:
        values = array_of(value, what, 2, _MATRIX_TAKEN)
    if values.dtype.kind == "O":
        values = _numbers_of(pd.DataFrame(values), what)
    samples, features = values.shape if samples_are_rows else values.shape[::-1]
    ids = [str(i) for i in range(samples)], [f"x{i}" for i in range(features)]
    return Table(values, *(ids if samples_are_rows else ids[::-1]), samples_are_rows)


def _names_of(index: pd.Index, what: str) -> list[str]:
    """Return the names of the rows or columns of a data frame; one that is missing is refused."""
    _check_levels(index, f"{what}s of the data frame")
    if (missing := np.asarray(index.isna())).any():
        raise InputError(
            f"{counted(int(missing.sum()), what)} of the data frame without a name (None or NaN), "
            f"first number {int(missing.argmax()) + 1:,}",
            hint=f"name every {what}, or drop those without a name",
            option="matrix",
        )
    return list(map(str, index))


def _check_levels(index: pd.Index, what: str) -> None:
    """Refuse an index of several levels (pandas' MultiIndex), whose names are no single ids."""
    if hasattr(index, "levels"):
        raise InputError(
            f"{what} have names of {counted(index.nlevels, 'level')} each (a MultiIndex), such as "
            f"{index[:1].tolist()}",
            hint="give each one name, such as by get_level_values, or join the levels: "
            "index.map(lambda names: ' '.join(map(str, names)))",
        )


_MATRIX_TAKEN = (
    "a data frame, an array or a sparse matrix, with samples in rows and features in columns; the "
    "matrix itself may be an AnnData, a MuData or a path too"
)
_OF_SAMPLES_TAKEN = "a list, an array, a Series or a dict, with a value for each sample"
_RANKING_TAKEN = "a result of rank, a data frame, a path, or the features, best first"
_GENES_TAKEN = "a list of features, or a path"


def array_of(value: Any, what: str, axes: int, taken: str) -> np.ndarray:
    """Return what a user gave as an array of one or two axes; InputError that says what is taken.

    A single column is taken where one axis is asked for.
    """
    if is_sparse(value) and axes == 1:
        value = value.toarray()
    try:
        found = np.asarray(value)
    except Exception as error:  # of lists of lists, and of what pretends to be an array
        raise _refused(what, value, taken, str(error).partition(". ")[0]) from error
    if axes == 1 and found.ndim == 2 and found.shape[1] == 1:
        found = found[:, 0]
    if found.ndim != axes:
        raise _refused(what, value, taken, f"it has {found.ndim} axes, not {axes}")
    return found


def _refused(what: str, value: Any, taken: str, reason: str = "") -> InputError:
    """Return the error for an object that is not taken, with its type."""
    told = f"{what} is of type {type(value).__name__}, which is not taken"
    return InputError(f"{told}: {reason}" if reason else told, hint=f"give {taken}")


def _texts(value: Any, what: str, taken: str) -> list[str]:
    """Return names that a user gave as texts."""
    plain = _is_many(value) and not hasattr(value, "ndim")  # a set, or what yields names
    return list(map(str, array_of(list(value) if plain else value, what, 1, taken).ravel()))


def _is_many(value: Any) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str | bytes)


def _sets(given: Mapping[Any, Any], what: str) -> Mapping[Any, Any]:
    """Return sets of genes; InputError where one is no list of names."""
    for name, genes in given.items():
        if not _is_many(genes):
            raise _refused(f"the set {str(name)!r} of {what}", genes, "a list of genes")
    return given


def _numbers_of(frame: pd.DataFrame, what: str) -> np.ndarray:
    """Return the values of a data frame; where its columns are of many types, as float64.

    Complex numbers stay as they are, for the reader to refuse. InputError for text.
    """
    from pandas.api.types import infer_dtype, is_complex_dtype, is_numeric_dtype

    kinds = set(frame.dtypes)
    plain = all(isinstance(kind, np.dtype) and kind.kind in "fiu" for kind in kinds)
    if plain or any(map(is_complex_dtype, kinds)):
        return frame.to_numpy()
    numbers = ("floating", "integer", "mixed-integer-float", "boolean", "decimal", "empty")
    others = [
        str(name)
        for name, column in frame.items()
        if not is_numeric_dtype(column.dtype) and infer_dtype(column) not in numbers
    ]
    if others:
        raise InputError(
            "values are of type object, not numbers, but text or the like, in column "
            f"{listed(others, 3)}",
            where=named(what),
            hint=f"if {others[0]!r} names the rows, make it the index with set_index("
            f"{others[0]!r}); leave out other columns that hold no values of the matrix",
        )
    return frame.to_numpy(np.float64, na_value=np.nan)


def _written(inputs: Inputs, ranked: Ranked, top: int | None, key: str, copy: bool) -> Any:
    """Write a ranking into ``var`` and ``uns``, and return the AnnData; None where it cannot be."""
    from sfs_cli.io.results.additions import Inside, additions
    from sfs_cli.io.results.highly_variable import plotted_columns

    adata: Any = inputs.adata
    if not copy and adata.isbacked and adata.is_view:
        return None  # which anndata cannot write to
    if copy:
        adata = adata.to_memory() if adata.isbacked else adata.copy()
    config, names = ranked.config, unique_features(list(map(str, adata.var_names)))[0]
    spelling = inputs.spelling(config)  # in which form the ranking has them

    def plotted() -> dict[str, np.ndarray]:
        with giving(inputs.objects):
            return plotted_columns(Path(inputs.matrix), config.layer)

    added = additions(
        ranked.ranking,
        Inside([], list(adata.var.columns), dict(adata.uns.get("hvg", {}))),
        [spelling.get(name, name) for name in names],
        of_rank.about_ranking(config, ranked.facts, top),
        None if config.of_raw else plotted,
        top=top,
        key=key,
    )
    of_features = adata.raw if config.of_raw else adata
    if ranked._markers is not None:
        added.members |= ranked._markers.to_uns(list(of_features.var_names))
    added.write_to(adata)
    _warn(added.notes, False)
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

    from sfs_cli.run.fuse import fuse_sources
    from sfs_cli.run.load import loaded

    inputs = Inputs(data, modality, options.get("rows"))
    config = inputs.config(RankConfig, {"method": "msfs", "source": source, **options})
    for each in options_of(RankConfig):
        if each.name in stated(options) and "fuse" not in each.verbs:
            what = f"{each.name} has no effect on a fusion, which ranks nothing"
            raise UsageError(what, hint="leave it out, or give it to rank", option=each.name)

    def fused(config: RankConfig, messages: Messages) -> Any:
        with loaded(config, messages) as run:
            return fuse_sources(run)[1:]

    made, samples = inputs.run(fused, config, verbose)
    of_pandas: Any = pd.DataFrame
    if not isinstance(made, np.ndarray):
        of_pandas = of_pandas.sparse.from_spmatrix
    spelling = inputs.spelling(config, samples=True)
    samples = [spelling.get(name, name) for name in samples]
    frame = of_pandas(made, samples, samples)
    adata = inputs.adata
    if adata is None:
        return frame
    if len(samples) < adata.n_obs:
        what = f"the similarity is between {len(samples):,} of the {adata.n_obs:,} samples"
        if copy:
            hint = "leave copy out, and take the data frame that is returned"
            raise InputError(f"{what}, and obsp has room for all alone", hint=hint)
        _warn([f"{what}: it is returned, and not written into obsp"], verbose)
        return frame
    adata = adata.copy() if copy else adata
    adata.obsp[key_added] = made
    return adata if copy else frame


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

    if isinstance(rankings, Ranked | str | Path) or hasattr(rankings, "iloc"):
        hint = "give a list, or a dict of names and rankings"
        raise UsageError("one ranking is nothing to aggregate", hint=hint, option="rankings")
    inputs = Inputs("")
    paths = inputs.lists(rankings)
    weights = options.get("list_weights")
    if isinstance(weights, Mapping):
        if not isinstance(rankings, Mapping) or set(weights) != set(rankings):
            what = "list_weights names other lists than there are"
            hint = f"give a weight for each of {listed([str(name) for name in rankings])}"
            raise UsageError(what, hint=hint, option="list_weights")
        options["list_weights"] = [weights[name] for name in rankings]
    config = AggregateConfig(tuple(paths), **options_for(AggregateConfig, options))
    found = inputs.run(aggregate_lists, config, verbose)
    spelling = _spelling_of_lists(inputs.objects.values())
    return table_of_ranking(_as_spelled(found.ranking, spelling))


def _spelling_of_lists(frames: Iterable[pd.DataFrame]) -> Spelling:
    """Do what `_spelling` does for rankings, whose features are the index or a column."""
    parts = (
        part
        for frame in frames
        for part in (frame.index.to_frame(), frame.select_dtypes(exclude="number"))
    )
    return _spelling(name for part in parts for name in part.to_numpy().ravel("F"))


def _frame_of_list(value: Any) -> pd.DataFrame:
    """Return a ranking, or features best first, as a data frame with the features as its index."""
    import pandas as pd

    if isinstance(value, Ranked):
        frame = value._whole
    elif isinstance(value, pd.DataFrame):
        frame = value
    elif isinstance(value, pd.Series):
        frame = value.to_frame("score")
    else:  # features, best first
        features = _texts(value, "a ranking", _RANKING_TAKEN)
        frame = pd.DataFrame({"rank": np.arange(1, len(features) + 1)}, index=features)
    for index, what in ((frame.index, "features"), (frame.columns, "columns")):
        _check_levels(index, f"{what} of a ranking")
    texts = any(not pd.api.types.is_numeric_dtype(kind) for kind in frame.dtypes)
    only_counts = isinstance(frame.index, pd.RangeIndex) and texts
    if frame.index.name is None and not only_counts:
        frame = frame.rename_axis("feature")
    return frame


def table_of_ranking(ranking: Ranking) -> pd.DataFrame:
    """Return a ranking as a data frame, best first, with features as the index."""
    import pandas as pd

    columns = ranking.columns(0, ranking.n_written)
    made = {k: v if isinstance(v, np.ndarray) else list(v) for k, v in columns.items()}
    return pd.DataFrame(made).set_index("feature")


@_for_python
def select(ranked: Any, *, verbose: bool = False, **options: Any) -> list[str]:
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
    from sfs_cli.run import select as of_select

    own = isinstance(ranked, Ranked)
    inputs = copied(ranked._inputs) if own else Inputs("")
    inputs.objects, inputs._doubts = dict(inputs.objects), []
    if "labels" in options and own:
        options["labels"] = inputs._of_samples("labels", options["labels"])
    (place,) = inputs.lists({"ranking": ranked})

    def chosen(config: SelectConfig, messages: Messages) -> list[str]:
        result = of_select.read_result(config, messages)
        if own:
            result = replace(result, record=ranked.facts)
        again = None
        if config.reads_matrix and own:
            again = of_select.to_rank_again(config, ranked.config, ranked.facts, place)
        elif config.reads_matrix:
            again = of_select.ranking_config(config, result)
        rows = of_select.select(config, result, again, messages).rows
        return [result.features[row] for row in rows.tolist()]

    config = SelectConfig(place, **options_for(SelectConfig, options))
    names = inputs.run(chosen, config, verbose)
    spelling = _spelling_of_lists([inputs.objects[place]]) if place in inputs.objects else {}
    return [spelling.get(name, name) for name in names]


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
        The options of ``sfs evaluate``: method, labels, label_type, event, adjust, lengths, splits,
        repeats, sets, drivers.

    Returns
    -------
    Evaluated
        Its ``table`` holds the measures.
    """
    from sfs_cli.options.evaluate import EvaluateConfig
    from sfs_cli.run.judge import judge

    inputs = Inputs(data, modality, options.get("rows"))
    if list is not None:
        (options["list_"],) = inputs.lists({"list": list})
    return _judged(inputs, options, EvaluateConfig, judge, verbose)


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
    from sfs_cli.run.judge import judge

    if not isinstance(methods, Iterable):
        raise _refused("methods", methods, 'names of methods, such as ["spec", "f-test"]')
    for name, given in (("rankings", rankings), ("lists", lists)):
        if given is not None and not isinstance(given, Mapping):
            raise _refused(name, given, f"a dict of names and {name}")
    several = [methods] if isinstance(methods, str | Mapping) else list(methods)
    methods = [_method_text(each) if isinstance(each, Mapping) else each for each in several]
    if not (methods or rankings or lists):
        hint = 'give methods, such as ["spec", "f-test"], rankings, or lists'
        raise UsageError("nothing to compare: there is no ranking", hint=hint, option="methods")
    inputs = Inputs(data, modality, options.get("rows"))
    taken = {option.name for option in ranking_options().values()}
    taken |= {option.name for option in options_of(RankConfig) if option.of in taken}
    specs = []
    for name, each in (rankings or {}).items():
        if not isinstance(each, Mapping):
            raise _refused(f"the ranking {name!r}", each, "a dict of options of rank")
        own = options_for(RankConfig, inputs.options(each))
        own = {option: value for option, value in own.items() if value != ()}
        if others := [option for option in own if option not in taken]:
            what = f"{others[0]!r} is not an option of one ranking ({name})"
            hint = "give it to compare, for all of them, or leave it out"
            raise UsageError(what, hint=hint, option="rankings")
        text = ", ".join(f"{option}={listed([value])}" for option, value in own.items())
        specs.append(RankingSpec(str(name), own, text))
    paths = inputs.lists(lists or {}, "list ")
    asked = options | {
        "method_": tuple(methods),
        "ranking_of": tuple(specs),
        "list_": tuple(map(ListSpec, map(str, lists or {}), paths)),
    }
    return _judged(inputs, asked, CompareConfig, judge, verbose)


def _method_text(method: Mapping[str, Any]) -> str:
    """Return a method as text; UsageError where members with parameters have none."""
    text = text_of(grouped({"method": method})["method"])
    if text.startswith("{"):
        what = f"methods: {text} has members with parameters"
        hint = 'give it to rankings with a name, such as {"kogs": {"method": ...}}'
        raise UsageError(what, hint=hint, option="methods")
    return text


def _judged(
    inputs: Inputs,
    options: Mapping[str, Any],
    kind: type,
    judge: Callable[[Any, Messages], Any],
    verbose: bool,
) -> Evaluated:
    """Run `evaluate` or `compare`, and return what it has found as tables."""
    import pandas as pd

    from sfs_cli.evaluation.measures import Enrichment

    config = inputs.config(kind, options)
    found = inputs.run(judge, config, verbose)
    spelling = inputs.spelling(config)
    enriched = []
    for *place, each in found.enriched:
        members = [spelling.get(name, name) for name in each.members]
        enriched.append((*place, *each._replace(members=members)))
    of_sets = ["list", "selection", "features", "set", *Enrichment._fields[1:]]
    return Evaluated(
        pd.DataFrame(found.measures, columns=MEASURES),
        pd.DataFrame(enriched, columns=of_sets),
        found.facts,
    )
