"""Results that are there already, and lists, rankings and plans that cannot be gone on from."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

from sfs_cli.cli.app import run
from tests.making_commands import (
    AB,
    BAD,
    EXISTS,
    USAGE,
    Bad,
    Make,
    bad,
    built_store,
    folder_of_things,
    good,
    h5ad,
    labels,
    raw,
    table,
    text,
    values,
)


def ranked(folder: Path, *options: str) -> str:
    """Rank a good matrix; return the folder of the result."""
    assert run(["rank", good(folder), *options, "--out", str(folder / "ranked"), "-q"]) == 0
    return str(folder / "ranked")


def ranking(letter: str) -> str:
    """Return a list of five features as another program writes it."""
    return "gene\trank\n" + "".join(f"{letter}{i}\t{i}\n" for i in range(1, 6))


def planned(folder: Path) -> str:
    """Make a good plan of two shards."""
    plan = str(folder / "plan")
    assert run(["shard", "init", plan, good(folder), *SPEC, "--shards", "2", "-q"]) == 0
    return plan


SPEC = ("--method", "spec", "--similarity", "rbf")
TIMES = "sample\ttime\tdead\n" + "".join(f"s{i}\t{i}\t{int(i < 3)}\n" for i in range(1, 7))
PAIRS = "sample\tpair\n" + "".join(f"s{i}\tp{i % 3}\n" for i in range(1, 7))

FILES: dict[str, Callable[[Path], str]] = {
    "MATRIX": good,
    "OTHER-MATRIX": lambda f: text(f, table(values(), [f"ENSG{i}" for i in range(9)]), "other.csv"),
    "LABELS": lambda f: labels(f, AB),
    "FOUR-AND-TWO": lambda f: labels(f, [*"aaaabb"]),
    "NUMBERS": lambda f: labels(f, [*"123456"]),
    "TIMES": lambda f: text(f, TIMES, "times.tsv") + ":time",
    "PAIRS": lambda f: text(f, PAIRS, "pairs.tsv") + ":pair",
    "LIST": lambda f: text(f, ranking("gene"), "list.tsv"),
    "OTHER-LIST": lambda f: text(f, ranking("ENSG"), "others.tsv"),
    "GENES": lambda f: text(f, "ENSG1\nENSG2\n", "genes.txt"),
    "SETS": lambda f: text(f, "one\t\tENSG1\tENSG2\n", "sets.gmt"),
    "TESTED": lambda f: ranked(f, "--method", "f-test", "--labels", labels(f, AB)),
    "VARIANCES": lambda f: ranked(f, "--method", "variance"),
    "THINGS": lambda f: str(folder_of_things(f)),
    "PLAN": planned,
    "FILE": lambda f: text(f, "x", "plain"),
    "OUT": lambda f: str(f / "out"),
}
"""What the words of a command stand for."""


def words_of(*words: str) -> Make:
    """Return what makes the files that words stand for."""

    def make(folder: Path) -> list[str]:
        made: dict[str, str] = {}
        for word in words:
            if word in FILES and word not in made:
                made[word] = FILES[word](folder)
        return [made.get(word, word) for word in words]

    return make


# ---------------------------------------------------------------------------- outputs


def below_a_file(folder: Path) -> str:
    return text(folder, "x", "plain") + "/deep"


def dangling(folder: Path) -> str:
    (folder / "link").symlink_to("nowhere")
    return str(folder / "link")


def copy_onto_another(folder: Path) -> list[str]:
    path = h5ad(folder)
    shutil.copy(path, folder / "copy.h5ad")
    return ["rank", path, "--write-h5ad", str(folder / "copy.h5ad")]


def copy_onto_itself(folder: Path) -> list[str]:
    path = h5ad(folder)
    return ["rank", path, "--write-h5ad", path, "--force"]


def store_of_other_data(folder: Path) -> list[str]:
    path = built_store(folder)
    return ["convert", text(folder, table(values() + 1), "other.csv"), str(path)]


OUTPUTS = [
    bad(
        "--out: the result of other options",
        lambda f: ["rank", good(f), "--method", "spec,ranking=phi1", "--out", ranked(f)],
        "ranked",
        "--force",
        EXISTS,
    ),
    bad("--out: a file", words_of("rank", "MATRIX", "--out", "FILE"), "plain", "is a file"),
    bad(
        "--out: below a file",
        lambda f: ["rank", good(f), "--out", below_a_file(f)],
        "plain/deep",
        "--out; not a directory|file",
    ),
    bad(
        "--out: a link to nowhere",
        lambda f: ["rank", good(f), "--out", dangling(f)],
        "link",
        "--out; does not exist",
    ),
    bad("--write-h5ad: another file", copy_onto_another, "copy.h5ad", "--force", EXISTS),
    bad("--write-h5ad: the input", copy_onto_itself, "m.h5ad", "input", USAGE),
    bad(
        "convert: onto a file",
        words_of("convert", "MATRIX", "FILE"),
        "plain",
        "exists; another name",
        EXISTS,
    ),
    bad("convert: onto another store", store_of_other_data, "m.store", "exists; --force", EXISTS),
    bad(
        "convert: of a store",
        lambda f: ["convert", str(built_store(f)), str(f / "x")],
        "m.store",
        "store already",
        USAGE,
    ),
]

# ---------------------------------------------------------------------------- sfs aggregate


def listed(id: str, content: str, words: str, *options: str, name: str = "bad.tsv") -> Bad:
    """Return a row for the aggregation of a good ranking and one of this content."""

    def make(folder: Path) -> list[str]:
        return ["aggregate", FILES["LIST"](folder), text(folder, content, name), *options]

    return bad(f"ranking: {id}", make, name, words)


def aggregated(folder: Path) -> list[str]:
    """Aggregate; return the same command with another option."""
    command = ["aggregate", FILES["LIST"](folder), FILES["OTHER-LIST"](folder)]
    command += ["--out", str(folder / "out")]
    assert run([*command, "-q"]) == 0
    return [*command, "--how", "median"]


TWO = ("aggregate", "LIST", "OTHER-LIST")

RANKINGS = [
    bad("ranking: a folder without one", words_of(*TWO, "THINGS"), "things", "holds no ranking"),
    bad(
        "ranking: HDF5",
        lambda f: [*words_of(*TWO)(f), raw(f, b"\x89HDF\r\n\x1a\n" + bytes(64), "bad.h5")],
        "bad.h5",
        "hdf5; tsv or csv",
    ),
    listed("a feature twice", "gene\trank\na\t1\n\nb\t2\na\t3\n", "line 5; 'a'; twice; line 2"),
    listed("a word", "gene\trank\na\t1\nb\tsecond\n", "line 3, column 'rank'; 'second'"),
    listed("a decimal comma", "gene\tscore\na\t1,5\nb\t2\n", "line 2; '1,5'"),
    listed("no rank at all", "gene\trank\na\tNA\nb\tNA\n", "no feature has a"),
    listed("a ragged row", "gene\trank\na\t1\nb\t2\t3\n", "line 3; 3 fields; 2 are expected"),
    listed("two columns of numbers", "gene\tt\tz\na\t2\t1\nb\t1\t2\n", "t, z; FILE:COLUMN"),
    listed("no column of features", "u\tv\n1\t2\n3\t4\n", "u, v; --feature-column"),
    listed("scores alone", "score\n2.5\n0.5\n", "only one column; feature"),
    listed("three columns of rnk", "a\t1\tx\n", "line 1; 3 fields", name="bad.rnk"),
    listed("JSON that is cut off", '[{"gene": "a", ', "json; cut off", name="bad.json"),
    bad(
        "--feature-column: unknown",
        words_of(*TWO, "--feature-column", "gen"),
        "'gen'",
        "list.tsv; did you mean gene",
    ),
    bad("one ranking to aggregate", words_of("aggregate", "LIST"), "one ranking", "two", USAGE),
    bad("--how: unknown", words_of(*TWO, "--how", "bordo"), "--how", "did you mean borda", USAGE),
    bad(
        "--list-weights: one too many",
        words_of(*TWO, "--list-weights", "1,2,3"),
        "--list-weights",
        "3 numbers for 2 tables",
        USAGE,
    ),
    bad("aggregate --out: of other options", aggregated, "out", "--force", EXISTS),
]

# ---------------------------------------------------------------------------- sfs select

SELECTIONS = [
    bad("no rule", words_of("select", "TESTED", "-q"), "--top N", "exactly one; --cv", USAGE),
    bad(
        "two rules",
        words_of("select", "TESTED", "--top", "3", "--cv"),
        "--top",
        "--cv; exactly one",
        USAGE,
    ),
    bad(
        "a top beyond the ranking",
        words_of("select", "TESTED", "--top", "10"),
        "--top 10",
        "9 ranked features",
    ),
    bad(
        "a rate without q-values",
        words_of("select", "VARIANCES", "--fdr", "0.1"),
        "q_value",
        "--fdr; variance; --top",
    ),
    bad(
        "frequencies of a ranking without",
        words_of("select", "TESTED", "--stable", "0.6"),
        "frequency",
        "--stability",
    ),
    bad("folds of a list", words_of("select", "LIST", "--cv"), "--cv", "run.json; list.tsv"),
    bad(
        "folds of a ranking without labels",
        words_of("select", "VARIANCES", "--cv"),
        "--labels",
        "--cv",
        USAGE,
    ),
    bad(
        "the ranking of another matrix",
        words_of("select", "TESTED", "--cv", "--matrix", "OTHER-MATRIX"),
        "other.csv",
        "--matrix; another matrix",
    ),
    bad(
        "a cut matrix over the matrix",
        words_of("select", "TESTED", "--top", "3", "--write-matrix", "MATRIX", "--force"),
        "--write-matrix",
        "replace an input",
        USAGE,
    ),
    bad(
        "a cut matrix of another format",
        words_of("select", "TESTED", "--top", "3", "--write-matrix", "x.h5ad"),
        "--write-matrix",
        "format text; .csv",
        USAGE,
    ),
    bad(
        "a folder without a ranking",
        words_of("select", "THINGS", "--top", "3"),
        "things",
        "holds no ranking",
    ),
    bad("no result", words_of("select", "no-such", "--top", "3"), "no-such", "no such"),
]

# ---------------------------------------------------------------------------- evaluate, compare


def evaluated(id: str, words: str, *options: str, name: str, code: int = BAD) -> Bad:
    """Return a row for the evaluation of a good matrix."""
    return bad(id, words_of("evaluate", "MATRIX", *options), name, words, code)


EVALUATIONS = [
    evaluated(
        "a class smaller than the number of folds",
        "b (2); give --splits 2",
        *("--labels", "FOUR-AND-TWO", "--splits", "3"),
        name="--splits",
    ),
    evaluated(
        "times without events for the folds",
        "--splits 3 is too large; with an event",
        *("--labels", "TIMES", "--event", "dead", "--method", "cox", "--splits", "3"),
        name="times.tsv",
    ),
    evaluated(
        "times of a method that needs classes",
        "t-test; classes",
        *("--labels", "TIMES", "--event", "dead", "--method", "t-test"),
        name="--event",
        code=USAGE,
    ),
    evaluated(
        "pairs that folds separate",
        "no training sample; --donors",
        *("--labels", "LABELS", "--method", "f-test", "--splits", "3", "--block", "PAIRS"),
        name="--block",
    ),
    evaluated(
        "lengths beyond the features", "9 features", "--lengths", "5,10", name="--lengths 10"
    ),
    evaluated(
        "lengths beyond what a method selects",
        "3 features; --select",
        *("--method", "mrsf", "--select", "3", "--lengths", "4"),
        name="--lengths 4",
    ),
    evaluated(
        "a list of another matrix",
        "none of 5 ids; ensg1; gene1",
        "--list",
        "OTHER-LIST",
        name="--list",
    ),
    evaluated(
        "known features of other ids", "none of 2 ids", "--drivers", "GENES", name="--drivers"
    ),
    evaluated(
        "sets of other ids",
        "none of 2 ids; gene1",
        *("--sets", "SETS", "--out", "OUT"),
        name="--sets",
    ),
    bad(
        "nothing to compare",
        words_of("compare", "MATRIX"),
        "nothing to compare",
        "--ranking-of; --list",
        USAGE,
    ),
    bad(
        "an unknown option of a ranking",
        words_of("compare", "MATRIX", "--ranking-of", "a=--method spec --similarty rbf"),
        "ranking a",
        "--similarty; did you mean --similarity",
        USAGE,
    ),
]

# ---------------------------------------------------------------------------- sfs shard


def plan_of(content: str | dict[str, object]) -> Make:
    """Return what runs a shard of a plan that is other text, or holds other facts."""

    def make(folder: Path) -> list[str]:
        path = Path(planned(folder)) / "plan.json"
        if isinstance(content, dict):
            path.write_text(json.dumps(json.loads(path.read_text()) | content))
        else:
            path.write_text(content)
        return ["shard", "run", str(path.parent), "1"]

    return make


SHARDS = [
    bad(
        "shard init: no number of shards",
        words_of("shard", "init", "OUT", "MATRIX"),
        "--shards",
        "missing option",
        USAGE,
    ),
    bad(
        "shard init: a method without passes",
        words_of(
            *("shard", "init", "OUT", "MATRIX", "--method", "mrsf", "--similarity", "label"),
            *("--labels", "LABELS", "--shards", "2"),
        ),
        "--method mrsf",
        "sfs rank",
        USAGE,
    ),
    bad(
        "shard init: onto a folder",
        words_of("shard", "init", "THINGS", "MATRIX", "--shards", "2"),
        "things",
        "not the plan; another name",
        EXISTS,
    ),
    bad("shard run: no plan", words_of("shard", "run", "THINGS", "1"), "things", "shard init"),
    bad("shard run: a broken plan", plan_of("{"), "plan.json", "cannot be read; init"),
    bad(
        "shard run: a plan of a later version",
        plan_of({"versions": {"sfs": "9"}}),
        "plan.json",
        "9; init",
    ),
    bad(
        "shard run: shard 3 of 2",
        words_of("shard", "run", "PLAN", "3"),
        "shard 3",
        "2 shards; 1 to 2",
        USAGE,
    ),
    bad(
        "shard run: another number of shards",
        words_of("shard", "run", "PLAN", "1-of-3"),
        "1-of-3",
        "2 shards",
        USAGE,
    ),
    bad(
        "shard merge: no output",
        words_of("shard", "merge", "PLAN"),
        "--out",
        "missing option",
        USAGE,
    ),
]

RESULTS = [*OUTPUTS, *RANKINGS, *SELECTIONS, *EVALUATIONS, *SHARDS]
