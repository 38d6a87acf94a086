# SPDX-License-Identifier: BSD-3-Clause
"""Nodes with TCP networks: helpers of their cases."""
from cases_common import one_shard
from site_under_test import eventually
from two_hosts import ADDRESSES


def works(node, *words):
    done = node.lnetctl(*words)
    assert done.returncode == 0, f"{node.name}: lnetctl {' '.join(words)}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def fails(node, *words):
    done = node.lnetctl(*words)
    assert done.returncode != 0, f"{node.name}: lnetctl {' '.join(words)} should fail: {done.stdout}"
    return done.stderr


def start(hosts, side, config, name=None):
    return hosts.node(side, "--config", config, "--idle", "sleep", name=name)


def pair(hosts, site, config=None):
    config = config or one_shard(site)
    return start(hosts, "a", config), start(hosts, "b", config)


def add_v4(*nodes):
    for node in nodes:
        works(node, "net", "add", "--net", "tcp", "--if", "eth0")


def nid(side, family=0, net="tcp"):
    return f"{ADDRESSES[side][family]}@{net}"


def pings(node, *targets):
    for target in targets:
        report = node.json("ping", target)["ping"][0]
        assert report["primary nid"] == target, report


def sockets(node, network="tcp"):
    return {(each["local"], each["remote"]) for each in node.json("conn", "show", "-v")["conn"] if each["nid"].endswith("@" + network)}


def has_all_it_wants(node):
    """Its connections to peers are complete: after the first message they are made one by one."""
    return all(peer["connections"] == peer["wanted"] for peer in node.json("conn", "peers", "-v")["conn peer"])


SECOND = "10.88.0.67@tcp"


def knows_both(hosts, a, b):
    """Host b has a second NI on the network; a knows it and is connected."""
    hosts.address("b", SECOND.partition("@")[0], 24)
    add_v4(a, b)
    works(b, "net", "add", "--nid", SECOND)
    works(a, "discover", nid("b"))
    pings(a, nid("b"))
    eventually("all its connections are open", lambda: has_all_it_wants(a))


def reaches(node, target):
    """Retries: other processes may keep the machine busy."""
    eventually(f"{target} answers {node.name}", lambda: answers(node, target))


def answers(node, target):
    return node.lnetctl("ping", "--timeout", "2", target).returncode == 0


def counted(node, object_name, row):
    """The sum over all shards."""
    return sum(each[row] for each in node.ask("counters show")["counters"] if each["object"] == object_name)
