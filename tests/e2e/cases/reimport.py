# SPDX-License-Identifier: BSD-3-Clause
"""A node's own exports, imported by the node itself and by one that starts with them."""
from cases_common import one_shard, with_peers
from site_under_test import eventually
from tcp_nodes import SECOND, add_v4, fails, has_all_it_wants, knows_both, nid, pair, pings, sockets, start, works
from two_hosts import ip, two_hosts


def closed(node):
    rows = [each for each in node.json("counters", "show")["counters"] if each["object"] == "lnd_tcp"]
    return {name: sum(row[name] for row in rows) for name in rows[0] if name.startswith("closed_") or name.startswith("opened_")}


def case_an_export_taken_in_again_disturbs_nothing(site):
    with two_hosts(site) as hosts:
        a, b = pair(hosts, site)
        add_v4(a, b)
        works(a, "route", "add", "--net", "o2ib", "--gateway", nid("b"))
        pings(a, nid("b"))
        eventually("all its connections are open", lambda: has_all_it_wants(a))
        connections, ended, backup = sockets(a), closed(a), works(a, "export", "--backup")
        exported = site.write("exported.yaml", works(a, "export"))
        assert "conns_per_peer" in open(exported).read() and "conns_per_peer" not in backup
        nets = [each for each in a.json("import", "--plan", exported)["changes"] if each["path"] == "net"]
        assert nets == [], nets
        works(a, "import", exported)
        pings(a, nid("b"))
        assert sockets(a) == connections and closed(a) == ended, (closed(a), ended)
        kept = works(a, "export", "--backup")
        assert kept.split("peer:")[0] == backup.split("global:")[0], "unset options follow their defaults"


def timeouts(node):
    return {each["lnd tunables"]["timeout"] for net in node.json("net", "show", "-v")["net"] if net["net type"] == "tcp" for each in net["local NI(s)"]}


def case_timeouts_that_follow_lnets_do_so_in_an_export_too(site):
    with two_hosts(site) as hosts:
        a, b = pair(hosts, site)
        add_v4(a, b)
        pings(a, nid("b"))
        eventually("all its connections are open", lambda: has_all_it_wants(a))
        works(a, "set", "ksocklnd.sock_timeout", "0")
        before, connections = timeouts(a), sockets(a)
        works(a, "set", "transaction_timeout", "100")
        assert timeouts(a) == {a.json("global", "show")["global"]["lnd_timeout"]} != before, timeouts(a)
        exported = site.write("exported.yaml", works(a, "export"))
        nets = [each for each in a.json("import", "--plan", exported)["changes"] if each["path"] == "net"]
        assert nets == [], nets
        works(a, "import", exported)
        pings(a, nid("b"))
        assert sockets(a) == connections


def case_an_export_brings_nis_back_under_their_nids(site):
    with two_hosts(site) as hosts:
        alias = "10.88.0.77"
        ip("-n", hosts.names["a"], "address", "add", f"{alias}/24", "dev", "eth0")
        a, b = pair(hosts, site)
        add_v4(b)
        works(a, "net", "add", "--nid", f"{alias}@tcp")
        works(a, "net", "add", "--nid", nid("a", family=1))
        exported = site.write("exported.yaml", works(a, "export"))
        backup = works(a, "export", "--backup")
        works(a, "import", exported)
        assert works(a, "export", "--backup").split("peer:")[0] == backup.split("peer:")[0]
        assert a.stop() == 0
        again = start(hosts, "a", exported, name="again")
        nis = {each["nid"] for net in again.json("net", "show")["net"] for each in net["local NI(s)"]}
        assert {f"{alias}@tcp", nid("a", family=1)} <= nis, nis
        pings(again, nid("b"))


def case_refusals_name_their_place(site):
    with two_hosts(site) as hosts:
        node = start(hosts, "a", one_shard(site))
        for text, says in (("udsp:\n  - {src: tcp, rte: tcp1}\n", "f.yaml:2:5: udsp[0]: src and rte"),
                           ("net:\n  - net type: o2ib\n    local NI(s):\n      - interfaces: {0: eth0}\n", "f.yaml:4:9: network o2ib"),
                           ("plnet: {module_options: {ksocklnd.credits: lots}}\n", "f.yaml:1:26: options ksocklnd credits=lots")):
            path = site.write("f.yaml", text)
            for how in (["--plan"], []):
                said = fails(node, "import", *how, path)
                assert says in said, said
            for how in (["--check"], ["--socket", str(site.path("refused.sock")), "--instance", "refused", "--idle", "sleep"]):
                done = site.router("--config", path, *how)
                assert done.returncode == 1 and says in done.stderr, done
        twice = f"net:\n  - net type: tcp\n    local NI(s):\n      - interfaces: {{0: eth0}}\n      - nid: {nid('a')}\n"
        for how in (["--plan"], []):
            said = fails(node, "import", *how, site.write("f.yaml", twice))
            assert "f.yaml:1:1: net[0].local NI(s)[1]: the same interface or NID as NI 0" in said, "which only this machine tells: " + said


def case_peers_that_were_discovered_keep_their_connections_when_they_are_imported(site):
    with two_hosts(site) as hosts:
        a, b = pair(hosts, site)
        knows_both(hosts, a, b)
        connections, ended = sockets(a), closed(a)
        exported = site.write("exported.yaml", works(a, "export"))
        assert SECOND in open(exported).read()
        works(a, "import", exported)
        pings(a, nid("b"))
        assert sockets(a) == connections and closed(a) == ended, (closed(a), ended)
        assert a.json("peer", "show")["peer"][0]["Multi-Rail"] is True


def case_a_node_starts_with_many_peers_of_two_interfaces(site):
    """Each temporarily uses a record that only a running node can reclaim."""
    peers = "".join(f"    - primary nid: 10.99.0.{n}@tcp\n      Multi-Rail: True\n      peer ni:\n"
                    f"        - nid: 10.99.0.{n}@tcp\n        - nid: 10.99.1.{n}@tcp\n" for n in range(1, 101))
    text = with_peers(open(one_shard(site)).read(), 128) + "peer:\n" + peers
    with two_hosts(site) as hosts:
        a = start(hosts, "a", site.write("many.yaml", text))
        assert len(a.json("peer", "show")["peer"]) == 100


def case_an_address_of_the_loopback_interface_is_served_and_comes_back(site):
    """Sites with routing on their hosts have their addresses there."""
    with two_hosts(site) as hosts:
        ip("-n", hosts.names["a"], "address", "add", "10.255.0.5/32", "dev", "lo")
        wanted = {"10.255.0.5@tcp": "up", "127.0.0.1@tcp1": "up"}

        def states(node):
            return {each["nid"]: each["status"] for net in node.json("net", "show")["net"] for each in net["local NI(s)"] if each["nid"] != "0@lo"}

        a = start(hosts, "a", one_shard(site))
        for each in wanted:
            works(a, "net", "add", "--nid", each)  # it reads link states before it ends
        assert states(a) == wanted, states(a)
        exported = site.write("exported.yaml", works(a, "export"))
        assert a.stop() == 0
        again = start(hosts, "a", exported, name="again")
        assert states(again) == wanted, states(again)
        pings(again, "10.255.0.5@tcp")
