# SPDX-License-Identifier: BSD-3-Clause
"""Data over TCP between real processes: complete, once, and every operation ends, whatever happens to the other side and the
wire."""
import signal

from site_under_test import eventually
from traffic_nodes import IMPATIENT, V4, V6, answers_all, count, has_answered, is_clean, last_words, start, target_of
from two_hosts import two_hosts



def both_ways(site, shards, families, operations=800, wire=None):
    """Both sides connect, and have messages to send before the other side runs."""
    with two_hosts(site, may_be_bad=wire is not None) as hosts:
        if wire:
            vars(hosts.bad_wire).update(wire)

        def begin(side, other):
            targets = [word for family in families for word in target_of(other, family)]
            return start(hosts, side, *targets, "--count", str(operations), shards=shards, families=families)

        with hosts.unanswered("a"):
            a = begin("a", "b")
            b = begin("b", "a")
        answers_all(operations, a, b)
        for node in (a, b):
            words = last_words(node, abandoned_max=0)
            assert words["answered"] == words["delivered"] + words["served"] == operations, words


def case_one_shard(site):
    both_ways(site, 1, [V4])


def case_two_shards_over_ipv6(site):
    both_ways(site, 2, [V6])


def case_four_shards_over_both(site):
    both_ways(site, 4, [V4, V6])


def case_on_a_wire_that_loses(site):
    both_ways(site, 2, [V4], 400, {"loss": 0.02})


def case_on_a_long_wire_that_mixes_up_the_order(site):
    both_ways(site, 2, [V4], 300, {"delay_s": (0.002, 0.006), "overtakes": 0.25})


def case_the_target_is_killed_and_comes_back(site):
    with two_hosts(site) as hosts:
        b = start(hosts, "b", options=IMPATIENT)
        a = start(hosts, "a", *target_of("b"), options=IMPATIENT)
        for life in range(3):
            has_answered(a, count(a, "answered") + 200)
            is_clean(b)
            b.stop(signal.SIGKILL)
            b = start(hosts, "b", options=IMPATIENT, name=f"b{life}")
        has_answered(a, count(a, "answered") + 200)
        last_words(a)
        assert last_words(b)["delivered"] > 0


def case_the_source_is_killed_and_comes_back(site):
    with two_hosts(site) as hosts:
        b = start(hosts, "b", shards=4, options=IMPATIENT)
        for life in range(3):
            a = start(hosts, "a", *target_of("b"), shards=1, options=IMPATIENT, name=f"a{life}")
            has_answered(a, 200)
            a.stop(signal.SIGKILL)
        a = start(hosts, "a", *target_of("b"), options=IMPATIENT, name="a-last")
        has_answered(a, 200)
        last_words(a)
        eventually("nothing of the dead ones is left", lambda: hosts_idle(b))
        assert last_words(b)["delivered_twice"] == 0


def hosts_idle(node):
    """Neither node holds messages."""
    return node.json("stats", "show")["statistics"]["msgs_alloc"] == 0


def case_a_wire_that_is_cut_for_a_while(site):
    """Neither side is notified: timeouts must end operations in flight, and both must reconnect."""
    with two_hosts(site, may_be_bad=True) as hosts:
        b = start(hosts, "b", *target_of("a"), options=IMPATIENT)
        a = start(hosts, "a", *target_of("b"), options=IMPATIENT)
        has_answered(a, 200)
        has_answered(b, 200)
        failed = count(a, "failed"), count(b, "failed")
        hosts.bad_wire.is_cut = True
        eventually("a gives up what was under way", lambda: count(a, "failed") > failed[0], 40)
        eventually("b gives up what was under way", lambda: count(b, "failed") > failed[1], 40)
        hosts.bad_wire.is_cut = False
        has_answered(a, count(a, "answered") + 200)
        has_answered(b, count(b, "answered") + 200)
        last_words(a)
        last_words(b)


def case_a_host_that_vanishes_leaves_no_connections(site):
    """Half open: its node and its addresses are gone, without any FIN or RST."""
    with two_hosts(site) as hosts:
        b = start(hosts, "b", options=IMPATIENT)
        a = start(hosts, "a", *target_of("b"), options=IMPATIENT)
        has_answered(a, 200)
        hosts.link("a", "down")
        a.stop(signal.SIGKILL)
        eventually("b lets go of its half of the connections", lambda: not hosts.sockets("b"), 40)
        eventually("and of all messages", lambda: hosts_idle(b))
        last_words(b)
