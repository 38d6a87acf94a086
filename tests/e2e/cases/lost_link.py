# SPDX-License-Identifier: BSD-3-Clause
"""A link goes down under selftest traffic between two nodes with two NIs each: traffic continues by the other NIs at once."""
import contextlib
import os
import time

from routed_hosts import address
from selftest_hosts import FlatHosts, Lst, start
from site_under_test import Skip, eventually
from tcp_nodes import counted, works
from two_hosts import ip
from two_rails import nis, sent

SECOND = 50  # added to a host's number: the address of its second interface
TABLE = "100"


class TwoNiHosts(FlatHosts):
    """client and server have two interfaces on one network, each with its own routing table."""

    def wire(self):
        super().wire()
        for name in ("client", "server"):
            there, number = self.names[name], self.second(name)
            ip("-n", there, "link", "add", "eth1", "type", "veth", "peer", "name", f"{name[:6]}1", "netns", self.names["wire"])
            ip("-n", self.names["wire"], "link", "set", f"{name[:6]}1", "master", "net0", "up")
            ip("-n", there, "address", "add", f"{number}/24", "dev", "eth1", "noprefixroute")
            ip("-n", there, "link", "set", "eth1", "up")
            ip("-n", there, "route", "add", "10.90.0.0/24", "dev", "eth1", "table", TABLE)
            ip("-n", there, "rule", "add", "from", number, "lookup", TABLE)
            self.site.run("ip", "netns", "exec", there, "sysctl", "-qw", "net.ipv4.conf.all.arp_ignore=1",
                          "net.ipv4.conf.all.arp_announce=2")

    def second(self, name):
        return address(0, self.legs(name)[0][1] + SECOND)

    def networks(self, name):
        if name not in ("client", "server"):
            return super().networks(name)
        return f"net: [{{net type: tcp, local NI(s): [{{nid: '{self.nid(name)}'}}, {{nid: '{self.second(name)}@tcp'}}]}}]\n"


@contextlib.contextmanager
def two_ni_hosts(site):
    if os.geteuid() != 0:
        raise Skip("needs root for network namespaces")
    hosts = TwoNiHosts(site, 1)
    try:
        hosts.wire()
        yield hosts
    finally:
        hosts.unwire()


def received(server):
    return counted(server, "selftest_server", "rpcs_received")


def show_rates(server, what, seconds):
    """Prints the RPCs of each second for the reader: the rate depends on the machine."""
    before, since = received(server), time.monotonic()
    for second in range(seconds):
        time.sleep(1)
        now, at = received(server), time.monotonic()
        print(f"# {what} {second + 1} s: {(now - before) / (at - since):.0f} RPC/s", flush=True)
        before, since = now, at


def case_traffic_goes_on_by_the_other_ni(site):
    with two_ni_hosts(site) as hosts:
        client, server = start(hosts, "client"), start(hosts, "server")
        works(client, "discover", hosts.nid("server"))
        lst = Lst(hosts)
        lst.works("new_session", "--timeout", "100", "night")
        lst.group("clients", hosts.nid("client"))
        lst.group("servers", hosts.nid("server"))
        lst.works("add_batch", "all")
        for words in (("ping",), ("brw", "write", "size=4K"), ("brw", "read", "size=64K")):
            lst.test("all", *words, concurrency=8)
        lst.works("run", "all")
        both = {hosts.nid("client"), f"{hosts.second('client')}@tcp"}
        eventually("both NIs carry messages", lambda: all(sent(nis(client))[each] > 50 for each in both))
        show_rates(server, "both NIs", 2)
        hosts.link("client", 1, "down")
        at_cut = received(server)
        show_rates(server, "after the cut", 3)
        eventually("RPCs are answered", lambda: received(server) > at_cut + 100, 5)
        eventually("its connections are closed", lambda: counted(client, "lnd_tcp", "closed_interface_down") > 0, 10)
        lst.works("stop", "all")
        eventually("every RPC has ended", lambda: lst.works("query", "all") == "all [0] is stopped\n", 10)
        lost = counted(client, "selftest", "rpcs_in_doubt")
        print(f"# RPCs that may have been lost with the link: {lost}", flush=True)
        assert counted(client, "selftest", "rpcs_expired") == 0, "no RPC runs into its timeout"
        assert lost <= 3 * 8, "only RPCs under way are lost"
        assert received(server) <= counted(client, "selftest", "rpcs_sent"), "no RPC is served twice"
        lst.works("end_session")
