"""``NAME,KEY=VALUE,...``: the rule, its refusals, and that texts, mappings and files agree."""

from __future__ import annotations

import json
import shlex
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfs_cli.catalog import METHODS
from sfs_cli.errors import ConflictError, InputError, UsageError
from sfs_cli.options import RankConfig, fields
from sfs_cli.options.compare import CompareConfig, parse_ranking
from sfs_cli.options.fields import Option, options_of, split_word
from sfs_cli.options.files import load, written
from sfs_cli.options.grammar import NAME, expanded, hosts, joined, parameters, split, text_of
from sfs_cli.options.graph import GRAPHS
from sfs_cli.options.parts import SUBSETS, others
from sfs_cli.options.source import WEIGHTINGS, parse_sources
from sfs_cli.workflow.methods import NAMED
from tests.making import write_labels, write_table
from tests.running import run_here

# ---- the rule ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "name", "pairs"),
    [
        ("spec", "spec", []),
        ("msfs,then=gdcov,gamma=heat:1", "msfs", [("then", "gdcov"), ("gamma", "heat:1")]),
        ("x,transform=cpm,log1p,k=2", "x", [("transform", "cpm,log1p"), ("k", "2")]),
        ("a,b.csv", "a,b.csv", []),
        ("a,B=1", "a,B=1", []),
        ("a,1k=1", "a,1k=1", []),
        ("a, k=1", "a, k=1", []),
        ("a=b", "a=b", []),
        ("a,k=b=c", "a", [("k", "b=c")]),
        ("a,k=", "a", [("k", "")]),
        ("2,1,0.5,normalize=frobenius", "2,1,0.5", [("normalize", "frobenius")]),
        ("knn,edge_weights=binary", "knn", [("edge-weights", "binary")]),
    ],
)
def test_a_comma_begins_a_parameter_before_a_key_alone(
    text: str, name: str, pairs: list[tuple[str, str]]
) -> None:
    assert split(text) == (name, pairs)


@pytest.mark.parametrize(
    ("option", "text", "found"),
    [
        ("method", "spec,gamma_power=2", {"method": "spec", "gamma_power": 2}),
        ("similarity", "knn,neighbors=1e1", {"similarity": "knn", "neighbors": 10}),
        ("similarity", "file:a,b.csv", {"similarity": None, "similarity_file": "a,b.csv"}),
        ("weights", "naml,lambda=0.5,clusters=3", {"fusion_lambda": 0.5, "fusion_clusters": 3}),
        ("stability", "bootstrap,subsets=9,top=4", {"stability_subsets": 9, "stability_top": 4}),
        ("stability", "50", {"stability": "50"}),
        ("label_type", "ordered,order=c,a,b", {"label_type": "ordered", "label_order": "c,a,b"}),
    ],
)
def test_parameters_are_options_of_a_configuration(
    option: str, text: str, found: dict[str, Any]
) -> None:
    made = expanded(RankConfig, {option: text})
    assert made.items() >= found.items()


def test_a_number_alone_is_that_of_halves() -> None:
    config = RankConfig("x.csv", **expanded(RankConfig, {"stability": "50"}))
    assert (config.stability, config.stability_subsets) == ("half", 50)


# ---- refusals ----------------------------------------------------------------------------------

REFUSED = [
    ("method", "spec,rankin=phi3", "unknown parameter 'rankin' of --method spec", "ranking"),
    ("weights", "rkda,lamda=1", "unknown parameter 'lamda' of --weights rkda", "lambda"),
    ("method", "f-test,ranking=phi3", "unknown parameter 'ranking' of --method f-test", ""),
    ("method", "msfs,then=hsic,gamma=exp", "unknown parameter 'gamma' of --method msfs", ""),
    ("similarity", "rbf,neighbors=3", "unknown parameter 'neighbors' of --similarity rbf", ""),
    ("pvalues", "permutation,draw=99", "unknown parameter 'draw' of --pvalues", "draws"),
    ("method", "spec,gamma-power=2,gamma_power=3", "gamma-power= of --method is given twice", ""),
    ("method", "spec,ranking=", "ranking= of --method has no value", ""),
    ("similarity", "knn,neighbors=2.5", "'2.5' of --similarity is not a whole number", ""),
    ("similarity", "diffusion,beta=much", "beta='much' of --similarity is not a number", ""),
]
"""Options, their texts, what is said of them, and the key that is near."""


