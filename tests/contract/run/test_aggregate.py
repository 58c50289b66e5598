"""What lists are called, and which columns rank them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import sfs_cli
from sfs_cli.errors import InputError
from sfs_cli.io.files.table import annotation_of, annotations_among
from sfs_cli.io.knowledge.edges import read_edges
from sfs_cli.io.matrix.base import ReadOptions, open_matrix
from sfs_cli.io.results.rankings import read_rank_table, usual_order
from sfs_cli.logs import Messages
from sfs_cli.options import RankConfig
from sfs_cli.options.aggregate import AggregateConfig
from sfs_cli.options.select import SelectConfig
from sfs_cli.workflow import aggregate, rank, select
from sfs_cli.workflow.lists import Source, list_names, read_lists
from tests.making import write_labels, write_table


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        (["a.tsv", "b.csv.gz", "c.d.parquet"], ["a", "b", "c.d"]),
        (["mirna/ranking.tsv", "mrna/ranking.parquet"], ["mirna", "mrna"]),
        (["x/a.tsv", "y/a.tsv", "a_2.tsv", "z/a.csv"], ["a", "a_2", "a_2_2", "a_3"]),
        (["x/ranking.tsv", "x/ranking.csv"], ["x", "x_2"]),
    ],
)
def test_lists_are_named_by_files_or_folders_and_apart(paths: list[str], names: list[str]) -> None:
    assert list_names([Source(Path(path), None) for path in paths]) == names


def test_a_ranking_in_the_working_folder_has_the_name_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert list_names([Source(Path("ranking.tsv"), None)]) == [tmp_path.name]


P_VALUES = (
    "pvalue p_value P.Value padj adj.P.Val q_value FDR pvals_adj p_val p_val_adj PValue svalue"
)
P_VALUES += (
    " pval_norm pval_norm_fdr_bh pval_z_sim p.adjust lfsr FWER pos|p-value pos|score Pr(>F) p"
    " Pr(>Chisq) wilcox_p moderated_q p_wald p_bh p_adj p_val q N_vs_T_padj log_rank_p logFC_padj"
    " log1p_padj rawp adjp BH TSBH_0.05 holm holm-sidak SidakSD BH.adjusted BY fdr_tsbh Prob>F"
    " ProbChiSq posterior_error_prob"
)
LOGARITHMS = (
    "-log10(p) neglog10pval log10_padj LogP -log10(adj.P.Val) minuslog10FDR -log10_combined_p"
    " pval.log10 FDR_log10"
)
SIGNED = (
    "t z stat NES coef beta logFC avg_log2FC log2FoldChange logfoldchanges t-value z_score weight"
)
SCORES = "score gain F n_p baseMean chi2 groups power quality"
P_OF_RANKS = "pval_signed_rank p_ranksum Signed-rank.P pval_log_rank P.logrank unsigned_p signedP"
NO_P_VALUES = (
    "pAUC p_auc pLI Q2 Q2cum P1 p_selected P(selected) inclusion_p p_de P(DE) p_gain p_score"
    " q_score Cochran_Q S-value pos_score neg_score PEP_count fdr_score 1-FDR"
    " 1-padj 1-p one_minus_p posterior_prob prob prob_signal sorted_by sd BHLHE40"
)
NO_RANKS = (
    "PageRank page_rank percentile_rank rank_pct RankPercentile reciprocal_rank inverse_rank 1/rank"
    " rank_weight rank_importance rank_score"
)


def test_the_name_of_a_column_says_which_of_its_values_are_the_best() -> None:
    p, large, both = np.array([1e-5, np.nan, 1.0]), np.array([0.0, 7.0]), np.array([-9.0, 2.0])
    for name in [*P_VALUES.split(), *P_OF_RANKS.split(), "NOM p-val", "FDR q-val", "Prob > |t|"]:
        assert usual_order(name, p) == ("smallest-first", ""), name
    for name in ("rank_relieff", "neg|rank"):
        assert usual_order(name, np.array([1.0, np.nan, 2.5])) == ("smallest-first", ""), name
    for name in f"{NO_P_VALUES} {NO_RANKS}".split():
        assert usual_order(name, p)[0] == "largest-first", name
        assert usual_order(name, large) == ("largest-first", ""), name
    for name in [*LOGARITHMS.split(), "-Log Student's T-test p-value A_B"]:
        assert usual_order(name, large) == ("largest-first", ""), name
        assert usual_order(name, -large) == ("smallest-first", ""), name
    for name in SIGNED.split():
        assert usual_order(name, both) == ("absolute", ""), name
        assert usual_order(name, large) == ("largest-first", ""), name
    for name in SCORES.split():
        assert usual_order(name, large) == ("largest-first", ""), name


@pytest.mark.parametrize(
    ("name", "values", "order", "said"),
    [
        ("padj", [0.1, 12.0], "smallest-first", "reach 12; the smallest"),
        ("P(selected)", [0.01, 0.9], "largest-first", "between 0 and 1 (0.01 to 0.9)"),
        ("p_signed", [-1.0, 1e-3], "", "p-values with a sign"),
        ("rank", [0.1, 2.0], "largest-first", "are no ranks"),
        ("Corrected p (Westfall)", [0.01, 0.9], "largest-first", "of p-values give --order"),
        ("p_effect", [0.01, 0.9], "largest-first", "of p-values give --order"),
        ("v", [-9.0, 2.0], "largest-first", "both signs (-9 to 2), and the largest"),
        ("v", [0.001, 0.9], "largest-first", "between 0 and 1 (0.001 to 0.9), and the largest"),
        ("FoldChange", [0.1, 8.0], "largest-first", "those below 1 are taken as the smallest"),
    ],
)
def test_what_a_column_leaves_open_is_said(
    name: str, values: list[float], order: str, said: str
) -> None:
    found, doubt = usual_order(name, np.array(values))
    assert found == order
    assert said in doubt


def test_p_values_with_a_sign_are_refused_but_where_an_order_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("gene,signed_p,signed_log10_p\nA,-0.9,0.05\nB,-0.001,3\nC,0.02,-1.7\n")

    def ranks(column: str, log: Messages, **options: str) -> list[float]:
        config = AggregateConfig((str(path),) * 2, **options)
        return read_lists([Source(path, column)], ["a"], config, log)[0].ranks.tolist()

    with pytest.raises(InputError, match="no order has the best of them first") as e:
        ranks("signed_p", Messages(-1))
    assert ranks("signed_log10_p", Messages(-1)) == [3, 1, 2]  # the second, by what is proposed
    assert "-log10 of them with the signs" in e.value.hint
    assert ranks("signed_p", log := Messages(-1), order="absolute") == [1, 3, 2]
    assert "no order has the best of them first" in log.warnings[0]


def test_p_values_of_lists_of_one_matrix_are_warned_of_and_again(tmp_path: Path) -> None:
    rng, lists = np.random.default_rng(0), {}
    labels = write_labels(tmp_path / "y.tsv", ["a", "b"] * 8)
    for matrix in "xz":
        write_table(tmp_path / f"{matrix}.csv", rng.normal(size=(60, 16)))
    for matrix, method in (("x", "f-test"), ("x", "relieff"), ("z", "relieff")):
        out = tmp_path / f"{matrix}-{method}"
        given = {"labels": labels, "out": str(out)}
        rank.run(RankConfig(str(tmp_path / f"{matrix}.csv"), method, **given), Messages(-1))
        lists[matrix, method] = str(out / "ranking.tsv")

    def warned(*rankings: str, how: str = "rra") -> tuple[bool, bool | None]:
        log, out = Messages(-1), tmp_path / "out"
        config = AggregateConfig(rankings, how=how, out=str(out), force=True)
        aggregate.run(config, log)
        record = json.loads((out / "run.json").read_text())
        told = "null features agree" in "".join(log.warnings)
        assert told == ("null features agree" in (out / "report.html").read_text())
        if how == "rra":
            again = Messages(-1)
            select.run(SelectConfig(str(out), fdr=0.5), again)
            assert told == ("null features agree" in "".join(again.warnings))
        return told, record["of_one_matrix"]

    assert warned(lists["x", "f-test"], lists["x", "relieff"]) == (True, True)
    assert warned(lists["x", "f-test"], lists["z", "relieff"]) == (False, False)
    assert warned(lists["x", "f-test"], lists["x", "relieff"], how="borda") == (False, True)
    copied = tmp_path / "copied.tsv"
    copied.write_bytes(Path(lists["x", "f-test"]).read_bytes())
    assert warned(lists["x", "relieff"], str(copied)) == (False, None)


def test_lines_of_a_damaged_json_file_are_no_ids(tmp_path: Path) -> None:
    lines = "TP53\nMYC\n"
    (tmp_path / "a.json").write_text(lines)
    with pytest.raises(InputError, match="the JSON cannot be read"):
        read_rank_table(tmp_path / "a.json")
    (tmp_path / "a.txt").write_text(lines)
    assert read_rank_table(tmp_path / "a.txt").rows


def test_names_of_genes_that_look_like_numbers_are_ids(tmp_path: Path) -> None:
    names = ["2310009E13", "7157", "nan"]
    (tmp_path / "a.txt").write_text("\n".join(names))
    assert read_rank_table(tmp_path / "a.txt").columns["feature"] == names
    (tmp_path / "b.txt").write_text("1e-5\n3e+4\n")
    with pytest.raises(InputError, match="one column"):
        read_rank_table(tmp_path / "b.txt")


def test_a_clinical_table_is_no_ranking(tmp_path: Path) -> None:
    rows = "".join(f"p{i},{i},{i % 3},{i % 2}\n" for i in range(1, 9))
    (tmp_path / "m.csv").write_text("patient,rank,score,status\n" + rows)
    open_matrix(tmp_path / "m.csv", ReadOptions()).close()


def test_an_order_for_several_lists_is_checked_against_each(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("gene,padj,logFC\na,0.01,-9\nb,0.5,1\nc,1,2\n")
    both = [Source(tmp_path / "a.csv", column) for column in ("padj", "logFC")]

    def read(sources: list[Source], order: str) -> tuple[list[str], int]:
        log = Messages(-1)
        found = read_lists(sources, ["x", "y"], AggregateConfig(("x", "y"), order=order), log)
        return [each.order for each in found], len(log.warnings)

    assert read(both, "absolute") == (["smallest-first", "absolute"], 0)
    assert read(both, "smallest-first") == (["smallest-first", "smallest-first"], 1)
    assert read(both[:1], "absolute") == (["absolute"], 0)
    assert read(both[1:], "smallest-first") == (["smallest-first"], 0)


def test_a_series_is_ordered_by_its_name() -> None:
    genes = ["a", "b", "c"]
    given = pd.DataFrame({"log2FoldChange": [-9.0, 2, 1], "padj": [1e-9, 0.5, 1]}, index=genes)
    found = sfs_cli.aggregate([given["log2FoldChange"], given["padj"]])
    assert list(found.get("feature", found.index)) == genes


@pytest.mark.parametrize(
    ("name", "surely"),
    [("gamma-S-Val", False), ("E-Val", False), ("Eval", False), ("pvaladj", True)],
)
def test_names_of_samples_are_no_p_values(name: str, surely: bool) -> None:
    assert (annotation_of(name) == "sure") == surely


def test_a_sample_may_be_called_as_its_like_and_a_p_value() -> None:
    assert annotations_among(["P-Val", "P-Leu", "P-Ile", "padj"]) == ["maybe", "", "", "sure"]
    assert annotations_among(["P-Val", "P-1", "s1", "P.Value"]) == ["sure", "", "", "sure"]


def test_large_values_named_as_p_values_are_scores_of_edges(tmp_path: Path) -> None:
    (tmp_path / "e.tsv").write_text("gene_a\tgene_b\tpval\ng1\tg2\t0.5\ng1\tg3\t7\n")
    assert read_edges(tmp_path / "e.tsv").score.tolist() == [0.5, 7]
