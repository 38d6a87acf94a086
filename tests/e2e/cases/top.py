# SPDX-License-Identifier: BSD-3-Clause
"""At a router: who makes the load, and why a message is not forwarded."""
from routed_hosts import routed_hosts
from site_under_test import eventually
from tcp_nodes import counted, works
from traffic_nodes import IMPATIENT, count, has_answered, last_words, plan

SIDE_BY_SIDE = True
OPERATIONS = 400


def start(hosts, name, *arguments):
    site = hosts.site
    words = ["--config", site.write(f"{name}.yaml", hosts.networks(name) + plan(1)), "--idle", "sleep", "--options", site.write("routed.conf", IMPATIENT)]
    if name in hosts.routers:
        return hosts.node(name, *words)
    return hosts.node(name, *words, "--window", "4", "--stay", *arguments, program=site.program("lnet-traffic"))


def top(node, by):
    answer = node.json("top", "--by", by)["top"]
    assert answer["by"] == by, answer
    return {row[by]: row for row in answer["load"]}


def case_a_router_tells_who_makes_the_load(site):
    with routed_hosts(site) as hosts:
        router = start(hosts, "r0")
        start(hosts, "server")
        client = start(hosts, "client", "--to", hosts.nid("server"))
        has_answered(client, OPERATIONS, 90)
        nids = top(router, "nid")
        assert nids[hosts.nid("client")]["messages per sec"] > 0 and hosts.nid("server") in nids, nids
        nets = top(router, "net")
        assert set(nets) >= {"tcp -> tcp1", "tcp1 -> tcp"}, nets
        hops = top(router, "hop")
        for name in ("client", "server"):
            times = [hops[hosts.nid(name)][f"{what} usec"] for what in ("p50", "p90", "p99", "max")]
            assert 0 < times[0] and times == sorted(times), hops
        assert "none" in top(router, "portal"), "answers have no portal"
        eventually("Prometheus has it as well", lambda: "plnet_top_hop_p99_seconds{" in works(router, "metrics", "show"), 30)
        assert f'plnet_top_hop_duration_seconds_count{{hop="{hosts.nid("server")}"}}' in works(router, "metrics", "show")
        last_words(client)


def case_a_router_tells_why_it_does_not_forward(site):
    with routed_hosts(site) as hosts:
        router = start(hosts, "r0")
        start(hosts, "server")
        client = start(hosts, "client", "--to", hosts.nid("server"))
        has_answered(client, 10)

        def explained():
            path = router.json("route", "explain", hosts.nid("client"), hosts.nid("server"))["path"]
            assert path["forwarded"] and path["next hop"] == hosts.nid("server"), path
            return path

        assert "notes" not in explained(), explained()
        misled = router.json("route", "explain", hosts.nid("client"), "10.99.99.99@tcp")["path"]
        assert not misled["reachable"] and "rejected_not_direct" in misled["why"], misled
        works(router, "access", "add", "--action", "deny", "--for", "forward", "--from", "tcp", "--to", "tcp1")
        assert explained()["notes"] == ["access rule 0 forbids it: this node drops the message"]
        eventually("messages are refused", lambda: counted(router, "lnet_cause", "dropped_access") > 0)
        assert router.json("access", "show")["access"][0]["matched"] >= counted(router, "lnet_cause", "dropped_access") > 0
        works(router, "access", "del", "--all")
        has_answered(client, count(client, "answered") + 10, 90)
        last_words(client)
