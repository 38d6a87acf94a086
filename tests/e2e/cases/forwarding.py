# SPDX-License-Identifier: BSD-3-Clause
"""Messages between two networks through lnet-router: whole, once, both ways, PUT and GET of all sizes."""
import signal

from routed_hosts import buffers_home, routed_hosts, start
from site_under_test import eventually
from tcp_nodes import counted, works
from traffic_nodes import IMPATIENT, count, has_answered, is_clean, last_words

SIDE_BY_SIDE = True
COPIED = "    tcp:\n        relay_bytes_min: 0\n"


def statistic(node, row):
    return node.json("stats", "show")["statistics"][row]


def rests(node):
    """It holds no message of anybody, and a router has all its buffers."""
    return statistic(node, "msgs_alloc") == 0 and (not node.name.startswith("r") or buffers_home(node))


def both_ways(site, shards, operations=600, settings=""):
    with routed_hosts(site) as hosts:
        router = start(hosts, "r0", shards=shards, settings=settings)
        server = start(hosts, "server", "--to", hosts.nid("client"), shards=shards)
        client = start(hosts, "client", "--to", hosts.nid("server"), shards=shards)
        has_answered(client, 1)
        has_answered(server, 1)
        failed = counted(router, "lnet_cause", "forward_failed")  # before both were there
        has_answered(client, operations, 90)
        has_answered(server, operations, 90)
        assert count(client, "failed") == 0, client.json("counters", "show")
        assert statistic(router, "route_count") >= 4 * operations, "each is a request and its answer"
        assert counted(router, "lnet_cause", "forward_failed") == failed
        if shards == 1:
            handed_on = settings != COPIED
            assert (counted(router, "lnd_tcp", "relayed") > 0) == handed_on, "large payloads go from socket to socket"
            assert (counted(router, "tcp", "bytes_relayed") > 0) == handed_on
        last_words(client)
        last_words(server)
        eventually("all buffers are home", lambda: buffers_home(router))
        assert statistic(router, "msgs_alloc") == 0


def case_both_ways_on_one_shard(site):
    both_ways(site, 1)


def case_both_ways_on_two_shards(site):
    both_ways(site, 2)


def case_both_ways_with_all_payloads_copied(site):
    both_ways(site, 1, settings=COPIED)


def case_the_server_is_killed_and_comes_back(site):
    with routed_hosts(site) as hosts:
        router = start(hosts, "r0", options=IMPATIENT)
        server = start(hosts, "server", options=IMPATIENT)
        client = start(hosts, "client", "--to", hosts.nid("server"), options=IMPATIENT)
        has_answered(client, 100)
        server.stop(signal.SIGKILL)
        server = start(hosts, "server", options=IMPATIENT, life="-again")
        has_answered(client, count(client, "answered") + 100, 90)
        is_clean(server)
        last_words(client)
        eventually("all buffers are home", lambda: buffers_home(router))


def case_the_client_is_killed_and_comes_back(site):
    with routed_hosts(site) as hosts:
        router = start(hosts, "r0", options=IMPATIENT)
        server = start(hosts, "server", options=IMPATIENT)
        for life in range(2):
            client = start(hosts, "client", "--to", hosts.nid("server"), options=IMPATIENT, life=f"-{life}")
            has_answered(client, 100)
            client.stop(signal.SIGKILL)
            eventually("nothing is left of what was for it or its own", lambda: rests(router) and rests(server))
            is_clean(server)
        client = start(hosts, "client", "--to", hosts.nid("server"), options=IMPATIENT, life="-last")
        has_answered(client, 100)
        last_words(client)
        last_words(server)
        eventually("all buffers are home", lambda: rests(router))


def case_buffers_change_under_traffic(site):
    with routed_hosts(site) as hosts:
        router = start(hosts, "r0")
        start(hosts, "server")
        client = start(hosts, "client", "--to", hosts.nid("server"))
        for large in (4, 512, 1):
            works(router, "set", "large_buffers", str(large))
            has_answered(client, count(client, "answered") + 100)
        assert count(client, "failed") == 0
        eventually("the log says what starves", lambda: "event=router_buffers_starve class=large" in router.output())
        assert "large_buffers is set; `lnetctl set large_buffers N` makes more" in router.output()
        said = router.json("status")["status"]["warnings"]
        assert any(each["what"].startswith("large_buffers starve on shard") for each in said), said
        last_words(client)
        pools = router.json("routing", "show")["routing"][0]["cpt[0]"]
        eventually("all buffers are home", lambda: buffers_home(router))
        assert pools["large"]["nbuffers"] == 1 and pools["large"]["maxused"] > 1 and pools["large"]["waited"] > 0, pools
        assert counted(router, "lnet_buffers", "large_waited") == pools["large"]["waited"]
