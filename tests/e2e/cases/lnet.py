# SPDX-License-Identifier: BSD-3-Clause
"""LNet inside the node, controlled with lnetctl: on lo, and on a network of the null driver."""
import os
import signal

from cases_common import one_shard, two_shards
from site_under_test import eventually

NET = """
net:
    - net type: {net}
      local NI(s):
        - nid: {nid}
          lnd tunables:
              driver: 'null'
"""


def nodes(site):
    """The same node with one poller and with two, which sleep without work."""
    yield site.node("--config", one_shard(site), "--idle", "sleep", name="one")
    yield site.node("--config", two_shards(site), "--idle", "sleep", name="two")


def null_net(site, node, nid="10.0.0.1@tcp"):
    document = site.write(f"{node.name}-net.yaml", NET.format(net=nid.split("@")[1], nid=nid))
    done = node.lnetctl("import", document)
    assert done.returncode == 0, done.stdout + done.stderr


def works(node, *words):
    done = node.lnetctl(*words)
    assert done.returncode == 0, f"lnetctl {' '.join(words)}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def fails(node, *words, stdin=None):
    done = node.lnetctl(*words, stdin=stdin)
    assert done.returncode != 0, f"lnetctl {' '.join(words)} should fail: {done.stdout}"
    assert "errno: -" in done.stderr and "descr:" in done.stderr, done.stderr
    return done.stderr


def nids(node):
    return [ni["nid"] for net in node.json("net", "show")["net"] for ni in net["local NI(s)"]]


def peers(node):
    return {peer["primary nid"]: peer for peer in node.json("peer", "show", "-v", "3").get("peer", [])}


def cpu_ticks(node):
    with open(f"/proc/{node.process.pid}/stat", encoding="ascii") as line:
        fields = line.read().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


def case_lo_is_there_from_the_start_and_answers(site):
    for node in nodes(site):
        for level in range(5):
            net = node.json("net", "show", "-v", str(level))["net"]
            assert [n["net type"] for n in net] == ["lo"], net
            assert net[0]["local NI(s)"][0]["nid"] == "0@lo", net
        assert node.json("ping", "0@lo")["ping"][0]["primary nid"] == "0@lo"
        assert node.stop() == 0, node.output()


def case_an_idle_node_sleeps(site):
    for node in nodes(site):
        null_net(site, node)
        works(node, "ping", "10.0.0.2@tcp")

        def rests():
            before = cpu_ticks(node)
            os.sched_yield()
            sleeps = node.json("cpt", "show", "-v")["cpt"]
            return cpu_ticks(node) - before <= 2 and all(s["sleeps"] > 0 for c in sleeps for s in c["shards"])

        eventually("pollers sleep", rests)
        naps = sum(s["naps"] for c in node.json("cpt", "show", "-v")["cpt"] for s in c["shards"])
        assert naps == 0, "LNet is woken by its doorbell, it need not nap"


def case_a_network_comes_answers_and_goes(site):
    for node in nodes(site):
        null_net(site, node)
        assert nids(node) == ["0@lo", "10.0.0.1@tcp"]
        shown = node.json("net", "show", "--net", "tcp", "-v", "4")["net"][0]["local NI(s)"][0]
        assert shown["lnd tunables"] == {"driver": "null"} and shown["tunables"]["credits"] == 256, shown
        for nid in ("10.0.0.1@tcp", "10.0.0.2@tcp"):
            answer = node.json("ping", nid)["ping"][0]
            assert [ni["nid"] for ni in answer["peer_ni"]] == [nid], answer
        assert node.json("ping", "0@lo")["ping"][0]["peer_ni"] == [{"nid": "10.0.0.1@tcp"}]
        sent = node.json("net", "show", "--net", "tcp", "-v", "2")["net"][0]["local NI(s)"][0]["sent_stats"]
        assert sent["get"] == 2, sent
        works(node, "net", "del", "--net", "tcp")
        assert nids(node) == ["0@lo"] and peers(node) == {}
        assert "tcp" in fails(node, "net", "del", "--net", "tcp")
        null_net(site, node)
        works(node, "ping", "10.0.0.2@tcp")
        assert node.stop() == 0, node.output()


