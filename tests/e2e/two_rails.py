# SPDX-License-Identifier: BSD-3-Clause
"""Two hosts with two addresses each, hence two NIs: the NIs that messages use."""
from cases_common import one_shard
from tcp_nodes import nid, start, works
from two_hosts import ip

SECOND = {"a": "10.88.0.77@tcp", "b": "10.88.0.78@tcp"}
PINGS = 10


def both(hosts, site):
    nodes = {}
    for side in "ab":
        ip("-n", hosts.names[side], "address", "add", SECOND[side].replace("@tcp", "/24"), "dev", "eth0")
        nodes[side] = start(hosts, side, one_shard(site))
        for each in (nid(side), SECOND[side]):
            works(nodes[side], "net", "add", "--nid", each)
    works(nodes["a"], "discover", nid("b"))
    return nodes["a"], nodes["b"]


def nis(node):
    return {each["nid"]: each for net in node.json("net", "show", "-v", "4")["net"] for each in net["local NI(s)"]}


def peer_nis(node):
    return {each["nid"]: each for peer in node.json("peer", "show", "-v", "4")["peer"] for each in peer["peer ni"]}


def sent(shown):
    return {each: of["statistics"]["send_count"] for each, of in shown.items() if each != "0@lo"}


def used(node, to):
    """The local and the peer NIs that this many pings used."""
    before = sent(nis(node)), sent(peer_nis(node))
    works(node, "ping", "--count", str(PINGS), to)
    after = sent(nis(node)), sent(peer_nis(node))
    return tuple({each for each in now if now[each] - then[each] >= PINGS // 4} for then, now in zip(before, after))
