# SPDX-License-Identifier: BSD-3-Clause
"""Messages through lnet-router, one of whose networks loses, delays and mixes up frames, or is cut."""
import time

from routed_hosts import buffers_home, routed_hosts, start
from site_under_test import eventually
from tcp_nodes import counted, works
from traffic_nodes import IMPATIENT, count, has_answered, is_clean, last_words

SIDE_BY_SIDE = True
CLIENT_LEG, SERVER_LEG = ("client", 0), ("server", 1)
HOP_STALL_S = 5  # the router's, after which nobody waits for a hop any more


def statistic(node, row):
    return node.json("stats", "show")["statistics"][row]


def comes_to_rest(router, *nodes):
    """Those end; nothing of theirs stays behind."""
    words = [last_words(node) for node in nodes]
    eventually("all buffers are home", lambda: buffers_home(router) and statistic(router, "msgs_alloc") == 0)
    return words


def case_the_wire_of_the_server_loses_delays_and_mixes_up(site):
    with routed_hosts(site, bad_leg=SERVER_LEG) as hosts:
        router = start(hosts, "r0")
        server = start(hosts, "server", "--to", hosts.nid("client"))
        client = start(hosts, "client", "--to", hosts.nid("server"))
        has_answered(client, 1)
        has_answered(server, 1)
        failed = {node: count(node, "failed") for node in (client, server)}  # before all were there
        lost = hosts.bad_wire.lost
        vars(hosts.bad_wire).update(loss=0.01, delay_s=(0.001, 0.003), overtakes=0.25)
        for node in (client, server):
            has_answered(node, count(node, "answered") + 150, 90)
        assert hosts.bad_wire.lost > lost
        assert all(count(node, "failed") == before for node, before in failed.items()), "TCP makes good for it"
        assert statistic(router, "drop_count") == 0, router.json("counters", "show")
        for words in comes_to_rest(router, client, server):
            assert words["delivered"] > 0


def case_the_wire_of_the_client_is_cut_until_its_hop_has_stalled(site):
    """The router hears nothing of it: TCP is patient, so what others wait behind is dropped, and no more than that."""
    with routed_hosts(site, bad_leg=CLIENT_LEG) as hosts:
        router = start(hosts, "r0", options="options ksocklnd tx_buffer_size=16384\n")
        for of in ("tiny", "small", "large"):
            works(router, "set", f"{of}_buffers", "1")
        server = start(hosts, "server", "--to", hosts.nid("client"), shards=2, options=IMPATIENT)
        client = start(hosts, "client", "--to", hosts.nid("server"), options=IMPATIENT)
        for node in (client, server):
            has_answered(node, 100)
        drops = counted(router, "lnet_cause", "dropped_hop_stalled")
        failed = {node: count(node, "failed") for node in (client, server)}
        hosts.bad_wire.is_cut = True
        # Nothing is dropped if nobody happens to wait behind what is stuck: then it has been time enough.
        until = time.monotonic() + 3 * HOP_STALL_S
        eventually("the hop to the client has stalled",
                   lambda: counted(router, "lnet_cause", "dropped_hop_stalled") > drops or time.monotonic() > until, 60)
        hosts.bad_wire.is_cut = False
        for node, before in failed.items():
            has_answered(node, count(node, "answered") + 100, 90)
            is_clean(node)
            print(f"{node.name}: {count(node, 'failed') - before} lost")
        comes_to_rest(router, client, server)
