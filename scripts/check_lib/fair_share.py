# SPDX-License-Identifier: BSD-3-Clause
"""Pollers of many processes on few CPUs: each gets its share of them."""
import contextlib
import pathlib

AUTOGROUP = pathlib.Path("/proc/sys/kernel/sched_autogroup_enabled")


@contextlib.contextmanager
def between_all():
    """Lets the system share out the CPUs between threads, not first between sessions, while it lasts. With sessions Linux 6.18
    was seen to run one poller for 40 s, waiting in a spin lock, while the one that held it was ready to run on the same CPU."""
    try:
        before = AUTOGROUP.read_text()
        AUTOGROUP.write_text("0")
    except OSError:  # the kernel has no such thing, or we may not
        yield
        return
    try:
        yield
    finally:
        AUTOGROUP.write_text(before)
