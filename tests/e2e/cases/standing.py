# SPDX-License-Identifier: BSD-3-Clause
"""The standing of a node with its peers: interfaces that go down and up, routing on and off, drain."""
import itertools
import os
import re
import resource
import signal

from cases_common import one_shard, two_shards
from site_under_test import eventually
from tcp_nodes import add_v4, fails, nid, pair, pings, start, works
from two_hosts import ADDRESSES, ip, two_hosts

CHANGES = ("link_down", "link_up", "ni_down", "ni_up")
# Peers take three seconds to notice.
QUICK = "options lnet alive_router_check_interval=1 router_ping_timeout=2\n"


def ni_of(node, net="tcp"):
    return node.json("net", "show", "-v", "2", "--net", net)["net"][0]["local NI(s)"][0]


def health_of(node, nid_of_peer):
    """The health of the peer's NI on this node. An NI reported down loses health."""
    for each in node.json("peer", "show", "-v", "3").get("peer", []):
        for ni in each["peer ni"]:
            if ni["nid"] == nid_of_peer:
                return ni["health stats"]["health value"]
    raise AssertionError(f"{nid_of_peer} is no peer of {node.name}")


def both_nets(*nodes):
    """A second network on the same wire, by which peers learn of the first."""
    for node in nodes:
        works(node, "net", "add", "--net", "tcp", "--if", "eth0")
        works(node, "net", "add", "--net", "tcp1", "--if", "eth1")


def second_wire(hosts):
    ends = [f"pm{hosts.tag}{side}" for side in ADDRESSES]
    ip("link", "add", ends[0], "type", "veth", "peer", "name", ends[1])
    for side, end, address in zip(ADDRESSES, ends, ("10.89.0.1/24", "10.89.0.2/24")):
        ip("link", "set", end, "netns", hosts.names[side], "name", "eth1")
        ip("-n", hosts.names[side], "address", "add", address, "dev", "eth1")
        ip("-n", hosts.names[side], "link", "set", "eth1", "up")


def check_links(site, config):
    with two_hosts(site) as hosts:
        second_wire(hosts)
        a, b = start(hosts, "a", config), start(hosts, "b", config)
        both_nets(a, b)
        ours, other = nid("a"), "10.89.0.1@tcp1"
        works(b, "discover", other)
        works(a, "discover", "10.89.0.2@tcp1")
        healthy = health_of(b, ours)
        for undo, redo, cause in (
                (("link", "set", "eth0", "down"), ("link", "set", "eth0", "up"), "switched off"),
                (("address", "del", "10.88.0.1/24", "dev", "eth0"), ("address", "add", "10.88.0.1/24", "dev", "eth0"), "no interface has")):
            ip("-n", hosts.names["a"], *undo)
            eventually("the NI is down", lambda: ni_of(a)["status"] == "down")
            assert cause in ni_of(a)["status cause"], ni_of(a)
            # A push uses the remaining path.
            eventually("the peer has been notified", lambda: health_of(b, ours) < healthy)
            ip("-n", hosts.names["a"], *redo)
            eventually("the NI is up again", lambda: ni_of(a)["status"] == "up")
            assert "status cause" not in ni_of(a), ni_of(a)
            works(b, "peer", "set", "--nid", ours, "--health", str(healthy))
        assert ni_of(a)["status changes"] == 4, ni_of(a)
        eventually("the log has each change once", lambda: [a.output().count(f"event={what} ") for what in CHANGES] == [2] * len(CHANGES))
        assert "switched off" in a.output()


def case_the_peer_is_notified_of_an_interface_with_one_shard(site):
    check_links(site, one_shard(site))


def case_the_peer_is_notified_of_an_interface_with_two_shards(site):
    check_links(site, two_shards(site))


def case_a_link_that_bounces_is_held_down(site):
    with two_hosts(site) as hosts:
        a, b = pair(hosts, site)
        add_v4(a, b)
        for _ in range(3):
            hosts.link("a", "down")
            eventually("the NI is down", lambda: ni_of(a)["status"] == "down")
            hosts.link("a", "up")
            eventually("its link differs from the former one", lambda: "switched off" not in ni_of(a).get("status cause", ""))
        assert ni_of(a)["status"] == "down" and "flapped" in ni_of(a)["status cause"], ni_of(a)
        eventually("after a while it is up", lambda: ni_of(a)["status"] == "up", 60)
        pings(a, nid("b"))


