# SPDX-License-Identifier: BSD-3-Clause
"""kfi networks on software NICs: N@kfi, discovery, a killed node, a router to TCP, invalid configurations."""
import json
import signal

from kfi_nodes import CLIENT, IMPATIENT, KFI_NET, SERVER, answers, homes_of, memif, nid, pair, plan, soft, start
from site_under_test import eventually
from tcp_nodes import counted, fails, works


def case_two_nodes_ping_and_discover_each_other(site):
    server, client = pair(site)
    for node, target in ((client, SERVER), (server, CLIENT)):
        report = node.json("ping", nid(target))["ping"][0]
        assert report["primary nid"] == nid(target), report
        found = node.json("discover", nid(target))["discover"][0]
        assert found["primary nid"] == nid(target) and found["Multi-Rail"], found
    assert counted(client, "lnd_kfi", "hello_requests_failed") == 0, client.json("counters", "show")
    objects = {each["object"] for each in client.json("counters", "show")["counters"]}
    assert {"lnd_kfi", "cassini", "cassini_soft", "cassini_packets", "cassini_link"} <= objects, objects


def case_an_access_rule_limits_handshakes(site):
    server = start(site, "server", "server", SERVER)
    works(server, "access", "add", "--action", "deny", "--for", "connect", "--source", nid(CLIENT))
    client = start(site, "client", "client", CLIENT, cpu=1)
    eventually("it is refused", lambda: client.lnetctl("ping", "--timeout", "1", nid(SERVER)).returncode != 0
               and counted(server, "lnd_kfi", "refused_access") > 0, 60)
    assert server.json("access", "show")["access"][0]["matched"] > 0, server.json("access", "show")
    assert server.lnetctl("peer", "show", "--nid", nid(CLIENT)).returncode != 0, works(server, "peer", "show")
    works(server, "access", "del", "--all")
    answers(client, nid(SERVER))


def case_net_show_has_the_kernels_names(site):
    node = start(site, "server", "server", SERVER)
    ni = next(net for net in node.json("net", "show", "-v", "2")["net"] if net["net type"] == "kfi")["local NI(s)"][0]
    assert ni["nid"] == nid(SERVER) and ni["interfaces"] == {"0": "cxi0"}, ni
    assert ni["lnd tunables"] == {"prov_major_version": 1, "prov_minor_version": 0, "auth_key": 255, "traffic_class": "best_effort",
                                  "traffic_class_num": 512, "timeout": 3}, ni["lnd tunables"]
    assert ni["tunables"]["credits"] == 512 and ni["tunables"]["peer_credits"] == 16, ni["tunables"]


def case_names_of_hosts_stand_behind_nids(site):
    names = site.write("names", f"# NICs\n{SERVER} login1\n")
    node = start(site, "server", "server", SERVER, "--nic-names", names)
    shown = node.lnetctl("--nic-names", names, "net", "show").stdout
    assert f"nid: {nid(SERVER)}  # login1\n" in shown, shown
    assert "login1" not in node.lnetctl("--nic-names", names, "--json", "net", "show").stdout
    assert "login1" not in node.lnetctl("--nic-names", names, "export", "--backup").stdout
    wrong = node.lnetctl("--nic-names", site.write("wrong", "x y\n"), "net", "show")
    assert wrong.returncode != 0 and "wrong:1:" in wrong.stderr, wrong.stderr
    eventually("metrics have names", lambda: f'nid="{nid(SERVER)}",shard="0",host="login1"' in works(node, "metrics", "show"), 30)
    works(node, "cassini", "set", "--if", "cxi0", "--address", str(MOVED))
    moves = f"event=ni_moves nid={nid(SERVER)} to={nid(MOVED)} interface=cxi0 hosts=login1"
    eventually("the log has names", lambda: moves in node.output(), 30)


def case_a_network_goes_and_comes_by_hand(site):
    server, client = pair(site)
    works(client, "net", "del", "--net", "kfi")
    fails(client, "ping", "--timeout", "1", nid(SERVER))
    works(client, "net", "add", "--net", "kfi", "--if", "cxi0", "--traffic-class", "low_latency")
    answers(client, nid(SERVER))
    assert "low_latency" in client.lnetctl("net", "show", "-v").stdout
    works(client, "net", "set", "--nid", nid(CLIENT), "--health", "900")
    works(client, "lnet", "unconfigure")
    works(client, "lnet", "configure", "--all")
    answers(client, nid(SERVER))
    answers(server, nid(CLIENT))