def case_net_add_names_the_driver(site):
    node = site.node("--config", two_shards(site), "--idle", "sleep")
    works(node, "net", "add", "--nid", "10.0.0.1@tcp", "--driver", "null", "--cpt", "[1]")
    shown = node.json("net", "show", "-v", "1")["net"][1]["local NI(s)"][0]
    assert shown["nid"] == "10.0.0.1@tcp" and shown["CPT"] == "[1]", shown
    works(node, "ping", "10.0.0.2@tcp", "10.0.0.3@tcp")
    fails(node, "net", "add", "--nid", "10.0.0.1@tcp", "--driver", "null")
    fails(node, "net", "add", "--nid", "10.0.0.1@tcp1", "--driver", "null", "--cpt", "[2]")
    works(node, "net", "set", "--nid", "10.0.0.1@tcp", "--health", "500")
    health = node.json("net", "show", "-v", "2")["net"][1]["local NI(s)"][0]["health stats"]
    assert health["health value"] == 500, health
    assert node.json("debug", "recovery", "-l") == {"Local NI recovery": {"nid-0": "10.0.0.1@tcp"}}
    works(node, "net", "set", "--nid", "10.0.0.1@tcp", "--health", "1000")
    assert works(node, "debug", "recovery", "-l") == works(node, "debug", "recovery", "-p") == ""
    assert node.stop() == 0, node.output()


def case_a_nid_has_a_cpt_before_its_peer_is_there_and_then_the_same(site):
    node = site.node("--config", two_shards(site), "--idle", "sleep")
    works(node, "net", "add", "--nid", "10.0.0.1@tcp", "--driver", "null")
    asked = [f"10.0.0.{i}@tcp" for i in range(2, 12)]
    before = node.json("cpt-of-nid", *asked)["cpt-of-nid"]
    assert [each["nid"] for each in before] == asked and {each["cpt"] for each in before} == {0, 1}, before
    works(node, "ping", *asked)
    assert node.json("cpt-of-nid", *asked)["cpt-of-nid"] == before
    works(node, "net", "del", "--net", "tcp")
    works(node, "net", "add", "--nid", "10.0.0.1@tcp", "--driver", "null", "--cpt", "[1]")
    assert {each["cpt"] for each in node.json("cpt-of-nid", "10.0.0.77@tcp", "10.0.0.78@tcp")["cpt-of-nid"]} == {1}
    assert node.stop() == 0, node.output()


def case_networks_come_and_go_many_times(site):
    node = site.node("--config", two_shards(site), "--idle", "sleep")
    for turn in range(20):
        null_net(site, node, f"10.0.0.{turn + 1}@tcp{turn % 3}")
        works(node, "ping", f"10.0.1.{turn + 1}@tcp{turn % 3}")
        works(node, "discover", f"10.0.1.{turn + 1}@tcp{turn % 3}")
        if turn % 3 == 2:
            for net in ("tcp", "tcp1", "tcp2"):
                works(node, "net", "del", "--net", net)
            assert nids(node) == ["0@lo"]
    assert node.stop() == 0, node.output()


def case_a_nid_on_no_network_of_ours_cannot_be_reached(site):
    node = site.node("--config", two_shards(site), "--idle", "sleep")
    null_net(site, node)
    words = fails(node, "ping", "10.0.0.9@o2ib")
    assert "manage:" in words and "failed to ping 10.0.0.9@o2ib" in words, words
    both = node.lnetctl("ping", "10.0.0.9@o2ib", "10.0.0.9@tcp")
    assert both.returncode == 0 and "10.0.0.9@tcp" in both.stdout and "failed to ping" in both.stdout + both.stderr
    assert "failed to discover" in fails(node, "discover", "10.0.0.9@o2ib")


def case_discovery_learns_the_nids_of_a_peer(site):
    for node in nodes(site):
        null_net(site, node)
        found = node.json("discover", "10.0.0.2@tcp")["discover"][0]
        assert found["Multi-Rail"] is True or found["Multi-Rail"] == "True", found
        peer = peers(node)["10.0.0.2@tcp"]
        assert peer["peer ni"][0]["statistics"]["send_count"] >= 2, peer
        assert "10.0.0.2@tcp" in works(node, "peer", "list")


