"""``--stability``: subsets of the samples, rankings on them, and what is said of these."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from sfs_cli import RankConfig
from sfs_cli.errors import InputError
from sfs_cli.logs import Messages
from sfs_cli.options import parse_source
from sfs_cli.parts.stability import (
    rank_in_turn,
)
from sfs_cli.parts.subsets import draw_subsets
from sfs_cli.run.load import loaded
from sfs_cli.workflow.rank import rank, ranked
from tests.making import names, write_labels, write_table
from tests.oracles import stability as slow

N, M = 26, 90


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of two classes and two batches, with other knowledge of its samples."""
    folder = tmp_path_factory.mktemp("stability")
    rng = np.random.default_rng(11)
    y = np.arange(N) % 2
    counts = rng.poisson(6 + 8 * y * (np.arange(M)[:, None] < 12), (M, N)).astype(float)
    counts[-3] = 0
    counts[-3, 4] = 7  # constant in most subsets
    counts[-2] = 3
    write_table(folder / "x.csv", counts + rng.random((M, N)) * (np.arange(M) < M - 3)[:, None])
    write_table(folder / "counts.csv", counts)
    write_table(folder / "p.csv", rng.random((12, N)) + y, names("p", 12))
    S = np.exp(-((np.arange(N)[:, None] - np.arange(N)) ** 2) / 9)
    write_table(folder / "S.csv", S, names("s", N))
    write_labels(folder / "y.tsv", ["ab"[code] for code in y])
    rows = [f"s{i}\t{a:.4f}\t{b:.4f}\n" for i, (a, b) in enumerate(rng.normal(size=(N, 2)))]
    (folder / "at.tsv").write_text("sample\ta\tb\n" + "".join(rows))
    column(folder / "age.tsv", (40 + 5 * y + rng.normal(size=N)).round(3))
    column(folder / "donor.tsv", [f"d{i // 3}" for i in range(N)])
    column(folder / "plate.tsv", ["one" if i < 14 else "two" for i in range(N)])
    column(folder / "w.tsv", (1 + rng.random(N)).round(3))
    (folder / "few.txt").write_text("g2\ng5\n")
    return folder


def column(path: Path, values: Iterable[object]) -> None:
    rows = [f"s{i}\t{value}\n" for i, value in enumerate(values)]
    path.write_text("sample\tvalue\n" + "".join(rows))


def config_of(folder: Path, **given: Any) -> RankConfig:
    options: dict[str, Any] = {
        "stability": "half",
        "stability_subsets": 4,
        "threads": 2,
        "stability_top": 10,
    }
    options |= {
        name: str(folder / value) if isinstance(value, str) and value.endswith(FILES) else value
        for name, value in given.items()
    }
    options["adjust"] = tuple(str(folder / each) for each in options.get("adjust", ()))
    options["source"] = tuple(
        parse_source(text.format(folder=folder)) for text in options.get("source", ())
    )
    matrix = str(folder / options.pop("matrix", "x.csv").rpartition("/")[2])
    return RankConfig(matrix, **options)


FILES = (".tsv", ".csv", ".txt")
LABELED: dict[str, Any] = {"labels": "y.tsv"}

GIVEN: list[dict[str, Any]] = [
    {"method": "spec", "matrix": "counts.csv", "transform": "cpm,log1p"},
    {"method": "spec", "similarity_file": "S.csv"},
    {"method": "spec", "donors": "donor.tsv"},
    {"method": "fisher", "sample_weights": "w.tsv", **LABELED},
    {"method": "t-test", "batch": "plate.tsv", "adjust": ("age.tsv",), **LABELED},
    {"method": "mrsf", "select": 12, "given_": "few.txt"},
    {"method": "msfs", "source": ("p=profile:{folder}/p.csv", "t=target:")},
]


def name_of(given: dict[str, Any]) -> str:
    return "-".join(str(value) for value in given.values()) or "default"


def quiet() -> Messages:
    return Messages(verbosity=-1)


# ---- the rankings on the subsets -----------------------------------------------------------------


@pytest.mark.parametrize("given", GIVEN, ids=name_of)
def test_a_subset_is_ranked_as_a_matrix_of_its_samples(given, folder, tmp_path, monkeypatch):
    """The frequencies are those of `sfs rank` on files that hold the samples of each subset."""
    monkeypatch.setattr("sfs_cli.run.batches.SMALLEST", 4)
    config = config_of(folder, **given)
    result = rank(config, quiet())
    with loaded(config, quiet()) as run:
        subsets = draw_subsets(run).samples
    counts = dict.fromkeys((f"g{i}" for i in range(M)), 0)
    for own in subsets:
        for feature in first_on(config, own, folder, tmp_path):
            counts[feature] += 1
    found = dict(zip(result.ranking.feature, result.ranking.extra["frequency"]))
    assert found == {feature: count / len(subsets) for feature, count in counts.items()}


