# SPDX-License-Identifier: BSD-3-Clause
"""Gives the pollers of many processes on few CPUs a fair share each."""
import contextlib
import pathlib

AUTOGROUP = pathlib.Path("/proc/sys/kernel/sched_autogroup_enabled")


@contextlib.contextmanager
def between_all():
    """While active, the system shares the CPUs between threads, not first between sessions. With sessions Linux 6.18 was seen
    to run one poller for 40 s in a spin lock while the lock's owner was ready on the same CPU."""
    try:
        before = AUTOGROUP.read_text()
        AUTOGROUP.write_text("0")
    except OSError:  # not supported by the kernel, or not permitted
        yield
        return
    try:
        yield
    finally:
        AUTOGROUP.write_text(before)
