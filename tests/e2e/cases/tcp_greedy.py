# SPDX-License-Identifier: BSD-3-Clause
"""Peers that use more than their share of a node, beside peers that must be served all the time."""
import contextlib
import socket
import struct

import script_peer
from cases_common import one_shard, with_peers
from routed_hosts import address, buffers_home, routed_hosts
from routed_hosts import start as start_routed
from script_peer import ScriptPeer, connect, hello, nid_of, read, request
from site_under_test import eventually
from tcp_nodes import add_v4, counted, nid, pair, pings, start, works
from traffic_nodes import count, has_answered, last_words
from two_hosts import ADDRESSES, inside, ip, two_hosts
from two_rails import nis, peer_nis
from witness import Witness

VICTIM = ADDRESSES["b"][0]
ATTACKER = "10.88.0.66"
FULL = 1000
RESETS = 40
ASKED = 2000  # pings on each connection: the replies exceed the socket buffers


def resets(source, turn):
    """Sends pings, reads few replies, then resets the connection. True: the node had accepted it."""
    peer = ScriptPeer(VICTIM, source)
    peer.link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    peer.link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
    peer.link.settimeout(0.2)
    with peer, contextlib.suppress(OSError):
        if peer.introduced() != script_peer.CONTROL:
            return False
        first = turn * ASKED
        peer.link.sendall(b"".join(script_peer.get_ping(peer.nid, peer.target, first + each, sink=4096) for each in range(ASKED)))
        peer.is_answered(first)
    return True


def case_a_peer_that_resets_its_connections_harms_only_itself(site):
    with two_hosts(site) as hosts:
        a, b = pair(hosts, site)
        hosts.address("a", ATTACKER, 24)
        add_v4(a, b)
        works(b, "set", "routing", "1")  # a router tracks the health of its peers
        pings(a, nid("b"))
        with hosts.inside("a"), Witness("4: a peer resets its connections", a, nid("b"), b):
            done = sum(resets(ATTACKER, turn) for turn in range(RESETS))
            pings(a, nid("b"))
        assert done >= RESETS // 2, done
        assert counted(b, "lnd_tcp", "failed") > 100, "answers were queued"
        assert nis(b)[nid("b")]["health stats"]["health value"] == FULL
        assert peer_nis(b)[f"{ATTACKER}@tcp"]["health stats"]["health value"] < FULL
        assert "event=ni_down" not in b.output(), "the NI stays up"
        assert a.stop() == 0


SHARE, PROCESSES = 64, 300  # connections of an address; the node's small table has room for 256
                            # processes


def introduced(source, count):
    """Connects as `count` processes with different ports."""
    for _ in range(count):
        link = connect(VICTIM, source, port=0)
        link.sendall(request(nid_of(VICTIM)) + hello(nid_of(source), nid_of(VICTIM)))
        yield link


def case_processes_of_one_address_have_their_share_of_the_connections(site):
    config = site.write("few.yaml", with_peers(open(one_shard(site)).read(), 128))
    options = site.write("all.conf", "options lnet accept=all\n")
    with two_hosts(site) as hosts:
        a = start(hosts, "a", one_shard(site))
        b = hosts.node("b", "--config", config, "--idle", "sleep", "--options", options)
        add_v4(a, b)
        for number in (66, 67):
            hosts.address("a", f"10.88.0.{number}", 24)
        pings(a, nid("b"))
        with hosts.inside("a"), contextlib.ExitStack() as links, Witness("6: connections of one address", a, nid("b"), b):
            mine = [links.enter_context(link) for link in introduced(ATTACKER, PROCESSES)]
            let_in = sum(len(read(link, 56)) == 56 for link in mine)
            assert let_in == SHARE and counted(b, "lnd_tcp", "refused_address_share") == PROCESSES - SHARE, let_in
            (other,) = [links.enter_context(link) for link in introduced("10.88.0.67", 1)]
            assert len(read(other, 56)) == 56, "another address can connect"
            pings(a, nid("b"))
            line = f"event=bad_input from={ATTACKER}@tcp cause=refused_address_share\n"
            eventually("the log names the address once", lambda: b.output().count(line) == 1)


DRIPPING = 300
BUFFERS = 128  # large router buffers; a next hop may use half of them
SERVED = 100  # minimum of operations for another client in some 10 seconds


def drips(hosts, count):
    """Connects as processes of one address. Each begins to send a megabyte to the server."""
    mine, leg, target = address(0, 66), address(0, hosts.ROUTERS[0]), nid_of(address(1, hosts.SERVER), 1)
    ip("-n", hosts.names["client"], "address", "add", f"{mine}/24", "dev", "eth0")
    with inside(hosts.names["client"]):
        links = [connect(leg, mine, port=0) for _ in range(count)]
    for link in links:
        link.sendall(request(nid_of(leg)) + hello(nid_of(mine), nid_of(leg), script_peer.BULK_OUT))
    for link in links:
        assert len(read(link, 56)) == 56
        link.sendall(script_peer.put(nid_of(mine), target, 33, 1, script_peer.BYTES_MAX) + bytes(100))
    return links


def drip(links):
    for link in links:
        with contextlib.suppress(OSError):
            link.sendall(b"x")


def case_payloads_that_drip_do_not_hold_a_next_hop(site):
    with routed_hosts(site) as hosts:
        router = start_routed(hosts, "r0", options=f"options lnet large_router_buffers={BUFFERS} accept=all\n")
        server = start_routed(hosts, "server")
        client = start_routed(hosts, "client", "--to", hosts.nid("server"))
        has_answered(client, 1)
        links = drips(hosts, DRIPPING)
        before = count(client, "answered")
        try:
            with Witness("3: payloads that drip, through the router", client, hosts.nid("server"), router, server):
                eventually("the slow senders wait for credits", lambda: counted(router, "lnet_cause", "held_client_credit") >= DRIPPING / 2)
                eventually("some connections are closed", lambda: drip(links) or counted(router, "lnd_tcp", "closed_slow") > 0, 40)
            print(f"# figures 3: {count(client, 'answered') - before} routed transfers answered, {count(client, 'failed')} failed", flush=True)
            assert count(client, "answered") > before + SERVED and count(client, "failed") == 0, "other clients are served meanwhile"
        finally:
            for link in links:
                link.close()
        assert "event=lnet_starves of=client_credits " in router.output()
        line = f"event=bad_input from={address(0, 66)}@tcp cause=closed_slow\n"
        eventually("the log names the address", lambda: line in router.output())
        last_words(client)
        eventually("all buffers are home", lambda: buffers_home(router))
