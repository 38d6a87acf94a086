# SPDX-License-Identifier: BSD-3-Clause
"""tshark's LNet dissector, written by others, decodes our traffic like the kernel's."""
import contextlib
import pathlib
import shutil
import subprocess
import xml.etree.ElementTree as xml

from cases_common import one_shard
from site_under_test import Skip, eventually
from two_hosts import ADDRESSES, two_hosts

EXCERPT = pathlib.Path(__file__).resolve().parents[2] / "data/captures/kernel-2.17-tcp-discovery.pcap"
EXCERPT_ADDRESSES = {"10.99.0.11": "a", "10.99.0.12": "b"}
OUR_ADDRESSES = {ADDRESSES[side][0]: side for side in ADDRESSES}
NID_PARTS = ("lnet.nid.addr", "lnet.nid.type", "lnet.nid.net_interface")
PING_MATCH_BITS = "0x8000000000000000"
MESSAGES = 8  # in the excerpt, and in ours
# These differ between any two nodes.
COOKIES = ("lnet.msg_dst_interface_cookie", "lnet.msg_dst_object_cookie")


def needs_tshark():
    if shutil.which("tshark") is None:
        raise Skip("tshark is not installed (scripts/install_packages.sh check)")


def tshark(*words):
    done = subprocess.run(["tshark", *words], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, f"tshark {' '.join(words)}: {done.stderr}"
    return done.stdout


@contextlib.contextmanager
def capture(hosts, side, path):
    """A capture of all LNet TCP traffic on a host's wire."""
    path.touch()
    path.chmod(0o666)  # dumpcap drops root privileges where possible
    log = path.with_suffix(".log")
    with open(log, "wb") as out:
        process = subprocess.Popen(["ip", "netns", "exec", hosts.names[side], "dumpcap", "-i", "eth0", "-f", "tcp port 988",
                                    "-P", "-w", str(path)], stdout=out, stderr=out)
        try:
            eventually("dumpcap captures", lambda: b"File:" in log.read_bytes() or process.poll() is not None)
            assert process.poll() is None, log.read_text()
            yield
        finally:
            process.terminate()
            process.wait(60)


def fields_of(proto, addresses):
    """The fields of one message: a list of names and values, with NIDs replaced by roles."""
    found = []
    for field in proto.iter("field"):
        name, value = field.get("name"), field.get("show")
        if not name.startswith("lnet.") or name in COOKIES:
            continue
        found.append((name, addresses.get(value, value) if name in NID_PARTS else value))
    return found


def messages(path, addresses):
    """All messages of a capture, by sender, in order."""
    found = []
    for packet in xml.fromstring(tshark("-r", str(path), "-T", "pdml", "-Y", "lnet")).iter("packet"):
        source = next(field.get("show") for field in packet.iter("field") if field.get("name") == "ip.src")
        for proto in packet.iter("proto"):
            if proto.get("name") == "lnet":
                found.append((addresses[source], fields_of(proto, addresses)))
    return found


def value(message, name):
    return next((value for field, value in message if field == name), None)


def expert_infos(path):
    """tshark's expert messages except those about TCP."""
    rows = [row.split(None, 3) for row in tshark("-r", str(path), "-q", "-z", "expert").splitlines() if row.startswith("  ")]
    return {(row[1], row[2], row[3]): int(row[0]) for row in rows if len(row) == 4 and row[0].isdigit() and row[2] != "TCP"}


def talk(hosts, site):
    """As in the excerpt: a pings b, then discovers it; each pushes to the other."""
    a, b = (hosts.node(side, "--config", one_shard(site), "--idle", "sleep") for side in "ab")
    for node in (a, b):
        assert node.lnetctl("net", "add", "--net", "tcp", "--if", "eth0").returncode == 0
    nid = f"{ADDRESSES['b'][0]}@tcp"
    assert a.json("ping", nid)["ping"][0]["primary nid"] == nid
    assert a.json("discover", nid)["discover"][0]["Multi-Rail"] is True

    def acknowledged():
        counts = {node: node.json("stats", "show")["statistics"] for node in (a, b)}
        return all(counts[node]["recv_count"] >= 3 for node in (a, b))

    eventually("pushes are acknowledged", acknowledged)
    assert a.stop() == 0 and b.stop() == 0


def recording(site, side):
    """A capture of the traffic of two of our nodes, taken at one of them."""
    needs_tshark()
    path = site.path("ours.pcap")
    def captured():
        """Messages in the file so far; its end may be a partial packet."""
        done = subprocess.run(["tshark", "-r", str(path), "-T", "fields", "-e", "lnet.msg_type"], capture_output=True, text=True,
                              timeout=60)
        return len(done.stdout.replace(",", " ").split())

    with two_hosts(site) as hosts, capture(hosts, side, path):
        talk(hosts, site)
        # dumpcap reads in batches and loses unread packets when it is stopped.
        eventually("all messages are captured", lambda: captured() >= MESSAGES)
    return path


def case_tshark_reads_our_messages_as_those_of_a_kernel(site):
    path = recording(site, "b")
    ours, kernels = messages(path, OUR_ADDRESSES), messages(EXCERPT, EXCERPT_ADDRESSES)
    for side in "ab":
        said = sorted(fields for who, fields in ours if who == side)
        expected = sorted(fields for who, fields in kernels if who == side)
        assert said == expected, f"{side} said\n{said}\na kernel\n{expected}"
    assert expert_infos(path) == expert_infos(EXCERPT)
    assert tshark("-r", str(path), "-Y", "_ws.malformed && !lnet.bad_buflen") == ""


def case_tshark_sees_the_ping_and_discovery_that_there_were(site):
    names = ("lnet.msg_type", "lnet.payload_length", "lnet.msg_dst_match_bits", "lnet.sink_length")
    said = [(who, *(value(m, name) for name in names)) for who, m in messages(recording(site, "a"), OUR_ADDRESSES)]
    get, reply, put, ack = "2", "3", "1", "0"
    for wanted in [("a", get, "0", PING_MATCH_BITS, "3960"), ("b", reply, "48", None, None),
                   ("a", get, "0", PING_MATCH_BITS, "272"), ("a", put, "48", PING_MATCH_BITS, None),
                   ("b", put, "48", PING_MATCH_BITS, None), ("a", ack, "0", PING_MATCH_BITS, None),
                   ("b", ack, "0", PING_MATCH_BITS, None)]:
        assert wanted in said, f"{wanted} not in {said}"
    assert len(said) == MESSAGES, said
