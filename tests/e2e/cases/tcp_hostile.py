# SPDX-License-Identifier: BSD-3-Clause
"""Attacks on port 988: a node under scans, slow connections and invalid bytes keeps serving its peers within its memory."""
import contextlib
import random
import socket
import struct

import script_peer
from cases_common import two_shards, with_peers
from process_watch import descriptors, resident_kib
from script_peer import ScriptPeer, connect, frame, header, hello, is_closed, nid_of, request
from site_under_test import eventually
from tcp_nodes import add_v4, answers, counted, nid, pair, reaches, start
from two_hosts import ADDRESSES, two_hosts
from witness import Witness


VICTIM = ADDRESSES["b"][0]
ATTACKER = "10.88.0.66"
# The allowed growth of a node under attack: connection slots and staging buffers of unknown peers,
# touched for the first time.
GROWTH_KIB = 8 * 1024


@contextlib.contextmanager
def under_attack(site, what, config=None):
    """Node b is attacked from the host of node a, from another address; afterwards it works as before. `what` names the attack;
    node a pings beside it."""
    with two_hosts(site) as hosts:
        a, b = pair(hosts, site, config or two_shards(site))
        hosts.address("a", ATTACKER, 24)
        add_v4(a, b)
        reaches(a, nid("b"))
        eventually("all connections of the pair are up", lambda: counted(b, "tcp_acceptor", "handed_over") == 5)
        kib, files = resident_kib(b), descriptors(b)
        with hosts.inside("a"), Witness(what, a, nid("b"), b):
            yield hosts, a, b
        reaches(a, nid("b"))
        eventually("every stranger is gone", lambda: counted(b, "tcp_acceptor", "strangers") == 0, 40)
        eventually("descriptors are back", lambda: descriptors(b) <= files)
        assert resident_kib(b) - kib < GROWTH_KIB, f"{kib} KiB before, {resident_kib(b)} KiB after"
        assert a.stop() == 0 and b.stop() == 0


def refused(node, why):
    return counted(node, "tcp_acceptor", why)


def is_said_once(node, whom, cause):
    line = f"event=bad_input from={whom} cause={cause}\n"
    eventually(f"{cause} is in the log", lambda: line in node.output())
    assert node.output().count(line) == 1, "what follows is counted"


def introduced(source=ATTACKER):
    """Retries as peers do: it is refused while its former connections still exist."""
    def tries():
        peer = ScriptPeer(VICTIM, source)
        if peer.introduced() != script_peer.CONTROL:
            peer.close()
            return False
        got.append(peer)
        return True

    got = []
    eventually("it is let in", tries)
    return got[0]


def case_a_port_scan_leaves_nothing_behind(site):
    with under_attack(site, "6: a port scan") as (_, a, b):
        for _ in range(300):
            with contextlib.suppress(OSError):  # no reserved port: refused already
                connect(VICTIM, ATTACKER, port=0).close()
        for _ in range(300):
            connect(VICTIM, ATTACKER).close()
        for _ in range(300):  # a scan with incomplete handshakes
            link = connect(VICTIM, ATTACKER)
            link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            link.close()
        reaches(a, nid("b"))
        eventually("scans are counted", lambda: refused(b, "refused_port") >= 200)


def case_silent_connections_do_not_keep_peers_out(site):
    with under_attack(site, "6: silent strangers") as (hosts, a, b):
        links = [connect(VICTIM, ATTACKER, port=port) for port in range(512, 1012)]
        eventually("they are all inside", lambda: counted(b, "tcp_acceptor", "strangers") >= 400)
        reaches(a, nid("b"))
        hosts.address("a", "10.88.0.67", 24)
        with introduced("10.88.0.67") as peer:  # another new peer is accepted meanwhile
            peer.ask()
            assert peer.is_answered()
        assert all(is_closed(link) for link in links), "accept_timeout is 5 s"
        assert refused(b, "timed_out") >= 400


def case_slow_handshakes_are_closed(site):
    """A peer that sends byte after byte, so that no single read times out: each part of the handshake has its own timeout."""
    with under_attack(site, "6: slow handshakes") as (_, a, b):
        text = request(nid_of(VICTIM)) + hello(nid_of(ATTACKER), nid_of(VICTIM))
        links = [connect(VICTIM, ATTACKER, timeout_s=2.5) for _ in range(100)]
        sent = {link: 0 for link in links}
        gone = 0
        for _ in range(40):  # bounded: a byte each 2.5 s at most
            for link in [each for each, count in sent.items() if count < len(text)]:
                try:
                    link.sendall(text[sent[link]:sent[link] + 1])
                    sent[link] += 1
                except OSError:
                    gone += 1
                    del sent[link]
            if not sent:
                break
            reaches(a, nid("b"))
            one = next(iter(sent))
            with contextlib.suppress(TimeoutError, ConnectionResetError):
                if not one.recv(64):
                    gone += 1
                    del sent[one]
        assert gone == 100, f"{gone} of 100 were turned away"


