# SPDX-License-Identifier: BSD-3-Clause
"""kfi networks on providers of libfabric: two nodes on shm and on net, a killed node, a router to TCP, invalid
configurations."""
import os
import signal

from kfi_nodes import IMPATIENT, KFI_NET, answers, homes_of, memif, nid, plan, soft
from process_watch import handled_crashes
from site_under_test import Skip, eventually
from tcp_nodes import counted, fails, works

# Names of shm and ports of net belong to the host: another run may use them at the same time.
SERVER = os.getpid() % 400_000 * 2 + 2
CLIENT = SERVER + 1
NUMBER = os.getpid() % 500 + 1


def shm(address):
    return f"    kfi: {{interfaces: [{{name: cxi0, backend: ofi, provider: shm, address: {address}}}]}}\n"


def net(ip):
    return f"    kfi: {{interfaces: [{{name: cxi0, backend: ofi, provider: net, ip: {ip}}}]}}\n"


def needs(site, interface):
    """Skips a case whose provider is missing. The program exits in any case, since cxi7 does not exist."""
    path = site.write("try.yaml", KFI_NET.replace("cxi0", "cxi7") + plan() + interface)
    done = site.router("--config", path, "--idle", "sleep", "--socket", str(site.path("try.sock")))
    assert done.returncode == 1, done.stderr
    if "fi_getinfo" in done.stderr or "without libfabric" in done.stderr:
        raise Skip(done.stderr.strip())


def start(site, name, interface, *arguments, nets=KFI_NET, cpu=0, cpts=1, life="", **how):
    path = site.write(f"{name}{life}.yaml", nets + plan(cpu, cpts=cpts) + interface)
    return site.node("--config", path, "--options", site.write("kfi.conf", IMPATIENT), "--idle", "sleep", *arguments, name=name + life, **how)


def pair(site):
    needs(site, shm(SERVER))
    server = start(site, "server", shm(SERVER))
    client = start(site, "client", shm(CLIENT), cpu=1)
    answers(client, nid(SERVER))
    answers(server, nid(CLIENT))
    return server, client


def case_two_nodes_on_shm(site):
    server, client = pair(site)
    for node, target in ((client, SERVER), (server, CLIENT)):
        report = node.json("ping", nid(target))["ping"][0]
        assert report["primary nid"] == nid(target), report
    objects = {each["object"] for each in client.json("counters", "show")["counters"]}
    assert {"lnd_kfi", "ofi"} <= objects, objects
    assert counted(client, "ofi", "garbage") == 0, client.json("counters", "show")
    assert client.json("cassini", "show")["cassini"] == []
    peer = client.json("kfi", "peers")["kfi peers"][0]["peers"][0]
    assert peer["nid"] == nid(SERVER) and peer["state"] == "UPTODATE", peer
    before = works(client, "export", "--backup")
    assert "backend: ofi" in before and "provider: shm" in before, before


def case_a_network_on_shm_goes_and_comes_by_hand(site):
    server, client = pair(site)
    works(client, "net", "del", "--net", "kfi")
    works(client, "net", "add", "--net", "kfi", "--if", "cxi0")
    assert not handled_crashes(client), handled_crashes(client)
    answers(client, nid(SERVER))
    answers(server, nid(CLIENT))


def case_two_networks_share_an_interface_on_shm(site):
    """None of them reuses a former name."""
    needs(site, shm(SERVER))
    numbers = sorted({NUMBER, NUMBER % 500 + 2})
    first, second = (f"kfi{number}" for number in numbers)
    nets = KFI_NET.replace("type: kfi", f"type: {first}")
    server = start(site, "server", shm(SERVER), nets=nets)
    client = start(site, "client", shm(CLIENT), nets=nets, cpu=1)
    answers(client, nid(SERVER, first))
    for node in (server, client):
        works(node, "net", "add", "--net", second, "--if", "cxi0")
    assert f"process {numbers[0] % 256}, which network {first} is" in fails(
        client, "net", "add", "--net", f"kfi{numbers[0] + 256}", "--if", "cxi0")
    for net in (second, first):
        answers(client, nid(SERVER, net))
        answers(server, nid(CLIENT, net))
    for node in (client, server):
        works(node, "net", "del", "--net", first)
    answers(client, nid(SERVER, second))
    answers(server, nid(CLIENT, second))


