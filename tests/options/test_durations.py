"""Amounts of time."""

from __future__ import annotations

import pytest

from sfs_cli.errors import UsageError
from sfs_cli.options.fields import parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("3600", 3600),
        ("0.5", 0.5),
        ("90m", 5400),
        ("2h", 7200),
        ("1h30m", 5400),
        ("1.5h", 5400),
        ("1d2h3m4s", 93_784),
        ("1:30:00", 5400),
        ("2-00:00:00", 172_800),
        ("1-01:01:01", 90_061),
        (" 10s ", 10),
    ],
)
def test_amounts_of_time_are_read_as_clusters_write_them(text, seconds):
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    "text", ["", " ", "soon", "0", "0s", "0:00:00", "-5", "1:30", "1:60:00", "2h 3x", "nan", "inf"]
)
def test_what_is_no_amount_of_time_is_refused(text):
    with pytest.raises(UsageError, match="--time-limit") as caught:
        parse_duration(text)
    assert "90m" in str(caught.value.hint)
