"""Reports to look at: a usual one and one that means harm."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sfs_cli.report.model import ReportData, Table

HOSTILE = ("<script>alert('x')</script>", "\"quoted' & <b>", "遺伝子-α", "N" * 5000, "{{ 7 * 7 }}")


@pytest.fixture
def usual() -> ReportData:
    scores = np.sort(np.random.default_rng(0).gamma(2.0, size=1990))[::-1]
    top = [
        {
            "rank": i + 1,
            "feature": f"GENE{i}",
            "score": s,
            "status": "ok",
            "p_value": 10.0 ** (i - 60),
        }
        for i, s in enumerate(scores[:50])
    ]
    return ReportData(
        title="expression.parquet",
        method="SPEC phi3",
        how="A good feature follows the groups that the samples form.",
        larger_is_better=True,
        scores=scores,
        n_features=2000,
        n_unscored=10,
        reasons={"constant": 7, "zero": 3},
        top=top,
        facts=[("What was read", [("samples", "62"), ("features", "2,000")])],
        command="sfs rank expression.parquet --method spec --out results",
        version="1.2.3",
        reference="Zhao and Liu 2007, ICML. doi:10.1145/1273496.1273641.",
        downloads=[("ranking.tsv", "the whole ranking"), ("run.json", "how it was made")],
    )


@pytest.fixture
def hostile(usual: ReportData) -> ReportData:
    evil = HOSTILE[0]
    table = Table(heading=evil, note=evil, columns=[evil] * 3, rows=[[evil] * 3], shade=1.0)
    scores = np.array([1e12, 2.5, 1e-300, 0.0, -3e11])
    top = [
        {"rank": i + 1, "feature": name, "score": s, "note": None if i else evil}
        for i, (name, s) in enumerate(zip(HOSTILE, scores))
    ]
    return replace(
        usual,
        title=evil,
        method=evil,
        how=evil,
        scores=scores,
        n_features=6,
        n_unscored=1,
        reasons={evil: 1},
        top=top,
        facts=[(evil, [(evil, evil)])],
        tables=[table, table],
        warnings=[evil],
        command=f"sfs rank {evil}",
        version=evil,
        reference=f"{evil} doi:10.1000/<script>",
        downloads=[('"><script>.tsv', evil), ("javascript:alert(1)", evil)],
    )