@pytest.mark.parametrize(("option", "text", "what", "near"), REFUSED)
def test_what_is_no_parameter_is_refused(option: str, text: str, what: str, near: str) -> None:
    with pytest.raises(UsageError) as caught:
        expanded(RankConfig, {option: text})
    assert what in caught.value.what
    assert f"did you mean {near}" in caught.value.hint if near else caught.value.hint


@pytest.mark.parametrize(
    ("option", "text", "what", "hint"),
    [
        ("method", ",ranking=phi3", "--method: the name is missing", "NAME,KEY=VALUE"),
        ("weights", "rdka,foo=1", "unknown value 'rdka' of --weights", "did you mean rkda"),
        ("method", "spec, ranking=phi3", "value 'spec, ranking=phi3' of", "without blanks"),
        ("similarity", "knn,Neighbors=5", "value 'knn,Neighbors=5' of", "in lower case"),
        ("label_type", "ordered,low,high", "value 'ordered,low,high' of", "NAME,KEY=VALUE"),
    ],
)
def test_a_wrong_name_is_said_before_its_parameters(
    option: str, text: str, what: str, hint: str
) -> None:
    with pytest.raises(UsageError) as caught:
        expanded(RankConfig, {option: text})
    assert what in caught.value.what
    assert hint in caught.value.hint


def test_what_a_name_takes_is_said() -> None:
    """Of MSFS and KOGS with the parameters of the methods that they name."""
    said = {
        "f-test": "it takes none",
        "mrmr,select=3": "it is an option of its own: --select",
        "spec,neighbors=3": "neighbors= is of --method relieff, --similarity knn, knn-corr",
        "spec,draws=99": "draws= is of --pvalues",
        "l21": "choose from lambda, response, response-rank, budget",
        "msfs,then=gdcov": "choose from gamma, definition, then",
        "kogs,members=rfs,relieff": "choose from gamma, neighbors, then, how, members",
    }
    for text, hint in said.items():
        with pytest.raises(UsageError) as caught:
            expanded(RankConfig, {"method": f"{text},x=1"})
        assert hint in caught.value.hint


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("spec,clusters=1", "clusters=1 of --method spec is too small"),
        ("spec,gamma=inverse", "unknown value 'inverse' of gamma= of --method spec"),
        ("rfs,gamma=power", "gamma='power' of --method is not a number"),
        ("l21,lambda=0", "lambda=0 of --method l21 is not a positive number"),
        ("sselect,lambda=1.5", "lambda=1.5 of --method sselect is too large"),
        ("msfs,then=gdcov,gamma=exp", "unknown value 'exp' of gamma= of --method gdcov"),
        (
            "kogs,members=spec,qalpha,ranking=phi3,clusters=1",
            "clusters=1 of --method spec is too small",
        ),
    ],
)
def test_a_value_is_one_of_those_that_the_method_declares(text: str, what: str) -> None:
    with pytest.raises(UsageError) as caught:
        RankConfig("x.csv", labels="y.tsv", **expanded(RankConfig, {"method": text}))
    assert caught.value.what == what


@pytest.mark.parametrize(
    ("text", "taken"),
    [(" 3", True), ("3 ", True), ("+.5", True), (" 0 ", False), ("0e5", False), (" -1", False)],
)
def test_blanks_change_no_number(text: str, taken: bool) -> None:
    assert fields.FORMS["NUMBER"].admits(text) is taken


# ---- all parameters of all names ---------------------------------------------------------------

NAMES: dict[str, tuple[str, ...]] = {
    "method": tuple(METHODS),
    "similarity": (*GRAPHS, "obsp:S", "obsm:X_pca", "file:sub/S,1.csv"),
    "weights": (*WEIGHTINGS, "2,1,0.5"),
    "stability": tuple(SUBSETS),
    "pvalues": ("moments", "permutation"),
    "label_type": ("classes", "continuous", "ordered"),
}
FORMS = {"NUMBER": "2.5", "T": "0.25", "COUNT": "12", "KEY": "key", "PATH": "p.csv"}


def test_no_two_parameters_of_an_option_have_one_key() -> None:
    """Those of ``then=`` stand in the list of MSFS and KOGS."""
    for host in hosts(RankConfig):
        keys = [o.parameter for o in options_of(RankConfig) if o.of == host]
        assert len(keys) == len({*keys})


def of_name(host: str, name: str) -> dict[str, Option]:
    """Return the parameters that a name takes, by their keys; those of members have none."""
    known = parameters(RankConfig, host)
    if host in NAMED:
        own = NAMED[host].parameters_of(name) if name in NAMED[host].table else {}
        return {o.parameter: o for o in own.values() if o.of}
    takers = {"pvalues": "permutation", "label_type": "ordered"}
    return known if takers.get(host, name) == name else {}


