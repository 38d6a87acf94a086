# SPDX-License-Identifier: BSD-3-Clause
"""lnetctl's views of TCP networks."""
from cases_common import one_shard, two_shards
from tcp_nodes import add_v4, answers, counted, fails, nid, pair, pings, start, works
from site_under_test import eventually
from two_hosts import ADDRESSES, ip, two_hosts


def connections(node, *words):
    return node.json("conn", "show", *words).get("conn", [])


def conn_peers(node, *words):
    return node.json("conn", "peers", *words).get("conn peer", [])


def wait_for_all(node):
    eventually("control and bulk connections are open",
               lambda: sorted(c["type"] for c in connections(node) if c["state"] == "open") == ["C", "I", "I", "O", "O"])


def check_connections(site, config):
    with two_hosts(site) as hosts:
        a, b = pair(hosts, site, config)
        add_v4(a, b)
        assert works(a, "conn", "show") == "", "no peer has sent anything yet"
        pings(a, nid("b"))
        wait_for_all(a)
        wait_for_all(b)
        ours = {c["local"]: c for c in connections(a, "-v")}
        theirs = {c["remote"]: c for c in connections(b, "-v")}
        assert ours.keys() == theirs.keys() and len(ours) == 5, (ours, theirs)
        inverse = {"C": "C", "I": "O", "O": "I"}
        for address, mine in ours.items():
            other = theirs[address]
            assert mine["nid"] == nid("b") and mine["pid"] == 12345 and mine["local nid"] == nid("a"), mine
            assert mine["remote"] == other["local"] == f"{ADDRESSES['b'][0]}:988", (mine, other)
            assert inverse[mine["type"]] == other["type"], (mine, other)
            assert (mine["initiator"], other["initiator"]) == ("us", "peer") and mine["protocol"] == 3, (mine, other)
            assert mine["statistics"]["send_count"] == other["statistics"]["recv_count"], (mine, other)
            assert mine["tx_buffer_size"] > 0 and mine["rx_buffer_size"] > 0 and mine["nagle"] is False, mine
            assert mine["tcp info"]["cwnd"] > 0 and mine["tcp info"]["unacked_bytes"] == 0, mine
            assert mine["age_msec"] >= 0 and mine["last_send_msec"] >= 0, mine
        control = next(c for c in ours.values() if c["type"] == "C")
        assert control["statistics"]["send_count"] == control["statistics"]["recv_count"] == 1, control
        assert {c["shard"] for c in ours.values()} <= {0, 1}, ours
        assert connections(a, "--net", "tcp9") == [] and connections(a, "--nid", "10.88.0.9@tcp") == []
        assert len(connections(a, "--net", "tcp", "--nid", nid("b"))) == 5
        assert "      type: C\n" in works(a, "conn", "show", "--nid", nid("b"))


def case_connections_are_shown_with_one_shard(site):
    check_connections(site, one_shard(site))


def case_connections_are_shown_with_two_shards(site):
    check_connections(site, two_shards(site))


def case_long_lists_of_connections_are_shown_whole(site):
    nets = ["tcp"] + [f"tcp{n}" for n in range(1, 8)]
    with two_hosts(site) as hosts:
        a, b = pair(hosts, site, two_shards(site))
        for net in nets:
            for node in (a, b):
                works(node, "net", "add", "--net", net, "--if", "eth0")
            pings(a, nid("b", net=net))
        eventually("all connections are open",
                   lambda: sum(c["state"] == "open" for c in connections(a)) == 5 * len(nets))
        shown = connections(a, "-v")
        assert len({c["local"] for c in shown}) == len(shown), "each of them once"
        assert {c["local nid"] for c in shown} == {nid("a", net=net) for net in nets}, shown
        assert len(connections(a, "--net", "tcp3")) == 5
        assert len(conn_peers(a)) == len(nets)


def case_peers_of_tcp_are_shown(site):
    with two_hosts(site) as hosts:
        a, b = pair(hosts, site)
        add_v4(a)
        assert a.lnetctl("ping", "--timeout", "1", nid("b")).returncode != 0, "it has no network yet"
        (peer,) = conn_peers(a, "-v")
        assert peer["nid"] == nid("b") and peer["connections"] == 0 and peer["remote"] == "10.88.0.2:988", peer
        assert peer["backoff_msec"] >= 1000 and "incarnation" not in peer, peer
        add_v4(b)
        eventually("they find each other", lambda: a.lnetctl("ping", "--timeout", "2", nid("b")).returncode == 0)
        wait_for_all(a)
        (peer,) = conn_peers(a, "-v", "--nid", nid("b"))
        assert peer["state"] == "open" and peer["by type"] == {"C": 1, "I": 2, "O": 2}, peer
        assert peer["wanted"] == 5 and peer["incarnation"] > 0 and peer["protocol"] == 3, peer
        assert peer["max_ni_tx_credits"] == peer["available_tx_credits"] == 8, peer
        assert peer["waiting_count"] == peer["queued_count"] == 0 and peer["backoff_msec"] == 0, peer
        gauges = {row: counted(a, "lnd_tcp", row) for row in ("peers", "open", "open_control", "open_bulk_in", "open_bulk_out")}
        assert gauges == {"peers": 1, "open": 5, "open_control": 1, "open_bulk_in": 2, "open_bulk_out": 2}, gauges
        assert "plnet_lnd_tcp_open_bulk_in" in works(a, "metrics", "show")
        works(a, "net", "del", "--net", "tcp")
        assert works(a, "conn", "peers") == "" and works(a, "conn", "show") == ""
        works(a, "lnet", "unconfigure")
        assert a.lnetctl("conn", "show").returncode != 0, "LNet is down"


