# SPDX-License-Identifier: BSD-3-Clause
"""Selection policies at work: two hosts with two addresses each, and what messages take of them."""
from cases_common import one_shard
from tcp_nodes import fails, nid, start, works
from two_hosts import ip, two_hosts

SECOND = {"a": "10.88.0.77@tcp", "b": "10.88.0.78@tcp"}
PINGS = 10


def both(hosts, site):
    nodes = {}
    for side in "ab":
        ip("-n", hosts.names[side], "address", "add", SECOND[side].replace("@tcp", "/24"), "dev", "eth0")
        nodes[side] = start(hosts, side, one_shard(site))
        for each in (nid(side), SECOND[side]):
            works(nodes[side], "net", "add", "--nid", each)
    works(nodes["a"], "discover", nid("b"))
    return nodes["a"], nodes["b"]


def nis(node):
    return {each["nid"]: each for net in node.json("net", "show", "-v", "4")["net"] for each in net["local NI(s)"]}


def peer_nis(node):
    return {each["nid"]: each for peer in node.json("peer", "show", "-v", "4")["peer"] for each in peer["peer ni"]}


def sent(shown):
    return {each: of["statistics"]["send_count"] for each, of in shown.items() if each != "0@lo"}


def used(node, to):
    """Which of our NIs and of the peer's so many pings went by."""
    before = sent(nis(node)), sent(peer_nis(node))
    works(node, "ping", "--count", str(PINGS), to)
    after = sent(nis(node)), sent(peer_nis(node))
    return tuple({each for each in now if now[each] - then[each] >= PINGS // 4} for then, now in zip(before, after))


def case_policies_decide_which_interfaces_messages_take(site):
    with two_hosts(site) as hosts:
        a, b = both(hosts, site)
        ours, theirs = {nid("a"), SECOND["a"]}, {nid("b"), SECOND["b"]}
        assert used(a, nid("b")) == (ours, theirs), "in turn, as long as nobody says otherwise"
        works(a, "udsp", "add", "--src", SECOND["a"])
        assert used(a, nid("b")) == ({SECOND["a"]}, theirs)
        works(a, "udsp", "add", "--dst", nid("b"), "--priority", "1")
        assert used(a, nid("b")) == ({SECOND["a"]}, {nid("b")})
        works(a, "udsp", "del", "--idx", "0")
        works(a, "udsp", "add", "--dst", SECOND["b"], "--src", SECOND["a"])
        shown = nis(a)[nid("a")]["udsp info"], peer_nis(a)
        assert shown[0] == {"net priority": -1, "nid priority": -1}, shown
        assert shown[1][nid("b")]["udsp info"] == {"net priority": -1, "nid priority": 1}, shown
        assert shown[1][SECOND["b"]]["udsp info"] == {"net priority": -1, "nid priority": -1, "Preferred source NIDs": {"NID-0": SECOND["a"]}}, shown
        said = fails(a, "udsp", "del", "--idx", "2")
        assert "no policy 2: there are 2" in said, said

        backup = works(a, "export", "--backup")
        policies = works(a, "udsp", "show")
        assert policies in backup and policies in works(a, "export"), backup
        works(a, "udsp", "del", "--all")
        assert works(a, "udsp", "show") == ""
        assert used(a, nid("b")) == (ours, theirs)
        works(a, "import", site.write("backup.yaml", backup))
        assert works(a, "export", "--backup") == backup
        assert a.stop() == 0
        again = start(hosts, "a", site.path("backup.yaml"), name="again")
        works(again, "discover", nid("b"))
        assert used(again, nid("b")) == (ours, {nid("b")})
        assert again.stop() == 0 and b.stop() == 0
