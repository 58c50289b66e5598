"""Selectors for scikit-learn: every method of ``sfs rank`` as a step of a pipeline.

They rank what `fit` is given, in memory, by `sfs_cli.rank`; the values and the order are those of
the command in double precision.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import check_consistent_length, check_random_state
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import (
    _check_sample_weight,
    assert_all_finite,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from sfs_cli.api import SfsWarning, rank
from sfs_cli.arguments import at_rows, config_of, given_of, missing_of
from sfs_cli.catalog import METHODS
from sfs_cli.errors import UsageError, either, listed
from sfs_cli.io.matrix.memory import Table
from sfs_cli.options import RankConfig
from sfs_cli.options.grammar import NAME, name_of

__all__ = ["MultiSourceSelector", "Selector"]


@dataclass(eq=False, repr=False)
class Selector(SelectorMixin, BaseEstimator):
    """Any method of ``sfs rank``, with any of its options.

    Parameters
    ----------
    n_features_to_select : int or float, optional
        A number, or a share, of features; half of them by default.
    method : str or dict, optional
        Such as ``"f-test"``, ``"variance"``, ``"mrmr"`` (``sfs methods`` lists them); by default
        that of ``sfs rank``: it depends on y and on the number of samples. It may hold parameters:
        ``"spec,ranking=phi3"``, or ``{"name": "spec", "ranking": "phi3"}``.
    parameters : dict, optional
        Parameters of the method, such as ``{"ranking": "phi3"}``, for a grid search.
    options : dict, optional
        Other options of `sfs_cli.rank`, such as ``{"transform": "log1p", "pvalues": "moments"}`` or
        ``{"similarity": "knn,neighbors=5"}``. Of y that holds numbers give
        ``{"label_type": "continuous"}``.
    random_state : int or RandomState, optional
        The seed.

    Attributes
    ----------
    scores_ : ndarray, shape (m,)
        The score of each feature, NaN where there is none. Of some methods the smallest is the
        best: `ranking_` is the order.
    pvalues_ : ndarray, shape (m,), or None
        The p-value of each feature; None of a method that has none.
    ranking_ : ndarray of int, shape (m,)
        The rank of each feature; 1 is the best.
    table_ : DataFrame
        The ranking as `sfs_cli.rank` returns it, best first.
    n_features_in_ : int
        Number of features m of `fit`.
    feature_names_in_ : ndarray of str, shape (m,)
        Their names, where `fit` was given a data frame.

    Notes
    -----
    `fit` uses y with the default method, with hsic that is given no graph, and where the method or
    an option needs labels, such as ``parameters={"response": "lda"}`` of mrsf or
    ``options={"similarity": "label"}``; it ignores y with others. With sselect a class of -1 in y
    stands for a sample without one, as in `sklearn.semi_supervised`; where y has -1 and one other
    class, as many tables of two classes do, both are classes.

    What describes the samples among the options, such as ``{"adjust": batch}``, is found by the
    index of X where both are objects of pandas, so that each fold of a search takes its rows of the
    whole; a file is read by that index. Otherwise rows go by their order, and more or fewer than X
    has, as in a fold, are refused, and so are those of an X whose index counts its rows from 0:
    give names. A step before this one that makes an array of a data frame takes the index away:
    give it ``set_output(transform="pandas")``.
    """

    n_features_to_select: float | None = None
    _: KW_ONLY
    method: str | dict[str, object] | None = None
    parameters: dict[str, object] | None = None
    options: dict[str, object] | None = None
    random_state: int | np.random.RandomState | None = 0

    # not in the signature of `fit`, since few methods take weights, and a graph takes none:
    # repeated samples are neighbors of each other
    __metadata_request__fit: ClassVar[dict[str, bool | None]] = {"sample_weight": None}

    def fit(self, X: object, y: object = None, **fit_params: Any) -> Self:
        """Rank the features of X (n, m), dense or sparse, with the classes or numbers y (n,).

        ``sample_weight``, shape (n,), is taken with the methods of ``sfs rank --sample-weights``.

        Raises ValueError for data that cannot be ranked, and for weights that a method cannot use.
        """
        return self._fit(X, y, self.options or {}, **fit_params)

    def _fit(
        self, X: Any, y: object, options: dict[str, Any], *, sample_weight: object = None
    ) -> Self:
        options, samples = at_rows(options, X)
        X = validate_data(
            self, X, accept_sparse=("csr", "csc"), dtype=np.float64, ensure_min_samples=2
        )
        n, m = X.shape
        if m == 1:
            raise ValueError("n_features = 1: nothing can be ranked, give 2 or more features")
        names = getattr(self, "feature_names_in_", [f"x{i}" for i in range(m)])
        # no bare numbers: in a file they would be other samples than those of a fold
        table = Table(X, samples or [f"row {i}" for i in range(n)], list(map(str, names)), True)
        state = self.random_state or 0
        if not isinstance(state, Integral):
            state = check_random_state(state).randint(2**31 - 1)
        asked: dict[str, Any] = {"dtype": "float64", "seed": int(state), **self._asked(options)}
        asked |= self._labels(y, table, asked)
        if sample_weight is not None:
            asked["sample_weights"] = _check_sample_weight(sample_weight, X)
        count = min(self._count(m), m)
        if (known := METHODS.get(self._name or "")) and "select" in known.options:
            asked["select"] = count  # a set as large as asked for
        with warnings.catch_warnings():
            # what says that a list is no evidence would come in every fold
            warnings.simplefilter("ignore", SfsWarning)
            warnings.filterwarnings("always", ".* no effect .*", SfsWarning)
            found = rank(table, **asked)
        self.table_ = found.table
        self.ranking_ = np.argsort(found.order) + 1
        of_features = found.table.iloc[self.ranking_ - 1]
        self.scores_, self.pvalues_ = (
            of_features[name].to_numpy() if name in of_features else None
            for name in ("score", "p_value")
        )
        self._selected = found.order[: min(count, found.ranking.n_scored)]
        if len(self._selected) < count:
            warnings.warn(
                f"{len(self._selected):,} features have a score, and are selected, where "
                f"{count:,} were asked for",
                SfsWarning,
                stacklevel=3,
            )
        return self

    @property
    def _name(self) -> str | None:
        """The method asked for, by its name alone."""
        return name_of(self.method)

    @property
    def _needs_labels(self) -> bool:
        known = METHODS.get(self._name or "")
        return bool(known and known.needed(known.options) & {"labels", "some-labels"})

    def _asked(self, options: dict[str, Any]) -> dict[str, Any]:
        """Return the options of the ranking, the method with its parameters among them."""
        if taken := sorted(_OF_SELECTORS & {*(self.options or {})}):
            raise ValueError(
                f"options of {type(self).__name__} has {listed(taken)}, which is not taken there: "
                "a selector ranks the features of X, with its arguments method, "
                "parameters, n_features_to_select and random_state, and fit takes y and "
                "sample_weight"
            )
        if not self.parameters:
            return {**options, "method": self.method}
        if NAME in self.parameters or self._name is None or self.method != self._name:
            raise ValueError(
                f"parameters={self.parameters} need a method by its name alone, with none of "
                f"its own: method={self.method!r}"
            )
        return {**options, "method": {NAME: self.method, **self.parameters}}

    def _count(self, m: int) -> int:
        asked = self.n_features_to_select
        if asked is None:
            return m // 2
        if isinstance(asked, Integral) and int(asked) >= 1:
            return int(asked)
        if isinstance(asked, float) and 0 < asked <= 1:
            return max(1, round(asked * m))
        raise ValueError(
            f"n_features_to_select={asked!r} is neither a whole number from 1 on nor a share of "
            "the features"
        )

    def _labels(self, y: object, table: Table, asked: dict[str, Any]) -> dict[str, Any]:
        """Return the options for labels y (n,), beside those that are asked for."""
        # hsic has a graph of y by itself, in place of which an option may give another
        other = any(asked.get(option) is not None for option in ("similarity", "coordinates"))
        used = self._name is None or (self._name == "hsic" and not other)
        needed = self._needs_labels
        if not used and not needed:  # unless options ask for labels, as similarity="label" does
            try:
                config_of(given_of(table), RankConfig, asked)
            except UsageError as error:
                needed = "labels" in error.options
        if not needed and (y is None or not used):
            return {}
        if y is None:
            raise ValueError(
                f"requires y to be passed, but the target y is None: {type(self).__name__} needs "
                "the class of each sample"
            )
        classes: np.ndarray = column_or_1d(y, warn=True)
        if len(rows := missing_of(classes)):
            ways = ["leave these out"] + ["write -1 for them"] * (self._name == "sselect")
            raise ValueError(
                f"y contains NaN or None in {len(rows):,} of {len(classes):,} samples, the first "
                f"at {rows[0]}: {either(ways)}"
            )
        assert_all_finite(classes, input_name="y")
        if self._name == "sselect" and any(isinstance(each, str) for each in classes):
            classes = np.where(classes == -1, "-1", classes)  # -1 beside names, as of scikit-learn
        if len({isinstance(each, str) for each in classes}) > 1:
            raise ValueError(
                "y has names and numbers: give every sample a name, and leave those without a "
                "class out" + " or write -1 for them" * (self._name == "sselect")
            )
        check_consistent_length(table.row_ids, classes)
        if asked.get("label_type") in ("continuous", "ordered"):
            return {"labels": classes}
        if type_of_target(classes).startswith("continuous"):
            # of methods on a graph, hsic alone takes that of the numbers by itself
            takes = {"hsic": "hsic"} | {
                name: name + ",response=outcome" * ("response" in method.options)
                for name, method in METHODS.items()
                if method.numeric
            }
            own = takes.get(self._name or "", "f-test")
            raise ValueError(
                "Unknown label type: y holds numbers that are no classes, for which there is "
                f'Selector(method="{own}", options={{"label_type": "continuous"}}); '
                f"methods for numbers are {'; '.join(takes.values())}"
            )
        check_classification_targets(classes)
        labels = np.array([_name_of_class(each) for each in classes.tolist()], object)
        if self._name == "sselect" and len(set(labels)) > 2:  # else -1 is a class, of two
            labels[labels == "-1"] = None
        return {"labels": labels}

    def _get_support_mask(self) -> np.ndarray:
        check_is_fitted(self)
        mask = np.zeros(self.n_features_in_, bool)
        mask[self._selected] = True
        return mask

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = self._needs_labels
        tags.input_tags.allow_nan = False
        return tags


_OF_SELECTORS = {
    *("method", "labels", "seed", "sample_weights", "select", "top", "n_top_genes"),
    *("rows", "collapse", "rank_sources", "modality", "key_added", "copy", "subset", "inplace"),
}
"""What is not taken as options: a selector says it itself, or it changes the features."""


@dataclass(eq=False, repr=False)
class MultiSourceSelector(Selector):
    """MSFS: a graph that knowledge sources make together, and features that vary slowly over it.

    Its parameters and attributes are those of `Selector`, such as ``parameters={"then": "gdcov"}``
    and ``options={"weights": "alignf"}``.

    Notes
    -----
    `fit` takes `sources`, a dict of names and matrices with a row for each sample (or what `rank`
    takes), beside the matrix itself, which always is one. In a pipeline, ask for it with
    ``set_fit_request(sources=True)``. It uses y with the weights alignf and rkda, and ignores it
    otherwise. Rows of sources are found as `Selector` finds those of its options.
    """

    method: str | dict[str, object] | None = field(default="msfs", kw_only=True)

    def fit(
        self,
        X: Any,
        y: object = None,
        sources: Mapping[str, object] | None = None,
        **fit_params: Any,
    ) -> Self:
        """Rank the features of X (n, m) on the graph of it and the `sources`."""
        options = self.options or {}
        if taken := {"source", "sources"} & {*options}:
            said = f"options has {listed(sorted(taken))}, and fit takes them here"
            raise ValueError(f"{said}: give fit the sources")
        if "expression" in (sources or {}):
            raise ValueError('sources has "expression", as X is called here: give another name')
        given = {"expression": "target:", **(sources or {})}
        return self._fit(X, y, {**options, "source": given}, **fit_params)


def _name_of_class(label: object) -> str:
    """Return a class as text; 1.0 is the class 1."""
    return str(int(label) if isinstance(label, float) and label.is_integer() else label)
