# SPDX-License-Identifier: BSD-3-Clause
"""Labs of plnet-cxi-lab: ranks with Slingshot NICs in software."""
from site_under_test import needs_root

FIRST_ADDRESS = 0x100  # of the NICs: they count up


def words(site, *arguments):
    return (site.program("plnet-cxi-lab"), "--library", site.program("libcxi.so.1"), *arguments)


def lab(site, *arguments, stdin=None):
    needs_root()
    return site.run(*words(site, *arguments), stdin=stdin)


def lines(text, rank):
    return [line.removeprefix(f"{rank}: ") for line in text.splitlines() if line.startswith(f"{rank}: ")]
