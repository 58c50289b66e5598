"""Pages to look at: a usual one and one that means harm."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sfs_cli.report.model import Page, Part, Table, arranged, table_part

HOSTILE = ("<script>alert('x')</script>", "\"quoted' & <b>", "遺伝子-α", "N" * 5000, "{{ 7 * 7 }}")


def curve(*scores: float) -> Part:
    facts = {"ranks": [*range(1, len(scores) + 1)], "scores": scores, "log": False}
    facts["larger_is_better"] = True
    return Part(heading="Score against rank", figure="score-curve", facts=facts)


def best(*rows: tuple[object, ...]) -> Part:
    grid = arranged(("rank", "feature", "score", "p_value"), rows)
    return Part(heading="The best", grid=grid, of_best=True)


@pytest.fixture
def usual() -> Page:
    scores = np.sort(np.random.default_rng(0).gamma(2.0, size=50))[::-1].tolist()
    rows = [(i + 1, f"GENE{i}", s, 10.0 ** (i - 60)) for i, s in enumerate(scores)]
    return Page(
        kicker="Feature ranking",
        title="expression.parquet",
        method="SPEC phi3",
        summary=["All were ranked."],
        parts=[best(*rows), curve(*scores)],
        facts=[("What was read", [("samples", "62"), ("features", "2,000")])],
        command="sfs rank expression.parquet --method spec --out results",
        version="1.2.3",
        reference="Zhao and Liu 2007, ICML. doi:10.1145/1273496.1273641.",
        files=[("ranking.tsv", "the whole ranking"), ("run.json", "how it was made")],
    )


@pytest.fixture
def hostile(usual: Page) -> Page:
    evil = HOSTILE[0]
    table = Table(heading=evil, note=evil, columns=[evil] * 3, rows=[[evil] * 3], shade=1.0)
    scores = (1e12, 2.5, 1e-300, 0.0, -3e11)
    rows = [(i + 1, *each, None if i else evil) for i, each in enumerate(zip(HOSTILE, scores))]
    return replace(
        usual,
        title=evil,
        method=evil,
        summary=[evil, evil],
        parts=[best(*rows), curve(*scores), table_part(table), table_part(table)],
        facts=[(evil, [(evil, evil)])],
        warnings=[evil],
        command=f"sfs rank {evil}",
        version=evil,
        reference=f"{evil} doi:10.1000/<script>",
        files=[('"><script>.tsv', evil), ("javascript:alert(1)", evil)],
    )
