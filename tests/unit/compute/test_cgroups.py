"""The limits of the control groups of a process, as the kernel shows them, and those of Slurm."""

from __future__ import annotations

from pathlib import Path

import pytest

from sfs_cli.compute import memory
from sfs_cli.compute.memory import memory_left, processor_limits


def write_tree(root: Path, groups: str, files: dict[str, str]) -> Path:
    for name, text in {"proc/self/cgroup": groups, **files}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


JOB = "sys/fs/cgroup/system.slice/slurmstepd.scope/job_7"
MEMORY = "sys/fs/cgroup/memory"


@pytest.mark.parametrize(
    ("groups", "files", "expected"),
    [
        ("", {}, []),
        ("0::/\n", {"sys/fs/cgroup/memory.max": "max\n"}, []),
        (
            "0::/system.slice/slurmstepd.scope/job_7/step_0\n",
            {f"{JOB}/memory.max": "900\n", f"{JOB}/step_0/memory.max": "max\n"},
            [900],
        ),
        ("0::/user\n", {"sys/fs/cgroup/unified/user/memory.max": "70\n"}, [70]),
        (
            "5:cpu,cpuacct:/a\n4:memory:/slurm/job_7\n0::/\n",
            {
                f"{MEMORY}/slurm/job_7/memory.limit_in_bytes": "600\n",
                f"{MEMORY}/slurm/memory.limit_in_bytes": "9223372036854771712\n",
                f"{MEMORY}/a/memory.limit_in_bytes": "1\n",
            },
            [600],
        ),
        # used already, but for files that the kernel may drop
        (
            "0::/job\n",
            {
                "sys/fs/cgroup/job/memory.max": "1000\n",
                "sys/fs/cgroup/job/memory.current": "700\n",
                "sys/fs/cgroup/job/memory.stat": "anon 400\nfile 300\ninactive_file 200\n",
                "sys/fs/cgroup/memory.max": "2000\n",
                "sys/fs/cgroup/memory.current": "1900\n",
                "sys/fs/cgroup/memory.stat": "anon 1500\ninactive_file 0\n",
            },
            [100],
        ),
        (
            "4:memory:/job\n",
            {
                f"{MEMORY}/job/memory.limit_in_bytes": "600\n",
                f"{MEMORY}/job/memory.usage_in_bytes": "500\n",
                f"{MEMORY}/job/memory.stat": "inactive_file 1\ntotal_inactive_file 50\n",
            },
            [150],
        ),
        # a container, whose own group is not where the host has it
        ("4:memory:/docker/abc\n", {f"{MEMORY}/memory.limit_in_bytes": "50\n"}, [50]),
        (
            "0::/../other\n",
            {"sys/fs/cgroup/memory.max": "8\n", "sys/fs/other/memory.max": "1"},
            [8],
        ),
    ],
)
def test_the_least_memory_that_is_left_is_found(groups, files, expected, tmp_path):
    found = memory_left(write_tree(tmp_path, groups, files))
    assert ([min(found)] if found else []) == expected


@pytest.mark.parametrize(
    ("groups", "files", "expected"),
    [
        ("", {}, []),
        ("0::/\n", {"sys/fs/cgroup/cpu.max": "max 100000\n"}, []),
        ("0::/\n", {"sys/fs/cgroup/cpu.max": "nonsense"}, []),
        ("0::/a/b\n", {"sys/fs/cgroup/a/cpu.max": "150000 100000\n"}, [2]),
        (
            "3:cpu,cpuacct:/a\n",
            {
                "sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us": "400000\n",
                "sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us": "100000\n",
                "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "-1\n",
                "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n",
            },
            [4],
        ),
    ],
)
def test_groups_may_have_less_than_the_processors_of_the_machine(groups, files, expected, tmp_path):
    assert processor_limits(write_tree(tmp_path, groups, files)) == expected


SLURM = ("MEM_PER_NODE", "MEM_PER_CPU", "CPUS_ON_NODE", "CPUS_PER_TASK")


@pytest.mark.parametrize(
    ("given", "mib"),
    [
        ({"MEM_PER_NODE": "512"}, 512),
        ({"MEM_PER_CPU": "100"}, 100),
        ({"MEM_PER_CPU": "100", "CPUS_PER_TASK": "4"}, 400),
        ({"MEM_PER_CPU": "100", "CPUS_ON_NODE": "3", "CPUS_PER_TASK": "4"}, 300),
        ({"MEM_PER_NODE": "0"}, None),
        ({"MEM_PER_NODE": "many"}, None),
    ],
)
def test_a_job_of_slurm_has_the_memory_that_it_has_asked_for(given, mib, monkeypatch):
    for name in SLURM:
        monkeypatch.delenv(f"SLURM_{name}", raising=False)
    monkeypatch.setattr(memory, "memory_left", lambda: [])
    monkeypatch.setattr(memory, "_kernel_bytes", lambda _file, _key: 1 << 40)
    free = memory.available()
    for name, value in given.items():
        monkeypatch.setenv(f"SLURM_{name}", value)
    assert memory.available() == (free if mib is None else mib << 20)