def case_peers_are_added_shown_changed_and_deleted(site):
    for node in nodes(site):
        null_net(site, node)
        works(node, "peer", "add", "--prim_nid", "10.0.0.5@tcp", "--nid", "10.0.0.6@tcp")
        works(node, "peer", "add", "--prim_nid", "10.0.0.5@tcp", "--nid", "10.0.0.7@tcp")
        peer = peers(node)["10.0.0.5@tcp"]
        assert [ni["nid"] for ni in peer["peer ni"]] == ["10.0.0.5@tcp", "10.0.0.6@tcp", "10.0.0.7@tcp"], peer
        before = peers(node), works(node, "export", "--backup")
        assert "no peer has this NID" in fails(node, "peer", "del", "--prim_nid", "10.0.0.5@tcp", "--nid", "10.0.0.6@tcp,10.0.0.9@tcp")
        assert (peers(node), works(node, "export", "--backup")) == before, "all or nothing"
        works(node, "peer", "set", "--nid", "10.0.0.6@tcp", "--health", "300")
        assert peers(node)["10.0.0.5@tcp"]["peer ni"][1]["health stats"]["health value"] == 300
        works(node, "peer", "set", "--nid", "10.0.0.6@tcp", "--state", "1")
        for state in ("0x80", "0x40", "0xffffffff"):
            assert "cannot be set" in fails(node, "peer", "set", "--all", "--state", state)
        assert peers(node)["10.0.0.5@tcp"]["peer state"] == 9, "multi-rail, and configured as before"
        works(node, "ping", "--timeout", "1", "0@lo")
        works(node, "peer", "del", "--prim_nid", "10.0.0.5@tcp", "--nid", "10.0.0.6@tcp,10.0.0.6@tcp")
        assert len(peers(node)["10.0.0.5@tcp"]["peer ni"]) == 2
        works(node, "peer", "del", "--prim_nid", "10.0.0.5@tcp")
        assert peers(node) == {}
        fails(node, "peer", "del", "--prim_nid", "10.0.0.5@tcp")
        # Its NIDs are available at once.
        works(node, "peer", "add", "--prim_nid", "10.0.0.6@tcp", "--nid", "10.0.0.5@tcp")
        assert list(peers(node)) == ["10.0.0.6@tcp"]


def case_variables_are_set_and_shown(site):
    node = site.node("--config", two_shards(site), "--idle", "sleep")
    for name, value in (("discovery", 0), ("retry_count", 3), ("transaction_timeout", 60), ("numa_range", 5)):
        works(node, "set", name, str(value))
        assert node.json("global", "show")["global"][name] == value
    fails(node, "set", "transaction_timeout", "2")  # must exceed retry_count
    assert node.json("global", "show")["global"]["transaction_timeout"] == 60
    for name, why in (("portal_rotor", "a PUT goes to the shard"), ("ksocklnd.backoff_max", "Linux has no such TCP option"), ("nconnds", "nothing blocks")):
        assert f"'{name}' has no effect here: {why}" in fails(node, "set", name, "1")
    document = site.write("useless.yaml", "plnet: {module_options: {lnet.lock_prim_nid: 0}}\n")
    done = node.lnetctl("import", "--plan", document)
    assert done.returncode == 0 and "option lnet.lock_prim_nid has no effect here: no Lustre client" in done.stdout + done.stderr, (done.stdout, done.stderr)


def case_messages_are_counted_and_the_count_begins_anew(site):
    for node in nodes(site):
        null_net(site, node)
        works(node, "ping", "10.0.0.2@tcp")
        shown = node.json("stats", "show")["statistics"]
        assert shown["send_count"] == 1 and shown["recv_count"] == 1 and shown["msgs_alloc"] == 0, shown
        works(node, "stats", "reset")
        shown = node.json("stats", "show")["statistics"]
        assert shown["send_count"] == 0 and shown["recv_count"] == 0 and shown["msgs_max"] == 0, shown


def case_an_export_imported_and_exported_is_the_same(site):
    node = site.node("--config", two_shards(site), "--idle", "sleep")
    null_net(site, node)
    works(node, "peer", "add", "--prim_nid", "10.0.0.5@tcp", "--nid", "10.0.0.6@tcp")
    works(node, "set", "retry_count", "1")
    for form in ([], ["--backup"]):
        first = works(node, "export", *form)
        done = node.lnetctl("import", stdin=first)
        assert done.returncode == 0, done.stderr
        assert works(node, "export", *form) == first
    backup = works(node, "export", "--backup")
    assert node.stop() == 0
    again = site.node("--config", site.write("backup.yaml", backup), "--idle", "sleep", name="again")
    assert works(again, "export", "--backup") == backup
    works(again, "ping", "10.0.0.6@tcp")