def case_a_node_without_descriptors_reports_it_and_misses_no_link(site):
    with two_hosts(site) as hosts:
        a, b = pair(hosts, site)
        add_v4(a, b)
        pid, limits = a.process.pid, resource.prlimit(a.process.pid, resource.RLIMIT_NOFILE)
        taken = {int(each) for each in os.listdir(f"/proc/{pid}/fd")}
        next_one = next(each for each in itertools.count() if each not in taken)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (next_one, limits[1]))
        refused = []

        def is_refused():
            refused[:] = [a.lnetctl("status")]
            return refused[0].returncode != 0
        eventually("descriptors run out", is_refused)
        assert "out of file descriptors" in refused[0].stderr, refused[0]
        hosts.link("a", "down")
        eventually("it is in the log", lambda: "event=out_of_descriptors" in a.output())
        resource.prlimit(pid, resource.RLIMIT_NOFILE, limits)
        eventually("the NI is down", lambda: ni_of(a)["status"] == "down")


def router(hosts, site, side="a", *more, name=None):
    config = site.write("router.yaml", open(one_shard(site), encoding="utf-8").read())
    options = site.write("router.conf", QUICK)
    return hosts.node(side, "--config", config, "--idle", "sleep", "--options", options, *more, name=name)


def turn_on(node):
    works(node, "set", "routing", "1")


def routing(node):
    report = node.json("routing", "show")["routing"]
    return ({key: value for row in report for key, value in row.items() if key in ("enable", "change")})


ROUTER_ENABLED = 4  # of the peer state


def says_it_routes(node, peer):
    for each in node.json("peer", "show", "-v", "3").get("peer", []):
        if each["primary nid"] == peer:
            return bool(each["peer state"] & ROUTER_ENABLED)
    return False


def known_to_each_other(a, b):
    add_v4(a, b)
    works(b, "discover", nid("a"))
    works(a, "discover", nid("b"))


def case_peers_are_notified_when_routing_is_turned_on_and_off(site):
    with two_hosts(site) as hosts:
        a, b = router(hosts, site), start(hosts, "b", one_shard(site))
        known_to_each_other(a, b)
        assert routing(a) == {"enable": 0}
        turn_on(a)
        shown = routing(a)
        assert shown["enable"] in (3, 1), shown
        eventually("it is enabled", lambda: routing(a) == {"enable": 1})
        eventually("the peer knows", lambda: says_it_routes(b, nid("a")))
        works(a, "set", "routing", "0")
        eventually("the peer knows", lambda: not says_it_routes(b, nid("a")))
        eventually("it is disabled", lambda: routing(a) == {"enable": 0})


def case_a_node_that_is_a_gateway_of_its_own_routes_routes(site):
    with two_hosts(site) as hosts:
        options = site.write("site.conf", 'options lnet networks=tcp(eth0) routes="o2ib 10.88.0.1@tcp"\n')
        for side, enabled in (("a", 1), ("b", 0)):
            node = hosts.node(side, "--config", one_shard(site), "--options", options, "--idle", "sleep")
            assert routing(node) == {"enable": enabled}


def case_a_router_is_drained_and_comes_back(site):
    with two_hosts(site) as hosts:
        a, b = router(hosts, site), start(hosts, "b", one_shard(site))
        known_to_each_other(a, b)
        assert "does not route" in fails(a, "routing", "drain")
        turn_on(a)
        eventually("the peer knows", lambda: says_it_routes(b, nid("a")))
        works(a, "routing", "drain", "--timeout", "60")
        eventually("the peer knows", lambda: not says_it_routes(b, nid("a")))
        eventually("it is drained", lambda: routing(a).get("change", {}).get("phase") == "drained")
        shown = routing(a)
        assert shown["enable"] == 0 and shown["change"]["messages cut off"] == 0, shown
        assert shown["change"]["peers told"] == shown["change"]["peers acknowledged"] == 1, shown
        works(a, "routing", "undrain")
        assert "neither drains nor stops" in fails(a, "routing", "undrain")
        eventually("the peer knows", lambda: says_it_routes(b, nid("a")))
        assert routing(a) == {"enable": 1}


