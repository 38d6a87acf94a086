# SPDX-License-Identifier: BSD-3-Clause
"""Configurations that several cases share."""
import os

PLAN = """
plnet:
    cpts:
        by: list
        list:{cpts}
    memory:
        arena_mib: 4
    lnet:
        peers: 4096
"""
CPT = """
            - shards:
                - cpu: {cpu}"""


def with_peers(text, peers):
    """The plan with room for this many peers; by default a router takes memory for as many as fit into the machine."""
    assert "peers: 4096" in text
    return text.replace("peers: 4096", f"peers: {peers}")


def plan_on(cpus):
    """A CPT of one shard on each of these CPUs."""
    return PLAN.format(cpts="".join(CPT.format(cpu=cpu) for cpu in cpus))


def one_shard(site, extra=""):
    return site.write("one.yaml", plan_on(sorted(os.sched_getaffinity(0))[:1]) + extra)


def two_shards(site, extra=""):
    """Two CPTs of one shard each, on the first and the last usable CPU (possibly the same)."""
    cpus = sorted(os.sched_getaffinity(0))
    return site.write("two.yaml", plan_on([cpus[0], cpus[-1]]) + extra)
