# SPDX-License-Identifier: BSD-3-Clause
"""Nodes on two hosts that communicate over TCP."""
import concurrent.futures
import signal
import subprocess

from cases_common import one_shard, two_shards
from site_under_test import eventually
from tcp_nodes import add_v4, answers, counted, fails, nid, pair, pings, start, works
from two_hosts import NO_MAC, two_hosts


def sleeps(node):
    return sum(s["sleeps"] for c in node.json("cpt", "show", "-v")["cpt"] for s in c["shards"])


def check_both_ways(site, config):
    with two_hosts(site) as hosts:
        a, b = pair(hosts, site, config)
        add_v4(a, b)
        pings(a, nid("b"))
        pings(b, nid("a"))
        assert hosts.sockets("a"), "no connection of LNet"
        ni = a.json("net", "show", "-v", "--net", "tcp")["net"][0]["local NI(s)"][0]
        assert ni["nid"] == nid("a") and ni["interfaces"] == {"0": "eth0"}, ni
        assert ni["lnd tunables"] == {"conns_per_peer": 2, "timeout": 50, "tos": -1}, ni
        assert a.stop() == 0 and b.stop() == 0


def case_two_nodes_ping_each_other_with_one_shard(site):
    check_both_ways(site, one_shard(site))


def case_two_nodes_ping_each_other_with_two_shards(site):
    check_both_ways(site, two_shards(site))


def case_two_nodes_ping_each_other_over_ipv6(site):
    with two_hosts(site) as hosts:
        a, b = pair(hosts, site)
        for node, side in ((a, "a"), (b, "b")):
            document = site.write(f"{side}-v6.yaml", f"net: [{{net type: tcp, local NI(s): [{{nid: '{nid(side, 1)}'}}]}}]\n")
            works(node, "import", document)
        pings(a, nid("b", 1))
        pings(b, nid("a", 1))


def case_discovery_finds_all_interfaces_of_a_peer(site):
    with two_hosts(site) as hosts:
        a, b = pair(hosts, site, two_shards(site))
        add_v4(a, b)
        works(b, "net", "add", "--net", "tcp1", "--if", "eth0")
        works(a, "net", "add", "--net", "tcp1", "--if", "eth0")
        found = a.json("discover", nid("b"))["discover"][0]
        assert found["Multi-Rail"] is True, found
        assert [each["nid"] for each in found["peer_ni"]] == [nid("b"), nid("b", net="tcp1")], found


def case_a_node_that_was_killed_is_found_again(site):
    with two_hosts(site) as hosts:
        a, b = pair(hosts, site, two_shards(site))
        add_v4(a, b)
        pings(a, nid("b"))
        b.stop(signal.SIGKILL)
        b = start(hosts, "b", two_shards(site), name="b-again")
        add_v4(b)
        eventually("the node that came back answers", lambda: answers(a, nid("b")))
        pings(b, nid("a"))


def case_networks_come_and_go_with_connections_open(site):
    with two_hosts(site) as hosts:
        a, b = pair(hosts, site, two_shards(site))
        for _ in range(3):
            add_v4(a, b)
            eventually("they find each other", lambda: answers(a, nid("b")))
            works(a, "net", "del", "--net", "tcp")
            eventually("its connections are closed", lambda: not hosts.sockets("a"))
            assert not answers(b, nid("a")), "the network is gone"
            works(b, "lnet", "unconfigure")
            works(b, "lnet", "configure")
        assert a.stop() == 0 and b.stop() == 0


def case_tcp_events_are_counted(site):
    with two_hosts(site) as hosts:
        a, b = pair(hosts, site)
        add_v4(a, b)
        pings(a, nid("b"))

        assert counted(a, "lnd_tcp", "sent") == 1 and counted(b, "lnd_tcp", "received") == 1
        assert counted(a, "lnd_tcp", "opened_here") == counted(b, "tcp_acceptor", "handed_over") > 0
        assert counted(a, "tcp", "bytes_written") == counted(b, "tcp", "bytes_read") > 0
        works(a, "net", "del", "--net", "tcp")
        assert not any(each["object"] == "lnd_tcp" for each in a.json("counters", "show")["counters"])