def case_an_export_is_imported_as_it_was(site):
    _, client = pair(site)
    before = works(client, "export", "--backup")
    assert "net type: kfi" in before and "cxi0" in before and "memif" in before, before
    works(client, "import", "--del", site.write("net.yaml", KFI_NET))
    assert "net type: kfi" not in works(client, "export", "--backup")
    works(client, "import", site.write("all.yaml", before))
    assert works(client, "export", "--backup") == before
    answers(client, nid(SERVER))


def case_one_is_killed_and_comes_back(site):
    server, client = pair(site)
    server.stop(signal.SIGKILL)
    fails(client, "ping", "--timeout", "1", nid(SERVER))
    server = start(site, "server", "server", SERVER, life="-again")
    answers(client, nid(SERVER), 90)
    answers(server, nid(CLIENT), 90)
    client.stop(signal.SIGKILL)
    client = start(site, "client", "client", CLIENT, cpu=1, life="-again")
    answers(client, nid(SERVER), 90)
    answers(server, nid(CLIENT), 90)


def case_a_change_that_a_nic_delays_too_long_is_undone(site):
    server, client = pair(site, options="")
    works(client, "peer", "add", "--prim_nid", nid(0x3c4))
    server.stop(signal.SIGKILL)
    fails(client, "ping", "--timeout", "1", nid(SERVER))  # operations in flight hold the NIC for
                                                          # some seconds longer than a change may
                                                          # wait
    before = works(client, "export", "--backup")
    other = KFI_NET.replace("interfaces:", "lnd tunables: {traffic_class: low_latency}, interfaces:")
    assert "LNet did not" in fails(client, "import", site.write("other.yaml", other))  # some 30 s
    shown = next(each for each in client.json("net", "show", "-v")["net"] if each["net type"] == "kfi")["local NI(s)"][0]
    assert (shown["nid"], shown["lnd tunables"]["traffic_class"]) == (nid(CLIENT), "best_effort"), shown
    assert [each["primary nid"] for each in client.json("peer", "show")["peer"]].count(nid(0x3c4)) == 1
    assert works(client, "export", "--backup") == before


WRONG = {
    "no_such_driver": (soft("net_nothing0", 5), "net_nothing0"),
    "wrong_devargs": (soft("net_memif0,role=emperor", 5), "net_memif0"),
    "no_such_link": (soft("net_af_packet0,iface=nowhere0", 5), "net_af_packet0"),
    "address_too_large": (soft("net_memif0,role=server", 0xfffff), "1048574"),
    "no_port": ("    kfi: {interfaces: [{name: cxi0, backend: soft}]}\n", "without a port"),
    "port_of_hardware": ("    kfi: {interfaces: [{name: cxi0, port: net_memif0}]}\n", "backend: soft"),
    "twice": ("    kfi: {interfaces: [{name: cxi0}, {name: cxi0}]}\n", "twice"),
    "no_library": ("    kfi: {library: /nowhere/libcxi.so.1, interfaces: [{name: cxi0}]}\n", "/nowhere/libcxi.so.1"),
    "unknown_backend": ("    kfi: {interfaces: [{name: cxi0, backend: verbs}]}\n", "libcxi"),
}


def case_an_invalid_configuration_is_reported_with_its_place(site):
    for name, (text, word) in WRONG.items():
        path = site.write(f"{name}.yaml", plan() + text)
        lines = (plan() + text).splitlines()
        done = site.router("--config", path, "--idle", "sleep", "--socket", str(site.path("x.sock")))
        assert done.returncode == 1, f"{name}: {done.returncode}: {done.stderr}"
        assert f"{name}.yaml:" in done.stderr and word in done.stderr, f"{name}: {done.stderr}"
        line = int(done.stderr.split(f"{name}.yaml:")[1].split(":")[0])
        assert "kfi" in "\n".join(lines[:line]), f"{name}: line {line} of\n{text}\n{done.stderr}"
        assert not site.path("x.sock").exists()


