"""Rankings that cannot be aggregated."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from sfs_cli.cli.app import run
from tests.making_commands import EXISTS, USAGE, Make, bad, folder_of_things, raw, text

RANKED = "gene\trank\n" + "".join(f"gene{i}\t{i}\n" for i in range(1, 6))
SCORED = "gene\tt\tz\n" + "".join(f"gene{i}\t{9 - i}\t{i}\n" for i in range(1, 6))


def with_good(content: str, *options: str, name: str = "bad.tsv") -> Make:
    """Return what aggregates a good ranking and one with this content."""

    def make(folder: Path) -> list[str]:
        return [
            "aggregate",
            text(folder, RANKED, "good.tsv"),
            text(folder, content, name),
            *options,
        ]

    return make


def two_good(*options: str) -> Make:
    return with_good(RANKED, *options, name="also.tsv")


def aggregated(folder: Path, *options: str) -> list[str]:
    """Aggregate into ``out``, and return the same command with other options."""
    command = [*two_good()(folder), "--out", str(folder / "out")]
    assert run([*command, "-q"]) == 0
    return [*command, *options]


def aggregated_then_changed(folder: Path) -> list[str]:
    command = aggregated(folder)
    text(folder, RANKED.replace("gene5\t5", "gene6\t5"), "good.tsv")
    return command


def parquet_twice(folder: Path) -> list[str]:
    table = pa.table({"gene": ["a", "b", "a"], "rank": [1, 2, 3]})
    pq.write_table(table, folder / "bad.parquet")
    return ["aggregate", text(folder, RANKED, "good.tsv"), str(folder / "bad.parquet")]


def not_a_table(folder: Path) -> list[str]:
    path = raw(folder, b"\x89HDF\r\n\x1a\n" + bytes(64), "bad.h5")
    return ["aggregate", text(folder, RANKED, "good.tsv"), path]


TABLES = [
    bad("ranking that is not there", lambda f: ["aggregate", "no.tsv", "x.tsv"], "no.tsv", "check"),
    bad(
        "ranking that is a folder",
        lambda f: ["aggregate", text(f, RANKED, "good.tsv"), str(folder_of_things(f))],
        "things",
        "folder",
    ),
    bad("ranking that is HDF5", not_a_table, "bad.h5", "hdf5; tsv or csv"),
    bad("ranking that is empty", with_good(""), "bad.tsv", "empty"),
    bad("ranking without rows", with_good("gene\trank\n"), "bad.tsv", "no rows"),
    bad(
        "feature ranked twice",
        with_good("gene\trank\na\t1\n\nb\t2\na\t3\n"),
        "bad.tsv, line 5",
        "'a'; twice; line 2; --feature-column",
    ),
    bad("feature twice in Parquet", parquet_twice, "bad.parquet, row 3", "'a'; twice; row 1"),
    bad("feature without a name", with_good("gene\trank\na\t1\n\t2\n"), "line 3", "no feature"),
    bad(
        "rank that is a word",
        with_good("gene\trank\na\t1\nb\tsecond\n"),
        "bad.tsv, line 3, column 'rank'",
        "'second'; not a number",
    ),
    bad("rank with a decimal comma", with_good("gene\tscore\na\t1,5\nb\t2\n"), "line 2", "'1,5'"),
    bad(
        "ranking of ours without a score",
        with_good("rank\tfeature\tscore\tstatus\n1\ta\t0\tconstant\n"),
        "bad.tsv",
        "no feature; score",
    ),
    bad("no rank at all", with_good("gene\trank\na\tNA\nb\tNA\n"), "bad.tsv", "no feature has a"),
    bad(
        "ragged ranking",
        with_good("gene\trank\na\t1\nb\t2\t3\n"),
        "bad.tsv, line 3",
        "3 fields; 2 are expected",
    ),
    bad(
        "two columns that could rank",
        with_good(SCORED),
        "bad.tsv",
        "not clear; t, z; --score-column",
    ),
    bad(
        "no column that could rank",
        with_good("gene\tkind\na\tx\nb\ty\n"),
        "bad.tsv",
        "not clear; no other has numbers; --rank-column",
    ),
    bad(
        "no column of features",
        with_good("u\tv\n1\t2\n3\t4\n"),
        "bad.tsv",
        "not clear; u, v; --feature-column",
    ),
    bad("scores alone", with_good("score\n2.5\n0.5\n"), "bad.tsv", "only one column; feature"),
    bad("name of a list alone", with_good("gene\n"), "bad.tsv", "only one column; feature"),
    bad("list with a gene twice", with_good("gene\na\nb\na\n"), "line 4", "'a'; twice; line 2"),
    bad(
        "folder without a ranking",
        lambda f: ["aggregate", text(f, RANKED, "good.tsv"), str(folder_of_things(f))],
        "things",
        "holds no ranking",
    ),
    bad("rnk with three columns", with_good("a\t1\tx\n", name="bad.rnk"), "line 1", "3 fields"),
    bad("rnk of comments", with_good("# none\n", name="bad.rnk"), "bad.rnk", "no rows"),
    bad("JSON cut off", with_good('[{"gene": "a", ', name="bad.json"), "bad.json", "json; cut off"),
    bad("JSON of something else", with_good('{"a": 1}', name="bad.json"), "bad.json", "records"),
    bad(
        "JSON records that differ",
        with_good('[{"gene": "a", "rank": 1}, {"gene": "b"}]', name="bad.json"),
        "record 2",
        "gene, rank",
    ),
    bad(
        "unknown --feature-column",
        with_good(RANKED, "--feature-column", "gen"),
        "'gen'",
        "good.tsv; did you mean gene",
    ),
    bad("unknown --rank-column", two_good("--rank-column", "rnk"), "--rank-column", "rank"),
    bad("unknown --score-column", two_good("--score-column", "t"), "--score-column", "no column"),
    bad(
        "--score-column of the features",
        two_good("--score-column", "gene"),
        "'gene'",
        "cannot rank; --feature-column",
    ),
]

OPTIONS = [
    bad("one ranking", lambda f: ["aggregate", text(f, RANKED)], "one ranking", "two", USAGE),
    bad("no ranking", lambda f: ["aggregate"], "RANKING", "missing argument", USAGE),
    bad("unknown --how", two_good("--how", "bordo"), "--how", "did you mean borda", USAGE),
    bad("unknown --order", two_good("--order", "largest"), "--order", "largest-first", USAGE),
    bad("unknown --format of it", two_good("--format", "xls"), "--format", "parquet", USAGE),
    bad("--top 0", two_good("--top", "0"), "--top", "1 or more", USAGE),
    bad(
        "--list-weights of words", two_good("--list-weights", "a,b"), "--list-weights", "2,1", USAGE
    ),
    bad(
        "too few --list-weights",
        two_good("--list-weights", "1,2,3"),
        "--list-weights",
        "3 numbers for 2 tables",
        USAGE,
    ),
    bad("negative weight", two_good("--list-weights", "1,-2"), "--list-weights", "-2", USAGE),
    bad(
        "weight that is no number",
        two_good("--list-weights", "1,nan"),
        "nan",
        "from 0",
        USAGE,
    ),
    bad("weights of zero", two_good("--list-weights", "0,0"), "--list-weights", "sum; zero", USAGE),
    bad(
        "rra with weights",
        two_good("--how", "rra", "--list-weights", "1,2"),
        "--list-weights",
        "rra; borda",
        USAGE,
    ),
    bad(
        "--order of ranks",
        two_good("--order", "smallest-first"),
        "--order",
        "no effect; --score-column",
        USAGE,
    ),
    bad(
        "--order with --rank-column",
        two_good("--order", "smallest-first", "--rank-column", "rank"),
        "--order",
        "no effect; --rank-column",
        USAGE,
    ),
    bad(
        "--rank-column and --score-column",
        two_good("--score-column", "rank", "--rank-column", "rank"),
        "--rank-column",
        "--score-column; one of them",
        USAGE,
    ),
    bad("aggregate --json alone", two_good("--json"), "--json", "--out", USAGE),
    bad(
        "aggregate --out holds another run",
        lambda f: aggregated(f, "--how", "median"),
        "out",
        "another run; ranking.tsv; --force",
        EXISTS,
    ),
    bad(
        "aggregate --out holds the run of other lists",
        aggregated_then_changed,
        "out",
        "another run; --force",
        EXISTS,
    ),
    bad(
        "aggregate --out is a file",
        lambda f: [*two_good()(f), "--out", text(f, "x", "plain")],
        "plain",
        "is a file",
    ),
    bad(
        "aggregate --out below a file",
        lambda f: [*two_good()(f), "--out", text(f, "x", "plain") + "/out"],
        "plain/out",
        "--out; not a directory|file",
    ),
]

RANKINGS = [*TABLES, *OPTIONS]
