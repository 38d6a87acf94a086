# SPDX-License-Identifier: BSD-3-Clause
"""Two routers under traffic, one of which is drained and restarted, or killed."""
import re
import signal
import time

import script_peer
from drops import ROUTER_AWAY, drops, drops_only
from routed_hosts import WINDOW, address, buffers_home, routed_hosts, start
from script_peer import ScriptPeer
from site_under_test import eventually
from tcp_nodes import counted, works
from traffic_nodes import GIVEN_UP_S, IMPATIENT, TRANSACTION_S, count, has_answered, last_words, losses
from two_hosts import inside

LARGEST_BYTES = 1 << 20  # more than an unread socket accepts
UNREAD_BYTES = 200_000  # more than an unread socket accepts, less than a send buffer
# Peers detect a dead router within five seconds.
OPTIONS = IMPATIENT + "options lnet alive_router_check_interval=1 router_ping_timeout=4\n"


def site_of_two(hosts, *more):
    routers = [start(hosts, name, "--drain-timeout", "15", options=OPTIONS) for name in hosts.routers]
    server = start(hosts, "server", "--to", hosts.nid("client"), *more, options=OPTIONS)
    client = start(hosts, "client", "--to", hosts.nid("server"), *more, options=OPTIONS)
    for node in (client, server):
        has_answered(node, 1)
    # Operations before all were running may have failed.
    return routers, client, server, {node.name: count(node, "failed") for node in (client, server)}


def nothing_is_lost(client, server, failed, dropped, since):
    """Operations that were lost until `since` have failed, while others continue; then they end. `dropped`: counts by node
    before the fault."""
    time.sleep(max(0.0, since + TRANSACTION_S + 2 - time.monotonic()))
    for node in (client, server):
        assert count(node, "failed") == failed[node.name], (node.name, node.json("counters", "show"))
    for node, before in dropped.items():
        assert drops(node) == before, (node.name, node.json("counters", "show"))
    for node in (client, server):
        last_words(node, abandoned_max=WINDOW)


def ways(node):
    """The gateways that it uses."""
    return {each["gateway"] for each in node.json("route", "show", "-v")["route"] if each["state"] == "up"}


def uses(node, hosts, *routers):
    net = 0 if node.name.startswith("client") else 1
    return ways(node) == {hosts.nid(router, net) for router in routers}


def all_use(hosts, client, server, *routers):
    for node in (client, server):
        eventually(f"{node.name} goes by {routers}", lambda: uses(node, hosts, *routers))


def goes_on(*nodes, operations=100):
    for node in nodes:
        has_answered(node, count(node, "answered") + operations, 90)


def has_work(router):
    """It forwards messages."""
    before = router.json("stats", "show")["statistics"]["route_count"]
    eventually(f"{router.name} forwards", lambda: router.json("stats", "show")["statistics"]["route_count"] > before)


def case_routers_that_are_drained_and_restarted_lose_nothing(site):
    with routed_hosts(site, routers=2) as hosts:
        routers, client, server, failed = site_of_two(hosts)
        all_use(hosts, client, server, *hosts.routers)
        dropped = {node: drops(node) for node in (client, server, *routers)}
        goes_on(client, server)
        for i, name in enumerate(hosts.routers):
            has_work(routers[i])
            assert drops(routers[i]) == dropped.pop(routers[i]), routers[i].json("counters", "show")
            assert routers[i].stop(signal.SIGTERM) == 0
            drained = time.monotonic()
            assert re.search("event=drained cut_off=0 not_acknowledged=0 unsent=0", routers[i].output()), routers[i].output()
            all_use(hosts, client, server, hosts.routers[1 - i])
            goes_on(client, server)
            routers[i] = start(hosts, name, options=OPTIONS, life="-again")
            dropped[routers[i]] = drops(routers[i])
            all_use(hosts, client, server, *hosts.routers)
            goes_on(client, server)
        nothing_is_lost(client, server, failed, dropped, drained)


def connected(hosts, name, net, *kinds):
    """Emulates that host: a connection of each type, all of one life."""
    to, source = (address(net, hosts.legs(each)[-1][1]) for each in ("r0", name))
    peers = []
    with inside(hosts.names[name]):
        for kind in kinds:
            peers.append(ScriptPeer(to, source, kind, net, peers[0].incarnation if peers else None))
            assert peers[-1].introduced() is not None
    return peers


