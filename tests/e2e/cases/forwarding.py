# SPDX-License-Identifier: BSD-3-Clause
"""Messages between two networks through lnet-router: complete, once, both ways, PUT and GET of all sizes."""
import signal
import time

from drops import HOP_AWAY, NOT_YET_OPEN, OTHER_AWAY, drops, drops_only
from routed_hosts import WINDOW, buffers_home, routed_hosts, start
from site_under_test import eventually
from tcp_nodes import counted, works
from traffic_nodes import GIVEN_UP_S, IMPATIENT, TRANSACTION_S, answers_all, count, has_answered, is_clean, last_words, losses

COPIED = "    tcp:\n        relay_bytes_min: 0\n"
OPERATIONS = 4000  # a second or two of traffic; a fault happens after a tenth of it


def statistic(node, row):
    return node.json("stats", "show")["statistics"][row]


def rests(node):
    """It holds no messages, and a router has all its buffers."""
    return statistic(node, "msgs_alloc") == 0 and (not node.name.startswith("r") or buffers_home(node))


def drops_nothing(router):
    assert statistic(router, "drop_count") == 0 and not drops(router), router.json("counters", "show")


def both_ways(site, shards, operations=2000, settings=""):
    with routed_hosts(site) as hosts:
        router = start(hosts, "r0", shards=shards, settings=settings)
        more = ("--count", str(operations))
        server = start(hosts, "server", "--to", hosts.nid("client"), *more, shards=shards)  # the
                                                                                            # router
                                                                                            # lets
                                                                                            # it
                                                                                            # wait
                                                                                            # until
                                                                                            # then
        client = start(hosts, "client", "--to", hosts.nid("server"), *more, shards=shards)
        has_answered(client, 1)
        has_answered(server, 1)
        failed = counted(router, "lnet_cause", "forward_failed")  # before both were running
        answers_all(operations, client, server)
        assert statistic(router, "route_count") >= 4 * operations, "each is a request and its answer"
        assert counted(router, "lnet_cause", "forward_failed") == failed
        drops_nothing(router)
        if shards == 1:
            handed_on = settings != COPIED
            assert (counted(router, "lnd_tcp", "relayed") > 0) == handed_on, "large payloads go from socket to socket"
            assert (counted(router, "tcp", "bytes_relayed") > 0) == handed_on
        for node in (client, server):
            words = last_words(node, abandoned_max=0)
            assert words["answered"] == words["delivered"] + words["served"] == operations, words
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
        client = start(hosts, "client", "--to", hosts.nid("server"), "--count", str(OPERATIONS), options=IMPATIENT)
        has_answered(client, 100)
        nothing = {client.name: 0}
        assert count(client, "failed") == 0 and not drops(router), router.json("counters", "show")
        killed = time.monotonic()
        server.stop(signal.SIGKILL)
        assert count(client, "begun") < OPERATIONS
        server = start(hosts, "server", options=IMPATIENT, life="-again")
        back = time.monotonic()
        lost, last_s = losses(OPERATIONS, back, nothing, client)[client.name]
        print(f"{lost} lost, the last {last_s:.1f} s after the server was back")
        # Operations in flight, and their successors after each timeout while the server was absent.
        assert lost <= WINDOW * (1 + int((back - killed) // TRANSACTION_S)), client.json("counters", "show")
        assert last_s <= GIVEN_UP_S, f"it still lost something {last_s:.1f} s after all were there"
        drops_only(router, HOP_AWAY)
        drops_only(client, OTHER_AWAY)
        drops_only(server, NOT_YET_OPEN | OTHER_AWAY)
        is_clean(server)
        last_words(client, abandoned_max=0)
        eventually("all buffers are home", lambda: buffers_home(router))


def case_the_client_is_killed_and_comes_back(site):
    with routed_hosts(site) as hosts:
        router = start(hosts, "r0", options=IMPATIENT)
        server = start(hosts, "server", options=IMPATIENT)
        for life in range(2):
            client = start(hosts, "client", "--to", hosts.nid("server"), options=IMPATIENT, life=f"-{life}")
            has_answered(client, 100)
            assert count(client, "failed") == 0, "what was before it is nothing to it"
            client.stop(signal.SIGKILL)
            eventually("nothing is left of what was for it or its own", lambda: rests(router) and rests(server))
            drops_only(router, HOP_AWAY)
            drops_only(server, OTHER_AWAY)
            is_clean(server)
        dropped = drops(router)
        client = start(hosts, "client", "--to", hosts.nid("server"), "--count", "1000", options=IMPATIENT, life="-last")
        answers_all(1000, client)
        assert drops(router) == dropped, router.json("counters", "show")
        drops_only(server, OTHER_AWAY)
        last_words(client, abandoned_max=0)
        last_words(server)
        eventually("all buffers are home", lambda: rests(router))


def case_buffers_change_under_traffic(site):
    operations = 6000
    with routed_hosts(site) as hosts:
        router = start(hosts, "r0")
        start(hosts, "server")
        client = start(hosts, "client", "--to", hosts.nid("server"), "--count", str(operations))
        for large in (4, 512, 1):
            has_answered(client, count(client, "answered") + 100)
            works(router, "set", "large_buffers", str(large))
            assert count(client, "begun") < operations
        eventually("the log names the starving pool", lambda: "event=router_buffers_starve class=large" in router.output())
        assert "large_buffers is set; `lnetctl set large_buffers N` makes more" in router.output()
        said = router.json("status")["status"]["warnings"]
        assert any(each["what"].startswith("large_buffers starve on shard") for each in said), said
        answers_all(operations, client)
        drops_nothing(router)
        last_words(client, abandoned_max=0)
        pools = router.json("routing", "show")["routing"][0]["cpt[0]"]
        eventually("all buffers are home", lambda: buffers_home(router))
        assert pools["large"]["nbuffers"] == 1 and pools["large"]["maxused"] > 1 and pools["large"]["waited"] > 0, pools
        assert counted(router, "lnet_buffers", "large_waited") == pools["large"]["waited"]
