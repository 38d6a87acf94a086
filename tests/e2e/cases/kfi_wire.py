# SPDX-License-Identifier: BSD-3-Clause
"""kfi between two hosts on an Ethernet wire that loses frames: software NICs on a port of the kernel; one is killed."""
import contextlib
import signal

from kfi_nodes import CLIENT, IMPATIENT, KFI_NET, SERVER, answers, nid, plan, soft
from site_under_test import eventually
from tcp_nodes import counted, works
from two_hosts import ip, two_hosts

ADDRESS = {"a": CLIENT, "b": SERVER}
PORT = "net_af_packet0,iface=eth0,framesz=2048,blocksz=4096,framecnt=512"
BAD = ("wrong_replies", "delivered_twice", "delivered_corrupt")


def start(hosts, side, *arguments, life="", nets=KFI_NET):
    site = hosts.site
    interface = soft(PORT, ADDRESS[side]) + "              mtu: 1500\n"
    text = nets + plan(cpu=ord(side) - ord("a")) + interface
    return hosts.node(side, "--config", site.write(f"{side}{life}.yaml", text), "--options", site.write("kfi.conf", IMPATIENT), "--idle",
                      "sleep", "--window", "4", "--stay", *arguments, name=side + life, program=site.program("lnet-traffic"))


def link_counter(node, row):
    return counted(node, "cassini_link", row)


def has_answered(node, more):
    wanted = counted(node, "traffic", "answered") + more
    eventually(f"{node.name} has had {wanted} answers", lambda: counted(node, "traffic", "answered") >= wanted, 90)


@contextlib.contextmanager
def pair(site):
    """b, a that sends to it, and the wire between them."""
    with two_hosts(site, may_be_bad=True) as hosts:
        b = start(hosts, "b")
        a = start(hosts, "a", "--to", nid(SERVER))
        answers(a, nid(SERVER))
        yield hosts, a, b


def is_whole(*nodes):
    for node in nodes:
        assert not any(counted(node, "traffic", row) for row in BAD), node.json("counters", "show")


def case_data_is_whole_on_a_wire_that_loses(site):
    with pair(site) as (hosts, a, b):
        hosts.bad_wire.loss = 0.01
        has_answered(a, 400)
        is_whole(a, b)
        assert counted(a, "traffic", "failed") == 0, a.json("counters", "show")
        assert hosts.bad_wire.lost > 0, "nothing was lost"
        assert link_counter(a, "resent") + link_counter(b, "resent") > 0, a.json("counters", "show")


def case_one_is_killed_under_loss_and_comes_back(site):
    with pair(site) as (hosts, a, b):
        hosts.bad_wire.loss = 0.01
        has_answered(a, 100)
        for life in ("2", "3"):
            b.stop(signal.SIGKILL)
            b = start(hosts, "b", life=life)
            has_answered(a, 100)
        is_whole(a, b)


def case_a_wire_that_is_cut_for_a_while(site):
    """Longer than the retry handlers tolerate: they park NICs, log it, and use them again when they answer."""
    with pair(site) as (hosts, a, b):
        has_answered(a, 100)
        hosts.bad_wire.is_cut = True
        eventually("a's NIC gives b's up", lambda: counted(a, "cassini_retry", "undeliverable") > 0, 60)
        eventually("the log shows it", lambda: "undeliverable sct=" in a.output() and f" nid={SERVER} rc=UNDELIVERABLE" in a.output(), 10)
        hosts.bad_wire.is_cut = False
        has_answered(a, 100)
        is_whole(a, b)


TCP = {"a": "10.89.0.1", "b": "10.89.0.2"}
KFI_AND_TCP = """net:
    - {net type: kfi, local NI(s): [{interfaces: {0: cxi0}}]}
    - {net type: tcp, local NI(s): [{nid: %s@tcp}]}
"""


def lay_second_wire(hosts):
    link = [f"pt{hosts.tag}{side}" for side in TCP]
    ip("link", "add", link[0], "type", "veth", "peer", "name", link[1])
    for side, device in zip(TCP, link):
        ip("link", "set", device, "netns", hosts.names[side], "name", "eth1")
        ip("-n", hosts.names[side], "address", "add", f"{TCP[side]}/24", "dev", "eth1")
        ip("-n", hosts.names[side], "link", "set", "eth1", "up")


def sent_by(node, net):
    shown = next(each for each in node.json("net", "show", "-v", "2")["net"] if each["net type"] == net)
    return shown["local NI(s)"][0]["statistics"]["send_count"]


def goes_by(node, net, other):
    """All but a few of a hundred further messages use it."""
    def all_by_it():
        before = sent_by(node, net), sent_by(node, other)
        has_answered(node, 100)
        return sent_by(node, net) - before[0] >= 90 and sent_by(node, other) - before[1] <= 10
    eventually(f"{node.name} sends by {net}", all_by_it, 90)


def case_a_policy_sends_by_kfi_and_while_its_cable_is_pulled_by_tcp(site):
    """Peers are discovered by TCP. The cable is cut without a link change."""
    with two_hosts(site, may_be_bad=True) as hosts:
        lay_second_wire(hosts)
        b = start(hosts, "b", nets=KFI_AND_TCP % TCP["b"])
        a = start(hosts, "a", "--to", f"{TCP['b']}@tcp", nets=KFI_AND_TCP % TCP["a"])
        eventually("b is found by TCP", lambda: nid(SERVER) in a.lnetctl("discover", f"{TCP['b']}@tcp").stdout, 60)
        for node in (a, b):
            works(node, "udsp", "add", "--src", "kfi", "--priority", "0")
        goes_by(a, "kfi", "tcp")
        hosts.bad_wire.is_cut = True
        goes_by(a, "tcp", "kfi")
        eventually("the log names the lost peer", lambda: f"1 peer NIs in recovery (showing 1): {nid(SERVER)}" in a.output(), 10)
        hosts.bad_wire.is_cut = False
        goes_by(a, "kfi", "tcp")
        is_whole(a, b)
