# SPDX-License-Identifier: BSD-3-Clause
"""On a router: the sources of the load, and the causes of messages that are not forwarded."""
import re
import time

from routed_hosts import routed_hosts
from site_under_test import eventually
from tcp_nodes import counted, works
from traffic_nodes import IMPATIENT, count, has_answered, last_words, plan

OPERATIONS = 400


def start(hosts, name, *arguments):
    site = hosts.site
    words = ["--config", site.write(f"{name}.yaml", hosts.networks(name) + plan(1)), "--idle", "sleep", "--options", site.write("routed.conf", IMPATIENT)]
    if name in hosts.routers:
        return hosts.node(name, *words)
    return hosts.node(name, *words, "--window", "4", "--stay", *arguments, program=site.program("lnet-traffic"))


def top(node, by):
    """Its figures by name, and their period in seconds."""
    answer = node.json("top", "--by", by)["top"]
    assert answer["by"] == by, answer
    return {row[by]: row for row in answer["load"]}, answer["of the last sec"]


class OwnCount:
    """The number of a node's operations that were answered, and the time."""

    def __init__(self):
        self.node, self.seen = None, [(time.monotonic(), 0)]

    def look(self):
        self.seen.append((time.monotonic(), count(self.node, "answered")))

    def per_second(self, seconds):
        """The rate over the latest period."""
        self.look()
        now, answered = self.seen[-1]
        then, before = min(self.seen[:-1], key=lambda each: abs(now - seconds - each[0]))
        return (answered - before) / (now - then)


def fits(estimate, own):
    """One message of sixteen is sampled, and periods are whole seconds."""
    assert own / 2 < estimate < own * 2, f"estimated {estimate}, and it was {own}"


def metric(node, name, label):
    """None: the metric is missing."""
    found = re.search(rf"^{name}{{{re.escape(label)}}} (\S+)$", works(node, "metrics", "show"), re.MULTILINE)
    return found and float(found.group(1))


def case_a_router_reports_the_sources_of_the_load(site):
    with routed_hosts(site) as hosts:
        own = OwnCount()  # counts from before the router started
        router = start(hosts, "r0")
        start(hosts, "server")
        client = own.node = start(hosts, "client", "--to", hosts.nid("server"))
        has_answered(client, OPERATIONS, 90)

        def is_in_prometheus():
            own.look()
            return metric(router, "plnet_top_hop_p99_seconds", f'hop="{hosts.nid("server")}"') is not None

        eventually("Prometheus has it as well", is_in_prometheus, 30)
        # All since start, updated with the other metrics.
        fits(metric(router, "plnet_top_hop_duration_seconds_count", f'hop="{hosts.nid("server")}"'), count(client, "answered"))
        # Each operation is one message of the client, and one response of the server.
        for by, names in (("nid", (hosts.nid("client"), hosts.nid("server"))), ("net", ("tcp -> tcp1", "tcp1 -> tcp")),
                          ("hop", (hosts.nid("server"), hosts.nid("client")))):
            rows, seconds = top(router, by)
            assert seconds > 5, "it has been there for so long"
            for name in names:
                fits(rows[name]["messages per sec"], own.per_second(seconds))
        assert "none" in top(router, "portal")[0], "answers have no portal"
        last_words(client)
        whole = {what: int(n) for what, n in re.findall(r"^        (p50|p90|p99|max): (\d+)$", client.output(), re.MULTILINE)}
        for name in names:
            times = {what: rows[name][f"{what} usec"] for what in ("p50", "p90", "p99", "max")}
            assert 0 < times["p50"] and list(times.values()) == sorted(times.values()), rows
            # The time to the next hop is a part of the operation's time. Rare values are samples,
            # rounded up by a half at most.
            assert times["p50"] <= whole["p50"] and times["p90"] <= whole["p90"], (name, times, whole)
            assert times["p99"] <= 2 * whole["p99"] and times["max"] <= 2 * whole["max"], (name, times, whole)


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
        assert explained()["why"] == "access rule 0 forbids it: this node drops the message"
        eventually("messages are refused", lambda: counted(router, "lnet_cause", "dropped_access") > 0)
        assert router.json("access", "show")["access"][0]["matched"] >= counted(router, "lnet_cause", "dropped_access") > 0
        works(router, "access", "del", "--all")
        has_answered(client, count(client, "answered") + 10, 90)
        last_words(client)
