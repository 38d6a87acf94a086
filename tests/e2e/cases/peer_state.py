# SPDX-License-Identifier: BSD-3-Clause
"""Reports about peers: state, recovery pings, and gateways named by any of their NIDs."""
import signal

from cases_common import one_shard
from routed_hosts import routed_hosts, start
from site_under_test import eventually
from tcp_nodes import add_v4, fails, works
from tcp_nodes import start as start_on
from traffic_nodes import IMPATIENT, count, has_answered, is_clean, last_words
from two_hosts import two_hosts

# Longer than the response timeout, and than the ping interval at that time.
PATIENCE_S = 90


def told(node, nid):
    peer, = node.json("peer", "show", "--nid", nid, "-v", "2")["peer"]
    interface, = [each for each in peer["peer ni"] if each["nid"] == nid]
    return interface


def state(node, nid):
    return told(node, nid)["state"]


def pings(node, nid):
    health = told(node, nid)["health stats"]
    return health["ping_count"], health["next_ping"]


def state_in_debugfs(node, nid):
    row, = [line.split() for line in works(node, "debugfs", "peers").splitlines() if line.split()[0] == nid]
    return row[2]


def case_a_router_reports_a_server_down_and_up(site):
    with routed_hosts(site) as hosts:
        router = start(hosts, "r0", options=IMPATIENT)
        server = start(hosts, "server", options=IMPATIENT)
        client = start(hosts, "client", "--to", hosts.nid("server"), options=IMPATIENT)
        has_answered(client, 50)
        ours, theirs = hosts.nid("client"), hosts.nid("server")
        eventually("both are up", lambda: state(router, ours) == state(router, theirs) == "up")
        eventually("peers that are up are not pinged", lambda: pings(router, theirs) == (0, 0))
        assert state(client, hosts.nid("r0", 0)) == "up", "all views show the gateway"
        assert state(client, theirs) == "NA", "the client forwards nothing"
        server.stop(signal.SIGKILL)
        eventually("the router reports that the server is down", lambda: state(router, theirs) == "down", PATIENCE_S)
        assert state_in_debugfs(router, theirs) == "down"
        assert state(router, ours) == "up"
        eventually("it is pinged", lambda: pings(router, theirs)[0] > 0, PATIENCE_S)
        assert pings(router, theirs)[1] > 0
        server = start(hosts, "server", options=IMPATIENT, life="-again")
        eventually("the router reports that the server is up", lambda: state(router, theirs) == "up", PATIENCE_S)
        eventually("it is pinged no more", lambda: pings(router, theirs) == (0, 0))
        has_answered(client, count(client, "answered") + 50, PATIENCE_S)
        is_clean(server)
        last_words(client)


def routes(node, *words):
    return [(each["net"], each["gateway"]) for each in node.json("route", "show", *words).get("route", [])]


def case_a_gateway_is_named_by_any_of_its_nids_or_by_a_range(site):
    with two_hosts(site) as hosts:
        a = start_on(hosts, "a", one_shard(site))
        add_v4(a)
        works(a, "peer", "add", "--prim_nid", "10.88.0.7@tcp", "--nid", "10.88.0.8@tcp")
        for net, gateway in (("o2ib", "10.88.0.7@tcp"), ("o2ib1", "10.88.0.7@tcp"), ("o2ib1", "10.88.0.9@tcp")):
            works(a, "route", "add", "--net", net, "--gateway", gateway)
        assert sorted(routes(a, "--gateway", "10.88.0.[7-8]@tcp")) == [("o2ib", "10.88.0.7@tcp"), ("o2ib1", "10.88.0.7@tcp")]
        assert routes(a, "--gateway", "10.88.0.[8-9]@tcp") == [("o2ib1", "10.88.0.9@tcp")]
        assert "errno: -22" in fails(a, "route", "show", "--gateway", "10.88.0.[8-@tcp")
        for stranger in ("10.88.0.9@tcp", "10.88.0.10@tcp"):
            assert "errno: -2" in fails(a, "route", "del", "--net", "o2ib", "--gateway", stranger)
        works(a, "route", "del", "--net", "o2ib", "--gateway", "10.88.0.8@tcp")
        assert sorted(routes(a)) == [("o2ib1", "10.88.0.7@tcp"), ("o2ib1", "10.88.0.9@tcp")]
        assert [each["net"] for each in a.json("export", "--backup")["route"]] == ["o2ib1", "o2ib1"], "neither is it configured any more"