def case_one_on_shm_is_killed_or_crashes_and_comes_back(site):
    server, client = pair(site)
    for end in (signal.SIGKILL, signal.SIGSEGV):
        # libfabric's shm provider handles such signals, and would end the node without a core.
        assert "Sanitizer" in server.output() or not handled_crashes(server), handled_crashes(server)
        code = server.stop(end)
        # A sanitizer reports a crash differently.
        assert code == -end or "Sanitizer" in server.output(), f"{end.name}: ended with {code}"
        server = start(site, "server", shm(SERVER), life=f"-after-{end.name}")
        answers(client, nid(SERVER), 90)
        answers(server, nid(CLIENT), 90)


def case_two_nodes_on_net(site):
    needs(site, net("127.0.0.1"))
    network = KFI_NET.replace("kfi", f"kfi{NUMBER}")
    server = start(site, "server", net("127.0.0.1"), nets=network)
    client = start(site, "client", net("127.0.0.2"), nets=network, cpu=1)
    answers(client, nid(0x7f000001, f"kfi{NUMBER}"))
    answers(server, nid(0x7f000002, f"kfi{NUMBER}"))


ROUTER_NETS = """net:
    - {net type: tcp, local NI(s): [{nid: 127.78.0.1@tcp}]}
    - {net type: kfi, local NI(s): [{interfaces: {0: cxi0}}]}
routing: {enable: 1}
buffers: {tiny: 256, small: 256, large: 32}
"""
TCP_SIDE = "net: [{net type: tcp, local NI(s): [{nid: 127.78.0.2@tcp}]}]\nroute: [{net: kfi, gateway: 127.78.0.1@tcp}]\n"
KFI_SIDE = KFI_NET + f"route: [{{net: tcp, gateway: {CLIENT}@kfi}}]\n"


def case_traffic_through_a_router_between_tcp_and_shm_is_whole(site):
    needs(site, shm(SERVER))
    words = {"program": site.program("lnet-traffic")}
    server = start(site, "server", shm(SERVER), "--window", "4", "--stay", nets=KFI_SIDE, **words)
    start(site, "router", shm(CLIENT), nets=ROUTER_NETS, cpu=1)
    client = start(site, "client", "", "--window", "4", "--stay", "--to", nid(SERVER), nets=TCP_SIDE, cpu=1, **words)
    eventually("the server has answered", lambda: counted(client, "traffic", "answered") >= 300, 90)
    for node in (client, server):
        assert not any(counted(node, "traffic", row) for row in ("wrong_replies", "delivered_twice", "delivered_corrupt"))
    assert counted(client, "traffic", "failed") == 0, client.json("counters", "show")
    assert client.stop() == 0, client.output()


ON_SHM = f"kfi{NUMBER}"
SOFT, ROUTER_SOFT = 0x1a2, 0x2b3
BOTH_NETS = f"""net:
    - {{net type: kfi, local NI(s): [{{interfaces: {{0: cxi0}}}}]}}
    - {{net type: {ON_SHM}, local NI(s): [{{interfaces: {{0: shm0}}}}]}}
routing: {{enable: 1}}
buffers: {{tiny: 256, small: 256, large: 32}}
"""


