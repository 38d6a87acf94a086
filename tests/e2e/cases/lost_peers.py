# SPDX-License-Identifier: BSD-3-Clause
"""Peers that are killed, filtered or unreachable: the log, status, peer show, route explain and metrics name them and the
cause."""
import re
import shlex
import signal

from cases_common import one_shard
from site_under_test import eventually
from tcp_nodes import add_v4, fails, nid, pair, pings, reaches, start, works
from two_hosts import two_hosts

NOBODY = "10.99.0.9@tcp"  # in no subnet of the hosts


def warnings_of(node):
    return {each["what"]: each for each in node.json("status")["status"]["warnings"]}


def state_of(node, peer):
    (ni,) = node.json("peer", "show", "--nid", peer)["peer"][0]["peer ni"]
    return ni


def lines_of(node, event):
    return [line for line in node.output().splitlines() if f"event={event} " in line]


def check_lost(node, peer, cause):
    """All views agree."""
    eventually("its loss is logged", lambda: lines_of(node, "peer_lost"))
    (line,) = lines_of(node, "peer_lost")
    assert f"nid={peer} " in line and cause in line and re.search(r"silent_s=\d+ ", line), line
    warning = warnings_of(node)[f"{peer} cannot be reached"]
    assert cause in warning["why"] and "no answer for" in warning["why"], warning
    ni = state_of(node, peer)
    assert ni["state"] == "down" and cause in ni["state cause"], ni
    path = node.json(*shlex.split(warning["fix"])[1:])["path"]
    assert path["reachable"] is False and cause in path["why"] and path["verdict"] == f"messages do not pass: {path['why']}", path
    metrics = works(node, "metrics", "show")
    assert re.search(r"^plnet_reach_unreachable_interfaces 1$", metrics, re.M), metrics


def check_back(node, peer):
    eventually("its return is logged", lambda: lines_of(node, "peer_back"))
    (line,) = lines_of(node, "peer_back")
    assert f"nid={peer} " in line and re.search(r"after_s=\d+", line), line
    assert not any("cannot be reached" in what for what in warnings_of(node)), warnings_of(node)
    ni = state_of(node, peer)
    assert ni["state"] != "down" and "state cause" not in ni, ni
    assert node.json("route", "explain", "*", peer)["path"]["reachable"] is True
    assert re.search(r"^plnet_reach_unreachable_interfaces 0$", works(node, "metrics", "show"), re.M)


def case_a_killed_peer_is_named_until_it_is_back(site):
    with two_hosts(site) as hosts:
        config = one_shard(site)
        a, b = pair(hosts, site, config)
        add_v4(a, b)
        pings(a, nid("b"))
        assert not lines_of(a, "peer_lost") and not lines_of(a, "peer_unreachable")
        b.stop(signal.SIGKILL)
        # The first attempt may use the connection that has just ended; the node sends the ping again.
        fails(a, "ping", "--timeout", "2", nid("b"))
        check_lost(a, nid("b"), "refused")
        b = start(hosts, "b", config, name="b2")
        add_v4(b)
        reaches(a, nid("b"))
        check_back(a, nid("b"))
        assert a.stop() == 0 and b.stop() == 0


def case_a_filtered_port_is_named_within_seconds(site):
    with two_hosts(site) as hosts:
        a, b = pair(hosts, site)
        add_v4(a, b)
        pings(a, nid("b"))
        with hosts.unanswered("b"):
            fails(a, "ping", "--timeout", "2", nid("b"))
            check_lost(a, nid("b"), "is the host down, or the port filtered?")
        reaches(a, nid("b"))
        check_back(a, nid("b"))
        assert a.stop() == 0 and b.stop() == 0


def case_a_wrong_netmask_and_a_missing_route_are_named(site):
    with two_hosts(site) as hosts:
        a = start(hosts, "a", one_shard(site))
        add_v4(a)
        fails(a, "ping", "--timeout", "2", NOBODY)
        eventually("it is logged", lambda: lines_of(a, "peer_unreachable"))
        (line,) = lines_of(a, "peer_unreachable")
        assert f"nid={NOBODY} " in line and "eth0 10.88.0.1/24" in line and "netmask" in line, line
        warning = warnings_of(a)[f"{NOBODY} cannot be reached"]
        assert warning["why"].startswith("it never answered: ") and "netmask" in warning["why"], warning
        fails(a, "ping", "--timeout", "2", "10.1.0.2@tcp5")
        eventually("it is logged", lambda: lines_of(a, "messages_dropped"))
        (line,) = lines_of(a, "messages_dropped")
        assert 'why="no route to tcp5 can be used"' in line and "to=10.1.0.2@tcp5" in line, line
        assert "lnetctl route add --net tcp5" in warnings_of(a)["messages to tcp5 are dropped: no route to tcp5 can be used"]["fix"]
        assert a.stop() == 0


def case_a_gateway_that_does_not_route_is_named(site):
    with two_hosts(site) as hosts:
        a, b = pair(hosts, site)
        add_v4(a, b)
        works(b, "net", "add", "--net", "tcp1", "--if", "eth0")
        works(a, "route", "add", "--net", "tcp1", "--gateway", nid("b"))
        eventually("the gateway is asked", lambda: lines_of(a, "route_down"))
        assert "it does not route" in lines_of(a, "route_down")[0], a.output()
        fails(a, "ping", "--timeout", "2", "10.88.0.9@tcp1")
        eventually("it is logged", lambda: lines_of(a, "messages_dropped"))
        said = warnings_of(a)
        assert "messages to tcp1 are dropped: no route to tcp1 can be used" in said, said
        assert "it does not route" in said["1 of 1 route is down"]["why"], said
        assert a.stop() == 0 and b.stop() == 0