def words_of(o: Option) -> list[str]:
    """Return the words that a parameter takes, and values in its forms."""
    starts = ((word, split_word(word)[0]) for word in o.words)
    return [start + FORMS.get(word.removeprefix(start), "") for word, start in starts]


def values_of(o: Option) -> st.SearchStrategy[str]:
    """Return texts of values of a parameter that are within its bounds."""
    if o.name == "members":
        return st.lists(st.sampled_from(o.words), min_size=2, max_size=4, unique=True).map(",".join)
    if o.words:
        return st.sampled_from(words_of(o))
    if o.type is int:
        return st.integers(int(o.least or 1), int(o.most or 9999)).map(str)
    if o.type is float:
        least = 1e-3 if o.above is not None or o.least is None else o.least
        return st.floats(least, o.most or 1e3).map(repr)
    return st.sampled_from(["low,mid,high", "b,a", "1,10,2"])


@st.composite
def texts(draw: st.DrawFn) -> tuple[str, str]:
    """Return an option, and a name with some of its parameters in some order."""
    host = draw(st.sampled_from(sorted(NAMES)))
    name = draw(st.sampled_from(NAMES[host]))
    known = of_name(host, name)
    keys = draw(st.lists(st.sampled_from(sorted(known)), unique=True)) if known else []
    pairs = [f"{key}={draw(values_of(known[key]))}" for key in keys]
    return host, ",".join([name, *pairs])


def test_every_option_with_parameters_is_drawn() -> None:
    assert set(NAMES) == set(hosts(RankConfig))
    drawn = {
        o.name for host, names in NAMES.items() for n in names for o in of_name(host, n).values()
    }
    files = {o.name for o in options_of(RankConfig) if o.begins}
    assert drawn | files == {o.name for o in options_of(RankConfig) if o.of}


@settings(max_examples=120, deadline=None)
@given(texts())
def test_what_is_written_is_read_as_it_was(asked: tuple[str, str]) -> None:
    host, text = asked
    found = expanded(RankConfig, {host: text})
    key = host.replace("_", "-")
    kept = written(found)
    assert set(kept) == {key}  # one option, with its parameters
    assert stated(expanded(RankConfig, {host: kept[key]})) == stated(found)
    again = json.loads(json.dumps(kept))[key]
    assert stated(expanded(RankConfig, {host: again})) == stated(found)
    assert stated(expanded(RankConfig, {host: text_of(kept[key])})) == stated(found)
    name, pairs = split(text)
    mapping = {NAME: name, **dict(pairs)}
    assert expanded(RankConfig, {host: mapping}) == found
    assert joined(RankConfig, expanded(RankConfig, joined(RankConfig, found))) == joined(
        RankConfig, found
    )