def first_on(config: RankConfig, own: np.ndarray, folder: Path, where: Path) -> list[str]:
    """Rank a copy of the study with some of its samples; return the first features."""
    wanted = {f"s{i}" for i in own.tolist()}
    copies: dict[str, str] = {}
    for path in folder.iterdir():
        text = path.read_text()
        if path.suffix == ".tsv":
            head, *rows = text.splitlines()
            text = "\n".join([head, *(r for r in rows if r.split("\t")[0] in wanted)]) + "\n"
        elif path.name == "S.csv":
            text = cut(text, wanted, both=True)
        elif path.suffix == ".csv":
            text = cut(text, wanted)
        (where / path.name).write_text(text)
        copies[str(path)] = str(where / path.name)

    def moved(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(moved, value))
        return copies.get(value, value) if isinstance(value, str) else value

    options = {name: moved(value) for name, value in asdict(config).items()}
    options |= dict.fromkeys(("stability", "stability_subsets", "stability_top", "donors"))
    options["source"] = tuple(
        parse_source(str(source).replace(str(folder), str(where))) for source in config.source
    )
    ranking = rank(RankConfig(**options), quiet()).ranking
    return ranking.feature[: min(config.stability_top or 0, ranking.n_scored)]


def cut(text: str, wanted: set[str], *, both: bool = False) -> str:
    """Return a table with some of its columns, and of its rows if these are samples too."""
    rows = [line.split(",") for line in text.splitlines()]
    kept = [0] + [j for j, name in enumerate(rows[0]) if name in wanted]
    return "".join(
        ",".join(row[j] for j in kept) + "\n"
        for i, row in enumerate(rows)
        if i == 0 or not both or row[0] in wanted
    )


# ---- the subsets ---------------------------------------------------------------------------------


def subsets_of(config: RankConfig) -> list[np.ndarray]:
    with loaded(config, quiet()) as run:
        return draw_subsets(run).samples


