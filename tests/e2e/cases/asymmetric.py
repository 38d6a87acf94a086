# SPDX-License-Identifier: BSD-3-Clause
"""Routes that work in one direction only: avoid_asym_router_failure and drop_asym_route."""
from routed_hosts import routed_hosts, start
from site_under_test import eventually
from tcp_nodes import counted, works
from traffic_nodes import IMPATIENT, count, has_answered, last_words

CHECKED = IMPATIENT + "options lnet alive_router_check_interval=1 router_ping_timeout=2\n"


def route(node, gateway):
    return next(each for each in node.json("route", "show", "-v", "3")["route"] if each["gateway"] == gateway)


def case_a_gateway_whose_far_side_is_dead_is_avoided_unless_that_is_switched_off(site):
    with routed_hosts(site) as hosts:
        start(hosts, "r0", options=CHECKED)
        # Its checks keep the far side up.
        server = start(hosts, "server", options=CHECKED)
        client = start(hosts, "client", options=CHECKED)
        gateway = hosts.nid("r0", 0)
        eventually("the gateway is up", lambda: route(client, gateway)["state"] == "up")
        hosts.link("r0", 1, "down")
        eventually("its far side is seen to be down", lambda: route(client, gateway)["state"] == "down")
        causes = [each["cause"] for each in route(client, gateway)["changes"]["last"]]
        assert causes[0] == "the gateway answers, and its NI on the remote network is down", causes
        last_words(client)
        client = start(hosts, "client", options=CHECKED + "options lnet avoid_asym_router_failure=0\n", life="-again")
        eventually("it answers, and that is enough", lambda: route(client, gateway)["state"] == "up")
        works(client, "ping", gateway)
        assert route(client, gateway)["state"] == "up"
        last_words(client)
        last_words(server)


def case_answers_by_a_gateway_that_is_not_ours_are_dropped_when_that_is_asked_for(site):
    with routed_hosts(site, routers=2) as hosts:
        for name in hosts.routers:
            start(hosts, name, options=IMPATIENT)
        server = start(hosts, "server", options=IMPATIENT)
        works(server, "route", "del", "--net", "tcp", "--gateway", hosts.nid("r0", 1))
        client = start(hosts, "client", "--to", hosts.nid("server"), options=IMPATIENT)
        works(client, "route", "del", "--net", "tcp1", "--gateway", hosts.nid("r1", 0))
        has_answered(client, count(client, "answered") + 50)
        assert counted(client, "lnet_cause", "dropped_asym_route") == 0
        works(client, "set", "drop_asym_route", "1")
        eventually("answers are dropped", lambda: counted(client, "lnet_cause", "dropped_asym_route") > 10)
        works(client, "set", "drop_asym_route", "0")
        has_answered(client, count(client, "answered") + 50)
        last_words(client)
        last_words(server)
