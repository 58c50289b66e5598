"""The parts of the fuzzer by themselves: damage that can be repeated, faults that are seen."""

from __future__ import annotations

import pickle
from random import Random

import numpy as np
import pytest

from tools.fuzz.mutations import mutate, mutations_of
from tools.fuzz.oracle import OK, REFUSED, judge, parse
from tools.fuzz.readers import readings
from tools.fuzz.runner import Ended, digests
from tools.fuzz.seeds import COMPANIONS
from tools.fuzz.study import FEATURES, values

CSV = COMPANIONS["clean.csv"]


@pytest.mark.parametrize(
    "mutation", sorted(set(mutations_of("m.csv", CSV)), key=lambda m: m.__name__)
)
def test_each_mutation_can_be_repeated_and_changes_the_file(mutation):
    made = [[mutation(CSV, Random(i)) for i in range(20)] for _ in range(2)]
    assert made[0] == made[1]
    assert any(changed not in (None, CSV) for changed in made[0])


def test_a_series_damages_each_file_in_its_own_way():
    made = {mutate("m.csv", CSV, Random(i), [])[0] for i in range(50)}
    assert len(made) > 45


def test_an_independent_reader_reads_what_was_written(tmp_path):
    (tmp_path / "m.csv").write_bytes(CSV)
    found, why = readings("text", tmp_path / "m.csv")
    assert not why
    assert found[0].features == FEATURES
    np.testing.assert_array_equal(found[0].values, values())


def ended(**facts: object) -> Ended:
    usual = {"code": 0, "stopped": "", "seconds": 0.1, "above": 0, "step": 0, "out": "", "err": ""}
    return Ended(**(usual | {"fault": ""} | facts))


REFUSAL = "error: it is damaged\n  where: m.csv\n  to do: write it again\n"
TRACE = 'Traceback (most recent call):\n  File "/x/sfs_cli/io/a.py", line 7, in read\nKeyError: 1\n'


@pytest.mark.parametrize(
    ("facts", "kinds"),
    [
        ({"code": 3, "err": REFUSAL}, []),
        ({"code": 3, "err": ""}, ["messages"]),
        ({"code": 3, "err": REFUSAL + "\x1b[31m"}, ["control"]),
        ({"code": 1, "err": TRACE}, ["exit 1"]),
        ({"code": 3, "err": REFUSAL + TRACE}, ["traceback"]),
        ({"code": 137, "err": REFUSAL}, ["exit 137"]),
        ({"code": -11}, ["signal 11"]),
        ({"code": -9, "stopped": "time"}, ["time"]),
        ({"code": 0, "out": "rank\tfeature\tscore\tstatus\n1\tg\tinf\tok\n"}, ["result"]),
        ({"code": 0, "out": "rank\tfeature\tscore\tstatus\n1\tg\t2\tok\n"}, ["wrong result"]),
    ],
)
def test_each_fault_is_seen(facts, kinds, tmp_path):
    (tmp_path / "work").mkdir()
    (tmp_path / "tmp").mkdir()
    (tmp_path / "work" / "m.csv").write_bytes(CSV)
    (tmp_path / "before").write_bytes(pickle.dumps(digests(tmp_path / "work")))
    steps = [["rank", "m.csv", "--method", "variance"]]
    found = judge(tmp_path, steps, ended(**facts), REFUSED, "variance", "text", None)
    assert [fault.kind for fault in found] == kinds
    if facts["code"] == 1:
        assert found[0].cause == "KeyError in io/a.py:7 read"


def test_a_changed_input_and_a_file_left_behind_are_seen(tmp_path):
    (tmp_path / "work").mkdir()
    (tmp_path / "tmp").mkdir()
    (tmp_path / "work" / "m.csv").write_bytes(CSV)
    (tmp_path / "before").write_bytes(pickle.dumps(digests(tmp_path / "work")))
    (tmp_path / "work" / "m.csv").write_bytes(b"")
    (tmp_path / "work" / "out").mkdir()
    found = judge(tmp_path, [["rank"]], ended(code=3, err=REFUSAL), REFUSED, "valid", "", None)
    assert [fault.kind for fault in found] == ["input changed", "left behind"]


def test_rankings_that_are_cut_off_are_no_tables():
    assert isinstance(parse(b"rank\tfeature\tscore\tstatus\n1\tg\t2\tok"), str)
    assert OK in REFUSED
