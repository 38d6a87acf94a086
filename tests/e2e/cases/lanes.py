# SPDX-License-Identifier: BSD-3-Clause
"""Connections of one peer on several shards of a CPT, in real processes on two hosts."""
import os
import re

from cases_common import PLAN
from site_under_test import eventually
from two_hosts import ADDRESSES, two_hosts

SHARDS = 4


def plan(site):
    """One CPT; it may have fewer CPUs than shards."""
    cpus = sorted(os.sched_getaffinity(0))
    shards = "".join(f"\n                - cpu: {cpus[i % len(cpus)]}" for i in range(SHARDS))
    return site.write("lanes.yaml", PLAN.format(cpts=f"\n            - shards:{shards}"))


def counters(hosts, side, node, name):
    """By shard."""
    assert node.lnetctl("set", "metrics_listen", "127.0.0.1:9100").returncode == 0
    text = hosts.site.run("ip", "netns", "exec", hosts.names[side], "python3", "-c",
                          "import urllib.request as r; print(r.urlopen('http://127.0.0.1:9100/metrics').read().decode())").stdout
    rows = re.findall(rf'^plnet_lnd_tcp_{name}(?:_connections|_messages)?(?:_total)?{{.*shard="(\d+)".*}} (\d+)', text, re.M)
    return {int(shard): int(value) for shard, value in rows}


def case_connections_of_one_peer_are_used_by_all_shards(site):
    # Replies to pings have some hundred bytes, so they count as large.
    options = site.write("modprobe.conf", f"options ksocklnd conns_per_peer={SHARDS} min_bulk=100\n")
    with two_hosts(site) as hosts:
        nodes = {side: hosts.node(side, "--config", plan(site), "--idle", "sleep", "--options", options) for side in "ab"}
        for node in nodes.values():
            assert node.lnetctl("net", "add", "--net", "tcp", "--if", "eth0").returncode == 0
        target = f"{ADDRESSES['b'][0]}@tcp"
        assert nodes["a"].lnetctl("ping", target).returncode == 0
        eventually("nine connections", lambda: len(hosts.sockets("a")) == 2 * SHARDS + 1)
        for _ in range(4 * SHARDS):
            assert nodes["a"].lnetctl("ping", target).returncode == 0
        for side in "ab":
            open_now = counters(hosts, side, nodes[side], "open")
            assert sorted(open_now.values()) == [2] * (SHARDS - 1) + [3], open_now
            shown = nodes[side].json("conn", "show")["conn"]
            by_shard = {shard: sorted(c["type"] for c in shown if c["shard"] == shard) for shard in range(SHARDS)}
            assert sorted(by_shard.values()) == [["C", "I", "O"]] + [["I", "O"]] * (SHARDS - 1), shown
            assert len(nodes[side].json("conn", "peers")["conn peer"]) == 1, "its home tells of it"
        sent = counters(hosts, "b", nodes["b"], "sent")
        received = counters(hosts, "a", nodes["a"], "received")
        for shard in range(SHARDS):
            assert sent[shard] > 0 and received[shard] > 0, (sent, received)
        assert nodes["a"].lnetctl("net", "del", "--net", "tcp").returncode == 0
        eventually("no connection", lambda: not hosts.sockets("b"))
        assert nodes["a"].stop() == 0 and nodes["b"].stop() == 0
