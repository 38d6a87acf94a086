# SPDX-License-Identifier: BSD-3-Clause
"""Metrics for alerts, and the conventions of Prometheus."""
import pathlib
import re
import shutil

import metric_names
from routed_hosts import routed_hosts, start
from site_under_test import Skip, eventually
from tcp_nodes import works
from traffic_nodes import has_answered, last_words
from two_hosts import ip

RULES = pathlib.Path(__file__).resolve().parents[3] / "config" / "prometheus"


def series(node, pattern):
    return re.search(f"^{pattern}$", works(node, "metrics", "show"), re.M) is not None


def case_states_are_series_that_an_alert_can_watch(site):
    with routed_hosts(site) as hosts:
        router = start(hosts, "r0")
        client = start(hosts, "client", options="options lnet alive_router_check_interval=1 router_ping_timeout=2\n")
        near, far = hosts.nid("r0", 0), hosts.nid("r0", 1)
        assert series(router, r'plnet_build_info\{version="[^"]+"\} 1')
        eventually("the NIs are up", lambda: series(router, rf'plnet_ni_up\{{net="tcp",nid="{re.escape(near)}",interface="eth0"\}} 1'))
        assert series(router, r'plnet_routing_state\{state="enabled"\} 1') and series(router, r'plnet_routing_state\{state="disabled"\} 0')
        assert series(router, "plnet_lnet_up 1") and series(router, "plnet_routing_draining 0")
        credits = rf'\{{net="tcp",nid="{re.escape(near)}",interface="eth0"\}} [1-9]\d*'
        assert series(router, f"plnet_ni_tx_credits{credits}") and series(router, f"plnet_ni_tx_free_credits{credits}")
        eventually("a peer has credits", lambda: series(router, r'plnet_peer_nis_tx_free_credits\{net="tcp"\} [1-9]\d*'))
        route = rf'plnet_route_up\{{net="tcp1",gateway="{re.escape(near)}"\}}'
        eventually("the route is up", lambda: series(client, f"{route} 1"))
        eventually("the router knows the client", lambda: series(router, r'plnet_peers\{state="up"\} 1'))
        ip("-n", hosts.names["r0"], "link", "set", "eth1", "down")
        eventually("the NI is down", lambda: series(router, rf'plnet_ni_up\{{net="tcp1",nid="{re.escape(far)}",interface="eth1"\}} 0'))
        ip("-n", hosts.names["r0"], "link", "set", "eth0", "down")
        eventually("the route is down", lambda: series(client, f"{route} 0"))
        works(router, "lnet", "unconfigure")
        assert series(router, "plnet_lnet_up 0") and "plnet_ni_up" not in works(router, "metrics", "show")


def case_names_and_help_keep_the_conventions_of_prometheus(site):
    if shutil.which("promtool") is None:
        raise Skip("promtool is missing: apt-get install prometheus")
    with routed_hosts(site) as hosts:
        router = start(hosts, "r0", settings="    selftest:\n        enable: 1\n")
        start(hosts, "server")
        client = start(hosts, "client", "--to", hosts.nid("server"))
        has_answered(client, 100)
        eventually("there is a histogram", lambda: "_bucket{" in works(router, "metrics", "show"), 60)
        for node in (router, client):
            done = site.run("promtool", "check", "metrics", stdin=works(node, "metrics", "show"))
            assert done.returncode == 0 and not done.stdout + done.stderr, done.stdout + done.stderr
        last_words(client)


def case_alert_rules_are_about_series_that_nodes_have(site):
    rules = RULES / "plnet.rules.yaml"
    text = rules.read_text()
    alerts = re.findall(r"^ *- alert: (\w+)", text, re.M)
    assert alerts and len(re.findall(r"^ *look: .*(?:lnetctl|journalctl)", text, re.M)) == len(alerts), "each names the command that looks closer"
    if shutil.which("promtool") is None:
        raise Skip("promtool is missing: apt-get install prometheus")
    for command in (("check", "rules", str(rules)), ("test", "rules", str(RULES / "plnet.rules.test.yaml"))):
        done = site.run("promtool", *command)
        assert done.returncode == 0, done.stdout + done.stderr
    with routed_hosts(site) as hosts:
        nodes = start(hosts, "r0"), start(hosts, "client")
        eventually("the route is known", lambda: "plnet_route_up{" in works(nodes[1], "metrics", "show"))
        known = metric_names.served(*(works(node, "metrics", "show") for node in nodes))
        odd = metric_names.unknown(text, known, metric_names.recorded(text))
        assert known and not odd, odd
        # The commands are some that the node answers.
        for look in set(re.findall(r"lnetctl ([a-z -]+(?:-v 1)?)", text)):
            works(nodes[0], *look.split())
