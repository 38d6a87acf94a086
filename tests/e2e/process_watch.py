# SPDX-License-Identifier: BSD-3-Clause
"""Resident memory and descriptors of a node, from /proc."""
import os
import pathlib


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