def case_module_options_are_those_of_the_start(site):
    with two_hosts(site) as hosts:
        options = site.write("modprobe.conf", "options lnet accept_port=1988\noptions ksocklnd credits=99 conns_per_peer=1\n")
        node = hosts.node("a", "--config", one_shard(site), "--options", options)
        add_v4(node)
        ni = node.json("net", "show", "-v", "--net", "tcp")["net"][0]["local NI(s)"][0]
        assert ni["tunables"]["credits"] == 99 and ni["lnd tunables"]["conns_per_peer"] == 1, ni


def case_a_port_that_is_taken_is_named(site):
    with two_hosts(site) as hosts:
        first = start(hosts, "a", one_shard(site))
        add_v4(first)
        second = start(hosts, "a", one_shard(site), name="a-too")
        said = fails(second, "net", "add", "--net", "tcp", "--if", "eth0")
        assert "10.88.0.1:988" in said and "ksocklnd" in said, said
        assert [net["net type"] for net in second.json("net", "show")["net"]] == ["lo"]


def case_nodes_with_idle_connections_sleep(site):
    with two_hosts(site) as hosts:
        a, b = pair(hosts, site)
        add_v4(a, b)
        pings(a, nid("b"))

        def rests():
            before = sleeps(a)
            return sleeps(a) - before <= 3 and sleeps(a) > 0

        eventually("pollers sleep", rests)
        naps = sum(s["naps"] for c in a.json("cpt", "show", "-v")["cpt"] for s in c["shards"])
        assert naps == 0, "sockets wake their poller, it need not nap"


def dial(*nodes_and_targets):
    """Connects all at the same moment."""
    asking = [subprocess.Popen([node.site.program("lnetctl"), "--socket", str(node.socket), "ping", "--timeout", "10", target],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for node, target in nodes_and_targets]
    for each in asking:
        out, err = each.communicate(timeout=30)
        assert each.returncode == 0, out + err


def one_set(node):
    peers = node.json("conn", "peers", "-v")["conn peer"]
    count = peers[0]["by type"] if len(peers) == 1 else {}
    return count.get("C") in (1, 2) and count.get("I") == 2 and count.get("O") == 2 and not peers[0]["connecting"]


def case_both_sides_dial_at_once(site):
    """The loser of the race uses the other's connections, and every message is answered. Each type has as many connections as
    conns_per_peer allows; the kernel's rule for duplicates allows as many control connections."""
    with two_hosts(site) as hosts:
        a, b = pair(hosts, site, two_shards(site))
        for _ in range(3):
            add_v4(a, b)
            dial((a, nid("b")), (b, nid("a")))
            for node in (a, b):
                eventually("there is one set of connections", lambda node=node: one_set(node))
            for node in (a, b):
                works(node, "net", "del", "--net", "tcp")


def burst(node, *words):
    return node.json("ping", *words)["ping"][0]["burst"]


def case_a_burst_of_pings_tells_round_trips(site):
    with two_hosts(site) as hosts:
        a, b = pair(hosts, site, two_shards(site))
        add_v4(a, b)
        for window in (1, 16):
            told = burst(a, "--count", "500", "--window", str(window), nid("b"))
            assert (told["sent"], told["answered"], told["failed"]) == (500, 500, 0), told
            times = told["round trip usec"]
            assert 0 < times["min"] <= times["average"] <= times["max"], times
        b.stop(signal.SIGKILL)
        started = a.lnetctl("ping", "--count", "100000", "--timeout", "1", nid("b"))
        assert started.returncode != 0 and "failed to ping" in started.stderr, "gives up on a silent peer"


def case_pings_of_silent_nodes_leave_places_for_others(site):
    silent = [f"10.88.0.{last}" for last in range(100, 116)]
    with two_hosts(site) as hosts:
        a, b = pair(hosts, site)
        add_v4(a, b)
        for each in silent:
            hosts.command("a", "ip", "neigh", "add", each, "lladdr", NO_MAC, "dev", "eth0")
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            asked = pool.submit(a.lnetctl, "ping", "--timeout", "12", ",".join(f"{each}@tcp" for each in silent))
            eventually("all of them are asked", lambda: len(a.json("peer", "list").get("peer list", [])) >= len(silent))
            works(a, "ping", "--timeout", "2", nid("b"))
            assert not asked.done(), "it has not waited for them"
            assert asked.result().returncode != 0