def case_rubbish_instead_of_an_introduction_is_counted_by_cause(site):
    with under_attack(site, "rubbish instead of an introduction") as (_, a, b):
        mine, its = nid_of(ATTACKER), nid_of(VICTIM)
        good = request(its)
        wrong = {
            "refused_magic": b"GET / HTTP/1.1\r\n\r\n",
            "refused_legacy": struct.pack("<IHH", 0xEEBC0DED, 1, 0) + bytes(64),
            "refused_request": struct.pack("<IIQ", script_peer.ACCEPTOR_MAGIC, 77, its),
            "refused_nid": request(nid_of("10.88.0.77")),
            "refused_hello_magic": good + b"\xff" * 56,
            "refused_hello_version": good + hello(mine, its, version=99),
            "refused_source": good + hello(nid_of(ATTACKER, number=9), its),
            "refused_type": good + hello(mine, its, kind=77),
            "refused_addresses": good + hello(mine, its, addresses=17) + bytes(68),
            "refused_eager": good + hello(mine, its) + frame(),
        }
        for cause, text in wrong.items():
            for _ in range(20):
                with connect(VICTIM, ATTACKER) as link:
                    link.sendall(text)
                    assert is_closed(link), cause
            assert refused(b, cause) >= 20, f"{cause}: {refused(b, cause)}"
            is_said_once(b, ATTACKER, cause)
        for length in range(len(good) + 56):  # cut at every length
            with connect(VICTIM, ATTACKER) as link:
                link.sendall((good + hello(mine, its))[:length])
        reaches(a, nid("b"))


def case_random_bytes_do_no_harm(site):
    with under_attack(site, "random bytes") as (_, a, b):
        dice = random.Random(988)
        valid = request(nid_of(VICTIM)) + hello(nid_of(ATTACKER), nid_of(VICTIM)) + frame() + header(
            nid_of(ATTACKER), nid_of(VICTIM), script_peer.GET)
        for turn in range(300):
            text = bytearray(valid)
            for _ in range(dice.randrange(1, 6)):
                text[dice.randrange(len(text))] = dice.randrange(256)
            with connect(VICTIM, ATTACKER) as link, contextlib.suppress(OSError):
                link.sendall(bytes(text))
                link.sendall(dice.randbytes(dice.randrange(4096)))
            if turn % 100 == 0:
                reaches(a, nid("b"))




def case_bad_frames_close_their_connection_and_no_other(site):
    """Invalid frames as the kernel treats them: the connection closes; truncated ones wait."""
    with under_attack(site, "bad frames") as (_, a, b):
        peer = introduced()
        mine, its = peer.nid, peer.target
        fatal = {
            "an unknown frame type": frame(0xC7),
            "a NOOP with a checksum": frame(script_peer.NOOP, checksum=1),
            "an acknowledgement of nothing": frame(script_peer.NOOP, cookies=(0, 4711)),
            "an unknown LNet type": frame() + header(mine, its, 9),
            "a GET with payload": frame() + header(mine, its, script_peer.GET, 512),
            "an ACK with payload": frame() + header(mine, its, script_peer.ACK, 1),
            "a PUT of more than a megabyte": frame() + header(mine, its, script_peer.PUT, script_peer.BYTES_MAX + 1),
            "a PUT of four gigabytes": frame() + header(mine, its, script_peer.PUT, 0xFFFFFFFF),
        }
        for what, text in fatal.items():
            peer.link.sendall(text)
            assert is_closed(peer.link), what
            peer.close()
            reaches(a, nid("b"))
            peer = introduced()
        for cause in ("closed_bad_frame", "closed_noop_checksum", "closed_bad_cookies", "closed_rejected"):
            is_said_once(b, f"{ATTACKER}@tcp", cause)
        cut = frame() + header(mine, its, script_peer.PUT, script_peer.BYTES_MAX)
        for length in (1, 23, 24, 25, 95, 96):  # the last without its payload
            peer.link.sendall(cut[:length])
            reaches(a, nid("b"))
            peer.close()
            peer = introduced()
        peer.close()


def case_unmatched_payload_is_skipped(site):
    with under_attack(site, "payload that nothing matches") as (_, a, b):
        peer = introduced()
        for _ in range(20):
            peer.link.sendall(script_peer.put(peer.nid, peer.target, 33, 1, script_peer.BYTES_MAX) + bytes(script_peer.BYTES_MAX))
        peer.ask(5)
        assert peer.is_answered(5), "what comes behind twenty megabytes that were dropped is served"
        peer.close()


