# SPDX-License-Identifier: BSD-3-Clause
"""Measures the compile speed of this machine and its other load: budgets of stages assume a quiet machine."""
import contextlib
import os
import pathlib
import resource
import subprocess
import tempfile
import time

# Budgets are valid for a machine that compiles the source below in this time.
REFERENCE_S = 2.0
SOURCE = "#include <nlohmann/json.hpp>\n"
DISTURBED = 0.05  # of all CPUs: share of the hypervisor and of other processes


def slowness():
    """The compile time relative to the reference machine; at least 1."""
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "json.cpp"
        source.write_text(SOURCE)
        took = []
        for _ in range(3):
            begin = time.monotonic()
            subprocess.run(["g++", "-std=c++23", "-fsyntax-only", source], check=True)
            took.append(time.monotonic() - begin)
    return max(1.0, sorted(took)[1] / REFERENCE_S)


def _cpu_seconds():
    """(busy, steal) of all CPUs since boot."""
    fields = [int(field) for field in pathlib.Path("/proc/stat").read_text().split("\n")[0].split()[1:9]]
    user, nice, system, _, _, irq, softirq, steal = fields
    tick = os.sysconf("SC_CLK_TCK")
    return (user + nice + system + irq + softirq) / tick, steal / tick


def _ours():
    """CPU seconds of this process and its descendants, both living and waited for."""
    families = {}  # parent -> [(process, CPU ticks)]
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = stat.read_text().rpartition(") ")[2].split()
            families.setdefault(int(fields[1]), []).append((int(stat.parent.name), sum(map(int, fields[11:15]))))
    ticks, waiting = 0, [os.getpid()]
    while waiting:
        for process, used in families.get(waiting.pop(), []):
            ticks += used
            waiting.append(process)
    return ticks / os.sysconf("SC_CLK_TCK") + sum(sum(resource.getrusage(who)[:2])
                                                  for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


class Watch:
    """Measures a stage: its duration, and the share of the CPUs that other processes had."""
    seconds = 0.0
    disturbance = 0.0


@contextlib.contextmanager
def watched():
    watch = Watch()
    begin, (busy, steal), ours = time.monotonic(), _cpu_seconds(), _ours()
    yield watch
    watch.seconds = time.monotonic() - begin
    busy_now, steal_now = _cpu_seconds()
    others = (busy_now - busy) - (_ours() - ours) + (steal_now - steal)
    watch.disturbance = max(0.0, others / (watch.seconds * (os.cpu_count() or 1)))
