# SPDX-License-Identifier: BSD-3-Clause
"""Messages through lnet-router with one network that loses, delays and reorders frames, or is cut."""
import threading

import script_peer
from routed_hosts import address, buffers_home, routed_hosts, start
from script_peer import ScriptPeer
from site_under_test import eventually
from tcp_nodes import counted, works
from traffic_nodes import count, has_answered, is_clean, last_words
from two_hosts import inside, ip

CLIENT_LEG, SERVER_LEG = ("client", 0), ("server", 1)
HOP_STALL_S = 5  # the router's limit; afterwards messages do not wait for the hop
PATIENT_S = 20  # more than twice the duration of a cut: TCP's retransmission interval doubles
OPERATIONS = 2000
SENDER, PORTAL, LARGE_BYTES = 3, 9, 1 << 20  # no program serves that portal


def statistic(node, row):
    return node.json("stats", "show")["statistics"][row]


def comes_to_rest(router, *nodes):
    """The traffic programs end, and no messages or buffers remain in use."""
    words = [last_words(node) for node in nodes]
    eventually("all buffers are home", lambda: buffers_home(router) and statistic(router, "msgs_alloc") == 0)
    return words


def case_the_wire_of_the_server_loses_delays_and_mixes_up(site):
    with routed_hosts(site, bad_leg=SERVER_LEG) as hosts:
        router = start(hosts, "r0")
        server = start(hosts, "server", "--to", hosts.nid("client"))
        client = start(hosts, "client", "--to", hosts.nid("server"))
        has_answered(client, 1)
        has_answered(server, 1)
        failed = {node: count(node, "failed") for node in (client, server)}  # before all were
                                                                             # running
        lost = hosts.bad_wire.lost
        vars(hosts.bad_wire).update(loss=0.01, delay_s=(0.001, 0.003), overtakes=0.25)
        for node in (client, server):
            has_answered(node, count(node, "answered") + 150, 90)
        assert hosts.bad_wire.lost > lost
        assert all(count(node, "failed") == before for node, before in failed.items()), "TCP makes good for it"
        assert statistic(router, "drop_count") == 0, router.json("counters", "show")
        for words in comes_to_rest(router, client, server):
            assert words["delivered"] > 0


class Sender:
    """A peer beside the server, emulated by the case, that puts large messages to the client and ignores their outcome."""

    def __init__(self, hosts):
        host, source = hosts.names["server"], address(1, SENDER)
        ip("-n", host, "address", "add", f"{source}/24", "dev", "eth1")
        with inside(host):
            self.peer = ScriptPeer(address(1, hosts.ROUTERS[0]), source, number=1)
        assert self.peer.introduced() is not None
        self.peer.link.settimeout(60)  # the router does not read while a message waits
        self.message = script_peer.put(self.peer.nid, script_peer.nid_of(address(0, hosts.CLIENT)), PORTAL, 1, LARGE_BYTES) + bytes(LARGE_BYTES)

    def puts(self, messages):
        """Runs in the background until the router has accepted or dropped all messages."""
        putting = threading.Thread(target=self.peer.link.sendall, args=(self.message * messages,), daemon=True)
        putting.start()
        return putting


def case_the_wire_of_the_client_is_cut_until_its_hop_has_stalled(site):
    """The router is not notified: TCP keeps retrying, so messages waiting behind the hop are dropped, and no others."""
    options = f"options lnet lnet_transaction_timeout={PATIENT_S} lnet_retry_count=0\n"
    patient = "    tcp:\n        silence_sec: 0\n"  # otherwise connections are closed before a hop stalls
    with routed_hosts(site, bad_leg=CLIENT_LEG) as hosts:
        router = start(hosts, "r0", options="options ksocklnd tx_buffer_size=16384\n", settings=patient)
        for of in ("tiny", "small", "large"):
            works(router, "set", f"{of}_buffers", "1")
        # All payloads go to the client. An own payload of it, cut in the middle, would hold the
        # buffer, and no hop would stall.
        more = ("--count", str(OPERATIONS), "--gets")
        server = start(hosts, "server", "--to", hosts.nid("client"), *more, "0", shards=2, options=options, settings=patient)
        client = start(hosts, "client", "--to", hosts.nid("server"), *more, "100", options=options, settings=patient)
        for node in (client, server):
            has_answered(node, 100)
        sender = Sender(hosts)
        failed = {node: count(node, "failed") for node in (client, server)}  # before all were
                                                                             # running
        assert counted(router, "lnet_cause", "dropped_hop_stalled") == 0
        hosts.bad_wire.is_cut = True
        putting = sender.puts(2)  # one holds or awaits the only buffer, and the other waits behind
                                  # it
        eventually("the hop to the client has stalled", lambda: counted(router, "lnet_cause", "dropped_hop_stalled") > 0, 4 * HOP_STALL_S)
        assert all(count(node, "begun") < OPERATIONS for node in (client, server))
        hosts.bad_wire.is_cut = False
        for node in (client, server):
            eventually(f"{node.name} has begun all", lambda: count(node, "begun") == OPERATIONS, 90)
        for node in (client, server):
            eventually(f"all of {node.name}'s end", lambda: count(node, "under_way") == 0, 2 * PATIENT_S)
            is_clean(node)
        putting.join(10)
        assert not putting.is_alive(), "the router reads on"
        lost = sum(count(node, "failed") - before for node, before in failed.items())
        dropped = counted(router, "lnet_cause", "dropped_hop_stalled")
        print(f"{lost} operations lost, {dropped} messages dropped")
        assert lost <= dropped, router.json("counters", "show")
        comes_to_rest(router, client, server)
