# SPDX-License-Identifier: BSD-3-Clause
"""What a node learns of a peer, and what goes beside it, leaves the connections to that peer alone."""
from site_under_test import eventually
from tcp_nodes import add_v4, nid, pair, pings, works
from two_hosts import two_hosts


def peers(node):
    return {each["primary nid"]: {ni["nid"] for ni in each["peer ni"]} for each in node.json("peer", "show")["peer"]}


def sockets(node, network):
    return {(each["local"], each["remote"]) for each in node.json("conn", "show", "-v")["conn"]
            if each["nid"].endswith("@" + network)}


def all_open(node):
    return all(peer["connections"] == peer["wanted"] for peer in node.json("conn", "peers", "-v")["conn peer"])


def case_a_peer_that_turns_discovery_off_keeps_them(site):
    with two_hosts(site) as hosts:
        hosts.address("b", "10.88.0.67", 24)
        a, b = pair(hosts, site)
        add_v4(a, b)
        works(b, "net", "add", "--nid", "10.88.0.67@tcp")
        works(a, "discover", nid("b"))
        pings(a, nid("b"))
        eventually("all connections are open", lambda: all_open(a))
        assert peers(a) == {nid("b"): {nid("b"), "10.88.0.67@tcp"}}, peers(a)
        before = sockets(a, "tcp")
        works(b, "set", "discovery", "0")
        eventually("both of its interfaces are peers of their own",
                   lambda: peers(a) == {nid("b"): {nid("b")}, "10.88.0.67@tcp": {"10.88.0.67@tcp"}})
        pings(a, nid("b"))
        assert sockets(a, "tcp") >= before, (before, sockets(a, "tcp"))
        works(b, "set", "discovery", "1")
        works(a, "discover", "--force", nid("b"))
        assert peers(a) == {nid("b"): {nid("b"), "10.88.0.67@tcp"}}, peers(a)
        assert sockets(a, "tcp") >= before, (before, sockets(a, "tcp"))


def case_a_network_that_goes_leaves_those_of_the_others(site):
    with two_hosts(site) as hosts:
        for side, address in (("a", "10.88.0.66"), ("b", "10.88.0.67")):
            hosts.address(side, address, 24)
        a, b = pair(hosts, site)
        works(b, "net", "add", "--nid", "10.88.0.67@tcp1")
        works(a, "net", "add", "--nid", "10.88.0.66@tcp1")
        add_v4(a, b)
        works(a, "discover", nid("b"))
        works(a, "ping", nid("b"))
        eventually("all connections are open", lambda: all_open(a))
        assert peers(a) == {"10.88.0.67@tcp1": {nid("b"), "10.88.0.67@tcp1"}}, peers(a)
        before = sockets(a, "tcp")
        works(a, "net", "del", "--net", "tcp1")
        assert nid("b") in set().union(*peers(a).values()), peers(a)
        works(a, "ping", nid("b"))
        assert before and sockets(a, "tcp") == before, (before, sockets(a, "tcp"))
