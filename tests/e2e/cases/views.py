# SPDX-License-Identifier: BSD-3-Clause
"""What lnetctl shows of TCP networks."""
from cases_common import one_shard, two_shards
from tcp_nodes import add_v4, nid, pair, pings, works
from site_under_test import eventually
from two_hosts import ADDRESSES, two_hosts


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
        assert works(a, "conn", "show") == "", "nobody has spoken yet"
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
        works(a, "net", "del", "--net", "tcp")
        assert works(a, "conn", "peers") == "" and works(a, "conn", "show") == ""
        works(a, "lnet", "unconfigure")
        assert a.lnetctl("conn", "show").returncode != 0, "LNet is down"