def stated(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


DECLARED = [
    (host, name, o)
    for host, each in NAMED.items()
    for name in each.table
    for o in each.parameters_of(name).values()
    if o.of
]


@pytest.mark.parametrize(
    ("host", "name", "o"), DECLARED, ids=lambda value: getattr(value, "parameter", value)
)
def test_defaults_words_and_ends_of_bounds_are_taken_and_nothing_beyond(
    host: str, name: str, o: Option
) -> None:
    default = None if o.default in (None, ()) else str(o.default)
    ends = [o.type(end) for end in (o.least, o.most) if end is not None]
    beyond = ["no-such-word", *(str(end) for end in (o.above, o.below) if end is not None)]
    beyond += [str(end + (1 if end == o.most else -1)) for end in ends]
    given = {"labels": "y.tsv"}
    if host == "weights":
        given["source"] = parse_sources(["a=target:", "b=profile:m.csv"])
    for text in (*([default] if default else []), *map(str, ends), *words_of(o)):
        found = expanded(RankConfig, {host: f"{name},{o.parameter}={text}"})
        with suppress(ConflictError):  # which is about other options
            config = RankConfig("x.csv", **found, **given)
            if host == "method" and text == default and not config.members:
                assert config.method_options() == METHODS[config.scorer].options
    for text in beyond:
        with pytest.raises(UsageError) as caught:
            RankConfig(
                "x.csv", **expanded(RankConfig, {host: f"{name},{o.parameter}={text}"}), **given
            )
        assert not isinstance(caught.value, ConflictError), text


# ---- files -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("method: {name: spec, rankin: phi3}", "unknown parameter 'rankin' of --method spec"),
        ("method: {name: spec, ranking: }", "ranking of method has no value"),
        (
            "method: {name: spec, clusters: [2, 3]}",
            "clusters='2,3' of --method is not a",
        ),
        ("method: {spec,ranking=phi3}", "cut the text at its comma, before ranking=phi3"),
        (
            "method: {name: kogs, members: [spec,ranking=phi3, fisher]}",
            "members of method: a list or mapping has cut the text",
        ),
        (
            "method: {name: kogs, members: [{name: spec,ranking=phi3}, fisher]}",
            "cut the text at its comma, before ranking=phi3",
        ),
        ("method: {name: kogs, members: [{name: rfs, gamma: }]}", "gamma of members of method has"),
        ("weights: [2, 1, normalize=frobenius]", "comma, before normalize=frobenius"),
        ("source: ['a=target:', b=profile:x.csv,rows=samples]", "comma, before rows=samples"),
        ("source: {a: {profile:x.csv,rows=samples}}", "comma, before rows=samples"),
    ],
)
def test_what_is_wrong_in_a_file_names_its_line(read: Any, text: str, what: str) -> None:
    with pytest.raises((InputError, UsageError)) as caught:
        read(f"seed: 1\n{text}\n")
    assert what in caught.value.what
    assert str(caught.value.where).startswith("run.yaml, line 2")


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a matrix, a similarity, coordinates and labels, where the commands run."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    write_table(tmp_path / "m.csv", rng.random((12, 12)))
    S = np.corrcoef(rng.random((12, 20))) + 1
    write_table(tmp_path / "S.csv", S, [f"s{i}" for i in range(12)])
    rows = (f"s{i},{x},{y}\n" for i, (x, y) in enumerate(rng.random((12, 2))))
    (tmp_path / "xy.csv").write_text(f"sample,x,y\n{''.join(rows)}")
    write_labels(tmp_path / "y.tsv", ["a", "b", "c"] * 4)
    return tmp_path


def command_on_page(out: Path) -> str:
    return json.loads((out / "page.json").read_text())["command"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("similarity: {name: null, neighbors: 3}", "--similarity knn-correlation,neighbors=3"),
        ("method: {name: null, ranking: phi1}", "--method spec,ranking=phi1"),
        (
            "source: {own: 'target:'}\nmethod: msfs\nweights: {name: null, normalize: frobenius}",
            "--weights uniform,normalize=frobenius",
        ),
    ],
)
def test_the_page_names_what_parameters_alone_are_of(
    options: str, words: str, study: Path, capfd
) -> None:
    (study / "run.yaml").write_text(f"matrix: m.csv\n{options}\n")
    done = run_here(["rank", "--config", "run.yaml", "--out", "out"], capfd)
    assert done.code == 0, done.err
    command = command_on_page(study / "out")
    assert words in command
    again = run_here([*shlex.split(command)[1:-1], "again"], capfd)
    assert again.code == 0, again.err
    tables = [(study / out / "ranking.tsv").read_bytes() for out in ("out", "again")]
    assert tables[0] == tables[1]


@pytest.mark.parametrize(
    "options",
    [
        "method: msfs\nsource: ['a=target:', {name: b, kind: profile, path: 'a,k=2'}]",
        "similarity: {name: 'file:S,k=2'}",
        "method: {name: kogs, members: [{name: spec, gamma_power: 2}, spec, variance]}",
    ],
)
def test_what_has_no_text_is_repeated_by_the_record(options: str, study: Path, capfd) -> None:
    """Paths in which a parameter would begin, and members with parameters of their own."""
    (study / "S,k=2").write_bytes((study / "S.csv").read_bytes())
    write_table(study / "a,k=2", np.random.default_rng(1).random((8, 12)))
    (study / "run.yaml").write_text(f"matrix: m.csv\n{options}\n")
    done = run_here(["rank", "--config", "run.yaml", "--out", "out"], capfd)
    assert done.code == 0, done.err
    assert command_on_page(study / "out") == "sfs rank --config run.json --out results"
    assert "in run.json, in the folder of this page" in (study / "out" / "report.html").read_text()
    done = run_here(["rank", "--config", "out/run.json", "--out", "again"], capfd)
    assert done.code == 0, done.err
    tables = [(study / out / "ranking.tsv").read_bytes() for out in ("out", "again")]
    assert tables[0] == tables[1]


# ---- members of KOGS ---------------------------------------------------------------------------


