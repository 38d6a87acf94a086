# SPDX-License-Identifier: BSD-3-Clause
"""Access rules, explanations of paths and the kernel's debugfs files, on real nodes."""
from site_under_test import eventually
from tcp_nodes import add_v4, answers, counted, fails, nid, pair, pings, works
from two_hosts import two_hosts


def warnings_of_refusals(node):
    return [each for each in node.json("status")["status"]["warnings"] if "is refused" in each["what"]]


def case_refused_peers_are_counted_by_their_rule(site):
    with two_hosts(site) as hosts:
        a, b = pair(hosts, site)
        add_v4(a, b)
        works(b, "access", "add", "--action", "allow", "--for", "forward")
        works(b, "access", "add", "--action", "deny", "--for", "connect", "--source", "10.88.0.[1-1]@tcp", "--to", "tcp")
        assert not answers(a, nid("b"))
        eventually("a has tried", lambda: counted(b, "tcp_acceptor", "refused_access") > 0)
        works(a, "net", "del", "--net", "tcp")  # stops its attempts
        refused = counted(b, "tcp_acceptor", "refused_access")
        rules = b.json("access", "show")["access"]
        assert [rule["matched"] for rule in rules] == [0, refused]
        assert (rules[1]["refused connections"], rules[1]["dropped messages"]) == (refused, 0), rules
        eventually("status names it", lambda: [each["why"].split(" ")[0] for each in warnings_of_refusals(b)] == [str(refused)])
        (warning,) = warnings_of_refusals(b)
        assert warning["what"] == f"{nid('a')} is refused: access rule 1 forbids it to connect", warning
        assert warning["fix"] == "lnetctl access show", warning
        assert "; access rules refuse 1 peer" in b.json("status")["status"]["verdict"], b.json("status")["status"]["verdict"]
        logged = [line for line in b.output().splitlines() if "event=peer_refused " in line]
        assert len(logged) == 1 and f"nid={nid('a')} " in logged[0] and "access rule 1 forbids" in logged[0], logged
        assert b.json("export", "--backup")["access"] == b.json("export")["access"]
        assert "errno: -34" in fails(b, "access", "del", "--idx", "2")
        works(b, "access", "add", "--action", "allow", "--source", nid("a"), "--idx", "0")
        add_v4(a)
        eventually("the first rule lets it in", lambda: answers(a, nid("b")))
        eventually("the change of rules ends the warning", lambda: not warnings_of_refusals(b))
        works(b, "access", "del", "--all")
        assert works(b, "access", "show") == ""


def case_a_path_is_explained(site):
    with two_hosts(site) as hosts:
        a, b = pair(hosts, site)
        add_v4(a, b)
        before = a.json("route", "explain", "*", nid("b"))["path"]
        assert before["ni"] == nid("a") and before["next hop"] == nid("b") and "shard" not in before, before
        assert works(a, "peer", "show") == "", "to explain makes no peer"
        pings(a, nid("b"))
        after = a.json("route", "explain", nid("a"), nid("b"))["path"]
        assert after["shard"] == after["lane shard"] == 0 and after["peer tx credits"] == after["peer tx credits max"] == 8, after
        lost = a.json("route", "explain", nid("b"), "10.1.1.1@o2ib")["path"]
        assert lost["forwarded"] and not lost["reachable"] and "not taken" not in lost, lost
        assert a.json("route", "explain", "*", nid("a"))["path"]["ni"] == "0@lo"


def case_files_of_debugfs_are_those_of_the_kernel(site):
    with two_hosts(site) as hosts:
        a, b = pair(hosts, site)
        add_v4(a, b)
        pings(a, nid("b"))
        stats = a.json("stats", "show")["statistics"]
        fields = works(a, "debugfs", "stats").split()
        assert len(fields) == 11 and int(fields[3]) == stats["send_count"] and int(fields[8]) == stats["recv_length"], fields
        rows = [line.split() for line in works(a, "debugfs", "nis").splitlines()]
        assert [row[0] for row in rows] == ["nid", "0@lo", nid("a")], rows
        assert rows[2][1:3] == ["up", "-1"] and rows[2][4:] == ["8", "0", "256", "256", "255"], rows
        rows = [line.split() for line in works(a, "debugfs", "peers").splitlines()]
        assert rows[1][0] == nid("b") and rows[1][2:9] == ["NA", "-1", "8", "8", "8", "8", "7"], rows
        assert works(a, "debugfs", "buffers").split() == ["pages", "count", "credits", "min"]
        assert works(a, "debugfs", "routes").startswith("Routing disabled\nnet      hops priority   state router\n")
        works(a, "debugfs", "--dir", str(site.path("debugfs")))
        assert site.path("debugfs/nis").read_text() == works(a, "debugfs", "nis")