def case_a_failed_change_changes_nothing(site):
    node = site.node("--config", two_shards(site), "--idle", "sleep")
    null_net(site, node)
    before = works(node, "export", "--backup")
    good = NET.format(net="tcp1", nid="10.0.1.1@tcp1")
    for bad in (good + "    - net type: o2ib\n      local NI(s):\n        - interfaces:\n              0: ib0\n",
                good + "route:\n    - net: o2ib\n      gateway: 10.0.0.9@tcp9\n",
                good + "routing:\n    enable: 1\nbuffers:\n    large: 2000000\n",
                good + "peer:\n    - primary nid: 10.0.0.5@nonsense\n",
                good.replace("null", "magic"),
                good + "global:\n    retry_count: 200\n"):
        fails(node, "import", stdin=bad)
        assert works(node, "export", "--backup") == before, bad
    assert "network gni: no driver serves it yet" in fails(node, "net", "add", "--net", "gni", "--if", "eth0")
    assert "not on network tcp9" in fails(node, "route", "add", "--net", "o2ib", "--gateway", "10.0.0.9@tcp9")
    assert "until a restart" in fails(node, "set", "large_buffers", "2000000")
    assert works(node, "export", "--backup") == before


def large_buffers(node):
    shown = node.json("routing", "show")["routing"]
    return sum(cpt["large"]["nbuffers"] for each in shown for name, cpt in each.items() if name.startswith("cpt"))


def case_router_buffers_change_while_the_node_runs(site):
    node = site.node("--config", two_shards(site), "--idle", "sleep")
    works(node, "set", "routing", "1")
    assert large_buffers(node) == 1024
    for asked in (8, 4096, 2, 0):
        works(node, "set", "large_buffers", str(asked))
        eventually(f"there are {asked}", lambda: large_buffers(node) == (asked or 1024))
    works(node, "set", "large_buffers", "6")
    works(node, "lnet", "unconfigure")
    works(node, "lnet", "configure")
    assert large_buffers(node) == 6 and {"enable": 1} in node.json("routing", "show")["routing"]


def case_a_start_with_an_unavailable_network_fails_with_a_reason(site):
    config = two_shards(site)
    with open(config, "a", encoding="ascii") as file:
        file.write("net:\n    - net type: gni\n      local NI(s):\n        - interfaces:\n              0: ib0\n")
    done = site.router("--config", config, "--socket", str(site.path("x.sock")), "--idle", "sleep")
    assert done.returncode == 1 and "network gni: no driver serves it yet" in done.stderr, done.stderr


def case_unconfigure_takes_all_down_and_configure_brings_lo_back(site):
    for node in nodes(site):
        null_net(site, node)
        works(node, "set", "retry_count", "1")
        works(node, "ping", "10.0.0.2@tcp")
        works(node, "peer", "add", "--prim_nid", "10.0.0.5@tcp")
        works(node, "lnet", "unconfigure")
        for words in (["net", "show"], ["peer", "show"], ["ping", "0@lo"], ["stats", "show"]):
            assert "errno: -100" in fails(node, *words)
        assert [row["object"] for row in node.json("counters", "show")["counters"] if row["object"].startswith("lnet")] in ([], ["lnet_up"])
        works(node, "lnet", "unconfigure")
        works(node, "lnet", "configure")
        works(node, "lnet", "configure")
        assert nids(node) == ["0@lo"] and peers(node) == {}
        assert node.json("global", "show")["global"]["retry_count"] == 1, "variables stay"
        null_net(site, node)
        there = nids(node)
        assert "errno: -2" in fails(node, "net", "del", "--nid", "10.0.0.1@tcp,10.0.0.9@tcp")
        works(node, "lnet", "configure", "--all")
        assert nids(node) == there, "what is up already stays as it is"
        works(node, "ping", "10.0.0.2@tcp")
        assert node.stop() == 0, node.output()


def case_a_killed_node_starts_again_with_its_networks(site):
    config = two_shards(site)
    with open(config, "a", encoding="ascii") as file:
        file.write(NET.format(net="tcp", nid="10.0.0.1@tcp"))
    for _ in range(2):
        node = site.node("--config", config, "--idle", "sleep")
        assert nids(node) == ["0@lo", "10.0.0.1@tcp"]
        works(node, "ping", "10.0.0.2@tcp")
        assert node.stop(signal.SIGKILL) == -signal.SIGKILL
    node = site.node("--config", config, "--idle", "sleep")
    works(node, "ping", "10.0.0.2@tcp")
    assert node.stop() == 0, node.output()


def case_many_peers_are_reported_in_pieces(site):
    node = site.node("--config", two_shards(site), "--idle", "sleep")
    null_net(site, node)
    for first in range(0, 200, 100):
        node.lnetctl("ping", *[f"10.1.0.{i + 1}@tcp" for i in range(first, first + 100)])
    assert len(peers(node)) == 200
    assert works(node, "peer", "list").count("- nid:") == 200
