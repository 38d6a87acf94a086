# SPDX-License-Identifier: BSD-3-Clause
"""Nodes with lnet-traffic: PUTs and GETs of all sizes, each checked byte by byte and accounted for."""
import os
import re
import time

from cases_common import CPT, PLAN
from site_under_test import eventually
from tcp_nodes import counted, nid
from two_hosts import ADDRESSES

V4, V6 = 0, 1
# Timeouts of seconds instead of minutes.
TRANSACTION_S = 8  # an operation times out after this
IMPATIENT = f"""options lnet lnet_transaction_timeout={TRANSACTION_S} lnet_retry_count=2
options ksocklnd sock_timeout=3 max_reconnectms=1000 keepalive_idle=2 keepalive_intvl=1 keepalive_count=2
"""
GIVEN_UP_S = TRANSACTION_S + 4  # by then its failure is visible
BAD = ("wrong_replies", "delivered_twice", "delivered_corrupt")


def plan(shards):
    """One CPT for each two shards, over the usable CPUs."""
    cpus = sorted(os.sched_getaffinity(0))
    lines = ""
    for shard in range(shards):
        cpu = cpus[shard % len(cpus)]
        lines += CPT.format(cpu=cpu) if shard % 2 == 0 else f"\n                - cpu: {cpu}"
    return PLAN.format(cpts=lines).replace("arena_mib: 4", f"arena_mib: {8 + 12 * shards}")


def config(site, side, shards, families):
    nis = ", ".join(f"{{nid: '{ADDRESSES[side][family]}@tcp'}}" for family in families)
    nets = f"net: [{{net type: tcp, local NI(s): [{nis}]}}]\n"
    return site.write(f"{side}-{shards}-{''.join(map(str, families))}.yaml", nets + plan(shards))


def start(hosts, side, *arguments, shards=2, families=(V4,), options="", name=None):
    site = hosts.site
    more = ("--options", site.write("traffic.conf", options)) if options else ()
    return hosts.node(side, "--config", config(site, side, shards, families), "--idle", "sleep", "--window", "4", "--stay", *more,
                      *arguments, name=name, program=site.program("lnet-traffic"))


def target_of(side, family=V4):
    return ("--to", nid(side, family))


def count(node, row):
    return counted(node, "traffic", row)


def has_answered(node, operations, timeout_s=60):
    eventually(f"{node.name} has had {operations} answers", lambda: count(node, "answered") >= operations, timeout_s)


def ended(node):
    return count(node, "answered") + count(node, "failed")


def answers_all(operations, *nodes):
    """Nodes with `--count`, and without losses: a lost operation is in flight until its timeout and then failed."""
    for node in nodes:
        eventually(f"all operations of {node.name} end", lambda: ended(node) == operations, 90)
        assert count(node, "failed") == 0, (node.name, node.json("counters", "show"))


def losses(operations, since, before, *nodes):
    """Waits until all operations of these nodes, which have `--count`, have ended. By name: the number of failures beyond
    `before`, and the seconds after `since` at which the last failure was seen."""
    lost = {node.name: (0, 0.0) for node in nodes}

    def all_end():
        has_ended = [ended(node) == operations for node in nodes]
        for node in nodes:
            failed = count(node, "failed") - before[node.name]
            if failed != lost[node.name][0]:
                lost[node.name] = failed, time.monotonic() - since
        return all(has_ended)

    eventually("all operations end", all_end, 90)
    for node in nodes:
        assert count(node, "begun") == operations and count(node, "under_way") == 0, (node.name, node.json("counters", "show"))
        is_clean(node)
    return lost


def is_clean(node):
    assert not any(count(node, row) for row in BAD), node.json("counters", "show")["counters"]


def last_words(node, abandoned_max=None):
    """Stops it and returns its final output. `abandoned_max`: operations that may be in flight then; none if all have ended."""
    node.stop()
    words = {key: int(value) for key, value in re.findall(r"^    (\w+): (\d+)$", node.output(), re.MULTILINE)}
    assert words, f"{node.name} ended without a word"
    assert not any(words[row] for row in BAD), words
    assert words["begun"] == words["answered"] + words["failed"] + words["abandoned"] and words["under_way"] == 0, words
    assert abandoned_max is None or words["abandoned"] <= abandoned_max, words
    return words
