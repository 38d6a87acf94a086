# SPDX-License-Identifier: BSD-3-Clause
"""Selection policies at work: two hosts with two addresses each, and the addresses that messages use."""
from tcp_nodes import fails, nid, start, works
from two_hosts import two_hosts
from two_rails import SECOND, both, nis, peer_nis, used



def case_policies_decide_which_interfaces_messages_take(site):
    with two_hosts(site) as hosts:
        a, b = both(hosts, site)
        ours, theirs = {nid("a"), SECOND["a"]}, {nid("b"), SECOND["b"]}
        assert used(a, nid("b")) == (ours, theirs), "in turn by default"
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