def case_unread_bytes_of_a_slow_reader_survive_a_drain(site):
    """TCP has accepted a complete message, and its receiver's window is closed: a process that exits now would lose it."""
    with routed_hosts(site) as hosts:
        router = start(hosts, "r0", "--drain-timeout", "120", options="options lnet alive_router_check_interval=1 router_ping_timeout=1\n"
                                                                     f"options ksocklnd tx_buffer_size={2 * UNREAD_BYTES}\n")
        reader, *others = connected(hosts, "server", 1, script_peer.BULK_IN, script_peer.CONTROL, script_peer.BULK_OUT)
        client, = connected(hosts, "client", 0, script_peer.CONTROL)
        payload = bytes(i % 251 for i in range(UNREAD_BYTES))
        client.link.sendall(script_peer.put(client.nid, reader.nid, 60, 1, len(payload)) + payload)
        eventually("TCP has it", lambda: router.json("stats", "show")["statistics"]["route_count"] == 1 and buffers_home(router))
        router.process.send_signal(signal.SIGTERM)
        waits = re.compile("event=draining phase=emptying .* held=0 unsent=[1-9]")
        eventually("it waits for its socket", lambda: router.process.poll() is not None or len(waits.findall(router.output())) > 2)
        assert router.process.poll() is None, router.output()
        assert reader.message()[2] == payload
        assert router.process.wait(20) == 0
        assert re.search(r"event=drained cut_off=0 not_acknowledged=\d unsent=0", router.output()), router.output()
        for peer in (client, reader, *others):
            peer.close()


def case_messages_left_at_the_end_of_a_drain_are_reported(site):
    """Without --drain-timeout the bound follows from the check intervals: three times their two seconds, instead of the usual
    330 s."""
    with routed_hosts(site) as hosts:
        router = start(hosts, "r0", options="options lnet alive_router_check_interval=1 router_ping_timeout=1\n"
                                            f"options ksocklnd sock_timeout=120 tx_buffer_size={UNREAD_BYTES // 2}\n")
        reader, *others = connected(hosts, "server", 1, script_peer.BULK_IN, script_peer.CONTROL, script_peer.BULK_OUT)
        client, = connected(hosts, "client", 0, script_peer.CONTROL)
        client.link.sendall(script_peer.put(client.nid, reader.nid, 60, 1, LARGEST_BYTES) + bytes(LARGEST_BYTES))
        eventually("it holds the message", lambda: not buffers_home(router))
        stays = re.compile("event=draining phase=emptying .* held=1 ")
        router.process.send_signal(signal.SIGTERM)
        assert router.process.wait(60) == 0, router.output()
        told = router.output()
        assert stays.search(told), told
        assert re.search(r"event=drained cut_off=1 not_acknowledged=\d unsent=[1-9]", told), told
        for peer in (client, reader, *others):
            peer.close()


def case_a_router_is_drained_by_hand_and_comes_back_under_traffic(site):
    with routed_hosts(site, routers=2) as hosts:
        (r0, r1), client, server, failed = site_of_two(hosts)
        all_use(hosts, client, server, *hosts.routers)
        has_work(r0)
        dropped = {node: drops(node) for node in (client, server, r0, r1)}
        works(r0, "routing", "drain", "--timeout", "60")
        eventually("it is drained", lambda: {"enable": 0} in r0.json("routing", "show")["routing"])
        change = next(row["change"] for row in r0.json("routing", "show")["routing"] if "change" in row)
        assert change["phase"] == "drained" and change["messages cut off"] == 0, change
        assert change["peers told"] == change["peers acknowledged"] and change["peers that have to ask"] == 0, change
        assert buffers_home(r0)
        all_use(hosts, client, server, "r1")
        routes = [line.split()[3] for line in works(client, "debugfs", "routes").splitlines()[2:]]
        routers = [line.split()[2] for line in works(client, "debugfs", "routers").splitlines()[1:]]
        assert sorted(routes) == ["down", "up"] and routers == ["up", "up"], "it answers, and routes no longer"
        goes_on(client, server)
        works(r0, "routing", "undrain")
        undrained = time.monotonic()
        all_use(hosts, client, server, *hosts.routers)
        has_work(r0)
        nothing_is_lost(client, server, failed, dropped, undrained)
        eventually("all buffers are home", lambda: buffers_home(r0) and buffers_home(r1))


def case_a_killed_router_loses_only_the_messages_that_it_held(site):
    operations = 6000  # some seconds of traffic
    with routed_hosts(site, routers=2) as hosts:
        (r0, r1), client, server, failed = site_of_two(hosts, "--count", str(operations))
        all_use(hosts, client, server, *hosts.routers)
        goes_on(client, server)
        has_work(r0)
        dropped = {node: drops(node) for node in (client, server, r1)}
        r0.stop(signal.SIGKILL)
        killed = time.monotonic()
        assert count(client, "begun") < operations and count(server, "begun") < operations
        for name, (lost, last_s) in losses(operations, killed, failed, client, server).items():
            print(f"{name}: {lost} lost, the last {last_s:.1f} s after the kill")
            # At most the operations in flight at that moment. Each stays in the window until its
            # timeout.
            assert lost <= WINDOW and last_s <= GIVEN_UP_S, f"{name} lost {lost}, the last {last_s:.1f} s after the kill"
        assert drops(r1) == dropped[r1], r1.json("counters", "show")
        for node in (client, server):
            drops_only(node, ROUTER_AWAY, dropped[node])
        all_use(hosts, client, server, "r1")
        start(hosts, "r0", options=OPTIONS, life="-again")
        all_use(hosts, client, server, *hosts.routers)
        for node in (client, server):
            last_words(node, abandoned_max=0)
