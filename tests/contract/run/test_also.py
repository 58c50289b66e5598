"""``--also``: ranks by other methods beside the ranking, and the default of labelled samples."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from sfs_cli import RankConfig
from sfs_cli.errors import UsageError
from sfs_cli.options.source import parse_sources
from tests.cli.shard_study import make_study, sfs


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_study(tmp_path_factory.mktemp("also"))


def table(folder: Path, *words: object) -> pd.DataFrame:
    """The ranking of a command, by feature."""
    out = folder / "_".join(map(str, words[1:])).replace("/", "-").replace("-", "")[-80:]
    sfs("rank", folder / "m.csv", *words, "--out", out)
    return pd.read_csv(out / "ranking.tsv", sep="\t", index_col="feature")


@pytest.mark.parametrize(
    ("also", "alone"),
    [
        ("relieff", ["--method", "relieff"]),
        ("mrsf-rounds", ["--method", "mrsf-rounds,response=lda"]),
        ("spec", ["--similarity", "rbf", "--method", "spec"]),
    ],
)
def test_the_ranks_are_those_of_the_method_alone(also: str, alone: list[str], study: Path) -> None:
    labels = ["--labels", study / "labels.tsv"]
    graph = alone[:-2] if "--similarity" in alone else []
    both = table(study, *labels, *graph, "--method", "f-test", "--also", also)
    test, other = table(study, *labels, "--method", "f-test"), table(study, *labels, *alone)
    pd.testing.assert_frame_equal(both.drop(columns=f"rank_{also}"), test)
    ranked = other["rank"].where(other["score"].notna()).groupby(other["score"]).transform("mean")
    expected = ranked if also not in ("mrsf-rounds",) else other["rank"].where(ranked.notna())
    pd.testing.assert_series_equal(
        both[f"rank_{also}"], expected[both.index], check_names=False, check_dtype=False
    )


def test_a_method_without_defaults_is_not_ranked_beside() -> None:
    with pytest.raises(UsageError, match="unknown value 'l21' of --also") as caught:
        RankConfig("m.csv", also=("l21",), method="variance")
    assert "did you mean mrsf" in caught.value.hint


def test_labels_alone_are_tested_with_the_order_of_mrsf_beside(study: Path) -> None:
    chosen = RankConfig("m.csv", labels="l.tsv").for_samples(60)
    assert (chosen.method, chosen.also) == ("f-test", ("mrsf-rounds",))
    assert RankConfig("m.csv", labels="l.tsv").for_samples(10_001).also == ()
    assert RankConfig("m.csv", labels="l.tsv", also=("none",)).for_samples(60).also == ("none",)
    assert RankConfig("m.csv", labels="l.tsv", batch="b.tsv:b").for_samples(60).also == ()
    several = RankConfig("m.csv", labels="l.tsv").for_samples(60, 3)
    assert (several.method, several.response, several.also) == ("mrsf-rounds", "lda", ())
    tested = RankConfig("m.csv", labels="l.tsv", moderate="trend").for_samples(60, 3)
    assert tested.method == "f-test"
    times = RankConfig("m.csv", labels="l.tsv:t", event="died").for_samples(60)
    assert (times.method, times.also) == ("cox", ("mrsf-rounds",))
    asked = RankConfig("m.csv", labels="l.tsv", select=20).for_samples(60)
    assert (asked.method, asked.response, asked.also) == ("mrsf-rounds", "lda", ())
    two = study / "two.tsv"
    two.write_text((study / "labels.tsv").read_text().replace("lung", "skin"))
    assert {"p_value", "direction", "rank_mrsf-rounds"} <= set(table(study, "--labels", two))
    assert "lambda" in table(study, "--labels", study / "labels.tsv")


def test_what_depends_on_the_default_method_is_checked_once_it_is_known() -> None:
    labelled = RankConfig("m.csv", labels="l.tsv", also=("f-test",))
    assert labelled.for_samples(60, 3).also == ("f-test",)
    assert "--also has no effect" in labelled.for_samples(60).left_out
    started = RankConfig("m.csv", labels="l.tsv", given_="chosen.txt")
    assert started.for_samples(60).method == "mrsf-rounds"
    assert "--given has no effect with --method f-test" in started.for_samples(10_001).left_out


def test_what_does_not_go_together() -> None:
    with pytest.raises(UsageError, match="beside none"):
        RankConfig("m.csv", labels="l.tsv", method="f-test", also=("none", "spec"))
    with pytest.raises(UsageError, match="--labels"):
        RankConfig("m.csv", method="spec", also=("relieff",))
    with pytest.raises(UsageError, match="batch"):
        RankConfig("m.csv", method="spec", also=("variance",), batch="b.tsv:b")
    with pytest.raises(UsageError, match="--source"):
        RankConfig("m.csv", method="spec", also=("variance",), source=parse_sources(["x=target:"]))
