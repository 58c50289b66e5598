"""What could go wrong without a word: orientation by a profile, ties, weights half learned."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sfs_cli import RankConfig
from sfs_cli.errors import InputError
from sfs_cli.knowledge.weights import discriminant as naml
from sfs_cli.logs import Messages
from sfs_cli.options import parse_source
from sfs_cli.run import load
from sfs_cli.workflow.rank import rank

GENES = [f"GENE{i}" for i in range(40)]
SAMPLES = [f"S{i}" for i in range(12)]


def ranked(folder: Path, *sources: str, matrix: str = "m.csv", **options):
    parsed = tuple(parse_source(text) for text in sources)
    options = {"method": "msfs"} | options
    return rank(RankConfig(str(folder / matrix), source=parsed, **options)).ranking


@pytest.fixture
def study(tmp_path):
    """Genes in rows, and another measurement of the same genes with samples in rows."""
    rng = np.random.default_rng(4)
    values = pd.DataFrame(rng.normal(size=(40, 12)), GENES, SAMPLES)
    values.loc["GENE7"] = values.loc["GENE3"]
    values.loc["GENE30"] = values.loc["GENE3"]
    values.rename_axis("gene").to_csv(tmp_path / "m.csv")
    values.T.rename_axis("sample").to_csv(tmp_path / "m_samples.csv")
    other = pd.DataFrame(rng.normal(size=(12, 40)), SAMPLES, GENES)
    other.rename_axis("sample").to_csv(tmp_path / "p_samples.csv")
    other.T.rename_axis("gene").to_csv(tmp_path / "p.csv")
    return tmp_path


@pytest.mark.parametrize(("rows", "options"), [("", {"rows": "features"}), (",rows=samples", {})])
def test_a_profile_of_the_same_genes_does_not_turn_the_matrix(study, rows, options):
    found = ranked(study, f"p=profile:{study}/p_samples.csv{rows}", **options)
    assert set(found.feature) == set(GENES)
    expected = ranked(study, f"p=profile:{study}/p.csv,rows=features")
    assert list(found.feature) == list(expected.feature)


def test_a_profile_whose_columns_are_samples_for_certain_turns_the_matrix(study):
    source = f"p=profile:{study}/p.csv,rows=features"
    found = ranked(study, source, matrix="m_samples.csv")
    assert list(found.feature) == list(ranked(study, source).feature)


@pytest.mark.parametrize(
    ("matrix", "profile"), [("m.csv", "p_samples.csv"), ("m_samples.csv", "p.csv")]
)
def test_tables_that_are_each_the_other_way_round_are_refused(study, matrix, profile):
    """The two cases differ in the meaning of their ids alone."""
    with pytest.raises(InputError, match="look transposed relative to each other") as caught:
        ranked(study, f"p=profile:{study}/{profile}", matrix=matrix)
    assert "--rows samples" in str(caught.value.hint)


def test_a_matrix_whose_samples_are_in_rows_is_ranked_when_that_is_said(study):
    source = f"p=profile:{study}/p.csv"
    found = ranked(study, source, matrix="m_samples.csv", rows="samples")
    assert list(found.feature) == list(ranked(study, source).feature)


def test_equal_features_share_a_rank_in_every_list_of_kogs(study):
    found = ranked(study, "t=target:", f"p=profile:{study}/p.csv", method="kogs")
    table = pd.DataFrame(found.columns()).set_index("feature")
    same = table.loc[["GENE3", "GENE7", "GENE30"], ["score", "rank_t", "rank_p"]]
    assert (same.nunique() == 1).all()


def test_weights_that_have_not_converged_are_told_of(study, monkeypatch):
    monkeypatch.setattr(naml, "MAX_ROUNDS", 1)
    asked = ("t=target:", f"p=profile:{study}/p.csv")
    parsed = tuple(parse_source(text) for text in asked)
    config = RankConfig(str(study / "m.csv"), method="msfs", source=parsed, weights="naml")
    messages = Messages(verbosity=-1)
    rank(config, messages)
    assert any("--weights naml has not converged" in text for text in messages.warnings)


def test_genes_that_had_one_id_are_told_of_where_sources_name_genes(study):
    table = pd.read_csv(study / "m.csv")
    table.loc[5, "gene"] = "GENE4"
    table.to_csv(study / "twice.csv", index=False)
    (study / "genes.txt").write_text("\n".join(GENES[:20]) + "\n")
    messages = Messages(verbosity=-1)
    source = parse_source(f"g=genes:{study}/genes.txt")
    config = RankConfig(str(study / "twice.csv"), method="msfs", source=(source,))
    with load.loaded(config, messages):
        pass
    assert any("first feature of each id" in text for text in messages.warnings)
