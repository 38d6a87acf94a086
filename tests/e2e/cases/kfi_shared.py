# SPDX-License-Identifier: BSD-3-Clause
"""Several kfi networks on one software NIC: they are added and removed independently, conflicts are refused, a cable is
moved."""
from kfi_nodes import CLIENT, KFI_NET, SERVER, answers, nid, pair, start
from site_under_test import eventually
from tcp_nodes import counted, fails, works

BOTH = """net:
    - {net type: kfi, local NI(s): [{interfaces: {0: cxi0}%s}]}
    - {net type: kfi1, local NI(s): [{interfaces: {0: cxi0}%s}]}
"""
TOGETHER = BOTH % ("", "")
MOVED = 0x1a3


def processes(node):
    return sorted({(each["nid"], each["process"], each["nic address"]) for each in node.json("cassini", "show")["cassini"]})


def reach_each_other(server, client, net):
    answers(client, nid(SERVER, net))
    answers(server, nid(CLIENT, net))


def comes(node, net, *more):
    """Retries: messages in flight to a removed peer may hold the seat for a while."""
    eventually(f"{net} is there", lambda: node.lnetctl("net", "add", "--net", net, "--if", "cxi0", *more).returncode == 0, 90)


def case_one_interface_serves_two_networks(site):
    server, client = pair(site, nets=TOGETHER)
    reach_each_other(server, client, "kfi1")
    assert processes(client) == [(nid(CLIENT), 0, CLIENT), (nid(CLIENT, "kfi1"), 1, CLIENT)], processes(client)
    shown = {net["net type"]: net["local NI(s)"][0] for net in client.json("net", "show", "-v", "2")["net"]}
    assert all(shown[net]["interfaces"] == {"0": "cxi0"} and shown[net]["status"] == "up" for net in ("kfi", "kfi1")), shown
    before = works(client, "export", "--backup")
    for node in (client, server):
        works(node, "net", "del", "--net", "kfi")
    fails(client, "ping", "--timeout", "1", nid(SERVER))
    reach_each_other(server, client, "kfi1")  # the other network steps the NIC now
    for node in (server, client):
        comes(node, "kfi")
    reach_each_other(server, client, "kfi")
    for node in (client, server):
        works(node, "net", "del", "--net", "kfi1")
    fails(client, "ping", "--timeout", "1", nid(SERVER, "kfi1"))
    reach_each_other(server, client, "kfi")
    works(client, "net", "del", "--net", "kfi")  # the last one
    assert processes(client) == []
    eventually("both are imported", lambda: client.lnetctl("import", site.write("all.yaml", before)).returncode == 0, 90)
    assert works(client, "export", "--backup") == before
    comes(server, "kfi1")
    for net in ("kfi", "kfi1"):
        reach_each_other(server, client, net)


def case_traffic_does_not_notice_another_network(site):
    """Each on its own shard; the network whose shard steps the NIC is removed and added again. Discovery is off, or the two
    would be paths of one peer."""
    apart = BOTH % (", CPT: [0]", ", CPT: [1]") + "global: {discovery: 0}\n"
    words = {"program": site.program("lnet-traffic"), "cpts": 2}
    server = start(site, "server", "server", SERVER, "--window", "4", "--stay", nets=apart, **words)
    client = start(site, "client", "client", CLIENT, "--window", "4", "--stay", "--to", nid(SERVER, "kfi1"), nets=apart, **words)
    answered = lambda: counted(client, "traffic", "answered")
    eventually("the server has answered", lambda: answered() >= 100, 90)
    answers(client, nid(SERVER))
    for node in (client, server):
        works(node, "net", "del", "--net", "kfi")
        before = answered()
        eventually("traffic goes on", lambda: answered() >= before + 100, 60)
    for node in (client, server):
        comes(node, "kfi", "--cpt", "[0,1]")
        before = answered()
        eventually("traffic goes on", lambda: answered() >= before + 100, 60)
    answers(client, nid(SERVER))
    for node in (client, server):
        over = {each["nid"] for each in node.json("counters", "show")["counters"] if each["object"] == "lnd_kfi" and each["sent_bulk_put"]}
        assert all(each.endswith("@kfi1") for each in over), over
        bad = {row: counted(node, "traffic", row) for row in ("failed", "wrong_replies", "delivered_twice", "delivered_corrupt")}
        assert not any(bad.values()), f"{node.name}: {bad}: {node.json('counters', 'show')}"
        assert counted(node, "lnd_kfi", "unexpected_events") == 0, node.json("counters", "show")


def case_a_second_network_comes_by_hand(site):
    server, client = pair(site)
    for node in (server, client):
        works(node, "net", "add", "--net", "kfi1", "--if", "cxi0", "--traffic-class", "low_latency")
    for net in ("kfi1", "kfi"):
        reach_each_other(server, client, net)
    assert "low_latency" in client.lnetctl("net", "show", "-v", "--net", "kfi1").stdout
    before = works(client, "export", "--backup")
    assert "there already" in fails(client, "net", "add", "--net", "kfi1", "--if", "cxi0")
    assert "it would be process 1, which network kfi1 is" in fails(client, "net", "add", "--net", "kfi257", "--if", "cxi0")
    assert "has room for 2 NIs, expected `nis: 3`" in fails(client, "net", "add", "--net", "kfi2", "--if", "cxi0")
    twice = KFI_NET.replace("[{interfaces: {0: cxi0}}]", "[{interfaces: {0: cxi0}}, {interfaces: {0: cxi0}}]")
    said = fails(client, "import", site.write("twice.yaml", twice))
    assert "duplicate NI" in said, said
    assert works(client, "export", "--backup") == before
    works(client, "net", "del", "--net", "kfi1")
    reach_each_other(server, client, "kfi")


def case_a_cable_is_moved_under_two_networks(site):
    server, client = pair(site, nets=TOGETHER)
    works(server, "cassini", "set", "--if", "cxi0", "--address", str(MOVED))
    eventually("both have their new NIDs", lambda: counted(server, "ni_moves", "nis_moved") == 2, 90)
    assert processes(server) == [(nid(MOVED), 0, MOVED), (nid(MOVED, "kfi1"), 1, MOVED)], processes(server)
    for net in ("kfi", "kfi1"):
        answers(client, nid(MOVED, net))
        assert f"event=ni_moved nid={nid(MOVED, net)} was={nid(SERVER, net)}" in server.output(), server.output()
    assert counted(server, "ni_moves", "nis_moving") == 0
