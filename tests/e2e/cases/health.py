# SPDX-License-Identifier: BSD-3-Clause
"""Interfaces that fail: messages are resent by other interfaces, and failed interfaces are detected as healthy again."""
from site_under_test import eventually
from tcp_nodes import nid, works
from two_hosts import two_hosts
from two_rails import PINGS, SECOND, both, nis, peer_nis, used

FULL = 1000


def resent(node):
    health = node.json("stats", "show")["statistics"]
    return health["resend_count"], health["failed_resends"]


def case_messages_dropped_by_a_peer_interface_go_to_another(site):
    with two_hosts(site) as hosts:
        a, b = both(hosts, site)
        theirs = {nid("b"), SECOND["b"]}
        assert used(a, nid("b"))[1] == theirs, "heard of"
        works(a, "fault", "drop", "add", "--source", "*@tcp", "--dest", SECOND["b"], "--rate", "1", "--health_error", "remote_dropped")
        works(a, "ping", "--count", str(PINGS), nid("b"))
        again, in_vain = resent(a)
        assert again > 0 and in_vain == 0, (again, in_vain)
        assert peer_nis(a)[SECOND["b"]]["health stats"]["health value"] < FULL
        recovering = a.json("debug", "recovery", "--peer")
        assert list(recovering["Peer NI recovery"].values()) == [SECOND["b"]], recovering
        line = f"1 peer NIs in recovery (showing 1): {SECOND['b']}"
        eventually("the log has it in the kernel's words", lambda: line in a.output())
        works(a, "fault", "drop", "del", "--all")
        eventually("it is well again", lambda: peer_nis(a)[SECOND["b"]]["health stats"]["health value"] == FULL)
        eventually("no peer is pinged any more", lambda: not a.json("debug", "recovery", "--peer"))
        assert used(a, nid("b"))[1] == theirs
        assert a.stop() == 0 and b.stop() == 0


def case_local_failures_use_the_other_interface(site):
    with two_hosts(site) as hosts:
        a, b = both(hosts, site)
        for to in (nid("b"), SECOND["b"]):
            works(a, "fault", "drop", "add", "--source", SECOND["a"], "--dest", to, "--rate", "1", "--health_error", "local_dropped")
        works(a, "ping", "--count", str(PINGS), nid("b"))
        again, in_vain = resent(a)
        assert again > 0 and in_vain == 0, (again, in_vain)
        works(a, "fault", "drop", "del", "--all")
        eventually("it is well again", lambda: nis(a)[SECOND["a"]]["health stats"]["health value"] == FULL)
        assert used(a, nid("b"))[0] == {nid("a"), SECOND["a"]}
        assert a.stop() == 0 and b.stop() == 0
