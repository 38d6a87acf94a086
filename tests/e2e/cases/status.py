# SPDX-License-Identifier: BSD-3-Clause
"""The page of `lnetctl status` on routers in good order and in trouble, and the commands that its warnings name."""
import re
import shlex
import signal

import script_peer
from cases_common import one_shard
from routed_hosts import routed_hosts, start
from script_peer import ScriptPeer
from site_under_test import eventually
from tcp_nodes import add_v4, fails, nid, pair, pings, works
from traffic_nodes import has_answered, last_words
from two_hosts import ADDRESSES, inside, ip, two_hosts

QUICK = "options lnet alive_router_check_interval=1 router_ping_timeout=2\n"


def page(node):
    """Its lines up to the first warning."""
    return works(node, "status").split("\n\n")[0].splitlines()


def verdict(node):
    return node.json("status")["status"]["verdict"]


def looks_closer(node, what):
    """What the command of that warning prints."""
    (warning,) = [each for each in node.json("status")["status"]["warnings"] if what in each["what"]]
    assert warning["fix"].startswith("lnetctl "), warning
    return warning, works(node, *shlex.split(warning["fix"].split(";")[0])[1:])


def case_a_router_in_good_order_fills_a_page_at_most(site):
    with routed_hosts(site) as hosts:
        router = start(hosts, "r0", options=QUICK)
        start(hosts, "server", options=QUICK)
        client = start(hosts, "client", "--to", hosts.nid("server"), options=QUICK)
        has_answered(client, 100)
        eventually("it forwards", lambda: router.json("status")["status"]["rates"]["forwarded"] > 0)
        lines = page(router)
        assert lines[0] == "verdict   forwarding; nothing is wrong", lines
        assert len(lines) <= 24 and all(len(line) <= 160 for line in lines), lines
        assert [line.split()[0] for line in lines if not line.startswith(" ")] == [
            "verdict", "node", "routing", "networks", "routes", "peers", "rates", "drops", "rules", "pollers"], lines
        shard = router.json("cpt", "show", "-v", "1")["cpt"][0]["shards"][0]
        assert shard["cycles per message"] > 0 and shard["duty cycle percent"] > 0, shard
        assert "\033" not in works(router, "status")
        last_words(client)


def case_a_dead_gateway_is_the_verdict_and_its_command_shows_the_cause(site):
    with routed_hosts(site, routers=2) as hosts:
        routers = [start(hosts, name, options=QUICK) for name in hosts.routers]
        start(hosts, "server", options=QUICK)
        client = start(hosts, "client", "--to", hosts.nid("server"), options=QUICK)
        has_answered(client, 100)
        assert verdict(client) == "up, not a router; nothing is wrong", verdict(client)
        hosts.link("r1", 0, "down")
        eventually("a route is down", lambda: "; 1 of 2 routes down" in verdict(client))
        (route,) = client.json("status")["status"]["routes"]["those down"]
        assert route["gateway"] == hosts.nid("r1", 0) and route["cause"], route
        warning, shown = looks_closer(client, "routes is down")
        assert route["cause"] in warning["why"] and f"state cause: {route['cause']}" in shown, (warning, shown)
        # The router whose link is gone says so itself.
        assert "1 of 2 NIs down" in verdict(routers[1]), verdict(routers[1])
        warning, shown = looks_closer(routers[1], f"{hosts.nid('r1', 0)} is down")
        assert "status cause:" in shown and warning["why"].split(":")[0] in shown, (warning, shown)
        hosts.link("r1", 0, "up")
        eventually("all is well", lambda: client.json("status")["status"]["routes"]["down"] == 0, 60)


def case_routing_that_is_off_drops_and_is_told_with_its_cause(site):
    with two_hosts(site) as hosts:
        a, b = pair(hosts, site)
        add_v4(a, b)
        works(b, "net", "add", "--nid", "10.99.0.1@tcp1", "--driver", "null")
        works(a, "route", "add", "--net", "tcp1", "--gateway", nid("b"))
        works(b, "set", "routing", "1")
        eventually("the route is up", lambda: a.json("route", "show", "-v")["route"][0]["state"] == "up", 60)
        works(b, "fault", "drop", "add", "--source", "*", "--dest", "10.99.0.7@tcp1", "--rate", "1")
        works(b, "access", "add", "--action", "deny", "--for", "forward", "--dest", "10.99.0.9@tcp1")

        def is_told():
            a.lnetctl("ping", "--timeout", "1", "10.99.0.9@tcp1")
            return "dropped in the last minute" in verdict(b)

        eventually("the drop is told", is_told, 60)
        text = works(b, "status")
        assert re.search(r"^drops +\d+ in the last minute \(\d+ in all\): .*access rule.*\(dropped_access\)$", text, re.M), text
        assert re.search(r"^rules +1 access rule \(decided \d+ times; lnetctl access show\), 1 drop rule", text, re.M), text
        works(b, "set", "routing", "0")
        eventually("routing stops", lambda: verdict(b).startswith("routing stops"), 60)


def case_a_node_that_does_not_route_names_who_sends_to_others(site):
    with two_hosts(site) as hosts:
        _, b = pair(hosts, site)
        add_v4(b)
        with inside(hosts.names["a"]):
            peer = ScriptPeer(ADDRESSES["b"][0], ADDRESSES["a"][0])
        assert peer.introduced() is not None
        eventually("the node counts by time", lambda: b.json("status")["status"]["rates"]["seconds"] > 0)
        for bits in range(3):
            peer.link.sendall(script_peer.put(peer.nid, script_peer.nid_of("10.99.0.9", 1), 9, bits, 0))
        eventually("the drops are told", lambda: "3 messages dropped in the last minute" in verdict(b))
        (warning,) = [each for each in b.json("status")["status"]["warnings"] if "are dropped" in each["what"]]
        assert warning["what"] == "messages for other nodes are dropped: routing is off", warning
        assert warning["why"] == f"3 in the last minute; the last one: from {nid('a')} to 10.99.0.9@tcp1", warning
        assert warning["fix"].startswith("lnetctl set routing 1; "), warning
        peer.link.close()