def case_a_reader_that_does_not_read_holds_little(site):
    """A peer that requests without reading: pending replies stay within its share of the node's pools, the node stops reading
    from it, excess replies are dropped and counted, and its neighbours are served."""
    with under_attack(site, "6: a reader that does not read") as (hosts, a, b):
        peer = introduced()
        peer.link.settimeout(1)
        asked = 0
        question = b"".join(script_peer.get_ping(peer.nid, peer.target, cookie, sink=4096) for cookie in range(64))
        with contextlib.suppress(TimeoutError):
            while asked < 100_000:
                peer.link.sendall(question)
                asked += 64
        assert counted(b, "lnet_cause", "held_peer_share") > 0, "it has its share"
        reaches(a, nid("b"))
        hosts.address("a", "10.88.0.67", 24)
        hosts.address("a", "10.88.0.68", 24)
        for number in (67, 68):
            with introduced(f"10.88.0.{number}") as neighbour:
                neighbour.ask()
                assert neighbour.is_answered()
        eventually("what is too much is dropped", lambda: counted(b, "lnet_cause", "dropped_peer_share") > 0, 20)
        assert counted(b, "lnet_cause", "dropped_no_receive") == 0, "other peers were not affected"
        peer.close()
        eventually("what it held is free", lambda: counted(b, "lnet", "msgs_alloc") == 0)


def case_made_up_nids_fill_the_peer_table_only(site):
    """Each HELLO claims another NID, which the site allows. The table is bounded, and known peers remain."""
    config = site.write("few.yaml", with_peers(open(two_shards(site)).read(), 128) + "    tcp:\n        any_address: 1\n")
    with under_attack(site, "1: NIDs from nowhere", config) as (_, a, b):
        links = []
        for number in range(400):
            source = f"10.99.{number // 200}.{number % 200 + 1}"
            link = connect(VICTIM, ATTACKER)
            link.sendall(request(nid_of(VICTIM)) + hello(nid_of(source), nid_of(VICTIM), incarnation=number))
            links.append(link)
        eventually("all have been judged", lambda: counted(b, "tcp_acceptor", "strangers") == 0)
        reaches(a, nid("b"))
        known = b.json("peer", "show").get("peer", [])
        assert len(known) <= 128 + 16, len(known)
        for link in links:
            link.close()


def case_the_nid_of_another_node_is_refused(site):
    """Each time with a new incarnation, which would end that node's connections."""
    with under_attack(site, "5: the NID of another node") as (_, a, b):
        open_before = counted(b, "tcp", "open")
        for number in range(200):
            with connect(VICTIM, ATTACKER) as link:
                link.sendall(request(nid_of(VICTIM)) + hello(nid_of(ADDRESSES["a"][0]), nid_of(VICTIM), incarnation=number))
                assert script_peer.read(link, 1) == b""
        assert refused(b, "refused_foreign_nid") == 200
        eventually("the attacker's sockets are closed", lambda: counted(b, "tcp", "open") == open_before)
        reaches(a, nid("b"))
        assert counted(a, "lnd_tcp", "closed_by_peer") + counted(a, "lnd_tcp", "closed_reset") == 0, "its connections are the same"
        is_said_once(b, ATTACKER, "refused_foreign_nid")


def case_forged_sources_make_no_peers(site):
    """Sources on the attacker's own network are dropped; sources on unreachable networks get no reply."""
    with under_attack(site, "1: forged sources") as (_, a, b):
        with introduced() as peer:
            for net, count in ((0, 20_000), (9, 2_000)):
                asked = b"".join(
                    script_peer.get_ping(nid_of(f"10.99.{each // 200}.{each % 200 + 1}", net), peer.target, each) for each in range(count))
                peer.link.sendall(asked)
                reaches(a, nid("b"))
            peer.ask()
            assert peer.is_answered(), "its own requests are served"
        assert counted(b, "lnet_cause", "dropped_foreign_source") == 20_000
        assert counted(b, "lnet_cause", "tx_no_path") >= 2_000
        assert len(b.json("peer", "show")["peer"]) <= 4
        is_said_once(b, f"{ATTACKER}@tcp", "dropped_foreign_source")


def case_more_connections_than_places_do_not_keep_peers_out(site):
    """With accept=all, long timeouts, and an attacker with two addresses and all ports."""
    options = site.write("all.conf", "options lnet accept=all accept_timeout=120\n")
    with two_hosts(site) as hosts:
        a = start(hosts, "a", two_shards(site))
        b = hosts.node("b", "--config", two_shards(site), "--idle", "sleep", "--options", options)
        sources = ATTACKER, "10.88.0.67"
        for source in sources:
            hosts.address("a", source, 24)
        add_v4(a, b)
        with hosts.inside("a"):
            links = []
            for source in sources:
                for _ in range(700):
                    with contextlib.suppress(OSError):  # refused already
                        links.append(connect(VICTIM, source, port=0))
            eventually("they all have come", lambda: counted(b, "tcp_acceptor", "accepted") >= 1400)
            assert counted(b, "tcp_acceptor", "strangers") == 1024, "all places are taken"
            assert refused(b, "refused_address_share") == 1400 - 1024, "half of them each"
            eventually("an honest peer gets in", lambda: answers(a, nid("b")), 15)
            assert refused(b, "evicted") > 0 and refused(b, "timed_out") == 0
            for link in links:
                link.close()
