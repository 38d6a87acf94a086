# SPDX-License-Identifier: BSD-3-Clause
"""A client and a server on separate networks with routers between them: network namespaces on two bridges.

    client (tcp) - routers (tcp and tcp1) - server (tcp1)
"""
import contextlib
import itertools
import os

from bad_wire import MTU, BadWire, open_tap
from site_under_test import Skip
from traffic_nodes import plan
from two_hosts import inside, ip

WINDOW = 4  # operations in flight of a traffic node
SITES = itertools.count()
NETS = ("tcp", "tcp1")  # by side of the router


def address(net, number):
    return f"10.{90 + net}.0.{number}"


class RoutedHosts:
    """Routers have an interface in each network, with the same host number. `bad_wire`: on the requested interface."""

    CLIENT, SERVER, ROUTERS = 1, 2, (10, 11, 12, 13)

    def __init__(self, site, routers, bad_leg=None):
        self.site = site
        self.bad_leg = bad_leg  # (name, network)
        self.bad_wire = None
        self.tag = f"{os.getpid()}-{next(SITES)}"
        self.routers = [f"r{i}" for i in range(routers)]
        self.names = {name: f"plnet-{self.tag}-{name}" for name in ["client", "server", "wire", *self.routers]}

    def legs(self, name):
        """(network, host number) of each of its interfaces."""
        if name == "client":
            return [(0, self.CLIENT)]
        if name == "server":
            return [(1, self.SERVER)]
        number = self.ROUTERS[self.routers.index(name)]
        return [(0, number), (1, number)]

    def nid(self, name, net=None):
        legs = self.legs(name)
        net, number = legs[0] if net is None else next(leg for leg in legs if leg[0] == net)
        return f"{address(net, number)}@{NETS[net]}"

    def wire(self):
        for name in self.names.values():
            ip("netns", "add", name)
            ip("-n", name, "link", "set", "lo", "up")
        between = self.names["wire"]
        for net in range(2):
            ip("-n", between, "link", "add", f"net{net}", "type", "bridge", "forward_delay", "0")
            ip("-n", between, "link", "set", f"net{net}", "up")
        for name in ["client", "server", *self.routers]:
            for net, number in self.legs(name):
                self.lay(name, net, number)

    def lay(self, name, net, number):
        there, plug = self.names[name], f"{name[:6]}{net}"
        if self.bad_leg == (name, net):
            self.lay_bad_wire(there, f"eth{net}", plug)
        else:
            ip("-n", there, "link", "add", f"eth{net}", "type", "veth", "peer", "name", plug, "netns", self.names["wire"])
        if self.bad_leg and self.bad_leg[1] == net:  # all wires of that network alike
            ip("-n", there, "link", "set", f"eth{net}", "mtu", str(MTU))
            ip("-n", self.names["wire"], "link", "set", plug, "mtu", str(MTU))
        ip("-n", self.names["wire"], "link", "set", plug, "master", f"net{net}", "up")
        ip("-n", there, "address", "add", f"{address(net, number)}/24", "dev", f"eth{net}")
        ip("-n", there, "link", "set", f"eth{net}", "up")

    def lay_bad_wire(self, there, device, plug):
        ends = []
        for namespace, name in ((there, device), (self.names["wire"], plug)):
            with inside(namespace):
                ends.append(open_tap(name))
        self.bad_wire = BadWire(ends)

    def unwire(self):
        if self.bad_wire:
            self.bad_wire.close()
        for name in self.names.values():
            ip("netns", "delete", name, may_fail=True)

    def node(self, name, *arguments, life="", **how):
        return self.site.node(*arguments, name=name + life, prefix=("ip", "netns", "exec", self.names[name]), **how)

    def link(self, name, net, state):
        ip("-n", self.names[name], "link", "set", f"eth{net}", state)

    def networks(self, name):
        """The networks of a configuration file, with `route:` and `routing:`."""
        nets = ", ".join(f"{{net type: {NETS[net]}, local NI(s): [{{nid: '{address(net, number)}@{NETS[net]}'}}]}}"
                         for net, number in self.legs(name))
        if name in self.routers:
            return f"net: [{nets}]\nrouting: [{{enable: 1}}]\n"
        net = self.legs(name)[0][0]
        routes = ", ".join(f"{{net: {NETS[1 - net]}, gateway: '{self.nid(router, net)}'}}" for router in self.routers)
        return f"net: [{nets}]\nroute: [{routes}]\n"


def start(hosts, name, *arguments, shards=1, options="", life="", settings=""):
    """Routers run lnet-router, other hosts lnet-traffic. `life`: distinguishes the logs of one node's processes. `settings`:
    further keys of `plnet`."""
    site = hosts.site
    config = site.write(f"{name}.yaml", hosts.networks(name) + plan(shards) + settings)
    words = ["--config", config, "--idle", "sleep"]
    if options:
        words += ["--options", site.write("routed.conf", options)]
    if name in hosts.routers:
        return hosts.node(name, *words, *arguments, life=life)
    return hosts.node(name, *words, "--window", str(WINDOW), "--stay", *arguments, life=life, program=site.program("lnet-traffic"))


def buffers_home(router):
    """Checks each CPT: the rows `cpt[N]` have its pools, other rows describe routing itself."""
    pools = [pool for row in router.json("routing", "show")["routing"] for name, cpt in row.items() if name.startswith("cpt[")
             for pool in cpt.values()]
    assert len(pools) >= 3, pools
    return all(pool["nbuffers"] == pool["credits"] for pool in pools)


@contextlib.contextmanager
def routed_hosts(site, routers=1, bad_leg=None):
    """`bad_leg`: (name, network) of the interface whose wire can fail; it is slower than the others."""
    if os.geteuid() != 0:
        raise Skip("needs root for network namespaces")
    hosts = RoutedHosts(site, routers, bad_leg)
    try:
        hosts.wire()
        yield hosts
    finally:
        hosts.unwire()
