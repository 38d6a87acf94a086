# SPDX-License-Identifier: BSD-3-Clause
"""A node with a thousand peers, each with sockets of its own."""
import contextlib
import resource
import threading
import time

import script_peer
from cases_common import two_shards, with_peers
from process_watch import descriptors, resident_kib
from script_crowd import Crowd, addresses
from script_peer import ScriptPeer
from site_under_test import Skip, eventually
from tcp_nodes import add_v4, counted, works
from two_hosts import ADDRESSES, two_hosts


PEERS = 1000
CLIENTS = 5000
AT_ONCE = 100  # NIDs in one ping; lnetctl takes 128
NODE = ADDRESSES["b"][0]
# The limit for one connected peer with three connections; here doubled, since pages are touched for
# the first time.
PEER_KIB = 24


class OpenFiles:
    """Raises the limit of this process, in which all crowds run, until the last one ends."""

    WANTED = 12000

    def __init__(self):
        self.lock, self.users, self.usual = threading.Lock(), 0, None

    def __enter__(self):
        with self.lock:
            soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
            if hard < self.WANTED:
                raise Skip(f"crowds of peers need {self.WANTED} open files, allowed are {hard}")
            if self.users == 0:
                self.usual = soft
                resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, self.WANTED), hard))
            self.users += 1

    def __exit__(self, *_):
        with self.lock:
            self.users -= 1
            if self.users == 0:
                resource.setrlimit(resource.RLIMIT_NOFILE, (self.usual, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))


OPEN_FILES = OpenFiles()


@contextlib.contextmanager
def crowded_host(site, peers=PEERS, config=None):
    """Host a with a thousand addresses or more, host b with a node that has routes to all of them."""
    with OPEN_FILES:
        with two_hosts(site) as hosts:
            batch = site.write("addresses", "".join(f"address add {each}/16 dev eth0\n" for each in addresses(peers)))
            hosts.command("a", "ip", "-batch", batch)
            # Through one neighbour: the neighbour table of the system is too small for a thousand.
            hosts.command("b", "ip", "route", "add", "10.77.0.0/16", "via", ADDRESSES["a"][0])
            options = site.write("few.conf", "options ksocklnd conns_per_peer=1\n")
            b = hosts.node("b", "--config", config or two_shards(site), "--idle", "sleep", "--options", options)
            add_v4(b)
            yield hosts, b


def ping_all(node, *options, peers=PEERS):
    for first in range(0, peers, AT_ONCE):
        nids = ",".join(f"{each}@tcp" for each in addresses(peers)[first:first + AT_ONCE])
        done = node.lnetctl("--json", "ping", "--timeout", "10", *options, nids)
        assert done.returncode == 0 and '"manage"' not in done.stdout, (first, done.stdout[-500:], done.stderr)


def shows_them_all(node):
    """Every connection and every peer once, with its TCP state, in text as in JSON."""
    shown = node.json("conn", "show", "-v")["conn"]
    assert len(shown) == 3 * PEERS == len({(each["local"], each["remote"]) for each in shown}), len(shown)
    each_of = {f"{each}@tcp": {"C", "I", "O"} for each in addresses(PEERS)}
    for each in shown:
        each_of[each["nid"]].remove(each["type"])
        assert each["state"] == "open" and each["tcp info"]["cwnd"] > 0, each
    assert not any(each_of.values()), "each peer has one of each type"
    peers = node.json("conn", "peers")["conn peer"]
    assert {each["nid"] for each in peers} == each_of.keys() and len(peers) == PEERS, len(peers)
    assert works(node, "conn", "show").count("      type: ") == 3 * PEERS


def case_a_thousand_peers_are_called(site):
    """More than the reserved ports, with three connections each."""
    with crowded_host(site) as (hosts, b):
        with hosts.inside("a"):
            crowd = Crowd()
        try:
            kib, files = resident_kib(b), descriptors(b)
            ping_all(b)
            eventually("everybody has all connections", lambda: counted(b, "tcp", "open") >= 3 * PEERS, 60)
            assert crowd.peers() == PEERS
            assert resident_kib(b) - kib < PEERS * PEER_KIB, f"{kib} KiB before, {resident_kib(b)} KiB with {PEERS} peers"
            ping_all(b)  # with all peers known
            shows_them_all(b)
            assert len(b.json("peer", "list")["peer list"]) >= PEERS
            works(b, "net", "del", "--net", "tcp")
            eventually("all sockets are closed", lambda: descriptors(b) <= files)
        finally:
            crowd.close()
        assert b.stop() == 0


def case_many_peers_are_called_by_two_interfaces(site):
    """Two interfaces on one network: both connect to each peer, and each shard has some hundreds of peers."""
    with crowded_host(site) as (hosts, b):
        hosts.address("b", "10.88.0.66", 24)
        works(b, "net", "add", "--nid", "10.88.0.66@tcp")
        with hosts.inside("a"):
            crowd = Crowd()
        try:
            for each in (NODE, "10.88.0.66"):
                ping_all(b, "--source", f"{each}@tcp", peers=700)
        finally:
            crowd.close()
        assert b.stop() == 0


def case_five_thousand_clients_call_after_a_restart(site):
    """Faster than the node creates peers: clients wait for their turn, and all are served."""
    peers = 20000
    plan = with_peers(open(two_shards(site)).read(), peers)
    config = site.write("many.yaml", plan + "        new_peers_per_sec: 1000\n")
    with crowded_host(site, CLIENTS, config) as (hosts, b):
        backlog = int(hosts.command("b", "ss", "-Hlnt", "sport = :988").split()[2])
        somaxconn = int(hosts.command("b", "cat", "/proc/sys/net/core/somaxconn"))
        assert backlog == min(peers // 4, somaxconn), "all strangers may come in the same millisecond"
        with hosts.inside("a"):
            begin = time.monotonic()
            clients = [ScriptPeer(NODE, each) for each in addresses(CLIENTS)]
            called = time.monotonic()
            try:
                for client in clients:
                    client.link.settimeout(60)
                assert all(client.introduced() == script_peer.CONTROL for client in clients)
                for client in clients:
                    client.ask()
                assert all(client.is_answered() for client in clients)
                print(f"# figures 2: {CLIENTS} clients called within {called - begin:.1f} s, all served "
                      f"{time.monotonic() - begin:.1f} s after the first", flush=True)
                assert counted(b, "tcp_acceptor", "waited") > 0, "they came faster than that"
                assert counted(b, "tcp_acceptor", "refused_home_full") == 0
            finally:
                for client in clients:
                    client.close()
        assert b.stop() == 0


def case_a_thousand_peers_call(site):
    with crowded_host(site) as (hosts, b):
        files = descriptors(b)
        with hosts.inside("a"):
            peers = [ScriptPeer(NODE, each) for each in addresses(PEERS)]
            try:
                assert all(peer.introduced() == script_peer.CONTROL for peer in peers)
                assert counted(b, "tcp", "open") == PEERS
                for cookie in (1, 2):
                    for peer in peers:
                        peer.ask(cookie)
                    assert all(peer.is_answered(cookie) for peer in peers)
            finally:
                for peer in peers:
                    peer.close()
        eventually("what belonged to them is free", lambda: descriptors(b) <= files)
        assert b.stop() == 0