def case_a_network_on_a_missing_device_changes_nothing(site):
    node = start(site, "server", "server", SERVER)
    before = works(node, "export", "--backup")
    assert "cxi0" in fails(node, "net", "add", "--net", "kfi1", "--if", "cxi7")  # lists the
                                                                                 # existing devices
    other = site.write("other.yaml", "net: [{net type: kfi1, local NI(s): [{interfaces: {0: cxi7}}]}]\n")
    for how in (["--plan"], []):
        assert "other.yaml:1:38: network kfi1: interface cxi7" in fails(node, "import", *how, other), fails(node, "import", *how, other)
    assert "restart" in fails(node, "import", site.write("other.yaml", "plnet: {kfi: {interfaces: []}}\n"))
    assert works(node, "export", "--backup") == before


def case_a_network_of_any_number(site):
    """Its process number on the NIC is the network number modulo 256."""
    nets = KFI_NET.replace("kfi,", "kfi300,")
    server = start(site, "server", "server", SERVER, nets=nets)
    client = start(site, "client", "client", CLIENT, cpu=1, nets=nets)
    answers(client, nid(SERVER, "kfi300"))
    answers(server, nid(CLIENT, "kfi300"))


def case_several_shards_serve_an_interface(site):
    """Each has its own receive context, and messages to a peer are sent on the shard of its home."""
    words = {"program": site.program("lnet-traffic")}
    server = start(site, "server", "server", SERVER, "--window", "4", "--stay", cpts=3, **words)
    client = start(site, "client", "client", CLIENT, "--window", "4", "--stay", "--to", nid(SERVER), cpts=2, **words)
    eventually("the server has answered", lambda: counted(client, "traffic", "answered") >= 300, 90)
    for node, other, shards in ((server, CLIENT, 3), (client, SERVER, 2)):
        shown = node.json("cassini", "show")["cassini"]
        assert [(each["shard"], each["receive context"]) for each in shown] == [(i, i) for i in range(shards)], shown
        assert all(each["state"] == "running" and each["portal"]["state"] == "ENABLED" for each in shown), shown
        homes = homes_of(node, other)
        assert len(homes) == 1, node.json("kfi", "peers")
        assert not any(counted(node, "traffic", row) for row in ("failed", "wrong_replies", "delivered_twice", "delivered_corrupt"))
        assert counted(node, "lnd_kfi", "unexpected_events") == 0, node.json("counters", "show")
    contexts = {peer["receive context"] for each in client.json("kfi", "peers")["kfi peers"] for peer in each["peers"]}
    assert contexts == set(homes_of(server, CLIENT)), contexts
    client.stop()  # messages in flight fail then
    works(server, "net", "del", "--net", "kfi")
    eventually("the interface is free", lambda: server.lnetctl("net", "add", "--net", "kfi", "--if", "cxi0", "--cpt", "[1,2]").returncode == 0,
               60)
    shown = server.json("cassini", "show")["cassini"]
    assert [(each["shard"], each["receive context"]) for each in shown] == [(1, 0), (2, 1)], shown
    client = start(site, "client", "client", CLIENT, cpts=2, life="-again")
    answers(client, nid(SERVER), 90)
    answers(server, nid(CLIENT), 90)


def case_a_router_between_tcp_and_kfi(site):
    _, client, server = routed(site)
    answers(client, nid(SERVER))
    answers(server, "127.77.0.2@tcp")


ROUTER_NETS = """net:
    - {net type: tcp, local NI(s): [{nid: 127.77.0.1@tcp}]}
    - {net type: kfi, local NI(s): [{interfaces: {0: cxi0}}]}
routing: {enable: 1}
buffers: {tiny: 256, small: 256, large: 32}
"""
TCP_SIDE = "net: [{net type: tcp, local NI(s): [{nid: 127.77.0.2@tcp}]}]\nroute: [{net: kfi, gateway: 127.77.0.1@tcp}]\n"
KFI_SIDE = KFI_NET + f"route: [{{net: tcp, gateway: {CLIENT}@kfi}}]\n"