def case_a_router_between_kfi_on_a_cassini_and_kfi_on_libfabric(site):
    """The two cannot communicate directly, but each can with the router."""
    needs(site, shm(SERVER))
    words = {"program": site.program("lnet-traffic")}
    on_shm = KFI_NET.replace("type: kfi", f"type: {ON_SHM}") + f"route: [{{net: kfi, gateway: {nid(CLIENT, ON_SHM)}}}]\n"
    server = start(site, "server", shm(SERVER), "--window", "4", "--stay", nets=on_shm, **words)
    on_cassini = KFI_NET + f"route: [{{net: {ON_SHM}, gateway: {nid(ROUTER_SOFT)}}}]\n"
    client = start(site, "client", soft(memif(site, "server"), SOFT), "--window", "4", "--stay", "--to", nid(SERVER, ON_SHM), nets=on_cassini,
                   cpu=1, **words)
    both = soft(memif(site, "client"), ROUTER_SOFT) + f"            - {{name: shm0, backend: ofi, provider: shm, address: {CLIENT}}}\n"
    router = start(site, "router", both, nets=BOTH_NETS)
    eventually("the server has answered", lambda: counted(client, "traffic", "answered") >= 300, 90)
    for node in (client, server):
        assert not any(counted(node, "traffic", row) for row in ("wrong_replies", "delivered_twice", "delivered_corrupt"))
    assert counted(router, "lnet", "route_count") >= 600, router.json("counters", "show")
    assert {each["interfaces"]["0"] for net in router.json("net", "show")["net"] for each in net["local NI(s)"] if "interfaces" in each} == {"cxi0", "shm0"}


def case_a_missing_provider_is_reported_with_its_place(site):
    path = site.write("wrong.yaml", KFI_NET + plan() + shm(5).replace("provider: shm, address: 5", "provider: nowhere, ip: 127.0.0.1"))
    done = site.router("--config", path, "--idle", "sleep", "--socket", str(site.path("x.sock")))
    assert done.returncode == 1 and "wrong.yaml:" in done.stderr, done.stderr
    assert "fi_getinfo" in done.stderr or "without libfabric" in done.stderr, done.stderr


def case_several_shards_serve_an_interface(site):
    """Each has its own endpoint, and messages to a peer are sent on the shard of its home."""
    needs(site, shm(SERVER))
    words = {"program": site.program("lnet-traffic")}
    server = start(site, "server", shm(SERVER), "--window", "4", "--stay", cpts=3, **words)
    client = start(site, "client", shm(CLIENT), "--window", "4", "--stay", "--to", nid(SERVER), cpts=2, **words)
    eventually("the server has answered", lambda: counted(client, "traffic", "answered") >= 300, 90)
    for node, other, shards in ((server, CLIENT, 3), (client, SERVER, 2)):
        known = node.json("kfi", "peers")["kfi peers"]
        assert sorted(each["shard"] for each in known) == list(range(shards)), known
        assert len(homes_of(node, other)) == 1, known
        assert not any(counted(node, "traffic", row) for row in ("failed", "wrong_replies", "delivered_twice", "delivered_corrupt"))
        assert counted(node, "ofi", "garbage") == 0, node.json("counters", "show")
    client.stop()  # messages in flight fail then
    works(server, "net", "del", "--net", "kfi")
    eventually("the interface is free", lambda: server.lnetctl("net", "add", "--net", "kfi", "--if", "cxi0", "--cpt", "[1,2]").returncode == 0,
               60)
    client = start(site, "client", shm(CLIENT), cpts=2, life="-again")
    answers(client, nid(SERVER), 90)
    answers(server, nid(CLIENT), 90)


def case_more_shards_than_libfabric_contexts_are_reported_with_the_remedy(site):
    needs(site, shm(SERVER))
    path = site.write("many.yaml", KFI_NET + plan(cpts=17) + shm(SERVER))
    done = site.router("--config", path, "--idle", "sleep", "--socket", str(site.path("x.sock")))
    assert done.returncode == 1 and "17 shards would serve it, expected at most 16" in done.stderr and "--cpt" in done.stderr, done.stderr