@pytest.mark.parametrize("how", ["half", "bootstrap"])
def test_every_stratum_keeps_its_share(how, tmp_path):
    rng = np.random.default_rng(0)
    write_table(tmp_path / "x.csv", rng.normal(size=(30, 45)))
    y = ["a"] * 21 + ["b"] * 15 + ["c"] * 8 + ["d"]
    write_labels(tmp_path / "y.tsv", y)
    config = RankConfig(
        str(tmp_path / "x.csv"),
        "variance",
        labels=str(tmp_path / "y.tsv"),
        stability=how,
        stability_subsets=200,
    )
    classes, sizes = np.array(y), []
    for own in subsets_of(config):
        counts = [int((classes[own] == name).sum()) for name in "abcd"]
        sizes.append(len(own))
        if how == "half":
            for count, whole in zip(counts, (21, 15, 8, 1)):
                assert count in (whole // 2, -(-whole // 2))
        else:
            assert min(counts[:3]) >= 2
            assert counts[3] == 1
    if how == "half":
        assert set(sizes) == {22}
    else:  # of k samples k (1 - (1 - 1/k)^k) are drawn on average
        wanted = sum(k * (1 - (1 - 1 / k) ** k) for k in (21, 15, 8, 1))
        assert np.mean(sizes) == pytest.approx(wanted, abs=0.5)


@pytest.mark.parametrize("how", ["half", "bootstrap"])
def test_donors_stay_whole(how, folder):
    config = config_of(
        folder, method="variance", donors="donor.tsv", stability=how, stability_subsets=40
    )
    donors = np.arange(N) // 3
    for own in subsets_of(config):
        inside = np.isin(np.arange(N), own)
        for donor in np.unique(donors):
            assert len(set(inside[donors == donor].tolist())) == 1


def test_donors_of_one_class_are_divided_by_class(tmp_path):
    config, donors = mixed_donors(tmp_path, [2 * c for c in "aaaabbbbbb"]), np.arange(40) // 4
    for own in subsets_of(config):
        taken = np.unique(donors[own])
        assert (taken < 4).sum() == 2
        assert (taken >= 4).sum() == 3
    facts = rank(config, quiet()).facts["stability"]
    assert facts["donors"] == 10
    assert facts["strata"] == ["classes"]


def mixed_donors(folder: Path, of_donors: list[str]) -> RankConfig:
    """Write noise of donors with two samples for each letter, a class; return how it is ranked."""
    samples = [(d, c) for d, classes in enumerate(of_donors) for c in classes for _ in range(2)]
    write_table(folder / "x.csv", np.random.default_rng(0).normal(size=(30, len(samples))))
    labels = write_labels(folder / "y.tsv", [c for _, c in samples])
    column(folder / "d.tsv", [f"d{d}" for d, _ in samples])
    given = {
        "donors": str(folder / "d.tsv"),
        "stability": "half",
        "stability_subsets": 40,
        "stability_top": 5,
    }
    return RankConfig(str(folder / "x.csv"), "f-test", labels=labels, **given)


def test_halves_of_donors_of_different_sizes_are_even_where_they_can_be(tmp_path):
    sizes = [2, 2, 2, 10, 10, 10, 2, 2, 10, 2, 10, 10]
    drawn = subsets_of(mixed_donors(tmp_path, [c * (k // 2) for c, k in zip("ab" * 6, sizes)]))
    assert min(map(len, drawn)) >= 0.45 * sum(sizes)
    assert len({tuple(own.tolist()) for own in drawn}) > 20
    log = quiet()
    rank(mixed_donors(tmp_path, ["aa", "bb", "aa", "b" * 20, "aa", "bb"]), log)
    assert "smallest half of whole donors has 12 of 60" in "".join(log.warnings)


def test_a_class_with_a_single_donor_is_refused_by_name(tmp_path):
    config = replace(mixed_donors(tmp_path, [*"aaabbbc"]), stability_subsets=4)
    error = refused(config)
    assert "1 class with a single donor" in error.what
    assert error.what.endswith(": c")
    assert "donors" in error.options
    rank(replace(config, stability="bootstrap"), quiet())
    rank(replace(config, label_type="ordered", label_order="a,b,c"), quiet())


def test_halves_of_donors_of_several_classes_have_every_class(tmp_path):
    of_donors = ["ac", "a", "b", "bc", "ab"]
    config = mixed_donors(tmp_path, of_donors)
    donors = np.repeat(np.arange(5), [2 * len(classes) for classes in of_donors])
    halves = [np.unique(donors[own]).tolist() for own in subsets_of(config)]
    assert len(halves) == 40
    for own, other in zip(halves[::2], halves[1::2]):
        assert len(own) == len(other) == 2
        assert not set(own) & set(other)
        assert all(set("".join(of_donors[d] for d in half)) == set("abc") for half in (own, other))
    assert set(map(tuple, halves)) == {(0, 2), (0, 4), (1, 3), (3, 4)}  # all there are


def test_rare_classes_of_donors_are_divided_where_there_is_a_way(tmp_path):
    rare = "cdefghijklmn"  # in two of twenty donors each
    of_donors = ["ab"[d % 2] for d in range(20)]
    for at, name in enumerate(rare):
        for d in (at, (7 * at + 5) % 20):
            of_donors[d] += name
    config = mixed_donors(tmp_path, of_donors)
    donors = np.repeat(np.arange(20), [2 * len(classes) for classes in of_donors])
    for own in subsets_of(config):
        assert {*"".join(of_donors[d] for d in np.unique(donors[own]))} == {*"ab", *rare}


def test_subsets_follow_from_the_seed_alone(folder):
    def drawn(**given: Any) -> list[list[int]]:
        return [own.tolist() for own in subsets_of(config_of(folder, **given))]

    first = drawn(method="variance")
    assert drawn(method="spec", transform="zscore", threads=1) == first
    assert drawn(method="variance", stability="half", stability_subsets=20)[:4] == first
    assert drawn(method="variance", seed=1) != first


# ---- what is written -----------------------------------------------------------------------------


def test_an_odd_number_of_halves_is_made_even_and_said(folder, capfd):
    found = rank(config_of(folder, method="variance", stability_subsets=5), Messages())
    assert found.facts["stability"]["subsets"] == 6
    assert "so that 6 are drawn" in capfd.readouterr().err


def test_a_list_that_no_sample_changes_is_stable(tmp_path):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 40))
    X[:10] *= 100
    write_table(tmp_path / "x.csv", X)
    config = RankConfig(
        str(tmp_path / "x.csv"),
        "variance",
        stability="half",
        stability_subsets=20,
        stability_top=10,
    )
    result = rank(config, quiet())
    facts = result.facts["stability"]
    assert facts["stability"] == pytest.approx(1)
    assert [row["features"] for row in facts["stable"]] == [10, 10, 10]
    assert (result.ranking.extra["frequency"][:10] == 1).all()
    assert not any("[unstable]" in text for text in result.warnings)
    assert "of the first 10 features, 10 are selected in at least 75% of 20" in facts["summary"]


def test_noise_is_told(tmp_path):
    write_table(tmp_path / "x.csv", np.random.default_rng(1).normal(size=(400, 30)))
    config = RankConfig(str(tmp_path / "x.csv"), "variance", stability="half", stability_subsets=20)
    result = rank(config, quiet())
    assert result.facts["stability"]["stability"] < 0.4
    (told,) = [text for text in result.warnings if "[unstable]" in text]
    assert "0.75" in told


def test_the_numbers_are_those_of_the_lists(folder):
    config = config_of(folder, method="spec", stability_subsets=10)
    facts = rank(config, quiet()).facts["stability"]
    with loaded(config, quiet()) as run:
        ranked(run)
        subsets = draw_subsets(run)
        lists = [each.tolist() for each in rank_in_turn(run, subsets, 10, quiet(), ranked)]
    candidates = M - 1  # g88 is constant
    Z = slow.selections(lists, M)[:, [i for i in range(M) if i != M - 2]]
    assert facts["features"] == candidates
    assert facts["stability"] == pytest.approx(slow.phi(Z))
    assert facts["variance"] == pytest.approx(slow.phi_variance(Z))
    assert facts["mean_length"] == 10
    for row in facts["stable"]:
        reached = np.ceil(row["threshold"] * 10 - 1e-9) / 10
        assert row["features"] == (Z.mean(axis=0) >= row["threshold"] - 1e-9).sum()
        bound = slow.worst_case(10, candidates, reached)
        assert row["false_selections"]["any"] == pytest.approx(bound)


def test_bootstrap_samples_have_no_bound(folder):
    config = config_of(folder, method="variance", stability="bootstrap", stability_subsets=3)
    facts = rank(config, quiet()).facts["stability"]
    assert facts["subsets"] == 3
    assert [row["false_selections"] for row in facts["stable"]] == [{}] * 3


@pytest.mark.parametrize(
    ("given", "top"),
    [({"method": "variance"}, 22), ({"method": "mrsf", "select": 7}, 7)],
    ids=["a quarter", "what is selected"],
)
def test_short_rankings_have_shorter_lists(given, top, folder):
    facts = rank(config_of(folder, stability_top=None, **given), quiet()).facts["stability"]
    assert facts["top"] == top


# ---- what cannot be done -------------------------------------------------------------------------


def refused(config: RankConfig) -> InputError:
    with pytest.raises(InputError) as caught:
        rank(config, quiet())
    return caught.value


def test_a_list_as_long_as_the_ranking_is_refused(folder):
    error = refused(config_of(folder, method="variance", stability_top=M - 1))
    assert error.options[0] == "stability_top"
    assert f"{M - 1}" in error.what


def test_a_subset_that_cannot_be_ranked_is_named(folder, tmp_path):
    (tmp_path / "y.tsv").write_text(
        "sample\tvalue\n" + "".join(f"s{i}\t{'ab'[i < 3]}\n" for i in range(N))
    )
    error = refused(config_of(folder, method="t-test", labels=str(tmp_path / "y.tsv")))
    assert "stability" in error.options
    assert "subset" in str(error.where)
    assert "of 4" in str(error.where)


def test_a_similarity_without_ids_is_that_of_one_with_them(folder, tmp_path):
    S = np.corrcoef(np.random.default_rng(0).normal(size=(N, 50))) + 1
    np.save(tmp_path / "s.npy", S)
    samples = pd.read_csv(folder / "x.csv", index_col=0).columns
    pd.DataFrame(S, samples, samples).to_csv(tmp_path / "s.csv", float_format="%.17g")
    found = []
    for name in ("s.npy", "s.csv"):
        given = {"similarity_file": str(tmp_path / name), "stability": "bootstrap"}
        found.append(rank(config_of(folder, method="spec", **given)).ranking)
    for name, column in found[0].extra.items():
        np.testing.assert_array_equal(column, found[1].extra[name])


@pytest.mark.parametrize("of", ["samples", "donors"])
def test_too_few_to_divide_are_refused(of, tmp_path):
    n = 3 if of == "samples" else 9
    write_table(tmp_path / "x.csv", np.random.default_rng(0).normal(size=(40, n)))
    column(tmp_path / "d.tsv", [f"d{i // 3}" for i in range(n)])
    donors = None if of == "samples" else str(tmp_path / "d.tsv")
    config = RankConfig(
        str(tmp_path / "x.csv"), "variance", stability="half", stability_subsets=4, donors=donors
    )
    error = refused(config)
    assert of in error.what
    assert "stability" in error.options