def test_members_may_be_texts_mappings_and_names(read: Any) -> None:
    texts = ("spec,ranking=phi1,gamma-power=2", "fisher", "rfs,gamma=0.5")
    first = {"name": "spec", "gamma_power": 2, "ranking": "phi1"}
    for members in (texts, [first, "fisher", {"name": "rfs", "gamma": 0.5}]):
        found = expanded(RankConfig, {"method": {"name": "kogs", "members": members}})
        assert found["members"] == texts
    of_file = read({"method": {"name": "kogs", "members": [first, *texts[1:]]}}, "run.json")
    assert of_file.options["members"] == texts
    config = RankConfig("x.csv", labels="y.tsv", **found)
    options = [each.method_options() for each in config.each_ranking()]
    assert (options[0]["ranking"], options[0]["gamma_power"]) == ("phi1", 2)
    assert options[2]["gamma"] == 0.5
    assert written(found)["method"]["members"][1:] == ["fisher", {"name": "rfs", "gamma": "0.5"}]


def test_parameters_in_the_list_are_those_of_members_without_their_own() -> None:
    members = [{"name": "spec", "ranking": "phi1"}, "spec", "variance"]
    asked = {"method": {"name": "kogs", "ranking": "phi3", "members": members}}
    config = RankConfig("x.csv", **expanded(RankConfig, asked))
    assert [each.ranking for each in config.each_ranking()] == ["phi1", "phi3", None]


@pytest.mark.parametrize(
    ("members", "what"),
    [
        (["spec", "variance", "spec"], "rank twice in the same way: spec, spec"),
        (
            ["spec", {"name": "spec", "ranking": "phi2"}],
            "twice in the same way: spec, spec,ranking",
        ),
        ([{"name": "spec", "rankin": "phi1"}, "variance"], "unknown parameter 'rankin' of"),
        ([{"name": "kogs"}, "variance"], "unknown value 'kogs' of members= of --method kogs"),
    ],
)
def test_members_that_cannot_be_meant_are_refused(members: list[Any], what: str) -> None:
    asked = {"method": {"name": "kogs", "members": members}}
    with pytest.raises(UsageError) as caught:
        RankConfig("x.csv", **expanded(RankConfig, asked))
    assert what in caught.value.what


@pytest.mark.parametrize(
    "words",
    [
        ("--method", "spec,ranking=phi3,clusters=2", "--similarity", "rbf,bandwidth=2.50"),
        ("--similarity", "file:S.csv", "--method", "spec", "--pvalues", "permutation,draws=20"),
        (
            "--method",
            "msfs,then=gdcov,gamma=heat:1",
            "--source",
            "a=target:",
            "--source",
            "b=profile:m.csv,transform=log1p",
            "--weights",
            "2,1,normalize=frobenius",
        ),
        ("--method", "f-test", "--labels", "y.tsv", "--label-type", "ordered,order=b,a,c"),
    ],
    ids=lambda words: words[1],
)
def test_the_record_of_a_run_repeats_it(
    words: tuple[str, ...], study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd
) -> None:
    done = run_here(["rank", "m.csv", *words, "--out", "out"], capfd)
    assert done.code == 0, done.err
    assert "up to date" in run_here(["rank", "m.csv", *words, "--out", "out"], capfd).err
    again = run_here(["rank", "--config", "out/run.json", "--out", "out"], capfd)
    assert "up to date" in again.err
    given = {option.name for option in options_of(RankConfig) if option.of}
    config = json.loads((tmp_path / "out" / "run.json").read_text())["config"]
    assert not given & {key.replace("-", "_") for key in config}
    monkeypatch.chdir("/")
    assert load(tmp_path / "out" / "run.json").options["matrix"] == f"{tmp_path}/m.csv"


def test_a_source_may_have_the_name_of_an_option(read: Any) -> None:
    found = read("source:\n  - rows=profile:x.csv,rows=samples\n  - 'similarity=target:'\n")
    assert [each.name for each in found.options["source"]] == ["rows", "similarity"]


def test_methods_of_compare_have_parameters() -> None:
    """Of `--method`, which is repeated, and inside of `--ranking-of`."""
    own = parse_ranking("rbf=--method spec,ranking=phi3 --similarity rbf,bandwidth=2")
    texts = ("spec,ranking=phi1", "variance")
    made = CompareConfig("x.csv", labels="y.tsv", method_=texts, ranking_of=(own,)).rankings
    assert list(made) == [*texts, "rbf"]
    assert [each.ranking for each in made.values()] == ["phi1", None, "phi3"]
    assert (made["rbf"].similarity, made["rbf"].bandwidth) == ("rbf", "2")


