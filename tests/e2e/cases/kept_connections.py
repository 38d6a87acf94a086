# SPDX-License-Identifier: BSD-3-Clause
"""News about a peer and unrelated changes leave its connections open."""
from site_under_test import eventually
from tcp_nodes import SECOND, add_v4, has_all_it_wants, knows_both, nid, pair, pings, sockets, works
from two_hosts import two_hosts


def peers(node):
    return {each["primary nid"]: {ni["nid"] for ni in each["peer ni"]} for each in node.json("peer", "show")["peer"]}


def case_a_peer_that_turns_discovery_off_keeps_them(site):
    with two_hosts(site) as hosts:
        a, b = pair(hosts, site)
        knows_both(hosts, a, b)
        assert peers(a) == {nid("b"): {nid("b"), SECOND}}, peers(a)
        before = sockets(a)
        works(b, "set", "discovery", "0")
        eventually("both of its interfaces are peers of their own",
                   lambda: peers(a) == {nid("b"): {nid("b")}, SECOND: {SECOND}})
        pings(a, nid("b"))
        assert sockets(a) >= before, (before, sockets(a))
        works(b, "set", "discovery", "1")
        works(a, "discover", "--force", nid("b"))
        assert peers(a) == {nid("b"): {nid("b"), SECOND}}, peers(a)
        assert sockets(a) >= before, (before, sockets(a))


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
        eventually("all connections are open", lambda: has_all_it_wants(a))
        assert peers(a) == {"10.88.0.67@tcp1": {nid("b"), "10.88.0.67@tcp1"}}, peers(a)
        before = sockets(a)
        works(a, "net", "del", "--net", "tcp1")
        assert nid("b") in set().union(*peers(a).values()), peers(a)
        works(a, "ping", nid("b"))
        assert before and sockets(a) == before, (before, sockets(a))