def routed(site, **how):
    """client (tcp) - router (tcp, kfi) - server (kfi)"""
    server = start(site, "server", "server", SERVER, nets=KFI_SIDE, **how)
    router = start(site, "router", "client", CLIENT, nets=ROUTER_NETS, cpu=1)
    path = site.write("client.yaml", TCP_SIDE + plan(1))
    client = site.node("--config", path, "--options", site.write("kfi.conf", IMPATIENT), "--idle", "sleep", name="client", **how)
    return router, client, server


def case_traffic_through_the_router_is_whole(site):
    words = {"program": site.program("lnet-traffic")}
    server = start(site, "server", "server", SERVER, "--window", "4", "--stay", nets=KFI_SIDE, **words)
    start(site, "router", "client", CLIENT, nets=ROUTER_NETS, cpu=1)
    client = site.node("--config", site.write("client.yaml", TCP_SIDE + plan(1)), "--options", site.write("kfi.conf", IMPATIENT), "--idle",
                       "sleep", "--window", "4", "--stay", "--to", nid(SERVER), name="client", **words)
    eventually("the server has answered", lambda: counted(client, "traffic", "answered") >= 300, 90)
    for node in (client, server):
        assert not any(counted(node, "traffic", row) for row in ("wrong_replies", "delivered_twice", "delivered_corrupt"))
    assert counted(client, "traffic", "failed") == 0, client.json("counters", "show")
    assert client.stop() == 0, client.output()


def case_selftest_through_the_router_checks_every_byte(site):
    memory = "    selftest: {client_mib: 32, server_mib: 16}\n"
    words = {"program": site.program("lnet-selftest"), "verb": "node"}
    start(site, "server", "server", SERVER, nets=KFI_SIDE, more=memory, **words)
    start(site, "router", "client", CLIENT, nets=ROUTER_NETS, cpu=1)
    client = site.node("--config", site.write("client.yaml", TCP_SIDE + plan(1) + memory), "--options", site.write("kfi.conf", IMPATIENT),
                       "--idle", "sleep", "--instance", "client", name="client", **words)
    answers(client, nid(SERVER))
    folder = site.path("report")
    done = site.run(site.program("lnet-selftest"), "run", "--run-dir", str(site.directory), "--instance", "client", "--lock-dir",
                    str(site.lock_dir), "--report", str(folder), "--from", "127.77.0.2@tcp", "--to", nid(SERVER), "--test",
                    "read,write,ping", "--size", "4k,1M", "--concurrency", "4", "--check", "full", "--warmup", "0", "--duration", "1",
                    "--repeats", "1")
    assert done.returncode == 0, f"lnet-selftest run: {done.returncode}\n{done.stdout}{done.stderr}"
    points = json.loads((folder / "report.json").read_text())["points"]
    assert len(points) == 5 and all(each["errors"] == 0 and each["rpc_rate"]["median"] > 0 for each in points), points


def case_the_layer_below_a_network_is_shown(site):
    server, client = pair(site)
    shown = client.json("cassini", "show")["cassini"][0]
    assert shown["nid"] == nid(CLIENT) and shown["backend"] == "soft" and shown["state"] == "running", shown
    assert shown["nic"]["address"] == CLIENT and shown["nic"]["link"] == "up", shown["nic"]
    assert set(shown["queues"]) == {"transmit", "target", "transmit events", "receive events"}, shown["queues"]
    assert shown["portal"]["state"] == "ENABLED", shown["portal"]
    assert sum(entry["kind"] == "messages" for entry in shown["list entries"]) == 8, shown["list entries"]
    peer = client.json("kfi", "peers")["kfi peers"][0]["peers"][0]
    assert peer["nid"] == nid(SERVER) and peer["state"] == "UPTODATE" and peer["version"] == 2, peer
    assert "initiator_state_stats" in works(server, "kfi", "stats")
    works(client, "lnet", "unconfigure")
    assert client.json("cassini", "show")["cassini"] == []


