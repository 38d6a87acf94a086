# SPDX-License-Identifier: BSD-3-Clause
"""Resident memory, descriptors and signal handlers of a node, from /proc."""
import os
import pathlib
import re
import signal

CRASHES = [signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT, signal.SIGTRAP]


def pid_of(node):
    """`ip netns exec` replaces itself with the program that it runs."""
    return node.process.pid


def resident_kib(node):
    for line in pathlib.Path(f"/proc/{pid_of(node)}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    raise AssertionError("no VmRSS")


def descriptors(node):
    return len(os.listdir(f"/proc/{pid_of(node)}/fd"))


def handled_crashes(node):
    """Signals of a crash that do not end the process at once, with a core."""
    status = pathlib.Path(f"/proc/{pid_of(node)}/status").read_text()
    masks = [int(mask, 16) for mask in re.findall(r"^Sig(?:Cgt|Ign):\s*(\w+)$", status, re.MULTILINE)]
    return [each.name for each in CRASHES if any(mask >> (each - 1) & 1 for mask in masks)]