def test_neighbors_of_relieff_are_not_those_of_a_graph() -> None:
    texts = {"method": "kogs,members=relieff,spec,neighbors=3", "similarity": "knn,neighbors=15"}
    config = RankConfig("x.csv", labels="y.tsv", **expanded(RankConfig, texts))
    relieff, spec = config.each_ranking()
    assert relieff.method_options()["relieff_neighbors"] == 3
    assert relieff.neighbors is None
    assert spec.graph_options("knn").neighbors == 15
    with pytest.raises(UsageError, match="unknown parameter 'neighbors' of --method spec"):
        RankConfig("x.csv", **expanded(RankConfig, {"method": "spec,neighbors=3"}))


def test_parameters_are_of_the_method_that_they_stand_with() -> None:
    text = {"method": "gdcov,gamma=inverse,definition=1"}
    config = RankConfig("x.csv", also=("gdcov-spca",), **expanded(RankConfig, text))
    (other,) = others(config)
    assert (other.method_options()["gamma"], other.method_options()["definition"]) == (
        METHODS["gdcov-spca"].options["gamma"],
        METHODS["gdcov-spca"].options["definition"],
    )
    RankConfig("x.csv", also=("spec",), **expanded(RankConfig, {"method": "qalpha,clusters=3"}))


def test_what_goes_with_a_parameter_is_what_its_method_says() -> None:
    """`clusters` of SPEC is for phi3; members of KOGS check their own."""
    for text in ("qalpha,clusters=3", "kogs,members=qalpha,variance,clusters=3"):
        RankConfig("x.csv", **expanded(RankConfig, {"method": text}))
    for text in ("spec,clusters=3", "kogs,members=spec,variance,clusters=3"):
        with pytest.raises(ConflictError, match="no effect without ranking=phi3"):
            RankConfig("x.csv", **expanded(RankConfig, {"method": text}))


@pytest.mark.parametrize(
    ("option", "text", "what", "hint"),
    [
        *(
            ("method", f"gdcov,gamma={word}", f"unknown value {word!r} of gamma=", "T above 0")
            for word in ("heat:x", "heat:0", "heat:inf")
        ),
        ("method", "spec,clusters=3", "no effect without ranking=phi3", "or give ranking=phi3"),
        ("method", "qalpha,power=3", "without variant=power, variant=", "or give variant=power,"),
        ("method", "l21,lambda=1,budget=2", "budget= of --method does not go with lambda=", "one"),
        ("method", "l21", "--method l21 needs one of lambda= and budget=", "give the penalty"),
        ("pvalues", "moments,draws=99", "without --pvalues permutation", "or give --pvalues perm"),
    ],
)
def test_what_is_said_of_parameters_can_be_done(
    option: str, text: str, what: str, hint: str
) -> None:
    asked = {"method": "spec"} | {option: text}
    with pytest.raises(UsageError) as caught:
        RankConfig("x.csv", **expanded(RankConfig, asked))
    assert what in caught.value.what
    assert hint in caught.value.hint


def test_names_without_parameters_say_so() -> None:
    with pytest.raises(UsageError, match="unknown value 'ranking=phi3' of --also") as caught:
        RankConfig("x.csv", also=("spec", "ranking=phi3"))
    assert "leave out KEY=VALUE" in caught.value.hint


def test_the_beginning_of_a_name_is_no_parameter() -> None:
    with pytest.raises(UsageError, match="unknown parameter 'file' of --similarity knn") as caught:
        expanded(RankConfig, {"similarity": "knn,file=S.csv"})
    assert "file:" not in caught.value.hint


def test_a_file_without_a_path_is_refused() -> None:
    with pytest.raises(UsageError, match="has no value"):
        expanded(RankConfig, {"similarity": "file:"})


@pytest.mark.parametrize(
    ("text", "what", "hint"),
    [
        ("10,subsets=20", "--stability 10,subsets=20 has two numbers", "leave one out"),
        ("hlaf,subsets=20", "unknown value 'hlaf' of --stability", "did you mean half"),
        ("inf", "--stability inf is not a whole number", "such as 100"),
    ],
)
def test_what_is_no_number_of_subsets_is_refused(text: str, what: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        RankConfig("x.csv", **expanded(RankConfig, {"stability": text}))
    assert caught.value.what == what
    assert hint in caught.value.hint
