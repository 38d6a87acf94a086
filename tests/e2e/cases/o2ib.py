# SPDX-License-Identifier: BSD-3-Clause
"""o2ib networks on hosts without an RDMA device: error messages and kept settings. Traffic needs a device and is tested in
guests."""
from cases_common import one_shard
from tcp_nodes import add_v4, fails, nid, pair, pings, start, works
from two_hosts import two_hosts

NET = """net:
    - net type: o2ib
      local NI(s):
        - interfaces:
              0: {interface}
"""
NO_DEVICE = "network o2ib: no verbs device on interface eth0; "


def case_a_missing_device_is_reported_with_the_next_step(site):
    with two_hosts(site) as hosts:
        a, b = pair(hosts, site)
        add_v4(a, b)
        before = works(a, "export", "--backup")
        assert NO_DEVICE in fails(a, "net", "add", "--net", "o2ib", "--if", "eth0")
        assert "there is no interface nosuch0" in fails(a, "net", "add", "--net", "o2ib", "--if", "nosuch0")
        document = site.write("o2ib.yaml", NET.format(interface="eth0"))
        for how in (["--plan"], []):
            assert NO_DEVICE in fails(a, "import", *how, document)
        assert works(a, "export", "--backup") == before
        pings(a, nid("b"))


def case_a_start_without_a_device_fails_with_the_place(site):
    config = one_shard(site)
    with open(config, "a", encoding="ascii") as file:
        file.write(NET.format(interface="lo"))
    with open(config, encoding="ascii") as file:
        line = file.read().count("\n") - 1
    for how in (["--check"], ["--socket", str(site.path("x.sock")), "--idle", "sleep"]):
        done = site.router("--config", config, *how)
        assert done.returncode != 0 and f":{line}:" in done.stderr + done.stdout, done.stderr + done.stdout
        assert "network o2ib: " in done.stderr + done.stdout, done.stderr + done.stdout


def case_options_of_the_module_are_kept_and_some_change_live(site):
    options = site.write("site.conf", "options ko2iblnd peer_credits=32 credits=1024 ntx=2048 conns_per_peer=4 timeout=100\n")
    with two_hosts(site) as hosts:
        node = hosts.node("a", "--config", one_shard(site), "--options", options, "--idle", "sleep")
        works(node, "set", "ko2iblnd.keepalive", "30")
        assert "options ko2iblnd peer_credits=16" in fails(node, "set", "ko2iblnd.peer_credits", "16")
        assert "expected a number from 0 to 1" in fails(node, "set", "ko2iblnd.cksum", "7")
        backup = works(node, "export", "--backup")
        assert 'ko2iblnd.peer_credits: "32"' in backup and 'ko2iblnd.keepalive: "30"' in backup, backup
        again = start(hosts, "b", site.write("again.yaml", backup))
        assert works(again, "export", "--backup") == backup