def case_a_stop_reports_its_duration_and_can_be_cancelled(site):
    with two_hosts(site) as hosts:
        a, b = start(hosts, "a", one_shard(site)), start(hosts, "b", one_shard(site))
        known_to_each_other(a, b)
        told = a.lnetctl("set", "routing", "1")
        assert told.returncode == 0 and "routing" in told.stderr and not told.stdout, told
        eventually("the peer knows", lambda: says_it_routes(b, nid("a")))
        for cancel in (("set", "routing", "1"), ("routing", "undrain")):
            told = a.lnetctl("set", "routing", "0")
            assert re.search(r"forwards for 1\d\d s more, for 3\d\d s at most .*`lnetctl set routing 1` cancels", told.stderr), told
            eventually("the peer knows", lambda: not says_it_routes(b, nid("a")))
            told = a.lnetctl("routing", "drain", "--timeout", "3600")
            assert re.search(r"in 3\d\d s at most.*`lnetctl routing undrain` cancels", told.stderr), told
            works(a, *cancel)
            assert routing(a) == {"enable": 1}
            eventually("the peer knows", lambda: says_it_routes(b, nid("a")))
            assert "enable: 1" in a.lnetctl("export", "--backup").stdout


def case_a_router_that_is_told_to_end_drains_first(site):
    with two_hosts(site) as hosts:
        a, b = router(hosts, site, "a", "--drain-timeout", "15"), start(hosts, "b", one_shard(site))
        known_to_each_other(a, b)
        turn_on(a)
        eventually("the peer knows", lambda: says_it_routes(b, nid("a")))
        assert a.stop(signal.SIGTERM) == 0
        log = a.output()
        assert "event=draining " in log and re.search(r"event=drained cut_off=0 not_acknowledged=0 unsent=0", log), log
        assert not says_it_routes(b, nid("a"))


def router_told_to_end(hosts, site):
    """It still runs: peers take 110 seconds to notice, and its only peer is gone."""
    a = hosts.node("a", "--config", one_shard(site), "--idle", "sleep", "--drain-timeout", "3600")
    b = start(hosts, "b", one_shard(site))
    known_to_each_other(a, b)
    turn_on(a)
    b.stop(signal.SIGKILL)
    a.process.send_signal(signal.SIGTERM)
    eventually("it waits for the peer", lambda: re.search("event=draining .* peers=1 ", a.output()))
    return a


def case_a_router_that_is_told_to_end_does_not_come_back(site):
    with two_hosts(site) as hosts:
        a = router_told_to_end(hosts, site)
        for wish in (("routing", "undrain"), ("set", "routing", "1"), ("routing", "drain", "--timeout", "3600")):
            assert "draining to its end" in fails(a, *wish)
        assert routing(a)["enable"] == 2 and routing(a)["change"]["phase"] == "peers notice", routing(a)
        assert a.stop(signal.SIGTERM) == 0


def case_a_second_signal_ends_a_drain(site):
    with two_hosts(site) as hosts:
        a = router_told_to_end(hosts, site)
        assert a.stop(signal.SIGTERM) == 0
        log = a.output()
        assert "event=drained " not in log and re.search("event=drain_broken_off held=0 not_acknowledged=1", log), log


def case_status_warns_of_what_is_down(site):
    def warns(node, what):
        return any(what in each["what"] for each in node.json("status")["status"]["warnings"])

    with two_hosts(site) as hosts:
        a, b = pair(hosts, site)
        assert not any(warns(a, each) for each in ("is down", "are down", "does not run"))
        add_v4(a, b)
        works(a, "route", "add", "--net", "o2ib", "--gateway", nid("b"))
        assert b.stop() == 0
        eventually("the route is down", lambda: warns(a, "1 of 1 route is down"), 30)
        ip("-n", hosts.names["a"], "link", "set", "eth0", "down")
        eventually("the interface is down", lambda: warns(a, f"{nid('a')} is down"))
        ip("-n", hosts.names["a"], "link", "set", "eth0", "up")
        eventually("and up", lambda: not warns(a, f"{nid('a')} is down"))
        works(a, "lnet", "unconfigure")
        assert warns(a, "LNet does not run")
        exported = works(a, "export")
        assert "global:" in exported and "local NI(s)" not in exported, "the rest is there"
