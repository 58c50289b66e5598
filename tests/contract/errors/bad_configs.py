"""Configuration files that cannot be used."""

from __future__ import annotations

from tests.making_commands import BAD, USAGE, Bad, Make, bad, good, text


def config(content: str, name: str = "run.yaml", *more: str) -> Make:
    """Return what ranks a good matrix by a file of this content."""
    return lambda f: ["rank", good(f), "--config", text(f, content, name), *more]


def refused(id: str, content: str, words: str, name: str = "run.yaml", code: int = BAD) -> Bad:
    return bad(f"config: {id}", config(content, name), name, words, code)


CONFIGS = [
    bad(
        "config: no such file",
        lambda f: ["rank", good(f), "--config", str(f / "run.yaml")],
        "run.yaml",
        "no such file; check the path",
    ),
    bad("config: a folder", lambda f: ["rank", "--config", str(f)], "files", "suffix; .yaml"),
    bad("config: the matrix", lambda f: ["rank", "--config", good(f)], "good.csv", "suffix; .yaml"),
    refused("empty", "", "empty"),
    refused("not UTF-16", "\u0000m", "line 1"),
    refused("YAML that does not parse", "digits: 3\nmembers: [spec\n", "line 3; column 1"),
    refused("TOML that does not parse", "digits = \n", "line 1; column 10", "run.toml"),
    refused("JSON that does not parse", '{\n"digits": }', "line 2; column 11", "run.json"),
    refused("a list", "- digits\n", "a list"),
    refused("unknown key", "digits: 3\nneighbours: 3\n", "neighbours; line 2; did you mean neigh"),
    refused("underscore for dash", "use_raw: true\n", "use_raw; did you mean use-raw"),
    refused("key twice", "digits: 3\nseed: 1\ndigits: 4\n", "'digits'; lines 1 and 3"),
    refused("key twice in JSON", '{"digits": 3, "digits": 4}', "'digits'; twice", "run.json"),
    refused("key twice in TOML", "digits = 3\ndigits = 4\n", "overwrite; line 2", "run.toml"),
    refused("text for a number", "digits: three\n", "digits; 'three'; whole number; line 1"),
    refused("half a neighbour", "similarity: knn\nneighbors: 2.5\n", "2.5; whole; line 2"),
    refused("yes for true", "use-raw: yes\n", "use-raw; 'yes'; write true or false"),
    refused("truth for text", "labels: true\n", "labels; true; in quotes"),
    refused("a date for text", "layer = 2024-01-31\n", "layer; date; in quotes", "run.toml"),
    refused("nothing", "digits:\n", "digits; no value; line 1"),
    refused(
        "unknown key of a source", "source:\n  m:\n    kind: target\n    pth: x\n", "'pth'; m; path"
    ),
    refused("a source without quotes", "source:\n  - m=target:\n", "mapping; in quotes; line 2"),
    refused("a tag", "matrix: !!python/name:os.system x\n", "tag; line 1"),
    refused("unknown method", "method: fischer\n", "fisher; line 1", code=USAGE),
    refused("out of range", "seed: 1\ndigits: 99\n", "99; 17 or less; line 2", code=USAGE),
    refused("no effect", "neighbors: 3\nsimilarity: rbf\n", "no effect; line 1", code=USAGE),
    refused(
        "a bad source", "source:\n  m: {kind: profil}\n", "profil; line 2; source m", code=USAGE
    ),
    refused("lacks labels", "method: fisher\n", "needs --labels; line 1", code=USAGE),
    bad(
        "config: flags against the file",
        config("similarity: rbf\n", "run.yaml", "--neighbors", "3"),
        "run.yaml",
        "no effect; line 1",
        USAGE,
    ),
    bad(
        "config: neither names a matrix",
        lambda f: ["rank", "--config", text(f, "digits: 3\n", "run.yaml")],
        "MATRIX",
        "missing argument; --config",
        USAGE,
    ),
    bad(
        "config check: a file that is not there",
        lambda f: ["config", "check", text(f, "digits: 3\nmatrix: no.csv\n", "run.yaml")],
        "run.yaml",
        "no.csv; line 2; relative",
    ),
    bad(
        "config check: a source that is not there",
        lambda f: [
            "config",
            "check",
            text(f, f"matrix: {good(f)}\nsource:\n  m:\n    profile:no.csv\n", "run.yaml"),
        ],
        "run.yaml",
        "no.csv; line 3; source.m",
    ),
    bad("config: unknown verb", lambda f: ["config", "chek"], "chek", "check", USAGE),
    bad("config check: no file", lambda f: ["config", "check"], "FILE", "missing", USAGE),
]
