# SPDX-License-Identifier: BSD-3-Clause
"""Configurations that several cases share."""
import os

ONE_SHARD = """
plnet:
    cpts:
        by: list
        list:
            - shards:
                - cpu: {a}
    memory:
        arena_mib: 4
"""
TWO_SHARDS = """
plnet:
    cpts:
        by: list
        list:
            - shards:
                - cpu: {a}
            - shards:
                - cpu: {b}
    memory:
        arena_mib: 4
"""


def one_shard(site):
    return site.write("one.yaml", ONE_SHARD.format(a=sorted(os.sched_getaffinity(0))[0]))


def two_shards(site, extra=""):
    """Two CPTs of one shard each, on the first and the last CPU that we may use (perhaps the same)."""
    cpus = sorted(os.sched_getaffinity(0))
    return site.write("two.yaml", TWO_SHARDS.format(a=cpus[0], b=cpus[-1]) + extra)