def parameters(node):
    ni = node.json("net", "show", "-v", "3", "--net", "tcp")["net"][0]["local NI(s)"][0]
    return ni["ksocklnd parameters"], ni["lnd tunables"], ni["tunables"]


def case_tunables_in_force_are_shown(site):
    with two_hosts(site) as hosts:
        options = site.write("modprobe.conf", "options ksocklnd nagle=1 keepalive=11 credits=99\n")
        node = hosts.node("a", "--config", one_shard(site), "--options", options)
        works(node, "net", "add", "--net", "tcp", "--if", "eth0", "--conns-per-peer", "3", "--tos", "16", "--peer-credits", "4")
        values, lnd, tunables = parameters(node)
        assert (values["nagle"], values["keepalive"], values["credits"], values["tos"]) == (1, 11, 99, 16), values
        assert values["conns_per_peer"] == lnd["conns_per_peer"] == 3 and values["sock_timeout"] == lnd["timeout"] == 50, values
        assert tunables["credits"] == 99 and tunables["peer_credits"] == 4, tunables
        again = site.write("shown.yaml", works(node, "net", "show", "-v", "3"))
        works(node, "import", again)


def case_tunables_change_live(site):
    with two_hosts(site) as hosts:
        a, b = pair(hosts, site, two_shards(site))
        add_v4(a, b)
        pings(a, nid("b"))
        wait_for_all(a)
        works(a, "set", "ksocklnd.sock_timeout", "20")
        works(a, "set", "keepalive", "0x10")
        values, lnd, _ = parameters(a)
        assert values["sock_timeout"] == lnd["timeout"] == 20 and values["keepalive"] == 16, (values, lnd)
        for node in (a, b):
            works(node, "net", "set", "--net", "tcp", "--conns-per-peer", "4")
        assert parameters(a)[1]["conns_per_peer"] == 4
        pings(a, nid("b"))
        eventually("the connections that are wanted now are made",
                   lambda: sum(c["state"] == "open" for c in connections(a)) == 9)
        works(a, "net", "set", "--net", "tcp", "--lnd-timeout", "7")
        assert parameters(a)[1]["timeout"] == 7
        backup = works(a, "export", "--backup")
        assert "ksocklnd.keepalive" in backup and "conns_per_peer: 4" in backup, backup
        saved = site.write("saved.yaml", backup)
        works(a, "import", saved)
        assert works(a, "export", "--backup") == backup
        pings(a, nid("b"))


def case_tunables_that_cannot_change_are_refused(site):
    with two_hosts(site) as hosts:
        node = start(hosts, "a", one_shard(site))
        add_v4(node)
        before = works(node, "export", "--backup")
        said = fails(node, "set", "ksocklnd.credits", "99")
        assert "read when the node starts" in said and "options ksocklnd credits=99" in said, said
        for value in ("", "many", "99999999999999999999", "1e3", "'"):
            assert "sock_timeout" in fails(node, "set", "ksocklnd.sock_timeout", value), value
        assert "expected one of" in fails(node, "set", "ksocklnd.nothing", "1")
        assert "conns_per_peer" in fails(node, "net", "set", "--net", "tcp", "--conns-per-peer", "128")
        assert "no such NI" in fails(node, "net", "set", "--nid", "10.88.0.9@tcp", "--conns-per-peer", "2")
        works(node, "net", "add", "--nid", "10.0.0.1@tcp7", "--driver", "null")
        assert "its driver has no" in fails(node, "net", "set", "--net", "tcp7", "--conns-per-peer", "2")
        works(node, "net", "del", "--net", "tcp7")
        assert works(node, "export", "--backup") == before


def case_options_without_effect_are_reported_on_import(site):
    with two_hosts(site) as hosts:
        node = start(hosts, "a", one_shard(site))
        options = site.write("o.conf", "options ksocklnd sock_timeout=21 bogus=1\noptions lnet config_on_load=1\n")
        plan = node.json("import", "--options", "--plan", options)
        assert plan["changes"][0]["applies"] == "live" and len(plan["notes"]) == 2, plan
        done = node.lnetctl("import", "--options", options)
        assert done.returncode == 0 and done.stdout == "", done
        assert "o.conf:1:34: option 'bogus' of ksocklnd" in done.stderr and "config_on_load" in done.stderr, done.stderr
        add_v4(node)
        assert parameters(node)[0]["sock_timeout"] == 21
        waits = site.write("waits.conf", "options ksocklnd credits=99\n")
        assert "needs a restart" in fails(node, "import", "--options", waits)


def status(node, net):
    return node.json("net", "show", "-v", "2", "--net", net)["net"][0]["local NI(s)"][0]


def case_an_interface_that_goes_takes_its_ni_down(site):
    with two_hosts(site) as hosts:
        a, b = pair(hosts, site)
        add_v4(a, b)
        pings(a, nid("b"))
        assert status(a, "tcp")["status"] == "up"

        def told():
            return counted(a, "lnet_ping_target", "ping_statuses_changed")

        for undo, redo in ((("link", "set", "eth0", "down"), ("link", "set", "eth0", "up")),
                           (("address", "del", "10.88.0.1/24", "dev", "eth0"), ("address", "add", "10.88.0.1/24", "dev", "eth0"))):
            before = told()
            ip("-n", hosts.names["a"], *undo)
            eventually("the NI is down", lambda: status(a, "tcp")["status"] == "down")
            assert status(a, "tcp")["health stats"]["fatal_error"] == 1
            eventually("ping replies show it", lambda: told() == before + 1)
            ip("-n", hosts.names["a"], *redo)
            eventually("the NI is up again", lambda: status(a, "tcp")["status"] == "up")
            assert status(a, "tcp")["health stats"]["fatal_error"] == 0
            eventually("they find each other", lambda: answers(a, nid("b")))
