# SPDX-License-Identifier: BSD-3-Clause
"""kfi between two hosts on a wire of Ethernet that loses frames: NICs in software on a port that the kernel keeps; one is killed."""
import contextlib
import signal

from kfi_nodes import CLIENT, IMPATIENT, KFI_NET, SERVER, answers, nid, plan, soft
from site_under_test import eventually
from tcp_nodes import counted
from two_hosts import two_hosts

ADDRESS = {"a": CLIENT, "b": SERVER}
PORT = "net_af_packet0,iface=eth0,framesz=2048,blocksz=4096,framecnt=512"
BAD = ("wrong_replies", "delivered_twice", "delivered_corrupt")


def start(hosts, side, *arguments, life=""):
    site = hosts.site
    interface = soft(PORT, ADDRESS[side]) + "              mtu: 1500\n"
    text = KFI_NET + plan(cpu=ord(side) - ord("a")) + interface
    return hosts.node(side, "--config", site.write(f"{side}{life}.yaml", text), "--options", site.write("kfi.conf", IMPATIENT), "--idle",
                      "sleep", "--window", "4", "--stay", *arguments, name=side + life, program=site.program("lnet-traffic"))


def link_counter(node, row):
    return counted(node, "cassini_link", row)


def has_answered(node, more):
    wanted = counted(node, "traffic", "answered") + more
    eventually(f"{node.name} has had {wanted} answers", lambda: counted(node, "traffic", "answered") >= wanted, 90)


@contextlib.contextmanager
def pair(site):
    """b, and a that sends to it; and the wire between them."""
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
    """Longer than the retry handlers hold out: they give NICs up, say so, and come back to them when they answer."""
    with pair(site) as (hosts, a, b):
        has_answered(a, 100)
        hosts.bad_wire.is_cut = True
        eventually("a's NIC gives b's up", lambda: counted(a, "cassini_retry", "undeliverable") > 0, 60)
        eventually("the log says so", lambda: "undeliverable sct=" in a.output() and f" nid={SERVER} rc=UNDELIVERABLE" in a.output(), 10)
        hosts.bad_wire.is_cut = False
        has_answered(a, 100)
        is_whole(a, b)
