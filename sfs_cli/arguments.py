"""From objects and arguments of Python to a configuration of a command.

Where a command has a path, an object gets a name, such as ``<labels>``, which stands for it in the
configuration. It is turned into a table where it enters (`sfs_cli.io.objects`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Number
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pandas as pd

from sfs_cli.errors import InputError, UsageError, counted, either, listed, near, nearest
from sfs_cli.io.given import named
from sfs_cli.io.matrix.memory import Table, table_of
from sfs_cli.io.matrix.stored import real
from sfs_cli.io.objects import (
    array_of,
    as_table,
    forms_of,
    has_index,
    is_anndata,
    names_of,
    refused,
    sets_of,
    with_whole,
)
from sfs_cli.options import RankConfig
from sfs_cli.options.fields import Config, Option, flag, options_of, stated
from sfs_cli.options.grammar import NAME, expanded, hosts, parameter_called
from sfs_cli.options.paths import READS, NamedPath, is_url, moved, public, refuse_pipes
from sfs_cli.options.rank import OF_SAMPLES
from sfs_cli.options.source import SourceSpec, parse_source, source_of
from sfs_cli.run.inputs import on_its_side

if TYPE_CHECKING:
    from anndata import AnnData

C = TypeVar("C", bound=Config)
CALLED = {
    "compare": {"list": "lists", "method": "methods", "ranking_of": "rankings"},
    "write": {"out": "folder"},
}
"""The arguments of functions that have another name than the option of the command."""


@dataclass
class Given:
    """The objects of a call, by the names that stand for them where a command has a path.

    Attributes
    ----------
    matrix : str
        The path of the matrix, or what stands for it; "" where there is none.
    samples : list of str, optional
        Their ids; of a file they are not known.
    have_ids : bool
        Whether the ids are those of the data, not numbers that stand for them.
    columns : list of str
        Of ``obs``.
    adata : AnnData, optional
        What a ranking can be written to.
    modality : str
        That of a MuData which is ranked.
    others : mapping
        Its other modalities.
    doubts : dict
        What to warn of: by ``rows`` where nothing shows that they are the samples, and by options
        whose index is not used.
    objects : dict
        What each name stands for.
    """

    matrix: str
    samples: Sequence[str] | None = None
    have_ids: bool = True
    columns: list[str] = field(default_factory=list)
    adata: AnnData | None = None
    modality: str = ""
    others: Mapping[str, AnnData] = field(default_factory=dict)
    doubts: dict[str, str] = field(default_factory=dict)
    objects: dict[str, object] = field(default_factory=dict)

    def forms(self, of: str = "features") -> dict[str, str]:
        """Return how the user writes ids with accents, by the form in which they are read.

        They are those of ``features``, of ``raw`` or of ``samples``, first those of the matrix.
        """
        found: dict[str, str] = {}
        for held in reversed(self.objects.values()):
            found |= forms_of(held, of)
        return found

    def as_written(self, names: Iterable[str], of: str = "features") -> list[str]:
        """Return ids as the user writes them."""
        forms = self.forms(of)
        return [forms.get(name, name) for name in names] if forms else list(names)

    def hold(self, what: str, value: object, suffix: str = "") -> str:
        """Keep an object, and return the name that stands for it, which no other has."""
        name, number = named(what) + suffix, 1
        while name in self.objects:
            number += 1
            name = named(f"{what}_{number}") + suffix
        self.objects[name] = value
        return name


def given_of(data: object, modality: str | None = None, rows: object = None) -> Given:
    """Return the matrix of a call: AnnData, MuData, data frame, array, sparse matrix or path."""
    if isinstance(data, str | Path):
        path = str(data) if modality is None else f"{data}:{modality}"
        refuse_pipes([NamedPath("matrix", "matrix", path, READS)])
        return Given(path)
    whole: Any = data if hasattr(data, "n_mod") else None
    others = {} if whole is None else dict(whole.mod)
    if whole is not None:
        if modality is None and len(others) > 1:
            what = f"the MuData has {len(others)} modalities, and none is named"
            hint = f"give modality, one of {listed([*others])}"
            raise UsageError(what, hint=hint, option="modality")
        modality = next(iter(others)) if modality is None else modality
        if modality not in others:
            what = f"there is no modality {modality!r}"
            raise UsageError(what, hint=nearest(modality, others), option="modality")
        data = others.pop(modality)
    elif modality is not None:
        what = "modality is of MuData, and this is none"
        raise UsageError(what, hint="leave it out", option="modality")
    given = Given(named("matrix"), modality=modality or "", others=others)
    if is_anndata(data):
        if rows == "features":
            what = "rows of an AnnData are samples"
            raise UsageError(what, hint="give adata.T, or leave rows out", option="rows")
        held = data if whole is None else with_whole(data, whole, given.modality)
        given.adata, given.columns = data, list(map(str, held.obs.columns))
        given.samples = list(map(str, data.obs_names))
        given.hold("matrix", held)
        return given
    table = as_table(data, "matrix", str(rows))
    given.samples = list(table.row_ids if table.samples_are_rows else table.column_ids)
    given.have_ids = has_index(data)
    given.hold("matrix", table)
    if rows in (None, "auto") and not isinstance(data, Table):
        given.doubts |= {"rows": why} if (why := on_its_side(*table.values.shape)) else {}
    return given


def config_of(
    given: Given, kind: type[C], asked: Mapping[str, object], verb: str = "", **fixed: object
) -> C:
    """Return a configuration of a command on the matrix, in which names stand for objects.

    `verb` is the command, where it is not that of the configuration; options that are `fixed` are
    not taken.
    """
    verb = verb or kind.VERB
    taken = [o for o in options_of(kind) if verb in (o.verbs or verb) and o.name not in fixed]
    named_values = in_names(given, asked)
    if given.samples is not None and named_values.get("rows") in ("auto", "features", "samples"):
        del named_values["rows"]  # which the table says
    made: Any = kind  # whose arguments are the options
    config: C = made(given.matrix, **as_declared(kind, named_values, taken, verb), **fixed)
    return without_addresses(config)


def without_addresses(config: C) -> C:
    """Return a configuration, whose paths are refused where they are addresses."""
    for o in options_of(type(config)):
        moved(o, getattr(config, o.name), _no_address)
    return config


def _no_address(option: Option, text: str, _what: str) -> str:
    """Return a path, and refuse an address: a copy of its file would have to outlive a result."""
    if not is_url(text):
        return text
    called = option.name if option.argument else flag(option.of or option.name)
    raise InputError(
        f"{called} is an address, which commands read, and functions do not",
        where=public(text),
        hint='give a copy of the file: fsspec.open_local("simplecache::ADDRESS") returns its path',
        option=option.name,
    )


def in_names(given: Given, asked: Mapping[str, object]) -> dict[str, object]:
    """Return options of a command, in which names stand for the objects, which are kept."""
    made = stated(asked)
    for name in OF_SAMPLES:
        if name in made:
            made[name] = of_samples(given, name, made[name])
    if not isinstance(graph := made.get("similarity"), str | Mapping | None):
        made["similarity"] = f"file:{given.hold('similarity', _graph(given, graph))}"
    if not isinstance(places := made.get("coordinates"), str | Path | None):
        table = replace(_with_samples(given, places, "coordinates"), samples_are_rows=None)
        made["coordinates"] = given.hold("coordinates", table)
    for name in ("given", "drivers"):
        if not isinstance(genes := made.get(name), str | Path | None):
            made[name] = given.hold(name, names_of(genes, name, "a list of features, or a path"))
    if isinstance(sets := made.get("sets"), Mapping):
        made["sets"] = given.hold("sets", sets_of(sets, "sets"), ".gmt")
    if "source" in made:
        made["source"] = _sources(given, made["source"])
    graph_of_samples = str(made.get("similarity")).startswith("file:")
    if graph_of_samples or any(made.get(n) for n in (*OF_SAMPLES, "source", "coordinates")):
        given.doubts.pop("rows", None)  # what is found for the samples says that they are the rows
    return {k: str(v) if isinstance(v, Path) else v for k, v in made.items()}


def _graph(given: Given, graph: object) -> Table:
    """Return a graph of the samples as a table whose rows and columns have ids."""
    if isinstance(graph, pd.DataFrame) and graph.shape[0] == graph.shape[1]:
        counted_axes = [isinstance(axis, pd.RangeIndex) for axis in graph.axes]
        if counted_axes == [True, False]:  # the ids of the rows are lost
            graph = graph.set_axis(graph.columns)
    table = _with_samples(given, graph, "similarity")
    values = real(table.values, named("similarity"))
    ids = table.row_ids if table.row_ids is given.samples else table.column_ids
    return Table(values, table.row_ids, ids)


def of_samples(given: Given, option: str, value: object) -> object:
    """Return the text of the command for an annotation of the samples."""
    if option == "adjust" and isinstance(value, pd.DataFrame):
        value = [value.iloc[:, k] for k in range(value.shape[1])]
    if option == "adjust" and isinstance(value, list | tuple):
        others = [each for each in value if not isinstance(each, Number | None)]
        if others or not value:  # covariates, and not the numbers of one
            return tuple(of_samples(given, option, each) for each in value)
    if not isinstance(value, str | Path):
        return given.hold(option, _frame_of_samples(given, option, value))
    name = str(value)
    # a name that is neither a column nor a file: the error lists the columns
    alone = ":" not in name or name.partition(":")[0] in (given.modality, *given.others)
    none = alone and not Path(name).exists()
    if none and option == "labels" and given.samples is not None and not given.columns:
        raise InputError(
            "there is no such file",
            where=name,
            hint=f"give a path, or the value of each sample: a Series such as table[{name!r}], or "
            "an array in their order",
            option=option,
        )
    return f"obs:{name}" if name in given.columns or (none and given.columns) else name


def _frame_of_samples(given: Given, option: str, value: object) -> pd.DataFrame:
    """Return values of the samples as a data frame, with their ids as the index."""
    if isinstance(value, Mapping):
        value = pd.Series(dict(value))
        ids: Sequence[str] = list(map(str, value.index))
        _check_keys(given, ids, option)
    elif has_index(value):
        ids = _ids_of(given, value.index, len(value), option)
    else:
        if not isinstance(value, pd.Categorical | pd.CategoricalIndex):
            value = array_of(value, option, 1, _OF_SAMPLES_TAKEN)
        value = pd.Series(value)
        ids = _ids_of(given, None, len(value), option)
    value = value.set_axis(list(ids))
    return value if isinstance(value, pd.DataFrame) else value.to_frame(value.name or option)


def _check_keys(given: Given, keys: Sequence[str], what: str) -> None:
    """Refuse keys that name no sample, where the samples have numbers in place of ids."""
    if given.have_ids or given.samples is None:
        return
    known = set(given.samples)
    if others := [key for key in keys if key not in known]:
        raise UsageError(
            f"{what} has {counted(len(others), 'key')} ({listed(others, 3)}) of no sample: those "
            f"of an array are numbered from 0 to {len(known) - 1:,}",
            hint="give these numbers as the keys, a list of values in the order of the samples, or "
            "the matrix as a data frame with the ids as its index",
            option=what,
        )


def _with_samples(given: Given, values: object, what: str) -> Table:
    """Return a table with a row for each sample."""
    table = as_table(values, what, "samples")
    index = values.index if has_index(values) else None
    return replace(table, row_ids=_ids_of(given, index, len(table.row_ids), what))


def _ids_of(given: Given, index: pd.Index | None, n_rows: int, what: str) -> Sequence[str]:
    """Return the ids of the samples that rows are of, by their index or else by their order.

    An index is not used where the samples have no ids, and where it only counts and they have
    others. Raises UsageError where it counts and they have some of its numbers.
    """
    samples = given.samples
    if index is not None and given.have_ids:
        ids = list(map(str, index))
        known = set(ids).intersection(samples or ())
        if samples is None or not isinstance(index, pd.RangeIndex) or len(known) == len(samples):
            return ids
        if known:
            raise UsageError(
                f"the index of {what} counts from {index.start}, and {len(known):,} of "
                f"{len(samples):,} samples have such ids",
                hint="give an array of values in the order of the samples, or the ids of the "
                "samples as the index",
                option=what,
            )
    elif index is not None and samples is not None:
        texts = list(map(str, index))
        if texts != samples and sorted(texts) == sorted(samples):
            # shuffled before the matrix became an array, or without it: nobody can tell
            given.doubts[what] = (
                f"{what} is taken in the order of its rows, and its index, which counts the "
                "samples in another order, is not used, since the samples of an array have no ids: "
                "give its values without the index (to_numpy), or sort them by it (sort_index) "
                "first"
            )
    if samples is None:
        raise UsageError(
            f"{what} has no ids, and the samples of a file are not known yet",
            hint="give a Series with the ids of the samples as its index",
            option=what,
        )
    if len(samples) != n_rows:
        raise UsageError(
            f"{what} has {n_rows:,} values for {len(samples):,} samples",
            hint="give one value for each sample, in their order, or by their ids; where the "
            'columns of the matrix are the samples, give rows="features"',
            option=what,
        )
    return samples


def _sources(given: Given, sources: object) -> tuple[SourceSpec, ...]:
    if isinstance(sources, Mapping) and not _is_one(sources):
        return tuple(_source(given, str(name), value) for name, value in sources.items())
    several = [sources] if isinstance(sources, str | Mapping) else sources  # one alone
    if not isinstance(several, list | tuple):
        raise refused("source", sources, 'a dict, such as {"mirna": matrix}, or texts')
    return tuple(_listed_source(given, each) for each in several)


def _is_one(sources: Mapping[Any, object]) -> bool:
    """Tell whether a dict is one source, not sources called name, kind or path."""
    kind = sources.get("kind", "" if "path" in sources else None)
    return isinstance(sources.get(NAME), str) and isinstance(kind, str)


def _listed_source(given: Given, each: object) -> SourceSpec:
    """Return a source of a list, which has its name inside."""
    if isinstance(each, SourceSpec):
        return each
    if isinstance(each, Mapping) and NAME in each:
        return _described(given, str(each[NAME]), {k: v for k, v in each.items() if k != NAME})
    if not isinstance(each, str):
        taken = 'a text, or a dict such as {"name": "mirna", "kind": "profile", "path": matrix}'
        raise refused("a source", each, taken)
    in_data = given.others.get(each)
    return parse_source(each) if in_data is None else _source(given, each, in_data)


def _described(given: Given, name: str, options: Mapping[str, object]) -> SourceSpec:
    """Return a source with options, whose path may be an object."""
    found = {
        key: _as_option(key, plain(value), repeated=False)
        for key, value in stated(options).items()
        if key != "path"
    }
    path = options.get("path")
    if path is not None and not isinstance(path, str | Path):
        made = _source(given, name, path)
        if found.setdefault("kind", made.kind) != made.kind:
            what = f"source {name}: an object is a source of the kind {made.kind}"
            hint = f"give the path of a file to one of the kind {found['kind']}"
            raise UsageError(what, hint=hint, option="source")
        path = made.path
    return source_of(name, stated(found | {"path": path and str(path)}).items())


def _source(given: Given, name: str, value: object) -> SourceSpec:
    if isinstance(value, str):
        return parse_source(f"{name}={value}")
    if isinstance(value, Mapping) and isinstance(value.get("kind"), str):
        return _described(given, name, value)
    if isinstance(value, Mapping):
        return SourceSpec(name, "genes", given.hold(name, sets_of(value, name), ".gmt"))
    if not is_anndata(value):
        value = _with_samples(given, value, name)
    elif not given.have_ids:
        table = table_of(value)
        value = replace(table, row_ids=_ids_of(given, None, len(table.row_ids), name))
    return SourceSpec(name, "profile", given.hold(name, value))


def as_declared(
    kind: type[Config], options: Mapping[str, object], taken: Iterable[Option], verb: str = ""
) -> dict[str, Any]:
    """Return options as a configuration holds them; UsageError for one that is not taken."""
    known = {o.name: o for o in taken if not o.of and o.section != "Output"}
    of_parts, made = hosts(kind), dict[str, Any]()
    for name, value in options.items():
        asked = name if name in known else f"{name}_"  # such as given_, as the commands have it
        if asked not in known:
            raise _no_option(kind, name, options, known, verb or kind.VERB)
        if isinstance(value, Mapping) and asked in of_parts:  # a member alone is a list of one
            found = {k: [v] if isinstance(v, Mapping) else v for k, v in value.items()}
            made[asked] = plain(found)
        elif value is not None:
            made[asked] = _as_option(name, plain(value), isinstance(known[asked].default, tuple))
    return expanded(kind, made)


def _no_option(
    kind: type[Config], name: str, options: Mapping[str, object], known: Collection[str], verb: str
) -> UsageError:
    """Return the error of a name among options that is none of those known to a function."""
    called = CALLED.get(verb, {})
    taken = [*(each.rstrip("_") for each in known), *called.values()]
    declared = [
        o for o in (*options_of(kind), *options_of(RankConfig)) if o.name.rstrip("_") == name
    ]
    owners = [each for each in _FUNCTIONS if any(each in o.verbs for o in declared)]
    part = parameter_called(kind, name, options)
    needed, hint = _ELSEWHERE.get(name, ("", ""))
    if name in called:
        hint = f"give {called[name]}"
    elif part is not None and part.of in taken:
        written = part.word if part.begins else f"NAME,{part.parameter}="
        hint = f'it is a parameter: {part.of}="{written}VALUE"'
    elif any(o.section == "Output" and o.name != "top" for o in declared):
        does = "write(folder) of the result does" if verb == "rank" else "take what it returns"
        hint = f"a function writes no files: {does}"
    elif verb in owners:
        hint = f"give it to {verb} itself, for all rankings"
    elif verb == "compare" and "evaluate" in owners:  # what evaluate takes says how to rank
        key = name if part is None else part.of
        hint = f'it is of one ranking: rankings={{"NAME": {{"{key}": ...}}}}'
    elif owners:
        hint = f"it is of {either(owners, 'and')}"
    elif needed not in taken:
        hint = near(name, taken).strip() or f"see `sfs {verb} --help`"
    return UsageError(f"there is no option {name!r} here", hint=hint, option=name)


_FUNCTIONS = ("rank", "fuse", "aggregate", "select", "evaluate", "compare")
_ELSEWHERE = {
    **dict.fromkeys(
        ("flavor", "span", "n_bins", "min_mean", "max_mean", "min_disp", "max_disp"),
        ("method", 'it is of scanpy; give method, such as method="variance"'),
    ),
    "groupby": ("labels", "give the column of obs as labels"),
    "use_raw": ("layer", 'give layer="raw.X"; without it X is taken'),
    "n_neighbors": ("similarity", 'give similarity="knn,neighbors=NUMBER"'),
    "n_pcs": ("similarity", 'give similarity="knn,components=NUMBER"'),
    "metric": ("similarity", 'give similarity, such as similarity="knn-correlation"'),
    "use_rep": ("similarity", 'give similarity="obsm:KEY"'),
    "neighbors_key": ("similarity", 'give similarity="obsp:KEY_connectivities"'),
    "random_state": ("seed", "give seed"),
    "n_jobs": ("threads", "give threads"),
}
"""The options that stand for arguments of scanpy, and what a function that has them says."""
_OF_SAMPLES_TAKEN = "a list, an array, a Series or a dict, with a value for each sample"


def plain(value: object) -> object:
    """Return a value, or a name with its parameters, without NumPy scalars."""
    if isinstance(value, Mapping):
        return {key: plain(each) for key, each in value.items()}
    values = not hasattr(value, "_fields") and getattr(value, "ndim", 1) == 1
    if isinstance(value, list | tuple | np.ndarray) and values:
        return [plain(each) for each in value]
    return value.item() if isinstance(value, np.generic) else value


def _as_option(name: str, value: object, repeated: bool) -> object:
    """Return a value as an option has it that may be `repeated` on the command line, or not."""
    if isinstance(value, str | Path | Number):
        return (str(value),) if repeated else value
    one = isinstance(value, bytes | Mapping) or getattr(value, "ndim", 1) != 1
    if one or not isinstance(value, Collection):
        raise refused(name, value, "a text, a number, or a list of them")
    if repeated:
        return tuple(str(each) if isinstance(each, Path | Number) else each for each in value)
    return ",".join(map(str, value))


def missing_of(values: np.ndarray) -> np.ndarray:
    """Return where values (n,) are None, NaN or NA, as ascending indices."""
    return np.flatnonzero(pd.isna(values))


def at_rows(options: Mapping[str, Any], X: Any) -> tuple[dict[str, Any], list[str] | None]:
    """Return options whose objects have the rows of X, and the ids of the samples.

    Ids are None where none are needed: only what a text names, such as a file, has samples of its
    own, which the index of X finds.
    """
    made, texts = dict(options), False
    for name in {*OF_SAMPLES, "similarity", "coordinates", "source"}.intersection(made):
        value = made[name]
        several = isinstance(value, list | tuple) and (
            name == "source"
            or (name == "adjust" and not all(isinstance(each, Number | None) for each in value))
        )
        if name == "source" and isinstance(value, Mapping):
            parts: dict[str, Any] = dict(value)
            made[name] = {key: _rows_of(each, X, key, name) for key, each in parts.items()}
        elif several:
            parts = {f"{name} {k}": each for k, each in enumerate(value, 1)}
            made[name] = [_rows_of(each, X, key, name) for key, each in parts.items()]
        else:
            parts = {name: value}
            made[name] = _rows_of(value, X, name, name)
        found = [each.get("path") if isinstance(each, Mapping) else each for each in parts.values()]
        own = [str(each) for each in found if isinstance(each, str | Path)]
        texts |= any(
            each.startswith("file:") if name == "similarity" else not each.endswith("target:")
            for each in own
        )
    by_index = texts and hasattr(X, "loc") and not _counted(X)
    return made, list(map(str, X.index)) if by_index else None


def _counted(X: Any) -> bool:
    """Tell whether the index of X counts its rows, as after a step that was given an array.

    In a fold these are not the numbers that the samples have in the whole.
    """
    return X.index.equals(pd.RangeIndex(len(X)))


def _rows_of(value: Any, X: Any, name: str, option: str) -> object:
    """Return the rows of what describes samples that belong to those of X, in their order.

    By the index of X where it and the value have one; else all of them, as many as X has.
    """
    if option == "source" and isinstance(value, Mapping) and "path" in value:
        return {**value, "path": _rows_of(value["path"], X, name, option)}
    named = isinstance(value, Mapping) and option in ("source", "similarity")
    if named or isinstance(value, str | Path):
        return value
    called = f"source {name!r}" if option == "source" else name
    if isinstance(value, Mapping) and hasattr(X, "loc"):
        value = pd.Series(dict(value))
    of_anndata = hasattr(value, "obs_names")
    if not hasattr(X, "loc") or not (of_anndata or hasattr(value, "loc")):
        n = X.shape[0] if hasattr(X, "shape") else len(X)
        given = getattr(value, "shape", None)
        length = given[0] if given else len(value) if isinstance(value, list | tuple) else n
        if length != n:
            raise ValueError(
                f"{called} has {length} rows for the {n} samples of X: where only some samples are "
                f"used, as in the folds of a search, give X and {called} as objects of pandas with "
                'the same index, and steps before this one set_output(transform="pandas")'
            )
        return value
    known = value.obs_names if of_anndata else value.index
    if not known.is_unique:
        raise ValueError(
            f"{called} has repeated names of samples in its index: give it and X one name for each "
            "sample"
        )
    if not of_anndata and len(known) != len(X) and _counted(X):
        raise ValueError(
            f"{called} has {len(known)} rows, and X {len(X)}, numbered from 0, which may be others "
            "than those of the same numbers: give X, before any step, and "
            f"{called} an index of names, such as those of the samples"
        )
    if option == "similarity" and value.shape != (len(known), len(known)):
        raise ValueError(
            f"{called} has shape {value.shape}: give it one row and one column for each sample"
        )
    places = known.get_indexer(X.index.map(str) if of_anndata else X.index)
    if (places < 0).any():
        missing = [str(each) for each in X.index[places < 0][:3]]
        raise ValueError(
            f"{called} has no row for {int((places < 0).sum())} of {len(X)} samples of X "
            f"({', '.join(missing)}): give both the same index"
        )
    if of_anndata:
        return value[places]
    if option == "similarity":
        return value.to_numpy()[np.ix_(places, places)]
    rows = value.iloc[places]
    return rows.reset_index(drop=True) if option in OF_SAMPLES else rows.to_numpy()