def case_an_access_rule_that_drops_messages_is_a_warning(site):
    with routed_hosts(site) as hosts:
        router, server, client = [start(hosts, name) for name in ("r0", "server", "client")]
        works(client, "ping", hosts.nid("server"))
        works(router, "access", "add", "--action", "deny", "--for", "forward", "--source", hosts.nid("client"))
        fails(client, "ping", "--timeout", "1", hosts.nid("server"))
        eventually("it is told", lambda: "dropped in the last minute" in verdict(router))
        warning, shown = looks_closer(router, "messages for other nodes are dropped: an access rule forbids to forward them")
        assert "dropped messages: 1" in shown and "refused connections: 0" in shown, (warning, shown)
        assert warning["fix"].startswith("lnetctl access show; lnetctl route explain "), warning
        last_words(client)
        last_words(server)


def silent(node):
    return [each for each in node.json("status")["status"]["warnings"] if "does not answer" in each["what"]]


def case_a_client_names_a_silent_server_and_the_gateway_to_ask(site):
    with routed_hosts(site) as hosts:
        router, server, client = [start(hosts, name) for name in ("r0", "server", "client")]
        far, gateway = hosts.nid("server"), hosts.nid("r0", 0)
        works(client, "ping", far)
        assert verdict(client) == "up, not a router; nothing is wrong" and not silent(client), verdict(client)
        path = client.json("route", "explain", "*", far)["path"]
        assert path["reachable"] and path["gateway reachable"] and path["destination"].startswith("0 requests without"), path

        # It gets requests, and its answers find no way.
        works(server, "route", "del", "--net", "tcp", "--gateway", hosts.nid("r0", 1))
        fails(client, "ping", "--timeout", "1", far)
        eventually("the client says so", lambda: "; 1 peer does not answer" in verdict(client))
        (warning,) = silent(client)
        assert warning["what"] == f"{far} does not answer: 1 request without an answer in the last minute", warning
        assert f"the gateway ({gateway}) answers" in warning["why"] and "has no route back" in warning["why"], warning
        assert warning["fix"] == (f"on {gateway}: lnetctl ping {far}; lnetctl status; lnetctl route explain {hosts.nid('client')} {far}; "
                                  "if it answers the ping, on the peer: lnetctl status"), warning
        path = client.json("route", "explain", "*", far)["path"]
        assert not path["reachable"] and path["gateway reachable"] and path["destination"].startswith("1 request without"), path
        assert path["verdict"].endswith(path["why"]) and f"on {gateway}: lnetctl route explain" in path["why"], path
        pings(router, far)
        works(router, *shlex.split(warning["fix"].split("; ")[2])[1:])
        assert "no route to tcp can be used" in str(server.json("status")["status"]["warnings"])

        works(server, "route", "add", "--net", "tcp", "--gateway", hosts.nid("r0", 1))
        eventually("it answers again", lambda: client.lnetctl("ping", "--timeout", "1", far).returncode == 0)
        eventually("the warning ends with its answer", lambda: not silent(client))
        assert client.json("route", "explain", "*", far)["path"]["reachable"]
        last_words(client)
        last_words(server)


def case_a_network_whose_only_server_died_leads_to_that_server(site):
    """The router announces its NI there as down, since no node pings it: the route of the client goes down, too."""
    with routed_hosts(site) as hosts:
        router, server, client = [start(hosts, name, options=QUICK) for name in ("r0", "server", "client")]
        far, gateway, far_side = hosts.nid("server"), hosts.nid("r0", 0), hosts.nid("r0", 1)
        eventually("it answers", lambda: client.lnetctl("ping", "--timeout", "1", far).returncode == 0)
        server.stop(signal.SIGKILL)
        client.lnetctl("ping", "--timeout", "1", far)
        eventually("the router has not been pinged", lambda: "1 of 2 NIs down" in verdict(router), 60)
        said = {each["what"]: each for each in router.json("status")["status"]["warnings"]}
        assert "no node of its network has pinged this router" in said[f"{far_side} is down"]["why"], said
        assert "connects to port 988 are refused" in said[f"{far} cannot be reached"]["why"], said
        eventually("the route of the client is down", lambda: "1 of 1 route down" in verdict(client), 60)
        (warning,) = [each for each in client.json("status")["status"]["warnings"] if each["what"] == "1 of 1 route is down"]
        assert warning["why"].endswith("the gateway answers, and its NI on the remote network is down"), warning
        assert warning["fix"] == f"lnetctl route show -v 1; on {gateway}: lnetctl status", warning
        failed = client.lnetctl("ping", "--timeout", "1", far)
        assert "all routes to tcp1 are down (lnetctl route show -v 1)" in failed.stdout + failed.stderr, failed
        last_words(client)


def case_every_command_that_a_warning_names_exists(site):
    with two_hosts(site) as hosts:
        a, _ = pair(hosts, site, one_shard(site))
        add_v4(a)
        ip("-n", hosts.names["a"], "link", "set", "eth0", "down")
        eventually("the NI is down", lambda: "1 of 1 NI down" in verdict(a))
        for warning in a.json("status")["status"]["warnings"]:
            for command in re.findall(r"^lnetctl [^;]*", warning["fix"]):
                works(a, *shlex.split(command.split(", ")[0])[1:])
        works(a, "lnet", "unconfigure")
        assert verdict(a) == "LNet does not run", verdict(a)
