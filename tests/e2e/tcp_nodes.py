# SPDX-License-Identifier: BSD-3-Clause
"""Nodes with TCP networks: what their cases do again and again."""
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


def reaches(node, target):
    """Sooner or later: others may keep the machine busy."""
    eventually(f"{target} answers {node.name}", lambda: answers(node, target))


def answers(node, target):
    return node.lnetctl("ping", "--timeout", "2", target).returncode == 0


def counted(node, object_name, row):
    """Of all shards together."""
    return sum(each[row] for each in node.json("counters", "show")["counters"] if each["object"] == object_name)