def case_the_vendors_library_is_asked_for_its_devices(site):
    library = site.program("libcxi.so.1")
    text = KFI_NET + plan() + f"    kfi: {{library: {library}, interfaces: [{{name: cxi0}}]}}\n"
    node = site.node("--config", site.write("libcxi.yaml", text), "--idle", "sleep")
    shown = node.json("cassini", "show")["cassini"][0]
    assert shown["backend"] == "libcxi" and shown["nic"]["device"] == "cxi0", shown
    ni = next(net for net in node.json("net", "show")["net"] if net["net type"] == "kfi")["local NI(s)"][0]
    assert ni["nid"] == nid(shown["nic"]["address"]), ni
    works(node, "net", "del", "--net", "kfi")
    works(node, "net", "add", "--net", "kfi3", "--if", "cxi0")
    assert node.json("cassini", "show")["cassini"][0]["process"] == 3
    works(node, "net", "add", "--net", "kfi4", "--if", "cxi0")
    assert sorted(each["process"] for each in node.json("cassini", "show")["cassini"]) == [3, 4]
    works(node, "net", "del", "--net", "kfi3")
    left = node.json("cassini", "show")["cassini"]
    assert [(each["process"], each["nic"]["link"]) for each in left] == [(4, "up")], left
    other = site.write("other.yaml", plan() + f"    kfi: {{library: {library}, interfaces: [{{name: cxi9}}]}}\n")
    done = site.router("--config", other, "--idle", "sleep", "--socket", str(site.path("x.sock")))
    assert done.returncode == 1 and "expected cxi0, cxi1" in done.stderr and "other.yaml:" in done.stderr, done.stderr


ON_TWO = """net:
    - {net type: kfi, local NI(s): [{interfaces: {0: cxi0}}]}
    - {net type: tcp, local NI(s): [{nid: %s@tcp}]}
"""
MOVED = 0x1a3


def case_a_cable_is_moved_while_the_node_runs(site):
    """The NI returns with the NID of its new address and with its routes; peers that know the node by TCP are notified."""
    words = {"program": site.program("lnet-traffic")}
    routes = f"route: [{{net: o2ib, gateway: {CLIENT}@kfi}}]\n"
    server = start(site, "server", "server", SERVER, "--window", "4", "--stay", nets=ON_TWO % "127.77.0.1" + routes, **words)
    client = start(site, "client", "client", CLIENT, "--window", "4", "--stay", "--to", "127.77.0.1@tcp", nets=ON_TWO % "127.77.0.2", cpu=1,
                   **words)
    answers(client, nid(SERVER))
    works(client, "discover", nid(SERVER))
    eventually("the server has answered", lambda: counted(client, "traffic", "answered") >= 100, 90)
    assert "expected at most" in fails(server, "cassini", "set", "--if", "cxi0", "--address", str(1 << 20))
    assert "no interface" in fails(server, "cassini", "set", "--if", "cxi1", "--address", "5")
    works(server, "cassini", "set", "--if", "cxi0", "--address", str(MOVED))
    eventually("the NI has its new NID", lambda: nid(MOVED) in server.lnetctl("net", "show").stdout, 60)
    shown = works(server, "net", "show")
    assert nid(SERVER) not in shown, shown
    assert f"{CLIENT}@kfi" in works(server, "route", "show"), server.lnetctl("route", "show").stdout
    answers(client, nid(MOVED), 60)
    eventually("the client knows the new NID", lambda: nid(MOVED) in peer_with(client, "127.77.0.1@tcp"), 60)
    eventually("and not the old one", lambda: nid(SERVER) not in peer_with(client, "127.77.0.1@tcp"), 60)
    assert counted(server, "ni_moves", "nis_moved") == 1 and counted(server, "ni_moves", "nis_moving") == 0
    before = counted(client, "traffic", "answered")
    eventually("traffic goes on", lambda: counted(client, "traffic", "answered") >= before + 100, 60)
    assert not any(counted(client, "traffic", row) for row in ("wrong_replies", "delivered_twice", "delivered_corrupt"))
    assert f"event=ni_moved nid={nid(MOVED)} was={nid(SERVER)}" in server.output(), server.output()
    works(server, "cassini", "set", "--if", "cxi0", "--address", str(SERVER))
    eventually("the NI has its first NID again", lambda: nid(SERVER) in server.lnetctl("net", "show").stdout, 60)
    answers(client, nid(SERVER), 60)


def peer_with(node, address):
    """Its NIDs."""
    peers = node.json("peer", "show", "-v")["peer"]
    return [each["nid"] for peer in peers for each in peer["peer ni"] if address in [ni["nid"] for ni in peer["peer ni"]]]
