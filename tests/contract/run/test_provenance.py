"""What is recorded of a run is JSON."""

from __future__ import annotations

import json

import numpy as np

from sfs_cli import provenance


def test_records_are_json_whatever_they_hold(tmp_path):
    text = provenance.dumps(
        {
            "a": np.float32(1.5),
            "b": np.array([1.0, np.nan, np.inf]),
            "c": (1, float("-inf")),
            3: tmp_path,
            "d": {"é": np.int64(2), "e": None, "f": True},
        }
    )
    assert json.loads(text) == {
        "a": 1.5,
        "b": [1.0, None, None],
        "c": [1, None],
        "3": str(tmp_path),
        "d": {"é": 2, "e": None, "f": True},
    }
